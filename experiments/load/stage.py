"""The processes of one measurement: a real blink-aggregator, the service that does nothing, and the senders, each a
process of its own."""
import contextlib
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "e2e"))


class Failed(Exception):
    pass


class LineProcess:
    """A command of ingest_bench that is told lines, and answers each with a line of JSON."""

    def __init__(self, command, log):
        with open(log, "ab") as errors:
            self.popen = subprocess.Popen([str(part) for part in command], stdin=subprocess.PIPE,
                                          stdout=subprocess.PIPE, stderr=errors, text=True)
        self.log = log
        self.first = self._read()

    def _read(self):
        line = self.popen.stdout.readline()
        if not line:
            raise Failed(f"ingest_bench ended with code {self.popen.wait()}: {self.log.read_text()[-1500:].strip()}")
        answer = json.loads(line)
        if "error" in answer:
            raise Failed(f"ingest_bench: {answer['error']}")
        return answer

    def begin(self, line):
        self.popen.stdin.write(line + "\n")
        self.popen.stdin.flush()

    def end(self):
        return self._read()

    def do(self, line):
        self.begin(line)
        return self.end()

    def close(self):
        with contextlib.suppress(OSError):
            self.popen.stdin.close()
        try:
            self.popen.wait(60)
        except subprocess.TimeoutExpired:
            self.popen.kill()
            self.popen.wait()
        self.popen.stdout.close()


class Memory:
    """The resident memory of a process, sampled until it is closed: (seconds since the start, MB)."""

    def __init__(self, pid):
        self.pid, self.samples, self.ended = pid, [], threading.Event()
        self.began = time.monotonic()
        self.thread = threading.Thread(target=self._sample, daemon=True)
        self.thread.start()

    def _sample(self):
        while not self.ended.wait(0.1):
            self._take()

    def _take(self):
        with contextlib.suppress(OSError, ValueError, StopIteration):
            lines = pathlib.Path(f"/proc/{self.pid}/status").read_text().splitlines()
            kib = next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:"))
            self.samples.append((time.monotonic() - self.began, kib / 1024))

    def close(self):
        self.ended.set()
        self.thread.join()
        self._take()  # what it watched may have been shorter than its step
        return self.samples


class Stage:
    """A deployment whose aggregator and senders can be started again and again.

        with Stage(plan, scratch) as stage:
            stage.start()                      # aggregator, bare service, senders
            stage.driver.do("calls bare x 8")
            stage.stop()
            stage.count()                      # the reader: everything that was acknowledged must be in the store
    """

    def __init__(self, plan, programs, name):
        import blinktest  # only now: it reads where the programs are when it is imported
        self.blinktest, self.plan, self.programs = blinktest, plan, programs
        self.blink = blinktest.Deployment(nodes=plan["nodes"], kits=1, name=name)
        self.acknowledged = self.blink.folder / "acknowledged"
        self.bare = self.driver = None

    def __enter__(self):
        self.blink.__enter__()
        return self

    def __exit__(self, *error):
        self.stop_senders()
        self.blink.__exit__(*error)

    def start_aggregator(self, *arguments, prefix=()):
        try:
            return self.blink.start_aggregator("--log-level", "warning", *arguments, prefix=prefix)
        except AssertionError as error:
            raise Failed(str(error)) from None

    def start_senders(self, connections, gateways=1, bare=True):
        bench = self.programs / "ingest_bench"
        log = self.blink.folder / "ingest_bench.log"
        if bare:
            tls = self.blink.out / "aggregator" / "tls"
            self.bare = LineProcess([bench, "bare", "--tls-certificate", tls / "server.crt", "--tls-key",
                                     tls / "server.key", "--tls-ca", tls / "ca.crt"], log)
        self.driver = LineProcess(
            [bench, "drive", "--authority", self.blink.out / "ca", "--deployment", self.blink.name, "--nodes",
             self.plan["nodes"], "--aggregator", self.blink.port, "--bare",
             self.bare.first["port"] if bare else 0, "--connections", connections, "--gateways", gateways,
             "--acknowledged", self.acknowledged], log)

    def stop_senders(self):
        for process in (self.driver, self.bare):
            if process is not None:
                process.close()
        self.driver = self.bare = None

    def stop(self):
        self.stop_senders()
        if self.blink.aggregator.running():
            self.blink.aggregator.terminate(120)

    def create_round(self, *arguments):
        done = self.blinktest.must("blink", "round", "create", "--config", self.blink.operator, "--epsilon", 6,
                                   "--degree-share", 0.1, "--open-for", "2h", "--json",
                                   *(arguments or ("--model", "none")))
        return done.json()["round_id"]

    def kill_aggregator(self):
        """SIGKILL. Returns the time."""
        self.blink.aggregator.kill()
        return time.time()

    def wait_for_port(self):
        """Returns the time at which the aggregator's port takes connections again."""
        while True:
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", self.blink.port), 1).close()
                return time.time()
            time.sleep(0.005)

    def worker(self, round_id):
        """Waits until the worker of this round trains, and returns its process id."""
        self.blink.wait_for_state(round_id, "training")
        return self.blink.aggregator.children()[0]

    def seal(self, round_id):
        self.blinktest.must("blink", "round", "seal", "--config", self.blink.operator, round_id)

    def count(self, store=None):
        """Reads the store of an aggregator that has ended."""
        where = ["--store", store] if store else ["--folder", self.blink.data / "store"]
        done = subprocess.run([str(part) for part in (self.programs / "ingest_bench", "count", *where, "--nodes",
                                                      self.plan["nodes"], "--acknowledged", self.acknowledged)],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0:
            raise Failed(f"the store could not be counted: {done.stderr.strip()}")
        return json.loads(done.stdout)


def cpu_seconds(pid):
    """Processor time that the process has used."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def stopped(pid):
    """The process and its threads do not run meanwhile."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)
