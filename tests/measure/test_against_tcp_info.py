"""The limit of a transfer, compared with the sending kernel's own account.

The kernel knows when it had nothing to send, and when the receiver's window or its own buffer held
it back (tcp_info). While it is busy for none of these reasons, the network was the limit. Our
account uses the packets alone. The machine must be quiet: on a busy one full send buffers were
called a window (see the guide on accuracy).

Two definitions differ:

- The kernel counts a full buffer only from a transmission that finds the writer waiting until a
  third of it is free, often not at all. Readings with all written data in flight and room in the
  window count, too.
- While data is in flight and all written data has been sent, the kernel is busy, although the
  application limits. It says so in its rate samples (`application_limited`). Such readings count as
  the application's.
"""

import os
import shutil
from pathlib import Path

import pytest

from ackclock import Result, measure
from ackclock.metrics.tables import column

from .kernel import Transfer, run

pytestmark = [
    pytest.mark.real_time,
    pytest.mark.needs_root,
    pytest.mark.oracle,
    pytest.mark.skipif(
        os.geteuid() != 0 or not Path("/dev/net/tun").exists() or shutil.which("unshare") is None,
        reason="makes namespaces and devices, which only root may",
    ),
]

#: Tolerance of the shares, which are 0 to 1.
WITHIN = 0.05

NETWORK = ("congestion_window", "bottleneck_rate", "slow_start", "recovery")

_SLOW = {"receive_buffer": 60_000, "read_bytes": 8_000}

TRANSFERS = {
    "bulk through a short queue": Transfer(queue_packets=40),
    "bulk through a deep queue": Transfer(queue_packets=400),
    "bulk with losses": Transfer(loss=0.005),
    "bulk with many losses": Transfer(loss=0.03),
    "bulk of reno": Transfer(control="reno", loss=0.002),
    "bulk far away": Transfer(delay_s=0.06, loss=0.001),
    "bulk nearby": Transfer(delay_s=0.003, queue_packets=60),
    "small window": Transfer(receive_buffer=16_000),
    "window of 40 kB": Transfer(receive_buffer=40_000, delay_s=0.03),
    "small window far away": Transfer(receive_buffer=30_000, delay_s=0.08),
    "slow reader": Transfer(read_every_s=0.05, **_SLOW),
    "very slow reader": Transfer(read_every_s=0.4, **_SLOW),
    "reader that stalls": Transfer(read_every_s=1.0, receive_buffer=60_000, read_bytes=200_000),
    "slow reader nearby": Transfer(read_every_s=0.02, delay_s=0.002, **_SLOW),
    "small send buffer": Transfer(send_buffer=10_000),
    "send buffer of 60 kB": Transfer(send_buffer=30_000, delay_s=0.04),
    "constant rate": Transfer(write_bytes=1_448, every_s=0.012),
    "fast constant rate": Transfer(write_bytes=1_448, every_s=0.002),
    "bursts with pauses": Transfer(write_bytes=30_000, every_s=0.5),
    "small messages": Transfer(write_bytes=200, every_s=0.1),
}


def truth(said: dict[str, float]) -> dict[str, float]:
    """Returns the kernel's shares of the time."""
    elapsed, busy = said["elapsed_s"], min(1.0, said["busy_s"] / said["elapsed_s"])
    window = said["receive_window_s"] / elapsed
    rest = max(0.0, busy - window)
    buffer = max(said["send_buffer_s"] / elapsed, said["buffer_full"] * rest)
    own = said["application_limited"] * rest
    network = max(0.0, rest - buffer - own)
    return {
        "receive_window": window,
        "sender_buffer": buffer,
        "application": 1 - busy + own,
        "network": network,
    }


def found(result: Result) -> dict[str, float]:
    """Returns our shares of the time."""
    flows = [
        row["flow"]
        for row in result.rows("connections").to_pylist()
        if row["source"].startswith("10.9.0.1:")
    ]
    stretches = result.rows("limit_periods", flow=flows)
    lasts, limits = (
        column(stretches, "end_s") - column(stretches, "start_s"),
        column(stretches, "limit"),
    )
    shares = {
        name: float(lasts[limits == name].sum() / lasts.sum()) for name in set(limits.tolist())
    }
    named = {
        name: shares.get(name, 0.0)
        for name in ("receive_window", "sender_buffer", "application", "unknown")
    }
    return named | {"network": sum(shares.get(name, 0.0) for name in NETWORK)}


def differences(theirs: dict[str, float], ours: dict[str, float]) -> dict[str, float]:
    """Returns the error of each share, beyond what is unknown to us."""
    lacking = {
        name: max(0.0, share - ours[name] - ours["unknown"]) for name, share in theirs.items()
    }
    return {name: max(ours[name] - share, lacking[name]) for name, share in theirs.items()}


@pytest.mark.parametrize("name", TRANSFERS)
def test_shares_are_the_kernels_or_unknown(name: str, tmp_path: Path) -> None:
    said = run(TRANSFERS[name], tmp_path / "sender.pcap")
    theirs, ours = truth(said), found(measure(tmp_path / "sender.pcap", tmp_path / "measured"))
    off = differences(theirs, ours)
    assert max(off.values()) <= WITHIN, f"the kernel {theirs}, we {ours}"
