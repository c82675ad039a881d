"""The command `cite`: ackclock, and the publications that elements and experiments rest on."""

from typing import TYPE_CHECKING

import click

from ackclock.cli.options import json_option
from ackclock.cli.output import print_json, say
from ackclock.errors import InputError, suggestion

if TYPE_CHECKING:
    from ackclock.report.works import Work

#: Registries whose records cite, and the field that does.
_CITING = (
    "controls",
    "rate_controls",
    "queues",
    "models",
    "experiments",
    "transports",
    "estimators",
    "media",
    "links",
    "feedback",
    "impairments",
    "traffic",
    "sizes",
)
_ITSELF = "ackclock"


def _references() -> dict[str, list[str]]:
    """Returns the references of every record by its name; of a group of experiments by its own."""
    from ackclock.cli.records import records

    by_name: dict[str, list[str]] = {}
    for kind in _CITING:
        for name, record in records(kind).items():
            reference = record.get("reference") or record.get("source") or ""
            for citing in dict.fromkeys((name, record.get("group") or name)):
                by_name.setdefault(citing, []).append(reference)
    return by_name


def _complete(_context: click.Context, _option: click.Parameter, begun: str) -> list[str]:
    return [name for name in (_ITSELF, *_references()) if name.startswith(begun)]


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME...]", shell_complete=_complete)
@click.option(
    "--format", "form", type=click.Choice(["bibtex", "text"]), default="bibtex",
    show_default=True, help="Form of the entries.",
)  # fmt: skip
@json_option
def cite(names: tuple[str, ...], form: str, as_json: bool) -> None:
    """Print how to cite ackclock, or what a control, queue, model or experiment rests on.

    NAME is that of a record, such as cubic or codel, or of a group of experiments; without one it
    is ackclock itself. Who uses an implementation of ackclock cites both.

    \b
    Example:
      ackclock cite > references.bib
      ackclock cite cubic codel --format text
    """
    works = _works(names or (_ITSELF,))
    if as_json:
        print_json([work.plain for work in works])
        return
    for number, work in enumerate(works):
        if form == "bibtex" and number:
            say()
        say(work.bibtex() if form == "bibtex" else work.text())


def _works(names: tuple[str, ...]) -> "list[Work]":
    from ackclock.report.works import ackclock, of_records

    references = _references() if set(names) != {_ITSELF} else {}
    by_key: dict[str, Work] = {}
    for name in names:
        if name == _ITSELF:
            every = [ackclock()]
        elif name in references:
            every = of_records(name, references[name])
        else:
            known_names = [_ITSELF, *references]
            words = suggestion(name, known_names, "see ackclock show controls, queues, models")
            raise InputError("unknown-name", "NAME", f'nothing is called "{name}"; {words}', name)
        by_key |= {work.key: work for work in every if work.key not in by_key}
    return list(by_key.values())
