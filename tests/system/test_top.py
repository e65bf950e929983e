"""`weir top` in a real terminal (tmux, 80 by 24), and `weir keys` for people and scripts."""

import json
import os
import shutil
import subprocess
import unittest
import unittest.mock

import certificates
import harness

POLICY = """
limits:
  - {{ name: login, match: {{ path: /login }}, key: [user], algorithm: token_bucket, rate: 1/h, burst: 5 }}
  - {{ name: per_ip, key: [ip], algorithm: sliding_counter, limit: 1000, window: 60s }}
api: {{ listen: 127.0.0.1:{api} }}
admin: {{ listen: 127.0.0.1:{admin}, token: "{token}" }}
"""


class Tmux:
    """One window of a tmux server of its own."""

    def __init__(self, test, command, columns=80, rows=24):
        self.socket = str(test.folder / "tmux")
        environment = {**os.environ, "LC_ALL": "C.UTF-8", "TERM": "xterm"}
        test.addCleanup(lambda: self.run("kill-server", check=False))
        subprocess.run(["tmux", "-u", "-S", self.socket, "-f", "/dev/null", "new-session", "-d",
                        "-x", str(columns), "-y", str(rows), command], check=True, env=environment)

    def run(self, *words, check=True):
        return subprocess.run(["tmux", "-S", self.socket, *words], check=check,
                              capture_output=True, text=True).stdout

    def keys(self, *keys):
        self.run("send-keys", *keys)

    def screen(self):
        return self.run("capture-pane", "-p")


class Top(harness.SystemTest):
    def begin(self, token="", tls=""):
        self.api, self.admin = harness.free_port(), harness.free_port()
        policy = POLICY.format(api=self.api, admin=self.admin, token=token)
        self.program = self.serve(policy.replace('token: ""', 'token: "", tls: {' + tls + '}')
                                  if tls else policy)
        self.url = f"http://127.0.0.1:{self.admin}"

    def check(self, count, user="ann", path="/login"):
        client = harness.Client(self.api)
        body = json.dumps({"attributes": {"ip": "203.0.113.9", "user": user, "path": path}})
        for _ in range(count):
            client.request("POST", "/v1/check", {}, body)
        client.close()

    def output(self, *arguments, code=0):
        process = self.weir(*arguments, "--url", self.url)
        self.assertEqual(process.wait(), code, process.output)
        return process.output

    @unittest.skipUnless(shutil.which("tmux"), "tmux is not installed")
    def test_shows_sorts_filters_and_leaves_the_terminal_as_it_was(self):
        self.begin()
        self.check(30)
        tmux = Tmux(self, f"sh -c 'echo before; {harness.WEIR} top --url {self.url} --every 200; "
                          "echo after; exec cat'")

        def shows(*texts, hidden=()):
            screen = ""

            def holds():
                nonlocal screen
                screen = tmux.screen()
                return all(t in screen for t in texts) and not any(t in screen for t in hidden)
            try:
                harness.until(holds, f"{texts} on the screen, not {hidden}")
            except AssertionError as error:
                raise AssertionError(f"{error}\n{screen}") from None
            return screen

        screen = shows("LIMIT", "login", "per_ip", "by rate")
        self.assertEqual(len(screen.splitlines()), 24)
        tmux.keys("s")
        shows("by refused share")
        tmux.keys("/")
        shows("filter: _")
        tmux.keys("l", "o", "g", "Enter")
        shows("filter log", "login", hidden=["per_ip"])
        tmux.keys("Escape")
        shows("per_ip")
        tmux.keys("k")
        shows("KEY", "user=ann", "keys refused most")
        tmux.keys("q")
        shows("before", "after", hidden=["KEY"])

    @unittest.skipUnless(shutil.which("tmux"), "tmux is not installed")
    def test_says_so_when_the_program_goes_and_goes_on_when_it_is_back(self):
        self.begin()
        tmux = Tmux(self, f"{harness.WEIR} top --url {self.url} --every 200")
        harness.until(lambda: " ready " in tmux.screen(), "it shows the program")
        self.program.stop()
        harness.until(lambda: "NOT CONNECTED" in tmux.screen(), "it says so")
        self.serve(POLICY.format(api=self.api, admin=self.admin, token=""))
        harness.until(lambda: " ready " in tmux.screen(), "it shows the program again")

    def test_prints_once_where_there_is_no_terminal(self):
        self.begin()
        self.check(8)
        lines = self.output("top").splitlines()
        self.assertIn("ready", lines[0])
        self.assertTrue(any(line.startswith("login ") for line in lines), lines)

    def test_tells_scripts_in_json(self):
        self.begin()
        self.check(8)
        harness.until(lambda: json.loads(self.output("keys", "--denied", "--json")), "a key")
        [key] = json.loads(self.output("keys", "--denied", "--json"))
        self.assertEqual((key["limit"], key["key"], key["values"], key["denied"], key["error"]),
                         ("login", "user=ann", ["ann"], 3, 0))
        stats = json.loads(self.output("top", "--json"))
        self.assertEqual({limit["name"] for limit in stats["limits"]}, {"login", "per_ip"})
        self.assertIn("user=ann", self.output("keys", "--denied"))

    def test_asks_by_tls_whom_an_authority_vouches_for(self):
        authority = certificates.Authority(self.folder)
        stranger = certificates.Authority(self.folder, "stranger")
        cert, key = authority.sign("server", hosts=("DNS:localhost",))
        self.begin(tls=f"cert: {cert}, key: {key}")
        self.url = f"https://localhost:{self.admin}"
        self.assertIn("login ", self.output("top", "--ca", authority.ca))
        refused = self.output("top", "--ca", stranger.ca, code=1)
        self.assertIn("TLS: its certificate is not accepted", refused)
        with unittest.mock.patch.dict(os.environ, {"SSL_CERT_FILE": str(authority.ca)}):
            self.assertIn("login ", self.output("top"))
        with unittest.mock.patch.dict(os.environ, {"SSL_CERT_FILE": str(stranger.ca)}):
            self.output("top", code=1)
        self.url = f"https://127.0.0.1:{self.admin}"
        self.assertIn("IP address mismatch", self.output("top", "--ca", authority.ca, code=1))
        self.url = f"http://localhost:{self.admin}"
        self.assertIn("are for https", self.output("top", "--ca", authority.ca, code=2))

    def test_shows_a_certificate_where_one_is_wanted(self):
        authority = certificates.Authority(self.folder)
        cert, key = authority.sign("server")
        mine, my_key = authority.sign("operator")
        self.begin(tls=f"cert: {cert}, key: {key}, client_ca: {authority.ca}")
        self.url = f"https://localhost:{self.admin}"
        self.output("top", "--ca", authority.ca, code=1)
        shown = ("--ca", authority.ca, "--client-cert", mine, "--client-key", my_key)
        self.assertIn("login ", self.output("top", *shown))
        self.assertEqual(self.output("keys", "--denied", "--json", *shown).strip(), "[]")

    def test_says_who_does_not_answer_and_where_to_set_it(self):
        self.url = f"http://127.0.0.1:{harness.free_port()}"
        self.assertIn("Connection refused; is it the policy's admin.listen? (--url)",
                      self.output("top", code=1))
        self.url = "nonsense"
        self.assertIn("--url is 'nonsense', wants http://HOST:PORT", self.output("top", code=2))


if __name__ == "__main__":
    harness.main()
