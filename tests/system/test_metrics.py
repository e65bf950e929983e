"""Metrics as Prometheus reads them: promtool checks the page, the rules and their tests; names that
clients choose break nothing; the counters add up, listener by listener."""

import json
import re
import shutil
import socket
import subprocess
import time
import unittest

import harness
from redis_peer import Redis

POLICY = """
store: {{ url: "{store}", timeout: 1s, on_error: deny }}
limits:
  - {{ name: by_user, key: [user], algorithm: token_bucket, rate: 1/h, burst: {burst} }}
  - {{ name: a_1.b-2, match: {{ path: /shadow }}, algorithm: fixed_window, limit: 1, window: 1h, mode: shadow }}
identity: {{ trust_clients: true, trusted_proxies: [127.0.0.1] }}
gateway: {{ listen: 127.0.0.1:{gateway}, upstream: http://127.0.0.1:{upstream} }}
api: {{ listen: 127.0.0.1:{api} }}
resp: {{ listen: 127.0.0.1:{resp} }}
admin: {{ listen: 127.0.0.1:{admin} }}
metrics: {{ top_keys: 50, keys: {keys} }}
"""
PACKAGED = harness.ROOT / "packaging"
HOSTILE = ["a.b:c|d\\e\"f\ng*h i", "203.0.113.5", "2001:db8::1", "é\u4e2d", "x" * 5000, "x" * 4999,
           "{}", "=", ","]


def samples(text):
    """{series: value} of a page."""
    return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1])
            for line in text.splitlines() if line and not line.startswith("#")}


def promtool(*words, stdin=None):
    return subprocess.run(["promtool", *map(str, words)], input=stdin, capture_output=True,
                          text=True, timeout=60)


class Metrics(harness.SystemTest):
    def begin(self, store="memory://", burst=1, keys="plain"):
        self.ports = {name: harness.free_port() for name in ("gateway", "api", "resp", "admin")}
        self.program = self.serve(POLICY.format(store=store, burst=burst, keys=keys,
                                                upstream=self.upstream(), **self.ports))

    def page(self, accept=None):
        return harness.get(self.ports["admin"], "/metrics", {"Accept": accept} if accept else {})

    def check(self, user, path="/", port=None):
        client = harness.Client(self.ports["api"])
        body = json.dumps({"attributes": {"user": user, "path": path}})
        try:
            return client.request("POST", "/v1/check", {}, body).status
        finally:
            client.close()

    def resp(self, *commands):
        with socket.create_connection(("127.0.0.1", self.ports["resp"]), harness.PATIENCE) as peer:
            for words in commands:
                peer.sendall(b"".join([b"*%d\r\n" % len(words)] +
                                      [b"$%d\r\n%s\r\n" % (len(w), w) for w in words]))
            peer.sendall(b"*1\r\n$4\r\nQUIT\r\n")
            answer = b""
            while chunk := peer.recv(65536):
                answer += chunk
            return answer

    @unittest.skipUnless(shutil.which("promtool"), "prometheus is not installed")
    def test_promtool_finds_nothing_wrong_with_the_page(self):
        self.begin()
        for user in HOSTILE * 2:
            self.check(user, "/shadow")
            self.resp([b"WEIR.TAKE", b"by_user", b"1", b"\xff\xfe not UTF-8"])
        harness.get(self.ports["gateway"], "/", {"X-User-Id": "walker"})
        page = self.page()
        self.assertEqual(page.headers["Content-Type"], "text/plain; version=0.0.4; charset=utf-8")
        checked = promtool("check", "metrics", stdin=page.text)
        self.assertEqual((checked.returncode, checked.stdout, checked.stderr), (0, "", ""))
        refused = [name for name in samples(page.text) if name.startswith("weir_key_denied_total")]
        self.assertEqual(len(refused), len(HOSTILE) + 1, refused)

    def test_keys_are_told_as_hashes_or_not_at_all_where_the_policy_says_so(self):
        for keys, told in (("hashed", 1), ("off", 0)):
            self.begin(keys=keys)
            for _ in range(3):
                self.check("somebody")
            text = self.page().text
            refused = [name for name in samples(text) if name.startswith("weir_key_denied_total")]
            self.assertEqual(len(refused), told)
            self.assertNotIn("somebody", text)
            self.program.stop()

    def test_speaks_openmetrics_to_who_asks_for_it(self):
        self.begin()
        self.check("u")
        page = self.page("application/openmetrics-text; version=1.0.0, text/plain;q=0.5")
        self.assertEqual(page.headers["Content-Type"],
                         "application/openmetrics-text; version=1.0.0; charset=utf-8")
        self.assertTrue(page.text.endswith("# EOF\n"))
        self.assertIn("# TYPE weir_decisions counter\n", page.text)
        self.assertIn('weir_decisions_total{limit="by_user",outcome="allowed",source="memory"} 1\n',
                      page.text)

    # 1,000 calls by each protocol: 600 admitted, 300 refused, 100 that are no request.
    def test_counters_add_up_listener_by_listener(self):
        self.begin(burst=600)
        client = harness.Client(self.ports["gateway"])
        for _ in range(900):
            client.get("/", {"X-User-Id": "gateway"})
        client.close()
        for _ in range(100):
            with socket.create_connection(("127.0.0.1", self.ports["gateway"])) as peer:
                peer.sendall(b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n")
                peer.recv(4096)
        client = harness.Client(self.ports["api"])
        for i in range(1000):
            body = json.dumps({"attributes": {"user": "api"}}) if i % 10 else "{no json"
            client.request("POST", "/v1/check", {}, body)
        client.close()
        good = [b"WEIR.CHECK", b"1", b"user", b"resp"]
        self.resp(*[good if i % 10 else [b"WEIR.CHECK", b"x", b"user", b"resp"] for i in range(1000)])
        found = samples(self.page().text)
        for listener in ("gateway", "api", "resp"):
            counts = {outcome: found.get(
                f'weir_requests_total{{listener="{listener}",outcome="{outcome}"}}', 0)
                for outcome in ("allowed", "denied", "error")}
            self.assertEqual(counts, {"allowed": 600, "denied": 300, "error": 100}, listener)
        of = lambda outcome: found[
            f'weir_decisions_total{{limit="by_user",outcome="{outcome}",source="memory"}}']
        self.assertEqual((of("allowed"), of("denied")), (1800, 900))
        self.assertEqual(found['weir_retry_after_seconds_count{limit="by_user"}'], 900)
        self.assertAlmostEqual(found['weir_tokens_ratio_count{limit="by_user"}'], 2700 / 8, delta=20)
        self.assertGreater(found['weir_decision_seconds_count{listener="resp"}'], 0)

    def test_a_store_that_fails_is_counted_by_source(self):
        redis = Redis(self)
        self.begin(store=redis.url)
        self.assertEqual(self.check("u"), 200)
        found = samples(self.page().text)
        self.assertEqual([series for series in found if series.startswith("weir_keys")], [])
        redis.kill()
        self.assertEqual(self.check("u"), 503)
        harness.until(lambda: samples(self.page().text)["weir_store_up"] == 0, "the store is down")
        found = samples(self.page().text)
        self.assertEqual(
            found['weir_decisions_total{limit="by_user",outcome="denied",source="fail_closed"}'], 1)
        self.assertEqual(harness.get(self.ports["gateway"], "/", {"X-User-Id": "u"}).status, 503)
        self.resp([b"WEIR.CHECK", b"1", b"user", b"u"])
        found = samples(self.page().text)
        for listener in ("gateway", "api", "resp"):
            told = [found.get(f'weir_requests_total{{listener="{listener}",outcome="{outcome}"}}', 0)
                    for outcome in ("denied", "error")]
            self.assertEqual(told, [0, 1], listener)
        self.assertGreaterEqual(found['weir_store_seconds_count{op="charge"}'], 1)

    def test_a_look_at_a_key_is_no_decision(self):
        self.begin()
        look = "/v1/limits/by_user/keys?key=u"
        for port in (self.ports["api"], self.ports["admin"]):
            self.assertEqual(harness.get(port, look).status, 200)
        self.resp([b"WEIR.TAKE", b"by_user", b"0", b"u"])
        self.assertNotIn("weir_decisions_total{", self.page().text)
        self.assertNotIn("weir_tokens_ratio_count", self.page().text)
        self.assertEqual(self.check("u"), 200)
        found = samples(self.page().text)
        name = 'weir_decisions_total{limit="by_user",outcome="allowed",source="memory"}'
        self.assertEqual(found[name], 1)

    def test_a_shadow_limit_is_counted_and_refuses_nothing(self):
        self.begin(burst=100)
        self.assertEqual([self.check("u", "/shadow") for _ in range(6)], [200] * 6)
        found = samples(self.page().text)
        name = 'weir_decisions_total{{limit="a_1.b-2",outcome="{}",source="memory"}}'
        self.assertEqual(found[name.format("shadow_denied")], 5)
        self.assertEqual(found[name.format("allowed")], 1)

    # The cache of refusals answers most of these calls.
    def test_a_shadow_limit_in_redis_is_counted_call_by_call(self):
        redis = Redis(self)
        self.begin(store=redis.url, burst=100)
        self.assertEqual([self.check("u", "/shadow") for _ in range(6)], [200] * 6)
        counts = {"allowed": 0, "shadow_denied": 0}
        for series, value in samples(self.page().text).items():
            for outcome in counts:
                if series.startswith(f'weir_decisions_total{{limit="a_1.b-2",outcome="{outcome}"'):
                    counts[outcome] += value
        self.assertEqual(counts, {"allowed": 1, "shadow_denied": 5})

    def test_calls_that_the_store_failed_are_counted_with_the_others(self):
        redis = Redis(self)
        self.begin(store=redis.url, burst=1)
        statuses = [self.check("u") for _ in range(3)]
        redis.kill()
        statuses += [self.check(f"u{n}") for n in range(5)]
        self.assertEqual(statuses, [200, 429, 429] + [503] * 5)
        found = samples(self.page().text)
        self.assertEqual({series: found[series] for series in found
                          if series.startswith('weir_requests_total{listener="api"')},
                         {'weir_requests_total{listener="api",outcome="allowed"}': 1,
                          'weir_requests_total{listener="api",outcome="denied"}': 2,
                          'weir_requests_total{listener="api",outcome="error"}': 5})
        self.assertGreaterEqual(sum(value for series, value in found.items()
                                    if series.startswith("weir_store_errors_total")), 1)

    def test_every_series_is_documented_and_every_panel_asks_for_one_that_is(self):
        redis = Redis(self)
        self.begin(store=redis.url)
        for _ in range(3):
            self.check("u")
        documented = set(re.findall(r"^\| `(weir_\w+)` \|",
                                    (harness.ROOT / "docs/metrics.md").read_text(), re.MULTILINE))
        families = set(re.findall(r"^# TYPE (\w+)", self.page().text, re.MULTILINE))
        self.assertEqual(families - documented, set())
        board = json.loads((PACKAGED / "grafana/weir.json").read_text())
        asked = {name for panel in board["panels"] for target in panel["targets"]
                 for name in re.findall(r"\bweir_\w+", target["expr"])}
        base = {re.sub(r"_(bucket|sum|count)$", "", name) for name in asked}
        self.assertEqual(base - documented, set())
        self.assertGreater(len(base), 12)

    @unittest.skipUnless(shutil.which("promtool"), "prometheus is not installed")
    def test_the_alert_rules_do_what_their_tests_say(self):
        folder = PACKAGED / "prometheus"
        checked = promtool("check", "rules", folder / "weir.rules.yml")
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)
        tested = promtool("test", "rules", folder / "weir.rules.test.yml")
        self.assertEqual(tested.returncode, 0, tested.stdout + tested.stderr)
        alerts = set(re.findall(r"alert: (\w+)", (folder / "weir.rules.yml").read_text()))
        in_tests = set(re.findall(r"alertname: (\w+)", (folder / "weir.rules.test.yml").read_text()))
        self.assertEqual(alerts, in_tests)


class Scrapes(harness.SystemTest):
    def test_many_limits_are_scraped_soon(self):
        api, admin = harness.free_port(), harness.free_port()
        limits = "\n".join(f"  - {{ name: limit_{i}, match: {{ path: /{i} }}, key: [ip], "
                           "algorithm: token_bucket, rate: 1/h, burst: 1 }" for i in range(10_000))
        self.serve(f"limits:\n{limits}\napi: {{ listen: 127.0.0.1:{api} }}\n"
                   f"admin: {{ listen: 127.0.0.1:{admin} }}\n", "--loops", "1")
        client = harness.Client(api, timeout=60 * harness.SLOWER)
        for start in range(0, 1000, 500):
            checks = [{"attributes": {"ip": "203.0.113.5", "path": f"/{i}"}}
                      for i in range(start, start + 500) for _ in range(2)]
            answer = client.request("POST", "/v1/check", {}, json.dumps({"checks": checks}))
            self.assertEqual(answer.status, 200)
        took = []
        for _ in range(5):
            began = time.perf_counter()
            page = harness.get(admin, "/metrics")
            took.append(time.perf_counter() - began)
        self.assertEqual(page.text.count('outcome="denied",source'), 1000)
        print(f"a scrape of 1,000 active limits of 10,000: {min(took) * 1000:.1f} ms, "
              f"{len(page.body) / 1e6:.1f} MB")
        # WHY so wide: this is a build without optimisation, on a machine that does much else.
        self.assertLess(min(took), 1.0 * harness.SLOWER)


if __name__ == "__main__":
    harness.main()
