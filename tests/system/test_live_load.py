"""Policies that change while requests come: every answer is right under one of them, none is lost."""

import json
import os
import threading

import harness
from live import LiveTest
from redis_peer import Redis

TWO = ("[{{ name: a, key: [user], algorithm: {0} }}, {{ name: b, key: [user], algorithm: {0} }}]")


class Traffic:
    """Threads that ask in batches, without a pause, until they are stopped."""

    BATCH = 100

    def __init__(self, test, port, right, threads=2):
        self.port = port
        self.right = right  # of one decision: what is wrong with it, or None
        self.asked = 0
        self.wrong = []
        self.stopping = threading.Event()
        self.threads = [threading.Thread(target=self.run, args=(i,)) for i in range(threads)]
        for thread in self.threads:
            thread.start()
        test.addCleanup(self.stop)

    def run(self, number):
        client = harness.Client(self.port)
        checks = [{"attributes": {"user": f"{number}-{i}"}} for i in range(self.BATCH)]
        body = json.dumps({"checks": checks})
        try:
            while not self.stopping.is_set() and not self.wrong:
                answer = client.request("POST", "/v1/check", body=body)
                if answer.status != 200:
                    self.wrong.append(answer)
                for decision in json.loads(answer.text)["decisions"]:
                    if problem := self.right(decision):
                        self.wrong.append((problem, decision))
                self.asked += self.BATCH
        except OSError as error:
            self.wrong.append(error)
        finally:
            client.close()

    def stop(self):
        self.stopping.set()
        for thread in self.threads:
            thread.join(harness.PATIENCE)


class UnderLoad(LiveTest):
    def replace(self, text):
        self.write("new", text)
        os.rename(self.folder / "new", self.folder / "weir.yaml")

    def reload(self, limits, more=""):
        self.replace(self.policy(limits, more=more))
        self.changed("POST", "/v1/policy:reload")

    def test_no_answer_is_of_half_a_policy(self):
        numbers = ["token_bucket, rate: 1/s, burst: {0}", "fixed_window, limit: {0}, window: 1s",
                   "sliding_counter, limit: {0}, window: 1s"]
        self.serve(self.policy(TWO.format(numbers[0].format(10))))

        def problem(decision):
            quotas = {one["quota"] for one in decision["limits"]}
            return None if quotas in ({10}, {20}) and len(decision["limits"]) == 2 else "half"

        traffic = Traffic(self, self.api, problem)
        for turn in range(200):
            algorithm = numbers[turn % len(numbers)]
            self.reload(TWO.format(algorithm.format(20 if turn % 2 else 10)))
        traffic.stop()
        self.assertEqual(traffic.wrong, [])
        self.assertGreater(traffic.asked, 0)
        self.assertEqual(self.status()["generation"], 200)  # the first text was there already

    def test_limits_come_and_go_and_are_renamed_and_no_request_is_lost(self):
        limit = "{{ name: {}, key: [user], algorithm: fixed_window, limit: {}, window: month }}"
        self.serve(self.policy("[" + limit.format("a", 5) + "]"))
        sets = [["a"], ["a", "b"], ["b"], ["c", "d", "e"], []]

        def problem(decision):
            return None if [one["limit"] for one in decision["limits"]] in sets else "unknown set"

        traffic = Traffic(self, self.api, problem)
        for turn in range(60):
            names = sets[turn % len(sets)]
            self.reload("[" + ", ".join(limit.format(name, 10 ** 6) for name in names) + "]")
        traffic.stop()
        self.assertEqual(traffic.wrong, [])
        self.assertGreater(traffic.asked, 0)

    def used_stays_used(self, store=""):
        """Every algorithm, up and down: what a key has used or has left is the same afterwards."""
        numbers = {
            "token_bucket": "rate: 1/week, burst: {}", "leaky_bucket": "rate: 1/week, queue: {}",
            "fixed_window": "limit: {}, window: month", "sliding_log": "limit: {}, window: 30d",
            "sliding_counter": "limit: {}, window: 30d"}

        def limits(size):
            return "[" + ", ".join(
                f"{{ name: {name}, match: {{ header.x-a: {name} }}, key: [user], "
                f"algorithm: {name}, {text.format(size)} }}"
                for name, text in numbers.items()) + "]"

        self.serve(self.policy(limits(100), more=store))
        for name in numbers:
            self.assertEqual(self.ask(name, 40), 60 if name != "leaky_bucket" else 61, name)
        traffic = Traffic(self, self.api, lambda decision: None)
        left = {name: 60 for name in numbers}
        left["leaky_bucket"] = 61
        for size in (200, 50, 30, 120):
            self.reload(limits(size), more=store)
            for name in numbers:
                told = self.ask(name, 0)
                full = size + (1 if name == "leaky_bucket" else 0)
                if name in ("token_bucket", "leaky_bucket"):
                    # What is left stays left, clamped; a look does not convert it.
                    wanted = min(left[name], full)
                else:
                    wanted = max(full - 40, 0)  # what is used stays used
                self.assertEqual(told, wanted, (name, size))
        traffic.stop()
        self.assertEqual(traffic.wrong, [])

    def ask(self, name, cost):
        body = json.dumps({"attributes": {"user": "u", "header.x-a": name}, "cost": cost})
        return json.loads(self.call(self.api, "POST", "/v1/check", body).text)["remaining"]

    def test_what_is_left_or_used_in_memory_survives_other_numbers(self):
        self.used_stays_used()

    def test_what_is_left_or_used_in_redis_survives_other_numbers(self):
        redis = Redis(self)
        self.used_stays_used(f"store: {{ url: '{redis.url}', timeout: 5s, on_error: deny }}\n")


if __name__ == "__main__":
    harness.main()
