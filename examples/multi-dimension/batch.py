"""A thousand checks in two calls, who refused, and what Redis was spared: batch.py PORT COST NAME=VALUE..."""

import json
import sys
import urllib.request

port, cost = sys.argv[1], int(sys.argv[2])
check = {"attributes": dict(pair.split("=", 1) for pair in sys.argv[3:]), "cost": cost}
decisions = []
for size in (300, 700):  # the second call knows what the first was told
    question = json.dumps({"checks": [check] * size}).encode()
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/check", question) as answer:
        decisions += json.load(answer)["decisions"]
admitted = sum(d["allowed"] for d in decisions)
refused_by = sorted({d["limit"] for d in decisions if not d["allowed"]})
spared = sum(d["source"] == "deny_cache" for d in decisions)
print(f"{admitted} of {len(decisions)} admitted; refused by {', '.join(refused_by)};", end=" ")
print(f"{spared} refused without asking Redis")
