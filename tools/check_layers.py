#!/usr/bin/env python3
"""Checks that layers only look down (ARCHITECTURE.md), and says which line breaks the rule.

Every quoted include of a file in src/ must name a header of its own layer or of one that the table
below allows. Headers of include/weir include each other and the standard library only. Third-party
headers that cost much compile time, and clocks, have a short list of rooms they may be named in.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# layer -> the layers it may include, beside itself, base and include/weir
ALLOWED = {
    "base": [],
    "limit": [],
    "wire": [],
    "net": ["wire"],
    "store": ["limit", "wire", "net"],
    "policy": ["limit"],
    "engine": ["limit", "store", "policy"],
    "jwt": ["policy"],
    "library": ["limit", "wire", "net", "store", "policy", "engine"],
    "serve/http": ["wire", "net"],
    "serve/gateway": ["limit", "policy", "engine", "wire", "net", "serve/http"],
    "serve/api": ["limit", "policy", "engine", "wire", "net", "serve/http"],
    "serve/admin": ["limit", "policy", "engine", "wire", "net", "serve/http"],
    "serve/grpc": ["limit", "policy", "engine", "wire", "net", "serve/http"],
    "serve/resp": ["limit", "policy", "engine", "wire", "net"],
    "serve/demo": ["wire", "net", "serve/http"],
    "tools": ["wire", "net"],
    "app": ["tools", "limit", "store", "policy", "engine", "jwt", "wire", "net", "serve/http", "serve/gateway",
            "serve/api", "serve/grpc",
            "serve/resp", "serve/admin", "serve/demo"],
    "main.cc": ["app"],
}

# headers that the build makes
GENERATED = ("build_info.h", "redis_scripts.h", "web_assets.h")

# public headers for users of a third party, which they name
ADAPTERS = ("include/weir/asio.h", "include/weir/middleware/beast.h",
            "include/weir/middleware/httplib.h")

# pattern -> (rooms where it may stand, what to use instead)
BANNED = [
    (r"#include <boost/asio",
     ("net/", "serve/", "store/redis/", "app/", "library/asio_test", "include/weir/asio.h"), "net/"),
    (r"#include <spdlog", ("base/log",), "base/log.h"),
    (r"#include <CLI/", ("app/",), "app/"),
    (r"#include <nghttp2/", ("serve/grpc/",), "serve/grpc/"),
    (r"#include <yaml-cpp", ("policy/",), "policy/"),
    (r"#include <regex>", (), "RE2, through policy/pattern.h"),
    (r"\b(steady_clock|system_clock|high_resolution_clock)::now\b", ("net/",), "a weir::Clock"),
    (r"\bclock_gettime\b", ("base/clock.cc", "net/timer_wheel.cc"), "a weir::Clock"),
    (r"\bsleep_for\b|\busleep\(", (), "an event to wait for"),
]


def layer_of(path):
    """The layer that a path relative to src/ belongs to."""
    parts = path.split("/")
    return "/".join(parts[:2]) if parts[0] == "serve" else parts[0]


def check_include(where, layer, line, problems):
    found = re.match(r'\s*#include "([^"]+)"', line)
    if not found or found.group(1) in GENERATED or found.group(1).startswith("weir/"):
        return
    target = found.group(1)
    if layer == "include":
        problems.append(f"{where}: include/weir may not include {target}; only weir/ and std")
        return
    other = layer_of(target)
    if other in (layer, "base") or other in ALLOWED.get(layer, []):
        return
    of_tests = "_test.cc:" in where or "/test_" in where
    if of_tests and target.startswith(("oracle/", "scenario/", "support/")):
        return
    problems.append(f"{where}: layer {layer} may not include {target} (layer {other}); "
                    f"it sees: {', '.join(['base'] + ALLOWED.get(layer, []))}")


def check_file(path, problems):
    relative = path.relative_to(ROOT).as_posix()
    inside = relative.removeprefix("src/")
    layer = "include" if relative.startswith("include/") else layer_of(inside)
    if layer != "include" and layer not in ALLOWED:
        problems.append(f"{relative}: folder {layer} is no layer; add it to tools/check_layers.py")
        return
    for number, line in enumerate(path.read_text().splitlines(), 1):
        where = f"{relative}:{number}"
        check_include(where, layer, line, problems)
        if layer == "include" and relative not in ADAPTERS and re.match(r"\s*#include <.*[/.]", line):
            problems.append(f"{where}: include/weir may name only itself and std: {line.strip()}")
        for pattern, rooms, instead in BANNED:
            if re.search(pattern, line) and not inside.startswith(rooms):
                problems.append(f"{where}: {line.strip()} (use {instead})")


def main():
    problems = []
    files = [p for folder in ("src", "include") for p in sorted((ROOT / folder).rglob("*"))
             if p.suffix in (".h", ".cc")]
    for path in files:
        check_file(path, problems)
    for problem in problems:
        print(problem)
    print(f"check_layers: {len(files)} files, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
