"""Figure 2: the edge-to-edge loop, where an edge device regulates the ACKs of TCP.

The paper analyses the end-to-end loop, whose hosts follow the rate that is fed back, and calls its
results valid for this loop, too. Here both run over the same link. The edge has the host's server,
a buffer of half a round trip, and holds ACKs back (queue `ack_regulator`). The text does not say
how, so both rules of that queue are a reading. Beside it are an edge of the same buffer that lets
all ACKs pass, and one that delays ACKs alone and has no server for the data.
"""

from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure

from ackclock import Result
from ackclock.metrics import interval
from ackclock.reproduction import Band, Claim, Origin, Outcome, Run, Setting, Table, words
from ackclock.scenario import Scenario
from ackclock_papers.abr import over_psi
from ackclock_papers.abr.efficiency import efficiencies
from ackclock_papers.abr.loop import BOTTLENECK, INSTCAP, NONE, Loop, Point, alone
from ackclock_papers.abr.over_psi import BUFFER, Efficiencies, Part, lengths
from ackclock_papers.abr.paper import PACKET_BYTES, ROUND_TRIP_S, basis, entry, settings
from ackclock_papers.abr.two_sessions import FAR, NEAR, ROUND_TRIPS_S, WITH_INSTCAP
from ackclock_papers.replicates import Rows, measured, of_replicates, quotient
from ackclock_papers.scenarios import Tree, constant, hop, packets

#: Packets of data that fit into an edge: half of what the high rate sends in a round trip.
HELD = 20
#: Packets of data that may wait there while ACKs pass.
HOLD_ABOVE = 2
LAN_MBIT_PER_S, LAN_DELAY_S = 10.0, 0.001
EDGE, LAN = "edge of", "network before the edge of"

PART = Part("edges", (0.3, 1.0, 2.0, 5.0, 20.0, 60.0, 100.0), 600.0)
#: Psi of two sessions, in the longer round trip: where INSTCAP is fair, since capacities vary
#: slowly.
FAIR = Part("two sessions", (60.0, 100.0), 1200.0)
#: Largest psi at which two sessions with edges do not get the same.
UNFAIR_UP_TO = 60.0
#: Psi at which the window fills the pipe, so that what it holds beyond it waits somewhere.
SLOW = (60.0, 100.0)

Results = Mapping[str, Result]


class Edge(NamedTuple):
    """An edge device between a host and the network that feeds a rate back.

    Attributes:
        label: Label in figures and tables.
        holds_acks: True if it holds ACKs back.
        serves: True if it sends data at the rate fed back.
    """

    label: str
    holds_acks: bool
    serves: bool = True


REGULATING = Edge("edge to edge", holds_acks=True)
PASSING = Edge("an edge that lets ACKs pass", holds_acks=False)
ACKS_ALONE = Edge("an edge that delays ACKs alone", holds_acks=True, serves=False)
EDGES = (REGULATING, PASSING, ACKS_ALONE)
END_TO_END, ALONE = "end to end", NONE.label
LABELS = (ALONE, END_TO_END, *(edge.label for edge in EDGES))

LOOP = alone(INSTCAP, BUFFER)
WITHOUT = alone(NONE, BUFFER)
TWO = Loop(WITH_INSTCAP.loop.sessions, WITH_INSTCAP.loop.buffer)


def edged(scenario: Scenario, edge: Edge) -> Scenario:
    """Returns an end-to-end loop with an edge in the place of each host's server.

    The delay of the local network is a part of the round trip, which stays as it was.
    """
    tree: Tree = dict(scenario.tree)
    by_name = {each["name"]: each for each in tree["hops"]}
    flows = []
    for flow in tree["flows"]:
        (host, bottleneck), [back] = flow["route"], flow["return"]
        name, lan = f"{EDGE} {flow['name']}", f"{LAN} {flow['name']}"
        by_name[name] = _edge(name, by_name.pop(host)["link"], edge)
        by_name[lan] = hop(lan, constant(LAN_MBIT_PER_S), "unlimited", LAN_DELAY_S)
        by_name[back] |= {"delay": _less(by_name[back]["delay"], 2 * LAN_DELAY_S)}
        route = [lan, name, bottleneck] if edge.serves else [lan, bottleneck]
        home = [back, name, lan] if edge.holds_acks else [back, lan]
        flows.append(flow | {"route": route, "return": home})
    tree |= {"name": f"{tree['name']}, {edge.label}", "hops": list(by_name.values())}
    return Scenario(tree | {"flows": flows})


def _edge(name: str, server: Tree, edge: Edge) -> Tree:
    """Returns the hop of an edge."""
    if not edge.holds_acks:
        return hop(name, server, packets(HELD))
    queue = {
        "kind": "ack_regulator",
        "server": server,
        "limit": packets(HELD),
        "hold_above": HOLD_ABOVE,
        "data_size": f"{PACKET_BYTES} bytes",
    }
    return hop(name, constant(LAN_MBIT_PER_S), "unlimited", queue=queue, packet_delays=edge.serves)


def _less(delay: str, seconds: float) -> str:
    number, unit = delay.split()
    assert unit == "ms"
    return f"{float(number) - 1000 * seconds:g} ms"


def runs() -> Mapping[str, Run]:
    """Returns the runs of all loops over psi, and of two sessions at each kind of loop."""
    points = [Point(psi * ROUND_TRIP_S, PART.duration_s) for psi in PART.psis]
    end_to_end = LOOP.scenario(points)
    both = TWO.scenario([Point(psi * ROUND_TRIPS_S[1], FAIR.duration_s) for psi in FAIR.psis])
    return {
        ALONE: Run(WITHOUT.scenario(points)),
        END_TO_END: Run(end_to_end),
        **{edge.label: Run(edged(end_to_end, edge)) for edge in EDGES},
        _two(END_TO_END): Run(both),
        _two(REGULATING.label): Run(edged(both, REGULATING)),
    }


def _two(label: str) -> str:
    return f"two sessions, {label}"


def conclude(results: Results) -> Outcome:
    """Compares the edge-to-edge loop with the end-to-end loop."""
    by_label = {label: _efficiencies(results, label) for label in LABELS}
    ratios = {label: _near_over_far(results, label) for label in (END_TO_END, REGULATING.label)}
    claims = (
        *(
            Claim.of(
                "The results apply to the edge-to-edge loop: its efficiency over that of the "
                f"end-to-end loop, at psi = {psi:g}",
                quotient(by_label[REGULATING.label][psi], by_label[END_TO_END][psi]), words.SAME,
            )
            for psi in PART.psis
        ),
        *(
            Claim.of(
                "Congestion is pushed to the network's edge: what waits there beyond what waits "
                f"at the bottleneck, at psi = {psi:g}",
                interval(
                    np.subtract(
                        _values(results, REGULATING.label, "backlog", _edge_of(), psi),
                        _values(results, REGULATING.label, "backlog", BOTTLENECK, psi),
                    )
                ),
                Band(0), "packets", than=0.0,
            )
            for psi in SLOW
        ),
        *(
            Claim.of(
                f"Two sessions get the same where the capacity varies slowly: 1 over 2, at psi = "
                f"{psi:g}",
                interval(ratios[REGULATING.label][psi]), words.SAME, documented=psi > UNFAIR_UP_TO,
            )
            for psi in FAIR.psis
        ),
        *_inferred(results, by_label),
    )  # fmt: skip
    return Outcome(
        basis(
            "how an edge regulates ACKs, its buffer and the local network guessed",
            "from end to end the near session has 3 % more at psi = 60; why edges add 5 % is not "
            "known",
        ),
        (), partial(_draw, by_label), claims, settings(*_settings(results)),
        (_table(results, by_label), _shares(ratios)),
    )  # fmt: skip


def _inferred(results: Results, by_label: Mapping[str, Efficiencies]) -> tuple[Claim, ...]:
    """Returns what the regulation is for: our statements, which no verdict counts."""
    return (
        *(
            Claim.of(
                f"An edge that holds ACKs back loses no data, at psi = {psi:g}",
                interval(_values(results, REGULATING.label, "hop_drops", _edge_of(), psi)),
                Band(0, 0), "%", origin=Origin.INFERRED,
            )
            for psi in PART.psis
        ),
        *(
            Claim.of(
                "An edge of the same buffer that lets ACKs pass has less throughput: over that of "
                f"the one that holds them, at psi = {psi:g}",
                quotient(by_label[PASSING.label][psi], by_label[REGULATING.label][psi]),
                Band(most=1), than=1.0, origin=Origin.INFERRED,
            )
            for psi in SLOW
        ),
        *(
            Claim.of(
                "Delayed ACKs alone do not keep a window from growing, so packets are lost as "
                f"without feedback: efficiency over that of TCP alone, at psi = {psi:g}",
                quotient(by_label[ACKS_ALONE.label][psi], by_label[ALONE][psi]),
                words.SAME, origin=Origin.INFERRED,
            )
            for psi in SLOW
        ),
    )  # fmt: skip


def _edge_of(flow: str = LOOP.sessions[0].name) -> str:
    return f"{EDGE} {flow}"


def _efficiencies(results: Results, label: str) -> Efficiencies:
    """Returns the efficiencies of a loop by psi, reduced by the overhead of cells."""
    cells = NONE.cells if label in (ALONE, ACKS_ALONE.label) else INSTCAP.cells
    return {psi: efficiencies(results[label], point, cells) for point, psi in enumerate(PART.psis)}


def _values(results: Results, label: str, metric: str, subject: str, psi: float) -> list[float]:
    return of_replicates(results[label], metric, subject, PART.psis.index(psi))


def _near_over_far(results: Results, label: str) -> Efficiencies:
    """Returns the throughput of session 1 over that of session 2, by psi."""
    result = results[_two(label)]
    return {
        psi: list(
            np.divide(
                efficiencies(result, point, session=NEAR), efficiencies(result, point, session=FAR)
            )
        )
        for point, psi in enumerate(FAIR.psis)
    }


def _settings(results: Results) -> tuple[Setting, ...]:
    return (
        Setting("loop", f"Δ 200 ms or 40 packets, a buffer of {BUFFER} packets", Origin.PRINTED),
        Setting("two sessions", "Δ 240 and 360 ms, a buffer of 18 packets", Origin.PRINTED),
        Setting("feedback", "INSTCAP", Origin.PRINTED),
        Setting(
            "edge", f"room for {HELD} packets of data; ACKs pass at the rate fed back, while at "
            f"most {HOLD_ABOVE} packets wait",
            Origin.GUESSED,
        ),
        Setting(
            "local network", f"{LAN_MBIT_PER_S:g} Mbit/s, {1000 * LAN_DELAY_S:g} ms in each "
            "direction, a part of Δ",
            Origin.GUESSED,
        ),
        Setting("runs", lengths(results), Origin.GUESSED),
    )  # fmt: skip


def _table(results: Results, by_label: Mapping[str, Efficiencies]) -> Table:
    rows: Rows = {}
    for psi in PART.psis:
        row = {label: interval(by_psi[psi]) for label, by_psi in by_label.items()}
        for edge in (REGULATING, PASSING):
            dropped = _values(results, edge.label, "hop_drops", _edge_of(), psi)
            row[f"lost at {edge.label.replace('edge to edge', 'the edge that holds ACKs')} (%)"] = (
                interval(dropped)
            )
        waits = of_replicates(
            results[REGULATING.label], "packet_delay_p99", f"{_edge_of()}[data]",
            PART.psis.index(psi),
        )  # fmt: skip
        row["p99 of data's wait at the edge (ms)"] = interval(waits)
        rows[f"{psi:g}",] = row
    return measured("Efficiency by loop, and what an edge loses", ("psi",), rows)


def _shares(ratios: Mapping[str, Efficiencies]) -> Table:
    rows: Rows = {
        (f"{psi:g}",): {label: interval(by_psi[psi]) for label, by_psi in ratios.items()}
        for psi in FAIR.psis
    }
    return measured("Throughput of session 1 over that of session 2", ("psi",), rows)


def _draw(by_label: Mapping[str, Efficiencies]) -> Figure:
    return over_psi.draw(by_label, "Edge to edge and end to end")


EXPERIMENT = entry(
    "2",
    "Does a loop between edge devices, which hold the ACKs of TCP back, do as well as a loop that "
    "ends at the hosts?",
    "The edge-to-edge loop beside the end-to-end loop.",
    100.0,
    conclude,
    runs,
)
