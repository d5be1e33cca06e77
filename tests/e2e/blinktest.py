"""Drives blink's programs for the end-to-end tests: provisions a deployment in a temporary folder, starts its
processes, ends them (each by its own process id), and waits for what they report. Standard library only.

    with Deployment(nodes=60, kits=3) as blink:
        blink.start_aggregator()
        blink.start_fleet()
        round_id = blink.create_round(epsilon=6)
        blink.wait_for_state(round_id, "ready")

BLINK_BIN_DIR names the folder of the programs (CTest sets it). A failing test prints the end of every process's log.
"""
import contextlib
import json
import os
import pathlib
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

BIN_DIR = pathlib.Path(os.environ.get("BLINK_BIN_DIR", "build/release/bin")).resolve()
SOURCE_DIR = pathlib.Path(__file__).resolve().parents[2]

# Exit codes of common/base/exit_code.h.
OK, INTERNAL, USAGE, BAD_INPUT, REFUSED_BY_POLICY, JOURNAL, UNREACHABLE, REFUSED_BY_PEER, ROUND_FAILED = range(9)

# A wait that takes longer than this is a failure, whatever the machine's load; nothing is expected to take a tenth of
# it.
PATIENCE_SECONDS = 240


class Finished:
    """What a program left when it ended."""

    def __init__(self, arguments, code, out, err):
        self.arguments, self.code, self.out, self.err = arguments, code, out, err

    def json(self):
        return json.loads(self.out)

    def __str__(self):
        command = " ".join(str(argument) for argument in self.arguments)
        return f"$ {command}\nexit code {self.code}\n--- stdout\n{self.out[-4000:]}\n--- stderr\n{self.err[-4000:]}"


def run(program, *arguments, timeout=PATIENCE_SECONDS, environment=None, stdin=None):
    """Runs one of blink's programs to its end, whatever its exit code."""
    command = [str(BIN_DIR / program)] + [str(argument) for argument in arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, input=stdin, check=False,
                          env={**os.environ, **(environment or {})})
    return Finished(command, done.returncode, done.stdout, done.stderr)


def must(program, *arguments, **options):
    """Runs one of blink's programs, which has to succeed."""
    done = run(program, *arguments, **options)
    if done.code != OK:
        raise AssertionError(f"{program} was expected to succeed\n{done}")
    return done


def wait_until(condition, what, patience=PATIENCE_SECONDS, pause=0.05):
    """Asks until the condition's value is true, and returns that value."""
    end = time.monotonic() + patience
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"waited {patience} s in vain for: {what}")
        time.sleep(pause)


def free_port():
    """A port that nobody has; kits pin the aggregator's address before it starts.

    It is none of those that the system gives to connections: such a one would take it before the aggregator listens.
    """
    low, high = map(int, pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split())
    every_interface = {"family": socket.AF_INET6, "dualstack_ipv6": True} if socket.has_dualstack_ipv6() else {}
    ports = [port for port in range(10_000, 65_536) if not low <= port <= high] or range(10_000, 65_536)
    while True:
        port = random.choice(ports)
        with contextlib.suppress(OSError), socket.create_server(("", port), **every_interface):
            return port


class Process:
    """A running program whose output goes to a log file."""

    def __init__(self, name, command, log_path):
        self.name, self.log_path = name, log_path
        with open(log_path, "ab") as log:
            self.popen = subprocess.Popen([str(part) for part in command], stdout=log, stderr=subprocess.STDOUT,
                                          stdin=subprocess.DEVNULL)

    @property
    def pid(self):
        return self.popen.pid

    def log(self):
        return self.log_path.read_text(errors="replace")

    def running(self):
        return self.popen.poll() is None

    def kill(self):
        """SIGKILL: what a crash or the loss of power leaves."""
        self.popen.kill()
        return self.popen.wait()

    def terminate(self, patience=60):
        """SIGTERM, and the exit code."""
        self.popen.terminate()
        return self.wait(patience)

    def wait(self, patience=PATIENCE_SECONDS):
        try:
            return self.popen.wait(patience)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{self.name} still ran after {patience} s\n{self.log()[-3000:]}") from None

    def children(self):
        """Process ids of its child processes."""
        found = []
        for task in pathlib.Path(f"/proc/{self.pid}/task").glob("*/children"):
            with contextlib.suppress(OSError):
                found += [int(pid) for pid in task.read_text().split()]
        return found


class Proxy:
    """A TCP proxy on loopback that can be slowed down, or told to swallow what the aggregator answers: what lies
    between a node and its acknowledgement. It sees TLS records only."""

    def __init__(self, target_port, upstream_bytes_per_second=None, mute_after_upstream_bytes=None):
        self.target_port = target_port
        self.rate, self.mute_after = upstream_bytes_per_second, mute_after_upstream_bytes
        self.upstream_bytes = 0
        self.muted = threading.Event()
        self.connections = []
        self.lock = threading.Lock()
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port = self.server.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client, _ = self.server.accept()
            except OSError:
                return
            try:
                upstream = socket.create_connection(("127.0.0.1", self.target_port))
            except OSError:
                client.close()
                continue
            with self.lock:
                self.connections += [client, upstream]
            threading.Thread(target=self._pump, args=(client, upstream, True), daemon=True).start()
            threading.Thread(target=self._pump, args=(upstream, client, False), daemon=True).start()

    def _pump(self, source, sink, up):
        try:
            while True:
                data = source.recv(1024 if self.rate else 16384)
                if not data:
                    break
                if up:
                    with self.lock:
                        self.upstream_bytes += len(data)
                        if self.mute_after is not None and self.upstream_bytes > self.mute_after:
                            self.muted.set()
                    if self.rate:
                        time.sleep(len(data) / self.rate)
                elif self.muted.is_set():
                    continue
                sink.sendall(data)
        except OSError:
            pass
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def close(self):
        self.server.close()
        with self.lock:
            for connection in self.connections:
                connection.close()


def generate_dataset(folder, nodes, mean_degree=5, seed=7, features=48, classes=3):
    """A small seeded graph with features and labels."""
    must("blink", "dataset", "generate", "--output", folder, "--nodes", nodes, "--mean-degree",
         min(mean_degree, (nodes - 1) / 4), "--features", features, "--words-per-node", features // 8, "--classes",
         classes, "--seed", seed)


def edit_json(path, changes):
    """Changes keys of an object in a file, and keys of the objects in it."""
    document = json.loads(path.read_text())
    for key, value in changes.items():
        document[key] = {**document[key], **value} if isinstance(value, dict) else value
    path.write_text(json.dumps(document))


class Deployment:
    """A provisioned deployment in a temporary folder, and its processes."""

    def __init__(self, nodes=60, kits=3, dataset=None, name="e2e", policy=(), listen_port=None,
                 patience=PATIENCE_SECONDS):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="blink-e2e-"))
        self.name, self.nodes = name, nodes
        self.out = self.folder / "out"
        self.dataset = pathlib.Path(dataset) if dataset else self.folder / "dataset"
        self.processes = {}
        self.proxies = []
        try:
            if not dataset:
                generate_dataset(self.dataset, nodes)
            self.port = listen_port or free_port()
            must("blink", "provision", "simulate", "--out", self.out, "--deployment", name, "--nodes", nodes,
                 "--kits", kits, "--aggregator", f"127.0.0.1:{self.port}", *policy, timeout=patience)
            must("blink", "dataset", "shard", "--dataset", self.dataset, "--out", self.out, timeout=patience)
            for kit in self.kits():
                if not (self.journal(kit) / "journal.blj").exists():
                    must("blink-node", "init", "--kit", self.kit(kit), "--journal", self.journal(kit))
        except BaseException:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise
        self.operator = self.out / "operator" / "operator.conf"
        self.data = self.out / "aggregator" / "data"

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        for process in self.processes.values():
            if process.running():
                process.kill()
        for proxy in self.proxies:
            proxy.close()
        if kind is not None and not issubclass(kind, unittest.SkipTest):
            for name, process in self.processes.items():
                print(f"--- the end of {name}'s log\n{process.log()[-2500:]}", file=sys.stderr)
        if not os.environ.get("BLINK_E2E_KEEP"):
            shutil.rmtree(self.folder, ignore_errors=True)

    # ---- kits

    def kits(self):
        """Names of the kits, in the order of their nodes."""
        names = [path.name for path in (self.out / "kits").iterdir()]
        return sorted(names, key=lambda name: int(name.split("-")[1]))

    def kit(self, name):
        return self.out / "kits" / name

    def journal(self, name):
        return self.out / "journals" / name

    def kit_size(self, name):
        numbers = [int(part) for part in name.split("-")[1:]]
        return numbers[-1] - numbers[0] + 1

    def edit_kit(self, name, **changes):
        """Changes keys of a kit.json."""
        edit_json(self.kit(name) / "kit.json", changes)

    def edit_policy(self, name, **changes):
        """Changes keys of a kit's policy.json."""
        edit_json(self.kit(name) / "policy.json", changes)

    def account(self, name):
        return must("blink-node", "account", "--kit", self.kit(name), "--journal", self.journal(name), "--json").json()

    def draws(self):
        """Reports drawn by the whole fleet, as the journals have it."""
        return sum(self.account(name)["draws"] for name in self.kits())

    # ---- processes

    def _start(self, name, program, *arguments, prefix=()):
        path = self.folder / f"{name}.log"
        self.processes[name] = Process(name, [*prefix, BIN_DIR / program, *arguments], path)
        return self.processes[name]

    def start_aggregator(self, *arguments, descriptors=None, prefix=()):
        """Starts it, with this limit of open files or by this command, and waits until it answers an operator."""
        prefix = ["prlimit", f"--nofile={descriptors}:{descriptors}"] if descriptors else prefix
        process = self._start("aggregator", "blink-aggregator", "--config", self.out / "aggregator" / "aggregator.conf",
                              *arguments, prefix=prefix)

        def answers():
            if not process.running():
                raise AssertionError(f"the aggregator ended with {process.popen.returncode}\n{process.log()[-3000:]}")
            return run("blink", "round", "list", "--config", self.operator, "--json").code == OK

        wait_until(answers, "an answer from the aggregator", pause=0.2)
        return process

    @property
    def aggregator(self):
        return self.processes["aggregator"]

    def start_node(self, name, *arguments):
        return self._start(name, "blink-node", "run", "--kit", self.kit(name), "--journal", self.journal(name),
                           *arguments)

    def start_fleet(self, names=None, arguments=()):
        return [self.start_node(name, *arguments) for name in (names or self.kits())]

    def wait_for_fleet(self):
        """Every node that was started has to end by itself and well."""
        for name, process in self.processes.items():
            if name != "aggregator":
                code = process.wait()
                if code != OK:
                    raise AssertionError(f"{name} ended with {code}\n{process.log()[-3000:]}")

    def proxy(self, names, **options):
        """Puts a proxy between these kits and the aggregator."""
        proxy = Proxy(self.port, **options)
        self.proxies.append(proxy)
        for name in names:
            self.edit_kit(name, aggregator=f"127.0.0.1:{proxy.port}")
        return proxy

    # ---- rounds

    def create_round(self, epsilon=6, degree_share=0.1, open_for="10m", epochs=30, *arguments):
        done = must("blink", "round", "create", "--config", self.operator, "--epsilon", epsilon,
                    "--degree-share", degree_share, "--open-for", open_for, "--epochs", epochs, "--json", *arguments)
        return done.json()["round_id"]

    def status(self, round_id):
        return must("blink", "round", "status", "--config", self.operator, "--json", round_id).json()

    def state(self, round_id):
        return self.status(round_id)["state"]

    def reports(self, round_id):
        return self.status(round_id).get("reports", 0)

    def wait_for_state(self, round_id, *states):
        """Waits for one of the states; a round that ends in another state is an error."""
        def reached():
            status = self.status(round_id)
            if status["state"] in states:
                return status
            if status["state"] in ("ready", "failed", "cancelled"):
                raise AssertionError(f"the round is {status['state']}, not {' or '.join(states)}: {status}")
            return None

        return wait_until(reached, f"round in state {' or '.join(states)}", pause=0.1)

    def wait_for_reports(self, round_id, count):
        return wait_until(lambda: self.reports(round_id) >= count, f"{count} reports", pause=0.05)

    def round_folder(self, round_id):
        return self.data / "rounds" / round_id

    def simulate(self, round_id, *arguments):
        """What the same libraries make of the stored reports without a network."""
        return must("blink", "simulate", "--dataset", self.dataset, "--reports", self.round_folder(round_id), "--json",
                    *arguments).json()


def overridden(defaults, more):
    """Arguments: `defaults`, {option: value}, but for the options that `more` gives itself; then `more`."""
    kept = [part for option, value in defaults.items() if option not in more for part in (option, value)]
    return (*kept, *more)


class BlinkTest(unittest.TestCase):
    """Assertions about programs that end."""

    longMessage = True

    def assertEnds(self, done, code, *texts):
        """The exit code, and every text in what was printed to stderr or stdout."""
        self.assertEqual(done.code, code, f"\n{done}")
        for text in texts:
            self.assertIn(text.lower(), (done.err + done.out).lower(), f"\n{done}")


def main():
    """Runs the test classes named on the command line; exits with 77, CTest's code for a skip, when all of them
    skipped."""
    program = unittest.main(module="__main__", verbosity=2, exit=False)
    result = program.result
    # a class whose set-up skips counts as one skip and no run
    if not result.wasSuccessful() or result.testsRun + len(result.skipped) == 0:
        sys.exit(1)
    sys.exit(77 if result.skipped and len(result.skipped) >= result.testsRun else 0)
