"""A study on real Linux: the gain of feedback that remains after thirty years of TCP.

The hops are those of the simulated testbed, in real time; the senders and receivers are the
kernel's. Every case runs on the same realisation of the link, replicate by replicate, and so does
the engine's simulation. The rates are low, so all runs of one psi go side by side, each between its
own hosts.
"""

from collections.abc import Callable, Mapping
from functools import partial
from math import nan
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ackclock import Result, metrics, plot, units
from ackclock.metrics import Interval, by_replicate, interval
from ackclock.reproduction import (
    Band,
    Basis,
    Claim,
    Experiment,
    Origin,
    Outcome,
    Run,
    Setting,
    Table,
)
from ackclock.reproduction import measured as measurement
from ackclock.reproduction.words import from_to
from ackclock.scenario import Scenario
from ackclock_papers.abr.loop import (
    BOTTLENECK,
    INSTCAP,
    NONE,
    SESSION,
    Feedback,
    Point,
    Sender,
    alone,
)
from ackclock_papers.abr.over_psi import BUFFER, EFFCAP, X_LABEL
from ackclock_papers.abr.paper import GROUP, PACKET_BYTES, ROUND_TRIP_S, settings
from ackclock_papers.emulated import ENGINE, LINUX, kernel, trust
from ackclock_papers.replicates import Rows, curve, measured

SOURCE = "ackclock, guide “Reproducing published results”, 2026"

_TIMER = {"rto_floor": "variance", "rto_minimum": "800 ms", "clock_granularity": "0 s"}
#: Linux adds four deviations, or a minimum, to the smoothed round-trip time. With a minimum of 0.8
#: s the timeout is the second that the testbed's TCP seems to have had. The kernel has no ticks of
#: half a second. It cannot be told to count ACKs one by one: an ACK that fills a hole covers many
#: packets, and opens the window by as many at once.
IMITATED = Sender("of 1998, imitated", _TIMER | {"byte_counting": "all"})
#: The same sender, but counting ACKs, as in 1998. Only the engine can do that.
OF_1998 = Sender("of 1998", _TIMER)
#: Timestamps take 12 of the 500 bytes.
_WITH_TIMESTAMPS = {"mss": "448 bytes", "header": "52 bytes"}
RENO = Sender("Reno, as Linux has it", _WITH_TIMESTAMPS, "linux")
CUBIC = Sender("CUBIC, as Linux has it", _WITH_TIMESTAMPS | {"control": {"kind": "cubic"}}, "linux")


class Case(NamedTuple):
    """A sender with a feedback."""

    sender: Sender
    feedback: Feedback


TODAY = (RENO, CUBIC)
SENDERS = (IMITATED, *TODAY)
FEEDBACKS = (NONE, INSTCAP, EFFCAP)
#: In the order of the sweep's points.
CASES = tuple(Case(sender, feedback) for sender in SENDERS for feedback in FEEDBACKS)
CASES_OF_1998 = tuple(Case(OF_1998, feedback) for feedback in FEEDBACKS)

#: Duration of each replicate, by psi: the longer the link stays at a rate, the more a run depends
#: on chance.
DURATIONS_S = {0.3: 60.0, 1.0: 60.0, 5.0: 60.0, 20.0: 180.0, 60.0: 300.0, 100.0: 300.0}
REPLICATES = 6
#: All runs of one psi together take about one processor.
SIDE_BY_SIDE = len(CASES) * REPLICATES
#: Long enough for a few timeouts, and short enough that a first look at all psi takes two minutes.
QUICK_S, QUICK_REPLICATES = 12.0, 2
#: The psi at which captures are measured. Losses are many there, so recovery other than by a
#: timeout would show.
CAPTURED = 5.0
#: Runs of one psi that may be unreliable; they are excluded from averages.
SPARE = SIDE_BY_SIDE // 10

#: Gain of feedback that the paper states, in percent.
WORTH = from_to("25", "30")
#: Efficiencies this close count as equal, as for the analysis and a simulation of its assumptions.
AGREE = 0.02

ENGINE_OF_1998 = "engine, of 1998"

Results = Mapping[str, Result]


def named(method: str, psi: float) -> str:
    """Returns the name of a run."""
    return f"{method}, psi {psi:g}"


def scenario(
    psi: float, duration_s: float, replicates: int = REPLICATES, cases: tuple[Case, ...] = CASES
) -> Scenario:
    """Returns a scenario with one point for each case, all on the same link."""
    with_host = alone(INSTCAP, BUFFER, IMITATED).scenario(
        [Point(psi * ROUND_TRIP_S, duration_s)], replicates
    )
    host, bottleneck = with_host.tree["flows"][0]["route"]
    # Without feedback no flow passes the host's server, so its algorithm does not matter.
    varied = (f"flows.{SESSION}.transport", f"flows.{SESSION}.route", f"hops.{host}.link.algorithm")
    swept = [
        [
            case.sender.tree,
            [host, bottleneck] if case.feedback.algorithm else [bottleneck],
            case.feedback.algorithm or INSTCAP.algorithm,
        ]
        for case in cases
    ]
    return with_host.replace(name=f"ABR on Linux, psi {psi:g}", sweep={",".join(varied): swept})


def runs() -> Mapping[str, Run]:
    """Returns the runs of each psi, simulated and emulated."""
    by_name = {}
    for psi, duration_s in DURATIONS_S.items():
        lengths = ((duration_s, REPLICATES), (QUICK_S, QUICK_REPLICATES))
        asked, quick = (scenario(psi, *length) for length in lengths)
        by_name[named(ENGINE, psi)] = Run(asked, quick=quick)
        own = (scenario(psi, *length, CASES_OF_1998) for length in lengths)
        by_name[named(ENGINE_OF_1998, psi)] = Run(next(own), quick=next(own))
        by_name[named(LINUX, psi)] = Run(
            asked, "emulate", measured=psi == CAPTURED, quick=quick, side_by_side=SIDE_BY_SIDE,
            spare=SPARE
        )  # fmt: skip
    return by_name


def efficiencies(result: Result, case: Case, cells: float | None = None) -> NDArray[np.float64]:
    """Returns each replicate's efficiency, headers included, over what the link could have sent.

    It is NaN for unreliable replicates, so that replicates of two cases stay paired by link.

    Args:
        result: Result of `scenario` with the cases of the sender.
        case: Case to look at.
        cells: Share of the link that cells leave; by default 48/53 with feedback.
    """
    point = (CASES_OF_1998 if case.sender is OF_1998 else CASES).index(case)
    got, could = (
        by_replicate(result, metrics.metric(name))[point, subject]
        for name, subject in (("goodput", SESSION), ("capacity", BOTTLENECK))
    )
    packets = PACKET_BYTES / units.data_bytes(case.sender.tree["mss"])
    share = case.feedback.cells if cells is None else cells
    efficiency = {
        replicate: rate * packets * share / could[replicate] for replicate, rate in got.items()
    }
    return np.array(
        [efficiency.get(replicate, nan) for replicate in range(result.run["replicates"])]
    )


def gain(
    result: Result, sender: Sender, feedback: Feedback, cells: float | None = None
) -> Interval:
    """Returns the gain of feedback over none, in percent, paired by replicate on the same link."""
    return interval(_gains(result, sender, feedback, cells))


def _gains(
    result: Result, sender: Sender, feedback: Feedback, cells: float | None = None
) -> NDArray[np.float64]:
    with_it, without = (
        efficiencies(result, Case(sender, chosen), cells) for chosen in (feedback, NONE)
    )
    return 100 * (with_it / without - 1)


def residual(results: Results, psi: float, case: Case) -> Interval:
    """Returns the efficiency on Linux minus the engine's, paired by replicate on the same link."""
    linux, engine = (efficiencies(results[named(method, psi)], case) for method in (LINUX, ENGINE))
    return interval(linux - engine)


def conclude(results: Results) -> Outcome:
    """Compares Linux with the engine."""
    psis = [psi for psi in DURATIONS_S if named(LINUX, psi) in results]
    claims = (_timeouts_alone(results), *_of_gains(results, max(psis)), _agreement(results, psis))
    tables = (
        _efficiency_table(results, psis),
        _gain_table(results, psis),
        _recovery_table(results),
        trust(results),
    )
    return Outcome(
        Basis(_TAKEN), (), partial(_draw, results, psis), claims, _settings(results, psis), tables
    )


_TAKEN = (
    "the testbed's TCP imitated by a kernel whose timer alone tells of losses; its timer guessed"
)
#: Reason why the imitated sender gains more.
_WHY = (
    "Linux counts all that an ACK covers; what it sends at once where one fills a hole overflows "
    "the buffer again, unless a host that follows the rate spreads it"
)


def _timeouts_alone(results: Results) -> Claim:
    imitated = [case for case in CASES if case.sender is IMITATED]
    counted = [_recoveries(results, case) for case in imitated]
    otherwise, timeouts = (
        sum(sum(counts[name]) for counts in counted) for name in (_OTHERWISE, _TIMEOUTS)
    )
    return Claim(
        "Every recovery of the imitated sender is a timeout: what its captures show besides",
        f"{otherwise:.0f} packets sent again otherwise, {timeouts:.0f} timeouts",
        otherwise == 0 and timeouts > 0,
        None,
        Origin.STATED,
        "none",
    )


def _of_gains(results: Results, psi: float) -> tuple[Claim, ...]:
    """Returns the claims about a link that changes slowly."""
    linux, engine = results[named(LINUX, psi)], results[named(ENGINE_OF_1998, psi)]
    then = efficiencies(engine, Case(OF_1998, NONE))
    claim = partial(Claim.of, documented=None)
    worth = (
        "Feedback is worth 25 to 30 % where the link changes slowly: INSTCAP's gain at psi = "
        f"{psi:g} with the sender"
    )
    return (
        claim(f"{worth} {OF_1998.label}, simulated", gain(engine, OF_1998, INSTCAP), WORTH, "%"),
        claim(f"{worth} {IMITATED.label}", gain(linux, IMITATED, INSTCAP), WORTH, "%", why=_WHY),
        *(
            claim(
                f"TCP alone has become better: {sender.label}, above the simulated sender of 1998, "
                f"at psi = {psi:g}",
                interval(100 * (efficiencies(linux, Case(sender, NONE)) / then - 1)), Band(0), "%",
                origin=Origin.STATED,
            )
            for sender in TODAY
        ),
        *(
            claim(
                f"Feedback gains less by it: INSTCAP's gain with {sender.label}, less that with "
                f"the simulated sender of 1998, at psi = {psi:g}",
                interval(_gains(linux, sender, INSTCAP) - _gains(engine, OF_1998, INSTCAP)),
                Band(most=0), "points", origin=Origin.STATED,
            )
            for sender in TODAY
        ),
    )  # fmt: skip


def _agreement(results: Results, psis: list[float]) -> Claim:
    """Compares Linux and the engine for the senders that both have.

    The imitated sender is left out: a kernel only approximates it.
    """
    residuals = {
        f"{case.sender.label}, {case.feedback.label}, at psi = {psi:g}": residual(
            results, psi, case
        )
        for psi in psis
        for case in CASES
        if case.sender in TODAY
    }
    farthest = max(residuals, key=lambda name: abs(residuals[name].mean))
    return Claim.of(
        "The engine has what Linux has on the same links, with the senders of today; farthest "
        "apart in efficiency: "
        + farthest,
        residuals[farthest], Band(-AGREE, AGREE), documented=None, origin=Origin.STATED,
    )  # fmt: skip


def _efficiency_table(results: Results, psis: list[float]) -> Table:
    rows: Rows = {}
    for case in CASES:
        for psi in psis:
            rows[case.sender.label, case.feedback.label, f"{psi:g}"] = {
                method: interval(efficiencies(results[named(method, psi)], case))
                for method in (LINUX, ENGINE)
            } | {"Linux less engine, same links": residual(results, psi, case)}
    for case in CASES_OF_1998:
        for psi in psis:
            values = efficiencies(results[named(ENGINE_OF_1998, psi)], case)
            rows[case.sender.label, case.feedback.label, f"{psi:g}"] = {ENGINE: interval(values)}
    return measured("Efficiency, with feedback 48/53 of it", ("sender", "feedback", "psi"), rows)


def _gain_table(results: Results, psis: list[float]) -> Table:
    rows: Rows = {}
    for sender in SENDERS:
        for psi in psis:
            row = rows.setdefault((sender.label, f"{psi:g}"), {})
            for feedback in (INSTCAP, EFFCAP):
                linux, engine = (results[named(method, psi)] for method in (LINUX, ENGINE))
                row[f"{feedback.label}, %"] = gain(linux, sender, feedback)
                row[f"{feedback.label}, without cells, %"] = gain(linux, sender, feedback, 1)
                row[f"{feedback.label}, engine, %"] = gain(engine, sender, feedback)
    for psi in psis:
        engine = results[named(ENGINE_OF_1998, psi)]
        rows[OF_1998.label, f"{psi:g}"] = {
            f"{feedback.label}, engine, %": gain(engine, OF_1998, feedback)
            for feedback in (INSTCAP, EFFCAP)
        }
    return measured("What feedback gains over none, on the same links", ("sender", "psi"), rows)


_TIMEOUTS, _FAST, _OTHERWISE = "timeouts", "fast recoveries", "sent again other than by the timer"

_COUNTED: Mapping[str, Callable[[Mapping[str, float]], float]] = {
    _TIMEOUTS: lambda row: row["retransmissions_timeout"],
    _FAST: lambda row: row["fast_recoveries"],
    _OTHERWISE: lambda row: row["retransmissions_fast"] + row["retransmissions_tail_probe"],
}


def _recoveries(results: Results, case: Case) -> dict[str, list[float]]:
    """Returns how each run repaired losses, from captures at the senders."""
    connections = results[measurement(named(LINUX, CAPTURED))].tables["connections"].to_pylist()
    own = [
        row for row in connections if row["point"] == CASES.index(case) and row["flow"] == SESSION
    ]
    return {name: [count(row) for row in own] for name, count in _COUNTED.items()}


def _recovery_table(results: Results) -> Table:
    rows: Rows = {
        (case.sender.label, case.feedback.label): {
            name: interval(counts) for name, counts in _recoveries(results, case).items()
        }
        for case in CASES
    }
    return measured(
        f"How losses are repaired at psi = {CAPTURED:g}, by captures, a run",
        ("sender", "feedback"),
        rows,
    )


def _settings(results: Results, psis: list[float]) -> tuple[Setting, ...]:
    lengths = ", ".join(
        f"{results[named(LINUX, psi)].points[0]['scenario']['duration']} at {psi:g}" for psi in psis
    )
    replicates = results[named(LINUX, psis[0])].run["replicates"]
    imitated = (
        "Reno without SACK, RACK, tail-loss probes and F-RTO, to whose socket no duplicate ACK "
        "comes; an ACK for each packet; a timeout of 0.8 s and a round trip at least"
    )
    of_the_paper = [setting for setting in settings() if setting.name not in _OWN]
    own = (
        Setting("senders and receivers", kernel(results[named(LINUX, psis[0])]), Origin.CHOSEN),
        Setting("sender of 1998", imitated, Origin.GUESSED),
        Setting("senders of today", "the kernel's own settings, but for the window", Origin.CHOSEN),
        Setting(
            "packets",
            "500 bytes, 40 of them header, with timestamps 52; headers count",
            Origin.PRINTED,
        ),
        Setting("loop", "Δ 200 ms or 40 packets, a buffer of 10", Origin.PRINTED),
        Setting(
            "runs",
            f"{replicates} replicates of {lengths}, the first 5 % not measured; "
            f"{len(CASES) * replicates} side by side",
            Origin.CHOSEN,
        ),
    )
    return (*own, *of_the_paper)


#: Settings of the other figures that differ here.
_OWN = ("packets", "headers", "sender", "timer")


def _draw(results: Results, psis: list[float]) -> Figure:
    curves = [plot.Curve("none", [psis[0], psis[-1]], [0, 0], "reference")]
    for feedback in (INSTCAP, EFFCAP):
        simulated = [gain(results[named(ENGINE_OF_1998, psi)], OF_1998, feedback) for psi in psis]
        curves.append(curve(f"{feedback.label}, {OF_1998.label}, simulated", psis, simulated))
        for sender in TODAY:
            gains = [gain(results[named(LINUX, psi)], sender, feedback) for psi in psis]
            curves.append(curve(f"{feedback.label}, {sender.label}", psis, gains))
    title = "What feedback gains, then and on Linux today, cells taken off"
    return plot.curves(curves, X_LABEL, "gain over TCP alone (%)", title, log_x=True)


EXPERIMENT = Experiment(
    f"{GROUP}-on-linux",
    GROUP,
    SOURCE,
    "ABR on Linux",
    "How much of the gain from rate feedback is left with today's TCP?",
    "If the sender detects losses by timeout alone, feedback gains a quarter where the link "
    "changes slowly; a sender that repairs losses at once has less to gain.",
    sum(DURATIONS_S.values()) + 30.0 * len(DURATIONS_S),
    conclude,
    runs,
)
