"""The page of the documents, as Markdown."""

import re
from collections.abc import Iterable, Mapping

from ackclock.reproduction import Kind
from ackclock_papers.seeds.row import Document, Row, Sentence

#: Words for a command that runs another thing than an experiment, by its verb.
_VERBS = {"predict": "a model", "show": "an element", "simulate": "a scenario"}

#: Experiments in real time have no verdict in the gallery.
_EMULATED = "depends on the machine"

#: A statement that a verdict names as failing, or the title of a table of which numbers differ.
_FAILING = re.compile(r"“([^”]*)” \(")


def page(documents: Iterable[Document], verdicts: Mapping[str, str]) -> str:
    """Returns a section for each document: a table of its rows, and one of its sentences.

    Args:
        documents: The documents.
        verdicts: The verdict of each experiment by its name, as the gallery has it.
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
        "",
        f"{len(document.sentences)} sentences state a result:",
        "",
        "| section | states | command | verdict |",
        "|---|---|---|---|",
        *(_sentence(sentence, verdicts) for sentence in document.sentences),
    ]
    return "\n".join(lines)


def _line(row: Row, verdicts: Mapping[str, str]) -> str:
    return _cells(row.item, row.describes, row.commands, _verdict(row, verdicts))


def _sentence(sentence: Sentence, verdicts: Mapping[str, str]) -> str:
    reproduced = [f"ackclock reproduce {name}" for name in sentence.experiments]
    commands = (*reproduced, *sentence.commands)
    return _cells(sentence.section, sentence.states, commands, _judged(sentence, verdicts))


def _cells(first: str, second: str, commands: Iterable[str], verdict: str) -> str:
    listed = "<br>".join(f"`{command}`" for command in commands)
    return f"| {first} | {second} | {listed or '–'} | {verdict} |"


def _verdict(row: Row, verdicts: Mapping[str, str]) -> str:
    words = [
        str(_kind(verdicts[name])) if name in verdicts else _EMULATED for name in row.experiments
    ]
    if not words:
        words = _kinds_of(row.commands)
    if row.lacking:
        words.append(f"not covered: {row.lacking}")
    return "; ".join(words)


def _kinds_of(commands: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(_VERBS[command.split()[1]] for command in commands))


def _kind(verdict: str) -> Kind:
    return max((kind for kind in Kind if verdict.startswith(kind)), key=len)


def _judged(sentence: Sentence, verdicts: Mapping[str, str]) -> str:
    """Returns whether the claims hold, what else answers, and what is not covered."""
    failing = {name: _failing(name, sentence, verdicts) for name in sentence.experiments}
    words = [_not_held(name, count) for name, count in failing.items() if count]
    if sentence.claims and not words:
        words = ["holds"]
    words += _kinds_of(sentence.commands)
    if sentence.lacking:
        words.append(f"not covered: {sentence.lacking}")
    return "; ".join(words)


def _failing(name: str, sentence: Sentence, verdicts: Mapping[str, str]) -> int:
    """Returns how many claims and tables of an experiment that answer a sentence do not hold."""
    verdict = verdicts[name]
    if _kind(verdict) in (Kind.REPRODUCED, Kind.READING):
        return 0
    if "see `ackclock reproduce" in verdict:
        raise ValueError(f"{name}: the gallery does not say which claims fail")
    begins = tuple(claim.begins for claim in sentence.claims if claim.experiment == name)
    return sum(statement.startswith(begins) for statement in _FAILING.findall(verdict))


def _not_held(name: str, count: int) -> str:
    return f"`{name}`: {count} claim{'' if count == 1 else 's'} not held"
