"""`blink audit links` as a process, and the driver of experiments/link_audit, on a generated graph and a few epochs."""
import csv
import json
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import blinktest
from blinktest import BlinkTest, must, run

MEASURES = ("auc", "precision", "recall", "tpr_at_fpr")


class InFolder(BlinkTest):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory(prefix="blink-links-")
        cls.addClassCleanup(cls.scratch.cleanup)
        cls.folder = pathlib.Path(cls.scratch.name)
        cls.dataset = cls.folder / "small"
        blinktest.generate_dataset(cls.dataset, 80)

    def audit(self, *arguments):
        return ("blink", "audit", "links", "--dataset", self.dataset, "--epochs", 20, *arguments)


class Audits(InFolder):
    def test_every_victim_and_attack_has_its_figures(self):
        file = self.folder / "links.json"
        done = must(*self.audit("--epsilon", "1,8", "--trials", 2, "--json", "--output", file))
        self.assertEqual(done.out, "")
        self.assertIn("of memory", done.err)
        found = json.loads(file.read_text())
        self.assertEqual((found["format"], found["partial"], found["trials_done"]), (1, False, 2))
        self.assertIn("no proof", found["meaning"])
        self.assertEqual([(victim["victim"], victim["epsilon"]) for victim in found["victims"]],
                         [("features-only", None), ("true-links", None), ("reports", 1), ("reports", 8)])
        self.assertEqual([group["name"] for group in found["groups"]], ["all", "low degree", "high degree"])
        for victim in found["victims"]:
            names = [attack["attack"] for attack in victim["attacks"]]
            self.assertEqual(len(names), len(set(names)))
            self.assertEqual([name in names for name in ("posterior", "features", "influence", "similarity-best")],
                             [victim["victim"] == "reports", victim["victim"] == "features-only", True, True])
            for attack in victim["attacks"]:
                for group in attack["groups"]:
                    for measure in MEASURES:
                        self.assertEqual(len(group[measure]["trials"]), 2)
                        self.assertGreaterEqual(group[measure]["mean"], 0)
                        self.assertLessEqual(group[measure]["mean"], 1)
                        self.assertIsNotNone(group[measure]["standard_error"])
        posterior = [victim["attacks"][0]["groups"][0]["auc"]["mean"] for victim in found["victims"][2:]]
        self.assertGreater(posterior[1], 0.99)
        self.assertGreater(posterior[1], posterior[0])

    def test_a_person_gets_tables_and_what_they_do_not_mean(self):
        done = must(*self.audit("--epsilon", 2, "--trials", 1, "--quiet"))
        self.assertEqual(done.err, "")
        for text in ("All pairs: ", "nodes of low degree", "nodes of high degree", "chance", "features only",
                     "true links", "epsilon 2", "posterior", "similarity, best of 8", "influence",
                     "no proof: a low AUC is no guarantee", "No epsilon bounds"):
            self.assertIn(text, done.out)
        told = must("blink", "audit", "links", "--help").out
        self.assertIn("measure and no proof", told)
        self.assertIn("never run it on a node or an aggregator", told)

    def test_seeded_noise_gives_the_same_twice_and_is_never_called_private(self):
        command = self.audit("--epsilon", 2, "--trials", 1, "--insecure-seeded-noise", "--json", "--quiet")
        first = must(*command).json()
        self.assertEqual((first["audit"], first["noise"]), ("links", "seeded"))
        self.assertEqual(first, must(*command).json())

    def test_what_is_finished_is_printed_when_it_is_interrupted(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with subprocess.Popen([blinktest.BIN_DIR / "blink", *map(str, self.audit("--trials", 1000, "--json")[1:])],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
                for line in process.stderr:
                    if (trial := re.search(r"trial (\d+) of 1000", line)) and int(trial[1]) > 1:
                        break
                time.sleep(0.2)
                process.send_signal(number)
                out, _ = process.communicate(timeout=60)
            self.assertEqual(process.returncode, -number)
            printed = json.loads(out)
            self.assertIs(printed["partial"], True)
            self.assertGreaterEqual(printed["trials_done"], 1)

    def test_wrong_input_is_refused_with_the_flag_and_the_remedy(self):
        for flags, texts in ((("--epsilon", "1,1"), ("--epsilon names 1 more than once",)),
                             (("--epsilon", "0"), ("--epsilon",)),
                             (("--model", "mlp"), ("--model", "'mlp' is none of gcn, graphsage, gat")),
                             (("--tune",), ("--tune", "leave it out")),
                             (("--trials", 0), ("--trials is 0", "1 .. 1000")),
                             (("--influence-nodes", 0), ("--influence-nodes is 0",))):
            self.assertEnds(run(*self.audit(*flags)), blinktest.USAGE, *texts)
        self.assertEnds(run("blink", "audit", "links"), blinktest.USAGE, "--dataset")
        self.assertEnds(run("blink", "audit", "links", "--dataset", self.folder / "smal"), blinktest.BAD_INPUT,
                        "did you mean")
        self.assertEnds(run(*self.audit("--output", "/sys/blink")), blinktest.BAD_INPUT, "/sys/blink")

    def test_a_graph_without_links_is_bad_input(self):
        empty = self.folder / "empty"
        shutil.copytree(self.dataset, empty)
        (empty / "edges.csv").write_text((empty / "edges.csv").read_text().splitlines()[0] + "\n")
        self.assertEnds(run("blink", "audit", "links", "--dataset", empty), blinktest.BAD_INPUT, "0 links",
                        "a link to find")


class Driver(InFolder):
    """experiments/link_audit/run."""

    def call(self, *arguments, expect=0):
        done = subprocess.run([sys.executable, blinktest.SOURCE_DIR / "experiments/link_audit/run", "--blink",
                               blinktest.BIN_DIR / "blink", *map(str, arguments)], capture_output=True, text=True,
                              check=False)
        self.assertEqual(done.returncode, expect, done.stderr)
        return done

    def test_the_page_and_the_table_have_every_figure(self):
        output = self.folder / "results"
        chosen = ("--datasets", self.folder, "--graph", "small", "--epsilon", 1, 8, "--trials", 2, "--epochs", 5,
                  "--influence-nodes", 10, "--output", output)
        self.call(*chosen)
        page = (output / "RESULTS.md").read_text()
        for text in ("## Small", "| ε = 8 | posterior P |", "| features only | cosine of the features |",
                     "| true links (no privacy) | influence (LinkTeller) |", "no proof", "| nothing | chance |"):
            self.assertIn(text, page)
        with open(output / "results.csv", newline="") as file:
            rows = list(csv.DictReader(file))
        # ten attacks of features only and of each budget, nine of the true links; 3 groups, 4 measures, 2 trials
        self.assertEqual(len(rows), (10 + 9 + 2 * 10) * 3 * 4 * 2)
        before = (output / "small.json").stat()
        self.call(*chosen, "--tables-only")
        self.assertEqual((output / "small.json").stat().st_mtime_ns, before.st_mtime_ns)
        self.assertEqual((output / "RESULTS.md").read_text(), page)

    def test_tables_of_nothing_are_refused(self):
        done = self.call("--output", self.folder / "none", "--graph", "small", "--tables-only", expect=3)
        self.assertIn("run without --tables-only first", done.stderr)

    def test_a_part_of_an_audit_is_no_result(self):
        output = self.folder / "part"
        output.mkdir()
        (output / "small.json").write_text('{"partial": true, "trials_done": 1, "trials_asked": 5}')
        done = self.call("--output", output, "--graph", "small", "--datasets", self.folder, expect=3)
        self.assertIn("1 of 5 trials: remove it", done.stderr)


if __name__ == "__main__":
    blinktest.main()
