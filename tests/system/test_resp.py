"""The RESP listener of the built program, with clients that we did not write."""

import os
import shutil
import socket
import subprocess
import sys
import unittest

sys.path.insert(0, __file__.rsplit("/", 1)[0])
from harness import PATIENCE, ROOT, SystemTest, TestClock, free_port, main  # noqa: E402
from redis_peer import Redis  # noqa: E402

NODE_MODULES = ROOT / "build" / "node" / "node_modules"

POLICY = """
resp: {{ listen: 127.0.0.1:{port}{more} }}
limits:
  - {{ name: login, key: [user], algorithm: token_bucket, rate: 1/h, burst: 2 }}
"""


def needs(program):
    return unittest.skipUnless(shutil.which(program), f"{program} is not installed")


class Resp(SystemTest):
    def listen(self, more=""):
        port = free_port()
        self.serve(POLICY.format(port=port, more=more))
        return port

    def run_ok(self, *arguments, **options):
        done = subprocess.run([str(a) for a in arguments], capture_output=True, text=True,
                              timeout=6 * PATIENCE, **options)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    @needs("redis-cli")
    def test_redis_cli_takes_tokens(self):
        port = self.listen()
        say = lambda *words: self.run_ok("redis-cli", "-p", port, *words)  # noqa: E731
        self.assertEqual(say("CL.THROTTLE", "k", 15, 30, 60).split(), ["0", "16", "15", "-1", "2"])
        self.assertEqual(say("CL.THROTTLE", "k", 15, 30, 60, 17).split()[0], "1")
        self.assertEqual(say("WEIR.TAKE", "login", 1, "bob").split()[:3], ["1", "login", "1"])
        self.assertEqual(say("-3", "PING").strip(), "PONG")
        self.assertIn("unknown command", say("GET", "k"))

    @needs("redis-cli")
    @needs("redis-server")
    def test_other_numbers_for_a_key_are_judged_by_what_it_has_used_on_a_server_too(self):
        port, redis = free_port(), Redis(self)
        self.serve(POLICY.format(port=port, more="") + f"store: {{ url: '{redis.url}' }}\n")

        def throttle(*words):
            return [int(word) for word in self.run_ok("redis-cli", "-p", port, "CL.THROTTLE",
                                                      *words).split()]

        # By the hour: the answers are seconds, rounded up, and the server's clock goes on.
        throttle("k", 59, 60, 216000, 30)
        self.assertEqual([throttle("k", 5, 6, 216000)[:3] for _ in range(4)],
                         [[0, 6, 2], [0, 6, 1], [0, 6, 0], [1, 6, 0]])

    def test_a_reply_is_in_the_version_in_which_its_command_was_asked(self):
        redis = Redis(self)
        limits = """limits:
  - { name: login, key: [user], mode: shadow, algorithm: token_bucket, rate: 1/h, burst: 9 }
"""
        for store in ("", f"store: {{ url: '{redis.url}', timeout: 60s }}\n"):
            port = free_port()
            self.serve(f"resp: {{ listen: 127.0.0.1:{port} }}\n{store}{limits}")
            with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as client:
                client.sendall(b"WEIR.TAKE login 1 u\r\nWEIR.CHECK 1 user u\r\nHELLO 3\r\n"
                               b"WEIR.TAKE login 1 u\r\nHELLO 2\r\n")
                client.shutdown(socket.SHUT_WR)
                said = b"".join(iter(lambda: client.recv(65536), b""))
            replies = [one[:10] for one in said.split(b"*7\r\n")[1:]]
            self.assertEqual([one.split(b"\r\n")[1] for one in replies], [b"$-1", b"$-1", b"_"],
                             (store, said))

    @needs("redis-cli")
    def test_other_numbers_for_a_key_are_judged_by_what_it_has_used(self):
        port = free_port()
        clock_path = self.folder / "clock"
        self.serve(POLICY.format(port=port, more=""), "--test-clock", clock_path)
        clock = TestClock(clock_path)
        self.addCleanup(clock.close)
        clock.set(10 ** 18)

        def throttle(*words):
            return [int(word) for word in self.run_ok("redis-cli", "-p", port, "CL.THROTTLE",
                                                      *words).split()]

        for _ in range(30):
            throttle("k", 59, 60, 60)
        self.assertEqual([throttle("k", 5, 6, 60) for _ in range(4)],
                         [[0, 6, 2, -1, 40], [0, 6, 1, -1, 50], [0, 6, 0, -1, 60],
                          [1, 6, 0, 10, 60]])
        for _ in range(60):
            throttle("j", 59, 1, 60)
        clock.set(10 ** 18 + 1800 * 10 ** 9)
        # redis-cell would say 1741 and 1800: here nobody waits for longer than a whole bucket takes.
        self.assertEqual(throttle("j", 59, 60, 60), [1, 60, 0, 1, 60])

    @needs("redis-cli")
    def test_redis_cli_logs_in(self):
        port = self.listen(", password: sesame")
        self.assertIn("NOAUTH", self.run_ok("redis-cli", "-p", port, "PING"))
        self.assertEqual(self.run_ok("redis-cli", "-p", port, "--no-auth-warning", "-a", "sesame",
                                     "PING").strip(), "PONG")

    @needs("redis-benchmark")
    def test_redis_benchmark_at_any_depth_sees_no_error(self):
        port = self.listen()
        for depth in (1, 64):
            out = self.run_ok("redis-benchmark", "-p", port, "-n", 20000, "-r", 1000, "-P", depth,
                              "-e", "-q", "CL.THROTTLE", "k__rand_int__", 1, 8000, 1)
            self.assertIn("requests per second", out)
            self.assertNotIn("ERR", out)

    def test_ten_connections_without_pause_never_pass_the_limit(self):
        # A burst of two, one each minute; every reply is five integers.
        port = self.listen()
        command = b"*5\r\n$11\r\nCL.THROTTLE\r\n$1\r\nk\r\n$1\r\n1\r\n$1\r\n1\r\n$2\r\n60\r\n"
        admitted = 0
        for _ in range(10):
            with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as client:
                client.sendall(command * 500)
                stream = client.makefile("rb")
                for _ in range(500):
                    self.assertEqual(stream.readline(), b"*5\r\n")
                    five = [stream.readline() for _ in range(5)]
                    admitted += five[0] == b":0\r\n"
        self.assertEqual(admitted, 2)

    @needs("node")
    @unittest.skipUnless(NODE_MODULES.exists(), "the npm packages are not installed: ./dev test")
    def test_node_clients_as_their_readmes_connect(self):
        port = self.listen()
        out = self.run_ok("node", ROOT / "tests" / "node" / "resp.js", port,
                          env={**os.environ, "NODE_PATH": str(NODE_MODULES)})
        self.assertIn("ioredis ok", out)
        self.assertIn("redis ok", out)

    def test_redis_py_as_its_readme_connects(self):
        python = next((one for one in (sys.executable, "/usr/bin/python3") if subprocess.run(
            [one, "-c", "import redis"], capture_output=True, check=False).returncode == 0), None)
        if python is None:
            self.skipTest("python3-redis is not installed")
        out = self.run_ok(python, ROOT / "examples" / "python" / "redis_limit.py", self.listen())
        self.assertEqual(out.splitlines(), ["[0, 2, 1, -1, 3600]", "[1, 1, 0]", "no such command"])

    def test_the_python_example_of_the_docs(self):
        port = self.listen()
        out = self.run_ok(sys.executable, ROOT / "examples" / "python" / "resp_limit.py", port)
        self.assertEqual(out.split("\n")[:3], ["allowed, 1 left", "allowed, 0 left",
                                               "refused, retry in 3600.0 s"])


if __name__ == "__main__":
    main()
