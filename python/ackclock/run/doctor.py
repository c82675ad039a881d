"""What this machine can do of an emulation, and the one remedy for what it cannot."""

from typing import Any

from ackclock import engine
from ackclock.run.host import HOST_COMMAND
from ackclock.table import Table, table


def examine() -> dict[str, Any]:
    """Looks at this machine; on Linux starts two hosts for a moment.

    Returns:
        `emulation`, whether one is possible in some way, and `findings`, the most necessary first:
        records with `name`, `label`, `state` (`yes`, `partly`, `no`), `found` and `remedy` (None
        where nothing is missing).
    """
    return engine.doctor(HOST_COMMAND)


def findings_table(examination: dict[str, Any]) -> Table:
    """The table of the findings of an examination."""
    title = (
        f"emulation on this machine: {'possible' if examination['emulation'] else 'not possible'}"
    )
    cells = (
        [finding["label"], finding["state"], finding["found"], finding["remedy"] or ""]
        for finding in examination["findings"]
    )
    return table(title, ["what", "there", "found", "remedy"], cells)


def complaint(examination: dict[str, Any]) -> str:
    """The one line about a machine that cannot emulate: what is missing first, and its remedy."""
    missing = [
        finding
        for finding in examination["findings"]
        if finding["state"] == "no" and finding["remedy"]
    ]
    return f"no emulation on this machine: {missing[0]['found']}; {missing[0]['remedy']}"
