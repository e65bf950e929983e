"""Documents played as a reader would type them, with free ports in place of those that they name; and
what the tests of examples/ share: an example's folder, copied to where nobody else works.

In a document, a `console` block holds commands, each behind `$ `, with what they print below; `...`
stands for what differs from time to time. A command that ends in ` &` goes on running, until `kill %N`
ends it, by its job's number; an assignment holds for what follows. Any other block whose first line is
a comment with nothing but a file's name is that file.
"""

import os
import re
import shutil
import subprocess
import time

import harness

READY = {  # what a command in the background prints, or is waited for on the port it names
    "redis-server": "Ready to accept connections",
    "node": "listens",
    "python3": "listens",
    "example_orders": "listens",
    "etcd": "ready to serve client requests",
    "prometheus": "Server is ready to receive web requests",
}


CONTROLS = re.compile(r"\bweir (set|get|reset|ban|top|keys)\b(?!.*--url)")


def typed_commands(block):
    """(command, what it prints) of each command in a console block."""
    found = []
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        lines = part.splitlines()
        command = lines.pop(0)
        while command.endswith("\\"):
            command = command[:-1] + lines.pop(0).strip()
        found.append((command, "\n".join(lines)))
    return found


def steps(document):
    """("file", name, text) and ("command", line, what it prints), in the document's order."""
    found = []
    for language, block in re.findall(r"^```(\w*)\n(.*?)^```$", document, re.MULTILINE | re.DOTALL):
        named = re.match(r"(?:#|//) ([\w-]+\.[\w.]+)\n", block)
        if language == "console":
            found += [("command", *typed) for typed in typed_commands(block)]
        elif named:
            found.append(("file", named.group(1), block))
    return found


def shape(text):
    """A pattern of what a command should print."""
    parts = [re.escape(part) for part in text.strip().split("...")]
    return re.compile(".*".join(parts), re.DOTALL)


class PlayedTest(harness.SystemTest):
    """A folder to type commands in, with ports of its own."""

    NAME = "reader"
    PORTS = ()      # those that files and documents name
    REPEATED = ()   # commands with one of these words may be typed again until they answer in time

    def setUp(self):
        super().setUp()
        self.port = {port: harness.free_port() for port in self.PORTS}
        self.place = self.folder / "examples" / self.NAME
        self.place.mkdir(parents=True)
        self.environment = {"PATH": f"{harness.BUILD}:{os.environ['PATH']}:/usr/sbin",
                            "NODE_PATH": str(harness.ROOT / "build" / "node" / "node_modules")}
        self.running = {}  # what goes on, by its command

    def own(self, text):
        """The text with this test's ports in place of those that are written."""
        for port, mine in self.port.items():
            text = re.sub(rf"(?<![\d.]){port}(?!\d)", str(mine), text)
        return text

    def background(self, command):
        """Starts a command that goes on, and returns when it is ready."""
        variables, command = re.fullmatch(r"((?:\w+=\S+ )*)(.*)", command).groups()
        process = self.start("bash", "-c", f"{variables}exec {command}", cwd=self.place,
                             env=self.environment)
        if command.startswith("weir serve"):
            process.wait_until_ready()
            return process
        for name, line in READY.items():
            if command.startswith(name):
                process.wait_for(line)
                return process
        if command.startswith("nginx"):  # says nothing; its file, or one that it includes, names the port
            [file] = re.findall(r"\S+\.conf", command)
            text = (self.place / file).read_text()
            for included in re.findall(r"include (\S+);", text):
                text += (self.place / included).read_text()
            port = re.findall(r"listen \S+?:(\d+)", text)[0]
        else:  # weir demo
            port = command.rsplit(":", 1)[1]
        port = int(port)
        harness.until(lambda: harness.is_open(port), f"{command} listens")
        return process

    def run_line(self, command, env=None):
        """What a command prints, with its errors."""
        done = subprocess.run(["bash", "-c", command], cwd=self.place, text=True,
                              timeout=3 * harness.PATIENCE, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                              env={**os.environ, **self.environment, **(env or {})})
        return done.stdout.replace("\r", "").strip()

    def type(self, command, expected):
        """Runs one command of the README and holds what it prints against what stands there."""
        repeated = any(word in command for word in self.REPEATED)
        deadline = time.monotonic() + harness.PATIENCE
        while True:
            began = time.monotonic()
            printed = self.run_line(command)
            if shape(expected).fullmatch(printed):
                return
            if repeated and self.holds_when_slow(printed, time.monotonic() - began):
                return
            if not repeated or time.monotonic() > deadline:
                break
            self.typed(command)
        self.fail(f"$ {command}\n{printed}\n--- but the README says\n{expected}")

    def holds_when_slow(self, printed, seconds):
        """Whether what a command of REPEATED printed is right for the time that it took."""
        return False

    def typed(self, command):
        """Waits for what a command of the README brings about, as a reader does by being slow."""

    def play_document(self, path):
        """The document, from top to bottom."""
        played = steps(self.own((harness.ROOT / path).read_text()))
        self.assertIn("command", [kind for kind, *_ in played], f"{path} shows no command")
        jobs = {}
        for kind, what, text in played:
            if kind == "file":
                (self.place / what).write_text(text)
            elif what.endswith(" &"):
                self.running[what[:-2]] = process = self.background(what[:-2])
                jobs[max(jobs, default=0) + 1] = process  # as bash numbers them
            elif assigned := re.fullmatch(r"(?:export )?(\w+)=(\S+|\$\(.*\))", what):
                name, value = assigned.groups()
                self.environment[name] = self.run_line(f"printf %s {value}")
            elif what.startswith("kill %"):
                jobs.pop(int(what.removeprefix("kill %"))).stop()
            else:
                self.type(self.reached(what), text)
                self.typed(what)

    def reached(self, command):
        """The command, told where the admin listener is that a reader has at its usual place."""
        return CONTROLS.sub(rf"weir \1 --url http://127.0.0.1:{self.port.get(9090)}", command)


class ExampleTest(PlayedTest):
    """A copy of one example, in a copy of the repository's shape."""

    def setUp(self):
        super().setUp()
        (self.folder / "packaging").symlink_to(harness.ROOT / "packaging")
        shutil.copytree(harness.ROOT / "examples" / self.NAME, self.place, dirs_exist_ok=True,
                        ignore=shutil.ignore_patterns("node_modules"))
        for path in self.place.rglob("*"):
            if path.is_file():
                path.write_text(self.own(path.read_text()))

    def play(self):
        """The example's README."""
        self.play_document(f"examples/{self.NAME}/README.md")

    def clocked(self, *arguments, policy="weir.yaml", env=None):
        """weir on this example's policy, with a clock that only the test moves."""
        path = self.folder / f"clock-{harness.free_port()}"
        program = self.weir("serve", "-c", policy, "--test-clock", path, *arguments, cwd=self.place,
                            env={**self.environment, **(env or {})})
        program.wait_until_ready()
        clock = harness.TestClock(path)
        self.addCleanup(clock.close)
        self.running["weir serve"] = program
        return clock
