"""The line protocol of weir-oracle (tests/oracle/main.cc), as tests in other languages use it."""

import os
import subprocess
import sys
import unittest

PROGRAM = os.path.join(os.environ["WEIR_BUILD"], "weir-oracle")
T0 = 1_767_225_600_000_000_000
SECOND = 1_000_000_000


def run(text):
    return subprocess.run([PROGRAM], input=text, capture_output=True, text=True, check=False)


class WeirOracle(unittest.TestCase):
    def test_answers_a_line_for_each_request_and_names_the_limit(self):
        done = run(
            "# three limits, in file order\n"
            "limit global token_bucket rate=100/s burst=200\n"
            "limit per_ip sliding_counter limit=1 window=60s\n"
            "limit trial fixed_window limit=5 window=60s shadow\n"
            f"{T0} global - 1 per_ip 203.0.113.7 1 trial - 1\n"
            f"{T0 + SECOND} global - 1 per_ip 203.0.113.7 1 trial - 1\n"
            f"{T0 + SECOND} global - 201\n"
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(
            done.stdout.splitlines(),
            [
                "allow per_ip | global allow 199 0 10000000 0 10000000"
                f" | per_ip allow 0 0 {120 * SECOND} 0 {120 * SECOND}"
                f" | trial allow 4 0 {60 * SECOND} 0 {60 * SECOND}",
                "deny per_ip | global allow 200 0 0 0 0"
                f" | per_ip deny 0 {119 * SECOND} {119 * SECOND} 0 {119 * SECOND}"
                f" | trial allow 4 0 {59 * SECOND} 0 {59 * SECOND}",
                "deny global | global never 200 0 0 0 0",
            ],
        )

    def test_answers_each_line_before_it_gets_the_next(self):
        with subprocess.Popen(
            [PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as program:
            program.stdin.write("limit one token_bucket rate=1/s burst=1\n")
            for expected in ("allow", "deny"):
                program.stdin.write(f"{T0} one k 1\n")
                program.stdin.flush()
                self.assertEqual(program.stdout.readline().split()[0], expected)
            program.stdin.close()
            self.assertEqual(program.wait(), 0)

    def test_names_the_line_that_is_wrong(self):
        done = run(f"limit one token_bucket rate=1/s burst=1\n\n{T0} two k 1\n")
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stderr, "line 3: no limit is named 'two'\n")


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
