"""The command `new`."""

from pathlib import Path

import click

from ackclock.cli.options import output_option
from ackclock.cli.output import print_table, say
from ackclock.errors import InputError
from ackclock.result.folder import write_whole
from ackclock.scenario import templates


@click.command()
@click.argument("template", required=False)
@click.option("--example", metavar="NAME", help="Example to copy, in place of a template.")
@output_option("File to write.", "TEMPLATE.toml")
@click.option("--force", is_flag=True, help="Replace files that are there.")
def new(template: str | None, example: str | None, output: Path | None, *, force: bool) -> None:
    """Write a scenario to begin with, from a template or an example.

    Without either, lists both. Files that the scenario names are written beside it.

    \b
    Example:
      ackclock new dumbbell -o lab.toml
      ackclock new --example first
    """
    if template is not None and example is not None:
        raise InputError("contradiction", "--example", "remove it, or TEMPLATE")
    if template is None and example is None:
        if output is not None:
            raise InputError("missing", "TEMPLATE", "is missing; ackclock new lists them")
        _list()
        return
    try:
        chosen = templates.template(template) if template else templates.example(example or "")
    except InputError as error:
        raise error.for_field("TEMPLATE" if template else "--example") from None
    path = output or Path(f"{chosen.name}.toml")
    if path.is_dir():
        raise InputError("file", f"{path}", f"is a folder; for example -o {path / path.name}.toml")
    texts = {path: chosen.text}
    texts |= {path.parent / name: text for name, text in chosen.files.items()}
    for file, text in texts.items():
        if file.exists() and not force and not _holds(file, text):
            raise InputError(
                "file", f"{file}", "is there already; choose another -o, or replace it with --force"
            )
    path.parent.mkdir(parents=True, exist_ok=True)
    for file, text in reversed(texts.items()):  # the scenario last, when what it names is there
        write_whole(file, text)
    for file in texts:
        say(f"{'scenario' if file == path else 'file'}  {file}")
    say(f"next      ackclock check {path}")


def _holds(path: Path, text: str) -> bool:
    """Returns true if a file already has this text."""
    return path.is_file() and path.read_bytes() == text.encode()


def _list() -> None:
    from ackclock.table import table

    written = [(name, templates.template(name).summary) for name in templates.names()]
    shown = [(name, templates.example(name).summary) for name in templates.examples()]
    head = "what it describes"
    print_table(table("templates: ackclock new TEMPLATE", ["template", head], written))
    print_table(table("examples: ackclock new --example NAME", ["example", head], shown))
