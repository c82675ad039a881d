"""Figures 9 and 10: the estimates of BE and ABSE while reverse traffic compresses ACKs.

The ACKs of each sender wait behind the data of the other. The buffer counts packets of any size,
and the ACKs leave it back to back.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from matplotlib.figure import Figure

from ackclock import Result, plot
from ackclock.metrics import interval
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
    words,
)
from ackclock.scenario import Scenario
from ackclock_papers.replicates import Rows, measured, of_replicates, quotient
from ackclock_papers.westwood import over_time
from ackclock_papers.westwood.over_parameter import JITTER, JITTER_S
from ackclock_papers.westwood.paper import basis, entry
from ackclock_papers.westwood.paths import two_way
from ackclock_papers.westwood.senders import (
    ABSE,
    ABSE_LATER,
    BE,
    CUBIC,
    NEWRENO,
    PLUS,
    RE,
    Control,
    scenario,
    settings,
    tcp,
)

RATE_MBIT_PER_S = 10
#: Loss probability of the forward data, by half of the figure.
LOSSES = {"a": 0.0, "b": 0.005}
#: Interval with reverse data, in seconds.
SINCE_S, UNTIL_S = 20.0, 40.0
DURATION_S = 60.0
FORWARD, REVERSE = "forward flow", "reverse flow"

#: BE's largest overestimates depend on single recoveries, so with five replicates the mean is
#: uncertain by half.
REPLICATES = 30

Results = Mapping[str, Result]


class Sender(NamedTuple):
    """A control with its send jitter.

    Attributes:
        label: Label in figures and tables.
        control: Congestion control of both flows.
        jitter_s: Send jitter in seconds: see `tcp`.
    """

    label: str
    control: Control
    jitter_s: float | None = None


_PLAIN = {
    control.label: Sender(control.label, control)
    for control in (BE, RE, ABSE, ABSE_LATER, PLUS, NEWRENO, CUBIC)
}
_SPREAD = {
    control.label: Sender(f"{control.label}, trains broken up", control, JITTER_S)
    for control in (BE, ABSE, ABSE_LATER)
}


def _runs(senders: Sequence[Sender]) -> Mapping[str, Run]:
    return {
        f"{sender.label}, {half}": Run(_scenario(sender, half))
        for sender in senders
        for half in LOSSES
    }


def _scenario(sender: Sender, half: str) -> Scenario:
    path = two_way(RATE_MBIT_PER_S, loss=LOSSES[half])
    forward, reverse = (
        tcp(name, sender.control, path, way_back=name == REVERSE, jitter_s=sender.jitter_s)
        for name in (FORWARD, REVERSE)
    )
    reverse |= {"start": [f"{SINCE_S:g} s", f"{SINCE_S + 0.5:g} s"], "stop": f"{UNTIL_S:g} s"}
    return scenario(
        f"{sender.label}, two ways", path, [forward, reverse], duration_s=DURATION_S,
        warmup_s=SINCE_S, replicates=REPLICATES, sample_interval_s=0.05,
    )  # fmt: skip


def _estimates(result: Result) -> list[float]:
    return over_time.mean_estimates(result, FORWARD, SINCE_S, UNTIL_S)


def _got(result: Result) -> list[float]:
    return over_time.mean_goodputs(result, FORWARD, SINCE_S, UNTIL_S)


#: The eligible rate of a sender in either direction: the link's rate, as payload.
ELIGIBLE_MBIT_PER_S = two_way(RATE_MBIT_PER_S).goodput_mbit_per_s


def _claims_of_9(results: Results) -> tuple[Claim, ...]:
    without, lossy = (_estimates(results[f"{_SPREAD['BE'].label}, {half}"]) for half in LOSSES)
    eligible = f"the eligible rate, {ELIGIBLE_MBIT_PER_S:.2f} Mbit/s of payload"
    return (
        Claim.of(
            f"9a: BE overestimates {eligible}, from 20 to 40 s", interval(without),
            Band(ELIGIBLE_MBIT_PER_S), "Mbit/s", than=ELIGIBLE_MBIT_PER_S,
        ),
        Claim.of(
            "9b: where packets are lost it is especially severe: over that without loss",
            quotient(lossy, without), words.MUCH_MORE, "times", than=1.0,
        ),
    )  # fmt: skip


def _claims_of_10(results: Results) -> tuple[Claim, ...]:
    without, lossy = (_estimates(results[f"{_SPREAD['ABSE'].label}, {half}"]) for half in LOSSES)
    right = [ELIGIBLE_MBIT_PER_S] * len(without)
    near = words.about("1")
    return (
        Claim.of(
            "10a: ABSE's estimate is accurate: over the eligible rate",
            quotient(without, right),
            near,
            "times",
        ),
        Claim.of("10b: with loss, too", quotient(lossy, right), near, "times"),
    )


def _conclude(
    senders: Sequence[Sender], drawn: Sequence[str], claims: Callable[[Results], tuple[Claim, ...]],
    rests: Basis, results: Results,
) -> Outcome:  # fmt: skip
    path = two_way(RATE_MBIT_PER_S)
    own = (
        Setting("loss", "none (a), 0.5 % of the data one way (b)", Origin.PRINTED),
        Setting("data the other way", f"from {SINCE_S:g} to {UNTIL_S:g} s", Origin.PRINTED),
        Setting("send jitter, trains broken up", JITTER, Origin.GUESSED),
        Setting(
            "delay and buffers",
            f"70 ms, {path.pipe_packets} packets, ACKs counted like data",
            Origin.GUESSED,
        ),
    )
    went_in = settings(path, results, own=own)
    return Outcome(
        rests,
        (),
        partial(_draw, drawn, results),
        claims(results),
        went_in,
        (_table(senders, results),),
    )


def _table(senders: Sequence[Sender], results: Results) -> Table:
    rows: Rows = {}
    for half, loss in LOSSES.items():
        for sender in senders:
            result = results[f"{sender.label}, {half}"]
            rows[_percent(loss), sender.label] = over_time.told_and_got(
                result, FORWARD, SINCE_S, UNTIL_S
            ) | {
                "dropped in the whole run, %": interval(of_replicates(result, "loss_rate", FORWARD))
            }
    return measured(
        f"From {SINCE_S:g} to {UNTIL_S:g} s, payload in order", ("loss", "control"), rows
    )


def _percent(share: float) -> str:
    return f"{100 * share:g} %"


def _draw(drawn: Sequence[str], results: Results) -> Figure:
    curves = [plot.Curve("link", [0, DURATION_S], [RATE_MBIT_PER_S] * 2, "reference")]
    for name in drawn:
        for half, loss in LOSSES.items():
            label = f"{name}, {_percent(loss)} loss" if loss else f"{name}, no loss"
            curves.append(
                plot.Curve(label, *over_time.estimate(results[f"{name}, {half}"], FORWARD))
            )
    return plot.curves(
        curves,
        "time (s)",
        "rate estimate (Mbit/s)",
        "Data the other way from 20 to 40 s: estimates on 10 Mbit/s",
    )


def _entry(
    number: str, question: str, says: str, senders: Sequence[Sender], drawn: Sequence[str],
    claims: Callable[[Results], tuple[Claim, ...]], rests: Basis,
) -> Experiment:  # fmt: skip
    conclude = partial(_conclude, senders, drawn, claims, rests)
    return entry(number, question, says, 9.0, conclude, partial(_runs, senders))


FIGURE_9 = _entry(
    "9",
    "How does ACK compression by reverse traffic affect BE?",
    "10 Mbit/s with reverse traffic from 20 to 40 s: BE's estimates then, without loss and with "
    "0.5 %.",
    [*(_PLAIN[name] for name in ("BE", "RE", "Westwood+", "NewReno", "CUBIC")), _SPREAD["BE"]],
    (_SPREAD["BE"].label,),
    _claims_of_9,
    basis(),
)
FIGURE_10 = _entry(
    "10",
    "How does ACK compression by reverse traffic affect ABSE?",
    "As figure 9 with ABSE.",
    [
        *(_PLAIN[name] for name in ("ABSE", ABSE_LATER.label, "BE", "NewReno", "CUBIC")),
        _SPREAD["ABSE"],
        _SPREAD[ABSE_LATER.label],
    ],
    (_SPREAD["ABSE"].label,),
    _claims_of_10,
    basis(),
)
