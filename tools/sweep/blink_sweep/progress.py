"""Shows how far a sweep is: a bar on a terminal, otherwise a line for each trial. It says how much time is left."""
import collections
import os
import shutil
import statistics
import sys
import time

LATEST = 10  # trials of a family whose times count


def minutes(seconds):
    if seconds >= 5400:
        return f"{seconds / 3600:.1f} h"
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"


class Pace:
    """Says how long a trial takes, by those of its family that are finished, or by all."""

    def __init__(self):
        self.times = collections.defaultdict(list)

    def add(self, family, seconds):
        for key in (family, None):
            self.times[key].append(seconds)

    def expected(self, family):
        """Seconds, or None where nothing is known yet."""
        for key in (family, None):
            if self.times[key]:
                return statistics.fmean(self.times[key][-LATEST:])
        return None

    def left(self, waiting, jobs):
        """Seconds for these trials, `jobs` side by side, or None."""
        times = [self.expected(trial.family) for trial in waiting]
        return None if None in times else sum(times) / jobs


class Progress:
    """Not for several threads: the caller holds a lock."""

    def __init__(self, total, quiet=False, stream=sys.stderr):
        self.total, self.done, self.quiet, self.stream = total, 0, quiet, stream
        self.bar = stream.isatty() and os.environ.get("TERM") != "dumb"
        self.drawn = False
        self.started = time.monotonic()

    def tell(self, trial, text, left):
        """One more trial has ended. `left`: seconds, or None."""
        self.done += 1
        rest = f"  about {minutes(left)} left" if left is not None and self.done < self.total else ""
        line = f"{self.done}/{self.total}  {trial}: {text}"
        if self.quiet:
            return
        if not self.bar:
            print(line + rest, file=self.stream, flush=True)
            return
        columns = max(20, shutil.get_terminal_size().columns - 1)
        width = min(24, columns // 4)
        filled = width * self.done // max(1, self.total)
        head = f"[{'#' * filled}{'.' * (width - filled)}] "
        room = columns - len(head) - len(rest)
        self.stream.write(f"\r\x1b[K{head}{line[:max(0, room)]}{rest}"[:columns + 4])
        self.stream.flush()
        self.drawn = True

    def say(self, text):
        """A line of its own, above the bar."""
        self.end()
        print(text, file=self.stream, flush=True)

    def end(self):
        if self.drawn:
            self.stream.write("\n")
            self.drawn = False
