"""Figure 14: queueing times with buffers larger than the pipe."""

from collections.abc import Mapping
from functools import partial

from matplotlib.figure import Figure

from ackclock import Result, plot
from ackclock.metrics import Interval, interval
from ackclock.reproduction import Band, Claim, Origin, Outcome, Run, Setting, words
from ackclock.scenario import Scenario
from ackclock_papers.replicates import Rows, curve, measured, of_replicates, quotient
from ackclock_papers.westwood.over_parameter import BOTTLENECK
from ackclock_papers.westwood.paper import basis, entry
from ackclock_papers.westwood.paths import one_bottleneck
from ackclock_papers.westwood.senders import (
    ABSE,
    ABSE_LATER,
    BE,
    CUBIC,
    NEWRENO,
    PLUS,
    Control,
    scenario,
    settings,
    tcp,
)

CONTROLS = (NEWRENO, BE, ABSE, ABSE_LATER, PLUS, CUBIC)
#: 160 is that of figure 15; the others are not printed.
BUFFERS = (42, 84, 160, 240, 320)
PRINTED = 160
FLOW = "sender"
#: NewReno's saw-tooth takes 26 s with 160 packets, and each loss of slow start takes a round trip.
DURATION_S, WARMUP_S = 400.0, 200.0


def runs() -> Mapping[str, Run]:
    """Returns runs of a sender of each control with each buffer."""
    return {
        f"{control.label}, {packets}": Run(_scenario(control, packets))
        for control in CONTROLS
        for packets in BUFFERS
    }


def _scenario(control: Control, packets: int) -> Scenario:
    path = one_bottleneck(5, packets)
    flows = [tcp(FLOW, control, path)]
    return scenario(control.label, path, flows, duration_s=DURATION_S, warmup_s=WARMUP_S)


def conclude(results: Mapping[str, Result]) -> Outcome:
    """Compares mean queueing times, and utilisation."""
    waits = {
        (control.label, packets): of_replicates(
            results[f"{control.label}, {packets}"], "queueing_delay", BOTTLENECK
        )
        for control in CONTROLS
        for packets in BUFFERS
    }
    used = {
        name: interval(of_replicates(results[f"{name}, {PRINTED}"], "utilisation", BOTTLENECK))
        for name in ("ABSE", "NewReno")
    }
    lower = tuple(
        Claim.of(
            f"ABSE's queueing time is below NewReno's with a very large buffer: over it, {packets} "
            "packets",
            quotient(waits["ABSE", packets], waits["NewReno", packets]), Band(most=1), "times",
            than=1.0, origin=Origin.PRINTED if packets == PRINTED else Origin.INFERRED,
        )
        for packets in BUFFERS if packets >= PRINTED
    )  # fmt: skip
    full = tuple(
        Claim.of(
            f"With a very large buffer both use the link fully: {name}, {PRINTED} packets",
            percent, words.about("100", whole=100), "%",
        )
        for name, percent in used.items()
    )  # fmt: skip
    rows: Rows = {
        (control.label, str(packets)): {
            "queueing time, ms": interval(waits[control.label, packets]),
            "link busy, %": interval(
                of_replicates(results[f"{control.label}, {packets}"], "utilisation", BOTTLENECK)
            ),
        }
        for control in CONTROLS
        for packets in BUFFERS
    }
    others = ", ".join(str(packets) for packets in BUFFERS if packets != PRINTED)
    own = (
        Setting("buffer", f"{PRINTED} packets, that of figure 15", Origin.PRINTED),
        Setting("other buffers", f"{others} packets", Origin.GUESSED),
    )
    went_in = settings(one_bottleneck(5, PRINTED), results, own=own)
    return Outcome(
        basis(),
        (),
        partial(_draw, {key: interval(values) for key, values in waits.items()}),
        (*lower, *full),
        went_in,
        (measured("The bottleneck", ("control", "buffer"), rows),),
    )


def _draw(waits: Mapping[tuple[str, int], Interval]) -> Figure:
    curves = [
        curve(control.label, BUFFERS, [waits[control.label, packets] for packets in BUFFERS])
        for control in CONTROLS
    ]
    return plot.curves(
        curves, "buffer (packets)", "mean queueing time (ms)", "One sender on 5 Mbit/s, 70 ms"
    )


EXPERIMENT = entry(
    "14",
    "How long do packets wait if the buffer is large?",
    "One sender, buffers larger than the bandwidth-delay product: packets wait less with ABSE "
    "than with NewReno.",
    9.0,
    conclude,
    runs,
)
