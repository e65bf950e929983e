"""A WebSocket client of the standard library, as plain as tests need it: whole frames."""

import json
import os
import socket
import struct

import harness

TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10


def frame(opcode, payload, fin=True, mask=True):
    """One frame; a client's is masked."""
    head = bytes([(0x80 if fin else 0) | opcode])
    bit = 0x80 if mask else 0
    if len(payload) < 126:
        head += bytes([bit | len(payload)])
    elif len(payload) < 65536:
        head += struct.pack("!BH", bit | 126, len(payload))
    else:
        head += struct.pack("!BQ", bit | 127, len(payload))
    if not mask:
        return head + payload
    key = os.urandom(4)
    repeated = (key * (len(payload) // 4 + 1))[:len(payload)]
    masked = int.from_bytes(payload, "big") ^ int.from_bytes(repeated, "big")
    return head + key + masked.to_bytes(len(payload), "big")


class WebSocket:
    def __init__(self, port, path="/ws", **headers):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=harness.PATIENCE)
        self.stream = self.socket.makefile("rb")
        lines = [f"GET {path} HTTP/1.1", "Host: test", "Upgrade: websocket",
                 "Connection: Upgrade", "Sec-WebSocket-Version: 13",
                 "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        self.socket.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        self.head = b""
        while not self.head.endswith(b"\r\n\r\n"):
            byte = self.stream.read(1)
            if not byte:
                break
            self.head += byte
        self.status = int(self.head.split()[1])

    def send(self, *messages):
        """Messages, as JSON, in one write."""
        self.socket.sendall(b"".join(frame(TEXT, json.dumps(m).encode()) for m in messages))

    def send_bytes(self, data):
        self.socket.sendall(data)

    def receive(self):
        """(opcode, payload) of the next frame; (None, b"") at the end."""
        head = self.stream.read(2)
        if len(head) < 2:
            return None, b""
        size = head[1] & 0x7f
        if size == 126:
            size = struct.unpack("!H", self.stream.read(2))[0]
        elif size == 127:
            size = struct.unpack("!Q", self.stream.read(8))[0]
        return head[0] & 0x0f, self.stream.read(size)

    def body(self):
        """What stands behind the head of a refusal, up to its Content-Length."""
        length = [line.split(b":")[1] for line in self.head.split(b"\r\n")
                  if line.lower().startswith(b"content-length:")]
        return self.stream.read(int(length[0]))

    def answers(self, count):
        """The next messages, read as JSON."""
        return [json.loads(self.receive()[1]) for _ in range(count)]

    def close(self):
        self.stream.close()
        self.socket.close()
