"""Transfers of Linux of all kinds, with what the kernel and a capture say of their limits.

Those of `TRANSFERS` cross a path of `kernel.py`, those of `EMULATED` one of `ackclock emulate`.
Both begin with a kind, which says what holds them back.
"""

from pathlib import Path
from typing import Any

from ackclock import Result, Scenario, measure
from ackclock.capture.cause import NETWORK
from ackclock.capture.connections import connection_rows
from ackclock.metrics.tables import column
from ackclock.run.emulation import emulate

from .kernel import Transfer, run

_SLOW: dict[str, Any] = {"receive_buffer": 60_000, "read_bytes": 8_000}
_VETH: dict[str, Any] = {"device": "veth", "delay_s": 0.0}

TRANSFERS = {
    "bulk through a short queue": Transfer(queue_packets=40),
    "bulk through a deep queue": Transfer(queue_packets=400),
    "bulk nearby": Transfer(delay_s=0.003, queue_packets=60),
    "bulk of bbr": Transfer(control="bbr", queue_packets=100),
    "bulk of bbr far away": Transfer(control="bbr", delay_s=0.06, rate_bit_per_s=8e6),
    "bulk of reno between veths": Transfer(control="reno", queue_packets=60, **_VETH),
    "bulk of cubic between veths": Transfer(rate_bit_per_s=60e6, queue_packets=200, **_VETH),
    "bulk of bbr through its own link": Transfer(
        control="bbr", device="local", rate_bit_per_s=6e6, queue_packets=100
    ),
    "bulk of reno through its own link": Transfer(
        control="reno", device="local", rate_bit_per_s=20e6, queue_packets=200
    ),
    "loss of 0.5 %": Transfer(loss=0.005),
    "loss of 3 %": Transfer(loss=0.03),
    "loss beside reno": Transfer(control="reno", loss=0.002),
    "loss far away": Transfer(delay_s=0.06, loss=0.001),
    "loss with jitter": Transfer(loss=0.004, jitter_s=0.015),
    "loss with jitter beside reno": Transfer(control="reno", loss=0.01, jitter_s=0.03),
    "loss with much jitter": Transfer(delay_s=0.03, loss=0.004, jitter_s=0.06),
    "reordering": Transfer(reordering=0.01),
    "reordering beside reno": Transfer(control="reno", reordering=0.02, reordering_s=0.02),
    "reordering far away": Transfer(delay_s=0.05, reordering=0.004, reordering_s=0.03),
    "marks above 5 packets": Transfer(ecn=1, mark_above_packets=5),
    "marks above 30 packets": Transfer(ecn=1, mark_above_packets=30),
    "marks beside reno": Transfer(control="reno", ecn=1, mark_above_packets=10, delay_s=0.04),
    "slow way back": Transfer(return_rate_bit_per_s=40e3, return_queue_packets=50),
    "slow way back with a deep queue": Transfer(return_rate_bit_per_s=100e3, delay_s=0.01),
    "slow way back beside reno": Transfer(
        control="reno", return_rate_bit_per_s=60e3, return_queue_packets=20
    ),
    "window of 16 kB": Transfer(receive_buffer=16_000),
    "window of 40 kB": Transfer(receive_buffer=40_000, delay_s=0.03),
    "window of 30 kB far away": Transfer(receive_buffer=30_000, delay_s=0.08),
    "reader of 160 kB/s": Transfer(read_every_s=0.05, **_SLOW),
    "reader of 20 kB/s": Transfer(read_every_s=0.4, **_SLOW),
    "reader that stalls": Transfer(read_every_s=1.0, receive_buffer=60_000, read_bytes=200_000),
    "reader nearby": Transfer(read_every_s=0.02, delay_s=0.002, **_SLOW),
    "reader with the usual buffer": Transfer(read_every_s=0.01, read_bytes=4_000),
    "reader between veths": Transfer(
        read_every_s=0.02, read_bytes=20_000, rate_bit_per_s=0.0, **_VETH
    ),
    "buffer of 20 kB": Transfer(send_buffer=10_000),
    "buffer of 60 kB": Transfer(send_buffer=30_000, delay_s=0.04),
    "buffer of 100 kB": Transfer(send_buffer=50_000, delay_s=0.05, rate_bit_per_s=40e6),
    "buffer and short writes": Transfer(send_buffer=40_000, delay_s=0.04, write_bytes=1_000),
    "writes of a segment": Transfer(write_bytes=1_448, every_s=0.012),
    "writes of a segment, often": Transfer(write_bytes=1_448, every_s=0.002),
    "writes of 30 kB": Transfer(write_bytes=30_000, every_s=0.5),
    "writes of 200 bytes": Transfer(write_bytes=200, every_s=0.1),
    "writes of bbr": Transfer(control="bbr", write_bytes=5_000, every_s=0.01),
    "writes between veths": Transfer(write_bytes=8_000, every_s=0.01, **_VETH),
    "requests of 10 kB": Transfer(write_bytes=10_000, every_s=0.1, answers=True),
    "requests of 60 kB": Transfer(write_bytes=60_000, every_s=0.5, answers=True),
    "requests between veths": Transfer(
        write_bytes=20_000, every_s=0.02, answers=True, **_VETH
    ),
}  # fmt: skip

_SCENARIO = """
schema = 1
name = "causes"
duration = "8 s"
seed = 2026
replicates = 1

[[hops]]
name = "there"
link = {{ kind = "constant", rate = "{rate}" }}
queue = {{ {queue} }}
delay = "{delay}"
impairments = [{there}]

[[hops]]
name = "back"
link = {{ kind = "constant", rate = "{rate_back}" }}
queue = {{ kind = "droptail", limit = "1000 packets" }}
delay = "{delay}"

[[flows]]
name = "main"
route = ["there"]
return = ["back"]
transport = {{ kind = "tcp", control = {{ kind = "{control}" }}, preset = "linux"{more} }}
"""


def _emulated(**changed: str) -> str:
    usual = {
        "rate": "20 Mbit/s", "queue": 'kind = "droptail", limit = "1000 packets"',
        "delay": "20 ms", "there": "", "rate_back": "1 Gbit/s", "control": "cubic", "more": "",
    }  # fmt: skip
    return _SCENARIO.format(**(usual | changed))


_JITTER = (
    '{{ kind = "jitter", distribution = {{ kind = "exponential", mean = "{}" }}, '
    'reordering = "{}" }}'
)
_LOSS = '{ kind = "iid_loss", probability = "0.5 %" }'

EMULATED = {
    "marks of CoDel": _emulated(queue='kind = "codel", ecn = true', more=", ecn = true"),
    "marks of FQ-CoDel": _emulated(
        queue='kind = "fq_codel", ecn = true', control="reno", more=", ecn = true"
    ),
    "marks of PIE": _emulated(queue='kind = "pie", ecn = true', more=", ecn = true"),
    "marks of DualPI2": _emulated(
        queue='kind = "dualpi2"', rate="10 Mbit/s", more=", ecn = true"
    ),
    "loss with emulated jitter": _emulated(there=f"{_LOSS}, {_JITTER.format('8 ms', 'forbidden')}"),
    "reordering, emulated": _emulated(there=_JITTER.format("2 ms", "allowed")),
    "slow way back, emulated": _emulated(rate_back="60 kbit/s"),
    "window, emulated": _emulated(more=', receive_window = "40 kB"'),
    "bulk, emulated": _emulated(queue='kind = "droptail", limit = "80 packets"'),
}  # fmt: skip


def captured(name: str, folder: Path) -> tuple[dict[str, float], dict[str, Any], dict[str, float]]:
    """Returns the kernel's shares of the time, the row of the connection, and our shares.

    Args:
        name: Of a transfer.
        folder: For captures and results.
    """
    if name in TRANSFERS:
        capture = folder / "sender.pcap"
        theirs = kernels(run(TRANSFERS[name], capture))
    else:
        result = emulate(Scenario.from_toml(EMULATED[name]), folder / "run")
        theirs = kernels(_last(result))
        capture = folder / "run"
    measured = measure(capture, folder / "measured")
    [row] = connection_rows(measured, 1)
    return theirs, row, shares(measured, row)


def _last(result: Result) -> dict[str, float]:
    """Returns the numbers of `kernel.run` from the readings of an emulation."""
    readings = result.tables["tcp_info"]
    busy = column(readings, "unacknowledged_segments") > 0
    last = readings.to_pylist()[-1]
    return {
        "elapsed_s": last["time_s"] - readings["time_s"][0].as_py(),
        "busy_s": last["busy_s"],
        "receive_window_s": last["receive_window_limited_s"],
        "send_buffer_s": last["send_buffer_limited_s"],
        "application_limited": float(column(readings, "application_limited")[busy].mean()),
        "buffer_full": 0.0,
    }


def kernels(counters: dict[str, float]) -> dict[str, float]:
    """Returns the kernel's shares of the time."""
    elapsed, busy = counters["elapsed_s"], min(1.0, counters["busy_s"] / counters["elapsed_s"])
    window = counters["receive_window_s"] / elapsed
    rest = max(0.0, busy - window)
    buffer = max(counters["send_buffer_s"] / elapsed, counters["buffer_full"] * rest)
    own = counters["application_limited"] * rest
    network = max(0.0, rest - buffer - own)
    return {
        "receive_window": window,
        "sender_buffer": buffer,
        "application": 1 - busy + own,
        "network": network,
    }


def shares(measured: Result, row: dict[str, Any]) -> dict[str, float]:
    """Returns our shares of the time of a connection."""
    stretches = measured.rows("limit_periods", flow=row["flow"], instance=row["instance"])
    lasts = column(stretches, "end_s") - column(stretches, "start_s")
    limits = column(stretches, "limit")
    by_limit = {name: float(lasts[limits == name].sum() / lasts.sum()) for name in set(limits)}
    alone = ("receive_window", "sender_buffer", "application", "unknown")
    return {name: by_limit.get(name, 0.0) for name in alone} | {
        "network": sum(by_limit.get(name, 0.0) for name in NETWORK)
    }


def differences(theirs: dict[str, float], ours: dict[str, float]) -> dict[str, float]:
    """Returns the error of each share, beyond what is unknown to us."""
    lacking = {
        name: max(0.0, share - ours[name] - ours["unknown"]) for name, share in theirs.items()
    }
    return {name: max(ours[name] - share, lacking[name]) for name, share in theirs.items()}


def is_first(limit: str, theirs: dict[str, float], within: float = 0.1) -> bool:
    """Returns true if a limit comes first by the kernel's shares, or is said to be unknown."""
    own = theirs["network" if limit in NETWORK else limit] if limit != "unknown" else 1.0
    return own >= max(theirs.values()) - within
