"""The access log of the gateway: a line for each request with what was decided, in the form that was
asked for; logrotate loses none; ids and traces that tie it to everybody else's logs."""

import json
import os
import re
import resource
import signal
import socket
import threading

import harness
from harness import Client, free_port, get, until

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
TRACEPARENT = f"00-{TRACE}-00f067aa0ba902b7-01"


class AccessLog(harness.SystemTest):
    def gateway(self, options, upstream=None, more=""):
        self.port, self.admin = free_port(), free_port()
        self.file = self.folder / "access.log"
        self.program = self.serve(f"""
gateway:
  listen: 127.0.0.1:{self.port}
  upstream: http://127.0.0.1:{upstream or self.upstream()}
  access_log: {{ file: {self.file}, {options} }}
admin: {{ listen: 127.0.0.1:{self.admin} }}
limits: [{{ name: two, key: [ip], algorithm: token_bucket, rate: 2/h, burst: 2 }}]
{more}
""")

    def lines(self, count, file=None):
        file = file or self.file
        read = lambda: file.read_text().splitlines() if file.exists() else []
        until(lambda: len(read()) >= count, f"{count} lines in {file}")
        return read()

    def dropped(self):
        found = re.search(r"^weir_access_log_dropped_total (\d+)$",
                          get(self.admin, "/metrics").text, re.M)
        return int(found.group(1)) if found else 0

    def test_combined_lines_have_the_decision_at_their_end(self):
        self.gateway("format: combined")
        client = Client(self.port)
        for _ in range(3):
            client.get("/a?secret=s3cret", {"User-Agent": 'x"y\t', "Cookie": "s3cret"})
        client.close()
        lines = self.lines(3)
        common = re.compile(r'^127\.0\.0\.1 - - \[\d\d/\w{3}/\d{4}:\d\d:\d\d:\d\d \+0000\] '
                            r'"GET /a HTTP/1\.1" (\d+) (\d+) "-" "x\\x22y(?:\\x09)?" '
                            r'request_id=[0-9a-f]{32} decision=(\w+) limit=two source=memory '
                            r'(?:retry_after=\d+ )?seconds=\d+\.\d{6}$')
        found = [common.match(line) for line in lines]
        self.assertTrue(all(found), lines)
        self.assertEqual([one.group(1, 3) for one in found],
                         [("200", "allowed")] * 2 + [("429", "denied")])
        self.assertEqual(found[0].group(2), "6")

    def test_the_framing_of_a_chunked_body_is_not_counted(self):
        with socket.create_server(("127.0.0.1", 0)) as server:
            self.gateway("format: json", upstream=server.getsockname()[1])

            def answer():
                peer, _ = server.accept()
                with peer:
                    peer.recv(65536)
                    peer.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                                 b"2\r\nab\r\n3;x=y\r\ncde\r\n0\r\nX-End: t\r\n\r\n")

            upstream = threading.Thread(target=answer)
            upstream.start()
            self.assertEqual(get(self.port, "/").text, "abcde")
            upstream.join()
        self.assertEqual(json.loads(self.lines(1)[0])["bytes"], 5)

    def test_json_lines_are_json_and_name_the_trace(self):
        self.gateway("format: json, query: true", more="log: { denials: 10 }")
        client = Client(self.port)  # of one event loop: two write their lines in any order
        for _ in range(3):
            client.get("/a?b=c", {"traceparent": TRACEPARENT, "Referer": "http://h/?q"})
        client.close()
        lines = [json.loads(line) for line in self.lines(3)]
        self.assertEqual([one["status"] for one in lines], [200, 200, 429])
        last = lines[-1]
        self.assertEqual((last["target"], last["referer"], last["trace_id"], last["limit"]),
                         ("/a?b=c", "http://h/?q", TRACE, "two"))
        denied = self.program.wait_for('msg="refused"')
        self.assertIn(f'trace_id="{TRACE}"', denied)
        self.assertIn(f'request_id="{last["request_id"]}"', denied)

    def test_the_upstream_gets_the_trace_and_the_id(self):
        self.gateway("format: json", upstream=self.demo())
        sent = json.loads(get(self.port, "/", {"traceparent": TRACEPARENT, "tracestate": "a=b",
                                               "X-Request-Id": "forged"}).body)
        headers = {name.lower(): value for name, value in sent["headers"].items()}
        self.assertEqual((headers["traceparent"], headers["tracestate"]), (TRACEPARENT, "a=b"))
        [line] = self.lines(1)
        self.assertEqual(headers["x-request-id"], json.loads(line)["request_id"])

    def test_logrotate_loses_no_line(self):
        self.gateway("format: json", more="exempt: [{ path: /free }]")
        stop = threading.Event()
        asked = [0, 0]

        def ask(which):
            client = Client(self.port)
            while not stop.is_set():
                client.get("/free")
                asked[which] += 1
            client.close()

        threads = [threading.Thread(target=ask, args=(i,)) for i in range(2)]
        for thread in threads:
            thread.start()
        moved = []
        try:
            for turn in range(5):
                self.lines(20)
                moved.append(self.folder / f"access.log.{turn}")
                os.rename(self.file, moved[-1])
                seen = len(self.program.lines)
                self.program.signal(signal.SIGUSR1)
                self.program.wait_for("is opened again", seen)
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        self.program.signal(signal.SIGTERM)
        self.assertEqual(self.program.wait(), 0)
        written = [json.loads(line) for file in moved + [self.file]
                   for line in file.read_text().splitlines()]
        self.assertEqual(len(written), sum(asked))
        self.assertEqual(len({line["request_id"] for line in written}), len(written))

    def test_a_file_that_cannot_be_opened_is_named_and_stops_the_start(self):
        path = self.write("weir.yaml", f"""
gateway:
  listen: 127.0.0.1:{free_port()}
  upstream: http://127.0.0.1:1
  access_log: {{ file: /nowhere/access.log }}
limits: []
""")
        program = self.weir("serve", "-c", path)
        self.assertEqual(program.wait(), 1)
        self.assertIn("/nowhere/access.log cannot be opened for writing", program.output)

    def test_a_disk_that_is_full_is_told_once_and_counted_and_requests_go_on(self):
        self.gateway("format: json")
        os.rename(self.file, self.folder / "gone")
        os.symlink("/dev/full", self.file)
        self.program.signal(signal.SIGUSR1)
        self.program.wait_for("is opened again")
        for _ in range(5):
            self.assertIn(get(self.port).status, (200, 429))
        until(lambda: self.dropped() == 5, "five lines are counted")
        self.assertEqual(sum("cannot be written" in line for line in self.program.lines), 1)

    def test_a_file_that_may_not_grow_ends_neither_the_program_nor_the_next_line(self):
        self.gateway("format: json")
        get(self.port)
        self.lines(1)
        before = resource.prlimit(self.program.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(self.program.pid, resource.RLIMIT_FSIZE,
                         (self.file.stat().st_size + 9, before[1]))
        get(self.port)
        until(lambda: self.dropped() == 1, "a line is counted")
        resource.prlimit(self.program.pid, resource.RLIMIT_FSIZE, before)
        get(self.port)
        whole, torn, next_one = self.lines(3)
        self.assertEqual((json.loads(whole)["status"], torn, json.loads(next_one)["status"]),
                         (200, '{"time":"', 429))

    def test_a_client_that_leaves_and_what_is_no_request_have_lines(self):
        server = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(server.close)
        self.gateway("format: json", upstream=server.getsockname()[1])
        with socket.create_connection(("127.0.0.1", self.port)) as client:
            client.sendall(b"GET /slow HTTP/1.1\r\nHost: h\r\n\r\n")
            upstream, _ = server.accept()
            upstream.recv(4096)
        [line] = self.lines(1)
        self.assertEqual((json.loads(line)["status"], json.loads(line)["ended"]), (499, "early"))
        upstream.close()
        with socket.create_connection(("127.0.0.1", self.port)) as client:
            client.sendall(b"BROKEN\r\n\r\n")
            client.recv(4096)
        line = json.loads(self.lines(2)[1])
        self.assertEqual((line["status"], line["decision"]), (400, "none"))
        self.assertEqual(line["ip"], "127.0.0.1")

    def test_a_refused_head_has_the_id_that_its_answer_bears(self):
        self.gateway("format: json")
        answer = get(self.port, "/%zz")
        line = json.loads(self.lines(1)[0])
        self.assertEqual((answer.status, line["request_id"]), (400, answer.headers["X-Request-Id"]))

    def test_a_reload_moves_it_and_takes_it_away(self):
        self.gateway("format: json")
        get(self.port)
        self.lines(1)
        policy = self.folder / "weir.yaml"
        text = policy.read_text()
        other = self.folder / "other.log"
        for wanted in (text.replace("access.log", "other.log"),
                       re.sub(r"  access_log:.*\n", "", text)):
            seen = len(self.program.lines)
            policy.write_text(wanted)
            self.program.wait_for("is in force", seen)
            get(self.port)
        self.assertEqual(len(self.lines(1, other)), 1)
        self.program.stop()
        self.assertEqual(len(self.lines(1)), 1)


if __name__ == "__main__":
    harness.main()
