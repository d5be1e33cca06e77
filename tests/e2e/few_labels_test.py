"""experiments/few_labels: its tables, its splits, and that it goes on where it was. A script stands in for blink, since
a real trial takes half a minute."""
import csv
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import blinktest
from blinktest import SOURCE_DIR

FOLDER = SOURCE_DIR / "experiments" / "few_labels"
sys.path.insert(0, str(FOLDER))
import graphs  # noqa: E402

# Accuracy 0.5 under the beta prior; 0.75 under the other, where the features alone have 0.625.
STAND_IN = """#!/bin/sh
echo "$@" >> "$0.calls"
case "$*" in *"--seed $(cat "$0.fails" 2>/dev/null || echo none) "*) echo "no room" >&2; exit 9;; esac
accuracy=0.75; case "$*" in *"--prior beta"*) accuracy=0.5;; esac
cat <<JSON
{"train": {"test_accuracy_mean": $accuracy, "chosen": "gcn soft", "candidates": [
  {"name": "gcn soft", "validation_accuracy": 0.9, "validation_loss": 0.1, "test_accuracy": $accuracy},
  {"name": "class-model", "validation_accuracy": 0.8, "validation_loss": 0.2, "test_accuracy": 0.625},
  {"name": "mlp, learning rate 0.1", "validation_accuracy": 0.8, "validation_loss": 0.4, "test_accuracy": 0.7},
  {"name": "mean of class-model + gcn soft", "validation_accuracy": 0.9, "validation_loss": 0.1, "test_accuracy": 0.8},
  {"name": "gat soft", "skipped": "it is far behind"}]}}
JSON
"""
HEADER = "graph,split,epsilon,method,test_accuracy,chosen,features_test_accuracy,features_chosen,seconds"


class Driver(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="blink-few-labels-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.results = self.folder / "results.csv"
        self.blink = self.folder / "blink"
        self.blink.write_text(STAND_IN)
        self.blink.chmod(0o755)

    def call(self, *arguments, expect=0):
        done = subprocess.run([sys.executable, "-B", FOLDER / "run", "--blink", self.blink, "--work",
                               self.folder / "work", "--results", self.results, *map(str, arguments)],
                              capture_output=True, text=True, check=False, env={"PATH": "/usr/bin:/bin"})
        self.assertEqual(done.returncode, expect, done.stdout + done.stderr)
        return done.stdout, done.stderr

    def rows(self):
        with open(self.results, newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def test_a_trial_is_recorded_once_with_the_features_alone_chosen_by_validation(self):
        chosen = ("--graph", "two200", "--split", 1, 3, "--epsilon", 2)
        self.call(*chosen)
        columns = ("split", "method", "test_accuracy", "features_test_accuracy", "features_chosen")
        self.assertEqual([tuple(row[name] for name in columns) for row in self.rows()],
                         [(split, method, accuracy, "0.625", "class-model") for split in "13"
                          for method, accuracy in (("beta", "0.5"), ("attributed", "0.75"))])
        kept = self.folder / "work" / "two200-split3-epsilon2-attributed.json"
        self.assertIn("it is far behind", kept.read_text(), "all candidates, to see why one was chosen")
        first = self.results.read_text()
        self.call(*chosen)
        self.assertEqual(self.results.read_text(), first, "nothing is missing, so nothing is run")
        self.call("--graph", "two200", "--split", 2, "--epsilon", 2, "--method", "attributed")
        self.assertEqual(len(self.rows()), 5)
        self.assertIn("| two200 | 2 | 2 | 62.5 ± 0.0 | 50.0 ± 0.0 |  | 75.0 ± 0.0 | 12.5 ± 0.0 | 25.0 ± 0.0 | 12.5 |",
                      (self.folder / "RESULTS.md").read_text(), "a split of one method alone does not count")

    def test_a_trial_that_fails_ends_the_run_and_keeps_what_was_there(self):
        (self.folder / "blink.fails").write_text("2")
        _, error = self.call("--graph", "two200", "--split", 1, 2, 3, "--epsilon", 4, expect=1)
        self.assertIn("ended with 9: no room", error)
        self.assertEqual([row["split"] for row in self.rows()], ["1", "1"])

    def test_more_than_a_point_below_the_better_mean_is_bold(self):
        def lines(split, now, features, beta):
            return [f"web160,{split},2,attributed,{now},x,{features},mlp,1",
                    f"web160,{split},2,beta,{beta},x,0.1,mlp,1"]
        for now, text in ((0.795, " -0.5 |"), (0.785, "**-1.5** |"), (0.8, " 0.0 |")):
            # each of the two is the better one on one split, by the mean the features
            written = [HEADER, *lines(1, now, 0.9, 0.6), *lines(2, now, 0.7, 0.8)]
            self.results.write_text("\n".join(written) + "\n")
            out, _ = self.call("--tables-only")
            row = out.splitlines()[2]
            self.assertTrue(row.endswith(text), row)

    def test_the_search_of_before_is_counted_where_it_has_fewer_splits(self):
        lines = [f"web160,{split},2,{method},0.5,x,0.4,mlp,1" for split in (1, 2, 3)
                 for method in ("attributed", "beta")]
        self.results.write_text("\n".join([HEADER, *lines, "web160,1,2,attributed_before,0.25,x,0.4,mlp,1"]) + "\n")
        out, _ = self.call("--tables-only")
        self.assertIn("| web160 | 2 | 3 |", out)
        self.assertIn("| 25.0 (1 splits) |", out)

    def test_citation_graphs_are_refused_without_their_data_set(self):
        _, error = self.call("--graph", "cora160", expect=3)
        self.assertIn("--datasets", error)
        _, error = self.call("--graph", "cora160", "--datasets", self.folder, expect=3)
        self.assertIn(f"{self.folder / 'cora' / 'edges.csv'}, which is not there", error)

    def test_unknown_graphs_and_splits_are_refused(self):
        self.call("--graph", "web161", expect=2)
        self.call("--split", 11, expect=2)


class Splits(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="blink-few-labels-"))
        self.addCleanup(shutil.rmtree, self.folder)

    @staticmethod
    def parts(place):
        with open(place / "split.csv", newline="", encoding="utf-8") as file:
            return [row["split"] for row in csv.DictReader(file)]

    def test_the_splits_of_a_generated_graph_differ_and_nothing_else_does(self):
        places = graphs.make("two200", self.folder)
        self.assertEqual(len(places), graphs.SPLITS)
        parts = [self.parts(place) for place in places]
        self.assertEqual([{name: one.count(name) for name in ("train", "val", "test")} for one in parts],
                         [{"train": 96, "val": 64, "test": 40}] * graphs.SPLITS)
        self.assertEqual(len({tuple(one) for one in parts}), graphs.SPLITS)
        for name in ("edges.csv", "labels.csv", "features.npz"):
            self.assertEqual(len({(place / name).read_bytes() for place in places}), 1, name)
        again = graphs.make("two200", self.folder / "again")
        self.assertEqual(self.parts(again[4]), parts[4])

    def test_a_citation_graph_keeps_its_files_and_few_labels_that_are_not_for_the_test(self):
        source = self.folder / "data" / "citeseer"
        source.mkdir(parents=True)
        (source / "edges.csv").write_text("source,target\n0,1\n")
        (source / "labels.csv").write_text("node,label\n" + "".join(f"{node},{node % 6}\n" for node in range(500)))
        (source / "features.npz").write_text("features")
        for _ in range(2):  # the second time over the first
            places = graphs.make("citeseer160", self.folder / "work", self.folder / "data")
            one = self.parts(places[0])
            self.assertEqual([one.count(name) for name in ("train", "val", "test")], [96, 64, 340])
            self.assertEqual((places[9] / "features.npz").read_text(), "features")
            self.assertNotEqual(self.parts(places[1]), one)
        self.assertEqual((source / "labels.csv").read_text().count("\n"), 501, "the data set itself is left alone")


if __name__ == "__main__":
    blinktest.main()
