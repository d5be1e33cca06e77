"""The reports of all nodes: noisy bits and noisy degrees."""

from __future__ import annotations

import hashlib
import os
import zipfile
import zlib
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from . import _core
from ._graph import graph_of
from ._numbers import MILLION, Number, epsilon_micro, one_of, share_ppm
from .accountant import Accountant, PrivacyLoss, check_accountant
from .spending import note_draw

PRIORS = ("beta", "attributed")
FORMAT = 1


class Reports:
    """What an aggregator receives: a row of noisy bits and a noisy degree of each node.

    Made by :func:`privatise`, :meth:`load`, :meth:`from_arrays` or :meth:`from_round`. It never changes.
    """

    def __init__(self, core: _core.ReportSet, *, tie_seed: int | None = None) -> None:
        self._core = core
        self._tie_seed = tie_seed

    @property
    def node_count(self) -> int:
        """n"""
        return self._core.node_count

    @property
    def epsilon(self) -> float:
        """The budget of a report, for one entry of one list."""
        return self._core.epsilon_micro / MILLION

    @property
    def degree_share(self) -> float:
        """The part of it that pays for the degree."""
        return self._core.degree_share_ppm / MILLION

    @property
    def epsilon_micro(self) -> int:
        """The budget in millionths, exactly."""
        return self._core.epsilon_micro

    @property
    def degree_share_ppm(self) -> int:
        """The degree share in millionths, exactly."""
        return self._core.degree_share_ppm

    @property
    def flip_probability(self) -> float:
        """p', with which each bit was flipped: the double nearest to ``flip_numerator / 2**64``."""
        return self._core.flip_probability

    @property
    def flip_numerator(self) -> int:
        """``2**64 * p'``, exactly."""
        return self._core.flip_numerator

    @property
    def privacy_loss(self) -> PrivacyLoss:
        """What this one draw spent."""
        return PrivacyLoss(self._core.epsilon_micro, 1)

    @property
    def tie_seed(self) -> int | None:
        """Of the reports of a round: the seed by which it decides Hybrid's ties. Otherwise None."""
        return self._tie_seed

    @property
    def bits(self) -> npt.NDArray[np.bool_]:
        """``[n, n]`` bool: entry (i, j) is what node i reported of its link with j. All False of a node that never
        reported, and where ``degree_share`` is 1. A copy of n^2 bytes; :attr:`packed` takes n^2 / 8 and is none."""
        n = self.node_count
        words = self._core.words
        if words.shape[1] == 0:
            return np.zeros((n, n), bool)
        return np.unpackbits(words.view(np.uint8), axis=1, count=n, bitorder="little").view(bool)

    @property
    def packed(self) -> npt.NDArray[np.uint64]:
        """``[n, ceil(n / 64)]`` uint64, read-only: bit j % 64 of word j // 64 of row i is entry (i, j). ``[n, 0]``
        where ``degree_share`` is 1."""
        return self._core.words

    @property
    def degrees(self) -> npt.NDArray[np.int64] | None:
        """``[n]`` int64 noisy degrees, which may be negative; 0 of a node that never reported. None where
        ``degree_share`` is 0."""
        return self._core.degrees if self._core.sends_degree else None

    @property
    def reported(self) -> npt.NDArray[np.bool_]:
        """``[n]`` bool: which nodes have reported."""
        return self._core.reported.astype(bool)

    @classmethod
    def from_arrays(cls, bits: Any, degrees: Any, *, epsilon: Number, degree_share: Number,
                    reported: Any = None) -> Reports:
        """Reports that were drawn elsewhere.

        Args:
          bits: ``[n, n]`` zeros and ones, a NumPy array or a SciPy sparse matrix; the diagonal is ignored. None where
            ``degree_share`` is 1.
          degrees: ``[n]`` integers. None where ``degree_share`` is 0.
          epsilon: the budget that they were drawn with, above 0 and at most 50, at most six decimals.
          degree_share: 0 .. 1, at most six decimals.
          reported: ``[n]`` bool, which nodes have reported. None: all.

        Raises:
          ValueError: sizes that do not fit, or a part that is missing or surplus.
        """
        micro, share = epsilon_micro(epsilon), share_ppm(degree_share)
        if (bits is None) != (share == MILLION):
            raise ValueError(f"bits must be {'None' if share == MILLION else 'given'} where degree_share is "
                             f"{degree_share}")
        if (degrees is None) != (share == 0):
            raise ValueError(f"degrees must be {'None' if share == 0 else 'given'} where degree_share is "
                             f"{degree_share}")
        sizes = np.asarray(degrees) if degrees is not None else None
        if sizes is not None and (sizes.ndim != 1 or sizes.dtype.kind not in "iu"):
            raise ValueError(f"degrees has the shape {sizes.shape} of {sizes.dtype}: give integers [n]")
        if bits is not None:
            words = _pack(bits)
        else:
            assert sizes is not None
            words = np.zeros((len(sizes), 0), np.uint64)
        n = len(words)
        if sizes is not None and len(sizes) != n:
            raise ValueError(f"degrees is of {len(sizes)} nodes, but bits is of {n}")
        there = np.ones(n, bool) if reported is None else np.asarray(reported)
        if there.shape != (n,) or there.dtype != np.bool_:
            raise ValueError(f"reported has the shape {there.shape} of {there.dtype}: give bool [{n}]")
        ints = None if sizes is None else np.ascontiguousarray(sizes, np.int64)
        return cls(_core.reports_from_arrays(words, ints, np.ascontiguousarray(there), micro, share))

    @classmethod
    def from_round(cls, folder: str | os.PathLike[str]) -> Reports:
        """The reports of a sealed round: ``round.json`` and ``reports.blr``, as ``blink-aggregator`` stores them and
        ``blink simulate`` keeps them.

        Raises:
          FileNotFoundError: one of the files is missing.
          ValueError: a file is damaged, the two do not belong together, or the round has the mechanism ``one-end``.
        """
        core, round_id = _core.read_round_folder(os.fspath(folder))
        digest = hashlib.sha256(f"blink tie seed {round_id}".encode()).digest()
        return cls(core, tie_seed=int.from_bytes(digest[:8], "big"))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes them to an ``.npz`` file, so that a later run need not draw again."""
        arrays: dict[str, Any] = {"format": FORMAT, "packed": self.packed, "reported": self.reported,
                                  "epsilon_micro": self.epsilon_micro, "degree_share_ppm": self.degree_share_ppm}
        if self.degrees is not None:
            arrays["degrees"] = self.degrees
        with open(path, "wb") as file:
            np.savez_compressed(file, **arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Reports:
        """Reads what :meth:`save` or ``blink privatise`` wrote.

        Raises:
          FileNotFoundError: there is no such file.
          ValueError: the file is damaged, or something else.
        """
        try:
            return cls._loaded(path)
        except (zipfile.BadZipFile, zlib.error, EOFError, KeyError) as problem:
            raise ValueError(f"{os.fspath(path)} is damaged, or holds no reports: {problem}") from None

    @classmethod
    def _loaded(cls, path: str | os.PathLike[str]) -> Reports:
        with open(path, "rb") as opened:
            if opened.read(2) != b"PK":
                raise ValueError(f"{os.fspath(path)} holds no reports: Reports.save writes such files")
        with np.load(path, allow_pickle=False) as file:
            names = set(file.files)
            if {"epsilon", "degree_share"} <= names and names & {"bits", "degrees"}:
                bits, degrees = (file[name] if name in names else None for name in ("bits", "degrees"))
                if bits is not None:
                    bits = np.unpackbits(bits, axis=1, count=len(bits), bitorder="little")
                return cls.from_arrays(bits, degrees, epsilon=float(file["epsilon"]),
                                       degree_share=float(file["degree_share"]))
            if not {"format", "packed", "reported", "epsilon_micro", "degree_share_ppm"} <= names:
                raise ValueError(f"{os.fspath(path)} holds no reports: Reports.save writes such files")
            if int(file["format"]) != FORMAT:
                raise ValueError(f"{os.fspath(path)} has the format {int(file['format'])}: this version reads {FORMAT}")
            degrees = np.ascontiguousarray(file["degrees"], np.int64) if "degrees" in names else None
            return cls(_core.reports_from_arrays(
                np.ascontiguousarray(file["packed"], np.uint64), degrees,
                np.ascontiguousarray(file["reported"], bool), int(file["epsilon_micro"]),
                int(file["degree_share_ppm"])))

    def __copy__(self) -> Reports:
        return self  # it never changes

    def __deepcopy__(self, memo: Any) -> Reports:
        return self

    def __reduce__(self) -> Any:
        return _again, (self.packed, self.degrees, self.reported, self.epsilon_micro, self.degree_share_ppm,
                        self._tie_seed)

    def __repr__(self) -> str:
        return (f"<blink.Reports of {int(self.reported.sum()):,} of {self.node_count:,} nodes, epsilon "
                f"{self.epsilon:g}, degree share {self.degree_share:g}>")


def _again(packed: Any, degrees: Any, reported: Any, micro: int, share: int, tie_seed: int | None) -> Reports:
    """Reports that were pickled."""
    return Reports(_core.reports_from_arrays(np.ascontiguousarray(packed), degrees, np.ascontiguousarray(reported),
                                             micro, share), tie_seed=tie_seed)


def _pack(bits: Any) -> npt.NDArray[np.uint64]:
    """[n, ceil(n / 64)] of [n, n]"""
    if not sp.issparse(bits) and not (isinstance(bits, np.ndarray) and bits.ndim == 2):
        raise TypeError(f"bits is of type {type(bits).__name__}: give a NumPy array or a SciPy sparse matrix [n, n]")
    n = bits.shape[0]
    if bits.shape != (n, n):
        raise ValueError(f"bits has the shape {bits.shape}: it must be square")
    rows = bits.toarray() if sp.issparse(bits) else bits
    if rows.dtype != np.bool_:
        if not bool(np.all((rows == 0) | (rows == 1))):
            raise ValueError("bits has entries other than 0 and 1")
        rows = rows.astype(bool)
    packed = np.zeros((n, 8 * ((n + 63) // 64)), np.uint8)
    packed[:, :(n + 7) // 8] = np.packbits(rows, axis=1, bitorder="little")
    return packed.view(np.uint64)


def privatise(adjacency: Any, *, epsilon: Number, degree_share: Number | None = None, prior: str = "beta",
              accountant: Accountant | None = None) -> Reports:
    """Draws one private report for each node: LinkLDP, Algorithm 1 of Blink (CCS '23).

    **Each call draws anew and spends epsilon again.** Keep the result (:meth:`Reports.save`), and estimate from it as
    often as you like: that is free.

    The noise comes from OpenSSL's generator, seeded by the system. It is drawn with exact integers, before a list is
    read. There is no seed: noise that somebody can draw again hides nothing.

    Args:
      adjacency: ``[n, n]`` zeros and ones, symmetric, with an empty diagonal: a SciPy sparse matrix or a NumPy array.
        n is 3 .. 10,000,000.
      epsilon: the budget of a report, for one entry of one list; an undirected link costs twice as much. Above 0 and
        at most 50, with at most six decimals. A ``float`` stands for its shortest decimal.
      degree_share: the part of epsilon that pays for the degree, 0 .. 1. None: the default for epsilon and ``prior``.
      prior: the prior that the reports are drawn for, "beta" or "attributed". It decides the default of
        ``degree_share`` and nothing else.
      accountant: debited before anything is drawn.

    Returns:
      Bits and degrees. Memory: n^2 / 8 bytes.

    Raises:
      BudgetExceededError: the accountant refuses.
      MemoryError: the bits do not fit into memory.
      RuntimeError: the system's generator failed.
      TypeError, ValueError: an argument is wrong; the message names it.
    """
    micro = epsilon_micro(epsilon)
    one_of("prior", prior, PRIORS)
    share = _core.default_degree_share_ppm(micro, prior) if degree_share is None else share_ppm(degree_share)
    check_accountant(accountant)
    graph = graph_of(adjacency)
    if accountant is not None:
        accountant.debit(micro)
    note_draw(graph.digest, micro)
    return Reports(_core.privatise(graph.offsets, graph.neighbours, micro, share))
