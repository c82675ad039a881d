"""Figure 1: the smoothness of rates, by time scale."""

from collections.abc import Iterator, Mapping
from functools import partial

from matplotlib.figure import Figure

from ackclock import Result, plot
from ackclock.metrics import TIME_SCALES_S, Interval, equivalence_of, interval, rate_cov, rate_ratio
from ackclock.reproduction import Band, Basis, Cell, Claim, Comparison, Origin, Outcome, Run
from ackclock.scenario import Scenario
from ackclock_papers.own.rate_control.senders import (
    AIMD,
    CUBIC,
    RENO,
    REPLICATES,
    SENDERS,
    TFRC,
    TFRCP,
    WITHIN,
    Sender,
    entry,
    flow,
    hops,
    settings,
)
from ackclock_papers.replicates import Rows, curve, measured, of_replicates, quotient
from ackclock_papers.scenarios import scenario

BUFFER_PACKETS = 83
EACH = 4
DURATION_S, WARMUP_S = 300.0, 60.0
#: Names of the Reno senders and of the senders under test.
BESIDE, OTHER = "beside", "other"
#: Time scale of the claims on smoothness, in seconds.
SCALE_S = 1.0
F = "F over Reno"

#: Numbers in the guide: the coefficient of variation at these time scales in seconds, and F over
#: Reno.
SAID_SCALES_S = (0.2, 1.0, 10.0)
SAID = {
    "TFRCP": ("0.52", "0.48", "0.23", "0.84"),
    "TFRC": ("0.18", "0.17", "0.15", "1.21"),
    "AIMD on a rate": ("0.25", "0.14", "0.07", "1.35"),
    "Reno": ("0.38", "0.33", "0.20", "0.98"),
    "CUBIC": ("0.29", "0.26", "0.19", "1.31"),
}

#: Values of replicates, by sender and time scale.
Variations = Mapping[str, Mapping[float, list[float]]]


def runs() -> Mapping[str, Run]:
    """Returns runs of four senders of each kind beside four Reno senders."""
    return {sender.label: Run(_scenario(sender)) for sender in SENDERS}


def _scenario(sender: Sender) -> Scenario:
    flows = [flow(RENO, name=BESIDE, count=EACH), flow(sender, name=OTHER, count=EACH)]
    return scenario(
        f"{sender.label} beside Reno", hops(BUFFER_PACKETS), flows, duration_s=DURATION_S,
        warmup_s=WARMUP_S, sample_interval_s=0.1, replicates=REPLICATES,
    )  # fmt: skip


def conclude(results: Mapping[str, Result]) -> Outcome:
    """Compares the coefficient of variation by time scale, and the shares of the link."""
    variations: Variations = {
        label: {scale: of_replicates(result, rate_cov(scale), OTHER) for scale in TIME_SCALES_S}
        for label, result in results.items()
    }
    rows: Rows = {
        (label,): {f"{scale:g} s": interval(values) for scale, values in by_scale.items()}
        for label, by_scale in variations.items()
    }
    shares: Rows = {
        (label,): {
            F: interval(of_replicates(result, rate_ratio(OTHER, BESIDE), OTHER)),
            f"equivalence to Reno, {SCALE_S:g} s": _equivalence(result, BESIDE),
            f"equivalence among themselves, {SCALE_S:g} s": _equivalence(result, OTHER),
        }
        for label, result in results.items()
    }
    tables = (
        measured("Coefficient of variation of what is sent, by time scale", ("sender",), rows),
        measured("Shares beside Reno", ("sender",), shares),
    )
    cells = tuple(_cells(rows, shares))
    comparison = Comparison("Smoothness and shares", Origin.STATED, ("sender",), cells, WITHIN)
    own = {
        "buffer": f"{BUFFER_PACKETS} packets",
        "senders": f"{EACH} of a kind beside {EACH} Reno senders",
    }
    return Outcome(
        Basis(),
        (comparison,),
        partial(_draw, variations),
        _claims(variations),
        settings(own),
        tables,
    )


def _cells(rows: Rows, shares: Rows) -> Iterator[Cell]:
    for label, texts in SAID.items():
        ours = {f"{scale:g} s": rows[label,][f"{scale:g} s"] for scale in SAID_SCALES_S} | {
            F: shares[label,][F]
        }
        for (name, value), text in zip(ours.items(), texts, strict=True):
            yield Cell.within_interval((label,), name, text, value)


def _equivalence(result: Result, beside: str) -> Interval:
    return interval(
        of_replicates(result, equivalence_of(OTHER, beside, SCALE_S), f"{OTHER} and {beside}")
    )


def _claims(variations: Variations) -> tuple[Claim, ...]:
    def smoother(sender: Sender, other: Sender, scale_s: float = SCALE_S) -> Claim:
        statement = (
            f"{sender.label} is smoother than {other.label} over {scale_s:g} s: CoV over CoV"
        )
        ratio = quotient(variations[sender.label][scale_s], variations[other.label][scale_s])
        return Claim.of(statement, ratio, Band(most=1.0), "times", origin=Origin.STATED)

    finest, coarsest = TIME_SCALES_S[0], TIME_SCALES_S[-1]
    return (
        *(smoother(TFRC, other) for other in (RENO, CUBIC, TFRCP)),
        smoother(TFRC, AIMD, finest),
        smoother(AIMD, TFRC, coarsest),
        smoother(RENO, TFRCP),
    )


def _draw(variations: Variations) -> Figure:
    curves = [
        curve(label, list(by_scale), [interval(values) for values in by_scale.values()])
        for label, by_scale in variations.items()
    ]
    title = f"{EACH} of a kind beside {EACH} Reno senders, 10 Mbit/s, 100 ms"
    return plot.curves(
        curves, "time scale (s)", "coefficient of variation (ratio)", title, log_x=True
    )


EXPERIMENT = entry(
    "1",
    "How smooth are the senders' rates on different time scales?",
    "Over a second and less TFRC varies half as much as Reno, and TFRCP more than Reno; over many "
    "seconds AIMD on a rate varies least.",
    20.0,
    conclude,
    runs,
)
