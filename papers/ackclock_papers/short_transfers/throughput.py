"""Figures 4 to 7: the throughput of a transfer, by its size.

In Figures 4 and 5 the receiver sets how many segments an ACK covers. In 6 and 7 it acknowledges
every other segment, and the sender counts ACKs or bytes. The paper's curves are simulated; only
their description in the text is known.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure

from ackclock import Result, plot
from ackclock.reproduction import Cell, Claim, Comparison, Experiment, Origin, Outcome, Run, Table
from ackclock_papers.short_transfers.paper import ACKS, BUFFERS, basis, entry, settings
from ackclock_papers.short_transfers.transfers import (
    BYTE_COUNTING,
    CUBIC,
    HYSTART,
    NEWRENO,
    RENO,
    SACK,
    Sender,
    modelled,
    number,
    rates,
    scenario,
)

SIZES = (20, 40, 60, 80, 100, *range(120, 601, 20), 1000, 5000)
DURATION_S, SAMPLE_S = 400.0, 10.0
GRID = np.unique(np.concatenate([np.geomspace(20, 5000, 150), np.arange(80, 600, 5)]))

#: Sizes, and packets per second at these sizes by buffer and sender: from an unpublished reference
#: computation of the model, and from a packet-level reference simulation.
TOLD = (60, 100, 200, 300, 400, 600, 1000, 5000)
MODEL = {
    (20, "d = 1"): ("18.6", "26.4", "18.8", "21.2", "24.7", "31.0", "40.5", "83.3"),
    (20, "d = 2"): ("13.1", "19.3", "32.1", "22.0", "23.0", "27.3", "33.9", "71.6"),
    (20, "d = 3"): ("10.8", "15.2", "25.7", "34.8", "23.0", "25.0", "29.9", "60.5"),
    (70, "d = 1"): ("18.6", "26.4", "43.6", "27.3", "31.1", "39.1", "54.0", "98.9"),
    (70, "d = 2"): ("13.1", "19.3", "32.1", "42.7", "35.0", "30.7", "38.4", "77.2"),
    (70, "d = 3"): ("10.8", "15.2", "25.7", "34.8", "42.5", "30.6", "35.1", "66.5"),
    (20, "byte counting"): ("18.6", "26.4", "18.7", "20.4", "23.2", "27.7", "34.9", "73.6"),
    (70, "byte counting"): ("18.6", "26.4", "43.6", "27.3", "31.1", "39.1", "54.0", "98.9"),
}
SIMULATED = {
    (20, "d = 1"): ("18.6", "26.4", "21.0", "21.3", "22.8", "27.6", "36.0", "77.7"),
    (20, "d = 2"): ("14.0", "20.5", "34.1", "25.3", "25.8", "25.1", "29.8", "64.9"),
    (20, "d = 3"): ("12.1", "17.1", "28.4", "38.2", "27.3", "24.8", "26.9", "53.9"),
    (70, "d = 1"): ("18.6", "26.4", "43.6", "29.0", "33.3", "42.6", "57.8", "101.4"),
    (70, "d = 2"): ("14.0", "20.5", "34.1", "45.0", "40.1", "34.4", "35.6", "67.5"),
    (70, "d = 3"): ("12.1", "17.1", "28.4", "38.2", "46.3", "36.8", "34.5", "56.7"),
    (20, "byte counting"): ("19.1", "18.2", "22.5", "21.1", "21.8", "24.6", "30.4", "66.7"),
    (70, "byte counting"): ("19.1", "28.8", "46.8", "30.6", "35.1", "44.9", "60.4", "103.0"),
}
#: Relative tolerance between the engine and that reference simulation.
WITHIN = 0.25
_NEAR_THE_JUMP = "103 segments are the most without loss, and a few packets decide"
_COUNTS_BYTES = (
    "the engine counts bytes in congestion avoidance, too, where the other counts ACKs as the "
    "paper does"
)
_BETWEEN = "we do not know why; the model, with 18.7, is between the two"
EXCEPTED = {
    (20, "byte counting", 100): _NEAR_THE_JUMP,
    (20, "byte counting", 200): _BETWEEN,
    **{(20, "byte counting", size): _COUNTS_BYTES for size in (600, 1000, 5000)},
}

#: Today's senders, all with d = 1.
TODAY = (NEWRENO, SACK, CUBIC, HYSTART)
#: Sizes between these shares of the largest transfer without loss are left out of the claims.
AROUND = (0.9, 1.15)


class Line(NamedTuple):
    """One curve.

    Attributes:
        label: Label in the figure and the tables.
        sender: Sender in the engine.
        acks: Segments that one ACK covers.
        inputs: Inputs of the model.
    """

    label: str
    sender: Sender
    acks: int
    inputs: Mapping[str, float]

    def modelled(self, buffer: int, sizes: Sequence[float]) -> list[float]:
        """Returns packets per second by the model."""
        return modelled("mean_rate", size=sizes, buffer=buffer, **self.inputs)

    def jump(self, buffer: int) -> float:
        """Returns the largest transfer without loss by the model, in segments."""
        return modelled("overflow_segments", size=1, buffer=buffer, **self.inputs)[0]


BY_RECEIVER = tuple(Line(f"d = {d}", RENO, d, {"segments_per_ack": d}) for d in ACKS)
STANDARD = BY_RECEIVER[1]
COUNTING = Line(
    "byte counting", BYTE_COUNTING, 2, {"segments_per_ack": 1, "avoidance_segments_per_ack": 2}
)
BY_SENDER = (STANDARD, COUNTING)


class Curves:
    """Packets per second by size, in the engine and in the model.

    Attributes:
        buffer: B, in packets.
        lines: Curves.
        engine: Values by label.
        model: Values by label.
    """

    def __init__(self, buffer: int, lines: Sequence[Line], results: Mapping[str, Result]) -> None:
        self.buffer, self.lines = buffer, lines
        self.engine = {line.label: np.array(rates(results[line.label], SIZES)) for line in lines}
        self.model = {line.label: np.array(line.modelled(buffer, SIZES)) for line in lines}

    def faster(
        self,
        line: Line,
        other: Line,
        low: float,
        high: float,
        within: tuple[float, float] = (1.0, np.inf),
    ) -> tuple[str, bool]:
        """Returns how many times as fast one curve is as another, and whether that is in a range.

        Only sizes from `low` to `high` count.
        """
        texts, holds = [], True
        for name, rates_of in (("engine", self.engine), ("model", self.model)):
            ratio = np.array([
                rates_of[line.label][place] / rates_of[other.label][place]
                for place, size in enumerate(SIZES)
                if low <= size <= high
            ])  # fmt: skip
            texts.append(f"{name} {ratio.min():.2f} to {ratio.max():.2f} times")
            holds = holds and bool(within[0] <= ratio.min() and ratio.max() <= within[1])
        return ", ".join(texts), holds


def _runs(buffer: int, lines: Sequence[Line], today: Sequence[Sender] = ()) -> Mapping[str, Run]:
    sent = {line.label: (line.sender, line.acks) for line in lines} | {
        sender.label: (sender, 1) for sender in today
    }
    return {
        label: Run(scenario(sender, acks, SIZES, [buffer], DURATION_S, SAMPLE_S))
        for label, (sender, acks) in sent.items()
    }


def _comparisons(curves: Curves) -> tuple[Comparison, ...]:
    def cell(line: Line, size: int, engine: bool) -> Cell:
        place = TOLD.index(size)
        row = (f"{size}", line.label)
        key = curves.buffer, line.label
        if engine:
            ours = curves.engine[line.label][SIZES.index(size)]
            return number(
                SIMULATED[key][place],
                row,
                "packets/s",
                ours,
                WITHIN,
                EXCEPTED.get((*key, size), ""),
            )
        return Cell(
            row, "packets/s", MODEL[key][place], curves.model[line.label][SIZES.index(size)], 0.051
        )

    titles = {
        False: ("The model, reference computation", "within the last digit"),
        True: ("Packet by packet, reference simulation", f"within {WITHIN:.0%}"),
    }
    return tuple(
        Comparison(
            title, Origin.REFERENCE, ("S", "sender"),
            tuple(cell(line, size, engine) for line in curves.lines for size in TOLD), criterion,
        )
        for engine, (title, criterion) in titles.items()
    )  # fmt: skip


def _jumps(curves: Curves) -> list[Claim]:
    """Claims that throughput falls where losses appear, and that it rises on either side."""
    claims = []
    for line in curves.lines:
        jump = line.jump(curves.buffer)
        before, after = (
            [place for place, size in enumerate(SIZES) if low <= size <= high]
            for low, high in ((0, AROUND[0] * jump), (AROUND[1] * jump, np.inf))
        )
        both = {"engine": curves.engine[line.label], "model": curves.model[line.label]}
        falls = {name: rate[after[0]] / rate[before[-1]] for name, rate in both.items()}
        claims.append(
            Claim(
                f"Throughput jumps down at the size at which losses appear: {line.label}",
                ", ".join(f"{name} to {share:.2f} times" for name, share in falls.items()),
                max(falls.values()) < 1,
            )
        )
        rises = all(
            rate[places[-1]] > rate[places[0]]
            for rate in both.values()
            for places in (before, after)
        )
        claims.append(
            Claim(
                f"It rises with the size before and after: {line.label}",
                "; ".join(
                    f"{name} from {rate[before[0]]:.1f} to {rate[before[-1]]:.1f}, then from "
                    f"{rate[after[0]]:.1f} to {rate[after[-1]]:.1f} packets/s"
                    for name, rate in both.items()
                ),
                rises,
            )
        )
    return claims


def _first_faster(curves: Curves, line: Line, next_: Line) -> Claim:
    """Claims that the less aggressive of two that lose is ahead at some sizes, and then behind."""
    places = [
        place for place, size in enumerate(SIZES) if size >= AROUND[1] * next_.jump(curves.buffer)
    ]
    ratios = {
        name: rates_of[next_.label][places] / rates_of[line.label][places]
        for name, rates_of in (("engine", curves.engine), ("model", curves.model))
    }
    return Claim(
        f"Where both lose, {next_.label} is first faster than {line.label} with a small buffer, "
        "and slower in the end",
        ", ".join(
            f"{name} {ratio.max():.2f} times at most, {ratio[-1]:.2f} with {SIZES[-1]} segments"
            for name, ratio in ratios.items()
        ),
        all(ratio.max() > 1 > ratio[-1] for ratio in ratios.values()),
    )


def _by_receiver(buffer: int, results: Mapping[str, Result]) -> Outcome:
    curves = Curves(buffer, BY_RECEIVER, results)
    claims = []
    for line, next_ in pairwise(BY_RECEIVER):
        unharmed = curves.faster(line, next_, SIZES[0], AROUND[0] * line.jump(buffer))
        claims.append(
            Claim(f"Before any loss {line.label} is faster than {next_.label}", *unharmed)
        )
        between = curves.faster(
            next_, line, AROUND[1] * line.jump(buffer), AROUND[0] * next_.jump(buffer)
        )
        claims.append(
            Claim(f"Where {line.label} loses and {next_.label} not, that is faster", *between)
        )
    claims += _jumps(curves)
    if buffer == min(BUFFERS):
        claims += [_first_faster(curves, *lines) for lines in pairwise(BY_RECEIVER)]
    if buffer == max(BUFFERS):
        for line, next_ in pairwise(BY_RECEIVER):
            both = curves.faster(line, next_, AROUND[1] * next_.jump(buffer), np.inf)
            claims.append(
                Claim(
                    f"Where both lose, {line.label} is faster than {next_.label} with a large "
                    "buffer",
                    *both,
                )
            )
    return _outcome(curves, tuple(claims), (_today(results),))


def _today(results: Mapping[str, Result]) -> Table:
    rows = []
    for sender in TODAY:
        by_size = dict(zip(SIZES, rates(results[sender.label], SIZES), strict=True))
        rows.append((sender.label, *(f"{by_size[size]:.1f}" for size in TOLD)))
    head = ("sender", *(f"S = {size}" for size in TOLD))
    return Table("Senders that are not in the paper, an ACK each: packets/s", head, tuple(rows))


def _small_by_sender(results: Mapping[str, Result]) -> Outcome:
    curves = Curves(20, BY_SENDER, results)
    jump, later = COUNTING.jump(20), STANDARD.jump(20)
    drawn = [place for place, size in enumerate(SIZES) if size <= 500]
    slower = {
        name: np.mean(
            [rates_of[COUNTING.label][place] < rates_of[STANDARD.label][place] for place in drawn]
        )
        for name, rates_of in (("engine", curves.engine), ("model", curves.model))
    }
    claims = (
        Claim(
            "With a small buffer byte counting is slower for most sizes",
            ", ".join(f"{name} {share:.0%} of those up to 500" for name, share in slower.items()),
            min(slower.values()) > 0.5,
        ),
        Claim(
            "It is faster where it loses nothing",
            *curves.faster(COUNTING, STANDARD, SIZES[0], AROUND[0] * jump), origin=Origin.INFERRED,
        ),
        Claim(
            "It is slower where it alone loses",
            *curves.faster(STANDARD, COUNTING, AROUND[1] * jump, AROUND[0] * later),
            origin=Origin.INFERRED,
        ),
    )  # fmt: skip
    return _outcome(curves, claims)


def _large_by_sender(results: Mapping[str, Result]) -> Outcome:
    curves = Curves(70, BY_SENDER, results)
    jump, later = COUNTING.jump(70), STANDARD.jump(70)

    def claim(statement: str, evidence: tuple[str, bool]) -> Claim:
        return Claim(statement, *evidence, origin=Origin.INFERRED)

    slower = {
        name: [
            size
            for place, size in enumerate(SIZES)
            if rates_of[COUNTING.label][place] < rates_of[STANDARD.label][place]
        ]
        for name, rates_of in (("engine", curves.engine), ("model", curves.model))
    }
    means = {
        name: float(np.mean(rates_of[COUNTING.label] / rates_of[STANDARD.label]))
        for name, rates_of in (("engine", curves.engine), ("model", curves.model))
    }
    claims = (
        Claim(
            "With a large buffer byte counting works perfectly",
            ", ".join(
                f"{name}: slower at {len(sizes)} of {len(SIZES)} sizes"
                + (f", from {min(sizes)} to {max(sizes)} segments" if sizes else "")
                for name, sizes in slower.items()
            ),
            not any(slower.values()),
            documented=False,
            accepted="slower at no size",
            why="it fills this buffer, too, and loses packets at sizes at which standard TCP does "
            "not",
        ),
        Claim(
            "It gives better performance on the mean: its throughput over that of standard TCP, "
            "mean over the sizes",
            ", ".join(f"{name} {ratio:.2f} times" for name, ratio in means.items()),
            min(means.values()) > 1,
        ),
        claim(
            "Byte counting is faster where it loses nothing",
            curves.faster(COUNTING, STANDARD, 20, AROUND[0] * jump),
        ),
        claim(
            "It is slower where it alone loses",
            curves.faster(STANDARD, COUNTING, AROUND[1] * jump, AROUND[0] * later),
        ),
        claim(
            "Of 600 segments and more it is faster by 25 to 75 %",
            curves.faster(COUNTING, STANDARD, 600, np.inf, (1.25, 1.75)),
        ),
    )
    return _outcome(curves, claims)


def _outcome(curves: Curves, claims: tuple[Claim, ...], tables: tuple[Table, ...] = ()) -> Outcome:
    own = settings({"sizes": f"{SIZES[0]} to {SIZES[-1]} segments"})
    return Outcome(basis(), _comparisons(curves), partial(_draw, curves), claims, own, tables)


def _draw(curves: Curves) -> Figure:
    drawn = [
        plot.Curve(f"{line.label}, model", GRID, line.modelled(curves.buffer, list(GRID)))
        for line in curves.lines
    ]
    for place, line in enumerate(curves.lines):
        drawn.append(
            plot.Curve(
                f"{line.label}, engine", SIZES, curves.engine[line.label], "points", style_of=place
            )
        )
    title = f"A transfer over 1 Mbit/s and 0.5 s, buffer of {curves.buffer} packets"
    return plot.curves(
        drawn, "size of the transfer (packets)", "throughput (packets/s)", title, log_x=True
    )


EXPERIMENTS: tuple[Experiment, ...] = (
    *(
        entry(
            figure,
            "How does the number of segments per ACK affect the throughput of a transfer with "
            f"{size} buffer?",
            "With fewer ACKs a transfer is slower before any loss, but loses later; each number "
            f"is the fastest in turn.{more}",
            8.0,
            partial(_by_receiver, buffer),
            partial(_runs, buffer, BY_RECEIVER, TODAY),
        )
        for figure, buffer, size, more in (
            ("4", 20, "a small", ""),
            ("5", 70, "a large", " For long transfers one ACK per segment is the fastest."),
        )
    ),
    entry(
        "6",
        "How does byte counting instead of ACK counting affect a transfer's throughput with a "
        "small buffer?",
        "Byte counting is slower for most sizes, since it overflows the buffer earlier.",
        5.0,
        _small_by_sender,
        partial(_runs, 20, BY_SENDER),
    ),
    entry(
        "7",
        "How does byte counting instead of ACK counting affect a transfer's throughput with a "
        "large buffer?",
        "Byte counting is faster, but for sizes at which it alone loses packets.",
        5.0,
        _large_by_sender,
        partial(_runs, 70, BY_SENDER),
    ),
)
