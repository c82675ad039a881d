"""Figure 14: the utilisation of 1 Gbit/s by ten flows, by the size of a drop-tail buffer."""

from collections.abc import Mapping
from functools import partial

import numpy as np
from matplotlib.figure import Figure

from ackclock import Result, plot
from ackclock.metrics import interval
from ackclock.reproduction import Band, Cell, Claim, Comparison, Origin, Outcome, Run, words
from ackclock_papers.hstcp.paper import basis, entry
from ackclock_papers.hstcp.router import (
    CLOCKED,
    COMPARED,
    PACED,
    PACING,
    SHARES,
    SLOWER,
    WITHIN,
    Array,
    cells,
    loss_table,
    losses,
    utilisation,
)
from ackclock_papers.replicates import Rows, curve, measured, quotient

#: Utilisation by the models, from an unpublished reference computation, in percent.
MM1K = ("86.28", "93.42", "96.93", "98.92", "99.52", "99.79", "99.91", "99.97")
SAW_TOOTH = ("84.9", "85.3", "85.9", "87.9", "90.7", "95.0", "99.3", "100.0")
LAST_DIGIT = 0.1
#: Utilisation by the simulation of windows, by share of the largest buffer. It is from one run;
#: ours is the mean of three.
WINDOWS = {0.01: "85.5", 0.05: "88.1", 0.1: "91.0", 0.2: "95.4", 0.4: "99.7", 1.0: "100.0"}
RUN_APART = 1.0

#: Claims at 10 % and 20 % of the bandwidth-delay product, which is the largest buffer.
TENTH, FIFTH = 0.1, 0.2
MORE_THAN, ABOUT = Band(least=90), words.about("98", whole=100)
#: "p_1 = 10^-3", the loss rate at which a window is HighSpeed TCP's smallest.
P_1 = words.power_of_ten(-3)
#: An uncommon drop: the utilisation at this small share of the buffer, over that at a tenth.
SMALL, SHARP = 0.02, words.MUCH_LESS


def runs() -> Mapping[str, Run]:
    """Returns runs with drop-tail buffers of all sizes, ACK-clocked and paced."""
    return {sending: SLOWER.drop_tail(sending) for sending in PACING}


def conclude(results: Mapping[str, Result]) -> Outcome:
    """Compares utilisation by buffer: of packets, and of four models."""
    used = {
        sending: dict(zip(SHARES, utilisation(results[sending]), strict=True)) for sending in PACING
    }
    modelled = models()
    compared = (
        *cells(SLOWER, "M/M/1/K, %", MM1K, modelled["M/M/1/K"]),
        *cells(SLOWER, "saw-tooth, %", SAW_TOOTH, modelled["saw-tooth"], LAST_DIGIT),
        *_windows(modelled["windows"]),
    )
    comparison = Comparison(
        "Utilisation by model, reference computation", Origin.REFERENCE, ("buffer, packets",),
        compared,
        f"{WITHIN}, all of it for the saw-tooth, {RUN_APART:g} where windows are simulated",
    )  # fmt: skip
    rows: Rows = {
        (str(buffer),): {f"{sending}, %": interval(used[sending][share]) for sending in PACING}
        for buffer, share in zip(SLOWER.buffers(), SHARES, strict=True)
    }
    return Outcome(
        basis("packets come in trains"),
        (comparison,),
        partial(_draw, results, modelled),
        _claims(used, modelled, results),
        SLOWER.settings(results),
        (measured("Utilisation by packets", ("buffer",), rows), loss_table(SLOWER, results)),
    )


def models() -> dict[str, Array]:
    """Returns the utilisation in percent at the compared buffers, by model."""
    buffers = np.array(SLOWER.buffers(COMPARED))
    asked = {
        "M/M/1/K": SLOWER.answers("mm1k", places=buffers),
        "M/M/1/K, bursts of 8": SLOWER.answers("mm1k_burst", places=buffers, burst=8),
        "saw-tooth": SLOWER.answers("hstcp_sawtooth", buffer=buffers),
        "windows": SLOWER.answers("hstcp_window_sim", buffer=buffers),
    }
    return {label: 100 * answer["utilisation"] for label, answer in asked.items()}


def _windows(ours: Array) -> tuple[Cell, ...]:
    by_share = dict(zip(COMPARED, ours, strict=True))
    buffers = dict(zip(COMPARED, SLOWER.buffers(COMPARED), strict=True))
    return tuple(
        Cell((str(buffers[share]),), "windows, %", text, float(by_share[share]), RUN_APART)
        for share, text in WINDOWS.items()
    )


def _claims(
    used: Mapping[str, Mapping[float, list[float]]],
    modelled: Mapping[str, Array],
    results: Mapping[str, Result],
) -> tuple[Claim, ...]:
    trains = used[CLOCKED]
    model = dict(zip(COMPARED, modelled["M/M/1/K"], strict=True))

    def falls(sending: str, origin: Origin) -> Claim:
        sentence = (
            f"below a tenth utilisation drops uncommonly ({sending}): at {100 * SMALL:g} %, over "
            "that at a tenth"
        )
        left = quotient(used[sending][SMALL], used[sending][TENTH])
        holds = sending == CLOCKED
        return Claim.of(sentence, left, SHARP, "times", than=1.0, documented=holds, origin=origin)

    lost = dict(zip(SHARES, losses(results[CLOCKED]), strict=True))
    means = {share: interval(values).mean for share, values in lost.items()}
    near = [share for share, mean in means.items() if P_1.holds(mean)]
    return (
        Claim(
            "in simulations the loss rate is mostly equal to p_1 = 10^-3",
            f"with {len(near)} of {len(means)} buffers; it is {min(means.values()):.1e} to "
            f"{max(means.values()):.1e}",
            2 * len(near) > len(means),
            documented=False,
            accepted="10^-3.5 to 10^-2.5 with more than half of the buffers",
            why="at p_1 windows are 38 segments; ten flows that fill the link need windows of more "
            "than a thousand, and so less loss",
        ),
        Claim(
            "with a small buffer HighSpeed TCP may be no more than standard TCP, which is its law "
            f"from p_1 on: the loss rate with {100 * SMALL:g} % of the buffer",
            f"{means[SMALL]:.1e}", means[SMALL] >= P_1.least,
            accepted=f"at least {P_1.least:.1e}",
        ),
        Claim.of(
            "a tenth of the product sustains more than 90 %", interval(trains[TENTH]), MORE_THAN,
            "%",
        ),
        Claim.of("around a fifth gives nearly 98 %", interval(trains[FIFTH]), ABOUT, "%"),
        falls(CLOCKED, Origin.PRINTED),
        Claim.of(
            "utilisation grows with the buffer: all of it over a fiftieth",
            quotient(trains[1.0], trains[SMALL]), Band(1), "times", than=1.0,
        ),
        *(
            Claim.of(
                "analysis (M/M/1/K) and simulation are quite close: the one over the other, "
                f"{100 * share:g} % of the buffer",
                interval(model[share] / np.array(trains[share])), words.about("1"), "times",
                documented=share >= TENTH,
            )
            for share in (SMALL, TENTH, FIFTH, 1.0)
        ),
        falls(PACED, Origin.INFERRED),
    )  # fmt: skip


def _draw(results: Mapping[str, Result], modelled: Mapping[str, Array]) -> Figure:
    curves = [
        curve(
            f"packets, {sending}",
            SLOWER.buffers(),
            [interval(values) for values in utilisation(results[sending])],
        )
        for sending in PACING
    ]
    curves += [
        plot.Curve(label, SLOWER.buffers(COMPARED), list(values))
        for label, values in modelled.items()
    ]
    title = "Ten HighSpeed TCP flows, 1 Gbit/s, 116 to 124 ms, drop-tail"
    return plot.curves(curves, "buffer (packets)", "link busy (%)", title, log_x=True)


EXPERIMENT = entry(
    "14",
    "How does utilisation of a 1 Gbit/s link depend on the buffer with drop-tail?",
    "Utilisation is more than 90 % with a tenth of the largest buffer and about 98 % with a "
    "fifth; below a tenth it falls sharply.",
    60.0,
    conclude,
    runs,
)
