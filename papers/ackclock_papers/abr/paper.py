"""The paper's description of its testbed, and the common parts of its entries.

Only a digest of the paper's text was available, without figures and function words. Some numbers
are lost.
"""

from functools import partial

from ackclock.reproduction import Basis, Origin, Setting, figure

GROUP = "abr"
SOURCE = (
    'S. Shakkottai, A. Kumar, A. Karnik, A. Anvekar, "TCP performance over end-to-end rate control '
    'and stochastic available capacity", IEEE/ACM Transactions on Networking 9(4), 2001'
)

#: Rates of the link; it spends equal time at both.
HIGH_KB_PER_S, LOW_KB_PER_S = 100, 50
MEAN_KB_PER_S = (HIGH_KB_PER_S + LOW_KB_PER_S) / 2
PACKET_BYTES, HEADER_BYTES = 500, 40
PAYLOAD_BYTES = PACKET_BYTES - HEADER_BYTES
#: r: a packet takes this many times longer at the low rate.
SLOWDOWN = HIGH_KB_PER_S / LOW_KB_PER_S
#: Largest window: 32 KB. It is 64 packets if a KB has 1000 bytes, which makes no difference.
WINDOW_PACKETS = 65
#: Delta: 40 packets at the high rate.
ROUND_TRIP_S = 0.2
#: Interval at which the link may change, is measured, and is fed back.
PERIOD_S = 0.03
#: Share of a rate that ATM cells leave: 48 of 53 bytes. TCP alone has no cells.
CELLS = 48 / 53
#: Size of the paper's transfers, headers included, and the transfers behind one point.
TRANSFER_BYTES, TRANSFERS = 10_000_000, 4


#: Makes the record of a figure from its number.
entry = partial(figure, GROUP, SOURCE)

PROTOCOL = Setting(
    "paper's protocol", "means of four transfers of 10 MB, over 75 kB/s", Origin.PRINTED
)

COMPARED = Setting(
    "timer of what is compared",
    "the same, but round trips are timed exactly and not in ticks",
    Origin.INFERRED,
)

#: Choices common to all figures, in short.
GUESSES = (
    "the timer of the testbed's TCP (one second at least, ticks of 500 ms) and the length of the "
    "runs guessed"
)


def basis(more: str = "", why: str = "") -> Basis:
    """Returns the basis of the verdicts: what was chosen, and why some claims do not hold."""
    return Basis(f"{GUESSES}{more and '; '}{more}", why)


def settings(*own: Setting) -> tuple[Setting, ...]:
    """Returns the settings: those of all figures and the figure's own."""
    rates = f"{HIGH_KB_PER_S} and {LOW_KB_PER_S} kB/s, as long at one as at the other"
    return (
        Setting(
            "bottleneck", f"{rates}; it may change every 30 ms, with probability 30 ms/tau",
            Origin.PRINTED,
        ),
        *own,
        Setting("packets", "500 bytes, headers of TCP and IP count as throughput", Origin.PRINTED),
        Setting("headers", "40 bytes", Origin.INFERRED),
        Setting(
            "ATM cells", "48/53 of every efficiency with feedback, not of TCP alone",
            Origin.PRINTED,
        ),
        Setting("window", "32 KB at most", Origin.PRINTED),
        Setting("window in packets", "65", Origin.INFERRED),
        Setting(
            "sender", "preset jacobson1988: every loss ends in a timeout, an ACK for each packet",
            Origin.PRINTED
        ),
        Setting(
            "timer", "one second at least, in ticks of 500 ms, unless a run says otherwise",
            Origin.GUESSED,
        ),
        Setting(
            "efficiency",
            "over the capacity that the link had in the very run, the same for all schemes",
            Origin.GUESSED,
        ),
    )  # fmt: skip
