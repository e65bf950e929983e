"""A policy that changes while weir serves: how the change is seen, and what becomes of traffic."""

import json
import os
import shutil
import subprocess

import harness
from live import LiveTest


class Reloading(LiveTest):
    def wait_for_generation(self, generation):
        harness.until(lambda: self.status()["generation"] == generation,
                      f"generation {generation} is in force: {self.status()}")

    def test_a_file_renamed_into_place_is_seen_each_time(self):
        self.serve(self.policy(self.window(10)))
        for quota in (11, 12, 13):
            self.write("new", self.policy(self.window(quota)))
            os.rename(self.folder / "new", self.folder / "weir.yaml")
            self.wait_for_quota(quota)

    def test_a_file_written_in_place_is_seen_each_time(self):
        self.serve(self.policy(self.window(10)))
        for quota in (11, 12, 13):
            self.write("weir.yaml", self.policy(self.window(quota)))
            self.wait_for_quota(quota)

    def test_the_rename_dance_of_an_editor_is_seen_each_time(self):
        path = self.folder / "weir.yaml"
        self.serve(self.policy(self.window(10)))
        for quota in (11, 12, 13):
            os.rename(path, self.folder / "weir.yaml~")
            self.write("weir.yaml", self.policy(self.window(quota)))
            os.unlink(self.folder / "weir.yaml~")
            self.wait_for_quota(quota)

    def test_the_link_swap_of_a_mounted_config_map_is_seen_each_time(self):
        mount = self.folder / "mount"
        mount.mkdir()

        def publish(version, text):
            (mount / version).mkdir()
            (mount / version / "weir.yaml").write_text(text)
            (mount / "..data_tmp").symlink_to(version)
            os.rename(mount / "..data_tmp", mount / "..data")

        publish("..1", self.policy(self.window(10)))
        (mount / "weir.yaml").symlink_to("..data/weir.yaml")
        weir = self.weir("serve", "-c", mount / "weir.yaml")
        weir.wait_until_ready()
        for i, quota in enumerate((11, 12, 13), 2):
            publish(f"..{i}", self.policy(self.window(quota)))
            shutil.rmtree(mount / f"..{i - 1}")
            self.wait_for_quota(quota)

    def test_a_folder_that_is_made_anew_is_seen(self):
        mount = self.folder / "mount"
        mount.mkdir()
        (mount / "weir.yaml").write_text(self.policy(self.window(10)))
        self.weir("serve", "-c", mount / "weir.yaml").wait_until_ready()
        for quota in (11, 12):
            shutil.rmtree(mount)
            self.assertEqual(self.quota(), quota - 1)
            mount.mkdir()
            (mount / "weir.yaml").write_text(self.policy(self.window(quota)))
            self.wait_for_quota(quota)

    def test_a_file_whose_folder_tells_of_no_change_is_looked_at(self):
        """As on NFS: here because no folder may be watched."""
        path = self.write("weir.yaml", self.policy(self.window(10)))
        alone = ["unshare", "--user", "--map-root-user", "sh", "-c",
                 'echo 0 > /proc/sys/user/max_inotify_watches && exec "$@"', "sh"]
        if subprocess.run([*alone, "true"], capture_output=True).returncode != 0:
            self.skipTest("this user may not make a namespace of users")
        self.start(*alone, harness.WEIR, "serve", "-c", path).wait_until_ready()
        for quota in (11, 12, 13):
            self.write("new", self.policy(self.window(quota)))
            os.rename(self.folder / "new", path)
            self.wait_for_quota(quota)

    def test_a_file_that_is_mounted_alone_stays_as_it_was_and_a_reload_does_not_help(self):
        """As by Kubernetes' subPath: the mount holds the old file, whatever takes its name."""
        source = self.write("source.yaml", self.policy(self.window(10)))
        os.link(source, self.folder / "weir.yaml")
        self.weir("serve", "-c", self.folder / "weir.yaml").wait_until_ready()
        self.write("new", self.policy(self.window(11)))
        os.rename(self.folder / "new", source)
        value = self.changed("POST", "/v1/policy:reload")
        self.assertEqual(value["generation"], 1)
        self.assertEqual(self.quota(), 10)

    def test_a_touch_is_no_reload(self):
        weir = self.serve(self.policy(self.window(10)))
        os.utime(self.folder / "weir.yaml")
        self.write("weir.yaml", self.policy(self.window(11)))  # is seen after the touch
        self.wait_for_quota(11)
        weir.wait_for("is in force, generation 2")
        self.assertEqual(self.status()["generation"], 2)
        self.assertEqual(weir.output.count("is in force"), 1, weir.output)

    def test_half_a_file_changes_nothing_and_is_told_with_all_its_mistakes(self):
        weir = self.serve(self.policy(self.window(10)))
        text = self.policy(self.window(11))
        self.write("weir.yaml", text[:40])
        weir.wait_for("stays in force")
        self.assertEqual(self.quota(), 10)
        self.assertIn("the last reload was refused", self.status()["reasons"][0])
        self.write("weir.yaml", text)
        self.wait_for_quota(11)
        self.assertEqual(self.status()["reasons"], [])

    def test_a_file_that_was_gone_and_is_back_as_it_was_leaves_no_complaint(self):
        text = self.policy(self.window(10))
        self.serve(text)
        os.unlink(self.folder / "weir.yaml")
        self.assertEqual(self.control("POST", "/v1/policy:reload")[0], 422)
        self.assertIn("the last reload was refused", self.status()["reasons"][0])
        self.write("weir.yaml", text)
        harness.until(lambda: self.status()["reasons"] == [],
                      f"no complaint is left: {self.status()}")

    def test_the_admin_api_reloads_and_says_what_is_wrong(self):
        weir = self.serve(self.policy(self.window(10)))
        status, value = self.control("POST", "/v1/policy:reload")
        self.assertEqual((status, value["done"], value["generation"]), (200, True, 1))
        self.write("weir.yaml", self.policy("[{ name: w, algorithm: fixed_window, limit: many }]"))
        status, value = self.control("POST", "/v1/policy:reload")
        self.assertEqual(status, 422, value)
        self.assertTrue(any("weir.yaml:1:" in line and "limit is 'many'" in line
                            for line in value["mistakes"]), value)
        self.assertEqual(self.quota(), 10)
        self.assertEqual(self.call(self.admin, "POST", "/v1/policy:reload").status, 401)
        weir.wait_for("POST /v1/policy:reload from 127.0.0.1")

    def test_what_is_in_force_can_be_seen_without_its_secrets(self):
        self.serve(self.policy(self.window(10)))
        before = self.status()
        status, value = self.control("GET", "/v1/policy")
        self.assertEqual(status, 200)
        self.assertIn("limit: 10", value["text"])
        self.assertNotIn(self.TOKEN, json.dumps(value))
        self.assertEqual((value["generation"], value["hash"]), (1, before["hash"]))
        self.assertRegex(value["hash"], "^sha256:[0-9a-f]{64}$")
        self.write("weir.yaml", self.policy(self.window(11)))
        self.wait_for_generation(2)
        self.assertNotEqual(self.status()["hash"], before["hash"])
        self.assertGreaterEqual(self.status()["loaded_at"], before["loaded_at"])
        self.assertIn("weir_config_generation 2", harness.get(self.admin, "/metrics").text)


class Listening(LiveTest):
    def test_a_changed_address_is_opened_before_the_old_one_closes(self):
        weir = self.serve(self.policy(self.window(10)))
        old = harness.Client(self.api)
        self.addCleanup(old.close)
        body = json.dumps({"attributes": {"user": "a"}})
        self.assertEqual(old.request("POST", "/v1/check", body=body).status, 200)
        kept = harness.Client(self.admin)
        self.addCleanup(kept.close)
        self.assertEqual(kept.get("/healthz").status, 200)
        moved = harness.free_port()
        self.write("weir.yaml", self.policy(self.window(10), api=moved))
        weir.wait_for(f"api listens on 127.0.0.1:{moved}")
        harness.until(lambda: not harness.is_open(self.api), "the old address is closed")
        # What is under way on the old one is answered, and told that it ends.
        answer = old.request("POST", "/v1/check", body=body)
        self.assertEqual((answer.status, answer.headers["Connection"]), (200, "close"))
        self.assertEqual(self.call(moved, "POST", "/v1/check", body).status, 200)
        # The admin listener's address did not change: its connection goes on.
        self.assertEqual(kept.get("/healthz").status, 200)
        self.assertEqual(self.status()["generation"], 2)

    def test_an_address_that_cannot_be_opened_refuses_the_whole_policy(self):
        weir = self.serve(self.policy(self.window(10)))
        taken = self.demo()
        self.write("weir.yaml", self.policy(self.window(11), api=taken))
        weir.wait_for("another program listens there")
        self.assertEqual(self.check("b", cost=0)["quota"], 10)
        self.assertEqual(self.status()["generation"], 1)


if __name__ == "__main__":
    harness.main()
