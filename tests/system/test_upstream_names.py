"""An upstream that is named, not numbered: its name is looked up again, and the servers that it moves to
are found. Each weir sees an /etc/hosts of its own, mounted for it alone."""

import os
import shutil
import subprocess
import unittest

import harness
from harness import Client, free_port, get, until

OLD, NEW = "127.0.0.2", "127.0.0.3"
MOUNTS = shutil.which("unshare") and os.geteuid() == 0 and subprocess.run(
    ["unshare", "-m", "true"], capture_output=True, check=False).returncode == 0


@unittest.skipUnless(MOUNTS, "needs the right to mount a file")
class Names(harness.SystemTest):
    def setUp(self):
        super().setUp()
        self.port, self.listen = free_port(), free_port()
        self.hosts = self.write("hosts", f"{OLD} backend.test\n")
        policy = self.write("weir.yaml", f"""
limits: []
gateway: {{ listen: 127.0.0.1:{self.listen}, upstream: http://backend.test:{self.port} }}
""")
        self.weir = self.start("unshare", "-m", "sh", "-c", 'mount --bind "$1" /etc/hosts && shift '
                               '&& exec "$@"', "sh", self.hosts, harness.WEIR, "serve", "-c", policy,
                               "--loops", "1")
        self.weir.wait_until_ready()

    def servers(self, keep_alive):
        """nginx at both addresses, which answers with the one that was asked; a client of weir."""
        listen = " ".join(f"listen {address}:{self.port};" for address in (OLD, NEW))
        self.nginx(f"keepalive_timeout {keep_alive}; keepalive_requests 1000000; "
                   f"server {{ {listen} location / {{ return 200 $server_addr; }} }}")
        until(lambda: get(self.listen).status == 200, "the servers listen")
        client = Client(self.listen)
        self.addCleanup(client.close)
        self.assertEqual(client.get().text, OLD)
        return client

    def moves(self, client):
        """Asks until the new address answers; no request fails, and none goes back."""
        self.hosts.write_text(f"{NEW} backend.test\n")  # in place: this file is what is mounted

        def moved():
            answer = client.get()
            self.assertEqual(answer.status, 200)
            return answer.text == NEW
        until(moved, "the new address is used")
        self.assertEqual({client.get().text for _ in range(20)}, {NEW})

    def test_requests_go_where_the_name_has_moved_to_and_none_is_lost(self):
        self.moves(self.servers(keep_alive=0))

    def test_a_connection_that_is_never_idle_for_long_does_not_hold_on_to_the_old_address(self):
        self.moves(self.servers(keep_alive=600))


if __name__ == "__main__":
    harness.main()
