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


if __name__ == "__main__":
    harness.main()
