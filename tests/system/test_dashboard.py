"""The dashboard in a real Chromium: it shows what was done to it, by keyboard and on a phone, in
light and dark, and asks nobody but the program that served it.

WEIR_SCREENSHOTS names a folder to leave the pictures in (docs/images holds them).
"""

import json
import os
import pathlib
import unittest

import browser
import harness
from redis_peer import Redis

POLICY = """
store: {{ url: "{store}", timeout: 2s, on_error: allow }}
limits:
  - {{ name: login, match: {{ method: POST, path: /login }}, key: [ip], algorithm: token_bucket, rate: 6/min, burst: 5 }}
  - {{ name: per_ip, key: [ip], algorithm: sliding_counter, limit: 1000, window: 60s }}
  - {{ name: trial, key: [ip], algorithm: fixed_window, limit: 3, window: 60s, mode: shadow }}
api: {{ listen: 127.0.0.1:{api} }}
admin: {{ listen: 127.0.0.1:{admin}, token: "{token}" }}
"""


@unittest.skipUnless(browser.is_there(), "chromium and chromium-driver are not installed")
class Dashboard(harness.SystemTest):
    def begin(self, store="memory://", token="", **window):
        self.begin_program(store, token)
        self.begin_page(**window)

    def begin_program(self, store="memory://", token="", *arguments):
        self.api, self.admin = harness.free_port(), harness.free_port()
        self.policy = dict(store=store, api=self.api, admin=self.admin, token=token)
        self.write("weir.yaml", POLICY.format(**self.policy))
        self.program = self.weir("serve", "-c", "weir.yaml", *arguments, cwd=self.folder)
        self.program.wait_until_ready()

    def begin_page(self, **window):
        self.page = browser.Browser(self, **window)
        self.page.open(f"http://127.0.0.1:{self.admin}/")
        self.wait(lambda: self.page.run("return Number(document.body.dataset.frames || 0)") > 0,
                  "the first frame")

    def wait(self, condition, what):
        return harness.until(condition, f"{what}; the page says\n{self.page.text('main')}")

    def wait_for_text(self, selector, text):
        self.wait(lambda: text in self.page.text(selector), f"{text!r} in {selector}")

    def check(self, count=1, path="/login", ip="203.0.113.9"):
        client = harness.Client(self.api)
        body = json.dumps({"attributes": {"ip": ip, "method": "POST", "path": path}})
        for _ in range(count):
            client.request("POST", "/v1/check", {"Content-Type": "application/json"}, body)
        client.close()

    def errors(self):
        return [entry["message"] for entry in self.page.log() if entry["level"] == "SEVERE"]

    def picture(self, name):
        folder = os.environ.get("WEIR_SCREENSHOTS")
        if folder:
            self.page.screenshot(pathlib.Path(folder) / f"{name}.png")

    def row(self, name):
        """The cells of a limit's row."""
        return self.page.run("""
            const row = [...document.querySelectorAll('#limits tbody tr')]
              .find((r) => r.cells[0].title === arguments[0]);
            return row ? [...row.cells].map((c) => c.innerText) : []""", name)

    def test_shows_what_is_refused_and_to_whom(self):
        self.begin()
        self.check(40)
        self.wait_for_text("#keys tbody", "ip=203.0.113.9")
        self.wait(lambda: self.row("login")[2:3] not in ([], ["0 %"]), "a share refused by login")
        self.assertIn("login", self.page.text("#keys tbody"))
        self.wait(lambda: self.page.text("#denied-rate") not in ("", "0"), "a rate refused")
        self.wait_for_text("#store-detail", "of 1M keys")
        self.assertEqual(self.page.text("#ready"), "ready")
        self.assertIn("shadow", self.row("trial")[0])
        label = self.page.run("return document.querySelector('svg.spark').getAttribute('aria-label')")
        self.assertIn("refused", label)
        self.assertEqual(self.errors(), [])
        self.assertEqual(self.page.hosts_asked(), {f"127.0.0.1:{self.admin}"})

    def test_asks_once_and_is_told_each_second(self):
        self.begin()
        self.wait(lambda: self.page.run("return Number(document.body.dataset.frames)") >= 4, "frames")
        asked = self.page.run("return performance.getEntriesByType('resource').map((e) => e.name)")
        self.assertEqual([url for url in asked if "/v1/" in url and "stream" not in url], [])
        self.assertLessEqual(len([url for url in asked if "/v1/stream" in url]), 1)

    def test_sorts_filters_and_opens_by_keyboard_alone(self):
        self.begin()
        self.check(20)
        self.wait(lambda: self.row("login"), "the table")
        self.page.press("/")
        self.assertEqual(self.page.run("return document.activeElement.id"), "filter")
        self.page.type("#filter", "per_")
        self.wait(lambda: not self.row("login") and self.row("per_ip"), "the filter holds")
        self.page.run("document.getElementById('filter').value = ''")
        self.page.run("document.querySelector('[data-sort=name]').focus()")
        self.page.press("\ue007")
        self.wait(lambda: self.page.run(
            "return document.querySelector('#limits th').getAttribute('aria-sort')") == "ascending",
            "sorted by name")
        names = self.page.run(
            "return [...document.querySelectorAll('#limits td.name')].map((c) => c.title)")
        self.assertEqual(names, ["login", "per_ip", "trial"])
        self.page.run("document.getElementById('show-policy').focus()")
        self.page.press("\ue007")
        self.wait_for_text("#policy-text", "login")
        self.page.press("\ue00c")
        self.wait(lambda: not self.page.run("return document.getElementById('policy-dialog').open"),
                  "Escape closes it")
        self.assertEqual(self.errors(), [])

    def test_everything_that_can_be_used_has_a_name(self):
        self.begin()
        self.check(20)
        self.wait_for_text("#keys tbody", "203.0.113.9")
        for selector in ("button", "input", "table", "meter", "[role=img]", "dialog"):
            script = "return [...document.querySelectorAll(arguments[0])].filter((e) => e.checkVisibility()).length"
            if self.page.run(script, selector) == 0:
                continue
            for name in self.page.names(f"main {selector}, header {selector}"):
                self.assertTrue(name.strip(), f"a {selector} without a name")
        self.assertEqual(self.page.run("return document.documentElement.lang"), "en")

    def live_an_hour(self):
        """An hour of a clock that the test moves: a quiet service, then a client in a loop."""
        clock_path = self.folder / "clock"
        self.begin_program("memory://", "", "--test-clock", clock_path)
        clock = harness.TestClock(clock_path)
        self.addCleanup(clock.close)
        client = harness.Client(self.api)
        self.addCleanup(client.close)
        start = 1_893_499_200  # later than any clock that the program may have begun with
        for step in range(121):
            now = (start + step * 30) * 1_000_000_000
            clock.set(now, now)
            harness.get(self.admin, "/v1/stats")  # answered by the thread that looks, once it has
            wave = [40, 44, 52, 60, 66, 64, 56, 47][step // 4 % 8]
            checks = [{"ip": f"203.0.113.{i % 50}", "method": "POST", "path": "/"}
                      for i in range(wave)]
            checks += [{"ip": f"203.0.113.{i}", "method": "POST", "path": "/login"} for i in range(4)]
            checks += [{"ip": "198.51.100.7", "method": "POST", "path": "/login"}
                       for _ in range(60 if step > 80 else 0)]
            body = json.dumps({"checks": [{"attributes": attributes} for attributes in checks]})
            client.request("POST", "/v1/check", {}, body)

    def test_shows_the_last_hour(self):
        self.live_an_hour()
        self.begin_page()
        self.wait_for_text("#keys tbody", "198.51.100.7")
        stats = json.loads(harness.get(self.admin, "/v1/stats").text)
        self.assertGreaterEqual(len(stats["hour"]["t"]), 119)
        [login] = [limit for limit in stats["limits"] if limit["name"] == "login"]
        self.assertGreater(sum(1 for allowed, denied in login["minutes"] if denied > 0), 15)
        self.wait(lambda: self.page.run(
            "return document.querySelectorAll('svg.spark rect.d').length") > 15, "bars of refusals")
        self.picture("dashboard-light")

    def test_fits_a_phone_and_the_dark(self):
        self.live_an_hour()
        self.begin_page(width=390, height=844, dark=True)
        self.wait_for_text("#keys tbody", "198.51.100.7")
        self.assertLessEqual(self.page.run("return document.documentElement.scrollWidth"), 390)
        paper = self.page.run("return getComputedStyle(document.body).backgroundColor")
        self.assertEqual(paper, "rgb(15, 22, 21)")
        self.picture("dashboard-phone-dark")
        self.page.set_media(dark=False)
        self.assertEqual(self.page.run("return getComputedStyle(document.body).backgroundColor"),
                         "rgb(247, 248, 248)")
        self.assertEqual(self.errors(), [])

    def test_text_from_clients_is_text(self):
        self.begin()
        self.serve_user_limit()
        hostile = "<img src=x onerror=document.title='owned'>"
        body = json.dumps({"key": [hostile], "cost": 1})
        client = harness.Client(self.api)
        for _ in range(5):
            client.request("POST", "/v1/limits/by_user/take", {"Content-Type": "application/json"},
                           body)
        self.wait_for_text("#keys tbody", "<img src=x")
        self.assertEqual(self.page.run("return document.title"), "weir")
        self.assertEqual(self.page.run("return document.querySelectorAll('#keys img').length"), 0)

    def serve_user_limit(self):
        text = POLICY.format(**self.policy).replace("api:", """  - { name: by_user, key: [user], algorithm: token_bucket, rate: 1/h, burst: 1 }
api:""", 1)
        (self.folder / "weir.yaml").write_text(text)
        self.program.signal(harness.signal.SIGHUP)
        self.program.wait_for("is in force")

    def test_asks_for_the_token_where_it_is_needed(self):
        self.begin(token="s3cret")
        self.check(20)
        self.wait_for_text("#keys tbody", "203.0.113.9")
        self.page.click("#token-button")
        self.page.type("#token", "s3cret\ue007")
        self.assertEqual(self.page.run("return sessionStorage.getItem('weir-token')"), "s3cret")
        self.assertEqual(self.errors(), [])

    def test_looks_at_a_key_resets_it_and_bans_it_with_the_token(self):
        self.begin(token="s3cret")
        self.check(20)
        self.wait_for_text("#keys tbody", "203.0.113.9")
        self.page.run("document.querySelector('#keys button[data-look]').click()")
        self.wait_for_text("#key-answer", "remaining")
        self.page.click("#key-reset")
        self.wait_for_text("#key-answer", "needs the token")
        self.page.click("#key-dialog [data-close]")
        self.page.click("#token-button")
        self.page.type("#token", "s3cret\ue007")
        self.page.run("document.querySelector('#keys button[data-look]').click()")
        self.wait_for_text("#key-answer", "remaining")
        self.page.click("#key-reset")
        self.wait_for_text("#key-answer", "Reset")
        self.page.click("#key-ban")
        self.wait_for_text("#key-answer", "Banned for 10m")
        body = json.dumps({"attributes": {"ip": "203.0.113.9", "method": "GET", "path": "/"}})
        client = harness.Client(self.api)
        self.addCleanup(client.close)
        self.assertEqual(client.request("POST", "/v1/check", {}, body).status, 429)

    def test_comes_back_when_the_program_does(self):
        self.begin()
        self.program.stop()
        self.wait(lambda: self.page.text("#ready") in ("not connected", "reconnecting"), "it is told")
        self.program = self.serve(POLICY.format(**self.policy))
        self.wait_for_text("#ready", "ready")
        self.wait(lambda: self.page.text("#ready") == "ready", "it follows again")

    def test_a_store_that_dies_and_a_policy_that_is_refused_are_seen(self):
        redis = Redis(self)
        self.begin(store=redis.url)
        self.check(20)
        self.wait_for_text("#store-state", "up")
        redis.kill()
        (self.folder / "weir.yaml").write_text("limits: 7\n")
        self.program.signal(harness.signal.SIGHUP)
        self.check(20)
        self.wait_for_text("#store-state", "down")
        self.wait_for_text("#ready", "degraded")
        self.wait_for_text("#reasons", "the last reload was refused")
        self.wait_for_text("#events", "redis 127.0.0.1")
        self.wait_for_text("#history", "reload refused")
        self.wait_for_text("#reasons", "store:")
        self.picture("dashboard-incident")
        self.assertEqual(self.errors(), [])


if __name__ == "__main__":
    harness.main()
