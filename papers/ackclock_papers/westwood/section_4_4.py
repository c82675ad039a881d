"""Section 4.4: the gain over NewReno by the propagation time, and by the speed of the bottleneck.

The text states results and refers to a report for the figures. The path is that of figures 17 and
18; the loss probability, the propagation times and the speeds are not printed.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import product

import numpy as np
from matplotlib.figure import Figure

from ackclock import Result, plot
from ackclock.metrics import Interval, interval
from ackclock.reproduction import (
    Band,
    Claim,
    Experiment,
    Origin,
    Outcome,
    Run,
    Setting,
    words,
)
from ackclock_papers.replicates import curve, measured, of_replicates, quotient
from ackclock_papers.westwood.over_parameter import FLOW
from ackclock_papers.westwood.paper import SOURCE, basis
from ackclock_papers.westwood.paths import Path, wired_wireless
from ackclock_papers.westwood.senders import ABSE, BE, CRB, NEWRENO, scenario, settings, tcp

#: In the middle of the range of the largest improvement, 0.1 to 1 %.
LOSS = 0.005
ONE_WAY_MS = (10, 35, 70, 100, 150, 200)
MBIT_PER_S = (2, 5, 11, 22, 45)
CONTROLS = (NEWRENO, ABSE, BE, CRB)
#: Random loss spreads results more than queues do.
REPLICATES = 10
#: With 400 ms a congestion epoch of NewReno takes ten seconds.
DURATION_S, WARMUP_S = 200.0, 20.0

#: Goodput in Mbit/s, by control, value and replicate.
Goodputs = dict[str, dict[float, list[float]]]


def _by_delay(one_way_ms: float) -> Path:
    return wired_wireless(LOSS, one_way_s=one_way_ms / 1000)


def _by_speed(mbit_per_s: float) -> Path:
    return wired_wireless(LOSS, wireless_mbit_per_s=mbit_per_s)


def _name(control: str, value: float, unit: str) -> str:
    return f"{control}, {value:g} {unit}"


def _runs(path: Callable[[float], Path], values: Sequence[float], unit: str) -> Mapping[str, Run]:
    """Returns runs of one sender of each control over the path for each value."""
    return {
        _name(control.label, value, unit): Run(
            scenario(
                control.label, path(value), [tcp(FLOW, control, path(value))],
                duration_s=DURATION_S, warmup_s=WARMUP_S, sample_interval_s=1.0,
                replicates=REPLICATES,
            )
        )
        for control, value in product(CONTROLS, values)
    }  # fmt: skip


def _goodputs(results: Mapping[str, Result], values: Sequence[float], unit: str) -> Goodputs:
    return {
        control.label: {
            value: of_replicates(results[_name(control.label, value, unit)], "goodput", FLOW)
            for value in values
        }
        for control in CONTROLS
    }


def _kept(goodput: Mapping[float, list[float]], value: float) -> list[float]:
    """Returns the share of the goodput at the shortest propagation time that is left."""
    return list(np.array(goodput[value]) / np.array(goodput[ONE_WAY_MS[0]]))


def conclude_delay(results: Mapping[str, Result]) -> Outcome:
    """Compares the gains by the propagation time."""
    goodput = _goodputs(results, ONE_WAY_MS, "ms")
    abse, newreno = goodput[ABSE.label], goodput[NEWRENO.label]
    claims = (
        *(
            Claim.of(
                "ABSE's performance is robust with the increase of RTT, compared with NewReno: the "
                f"share of its goodput at {ONE_WAY_MS[0]} ms that is left at {value} ms, over "
                "NewReno's",
                quotient(_kept(abse, value), _kept(newreno, value)),
                Band(1.0), "times", than=1.0,
            )
            for value in ONE_WAY_MS[1:]
        ),
        Claim.of(
            "NewReno's goodput goes with 1/RTT, by the square-root law: what is left of it at "
            f"{ONE_WAY_MS[-1]} ms, over {ONE_WAY_MS[1]}/{ONE_WAY_MS[-1]} of that at "
            f"{ONE_WAY_MS[1]} ms",
            quotient(
                newreno[ONE_WAY_MS[-1]],
                [each * ONE_WAY_MS[1] / ONE_WAY_MS[-1] for each in newreno[ONE_WAY_MS[1]]],
            ),
            words.about("1"), "times", origin=Origin.INFERRED,
        ),
    )  # fmt: skip
    return _outcome(
        results,
        goodput,
        claims,
        (
            "one-way propagation time (ms)",
            "One sender over 45 Mbit/s, then 11 Mbit/s with a loss of 0.5 %",
            Setting("propagation times", _listed(ONE_WAY_MS, "ms"), Origin.GUESSED),
        ),
        _by_delay(ONE_WAY_MS[1]),
    )


def conclude_speed(results: Mapping[str, Result]) -> Outcome:
    """Compares the gains by the speed of the bottleneck."""
    goodput = _goodputs(results, MBIT_PER_S, "Mbit/s")
    abse, newreno = goodput[ABSE.label], goodput[NEWRENO.label]
    first, last = MBIT_PER_S[0], MBIT_PER_S[-1]
    claims = (
        *(
            Claim.of(
                f"ABSE uses the bottleneck better than NewReno: over it, at {value} Mbit/s",
                quotient(abse[value], newreno[value]), Band(1.0), "times", than=1.0,
            )
            for value in MBIT_PER_S
        ),
        *(
            Claim.of(
                "Especially when the bandwidth is higher: ABSE over NewReno at "
                f"{value} Mbit/s, over that at {first} Mbit/s",
                quotient(
                    list(np.array(abse[value]) / np.array(newreno[value])),
                    list(np.array(abse[first]) / np.array(newreno[first])),
                ),
                Band(1.0), "times", than=1.0,
            )
            for value in MBIT_PER_S[1:]
        ),
        Claim.of(
            "NewReno's goodput is limited by the loss, whatever the speed: at "
            f"{last} Mbit/s over that at 11 Mbit/s",
            quotient(newreno[last], newreno[11]), words.SAME, "times", origin=Origin.INFERRED,
        ),
    )  # fmt: skip
    return _outcome(
        results,
        goodput,
        claims,
        (
            "wireless link (Mbit/s)",
            "One sender over 45 Mbit/s and 70 ms, then a link with a loss of 0.5 %",
            Setting("speeds", _listed(MBIT_PER_S, "Mbit/s"), Origin.GUESSED),
        ),
        _by_speed(MBIT_PER_S[-1]),
    )


def _listed(values: Sequence[float], unit: str) -> str:
    return f"{', '.join(f'{value:g}' for value in values)} {unit}"


def _outcome(
    results: Mapping[str, Result],
    goodput: Goodputs,
    claims: tuple[Claim, ...],
    shown: tuple[str, str, Setting],
    path: Path,
) -> Outcome:
    label, title, varied = shown
    rows: dict[tuple[str, ...], dict[str, Interval]] = {
        (name,): {f"{value:g}": interval(each) for value, each in by_value.items()}
        for name, by_value in goodput.items()
    }
    table = measured(f"Goodput in Mbit/s, by {label}", ("control",), rows)
    own = (varied, Setting("loss", f"{LOSS:.1%} on the wireless link", Origin.GUESSED))
    return Outcome(
        basis("loss and the values of the parameter guessed"), (),
        partial(_draw, goodput, label, title), claims, settings(path, results, own=own), (table,),
    )  # fmt: skip


def _draw(goodput: Goodputs, label: str, title: str) -> Figure:
    newreno = goodput[NEWRENO.label]
    values = list(newreno)
    curves = [plot.Curve("NewReno", [values[0], values[-1]], [1, 1], "reference")]
    for control in CONTROLS[1:]:
        gains = [quotient(goodput[control.label][value], newreno[value]) for value in values]
        curves.append(curve(control.label, values, gains))
    return plot.curves(curves, label, "goodput over NewReno's (ratio)", title)


def _entry(
    part: str,
    question: str,
    says: str,
    conclude: Callable[[Mapping[str, Result]], Outcome],
    runs: Callable[[], Mapping[str, Run]],
) -> Experiment:
    shows = f"Section 4.4{part}"
    return Experiment(
        f"westwood-section-4.4{part}", "westwood", SOURCE, shows, question, says, 30.0, conclude,
        runs,
    )  # fmt: skip


BY_DELAY = _entry(
    "a",
    "Does the gain over NewReno hold as the propagation time grows?",
    "Compared with NewReno, ABSE's performance is relatively robust with the increase of RTT.",
    conclude_delay,
    partial(_runs, _by_delay, ONE_WAY_MS, "ms"),
)
BY_SPEED = _entry(
    "b",
    "Does the gain over NewReno grow with the speed of the bottleneck?",
    "ABSE is more effective than NewReno in using the bottleneck, especially a fast one.",
    conclude_speed,
    partial(_runs, _by_speed, MBIT_PER_S, "Mbit/s"),
)
