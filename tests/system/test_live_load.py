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

    def real_calls_are_right(self, store=""):
        """The same with calls that take, the one after each reload being the one that converts."""
        numbers = {
            "token_bucket": "rate: 1/week, burst: {}", "leaky_bucket": "rate: 1/week, queue: {}",
            "fixed_window": "limit: {}, window: month", "sliding_log": "limit: {}, window: 30d",
            "sliding_counter": "limit: {}, window: 30d"}
        buckets = ("token_bucket", "leaky_bucket")

        def limits(size):
            return "[" + ", ".join(
                f"{{ name: {name}, match: {{ header.x-a: {name} }}, key: [user], "
                f"algorithm: {name}, {text.format(size)} }}"
                for name, text in numbers.items()) + "]"

        def full(name, size):
            return size + 1 if name == "leaky_bucket" else size

        self.serve(self.policy(limits(20), more=store))
        used = dict.fromkeys(numbers, 0)
        left = {name: full(name, 20) for name in numbers}
        traffic = Traffic(self, self.api, lambda decision: None)
        for size in (20, 40, 10, 3, 0, 25, 25, 8):
            self.reload(limits(size), more=store)
            for name in numbers:
                # Of a bucket that holds nothing, drained is the same as fresh.
                if size == 0 and name in buckets:
                    continue
                left[name] = min(left[name], full(name, size))
                for _ in range(3):
                    room = left[name] if name in buckets else full(name, size) - used[name]
                    told = self.take(name)
                    self.assertEqual(told["allowed"], room > 0, (name, size, told))
                    if told["allowed"]:
                        used[name] += 1
                        left[name] -= 1
                        self.assertEqual(told["remaining"], room - 1, (name, size, told))
                    else:
                        self.assertEqual(told["remaining"], 0, (name, size, told))
        traffic.stop()
        self.assertEqual(traffic.wrong, [])

    def calls_in_flight_stay_in_flight(self, store=""):
        """Whatever the new limit is, what has begun is counted until it ends."""
        def limits(size):
            return (f"[{{ name: c, key: [user], algorithm: concurrency, limit: {size}, "
                    "timeout: 1h }]")

        def ids(count):
            return [told["id"] for told in (self.take("") for _ in range(count))
                    if told["allowed"]]

        self.serve(self.policy(limits(5), more=store))
        flying = ids(3)
        self.assertEqual(len(flying), 3)
        traffic = Traffic(self, self.api, lambda decision: None)
        for size, admitted in ((2, 0), (3, 0), (5, 2), (1, 0), (9, 4)):
            self.reload(limits(size), more=store)
            more = ids(admitted + 1)
            self.assertEqual(len(more), admitted, size)
            flying += more
        self.reload(limits(2), more=store)
        while flying:
            answer = self.call(self.api, "POST", "/v1/release", json.dumps({"id": flying.pop()}))
            self.assertEqual(answer.status, 200, answer)
            self.assertEqual(self.take("", cost=0)["remaining"], max(0, 2 - len(flying)))
        traffic.stop()
        self.assertEqual(traffic.wrong, [])

    def take(self, name, cost=1):
        body = json.dumps({"attributes": {"user": "u", "header.x-a": name}, "cost": cost})
        return json.loads(self.call(self.api, "POST", "/v1/check", body).text)

    def a_drained_key_stays_drained(self, store=""):
        """A reload of the same numbers refills nothing, whatever else it changes."""
        drained = "{ name: b, key: [user], algorithm: token_bucket, rate: 10/h, burst: 10 }"
        other = "{{ name: o, match: {{ method: PUT }}, algorithm: fixed_window, limit: {}, window: 1m }}"
        self.serve(self.policy(f"[{drained}, {other.format(5)}]", more=store))
        for _ in range(10):
            self.assertTrue(self.take("")["allowed"])
        before = self.take("")
        self.assertFalse(before["allowed"])
        for limits in (f"[{drained}, {other.format(5)}]", f"[{drained}, {other.format(6)}]",
                       f"# a comment\n  [{other.format(6)},\n   {drained}]"):
            self.reload(limits, more=store)
            after = self.take("")
            self.assertFalse(after["allowed"])
            self.assertLess(after["retry_after"], before["retry_after"])
            before = after

    def ask(self, name, cost):
        body = json.dumps({"attributes": {"user": "u", "header.x-a": name}, "cost": cost})
        return json.loads(self.call(self.api, "POST", "/v1/check", body).text)["remaining"]

    def test_what_is_left_or_used_in_memory_survives_other_numbers(self):
        self.used_stays_used()

    def test_what_is_left_or_used_in_redis_survives_other_numbers(self):
        self.used_stays_used(self.in_redis())

    def test_calls_after_a_reload_are_right_in_memory(self):
        self.real_calls_are_right()

    def test_calls_after_a_reload_are_right_in_redis(self):
        self.real_calls_are_right(self.in_redis())

    def test_calls_in_flight_survive_other_numbers_in_memory(self):
        self.calls_in_flight_stay_in_flight()

    def test_calls_in_flight_survive_other_numbers_in_redis(self):
        self.calls_in_flight_stay_in_flight(self.in_redis())

    def test_reloads_refill_nothing_in_memory(self):
        self.a_drained_key_stays_drained()

    def test_reloads_refill_nothing_in_redis(self):
        self.a_drained_key_stays_drained(self.in_redis())

    def in_redis(self):
        return f"store: {{ url: '{Redis(self).url}', timeout: 5s, on_error: deny, deny_cache: 0 }}\n"


if __name__ == "__main__":
    harness.main()
