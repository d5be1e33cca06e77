"""The file of finished trials: one line each, on the disk before the next trial begins. ../degree_share keeps its own
with it.

A run that is killed loses the trials it was in. A line that was torn (loss of power) is cut off when the file is opened
again. Lines are only ever appended. Of two lines for one trial by the same binary with the same options the first
counts, so that nobody draws again until a figure pleases; the trial is replaced only by another binary or other
options.
"""
import csv
import fcntl
import io
import os
import pathlib
import sys
import threading

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "tools" / "sweep"))
from blink_sweep import durable  # noqa: E402

COLUMNS = ("dataset", "kind", "variant", "model", "epsilon", "trial", "seed", "test_accuracy", "validation_accuracy",
           "mae", "links", "expected_links", "best_epoch", "epoch_ms", "seconds", "peak_rss_bytes", "threads", "binary",
           "label", "options", "finished")
KEY = ("dataset", "kind", "variant", "model", "epsilon", "trial")


class RawError(Exception):
    """The file cannot be used; the text says why and what to do."""


def lines_of(rows, columns):
    out = io.StringIO()
    csv.DictWriter(out, columns, lineterminator="\n").writerows(rows)
    return out.getvalue()


def parse(text, path, columns=COLUMNS):
    """Rows of whole lines, in order."""
    lines = text.splitlines()
    if not lines:
        return []
    if tuple(lines[0].split(",")) != columns:
        raise RawError(f"{path} has other columns than this version writes: name another place for it, or move it away")
    rows = list(csv.DictReader(lines))
    for number, row in enumerate(rows, 2):
        if None in row or None in row.values():
            raise RawError(f"{path}, line {number}: {len(columns)} fields were expected; correct or delete the line")
    return rows


def read(path, columns=COLUMNS):
    """Rows of a file that may be in use, or not exist."""
    if not path.exists():
        return []
    text = path.read_text()
    return parse(text[:text.rfind("\n") + 1], path, columns)


class RawFile:
    """Appends rows; one process at a time. `rows` are those that are there."""

    def __init__(self, path, columns=COLUMNS):
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path, self.columns, self.lock = path, columns, threading.Lock()
        self.descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            fcntl.flock(self.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self.descriptor)
            raise RawError(f"another run writes to {path}: wait for it, or name another place") from None
        text = path.read_text()
        whole = text.rfind("\n") + 1
        if whole < len(text):
            os.ftruncate(self.descriptor, len(text[:whole].encode()))
        self.rows = parse(text[:whole], path, columns)
        if not whole:
            self._write(",".join(columns) + "\n")

    def _write(self, text):
        """All of it, durably, or RawError and nothing of it."""
        try:
            durable.append(self.descriptor, text.encode())
        except OSError as problem:
            raise RawError(f"{self.path} could not be written: {problem.strerror or problem}; make room, then the same "
                           "command goes on") from None

    def append(self, *rows):
        """All of them, or RawError and none."""
        with self.lock:
            self._write(lines_of(rows, self.columns))
            self.rows += rows


def key(row):
    return tuple(row[name] for name in KEY)


def newest(rows):
    """key -> the row that counts: the first one of the binary and options that came last."""
    first, last = {}, {}
    for row in rows:
        made_by = (key(row), row["binary"], row["options"])
        last[key(row)] = first.setdefault(made_by, row)
    return last
