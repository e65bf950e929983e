"""What benchmarks of running programs share: free ports, pinned processes, their CPU time."""

import os
import pathlib
import random
import socket
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("WEIR_BUILD", ROOT / "build" / "release"))


def free_port():
    """A port that nobody listens on, and that the kernel gives to no outgoing connection."""
    while True:
        with socket.socket() as probe:
            port = random.randrange(10000, 32768)
            if probe.connect_ex(("127.0.0.1", port)) != 0:
                return port


def wait_open(port):
    for _ in range(2000):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.005)
    sys.exit(f"nobody listens on port {port}")


def cpu_seconds(pid):
    total = 0
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        total += int((task / "schedstat").read_text().split()[0])
    return total / 1e9


def others():
    """The CPUs that are not the server's; the same one where there is no other."""
    rest = sorted(os.sched_getaffinity(0) - {0})
    return ",".join(map(str, rest)) or "0"


def pinned(cpus, *command, **options):
    return subprocess.Popen(["taskset", "-c", cpus, *map(str, command)], **options)
