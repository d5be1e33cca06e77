"""Drawing, keeping and reading reports."""
import copy
import math
import pickle
import signal
import subprocess

import numpy as np
import pytest
import scipy.sparse as sp

import blink
from conftest import make_graph


def test_bits_and_degrees_have_the_shapes_and_types_that_are_documented(reports):
    assert reports.bits.shape == (150, 150) and reports.bits.dtype == np.bool_
    assert reports.degrees.shape == (150,) and reports.degrees.dtype == np.int64
    assert reports.packed.shape == (150, 3) and not reports.packed.flags.writeable
    assert not reports.bits.diagonal().any() and reports.reported.all()
    assert reports.privacy_loss == blink.PrivacyLoss(3_000_000, 1)


def test_packed_bits_are_the_bits(reports):
    words = reports.packed
    twin = [[bool(int(words[i, j // 64]) >> (j % 64) & 1) for j in range(150)] for i in range(150)]
    assert np.array_equal(reports.bits, twin)


def test_bits_are_flipped_with_the_probability_that_is_stated():
    """Fails by chance with probability below 1e-9: 6.2 deviations of a binomial count."""
    graph = make_graph(400, 6, seed=5)
    for epsilon, share in [(1, 0.2), (4, 0.05)]:
        reports = blink.privatise(graph, epsilon=epsilon, degree_share=share)
        p = 1 / (1 + math.exp((1 - share) * epsilon))
        assert math.isclose(reports.flip_probability, p, rel_tol=1e-9)
        assert reports.flip_probability == reports.flip_numerator / 2**64
        flips = int((reports.bits ^ graph.toarray().astype(bool)).sum())
        entries = 400 * 399
        assert abs(flips - entries * p) < 6.2 * math.sqrt(entries * p * (1 - p))


def test_degrees_have_noise_of_the_scale_that_is_stated():
    """The mean of |noise| of 2,000 nodes. Fails by chance with probability below 1e-9 (6.2 deviations)."""
    graph = make_graph(2000, 4, seed=6)
    reports = blink.privatise(graph, epsilon=1, degree_share=1)
    noise = reports.degrees - graph.sum(axis=1)
    a = math.exp(-1)  # Pr[|Y| = k] = (1 - a) / (1 + a) a^k, twice for k > 0
    mean, square = 2 * a / (1 - a * a), 2 * a / (1 - a) ** 2
    assert abs(np.abs(noise).mean() - mean) < 6.2 * math.sqrt((square - mean**2) / 2000)


def test_two_draws_differ(graph):
    """They are equal with probability below 2^-1000."""
    first, second = (blink.privatise(graph, epsilon=1).bits for _ in range(2))
    assert not np.array_equal(first, second)


def test_a_share_of_0_sends_no_degree_and_a_share_of_1_sends_no_bits(graph):
    bits_alone = blink.privatise(graph, epsilon=2, degree_share=0)
    assert bits_alone.degrees is None and bits_alone.bits.any()
    degrees_alone = blink.privatise(graph, epsilon=2, degree_share=1)
    assert not degrees_alone.bits.any() and degrees_alone.packed.shape == (150, 0)
    assert degrees_alone.degrees is not None


@pytest.mark.parametrize("prior, share", [("beta", 0.05), ("attributed", 0.02)])
def test_the_default_share_is_that_of_a_round(graph, prior, share):
    assert blink.privatise(graph, epsilon=3, prior=prior).degree_share == share


@pytest.mark.parametrize("make", [sp.csr_matrix, sp.coo_array, lambda a: a.toarray(), lambda a: a.toarray() > 0,
                                  lambda a: a.toarray().astype(float), sp.lil_array])
def test_every_form_of_matrix_is_taken(graph, make):
    assert blink.privatise(make(graph), epsilon=1).node_count == 150


def broken(graph, change):
    dense = graph.toarray().astype(float)
    change(dense)
    return dense


@pytest.mark.parametrize("change, message", [
    (lambda a: a.__setitem__((0, 0), 1), "adjacency has entries on its diagonal"),
    (lambda a: a.__setitem__((0, 1), 1 - a[0, 1]), "adjacency is not symmetric"),
    (lambda a: a.__setitem__((0, 1), 0.5), "adjacency has entries other than 0 and 1"),
    (lambda a: a.__setitem__((0, 1), np.nan), "adjacency has entries other than 0 and 1"),
    (lambda a: a.__setitem__((0, 1), -1), "adjacency has entries other than 0 and 1"),
])
def test_a_wrong_matrix_is_refused_without_a_word_about_a_link(graph, change, message):
    with pytest.raises(ValueError, match=message) as error:
        blink.privatise(broken(graph, change), epsilon=1)
    assert "(0, 1)" not in str(error.value)


@pytest.mark.parametrize("adjacency, message", [
    (np.zeros((4, 5)), r"adjacency has the shape \(4, 5\)"),
    (np.zeros((2, 2)), "adjacency is of 2 nodes"),
])
def test_a_wrong_shape_is_refused(adjacency, message):
    with pytest.raises(ValueError, match=message):
        blink.privatise(adjacency, epsilon=1)


@pytest.mark.parametrize("adjacency", [None, [[0, 1], [1, 0]], np.zeros(4), np.full((3, 3), "a")])
def test_what_is_no_matrix_is_refused(adjacency):
    with pytest.raises(TypeError, match="adjacency is"):
        blink.privatise(adjacency, epsilon=1)


def test_arguments_have_names(graph):
    with pytest.raises(TypeError):
        blink.privatise(graph, 3)
    with pytest.raises(ValueError, match="prior is 'gamma'"):
        blink.privatise(graph, epsilon=3, prior="gamma")
    with pytest.raises(TypeError, match="seed"):
        blink.privatise(graph, epsilon=3, seed=1)  # seeded noise hides nothing


def same(first, second):
    return (np.array_equal(first.packed, second.packed) and np.array_equal(first.reported, second.reported)
            and np.array_equal(first.degrees, second.degrees) and first.epsilon_micro == second.epsilon_micro
            and first.degree_share_ppm == second.degree_share_ppm)


@pytest.mark.parametrize("share", [0, 0.1, 1])
def test_reports_are_the_same_after_saving_and_loading(graph, share, tmp_path):
    drawn = blink.privatise(graph, epsilon=1.5, degree_share=share)
    drawn.save(tmp_path / "reports.npz")
    assert same(drawn, blink.Reports.load(tmp_path / "reports.npz"))


@pytest.mark.parametrize("form", [lambda b: b, sp.csr_array, lambda b: b.astype(int)])
def test_reports_are_the_same_when_made_from_their_arrays(reports, form):
    made = blink.Reports.from_arrays(form(reports.bits), reports.degrees, epsilon=3, degree_share=0.05)
    assert same(reports, made)


def test_nodes_that_never_reported_are_known(reports):
    there = np.arange(150) != 7
    made = blink.Reports.from_arrays(reports.bits, reports.degrees, epsilon=3, degree_share=0.05, reported=there)
    assert np.array_equal(made.reported, there) and not made.bits[7].any()
    assert blink.estimate(made).nodes_without_report == 1


@pytest.mark.parametrize("arguments, message", [
    ({"bits": None}, "bits must be given"),
    ({"degrees": None}, "degrees must be given"),
    ({"degree_share": 0}, "degrees must be None"),
    ({"degree_share": 1}, "bits must be None"),
    ({"bits": np.zeros((150, 149))}, "bits has the shape"),
    ({"bits": np.full((150, 150), 2)}, "bits has entries other than 0 and 1"),
    ({"degrees": np.zeros(149, int)}, "degrees is of 149 nodes, but bits is of 150"),
    ({"degrees": np.zeros(150)}, "degrees has the shape"),
    ({"reported": np.ones(150)}, "reported has the shape"),
    ({"epsilon": 0}, "epsilon is 0"),
])
def test_arrays_that_do_not_fit_are_refused(reports, arguments, message):
    given = {"bits": reports.bits, "degrees": reports.degrees, "epsilon": 3, "degree_share": 0.05} | arguments
    bits, degrees = given.pop("bits"), given.pop("degrees")
    with pytest.raises(ValueError, match=message):
        blink.Reports.from_arrays(bits, degrees, **given)


def test_a_damaged_file_is_refused_with_its_name(reports, tmp_path):
    reports.save(tmp_path / "whole.npz")
    whole = (tmp_path / "whole.npz").read_bytes()
    damaged = whole[:100] + bytes([whole[100] ^ 255]) + whole[101:]
    for name, content in (("cut.npz", whole[:-50]), ("text.npz", b"1,2\n"), ("empty.npz", b""), ("bit.npz", damaged)):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ValueError, match=f"{name} "):
            blink.Reports.load(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        blink.Reports.load(tmp_path / "absent.npz")


@pytest.mark.parametrize("share", ["0", "0.1", "1"])
def test_what_the_program_has_privatised_is_read(program, graph, tmp_path, share):
    (tmp_path / "set").mkdir()
    rows, columns = graph.nonzero()
    (tmp_path / "set" / "edges.csv").write_text("source,target\n" + "".join(
        f"{i},{j}\n" for i, j in zip(rows, columns) if i < j))
    (tmp_path / "set" / "labels.csv").write_text("node,label\n" + "".join(f"{i},{i % 2}\n" for i in range(150)))
    subprocess.run([program, "privatise", "--dataset", tmp_path / "set", "--epsilon", "2.5", "--degree-share", share,
                    "--output", tmp_path / "noisy.npz"], check=True, capture_output=True)
    reports = blink.Reports.load(tmp_path / "noisy.npz")
    with np.load(tmp_path / "noisy.npz") as file:
        assert (reports.epsilon, reports.degree_share) == (2.5, float(share))
        assert (reports.degrees is None) == ("degrees" not in file) == (share == "0")
        if share != "0":
            assert np.array_equal(reports.degrees, file["degrees"])
        if share != "1":
            bits = np.unpackbits(file["bits"], axis=1, count=150, bitorder="little")
            assert np.array_equal(reports.bits, bits) and bits.any()


def test_a_signal_ends_a_draw():
    def end(*_):
        raise TimeoutError

    big = blink.adjacency_from_edges(np.array([[0], [1]]), nodes=30_000)
    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    try:
        with pytest.raises(TimeoutError):
            blink.privatise(big, epsilon=1)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_a_file_of_something_else_is_refused(tmp_path):
    np.savez(tmp_path / "other.npz", x=np.zeros(3))
    with pytest.raises(ValueError, match="holds no reports"):
        blink.Reports.load(tmp_path / "other.npz")
    with pytest.raises(FileNotFoundError):
        blink.Reports.from_round(tmp_path)


def test_edges_of_one_direction_or_both_give_one_graph():
    one = blink.adjacency_from_edges([[0, 1, 2], [1, 2, 2]], nodes=4)
    both = blink.adjacency_from_edges(np.array([[0, 1], [1, 0], [2, 1], [1, 2]]), nodes=4)
    assert (one != both).nnz == 0 and one.nnz == 4


@pytest.mark.parametrize("edges", [[[0, 4], [1, 0]], [[0, -1], [1, 0]], [[0.0, 1], [1, 0]], [0, 1]])
def test_wrong_edges_are_refused(edges):
    with pytest.raises(ValueError, match="edges has"):
        blink.adjacency_from_edges(edges, nodes=4)


@pytest.mark.parametrize("share", [0, 0.1, 1])
def test_pickled_reports_are_the_same(graph, share):
    reports = blink.privatise(graph, epsilon=2, degree_share=share)
    again = pickle.loads(pickle.dumps(reports))
    assert np.array_equal(again.packed, reports.packed) and np.array_equal(again.reported, reports.reported)
    assert np.array_equal(again.degrees, reports.degrees) if share else again.degrees is None
    assert (again.epsilon_micro, again.degree_share_ppm) == (reports.epsilon_micro, reports.degree_share_ppm)
    assert copy.deepcopy(reports) is reports
