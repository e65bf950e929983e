"""The README's first screen, as a newcomer types it: ./dev run, then the commands that it prints."""

import os
import re
import subprocess

import harness


class FirstScreen(harness.SystemTest):
    def test_dev_run_starts_a_gateway_and_prints_commands_that_work(self):
        ports = {name: harness.free_port() for name in ("WEIR_LISTEN", "WEIR_DEMO", "WEIR_ADMIN")}
        environment = {name: f"127.0.0.1:{port}" for name, port in ports.items()}
        # Builds release where that has not been done: minutes, on a machine with two cores.
        run = self.start("./dev", "run", cwd=harness.ROOT, env=environment)
        self.wait_for_build(run)
        hello, login, metrics = self.commands(run.output)

        answer = self.shell(hello)
        self.assertTrue(answer.startswith("HTTP/1.1 200 OK"), answer)
        self.assertIn('RateLimit-Policy: "per_ip";q=100;w=60', answer)
        statuses = [line.split()[1] for line in self.shell(login).splitlines()]
        self.assertEqual(statuses, ["200"] * 5 + ["429"])
        self.assertIn('weir_decisions_total{limit="login",outcome="denied",source="memory"} 1',
                      self.shell(metrics))

        os.killpg(run.pid, harness.signal.SIGINT)
        self.assertEqual(run.wait(), 0, run.output)
        self.assertFalse(harness.is_open(ports["WEIR_LISTEN"]))
        self.assertFalse(harness.is_open(ports["WEIR_DEMO"]))

    def wait_for_build(self, run):
        for _ in range(60):  # of PATIENCE each
            try:
                return run.wait_for("Ctrl-C stops both")
            except AssertionError:
                if run.child.poll() is not None:
                    raise
        raise AssertionError(run.output)

    def commands(self, output):
        found = re.findall(r"^  (\S.*)$", output, re.MULTILINE)
        self.assertEqual(len(found), 3, output)
        return found

    def shell(self, command):
        return subprocess.run(["bash", "-c", command], capture_output=True, text=True,
                              timeout=harness.PATIENCE, check=True).stdout


if __name__ == "__main__":
    harness.main()
