"""Figure 16: ten senders, with buffers from a quarter of the pipe to four pipes.

Both parts use the same runs. Every control also runs with as little jitter as in the figures of one
sender, so the packets of each sender travel as a train. ABSE in readings A and B then leaves a
sixth of the link idle with a buffer of one pipe.
"""

from collections.abc import Mapping
from functools import partial

from matplotlib.figure import Figure

from ackclock import Result, plot
from ackclock.metrics import Interval
from ackclock.reproduction import Band, Claim, Origin, Outcome, Run, Table
from ackclock_papers.replicates import curve, means, measured, of_replicates, quotient
from ackclock_papers.westwood.over_parameter import BOTTLENECK, FLOW, JITTER, JITTER_S
from ackclock_papers.westwood.paper import basis, entry
from ackclock_papers.westwood.paths import one_bottleneck
from ackclock_papers.westwood.senders import (
    ABSE,
    ABSE_LATER,
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
CONTROLS = (NEWRENO, BE, ABSE, ABSE_LATER, PLUS, CUBIC)
TRAINS = "in trains"

#: As good as NewReno, which fills the link. The payload delivered in order in an interval may be
#: off by everything in flight at one of its ends, for each of the two controls.
AS_GOOD = round(
    1 - 2 * (PATH.pipe_packets + BUFFERS[PIPE]) * PATH.service_time_s / (DURATION_S - WARMUP_S), 4
)


def runs() -> Mapping[str, Run]:
    """Returns runs of ten senders of each control by the buffer, without and with trains."""
    sweep = {"hops.bottleneck.queue.limit": [f"{packets} packets" for packets in BUFFERS]}
    spread = {"": JITTER_S, f", {TRAINS}": None}
    return {
        f"{control.label}{how}": Run(
            scenario(
                f"{control.label}{how}", PATH,
                [tcp(FLOW, control, PATH, count=SENDERS, jitter_s=jitter_s)],
                sample_interval_s=5.0, sweep=sweep,
            )
        )
        for how, jitter_s in spread.items()
        for control in CONTROLS
    }  # fmt: skip


def conclude_goodput(results: Mapping[str, Result]) -> Outcome:
    """Concludes 16a: the total goodput of the senders."""
    goodputs = {name: means(result, "goodput", FLOW) for name, result in results.items()}

    def over(label: str, other: str, point: int, how: str = "") -> Interval:
        return quotient(
            *(
                of_replicates(results[f"{name}{how}"], "goodput", FLOW, point)
                for name in (label, other)
            )
        )

    others = (NEWRENO.label, BE.label)
    claims = (
        *(
            Claim.of(
                f"ABSE achieves the best utilisation of the three, with 100 packets: over {other}",
                over(ABSE.label, other, SMALL), Band(1.0), "times", than=1.0,
            )
            for other in others
        ),
        Claim.of(
            "BE registers the worst with a small buffer, 100 packets: over NewReno",
            over(BE.label, NEWRENO.label, SMALL), Band(most=1.0), "times", than=1.0,
        ),
        *(
            Claim.of(
                f"ABSE is as good as any with {BUFFERS[point]} packets: over {other}",
                over(ABSE.label, other, point), Band(AS_GOOD), "times",
            )
            for point in range(SMALL + 1, len(BUFFERS))
            for other in others
        ),
        Claim.of(
            "As the buffer grows BE achieves better utilisation: 1600 packets over 100",
            quotient(
                *(of_replicates(results[BE.label], "goodput", FLOW, point)
                  for point in (len(BUFFERS) - 1, SMALL))
            ),
            Band(1.0), "times", than=1.0,
        ),
        Claim.of(
            "In trains ABSE in readings A and B leaves part of the link idle with a buffer of one "
            "pipe: over NewReno",
            over(ABSE_LATER.label, NEWRENO.label, PIPE, f", {TRAINS}"), Band(most=0.95), "times",
            origin=Origin.INFERRED,
        ),
    )  # fmt: skip
    draw = partial(
        _draw,
        goodputs,
        "goodput (Mbit/s)",
        "Ten senders on 45 Mbit/s, 70 ms",
        PATH.goodput_mbit_per_s,
    )
    return _outcome(results, claims, draw, _table("Goodput of all senders in Mbit/s", goodputs))


def conclude_drops(results: Mapping[str, Result]) -> Outcome:
    """Concludes 16b: the share of their packets that is dropped."""
    drops = {name: means(result, "hop_drops", BOTTLENECK) for name, result in results.items()}

    def over(label: str, other: str, point: int) -> Interval:
        return quotient(
            *(
                of_replicates(results[name], "hop_drops", BOTTLENECK, point)
                for name in (label, other)
            )
        )

    claims = (
        *(
            Claim.of(
                f"BE has higher drop rates with a small buffer, 100 packets: over {other.label}",
                over(BE.label, other.label, SMALL), Band(1.0), "times", than=1.0,
            )
            for other in (NEWRENO, ABSE)
        ),
        *(
            Claim.of(
                f"ABSE's drop rate is no higher than NewReno's, with {packets} packets: over it",
                over(ABSE.label, NEWRENO.label, point), Band(most=1.0), "times",
            )
            for point, packets in enumerate(BUFFERS)
        ),
        Claim.of(
            "The drop rate of BE falls with the buffer: 1600 packets over 100",
            quotient(
                *(of_replicates(results[BE.label], "hop_drops", BOTTLENECK, point)
                  for point in (len(BUFFERS) - 1, SMALL))
            ),
            Band(most=1.0), "times", than=1.0, origin=Origin.INFERRED,
        ),
    )  # fmt: skip
    timeouts = {name: means(result, "timeouts", FLOW) for name, result in results.items()}
    draw = partial(
        _draw, drops, "packets dropped (%)", "What the buffer drops of ten senders' packets", None
    )
    tables = (
        _table("Dropped at the bottleneck, in %", drops),
        _table("Timeouts in the whole run", timeouts),
    )
    return _outcome(results, claims, draw, *tables)


def _outcome(
    results: Mapping[str, Result], claims: tuple[Claim, ...], draw: partial[Figure], *tables: Table
) -> Outcome:
    return Outcome(
        basis(), (), draw, claims,
        settings(PATH, results, jitter=JITTER), tables,
    )  # fmt: skip


def _table(title: str, by_sender: Mapping[str, list[Interval]]) -> Table:
    rows: dict[tuple[str, ...], dict[str, Interval]] = {
        (name,): {
            f"{packets} packets": value for packets, value in zip(BUFFERS, by_buffer, strict=True)
        }
        for name, by_buffer in by_sender.items()
    }
    return measured(title, ("control",), rows)


def _draw(
    by_sender: Mapping[str, list[Interval]], y_label: str, title: str, limit: float | None
) -> Figure:
    places = [float(place) for place in range(len(BUFFERS))]
    curves = (
        []
        if limit is None
        else [plot.Curve("link", [places[0], places[-1]], [limit] * 2, "reference")]
    )
    drawn = [control.label for control in (NEWRENO, BE, ABSE, PLUS, CUBIC)] + [
        f"{ABSE_LATER.label}, {TRAINS}"
    ]
    curves += [curve(name, places, by_sender[name]) for name in drawn]
    names = [f"{packets}" for packets in BUFFERS]
    return plot.curves(
        curves, "buffer (packets; the pipe is 378)", y_label, title, categories=names
    )


GOODPUT = entry(
    "16a",
    "How does the goodput of ten senders depend on the buffer?",
    "Ten senders of each control on 45 Mbit/s, with buffers from a quarter of the bandwidth-delay "
    "product to four times as much.",
    40.0,
    conclude_goodput,
    runs,
)
DROPS = entry(
    "16b",
    "How do the packet drops of ten senders depend on the buffer?",
    "With small buffers BE drops most, and ABSE more than NewReno; with large buffers ABSE drops "
    "less than NewReno.",
    1.0,
    conclude_drops,
    runs,
)
