"""The nodes of the previous release and today's aggregator: a fleet is upgraded slowly. tests/compatibility/previous
says which state that is, and tests/compatibility/build-previous builds it."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import blinktest
from blinktest import BlinkTest, Deployment, must, wait_until

BUILD = blinktest.SOURCE_DIR / "tests" / "compatibility" / "build-previous"


def build_previous():
    """The folder of blink-node of then."""
    done = subprocess.run([BUILD], capture_output=True, text=True, check=False)
    if done.returncode == 77:
        raise unittest.SkipTest(done.stderr.strip())
    if done.returncode != 0:
        raise AssertionError(f"the previous release cannot be built\n{done.stderr[-3000:]}")
    return pathlib.Path(done.stdout.strip())


class Nodes(BlinkTest):

    @classmethod
    def setUpClass(cls):
        cls.programs = build_previous()

    def start_previous(self, blink, name):
        """A node of then, with the kit and the journal of today."""
        command = [self.programs / "blink-node", "run", "--kit", blink.kit(name), "--journal", blink.journal(name)]
        blink.processes[name] = blinktest.Process(name, command, blink.folder / f"{name}.log")

    def test_it_is_another_program(self):
        def version(folder):
            return subprocess.run([folder / "blink-node", "--version"], capture_output=True, text=True, check=True)

        self.assertNotEqual(os.path.realpath(self.programs), os.path.realpath(blinktest.BIN_DIR))
        self.assertIn("blink-node", version(self.programs).stdout)

    def test_a_fleet_of_then_completes_a_round_of_now(self):
        with Deployment(nodes=40, kits=3) as blink:
            blink.start_aggregator()
            round_id = blink.create_round(epochs=20)
            for name in blink.kits():
                self.start_previous(blink, name)
            status = blink.wait_for_state(round_id, "ready")
            self.assertEqual(status["reports"], 40)
            blink.wait_for_fleet()
            result = blink.folder / "result"
            must("blink", "round", "result", "--config", blink.operator, round_id, "--output", result)
            self.assertTrue((result / "links.csv").exists())

    def test_nodes_of_then_and_of_now_are_one_fleet(self):
        with Deployment(nodes=40, kits=2) as blink:
            blink.start_aggregator()
            round_id = blink.create_round(epochs=20)
            first, second = blink.kits()
            self.start_previous(blink, first)
            blink.start_node(second)
            self.assertEqual(blink.wait_for_state(round_id, "ready")["reports"], 40)
            blink.wait_for_fleet()

    def test_a_journal_of_then_goes_on_with_the_node_of_now(self):
        with Deployment(nodes=40, kits=1) as blink:
            blink.start_aggregator()
            first = blink.create_round(epochs=20)
            name = blink.kits()[0]
            self.start_previous(blink, name)
            blink.wait_for_state(first, "ready")
            blink.wait_for_fleet()
            draws = blink.draws()
            blink.start_node(name)  # upgraded
            second = blink.create_round(epochs=20)
            wait_until(lambda: blink.reports(second) == 40, "the reports of the node of now")
            self.assertEqual(blink.draws(), draws, "the same parameters: the same reports, and nothing is spent")
            blink.wait_for_state(second, "ready")


class Pins(BlinkTest):
    """What tests/compatibility/build-previous says where it cannot build."""

    def build(self, pin):
        """It, in a repository that has no commit of this one."""
        with tempfile.TemporaryDirectory() as folder:
            for path in ("tests/compatibility/build-previous", "scripts/lib.sh"):
                place = pathlib.Path(folder, path)
                place.parent.mkdir(parents=True)
                shutil.copy(blinktest.SOURCE_DIR / path, place)
            pathlib.Path(folder, "tests/compatibility/previous").write_text(pin)
            subprocess.run(["git", "init", "-q", folder], check=True)
            return subprocess.run([pathlib.Path(folder, "tests/compatibility/build-previous")], capture_output=True,
                                  text=True, check=False)

    def test_a_copy_without_the_history_skips_with_the_remedy(self):
        done = self.build("# a comment\n" + "ab" * 20 + "\n")
        self.assertEqual(done.returncode, 77, done)
        self.assertIn("has no commit abababababab", done.stderr)
        self.assertIn("git fetch --unshallow", done.stderr)

    def test_a_pin_that_is_no_full_hash_is_refused(self):
        for pin in ("", "7eb4a21\n", "v0.1.0\n", "# " + "ab" * 20 + "\n"):
            done = self.build(pin)
            self.assertEqual(done.returncode, 1, done)
            self.assertIn("names no commit", done.stderr)

    def test_the_pin_of_this_repository_is_one_commit(self):
        lines = [line for line in (BUILD.parent / "previous").read_text().splitlines() if not line.startswith("#")]
        self.assertEqual(len(lines), 1)
        self.assertRegex(lines[0], "^[0-9a-f]{40}$")


if __name__ == "__main__":
    blinktest.main()
