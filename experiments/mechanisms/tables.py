"""RESULTS.md and its figure: what was measured beside what was published."""
import statistics

import cells as plan

NOTE = {"facebook": "Facebook's features are its words, hashed to 128 columns (`../accuracy/hashed.py`)",
        "lastfm": "LastFM has no features here, so each node has one of its own, and a model without links can only "
                  "name\nthe largest class. Where the published mechanism destroys more than the links, its share is "
                  "below 0;\nours cannot fall below that class, so such cells are outside though the accuracies agree"}


def recorded(rows):
    """cell -> {trial: the first row of it}"""
    found = {}
    for row in rows:
        cell = tuple(row[name] for name in ("dataset", "mechanism", "model", "epsilon"))
        found.setdefault(cell, {}).setdefault(int(row["trial"]), row)
    return found


class Tables:
    """What was measured, by cell: trials 0 to `trials` - 1 of those that have them all."""

    def __init__(self, rows, trials, published):
        found = recorded(rows)
        self.published = published
        self.values = {cell: [of_cell[trial] for trial in range(trials)] for cell, of_cell in found.items()
                       if cell in published and all(trial in of_cell for trial in range(trials))}
        self.torn = len(found) - len(self.values)

    def mean(self, cell, name):
        values = [float(row[name]) for row in self.values[cell] if row[name]]
        return statistics.fmean(values) if values else None

    def deviation(self, cell):
        values = [float(row["test"]) for row in self.values[cell]]
        return statistics.stdev(values) if len(values) > 1 else None

    def bounds(self, dataset):
        """((features only, true links) of ours, of the published), or None where one was not measured."""
        pair = (dataset, "mlp", "mlp", ""), (dataset, "none", "gcn", "")
        if any(cell not in self.values for cell in pair):
            return None
        return tuple(self.mean(cell, "test") for cell in pair), tuple(self.published[cell].mean for cell in pair)

    def recovered(self, cell):
        """The part of the links' worth that a cell keeps, (accuracy - features only) / (true links - features only):
        ours, the published one, and by how much they may differ. None without the bounds."""
        bounds = self.bounds(cell[0])
        if bounds is None:
            return None
        (low, high), (published_low, published_high) = bounds
        width = published_high - published_low
        return ((self.mean(cell, "test") - low) / (high - low), (self.published[cell].mean - published_low) / width,
                self.published[cell].tolerance / width)

    def is_inside(self, cell):
        """None: there is nothing to compare it with."""
        if cell[1] in plan.BOUNDS.values():
            return None
        if cell[0] in plan.FEATURES_DIFFER:
            shares = self.recovered(cell)
            return None if shares is None else abs(shares[0] - shares[1]) <= shares[2]
        return abs(self.mean(cell, "test") - self.published[cell].mean) <= self.published[cell].tolerance

    def accuracy_text(self, cell):
        if cell not in self.values:
            return ""
        deviation = self.deviation(cell)
        text = f"{100 * self.mean(cell, 'test'):.1f}" + ("" if deviation is None else f" ± {100 * deviation:.1f}")
        return f"{text} ({100 * self.published[cell].mean:.1f}){self._mark(cell)}"

    def recovered_text(self, cell):
        shares = self.recovered(cell) if cell in self.values else None
        return "" if shares is None else f"{100 * shares[0]:.0f} % ({100 * shares[1]:.0f} %){self._mark(cell)}"

    def _mark(self, cell):
        return " **!**" if self.is_inside(cell) is False else ""

    def links_text(self, cell):
        if cell not in self.values:
            return ""
        precision = self.mean(cell, "precision")
        return f"{self.mean(cell, 'links'):,.0f}; " + ("–" if precision is None else f"{100 * precision:.1f} %")


def _write_table(out, tables, title, dataset, model, text_of):
    mechanisms = [name for name in plan.MECHANISMS if any(cell[:3] == (dataset, name, model) for cell in tables.values)]
    if not mechanisms:
        return
    out.write(f"\n## {title}: {dataset}, {model}\n\n| mechanism | {' | '.join(f'ε = {e}' for e in plan.EPSILONS)} |\n"
              f"|{'---|' * (1 + len(plan.EPSILONS))}\n")
    for name in mechanisms:
        texts = [text_of((dataset, name, model, str(epsilon))) for epsilon in plan.EPSILONS]
        out.write(f"| `{name}` | {' | '.join(texts)} |\n")


def _write_recovered(out, tables, dataset):
    bounds = tables.bounds(dataset)
    if bounds is None:
        return
    _write_table(out, tables, "Share of the links' worth that is kept", dataset, "gcn", tables.recovered_text)
    (low, high), (published_low, published_high) = bounds
    out.write(f"\n{NOTE[dataset]}.\nOurs: {100 * low:.1f} % on features alone, {100 * high:.1f} % on the true links. "
              f"Published: {100 * published_low:.1f} % and {100 * published_high:.1f} %.\n")


def _outside(tables):
    outside = sorted(cell for cell in tables.values if tables.is_inside(cell) is False)
    if not outside:
        return ""
    lines = ["\n## Outside\n\n"]
    for cell in outside:
        dataset, mechanism, model, epsilon = cell
        if dataset in plan.FEATURES_DIFFER:
            ours, theirs, tolerance = tables.recovered(cell)
            accuracies = [100 * tables.mean(cell, "test"), 100 * tables.published[cell].mean]
            text = (f"{100 * (ours - theirs):+.0f} % of the links' worth (tolerance {100 * tolerance:.0f}); the "
                    f"accuracies are {accuracies[0]:.1f} % and {accuracies[1]:.1f} %")
        else:
            difference = tables.mean(cell, "test") - tables.published[cell].mean
            text = f"{100 * difference:+.1f} points (tolerance {100 * tables.published[cell].tolerance:.1f})"
        lines.append(f"- {dataset} `{mechanism}` {model} ε = {epsilon}: {text}\n")
    return "".join(lines)


def _counts(tables):
    lines = []
    for dataset in plan.DATASETS:
        verdicts = [tables.is_inside(cell) for cell in tables.values if cell[0] == dataset]
        judged = [verdict for verdict in verdicts if verdict is not None]
        if judged:
            lines.append(f"- {dataset}: **{sum(judged)} of {len(judged)} measured cells are inside.**\n")
    return "".join(lines)


def write(output, tables, trials, epochs, more=""):
    """RESULTS.md in `output`. `more` is put at its end."""
    binaries = ", ".join(sorted({row["binary"] for rows in tables.values.values() for row in rows}))
    torn = f"\n{tables.torn} cells lack some trials and are left out.\n" if tables.torn else ""
    with (output / "RESULTS.md").open("w") as out:
        out.write(f"""# The other mechanisms, beside their published accuracy

For researchers who compare mechanisms. Written by `experiments/mechanisms/run`, with the published
hyper-parameters of each cell and {epochs} epochs. A cell has {trials} trials, each on its own draw: mean
± sample standard deviation of the test accuracy in %, and the published mean in brackets.

A cell is inside if it is within 1.5 points, or two published deviations, of the published mean.
Others are marked **!**. Cells without a figure were not measured. Where the published features are
not to be had, the share of the links' worth is compared instead, (accuracy − features only) / (true
links − features only). The same tolerance holds, divided by the published (true links − features
only).

{_counts(tables)}
ε is what one entry of one list costs. An undirected link costs 2ε, but ε under `symrr`.
`mechanisms/README.md` has the formulas. Binaries: {binaries}.
{torn}{_outside(tables)}""")
        for dataset in plan.DATASETS:
            for model in plan.MODELS:
                _write_table(out, tables, "Test accuracy", dataset, model, tables.accuracy_text)
            if dataset in plan.FEATURES_DIFFER:
                _write_recovered(out, tables, dataset)
        for dataset in plan.DATASETS:
            for model in plan.MODELS:  # of the first one: every model draws links of its own, but like these
                if any(cell[::2] == (dataset, model) and cell[1] in plan.MECHANISMS for cell in tables.values):
                    _write_table(out, tables, "Links trained on, and how many of them are true", dataset, model,
                                 tables.links_text)
                    break
        out.write(more)


def draw(tables, path):
    """Accuracy by epsilon, measured (lines) beside published (crosses). Returns whether it could: matplotlib draws."""
    try:
        import matplotlib
    except ImportError:
        return False
    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "blink", "font.size": 8})  # the same figures give the same bytes
    from matplotlib import pyplot
    rows = [name for name in plan.DATASETS
            if any(cell[0] == name and cell[1] in plan.MECHANISMS for cell in tables.values)]
    columns = [name for name in plan.MODELS if any(cell[2] == name for cell in tables.values)]
    figure, axes = pyplot.subplots(len(rows), len(columns), figsize=(2.4 * len(columns), 2.1 * len(rows)),
                                   squeeze=False, sharex=True)
    for dataset, of_row in zip(rows, axes):
        for model, axis in zip(columns, of_row):
            for place, name in enumerate(plan.MECHANISMS):
                cells = [cell for epsilon in plan.EPSILONS
                         if (cell := (dataset, name, model, str(epsilon))) in tables.values]
                if not cells:
                    continue
                budgets = [int(cell[3]) for cell in cells]
                axis.errorbar(budgets, [100 * tables.mean(cell, "test") for cell in cells],
                              [100 * (tables.deviation(cell) or 0) for cell in cells], color=f"C{place}", linewidth=1,
                              marker="o", markersize=2.5, label=name)
                if dataset not in plan.FEATURES_DIFFER:
                    axis.plot(budgets, [100 * tables.published[cell].mean for cell in cells], "x", color=f"C{place}",
                              markersize=5)
            if axis.has_data():
                axis.set_title(f"{dataset}, {model}")
                axis.set_xticks(plan.EPSILONS)
            else:
                axis.set_visible(False)
        of_row[0].set_ylabel("test accuracy, %")
    for axis in axes[-1]:
        axis.set_xlabel("ε of a list entry")
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(handles + [pyplot.Line2D([], [], color="grey", marker="x", linestyle="")], labels + ["published"],
                  ncols=6, loc="upper center", frameon=False)
    figure.tight_layout(rect=(0, 0, 1, 1 - 0.35 / (2.1 * len(rows))))
    figure.savefig(path, metadata={"Date": None})
    return True
