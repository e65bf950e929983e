"""Faults that other limiters shipped in what they answer, tried on the running program: numbers in
headers, other statuses, upstreams that fail, health without Redis."""

import concurrent.futures
import json
import socket
import threading

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


if __name__ == "__main__":
    harness.main()
