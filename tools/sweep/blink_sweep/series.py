"""What the figures show: means and sample deviations over trials, as panels of curves. No drawing here."""
import collections
import dataclasses
import statistics

from blink_sweep import plan

FEATURES_ONLY, TRUE_LINKS, BOUND = "features only", "true links", "the paper's bound"


@dataclasses.dataclass(frozen=True)
class Point:
    x: float
    mean: float
    deviation: float | None  # of the sample; None for one trial
    trials: int


@dataclasses.dataclass
class Curve:
    label: str
    points: list


@dataclasses.dataclass
class Panel:
    """One pair of axes. `lines`: values that depend on no x, label -> Point (its x means nothing)."""

    title: str
    x_label: str
    y_label: str
    curves: list
    lines: dict = dataclasses.field(default_factory=dict)
    x_log: bool = False
    y_log: bool = False
    percent: bool = False


@dataclasses.dataclass
class Figure:
    name: str  # of its files
    title: str
    about: str  # for a reader of the page
    panels: list


class Row:
    """A line of a finished trial, by what a figure asks for."""

    def __init__(self, line):
        trial = line["trial"]
        self.dataset, self.facts, self.figures = trial["dataset"], line["dataset"], line["figures"]
        self.mechanism, self.model, self.prior = trial["mechanism"], trial["model"], trial["prior"]
        self.variant, self.share, self.epsilon = trial["variant"], trial["degree_share"], trial["epsilon"]
        self.options = tuple(sorted(trial["options"].items()))

    def get(self, name):
        return self.figures.get(name)


def point(x, values):
    return Point(x, statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else None, len(values))


def label_of(row, with_options=False, with_share=True, with_variant=True):
    """The name of the curve that a trial belongs to."""
    parts = [row.mechanism]
    if row.mechanism in plan.ESTIMATING:
        parts += [row.variant if with_variant else "", row.prior if row.prior not in ("", "beta") else ""]
        parts.append(f"share {row.share}" if with_share and row.share else "")
    if with_options:
        parts += [f"{name} {value}".strip() for name, value in row.options]
    return " ".join(part for part in parts if part)


def curves_of(rows, label, x, y, group=None):
    """Curves over the rows for which both `x` and `y` are known, in the order of plan.MECHANISMS. A point is the mean
    of a group, by default of the rows of equal `x`."""
    found = collections.defaultdict(lambda: collections.defaultdict(list))
    for row in rows:
        at, value = x(row), y(row)
        if at is not None and value is not None:
            found[label(row)][at if group is None else group(row)].append((at, value))
    return [Curve(name, sorted((point(statistics.fmean(at for at, _ in pairs), [value for _, value in pairs])
                                for pairs in found[name].values()), key=lambda one: one.x))
            for name in sorted(found, key=order_of)]


def order_of(label):
    """Sorts the names of curves: by mechanism, as plan.MECHANISMS has them; numbers in a name by their value."""
    first = label.split()[0]
    place = plan.MECHANISMS.index(first) if first in plan.MECHANISMS else len(plan.MECHANISMS)
    return place, [(0, float(word), "") if word.replace(".", "", 1).isdigit() else (1, 0.0, word)
                   for word in label.replace(",", " ").split()]


def _epsilon(row):
    return float(row.epsilon) if row.epsilon else None


def _accuracy(row):
    return row.get("test_accuracy")


def _names(rows, attribute):
    return sorted({getattr(row, attribute) for row in rows if getattr(row, attribute)})


class Figures:
    """All figures that the lines of a sweep have something for."""

    def __init__(self, lines):
        self.rows = [Row(line) for line in lines]
        self.datasets = _names(self.rows, "dataset")
        options = collections.defaultdict(set)  # of the trials that would be one curve without them
        for row in self.rows:
            options[row.dataset, row.model, label_of(row)].add(row.options)
        self.told_apart = {curve for curve, sets in options.items() if len(sets) > 1}

    def all(self):
        made = [self.accuracy_by_entry(), self.accuracy_by_link(), self.error(), self.hard(), self.share(),
                self.ablation(), self.bytes()]
        return [figure for figure in made if figure.panels]

    # ---- rows

    def _of(self, dataset):
        return [row for row in self.rows if row.dataset == dataset]

    def _usual(self, rows):
        """Without the trials that are only there for the effect of the degree share, where there are others."""
        return [row for row in rows if not row.share] or rows

    def _label(self, row, **options):
        return label_of(row, (row.dataset, row.model, label_of(row)) in self.told_apart, **options)

    def _bounds(self, dataset, model):
        """The lines between which the accuracies of a model lie."""
        lines = {}
        for label, mechanism, of_model in ((FEATURES_ONLY, "features-only", None), ("MLP", "mlp", None),
                                           (TRUE_LINKS, "true", model)):
            values = [_accuracy(row) for row in self._of(dataset)
                      if row.mechanism == mechanism and of_model in (None, row.model) and _accuracy(row) is not None]
            if values:
                lines[label] = point(0, values)
        return lines

    def _accuracy_panels(self, x, x_label, x_log=False, rows_of=None, label=None):
        """A panel for each data set and model, with a point for each budget."""
        panels = []
        for dataset in self.datasets:
            private = [row for row in self._of(dataset) if row.mechanism in plan.PRIVATE]
            for model in _names(private, "model"):
                rows = (rows_of or self._usual)([row for row in private if row.model == model])
                curves = curves_of(rows, label or self._label, x, _accuracy, group=_epsilon)
                if curves:
                    panels.append(Panel(f"{dataset}, {model}", x_label, "test accuracy, %", curves,
                                        self._bounds(dataset, model), x_log=x_log, percent=True))
        return panels

    # ---- figures

    def accuracy_by_entry(self):
        return Figure("accuracy_per_entry", "Accuracy by the budget of a list entry",
                      "Mean test accuracy, with the standard deviation over the trials as a band. The budget is that "
                      "of one entry of one list. A mechanism that reports each link from both ends spends it twice: "
                      "compare mechanisms in the next figure.",
                      self._accuracy_panels(_epsilon, "ε of a list entry"))

    def accuracy_by_link(self):
        return Figure("accuracy_per_link", "Accuracy by the budget of an undirected link",
                      "The same trials by what one undirected link costs, over all reports that tell of it.",
                      self._accuracy_panels(lambda row: row.get("epsilon_per_link"), "ε of an undirected link"))

    def error(self):
        panels = []
        for dataset in self.datasets:
            rows = self._usual([row for row in self._of(dataset) if row.get("mae") is not None])
            curves = curves_of(rows, lambda row: self._label(row, with_variant=False), _epsilon,
                               lambda row: row.get("mae"))
            bound = curves_of([row for row in rows if row.prior in ("", "beta")], lambda row: BOUND, _epsilon,
                              paper_bound)
            if curves:
                panels.append(Panel(dataset, "ε of a list entry", "mean |P − A|", curves + bound, y_log=True))
        return Figure("error", "Error of the link probabilities",
                      "The mean absolute difference between the estimated probability of a link and the truth, over "
                      "all pairs. The bound is the paper's, for the mean over draws: (2‖A‖₁ + n / 2ε_d + isolated "
                      "nodes) / n².", panels)

    def hard(self):
        panels = []
        for dataset in self.datasets:
            rows = self._usual([row for row in self._of(dataset) if row.mechanism in plan.PRIVATE])
            label = (lambda row: self._label(row, with_variant=False))
            truth = {"true links": Point(0, 1, None, 1)}
            for title, y_label, value, log in (
                    ("links", "links ÷ true links", _density, True),
                    ("true links found", "true positives ÷ true links", _found, False)):
                curves = curves_of(rows, label, _epsilon, value)
                if curves:
                    panels.append(Panel(f"{dataset}, {title}", "ε of a list entry", y_label, curves,
                                        truth if log else {}, y_log=log))
        return Figure("hard", "Density and true positives of Hard",
                      "How many links Hard has (the pairs with P > ½; of other mechanisms, the links that are trained "
                      "on), and how many of the true links are among them. Both are shares of the true links.", panels)

    def share(self):
        panels = []
        for dataset in self.datasets:
            rows = [row for row in self._of(dataset) if row.mechanism == "blink" and row.share]
            if len({row.share for row in rows}) < 2:
                continue
            at = (lambda row: float(row.share))
            for model in _names(rows, "model"):
                curves = self._by_epsilon([row for row in rows if row.model == model], at, _accuracy)
                if curves:
                    panels.append(Panel(f"{dataset}, {model}", "degree share", "test accuracy, %", curves,
                                        self._bounds(dataset, model), percent=True))
            curves = self._by_epsilon(rows, at, lambda row: row.get("mae"), with_variant=False)
            if curves:
                panels.append(Panel(f"{dataset}, error", "degree share", "mean |P − A|", curves, y_log=True))
        return Figure("degree_share", "Effect of the degree share",
                      "The part of the budget that pays for the degree. With share 0 no degree is sent. With share 1 "
                      "no bit is sent, and P is the prior alone.", panels)

    def _by_epsilon(self, rows, x, y, **options):
        """A curve for each budget, in their order."""
        several = len({self._label(row, with_share=False, **options) for row in rows}) > 1
        curves = []
        for epsilon in sorted({row.epsilon for row in rows}, key=float):
            label = (lambda row: f"ε = {row.epsilon}"
                     + (f", {self._label(row, with_share=False, **options)}" if several else ""))
            curves += curves_of([row for row in rows if row.epsilon == epsilon], label, x, y)
        return [curve for curve in curves if len(curve.points) > 1]

    def ablation(self):
        def rows_of(rows):
            return [row for row in rows
                    if row.mechanism == "rr" or (row.mechanism == "blink" and row.share in ("", "1"))]

        def label(row):
            if row.mechanism == "rr":
                return "evidence only"
            return ("prior only, " if row.share == "1" else "both, ") + self._label(row, with_share=False)

        panels = self._accuracy_panels(_epsilon, "ε of a list entry", rows_of=rows_of, label=label)
        panels = [panel for panel in panels if len({curve.label.split(",")[0] for curve in panel.curves}) > 1]
        return Figure("ablation", "Prior, evidence, and both",
                      "Prior only: all of the budget pays for the degree (share 1). Evidence only: all of it pays for "
                      "the bits, which are taken as they are (rr). Both: blink with its default share.", panels)

    def bytes(self):
        return Figure("bytes", "Accuracy by the size of a report",
                      "Mean size of a coded report. Along a curve the budget grows: a larger budget gives fewer wrong "
                      "bits, which take less room.",
                      self._accuracy_panels(lambda row: row.get("bytes") or None, "bytes of a report", x_log=True))


def _density(row):
    links = row.get("links") if row.get("links") is not None else row.get("trained_links")
    return None if links is None or not row.facts["links"] or links <= 0 else links / row.facts["links"]


def _found(row):
    if not row.facts["links"]:
        return None
    if row.get("true_positives") is not None:
        return row.get("true_positives") / row.facts["links"]
    return row.get("trained_recall")


def paper_bound(row):
    """E mean |P - A| is at most this when all report and the estimate exists."""
    epsilon_degree = row.get("epsilon_degree")
    if not epsilon_degree:
        return None
    nodes = row.facts["nodes"]
    return (4 * row.facts["links"] + nodes / (2 * epsilon_degree) + row.facts["isolated"]) / nodes**2

