"""Keys that are refused for a while because a limit has refused them too often."""

import json

import harness
from live import LiveTest
from redis_peer import Redis

MINUTE = 60 * 10 ** 9
LOGIN = ("[{ name: login, key: [user], algorithm: fixed_window, limit: 1, window: month,"
         " ban: { after: 3, within: 1m, for: 10m, doubling_to: 30m } }]")


class Bans(LiveTest):
    def bans(self, admin=None):
        status, value = self.control("GET", "/v1/bans", admin=admin)
        self.assertEqual(status, 200)
        return value["bans"]

    def with_clock(self, policy):
        path = self.folder / "clock"
        weir = self.serve(policy, "--test-clock", path)
        self.clock = harness.TestClock(path)
        self.addCleanup(self.clock.close)
        self.now = 10 ** 18
        self.clock.set(self.now)
        return weir

    def advance(self, span):
        self.now += span
        self.clock.set(self.now)

    def test_a_key_that_is_refused_too_often_is_banned_twice_as_long_each_time(self):
        weir = self.with_clock(self.policy(LOGIN))
        self.assertTrue(self.check("mallory")["allowed"])
        for minutes, times in [(10, 1), (20, 2), (30, 3), (30, 4)]:
            for _ in range(2):
                self.assertEqual(self.check("mallory")["reason"], "")
            self.assertEqual(self.check("mallory")["reason"], "banned")
            answer = self.call(self.api, "POST", "/v1/check",
                               json.dumps({"attributes": {"user": "mallory"}}))
            self.assertEqual(answer.status, 429)
            self.assertEqual(answer.headers["retry-after"], str(minutes * 60))
            value = json.loads(answer.text)
            self.assertEqual((value["limit"], value["remaining"], value["retry_after"]),
                             ("login", 0, minutes * 60))
            self.assertEqual([(one["limit"], one["key"], one["times"]) for one in self.bans()],
                             [("login", ["mallory"], times)])
            self.assertTrue(self.check("alice", cost=0)["allowed"])
            self.advance(minutes * MINUTE)
            self.assertEqual(self.bans(), [])
        page = harness.get(self.admin, "/metrics").text
        self.assertIn('weir_bans_total{limit="login"} 4', page)
        self.assertIn("weir_banned_keys 0", page)
        weir.wait_for("ban: limit login refuses user=mallory for 1800 s, 4 times in a row now")
        self.assertIn("refuses user=mallory for 600 s",
                      self.call(self.admin, "GET", "/v1/events").text)

    def test_a_ban_is_lifted_by_the_admin_api_and_by_a_reset(self):
        self.serve(self.policy(LOGIN))
        for _ in range(4):
            self.check("mallory")
        self.assertEqual(self.check("mallory")["reason"], "banned")
        wanted = {"limit": "login", "key": ["mallory"]}
        self.assertEqual(self.changed("DELETE", "/v1/bans", wanted), {"lifted": True})
        self.assertEqual(self.check("mallory")["reason"], "")
        self.assertEqual(self.control("DELETE", "/v1/bans", wanted)[0], 404)
        for path, body, status in [("/v1/bans", {"limit": "none", "key": ["a"]}, 404),
                                   ("/v1/bans", {"limit": "login", "key": ["a", "b"]}, 400),
                                   ("/v1/bans", {"limit": "login", "key": "mallory"}, 400),
                                   ("/v1/bans", {"limit": "login"}, 400)]:
            self.assertEqual(self.control("DELETE", path, body)[0], status, body)
        self.assertEqual(self.call(self.admin, "DELETE", "/v1/bans", json.dumps(wanted)).status, 401)
        for _ in range(2):
            self.check("mallory")
        self.assertEqual(self.check("mallory")["reason"], "banned")
        self.changed("DELETE", "/v1/limits/login/keys?key=mallory")
        self.assertTrue(self.check("mallory")["allowed"])

    def test_keys_that_are_not_told_are_not_told_in_bans(self):
        self.serve(self.policy(LOGIN, more="metrics: { keys: hashed }\n"))
        for _ in range(4):
            self.check("mallory")
        self.assertEqual([sorted(one) for one in self.bans()], [["expires", "limit", "times"]])
        self.assertNotIn("mallory", self.call(self.admin, "GET", "/v1/events").text)

    def test_a_ban_outlives_a_reload_and_ends_with_its_limit(self):
        self.with_clock(self.policy(LOGIN))
        for _ in range(4):
            self.check("mallory")
        self.write("weir.yaml", self.policy(LOGIN.replace("limit: 1", "limit: 100")))
        self.changed("POST", "/v1/policy:reload")
        self.assertEqual(self.check("mallory")["reason"], "banned")
        self.write("weir.yaml", self.policy(self.window(100, name="login")))
        self.changed("POST", "/v1/policy:reload")
        self.assertTrue(self.check("mallory")["allowed"])


class FleetBans(LiveTest):
    def fleet(self, redis, count=2):
        ports = self.free_ports(2 * count)
        self.instances = []
        for api, admin in zip(ports[::2], ports[1::2]):
            policy = self.policy(LOGIN, api=api, admin=admin,
                                 more=f"store: {{ url: '{redis.url}', on_error: local }}\n")
            self.serve(policy, name=f"weir{api}.yaml")
            self.instances.append((api, admin))

    def reason(self, user, instance):
        return self.check(user, self.instances[instance][0])["reason"]

    def test_refusals_of_all_instances_count_together_and_all_refuse(self):
        redis = Redis(self)
        self.fleet(redis)
        for instance in (0, 0, 1, 0):  # one is admitted, three are refused
            self.check("mallory", self.instances[instance][0])
        for instance in (0, 1):
            harness.until(lambda: self.reason("mallory", instance) == "banned",
                          f"instance {instance} refuses")
        # Not `left`, which each tells as of when it was asked.
        listed = [[(one["key"], one["times"]) for one in self.control(
            "GET", "/v1/bans", admin=admin)[1]["bans"]] for _, admin in self.instances]
        self.assertEqual(listed, [[(["mallory"], 1)]] * 2)
        # One instance lifts it for all.
        self.changed("DELETE", "/v1/bans", {"limit": "login", "key": ["mallory"]},
                     admin=self.instances[1][1])
        harness.until(lambda: not self.control(
            "GET", "/v1/bans", admin=self.instances[0][1])[1]["bans"], "the other one hears of it")

    def test_an_instance_that_comes_later_learns_who_is_banned(self):
        redis = Redis(self)
        self.fleet(redis, 1)
        for _ in range(4):
            self.check("mallory", self.instances[0][0])
        harness.until(lambda: self.reason("mallory", 0) == "banned", "the ban begins")
        self.fleet(redis, 1)
        harness.until(lambda: self.reason("mallory", 0) == "banned", "the new one learns of it")

    def test_each_counts_its_own_refusals_while_redis_is_away(self):
        redis = Redis(self)
        self.fleet(redis, 1)
        self.assertTrue(self.check("mallory", self.instances[0][0])["allowed"])
        redis.kill()
        harness.until(lambda: self.reason("mallory", 0) == "banned", "the ban begins here")

    def test_what_another_program_keeps_under_their_name_leaves_each_to_itself_and_is_told(self):
        redis = Redis(self)
        redis.cli("SET", "weir:{bans}", "something else")
        self.fleet(redis, 1)
        for _ in range(4):
            self.check("mallory", self.instances[0][0])
        harness.until(lambda: self.reason("mallory", 0) == "banned", "the ban begins here")
        told = self.following[f"weir{self.instances[0][0]}.yaml"].wait_for("WRONGTYPE")
        self.assertIn("; each instance bans for itself meanwhile (told once)", told)
        self.assertNotIn("on_error", told)

    def test_a_user_with_the_rights_that_the_docs_name_is_enough(self):
        redis = Redis(self)
        text = (harness.ROOT / "docs/redis.md").read_text()
        rule = text[text.index("ACL SETUSER weir"):].split("\n\n")[0].split()
        self.assertEqual(redis.cli(*(word.replace("PASSWORD", "secret") for word in rule)), ["OK"])
        api, admin = self.free_ports(2)
        weir = self.serve(self.policy(
            LOGIN, api=api, admin=admin,
            more=f"store: {{ url: 'redis://weir:secret@127.0.0.1:{redis.port}', on_error: deny }}\n"))
        self.instances = [(api, admin)]
        for _ in range(4):
            self.check("mallory", api)
        harness.until(lambda: self.reason("mallory", 0) == "banned", "the ban begins")
        self.changed("DELETE", "/v1/bans", {"limit": "login", "key": ["mallory"]}, admin=admin)
        self.assertEqual(self.reason("mallory", 0), "")
        self.assertEqual(len(redis.cli("HKEYS", "weir:{bans}")), 1, "it was shared")
        self.assertNotIn("NOPERM", weir.output)

    def test_what_is_kept_of_bans_is_forgotten_by_itself(self):
        redis = Redis(self)
        self.fleet(redis, 1)
        for user in ("mallory", "bob"):
            for _ in range(4 if user == "mallory" else 2):
                self.check(user, self.instances[0][0])
        harness.until(lambda: self.reason("mallory", 0) == "banned", "the ban begins")
        # What is known, by two orders; what was forgotten; and bob's refusals.
        harness.until(lambda: len(redis.cli("KEYS", "weir:{bans}*")) == 4, "all of it is there")
        keys = redis.cli("KEYS", "weir:{bans}*")
        for key in keys:
            left = int(redis.cli("PTTL", key)[0])
            self.assertGreater(left, 0, key)
            self.assertLessEqual(left, 40 * 60 * 1000, key)


if __name__ == "__main__":
    harness.main()
