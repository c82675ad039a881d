"""What the paper says of its testbed, and what its entries share.

It could be had as a digest of its text, without figures and without the little words; some numbers
are lost.
"""

from functools import partial

from ackclock.reproduction import Basis, Origin, Setting, figure

GROUP = "abr"
SOURCE = (
    'S. Shakkottai, A. Kumar, A. Karnik, A. Anvekar, "TCP performance over end-to-end rate control '
    'and stochastic available capacity", IEEE/ACM Transactions on Networking 9(4), 2001'
)

#: Of the link; it is as long at one of them as at the other.
HIGH_KB_PER_S, LOW_KB_PER_S = 100, 50
MEAN_KB_PER_S = (HIGH_KB_PER_S + LOW_KB_PER_S) / 2
PACKET_BYTES, HEADER_BYTES = 500, 40
PAYLOAD_BYTES = PACKET_BYTES - HEADER_BYTES
#: r: a packet takes so much longer at the low rate.
SLOWDOWN = HIGH_KB_PER_S / LOW_KB_PER_S
#: What the window is at most: 32 KB; 64 where a KB has 1000 bytes, which is immaterial.
WINDOW_PACKETS = 65
#: Delta: 40 packets at the high rate.
ROUND_TRIP_S = 0.2
#: How often the link may change, is measured, and is fed back.
PERIOD_S = 0.03
#: What ATM cells leave of a rate: 48 of 53 bytes. TCP alone has no cells.
CELLS = 48 / 53
#: A transfer of the paper, headers included, and how many make a point.
TRANSFER_BYTES, TRANSFERS = 10_000_000, 4


#: The record of a figure, by its number.
entry = partial(figure, GROUP, SOURCE)

PROTOCOL = Setting(
    "paper's protocol", "means of four transfers of 10 MB, over 75 kB/s", Origin.PRINTED
)

COMPARED = Setting(
    "timer of what is compared",
    "the same, but round trips are timed exactly and not in ticks",
    Origin.INFERRED,
)

#: What was chosen for all figures, in short.
GUESSES = (
    "the timer of the testbed's TCP (one second at least, ticks of 500 ms) and the length of the "
    "runs guessed"
)


def basis(more: str = "", why: str = "") -> Basis:
    """What verdicts rest on: what was chosen; and why what does not come out does not."""
    return Basis(f"{GUESSES}{more and '; '}{more}", why)


def settings(*own: Setting) -> tuple[Setting, ...]:
    """What went in: what all figures have, and what is the figure's own."""
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
