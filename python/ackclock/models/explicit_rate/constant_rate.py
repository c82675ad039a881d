"""The best constant rate for TCP over a link of two rates, and its effective capacity.

The publication (see `loop`) lets a source send at one rate, searches for the rate with TCP's
highest goodput, and asks for the delta at which the link's effective capacity is that rate. It
finds nearly the same delta, 60 to 70 in an unknown unit, for many links. Here the delta is about
0.5 per packet (with B_max = 10) for psi from 1.5 to 20. For larger psi the best constant rate is
the link's high one, with delta 0: no lower constant rate is better.
"""

from collections.abc import Sequence
from typing import NamedTuple

from ackclock.models.explicit_rate import effective_capacity
from ackclock.models.explicit_rate.link import TwoRateLink
from ackclock.models.explicit_rate.loop import Loop
from ackclock.models.explicit_rate.renewal import solve
from ackclock.models.explicit_rate.sources import ConstantRate
from ackclock.models.explicit_rate.states import enumerate_states
from ackclock.models.refusal import refuse

#: Rates to try, as shares from the low rate to the high one. They are dense above the low rate,
#: where a buffer still lasts long. Chosen here.
LOOKED_AT = (
    0, 0.005, 0.01, 0.0175, 0.025, 0.0375, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1,
)  # fmt: skip


class BestRate(NamedTuple):
    """The result of the search.

    Attributes:
        rate: Packets per round trip.
        efficiency: TCP's throughput at that rate, over the mean capacity.
        decay: The smallest delta, per packet, at which the link's effective capacity is the rate.
    """

    rate: float
    efficiency: float
    decay: float


def best_constant_rate(
    loop: Loop,
    link: TwoRateLink,
    rates: Sequence[float] | None = None,
    reward: str = "conservative",
) -> BestRate:
    """Returns the rate of a constant source with the highest efficiency.

    Args:
        loop: The loop.
        link: Transitions of the link.
        rates: Rates to try, packets per round trip; by default `LOOKED_AT` between the link's two.
        reward: One of `REWARDS`.
    """
    high, low = (float(capacity) for capacity in loop.capacities)
    if rates is None:
        rates = [low + (high - low) * share for share in LOOKED_AT]
    if not len(rates):
        refuse("rates", "none", "leaves nothing to look at; give some, in packets per round trip")
    candidates = [
        (
            solve(enumerate_states(loop, ConstantRate(float(rate))), link).efficiency(reward),
            float(rate),
        )
        for rate in rates
    ]
    efficiency, rate = max(candidates)
    return BestRate(rate, efficiency, effective_capacity.decay_of(rate, [high, low], link.step))
