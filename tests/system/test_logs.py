"""Logs: nothing for single requests by default; refusals when asked for, so many a second, in logfmt
or JSON, with no more of a client than the policy lets be told."""

import json
import os
import re
import shutil
import socket
import subprocess

import harness
from example import shape
from test_failures import shown
from test_metrics import promtool

POLICY = """
limits:
  - {{ name: per_ip, key: [ip], algorithm: token_bucket, rate: 1/h, burst: 1 }}
identity: {{ trust_clients: true }}
gateway: {{ listen: 127.0.0.1:{listen}, upstream: http://127.0.0.1:{upstream} }}
{more}
"""
HEADERS = {"X-Request-Id": "forged", "X-User-Id": "ann\u00e9\"1", "Authorization": "Bearer s3cret",
           "Cookie": "session=s3cret"}


class Logs(harness.SystemTest):
    def begin(self, more=""):
        self.listen = harness.free_port()
        self.program = self.serve(POLICY.format(listen=self.listen, upstream=self.upstream(),
                                                more=more))

    def begin_unread(self, more=""):
        """As under a supervisor that hangs: standard error is a pipe that nobody reads."""
        self.listen = harness.free_port()
        path = self.write("weir.yaml", POLICY.format(listen=self.listen, upstream=self.upstream(),
                                                     more="log: { denials: 10000 }\n" + more))
        with open(self.folder / "out", "wb") as out:
            program = subprocess.Popen([harness.WEIR, "serve", "-c", path], stdout=out,
                                       stderr=subprocess.PIPE, start_new_session=True)
        self.addCleanup(program.stderr.close)
        self.addCleanup(program.wait)
        self.addCleanup(program.kill)
        harness.until(lambda: harness.is_open(self.listen), "the gateway listens")
        return program

    def refuse(self, count):
        client = harness.Client(self.listen)
        headers = {name: value.encode("utf-8") for name, value in HEADERS.items()}
        for _ in range(count + 1):
            client.get("/a/b?secret=s3cret", headers)
        client.close()

    def lines(self):
        self.program.stop()
        return [line for line in self.program.lines if "refused" in line]

    def test_single_requests_are_not_logged_by_default(self):
        self.begin()
        self.refuse(5)
        self.assertEqual(self.lines(), [])

    def test_a_refusal_has_its_limit_key_attributes_and_request_id(self):
        self.begin("log: { denials: 100 }")
        self.refuse(1)
        [line] = self.lines()
        for part in ('level=info msg="refused"', 'limit="per_ip"', 'key="ip=127.0.0.1"',
                     'source="memory"', 'method="GET"', 'path="/a/b"', 'user="ann\u00e9\\"1"',
                     'request_id="', 'ip="127.0.0.1"', 'retry_after="'):
            self.assertIn(part, line)
        self.assertNotIn("s3cret", line)
        self.assertNotIn("forged", line)

    def test_requests_that_meet_too_many_counters_have_one_line_for_all(self):
        listen = harness.free_port()
        limits = "".join(f"  - {{ name: l{n}, match: {{ path: /many }}, algorithm: token_bucket, "
                         "rate: 1/s, burst: 9 }\n" for n in range(65))
        self.program = self.serve("limits:\n" + limits + f"gateway: {{ listen: 127.0.0.1:{listen}, "
                                  f"upstream: http://127.0.0.1:{self.upstream()} }}\n")
        self.assertEqual([harness.get(listen, "/many").status for _ in range(3)], [503] * 3)
        self.program.stop()
        told = [line for line in self.program.lines if "a request meets 65 counters" in line]
        self.assertEqual(len(told), 1, self.program.output)

    def test_what_cannot_be_shown_of_a_key_is_escaped_once(self):
        listen = harness.free_port()
        self.program = self.serve(f"""
            limits:
              - {{ name: a, key: [user], algorithm: token_bucket, rate: 1/h, burst: 1,
                   ban: {{ after: 1, within: 1h, for: 1h }} }}
            identity: {{ trust_clients: true }}
            log: {{ denials: 10 }}
            gateway: {{ listen: 127.0.0.1:{listen}, upstream: http://127.0.0.1:{self.upstream()} }}""")
        for _ in range(2):
            harness.get(listen, "/", {"X-User-Id": b"a\\b\xff"})
        self.program.stop()
        [refused] = [line for line in self.program.lines if 'msg="refused"' in line]
        self.assertIn(r'key="user=a\\b\xff"', refused)
        self.assertIn(r'user="a\\b\xff"', refused)
        [banned] = [line for line in self.program.lines if "ban: " in line]
        self.assertIn(r"refuses user=a\\b\xff for", banned)

    def test_json_is_json_and_hashed_keys_tell_nobody(self):
        self.begin("log: { denials: 100, format: json }\nmetrics: { keys: hashed }")
        self.refuse(2)
        lines = [json.loads(line) for line in self.lines()]
        self.assertEqual(len(lines), 2)
        self.assertEqual((lines[0]["msg"], lines[0]["limit"]), ("refused", "per_ip"))
        self.assertEqual(lines[0]["key"], lines[1]["key"])
        self.assertRegex(lines[0]["key"], "^#[0-9a-f]{16}$")
        self.assertNotIn("ip", lines[0])
        self.assertNotIn("user", lines[0])

    def test_no_more_lines_a_second_than_asked_for_and_the_rest_is_counted(self):
        clock_path = self.folder / "clock"
        self.listen = harness.free_port()
        path = self.write("weir.yaml", POLICY.format(listen=self.listen, upstream=self.upstream(),
                                                     more="log: { denials: 3 }"))
        self.program = self.weir("serve", "-c", path, "--test-clock", clock_path)
        self.program.wait_until_ready()
        clock = harness.TestClock(clock_path)
        self.addCleanup(clock.close)
        clock.set(5_000_000_000)
        self.refuse(20)
        clock.set(6_000_000_000)
        self.refuse(0)
        lines = self.lines()
        self.assertEqual(len(lines), 4)
        self.assertIn('left_out="17"', lines[-1])

    def test_a_log_that_nobody_reads_stops_no_request_and_what_is_missing_is_told(self):
        admin = harness.free_port()
        program = self.begin_unread(f"admin: {{ listen: 127.0.0.1:{admin} }}")
        self.refuse_pipelined(5000)
        page = harness.until(lambda: self.page_with(admin, "weir_log_dropped_total"),
                             "lines were dropped")
        self.assertEqual(harness.get(self.listen).status, 429)
        self.assertEqual(harness.get(admin, "/healthz").status, 200)
        if shutil.which("promtool"):
            checked = promtool("check", "metrics", stdin=page)
            self.assertEqual((checked.returncode, checked.stdout, checked.stderr), (0, "", ""))
        dropped = int(re.search(r"^weir_log_dropped_total (\d+)$", page, re.MULTILINE).group(1))
        program.terminate()
        text = program.stderr.read().decode()
        self.assertEqual(program.wait(harness.PATIENCE), 0)
        lines = text[text.index("ts="):].splitlines()  # behind what the policy is warned of
        told = [int(n) for n in re.findall(r'msg="(\d+) lines? (?:was|were) dropped here', text)]
        self.assertGreaterEqual(sum(told), dropped)
        refusals, stopping = 5001, 1
        self.assertEqual(len(lines) - len(told) + sum(told), refusals + stopping)
        [example] = shown("The log is not read", "log")
        self.assertRegex(text, shape(example))
        torn = [line for line in lines if not re.fullmatch(r'ts=\S+ level=\w+ msg=".*"', line)]
        self.assertEqual(torn, [])

    def test_a_log_that_nobody_reads_does_not_hold_up_the_end(self):
        program = self.begin_unread()
        self.refuse_pipelined(1000)
        program.terminate()
        self.assertEqual(program.wait(harness.PATIENCE), 0)

    # Else the next file or connection has its number, and gets the log.
    def test_a_program_that_was_given_no_standard_error_writes_it_nowhere_else(self):
        self.listen = harness.free_port()
        path = self.write("weir.yaml", POLICY.format(listen=self.listen, upstream=self.upstream(),
                                                     more="log: { denials: 100 }"))
        program = self.start("sh", "-c", f"exec {harness.WEIR} serve -c {path} 2>&-")
        program.wait_until_ready()
        self.assertEqual(os.readlink(f"/proc/{program.pid}/fd/2"), "/dev/null")
        self.refuse(3)
        program.stop()
        self.assertNotIn("refused", program.output)

    def refuse_pipelined(self, count):
        """One request is admitted, and so many are refused, with long lines in the log."""
        request = (f"GET /{'a' * 300} HTTP/1.1\r\nHost: a\r\nX-User-Id: {'u' * 300}\r\n\r\n").encode()
        with socket.create_connection(("127.0.0.1", self.listen), harness.PATIENCE) as peer:
            seen = b""
            for left in range(count + 1, 0, -100):
                some = min(left, 100)
                peer.sendall(request * some)
                answered = 0
                while answered < some:
                    chunk = peer.recv(1 << 20)
                    self.assertTrue(chunk, "the gateway still answers")
                    seen = seen[-len(b"HTTP/1.1 ") + 1:] + chunk
                    answered += seen.count(b"HTTP/1.1 ")

    def page_with(self, admin, series):
        text = harness.get(admin, "/metrics").text
        return text if re.search(rf"^{series} ", text, re.MULTILINE) else None


if __name__ == "__main__":
    harness.main()
