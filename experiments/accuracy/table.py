"""From finished trials to results.csv and RESULTS.md: ours beside what was published."""
import csv
import dataclasses
import statistics

import cells as cells_module
from cells import DATASETS, EPSILONS, MODELS, VARIANTS, Cell


@dataclasses.dataclass(frozen=True)
class Result:
    cell: Cell
    published: object     # cells.Published
    values: tuple         # of the trials: accuracies, or mean absolute errors
    labels: tuple         # of the binaries they came from

    @property
    def mean(self):
        return statistics.fmean(self.values)

    @property
    def std(self):
        return statistics.stdev(self.values) if len(self.values) > 1 else None

    @property
    def difference(self):
        return None if self.published.mean is None else self.mean - self.published.mean

    @property
    def tolerance(self):
        """One point or two published standard deviations, whichever is more; for an error, which has no point, three."""
        if self.published.std is None:
            return None
        return 3 * self.published.std if self.cell.kind == "mae" else max(0.01, 2 * self.published.std)

    @property
    def inside(self):
        return None if self.difference is None else abs(self.difference) <= self.tolerance


def collect(rows, published):
    """Cell -> Result, of the cells that have a trial. `rows`: raw.newest(..).values()."""
    found = {}
    for row in rows:
        cell = Cell(*(row[name] for name in ("dataset", "kind", "variant", "model", "epsilon")))
        if cell in published:
            found.setdefault(cell, []).append(row)
    results = {}
    for cell, trials in found.items():
        name = "mae" if cell.kind == "mae" else "test_accuracy"
        results[cell] = Result(cell, published[cell], tuple(float(trial[name]) for trial in trials),
                               tuple(sorted({trial["label"] for trial in trials})))
    return results


def recovered(result, results, published=False):
    """Which share of what the links are worth a private cell keeps: (accuracy - MLP) / (true graph - MLP), of ours or of the published
    means. None where a bound is missing, or the links are worth less than two points. It can be compared where the features cannot."""
    bounds = [results.get(cell) for cell in (Cell(result.cell.dataset, "mlp", model="mlp"),
                                             Cell(result.cell.dataset, "true", model=result.cell.model))]
    if None in bounds:
        return None
    low, high, value = [(entry.published if published else entry).mean for entry in (*bounds, result)]
    return None if value is None or high - low < 0.02 else (value - low) / (high - low)


def _number(value, scale=1.0, digits=6):
    return "" if value is None else f"{value * scale:.{digits}g}"


def write_csv(results, path):
    with open(path, "w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(("dataset", "kind", "variant", "model", "epsilon", "trials", "mean", "std", "published_mean", "published_std",
                      "difference", "tolerance", "inside", "binary"))
        for result in results.values():
            cell = result.cell
            out.writerow((cell.dataset, cell.kind, cell.variant, cell.model, cell.epsilon, len(result.values), _number(result.mean),
                          _number(result.std), _number(result.published.mean), _number(result.published.std),
                          _number(result.difference), _number(result.tolerance),
                          {None: "", True: "yes", False: "no"}[result.inside], " ".join(result.labels)))


def _points(mean, std):
    """A share and its deviation in points."""
    if mean is None:
        return "–"
    return f"{100 * mean:.1f}" + ("" if std is None else f" ± {100 * std:.1f}")


def _percent(share):
    return "–" if share is None else f"{100 * share:.0f} %"


def _accuracy_row(name, result, results):
    difference = "–" if result.difference is None else f"{100 * result.difference:+.1f}"
    tolerance = "–" if result.tolerance is None else f"{100 * result.tolerance:.1f}"
    inside = {None: "–", True: "yes", False: "**no**"}[result.inside]
    return (f"| {name} | {len(result.values)} | {_points(result.mean, result.std)} | "
            f"{_points(result.published.mean, result.published.std)} | {difference} | {tolerance} | {inside} | "
            f"{_percent(recovered(result, results))} | {_percent(recovered(result, results, published=True))} |")


HEAD = ("| {} | trials | ours, % | published, % | difference | tolerance | inside | recovered, ours | published |",
        "|---|---|---|---|---|---|---|---|---|")


def _heading(first):
    return [HEAD[0].format(first), HEAD[1]]


def summary_line(dataset, results, published):
    """How many of the private cells of a data set are inside, and how many there are to be run."""
    total = [cell for cell in published if cell.dataset == dataset and cell.kind == "private" and published[cell].mean is not None]
    judged = [results[cell] for cell in total if cell in results]
    inside = sum(result.inside for result in judged)
    share = f" ({100 * inside / len(judged):.0f} %)" if judged else ""
    return f"{dataset}: {inside} of {len(judged)} cells inside{share}; {len(total) - len(judged)} of {len(total)} not run yet"


def _grid(dataset, variant, model, results):
    lines = []
    for epsilon in EPSILONS:
        cell = Cell(dataset, "private", variant, model, str(epsilon))
        if cell in results:
            lines.append(_accuracy_row(str(epsilon), results[cell], results))
    return [f"**{variant}, {model}**", "", *_heading("ε"), *lines, ""] if lines else []


def _bounds(dataset, results):
    names = {Cell(dataset, "mlp", model="mlp"): "MLP, no link"}
    names.update({Cell(dataset, "true", model=model): f"{model}, true graph" for model in MODELS})
    lines = [_accuracy_row(name, results[cell], results) for cell, name in names.items() if cell in results]
    return ["**Bounds**", "", *_heading("bound"), *lines, ""] if lines else []


def _mae(dataset, results):
    lines = []
    for epsilon in EPSILONS:
        result = results.get(Cell(dataset, "mae", epsilon=str(epsilon)))
        if result:
            std = "–" if result.std is None else f"{result.std:.2g}"
            lines.append(f"| {epsilon} | {len(result.values)} | {result.mean:.4g} ± {std} | {result.published.mean:.4g} ± "
                         f"{result.published.std:.2g} | {100 * result.difference / result.published.mean:+.1f} % |")
    head = ["| ε | trials | ours | published | difference |", "|---|---|---|---|---|"]
    share = cells_module.MAE_DEGREE_SHARE
    return [f"**Mean absolute error of the link probabilities** (degree share {share})", "", *head, *lines, ""] if lines else []


def _outside(results):
    lines = [f"- {result.cell}: {100 * result.difference:+.1f} points (tolerance {100 * result.tolerance:.1f})"
             for result in results.values() if result.cell.kind == "private" and result.inside is False]
    return ["## Outside", "", *(lines or ["None."]), ""]


def write_markdown(results, published, path, about):
    """`about`: lines on how the figures were made."""
    lines = ["# Accuracy beside the published figures", "", *about, ""]
    shown = [dataset for dataset in DATASETS if any(cell.dataset == dataset for cell in results)]
    lines += [f"- {summary_line(dataset, results, published)}" for dataset in shown] + [""]
    for dataset in shown:
        lines += [f"## {dataset}", ""] + _bounds(dataset, results)
        for variant in VARIANTS:
            for model in MODELS:
                lines += _grid(dataset, variant, model, results)
        lines += _mae(dataset, results)
    lines += _outside(results)
    path.write_text("\n".join(lines).rstrip() + "\n")
