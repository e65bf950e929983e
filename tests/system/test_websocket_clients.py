"""Clients of others at limited WebSocket connections: npm's ws and Chromium."""

import http.server
import json
import os
import shutil
import subprocess
import threading
import unittest

import browser
import harness
from websocket_gateway import WebSocketTest, query

NODE_MODULES = harness.ROOT / "build" / "node" / "node_modules"


class Node:
    """npm's ws in a process of its own."""

    def __init__(self, test, *words):
        self.child = subprocess.Popen(
            ["node", *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, "NODE_PATH": str(NODE_MODULES)})
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
    def client(self, port, *headers):
        return Node(self, harness.ROOT / "tests" / "node" / "ws.js", f"ws://127.0.0.1:{port}/ws",
                    *headers)

    def test_twelve_queries_a_ping_and_an_interrupt(self):
        node = self.client(self.gateway().listen, "X-User-Id=7")
        self.assertEqual(node.line(), "open plain")
        node.say({"send": [*map(query, range(1, 13)), "PING", {"type": "interrupt"}]})
        echoes = self.expect_twelve(json.loads(node.line()))
        self.assertIn("PONG", echoes)
        self.assertIn({"type": "interrupt"}, echoes)
        node.say({"close": 4000})
        self.assertEqual(node.line(), "closed 4000")

    def test_closed_after_refusals_with_1008(self):
        node = self.client(self.gateway(websocket="close_after: 1").listen, "X-User-Id=7")
        self.assertEqual(node.line(), "open plain")
        node.say({"send": list(map(query, range(1, 13)))})
        self.assertEqual(node.line(), "closed 1008")

    def test_compression_is_the_upstreams_own_matter_where_nothing_is_limited(self):
        upstream = Node(
            self, "-e", "const {WebSocketServer} = require('ws');"
            "const server = new WebSocketServer({port: 0, host: '127.0.0.1',"
            " perMessageDeflate: true}, () => console.log(server.address().port));"
            "server.on('connection', (s) => s.on('message', (m, b) => s.send(m, {binary: b})));")
        port = int(upstream.line())
        listen = harness.free_port()
        self.serve(f"limits: []\ngateway: {{ listen: '127.0.0.1:{listen}', "
                   f"upstream: 'http://127.0.0.1:{port}' }}")
        node = self.client(listen)
        self.assertEqual(node.line(), "open permessage-deflate")
        long = {"type": "query", "text": "compress me " * 500}
        node.say({"send": [long]})
        self.assertEqual(json.loads(node.line()), [long])
        limited = self.client(self.gateway(port).listen)
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
