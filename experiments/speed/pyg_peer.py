#!/usr/bin/env python3
"""The peer: an epoch of torch-geometric on a data-set folder, as JSON. Needs torch, torch_geometric and numpy
(../README.md).

    pyg_peer.py --dataset DIR --model gcn [--links links.csv] [--form plain sparse] [--device cpu] [--threads 2]
    [--epochs 100]

What blink's epoch_ms_mean counts: one training step (forward, loss on the training nodes, backward, Adam) and one
evaluation (forward without dropout, losses and accuracy of validation and test nodes), two layers, 16 hidden,
row-normalised features. The first epochs (warm-up) do not count. Forms:

    plain     as its examples are written: edge_index, dense features; GCNConv(cached=True), since the links never
              change
    sparse    the adjacency as a torch.sparse CSR matrix (what ToSparseTensor makes), and the features too where fewer
              than a fifth are not zero; GraphSAGE's stay dense, since its mean of neighbours takes no sparse features
"""
import csv
import json
import pathlib
import sys
import time
import warnings

import numpy
import torch
import torch.nn.functional as functional

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from command_line import Parser  # noqa: E402


def read_features(folder):
    """[n, f] float32, normalised as torch_geometric.transforms.NormalizeFeatures does."""
    if (folder / "features.npy").exists():
        x = torch.from_numpy(numpy.load(folder / "features.npy")).float()
    else:
        parts = numpy.load(folder / "features.npz")
        x = torch.zeros(tuple(parts["shape"].tolist()))
        rows = numpy.repeat(numpy.arange(x.shape[0]), numpy.diff(parts["indptr"]))
        x[torch.from_numpy(rows),
          torch.from_numpy(parts["indices"].astype("int64"))] = torch.from_numpy(parts["data"]).float()
    x = x - x.min()
    return x / x.sum(dim=1, keepdim=True).clamp(min=1.0)


def read_column(path, name):
    with open(path, newline="") as file:
        return [row[name] for row in csv.DictReader(file)]


def read_edges(path):
    """[2, 2 links] int64, both directions, sorted as torch-geometric's data sets are."""
    links = numpy.loadtxt(path, delimiter=",", skiprows=1, usecols=(0, 1), dtype="int64", ndmin=2)
    both = torch.from_numpy(numpy.concatenate([links, links[:, ::-1]]).T.copy())
    return both[:, (both[0] * (int(both.max()) + 1) + both[1]).argsort()]


def adjacency(edges, nodes):
    """[nodes, nodes] CSR: row i holds the links into i."""
    return torch.sparse_coo_tensor(edges.flip(0), torch.ones(edges.shape[1], device=edges.device),
                                   (nodes, nodes)).coalesce().to_sparse_csr()


def inputs_of(form, model, x, edges):
    """(features, links) as the model's layers take them."""
    if form == "plain":
        return x, edges
    thin = model != "graphsage" and (x != 0).float().mean() < 0.2
    return x.to_sparse_csr() if thin else x, adjacency(edges, x.shape[0])


def make_model(name, features, classes, dropout):
    from torch_geometric.nn import GATConv, GCNConv, SAGEConv
    layer = {"gcn": lambda *size: GCNConv(*size, cached=True), "graphsage": SAGEConv, "gat": GATConv}[name]

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = layer(features, 16), layer(16, classes)

        def forward(self, x, edges):
            x = functional.relu(self.first(x, edges))
            return self.second(functional.dropout(x, dropout, self.training), edges)

    return Net()


def measure(form, options):
    """(milliseconds an epoch, test accuracy)"""
    device = torch.device(options.device)
    torch.manual_seed(1)
    x, edges = read_features(options.dataset).to(device), read_edges(options.links
                                                                     or options.dataset / "edges.csv").to(device)
    columns = x.shape[1]
    x, edges = inputs_of(form, options.model, x, edges)
    labels = torch.tensor([int(label) for label in read_column(options.dataset / "labels.csv", "label")], device=device)
    splits = read_column(options.dataset / "split.csv", "split")
    masks = [torch.tensor([split == name for split in splits], device=device) for name in ("train", "val", "test")]
    model = make_model(options.model, columns, int(labels.max()) + 1, 0.1).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=1e-4)

    def epoch():
        model.train()
        optimizer.zero_grad()
        functional.cross_entropy(model(x, edges)[masks[0]], labels[masks[0]]).backward()
        optimizer.step()
        model.eval()
        with torch.no_grad():
            logits = model(x, edges)
            loss = functional.cross_entropy(logits[masks[1]], labels[masks[1]]).item()
            right = [(logits[mask].argmax(1) == labels[mask]).float().mean().item() for mask in masks[1:]]
        return loss, right

    def finish():
        if device.type == "cuda":
            torch.cuda.synchronize()

    for _ in range(options.warm_up):
        epoch()
    finish()
    started = time.perf_counter()
    for _ in range(options.epochs):
        _, right = epoch()
    finish()
    return 1e3 * (time.perf_counter() - started) / options.epochs, right[1]


def main():
    parser = Parser(__doc__)
    parser.add_argument("--dataset", type=pathlib.Path, required=True)
    parser.add_argument("--links", type=pathlib.Path, help="source,target rows instead of the data set's edges.csv")
    parser.add_argument("--model", choices=("gcn", "graphsage", "gat"), required=True)
    parser.add_argument("--form", nargs="+", choices=("plain", "sparse"), default=["plain"])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--warm-up", type=int, default=10)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    try:
        import torch_geometric
    except ImportError as error:
        print(f"pyg_peer: {error}: pip install torch_geometric, in a virtual environment", file=sys.stderr)
        return 77
    warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")
    forms, problems = {}, {}
    for form in options.form:
        try:
            epoch_ms, accuracy = measure(form, options)
            forms[form] = {"epoch_ms": epoch_ms, "test_accuracy": accuracy}
        except (RuntimeError,
                NotImplementedError) as problem:  # an operation that this device has not for sparse matrices
            problems[form] = str(problem).strip().splitlines()[0]
    if not forms:
        print(f"pyg_peer: {problems}", file=sys.stderr)
        return 1
    print(json.dumps({"model": options.model, "forms": forms, "problems": problems, "device": options.device,
                      "threads": options.threads, "epochs": options.epochs, "torch": torch.__version__,
                      "torch_geometric": torch_geometric.__version__}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
