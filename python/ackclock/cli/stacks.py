"""The command `stacks`."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ackclock.cli.errors import BAD_INPUT, complain
from ackclock.cli.options import json_option, output_option
from ackclock.cli.output import print_json, say
from ackclock.errors import InputError

if TYPE_CHECKING:
    from ackclock.stacks.check import Checked


# What the sources are linked with.
_LIBRARIES = {"own": "", "ngtcp2": " -lngtcp2 -lngtcp2_crypto_gnutls -lgnutls"}


@click.group()
def stacks() -> None:
    """Bring a transport of one's own, such as a QUIC stack.

    A stack is a shared library with the functions of ackclock_stack.h. The engine calls it as it
    is, in virtual time, beside any other flow.

    \b
    Example:
      ackclock stacks new mine
      cc -O2 -shared -fPIC -o mine.so mine.c
      ackclock stacks check mine.so
      ackclock simulate scenario.toml --stack mine=mine.so
    """


@stacks.command()
@click.argument("name")
@click.option(
    "--of", "kind", type=click.Choice(["own", "python", "ngtcp2"]), default="own",
    show_default=True,
    help="What to begin from: own, a small transport in C; python, one in Python; or ngtcp2, an "
    "implementation of QUIC that must be installed.",
)  # fmt: skip
@output_option("Folder to write to.", "this folder")
@click.option("--force", is_flag=True, help="Replace files that are there.")
def new(name: str, kind: str, output: Path | None, *, force: bool) -> None:
    """Write the source of a stack in C or Python, with comments.

    \b
    Example:
      ackclock stacks new mine
    """
    from ackclock.result.folder import write_whole
    from ackclock.stacks.template import HEADER, template

    folder = output or Path()
    files = {folder / file: text for file, text in template(name, kind).items()}
    for path, text in files.items():
        # The header is the same for all stacks of a folder.
        if path.exists() and not force and (path.name != HEADER or path.read_text() != text):
            words = "is there already; choose another -o, or replace it with --force"
            raise InputError("file", f"{path}", words)
    folder.mkdir(parents=True, exist_ok=True)
    for path, text in files.items():
        write_whole(path, text)
    source, *_ = files
    say(f"stack     {source}")
    if kind == "python":
        say(f"next      ackclock stacks check {source}")
        return
    library = source.with_suffix(".so")
    say(f"header    {folder / HEADER}")
    say(f"next      cc -O2 -shared -fPIC -o {library} {source}{_LIBRARIES[kind]}")
    say(f"          ackclock stacks check {library}")


@stacks.command()
@click.argument("library", type=click.Path(path_type=Path))
@json_option
def check(library: Path, *, as_json: bool) -> int:
    """Check that a stack can be used.

    Runs each of its controls over eight short paths in a process of its own: with loss, duplicates,
    reordering, marks, a finite transfer, a slow source. Then runs it in this process on several
    threads, and compares. The exit code is 2 if anything is wrong.

    \b
    Example:
      ackclock stacks check mine.so
    """
    import dataclasses

    from ackclock.stacks.check import check as run

    checked = run(library)
    if as_json:
        print_json({**dataclasses.asdict(checked), "stack": _described(checked)})
    else:
        _print(library, checked)
    if checked.complaints:
        return complain("; ".join(checked.complaints), BAD_INPUT)
    return 0


def _described(checked: "Checked") -> dict[str, object]:
    stack = checked.stack
    return {
        "implementation": stack.implementation,
        "controls": stack.controls,
        "digest": stack.digest,
        "shares_state": stack.shares_state,
    }


def _print(library: Path, checked: "Checked") -> None:
    say(f"{library}: {checked.stack.implementation}, run over 10 Mbit/s and 40 ms")
    width = max((len(path) for _, path, _ in checked.runs), default=0)
    for control, path, goodput in checked.runs:
        say(f"  {control}  {path.ljust(width)}  {goodput / 1e6:5.2f} Mbit/s")
    if not checked.complaints:
        apart = "twice" if library.suffix == ".py" else "in a process of its own"
        say(f"  the same {apart} and on several threads")
