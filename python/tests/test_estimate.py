"""Estimates against slow twins, and what is refused."""
import copy
import math
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.stats

import blink


def sigma(x):
    return 1 / (1 + np.exp(-x))


def slow_posterior(reports, posterior):
    """Algorithm 3, pair by pair: the beta-model of the clipped degrees, then the bits."""
    n = reports.node_count
    degrees = np.clip(reports.degrees, 1, n - 2)
    beta = posterior.beta[np.searchsorted(np.unique(degrees), degrees)]
    prior = beta[:, None] + beta[None, :]
    ones = reports.bits.astype(int) + reports.bits.T
    weight = math.log((1 - reports.flip_probability) / reports.flip_probability)
    p = sigma(prior + (2 * ones - 2) * weight)
    np.fill_diagonal(p, 0)
    expected = sigma(prior)
    np.fill_diagonal(expected, 0)
    return p, expected.sum(axis=1), degrees


def test_soft_is_the_posterior_of_every_pair(reports):
    posterior = blink.estimate(reports, variant="soft")
    p, expected, degrees = slow_posterior(reports, posterior)
    assert np.abs(expected - degrees).max() < 1e-6  # the beta-model solves its equations
    assert posterior.mle_residual <= 1e-8 and not posterior.mle_regularised
    rows = np.stack([posterior.row(i) for i in range(150)])
    np.testing.assert_allclose(rows, p, atol=1e-6)
    assert math.isclose(posterior.expected_links, p.sum() / 2, rel_tol=1e-9)
    listed = np.where(rows >= posterior.threshold, rows, 0)
    assert np.array_equal(posterior.links.toarray(), listed)


def test_hard_is_the_pairs_above_one_half(reports):
    posterior = blink.estimate(reports, variant="hard")
    p, _, _ = slow_posterior(reports, posterior)
    assert np.array_equal(posterior.links.toarray(), (p > 0.5).astype(np.float32))
    assert np.array_equal(posterior.best_guess.toarray(), posterior.links.toarray())


def test_hybrid_is_the_likeliest_pairs_as_many_as_are_expected(reports):
    posterior = blink.estimate(reports, variant="hybrid")
    p, _, _ = slow_posterior(reports, posterior)
    links = posterior.links.toarray()
    assert posterior.links.nnz // 2 == math.floor(p.sum() / 2 + 1e-6)
    np.testing.assert_allclose(links[links > 0], p[links > 0], atol=1e-6)
    assert p[links > 0].min() >= p[(links == 0)].max() - 1e-6


@pytest.mark.parametrize("variant", ["hard", "soft", "hybrid"])
def test_products_and_sums_are_those_of_the_rows(reports, variant):
    posterior = blink.estimate(reports, variant=variant)
    rows = np.stack([posterior.row(i) for i in range(150)])
    x = np.random.default_rng(1).random((150, 5), np.float32)
    np.testing.assert_allclose(posterior @ x, rows @ x, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(posterior @ x[:, 0], rows @ x[:, 0], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(posterior.row_sums(), rows.sum(axis=1), rtol=1e-4, atol=1e-5)
    assert np.array_equal(rows, rows.T)


def test_edges_are_the_entries_of_the_links(reports):
    posterior = blink.estimate(reports)
    again = sp.csr_array((posterior.edge_weight, tuple(posterior.edge_index)), shape=(150, 150))
    assert (again != posterior.links).nnz == 0
    assert posterior.edge_index.dtype == np.int64 and posterior.edge_weight.dtype == np.float32


def test_pairs_from_a_threshold_are_those_of_the_rows(reports):
    posterior = blink.estimate(reports, variant="soft")
    rows = np.stack([posterior.row(i) for i in range(150)])
    assert np.array_equal(posterior.pairs_from(0.25).toarray(), np.where(rows >= 0.25, rows, 0))
    with pytest.raises(ValueError, match="threshold is 0"):
        posterior.pairs_from(0)


@pytest.mark.parametrize("prior", ["beta", "attributed"])
def test_the_threads_change_no_bit(blocks, prior):
    reports = blink.privatise(blocks.adjacency, epsilon=2, prior=prior)
    public = {} if prior == "beta" else {"features": blocks.features, "labels": blocks.labels, "train": blocks.train,
                                         "validation": blocks.validation}
    first, second = (blink.estimate(reports, prior=prior, variant="soft", threads=threads, **public)
                     for threads in (1, 2))
    assert all(np.array_equal(first.row(i), second.row(i)) for i in range(reports.node_count))


def test_degrees_are_near_the_true_ones(graph):
    """At epsilon 20 the noise of a degree is below 1 with probability above 1 - 1e-7, and bits are all true."""
    posterior = blink.estimate(blink.privatise(graph, epsilon=20))
    assert np.abs(posterior.degrees - graph.sum(axis=1)).max() < 1.5
    assert posterior.degree_deviation.shape == (150,)


def test_progress_goes_from_0_to_1_and_what_it_raises_is_raised(reports):
    told = []
    blink.estimate(reports, progress=told.append)
    assert told == sorted(told) and told[-1] == 1
    with pytest.raises(ZeroDivisionError):
        blink.estimate(reports, progress=lambda fraction: 1 / 0)


def auc(posterior, adjacency):
    """The probability that a true link has a larger P than a pair without one."""
    pairs = np.triu_indices(posterior.node_count, 1)
    truth = adjacency.toarray()[pairs].astype(bool)
    ranks = scipy.stats.rankdata(np.stack([posterior.row(i) for i in range(posterior.node_count)])[pairs])
    links = truth.sum()
    return (ranks[truth].sum() - links * (links + 1) / 2) / (links * (len(truth) - links))


def test_attributes_tell_of_the_links(blocks):
    """Over 12 draws the gain was 0.12 with a deviation of 0.024: fails by chance with probability below 1e-5."""
    reports = blink.privatise(blocks.adjacency, epsilon=1, prior="attributed")
    beta = blink.estimate(reports, variant="soft")
    attributed = blink.estimate(reports, prior="attributed", variant="soft", features=blocks.features,
                                labels=blocks.labels, train=blocks.train, validation=blocks.validation)
    assert auc(attributed, blocks.adjacency) > auc(beta, blocks.adjacency)
    assert attributed.beta is None and "classes" in attributed.coefficients


def test_labels_of_other_nodes_are_not_used(blocks):
    reports = blink.privatise(blocks.adjacency, epsilon=2, prior="attributed")
    hidden = blocks.labels.copy()
    others = np.setdiff1d(np.arange(len(hidden)), np.concatenate([blocks.train, blocks.validation]))
    hidden[others] = -1
    first, second = (blink.estimate(reports, prior="attributed", features=blocks.features, labels=labels,
                                    train=blocks.train, validation=blocks.validation).links
                     for labels in (blocks.labels, hidden))
    assert (first != second).nnz == 0


def test_sparse_and_dense_features_are_the_same(blocks):
    reports = blink.privatise(blocks.adjacency, epsilon=2, prior="attributed")
    dense, sparse = (blink.estimate(reports, prior="attributed", features=form).links
                     for form in (blocks.features, sp.csr_matrix(blocks.features)))
    assert (dense != sparse).nnz == 0


def test_class_probabilities_take_the_place_of_labels(blocks):
    reports = blink.privatise(blocks.adjacency, epsilon=1, prior="attributed")
    known = np.eye(3, dtype=np.float32)[blocks.labels]
    posterior = blink.estimate(reports, prior="attributed", variant="soft", class_probabilities=(known, known))
    assert auc(posterior, blocks.adjacency) > auc(blink.estimate(reports, variant="soft"), blocks.adjacency) + 0.03


def test_the_attributed_prior_needs_no_attributes(reports):
    assert blink.estimate(reports, prior="attributed").links.nnz > 0


@pytest.mark.parametrize("arguments, message", [
    ({"prior": "gamma"}, "prior is 'gamma'"),
    ({"variant": "medium"}, "variant is 'medium'"),
    ({"seed": -1}, "seed is -1"),
    ({"tie_seed": 2**64}, "tie_seed is"),
    ({"threads": 1.5}, "threads is 1.5"),
    ({"features": np.zeros((150, 2))}, "features is of the attributed prior"),
    ({"network_rounds": 1}, "network_rounds is of the attributed prior"),
])
def test_wrong_arguments_are_refused_by_name(reports, arguments, message):
    with pytest.raises(ValueError, match=message):
        blink.estimate(reports, **arguments)


LABELS = np.arange(150) % 2


@pytest.mark.parametrize("arguments, message", [
    ({"features": np.zeros((149, 2))}, r"features has the shape \(149, 2\)"),
    ({"features": np.full((150, 2), np.nan)}, "features has entries that are NaN"),
    ({"features": np.full((150, 2), 1e300)}, "features has entries that are NaN or infinite as float32"),
    ({"labels": LABELS}, "train is needed"),
    ({"labels": LABELS, "train": [0, 1]}, "validation is needed"),
    ({"labels": LABELS[:-1], "train": [0], "validation": [1]}, "labels has the shape"),
    ({"labels": LABELS / 2, "train": [0], "validation": [1]}, "labels has the shape .*float64"),
    ({"labels": LABELS - 2, "train": [0], "validation": [1]}, "labels are classes from 0 on"),
    ({"labels": LABELS, "train": [150], "validation": [1]}, "train names a node outside"),
    ({"labels": LABELS, "train": [0, 1], "validation": [1]}, "have nodes in common"),
    ({"labels": LABELS, "train": [], "validation": [1]}, "train "),
    ({"train": [0]}, "train says which labels are known"),
    ({"labels": LABELS, "train": [0], "validation": [1], "class_probabilities": np.full((150, 2), 0.5)},
     "class_probabilities take the place of labels"),
    ({"class_probabilities": np.full((150, 2), 0.4)}, "no probabilities with the sum 1"),
    ({"class_probabilities": np.full((149, 2), 0.5)}, "class_probabilities has the shape"),
    ({"network_rounds": 3}, "network_rounds is 3"),
])
def test_wrong_attributes_are_refused_by_name(reports, arguments, message):
    with pytest.raises(ValueError, match=message):
        blink.estimate(reports, prior="attributed", **arguments)


def test_what_are_no_reports_is_refused(graph, reports):
    with pytest.raises(TypeError, match="reports is of type csr_array"):
        blink.estimate(graph)
    with pytest.raises(ValueError, match="node is 150"):
        blink.estimate(reports).row(150)
    with pytest.raises(ValueError, match="x has the shape"):
        blink.estimate(reports) @ np.zeros(149)


def test_a_posterior_is_copied_as_it_is_and_not_pickled(reports):
    posterior = blink.estimate(reports)
    assert copy.deepcopy(posterior) is posterior
    with pytest.raises(TypeError, match="keep its reports"):
        pickle.dumps(posterior)


def test_what_is_no_function_or_no_array_is_refused_by_name(reports, graph):
    with pytest.raises(TypeError, match="progress is of type int"):
        blink.estimate(reports, progress=5)
    with pytest.raises(TypeError, match="x is a sparse matrix"):
        blink.estimate(reports) @ graph
