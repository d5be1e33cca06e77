"""The driver of experiments/million, with small numbers: that every part runs and leaves its figures, and what is
refused. No figure is looked at."""
import csv
import pathlib
import shutil
import subprocess
import sys
import tempfile

import blinktest
from blinktest import BIN_DIR, SOURCE_DIR, BlinkTest

PROGRAM = SOURCE_DIR / "experiments" / "million" / "run"


class Driver(BlinkTest):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="blink-e2e-"))
        self.addCleanup(shutil.rmtree, self.folder, True)

    def call(self, *arguments, expect=0):
        done = subprocess.run([sys.executable, PROGRAM, "--output", self.folder / "out", "--programs", BIN_DIR,
                               *map(str, arguments)], capture_output=True, text=True, timeout=900, check=False)
        self.assertEqual(done.returncode, expect, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
        return done.stderr

    def rows(self):
        with open(self.folder / "out" / "results.csv", newline="") as file:
            return {(row["part"], int(row["nodes"]), row["epsilon"], row["measure"]): row["value"]
                    for row in csv.DictReader(file)}

    def page(self):
        return (self.folder / "out" / "RESULTS.md").read_text()

    def test_each_part_leaves_its_figures_and_a_table_and_loses_nothing(self):
        self.call("--quick", "--kits", 2)
        rows = self.rows()
        for epsilon in ("4", "6", "8"):
            self.assertGreater(float(rows["table", 300, epsilon, "peak_bytes"]), 10e6)
        self.assertEqual(rows["service", 300, "", "ends"], "sealed")
        self.assertGreaterEqual(int(rows["crash", 300, "", "held_after"]), int(rows["crash", 300, "", "killed_at"]))
        self.assertEqual(rows["crash", 300, "", "sealed_with"], "300")
        page = self.page()
        for title in ("## The table", "## The generator", "## The service", "## A crash in the middle"):
            self.assertIn(title, page)
        (self.folder / "out" / "RESULTS.md").unlink()
        self.call("--tables-only")
        self.assertEqual(self.page(), page)

    def test_other_sizes_keep_their_rows(self):
        self.call("--part", "table", "--nodes", 300, "--epsilon", 8)
        self.call("--part", "table", "--nodes", 200, "--epsilon", 6, "--model", "rmat")
        self.assertIn("| 300 | 8 |", self.page())
        self.assertIn("| 200 | 6 |", self.page())

    def test_what_is_refused_stands_in_the_table_with_its_words(self):
        self.call("--part", "table", "--nodes", 300, "--epsilon", 8)
        path = self.folder / "out" / "results.csv"
        kept = [line for line in path.read_text().splitlines() if ",8," not in line]
        path.write_text("\n".join(kept) + "\ntable,300,8,refused,this needs about 9 GB,1.0\n")
        self.call("--tables-only")
        self.assertIn("| 300 | 8 | refused |", self.page())
        self.assertIn('"this needs about 9 GB"', self.page())

    def test_a_round_can_be_waited_for_until_its_result_is_ready(self):
        self.call("--part", "service", "--nodes", 200, "--until", "ready", "--model", "chung-lu")
        rows = self.rows()
        self.assertEqual(rows["service", 200, "", "ends"], "ready")
        self.assertEqual(rows["service", 200, "", "model"], "chung-lu")

    def test_programs_that_are_not_there_are_named(self):
        done = subprocess.run([sys.executable, PROGRAM, "--output", self.folder, "--programs", self.folder / "none"],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("blink: build it, or name the folder of the programs with --programs", done.stderr)

    def test_tables_of_nothing_are_refused(self):
        self.assertIn("results.csv", self.call("--tables-only", expect=3))


if __name__ == "__main__":
    blinktest.main()
