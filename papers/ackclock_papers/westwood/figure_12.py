"""Figure 12: the goodput of one sender by the buffer."""

from collections.abc import Mapping
from functools import partial

from matplotlib.figure import Figure

from ackclock import Result, plot
from ackclock.metrics import Interval
from ackclock.reproduction import Band, Claim, Origin, Outcome, Run, words
from ackclock_papers.replicates import curve, means, measured, of_replicates, quotient
from ackclock_papers.westwood.over_parameter import FLOW
from ackclock_papers.westwood.paper import basis, entry
from ackclock_papers.westwood.paths import one_bottleneck
from ackclock_papers.westwood.senders import (
    ABSE,
    ABSE_LATER,
    BE,
    CUBIC,
    NEWRENO,
    PLUS,
    scenario,
    settings,
    tcp,
)

PATH = one_bottleneck(5)
BUFFERS = (4, 10, 20, 40, 80)
CONTROLS = (NEWRENO, BE, ABSE, ABSE_LATER, PLUS, CUBIC)

#: NewReno's goodput with each buffer, in Mbit/s, by an unpublished reference simulation: the figure
#: was not available.
NEWRENO_MBIT_PER_S = {4: 3.88, 10: 4.23, 20: 4.57, 40: 4.80}
NEAR_MBIT_PER_S = 0.2
SMALL, NEAR_THE_PIPE = 4, 40
#: Threshold between "much higher" and "severely degraded": more than slightly below the link's
#: payload rate.
HIGH_MBIT_PER_S = 0.9 * PATH.goodput_mbit_per_s


def near(packets: int) -> Band:
    """Returns the band accepted for NewReno with a buffer."""
    expected = NEWRENO_MBIT_PER_S[packets]
    return Band(expected - NEAR_MBIT_PER_S, expected + NEAR_MBIT_PER_S)


def runs() -> Mapping[str, Run]:
    """Returns runs of one sender of each control, by the buffer."""
    sweep = {"hops.bottleneck.queue.limit": [f"{packets} packets" for packets in BUFFERS]}
    return {
        control.label: Run(
            scenario(
                control.label, PATH, [tcp(FLOW, control, PATH)], sample_interval_s=1.0, sweep=sweep
            )
        )
        for control in CONTROLS
    }  # fmt: skip


def conclude(results: Mapping[str, Result]) -> Outcome:
    """Compares goodput by buffer."""
    goodputs = {name: means(result, "goodput", FLOW) for name, result in results.items()}
    newreno = dict(zip(BUFFERS, goodputs[NEWRENO.label], strict=True))
    as_simulated = tuple(
        Claim.of(
            f"NewReno gets {expected} Mbit/s with {packets} packets (reference simulation)",
            newreno[packets], near(packets), "Mbit/s", origin=Origin.REFERENCE,
        )
        for packets, expected in NEWRENO_MBIT_PER_S.items()
    )  # fmt: skip
    newreno_4 = of_replicates(results[NEWRENO.label], "goodput", FLOW, BUFFERS.index(SMALL))
    full = [PATH.goodput_mbit_per_s] * len(newreno_4)
    high = tuple(
        Claim.of(
            f"{control.label} achieves much higher utilisation despite a small buffer: over "
            f"NewReno, {SMALL} packets",
            quotient(
                of_replicates(results[control.label], "goodput", FLOW, BUFFERS.index(SMALL)),
                newreno_4,
            ),
            words.MUCH_MORE, "times", than=1.0,
        )
        for control in (ABSE, BE)
    )  # fmt: skip
    suffers = Claim.of(
        f"NewReno's utilisation is severely degraded with a small buffer, {SMALL} packets: over "
        "the link's",
        quotient(newreno_4, full), words.MUCH_LESS, "times", than=1.0,
    )  # fmt: skip
    catches_up = Claim.of(
        f"It catches up when the buffer approaches the pipe, {NEAR_THE_PIPE} packets of 42: over "
        "the link's",
        quotient(
            of_replicates(results[NEWRENO.label], "goodput", FLOW, BUFFERS.index(NEAR_THE_PIPE)),
            full,
        ),
        words.about("1"), "times",
    )  # fmt: skip
    rows: dict[tuple[str, ...], dict[str, Interval]] = {
        (name,): {
            f"{packets} packets": goodput
            for packets, goodput in zip(BUFFERS, by_buffer, strict=True)
        }
        for name, by_buffer in goodputs.items()
    }
    table = measured("Goodput in Mbit/s, by buffer", ("control",), rows)
    claims = (suffers, catches_up, *high, *as_simulated)
    return Outcome(basis(), (), partial(_draw, goodputs), claims, settings(PATH, results), (table,))


def _draw(goodputs: Mapping[str, list[Interval]]) -> Figure:
    curves = [
        plot.Curve("link", [BUFFERS[0], BUFFERS[-1]], [PATH.goodput_mbit_per_s] * 2, "reference")
    ]
    curves += [curve(name, BUFFERS, by_buffer) for name, by_buffer in goodputs.items()]
    return plot.curves(
        curves, "buffer (packets)", "goodput (Mbit/s)", "One sender on 5 Mbit/s, 70 ms"
    )


EXPERIMENT = entry(
    "12",
    "How does the goodput of one sender depend on a small buffer's size?",
    "NewReno loses goodput with small buffers and catches up near the bandwidth-delay product; BE "
    "and ABSE fill the link with any buffer.",
    4.0,
    conclude,
    runs,
)
