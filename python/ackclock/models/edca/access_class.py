"""One class of EDCA: its access parameters, number of stations, and durations of exchanges."""

from dataclasses import dataclass
from functools import cached_property
from math import ceil, isfinite, log2

import numpy as np

from ackclock.models.domain import AT_LEAST_ONE, POSITIVE, Domain, check
from ackclock.models.edca.backoff import Backoff
from ackclock.models.model import Array
from ackclock.models.refusal import refuse

# AIFSN has four bits, CWmin and CWmax exponents of at most 15 (IEEE 802.11-2016 9.4.2.29).
AIFSN = Domain(1, 15, "[]")
WINDOW = Domain(0, 2**15 - 1, "[]")


@dataclass(frozen=True)
class AccessClass:
    """Stations of one class.

    Attributes:
        stations: Number of its queues.
        aifsn: AIFSN, slots after SIFS.
        cw_min: CWmin.
        cw_max: CWmax.
        retries: Retries after which a frame is given up; infinite for never.
        success: Time in s that an exchange of the class takes on the medium, as in `phy.exchange`.
        collision: The same for a collision in which its frame is the longest.
    """

    stations: int
    aifsn: int
    cw_min: int
    cw_max: int
    retries: float
    success: float
    collision: float

    def __post_init__(self) -> None:
        check(
            stations=(self.stations, AT_LEAST_ONE), aifsn=(self.aifsn, AIFSN),
            cw_min=(self.cw_min, WINDOW), cw_max=(self.cw_max, WINDOW),
            success=(self.success, POSITIVE), collision=(self.collision, POSITIVE),
        )  # fmt: skip
        Backoff(self.cw_min, self.cw_max, self.retries)
        for name in ("stations", "aifsn", "cw_min", "cw_max", "retries"):
            if isfinite(getattr(self, name)) and getattr(self, name) % 1 != 0:
                refuse(name, getattr(self, name), "must be a whole number")

    @cached_property
    def draws(self) -> Array:
        """The law of a draw in each reachable stage, up to the first with the largest window."""
        growing = ceil(log2((self.cw_max + 1) / (self.cw_min + 1)))
        stages = 1 + int(min(growing, self.retries))
        windows = np.minimum((self.cw_min + 1) * 2.0 ** np.arange(stages), self.cw_max + 1)[
            :, np.newaxis
        ]
        return np.asarray((np.arange(self.cw_max + 1) < windows) / windows)
