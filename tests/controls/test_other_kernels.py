"""Calls of every control that comes with ackclock in Linux 6.12, answered by the engine.

Recorded by `tools/other_kernel.py` with Debian's linux-image-6.12.117+deb12-amd64: 1.5 MB each over
a loopback device with 10 ms, 10 Mbit/s and 1 % loss. The listener of a transfer has the control
too, so there are two `init`.
"""

import lzma
import runpy
from pathlib import Path

import pytest

from ackclock.capture import calls

from .paths import PROGRAMS, ROOT

RECORDED = Path(__file__).parent / "recorded" / "linux-6.12"
SHIPPED = sorted(path.name.removesuffix(".bpf.o") for path in PROGRAMS.glob("*.bpf.o"))
# Most bytes of records of a kernel in the repository (design, acceptance 4).
MOST_BYTES = 200_000


@pytest.mark.parametrize("name", SHIPPED)
def test_the_engine_answers_as_linux_6_12_did(name: str) -> None:
    control = (PROGRAMS / f"{name}.bpf.o").read_bytes()
    record = lzma.decompress((RECORDED / f"{name}.calls.xz").read_bytes())
    _, answers = calls.answered(control, {}, record)
    assert answers["first"] is None
    assert answers["equal"] == answers["calls"] > 900
    assert answers["connections"] == 2
    assert answers["kinds"]["ssthresh"] >= 5
    grows = "cong_control" if name in ("delivery_rate", "linux_bbr") else "cong_avoid"
    assert answers["kinds"][grows] > 400


def test_an_answer_that_linux_6_12_did_not_give_is_found() -> None:
    """The last byte of the window after the first growth, one larger."""
    control = (PROGRAMS / "reno.bpf.o").read_bytes()
    record = bytearray(lzma.decompress((RECORDED / "reno.calls.xz").read_bytes()))
    head, size, kind, after = 16, 144, 14, 44  # `struct ackclock_call` in ackclock.bpf.h
    places = range(head, len(record), size)
    grown = next(place for place in places if record[place + kind] == 4)  # cong_avoid
    record[grown + after] += 1
    _, answers = calls.answered(control, {}, bytes(record))
    assert answers["first"]["call"]["number"] == (grown - head) // size + 1
    assert answers["equal"] == answers["calls"] - 1


def test_records_are_small() -> None:
    files = list(RECORDED.glob("*.calls.xz"))
    assert len(files) == len(SHIPPED)
    assert sum(file.stat().st_size for file in files) <= MOST_BYTES


def test_the_tool_says_what_it_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tool = str(ROOT / "tools" / "other_kernel.py")
    out = tmp_path / "out"
    monkeypatch.setattr("sys.argv", [tool, str(tmp_path), str(out)])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(tool, run_name="__main__")
    assert ended.value.code == 77
    assert "unpack the package of one kernel" in capsys.readouterr().err
    assert not out.exists()
    monkeypatch.setattr("sys.argv", [tool, str(tmp_path), str(tmp_path)])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(tool, run_name="__main__")
    assert ended.value.code == 2
    assert "exists already" in capsys.readouterr().err
