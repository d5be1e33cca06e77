"""What the reports of one set of nodes have spent, in exact integers."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ._numbers import EPSILON_MICRO_MAX, MILLION, Number, exact, whole


class BudgetExceededError(ValueError):
    """A draw would have spent more than the accountant's limit. Nothing was drawn."""


@dataclass(frozen=True)
class PrivacyLoss:
    """What is spent, by sequential composition, in millionths of epsilon.

    A report is epsilon-link-LDP for one entry of one list. An undirected link is in two lists, so all reports together
    cost it twice as much. The whole list of a node has no small bound.

    Attributes:
      micro_per_entry: of one entry of one list.
      draws: how many times noise was drawn.
    """

    micro_per_entry: int = 0
    draws: int = 0

    @property
    def epsilon_per_entry(self) -> float:
        """Of one entry of one list."""
        return self.micro_per_entry / MILLION

    @property
    def epsilon_per_link(self) -> float:
        """Of an undirected link: twice as much."""
        return 2 * self.micro_per_entry / MILLION

    def __str__(self) -> str:
        return (f"epsilon {self.epsilon_per_entry:g} for an entry of a list, {self.epsilon_per_link:g} for an "
                f"undirected link ({self.draws} draw{'' if self.draws == 1 else 's'})")


class Accountant:
    """Adds up what is drawn from one set of nodes, and refuses what goes beyond a limit.

    Each draw is debited in full, whether or not the graph has changed since the last one: a debit that depended on the
    graph would tell of it. Use one accountant for each set of nodes. Safe to use from several threads.

    Example::

        accountant = blink.Accountant(limit_per_link=8)
        blink.privatise(adjacency, epsilon=3, accountant=accountant)
        accountant.spent.epsilon_per_link   # 6.0
        blink.privatise(adjacency, epsilon=2, accountant=accountant)   # BudgetExceededError: nothing is drawn

    Args:
      limit_per_entry: largest sum of epsilon for one entry of one list; None: no limit.
      limit_per_link: largest sum of epsilon for an undirected link; None: no limit.
    """

    def __init__(self, *, limit_per_entry: Number | None = None, limit_per_link: Number | None = None) -> None:
        self._limits: list[tuple[str, Fraction, int]] = []
        for name, limit, lists in (("limit_per_entry", limit_per_entry, 1), ("limit_per_link", limit_per_link, 2)):
            if limit is None:
                continue
            value = exact(name, limit)
            if value <= 0:
                raise ValueError(f"{name} is {limit}: it must be above 0")
            self._limits.append((name, value * MILLION, lists))
        self._spent = PrivacyLoss()
        self._lock = threading.Lock()

    @property
    def spent(self) -> PrivacyLoss:
        """The sum so far."""
        return self._spent

    def debit(self, epsilon_micro: int) -> PrivacyLoss:
        """Adds one draw of so many millionths of epsilon, before it is made.

        Raises:
          BudgetExceededError: the sum would exceed a limit. It stays as it was.
          ValueError: ``epsilon_micro`` is no budget of a draw, 1 .. 50,000,000.
        """
        epsilon_micro = whole("epsilon_micro", epsilon_micro, 1, EPSILON_MICRO_MAX)
        with self._lock:
            after = self._spent.micro_per_entry + epsilon_micro
            for name, limit_micro, lists in self._limits:
                if lists * after > limit_micro:
                    raise BudgetExceededError(
                        f"epsilon {epsilon_micro / MILLION:g} on top of {self._spent} exceeds {name} = "
                        f"{float(limit_micro) / MILLION:g}: nothing was drawn")
            self._spent = PrivacyLoss(after, self._spent.draws + 1)
            return self._spent

    def __copy__(self) -> Accountant:
        return self  # a second one would let the same budget be spent twice

    def __deepcopy__(self, memo: Any) -> Accountant:
        return self

    def __reduce__(self) -> Any:
        raise TypeError("an Accountant is not pickled: in another process it would let the same budget be spent again")

    def __repr__(self) -> str:
        return f"<blink.Accountant: {self._spent}>"


def check_accountant(accountant: Any) -> None:
    """Raises TypeError, naming the argument, where it is neither None nor an :class:`Accountant`."""
    if accountant is not None and not isinstance(accountant, Accountant):
        raise TypeError(f"accountant is of type {type(accountant).__name__}: give a blink.Accountant")
