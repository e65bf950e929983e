"""examples/vistack: a policy in etcd, counters in Redis; and what its numbers mean, second by second."""

import shutil
import threading
import unittest

import harness
from example import ExampleTest

NOON = 1_800_014_400  # some moment


@unittest.skipUnless(shutil.which("etcd"), "etcd is not installed: ./dev setup")
@unittest.skipUnless(shutil.which("node"), "node is not installed: ./dev setup")
class Vistack(ExampleTest):
    NAME = "vistack"
    PORTS = (2379, 2380, 3000, 6379, 8080)

    generation = 1

    def program(self):
        return next((p for command, p in self.running.items() if command.startswith("weir serve")), None)

    def typed(self, command):
        if "etcdctl" in command and self.program():
            self.generation += 1
            self.program().wait_for(f"is in force, generation {self.generation}")

    def test_the_readme(self):
        self.play()
        weir = self.program()
        weir.wait_for("decisions follow on_error")
        errors = [line for line in weir.lines if "level=error" in line]
        self.assertEqual(len(errors), 1, weir.output)
        self.assertIn("decisions follow on_error", errors[0])


@unittest.skipUnless(shutil.which("node"), "node is not installed: ./dev setup")
class VistackByTheClock(ExampleTest):
    NAME = "vistack"
    PORTS = (3000, 8080)

    def begin(self, *changes):
        policy = self.place / "weir.toml"
        text = policy.read_text()
        for old, new in changes:
            self.assertIn(old, text)
            text = text.replace(old, new)
        policy.write_text(text)
        self.background(f"node server.js {self.port[3000]}")
        self.clock = self.clocked(policy="weir.toml", env={"VISTACK_STORE": "memory://"})
        self.at(0)
        self.client = harness.Client(self.port[8080])
        self.addCleanup(self.client.close)

    def at(self, seconds):
        self.clock.set(round((NOON + seconds) * 10**9))

    def get(self, user=None):
        return self.client.get("/videos", {"X-User-Id": user} if user else {})

    def passing(self, calls, user=None):
        return sum(self.get(user).status == 200 for _ in range(calls))

    LOG = ('algorithm = "token_bucket"  ', 'algorithm = "sliding_log"  ')

    def test_the_bucket_refills_at_ten_a_second_and_never_above_twenty(self):
        self.begin()
        self.assertEqual(self.passing(30, "ann"), 20)
        refused = self.get("ann")
        self.assertEqual((refused.status, refused.headers["Retry-After"]), (429, "1"))
        self.assertEqual(refused.headers["X-RateLimit-Limit"], "20")
        self.at(0.5)
        self.assertEqual(self.passing(30, "ann"), 5)
        self.at(60)
        self.assertEqual(self.passing(30, "ann"), 20)

    def test_who_is_not_signed_in_shares_one_counter(self):
        self.begin()
        self.assertEqual(self.passing(10), 10)
        other = harness.Client(self.port[8080])
        self.addCleanup(other.close)
        statuses = [other.get("/", {"X-Forwarded-For": f"203.0.113.{i}"}).status for i in range(11)]
        self.assertEqual(statuses, [200] * 10 + [429])
        self.assertEqual(self.passing(1, "ann"), 1)

    def test_many_at_once_are_counted_as_many(self):
        self.begin()
        passed = []

        def ask():
            client = harness.Client(self.port[8080])
            passed.extend(client.get("/", {"X-User-Id": "ann"}).status for _ in range(10))
            client.close()
        threads = [threading.Thread(target=ask) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual((len(passed), passed.count(200)), (80, 20))

    def test_the_log_slides_and_says_when_the_oldest_call_leaves(self):
        self.begin(self.LOG)
        first = self.get("ann")
        self.assertEqual(first.headers["X-RateLimit-Remaining"], "99")
        self.assertEqual(first.headers["X-RateLimit-Reset"], str(NOON + 60))  # now + window
        self.at(20)
        self.assertEqual(self.passing(120, "ann"), 99)
        refused = self.get("ann")
        self.assertEqual(refused.headers["X-RateLimit-Reset"], str(NOON + 60))  # the oldest leaves
        self.assertEqual(refused.headers["Retry-After"], "40")
        self.at(60)
        self.assertEqual(self.passing(2, "ann"), 1)

    def test_switched_off_it_refuses_nothing(self):
        self.begin(("enabled = true", "enabled = false"))
        self.assertEqual(self.passing(50, "ann"), 50)


if __name__ == "__main__":
    harness.main()
