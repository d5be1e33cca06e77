"""The same reports give the same P as the program `blink`, bit for bit."""
import csv
import json
import subprocess

import numpy as np
import pytest
import scipy.sparse as sp

import blink


@pytest.fixture(scope="module")
def dataset(program, tmp_path_factory):
    folder = tmp_path_factory.mktemp("data") / "set"
    subprocess.run([program, "dataset", "generate", "--output", folder, "--nodes", "300", "--classes", "3",
                    "--features", "80", "--words-per-node", "8"], check=True, capture_output=True)
    for name in ("labels.csv", "classes.txt", "split.csv"):  # the network that learns the labels is LibTorch's
        (folder / name).unlink()
    (folder / "nodes.csv").write_text("node,id\n" + "".join(f"{i},n{i}\n" for i in range(300)))
    return folder


def simulate(program, dataset, folder, *arguments):
    """The reports of one trial, its result folder and what it printed."""
    done = subprocess.run([program, "simulate", "--dataset", dataset, "--trials", "1", "--model", "none", "--seed", "7",
                           "--checkpoint", folder / "state", "--output", folder / "result", "--json", *arguments],
                          check=True, capture_output=True, text=True)
    return blink.Reports.from_round(folder / "state" / "trial-1"), folder / "result", json.loads(done.stdout)


def links_of(result):
    with np.load(result / "links.npz") as file:
        matrix = sp.csr_array((file["data"], file["indices"], file["indptr"]), shape=tuple(file["shape"]))
        return matrix, float(file["threshold"]) if "threshold" in file.files else 0.0


@pytest.mark.parametrize("epsilon", ["1", "4"])
@pytest.mark.parametrize("variant", ["hard", "soft", "hybrid"])
@pytest.mark.parametrize("prior", ["beta", "attributed"])
def test_links_are_equal_bit_for_bit(program, dataset, tmp_path, prior, variant, epsilon):
    reports, result, printed = simulate(program, dataset, tmp_path, "--prior", prior, "--variant", variant,
                                        "--epsilon", epsilon)
    features = sp.load_npz(dataset / "features.npz") if prior == "attributed" else None
    # The program that drew the reports decided ties by its seed. A replay decides them by the round's id.
    posterior = blink.estimate(reports, prior=prior, variant=variant, features=features, seed=7, tie_seed=7)
    theirs, threshold = links_of(result)
    ours = posterior.links if threshold == 0 else posterior.pairs_from(threshold)
    ours.sort_indices()
    theirs.sort_indices()
    assert np.array_equal(ours.indptr, theirs.indptr) and np.array_equal(ours.indices, theirs.indices)
    assert np.array_equal(ours.data.view(np.uint32), theirs.data.view(np.uint32))
    assert posterior.expected_links == pytest.approx(printed["estimate"]["expected_links"], rel=1e-12)
    with open(result / "degrees.csv", newline="") as file:
        degrees = [float(row["degree"]) for row in csv.DictReader(file)]
    np.testing.assert_allclose(posterior.degrees, degrees, rtol=1e-5)


def test_a_replay_decides_ties_as_the_round_does(program, dataset, tmp_path):
    (tmp_path / "first").mkdir()
    reports, _, _ = simulate(program, dataset, tmp_path / "first", "--epsilon", "0.5", "--variant", "hybrid")
    subprocess.run([program, "simulate", "--dataset", dataset, "--model", "none", "--variant", "hybrid", "--reports",
                    tmp_path / "first" / "state" / "trial-1", "--output", tmp_path / "again", "--json"],
                   check=True, capture_output=True)
    theirs, _ = links_of(tmp_path / "again")
    assert (blink.estimate(reports, variant="hybrid").links != theirs).nnz == 0


def test_a_damaged_round_is_refused(program, dataset, tmp_path):
    simulate(program, dataset, tmp_path, "--epsilon", "2")
    file = tmp_path / "state" / "trial-1" / "reports.blr"
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.chmod(0o600)
    file.write_bytes(content)
    with pytest.raises(ValueError, match="reports.blr"):
        blink.Reports.from_round(file.parent)


def test_arrays_of_privatise_are_reports_and_links_of_ones_own_are_trained_on(program, tmp_path):
    folder = tmp_path / "set"
    subprocess.run([program, "dataset", "generate", "--output", folder, "--nodes", "200"], check=True,
                   capture_output=True)
    subprocess.run([program, "privatise", "--dataset", folder, "--epsilon", "6", "--output", tmp_path / "noisy.npz"],
                   check=True, capture_output=True)
    with np.load(tmp_path / "noisy.npz") as noisy:
        bits = np.unpackbits(noisy["bits"], axis=1, count=len(noisy["degrees"]), bitorder="little")
        reports = blink.Reports.from_arrays(bits, noisy["degrees"], epsilon=float(noisy["epsilon"]),
                                            degree_share=float(noisy["degree_share"]))
        assert reports.flip_probability == noisy["flip_probability"]
        assert noisy["epsilon_per_link"] == reports.privacy_loss.epsilon_per_link == 12
    links = blink.estimate(reports, variant="hybrid").links
    sp.save_npz(tmp_path / "mine.npz", links)
    done = subprocess.run([program, "simulate", "--dataset", folder, "--links", tmp_path / "mine.npz", "--trials", "1",
                           "--epochs", "5", "--json"], check=True, capture_output=True, text=True)
    printed = json.loads(done.stdout)
    assert printed["graph"] == "given" and printed["given_links"]["links"] == links.nnz // 2
    assert printed["given_links"]["weighted"] and printed["train"]["test_accuracy_mean"] > 0
