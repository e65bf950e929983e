"""The man pages and completions that the build makes: every command and flag is in them, a linter
finds nothing, and the shells complete what they should."""

import os
import pty
import re
import select
import shutil
import signal
import subprocess
import time
import unittest

import harness

MANUAL = harness.BUILD / "manual"


def weir_help(*command):
    return subprocess.run([harness.WEIR, *command, "--help"], capture_output=True, text=True,
                          check=True).stdout


def commands():
    listed = weir_help().split("Subcommands:\n")[1].split("\n\n")[0]
    return re.findall(r"^  (\w+) ", listed, re.MULTILINE)


def flags(*command):
    """The options that --help tells of, each name apart."""
    listed = weir_help(*command).split("Options:\n")[1].split("\n\n")[0]
    return sorted(set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", " ".join(
        re.findall(r"^  (-\S+)", listed, re.MULTILINE)))))


def run(*words, **options):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, check=True,
                          **options).stdout


def needs(program):
    return unittest.skipUnless(shutil.which(program), f"{program} is not installed")


class HelpIsRead(unittest.TestCase):
    def test_the_help_is_told_apart_into_commands_and_flags(self):
        self.assertIn("serve", commands())
        self.assertIn("validate", commands())
        self.assertIn("--config", flags("serve"))
        self.assertIn("-c", flags("serve"))
        self.assertIn("--version", flags())


class ManPages(unittest.TestCase):
    def test_every_command_and_flag_is_told(self):
        page = (MANUAL / "weir.1").read_text().replace("\\-", "-")
        general = page.split("\n.SH OPTIONS\n")[1].split("\n.SH")[0]
        for flag in flags():
            self.assertIn(f"\\fB{flag}\\fR", general)
        for command in commands():
            section = page.split(f"\n.SS {command}\n")[1].split("\n.S")[0]
            for flag in set(flags(command)) - set(flags()):
                self.assertIn(f"\\fB{flag}\\fR", section, f"{command} {flag}")

    def test_every_key_of_the_policy_is_told(self):
        page = (MANUAL / "weir.yaml.5").read_text().replace("\\-", "-")
        reference = (harness.ROOT / "docs/policy.md").read_text().split("## Reference")[1]
        keys = re.findall(r"^\| `([^`]+)` \|", reference, re.MULTILINE)
        self.assertGreater(len(keys), 50)
        for key in keys:
            self.assertIn(f"\n.TP\n\\fB{key}\\fR\n", page)

    @needs("mandoc")
    def test_a_linter_finds_nothing_in_them(self):
        for name in ("weir.1", "weir.yaml.5"):
            told = subprocess.run(["mandoc", "-Tlint", "-Wwarning", MANUAL / name],
                                  capture_output=True, text=True, check=False)
            self.assertEqual(told.stdout, "")


class Bash(unittest.TestCase):
    def completed(self, *words):
        """What bash offers for the last word."""
        line = " ".join(f"'{word}'" for word in words)
        script = (f"source '{MANUAL / 'weir.bash'}'; COMP_WORDS=({line}); "
                  f"COMP_CWORD={len(words) - 1}; _weir; printf '%s\\n' \"${{COMPREPLY[@]}}\"")
        return run("bash", "-c", script, cwd=harness.ROOT).split()

    def test_every_command_and_flag_is_offered(self):
        self.assertEqual(sorted(c for c in self.completed("weir", "") if c[0] != "-"),
                         sorted(commands()))
        for command in commands():
            self.assertEqual(sorted(self.completed("weir", command, "-")), flags(command))

    def test_files_are_offered_where_a_file_belongs(self):
        self.assertEqual(self.completed("weir", "serve", "-c", "READ"), ["README.md", "README.zh-CN.md"]
                         if (harness.ROOT / "README.zh-CN.md").exists() else ["README.md"])
        self.assertIn("README.md", self.completed("weir", "validate", "READ"))
        self.assertEqual(self.completed("weir", "serve", "--listen", ""), [])


class Zsh(unittest.TestCase):
    @needs("zsh")
    def test_the_script_is_right_and_names_every_command_and_flag(self):
        script = MANUAL / "_weir"
        run("zsh", "-n", script)
        text = script.read_text()
        for command in commands():
            self.assertIn(f"'{command}:", text)
            case = text.split(f"\n    {command})\n")[1].split(";;")[0]
            for flag in flags(command):
                self.assertRegex(case, rf"'\*?{re.escape(flag)}\[")

    @needs("zsh")
    def test_a_word_is_completed_in_a_shell(self):
        for typed, meant in (("weir val", "validate"), ("weir serve --take", "serve --take-over"),
                             ("weir validate CONTRIB", "validate CONTRIBUTING.md"),
                             ("weir serve -c CONTRIB", "serve -c CONTRIBUTING.md")):
            self.assertEqual(self.completed(typed), meant)

    def completed(self, typed):
        """The arguments that weir gets when `typed`, a tab and return are typed into zsh."""
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(harness.ROOT)
            os.execvp("zsh", ["zsh", "-f", "-i"])
        try:
            os.write(terminal, (f"fpath=('{MANUAL}' $fpath); autoload -Uz compinit; compinit -u -D; "
                                "weir() { print -r -- \"GOT=$*=\" }; print -r READ''Y\n").encode())
            self.read_until(terminal, r"READY\r")
            os.write(terminal, f"{typed}\t\n".encode())
            return self.read_until(terminal, r"GOT=([^=$*]*?) ?=\r").group(1)
        finally:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            os.close(terminal)

    def read_until(self, terminal, pattern):
        told, deadline = "", time.monotonic() + harness.PATIENCE
        while time.monotonic() < deadline:
            if select.select([terminal], [], [], 0.1)[0]:
                told += os.read(terminal, 4096).decode(errors="replace")
            if found := re.search(pattern, told):
                return found
        self.fail(f"the shell did not print {pattern}: {told!r}")


class Fish(unittest.TestCase):
    def completed(self, line):
        script = f"source '{MANUAL / 'weir.fish'}'; complete -C '{line}'"
        return [one.split("\t")[0] for one in run("fish", "--no-config", "-c", script).splitlines()]

    @needs("fish")
    def test_every_command_and_flag_is_offered(self):
        self.assertEqual(sorted(self.completed("weir ")), sorted(commands()))
        for command in commands():
            offered = self.completed(f"weir {command} -") + self.completed(f"weir {command} --")
            self.assertEqual(sorted(set(offered)), flags(command))


if __name__ == "__main__":
    harness.main()
