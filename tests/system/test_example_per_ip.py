"""examples/per-ip: log-in and sign-up limited by address behind two real nginx, counted in Redis."""

import re
import signal

import harness
from example import ExampleTest

NOON = 1_800_014_400 * 10**9  # some moment


class PerIp(ExampleTest):
    NAME = "per-ip"
    PORTS = (3000, 6379, 8000, 8001, 8080)
    REPEATED = ("uniq -c",)

    def program(self, beginning):
        return next(p for command, p in self.running.items() if command.startswith(beginning))

    def log_in(self, address, options="", calls=""):
        """What curl prints of log-ins through both proxies. From an address of their own: one that was
        just refused is refused without asking Redis."""
        return self.run_line(f"curl -s --interface {address} {options} -X POST "
                             f"'http://127.0.0.1:{self.port[8000]}/login{calls}'")

    def typed(self, command):
        if "uniq -c" in command:  # the next one begins with a window that is free again
            keys = f"redis-cli -p {self.port[6379]} --scan --pattern '*}}ip:*'"
            harness.until(lambda: not self.run_line(keys), "the second has passed")

    def holds_when_slow(self, printed, seconds):
        counts = {status: int(count) for count, status in re.findall(r"(\d+) (\d+)", printed)}
        self.assertLessEqual(counts.get("200", 0), 100 * (1 + int(seconds)))  # as many seconds had begun
        self.assertEqual(sum(counts.values()), 200)
        return seconds > 1

    def test_the_readme_and_what_happens_when_redis_dies(self):
        self.play()
        watching = self.start("redis-cli", "-p", self.port[6379], "monitor")
        watching.wait_for("OK")
        self.log_in("127.0.0.11", "-H 'X-Forwarded-For: 203.0.113.9'")
        self.assertIn('"ip-limiter:{', watching.wait_for('10:127.0.0.11,"'))
        self.assertNotIn("203.0.113.9", watching.output)

        self.program("redis-server").signal(signal.SIGKILL)
        self.program("redis-server").wait()
        weir = self.program("weir serve")
        statuses = self.log_in("127.0.0.12", "-o /dev/null -w '%{http_code}\\n'", "?[1-150]").split()
        self.assertEqual(statuses, ["200"] * 150)
        weir.wait_for("decisions follow on_error")
        errors = [line for line in weir.lines if "level=error" in line]
        self.assertEqual(len(errors), 1, weir.output)

        policy = self.place / "weir.yaml"
        text = policy.read_text()
        policy.write_text(text.replace("on_error: allow ", "on_error: deny "))
        weir.wait_for("generation 2")
        refused = self.log_in("127.0.0.13", "-i")
        self.assertIn("HTTP/1.1 503 ", refused)
        self.assertIn("LIMITER_UNAVAILABLE", refused)

    def test_a_hundred_in_one_instant_count_as_a_hundred_whatever_they_say_of_themselves(self):
        self.background(f"weir demo --listen 127.0.0.1:{self.port[3000]}")
        clock = self.clocked(env={"IP_LIMITER_STORE": "memory://"})
        clock.set(NOON)
        for name in ("inner", "edge"):
            self.background(f"nginx -p . -e stderr -c {name}.conf")
        client = harness.Client(self.port[8000])
        self.addCleanup(client.close)
        lies = [{}, {"X-Forwarded-For": "203.0.113.1"}, {"X-Forwarded-For": "127.0.0.2"},
                {"X-Forwarded-For": "203.0.113.1, 127.0.0.2, 127.0.0.3"}, {"X-Real-IP": "203.0.113.1"},
                {"Forwarded": "for=203.0.113.1"}]
        statuses = [client.request("POST", "/login", lies[i % len(lies)]).status for i in range(120)]
        self.assertEqual(statuses, [200] * 100 + [429] * 20)
        refused = client.request("POST", "/signup")  # the same count for both
        self.assertEqual((refused.status, refused.headers["Retry-After"]), (429, "1"))
        clock.set(NOON + 10**9)
        statuses = [client.request("POST", "/login").status for _ in range(101)]
        self.assertEqual(statuses, [200] * 100 + [429])

    def test_a_device_id_can_take_the_place_of_the_address(self):
        policy = self.place / "weir.yaml"
        [key] = re.findall(r"`(key: \[header.*?\])`", (self.place / "README.md").read_text())
        policy.write_text(policy.read_text().replace("key: [ip]", key))
        self.background(f"weir demo --listen 127.0.0.1:{self.port[3000]}")
        self.clocked(env={"IP_LIMITER_STORE": "memory://"}).set(NOON)
        client = harness.Client(self.port[8080])
        self.addCleanup(client.close)
        mine = [client.request("POST", "/login", {"X-Device-Id": "a"}).status for _ in range(101)]
        self.assertEqual(mine, [200] * 100 + [429])
        self.assertEqual(client.request("POST", "/login", {"X-Device-Id": "b"}).status, 200)


if __name__ == "__main__":
    harness.main()
