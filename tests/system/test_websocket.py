"""Limits on WebSocket messages: the shipped program, real clients, real stores.

The policy is that of a service whose queries cost an AI call each, while ping, config and interrupt
cost nothing. Twelve queries at once: ten pass, two are told to wait about five seconds.
"""

import collections
import signal
import socket
import threading

import harness
from websocket_gateway import POLICY, WebSocketTest, query
from websocket_peer import CLOSE, PING, PONG, TEXT, WebSocket, frame


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
        """Sends one message of 1 GiB through; what the upstream got, and what the gateway held
        before and at most."""
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
        return int(payload), before, most

    @harness.measures_memory
    def test_a_message_of_a_gibibyte_is_streamed(self):
        sink = Sink(self)
        weir = self.gateway(sink.port)
        path = self.folder / "weir.yaml"
        path.write_text(path.read_text().replace("message: query",
                                                 "message: query, path: /limited"))
        weir.signal(harness.signal.SIGHUP)
        weir.wait_for("is in force, generation 2")
        got, before, most = self.send_a_gib(weir, "/elsewhere")
        self.assertEqual(got, self.GIB + 14)
        self.assert_grown_at_most(16 << 10, before, most)

    @harness.measures_memory
    def test_so_is_one_that_passes_unread(self):
        sink = Sink(self)
        weir = self.gateway(sink.port, websocket="unreadable: pass")
        got, before, most = self.send_a_gib(weir, "/ws")
        self.assertGreater(got, self.GIB)
        self.assert_grown_at_most(16 << 10, before, most)

    def test_one_that_is_refused_is_not_kept_either(self):
        client = self.connect(self.gateway().listen)
        client.send_bytes(b"\x82\xff" + (64 << 20).to_bytes(8, "big") + b"\1\2\3\4" +
                          bytes(64 << 20))
        self.assertIn(b"UNREADABLE_MESSAGE", client.receive()[1])
        client.send(query(1))
        self.assertEqual(client.answers(1), [query(1)])


if __name__ == "__main__":
    harness.main()
