"""Quantities of scenarios, converted to the base unit: s, bit/s, bytes, packets, or a share.

`BDP` and `RTT` are quantities of a path, which only the engine knows; here they are their own base.
"""

import math
import re
from collections.abc import Collection
from typing import NamedTuple

from ackclock import engine
from ackclock.errors import InputError

TIME = {
    "ns": 1e-9,
    "us": 1e-6,
    "µs": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "min": 60.0,
    "h": 3600.0,
    "d": 86_400.0,
}
RATE = {
    "bit/s": 1.0, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9, "Tbit/s": 1e12, "B/s": 8.0,
    "kB/s": 8e3, "MB/s": 8e6, "GB/s": 8e9,
}  # fmt: skip
DATA = {
    "bytes": 1.0, "byte": 1.0, "B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12,
    "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30,
}  # fmt: skip
COUNT = {"packets": 1.0, "packet": 1.0, "segments": 1.0, "segment": 1.0}
COUNT_RATE = {"packets/s": 1.0, "segments/s": 1.0}
SHARE = {"%": 0.01}
BDP, RTT = {"BDP": 1.0}, {"RTT": 1.0}
_BASES = {
    "s": TIME,
    "bit/s": RATE,
    "bytes": DATA,
    "packets": COUNT,
    "packets/s": COUNT_RATE,
    "": SHARE,
    "BDP": BDP,
    "RTT": RTT,
}
_WRITTEN = re.compile(r"\s*([-+]?(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][-+]?\d+)?)\s*(.*?)\s*")
_NOUNS = {
    "s": "a time",
    "bit/s": "a rate",
    "bytes": "an amount of data",
    "packets": "a number of packets",
    "packets/s": "a rate in packets per second",
    "": "a number",
}


class Quantity(NamedTuple):
    """A quantity.

    Attributes:
        amount: In the base unit.
        base: The base unit: `s`, `bit/s`, `bytes`, `packets`, `packets/s`, `BDP`, `RTT`, or empty
            for a plain number or share.
        number: As written.
        unit: As written.
    """

    amount: float
    base: str
    number: float
    unit: str


def parse(written: str | float) -> Quantity:
    """Reads `"45 Mbit/s"` or a plain number.

    Raises:
        ValueError: It is not a quantity.
    """
    if isinstance(written, bool) or not isinstance(written, str | int | float):
        raise InputError("wrong-type", "", f"{written!r} is not a quantity")
    if not isinstance(written, str):
        return Quantity(float(written), "", float(written), "")
    match = _WRITTEN.fullmatch(written)
    if match is None:
        raise InputError("wrong-type", "", f'"{written}" is not a quantity')
    number, unit = float(match[1].replace("_", "")), match[2]
    if not unit:
        return Quantity(number, "", number, "")
    for base, units in _BASES.items():
        if unit in units:
            return Quantity(number * units[unit], base, number, unit)
    raise refusal("", written, _BASES)


def refusal(
    field: str, written: str, bases: Collection[str], *, example: str = "", noun: str = ""
) -> InputError:
    """The error of a text that is not a quantity of these dimensions, with what may be meant.

    Args:
        field: The field or option.
        written: The text.
        bases: The base units of the dimensions that fit.
        example: A quantity that fits.
        noun: What is expected: "a time".
    """
    noun = noun or (_NOUNS[next(iter(bases))] if len(bases) == 1 else "a quantity")
    remedy = f'; for example "{example}"' if example else ""
    match = _WRITTEN.fullmatch(written)
    if match is None:
        return InputError("wrong-type", field, f'"{written}" is not {noun}{remedy}')
    number, unit = match[1], match[2]
    if not unit:
        if example:
            written_out = _WRITTEN.fullmatch(example)
            remedy = f'; for example "{number} {written_out[2]}"' if written_out else remedy
        return InputError("no-unit", field, f'"{written}" has no unit{remedy}')
    meant = engine.unit_remedy(number, unit, list(bases))
    if meant is None and any(unit in units for units in _BASES.values()):
        return InputError("wrong-unit", field, f'"{written}" is not {noun}{remedy}')
    return InputError(
        "wrong-unit", field, f'"{written}" has an unknown unit{f"; {meant}" if meant else remedy}'
    )


def seconds(written: str) -> float:
    """Converts a time to seconds."""
    return _amount(written, "s")


def bit_per_s(written: str) -> float:
    """Converts a rate to bit/s."""
    return _amount(written, "bit/s")


def data_bytes(written: str) -> float:
    """Converts an amount of data to bytes."""
    return _amount(written, "bytes")


def packets(written: str) -> float:
    """Converts a number of packets."""
    return _amount(written, "packets")


def share(written: str | float) -> float:
    """Converts a share or probability, written as `"0.5 %"` or 0.005."""
    return _amount(written, "")


def window_packets(written: str, mss_bytes: float) -> float:
    """Converts a window to whole packets of `mss_bytes`; infinite for `"unlimited"`."""
    if written == "unlimited":
        return math.inf
    quantity = parse(written)
    return (
        math.floor(quantity.amount / mss_bytes)
        if quantity.base == "bytes"
        else _amount(written, "packets")
    )


def _amount(written: str | float, base: str) -> float:
    quantity = parse(written)
    if quantity.base != base:
        raise refusal("", str(written), (base,))
    return quantity.amount


_SHOWN = {
    "s": ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")),
    "bit/s": ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1.0, "bit/s")),
    "bytes": ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "bytes")),
}


def shown(amount: float, base: str) -> str:
    """Returns an amount in the base unit with three significant digits, as in `13.1 Mbit/s`."""
    factor, unit = next(
        (scale for scale in _SHOWN[base] if abs(amount) >= 0.9995 * scale[0]), _SHOWN[base][-1]
    )
    value = amount / factor
    digits = (
        0
        if value == 0 or unit == "bytes"
        else max(0, 2 - math.floor(math.log10(abs(value) * 1.0005)))
    )
    return f"{value:.{digits}f} {unit}"
