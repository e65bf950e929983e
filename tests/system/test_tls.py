"""TLS on every listener and to the upstream, with peers that we did not write: curl, openssl,
Python's ssl, redis-cli, grpc-js, nginx."""

import http.client
import os
import pathlib
import re
import shutil
import socket
import ssl
import subprocess
import sys
import unittest

sys.path.insert(0, __file__.rsplit("/", 1)[0])
from certificates import Authority, openssl  # noqa: E402
from harness import (PATIENCE, ROOT, SystemTest, free_port, get, is_open,  # noqa: E402
                     main, measures_memory, signal, until)
from redis_peer import Redis  # noqa: E402

NODE_MODULES = ROOT / "build" / "node" / "node_modules"
LIMITS = """
limits:
  - { name: login, key: [ip], match: { path: /login }, algorithm: token_bucket, rate: 1/h, burst: 1 }
"""


def unread(port):
    """How many bytes wait to be read on connections to the port."""
    bytes_waiting = 0
    for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]:
        _, local, _, state, queues = line.split()[:5]
        if state == "01" and int(local.split(":")[1], 16) == port:
            bytes_waiting += int(queues.split(":")[1], 16)
    return bytes_waiting


class TlsTest(SystemTest):
    def setUp(self):
        super().setUp()
        self.authority = Authority(self.folder)
        self.cert, self.key = self.authority.sign("server")
        self.tls = f"tls: {{ cert: {self.cert}, key: {self.key} }}"
        self.port = free_port()

    def context(self, client=None, protocols=()):
        context = ssl.create_default_context(cafile=str(self.authority.ca))
        if client:
            context.load_cert_chain(*[str(path) for path in client])
        if protocols:
            context.set_alpn_protocols(protocols)
        return context

    def connect(self, port=None, name="localhost", **options):
        raw = socket.create_connection(("127.0.0.1", port or self.port), timeout=PATIENCE)
        self.addCleanup(raw.close)
        tls = self.context(**options).wrap_socket(raw, server_hostname=name)
        self.addCleanup(tls.close)
        return tls

    def https(self, path="/", port=None, **options):
        client = http.client.HTTPSConnection("localhost", port or self.port, timeout=PATIENCE,
                                             context=self.context(**options))
        self.addCleanup(client.close)
        client.request("GET", path)
        return client.getresponse()

    def gateway(self, tls=None, upstream=None):
        upstream = upstream or f"http://127.0.0.1:{self.demo()}"
        return self.serve(f"gateway: {{ listen: 127.0.0.1:{self.port}, upstream: {upstream}, "
                          f"{tls or self.tls} }}\n{LIMITS}")

    def curl(self, *arguments):
        done = subprocess.run(["curl", "-sS", "--cacert", self.authority.ca, "--max-time",
                               str(PATIENCE), *[str(a) for a in arguments]],
                              capture_output=True, text=True)
        return done.stdout + done.stderr


class Gateway(TlsTest):
    def test_curl_is_served_limited_and_the_upstream_hears_of_https(self):
        process = self.gateway()
        self.assertIn(f"gateway: https://127.0.0.1:{self.port} ->", process.output)
        url = f"https://localhost:{self.port}"
        answer = self.curl("-w", "\n%{http_version} %{ssl_verify_result}", f"{url}/login")
        self.assertIn('"x-forwarded-proto":"https"', answer)
        self.assertTrue(answer.endswith("1.1 0"), answer)
        self.assertIn("RATE_LIMITED", self.curl(f"{url}/login"))
        self.assertNotIn('"method"', self.curl("--tls-max", "1.1", url))
        plain = self.curl(f"http://localhost:{self.port}/")
        self.assertNotIn("200", plain)

    def test_old_versions_and_other_protocols_are_refused(self):
        self.gateway()
        for version in ("-tls1", "-tls1_1"):
            done = subprocess.run(["openssl", "s_client", version, "-cipher", "ALL:@SECLEVEL=0",
                                   "-connect", f"127.0.0.1:{self.port}"], stdin=subprocess.DEVNULL,
                                  capture_output=True, text=True, timeout=PATIENCE)
            self.assertNotEqual(done.returncode, 0, done.stdout)
        with self.assertRaises(ssl.SSLError):
            self.connect(protocols=["h2"])
        self.assertEqual(self.connect(protocols=["h2", "http/1.1"]).selected_alpn_protocol(),
                         "http/1.1")
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            context = self.context()
            context.minimum_version = context.maximum_version = version
            with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE) as raw:
                with context.wrap_socket(raw, server_hostname="localhost") as tls:
                    tls.sendall(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
                    got = b""
                    while block := tls.recv(65536):
                        got += block
        self.assertIn(b"HTTP/1.1 200", got)

    def test_large_bodies_pass_both_ways(self):
        first = self.gateway()
        body = os.urandom(1_000_000)
        client = http.client.HTTPSConnection("localhost", self.port, timeout=PATIENCE,
                                             context=self.context())
        client.request("POST", "/", body=body)
        self.assertIn(f'"body_size":{len(body)}', client.getresponse().read().decode())
        client.close()
        big = self.folder / "big"
        big.write_bytes(body)
        upstream = self.upstream(f"root {self.folder}; default_type text/plain;")
        first.stop()  # it would follow the file that the next one is given
        self.gateway(upstream=f"http://127.0.0.1:{upstream}")
        self.assertEqual(self.https("/big").read(), body)

    def test_the_end_of_a_connection_is_said_in_tls(self):
        """Without the closing alert Python would raise, as for a response that was cut short."""
        self.gateway()
        tls = self.connect()
        tls.sendall(b"GET / HTTP/1.0\r\n\r\n")
        got = b""
        while block := tls.recv(65536):
            got += block
        self.assertIn(b"HTTP/1.1 200", got)
        tls.unwrap()

    def test_websocket_messages_pass(self):
        self.gateway()
        tls = self.connect()
        tls.sendall(b"GET /ws HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
                    b"\r\n")
        got = b""
        while b"\r\n\r\n" not in got:
            got += tls.recv(4096)
        self.assertIn(b" 101 ", got)
        tls.sendall(b"\x81\x82\x00\x00\x00\x00hi")
        frame = got.split(b"\r\n\r\n", 1)[1]
        while len(frame) < 4:
            frame += tls.recv(4096)
        self.assertEqual(frame, b"\x81\x02hi")

    def test_a_client_that_names_a_host_gets_its_certificate(self):
        other, other_key = self.authority.sign("other", ["DNS:*.example.org"])
        self.gateway(f"tls: {{ cert: {self.cert}, key: {self.key}, "
                     f"certificates: [{{ cert: {other}, key: {other_key} }}] }}")
        for name, wanted in (("localhost", "localhost"), ("api.example.org", "*.example.org")):
            names = self.connect(name=name).getpeercert()["subjectAltName"]
            self.assertIn(("DNS", wanted), names)
        shown = openssl("s_client", "-noservername", "-connect", f"127.0.0.1:{self.port}",
                        stdin=subprocess.DEVNULL)
        self.assertIn("CN = server", shown)

    def test_certificates_that_change_are_used_without_a_restart(self):
        process = self.gateway()
        before = self.connect()
        old = before.getpeercert()["serialNumber"]
        self.authority.sign("server")
        process.wait_for("the certificates have changed and are in force")
        self.assertNotEqual(self.connect().getpeercert()["serialNumber"], old)
        before.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        self.assertIn(b" 200 ", before.recv(65536), "an open connection goes on")

        before = self.connect().getpeercert()["serialNumber"]
        self.key.write_text("no key\n")
        process.wait_for("are not used: gateway: cannot use")
        self.assertEqual(self.connect().getpeercert()["serialNumber"], before)
        at = len(process.lines)
        process.signal(signal.SIGHUP)
        process.wait_for("reload refused: gateway: cannot use", after=at)

    def test_a_certificate_that_cannot_be_used_is_told_at_the_start(self):
        other, _ = self.authority.sign("other")
        for cert, key, why in ((self.folder / "none.pem", self.key, "No such file"),
                               (other, self.key, f"{self.key} is not the key of {other}"),
                               (self.key, self.key, "cannot use")):
            path = self.write("bad.yaml", f"limits: []\ngateway: {{ listen: 127.0.0.1:{self.port}, "
                              f"upstream: http://127.0.0.1:1, tls: {{ cert: {cert}, key: {key} }} }}")
            process = self.weir("serve", "-c", path)
            self.assertEqual(process.wait(), 2, process.output)
            self.assertIn(why, process.output)

    def test_handshakes_have_a_deadline_and_a_bound(self):
        """More connections that say nothing than may begin at a time: the oldest go, and who does
        answer is served."""
        admin = free_port()
        self.serve(f"gateway: {{ listen: 127.0.0.1:{self.port}, upstream: "
                   f"http://127.0.0.1:{self.demo()}, {self.tls} }}\n"
                   f"admin: {{ listen: 127.0.0.1:{admin} }}\n{LIMITS}", "--loops", "1")
        silent = []
        self.addCleanup(lambda: [one.close() for one in silent])
        for _ in range(1100):
            silent.append(socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE))
        self.assertEqual(self.https().status, 200)
        self.assertEqual(silent[0].recv(1), b"", "the oldest was closed")

        def refused(reason):
            found = re.search(r'weir_connections_refused_total\{listener="gateway",reason="'
                              + reason + r'"\} (\d+)', get(admin, "/metrics").text)
            return int(found.group(1)) if found else 0
        self.assertGreaterEqual(refused("flood"), 1100 - 1024)
        self.assertEqual(silent[-1].recv(1), b"", "the last is closed once its time is up")
        until(lambda: refused("timeout") >= 1000, "the rest is counted")
        self.assertEqual(self.https().status, 200)

    @measures_memory
    def test_handshakes_that_are_begun_and_left_hold_nobody_up_and_no_memory(self):
        """Each sends a real hello, so that the server signs for it, and never goes on."""
        process = self.serve(f"gateway: {{ listen: 127.0.0.1:{self.port}, {self.tls}, upstream: "
                             f"http://127.0.0.1:{self.demo()} }}\n{LIMITS}", "--loops", "1")
        begun, context = [], ssl.create_default_context(cafile=self.authority.ca)
        self.addCleanup(lambda: [one.close() for one in begun])
        before = process.memory_kib()
        for number in range(1200):
            incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
            with self.assertRaises(ssl.SSLWantReadError):
                context.wrap_bio(incoming, outgoing, server_hostname="localhost").do_handshake()
            begun.append(socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE))
            begun[-1].sendall(outgoing.read())
            if number % 400 == 0:
                self.assertEqual(self.https().status, 200)
        self.assertNotEqual(begun[-1].recv(1), b"", "the hello is answered")
        self.assert_grown_at_most(1024 * 96, before, process.memory_kib(), "96 KiB for each")


class ClientCertificates(TlsTest):
    def setUp(self):
        super().setUp()
        self.client = self.authority.sign("client", ["DNS:client"])
        self.mtls = (f"tls: {{ cert: {self.cert}, key: {self.key}, "
                     f"client_ca: {self.authority.ca} }}")

    def refused(self, port, **options):
        """A client whose certificate is not accepted hears of it on its first read, at last."""
        try:
            tls = self.connect(port, **options)
            tls.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            self.assertEqual(tls.recv(1), b"")
        except (ssl.SSLError, ConnectionError):
            pass

    def test_every_http_listener_asks_for_them(self):
        api, admin = free_port(), free_port()
        self.serve(f"""
gateway: {{ listen: 127.0.0.1:{self.port}, upstream: http://127.0.0.1:{self.demo()}, {self.mtls} }}
api: {{ listen: 127.0.0.1:{api}, {self.mtls} }}
admin: {{ listen: 127.0.0.1:{admin}, {self.mtls} }}
{LIMITS}""")
        stranger = Authority(self.folder, "stranger").sign("strange", ["DNS:strange"])
        for port, path, status in ((self.port, "/", 200), (api, "/v1/none", 404),
                                   (admin, "/healthz", 200)):
            self.assertEqual(self.https(path, port, client=self.client).status, status)
            self.refused(port)
            self.refused(port, client=stranger)

    def test_a_policy_that_is_refused_leaves_every_listener_as_strict_as_it_was(self):
        api, admin = free_port(), free_port()

        def policy(api_tls, admin_tls, log):
            return (f"gateway: {{ listen: 127.0.0.1:{self.port}, upstream: http://127.0.0.1:1, "
                    f"access_log: {{ file: {log} }} }}\n"
                    f"api: {{ listen: 127.0.0.1:{api}, {api_tls} }}\n"
                    f"admin: {{ listen: 127.0.0.1:{admin}, {admin_tls} }}\n{LIMITS}")
        log, empty = self.folder / "log", self.write("empty.pem", "")
        process = self.serve(policy(self.mtls, self.tls, log))
        for admin_tls, file, why in ((f"tls: {{ cert: {empty}, key: {self.key} }}", log, "admin: cannot use"),
                                     (self.tls, self.folder / "none" / "log", "access_log: ")):
            at = len(process.lines)
            self.write("weir.yaml", policy(self.tls, admin_tls, file))
            process.wait_for("stays in force", after=at)
            self.assertIn(why, process.output)
            self.refused(api)
            self.assertEqual(self.https("/v1/none", api, client=self.client).status, 404)

    def test_they_stand_in_for_a_token_in_the_warnings(self):
        for tls, warned in ((self.tls, True), (self.mtls, False)):
            path = self.write("w.yaml", "limits: []\n" + "".join(
                f"{name}: {{ listen: 0.0.0.0:{port}, {tls} }}\n"
                for name, port in (("api", 8081), ("grpc", 8082), ("resp", 6380))))
            out = self.weir("validate", path)
            self.assertEqual(out.wait(), 0, out.output)
            for section in ("api", "grpc", "resp"):
                self.assertEqual(f"{section} listens on 0.0.0.0" in out.output, warned, out.output)


class InPieces(TlsTest):
    """A client that decides itself which records come in one segment."""

    def begin_to_shake_hands(self, **options):
        raw = socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)
        self.addCleanup(raw.close)
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.raw, self.came, self.goes = raw, ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = self.context(**options).wrap_bio(self.came, self.goes,
                                                    server_hostname="localhost")
        self.assertRaises(ssl.SSLWantReadError, self.tls.do_handshake)
        self.send()
        self.came.write(raw.recv(65536))

    def finish_shaking_hands(self):
        while True:
            try:
                return self.tls.do_handshake()
            except ssl.SSLWantReadError:
                self.send()
                self.came.write(self.raw.recv(65536))

    def shake_hands(self):
        self.begin_to_shake_hands()
        self.finish_shaking_hands()
        self.send()

    def send(self, *records):
        for record in records:
            self.tls.write(record)
        self.raw.sendall(self.goes.read())

    def read_until(self, done):
        text = b""
        while not done(text):
            try:
                part = self.tls.read(65536)
                self.assertTrue(part, f"ended after {text}")
                text += part
            except ssl.SSLWantReadError:
                came = self.raw.recv(65536)
                self.assertTrue(came, f"closed after {text}")
                self.came.write(came)
        return text

    def test_a_request_that_comes_while_one_waits_and_one_is_read_ahead_is_answered(self):
        redis = Redis(self)
        self.serve(f"""
store: {{ url: {redis.url}, timeout: 60s }}
api: {{ listen: 127.0.0.1:{self.port}, {self.tls} }}
limits:
  - {{ name: all, algorithm: token_bucket, rate: 1/h, burst: 10 }}
""")
        body = b'{"attributes":{}}'
        ask = b"POST /v1/check HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%b" % (
            len(body), body)
        self.shake_hands()
        self.send(ask)
        self.read_until(lambda text: b'"remaining":9' in text)
        redis.process.signal(signal.SIGSTOP)
        self.send(ask, ask)
        until(lambda: unread(redis.port), "Redis is asked")
        self.send(ask)
        until(lambda: unread(self.port), "the last request is with weir")
        redis.process.signal(signal.SIGCONT)
        self.read_until(lambda text: b'"remaining":6' in text)

    def answer_of_a_handshake_that_a_drain_finds_half_way(self, listener, question, end, **options):
        program = self.serve(f"{listener}: {{ listen: 127.0.0.1:{self.port}, "
                             f"tls: {{ cert: {self.cert}, key: {self.key} }} }}\n{LIMITS}")
        self.begin_to_shake_hands(**options)
        program.signal(signal.SIGTERM)
        until(lambda: not is_open(self.port), "the drain has begun")
        self.finish_shaking_hands()
        self.send(question)
        answer = self.read_until(lambda text: end in text)
        self.raw.close()
        self.assertEqual(program.wait(), 0)
        return answer

    def test_what_is_asked_behind_a_handshake_that_a_drain_finds_half_way_is_answered(self):
        half_way = self.answer_of_a_handshake_that_a_drain_finds_half_way
        half_way("resp", b"PING\r\n", b"+PONG\r\n")
        half_way("api", b"GET /v1/none HTTP/1.1\r\nHost: a\r\n\r\n", b"\r\nConnection: close\r\n")

    def test_a_call_behind_a_handshake_that_a_drain_finds_half_way_is_answered(self):
        def frame(kind, flags, stream, payload):
            return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(
                4, "big") + payload

        def literal(name, value):
            return bytes([0, len(name)]) + name + bytes([len(value)]) + value

        head = (literal(b":method", b"POST") + literal(b":scheme", b"https") +
                literal(b":path", b"/grpc.health.v1.Health/Check") +
                literal(b":authority", b"localhost") + literal(b"te", b"trailers") +
                literal(b"content-type", b"application/grpc"))
        call = (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0, b"") +
                frame(1, 4, 1, head) + frame(0, 1, 1, bytes(5)))
        goodbye = frame(7, 0, 0, (2**31 - 1).to_bytes(4, "big") + bytes(4))
        trailers = bytes([1, 5, 0, 0, 0, 1])
        answer = self.answer_of_a_handshake_that_a_drain_finds_half_way(
            "grpc", call, trailers, protocols=["h2"])
        self.assertIn(goodbye, answer)


class Resp(TlsTest):
    def test_redis_cli_over_tls_and_with_a_certificate(self):
        client = self.authority.sign("client", ["DNS:client"])
        process = self.serve(f"""
resp: {{ listen: 127.0.0.1:{self.port}, tls: {{ cert: {self.cert}, key: {self.key},
         client_ca: {self.authority.ca} }} }}
{LIMITS}""")
        self.assertIn(f"resp: rediss://127.0.0.1:{self.port}", process.output)

        def cli(*arguments):
            return subprocess.run(["redis-cli", "-p", str(self.port), "--tls", "--cacert",
                                   self.authority.ca, *arguments], capture_output=True, text=True,
                                  timeout=PATIENCE)
        mine = ["--cert", str(client[0]), "--key", str(client[1])]
        self.assertEqual(cli(*mine, "CL.THROTTLE", "k", "4", "10", "60").stdout.split(),
                         ["0", "5", "4", "-1", "6"])
        self.assertNotIn("PONG", cli("PING").stdout)
        big = "x" * 60000
        self.assertEqual(cli(*mine, "ECHO", big).stdout.strip(), big)


class Grpc(TlsTest):
    @unittest.skipUnless(NODE_MODULES.exists(), "the npm packages are not installed: ./dev test")
    def test_grpc_js_over_tls_and_with_a_certificate(self):
        client = self.authority.sign("client", ["DNS:client"])
        for ca, extra in (("", []), (f", client_ca: {self.authority.ca}", client)):
            port = free_port()
            self.serve(f"""
grpc: {{ listen: 127.0.0.1:{port}, tls: {{ cert: {self.cert}, key: {self.key}{ca} }} }}
limits:
  - {{ name: login, key: [user], algorithm: token_bucket, rate: 1/h, burst: 2 }}
""", name=f"grpc-{port}.yaml")
            done = subprocess.run(["node", ROOT / "tests" / "node" / "grpc.js", str(port),
                                   self.authority.ca, *extra], capture_output=True, text=True,
                                  timeout=6 * PATIENCE,
                                  env={**os.environ, "NODE_PATH": str(NODE_MODULES)})
            self.assertIn("grpc-js ok", done.stdout, done.stderr)

    @unittest.skipUnless(shutil.which("h2load"), "h2load (nghttp2-client) is not installed")
    def test_h2load_sees_no_failure_over_tls(self):
        self.serve(f"grpc: {{ listen: 127.0.0.1:{self.port}, {self.tls} }}\n{LIMITS}")
        payload = self.folder / "payload"
        message = b"\x0a\x01d\x12\x0d\x0a\x0b\x0a\x04user\x12\x03bob"
        payload.write_bytes(b"\0" + len(message).to_bytes(4, "big") + message)
        done = subprocess.run(["h2load", "-n", "5000", "-c", "4", "-m", "64", "-d", payload, "-H",
                               "content-type: application/grpc", "-H", "te: trailers",
                               f"https://127.0.0.1:{self.port}"
                               "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit"],
                              capture_output=True, text=True, timeout=6 * PATIENCE)
        self.assertIn("5000 succeeded, 0 failed", done.stdout, done.stderr)


class Upstream(TlsTest):
    """nginx serves TLS behind the gateway."""

    def nginx_tls(self, cert, key, more=""):
        port = free_port()
        self.nginx(f"server {{ listen 127.0.0.1:{port} ssl; ssl_certificate {cert}; "
                   f"ssl_certificate_key {key}; {more} "
                   "location / { return 200 '$ssl_protocol $ssl_client_verify $host\\n'; } "
                   f"location /big {{ root {self.folder}; }} }}")
        return port

    def through(self, upstream, tls="", path="/"):
        port = free_port()
        self.serve(f"limits: []\ngateway: {{ listen: 127.0.0.1:{port}, upstream: {upstream}, "
                   f"upstream_tls: {{ {tls} }} }}", name=f"gateway-{port}.yaml")
        return get(port, path)

    def test_it_is_verified_by_authority_and_name(self):
        ca = f"ca: {self.authority.ca}"
        port = self.nginx_tls(self.cert, self.key)
        answer = self.through(f"https://localhost:{port}", ca)
        self.assertEqual(answer.status, 200, answer)
        self.assertRegex(answer.text, r"^TLSv1.[23] NONE")
        self.assertEqual(self.through(f"https://127.0.0.1:{port}", ca).status, 200)

        unknown = self.through(f"https://localhost:{port}")
        self.assertEqual(unknown.status, 502)
        self.assertIn("UPSTREAM_UNREACHABLE", unknown.text)
        self.assertIn("its certificate is not accepted: unable to get local issuer certificate",
                      unknown.text)
        other = self.nginx_tls(*self.authority.sign("other", ["DNS:other.example.org"]))
        self.assertIn("hostname mismatch", self.through(f"https://localhost:{other}", ca).text)
        named = self.through(f"https://localhost:{other}", f"{ca}, server_name: other.example.org")
        self.assertEqual(named.status, 200, named)
        plain = self.upstream()
        self.assertIn("TLS:", self.through(f"https://localhost:{plain}", ca).text)

    def test_the_gateway_shows_its_certificate(self):
        client, key = self.authority.sign("gateway", ["DNS:gateway"])
        port = self.nginx_tls(self.cert, self.key, f"ssl_client_certificate {self.authority.ca}; "
                              "ssl_verify_client optional;")
        mine = f"ca: {self.authority.ca}, cert: {client}, key: {key}"
        self.assertIn("SUCCESS", self.through(f"https://localhost:{port}", mine).text)
        self.assertIn("NONE", self.through(f"https://localhost:{port}",
                                           f"ca: {self.authority.ca}").text)

    def test_large_responses_pass_and_connections_are_used_again(self):
        (self.folder / "big").write_bytes(os.urandom(5 << 20))
        port = self.nginx_tls(self.cert, self.key)
        answer = self.through(f"https://localhost:{port}", f"ca: {self.authority.ca}", "/big")
        self.assertEqual(answer.body, (self.folder / "big").read_bytes())

    def test_a_body_that_ends_without_the_closing_alert_was_cut_short(self):
        """An upstream that just closes its socket may not have said everything."""
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(str(self.cert), str(self.key))
        gateway = free_port()
        self.serve(f"limits: []\ngateway: {{ listen: 127.0.0.1:{gateway}, upstream: "
                   f"https://localhost:{listener.getsockname()[1]}, "
                   f"upstream_tls: {{ ca: {self.authority.ca} }} }}")
        client = socket.create_connection(("127.0.0.1", gateway), timeout=PATIENCE)
        self.addCleanup(client.close)
        client.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        raw, _ = listener.accept()
        tls = context.wrap_socket(raw, server_side=True)
        tls.recv(4096)
        tls.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhalf")
        got = b""
        while b"half" not in got:
            got += client.recv(4096)
        os.close(tls.detach())
        with self.assertRaises(ConnectionError):
            while client.recv(4096):
                pass


if __name__ == "__main__":
    main()
