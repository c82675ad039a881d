"""The command `emulate`."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ackclock.cli.errors import INTERRUPTED, UNRELIABLE, complain
from ackclock.cli.options import (
    json_option,
    models_option,
    output_option,
    read_scenario,
    scenario_or_link,
    side_by_side_option,
    unreliable_option,
)
from ackclock.cli.output import say
from ackclock.cli.place import claim, force_option
from ackclock.cli.summary import print_run, print_warnings
from ackclock.run.device import DEVICES

if TYPE_CHECKING:
    from ackclock.result.result import Result


@click.command()
@scenario_or_link
@output_option("Folder of the result.", "out/SCENARIO")
@force_option
@click.option(
    "--device", type=click.Choice(DEVICES), default="automatic", show_default=True,
    help="Device that carries the packets; automatic prefers TUN.",
)  # fmt: skip
@side_by_side_option
@click.option(
    "--no-pcap",
    is_flag=True,
    help="Keep no captures (about 112 bytes per packet and place).",
)
@models_option("usual")
@unreliable_option
@json_option
def emulate(
    scenario: Path, assignments: tuple[str, ...], seed: int | None, replicates: int | None,
    output: Path | None, force: bool, device: str, side_by_side: int, no_pcap: bool, models: str,
    unreliable: bool, as_json: bool,
) -> int:  # fmt: skip
    """Run a scenario with the Linux TCP stack, in real time.

    Hosts are network namespaces that vanish with the command; `ackclock doctor` says whether this
    machine can make them. Unreliable runs are kept, marked, and left out of averages; the exit code
    is then 4. Ctrl-C keeps what has been recorded, marked as partial.

    \b
    Example:
      ackclock emulate examples/first.toml --set 'duration=10 s' --replicates 3
    """
    from dataclasses import replace

    from ackclock.cli.progress import progress
    from ackclock.result.interrupted import partly
    from ackclock.run import emulation, time_budget

    read = read_scenario(scenario, assignments, seed, replicates)
    folder = claim(output, Path("out") / scenario.stem, force=force)
    with progress(f"emulate {scenario.name}", time_budget.duration_s(read, side_by_side)) as tell:
        result = partly(
            lambda: emulation.emulate(
                read, folder, device=device, pcap=not no_pcap, side_by_side=side_by_side,
                replace=True,
                progress=lambda now: tell(now["fraction"], _moment(now)),
            )
        )  # fmt: skip
    result = replace(result, averages_unreliable=unreliable)
    print_warnings(result)
    print_run(result, folder, models, as_json)
    return _trust(result)


def _moment(now: dict[str, Any]) -> str:
    """Describes the progress of an emulation, in a few words."""
    rate = f"{now['rate_bit_per_s'] * 1e-6:.4g} Mbit/s"
    return rate if now["runs"] == 1 else f"run {now['run']} of {now['runs']}, {rate}"


def _trust(result: "Result") -> int:
    """Returns the exit code of an emulation, and the reason if it is not 0."""
    from ackclock.report import run_tables

    runs = run_tables.fidelity_rows(result)
    doubtful = [row for row in runs if not row["reliable"]]
    for row in doubtful:
        say(
            f"warning: point {row['point']}, replicate {row['replicate']}: {row['verdict']}",
            err=True,
        )
    if result.run["failed"]:
        return complain("a run failed; the result has the others", UNRELIABLE)
    if result.partial:
        return INTERRUPTED
    if not doubtful:
        return 0
    how = (
        "averages include them"
        if result.averages_unreliable
        else "averages leave them out; --unreliable includes them"
    )
    return complain(f"unreliable: {len(doubtful)} of {len(runs)} runs; {how}", UNRELIABLE)
