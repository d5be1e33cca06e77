"""`blink sweep` and `blink report`: what is run, that a killed sweep goes on, what is refused, and what is drawn."""
import contextlib
import csv
import fcntl
import json
import math
import os
import pathlib
import re
import resource
import shlex
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import unittest

import blinktest
from blinktest import BIN_DIR, SOURCE_DIR, BlinkTest, overridden, wait_until

sys.path.insert(0, str(SOURCE_DIR / "tools" / "sweep"))
from blink_sweep import arguments, description, lines, page, plan, progress, report, series, simulate  # noqa: E402
from blink_sweep.ending import Refusal  # noqa: E402

PLOTS = SOURCE_DIR / ".deps" / "plots"


def has_matplotlib():
    code = f"import sys; sys.path.append({str(PLOTS)!r}); import matplotlib"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0


# Answers what a sweep asks of `blink`, at once: most of a sweep's promises are about its file and its processes.
FAKE = """#!/usr/bin/env python3
import hashlib, json, pathlib, sys, time
words = sys.argv[1:]
value = lambda name: words[words.index(name) + 1]
if words[:2] == ["dataset", "info"]:
    files = sorted(pathlib.Path(words[2]).iterdir())
    print(json.dumps({"name": pathlib.Path(words[2]).name, "nodes": 60, "links": 100, "degree": {"isolated": 1},
                      "sha256": hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()}))
elif "--help" in words:
    print("  --model TEXT:{gcn,gat}\\n  --epochs UINT")
else:
    time.sleep(3600 if "--epochs=100000" in words else 0.05)
    print(json.dumps({"partial": False, "trials_done": 1, "program": {"version": "0", "commit": "c"}, "privacy": {},
                      "report": {"bytes_mean": 9}, "estimate": {"mae": 0.1}, "peak_rss_bytes": 1,
                      "train": {"test_accuracy_mean": 0.5}, "trials": [{"train": {"best_epoch": 3}}]}))
"""


class InFolder(BlinkTest):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="blink-sweep-"))
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.lines = self.folder / "trials.jsonl"

    def start(self, *arguments, **options):
        return subprocess.Popen([BIN_DIR / "blink", *map(str, arguments)], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, **options)

    def call(self, *arguments, expect=0, **options):
        process = self.start(*arguments, **options)
        try:
            out, err = process.communicate(timeout=2 * blinktest.PATIENCE_SECONDS)
        finally:
            if process.poll() is None:
                process.kill()
                process.communicate()
        self.assertEqual(process.returncode, expect, f"{arguments}\n{out[-3000:]}\n{err[-3000:]}")
        self.assertNotIn("Traceback", err)
        return out, err

    def rows(self):
        return [json.loads(line) for line in self.lines.read_text().splitlines()]

    def usual(self):
        return {"--dataset": self.dataset, "--output": self.lines, "--epsilon": "2,6", "--trials": 2, "--jobs": 1}


class Simulations(InFolder):
    """A sweep of real simulations."""

    def setUp(self):
        super().setUp()
        self.dataset = self.folder / "tiny"
        blinktest.generate_dataset(self.dataset, 60)

    def arguments(self, *more):
        return ("sweep", *overridden(self.usual() | ({} if "--set" in more else {"--set": "epochs=2"}), more))

    def test_bounds_and_parts_of_a_file_are_run(self):
        file = self.folder / "sweep.toml"
        file.write_text(f'dataset = ["{self.dataset}"]\ntrials = 1\nepsilon = ["5"]\n[set]\nepochs = 2\n'
                        '[[part]]\nvariant = ["hard", "hybrid"]\n[[part]]\nmechanism = ["none", "mlp"]\n')
        self.call("sweep", "--file", file, "--output", self.lines, "--jobs", 2)
        self.assertEqual({(row["trial"]["mechanism"], row["trial"]["variant"]) for row in self.rows()},
                         {("blink", "hard"), ("blink", "hybrid"), ("true", ""), ("mlp", "")})
        bounds = [row for row in self.rows() if row["trial"]["mechanism"] != "blink"]
        self.assertEqual([row["figures"]["bytes"] for row in bounds], [None, None], "no report was drawn")
        for row in self.rows():
            self.assertGreater(row["figures"]["test_accuracy"], 0)
            self.assertEqual(row["dataset"]["nodes"], 60)

    def test_the_quick_profile_has_something_for_every_figure(self):
        _, err = self.call("sweep", "--dataset", self.dataset, "--output", self.lines, "--profile", "quick", "--trials",
                           1, "--set", "epochs=2")
        self.assertIn(" left\n", err)
        self.assertNotIn("left out", err)
        self.assertEqual([figure.name for figure in series.Figures(self.rows()).all()],
                         ["accuracy_per_entry", "accuracy_per_link", "error", "hard", "degree_share", "ablation",
                          "bytes"])
        costs = {(row["trial"]["mechanism"], row["trial"]["epsilon"]): row["figures"].get("epsilon_per_link")
                 for row in self.rows()}
        self.assertEqual([costs[name, "2"] for name in ("blink", "rr", "symrr", "one-end")], [4, 4, 2, 2])

    def test_a_failed_trial_is_shown_with_its_command_and_the_others_go_on(self):
        _, err = self.call(*self.arguments("--trials", 1, "--epsilon", 6, "--set", "hidden=0", "--mechanism", "blink",
                                           "mlp"), expect=1)
        self.assertEqual(err.count("failed: "), 2)
        self.assertIn("blink simulate --dataset", err)
        self.assertIn("--hidden", err)
        self.assertEqual(self.rows(), [])

    def test_wrong_arguments_name_the_flag_and_write_nothing(self):
        for more, code, text in (
                (("--epsilon", "0"), 2, "epsilon is 0: it must be in"), (("--epsilon", "nan"), 2, "epsilon is nan"),
                (("--epsilon", "8:1"), 2, "the range is empty"), (("--epsilon", "1:2:0"), 2, "the step of epsilon"),
                (("--epsilon", "1:2:3:4"), 2, "FROM:TO:STEP"), (("--epsilon", "x"), 2, "must be a number"),
                (("--trials", "0"), 2, "trials is 0"), (("--jobs", "0"), 2, "--jobs is 0"),
                (("--seed", "-1"), 2, "seed is -1"), (("--degree-share", "1.5"), 2, "degree-share is 1.5"),
                (("--mechanism", "blnk"), 2, "mechanism names 'blnk'"), (("--model", "gnc"), 2, "--model names 'gnc'"),
                (("--set", "trials=3"), 2, "set names 'trials'"), (("--set", "colour=red"), 2, "--set names 'colour'"),
                (("--variant", "soft,harder"), 2, "--variant names 'harder'"),
                (("--trials", "1", "--trials", "2"), 2, "--trials: is given more than once"),
                (("--quiet", "--quiet"), 2, "--quiet: is given more than once"),
                (("--epsilon", "1", "--epsilon", "2"), 2, "--epsilon: is given more than once"),
                (("--epsilon", "1,,2"), 2, "--epsilon: '1,,2' has an empty value: write one comma between two values"),
                (("--set", "epochs=3", "--set", "epochs=4"), 2, "--set: gives epochs more than once"),
                (("--nonsense",), 2, "--nonsense"), (("--blink", "/bin/false"), 3, "ended with 1: is it blink?"),
                (("--file", "/nowhere.toml"), 3, "cannot read /nowhere.toml"),
                (("--profile", "quick", "--file", "x"), 2, "leave out one of them"),
                (("--blink", self.folder / "none"), 3, "no program at"),
                (("--dataset", self.folder / "gone"), 3, "gone"),
                (("--dataset", self.dataset, self.copy("elsewhere/tiny")), 3, "2 data sets are named tiny")):
            _, err = self.call(*self.arguments(*more), expect=code)
            self.assertIn(text, err)
        self.assertIn("--dataset is missing", self.call("sweep", "--output", self.lines, expect=2)[1])
        self.assertIn("--output", self.call("sweep", "--dataset", self.dataset, expect=2)[1])
        self.assertFalse(self.lines.exists())

    def test_the_commands_of_the_readme_are_understood(self):
        block = (SOURCE_DIR / "tools/sweep/README.md").read_text().partition("```\n")[2].partition("```")[0]
        commands = [shlex.split(command, comments=True) for command in block.splitlines()]
        self.copy("cora"), self.copy("mine")
        self.assertEqual([command[1] for command in commands], ["sweep", "sweep", "report"])
        for command in commands[:2]:
            self.assertIn("simulate --dataset cora", self.call(*command[1:], "--dry-run", cwd=self.folder)[0])

    def copy(self, name):
        shutil.copytree(self.dataset, self.folder / name)
        return self.folder / name


class Sweep(InFolder):
    """What a sweep promises of its file and its processes."""

    def setUp(self):
        super().setUp()
        self.dataset = self.folder / "tiny"
        self.dataset.mkdir()
        (self.dataset / "split.csv").write_text("0,train\n1,val\n")
        self.blink = self.folder / "fake"
        self.blink.write_text(FAKE)
        self.blink.chmod(0o755)

    def arguments(self, *more):
        usual = self.usual() | {"--blink": self.blink} | ({} if "--set" in more else {"--set": "epochs=2"})
        return ("sweep", *overridden(usual, more))

    def test_a_killed_sweep_goes_on_where_it_was(self):
        process = self.start(*self.arguments())
        wait_until(lambda: self.lines.exists() and self.lines.read_text().count("\n") > 0, "a finished trial")
        process.kill()
        process.communicate()
        before = self.lines.read_text()
        whole = before[:before.rfind("\n") + 1]
        with open(self.lines, "a") as file:
            file.write('{"format":1,"key":"ab')  # what a power cut leaves
        _, err = self.call(*self.arguments())
        self.assertIn("was cut short", err)
        self.assertTrue(self.lines.read_text().startswith(whole), "finished trials were lost or run again")
        rows = self.rows()
        self.assertEqual(len({row["key"] for row in rows}), 4)
        self.assertEqual(len(rows), 4)
        self.assertEqual({(row["trial"]["epsilon"], row["trial"]["seed"]) for row in rows},
                         {("2", 1), ("2", 2), ("6", 1), ("6", 2)})
        for row in rows:
            self.assertEqual(row["figures"]["epsilon_per_link"], 2 * float(row["trial"]["epsilon"]))
            self.assertEqual(row["figures"]["test_accuracy"], 0.5)
            self.assertEqual(row["dataset"], {"nodes": 60, "links": 100, "isolated": 1})
        _, err = self.call(*self.arguments())
        self.assertIn("4 of 4 trials are finished", err)
        self.assertEqual(len(self.rows()), 4)

    def test_the_data_set_counts_by_what_is_in_it(self):
        one = ("--epsilon", 6, "--trials", 1)
        self.call(*self.arguments(*one))
        moved = self.folder / "moved" / "tiny"
        moved.parent.mkdir()
        self.dataset.rename(moved)
        self.dataset = moved
        self.call(*self.arguments(*one))
        self.assertEqual(len(self.rows()), 1, "it lies elsewhere, and that decides nothing")
        split = (moved / "split.csv").read_text().splitlines(keepends=True)
        (moved / "split.csv").write_text("".join(split[:-1]))
        self.call(*self.arguments(*one))
        self.assertEqual(len(self.rows()), 2)

    def test_interrupted_it_ends_its_trials_and_says_so(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            process = self.start(*self.arguments("--set", "epochs=100000"))
            children = pathlib.Path(f"/proc/{process.pid}/task")

            def trials():
                found = [child for path in children.glob("*/children") for child in path.read_text().split()]
                return [child for child in found if b"--seed" in pathlib.Path(f"/proc/{child}/cmdline").read_bytes()]

            def one_trial():
                with contextlib.suppress(OSError):
                    return trials()

            started = wait_until(one_trial, "a trial to begin")
            process.send_signal(number)
            _, err = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 128 + number, err)
            self.assertIn("the same command goes on", err)
            self.assertEqual(self.rows(), [])
            for child in started:
                self.assertFalse(pathlib.Path(f"/proc/{child}").exists(), "a trial outlived the sweep")

    def test_a_damaged_line_is_refused_but_the_last_one_is_run_again(self):
        self.call(*self.arguments())
        whole = self.lines.read_text().splitlines(keepends=True)
        self.lines.write_text("".join(whole[:-1]) + whole[-1][:50] + "\n")
        _, err = self.call(*self.arguments())
        self.assertIn("its trial is run again", err)
        self.assertEqual(len(self.rows()), 4)
        damaged = "".join([whole[0], "nonsense\n", *whole[2:]])
        self.lines.write_text(damaged)
        _, err = self.call(*self.arguments(), expect=3)
        self.assertIn("line 2 is damaged", err)
        self.assertEqual(self.lines.read_text(), damaged)

    def test_somebody_elses_file_is_left_as_it_is(self):
        for text in ("a,b\n1,2\n", "no line", "[1]\n", '{"format":2,"key":"x"}\n'):
            self.lines.write_text(text)
            _, err = self.call(*self.arguments(), expect=3)
            self.assertIn("name another file", err)
            self.assertEqual(self.lines.read_text(), text)

    def test_what_keeps_nothing_is_no_file_for_trials(self):
        os.mkfifo(self.folder / "pipe")
        for path in ("/dev/null", self.folder / "pipe"):
            _, err = self.call(*self.arguments("--output", path), expect=3)
            self.assertIn("is no file that keeps what is written", err)

    def test_no_trial_outlives_a_killed_sweep(self):
        process = self.start(*self.arguments("--set", "epochs=100000"))

        def trials():
            command = ["pgrep", "-f", f"{self.blink} simulate .*epochs=100000"]
            return subprocess.run(command, capture_output=True, text=True).stdout.split()
        wait_until(trials, "a trial that runs")
        process.kill()
        process.communicate()
        wait_until(lambda: not trials(), "the end of the trial")

    def test_nothing_more_is_run_once_a_trial_cannot_be_recorded(self):
        self.call(*self.arguments("--trials", 1, "--epsilon", 6))
        whole = self.lines.read_bytes()

        def little_room():
            resource.setrlimit(resource.RLIMIT_FSIZE, (len(whole) + 10, len(whole) + 10))

        _, err = self.call(*self.arguments(), expect=9, preexec_fn=little_room)
        self.assertIn("stopped, with 0 of 3 trials done", err)
        self.assertIn("make room, then the same command goes on", err)
        self.assertEqual(self.lines.read_bytes(), whole, "a part of a line was left")

    def test_one_sweep_at_a_time_writes_to_a_file(self):
        with open(self.lines, "w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            _, err = self.call(*self.arguments(), expect=3)
        self.assertIn("another sweep writes to", err)

    def test_trials_of_another_build_are_noticed(self):
        one = ("--epsilon", 6, "--trials", 1)
        self.call(*self.arguments(*one))
        other = self.folder / "other"
        shutil.copy(self.blink, other)
        with open(other, "a") as file:
            file.write("# another build\n")
        _, err = self.call(*self.arguments(*one, "--blink", other), expect=3)
        self.assertIn("come from another build", err)
        self.call(*self.arguments(*one, "--blink", other, "--other-builds", "keep"))
        self.assertEqual(len(self.rows()), 1)
        self.call(*self.arguments(*one, "--blink", other, "--other-builds", "redo"))
        self.assertEqual(len(self.rows()), 2)
        self.assertEqual(len(lines.newest(self.rows())), 1)
        (self.folder / "blink-simulate").write_text("what `blink simulate` becomes")
        _, err = self.call(*self.arguments(*one, "--blink", other), expect=3)
        self.assertIn("come from another build", err)

    def test_nothing_more_is_run_once_the_program_writes_something_else(self):
        fake = self.folder / "wrong"
        for text in ("nonsense", '{"train": {}}', "[1]", '{"partial": true, "trials_done": 0}'):
            fake.write_text(f"#!/bin/sh\ncase $2 in info) exec {self.blink} \"$@\";; --help) exit 0;; esac\n"
                            f"echo x >> {self.folder}/calls\necho '{text}'\n")
            fake.chmod(0o755)
            (self.folder / "calls").unlink(missing_ok=True)
            _, err = self.call("sweep", "--dataset", self.dataset, "--output", self.lines, "--blink", fake, "--jobs", 1,
                               expect=3)
            self.assertIn("is it the blink of this source tree?", err)
            self.assertEqual((self.folder / "calls").read_text(), "x\n")
        self.assertEqual(self.rows(), [])

    def test_a_dry_run_prints_the_commands_and_leaves_nothing(self):
        out, err = self.call(*self.arguments("--mechanism", "blink", "true", "--dry-run"))
        self.assertEqual(len(out.splitlines()), 2 * 2 + 2)
        self.assertIn("--graph true", out)
        self.assertIn("6 trials", err)
        self.assertFalse(self.lines.exists())


class Plans(unittest.TestCase):
    """What a description stands for."""

    def make(self, tables=None, **flags):
        return description.make(tables or {}, {"dataset": ["x"], **flags})

    def test_words_have_blanks_or_one_comma_between_them(self):
        def words(*given):
            parser = arguments.Parser()
            parser.add_argument("--epsilon", nargs="+", action=arguments.Words)
            return parser.parse_args(["--epsilon", *given]).epsilon
        for given in (("1", "2"), ("1,2",), ("1,", "2"), ("1", ",2"), ("1 , 2",), (" 1 2 ",)):
            self.assertEqual(words(*given), ["1", "2"], given)
        for given in (("1,,2",), (",1",), ("1", "2,"), (",",), ("1,", ",2"), (" ",)):
            with self.assertRaisesRegex(Refusal, "has an empty value"):
                words(*given)

    def test_ranges_and_lists_are_exact(self):
        for items, wanted in ((["1:3"], ["1", "2", "3"]), (["0.1:0.3:0.1"], ["0.1", "0.2", "0.3"]),
                              (["2.50", "2.5", "1"], ["2.5", "1"]), (["10"], ["10"]), (["0.000001"], ["0.000001"])):
            self.assertEqual(plan.numbers(items, "epsilon", plan.EPSILON_MIN, plan.EPSILON_MAX), wanted)
        for bad in ("0", "51", "inf", "-1", "1e-9", "1:x", "", "0.0000001"):
            with self.assertRaises(ValueError, msg=bad):
                plan.numbers([bad], "epsilon", plan.EPSILON_MIN, plan.EPSILON_MAX)

    def test_a_crossing_multiplies_only_what_a_mechanism_depends_on(self):
        made = self.make(mechanism=["blink", "rr", "none", "features-only"], epsilon=["1:2"], model=["gcn", "gat"],
                         variant=["hard", "soft"], prior=["beta"])
        found = [str(setting) for setting in plan.settings_of(made.parts[0])]
        self.assertEqual(len(found), 2 * 2 * 2 + 2 * 2 + 2 + 1)
        self.assertEqual(len(set(found)), len(found))
        self.assertIn("true gat", found)
        self.assertIn("features-only", found)

    def test_parts_take_what_is_outside_and_flags_go_before_both(self):
        tables = {"trials": 3, "set": {"epochs": 9, "tune": 0}, "part": [{"model": "gat", "set": {"epochs": 7}}, {}]}
        made = self.make(tables, trials=4)
        self.assertEqual([part.trials for part in made.parts], [4, 4])
        self.assertEqual(made.parts[0].options, {"epochs": "7", "tune": "0"})
        self.assertEqual(made.parts[1].model, ["gcn"])
        self.assertEqual(self.make(tables, set={"epochs": "1"}).parts[0].options["epochs"], "1")

    def test_what_a_file_says_wrong_is_named(self):
        for tables, text in (({"epsilons": [1]}, "'epsilons' is no key"), ({"part": []}, "part must be a list"),
                             ({"part": [{}, {"dataset": "x"}]}, "part 2: 'dataset' is no key"),
                             ({"part": [{"model": []}]}, "part 1: model must be"), ({"trials": "3"}, "trials is '3'"),
                             ({"trials": True}, "trials is True"), ({"set": 3}, "set must be a table"),
                             ({"set": {"json": True}}, "set names 'json'"), ({"epsilon": [[1]]}, "epsilon must be"),
                             ({"set": {"epochs": [1]}}, "epochs must be one value"), ({"part": [3]}, "part 1")):
            with self.assertRaisesRegex(ValueError, re.escape(text)):
                self.make(tables)

    def test_profiles_are_whole_and_quick_is_small(self):
        facts = plan.DatasetFacts("x", "x", "0", 10, 10, 0)
        counts = {name: len(plan.trials_of(description.make(description.read_profile(name), {"dataset": ["x"]}).parts,
                                           [facts])) for name in ("quick", "full")}
        self.assertLess(counts["quick"], 100)
        self.assertGreater(counts["full"], 10 * counts["quick"])

    def test_a_key_changes_with_everything_that_decides_a_trial_and_with_nothing_else(self):
        facts = plan.DatasetFacts("x", "/here/x", "aa", 10, 10, 0)
        setting = plan.Setting("blink", "1", "gcn", "beta", "hard", "", (("epochs", "5"),))
        key = plan.Trial(facts, setting, 0, 1).key
        replace = plan.dataclasses.replace
        for other in (plan.Trial(replace(facts, path="/there"), setting, 0, 1), plan.Trial(facts, setting, 3, 1)):
            self.assertEqual(other.key, key)
        changes = {"mechanism": "rr", "epsilon": "2", "model": "gat", "prior": "attributed", "variant": "soft",
                   "degree_share": "0.5", "options": ()}
        others = [plan.Trial(facts, replace(setting, **{name: value}), 0, 1) for name, value in changes.items()]
        others += [plan.Trial(replace(facts, sha256="bb"), setting, 0, 1), plan.Trial(facts, setting, 0, 2)]
        self.assertEqual(len({trial.key for trial in others} | {key}), len(others) + 1)

    def test_arguments_are_those_of_simulate(self):
        for setting, wanted in (
                (plan.Setting("blink", "1", "gcn", "beta", "hard", "0.5", (("epochs", "5"), ("deterministic", ""))),
                 "--epsilon 1 --prior beta --variant hard --model gcn --degree-share 0.5 --epochs=5 --deterministic"),
                (plan.Setting("true", model="gat"), "--model gat --graph true"),
                (plan.Setting("mlp"), "--model mlp"), (plan.Setting("rr", "2", "gcn"),
                                                       "--mechanism rr --epsilon 2 --model gcn")):
            self.assertEqual(sorted(" ".join(simulate.arguments(setting)).split()), sorted(wanted.split()))

    def test_time_left_is_known_from_the_first_trial_on(self):
        pace = progress.Pace()
        trial = plan.Trial(plan.DatasetFacts("x", "x", "0", 1, 1, 0), plan.Setting("blink"), 0, 1)
        self.assertIsNone(pace.left([trial], 1))
        pace.add(("other",), 10)
        self.assertEqual(pace.left([trial] * 4, 2), 20)
        pace.add(trial.family, 2)
        self.assertEqual(pace.left([trial] * 4, 2), 4)


def line(mechanism="blink", epsilon="2", accuracy=0.5, seed=1, dataset="small", model="gcn", variant="hard",
         prior="beta", share="", options=None, program="p", **figures):
    """An invented line of a finished trial."""
    estimating = mechanism in plan.ESTIMATING
    private = mechanism in plan.PRIVATE
    trial = {"dataset": dataset, "dataset_sha256": "d", "mechanism": mechanism, "epsilon": epsilon if private else "",
             "model": model if mechanism != "features-only" else "", "prior": prior if estimating else "",
             "variant": variant if estimating else "", "degree_share": share, "options": options or {},
             "trial": seed - 1, "seed": seed}
    found = {"test_accuracy": accuracy, **figures}
    if private:
        found["epsilon_per_link"] = 2 * float(epsilon)
    return {"format": 1, "key": plan.key_of(trial), "trial": trial, "seconds": 1.5, "finished": "2026-01-01T00:00:00Z",
            "dataset": {"nodes": 100, "links": 200, "isolated": 3},
            "program": {"version": "0", "commit": "c", "sha256": program}, "figures": found}


def several():
    """Lines that give every figure something to draw."""
    found = []
    for seed in (1, 2, 3):
        for epsilon in ("1", "4", "8"):
            mae = 0.1 / float(epsilon)
            for share in ("", "0.5", "1"):
                found.append(line(epsilon=epsilon, seed=seed, accuracy=0.5 + float(epsilon) / 20 + seed / 100,
                                  share=share, mae=mae * (1 + seed / 10), links=150, true_positives=100,
                                  epsilon_degree=0.1, bytes=900 - 80 * float(epsilon)))
            found.append(line("rr", epsilon=epsilon, seed=seed, accuracy=0.4, trained_links=5000, trained_recall=0.8,
                              bytes=700 - 60 * float(epsilon)))
        found += [line("true", seed=seed, accuracy=0.9), line("features-only", seed=seed, accuracy=0.45)]
    return found


class Series(unittest.TestCase):
    """Means and deviations against a slow twin, on invented lines."""

    def figures(self, found):
        return {figure.name: figure for figure in series.Figures(found).all()}

    def test_a_point_is_the_mean_and_the_sample_deviation_of_its_trials(self):
        panel = self.figures(several())["accuracy_per_entry"].panels[0]
        curve = next(curve for curve in panel.curves if curve.label == "blink hard")
        for point in curve.points:
            values = [0.5 + point.x / 20 + seed / 100 for seed in (1, 2, 3)]
            mean = sum(values) / 3
            self.assertAlmostEqual(point.mean, mean)
            self.assertAlmostEqual(point.deviation, math.sqrt(sum((value - mean) ** 2 for value in values) / 2))
            self.assertEqual(point.trials, 3)
        self.assertEqual({label: round(point.mean, 9) for label, point in panel.lines.items()},
                         {"features only": 0.45, "true links": 0.9})
        by_link = self.figures(several())["accuracy_per_link"].panels[0]
        self.assertEqual([point.x for point in by_link.curves[0].points], [2, 8, 16])

    def test_trials_of_other_shares_are_not_in_the_curve_of_the_default(self):
        panel = self.figures(several())["accuracy_per_entry"].panels[0]
        self.assertEqual([curve.label for curve in panel.curves], ["blink hard", "rr"])

    def test_the_bound_is_the_papers(self):
        # (2 |A|_1 + n / (2 epsilon_d) + isolated) / n^2, |A|_1 = 2 * 200
        row = series.Row(line(epsilon_degree=0.1, mae=1))
        self.assertAlmostEqual(series.paper_bound(row), (2 * 400 + 100 / 0.2 + 3) / 100**2)
        self.assertIsNone(series.paper_bound(series.Row(line(epsilon_degree=0, mae=1))))

    def test_every_figure_has_something_and_a_figure_without_is_left_out(self):
        self.assertEqual(set(self.figures(several())), {"accuracy_per_entry", "accuracy_per_link", "error", "hard",
                                                        "degree_share", "ablation", "bytes"})
        self.assertEqual(set(self.figures([line()])), {"accuracy_per_entry", "accuracy_per_link"})

    def test_ablation_tells_prior_evidence_and_both_apart(self):
        panel = self.figures(several())["ablation"].panels[0]
        self.assertEqual({curve.label for curve in panel.curves},
                         {"both, blink hard", "prior only, blink hard", "evidence only"})

    def test_density_is_of_the_links_that_there_are(self):
        links, found = self.figures(several())["hard"].panels
        for panel, wanted in ((links, {"blink": 0.75, "rr": 25}), (found, {"blink": 0.5, "rr": 0.8})):
            self.assertEqual({curve.label: round(curve.points[0].mean, 9) for curve in panel.curves}, wanted)

    def test_options_tell_curves_apart_only_where_they_differ(self):
        found = [line(options={"epochs": "5"}), line(options={"epochs": "9"}), line("rr", options={"epochs": "5"})]
        panel = self.figures(found)["accuracy_per_entry"].panels[0]
        self.assertEqual({curve.label for curve in panel.curves}, {"blink hard epochs 5", "blink hard epochs 9", "rr"})

    def test_the_first_draw_of_the_newest_program_counts(self):
        first, again, newer = line(accuracy=0.1), line(accuracy=0.9), line(accuracy=0.3, program="q")
        self.assertEqual(list(lines.newest([first, again]).values()), [first])
        self.assertEqual(list(lines.newest([first, newer, line(accuracy=0.8, program="q")]).values()), [newer])

    def test_figures_are_read_from_what_simulate_prints(self):
        result = {"partial": False, "trials_done": 1, "privacy": {"epsilon_degree": 0.1}, "report": {"bytes_mean": 9},
                  "estimate": {"mae": 0.1, "links": 3}, "train": {"test_accuracy_mean": 0.5}, "peak_rss_bytes": 5,
                  "trials": [{"train": {"best_epoch": 7}}]}
        found = simulate.figures_of(result, plan.Setting("blink", "2"))
        self.assertEqual((found["mae"], found["epsilon_per_link"], found["best_epoch"], found["recall"]),
                         (0.1, 4, 7, None))
        self.assertEqual(simulate.figures_of(result, plan.Setting("symrr", "2"))["epsilon_per_link"], 2)
        told = {**result, "estimate": None,
                "mechanism": {"epsilon_per_entry": 1.99, "epsilon_per_link": 1.99, "links": 8, "recall": 0.5}}
        found = simulate.figures_of(told, plan.Setting("rr", "2"))
        self.assertEqual((found["epsilon_per_link"], found["trained_links"], found["trained_recall"]), (2, 8, 0.5))
        for wrong in ({"partial": True}, {"trials_done": 0}, {"train": {"test_accuracy_mean": "x"}}):
            with self.assertRaises(ValueError):
                simulate.figures_of({**result, **wrong}, plan.Setting("blink", "2"))


class Report(InFolder):
    """`blink report`, on invented lines."""

    def write_lines(self, found=None):
        self.lines.write_text("".join(json.dumps(row) + "\n" for row in found or several()))
        return self.lines

    def report(self, *more, **options):
        return self.call("report", self.lines, "--output", self.folder / "figures", *more, **options)

    def test_tables_need_no_matplotlib_and_pictures_say_what_they_need(self):
        self.write_lines()
        (self.folder / "matplotlib.py").write_text("raise ImportError\n")
        without = {**os.environ, "PYTHONPATH": str(self.folder)}
        _, err = self.report(expect=3, env=without)
        self.assertIn("scripts/install-deps --plots", err)
        self.report("--tables-only", env=without)
        with open(self.folder / "figures" / "points.csv", newline="") as file:
            points = list(csv.DictReader(file))
        wanted = statistics.stdev([0.51, 0.52, 0.53])
        found = next(row for row in points if row["figure"] == "accuracy_per_entry" and row["curve"] == "blink hard")
        self.assertAlmostEqual(float(found["deviation"]), wanted, places=9)
        with open(self.folder / "figures" / "trials.csv", newline="") as file:
            self.assertEqual(len(list(csv.DictReader(file))), len(several()))

    def test_the_notes_say_what_was_run_and_how_little(self):
        found = [line(options={"epochs": "5"}), line(seed=2, options={"epochs": "5"}), line("true")]
        notes = report.notes_of(found)
        self.assertIn("small: 100 nodes, 200 links, 3 nodes without a link.", notes)
        self.assertIn("2 trials ran with --epochs=5.", notes)
        self.assertIn("Some points are means of 1 trial: a standard deviation of so few says little.", notes)
        self.assertIn("All trials ran with --epochs=5.", report.notes_of(found[:2]))
        self.assertIn("Several builds of blink", " ".join(report.notes_of([*found, line(seed=3, program="q")])))

    def test_data_sets_of_one_name_are_told_apart_by_their_content(self):
        rows = [line(), line(seed=2), line(accuracy=0.9)]
        rows[2]["trial"]["dataset_sha256"] = "0123456789"
        rows[2]["key"] = plan.key_of(rows[2]["trial"])
        self.write_lines(rows)
        self.report("--tables-only")
        with open(self.folder / "figures" / "points.csv") as file:
            titles = " ".join(row["panel"] for row in csv.DictReader(file))
        self.assertIn("small d", titles)
        self.assertIn("small 01234567", titles)

    def test_a_line_that_is_being_written_is_left_out(self):
        self.write_lines()
        with open(self.lines, "a") as file:
            file.write('{"format":1,"ke')
        self.report("--tables-only")

    def test_wrong_files_are_refused_with_the_remedy(self):
        self.assertIn("cannot read", self.report(expect=3)[1])
        self.lines.write_text("")
        self.assertIn("no finished trials in", self.report(expect=3)[1])
        self.lines.write_text("nonsense\n")
        self.assertIn("line 1 is damaged, or the file is not of a sweep", self.report(expect=3)[1])
        for name, wrong, says in (("figures", {"test_accuracy": math.nan}, "NaN is no number"),
                                  ("figures", {"test_accuracy": "x"}, 'test_accuracy is "x"'),
                                  ("figures", {"test_accuracy": True}, "test_accuracy is true"),
                                  ("trial", {"epsilon": "3"}, "its trial is another one than its key says"),
                                  ("trial", {"model": 3}, "model is 3"),
                                  ("trial", {"options": None}, "options is null"),
                                  ("dataset", {"nodes": "100"}, 'nodes is "100"'), ("dataset", {}, "it has no nodes")):
            found = line()
            found[name] = {**found[name], **wrong} if wrong else {}
            self.write_lines([line(seed=2), found, line(seed=3)])
            with self.subTest(says):
                self.assertIn(f"line 2 is damaged, or the file is not of a sweep ({says})", self.report(expect=3)[1])
        self.assertFalse((self.folder / "figures").exists())
        self.assertIn("--output", self.call("report", self.lines, expect=2)[1])

    def test_a_full_disk_leaves_the_earlier_tables(self):
        self.write_lines()
        self.report("--tables-only")
        before = (self.folder / "figures" / "points.csv").read_bytes()

        def no_room():
            resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))

        _, err = self.report("--tables-only", expect=9, preexec_fn=no_room)
        self.assertIn("could not be written", err)
        self.assertEqual({path.name for path in (self.folder / "figures").iterdir()}, {"points.csv", "trials.csv"})
        self.assertEqual((self.folder / "figures" / "points.csv").read_bytes(), before)

    def test_names_of_data_sets_cannot_write_into_the_page(self):
        found = [line(dataset="<script>alert(1)</script>")]
        text = page.page("<b>", ["<i>"], series.Figures(found).all(), {"accuracy_per_entry": [b""],
                                                                      "accuracy_per_link": [b""]})
        for wrong in ("<script", "<b>", "<i>"):
            self.assertNotIn(wrong, text)

    @unittest.skipUnless(has_matplotlib(), "matplotlib is missing: scripts/install-deps --plots")
    def test_pictures_and_a_page_that_needs_no_network(self):
        self.write_lines([line(epsilon=epsilon, seed=seed, mae=0.1) for seed in (1, 2) for epsilon in ("1", "2")]
                         + [line("true")])
        self.report("--title", "A & B")
        folder = self.folder / "figures"
        names = {path.name for path in folder.iterdir()}
        for name in ("accuracy_per_entry", "accuracy_per_link", "error"):
            self.assertEqual((folder / f"{name}.png").read_bytes()[:8], b"\x89PNG\r\n\x1a\n")
            self.assertIn("<svg", (folder / f"{name}.svg").read_text())
        self.assertLessEqual({"index.html", "points.csv", "trials.csv"}, names)
        text = (folder / "index.html").read_text()
        self.assertIn("<title>A &amp; B</title>", text)
        self.assertEqual(re.findall(r'(?:src|href)="(?!data:|#)', text), [], "something would be fetched")
        self.assertIn("width=device-width", text)


if __name__ == "__main__":
    blinktest.main()
