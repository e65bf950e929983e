"""Faults that other limiters shipped in what they answer and in what they ask of their store, tried on
the running program: numbers in headers, other statuses, upstreams that fail, round trips to Redis."""

import concurrent.futures
import json
import os
import pathlib
import re
import socket
import threading
import time

import harness
from harness import Client, free_port, get
from redis_peer import Redis

HOUR = 500_000 * 3600  # Unix time of a full hour
SECOND = 10**9


class Answers(harness.SystemTest):
    def gateway(self, limits, upstream, more="", *arguments):
        self.listen, self.admin = free_port(), free_port()
        return self.serve(f"limits:\n{limits}"
                          f"gateway: {{ listen: 127.0.0.1:{self.listen}, upstream: "
                          f"http://127.0.0.1:{upstream} {more} }}\n"
                          f"admin: {{ listen: 127.0.0.1:{self.admin} }}\n", *arguments)

    def clocked(self, limits, upstream=None):
        """A gateway whose clock stands where at() puts it, so many seconds into the hour."""
        path = self.folder / "clock"
        self.gateway(limits, upstream or self.upstream(), "", "--test-clock", path)
        clock = harness.TestClock(path)
        self.addCleanup(clock.close)

        def at(seconds):
            ns = int(seconds * 1000) * SECOND // 1000
            clock.set(3600 * SECOND + ns, HOUR * SECOND + ns)
        at(0)
        return at


class Headers(Answers):
    def test_a_wait_that_is_told_is_whole_within_the_window_and_enough(self):
        at = self.clocked("  - { name: a, algorithm: fixed_window, limit: 1, window: 10s }\n")
        for step in range(20):
            begin = 20 * step
            at(begin)
            self.assertEqual(get(self.listen).status, 200)
            asked = begin + (9.99 if step == 19 else 0.1 + 0.52 * step)
            at(asked)
            refused = get(self.listen)
            self.assertEqual(refused.status, 429)
            wait = refused.headers["Retry-After"]
            self.assertRegex(wait, "^([1-9]|10)$")
            self.assertEqual(int(refused.headers["X-RateLimit-Reset"]), HOUR + begin + 10)
            at(asked + int(wait))
            self.assertEqual(get(self.listen).status, 200)

    def test_an_answer_that_comes_after_its_window_has_the_numbers_of_its_decision(self):
        server = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(server.close)
        server.settimeout(harness.PATIENCE)
        at = self.clocked("  - { name: a, algorithm: fixed_window, limit: 5, window: 10s }\n",
                          server.getsockname()[1])
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            asked = pool.submit(get, self.listen)
            backend, _ = server.accept()
            backend.recv(65536)
            at(25)
            backend.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            answer = asked.result()
            backend.close()
        self.assertEqual((answer.status, answer.headers["X-RateLimit-Remaining"],
                          answer.headers["X-RateLimit-Reset"]), (200, "4", str(HOUR + 10)))
        self.assertIsNone(answer.headers["Retry-After"])
        self.assertEqual(answer.headers["RateLimit"], '"a";r=4;t=10')

    def test_a_refusal_has_the_numbers_of_the_limit_that_refused(self):
        at = self.clocked("  - { name: minute, algorithm: fixed_window, limit: 60, window: 60s }\n"
                          "  - { name: hour, algorithm: fixed_window, limit: 5, window: 1h }\n")
        at(610)
        answers = [get(self.listen) for _ in range(6)]
        self.assertEqual([a.status for a in answers], [200] * 5 + [429])
        for answer, left in ((answers[0], "4"), (answers[4], "0"), (answers[5], "0")):
            self.assertEqual((answer.headers["X-RateLimit-Limit"],
                              answer.headers["X-RateLimit-Remaining"],
                              answer.headers["X-RateLimit-Reset"]), ("5", left, str(HOUR + 3600)))
        self.assertEqual(answers[5].headers["Retry-After"], "2990")
        self.assertEqual(json.loads(answers[5].text)["limit"], "hour")
        self.assertEqual(json.loads(answers[5].text)["retry_after"], 2990)

    def test_what_is_left_is_never_below_zero_however_many_ask_at_once(self):
        self.gateway("  - { name: two, algorithm: token_bucket, rate: 1/h, burst: 2 }\n",
                     self.upstream())
        answers = []

        def ask():
            answers.extend(get(self.listen) for _ in range(4))
        askers = [threading.Thread(target=ask) for _ in range(25)]
        for asker in askers:
            asker.start()
        for asker in askers:
            asker.join(harness.PATIENCE)
        self.assertEqual(len(answers), 100)
        self.assertEqual(sorted(a.headers["X-RateLimit-Remaining"] for a in answers),
                         ["0"] * 99 + ["1"])
        self.assertEqual([a.status for a in answers].count(200), 2)

    def test_a_404_and_a_500_are_charged_and_say_what_is_left(self):
        for status in (404, 500):
            self.gateway("  - { name: all, algorithm: token_bucket, rate: 1/h, burst: 5 }\n",
                         self.upstream(f"return {status} 'no\\n';"))
            answers = [get(self.listen, f"/unknown/{n}") for n in range(6)]
            self.assertEqual([a.status for a in answers], [status] * 5 + [429])
            self.assertEqual([a.headers["X-RateLimit-Remaining"] for a in answers],
                             ["4", "3", "2", "1", "0", "0"])

    def test_an_upstream_that_is_too_slow_is_charged_and_504(self):
        silent = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(silent.close)
        self.gateway("  - { name: all, algorithm: token_bucket, rate: 1/h, burst: 2 }\n",
                     silent.getsockname()[1], ", timeouts: { response: 100ms }")
        answers = [get(self.listen) for _ in range(3)]
        self.assertEqual([a.status for a in answers], [504, 504, 429])
        self.assertEqual(answers[1].headers["X-RateLimit-Remaining"], "0")

    def test_a_client_sees_one_set_of_numbers_and_not_the_upstreams(self):
        names = ("X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "RateLimit",
                 "RateLimit-Policy")
        headers = "".join(f"add_header {name} 7;" for name in names + ("RateLimit-Remaining",))
        self.gateway("  - { name: some, match: { path: /limited }, algorithm: token_bucket, "
                     "rate: 1/h, burst: 4 }\n", self.upstream(headers + "return 200 'hello\\n';"))
        limited, free = get(self.listen, "/limited"), get(self.listen, "/free")
        for name in names:
            self.assertEqual(len(limited.headers.get_all(name)), 1, name)
            self.assertEqual(free.headers.get_all(name), ["7"], name)
        self.assertEqual(limited.headers["X-RateLimit-Remaining"], "3")
        self.assertNotIn("RateLimit-Remaining", limited.headers)

    def test_an_event_stream_is_charged_once_and_not_held_up(self):
        go_on, server = threading.Event(), socket.create_server(("127.0.0.1", 0))
        self.addCleanup(server.close)
        self.addCleanup(go_on.set)

        def answer():
            peer, _ = server.accept()
            with peer:
                peer.recv(65536)
                peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
                for number in range(10):
                    if not go_on.wait(harness.PATIENCE):
                        return
                    go_on.clear()
                    peer.sendall(b"data: %d\n\n" % number)
        thread = threading.Thread(target=answer)
        thread.start()
        self.addCleanup(thread.join, harness.PATIENCE)
        self.gateway("  - { name: two, algorithm: token_bucket, rate: 1/h, burst: 2 }\n",
                     server.getsockname()[1])
        client = Client(self.listen)
        self.addCleanup(client.close)
        client.connection.request("GET", "/events")
        response = client.connection.getresponse()
        self.assertEqual(response.headers["X-RateLimit-Remaining"], "1")
        for number in range(10):  # each is read before the next one is sent
            go_on.set()
            self.assertEqual(response.readline(), b"data: %d\n" % number)
            self.assertEqual(response.readline(), b"\n")
        self.assertIn('weir_decisions_total{limit="two",outcome="allowed",source="memory"} 1\n',
                      get(self.admin, "/metrics").text)


class Statuses(Answers):
    LIMITS = """
  - { name: address, match: { path: /address }, key: [ip], algorithm: token_bucket, rate: 1/h, burst: 1 }
  - { name: header, match: { path: /header }, key: [header.x-api-key], algorithm: sliding_log, limit: 1, window: 1h }
  - { name: at_once, match: { path: /at-once }, algorithm: concurrency, limit: 0, timeout: 60s }
  - { name: cost, match: { path: /cost }, algorithm: token_bucket, rate: 1/h, burst: 1, cost: 5 }
  - { name: closed, match: { path: /closed }, algorithm: token_bucket, rate: 1/h, burst: 1, on_error: deny }
"""

    def test_every_refusal_has_the_configured_status_and_a_failure_its_own(self):
        redis = Redis(self)
        self.gateway(self.LIMITS, self.upstream(), "}\nresponse: { status: 420 }\n"
                     f"store: {{ url: {redis.url}, timeout: 5s, deny_cache: 1s")
        key = {"X-Api-Key": "k"}
        for path, statuses in (("/address", [200, 420, 420, 420]), ("/header", [200, 420, 420]),
                               ("/at-once", [420]), ("/cost", [420]), ("/closed", [200, 420])):
            self.assertEqual([get(self.listen, path, key).status for _ in statuses], statuses, path)
        self.assertIn('outcome="denied",source="deny_cache"', get(self.admin, "/metrics").text)
        redis.kill()
        # A refusal that is remembered is given for a second more.
        harness.until(lambda: get(self.listen, "/closed").status == 503, "the limit fails closed")

    def test_a_status_that_is_no_refusal_is_a_mistake(self):
        for status in (200, 399, 600):
            path = self.write("checked.yaml", f"limits: []\nresponse: {{ status: {status} }}\n")
            process = self.weir("validate", path)
            self.assertEqual(process.wait(), 2)
            self.assertIn("checked.yaml:2:", process.output)


class Fleet(Answers):
    def test_no_wait_of_a_fast_limit_is_told_as_zero(self):
        redis, backend, gateways = Redis(self), self.upstream(), []
        for _ in range(2):
            self.gateway("  - { name: all, algorithm: token_bucket, rate: 5/s }\n", backend,
                         f"}}\nstore: {{ url: {redis.url}, timeout: 5s")
            gateways.append(Client(self.listen))
            self.addCleanup(gateways[-1].close)
        answers = [gateways[number % 2].get() for number in range(100)]
        refused = [a for a in answers if a.status == 429]
        self.assertGreater(len(refused), 0)
        self.assertEqual({a.headers["Retry-After"] for a in refused}, {"1"})
        self.assertEqual({a.headers["X-RateLimit-Remaining"] for a in refused}, {"0"})

    def test_health_does_not_hang_on_redis(self):
        redis = Redis(self)
        self.gateway("  - { name: all, algorithm: token_bucket, rate: 1/h, burst: 1, on_error: deny }\n",
                     self.upstream(), f"}}\nstore: {{ url: {redis.url}, timeout: 5s")

        def health():
            return [get(self.admin, path).status for path in ("/healthz", "/readyz")]
        self.assertEqual(health(), [200, 200])
        redis.kill()
        harness.until(lambda: get(self.listen).status == 503, "the limit fails closed")
        harness.until(lambda: "weir_store_up 0" in get(self.admin, "/metrics").text, "it is told")
        self.assertEqual(health(), [200, 200])
        self.assertIn(str(redis.port), get(self.admin, "/readyz").text)
        redis.start()
        harness.until(lambda: get(self.listen).status != 503, "Redis is asked again")
        self.assertEqual(health(), [200, 200])


class Relay:
    """Stands between weir and its Redis and counts round trips of decisions: how often a bucket was
    asked for after something had been answered."""

    def __init__(self, test, port):
        self.trips, self.upstream = 0, port
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port = self.server.getsockname()[1]
        self.open = []
        threading.Thread(target=self.accept, daemon=True).start()
        test.addCleanup(self.close)

    def close(self):
        for one in [self.server, *self.open]:
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            one.close()

    def accept(self):
        while True:
            try:
                client, _ = self.server.accept()
            except OSError:
                return
            redis = socket.create_connection(("127.0.0.1", self.upstream))
            self.open += [client, redis]
            last = [None]
            for ends in ((client, redis, True), (redis, client, False)):
                threading.Thread(target=self.pump, args=(*ends, last), daemon=True).start()

    def pump(self, source, sink, asks, last):
        try:
            while data := source.recv(1 << 20):
                if asks and last[0] != "asked" and b":tb/" in data:
                    self.trips += 1
                last[0] = "asked" if asks else "answered"
                sink.sendall(data)
        except OSError:
            pass


class Gate:
    """Once it is shut, no answer passes a relay before each of them has been asked."""

    def __init__(self, relays):
        self.relays, self.asked = relays, set()
        self.is_shut, self.all_asked = False, threading.Event()

    def shut(self):
        self.asked.clear()
        self.all_asked.clear()
        self.is_shut = True


class GatedRelay(Relay):
    gate = None  # of several relays

    def pump(self, source, sink, asks, last):
        try:
            while data := source.recv(1 << 20):
                if asks and b":tb/" in data:
                    self.gate.asked.add(self)
                    if len(self.gate.asked) == self.gate.relays:
                        self.gate.all_asked.set()
                elif not asks and self.gate.is_shut:
                    self.gate.all_asked.wait(harness.PATIENCE)
                sink.sendall(data)
        except OSError:
            pass


class Store(harness.SystemTest):
    def serve_api(self, url, limits, more="", *arguments):
        self.api = free_port()
        return self.serve(f"store: {{ url: {url}, timeout: 5s {more} }}\nlimits:\n{limits}"
                          f"api: {{ listen: 127.0.0.1:{self.api} }}\n", *arguments)

    def check(self, attributes, calls=1):
        """The decisions of so many equal checks, sent at once."""
        client = Client(self.api)
        self.addCleanup(client.close)
        body = json.dumps({"checks": [{"attributes": attributes}] * calls})
        answer = client.request("POST", "/v1/check", {"Content-Type": "application/json"}, body)
        self.assertEqual(answer.status, 200, answer)
        return json.loads(answer.text)["decisions"]

    def script_calls(self, redis):
        told = "\n".join(redis.cli("INFO", "commandstats"))
        return sum(int(n) for n in re.findall(r"cmdstat_eval(?:sha)?:calls=(\d+)", told))

    def test_a_request_that_meets_ten_limits_is_one_round_trip(self):
        redis = Redis(self)
        relay = Relay(self, redis.port)
        limits = "".join(f"  - {{ name: l{n}, key: [header.h{n}], algorithm: token_bucket, "
                         "rate: 1/h, burst: 9 }\n" for n in range(10))
        self.serve_api(f"redis://127.0.0.1:{relay.port}", limits, "", "--loops", "1")
        one, ten = {"header.h0": "a"}, {f"header.h{n}": f"v{n}" for n in range(10)}
        for attributes in (one, ten):
            self.check(attributes)  # the scripts are there now
        for attributes, met in ((one, 1), (ten, 10)):
            before = relay.trips
            [decision] = self.check(attributes)
            self.assertEqual((decision["source"], len(decision["limits"])), ("redis", met))
            self.assertEqual(relay.trips - before, 1)

    def cluster(self, gate):
        """So many nodes of a Cluster, each behind a relay; the relays' ports."""
        nodes = []
        for _ in range(gate.relays):
            relay, bus = GatedRelay(self, 0), free_port()
            relay.gate = gate
            redis = Redis(self, "--cluster-enabled", "yes", "--cluster-port", bus,
                          "--cluster-config-file", f"nodes-{bus}.conf",
                          "--cluster-announce-port", relay.port)
            relay.upstream = redis.port
            nodes.append((redis, relay, bus))
        for n, (redis, _, _) in enumerate(nodes):
            redis.cli("CLUSTER", "ADDSLOTS", *range(16384 * n // len(nodes),
                                                    16384 * (n + 1) // len(nodes)))
            redis.cli("CLUSTER", "MEET", "127.0.0.1", nodes[0][0].port, nodes[0][2])
        for redis, _, _ in nodes:
            harness.until(lambda: "cluster_state:ok" in redis.cli("CLUSTER", "INFO"), "a Cluster")
        return [relay.port for _, relay, _ in nodes]

    def test_the_nodes_of_a_cluster_are_asked_at_once_and_not_in_turn(self):
        gate = Gate(3)
        limits = "".join(f"  - {{ name: l{n}, key: [header.h{n}], algorithm: token_bucket, "
                         "rate: 1/h, burst: 9 }\n" for n in range(12))
        hosts = ",".join(f"127.0.0.1:{port}" for port in self.cluster(gate))
        self.serve_api(f"'redis+cluster://{hosts}'", limits)
        attributes = {f"header.h{n}": f"v{n}" for n in range(12)}
        harness.until(lambda: self.check(attributes)[0]["source"] == "redis", "all nodes decide")
        gate.shut()
        [decision] = self.check(attributes)
        self.assertEqual((decision["allowed"], decision["source"]), (True, "redis"))
        self.assertEqual(len(gate.asked), 3)

    def test_a_flood_of_refusals_is_kept_from_redis(self):
        redis = Redis(self)
        self.serve_api(redis.url, "  - { name: all, key: [user], algorithm: token_bucket, "
                       "rate: 1/h, burst: 5 }\n", ", deny_cache: 1s")
        self.check({"user": "eve"}, 5)
        before, began = self.script_calls(redis), time.monotonic()
        decisions = [d for _ in range(200) for d in self.check({"user": "eve"}, 50)]
        seconds = time.monotonic() - began
        self.assertEqual({d["allowed"] for d in decisions}, {False})
        # Asked anew each second; all of a batch may go before its first answer is back.
        self.assertLessEqual(self.script_calls(redis) - before, 50 * (seconds + 2))
        self.assertIn("deny_cache", {d["source"] for d in decisions})
        self.assertTrue(self.check({"user": "ann"})[0]["allowed"])

    def test_refusals_that_reach_redis_leave_nothing_there(self):
        redis = Redis(self)
        self.serve_api(redis.url, "  - { name: log, key: [user], algorithm: sliding_log, limit: 5, "
                       "window: 1h }\n", ", deny_cache: 0s")
        self.check({"user": "eve"}, 5)
        [name] = redis.cli("KEYS", "*log*")
        before, held = self.script_calls(redis), redis.cli("MEMORY", "USAGE", name)
        decisions = [d for _ in range(6) for d in self.check({"user": "eve"}, 500)]
        self.assertEqual({(d["allowed"], d["source"]) for d in decisions}, {(False, "redis")})
        self.assertGreaterEqual(self.script_calls(redis) - before, 3000)
        self.assertEqual(redis.cli("MEMORY", "USAGE", name), held)
        self.assertLess(int(held[0]), 2048)

    def test_a_long_key_costs_redis_no_more_than_a_short_one_and_stays_apart(self):
        redis = Redis(self)
        self.serve_api(redis.url, "  - { name: key, key: [header.x-api-key], algorithm: "
                       "token_bucket, rate: 1/h, burst: 1 }\n")
        client, long = Client(self.api), "k" * 8000
        self.addCleanup(client.close)
        for begin in range(0, 1000, 100):
            body = {"checks": [{"attributes": {"header.x-api-key": f"{long}{n}"}}
                               for n in range(begin, begin + 100)]}
            answer = json.loads(client.request("POST", "/v1/check", {}, json.dumps(body)).text)
            self.assertEqual({d["allowed"] for d in answer["decisions"]}, {True})
        names = redis.cli("KEYS", "*key*")
        self.assertEqual(len(names), 1000)
        self.assertLess(max(map(len, names)), 201)
        self.assertLess(max(int(redis.cli("MEMORY", "USAGE", name)[0]) for name in names[:20]), 1024)
        self.assertFalse(self.check({"header.x-api-key": f"{long}7"})[0]["allowed"])


def cpu_seconds(process):
    """What it has computed so far: on a busy machine, waiting is no sign of slowness."""
    words = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


class Large(harness.SystemTest):
    def policy(self, burst):
        numbers = f"key: [ip], algorithm: token_bucket, rate: 1/day, burst: {burst} }}\n"
        return ("attributes: [plan]\n"
                f"api: {{ listen: 127.0.0.1:{self.api} }}\n"
                f"admin: {{ listen: 127.0.0.1:{self.admin}, token: t }}\nlimits:\n"
                + "".join(f"  - {{ name: v{n}, match: {{ plan: v{n} }}, {numbers}"
                          for n in range(5000))
                + "".join(f"  - {{ name: w{n}, match: {{ plan: 'a*{n}*z' }}, {numbers}"
                          for n in range(500)))

    def test_a_policy_of_many_limits_decides_soon_also_while_it_is_loaded_anew(self):
        self.api, self.admin = free_port(), free_port()
        process = self.serve(self.policy(burst=1000))
        client = Client(self.api)
        self.addCleanup(client.close)

        def batch(plan, address, calls=1000):
            checks = [{"attributes": {"plan": plan, "ip": address}}] * calls
            began = cpu_seconds(process)
            answer = json.loads(client.request("POST", "/v1/check", {}, json.dumps(
                {"checks": checks})).text)["decisions"]
            return cpu_seconds(process) - began, answer
        for plan, met in (("v4999", 1), ("a499z", 5), ("none", 0)):  # 4, 9, 49, 99, 499
            took, decisions = min((batch(plan, f"203.0.113.{n}") for n in range(3)),
                                  key=lambda one: one[0])
            self.assertEqual({(d["allowed"], len(d["limits"])) for d in decisions}, {(True, met)})
            self.assertLess(took, 1.0, f"1 ms for each decision of {plan}")
        self.write("weir.yaml", self.policy(burst=5))

        def renewed():
            quotas = {d["quota"] for d in batch("v7", "203.0.113.9", 10)[1]}
            self.assertLessEqual(quotas, {1000, 5})
            return quotas == {5}
        harness.until(renewed, "the new policy is in force")


if __name__ == "__main__":
    harness.main()
