"""The command `controls`."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ackclock.cli.errors import BAD_INPUT, complain
from ackclock.cli.options import json_option, output_option
from ackclock.cli.output import print_json, say
from ackclock.errors import InputError

if TYPE_CHECKING:
    from ackclock.controls import Checked

#: Exit code of a check that could not ask the kernel, as of a test that is skipped.
SKIPPED = 77

#: What a scenario knows by the ending of a control's file.
_LANGUAGES = {".bpf.c": "C source", ".py": "Python"}


@click.group()
def controls() -> None:
    """Write and check a congestion control of one's own.

    A control is a program in C. The Linux kernel runs it for the flows of emulate, and the engine
    runs the same program in simulate. A first draft may be a class in Python, for simulate alone.

    \b
    Example:
      ackclock controls new mine
      ackclock controls check mine.bpf.c
    """


@controls.command()
@click.argument("name")
@output_option("File to write.", "NAME.bpf.c or NAME.py")
@click.option("--python", is_flag=True, help="Write a class in Python, not a program in C.")
@click.option("--force", is_flag=True, help="Replace a file that is there.")
def new(name: str, output: Path | None, *, python: bool, force: bool) -> None:
    """Write the source of a new control, with comments.

    \b
    Example:
      ackclock controls new mine
      ackclock controls new mine --python
    """
    from ackclock.controls.template import template

    ending = ".py" if python else ".bpf.c"
    path = _write(template(name, python=python), output or Path(name + ending), ending, force=force)
    say(f"next      ackclock {'judge' if python else 'controls check'} {path}")


def _write(text: str, path: Path, ending: str, *, force: bool) -> Path:
    """Writes a source, unless there is another file of that name."""
    from ackclock.result.folder import write_whole

    if not path.name.endswith(ending):
        words = f"does not end in {ending}, by which a scenario knows {_LANGUAGES[ending]}"
        example = path.name.partition(".")[0] + ending
        raise InputError("out-of-range", "-o", f'"{path}" {words}; for example {example}')
    if path.exists() and not force:
        words = "is there already; choose another -o, or replace it with --force"
        raise InputError("file", f"{path}", words)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, text)
    say(f"control   {path}")
    return path


@controls.command("from-policy")
@click.argument("policy", type=click.Path(path_type=Path))
@output_option("File to write.", "POLICY.bpf.c")
@click.option("--force", is_flag=True, help="Replace a file that is there.")
def from_policy(policy: Path, output: Path | None, *, force: bool) -> None:
    """Write the source of a control that does what a learned policy does.

    POLICY is a file that ackclock.controls.policy wrote: a small network or a decision tree. The
    control computes in integers, so that the engine and the kernel run the same program.

    \b
    Example:
      ackclock controls from-policy policy.npz -o mine.bpf.c
    """
    from ackclock.controls.from_policy import source
    from ackclock.controls.policy import Policy

    name = policy.name.partition(".")[0]
    text = source(Policy.load(policy), name)
    path = _write(text, output or Path(f"{name}.bpf.c"), ".bpf.c", force=force)
    say(f"next      ackclock controls check {path}")


@controls.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--engine", is_flag=True, help="Ask the engine only, not the kernel.")
@json_option
def check(file: Path, *, engine: bool, as_json: bool) -> int:
    """Check that a control can be used.

    Compiles it, runs it in the engine over five short paths, and lets the kernel's verifier look at
    it. The exit code is 2 if anything is wrong, and 77 if only the kernel could not be asked.

    \b
    Example:
      ackclock controls check mine.bpf.c
    """
    import dataclasses

    from ackclock.controls import check as run

    checked = run(file, kernel=not engine)
    if as_json:
        print_json(dataclasses.asdict(checked))
    else:
        _print(file, checked)
    if checked.complaints:
        return complain("; ".join(checked.complaints), BAD_INPUT)
    kernel = checked.kernel
    if kernel is not None and kernel.state == "refused":
        return complain(kernel.words, BAD_INPUT)
    if kernel is not None and kernel.state == "absent":
        return complain(f"the kernel was not asked: {kernel.words}", SKIPPED)
    return 0


def _print(file: Path, checked: "Checked") -> None:
    width = max(len(path) for path, _ in checked.runs)
    say(f"{file}: compiled, and run by the engine over 10 Mbit/s and 40 ms")
    for path, goodput in checked.runs:
        say(f"  {path.ljust(width)}  {goodput / 1e6:5.2f} Mbit/s")
    if checked.kernel is not None and checked.kernel.state == "taken":
        say(f"  kernel: {checked.kernel.words}")
