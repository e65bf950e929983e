"""The commands that the documents show are commands that work.

`./dev run` is tried by test_first_screen.py; `./dev test` is what runs this. What is left in the
README is taken from there, with its ports replaced by free ones, and run.
"""

import fnmatch
import os
import re
import shlex

import harness
from certificates import Authority, openssl
from example import PlayedTest
from live import LiveTest


def fenced_blocks(document):
    """(language, text) of each fenced block."""
    text = (harness.ROOT / document).read_text()
    return re.findall(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


DOCUMENTS = [path for pattern in ("*.md", "docs/**/*.md", "examples/**/*.md")
             for path in sorted(harness.ROOT.glob(pattern))]


def anchors(path):
    """The names that the headings of a document are linked by."""
    headings = re.findall(r"^#+ (.*)$", path.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def as_policy(language, block):
    """The policy that a block shows, with what a part of one leaves out; none where it is something
    else, such as another program's file."""
    if language == "toml":
        return block if "[[limits]]" in block else None
    if language != "yaml":
        return None
    if block.startswith("    "):  # the inside of a limit
        block = "limits:\n  - name: shown\n" + block
        return block if "algorithm:" in block else block + "    algorithm: unlimited\n"
    if block.startswith("  - "):
        return "limits:\n" + block
    if re.search(r"^limits:", block, re.MULTILINE):
        return block
    section = r"^(store|identity|response|gateway|api|resp|grpc|admin|metrics|log):"
    return block + "limits: []\n" if re.search(section, block, re.MULTILINE) else None


def shown_commands(document):
    """The lines of the document's fenced blocks that call weir."""
    return [line for _, block in fenced_blocks(document) for line in block.splitlines()
            if line.startswith("weir ")]


class Readme(harness.SystemTest):
    def test_every_weir_command_of_the_readme_works(self):
        commands = shown_commands("README.md")
        self.assertEqual([c.split()[1] for c in commands], ["serve", "validate", "serve"])
        self.assertEqual(shown_commands("README.zh-CN.md"), commands)
        flags, validate, serve = (shlex.split(c)[1:] for c in commands)
        upstream = self.upstream()

        listen = harness.free_port()
        flags = [word.replace(":3000", f":{upstream}") for word in flags]
        gateway = self.weir(*flags, "--listen", f"127.0.0.1:{listen}")
        gateway.wait_until_ready()
        self.assertEqual(harness.get(listen).headers["X-RateLimit-Limit"], "20")

        # weir.yaml is whatever the reader has: here the quick start's, on free ports.
        self.write("weir.yaml", (harness.ROOT / "examples/quickstart.yaml").read_text())
        ports = {name: str(harness.free_port()) for name in ("WEIR_LISTEN", "WEIR_ADMIN")}
        ports["WEIR_DEMO"] = str(upstream)
        environment = {name: f"127.0.0.1:{port}" for name, port in ports.items()}
        checked = self.weir(*validate, cwd=self.folder, env=environment)
        self.assertEqual(checked.wait(), 0, checked.output)
        self.weir(*serve, cwd=self.folder, env=environment).wait_until_ready()
        self.assertEqual(harness.get(int(ports["WEIR_LISTEN"])).status, 200)


    def test_every_file_that_the_documents_link_to_is_there(self):
        for document in DOCUMENTS:
            for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", document.read_text()):
                self.assertTrue((document.parent / link).exists(), f"{document.name}: {link}")

    def test_every_heading_that_the_documents_link_to_is_there(self):
        for document in DOCUMENTS:
            for file, anchor in re.findall(r"\]\(([^)#:]*)#([^)]*)\)", document.read_text()):
                target = document.parent / file if file else document
                if target.suffix == ".md":
                    self.assertIn(anchor, anchors(target), f"{document.name}: {file}#{anchor}")

    def test_every_page_stands_in_the_index(self):
        docs = harness.ROOT / "docs"
        index = (docs / "README.md").read_text()
        for page in docs.glob("**/*.md"):
            if page.name != "README.md":
                self.assertIn(f"]({page.relative_to(docs)})", index)

    def test_every_weir_command_of_the_dashboards_page_works(self):
        commands = shown_commands("docs/dashboard.md")
        self.assertEqual([c.split()[1] for c in commands], ["top", "keys"])
        admin = harness.free_port()
        self.serve(f"limits: []\nadmin: {{ listen: 127.0.0.1:{admin} }}\n")
        for command in commands:
            words = shlex.split(command.replace(":9090", f":{admin}"))[1:]
            looked = self.weir(*words)
            self.assertEqual(looked.wait(), 0, looked.output)


class Architecture(harness.SystemTest):
    """ARCHITECTURE.md speaks of the tree as it is."""

    BUILT = {"libweir.a", "libweir.so"}  # what no file of the tree is called

    @classmethod
    def setUpClass(cls):
        cls.text = (harness.ROOT / "ARCHITECTURE.md").read_text()
        cls.files = [path.relative_to(harness.ROOT) for folder in cls.folders(harness.ROOT)
                     for path in (harness.ROOT / folder).rglob("*") if path.is_file()]
        cls.files += [path.relative_to(harness.ROOT) for path in harness.ROOT.iterdir() if path.is_file()]
        cls.sources = [(harness.ROOT / file).read_text() for file in cls.files
                       if file.suffix in (".h", ".cc") and file.parts[0] in ("src", "include")]

    @staticmethod
    def folders(place):
        return [path.name for path in sorted(place.iterdir())
                if path.is_dir() and not path.name.startswith((".", "build", "__"))]

    def is_a_place(self, name):
        """A file, with its ending or without, or a folder, told from the root or from further down."""
        parts = name.removeprefix("./").rstrip("/").split("/")
        for file in self.files:
            for given in (file, file.with_suffix("")):
                for i in range(len(given.parts) - len(parts) + 1):
                    if all(map(fnmatch.fnmatch, given.parts[i:], parts)):
                        return True
        return False

    def is_in_the_code(self, name):
        """A word of the sources; of a member, where its class stands."""
        owner, _, member = name.rpartition("::")
        if not owner:
            return any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", source) for source in self.sources)
        return any(re.search(rf"(class|struct) {owner}\b.*\b{member}\(", source, re.DOTALL)
                   for source in self.sources)

    def test_names_only_what_is_there(self):
        names = re.findall(r"`([^`\s]+)`", self.text)
        self.assertGreater(len(names), 50)
        for name in names:
            with self.subTest(name):
                self.assertTrue(name in self.BUILT or self.is_a_place(name) or
                                self.is_in_the_code(name))

    def test_names_every_folder(self):
        for place in (".", "src", "src/serve", "src/wire", "src/store", "tests"):
            for folder in self.folders(harness.ROOT / place):
                with self.subTest(f"{place}/{folder}"):
                    self.assertRegex(self.text, rf"\b{folder}\b")


class Live(LiveTest):
    def test_every_weir_command_of_the_page_on_changes_works(self):
        self.serve(self.policy("[{ name: login, key: [user|ip], algorithm: token_bucket, rate: 1/s,"
                               " burst: 5 }]"))
        commands = shown_commands("docs/live.md")
        self.assertGreater(len(commands), 5)
        url = f"http://127.0.0.1:{self.admin}"
        for command in commands:
            words = shlex.split(command, comments=True)[1:]
            done = self.weir(*words, "--url", url, env={"WEIR_ADMIN_TOKEN": self.TOKEN})
            self.assertEqual(done.wait(), 0, f"{command}\n{done.output}")


class Guides(PlayedTest):
    """The pages that lead a reader by the hand, typed from top to bottom."""

    PORTS = (3000, 6379, 6380, 8080, 8081, 8090, 9090, 9190)
    REPEATED = ("X-RateLimit-Limit", "weir keys")  # what an edit, or a refusal, shows a moment later

    def test_the_first_limit(self):
        self.play_document("docs/first-limit.md")

    def test_a_fleet_on_one_redis(self):
        self.play_document("docs/fleet.md")

    def test_the_check_api(self):
        self.play_document("docs/api.md")

    def test_redis_clients(self):
        self.play_document("docs/resp.md")

    def test_the_nginx_that_asks(self):
        self.play_document("docs/proxies.md")

    def test_the_chinese_quick_start(self):
        self.play_document("docs/zh-CN/quickstart.md")

    def test_every_program_that_the_documents_show_compiles(self):
        shown = [block for document in DOCUMENTS for language, block in fenced_blocks(document)
                 if language == "cpp" and "int main(" in block]
        self.assertTrue(shown)
        for block in shown:
            path = self.write("shown.cc", block)
            compiled = self.start(os.environ.get("CXX", "c++"), "-std=c++20", "-fsyntax-only", "-I",
                                  harness.ROOT / "include", path)
            self.assertEqual(compiled.wait(60), 0, compiled.output)

    def test_every_policy_that_the_documents_show_is_one(self):
        cert, key = Authority(self.folder).sign("cert")
        private, keys = self.folder / "private.pem", self.folder / "keys.pem"
        openssl("genpkey", "-algorithm", "RSA", "-out", private)
        openssl("pkey", "-in", private, "-pubout", "-out", keys)
        shown = 0
        for document in DOCUMENTS:
            for language, block in fenced_blocks(document):
                block = block.replace("/etc/weir/keys.pem", str(keys))
                block = re.sub(r"/etc/weir/[\w.-]+\.pem", str(cert), block)
                policy = as_policy(language, re.sub(r"/etc/weir/[\w.-]+\.key", str(key), block))
                if policy is None:
                    continue
                shown += 1
                path = self.write(f"shown.{language}", policy)
                checked = self.weir("validate", path, env={"PORT": "8080", "ADMIN": "9090"})
                self.assertEqual(checked.wait(), 0, f"{document}\n{checked.output}")
        self.assertGreater(shown, 20)


if __name__ == "__main__":
    harness.main()
