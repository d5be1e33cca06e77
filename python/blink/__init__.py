"""Link-private graph learning: privatise the links of a graph, and estimate them from the noisy reports.

    reports = blink.privatise(adjacency, epsilon=3)
    posterior = blink.estimate(reports)
    posterior.links        # [n, n] sparse: the likeliest links, with their probabilities

A report is epsilon-link-LDP for **one entry of one list**. An undirected link is in two lists, so it costs twice as
much. ``python/README.md`` says what is not protected. The method is that of "Blink: Link Local Differential Privacy in
Graph Neural Networks via Bayesian Estimation" (CCS '23), and the code is that of the programs ``blink-node`` and
``blink``.
"""

from ._core import __version__
from ._graph import adjacency_from_edges
from .accountant import Accountant, BudgetExceededError, PrivacyLoss
from .auditing import Audit, audit
from .denoiser import LinkDenoiser
from .draws import SecondDrawError
from .posterior import Posterior, estimate
from .reports import Reports, privatise

__all__ = [
    "Accountant",
    "Audit",
    "BudgetExceededError",
    "LinkDenoiser",
    "Posterior",
    "PrivacyLoss",
    "Reports",
    "SecondDrawError",
    "__version__",
    "adjacency_from_edges",
    "audit",
    "estimate",
    "privatise",
]
