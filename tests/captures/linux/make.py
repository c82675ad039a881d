"""Makes the captures in this folder: flows of this machine's kernel, captured at their sender.

    python tests/captures/linux/make.py [NAME ...]

Each is one emulated run with a reliable verdict. An unreliable run is repeated a few times, and
then left out. `NAME.pcap.gz` has the headers of both directions in order of time, without
checksums, which do not compress.

Times of sent packets are those at which they left the host. Times of ACKs are those at which the
path released them; the host got them later, by the lateness in `NAME.txt`. That file also has
kernel, date and scenario, and the kernel's counters of loss recovery. Its last part is the kernel's
view of the connection every 10 ms.
"""

import argparse
import datetime
import gzip
import os
import struct
import sys
import tempfile
from pathlib import Path
from typing import Any

from ackclock import Result, Scenario
from ackclock.run.emulation import emulate

HERE = Path(__file__).parent
ATTEMPTS = 4
LARGEST_BYTES = 300_000

CONTROLS = ("reno", "cubic")

# A link that stands still three times, for longer than a retransmission timeout.
STALLS = ", ".join(
    f'{{ from = "{time}", rate = "{rate}" }}'
    for time, rate in (
        ("0 s", "10 Mbit/s"),
        ("2 s", "10 kbit/s"), ("2600 ms", "10 Mbit/s"),
        ("5 s", "10 kbit/s"), ("5600 ms", "10 Mbit/s"),
        ("8 s", "10 kbit/s"), ("8600 ms", "10 Mbit/s"),
    )
)  # fmt: skip

# Rate or steps of the link, buffer, impairments of the path there, duration.
PATHS = {
    "short-queue-10s": ("10 Mbit/s", "10 packets", "", "10 s"),
    "short-queue-60s": ("2 Mbit/s", "10 packets", "", "60 s"),
    "random-loss-10s": (
        "10 Mbit/s", "100 packets", '{ kind = "iid_loss", probability = "1 %" }', "10 s",
    ),
    "random-loss-60s": (
        "2 Mbit/s", "100 packets", '{ kind = "iid_loss", probability = "1 %" }', "60 s",
    ),
    "heavy-loss-10s": (
        "2 Mbit/s", "100 packets", '{ kind = "iid_loss", probability = "10 %" }', "10 s",
    ),
    "stalls-10s": (STALLS, "100 packets", "", "10 s"),
    "reordering-10s": (
        "10 Mbit/s", "100 packets",
        '{ kind = "jitter", reordering = "allowed", '
        'distribution = { kind = "exponential", mean = "2 ms" } }',
        "10 s",
    ),
}  # fmt: skip

SCENARIO = """\
schema = 1
name = "{name}"
duration = "{duration}"
seed = 1
replicates = 1

[[hops]]
name = "there"
link = {{ {link} }}
queue = {{ kind = "droptail", limit = "{limit}" }}
impairments = [{impairments}]
delay = "20 ms"

[[hops]]
name = "back"
link = {{ kind = "constant", rate = "100 Mbit/s" }}
queue = {{ kind = "droptail", limit = "1000 packets" }}
delay = "20 ms"

[[flows]]
name = "main"
route = ["there"]
return = ["back"]
transport = {{ kind = "tcp", control = {{ kind = "{control}" }}, preset = "linux" }}
"""

# Columns of `tcp_info` that are kept.
READ = (
    "time_s",
    "loss_state",
    "cwnd_segments",
    "ssthresh_segments",
    "rto_s",
    "sacked_segments",
    "lost_segments",
    "resent_segments",
    "retransmissions",
    "timeouts",
    "duplicate_sacks",
    "reordering_events",
)

# pcap with nanoseconds, least significant byte first.
MAGIC = 0xA1B23C4D
FILE_HEADER, PACKET_HEADER = 24, 16
TCP = 6


def packets(capture: bytes) -> list[tuple[int, int, bytes]]:
    """Returns time in ns, length on the wire and headers of each TCP packet of a capture."""
    assert struct.unpack_from("<I", capture)[0] == MAGIC
    rows, offset = [], FILE_HEADER
    while offset < len(capture):
        seconds, nanoseconds, kept, length = struct.unpack_from("<4I", capture, offset)
        packet = bytearray(capture[offset + PACKET_HEADER : offset + PACKET_HEADER + kept])
        offset += PACKET_HEADER + kept
        if packet[9] != TCP:  # a probe before the run
            continue
        ip = 4 * (packet[0] & 0xF)
        packet[10:12] = packet[ip + 16 : ip + 18] = b"\0\0"  # checksums
        headers = bytes(packet[: ip + 4 * (packet[ip + 12] >> 4)])
        rows.append((seconds * 1_000_000_000 + nanoseconds, length, headers))
    return rows


def merged(folder: Path) -> bytes:
    """Returns one capture of both directions at the sender."""
    both = [
        (folder / "pcap" / f"point-0-replicate-0-{place}.pcap").read_bytes()
        for place in ("from-senders", "to-senders")
    ]
    rows = sorted((row for capture in both for row in packets(capture)), key=lambda row: row[0])
    out = [both[0][:FILE_HEADER]]
    for time_ns, length, headers in rows:
        head = struct.pack("<4I", *divmod(time_ns, 1_000_000_000), len(headers), length)
        out += [head, headers]
    return b"".join(out)


def written(value: Any) -> str:
    """Returns a cell of a table as text; empty if unknown."""
    if value is None:
        return ""
    return f"{value:.6f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def description(scenario: str, result: Result) -> str:
    """Returns the text beside a capture. Readings that repeat the one before are left out."""
    [fidelity] = result.tables["fidelity"].to_pylist()
    made = datetime.datetime.now(datetime.UTC).date().isoformat()
    lines = [
        # Without what the builder of the kernel has added.
        f"kernel\t{result.run['machine']['kernel'].split('-')[0]}",
        f"made\t{made}",
        f"verdict\t{fidelity['verdict']}",
        *(
            f"{name}\t{written(fidelity[name])}"
            for name in ("lateness_p50_s", "lateness_p99_s", "lateness_max_s", "host_wait_max_s")
        ),
        f"load_average\t{os.getloadavg()[0]:.2f}",
        "", "[scenario]", *scenario.splitlines(),
        "", "[counters of the sender]",
    ]  # fmt: skip
    for row in result.tables["counters"].to_pylist():
        if row["host"] == "senders":
            lines.append(f"{row['name']}\t{row['value']}")
    lines += ["", "[tcp_info]", "\t".join(READ)]
    before = None
    for row in result.tables["tcp_info"].select(list(READ)).to_pylist():
        cells = [written(row[name]) for name in READ]
        if cells[1:] != before:
            lines.append("\t".join(cells))
        before = cells[1:]
    return "\n".join(lines) + "\n"


def link_of(rate: str) -> str:
    """Returns the fields of a link with a rate, or with steps of it."""
    if rate.startswith("{"):
        return f'kind = "scheduled", steps = [{rate}]'
    return f'kind = "constant", rate = "{rate}"'


def make(name: str, control: str, path: tuple[str, ...]) -> bool:
    """Makes one capture; returns False if no run was reliable."""
    rate, limit, impairments, duration = path
    scenario = SCENARIO.format(
        name=name, control=control, link=link_of(rate), limit=limit, impairments=impairments,
        duration=duration,
    )  # fmt: skip
    for _ in range(ATTEMPTS):
        with tempfile.TemporaryDirectory() as folder:
            result = emulate(Scenario.from_toml(scenario), Path(folder) / "run")
            if result.unreliable:
                print(f"{name}: {result.tables['fidelity']['verdict'][0]}", file=sys.stderr)
                continue
            capture = gzip.compress(merged(Path(folder) / "run"), 9, mtime=0)
            text = description(scenario, result)
        assert len(capture) < LARGEST_BYTES, f"{name}: {len(capture)} bytes"
        (HERE / f"{name}.pcap.gz").write_bytes(capture)
        (HERE / f"{name}.txt").write_text(text, encoding="utf-8")
        print(f"{name}: {len(capture)} bytes, {len(text)} bytes of text")
        return True
    return False


def main() -> int:
    """Makes the captures that are named, or all."""
    every = {f"{control}-{path}": (control, path) for control in CONTROLS for path in PATHS}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", choices=[*every, []], metavar="NAME")
    names = parser.parse_args().names or list(every)
    made = [make(name, every[name][0], PATHS[every[name][1]]) for name in names]
    return 0 if all(made) else 1


if __name__ == "__main__":
    raise SystemExit(main())
