"""The command line.

Answers go to standard output, progress, warnings and errors (one line each) to standard error. Exit
codes: 0 fine, 2 bad input, 3 this machine lacks what is needed, 4 the result is unreliable, 130
interrupted, 143 ended by SIGTERM.

Each verb is a file of this folder that defines a command of the same name, and an entry of `TASKS`.
"""

from importlib import import_module

import click

from ackclock import __version__, engine
from ackclock.cli.errors import Commands

#: Every verb by task, in the order of `ackclock --help`. A verb's file is imported when it is
#: called: what is heavy (pyarrow, matplotlib, scipy, rich) costs only the command that needs it.
TASKS = {
    "Describe": ("new", "check", "show", "controls", "stacks"),
    "Run": ("simulate", "emulate", "predict", "sweep", "replay", "send", "receive"),
    "Measure, compare, reproduce": (
        "measure",
        "compare",
        "regressions",
        "twin",
        "reproduce",
        "evaluate",
        "judge",
    ),
    "Advise": ("advise",),
    "Look": ("table", "plot", "report", "lab", "cite"),
    "Machine": ("doctor", "bench", "completion"),
}
VERBS = tuple(verb for verbs in TASKS.values() for verb in verbs)

#: Added to `--version` after `make test`, whose engine must not be used for measurements.
_CHECKING = " (engine built with debug assertions: slower; `make build` installs the fast one)"
_VERSION = f"%(prog)s, version %(version)s{_CHECKING if engine.is_checking() else ''}"


class Verbs(Commands):
    """The group of all verbs."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parses arguments; `help VERB` is `VERB --help`."""
        if args[:1] == ["help"]:
            args = [*args[1:], "--help"]
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Returns the names of all verbs."""
        return list(VERBS)

    def get_command(
        self,
        ctx: click.Context,  # noqa: ARG002
        cmd_name: str,
    ) -> click.Command | None:
        """Returns the command of a verb; None if there is no such verb."""
        if cmd_name not in VERBS:
            return None
        command: click.Command = getattr(import_module(f"ackclock.cli.{cmd_name}"), cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the verbs by task, with whole summaries."""
        width = max(map(len, VERBS))
        for task, verbs in TASKS.items():
            rows = []
            for verb in verbs:
                command = self.get_command(ctx, verb)
                summary = "" if command is None else command.get_short_help_str(limit=100)
                rows.append((verb.ljust(width), summary))
            with formatter.section(task):
                formatter.write_dl(rows)


@click.group("ackclock", cls=Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="ackclock", message=_VERSION)
def cli() -> None:
    """Study congestion control with models, simulation, Linux TCP and captures.

    A scenario describes a network path and its traffic in one file. Every method answers it, and
    `compare` lays the answers side by side.

    \b
    Example:
      ackclock simulate examples/leaky-pipe.toml
    """


def main() -> None:
    """The command `ackclock`."""
    cli(prog_name="ackclock")
