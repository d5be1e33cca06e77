#!/usr/bin/env python3
"""What a person at a terminal meets: interrupted work, readers that go away, typing errors, help, narrow windows, and
machines that are too small.
"""
import fcntl
import json
import os
import pathlib
import pty
import re
import shlex
import shutil
import signal
import struct
import subprocess
import tempfile
import termios
import time
import unicodedata

import blinktest
from blinktest import must, run, wait_until

PROGRAMS = ("blink", "blink-node", "blink-aggregator", "blink-worker")


class InFolder(blinktest.BlinkTest):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory(prefix="blink-terminal-")
        cls.folder = pathlib.Path(cls.scratch.name)
        cls.dataset = cls.folder / "small"
        blinktest.generate_dataset(cls.dataset, 60)

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def start(self, *command, **options):
        return subprocess.Popen([blinktest.BIN_DIR / command[0], *map(str, command[1:])], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, cwd=self.folder, **options)


class Interrupts(InFolder):
    def test_finished_trials_are_printed_and_marked(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            result = self.folder / f"result-{number}"
            with self.start("blink", "simulate", "--dataset", self.dataset, "--epsilon", 6, "--trials", 100000,
                            "--epochs", 20, "--output", result, "--json", "--quiet") as process:
                wait_until(lambda: result.exists(), "the first trial's result")
                time.sleep(0.2)
                process.send_signal(number)
                out, _ = process.communicate(timeout=60)
            self.assertEqual(process.returncode, -number)
            printed = json.loads(out)
            self.assertIs(printed["partial"], True)
            self.assertEqual(printed["trials_asked"], 100000)
            self.assertGreaterEqual(printed["trials_done"], 1)
            self.assertEqual(printed["trials_done"], len(printed["trials"]))
            self.assertGreater(printed["train"]["test_accuracy_mean"], 0)

    def test_without_a_finished_trial_the_json_is_valid_and_the_next_start_goes_on(self):
        states = self.folder / "states"
        command = ("blink", "simulate", "--dataset", self.dataset, "--epsilon", "6", "--trials", "2", "--checkpoint",
                   states, "--json", "--quiet")
        with self.start(*command, "--epochs", "100000") as process:
            wait_until(lambda: (states / "trial-1/round.json").exists(), "the reports")
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
        printed = json.loads(out)
        self.assertEqual((printed["partial"], printed["trials_done"], printed["train"]), (True, 0, None))
        self.assertIn("readable by their owner alone", err)
        self.assertEqual(states.stat().st_mode & 0o777, 0o700)
        kept = (states / "trial-1/reports.blr").read_bytes()
        self.assertEqual((states / "trial-1/reports.blr").stat().st_mode & 0o777, 0o600)
        other = run(*command, "--epochs", 5)
        self.assertEqual(other.code, blinktest.BAD_INPUT, other)  # another training
        again = must("blink", "simulate", "--dataset", self.dataset, "--reports", states / "trial-1", "--epochs", 5,
                     "--json", "--quiet")
        self.assertIs(again.json()["partial"], False)
        self.assertEqual((states / "trial-1/reports.blr").read_bytes(), kept)

    def test_nobody_reads_half_of_a_result(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.start("blink", "simulate", "--dataset", self.dataset, "--epsilon", 6, "--trials", 80, "--epochs",
                            1, "--json", "--quiet") as process:
                first = os.read(process.stdout.fileno(), 1).decode()  # it prints more than a pipe holds
                process.send_signal(number)
                time.sleep(0.2)
                out, _ = process.communicate(timeout=60)
            self.assertEqual(process.returncode, -number)
            self.assertGreater(len(out), 1 << 16)
            self.assertEqual(json.loads(first + out)["trials_done"], 80)

    def test_trials_before_a_failure_are_printed_and_marked(self):
        states = self.folder / "failing"
        command = ("blink", "simulate", "--dataset", self.dataset, "--epsilon", 6, "--epochs", 2, "--checkpoint",
                   states, "--quiet", "--json")
        must(*command, "--trials", 1)
        (states / "trial-2").write_text("in the way")
        done = run(*command, "--trials", 3)
        self.assertEnds(done, blinktest.BAD_INPUT, "trial-2")
        self.assertEqual((done.json()["partial"], done.json()["trials_done"]), (True, 1))
        shutil.rmtree(states / "trial-1")
        (states / "trial-1").write_text("in the way")
        done = run(*command, "--trials", 3)
        self.assertEnds(done, blinktest.BAD_INPUT, "trial-1")
        self.assertEqual(done.out, "")  # no trial, no figures

    def test_a_file_that_vanishes_under_the_result_does_not_lose_it(self):
        place = self.folder / "place"
        place.mkdir()
        with self.start("blink", "simulate", "--dataset", self.dataset, "--epsilon", 6, "--trials", 100000, "--epochs",
                        20, "--json", "--quiet", "--output", self.folder / "vanishing", "--save",
                        place / "figures.json") as process:
            wait_until((self.folder / "vanishing").exists, "the first trial's result")
            time.sleep(0.2)
            place.rmdir()
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, blinktest.BAD_INPUT, err)
        self.assertIn("the result is on standard output instead", err)
        self.assertGreaterEqual(json.loads(out)["trials_done"], 1)

    def test_an_audit_says_what_it_found_so_far(self):
        with self.start("blink", "audit", "mechanism", "--epsilon", 1, "--reports", 100000000, "--json") as process:
            process.stderr.readline()  # it needs so much memory
            process.stderr.readline()  # its progress
            time.sleep(2)
            process.send_signal(signal.SIGINT)
            out, _ = process.communicate(timeout=120)
        self.assertEqual(process.returncode, -signal.SIGINT)
        printed = json.loads(out)
        self.assertIs(printed["partial"], True)
        self.assertLess(printed["reports_per_list"], printed["reports_asked"])
        self.assertIs(printed["passed"], True if printed["reports_per_list"] > 0 else None)

    def test_an_audit_of_the_randomness_says_what_it_compared_so_far(self):
        with self.start("blink", "audit", "randomness", "--processes", 100, "--draws", 10000, "--ignore-memory",
                        "--json") as process:
            process.stderr.readline()  # it needs so much memory
            time.sleep(1)
            process.send_signal(signal.SIGINT)
            out, _ = process.communicate(timeout=120)
        self.assertEqual(process.returncode, -signal.SIGINT)
        printed = json.loads(out)
        self.assertIs(printed["partial"], True)
        self.assertEqual(printed["processes_asked"], 201)
        self.assertLess(printed["processes"], 201)
        self.assertIs(printed["passed"], True if printed["processes"] > 1 else None)


class Readers(InFolder):
    def test_a_reader_that_has_gone_is_no_error(self):
        for command in (("blink", "dataset", "info", self.dataset),
                        ("blink", "dataset", "info", self.dataset, "--json"),
                        ("blink", "--help"), ("blink", "simulate", "--help"), ("blink", "completion", "bash"),
                        ("blink", "simulate", "--dataset", self.dataset, "--epsilon", "6", "--trials", "1", "--epochs",
                         "2", "--json", "--quiet"),
                        ("blink", "audit", "randomness", "--processes", "1", "--threads", "1", "--draws", "1",
                         "--quiet"),
                        ("blink-node", "--help"), ("blink-node", "--generate", "man"), ("blink-aggregator", "--help"),
                        ("blink-aggregator", "--version")):
            reader, writer = os.pipe()
            os.close(reader)
            done = subprocess.run([blinktest.BIN_DIR / command[0], *map(str, command[1:])], stdout=writer,
                                  stderr=subprocess.PIPE, text=True, check=False)
            os.close(writer)
            self.assertEqual((done.returncode, done.stderr), (0, ""), command)

    def test_a_result_may_go_to_a_file(self):
        for command in (("blink", "dataset", "info", self.dataset, "--json", "--output"),
                        ("blink", "audit", "randomness", "--processes", "1", "--threads", "1", "--draws", "1",
                         "--quiet", "--json", "--output"),
                        ("blink", "simulate", "--dataset", self.dataset, "--epsilon", "6", "--trials", "1", "--epochs",
                         "2", "--json", "--quiet", "--save")):
            file = self.folder / "printed.json"
            self.assertEqual(must(*command, file).out, "")
            printed = json.loads(file.read_text())
            self.assertEqual(printed["format"], 1)
            self.assertRegex(printed["program"]["version"], r"^\d+\.\d+\.\d+$")
            self.assertRegex(printed["program"]["commit"], r"^([0-9a-f]{40}(-dirty)?|unknown)$")
            self.assertEqual(printed["program"]["arguments"][1:], [str(argument) for argument in (*command[1:], file)])
            self.assertEqual(run(*command, "/nowhere/at/all").code, blinktest.BAD_INPUT)


class Typing(InFolder):
    def test_typing_errors_get_a_suggestion(self):
        for command, told in (
                (("blink", "simulate", "--datset", "x"), "there is no option --datset: did you mean --dataset?"),
                (("blink", "simulate", "small"), "'small' was not expected: did you mean --dataset small?"),
                (("blink", "simulate", "--dataset", self.folder / "smal", "--epsilon", 1), "did you mean"),
                (("blink", "dataset", "info", self.folder / "smalll"), f"did you mean {self.dataset}?"),
                (("blink", "simulat"), "there is no subcommand simulat (did you mean simulate?)"),
                (("blink", "round", "craete"), "there is no subcommand craete (did you mean create?)"),
                (("blink", "dataset", "imfo"), "(did you mean info?)"),
                (("blink", "simulate", "--dataset", "x", "--variant", "hrad"), "did you mean hard?"),
                (("blink", "simulate", "--dataset", "x", "--implausible", "dropp"), "did you mean drop?"),
                (("blink-node", "rnu"), "there is no subcommand rnu (did you mean run?)"),
                (("blink-node", "run", "--kitt", "x"), "did you mean --kit?"),
                (("blink-node", "run", "--kit", "x", "--journal", "y", "--leave", "at-reciept"),
                 "did you mean at-receipt?"),
                (("blink-aggregator", "--dat", "x"), "did you mean --data?"),
                (("blink-aggregator", "--data", "x", "--log-level", "warn"), "did you mean warning?"),
                (("blink-worker", "--round-foldr", "x"), "did you mean --round-folder?"),
                (("blink-worker", "--model", "gnc"), "did you mean gcn?")):
            done = run(*command)
            self.assertIn(done.code, (blinktest.USAGE, blinktest.BAD_INPUT), done)
            self.assertIn(told, done.err + done.out, done)

    def test_what_is_like_nothing_gets_none(self):
        for command in (("blink", "simulate", "--colour", "x"), ("blink", "frobnicate"), ("blink-node", "--colour"),
                        ("blink", "simulate", "--dataset", "x", "--variant", "zebra")):
            done = run(*command)
            self.assertEqual(done.code, blinktest.USAGE, done)
            self.assertNotIn("did you mean", done.err, done)

    def test_names_may_be_in_capitals(self):
        must("blink", "simulate", "--dataset", self.dataset, "--epsilon", 6, "--trials", 1, "--epochs", 2, "--variant",
             "Soft", "--model", "GCN", "--prior", "Beta", "--device", "CPU", "--graph", "Blink", "--implausible",
             "KEEP")
        done = run("blink", "simulate", "--dataset", self.dataset, "--epsilon", 6, "--device", "cuda")
        self.assertNotIn("must be", done.err)

    def test_a_command_that_has_commands_lists_them(self):
        for command in (("blink",), ("blink", "dataset"), ("blink", "round"), ("blink", "provision"),
                        ("blink", "audit"), ("blink-node",)):
            done = run(*command)
            self.assertEqual(done.code, blinktest.USAGE)
            listed = re.findall(r"^  ([a-z]+) +\S", done.err, re.MULTILINE)
            self.assertEqual(listed, subcommands(must(*command, "--help").out), done)


def subcommands(help_text):
    section = help_text.partition("Subcommands:\n")[2].partition("\n\n")[0].partition("Examples:")[0]
    return re.findall(r"^  ([a-z]+) ", section, re.MULTILINE)


def all_commands():
    """Every command of every program, as its words."""
    waiting = [(program,) for program in PROGRAMS]
    while waiting:
        command = waiting.pop()
        help_text = must(*command, "--help").out
        yield command, help_text
        waiting += [(*command, name) for name in subcommands(help_text)]


class Help(InFolder):
    def test_every_help_has_two_examples_that_are_understood(self):
        shutil.copy(blinktest.SOURCE_DIR / "deploy/aggregator.conf", self.folder)
        commands = list(all_commands())
        self.assertGreater(len(commands), 30)
        for command, help_text in commands:
            section = help_text.partition("Examples:\n")[2].partition("\n\n")[0]
            examples = [line.strip() for line in section.splitlines() if line.startswith("  ")]
            self.assertGreaterEqual(len(examples), 2, command)
            for example in examples[:3]:
                self.check_example(command, example, has_commands=subcommands(help_text) != [])

    def check_example(self, command, example, has_commands):
        words = shlex.split(example.partition("#")[0].partition(">")[0].replace("source <(", "").replace(")", ""))
        self.assertIn(words[0], PROGRAMS)
        if not has_commands:
            self.assertEqual(tuple(words[:len(command)]), command)
        with self.start(*words) as process:
            try:
                _, err = process.communicate(timeout=1)
            except subprocess.TimeoutExpired:  # it works: that is enough
                process.kill()
                process.communicate()
                return
        self.assertNotEqual(process.returncode, blinktest.USAGE, f"{example}\n{err}")

    def test_bash_completes_commands_options_and_values(self):
        for words, wanted in ((("blink", "sim"), {"simulate"}), (("blink", "round", "s"), {"seal", "status"}),
                              (("blink", "simulate", "--variant", "h"), {"hard", "hybrid"}),
                              (("blink", "simulate", "--variant", "=", "s"), {"soft"}),
                              (("blink", "simulate", "--model", "G"), {"gcn", "graphsage", "gat"}),
                              (("blink", "simulate", "--model", "Gc"), {"gcn"}),
                              (("blink", "simulate", "--model", "*"), set()),
                              (("blink", "simulate", "--chec"), {"--checkpoint", "--checkpoint-every"}),
                              (("blink", "simulate", "--dataset", "x"), set()),
                              (("blink", "completion", "b"), {"bash"}),
                              (("blink-node", "run", "--leave", "at"), {"at-receipt"}),
                              (("blink-worker", "--prior", "a"), {"attributed"}),
                              (("blink-aggregator", "--log-level", "d"), {"debug"})):
            script = must(words[0], "--generate", "bash-completion").out
            function = "_" + words[0].replace("-", "_")
            line = f"COMP_WORDS=({shlex.join(words)}); COMP_CWORD={len(words) - 1}; {function}; " \
                   "printf '%s\\n' \"${COMPREPLY[@]}\""
            done = subprocess.run(["bash", "-c", script + line], capture_output=True, text=True, check=True)
            self.assertEqual(set(done.stdout.split()), wanted, words)
        self.assertEqual(must("blink", "completion", "bash").out, must("blink", "--generate", "bash-completion").out)
        self.assertEqual(run("blink", "completion", "fish").code, blinktest.USAGE)

    def test_pages_for_man_are_whole(self):
        for program in PROGRAMS:
            page = must(program, "--generate", "man").out
            for part in (".SH NAME", ".SH SYNOPSIS", ".SH OPTIONS", "EXIT STATUS"):
                self.assertIn(part, page)
            if shutil.which("groff"):
                done = subprocess.run(["groff", "-man", "-ww", "-z", "-Tutf8", "-Kutf8"], input=page,
                                      capture_output=True, text=True, check=True)
                self.assertEqual(done.stderr, "", program)
        self.assertIn(".SS blink round create", must("blink", "--generate", "man").out.replace("\\-", "-"))

    def test_a_result_is_described_where_it_is_asked_for(self):
        for command in (("blink", "round", "result"), ("blink", "simulate"), ("blink-worker",)):
            text = must(*command, "--help").out
            for name in ("metrics.json", "predictions.csv", "curves.csv", "links.csv", "links.npz", "plausibility.csv",
                         "model.pt", "model.ts"):
                self.assertIn(name, text)


def columns_of(text):
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


class Width(InFolder):
    def show(self, columns, environment=None, resized=None):
        """What `blink simulate` draws in a terminal of so many columns, line by line."""
        main, side = pty.openpty()
        fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        process = subprocess.Popen([blinktest.BIN_DIR / "blink", "simulate", "--dataset", self.dataset, "--epsilon",
                                    "6", "--trials", "3", "--epochs", "400"], stderr=side, stdout=subprocess.DEVNULL,
                                   env={**os.environ, "TERM": "xterm", **(environment or {})})
        os.close(side)
        drawn = b""
        while True:
            try:
                part = os.read(main, 4096)
            except OSError:
                break
            if not part:
                break
            drawn += part
            if resized and b"simulating" in drawn:
                fcntl.ioctl(main, termios.TIOCSWINSZ, struct.pack("HHHH", 24, resized, 0, 0))
                drawn, resized = b"", None
        self.assertEqual(process.wait(), 0)
        os.close(main)
        return [line for line in re.split(r"\r\x1b\[K", drawn.decode())[1:]]

    def test_a_bar_never_wraps(self):
        for columns in (200, 80, 40, 13):
            lines = self.show(columns)
            self.assertTrue(lines)
            for line in lines:
                self.assertLess(columns_of(line.rstrip("\r\n")), columns, line)

    def test_the_variable_makes_it_narrower(self):
        for line in self.show(80, {"COLUMNS": "30"}):
            self.assertLess(columns_of(line.rstrip("\r\n")), 30, line)

    def test_a_window_that_is_made_narrower_is_noticed(self):
        lines = self.show(120, resized=50)
        for line in lines[2:]:  # one may have been on its way
            self.assertLess(columns_of(line.rstrip("\r\n")), 50, line)


class Memory(InFolder):
    def test_what_the_machine_does_not_have_is_refused_before_it_is_taken(self):
        large = self.folder / "large"
        must("blink", "dataset", "generate", "--output", large, "--nodes", 200000, "--features", 0, "--mean-degree", 2)
        done = run_limited("blink", "simulate", "--dataset", large, "--epsilon", 4)
        self.assertEqual(done.returncode, 9, done.stderr)
        self.assertIn("5.0 GB of them for the bits of the reports", done.stderr)
        self.assertIn("--ignore-memory", done.stderr)
        done = run_limited("blink", "audit", "mechanism", "--nodes", 1000000, "--threads", 64)
        self.assertEqual(done.returncode, 9, done.stderr)
        done = run_limited("blink", "audit", "randomness", "--processes", 400, "--threads", 64, "--draws", 10000)
        self.assertEqual(done.returncode, 9, done.stderr)

    def test_the_need_is_said_first_and_is_near_the_peak(self):
        graph = self.folder / "graph"
        must("blink", "dataset", "generate", "--output", graph, "--nodes", 15000, "--features", 16, "--words-per-node",
             3)
        for epsilon, of_reports in (3, r"28\.\d"), (8, r"[1-9]\.\d+"):  # packed bits, and gaps between ones
            with self.subTest(epsilon=epsilon):
                done = must("blink", "simulate", "--dataset", graph, "--epsilon", epsilon, "--trials", 1, "--epochs", 2,
                            "--threads", 2, "--json")
                self.assertRegex(done.err.splitlines()[0],
                                 rf"this needs about \d+ MB of memory \({of_reports} MB of them")
                printed = done.json()
                self.assertLess(abs(printed["memory_need_bytes"] / printed["peak_rss_bytes"] - 1), 0.35)


def run_limited(*command):
    line = f"ulimit -v 4000000; exec {shlex.join(map(str, (blinktest.BIN_DIR / command[0], *command[1:])))}"
    return subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)


if __name__ == "__main__":
    blinktest.main()
