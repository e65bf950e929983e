"""Each script of lua/ against the oracle, through redis-cli alone: no line of weir's C++ between.

The oracle (build/dev/weir-oracle) says what the contract demands; here stands only what a caller of
the scripts must know: the arguments, and how to read the answer (lua/*.lua).
"""

import random
import subprocess

import harness
from redis_peer import Redis

START = 1_767_225_600_000_000  # us
LUA = harness.ROOT / "lua"


class Oracle:
    def __init__(self, test, limit):
        self.child = subprocess.Popen([str(harness.BUILD / "weir-oracle")], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, text=True)
        test.addCleanup(self.close)
        self.child.stdin.write(f"limit l {limit}\n")

    def close(self):
        self.child.stdin.close()
        self.child.stdout.close()
        self.child.wait()

    def ask(self, now_us, cost):
        """Whether the call is admitted."""
        self.child.stdin.write(f"{now_us}000 l - {cost}\n")
        self.child.stdin.flush()
        return self.child.stdout.readline().startswith("allow")


class Scripts(harness.SystemTest):
    def setUp(self):
        super().setUp()
        self.redis = Redis(self)
        whole = (LUA / "counters.lua").read_text()
        self.bucket = self.load((LUA / "bucket.lua").read_text())
        self.charge = self.load(whole + (LUA / "charge.lua").read_text())
        self.correct = self.load(whole + (LUA / "correct.lua").read_text())

    def load(self, text):
        return self.redis.cli("SCRIPT", "LOAD", text)[0]

    def compare(self, limit, quota, arguments, pauses):
        """Random calls; `arguments(cost)`: the kind and its six arguments."""
        oracle = Oracle(self, limit)
        chance = random.Random(limit)
        now = START
        for call in range(40):
            now += chance.choice(pauses)
            cost = chance.choice((1, 1, 1, 2, quota))
            kind, *rest = arguments(cost)
            lines = self.redis.cli("EVALSHA", self.charge, 1, limit, now, "", kind, 0, "", "",
                                   *rest)
            self.assertEqual(lines[0], str(now), lines)
            self.assertEqual(lines[1] == "1", oracle.ask(now, cost), f"{limit} call {call}")
        self.assertGreater(int(self.redis.cli("PTTL", limit)[0]), 0)

    def test_token_bucket(self):
        # 7 a second: one takes 1,000,000/7 us
        tag = "5/1000000/7|"

        def arguments(cost):
            return ("bucket", tag, cost * 1000000 // 7, cost * 1000000 % 7, 5000000 // 7,
                    5000000 % 7, 7)
        self.compare("token_bucket rate=7/s burst=5", 5, arguments, (0, 1, 142857, 142858, 500000))

    def test_lean_bucket(self):
        limit = "token_bucket rate=10/s burst=5"
        oracle = Oracle(self, limit)
        chance = random.Random(limit)
        now = START
        for call in range(40):
            now += chance.choice((0, 1, 99_999, 100_000, 250_000))
            cost = chance.choice((1, 1, 2, 5))
            left = int(self.redis.cli("EVALSHA", self.bucket, 1, "lean", "5/100000/1|",
                                      cost * 100000, 0, 500000, 0, 1, now)[0])
            self.assertEqual(left >= 0, oracle.ask(now, cost), f"call {call}")

    def test_fixed_window(self):
        self.compare("fixed_window limit=5 window=2s", 5,
                     lambda cost: ("window", cost, 5, 2_000_000, "", "", ""),
                     (0, 1, 999_999, 2_000_000))

    def test_sliding_log(self):
        self.compare("sliding_log limit=5 window=2s", 5,
                     lambda cost: ("log", cost, 5, 2_000_000, "newest", "", ""),
                     (0, 1, 666_666, 999_999, 2_000_000))

    def test_sliding_counter(self):
        self.compare("sliding_counter limit=5 window=2s", 5,
                     lambda cost: ("counter", cost, 5, 2_000_000, "", "", ""),
                     (0, 1, 333_333, 999_999, 2_000_000))

    def test_refund_gives_back_once_what_a_call_took(self):
        call = ("window", 0, "", "", 1, 1, 1000, "", "", "")
        charged = self.redis.cli("EVALSHA", self.charge, 1, "r", START, "", *call)
        self.assertEqual(charged[1], "1")
        self.assertEqual(self.redis.cli("EVALSHA", self.charge, 1, "r", START, "", *call)[1], "0")
        back = ("window", START, "", "", 1, 1, 1000, "", "", "")
        self.assertEqual(self.redis.cli("EVALSHA", self.correct, 1, "r", START, "", *back),
                         ["1", str(START)])
        self.assertEqual(self.redis.cli("EXISTS", "r"), ["0"])

    def test_the_servers_time_decides_where_none_is_handed_in(self):
        seconds, micros = map(int, self.redis.cli("TIME"))
        answer = self.redis.cli("EVALSHA", self.charge, 1, "t", "", "", "log", 0, "", "", 1, 5,
                                1_000_000, "newest", "", "")
        self.assertGreaterEqual(int(answer[0]), seconds * 1_000_000 + micros)
        self.assertLess(int(answer[0]), seconds * 1_000_000 + micros + 30_000_000)


if __name__ == "__main__":
    harness.unittest.main()
