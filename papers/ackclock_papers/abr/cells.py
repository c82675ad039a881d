"""Section 3: what the paper's assumption changes that packets are queued and lost whole.

A cell that finds a full buffer is dropped. The paper assumes that all cells of its packet are
dropped with it, akin to partial packet discard, and so works with whole packets. Here the host and
the bottleneck send cells of 53 bytes, which AAL5 fills: 500 bytes and a trailer of 8 are padded to
eleven of them. The buffer counts cells, and the cells that are lost with one are varied.
"""

from collections.abc import Mapping
from functools import partial

from matplotlib.figure import Figure

from ackclock import Result
from ackclock.metrics import Interval, interval
from ackclock.reproduction import (
    Band,
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
from ackclock_papers.abr import over_psi
from ackclock_papers.abr.efficiency import gain, loss, rates
from ackclock_papers.abr.loop import BOTTLENECK, INSTCAP, SESSION, Point, alone
from ackclock_papers.abr.over_psi import BUFFER, Efficiencies
from ackclock_papers.abr.paper import (
    GROUP,
    HEADER_BYTES,
    HIGH_KB_PER_S,
    PACKET_BYTES,
    ROUND_TRIP_S,
    SOURCE,
    basis,
    settings,
)
from ackclock_papers.replicates import Rows, measured

#: Cells of a packet, with trailer and padding, and their bytes.
PACKET_CELLS = -(-(PACKET_BYTES + 8) // 48)
CELL_BYTES = PACKET_CELLS * 53
PSIS = (1.0, 5.0, 20.0, 100.0)
DURATION_S = 600.0

#: The labels of what is lost with a cell, by the parameter of the queue.
DISCARDS = {
    "packet": "all cells of the packet",
    "partial": "its later cells (partial packet discard)",
    "cell": "no other cell",
}
WHOLE = "whole packets"

Results = Mapping[str, Result]
ByLabel = Mapping[str, Efficiencies]


def _in_cells(scenario: Scenario, discard: str) -> Scenario:
    """Returns the loop with hosts and a bottleneck that send cells."""
    line = {"kind": "cells", "line_rate": f"{HIGH_KB_PER_S} kB/s", "discard": discard}
    host = f"host of {SESSION}"
    return scenario.replace(
        {
            f"hops.{BOTTLENECK}.queue": line | {"limit": BUFFER * PACKET_CELLS},
            # Nothing is lost in the host: a window of packets at most.
            f"hops.{host}.queue": line | {"line_rate": "1 Gbit/s", "limit": 100_000},
        }
    )


def _as_packets(scenario: Scenario) -> Scenario:
    """Returns the loop with packets that last as long as their cells would."""
    return scenario.replace(
        {f"flows.{SESSION}.transport.mss": f"{CELL_BYTES - HEADER_BYTES} bytes"}
    )


def runs() -> Mapping[str, Run]:
    """Returns runs with INSTCAP for each discard of cells, and for whole packets."""
    points = [Point(psi * ROUND_TRIP_S, DURATION_S) for psi in PSIS]
    loop = alone(INSTCAP, BUFFER).scenario(points)
    in_cells = {label: Run(_in_cells(loop, discard)) for discard, label in DISCARDS.items()}
    return {WHOLE: Run(_as_packets(loop))} | in_cells


def conclude(results: Results) -> Outcome:
    """Compares what is lost with a cell."""
    efficiencies = {label: _efficiencies(label, result) for label, result in results.items()}
    own = (
        Setting("loop", "Δ 200 ms, INSTCAP", Origin.PRINTED),
        Setting(
            "buffer", f"{BUFFER} packets, or their {BUFFER * PACKET_CELLS} cells", Origin.PRINTED
        ),
        Setting("AAL5", "trailer of 8 bytes, padding to 11 cells of 48 of 53", Origin.INFERRED),
        Setting(
            "line", "the cells of a packet arrive at the link's high rate", Origin.GUESSED
        ),
        Setting(
            "runs", f"8 replicates of {DURATION_S:g} s, the first 5 % not measured", Origin.GUESSED
        ),
    )  # fmt: skip
    rests = basis(
        "cells arrive at the high rate, whatever the host's",
        "eleven cells of 53 bytes carry 500, which is 86 %: the trailer of AAL5 and padding count, "
        "too, and not only the headers of cells",
    )
    return Outcome(
        rests, (), partial(_draw, efficiencies), _claims(efficiencies), settings(*own),
        (_table(efficiencies),),
    )  # fmt: skip


def _efficiencies(label: str, result: Result) -> Efficiencies:
    """Returns packets of 500 bytes over what the link could have sent in cells, by psi."""
    packet = CELL_BYTES if label == WHOLE else PACKET_BYTES
    got, could = rates(result, "goodput", SESSION), rates(result, "capacity", BOTTLENECK)
    return {
        psi: list(payload / (packet - HEADER_BYTES) * PACKET_BYTES / most)
        for psi, payload, most in zip(PSIS, got, could, strict=True)
    }


def _claims(efficiencies: ByLabel) -> tuple[Claim, ...]:
    whole, partly, none = (efficiencies[label] for label in DISCARDS.values())

    def above(higher: Efficiencies, lower: Efficiencies, psi: float) -> Interval:
        return gain(higher[psi], lower[psi])

    return (
        Claim.of(
            "The asymptotic throughput is about 90 %: at psi = 100",
            interval([100 * value for value in whole[100.0]]), words.about("90", whole=100), "%",
            documented=False,
        ),
        *(
            Claim.of(
                "If all cells of a packet are lost with one, whole packets serve as a model: cells "
                f"over packets, at psi = {psi:g}",
                above(whole, efficiencies[WHOLE], psi), words.SAME_PERCENT, "%",
            )
            for psi in PSIS
        ),
        *(
            Claim.of(
                "Partial packet discard is akin to that: TCP with it over TCP with all cells lost, "
                f"at psi = {psi:g}",
                above(partly, whole, psi), words.SAME_PERCENT, "%",
            )
            for psi in PSIS
        ),
        *(
            Claim.of(
                "Without any discard more is lost: TCP has less than with whole packets lost, by, "
                f"at psi = {psi:g}",
                loss(above(none, whole, psi)), Band(0), "%", than=0.0,
                documented=psi < 5.0, origin=Origin.INFERRED,
            )
            for psi in PSIS
        ),
    )  # fmt: skip


def _table(efficiencies: ByLabel) -> Table:
    rows: Rows = {
        (f"{psi:g}",): {label: interval(by_psi[psi]) for label, by_psi in efficiencies.items()}
        for psi in PSIS
    }
    return measured("Efficiency, by what is lost with a cell", ("psi",), rows)


def _draw(efficiencies: ByLabel) -> Figure:
    return over_psi.draw(efficiencies, "INSTCAP in cells, by what is lost with a cell")


EXPERIMENT = Experiment(
    f"{GROUP}-cells",
    GROUP,
    SOURCE,
    "Section 3, cells",
    "Does it matter that cells are queued and lost, and not packets?",
    "INSTCAP in ATM cells: partial packet discard, whole packets lost, and neither.",
    60.0,
    conclude,
    runs,
)
