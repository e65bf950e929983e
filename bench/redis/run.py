#!/usr/bin/env python3
"""Decisions a second through one Redis: weir's store against redis-benchmark with the same script.

  bench/redis/run.py [BUILD]        BUILD: build/release

Server on one core, client on the other; pairs of runs, one after the other, and the median of their
ratios, since these machines change their speed from run to run. At least 0.95 is asked for.
"""

import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build" / "release")
BENCH = BUILD / "bench" / "bench_redis"
ROUNDS = 3


def lines(*command):
    return subprocess.run([str(c) for c in command], check=True, capture_output=True,
                          text=True).stdout.splitlines()


def on_core(core, *command):
    return ("taskset", "-c", str(core)) + command


def weir(socket, depth, count):
    return float(lines(*on_core(1, BENCH, f"redis+unix://{socket}", depth, count))[0])


def redis_benchmark(socket, depth, count, sha, arguments):
    key = "weir:{0123456789abcdef}bench:tb/4:user,12:__rand_int__,"
    out = lines(*on_core(1, "redis-benchmark", "-s", socket, "-c", 1, "-P", depth, "-n", count,
                         "-r", 100000, "--csv", "EVALSHA", sha, 1, key, *arguments, ""))
    return float(out[-1].split('","')[1].strip('"'))


def main():
    script = lines(BENCH, "script")
    sha, arguments = script[0], script[2::2]
    with tempfile.TemporaryDirectory() as folder:
        socket = os.path.join(folder, "socket")
        server = subprocess.Popen(on_core(0, "redis-server", "--port", "0", "--unixsocket", socket,
                                          "--save", "", "--logfile", os.path.join(folder, "log")))
        try:
            while not os.path.exists(socket):
                time.sleep(0.01)
            loaded = lines("redis-cli", "-s", socket, "SCRIPT", "LOAD",
                           (ROOT / "lua" / "bucket.lua").read_text())[0]
            assert loaded == sha, "the program was built with another script"
            for depth in (1, 16, 64, 256):
                count = 10000 if depth == 1 else 100000
                ratios = []
                for _ in range(ROUNDS):
                    theirs = redis_benchmark(socket, depth, count, sha, arguments)
                    ours = weir(socket, depth, count)
                    ratios.append(ours / theirs)
                print(f"depth {depth}: weir {ours:.0f}/s, redis-benchmark {theirs:.0f}/s, "
                      f"ratio {statistics.median(ratios):.2f} (median of {ROUNDS} pairs)")
        finally:
            server.kill()
            server.wait()


if __name__ == "__main__":
    main()
