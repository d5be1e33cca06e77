"""What a sweep is to run: defaults, then a file or a profile, then flags.

A file is TOML or JSON. Its keys are those of the flags, and [[part]] tables hold further crossings, for which the keys
outside of them are the defaults:

    dataset = ["cora", "mine"]
    trials = 5
    [set]                       # flags of `blink simulate`
    epochs = 100
    [[part]]
    mechanism = ["blink", "rr"]
    epsilon = ["1:8"]
    [[part]]
    mechanism = ["features-only", "true"]
"""
import dataclasses
import json
import pathlib
import re
import tomllib

from blink_sweep import plan
from blink_sweep.ending import Refusal

PROFILES = pathlib.Path(__file__).resolve().parent / "profiles"
LISTS = ("dataset", "mechanism", "epsilon", "model", "prior", "variant", "degree-share")
NUMBERS = ("trials", "seed")
DEFAULTS = {"dataset": [], "mechanism": ["blink"], "epsilon": ["1:8"], "model": ["gcn"], "prior": ["beta"],
            "variant": ["hard"], "degree-share": [""], "trials": 5, "seed": 1, "set": {}}

# Flags of `blink simulate` that the sweep gives itself, or that would write files.
TAKEN = ("dataset", "mechanism", "epsilon", "model", "prior", "variant", "degree-share", "trials", "seed", "threads",
         "json", "quiet", "save", "output", "replace", "reports", "save-reports", "checkpoint", "checkpoint-every",
         "graph", "bounds", "links", "help")


@dataclasses.dataclass
class Part:
    mechanism: list
    epsilon: list
    model: list
    prior: list
    variant: list
    degree_share: list
    trials: int
    seed: int
    options: dict


@dataclasses.dataclass
class Description:
    datasets: list
    parts: list


def read_file(path):
    """The tables of a TOML or JSON file."""
    try:
        text = pathlib.Path(path).read_text()
        return json.loads(text) if str(path).endswith(".json") else tomllib.loads(text)
    except OSError as problem:
        raise Refusal(f"cannot read {path}: {problem.strerror}") from None
    except (ValueError, UnicodeError) as problem:
        raise Refusal(f"{path} is no {'JSON' if str(path).endswith('.json') else 'TOML'}: {problem}") from None


def read_profile(name):
    return read_file(PROFILES / f"{name}.toml")


def _list(table, name, where):
    value = table[name]
    value = value if isinstance(value, list) else [value]
    if not value or any(isinstance(item, (dict, list, bool)) for item in value):
        raise ValueError(f"{where}{name} must be a value or a list of values, and not empty")
    return [str(item) for item in value]


def _count(table, name, where, low, high):
    value = table[name]
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise ValueError(f"{where}{name} is {value!r}: it must be a whole number in {low} .. {high}")
    return value


def _options(table, where):
    found = {}
    for name, value in table["set"].items():
        if not re.fullmatch(r"[a-z][a-z0-9-]*", name) or name in TAKEN:
            raise ValueError(f"{where}set names '{name}', which is no flag of `blink simulate` that a sweep may give")
        if isinstance(value, (dict, list)):
            raise ValueError(f"{where}set: {name} must be one value")
        found[name] = "" if value is True else str(value).lower() if isinstance(value, bool) else str(value)
    return found


def _part(table, where):
    mechanisms = [plan.OTHER_NAMES.get(name, name) for name in _list(table, "mechanism", where)]
    for name in mechanisms:
        if name not in plan.MECHANISMS:
            raise ValueError(f"{where}mechanism names '{name}', which is none of {', '.join(plan.MECHANISMS)}")
    shares = _list(table, "degree-share", where)
    return Part(
        mechanism=mechanisms,
        epsilon=plan.numbers(_list(table, "epsilon", where), f"{where}epsilon", plan.EPSILON_MIN, plan.EPSILON_MAX),
        model=_list(table, "model", where), prior=_list(table, "prior", where),
        variant=_list(table, "variant", where),
        degree_share=shares if shares == [""] else plan.numbers(shares, f"{where}degree-share", "0", "1"),
        trials=_count(table, "trials", where, 1, 100_000), seed=_count(table, "seed", where, 0, 2**53),
        options=_options(table, where))


def _check_keys(table, allowed, where):
    if not isinstance(table, dict):
        raise ValueError(f"{where or 'the file'} must be a table")
    for name in table:
        if name not in allowed:
            raise ValueError(f"{where}'{name}' is no key: choose from {', '.join(allowed)}")
    if not isinstance(table.get("set", {}), dict):
        raise ValueError(f"{where}set must be a table of flags")


def make(tables, flags):
    """The description. `tables`: of a file or profile; `flags`: what the command line gave, which goes before both the
    file's keys and those of its parts. ValueError names the key."""
    keys = LISTS + NUMBERS + ("set",)
    _check_keys(tables, keys + ("part",), "")
    parts = tables.get("part", [{}])
    if not isinstance(parts, list) or not parts:
        raise ValueError("part must be a list of tables: write [[part]]")
    outside = {name: value for name, value in tables.items() if name != "part"}
    found = []
    for index, part in enumerate(parts, 1):
        where = f"part {index}: " if "part" in tables else ""
        _check_keys(part, tuple(key for key in keys if key != "dataset"), where)
        merged = {**DEFAULTS, **outside, **part, **flags}
        merged["set"] = {**outside.get("set", {}), **part.get("set", {}), **flags.get("set", {})}
        found.append(_part(merged, where))
    datasets = _list({**DEFAULTS, **outside, **flags}, "dataset", "") if {**outside, **flags}.get("dataset") else []
    return Description(datasets, found)
