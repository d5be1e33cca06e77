"""The cells of the published table of the other mechanisms, with their hyper-parameters."""
import csv
import dataclasses

DATASETS, MODELS, EPSILONS = ("cora", "citeseer", "facebook", "lastfm"), ("gcn", "graphsage", "gat"), tuple(range(1, 9))
MECHANISMS = ("rr", "symrr", "ldpgcn", "dprr", "ldpgen")
BOUNDS = {"nonprivate": "none", "mlp": "mlp"}  # published name -> mechanism of `blink simulate`

# The published features of Facebook are lost, and LastFM's are not in our copy. So accuracies cannot be compared, but
# what the links add to the features can: one model, beside its bounds.
FEATURES_DIFFER = ("facebook", "lastfm")
# Nobody published the hyper-parameters of Facebook's true graph: those of Blink's Hard at epsilon 8.
UNPUBLISHED = {"lr": "0.1", "weight_decay": "0.0001", "dropout": "0.1"}


class Failed(Exception):
    """Names what does not suit, and the remedy."""


@dataclasses.dataclass(frozen=True)
class Published:
    mean: float
    deviation: float
    flags: tuple

    @property
    def tolerance(self):
        """Within this of the published mean, a cell is inside: 1.5 points, or two published deviations."""
        return max(0.015, 2 * self.deviation)


def _cell(row):
    """(data set, mechanism, model, epsilon), or None: not run here. A bound has no epsilon."""
    dataset, method, model = row["dataset"], row["method"], row["model"]
    if dataset not in DATASETS:
        return None
    if method in MECHANISMS and (dataset not in FEATURES_DIFFER or model == "gcn"):
        return dataset, method, model, row["epsilon"]
    if method in BOUNDS and dataset in FEATURES_DIFFER and model in ("gcn", "mlp"):
        return dataset, BOUNDS[method], model, ""
    return None


def read_published(folder):
    """cell -> Published"""
    path = folder / "published_accuracy.csv"
    if not path.is_file():
        raise Failed(f"no file {path}: name its folder with --reference")
    cells = {}
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            cell = _cell(row)
            if cell is not None:
                values = {name: row[name] or UNPUBLISHED[name] for name in UNPUBLISHED}
                cells[cell] = Published(float(row["accuracy_mean"]), float(row["accuracy_std"]),
                                        ("--learning-rate", values["lr"], "--weight-decay", values["weight_decay"],
                                         "--dropout", values["dropout"]))
    return cells


def chosen(options, published):
    """The published cells that the options name, bounds first."""
    def is_wanted(cell):
        dataset, mechanism, model, epsilon = cell
        if dataset not in options.dataset:
            return False
        if mechanism in BOUNDS.values():
            return True
        return mechanism in options.mechanism and model in options.model and int(epsilon) in options.epsilon
    return sorted((cell for cell in published if is_wanted(cell)), key=lambda cell: (
        DATASETS.index(cell[0]), cell[1] in MECHANISMS, MODELS.index(cell[2]) if cell[2] in MODELS else -1,
        MECHANISMS.index(cell[1]) if cell[1] in MECHANISMS else -1, cell[3]))


def arguments(cell):
    """What `blink simulate` takes to run the cell."""
    _, mechanism, model, epsilon = cell
    return ("--mechanism", mechanism, *(("--model", model) if model != "mlp" else ()),
            *(("--epsilon", epsilon) if epsilon else ()))
