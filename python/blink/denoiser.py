"""An estimator in the manner of scikit-learn, which it does not need."""

from __future__ import annotations

import inspect
from typing import Any

import scipy.sparse as sp

from . import _core
from ._graph import graph_of
from ._numbers import Number, epsilon_micro, one_of, share_ppm
from .accountant import Accountant
from .draws import draw_once
from .posterior import estimate
from .reports import PRIORS


class LinkDenoiser:
    """Privatises a graph once, and estimates its links from the reports.

    Example::

        denoiser = blink.LinkDenoiser(epsilon=3, prior="attributed")
        links = denoiser.fit_transform(adjacency, features=x, labels=y, train=train, validation=validation)
        print(denoiser.privacy_loss_)

    ``fit`` draws the reports of a graph once in a process (:func:`blink.draws.draw_once`). Another ``fit`` on the same
    graph with the same budget uses the same reports, whatever its other parameters.

    Args:
      epsilon, degree_share, accountant: as for :func:`blink.privatise`.
      prior, variant, network_rounds, seed, threads: as for :func:`blink.estimate`.
      allow_redraw: draw a graph again that was drawn with another budget, and spend that too.

    Attributes:
      links_: ``[n, n]`` float32 sparse matrix, :attr:`blink.Posterior.links`.
      posterior_: the :class:`blink.Posterior`. A pickle is without it: ``blink.estimate(denoiser.reports_)``.
      reports_: the :class:`blink.Reports`.
      privacy_loss_: what all draws of this graph have spent, a :class:`blink.PrivacyLoss`.
      n_features_in_: n, the columns of the adjacency matrix.
    """

    def __init__(self, *, epsilon: Number = 3, degree_share: Number | None = None, prior: str = "beta",
                 variant: str = "hybrid", network_rounds: int | None = None, seed: int = 1, threads: int = 0,
                 allow_redraw: bool = False, accountant: Accountant | None = None) -> None:
        self.epsilon = epsilon
        self.degree_share = degree_share
        self.prior = prior
        self.variant = variant
        self.network_rounds = network_rounds
        self.seed = seed
        self.threads = threads
        self.allow_redraw = allow_redraw
        self.accountant = accountant

    def fit(self, adjacency: Any, y: Any = None, *, features: Any = None, labels: Any = None, train: Any = None,
            validation: Any = None, class_probabilities: Any = None) -> LinkDenoiser:
        """Draws the reports, unless that was done, and estimates.

        Args:
          adjacency: as for :func:`blink.privatise`.
          y: the same as ``labels``, where scikit-learn puts it.
          features, labels, train, validation, class_probabilities: as for :func:`blink.estimate`.

        Raises:
          SecondDrawError: the graph was drawn with another budget.
          What :func:`blink.privatise` and :func:`blink.estimate` raise.
        """
        if y is not None and labels is not None:
            raise ValueError("y and labels are the same: give one of them")
        one_of("prior", self.prior, PRIORS)
        micro = epsilon_micro(self.epsilon)
        share = (_core.default_degree_share_ppm(micro, self.prior) if self.degree_share is None
                 else share_ppm(self.degree_share))
        graph = graph_of(adjacency)
        self.reports_, self.privacy_loss_ = draw_once(graph, micro, share, allow_redraw=self.allow_redraw,
                                                      accountant=self.accountant)
        self.posterior_ = estimate(self.reports_, prior=self.prior, variant=self.variant, features=features,
                                   labels=y if labels is None else labels, train=train, validation=validation,
                                   class_probabilities=class_probabilities, network_rounds=self.network_rounds,
                                   seed=self.seed, threads=self.threads)
        self.links_ = self.posterior_.links
        self.n_features_in_ = graph.node_count
        self._digest = graph.digest
        return self

    def transform(self, adjacency: Any) -> sp.csr_array:
        """The estimated links of the graph that was fitted.

        Raises:
          ValueError: it is another graph, whose links no report tells of; or nothing was fitted.
        """
        if not hasattr(self, "_digest"):
            raise ValueError("this LinkDenoiser is not fitted: call fit first")
        if graph_of(adjacency).digest != self._digest:
            raise ValueError("adjacency is another graph than the one that was fitted: fit it, which draws its reports")
        return self.links_

    def fit_transform(self, adjacency: Any, y: Any = None, **public: Any) -> sp.csr_array:
        """``fit``, then ``links_``."""
        return self.fit(adjacency, y, **public).links_

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The arguments of the constructor, by name."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def set_params(self, **params: Any) -> LinkDenoiser:
        """Sets arguments of the constructor.

        Raises:
          ValueError: there is no such argument.
        """
        known = self.get_params()
        for name, value in params.items():
            if name not in known:
                raise ValueError(f"LinkDenoiser has no parameter {name!r}: it has {', '.join(known)}")
            setattr(self, name, value)
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "posterior_"}

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self)).parameters
        given = [f"{name}={value!r}" for name, value in self.get_params().items() if value != defaults[name].default]
        return f"LinkDenoiser({', '.join(given)})"
