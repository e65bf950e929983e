"""Limits on WebSocket messages: the shipped program, real clients, real stores.

The policy is that of a service whose queries cost an AI call each, while ping, config and interrupt
cost nothing. Twelve queries at once: ten pass, two are told to wait about five seconds.
"""

import collections
import http.server
import json
import os
import shutil
import signal
import socket
import subprocess
import threading
import unittest

import browser
import harness
from websocket_peer import CLOSE, PING, PONG, TEXT, WebSocket, frame

NODE_MODULES = harness.ROOT / "build" / "node" / "node_modules"

POLICY = """
store: {{ url: "{store}", timeout: 5s, instances: 1, deny_cache: 0s }}
identity: {{ trust_clients: true }}
limits:
  - name: query
    match: {{ message: query }}
    key: [user|ip]
    algorithm: token_bucket
    rate: 0.2/s
    burst: 10
    on_error: {on_error}
    tiers:
      premium: {{ rate: 1/s, burst: 30 }}
websocket: {{ {websocket} }}
gateway: {{ listen: "127.0.0.1:{listen}", upstream: "http://127.0.0.1:{upstream}" }}
admin: {{ listen: "127.0.0.1:{admin}" }}
"""


def query(number):
    return {"type": "query", "request_id": number}


class WebSocketTest(harness.SystemTest):
    def gateway(self, upstream=None, store="memory://", on_error="deny", websocket="",
                name="weir.yaml"):
        listen, admin = harness.free_port(), harness.free_port()
        weir = self.serve(POLICY.format(listen=listen, admin=admin, store=store, on_error=on_error,
                                        websocket=websocket, upstream=upstream or self.demo()),
                          name=name)
        weir.listen, weir.admin = listen, admin
        return weir

    def connect(self, port, **options):
        client = WebSocket(port, **options)
        self.addCleanup(client.close)
        return client

    def redis(self):
        port = harness.free_port()
        redis = self.start("redis-server", "--port", port, "--save", "", "--dir", self.folder,
                           "--bind", "127.0.0.1")
        redis.wait_for("Ready to accept connections")
        redis.url = f"redis://127.0.0.1:{port}/0"
        return redis

    def expect_twelve(self, answers, passed=10):
        """What comes back of queries 1 to 12 and others behind them, through an echo."""
        echoes = [a for a in answers if a == "PONG" or a["type"] != "error"]
        errors = [a for a in answers if a != "PONG" and a["type"] == "error"]
        self.assertEqual([a["request_id"] for a in echoes if "request_id" in a],
                         list(range(1, passed + 1)))
        self.assertEqual([a["request_id"] for a in errors], list(range(passed + 1, 13)))
        for error in errors:
            self.assertEqual(error["code"], "RATE_LIMITED")
            self.assertIn(error["retry_after"], (4, 5))  # this machine may have taken a second
            self.assertEqual(error["message"],
                             f"rate limited, retry after {error['retry_after']}s")
        return echoes


class Limits(WebSocketTest):
    def test_twelve_queries_at_once_and_the_rest_passes(self):
        weir = self.gateway()
        client = self.connect(weir.listen, X_User_Id="7")
        client.send(*map(query, range(1, 13)), {"type": "ping"}, {"type": "interrupt"})
        echoes = self.expect_twelve(client.answers(14))
        self.assertEqual([e["type"] for e in echoes[-2:]], ["ping", "interrupt"])
        client.send_bytes(frame(PING, b"are you there"))
        self.assertEqual(client.receive(), (PONG, b"are you there"))
        other = self.connect(weir.listen, X_User_Id="8")
        other.send(query(1))
        self.assertEqual(other.answers(1), [query(1)])
        text = harness.get(weir.admin, "/metrics").text
        self.assertIn('weir_messages_total{outcome="denied"} 2', text)
        self.assertIn('weir_decisions_total{limit="query",outcome="denied",source="memory"} 2',
                      text)

    def test_premium_gets_thirty(self):
        client = self.connect(self.gateway().listen, X_User_Id="7", X_Plan="premium")
        client.send(*map(query, range(1, 32)))
        answers = client.answers(31)
        by_type = collections.Counter(a["type"] for a in answers)
        # A second may have passed, which brings one back.
        self.assertIn(by_type["query"], (30, 31))
        self.assertEqual(by_type["query"] + by_type["error"], 31)

    def test_a_message_costs_what_it_says_up_to_a_bound_and_is_keyed_by_what_it_names(self):
        listen = harness.free_port()
        self.serve(f"""
            limits:
              - {{ name: query, match: {{ message: query }}, key: [message./room],
                   algorithm: token_bucket, rate: 1/h, burst: 10, cost: message./tokens,
                   max_cost: 6 }}
            gateway: {{ listen: "127.0.0.1:{listen}", upstream: "http://127.0.0.1:{self.demo()}" }}
            """)
        client = self.connect(listen)
        # What 100 costs is 6.
        for number, (room, tokens) in enumerate(
                [("a", 4), ("a", 100), ("a", 1), ("b", 6), ("b", 5), ("b", 4)], 1):
            client.send({**query(number), "room": room, "tokens": tokens})
        answers = client.answers(6)
        of = lambda kind: [a["request_id"] for a in answers if a["type"] == kind]
        self.assertEqual((of("query"), of("error")), ([1, 2, 4, 6], [3, 5]))

    def test_requests_on_the_same_port_are_not_counted_by_it(self):
        weir = self.gateway()
        for _ in range(12):
            self.assertEqual(harness.get(weir.listen, "/anything").status, 200)

    def test_two_gateways_and_two_connections_of_one_user_are_one_limit(self):
        redis = self.redis()
        upstream = self.demo()
        clients = []
        for name in ("one", "two"):
            weir = self.gateway(upstream, store=redis.url, name=f"{name}.yaml")
            clients.append(self.connect(weir.listen, X_User_Id="7"))
        answers = []
        for number in range(1, 13):  # in turns, each awaited
            client = clients[number % 2]
            client.send(query(number), {"type": "ping"})
            answers += client.answers(2)
        self.expect_twelve([a for a in answers if a["type"] != "ping"])
        self.assertEqual(sum(a["type"] == "ping" for a in answers), 12)

    def test_without_its_store_a_message_is_refused_or_passes_as_told(self):
        redis = self.redis()
        upstream = self.demo()
        denies = self.gateway(upstream, store=redis.url, name="denies.yaml")
        allows = self.gateway(upstream, store=redis.url, on_error="allow", name="allows.yaml")
        denied = self.connect(denies.listen, X_User_Id="7")
        allowed = self.connect(allows.listen, X_User_Id="7")
        for client in (denied, allowed):
            client.send(query(1))
            self.assertEqual(client.answers(1), [query(1)])
        redis.signal(harness.signal.SIGKILL)
        redis.wait()
        denied.send(query(2), {"type": "ping"})
        error, ping = sorted(denied.answers(2), key=lambda a: a["type"])
        self.assertEqual((error["code"], error["request_id"], error["retry_after"]),
                         ("LIMITER_UNAVAILABLE", 2, 1))
        self.assertEqual(ping, {"type": "ping"})
        allowed.send(query(2))
        self.assertEqual(allowed.answers(1), [query(2)])

    def test_a_reload_holds_for_the_next_message_of_an_open_connection(self):
        weir = self.gateway()
        client = self.connect(weir.listen, X_User_Id="7")
        client.send(query(1))
        client.answers(1)
        path = self.folder / "weir.yaml"
        path.write_text(path.read_text().replace("burst: 10", "burst: 1"))
        weir.signal(harness.signal.SIGHUP)
        weir.wait_for("is in force, generation 2")
        client.send(query(2), query(3))
        answers = sorted(client.answers(2), key=lambda a: a["request_id"])
        self.assertEqual([(a["type"], a["request_id"]) for a in answers],
                         [("query", 2), ("error", 3)])

    def test_the_connection_is_closed_after_so_many_refusals(self):
        client = self.connect(self.gateway(websocket="close_after: 2").listen, X_User_Id="7")
        client.send(*map(query, range(1, 14)))
        frames = [client.receive()]
        while frames[-1][0] not in (CLOSE, None):
            frames.append(client.receive())
        self.assertEqual(frames[-1], (CLOSE, b"\x03\xf0too many refused messages"))
        self.assertEqual(sum(b"RATE_LIMITED" in payload for _, payload in frames), 2)


class Connections(WebSocketTest):
    """New connections are requests like others."""

    def test_new_connections_are_limited_by_limits_on_requests(self):
        listen = harness.free_port()
        self.serve(f"""
            limits:
              - name: connect
                match: {{ path: /ws }}
                key: [ip]
                algorithm: token_bucket
                rate: 1/h
                burst: 2
            gateway: {{ listen: "127.0.0.1:{listen}", upstream: "http://127.0.0.1:{self.demo()}" }}
            """)
        clients = [self.connect(listen) for _ in range(3)]
        self.assertEqual([client.status for client in clients], [101, 101, 429])
        self.assertIn(b"Retry-After: ", clients[2].head)
        clients[0].send(*map(query, range(20)))
        self.assertEqual(clients[0].answers(20), list(map(query, range(20))))


    def test_open_connections_are_counted_while_they_are_open(self):
        listen = harness.free_port()
        self.serve(f"""
            identity: {{ trust_clients: true }}
            limits:
              - name: open
                match: {{ path: /ws }}
                key: [user]
                missing: deny
                algorithm: concurrency
                limit: 2
                timeout: 1h
              - {{ name: query, match: {{ message: query }}, algorithm: token_bucket, rate: 1/h,
                   burst: 1 }}
            gateway: {{ listen: "127.0.0.1:{listen}", upstream: "http://127.0.0.1:{self.demo()}" }}
            """)
        clients = [self.connect(listen, X_User_Id="7") for _ in range(3)]
        self.assertEqual([client.status for client in clients], [101, 101, 429])
        self.assertIn(b"too many requests at once", clients[2].body())
        self.assertEqual(self.connect(listen, X_User_Id="8").status, 101)
        clients[1].close()
        harness.until(lambda: self.connect(listen, X_User_Id="7").status == 101,
                      "the place of a closed connection is free")


class Stopping(WebSocketTest):
    """The drain is 30 s here; nobody who holds a WebSocket open makes the program wait for it."""

    def test_clients_are_told_1001_at_once_and_the_program_ends(self):
        weir = self.gateway()
        clients = [self.connect(weir.listen) for _ in range(3)]
        weir.signal(signal.SIGTERM)
        for client in clients:
            opcode, payload = client.receive()
            self.assertEqual((opcode, int.from_bytes(payload[:2], "big")), (CLOSE, 1001))
            client.close()
        self.assertEqual(weir.wait(), 0, weir.output)

    def test_a_client_that_stays_all_the_same_is_left(self):
        weir = self.gateway()
        self.connect(weir.listen)
        weir.signal(signal.SIGTERM)
        self.assertEqual(weir.wait(), 0, weir.output)

    def test_a_relay_has_a_short_grace(self):
        listen = harness.free_port()
        weir = self.serve(f"""
limits: []
gateway: {{ listen: 127.0.0.1:{listen}, upstream: "http://127.0.0.1:{self.demo()}" }}
""", name="relay.yaml")
        client = self.connect(listen)
        weir.signal(signal.SIGTERM)
        client.send("still passes")
        self.assertEqual(client.answers(1), ["still passes"])
        self.assertEqual(weir.wait(), 0, weir.output)


class Embedded(WebSocketTest):
    """The library in a server that holds its own WebSocket: examples/library/beast_websocket.cc."""

    def test_the_example_on_beast_obeys_the_policy(self):
        policy = self.write("policy.yaml", POLICY.format(
            listen="0", admin="0", upstream="1", store="memory://", on_error="deny",
            websocket="close_after: 3"))
        example = harness.BUILD / "examples" / "example_beast_websocket"
        server = self.start(example, policy, "0")
        port = int(server.wait_for("ws://").rsplit(":", 1)[1])
        client = self.connect(port, X_User_Id="7")
        client.send(*map(query, range(1, 13)), {"type": "ping"}, {"type": "interrupt"})
        echoes = self.expect_twelve(client.answers(14))
        self.assertEqual([e["type"] for e in echoes[-2:]], ["ping", "interrupt"])
        other = self.connect(port, X_User_Id="8")
        other.send(query(1))
        self.assertEqual(other.answers(1), [query(1)])
        second = self.connect(port, X_User_Id="7")
        second.send(*map(query, range(1, 4)))
        self.assertEqual([a["code"] for a in second.answers(3)], ["RATE_LIMITED"] * 3)
        self.assertEqual(second.receive(), (CLOSE, b"\x03\xf0too many refused messages"))


class Sink:
    """An upstream that switches to WebSocket, counts what comes, and says so at the end."""

    def __init__(self, test):
        self.listener = socket.create_server(("127.0.0.1", 0))
        test.addCleanup(self.listener.close)
        self.port = self.listener.getsockname()[1]
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        peer, _ = self.listener.accept()
        with peer:
            head = b""
            while b"\r\n\r\n" not in head:
                head += peer.recv(1)
            peer.sendall(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                         b"Connection: Upgrade\r\n\r\n")
            total = 0
            buffer = bytearray(1 << 20)
            while True:
                size = peer.recv_into(buffer)
                if size == 0:
                    break
                total += size
            peer.sendall(frame(TEXT, str(total).encode(), mask=False))


class Size(WebSocketTest):
    GIB = 1 << 30

    def send_a_gib(self, weir, path):
        """Sends one message of 1 GiB through; what the upstream got, and what the gateway took."""
        client = self.connect(weir.listen, path=path)
        self.assertEqual(client.status, 101)
        before = weir.memory_kib()
        client.send_bytes(b"\x82\xff" + self.GIB.to_bytes(8, "big") + b"\1\2\3\4")
        chunk = bytes(4 << 20)
        most = before
        for _ in range(self.GIB // len(chunk)):
            client.socket.sendall(chunk)
            most = max(most, weir.memory_kib())
        client.socket.shutdown(socket.SHUT_WR)
        _, payload = client.receive()
        return int(payload), most - before

    def test_a_message_of_a_gibibyte_is_streamed(self):
        sink = Sink(self)
        weir = self.gateway(sink.port)
        path = self.folder / "weir.yaml"
        path.write_text(path.read_text().replace("message: query",
                                                 "message: query, path: /limited"))
        weir.signal(harness.signal.SIGHUP)
        weir.wait_for("is in force, generation 2")
        got, grown = self.send_a_gib(weir, "/elsewhere")
        self.assertEqual(got, self.GIB + 14)
        self.assertLess(grown, 16 << 10, "KiB more than before")

    def test_so_is_one_that_passes_unread(self):
        sink = Sink(self)
        weir = self.gateway(sink.port, websocket="unreadable: pass")
        got, grown = self.send_a_gib(weir, "/ws")
        self.assertGreater(got, self.GIB)
        self.assertLess(grown, 16 << 10, "KiB more than before")

    def test_one_that_is_refused_is_not_kept_either(self):
        client = self.connect(self.gateway().listen)
        client.send_bytes(b"\x82\xff" + (64 << 20).to_bytes(8, "big") + b"\1\2\3\4" +
                          bytes(64 << 20))
        self.assertIn(b"UNREADABLE_MESSAGE", client.receive()[1])
        client.send(query(1))
        self.assertEqual(client.answers(1), [query(1)])


class Node:
    """npm's ws in a process of its own."""

    def __init__(self, test, port, *headers):
        environment = {**os.environ, "NODE_PATH": str(NODE_MODULES)}
        self.child = subprocess.Popen(
            ["node", harness.ROOT / "tests" / "node" / "ws.js", f"ws://127.0.0.1:{port}/ws",
             *headers], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True)
        test.addCleanup(self.stop)

    def say(self, command):
        self.child.stdin.write(json.dumps(command) + "\n")
        self.child.stdin.flush()

    def line(self):
        return self.child.stdout.readline().strip()

    def stop(self):
        self.child.kill()
        self.child.wait()
        self.child.stdin.close()
        self.child.stdout.close()


@unittest.skipUnless(shutil.which("node"), "node is not installed: ./dev setup")
@unittest.skipUnless((NODE_MODULES / "ws").exists(), "npm's ws is not installed: ./dev test")
class NpmWs(WebSocketTest):
    def test_twelve_queries_a_ping_and_an_interrupt(self):
        node = Node(self, self.gateway().listen, "X-User-Id=7")
        self.assertEqual(node.line(), "open plain")
        node.say({"send": [*map(query, range(1, 13)), "PING", {"type": "interrupt"}]})
        echoes = self.expect_twelve(json.loads(node.line()))
        self.assertIn("PONG", echoes)
        self.assertIn({"type": "interrupt"}, echoes)
        node.say({"close": 4000})
        self.assertEqual(node.line(), "closed 4000")

    def test_closed_after_refusals_with_1008(self):
        node = Node(self, self.gateway(websocket="close_after: 1").listen, "X-User-Id=7")
        self.assertEqual(node.line(), "open plain")
        node.say({"send": list(map(query, range(1, 13)))})
        self.assertEqual(node.line(), "closed 1008")

    def test_compression_is_the_upstreams_own_matter_where_nothing_is_limited(self):
        upstream = Node.__new__(Node)
        upstream.child = subprocess.Popen(
            ["node", "-e", "const {WebSocketServer} = require('ws');"
             "const server = new WebSocketServer({port: 0, host: '127.0.0.1',"
             " perMessageDeflate: true}, () => console.log(server.address().port));"
             "server.on('connection', (s) => s.on('message', (m, b) => s.send(m, {binary: b})));"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, "NODE_PATH": str(NODE_MODULES)})
        self.addCleanup(upstream.stop)
        port = int(upstream.line())
        listen = harness.free_port()
        self.serve(f"limits: []\ngateway: {{ listen: '127.0.0.1:{listen}', "
                   f"upstream: 'http://127.0.0.1:{port}' }}")
        node = Node(self, listen)
        self.assertEqual(node.line(), "open permessage-deflate")
        long = {"type": "query", "text": "compress me " * 500}
        node.say({"send": [long]})
        self.assertEqual(json.loads(node.line()), [long])
        limited = Node(self, self.gateway(port).listen)
        self.assertEqual(limited.line(), "open plain")
        limited.say({"send": [long]})
        self.assertEqual(json.loads(limited.line()), [long])


class Page(http.server.BaseHTTPRequestHandler):
    """Serves the page, and takes what it tells."""

    def do_GET(self):
        body = (harness.ROOT / "tests/system/data/websocket.html").read_bytes()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        size = int(self.headers["Content-Length"])
        self.server.told = json.loads(self.rfile.read(size))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


@unittest.skipUnless(browser.is_there(), "chromium is not installed: ./dev setup")
class Chromium(WebSocketTest):
    def test_chromium_is_told_of_refusals_and_stays_connected(self):
        weir = self.gateway()
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
            server.told = None
            threading.Thread(target=server.serve_forever, daemon=True).start()
            self.addCleanup(server.shutdown)
            page = browser.Browser(self)
            page.open(f"http://127.0.0.1:{server.server_port}/?127.0.0.1:{weir.listen}")
            told = harness.until(lambda: server.told, "the page tells")
        self.assertEqual((told["code"], told["clean"], told["extensions"]), (1000, True, ""))
        echoes = self.expect_twelve(told["answers"])
        self.assertEqual([e["type"] for e in echoes[-2:]], ["ping", "interrupt"])
        self.assertEqual(echoes[0]["text"], "how are you, 世界?")


if __name__ == "__main__":
    harness.main()
