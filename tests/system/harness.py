"""What the system tests share: the built program and real peers, each on free ports in a temporary
folder, started and stopped by the test that needs them.

A test never sleeps for time to pass: it waits for an event (a line of output, an open port), with a
bound after which it fails and shows what the process printed.
"""

import http.client
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(os.environ.get("WEIR_BUILD", ROOT / "build" / "dev"))
WEIR = BUILD / "weir"


def _sanitizers():
    """What the build looks for while it runs: "address,undefined", "thread", or nothing."""
    cache = BUILD / "CMakeCache.txt"
    told = re.search(r"^WEIR_SANITIZE:\w+=(.*)$", cache.read_text() if cache.exists() else "", re.M)
    return told.group(1) if told else ""


SANITIZERS = _sanitizers()
SLOWER = 8 if "thread" in SANITIZERS else 3 if SANITIZERS else 1  # the program, for being looked at
LARGER = 3 if SANITIZERS else 1  # what it holds, with what the sanitizer keeps beside it
PATIENCE = 20.0 * SLOWER  # seconds that any one event may take; these machines stall
_GIVEN = dict(os.environ)  # before a test sets its own


_ports_given = set()


def free_port():
    """A port that nobody listens on at this moment. Not one of those that the kernel gives to outgoing
    connections, which could take it before its server does, and never the same twice."""
    while True:
        port = random.randrange(10000, 32768)
        if port in _ports_given:
            continue
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        _ports_given.add(port)
        return port


def until(condition, what):
    """Waits until condition() is true and returns its value."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(0.005)
    raise AssertionError(f"not within {PATIENCE:.0f} s: {what}")


def is_open(port):
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1):
            return True
    except OSError:
        return False


class Process:
    """A child whose output is kept, line by line, and that ends with its test."""

    def __init__(self, arguments, cwd=None, env=None):
        self.arguments = [str(a) for a in arguments]
        self.lines = []
        self._changed = threading.Condition()
        self.child = subprocess.Popen(self.arguments, cwd=cwd, stdin=subprocess.DEVNULL,
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                      env={**os.environ, **(env or {})}, text=True,
                                      errors="replace", start_new_session=True)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self.child.stdout:
            with self._changed:
                self.lines.append(line.rstrip("\n"))
                self._changed.notify_all()
        with self._changed:
            self._changed.notify_all()

    @property
    def pid(self):
        return self.child.pid

    @property
    def output(self):
        return "\n".join(self.lines)

    def wait_for(self, text, after=0):
        """The first line from number `after` on that holds `text`."""
        return self._wait(lambda line: text in line, text, after)

    def wait_until_ready(self):
        """Until weir has said so, on a line of its own: "already in use" is not it."""
        self._wait(lambda line: line == "ready", "ready", 0)

    def _wait(self, wanted, text, after):
        deadline = time.monotonic() + PATIENCE
        with self._changed:
            while True:
                for line in self.lines[after:]:
                    if wanted(line):
                        return line
                ended = self.child.poll() is not None and not self._reader.is_alive()
                if ended or time.monotonic() > deadline:
                    raise AssertionError(f"no line with {text!r} from {self.arguments}:\n"
                                         f"{self.output}")
                self._changed.wait(0.05)

    def signal(self, number):
        self.child.send_signal(number)

    def wait(self, timeout=PATIENCE):
        """The exit code."""
        code = self.child.wait(timeout)
        self._reader.join(timeout)
        return code

    def stop(self):
        if self.child.poll() is None:
            self.child.terminate()
            try:
                self.child.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                pass
        if self.child.poll() is None:
            self.child.kill()
            self.child.wait()
        self._reader.join(PATIENCE)
        self.child.stdout.close()

    def memory_kib(self):
        """Resident memory now."""
        for line in pathlib.Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1])
        raise AssertionError(f"process {self.pid} has no memory: it has ended\n{self.output}")


def measures_memory(test):
    """Marks a test that bounds what weir holds: the address sanitizer, which keeps the last 256 MiB that
    were freed to see who uses them still, keeps one there."""
    test.measures_memory = True
    return test


class SystemTest(unittest.TestCase):
    """A test with a temporary folder, and processes that end with it."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="weir-test-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.following = {}  # the last weir that serve() gave each file
        if SANITIZERS:
            self._read_sanitizers_reports()

    def _read_sanitizers_reports(self):
        """What a sanitizer says of any process fails the test once all have ended. It says it in a file:
        nobody reads the output of some."""
        folder = pathlib.Path(tempfile.mkdtemp(prefix="weir-sanitizer-"))
        measures = getattr(getattr(self, self._testMethodName), "measures_memory", False)
        own = {"ASAN_OPTIONS": "quarantine_size_mb=1:" if measures else "",
               "TSAN_OPTIONS": "", "UBSAN_OPTIONS": ""}
        for name, options in own.items():
            os.environ[name] = f"{options}log_path={folder}/report:{_GIVEN.get(name, '')}"

        def look():
            reports = [one.read_text(errors="replace") for one in sorted(folder.iterdir())]
            shutil.rmtree(folder)
            if reports:
                raise AssertionError("a sanitizer says:\n" + "\n".join(reports))
        self.addCleanup(look)

    def assert_grown_at_most(self, kib, before, after, what=None):
        """Of resident memory, in KiB."""
        if SANITIZERS:
            print(f"grown by {after - before} KiB of {kib}, of which a sanitizer may have {LARGER} times")
        self.assertLess(after - before, LARGER * kib, what)

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def start(self, *arguments, **options):
        process = Process(arguments, **options)
        self.addCleanup(process.stop)
        return process

    def weir(self, *arguments, **options):
        return self.start(WEIR, *arguments, **options)

    def serve(self, policy, *arguments, name="weir.yaml"):
        """weir serve with this policy text, once it listens. Further arguments go to serve."""
        if name in self.following and self.following[name].child.poll() is None:
            name = f"{len(self.following)}-{name}"  # the one that follows that file would read it too
        path = self.write(name, policy)
        process = self.following[name] = self.weir("serve", "-c", path, *arguments)
        process.wait_until_ready()
        return process

    def demo(self):
        """weir demo on a free port; the port."""
        port = free_port()
        self.weir("demo", "--listen", f"127.0.0.1:{port}")
        until(lambda: is_open(port), "the demo listens")
        return port

    def nginx(self, http_block):
        """nginx in the foreground with one worker and this text in its http block, once it listens."""
        name = f"nginx-{free_port()}"
        pid = self.folder / f"{name}.pid"  # written when it listens
        configuration = self.write(f"{name}.conf", f"""
            daemon off; master_process off; worker_processes 1; pid {pid};
            error_log stderr warn;
            events {{ worker_connections 4096; }}
            http {{
              access_log off;
              client_body_temp_path {self.folder}/body; proxy_temp_path {self.folder}/proxy;
              fastcgi_temp_path {self.folder}/f; uwsgi_temp_path {self.folder}/u;
              scgi_temp_path {self.folder}/s;
              {http_block}
            }}""")
        program = shutil.which("nginx") or "/usr/sbin/nginx"
        process = self.start(program, "-p", self.folder, "-c", configuration, "-e", "stderr")
        until(pid.exists, "nginx listens")
        return process

    def upstream(self, location="return 200 'hello\\n';"):
        """nginx that answers every path by `location`; the port."""
        port = free_port()
        self.nginx(f"server {{ listen 127.0.0.1:{port}; location / {{ {location} }} }}")
        return port


class Answer:
    """A response, read to its end."""

    def __init__(self, response):
        self.status = response.status
        self.headers = response.headers
        self.body = response.read()
        self.text = self.body.decode("utf-8", "replace")

    def __repr__(self):
        return f"{self.status} {dict(self.headers)} {self.body[:200]!r}"


class Client:
    """One keep-alive connection."""

    def __init__(self, port, timeout=PATIENCE):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)

    def request(self, method, path, headers=None, body=None):
        self.connection.request(method, path, body=body, headers=headers or {})
        return Answer(self.connection.getresponse())

    def get(self, path="/", headers=None):
        return self.request("GET", path, headers)

    def close(self):
        self.connection.close()


def get(port, path="/", headers=None):
    """One request on a connection of its own."""
    client = Client(port)
    try:
        return client.get(path, headers)
    finally:
        client.close()


class TestClock:
    """Moves the clock of a program that was started with --test-clock."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        until(lambda: path.exists(), "the test clock's socket")
        self.socket.connect(str(path))
        self.socket.settimeout(PATIENCE)

    def set(self, steady_ns, wall_ns=None):
        line = str(steady_ns) if wall_ns is None else f"{steady_ns} {wall_ns}"
        self.socket.sendall(line.encode() + b"\n")
        answer = self.socket.recv(256)
        if answer != b"ok\n":
            raise AssertionError(f"the test clock said {answer!r}")

    def close(self):
        self.socket.close()


def main():
    unittest.main(verbosity=2)


__all__ = ["Answer", "BUILD", "Client", "PATIENCE", "Process", "ROOT", "SANITIZERS", "SLOWER",
           "SystemTest", "TestClock", "WEIR", "free_port", "get", "is_open", "main", "measures_memory",
           "signal", "until"]
