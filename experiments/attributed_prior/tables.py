"""results.csv and the tables of RESULTS.md. Every figure is that of test nodes or of the true graph; what was chosen
was chosen on validation nodes of the same draw."""
import collections
import csv
import json
import math
import statistics

import bounds
import plan
from bounds import pair_of, with_deviation

FIELDS = ("dataset", "what", "epsilon", "draw", "seed", "chosen", "validation_accuracy", "test_accuracy", "mae",
          "log_likelihood", "auc", "links", "expected_links", "seconds", "estimate_seconds", "peak_rss_bytes",
          "threads", "binary", "label", "finished", "candidates", "bins")
# What a prior that knows the attributes is asked to reach: test accuracy in per cent, and error of P in 10^-3.
TARGETS = {("cora", 1): (74.5, 3.9), ("cora", 2): (77.5, 2.2), ("cora", 3): (82.5, 1.05), ("cora", 4): (85.0, 0.40),
           ("cora", 5): (86.5, 0.12), ("citeseer", 1): (77.5, None), ("citeseer", 2): (78.0, 1.5),
           ("citeseer", 3): (78.0, 0.75), ("citeseer", 4): (78.0, 0.28), ("citeseer", 5): (79.0, 0.09)}
# Of a trial that takes the links as they are.
NO_ESTIMATE = {"mle_seconds": 0.0, "denoise_seconds": 0.0, "mae": "", "expected_links": ""}


class Unknown(Exception):
    """The program wrote what these tables do not know; the text says what is missing."""


def key(row):
    return tuple(row[name] for name in ("dataset", "what", "epsilon", "draw"))


def row_of(trial, result):
    """The row of a trial, but how it was run, from what blink simulate --json wrote. Figures of a training that was
    only there to get an estimate are left empty."""
    try:
        one = result["trials"][0]
        train = one["train"]
        estimate = one["estimate"] if trial.what != bounds.TRUE_LINKS else NO_ESTIMATE
        quality = estimate.get("quality") or {}
        trained = trial.what not in ("beta", "links")
        chosen = train.get("chosen") or " ".join(filter(None, (train["variant"], train["model"])))
        seconds = estimate.get("attributed_seconds", estimate["mle_seconds"] + estimate["denoise_seconds"])
        candidates = [[candidate["name"], *(round(candidate[name], 4)
                                            for name in ("validation_loss", "validation_accuracy", "test_accuracy"))]
                      for candidate in train.get("candidates") or [] if "skipped" not in candidate]
        bins = [[float(f"{one_bin['from']:.4g}"), float(f"{one_bin['to']:.4g}"), one_bin["pairs"], one_bin["links"],
                 float(f"{one_bin['mean_p']:.6g}")]
                for one_bin in quality.get("bins", [])]
        return {"dataset": trial.dataset, "what": trial.what, "epsilon": str(trial.epsilon), "draw": str(trial.draw),
                "seed": str(trial.seed), "chosen": chosen if trained else "",
                "validation_accuracy": str(train["validation_accuracy"]) if trained else "",
                "test_accuracy": str(train["test_accuracy"]) if trained else "", "mae": str(estimate["mae"]),
                "log_likelihood": str(quality.get("log_likelihood", "")), "auc": str(quality.get("auc", "")),
                "links": str(result["dataset"]["links"]), "expected_links": str(estimate["expected_links"]),
                "estimate_seconds": f"{seconds:.3f}", "peak_rss_bytes": str(result["peak_rss_bytes"]),
                "candidates": json.dumps(candidates, separators=(",", ":")) if candidates else "",
                "bins": json.dumps(bins, separators=(",", ":")) if bins else ""}
    except (KeyError, IndexError, TypeError) as problem:
        raise Unknown(f"{trial}: no {problem} in what blink simulate --json wrote: is it the blink of this source "
                      "tree?") from None


class Rows:
    """The draws of a cell; the last row of a draw counts."""

    def __init__(self, rows):
        self.cells = {}
        for row in rows:
            self.cells.setdefault((row["dataset"], row["what"], int(row["epsilon"])), {})[int(row["draw"])] = row

    def of(self, dataset, what, epsilon):
        return [row for _, row in sorted(self.cells.get((dataset, what, epsilon), {}).items())]

    def figures(self, dataset, what, epsilon, name):
        return [float(row[name]) for row in self.of(dataset, what, epsilon) if row[name]]

    def mean(self, *key):
        values = self.figures(*key)
        return statistics.fmean(values) if values else None

    def epsilons(self, dataset, what):
        return sorted(epsilon for one, other, epsilon in self.cells if (one, other) == (dataset, what))

    def datasets(self, what):
        found = {dataset for dataset, other, _ in self.cells if other == what}
        return [name for name in plan.DATASETS if name in found]


def number(value, scale=1.0, digits=3):
    return "" if value is None else f"{scale * value:.{digits}g}"


def is_baseline(name):
    """Whether a candidate is the MLP or one of the paper's own: a network on a variant of the beta prior's
    posterior."""
    words = pair_of(name).split()
    return words == ["mlp"] or (words[0] in ("gcn", "graphsage", "gat") and "attributed" not in words)


class Baselines:
    """The best of {MLP, beta variants}, judged by mean test accuracy: with hindsight, which no search has. Of
    experiments/accuracy (the published settings), of the part `baseline` (every pair once, with all its epochs), and of
    the candidates of the same draws, which end early where they cannot win."""

    def __init__(self, rows, experiments):
        self.rows, self.accuracy = rows, {}
        with open(experiments / "accuracy" / "results.csv", newline="") as file:
            for row in csv.DictReader(file):
                if row["kind"] in ("private", "mlp"):
                    name = row["kind"] if row["kind"] == "mlp" else f"{row['variant']} {row['model']}"
                    self.accuracy.setdefault((row["dataset"], int(row["epsilon"] or 0)),
                                             []).append((float(row["mean"]), name))

    def candidates(self, dataset, epsilon, what="attributed"):
        """pair -> [test accuracy by draw]: of its settings that which validated best; of those that every draw
        trained."""
        found = {}
        draws = self.rows.of(dataset, what, epsilon)
        for row in draws:
            best = {}
            for name, loss, accuracy, test in json.loads(row["candidates"] or "[]"):
                best[pair_of(name)] = max(best.get(pair_of(name), (-math.inf, 0)), (accuracy - 0.5 * loss, test))
            for name, (_, test) in best.items():
                found.setdefault(name, []).append(test)
        return {name: tests for name, tests in found.items() if len(tests) == len(draws)}

    def best(self, dataset, epsilon):
        """(accuracy, name, of where), or None"""
        found = [(mean, name, "published settings") for at in (0, epsilon)
                 for mean, name in self.accuracy.get((dataset, at), [])]
        for what, of_where in (("baseline", "searched alone"), ("attributed", "same draws")):
            found += [(statistics.fmean(tests), name, of_where)
                      for name, tests in self.candidates(dataset, epsilon, what).items() if is_baseline(name)]
        return max(found, default=None)


def chosen_text(rows):
    """The two that were chosen most often."""
    counts = collections.Counter(row["chosen"] for row in rows).most_common()
    text = ", ".join(f"{pair_of(name)} {count}×" for name, count in counts[:2])
    return text + (f", {len(counts) - 2} others" if len(counts) > 2 else "")


def main_table(rows, baselines):
    if not rows.datasets("attributed"):
        return
    yield "## Accuracy and error\n"
    yield ("Test accuracy of what validation chose, and mean absolute error of the link posterior. Both are\n"
           "mean ± standard deviation over draws; one draw has no deviation. The goals were set before the prior\n"
           "was built. The best of the MLP and the β variants is selected by mean test accuracy, with hindsight.\n"
           "It is taken from `experiments/accuracy` (the published settings), from a search under the β prior\n"
           "alone, or from the candidates trained on the same draws. **Bold**: more than 0.5 points below it.\n\n"
           "*Features only* is the best candidate that reads no report, by validation. *True links* is the same\n"
           "search on the true links. *Recovered* is (accuracy − features only) / (true links − features only),\n"
           "with the standard deviation over the draws. It is **bold** where it is not above zero: there the\n"
           "reports gave nothing that the features do not. A name that begins with `mean of` is an ensemble: it\n"
           "averages the class probabilities of its members.\n")
    yield ("| data set | ε | draws | features only, % | accuracy, % | true links, % | recovered, % | goal "
           "| best of {MLP, β}, % | difference | MAE × 10³ | goal | β prior | chosen |")
    yield "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|"
    for dataset in rows.datasets("attributed"):
        for epsilon in rows.epsilons(dataset, "attributed"):
            found = rows.of(dataset, "attributed", epsilon)
            accuracy = rows.figures(dataset, "attributed", epsilon, "test_accuracy")
            best, asked = baselines.best(dataset, epsilon), TARGETS.get((dataset, epsilon), (None, None))
            share = bounds.Share(found, rows.figures(dataset, bounds.TRUE_LINKS, plan.NO_EPSILON, "test_accuracy"))
            yield (f"| {dataset} | {epsilon} | {len(found)} | {with_deviation(share.features_only, 100)} | "
                   f"{with_deviation(accuracy, 100)} | {with_deviation(share.true_links, 100)} | "
                   f"{share.text()} | {number(asked[0])} | "
                   f"{beside(accuracy, best)} | "
                   f"{with_deviation(rows.figures(dataset, 'attributed', epsilon, 'mae'), 1e3, 3)} | "
                   f"{number(asked[1])} | {number(rows.mean(dataset, 'beta', epsilon, 'mae'), 1e3)} | "
                   f"{chosen_text(found)} |")


def beside(accuracy, best):
    """The cells of the best baseline, and of the difference from it."""
    if best is None:
        return "|"
    difference = 100 * (statistics.fmean(accuracy) - best[0])
    text = f"**{difference:+.1f}**" if difference < -0.5 else f"{difference:+.1f}"
    return f"{100 * best[0]:.1f} ({best[1]}, {best[2]}) | {text}"


def candidate_table(rows, baselines):
    if not any(baselines.candidates(*cell[::2]) for cell in rows.cells):
        return
    yield "\n## What the choice chose from\n"
    yield ("This is what another choice would have given: mean test accuracy over the draws, %. Every candidate\n"
           "that was trained in all draws is listed, at the setting that validated best. **Bold**: the choice's\n"
           "own mean is more than 0.5 below it.\n")
    for dataset in rows.datasets("attributed"):
        epsilons = rows.epsilons(dataset, "attributed")
        table = {epsilon: {name: statistics.fmean(tests)
                           for name, tests in baselines.candidates(dataset, epsilon).items()} for epsilon in epsilons}
        names = sorted({name for column in table.values() for name in column})
        if not names:
            continue
        yield f"\n| {dataset} | " + " | ".join(f"ε = {epsilon}"
                                               for epsilon in epsilons) + " |\n|---|" + "---|" * len(epsilons)
        own = {epsilon: rows.mean(dataset, "attributed", epsilon, "test_accuracy") for epsilon in epsilons}
        yield "| **chosen** | " + " | ".join(f"{100 * own[epsilon]:.1f}" for epsilon in epsilons) + " |"
        for name in names:
            texts = []
            for epsilon in epsilons:
                value = table[epsilon].get(name)
                text = "" if value is None else f"{100 * value:.1f}"
                texts.append(f"**{text}**" if value is not None and value > own[epsilon] + 0.005 else text)
            yield f"| {name} | " + " | ".join(texts) + " |"


def ablation_table(rows):
    if not any(what.startswith("without") for _, what, _ in rows.cells):
        return
    yield "\n## What each ingredient is worth\n"
    yield ("The stacked model alone (`--tune 0 --model stacked`) replaces the search, and one ingredient is left\n"
           "out (`--without`). The model is deterministic, and the noise is the same in every line\n"
           "(`--insecure-seeded-noise`). So a difference is what the ingredient does on these draws. The error\n"
           "alone misleads: it rewards a P that expects too few links, as without the degrees' empirical Bayes.\n")
    for dataset in plan.ABLATION_DATASETS:
        for epsilon in plan.ABLATION_EPSILONS:
            if not any(rows.of(dataset, f"without {name}", epsilon) for name in plan.INGREDIENTS):
                continue
            yield (f"\n| {dataset}, ε = {epsilon}: without | draws | accuracy, % | MAE × 10³ | −log-likelihood of the "
                   f"true graph | AUC | expected links / links |\n|---|---|---|---|---|---|---|")
            for what in ("stacked", *(f"without {name}" for name in plan.INGREDIENTS)):
                found = rows.of(dataset, what, epsilon)
                if not found:
                    continue
                likelihood, area = (rows.mean(dataset, what, epsilon, name) for name in ("log_likelihood", "auc"))
                yield (f"| {what.removeprefix('without ') if what != 'stacked' else 'nothing'} | {len(found)} | "
                       f"{with_deviation(rows.figures(dataset, what, epsilon, 'test_accuracy'), 100)} | "
                       f"{number(rows.mean(dataset, what, epsilon, 'mae'), 1e3)} | {-likelihood:,.0f} | "
                       f"{auc_text(area)} | {expected_ratio(found)} |")


def expected_ratio(found):
    if not found:
        return ""
    return f"{statistics.fmean(float(row['expected_links']) / float(row['links']) for row in found):.3f}"


def reliability(rows, dataset, what, epsilon):
    """Of all draws together: [(from, to, pairs, links, mean P)]"""
    sums = {}
    for row in rows.of(dataset, what, epsilon):
        for start, end, pairs, links, mean_p in json.loads(row["bins"] or "[]"):
            total = sums.setdefault((start, end), [0, 0, 0.0])
            total[0], total[1], total[2] = total[0] + pairs, total[1] + links, total[2] + pairs * mean_p
    return [(start, end, pairs, links, p / pairs if pairs else 0)
            for (start, end), (pairs, links, p) in sorted(sums.items())]


def attributed_what(rows, dataset, epsilon):
    return "attributed" if rows.of(dataset, "attributed", epsilon) else "links"


def calibration_tables(rows):
    yield "\n## Calibration\n"
    yield ("The first table has the log-likelihood of the true graph under P (natural logarithm, over unordered\n"
           "pairs; nearer to 0 is better). It also has the links that P expects, divided by the links that there\n"
           "are. The tables below sort the pairs by their P, and give the mean P and the share that are links.\n"
           "`reliability.svg` draws them.\n")
    yield ("| data set | ε | draws, β prior | attributed | −log-likelihood, β | attributed | expected links / links, β "
           "| attributed | MAE × 10³, β | attributed |\n|---|---|---|---|---|---|---|---|---|---|")
    for dataset in plan.DATASETS:
        for epsilon in plan.EPSILONS:
            what = attributed_what(rows, dataset, epsilon)
            values = [rows.mean(dataset, prior, epsilon, "log_likelihood") for prior in ("beta", what)]
            if values[1] is None:
                continue
            ratios = [expected_ratio(rows.of(dataset, prior, epsilon)) for prior in ("beta", what)]
            draws = [str(len(rows.of(dataset, prior, epsilon))) for prior in ("beta", what)]
            errors = [number(rows.mean(dataset, prior, epsilon, "mae"), 1e3) for prior in ("beta", what)]
            likelihoods = ["" if value is None else f"{-value:,.0f}" for value in values]
            yield f"| {dataset} | {epsilon} | " + " | ".join(draws + likelihoods + ratios + errors) + " |"
    for dataset in plan.DATASETS:
        shown = [epsilon for epsilon in (1, 3, 5)
                 if reliability(rows, dataset, attributed_what(rows, dataset, epsilon), epsilon)]
        if not shown:
            continue
        yield f"\n| {dataset}: P | " + " | ".join(f"ε = {e}: pairs | mean P | links"
                                                  for e in shown) + " |\n|---|" + "---|---|---|" * len(shown)
        columns = [reliability(rows, dataset, attributed_what(rows, dataset, epsilon), epsilon) for epsilon in shown]
        for cells in zip(*columns):
            text = " | ".join(f"{pairs:,} | {mean_p:.2g} | {links / pairs:.2g}" if pairs else "0 | |"
                              for _, _, pairs, links, mean_p in cells)
            yield f"| {cells[0][0]:.2g} to {cells[0][1]:.2g} | {text} |"


def auc_text(value):
    return "" if value is None else f"{value:.4f}"


def guess_table(rows):
    yield "\n## P as a guess at links\n"
    yield ("The area under the ROC curve of P_ij over all pairs says how often a link has a larger P than a pair\n"
           "without one. At 0.5, P says nothing about links. Each prior has its own degree share.\n")
    yield "| data set | prior | " + " | ".join(f"ε = {epsilon}" for epsilon in plan.EPSILONS) + " |"
    yield "|---|---|" + "---|" * len(plan.EPSILONS)
    for dataset in plan.DATASETS:
        for prior in ("beta", "attributed"):
            values = [rows.mean(dataset, prior if prior == "beta" else attributed_what(rows, dataset, epsilon), epsilon,
                                "auc")
                      for epsilon in plan.EPSILONS]
            if any(value is not None for value in values):
                yield f"| {dataset} | {prior} | " + " | ".join(auc_text(value) for value in values) + " |"


def cost_table(rows):
    yield "\n## Cost\n"
    yield ("The cost of one draw with everything: reading, drawing the reports, both posteriors, all candidates.\n"
           "Generated graphs have 128 words. Seconds depend on what else the machine did; memory does not.\n")
    yield "| data set | ε | threads | seconds | of it estimate | memory, MB |\n|---|---|---|---|---|---|"
    names = [name for name in plan.DATASETS] + [f"generated-{nodes}" for nodes in plan.GROWTH_NODES]
    for dataset in names:
        for epsilon in (1, 3, 5, 8):
            for what in ("attributed", "links"):
                found = rows.of(dataset, what, epsilon)
                if found:
                    seconds, estimate, memory = (statistics.fmean(float(row[name]) for row in found) for name in
                                                 ("seconds", "estimate_seconds", "peak_rss_bytes"))
                    threads = ", ".join(sorted({row["threads"] for row in found}))
                    yield (f"| {dataset}{' (estimate only)' if what == 'links' else ''} | {epsilon} | {threads} | "
                           f"{seconds:.0f} | {estimate:.1f} | {memory / 1e6:.0f} |")


def draw_reliability(rows, path):
    """Returns whether it could: matplotlib draws."""
    try:
        import matplotlib
    except ImportError:
        return False
    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "blink"  # the same figures give the same bytes
    from matplotlib import pyplot
    shown = [name for name in plan.DATASETS
             if any(reliability(rows, name, attributed_what(rows, name, e), e) for e in plan.EPSILONS)]
    if not shown:
        return False
    figure, axes = pyplot.subplots(1, len(shown), figsize=(4 * len(shown), 4), squeeze=False)
    for axis, dataset in zip(axes[0], shown):
        axis.plot([-5, 5], [-5, 5], color="grey", linewidth=0.8)
        for epsilon in (1, 3, 5, 8):
            # Bins with so few links, or other pairs, that the share is noise are left out.
            points = [(p, links / pairs)
                      for _, _, pairs, links, p in reliability(rows, dataset, attributed_what(rows, dataset, epsilon),
                                                               epsilon)
                      if min(links, pairs - links) >= 20]
            if points:
                axis.plot(*zip(*((math.log10(p / (1 - p)), math.log10(share / (1 - share))) for p, share in points)),
                          marker="o", markersize=3, linewidth=1, label=f"ε = {epsilon}")
        axis.set(title=dataset, xlabel="log₁₀ odds of the mean P", xlim=(-5, 3), ylim=(-5, 3))
        axis.legend()
    axes[0][0].set_ylabel("log₁₀ odds of being a link")
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    return True


def write(output, experiments):
    path = output / "results.csv"
    if not path.exists():
        raise Unknown(f"there is no {path}: nothing was run with this --output")
    with open(path, newline="") as file:
        listed = list(csv.DictReader(file))
    rows = Rows(listed)
    baselines = Baselines(rows, experiments)
    binaries = ", ".join(sorted({row["label"] for row in listed})) or "none"
    drawn = draw_reliability(rows, output / "reliability.svg") or (output / "reliability.svg").exists()
    with open(output / "RESULTS.md", "w") as out:
        out.write("# The attributed prior: the figures\n\nFor researchers; README.md beside it says how to read the "
                  "accuracy. Written by\n`experiments/attributed_prior/run` from results.csv, which holds every draw. "
                  "Each prior has the\ndegree share of its rule. Facebook's public features are lost. Here they are "
                  f"its words hashed to 128\ncolumns (`../accuracy/hashed.py`). Tables without any run are left "
                  f"out.\nBinaries: {binaries}.\n\n")
        for part in (main_table(rows, baselines), candidate_table(rows, baselines), ablation_table(rows),
                     calibration_tables(rows)):
            out.writelines(line + "\n" for line in part)
        if drawn:
            out.write("\n![reliability](reliability.svg)\n")
        for part in (guess_table(rows), cost_table(rows)):
            out.writelines(line + "\n" for line in part)
