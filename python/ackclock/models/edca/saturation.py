"""What alike stations get of 802.11 that always have something to send: DCF, or one class of EDCA.

In each slot nobody attempts (P_i), one does (P_s) or several (P_c). Slots in which nobody does last
sigma, the others as long as an exchange and the AIFS after it:

    E = P_i sigma + P_s (T_s + a T_a) + P_c T_c,   rate of a station P_s/(n E),   T_serv = n E/P_s.

a T_a is what a class of absolute priority adds: TCP's ACKs in a class of their own, whose CWmin is
less than what its AIFSN is smaller by, go before any data's counter can move. They do not contend
with data, and take T_a for each of a ACKs per data packet. Left out is that ACKs may collide with
each other. Times of exchanges are those of `phy`; where tau is from is said in `backoff`.

How right it is: this counts the slot after a busy period like any other. In 802.11 counters stand
still while others send, so that in the slot after it only those may attempt who have just sent
(Bianchi and Tinnirello 2005). Beside a count that knows this (`classes`, with freezing) a station
gets up to 2 % too much with windows of 32 and more, and further off with small ones.
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
    """What n stations get, each an array.

    Attributes:
        attempt_rate: tau.
        collision_probability: p, of an attempt.
        idle: P_i, share of slots.
        success: P_s.
        collision: P_c.
        slot_mean: E in s.
        rate: Frames per second of each station, that come through.
        airtime: Shares of time: idle slots, successes with what follows them, collisions. They add
            up to one.
    """

    attempt_rate: Array
    collision_probability: Array
    idle: Array
    success: Array
    collision: Array
    slot_mean: Array
    rate: Array
    airtime: tuple[Array, Array, Array]

    @property
    def service_time(self) -> Array:
        """T_serv in s: from one frame of a station to its next; infinite where none comes through."""
        with np.errstate(divide="ignore"):
            return np.asarray(1 / self.rate)


def solve(
    stations: ArrayLike, backoff: Backoff, *, slot: ArrayLike, success: ArrayLike, collision: ArrayLike,
    priority: ArrayLike = 0.0,
) -> Saturation:  # fmt: skip
    """Saturation of alike stations.

    Args:
        stations: n, from one.
        backoff: Their windows.
        slot: sigma in s.
        success: T_s in s, the AIFS after it included.
        collision: T_c in s, the same.
        priority: a T_a in s, what follows each success from a class of absolute priority.

    Raises:
        ValueError: An argument is out of its domain.
    """
    given = (stations, slot, success, collision, priority)
    n, sigma, T_s, T_c, T_a = (np.asarray(one, float) for one in given)
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
    return Saturation(tau, p, P_i, P_s, P_c, E, P_s / (n * E), (idle, succeeding, colliding))


def with_aifs(phy: Phy, times: Exchange, aifsn: int) -> dict[str, float]:
    """T_s, T_c and the slot, as `solve` takes them."""
    space = phy.aifs(aifsn)
    return {
        "slot": phy.slot,
        "success": times.success + space,
        "collision": times.collision + space,
    }


def priority_time(phy: Phy, times: Exchange, aifsn: int, cw_min: int) -> float:
    """T_a: an exchange, its AIFS, and half of CWmin slots."""
    return times.success + phy.aifs(aifsn) + cw_min / 2 * phy.slot


def most(exchange: Exchange, phy: Phy, aifsn: int) -> float:
    """The most exchanges in a second that many stations can have, if their attempt rate is the best one.

    Bianchi 2000, equations 28 and 29, for n to infinity: tau about 1/(n K) with K = sqrt(T_c/(2
    sigma)).
    """
    times = with_aifs(phy, exchange, aifsn)
    K = np.sqrt(times["collision"] / (2 * times["slot"]))
    busy = times["collision"] * (K * np.expm1(1 / K) - 1)
    return float(1 / (times["success"] + times["slot"] * K + busy))
