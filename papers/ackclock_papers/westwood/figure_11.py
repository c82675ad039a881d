"""Figure 11: BE and ABSE on four hops, where two unresponsive flows join on the way."""

from collections.abc import Mapping
from functools import partial

from matplotlib.figure import Figure

from ackclock import Result, plot
from ackclock.metrics import interval
from ackclock.reproduction import Band, Claim, Origin, Outcome, Run, Setting, words
from ackclock.scenario import Scenario
from ackclock_papers.replicates import Rows, measured, quotient
from ackclock_papers.westwood import over_time
from ackclock_papers.westwood.paper import basis, entry
from ackclock_papers.westwood.paths import several_hops
from ackclock_papers.westwood.senders import (
    ABSE,
    ABSE_LATER,
    BE,
    CRB,
    CUBIC,
    NEWRENO,
    PLUS,
    RE,
    Control,
    scenario,
    settings,
    tcp,
    udp,
)

PATH = several_hops((20, 10, 20, 30))
CONTROLS = (BE, RE, CRB, ABSE, ABSE_LATER, PLUS, NEWRENO, CUBIC)
MAIN = "sender"
#: Start times, in seconds, of flows of 5 Mbit/s on the third and on the fourth hop.
JOINING_S = {"hop 3": 20.0, "hop 4": 40.0}
DURATION_S = 60.0
REPLICATES = 10


def runs() -> Mapping[str, Run]:
    """Returns runs of a sender of each control."""
    return {control.label: Run(_scenario(control)) for control in CONTROLS}


def _scenario(control: Control) -> Scenario:
    joining = [
        udp(f"UDP on {hop}", 5, [hop], start=f"{since_s:g} s") for hop, since_s in JOINING_S.items()
    ]  # fmt: skip
    flows = [tcp(MAIN, control, PATH), *joining]
    return scenario(
        control.label, PATH, flows, duration_s=DURATION_S, warmup_s=min(JOINING_S.values()),
        replicates=REPLICATES, sample_interval_s=0.05,
    )  # fmt: skip


def conclude(results: Mapping[str, Result]) -> Outcome:
    """Compares mean estimates, while the others are there, with the slowest link's payload rate."""
    since_s, later_s = JOINING_S.values()
    be, abse = (
        over_time.mean_estimates(results[name], MAIN, since_s, DURATION_S)
        for name in ("BE", "ABSE")
    )
    ceiling = PATH.goodput_mbit_per_s
    claims = (
        Claim.of(
            f"11a: BE overestimates what is available, {ceiling:.2f} Mbit/s of payload, once "
            "others have joined",
            interval(be), Band(ceiling), "Mbit/s", than=ceiling,
        ),
        Claim.of(
            "11b: ABSE maintains an accurate estimate: over that",
            quotient(abse, [ceiling] * len(abse)), words.about("1"), "times",
        ),
        Claim.of(
            "BE is above ABSE: over it", quotient(be, abse), Band(1.0), "times", than=1.0,
            origin=Origin.INFERRED
        ),
    )  # fmt: skip
    rows: Rows = {
        (name,): over_time.told_and_got(result, MAIN, since_s, later_s, when=", 20 to 40 s")
        | over_time.told_and_got(result, MAIN, later_s, DURATION_S, when=", 40 to 60 s")
        for name, result in results.items()
    }
    own = (
        Setting(
            "others", "5 Mbit/s on the third hop from 20 s, on the fourth from 40 s", Origin.PRINTED
        ),
        Setting(
            "delay and buffers",
            f"70 ms, shared evenly; {PATH.pipe_packets} packets each",
            Origin.GUESSED,
        ),
        Setting(
            "payload of 10 Mbit/s",
            f"{ceiling:.2f} Mbit/s: estimates count payload",
            Origin.INFERRED,
        ),
    )
    went_in = settings(PATH, results, own=own)
    return Outcome(
        basis(),
        (),
        partial(_draw, results),
        claims,
        went_in,
        (measured("The sender, payload in order", ("control",), rows),),
    )


def _draw(results: Mapping[str, Result]) -> Figure:
    curves = [
        plot.Curve(
            "bottleneck, payload", [0, DURATION_S], [PATH.goodput_mbit_per_s] * 2, "reference"
        )
    ]
    for control in (BE, ABSE):
        curves.append(plot.Curve(control.label, *over_time.estimate(results[control.label], MAIN)))
    title = "UDP joins on the third hop at 20 s, on the fourth at 40 s"
    return plot.curves(curves, "time (s)", "rate estimate (Mbit/s)", title)


EXPERIMENT = entry(
    "11",
    "How accurate are BE and ABSE if cross traffic joins after the bottleneck?",
    "Four hops of 20, 10, 20 and 30 Mbit/s, and UDP that joins on the third and fourth: estimates "
    "of BE and ABSE.",
    6.0,
    conclude,
    runs,
)
