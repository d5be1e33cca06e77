"""What is run: for every part its trials, in the order in which they say most. A trial is one call of `blink simulate --trials 1`."""
import dataclasses

DATASETS = ("cora", "citeseer", "twitch_ptbr", "lastfm", "facebook")
EPSILONS = tuple(range(1, 9))
INGREDIENTS = ("degrees", "total", "features", "latent", "classes", "network")
DRAWS = 5
ABLATION_DATASETS, ABLATION_EPSILONS = ("cora", "citeseer"), (1, 2, 3, 5)
# Estimate the links and train next to nothing.
ESTIMATE_ONLY = ("--tune", "0", "--model", "mlp", "--epochs", "1")
# Beta variants of the graphs of which accuracy/results.csv has none, with the settings of degree_share.
BASELINE_DATASETS = ("twitch_ptbr", "lastfm")
PLAIN = ("--learning-rate", "0.01", "--weight-decay", "0.0001", "--dropout", "0.1", "--epochs", "200")
QUICK = ("--learning-rate", "0.03", "--weight-decay", "0.0005", "--dropout", "0.1", "--epochs", "100")
BASELINES = {"mlp": ("--model", "mlp", *PLAIN), "hybrid gcn": ("--variant", "hybrid", "--model", "gcn", *PLAIN),
             "hard graphsage": ("--variant", "hard", "--model", "graphsage", *PLAIN),
             "soft graphsage": ("--variant", "soft", "--model", "graphsage", *QUICK)}
LINKS_DATASETS = ("cora", "citeseer", "facebook")  # whose estimate is looked at without any training
GROWTH_NODES, GROWTH_EPSILON = (2_500, 5_000, 10_000, 20_000), 3
PARTS = ("main", "ablation", "beta", "links", "baseline", "growth")


@dataclasses.dataclass(frozen=True)
class Trial:
    """`what`: the whole (attributed), an ingredient that is left out (without X), the beta prior's estimate (beta), the attributed
    prior's alone (links), a beta variant (its name)."""

    part: str
    dataset: str
    what: str
    epsilon: int
    draw: int

    def __str__(self):
        return f"{self.dataset} {self.what}, epsilon {self.epsilon}, draw {self.draw}"

    @property
    def key(self):
        return (self.dataset, self.what, str(self.epsilon), str(self.draw))

    @property
    def seed(self):
        return self.draw + 1

    def arguments(self):
        """Of blink simulate, but data set, seed and threads."""
        budget = ("--epsilon", str(self.epsilon))
        if self.what == "beta":
            return (*budget, "--prior", "beta", *ESTIMATE_ONLY)
        if self.what in BASELINES:
            return (*budget, "--prior", "beta", *BASELINES[self.what])
        if self.what == "links":
            return (*budget, "--prior", "attributed", *ESTIMATE_ONLY)
        if self.what.startswith("without "):
            return (*budget, "--prior", "attributed", "--without", self.what.removeprefix("without "))
        return (*budget, "--prior", "attributed")


def draws_of(dataset, wanted):
    """Facebook costs minutes a draw, and its standard deviation is small."""
    return min(wanted, 1) if dataset == "facebook" else wanted


def trials(parts, datasets, epsilons, draws):
    """Every trial once."""
    found = []
    for part in parts:
        found += _of_part(part, datasets, epsilons, draws)
    return list(dict.fromkeys(found))


def _of_part(part, datasets, epsilons, draws):
    if part == "growth":
        return [Trial(part, f"generated-{nodes}", "attributed", GROWTH_EPSILON, 0) for nodes in GROWTH_NODES]
    if part == "ablation":
        return [Trial(part, dataset, f"without {name}", epsilon, draw) for dataset in ABLATION_DATASETS if dataset in datasets
                for draw in range(draws) for epsilon in ABLATION_EPSILONS if epsilon in epsilons for name in INGREDIENTS]
    if part == "links":
        return [Trial(part, dataset, "links", epsilon, 0) for dataset in LINKS_DATASETS if dataset in datasets for epsilon in epsilons]
    whats = {"main": ("attributed",), "beta": ("beta",), "baseline": tuple(BASELINES)}[part]
    chosen = [name for name in datasets if part != "baseline" or name in BASELINE_DATASETS]
    return [Trial(part, dataset, what, epsilon, draw) for dataset in chosen for epsilon in epsilons for what in whats
            for draw in range(draws_of(dataset, draws)) if part != "main" or dataset != "facebook" or epsilon == 3]
