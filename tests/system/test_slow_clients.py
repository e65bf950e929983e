"""Clients that do not read, and clients that send a byte now and then: they hold their connection and
no more, at the check API, RESP and gRPC alike."""

import json
import socket
import sys

sys.path.insert(0, __file__.rsplit("/", 1)[0])
from harness import PATIENCE, Client, SystemTest, free_port, main, measures_memory  # noqa: E402

BODY = b'{"attributes":{"user":"ada"}}'
CHECK = b"POST /v1/check HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n" % len(BODY) + BODY
TAKE = b"*4\r\n$9\r\nWEIR.TAKE\r\n$5\r\nloose\r\n$1\r\n1\r\n$3\r\nada\r\n"
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\x04\0\0\0\0\0"
CONNECTIONS = 16  # to each door
MOST_SENT = 16 << 20  # by one that nobody stops
MOST_GROWN = 64 << 10  # KiB, by all of them together


def call(stream):
    """HTTP/2 frames of a call of ShouldRateLimit: literal header fields without an index, and data."""
    def field(name, value):
        return b"\x10" + bytes([len(name)]) + name + bytes([len(value)]) + value
    block = (field(b":method", b"POST") + field(b":scheme", b"http") + field(b":authority", b"h") +
             field(b":path", b"/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit") +
             field(b"content-type", b"application/grpc"))
    message = b"\x0a\x01d\x12\x0d\x0a\x0b\x0a\x04user\x12\x03ada"
    data = b"\0" + len(message).to_bytes(4, "big") + message
    frame = lambda kind, flags, body: (len(body).to_bytes(3, "big") + bytes([kind, flags]) +  # noqa: E731
                                       stream.to_bytes(4, "big") + body)
    return frame(1, 4, block) + frame(0, 1, data)


class SlowClients(SystemTest):
    def setUp(self):
        super().setUp()
        self.ports = {name: free_port() for name in ("api", "resp", "grpc")}
        listeners = "".join(f"{name}: {{ listen: 127.0.0.1:{port} }}\n"
                            for name, port in self.ports.items())
        self.process = self.serve(listeners + """
limits:
  - { name: loose, key: [user], algorithm: token_bucket, rate: 1000000000/s, burst: 1000000000 }
""")

    def connect(self, name):
        raw = socket.create_connection(("127.0.0.1", self.ports[name]), timeout=PATIENCE)
        self.addCleanup(raw.close)
        return raw

    def check_others(self):
        """What other clients ask is answered, at every door."""
        client = Client(self.ports["api"])
        answer = client.request("POST", "/v1/check", body=BODY)
        client.close()
        self.assertEqual(answer.status, 200, answer)
        self.assertTrue(json.loads(answer.text)["allowed"])
        resp = self.connect("resp")
        resp.sendall(TAKE)
        self.assertEqual(resp.recv(4), b"*7\r\n")
        grpc = self.connect("grpc")
        grpc.sendall(PREFACE + call(1))
        told = b""
        while b"loose" not in told:
            more = grpc.recv(65536)
            self.assertTrue(more, f"closed: {told!r}")
            told += more

    def stuff(self, raw, data):
        """Sends as much as the peer takes, without reading; how much that was."""
        sent = 0
        raw.setblocking(False)
        while sent < MOST_SENT:
            try:
                sent += raw.send(data[sent % len(data):])
            except (BlockingIOError, ConnectionError):
                break
        return sent

    @measures_memory
    def test_clients_that_never_read_are_not_read_from_and_hold_no_memory(self):
        self.check_others()
        before = self.process.memory_kib()
        deaf = []
        for name, data in (("api", CHECK * 500), ("resp", TAKE * 2000)):
            deaf += [(name, self.connect(name), data) for _ in range(CONNECTIONS)]
        sent = {}
        for _ in range(5):  # the server goes on reading while others are answered
            for name, raw, data in deaf:
                place = sent.get(raw, 0) % len(data)
                sent[raw] = sent.get(raw, 0) + self.stuff(raw, data[place:] + data[:place])
            self.check_others()
        for name, raw, _ in deaf:
            self.assertLess(sent[raw], MOST_SENT, f"{name} goes on reading")
        self.assert_grown_at_most(MOST_GROWN, before, self.process.memory_kib())

    @measures_memory
    def test_calls_whose_answers_nobody_reads_are_bounded(self):
        self.check_others()
        before = self.process.memory_kib()
        for _ in range(CONNECTIONS):
            raw = self.connect("grpc")
            self.stuff(raw, PREFACE + b"".join(call(2 * i + 1) for i in range(20000)))
        self.check_others()
        self.assert_grown_at_most(MOST_GROWN, before, self.process.memory_kib())

    def test_requests_that_drip_in_hold_their_connections_and_nobody_else(self):
        dripping = []
        for name, data in (("api", CHECK), ("resp", TAKE), ("grpc", PREFACE + call(1))):
            for i in range(CONNECTIONS):
                raw = self.connect(name)
                raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                dripping.append((name, raw, data))
        longest = max(len(data) for _, _, data in dripping)
        for at in range(longest):
            for _, raw, data in dripping:
                if at < len(data) - 1:
                    raw.sendall(data[at:at + 1])
            if at % 64 == 0:
                self.check_others()
        for name, raw, data in dripping:
            raw.sendall(data[-1:])
            wanted = {"api": b'"allowed":true', "resp": b"*7\r\n", "grpc": b"loose"}[name]
            told = b""
            while wanted not in told:
                more = raw.recv(65536)
                self.assertTrue(more, f"{name} closed: {told!r}")
                told += more


if __name__ == "__main__":
    main()
