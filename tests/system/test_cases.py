"""Faults that other limiters shipped, tried on the running gateway: client addresses, paths, hosts,
keys, and what is charged. The same cases stand as unit tests beside the code that decides them."""

import http.client
import json
import socket

import harness

POLICY = """
limits:
{limits}
identity: {identity}
gateway: {{ listen: 127.0.0.1:{listen}, upstream: http://127.0.0.1:{upstream} }}
"""

# One call an hour each, so that the second of the same client is refused.
PER_IP = "  - { name: per_ip, key: [ip], algorithm: token_bucket, rate: 1/h, burst: 1 }\n"
PER_KEY = "  - { name: per_key, key: [header.x-api-key], algorithm: token_bucket, rate: 1/h, burst: 1 }\n"


class Cases(harness.SystemTest):
    def gateway(self, limits, identity="{ trusted_proxies: [127.0.0.1] }", upstream=None):
        self.listen = harness.free_port()
        port = self.upstream() if upstream is None else upstream
        return self.serve(POLICY.format(limits=limits, identity=identity, listen=self.listen,
                                        upstream=port))

    def raw(self, text):
        """The status of a request sent byte for byte; all of the answer in self.answer."""
        with socket.create_connection(("127.0.0.1", self.listen), harness.PATIENCE) as peer:
            peer.sendall(text.encode("latin-1"))
            self.answer = b""
            while chunk := peer.recv(65536):
                self.answer += chunk
        return int(self.answer.split(b" ", 2)[1])

    def raw_status(self, target, method="GET"):
        """The status of a request whose target goes out as it stands."""
        return self.raw(f"{method} {target} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")

    def status_from(self, peer):
        """The status of a request that comes from this address of the loopback network."""
        connection = http.client.HTTPConnection("127.0.0.1", self.listen, harness.PATIENCE,
                                                source_address=(peer, 0))
        try:
            connection.request("GET", "/")
            return connection.getresponse().status
        finally:
            connection.close()

    def validated(self, more, code, key="ip"):
        """What validate says of a policy with one limit and `more`."""
        path = self.write("checked.yaml", "limits: [{ name: a, key: [\"" + key + "\"], algorithm: "
                          "token_bucket, rate: 1/s }]\n"
                          "gateway: { listen: 127.0.0.1:8080, upstream: http://127.0.0.1:3000 }\n"
                          + more + "\n")
        process = self.weir("validate", path)
        self.assertEqual(process.wait(), code, process.output)
        return process.output

    def ask(self, path="/", **headers):
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        return harness.get(self.listen, path, names).status

    def statuses(self, *forwarded):
        return [self.ask(X_Forwarded_For=value) for value in forwarded]

    def test_the_leftmost_address_is_not_believed(self):
        self.gateway(PER_IP)
        answers = self.statuses(*[f"10.9.8.{n}, 203.0.113.5" for n in range(20)])
        self.assertEqual(answers, [200] + [429] * 19)
        self.assertEqual(self.statuses("198.51.100.9"), [200])

    def test_a_peer_that_is_not_trusted_is_the_client_whatever_it_says(self):
        self.gateway(PER_IP, "{ trusted_proxies: [192.0.2.0/24] }")
        answers = [self.ask(**{name: value}) for name, value in (
            ("X_Forwarded_For", "198.51.100.1"), ("X_Real_IP", "198.51.100.1"),
            ("Forwarded", "for=198.51.100.1"), ("True_Client_IP", "198.51.100.1"),
            ("CF_Connecting_IP", "198.51.100.1"))]
        self.assertEqual(answers, [200] + [429] * 4)

    def test_several_lines_are_one_list(self):
        self.gateway(PER_IP)
        for expected in (200, 429):
            self.assertEqual(self.raw(
                "GET / HTTP/1.1\r\nHost: h\r\nX-Forwarded-For: 198.51.100.66\r\n"
                "X-Forwarded-For: 203.0.113.5\r\nConnection: close\r\n\r\n"), expected)
        self.assertEqual(self.statuses("203.0.113.5", "198.51.100.66"), [429, 200])

    def test_words_in_place_of_addresses_are_the_peer(self):
        self.gateway(PER_IP)
        words = ["unknown", "", ",", ", ,", "localhost", "1.2.3", "01.02.03.04", "0x7f.1",
                 "999.1.1.1", "_hidden", "," * 8000]
        self.assertEqual(self.statuses(*words), [200] + [429] * (len(words) - 1))
        self.assertEqual(self.raw("GET / HTTP/1.1\r\nHost: h\r\nX-Forwarded-For: 1.2.3.4\0\r\n"
                                  "Connection: close\r\n\r\n"), 400)

    def test_a_network_of_64_bits_is_one_client(self):
        self.gateway(PER_IP)
        self.assertEqual(self.statuses("2001:db8:1:2::1", "2001:db8:1:2:a:b:c:d",
                                       "2001:0DB8:0001:0002:0::9", "2001:db8:1:3::1",
                                       "203.0.113.9", "::ffff:203.0.113.9", "::ffff:cb00:7109"),
                         [200, 429, 429, 200, 200, 429, 429])

    def test_a_header_that_spells_an_address_is_not_that_client(self):
        self.gateway("  - { name: either, key: [header.x-api-key|ip], algorithm: token_bucket, "
                     "rate: 1/h, burst: 1 }\n")
        self.assertEqual(self.ask(X_Api_Key="203.0.113.5", X_Forwarded_For="198.51.100.1"), 200)
        self.assertEqual(self.ask(X_Forwarded_For="203.0.113.5"), 200)

    def test_a_query_does_not_split_the_counter(self):
        self.gateway("  - { name: items, match: { path: /api/items }, algorithm: token_bucket, "
                     "rate: 1/h, burst: 1 }\n")
        paths = ["/api/items", "/api/items?a=1", "/api/items?a=2", "/api/items?", "/api/items;v=1",
                 "/api/items/", "//api/./items", "/x/..//api/items", "/api/%69tems"]
        self.assertEqual([self.ask(path) for path in paths], [200] + [429] * (len(paths) - 1))
        self.assertEqual(self.raw("GET /api/items#frag HTTP/1.1\r\nHost: h\r\n"
                                  "Connection: close\r\n\r\n"), 400)
        self.assertEqual(self.ask("/api/Items"), 200)

    def test_header_names_are_found_in_any_case(self):
        self.gateway(PER_KEY)
        self.assertEqual([self.ask(**{"x-api-key": "k"}), self.ask(**{"X-API-KEY": "k"}),
                          self.ask(**{"X-Api-Key": "other"})], [200, 429, 200])

    def test_one_host_in_four_spellings(self):
        self.gateway("  - { name: host, match: { host: api.example.test }, algorithm: token_bucket, "
                     "rate: 1/h, burst: 1 }\n")
        hosts = ["API.Example.TEST", "api.example.test.", "api.example.test:80",
                 "api.example.test:443"]
        self.assertEqual([self.ask(Host=host) for host in hosts], [200, 429, 429, 429])
        self.assertEqual(self.ask(Host="other.test"), 200)

    def test_methods_are_not_folded_and_not_overridden(self):
        self.gateway("  - { name: post, match: { method: POST }, algorithm: token_bucket, "
                     "rate: 1/h, burst: 1 }\n")
        line = "{} / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n{}Connection: close\r\n\r\n"
        self.assertEqual(self.raw(line.format("POST", "X-HTTP-Method-Override: GET\r\n")), 200)
        self.assertEqual(self.raw(line.format("POST", "X-HTTP-Method-Override: GET\r\n")), 429)
        self.assertNotEqual(self.raw(line.format("post", "")), 429)

    def test_a_faulty_upstream_is_charged_and_never_a_429(self):
        self.gateway("  - { name: all, algorithm: token_bucket, rate: 1/h, burst: 5 }\n",
                     upstream=harness.free_port())
        answers = [harness.get(self.listen) for _ in range(6)]
        self.assertEqual([a.status for a in answers], [502] * 5 + [429])
        self.assertEqual(json.loads(answers[0].text)["code"], "UPSTREAM_UNREACHABLE")
        self.assertEqual(answers[4].headers["X-RateLimit-Remaining"], "0")

    def test_long_keys_that_differ_in_their_last_byte_are_two_keys(self):
        self.gateway(PER_KEY)
        long = "k" * 8000
        self.assertEqual([self.ask(X_Api_Key=long + "a"), self.ask(X_Api_Key=long + "b"),
                          self.ask(X_Api_Key=long + "a")], [200, 200, 429])
        try:
            self.assertEqual(self.ask(X_Api_Key="k" * 100_000), 431)
        except (ConnectionError, http.client.HTTPException) as error:
            self.fail(f"the refusal must be read, not reset: {error}")

    def test_a_hundred_clients_at_once_get_exactly_the_limit(self):
        self.gateway("  - { name: all, algorithm: token_bucket, rate: 1/day, burst: 40 }\n")
        peers = [socket.create_connection(("127.0.0.1", self.listen), harness.PATIENCE)
                 for _ in range(100)]
        for peer in peers:
            peer.sendall(b"GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
        statuses = []
        for peer in peers:
            with peer:
                statuses.append(int(peer.recv(65536).split(b" ", 2)[1]))
        self.assertEqual((statuses.count(200), statuses.count(429)), (40, 60))

    def test_the_bits_that_are_one_client_can_be_chosen_and_cannot_be_nonsense(self):
        self.gateway(PER_IP, "{ trusted_proxies: [127.0.0.1], ipv6_prefix: 56 }")
        self.assertEqual(self.statuses("2001:db8:1:200::1", "2001:db8:1:2ff::1",
                                       "2001:db8:1:300::1"), [200, 429, 200])
        self.assertIn("129", self.validated("identity: { ipv6_prefix: 129 }", 2))
        self.assertIn("all of IPv6 is one client", self.validated("identity: { ipv6_prefix: 0 }", 0))

    def test_a_header_that_nobody_is_trusted_to_send_is_told_of(self):
        self.assertIn("trusted_proxies is empty",
                      self.validated("identity: { client_ip: x-forwarded-for }", 0))

    def test_a_chain_of_proxies_alone_is_never_a_client_without_an_address(self):
        self.gateway(PER_IP, "{ trusted_proxies: [127.0.0.0/8] }")
        self.assertEqual(self.statuses("127.0.0.8", "127.0.0.9, 127.0.0.7", "127.0.0.8",
                                       "127.0.0.9"), [200, 200, 429, 429])
        self.assertEqual([self.status_from(peer) for peer in
                          ("127.0.0.4", "127.0.0.5", "127.0.0.4")], [200, 200, 429])

    def test_forwarded_is_read_as_its_standard_writes_it(self):
        self.gateway(PER_IP, "{ trusted_proxies: [127.0.0.1, 192.0.2.0/24], client_ip: forwarded }")

        def is_the_client(value, address):
            """Whether a request of that address finds its one call spent by the header's."""
            self.assertIn(self.ask(Forwarded=value), (200, 429))
            return self.ask(Forwarded=f'for="{address}"') == 429
        self.assertTrue(is_the_client('for="[2001:db8:1::1]:4711";proto=https, for=192.0.2.20',
                                      "[2001:db8:1::1]"))
        self.assertTrue(is_the_client("For=203.0.113.5", "203.0.113.5"))
        self.assertTrue(is_the_client('for=198.51.100.1;by=x;host="a,b"', "198.51.100.1"))
        # The peer: it has one call, whichever form it is that says nothing.
        peers = [self.ask(Forwarded=value) for value in
                 ("for=_secret", "for=unknown", 'for="203.0.113.77', "")]
        self.assertEqual(peers, [200] + [429] * 3)
        # Of two headers, the configured one alone.
        self.assertEqual(self.ask(Forwarded="for=203.0.113.8", X_Forwarded_For="203.0.113.5"), 200)
        self.assertEqual(self.ask(X_Forwarded_For="203.0.113.9"), 429)

    def test_slashes_and_dots_do_not_escape_a_path_and_a_backslash_is_none(self):
        self.gateway("  - { name: login, match: { path: /login }, algorithm: token_bucket, "
                     "rate: 1/h, burst: 1 }\n"
                     "  - { name: api, match: { path: '/api/*' }, algorithm: token_bucket, "
                     "rate: 1/h, burst: 1 }\n")
        paths = ["/login", "//login", "/./login", "///login", "/x/..//login", "/x/%2e%2e/login",
                 "/%6Cogin"]
        self.assertEqual([self.raw_status(path) for path in paths], [200] + [429] * 6)
        self.assertEqual([self.raw_status(path) for path in ("/api//x", "/api/y", "/api/x/")],
                         [200, 429, 429])
        for path in ("/\\login", "/login\\"):
            self.assertNotEqual(self.raw_status(path), 429)
        self.assertEqual(self.raw_status("\\login"), 400)

    def test_head_counts_as_get_and_get_not_as_head(self):
        self.gateway("  - { name: reads, match: { method: GET }, key: [method], algorithm: "
                     "token_bucket, rate: 1/h, burst: 2 }\n"
                     "  - { name: heads, match: { method: HEAD }, algorithm: token_bucket, "
                     "rate: 1/h, burst: 1 }\n")
        self.assertEqual([self.raw_status("/", method) for method in
                          ("HEAD", "HEAD", "GET", "GET")], [200, 429, 200, 429])

    def test_a_name_in_another_spelling_is_another_key_but_for_outer_blanks(self):
        self.gateway(PER_KEY)
        self.assertEqual([self.ask(X_Api_Key=key) for key in (
            "victim@example.test", " victim@example.test ", "\tvictim@example.test\t",
            "Victim@Example.test", "victim@example.test%00")], [200, 429, 429, 200, 200])
        # An empty one is no shared key with a missing one, which is not counted.
        self.assertEqual([self.ask(X_Api_Key=""), self.ask(), self.ask()], [200] * 3)

    def test_a_value_cannot_spell_the_key_of_somebody_else(self):
        self.gateway("  - { name: pair, key: [header.a, header.b], algorithm: token_bucket, "
                     "rate: 1/h, burst: 1 }\n")
        pairs = [("203.0.113.1", "/2/x"), ("203.0.113.1/2", "/x"), ("a:b", "c"), ("a", "b:c"),
                 ("a|b", "c"), ("a", "b|c"), ("a_b", "c"), ("a", "b_c"), ("a,b", "c"), ("a", "b,c"),
                 ("a b=c", "d"), ("a", "b=c d"), ("{tag}", "x"), ("{tag}x", "x"), ("}:a", "x"),
                 ("}", ":ax"), ("1", "12"), ("11", "2"), ("%31", "12"), ("a\\", "b"), ("a", "\\b")]
        self.assertEqual([self.ask(a=a, b=b) for a, b in pairs], [200] * len(pairs))
        self.assertEqual([self.ask(a=a, b=b) for a, b in pairs], [429] * len(pairs))

    def test_a_pseudo_header_is_no_attribute(self):
        self.assertIn(":authority", self.validated("", 2, key="header.:authority"))

    def test_a_key_that_is_a_secret_is_told_nowhere_where_keys_are_hashed(self):
        admin, secret = harness.free_port(), "tok_live_neutral_123456"
        token = {"Authorization": "Bearer t"}
        process = self.gateway(PER_KEY + f"admin: {{ listen: 127.0.0.1:{admin}, token: t }}\n"
                               "metrics: { keys: hashed }\nlog: { denials: 100 }\n")
        self.assertEqual([self.ask(X_Api_Key=secret) for _ in range(3)], [200, 429, 429])
        told = [harness.get(admin, path, token) for path in
                ("/metrics", "/v1/stats", "/v1/events", "/v1/policy", "/debug/policy",
                 "/debug/stats")]
        override = f"/v1/limits/per_key/overrides/{secret}"
        for method, path, body in (("PUT", override, {"burst": 2}), ("DELETE", override, None),
                                   ("POST", "/v1/bans", {"match": {"header.x-api-key": secret}}),
                                   ("DELETE", f"/v1/limits/per_key/keys?key={secret}", None)):
            sent = None if body is None else json.dumps(body)
            client = harness.Client(admin)
            self.assertEqual(client.request(method, path, token, sent).status, 200, path)
            client.close()
        told += [harness.get(admin, path, token) for path in ("/v1/stats", "/v1/events", "/readyz")]
        self.assertEqual({answer.status for answer in told}, {200})
        process.stop()
        self.assertIn("refused", process.output)
        self.assertIn("change: set", process.output)
        for text in [process.output] + [answer.text for answer in told]:
            self.assertNotIn(secret, text)


if __name__ == "__main__":
    harness.main()
