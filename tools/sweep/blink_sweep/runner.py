"""Runs trials side by side, each a process of its own."""
import concurrent.futures
import json
import shutil
import subprocess
import threading
import time

from blink_sweep.ending import Refusal

SETPRIV = shutil.which("setpriv")  # of util-linux
DIES_WITH_THIS = [SETPRIV, "--pdeathsig", "TERM"] if SETPRIV else []  # a trial, if this process is killed


class Runner:
    """Runs `command_of(trial)` for each of `todo`. `record(trial, result, seconds)` gets the JSON that it printed, and
    returns a text for the progress. A trial has a `family` (progress.Pace).

    A trial that fails is noted in `failures` and the others go on. When one cannot be recorded (Refusal) or understood
    (ValueError, KeyError, TypeError), no further one begins, and `fatal` is the Refusal that says why. stop() ends the
    trials that run; nothing of them is recorded.
    """

    def __init__(self, todo, command_of, record, progress, pace, jobs):
        self.todo, self.command_of, self.record = todo, command_of, record
        self.progress, self.pace, self.jobs = progress, pace, jobs
        self.failures, self.fatal, self.finished = [], None, 0
        self.lock, self.processes, self.stopped = threading.Lock(), set(), False
        self.ended_by = None  # the signal

    def stop(self, number=None):
        # No lock: a signal's handler may run while this thread holds it.
        self.stopped, self.ended_by = True, self.ended_by or number
        for process in list(self.processes):
            process.terminate()

    def run(self):
        pool = concurrent.futures.ThreadPoolExecutor(self.jobs)
        try:
            for future in [pool.submit(self._guarded, trial) for trial in self.todo]:
                # A wait without end would now and then miss a signal that arrives just as it begins.
                while not future.done():
                    concurrent.futures.wait([future], timeout=1)
                future.result()
        finally:
            self.stop()
            pool.shutdown()
            self.progress.end()

    def _guarded(self, trial):
        """What would go wrong with every other trial as well stops them all."""
        try:
            self._run(trial)
        except Refusal as problem:
            self._give_up(Refusal(f"{trial}: {problem}", problem.code))
        except OSError as problem:
            self._give_up(Refusal(f"{trial}: cannot run {self.command_of(trial)[0]}: {problem.strerror}"))

    def _give_up(self, refusal):
        with self.lock:
            self.fatal = self.fatal or refusal
        self.stop()

    def _run(self, trial):
        command = self.command_of(trial)
        with self.lock:
            if self.stopped:
                return
            started = time.monotonic()
            process = subprocess.Popen(DIES_WITH_THIS + command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, text=True, errors="replace")
            self.processes.add(process)
        if self.stopped:  # a signal came between
            process.terminate()
        out, error = process.communicate()
        seconds = time.monotonic() - started
        with self.lock:
            self.processes.discard(process)
            if self.stopped:
                return
            if process.returncode != 0:
                self.failures.append((trial, command, error.strip()))
                last = (error.strip().splitlines() or [f"exit code {process.returncode}"])[0]
                self._tell(trial, f"FAILED: {last.removeprefix('blink: ')}")
                return
            try:
                text = self.record(trial, json.loads(out), seconds)
            except (ValueError, KeyError, TypeError, IndexError, AttributeError) as problem:
                what = f"no {problem} in it" if isinstance(problem, KeyError) else problem
                raise Refusal(f"{command[0]} wrote what cannot be read ({what}): is it the blink of this source tree?\n"
                              f"  {' '.join(command)}") from None
            self.pace.add(trial.family, seconds)
            self._tell(trial, f"{text} ({seconds:.1f} s)")

    def _tell(self, trial, text):
        self.finished += 1
        self.progress.tell(trial, text, self.pace.left(self.todo[self.finished:], self.jobs))
