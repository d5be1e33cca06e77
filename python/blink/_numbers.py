"""Numbers that decide privacy are exact: they become integers without passing through floating point."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any, Union

Number = Union[int, float, str, Decimal, Fraction]

EPSILON_MAX = 50
MILLION = 1_000_000
EPSILON_MICRO_MAX = EPSILON_MAX * MILLION


def exact(name: str, value: Any) -> Fraction:
    """The number as it is written: 0.1 is one tenth. A ``float`` stands for its shortest decimal.

    Raises:
      TypeError: ``value`` is no number.
      ValueError: it is NaN, infinite, or a text that is no decimal.
    """
    if isinstance(value, Fraction):
        return value
    if isinstance(value, bool) or not isinstance(value, (int, float, str, Decimal)):
        if not hasattr(value, "dtype") or getattr(value, "shape", None) != () or value.dtype.kind not in "iuf":
            raise TypeError(f"{name} is of type {type(value).__name__}: give a number")
    try:
        decimal = Decimal(str(value))
    except InvalidOperation:
        raise ValueError(f"{name} is {value!r}: give a number, such as 3 or 0.5") from None
    if not decimal.is_finite():
        raise ValueError(f"{name} is {value}: give a finite number")
    return Fraction(decimal)


def _millionths(name: str, value: Fraction) -> int:
    scaled = value * MILLION
    if scaled.denominator != 1:
        raise ValueError(f"{name} is {float(value)!r}: at most six decimals count, so round it first")
    return scaled.numerator


def epsilon_micro(epsilon: Any, name: str = "epsilon") -> int:
    """The budget in millionths, 1 to 50,000,000."""
    value = exact(name, epsilon)
    if not 0 < value <= EPSILON_MAX:
        raise ValueError(f"{name} is {epsilon}: it must be above 0 and at most {EPSILON_MAX}")
    return _millionths(name, value)


def share_ppm(share: Any, name: str = "degree_share") -> int:
    """A share in millionths, 0 to 1,000,000."""
    value = exact(name, share)
    if not 0 <= value <= 1:
        raise ValueError(f"{name} is {share}: it must be in 0 .. 1")
    return _millionths(name, value)


def whole(name: str, value: Any, low: int, high: int) -> int:
    """An integer in ``low`` .. ``high``."""
    number = exact(name, value)
    if number.denominator != 1 or not low <= number <= high:
        raise ValueError(f"{name} is {value}: it must be a whole number in {low:,} .. {high:,}")
    return number.numerator


def one_of(name: str, value: Any, names: tuple[str, ...]) -> str:
    """One of some names."""
    if value not in names:
        raise ValueError(f"{name} is {value!r}: it must be one of {', '.join(map(repr, names))}")
    return str(value)
