"""Diagnosis of emulation on this machine, with one remedy for each thing that is missing."""

from typing import Any

from ackclock import engine
from ackclock.run.host import HOST_COMMAND, loader
from ackclock.table import Table, table


def examine() -> dict[str, Any]:
    """Examines this machine; on Linux it starts two hosts for a moment.

    Returns:
        `emulation`, true if it is possible in some form, and `findings`, most important first. A
        finding has `name`, `label`, `state` (`yes`, `partly`, `no`), `description` and `remedy`
        (None if nothing is missing).
    """
    return engine.doctor(HOST_COMMAND, loader())


def examine_l4s() -> dict[str, Any]:
    """Examines if this machine's TCP can take part in an L4S experiment.

    Returns:
        As `examine` does; `emulation` is true if an emulation can have L4S flows.
    """
    return engine.doctor_l4s(HOST_COMMAND)


def findings_table(examination: dict[str, Any], subject: str = "emulation") -> Table:
    """Returns the table of the findings of an examination of `what`."""
    title = (
        f"{subject} on this machine: {'possible' if examination['emulation'] else 'not possible'}"
    )
    cells = (
        [finding["label"], finding["state"], finding["description"], finding["remedy"] or ""]
        for finding in examination["findings"]
    )
    return table(title, ["what", "there", "found", "remedy"], cells)


def complaint(examination: dict[str, Any], subject: str = "emulation") -> str:
    """Returns one line with the first missing thing and its remedy."""
    missing = [
        finding
        for finding in examination["findings"]
        if finding["state"] == "no" and finding["remedy"]
    ]
    return f"no {subject} on this machine: {missing[0]['description']}; {missing[0]['remedy']}"
