#!/usr/bin/env python3
"""Looks into the Debian packages that cpack has made: check_packages.py FOLDER

What is in them and whose, what they need, what their scripts are, and whether the program in them
runs and takes the policy that comes with it. Asks lintian too, where it is installed; that takes
most of the time, and WEIR_WITHOUT_LINTIAN=1 leaves it out.
"""

import os
import pathlib
import re
import shutil
import stat
import subprocess
import sys
import tarfile
import tempfile
import unittest

FOLDER = pathlib.Path()
# What lintian says, and why it stays.
ACCEPTED_TAGS = {
    "bogus-mail-host",                      # the packages are built by who uses them
    "bogus-mail-host-in-debian-changelog",
    "initial-upload-closes-no-bugs",        # nor uploaded
    "no-symbols-control-file",              # every minor version is another soname, until 1.0
    "maintainer-script-calls-systemctl",    # as debhelper's own scripts do
    "maintscript-calls-ldconfig",           # cpack writes it, beside the trigger
}


def output(*words):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True,
                          check=True).stdout


class Package:
    def __init__(self, name):
        [self.path] = FOLDER.glob(f"{name}_*.deb")
        tar = subprocess.run(["dpkg-deb", "--fsys-tarfile", self.path], capture_output=True,
                             check=True).stdout
        with tempfile.TemporaryFile() as file:
            file.write(tar)
            file.seek(0)
            with tarfile.open(fileobj=file) as members:
                self.files = {"/" + member.name.removeprefix("./").rstrip("/"): member
                              for member in members}

    def field(self, name):
        return output("dpkg-deb", "--field", self.path, name).strip()

    def control(self, folder):
        subprocess.run(["dpkg-deb", "--control", self.path, folder], check=True)
        return {one.name: one for one in pathlib.Path(folder).iterdir()}


class Everywhere(unittest.TestCase):
    def test_all_is_roots_and_nobody_else_may_write_it(self):
        for name in ("weir", "libweir0.1", "libweir-dev"):
            for path, member in Package(name).files.items():
                self.assertEqual((member.uid, member.gid), (0, 0), path)
                if not member.issym():
                    self.assertEqual(member.mode & (stat.S_IWGRP | stat.S_IWOTH), 0, path)
                self.assertRegex(path, r"^/($|usr|etc)")
                self.assertNotIn("/usr/local", path)

    def test_each_has_its_licence_and_its_changes(self):
        for name in ("weir", "libweir0.1", "libweir-dev"):
            files = Package(name).files
            for file in ("copyright", "changelog.gz", "changelog.Debian.gz"):
                self.assertIn(f"/usr/share/doc/{name}/{file}", files)

    def test_lintian_finds_nothing_new(self):
        if not shutil.which("lintian") or "WEIR_WITHOUT_LINTIAN" in os.environ:
            self.skipTest("lintian is not installed, or not wanted")
        told = subprocess.run(["lintian", "--allow-root", "--fail-on", "none", *FOLDER.glob("*.deb")],
                              capture_output=True, text=True, check=True).stdout
        new = [line for line in told.splitlines() if re.match(r"^[EW]: ", line)
               and line.split()[2] not in ACCEPTED_TAGS]
        self.assertEqual(new, [])


class Program(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.package = Package("weir")
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.root = pathlib.Path(cls.folder.name, "root")
        cls.root.mkdir()
        subprocess.run(["dpkg-deb", "--extract", cls.package.path, cls.root], check=True)
        cls.control = cls.package.control(pathlib.Path(cls.folder.name, "control"))

    def test_it_has_the_program_its_unit_its_policy_its_pages_and_its_completions(self):
        for path in ("/usr/bin/weir", "/usr/lib/systemd/system/weir.service",
                     "/usr/lib/systemd/system/weir.socket", "/etc/weir/weir.yaml",
                     "/usr/share/man/man1/weir.1.gz", "/usr/share/man/man5/weir.yaml.5.gz",
                     "/usr/share/bash-completion/completions/weir",
                     "/usr/share/zsh/vendor-completions/_weir",
                     "/usr/share/fish/vendor_completions.d/weir.fish",
                     "/usr/share/doc/weir/policy.md",
                     "/usr/share/doc/weir/examples/prometheus/weir.rules.yml"):
            self.assertIn(path, self.package.files)
        self.assertFalse([path for path in self.package.files if "/include/" in path])

    def test_every_file_below_etc_is_a_conffile(self):
        listed = self.control["conffiles"].read_text().split()
        etc = [path for path, member in self.package.files.items()
               if path.startswith("/etc/") and member.isfile()]
        self.assertEqual(sorted(listed), sorted(etc))

    def test_what_it_needs_was_found_out(self):
        needs = self.package.field("Depends")
        for library in ("libc6 (>= ", "libssl3 (>= ", "libnghttp2-14 (>= ", "libyaml-cpp", "adduser"):
            self.assertIn(library, needs)

    def test_its_scripts_are_right_for_a_plain_shell(self):
        for name in ("postinst", "prerm", "postrm"):
            script = self.control[name]
            self.assertEqual(script.stat().st_mode & 0o777, 0o755)
            subprocess.run(["dash", "-n", script], check=True)

    def test_the_program_runs_and_names_its_version_and_commit(self):
        self.assertRegex(output(self.root / "usr/bin/weir", "--version"),
                         r"^weir \d+\.\d+\.\d+ \([0-9a-f]{12}\)$")
        self.assertNotIn("debug_info", output("file", self.root / "usr/bin/weir")
                         if shutil.which("file") else "")

    def test_the_policy_that_comes_with_it_is_right(self):
        policy = self.root / "etc/weir/weir.yaml"
        told = subprocess.run([self.root / "usr/bin/weir", "validate", policy], capture_output=True,
                              text=True, check=False)
        self.assertEqual(told.returncode, 0, told.stdout + told.stderr)
        self.assertNotIn("warning", told.stdout + told.stderr)

    @unittest.skipUnless(shutil.which("systemd-analyze"), "systemd is not installed")
    def test_systemd_understands_the_unit_and_finds_it_closed(self):
        units = self.root / "usr/lib/systemd/system"
        told = subprocess.run(["systemd-analyze", "verify", "--man=no", units / "weir.service"],
                              capture_output=True, text=True, check=False).stderr
        # It is not installed here, and what is said of the system's own units is not ours.
        ours = [line for line in told.splitlines()
                if "weir." in line and "is not executable" not in line]
        self.assertEqual(ours, [])
        told = subprocess.run(["systemd-analyze", "security", "--offline=yes", "--threshold=20",
                               units / "weir.service"], capture_output=True, text=True, check=False)
        self.assertEqual(told.returncode, 0, told.stdout)


class Library(unittest.TestCase):
    def test_the_shared_library_stands_alone(self):
        package = Package("libweir0.1")
        libraries = [path for path, member in package.files.items() if ".so" in path]
        self.assertEqual([pathlib.Path(path).name for path in sorted(libraries)],
                         ["libweir.so.0.1", "libweir.so.0.1.0"])
        with tempfile.TemporaryDirectory() as folder:
            control = package.control(pathlib.Path(folder, "control"))
            self.assertIn("libweir 0.1 libweir0.1", control["shlibs"].read_text())
            self.assertIn("ldconfig", control["postinst"].read_text())

    def test_the_headers_come_with_both_kinds_of_build_and_the_library(self):
        package = Package("libweir-dev")
        names = {pathlib.Path(path).name for path in package.files}
        for name in ("limiter.h", "libweir.a", "libweir.so", "weirConfig.cmake", "weir.pc"):
            self.assertIn(name, names)
        self.assertIn(f"libweir0.1 (= {package.field('Version')})", package.field("Depends"))


if __name__ == "__main__":
    FOLDER = pathlib.Path(sys.argv.pop(1))
    unittest.main(verbosity=2)
