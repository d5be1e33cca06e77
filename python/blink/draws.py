"""One graph, one draw: what keeps a transform that is called again and again from spending epsilon each time."""

from __future__ import annotations

import os

from . import _core, spending
from ._graph import Graph
from .accountant import Accountant, PrivacyLoss, check_accountant
from .reports import Reports


class SecondDrawError(RuntimeError):
    """Noise was already drawn for this graph, with other parameters. Nothing was drawn."""


def draw_once(graph: Graph, epsilon_micro: int, degree_share_ppm: int, *, allow_redraw: bool = False,
              accountant: Accountant | None = None, may_draw: bool = True) -> tuple[Reports, PrivacyLoss]:
    """The reports of a graph in this process, and what all draws of this graph together have spent, those of
    :func:`blink.privatise` among them.

    The first call draws. Later calls with the same graph, budget and degree share get the same reports and spend
    nothing. An accountant is debited once for each draw whose reports it lets through. The reports are kept as long as
    the process lives, n^2 / 8 bytes each.

    Raises:
      SecondDrawError: the graph was drawn with another budget or degree share, and ``allow_redraw`` is false; or this
        process was forked, or ``may_draw`` is false, so that the draws of several processes could add up unseen.
      BudgetExceededError: the accountant refuses.
    """
    check_accountant(accountant)
    with spending.lock:
        draws = spending.draws.setdefault(graph.digest, [])
        for draw in draws:
            if draw.reports is None or (draw.epsilon_micro, draw.degree_share_ppm) != (epsilon_micro,
                                                                                       degree_share_ppm):
                continue
            if accountant is not None and accountant not in draw.debited:
                accountant.debit(epsilon_micro)
                draw.debited.add(accountant)
            return draw.reports, spending.loss_of(graph.digest)
        if os.getpid() != spending.process or not may_draw:
            raise SecondDrawError("this process was forked or started by another, as a worker of a DataLoader is, and "
                                  "its draw would not be known to the others: make the draw before (dataset[0]), or "
                                  "use num_workers=0")
        if any(draw.reports is not None for draw in draws) and not allow_redraw:
            raise SecondDrawError(f"this graph was drawn already, at {spending.loss_of(graph.digest)}. Another draw "
                                  f"adds to that: use the same epsilon and degree_share, or insist with "
                                  f"allow_redraw=True")
        if accountant is not None:
            accountant.debit(epsilon_micro)
        reports = Reports(_core.privatise(graph.offsets, graph.neighbours, epsilon_micro, degree_share_ppm))
        draws.append(spending.Draw(epsilon_micro, degree_share_ppm, reports))
        if accountant is not None:
            draws[-1].debited.add(accountant)
        return reports, spending.loss_of(graph.digest)


def draws_of(digests: set[str]) -> list[tuple[str, int, int, Reports]]:
    """The draws that are kept of these graphs, for another process."""
    with spending.lock:
        return [(digest, draw.epsilon_micro, draw.degree_share_ppm, draw.reports) for digest in sorted(digests)
                for draw in spending.draws.get(digest, []) if draw.reports is not None]


def adopt(draws: list[tuple[str, int, int, Reports]]) -> None:
    """Takes draws that another process made. What is known here stays."""
    with spending.lock:
        for digest, epsilon_micro, degree_share_ppm, reports in draws:
            known = spending.draws.setdefault(digest, [])
            if not any(draw.reports is not None and (draw.epsilon_micro, draw.degree_share_ppm) ==
                       (epsilon_micro, degree_share_ppm) for draw in known):
                known.append(spending.Draw(epsilon_micro, degree_share_ppm, reports))
