"""Between which bounds an accuracy lies: what the features alone give, and what the true links give. Every table of
accuracies shows them, from the draws of ../attributed_prior/results.csv, which are of the same splits."""
import csv
import json
import pathlib
import statistics

RESULTS = pathlib.Path(__file__).resolve().parents[1] / "attributed_prior" / "results.csv"
TRUE_LINKS = "true links"  # `what` of the search on the true links
SMALLEST_GAP = 0.01        # between the bounds, as of blink simulate --bounds: less is too little to divide by


def pair_of(name):
    """Of a candidate's name the model, the variant and the prior, without the settings of the training."""
    return name.partition(", ")[0]


def reads_no_report(name):
    """Whether a candidate is the MLP, the class-model, or a mean of these."""
    members = pair_of(name).removeprefix("mean of ").split(" + ")
    return all(member in ("mlp", "class-model") for member in members)


def features_only(row):
    """Of a draw of a search the test accuracy of the best candidate that reads no report, by validation; or None."""
    found = [(accuracy - 0.5 * loss, test)
             for name, loss, accuracy, test in json.loads(row["candidates"] or "[]") if reads_no_report(name)]
    return max(found)[1] if found else None


class Share:
    """The share recovered by draws of a search: (accuracy - features only) / (true links - features only), each draw
    over the gap between the means."""

    def __init__(self, rows, true_links):
        self.features_only = [features_only(row) for row in rows]
        if None in self.features_only:
            self.features_only = []
        self.true_links, self.recovered, self.gap = true_links, [], None
        if not self.features_only or not true_links:
            return
        self.gap = statistics.fmean(true_links) - statistics.fmean(self.features_only)
        if self.gap >= SMALLEST_GAP:
            self.recovered = [(float(row["test_accuracy"]) - one) / self.gap
                              for row, one in zip(rows, self.features_only)]

    def text(self):
        """**Bold**: not above zero."""
        if self.gap is not None and not self.recovered:
            return "gap too small"
        text = with_deviation(self.recovered, 100, 0)
        return f"**{text}**" if self.recovered and statistics.fmean(self.recovered) <= 0 else text


def with_deviation(values, scale=1.0, digits=1):
    """Mean ± standard deviation of the sample."""
    if not values:
        return ""
    deviation = f" ± {scale * statistics.stdev(values):.{digits}f}" if len(values) > 1 else ""
    return f"{scale * statistics.fmean(values):.{digits}f}{deviation}"


def lines(datasets, results=RESULTS):
    """A table of the bounds of these data sets, to stand above accuracies; empty where nothing is known of them."""
    if not results.exists():
        return []
    with open(results, newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["dataset"] in datasets]
    table = []
    for dataset in datasets:
        mine = [row for row in rows if row["dataset"] == dataset]
        alone = [one for row in mine if row["what"] == "attributed" for one in (features_only(row),) if one is not None]
        linked = [float(row["test_accuracy"]) for row in mine if row["what"] == TRUE_LINKS]
        if alone:
            table.append(f"| {dataset} | {with_deviation(alone, 100)} | {with_deviation(linked, 100) or 'not measured'} |")
    if not table:
        return []
    return ["Read every accuracy between two bounds, in %. *Features only* is the best model that reads no",
            "report, by validation. *True links* is the search under the attributed prior on the true links.",
            "At or below the first, the reports give nothing that the public features do not give.", "",
            "| data set | features only | true links |", "|---|---|---|", *table, ""]
