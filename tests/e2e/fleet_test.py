"""A fleet of node processes on one machine, with churn: who never reports, who is killed and comes back, who is late,
and an aggregator that dies in the middle."""
import filecmp
import json
import os
import pathlib
import signal
import subprocess
import sys

import blinktest
from blinktest import BIN_DIR, SOURCE_DIR, BlinkTest, Deployment, must, wait_until

FLEET = SOURCE_DIR / "deploy" / "simulate-fleet"


def start_fleet(blink, *arguments):
    """The fleet's process. Its log goes to the folder of the deployment, and what it prints to a pipe."""
    with open(blink.folder / "fleet.log", "ab") as log:
        process = subprocess.Popen([sys.executable, "-B", FLEET, blink.out, "--node", BIN_DIR / "blink-node", "--json",
                                    *map(str, arguments)], stdout=subprocess.PIPE, stderr=log, text=True)
    return process


def refused(*arguments):
    return subprocess.run([sys.executable, "-B", FLEET, *map(str, arguments)], capture_output=True, text=True,
                          check=False, timeout=blinktest.PATIENCE_SECONDS)


class Churn(BlinkTest):
    """A small fleet. What it does follows from its seed."""

    CHURN = "arrive=2,drop=0.2,crash=0.3,restart=0.2,late=0.1,late-by=1"

    def test_killed_kits_come_back_and_the_round_has_every_report_but_those_that_never_come(self):
        with Deployment(nodes=60, kits=10) as blink:
            blink.start_aggregator()
            round_id = blink.create_round(6, 0.1, "10m", 5)
            fleet = start_fleet(blink, "--churn", self.CHURN, "--seed", 3, "--at-once", 4)
            summary = json.loads(fleet.communicate(timeout=blinktest.PATIENCE_SECONDS)[0])
            log = (blink.folder / "fleet.log").read_text()
            self.assertEqual(fleet.returncode, 0, log)
            self.assertEqual((summary["kits"], summary["reported"], summary["late"], summary["crashes"]),
                             (10, 8, 1, 3), log)
            self.assertEqual(log.count("was killed after its draw"), 3)
            reporting = [name for name in blink.kits() if name not in summary["dropped"]]
            for name in blink.kits():
                # one draw of each node, although three kits were killed after theirs
                self.assertEqual(blink.account(name)["draws"], blink.kit_size(name) if name in reporting else 0, name)
            self.assertEqual(blink.reports(round_id), sum(map(blink.kit_size, reporting)))

    def test_the_plan_follows_from_kits_churn_and_seed(self):
        with Deployment(nodes=40, kits=20) as blink:
            def plan(seed):
                done = refused(blink.out, "--churn", self.CHURN, "--seed", seed, "--plan")
                self.assertEqual(done.returncode, 0, done.stderr)
                return json.loads(done.stdout)

            first = plan(5)
            self.assertEqual(list(first), blink.kits())
            self.assertEqual(first, plan(5))
            self.assertNotEqual(first, plan(6))
            parts = [does["part"] for does in first.values()]
            self.assertEqual([parts.count(part) for part in ("drop", "crash", "late", "report")], [4, 6, 2, 8])
            for does in first.values():
                low, high = (1, 3) if does["part"] == "late" else (0, 2)
                self.assertTrue(does["arrives"] is None if does["part"] == "drop" else low <= does["arrives"] <= high)
            self.assertEqual(blink.draws(), 0, "a plan starts nothing")

    def test_a_kit_that_cannot_report_is_named(self):
        with Deployment(nodes=12, kits=2) as blink:  # without an aggregator
            fleet = start_fleet(blink, "--patience", 2)
            summary = json.loads(fleet.communicate(timeout=blinktest.PATIENCE_SECONDS)[0])
            self.assertEqual((fleet.returncode, summary["failed"]), (1, blink.kits()))

    def test_a_signal_ends_all_its_processes(self):
        with Deployment(nodes=12, kits=2) as blink:
            fleet = start_fleet(blink)
            wait_until(lambda: (blink.folder / "fleet.log").read_text().count("arrives") == 2, "both kits to start")
            fleet.send_signal(signal.SIGTERM)
            fleet.communicate(timeout=blinktest.PATIENCE_SECONDS)
            self.assertEqual(fleet.returncode, 143)

    def test_what_makes_no_sense_is_refused_by_its_name(self):
        with Deployment(nodes=12, kits=2) as blink:
            for arguments, text in (
                    (("--churn", "crashes=0.1"), "'crashes' is none of"),
                    (("--churn", "drop"), "drop=: a number is missing"),
                    (("--churn", "drop=nan"), "drop=nan is not between 0 and 1"),
                    (("--churn", "drop=1.5"), "drop=1.5 is not between 0 and 1"),
                    (("--churn", "arrive=-1"), "arrive=-1 is not between"),
                    (("--churn", "late=0.1,late=0.2"), "late is given more than once"),
                    (("--churn", "drop=0.6,crash=0.6"), "more than all kits"),
                    (("--at-once", 0), "0 is not 1 or more"),
                    (("--node", blink.folder / "nothing"), "name the program with --node")):
                done = refused(blink.out, *arguments)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(text, done.stderr)
            for out in ("", blink.folder / "nothing", blink.dataset):
                self.assertIn("give the folder of blink provision simulate", refused(out).stderr)
            (blink.journal(blink.kits()[0]) / "journal.blj").unlink()
            self.assertIn("make it with blink-node init", refused(blink.out).stderr)


class Facebook(BlinkTest):
    """A round of 22,470 nodes at epsilon 6: one kit in twenty never reports, the aggregator dies in the middle, and the
    deadline ends the collection. Without the data set it is a generated graph of a tenth of the nodes."""

    KITS = 20

    def test_a_round_without_a_twentieth_and_with_a_crash_is_trained_and_is_that_of_its_replay(self):
        datasets = os.environ.get("BLINK_DATASETS")
        dataset = pathlib.Path(datasets) / "facebook" if datasets else None
        nodes = 22_470 if dataset else 2_247
        with Deployment(nodes=nodes, kits=self.KITS, dataset=dataset) as blink:
            blink.start_aggregator()
            quorum = nodes * 9 // 10
            round_id = blink.create_round(6, 0.1, "50s", 60, "--quorum", quorum, "--variant", "hard", "--model", "gcn",
                                          "--learning-rate", 0.1, "--dropout", 0)
            fleet = start_fleet(blink, "--churn", "arrive=5,drop=0.05,crash=0.1,late=0.1,late-by=3", "--seed", 1)
            blink.wait_for_reports(round_id, nodes // 3)
            blink.aggregator.kill()
            blink.start_aggregator()
            counted = blink.reports(round_id)
            self.assertGreaterEqual(counted, nodes // 3, "a report that was counted is gone")
            self.assertLess(counted, quorum, "the aggregator was killed too late")
            summary = json.loads(fleet.communicate(timeout=blinktest.PATIENCE_SECONDS)[0])
            log = (blink.folder / "fleet.log").read_text()
            self.assertEqual((fleet.returncode, summary["reported"], summary["crashes"]), (0, 19, 2), log)

            status = blink.wait_for_state(round_id, "ready")
            if dataset:  # the largest of its four classes has 0.3 of the nodes
                self.assertGreater(status["result"]["train"]["test_accuracy"], 0.35)
            silent = sum(map(blink.kit_size, summary["dropped"]))
            self.assertEqual(status["reports"], nodes - silent)
            self.assertEqual(status["result"]["reports"]["missing"], silent)
            missing = must("blink", "round", "missing", "--config", blink.operator, "--json", round_id).json()
            self.assertEqual([f"nodes-{first}-{last}" for first, last in missing["ranges"]], summary["dropped"])
            self.assertEqual(blink.draws(), nodes - silent)

            result, replay_folder = blink.folder / "result", blink.folder / "replay"
            must("blink", "round", "result", "--config", blink.operator, round_id, "--output", result)
            replay = blink.simulate(round_id, "--output", replay_folder)
            self.assertEqual(replay["train"]["test_accuracy_mean"], status["result"]["train"]["test_accuracy"])
            self.assertEqual(replay["estimate"]["links"], status["result"]["estimate"]["links"])
            for artifact in ("links.csv", "degrees.csv", "predictions.csv"):
                self.assertTrue(filecmp.cmp(result / artifact, replay_folder / artifact, shallow=False),
                                f"{artifact} of the round and of the replay differ")


if __name__ == "__main__":
    blinktest.main()
