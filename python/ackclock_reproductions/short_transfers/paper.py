"""What the entries of this paper share. Only its abstract was at hand, and a later account of its figures in words."""

from collections.abc import Mapping
from functools import partial

from ackclock.reproduction import Kind, Origin, Setting, Verdict, figure

GROUP = "short"
SOURCE = 'C. Barakat, E. Altman, "Performance of short TCP transfers", Networking, 2000'

#: The record of a figure, by its number.
entry = partial(figure, GROUP, SOURCE)

#: Segments per second, seconds, bytes: a buffer of 20 must be below mu T/2 and one of 70 not below mu T, so that mu T
#: is between 40 and 70; half a second is a satellite's.
RATE, ROUND_TRIP_S, SEGMENT_BYTES = 125, 0.5, 1000
PIPE = RATE * ROUND_TRIP_S
BUFFERS, ACKS = (20, 70), (1, 2, 3)

READING = (
    "rate and round-trip time are inferred from which buffers are small and which large; timers and what is to the "
    "right are guessed"
)


def reading(exceptions: str = "") -> Verdict:
    """The verdict on a figure of which what is said comes out, except for some of it."""
    return Verdict(Kind.READING, READING, exceptions)


def settings(more: Mapping[str, str]) -> tuple[Setting, ...]:
    """What all figures have, and what was chosen for one."""
    shared = (
        Setting("rate and round trip", f"{RATE} packets/s, {ROUND_TRIP_S:g} s: mu T = {PIPE:g}", Origin.INFERRED),
        Setting("segments acknowledged by an ACK", "1, 2, 3", Origin.PRINTED),
        Setting("sender", "classic Reno from a window of 1, receive window without limit", Origin.PRINTED),
        Setting("timers", "RTO at least 1 s, ticks of 0.5 s; delayed ACKs after 0.1 s", Origin.GUESSED),
        Setting("segments", f"{SEGMENT_BYTES} bytes, no headers", Origin.GUESSED),
    )
    return shared + tuple(Setting(name, value, Origin.GUESSED) for name, value in more.items())
