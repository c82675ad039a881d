"""Tables that people read: how numbers, intervals and swept values are written, for a terminal, a page and JSON."""

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ackclock.metrics import Interval, metric
from ackclock.result import Result

Rows = list[dict[str, Any]]


def plain(value: Any) -> Any:
    """For JSON: intervals as `{"mean", "low", "high", "replicates"}`, unknown numbers as None, NumPy's as Python's."""
    if isinstance(value, Interval):
        return {
            "mean": plain(value.mean),
            "low": plain(value.low),
            "high": plain(value.high),
            "replicates": value.replicates,
        }
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: plain(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [plain(member) for member in value]
    return value


def json_text(value: Any) -> str:
    """What is `plain` as text of several lines, the last of them ended."""
    return json.dumps(plain(value), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def named(flow: str, instances: int | None) -> str:
    """A flow and how many instances it has; None if they arrive."""
    if instances is None:
        return f"{flow} (arriving)"
    return flow if instances == 1 else f"{flow} ×{instances}"


def swept_paths(rows: Rows) -> list[str]:
    """The swept parameters that the row does not say otherwise: a swept control stands in the column of controls."""
    paths = list(rows[0]["assignments"]) if rows else []
    return [path for path in paths if not all(row["assignments"][path] == row.get("control") for row in rows)]


def assigned(assignments: Mapping[str, Any]) -> list[str]:
    """The swept values of a point, each with its name."""
    return [f"{name} {value}" for name, value in zip(short(assignments), assignments.values(), strict=True)]


def short(paths: Iterable[str]) -> list[str]:
    """The shortest endings of paths that tell them apart, at least the name of the field."""
    paths = list(paths)
    ended = []
    for path in paths:
        parts = path.split(".")
        fewest = 2 if parts[-1] == "kind" else 1
        for count in range(fewest, len(parts) + 1):
            ending = ".".join(parts[-count:])
            if sum(other.endswith(ending) for other in paths) == 1:
                break
        ended.append(ending)
    return ended


def written(interval: Interval | None, name: str) -> str:
    """`5.21 ± 0.13` in the metric's shown unit."""
    return "–" if interval is None else written_interval(interval, metric(name).shown_per_unit)


def written_interval(interval: Interval, scale: float = 1) -> str:
    """`5.21 ± 0.13`, or without what is not known of it."""
    if math.isnan(interval.mean):
        return "–"
    if math.isnan(interval.half_width):
        return number(interval.mean, scale)
    if interval.half_width == 0:
        return f"{number(interval.mean, scale)} ± 0"
    # Two digits of what is uncertain, at most four of what is known.
    digits = min(_digits(interval.mean * scale), _digits(interval.half_width * scale, 2))
    return f"{interval.mean * scale:.{digits}f} ± {interval.half_width * scale:.{digits}f}"


def number(value: float | None, scale: float = 1) -> str:
    """A number with about four digits, a dash for unknown."""
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞"
    return f"{value * scale:.{_digits(value * scale)}f}"


def _digits(value: float, significant: int = 4) -> int:
    """Decimal places that show so many digits."""
    return 0 if value == 0 else max(0, min(6, significant - 1 - math.floor(math.log10(abs(value)))))


def averaging(result: Result) -> str:
    """What the numbers of a result are, for titles."""
    count, untrusted = result.run["replicates"], len(result.untrusted)
    one = "one replicate" if result.run["scenario"] else "one session"
    words = f"means of {count} replicates ± 95 % confidence" if count > 1 else f"{one}, no confidence interval"
    if untrusted:
        runs = f"{untrusted} untrusted run{'' if untrusted == 1 else 's'}"
        words += f", {runs} {'left out' if result.left_out else 'taken in'}"
    return f"interrupted, of what was run: {words}" if result.partial else words
