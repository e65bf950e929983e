"""Several upstreams behind the gateway, each a real nginx: who gets what, what becomes of those that
die and come back, and what a reload keeps."""

import collections
import contextlib
import re
import socket
import threading

from certificates import Authority
from harness import (Client, SystemTest, free_port, get, main, signal, until)
from websocket_peer import WebSocket

UNLIMITED = "limits: []\n"


class Server:
    """One nginx on a port of its own, which can die and come back."""

    def __init__(self, test, body, extra=""):
        self.test, self.body, self.extra = test, body, extra
        self.port = free_port()
        self.start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def start(self):
        self.process = self.test.nginx(f"""
            keepalive_requests 1000000;
            server {{ listen 127.0.0.1:{self.port};
                      location / {{ return 200 '{self.body}'; }} {self.extra} }}""")

    def kill(self):
        self.process.signal(signal.SIGKILL)
        self.process.wait()


class Load:
    """Threads that ask again and again, each on a connection of its own, until they are stopped."""

    def __init__(self, port, threads=4):
        self.answers = collections.Counter()
        self.failures = []
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._port = port
        self._threads = [threading.Thread(target=self._run) for _ in range(threads)]
        for thread in self._threads:
            thread.start()

    def _run(self):
        client = Client(self._port)
        while not self._over.is_set():
            answer = client.get()
            with self._lock:
                if answer.status == 200:
                    self.answers[answer.text] += 1
                else:
                    self.failures.append(answer)
        client.close()

    def wait_for(self, count, *bodies):
        """Until each of these bodies has come so many times more."""
        before = dict(self.answers)
        until(lambda: all(self.answers[body] >= before.get(body, 0) + count for body in bodies),
              f"{count} more answers of each of {bodies}: {self.answers} {self.failures[:3]}")

    def stop(self):
        self._over.set()
        for thread in self._threads:
            thread.join()


class UpstreamTest(SystemTest):
    def gateway(self, settings, more="", loops=1):
        """weir in front of what `settings` say, under `gateway:`; its port."""
        self.port = free_port()
        self.admin = free_port()
        self.settings_of = lambda text: (
            f"{UNLIMITED}gateway:\n  listen: 127.0.0.1:{self.port}\n{text}\n"
            f"admin: {{ listen: 127.0.0.1:{self.admin} }}\n{more}")
        self.process = self.serve(self.settings_of(settings), "--loops", str(loops))
        return self.port

    def reload(self, settings):
        before = len(self.process.lines)
        self.write("weir.yaml", self.settings_of(settings))
        self.process.signal(signal.SIGHUP)
        self.process.wait_for("is in force", after=before)

    def client(self, port):
        client = Client(port)
        self.addCleanup(client.close)
        return client

    def load(self, threads=4):
        load = Load(self.port, threads)
        self.addCleanup(load.stop)
        return load

    def metric(self, series):
        found = re.search(re.escape(series) + r" (\S+)", get(self.admin, "/metrics").text)
        return float(found.group(1)) if found else None


class SeveralUpstreams(UpstreamTest):
    def test_requests_go_round(self):
        servers = [Server(self, body) for body in "abc"]
        port = self.gateway(f"  upstream: [{', '.join(server.url for server in servers)}]")
        client = self.client(port)
        got = [client.get().text for _ in range(9)]
        self.assertEqual(sorted(got[:3]), ["a", "b", "c"])
        self.assertEqual(got[:3] * 3, got)
        for server in servers:
            self.assertEqual(3, self.metric('weir_upstream_requests_total{'
                                            f'upstream="{server.url}",outcome="answered"}}'))
            self.assertEqual(1, self.metric(f'weir_upstream_up{{upstream="{server.url}"}}'))

    def test_one_that_dies_under_load_costs_what_was_in_flight_and_comes_back(self):
        servers = [Server(self, body) for body in "abc"]
        urls = ", ".join(server.url for server in servers)
        self.gateway(f"  upstream: {{ servers: [{urls}], eject: {{ failures: 3, base_time: 100ms }} }}",
                     loops=2)
        load = self.load()
        load.wait_for(50, "a", "b", "c")
        servers[1].kill()
        self.process.wait_for(f"upstream {servers[1].url} is out")
        load.wait_for(50, "a", "c")
        self.assertEqual(0, self.metric(f'weir_upstream_up{{upstream="{servers[1].url}"}}'))
        before = len(self.process.lines)
        servers[1].start()
        self.process.wait_for(f"upstream {servers[1].url} is back", after=before)
        load.wait_for(50, "a", "b", "c")
        load.stop()
        self.assertLessEqual(len(load.failures), 4, load.failures)
        for answer in load.failures:
            self.assertIn("UPSTREAM_CLOSED", answer.text)
        self.assertEqual(1, self.metric(f'weir_upstream_up{{upstream="{servers[1].url}"}}'))
        # An answer that was still on its way when it was put out brings it back for a moment.
        self.assertIn(self.metric(f'weir_upstream_out_total{{upstream="{servers[1].url}"}}'), (1, 2, 3))

    def test_where_all_are_out_all_are_tried(self):
        servers = [Server(self, body) for body in "ab"]
        urls = ", ".join(server.url for server in servers)
        port = self.gateway(f"  upstream: {{ servers: [{urls}], eject: {{ failures: 1, base_time: 1h }} }}")
        for server in servers:
            server.kill()
        answer = get(port)
        self.assertEqual(502, answer.status)
        self.assertIn("UPSTREAM_UNREACHABLE", answer.text)
        for server in servers:
            self.process.wait_for(f"upstream {server.url} is out")
        servers[1].start()
        self.assertEqual("b", get(port).text)

    def test_a_body_that_was_never_sent_goes_to_another_server(self):
        server = Server(self, "here", extra="location /x { return 200 here; }")
        nobody = f"http://127.0.0.1:{free_port()}"
        port = self.gateway(f"  upstream: [{nobody}, {server.url}]")
        client = self.client(port)
        for _ in range(8):
            answer = client.request("POST", "/x", body=b"x" * 100_000)
            self.assertEqual((200, "here"), (answer.status, answer.text))


CHECKED = "  upstream: {{ servers: [{urls}], check: {{ path: /well, every: 20ms, healthy_after: 2, " \
          "unhealthy_after: 2 }} }}"


class Checks(UpstreamTest):
    def test_a_check_takes_a_server_out_and_in_again(self):
        # b answers requests as before; its check fails as long as there is no file.
        (self.folder / "well").write_text("")
        extra = f"location = /well {{ root {self.folder}; }}"
        servers = [Server(self, "a", "location = /well { return 204; }"), Server(self, "b", extra)]
        port = self.gateway(CHECKED.format(urls=", ".join(server.url for server in servers)))
        client = self.client(port)
        self.assertEqual({"a", "b"}, {client.get().text for _ in range(4)})
        (self.folder / "well").unlink()
        self.process.wait_for(f"upstream {servers[1].url} is out: its checks fail: answered 404")
        self.assertEqual({"a"}, {client.get().text for _ in range(20)})
        self.assertEqual(0, self.metric(f'weir_upstream_up{{upstream="{servers[1].url}"}}'))
        before = len(self.process.lines)
        (self.folder / "well").write_text("")
        self.process.wait_for(f"upstream {servers[1].url} is back", after=before)
        self.assertEqual({"a", "b"}, {client.get().text for _ in range(4)})

    def test_a_server_that_nobody_asks_for_is_found_dead_by_its_check(self):
        server = Server(self, "a", "location = /well { return 200; }")
        port = self.gateway(CHECKED.format(urls=server.url))
        server.kill()
        self.process.wait_for(f"upstream {server.url} is out: its checks fail: cannot connect")
        self.assertEqual(502, get(port).status)  # tried all the same: there is no other
        server.start()
        self.process.wait_for(f"upstream {server.url} is back")
        self.assertEqual("a", get(port).text)

    def test_a_check_is_not_kept_busy_by_interim_answers_without_end(self):
        flood = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(flood.close)
        url = f"http://127.0.0.1:{flood.getsockname()[1]}"

        def send():
            with contextlib.suppress(OSError):  # it is hung up on
                with flood.accept()[0] as peer:
                    while True:
                        peer.sendall(b"HTTP/1.1 103 Early Hints\r\n\r\n" * 1000)

        threading.Thread(target=send, daemon=True).start()
        self.gateway(f"  upstream: {{ servers: [{url}], check: {{ path: /, timeout: 1m, "
                     "unhealthy_after: 1 } }")
        self.process.wait_for(f"upstream {url} is out: its checks fail: sends interim responses")

    def test_a_reload_begins_and_ends_checks(self):
        server = Server(self, "a", "location = /well { return 200; }")
        other = Server(self, "b", "location = /well { return 503; }")
        port = self.gateway(f"  upstream: [{server.url}, {other.url}]")
        self.reload(CHECKED.format(urls=f"{server.url}, {other.url}"))
        self.process.wait_for(f"upstream {other.url} is out: its checks fail: answered 503")
        client = self.client(port)
        self.assertEqual({"a"}, {client.get().text for _ in range(10)})
        self.reload(f"  upstream: [{server.url}, {other.url}]")
        self.assertEqual({"a", "b"}, {client.get().text for _ in range(10)})

    def test_checks_speak_tls_to_an_upstream_and_verify_it(self):
        authority = Authority(self.folder)
        cert, key = authority.sign("server", hosts=["DNS:localhost"])
        port = free_port()
        self.nginx(f"""server {{ listen 127.0.0.1:{port} ssl; ssl_certificate {cert};
                       ssl_certificate_key {key};
                       location = /well {{ return 200; }} location / {{ return 200 tls; }} }}""")
        nobody = f"https://127.0.0.1:{port}"  # the same server by a name that its certificate lacks
        gateway = self.gateway(CHECKED.format(urls=f"https://localhost:{port}, {nobody}") +
                               f"\n  upstream_tls: {{ ca: {authority.ca} }}")
        self.process.wait_for(f"upstream {nobody} is out: its checks fail: cannot connect: TLS")
        client = self.client(gateway)
        self.assertEqual({"tls"}, {client.get().text for _ in range(6)})


class Routes(UpstreamTest):
    def setUp(self):
        super().setUp()
        self.api, self.shop, self.rest = (Server(self, body) for body in ("api", "shop", "rest"))
        self.routes = f"""
  routes:
    - {{ host: [api.example.org, "*.api.example.org"], upstream: {self.api.url} }}
    - {{ path: /shop/**, upstream: [{self.shop.url}] }}
    - {{ host: example.org, path: /both, upstream: {self.api.url} }}
"""

    def test_the_first_that_matches_by_host_and_path_is_taken(self):
        port = self.gateway(self.routes + f"  upstream: {self.rest.url}")
        for host, path, wanted in [
                ("api.example.org", "/", "api"), ("API.example.org.:8080", "/shop/1", "api"),
                ("eu.api.example.org", "/x", "api"), ("example.org", "/shop/1", "shop"),
                ("example.org", "/shop", "shop"), ("example.org", "//x/../shop/1?a=b", "shop"),
                ("example.org", "/shop%2F1", "shop"), ("example.org", "/shopping", "rest"),
                ("example.org", "/both", "api"), ("example.com", "/both", "rest"),
                ("example.org", "/", "rest")]:
            self.assertEqual(wanted, get(port, path, {"Host": host}).text, (host, path))

    def test_explain_says_where_a_request_goes(self):
        path = self.write("explained.yaml", f"limits: []\ngateway:\n  listen: 127.0.0.1:1{self.routes}")
        for request, wanted in [("/shop/1", f"goes to {self.shop.url} by route 2"),
                                ("/both host=example.org", f"goes to {self.api.url} by route 3"),
                                ("/x", "goes nowhere: 404, since it takes no route")]:
            explained = self.weir("validate", path, "--explain", request)
            self.assertEqual(0, explained.wait(), explained.output)
            self.assertIn(wanted, explained.lines)

    def test_without_a_default_what_no_route_takes_is_404_and_was_counted(self):
        port = self.gateway(self.routes, more="")
        self.assertEqual("shop", get(port, "/shop/").text)
        answer = get(port, "/elsewhere")
        self.assertEqual(404, answer.status)
        self.assertIn('"code":"NO_ROUTE"', answer.text)
        self.assertEqual(1, self.metric('weir_requests_total{listener="gateway",outcome="error"}'))
        client = self.client(port)  # the connection goes on
        self.assertEqual(404, client.request("POST", "/elsewhere", body=b"x").status)
        self.assertEqual("shop", client.get("/shop/a").text)

    def test_limits_hold_whatever_route_is_taken(self):
        port = free_port()
        self.serve(f"""
limits: [{{ name: all, algorithm: token_bucket, rate: 1/h, burst: 2 }}]
gateway:
  listen: 127.0.0.1:{port}{self.routes}""")
        self.assertEqual(200, get(port, "/shop/1").status)
        answer = get(port, "/scan")
        self.assertEqual((404, "0"), (answer.status, answer.headers["X-RateLimit-Remaining"]))
        self.assertEqual(429, get(port, "/shop/1").status)

    def test_a_websocket_takes_its_route(self):
        port = self.gateway(f"  routes: [{{ path: /ws, upstream: http://127.0.0.1:{self.demo()} }}]\n"
                            f"  upstream: {self.rest.url}")
        peer = WebSocket(port)
        self.addCleanup(peer.close)
        self.assertEqual(101, peer.status)
        peer.send({"a": 1})
        self.assertEqual([{"a": 1}], peer.answers(1))
        self.assertEqual("rest", get(port, "/other").text)


class Reloads(UpstreamTest):
    def test_a_reload_under_load_loses_nothing_and_keeps_connections_of_who_stays(self):
        stays = Server(self, "$connection")
        comes = Server(self, "new")
        goes = Server(self, "old")
        self.gateway(f"  upstream: [{stays.url}, {goes.url}]")
        client = self.client(self.port)
        before = {client.get().text for _ in range(2)} - {"old"}
        load = self.load(threads=2)
        for i in range(10):
            seen = sum(load.answers.values())
            self.reload(f"  upstream: [{stays.url}, {comes.url if i % 2 == 0 else goes.url}]")
            until(lambda: sum(load.answers.values()) >= seen + 20, "the load goes on")
        load.stop()
        self.assertEqual([], load.failures)
        self.assertGreater(load.answers["new"], 0)
        # Two clients at most ask at a time, and a third before them: so many connections were made.
        connections = set(load.answers) - {"new", "old"} | before
        self.assertLessEqual(len(connections), 3, connections)


if __name__ == "__main__":
    main()
