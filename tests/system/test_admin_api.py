"""Changes to a policy in force, through the admin API and the commands that use it."""

import json
import subprocess

import harness
from live import LiveTest

BUCKET = ("[{ name: b, key: [user], algorithm: token_bucket, rate: 1/h, burst: 5,"
          " tiers: { gold: { burst: 50 } } },"
          " { name: other, match: { method: DELETE }, algorithm: fixed_window, limit: 1,"
          " window: month }]")


class AdminApi(LiveTest):
    def remaining(self, user):
        return self.check(user, cost=0)["remaining"]

    def test_numbers_of_a_limit_change_and_what_is_left_stays_left(self):
        self.serve(self.policy(BUCKET))
        for _ in range(3):
            self.check("u")
        value = self.changed("PUT", "/v1/limits/b", {"burst": 9})
        self.assertEqual((value["generation"], value["changes"], value["persistent"]),
                         (2, 1, False))
        answer = self.check("u")
        self.assertEqual((answer["quota"], answer["remaining"]), (9, 1))
        # A reload applies the change again; taking it back gives the file's number.
        self.write("weir.yaml", self.policy(BUCKET) + "# a comment\n")
        self.changed("POST", "/v1/policy:reload")
        self.assertEqual(self.check("u", cost=0)["quota"], 9)
        self.changed("DELETE", "/v1/limits/b")
        self.assertEqual(self.check("u", cost=0)["quota"], 5)

    def test_one_key_gets_other_numbers_for_a_while(self):
        clock_path = self.folder / "clock"
        self.serve(self.policy(BUCKET), "--test-clock", clock_path)
        clock = harness.TestClock(clock_path)
        self.addCleanup(clock.close)
        clock.set(10 ** 18)
        self.changed("PUT", "/v1/limits/b/overrides/user%2F42", {"burst": 50, "expires": "1h"})
        self.changed("PUT", "/v1/limits/b/overrides/vip", {"tier": "gold"})
        self.assertEqual(self.check("user/42", cost=0)["quota"], 50)
        self.assertEqual(self.check("vip", cost=0)["quota"], 50)
        self.assertEqual(self.check("user", cost=0)["quota"], 5)
        status, value = self.control("GET", "/v1/changes")
        self.assertEqual([one["target"] for one in value["changes"]],
                         [["override", "b", "user/42"], ["override", "b", "vip"]])
        clock.set(10 ** 18 + 3600 * 10 ** 9 + 1)
        harness.until(lambda: self.check("user/42", cost=0)["quota"] == 5, "the override expires")
        self.assertEqual(self.check("vip", cost=0)["quota"], 50)

    def test_what_is_wrong_is_refused_and_changes_nothing(self):
        self.serve(self.policy(BUCKET))
        for path, body, status, text in [
                ("/v1/limits/b", {"burst": "many"}, 422, "burst is the text 'many'"),
                ("/v1/limits/b", {"brust": 1}, 422, "brust cannot be changed here"),
                ("/v1/limits/b", {}, 400, "changes nothing"),
                ("/v1/limits/b", {"burst": 1, "expires": "soon"}, 400, "expires must be"),
                ("/v1/limits/b", {"burst": 1, "expires": 1}, 422, "expires is over already"),
                ("/v1/limits/none", {"burst": 1}, 404, "no limit none"),
                ("/v1/limits/b/overrides/a/b", {"burst": 1}, 422, "key has 2 values"),
                ("/v1/limits/b/overrides/%ff", {"burst": 1}, 400, "not UTF-8"),
                ("/v1/policy", {"limits": []}, 422, "limits cannot be changed here")]:
            got, value = self.control("PUT", path, body)
            self.assertEqual(got, status, (path, body, value))
            self.assertIn(text, json.dumps(value).replace("\\u0027", "'"), (path, body))
        self.assertEqual(self.control("PUT", "/v1/limits/b", [1])[0], 400)
        self.assertEqual(self.control("DELETE", "/v1/limits/b")[0], 404)
        self.assertEqual(self.call(self.admin, "PUT", "/v1/limits/b", '{"burst":1}').status, 401)
        self.assertEqual(self.status()["generation"], 1)
        self.assertEqual(self.check("u", cost=0)["quota"], 5)

    def test_shadow_mode_is_switched_for_a_limit_and_for_everything(self):
        self.serve(self.policy(self.window(0)))
        self.assertFalse(self.check()["allowed"])
        self.changed("PUT", "/v1/limits/w", {"mode": "shadow"})
        self.assertTrue(self.check()["allowed"])
        self.changed("DELETE", "/v1/limits/w")
        self.assertFalse(self.check()["allowed"])
        self.changed("PUT", "/v1/policy", {"mode": "shadow"})
        self.assertTrue(self.check()["allowed"])
        self.changed("PUT", "/v1/policy", {"mode": "enforce"})
        self.assertFalse(self.check()["allowed"])
        self.changed("PUT", "/v1/policy", {"enabled": False})
        self.assertEqual(self.check()["source"], "exempt")

    def test_who_is_banned_is_refused_until_the_ban_ends_and_who_is_exempt_is_not(self):
        clock_path = self.folder / "clock"
        self.serve(self.policy(self.window(9), more="exempt: [{ user: root }]\n"),
                   "--test-clock", clock_path)
        clock = harness.TestClock(clock_path)
        self.addCleanup(clock.close)
        clock.set(10 ** 18)

        def ask(**attributes):
            names = {name.replace("__", ".").replace("_", "-"): value
                     for name, value in attributes.items()}
            return self.call(self.api, "POST", "/v1/check", json.dumps({"attributes": names})).status

        self.changed("POST", "/v1/bans", {"match": {"user": "mallory"}, "for": "10m"})
        self.changed("POST", "/v1/bans", {"match": {"ip": "203.0.113.0/24"}})
        self.changed("POST", "/v1/bans", {"match": {"header.user-agent": "~.*[Bb]ot.*"}})
        self.assertEqual(ask(user="mallory"), 429)
        self.assertEqual(ask(user="alice"), 200)
        self.assertEqual(ask(ip="203.0.113.7", user="a"), 429)
        self.assertEqual(ask(ip="203.0.114.7", user="a"), 200)
        self.assertEqual(ask(header__user_agent="a bot", user="a"), 429)
        self.assertEqual(ask(ip="203.0.113.7", user="root"), 200)
        self.changed("PUT", "/v1/policy", {"mode": "shadow"})
        self.assertEqual(ask(user="mallory"), 200)
        self.changed("DELETE", "/v1/policy")
        self.assertEqual(ask(user="mallory"), 429)
        clock.set(10 ** 18 + 600 * 10 ** 9)
        harness.until(lambda: ask(user="mallory") == 200, "the ban ends")
        self.changed("DELETE", "/v1/bans", {"match": {"ip": "203.0.113.0/24"}})
        self.assertEqual(ask(ip="203.0.113.7", user="a"), 200)

    def test_a_key_is_looked_at_and_made_fresh_again(self):
        self.serve(self.policy(self.window(3)))
        for _ in range(3):
            self.check("u")
        status, value = self.control("GET", "/v1/limits/w/keys?key=u")
        self.assertEqual((status, value["quota"], value["remaining"]), (200, 3, 0))
        self.assertEqual(self.control("GET", "/v1/limits/w/keys")[0], 400)
        self.assertEqual(self.control("GET", "/v1/limits/none/keys?key=u")[0], 404)
        self.changed("DELETE", "/v1/limits/w/keys?key=u")
        self.assertEqual(self.remaining("u"), 3)

    def test_events_tell_what_was_done_and_by_whom(self):
        weir = self.serve(self.policy(self.window(3)))
        self.changed("PUT", "/v1/limits/w", {"limit": 4})
        self.write("weir.yaml", "limits: [")
        self.control("POST", "/v1/policy:reload")
        status, value = self.control("GET", "/v1/events")
        texts = [event["text"] for event in value["events"]]
        [change] = [text for text in texts if text.startswith("change: ")]
        self.assertIn('["limit","w"]', change)
        self.assertIn("by: 127.0.0.1", change)
        self.assertTrue(any("reload refused" in text for text in texts), texts)
        weir.wait_for('change: set ')
        last = value["events"][-1]["id"]
        self.assertEqual(self.control("GET", f"/v1/events?after={last}")[1], {"events": []})

    def test_a_lowered_limit_shows_nothing_left_and_no_more_than_was_used(self):
        self.serve(self.policy(self.window(100)))
        for _ in range(50):
            self.check("u")
        for limit, remaining, allowed in [(40, 0, False), (10, 0, False), (200, 149, True),
                                          (30, 0, False), (0, 0, False), (150, 98, True)]:
            self.changed("PUT", "/v1/limits/w", {"limit": limit})
            answer = self.check("u")
            self.assertEqual((answer["allowed"], answer["quota"], answer["remaining"]),
                             (allowed, limit, remaining), limit)

    def test_bursts_that_are_set_a_thousand_times_leave_nothing_behind(self):
        weir = self.serve(self.policy(BUCKET))

        def counts():
            folder = f"/proc/{weir.pid}"
            listing = subprocess.run(["ls", f"{folder}/fd", f"{folder}/task"], check=True,
                                     capture_output=True, text=True)
            return len(listing.stdout.split())

        client = harness.Client(self.admin)
        self.addCleanup(client.close)
        header = {"Authorization": "Bearer " + self.TOKEN}

        def change(burst):
            answer = client.request("PUT", "/v1/limits/b", header, json.dumps({"burst": burst}))
            self.assertEqual(answer.status, 200, answer)

        change(10)
        before, memory = counts(), weir.memory_kib()
        for turn in range(1000):
            change(10 + 10 * (turn % 2))
        self.assertLessEqual(counts(), before + 2)
        self.assertLess(weir.memory_kib(), memory + 8 * 1024)
        self.assertEqual(self.check("fresh", cost=0)["quota"], 20)


class Commands(LiveTest):
    def run_weir(self, *arguments, code=0, token=None):
        done = subprocess.run(
            [harness.WEIR, *arguments, "--url", f"http://127.0.0.1:{self.admin}",
             "--token", token or self.TOKEN], capture_output=True, text=True,
            timeout=harness.PATIENCE)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def test_set_get_reset_and_ban(self):
        self.serve(self.policy(BUCKET))
        self.assertIn("done: generation 2", self.run_weir("set", "b", "rate=2/h", "burst=3"))
        self.assertEqual(self.check("u")["quota"], 3)
        self.run_weir("set", "b", "--key", "vip", "burst=30", "--for", "1h")
        self.assertEqual(self.check("vip", cost=0)["quota"], 30)
        self.assertIn('"target":["override","b","vip"]', self.run_weir("get"))
        self.assertIn('"remaining":2', self.run_weir("get", "b", "u"))
        self.run_weir("reset", "b", "u")
        self.assertIn('"remaining":3', self.run_weir("get", "b", "u"))
        self.run_weir("set", "b", "--remove")
        self.assertEqual(self.check("u", cost=0)["quota"], 5)
        self.run_weir("ban", "user=mallory", "--for", "1h")
        self.assertFalse(self.check("mallory")["allowed"])
        self.run_weir("ban", "user=mallory", "--remove")
        self.assertTrue(self.check("mallory")["allowed"])
        self.run_weir("set", "", "mode=shadow")
        self.assertEqual(self.control("GET", "/v1/policy")[1]["text"].count("mode: shadow"), 2)

    def test_what_goes_wrong_says_what_to_do(self):
        self.serve(self.policy(BUCKET))
        self.assertIn("burst is the text 'many'", self.run_weir("set", "b", "burst=many", code=1))
        self.assertIn("WEIR_ADMIN_TOKEN", self.run_weir("set", "b", "burst=1", code=1, token="no"))
        self.assertIn("is no NAME=VALUE", self.run_weir("set", "b", "burst", code=2))
        self.admin = harness.free_port()
        self.assertIn("(--url)", self.run_weir("get", code=1))


if __name__ == "__main__":
    harness.main()
