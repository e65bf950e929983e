"""Changes to a policy in force, through the admin API and the commands that use it."""

import json
import resource
import subprocess
import threading

import harness
from certificates import Authority
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
        self.changed("PUT", "/v1/limits/b", {"rate": 0.2, "burst": 9.0})
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

    def test_a_key_is_changed_and_changed_back_under_any_of_its_spellings(self):
        self.serve(self.policy("[{ name: per_ip, key: [ip], algorithm: token_bucket, rate: 1/h, burst: 2 }]"))

        def quota(ip):
            body = json.dumps({"attributes": {"ip": ip}, "cost": 0})
            return json.loads(self.call(self.api, "POST", "/v1/check", body).text)["quota"]
        path = "/v1/limits/per_ip/overrides/"
        self.changed("PUT", path + "2001:db8::1", {"burst": 50})
        self.assertEqual(self.changed("PUT", path + "2001:DB8::2", {"burst": 60})["changes"], 1)
        self.assertEqual(self.changed("PUT", path + "203.0.113.7%2F32", {"burst": 70})["changes"], 2)
        self.assertEqual([quota(ip) for ip in ("2001:db8::3", "203.0.113.7", "203.0.113.8")],
                         [60, 70, 2])
        self.assertEqual([one["target"][2] for one in self.control("GET", "/v1/changes")[1]["changes"]],
                         ["2001:db8::", "203.0.113.7"])
        self.assertEqual(self.changed("DELETE", path + "2001:db8::9")["changes"], 1)
        self.assertEqual(quota("2001:db8::3"), 2)

    def test_a_certificate_and_keys_that_cannot_be_used_hold_up_no_change(self):
        cert, key = Authority(self.folder).sign("server")
        keys = self.write("secret", "a secret of more than thirty-two bytes")
        more = (f"resp: {{ listen: 127.0.0.1:{harness.free_port()}, "
                f"tls: {{ cert: {cert}, key: {key} }} }}\n"
                f"identity: {{ jwt: {{ keys: {keys}, algorithms: [HS256] }} }}\n")
        clock_path = self.folder / "clock"
        weir = self.serve(self.policy(BUCKET, more=more), "--test-clock", clock_path)
        clock = harness.TestClock(clock_path)
        self.addCleanup(clock.close)
        clock.set(10 ** 18)
        self.changed("PUT", "/v1/limits/b/overrides/u", {"burst": 1000, "expires": "1h"})
        self.assertEqual(self.check("u", cost=0)["quota"], 1000)
        cert.write_text("")
        keys.write_text("short")
        weir.wait_for("the certificates have changed and are not used")
        weir.wait_for("stays in force")
        self.changed("POST", "/v1/bans", {"match": {"user": "mallory"}})
        self.assertEqual(self.check("mallory")["reason"], "banned")
        clock.set(10 ** 18 + 3600 * 10 ** 9 + 1)
        harness.until(lambda: self.check("u", cost=0)["quota"] == 5, "the override expires")
        self.assertIn("the last reload was refused", self.status()["reasons"][0])

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
        status, value = self.control("POST", "/v1/bans", {"match": {"ip": "192.0.2.1"}, "for": 60})
        self.assertEqual((status, value["detail"]), (422, "for is over already, wants a duration such "
                                                     "as 60s, or a Unix time to come"))
        for query in ("after=x", "after=", "after=1x", "after=-1", "after=1&after=2", "after"):
            status, value = self.control("GET", f"/v1/events?{query}")
            self.assertEqual(status, 400, query)
            self.assertIn("after must be the id of an event", value["detail"])
        self.assertEqual(self.control("GET", "/v1/limits/b/keys")[1]["field"], "key")
        self.assertEqual(self.control("DELETE", "/v1/limits/b")[0], 404)
        self.assertEqual(self.call(self.admin, "PUT", "/v1/limits/b", '{"burst":1}').status, 401)
        self.assertEqual(self.status()["generation"], 1)
        self.assertEqual(self.check("u", cost=0)["quota"], 5)

    # A page that somebody looks at can post to this machine's loopback, but has no token to show.
    def test_a_form_that_a_page_posts_changes_nothing(self):
        with_token = self.policy(BUCKET)
        for policy in (with_token, with_token.replace(f", token: {self.TOKEN}", "")):
            program = self.serve(policy)
            for kind in ("application/x-www-form-urlencoded", "text/plain"):
                for method, path, body in (("POST", "/v1/policy:reload", ""),
                                           ("POST", "/v1/bans", '{"limit":"b","key":["u"]}'),
                                           ("POST", "/v1/limits/b", '{"burst":1}'),
                                           ("DELETE", "/v1/limits/b/keys?key=u", "")):
                    client = harness.Client(self.admin)
                    answer = client.request(method, path, {"Origin": "https://page.example",
                                                           "Content-Type": kind}, body)
                    client.close()
                    self.assertIn(answer.status, (401, 403, 405), (path, answer))
                    self.assertNotIn("Access-Control-Allow-Origin", answer.headers)
            self.assertEqual(self.status()["generation"], 1)
            self.assertTrue(self.check("u")["allowed"])
            program.stop()

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
        self.assertEqual(self.check("mallory")["retry_after"], 600)
        self.assertEqual([one["match"] for one in self.control("GET", "/v1/bans")[1]["bans"]],
                         [{"header.user-agent": "~.*[Bb]ot.*"}, {"ip": "203.0.113.0/24"},
                          {"user": "mallory"}])
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

    def test_who_is_blocked_is_refused_until_a_list_in_a_file_says_otherwise(self):
        blocked = self.write("blocked.txt", "# bots\n203.0.113.0/24\n")
        self.serve(self.policy(self.window(10 ** 6), more=(
            f"block: [{{ ip: {{ file: {blocked} }} }}, {{ header.user-agent: 'BadBot*' }}]\n"
            "exempt: [{ user: root }]\n")))

        def ask(**attributes):
            return self.call(self.api, "POST", "/v1/check",
                             json.dumps({"attributes": {"user": "a", **attributes}}))

        answer = ask(ip="203.0.113.7")
        self.assertEqual(answer.status, 429)
        self.assertEqual(json.loads(answer.text)["reason"], "blocked")
        self.assertEqual(ask(ip="203.0.113.7", user="root").status, 200)
        self.assertEqual(ask(ip="198.51.100.1").status, 200)
        self.assertEqual(ask(**{"header.user-agent": "BadBot/2"}).status, 429)
        self.write("blocked.txt", "198.51.100.1\n")
        harness.until(lambda: ask(ip="198.51.100.1").status == 429, "the list is read again")
        self.assertEqual(ask(ip="203.0.113.7").status, 200)
        self.write("blocked.txt", "198.51.100.1/8\n")
        harness.until(lambda: any("line 1 is neither" in reason
                                  for reason in self.status()["reasons"]), "the list is refused")
        self.assertEqual(ask(ip="198.51.100.1").status, 429)
        self.changed("PUT", "/v1/policy", {"mode": "shadow"})
        self.assertEqual(ask(ip="198.51.100.1").status, 200)
        # What the admin API is told does not read files for its caller.
        status, value = self.control("POST", "/v1/bans", {"match": {"ip": {"file": "/etc/passwd"}}})
        self.assertEqual(status, 422)
        self.assertIn("cannot be a list in a file here", json.dumps(value))

    def test_the_gateway_and_forward_auth_answer_who_is_blocked_with_403(self):
        port = harness.free_port()
        self.serve(self.policy(self.window(9), more=(
            "block: [{ header.user-agent: 'BadBot*' }]\n"
            "identity: { client_ip: x-forwarded-for, trusted_proxies: [127.0.0.1] }\n"
            f"gateway: {{ listen: 127.0.0.1:{port}, upstream: http://127.0.0.1:9 }}\n")))
        answer = harness.get(port, "/", {"User-Agent": "BadBot/1"})
        self.assertEqual(answer.status, 403)
        self.assertEqual(json.loads(answer.text),
                         {"code": "BLOCKED", "message": "the request is blocked", "limit": None,
                          "retry_after": None, "reason": "blocked"})
        self.assertIsNone(answer.headers["retry-after"])
        self.assertEqual(harness.get(port, "/", {"User-Agent": "curl"}).status, 502)
        proxied = {"X-Forwarded-Method": "GET", "X-Forwarded-Uri": "/", "X-Forwarded-Host": "a.test",
                   "X-Forwarded-For": "203.0.113.7"}
        for agent, status in (("BadBot/1", 403), ("curl", 200)):
            self.assertEqual(harness.get(self.api, "/v1/forward-auth?proxy=caddy",
                                         {**proxied, "User-Agent": agent}).status, status)
        self.assertIn('weir_blocked_total{reason="blocked"} 2',
                      harness.get(self.admin, "/metrics").text)

    def test_a_policy_in_shadow_mode_refuses_nothing_until_it_is_told_to(self):
        self.serve(self.policy(self.window(0), more="mode: shadow\nblock: [{ user: b }]\n"))
        self.assertTrue(self.check()["allowed"])
        self.assertTrue(self.check("b")["allowed"])
        self.changed("PUT", "/v1/policy", {"mode": "enforce"})
        self.assertFalse(self.check()["allowed"])
        self.assertEqual(self.check("b")["reason"], "blocked")
        self.changed("DELETE", "/v1/policy")
        self.assertTrue(self.check()["allowed"])

    def test_changes_kept_in_a_file_outlive_a_restart(self):
        state = self.folder / "changes.json"
        policy = self.policy(BUCKET).replace(f"token: {self.TOKEN}",
                                             f"token: {self.TOKEN}, state: {state}")
        weir = self.serve(policy)
        value = self.changed("PUT", "/v1/limits/b", {"burst": 9})
        self.assertTrue(value["persistent"])
        self.changed("PUT", "/v1/limits/b/overrides/vip", {"burst": 50, "expires": "1h"})
        self.changed("POST", "/v1/bans", {"match": {"user": "mallory"}})
        self.changed("PUT", "/v1/limits/other", {"limit": 3})
        self.changed("DELETE", "/v1/limits/other")
        self.assertEqual(state.stat().st_mode & 0o777, 0o600)
        weir.stop()
        self.weir("serve", "-c", self.folder / "weir.yaml").wait_until_ready()
        self.assertEqual(self.check("u", cost=0)["quota"], 9)
        self.assertEqual(self.check("vip", cost=0)["quota"], 50)
        self.assertEqual(self.check("mallory")["reason"], "banned")
        self.assertEqual(len(self.control("GET", "/v1/changes")[1]["changes"]), 3)

    def test_what_expired_while_weir_was_away_is_not_in_force_again(self):
        entries = {'["limit","b"]': {"set": {"burst": 50}, "until_ns": 10 ** 18},
                   '["override","b","vip"]': {"set": {"burst": 60}, "until_ns": 4 * 10 ** 18}}
        state = self.write("changes.json", json.dumps(entries))
        weir = self.serve(self.policy(BUCKET).replace(f"token: {self.TOKEN}",
                                                      f"token: {self.TOKEN}, state: {state}"))
        self.assertEqual([self.check(user, cost=0)["quota"] for user in ("u", "vip")], [5, 60])
        weir.wait_for("has expired")
        harness.until(lambda: len(json.loads(state.read_text())) == 1, "it is forgotten")

    def test_a_file_of_changes_that_cannot_be_read_stops_the_start(self):
        state = self.write("changes.json", "{ half")
        policy = self.policy(BUCKET).replace(f"token: {self.TOKEN}",
                                             f"token: {self.TOKEN}, state: {state}")
        weir = self.weir("serve", "-c", self.write("weir.yaml", policy))
        self.assertEqual(weir.wait(), 2)
        self.assertIn("does not hold changes as weir writes them", weir.output)
        self.assertEqual(state.read_text(), "{ half")

    def test_a_change_that_cannot_be_written_is_not_in_force(self):
        state = self.folder / "none" / "changes.json"
        program = self.serve(self.policy(BUCKET).replace(f"token: {self.TOKEN}",
                                                         f"token: {self.TOKEN}, state: {state}"))
        self.assertIn("state is in a folder that does not exist", program.output)
        status, value = self.control("PUT", "/v1/limits/b", {"burst": 9})
        self.assertEqual(status, 503)
        self.assertIn("could not be kept", value["detail"])
        self.assertEqual(self.check("u", cost=0)["quota"], 5)

    def test_half_a_file_of_changes_is_not_left_behind(self):
        state = self.folder / "changes.json"
        program = self.serve(self.policy(BUCKET).replace(f"token: {self.TOKEN}",
                                                         f"token: {self.TOKEN}, state: {state}"))
        _, hard = resource.prlimit(program.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(program.pid, resource.RLIMIT_FSIZE, (10, hard))
        self.assertEqual(self.control("PUT", "/v1/limits/b", {"burst": 9})[0], 503)
        self.assertEqual(list(self.folder.glob("changes*")), [])

    def test_a_change_that_cannot_be_held_with_the_others_is_refused_and_not_kept(self):
        state = self.folder / "changes.json"
        some = ", ".join(f"{{ limit: 5, window: {i}m }}" for i in range(1, 17))
        full = ", ".join(f"{{ name: {name}, algorithm: sliding_counter, windows: [{some}] }}"
                         for name in ("a1", "a2", "a3"))
        policy = self.policy(f"[{full}, {{ name: c, algorithm: sliding_log, windows: ["
                             "{ limit: 5, window: 1m }, { limit: 6, window: 2m }] },"
                             " { name: b, algorithm: sliding_counter, limit: 5, window: 1m }]")
        self.serve(policy.replace(f"token: {self.TOKEN}", f"token: {self.TOKEN}, state: {state}"))
        self.changed("PUT", "/v1/limits/b", {"limit": 4})
        status, value = self.control("PUT", "/v1/limits/b", {
            "windows": [{"limit": 5, "window": f"{i}m"} for i in range(1, 17)]})
        self.assertEqual(status, 422, value)
        self.assertIn("66 pairs of numbers apply to every request", json.dumps(value))
        self.assertEqual(self.control("GET", "/v1/changes")[1]["changes"][0]["set"], {"limit": 4})
        self.assertEqual(list(json.loads(state.read_text()).values())[0]["set"], {"limit": 4})
        self.assertEqual(self.status()["reasons"], [])

    def test_changes_that_come_at_once_are_all_in_force_and_each_is_answered(self):
        self.serve(self.policy(BUCKET))
        answers = []

        def put(number):
            client = harness.Client(self.admin)
            for i in range(25):
                answers.append(client.request(
                    "PUT", f"/v1/limits/b/overrides/{number}-{i}",
                    {"Authorization": "Bearer " + self.TOKEN},
                    json.dumps({"burst": 10 + i} if i else {"burst": "many"})).status)
            client.close()

        threads = [threading.Thread(target=put, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(answers), [200] * 192 + [422] * 8)
        self.assertEqual(len(self.control("GET", "/v1/changes")[1]["changes"]), 192)
        for number in (0, 7):
            self.assertEqual(self.check(f"{number}-24", cost=0)["quota"], 34)
            self.assertEqual(self.check(f"{number}-0", cost=0)["quota"], 5)

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

    @harness.measures_memory
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
        self.assert_grown_at_most(8 * 1024, memory, weir.memory_kib())
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
        self.assertEqual(self.control("GET", "/v1/policy")[1]["text"].count("\nmode: shadow"), 1)

    def test_what_goes_wrong_says_what_to_do(self):
        self.serve(self.policy(BUCKET))
        self.assertIn("burst is the text 'many'", self.run_weir("set", "b", "burst=many", code=1))
        self.assertIn("WEIR_ADMIN_TOKEN", self.run_weir("set", "b", "burst=1", code=1, token="no"))
        self.assertIn("is no NAME=VALUE", self.run_weir("set", "b", "burst", code=2))
        self.admin = harness.free_port()
        self.assertIn("(--url)", self.run_weir("get", code=1))


if __name__ == "__main__":
    harness.main()
