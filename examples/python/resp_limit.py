"""Asks weir over RESP, with nothing but the standard library: python3 resp_limit.py PORT

Any Redis client does the same: client.execute_command("WEIR.TAKE", "login", 1, "alice").
"""

import socket
import sys


class Weir:
    def __init__(self, port, host="127.0.0.1"):
        self._socket = socket.create_connection((host, port), timeout=1)
        self._stream = self._socket.makefile("rb")

    def call(self, *words):
        data = [str(word).encode() for word in words]
        self._socket.sendall(b"*%d\r\n" % len(data) +
                             b"".join(b"$%d\r\n%s\r\n" % (len(d), d) for d in data))
        return self._read()

    def _read(self):
        line = self._stream.readline()
        kind, text = line[:1], line[1:-2]
        if kind == b":":
            return int(text)
        if kind == b"$":
            return None if text == b"-1" else self._stream.read(int(text) + 2)[:-2].decode()
        if kind == b"*":
            return [self._read() for _ in range(int(text))]
        if kind == b"+":
            return text.decode()
        raise RuntimeError(text.decode() or "the connection was closed")


def main():
    weir = Weir(int(sys.argv[1]))
    for _ in range(3):
        allowed, _, left, retry_us, *_ = weir.call("WEIR.TAKE", "login", 1, "alice")
        if allowed:
            print(f"allowed, {left} left")
        else:
            print(f"refused, retry in {round(retry_us / 1e6, 0)} s")


if __name__ == "__main__":
    main()
