"""The file of finished trials: one line each, on the disk before the next trial begins.

A run that is killed loses the trials it was in. A line that was torn (loss of power) is cut off when the file is opened again. Lines are
only ever appended: of two lines for one trial the later one counts.
"""
import contextlib
import csv
import fcntl
import io
import os
import threading

COLUMNS = ("dataset", "kind", "variant", "model", "epsilon", "trial", "seed", "test_accuracy", "validation_accuracy", "mae", "links",
           "expected_links", "best_epoch", "epoch_ms", "seconds", "peak_rss_bytes", "threads", "binary", "label", "options",
           "finished")
KEY = ("dataset", "kind", "variant", "model", "epsilon", "trial")


class RawError(Exception):
    """The file cannot be used; the text says why and what to do."""


def line_of(row):
    out = io.StringIO()
    csv.DictWriter(out, COLUMNS, lineterminator="\n").writerow(row)
    return out.getvalue()


def parse(text, path):
    """Rows of whole lines, in order."""
    lines = text.splitlines()
    if not lines:
        return []
    if tuple(lines[0].split(",")) != COLUMNS:
        raise RawError(f"{path} has other columns than this version writes: name another file with --raw, or move it away")
    rows = list(csv.DictReader(lines))
    for number, row in enumerate(rows, 2):
        if None in row or None in row.values():
            raise RawError(f"{path}, line {number}: {len(COLUMNS)} fields were expected; correct or delete the line")
    return rows


def read(path):
    """Rows of a file that may be in use, or not exist."""
    if not path.exists():
        return []
    text = path.read_text()
    return parse(text[:text.rfind("\n") + 1], path)


class RawFile:
    """Appends rows; one process at a time. `rows` are those that were there."""

    def __init__(self, path):
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path, self.lock = path, threading.Lock()
        self.descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            fcntl.flock(self.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self.descriptor)
            raise RawError(f"another run writes to {path}: wait for it, or name another file with --raw") from None
        text = path.read_text()
        whole = text.rfind("\n") + 1
        if whole < len(text):
            os.ftruncate(self.descriptor, len(text[:whole].encode()))
        self.rows = parse(text[:whole], path)
        if not whole:
            self._write(",".join(COLUMNS) + "\n")

    def _write(self, text):
        """All of it, durably, or RawError and nothing of it."""
        data, before = text.encode(), os.fstat(self.descriptor).st_size
        try:
            written = os.write(self.descriptor, data)
            if written != len(data):
                raise OSError(f"{written} of {len(data)} bytes were written; is the disk full?")
            os.fsync(self.descriptor)
        except OSError as problem:
            with contextlib.suppress(OSError):
                os.ftruncate(self.descriptor, before)
            raise RawError(f"{self.path} could not be written: {problem.strerror or problem}; make room, then the same command goes on") from None

    def append(self, row):
        with self.lock:
            self._write(line_of(row))
            self.rows.append(row)


def key(row):
    return tuple(row[name] for name in KEY)


def newest(rows):
    """key -> the last row of it."""
    return {key(row): row for row in rows}
