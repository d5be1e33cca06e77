"""Budgets are exact, and wrong ones are refused by name."""
import copy
import pickle
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import blink
from blink._numbers import epsilon_micro, share_ppm, whole


@pytest.mark.parametrize("value", [0.1, "0.1", Decimal("0.1"), Fraction(1, 10), np.float64(0.1), np.float32(0.1)])
def test_a_tenth_is_a_tenth_in_every_type(value):
    assert epsilon_micro(value) == 100_000


@pytest.mark.parametrize("value, micro", [(1, 1_000_000), (50, 50_000_000), (1e-6, 1), (2.25, 2_250_000),
                                          (np.int64(3), 3_000_000)])
def test_budgets_become_whole_millionths(value, micro):
    assert epsilon_micro(value) == micro


@pytest.mark.parametrize("value", [0, -1, 50.000001, 1e300])
def test_a_budget_out_of_range_is_refused(value):
    with pytest.raises(ValueError, match="epsilon is .*above 0 and at most 50"):
        epsilon_micro(value)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "-inf", "three", ""])
def test_what_is_no_finite_number_is_refused(value):
    with pytest.raises(ValueError, match="epsilon is"):
        epsilon_micro(value)


@pytest.mark.parametrize("value", [0.1234567, Fraction(1, 3), 1e-7])
def test_a_seventh_decimal_is_refused_and_not_rounded(value):
    with pytest.raises(ValueError, match="at most six decimals"):
        epsilon_micro(value)


@pytest.mark.parametrize("value", [True, None, [1], np.ones(2), 1j])
def test_other_types_are_refused(value):
    with pytest.raises(TypeError, match="epsilon is of type"):
        epsilon_micro(value)


@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan")])
def test_a_share_out_of_range_is_refused(value):
    with pytest.raises(ValueError, match="degree_share is"):
        share_ppm(value)


@pytest.mark.parametrize("value", [-1, 1.5, 2**64])
def test_a_seed_is_a_whole_number(value):
    with pytest.raises(ValueError, match="seed is .*whole number"):
        whole("seed", value, 0, 2**64 - 1)


def test_the_accountant_counts_an_entry_once_and_a_link_twice(graph):
    accountant = blink.Accountant()
    blink.privatise(graph, epsilon=0.1, accountant=accountant)
    blink.privatise(graph, epsilon=0.2, accountant=accountant)
    assert accountant.spent == blink.PrivacyLoss(300_000, 2)
    assert (accountant.spent.epsilon_per_entry, accountant.spent.epsilon_per_link) == (0.3, 0.6)
    assert "0.6 for an undirected link (2 draws)" in repr(accountant)


@pytest.mark.parametrize("limit", [{"limit_per_entry": 3}, {"limit_per_link": 6}])
def test_the_accountant_refuses_beyond_its_limit_and_debits_nothing(graph, limit):
    accountant = blink.Accountant(**limit)
    accountant.debit(3_000_000)  # just the limit
    with pytest.raises(blink.BudgetExceededError, match=f"{next(iter(limit))} = .*nothing was drawn"):
        blink.privatise(graph, epsilon=0.000001, accountant=accountant)
    assert accountant.spent == blink.PrivacyLoss(3_000_000, 1)


@pytest.mark.parametrize("limit", [0, -1, float("nan"), float("inf")])
def test_a_limit_that_limits_nothing_is_refused(limit):
    with pytest.raises(ValueError, match="limit_per_link is"):
        blink.Accountant(limit_per_link=limit)


def test_a_wrong_graph_costs_nothing(graph):
    accountant = blink.Accountant()
    with pytest.raises(ValueError, match="not symmetric"):
        blink.privatise(np.triu(graph.toarray()), epsilon=1, accountant=accountant)
    assert accountant.spent.draws == 0


@pytest.mark.parametrize("micro", [0, -5_000_000, 0.5, 50_000_001, True])
def test_a_debit_is_a_budget_of_a_draw(micro):
    accountant = blink.Accountant()
    with pytest.raises((TypeError, ValueError), match="epsilon_micro is"):
        accountant.debit(micro)
    assert accountant.spent == blink.PrivacyLoss()


def test_an_accountant_is_one_even_in_a_copy():
    accountant = blink.Accountant()
    assert copy.deepcopy(accountant) is accountant and copy.copy(accountant) is accountant
    with pytest.raises(TypeError, match="would let the same budget be spent again"):
        pickle.dumps(accountant)


def test_what_is_no_accountant_is_refused_by_name(graph):
    for draw in (lambda: blink.privatise(graph, epsilon=1, accountant=5),
                 lambda: blink.LinkDenoiser(epsilon=1, accountant=5).fit(graph)):
        with pytest.raises(TypeError, match="accountant is of type int: give a blink.Accountant"):
            draw()
