"""examples/camtalk: a WebSocket server whose calls cost money, behind the gateway, by memory and by Redis."""

import json
import shutil
import unittest

import harness
from browser import Browser, is_there
from example import ExampleTest
from redis_peer import Redis
from websocket_peer import WebSocket

NOON = 1_800_014_400 * 10**9  # some moment
MODULES = harness.ROOT / "build" / "node" / "node_modules"


def query(number):
    return {"type": "query", "request_id": number, "text": "hello"}


@unittest.skipUnless((MODULES / "ws").exists(), "npm's ws is not installed: ./dev test")
class CamTalk(ExampleTest):
    NAME = "camtalk"
    PORTS = (3000, 8080, 9090, 9091)
    REPEATED = ("api/v1/query",)  # Prometheus looks at weir when its time comes

    def server(self):
        self.background(f"node server.js {self.port[3000]}")

    def instance(self, **variables):
        """One more weir, on ports of its own: its gateway's, and its process."""
        gateway = harness.free_port()
        program = self.weir("serve", "-c", "weir.yaml", cwd=self.place, env={
            "CAMTALK_PORT": str(gateway), "CAMTALK_ADMIN_PORT": str(harness.free_port()), **variables})
        program.wait_until_ready()
        return gateway, program

    def connect(self, user, plan=None, port=None):
        headers = {"X-User-Id": user, **({"X-Plan": plan} if plan else {})}
        socket = WebSocket(port or self.port[8080], "/ws", **headers)
        self.addCleanup(socket.close)
        return socket

    def ask(self, socket, calls):
        """The waits that so many queries are told, 0 for those that pass."""
        socket.send(*map(query, range(calls)))
        # A refusal may come before the server's answer to an earlier query.
        answers = sorted(socket.answers(calls), key=lambda answer: answer["request_id"])
        self.assertEqual([answer["request_id"] for answer in answers], list(range(calls)))
        return [answer.get("retry_after", 0) for answer in answers]

    def statuses(self, method, path, calls, ip="203.0.113.7", port=None):
        client = harness.Client(port or self.port[8080])
        self.addCleanup(client.close)
        return [client.request(method, path, {"X-Forwarded-For": ip}).status for _ in range(calls)]

    def control(self, *words):
        done = self.weir("set", "--url", f"http://127.0.0.1:{self.port[9090]}", *words,
                         env={"WEIR_ADMIN_TOKEN": "secret"})
        self.assertEqual(done.wait(), 0, done.output)


class Readme(CamTalk):
    @unittest.skipUnless(shutil.which("prometheus"), "prometheus is not installed")
    def test_the_readme(self):
        self.play()

    @unittest.skipUnless(is_there(), "chromium and chromedriver are not installed")
    def test_the_page_tells_a_person_when_to_ask_again(self):
        self.server()
        self.instance_on_its_own_ports()
        page = Browser(self)
        page.open(f"http://127.0.0.1:{self.port[8080]}/")
        harness.until(lambda: page.run("return document.body.dataset.open") == "yes", "it is open")
        page.run("for (let i = 0; i < 11; i++) document.getElementById('query').click()")
        harness.until(lambda: page.text("li.refused"), "a query is refused")
        self.assertRegex(page.text("#wait"), r"again in [1-5] s")
        page.run("document.getElementById('interrupt').click()")
        harness.until(lambda: "interrupt" in page.text("#answers"), "an interrupt passes")

    def instance_on_its_own_ports(self):
        self.background("weir serve -c weir.yaml")


class ByTheClock(CamTalk):
    def begin(self, **variables):
        self.server()
        self.clock = self.clocked(env={"WEIR_ADMIN_TOKEN": "secret", **variables})
        self.at(0)

    def at(self, seconds):
        self.clock.set(round(NOON + seconds * 10**9))

    def test_five_pass_the_sixth_waits_five_seconds_and_each_five_give_one_more(self):
        self.begin()
        self.control("query", "--key", "ann", "burst=5", "rate=0.2/s")
        ann = self.connect("ann")
        self.assertEqual(self.ask(ann, 6), [0, 0, 0, 0, 0, 5])
        self.at(4.999)
        self.assertEqual(self.ask(ann, 1), [1])
        for moment in (5, 10):
            self.at(moment)
            self.assertEqual(self.ask(ann, 2), [0, 5])

    def test_free_users_have_ten_and_premium_thirty_and_each_their_own(self):
        self.begin()
        self.assertEqual(self.ask(self.connect("ann"), 12), [0] * 10 + [5, 5])
        self.assertEqual(self.ask(self.connect("bob", "premium"), 31), [0] * 30 + [1])
        self.assertEqual(self.ask(self.connect("cid"), 1), [0])

    def test_what_costs_nothing_is_never_limited(self):
        self.begin()
        ann = self.connect("ann")
        self.ask(ann, 11)
        kinds = ["ping", "pong", "config", "interrupt"] * 10
        ann.send(*({"type": kind} for kind in kinds))
        self.assertNotIn("error", [answer["type"] for answer in ann.answers(len(kinds))])
        for method, path in (("GET", "/api/health"), ("POST", "/api/auth/refresh"),
                             ("POST", "/api/auth/logout"), ("GET", "/api/conversations")):
            self.assertEqual(self.statuses(method, path, 40), [200] * 40, path)

    def test_log_in_and_registration_by_address_conversations_by_user(self):
        self.begin()
        self.assertEqual(self.statuses("POST", "/api/auth/login", 6), [200] * 5 + [429])
        self.assertEqual(self.statuses("POST", "/api/auth/login", 1, "203.0.113.8"), [200])
        self.assertEqual(self.statuses("POST", "/api/auth/register", 4), [200] * 3 + [429])
        self.assertEqual(self.statuses("POST", "/conversations", 11), [200] * 10 + [429])
        refused = harness.Client(self.port[8080])
        self.addCleanup(refused.close)
        answer = refused.request("POST", "/conversations", {"X-Forwarded-For": "203.0.113.7"})
        self.assertEqual(answer.headers["Retry-After"], "5")
        self.assertEqual(json.loads(answer.text)["message"], "too many requests, retry after 5s")
        self.at(10)
        self.assertEqual(self.statuses("POST", "/api/auth/login", 2), [200, 429])
        self.at(20)
        self.assertEqual(self.statuses("POST", "/api/auth/register", 2), [200, 429])

    def test_numbers_change_under_an_open_connection_without_a_restart(self):
        self.begin()
        ann = self.connect("ann")
        self.ask(ann, 10)
        self.control("query", "rate=1/s", "burst=20")
        self.at(5)  # the key is converted at its next use: what it had gained by then was one
        self.assertEqual(self.ask(ann, 2), [0, 1])
        self.at(8)
        self.assertEqual(self.ask(ann, 4), [0, 0, 0, 1])

    def test_switched_off_it_refuses_nothing(self):
        self.begin(CAMTALK_LIMITS="false")
        self.assertEqual(self.ask(self.connect("ann"), 40), [0] * 40)
        self.assertEqual(self.statuses("POST", "/api/auth/login", 20), [200] * 20)

    def test_idle_buckets_are_forgotten(self):
        self.begin()
        for user in range(20):
            self.ask(self.connect(f"user-{user}"), 1)
        self.assertEqual(self.keys(), 20)
        self.at(600)
        self.ask(self.connect("ann"), 1)
        harness.until(lambda: self.keys() == 1, "what has been idle for ten minutes is forgotten")

    def keys(self):
        text = harness.get(self.port[9090], "/metrics").text
        counts = [line.split()[-1] for line in text.splitlines()
                  if line.startswith('weir_keys{limit="query"}')]
        return int(counts[0]) if counts else 0


class Stores(CamTalk):
    def setUp(self):
        super().setUp()
        self.server()

    def slow(self):
        """The policy with a rate so low that nothing comes back while a test runs."""
        policy = self.place / "weir.yaml"
        policy.write_text(policy.read_text().replace("rate: 0.2/s", "rate: 1/h"))

    def outcomes(self, *ports):
        """Which of twelve queries pass that go to these instances by turns."""
        sockets = [self.connect("ann", port=port) for port in ports]
        return [self.ask(sockets[i % len(sockets)], 1) == [0] for i in range(12)]

    def test_two_instances_on_redis_answer_as_one_in_memory(self):
        self.slow()
        redis = Redis(self)
        one, _ = self.instance()
        pair = [self.instance(CAMTALK_STORE=redis.url)[0] for _ in range(2)]
        alone = self.outcomes(one)
        self.assertEqual(alone, [True] * 10 + [False] * 2)
        self.assertEqual(self.outcomes(*pair), alone)

    def test_a_restart_starts_fresh_in_memory_and_redis_remembers(self):
        self.slow()
        redis = Redis(self)
        for store, forgets in (("memory://", True), (redis.url, False)):
            port, program = self.instance(CAMTALK_STORE=store)
            ann = self.connect("ann", port=port)
            self.assertEqual(self.ask(ann, 10), [0] * 10)
            ann.close()  # an open connection would be waited for
            program.stop()
            port, _ = self.instance(CAMTALK_STORE=store)
            self.assertEqual(self.ask(self.connect("ann", port=port), 1) == [0], forgets, store)


if __name__ == "__main__":
    harness.main()
