"""What was drawn of each graph in this process, by the digest of its content."""

from __future__ import annotations

import os
import secrets
import threading
import weakref
from dataclasses import dataclass, field
from typing import Any

from .accountant import Accountant, PrivacyLoss


@dataclass(frozen=True)
class Draw:
    epsilon_micro: int
    degree_share_ppm: int
    reports: Any  # None: those of blink.privatise, which its caller keeps
    debited: weakref.WeakSet[Accountant] = field(default_factory=weakref.WeakSet)  # accountants that count it


lock = threading.RLock()
process, token = os.getpid(), secrets.token_hex(16)
draws: dict[str, list[Draw]] = {}


def note_draw(digest: str, epsilon_micro: int) -> None:
    """Counts a draw whose reports are not kept here."""
    with lock:
        draws.setdefault(digest, []).append(Draw(epsilon_micro, 0, None))


def loss_of(digest: str) -> PrivacyLoss:
    """What all draws of a graph have spent."""
    with lock:
        found = draws.get(digest, [])
        return PrivacyLoss(sum(draw.epsilon_micro for draw in found), len(found))
