"""CUBIC beside Prague through PIE over round-trip times: delay, rates, drops and marks.

The source is the repetition, by the makers of Prague, of tests that others had made. Beside each
plot it publishes the data file, whose summary prints means, and the log with the counters of the
queue. CUBIC starts first and is joined by Prague after 10 s. A ping every 0.2 s runs from 5 s
before to 5 s after the flows; its mean is over all that time.

That Prague reacts to a loss as Reno does. It tries to find out if marks come from a queue that
expects Reno's reaction to them, and the report says that it does so with PIE. So Reno stands for
Prague where the queue marks. In that kernel, 5.4, PIE estimates the delay by the departure rate.

The bands were chosen before the runs: there is one run of each kind on Linux, which must lie where
a further run of ours would, or within what "about" allows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import sqrt
from statistics import stdev

from matplotlib.figure import Figure

from ackclock import Result, plot
from ackclock.metrics import Interval, interval
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
    words,
)
from ackclock.scenario import Scenario
from ackclock_papers.replicates import curve, of_replicates, quotient
from ackclock_papers.scenarios import (
    AMPLE_PACKETS,
    Tree,
    constant,
    hop,
    packets,
    replicates_run,
)
from ackclock_papers.scenarios import scenario as scenario_of

SOURCE = (
    "O. Tilmans, repetition of P. Heist, J. Morton, “SCE-L4S ECT(1) Test Results”, "
    "l4steam.github.io/ect1-tests, April 2020"
)

MBIT_PER_S = 50.0
#: An Ethernet frame, and what it carries with timestamps.
FRAME_BYTES, PAYLOAD_BYTES = 1514, 1448
#: Start of CUBIC and of Prague, and how long the ping goes on without flows, in seconds.
FIRST_S, SECOND_S, AFTER_S = 5.0, 15.0, 5.0
PING_S = 0.2
REPLICATES = 20
#: 97.5 % quantile of Student's distribution with 19 degrees of freedom.
STUDENT = 2.093

LINK, FIRST, SECOND = "pie", "cubic", "prague"
TCP: Tree = {
    "kind": "tcp", "preset": "linux", "mss": f"{PAYLOAD_BYTES} bytes",
    "header": f"{FRAME_BYTES - PAYLOAD_BYTES} bytes", "receive_window": "unlimited",
    "segmentation_offload": False, "ecn": True, "ecn_feedback": "accurate",
}  # fmt: skip
CUBIC: Tree = TCP | {"control": {"kind": "cubic"}}
RENO: Tree = TCP | {"control": {"kind": "reno"}}
PRAGUE: Tree = TCP | {
    "preset": "l4s",
    "control": {
        "kind": "prague", "initial_alpha": 1.0, "target_rtt": "0 s",
        "rate_mode_below": "0 segments",
    },
}  # fmt: skip


@dataclass(frozen=True)
class Printed:
    """Numbers that a run on Linux printed: means of the data file, counters of the log."""

    ping_ms: str
    first: str
    second: str
    drops: int
    marks: int


@dataclass(frozen=True)
class Kind:
    """A setting of PIE, the flow beside CUBIC, and the runs on Linux by round-trip time in ms."""

    queue: Tree
    beside: Tree
    target_ms: float
    runs: Mapping[int, Printed]


DROPS, MARKS, LATER = "drops", "marks", "marks, target 20 ms"
KINDS: Mapping[str, Kind] = {
    DROPS: Kind({}, PRAGUE, 15, {
        20: Printed("32.439", "30.19", "23.32", 46, 0),
        80: Printed("88.495", "33.11", "15.44", 204, 0),
        160: Printed("165.301", "30.67", "10.29", 436, 0),
    }),
    MARKS: Kind({"ecn": True}, RENO, 15, {
        20: Printed("32.515", "27.27", "27.22", 26, 102),
        80: Printed("90.082", "29.42", "20.75", 0, 65),
        160: Printed("166.397", "28.32", "15.56", 262, 146),
    }),
    LATER: Kind({"ecn": True, "target": "20 ms", "update_interval": "32 ms"}, RENO, 20, {
        20: Printed("37.364", "25.86", "29.03", 0, 83),
        80: Printed("92.768", "24.18", "22.6", 1, 68),
        160: Printed("171.515", "32.41", "13.88", 0, 116),
    }),
}  # fmt: skip
#: What is not met, and why.
STAND_IN = (
    "Prague reacts less than Reno until it has found that the queue is not an L4S one: on Linux it "
    "got more than Reno gets here, or the queue was longer"
)
PING, OF_CUBIC, OF_PRAGUE = "mean ping, ms", "CUBIC, Mbit/s", "Prague, Mbit/s"
EXCEPTED = {
    **dict.fromkeys(
        [
            (MARKS, 20, OF_CUBIC), (MARKS, 20, OF_PRAGUE), (MARKS, 80, PING), (MARKS, 160, PING),
            (MARKS, 160, OF_PRAGUE), (LATER, 20, OF_CUBIC), (LATER, 20, OF_PRAGUE),
            (LATER, 160, PING),
        ],
        STAND_IN,
    ),
}  # fmt: skip
#: Time for which CUBIC sends, in seconds, by round-trip time in ms.
SENDS_S = {20: 40.0, 80: 60.0, 160: 180.0}


def _name(kind: str, round_trip_ms: int) -> str:
    return f"PIE that {kind}, {round_trip_ms} ms"


def scenario(kind: str, round_trip_ms: int) -> Scenario:
    """Returns two flows through PIE, with time before and after as the ping had."""
    ends_s = FIRST_S + SENDS_S[round_trip_ms]
    queue = {
        "kind": "pie", "delay_measure": "departure_rate", "derandomise": True,
        **KINDS[kind].queue,
    }  # fmt: skip
    flows = [
        {
            "name": name, "route": [LINK], "return": ["back"],
            "start": [f"{start_s:g} s", f"{start_s + PING_S:g} s"], "stop": f"{ends_s:g} s",
            "transport": transport,
        }
        for name, start_s, transport in (
            (FIRST, FIRST_S, CUBIC), (SECOND, SECOND_S, KINDS[kind].beside)
        )
    ]  # fmt: skip
    one_way_s = round_trip_ms / 2000
    hops = [
        hop(LINK, constant(MBIT_PER_S), packets(1), one_way_s, queue=queue),
        hop("back", constant(MBIT_PER_S), packets(AMPLE_PACKETS), one_way_s),
    ]
    return scenario_of(
        _name(kind, round_trip_ms), hops, flows, duration_s=ends_s + AFTER_S, warmup_s=0.0,
        sample_interval_s=PING_S, replicates=REPLICATES,
    )  # fmt: skip


def runs() -> Mapping[str, Run]:
    """Returns a run for each kind and round-trip time."""
    return {
        _name(kind, time): Run(scenario(kind, time)) for kind in KINDS for time in KINDS[kind].runs
    }


def conclude(results: Mapping[str, Result]) -> Outcome:
    """Compares each run on Linux with our replicates of it."""
    basis = Basis(
        "Reno stands for Prague where PIE marks; the sharing of a processor by hosts and queue is "
        "left out; starts within a fifth of a second are guessed"
    )
    delays = {
        (kind, time): _pings(results[_name(kind, time)], time)
        for kind in KINDS
        for time in KINDS[kind].runs
    }
    return Outcome(
        basis,
        tuple(_beside(results, kind) for kind in KINDS),
        partial(_draw, delays),
        _claims(delays),
        _settings(results),
    )


def _pings(result: Result, round_trip_ms: int) -> list[float]:
    """Returns what the ping would have meant, in ms, by replicate."""
    return [round_trip_ms + delay_ms for delay_ms in of_replicates(result, "queueing_delay", LINK)]


def _counts(result: Result, *columns: str) -> list[float]:
    """Returns the sum of some counts of the queue at the end, by replicate."""
    rows = result.tables["hops"].select(["replicate", "hop", *columns]).to_pylist()
    last = {row["replicate"]: row for row in rows if row["hop"] == LINK}
    return [float(sum(row[name] for name in columns)) for row in last.values()]


def _within(ours: Sequence[float], theirs: float) -> float:
    """Returns the largest difference that counts as agreement.

    The half width of the 95 % prediction interval of one further run, or what "about" allows of the
    number.
    """
    return max(STUDENT * stdev(ours) * sqrt(1 + 1 / len(ours)), words.ABOUT * theirs)


def _beside(results: Mapping[str, Result], kind: str) -> Comparison:
    cells = []
    for time, printed in KINDS[kind].runs.items():
        result = results[_name(kind, time)]
        pings = _pings(result, time)
        numbers = [
            (PING, printed.ping_ms, pings, float(printed.ping_ms) - time),
            *(
                (label, text, of_replicates(result, "goodput", flow), float(text))
                for label, flow, text in (
                    (OF_CUBIC, FIRST, printed.first), (OF_PRAGUE, SECOND, printed.second)
                )
            ),
            ("drops", str(printed.drops), _counts(result, "drops_queue", "drops_aqm"),
             float(printed.drops)),
        ]  # fmt: skip
        if printed.marks:
            numbers.append(
                ("marks", str(printed.marks), _counts(result, "marks"), float(printed.marks))
            )
        cells += [
            Cell.simulated(
                (f"{time}",), quantity, text, interval(ours), _within(ours, scale),
                EXCEPTED.get((kind, time, quantity), ""),
            )
            for quantity, text, ours, scale in numbers
        ]  # fmt: skip
    target = f"{KINDS[kind].target_ms:g} ms"
    return Comparison(
        f"CUBIC beside Prague through PIE that {kind.partition(',')[0]}, target {target}",
        Origin.PRINTED, ("round trip, ms",), tuple(cells),
        "within the 95 % range of a further run by the spread of ours, or within 10 %; of the ping "
        "10 % of the queueing delay in it",
    )  # fmt: skip


def _claims(delays: Mapping[tuple[str, int], list[float]]) -> tuple[Claim, ...]:
    """Says of each kind how the queueing delay falls with the round trip, on Linux and here."""
    claims = []
    for kind, setting in KINDS.items():
        short, long = min(setting.runs), max(setting.runs)
        theirs = [float(setting.runs[time].ping_ms) - time for time in (short, long)]
        ours = quotient(
            [ping_ms - long for ping_ms in delays[kind, long]],
            [ping_ms - short for ping_ms in delays[kind, short]],
        )
        claims.append(
            Claim.of(
                f"PIE that {kind}: less queueing delay at {long} ms than at {short} ms, on Linux "
                f"{theirs[1] / theirs[0]:.2f} times as much",
                ours, Band(most=1.0), "times", than=1.0, origin=Origin.INFERRED,
            )
        )  # fmt: skip
    return tuple(claims)


def _settings(results: Mapping[str, Result]) -> tuple[Setting, ...]:
    return (
        Setting("link", f"{MBIT_PER_S:g} Mbit/s", Origin.PRINTED),
        Setting("round trips", "20, 80 and 160 ms", Origin.PRINTED),
        Setting("CUBIC sends for", "40, 60 and 180 s", Origin.PRINTED),
        Setting("Prague begins after", "10 s", Origin.PRINTED),
        Setting("PIE", "limit 1000 packets, update every 15 or 32 ms", Origin.PRINTED),
        Setting("segments", f"{PAYLOAD_BYTES} bytes", Origin.PRINTED),
        Setting("segmentation offload", "off", Origin.PRINTED),
        Setting("ECN", "accurate feedback for all (tcp_ecn = 3)", Origin.PRINTED),
        Setting("delay in PIE", "by the departure rate, as in Linux 5.4", Origin.INFERRED),
        Setting("frames", f"{FRAME_BYTES} bytes", Origin.INFERRED),
        Setting("Prague that loses", "version 0.5: halves, no other round trip", Origin.INFERRED),
        Setting("Prague that is marked", "Reno", Origin.GUESSED),
        Setting("ACKs", "meet no queue that drops", Origin.GUESSED),
        Setting("replicates", replicates_run(results), Origin.GUESSED),
    )


def _draw(delays: Mapping[tuple[str, int], list[float]]) -> Figure:
    drawn = []
    for kind, setting in KINDS.items():
        times = sorted(setting.runs)
        ours: list[Interval] = [
            interval([ping_ms - time for ping_ms in delays[kind, time]]) for time in times
        ]
        drawn.append(curve(f"ours, {kind}", times, ours))
        theirs = [float(setting.runs[time].ping_ms) - time for time in times]
        drawn.append(plot.Curve(f"Linux, {kind}", times, theirs, "points"))
    return plot.curves(
        drawn,
        "round-trip time of both flows (ms)",
        "mean queueing delay (ms)",
        "CUBIC beside Prague through PIE, 50 Mbit/s",
        log_x=True,
    )


EXPERIMENT = Experiment(
    name="pie-round-trips",
    group="pie",
    source=SOURCE,
    shows="scenario 2, PIE",
    question="What delay does PIE hold with two flows, over round-trip times?",
    says="Less than its target of 15 ms, and the less the longer the round trip: 12, 8 and 5 ms at "
    "20, 80 and 160 ms.",
    cost_s=150.0,
    conclude=conclude,
    runs=runs,
)
