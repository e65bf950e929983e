"""docs/openapi.yaml held against the running check API, and the API's own promises."""

import json
import os
import socket
import subprocess
import sys
import unittest

sys.path.insert(0, __file__.rsplit("/", 1)[0])
from harness import PATIENCE, ROOT, Client, SystemTest, free_port, main  # noqa: E402

NODE_MODULES = ROOT / "build" / "node" / "node_modules"
SPEC = json.loads((ROOT / "docs" / "openapi.yaml").read_text())
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int,
         "number": (int, float), "null": type(None)}
POLICY = """
api: {{ listen: 127.0.0.1:{port}, adhoc: true }}
identity: {{ trusted_proxies: [127.0.0.0/8] }}
limits:
  - {{ name: login, match: {{ path: /login }}, key: [ip], algorithm: token_bucket, rate: 0.2/s, burst: 5 }}
"""


def mistakes(value, schema, where="$"):
    """What of `value` is not as `schema` says: the part of JSON Schema that the file uses."""
    if "$ref" in schema:
        return mistakes(value, SPEC["components"]["schemas"][schema["$ref"].split("/")[-1]], where)
    found = []
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    right = any(isinstance(value, TYPES[k]) and not (k != "boolean" and isinstance(value, bool))
                for k in kinds)
    if kinds and not right:
        return [f"{where} is {value!r}, wants {kinds}"]
    if "enum" in schema and value not in schema["enum"]:
        found.append(f"{where} is {value!r}, wants one of {schema['enum']}")
    if isinstance(value, dict):
        found += [f"{where}.{n} is missing" for n in schema.get("required", []) if n not in value]
        known = schema.get("properties", {})
        for name, member in value.items():
            if name in known:
                found += mistakes(member, known[name], f"{where}.{name}")
            elif "properties" in schema:
                found.append(f"{where}.{name} is not in the file")
    if isinstance(value, list):
        for i, item in enumerate(value):
            found += mistakes(item, schema.get("items", {}), f"{where}[{i}]")
    return found


class Api(SystemTest):
    def setUp(self):
        super().setUp()
        self.port = free_port()
        self.serve(POLICY.format(port=self.port))
        self.client = Client(self.port)
        self.addCleanup(self.client.close)

    def post(self, path, body):
        return self.client.request("POST", path, body=json.dumps(body))

    def test_every_answer_that_the_openapi_file_describes(self):
        sent = 0
        for path, item in SPEC["paths"].items():
            for method, operation in item.items():
                for status, response in operation.get("responses", {}).items() \
                        if method != "parameters" else ():
                    request = response.get("x-request")
                    if request is None:
                        continue
                    sent += 1
                    body = self.body_of(request)
                    answer = self.client.request(method.upper(), request["path"],
                                                 request.get("headers"), body)
                    label = f"{method} {path} {status}"
                    self.assertEqual(answer.status, int(status), f"{label}: {answer}")
                    for kind, content in response.get("content", {}).items():
                        self.assertTrue(answer.headers["Content-Type"].startswith(kind), label)
                        wrong = mistakes(json.loads(answer.text), content["schema"])
                        self.assertEqual(wrong, [], f"{label}: {answer}")
        self.assertGreater(sent, 15)

    def body_of(self, request):
        if "body" not in request:
            return None
        body = json.dumps(request["body"])
        if "decide" in request:
            decision = json.loads(self.post("/v1/check", request["decide"]).text)
            body = body.replace("$id", decision["id"])
        if "first" in request:
            self.client.request("POST", request["first"], body=body)
        return body

    @unittest.skipUnless(NODE_MODULES.exists(), "the npm packages are not installed: ./dev test")
    def test_a_validator_and_ajv_find_the_openapi_file_and_the_answers_right(self):
        done = subprocess.run(
            ["node", ROOT / "tests" / "node" / "openapi.js", str(self.port),
             ROOT / "docs" / "openapi.yaml"], capture_output=True, text=True,
            timeout=6 * PATIENCE, env={**os.environ, "NODE_PATH": str(NODE_MODULES)})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("openapi ok", done.stdout)

    def test_a_batch_is_decided_in_order_each_on_its_own(self):
        one = {"attributes": {"ip": "203.0.113.7", "path": "/login"}}
        answer = self.post("/v1/check", {"checks": [one] * 6 + [{**one, "cost": 0}]})
        self.assertEqual(answer.status, 200)
        decisions = json.loads(answer.text)["decisions"]
        self.assertEqual([d["allowed"] for d in decisions], [True] * 5 + [False, True])
        self.assertEqual([d["remaining"] for d in decisions], [4, 3, 2, 1, 0, 0, 0])
        many = self.post("/v1/check", {"checks": [one] * 1001})
        self.assertEqual(many.status, 400)
        wrong = self.post("/v1/check", {"checks": [
            {"attributes": {"ip": "203.0.113.9", "path": "/login"}}, {"attributes": {"ip": "x"}}]})
        self.assertEqual((wrong.status, json.loads(wrong.text)["field"]),
                         (400, "checks[1].attributes.ip"))
        look = self.client.get("/v1/limits/login/keys?key=203.0.113.9")
        self.assertEqual(json.loads(look.text)["remaining"], 5)  # nothing was charged

    def test_a_key_that_the_limit_does_not_have_is_named(self):
        keys = "/v1/limits/login/keys?key="
        for answer in (self.post("/v1/limits/login/take", {"key": ["a", "b"]}),
                       self.post("/v1/limits/login/take", {"key": ["no address"]}),
                       self.post("/v1/limits/login/refund", {"key": [], "cost": 1}),
                       self.client.get(keys + "x"), self.client.request("DELETE", keys + "x")):
            self.assertEqual((answer.status, json.loads(answer.text).get("field")), (400, "key"))

    def test_numbers_that_come_with_the_call(self):
        call = {"key": "user:1", "rate": "2/60s"}
        statuses = [self.post("/v1/check", call).status for _ in range(3)]
        self.assertEqual(statuses, [200, 200, 429])
        self.assertEqual(self.post("/v1/check", {**call, "key": "user:2"}).status, 200)
        never = self.post("/v1/check", {**call, "key": "user:3", "cost": 9})
        self.assertEqual(never.status, 429)
        self.assertIsNone(json.loads(never.text)["retry_after"])
        self.assertNotIn("Retry-After", never.headers)

    def test_numbers_that_cannot_be_held_refuse_the_whole_batch(self):
        fresh = {"key": "batch:1", "rate": "2/60s"}
        never = {"key": "batch:2", "rate": "1/day", "burst": 10 ** 15}
        answer = self.post("/v1/check", {"checks": [fresh, never]})
        self.assertEqual(answer.status, 400, answer)
        self.assertEqual(json.loads(answer.text)["field"], "checks[1].rate")
        statuses = [self.post("/v1/check", fresh).status for _ in range(3)]
        self.assertEqual(statuses, [200, 200, 429])  # nothing was charged
        alone = self.post("/v1/check", never)
        self.assertEqual((alone.status, json.loads(alone.text)["field"]), (400, "rate"))

    def test_forward_auth_takes_no_request_from_halves_of_two_families(self):
        nginx = {"X-Original-Method": "POST", "X-Original-URI": "/login"}
        traefik = {"X-Forwarded-Method": "POST", "X-Forwarded-Uri": "/login"}
        both = {**nginx, **traefik}
        mixed = {"X-Original-URI": "/login", "X-Forwarded-Method": "POST"}
        for headers, status in ((nginx, 200), (traefik, 200), (both, 200), (mixed, 400),
                                ({**both, "X-Forwarded-Uri": "/other"}, 400)):
            self.assertEqual(self.client.get("/v1/forward-auth", headers).status, status, headers)

    def test_take_look_refund_and_reset_share_one_counter(self):
        take = lambda cost=1: self.post("/v1/limits/login/take",  # noqa: E731
                                        {"key": ["203.0.113.7"], "cost": cost})
        path = "/v1/limits/login/keys?key=203.0.113.7"
        self.assertEqual(take(5).status, 200)
        self.assertEqual(take().status, 429)
        self.post("/v1/limits/login/refund", {"key": ["203.0.113.7"], "cost": 2})
        self.assertEqual(json.loads(self.client.get(path).text)["remaining"], 2)
        self.assertEqual(self.client.request("DELETE", path).status, 200)
        self.assertEqual(json.loads(self.client.get(path).text)["remaining"], 5)

    def test_pipelined_checks_are_answered_in_order(self):
        body = b'{"attributes":{"ip":"203.0.113.77","path":"/login"}}'
        one = (b"POST /v1/check HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n" % len(body)) + body
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE) as raw:
            raw.sendall(one * 8)
            text = b""
            while text.count(b'"limits":') < 8:
                text += raw.recv(65536)
        statuses = [line.split()[1] for line in text.split(b"\r\n") if line.startswith(b"HTTP/")]
        # Behind each body the next head follows without a line end of its own.
        found = [part[:3] for part in text.split(b"HTTP/1.1 ")[1:]]
        self.assertEqual(found, [b"200"] * 5 + [b"429"] * 3, statuses)


if __name__ == "__main__":
    main()
