"""Tables about a reproduced experiment, for people."""

from typing import Any

from ackclock.reproduction.outcome import PUBLISHED
from ackclock.table import Column, Table, fixed, table

# Columns of each quantity: published, computed, difference.
_TOGETHER = 3


def tables(record: dict[str, Any]) -> list[Table]:
    """Returns every table of an experiment's record."""
    listed = [_comparison(comparison) for comparison in record["comparisons"]]
    if record["claims"]:
        listed.append(_claims(record["claims"]))
    listed += [table(extra["title"], extra["head"], extra["rows"]) for extra in record["tables"]]
    if record["settings"]:
        rows = [
            [setting["name"], setting["value"], setting["origin"]] for setting in record["settings"]
        ]
        listed.append(table("What went in", ["", "value", "origin"], rows))
    return listed


def compared(record: dict[str, Any]) -> list[Table]:
    """Returns the tables of published numbers beside ours."""
    return [
        _comparison(comparison)
        for comparison in record["comparisons"]
        if comparison["origin"] in PUBLISHED
    ]


def notes(record: dict[str, Any]) -> list[str]:
    """Returns why cells are not expected to agree, each reason once."""
    reasons: dict[str, list[str]] = {}
    for comparison in record["comparisons"]:
        for cell in comparison["cells"]:
            if cell["excepted"]:
                named = f"{', '.join(cell['row'])}: {cell['quantity'].split(',')[0]}"
                reasons.setdefault(cell["excepted"], []).append(named)
    return [f"* {'; '.join(cells)}: {reason}" for reason, cells in reasons.items()]


def _claims(claims: list[dict[str, Any]]) -> Table:
    """Returns the table of claims; it has a column of accepted ranges if a claim has one."""
    bounded = any(claim["accepted"] for claim in claims)
    head = ["said", *(["accepted"] if bounded else []), "found", ""]
    rows = [
        [claim["said"], *([claim["accepted"]] if bounded else []), claim["found"], _standing(claim)]
        for claim in claims
    ]
    return table("What is said, and what is found", head, rows)


def _comparison(comparison: dict[str, Any]) -> Table:
    """Returns the table of a comparison, with `_TOGETHER` columns for each quantity."""
    theirs = comparison["origin"]
    quantities = list(dict.fromkeys(cell["quantity"] for cell in comparison["cells"]))
    by_row: dict[tuple[str, ...], dict[str, dict[str, Any]]] = {}
    for cell in comparison["cells"]:
        by_row.setdefault(tuple(cell["row"]), {})[cell["quantity"]] = cell
    head = [Column(key) for key in comparison["keys"]]
    for quantity in quantities:
        names = (theirs, "ours", "off by")
        if len(quantities) == 1:
            head += [Column(name, numeric=True) for name in names]
        else:  # The quantity stands once, over its columns.
            over = (quantity, "", "")
            head += [
                Column(name, unit, numeric=True) for name, unit in zip(over, names, strict=True)
            ]
    rows = []
    for keys, cells in by_row.items():
        row = [*keys]
        for quantity in quantities:
            row += _three(cells[quantity]) if quantity in cells else ["", "", ""]
        rows.append(row)
    title = comparison["title"]
    if len(quantities) == 1 and quantities[0] != "value":
        title = f"{title}: {quantities[0]}"
    return table(
        title, head, rows, _note(comparison), keys=len(comparison["keys"]), together=_TOGETHER
    )


def _note(comparison: dict[str, Any]) -> str:
    """Returns how many cells agree by the criterion, and how many are not expected to."""
    cells = comparison["cells"]
    excepted = sum(1 for cell in cells if cell["excepted"])
    agreeing = sum(1 for cell in cells if cell["agrees"] and not cell["excepted"])
    words = f"{agreeing} of {len(cells) - excepted} {comparison['criterion']}"
    return f"{words}; * {excepted} not expected to be" if excepted else words


def _three(cell: dict[str, Any]) -> list[str]:
    """Formats the published number as written, ours with one digit more, and the difference."""
    mantissa, _, exponent = cell["text"].partition("e")
    digits = len(mantissa.partition(".")[2]) + 1
    shape = f".{digits}{'e' if exponent else 'f'}"
    # JSON has no NaN, so it is None here.
    spread = "" if cell["half_width"] is None else f" ± {cell['half_width']:{shape}}"
    mean = f"{cell['ours']:{shape}}" if exponent else fixed(cell["ours"], digits)
    ours = f"{mean}{spread}"
    off = cell["relative_difference"]
    mark = "\u00a0*" if cell["excepted"] else "" if cell["agrees"] else " FAILS"
    apart = "–" if off is None else f"{fixed(100 * off, 2, sign=True)} %"
    return [cell["text"], ours, apart + mark]


def _standing(claim: dict[str, Any]) -> str:
    words = "holds" if claim["holds"] else "does not hold"
    return f"{words}: FAILS" if claim["fails"] else words
