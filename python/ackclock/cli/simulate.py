"""The command `simulate`."""

from pathlib import Path

import click

from ackclock.cli.errors import INTERRUPTED
from ackclock.cli.options import (
    json_option,
    models_option,
    output_option,
    read_scenario,
    scenario_options,
)
from ackclock.cli.place import claim, force_option
from ackclock.cli.summary import print_run, print_warnings


@click.command()
@scenario_options
@output_option
@force_option
@click.option(
    "--threads",
    type=click.IntRange(1),
    help="How many to use; by default one for each core. The result does not depend on it.",
)
@click.option(
    "--packets",
    is_flag=True,
    help="Keep the table of packets, one row for each event of each packet.",
)
@click.option("--pcap", is_flag=True, help="Keep a capture of each run, for Wireshark.")
@models_option("usual")
@json_option
def simulate(
    scenario: Path, assignments: tuple[str, ...], seed: int | None, replicates: int | None,
    output: Path | None, force: bool, threads: int | None, packets: bool, pcap: bool, models: str,
    as_json: bool,
) -> int:  # fmt: skip
    """Run a scenario packet by packet, print a summary and keep the result in a folder.

    Ctrl-C keeps what there is, marked as partial. Given again, the command goes on after the runs
    that were finished, whatever ended it.

    \b
    Example:
      ackclock simulate examples/leaky-pipe.toml -o out/leaky-pipe --set 'duration=20 s'
    """
    from ackclock.cli.progress import progress
    from ackclock.run import cache

    read = read_scenario(scenario, assignments, seed, replicates)
    asked = cache.Simulation(read, captures=pcap, packets=packets)
    folder = claim(output, Path("out") / scenario.stem, force=force, goes_on=asked.is_begun)
    result = asked.known(folder)
    if result is None:
        with progress(f"simulate {scenario.name}") as tell:
            result = asked.run(folder, tell, threads)
    print_warnings(result)
    print_run(result, folder, models, as_json)
    return INTERRUPTED if result.partial else 0
