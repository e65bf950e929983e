"""How connections come: unix sockets, the PROXY protocol, sockets that systemd passes, bounds."""

import http.client
import os
import shutil
import socket
import stat
import subprocess
import sys
import unittest

sys.path.insert(0, __file__.rsplit("/", 1)[0])
from harness import (PATIENCE, WEIR, SystemTest, free_port, get, main,  # noqa: E402
                     signal, until)

LIMITS = """
limits:
  - { name: login, key: [ip], match: { path: /login }, algorithm: token_bucket, rate: 1/h, burst: 1 }
"""


class UnixClient(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=PATIENCE)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(PATIENCE)
        self.sock.connect(self.path)


def ask(path, target="/", headers=None):
    client = UnixClient(path)
    try:
        client.request("GET", target, headers=headers or {})
        answer = client.getresponse()
        answer.text = answer.read().decode()
        return answer
    finally:
        client.close()


class UnixSockets(SystemTest):
    def test_every_listener_has_one(self):
        port = self.demo()
        paths = {name: self.folder / f"{name}.sock" for name in
                 ("gateway", "api", "resp", "grpc", "admin")}
        process = self.serve(f"""
gateway: {{ listen: "unix://{paths['gateway']}", upstream: http://127.0.0.1:{port} }}
api: {{ listen: "unix:{paths['api']}" }}
resp: {{ listen: "unix://{paths['resp']}" }}
grpc: {{ listen: "unix://{paths['grpc']}" }}
admin: {{ listen: "unix://{paths['admin']}" }}
{LIMITS}""", "--loops", "2")
        for name, path in paths.items():
            self.assertIn(f"{name}: unix://{path}", process.output)
            self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o660)
        self.assertIn('"x-forwarded-for":"127.0.0.1"', ask(paths["gateway"], "/login").text)
        self.assertEqual(ask(paths["gateway"], "/login").status, 429)
        self.assertEqual(ask(paths["api"], "/v1/none").status, 404)
        self.assertEqual(ask(paths["admin"], "/healthz").status, 200)
        pong = subprocess.run(["redis-cli", "-s", paths["resp"], "PING"], capture_output=True,
                              text=True, timeout=PATIENCE)
        self.assertEqual(pong.stdout, "PONG\n")
        process.signal(signal.SIGTERM)
        self.assertEqual(process.wait(), 0)
        self.assertFalse(any(path.exists() for path in paths.values()), "the files go with it")

    def test_one_that_is_in_use_is_an_error_and_a_stale_one_is_replaced(self):
        path = self.folder / "api.sock"
        policy = f"limits: []\napi: {{ listen: 'unix://{path}' }}\n"
        first = self.serve(policy)
        second = self.weir("serve", "-c", self.folder / "weir.yaml")
        self.assertEqual(second.wait(), 1)
        self.assertIn(f"cannot listen on unix://{path}: the file exists", second.output)
        first.signal(signal.SIGKILL)
        first.wait()
        self.assertTrue(path.exists())
        self.serve(policy)
        self.assertEqual(ask(path, "/v1/none").status, 404)

    def test_a_file_that_is_no_socket_is_left_alone(self):
        path = self.write("precious", "data")
        self.write("weir.yaml", f"limits: []\napi: {{ listen: 'unix://{path}' }}\n")
        process = self.weir("serve", "-c", self.folder / "weir.yaml")
        self.assertEqual(process.wait(), 1)
        self.assertEqual(path.read_text(), "data")

    def test_the_upstream_is_one_and_nginx_speaks_to_one(self):
        """nginx in front, weir and nginx behind, unix sockets between them; nginx says who asks."""
        back, front = self.folder / "back.sock", self.folder / "front.sock"
        port = free_port()
        self.nginx(f"""
            server {{ listen unix:{back}; location / {{ return 200 '$host $http_x_forwarded_for\\n'; }} }}
            server {{ listen 127.0.0.1:{port};
              location / {{ proxy_pass http://unix:{front}; proxy_set_header Host $host;
                            proxy_set_header X-Forwarded-For $http_client; }} }}""")
        process = self.serve(f"""
identity: {{ trusted_proxies: [127.0.0.1/32] }}
gateway: {{ listen: 'unix://{front}', upstream: 'unix://{back}' }}
{LIMITS}""")
        self.assertIn(f"gateway: unix://{front} -> unix://{back}", process.output)
        for client in ("203.0.113.1", "203.0.113.2"):
            first = get(port, "/login", {"Client": client})
            self.assertEqual((first.status, first.text), (200, f"127.0.0.1 {client}, 127.0.0.1\n"))
            self.assertEqual(get(port, "/login", {"Client": client}).status, 429)

    def test_an_upstream_that_is_not_there_is_told(self):
        port = free_port()
        self.serve(f"limits: []\ngateway: {{ listen: 127.0.0.1:{port}, "
                   f"upstream: 'unix://{self.folder}/none.sock' }}")
        answer = get(port)
        self.assertEqual(answer.status, 502)
        self.assertIn(f"cannot connect to upstream unix://{self.folder}/none.sock: No such file",
                      answer.text)


class ProxyProtocol(SystemTest):
    def gateway(self, trusted="[127.0.0.1/32]", more=""):
        self.port, self.admin = free_port(), free_port()
        return self.serve(f"""
identity: {{ client_ip: proxy-protocol, trusted_proxies: {trusted} }}
gateway: {{ listen: 127.0.0.1:{self.port}, upstream: http://127.0.0.1:{self.demo()},
           proxy_protocol: true {more} }}
admin: {{ listen: 127.0.0.1:{self.admin} }}
{LIMITS}""")

    def speak(self, *pieces):
        """All that comes back for these bytes."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE) as client:
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            got = b""
            try:
                for piece in pieces:
                    client.sendall(piece)
                while block := client.recv(65536):
                    got += block
            except ConnectionError:
                pass
            return got.decode()

    GET = b"GET /login HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"

    def test_nginx_sends_version_1_and_the_client_is_who_it_names(self):
        self.gateway()
        front = free_port()
        folder = self.folder
        configuration = self.write("stream.conf", f"""
            load_module /usr/lib/nginx/modules/ngx_stream_module.so;
            daemon off; master_process off; worker_processes 1; pid {folder}/s.pid;
            error_log stderr warn;
            events {{ worker_connections 64; }}
            stream {{ server {{ listen 127.0.0.2:{front}; proxy_pass 127.0.0.1:{self.port};
                               proxy_protocol on; proxy_bind 127.0.0.1; }} }}""")
        if not os.path.exists("/usr/lib/nginx/modules/ngx_stream_module.so"):
            self.skipTest("nginx has no stream module: install libnginx-mod-stream")
        self.start(shutil.which("nginx") or "/usr/sbin/nginx", "-p", folder, "-c", configuration,
                   "-e", "stderr")
        until(lambda: not socket.socket().connect_ex(("127.0.0.2", front)), "nginx listens")

        def through(source):
            with socket.create_connection(("127.0.0.2", front), timeout=PATIENCE,
                                          source_address=(source, 0)) as client:
                client.sendall(self.GET)
                got = b""
                while block := client.recv(65536):
                    got += block
            return got.decode()
        for source in ("127.0.0.5", "127.0.0.6"):
            answer = through(source)
            self.assertIn(" 200 ", answer)
            self.assertIn(f'"x-forwarded-for":"{source}"', answer)
            self.assertIn(" 429 ", through(source))

    def test_both_versions_whole_and_byte_by_byte(self):
        self.gateway()
        signature = b"\r\n\r\n\0\r\nQUIT\n"
        v4 = socket.inet_aton("203.0.113.9") + socket.inet_aton("192.0.2.1") + b"\x10\x00\x01\xbb"
        v6 = (socket.inet_pton(socket.AF_INET6, "2001:db8::9")
              + socket.inet_pton(socket.AF_INET6, "2001:db8::1") + b"\x10\x00\x01\xbb")
        headers = {
            "203.0.113.7": b"PROXY TCP4 203.0.113.7 192.0.2.1 56324 443\r\n",
            "2001:db8:7::7": b"PROXY TCP6 2001:db8:7::7 2001:db8::1 56324 443\r\n",
            "203.0.113.9": signature + b"\x21\x11\x00\x0c" + v4,
            "2001:db8::9": signature + b"\x21\x21\x00\x27" + v6 + b"\x04\x00\x00",
            "127.0.0.1": signature + b"\x20\x00\x00\x00",
        }
        for client, header in headers.items():
            self.assertIn(f'"x-forwarded-for":"{client}"', self.speak(header + self.GET), client)
        for client, header in headers.items():
            pieces = [bytes([byte]) for byte in header + self.GET]
            self.assertIn(" 429 ", self.speak(*pieces), client)

    def test_headers_do_not_choose_the_client(self):
        self.gateway()
        spoof = self.GET.replace(b"Host: a", b"Host: a\r\nX-Forwarded-For: 6.6.6.6\r\n"
                                 b"X-User-Id: admin")
        answer = self.speak(b"PROXY TCP4 203.0.113.7 192.0.2.1 1 2\r\n" + spoof)
        self.assertIn('"x-forwarded-for":"203.0.113.7"', answer)
        self.assertIn(" 429 ", self.speak(b"PROXY TCP4 203.0.113.7 192.0.2.1 1 2\r\n" + spoof))

    def refused(self, reason):
        text = get(self.admin, "/metrics").text
        return f'refused_total{{listener="gateway",reason="{reason}"}}' in text

    def test_a_bad_header_closes(self):
        process = self.gateway()
        for bad in (self.GET, b"PROXY TCP4 1.2.3 1.2.3.4 1 2\r\n" + self.GET,
                    b"\r\n\r\n\0\r\nQUIT\n\x11\x11\x00\x00" + self.GET, b"PROXY " + b"x" * 200):
            self.assertEqual(self.speak(bad), "")
        self.assertTrue(self.refused("proxy_header"))
        process.wait_for("does not begin with a PROXY protocol header")
        self.assertEqual(process.output.count("does not begin with a PROXY protocol header"), 1)

    def test_who_is_no_trusted_proxy_is_closed(self):
        process = self.gateway("[192.0.2.0/24]")
        self.assertEqual(self.speak(b"PROXY TCP4 203.0.113.7 192.0.2.1 1 2\r\n" + self.GET), "")
        self.assertTrue(self.refused("untrusted_proxy"))
        process.wait_for("it is no trusted proxy (identity.trusted_proxies)")

    def test_without_the_option_the_header_is_not_http(self):
        self.port = free_port()
        self.serve(f"limits: []\ngateway: {{ listen: 127.0.0.1:{self.port}, "
                   f"upstream: http://127.0.0.1:1 }}")
        self.assertIn(" 400 ", self.speak(b"PROXY TCP4 203.0.113.7 192.0.2.1 1 2\r\n" + self.GET))

    def test_one_that_drips_is_closed_in_time(self):
        self.gateway()
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE) as client:
            client.sendall(b"PROXY TCP4")
            with self.assertRaises(ConnectionError):  # reset, since it was not read
                client.recv(1)
        self.assertTrue(self.refused("timeout"))

    def test_redis_clients_come_through_it_too(self):
        port = free_port()
        self.serve(f"identity: {{ trusted_proxies: [127.0.0.1/32] }}\nlimits: []\n"
                   f"resp: {{ listen: 127.0.0.1:{port}, proxy_protocol: true }}")
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as client:
            client.sendall(b"PROXY TCP4 203.0.113.7 192.0.2.1 1 2\r\nPING\r\n")
            self.assertEqual(client.recv(64), b"+PONG\r\n")


class Passed(SystemTest):
    @unittest.skipUnless(shutil.which("systemd-socket-activate"), "systemd is not installed")
    def test_a_socket_that_systemd_passes_is_listened_on(self):
        port, api = free_port(), free_port()
        path = self.write("weir.yaml", f"limits: []\nadmin: {{ listen: 127.0.0.1:{port} }}\n"
                          f"api: {{ listen: 127.0.0.1:{api} }}\n")
        process = self.start("systemd-socket-activate", "-l", f"127.0.0.1:{port}", WEIR, "serve",
                             "-c", path, "--loops", "2")
        process.wait_for("Listening on")
        for _ in range(8):
            self.assertEqual(get(port, "/healthz").status, 200)
        self.assertEqual(get(api, "/v1/none").status, 404, "the other one it opens itself")

    @unittest.skipUnless(shutil.which("systemd-socket-activate"), "systemd is not installed")
    def test_one_that_nobody_asks_for_is_told(self):
        port, other = free_port(), free_port()
        path = self.write("weir.yaml", f"limits: []\nadmin: {{ listen: 127.0.0.1:{port} }}\n")
        process = self.start("systemd-socket-activate", "-l", f"127.0.0.1:{other}", WEIR, "serve",
                             "-c", path)
        process.wait_for("Listening on")
        with socket.create_connection(("127.0.0.1", other), timeout=PATIENCE):
            process.wait_for(f"passed to weir that no listener asks for: 127.0.0.1:{other}")


class Notified(SystemTest):
    """What a service manager is told, through a socket with a file and through one without."""

    def told(self, address):
        manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(manager.close)
        manager.bind(address.replace("@", "\0"))
        manager.settimeout(PATIENCE)
        port = free_port()
        path = self.write("weir.yaml", f"limits: []\nadmin: {{ listen: 127.0.0.1:{port} }}\n")
        process = self.weir("serve", "-c", path, env={"NOTIFY_SOCKET": address})
        self.assertEqual(manager.recv(256), b"READY=1")
        self.assertEqual(get(port, "/healthz").status, 200)
        process.signal(signal.SIGTERM)
        self.assertEqual(manager.recv(256), b"STOPPING=1")
        self.assertEqual(process.wait(), 0)

    def test_that_weir_is_ready_and_that_it_stops(self):
        self.told(str(self.folder / "notify"))
        self.told(f"@weir-test-{os.getpid()}")

    def test_a_name_that_is_no_socket_is_left_alone(self):
        path = self.write("weir.yaml", f"limits: []\nadmin: {{ listen: 127.0.0.1:{free_port()} }}\n")
        for name in ("relative", "/" + "x" * 200, "", "/nobody/listens"):
            process = self.weir("serve", "-c", path, env={"NOTIFY_SOCKET": name})
            process.wait_until_ready()
            process.stop()


if __name__ == "__main__":
    main()
