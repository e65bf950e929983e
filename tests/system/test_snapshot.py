"""`store.snapshot`: what clients have used stays used over a restart, and no file stops the start."""

import json
import stat

import harness

POLICY = """
store: {{ url: memory://, snapshot: {{ file: "{file}", every: {every} }} }}
limits:
  - {{ name: login, key: [user], algorithm: token_bucket, rate: 1/h, burst: 2 }}
  - {{ name: calls, key: [user], algorithm: fixed_window, limit: 100, window: 1h, align: first }}
api: {{ listen: 127.0.0.1:{port} }}
"""


class Snapshot(harness.SystemTest):
    def setUp(self):
        super().setUp()
        self.file = self.folder / "counters"
        self.port = harness.free_port()

    def run_weir(self, every="1s"):
        return self.serve(POLICY.format(file=self.file, every=every, port=self.port))

    def check(self, user="42"):
        client = harness.Client(self.port)
        try:
            body = json.dumps({"attributes": {"user": user}})
            return client.request("POST", "/v1/check", body=body).status
        finally:
            client.close()

    def drain(self):
        self.assertEqual([self.check() for _ in range(3)], [200, 200, 429])

    def test_a_drained_key_is_refused_after_a_stop_and_a_start(self):
        weir = self.run_weir(every="1h")
        self.drain()
        weir.signal(harness.signal.SIGTERM)
        self.assertEqual(weir.wait(), 0, weir.output)
        self.assertEqual(stat.S_IMODE(self.file.stat().st_mode), 0o600)
        self.run_weir().wait_for("2 counters restored")
        self.assertEqual([self.check(), self.check("43")], [429, 200])

    def test_a_kill_loses_at_most_what_came_after_the_last_snapshot(self):
        weir = self.run_weir()
        self.drain()
        # The one that is there now, or is being written, may have been begun before the calls.
        seen = set()

        def written_since():
            if self.file.exists():
                seen.add(self.file.stat().st_mtime_ns)
            return len(seen) > 2
        harness.until(written_since, "the snapshot is written at each interval")
        weir.signal(harness.signal.SIGKILL)
        weir.wait()
        self.run_weir()
        self.assertEqual(self.check(), 429)

    def test_a_file_that_is_none_is_told_kept_aside_and_not_fatal(self):
        for number, content in enumerate([b"", b"not a snapshot\n" * 100]):
            self.file.write_bytes(content)
            weir = self.run_weir()
            weir.wait_for("is damaged")
            self.assertEqual(self.check(str(number)), 200)
            self.assertEqual((self.folder / "counters.refused").read_bytes(), content)
            weir.stop()

    def test_a_truncated_file_is_told_and_the_counters_start_afresh(self):
        weir = self.run_weir(every="1h")
        self.drain()
        weir.signal(harness.signal.SIGTERM)
        weir.wait()
        whole = self.file.read_bytes()
        self.file.write_bytes(whole[:-5])
        self.run_weir().wait_for("is damaged")
        self.assertEqual(self.check(), 200)

    def test_a_folder_that_is_missing_is_told_once_and_not_fatal(self):
        self.file = self.folder / "missing" / "counters"
        weir = self.run_weir()
        weir.wait_for("cannot be written")
        self.assertEqual(self.check(), 200)
        weir.signal(harness.signal.SIGTERM)
        self.assertEqual(weir.wait(), 0)
        self.assertEqual(weir.output.count("cannot be written"), 1, weir.output)


if __name__ == "__main__":
    harness.main()
