"""A reproduced experiment in sentences, for the terminal: the answer, and what it rests on."""

from typing import Any

from ackclock.reproduction.outcome import PUBLISHED, Kind, Origin

#: Verdicts that follow from numbers and statements; of others the reason is told.
_JUDGED = (Kind.REPRODUCED, Kind.READING, Kind.PARTLY, Kind.NOT)


def answer(record: dict[str, Any]) -> str:
    """Returns the verdict with the numbers and statements that it counts."""
    verdict = record["verdict"]
    kind = str(verdict["kind"]).capitalize()
    if verdict["kind"] not in _JUDGED:
        return f"{kind}: {verdict['reason']}."
    counted = [*_numbers(record), *_statements_counted(record)]
    return f"{kind}: {' and '.join(counted)}." if counted else f"{kind}."


def summary(records: list[dict[str, Any]]) -> str:
    """Returns how many experiments have each verdict."""
    kinds = [record["verdict"]["kind"] for record in records]
    counts = [f"{kinds.count(kind)} {kind}" for kind in Kind if kind in kinds]
    return f"{len(records)} experiments: {', '.join(counts)}."


def failing(record: dict[str, Any]) -> list[str]:
    """Returns the published statements that do not hold, each with what was found."""
    listed = list(record["verdict"]["failing"])
    if listed:
        return listed
    return [_sentence(claim) for claim in _claims(record, published=True) if not claim["holds"]]


def reasons(record: dict[str, Any]) -> list[str]:
    """Returns why statements do not hold, and what was taken where the publication is silent."""
    verdict = record["verdict"]
    named = {"Why": verdict["why"], "Taken": verdict["reading"]}
    return [f"{name}: {text}." for name, text in named.items() if text]


def statements(record: dict[str, Any]) -> list[tuple[str, list[str]]]:
    """Returns lists of the statements that are not in `failing`, each under its heading."""
    held = [_sentence(claim) for claim in _claims(record, published=True) if claim["holds"]]
    others = [
        f"{'holds' if claim['holds'] else 'does not hold'}: {_sentence(claim)}"
        for claim in _claims(record, published=False)
    ]
    lists = [("These hold:", held), ("Not printed, so no verdict counts them:", others)]
    return [(heading, listed) for heading, listed in lists if listed]


def _numbers(record: dict[str, Any]) -> list[str]:
    """Returns how many published numbers agree, if there are any."""
    counted = [
        comparison for comparison in record["comparisons"] if comparison["origin"] in PUBLISHED
    ]
    agree = [cell["agrees"] for comparison in counted for cell in comparison["cells"]]
    return [_share(agree, "number", _origin(counted), "agree")] if agree else []


def _statements_counted(record: dict[str, Any]) -> list[str]:
    """Returns how many published statements hold, if there are any."""
    counted = _claims(record, published=True)
    hold = [claim["holds"] for claim in counted]
    return [_share(hold, "statement", _origin(counted), "hold")] if hold else []


def _share(verdicts: list[bool], noun: str, origin: str, verb: str) -> str:
    if len(verdicts) == 1:
        return f"the {origin} {noun} {f'{verb}s' if verdicts[0] else f'does not {verb}'}"
    count = f"all {len(verdicts)}" if all(verdicts) else f"{sum(verdicts)} of {len(verdicts)}"
    return f"{count} {origin} {noun}s {f'{verb}s' if sum(verdicts) == 1 else verb}"


def _origin(counted: list[dict[str, Any]]) -> str:
    return str(Origin(counted[0]["origin"]))


def _claims(record: dict[str, Any], *, published: bool) -> list[dict[str, Any]]:
    return [claim for claim in record["claims"] if (claim["origin"] in PUBLISHED) is published]


def _sentence(claim: dict[str, Any]) -> str:
    """Returns a statement with what was found and what is accepted."""
    accepted = f"; accepted: {claim['accepted']}" if claim["accepted"] else ""
    changed = ": FAILS" if claim["fails"] else ""
    return f"“{claim['said']}” ({claim['found']}{accepted}){changed}"
