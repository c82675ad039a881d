"""802.11 in saturation: published DCF numbers, laws, and EDCA classes against slot counting."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ackclock import models
from ackclock.models.edca import (
    DSSS,
    ERP_OFDM,
    ERP_OFDM_BITS,
    FHSS,
    HT,
    OFDM,
    PROFILES,
    AccessClass,
    Backoff,
    Phy,
    classes,
    exchange,
    saturation,
)

from ..refusals import refused
from . import slots

# A cell of 802.11g: packets of 1000 bytes plus 36 of headers, TCP's ACKs in their own class (AIFSN
# 2, CW 3 to 7).
DATA = Backoff(31, 1023, 11)
CONTENDERS = np.array([1, 3, 6, 11])


def cell(phy: Phy, acks_per_packet: float = 1.0, *, eifs: bool = True) -> saturation.Saturation:
    data, ack = (exchange(phy, size, 54e6, 6e6, eifs=eifs) for size in (1036, 76))
    priority = acks_per_packet * saturation.priority_time(phy, ack, 2, 3)
    return saturation.solve(
        CONTENDERS, DATA, **saturation.with_aifs(phy, data, 6), priority=priority
    )


def test_airtimes_of_the_profiles() -> None:
    frames = [(1036, 54e6, False), (76, 54e6, False), (14, 6e6, True)]
    expected = {
        ERP_OFDM: [182.0, 38.0, 50.0],
        ERP_OFDM_BITS: [185.5, 43.3, 50.7],
        OFDM: [176.0, 32.0, 44.0],
    }
    for phy, airtimes in expected.items():
        got = [phy.airtime(size, rate, control=control) * 1e6 for size, rate, control in frames]
        assert got == pytest.approx(airtimes, abs=0.05)
    # 802.11b in ns-3, for 1500 bytes plus 36 of headers, and its MAC acknowledgement at 1 and 2
    # Mbit/s.
    for rate, airtime in ((1e6, 12_480), (2e6, 6336), (5.5e6, 2427), (11e6, 1310)):
        assert DSSS.airtime(1536, rate) * 1e6 == pytest.approx(airtime, abs=1e-6)
    assert [DSSS.airtime(14, rate, control=True) * 1e6 for rate in (1e6, 2e6)] == pytest.approx(
        [304, 248]
    )
    # One stream at 65 Mbit/s: 36 us, then symbols of 260 bits.
    assert HT.airtime(1536, 65e6) * 1e6 == pytest.approx(36 + 4 * math.ceil((8 * 1536 + 22) / 260))
    assert ERP_OFDM.aifs(2) == pytest.approx(28e-6)
    assert OFDM.aifs(2) == pytest.approx(34e-6)
    assert DSSS.aifs(2) == pytest.approx(50e-6)
    assert len({phy.name for phy in PROFILES}) == len(PROFILES)


def test_a_frame_without_size_or_rate_is_refused() -> None:
    with refused("out-of-range", "rate", 0):
        ERP_OFDM.airtime(100, 0.0)
    with refused("out-of-range", "size", -1):
        ERP_OFDM.airtime(-1.0, 6e6)


@pytest.mark.parametrize(
    ("phy", "acks", "expected"),
    [
        (ERP_OFDM, 1, [13.675, 5.168, 2.585, 1.369]),
        (ERP_OFDM, 0.5, [15.53, 5.98, 2.99, 1.58]),
        (ERP_OFDM_BITS, 1, [13.444, 5.066, 2.533, 1.342]),
        (
            Phy("no extension", 9e-6, 10e-6, 20e-6, 20e-6, 4e-6, 22),
            1,
            [14.260, 5.427, 2.720, 1.441],
        ),
    ],
)
def test_a_download_beside_uploads(phy: Phy, acks: float, expected: list[float]) -> None:
    solution = cell(phy, acks)
    digits = 1e-3 if acks == 1 else 3e-3  # the last line is given with two decimals
    assert solution.rate * 8e-3 == pytest.approx(expected, rel=digits)


def test_what_follows_for_the_cell() -> None:
    solution = cell(ERP_OFDM)
    assert solution.collision_probability == pytest.approx([0, 0.1046, 0.2069, 0.3052], abs=5e-5)
    assert solution.attempt_rate == pytest.approx([0.06061, 0.05372, 0.04530, 0.03575], abs=5e-6)
    assert solution.service_time * 1e3 == pytest.approx([0.585, 1.548, 3.095, 5.842], abs=5e-4)
    assert 0.2 * solution.rate == pytest.approx([341.9, 129.2, 64.6, 34.2], abs=0.05)
    # A success is two busy periods, the packet's and its ACK's.
    assert solution.collision[3] / (
        solution.collision[3] + 2 * solution.success[3]
    ) == pytest.approx(0.094, abs=5e-4)
    # Without EIFS collisions are shorter, so all but a lone station get more.
    without = cell(ERP_OFDM, eifs=False).rate
    assert without[0] == pytest.approx(solution.rate[0], rel=1e-12)
    assert (without[1:] > solution.rate[1:]).all()


backoffs = st.builds(
    lambda low, more, m: Backoff(low, low + more, m),
    st.integers(0, 63), st.integers(0, 1023), st.one_of(st.integers(0, 20), st.just(math.inf)),
)  # fmt: skip


@pytest.mark.slow
@given(backoffs, st.floats(0, 1, exclude_max=True))
def test_the_attempt_rate_is_its_sum(backoff: Backoff, p: float) -> None:
    low, high, m = (
        float(np.asarray(number)) for number in (backoff.cw_min, backoff.cw_max, backoff.retries)
    )
    stages = int(min(m, 10 + math.ceil(math.log(1e-17) / math.log(p)) if p > 0 else 0)) + 1
    if stages > 100_000:
        return
    k = np.arange(stages)
    W = np.minimum((low + 1) * 2.0 ** np.minimum(k, 30), high + 1)
    expected = (p**k).sum() / (p**k * ((W - 1) / 2 + 1)).sum()
    assert float(backoff.attempt_rate(p)) == pytest.approx(expected, rel=1e-9)


@given(st.integers(2, 200), st.integers(0, 8), st.floats(0.001, 0.999))
def test_without_an_end_of_retries_it_is_bianchis(W: int, m: int, p: float) -> None:
    if abs(p - 0.5) < 1e-6:
        return  # where his formula divides zero by zero
    his = 2 * (1 - 2 * p) / ((1 - 2 * p) * (W + 1) + p * W * (1 - (2 * p) ** m))
    assert float(Backoff(W - 1, W * 2**m - 1).attempt_rate(p)) == pytest.approx(his, rel=1e-7)


@pytest.mark.slow
@given(backoffs, st.integers(1, 300))
def test_attempts_and_collisions_meet_at_one_place(backoff: Backoff, n: int) -> None:
    tau, p = (float(value) for value in backoff.coupled(n))
    grid = np.linspace(0, 1, 200, endpoint=False)
    rates = backoff.attempt_rate(grid)
    assert (
        np.diff(rates) <= 1e-11
    ).all()  # windows grow, so the more collisions, the fewer attempts
    if n == 1:
        assert p == 0
        return
    with np.errstate(divide="ignore"):
        gap = -np.expm1((n - 1) * np.log1p(-rates)) - grid
    assert (np.diff(gap) < 0).all()  # so there is one zero, which bisection finds from either end
    assert (gap[grid < p - 1e-9] > 0).all()
    assert (gap[grid > p + 1e-9] < 0).all()
    assert tau == pytest.approx(float(backoff.attempt_rate(p)), rel=1e-9) or p == 1


# The saturation throughput in Mbit/s that ns-3 validates its Wi-Fi against
# (src/wifi/examples/wifi-bianchi.cc and reference/bianchi_*_difs.txt and _eifs.txt, University of
# Washington 2020). 1500 bytes of payload, 5, 10, ... 50 stations; collisions followed by DIFS, and
# by EIFS. 802.11b with a long preamble at 1, 2, 5.5 and 11 Mbit/s, MAC acknowledgements at 1 and 2;
# 802.11a and g at 6 and 54, with them at 6 and 24.
NS3 = {
    (DSSS, 1e6, 1e6, False): [
        0.8437, 0.7861, 0.7496, 0.7226, 0.7016, 0.6847, 0.6686, 0.6549, 0.6435, 0.6336,
    ],
    (DSSS, 1e6, 1e6, True): [
        0.8418, 0.7831, 0.7460, 0.7186, 0.6973, 0.6802, 0.6639, 0.6501, 0.6386, 0.6285,
    ],
    (DSSS, 2e6, 2e6, False): [
        1.6228, 1.5168, 1.4482, 1.3972, 1.3574, 1.3253, 1.2947, 1.2687, 1.2469, 1.2279,
    ],
    (DSSS, 2e6, 2e6, True): [
        1.6170, 1.5075, 1.4371, 1.3849, 1.3442, 1.3115, 1.2803, 1.2538, 1.2317, 1.2124,
    ],
    (DSSS, 5.5e6, 2e6, False): [
        3.8896, 3.6707, 3.5203, 3.4063, 3.3161, 3.2429, 3.1729, 3.1128, 3.0625, 3.0184,
    ],
    (DSSS, 5.5e6, 2e6, True): [
        3.8565, 3.6170, 3.4554, 3.3339, 3.2385, 3.1613, 3.0878, 3.0249, 2.9725, 2.9266,
    ],
    (DSSS, 11e6, 2e6, False): [
        6.4734, 6.1774, 5.9553, 5.7819, 5.6429, 5.5289, 5.4191, 5.3243, 5.2446, 5.1745,
    ],
    (DSSS, 11e6, 2e6, True): [
        6.3821, 6.0269, 5.7718, 5.5765, 5.4217, 5.2958, 5.1755, 5.0722, 4.9860, 4.9103,
    ],
    (ERP_OFDM, 6e6, 6e6, False): [
        4.7087, 4.3453, 4.1397, 3.9899, 3.8802, 3.7824, 3.6961, 3.6276, 3.5712, 3.5071,
    ],
    (ERP_OFDM, 54e6, 24e6, False): [
        29.8324, 28.1519, 27.0948, 26.2925, 25.6896, 25.1434, 24.6539, 24.2613, 23.9353, 23.5618,
    ],
    (OFDM, 54e6, 24e6, True): [
        29.2861, 27.3763, 26.2078, 25.3325, 24.6808, 24.0944, 23.5719, 23.1549, 22.8100, 22.4162,
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    "which", NS3, ids=lambda which: f"{which[0].name} {which[1] / 1e6:g} {which[3]}"
)
def test_dcf_is_what_ns3_is_validated_against(which: tuple[Phy, float, float, bool]) -> None:
    phy, rate, basic_rate, eifs = which
    cw_min, size = (31, 1536) if phy is DSSS else (15, 1534)
    times = saturation.with_aifs(phy, exchange(phy, size, rate, basic_rate, eifs=eifs), 2)
    # Their reference lets a station that has sent send again at once, with the probability of a
    # draw of zero. A slot follows in which no station may send (Bianchi and Tinnirello 2005).
    again = 1 / (1 - 1 / (cw_min + 1))
    times["success"] = times["success"] * again + times["slot"]
    n, backoff = np.arange(5.0, 51, 5), Backoff(cw_min, 1023)
    solution = saturation.solve(n, backoff, **times)
    assert n * solution.rate * 12e-3 * again == pytest.approx(NS3[which], rel=2.5e-3)
    # They search the attempt rate on ten thousand points from 0 to 1. On that grid the digits are
    # the same, except for the 0.1 us of propagation that they count with EIFS.
    grid = np.linspace(0, 1, 10_000)[1:-1]
    back = backoff.attempt_rate(1 - (1 - grid) ** (n[:, np.newaxis] - 1))
    tau = np.take_along_axis(back, np.abs(grid - back).argmin(axis=1)[:, np.newaxis], axis=1)[:, 0]
    P_i, P_s = (1 - tau) ** n, n * tau * (1 - tau) ** (n - 1)
    E = P_i * times["slot"] + P_s * times["success"] + (1 - P_i - P_s) * times["collision"]
    assert P_s * 12e-3 * again / E == pytest.approx(NS3[which], rel=4e-4 if eifs else 1e-4)


def test_the_most_that_802_11b_can_carry() -> None:
    # Bianchi, Choi and Tinnirello in Bing, "Emerging Technologies in Wireless LANs" (2007), p. 75:
    # at 2 and 11 Mbit/s, basic and RTS/CTS. Payload, headers, basic rate and EIFS are not printed
    # with the numbers; these values give them.
    published = {(2e6, False): 1.669, (2e6, True): 1.596, (11e6, False): 6.210, (11e6, True): 4.763}
    for (rate, rts), throughput in published.items():
        times = exchange(DSSS, 1528, rate, 1e6, rts=rts)
        assert saturation.most(times, DSSS, 2) * 12e-3 == pytest.approx(throughput, rel=6e-4)


@pytest.mark.parametrize("rts", [False, True])
def test_no_windows_carry_more_than_the_most(rts: bool) -> None:
    # Bianchi 2000, table II and section V: with FHSS K = sqrt(T_c/(2 sigma)) is 9.334 and 2.042.
    times = exchange(FHSS, (8184 + 272) / 8, 1e6, 1e6, rts=rts, eifs=False)
    both = saturation.with_aifs(FHSS, times, 2)
    assert both["success"] * 1e6 == pytest.approx(8982 if not rts else 9568)
    assert both["collision"] * 1e6 == pytest.approx(8713 if not rts else 417)
    windows = np.geomspace(16, 2**17, 4000)
    carried = 500 * saturation.solve(500, Backoff(windows, windows), **both).rate
    assert carried.max() == pytest.approx(saturation.most(times, FHSS, 2), rel=2e-3)
    # His findings: with small windows, basic access loses with more stations, RTS/CTS hardly.
    n = np.array([5, 10, 20, 30, 50])
    small, large = (
        n * saturation.solve(n, Backoff(W - 1, 8 * W - 1), **both).rate * 8184e-6 for W in (32, 128)
    )
    assert (np.diff(small) < 0).all() if not rts else np.ptp(small) < 0.02
    assert (large > small)[1:].all() if not rts else (large < small)[:3].all()


@pytest.mark.slow
@given(backoffs, st.integers(1, 100), st.floats(0.1, 50), st.floats(0.1, 50))
def test_airtime_is_shared_out_and_more_stations_get_less(
    backoff: Backoff, n: int, success: float, lost: float
) -> None:
    solution = saturation.solve(
        [n, n + 1, 2 * n + 1], backoff, slot=1.0, success=success, collision=lost
    )
    assert sum(solution.airtime) == pytest.approx([1, 1, 1])
    assert (np.diff(solution.collision_probability) >= -1e-12).all()
    assert (np.diff(solution.rate) < 0).all() or solution.rate[1:] == pytest.approx(
        [0, 0], abs=1e-9
    )


def alike(
    stations: int, aifsn: int = 3, low: int = 15, high: int = 1023, retries: float = 7
) -> AccessClass:
    return AccessClass(stations, aifsn, low, high, retries, success=300e-6, collision=280e-6)


def contention(*every: AccessClass, **how: bool) -> classes.Contention:
    return classes.solve(every, 9e-6, 10e-6, **how)


@pytest.mark.long
@pytest.mark.parametrize("retries", [0, 2, 7, 11, math.inf])
@pytest.mark.parametrize(("low", "high"), [(3, 7), (15, 1023), (31, 31), (6, 100)])
def test_classes_that_are_alike_are_one(low: int, high: int, retries: float) -> None:
    single = contention(alike(10, 3, low, high, retries), freezing=False)
    three = contention(*(alike(n, 3, low, high, retries) for n in (2, 3, 5)), freezing=False)
    formula = saturation.solve(
        10, Backoff(low, high, retries), slot=9e-6, success=300e-6 + 37e-6, collision=280e-6 + 37e-6
    )
    assert single.rate[0] == pytest.approx(float(formula.rate), rel=1e-10)
    assert single.collision_probability[0] == pytest.approx(
        float(formula.collision_probability), rel=1e-10
    )
    assert three.rate == pytest.approx([float(formula.rate)] * 3, rel=1e-10)
    with_freezing = contention(alike(10, 3, low, high, retries))
    assert contention(*(alike(n, 3, low, high, retries) for n in (2, 3, 5))).rate == pytest.approx(
        [with_freezing.rate[0]] * 3, rel=1e-10
    )


@pytest.mark.parametrize("freezing", [False, True])
def test_a_class_that_is_always_ready_before_the_others_leaves_them_nothing(freezing: bool) -> None:
    first = AccessClass(1, 2, 3, 7, 7, 100e-6, 100e-6)
    solution = contention(first, alike(5, 6), alike(3, 7), freezing=freezing)
    assert solution.rate[1:].tolist() == [0, 0]
    assert solution.success[0] == 1
    assert solution.idle_slots == pytest.approx(2 + 1.5)
    # With one slot less, a draw of three meets the others' only possible draw, zero. Where counters
    # stop in the used slot, one is never reached by counting. With two slots less it is.
    near = contention(first, alike(5, 4 if freezing else 5), freezing=freezing)
    assert 0 < near.collision_probability[0] < 0.5 < near.collision_probability[1]
    assert near.rate[0] > 20 * near.rate[1] > 0
    if freezing:
        assert contention(first, alike(5, 5)).rate[1] == pytest.approx(0, abs=1e-9)


def test_freezing_brings_the_cell_nearer_to_packets() -> None:
    # The download of this cell by an independent packet-level simulation, with TCP.
    simulated = np.array([13.67, 5.00, 2.48, 1.35])
    data, ack = (exchange(ERP_OFDM, size, 54e6, 6e6) for size in (1036, 76))
    success = data.success + saturation.priority_time(ERP_OFDM, ack, 2, 3)
    every = [
        contention(AccessClass(int(n), 6, 31, 1023, 11, success, data.collision))
        for n in CONTENDERS
    ]
    ours = 8e-3 * np.array([solution.rate[0] for solution in every])
    assert ours == pytest.approx(simulated, rel=0.03)
    assert (np.abs(ours - simulated) <= np.abs(8e-3 * cell(ERP_OFDM).rate - simulated) + 1e-9).all()


def test_who_is_alone_waits_for_its_own_draw() -> None:
    for freezing in (False, True):
        solution = contention(alike(1, 6, 31), freezing=freezing)
        assert solution.cycle == pytest.approx(10e-6 + (6 + 15.5) * 9e-6 + 300e-6)
        assert solution.rate[0] == pytest.approx(1 / solution.cycle)
        assert solution.collision == pytest.approx(0, abs=1e-15)


# Each class as stations, AIFSN, CWmin, CWmax; then the errors of the shares of busy periods, with
# freezing and without.
BESIDE = {
    "one class of large windows": ([(11, 6, 31, 1023)], 0.003, 0.01),
    "a few stations": ([(3, 6, 31, 1023)], 0.003, 0.01),
    "AIFSN alone, by two": ([(5, 2, 31, 1023), (5, 4, 31, 1023)], 0.003, 0.01),
    "AIFSN alone, by four": ([(10, 2, 31, 1023), (10, 6, 31, 1023)], 0.003, 0.01),
    "windows alone": ([(5, 2, 15, 1023), (5, 2, 31, 1023)], 0.004, 0.02),
    "video and best effort": ([(5, 2, 7, 15), (5, 3, 15, 1023)], 0.006, 0.03),
    "voice and best effort": ([(2, 2, 3, 7), (5, 3, 15, 1023)], 0.01, 0.03),
    "voice alone": ([(4, 2, 3, 7)], 0.025, 0.06),
    "all four": ([(2, 2, 3, 7), (2, 2, 7, 15), (3, 3, 15, 1023), (3, 7, 15, 1023)], 0.01, 0.08),
}


@pytest.mark.long
@pytest.mark.parametrize("name", BESIDE)
def test_classes_beside_a_count_slot_by_slot(name: str) -> None:
    given, with_freezing, without = BESIDE[name]
    every = [alike(*numbers) for numbers in given]
    counted = slots.count(every)
    assert max(*counted.success_error, counted.collision_error) < 0.0015
    for freezing, off in ((True, with_freezing), (False, without)):
        solution = contention(*every, freezing=freezing)
        noise = 4 * np.array([*counted.success_error, counted.collision_error])
        apart = np.abs(
            np.array([*solution.success, solution.collision])
            - [*counted.success, counted.collision]
        )
        assert (apart < off + noise).all()
        if freezing:
            assert solution.idle_slots == pytest.approx(counted.idle_slots, rel=0.015)


drawn_class = st.builds(
    lambda n, aifsn, low, more, m, success, lost: AccessClass(
        n, aifsn, low, low + more, m, success, lost,
    ),
    st.integers(1, 12), st.integers(1, 9), st.integers(3, 40), st.integers(0, 200),
    st.one_of(st.integers(0, 9), st.just(math.inf)), st.floats(1e-5, 1e-3), st.floats(1e-5, 1e-3),
)  # fmt: skip


@pytest.mark.long
@settings(max_examples=40, deadline=None)
@given(st.lists(drawn_class, min_size=1, max_size=3), st.booleans())
def test_the_laws_of_contention(every: list[AccessClass], freezing: bool) -> None:
    solution = contention(*every, freezing=freezing)
    assert solution.airtime.sum() == pytest.approx(1)
    assert solution.success.sum() + solution.collision == pytest.approx(1)
    assert (solution.airtime >= -1e-12).all()
    assert ((solution.retry_drop_rate >= 0) & (solution.retry_drop_rate <= 1 + 1e-12)).all()
    # The largest windows give the same.
    other = contention(*every, freezing=freezing, patient=True)
    np.testing.assert_allclose(other.success, solution.success, rtol=0, atol=1e-9)
    # The order does not matter.
    turned = contention(*reversed(every), freezing=freezing)
    np.testing.assert_allclose(turned.rate[::-1], solution.rate, rtol=1e-6, atol=1e-6)


def test_alike_classes_stay_alike_where_one_could_keep_the_medium() -> None:
    for freezing in (False, True):
        solution = contention(alike(1, 1, 0, 14, 5), alike(1, 1, 0, 14, 5), freezing=freezing)
        assert solution.rate[0] == pytest.approx(solution.rate[1], rel=1e-9)


def test_bad_classes_are_refused_on_one_line() -> None:
    for bad, code, field, value in (
        ({"stations": 0}, "out-of-range", "stations", 0),
        ({"aifsn": 0}, "out-of-range", "aifsn", 0),
        ({"aifsn": 2.5}, "out-of-range", "aifsn", 2.5),
        ({"high": 7}, "contradiction", "cw_max", 7),
        ({"low": -1}, "out-of-range", "cw_min", -1),
        ({"retries": -1}, "out-of-range", "retries", -1),
    ):
        with refused(code, field, value):
            alike(**({"stations": 2} | bad))
    with refused("out-of-range", "classes"):
        contention()
    with refused("out-of-range", "stations", 0.5):
        saturation.solve(0.5, DATA, slot=9e-6, success=1e-3, collision=1e-3)


def test_the_records_say_the_same() -> None:
    data, ack = (exchange(ERP_OFDM, size, 54e6, 6e6) for size in (1036, 76))
    times = saturation.with_aifs(ERP_OFDM, data, 6)
    priority = saturation.priority_time(ERP_OFDM, ack, 2, 3)
    dcf = models.model("dcf")
    says = dcf.answer(
        stations=CONTENDERS, rtt=0.2, cw_min=31, retries=11, priority=priority, **times
    )
    assert says["goodput"] == pytest.approx(cell(ERP_OFDM).rate)
    assert says["bdp"] == pytest.approx([341.9, 129.2, 64.6, 34.2], abs=0.05)
    assert says["idle"] + says["succeeding"] + says["colliding"] == pytest.approx(1)
    best_effort = {"stations": 4, "aifsn": 3, "cw_min": 15, "cw_max": 1023}
    every = best_effort | {f"other_{name}": value for name, value in best_effort.items()}
    both = models.model("edca").answer(rtt=0.1, freezing=0, **every)
    alone = dcf.answer(rtt=0.1, stations=8, success=dcf.input("success").default + 9e-6)
    assert both["goodput"] == pytest.approx(float(alone["goodput"]), rel=1e-9)
    assert both["other_bdp"] == pytest.approx(float(alone["bdp"]), rel=1e-9)


def test_how_many_stations_may_share_a_cell() -> None:
    solution = models.solve(models.model("dcf"), "stations", 50.0, output="bdp", rtt=0.2)
    assert len(solution.values) == 1
    says = models.model("dcf").answer(rtt=0.2, stations=solution.values[0])
    assert says["bdp"] == pytest.approx(50.0)


@pytest.mark.parametrize(
    ("given", "code", "field", "value"),
    [
        ({"cw_max": 7, "cw_min": 15}, "contradiction", "cw_max", 7),
        ({"other_cw_max": 3, "other_cw_min": 7}, "contradiction", "other_cw_max", 3),
        ({"aifsn": 2.5}, "out-of-range", "aifsn", 2.5),
        ({"retries": 2.5}, "out-of-range", "retries", 2.5),
    ],
)
def test_a_record_refuses_what_contradicts(
    given: dict[str, float], code: str, field: str, value: float
) -> None:
    base = {"stations": 2, "aifsn": 2, "cw_min": 7, "cw_max": 15, "rtt": 0.1}
    base |= {"other_stations": 3, "other_aifsn": 3, "other_cw_min": 15, "other_cw_max": 1023}
    with refused(code, field, value):
        models.model("edca").answer(**(base | given))


def test_stations_that_always_collide_are_refused() -> None:
    crowd = {"stations": 3.0, "other_stations": 2007.0, "aifsn": 3.0, "other_aifsn": 2.0}
    windows = {"cw_min": 31.0, "cw_max": 1023.0, "other_cw_min": 15.0, "other_cw_max": 1023.0}
    with refused("out-of-range", "stations", "no solution"):
        models.model("edca").answer(**crowd, **windows, retries=1e6, rtt=0.1)
