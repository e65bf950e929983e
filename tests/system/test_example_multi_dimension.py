"""examples/multi-dimension: a C++ service that asks weir, three limits together, Redis spared."""

import json
import re

import harness
from example import ExampleTest

NOON = 1_800_014_400 * 10**9  # some moment


class MultiDimension(ExampleTest):
    NAME = "multi-dimension"
    PORTS = (6379, 8080, 8081)

    def setUp(self):
        super().setUp()
        self.environment["PATH"] = f"{harness.BUILD / 'examples'}:{self.environment['PATH']}"

    def batch(self, attributes, calls, cost=1):
        client = harness.Client(self.port[8081])
        self.addCleanup(client.close)
        asked = json.dumps({"checks": [{"attributes": attributes, "cost": cost}] * calls})
        return json.loads(client.request("POST", "/v1/check", {}, asked).text)["decisions"]

    def script_calls(self):
        told = self.run_line(f"redis-cli -p {self.port[6379]} info commandstats")
        return sum(int(n) for n in re.findall(r"cmdstat_eval(?:sha)?:calls=(\d+)", told))

    def test_the_readme_and_what_the_deny_cache_spares_redis(self):
        self.play()
        self.batch({"user": "eve"}, 2, cost=100)
        before = self.script_calls()
        decisions = self.batch({"user": "eve"}, 500, cost=100)
        asked = self.script_calls() - before
        self.assertEqual({d["source"] for d in decisions}, {"deny_cache"})
        self.assertLess(asked, 50)  # a heartbeat, and looks at the policy's changes

    def begin(self):
        self.clock = self.clocked(env={"ORDERS_STORE": "memory://"})
        self.clock.set(NOON)
        self.background(f"example_orders {self.port[8080]} {self.port[8081]}")
        self.client = harness.Client(self.port[8080])
        self.addCleanup(self.client.close)

    def order(self, user=None):
        return self.client.request("POST", "/api/orders", {"X-User-Id": user} if user else {})

    def test_the_body_names_the_limit_that_refused(self):
        self.begin()
        statuses = [self.order("ann").status for _ in range(101)]
        self.assertEqual(statuses, [200] * 100 + [429])
        refused = self.order("ann")
        self.assertEqual(json.loads(refused.text)["limit"], "user")
        self.assertEqual(refused.headers["Retry-After"], "1")
        self.assertEqual(sum(self.order().status == 200 for _ in range(101)), 100)
        refused = self.order("bob")  # whose own bucket is full
        self.assertEqual(json.loads(refused.text)["limit"], "ip")
        self.clock.set(NOON + 10**9)
        self.assertEqual(sum(self.order("ann").status == 200 for _ in range(51)), 50)

    def test_all_or_nothing(self):
        self.begin()
        decisions = self.batch({"ip": "203.0.113.7", "user": "ann"}, 300)
        self.assertEqual(sum(d["allowed"] for d in decisions), 100)
        left = {limit["limit"]: limit["remaining"] for limit in decisions[-1]["limits"]}
        self.assertEqual(left, {"global": 19900, "ip": 100, "user": 0})  # refusals took nothing


if __name__ == "__main__":
    harness.main()
