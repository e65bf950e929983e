"""The plots of docs/algorithms.md show what the program answers: drawn anew, they are the same bytes.

WEIR_ACCEPT=1 writes them.
"""

import json
import os

import harness
import plots

IMAGES = harness.ROOT / "docs" / "images"
START = 1_800_000_000 * 10**9  # a moment at which a window of ten seconds begins

NUMBERS = {
    "fixed_window": "limit: 10, window: 10s",
    "sliding_log": "limit: 10, window: 10s",
    "sliding_counter": "limit: 10, window: 10s",
    "token_bucket": "rate: 1/s, burst: 10",
    "leaky_bucket": "rate: 1/s, queue: 9",
}


class Plots(harness.SystemTest):
    def setUp(self):
        super().setUp()
        limits = "".join(f"  - {{ name: {name}, key: [{name}], algorithm: {name}, {numbers} }}\n"
                         for name, numbers in NUMBERS.items())
        port, clock = harness.free_port(), self.folder / "clock"
        self.serve(f"attributes: [{', '.join(NUMBERS)}]\nlimits:\n{limits}"
                   f"api: {{ listen: 127.0.0.1:{port} }}\n", "--test-clock", clock)
        self.clock = harness.TestClock(clock)
        self.addCleanup(self.clock.close)
        self.client = harness.Client(port)
        self.addCleanup(self.client.close)

    def ask(self, second, cost=1):
        """The decision of each algorithm at that moment."""
        moment = START + round(second * 10**9)
        self.clock.set(moment, moment)
        checks = [{"attributes": {name: "somebody"}, "cost": cost} for name in NUMBERS]
        answer = self.client.request("POST", "/v1/check", body=json.dumps({"checks": checks}))
        self.assertEqual(answer.status, 200, answer)
        return dict(zip(NUMBERS, json.loads(answer.text)["decisions"]))

    def check(self, name, drawn):
        path = IMAGES / name
        if os.environ.get("WEIR_ACCEPT"):
            path.write_text(drawn)
        self.assertEqual(path.read_text(), drawn, f"{path} is out of date: WEIR_ACCEPT=1 writes it")

    def test_what_each_algorithm_admits_of_the_same_burst(self):
        burst = [9 + call / 20 for call in range(40)]        # twice ten a second, over a window's edge
        steady = [20 + call / 2 for call in range(40)]       # then twice as many as are allowed
        answers = {name: [] for name in NUMBERS}
        for second in burst + steady:
            for name, said in self.ask(second).items():
                answers[name].append(second + said["delay"] if said["allowed"] else None)
        rows = [(name, numbers.replace(": ", " "), answers[name]) for name, numbers in NUMBERS.items()]
        self.check("one-burst.svg", plots.one_burst(burst + steady, rows))

    def test_what_each_algorithm_has_left_after_ten_calls_at_once(self):
        drained_at, seconds, samples = 3, 25, {name: [] for name in NUMBERS}
        for quarter in range(4 * seconds + 1):
            if quarter == 4 * drained_at:
                for said in self.ask(drained_at, 10).values():
                    self.assertTrue(said["allowed"])
            for name, said in self.ask(quarter / 4, 0).items():
                samples[name].append((quarter / 4, said["remaining"]))
        self.check("what-is-left.svg", plots.what_is_left(drained_at, seconds, list(samples.items())))


if __name__ == "__main__":
    harness.main()
