"""Options of several commands: scenarios and changes to them, result folders, models, JSON."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ackclock.errors import InputError
from ackclock.scenario import Scenario, load

if TYPE_CHECKING:
    from ackclock.result import Result

__all__ = [
    "checked_time", "json_option", "models_option", "output_option", "read_result", "read_scenario",
    "scenario_options", "side_by_side_option", "unreliable_option",
]  # fmt: skip

_Command = Callable[..., Any]


def scenario_options(command: _Command) -> _Command:
    """Adds a scenario and options that change it."""
    for option in (
        click.option("--replicates", type=click.IntRange(1), help="Run each point that many times."),
        click.option("--seed", type=click.IntRange(0, 2**64 - 1), help="The root of all randomness."),
        click.option(
            "--set", "assignments", multiple=True, metavar="PATH=VALUE",
            help="Change a value of the scenario; may be repeated: --set 'hops.wired.link.rate=10 Mbit/s'. "
            "What is set is no longer swept.",
        ),
        click.argument("scenario", type=click.Path(path_type=Path)),
    ):  # fmt: skip
        command = option(command)
    return command


def checked_time(example: str, *, from_zero: bool = False) -> Callable[..., str | None]:
    """Returns a callback that checks a time: positive, or not negative with `from_zero`."""

    def checked(
        _context: click.Context, option: click.Parameter, written: str | None
    ) -> str | None:
        from ackclock import units

        if written is None:
            return None
        try:
            seconds = units.seconds(written)
        except ValueError:
            raise InputError(
                "wrong-type",
                option.opts[0],
                f'"{written}" is no time; write for example "{example}"',
            ) from None
        if seconds < 0 or (seconds == 0 and not from_zero):
            must = "must not be negative" if from_zero else "must be positive"
            raise InputError(
                "out-of-range", option.opts[0], f'"{written}" {must}; write for example "{example}"'
            )
        return written

    return checked


def models_option(default: str) -> _Command:
    """Returns the option for models.

    Names are checked at once, before a run that may take an hour.
    """

    def known(_context: click.Context, _option: click.Parameter, names: str) -> str:
        if names not in ("all", "usual"):
            from ackclock.models import chosen

            try:
                chosen(names)
            except InputError as error:
                raise error.at("--models") from None
        return names

    return click.option(
        "--models", default=default, show_default=True, metavar="NAMES", callback=known,
        help="Which models: all, usual (a few that say different things), or names with commas between them; "
        "see: ackclock show models.",
    )  # fmt: skip


output_option = click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="The result's folder; by default out/ and the scenario's name.",
)

unreliable_option = click.option(
    "--unreliable", is_flag=True, help="Take emulated runs that are unreliable into averages too."
)

# Any machine can start this many hosts; the verdict tells if it keeps up with them.
_MOST_SIDE_BY_SIDE = 1000

side_by_side_option = click.option(
    "--side-by-side", type=click.IntRange(1, _MOST_SIDE_BY_SIDE), default=1, show_default=True,
    help="How many emulated runs at once, each between hosts of its own; the verdict says if that was too much.",
)  # fmt: skip

json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print JSON on standard output, for machines."
)


def read_scenario(
    path: Path, assignments: Iterable[str], seed: int | None, replicates: int | None
) -> Scenario:
    """Reads and checks the scenario, with the changes of the command line."""
    from ackclock import engine

    scenario = load(path)
    changes = dict(engine.parse_assignment(text) for text in assignments)
    changes |= {} if seed is None else {"seed": str(seed)}
    changes |= {} if replicates is None else {"replicates": replicates}
    scenario = scenario.replace(changes)
    scenario.check()
    return scenario


def read_result(folder: Path, *, unreliable: bool) -> "Result":
    """Reads the result in a folder; `unreliable` includes unreliable runs in averages."""
    from dataclasses import replace

    from ackclock.result import Result

    return replace(Result.load(folder), averages_unreliable=unreliable)
