"""Durations of frames and of the spaces between them: timing profiles of 802.11 as data.

A frame is a preamble, then its bits at its rate in whole symbols, then possibly a silence. That
silence is the signal extension of 802.11g, which makes its SIFS of 10 us behave like the 16 us of
802.11a. Control frames may have a different preamble. Between frames are SIFS and AIFS = SIFS +
AIFSN slots; DIFS is AIFS for AIFSN 2.

The numbers are those of clauses 15 to 19 of IEEE 802.11-2016, taken from public simulators. Frame
durations of 802.11a, b and g match those to the microsecond (see the tests). Those of `HT` are from
memory of clause 19: 802.11n with one stream, without aggregation and block ACKs. `ERP_OFDM_BITS`
counts bits instead of symbols, as ns-2 does. `FHSS` is the parameter set of Bianchi 2000.
"""

from dataclasses import dataclass
from math import ceil

from ackclock.models.domain import NOT_NEGATIVE, POSITIVE, check

# MAC acknowledgement 14 bytes, RTS 20, CTS 14, header 24 and FCS 4, LLC and SNAP 8.
MAC_ACK_BYTES = 14
RTS_BYTES = 20
CTS_BYTES = 14
MAC_HEADER_BYTES = 28
LLC_BYTES = 8

# Numbers of symbols this close to a whole number count as whole.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Phy:
    """The timing of one physical layer; times in s.

    Attributes:
        name: Name for people.
        slot: Slot of the backoff.
        sifs: Space between a frame and its answer.
        preamble: Preamble and physical-layer header of a data frame.
        control_preamble: The same for RTS, CTS and MAC acknowledgement.
        symbol: Symbol time; the part after the preamble is a whole number of symbols. Zero if bits
            are sent one by one.
        more_bits: Bits before and after those of the frame (service and tail).
        extension: Silence after each frame.
        delay: Propagation delay.
    """

    name: str
    slot: float
    sifs: float
    preamble: float
    control_preamble: float
    symbol: float = 0.0
    more_bits: int = 0
    extension: float = 0.0
    delay: float = 0.0

    def airtime(self, size: float, rate: float, *, control: bool = False) -> float:
        """Returns the duration of one frame in s.

        Args:
            size: Bytes from MAC header to FCS.
            rate: Rate in bit/s.
            control: True for RTS, CTS and MAC acknowledgement.

        Raises:
            ValueError: A size or rate is out of its domain.
        """
        check(size=(size, NOT_NEGATIVE), rate=(rate, POSITIVE))
        lasts = (8 * size + self.more_bits) / rate
        if self.symbol:
            lasts = self.symbol * ceil(lasts / self.symbol - _ROUNDING)
        return (self.control_preamble if control else self.preamble) + lasts + self.extension

    def aifs(self, aifsn: int) -> float:
        """Returns SIFS and `aifsn` slots."""
        return self.sifs + aifsn * self.slot


@dataclass(frozen=True)
class Exchange:
    """Time in s for which an exchange takes the medium, without the AIFS that follows.

    Attributes:
        success: Time of data, SIFS and MAC acknowledgement, or of the four frames of RTS/CTS.
        collision: Time of the colliding frame, and of any wait after it beyond AIFS.
    """

    success: float
    collision: float


def exchange(
    phy: Phy, size: float, rate: float, basic_rate: float, *, rts: bool = False, eifs: bool = True,
    ack_size: float = MAC_ACK_BYTES,
) -> Exchange:  # fmt: skip
    """Returns the times of one exchange.

    Args:
        phy: Timing profile.
        size: Bytes of the data frame, from MAC header to FCS.
        rate: Rate of data, in bit/s.
        basic_rate: Rate of RTS, CTS and MAC acknowledgement, in bit/s.
        rts: True if RTS and CTS come first.
        eifs: True if stations wait EIFS after a collision, as long as an acknowledgement would
            take. Bianchi's analysis does not.
        ack_size: Bytes of the MAC acknowledgement.

    Raises:
        ValueError: A size or rate is out of its domain.
    """
    answer = phy.sifs + phy.airtime(ack_size, basic_rate, control=True) + phy.delay
    data = phy.airtime(size, rate) + phy.delay
    success, lost = data + answer, data
    if rts:
        lost = phy.airtime(RTS_BYTES, basic_rate, control=True) + phy.delay
        success += (
            lost
            + phy.sifs
            + phy.airtime(CTS_BYTES, basic_rate, control=True)
            + phy.delay
            + phy.sifs
        )
    return Exchange(success, lost + answer if eifs else lost)


ERP_OFDM = Phy("802.11g", 9e-6, 10e-6, 20e-6, 20e-6, 4e-6, 22, 6e-6)
ERP_OFDM_BITS = Phy("802.11g as in ns-2", 9e-6, 10e-6, 32e-6, 32e-6)
OFDM = Phy("802.11a", 9e-6, 16e-6, 20e-6, 20e-6, 4e-6, 22)
DSSS = Phy("802.11b", 20e-6, 10e-6, 192e-6, 192e-6, 1e-6)
DSSS_SHORT = Phy("802.11b, short preamble", 20e-6, 10e-6, 96e-6, 96e-6, 1e-6)
HT = Phy("802.11n, no aggregation", 9e-6, 16e-6, 36e-6, 20e-6, 4e-6, 22)
FHSS = Phy("802.11 FHSS of Bianchi 2000", 50e-6, 28e-6, 128e-6, 128e-6, delay=1e-6)

PROFILES = (ERP_OFDM, ERP_OFDM_BITS, OFDM, DSSS, DSSS_SHORT, HT, FHSS)
