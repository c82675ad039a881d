"""The command `replay`."""

import math
from pathlib import Path
from typing import Any

import click

from ackclock.cli.errors import UNRELIABLE, complain
from ackclock.cli.options import json_option
from ackclock.cli.output import print_json, print_table


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@json_option
def replay(run: Path, as_json: bool) -> int:
    """Replay the packets of an emulation and verify every decision.

    Recorded packets pass through the hops again; every departure, drop and mark must be the same,
    to the nanosecond. The record of an interrupted run is replayed as far as it goes. The exit code
    is 4 if anything differs.

    \b
    Example:
      ackclock replay out/emulated
    """
    from ackclock.run import emulation

    runs = emulation.replay(run)
    if as_json:
        print_json(runs)
    else:
        from ackclock.table import table

        head = ["point", "replicate", "packets", "same decisions", "record", "differs"]
        cells = (
            [
                replayed["point"],
                replayed["replicate"],
                replayed["arrivals"],
                replayed["decisions"],
                _extent(replayed),
                "no" if replayed["difference"] is None else "yes",
            ]
            for replayed in runs
        )
        print_table(table(f"{run}: recorded packets through the hops again", head, cells))
    different = [replayed for replayed in runs if replayed["difference"] is not None]
    if not different:
        return 0
    first = different[0]
    where = f"point {first['point']}, replicate {first['replicate']}"
    return complain(
        f"{len(different)} of {len(runs)} runs differ; {where}: {first['difference']}", UNRELIABLE
    )


def _extent(run: dict[str, Any]) -> str:
    """Returns how far the record of a run goes."""
    if run["complete"]:
        return "whole"
    return f"partial, {math.floor(run['until_s'] * 10) / 10:.1f} s of {run['duration_s']:g} s"
