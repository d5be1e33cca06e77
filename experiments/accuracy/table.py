"""From finished trials to results.csv and RESULTS.md: ours beside what was published."""
import collections
import csv
import dataclasses
import math
import statistics

import bounds
import cells as cells_module
from cells import DATASETS, EPSILONS, MODELS, VARIANTS, Cell


@dataclasses.dataclass(frozen=True)
class Result:
    """The trials of a cell. Those that are `wanted` are judged, 0 to a number that was fixed before any was seen, and
    no other ever stands for one of them; more are only shown."""

    cell: Cell
    published: object     # cells.Published
    values: dict          # number of the trial -> accuracy, or mean absolute error
    wanted: tuple         # numbers of the trials
    labels: tuple         # of the binaries they came from
    epochs: tuple         # of training, as text: one unless the trials differ
    option_sets: int      # how many different options the trials had: 1 as it should be

    @property
    def judged(self):
        """Values of the wanted trials that are there."""
        return [self.values[trial] for trial in self.wanted if trial in self.values]

    @property
    def complete(self):
        return len(self.judged) == len(self.wanted)

    @property
    def more(self):
        """Whether there are trials beyond the wanted ones."""
        return len(self.values) > len(self.judged)

    @property
    def mean(self):
        return statistics.fmean(self.judged) if self.judged else None

    @property
    def std(self):
        return statistics.stdev(self.judged) if len(self.judged) > 1 else None

    def with_all_trials(self):
        """What lacks a wanted trial still does."""
        return dataclasses.replace(self, wanted=tuple(sorted({*self.wanted, *self.values})))


@dataclasses.dataclass(frozen=True)
class Verdict:
    """`criterion`: accuracy (shares), recovered (shares of what the links are worth) or error (of P); difference and
    tolerance in it."""

    criterion: str
    difference: float
    tolerance: float

    @property
    def holds(self):
        return abs(self.difference) <= self.tolerance

    @property
    def word(self):
        good, bad = ("alike", "unlike") if self.criterion == "recovered" else ("inside", "outside")
        return good if self.holds else bad


def collect(rows, published, trials=None):
    """Cell -> Result, in the order of `published`, of the cells that have a trial. `rows`: raw.newest(..).values().
    `trials`: judge fewer than each cell's default."""
    found = {}
    for row in sorted(rows, key=lambda row: int(row["trial"])):
        found.setdefault(Cell(*(row[name] for name in ("dataset", "kind", "variant", "model", "epsilon"))),
                         []).append(row)
    results = {}
    for cell in published:
        if cell in found:
            name = "mae" if cell.kind == "mae" else "test_accuracy"
            wanted = tuple(range(min(trials or math.inf, cells_module.default_trials(cell))))
            distinct = {part: tuple(sorted({part_of(row) for row in found[cell]})) for part, part_of in
                        (("labels", lambda row: row["label"]), ("epochs", epochs_of),
                         ("options", lambda row: row["options"]))}
            results[cell] = Result(cell, published[cell], {int(row["trial"]): float(row[name]) for row in found[cell]},
                                   wanted, distinct["labels"], distinct["epochs"], len(distinct["options"]))
    return results


def epochs_of(row):
    """The epochs that a trial was trained for, as its options name them."""
    words = row["options"].split()
    return words[words.index("--epochs") + 1] if "--epochs" in words[:-1] else "?"


def _bounds_of(cell, results):
    """(MLP, true graph with the cell's model), or None while one of them lacks trials."""
    bounds = [results.get(bound)
              for bound in (Cell(cell.dataset, "mlp", model="mlp"), Cell(cell.dataset, "true", model=cell.model))]
    return tuple(bounds) if all(bound and bound.complete for bound in bounds) else None


def recovered(result, results, published=False):
    """Which share of what the links are worth a cell keeps: (accuracy - MLP) / (true graph - MLP), of ours or of the
    published means. None where a bound is missing, or the links are worth less than two points. It can be compared
    where the features cannot."""
    bounds = _bounds_of(result.cell, results)
    if bounds is None or result.cell.kind not in ("private", "true"):
        return None
    low, high, value = [(entry.published if published else entry).mean for entry in (*bounds, result)]
    return None if value is None or high - low < 0.02 else (value - low) / (high - low)


def judge(result, results):
    """Verdict, or None: nobody published the cell, it lacks trials, or nothing can be compared. An accuracy may differ
    by one point or two published standard deviations, whichever is more; where the features differ the same holds for
    what is recovered, a point being worth 1 / (true graph - MLP) of the published bounds; an error of P, which has no
    point, by three."""
    cell, published = result.cell, result.published
    if published.mean is None or not result.complete:
        return None
    if cell.kind == "mae":
        return Verdict("error", result.mean + cells_module.MAE_SELF_LOOPS.get(cell.dataset, 0) - published.mean,
                       3 * published.std)
    tolerance = max(0.01, 2 * published.std)
    if cell.dataset not in cells_module.FEATURES_LOST:
        return Verdict("accuracy", result.mean - published.mean, tolerance)
    ours, theirs = recovered(result, results), recovered(result, results, published=True)
    if cell.kind != "private" or ours is None or theirs is None:
        return None
    low, high = (bound.published.mean for bound in _bounds_of(cell, results))
    return Verdict("recovered", ours - theirs, tolerance / (high - low))


def _number(value, digits=6):
    return "" if value is None else f"{value:.{digits}g}"


def write_csv(results, path):
    with open(path, "w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(("dataset", "kind", "variant", "model", "epsilon", "trials", "judged_trials", "mean", "std",
                      "published_mean", "published_std", "recovered", "published_recovered", "criterion", "difference",
                      "tolerance", "verdict", "all_trials_mean", "binary", "epochs", "option_sets"))
        for result in results.values():
            cell, verdict = result.cell, judge(result, results)
            judged = ("", "", "", "") if verdict is None else (verdict.criterion, _number(verdict.difference),
                                                               _number(verdict.tolerance), verdict.word)
            out.writerow((cell.dataset, cell.kind, cell.variant, cell.model, cell.epsilon, len(result.values),
                          len(result.judged), _number(result.mean), _number(result.std),
                          _number(result.published.mean), _number(result.published.std),
                          _number(recovered(result, results)),
                          _number(recovered(result, results, published=True)), *judged,
                          _number(result.with_all_trials().mean), " ".join(result.labels), " ".join(result.epochs),
                          result.option_sets))


def _points(mean, std):
    """A share and its deviation in points."""
    if mean is None:
        return "–"
    return f"{100 * mean:.1f}" + ("" if std is None else f" ± {100 * std:.1f}")


def _percent(share):
    return "–" if share is None else f"{100 * share:.0f} %"


def _trials(result):
    return str(len(result.judged)) if result.complete else f"{len(result.judged)} of {len(result.wanted)}"


def _signed(verdict):
    """'difference | tolerance | verdict' of a row."""
    if verdict is None:
        return "– | – | –"
    word = verdict.word if verdict.holds else f"**{verdict.word}**"
    if verdict.criterion == "recovered":
        return f"{100 * verdict.difference:+.1f} % | {100 * verdict.tolerance:.1f} % | {word}"
    return f"{100 * verdict.difference:+.1f} | {100 * verdict.tolerance:.1f} | {word}"


def _rows(name, result, results):
    """The row of the judged trials, and one of all where there are more."""
    lines = []
    for shown in (result, result.with_all_trials()) if result.more else (result,):
        label = name if shown is result else f"{name}, all trials"
        cells = [label, _trials(shown), _points(shown.mean, shown.std),
                 _points(shown.published.mean, shown.published.std)]
        shares = [_percent(recovered(shown, results)), _percent(recovered(shown, results, published=True))]
        verdict = _signed(judge(shown, results))
        # what is compared stands before its difference
        judged = shares + [verdict] if result.cell.dataset in cells_module.FEATURES_LOST else [verdict] + shares
        lines.append("| " + " | ".join(cells + judged) + " |")
    return lines


def _heading(first, dataset):
    verdict, shares = "difference | tolerance | verdict", "recovered, ours | recovered, published"
    last = f"{shares} | {verdict}" if dataset in cells_module.FEATURES_LOST else f"{verdict} | {shares}"
    return [f"| {first} | trials | ours, % | published, % | {last} |", "|" + 9 * "---|"]


def _published_private(dataset, published):
    return [cell for cell in published if cell.dataset == dataset and cell.kind == "private"
            and published[cell].mean is not None]


def summary_line(dataset, results, published):
    """Of all private cells that were published, how many hold, do not, and cannot be judged for want of trials."""
    total = _published_private(dataset, published)
    verdicts = [verdict for cell in total if cell in results and (verdict := judge(results[cell], results))]
    holding = sum(verdict.holds for verdict in verdicts)
    good, bad = ("recover alike", "do not") if dataset in cells_module.FEATURES_LOST else ("inside", "outside")
    share = f" ({100 * holding / len(total):.1f} % of all)" if total else ""
    return (f"{dataset}: {holding} of {len(total)} cells {good}{share}; {len(verdicts) - holding} {bad}; "
            f"{len(total) - len(verdicts)} without all their trials")


def _grid(dataset, variant, model, results):
    lines = []
    for epsilon in EPSILONS:
        cell = Cell(dataset, "private", variant, model, str(epsilon))
        if cell in results:
            lines += _rows(str(epsilon), results[cell], results)
    return [f"**{variant}, {model}**", "", *_heading("ε", dataset), *lines, ""] if lines else []


def _bounds(dataset, results):
    names = {Cell(dataset, "mlp", model="mlp"): "MLP, no link"}
    names.update({Cell(dataset, "true", model=model): f"{model}, true graph" for model in MODELS})
    lines = [line for cell, name in names.items() if cell in results for line in _rows(name, results[cell], results)]
    return ["**Bounds**", "", *_heading("bound", dataset), *lines, ""] if lines else []


def _mae(dataset, results):
    lines, loops = [], cells_module.MAE_SELF_LOOPS.get(dataset)
    for epsilon in EPSILONS:
        result = results.get(Cell(dataset, "mae", epsilon=str(epsilon)))
        if result:
            std = "–" if result.std is None else f"{result.std:.2g}"
            verdict, mean = judge(result, results), result.published.mean
            judged = "– | – | –" if verdict is None else (
                f"{100 * verdict.difference / mean:+.1f} % | {100 * verdict.tolerance / mean:.1f} % | "
                + (verdict.word if verdict.holds else f"**{verdict.word}**"))
            ours = "–" if result.mean is None else f"{result.mean:.4g} ± {std}"
            with_loops = f"{'–' if result.mean is None else f'{result.mean + loops:.4g}'} | " if loops else ""
            lines.append(f"| {epsilon} | {_trials(result)} | {ours} | {with_loops}{mean:.4g} ± "
                         f"{result.published.std:.2g} | {judged} |")
    if not lines:
        return []
    head = (f"| ε | trials | ours | {'ours, with the self-loops | ' if loops else ''}published | difference "
            "| tolerance | verdict |")
    text = [f"**Mean absolute error of the link probabilities** (degree share {cells_module.MAE_DEGREE_SHARE}; "
            "tolerance: three published standard deviations)", ""]
    if loops:
        text += ["The published links hold 179 self-loops. Each is an error of 1 that no estimate avoids. Together",
                 f"they are {loops:.3g} of the mean, which is added before the comparison. README.md explains what",
                 "is outside.", ""]
    return text + [head, "|" + (8 if loops else 7) * "---|", *lines, ""]


def _outside(results):
    lines = []
    for result in results.values():
        verdict = judge(result, results)
        if result.cell.kind != "private" or verdict is None or verdict.holds:
            continue
        unit = "% of the links' worth" if verdict.criterion == "recovered" else "points"
        line = f"- {result.cell}: {100 * verdict.difference:+.1f} {unit} (tolerance {100 * verdict.tolerance:.1f})"
        if result.more:
            every = judge(result.with_all_trials(), results)
            line += (f" with the first {len(result.wanted)} trials; {100 * every.difference:+.1f}, {every.word}, "
                     f"with all {len(result.values)}")
        lines.append(line)
    return ["## Outside", "", *(lines or ["None."]), ""]


def _difference_of_trial(result, trial, results):
    """Verdict.difference of one trial alone, the bounds being the means that they are."""
    alone = dataclasses.replace(result, wanted=(trial,))
    return judge(alone, {**results, result.cell: alone}).difference


def _families(results):
    """Mean difference of the cells of one data set, variant and model: what is too small for a cell's verdict shows
    here."""
    lines = []
    for dataset in DATASETS:
        for variant in VARIANTS:
            for model in MODELS:
                cells = [Cell(dataset, "private", variant, model, str(epsilon)) for epsilon in EPSILONS]
                found = [results[cell] for cell in cells if cell in results and judge(results[cell], results)]
                if not found:
                    continue
                mean = statistics.fmean(judge(result, results).difference for result in found)
                several = [result for result in found if len(result.wanted) > 1]
                by_seed = [statistics.fmean(_difference_of_trial(result, trial, results) for result in several)
                           for trial in range(min((len(result.wanted) for result in several), default=0))]
                error = ""
                if len(by_seed) > 1:
                    error = f" ± {100 * statistics.stdev(by_seed) / math.sqrt(len(by_seed)):.2f}"
                unit = "% recovered" if dataset in cells_module.FEATURES_LOST else "points"
                lines.append(f"| {dataset} | {variant} | {model} | {len(found)} | {100 * mean:+.2f}{error} {unit} |")
    if not lines:
        return []
    return ["## Mean differences", "",
            "Ours minus published, as the mean over the budgets of a family. Trial t has the same initial weights",
            "at every budget, so the standard error (±) is over the seeds. README.md explains the differences",
            "that are not zero.", "", "| data set | variant | model | cells | mean difference |", "|"
            + 5 * "---|", *lines, ""]


ABOUT = """For readers who compare blink with the published figures. Written by `experiments/accuracy/run`.
README.md beside it says how, and explains what is outside. Trial t draws every node's report anew
and trains with seed t + 1.

- **Cora, CiteSeer** have the published features and splits. A cell is *inside* if the means differ
  by at most one point or two published standard deviations, whichever is more.
- **Facebook**: the published features are lost, so accuracies are not compared. *Recovered* is
  (accuracy − MLP) / (true graph − MLP), the part of the links' worth that is kept. A cell is
  *alike* if ours and the published one differ by at most the same tolerance, divided by the
  published (true graph − MLP).
- A cell counts only with all the trials that it is judged by, from trial 0 on. No other trial
  replaces a missing one, and further trials change nothing.
"""


def _listed(cells, most=6):
    """Names of cells, as many as can be read."""
    names = [str(cell) for cell in cells]
    return "; ".join(names[:most]) + (f"; and {len(names) - most} more" if len(names) > most else "")


def _how_made(results, rows):
    """By how many trials cells are judged, what those that exist were made with, and what deviates from the published
    way."""
    by_trials = collections.defaultdict(list)
    for result in results.values():
        by_trials[len(result.wanted)].append(result)
    judged = ", ".join(f"{len(found)} cells by {trials} trial{'s' * (trials > 1)}"
                       for trials, found in sorted(by_trials.items(), reverse=True))
    lines = [f"Judged: {judged}" + f"; {sum(not result.complete for result in results.values())} of them lack some."]
    few = [result.cell for result in results.values() if len(result.wanted) < cells_module.default_trials(result.cell)]
    if few:
        lines.append(f"**{len(few)} cells are judged by fewer trials than this experiment fixed beforehand** "
                     "(--trials).")
    trained = collections.Counter(epochs_of(row) for row in rows if row["kind"] != "mae")
    lines.append(f"{len(rows)} trials; epochs of training (published: {cells_module.PUBLISHED_EPOCHS}): "
                 + (", ".join(f"{epochs} in {count} trials" for epochs, count in sorted(trained.items()))
                    or "none trained")
                 + ("; the error of P needs no training." if any(row["kind"] == "mae" for row in rows) else "."))
    others = [cell for cell, result in results.items() if cell.kind != "mae"
              and result.epochs != (str(cells_module.PUBLISHED_EPOCHS),)]
    if others:
        lines.append(f"**{len(others)} cells have trials of other epochs than the published ones**: {_listed(others)}.")
    sets = collections.Counter(result.option_sets for result in results.values())
    mixed = [cell for cell, result in results.items() if result.option_sets > 1]
    lines.append(f"{sets[1]} cells were made with one set of options each"
                 + (f"; **{len(mixed)} cells mix several**: {_listed(mixed)}." if mixed else ", no cell with several."))
    altered = list(dict.fromkeys(Cell(*(row[name] for name in ("dataset", "kind", "variant", "model", "epsilon")))
                                 for row in rows if not _published_options(row, results)))
    if altered:
        lines.append(f"**{len(altered)} cells have trials with other hyper-parameters than the published ones**: "
                     f"{_listed(altered)}.")
    labels = collections.Counter(row["label"] for row in rows)
    lines.append("Binaries (label of each trial): "
                 + ", ".join(f"{label} in {count}" for label, count in sorted(labels.items())) + ".")
    features = sorted({row["options"].split()[0] for row in rows if row["dataset"] in cells_module.FEATURES_LOST
                       and row["kind"] != "mae"})
    if features:
        lines.append(f"Facebook's features: {', '.join(features)}.")
    return ["- " + line for line in lines]


def _published_options(row, results):
    """Whether a trial's options are the published ones, whatever its epochs and the folder of its features. True where
    no cell is known."""
    cell = Cell(*(row[name] for name in ("dataset", "kind", "variant", "model", "epsilon")))
    if cell not in results:
        return True
    return tuple(row["options"].split()[1:]) == cells_module.arguments(cell, results[cell].published, epochs_of(row))


def write_markdown(results, published, path, rows):
    """`rows`: the trials, for their number and the binaries they came from."""
    lines = ["# Accuracy beside the published figures", "", ABOUT]
    lines += [*_how_made(results, rows), ""]
    shown = [dataset for dataset in DATASETS if any(cell.dataset == dataset for cell in results)]
    lines += [f"- {summary_line(dataset, results, published)}" for dataset in shown] + [""]
    lines += _outside(results) + _families(results)
    for dataset in shown:
        lines += [f"## {dataset}", "", *bounds.lines([dataset]), *_bounds(dataset, results)]
        for variant in VARIANTS:
            for model in MODELS:
                lines += _grid(dataset, variant, model, results)
        lines += _mae(dataset, results)
    path.write_text("\n".join(lines).rstrip() + "\n")
