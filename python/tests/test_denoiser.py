"""The estimator in the manner of scikit-learn, and one draw a graph."""
import copy
import multiprocessing
import pickle

import numpy as np
import pytest
import scipy.sparse as sp

import blink
from conftest import make_graph


def test_fit_draws_once_a_graph_and_budget():
    graph = make_graph(100, 4, seed=11)
    accountant = blink.Accountant()
    first = blink.LinkDenoiser(epsilon=2, accountant=accountant).fit(graph)
    second = blink.LinkDenoiser(epsilon=2, variant="hard", accountant=accountant).fit(graph.toarray())
    assert first.reports_ is second.reports_
    assert accountant.spent == first.privacy_loss_ == second.privacy_loss_ == blink.PrivacyLoss(2_000_000, 1)


def test_a_second_draw_is_an_error_unless_asked_for():
    graph = make_graph(100, 4, seed=12)
    blink.LinkDenoiser(epsilon=2).fit(graph)
    with pytest.raises(blink.SecondDrawError, match="drawn already, at epsilon 2 for an entry"):
        blink.LinkDenoiser(epsilon=1).fit(graph)
    again = blink.LinkDenoiser(epsilon=1, allow_redraw=True).fit(graph)
    assert again.privacy_loss_ == blink.PrivacyLoss(3_000_000, 2)
    assert again.privacy_loss_.epsilon_per_link == 6


def test_the_accountant_refuses_a_draw_and_a_later_one_may_succeed():
    graph = make_graph(100, 4, seed=13)
    with pytest.raises(blink.BudgetExceededError):
        blink.LinkDenoiser(epsilon=2, accountant=blink.Accountant(limit_per_link=3)).fit(graph)
    assert blink.LinkDenoiser(epsilon=1).fit(graph).privacy_loss_.draws == 1


def fit_in_child(graph, answers):
    try:
        blink.LinkDenoiser(epsilon=2).fit(graph)
        answers.put("drawn")
    except blink.SecondDrawError as error:
        answers.put(str(error))


def test_a_forked_process_does_not_draw_but_uses_what_was_drawn():
    context = multiprocessing.get_context("fork")
    graph = make_graph(100, 4, seed=14)
    for expected in ("this process was forked", "drawn"):
        answers = context.Queue()
        child = context.Process(target=fit_in_child, args=(graph, answers))
        child.start()
        assert answers.get(timeout=60).startswith(expected)
        child.join()
        blink.LinkDenoiser(epsilon=2).fit(graph)  # now the parent has


def test_transform_gives_the_links_of_the_fitted_graph_and_of_no_other():
    graph = make_graph(100, 4, seed=15)
    denoiser = blink.LinkDenoiser(epsilon=3)
    with pytest.raises(ValueError, match="not fitted"):
        denoiser.transform(graph)
    links = denoiser.fit_transform(graph)
    assert (links != denoiser.transform(graph)).nnz == 0 and sp.issparse(links)
    assert denoiser.n_features_in_ == 100
    with pytest.raises(ValueError, match="another graph"):
        denoiser.transform(make_graph(100, 4, seed=16))


def test_labels_come_as_y(blocks):
    public = {"features": blocks.features, "train": blocks.train, "validation": blocks.validation}
    denoiser = blink.LinkDenoiser(epsilon=2, prior="attributed")
    first = denoiser.fit_transform(blocks.adjacency, blocks.labels, **public)
    second = denoiser.fit_transform(blocks.adjacency, labels=blocks.labels, **public)
    assert (first != second).nnz == 0
    with pytest.raises(ValueError, match="y and labels are the same"):
        denoiser.fit(blocks.adjacency, blocks.labels, labels=blocks.labels, **public)


def test_parameters_are_those_of_the_constructor():
    denoiser = blink.LinkDenoiser(epsilon=2, prior="attributed")
    assert type(denoiser)(**denoiser.get_params()).get_params() == denoiser.get_params()
    assert denoiser.set_params(epsilon=4).epsilon == 4
    assert repr(denoiser) == "LinkDenoiser(epsilon=4, prior='attributed')"
    with pytest.raises(ValueError, match="no parameter 'eps'"):
        denoiser.set_params(eps=1)


def test_scikit_learn_can_clone_it():
    base = pytest.importorskip("sklearn.base")
    assert base.clone(blink.LinkDenoiser(epsilon=2, seed=4)).get_params()["seed"] == 4


@pytest.mark.parametrize("arguments, message", [
    ({"epsilon": 0}, "epsilon is 0"), ({"epsilon": np.nan}, "epsilon is nan"), ({"prior": "x"}, "prior is 'x'"),
    ({"variant": "x"}, "variant is 'x'"), ({"degree_share": 2}, "degree_share is 2"),
])
def test_wrong_parameters_are_refused_when_it_is_fitted(arguments, message):
    with pytest.raises(ValueError, match=message):
        blink.LinkDenoiser(**arguments).fit(make_graph(100, 4, seed=17))


def test_a_pickle_keeps_the_links_and_the_reports(graph):
    fitted = blink.LinkDenoiser(epsilon=4).fit(graph)
    again = pickle.loads(pickle.dumps(fitted))
    assert (again.transform(graph) != fitted.links_).nnz == 0
    assert np.array_equal(again.reports_.packed, fitted.reports_.packed)
    assert not hasattr(again, "posterior_") and copy.deepcopy(fitted).privacy_loss_ == fitted.privacy_loss_
