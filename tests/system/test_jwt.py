"""Users by JSON Web Token: tokens made with Python's own library and the openssl command, before the
gateway and forward-auth of the built program."""

import base64
import hashlib
import hmac
import json
import shutil
import subprocess
import sys
import time
import unittest

sys.path.insert(0, __file__.rsplit("/", 1)[0])
from harness import WEIR, Client, SystemTest, free_port, get, main, until  # noqa: E402

SECRET = "thirty-two bytes and a few more of secrecy"


def encode(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def token(sign, payload, algorithm, **header):
    parts = [encode(json.dumps(part).encode()) for part in ({"alg": algorithm, **header}, payload)]
    text = ".".join(parts)
    return text + "." + encode(sign(text.encode()))


def by_secret(secret):
    return lambda text: hmac.new(secret.encode(), text, hashlib.sha256).digest()


def raw_of_der(der):
    """r and s of an ECDSA signature, 32 bytes each, of their DER form."""
    numbers, at = [], 2
    for _ in range(2):
        size = der[at + 1]
        numbers.append(int.from_bytes(der[at + 2:at + 2 + size], "big").to_bytes(32, "big"))
        at += 2 + size
    return b"".join(numbers)


@unittest.skipUnless(shutil.which("openssl"), "openssl is not installed")
class Jwt(SystemTest):
    def key_pair(self, name, *options):
        private, public = self.folder / f"{name}.key", self.folder / f"{name}.pem"
        subprocess.run(["openssl", "genpkey", *options, "-out", private], check=True,
                       capture_output=True)
        subprocess.run(["openssl", "pkey", "-in", private, "-pubout", "-out", public], check=True,
                       capture_output=True)

        def sign(text):
            der = subprocess.run(["openssl", "dgst", "-sha256", "-sign", private], input=text,
                                 capture_output=True, check=True).stdout
            return raw_of_der(der) if name.startswith("ec") else der
        return public, sign

    def rsa(self, name="rsa"):
        return self.key_pair(name, "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048")

    def ec(self, name="ec"):
        return self.key_pair(name, "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256")

    def policy(self, keys, algorithms):
        self.port, self.api = free_port(), free_port()
        return f"""
gateway: {{ listen: 127.0.0.1:{self.port}, upstream: http://127.0.0.1:{self.upstream()} }}
api: {{ listen: 127.0.0.1:{self.api} }}
identity:
  trusted_proxies: [127.0.0.0/8]
  user: jwt:sub
  tier: jwt:plan
  jwt: {{ keys: {keys}, algorithms: [{algorithms}], issuer: https://id.test, audience: api }}
limits:
  - name: per_user
    key: [user]
    missing: deny
    algorithm: token_bucket
    rate: 1/h
    burst: 2
    tiers: {{ gold: {{ burst: 4 }} }}
"""

    @staticmethod
    def payload(user, **more):
        return {"sub": user, "iss": "https://id.test", "aud": ["web", "api"],
                "exp": int(time.time()) + 3600, **more}

    def statuses(self, bearer, count=1):
        headers = {"Authorization": f"Bearer {bearer}"} if bearer is not None else {}
        return [get(self.port, "/", headers).status for _ in range(count)]

    def refused_for_lack_of_a_user(self, bearer):
        headers = {"Authorization": f"Bearer {bearer}"} if bearer is not None else {}
        answer = get(self.port, "/", headers)
        return answer.status == 429 and json.loads(answer.text).get("reason") == "missing_key"

    def test_the_gateway_counts_users_by_their_tokens_and_believes_no_other(self):
        public, sign = self.rsa()
        process = self.serve(self.policy(public, "RS256"))
        ada = token(sign, self.payload("ada"), "RS256")
        self.assertEqual(self.statuses(ada, 3), [200, 200, 429])
        gold = token(sign, self.payload("bob", plan="gold"), "RS256")
        self.assertEqual(self.statuses(gold, 5), [200, 200, 200, 200, 429])
        stranger = self.rsa("stranger")[1]
        eve = self.payload("eve")
        bare = ".".join(token(sign, eve, "none").split(".")[:2]) + "."
        forged = [None, "", "x", bare, token(stranger, eve, "RS256"), token(sign, eve, "none"),
                  token(by_secret(public.read_text()), eve, "HS256"),
                  token(sign, {**eve, "exp": int(time.time()) - 3600}, "RS256"),
                  token(sign, {**eve, "nbf": int(time.time()) + 3600}, "RS256"),
                  token(sign, {**eve, "iss": "https://evil.test"}, "RS256"),
                  token(sign, {**eve, "aud": "web"}, "RS256")]
        for one in forged:
            self.assertTrue(self.refused_for_lack_of_a_user(one), one)
        self.assertEqual(self.statuses(token(sign, eve, "RS256")), [200])
        client = Client(self.port)
        self.addCleanup(client.close)
        client.connection.putrequest("GET", "/")
        for _ in range(2):
            client.connection.putheader("Authorization", f"Bearer {ada}")
        client.connection.endheaders()
        self.assertEqual(client.connection.getresponse().status, 400)
        self.assertNotIn(ada.split(".")[1], process.output)

    def test_forward_auth_counts_the_users_of_a_curve_and_of_a_secret(self):
        public, sign = self.ec()
        jwks = {"keys": [{"kty": "oct", "kid": "s", "k": encode(SECRET.encode())}]}
        for keys, algorithm, make in ((public, "ES256", sign),
                                      (self.write("set.json", json.dumps(jwks)), "HS256",
                                       by_secret(SECRET))):
            process = self.serve(self.policy(keys, algorithm))
            headers = {"X-Original-Method": "GET", "X-Original-URI": "/",
                       "Authorization": "bearer " + token(make, self.payload("ada"), algorithm)}
            found = [get(self.api, "/v1/forward-auth", headers).status for _ in range(3)]
            self.assertEqual(found, [200, 200, 429], algorithm)
            process.stop()

    def test_keys_are_read_again_when_they_change_and_wrong_ones_leave_the_old_in_force(self):
        keys = self.write("secret", SECRET + "\n")
        process = self.serve(self.policy(keys, "HS256"))
        first = token(by_secret(SECRET), self.payload("ada"), "HS256")
        self.assertEqual(self.statuses(first), [200])
        keys.write_text("short")
        process.wait_for("holds a secret of 5 bytes; HS256 wants 32 or more")
        self.assertEqual(self.statuses(first), [200])
        keys.write_text("another secret of more than thirty-two bytes")
        until(lambda: self.refused_for_lack_of_a_user(first), "the old secret is forgotten")
        second = token(by_secret("another secret of more than thirty-two bytes"),
                       self.payload("eve"), "HS256")
        self.assertEqual(self.statuses(second), [200])
        self.assertNotIn("another secret", process.output)

    def test_validate_says_what_is_wrong_with_the_keys(self):
        private, _ = self.folder / "rsa.key", self.rsa()
        path = self.write("bad.yaml", self.policy(private, "RS256"))
        done = subprocess.run([WEIR, "validate", path], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("holds a private key; the public one is enough here", done.stderr)


if __name__ == "__main__":
    main()
