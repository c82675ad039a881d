"""DCTCP over two bottlenecks: the throughput of each group of senders.

Ten senders S1 send over a trunk of 10 Gbit/s and a last link of 1 Gbit/s, which ten senders S3
share. Twenty senders S2 send over the trunk to receivers of their own. The rates of figure 17 of
the publication are taken from the head of a program of ns-3 that repeats it. That program prints
its own rates too. The publication itself was not read: what the program does not say of it is ours.
"""

from collections.abc import Mapping
from functools import partial

from matplotlib.figure import Figure

from ackclock import Result, plot
from ackclock.metrics import Interval, interval, jain
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
    Table,
)
from ackclock.scenario import Scenario
from ackclock_papers.replicates import of_replicates
from ackclock_papers.scenarios import (
    AMPLE_PACKETS,
    Tree,
    constant,
    hop,
    packets,
    replicates_run,
    seconds_run,
)
from ackclock_papers.scenarios import scenario as scenario_of

SOURCE = (
    "M. Alizadeh et al., “Data Center TCP (DCTCP)”, SIGCOMM 2010, as quoted by ns-3, "
    "examples/tcp/dctcp-example.cc, 2020"
)
RUN = "step marking"

#: Flows of each group.
FLOWS = {"S1": 10, "S2": 20, "S3": 10}
#: Printed: Mbit/s of each flow, in figure 17 and in ns-3.
PRINTED = {"S1": "46", "S2": "475", "S3": "54"}
IN_NS3 = {"S1": "23", "S2": "471", "S3": "74"}
#: Fair shares, in Mbit/s: 1 Gbit/s over 20 flows, and what S1 leaves of 10 Gbit/s over 20.
FAIR = {"S1": 50.0, "S2": 475.0, "S3": 50.0}
#: Printed as the distance from the fair shares.
WITHIN = 0.10

TRUNK_MBIT_PER_S, LAST_MBIT_PER_S = 10_000.0, 1_000.0
#: One-way delay of each link in ns-3, in seconds.
LINK_S = 10e-6
#: Threshold K of the publication at 1 and at 10 Gbit/s, in packets.
K_LAST, K_TRUNK = 20, 65
#: Buffer of a switch: 4 MB of 1500 bytes, as ns-3 says.
BUFFER_PACKETS = 2666
FRAME_BYTES, PAYLOAD_BYTES = 1500, 1448
DURATION_S, WARMUP_S, REPLICATES = 1.5, 0.5, 4


def _switch(name: str, mbit_per_s: float, threshold: int) -> Tree:
    queue = {
        "kind": "step_marking",
        "limit": packets(BUFFER_PACKETS),
        "threshold": packets(threshold),
    }
    return hop(name, constant(mbit_per_s), packets(1), LINK_S, queue=queue)


def scenario() -> Scenario:
    """Returns the three groups over both bottlenecks."""
    ample = packets(AMPLE_PACKETS)
    hops = [
        hop("host", constant(LAST_MBIT_PER_S), ample, LINK_S, scope="per_flow"),
        _switch("trunk", TRUNK_MBIT_PER_S, K_TRUNK),
        _switch("last", LAST_MBIT_PER_S, K_LAST),
        _switch("own", LAST_MBIT_PER_S, K_LAST) | {"scope": "per_flow"},
        hop("back", constant(TRUNK_MBIT_PER_S), ample, 3 * LINK_S),
        hop("short back", constant(TRUNK_MBIT_PER_S), ample, 2 * LINK_S),
    ]
    routes = {
        "S1": (["host", "trunk", "last"], ["back"]),
        "S2": (["host", "trunk", "own"], ["back"]),
        "S3": (["host", "last"], ["short back"]),
    }
    transport = {
        "kind": "tcp", "preset": "linux", "control": {"kind": "dctcp"},
        "mss": f"{PAYLOAD_BYTES} bytes", "header": f"{FRAME_BYTES - PAYLOAD_BYTES} bytes",
        "receive_window": "unlimited", "segmentation_offload": False, "send_jitter": "10 us",
        # A step drops packets without ECN, and those of the handshake have none.
        "handshake": False,
    }  # fmt: skip
    flows = [
        {
            "name": name, "count": FLOWS[name], "route": there, "return": back,
            "start": ["0 s", "100 ms"], "transport": transport,
        }
        for name, (there, back) in routes.items()
    ]  # fmt: skip
    return scenario_of(
        "DCTCP over two bottlenecks", hops, flows, duration_s=DURATION_S, warmup_s=WARMUP_S,
        sample_interval_s=0.1, replicates=REPLICATES,
    )  # fmt: skip


def conclude(results: Mapping[str, Result]) -> Outcome:
    """Compares the mean rate of a flow of each group."""
    result = results[RUN]
    rates = {
        name: interval([rate / count for rate in of_replicates(result, "goodput", name)])
        for name, count in FLOWS.items()
    }
    cells = tuple(
        Cell.simulated((name,), "Mbit/s of a flow", text, rates[name], WITHIN * float(text))
        for name, text in PRINTED.items()
    )
    comparison = Comparison(
        "Mean rate of a flow", Origin.PRINTED, ("senders",), cells,
        "within 10 %, the distance from the fair shares that is printed as agreement",
    )  # fmt: skip
    basis = Basis(
        "the topology of ns-3's program; DCTCP of Linux; a step at the thresholds of the "
        "publication; round trips of ns-3, which has no hosts' delays; that connections are open "
        "and hosts send up to 10 µs late is guessed"
    )
    return Outcome(
        basis, (comparison,), partial(_draw, rates), _claims(result, rates), _settings(results),
        (_beside(rates),),
    )  # fmt: skip


def _claims(result: Result, rates: dict[str, Interval]) -> tuple[Claim, ...]:
    return (
        *(
            Claim.of(
                f"{name} gets within 10 % of its fair share, {fair:g} Mbit/s",
                rates[name],
                Band((1 - WITHIN) * fair, (1 + WITHIN) * fair),
                "Mbit/s",
            )
            for name, fair in FAIR.items()
        ),
        Claim.of(
            "Over one bottleneck a flow gets more than over two: S3 less S1",
            Interval(
                rates["S3"].mean - rates["S1"].mean,
                (rates["S3"].half_width ** 2 + rates["S1"].half_width ** 2) ** 0.5,
                REPLICATES,
            ),
            Band(0.0),
            "Mbit/s",
            than=0.0,
        ),
        *(
            Claim.of(
                f"The flows of {name} share evenly: Jain's index", _evenness(result, name),
                Band(0.99),
            )
            for name in FLOWS
        ),
    )  # fmt: skip


def _evenness(result: Result, name: str) -> Interval:
    """Returns Jain's index of the flows of a group."""
    table = result.tables["flows"]
    flows, replicates, rates = (
        table[column].to_pylist() for column in ("flow", "replicate", "goodput_bit_per_s")
    )
    rows = list(zip(flows, replicates, rates, strict=True))
    return interval(
        [
            jain([rate for flow, replicate, rate in rows if (flow, replicate) == (name, number)])
            for number in sorted(set(replicates))
        ]
    )


def _beside(rates: dict[str, Interval]) -> Table:
    rows = tuple(
        (
            name,
            PRINTED[name],
            IN_NS3[name],
            f"{rates[name].mean:.1f} ± {rates[name].half_width:.1f}",
            f"{FAIR[name]:g}",
        )
        for name in FLOWS
    )
    return Table(
        "Mbit/s of a flow: printed for the testbed, printed for ns-3, and ours",
        ("senders", "testbed", "ns-3", "ours", "fair share"),
        rows,
    )


def _settings(results: Mapping[str, Result]) -> tuple[Setting, ...]:
    return (
        Setting("trunk and other links", "10 and 1 Gbit/s", Origin.PRINTED),
        Setting("senders", "10, 20 and 10", Origin.PRINTED),
        Setting("buffers", f"{BUFFER_PACKETS} packets (4 MB)", Origin.PRINTED),
        Setting("delay of a link", "10 µs, as in ns-3", Origin.INFERRED),
        Setting("step", f"{K_LAST} and {K_TRUNK} packets", Origin.INFERRED),
        Setting("segments", f"{PAYLOAD_BYTES} bytes of data, as in ns-3", Origin.INFERRED),
        Setting("hosts", "send up to 10 µs late", Origin.GUESSED),
        Setting("connections", "are open", Origin.GUESSED),
        Setting("starts", "within 100 ms", Origin.GUESSED),
        Setting("run", f"{seconds_run(results, 'duration')} s", Origin.GUESSED),
        Setting("left out at the start", f"{seconds_run(results, 'warmup')} s", Origin.GUESSED),
        Setting("ACKs", "meet no queue that drops", Origin.GUESSED),
        Setting("replicates", replicates_run(results), Origin.GUESSED),
    )


def _draw(rates: dict[str, Interval]) -> Figure:
    x = range(len(FLOWS))
    drawn = [
        plot.Curve(
            "ours", x, [rates[name].mean for name in FLOWS], "points",
            half_widths=[rates[name].half_width for name in FLOWS],
        ),
        plot.Curve("testbed", x, [float(PRINTED[name]) for name in FLOWS], "points"),
        plot.Curve("ns-3", x, [float(IN_NS3[name]) for name in FLOWS], "points"),
        plot.Curve("fair share", x, [FAIR[name] for name in FLOWS], "points"),
    ]  # fmt: skip
    return plot.curves(
        drawn, "senders (groups)", "rate of a flow (Mbit/s)", "DCTCP over two bottlenecks",
        log_y=True, categories=list(FLOWS),
    )  # fmt: skip


EXPERIMENT = Experiment(
    name="dctcp-figure-17",
    group="dctcp",
    source=SOURCE,
    shows="Figure 17",
    question="How do DCTCP flows over two bottlenecks share with flows over one?",
    says="Of flows into 1 Gbit/s, those that cross a trunk first get less, 44 beside 53 Mbit/s. "
    "Others share the rest of the trunk evenly.",
    cost_s=15.0,
    conclude=conclude,
    runs=lambda: {RUN: Run(scenario())},
)
