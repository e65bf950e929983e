"""One bad afternoon, played on a running weir: a spike, a client in a loop, Redis killed, a policy
that is refused. Each is told by the metrics, by the alerts in a real Prometheus, by the dashboard's
stream, by `weir top` and by the log.

The alert rules are the packaged ones with every minute made a second.
"""

import json
import re
import shutil
import threading
import time
import unittest

import harness
from redis_peer import Redis
from test_metrics import PACKAGED, samples

POLICY = """
store: {{ url: "{store}", timeout: 1s, on_error: allow }}
limits:
  - {{ name: login, match: {{ path: /login }}, key: [ip], algorithm: token_bucket, rate: 1/h, burst: 5 }}
  - {{ name: all, algorithm: token_bucket, rate: 100000/s, burst: 100000 }}
api: {{ listen: 127.0.0.1:{api} }}
admin: {{ listen: 127.0.0.1:{admin} }}
log: {{ denials: 2 }}
"""
LONG = 90  # seconds for an alert: minutes are seconds here, and machines stall


def in_seconds(rules):
    """The same rules, a minute a second and an hour a minute."""
    rules = re.sub(r"\b(\d+)m\b", r"\1s", rules)
    return re.sub(r"\b1h\b", "1m", rules)


class Incident(harness.SystemTest):
    def setUp(self):
        super().setUp()
        self.redis = Redis(self)
        self.api, self.admin = harness.free_port(), harness.free_port()
        self.program = self.serve(POLICY.format(store=self.redis.url, api=self.api,
                                                admin=self.admin))
        self.start_prometheus()

    def prometheus_is_ready(self):
        """It listens before it can answer."""
        return (harness.is_open(self.prometheus)
                and harness.get(self.prometheus, "/-/ready").status == 200)

    def start_prometheus(self):
        rules = (PACKAGED / "prometheus/weir.rules.yml").read_text()
        self.write("weir.rules.yml", in_seconds(rules))
        self.prometheus = harness.free_port()
        config = self.write("prometheus.yml", f"""
global: {{ scrape_interval: 500ms, evaluation_interval: 500ms }}
rule_files: [weir.rules.yml]
scrape_configs:
  - job_name: weir
    static_configs: [{{ targets: ["127.0.0.1:{self.admin}"] }}]
""")
        self.start("prometheus", f"--config.file={config}", "--web.enable-lifecycle",
                   f"--storage.tsdb.path={self.folder}/tsdb",
                   f"--web.listen-address=127.0.0.1:{self.prometheus}")
        harness.until(self.prometheus_is_ready, "Prometheus is ready")

    def check(self, path, ip):
        client = harness.Client(self.api)
        body = json.dumps({"attributes": {"ip": ip, "method": "POST", "path": path}})
        status = client.request("POST", "/v1/check", {"X-Request-Id": "r1"}, body).status
        client.close()
        return status

    def keep_on(self, *asked):
        """Asks so, again and again, until the test ends or the event that it returns is set."""
        stop = threading.Event()

        def ask():
            while not stop.is_set():
                for path, ip in asked:
                    self.check(path, ip)
                stop.wait(0.02)
        thread = threading.Thread(target=ask, daemon=True)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(stop.set)
        return stop

    def alerts(self):
        told = json.loads(harness.get(self.prometheus, "/api/v1/alerts").text)
        return {alert["labels"]["alertname"]: alert["labels"] for alert in told["data"]["alerts"]
                if alert["state"] == "firing"}

    def alert(self, name):
        deadline = time.monotonic() + LONG
        while time.monotonic() < deadline:
            firing = self.alerts()
            if name in firing:
                return firing[name]
            time.sleep(0.2)
        raise AssertionError(f"{name} does not fire; {self.alerts()} do")

    def metrics(self):
        return samples(harness.get(self.admin, "/metrics").text)

    def stats(self):
        return json.loads(harness.get(self.admin, "/v1/stats").text)

    def top(self):
        process = self.weir("top", "--once", "--url", f"http://127.0.0.1:{self.admin}")
        process.wait()
        return process.output

    @unittest.skipUnless(shutil.which("prometheus"), "prometheus is not installed")
    def test_each_thing_that_goes_wrong_is_told_everywhere(self):
        self.keep_on(("/", "203.0.113.1"))  # everyday traffic, admitted
        harness.until(lambda: self.stats()["rates"]["allowed"] > 0, "traffic is seen")
        self.assertEqual(self.alerts(), {})

        with self.subTest("a client in a loop, whose refusals are a spike"):
            loop = self.keep_on(("/login", "203.0.113.66"), ("/login", "203.0.113.66"))
            self.alert("WeirRefusedShareJumps")
            labels = self.alert("WeirKeyRefusedForLong")
            self.assertEqual((labels["limit"], labels["key"]), ("login", "ip=203.0.113.66"))
            stats = self.stats()
            [key] = [key for key in stats["keys"] if key["key"] == "ip=203.0.113.66"]
            self.assertGreater(key["recent"], 0)
            self.assertGreater(stats["limits"][0]["denied_rate"] + stats["limits"][1]["denied_rate"], 0)
            self.assertGreater(stats["waits"]["p50"], 60)
            self.assertIn("login", self.top())
            refused = self.program.wait_for('msg="refused"')
            self.assertIn('limit="login" key="ip=203.0.113.66"', refused)
            loop.set()

        with self.subTest("Redis is killed"):
            self.redis.kill()
            self.alert("WeirStoreDown")
            self.assertEqual(self.alert("WeirFailingOpen")["limit"], "all")
            self.assertEqual(self.metrics()["weir_store_up"], 0)
            self.assertFalse(self.stats()["store"]["up"])
            self.assertIn("DEGRADED", self.top())
            self.assertGreater(self.stats()["rates"]["sources"].get("fail_open", 0), 0)
            # One of the counters' connections, one of those by which changes to the policy are shared.
            about = [line for line in self.program.lines if "level=error" in line]
            self.assertIn(len(about), (1, 2), about)

        with self.subTest("a policy is refused"):
            (self.folder / "weir.yaml").write_text("limits: 7\n")
            self.program.signal(harness.signal.SIGHUP)
            self.alert("WeirReloadRefused")
            self.assertIn("the last reload was refused", " ".join(self.stats()["reasons"]))
            self.assertIn("reload refused", " ".join(e["text"] for e in self.stats()["events"]))

        with self.subTest("all is well again"):
            self.redis.start()
            harness.until(lambda: self.metrics()["weir_store_up"] == 1, "the store is back")
            deadline = time.monotonic() + LONG
            while "WeirStoreDown" in self.alerts() and time.monotonic() < deadline:
                time.sleep(0.2)
            self.assertNotIn("WeirStoreDown", self.alerts())


if __name__ == "__main__":
    harness.main()
