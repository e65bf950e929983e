"""A new process takes the place of an old one while clients are served, and no request is lost."""

import http.client
import socket
import ssl
import stat
import sys
import threading

sys.path.insert(0, __file__.rsplit("/", 1)[0])
from certificates import Authority  # noqa: E402
from harness import PATIENCE, SystemTest, free_port, get, main, signal  # noqa: E402


class Load:
    """Clients that ask without a pause, on connections of their own or on ones that are kept, and
    count what is not answered."""

    def __init__(self, port, clients=8):
        self.port, self.answered, self.failures = port, 0, []
        self.ended = threading.Event()
        self.lock = threading.Lock()
        self.threads = [threading.Thread(target=self.run, args=(i % 2 == 0,))
                        for i in range(clients)]
        for thread in self.threads:
            thread.start()

    def run(self, keep):
        connection = None
        while not self.ended.is_set():
            try:
                if connection is None:
                    connection = http.client.HTTPConnection("127.0.0.1", self.port,
                                                            timeout=PATIENCE)
                connection.request("GET", "/", headers={} if keep else {"Connection": "close"})
                answer = connection.getresponse()
                answer.read()
                closes = answer.headers.get("Connection") == "close"
                with self.lock:
                    self.answered += 1
                    if answer.status != 200:
                        self.failures.append(answer.status)
                if closes:
                    connection.close()
                    connection = None
            except Exception as failure:  # every one is a lost request
                with self.lock:
                    self.failures.append(repr(failure))
                connection = None

    def stop(self):
        self.ended.set()
        for thread in self.threads:
            thread.join()


class TakeOver(SystemTest):
    def setUp(self):
        super().setUp()
        self.port, self.admin = free_port(), free_port()
        self.socket = self.folder / "take-over.sock"
        self.policy = self.write("weir.yaml", f"""
limits: []
gateway: {{ listen: 127.0.0.1:{self.port}, upstream: http://127.0.0.1:{self.demo()} }}
admin: {{ listen: 127.0.0.1:{self.admin} }}
api: {{ listen: 'unix://{self.folder}/api.sock' }}
""")

    def generation(self, *arguments):
        return self.weir("serve", "-c", self.policy, "--take-over", self.socket, *arguments)

    def test_under_load_no_request_is_lost(self):
        old = self.generation("--loops", "2")
        old.wait_until_ready()
        load = Load(self.port)
        self.addCleanup(load.stop)
        for loops in ("3", "1", "2"):
            new = self.generation("--loops", loops)
            new.wait_for("took the listening sockets over")
            self.assertEqual(old.wait(), 0, old.output)
            self.assertIn("another process serves on our sockets", old.output)
            old = new
        answered = load.answered
        while load.answered < answered + 100:
            pass
        load.stop()
        self.assertEqual(load.failures, [])
        self.assertEqual(get(self.admin, "/healthz").status, 200)
        with socket.socket(socket.AF_UNIX) as api:
            api.connect(f"{self.folder}/api.sock")  # the file has stayed
        old.signal(signal.SIGTERM)
        self.assertEqual(old.wait(), 0)
        self.assertFalse(self.socket.exists())

    def test_one_that_fails_before_it_serves_changes_nothing(self):
        old = self.generation()
        old.wait_until_ready()
        self.assertEqual(stat.S_IMODE(self.socket.stat().st_mode), 0o600)
        taken = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(taken.close)
        bad = self.write("bad.yaml", self.policy.read_text()
                         + f"resp: {{ listen: 127.0.0.1:{taken.getsockname()[1]} }}\n")
        failed = self.weir("serve", "-c", bad, "--take-over", self.socket)
        self.assertEqual(failed.wait(), 1)
        self.assertIn("Address already in use", failed.output)
        self.assertEqual(get(self.port).status, 200)
        new = self.generation()
        new.wait_for("took the listening sockets over")
        self.assertEqual(old.wait(), 0)
        self.assertEqual(get(self.port).status, 200)

    def test_connections_that_wait_to_be_accepted_are_not_lost(self):
        """The old process is stopped while they come: only the new one can accept them."""
        old = self.generation("--loops", "1")
        old.wait_until_ready()
        new = self.generation("--loops", "1")
        new.wait_for("took the listening sockets over")
        self.assertEqual(old.wait(), 0)
        new.signal(signal.SIGSTOP)
        waiting = [socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)
                   for _ in range(200)]
        for client in waiting:
            self.addCleanup(client.close)
            client.sendall(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        new.signal(signal.SIGCONT)
        third = self.generation("--loops", "1")
        for client in waiting:
            self.assertIn(b" 200 ", client.recv(65536))
        third.wait_for("took the listening sockets over")
        self.assertEqual(new.wait(), 0)

    def test_over_tls(self):
        cert, key = Authority(self.folder).sign("server")
        self.policy.write_text(f"limits: []\napi: {{ listen: 127.0.0.1:{self.port}, "
                               f"tls: {{ cert: {cert}, key: {key} }} }}\n")
        old = self.generation()
        old.wait_until_ready()
        begun = socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)
        self.addCleanup(begun.close)
        new = self.generation()
        new.wait_for("took the listening sockets over")
        context = ssl.create_default_context(cafile=f"{self.folder}/ca.pem")
        tls = context.wrap_socket(begun, server_hostname="localhost")
        tls.sendall(b"GET /v1/none HTTP/1.1\r\nHost: a\r\n\r\n")
        self.assertIn(b" 404 ", tls.recv(4096), "a handshake that had begun is finished")
        self.assertEqual(old.wait(), 0)


if __name__ == "__main__":
    main()
