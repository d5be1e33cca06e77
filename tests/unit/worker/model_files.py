"""model_files.py ATTRIBUTES RESULT..: from the files of a result alone, with plain torch, the logits that blink had.

Of every result folder reads model.pt, model.ts, links.csv, metrics.json and predictions.csv, computes the logits by the
formulas of PyG's layers under their names in the state dict, and compares them with logits.f32, which the test left
there.
"""
import array
import ast
import csv
import json
import pathlib
import sys
import zipfile

import torch

TYPES = {"<f4": "f", "<i4": "i", "<i8": "q"}


def read_npy(data):
    header_bytes = int.from_bytes(data[8:10], "little")
    header = ast.literal_eval(data[10:10 + header_bytes].decode("latin1"))
    values = array.array(TYPES[header["descr"]])
    values.frombytes(data[10 + header_bytes:])
    return list(values), header["shape"]


def read_features(folder):
    with zipfile.ZipFile(folder / "features.npz") as archive:
        offsets, columns, values, shape = (read_npy(archive.read(name + ".npy"))[0]
                                           for name in ("indptr", "indices", "data", "shape"))
    x = torch.zeros(*shape)
    for row in range(shape[0]):
        for k in range(offsets[row], offsets[row + 1]):
            x[row, columns[k]] = values[k]
    x = x - x.min()
    return x / x.sum(1, keepdim=True).clamp(min=1)  # PyG's NormalizeFeatures


def read_links(path):
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    source = [int(row["source"]) for row in rows]
    target = [int(row["target"]) for row in rows]
    weight = [float(row["weight"]) for row in rows] if rows and "weight" in rows[0] else None
    edge_index = torch.tensor([source + target, target + source])
    return edge_index, None if weight is None else torch.tensor(weight + weight)


def dense(edge_index, edge_weight, n):
    w = torch.zeros(n, n)
    w[edge_index[1], edge_index[0]] = 1.0 if edge_weight is None else edge_weight
    return w


def layer(model, state, number, x, w):
    """One layer on the dense weights w [n, n]."""
    if model == "mlp":
        return x @ state[f"lin{number}.weight"].T + state[f"lin{number}.bias"]
    name = f"conv{number}."
    n = x.shape[0]
    if model == "gcn":
        with_self = w + torch.eye(n)
        scale = with_self.sum(1).clamp(min=1).rsqrt()
        return (scale[:, None] * with_self * scale) @ (x @ state[name + "lin.weight"].T) + state[name + "bias"]
    if model == "graphsage":
        mean = w @ x / w.sum(1, keepdim=True).clamp(min=1)
        return mean @ state[name + "lin_l.weight"].T + state[name + "lin_l.bias"] + x @ state[name + "lin_r.weight"].T
    assert model == "gat", model
    h = x @ state[name + "lin.weight"].T
    with_self = w + torch.eye(n)
    scores = (h @ state[name + "att_dst"].view(-1))[:, None] + (h @ state[name + "att_src"].view(-1))[None, :]
    exponentials = with_self * torch.exp(torch.nn.functional.leaky_relu(scores, 0.2))
    attention = exponentials / exponentials.sum(1, keepdim=True)
    return (with_self * attention) @ h + state[name + "bias"]


def check(folder, x):
    metrics = json.loads((folder / "metrics.json").read_text())["train"]
    n = x.shape[0]
    edge_index, edge_weight = read_links(folder / "links.csv")
    values = array.array("f")
    values.frombytes((folder / "logits.f32").read_bytes())
    expected = torch.tensor(list(values)).view(n, -1)

    state = torch.load(folder / "model.pt")
    w = dense(edge_index, edge_weight, n)
    logits = x
    for number in range(1, metrics["layers"] + 1):
        logits = layer(metrics["model"], state, number, logits if number == 1 else torch.relu(logits), w)
    assert torch.allclose(logits, expected, atol=2e-4, rtol=1e-3), (folder, (logits - expected).abs().max())

    script = torch.jit.load(str(folder / "model.ts"))
    assert set(script.state_dict()) == set(state), (set(script.state_dict()), set(state))
    with torch.no_grad():
        scripted = script(x, edge_index, edge_weight)
        assert torch.allclose(scripted, expected, atol=2e-4, rtol=1e-3), (folder, (scripted - expected).abs().max())
        assert torch.allclose(script(x.to_sparse(), edge_index, edge_weight), scripted, atol=1e-5)

    with open(folder / "predictions.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["node"]) for row in rows] == list(range(n))
    assert [int(row["prediction"]) for row in rows] == expected.argmax(1).tolist()
    confidence = torch.tensor([float(row["confidence"]) for row in rows])
    assert torch.allclose(confidence, torch.softmax(expected, 1).max(1).values, atol=1e-5)
    print(f"{folder.name}: {n} nodes, largest difference {float((logits - expected).abs().max()):.1e}")


def main():
    x = read_features(pathlib.Path(sys.argv[1]))
    for folder in sys.argv[2:]:
        check(pathlib.Path(folder), x)


if __name__ == "__main__":
    main()
