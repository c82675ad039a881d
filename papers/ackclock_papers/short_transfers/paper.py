"""Common parts of figures 2 to 7 of Reddy's paper, whose section II restates Barakat and Altman."""

from collections.abc import Mapping
from functools import partial

from ackclock.reproduction import Basis, Origin, Setting, figure

GROUP = "short"
SOURCE = (
    'D. A. M. Reddy, "Influence of router buffer size on TCP execution" (figures 2 to 7), of the '
    'theorem of C. Barakat, E. Altman, "Performance of short TCP transfers", Networking, 2000'
)

#: Makes the record of a figure from Reddy's number.
entry = partial(figure, GROUP, SOURCE)

#: In segments per second, seconds and bytes. A buffer of 20 must be below mu T/2, and one of 70 not
#: below mu T, so mu T is between 40 and 70. Half a second is typical of a satellite.
RATE, ROUND_TRIP_S, SEGMENT_BYTES = 125, 0.5, 1000
PIPE = RATE * ROUND_TRIP_S
BUFFERS, ACKS = (20, 70), (1, 2, 3)

READING = (
    "rate and round-trip time are inferred from which buffers are small and which large; timers "
    "and what is to the right are guessed"
)


def basis(why: str = "") -> Basis:
    """Returns the basis of the verdicts: what was chosen, and why some claims do not hold."""
    return Basis(READING, why)


def settings(more: Mapping[str, str]) -> tuple[Setting, ...]:
    """Returns the settings: those of all figures, and those of one figure."""
    shared = (
        Setting(
            "rate and round trip",
            f"{RATE} packets/s, {ROUND_TRIP_S:g} s: mu T = {PIPE:g}",
            Origin.INFERRED,
        ),
        Setting(
            "segments acknowledged by an ACK",
            "three values: d = 1 and 2, which are named, and 3",
            Origin.INFERRED,
        ),
        Setting(
            "sender",
            "classic Reno from a window of 1, receive window without limit",
            Origin.PRINTED,
        ),
        Setting(
            "timers", "RTO at least 1 s, ticks of 0.5 s; delayed ACKs after 0.1 s", Origin.GUESSED
        ),
        Setting("segments", f"{SEGMENT_BYTES} bytes, no headers", Origin.GUESSED),
    )
    return shared + tuple(Setting(name, value, Origin.GUESSED) for name, value in more.items())
