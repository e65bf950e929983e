"""What a charge can still become, through the shipped program: by its id in the check API, on memory
and on a fleet with Redis; by the upstream's answer in the gateway."""

import concurrent.futures
import json
import signal
import socket
import time

from harness import PATIENCE, Client, SystemTest, TestClock, free_port, main, until
from redis_peer import Redis

API = """
{store}
api: {{ listen: 127.0.0.1:{port}, adhoc: true, id_lifetime: 2h }}
limits:
  - {{ name: requests, key: [user], algorithm: fixed_window, limit: 100, window: 1h }}
  - {{ name: tokens, key: [user], algorithm: token_bucket, rate: 1/h, burst: 1000 }}
  - {{ name: flight, match: {{ path: /slow }}, key: [user], algorithm: concurrency, limit: 2, timeout: 10s }}
"""

GATEWAY = """
limits:
  - name: failed_logins
    match: { method: POST, path: /login }
    key: [ip]
    algorithm: token_bucket
    rate: 1/h
    burst: 2
    refund_when: { status: [2xx, 3xx] }
  - name: ai_tokens
    match: { path: /chat }
    key: [ip]
    algorithm: token_bucket
    rate: 1/h
    burst: 1000
    cost: query.estimate
    max_cost: 500
    settle: response_header:X-Usage
"""

UPSTREAM = """
  location /login { if ($arg_password = right) { return 200 'in'; } return 401 'no'; }
  location /chat { add_header X-Usage $arg_used; return 200 'answer'; }
"""


class ById(SystemTest):
    """With counters in memory; below, elsewhere."""

    def setUp(self):
        super().setUp()
        self.clients = []
        self.store = self.make_store()
        self.instance()

    def make_store(self):
        return ""

    def instance(self):
        """One more instance of the same fleet; all requests go to the last."""
        port = free_port()
        process = self.serve(API.format(store=self.store, port=port), *self.flags(),
                             name=f"weir{len(self.clients)}.yaml")
        self.clients.append(Client(port))
        self.addCleanup(self.clients[-1].close)
        return process

    def flags(self):
        return []

    def post(self, path, body, client=-1):
        answer = self.clients[client].request("POST", path, body=json.dumps(body))
        return answer.status, json.loads(answer.text)

    def check(self, path="/", cost=None, client=-1):
        body = {"attributes": {"user": "42", "path": path}}
        status, decision = self.post("/v1/check", body | ({"cost": cost} if cost else {}), client)
        return status, decision

    def left(self, limit):
        answer = self.clients[-1].get(f"/v1/limits/{limit}/keys?key=42")
        return json.loads(answer.text)["remaining"]

    def test_settle_corrects_what_a_call_cost_once(self):
        status, decision = self.check(cost=10)
        self.assertEqual(status, 200)
        self.assertEqual((self.left("requests"), self.left("tokens")), (90, 990))
        self.assertEqual(self.post("/v1/settle", {"id": decision["id"], "cost": 3}),
                         (200, {"settled": True}))
        self.assertEqual((self.left("requests"), self.left("tokens")), (97, 997))
        for path, body in (("settle", {"cost": 1}), ("refund", {})):
            status, problem = self.post(f"/v1/{path}", {"id": decision["id"], **body})
            self.assertEqual((status, problem["field"]), (409, "id"))
        self.assertEqual((self.left("requests"), self.left("tokens")), (97, 997))

    def test_what_a_call_cost_above_what_is_there_is_owed(self):
        _, decision = self.check()
        self.post("/v1/settle", {"id": decision["id"], "cost": 1001})
        status, refused = self.check()
        self.assertEqual((status, refused["limit"]), (429, "tokens"))
        self.assertGreater(refused["retry_after"], 3600)

    def test_refund_gives_everything_back_once(self):
        _, decision = self.check("/slow", cost=2)
        self.assertEqual(self.check("/slow")[0], 429)
        self.assertEqual(self.post("/v1/refund", {"id": decision["id"]}), (200, {"refunded": True}))
        self.assertEqual((self.left("requests"), self.left("flight")), (100, 2))
        for verb in ("refund", "release", "renew"):
            self.assertEqual(self.post(f"/v1/{verb}", {"id": decision["id"]})[0], 409, verb)

    def test_calls_in_flight_end_by_release(self):
        _, first = self.check("/slow")
        _, second = self.check("/slow")
        status, refused = self.check("/slow")
        self.assertEqual((status, refused["limit"], refused["retry_after"]), (429, "flight", None))
        self.assertGreater(refused["retry_at_most"], 0)
        self.assertEqual(self.post("/v1/release", {"id": first["id"]}), (200, {"released": True}))
        self.assertEqual(self.post("/v1/release", {"id": first["id"]})[0], 409)
        self.assertEqual(self.check("/slow")[0], 200)
        self.assertEqual(self.check("/slow")[0], 429)
        self.assertEqual(self.post("/v1/release", {"id": second["id"]})[0], 200)
        # Its cost is another half of the id.
        self.assertEqual(self.post("/v1/refund", {"id": second["id"]}), (200, {"refunded": True}))
        _, other = self.check("/")
        self.assertEqual(self.post("/v1/release", {"id": other["id"]}), (200, {"released": False}))

    def test_ids_of_a_batch_of_take_and_of_numbers_that_come_along(self):
        one = {"attributes": {"user": "42", "path": "/"}, "cost": 5}
        _, batch = self.post("/v1/check", {"checks": [one, one, {**one, "cost": 0}]})
        ids = [decision["id"] for decision in batch["decisions"]]
        self.assertEqual(ids[2], "")  # a look charges nothing
        self.assertEqual(len(set(ids)), 3)
        self.post("/v1/refund", {"id": ids[0]})
        self.assertEqual(self.left("tokens"), 995)
        _, taken = self.post("/v1/limits/tokens/take", {"key": ["42"], "cost": 95})
        self.post("/v1/settle", {"id": taken["id"], "cost": 45})
        self.assertEqual(self.left("tokens"), 950)
        adhoc = {"key": "k", "rate": "1/h", "burst": 10, "cost": 10}
        _, decision = self.post("/v1/check", adhoc)
        self.post("/v1/settle", {"id": decision["id"], "cost": 4})
        self.assertEqual(self.post("/v1/check", {**adhoc, "cost": 0})[1]["remaining"], 6)

    def test_ids_that_are_none(self):
        _, decision = self.check()
        right = decision["id"]
        forged = right[:40] + ("B" if right[40] == "A" else "A") + right[41:]
        for wrong in (forged, right[:-1], right + "A", "A", "x" * 60_000):
            status, problem = self.post("/v1/refund", {"id": wrong})
            self.assertEqual((status, problem["field"]), (404, "id"), wrong[:80])
        for body, field in (({}, "id"), ({"id": 7}, "id"), ({"id": right, "cost": 1}, "cost")):
            self.assertEqual(self.post("/v1/refund", body)[1]["field"], field)
        for body, field in (({"id": right}, "cost"), ({"id": right, "cost": -1}, "cost"),
                            ({"id": right, "cost": 1.5}, "cost")):
            status, problem = self.post("/v1/settle", body)
            self.assertEqual((status, problem["field"]), (400, field))
        self.assertEqual(self.clients[-1].get("/v1/settle").status, 405)
        self.assertEqual(self.left("tokens"), 999)
        self.assertEqual(self.post("/v1/refund", {"id": right})[0], 200)

    def test_of_many_who_ask_at_once_one_is_served(self):
        _, decision = self.check(cost=7)
        port = self.clients[-1].connection.port

        def refund(_):
            client = Client(port)
            try:
                return client.request("POST", "/v1/refund",
                                      body=json.dumps({"id": decision["id"]})).status
            finally:
                client.close()

        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            statuses = list(pool.map(refund, range(48)))
        self.assertEqual((statuses.count(200), statuses.count(409)), (1, 47))
        self.assertEqual(self.left("tokens"), 1000)


class ByIdInRedis(ById):
    def make_store(self):
        self.redis = Redis(self)
        return f'store: {{ url: "{self.redis.url}", timeout: 5s, connect_timeout: 3s }}'

    def test_an_id_is_good_at_every_instance_also_at_one_that_started_later(self):
        _, first = self.check(cost=10)
        _, second = self.check(cost=10)
        self.instance()
        self.assertEqual(self.post("/v1/settle", {"id": first["id"], "cost": 4})[0], 200)
        for client in (0, 1):
            self.assertEqual(self.post("/v1/refund", {"id": first["id"]}, client)[0], 409)
        self.assertEqual(self.post("/v1/refund", {"id": second["id"]}, 0)[0], 200)
        self.assertEqual(self.post("/v1/refund", {"id": second["id"]}, 1)[0], 409)
        self.assertEqual(self.left("tokens"), 996)

    def test_says_that_it_does_not_know_when_the_store_does_not_answer(self):
        _, decision = self.check(cost=10)
        self.redis.kill()
        status, problem = self.post("/v1/refund", {"id": decision["id"]})
        self.assertEqual(status, 503)
        self.assertIn("409", problem["detail"])


class OfAWrongClock(SystemTest):
    """The clock of an instance is twenty minutes late; the server's dates what it answers, also where
    only buckets are met."""

    def test_ids_and_unix_times_are_of_the_servers_clock(self):
        port, redis = free_port(), Redis(self)
        self.serve(f"store: {{ url: '{redis.url}', timeout: 5s }}\n"
                   f"api: {{ listen: 127.0.0.1:{port}, id_lifetime: 15m }}\n"
                   "limits: [{ name: a, key: [user], algorithm: token_bucket, rate: 1/min,"
                   " burst: 9 }]\n", "--test-clock", self.folder / "clock")
        clock = TestClock(self.folder / "clock")
        self.addCleanup(clock.close)
        clock.set(time.time_ns() - 1200 * 1_000_000_000)
        client = Client(port)
        self.addCleanup(client.close)
        answer = client.request("POST", "/v1/check",
                                body=json.dumps({"attributes": {"user": "42"}, "cost": 2}))
        self.assertAlmostEqual(int(answer.headers["X-RateLimit-Reset"]), time.time() + 120,
                               delta=30)
        body = json.dumps({"id": json.loads(answer.text)["id"], "cost": 1})
        self.assertEqual(client.request("POST", "/v1/settle", body=body).status, 200)


class Timeouts(ById):
    """Calls in flight over time, on a clock that the test moves."""

    def flags(self):
        return ["--test-clock", self.folder / "clock"]

    def setUp(self):
        super().setUp()
        self.clock = TestClock(self.folder / "clock")
        self.addCleanup(self.clock.close)
        self.at(0)

    def at(self, seconds):
        self.clock.set(1_800_000_000_000_000_000 + seconds * 1_000_000_000)

    def test_a_renewed_call_counts_until_it_is_renewed_no_more(self):
        _, first = self.check("/slow", cost=2)
        self.at(9)
        status, renewed = self.post("/v1/renew", {"id": first["id"]})
        self.assertEqual((status, renewed["renewed"]), (200, True))
        for verb in ("renew", "release"):
            self.assertEqual(self.post(f"/v1/{verb}", {"id": first["id"]})[0], 409)
        self.at(18)
        self.assertEqual(self.check("/slow")[0], 429)
        _, again = self.post("/v1/renew", {"id": renewed["id"]})
        self.at(28)  # ten seconds later its holder is taken for dead
        self.assertEqual(self.post("/v1/renew", {"id": again["id"]})[0], 404)
        self.assertEqual(self.check("/slow", cost=2)[0], 200)
        self.assertEqual(self.post("/v1/release", {"id": again["id"]})[0], 404)
        self.assertEqual(self.check("/slow")[0], 429)

    def test_an_id_ends_and_so_does_the_window_that_was_charged(self):
        _, window = self.check(cost=10)
        _, late = self.check(cost=10)
        self.at(3600)
        self.check(cost=1)
        self.assertEqual(self.post("/v1/refund", {"id": window["id"]})[0], 200)
        self.assertEqual(self.left("requests"), 99)  # of a new hour
        self.assertEqual(self.left("tokens"), 990)
        self.at(7200)
        self.assertEqual(self.post("/v1/refund", {"id": late["id"]})[0], 404)


class Gateway(SystemTest):
    def setUp(self):
        super().setUp()
        upstream = free_port()
        self.nginx(f"server {{ listen 127.0.0.1:{upstream}; {UPSTREAM} }}")
        port = free_port()
        self.serve(f"gateway: {{ listen: 127.0.0.1:{port}, upstream: http://127.0.0.1:{upstream} }}"
                   + GATEWAY)
        self.client = Client(port)
        self.addCleanup(self.client.close)

    def login(self, password):
        return self.client.request("POST", f"/login?password={password}").status

    def test_counts_failed_logins_alone(self):
        self.assertEqual([self.login("right") for _ in range(5)], [200] * 5)
        self.assertEqual([self.login(p) for p in ("wrong", "right", "wrong")], [401, 200, 401])
        self.assertEqual(self.login("right"), 429)

    def test_an_ai_call_costs_what_it_used(self):
        def chat(estimate, used):
            answer = self.client.get(f"/chat?estimate={estimate}&used={used}")
            return answer.status, int(answer.headers["X-RateLimit-Remaining"])

        self.assertEqual(chat(100, 40), (200, 900))
        self.assertEqual(chat(100, 100), (200, 860))  # 960 were left, not 900
        self.assertEqual(chat(9999, 0), (200, 360))  # 500 at most, as the policy says
        self.assertEqual(chat(1, 1200), (200, 859))
        self.assertEqual(chat(1, 1)[0], 429)  # 340 more than there were
        usage = self.client.get("/chat?used=3").headers
        self.assertIn("Retry-After", usage)

    def test_the_header_that_says_the_cost_is_passed_on(self):
        answer = self.client.get("/chat?used=3")
        self.assertEqual((answer.status, answer.headers["X-Usage"]), (200, "3"))


class GatewayFleet(SystemTest):
    """Two gateways, one limit on calls in flight, and an upstream that never answers."""

    POLICY = """
store: {{ url: "{redis}", timeout: 5s }}
gateway: {{ listen: 127.0.0.1:{port}, upstream: http://127.0.0.1:{upstream} }}
limits:
  - {{ name: flight, algorithm: concurrency, limit: 1, timeout: 4s }}
"""

    def setUp(self):
        super().setUp()
        self.redis = Redis(self)
        self.silent = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.silent.settimeout(PATIENCE)
        self.addCleanup(self.silent.close)

    def gateway(self, name):
        port = free_port()
        process = self.serve(self.POLICY.format(redis=self.redis.url, port=port,
                                                upstream=self.silent.getsockname()[1]), name=name)
        process.port = port
        return process

    def ask(self, gateway):
        """A connection whose request was sent."""
        connection = socket.create_connection(("127.0.0.1", gateway.port), timeout=PATIENCE)
        self.addCleanup(connection.close)
        connection.sendall(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        return connection

    def hold(self, gateway):
        """A request that has the place: it has reached the upstream."""
        connection = self.ask(gateway)
        upstream, _ = self.silent.accept()
        self.addCleanup(upstream.close)
        return connection

    def is_refused(self, gateway):
        with self.ask(gateway) as connection:
            connection.settimeout(1)
            try:
                return b" 429 " in connection.recv(64)
            except TimeoutError:
                return False  # it waits for the upstream

    def test_a_place_is_the_fleets_and_comes_back_when_its_holder_dies(self):
        one, two = self.gateway("one.yaml"), self.gateway("two.yaml")
        held = self.hold(one)
        # Longer than the timeout: the gateway that holds it renews it.
        end = time.monotonic() + 6
        while time.monotonic() < end:
            self.assertTrue(self.is_refused(two))
        one.signal(signal.SIGKILL)
        until(lambda: not self.is_refused(two), "the place of the dead gateway")
        held.close()

    def test_a_place_that_is_freed_is_free_at_every_gateway(self):
        one, two = self.gateway("one.yaml"), self.gateway("two.yaml")
        held = self.hold(one)
        self.assertTrue(self.is_refused(two))
        held.close()
        until(lambda: not self.is_refused(two), "its client has gone")


if __name__ == "__main__":
    main()
