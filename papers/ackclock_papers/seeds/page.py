"""The page of the documents, as Markdown."""

from collections.abc import Iterable, Mapping

from ackclock_papers.seeds.row import Document, Row

#: Words for a command that runs another thing than an experiment, by its verb.
_VERBS = {"predict": "a model", "show": "an element", "simulate": "a scenario"}

#: Experiments in real time have no verdict in the gallery.
_EMULATED = "depends on the machine"


def page(documents: Iterable[Document], verdicts: Mapping[str, str]) -> str:
    """Returns a section for each document with a table of its rows.

    Args:
        documents: The documents.
        verdicts: The verdict of each experiment, in words, by its name.
    """
    return "\n\n".join(_section(document, verdicts) for document in documents)


def _section(document: Document, verdicts: Mapping[str, str]) -> str:
    lines = [
        f"## {document.title}",
        "",
        f"{document.source}.",
        "",
        "| part | describes | command | verdict |",
        "|---|---|---|---|",
        *(_line(row, verdicts) for row in document.rows),
    ]
    return "\n".join(lines)


def _line(row: Row, verdicts: Mapping[str, str]) -> str:
    commands = "<br>".join(f"`{command}`" for command in row.commands)
    return f"| {row.item} | {row.describes} | {commands or '–'} | {_verdict(row, verdicts)} |"


def _verdict(row: Row, verdicts: Mapping[str, str]) -> str:
    words = [verdicts.get(name, _EMULATED) for name in row.experiments]
    if not words:
        words = list(dict.fromkeys(_VERBS[command.split()[1]] for command in row.commands))
    if row.lacking:
        words.append(f"not covered: {row.lacking}")
    return "; ".join(words)
