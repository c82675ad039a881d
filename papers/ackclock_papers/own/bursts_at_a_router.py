"""Comparison of predictions for a buffer: Poisson arrivals, bursts of them, a saw-tooth, packets.

The paths and the runs are those of the publication on HighSpeed TCP at a router.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache, partial

import numpy as np
from matplotlib.figure import Figure

from ackclock import Result, plot
from ackclock.metrics import interval
from ackclock.reproduction import (
    Band,
    Basis,
    Cell,
    Claim,
    Comparison,
    Experiment,
    Origin,
    Outcome,
    Run,
    Setting,
)
from ackclock_papers.hstcp import figure_14
from ackclock_papers.hstcp.router import (
    BOTTLENECK,
    CLOCKED,
    COMPARED,
    PACED,
    PACING,
    SHARES,
    SLOWER,
    TCP,
    Array,
    drop_tail,
)
from ackclock_papers.replicates import Rows, curve, measured, of_replicates

#: Numbers in the note: percent of the link used, by buffer in packets.
SAID_OF = (CLOCKED, PACED, "M/M/1/K", "M/M/1/K, bursts of 8", "saw-tooth")
SAID = {
    "125": ("20.4", "84.9", "93.4", "52.1", "85.3"),
    "250": ("37.8", "85.8", "96.9", "73.3", "85.9"),
    "625": ("90.2", "87.9", "98.9", "89.2", "87.8"),
    "1250": ("94.4", "90.8", "99.5", "94.8", "90.7"),
    "2500": ("97.7", "95.5", "99.8", "97.6", "95.0"),
    "5000": ("99.9", "99.3", "99.9", "98.9", "99.3"),
    "12500": ("100.0", "100.0", "100.0", "99.6", "100.0"),
}
#: Tolerance for means of three replicates, in percent of the link. A recomputed number is the same
#: except for its last digit.
NEAR = 0.05
#: Two other ACK-clocked cases, and the shares of the largest buffer at which they run.
LINUX, ACCESS = "Linux's TCP of 2012", "behind links of 200 Mbit/s"
FEW = (0.02, 0.1, 0.2)
#: Numbers in the note for these cases, in percent of the link, by buffer.
SAID_OF_OTHERS = {LINUX: ("34.5", "90.8", "95.1"), ACCESS: ("80.6", "97.1", "97.5")}
#: A model is right if it is off by at most one percent of the link's rate. This was fixed before
#: any run.
RIGHT = Band(-1, 1)
#: The smallest of `SHARES` from which trains make no difference to the saw-tooth.
ENOUGH = 0.05


def conclude(results: Mapping[str, Result]) -> Outcome:
    """Compares models with packets, by buffer."""
    used = {
        sending: {
            share: of_replicates(results[sending], "utilisation", BOTTLENECK, point)
            for point, share in enumerate(SHARES)
        }
        for sending in PACING
    }
    modelled = {
        label: dict(zip(COMPARED, values, strict=True))
        for label, values in figure_14.models().items()
    }
    buffers = dict(zip(SHARES, SLOWER.buffers(), strict=True))
    cells = tuple(
        cell
        for share, texts in zip(SHARES, SAID.values(), strict=True)
        for cell in _cells(
            str(buffers[share]),
            texts,
            {label: by_share[share] for label, by_share in (used | modelled).items()},
        )
    )
    rows: Rows = {
        (str(buffers[share]), sending): {
            **{
                f"{label} above it": interval(by_share[share] - np.array(used[sending][share]))
                for label, by_share in modelled.items()
            },
            "g that fits": interval(
                [_fitting(buffers[share], value) for value in used[sending][share]]
            ),
            "dropped, %": interval(of_replicates(results[sending], "hop_drops", BOTTLENECK, point)),
        }
        for point, share in enumerate(SHARES)
        for sending in PACING
    }
    others: Rows = {
        (label,): {
            f"{buffer} packets, %": interval(
                of_replicates(results[label], "utilisation", BOTTLENECK, point)
            )
            for point, buffer in enumerate(SLOWER.buffers(FEW))
        }
        for label in SAID_OF_OTHERS
    }
    cells += tuple(
        Cell.simulated(
            (str(buffer),), f"packets, {label}", text, others[label,][f"{buffer} packets, %"], NEAR
        )
        for label, texts in SAID_OF_OTHERS.items()
        for buffer, text in zip(SLOWER.buffers(FEW), texts, strict=True)
    )
    comparison = Comparison(
        "Link busy, %", Origin.STATED, ("buffer, packets",), cells, f"within {NEAR:g}"
    )
    table = measured("Models above packets, in percent of the link", ("buffer", "packets"), rows)
    return Outcome(
        Basis(),
        (comparison,),
        partial(_draw, used, modelled),
        _claims(used, modelled),
        _SETTINGS,
        (table, measured("Link busy with others", ("packets",), others)),
    )


def _cells(
    buffer: str, texts: tuple[str, ...], busy: Mapping[str, list[float] | float]
) -> list[Cell]:
    cells = []
    for label, text in zip(SAID_OF, texts, strict=True):
        ours = busy[label]
        if isinstance(ours, list):
            cells.append(Cell.simulated((buffer,), f"packets, {label}", text, interval(ours), NEAR))
        else:
            cells.append(Cell.of((buffer,), label, text, float(ours)))
    return cells


def _fitting(buffer: int, used: float) -> float:
    """Returns the integer g with which bursts predict the measured utilisation best, in percent."""
    return float(1 + np.abs(_with_bursts(buffer) - used).argmin())


@cache
def _with_bursts(buffer: int) -> Array:
    """Returns the utilisation in percent with bursts of g = 1, 2, ... packets."""
    g = np.arange(1, buffer // 2)
    says = SLOWER.answers("mm1k_burst", places=np.full(g.shape, buffer), burst=g)
    return 100 * says["utilisation"]


def _claims(
    used: Mapping[str, Mapping[float, list[float]]], modelled: Mapping[str, Mapping[float, float]]
) -> tuple[Claim, ...]:
    def worst(label: str, sending: str, shares: Band) -> tuple[float, Array]:
        """Returns the share where a model is furthest from packets, and its excess there."""
        apart = {
            s: modelled[label][s] - np.array(used[sending][s]) for s in SHARES if shares.holds(s)
        }
        share = max(apart, key=lambda s: abs(float(apart[s].mean())))
        return share, apart[share]

    def is_right(label: str, sending: str, shares: Band, where: str) -> Claim:
        share, above = worst(label, sending, shares)
        words = (
            f"{label} is right about {sending} packets{where}; at {100 * share:g} %, where it is "
            "worst, above them"
        )
        return Claim.of(words, interval(above), RIGHT, "% of the link", origin=Origin.STATED)

    def is_wrong(label: str, sending: str, shares: Band, where: str) -> Claim:
        """Returns the opposite claim, for models that the note calls wrong."""
        right = is_right(label, sending, shares, where)
        words = right.said.replace(" is right about ", " is wrong about ")
        return replace(right, said=words, holds=not right.holds, accepted=f"not {right.accepted}")

    every, large = Band(), Band(least=ENOUGH)
    return (
        is_right("saw-tooth", PACED, every, ""),
        is_wrong("saw-tooth", CLOCKED, every, ""),
        is_wrong("M/M/1/K", PACED, large, f" from {100 * ENOUGH:g} % on"),
        is_wrong("M/M/1/K", CLOCKED, large, f" from {100 * ENOUGH:g} % on"),
        is_wrong("M/M/1/K, bursts of 8", CLOCKED, large, f" from {100 * ENOUGH:g} % on"),
        is_wrong("M/M/1/K, bursts of 8", CLOCKED, every, ""),
    )


def _draw(
    used: Mapping[str, Mapping[float, list[float]]], modelled: Mapping[str, Mapping[float, float]]
) -> Figure:
    curves = [
        curve(
            f"packets, {sending}",
            SLOWER.buffers(),
            [interval(values) for values in by_share.values()],
        )
        for sending, by_share in used.items()
    ]
    curves += [
        plot.Curve(label, SLOWER.buffers(), [modelled[label][share] for share in SHARES])
        for label in SAID_OF if label in modelled
    ]  # fmt: skip
    title = "Ten HighSpeed TCP flows, 1 Gbit/s, 120 ms, drop-tail"
    return plot.curves(curves, "buffer (packets)", "link busy (%)", title, log_x=True)


_SETTINGS = (
    Setting(
        "path",
        "1 Gbit/s, ten flows of 115.5 to 124.5 ms, packets of 1000 bytes, drop-tail",
        Origin.CHOSEN,
    ),
    Setting(
        "TCP", "HighSpeed, preset ns2-2002 with SACK, no link before the router", Origin.CHOSEN
    ),
)


def runs() -> Mapping[str, Run]:
    """Returns the runs of the publication's figure, and a few of the other cases."""
    queues = drop_tail(SLOWER.buffers(FEW))
    linux = TCP | {"preset": "linux-2012"}
    return {
        **figure_14.runs(),
        LINUX: Run(SLOWER.scenario(queues, CLOCKED, linux)),
        ACCESS: Run(SLOWER.scenario(queues, CLOCKED, access_mbit_per_s=200)),
    }


EXPERIMENT = Experiment(
    "buffers-figure-1",
    "buffers",
    "ackclock, note “Why M/M/1/K is too good”, 2026",
    "Figure 1",
    "Which prediction for a router's buffer matches the simulated packets?",
    "The saw-tooth matches if packets are paced; Poisson arrivals match nowhere, and bursts of "
    "them only by fitting.",
    60.0,
    conclude,
    runs,
)
