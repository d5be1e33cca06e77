"""Graphs as Python has them: checked, and in the form that the libraries take.

Security: no message says which entry is wrong. It would tell of a link.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

NODES_MIN, NODES_MAX = 3, 10_000_000


@dataclass(frozen=True)
class Graph:
    """An undirected simple graph in compressed rows.

    Attributes:
      offsets: ``[n + 1]`` int64.
      neighbours: ``[2 * links]`` uint32, ascending in a row.
    """

    offsets: np.ndarray
    neighbours: np.ndarray

    @property
    def node_count(self) -> int:
        return len(self.offsets) - 1

    @property
    def digest(self) -> str:
        """SHA-256 of its content, in hexadecimal: equal for equal graphs, whatever they were given as."""
        digest = hashlib.sha256(b"blink graph 1")
        digest.update(np.ascontiguousarray(self.offsets, dtype="<i8").tobytes())
        digest.update(np.ascontiguousarray(self.neighbours, dtype="<u4").tobytes())
        return digest.hexdigest()


def graph_of(adjacency: Any, name: str = "adjacency") -> Graph:
    """Checks an adjacency matrix ``[n, n]``: a SciPy sparse matrix or a NumPy array of zeros and ones.

    Raises:
      TypeError: it is neither.
      ValueError: it is not square, not symmetric, has another value than 0 and 1, or an entry on its diagonal.
    """
    if sp.issparse(adjacency):
        matrix = sp.csr_array(adjacency, copy=True)
    elif isinstance(adjacency, np.ndarray) and adjacency.ndim == 2:
        if adjacency.dtype.kind not in "biuf":
            raise TypeError(f"{name} is an array of {adjacency.dtype}: give zeros and ones")
        matrix = sp.csr_array(adjacency.astype(np.float32) if adjacency.dtype == np.float16 else adjacency)
    else:
        raise TypeError(f"{name} is of type {type(adjacency).__name__}: give a SciPy sparse matrix or a NumPy array "
                        f"[n, n] (of an edge list: blink.adjacency_from_edges)")
    n, columns = matrix.shape
    if n != columns:
        raise ValueError(f"{name} has the shape {matrix.shape}: it must be square, a row and a column for each node")
    if not NODES_MIN <= n <= NODES_MAX:
        raise ValueError(f"{name} is of {n} nodes: it must be of {NODES_MIN} .. {NODES_MAX:,}")
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    if matrix.dtype.kind == "c" or not bool(np.all(matrix.data == 1)):
        raise ValueError(f"{name} has entries other than 0 and 1: a link is there or not (of weights: "
                         f"({name} > 0).astype('int8'))")
    if matrix.diagonal().any():
        raise ValueError(f"{name} has entries on its diagonal: remove the self-loops first ({name}.setdiag(0))")
    matrix = matrix.astype(np.int8)
    if (matrix != matrix.T).nnz:
        raise ValueError(f"{name} is not symmetric: an undirected link is in both lists ({name}.maximum({name}.T))")
    matrix.sort_indices()
    return Graph(matrix.indptr.astype(np.int64), matrix.indices.astype(np.uint32))


def adjacency_from_edges(edges: Any, *, nodes: int) -> sp.csr_array:
    """The adjacency matrix of a list of edges.

    Args:
      edges: ``[2, e]`` or ``[e, 2]`` integers, each edge in one direction or in both. A list ``[2, 2]`` is read as
        ``[2, e]``.
      nodes: n, which isolated nodes count towards.

    Returns:
      ``[n, n]`` int8, symmetric, without the self-loops, each edge once.

    Raises:
      ValueError: the shape is another one, or an end is not below ``nodes``.
    """
    ends = np.asarray(edges)
    if ends.ndim != 2 or 2 not in ends.shape or (ends.size and ends.dtype.kind not in "iu"):
        raise ValueError(f"edges has the shape {ends.shape} of {ends.dtype}: give integers [2, e]")
    if ends.shape[0] != 2:
        ends = ends.T
    if ends.size and (ends.min() < 0 or ends.max() >= nodes):
        raise ValueError(f"edges has an end outside 0 .. {nodes - 1} (nodes is {nodes})")
    ends = ends[:, ends[0] != ends[1]].astype(np.int64)
    both = np.concatenate([ends, ends[::-1]], axis=1)
    matrix = sp.coo_array((np.ones(both.shape[1], np.int8), (both[0], both[1])), shape=(nodes, nodes)).tocsr()
    matrix.sum_duplicates()
    matrix.data[:] = 1
    return matrix
