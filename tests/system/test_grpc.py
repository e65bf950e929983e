"""The gRPC listener of the built program, with clients that we did not write."""

import os
import re
import shutil
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, __file__.rsplit("/", 1)[0])
from harness import BUILD, PATIENCE, ROOT, SystemTest, free_port, main, until  # noqa: E402

NODE_MODULES = ROOT / "build" / "node" / "node_modules"
PEER = BUILD / "tests" / "grpc" / "weir_grpc_peer"


def call_of(folder, port):
    """What nghttp and h2load are told to call ShouldRateLimit."""
    entry = b"\x0a\x0b\x0a\x04user\x12\x03bob"
    message = b"\x0a\x01d\x12" + bytes([len(entry)]) + entry
    payload = folder / "payload"
    payload.write_bytes(b"\0" + len(message).to_bytes(4, "big") + message)
    return ["-d", payload, "-H", "content-type: application/grpc", "-H", "te: trailers",
            f"http://127.0.0.1:{port}"
            "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit"]


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
        out = self.run_ok("h2load", "-n", 20000, "-c", 4, "-m", 64, *call_of(self.folder, self.port))
        self.assertIn("20000 succeeded, 0 failed", out)
        self.assertEqual(re.search(r"status codes: (\d+) 2xx", out).group(1), "20000")


@unittest.skipUnless(shutil.which("nghttp"), "nghttp (nghttp2-client) is not installed")
class GrpcByNghttp(SystemTest):
    def serve_grpc(self, grpc, rest):
        self.port = free_port()
        return self.serve(f"""
grpc: {{ listen: 127.0.0.1:{self.port}, {grpc} }}
limits:
  - {{ name: login, key: [user], algorithm: token_bucket, rate: 1/h, burst: 2 }}
{rest}""")

    def status(self, *headers):
        """(grpc-status, grpc-message) of one call."""
        words = [word for header in headers for word in ("-H", header)]
        done = subprocess.run(["nghttp", "-nv", *words, *map(str, call_of(self.folder, self.port))],
                              capture_output=True, text=True, timeout=PATIENCE)
        said = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout)
        told = dict(re.findall(r"recv \(stream_id=\d+\) (grpc-\w+): (.*)", said))
        self.assertIn("grpc-status", told, done.stdout + done.stderr)
        return int(told["grpc-status"]), told.get("grpc-message", "")

    def test_a_store_that_fails_is_unavailable_where_on_error_says_deny(self):
        self.serve_grpc("", f'store: {{ url: "redis://127.0.0.1:{free_port()}", on_error: deny, '
                       "connect_timeout: 100ms }")
        self.assertEqual(self.status(), (14, "the rate limiter cannot decide now"))

    def test_a_store_that_fails_lets_pass_where_on_error_says_allow(self):
        self.serve_grpc("", f'store: {{ url: "redis://127.0.0.1:{free_port()}", on_error: allow, '
                       "connect_timeout: 100ms }")
        self.assertEqual(self.status(), (0, ""))

    def test_a_token_is_wanted_and_a_reload_changes_it(self):
        weir = self.serve_grpc("token: s3cret", "")
        refused = (16, "show the token: authorization: Bearer TOKEN")
        self.assertEqual(self.status(), refused)
        self.assertEqual(self.status("authorization: Bearer wrong"), refused)
        self.assertEqual(self.status("authorization: Bearer s3cret"), (0, ""))
        path = self.folder / "weir.yaml"
        path.write_text(path.read_text().replace("s3cret", "other"))
        weir.child.send_signal(signal.SIGHUP)
        until(lambda: self.status("authorization: Bearer other")[0] == 0, "the new token counts")
        self.assertEqual(self.status("authorization: Bearer s3cret"), refused)
        self.assertNotIn("s3cret", weir.output)

    def test_beyond_loopback_it_warns_unless_a_token_is_set(self):
        for token, warned in (("", True), (", token: t", False)):
            path = self.write("w.yaml", f"limits: []\ngrpc: {{ listen: 0.0.0.0:8082{token} }}\n")
            out = self.weir("validate", path)
            self.assertEqual(out.wait(), 0, out.output)
            self.assertEqual("grpc listens on 0.0.0.0:8082 without a token" in out.output, warned)


if __name__ == "__main__":
    main()
