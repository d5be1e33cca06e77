"""How likely each link is, given the reports: the estimates of the aggregator."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from . import _core
from ._numbers import exact, one_of, whole
from .reports import PRIORS, Reports

VARIANTS = ("hard", "soft", "hybrid")
NETWORK_ROUNDS_MAX = 2
SEED_MAX = 2**64 - 1
THREADS_MAX = 1024
THRESHOLD = 2.0**-10
ENTRIES_MAX = 8_000_000


class Posterior:
    """P, the probability of a link for each pair of nodes, as one of the variants. Made by :func:`estimate`.

    P is never n^2 numbers. :attr:`links` lists pairs, :meth:`row` gives a whole row, and ``posterior @ x`` multiplies
    with all pairs.
    """

    def __init__(self, core: _core.LinkEstimate, reports: Reports, prior: str, variant: str, threads: int) -> None:
        self._core = core
        self._weights = core.weights(variant)
        self._reports = reports
        self._threads = threads
        self._degrees: tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]] | None = None
        self._links: tuple[sp.csr_array, float] | None = None
        self.prior = prior
        self.variant = variant

    @property
    def node_count(self) -> int:
        """n"""
        return self._weights.node_count

    @property
    def links(self) -> sp.csr_array:
        """``[n, n]`` float32, symmetric, without a diagonal.

        hard: the pairs with P > 1/2, each 1. hybrid: the likeliest pairs, as many as links are expected, each P.
        soft: P of the pairs of at least :attr:`threshold`.
        """
        return self._listed()[0]

    @property
    def threshold(self) -> float:
        """The smallest P that is in :attr:`links` of the variant soft: 2^-10, doubled until at most 8,000,000 entries
        are left. 0 for the other variants, and where all pairs with a weight are in the list."""
        return self._listed()[1]

    @property
    def edge_index(self) -> npt.NDArray[np.int64]:
        """``[2, e]`` int64: the entries of :attr:`links`, both directions of each pair, in ascending order."""
        entries = self.links.tocoo()
        return np.stack([entries.row, entries.col]).astype(np.int64)

    @property
    def edge_weight(self) -> npt.NDArray[np.float32]:
        """``[e]`` float32: the weights of :attr:`edge_index`."""
        weights: npt.NDArray[np.float32] = self.links.data
        return weights

    def row(self, node: int) -> npt.NDArray[np.float32]:
        """``[n]`` float32: the weights of all pairs of a node.

        Raises:
          ValueError: ``node`` is not in 0 .. n - 1.
        """
        return self._weights.row(whole("node", node, 0, self.node_count - 1))

    def pairs_from(self, threshold: float) -> sp.csr_array:
        """``[n, n]`` float32: the pairs that weigh at least ``threshold``, above 0.

        Raises:
          MemoryError: they are more than 500,000,000 entries.
          ValueError: ``threshold`` is not above 0.
        """
        if exact("threshold", threshold) <= 0:
            raise ValueError(f"threshold is {threshold}: it must be above 0")
        return self._csr(*self._weights.pairs_from(float(threshold), 500_000_000, self._threads))

    def row_sums(self) -> npt.NDArray[np.float32]:
        """``[n]`` float32: the weighted degrees, over all pairs."""
        return self._weights.row_sums(self._threads)

    def __matmul__(self, x: Any) -> npt.NDArray[np.float32]:
        """``[n]`` or ``[n, width]`` float32: the product of all weights with ``x``, in float32."""
        if sp.issparse(x):
            raise TypeError("x is a sparse matrix: multiply with x.toarray()")
        dense = np.asarray(x, dtype=np.float32)
        if dense.ndim not in (1, 2) or len(dense) != self.node_count:
            raise ValueError(f"x has the shape {dense.shape}: it must have {self.node_count} rows")
        columns = np.ascontiguousarray(dense.reshape(self.node_count, -1))
        return self._weights.product(columns, self._threads).reshape(dense.shape)

    @property
    def best_guess(self) -> sp.csr_array:
        """``[n, n]`` float32: the links themselves, the pairs with P > 1/2. Under the attributed prior it uses the
        labels of the training nodes, which :attr:`links` must not: classifiers are trained on those."""
        return self._csr(*self._core.best_guess.to_list())

    @property
    def expected_links(self) -> float:
        """The sum of P over all pairs, by the best guess."""
        return self._core.best_guess_expected_links

    @property
    def degrees(self) -> npt.NDArray[np.float64]:
        """``[n]`` float64: the estimated degrees, from noisy degrees and bits together, whatever the prior."""
        return self._degree_posterior()[0]

    @property
    def degree_deviation(self) -> npt.NDArray[np.float64]:
        """``[n]`` float64: their standard deviations."""
        return self._degree_posterior()[1]

    @property
    def beta(self) -> npt.NDArray[np.float64] | None:
        """``[K]`` float64: the beta-model's parameter of each distinct degree, ascending. None under the attributed
        prior."""
        return None if self._core.beta_fit is None else self._core.beta_fit[0]

    @property
    def mle_residual(self) -> float | None:
        """The certificate of the beta-model: its largest relative error in a degree, at most 1e-8."""
        return None if self._core.beta_fit is None else self._core.beta_fit[3]

    @property
    def mle_regularised(self) -> bool:
        """Whether the degrees have no finite maximum of the likelihood, so that regularised ones were fitted."""
        return self._core.beta_fit is not None and self._core.beta_fit[2]

    @property
    def coefficients(self) -> dict[str, float]:
        """The attributed prior's, by feature of a pair. Empty under the beta prior."""
        return dict(self._core.coefficients)

    @property
    def expected_quality(self) -> dict[str, float]:
        """What the posterior expects of itself, as right as its prior is: ``log_likelihood`` and ``error`` (the sum of
        |P - A|) over pairs, ``auc``, and ``precision`` and ``recall`` of the pairs with P > 1/2."""
        quality = self._core.expected_quality
        names = ("log_likelihood", "auc", "error", "precision", "recall")
        return {} if quality is None else dict(zip(names, quality))

    @property
    def nodes_without_report(self) -> int:
        """How many nodes have never reported."""
        return self._core.nodes_without_report

    @property
    def seconds(self) -> float:
        """How long the estimate took, without the preparation of the features."""
        return self._core.seconds

    def _csr(self, offsets: Any, columns: Any, values: Any) -> sp.csr_array:
        n = self.node_count
        return sp.csr_array((values, columns, offsets), shape=(n, n))

    def _listed(self) -> tuple[sp.csr_array, float]:
        if self._links is None:
            if self._weights.has_background:
                self._links = self._from_threshold()
            else:
                self._links = self._csr(*self._weights.to_list()), self._core.soft_from if self.variant == "soft" else 0
        return self._links

    def _from_threshold(self) -> tuple[sp.csr_array, float]:
        threshold = THRESHOLD
        while True:
            try:
                return self._csr(*self._weights.pairs_from(threshold, ENTRIES_MAX, self._threads)), threshold
            except MemoryError:
                if threshold >= 1:
                    raise
                threshold *= 2

    def _degree_posterior(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        if self._degrees is None:
            self._degrees = _core.estimate_degrees(self._reports._core, self._threads)
        return self._degrees

    def __copy__(self) -> Posterior:
        return self  # it never changes

    def __deepcopy__(self, memo: Any) -> Posterior:
        return self

    def __reduce__(self) -> Any:
        raise TypeError("a Posterior is not pickled: keep its reports (Reports.save, or pickle) and estimate again, "
                        "which costs no privacy and gives the same P")

    def __repr__(self) -> str:
        return (f"<blink.Posterior of {self.node_count:,} nodes, {self.prior} prior, {self.variant}: "
                f"{self.expected_links:.1f} links expected>")


def estimate(reports: Reports, *, prior: str = "beta", variant: str = "hybrid", features: Any = None,
             labels: Any = None, train: Any = None, validation: Any = None, class_probabilities: Any = None,
             network_rounds: int | None = None, seed: int = 1, tie_seed: int | None = None, threads: int = 0,
             progress: Callable[[float], None] | None = None) -> Posterior:
    """Estimates the links from the reports. This is post-processing: it costs no privacy, however often it is done.

    The same reports and arguments give the same P, bit for bit, on any number of threads of machines with one
    instruction set. It is the P of ``blink simulate`` and of a round, with one exception: under the attributed prior
    with ``labels`` these classify the features by a network first, and this function by a logistic regression, which
    needs no torch. Give ``class_probabilities`` to replace either.

    Args:
      reports: of :func:`privatise`.
      prior: "beta": what the degrees say of a pair. "attributed": also what is public of its two nodes.
      variant: "hard": the pairs with P > 1/2. "soft": all pairs, with P. "hybrid": the likeliest pairs, as many as
        links are expected, with P.
      features: attributed only. ``[n, f]`` finite numbers, a NumPy array or a SciPy sparse matrix. None: there are
        none.
      labels: attributed only. ``[n]`` integers, the class of each node from 0 on, and -1 where it is not known. They
        are used of the nodes of ``train`` and ``validation``, and of no other.
      train, validation: ``[n]`` bool, or the numbers of the nodes. Needed with ``labels``.
      class_probabilities: attributed only, in place of ``labels``: a pair (open, clamped) of ``[n, classes]``, rows
        that sum to 1. ``open`` never knows the row's own label, and ``clamped`` is 1 for the label of a training node.
        One array stands for both.
      network_rounds: attributed only, 0 .. 2. None: 1 or 2, by what the bits spend.
      seed: of the folds that the classes are learnt on, and of the pairs that the coefficients are fitted on.
      tie_seed: decides Hybrid's ties at the cut. None: ``reports.tie_seed``, or where there is none ``seed``.
      threads: 0: all cores.
      progress: called with the share that is done, 0 .. 1. What it raises is raised when the estimate ends.

    Raises:
      MemoryError: the estimate does not fit into memory.
      TypeError, ValueError: an argument is wrong; the message names it.
    """
    if not isinstance(reports, Reports):
        raise TypeError(f"reports is of type {type(reports).__name__}: give what blink.privatise returns")
    one_of("prior", prior, PRIORS)
    one_of("variant", variant, VARIANTS)
    seed = whole("seed", seed, 0, SEED_MAX)
    ties = seed if reports.tie_seed is None else reports.tie_seed
    if tie_seed is not None:
        ties = whole("tie_seed", tie_seed, 0, SEED_MAX)
    threads = whole("threads", threads, 0, THREADS_MAX)
    if progress is not None and not callable(progress):
        raise TypeError(f"progress is of type {type(progress).__name__}: give a function of a share, 0 .. 1")
    public = {"features": features, "labels": labels, "train": train, "validation": validation,
              "class_probabilities": class_probabilities, "network_rounds": network_rounds}
    if prior == "beta":
        for name, value in public.items():
            if value is not None:
                raise ValueError(f"{name} is of the attributed prior, and prior is 'beta': leave it out, or give "
                                 f"prior='attributed'")
        found = _core.estimate_beta(reports._core, variant, ties, threads, progress)
        return Posterior(found, reports, prior, variant, threads)
    rounds = None if network_rounds is None else whole("network_rounds", network_rounds, 0, NETWORK_ROUNDS_MAX)
    n = reports.node_count
    matrix = _features(features, n)
    if class_probabilities is not None:
        for name in ("labels", "train", "validation"):
            if public[name] is not None:
                raise ValueError(f"class_probabilities take the place of {name}: leave out one of them")
        known = _core.prepare_from_probabilities(matrix, *_probabilities(class_probabilities, n), threads)
    elif labels is None:
        for name in ("train", "validation"):
            if public[name] is not None:
                raise ValueError(f"{name} says which labels are known, and labels is None: give both or neither")
        known = _core.prepare_from_labels(matrix, None, None, 1, seed, threads)
    else:
        known = _core.prepare_from_labels(matrix, *_labels(labels, train, validation, n), seed, threads)
    found = _core.estimate_attributed(reports._core, known, variant, rounds, seed, ties, threads, progress)
    return Posterior(found, reports, prior, variant, threads)


def _features(features: Any, n: int) -> _core.FeatureMatrix:
    if features is None:
        return _core.dense_features(np.zeros((n, 0), np.float32))
    shape = getattr(features, "shape", None)
    if shape is None or len(shape) != 2 or shape[0] != n:
        raise ValueError(f"features has the shape {shape}: it must be [{n}, f], a row for each node")
    if sp.issparse(features):
        with np.errstate(over="ignore"):
            rows = sp.csr_array(features, dtype=np.float32, copy=True)
        rows.sum_duplicates()
        _check_finite("features", rows.data)
        return _core.sparse_features(n, shape[1], rows.indptr.astype(np.int64), rows.indices.astype(np.int32),
                                     np.ascontiguousarray(rows.data))
    dense = np.asarray(features)
    if dense.dtype.kind not in "biuf":
        raise TypeError(f"features is an array of {dense.dtype}: give numbers")
    with np.errstate(over="ignore"):  # becomes infinite, which is refused
        values = np.ascontiguousarray(dense, np.float32)
    _check_finite("features", values)
    return _core.dense_features(values)


def _check_finite(name: str, values: npt.NDArray[Any]) -> None:
    if not bool(np.isfinite(values).all()):
        raise ValueError(f"{name} has entries that are NaN or infinite as float32")


def _labels(labels: Any, train: Any, validation: Any, n: int) -> tuple[Any, Any, int]:
    for name, nodes in (("train", train), ("validation", validation)):
        if nodes is None:
            raise ValueError(f"{name} is needed with labels: the nodes whose label may be used")
    classes = np.asarray(labels)
    if classes.shape != (n,) or classes.dtype.kind not in "iu":
        raise ValueError(f"labels has the shape {classes.shape} of {classes.dtype}: give integers [{n}]")
    if classes.min() < -1 or classes.max() > 65_535:
        raise ValueError("labels are classes from 0 on, at most 65,535, or -1 where one is not known")
    trains, validates = _mask("train", train, n), _mask("validation", validation, n)
    if bool((trains & validates).any()):
        raise ValueError("train and validation have nodes in common")
    for name, chosen in (("train", trains), ("validation", validates)):
        if not bool((classes[chosen] >= 0).any()):
            raise ValueError(f"{name} has no node with a label")
    split = np.where(trains, 1, np.where(validates, 2, 0)).astype(np.uint8)
    known = np.where(split > 0, classes, -1).astype(np.int32)
    return known, split, int(known.max()) + 1


def _mask(name: str, nodes: Any, n: int) -> npt.NDArray[np.bool_]:
    chosen = np.asarray(nodes)
    if chosen.dtype == np.bool_ and chosen.shape == (n,):
        return chosen
    if chosen.ndim != 1 or chosen.dtype.kind not in "iu":
        raise ValueError(f"{name} has the shape {chosen.shape} of {chosen.dtype}: give bool [{n}], or numbers of nodes")
    if chosen.size and (chosen.min() < 0 or chosen.max() >= n):
        raise ValueError(f"{name} names a node outside 0 .. {n - 1}")
    mask = np.zeros(n, bool)
    mask[chosen] = True
    return mask


def _probabilities(given: Any, n: int) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    pair = given if isinstance(given, tuple) else (given, given)
    if len(pair) != 2:
        raise ValueError(f"class_probabilities are {len(pair)} arrays: give a pair (open, clamped), or one array")
    arrays = [np.ascontiguousarray(part, np.float32) for part in pair]
    for array in arrays:
        if array.ndim != 2 or len(array) != n or array.shape != arrays[0].shape or array.shape[1] == 0:
            raise ValueError(f"class_probabilities has the shape {array.shape}: it must be [{n}, classes]")
        if not (bool((array >= 0).all()) and bool(np.allclose(array.sum(axis=1), 1, atol=1e-3))):
            raise ValueError("class_probabilities has rows that are no probabilities with the sum 1")
    return arrays[0], arrays[1]
