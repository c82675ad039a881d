"""One flow over one link, described by options in place of a scenario's file."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from ackclock import engine, units
from ackclock.cli.complete import names_of
from ackclock.errors import InputError, ScenarioError
from ackclock.scenario import Scenario, Source, load

_Command = Callable[..., Any]

#: Stands for a scenario where options describe the link; it names folders.
ONE_LINK = Path("one-link")

# Option to the path of the template that it sets, and the short path that it sets in a file.
_PATHS = {
    "control": ("flows.download.transport.control", "control"),
    "rate": ("values.rate", "rate"),
    "rtt": ("values.rtt", ""),
    "buffer": ("hops.bottleneck.queue.limit", "buffer"),
    "loss": ("hops.bottleneck.impairments", ""),
}
# Units of what the template takes by a name of its own, and an example.
_BASES = {"rate": ("bit/s", "20 Mbit/s"), "rtt": ("s", "40 ms")}
_META = "ackclock.one_link"


def link_options(command: _Command) -> _Command:
    """Adds the options of one link."""
    for option in (
        click.option(
            "--loss", metavar="SHARE", expose_value=False, callback=_keep,
            help="Random loss at the bottleneck, such as 0.1%.  [default: none]",
        ),
        click.option(
            "--buffer", metavar="SIZE", expose_value=False, callback=_keep,
            help="Buffer of the bottleneck, such as 1BDP, '50 packets' or 64kB.  [default: 1 BDP]",
        ),
        click.option(
            "--rtt", metavar="TIME", expose_value=False, callback=_keep,
            help="Round-trip time without queueing.  [default: 40 ms]",
        ),
        click.option(
            "--rate", metavar="RATE", expose_value=False, callback=_keep,
            help="Rate of the bottleneck.  [default: 10 Mbit/s]",
        ),
        click.option(
            "--control", metavar="NAME", expose_value=False, callback=_keep,
            shell_complete=names_of("controls"),
            help="Congestion control of one flow over one link; in place of a scenario, as are "
            "the four options below. Beside a scenario it sets that of its flow.  [default: "
            "cubic]",
        ),
    ):  # fmt: skip
        command = option(command)
    return command


def scenario_argument(command: _Command) -> _Command:
    """Adds the argument of a scenario, which options of one link may replace."""
    return click.argument(
        "scenario", required=False, type=click.Path(path_type=Path), callback=_or_link
    )(command)


def _keep(context: click.Context, option: click.Parameter, text: str | None) -> None:
    if text is not None:
        context.meta.setdefault(_META, {})[str(option.name)] = text


def _or_link(_context: click.Context, _option: click.Parameter, path: Path | None) -> Path:
    return ONE_LINK if path is None else path


def described() -> dict[str, str]:
    """Returns the options of one link that are given, with their texts."""
    context = click.get_current_context(silent=True)
    return {} if context is None else dict(context.meta.get(_META, {}))


def begun(path: Path) -> tuple[Scenario, dict[str, tuple[str, Any]]]:
    """Reads the scenario of a command, and what the options of one link change in it.

    Returns:
        The scenario in the file, or a link; and by path the option and its value.

    Raises:
        ScenarioError: The file cannot be read.
        InputError: There is neither a file nor an option, or an option does not fit the file.
    """
    options = described()
    if path is not ONE_LINK:
        scenario = load(path)
        return scenario, _in_file(scenario, path, options)
    if not options:
        context = click.get_current_context()
        words = f"is missing; see {context.command_path} --help"
        raise InputError("missing", "SCENARIO", words)
    from ackclock.scenario import templates

    text = templates.template(ONE_LINK.name).text
    scenario = Scenario.from_toml(text)
    scenario = Scenario(scenario.tree, Path(), Source(ONE_LINK.name, text))
    return scenario, {
        _PATHS[name][0]: (f"--{name}", _value(name, written)) for name, written in options.items()
    }


def _in_file(
    scenario: Scenario, path: Path, options: dict[str, str]
) -> dict[str, tuple[str, Any]]:  # fmt: skip
    """Returns what the options change in the scenario of a file."""
    from ackclock.scenario.short import whole_path

    changes = {}
    for name, written in options.items():
        short = _PATHS[name][1]
        if not short:
            words = f"describes a link in place of {path}; change the file with --set"
            raise InputError("contradiction", f"--{name}", words)
        try:
            field = whole_path(scenario, short)
        except InputError as error:
            raise error.for_field(f"--{name}") from None
        changes[field] = (f"--{name}", _value(name, written))
    return changes


def _value(name: str, written: str) -> Any:
    """Returns the value that an option sets."""
    if name in _BASES:
        base, example = _BASES[name]
        try:
            fits = units.parse(written).base == base
        except InputError:
            fits = False
        if not fits:
            raise units.refusal(f"--{name}", written, (base,), example=example)
    if name == "loss":
        return [{"kind": "iid_loss", "probability": written}]
    if name != "control":
        return written
    if written.replace("_", "").isalnum():
        return {"kind": written}
    try:
        return engine.parse_assignment(f"control={written}")[1]
    except ScenarioError as error:
        raise error.placed(lambda _: "--control") from None
