"""Two gateways that share one Redis are one limit; and what they do when it dies.

The store is given seconds: a deadline missed on a busy machine would count as an outage.
"""

import harness
from redis_peer import SERVER

POLICY = """
store: {{ url: "redis://127.0.0.1:{redis}/0", on_error: {on_error}, instances: 2, timeout: 5s }}
limits:
  - {{ name: all, algorithm: token_bucket, rate: 1/h, burst: {burst} }}
gateway: {{ listen: 127.0.0.1:{listen}, upstream: http://127.0.0.1:{upstream} }}
admin: {{ listen: 127.0.0.1:{admin} }}
"""


class Fleet(harness.SystemTest):
    def setUp(self):
        super().setUp()
        self.redis_port = harness.free_port()
        self.backend = self.upstream()

    def start_redis(self):
        redis = self.start(SERVER, "--port", self.redis_port, "--save", "", "--dir",
                           self.folder, "--bind", "127.0.0.1")
        redis.wait_for("Ready to accept connections")
        return redis

    def start_gateway(self, name, on_error="allow", burst=5):
        listen, admin = harness.free_port(), harness.free_port()
        weir = self.serve(POLICY.format(redis=self.redis_port, on_error=on_error, burst=burst,
                                        listen=listen, admin=admin, upstream=self.backend),
                          name=f"{name}.yaml")
        weir.listen, weir.admin = listen, admin
        return weir

    def statuses(self, weir, count):
        return [harness.get(weir.listen).status for _ in range(count)]

    def metrics(self, weir):
        return harness.get(weir.admin, "/metrics").text

    def test_two_gateways_admit_together_what_one_would(self):
        self.start_redis()
        one, two = self.start_gateway("one"), self.start_gateway("two")
        self.assertIn(f"counters in redis://127.0.0.1:{self.redis_port}/0", one.output)
        answers = [harness.get(weir.listen).status for _ in range(4) for weir in (one, two)]
        self.assertEqual(answers, [200] * 5 + [429] * 3)

    def test_a_gateway_that_starts_again_remembers(self):
        self.start_redis()
        first = self.start_gateway("one")
        self.assertEqual(self.statuses(first, 5), [200] * 5)
        first.stop()
        self.assertEqual(self.statuses(self.start_gateway("two"), 1), [429])

    def test_fails_open_and_says_so_once(self):
        redis = self.start_redis()
        weir = self.start_gateway("one", burst=2)
        self.assertEqual(self.statuses(weir, 2), [200, 200])
        redis.signal(harness.signal.SIGKILL)
        redis.wait()
        self.assertEqual(self.statuses(weir, 20), [200] * 20)
        self.assertIn('source="fail_open"', self.metrics(weir))
        self.assertIn("weir_store_up 0", self.metrics(weir))
        weir.wait_for("level=error")
        about_redis = [line for line in weir.lines if "level=error" in line]
        self.assertEqual(len(about_redis), 1, weir.output)

    def test_fails_closed_with_503_and_not_with_429(self):
        redis = self.start_redis()
        weir = self.start_gateway("one", on_error="deny")
        self.assertEqual(self.statuses(weir, 1), [200])
        redis.signal(harness.signal.SIGKILL)
        redis.wait()
        answer = harness.get(weir.listen)
        self.assertEqual(answer.status, 503)
        self.assertIn('"code":"LIMITER_UNAVAILABLE"', answer.text)
        self.assertIn("Retry-After", answer.headers)
        self.assertNotIn("X-RateLimit-Remaining", answer.headers)

    def test_counts_by_its_share_and_comes_back_to_the_shared_counter(self):
        redis = self.start_redis()
        weir = self.start_gateway("one", on_error="local", burst=6)
        self.assertEqual(self.statuses(weir, 1), [200])
        redis.signal(harness.signal.SIGKILL)
        redis.wait()
        self.assertEqual(self.statuses(weir, 5), [200] * 3 + [429] * 2)  # 6 / 2 instances
        self.start_redis()
        answer = harness.until(
            lambda: (lambda a: a if a.headers["X-RateLimit-Limit"] == "6" else None)(
                harness.get(weir.listen)), "the gateway asks Redis again")
        self.assertEqual(answer.status, 200)

    def test_starts_while_redis_is_down_and_says_so(self):
        weir = self.start_gateway("one")
        self.assertIn("has not answered yet", weir.output)
        self.assertEqual(self.statuses(weir, 1), [200])
        self.start_redis()
        harness.until(lambda: "weir_store_up 1" in self.metrics(weir), "Redis is found")
        harness.until(lambda: self.statuses(weir, 1) == [429], "the limit holds again")


if __name__ == "__main__":
    harness.main()
