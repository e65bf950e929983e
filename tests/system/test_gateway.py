#!/usr/bin/env python3
"""The gateway between real peers: nginx on either side, curl, wrk, a WebSocket client."""

import base64
import os
import pathlib
import re
import shutil
import socket
import struct
import subprocess
import threading
import unittest

from harness import (Client, PATIENCE, SystemTest, free_port, get, is_open, main, measures_memory,
                     signal, until)

GIB = 1 << 30
MEMORY_KIB = 64 * 1024  # what a gateway that streams may take more for 1 GB than for none


class RawUpstream:
    """Accepts connections and hands each to `handle(connection, reader)` on a thread of its own."""

    def __init__(self, handle):
        self.handle = handle
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            connection.settimeout(PATIENCE)
            threading.Thread(target=self._run, args=(connection,), daemon=True).start()

    def _run(self, connection):
        with connection, connection.makefile("rb") as reader:
            try:
                self.handle(connection, reader)
            except OSError:
                pass

    def close(self):
        self.listener.close()


def read_head(reader):
    """The lines of one request's head, or nothing at the end of the connection."""
    lines = []
    while True:
        line = reader.readline()
        if line in (b"\r\n", b""):
            return lines
        lines.append(line.decode().rstrip("\r\n"))


def body_length(head):
    for line in head:
        if line.lower().startswith("content-length:"):
            return int(line.split(":")[1])
    return 0


def swallow(reader, size):
    """Reads `size` bytes and keeps none; returns how many came."""
    left = size
    while left:
        block = reader.read1(min(left, 1 << 20))
        if not block:
            break
        left -= len(block)
    return size - left


def curl(*arguments):
    command = ["curl", "--silent", "--show-error", "--max-time", "120", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=True)


class GatewayTest(SystemTest):
    def gateway(self, upstream, limits="limits: []", more=""):
        """weir in front of 127.0.0.1:upstream; its port and process."""
        port = free_port()
        process = self.serve(f"""
gateway:
  listen: 127.0.0.1:{port}
  upstream: http://127.0.0.1:{upstream}
{more}
{limits}
""", name=f"weir-{port}.yaml")
        return port, process

    def raw_upstream(self, handle):
        upstream = RawUpstream(handle)
        self.addCleanup(upstream.close)
        return upstream.port

    # ---- real peers

    def test_nginx_behind_the_gateway_serves_files_and_keeps_connections(self):
        (self.folder / "index.html").write_text("hello\n" * 1000)
        upstream = self.upstream(f"root {self.folder};")
        port, _ = self.gateway(upstream)
        client = Client(port)
        self.addCleanup(client.close)
        for _ in range(5):
            answer = client.get("/index.html")
            self.assertEqual((answer.status, answer.body), (200, b"hello\n" * 1000))
        self.assertEqual(client.get("/a/../index.html").status, 200)
        self.assertEqual(client.get("/none").status, 404)

    def test_nginx_in_front_names_the_clients_that_are_counted(self):
        upstream = self.upstream("return 200 '$http_x_forwarded_for';")
        port, _ = self.gateway(upstream, limits="""
identity: { trusted_proxies: [127.0.0.1] }
limits:
  - { name: per_ip, key: [ip], algorithm: token_bucket, rate: 1/h, burst: 1 }
""")
        front = free_port()
        self.nginx(f"""
            map $arg_client $client {{ default 203.0.113.1; two 203.0.113.2; }}
            upstream weir {{ server 127.0.0.1:{port}; keepalive 4; }}
            server {{ listen 127.0.0.1:{front};
              location / {{ proxy_pass http://weir; proxy_http_version 1.1;
                proxy_set_header Connection ""; proxy_set_header X-Forwarded-For $client; }} }}""")
        until(lambda: is_open(front), "nginx in front listens")
        first = get(front)
        self.assertEqual((first.status, first.text), (200, "203.0.113.1, 127.0.0.1"))
        self.assertEqual(get(front).status, 429)
        self.assertEqual(get(front, "/?client=two").status, 200)

    def test_curl_sends_and_gets_trailers(self):
        seen = []

        def handle(connection, reader):
            seen.append(read_head(reader))
            connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n"
                               b"Trailer: X-Sum\r\n\r\n5\r\nhello\r\n0\r\nX-Sum: 42\r\n\r\n")

        port, _ = self.gateway(self.raw_upstream(handle))
        headers = self.folder / "headers"
        answer = curl("-D", headers, "-H", "TE: trailers", "-H", "Connection: TE",
                      f"http://127.0.0.1:{port}/")
        self.assertEqual(answer.stdout, "hello")
        self.assertIn("X-Sum: 42", headers.read_text())
        self.assertIn("TE: trailers", seen[0])

    def test_curl_waits_for_100_before_it_sends_its_body(self):
        def handle(connection, reader):
            head = read_head(reader)
            if "Expect: 100-continue" not in head:
                connection.sendall(b"HTTP/1.1 417 No\r\nContent-Length: 0\r\n\r\n")
                return
            connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
            got = swallow(reader, body_length(head))
            body = str(got).encode()
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s"
                               % (len(body), body))

        port, _ = self.gateway(self.raw_upstream(handle))
        upload = self.write("upload", "x" * 3_000_000)
        answer = curl("-v", "--expect100-timeout", "60", "-H", "Expect: 100-continue", "-T", upload,
                      f"http://127.0.0.1:{port}/")
        self.assertEqual(answer.stdout, "3000000")
        self.assertIn("HTTP/1.1 100 Continue", answer.stderr)

    def test_curl_reads_the_refusal_of_a_large_upload(self):
        port, _ = self.gateway(free_port(), limits="""
limits: [{ name: none, algorithm: token_bucket, rate: 1/h, burst: 0 }]""")
        upload = self.folder / "upload"
        with open(upload, "wb") as file:
            file.truncate(GIB)
        for expect in ("Expect:", "Expect: 100-continue"):
            answer = curl("-w", "%{http_code}", "-H", expect, "-T", upload,
                          f"http://127.0.0.1:{port}/")
            self.assertIn('"code":"RATE_LIMITED"', answer.stdout)
            self.assertTrue(answer.stdout.endswith("429"), answer.stdout)

    # ---- a gigabyte each way

    def peak_kib(self, process):
        status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
        return int(re.search(r"VmHWM:\s+(\d+)", status).group(1))

    @measures_memory
    def test_a_gigabyte_goes_up_in_flat_memory_by_length_and_by_chunks(self):
        def handle(connection, reader):
            while head := read_head(reader):
                if "Transfer-Encoding: chunked" in head:
                    got = 0
                    while size := int(reader.readline(), 16):
                        got += swallow(reader, size)
                        reader.readline()
                    reader.readline()
                else:
                    got = swallow(reader, body_length(head))
                body = str(got).encode()
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s"
                                   % (len(body), body))

        port, process = self.gateway(self.raw_upstream(handle))
        before = self.peak_kib(process)
        upload = self.folder / "upload"
        with open(upload, "wb") as file:
            file.truncate(GIB)
        for framing in ("X-Framing: length", "Transfer-Encoding: chunked"):
            answer = curl("-H", framing, "-H", "Expect:", "-T", upload,
                          f"http://127.0.0.1:{port}/")
            self.assertEqual(answer.stdout, str(GIB))
        self.assert_grown_at_most(MEMORY_KIB, before, self.peak_kib(process))

    @measures_memory
    def test_a_gigabyte_comes_down_in_flat_memory(self):
        with open(self.folder / "large", "wb") as file:
            file.truncate(GIB)
        port, process = self.gateway(self.upstream(f"root {self.folder};"))
        before = self.peak_kib(process)
        answer = curl("-o", os.devnull, "-w", "%{size_download}", f"http://127.0.0.1:{port}/large")
        self.assertEqual(answer.stdout, str(GIB))
        self.assert_grown_at_most(MEMORY_KIB, before, self.peak_kib(process))

    # ---- WebSocket

    def test_a_websocket_client_talks_through_the_gateway(self):
        port, _ = self.gateway(self.demo())
        key = base64.b64encode(b"0123456789abcdef").decode()
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as client:
            client.sendall((f"GET /ws HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\n"
                            f"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                            f"Sec-WebSocket-Key: {key}\r\n\r\n").encode())
            reader = client.makefile("rb")
            self.assertIn("101", read_head(reader)[0])
            for text in (b"hello", b"x" * 100):
                mask = b"\x01\x02\x03\x04"
                masked = bytes(c ^ mask[i % 4] for i, c in enumerate(text))
                client.sendall(struct.pack("!BB", 0x81, 0x80 | len(text)) + mask + masked)
                first, size = reader.read(2)
                self.assertEqual((first, size, reader.read(size)), (0x81, len(text), text))
            client.sendall(b"\x88\x82" + b"\0\0\0\0" + struct.pack("!H", 1000))
            self.assertEqual(reader.read(2)[0], 0x88)

    # ---- limits under load

    def test_wrk_gets_through_exactly_the_limit(self):
        upstream = self.upstream()
        for connections in (1, 64):
            for numbers in ("algorithm: token_bucket, rate: 1/h, burst: 40",
                            "algorithm: sliding_counter, limit: 40, window: 1d, align: first"):
                with self.subTest(connections=connections, numbers=numbers):
                    port, _ = self.gateway(upstream, limits=f"""
limits: [{{ name: all, {numbers} }}]""")
                    output = subprocess.run(
                        ["wrk", "-t1", f"-c{connections}", "-d2s", f"http://127.0.0.1:{port}/"],
                        capture_output=True, text=True, check=True).stdout
                    requests = int(re.search(r"(\d+) requests in", output).group(1))
                    self.assertGreater(requests, 40, output)
                    refused = int(re.search(r"Non-2xx or 3xx responses: (\d+)", output).group(1))
                    self.assertEqual(requests - refused, 40, output)

    # ---- starting and stopping

    def test_sigterm_lets_what_is_in_flight_finish_and_exits_0(self):
        arrived, go_on = threading.Event(), threading.Event()

        def handle(connection, reader):
            read_head(reader)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nha")
            arrived.set()
            go_on.wait(PATIENCE)
            connection.sendall(b"lf")

        port, process = self.gateway(self.raw_upstream(handle))
        idle = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
        answers = []
        asking = threading.Thread(target=lambda: answers.append(get(port)))
        asking.start()
        self.assertTrue(arrived.wait(PATIENCE))
        process.signal(signal.SIGTERM)
        self.assertEqual(idle.recv(1), b"", "an idle connection is let go")
        idle.close()
        until(lambda: not is_open(port), "nothing is accepted any more")
        go_on.set()
        asking.join(PATIENCE)
        self.assertEqual((answers[0].status, answers[0].body), (200, b"half"))
        self.assertEqual(process.wait(), 0, process.output)

    def test_sigterm_gives_up_after_the_time_that_the_policy_names(self):
        arrived = threading.Event()

        def handle(connection, reader):
            read_head(reader)
            arrived.set()
            reader.read()

        port, process = self.gateway(self.raw_upstream(handle),
                                     more="  timeouts: { drain: 200ms }")
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as client:
            client.sendall(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
            self.assertTrue(arrived.wait(PATIENCE))
            process.signal(signal.SIGTERM)
            self.assertEqual(process.wait(), 0, process.output)

    def test_a_port_in_use_is_an_error_that_names_it(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            policy = self.write("weir.yaml", f"""
gateway: {{ listen: 127.0.0.1:{port}, upstream: http://127.0.0.1:1 }}
limits: []
""")
            process = self.weir("serve", "-c", policy)
            self.assertEqual(process.wait(), 1)
            self.assertIn(f"127.0.0.1:{port}", process.output)
            self.assertIn("in use", process.output)

    def test_a_client_that_leaves_takes_its_upstream_connection_with_it(self):
        gone = threading.Event()

        def handle(connection, reader):
            read_head(reader)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
                               b"data: 1\n\n")
            if reader.read() == b"":
                gone.set()

        port, _ = self.gateway(self.raw_upstream(handle))
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as client:
            client.sendall(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
            reader = client.makefile("rb")
            while b"data: 1" not in reader.readline():
                pass
            reader.close()
        self.assertTrue(gone.wait(1.0), "the upstream is told within a second")


for program in ("curl", "wrk"):
    if shutil.which(program) is None:
        raise unittest.SkipTest(f"{program} is not installed; ./dev setup installs it")

if __name__ == "__main__":
    main()
