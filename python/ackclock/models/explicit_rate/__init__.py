"""TCP over a link of varying rate, with and without explicit-rate feedback.

Example:
    loop = explicit_rate.Loop(round_trip=40, buffer=10, window=65)
    states = explicit_rate.enumerate_states(loop, explicit_rate.InstantaneousCapacity())
    link = explicit_rate.TwoRateLink.of_sojourns(psi=20)
    explicit_rate.solve(states, link).efficiency("optimistic")

Modules: `loop` holds the closed loop and the assumptions about TCP, `sources` the senders, `link`
the changes of rate. The `states` are enumerated once, and solved by `renewal` for each link. The
model `effective_capacity` takes any finite Markov server.
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
