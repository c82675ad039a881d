"""How long frames last on the air, and the spaces between them: timing profiles of 802.11 as data.

A frame is a preamble, then its bits at its rate in whole symbols, then perhaps a silence (the
signal extension of 802.11g, which makes its SIFS of 10 us look like the 16 us of 802.11a). Frames
of control may have a preamble of their own. Between them are SIFS and AIFS = SIFS + AIFSN slots;
DIFS is that for AIFSN 2.

Where numbers are from: clauses 15 to 19 of IEEE 802.11-2016 by way of public simulators, whose
frames of 802.11a, b and g last as long to the microsecond (see the tests); those of `HT` from
memory of clause 19. That is 802.11n with one stream and without what made it faster, aggregation
and block ACKs. `ERP_OFDM_BITS` counts bits and no symbols, as ns-2 does. `FHSS` is the set of
parameters of Bianchi 2000.
"""

from dataclasses import dataclass
from math import ceil

from ackclock.models.domain import NOT_NEGATIVE, POSITIVE, check

# 14 bytes of MAC acknowledgement, 20 of RTS, 14 of CTS; 24 of header and 4 of FCS; LLC and SNAP.
MAC_ACK_BYTES = 14
RTS_BYTES = 20
CTS_BYTES = 14
MAC_HEADER_BYTES = 28
LLC_BYTES = 8

# A number of symbols is whole if it is so close to it.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Phy:
    """The timing of one physical layer; times in s.

    Attributes:
        name: For people.
        slot: Of the backoff.
        sifs: Between a frame and its answer.
        preamble: With the header of the physical layer, of a frame of data.
        control_preamble: The same of RTS, CTS and MAC acknowledgement.
        symbol: What follows the preamble lasts a whole number of these; zero for any number of
            bits.
        more_bits: Bits before and after those of the frame (service and tail).
        extension: Silence after each frame.
        delay: Propagation.
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
        """Of one frame.

        Args:
            size: Bytes from MAC header to FCS.
            rate: In bit/s.
            control: Whether it is RTS, CTS or MAC acknowledgement.

        Raises:
            ValueError: A size or rate out of its domain.
        """
        check(size=(size, NOT_NEGATIVE), rate=(rate, POSITIVE))
        lasts = (8 * size + self.more_bits) / rate
        if self.symbol:
            lasts = self.symbol * ceil(lasts / self.symbol - _ROUNDING)
        return (self.control_preamble if control else self.preamble) + lasts + self.extension

    def aifs(self, aifsn: int) -> float:
        """SIFS and so many slots."""
        return self.sifs + aifsn * self.slot


@dataclass(frozen=True)
class Exchange:
    """For how long a frame and what belongs to it take the medium, without the AIFS that follows; in s.

    Attributes:
        success: Data, SIFS and MAC acknowledgement, or the four frames of RTS/CTS.
        collision: What collides, and what stations wait after it beyond AIFS.
    """

    success: float
    collision: float


def exchange(
    phy: Phy, size: float, rate: float, basic_rate: float, *, rts: bool = False, eifs: bool = True,
    ack_size: float = MAC_ACK_BYTES,
) -> Exchange:  # fmt: skip
    """The times of one exchange.

    Args:
        phy: Timing profile.
        size: Bytes of the frame of data, from MAC header to FCS.
        rate: Of data, in bit/s.
        basic_rate: Of RTS, CTS and MAC acknowledgement, in bit/s.
        rts: Whether RTS and CTS come first.
        eifs: Whether stations wait EIFS after a collision: as long as if an acknowledgement had
            come. Bianchi's analysis has none.
        ack_size: Bytes of the MAC acknowledgement.

    Raises:
        ValueError: A size or rate out of its domain.
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
