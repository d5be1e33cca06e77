"""The transform for PyTorch Geometric."""
import copy
import pickle
import warnings

import numpy as np
import pytest

import blink

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")
from torch_geometric.data import Batch, Data, HeteroData, InMemoryDataset  # noqa: E402
from torch_geometric.nn import GCNConv  # noqa: E402
from torch_geometric.transforms import Compose, NormalizeFeatures, ToUndirected  # noqa: E402

from blink import spending  # noqa: E402
from blink.pyg import LinkLDP  # noqa: E402
from conftest import Blocks  # noqa: E402


def make_data(seed, **more):
    blocks = Blocks(seed=seed)
    entries = blocks.adjacency.tocoo()
    masks = {}
    for name, nodes in (("train_mask", blocks.train), ("val_mask", blocks.validation)):
        masks[name] = torch.zeros(240, dtype=torch.bool)
        masks[name][torch.from_numpy(nodes)] = True
    return Data(x=torch.from_numpy(blocks.features), y=torch.from_numpy(blocks.labels),
                edge_index=torch.from_numpy(np.stack([entries.row, entries.col]).astype(np.int64)), **masks, **more)


@pytest.mark.parametrize("prior", ["beta", "attributed"])
@pytest.mark.parametrize("variant", ["hard", "soft", "hybrid"])
def test_the_graph_of_the_copy_is_the_posterior(prior, variant):
    data = make_data(seed=21)
    before = copy.deepcopy(data)
    private = LinkLDP(3, prior=prior, variant=variant, degree_share=0.05)(data)
    assert torch.equal(data.edge_index, before.edge_index) and "privacy_loss" not in data  # a copy, and
    assert private.x is data.x and private.y is data.y  # a shallow one
    assert private.edge_index.shape[1] == len(private.edge_weight) > 0
    assert private.edge_index.dtype == torch.int64 and private.edge_weight.dtype == torch.float32
    assert private.is_undirected() and not private.has_self_loops() and private.num_nodes == 240
    assert private.privacy_loss == blink.PrivacyLoss(3_000_000, 1)
    assert GCNConv(60, 3)(private.x, private.edge_index, private.edge_weight).shape == (240, 3)


def test_the_draw_is_made_once_a_graph_however_often_it_is_asked_for():
    class Set(InMemoryDataset):
        def __init__(self, transform):
            super().__init__(transform=transform)
            self.data, self.slices = self.collate([make_data(seed=22), make_data(seed=23)])

    accountant = blink.Accountant()
    dataset = Set(Compose([NormalizeFeatures(), LinkLDP(2, accountant=accountant)]))
    graphs = [dataset[0] for _ in range(3)]
    assert accountant.spent.draws == 1
    assert all(torch.equal(graph.edge_index, graphs[0].edge_index) for graph in graphs)
    assert not torch.equal(dataset[1].edge_index, graphs[0].edge_index) and accountant.spent.draws == 2


def test_another_budget_for_the_same_graph_is_an_error_unless_asked_for():
    data = make_data(seed=24)
    LinkLDP(2)(data)
    with pytest.raises(blink.SecondDrawError, match="allow_redraw=True"):
        LinkLDP(3)(data)
    assert LinkLDP(3, allow_redraw=True)(data).privacy_loss.epsilon_per_link == 10


def test_nothing_of_the_true_edges_stays():
    edges = make_data(seed=25).num_edges
    of_edges = {"edge_attr": torch.ones(edges, 2), "edge_label": torch.ones(5), "strength": torch.ones(edges),
                "my_index": torch.ones(2, edges), "train_pos_index": torch.ones(2, 7), "pairs": [(0, 1)],
                "lists": {0: [1]}, "entries": np.ones(edges)}
    data = make_data(seed=25, **of_edges, name="blocks", year=2026, size=torch.ones(240, 3), scale=torch.tensor(0.5))
    private = LinkLDP(2)(data)
    assert set(private.keys()) - {"edge_weight", "privacy_loss", "num_nodes"} == set(data.keys()) - set(of_edges)


def test_nothing_of_as_many_edges_as_nodes_stays():
    data = make_data(seed=33)
    data.edge_index = ToUndirected()(Data(edge_index=torch.stack([torch.arange(120), torch.arange(120) + 120]),
                                          num_nodes=240)).edge_index
    data.pairs = data.edge_index.T.contiguous()
    assert data.num_edges == data.num_nodes == 240
    private = LinkLDP(2)(data)
    assert "pairs" not in private and "x" in private and "train_mask" in private


def test_a_copy_and_another_process_have_the_same_draw(monkeypatch):
    data, other = make_data(seed=34), make_data(seed=35)
    transform = LinkLDP(2)
    edges = transform(data).edge_index
    pickled = pickle.dumps(transform)
    monkeypatch.setattr(spending, "draws", {})  # as in another process
    monkeypatch.setattr(spending, "token", "another")
    there = pickle.loads(pickled)
    assert torch.equal(there(data).edge_index, edges)
    with pytest.raises(blink.SecondDrawError, match="forked or started by another"):
        there(other)
    with pytest.raises(blink.SecondDrawError, match="forked or started by another"):
        pickle.loads(pickle.dumps(there))(other)
    monkeypatch.undo()
    for twin in (copy.deepcopy(transform), pickle.loads(pickled)):
        assert torch.equal(twin(data).edge_index, edges)
        assert twin(data).privacy_loss == blink.PrivacyLoss(2_000_000, 1)
        assert twin(other).num_nodes == 240


def test_what_was_drawn_without_the_transform_counts():
    blocks, data = Blocks(seed=36), make_data(seed=36)
    blink.privatise(blocks.adjacency, epsilon=3)
    accountants = [blink.Accountant(), blink.Accountant()]
    for accountant in accountants * 2:
        assert LinkLDP(2, accountant=accountant)(data).privacy_loss == blink.PrivacyLoss(5_000_000, 2)
        assert accountant.spent == blink.PrivacyLoss(2_000_000, 1)


@pytest.mark.parametrize("change, reason", [
    (lambda d: setattr(d, "y", d.y.float()), "it has the shape .* of torch.float32"),
    (lambda d: setattr(d, "y", torch.nn.functional.one_hot(d.y)), r"it has the shape \[240, 3\]"),
    (lambda d: delattr(d, "val_mask"), "there is no data.val_mask"),
])
def test_labels_that_cannot_be_used_are_told_of(change, reason):
    with pytest.warns(UserWarning, match=f"data.y is not used: {reason}"):
        LinkLDP(2, prior="attributed")(broken(change))


def test_labels_in_a_column_are_labels():
    data = make_data(seed=27)
    expected = LinkLDP(2, prior="attributed")(data).edge_weight
    data.y = data.y[:, None]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert torch.equal(LinkLDP(2, prior="attributed")(data).edge_weight, expected)


@pytest.mark.parametrize("form", [lambda x: x.to_sparse(), lambda x: x.to_sparse_csr(), lambda x: x.bfloat16(),
                                  lambda x: x.half(), lambda x: x.bool()])
def test_features_of_other_forms_are_the_same_features(form):
    data = make_data(seed=27)
    expected = LinkLDP(2, prior="attributed")(data).edge_weight
    data.x = form(data.x)
    assert torch.equal(LinkLDP(2, prior="attributed")(data).edge_weight, expected)


def test_isolated_nodes_are_nodes():
    data = make_data(seed=26)
    data.edge_index = data.edge_index[:, :0]
    assert LinkLDP(20)(data).num_nodes == 240


def broken(change):
    data = make_data(seed=27)
    change(data)
    return data


@pytest.mark.parametrize("change, message", [
    (lambda d: setattr(d, "edge_index", d.edge_index[:, d.edge_index[0] < d.edge_index[1]]), "not symmetric"),
    (lambda d: setattr(d, "edge_index", torch.cat([d.edge_index, torch.tensor([[3], [3]])], 1)), "self-loops"),
    (lambda d: setattr(d, "edge_index", None), "no edge_index"),
    (lambda d: setattr(d, "train_mask", d.train_mask[:, None].repeat(1, 10)), r"data.train_mask\[:, 0\]"),
    (lambda d: setattr(d, "val_mask", d.val_mask.long()), r"data.val_mask.bool\(\)"),
])
def test_wrong_data_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        LinkLDP(2, prior="attributed")(broken(change))


def test_what_the_remedy_says_helps():
    data = make_data(seed=28)
    data.edge_index = data.edge_index[:, data.edge_index[0] < data.edge_index[1]]
    assert Compose([ToUndirected(), LinkLDP(2)])(data).num_nodes == 240


def test_two_nodes_are_no_graph():
    with pytest.raises(ValueError, match="data has 2 nodes: it must have 3 or more"):
        LinkLDP(2)(Data(edge_index=torch.tensor([[0], [1]]), num_nodes=2))


def test_graphs_of_several_types_are_refused():
    with pytest.raises(TypeError, match="HeteroData: LinkLDP takes a homogeneous Data"):
        LinkLDP(2)(HeteroData())
    with pytest.raises(TypeError, match="Batch: LinkLDP takes a homogeneous Data, one graph"):
        LinkLDP(2)(Batch.from_data_list([make_data(seed=29), make_data(seed=30)]))


def test_private_data_is_read_without_pickles(tmp_path):
    private = LinkLDP(2)(make_data(seed=37))
    torch.save(private.to_dict(), tmp_path / "private.pt")
    read = torch.load(tmp_path / "private.pt", weights_only=True)
    assert read["privacy_loss"] == private.privacy_loss and torch.equal(read["edge_index"], private.edge_index)


@pytest.mark.parametrize("arguments, message", [
    ({"epsilon": 0}, "epsilon is 0"), ({"epsilon": 2, "prior": "x"}, "prior is 'x'"),
    ({"epsilon": 2, "variant": "x"}, "variant is 'x'"), ({"epsilon": 2, "degree_share": -1}, "degree_share is -1"),
    ({"epsilon": 2, "seed": 0.5}, "seed is 0.5"),
])
def test_wrong_parameters_are_refused_when_it_is_made(arguments, message):
    with pytest.raises(ValueError, match=message):
        LinkLDP(**arguments)


def test_it_shows_what_it_does():
    assert repr(LinkLDP(3, prior="attributed")) == "LinkLDP(epsilon=3, prior='attributed', variant='hybrid')"
