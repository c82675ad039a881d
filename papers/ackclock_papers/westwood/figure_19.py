"""Figure 19: fairness among ten senders with the same control."""

from collections.abc import Mapping
from functools import partial

from matplotlib.figure import Figure

from ackclock import Result, plot
from ackclock.metrics import Interval, interval
from ackclock.reproduction import Band, Claim, Origin, Outcome, Run, words
from ackclock_papers.replicates import curve, measured, of_replicates, quotient
from ackclock_papers.westwood.over_parameter import FLOW, JITTER, JITTER_S
from ackclock_papers.westwood.paper import basis, entry
from ackclock_papers.westwood.paths import one_bottleneck
from ackclock_papers.westwood.senders import (
    ABSE,
    ABSE_LATER,
    BE,
    CRB,
    CUBIC,
    NEWRENO,
    PLUS,
    RE,
    scenario,
    settings,
    tcp,
)

PATH = one_bottleneck(10)
SENDERS = 10
CONTROLS = (NEWRENO, BE, RE, CRB, ABSE, ABSE_LATER, PLUS, CUBIC)
SPREAD = {"broken up": JITTER_S, "trains": None}

#: Printed values of Jain's index.
PRINTED = {ABSE.label: "0.9919", NEWRENO.label: "0.9904"}
#: Accepted by the checks of readings: about as fair as that, and comparable to NewReno.
FAIR = words.about("0.99", whole=1)
#: Some senders have several times the goodput of others.
UNFAIR = Band(most=0.6)


def runs() -> Mapping[str, Run]:
    """Returns runs of ten senders of each control, without and with trains."""
    return {
        f"{control.label}, {how}": Run(
            scenario(
                f"{control.label}, {how}", PATH,
                [tcp(FLOW, control, PATH, count=SENDERS, jitter_s=jitter_s)], sample_interval_s=1.0,
            )
        )
        for how, jitter_s in SPREAD.items()
        for control in CONTROLS
    }  # fmt: skip


def conclude(results: Mapping[str, Result]) -> Outcome:
    """Compares Jain's index of the senders' goodput."""
    fairness = {
        name: interval(of_replicates(result, "fairness", "all flows"))
        for name, result in results.items()
    }
    abse, newreno = (
        of_replicates(results[f"{control.label}, broken up"], "fairness", "all flows")
        for control in (ABSE, NEWRENO)
    )
    claims = (
        *(
            Claim.printed(f"{name}: Jain's index is {text}", fairness[f"{name}, broken up"], text)
            for name, text in PRINTED.items()
        ),
        Claim.of(
            "ABSE's fairness is comparable to NewReno's: over it", quotient(abse, newreno),
            words.about("1"), "times"
        ),
        Claim.of(
            "In trains the printed equations are bistable, and share unevenly",
            fairness[f"{ABSE.label}, trains"], UNFAIR, origin=Origin.INFERRED,
        ),
        Claim.of(
            "In trains the reading of a later paper shares evenly",
            fairness[f"{ABSE_LATER.label}, trains"], FAIR, origin=Origin.INFERRED,
        ),
    )  # fmt: skip
    rows: dict[tuple[str, ...], dict[str, Interval]] = {}
    for control in CONTROLS:
        rows[control.label,] = {
            f"{heading}, {how}": interval(
                of_replicates(results[f"{control.label}, {how}"], name, subject)
            )
            for how in SPREAD
            for heading, name, subject in (
                ("Jain's index", "fairness", "all flows"),
                ("goodput, Mbit/s", "goodput", FLOW),
            )
        }
    table = measured("Ten senders", ("control",), rows)
    rests = basis()
    return Outcome(
        rests, (), partial(_draw, fairness), claims, settings(PATH, results, jitter=JITTER),
        (table,)
    )  # fmt: skip


def _draw(fairness: Mapping[str, Interval]) -> Figure:
    places = [float(place) for place in range(len(CONTROLS))]
    curves = [
        curve(how, places, [fairness[f"{control.label}, {how}"] for control in CONTROLS], "points")
        for how in SPREAD
    ]  # fmt: skip
    names = [control.label.replace(", ", ",\n") for control in CONTROLS]
    title = "Do ten like senders share 10 Mbit/s evenly?"
    return plot.curves(
        curves, "control (of all ten)", "Jain's index (of goodput)", title, categories=names
    )


EXPERIMENT = entry(
    "19",
    "Do ten senders with the same control share a link evenly?",
    "Jain's index is 0.9919 for ten ABSE senders and 0.9904 for ten NewReno senders.",
    6.0,
    conclude,
    runs,
)
