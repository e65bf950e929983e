"""docs/failures.md: each failure is brought about, and the log lines that its section shows are looked
for in what weir printed."""

import re
import signal
import socket
import ssl

import harness
from certificates import openssl
from example import shape
from live import LiveTest
from redis_peer import Redis

PAGE = (harness.ROOT / "docs" / "failures.md").read_text()


def shown(heading, language):
    """The lines of the blocks in that language of one section."""
    section = re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL).group(1)
    blocks = re.findall(rf"^```{language}\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    assert blocks, f"{heading} shows no {language}"
    return "".join(blocks).splitlines()


class Failures(LiveTest):
    """A gateway in front of the demo, with an admin listener."""

    LIMITS = ("[{ name: open, match: { path: /open }, key: [ip], algorithm: token_bucket,"
              " rate: 1/h, burst: 99 },"
              " { name: closed, match: { path: /closed }, key: [ip], algorithm: token_bucket,"
              " rate: 1/h, burst: 99, on_error: deny }]")

    def run_gateway(self, more="", upstream=None, listener=""):
        self.port = harness.free_port()
        upstream = upstream or self.demo()
        gateway = (f"gateway: {{ listen: 127.0.0.1:{self.port}, "
                   f"upstream: http://127.0.0.1:{upstream}{listener} }}\n")
        self.program = self.serve(self.policy(self.LIMITS, more=gateway + more))

    def statuses(self):
        return [harness.get(self.port, path).status for path in ("/open", "/closed")]

    def assert_logged(self, heading):
        for line in shown(heading, "log"):
            pattern = shape(line)
            harness.until(lambda: any(map(pattern.search, self.program.lines)), line)

    def metrics(self):
        return harness.get(self.admin, "/metrics").text

    def test_the_store_is_down_and_comes_back(self):
        redis = Redis(self)
        self.run_gateway(f"store: {{ url: '{redis.url}', timeout: 5s }}\n")
        self.assertEqual(self.statuses(), [200, 200])
        redis.kill()
        harness.until(lambda: self.statuses() == [200, 503], "on_error decides")
        harness.until(lambda: "weir_store_up 0" in self.metrics(), "it is told")
        answer = harness.get(self.admin, "/readyz")
        self.assertEqual(answer.status, 200)
        self.assertIn(str(redis.port), answer.text)
        redis.start()
        harness.until(lambda: self.statuses() == [200, 200], "it is asked again")
        self.assert_logged("The store is down")

    def test_the_store_is_not_there_at_the_start(self):
        self.run_gateway(f"store: {{ url: 'redis://127.0.0.1:{harness.free_port()}' }}\n")
        self.assertIn("has not answered yet", self.program.output)
        self.assertEqual(self.statuses(), [200, 503])

    def test_on_error_is_changed_by_a_reload_while_the_store_is_away(self):
        self.run_gateway(f"store: {{ url: 'redis://127.0.0.1:{harness.free_port()}' }}\n")
        self.assertEqual(self.statuses(), [200, 503])
        path = self.folder / "weir.yaml"
        path.write_text(path.read_text().replace("store: {", "store: { on_error: local, "))
        self.program.wait_for("generation 2")
        self.assertEqual(self.statuses(), [200, 503])
        self.assertIn('limit="open",outcome="allowed",source="local"', self.metrics())

    def test_the_store_is_slow(self):
        redis = Redis(self)
        self.run_gateway(f"store: {{ url: '{redis.url}', timeout: 50ms }}\n")
        redis.process.signal(signal.SIGSTOP)
        self.addCleanup(redis.process.signal, signal.SIGCONT)
        harness.until(lambda: self.statuses() == [200, 503], "on_error decides")
        self.assertIn('weir_store_errors_total{kind="timeout"}', self.metrics())
        self.assert_logged("The store is slow")

    def test_a_new_policy_is_refused(self):
        self.run_gateway()
        path = self.folder / "weir.yaml"
        path.write_text(path.read_text().replace("burst: 99 }", "brust: 99 }", 1))
        self.assert_logged("A new policy is refused")
        self.assertEqual(self.statuses(), [200, 200])
        self.assertIn('weir_config_reloads_total{result="refused"}', self.metrics())
        self.assertIn("brust", harness.get(self.admin, "/readyz").text)
        self.assertEqual(self.weir("serve", "-c", path).wait(), 2)

    def test_the_place_of_the_policy_is_away(self):
        redis = Redis(self)
        redis.cli("SET", "weir:policy", self.policy("[]"))
        self.program = self.weir("serve", "-c", f"{redis.url}/0/weir:policy", "--last-good",
                                 self.folder / "last")
        self.program.wait_until_ready()
        redis.kill()
        self.assert_logged("The place of the policy is away")

    def test_the_upstream_is_down(self):
        self.run_gateway(upstream=harness.free_port())
        answer = harness.get(self.port, "/open")
        self.assertEqual(answer.status, 502)
        [line] = shown("The upstream is down", "json")
        self.assertRegex(answer.text, shape(line))
        for series in ("weir_upstream_faults_total 1", 'outcome="error"} 1'):
            self.assertIn(series, self.metrics())

    def test_a_certificate_has_expired_and_another_cannot_be_used(self):
        cert, key, request = (self.folder / f"cert.{end}" for end in ("pem", "key", "csr"))
        openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-subj", "/CN=localhost",
                "-out", request)
        openssl("x509", "-req", "-in", request, "-signkey", key, "-days", "-1", "-out", cert)
        self.run_gateway(listener=f", tls: {{ cert: {cert}, key: {key} }}")
        with socket.create_connection(("127.0.0.1", self.port), timeout=harness.PATIENCE) as plain:
            context = ssl.create_default_context(cafile=cert)
            with self.assertRaisesRegex(ssl.SSLCertVerificationError, "expired"):
                context.wrap_socket(plain, server_hostname="localhost")
        cert.write_text("no certificate\n")
        self.assert_logged("Certificates")

    def test_the_snapshot_cannot_be_written(self):
        place = self.folder / "gone"
        place.mkdir()
        self.run_gateway(f"store: {{ snapshot: {{ file: {place}/counters, every: 1s }} }}\n")
        for path in place.iterdir():
            path.unlink()
        place.rmdir()
        self.assert_logged("The snapshot cannot be written")
        self.assertEqual(self.statuses(), [200, 200])

    def test_every_alert_that_the_page_names_is_one(self):
        rules = (harness.ROOT / "packaging/prometheus/weir.rules.yml").read_text()
        defined = set(re.findall(r"alert: (\w+)", rules))
        named = set(re.findall(r"`(Weir\w+)`", PAGE))
        self.assertTrue(named)
        self.assertLessEqual(named, defined)
        # Those about the policy's numbers are no failures.
        self.assertEqual(defined - named, {"WeirNearSaturation"})


if __name__ == "__main__":
    harness.main()
