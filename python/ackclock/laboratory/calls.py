"""Answers to a page: models always, runs only if it has no engine of its own.

Each call takes and returns plain data. The calls of the engine are those of
`crates/ackclock-lab/src/laboratory.rs`.
"""

import base64
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ackclock import engine
from ackclock.errors import InputError
from ackclock.laboratory.live import LiveEmulation
from ackclock.laboratory.page import Beginning
from ackclock.result.folder import write_whole
from ackclock.scenario import Scenario


@dataclass(frozen=True)
class Session:
    """The state that the calls of a page work on.

    Attributes:
        begin: The scenario that the page began with.
        live: Its emulations.
    """

    begin: Beginning
    live: LiveEmulation = field(default_factory=LiveEmulation)


_Call = Callable[[Session, dict[str, Any]], Any]

#: Longest run for a page, in seconds of this machine.
MOST_SECONDS = 10.0
#: Most bytes that a run for a page may need, as in `laboratory.rs`.
_MOST_BYTES = 512_000_000
_MOST_REPLICATES = 1_000
_TOO_LONG = f"takes longer than {MOST_SECONDS:.0f} s; run it with ackclock simulate"


def _changed(session: Session, request: dict[str, Any]) -> Scenario:
    tree, changes = request.get("scenario"), request.get("set") or {}
    if not isinstance(tree, dict) or not isinstance(changes, dict):
        raise InputError("wrong-type", "scenario", "is not a tree with changes")
    return session.begin.changed(tree, changes)


def describe(_session: Session, _request: dict[str, Any]) -> Any:
    """Returns the engine's version and schema, and the controls that a page leaves out."""
    controls: Any = engine.registry()["controls"]
    return {
        "version": engine.version(),
        "schema": engine.schema(),
        "controls_left_out": [control["name"] for control in controls if not control["simulated"]],
    }


def read(_session: Session, request: dict[str, Any]) -> Any:
    """Returns the tree of a scenario's `text`."""
    return engine.parse_scenario(str(request.get("text", "")))


def write(_session: Session, request: dict[str, Any]) -> Any:
    """Returns the `scenario` as TOML."""
    return engine.to_toml(request.get("scenario") or {})


def check(session: Session, request: dict[str, Any]) -> Any:
    """Returns the changed tree, its first point with all defaults, and its assignments."""
    scenario = _changed(session, request)
    points = scenario.expand()
    return {
        "scenario": scenario.tree,
        "point": points[0].scenario.tree,
        "resolved": points[0].scenario.resolve().tree,
        "assignments": list(points[0].assignments.items()),
        "points": len(points),
    }


def run(session: Session, request: dict[str, Any]) -> Any:
    """Runs one replicate of the first point; returns its tables as rows of columns in base64."""
    point = _changed(session, request).expand()[0].scenario
    replicate = request.get("replicate", 0)
    if not isinstance(replicate, int) or not 0 <= replicate < _MOST_REPLICATES:
        raise InputError("out-of-range", "replicate", "is not a number of a replicate")
    point = point.replace(replicates=replicate + 1)
    deadline = time.monotonic() + MOST_SECONDS

    def tell(_share: float) -> None:
        if time.monotonic() > deadline:
            raise InputError("unsupported", "", _TOO_LONG)

    outcome = engine.simulate(
        [point.tree],
        point.place,
        threads=1,
        memory=_MOST_BYTES,
        packets=False,
        pcap_folder=None,
        finished=[(0, number) for number in range(replicate)],
        take=None,
        progress=tell,
    )
    return {
        name: [[column, kind, _base64(data), *words] for column, (kind, data, *words) in table]
        for name, table in ((name, table.items()) for name, table in outcome["tables"].items())
    }


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def predict(session: Session, request: dict[str, Any]) -> Any:
    """Returns what each usual model predicts for each flow: goodput in bit/s, if it has one."""
    from ackclock.run import prediction

    point = _changed(session, request).expand()[0].scenario
    predictions = prediction.predict(point, "usual").tables["predictions"].to_pylist()
    return [
        {name: row[name] for name in ("flow", "model", "label", "verdict", "goodput_bit_per_s")}
        for row in predictions
        if row["goodput_bit_per_s"] is not None
    ]


def emulate(session: Session, request: dict[str, Any]) -> Any:
    """Prepares the emulation that `emulate/events` runs: the first replicate of the first point."""
    session.live.prepare(_changed(session, request))
    return {}


def save(session: Session, request: dict[str, Any]) -> Any:
    """Writes the changed scenario to the file that the page may write; returns its name."""
    path = session.begin.saved
    if path is None:
        raise InputError(
            "unsupported", "", "nothing may be saved; begin with ackclock lab --save FILE"
        )
    scenario = _changed(session, request)
    scenario.check()
    write_whole(path, scenario.to_toml())
    return {"saved": str(path)}


#: Every call by the last step of its address.
CALLS: dict[str, _Call] = {
    "describe": describe,
    "read": read,
    "write": write,
    "check": check,
    "run": run,
    "predict": predict,
    "emulate": emulate,
    "save": save,
}
