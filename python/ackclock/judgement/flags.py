"""Flags: traits of a candidate that its numbers alone may hide, each with its evidence."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ackclock.evaluation.criteria import beyond_chance, chance_of_more
from ackclock.judgement.measures import BY_NAME, MEASURES, Measure, Observed, paired
from ackclock.judgement.references import CUBIC, Reference

Array = NDArray[np.float64]

#: Every flag and its meaning.
FLAGS: Mapping[str, str] = {
    "equals": "Its windows are those of a known control.",
    "pays_by_sending": "It loses much more than CUBIC: it sends, and does not deliver.",
    "shown_paths_only": "It does well on a path that it was shown, and not on the path next to it.",
    "unfair": "It harms CUBIC more than CUBIC does.",
    "ignores_loss": "Eight times as many losses hardly change its window.",
    "does_not_end": "A call does not end.",
    "unavailable": "It asks for what a control does not get: a field, a clock, files.",
    "fails": "It fails in a call, or breaks the contract of a control.",
    "not_deterministic": "The same run gives other numbers.",
    "clearly_worse": "It is worse than every shipped control.",
}

#: Level at which chance is ruled out, over all paths or measures together (Holm 1979). Ours.
LEVEL = 0.01

# Windows that differ by less, as a ratio, are the same: integers and fractions of segments. Ours.
_SAME_WINDOW = 0.08
# Share of the samples for which that must hold on every path.
_SAME_SHARE = 0.8

# Loss beyond this, and beyond three times CUBIC's, is sending instead of delivering. Ours.
_MUCH_LOSS, _TIMES_CUBIC = 0.04, 3.0

# Windows beyond this, on paths of the contract that hold 70 segments, grow without bound; and what
# is sent there for each byte that is delivered. CUBIC's are 47 and 1.7 (measured). Ours.
_MOST_WINDOW, _MOST_SENT = 3000.0, 4.0

# Harm beyond that of CUBIC to itself. Ours: the bound of RFC 9743's case is about the same.
_MORE_HARM = 0.15

# The window that is left when losses are eight times as many. Reno's is 0.28 of it (measured), and
# the law of a square root gives 0.35.
_KEPT_WINDOW = 0.5

# Differences that matter by which a path must be better than the path next to it. Ours.
_GAP = 4.0


@dataclass(frozen=True)
class Flag:
    """A trait of a candidate.

    Attributes:
        name: One of `FLAGS`.
        words: The evidence, in a sentence.
    """

    name: str
    words: str

    @property
    def record(self) -> dict[str, str]:
        """It as plain data."""
        return asdict(self)


def of_failure(how: str, words: str) -> Flag:
    """Returns the flag of a candidate that cannot be used, or fails."""
    lower = words.lower()
    if how == "time" or "instructions" in lower:
        return Flag("does_not_end", words)
    asks = (
        "has no attribute", "may not", "no member named", "which the engine does not have",
        "only a kernel has",
    )  # fmt: skip
    if any(part in lower for part in asks):
        return Flag("unavailable", words)
    return Flag("fails", words)


def of_contract(lives: Sequence[Mapping[str, Any]], again: Mapping[str, Any]) -> Iterator[Flag]:
    """Yields the flags of a thousand short lives, of which the first part was run twice."""
    if lives[0]["digest"] != again["digest"]:
        words = "the same short runs, made twice, gave different numbers"
        yield Flag("not_deterministic", words)
    least, most = min(each["least"] for each in lives), max(each["most"] for each in lives)
    if least < 1:
        yield Flag("fails", f"its window falls to {least:.2g} segments")
    if most > _MOST_WINDOW:
        yield Flag("fails", f"its window grows to {most:.3g} segments on paths that hold 70")
    sent, delivered = (sum(each[name] for each in lives) for name in ("sent", "delivered"))
    if not delivered:
        yield Flag("fails", "nothing was delivered in a thousand short runs")
    elif sent > _MOST_SENT * delivered:
        words = f"in short runs it sends {sent / delivered:.0f} bytes for each that is delivered"
        yield Flag("pays_by_sending", words)


def of_probes(
    probes: Mapping[str, Any], loss_beyond: bool, references: Mapping[str, Reference]
) -> Iterator[Flag]:
    """Yields the flags of the probes.

    Args:
        probes: Quantities of the probes.
        loss_beyond: True if it loses much more than CUBIC.
        references: The shipped controls.
    """
    twins = [
        name
        for name, reference in references.items()
        if is_same(probes["windows"]["windows"], reference.probes["windows"]["windows"])
    ]
    if twins:
        yield Flag("equals", f"its windows are those of {' and '.join(twins)}")
    little, much = probes["little loss"], probes["much loss"]
    kept = much["window"] / little["window"] if little["window"] else math.nan
    reno = references["reno"].probes
    usual = reno["much loss"]["window"] / reno["little loss"]["window"]
    never = much["cuts"] > 0 and much["kept"] >= 0.95 * much["cuts"]
    if kept >= _KEPT_WINDOW or (never and loss_beyond):
        words = f"at 8 % loss its window is {kept:.2g} of that at 1 %; Reno's is {usual:.2g}"
        if never:
            words += f"; {much['kept']} of {much['cuts']} losses left it as it was"
        yield Flag("ignores_loss", words)


def is_same(own: Sequence[Sequence[float]], other: Sequence[Sequence[float]]) -> bool:
    """Returns true if the windows on each path are the same, up to rounding.

    The last fifth may differ: roundings add up to another time of a loss.
    """
    for mine, yours in zip(own, other, strict=True):
        length = min(len(mine), len(yours))
        if length < 2:
            return False
        ratio = np.abs(np.log(np.array(mine[:length]) / np.array(yours[:length])))
        if float(np.mean(ratio <= _SAME_WINDOW)) < _SAME_SHARE:
            return False
    return True


def loses_much(own: Observed, cubic: Observed) -> tuple[bool, float, float]:
    """Returns true if a candidate loses much more than CUBIC, with both means."""
    lost, of_cubic = paired(BY_NAME["loss"].means(own), BY_NAME["loss"].means(cubic))
    if lost.size < 2:
        return False, math.nan, math.nan
    bound = np.maximum(_TIMES_CUBIC * of_cubic, of_cubic + _MUCH_LOSS)
    much = chance_of_more(lost - bound) < LEVEL
    return much, float(lost.mean()), float(of_cubic.mean())


def of_paths(own: Observed, cubic: Observed) -> Iterator[Flag]:
    """Yields the flags of what it does on many paths, beside CUBIC."""
    much, lost, of_cubic = loses_much(own, cubic)
    if much:
        yield Flag("pays_by_sending", f"it loses {lost:.1%} of what it sends; CUBIC {of_cubic:.1%}")
    harm, usual = paired(BY_NAME["harm_to_cubic"].means(own), BY_NAME["harm_to_cubic"].means(cubic))
    if harm.size >= 2 and chance_of_more(harm - usual - _MORE_HARM) < LEVEL:
        yield Flag(
            "unfair",
            f"beside it CUBIC loses {harm.mean():.0%} of its goodput; "
            f"beside CUBIC {usual.mean():.0%}",
        )


def of_neighbours(
    shown: tuple[Observed, Observed], nudged: tuple[Observed, Observed]
) -> Iterator[Flag]:
    """Yields a flag if a candidate does well on a shown path and not on the path next to it.

    Args:
        shown: Quantities on shown paths, of the candidate and of CUBIC.
        nudged: The same on the paths next to them.
    """
    gaps: list[tuple[float, str, float]] = []
    for measure in MEASURES:
        if measure.name not in ("utilisation", "delay", "loss", "harm_to_cubic", "harm_to_itself"):
            continue
        for category in measure.categories:
            gaps += [
                (chance, f"{category} {number + 1}: {measure.label}", gap)
                for number, (chance, gap) in enumerate(_gaps(measure, category, shown, nudged))
            ]
    beyond = beyond_chance([chance for chance, _, _ in gaps], LEVEL)
    if beyond:
        _, where, gap = max((gaps[place] for place in beyond), key=lambda each: each[2])
        yield Flag(
            "shown_paths_only",
            f"on the shown path {where} is better by {gap:.1f} differences that matter than on "
            "the path next to it, and CUBIC's is not",
        )


def _gaps(
    measure: Measure, category: str,
    shown: tuple[Observed, Observed], nudged: tuple[Observed, Observed],
) -> Iterator[tuple[float, float]]:  # fmt: skip
    """Yields the chance of each path's gap, and the gap."""
    own, usual = (
        measure.worse(measure.by_path(away, category), measure.by_path(there, category))
        for there, away in zip(shown, nudged, strict=True)
    )
    for mine, cubic in zip(own, usual, strict=True):
        gap = (mine - cubic)[~np.isnan(mine - cubic)]
        if gap.size >= 2:
            yield chance_of_more(gap - _GAP), float(gap.mean())
        else:
            yield 1.0, 0.0


def clearly_worse(own: Observed, references: Mapping[str, Reference], looks: int) -> Iterator[Flag]:
    """Yields a flag if a candidate is worse than every shipped control, beyond chance.

    Args:
        own: Quantities on shown paths.
        references: The shipped controls.
        looks: How often this is asked.
    """
    for measure in MEASURES:
        if measure.name not in ("utilisation", "loss", "harm_to_cubic", "starvation"):
            continue
        means = measure.means(own)
        others = [measure.means(reference.shown) for reference in references.values()]
        keys = [key for key in means if all(key in other for other in others)]
        if len(keys) < 3:
            continue
        mine = np.array([means[key] for key in keys])
        every = np.array([[other[key] for key in keys] for other in others])
        worst = every.min(axis=0) if measure.is_more_better else every.max(axis=0)
        beyond = measure.worse(mine, worst)
        if chance_of_more(beyond - 2.0) < LEVEL / looks:
            yield Flag(
                "clearly_worse",
                f"{measure.label} {measure.shown(float(mine.mean()))}; the worst shipped control "
                f"on the same paths has {measure.shown(float(worst.mean()))}",
            )


def of_cubic(references: Mapping[str, Reference]) -> Reference:
    """Returns CUBIC among the references."""
    return references[CUBIC]
