#!/usr/bin/env python3
"""Writes pyg_layers.txt: outputs and gradients of stock PyTorch Geometric layers, which network_golden_test.cc
reproduces.

Run where torch 2.11 and torch-geometric 2.8 are installed:  python3 make_pyg_layers.py > pyg_layers.txt
A line is: network, tensor, shape (as 2x3), values. Gradients are those of sum(logits * targets).
"""
import torch
from torch_geometric.nn import GATConv, GCNConv, SAGEConv

NODES, FEATURES, HIDDEN, CLASSES = 9, 6, 4, 3
# Node 7 has no link. Undirected, each once, with the weights that the weighted GCN takes.
LINKS = [(0, 1, .9), (0, 2, .3), (0, 3, .55), (1, 2, .7), (3, 4, .2), (4, 5, .95), (4, 6, .6), (5, 6, .85), (2, 8, .4)]


def write(network, name, tensor):
    shape = "x".join(str(size) for size in tensor.shape)
    print(network, name, shape, *(f"{value:.9g}" for value in tensor.detach().flatten().tolist()))


def normalize(x):  # torch_geometric.transforms.NormalizeFeatures
    x = x - x.min()
    return x / x.sum(dim=-1, keepdim=True).clamp(min=1.0)


class Network(torch.nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.conv1 = layer(FEATURES, HIDDEN)
        self.conv2 = layer(HIDDEN, CLASSES)

    def forward(self, x, edges, *weight):
        return self.conv2(self.conv1(x, edges, *weight).relu(), edges, *weight)


def main():
    torch.manual_seed(38)
    x = torch.rand(NODES, FEATURES) ** 8  # nodes that differ, so that attention sees both signs
    targets = torch.rand(NODES, CLASSES)
    ends = torch.tensor([(i, j) for i, j, _ in LINKS] + [(j, i) for i, j, _ in LINKS]).t()
    weight = torch.tensor([w for _, _, w in LINKS] * 2)
    write("data", "features", x)
    write("data", "targets", targets)
    write("data", "links", torch.tensor([[i, j, w] for i, j, w in LINKS]))
    for name, layer, arguments in (("gcn", GCNConv, ()), ("gcn_weighted", GCNConv, (weight,)),
                                   ("graphsage", SAGEConv, ()), ("gat", GATConv, ())):
        network = Network(layer)
        # biases too; those of the first layer keep its ReLU mostly open
        for key, parameter in network.named_parameters():
            shift = 0.5 if key.startswith("conv1") and "bias" in key else -0.15
            parameter.data += 0.3 * torch.rand(parameter.shape) + shift
        logits = network(normalize(x), ends, *arguments)
        (logits * targets).sum().backward()
        for key, parameter in network.named_parameters():
            write(name, key, parameter)
            write(name, "gradient:" + key, parameter.grad)
        write(name, "logits", logits)


if __name__ == "__main__":
    main()
