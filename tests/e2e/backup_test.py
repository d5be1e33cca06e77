"""An operator copies a data folder while it is in use, restores it, and stops an aggregator without losing anything."""
import concurrent.futures
import json
import shutil
import urllib.error
import urllib.request

import blinktest
from blinktest import BlinkTest, Deployment, free_port, must, run, wait_until

NODES = 90


class Backups(BlinkTest):
    def setUp(self):
        self.blink = Deployment(nodes=NODES, kits=3)
        self.addCleanup(self.blink.__exit__, None, None, None)

    def back_up(self, name):
        done = must("blink-aggregator", "backup", "--data", self.blink.data, "--output", self.blink.folder / name,
                    "--quiet")
        self.assertIn("the store and", done.out)
        return self.blink.folder / name

    def put_back(self, backup):
        shutil.rmtree(self.blink.data)
        return must("blink-aggregator", "restore", backup, "--data", self.blink.data, "--quiet")

    def test_a_backup_in_mid_round_is_whole_and_the_round_completes_from_it(self):
        names = self.blink.kits()
        self.blink.start_aggregator()
        first = self.blink.create_round(epsilon=2)
        self.blink.start_fleet(arguments=("--round", first))
        self.blink.wait_for_state(first, "ready")
        self.blink.wait_for_fleet()
        second = self.blink.create_round(epsilon=4)
        self.blink.start_node(names[0])
        self.blink.wait_for_reports(second, 30)
        backup = self.back_up("backup")
        self.assertEqual(list(self.blink.data.glob("store.snapshot*")), [], "the snapshot is removed")
        self.blink.start_node(names[1])
        self.blink.wait_for_reports(second, 60)
        verified = must("blink-aggregator", "verify-backup", backup, "--quiet")
        self.assertIn("the store and 1 rounds", verified.out)
        self.blink.aggregator.kill()  # the disk is lost; the second gateway still runs, and sends its reports again
        self.put_back(backup)
        self.blink.start_aggregator()
        self.blink.wait_for_reports(second, 60)
        self.blink.start_node(names[2])
        status = self.blink.wait_for_state(second, "ready")
        self.assertEqual(status["reports"], NODES)
        self.assertEqual(self.blink.draws(), 2 * NODES, "nobody drew twice")
        must("blink", "round", "result", "--config", self.blink.operator, first, "--output",
             self.blink.folder / "result")
        must("blink", "audit-log", "verify", self.blink.data / "audit.log")

    def test_backups_while_a_fleet_reports_have_each_report_that_was_acknowledged_before(self):
        self.blink.start_aggregator()
        round_id = self.blink.create_round(epsilon=1)
        self.blink.proxy(self.blink.kits(), upstream_bytes_per_second=2000)
        self.blink.start_fleet()
        taken = []
        for i in range(6):
            acknowledged = self.blink.reports(round_id)
            taken.append((acknowledged, self.back_up(f"backup-{i}")))
        self.blink.wait_for_state(round_id, "ready")
        self.assertEqual(self.blink.aggregator.terminate(), blinktest.OK)
        for acknowledged, backup in taken:
            self.put_back(backup)
            # A deadline that passes while nobody listens seals no round: only a count is asked for.
            self.blink.start_aggregator()
            status = self.blink.status(round_id)
            self.assertGreaterEqual(status["reports"], acknowledged)
            self.assertEqual(self.blink.aggregator.terminate(), blinktest.OK)

    def test_backups_at_the_same_time_are_whole(self):
        self.blink.start_aggregator()
        self.blink.create_round()
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            made = list(pool.map(self.back_up, [f"backup-{i}" for i in range(12)]))
        for backup in made:
            self.assertIn("the store and", must("blink-aggregator", "verify-backup", backup).out)
            self.assertTrue((backup / "data" / "store" / "CURRENT").exists())

    def test_a_backup_of_a_folder_that_nobody_uses_and_refusals(self):
        self.blink.start_aggregator()
        self.blink.create_round()
        self.assertEqual(self.blink.aggregator.terminate(), blinktest.OK)
        backup = self.back_up("backup")
        again = run("blink-aggregator", "backup", "--data", self.blink.data, "--output", backup)
        self.assertEnds(again, blinktest.BAD_INPUT, "exists already")
        nowhere = run("blink-aggregator", "backup", "--data", self.blink.folder / "nothing", "--output",
                      self.blink.folder / "b2")
        self.assertEnds(nowhere, blinktest.BAD_INPUT, "has no store")
        self.assertFalse((self.blink.folder / "nothing").exists(), "nothing is made")
        in_use = run("blink-aggregator", "restore", backup, "--data", self.blink.data)
        self.assertEnds(in_use, blinktest.BAD_INPUT, "is not empty")
        table = next((backup / "data" / "store").glob("*.sst"))
        table.write_bytes(table.read_bytes()[:-1] + b"\0")
        damaged = run("blink-aggregator", "verify-backup", backup)
        self.assertEnds(damaged, blinktest.JOURNAL, table.name)
        self.assertEnds(run("blink-aggregator", "backup", "--data", self.blink.data), blinktest.USAGE, "--output")
        self.assertEnds(run("blink-aggregator", "verify-backup", self.blink.folder), blinktest.BAD_INPUT, "backup.json")

    def test_an_aggregator_that_drains_takes_nothing_new_and_can_go_on(self):
        port = free_port()
        self.blink.start_aggregator("--http-listen", f"127.0.0.1:{port}")
        round_id = self.blink.create_round(epsilon=2)
        names = self.blink.kits()
        self.blink.start_node(names[0])
        self.blink.wait_for_reports(round_id, 30)

        def is_ready():
            try:
                return urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=10).status == 200
            except urllib.error.HTTPError as error:
                self.assertIn(b"drains", error.read())
                return False

        self.assertTrue(is_ready())
        drained = must("blink-aggregator", "drain", "--data", self.blink.data)
        self.assertIn("every report is answered", drained.out)
        self.assertFalse(is_ready())
        refused = run("blink", "round", "create", "--config", self.blink.operator, "--epsilon", 1)
        self.assertEnds(refused, blinktest.UNREACHABLE, "is about to stop")
        waiting = self.blink.start_node(names[1])
        wait_until(lambda: "is about to stop" in waiting.log(), "a node that is told to come again")
        self.assertEqual(self.blink.reports(round_id), 30)
        must("blink-aggregator", "drain", "--data", self.blink.data, "--undo")
        self.assertTrue(is_ready())
        self.blink.wait_for_reports(round_id, 60)
        self.blink.start_node(names[2])
        self.blink.wait_for_state(round_id, "ready")
        self.blink.wait_for_fleet()
        records = [json.loads(line) for line in (self.blink.data / "audit.log").read_text().splitlines()]
        self.assertEqual([r["action"] for r in records if r["who"] == "local" and r["event"] == "asked"],
                         ["drain", "undrain"])
        self.assertEqual(self.blink.aggregator.terminate(), blinktest.OK)
        self.assertEnds(run("blink-aggregator", "drain", "--data", self.blink.data), blinktest.UNREACHABLE)


if __name__ == "__main__":
    blinktest.main()
