"""The command `ackclock` in the process of a test, which starts faster than one of its own."""

from contextlib import chdir
from pathlib import Path

from click.testing import CliRunner
from click.testing import Result as Outcome

from ackclock.cli import cli

__all__ = ["Outcome", "ackclock"]


def ackclock(*arguments: object, place: Path = Path(), stdin: bytes = b"") -> Outcome:
    """Runs a command in a folder; its outcome has the exit code, standard output and errors."""
    with chdir(place):
        return CliRunner().invoke(cli, [str(argument) for argument in arguments], input=stdin)
