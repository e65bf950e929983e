"""A gateway that limits WebSocket messages, as the tests of clients and of limits start it."""

import harness
from websocket_peer import WebSocket

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
