"""Faults that other limiters shipped in what they ask of their store, and in what large policies cost
them, tried on the running program: round trips to Redis, what stays there, processor time."""

import json
import os
import pathlib
import re
import socket
import threading
import time

import harness
from harness import SLOWER, Client, free_port
from redis_peer import Redis


class Relay:
    """Stands between weir and its Redis and counts round trips of decisions: how often a bucket was
    asked for after something had been answered."""

    def __init__(self, test, port):
        self.trips, self.upstream = 0, port
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port = self.server.getsockname()[1]
        self.open = []
        threading.Thread(target=self.accept, daemon=True).start()
        test.addCleanup(self.close)

    def close(self):
        for one in [self.server, *self.open]:
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            one.close()

    def accept(self):
        while True:
            try:
                client, _ = self.server.accept()
            except OSError:
                return
            redis = socket.create_connection(("127.0.0.1", self.upstream))
            self.open += [client, redis]
            last = [None]
            for ends in ((client, redis, True), (redis, client, False)):
                threading.Thread(target=self.pump, args=(*ends, last), daemon=True).start()

    def pump(self, source, sink, asks, last):
        try:
            while data := source.recv(1 << 20):
                if asks and last[0] != "asked" and b":tb/" in data:
                    self.trips += 1
                last[0] = "asked" if asks else "answered"
                sink.sendall(data)
        except OSError:
            pass


class Gate:
    """Once it is shut, no answer passes a relay before each of them has been asked."""

    def __init__(self, relays):
        self.relays, self.asked = relays, set()
        self.is_shut, self.all_asked = False, threading.Event()

    def shut(self):
        self.asked.clear()
        self.all_asked.clear()
        self.is_shut = True


class GatedRelay(Relay):
    gate = None  # of several relays

    def pump(self, source, sink, asks, last):
        try:
            while data := source.recv(1 << 20):
                if asks and b":tb/" in data:
                    self.gate.asked.add(self)
                    if len(self.gate.asked) == self.gate.relays:
                        self.gate.all_asked.set()
                elif not asks and self.gate.is_shut:
                    self.gate.all_asked.wait(harness.PATIENCE)
                sink.sendall(data)
        except OSError:
            pass


class Store(harness.SystemTest):
    def serve_api(self, url, limits, more="", *arguments):
        self.api = free_port()
        return self.serve(f"store: {{ url: {url}, timeout: 5s {more} }}\nlimits:\n{limits}"
                          f"api: {{ listen: 127.0.0.1:{self.api} }}\n", *arguments)

    def check(self, attributes, calls=1):
        """The decisions of so many equal checks, sent at once."""
        client = Client(self.api)
        self.addCleanup(client.close)
        body = json.dumps({"checks": [{"attributes": attributes}] * calls})
        answer = client.request("POST", "/v1/check", {"Content-Type": "application/json"}, body)
        self.assertEqual(answer.status, 200, answer)
        return json.loads(answer.text)["decisions"]

    def script_calls(self, redis):
        told = "\n".join(redis.cli("INFO", "commandstats"))
        return sum(int(n) for n in re.findall(r"cmdstat_eval(?:sha)?:calls=(\d+)", told))

    def test_a_request_that_meets_ten_limits_is_one_round_trip(self):
        redis = Redis(self)
        relay = Relay(self, redis.port)
        limits = "".join(f"  - {{ name: l{n}, key: [header.h{n}], algorithm: token_bucket, "
                         "rate: 1/h, burst: 9 }\n" for n in range(10))
        self.serve_api(f"redis://127.0.0.1:{relay.port}", limits, "", "--loops", "1")
        one, ten = {"header.h0": "a"}, {f"header.h{n}": f"v{n}" for n in range(10)}
        for attributes in (one, ten):
            self.check(attributes)  # the scripts are there now
        for attributes, met in ((one, 1), (ten, 10)):
            before = relay.trips
            [decision] = self.check(attributes)
            self.assertEqual((decision["source"], len(decision["limits"])), ("redis", met))
            self.assertEqual(relay.trips - before, 1)

    def cluster(self, gate):
        """So many nodes of a Cluster, each behind a relay; the relays' ports."""
        nodes = []
        for _ in range(gate.relays):
            relay, bus = GatedRelay(self, 0), free_port()
            relay.gate = gate
            redis = Redis(self, "--cluster-enabled", "yes", "--cluster-port", bus,
                          "--cluster-config-file", f"nodes-{bus}.conf",
                          "--cluster-announce-port", relay.port)
            relay.upstream = redis.port
            nodes.append((redis, relay, bus))
        for n, (redis, _, _) in enumerate(nodes):
            redis.cli("CLUSTER", "ADDSLOTS", *range(16384 * n // len(nodes),
                                                    16384 * (n + 1) // len(nodes)))
            redis.cli("CLUSTER", "MEET", "127.0.0.1", nodes[0][0].port, nodes[0][2])
        for redis, _, _ in nodes:
            harness.until(lambda: "cluster_state:ok" in redis.cli("CLUSTER", "INFO"), "a Cluster")
        return [relay.port for _, relay, _ in nodes]

    def test_the_nodes_of_a_cluster_are_asked_at_once_and_not_in_turn(self):
        gate = Gate(3)
        limits = "".join(f"  - {{ name: l{n}, key: [header.h{n}], algorithm: token_bucket, "
                         "rate: 1/h, burst: 9 }\n" for n in range(12))
        hosts = ",".join(f"127.0.0.1:{port}" for port in self.cluster(gate))
        self.serve_api(f"'redis+cluster://{hosts}'", limits)
        attributes = {f"header.h{n}": f"v{n}" for n in range(12)}
        harness.until(lambda: self.check(attributes)[0]["source"] == "redis", "all nodes decide")
        gate.shut()
        [decision] = self.check(attributes)
        self.assertEqual((decision["allowed"], decision["source"]), (True, "redis"))
        self.assertEqual(len(gate.asked), 3)

    def test_a_flood_of_refusals_is_kept_from_redis(self):
        redis = Redis(self)
        self.serve_api(redis.url, "  - { name: all, key: [user], algorithm: token_bucket, "
                       "rate: 1/h, burst: 5 }\n", ", deny_cache: 1s")
        self.check({"user": "eve"}, 5)
        before, began = self.script_calls(redis), time.monotonic()
        decisions = [d for _ in range(200) for d in self.check({"user": "eve"}, 50)]
        seconds = time.monotonic() - began
        self.assertEqual({d["allowed"] for d in decisions}, {False})
        # Asked anew each second; all of a batch may go before its first answer is back.
        self.assertLessEqual(self.script_calls(redis) - before, 50 * (seconds + 2))
        self.assertIn("deny_cache", {d["source"] for d in decisions})
        self.assertTrue(self.check({"user": "ann"})[0]["allowed"])

    def test_refusals_that_reach_redis_leave_nothing_there(self):
        redis = Redis(self)
        self.serve_api(redis.url, "  - { name: log, key: [user], algorithm: sliding_log, limit: 5, "
                       "window: 1h }\n", ", deny_cache: 0s")
        self.check({"user": "eve"}, 5)
        [name] = redis.cli("KEYS", "*log*")
        before, held = self.script_calls(redis), redis.cli("MEMORY", "USAGE", name)
        decisions = [d for _ in range(6) for d in self.check({"user": "eve"}, 500)]
        self.assertEqual({(d["allowed"], d["source"]) for d in decisions}, {(False, "redis")})
        self.assertGreaterEqual(self.script_calls(redis) - before, 3000)
        self.assertEqual(redis.cli("MEMORY", "USAGE", name), held)
        self.assertLess(int(held[0]), 2048)

    def test_a_long_key_costs_redis_no_more_than_a_short_one_and_stays_apart(self):
        redis = Redis(self)
        self.serve_api(redis.url, "  - { name: key, key: [header.x-api-key], algorithm: "
                       "token_bucket, rate: 1/h, burst: 1 }\n")
        client, long = Client(self.api), "k" * 8000
        self.addCleanup(client.close)
        for begin in range(0, 1000, 100):
            body = {"checks": [{"attributes": {"header.x-api-key": f"{long}{n}"}}
                               for n in range(begin, begin + 100)]}
            answer = json.loads(client.request("POST", "/v1/check", {}, json.dumps(body)).text)
            self.assertEqual({d["allowed"] for d in answer["decisions"]}, {True})
        names = redis.cli("KEYS", "*key*")
        self.assertEqual(len(names), 1000)
        self.assertLess(max(map(len, names)), 201)
        self.assertLess(max(int(redis.cli("MEMORY", "USAGE", name)[0]) for name in names[:20]), 1024)
        self.assertFalse(self.check({"header.x-api-key": f"{long}7"})[0]["allowed"])


def cpu_seconds(process):
    """What it has computed so far: on a busy machine, waiting is no sign of slowness."""
    words = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


class Large(harness.SystemTest):
    def policy(self, burst):
        numbers = f"key: [ip], algorithm: token_bucket, rate: 1/day, burst: {burst} }}\n"
        return ("attributes: [plan]\n"
                f"api: {{ listen: 127.0.0.1:{self.api} }}\n"
                f"admin: {{ listen: 127.0.0.1:{self.admin}, token: t }}\nlimits:\n"
                + "".join(f"  - {{ name: v{n}, match: {{ plan: v{n} }}, {numbers}"
                          for n in range(5000))
                + "".join(f"  - {{ name: w{n}, match: {{ plan: 'a*{n}*z' }}, {numbers}"
                          for n in range(500)))

    def test_a_policy_of_many_limits_decides_soon_also_while_it_is_loaded_anew(self):
        self.api, self.admin = free_port(), free_port()
        process = self.serve(self.policy(burst=1000))
        client = Client(self.api)
        self.addCleanup(client.close)

        def batch(plan, address, calls=1000):
            checks = [{"attributes": {"plan": plan, "ip": address}}] * calls
            began = cpu_seconds(process)
            answer = json.loads(client.request("POST", "/v1/check", {}, json.dumps(
                {"checks": checks})).text)["decisions"]
            return cpu_seconds(process) - began, answer
        for plan, met in (("v4999", 1), ("a499z", 5), ("none", 0)):  # 4, 9, 49, 99, 499
            took, decisions = min((batch(plan, f"203.0.113.{n}") for n in range(3)),
                                  key=lambda one: one[0])
            self.assertEqual({(d["allowed"], len(d["limits"])) for d in decisions}, {(True, met)})
            self.assertLess(took, 1.0 * SLOWER, f"1 ms for each decision of {plan}")
        self.write("weir.yaml", self.policy(burst=5))

        def renewed():
            quotas = {d["quota"] for d in batch("v7", "203.0.113.9", 10)[1]}
            self.assertLessEqual(quotas, {1000, 5})
            return quotas == {5}
        harness.until(renewed, "the new policy is in force")


if __name__ == "__main__":
    harness.main()
