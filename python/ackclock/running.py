"""The commands that send packets: `simulate`, `emulate`, and `replay` of what was emulated."""

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ackclock.exits import INTERRUPTED, UNTRUSTWORTHY, complain
from ackclock.folder import refuse_foreign_folder, refuse_unwritable_folder
from ackclock.options import (
    json_option,
    models_option,
    output_option,
    read_scenario,
    scenario_options,
    side_by_side_option,
    untrusted_option,
)
from ackclock.terminal import print_json, print_table
from ackclock.ways import DEVICES

if TYPE_CHECKING:
    from ackclock.result import Result

__all__ = ["emulate", "replay", "simulate"]


@click.command()
@scenario_options
@output_option
@click.option(
    "--threads",
    type=click.IntRange(1),
    help="How many to use; by default one for each core. The result does not depend on it.",
)
@click.option("--packets", is_flag=True, help="Keep the table of packets, one row for each event of each packet.")
@click.option("--pcap", is_flag=True, help="Keep a capture of each run, for Wireshark.")
@models_option("usual")
@json_option
def simulate(
    scenario: Path, assignments: tuple[str, ...], seed: int | None, replicates: int | None, output: Path | None,
    threads: int | None, packets: bool, pcap: bool, models: str, as_json: bool,
) -> int:  # fmt: skip
    """Run a scenario packet by packet, print a summary and keep the result in a folder.

    Ctrl-C keeps what there is, marked as partial.

    \b
    Example:
      ackclock simulate examples/leaky-pipe.toml -o out/leaky-pipe --set 'duration=20 s'
    """
    from ackclock import ways
    from ackclock.progress import progress

    read = read_scenario(scenario, assignments, seed, replicates)
    folder = _place(scenario, output)
    with tempfile.TemporaryDirectory(prefix="ackclock-") as scratch:
        captures = Path(scratch) / "pcap" if pcap else None
        if captures is not None:
            captures.mkdir()
        with progress(f"simulate {scenario.name}") as tell:
            result = ways.simulate(read, threads=threads, packets=packets, pcap=captures, progress=tell)
        result.save(folder, captures)
    _print_warnings(result)
    _print_run(result, folder, models, as_json)
    return INTERRUPTED if result.partial else 0


@click.command()
@scenario_options
@output_option
@click.option(
    "--device", type=click.Choice(DEVICES), default="automatic", show_default=True,
    help="What carries the packets; automatic takes a TUN device where there is one.",
)  # fmt: skip
@side_by_side_option
@click.option("--no-pcap", is_flag=True, help="Keep no captures: they take about 112 bytes for each packet and place.")
@models_option("usual")
@untrusted_option
@json_option
def emulate(
    scenario: Path, assignments: tuple[str, ...], seed: int | None, replicates: int | None, output: Path | None,
    device: str, side_by_side: int, no_pcap: bool, models: str, untrusted: bool, as_json: bool,
) -> int:  # fmt: skip
    """Run a scenario with the real Linux TCP stack in real time, print a summary and keep the result in a folder.

    Hosts are namespaces that vanish with the command; `ackclock doctor` says what this machine can do. Runs that are
    not to be trusted are kept, marked and left out of averages; then it exits with 4. Ctrl-C keeps what there is,
    marked as partial.

    \b
    Example:
      ackclock emulate examples/first.toml -o out/emulated --set 'duration=10 s' --replicates 3
    """
    from dataclasses import replace

    from ackclock import real_time, ways
    from ackclock.progress import progress

    read = read_scenario(scenario, assignments, seed, replicates)
    folder = _place(scenario, output)
    with progress(f"emulate {scenario.name}", real_time.lasts_s(read, side_by_side)) as tell:
        result = ways.emulate(
            read, folder, device=device, pcap=not no_pcap, side_by_side=side_by_side,
            progress=lambda now: tell(now["fraction"], _moment(now)),
        )  # fmt: skip
    result = replace(result, averages_untrusted=untrusted)
    _print_warnings(result)
    _print_run(result, folder, models, as_json)
    return _trust(result)


def _place(scenario: Path, output: Path | None) -> Path:
    """The result's folder, refused before a run that may take an hour."""
    folder = output or Path("out") / scenario.stem
    refuse_foreign_folder(folder)
    refuse_unwritable_folder(folder)
    return folder


def _moment(now: dict[str, Any]) -> str:
    """What an emulation is doing, in a few words."""
    rate = f"{now['rate_bit_per_s'] * 1e-6:.4g} Mbit/s"
    return rate if now["runs"] == 1 else f"run {now['run']} of {now['runs']}, {rate}"


def _trust(result: "Result") -> int:
    """The exit code of an emulation, and why it is not 0."""
    from ackclock import summary

    runs = summary.fidelity_rows(result)
    doubtful = [row for row in runs if not row["trusted"]]
    for row in doubtful:
        click.echo(f"warning: point {row['point']}, replicate {row['replicate']}: {row['verdict']}", err=True)
    if result.run["failed"]:
        return complain("a run failed; the result holds the others", UNTRUSTWORTHY)
    if result.partial:
        return INTERRUPTED
    if not doubtful:
        return 0
    how = "averages take them in" if result.averages_untrusted else "averages leave them out unless told --untrusted"
    return complain(f"not to be trusted: {len(doubtful)} of {len(runs)} runs; {how}", UNTRUSTWORTHY)


def _print_warnings(result: "Result") -> None:
    for warning in result.run["warnings"]:
        click.echo(f"warning: {warning}", err=True)


def _print_run(result: "Result", folder: Path, models: str, as_json: bool) -> None:
    """The summary of what was run."""
    from ackclock import summary, ways

    rows = summary.flow_rows(result, ways.predict(result, models))
    if as_json:
        answer = {"folder": str(folder), "partial": result.partial, "flows": rows, "hops": summary.hop_rows(result)}
        if result.run["way"] == "emulate":
            answer["fidelity"] = summary.fidelity_rows(result)
        print_json(answer)
        return
    title = f"{result.run['name']}: {summary.averaging(result)}"
    head, cells = summary.flow_cells(rows)
    print_table(title, head, cells, spare=summary.spare_flow_columns(head))
    click.echo(f"result: {folder}")


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@json_option
def replay(run: Path, as_json: bool) -> int:
    """Push the recorded packets of an emulation through the hops again, and demand the same decisions.

    Every departure to the nanosecond, every drop and mark. Of a run that was killed it takes what was recorded. Exits
    with 4 if something differs.

    \b
    Example:
      ackclock replay out/emulated
    """
    from ackclock import ways

    try:
        runs = ways.replay(run)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    if as_json:
        print_json(runs)
    else:
        cells = [
            [
                str(one["point"]),
                str(one["replicate"]),
                str(one["arrivals"]),
                str(one["decisions"]),
                "whole" if one["complete"] else "cut off",
                "no" if one["difference"] is None else "yes",
            ]
            for one in runs
        ]
        head = ["point", "replicate", "packets", "same decisions", "record", "differs"]
        print_table(f"{run}: recorded packets through the hops again", head, cells)
    different = [one for one in runs if one["difference"] is not None]
    if not different:
        return 0
    first = different[0]
    where = f"point {first['point']}, replicate {first['replicate']}"
    return complain(f"{len(different)} of {len(runs)} runs differ; {where}: {first['difference']}", UNTRUSTWORTHY)
