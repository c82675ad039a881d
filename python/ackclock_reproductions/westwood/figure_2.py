"""Figure 2: two like senders share a link; what do they take their share to be?"""

from collections.abc import Mapping
from functools import partial

from matplotlib.figure import Figure

from ackclock import plot
from ackclock.metrics import interval
from ackclock.reproduction import Band, Claim, Origin, Outcome, Run, Setting
from ackclock.result import Result
from ackclock_reproductions.replicates import Rows, measured, quotient
from ackclock_reproductions.westwood import over_time
from ackclock_reproductions.westwood.over_parameter import JITTER, JITTER_S
from ackclock_reproductions.westwood.paper import entry, reading
from ackclock_reproductions.westwood.paths import one_bottleneck
from ackclock_reproductions.westwood.senders import (
    ABSE,
    BE,
    CRB,
    CUBIC,
    DURATION_S,
    NEWRENO,
    PLUS,
    RE,
    WARMUP_S,
    Control,
    scenario,
    settings,
    tcp,
)

PATH = one_bottleneck(5)
SENDERS = 2
FAIR_MBIT_PER_S = 2.5
CONTROLS = (BE, RE, CRB, ABSE, PLUS, NEWRENO, CUBIC)

FLOW = "sender"

#: What is accepted of BE and RE, in Mbit/s: both what is printed and what an independent simulation of the figure had
#: (3.2 and 3.6; 2.5 and 2.4).
BE_READS, RE_READS = Band(2.9, 4.0), Band(2.3, 2.6)
#: How far above what it gets an estimate must be to be called too high. From an independent simulation of the
#: figure, in which BE was half above.
TOO_HIGH = 1.15


def runs() -> Mapping[str, Run]:
    """Two senders of each control, in trains; those that estimate with trains broken up, too."""
    return {one.label: _run(one, None) for one in CONTROLS} | {
        _spread(one): _run(one, JITTER_S) for one in CONTROLS if one not in (NEWRENO, CUBIC)
    }


def _run(control: Control, jitter_s: float | None) -> Run:
    return Run(scenario(control.label, PATH, [tcp(FLOW, control, PATH, count=SENDERS, jitter_s=jitter_s)]))


def _spread(control: Control) -> str:
    return f"{control.label}, trains broken up"


def conclude(results: Mapping[str, Result]) -> Outcome:
    """Mean estimates beside the fair share, and beside what the senders got."""
    claims: list[Claim] = []
    for be_name, re_name in ((BE.label, RE.label), (_spread(BE), _spread(RE))):
        be, re = (
            over_time.mean_estimates(results[name], FLOW, WARMUP_S, DURATION_S, SENDERS) for name in (be_name, re_name)
        )
        got = over_time.mean_goodputs(results[be_name], FLOW, WARMUP_S, DURATION_S, SENDERS)
        claims += [
            Claim.of(
                f"2a: {be_name}: 3.2 Mbit/s on average, where the fair share is 2.5", interval(be), BE_READS,
                "Mbit/s",
            ),
            Claim.of(f"2a: {be_name}: more than the sender gets", quotient(be, got), Band(TOO_HIGH), "times"),
            Claim.of(f"2b: {re_name}: right on target, with T = RTT", interval(re), RE_READS, "Mbit/s"),
        ]  # fmt: skip
    rows: Rows = {
        (name,): over_time.told_and_got(one, FLOW, WARMUP_S, DURATION_S, SENDERS) for name, one in results.items()
    }
    table = measured("One of two senders", ("control",), rows)
    own = [Setting("send jitter, trains broken up", JITTER, Origin.GUESSED)]
    return Outcome(reading(), (), partial(_draw, results), tuple(claims), settings(PATH, results, own=own), (table,))


def _draw(results: Mapping[str, Result]) -> Figure:
    curves = [plot.Curve("fair share", [0, DURATION_S], [FAIR_MBIT_PER_S] * 2, "reference")]
    for name in (BE.label, _spread(BE), RE.label):
        curves.append(plot.Curve(name, *over_time.estimate(results[name], FLOW)))
    return plot.curves(curves, "time (s)", "rate estimate (Mbit/s)", "Estimates of one of two senders on 5 Mbit/s")


EXPERIMENT = entry(
    "2",
    "What do BE and RE say where two senders share a link?",
    "Two senders on 5 Mbit/s: BE is 3.2 Mbit/s on average, too much; RE is on target, about 2.5, with T = RTT.",
    3.0,
    conclude,
    runs,
)
