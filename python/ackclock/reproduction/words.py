"""Bands for the words of publications: one rule for all experiments, chosen beforehand.

A band is never wider than its words, and each word has one band wherever it is used.
`docs/guides/reproduce.md` has the rule as a table. A number that is printed without such a word is
met within half of its last digit, or within our 95 % interval (`Claim.printed`). If a publication
claims a difference (more, less, better, it falls), the whole interval must lie on its side: `than`
of `Claim.of`.
"""

from decimal import Decimal

from ackclock.reproduction.outcome import Band

#: Share of a number that "about" allows, and around, near, close to, roughly, accurate, on target.
ABOUT = 0.10
#: Largest difference that counts as the same: very close to, equal, fair, flat, no effect,
#: negligible, insensitive, nearly alike.
THE_SAME = 0.05

#: "The same", for a quotient of two.
SAME = Band(1 - THE_SAME, 1 + THE_SAME)
#: "The same", for a difference in percent.
SAME_PERCENT = Band(-100 * THE_SAME, 100 * THE_SAME)
#: "A few per cent", for a difference in percent in the direction that is claimed.
A_FEW_PERCENT = Band(0, 100 * THE_SAME)
#: "Slightly" and "a little", for a difference in percent in the direction that is claimed: no more
#: than "about" hides.
SLIGHT_PERCENT = Band(0, 100 * ABOUT)
#: "Much", "far", "clearly", "considerably", "significantly", "severely", "steeply": more than
#: slightly.
STRONG_PERCENT = Band(100 * ABOUT)
#: The same words, for a quotient of two.
MUCH_MORE, MUCH_LESS = Band(1 + ABOUT), Band(most=1 - ABOUT)
#: "Rapidly" and "quickly": the share of the time shown after a change that may pass until a tenth
#: of the change is left.
RAPID = ABOUT
#: "Grossly", for a quotient of two.
TWICE = Band(2)


def about(text: str, *, whole: float | None = None) -> Band:
    """Returns the band of "about" a printed number.

    Args:
        text: The number as printed.
        whole: For a share, the whole: 1, or 100 in percent. Near the whole, the band scales with
            what is missing, not with the share: about 98 % is not 90 %. One unit of the last digit
            is then allowed in any case.
    """
    value = float(text)
    within = ABOUT * abs(value)
    if whole is not None:
        last_digit = float(Decimal(1).scaleb(int(Decimal(text).as_tuple().exponent)))
        within = max(ABOUT * min(value, whole - value), last_digit)
    return Band(value - within, value + within)


def power_of_ten(exponent: int) -> Band:
    """Returns the band of a number printed as a bare power of ten: half a unit of its exponent."""
    return Band(10.0 ** (exponent - 0.5), 10.0 ** (exponent + 0.5))


def from_to(least: str, most: str) -> Band:
    """Returns the band of "from one number to another", each within half of its last digit."""
    low, high = (
        float(Decimal(1).scaleb(int(Decimal(text).as_tuple().exponent))) / 2
        for text in (least, most)
    )
    return Band(float(least) - low, float(most) + high)
