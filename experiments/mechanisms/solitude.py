"""Solitude, whose settings nobody published but weight decay and dropout: 20 random ones for each data set and model at
one epsilon. The best on the validation nodes is run again on draws that the search did not see."""
import csv
import random
import statistics
import sys

import raw

DATASETS, MODELS, EPSILON, SETTINGS = ("cora", "citeseer"), ("gcn", "graphsage", "gat"), "8", 20
# What is searched, each logarithmically uniform: learning rates of the weights and of the links, lambda 1, lambda 2.
RANGES = {"--learning-rate": (1e-3, 1e-1), "--solitude-rate": (1e-4, 1.0), "--solitude-closeness": (1e-4, 10.0),
          "--solitude-sparsity": (1e-6, 1e-1)}
KEY = ("dataset", "model", "setting", "trial")  # setting: 0 .. 19 of the search, of one trial; "best" of the others
FIELDS = KEY + ("epsilon", "test", "validation", "options", "binary")


def settings(dataset, model):
    """SETTINGS x flags, always the same ones."""
    source = random.Random(f"{dataset} {model}")
    return [tuple(text for name, (low, high) in RANGES.items()
                  for text in (name, f"{low * (high / low) ** source.random():.3g}")) for _ in range(SETTINGS)]


def read_published(folder):
    """(dataset, model) -> (mean, deviation, flags)"""
    with open(folder / "published_accuracy.csv", newline="") as file:
        return {(row["dataset"], row["model"]): (
            float(row["accuracy_mean"]), float(row["accuracy_std"]),
            ("--weight-decay", row["weight_decay"], "--dropout", row["dropout"]))
            for row in csv.DictReader(file) if row["method"] == "solitude" and row["epsilon"] == EPSILON}


def _best(rows, dataset, model):
    """The setting with the best validation accuracy, the first of equals; None while the search lacks some."""
    found = {int(row["setting"]): float(row["validation"]) for row in rows
             if (row["dataset"], row["model"]) == (dataset, model) and row["setting"] != "best"}
    return max(found, key=lambda setting: (found[setting], -setting)) if len(found) == SETTINGS else None


def run(options, simulate, binary):
    """`simulate(arguments, options)` -> trials."""
    file = raw.RawFile(options.output / "solitude.csv", FIELDS)
    published = read_published(options.reference)
    for dataset in (name for name in DATASETS if name in options.dataset):
        for model in (name for name in MODELS if name in options.model):
            if (dataset, model) not in published:
                continue
            drawn = settings(dataset, model)

            def add(setting, place, seed):
                flags = ("--mechanism", "solitude", "--model", model, "--epsilon", EPSILON, *drawn[place],
                         *published[dataset, model][2], "--epochs", str(options.epochs))
                key = (dataset, model, str(setting), str(seed - 1))
                for row in file.rows:
                    if tuple(row[name] for name in KEY) == key:
                        if row["options"] == " ".join(flags):
                            return
                        raise raw.RawError(f"{file.path}: {' '.join(key)} was run with {row['options']}: name another "
                                           "--output, or remove the file")
                trial, = simulate(("--dataset", str(options.datasets / dataset), *flags, "--trials", "1", "--seed",
                                   str(seed)), options)
                train = trial["train"]
                file.append(dict(zip(KEY, key), epsilon=EPSILON, test=f"{train['test_accuracy']:.6g}",
                                 validation=f"{train['validation_accuracy']:.6g}", options=" ".join(flags),
                                 binary=binary))
                print(f"{dataset} solitude {model} {EPSILON}, setting {setting}: validation "
                      f"{100 * train['validation_accuracy']:.1f} %", file=sys.stderr, flush=True)

            for setting in range(SETTINGS):
                add(setting, setting, 1)
            best = _best(file.rows, dataset, model)
            for seed in range(2, 2 + options.trials):
                add("best", best, seed)


def table(folder, reference):
    """The section of RESULTS.md; empty without results."""
    rows, published = raw.read(folder / "solitude.csv", FIELDS), read_published(reference)
    lines = []
    for dataset, model in published:
        best = _best(rows, dataset, model)
        again = [float(row["test"]) for row in rows
                 if (row["dataset"], row["model"], row["setting"]) == (dataset, model, "best")]
        if best is None or len(again) < 2:
            continue
        mean, deviation, _ = published[dataset, model]
        search = [float(row["test"]) for row in rows
                  if (row["dataset"], row["model"]) == (dataset, model) and row["setting"] != "best"]
        flags = settings(dataset, model)[best]
        lines.append(f"| {dataset} | {model} | {100 * statistics.fmean(again):.1f} ± "
                     f"{100 * statistics.stdev(again):.1f} | {100 * mean:.1f} ± {100 * deviation:.1f} | "
                     f"{100 * min(search):.1f} .. {100 * max(search):.1f} | {', '.join(flags[1::2])} |\n")
    if not lines:
        return ""
    return (f"\n## Solitude: ε = {EPSILON}\n\nNobody published its settings. {SETTINGS} random ones were tried on one "
            "draw. The best on the validation\nnodes was run on further draws, and its test accuracy is compared.\n\n"
            "| data set | model | ours, % | published, % | all settings, % | rate of the weights, of the links, λ₁, λ₂ "
            "|\n|---|---|---|---|---|---|\n" + "".join(lines))
