"""Options of several commands: scenarios and changes to them, result folders, models, JSON."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ackclock.cli.complete import fields, names_of
from ackclock.cli.one_link import begun, link_options, scenario_argument
from ackclock.errors import InputError, ScenarioError
from ackclock.scenario import Scenario

if TYPE_CHECKING:
    from ackclock.result.result import Result

_Command = Callable[..., Any]


def scenario_options(command: _Command) -> _Command:
    """Adds a scenario and options that change it."""
    return replicates_option(changed_scenario(command))


def scenario_or_link(command: _Command) -> _Command:
    """Adds a scenario, options that change it, and those that describe one link instead."""
    return replicates_option(changed_scenario_or_link(command))


def changed_scenario_or_link(command: _Command) -> _Command:
    """Adds the same without the number of replicates."""
    return scenario_argument(link_options(scenario_changes(command)))


replicates_option = click.option(
    "--replicates", type=click.IntRange(1), help="Number of runs of each point."
)


def _bring(apart: bool) -> Callable[..., None]:
    """Returns a callback that brings stacks before a scenario is read."""

    def bring(_context: click.Context, option: click.Parameter, given: tuple[str, ...]) -> None:
        if not given:
            return
        from ackclock import stacks

        for text in given:
            name, sign, library = text.partition("=")
            if not sign or not library:
                words = f'"{text}" is not NAME=LIBRARY; for example mine=./mine.so'
                raise InputError("syntax", option.opts[0], words, text)
            stacks.bring(name, library, apart=apart)

    return bring


def stack_options(command: _Command) -> _Command:
    """Adds options that bring transports in shared libraries."""
    for option, apart, where in (
        ("--stack-apart", True, "in a process of its own, so that a crash ends only its run"),
        ("--stack", False, "in this process"),
    ):
        command = click.option(
            option, multiple=True, metavar="NAME=LIBRARY", expose_value=False,
            callback=_bring(apart), is_eager=True,
            help="Bring the transport in a shared library for scenarios with stack = NAME, "
            f"{where}; may be repeated.",
        )(command)  # fmt: skip
    return command


def changed_scenario(command: _Command) -> _Command:
    """Adds a scenario and options that change it, without the number of replicates."""
    return click.argument("scenario", type=click.Path(path_type=Path))(scenario_changes(command))


def scenario_changes(command: _Command) -> _Command:
    """Adds the options that change a scenario, without the number of replicates."""
    command = stack_options(command)
    for option in (
        click.option("--seed", type=click.IntRange(0, 2**64 - 1), help="Seed of all randomness."),
        click.option(
            "--set", "assignments", multiple=True, metavar="PATH=VALUE", shell_complete=fields,
            help="Another value for a field of the scenario, such as 'hops.wired.link.rate=10 "
            "Mbit/s'; may be repeated. "
            "A field that is set is no longer swept. A file is looked for beside the scenario.",
        ),
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
            raise units.refusal(option.opts[0], written, ("s",), example=example) from None
        if seconds < 0 or (seconds == 0 and not from_zero):
            must = "is negative" if from_zero else "is not positive"
            raise InputError(
                "out-of-range", option.opts[0], f'"{written}" {must}; for example "{example}"'
            )
        return written

    return checked


def models_option(default: str) -> _Command:
    """Returns the option for models.

    Names are checked at once, before a run that may take an hour.
    """

    def checked_models(_context: click.Context, _option: click.Parameter, names: str) -> str:
        if names not in ("all", "usual"):
            from ackclock.models import chosen

            try:
                chosen(names)
            except InputError as error:
                raise error.for_field("--models") from None
        return names

    return click.option(
        "--models", default=default, show_default=True, metavar="NAMES", callback=checked_models,
        shell_complete=names_of("models"),
        help="Models to ask: all, usual (a few that differ), or names separated by commas. See "
        "ackclock show models.",
    )  # fmt: skip


def output_option(written: str, default: str = "") -> _Command:
    """Returns the option of what is written, without a default or with one that its help names."""
    help_text = f"{written}  [default: {default}]" if default else written
    return click.option("-o", "--output", type=click.Path(path_type=Path), help=help_text)


unreliable_option = click.option(
    "--unreliable", is_flag=True, help="Include unreliable emulated runs in averages."
)

# Any machine can start this many hosts; the verdict tells if it keeps up with them.
_MOST_SIDE_BY_SIDE = 1000

side_by_side_option = click.option(
    "--side-by-side", type=click.IntRange(1, _MOST_SIDE_BY_SIDE), default=1, show_default=True,
    help="Number of emulated runs at the same time, each between its own hosts.",
)  # fmt: skip


def _width(_context: click.Context, _option: click.Parameter, written: str | None) -> float | None:
    if written is None:
        return None
    from ackclock.plot import width_in

    try:
        return width_in(written)
    except InputError as error:
        raise error.for_field("--width") from None


def paper_options(command: _Command) -> _Command:
    """Adds what a figure is to look like in a paper."""
    for option in (
        click.option("--title", metavar="TEXT", help="Title; none for no title."),
        click.option(
            "--font-size", type=click.FloatRange(4, 30), metavar="POINTS",
            help="Size of labels in points.  [default: 9]",
        ),
        click.option(
            "--font", type=click.Choice(["sans", "serif"]), default="sans", show_default=True,
            help="Font of the figure.",
        ),
        click.option(
            "--width", metavar="WIDTH", callback=_width,
            help="Width of the figure: column, text, or a length such as 84mm.",
        ),
    ):  # fmt: skip
        command = option(command)
    return command


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def read_scenario(
    path: Path, assignments: Iterable[str], seed: int | None, replicates: int | None
) -> Scenario:
    """Reads and checks the scenario, with the changes of the command line."""
    from ackclock import engine
    from ackclock.scenario.short import value_of, whole_path

    scenario, changes = begun(path)
    for text in assignments:
        with _of_option("--set"):
            written, value = engine.parse_assignment(text)
            field = whole_path(scenario, written)
        changes[field] = ("--set", value_of(scenario, field, value))
    changes |= {} if seed is None else {"seed": ("--seed", str(seed))}
    changes |= {} if replicates is None else {"replicates": ("--replicates", replicates)}
    with _of_option("--set"):
        scenario = scenario.changed(changes)
    scenario.check()
    return scenario


def whole_parameters(scenario: Scenario, vary: Iterable[str]) -> tuple[str, ...]:
    """Returns parameters of `--vary` with whole paths in place of short ones."""
    from ackclock.scenario.short import varied_path

    whole = []
    for text in vary:
        before, sign, values = text.partition("=")
        paths = (varied_path(scenario, path.strip()) for path in before.split(","))
        whole.append(f"{','.join(paths)}{sign}{values}")
    return tuple(whole)


@contextmanager
def _of_option(name: str) -> Iterator[None]:
    """Adds to a `ScenarioError` from within the option it comes from."""
    try:
        yield
    except ScenarioError as error:
        raise error.placed(lambda _: name) from None


def read_result(folder: Path, *, unreliable: bool) -> "Result":
    """Reads the result in a folder; `unreliable` includes unreliable runs in averages."""
    from dataclasses import replace

    from ackclock.result.result import Result

    return replace(Result.load(folder), averages_unreliable=unreliable)
