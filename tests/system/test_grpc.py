"""The gRPC listener of the built program, with clients that we did not write."""

import os
import re
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, __file__.rsplit("/", 1)[0])
from harness import BUILD, PATIENCE, ROOT, SystemTest, free_port, main  # noqa: E402

NODE_MODULES = ROOT / "build" / "node" / "node_modules"
PEER = BUILD / "tests" / "grpc" / "weir_grpc_peer"


class Grpc(SystemTest):
    def setUp(self):
        super().setUp()
        self.port = free_port()
        self.serve(f"""
grpc: {{ listen: 127.0.0.1:{self.port} }}
limits:
  - {{ name: login, key: [user], algorithm: token_bucket, rate: 1/h, burst: 2 }}
""")

    def run_ok(self, *arguments, **options):
        done = subprocess.run([str(a) for a in arguments], capture_output=True, text=True,
                              timeout=6 * PATIENCE, **options)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    @unittest.skipUnless(NODE_MODULES.exists(), "the npm packages are not installed: ./dev test")
    def test_grpc_js(self):
        out = self.run_ok("node", ROOT / "tests" / "node" / "grpc.js", self.port,
                          env={**os.environ, "NODE_PATH": str(NODE_MODULES)})
        self.assertIn("grpc-js ok", out)

    @unittest.skipUnless(PEER.exists(), "grpc++ is not installed")
    def test_grpc_cpp(self):
        self.assertIn("grpc++ ok", self.run_ok(PEER, f"127.0.0.1:{self.port}"))

    @unittest.skipUnless(shutil.which("h2load"), "h2load (nghttp2-client) is not installed")
    def test_h2load_sees_no_failure_over_many_streams(self):
        entry = b"\x0a\x0b\x0a\x04user\x12\x03bob"
        message = b"\x0a\x01d\x12" + bytes([len(entry)]) + entry
        payload = self.folder / "payload"
        payload.write_bytes(b"\0" + len(message).to_bytes(4, "big") + message)
        out = self.run_ok("h2load", "-n", 20000, "-c", 4, "-m", 64, "-d", payload, "-H",
                          "content-type: application/grpc", "-H", "te: trailers",
                          f"http://127.0.0.1:{self.port}"
                          "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit")
        self.assertIn("20000 succeeded, 0 failed", out)
        self.assertEqual(re.search(r"status codes: (\d+) 2xx", out).group(1), "20000")


if __name__ == "__main__":
    main()
