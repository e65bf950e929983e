"""A real web server's traffic through the running gateway, every answer held against the oracle.

6,000 requests of an access log, put in time order, go through the gateway to a real nginx. The
program's clock is set to each request's moment before it is sent; status, remaining, reset and wait
must be what exact arithmetic over the whole history (weir-oracle) says.
"""

import gzip
import math
import re
import subprocess
from datetime import datetime, timezone

import harness

POLICY = """
limits:
  - {{ name: global, algorithm: token_bucket, rate: 1/3s, burst: 60 }}
  - {{ name: per_ip, key: [ip], algorithm: sliding_counter, limit: 20, window: 60s }}
  - {{ name: images, match: {{ path: /images/** }}, key: [ip], algorithm: token_bucket,
      rate: 0.05/s, burst: 3 }}
identity: {{ trusted_proxies: [127.0.0.1] }}
gateway: {{ listen: 127.0.0.1:{listen}, upstream: http://127.0.0.1:{upstream} }}
"""

ORACLE_LIMITS = """limit global token_bucket rate=1/3s burst=60
limit per_ip sliding_counter limit=20 window=60s
limit images token_bucket rate=0.05/s burst=3
"""

QUOTAS = {"global": 60, "per_ip": 20, "images": 3}
LINE = re.compile(r'^(\S+) \S+ \S+ \[([^\]]+)\] "(\S+) (\S+) HTTP/1\.[01]"')
SECOND = 1_000_000_000


class Request:
    def __init__(self, line):
        address, moment, self.method, self.path = LINE.match(line).groups()
        self.ip = address
        when = datetime.strptime(moment, "%d/%b/%Y:%H:%M:%S %z").astimezone(timezone.utc)
        self.at_ns = int(when.timestamp()) * SECOND


def read_log():
    """The log's requests in time order. Those of one second are spread over it, in file order."""
    path = harness.ROOT / "tests/system/data/access.log.gz"
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        requests = sorted((Request(line) for line in lines), key=lambda r: r.at_ns)
    second, count = None, 0
    for request in requests:
        count = count + 1 if request.at_ns == second else 0
        second = request.at_ns
        request.at_ns += count * 1_234_567
    return requests


class Oracle:
    """The exact model, asked line by line."""

    def __init__(self):
        self.process = subprocess.Popen([str(harness.BUILD / "weir-oracle")],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.process.stdin.write(ORACLE_LIMITS)

    def ask(self, request):
        line = f"{request.at_ns} global - 1 per_ip {request.ip} 1"
        if request.path == "/images" or request.path.startswith("/images/"):
            line += f" images {request.ip} 1"
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return Expected(self.process.stdout.readline(), request.at_ns)

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(harness.PATIENCE)


class Expected:
    """One line of the oracle, as the headers must say it."""

    def __init__(self, line, at_ns):
        head, *parts = [part.split() for part in line.strip().split("|")]
        self.allowed = head[0] == "allow"
        self.named = head[1]
        limits = {name: (outcome, *map(int, numbers)) for name, outcome, *numbers in parts}
        _, remaining, retry, reset, _, _ = limits[self.named]
        until = reset if self.allowed else retry
        self.headers = {
            "X-RateLimit-Limit": str(QUOTAS[self.named]),
            "X-RateLimit-Remaining": str(remaining),
            "X-RateLimit-Reset": str(math.ceil((at_ns + until) / SECOND)),
        }
        if not self.allowed:
            self.headers["Retry-After"] = str(max(1, math.ceil(retry / SECOND)))
        self.status = 200 if self.allowed else 429


class Replay(harness.SystemTest):
    def test_every_answer_of_six_thousand_real_requests_is_the_oracles(self):
        requests = read_log()
        self.assertEqual(len(requests), 6000)
        listen, upstream = harness.free_port(), self.upstream()
        clock_path = self.folder / "clock"
        self.serve(POLICY.format(listen=listen, upstream=upstream), "--test-clock", clock_path)
        clock = harness.TestClock(clock_path)
        self.addCleanup(clock.close)
        oracle = Oracle()
        self.addCleanup(oracle.close)
        client = harness.Client(listen)
        self.addCleanup(client.close)

        refused = 0
        for number, request in enumerate(requests):
            clock.set(request.at_ns)
            expected = oracle.ask(request)
            answer = client.request(request.method, request.path, {"X-Forwarded-For": request.ip})
            self.compare(number, request, expected, answer)
            refused += not expected.allowed
        # Both outcomes must have been seen often, or the comparison shows little.
        self.assertGreater(refused, 300)
        self.assertLess(refused, 5700)
        print(f"replayed {len(requests)} requests, {refused} refused, all as the oracle says")

    def compare(self, number, request, expected, answer):
        where = f"request {number}: {request.method} {request.path} from {request.ip} " \
                f"at {request.at_ns} ns, named {expected.named}: {answer}"
        self.assertEqual(answer.status, expected.status, where)
        for name, value in expected.headers.items():
            self.assertEqual(answer.headers[name], value, f"{name}, {where}")
        if not expected.allowed and request.method != "HEAD":
            self.assertIn(f'"limit":"{expected.named}"', answer.text, where)


if __name__ == "__main__":
    harness.main()
