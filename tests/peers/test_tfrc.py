"""TFRC in ns-2 and in ackclock, side by side.

ns-2's agent is older than RFC 5348. The bands were set before any number was seen. README.md has
the differences and their reasons.
"""

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


def band(name: str, quantity: str) -> float:
    """Returns the allowed factor."""
    bands = next(bands for case, bands in BANDS.items() if name.startswith(case))
    return next(factor for words, factor in bands.items() if quantity.startswith(words))


@pytest.mark.parametrize("name", tfrc.cases())
def test_tfrc_is_ns2_s_within_the_bands(name: str) -> None:
    outside, runs = {}, (tfrc.recorded()[name], tfrc.mine(name))
    for quantity in runs[0][0]:
        their, our = (Interval.of([run[quantity] for run in every]) for every in runs)
        factor, allowed = our.mean / their.mean, band(name, quantity)
        if not 1 / allowed <= factor <= allowed:
            outside[quantity] = f"ackclock {our}, ns-2 {their}: {factor:.3f}"
    assert not outside


@pytest.mark.skipif(not ns2.installed(), reason=WITHOUT)
@pytest.mark.parametrize("name", tfrc.cases())
def test_ns2_gives_what_was_recorded_of_tfrc(name: str) -> None:
    case = tfrc.cases()[name]
    live, recorded = tfrc.run(case, tfrc.seeds(case)[-1]), tfrc.recorded()[name][-1]
    assert live == pytest.approx(recorded, rel=1e-5), f"{tfrc.COMMAND} records anew"
