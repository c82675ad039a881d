"""What tests of controls in the kernel need: their loader, and a look at what the kernel holds."""

import ctypes
import json
import os
import re
import subprocess
from pathlib import Path

import ackclock
from ackclock.run.host import loader

SOURCES = Path(ackclock.__file__).parents[2] / "crates" / "ackclock-core" / "bpf"
SHIPPED = sorted(path.name.removesuffix(".bpf.c") for path in SOURCES.glob("*.bpf.c"))
OFFERED = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")

# bpf(2): number of the call on x86-64 and arm64, and the commands that look for an id.
_BPF = {"x86_64": 321, "aarch64": 280}
_IDS = re.compile(r"^(prog_id|map_id|link_id):\s*(\d+)", re.MULTILINE)
_GET_BY_ID = {"prog_id": 13, "map_id": 14, "link_id": 30}


def why_not() -> str | None:
    """The reason why this machine loads no controls, or None if it does."""
    program = loader()
    if program is None:
        return "ackclock-kernel-host is not installed; make kernel"
    checked = subprocess.run(
        [program, "check", SOURCES / "aimd.bpf.o"], capture_output=True, text=True, check=False
    )
    return None if checked.returncode == 0 else refusal(checked.stdout)["reason"]


def refusal(answer: str) -> dict[str, str]:
    """The refusal among the loader's answers."""
    return json.loads(answer.splitlines()[-1])["refused"]


def held_by(pid: int) -> dict[tuple[str, int], None]:
    """The programs, maps and links that a process holds, by what kind of id they have."""
    held = {}
    for file in Path(f"/proc/{pid}/fdinfo").iterdir():
        for kind, number in _IDS.findall(file.read_text()):
            held[kind, int(number)] = None
    return held


def still_there(kind: str, number: int) -> bool:
    """True if the kernel has a program, map or link of that id."""
    attributes = ctypes.create_string_buffer(number.to_bytes(4, "little"), 128)
    call = _BPF[os.uname().machine]
    descriptor = ctypes.CDLL(None).syscall(call, _GET_BY_ID[kind], attributes, len(attributes))
    if descriptor < 0:
        return False
    os.close(descriptor)
    return True


def offered() -> list[str]:
    """The names of the controls that the kernel offers."""
    return OFFERED.read_text().split()
