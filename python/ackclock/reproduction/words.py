"""The bands of what publications say in words: one rule for all experiments, chosen before any was looked at.

A band is no wider than the words, and each word has one band wherever it is said;
`docs/guides/reproduce.md` has the rule as a table. A number that is printed without such a word is
met to half of its last digit, or within the 95 % interval of ours (`Claim.printed`). Where a
difference is said (more, less, better, it falls), all of the interval must lie on its side: `than`
of `Claim.of`.
"""

from decimal import Decimal

from ackclock.reproduction.outcome import Band

__all__ = [
    "A_FEW_PERCENT", "MUCH_LESS", "MUCH_MORE", "SAME", "SAME_PERCENT", "SLIGHT_PERCENT",
    "STRONG_PERCENT", "TWICE", "about", "from_to",
]  # fmt: skip

#: Share of a number that "about" and its like allow: about, around, near, close to, roughly,
#: accurate, on target.
ABOUT = 0.10
#: What counts as the same: very close to, equal, fair, flat, no effect, negligible, insensitive,
#: nearly alike.
THE_SAME = 0.05

#: "The same", of a quotient of two.
SAME = Band(1 - THE_SAME, 1 + THE_SAME)
#: The same, of a difference in percent.
SAME_PERCENT = Band(-100 * THE_SAME, 100 * THE_SAME)
#: "A few per cent", of a difference in percent in the direction that is said.
A_FEW_PERCENT = Band(0, 100 * THE_SAME)
#: "Slightly", "a little", of a difference in percent in the direction that is said: no more than
#: "about" hides.
SLIGHT_PERCENT = Band(0, 100 * ABOUT)
#: "Much", "far", "clearly", "considerably", "significantly", "severely", "steeply": more than
#: slightly.
STRONG_PERCENT = Band(100 * ABOUT)
#: The same words, of a quotient of two.
MUCH_MORE, MUCH_LESS = Band(1 + ABOUT), Band(most=1 - ABOUT)
#: "Grossly", of a quotient of two.
TWICE = Band(2)


def about(text: str, *, whole: float | None = None) -> Band:
    """Returns the band of "about" a number that is printed so.

    Args:
        text: The number as printed.
        whole: Of a share, what the whole is: 1, or 100 in percent. Near the whole what is missing
            counts, not the share: about 98 % is not 90 %. One of the last digit is then allowed in
            any case.
    """
    value = float(text)
    within = ABOUT * abs(value)
    if whole is not None:
        last_digit = float(Decimal(1).scaleb(int(Decimal(text).as_tuple().exponent)))
        within = max(ABOUT * min(value, whole - value), last_digit)
    return Band(value - within, value + within)


def from_to(least: str, most: str) -> Band:
    """Returns the band of "from one number to another" that are printed so: each to half of its last digit."""
    low, high = (
        float(Decimal(1).scaleb(int(Decimal(text).as_tuple().exponent))) / 2
        for text in (least, most)
    )
    return Band(float(least) - low, float(most) + high)
