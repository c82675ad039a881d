"""A scenario with one flow, and where its program comes from."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from ackclock import Scenario

ROOT = Path(__file__).parents[2]
PROGRAMS = ROOT / "crates" / "ackclock-core" / "bpf"

needs_clang = pytest.mark.skipif(
    not any(shutil.which(name) for name in ("clang", *(f"clang-{n}" for n in range(14, 23)))),
    reason="there is no clang: C source is not compiled here",
)

TOML = """
schema = 1
duration = "20 s"
seed = 3
replicates = 1

[[hops]]
name = "there"
link = { kind = "constant", rate = "10 Mbit/s" }
queue = { kind = "droptail", limit = "40 packets" }
delay = "20 ms"
impairments = [{ kind = "iid_loss", probability = "0.2 %" }]

[[hops]]
name = "back"
link = { kind = "constant", rate = "10 Mbit/s" }
queue = { kind = "droptail", limit = "40 packets" }
delay = "20 ms"

[[flows]]
name = "flow"
route = ["there"]
return = ["back"]
transport = { kind = "tcp", preset = "linux", control = { kind = "reno", arithmetic = "linux" } }
"""


def under(control: dict[str, Any], folder: Path = Path(), **changes: Any) -> Scenario:
    """Returns the scenario under a control, with files in `folder`."""
    scenario = Scenario.from_toml(TOML, folder)
    return scenario.replace({"flows.flow.transport.control": control, **changes})


def shipped(name: str, **parameters: int) -> dict[str, Any]:
    """Returns the control of a program that comes with ackclock."""
    control: dict[str, Any] = {"kind": "kernel", "shipped": name}
    return {**control, "parameters": parameters} if parameters else control
