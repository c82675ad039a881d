"""CUBIC and Prague through DualPI2 over round-trip times: who gets how much of 50 Mbit/s.

The source is a report of measurements on Linux. It prints a table of rates, one row for each run,
with the tests and the revision of the kernel. In that revision (August 2020) Prague is version 0.5:
no independence of the round-trip time, and α begins at 1.

Two Prague flows at 10 and 160 ms share 29:1 on Linux and 48:1 here. Turning off one rule at a time
says why it is not 16:1, and not why it is not 29:1 (means of six runs of 90 s):

* A random mark for each packet in place of the step (`pi2`) gives the ratio of the round trips.
* A ramp of 2 ms in place of the step gives 24:1. So the sharpness of the step is what counts: see
  `_two_laws`. A queue on Linux, which is noisier, blurs the step.
* α from 0, a gain of 1/4, an ACK per packet, segmentation offload, and jitter of 0.1 to 1 ms at
  the sender, of 0.3 ms on either way, leave 47:1 to 52:1. Without pacing it is 98:1. With the
  independence of version 0.7 it is 15:1.
"""

from collections.abc import Mapping
from functools import partial
from itertools import product
from math import sqrt
from statistics import mean

from matplotlib.figure import Figure

from ackclock import Result, plot
from ackclock.metrics import Interval, interval
from ackclock.models import dualpi2_shares
from ackclock.reproduction import (
    Band,
    Basis,
    Cell,
    Claim,
    Comparison,
    Experiment,
    Origin,
    Outcome,
    Run,
    Setting,
    Table,
    words,
)
from ackclock.scenario import Scenario
from ackclock_papers.replicates import Rows, curve, measured, of_replicates, quotient
from ackclock_papers.scenarios import (
    AMPLE_PACKETS,
    Tree,
    constant,
    hop,
    packets,
    replicates_run,
    seconds_run,
)
from ackclock_papers.scenarios import scenario as scenario_of

SOURCE = (
    "P. Heist, J. Morton, “Tests of L4S”, github.com/heistp/l4s-tests, 2020, last revised in 2021"
)

MBIT_PER_S = 50.0
#: Equal round-trip times of both flows, in ms.
EQUAL = (10, 20, 80)
#: Different ones: of the longer and of the shorter flow.
APART = ((20, 10), (80, 20), (160, 10))
FARTHEST = APART[-1]
#: An Ethernet frame, and what it carries with timestamps: 14 bytes of Ethernet, 20 of IP, 32 of
#: TCP.
FRAME_BYTES, PAYLOAD_BYTES = 1514, 1448
#: Threshold of the low-latency queue, in ms.
STEP_MS = 1
DURATION_S, WARMUP_S, REPLICATES = 180.0, 120.0, 20

FIRST, SECOND = "first", "second"
CUBIC, PRAGUE = "cubic", "prague"
CONTROLS: Mapping[str, Tree] = {
    CUBIC: {"preset": "linux", "ecn": True, "ecn_feedback": "accurate", "control": {"kind": CUBIC}},
    PRAGUE: {
        "preset": "l4s",
        "control": {
            "kind": PRAGUE, "initial_alpha": 1.0, "target_rtt": "0 s",
            "rate_mode_below": "0 segments",
        },
    },
}  # fmt: skip

#: Printed: Mbit/s of CUBIC and of Prague in both runs with equal round-trip times.
PRINTED = {
    10: (("12.65", "34.57"), ("13.04", "34.09")),
    20: (("14.94", "32.39"), ("15.51", "31.85")),
    80: (("17.85", "29.58"), ("17.48", "29.92")),
}
#: Printed: Mbit/s of the longer flow, which the report names first, and of the shorter one.
PRINTED_APART = {
    (20, 10): {"cubic prague": (9.21, 37.86), "prague cubic": (28.40, 18.84),
               "prague prague": (15.84, 30.77), "cubic cubic": (20.61, 26.76)},
    (80, 20): {"cubic prague": (6.43, 40.69), "prague cubic": (22.43, 24.89),
               "prague prague": (5.80, 41.48), "cubic cubic": (14.75, 32.73)},
    (160, 10): {"cubic prague": (4.87, 41.67), "prague cubic": (10.13, 37.28),
                "prague prague": (1.56, 45.46), "cubic cubic": (10.74, 36.50)},
}  # fmt: skip

#: The round-trip time at which our mean misses both runs.
OUTLIER_MS = 80
FEW_RUNS = (
    "at 80 ms single runs of ours differ by more than these two do, which are among ours, so that "
    "their spread is too small a measure"
)
#: 97.5 % quantile of Student's distribution with three degrees of freedom: one for each pair.
STUDENT = 3.182
PAIRS = tuple(" ".join(pair) for pair in product((CUBIC, PRAGUE), repeat=2))


def spread() -> float:
    """Returns the largest difference, in Mbit/s, that the spread of the printed runs explains.

    The difference of two runs of one point has twice the variance of a run. The result is the half
    width of the 95 % prediction interval of one further run around the mean of two.
    """
    squares = [
        (float(rate) - float(other)) ** 2 / 2
        for first, second in PRINTED.values()
        for rate, other in zip(first, second, strict=True)
    ]
    return STUDENT * sqrt(mean(squares) * (1 + 1 / 2))


def _name(pair: str, long_ms: int, short_ms: int) -> str:
    first, second = pair.split()
    return f"{first} {long_ms} ms, {second} {short_ms} ms"


def scenario(name: str, pair: str, long_ms: int, short_ms: int) -> Scenario:
    """Returns two flows through DualPI2. The first has the longer round-trip time."""
    access = (long_ms - short_ms, 0)
    flows = [
        {
            "name": flow, "route": ["bottleneck"], "return": ["back"], "start": ["0 s", "1 s"],
            "access_delay": f"{more_ms} ms",
            "transport": {
                "kind": "tcp", "mss": f"{PAYLOAD_BYTES} bytes",
                "header": f"{FRAME_BYTES - PAYLOAD_BYTES} bytes",
                "receive_window": "unlimited", "segmentation_offload": False, **CONTROLS[control],
            },
        }
        for flow, control, more_ms in zip((FIRST, SECOND), pair.split(), access, strict=True)
    ]  # fmt: skip
    one_way_s = short_ms / 2000
    queue = {"kind": "dualpi2", "arithmetic": "linux"}
    hops = [
        hop("bottleneck", constant(MBIT_PER_S), packets(1), one_way_s, queue=queue),
        hop("back", constant(MBIT_PER_S), packets(AMPLE_PACKETS), one_way_s),
    ]
    return scenario_of(
        name, hops, flows, duration_s=DURATION_S, warmup_s=WARMUP_S, sample_interval_s=1.0,
        replicates=REPLICATES,
    )  # fmt: skip


def runs() -> Mapping[str, Run]:
    """Returns the runs: CUBIC beside Prague at equal round-trip times, all pairs at others."""
    points = [(f"{CUBIC} {PRAGUE}", time, time) for time in EQUAL]
    points += [(pair, *times) for times in APART for pair in PAIRS]
    return {_name(*point): Run(scenario(_name(*point), *point)) for point in points}


def conclude(results: Mapping[str, Result]) -> Outcome:
    """Compares the rates of both flows in the last minute."""
    rates = {
        name: tuple(of_replicates(result, "goodput", flow) for flow in (FIRST, SECOND))
        for name, result in results.items()
    }
    equal = {time: rates[_name(f"{CUBIC} {PRAGUE}", time, time)] for time in EQUAL}
    ratios = {time: quotient(prague, cubic) for time, (cubic, prague) in equal.items()}
    apart = {
        (times, pair): quotient(*reversed(rates[_name(pair, *times)]))
        for times in APART
        for pair in PAIRS
    }
    basis = Basis(
        "Prague as in the kernel's revision that the report names; DualPI2 with the defaults of a "
        "later one; starts within a second and ACKs without drops are guessed"
    )
    return Outcome(
        basis, (_rates(equal),), partial(_draw, ratios),
        (*_claims(ratios, apart), *_single_runs(equal)),
        _settings(results), (_model(ratios), _apart(apart), _two_laws(apart)),
    )  # fmt: skip


def _rates(equal: dict[int, tuple[list[float], ...]]) -> Comparison:
    within = spread()
    cells = tuple(
        Cell.simulated(
            (f"{time}", f"{number}"),
            f"{control}, Mbit/s",
            text,
            interval(ours),
            within,
            FEW_RUNS if time == OUTLIER_MS else "",
        )
        for time, printed in PRINTED.items()
        for number, both in enumerate(printed, 1)
        for control, text, ours in zip(("CUBIC", "Prague"), both, equal[time], strict=True)
    )
    return Comparison(
        "CUBIC beside Prague, last minute of three", Origin.PRINTED,
        ("round trip, ms", "run"), cells,
        f"within {within:.2f} Mbit/s, the 95 % range of a further run by the spread of these",
    )  # fmt: skip


def _claims(
    ratios: dict[int, Interval], apart: dict[tuple[tuple[int, int], str], Interval]
) -> tuple[Claim, ...]:
    farthest = {pair: apart[FARTHEST, pair] for pair in PAIRS}
    return (
        *(
            Claim.of(
                f"Prague has an advantage over CUBIC at the same round trip: {time} ms",
                ratio, Band(1.0), "times", than=1.0,
            )
            for time, ratio in ratios.items()
        ),
        Claim.of("At 20 ms Prague gets more than 2:1", ratios[20], Band(2.0), "times", than=2.0),
        *(
            Claim.of(
                f"{FARTHEST[1]} ms beside {FARTHEST[0]} ms: the shorter flow has a big advantage: "
                f"{_pair(pair)}",
                ratio, words.MUCH_MORE, "times", than=1.0,
            )
            for pair, ratio in farthest.items()
        ),
        Claim.of(
            "The ratio of two Prague flows exceeds 16:1, that of their round trips",
            farthest[f"{PRAGUE} {PRAGUE}"], Band(16.0), "times", than=16.0,
        ),
    )  # fmt: skip


def _single_runs(equal: dict[int, tuple[list[float], ...]]) -> tuple[Claim, ...]:
    """Says for each round-trip time if both printed runs lie among our replicates."""
    claims = []
    for time, (cubic, prague) in equal.items():
        ours = sorted(rate / other for rate, other in zip(prague, cubic, strict=True))
        theirs = _printed_ratios(time)
        claims.append(
            Claim(
                f"Both runs on Linux are among ours, by the ratio of rates: {time} ms",
                f"{theirs[0]:.2f} and {theirs[1]:.2f}; ours from {ours[0]:.2f} to {ours[-1]:.2f}",
                ours[0] <= min(theirs) and max(theirs) <= ours[-1],
                origin=Origin.INFERRED,
                accepted="between the least and the largest of our replicates",
            )
        )
    return tuple(claims)


def _pair(pair: str) -> str:
    first, second = (
        control.replace(CUBIC, "CUBIC").replace(PRAGUE, "Prague") for control in pair.split()
    )
    return f"{second} beside {first}"


def _printed_ratios(time: int) -> list[float]:
    return [float(prague) / float(cubic) for cubic, prague in PRINTED[time]]


def _model(ratios: dict[int, Interval]) -> Table:
    rows = []
    for time, ratio in ratios.items():
        answer = dualpi2_shares.MODEL.answer(
            rate=MBIT_PER_S * 1e6 / (8 * FRAME_BYTES), rtt=time / 1000
        )
        printed = " and ".join(f"{theirs:.2f}" for theirs in _printed_ratios(time))
        ours = f"{ratio.mean:.2f} ± {ratio.half_width:.2f}"
        rows.append((f"{time}", printed, ours, f"{float(answer['rate_ratio']):.2f}"))
    return Table(
        "Prague's rate over CUBIC's, from the printed rates and from ours. The model has Reno in "
        "CUBIC's place",
        ("round trip, ms", "both runs on Linux", "ours", "model dualpi2_shares"),
        tuple(rows),
    )


def _two_laws(apart: dict[tuple[tuple[int, int], str], Interval]) -> Table:
    """Sets the ratio of two Prague flows between the laws of random marks and of a step.

    With random marks of share p, a window is 2/p (RFC 9332 section 2.1), whatever its round trip. A
    step is crossed by the saw-tooth of the faster flow, whose own window then is 2/p² (Alizadeh et
    al. 2010, equation 6, for small α). The slower flow sees the mean of many saw-teeth: 2/p.
    """
    longer_s, shorter_s = ((time_ms + STEP_MS) / 1000 for time_ms in FARTHEST)
    fast = PRINTED_APART[FARTHEST][f"{PRAGUE} {PRAGUE}"][1]
    window = fast * 1e6 / 8 / FRAME_BYTES * shorter_s
    share = sqrt(2 / window)
    random = longer_s / shorter_s
    ratio = apart[FARTHEST, f"{PRAGUE} {PRAGUE}"]
    longer, shorter = PRINTED_APART[FARTHEST][f"{PRAGUE} {PRAGUE}"]
    return Table(
        "Two Prague flows at 10 and 160 ms: rate of the shorter over the other's",
        ("marks", "ratio"),
        (
            ("at random, by the law", f"{random:.1f}"),
            ("on Linux", f"{shorter / longer:.1f}"),
            ("ours", f"{ratio.mean:.1f} ± {ratio.half_width:.1f}"),
            ("by a sharp step, by the law", f"{random / share:.1f}"),
        ),
    )


def _apart(apart: dict[tuple[tuple[int, int], str], Interval]) -> Table:
    rows: Rows = {}
    for times in APART:
        for pair in PAIRS:
            longer, shorter = PRINTED_APART[times][pair]
            rows[f"{times[1]} and {times[0]}", _pair(pair)] = {
                "on Linux": Interval(shorter / longer, float("nan"), 1),
                "ours": apart[times, pair],
            }
    return measured(
        "Rate of the flow with the shorter round trip over the other's",
        ("round trips, ms", "shorter beside longer"),
        rows,
    )


def _settings(results: Mapping[str, Result]) -> tuple[Setting, ...]:
    return (
        Setting("link", f"{MBIT_PER_S:g} Mbit/s", Origin.PRINTED),
        Setting("round trips", "10 to 160 ms", Origin.PRINTED),
        Setting("run", f"{seconds_run(results, 'duration')} s", Origin.PRINTED),
        Setting("left out at the start", f"{seconds_run(results, 'warmup')} s", Origin.PRINTED),
        Setting("ECN", "accurate feedback for all (tcp_ecn = 3)", Origin.PRINTED),
        Setting("segmentation offload", "off", Origin.PRINTED),
        Setting("Prague", "version 0.5: target_rtt 0, initial_alpha 1", Origin.INFERRED),
        Setting("DualPI2", "defaults of Linux 6.18", Origin.INFERRED),
        Setting("frames", f"{FRAME_BYTES} bytes with {PAYLOAD_BYTES} of data", Origin.INFERRED),
        Setting("ACKs", "meet no queue that drops", Origin.GUESSED),
        Setting("replicates", replicates_run(results), Origin.GUESSED),
    )


def _draw(ratios: dict[int, Interval]) -> Figure:
    drawn = [
        curve("ours", EQUAL, list(ratios.values())),
        *(
            plot.Curve(
                f"Linux, run {number + 1}", EQUAL,
                [_printed_ratios(time)[number] for time in EQUAL], "points",
            )
            for number in range(2)
        ),
        plot.Curve("equal rates", EQUAL, [1.0] * len(EQUAL), "reference"),
    ]  # fmt: skip
    return plot.curves(
        drawn,
        "round-trip time of both flows (ms)",
        "Prague's rate (times CUBIC's)",
        "CUBIC beside Prague through DualPI2, 50 Mbit/s",
        log_x=True,
    )


EXPERIMENT = Experiment(
    name="l4s-round-trips",
    group="l4s",
    source=SOURCE,
    shows="fairness table of scenario 1",
    question="How do CUBIC and Prague share a link through DualPI2, over round-trip times?",
    says="Prague gets more at equal round-trip times, 2.7 to 1.7 times from 10 to 80 ms. Otherwise "
    "the flow with the shorter one does.",
    cost_s=100.0,
    conclude=conclude,
    runs=runs,
)
