"""The wall clock is set while weir stops. A library that stands before libc moves the wall clock of one
process, by the seconds that a file says; the steady clock goes on as it is."""

import email.utils
import http.client
import shutil
import socket
import subprocess
import time
import unittest

import harness
from harness import Client, free_port, get, signal, until

SHIFT = r"""
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec* out) {
  const long result = syscall(SYS_clock_gettime, clock, out);
  if (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE) return (int)result;
  FILE* const file = fopen(getenv("WALL_SHIFT"), "r");
  long seconds = 0;
  if (file && fscanf(file, "%ld", &seconds) == 1) out->tv_sec += seconds;
  if (file) fclose(file);
  return (int)result;
}
"""
COMPILER = shutil.which("cc") or shutil.which("gcc")


@unittest.skipUnless(COMPILER, "needs a C compiler")
class Drain(harness.SystemTest):
    def setUp(self):
        super().setUp()
        binary = harness.WEIR.read_bytes()
        if b"__asan_init" in binary or b"__tsan_init" in binary:
            self.skipTest("a sanitizer stands before libc itself")

    def begin(self, drain):
        """weir with a response under way: self.response at the client, self.peer at the upstream."""
        source, library = self.write("shift.c", SHIFT), self.folder / "shift.so"
        subprocess.run([COMPILER, "-shared", "-fPIC", "-o", library, source], check=True)
        self.shift, self.port = self.write("shift", "0\n"), free_port()
        server = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(server.close)
        server.settimeout(harness.PATIENCE)
        policy = self.write("weir.yaml", f"""
limits: [{{ name: none, match: {{ path: /refused }}, algorithm: token_bucket, rate: 0, burst: 0 }}]
gateway: {{ listen: 127.0.0.1:{self.port}, upstream: http://127.0.0.1:{server.getsockname()[1]},
           timeouts: {{ drain: {drain} }} }}
""")
        self.process = self.weir("serve", "-c", policy,
                                 env={"LD_PRELOAD": str(library), "WALL_SHIFT": str(self.shift)})
        self.process.wait_until_ready()
        client = Client(self.port)
        self.addCleanup(client.close)
        client.connection.request("GET", "/")
        self.peer, _ = server.accept()
        self.addCleanup(self.peer.close)
        self.peer.recv(65536)
        self.peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n0")
        self.response = client.connection.getresponse()
        self.assertEqual(self.response.read(1), b"0")

    def stop(self):
        self.process.signal(signal.SIGTERM)
        until(lambda: not harness.is_open(self.port), "nothing is accepted any more")

    def step(self, seconds):
        self.shift.write_text(f"{seconds}\n")

    def told(self):
        """How far weir's wall clock is from ours, by the Date of a refusal."""
        date = email.utils.parsedate_to_datetime(get(self.port, "/refused").headers["Date"])
        return date.timestamp() - time.time()

    def test_a_step_of_the_wall_clock_cuts_nothing_off(self):
        self.begin("10m")
        for seconds in (3600, -3600):
            self.step(seconds)
            until(lambda: abs(self.told() - seconds) < 60, "weir sees the other time")
        self.stop()
        for seconds, byte in ((3600, b"1"), (-3600, b"2"), (7200, b"3"), (0, b"4")):
            self.step(seconds)
            self.peer.sendall(byte)
            self.assertEqual(self.response.read(1), byte)
        self.assertEqual(self.process.wait(), 0, self.process.output)

    def test_a_step_back_prolongs_nothing(self):
        self.begin("1s")
        self.stop()
        self.step(-3600)
        self.process.wait()  # in far less than an hour
        with self.assertRaises((ConnectionError, http.client.IncompleteRead)):
            self.response.read()


if __name__ == "__main__":
    harness.main()
