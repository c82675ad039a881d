"""Captures of Linux senders in `tests/captures/linux` show what the kernel counted."""

from pathlib import Path

import pytest

from ackclock import Scenario
from ackclock.capture.measurement import measure

CAPTURES = sorted((Path(__file__).parents[1] / "captures" / "linux").glob("*.pcap.gz"))
LARGEST_BYTES = 300_000


def sections(capture: Path) -> dict[str, list[str]]:
    """Returns the lines of each section of the text beside a capture; the first has no name."""
    by_section: dict[str, list[str]] = {"": []}
    lines = by_section[""]
    text = capture.with_name(capture.name.replace(".pcap.gz", ".txt")).read_text(encoding="utf-8")
    for line in text.splitlines():
        if line.startswith("[") and line.endswith("]") and not line.startswith("[["):
            lines = by_section[line[1:-1]] = []
        else:
            lines.append(line)
    return by_section


def pairs(lines: list[str]) -> dict[str, str]:
    return dict(line.split("\t") for line in lines if line)


def test_there_are_some() -> None:
    assert {path.name.split("-")[0] for path in CAPTURES} == {"reno", "cubic"}


@pytest.mark.long
@pytest.mark.parametrize("capture", CAPTURES, ids=lambda path: path.name)
def test_the_capture_shows_what_the_kernel_counted(capture: Path, tmp_path: Path) -> None:
    assert capture.stat().st_size < LARGEST_BYTES
    recorded = sections(capture)
    assert pairs(recorded[""])["verdict"] == "reliable"
    Scenario.from_toml("\n".join(recorded["scenario"])).check()
    counted = {
        name: int(value) for name, value in pairs(recorded["counters of the sender"]).items()
    }
    head, *rows = [line.split("\t") for line in recorded["tcp_info"] if line]
    assert len(rows) > 100
    last = dict(zip(head, rows[-1], strict=True))
    assert int(last["retransmissions"]) == counted["RetransSegs"]
    assert int(last["timeouts"]) == counted["TCPTimeouts"]
    seen = measure(capture, tmp_path / "seen").tables["connections"].to_pylist()
    assert sum(row["retransmitted_packets"] or 0 for row in seen) == counted["RetransSegs"]
