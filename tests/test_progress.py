import re

import pytest

from ackclock.cli import progress as module
from ackclock.cli.progress import progress

# Read before `no_progress` changes it.
QUIET_S = module._QUIET_S


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr("ackclock.cli.progress.time.monotonic", lambda: now[0])
    monkeypatch.setattr(module, "_QUIET_S", QUIET_S)
    return now


def test_two_seconds_of_patience(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    with progress("work") as tell:
        tell(0)
        clock[0] += 1.9
        tell(0.9)
    assert capsys.readouterr() == ("", "")


def test_a_log_gets_a_line_now_and_then_with_the_time_left(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    with progress("work") as tell:
        for second in range(1, 41):
            clock[0] += 1
            tell(second / 400)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        "work: 2%, 6 min 30 s left",
        "work: 5%, 6 min 20 s left",
        "work: 8%, 6 min 10 s left",
        "work: 10%, 6 min 0 s left",
    ]


def test_a_terminal_gets_a_bar(
    clock: list[float], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    with progress("work") as tell:
        clock[0] += 10
        tell(0.25)
        clock[0] += 2
        tell(0.5)
    out, err = capsys.readouterr()
    assert out == ""
    assert re.search(r"work.* 50%.* 12 s left", err)


def test_what_lasts_long_is_announced_at_once_with_what_goes_on(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    with progress("work", duration_s=100) as tell:
        tell(0.0, "9.5 Mbit/s")
        for second in range(1, 21):
            clock[0] += 1
            tell(second / 100, "9.6 Mbit/s")
    assert capsys.readouterr().err.splitlines() == [
        "work: 0%, 9.5 Mbit/s, 1 min 40 s left",
        "work: 10%, 9.6 Mbit/s, 1 min 30 s left",
        "work: 20%, 9.6 Mbit/s, 1 min 20 s left",
    ]


def test_what_is_known_to_be_short_is_not_announced(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    with progress("work", duration_s=9) as tell:
        tell(0.0, "9.5 Mbit/s")
        clock[0] += 1.9
        tell(0.2, "9.6 Mbit/s")
    assert capsys.readouterr() == ("", "")


def test_where_nobody_knows_the_share_there_is_only_what_is_told(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    with progress("measure -") as tell:
        clock[0] += 20
        tell(None, "1,234 packets")
    assert capsys.readouterr().err == "measure -: 1,234 packets\n"
