"""The driver of experiments/load, with small numbers: that every part runs, that what was acknowledged is found again,
and what is refused. No figure is looked at."""
import csv
import pathlib
import shutil
import subprocess
import sys
import tempfile

import blinktest
from blinktest import BIN_DIR, SOURCE_DIR, BlinkTest

PROGRAM = SOURCE_DIR / "experiments" / "load" / "run"


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
            return {(row["part"], row["measure"]): row["value"] for row in csv.DictReader(file)}

    def test_each_part_leaves_figures_and_a_table_and_loses_nothing(self):
        said = self.call("--quick")
        rows = self.rows()
        self.assertIn("[5/5] training", said)
        parts = [("connections", "reader_missing"), ("slow_disk", "slow_reader_missing"),
                 ("training", "nice_10_reader_missing"), ("restart", "never_served")]
        if "left out: PostgreSQL" not in said:
            parts.append(("postgres", "reader_missing"))
        for key in parts:
            self.assertEqual(rows[key], "0", key)
        self.assertGreater(int(rows["connections", "reader_acknowledged"]), 1000)
        self.assertEqual(rows["connections", "reader_acknowledged"], rows["connections", "reader_held"])
        page = (self.folder / "out" / "RESULTS.md").read_text()
        for title in ("## Many connections", "## A restart", "## A slow disk", "## A training beside it"):
            self.assertIn(title, page)
        drawn_again = self.folder / "out" / "RESULTS.md"
        drawn_again.unlink()
        self.call("--tables-only")
        self.assertEqual(drawn_again.read_text(), page)

    def test_programs_that_are_not_there_are_named(self):
        done = subprocess.run([sys.executable, PROGRAM, "--output", self.folder, "--programs", self.folder / "none"],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("ingest_bench: build it, or name the folder of the programs with --programs", done.stderr)

    def test_tables_of_nothing_are_refused(self):
        self.assertIn("results.csv", self.call("--tables-only", expect=3))


class Reader(BlinkTest):
    """ingest_bench count."""

    def test_a_report_that_was_acknowledged_and_is_not_there_is_counted_as_missing(self):
        with blinktest.Deployment(nodes=20, kits=2) as blink:
            blink.start_aggregator()
            blink.start_fleet()
            round_id = blink.create_round(epochs=2)
            blink.wait_for_state(round_id, "ready")
            blink.aggregator.terminate()
            claims = blink.folder / "acknowledged"
            claims.write_text(f"{round_id} 3 {'0' * 64}\n{round_id} 25 {'0' * 64}\n")
            counted = blinktest.must("ingest_bench", "count", "--folder", blink.data / "store", "--nodes", 20,
                                     "--acknowledged", claims).json()
        self.assertEqual(counted, {"rounds": 1, "acknowledged": 2, "held": 20, "missing": 1, "different": 1})


if __name__ == "__main__":
    blinktest.main()
