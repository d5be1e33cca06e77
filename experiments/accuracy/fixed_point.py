#!/usr/bin/env python3
"""What it changes that the published maximum-likelihood iteration stops after 200 rounds: the links that it expects,
and the error of P.

    experiments/accuracy/fixed_point.py [--dataset citeseer --degree-share 0.9] [--rounds 200 3000]

For each epsilon one draw of the noisy degrees; then the fixed point beta_i <- log d_i - log sum_{j != i} 1 / (e^-beta_j
+ e^beta_i) from beta = 0, stopped after each number of --rounds. Links: what the prior expects, beside half the sum of
the (clipped) noisy degrees, which it should be. MAE: the mean absolute error of the P that follows, in expectation over
the flips (so that nothing but the degrees is drawn). Nodes of one noisy degree share one beta, so a round takes a
millisecond. Prints Markdown. Needs numpy (../README.md).
"""
import csv
import os
import pathlib
import sys

try:
    import numpy as np
except ImportError:  # --help does without
    np = None

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from command_line import Parser  # noqa: E402


def read_links(folder):
    """[links, 2]"""
    return np.loadtxt(folder / "edges.csv", delimiter=",", skiprows=1, usecols=(0, 1), dtype=np.int64, ndmin=2)


def fixed_point(degree, count, rounds):
    """beta of each class [K], after so many rounds."""
    beta = np.zeros(len(degree))
    for _ in range(rounds):
        share = 1 / (np.exp(beta)[:, None] + np.exp(-beta)[None, :])
        beta = np.log(degree) - np.log(share @ count - share.diagonal())
    return beta


def expected_links(beta, count):
    """Half the sum of the degrees that beta expects."""
    prior = 1 / (1 + np.exp(-(beta[:, None] + beta[None, :])))
    return count @ (prior @ count - prior.diagonal()) / 2


def expected_error(beta, count, links, epsilon_list):
    """E |P - A| over the flips, the mean over nodes^2 pairs. `links` [K, K]: ordered pairs of linked nodes by class."""
    flip = 1 / (1 + np.exp(epsilon_list))
    evidence = np.log((1 - flip) / flip)
    prior = beta[:, None] + beta[None, :]
    both, one, none = (1 / (1 + np.exp(-(prior + times * evidence))) for times in (2, 0, -2))
    absent = flip**2 * both + 2 * flip * (1 - flip) * one + (1 - flip)**2 * none
    present = 1 - ((1 - flip)**2 * both + 2 * flip * (1 - flip) * one + flip**2 * none)
    pairs = np.outer(count, count) - np.diag(count)
    return ((pairs - links) * absent + links * present).sum() / count.sum()**2


def main():
    parser = Parser(__doc__)
    parser.add_argument("--datasets", type=pathlib.Path, default=os.environ.get("BLINK_DATASETS"),
                        help="($BLINK_DATASETS)")
    parser.add_argument("--reference", type=pathlib.Path, default=os.environ.get("BLINK_REFERENCE"),
                        help="($BLINK_REFERENCE)")
    parser.add_argument("--dataset", default="facebook")
    parser.add_argument("--degree-share", type=float, default=0.1, help="(%(default)s, as in published_mae.csv)")
    parser.add_argument("--rounds", nargs="+", type=int, default=[200, 3000], help="(%(default)s)")
    parser.add_argument("--epsilon", nargs="+", type=int, default=list(range(1, 9)))
    options = parser.parse_args()
    if options.datasets is None or options.reference is None:
        parser.error("--datasets and --reference are needed, or BLINK_DATASETS and BLINK_REFERENCE")
    if np is None:
        print(f"fixed_point: {sys.executable} has no numpy: python3 -m venv .venv, .venv/bin/pip install numpy, and "
              "run this with .venv/bin/python",
              file=sys.stderr)
        return 3
    links = read_links(options.datasets / options.dataset)
    nodes = int(links.max()) + 1
    with open(options.reference / "published_mae.csv", newline="") as file:
        published = {int(row["epsilon"]): float(row["mae_mean"]) for row in csv.DictReader(file)
                     if row["dataset"] == options.dataset and float(row["degree_share"]) == options.degree_share}
    random = np.random.default_rng(1)
    columns = ["links of the noisy degrees"] + [f"after {rounds} rounds"
                                                for rounds in options.rounds] + ["MAE published"] \
        + [f"after {rounds} rounds" for rounds in options.rounds]
    print("| ε | " + " | ".join(columns) + " |\n|" + (1 + len(columns)) * "---|")
    for epsilon in options.epsilon:
        keep = np.exp(-options.degree_share * epsilon)
        noise = random.geometric(1 - keep, nodes) - random.geometric(1 - keep, nodes)
        noisy = np.clip(np.bincount(links.ravel(), minlength=nodes) + noise, 1, nodes - 2)
        degree, of_node, count = np.unique(noisy, return_inverse=True, return_counts=True)
        linked = np.zeros((len(degree),) * 2)
        np.add.at(linked, (of_node[links[:, 0]], of_node[links[:, 1]]), 1)
        betas = [fixed_point(degree, count, rounds) for rounds in options.rounds]
        expected = [f"{expected_links(beta, count):.0f}" for beta in betas]
        errors = [f"{expected_error(beta, count, linked + linked.T, (1 - options.degree_share) * epsilon):.4g}"
                  for beta in betas]
        stated = f"{published[epsilon]:.4g}" if epsilon in published else "–"
        print("| " + " | ".join([str(epsilon), f"{noisy.sum() / 2:.0f}", *expected, stated, *errors]) + " |",
              flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
