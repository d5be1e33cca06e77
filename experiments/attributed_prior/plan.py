"""What is run: for every part its trials, in the order in which they say most. A trial is one call of `blink simulate
--trials 1`."""
import dataclasses

from bounds import TRUE_LINKS

DATASETS = ("cora", "citeseer", "twitch_ptbr", "lastfm", "facebook")
EPSILONS = tuple(range(1, 9))
INGREDIENTS = ("nearest", "features", "latent", "classes", "network", "degrees", "total")
DRAWS = 5
ABLATION_DATASETS, ABLATION_EPSILONS = ("cora", "citeseer"), (1, 3, 5)
# The stacked model in place of a search, and the same noise with and without an ingredient: a difference is what the
# ingredient does.
STACKED_ALONE = ("--tune", "0", "--model", "stacked", "--insecure-seeded-noise")
# Estimate the links and train next to nothing.
ESTIMATE_ONLY = ("--tune", "0", "--model", "mlp", "--epochs", "1")
# Every pair of model and variant of the beta prior, with all its epochs, which a search under the attributed prior
# would spare; of the graphs of which accuracy/results.csv has none.
BASELINE_DATASETS, BETA_PAIRS = ("twitch_ptbr", "lastfm"), ("--tune", "10")
GROWTH_NODES, GROWTH_EPSILON = (2_500, 5_000, 10_000, 20_000, 40_000), 3
# Of the same search on the true links, which draws nothing.
NO_EPSILON = 0
PARTS = ("main", "bounds", "beta", "baseline", "ablation", "growth")


@dataclasses.dataclass(frozen=True)
class Trial:
    """`what`: the whole search (attributed), the same on the true links (true links), that of the beta prior
    (baseline), the estimate of either prior (beta, links), the stacked model alone on everything (stacked) or without
    an ingredient (without X)."""

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
        if self.what == TRUE_LINKS:
            return ("--graph", "true", "--prior", "attributed")
        if self.what == "beta":
            return (*budget, "--prior", "beta", *ESTIMATE_ONLY)
        if self.what == "baseline":
            return (*budget, "--prior", "beta", *BETA_PAIRS)
        if self.what == "links":
            return (*budget, "--prior", "attributed", *ESTIMATE_ONLY)
        if self.what == "stacked":
            return (*budget, "--prior", "attributed", *STACKED_ALONE)
        if self.what.startswith("without "):
            return (*budget, "--prior", "attributed", *STACKED_ALONE, "--without", self.what.removeprefix("without "))
        return (*budget, "--prior", "attributed")


def trials(parts, datasets, epsilons, draws):
    """Every trial once."""
    found = []
    for part in parts:
        found += _of_part(part, datasets, epsilons, draws)
    return list(dict.fromkeys(found))


def _of_part(part, datasets, epsilons, draws):
    """A draw of every cell before the second of any."""
    if part == "growth":
        return [Trial(part, f"generated-{nodes}", "links", GROWTH_EPSILON, 0) for nodes in GROWTH_NODES]
    if part == "bounds":
        return [Trial(part, dataset, TRUE_LINKS, NO_EPSILON, draw) for draw in range(draws) for dataset in datasets]
    if part == "ablation":
        whats = ("stacked", *(f"without {name}" for name in INGREDIENTS))
        datasets = [name for name in datasets if name in ABLATION_DATASETS]
        epsilons = [epsilon for epsilon in epsilons if epsilon in ABLATION_EPSILONS]
    else:
        whats = {"main": ("attributed",), "beta": ("beta",), "baseline": ("baseline",)}[part]
        datasets = [name for name in datasets if part != "baseline" or name in BASELINE_DATASETS]
    return [Trial(part, dataset, what, epsilon, draw) for draw in range(draws) for dataset in datasets
            for epsilon in epsilons for what in whats]
