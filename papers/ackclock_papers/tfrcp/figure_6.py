"""Figure 6: friendliness of TFRCP to TCP beside many unresponsive on-off sources."""

from collections.abc import Mapping

from ackclock import Result, metrics
from ackclock.metrics import interval
from ackclock.reproduction import Claim, Origin, Outcome, Run, Setting
from ackclock_papers.replicates import Rows, measured
from ackclock_papers.scenarios import Tree
from ackclock_papers.tfrcp import friendliness
from ackclock_papers.tfrcp.background import BACKGROUND, MONITORED, Beside
from ackclock_papers.tfrcp.friendliness import FRIENDLINESS, ByLoad, by_load, over_loads
from ackclock_papers.tfrcp.paper import CLOSE, basis, entry
from ackclock_papers.tfrcp.path import BOTTLENECK, CENTRAL, ROUTE, Path, guesses
from ackclock_papers.tfrcp.senders import (
    CUBIC,
    HEADER_BYTES,
    TFRC,
    Sender,
    one_path,
    s1,
    settings,
)

#: On-rate of the sources on the wire; guessed. With 12 kbit/s a source sends a packet or two at a
#: time, and many sources are nearly Poisson. The other rates make bursts.
ON_KBIT_PER_S = (12.0, 50.0, 500.0)
#: Numbers of sources at the first of these rates, and the share of time that a source is on: one
#: second on, two seconds off.
SOURCES = (60, 120, 180, 240, 300)
SHARE_ON = 1 / 3
SHAPE = 1.2

CONSTANT = tuple(s1(m) for m in (2, 3, 5))
SENDERS = (*CONSTANT, TFRC, CUBIC)
FEW = (60, 180, 300)


def sources(path: Path, on_kbit_per_s: float) -> Tree:
    """Returns the group of all sources."""
    payload = path.packet_bytes - HEADER_BYTES
    return {
        "name": BACKGROUND,
        "count": 1,
        "transport": {"kind": "udp", "mss": f"{payload} bytes", "header": f"{HEADER_BYTES} bytes"},
        "traffic": {
            "kind": "on_off",
            # The rate on the wire counts headers.
            "rate": f"{on_kbit_per_s * payload / path.packet_bytes:.6f} kbit/s",
            "mean_on": "1 s",
            "mean_off": "2 s",
            "on_distribution": "pareto",
            "off_distribution": "pareto",
            "shape": SHAPE,
        },
        # Starts within two mean periods keep the sources from beginning together.
        "start": ["0 s", "6 s"],
    } | ROUTE


def beside(sender: Sender, path: Path, on_kbit_per_s: float, counts: tuple[int, ...]) -> Beside:
    """Returns a scenario with as many sources as give the load of `counts` at the first rate."""
    as_many = [max(1, round(count * ON_KBIT_PER_S[0] / on_kbit_per_s)) for count in counts]
    return Beside(sender, sources(path, on_kbit_per_s), "count", as_many, path)


def runs() -> Mapping[str, Run]:
    """Returns runs by the number of sources: of all senders, and of two with every guess."""
    drawn = {sender.label: beside(sender, CENTRAL, ON_KBIT_PER_S[0], SOURCES) for sender in SENDERS}
    others = {
        _name(sender, path, on): beside(sender, path, on, FEW)
        for sender in (CONSTANT[0], TFRC)
        for path, on in _guesses()
    }  # fmt: skip
    return {name: Run(mix.scenario) for name, mix in (drawn | others).items()}


def _guesses() -> list[tuple[Path, float]]:
    return [(path, ON_KBIT_PER_S[0]) for path in guesses() if path != CENTRAL] + [
        (CENTRAL, on) for on in ON_KBIT_PER_S[1:]
    ]


def _name(sender: Sender, path: Path, on_kbit_per_s: float) -> str:
    return ", ".join((sender.label, *path.label, f"{on_kbit_per_s:g} kbit/s"))


def conclude(results: Mapping[str, Result]) -> Outcome:
    """Compares F by the number of sources, and the losses."""
    f = {sender.label: by_load(results[sender.label], FRIENDLINESS, SOURCES) for sender in SENDERS}
    lost = {
        label: by_load(results[label], metrics.metric("hop_drops"), SOURCES, BOTTLENECK)
        for label in f
    }
    tables = (
        friendliness.table("F", f, "sources"),
        friendliness.table("Dropped at the bottleneck, %", lost, "sources"),
        measured(
            "F by what is guessed",
            ("sender", "packets", "delay", "buffer", "on rate"),
            _rows(results),
        ),
    )
    own = (
        Setting(
            "background", f"sources on for 1 s on the mean (Pareto, shape {SHAPE:g}), off for 2 s",
            Origin.GUESSED
        ),
        Setting(
            "on rate",
            f"{ON_KBIT_PER_S[0]:g} kbit/s; fewer sources of 50 and 500 in the table, as much in "
            "all",
            Origin.GUESSED,
        ),
        Setting("monitored", f"{MONITORED} TCP and {MONITORED} others", Origin.GUESSED),
    )  # fmt: skip
    went_in = settings(results, *one_path(), *own)
    title, x_label = "Beside sources that do not listen", "on-off sources (number)"
    rests = basis(
        why=(
            "the page with the result is lost; F grows with the number of sources, from 1 to 2: "
            "what they leave to ten senders falls from 1.3 to 0.3 Mbit/s, and Reno's windows with "
            "it; where as much comes in bursts, from sources of 500 kbit/s, F is 0.9"
        )
    )
    return Outcome(rests, (), friendliness.draw(title, f, x_label), _claims(f), went_in, tables)


def _claims(f: Mapping[str, ByLoad]) -> tuple[Claim, ...]:
    return tuple(
        Claim.of(
            f"{sender.label}: F is close to 1, mean over the numbers of sources",
            over_loads(f[sender.label]), CLOSE, documented=sender == CONSTANT[0],
            origin=Origin.INFERRED,
        )
        for sender in CONSTANT
    )  # fmt: skip


def _rows(results: Mapping[str, Result]) -> Rows:
    rows: Rows = {}
    for sender in (CONSTANT[0], TFRC):
        for path, on in _guesses():
            f = by_load(results[_name(sender, path, on)], FRIENDLINESS, FEW)
            rows[sender.label, *path.label, f"{on:g} kbit/s"] = {
                f"as much as {count} sources": interval(values) for count, values in f.items()
            }
    return rows


EXPERIMENT = entry(
    "6",
    "Does TFRCP share fairly with TCP beside many unresponsive on-off sources?",
    "The page with the result is lost; the scenario shows what the figure is for.",
    30.0,
    conclude,
    runs,
)
