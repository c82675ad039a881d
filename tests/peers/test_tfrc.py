"""TFRC in ns-2 and in ackclock, side by side.

ns-2's agent is older than RFC 5348. The bands were set before any number was seen. README.md has
the differences and their reasons.
"""

from functools import cache

import pytest

from . import ns2, tfrc
from .outcome import Interval

pytestmark = pytest.mark.peer

WITHOUT = (
    "ns-2 is not installed (Debian and Ubuntu: apt-get install ns2): compared with what was "
    "recorded"
)

#: Factor by which the mean of a quantity may differ, by case and by the first words of its name.
BANDS = {
    "loss": {"rate": 1.1, "variation": 1.33},
    "with tcp": {"rate": 1.33, "ratio": 1.33, "drop": 1.33, "variation": 1.5},
    "step of loss": {
        "rate before": 1.15,
        "rate in the loss": 1.15,
        "rate after": 1.15,
        "rate in the first": 1.25,
    },
}


@cache
def theirs(name: str) -> list[tfrc.Quantities]:
    """Returns ns-2's quantities, as recorded."""
    return tfrc.recorded()[name]


mine = cache(tfrc.mine)


def compared() -> list[tuple[str, str]]:
    """Returns each case with each of its quantities."""
    return [(name, quantity) for name in tfrc.cases() for quantity in tfrc.recorded()[name][0]]


def band(name: str, quantity: str) -> float:
    """Returns the allowed factor."""
    bands = next(bands for case, bands in BANDS.items() if name.startswith(case))
    return next(factor for words, factor in bands.items() if quantity.startswith(words))


@pytest.mark.parametrize(("name", "quantity"), compared(), ids=lambda part: part.replace(" ", "_"))
def test_tfrc_is_ns2_s_within_the_band(name: str, quantity: str) -> None:
    their, our = (Interval.of([run[quantity] for run in runs(name)]) for runs in (theirs, mine))
    factor = our.mean / their.mean
    allowed = band(name, quantity)
    assert 1 / allowed <= factor <= allowed, f"ackclock {our}, ns-2 {their}: {factor:.3f}"


@pytest.mark.skipif(not ns2.installed(), reason=WITHOUT)
@pytest.mark.parametrize("name", tfrc.cases())
def test_ns2_gives_what_was_recorded_of_tfrc(name: str) -> None:
    case = tfrc.cases()[name]
    for seed in ns2.spread(tfrc.seeds(case)):
        live, recorded = tfrc.run(case, seed), theirs(name)[seed - 1]
        assert live == pytest.approx(recorded, rel=1e-5), f"{tfrc.COMMAND} records anew"
