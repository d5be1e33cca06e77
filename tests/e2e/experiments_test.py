"""The drivers of experiments/ and tools/gpu-check, on generated graphs and a few epochs: what they write, that a
killed run goes on, and what they refuse. The figures mean nothing."""
import csv
import fcntl
import importlib.machinery
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import types
import unittest

import blinktest
from blinktest import BIN_DIR, SOURCE_DIR, BlinkTest, overridden, wait_until

COLUMNS = "method,dataset,model,epsilon,accuracy_mean,accuracy_std,lr,weight_decay,dropout,degree_share"
PUBLISHED = ("mlp,cora,mlp,inf,0.5,0.005,0.1,0.001,0.01,", "nonprivate,cora,gcn,inf,0.5,0.005,0.1,0.001,0.01,",
             "blink-hard,cora,gcn,6,0.5,0.9,0.1,0.001,0.01,0.1", "blink-hard,cora,gcn,8,0.01,0.0001,0.1,0.001,0.01,0.1",
             "rr,cora,gcn,8,0.5,0.01,0.1,0.001,0.01,", "blink-hard,lastfm,gcn,8,0.5,0.01,0.1,0.001,0.01,0.1")


class Experiment(BlinkTest):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="blink-e2e-"))
        self.addCleanup(shutil.rmtree, self.folder, True)

    def start(self, program, *arguments, **options):
        return subprocess.Popen([sys.executable, SOURCE_DIR / program, *map(str, arguments)], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, **options)

    def call(self, program, *arguments, expect=0, timeout=600):
        process = self.start(program, *arguments)
        try:
            out, err = process.communicate(timeout=timeout)
        finally:
            if process.poll() is None:
                process.kill()
                process.communicate()
        self.assertEqual(process.returncode, expect, f"{program}\n{out[-3000:]}\n{err[-3000:]}")
        return out, err


class Accuracy(Experiment):
    """experiments/accuracy/run."""

    def setUp(self):
        super().setUp()
        blinktest.generate_dataset(self.folder / "data" / "cora", 80)
        reference = self.folder / "reference"
        reference.mkdir()
        (reference / "published_accuracy.csv").write_text("\n".join((COLUMNS,) + PUBLISHED) + "\n")
        (reference / "published_mae.csv").write_text(
            "dataset,epsilon,mae_mean,mae_std,upper_bound,degree_share\ncora,8,1e-5,1e-6,1,0.1\n")
        self.raw = self.folder / "raw" / "raw.csv"
        self.blink = BIN_DIR / "blink"

    def arguments(self, *more):
        return overridden({"--blink": self.blink, "--datasets": self.folder / "data",
                           "--reference": self.folder / "reference", "--raw": self.raw,
                           "--output": self.folder / "tables", "--dataset": "cora", "--trials": 2, "--epochs": 5,
                           "--jobs": 1}, more)

    def run_all(self, *more, expect=0):
        return self.call("experiments/accuracy/run", *self.arguments(*more), expect=expect)

    def rows(self):
        with open(self.raw, newline="") as file:
            return list(csv.DictReader(file))

    def test_a_killed_run_goes_on_where_it_was_and_the_tables_say_what_is_inside(self):
        process = self.start("experiments/accuracy/run", *self.arguments())
        wait_until(lambda: self.raw.exists() and len(self.raw.read_text().splitlines()) > 2, "two finished trials")
        process.kill()
        process.communicate()
        before = self.raw.read_text()
        with open(self.raw, "a") as file:
            file.write("cora,private,hard,gcn")  # what a loss of power leaves
        self.run_all()
        rows = self.rows()
        whole = before[:before.rfind("\n") + 1]
        self.assertTrue(self.raw.read_text().startswith(whole), "finished trials were lost or run again")
        self.assertEqual(len(rows), 2 * 5)  # MLP, true graph, Hard at two epsilons, MAE
        self.assertEqual(len({tuple(row[name] for name in ("kind", "variant", "model", "epsilon", "trial"))
                              for row in rows}), 10)
        with open(self.folder / "tables" / "results.csv", newline="") as file:
            verdicts = {row["epsilon"]: row["verdict"] for row in csv.DictReader(file) if row["kind"] == "private"}
        self.assertEqual(verdicts, {"6": "inside", "8": "outside"})
        text = (self.folder / "tables" / "RESULTS.md").read_text()
        self.assertIn("cora: 1 of 2 cells inside (50.0 % of all); 1 outside; 0 without", text)
        self.assertIn("cora hard gcn epsilon 8", text[text.index("## Outside"):])
        _, err = self.run_all()
        self.assertEqual(len(self.rows()), 10, err)

    def test_tables_of_more_trials_than_the_raw_file_has_are_left_as_they_are(self):
        tables = self.folder / "tables"
        _, err = self.run_all("--tables-only", expect=3)
        self.assertIn(f"no finished trials in {self.raw}: nothing written", err)
        self.assertFalse(tables.exists())
        self.run_all("--kind", "mlp")
        before = {path.name: path.read_bytes() for path in tables.iterdir()}
        lines = self.raw.read_text().splitlines(keepends=True)
        self.raw.write_text("".join(lines[:-1]))
        for more in (("--tables-only",), ("--kind", "mlp", "--trials", 1)):
            _, err = self.run_all(*more, expect=3)
            self.assertIn("is of 2 trials", err)
            self.assertIn("--raw", err)
        self.assertEqual({path.name: path.read_bytes() for path in tables.iterdir()}, before)
        self.raw.write_text("".join(lines))
        self.run_all("--tables-only")
        self.assertEqual({path.name: path.read_bytes() for path in tables.iterdir()}, before)

    def test_a_file_of_somebody_else_in_the_place_of_the_tables_is_left(self):
        self.run_all("--kind", "mlp", "--trials", 1)
        (self.folder / "tables" / "results.csv").write_text("a,b\n1,2\n")
        self.assertIn("not of this experiment", self.run_all("--tables-only", expect=3)[1])
        self.assertEqual((self.folder / "tables" / "results.csv").read_text(), "a,b\n1,2\n")

    def test_what_needs_numpy_explains_itself_without_it(self):
        (self.folder / "numpy.py").write_text("raise ImportError\n")
        program = SOURCE_DIR / "experiments" / "accuracy" / "fixed_point.py"
        for arguments, code, text in ((("--help",), 0, "usage"),
                                      (("--datasets", ".", "--reference", "."), 3, ".venv/bin/pip install numpy")):
            done = subprocess.run([sys.executable, "-B", program, *arguments], capture_output=True, text=True,
                                  check=False, env={**os.environ, "PYTHONPATH": str(self.folder)})
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertIn(text, done.stdout + done.stderr)

    def test_interrupted_it_ends_its_trials_and_says_so(self):
        process = self.start("experiments/accuracy/run", *self.arguments("--epochs", 100000, "--kind", "private"))
        children = pathlib.Path(f"/proc/{process.pid}/task")
        wait_until(lambda: [child for path in children.glob("*/children") for child in path.read_text().split()],
                   "a trial to begin")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130)
        self.assertEqual(self.rows(), [])

    def test_trials_of_another_binary_or_other_options_are_noticed(self):
        chosen = ("--kind", "mlp", "--trials", 1)
        self.run_all(*chosen)
        _, err = self.run_all(*chosen, "--epochs", 6, expect=3)
        self.assertIn("trial 0: other options", err)
        self.assertIn("--other-builds", err)
        for name in ("blink", "blink-simulate"):
            shutil.copy(self.blink.with_name(name), self.folder / name)
        with open(self.folder / "blink-simulate", "ab") as file:
            file.write(b"\0")
        self.blink = self.folder / "blink"
        _, err = self.run_all(*chosen, expect=3)
        self.assertIn("trial 0: another binary", err)
        self.run_all(*chosen, "--other-builds", "keep")
        self.assertEqual(len(self.rows()), 1)
        self.run_all(*chosen, "--other-builds", "redo")
        self.assertEqual(len(self.rows()), 2)
        self.run_all(*chosen)  # the newer trial counts
        self.assertEqual(len(self.rows()), 2)

    def test_a_failed_trial_is_shown_with_its_command_and_not_recorded(self):
        (self.folder / "data" / "cora" / "labels.csv").write_text("node,label\n0,zero\n")
        _, err = self.run_all("--kind", "mlp", "--trials", 1, expect=1)
        self.assertIn("failed: cora mlp mlp, trial 0", err)
        self.assertIn("simulate --dataset", err)
        self.assertEqual(self.rows(), [])

    def test_nothing_more_is_run_once_a_trial_cannot_be_recorded(self):
        chosen = ("--kind", "private", "--trials", 3)
        self.run_all(*chosen[:2], "--trials", 1)
        whole = self.raw.read_bytes()

        def little_room():
            resource.setrlimit(resource.RLIMIT_FSIZE, (len(whole) + 10, len(whole) + 10))

        process = self.start("experiments/accuracy/run", *self.arguments(*chosen), preexec_fn=little_room)
        _, err = process.communicate(timeout=300)
        self.assertEqual(process.returncode, 1, err)
        self.assertIn("stopped, with 0 of 4 trials done", err)
        self.assertIn("raw.csv could not be written", err)
        self.assertEqual(self.raw.read_bytes(), whole, "a part of a line was left")
        self.run_all(*chosen)
        self.assertEqual(len(self.rows()), 6)

    def test_nothing_more_is_run_once_the_program_writes_something_else(self):
        for text in ("nonsense", '{"train": {}}', "[1]"):
            self.blink = self.folder / "blink"
            self.blink.write_text(f"#!/bin/sh\necho x >> {self.folder}/calls\necho '{text}'\n")
            self.blink.chmod(0o755)
            (self.folder / "calls").unlink(missing_ok=True)
            _, err = self.run_all("--kind", "mlp", "true", "private", expect=1)
            self.assertIn("stopped, with 0 of 8 trials done", err)
            self.assertIn("is it the blink of this source tree?", err)
            self.assertNotIn("Traceback", err)
            self.assertEqual((self.folder / "calls").read_text(), "x\n")
        self.assertEqual(self.rows(), [])

    def facebook(self):
        """The generated graph as a Facebook: its features under the name of the raw words."""
        given = self.folder / "data" / "facebook"
        shutil.copytree(self.folder / "data" / "cora", given)
        (given / "features.npz").rename(given / "features_raw.npz")
        with open(self.folder / "reference" / "published_accuracy.csv", "a") as file:
            file.write("mlp,facebook,mlp,inf,0.5,0.005,0.1,0.001,0.01,\n")
        return given, ("--dataset", "facebook", "--kind", "mlp", "--trials", 1)

    def test_a_dry_run_leaves_nothing(self):
        _, chosen = self.facebook()
        out, _ = self.run_all(*chosen, "--dry-run")
        self.assertIn("1 trials", out)
        self.assertFalse(self.raw.parent.exists())

    def test_a_half_made_folder_of_features_is_made_whole(self):
        given, chosen = self.facebook()
        half = self.raw.parent / "facebook-hashed"
        half.mkdir(parents=True)
        (half / "edges.csv").symlink_to(self.folder / "gone")
        (half / "features.npy.part").write_bytes(b"torn")
        self.run_all(*chosen)
        self.assertEqual(sorted(path.name for path in half.iterdir()),
                         ["edges.csv", "features.npy", "labels.csv", "split.csv"])
        (half / "labels.csv").unlink()
        made = (half / "features.npy").read_bytes()
        self.run_all(*chosen, "--epochs", 6, "--other-builds", "redo")
        self.assertEqual((half / "labels.csv").resolve(), (given / "labels.csv").resolve())
        self.assertEqual((half / "features.npy").read_bytes(), made)

    def test_features_that_are_not_there_or_broken_are_named(self):
        given, chosen = self.facebook()
        (given / "features_raw.npz").write_bytes(b"PK")
        self.assertIn("features_raw.npz: ", self.run_all(*chosen, expect=3)[1])
        (given / "features_raw.npz").unlink()
        self.assertIn("--facebook-features hashed needs it", self.run_all(*chosen, expect=3)[1])

    def test_wrong_input_is_refused_with_the_remedy(self):
        self.run_all("--trials", 0, expect=2)
        self.blink = self.folder / "nothing"
        self.assertIn("--blink", self.run_all(expect=3)[1])
        self.blink = BIN_DIR / "blink"
        self.raw.parent.mkdir()
        self.raw.write_text("a,b\n1,2\n")
        self.assertIn("other columns", self.run_all(expect=3)[1])
        self.assertEqual(self.raw.read_text(), "a,b\n1,2\n")


class Speed(Experiment):
    """experiments/speed."""

    def test_blink_alone_on_a_generated_graph(self):
        rows = self.folder / "rows.json"
        out, _ = self.call("experiments/speed/run", "--blink", BIN_DIR / "blink", "--generated", "--no-peer",
                           "--epochs", 3, "--json", rows)
        self.assertEqual([row["model"] for row in json.loads(rows.read_text())], ["gcn", "graphsage", "gat"])
        self.assertEqual(len(out.splitlines()), 5)

    def test_the_growth_table_has_a_row_for_each_size_budget_and_variant(self):
        rows = self.folder / "rows.json"
        self.call("experiments/speed/growth", "--blink", BIN_DIR / "blink", "--nodes", 100, 200, "--epsilon", 6,
                  "--variant", "hard", "hybrid", "soft", "--epochs", 3, "--soft-epochs", 2, "--json", rows)
        rows = json.loads(rows.read_text())
        self.assertEqual(len(rows), 6)
        self.assertTrue(all(row["peak_rss_bytes"] > 0 and row["total_seconds"] > 0 for row in rows))

    def test_the_report_says_of_every_row_with_what_and_under_which_load_it_was_measured(self):
        row = {"epsilon": 5, "model": "gcn", "turns": 3, "epoch_ms": 50, "peak_rss_bytes": 4e8,
               "measured": "binary old, load 9, on 2026-01-01"}
        rows = {"5 gcn": row, "6 gcn": {**row, "epsilon": 6, "measured": "binary new, load 0.1, on 2026-01-02"}}
        (self.folder / "results.json").write_text(json.dumps({"sections": {"soft": rows}, "machine": "two cores"}))
        self.call("experiments/speed/report", "--tables-only", "--output", self.folder)
        text = (self.folder / "RESULTS.md").read_text()
        self.assertIn("Machine: two cores", text)
        self.assertIn("Measured: binary new, load 0.1, on 2026-01-02.", text)
        self.assertIn("| 5 | gcn (a) | 3 | 50 | 400 |", text)
        self.assertIn("| 6 | gcn | 3 | 50 | 400 |", text)
        self.assertIn("(a) binary old, load 9, on 2026-01-01", text)

    def load_report(self):
        loader = importlib.machinery.SourceFileLoader("blink_speed_report",
                                                      str(SOURCE_DIR / "experiments" / "speed" / "report"))
        module = types.ModuleType(loader.name)
        module.__file__ = loader.path
        loader.exec_module(module)
        return module

    def test_what_a_row_says_of_itself_is_what_was_run(self):
        report, calls = self.load_report(), []

        def rows_of(command, _):
            calls.append([str(word) for word in command])
            return [{"dataset": "cora", "model": "gcn", "links": 9.0, "turns": [{}] * 3, "blink_epoch_ms": 1.0,
                     "plain_epoch_ms": 2.0, "sparse_epoch_ms": None, "versions": "torch 9.9", "nodes": 10,
                     "epsilon": "4", "variant": "hard"}]

        report.rows_of = rows_of
        for quick in (False, True):
            options = types.SimpleNamespace(quick=quick, datasets="D", python="P", threads=1)
            _, how = report.measure_peer(options)
            given = dict(zip(calls[-1], calls[-1][1:]))
            self.assertEqual(how, f"blink {given['--epochs']} epochs a turn, torch 9.9 with GCNConv(cached=True), "
                             f"{given['--peer-epochs']} epochs a turn after {given['--peer-warm-up']} that do not "
                             "count; 1 thread each")
            self.assertEqual(report.measure_growth(options)[1], "one turn; 1 thread")

    def test_rows_of_one_day_and_of_several_machines_are_told_apart(self):
        row = {"epsilon": 5, "model": "gcn", "turns": 3, "epoch_ms": 50, "peak_rss_bytes": 4e8, "machine": "one core",
               "measured": "3 threads; binary old, on 2026-01-02 09:00 UTC"}
        rows = {"5 gcn": row, "6 gcn": {**row, "epsilon": 6, "turns": 1, "machine": "two cores",
                                        "measured": "2 threads; binary new, on 2026-01-02 10:00 UTC"}}
        (self.folder / "results.json").write_text(json.dumps({"sections": {"soft": rows}}))
        self.call("experiments/speed/report", "--tables-only", "--output", self.folder)
        text = (self.folder / "RESULTS.md").read_text()
        self.assertIn("Measured: 2 threads; binary new, two cores, on 2026-01-02 10:00 UTC.", text)
        self.assertIn("(a) 3 threads; binary old, one core, on 2026-01-02 09:00 UTC", text)
        self.assertIn("| 5 | gcn (a) | 3 |", text)
        self.assertIn("| 6 | gcn | 1 |", text)
        self.assertNotIn("Machine:", text)
        self.assertNotIn("cached=True", text, "nothing was measured beside torch-geometric")

    def test_the_report_names_a_program_that_is_not_there(self):
        _, err = self.call("experiments/speed/report", "--blink", self.folder / "none", "--datasets", self.folder,
                           "--output", self.folder, expect=3)
        self.assertIn("--blink", err)

    def test_no_rows_make_no_table(self):
        _, err = self.call("experiments/speed/report", "--tables-only", "--output", self.folder, expect=3)
        self.assertIn("no rows in", err)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_a_program_that_fails_is_named(self):
        _, err = self.call("experiments/speed/growth", "--blink", BIN_DIR / "blink", "--nodes", 100, "--epsilon", "-1",
                           expect=3)
        self.assertIn("exit code 2", err)


class MissingReports(Experiment):
    """experiments/missing_reports/run."""

    def test_the_table_has_a_row_for_each_share(self):
        out, _ = self.call("experiments/missing_reports/run", "--blink", BIN_DIR / "blink", "--generated", "--missing",
                           0, 0.5, "--trials", 1, "--epochs", 2)
        rows = [line for line in out.splitlines() if re.match(r"\| \d+ % \|", line)]
        self.assertEqual([row.split("|")[1].strip() for row in rows], ["0 %", "50 %"])
        self.assertNotIn("±", "".join(rows), "one trial has no deviation")

    def test_a_share_of_all_nodes_is_refused(self):
        _, err = self.call("experiments/missing_reports/run", "--blink", BIN_DIR / "blink", "--generated", "--missing",
                           1, expect=3)
        self.assertIn("--missing is 1", err)


class Mechanisms(Experiment):
    """experiments/mechanisms/run."""

    PUBLISHED = ("rr,cora,gcn,4,0.5,0.9,0.1,0.001,0.01,", "symrr,cora,gcn,4,0.01,0.0001,0.1,0.001,0.01,",
                 "blink-hard,cora,gcn,4,0.5,0.9,0.1,0.001,0.01,0.1")

    def setUp(self):
        super().setUp()
        blinktest.generate_dataset(self.folder / "data" / "cora", 80)
        (self.folder / "published_accuracy.csv").write_text("\n".join((COLUMNS,) + self.PUBLISHED) + "\n")
        self.results = self.folder / "out" / "results.csv"

    def run_driver(self, *more, expect=0):
        return self.call("experiments/mechanisms/run", *overridden(
            {"--blink": BIN_DIR / "blink", "--datasets": self.folder / "data", "--reference": self.folder, "--output":
             self.folder / "out", "--trials": 2, "--epochs": 3}, more), expect=expect)

    def test_it_goes_on_where_it_was_and_marks_what_is_outside(self):
        _, err = self.run_driver()
        self.assertEqual(err.count("cells left"), 2, "what is published of these mechanisms")
        lines = self.results.read_text().splitlines()
        self.assertEqual(len(lines), 1 + 2 * 2)
        self.results.write_text("\n".join(lines[:-1]) + "\ncora,sym")  # what a loss of power leaves
        _, err = self.run_driver()
        self.assertEqual(err.count("cells left"), 1, "the cell that lacks a trial")
        after = self.results.read_text().splitlines()
        self.assertEqual((after[:-1], len(after)), (lines[:-1], len(lines)))
        text = (self.folder / "out" / "RESULTS.md").read_text()
        self.assertIn("1 of 2 measured cells are inside", text)
        rows = {line.split("|")[1].strip(): line for line in text.splitlines()
                if line.startswith("| `") and "(" in line}
        self.assertIn("(50.0)", rows["`rr`"])
        self.assertNotIn("**!**", rows["`rr`"])
        self.assertIn("(1.0) **!**", rows["`symrr`"])

    def test_trials_of_other_options_are_refused_and_kept(self):
        self.run_driver("--mechanism", "rr")
        before = self.results.read_text()
        _, err = self.run_driver("--epochs", 2, expect=3)
        self.assertIn("was run with --learning-rate 0.1", err)
        self.assertEqual(self.results.read_text(), before)
        _, err = self.run_driver("--tables-only", "--trials", 3, expect=3)
        self.assertIn("no cell of 3 finished trials", err)

    def test_where_the_features_differ_the_share_of_the_links_worth_is_compared(self):
        (self.folder / "data" / "cora").rename(self.folder / "data" / "lastfm")
        (self.folder / "published_accuracy.csv").write_text("\n".join(
            (COLUMNS, "rr,lastfm,gcn,4,0.5,0.01,0.1,0.001,0.01,", "nonprivate,lastfm,gcn,inf,0.8,0.01,,,,",
             "mlp,lastfm,mlp,inf,0.4,0.01,0.1,0.001,0.01,", "rr,lastfm,gat,4,0.5,0.01,0.1,0.001,0.01,")) + "\n")
        _, err = self.run_driver("--epochs", 40)
        self.assertEqual(err.count("cells left"), 3, "one model, and its two bounds")
        text = (self.folder / "out" / "RESULTS.md").read_text()
        self.assertIn("Published: 40.0 % and 80.0 %", text)
        self.assertRegex(text, r"of the links' worth that is kept: lastfm, gcn")
        self.assertRegex(text, r"\| `rr` \|.* % \(25 %\)")
        self.assertIn("of 1 measured cells", text)

    def test_solitude_is_searched_and_the_best_setting_is_run_on_other_draws(self):
        (self.folder / "published_accuracy.csv").write_text(
            f"{COLUMNS}\nsolitude,cora,gcn,8,0.5,0.9,,0.001,0.01,\n{self.PUBLISHED[0]}\n")
        self.run_driver()
        _, err = self.run_driver("--solitude")
        self.assertEqual((err.count("setting best"), err.count("setting ")), (2, 22))
        self.assertEqual(len((self.folder / "out" / "solitude.csv").read_text().splitlines()), 1 + 22)
        self.assertRegex((self.folder / "out" / "RESULTS.md").read_text(), r"\| cora \| gcn \| .* \| 50.0 ± 90.0 \|")
        _, err = self.run_driver("--solitude")
        self.assertNotIn("setting", err, "what is recorded is not drawn again")
        _, err = self.run_driver("--solitude", "--epochs", 2, expect=3)
        self.assertIn("cora gcn 0 0 was run with --mechanism solitude", err)

    def test_what_is_not_there_is_named(self):
        _, err = self.run_driver("--blink", self.folder / "none", expect=3)
        self.assertIn("no program at", err)
        _, err = self.run_driver("--reference", self.folder / "none", expect=3)
        self.assertIn("published_accuracy.csv: name its folder with --reference", err)
        _, err = self.run_driver("--datasets", self.folder / "none", expect=3)
        self.assertIn("exit code 3", err)


class CommandLines(Experiment):
    """experiments/command_line.py, as every driver uses it."""

    DRIVERS = {"accuracy/run": "--epsilon", "accuracy/fixed_point.py": "--epsilon", "attributed_prior/run": "--epsilon",
               "degree_share/run": "--epsilon", "few_labels/run": "--epsilon", "link_audit/run": "--epsilon",
               "load/run": "--part", "mechanisms/run": "--epsilon", "million/run": "--nodes",
               "missing_reports/run": "--missing",
               "speed/growth": "--nodes", "speed/report": "--section", "speed/run": "--model",
               "stock_pyg/run": "--epsilon"}
    VALUES = {"--section": "soft", "--model": "gcn", "--missing": "0.5", "--nodes": "100", "--part": "restart"}

    def test_every_driver_refuses_what_is_given_twice(self):
        for driver, option in self.DRIVERS.items():
            value = self.VALUES.get(option, "3")
            with self.subTest(driver):
                _, err = self.call(f"experiments/{driver}", option, value, option, value, expect=2)
                self.assertIn(f"argument {option}: is given more than once: give it once", err)
                _, err = self.call(f"experiments/{driver}", option, value, value, expect=2)
                self.assertIn(f"argument {option}: names {value} more than once: name each once", err)
        _, err = self.call("experiments/degree_share/run", "--tables-only", "--tables-only", expect=2)
        self.assertIn("argument --tables-only: is given more than once", err)
        _, err = self.call("experiments/degree_share/run", "--tables", expect=2)
        self.assertIn("unrecognized arguments: --tables", err)

    def test_no_script_parses_its_arguments_otherwise(self):
        with_arguments = {str(path.relative_to(SOURCE_DIR / "experiments"))
                          for path in (SOURCE_DIR / "experiments").rglob("*")
                          if path.is_file() and "argparse.ArgumentParser" in path.read_text(errors="replace")}
        self.assertEqual(with_arguments, {"command_line.py"})
        users = {str(path.relative_to(SOURCE_DIR / "experiments"))
                 for path in (SOURCE_DIR / "experiments").rglob("*")
                 if path.is_file() and "from command_line import" in path.read_text(errors="replace")}
        self.assertEqual(users, {*self.DRIVERS, "speed/pyg_peer.py"})  # which needs torch to start at all


class DegreeShare(Experiment):
    """experiments/degree_share/run."""

    def arguments(self, *more):
        return ("experiments/degree_share/run",
                *overridden({"--blink": BIN_DIR / "blink", "--datasets": self.folder / "data",
                             "--output": self.folder / "out", "--trials": self.trials, "--variant": "hard",
                             "--epsilon": 3}, more))

    trials = 1

    def test_it_goes_on_where_it_was_and_the_default_is_marked(self):
        for graph in ("cora", "citeseer", "twitch_ptbr"):
            blinktest.generate_dataset(self.folder / "data" / graph, 80)
        _, err = self.call(*self.arguments())
        self.assertEqual(err.count("cells left"), 12, "3 graphs, 4 shares")
        results = self.folder / "out" / "results.csv"
        lines = results.read_text().splitlines()
        results.write_text("\n".join(lines[:-2]) + "\n")
        _, err = self.call(*self.arguments())
        self.assertEqual(err.count("cells left"), 2, "the cells that are missing, and no other")
        self.assertEqual(sorted(results.read_text().splitlines()),
                         sorted(lines[:-2] + results.read_text().splitlines()[-2:]))
        rows = [line for line in (self.folder / "out" / "RESULTS.md").read_text().splitlines()
                if line.startswith("| cora | 3 |")]
        self.assertTrue(rows and all(row.count("*") == 1 for row in rows), rows)

    def test_a_torn_cell_gets_the_trials_that_it_lacks_and_keeps_the_others(self):
        self.trials = 3
        blinktest.generate_dataset(self.folder / "data" / "cora", 80)
        self.call(*self.arguments("--graph", "cora", "--label", "first"))
        results = self.folder / "out" / "results.csv"
        lines = results.read_text().splitlines()
        self.assertEqual(len(lines), 1 + 4 * 3)
        cell = lines[1].rsplit(",", 5)[0]
        # the last two trials of a cell are gone, and a loss of power left half a line
        kept = [line for line in lines if not line.startswith((f"{cell},1,", f"{cell},2,"))]
        results.write_text("\n".join(kept) + f"\n{cell},1,0.5")
        self.call(*self.arguments("--graph", "cora", "--tables-only"))
        self.assertIn("1 cells lack some of them and are left out", (self.folder / "out" / "RESULTS.md").read_text())
        _, err = self.call(*self.arguments("--graph", "cora", "--label", "second"))
        self.assertEqual(err.count("cells left"), 1, err)
        after = results.read_text().splitlines()
        self.assertEqual(after[:len(kept)], kept)
        self.assertEqual([(line.rsplit(",", 5)[0], line.split(",")[5], line.split(",")[-1])
                          for line in after[len(kept):]],
                         [(cell, "1", "second"), (cell, "2", "second")])
        text = (self.folder / "out" / "RESULTS.md").read_text()
        self.assertIn("Binaries: first, second.", text)
        self.assertNotIn("left out", text)

    def test_another_draw_of_a_trial_that_was_recorded_does_not_count(self):
        out = self.folder / "out"
        out.mkdir()
        rows = [f"cora,hard,graphsage,3,{share},0,{accuracy},{accuracy},0.001,x" for accuracy in (0.5, 0.9)
                for share in (0.05, 0.1, 0.2, 0.3)]
        header = "graph,variant,model,epsilon,share,trial,validation,test,mae,binary"
        (out / "results.csv").write_text("\n".join([header, *rows]) + "\n")
        self.call(*self.arguments("--tables-only"))
        self.assertIn("| cora | 3 | 50.0 * | 50.0 | 50.0 | 50.0 |", (out / "RESULTS.md").read_text())

    def test_no_trials_make_no_table(self):
        _, err = self.call(*self.arguments("--tables-only"), expect=3)
        self.assertIn("nothing written", err)
        self.assertFalse((self.folder / "out").exists())

    def test_a_second_run_of_one_file_is_refused(self):
        out = self.folder / "out"
        out.mkdir()
        with open(out / "results.csv", "w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            _, err = self.call(*self.arguments(), expect=3)
        self.assertIn("another run writes to", err)

    def test_a_file_of_other_columns_is_refused_and_kept(self):
        out = self.folder / "out"
        out.mkdir()
        (out / "results.csv").write_text("a,b\n1,2\n")
        _, err = self.call(*self.arguments(), expect=3)
        self.assertIn("other columns", err)
        self.assertEqual((out / "results.csv").read_text(), "a,b\n1,2\n")

    def test_a_program_that_is_not_there_or_fails_is_named(self):
        _, err = self.call(*self.arguments("--blink", self.folder / "none"), expect=3)
        self.assertIn("no program at", err)
        _, err = self.call(*self.arguments(), expect=3)
        self.assertIn("exit code 3", err)
        self.assertEqual(len((self.folder / "out" / "results.csv").read_text().splitlines()), 1, "the heading alone")


class AttributedPrior(Experiment):
    """experiments/attributed_prior/run."""

    def arguments(self, *more):
        return ("experiments/attributed_prior/run",
                *overridden({"--blink": BIN_DIR / "blink", "--datasets": self.folder / "data",
                             "--output": self.folder / "out", "--work": self.folder / "work", "--dataset": "cora",
                             "--epsilon": 3, "--draws": 1}, more))

    def rows(self):
        with open(self.folder / "out" / "results.csv", newline="") as file:
            return list(csv.DictReader(file))

    def test_it_goes_on_where_it_was_and_every_table_has_its_figures(self):
        blinktest.generate_dataset(self.folder / "data" / "cora", 80)
        self.call(*self.arguments("--part", "main", "beta"))
        self.assertEqual([row["what"] for row in self.rows()], ["attributed", "beta"])
        self.call(*self.arguments("--part", "main", "beta", "ablation", "--label", "second"))
        rows = self.rows()
        self.assertEqual(len(rows), 2 + 8, "what was there is not run again")
        self.assertEqual({row["what"] for row in rows if row["label"] == "second"},
                         {"stacked", *(f"without {name}" for name in ("nearest", "features", "latent", "classes",
                                                                      "network", "degrees", "total"))})
        for row in rows:
            self.assertTrue(0 <= float(row["auc"]) <= 1 and float(row["log_likelihood"]) < 0, row)
            self.assertEqual(sum(one_bin[2] for one_bin in json.loads(row["bins"])), 80 * 79 // 2,
                             "every pair is in a bin")
        self.assertTrue(json.loads(rows[0]["candidates"]))
        text = (self.folder / "out" / "RESULTS.md").read_text()
        self.assertIn("| cora | 3 | 1 | ", text)
        self.assertIn("| cora | attributed | ", text)
        self.call(*self.arguments("--tables-only"))
        self.assertEqual((self.folder / "out" / "RESULTS.md").read_text(), text)

    def test_every_accuracy_stands_between_its_bounds(self):
        blinktest.generate_dataset(self.folder / "data" / "cora", 80)
        self.call(*self.arguments("--part", "main", "bounds"))
        self.call(*self.arguments("--part", "bounds", "--epsilon", 1, 2))
        main, bound = self.rows()
        self.assertEqual((bound["what"], bound["epsilon"], bound["mae"]), ("true links", "0", ""))
        text = (self.folder / "out" / "RESULTS.md").read_text()
        cells = next(line for line in text.splitlines() if line.startswith("| cora | 3 | 1 |")).split(" | ")
        self.assertEqual(cells[4:6], [f"{100 * float(row['test_accuracy']):.1f}" for row in (main, bound)])
        by_name = {name.partition(", ")[0]: test for name, _, _, test in json.loads(main["candidates"])}
        self.assertIn(cells[3], {f"{100 * by_name[name]:.1f}" for name in by_name
                                 if "attributed" not in name and not name.startswith("stacked")})
        self.assertRegex(cells[6], r"^\**-?\d+\**$|^gap too small$")

    def test_a_program_that_writes_something_else_is_refused(self):
        blink = self.folder / "blink"
        blink.write_text("#!/bin/sh\necho '{}'\n")
        blink.chmod(0o755)
        _, err = self.call(*self.arguments("--part", "main", "--blink", blink), expect=3)
        self.assertIn("is it the blink of this source tree?", err)

    def test_a_failed_trial_is_shown_with_its_command(self):
        _, err = self.call(*self.arguments("--part", "main"), expect=1)
        self.assertIn("simulate --dataset", err)
        self.assertEqual(self.rows(), [])

    def test_tables_of_what_was_never_run_are_refused(self):
        _, err = self.call(*self.arguments("--tables-only"), expect=3)
        self.assertIn("nothing was run with this --output", err)

    def test_wrong_input_is_refused_with_the_remedy(self):
        self.call(*self.arguments("--draws", 0), expect=2)
        self.assertIn("--blink", self.call(*self.arguments("--blink", self.folder / "nothing"), expect=3)[1])


class GpuCheck(Experiment):
    """tools/gpu-check, on this machine's CPU."""

    def test_what_is_packed_passes_without_a_gpu(self):
        build = BIN_DIR.parent
        if not (build / "tests" / "train_gpu_test").exists():
            raise unittest.SkipTest("train_gpu_test is not built")
        if shutil.which("strip") is None:
            raise unittest.SkipTest("strip is not installed")
        pack, summary = self.folder / "pack", self.folder / "summary.json"
        self.call("tools/gpu-check", "pack", pack, "--build", build)
        self.assertLessEqual(sum(path.stat().st_size for path in pack.rglob("*") if path.is_file()), 64 * 2**20)
        torch = pathlib.Path(os.environ["BLINK_TORCH_DIR"]) / "torch"
        done = subprocess.run([pack / "run", "--device", "cpu", "--quick", "--torch", torch, "--json", summary],
                              capture_output=True, text=True, check=False, timeout=800)
        self.assertEqual(done.returncode, 0, done.stdout[-6000:] + done.stderr[-3000:])
        checks = {check["check"]: check for check in json.loads(summary.read_text())["checks"]}
        self.assertEqual([name for name, check in checks.items() if check["result"] == "skipped"],
                         ["too little memory on the card"])
        self.assertIn("blink_epoch_ms", checks["an epoch beside torch-geometric"]["found"]["gcn"])

    def test_a_folder_in_use_and_an_incomplete_build_are_refused(self):
        (self.folder / "file").write_text("")
        self.assertIn("not an empty folder", self.call("tools/gpu-check", "pack", self.folder, expect=3)[1])
        empty = self.folder / "empty"
        empty.mkdir()
        self.assertIn("lacks bin/blink", self.call("tools/gpu-check", "pack", self.folder / "p", "--build", empty,
                                                   expect=3)[1])

    def test_programs_that_cannot_be_read_are_refused_and_nothing_is_left(self):
        build = self.folder / "build"
        for name in ("bin/blink", "bin/blink-simulate", "bin/blink-worker", "bin/blink-aggregator", "bin/blink-node",
                     "tests/train_gpu_test"):
            (build / name).parent.mkdir(parents=True, exist_ok=True)
            (build / name).write_text("no program")
        _, err = self.call("tools/gpu-check", "pack", self.folder / "p", "--build", build, expect=3)
        self.assertRegex(err, "^gpu-check: strip (.* failed|cannot be run)")
        self.assertFalse((self.folder / "p").exists())

    def test_a_library_whose_name_begins_like_cudas_is_carried(self):
        tool = importlib.machinery.SourceFileLoader("gpu_check_tool", str(SOURCE_DIR / "tools" / "gpu-check"))
        module = types.ModuleType("gpu_check_tool")
        module.__file__ = tool.path
        tool.exec_module(module)
        listing = ("\tlinux-vdso.so.1 (0x1)\n\tlibcurl.so.4 => {0}/libcurl.so.4 (0x1)\n\tlibcudart.so.13 => not found\n"
                   "\tlibtorch_cpu.so => not found\n\t{0}/libown.so (0x1)\n\tlibc.so.6 => /lib/libc.so.6 (0x1)\n"
                   "\t/lib64/ld-linux-x86-64.so.2 (0x1)\n").format(self.folder)
        for name in ("libcurl.so.4", "libown.so"):
            (self.folder / name).write_text("")
        module.output_of = lambda *_: listing
        self.assertEqual(sorted(module.libraries_of("program")), ["libcurl.so.4", "libown.so"])
        module.output_of = lambda *_: "\tlibcurl.so.4 => not found\n"
        with self.assertRaisesRegex(module.Missing, "needs libcurl.so.4"):
            module.libraries_of("program")


if __name__ == "__main__":
    blinktest.main()
