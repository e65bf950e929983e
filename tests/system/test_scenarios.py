"""Every scenario of tests/scenario/corpus, asked of the running program through its check API.

The format is told in tests/scenario/scenario.h. Each limit counts by an attribute of its own, so that
a check meets those whose attribute it sends. The program's clock is moved to each step's moment.
What was charged at a time is corrected by the id of that decision, once. What this door does not show
is passed over: `next`, which no answer of it tells.
"""

import json
import re
from datetime import datetime, timezone
from decimal import Decimal

import harness

CORPUS = harness.ROOT / "tests" / "scenario" / "corpus"
SECOND = 1_000_000_000
UNITS = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": SECOND, "m": 60 * SECOND, "h": 3600 * SECOND,
         "d": 86_400 * SECOND, "w": 7 * 86_400 * SECOND}


def nanoseconds(text):
    """2, 0.5, 250ms, 7d."""
    number, unit = re.fullmatch(r"(-?[0-9.]+)([a-z]*)", text).groups()
    return int(Decimal(number) * UNITS[unit or "s"])


def instant(text):
    if text.isdigit():
        return int(text)
    when = datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=timezone.utc)
    return int(when.timestamp()) * SECOND


def waited(said):
    """Nanoseconds until the same call is admitted, or a bound of it; none where no wait helps."""
    wait = said["retry_after"] if said["retry_after"] is not None else said.get("retry_at_most")
    return None if wait is None else int(wait * SECOND)


class Limit:
    def __init__(self, words):
        self.name, algorithm, *settings = words
        shadow = "shadow" in settings
        self.counts_calls_in_flight = algorithm == "concurrency"
        self.fields = [f"name: {self.name}", f"algorithm: {algorithm}", f"key: [k_{self.name}]"]
        self.fields += self.numbers(algorithm, [word for word in settings if word != "shadow"])
        self.fields += ["mode: shadow"] if shadow else []

    @staticmethod
    def numbers(algorithm, words):
        pairs = [[]]
        for word in words:
            if word == "and":
                pairs.append([])
            else:
                pairs[-1].append(word.replace("=", ": ", 1))
        if len(pairs) == 1:
            return pairs[0]
        tables = ", ".join("{ " + ", ".join(pair) + " }" for pair in pairs)
        return [f"{'buckets' if algorithm.endswith('bucket') else 'windows'}: [{tables}]"]

    def written(self):
        return "  - { " + ", ".join(self.fields) + " }\n"


class Charged:
    """A decision that was admitted, and what can still become of it."""

    def __init__(self, at, keys, cost, id):
        self.at, self.keys, self.cost, self.id, self.corrected = at, keys, cost, id, False


class Scenario:
    def __init__(self, path):
        self.start, self.limits, self.steps = instant("2026-01-01T00:00:00Z"), {}, []
        for number, line in enumerate(path.read_text().splitlines(), 1):
            words = line.split("#", 1)[0].split()
            if not words:
                continue
            if words[0] == "start":
                self.start = instant(words[1])
            elif words[0] == "limit":
                limit = Limit(words[1:])
                self.limits[limit.name] = limit
            else:
                self.steps.append((number, nanoseconds(words[0]), words[1:]))


class Scenarios(harness.SystemTest):
    def play(self, path):
        scenario = Scenario(path)
        self.charged = []
        self.limits, self.port = dict(scenario.limits), harness.free_port()
        checked = self.weir("validate", self.write("weir.yaml", self.policy()))
        if checked.wait() != 0 and "not built yet" in checked.output:
            self.skipTest("the policy cannot say it yet")
        if "above the largest number" in checked.output:
            self.skipTest("the numbers of a policy file end at 2^63 - 1")
        clock_path = self.folder / "clock"
        self.program = self.serve(self.policy(), "--test-clock", clock_path)
        clock = harness.TestClock(clock_path)
        self.addCleanup(clock.close)
        self.client = harness.Client(self.port)
        self.addCleanup(self.client.close)
        wall_ahead = 0

        def move(ns):
            self.now = ns
            clock.set(scenario.start + ns, scenario.start + ns + wall_ahead)

        for number, at, words in scenario.steps:
            self.where = f"{path.name}:{number}: {' '.join(words)}"
            move(at)
            if words[0] == "wall":
                wall_ahead += nanoseconds(words[1])
            elif words[0] == "limit":
                self.reload(Limit(words[1:]))
            elif "charged" in words:
                self.correct(words[0], words[1], int(words[2]), nanoseconds(words[4]))
            elif words[0] in ("refund", "reset"):
                self.give_back(*words)
            else:
                self.take(words, lambda ns, at=at: move(at + ns))

    def policy(self):
        names = ", ".join(f"k_{name}" for name in self.limits)
        return (f"attributes: [{names}]\n"
                f"limits:\n{''.join(limit.written() for limit in self.limits.values())}"
                f"api: {{ listen: 127.0.0.1:{self.port} }}\n")

    def reload(self, limit):
        self.limits[limit.name] = limit
        self.write("weir.yaml", self.policy())
        seen = len(self.program.lines)
        self.program.signal(harness.signal.SIGHUP)
        self.program.wait_for("is in force", after=seen)

    def keys(self, word):
        """limit -> key: k is that of all, a=1,b=2 are those of some."""
        if "=" not in word:
            return {name: word for name in self.limits}
        return dict(pair.split("=", 1) for pair in word.split(","))

    def give_back(self, verb, word, cost=None):
        for name, key in self.keys(word).items():
            if verb == "reset":
                answer = self.client.request("DELETE", f"/v1/limits/{name}/keys?key={key}")
            else:
                body = json.dumps({"key": [key], "cost": int(cost)})
                answer = self.client.request("POST", f"/v1/limits/{name}/refund", body=body)
            self.assertEqual(answer.status, 200, f"{self.where}: {answer}")

    def correct(self, verb, word, cost, at):
        """By the newest decision of then for these keys, if it can be one that was not corrected."""
        found = [one for one in reversed(self.charged)
                 if (one.at, one.keys) == (at, self.keys(word))]
        one = next((one for one in found if not one.corrected), found[0])
        in_flight = any(self.limits[name].counts_calls_in_flight for name in one.keys)
        if verb == "renew" or in_flight:
            verb, body = "renew" if verb == "renew" else "refund", {}
        else:
            verb, body = "settle", {"cost": one.cost + (cost if verb == "overdraw" else -cost)}
        answer = self.client.request("POST", f"/v1/{verb}", body=json.dumps({"id": one.id, **body}))
        where = f"{self.where}: {answer}"
        if one.corrected:
            self.assertEqual(answer.status, 409, where)
        elif verb == "renew":
            # One that has left at its timeout is not there to be renewed.
            self.assertIn(answer.status, (200, 404), where)
            one.id = json.loads(answer.text).get("id", one.id)
        else:
            self.assertEqual(answer.status, 200, where)
            one.corrected = True

    def ask(self, word, cost):
        attributes = {f"k_{name}": key for name, key in self.keys(word).items()}
        body = json.dumps({"attributes": attributes, "cost": int(cost)})
        answer = self.client.request("POST", "/v1/check", body=body)
        self.assertIn(answer.status, (200, 429), f"{self.where}: {answer}")
        said = json.loads(answer.text, parse_float=Decimal)
        self.assertEqual(said["allowed"], answer.status == 200, self.where)
        if said["allowed"] and "id" in said:
            self.charged.append(Charged(self.now, self.keys(word), int(cost), said["id"]))
        return said

    def outcome(self, said):
        if said["allowed"]:
            return "allow"
        return "never" if waited(said) is None else "deny"

    def take(self, words, later):
        arrow = words.index("->")
        (word, cost, *how), wanted = words[:arrow], words[arrow + 1:]
        if not how:
            self.compare(self.ask(word, cost), wanted)
        elif how[0] == "every":
            pause, fates = nanoseconds(how[1]), "".join(wanted)
            got = ""
            for number in range(len(fates)):
                later(number * pause)
                got += {"allow": "A", "deny": "D", "never": "N"}[self.outcome(self.ask(word, cost))]
            self.assertEqual(got, fates, self.where)
        else:
            allowed = sum(self.ask(word, cost)["allowed"] for _ in range(int(how[0][1:])))
            self.assertEqual(f"{allowed} allowed", " ".join(wanted), self.where)

    def compare(self, said, wanted):
        details = dict(zip(wanted[1::2], wanted[2::2]))
        told = {"left": said["remaining"], "by": said["limit"], "retry": waited(said) or 0,
                "reset": int(said["reset_after"] * SECOND), "delay": int(said["delay"] * SECOND)}
        where = f"{self.where}: {said}"
        self.assertEqual(self.outcome(said), wanted[0], where)
        for name, value in details.items():
            if name == "next":
                continue
            right = value if name == "by" else int(value) if name == "left" else nanoseconds(value)
            self.assertEqual(told[name], right, where)


def add_test(path):
    def test(self):
        self.play(path)
    test.__name__ = f"test_{path.stem}"
    setattr(Scenarios, test.__name__, test)


for one in sorted(CORPUS.glob("*.scenario")):
    add_test(one)


if __name__ == "__main__":
    harness.main()
