"""Identical saturated stations of 802.11: DCF, or one class of EDCA.

In each slot no station attempts (P_i), one does (P_s) or several do (P_c). Idle slots last sigma,
the others as long as an exchange and the AIFS after it:

    E = P_i sigma + P_s (T_s + a T_a) + P_c T_c,   rate of a station P_s/(n E),   T_serv = n E/P_s.

A class of absolute priority adds a T_a to each success. An example is TCP's ACKs in a class whose
CWmin is less than the AIFSN of data minus its own. They are sent before any data counter can move,
do not contend with data, and take T_a for each of a ACKs per data packet. Collisions between ACKs
are ignored. The times of exchanges are those of `phy`, and tau is derived in `backoff`.

Accuracy: this counts the slot after a busy period like any other. In 802.11 counters stop while
others send, so that only the stations that have just sent may attempt in that slot (Bianchi and
Tinnirello 2005). Compared with an analysis that includes this (`classes`, with freezing) the rate
is up to 2 % too high for windows of 32 and more, and less accurate for small ones.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ackclock.models.domain import NOT_NEGATIVE, POSITIVE, check
from ackclock.models.edca.backoff import Backoff
from ackclock.models.edca.phy import Exchange, Phy
from ackclock.models.model import Array


@dataclass(frozen=True)
class Saturation:
    """Results for n stations, each an array.

    Attributes:
        attempt_rate: tau.
        collision_probability: p, the collision probability of an attempt.
        idle: P_i, share of slots.
        success: P_s.
        collision: P_c.
        rate: Frames per second delivered by each station.
        airtime: Shares of time: idle slots, successes with the ACKs after them, collisions. They
            add up to one.
    """

    attempt_rate: Array
    collision_probability: Array
    idle: Array
    success: Array
    collision: Array
    rate: Array
    airtime: tuple[Array, Array, Array]

    @property
    def service_time(self) -> Array:
        """T_serv in s, from one frame of a station to its next; infinite if none is delivered."""
        with np.errstate(divide="ignore"):
            return np.asarray(1 / self.rate)


def solve(
    stations: ArrayLike, backoff: Backoff, *, slot: ArrayLike, success: ArrayLike,
    collision: ArrayLike, priority: ArrayLike = 0.0,
) -> Saturation:  # fmt: skip
    """Returns the saturation of identical stations.

    Args:
        stations: n, at least one.
        backoff: Their windows.
        slot: sigma in s.
        success: T_s in s, with the AIFS after it.
        collision: T_c in s, with the AIFS after it.
        priority: a T_a in s, which a class of absolute priority adds to each success.

    Raises:
        ValueError: An argument is out of its domain.
    """
    given = (stations, slot, success, collision, priority)
    n, sigma, T_s, T_c, T_a = (np.asarray(values, float) for values in given)
    check(
        slot=(sigma, POSITIVE),
        success=(T_s, POSITIVE),
        collision=(T_c, POSITIVE),
        priority=(T_a, NOT_NEGATIVE),
    )
    tau, p = backoff.coupled(n)
    P_i = (1 - tau) ** n
    P_s = n * tau * (1 - p)
    P_c = np.where(n > 1, np.maximum(1 - P_i - P_s, 0), 0.0)
    parts = P_i * sigma, P_s * (T_s + T_a), P_c * T_c
    E = sum(parts, np.zeros(()))
    idle, succeeding, colliding = (np.asarray(part / E) for part in parts)
    return Saturation(tau, p, P_i, P_s, P_c, P_s / (n * E), (idle, succeeding, colliding))


def with_aifs(phy: Phy, times: Exchange, aifsn: int) -> dict[str, float]:
    """Returns T_s, T_c and the slot, as arguments of `solve`."""
    space = phy.aifs(aifsn)
    return {
        "slot": phy.slot,
        "success": times.success + space,
        "collision": times.collision + space,
    }


def priority_time(phy: Phy, times: Exchange, aifsn: int, cw_min: int) -> float:
    """Returns T_a: an exchange, its AIFS, and half of CWmin slots."""
    return times.success + phy.aifs(aifsn) + cw_min / 2 * phy.slot


def most(exchange: Exchange, phy: Phy, aifsn: int) -> float:
    """Returns the largest total rate of exchanges per second, at the optimal attempt rate.

    Bianchi 2000, equations 28 and 29, for n to infinity: tau is about 1/(n K) with K = sqrt(T_c/(2
    sigma)).
    """
    times = with_aifs(phy, exchange, aifsn)
    K = np.sqrt(times["collision"] / (2 * times["slot"]))
    busy = times["collision"] * (K * np.expm1(1 / K) - 1)
    return float(1 / (times["success"] + times["slot"] * K + busy))
