"""Policies and changes that a fleet shares, in etcd and in Redis."""

import os
import shutil
import signal
import socket
import subprocess
import time
import unittest

import harness
from certificates import Authority
from live import LiveTest
from redis_peer import Redis

ETCD = shutil.which("etcd") or "/usr/bin/etcd"


class Etcd:
    """One etcd; ends with its test. With an authority it speaks TLS, and wants a certificate of it."""

    def __init__(self, test, authority=None):
        self.test = test
        self.authority = authority
        if authority:
            self.cert, self.key = authority.sign("etcd")
        self.port = harness.free_port()
        self.peer = harness.free_port()
        self.start()

    def start(self):
        client = f"{'https' if self.authority else 'http'}://127.0.0.1:{self.port}"
        peer = f"http://127.0.0.1:{self.peer}"
        tls = ["--cert-file", self.cert, "--key-file", self.key, "--client-cert-auth",
               "--trusted-ca-file", self.authority.ca] if self.authority else []
        self.process = self.test.start(
            ETCD, "--data-dir", self.test.folder / "etcd", "--listen-client-urls", client,
            "--advertise-client-urls", client, "--listen-peer-urls", peer,
            "--initial-advertise-peer-urls", peer, "--initial-cluster", f"default={peer}",
            "--unsafe-no-fsync", *tls)
        harness.until(lambda: self.ctl("endpoint", "health", check=False).returncode == 0,
                      "etcd is healthy")

    def ctl(self, *words, text=None, check=True, user=None):
        extra = ["--user", user] if user else []
        if self.authority:
            extra += ["--cacert", self.authority.ca, "--cert", self.cert, "--key", self.key]
        return subprocess.run(
            ["etcdctl", "--endpoints", f"127.0.0.1:{self.port}", *map(str, (*extra, *words))],
            check=check, capture_output=True, text=True, input=text, timeout=harness.PATIENCE,
            env={**os.environ, "ETCDCTL_API": "3"})

    def put(self, text, user=None):
        self.ctl("put", "/weir/policy", text=text, user=user)

    def url(self, user=""):
        return f"etcd://{user}127.0.0.1:{self.port}/weir/policy"


class Fleet(LiveTest):
    def setUp(self):
        super().setUp()
        self.copy = self.folder / "copy"

    def serve_from(self, url, copy=None):
        weir = self.weir("serve", "-c", url, "--last-good", copy or self.copy)
        weir.wait_until_ready()
        return weir


@unittest.skipUnless(os.path.exists(ETCD), "etcd is not installed")
class InEtcd(Fleet):
    def test_a_policy_is_read_watched_and_refused_as_one_in_a_file(self):
        etcd = Etcd(self)
        etcd.put(self.policy(self.window(10)))
        weir = self.serve_from(etcd.url())
        self.assertEqual(self.quota(), 10)
        for quota in (11, 12, 13):
            etcd.put(self.policy(self.window(quota)))
            begin = time.monotonic()
            self.wait_for_quota(quota)
            self.assertLess(time.monotonic() - begin, harness.PATIENCE / 2)
        etcd.put("limits: [")
        weir.wait_for("stays in force")
        self.assertEqual(self.quota(), 13)
        etcd.put(self.policy(self.window(14)))
        self.wait_for_quota(14)
        harness.until(lambda: self.copy.read_text() == self.policy(self.window(14)),
                      "the copy is the policy in force")

    def test_a_watch_survives_compaction_and_a_restart_of_etcd(self):
        etcd = Etcd(self)
        etcd.put(self.policy(self.window(10)))
        weir = self.serve_from(etcd.url())
        etcd.process.stop()
        weir.wait_for("the watch of etcd ended")
        self.assertEqual(self.quota(), 10)
        etcd.start()
        for quota in (11, 12, 13):
            etcd.put(self.policy(self.window(quota)))
        revision = etcd.ctl("get", "/weir/policy", "-w", "fields").stdout
        revision = int(next(line.split(":")[1] for line in revision.splitlines()
                            if line.startswith('"Revision"')))
        etcd.ctl("compaction", revision)
        self.wait_for_quota(13)
        etcd.put(self.policy(self.window(14)))
        self.wait_for_quota(14)

    def test_a_start_while_etcd_is_away_uses_the_last_good_policy_and_says_so(self):
        etcd = Etcd(self)
        etcd.put(self.policy(self.window(10)))
        self.serve_from(etcd.url()).stop()
        self.assertEqual(self.copy.stat().st_mode & 0o777, 0o600)
        etcd.process.stop()
        weir = self.serve_from(etcd.url())
        weir.wait_for("started from the last good policy")
        self.assertEqual(self.quota(), 10)
        self.assertIn("last good policy", self.status()["reasons"][0])
        etcd.start()
        etcd.put(self.policy(self.window(11)))
        self.wait_for_quota(11)
        self.assertEqual(self.status()["reasons"], [])
        # Without a copy there is nothing to start from.
        etcd.process.stop()
        alone = self.weir("serve", "-c", etcd.url(), "--last-good", self.folder / "none")
        self.assertEqual(alone.wait(), 2)
        self.assertIn("etcd does not answer", alone.output)

    def test_it_stops_while_an_etcd_that_says_nothing_is_asked(self):
        self.copy.write_text(self.policy(self.window(10)))
        with socket.create_server(("127.0.0.1", 0)) as silent:
            weir = self.serve_from(f"etcd://127.0.0.1:{silent.getsockname()[1]}/weir/policy")
            silent.settimeout(harness.PATIENCE)
            asked = [silent.accept()[0] for _ in range(2)]  # at first, and again once it serves
            for one in asked:
                self.addCleanup(one.close)
                self.assertTrue(one.recv(1))
            weir.signal(signal.SIGTERM)
            self.assertEqual(weir.wait(), 0, weir.output)

    def test_etcd_asks_for_a_user(self):
        etcd = Etcd(self)
        etcd.put(self.policy(self.window(10)))
        etcd.ctl("user", "add", "root:secret")
        etcd.ctl("user", "grant-role", "root", "root")
        etcd.ctl("auth", "enable")
        refused = self.weir("serve", "-c", etcd.url(), "--last-good", self.copy)
        self.assertEqual(refused.wait(), 2)
        self.assertIn("etcd refuses", refused.output)
        weir = self.serve_from(etcd.url("root:secret@"))
        self.assertNotIn("secret", weir.output)
        self.assertEqual(self.quota(), 10)
        etcd.put(self.policy(self.window(11)), user="root:secret")
        self.wait_for_quota(11)
        self.changed("PUT", "/v1/limits/w", {"limit": 12})
        self.assertEqual(self.quota(), 12)

    def test_etcd_speaks_tls_and_asks_for_a_certificate(self):
        authority = Authority(self.folder)
        etcd = Etcd(self, authority)
        etcd.put(self.policy(self.window(10)))
        cert, key = authority.sign("weir")
        url = f"etcds://127.0.0.1:{etcd.port}/weir/policy?ca={authority.ca}"
        for refused in (url, url.replace(str(authority.ca), str(Authority(self.folder, "other").ca))
                        + f"&cert={cert}&key={key}"):
            alone = self.weir("serve", "-c", refused, "--last-good", self.copy)
            self.assertEqual(alone.wait(), 2)
            self.assertIn("certificate", alone.output)
        self.serve_from(f"{url}&cert={cert}&key={key}")
        self.assertEqual(self.quota(), 10)
        etcd.put(self.policy(self.window(11)))
        self.wait_for_quota(11)

    def test_changes_are_kept_beside_the_policy(self):
        etcd = Etcd(self)
        etcd.put(self.policy(self.window(10)))
        weir = self.serve_from(etcd.url())
        self.assertTrue(self.changed("PUT", "/v1/limits/w", {"limit": 20})["persistent"])
        weir.stop()
        self.serve_from(etcd.url())
        self.assertEqual(self.quota(), 20)
        # What another instance changes, or an operator by hand, is seen here.
        etcd.ctl("del", "--prefix", "/weir/policy.changes/")
        self.wait_for_quota(10)
        etcd.process.stop()
        status, value = self.control("PUT", "/v1/limits/w", {"limit": 30})
        self.assertEqual(status, 503, value)
        self.assertEqual(self.quota(), 10)


class InRedis(Fleet):
    def test_a_policy_is_read_watched_and_refused_as_one_in_a_file(self):
        redis = Redis(self)
        redis.cli("SET", "weir:policy", self.policy(self.window(10)))
        url = f"{redis.url}/0/weir:policy"
        weir = self.serve_from(url)
        self.assertEqual(self.quota(), 10)
        for quota in (11, 12):
            redis.cli("SET", "weir:policy", self.policy(self.window(quota)))
            self.wait_for_quota(quota)
        redis.cli("SET", "weir:policy", "limits: [")
        weir.wait_for("stays in force")
        self.assertEqual(self.quota(), 12)
        redis.kill()
        redis.start()
        redis.cli("SET", "weir:policy", self.policy(self.window(13)))
        self.wait_for_quota(13)
        weir.stop()
        redis.kill()
        self.assertIn("started from the last good policy", self.serve_from(url).output)
        self.assertEqual(self.quota(), 13)

    def test_changes_reach_every_instance_that_counts_in_the_same_redis(self):
        redis = Redis(self)
        api1, admin1, api2, admin2 = self.free_ports(4)
        ports = [(api1, admin1), (api2, admin2)]
        fleet = [self.serve(self.policy(self.window(10), api=api, admin=admin,
                                        more=f"store: {{ url: '{redis.url}' }}\n"),
                            name=f"weir{api}.yaml") for api, admin in ports]
        value = self.changed("PUT", "/v1/limits/w", {"limit": 20}, admin=admin1)
        self.assertTrue(value["persistent"])
        begin = time.monotonic()
        self.wait_for_quota(20, api2)
        # Within a second, on a machine that rests.
        self.assertLess(time.monotonic() - begin, 5 * harness.SLOWER)
        self.changed("POST", "/v1/bans", {"match": {"user": "mallory"}, "for": "1h"}, admin=admin2)
        harness.until(lambda: not self.check("mallory", api1)["allowed"], "the ban is shared")
        self.changed("DELETE", "/v1/limits/w", admin=admin2)
        self.wait_for_quota(10, api1)
        for weir in fleet:
            weir.wait_for("the fleet")

    def test_a_change_of_the_fleet_is_in_force_while_a_policy_is_refused_for_its_keys(self):
        redis = Redis(self)
        store = f"store: {{ url: '{redis.url}' }}\n"
        keys = self.write("secret", "a secret of more than thirty-two bytes")
        weir = self.serve(self.policy(self.window(10), more=store + (
            f"identity: {{ user: 'jwt:sub', jwt: {{ keys: {keys}, algorithms: [HS256] }} }}\n")))
        api, admin = self.free_ports(2)
        self.serve(self.policy(self.window(10), api=api, admin=admin, more=store), name="other.yaml")
        keys.write_text("short")
        weir.wait_for("stays in force")
        self.changed("PUT", "/v1/limits/w", {"limit": 20}, admin=admin)
        self.wait_for_quota(20)
        self.assertIn("the last reload was refused", self.status()["reasons"][0])
        keys.write_text("another secret of more than thirty-two bytes")
        harness.until(lambda: not self.status()["reasons"], "the keys are in force")
        self.assertEqual(self.quota(), 20)

    # In the next two tests the key becomes, between two looks of weir at it, what it was at the first.

    def test_a_change_that_another_undoes_at_once_is_undone(self):
        redis = Redis(self)
        self.serve(self.policy(self.window(10), more=f"store: {{ url: '{redis.url}' }}\n"))
        for _ in range(3):
            self.changed("PUT", "/v1/limits/w", {"limit": 20})
            redis.cli("DEL", "weir:policy.changes")
            self.wait_for_quota(10)

    def test_a_policy_that_is_read_by_hand_and_put_back_at_once_is_put_back(self):
        redis = Redis(self)
        redis.cli("SET", "weir:policy", self.policy(self.window(10)))
        self.serve_from(f"{redis.url}/0/weir:policy")
        for _ in range(3):
            redis.cli("SET", "weir:policy", self.policy(self.window(20)))
            self.changed("POST", "/v1/policy:reload")
            redis.cli("SET", "weir:policy", self.policy(self.window(10)))
            self.wait_for_quota(10)


if __name__ == "__main__":
    harness.main()
