"""Figure 21: the convergence time of five senders that join five ABSE senders."""

from collections.abc import Mapping
from functools import partial
from math import ceil, log2

import numpy as np
from matplotlib.figure import Figure

from ackclock import Result, plot
from ackclock.metrics import CONVERGED_SHARE, CONVERGENCE_INTERVAL_S, Interval, interval
from ackclock.reproduction import Band, Claim, Origin, Outcome, Run, words
from ackclock.scenario import Scenario
from ackclock_papers.replicates import measured, of_replicates
from ackclock_papers.westwood import over_time
from ackclock_papers.westwood.over_parameter import JITTER, JITTER_S
from ackclock_papers.westwood.paper import basis, entry
from ackclock_papers.westwood.paths import one_bottleneck
from ackclock_papers.westwood.senders import (
    ABSE,
    ABSE_LATER,
    CUBIC,
    NEWRENO,
    PLUS,
    Control,
    scenario,
    settings,
    tcp,
)

PATH = one_bottleneck(10)
SENDERS = 5
OLD, NEW = "old", "new"
JOIN_S, DURATION_S = 100.0, 200.0
FAIR_MBIT_PER_S = PATH.goodput_mbit_per_s / (2 * SENDERS)
#: Controls of the first senders and of the newcomers.
PAIRS = {
    f"{new.label} joins {old.label}": (old, new)
    for old, new in (
        (ABSE, ABSE), (ABSE_LATER, ABSE_LATER), (ABSE, NEWRENO), (ABSE_LATER, NEWRENO),
        (NEWRENO, NEWRENO), (PLUS, PLUS), (CUBIC, CUBIC),
    )
}  # fmt: skip

#: Overflows until newcomers have most of a share. Each overflow halves all windows, and so the
#: newcomers' deficit. In between all windows grow equally (Chiu and Jain, 1989).
OVERFLOWS = ceil(log2(1 / (1 - CONVERGED_SHARE)))
#: Value of preset ns2-2002.
SMALLEST_TIMEOUT_S = 1.0


def _readily_s() -> float:
    """Returns the longest time that additive increase and halving need, in seconds.

    It includes slow start and a timeout.
    """
    full_s = 2 * PATH.round_trip_s  # the buffer holds a pipe
    held, senders = 2 * PATH.pipe_packets, 2 * SENDERS
    slow_start_s = log2(held / senders) * full_s
    # Once all have halved, half of what the path holds is free, and each window grows by one packet
    # per round trip.
    between_overflows_s = held / 2 / senders * full_s
    # A share is known at the end of an interval, and the first interval may begin just too early.
    known_s = 2 * CONVERGENCE_INTERVAL_S
    return slow_start_s + SMALLEST_TIMEOUT_S + OVERFLOWS * between_overflows_s + known_s


#: "Readily": the paper gives no time. The longest time by the law is accepted, to a tenth of a
#: second.
READILY = Band(most=round(_readily_s(), 1))
#: Long-run share of newcomers, from the 20th second on, over the fair share.
SETTLED_S = 20.0
FAIR = words.SAME
#: Averaging interval of the curves, in seconds: shares move with every saw-tooth.
SMOOTHED_S = 2.0


def runs() -> Mapping[str, Run]:
    """Returns runs of five senders from the start and five from 100 s."""
    return {name: Run(_scenario(name, old, new)) for name, (old, new) in PAIRS.items()}


def conclude_abse(results: Mapping[str, Result]) -> Outcome:
    """Concludes 21a: ABSE joins ABSE."""
    return _outcome(results, f"{ABSE.label} joins {ABSE.label}")


def conclude_newreno(results: Mapping[str, Result]) -> Outcome:
    """Concludes 21b: NewReno joins ABSE."""
    return _outcome(results, f"{NEWRENO.label} joins {ABSE.label}")


def _outcome(results: Mapping[str, Result], name: str) -> Outcome:
    soon = {
        name: interval(of_replicates(result, "convergence_time", NEW))
        for name, result in results.items()
    }
    shares = {
        name: {flow: _share(result, flow) for flow in (OLD, NEW)}
        for name, result in results.items()
    }
    claims = (
        Claim.of(
            f"{name}, who readily acquire their share (80 % of it, over 2 s)", soon[name], READILY,
            "s",
        ),
        Claim.of(
            f"{name}, and have the fair share from the 20th second on", shares[name][NEW], FAIR,
            "times",
        ),
        Claim.of(
            f"{NEWRENO.label} joins {NEWRENO.label} as readily",
            soon[f"{NEWRENO.label} joins {NEWRENO.label}"], READILY, "s", origin=Origin.INFERRED,
        ),
    )  # fmt: skip
    rows: dict[tuple[str, ...], dict[str, Interval]] = {
        (run,): {
            "convergence time of the newcomers, s": soon[run],
            "their share from the 20th second on, times the fair one": shares[run][NEW],
            "that of the others": shares[run][OLD],
        }
        for run in results
    }
    readily = (
        f"“readily” taken for {READILY.most:g} s, in which additive increase and halving get there"
    )
    return Outcome(
        basis(readily), (),
        partial(_draw, results[name], name), claims,
        settings(PATH, results, jitter=JITTER),
        (measured("Five senders join five on 10 Mbit/s", ("who",), rows),),
    )  # fmt: skip


def _share(result: Result, flow: str) -> Interval:
    """Returns one sender's mean goodput once all are there, over the fair share."""
    goodput = over_time.mean_goodputs(result, flow, JOIN_S + SETTLED_S, DURATION_S, SENDERS)
    return interval(np.array(goodput) / FAIR_MBIT_PER_S)


def _scenario(name: str, old: Control, new: Control) -> Scenario:
    late = [f"{JOIN_S:g} s", f"{JOIN_S + 1:g} s"]
    flows = [
        tcp(OLD, old, PATH, count=SENDERS, jitter_s=JITTER_S),
        tcp(NEW, new, PATH, count=SENDERS, jitter_s=JITTER_S, start=late),
    ]
    return scenario(name, PATH, flows, duration_s=DURATION_S, sample_interval_s=0.5)


def _draw(result: Result, name: str) -> Figure:
    curves = [
        plot.Curve("fair share of ten", [0, DURATION_S], [FAIR_MBIT_PER_S] * 2, "reference"),
        plot.Curve("fair share of five", [0, JOIN_S], [2 * FAIR_MBIT_PER_S] * 2, "reference"),
    ]
    for flow, label in ((OLD, "one of those who were there"), (NEW, "one of the newcomers")):
        time_s, values = _smoothed(result, flow)
        curves.append(plot.Curve(label, time_s, values))
    title = f"{name}: goodput of one, on average"
    return plot.curves(curves, "time (s)", f"goodput over {SMOOTHED_S:g} s (Mbit/s)", title)


def _smoothed(result: Result, flow: str) -> tuple[over_time.Array, over_time.Array]:
    """Returns the mean goodput over a flow's instances and replicates in successive intervals."""
    series = [
        over_time.goodput(result, flow, replicate, instance)
        for replicate in over_time.replicates(result)
        for instance in range(SENDERS)
    ]
    ends = np.arange(SMOOTHED_S, DURATION_S + SMOOTHED_S / 2, SMOOTHED_S)
    means = [
        np.nanmean([goodput.mean(end - SMOOTHED_S, end) for goodput in series]) for end in ends
    ]
    return ends, np.asarray(means, float)


ABSE_JOINS = entry(
    "21a",
    "How soon do five ABSE senders get their share after joining five others?",
    "Five ABSE senders fill the link; five more join at 100 s.",
    6.0,
    conclude_abse,
    runs,
)
NEWRENO_JOINS = entry(
    "21b",
    "How soon do five NewReno senders get their share after joining five ABSE senders?",
    "Five ABSE senders fill the link; five NewReno senders join at 100 s.",
    1.0,
    conclude_newreno,
    runs,
)
