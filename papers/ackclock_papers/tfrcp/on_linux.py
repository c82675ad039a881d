"""Our transport beside the kernel's TCP over a table of paths, on Linux and in the engine.

The paper's own implementation sent between hosts on two continents; the pages about it are lost.
Here sender and receiver are those of `ackclock send` and `ackclock receive`, and their competitors
are the kernel's. The path is emulated, so its parameters are known and the engine can simulate it.

A kernel sends when an ACK comes, without a random delay like ns-2's `overhead_`. With one
bottleneck phase effects then decide who finds the buffer full (Floyd and Jacobson, "On traffic
phase effects in packet-switched gateways", 1991). So the engine's TCP has no random delay either;
for comparison it also runs with one.
"""

from collections.abc import Iterable, Mapping
from functools import partial
from itertools import product
from math import log, nan
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure

from ackclock import Result, metrics, plot
from ackclock.metrics import Interval, Metric, by_replicate, difference, interval
from ackclock.reproduction import (
    Band,
    Basis,
    Claim,
    Experiment,
    Origin,
    Outcome,
    Run,
    Setting,
    Table,
)
from ackclock.scenario import Scenario
from ackclock_papers import scenarios
from ackclock_papers.emulated import ENGINE, LINUX, kernel, trust
from ackclock_papers.replicates import Rows, curve, measured
from ackclock_papers.scenarios import Tree
from ackclock_papers.tfrcp.friendliness import CLOSENESS, FRIENDLINESS
from ackclock_papers.tfrcp.paper import CLOSE, GROUP
from ackclock_papers.tfrcp.path import ROUTE, Path
from ackclock_papers.tfrcp.senders import OTHER, STAGGERED, TCP, jitter

SOURCE = "ackclock, guide “Rate control by equation”, 2026"

#: All data packets have the same length. The transport allows up to 1228 bytes; its format has 84
#: bytes around the payload. The kernel's TCP has 52, timestamps included.
PACKET_BYTES = 1200
HEADERS = {"udp": 84, "tcp": 52}
#: Sizes of the transport's feedback packets: with the report of TFRC's receiver, and without.
REPORT_BYTES, ACK_BYTES = 128, 116
#: Number of senders of either kind on a path.
EACH = 2


class Sender(NamedTuple):
    """A sender.

    Attributes:
        label: Label in figures and tables.
        transport: Transport, as in a scenario.
    """

    label: str
    transport: Tree


def _sender(label: str, kind: str, control: Tree, **more: object) -> Sender:
    header = HEADERS[kind]
    sizes = {"mss": f"{PACKET_BYTES - header} bytes", "header": f"{header} bytes"}
    return Sender(label, {"kind": kind, "control": control} | sizes | more)


#: Its rounds have the paper's shortest length, and its timeouts are as short as those of the
#: competing TCPs. Linux delays ACKs but counts bytes, so b is 1.
TFRCP = _sender(
    "TFRCP",
    "udp",
    {"kind": "tfrcp", "round": "2 s", "rto_minimum": "200 ms"},
    feedback_size=f"{ACK_BYTES} bytes",
)
TFRC = _sender("TFRC", "udp", {"kind": "tfrc"}, feedback_size=f"{REPORT_BYTES} bytes")
RENO = _sender("Reno", "tcp", {"kind": "reno"}, preset="linux")
CUBIC = _sender("CUBIC", "tcp", {"kind": "cubic"}, preset="linux")


class Pair(NamedTuple):
    """Two competitors."""

    other: Sender
    tcp: Sender

    @property
    def label(self) -> str:
        """Label in figures and tables."""
        return f"{self.other.label} beside {self.tcp.label}"


#: In the order of the sweep's points.
PAIRS = tuple(Pair(other, tcp) for tcp, other in product((RENO, CUBIC), (TFRCP, TFRC)))
#: Pairs with the TCP that the equation models.
MODELLED = tuple(pair for pair in PAIRS if pair.tcp is RENO)

#: The table of paths: rate, one-way delay, buffer in bandwidth-delay products, random loss. On the
#: last two, random loss matters more than the buffer.
PATHS = tuple(
    Path(rate, delay_s, pipes, PACKET_BYTES, loss)
    for rate, delay_s, pipes, loss in (
        (2, 0.025, 1, 0), (2, 0.025, 4, 0), (2, 0.1, 1, 0), (2, 0.1, 2, 0), (4, 0.025, 1, 0),
        (4, 0.05, 2, 0),
        (10, 0.05, 1, 0.01), (4, 0.1, 1, 0.005),
    )
)  # fmt: skip

DURATION_S, WARMUP_S, REPLICATES = 100.0, 30.0, 5
SIDE_BY_SIDE = len(PAIRS) * REPLICATES
#: Long enough for a few rounds, and short enough that a first look at all paths takes three
#: minutes.
QUICK_S, QUICK_WARMUP_S, QUICK_REPLICATES = 15.0, 5.0, 2
#: Runs over a path that may be unreliable; they are excluded from averages.
SPARE = SIDE_BY_SIDE // 10

#: Accepted difference of F on Linux and in the engine, mean over the paths, in percent. Chosen
#: before any run.
AGREE = Band(-10, 10)

#: The engine with TCP's packets, too, late by up to a packet's service time.
LATE = "engine, TCP late by chance"
METHODS = (LINUX, ENGINE, LATE)

Results = Mapping[str, Result]


def label(path: Path) -> tuple[str, str, str, str]:
    """Returns a path's columns of a table."""
    return (
        path.rate, f"{path.delay_s * 1000:g} ms", f"{path.pipes:g} × BDP, {path.buffer_packets}",
        f"{path.loss:.1%}"
    )  # fmt: skip


def named(method: str, path: Path) -> str:
    """Returns the name of a run."""
    loss = f", {path.loss:.1%} loss" if path.loss else ""
    return f"{method}, {path.rate}, {path.delay_s * 1000:g} ms, {path.pipes:g} BDP{loss}"


def scenario(
    path: Path, duration_s: float, warmup_s: float, replicates: int, *, late_tcp: bool = False
) -> Scenario:
    """Returns a scenario with one point for each pair.

    Packets of rate controls leave with a random delay; with `late_tcp` those of TCP do, too.
    """

    def on(sender: Sender) -> Tree:
        late = late_tcp or sender.transport["kind"] == "udp"
        return sender.transport | ({"send_jitter": jitter(path)} if late else {})

    flows = [
        {"name": name, "count": EACH, "start": STAGGERED, "transport": on(sender)} | ROUTE
        for name, sender in ((TCP, RENO), (OTHER, TFRCP))
    ]
    swept = [[on(pair.tcp), on(pair.other)] for pair in PAIRS]
    return scenarios.scenario(
        f"The transport on Linux, {path.rate}, {path.delay_s * 1000:g} ms", path.hops, flows,
        duration_s=duration_s, warmup_s=warmup_s, sample_interval_s=0.1, replicates=replicates,
        sweep={f"flows.{TCP}.transport,flows.{OTHER}.transport": swept},
    )  # fmt: skip


def runs() -> Mapping[str, Run]:
    """Returns the runs of each path, simulated and emulated."""
    by_name = {}
    for path in PATHS:
        asked = scenario(path, DURATION_S, WARMUP_S, REPLICATES)
        quick = scenario(path, QUICK_S, QUICK_WARMUP_S, QUICK_REPLICATES)
        by_name[named(ENGINE, path)] = Run(asked, quick=quick)
        by_name[named(LATE, path)] = Run(
            scenario(path, DURATION_S, WARMUP_S, REPLICATES, late_tcp=True),
            quick=scenario(path, QUICK_S, QUICK_WARMUP_S, QUICK_REPLICATES, late_tcp=True),
        )
        by_name[named(LINUX, path)] = Run(
            asked, "emulate", quick=quick, side_by_side=SIDE_BY_SIDE, spare=SPARE
        )
    return by_name


def values(
    results: Results, method: str, path: Path, pair: Pair, metric: Metric, subject: str = OTHER
) -> list[float]:
    """Returns a metric of a pair on a path, for each reliable replicate."""
    return list(
        by_replicate(results[named(method, path)], metric)[PAIRS.index(pair), subject].values()
    )


def apart(results: Results, path: Path, pair: Pair) -> Interval:
    """Returns 100 times the logarithm of F on Linux over F in the engine, about percent."""
    linux, engine = (
        [100 * log(f) if f > 0 else nan for f in values(results, method, path, pair, FRIENDLINESS)]
        for method in (LINUX, ENGINE)
    )
    return difference(linux, engine)


def conclude(results: Results) -> Outcome:
    """Concludes F and E on each path, and how well the engine predicts them."""
    paths = [path for path in PATHS if named(LINUX, path) in results]
    claims = (
        *(claim for pair in MODELLED for claim in _friendly(results, paths, pair)),
        *_agreement(results, paths),
    )  # fmt: skip
    tables = (
        *_pair_tables(results, paths), _apart_table(results, paths), _timeout_table(results, paths),
        *_loss_tables(results, paths), trust(results),
    )  # fmt: skip
    return Outcome(
        Basis(why=_WHY),
        (),
        partial(_draw, results, paths),
        claims,
        _settings(results, paths),
        tables,
    )


#: "Nowhere far": neither has more than twice what the other has.
NEAR = Band(0.5, 2.0)
#: Probable cause of differences; the tables show it.
_WHY = "with buffers of 10 to 20 packets it is a matter of phase who meets a full one"


def _friendly(results: Results, paths: list[Path], pair: Pair) -> tuple[Claim, ...]:
    by_path = {path: interval(values(results, LINUX, path, pair, FRIENDLINESS)) for path in paths}
    least, most = (pick(paths, key=lambda path: by_path[path].mean) for pick in (min, max))
    claim = partial(Claim.of, documented=None, origin=Origin.STATED)
    return (
        claim(
            f"{pair.label}: F is close to 1, mean over the paths", _mean(by_path.values()), CLOSE
        ),
        claim(
            f"{pair.label}: F is nowhere far from 1, the least ({', '.join(label(least))})",
            by_path[least],
            NEAR,
        ),
        claim(
            f"{pair.label}: F is nowhere far from 1, the largest ({', '.join(label(most))})",
            by_path[most],
            NEAR,
        ),
    )


def _agreement(results: Results, paths: list[Path]) -> tuple[Claim, ...]:
    """Claims that there is no bias, and no more differences than expected by chance."""
    differences = {
        (path, pair.label): apart(results, path, pair) for path in paths for pair in PAIRS
    }
    biases = (
        Claim.of(
            f"{pair.label}: F on Linux is the engine's, mean over the paths",
            _mean(differences[path, pair.label] for path in paths), AGREE, "%", documented=None,
            origin=Origin.STATED,
        )
        for pair in PAIRS
    )  # fmt: skip
    beyond = sum(gap.low > 0 or gap.high < 0 for gap in differences.values())
    most = _by_luck(len(differences))
    scattered = Claim(
        "F on Linux differs from the engine's by more than luck on no more paths than luck would "
        "have it",
        f"{beyond} of {len(differences)} intervals of 95 % exclude 0",
        beyond <= most,
        None,
        Origin.STATED,
        f"at most {most}",
    )
    return (*biases, scattered)


def _by_luck(count: int) -> int:
    """Returns how many of `count` 95 % intervals miss their true value by chance.

    It is the 95th percentile of that number.
    """
    draws = np.random.default_rng(1).binomial(count, 0.05, 100_000)
    return int(np.quantile(draws, 0.95, method="higher"))


def _mean(intervals: Iterable[Interval]) -> Interval:
    """Returns the mean over paths, each counted once.

    The interval comes from their spread, so it applies to similar paths.
    """
    return interval([value.mean for value in intervals])


def _pair_tables(results: Results, paths: list[Path]) -> Iterable[Table]:
    both = {"F": FRIENDLINESS, "E": CLOSENESS}
    for pair in PAIRS:
        rows: Rows = {
            label(path): {
                f"{name}, {method}": interval(values(results, method, path, pair, metric))
                for name, metric in both.items()
                for method in METHODS
            }
            for path in paths
        }
        yield measured(pair.label, _PATH, rows)


_PATH = ("rate", "delay", "buffer, packets", "loss")


def _apart_table(results: Results, paths: list[Path]) -> Table:
    rows: Rows = {
        label(path): {pair.label: apart(results, path, pair) for pair in PAIRS} for path in paths
    }
    return measured("F on Linux over the engine's, 100 times the logarithm", _PATH, rows)


def _timeout_table(results: Results, paths: list[Path]) -> Table:
    rows: Rows = {
        label(path): {
            f"{pair.tcp.label} beside {pair.other.label}, {method}": interval(
                [
                    count / EACH
                    for count in values(
                        results, method, path, pair, metrics.metric("timeouts"), TCP
                    )
                ]
            )
            for pair in PAIRS
            for method in (LINUX, ENGINE)
        }
        for path in paths
    }
    return measured("Timeouts of a TCP flow", _PATH, rows)


def _loss_tables(results: Results, paths: list[Path]) -> Iterable[Table]:
    """Yields tables of the loss rates: of TCP's packets, and of the others'."""
    for subject, whose in ((TCP, "TCP's packets"), (OTHER, "the others' packets")):
        rows: Rows = {
            label(path): {
                f"{pair.label}, {method}": interval(
                    [
                        100 * rate
                        for rate in values(
                            results, method, path, pair, metrics.metric("loss_rate"), subject
                        )
                    ]
                )
                for pair in PAIRS
                for method in (LINUX, ENGINE)
            }
            for path in paths
        }
        yield measured(f"Dropped of {whose}, %", _PATH, rows)


def _settings(results: Results, paths: list[Path]) -> tuple[Setting, ...]:
    listed = {
        "TCP": (
            f"the kernel's own, {kernel(results[named(LINUX, paths[0])])}; in the engine preset "
            "linux"
        ),
        "TFRCP": (
            "M = 2 s, b = 1, timeouts of 200 ms at least, growth to no more than twice the rate "
            "acknowledged"
        ),
        "TFRC": "RFC 5348's defaults, losses measured by the receiver",
        "senders": f"{EACH} of either kind, starting within the first second",
        "packets": (
            f"{PACKET_BYTES} bytes, of all alike; answers {ACK_BYTES} bytes, {REPORT_BYTES} of TFRC"
        ),
        "send jitter": "of TFRCP and TFRC, uniform up to the bottleneck's time of a packet",
        "paths": (
            "a table of ours, since that of the paper is lost; packets lost at random besides, "
            "where it says so"
        ),
        "throughput": "goodput after the warm-up: each byte once, headers left out",
        "run": (
            f"{scenarios.seconds_run(results, 'duration')} s, the first "
            f"{scenarios.seconds_run(results, 'warmup')} not measured, "
            f"{scenarios.replicates_run(results)} replicates"
        ),
    }
    return tuple(Setting(name, value, Origin.CHOSEN) for name, value in listed.items())


def _draw(results: Results, paths: list[Path]) -> Figure:
    by_method = {
        method: [
            [interval(values(results, method, path, pair, FRIENDLINESS)) for path in paths]
            for pair in PAIRS
        ]
        for method in (ENGINE, LINUX)
    }
    means = [value.mean for pairs in by_method.values() for several in pairs for value in several]
    ends = [min(means), max(means)]
    curves = [plot.Curve("as in the engine", ends, ends, "reference")]
    for pair, across, up in zip(PAIRS, by_method[ENGINE], by_method[LINUX], strict=True):
        curves.append(curve(pair.label, [value.mean for value in across], up, "points"))
    title = f"Who gets more, over {len(paths)} paths: Linux and the engine"
    return plot.curves(
        curves, "F in the engine (ratio)", "F on Linux (ratio)", title, log_x=True, log_y=True
    )


EXPERIMENT = Experiment(
    f"{GROUP}-on-linux",
    GROUP,
    SOURCE,
    "TFRCP on Linux",
    "Do TFRCP and TFRC share with real TCP over real sockets as fairly as in simulation?",
    "Beside Reno F is close to 1, as in the paper and in the engine, and between a half and 2 on "
    "every path.",
    len(PATHS) * (DURATION_S + 10.0),
    conclude,
    runs,
)
