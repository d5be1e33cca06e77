"""What is run: the cells of the published table, with their hyper-parameters, and what a trial of each is expected to
cost."""
import csv
import dataclasses

DATASETS = ("cora", "citeseer", "facebook")
VARIANTS = ("hard", "hybrid", "soft")
MODELS = ("gcn", "graphsage", "gat")
EPSILONS = tuple(range(1, 9))

# Nobody published the hyper-parameters of Facebook's true graph: those of Hard at epsilon 8, where the graph is nearly
# the true one.
UNPUBLISHED = {"lr": "0.1", "weight_decay": "0.0001", "dropout": "0.1"}
PUBLISHED_EPOCHS = 300
MAE_DEGREE_SHARE = "0.1"  # of every row of published_mae.csv

# The features of the published accuracy are no longer to be had, so accuracies cannot be compared; what the links add
# to the bounds can.
FEATURES_LOST = ("facebook",)
# The published links of Facebook hold 179 self-loops. An estimate has none, so each is an error of 1, among nodes^2
# pairs.
MAE_SELF_LOOPS = {"facebook": 179 / 22470**2}


@dataclasses.dataclass(frozen=True)
class Cell:
    """One cell of a table. `kind`: private (a variant at an epsilon), mlp and true (the bounds), mae (an estimate
    alone)."""

    dataset: str
    kind: str
    variant: str = ""
    model: str = ""
    epsilon: str = ""

    def __str__(self):
        return " ".join(part for part in (self.dataset, self.kind if self.kind != "private" else "", self.variant,
                                          self.model, self.epsilon and f"epsilon {self.epsilon}") if part)


@dataclasses.dataclass(frozen=True)
class Published:
    """`mean` and `std` are shares (accuracy) or None where nothing was published; `flags` are blink's
    hyper-parameters."""

    mean: float | None
    std: float | None
    flags: tuple


def _flags(row, degree_share=""):
    values = {name: row[name] or UNPUBLISHED[name] for name in ("lr", "weight_decay", "dropout")}
    flags = ("--learning-rate", values["lr"], "--weight-decay", values["weight_decay"], "--dropout", values["dropout"])
    return flags + (("--degree-share", degree_share) if degree_share else ())


def read_published(folder):
    """Every cell that can be run -> Published, from published_accuracy.csv and published_mae.csv in `folder`."""
    cells = {}
    with open(folder / "published_accuracy.csv", newline="") as file:
        for row in csv.DictReader(file):
            if row["dataset"] not in DATASETS:
                continue  # lastfm has no features
            if row["method"].startswith("blink-"):
                cell = Cell(row["dataset"], "private", row["method"][len("blink-"):], row["model"], row["epsilon"])
            elif row["method"] == "mlp":
                cell = Cell(row["dataset"], "mlp", model="mlp")
            elif row["method"] == "nonprivate":
                cell = Cell(row["dataset"], "true", model=row["model"])
            else:
                continue  # other people's mechanisms
            flags = _flags(row, row["degree_share"])
            cells[cell] = Published(float(row["accuracy_mean"]), float(row["accuracy_std"]), flags)
    for cell, published in list(cells.items()):  # nobody published Facebook Soft GAT: Hybrid GAT's hyper-parameters
        if cell.dataset == "facebook" and cell.variant == "hybrid" and cell.model == "gat":
            cells[dataclasses.replace(cell, variant="soft")] = Published(None, None, published.flags)
    with open(folder / "published_mae.csv", newline="") as file:
        for row in csv.DictReader(file):
            if row["dataset"] in DATASETS:
                flags = ("--degree-share", row["degree_share"])
                cells[Cell(row["dataset"], "mae", epsilon=row["epsilon"])] = Published(
                    float(row["mae_mean"]), float(row["mae_std"]), flags)
    return cells


def arguments(cell, published, epochs):
    """blink simulate's arguments for a trial of the cell, but data set, seed, trials and threads."""
    if cell.kind == "mae":  # the cheapest training there is: the figure is the estimate's
        return ("--model", "mlp", "--epsilon", cell.epsilon, *published.flags, "--epochs", "1")
    flags = published.flags + ("--epochs", str(epochs))
    if cell.kind == "mlp":
        return ("--model", "mlp", *flags)
    if cell.kind == "true":
        return ("--graph", "true", "--model", cell.model, *flags)
    return ("--variant", cell.variant, "--model", cell.model, "--epsilon", cell.epsilon, *flags)


def is_slow(cell):
    """Soft on Facebook below epsilon 5 multiplies by nearly dense evidence: minutes a trial, and one trial is the
    default."""
    return cell.dataset == "facebook" and cell.variant == "soft" and int(cell.epsilon) <= 4


def family(cell):
    """Cells whose trials take about as long."""
    return (cell.dataset, cell.kind, cell.variant, cell.model, is_slow(cell))


def default_trials(cell):
    """How many trials a cell gets unless told otherwise, and how many of them its verdict counts: fixed before any is
    seen."""
    return 1 if is_slow(cell) else 5


def is_unpublished(cell, published):
    return published[cell].mean is None


def expected_seconds(cell):
    """A guess of one trial's cost on one core, to order the cells and to say how much time is left; what was measured
    goes before it."""
    if cell.kind == "mae":
        return {"facebook": 1.5}.get(cell.dataset, 0.4)
    soft_facebook = {"gcn": 30, "graphsage": 40, "gat": 1500}  # at epsilon 5 and more
    soft = {"gcn": 6, "graphsage": 6, "gat": 60}
    sparse = {"mlp": 1, "gcn": 1, "graphsage": 2, "gat": 2}
    factor = {"facebook": 10, "citeseer": 1.5}.get(cell.dataset, 1)
    if cell.variant != "soft":
        return sparse[cell.model] * factor
    if cell.dataset == "facebook":
        return soft_facebook[cell.model] * (15 if is_slow(cell) and cell.model != "gat" else 1)
    return soft[cell.model] * factor
