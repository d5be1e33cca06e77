"""The file of finished trials: one JSON object in a line, on the disk before it counts.

Lines are only ever appended. A trial is known by its key, a digest of everything that decides it (plan.py). What a
power cut left of the last line is cut off when the file is opened for writing. Any other damaged line is refused.
"""
import dataclasses
import fcntl
import json
import os
import pathlib
import stat
import sys
import threading

from blink_sweep import durable, plan
from blink_sweep.ending import NO_RESOURCES, Refusal

FORMAT = 1
START = b'{"format":'
FIELDS = {"format": int, "key": str, "trial": dict, "dataset": dict, "program": dict, "figures": dict,
          "seconds": (int, float)}
TRIAL = {"dataset": str, "dataset_sha256": str, "trial": int, "seed": int,
         **{field.name: dict if field.name == "options" else str for field in dataclasses.fields(plan.Setting)}}
DATASET = {"nodes": int, "links": int, "isolated": int}


def _no_number(text):
    raise ValueError(f"{text} is no number")


def _check(found, wanted):
    """ValueError, unless every wanted name has a value of its type."""
    for name, kind in wanted.items():
        if name not in found:
            raise ValueError(f"it has no {name}")
        if isinstance(found[name], bool) or not isinstance(found[name], kind):
            raise ValueError(f"{name} is {json.dumps(found[name])[:40]}")


def _parsed(line, path, number):
    """The object of a line; ValueError where it is none."""
    row = json.loads(line, parse_constant=_no_number)
    if not isinstance(row, dict):
        raise ValueError("it is no JSON object")
    if row.get("format") != FORMAT:
        raise Refusal(f"{path}, line {number}: format {row.get('format')} is not of this version, which reads format "
                      f"{FORMAT}: name another file")
    _check(row, FIELDS)
    _check(row["trial"], TRIAL)
    _check(row["dataset"], DATASET)
    _check(row["figures"], {name: (int, float, type(None)) for name in row["figures"]})
    if plan.key_of(row["trial"]) != row["key"]:
        raise ValueError("its trial is another one than its key says")
    return row


def _parse(data, path):
    """Rows of whole lines, and how many bytes of the file they are."""
    rows, whole = [], 0
    pieces = data.split(b"\n")
    last = len(pieces) - 1 if pieces[-1] else len(pieces) - 2  # the file's last line, with or without its end
    for index, piece in enumerate(pieces[:-1]):
        try:
            rows.append(_parsed(piece, path, index + 1))
        except (ValueError, RecursionError) as problem:
            if index == last and data.startswith(START):  # else it is rather somebody else's file
                return rows, whole
            raise Refusal(f"{path}, line {index + 1} is damaged, or the file is not of a sweep ({problem}): correct or "
                          "delete the line, or name another file") from None
        whole += len(piece) + 1
    return rows, whole


def read(path):
    """Rows of a file that may be in use."""
    try:
        return _parse(pathlib.Path(path).read_bytes(), path)[0]
    except OSError as problem:
        raise Refusal(f"cannot read {path}: {problem.strerror}") from None


def newest(rows):
    """key -> the row that counts: the first one of the program that came last. Nobody draws again until a figure
    pleases; a trial is replaced only by another program."""
    first, last = {}, {}
    for row in rows:
        made_by = (row["key"], row["program"].get("sha256"))
        last[row["key"]] = first.setdefault(made_by, row)
    return last


class LinesFile:
    """Appends rows; one process at a time. `rows` are those that are there."""

    def __init__(self, path):
        self.path, self.lock = pathlib.Path(path), threading.Lock()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        except OSError as problem:
            raise Refusal(f"cannot write {path}: {problem.strerror}") from None
        if not stat.S_ISREG(os.fstat(self.descriptor).st_mode):
            os.close(self.descriptor)
            raise Refusal(f"{path} is no file that keeps what is written: name another one")
        try:
            fcntl.flock(self.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self.descriptor)
            raise Refusal(f"another sweep writes to {path}: wait for it, or name another file") from None
        data = self.path.read_bytes()
        self.rows, whole = _parse(data, path)
        if whole < len(data):
            if not whole and not data.startswith(START):
                raise Refusal(f"{path} is not of a sweep: name another file")
            os.ftruncate(self.descriptor, whole)
            print(f"blink sweep: the last line of {path} was cut short, so its trial is run again", file=sys.stderr)

    def append(self, row):
        """The row, durably, or Refusal and nothing of it."""
        data = (json.dumps(row, separators=(",", ":"), allow_nan=False) + "\n").encode()
        with self.lock:
            try:
                durable.append(self.descriptor, data)
            except OSError as problem:
                raise Refusal(f"{self.path} could not be written: {problem.strerror or problem}; make room, then the "
                              "same command goes on", NO_RESOURCES) from None
            self.rows.append(row)
