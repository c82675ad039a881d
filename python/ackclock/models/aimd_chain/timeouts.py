"""Timeouts in addition to the chain: segments and duration of a round whose loss times out.

The window's law by rounds does not change, since the window falls to a half in any case: after a
timeout slow start takes it there. Only the rewards of a semi-Markov reward process change.

- A loss under w is a timeout with probability Q(p, w). Otherwise duplicate ACKs reveal it (Padhye,
  Firoiu, Towsley and Kurose, 2000).
- A loss revealed by duplicate ACKs costs `recovery_rounds` round trips without new data. Recovery
  takes one (RFC 6582). The formula does not say how much new data is sent meanwhile. Here it is
  none.
- A timeout costs f(p) T0/(1-p) of silence, the backed-off series of PFTK. After it come log2(w/2)
  rounds of slow start that carry w/2 - 1 segments, including the retransmitted one.

For the three sets of measurements with windows up to 64 segments (the source's tables 8.6 to 8.8)
the rates are within 1 % of an independent evaluation. Its treatment of recovery and slow start is
unknown.

Letters: p loss rate, T0 first timeout (s), R round-trip time (s), Q and f as in `pftk`, f_w
probability of a loss in a round.
"""

from math import inf

import numpy as np

from ackclock.models import pftk
from ackclock.models.aimd_chain.chain import WindowChain, round_lasts, weighted_sum
from ackclock.models.aimd_chain.rtt import RoundTrip
from ackclock.models.model import Array
from ackclock.models.refusal import refuse


def renewal_rate(
    chain: WindowChain,
    p: float | Array,
    rtt: RoundTrip,
    T0: float,
    rate: float = inf,
    recovery_rounds: float = 1.0,
) -> float:
    """Returns the long-run rate of new segments per second, with timeouts.

    Args:
        chain: A solved chain of any loss law and response.
        p: Loss rate of a segment, for Q and f; between 0 and 1, both excluded. If there is one for
            each window, f takes that of the smallest, where retransmissions are sent.
        rtt: Law of the round-trip time.
        T0: First retransmission timeout in s.
        rate: L in segments/s.
        recovery_rounds: Round trips without new data after a loss revealed by duplicate ACKs.
    """
    if not 0 < T0 < inf:
        refuse("T0", T0, "must be positive, in s; for example 1")
    if not 0 <= recovery_rounds < inf:
        refuse("recovery_rounds", recovery_rounds, "must not be negative; for example 1")
    w = chain.windows
    least = np.ravel(p)[0]
    # Q is one long before every segment is lost.
    Q = pftk.timeout_probability(np.minimum(p, 1 - 1e-12), w)
    lasts = round_lasts(chain, rtt, rate)
    mean_rtt = rtt.mean_at_least(np.zeros_like(w), w)
    half = np.maximum(w / 2, 1)
    silence = float(pftk.backoff(least)) * T0 / (1 - least)
    after_timeout = silence + np.log2(half) * mean_rtt
    carried = w + chain.lose * Q * (half - 1)
    spent = lasts + chain.lose * (Q * after_timeout + (1 - Q) * recovery_rounds * mean_rtt)
    return weighted_sum(chain.round, carried) / weighted_sum(chain.round, spent)
