"""weir serve with its counters in Redis: several instances and one truth, and what happens when
Redis goes."""

import concurrent.futures
import json
import signal
import socket
import time

import harness
from redis_peer import Redis

POLICY = """
store: {{ url: "{url}", connect_timeout: 500ms{store} }}
limits:
  - name: login
    match: {{ path: /login }}
    key: [ip]
    algorithm: {algorithm}
    on_error: deny
  - name: open
    match: {{ path: /open }}
    key: [ip]
    algorithm: token_bucket
    rate: 1/h
    burst: 100
  - name: local
    match: {{ path: /local }}
    key: [ip]
    algorithm: token_bucket
    rate: 1/h
    burst: 10
    on_error: local
api: {{ listen: 127.0.0.1:{api} }}
admin: {{ listen: 127.0.0.1:{admin}, token: secret }}
"""

def algorithms(limit):
    """Each algorithm, with numbers that admit `limit` calls and no more for an hour."""
    return (f"token_bucket\n    rate: 1/h\n    burst: {limit}",
            f"leaky_bucket\n    rate: 1/h\n    queue: {limit - 1}",
            f"fixed_window\n    limit: {limit}\n    window: 1000h\n    align: first",
            f"sliding_log\n    limit: {limit}\n    window: 1h",
            f"sliding_counter\n    limit: {limit}\n    window: 10000h\n    align: first")


class Instance:
    """One weir serve, asked through its check API."""

    def __init__(self, test, number, url, algorithm=algorithms(60)[0], store=""):
        self.test = test
        self.api, self.admin = harness.free_port(), harness.free_port()
        self.process = test.serve(POLICY.format(url=url, api=self.api, admin=self.admin,
                                                algorithm=algorithm, store=store),
                                  name=f"weir-{number}.yaml")

    def check(self, path, ip="203.0.113.7"):
        client = harness.Client(self.api)
        body = json.dumps({"attributes": {"ip": ip, "path": path, "method": "GET"}})
        try:
            answer = client.request("POST", "/v1/check", {"Content-Type": "application/json"}, body)
        finally:
            client.close()
        return answer.status, json.loads(answer.text)

    def check_all(self, path, addresses):
        """One batch with a check for each address; its decisions."""
        checks = [{"attributes": {"ip": ip, "path": path, "method": "GET"}} for ip in addresses]
        client = harness.Client(self.api)
        try:
            answer = client.request("POST", "/v1/check", {"Content-Type": "application/json"},
                                    json.dumps({"checks": checks}))
        finally:
            client.close()
        return json.loads(answer.text)["decisions"]

    def admin_tool(self, *words):
        """One of the commands that ask the admin listener."""
        url = f"http://127.0.0.1:{self.admin}"
        return self.test.start(harness.WEIR, *words, "--url", url, "--token", "secret")

    def metrics(self):
        return harness.get(self.admin, "/metrics").text


class OneFleet(harness.SystemTest):
    def fleet(self, size, redis, algorithm):
        """`size` instances on an empty Redis; whoever calls it stops them. They are patient: a
        deadline missed on a busy machine would count as a denial."""
        redis.cli("FLUSHALL")
        self.fleets = getattr(self, "fleets", 0) + 1
        return [Instance(self, f"{self.fleets}-{i}", redis.url, algorithm, ", timeout: 10s")
                for i in range(size)]

    def test_two_and_eight_processes_admit_exactly_the_limit_of_one_key(self):
        redis = Redis(self)
        for size in (2, 8):
            for algorithm in algorithms(60):
                fleet = self.fleet(size, redis, algorithm)
                with concurrent.futures.ThreadPoolExecutor(16) as pool:
                    jobs = [pool.submit(fleet[i % size].check, "/login") for i in range(160)]
                    allowed = sum(job.result()[1]["allowed"] for job in jobs)
                self.assertEqual(allowed, 60, f"{size} processes, {algorithm}")
                for instance in fleet:
                    instance.process.stop()

    def test_eight_processes_admit_exactly_the_limit_of_each_of_a_thousand_keys(self):
        redis = Redis(self)
        addresses = [f"10.0.{n // 250}.{n % 250}" for n in range(1000)]
        for algorithm in algorithms(3):
            fleet = self.fleet(8, redis, algorithm)
            with concurrent.futures.ThreadPoolExecutor(8) as pool:
                batches = list(pool.map(lambda one: one.check_all("/login", addresses), fleet))
            for address, decisions in zip(addresses, zip(*batches)):
                allowed = sum(decision["allowed"] for decision in decisions)
                self.assertEqual(allowed, 3, f"{address}, {algorithm}")
            for instance in fleet:
                instance.process.stop()

    # Count and end of a window come from one moment: neither a new count with the old end, nor the
    # other way round. The windows are the clock's, so that the callers go on over some of them.
    def test_windows_that_end_under_callers_have_exactly_the_limit_each(self):
        redis, window = Redis(self), 2
        fleet = self.fleet(2, redis, f"fixed_window\n    limit: 5\n    window: {window}s")
        ends, left = set(), {}

        def call(instance):
            client = harness.Client(instance.api)
            body = json.dumps({"attributes": {"ip": "203.0.113.7", "path": "/login"}})
            while len(ends) < 5:
                answer = client.request("POST", "/v1/check", {}, body)
                self.assertIn(answer.status, (200, 429), answer)
                # Rounded up from when it was asked: at most a window early.
                end = -(-int(answer.headers["X-RateLimit-Reset"]) // window) * window
                ends.add(end)
                if answer.status == 200:
                    left.setdefault(end, []).append(int(answer.headers["X-RateLimit-Remaining"]))
            client.close()

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            for job in [pool.submit(call, fleet[i % 2]) for i in range(8)]:
                job.result()
        for end in sorted(ends)[1:-1]:  # those that they met from beginning to end
            self.assertEqual(sorted(left[end]), [0, 1, 2, 3, 4], f"the window that ends at {end}")

    def test_a_decision_comes_from_redis_and_says_so(self):
        redis = Redis(self)
        instance = Instance(self, 0, redis.url)
        status, decision = instance.check("/login")
        self.assertEqual(status, 200)
        self.assertEqual((decision["limit"], decision["remaining"], decision["source"]),
                         ("login", 59, "redis"))
        names = redis.cli("KEYS", "*login*")
        self.assertEqual(len(names), 1)
        self.assertRegex(names[0], r"^weir:\{[0-9a-f]{16}\}login:tb/")
        self.assertGreater(int(redis.cli("PTTL", names[0])[0]), 3_590_000)
        self.assertIn("weir_store_up 1", instance.metrics())


    def test_an_instance_that_is_killed_under_load_leaves_no_counter_for_ever(self):
        redis = Redis(self)
        for number in range(10):
            weir = Instance(self, number, redis.url, algorithms(60)[number % 5])
            with concurrent.futures.ThreadPoolExecutor(4) as pool:
                jobs = [pool.submit(weir.check, "/login", f"10.0.{number}.{i}") for i in range(80)]
                jobs[20].result()
                weir.process.signal(signal.SIGKILL)
                concurrent.futures.wait(jobs)
        names = redis.cli("KEYS", "weir:*login*")
        self.assertGreater(len(names), 100)
        for name in names:
            self.assertGreaterEqual(int(redis.cli("PTTL", name)[0]), 0, name)


class Failure(harness.SystemTest):
    def setUp(self):
        super().setUp()
        self.redis = Redis(self)
        self.weir = Instance(self, 0, self.redis.url, store=", instances: 2")

    def test_each_limit_follows_its_own_word_and_all_is_well_again_by_itself(self):
        for path in ("/login", "/open", "/local"):
            self.assertEqual(self.weir.check(path)[1]["source"], "redis")
        seen = len(self.weir.process.lines)
        self.redis.kill()
        status, decision = self.weir.check("/login")
        self.assertEqual((status, decision["reason"]), (503, "limiter_unavailable"))
        status, decision = self.weir.check("/open")
        self.assertEqual((status, decision["source"]), (200, "fail_open"))
        shares = [self.weir.check("/local")[1] for _ in range(8)]
        self.assertEqual([one["source"] for one in shares], ["local"] * 8)
        self.assertEqual(sum(one["allowed"] for one in shares), 5)  # half of ten
        for _ in range(20):
            self.weir.check("/open")
        harness.until(lambda: "weir_store_up 0" in self.weir.metrics(), "the metric says down")
        self.weir.process.wait_for("on_error", after=seen)
        down = [line for line in self.weir.process.lines[seen:] if "on_error" in line]
        self.assertEqual(len(down), 1, self.weir.process.output)
        self.redis.start()
        started = time.monotonic()
        harness.until(lambda: self.weir.check("/local")[1]["source"] == "redis", "redis is back")
        self.assertLess(time.monotonic() - started, 5 * harness.SLOWER)
        self.weir.process.wait_for("is back", after=seen)

    def test_a_server_that_stands_still_holds_nobody_up(self):
        self.weir.check("/open")
        self.redis.process.signal(signal.SIGSTOP)
        took = []
        for _ in range(40):
            started = time.monotonic()
            self.assertEqual(self.weir.check("/open")[1]["source"], "fail_open")
            took.append(time.monotonic() - started)
        self.redis.process.signal(signal.SIGCONT)
        self.assertLess(sorted(took)[20], 0.022 + 0.03 * harness.SLOWER)  # a busy machine wakes us late


    def test_a_refund_that_waits_longer_holds_no_decision_up(self):
        self.weir.check("/open")
        self.redis.process.signal(signal.SIGSTOP)
        client = socket.create_connection(("127.0.0.1", self.weir.api))
        self.addCleanup(client.close)
        body = b'{"key":["203.0.113.7"]}'
        client.sendall(b"POST /v1/limits/open/refund HTTP/1.1\r\nHost: x\r\n"
                       b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        started = time.monotonic()
        self.assertEqual(self.weir.check("/open")[1]["source"], "fail_open")
        took = time.monotonic() - started
        self.assertIn(b"503", client.recv(4096))
        self.redis.process.signal(signal.SIGCONT)
        self.assertLess(took, 0.3)  # the refund itself may take connect_timeout, 500 ms

    def test_what_redis_did_not_do_is_not_told_as_done(self):
        self.weir.check("/open")
        self.redis.kill()
        client = harness.Client(self.weir.api)
        self.addCleanup(client.close)
        for method, path, body in (("POST", "refund", '{"key":["203.0.113.7"]}'),
                                   ("DELETE", "keys?key=203.0.113.7", "")):
            answer = client.request(method, "/v1/limits/open/" + path, body=body)
            self.assertEqual(answer.status, 503, answer)
            self.assertIn("may have done it or not", json.loads(answer.text)["detail"])
        reset = self.weir.admin_tool("reset", "open", "203.0.113.7")
        self.assertEqual(reset.wait(), 1)
        self.assertIn("may have done it or not", reset.output)
        self.assertNotIn("fresh again", self.weir.process.output)

    def test_a_value_of_another_program_is_told_of_once(self):
        self.weir.check("/open")
        name, = self.redis.cli("KEYS", "*open*")
        self.redis.cli("SET", name, "not ours")
        for _ in range(3):
            self.assertEqual(self.weir.check("/open")[1]["source"], "fail_open")
        self.weir.process.wait_for("did not write")
        told = [line for line in self.weir.process.lines if "did not write" in line]
        self.assertEqual(len(told), 1)


class Refund(harness.SystemTest):
    def test_tells_what_is_left_after_it_though_redis_has_forgotten_the_scripts(self):
        redis, port, resp = Redis(self), harness.free_port(), harness.free_port()
        self.serve(f"""
store: {{ url: {redis.url}, timeout: 5s, connect_timeout: 5s }}
limits: [{{ name: open, key: [user], algorithm: token_bucket, rate: 1/month, burst: 9 }}]
api: {{ listen: 127.0.0.1:{port} }}
resp: {{ listen: 127.0.0.1:{resp} }}
""")
        client = harness.Client(port)
        self.addCleanup(client.close)

        def ask(verb, cost):
            answer = client.request("POST", "/v1/limits/open/" + verb,
                                    body=json.dumps({"key": ["u"], "cost": cost}))
            return json.loads(answer.text)["remaining"]
        with socket.create_connection(("127.0.0.1", resp)) as throttle:
            throttle.settimeout(harness.PATIENCE)

            def left(quantity):
                throttle.sendall(b"CL.THROTTLE k 8 1 1000000 %d\r\n" % quantity)
                return int(throttle.recv(4096).split(b"\r\n:")[3])
            for take in (lambda: ask("take", 8), lambda: left(8)):
                self.assertEqual(take(), 1)
            for left_now in (3, 5, 7):
                redis.cli("SCRIPT", "FLUSH")
                ask("take", 0)  # of the scripts, that of a look is known again
                self.assertEqual(ask("refund", 2), left_now)
                redis.cli("SCRIPT", "FLUSH")
                left(0)
                self.assertEqual(left(-2), left_now)


class Instances(harness.SystemTest):
    def test_an_instance_counts_by_its_share_of_those_that_were_there_last(self):
        redis = Redis(self)
        fleet = [Instance(self, number, redis.url) for number in range(2)]

        def beats():
            stats = redis.cli("INFO", "commandstats")
            return sum(int(line.split("calls=")[1].split(",")[0]) for line in stats
                       if line.startswith(("cmdstat_eval:", "cmdstat_evalsha:")))
        harness.until(lambda: redis.cli("ZCARD", "weir:{instances}") == ["2"], "both are there")
        heard = beats()  # each hears of the other at its next beat: two and one to spare
        harness.until(lambda: beats() >= heard + 3, "both have heard")
        redis.kill()
        for instance in fleet:
            harness.until(lambda: "weir_store_up 0" in instance.metrics(), "Redis is gone")
            shares = [instance.check("/local")[1] for _ in range(8)]
            self.assertEqual([one["source"] for one in shares], ["local"] * 8)
            self.assertEqual(sum(one["allowed"] for one in shares), 5)  # half of ten


class DenyCache(harness.SystemTest):
    def test_a_cost_above_the_quota_is_named_before_a_wait_that_is_remembered(self):
        redis, port = Redis(self), harness.free_port()
        self.serve(f"""
store: {{ url: {redis.url} }}
limits:
  - {{ name: all, algorithm: token_bucket, rate: 1/h, burst: 10 }}
  - {{ name: each, key: [ip], algorithm: token_bucket, rate: 1/h, burst: 5 }}
api: {{ listen: 127.0.0.1:{port} }}
""")
        client = harness.Client(port)
        self.addCleanup(client.close)
        for number, cost, reason in ((1, 5, ""), (2, 5, ""), (3, 5, ""),
                                     (4, 6, "cost_exceeds_limit")):
            body = json.dumps({"attributes": {"ip": f"203.0.113.{number}"}, "cost": cost})
            decision = json.loads(client.request("POST", "/v1/check", body=body).text)
            self.assertEqual((decision["allowed"], decision["reason"]), (number < 3, reason))
        self.assertEqual((decision["source"], decision["limit"]), ("deny_cache", "each"))

    def test_a_refusal_that_is_remembered_tells_the_other_limits_as_they_were_seen(self):
        redis, port = Redis(self), harness.free_port()
        self.serve(f"""
store: {{ url: {redis.url}, deny_cache: 1m, timeout: 5s }}
attributes: [tenant]
limits:
  - {{ name: all, algorithm: token_bucket, rate: 1/h, burst: 10 }}
  - {{ name: each, key: [ip], algorithm: token_bucket, rate: 1/h, burst: 1 }}
  - {{ name: tenant, key: [tenant], algorithm: token_bucket, rate: 1/h, burst: 20 }}
api: {{ listen: 127.0.0.1:{port} }}
""")
        client = harness.Client(port)
        self.addCleanup(client.close)

        def ask(tenant):
            body = json.dumps({"attributes": {"ip": "203.0.113.7", "tenant": tenant}})
            answer = client.request("POST", "/v1/check", body=body)
            decision = json.loads(answer.text)
            return (decision["source"], [(one["quota"], one["remaining"])
                                         for one in decision["limits"]], answer.headers["RateLimit"])
        self.assertEqual(ask("a")[:2], ("redis", [(10, 9), (1, 0), (20, 19)]))
        self.assertEqual(ask("a")[:2], ("redis", [(10, 9), (1, 0), (20, 19)]))
        self.assertEqual(ask("a")[:2], ("deny_cache", [(10, 9), (1, 0), (20, 19)]))
        source, limits, header = ask("b")  # of whose counter nothing is known
        self.assertEqual((source, limits), ("deny_cache", [(10, 9), (1, 0), (20, None)]))
        self.assertNotIn("tenant", header)


class Start(harness.SystemTest):
    def test_starts_without_redis_and_says_so(self):
        port = harness.free_port()
        weir = Instance(self, 0, f"redis://user:hunter2@127.0.0.1:{port}")
        weir.process.wait_for("has not answered yet")
        self.assertEqual(weir.check("/open")[1]["source"], "fail_open")
        self.assertNotIn("hunter2", weir.process.output + weir.metrics())

    def test_no_form_of_the_url_tells_its_password(self):
        place = f"127.0.0.1:{harness.free_port()}"
        for number, url in enumerate((
                f"rediss://user:hunter2@{place}", f"redis://:hunter2@{place}/2",
                f"redis+cluster://user:hunter2@{place},127.0.0.1:{harness.free_port()}",
                f"redis+sentinel://user:hunter2@{place}/mymaster",
                f"rediss+sentinel://user:hunter2@{place}/mymaster",
                "redis+unix://user:hunter2@/nonexistent/socket")):
            weir = Instance(self, number, url)
            self.assertEqual(weir.check("/open")[1]["source"], "fail_open")
            ready = harness.get(weir.admin, "/readyz")
            explained = self.weir("validate", self.folder / f"weir-{number}.yaml", "--explain",
                                  "GET /open from 203.0.113.7")
            explained.wait()
            weir.process.stop()
            told = weir.process.output + ready.text + explained.output
            self.assertNotIn("hunter2", told)
            self.assertIn("***", weir.process.output)

    def test_an_outage_is_no_refusal_to_a_redis_client_either(self):
        port = harness.free_port()
        self.serve(f"""
store: {{ url: redis://127.0.0.1:{harness.free_port()}, connect_timeout: 100ms, on_error: deny }}
limits: [{{ name: login, key: [ip], algorithm: token_bucket, rate: 1/h, burst: 5 }}]
resp: {{ listen: 127.0.0.1:{port} }}
""", name="resp.yaml")
        with socket.create_connection(("127.0.0.1", port)) as client:
            client.sendall(b"WEIR.TAKE login 1 203.0.113.7\r\n")
            self.assertIn(b"\r\nfail_closed\r\n", client.recv(4096))
            client.sendall(b"CL.THROTTLE user-42 5 10 60 1\r\n")
            answer = client.recv(4096)
        self.assertTrue(answer.startswith(b"-"), answer)

    def test_says_what_a_server_that_may_run_full_means_for_limits(self):
        for policy, meaning in (("allkeys-lru", "forgets counters that are in use"),
                                ("noeviction", "on_error decides")):
            redis = Redis(self, "--maxmemory", "100mb", "--maxmemory-policy", policy)
            weir = Instance(self, policy, redis.url, store=", timeout: 10s")
            line = weir.process.wait_for("maxmemory is 104857600")
            self.assertIn(policy, line)
            self.assertIn(meaning, line)
            self.assertEqual(weir.check("/open")[1]["source"], "redis")

    def test_a_full_server_leaves_decisions_to_on_error(self):
        redis = Redis(self, "--maxmemory", "1", "--maxmemory-policy", "noeviction")
        weir = Instance(self, 0, redis.url)
        self.assertEqual(weir.check("/open")[1]["source"], "fail_open")
        self.assertEqual(weir.check("/login")[0], 503)
        redis.cli("CONFIG", "SET", "maxmemory", "0")
        self.assertEqual(weir.check("/open")[1]["source"], "redis")

    def test_refuses_certificates_that_do_not_fit_by_their_file(self):
        path = self.write("weir.yaml", "store: { url: 'rediss://127.0.0.1:1', ca: /nonexistent }\n"
                          "limits: []\napi: { listen: 127.0.0.1:0 }\n")
        weir = self.weir("serve", "-c", path)
        self.assertNotEqual(weir.wait(), 0)
        self.assertIn("store.ca: cannot use /nonexistent", weir.output)

    def test_numbers_of_the_callers_own_follow_the_stores_word(self):
        port, down = harness.free_port(), harness.free_port()
        self.serve(f"""
store: {{ url: redis://127.0.0.1:{down}, on_error: deny, connect_timeout: 100ms }}
limits: []
api: {{ listen: 127.0.0.1:{port}, adhoc: true }}
""", name="adhoc.yaml")
        client = harness.Client(port)
        self.addCleanup(client.close)
        answer = client.request("POST", "/v1/check", body='{"key":"k","rate":"1/h"}')
        self.assertEqual(answer.status, 503, answer)
        self.assertEqual(json.loads(answer.text)["reason"], "limiter_unavailable")

    def test_numbers_that_redis_cannot_count_exactly_are_refused(self):
        redis, port, resp = Redis(self), harness.free_port(), harness.free_port()
        self.serve(f"""
store: {{ url: {redis.url}, timeout: 5s }}
limits: []
api: {{ listen: 127.0.0.1:{port}, adhoc: true }}
resp: {{ listen: 127.0.0.1:{resp} }}
""", name="exact.yaml")
        client = harness.Client(port)
        self.addCleanup(client.close)
        wrong = '{"key":"k","rate":"333333333.333333333/s","burst":2}'
        for body, field in ((wrong, "rate"), (f'{{"checks":[{wrong}]}}', "checks[0].rate")):
            answer = client.request("POST", "/v1/check", body=body)
            self.assertEqual(answer.status, 400, answer)
            problem = json.loads(answer.text)
            self.assertEqual(problem["field"], field)
            self.assertIn("more than redis can count exactly", problem["detail"])
        with socket.create_connection(("127.0.0.1", resp)) as client:
            client.sendall(b"CL.THROTTLE k 0 9007199254740993 1\r\n")
            answer = client.recv(4096)
        self.assertTrue(answer.startswith(b"-ERR "), answer)
        self.assertIn(b"more than redis can count exactly", answer)
        self.assertEqual("".join(redis.cli("KEYS", "*throttle*")), "")

    def test_refuses_a_url_that_is_wrong_without_its_password(self):
        for url in ("redis://u:hunter2@h/abc", "redis://u:hunter2@h:70000"):
            path = self.write("weir.yaml", f"store: {{ url: '{url}' }}\nlimits: []\n")
            weir = self.weir("validate", path)
            self.assertEqual(weir.wait(), 2)
            self.assertIn("store.url", weir.output)
            self.assertNotIn("hunter2", weir.output)


if __name__ == "__main__":
    harness.unittest.main()
