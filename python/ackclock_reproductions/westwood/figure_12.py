"""Figure 12: how large a buffer does one sender need?"""

from collections.abc import Mapping
from functools import partial

from matplotlib.figure import Figure

from ackclock import plot
from ackclock.metrics import Interval
from ackclock.reproduction import Band, Claim, Origin, Outcome, Run
from ackclock.result import Result
from ackclock_reproductions.replicates import curve, means, measured
from ackclock_reproductions.westwood.over_parameter import FLOW
from ackclock_reproductions.westwood.paper import entry, reading
from ackclock_reproductions.westwood.paths import one_bottleneck
from ackclock_reproductions.westwood.senders import (
    ABSE,
    ABSE_LITERAL,
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
CONTROLS = (NEWRENO, BE, ABSE, ABSE_LITERAL, PLUS, CUBIC)

#: What NewReno gets with each buffer, in Mbit/s: from an independent simulation, since the figure could not be had.
NEWRENO_MBIT_PER_S = {4: 3.88, 10: 4.23, 20: 4.57, 40: 4.80}
NEAR_MBIT_PER_S = 0.2
#: What BE and ABSE are to have with every buffer: 98 % of what the link passes.
HIGH_MBIT_PER_S = 4.7


def near(packets: int) -> Band:
    """What is accepted of NewReno with a buffer."""
    expected = NEWRENO_MBIT_PER_S[packets]
    return Band(expected - NEAR_MBIT_PER_S, expected + NEAR_MBIT_PER_S)


def runs() -> Mapping[str, Run]:
    """One sender of each control, by the buffer."""
    sweep = {"hops.bottleneck.queue.limit": [f"{packets} packets" for packets in BUFFERS]}
    return {
        one.label: Run(
            scenario(
                one.label, PATH, [tcp(FLOW, one, PATH)], sample_interval_s=1.0, sweep=sweep
            )
        )
        for one in CONTROLS
    }  # fmt: skip


def conclude(results: Mapping[str, Result]) -> Outcome:
    """Goodput by buffer."""
    found = {name: means(one, "goodput", FLOW) for name, one in results.items()}
    newreno = dict(zip(BUFFERS, found[NEWRENO.label], strict=True))
    as_simulated = tuple(
        Claim.of(
            f"NewReno gets {expected} Mbit/s with {packets} packets (an independent simulation)", newreno[packets],
            near(packets), "Mbit/s", origin=Origin.INFERRED,
        )
        for packets, expected in NEWRENO_MBIT_PER_S.items()
    )  # fmt: skip
    high = tuple(
        Claim.of(
            f"{one.label} stays high with every buffer (the least of them)",
            min(found[one.label], key=lambda of: of.mean), Band(HIGH_MBIT_PER_S), "Mbit/s",
        )
        for one in (BE, ABSE, ABSE_LITERAL)
    )  # fmt: skip
    suffers = Claim.of(
        "NewReno is degraded with small buffers", newreno[4], Band(most=0.9 * PATH.goodput_mbit_per_s), "Mbit/s"
    )
    catches_up = Claim.of(
        "It catches up near the pipe, 42 packets", newreno[40], Band(0.98 * PATH.goodput_mbit_per_s), "Mbit/s"
    )
    rows: dict[tuple[str, ...], dict[str, Interval]] = {
        (name,): {f"{packets} packets": one for packets, one in zip(BUFFERS, of, strict=True)}
        for name, of in found.items()
    }
    table = measured("Goodput in Mbit/s, by buffer", ("control",), rows)
    claims = (suffers, catches_up, *high, *as_simulated)
    return Outcome(reading(), (), partial(_draw, found), claims, settings(PATH, results), (table,))


def _draw(found: Mapping[str, list[Interval]]) -> Figure:
    curves = [plot.Curve("link", [BUFFERS[0], BUFFERS[-1]], [PATH.goodput_mbit_per_s] * 2, "reference")]
    curves += [curve(name, BUFFERS, of) for name, of in found.items()]
    return plot.curves(curves, "buffer (packets)", "goodput (Mbit/s)", "One sender on 5 Mbit/s, 70 ms")


EXPERIMENT = entry(
    "12",
    "How much does one sender get where the buffer is small?",
    "NewReno suffers from small buffers and catches up near the pipe; BE and ABSE fill the link with any.",
    4.0,
    conclude,
    runs,
)
