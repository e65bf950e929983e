"""A redis-server (or valkey-server: WEIR_REDIS_SERVER) for system tests, on a free port."""

import os
import signal
import subprocess

import harness

SERVER = os.environ.get("WEIR_REDIS_SERVER", "redis-server")
CLI = os.environ.get("WEIR_REDIS_CLI", "redis-cli")


class Redis:
    """One server; ends with its test."""

    def __init__(self, test, *arguments):
        self.test = test
        self.port = harness.free_port()
        self.arguments = arguments
        self.start()

    @property
    def url(self):
        return f"redis://127.0.0.1:{self.port}"

    def start(self):
        self.process = self.test.start(SERVER, "--port", self.port, "--bind", "127.0.0.1",
                                       "--save", "", "--dir", self.test.folder, *self.arguments)
        harness.until(lambda: harness.is_open(self.port), "redis listens")

    def kill(self):
        self.process.signal(signal.SIGKILL)
        self.process.wait()

    def cli(self, *words):
        """What redis-cli prints, a list of lines."""
        return subprocess.run([CLI, "-p", str(self.port), *map(str, words)], check=True,
                              capture_output=True, text=True,
                              timeout=harness.PATIENCE).stdout.splitlines()
