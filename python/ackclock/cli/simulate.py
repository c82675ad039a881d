"""The command `simulate`."""

import time
from pathlib import Path

import click

from ackclock.cli.errors import INTERRUPTED
from ackclock.cli.options import (
    json_option,
    models_option,
    output_option,
    read_scenario,
    scenario_or_link,
)
from ackclock.cli.place import claim, force_option, is_simulation
from ackclock.cli.summary import print_run, print_warnings


@click.command()
@scenario_or_link
@output_option("Folder of the result.", "out/SCENARIO")
@force_option
@click.option(
    "--threads",
    type=click.IntRange(1),
    help="Number of threads. The result does not depend on it.  [default: one per core]",
)
@click.option(
    "--packets",
    is_flag=True,
    help="Keep the table of packets: one row per event of a packet.",
)
@click.option("--pcap", is_flag=True, help="Keep a packet capture of each run.")
@click.option(
    "--qlog", is_flag=True, help="Keep a qlog file of each side of each connection of quinn."
)
@models_option("usual")
@json_option
def simulate(
    scenario: Path, assignments: tuple[str, ...], seed: int | None, replicates: int | None,
    output: Path | None, force: bool, threads: int | None, packets: bool, pcap: bool, qlog: bool,
    models: str, as_json: bool,
) -> int:  # fmt: skip
    """Simulate a scenario, or one flow over one link, packet by packet.

    Prints a summary and keeps the result in a folder. Ctrl-C keeps the finished runs, marked as
    partial; the same command continues after them.

    \b
    Example:
      ackclock simulate examples/leaky-pipe.toml --set 'duration=20 s'
      ackclock simulate --control bbr3 --rate 20Mbit/s --rtt 40ms --buffer 1BDP
    """
    from ackclock.cli.progress import progress
    from ackclock.run import cache

    read = read_scenario(scenario, assignments, seed, replicates)
    asked = cache.Simulation(read, captures=pcap, packets=packets, qlog=qlog)
    folder = claim(
        output, Path("out") / scenario.stem, force=force, goes_on=asked.is_begun,
        repeatable=is_simulation,
    )  # fmt: skip
    result, lasted_s = asked.complete_result(folder), None
    if result is None:
        started = time.monotonic()
        with progress(f"simulate {scenario.name}") as tell:
            result = asked.run(folder, tell, threads)
        lasted_s = time.monotonic() - started
    print_warnings(result)
    print_run(result, folder, models, as_json, lasted_s)
    return INTERRUPTED if result.partial else 0
