"""A transform for PyTorch Geometric: the graph of the data, privatised and denoised.

    from blink.pyg import LinkLDP
    private = LinkLDP(epsilon=3, prior="attributed")(data)
    model(private.x, private.edge_index, private.edge_weight)
    print(private.privacy_loss)
"""

from __future__ import annotations

import copy
import hashlib
import warnings
from typing import Any

import numpy as np

try:
    import torch
    from torch_geometric.data import Batch, Data
    from torch_geometric.transforms import BaseTransform
except ImportError as error:
    raise ImportError("blink.pyg needs torch and torch_geometric: pip install 'blink-ldp[pyg]'") from error

from . import _core, spending
from ._graph import NODES_MIN, adjacency_from_edges, graph_of
from ._numbers import Number, epsilon_micro, one_of, share_ppm, whole
from .accountant import Accountant, PrivacyLoss
from .draws import adopt, draw_once, draws_of
from .posterior import SEED_MAX, THREADS_MAX, VARIANTS, Posterior, estimate
from .reports import PRIORS

NODE_NAMES = ("x", "y", "pos", "batch", "n_id", "train_mask", "val_mask", "test_mask")

torch.serialization.add_safe_globals([PrivacyLoss])  # so that torch.load(weights_only=True) reads private data


class LinkLDP(BaseTransform):  # type: ignore[misc]
    """Replaces the links of a graph by what an aggregator can know of them under link local differential privacy.

    A data set calls its ``transform`` at every access. Noise is drawn once for each graph, by its content, and later
    calls get the same reports and spend nothing (:func:`blink.draws.draw_once`). To draw a graph again with another
    budget is an error, unless ``allow_redraw`` is given.

    The result is a shallow copy with

    * ``edge_index`` ``[2, e]`` and ``edge_weight`` ``[e]``: :attr:`blink.Posterior.edge_index` of ``variant``;
    * ``privacy_loss``: what all draws of this graph have spent, a :class:`blink.PrivacyLoss`;

    and with what is known to be of the nodes: tensors with a row for each node, single numbers, truths and texts. All
    else is left out, since it could tell of the true edges. **What was computed from the links does not become
    private**: put ``LinkLDP`` before a transform that computes features of nodes from links.

    Under the attributed prior ``x``, and of the nodes in ``train_mask`` and ``val_mask`` ``y``, are used. A warning
    says where ``y`` is not used.

    A pickle holds the reports that were drawn, so that another process has the same ones. A graph that is not among
    them is refused there.

    Args:
      epsilon, degree_share, accountant: as for :func:`blink.privatise`.
      prior, variant, seed, threads: as for :func:`blink.estimate`. The variant "hard" has weights of 1.
      allow_redraw: draw a graph again that was drawn with another budget, and spend that too.

    Raises:
      SecondDrawError, and what :func:`blink.privatise` and :func:`blink.estimate` raise, when it is called.
    """

    def __init__(self, epsilon: Number, *, prior: str = "beta", variant: str = "hybrid",
                 degree_share: Number | None = None, seed: int = 1, threads: int = 0, allow_redraw: bool = False,
                 accountant: Accountant | None = None) -> None:
        self.epsilon = epsilon
        self.prior = one_of("prior", prior, PRIORS)
        self.variant = one_of("variant", variant, VARIANTS)
        self.seed = whole("seed", seed, 0, SEED_MAX)
        self.threads = whole("threads", threads, 0, THREADS_MAX)
        self.allow_redraw = allow_redraw
        self.accountant = accountant
        self._epsilon_micro = epsilon_micro(epsilon)
        self._share_ppm = (_core.default_degree_share_ppm(self._epsilon_micro, prior) if degree_share is None
                           else share_ppm(degree_share))
        self._posteriors: dict[tuple[str, str], Posterior] = {}  # by the digests of graph and attributes
        self._drawn: set[str] = set()  # the graphs, by their digests
        self._may_draw = True

    def forward(self, data: Any) -> Any:
        """The private copy of a :class:`torch_geometric.data.Data`. ``data`` stays as it is."""
        if not isinstance(data, Data) or isinstance(data, Batch):
            raise TypeError(f"data is of type {type(data).__name__}: LinkLDP takes a homogeneous Data, one graph")
        if data.edge_index is None:
            remedy = " (data.adj_t: put ToSparseTensor after LinkLDP)" if "adj_t" in data else ""
            raise ValueError(f"data has no edge_index: LinkLDP privatises the links of a graph{remedy}")
        graph = _graph_of(data)
        reports, loss = draw_once(graph, self._epsilon_micro, self._share_ppm, allow_redraw=self.allow_redraw,
                                  accountant=self.accountant, may_draw=self._may_draw)
        self._drawn.add(graph.digest)
        public = _public_of(data) if self.prior == "attributed" else {}
        key = graph.digest, _digest_of(public)
        if key not in self._posteriors:
            self._posteriors = {key: estimate(reports, prior=self.prior, variant=self.variant, seed=self.seed,
                                              threads=self.threads, **public)}  # of the last graph alone
        posterior = self._posteriors[key]
        private = copy.copy(data)
        for name in data.keys():
            if not _is_of_nodes(data, name):
                delattr(private, name)
        device = data.edge_index.device
        private.edge_index = torch.from_numpy(posterior.edge_index).to(device)
        private.edge_weight = torch.from_numpy(posterior.edge_weight.copy()).to(device)
        private.num_nodes = graph.node_count
        private.privacy_loss = loss
        return private

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_posteriors": {}, "_draws": draws_of(self._drawn), "_token": spending.token}

    def __setstate__(self, state: dict[str, Any]) -> None:
        adopt(state.pop("_draws"))
        here = state.pop("_token") == spending.token
        self.__dict__.update(state, _may_draw=state["_may_draw"] and here)

    def __repr__(self) -> str:
        return f"LinkLDP(epsilon={self.epsilon}, prior={self.prior!r}, variant={self.variant!r})"


def _graph_of(data: Any) -> Any:
    ends = data.edge_index.detach().cpu().numpy()
    n = int(data.num_nodes)
    if n < NODES_MIN:
        raise ValueError(f"data has {n} nodes: it must have {NODES_MIN} or more")
    if bool((ends[0] == ends[1]).any()):
        raise ValueError("data.edge_index has self-loops: remove them first (transforms.RemoveSelfLoops)")
    adjacency = adjacency_from_edges(ends, nodes=n)
    if adjacency.nnz != len(np.unique(ends[0].astype(np.int64) * n + ends[1])):
        raise ValueError("data.edge_index is not symmetric: an undirected link is in both lists "
                         "(transforms.ToUndirected)")
    return graph_of(adjacency, "data.edge_index")


def _is_of_nodes(data: Any, name: str) -> bool:
    """Whether it cannot be of the true edges: by its size, and where there are as many edges as nodes by its name."""
    value = data[name]
    if isinstance(value, (bool, int, float, str)):
        return True
    if not torch.is_tensor(value) or "edge" in name or "adj" in name:
        return False
    if value.dim() == 0:
        return True
    return value.shape[0] == data.num_nodes and (data.num_edges != data.num_nodes or name in NODE_NAMES)


def _public_of(data: Any) -> dict[str, Any]:
    public: dict[str, Any] = {}
    x, y = data.get("x"), data.get("y")
    if x is not None:
        dense = x.detach().cpu()
        dense = dense.to_dense() if dense.layout != torch.strided else dense
        public["features"] = (dense.float() if dense.dtype == torch.bfloat16 else dense).numpy()
    masks = {name: data.get(name) for name in ("train_mask", "val_mask")}
    if y is None:
        return public
    if y.dim() == 2 and y.shape[1] == 1:
        y = y[:, 0]
    missing = [name for name, mask in masks.items() if mask is None]
    if missing or y.dim() != 1 or y.is_floating_point():
        reason = (f"there is no data.{missing[0]}" if missing else
                  f"it has the shape {list(y.shape)} of {y.dtype}, and classes are integers [n]")
        warnings.warn(f"data.y is not used: {reason}. The links are estimated from the features alone", stacklevel=3)
        return public
    for name, mask in masks.items():
        if mask.dim() != 1 or mask.dtype != torch.bool:
            remedy = f"{name}[:, 0]" if mask.dim() > 1 else f"{name}.bool()"
            raise ValueError(f"data.{name} has the shape {list(mask.shape)} of {mask.dtype}, and a mask is a truth for "
                             f"each node: data.{name} = data.{remedy}")
    public["labels"] = y.detach().cpu().numpy()
    public["train"], public["validation"] = (mask.detach().cpu().numpy() for mask in masks.values())
    return public


def _digest_of(public: dict[str, Any]) -> str:
    digest = hashlib.sha256()
    for name in sorted(public):
        array = np.ascontiguousarray(public[name])
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()
