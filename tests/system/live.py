"""What the tests of changing policies share: weir with an api and an admin listener."""

import json

import harness


class LiveTest(harness.SystemTest):
    """weir with an api and an admin listener, and a policy that tests rewrite."""

    TOKEN = "test-token"

    def setUp(self):
        super().setUp()
        self.api, self.admin = self.free_ports(2)

    @staticmethod
    def free_ports(count):
        """That many, no two of them the same."""
        ports = set()
        while len(ports) < count:
            ports.add(harness.free_port())
        return list(ports)

    def policy(self, limits, api=None, admin=None, more=""):
        return (f"limits: {limits}\n"
                f"api: {{ listen: 127.0.0.1:{api or self.api} }}\n"
                f"admin: {{ listen: 127.0.0.1:{admin or self.admin}, token: {self.TOKEN} }}\n"
                f"{more}")

    @staticmethod
    def window(limit, name="w"):
        return (f"[{{ name: {name}, key: [user], algorithm: fixed_window, limit: {limit}, "
                "window: month }]")

    def check(self, user="a", api=None, **more):
        body = json.dumps({"attributes": {"user": user}, **more})
        return json.loads(self.call(api or self.api, "POST", "/v1/check", body).text)

    def call(self, port, method, path, body=None, token=None):
        headers = {"Authorization": "Bearer " + token} if token else {}
        client = harness.Client(port)
        try:
            return client.request(method, path, headers, body)
        finally:
            client.close()

    def control(self, method, path, body=None, admin=None):
        """A call of the admin API, with its token; what it answered, as (status, value)."""
        answer = self.call(admin or self.admin, method, path,
                           None if body is None else json.dumps(body), self.TOKEN)
        return answer.status, json.loads(answer.text)

    def changed(self, method, path, body=None, admin=None):
        """A change that must succeed; what it answered."""
        status, value = self.control(method, path, body, admin)
        self.assertEqual(status, 200, value)
        return value

    def status(self, admin=None):
        return json.loads(harness.get(admin or self.admin, "/readyz").text)

    def quota(self, api=None):
        return self.check("look", api, cost=0)["quota"]

    def wait_for_quota(self, quota, api=None):
        harness.until(lambda: self.quota(api) == quota, f"a quota of {quota}")
