"""What a refused client is told, in the forms that the policy may ask for: a page in a real Chromium
reads a refusal across origins, problems name the limits, and files word the body."""

import json
import unittest

import browser
import harness
from harness import Client, free_port, get, until

PREFLIGHTS = 'exempt: [{ method: OPTIONS, header.access-control-request-method: "*" }]'

# An API that lets pages of every origin in, as one behind the gateway would.
API = """
  add_header Access-Control-Allow-Origin $http_origin always;
  add_header Access-Control-Allow-Headers x-version always;
  add_header Access-Control-Max-Age 0 always;
  if ($request_method = OPTIONS) { return 204; }
  return 200 'hello';
"""

# Asks six times with a header of its own, so that each request has a preflight; tells what the
# script could read of each answer.
PAGE = """
<!doctype html><title>page</title><script>
async function ask() {
  try {
    const answer = await fetch("API_URL", { headers: { "X-Version": "1" } });
    return { status: answer.status, body: await answer.text(),
             retry: answer.headers.get("Retry-After"),
             limit: answer.headers.get("RateLimit"),
             policy: answer.headers.get("RateLimit-Policy"),
             remaining: answer.headers.get("X-RateLimit-Remaining") };
  } catch (error) { return { error: String(error) }; }
}
(async () => {
  const seen = [];
  for (let i = 0; i < 6; ++i) seen.push(await ask());
  window.seen = seen;
})();
</script>
"""


class Answers(harness.SystemTest):
    def gateway(self, upstream, response="", more=""):
        port = free_port()
        process = self.serve(f"""
gateway: {{ listen: 127.0.0.1:{port}, upstream: http://127.0.0.1:{upstream} }}
response: {{ {response} }}
limits: [{{ name: five, algorithm: token_bucket, rate: 5/h, burst: 5 }}]
{more}
""", name=f"weir-{port}.yaml")
        return port, process

    def refused(self, port, **options):
        client = Client(port)
        self.addCleanup(client.close)
        for _ in range(5):
            self.assertEqual(client.get("/").status, 200)
        answer = client.get("/", **options)
        self.assertEqual(answer.status, 429)
        return answer

    def page(self, gateway):
        """What a page of another origin sees of six requests to the gateway."""
        (self.folder / "page.html").write_text(PAGE.replace("API_URL", f"http://127.0.0.1:{gateway}/a"))
        port = self.upstream(f"root {self.folder};")
        window = browser.Browser(self)
        window.open(f"http://127.0.0.1:{port}/page.html")
        until(lambda: window.run("return window.seen !== undefined"), "six answers")
        return port, window.run("return window.seen")

    @unittest.skipUnless(browser.is_there(), "chromium and chromium-driver are not installed")
    def test_a_page_of_another_origin_reads_a_refusal_and_its_headers(self):
        gateway, _ = self.gateway(self.upstream(API), "cors: echo", PREFLIGHTS)
        _, seen = self.page(gateway)
        self.assertEqual([one.get("status") for one in seen], [200] * 5 + [429], seen)
        last = seen[-1]
        self.assertEqual(json.loads(last["body"])["limit"], "five")
        self.assertIn(int(last["retry"]), range(600, 721))
        self.assertEqual(last["limit"], f'"five";r=0;t={last["retry"]}')
        self.assertEqual(last["policy"], '"five";q=5;w=3600')
        self.assertEqual(last["remaining"], "0")

    @unittest.skipUnless(browser.is_there(), "chromium and chromium-driver are not installed")
    def test_without_cors_a_page_sees_a_network_error(self):
        gateway, _ = self.gateway(self.upstream(API), "cors: off", PREFLIGHTS)
        _, seen = self.page(gateway)
        self.assertEqual([one.get("status") for one in seen[:5]], [200] * 5, seen)
        self.assertIn("error", seen[-1])

    def test_a_problem_names_the_limits_that_refused(self):
        gateway, _ = self.gateway(self.upstream(), "body: problem+json")
        answer = self.refused(gateway)
        self.assertEqual(answer.headers["Content-Type"], "application/problem+json")
        problem = json.loads(answer.body)
        self.assertEqual(problem["type"],
                         "https://iana.org/assignments/http-problem-types#quota-exceeded")
        self.assertEqual((problem["status"], problem["violated-policies"]), (429, ["five"]))
        self.assertEqual(str(problem["retry_after"]), answer.headers["Retry-After"])

    def test_a_file_words_the_body_and_is_read_again_when_it_changes(self):
        body = self.write("refusal.html", "<p>50 % off, \"soon\": {{limit}}, {{retry_after}} s</p>\n")
        gateway, process = self.gateway(self.upstream(), f"body: {body}")
        answer = self.refused(gateway)
        self.assertEqual(answer.headers["Content-Type"], "text/html; charset=utf-8")
        wait = answer.headers["Retry-After"]
        self.assertEqual(answer.text, f'<p>50 % off, "soon": five, {wait} s</p>\n')
        body.write_text("<p>{{wait}}</p>\n")
        told = process.wait_for("'wait' is no placeholder")
        self.assertIn("line 1", told)
        self.assertIn("50 % off", get(gateway).text, "what was in force stays")
        body.write_text("<b>{{code}}</b>\n")
        until(lambda: get(gateway).text == "<b>RATE_LIMITED</b>\n", "the new words")

    def test_validate_tells_what_is_wrong_with_a_file(self):
        body = self.write("refusal.json", '{"wait": "{{retry_after}}",\n "limit": {{limit}}}\n')
        policy = self.write("weir.yaml", f"limits: []\nresponse: {{ body: {body} }}\n")
        process = self.weir("validate", policy)
        self.assertEqual(process.wait(), 2)
        self.assertIn("would not be JSON", process.output)
        self.assertIn("weir.yaml:2:19", process.output)


if __name__ == "__main__":
    harness.main()
