"""Forward-auth through real nginx and real Caddy, with the files of docs/proxies.md, and Express."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import unittest
from urllib.parse import urlsplit

sys.path.insert(0, __file__.rsplit("/", 1)[0])
from harness import (PATIENCE, ROOT, Client, SystemTest, free_port, get, is_open, main,  # noqa: E402
                     until)

NODE_MODULES = ROOT / "build" / "node" / "node_modules"
DOCS = (ROOT / "docs" / "proxies.md").read_text()


def post(port, path, body):
    client = Client(port)
    try:
        return client.request("POST", path, body=body)
    finally:
        client.close()


def block(language):
    """The fenced block of that language in docs/proxies.md."""
    return re.search(rf"^```{language}\n(.*?)^```$", DOCS, re.M | re.S).group(1)


class Proxies(SystemTest):
    def setUp(self):
        super().setUp()
        self.ports = {"8080": free_port(), "8081": free_port(), "3000": self.demo()}
        self.serve(self.on_free_ports(block("yaml")))

    def on_free_ports(self, text):
        for written, port in self.ports.items():
            text = text.replace(f"127.0.0.1:{written}", f"127.0.0.1:{port}")
        return text

    def check_limited(self):
        """Two pass, the third is refused with 429 and a wait; another path is not limited."""
        port = self.ports["8080"]
        until(lambda: is_open(port), "the proxy listens")
        spoof = {"X-Forwarded-For": "6.6.6.6", "X-Original-URI": "/free", "X-User-Id": "admin",
                 "X-Forwarded-Uri": "/free", "X-Forwarded-Method": "OPTIONS"}
        for left in ("1", "0"):
            answer = get(port, "/login", spoof)
            self.assertEqual(answer.status, 200, answer)
            self.assertIn('"/login"', answer.text)
        refused = get(port, "/login?again", {"X-Forwarded-For": "7.7.7.7"})
        self.assertEqual(refused.status, 429, refused)
        self.assertGreaterEqual(int(refused.headers["Retry-After"]), 1)
        self.assertEqual(refused.headers["X-RateLimit-Remaining"], "0")
        self.assertIn("RATE_LIMITED", refused.text)
        self.assertEqual(get(port, "/free").status, 200)

    def test_nginx(self):
        self.nginx(self.on_free_ports(block("nginx")))
        self.check_limited()

    @unittest.skipUnless(shutil.which("caddy"), "caddy is not installed")
    def test_caddy(self):
        path = self.write("Caddyfile", "{\n\tadmin off\n}\n" + self.on_free_ports(block("caddy")))
        self.start("caddy", "run", "--config", path, "--adapter", "caddyfile",
                   env={"HOME": str(self.folder)})
        self.check_limited()

    def test_traefiks_file_has_traefiks_shapes_and_weir_answers_what_it_asks(self):
        file = tomllib.loads(self.on_free_ports(block("toml")))["http"]
        [router] = file["routers"].values()
        self.assertEqual(set(router), {"rule", "middlewares", "service"})
        [server] = file["services"][router["service"]]["loadBalancer"]["servers"]
        self.assertEqual(list(server), ["url"])
        self.assertEqual(get(urlsplit(server["url"]).port, "/login").status, 200)
        [name] = router["middlewares"]
        [(kind, options)] = file["middlewares"][name].items()
        self.assertEqual(kind, "forwardAuth")
        shapes = {"address": str, "trustForwardHeader": bool, "authRequestHeaders": list}
        self.assertEqual({key: type(value) for key, value in options.items()}, shapes)
        self.assertFalse(options["trustForwardHeader"], "what clients say of themselves")
        # It asks by GET, names the request in headers of its own, and copies those that are listed.
        written = {"X-User-Id": "admin", "X-Plan": "gold", "Cookie": "a=b", "X-Original-URI": "/"}
        copied = {key: value for key, value in written.items()
                  if key.lower() in map(str.lower, options["authRequestHeaders"])}
        self.assertEqual(copied, {"Cookie": "a=b"})
        address = urlsplit(options["address"])
        asked = {"X-Forwarded-Method": "POST", "X-Forwarded-Proto": "https",
                 "X-Forwarded-Host": "shop.example.org", "X-Forwarded-Uri": "/login?x=1",
                 "X-Forwarded-For": "203.0.113.11", **copied}
        answers = [get(address.port, f"{address.path}?{address.query}", asked) for _ in range(3)]
        self.assertEqual([answer.status for answer in answers], [200, 200, 429])
        self.assertGreaterEqual(int(answers[2].headers["Retry-After"]), 1)

    def test_traefiks_headers(self):
        port = self.ports["8081"]
        asked = {"X-Forwarded-Method": "GET", "X-Forwarded-Uri": "/login?x=1",
                 "X-Forwarded-Host": "shop.test", "X-Forwarded-For": "203.0.113.9"}
        statuses = [get(port, "/v1/forward-auth?proxy=traefik", asked).status for _ in range(3)]
        self.assertEqual(statuses, [200, 200, 429])
        other = {**asked, "X-Forwarded-For": "203.0.113.10"}
        self.assertEqual(get(port, "/v1/forward-auth", other).status, 200)
        both = get(port, "/v1/forward-auth", {**other, "X-Original-URI": "/free"})
        self.assertEqual(both.status, 400)
        self.assertIn("are mixed", both.text)
        self.assertEqual(get(port, "/v1/forward-auth?proxy=traefik").status, 400)
        self.assertEqual(get(port, "/v1/forward-auth?proxy=apache", asked).status, 400)

    @unittest.skipUnless(NODE_MODULES.exists(), "the npm packages are not installed: ./dev test")
    def test_express(self):
        done = subprocess.run(["node", ROOT / "tests" / "node" / "express.js",
                               str(self.ports["8081"])], capture_output=True, text=True,
                              timeout=6 * PATIENCE,
                              env={**os.environ, "NODE_PATH": str(NODE_MODULES)})
        self.assertIn("express ok", done.stdout, done.stderr)


class Envoy(SystemTest):
    @unittest.skipUnless(NODE_MODULES.exists(), "the npm packages are not installed: ./dev test")
    def test_envoys_file_has_envoys_shapes_and_weir_answers_what_it_asks(self):
        done = subprocess.run(
            ["node", ROOT / "tests" / "node" / "envoy.js", ROOT / "examples/envoy/envoy.yaml"],
            capture_output=True, text=True, timeout=PATIENCE, check=False,
            env={**os.environ, "NODE_PATH": str(NODE_MODULES)})
        self.assertEqual(done.returncode, 0, done.stderr)
        asked = json.loads(done.stdout)
        policy = (ROOT / "examples/envoy/weir.yaml").read_text()
        self.assertIn(f"127.0.0.1:{asked['port']}", policy)
        api = free_port()
        self.serve(policy.replace(str(asked["port"]), str(free_port())) +
                   f"api: {{ listen: 127.0.0.1:{api} }}\n", name="envoy.yaml")
        values = {"remote_address": "203.0.113.7", "method": "POST", "path": "/login"}
        entries = [{"key": key, "value": values[key]} for key in asked["keys"]]
        message = json.dumps({"domain": asked["domain"], "descriptors": [{"entries": entries}]})
        answers = [post(api, "/json", message) for _ in range(6)]
        self.assertEqual([answer.status for answer in answers], [200] * 5 + [429])
        [status] = json.loads(answers[-1].text)["statuses"]
        self.assertEqual(status["currentLimit"],
                         {"requestsPerUnit": 1, "unit": "MINUTE", "name": "login"})


class Untrusted(SystemTest):
    def test_a_caller_that_is_no_trusted_proxy_is_told_the_setting(self):
        port = free_port()
        self.serve(f"api: {{ listen: 127.0.0.1:{port} }}\nlimits: []\n")
        answer = get(port, "/v1/forward-auth", {"X-Original-URI": "/", "X-Original-Method": "GET"})
        self.assertEqual(answer.status, 400)
        self.assertIn("identity.trusted_proxies", answer.text)


if __name__ == "__main__":
    main()
