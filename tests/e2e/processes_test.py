"""How the programs live as processes: started with closed standard descriptors, with signals that somebody blocked, and
as process 1 of a container."""
import contextlib
import errno
import itertools
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import blinktest
from blinktest import BlinkTest, Deployment, must, run, wait_until

# every way to close some of the descriptors 0 to 2
CLOSED = [combination for count in (1, 2, 3) for combination in itertools.combinations(range(3), count)]
LOG_LINE = re.compile(rb"\d{4}-\d\d-\d\dT[0-9:.]+Z (info|warning|error) blink")


def with_closed(descriptors, command):
    """The command, started by a shell that closes these descriptors first."""
    closing = " ".join(f"{descriptor}>&-" for descriptor in descriptors)
    return ["bash", "-c", f'exec "$@" {closing}', "bash", *map(str, command)]


def open_files(pid):
    """What the descriptors of a process lead to."""
    return {int(entry): os.readlink(f"/proc/{pid}/fd/{entry}") for entry in os.listdir(f"/proc/{pid}/fd")}


class ClosedDescriptors(BlinkTest):
    """A supervisor starts the programs without standard descriptors. No file may get such a number."""

    def setUp(self):
        self.blink = Deployment(nodes=12, kits=2)  # one of them stays away, and the round stays open
        self.addCleanup(self.blink.__exit__, None, None, None)
        self.name = self.blink.kits()[0]

    def start(self, name, descriptors, program, *arguments):
        log = self.blink.folder / f"{name}.log"
        command = with_closed(descriptors, [blinktest.BIN_DIR / program, *arguments])
        self.blink.processes[name] = blinktest.Process(name, command, log)
        return self.blink.processes[name]

    def assert_standard_descriptors(self, pid, closed):
        files = open_files(pid)
        for descriptor in range(3):
            self.assertIn(descriptor, files)
            self.assertNotIn(str(self.blink.out), files[descriptor])
        self.assertEqual({files[descriptor] for descriptor in closed}, {"/dev/null"}, files)
        return files

    def assert_no_log_in_data(self, *folders):
        for folder in folders:
            for path in folder.rglob("*"):
                if path.is_file() and path.name != "LOG":
                    self.assertIsNone(LOG_LINE.search(path.read_bytes()), path)

    def test_no_file_of_a_service_gets_a_standard_descriptor(self):
        config = self.blink.out / "aggregator" / "aggregator.conf"
        for rounds, closed in enumerate(CLOSED, 1):
            aggregator = self.start("aggregator", closed, "blink-aggregator", "--config", config)
            wait_until(lambda: run("blink", "round", "list", "--config", self.blink.operator).code == 0 or
                       not aggregator.running(), "the aggregator", pause=0.1)
            self.assertTrue(aggregator.running(), aggregator.log())
            files = self.assert_standard_descriptors(aggregator.pid, closed)
            self.assertTrue([path for path in files.values() if "/store/" in path], files)
            round_id = self.blink.create_round(epsilon=rounds)
            node = self.start("node", closed, "blink-node", "run", "--kit", self.blink.kit(self.name), "--journal",
                              self.blink.journal(self.name), "--daemon")
            self.blink.wait_for_reports(round_id, 6)
            files = self.assert_standard_descriptors(node.pid, closed)
            self.assertTrue([path for path in files.values() if path.endswith("journal.blj")], files)
            wait_until(lambda: self.blink.account(self.name)["receipts"] == 6 * rounds, "the receipts")
            must("blink", "round", "cancel", "--config", self.blink.operator, round_id)
            self.assertEqual(node.terminate(), 0)
            self.assertEqual(aggregator.terminate(), 0)
        self.assertEqual(self.blink.account(self.name)["draws"], 6 * len(CLOSED))
        self.assert_no_log_in_data(self.blink.out)

    def test_a_worker_has_standard_descriptors_of_its_own(self):
        config = self.blink.out / "aggregator" / "aggregator.conf"
        aggregator = self.start("aggregator", (0, 1, 2), "blink-aggregator", "--config", config)
        wait_until(lambda: run("blink", "round", "list", "--config", self.blink.operator).code == 0, "the aggregator")
        round_id = self.blink.create_round(6, 0.1, "10m", 100000)
        for kit in self.blink.kits():
            node = self.start(kit, (0, 1, 2), "blink-node", "run", "--kit", self.blink.kit(kit), "--journal",
                              self.blink.journal(kit), "--leave", "at-receipt")
            self.assertEqual(node.wait(), 0)
        self.blink.wait_for_state(round_id, "training")
        (worker,) = aggregator.children()
        files = open_files(worker)
        self.assertEqual(files[0], "/dev/null")
        self.assertTrue(files[1].startswith("pipe:") and files[2].startswith("pipe:"), files)
        must("blink", "round", "cancel", "--config", self.blink.operator, round_id)
        self.assertEqual(aggregator.terminate(), 0)
        self.assert_no_log_in_data(self.blink.out)

    def commands(self, out):
        """A command line of each program that writes files, and one that only reads."""
        yield "blink", "dataset", "generate", "--output", out / "dataset", "--nodes", 40
        yield "blink", "dataset", "convert", "--input", self.blink.dataset / "edges.csv", "--output", out / "converted"
        yield ("blink", "provision", "simulate", "--out", out / "out", "--deployment", "x", "--nodes", 4, "--kits", 1,
               "--aggregator", "127.0.0.1:7443")
        yield "blink-node", "init", "--kit", self.blink.kit(self.name), "--journal", out / "journal"
        yield "blink-node", "account", "--kit", self.blink.kit(self.name), "--journal", out / "journal"

    def test_commands_work_and_write_no_log_into_their_files(self):
        for closed in CLOSED:
            out = self.blink.folder / "".join(map(str, closed))
            out.mkdir()
            for command in self.commands(out):
                done = subprocess.run(with_closed(closed, [blinktest.BIN_DIR / command[0], *command[1:]]),
                                      capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, 0, f"{closed} {command} {done.stderr}")
            self.assert_no_log_in_data(out)

    def test_a_simulation_keeps_its_files(self):
        for closed in ((2,), (0, 1, 2)):
            out = self.blink.folder / "".join(map(str, closed))
            done = subprocess.run(with_closed(closed, [blinktest.BIN_DIR / "blink", "simulate", "--dataset",
                                                       self.blink.dataset, "--epsilon", 6, "--trials", 1, "--epochs", 2,
                                                       "--output", out]), capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertTrue((out / "metrics.json").read_text().startswith("{"))
            self.assert_no_log_in_data(out)

    def test_an_error_still_has_its_exit_code(self):
        for closed in ((1,), (2,), (0, 1, 2)):
            for command, code in ((("blink-node", "run", "--kit", "nowhere", "--journal", "nowhere"), 3),
                                  (("blink-aggregator", "--colour", "blue"), 2),
                                  (("blink-worker", "--colour", "blue"), 2)):
                done = subprocess.run(with_closed(closed, [blinktest.BIN_DIR / command[0], *command[1:]]),
                                      capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, code, f"{closed} {command} {done.stderr}")


# A supervisor that blocks every signal and ignores the end of its children.
SUPERVISOR = [sys.executable, "-c", """
import os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
os.execv(sys.argv[1], sys.argv[1:])
"""]


class InheritedSignals(BlinkTest):
    """What a supervisor has done about signals for itself outlives exec. It must not hold for the program."""

    def setUp(self):
        self.blink = Deployment(nodes=12, kits=1)
        self.addCleanup(self.blink.__exit__, None, None, None)

    def start(self, name, program, *arguments):
        command = [*SUPERVISOR, blinktest.BIN_DIR / program, *arguments]
        self.blink.processes[name] = blinktest.Process(name, command, self.blink.folder / f"{name}.log")
        return self.blink.processes[name]

    def test_a_round_completes_and_every_program_ends_when_it_is_told(self):
        aggregator = self.blink.start_aggregator(prefix=SUPERVISOR)
        name = self.blink.kits()[0]
        kit = ("--kit", self.blink.kit(name), "--journal", self.blink.journal(name))
        round_id = self.blink.create_round(epochs=5)
        node = self.start("node", "blink-node", "run", *kit)
        self.blink.wait_for_state(round_id, "ready")  # the aggregator has learnt how its worker ended
        self.assertEqual(node.wait(), blinktest.OK, node.log())
        begun = [
            self.start("watch", "blink", "round", "watch", "--config", self.blink.operator,
                       self.blink.create_round(epsilon=5)),
            self.start("waiting", "blink-node", "run", *kit, "--round", "0" * 32),
            self.start("simulate", "blink", "simulate", "--dataset", self.blink.dataset, "--graph", "true", "--epochs",
                       100000),
            self.start("audit", "blink", "audit", "mechanism", "--reports", 10**9)]
        for process in begun:
            wait_until(lambda: "blink" in os.readlink(f"/proc/{process.pid}/exe"), f"{process.name} to begin")
            self.assertIn(process.terminate(20), (-signal.SIGTERM, 143), process.name)
        self.assertEqual(aggregator.terminate(20), blinktest.OK)


class FirstProcess(BlinkTest):
    """Process 1 of a container has no default action for a signal. Every program ends at SIGTERM and SIGINT."""

    CODES = ((signal.SIGTERM, 143), (signal.SIGINT, 130))

    @classmethod
    def setUpClass(cls):
        cls.unshare = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]
        if shutil.which("unshare") is None or subprocess.run([*cls.unshare, "true"], capture_output=True,
                                                             check=False).returncode != 0:
            raise blinktest.unittest.SkipTest("this user may not make a process namespace (unshare --pid)")

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="blink-e2e-"))
        self.addCleanup(shutil.rmtree, self.folder, True)

    def end(self, number, command, has_begun, environment=None, stdout=None):
        """The exit code of a command that is process 1 and gets a signal once it has begun."""
        log = self.folder / "log"
        with open(log, "wb") as out:
            outer = subprocess.Popen([*self.unshare, *map(str, command)], stdin=subprocess.DEVNULL,
                                     stdout=stdout or out, stderr=out, env={**os.environ, **(environment or {})})
        self.addCleanup(outer.wait)
        self.addCleanup(outer.kill)
        children = pathlib.Path(f"/proc/{outer.pid}/task/{outer.pid}/children")
        wait_until(lambda: outer.poll() is not None or children.read_text(), "process 1")
        self.assertIsNone(outer.poll(), log.read_text())
        inner = int(children.read_text().split()[0])
        wait_until(lambda: has_begun(log.read_text(), inner) or outer.poll() is not None, "the command", 60)
        self.assertIsNone(outer.poll(), log.read_text())
        os.kill(inner, number)
        try:
            return outer.wait(20)
        except subprocess.TimeoutExpired:
            self.fail(f"{command} goes on after signal {number}\n{log.read_text()}")

    @staticmethod
    def handles_signals(_, pid):
        """Before that it still loads its libraries."""
        caught = re.search(r"SigCgt:\s*([0-9a-f]+)", pathlib.Path(f"/proc/{pid}/status").read_text()).group(1)
        return int(caught, 16) & 1 << signal.SIGTERM - 1

    def full_pipe(self):
        """The end of a pipe that nobody empties: whoever prints into it waits."""
        ends = os.pipe()
        for end in ends:
            self.addCleanup(os.close, end)
        os.set_blocking(ends[1], False)
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(ends[1], bytes(4096))
        os.set_blocking(ends[1], True)
        return ends[1]

    def reads(self, fifo):
        """Whether the program has opened this pipe, which then stays open and empty."""
        def has_opened(*_):
            try:
                self.addCleanup(os.close, os.open(fifo, os.O_WRONLY | os.O_NONBLOCK))
                return True
            except OSError as error:
                self.assertEqual(error.errno, errno.ENXIO)
                return False

        return has_opened

    def test_programs_that_are_at_work_end(self):
        dataset = self.folder / "dataset"
        blinktest.generate_dataset(dataset, 40)
        attributes, links = self.folder / "attributes", self.folder / "links.csv"
        attributes.mkdir()
        (attributes / "labels.csv").write_text("node,label\n" + "".join(f"{i},1\n" for i in range(5_000_000)))  # 1 s
        os.mkfifo(links)  # whoever reads it waits
        for command, has_begun in (
                (("blink", "simulate", "--dataset", dataset, "--graph", "true", "--epochs", 100000),
                 self.handles_signals),
                (("blink", "audit", "mechanism", "--reports", 10**9), self.handles_signals),
                (("blink", "dataset", "convert", "--input", links, "--output", "x"), self.reads(links)),
                (("blink-worker", "--round-folder", self.folder, "--attributes", attributes, "--output",
                  self.folder / "result"), self.handles_signals)):
            for number, code in self.CODES:
                self.assertEqual(self.end(number, [blinktest.BIN_DIR / command[0], *command[1:]], has_begun), code,
                                 command)

    def test_a_signal_while_a_program_becomes_another_ends_it(self):
        """`blink` becomes blink-simulate, whose libraries take a while to load."""
        dataset = self.folder / "dataset"
        blinktest.generate_dataset(dataset, 40)
        command = [blinktest.BIN_DIR / "blink", "simulate", "--dataset", dataset, "--graph", "true", "--epochs", 100000]
        for step in range(16):
            outer = subprocess.Popen([*self.unshare, *map(str, command)], stdin=subprocess.DEVNULL,
                                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            self.addCleanup(outer.wait)
            self.addCleanup(outer.kill)
            children = pathlib.Path(f"/proc/{outer.pid}/task/{outer.pid}/children")
            begun = time.monotonic()
            while not children.read_text():  # without a pause: the moment is soon over
                self.assertLess(time.monotonic() - begun, 30)
            inner = int(children.read_text().split()[0])
            while not self.handles_signals(None, inner):
                self.assertLess(time.monotonic() - begun, 30)
            time.sleep(0.004 * step)
            os.kill(inner, signal.SIGINT)
            self.assertEqual(outer.wait(20), 130, f"{4 * step} ms after it began to handle signals")

    def test_a_service_and_a_watch_end(self):
        with Deployment(nodes=12, kits=1) as blink:
            blink.start_aggregator()
            round_id = blink.create_round()
            watch = [blinktest.BIN_DIR / "blink", "round", "watch", "--config", blink.operator, round_id]
            node = [blinktest.BIN_DIR / "blink-node", "run", "--kit", blink.kit(blink.kits()[0]), "--journal",
                    blink.journal(blink.kits()[0]), "--daemon"]
            account = [node[0], "account", *node[2:6]]
            script = [blinktest.SOURCE_DIR / "deploy" / "simulation-operator"]
            environment = {"PATH": f"{blinktest.BIN_DIR}:{os.environ['PATH']}", "BLINK_OPERATOR": str(blink.operator)}
            for number, code in self.CODES:
                self.assertEqual(self.end(number, watch, lambda log, _: "reports" in log), code)
                self.assertEqual(self.end(number, node, lambda log, _: "reports to" in log), 0)
                self.assertEqual(self.end(number, account, self.handles_signals, stdout=self.full_pipe()), code)
                self.assertEqual(self.end(number, script, lambda log, _: "reports" in log, environment), code)
            self.assertEqual(blink.aggregator.terminate(), 0)
            aggregator = [blinktest.BIN_DIR / "blink-aggregator", "--config",
                          blink.out / "aggregator" / "aggregator.conf"]
            for number, _ in self.CODES:
                self.assertEqual(self.end(number, aggregator, lambda log, _: "listening on" in log), 0)

    def test_the_script_that_fills_the_volumes_ends(self):
        script = [blinktest.SOURCE_DIR / "deploy" / "simulation-init"]
        programs = self.folder / "programs"
        programs.mkdir()
        (programs / "blink").write_text("#!/bin/sh\necho begun; exec sleep 600\n")
        (programs / "blink").chmod(0o755)
        environment = {"PATH": f"{programs}:{os.environ['PATH']}", "BLINK_KITS": "1", "TMPDIR": str(self.folder)}
        for number, code in self.CODES:
            self.assertEqual(self.end(number, script, lambda log, _: "begun" in log, environment), code)
        self.assertEqual(list(self.folder.glob("tmp.*")), [])


if __name__ == "__main__":
    blinktest.main()
