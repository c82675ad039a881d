"""TCP over a link whose rate moves, with and without explicit-rate feedback: renewal analysis, effective capacity.

    loop = explicit_rate.Loop(round_trip=40, buffer=10, window=65) states =
    explicit_rate.enumerate_states(loop, explicit_rate.InstantaneousCapacity())
    explicit_rate.solve(states,
    explicit_rate.TwoRateLink.of_sojourns(psi=20)).efficiency("optimistic")

`loop` holds what goes round and what is assumed of TCP, `sources` who sends, `link` how the rate
moves; `states` is enumerated once, and solved by `renewal` for each link. `effective_capacity`
takes any finite Markov server.
"""

from ackclock.models.explicit_rate import effective_capacity
from ackclock.models.explicit_rate.constant_rate import BestRate, best_constant_rate
from ackclock.models.explicit_rate.link import TwoRateLink
from ackclock.models.explicit_rate.loop import GROWTHS, Loop
from ackclock.models.explicit_rate.record import CONSTANT_SOURCE, INSTCAP, TCP_ALONE
from ackclock.models.explicit_rate.renewal import Renewal, solve, transitions
from ackclock.models.explicit_rate.sources import ConstantRate, InstantaneousCapacity, Unregulated
from ackclock.models.explicit_rate.states import (
    REWARDS,
    States,
    TooManyStatesError,
    enumerate_states,
)

__all__ = [
    "CONSTANT_SOURCE",
    "GROWTHS",
    "INSTCAP",
    "REWARDS",
    "TCP_ALONE",
    "BestRate",
    "ConstantRate",
    "InstantaneousCapacity",
    "Loop",
    "Renewal",
    "States",
    "TooManyStatesError",
    "TwoRateLink",
    "Unregulated",
    "best_constant_rate",
    "effective_capacity",
    "enumerate_states",
    "solve",
    "transitions",
]
