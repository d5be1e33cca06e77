"""An audit of the mechanism that this installation privatises with."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from . import _core
from ._numbers import Number, epsilon_micro, share_ppm, whole


@dataclass(frozen=True)
class Audit:
    """What an audit found.

    Attributes:
      passed: no claim was refuted. An honest mechanism is accused with probability at most 1e-6.
      findings: everything, as ``blink audit mechanism --json`` prints it: ``epsilon_bounds`` (lower bounds of what was
        spent), ``checks`` (of each claim of the proof), ``power`` (what would have been noticed).
    """

    passed: bool
    findings: dict[str, Any] = field(repr=False)

    @property
    def epsilon_lower(self) -> float:
        """The largest lower bound of epsilon that the reports prove, over all events that were looked at."""
        return max((bound["lower"] for bound in self.findings["epsilon_bounds"]), default=0.0)


def audit(*, epsilon: Number, degree_share: Number | None = None, nodes: int = 1024, reports: int = 1_000_000,
          threads: int = 0) -> Audit:
    """Draws reports of neighbouring lists, and tries to prove that they spend more than epsilon for one entry.

    It is ``blink audit mechanism`` for the code of this module: no graph is needed, and nothing private is read. With
    the defaults it takes some seconds.

    Args:
      epsilon: as for :func:`privatise`.
      degree_share: as there; None: the default of the beta prior.
      nodes: n, the bits of a report, 1,024 .. 1,000,000.
      reports: of each of three lists, 1,000 .. 1,000,000,000. Fewer than a million see little.
      threads: 0: all cores.

    Raises:
      MemoryError: the counts do not fit into memory.
      RuntimeError: the system's generator failed.
      TypeError, ValueError: an argument is wrong; the message names it.
    """
    micro = epsilon_micro(epsilon)
    share = _core.default_degree_share_ppm(micro, "beta") if degree_share is None else share_ppm(degree_share)
    found = json.loads(_core.audit_mechanism(
        micro, share, whole("nodes", nodes, 1024, 1_000_000), whole("reports", reports, 1000, 10**9),
        whole("threads", threads, 0, 1024)))
    return Audit(bool(found["passed"]), found)
