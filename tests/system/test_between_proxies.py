"""weir between real nginx on either side: whatever form a request is sent in, both read the same
requests out of it, so that none is smuggled past the limits; and what a file server says of parts of
files passes as it is."""

import re
import shutil
import socket
import subprocess
import threading

import harness
from harness import PATIENCE, Client, free_port, until

SMUGGLED = b"GET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n"


def post(lines, body):
    return b"POST /first HTTP/1.1\r\nHost: h\r\n" + lines + b"\r\n" + body


def chunked(body):
    return post(b"Transfer-Encoding: chunked\r\n", body)


LENGTH = b"Content-Length: %d\r\n" % (len(SMUGGLED) + 5)
END = b"0\r\n\r\n"

# Forms that two readers have been known to read differently: weir takes none of them.
AMBIGUOUS = {
    "two lengths": post(b"Content-Length: 0\r\n" + LENGTH, END + SMUGGLED),
    "equal lengths": post(b"Content-Length: 0\r\nContent-Length: 0\r\n", SMUGGLED),
    "length and chunked": post(LENGTH + b"Transfer-Encoding: chunked\r\n", END + SMUGGLED),
    "chunked and length": post(b"Transfer-Encoding: chunked\r\n" + LENGTH, END + SMUGGLED),
    "blank before the colon": post(LENGTH + b"Transfer-Encoding : chunked\r\n", END + SMUGGLED),
    "folded": post(LENGTH + b"Transfer-Encoding:\r\n chunked\r\n", END + SMUGGLED),
    "hidden behind a bare LF": post(LENGTH + b"X: a\nTransfer-Encoding: chunked\r\n",
                                    END + SMUGGLED),
    "hidden behind a bare CR": post(LENGTH + b"X: a\rTransfer-Encoding: chunked\r\n",
                                    END + SMUGGLED),
    "hidden behind a NUL": post(LENGTH + b"X: a\0\r\nTransfer-Encoding: chunked\r\n",
                                END + SMUGGLED),
    "unknown coding": post(LENGTH + b"Transfer-Encoding: xchunked\r\n", END + SMUGGLED),
    "vertical tab": post(LENGTH + b"Transfer-Encoding: \x0bchunked\r\n", END + SMUGGLED),
    "chunked twice": post(b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
                          END + SMUGGLED),
    "chunked is not last": post(b"Transfer-Encoding: chunked, identity\r\n", END + SMUGGLED),
    "signed length": post(b"Content-Length: +0\r\n", SMUGGLED),
    "list of lengths": post(b"Content-Length: 0, 0\r\n", SMUGGLED),
    "hex length": post(b"Content-Length: 0x0\r\n", SMUGGLED),
    "signed size": chunked(b"+0\r\n\r\n" + SMUGGLED),
    "size with 0x": chunked(b"0x0\r\n\r\n" + SMUGGLED),
    "size too large": chunked(b"fffffffffffffffff0\r\n" + SMUGGLED),
    "size ended by LF": chunked(b"0\n\r\n" + SMUGGLED),
    "chunk too long": chunked(b"3\r\nhello\r\n" + END + SMUGGLED),
    "chunk ended by LF": chunked(b"5\r\nhello\n" + END + SMUGGLED),
}
# Legal, if unusual: two requests each, and no third.
LEGAL = {
    "chunk extension": chunked(b"5;a=b;c=\"d\"\r\nhello\r\n" + END) + b"GET /last HTTP/1.1\r\n"
                       b"Host: h\r\n\r\n",
    "zeros before a size": chunked(b"0005\r\nhello\r\n000\r\n\r\n") + b"GET /last HTTP/1.1\r\n"
                           b"Host: h\r\n\r\n",
    "trailers": chunked(b"5\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n") + b"GET /last HTTP/1.1\r\n"
                b"Host: h\r\n\r\n",
    "a body that looks like a request": post(b"Content-Length: %d\r\n" % len(SMUGGLED), SMUGGLED)
                                        + b"GET /last HTTP/1.1\r\nHost: h\r\n\r\n",
    "absolute form": b"GET http://h/first HTTP/1.1\r\nHost: other\r\n\r\n"
                     b"GET /last HTTP/1.1\r\nHost: h\r\n\r\n",
}


class BetweenProxies(harness.SystemTest):
    def backend(self):
        """nginx that tells each request's target; the port, and the file of what it was asked."""
        port = free_port()
        log = self.folder / "backend.log"
        self.nginx(f"""
          log_format asked '$request_method $request_uri';
          server {{
            listen 127.0.0.1:{port};
            access_log {log} asked;
            location / {{ root {self.folder}/files; }}
            location ~ ^/(first|last|check|smuggled) {{ return 200 $request_uri; }}
          }}""")
        return port, log

    def weir_before(self, upstream, limits="limits: []"):
        port = free_port()
        self.serve(f"""
gateway:
  listen: 127.0.0.1:{port}
  upstream: http://127.0.0.1:{upstream}
  timeouts: {{ header: 500ms, idle: 500ms, body: 500ms }}
{limits}
""")
        return port

    def nginx_before(self, upstream):
        port = free_port()
        self.nginx(f"""
          upstream behind {{ server 127.0.0.1:{upstream}; keepalive 8; }}
          client_header_timeout 1; client_body_timeout 1; keepalive_timeout 1; lingering_timeout 1;
          server {{
            listen 127.0.0.1:{port};
            location / {{
              proxy_pass http://behind; proxy_http_version 1.1; proxy_set_header Connection "";
              proxy_request_buffering off;
            }}
          }}""")
        return port

    def statuses(self, port, request):
        """The status of each answer to these bytes, until the other side closes."""
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as client:
            client.sendall(request)
            got = b""
            try:
                while block := client.recv(65536):
                    got += block
            except ConnectionResetError:
                pass
        return [int(one) for one in re.findall(rb"HTTP/1\.1 (\d\d\d) ", got)]

    def asked(self, log):
        return log.read_text().splitlines() if log.exists() else []

    def came(self, log):
        """The targets of it but for those of check_in_step, whose lines may come later."""
        targets = [line.split()[1] for line in self.asked(log)]
        return [target for target in targets if not target.startswith("/check")]

    def check_in_step(self, port, what):
        """Answers still belong to their questions, on every connection that is kept."""
        client = Client(port)
        for number in range(3):
            answer = client.get(f"/check{number}")
            self.assertEqual((answer.status, answer.text), (200, f"/check{number}"), what)
        client.close()

    def test_weir_passes_no_ambiguous_form_to_nginx(self):
        backend, log = self.backend()
        port = self.weir_before(backend)
        for what, request in AMBIGUOUS.items():
            with self.subTest(what):
                statuses = self.statuses(port, request)
                self.assertIn(statuses, ([400], [501]), what)
                self.check_in_step(port, what)
        self.assertFalse([line for line in self.asked(log) if "smuggled" in line])
        # A bad chunk may come after its head has been passed on; it is never a request of its own.
        self.assertLessEqual(set(line.split()[1][:6] for line in self.asked(log)),
                             {"/check", "/first"})

    def test_weir_and_nginx_behind_it_read_legal_forms_alike(self):
        backend, log = self.backend()
        port = self.weir_before(backend)
        for what, request in LEGAL.items():
            with self.subTest(what):
                before = len(self.came(log))
                self.assertEqual(self.statuses(port, request), [200, 200], what)
                until(lambda: len(self.came(log)) >= before + 2, f"{what}: two requests")
                self.assertEqual(self.came(log)[before:], ["/first", "/last"], what)
                self.check_in_step(port, what)

    def test_what_nginx_in_front_lets_through_is_read_alike_by_weir(self):
        backend, log = self.backend()
        port = self.nginx_before(self.weir_before(backend))
        for what, request in {**AMBIGUOUS, **LEGAL}.items():
            with self.subTest(what):
                before = len(self.came(log))
                statuses = self.statuses(port, request)
                self.check_in_step(port, what)
                came = self.came(log)[before:]
                # Each request that came through was one for nginx too, and was answered.
                self.assertLessEqual(len(came), statuses.count(200), f"{what}: {came} {statuses}")

    def test_limits_hold_for_every_form_that_comes_through_nginx(self):
        backend, log = self.backend()
        port = self.nginx_before(self.weir_before(backend, """
limits: [{ name: none, match: { path: /smuggled }, algorithm: token_bucket, rate: 1/h, burst: 0 }]"""))
        for what, request in {**AMBIGUOUS, **LEGAL}.items():
            self.statuses(port, request)
        self.assertFalse([line for line in self.asked(log) if "smuggled" in line])

    def test_parts_of_files_pass_as_the_server_tells_them(self):
        backend, _ = self.backend()
        (self.folder / "files").mkdir()
        (self.folder / "files" / "ten").write_text("0123456789")
        client = Client(self.weir_before(backend))
        self.addCleanup(client.close)
        whole = client.get("/ten")
        self.assertEqual(whole.headers["Accept-Ranges"], "bytes")
        part = client.get("/ten", {"Range": "bytes=2-4"})
        self.assertEqual((part.status, part.text, part.headers["Content-Range"]),
                         (206, "234", "bytes 2-4/10"))
        several = client.get("/ten", {"Range": "bytes=0-0,-1"})
        self.assertEqual(several.status, 206)
        self.assertTrue(several.headers["Content-Type"].startswith("multipart/byteranges"))
        self.assertIn("bytes 9-9/10", several.text)
        beyond = client.get("/ten", {"Range": "bytes=10-"})
        self.assertEqual((beyond.status, beyond.headers["Content-Range"]), (416, "bytes */10"))
        fresh = client.get("/ten", {"Range": "bytes=2-4", "If-Range": whole.headers["ETag"]})
        stale = client.get("/ten", {"Range": "bytes=2-4", "If-Range": '"other"'})
        self.assertEqual((fresh.status, stale.status), (206, 200))
        unchanged = client.get("/ten", {"If-None-Match": whole.headers["ETag"]})
        self.assertEqual((unchanged.status, unchanged.body), (304, b""))

    def test_curl_reads_an_early_answer_of_an_upstream_that_closes_with_the_upload_unread(self):
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)

        def refuse():
            connection, _ = listener.accept()
            with connection:
                while b"\r\n\r\n" not in connection.recv(4096):
                    pass
                connection.sendall(b"HTTP/1.1 413 Too Large\r\nContent-Length: 8\r\n"
                                   b"Connection: close\r\n\r\ntoo much")

        threading.Thread(target=refuse, daemon=True).start()
        port = self.weir_before(listener.getsockname()[1])
        upload = self.folder / "upload"
        with open(upload, "wb") as file:
            file.truncate(256 << 20)
        answer = subprocess.run(["curl", "--silent", "--max-time", "60", "-H", "Expect:", "-w",
                                 "%{http_code}", "-T", str(upload), f"http://127.0.0.1:{port}/"],
                                capture_output=True, text=True, check=False)
        self.assertEqual(answer.stdout, "too much413", answer)


for program in ("curl", "nginx"):
    if shutil.which(program) is None and shutil.which(f"/usr/sbin/{program}") is None:
        raise harness.unittest.SkipTest(f"{program} is not installed; ./dev setup installs it")

if __name__ == "__main__":
    harness.main()
