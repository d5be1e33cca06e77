"""Graphs of the tests, and the programs that the package is compared with."""
import os
import pathlib

import numpy as np
import pytest
import scipy.sparse as sp

import blink


def make_graph(nodes: int, degree: float, seed: int) -> sp.csr_array:
    """A random graph with a few hubs."""
    random = np.random.default_rng(seed)
    popularity = random.pareto(2.5, nodes) + 1
    ends = random.choice(nodes, (2, int(nodes * degree / 2)), p=popularity / popularity.sum())
    return blink.adjacency_from_edges(ends, nodes=nodes)


@pytest.fixture(scope="session")
def graph() -> sp.csr_array:
    return make_graph(150, 5, seed=1)


@pytest.fixture(scope="session")
def reports(graph: sp.csr_array) -> blink.Reports:
    return blink.privatise(graph, epsilon=3)


class Blocks:
    """A graph of three classes with features that tell of them, and a split."""

    def __init__(self, nodes: int = 240, seed: int = 2) -> None:
        random = np.random.default_rng(seed)
        self.labels = random.integers(0, 3, nodes)
        same = self.labels[:, None] == self.labels[None, :]
        links = np.triu(random.random((nodes, nodes)) < np.where(same, 0.06, 0.004), 1)
        self.adjacency = sp.csr_array((links | links.T).astype(np.int8))
        words = np.where(np.arange(60)[None, :] % 3 == self.labels[:, None], 0.18, 0.06)
        self.features = (random.random((nodes, 60)) < words).astype(np.float32)
        split = random.permutation(nodes)
        self.train, self.validation = split[: nodes // 2], split[nodes // 2: 3 * nodes // 4]


@pytest.fixture(scope="session")
def blocks() -> Blocks:
    return Blocks()


@pytest.fixture(scope="session")
def program() -> pathlib.Path:
    """The program `blink` of the same sources."""
    path = pathlib.Path(os.environ.get("BLINK_BIN_DIR", "build/release/bin")) / "blink"
    if not path.exists():
        pytest.skip(f"{path} is not built: BLINK_BIN_DIR names the folder of the programs")
    return path
