"""weir serve, validate and demo as a person meets them: starting, mistakes, reloading, stopping."""

import http.client
import json
import socket
import subprocess

import harness

POLICY = """
limits:
  - name: per_user
    key: [header.x-key]
    algorithm: token_bucket
    rate: {rate}
    burst: {burst}
gateway: {{ listen: 127.0.0.1:{listen}, upstream: http://127.0.0.1:{upstream} }}
api: {{ listen: 127.0.0.1:{api} }}
admin: {{ listen: 127.0.0.1:{admin} }}
"""


def run(*arguments, **options):
    return subprocess.run([str(harness.WEIR), *map(str, arguments)], capture_output=True, text=True,
                          timeout=harness.PATIENCE, **options)


class Serve(harness.SystemTest):
    def setUp(self):
        super().setUp()
        self.ports = {name: harness.free_port() for name in ("listen", "api", "admin")}
        self.ports["upstream"] = self.upstream()

    def policy(self, rate="1/h", burst=3):
        return POLICY.format(rate=rate, burst=burst, **self.ports)

    def ask(self, key="a"):
        return harness.get(self.ports["listen"], "/", {"X-Key": key})

    def metric(self, series):
        text = harness.get(self.ports["admin"], "/metrics").text
        for line in text.splitlines():
            if line.startswith(series + " "):
                return float(line.rsplit(" ", 1)[1])
        return None

    def readyz(self):
        return json.loads(harness.get(self.ports["admin"], "/readyz").text)

    def reload(self, weir, policy, until_line):
        self.write("weir.yaml", policy)
        seen = len(weir.lines)
        weir.signal(harness.signal.SIGHUP)
        weir.wait_for(until_line, after=seen)

    def test_says_one_line_for_each_listener_and_the_policy_in_force(self):
        weir = self.serve(self.policy())
        for text in ("1 limit;", "in the memory of this process",
                     f"gateway: http://127.0.0.1:{self.ports['listen']} -> "
                     f"http://127.0.0.1:{self.ports['upstream']}",
                     f"api: http://127.0.0.1:{self.ports['api']}/v1/check",
                     f"admin: http://127.0.0.1:{self.ports['admin']}/"):
            self.assertIn(text, weir.output)

    def test_a_reload_keeps_what_is_left_and_clamps_it(self):
        weir = self.serve(self.policy(burst=5))
        self.assertEqual(self.ask().status, 200)
        self.assertEqual(self.ask().headers["X-RateLimit-Remaining"], "3")
        # Unchanged numbers: three are left as before, two after this call.
        self.reload(weir, self.policy(burst=5) + "# a comment\n", "generation 2")
        self.assertEqual(self.ask().headers["X-RateLimit-Remaining"], "2")
        # A higher burst gives a drained key nothing at once: one left of ten.
        self.reload(weir, self.policy(burst=10), "generation 3")
        answer = self.ask()
        self.assertEqual((answer.headers["X-RateLimit-Limit"],
                          answer.headers["X-RateLimit-Remaining"]), ("10", "1"))
        # A lower one clamps: a fresh key has one call.
        self.reload(weir, self.policy(burst=1), "generation 4")
        self.assertEqual([self.ask("b").status, self.ask("b").status], [200, 429])
        self.assertEqual(self.metric('weir_config_reloads_total{result="ok"}'), 3)
        self.assertEqual(self.metric("weir_config_generation"), 4)

    def test_a_bad_file_changes_nothing_and_is_reported_with_all_its_mistakes(self):
        weir = self.serve(self.policy(burst=1))
        self.assertEqual([self.ask().status, self.ask().status], [200, 429])
        self.reload(weir, self.policy(rate="fast", burst="many"), "stays in force")
        self.assertEqual(self.ask().status, 429)
        self.assertEqual(self.ask("fresh").status, 200)
        self.assertEqual(self.metric('weir_config_reloads_total{result="refused"}'), 1)
        self.assertEqual(self.metric("weir_config_generation"), 1)
        ready = self.readyz()
        self.assertTrue(ready["ready"])
        self.assertEqual(len(ready["reasons"]), 2, ready)
        self.assertIn("weir.yaml:6:11: ", ready["reasons"][0])
        self.assertIn("weir.yaml:7:12: ", ready["reasons"][1])
        # The one in force again: nothing changes, and nothing is wrong any more.
        self.reload(weir, self.policy(burst=1), "is in force, generation 1")
        self.assertEqual(self.readyz()["reasons"], [])

    def test_validate_serve_and_reload_say_the_same_of_a_mistake(self):
        wrong = self.policy(burst="many")
        good = self.policy()
        weir = self.serve(good)
        self.reload(weir, wrong, "stays in force")
        path = self.folder / "weir.yaml"
        validated, served = run("validate", path), run("serve", "-c", path)
        self.assertEqual((validated.returncode, served.returncode), (2, 2))
        self.assertEqual(validated.stderr, served.stderr)
        self.assertIn(validated.stderr.splitlines()[0], weir.output)

    def test_a_reload_without_a_section_keeps_its_listener_as_it_was(self):
        api = f"api: {{ listen: 127.0.0.1:{self.ports['api']} }}"
        guarded = self.policy().replace(api, api[:-1] + ", token: secret }")
        weir = self.serve(guarded)
        self.reload(weir, "limits: []\n" + "admin: { listen: 127.0.0.1:%d }\n" %
                    self.ports["admin"], "generation 2")
        self.assertEqual(self.ask().status, 200)
        self.assertEqual(harness.get(self.ports["api"], "/v1/check").status, 401)

    def test_a_reload_changes_the_admin_token(self):
        # Loopback needs none, so the listener must be elsewhere: another address of this machine.
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            try:
                probe.connect(("198.51.100.1", 9))
            except OSError:
                self.skipTest("this machine has no address but loopback")
            address = probe.getsockname()[0]
        port = harness.free_port()
        policy = "limits: []\nadmin: {{ listen: %s:%d, token: {} }}\n" % (address, port)

        def status(token):
            connection = http.client.HTTPConnection(address, port, timeout=harness.PATIENCE)
            connection.request("GET", "/metrics", headers={"Authorization": "Bearer " + token})
            answer = connection.getresponse().status
            connection.close()
            return answer

        weir = self.serve(policy.format("old"))
        self.assertEqual((status("old"), status("new")), (200, 401))
        self.reload(weir, policy.format("new"), "generation 2")
        self.assertEqual((status("old"), status("new")), (401, 200))

    def test_a_reload_says_which_limits_count_afresh(self):
        weir = self.serve(self.policy())
        window = self.policy().replace("algorithm: token_bucket", "algorithm: sliding_counter")
        window = window.replace("rate: 1/h", "window: 1h").replace("burst: 3", "limit: 3")
        self.reload(weir, window, "limit per_user counts afresh")

    def test_a_port_in_use_is_an_error_that_names_it(self):
        self.serve(self.policy())
        second = run("serve", "-c", self.folder / "weir.yaml")
        self.assertEqual(second.returncode, 1)
        self.assertIn(f"127.0.0.1:{self.ports['listen']}", second.stderr)
        self.assertIn("in use", second.stderr)

    def test_stops_by_sigterm_with_exit_code_0_once_what_is_in_flight_has_ended(self):
        weir = self.serve(self.policy(burst=100))
        slow = socket.create_connection(("127.0.0.1", self.ports["listen"]))
        self.addCleanup(slow.close)
        slow.sendall(b"POST / HTTP/1.1\r\nHost: h\r\nX-Key: a\r\nContent-Length: 2\r\n\r\na")
        decided = 'weir_decisions_total{limit="per_user",outcome="allowed",source="memory"}'
        harness.until(lambda: self.metric(decided) == 1, "the slow request is decided")
        weir.signal(harness.signal.SIGTERM)
        harness.until(lambda: not harness.is_open(self.ports["listen"]), "nobody listens any more")
        slow.sendall(b"b")
        answer = b""
        while chunk := slow.recv(65536):
            answer += chunk
        self.assertTrue(answer.startswith(b"HTTP/1.1 "), answer)
        self.assertEqual(weir.wait(), 0, weir.output)

    def test_serves_without_a_file_by_several_limits(self):
        listen = harness.free_port()
        weir = self.weir("serve", "--upstream", f"http://127.0.0.1:{self.ports['upstream']}",
                         "--listen", f"127.0.0.1:{listen}",
                         "--limit", "1/h burst 2 by ip on POST /login",
                         "--limit", "1/h burst 4 by ip")
        weir.wait_until_ready()
        client = harness.Client(listen)
        self.addCleanup(client.close)
        statuses = [client.request("POST", "/login").status for _ in range(3)]
        self.assertEqual(statuses, [200, 200, 429])
        self.assertEqual([client.get("/x").status for _ in range(3)], [200, 200, 429])

    def test_checks_through_the_api_as_through_the_gateway(self):
        self.serve(self.policy(burst=1))
        body = json.dumps({"attributes": {"header.x-key": "a"}})
        client = harness.Client(self.ports["api"])
        self.addCleanup(client.close)
        first = client.request("POST", "/v1/check", body=body)
        self.assertEqual((first.status, json.loads(first.text)["allowed"]), (200, True))
        self.assertEqual(self.ask("a").status, 429)
        second = client.request("POST", "/v1/check", body=body)
        decision = json.loads(second.text)
        self.assertEqual((second.status, decision["limit"], decision["source"]),
                         (429, "per_user", "memory"))
        self.assertEqual(second.headers["Retry-After"], "3600")
        peek = client.request("POST", "/v1/check", body=json.dumps(
            {"attributes": {"header.x-key": "b"}, "cost": 0}))
        self.assertEqual((peek.status, json.loads(peek.text)["remaining"]), (200, 1))
        bad = client.request("POST", "/v1/check", body='{"attributes":{"ip":"1.2.3"}}')
        self.assertEqual((bad.status, json.loads(bad.text)["field"]), (400, "attributes.ip"))


class CommandLine(harness.SystemTest):
    def test_wrong_usage_exits_2_and_points_to_help(self):
        for arguments in ([], ["sevre"], ["serve"], ["demo", "--listen", "nowhere"],
                          ["serve", "--upstream", "ftp://x", "--limit", "1/s"],
                          ["serve", "--upstream", "http://127.0.0.1:1", "--limit", "fast"]):
            self.assertEqual(run(*arguments).returncode, 2, arguments)

    def test_a_file_that_is_not_there_is_named(self):
        result = run("serve", "-c", self.folder / "none.yaml")
        self.assertEqual(result.returncode, 2)
        self.assertIn("none.yaml", result.stderr)

    def test_validate_says_every_mistake_of_every_file(self):
        good = self.write("good.yaml", "limits: []\n")
        bad = self.write("bad.yaml", "limits:\n  - name: a\n    algoritm: x\n    rate: y\n")
        empty = self.write("empty.yaml", "")
        result = run("validate", good, bad, empty)
        self.assertEqual(result.returncode, 2)
        self.assertIn("good.yaml: right, 0 limits", result.stdout)
        self.assertIn("bad.yaml:3:5: ", result.stderr)
        self.assertIn("algorithm", result.stderr)
        self.assertIn("empty.yaml", result.stderr)

    def test_validate_and_serve_refuse_files_that_are_not_there_in_the_same_words(self):
        api = f"limits: []\napi: {{ listen: 127.0.0.1:{harness.free_port()}"
        gateway = api.replace("api:", "gateway:")
        for policy, told in (
                (api + ", tls: { cert: /no/cert, key: /no/key } }\n", "api: cannot use /no/cert"),
                (api + " }\nstore: { url: 'rediss://127.0.0.1:1', ca: /no/ca }\n",
                 "store: store.ca: cannot use /no/ca"),
                (gateway + ", upstream: 'https://127.0.0.1:1', upstream_tls: { ca: /no/ca } }\n",
                 "gateway: cannot use /no/ca"),
                (api + " }\nidentity: { user: 'jwt:sub', jwt: { keys: /no/keys, "
                 "algorithms: [RS256] } }\n", "identity.jwt: /no/keys: cannot be opened")):
            path = self.write("weir.yaml", policy)
            for result in (run("validate", path), run("serve", "-c", path)):
                self.assertEqual(result.returncode, 2, result.stderr)
                self.assertIn(told, result.stderr)

    def test_validate_warns_where_there_is_nothing_to_serve(self):
        path = self.write("weir.yaml", "limits: []\n")
        validated, served = run("validate", path), run("serve", "-c", path)
        self.assertEqual((validated.returncode, served.returncode), (0, 2))
        self.assertIn("warning: nothing to serve: the policy names no listener", validated.stderr)
        self.assertIn("nothing to serve: the policy names no listener", served.stderr)

    def test_validate_explains_which_limits_a_request_meets(self):
        result = run("validate", harness.ROOT / "examples/quickstart.yaml", "--explain",
                     "POST /api/auth/login from 203.0.113.7 tier=premium")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("login: counts ip=203.0.113.7 by token_bucket", result.stdout)
        self.assertIn("per_ip: counts ip=203.0.113.7 by sliding_counter", result.stdout)
        for blank in ("", " "):
            nothing = run("validate", harness.ROOT / "examples/quickstart.yaml", "--explain", blank)
            self.assertEqual(nothing.returncode, 2, nothing.stdout)
            self.assertIn("--explain", nothing.stderr)
        wrong = run("validate", harness.ROOT / "examples/quickstart.yaml", "--explain", "from nowhere")
        self.assertEqual(wrong.returncode, 2)
        self.assertIn("nowhere", wrong.stderr)


if __name__ == "__main__":
    harness.main()
