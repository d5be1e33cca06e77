"""The audits as programs: of a real round on loopback, with canaries among its nodes, and of the build itself."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

import blinktest
from blinktest import BlinkTest, Deployment, must, run

PAST = ("estimating", "training", "ready", "failed")  # the folder of the round is complete


class Rounds(BlinkTest):
    def test_the_reports_of_a_real_round_keep_their_promise(self):
        with Deployment(nodes=120, kits=4) as blink:
            kits = blink.kits()
            self.assertEqual(kits[-1], "nodes-90-119")
            made = blink.folder / "canaries"
            told = must("blink", "audit", "canaries", "--nodes", 120, "--canary", "90-119", "--output", made, "--json")
            self.assertEqual(told.json()["coins"], 30 * 119)
            honest = (blink.kit(kits[-1]) / "lists.csv").read_text()
            shutil.copy(made / kits[-1] / "lists.csv", blink.kit(kits[-1]))
            blink.start_aggregator()
            round_id = blink.create_round(epsilon=2)
            blink.start_fleet()
            blink.wait_for_state(round_id, *PAST)
            reports = ("--reports", blink.round_folder(round_id))
            lists = [part for kit in kits for part in ("--lists", blink.kit(kit))]

            whole = must("blink", "audit", "round", *reports, *lists, "--canaries", made / "canaries.json", "--json",
                         "--quiet").json()
            self.assertIs(whole["passed"], True, whole)
            self.assertEqual((whole["reports"], whole["audited_nodes"], whole["nodes_without_report"]), (120, 120, 0))
            self.assertEqual(whole["bits"], 120 * 119)
            self.assertEqual(whole["coins"], 30 * 119)
            self.assertEqual(whole["notes"], [])
            lower = {bound["of"]: bound["lower"] for bound in whole["epsilon_bounds"]}
            # 14,280 bits and 3,570 coins, of epsilon_a = 1.8: far more than nothing is proven, and no more than it is
            self.assertGreater(lower["an entry, over all bits"], 1.5)
            self.assertGreater(lower["a coin in a canary's list"], 1.3)

            part = must("blink", "audit", "round", *reports, "--lists", blink.dataset, "--node", "0-29", "--json",
                        "--quiet").json()
            self.assertEqual(part["audited_nodes"], 30)
            # lists that were not reported make the audit weaker, and a note says so
            (blink.kit(kits[-1]) / "lists.csv").write_text(honest)
            stale = ("blink", "audit", "round", *reports, "--lists", blink.kit(kits[-1]))
            other = must(*stale, "--json", "--quiet").json()
            self.assertIs(other["passed"], True, other)
            self.assertRegex(other["notes"][0], r"^(2\d|30) of 30 reports differ from their lists")
            done = run(*stale, "--canaries", made / "canaries.json")
            self.assertEnds(done, blinktest.BAD_INPUT, "node 90 has two different lists")


class Builds(BlinkTest):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="blink-e2e-"))
        self.addCleanup(shutil.rmtree, self.folder, True)

    def interrupted(self, *command):
        with subprocess.Popen([blinktest.BIN_DIR / "blink", "audit", *map(str, command), "--json"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            process.stderr.readline()  # it needs so much memory
            process.stderr.readline()  # its progress
            time.sleep(2)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=120)
        self.assertEqual(process.returncode, -signal.SIGINT, err)
        printed = json.loads(out)
        self.assertIs(printed["partial"], True)
        return printed

    def test_a_game_says_what_it_found_so_far(self):
        printed = self.interrupted("game", "--plays", 10**9, "--nodes", 8)
        self.assertLess(printed["plays_of_each_world"], 10**9)
        self.assertIs(printed["passed"], True if printed["plays_of_each_world"] > 0 else None)

    def test_a_replay_says_what_it_compared_so_far(self):
        printed = self.interrupted("replay", "--repeats", 10000)
        self.assertLess(printed["replays"], printed["replays_asked"])
        self.assertIs(printed["passed"], True if printed["replays"] > 0 else None)
        self.assertEqual([claim for claim in printed["claims"] if claim["broken"]], [])

    def test_a_replay_that_a_signal_ends_leaves_nothing_behind(self):
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
            with subprocess.Popen([blinktest.BIN_DIR / "blink", "audit", "replay", "--repeats", "10000", "--quiet"],
                                  stdout=subprocess.DEVNULL, env={**os.environ, "TMPDIR": str(self.folder)},
                                  preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL)) as process:
                blinktest.wait_until(lambda: list(self.folder.glob("blink-replay-*/kit/lists.csv")), "a replay")
                process.send_signal(number)
                process.send_signal(number)  # as timeout(1) does
                self.assertEqual(process.wait(60), -number)
            self.assertEqual(list(self.folder.iterdir()), [])

    def test_what_may_not_be_written_is_said_at_the_start(self):
        for audit in (("game", "--plays", 10**9), ("replay", "--repeats", 10000),
                      ("round", "--reports", self.folder, "--lists", self.folder)):
            done = run("blink", "audit", *audit, "--output", "/sys/blink")
            self.assertEnds(done, blinktest.BAD_INPUT, "/sys/blink")

    def test_no_audit_takes_noise_from_outside(self):
        for audit in ("mechanism", "randomness", "game", "replay", "round"):
            for flag in ("--seed", "--tape", "--insecure-seeded-noise"):
                self.assertEnds(run("blink", "audit", audit, f"{flag}=1"), blinktest.USAGE, f"no option {flag}")

    def test_canaries_are_never_drawn_again(self):
        command = ("blink", "audit", "canaries", "--nodes", 50, "--canary", 3, "--output", self.folder / "made")
        must(*command)
        before = (self.folder / "made" / "canaries.json").read_text()
        self.assertEnds(run(*command), blinktest.BAD_INPUT, "made")
        self.assertEqual((self.folder / "made" / "canaries.json").read_text(), before)


if __name__ == "__main__":
    blinktest.main()
