"""One trial as a call of `blink simulate`, and what is kept of the JSON that it prints."""
import hashlib
import json
import pathlib
import re
import subprocess

from blink_sweep.ending import Refusal
from blink_sweep.plan import DatasetFacts

TIMES_EPSILON_OF_A_LINK = {"symrr": 1, "one-end": 1}  # the others report a link from both of its ends


class Program:
    """The `blink` that runs the trials."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        if not self.path.is_file():
            raise Refusal(f"no program at {path}: build it (cmake --build --preset release --target blink) or name it "
                          "with --blink")
        self.sha256 = self._digest()
        text = self._ask("simulate", "--help")
        self.has_mechanisms = "--mechanism" in text
        self.flags = set(re.findall(r"--([a-z][a-z0-9-]*)", text))
        self.choices = {name: listed.split(",") for name, listed in
                        re.findall(r"--([a-z][a-z0-9-]*)[^\n]*?\{([a-z0-9,+-]+)\}", text)}

    def _digest(self):
        """Names the build: of `blink`, and of `blink-simulate` beside it, which `blink simulate` becomes."""
        digest = hashlib.sha256(self.path.read_bytes())
        simulate = self.path.resolve().with_name("blink-simulate")
        if simulate.exists():
            digest.update(simulate.read_bytes())
        return digest.hexdigest()

    def _ask(self, *arguments):
        try:
            done = subprocess.run([str(self.path), *arguments], capture_output=True, text=True, check=False)
        except OSError as problem:
            raise Refusal(f"cannot run {self.path}: {problem.strerror}") from None
        if done.returncode != 0:
            reason = (done.stderr.strip().splitlines() or
                      [f"{self.path} {arguments[0]} ended with {done.returncode}: is it blink?"])[0]
            raise Refusal(reason.removeprefix("blink: "))
        return done.stdout

    def facts_of(self, folder):
        try:
            told = json.loads(self._ask("dataset", "info", str(folder), "--json"))
            return DatasetFacts(told["name"], str(folder), told["sha256"], told["nodes"], told["links"],
                                told["degree"]["isolated"])
        except (ValueError, KeyError, TypeError):
            raise Refusal(f"{self.path} does not describe data sets as this sweep expects: is it the blink of this "
                          "source tree?") from None

    def can_run(self, mechanism):
        """`true` and `mlp` are flags of their own, and --bounds tells what the features alone give."""
        return mechanism in ("blink", "true", "mlp", "features-only") or \
            self.has_mechanisms and mechanism in self.choices.get("mechanism", [mechanism])

    def command(self, trial, threads):
        """The whole command line of a trial."""
        return [str(self.path), "simulate", "--dataset", trial.dataset.path, *arguments(trial.setting,
                                                                                        self.has_mechanisms),
                "--trials", "1", "--seed", str(trial.seed), "--threads", str(threads), "--json", "--quiet"]


def arguments(setting, has_mechanisms=True):
    """The flags of `blink simulate` that the setting stands for."""
    flags = {"mechanism": setting.mechanism, "epsilon": setting.epsilon, "prior": setting.prior,
             "variant": setting.variant, "model": setting.model, "degree-share": setting.degree_share}
    more = []
    if setting.mechanism == "true":
        flags["mechanism"], flags["graph"] = "", "true"
    elif setting.mechanism == "mlp":
        flags["mechanism"], flags["model"] = "", "mlp"
    elif setting.mechanism == "blink":
        flags["mechanism"] = ""
    elif setting.mechanism == "features-only" and not has_mechanisms:
        flags.update({"mechanism": "", "epsilon": "8", "model": "gcn"})
        more = ["--bounds"]
    found = [word for name, value in flags.items() if value for word in (f"--{name}", value)]
    return found + more + [f"--{name}={value}" if value else f"--{name}" for name, value in setting.options]


def _first(*values):
    return next((value for value in values if value is not None), None)


def figures_of(result, setting):
    """What is kept of a trial: numbers, or None where there is none. `result` is what `blink simulate --json` printed.
    KeyError, TypeError or ValueError where it is something else."""
    if result["partial"] or result["trials_done"] != 1:
        raise ValueError("the trial is not finished")
    train, estimate, report = (result[name] or {} for name in ("train", "estimate", "report"))
    privacy, trial = result["privacy"], result["trials"][0]
    accuracy = train.get("test_accuracy_mean")
    if setting.mechanism == "features-only" and "features_only_accuracy_mean" in train:
        accuracy = _first(train["features_only_accuracy_mean"], accuracy)
    found = {"test_accuracy": accuracy, "validation_accuracy": train.get("validation_accuracy_mean"),
             "test_macro_f1": train.get("test_macro_f1_mean"), "test_roc_auc": train.get("test_roc_auc_mean"),
             "bytes": report.get("bytes_mean"), "best_epoch": (trial["train"] or {}).get("best_epoch"),
             "epoch_ms": train.get("epoch_ms_mean"), "peak_rss_bytes": result["peak_rss_bytes"],
             "epsilon_list": privacy.get("epsilon_list"), "epsilon_degree": privacy.get("epsilon_degree"),
             "flip_probability": privacy.get("flip_probability")}
    for name in ("mae", "expected_links", "links", "true_positives", "precision", "recall", "trained_links",
                 "trained_precision", "trained_recall", "degree_mae"):
        found[name] = estimate.get(name)
    used = result.get("mechanism") or {}
    for name, of_mechanism in (("trained_links", "links"), ("trained_precision", "precision"),
                               ("trained_recall", "recall")):
        found[name] = _first(found[name], used.get(of_mechanism))
    if setting.epsilon:
        entry, link = used.get("epsilon_per_entry"), used.get("epsilon_per_link")
        times = link / entry if entry and link else TIMES_EPSILON_OF_A_LINK.get(setting.mechanism, 2)
        found["epsilon_per_entry"], found["epsilon_per_link"] = float(setting.epsilon), times * float(setting.epsilon)
    for name, value in found.items():
        if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float))):
            raise ValueError(f"{name} is no number")
    return found
