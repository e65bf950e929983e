"""examples/five-algorithms: what each algorithm admits, on its own endpoint, at moments that we choose."""

import json

import harness
from example import ExampleTest

MINUTE = 1_800_000_000  # a Unix time at which a minute begins: 30,000,000 of them


class FiveAlgorithms(ExampleTest):
    NAME = "five-algorithms"
    PORTS = (3000, 6379, 8080, 8081)

    def test_the_readme(self):
        self.play()
        weir = next(p for command, p in self.running.items() if command.startswith("weir serve"))
        weir.wait_for("decisions follow on_error")

    def at(self, seconds):
        """Sets the time to so many seconds after a minute began."""
        self.clock.set(round((MINUTE + seconds) * 10**9))

    def begin(self):
        self.background(f"python3 service.py {self.port[3000]}")
        self.clock = self.clocked(env={"STORE": "memory://"})
        self.client = harness.Client(self.port[8080])
        self.addCleanup(self.client.close)
        self.at(0)

    def passing(self, path, calls, headers=None):
        """How many of so many calls at this moment pass."""
        return sum(self.client.get(path, headers).status == 200 for _ in range(calls))

    def ask(self, path, calls):
        """The decisions of so many calls at this moment."""
        client = harness.Client(self.port[8081])
        self.addCleanup(client.close)
        asked = {"checks": [{"attributes": {"path": path, "user": "u"}}] * calls}
        return json.loads(client.request("POST", "/v1/check", {}, json.dumps(asked)).text)["decisions"]

    def test_only_the_fixed_window_lets_twice_the_limit_pass_at_its_edge(self):
        self.begin()
        passed = {path: 0 for path in ("/sms", "/payment", "/search")}
        for second in (59, 60):
            self.at(second)
            for path in passed:
                passed[path] += self.passing(path, 100)
        self.assertEqual(passed["/sms"], 200)
        self.assertEqual(passed["/payment"], 100)
        self.assertEqual(passed["/search"], 100)

    def test_the_sliding_log_forgets_a_call_exactly_a_minute_after_it(self):
        self.begin()
        self.assertEqual(self.passing("/payment", 1), 1)
        self.at(30)
        self.assertEqual(self.passing("/payment", 100), 99)
        self.at(59.999)
        self.assertEqual(self.passing("/payment", 1), 0)
        self.at(60)
        self.assertEqual(self.passing("/payment", 2), 1)

    def test_thirty_and_three_tenths_of_a_hundred_are_sixty(self):
        self.begin()
        self.assertEqual(self.passing("/search", 100), 100)
        self.at(60 + 42)  # seven tenths of this minute have passed
        self.assertEqual(self.passing("/search", 30), 30)
        # 30 + 100 x 0.3 = 60: one more makes 61 of 100.
        self.assertEqual(self.client.get("/search").headers["X-RateLimit-Remaining"], "39")
        self.assertEqual(self.passing("/search", 100), 39)

    def test_an_idle_bucket_of_twenty_is_emptied_at_once_and_then_gives_ten_a_second(self):
        self.begin()
        self.assertEqual(self.passing("/api", 40), 20)
        self.at(1)
        self.assertEqual(self.passing("/api", 40), 10)
        self.at(3600)
        self.assertEqual(self.passing("/api", 40), 20)
        paid = {"X-User-Id": "ann", "X-Plan": "paid"}
        self.assertEqual(self.passing("/api", 300, paid), 200)

    def test_the_leaky_bucket_spaces_calls_evenly_and_drops_what_its_queue_cannot_hold(self):
        self.begin()
        decisions = self.ask("/mail", 8)
        self.assertEqual([d["allowed"] for d in decisions], [True] * 6 + [False] * 2)
        self.assertEqual([d["delay"] for d in decisions[:6]], [0, 0.1, 0.2, 0.3, 0.4, 0.5])
        self.assertEqual(decisions[6]["retry_after"], 0.1)
        self.at(3600)  # never a burst, however long it was idle
        self.assertEqual([d["delay"] for d in self.ask("/mail", 3)], [0, 0.1, 0.2])


if __name__ == "__main__":
    harness.main()
