"""The kernel's own congestion control in place of a scenario's, for the emulated runs."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ackclock.elements import facts
from ackclock.errors import InputError
from ackclock.scenario import Scenario

_OFFERED = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")


def offered() -> tuple[str, ...]:
    """Returns the names of the controls that this kernel offers; nothing where it is not Linux."""
    try:
        return tuple(sorted(_OFFERED.read_text(encoding="ascii").split()))
    except (OSError, UnicodeDecodeError):
        return ()


def with_kernel_control(scenario: Scenario, name: str) -> Scenario:
    """Returns a scenario whose TCP flows run a control of the kernel.

    Raises:
        InputError: This kernel does not offer it, the scenario sweeps a control, or no flow is TCP.
    """
    names = offered()
    if names and name not in names:
        near = next((other for other in names if name.startswith(other)), None)
        remedy = f'did you mean "{near}"?' if near else "choose one, or load its module as root"
        words = f'"{name}" is not in this kernel, which offers {", ".join(names)}; {remedy}'
        raise InputError("unknown-name", "linux", words, name)
    points = scenario.expand()
    swept = [path for path in points[0].assignments if ".control" in path]
    if swept:
        words = f"the scenario sweeps {swept[0]}, and Linux would run {name} at every point"
        raise InputError("contradiction", "linux", f"{words}; remove one of the two")
    flows = points[0].scenario.resolve().tree["flows"]
    changes = {
        f"flows.{flow['name']}.transport.control": {"kind": "kernel", "name": name}
        for flow in flows
        if facts.transport(flow)[0] == "tcp"
    }
    if not changes:
        raise InputError("contradiction", "linux", "no flow is TCP; remove it")
    return scenario.replace(changes)


def nearest(scenario: dict[str, Any], names: Sequence[str]) -> str:
    """Returns the control of a kernel that stands closest to one that Linux does not have.

    That is one with which the control's name begins, as `bbr3` does with `bbr`, else any other.
    Empty if all controls of a resolved scenario are in Linux, or the kernel offers none.
    """
    missing = [
        facts.control(flow)[0]
        for flow in scenario["flows"]
        if facts.transport(flow)[0] == "tcp"
        and facts.control(flow)[1]["linux"] in (None, facts.NONE)
    ]
    if not missing or not names:
        return ""
    begun = [name for name in names if missing[0].startswith(name)]
    return max(begun, key=len, default="cubic" if "cubic" in names else names[0])
