"""Figure 16: ten senders, and buffers from a quarter of the pipe to four of them.

Both parts are of the same runs. Every control also runs with as little jitter as in figures of one sender, so that the
packets of each sender travel as a train: then ABSE leaves a sixth of the link idle at one pipe of buffer.
"""

from collections.abc import Mapping
from functools import partial

from matplotlib.figure import Figure

from ackclock import plot
from ackclock.metrics import Interval
from ackclock.reproduction import Band, Claim, Origin, Outcome, Run, Table
from ackclock.result import Result
from ackclock_reproductions.replicates import curve, means, measured, of_replicates, quotient
from ackclock_reproductions.westwood.over_parameter import BOTTLENECK, FLOW, JITTER, JITTER_S
from ackclock_reproductions.westwood.paper import entry, reading
from ackclock_reproductions.westwood.paths import one_bottleneck
from ackclock_reproductions.westwood.senders import (
    ABSE,
    ABSE_LITERAL,
    BE,
    CUBIC,
    DURATION_S,
    NEWRENO,
    PLUS,
    WARMUP_S,
    scenario,
    settings,
    tcp,
)

PATH = one_bottleneck(45)
SENDERS = 10
BUFFERS = (100, 200, 400, 800, 1600)
SMALL, PIPE = BUFFERS.index(100), BUFFERS.index(400)
CONTROLS = (NEWRENO, BE, ABSE, ABSE_LITERAL, PLUS, CUBIC)
TRAINS = "in trains"

#: How much more than each of the others BE drops with the smallest buffer.
FAR_MORE = 2.0
#: As good as NewReno, which fills the link: what is delivered in order between two moments may be off by all that is
#: underway at one of them, for each of the two.
AS_GOOD = round(1 - 2 * (PATH.pipe_packets + BUFFERS[PIPE]) * PATH.service_time_s / (DURATION_S - WARMUP_S), 4)


def runs() -> Mapping[str, Run]:
    """Ten senders of each control, by the buffer; with trains broken up, and in trains."""
    sweep = {"hops.bottleneck.queue.limit": [f"{packets} packets" for packets in BUFFERS]}
    spread = {"": JITTER_S, f", {TRAINS}": None}
    return {
        f"{one.label}{how}": Run(
            scenario(
                f"{one.label}{how}", PATH,
                [tcp(FLOW, one, PATH, count=SENDERS, jitter_s=jitter_s)],
                sample_interval_s=5.0, sweep=sweep,
            )
        )
        for how, jitter_s in spread.items()
        for one in CONTROLS
    }  # fmt: skip


def conclude_goodput(results: Mapping[str, Result]) -> Outcome:
    """16a: what the senders get together."""
    found = {name: means(one, "goodput", FLOW) for name, one in results.items()}

    def over_newreno(label: str, point: int, how: str = "") -> Interval:
        of = [of_replicates(results[f"{one}{how}"], "goodput", FLOW, point) for one in (label, NEWRENO.label)]
        return quotient(*of)

    claims = (
        Claim.of(
            "ABSE uses the link best, with 100 packets (over NewReno)", over_newreno(ABSE_LITERAL.label, SMALL),
            Band(1.0), "times",
        ),
        Claim.of(
            "BE uses it worst, with 100 packets (over NewReno)", over_newreno(BE.label, SMALL), Band(most=1.0), "times"
        ),
        Claim.of(
            "ABSE uses it best, or as well as any, with a buffer of one pipe (over NewReno)",
            over_newreno(ABSE_LITERAL.label, PIPE), Band(AS_GOOD), "times",
        ),
        Claim.of(
            "BE improves with the buffer (1600 packets over 100)",
            quotient(
                of_replicates(results[BE.label], "goodput", FLOW, len(BUFFERS) - 1),
                of_replicates(results[BE.label], "goodput", FLOW, SMALL),
            ),
            Band(1.0), "times",
        ),
        Claim.of(
            "In trains ABSE leaves a part of the link idle with a buffer of one pipe (over NewReno)",
            over_newreno(ABSE.label, PIPE, f", {TRAINS}"), Band(most=0.95), "times", origin=Origin.INFERRED,
        ),
    )  # fmt: skip
    draw = partial(_draw, found, "goodput (Mbit/s)", "Ten senders on 45 Mbit/s, 70 ms", PATH.goodput_mbit_per_s)
    return _outcome(results, claims, draw, _table("Goodput of all senders in Mbit/s", found))


def conclude_drops(results: Mapping[str, Result]) -> Outcome:
    """16b: what is dropped of their packets."""
    found = {name: means(one, "hop_drops", BOTTLENECK) for name, one in results.items()}

    def over(label: str, other: str, point: int) -> Interval:
        return quotient(*(of_replicates(results[one], "hop_drops", BOTTLENECK, point) for one in (label, other)))

    claims = (
        *(
            Claim.of(
                f"BE has the highest drop rate with 100 packets (over {other.label})",
                over(BE.label, other.label, SMALL), Band(FAR_MORE), "times",
            )
            for other in (NEWRENO, ABSE, ABSE_LITERAL)
        ),
        Claim.of(
            "The drop rate of BE falls with the buffer (1600 packets over 100)",
            quotient(
                *(of_replicates(results[BE.label], "hop_drops", BOTTLENECK, one) for one in (len(BUFFERS) - 1, SMALL))
            ),
            Band(most=1.0), "times",
        ),
        Claim.of(
            "ABSE drops no more than NewReno with a buffer of one pipe",
            over(ABSE_LITERAL.label, NEWRENO.label, PIPE), Band(most=1.0), "times",
        ),
        Claim.of(
            "ABSE drops no more than NewReno with 100 packets", over(ABSE_LITERAL.label, NEWRENO.label, SMALL),
            Band(most=1.0), "times", documented=False,
        ),
    )  # fmt: skip
    timeouts = {name: means(one, "timeouts", FLOW) for name, one in results.items()}
    draw = partial(_draw, found, "packets dropped (%)", "What the buffer drops of ten senders' packets", None)
    tables = (_table("Dropped at the bottleneck, in %", found), _table("Timeouts in the whole run", timeouts))
    return _outcome(results, claims, draw, *tables)


def _outcome(
    results: Mapping[str, Result], claims: tuple[Claim, ...], draw: partial[Figure], *tables: Table
) -> Outcome:
    jitter = f"send times {JITTER}"
    return Outcome(
        reading(f"ABSE as printed, and {jitter}"), (), draw, claims,
        settings(PATH, results, jitter=JITTER), tables,
    )  # fmt: skip


def _table(title: str, found: Mapping[str, list[Interval]]) -> Table:
    rows: dict[tuple[str, ...], dict[str, Interval]] = {
        (name,): {f"{packets} packets": one for packets, one in zip(BUFFERS, of, strict=True)}
        for name, of in found.items()
    }
    return measured(title, ("control",), rows)


def _draw(found: Mapping[str, list[Interval]], y_label: str, title: str, limit: float | None) -> Figure:
    places = [float(place) for place in range(len(BUFFERS))]
    curves = [] if limit is None else [plot.Curve("link", [places[0], places[-1]], [limit] * 2, "reference")]
    drawn = [one.label for one in (NEWRENO, BE, ABSE_LITERAL, PLUS, CUBIC)] + [f"{ABSE.label}, {TRAINS}"]
    curves += [curve(name, places, found[name]) for name in drawn]
    names = [f"{packets}" for packets in BUFFERS]
    return plot.curves(curves, "buffer (packets; the pipe is 378)", y_label, title, categories=names)


GOODPUT = entry(
    "16a",
    "How well do ten senders use a link, by its buffer?",
    "ABSE uses it best; BE worst where the buffer is small, and better the larger it is.",
    40.0,
    conclude_goodput,
    runs,
)
DROPS = entry(
    "16b",
    "How many of ten senders' packets are dropped, by the buffer?",
    "BE drops most where the buffer is small, because of timeouts; ABSE no more than NewReno.",
    1.0,
    conclude_drops,
    runs,
)
