"""One graph, one draw: what keeps a transform that is called again and again from spending epsilon each time."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass

from . import _core
from ._graph import Graph
from .accountant import Accountant, PrivacyLoss
from .reports import Reports


class SecondDrawError(RuntimeError):
    """Noise was already drawn for this graph, with other parameters. Nothing was drawn."""


@dataclass(frozen=True)
class _Draw:
    epsilon_micro: int
    degree_share_ppm: int
    reports: Reports


_lock = threading.Lock()
_process = os.getpid()
_draws: dict[str, list[_Draw]] = {}  # by the digest of the graph's content


def draw_once(graph: Graph, epsilon_micro: int, degree_share_ppm: int, *, allow_redraw: bool = False,
              accountant: Accountant | None = None) -> tuple[Reports, PrivacyLoss]:
    """The reports of a graph in this process, and what all draws of this graph together have spent.

    The first call draws. Later calls with the same graph, budget and degree share get the same reports and spend
    nothing. The reports are kept as long as the process lives, n^2 / 8 bytes each.

    Raises:
      SecondDrawError: the graph was drawn with another budget or degree share, and ``allow_redraw`` is false; or this
        process was forked, so that the draws of several processes could add up unseen.
      BudgetExceededError: the accountant refuses.
    """
    with _lock:
        draws = _draws.setdefault(graph.digest, [])
        for draw in draws:
            if (draw.epsilon_micro, draw.degree_share_ppm) == (epsilon_micro, degree_share_ppm):
                return draw.reports, _loss(draws)
        if os.getpid() != _process:
            raise SecondDrawError("this process was forked, as a worker of a DataLoader is, and its draw would not be "
                                  "known to the others: make the draw before (dataset[0]), or use num_workers=0")
        if draws and not allow_redraw:
            raise SecondDrawError(f"this graph was drawn already, at {_loss(draws)}. Another draw adds to that: use "
                                  f"the same epsilon and degree_share, or insist with allow_redraw=True")
        if accountant is not None:
            accountant.debit(epsilon_micro)
        reports = Reports(_core.privatise(graph.offsets, graph.neighbours, epsilon_micro, degree_share_ppm))
        draws.append(_Draw(epsilon_micro, degree_share_ppm, reports))
        return reports, _loss(draws)


def _loss(draws: list[_Draw]) -> PrivacyLoss:
    return PrivacyLoss(sum(draw.epsilon_micro for draw in draws), len(draws))
