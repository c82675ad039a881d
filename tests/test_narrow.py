"""Tables on a narrow terminal: labels are cut before columns are left out."""

import pytest

from ackclock.cli.output import print_rows
from ackclock.elements.registry import registry
from ackclock.report.run_tables import flow_table
from ackclock.table import Column, Interval, table

METRICS = ("goodput", "utilisation", "RTT", "retransmitted")


def row(flow: str, control: str, label: str) -> dict:
    """Returns a row of the table of flows, with intervals as wide as they get."""
    number = Interval(12.34, 0.12, 5)
    metrics = ("goodput", "utilisation", "rtt", "retransmissions", "loss_rate", "timeouts",
               "fairness", "completion_time")  # fmt: skip
    none = dict.fromkeys(
        ("active_flows", "request_time", "rebuffer_share", "page_time"), None
    )  # fmt: skip
    return {
        "point": 0, "assignments": {}, "flow": flow, "count": 1, "control": control,
        "control_label": label, "predicted": {"CUBIC saw-tooth": 9e6}, "violated": [],
        "stationarity": None, **none,
    } | dict.fromkeys(metrics, number)  # fmt: skip


@pytest.mark.parametrize("label", ["BBRv3", "BBR version 3 (draft-ietf-ccwg-bbr-06)"])
def test_80_columns_keep_what_matters(
    label: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    rows = [row("a download with a long name", "bbr3", label), row("a", "cubic", "CUBIC")]
    shown = print_rows(flow_table(rows))
    printed = capsys.readouterr().out.splitlines()
    assert set(METRICS) <= {column.name for column in shown.columns}
    assert max(map(len, printed)) <= 80
    assert any(line.startswith("a down") and "…" in line for line in printed)


def test_labels_are_cut_only_as_far_as_they_stay_apart() -> None:
    labels = table("", ["label", "n"], [["version 1 of it", 1], ["version 2 of it", 2]])
    assert [texts[0] for texts in labels.cut(0, 7).texts] == ["version 1…", "version 2…"]
    apart = table("", ["label"], [["one flow"], ["another flow"]])
    assert [texts[0] for texts in apart.cut(0, 5).texts] == ["one …", "anot…"]
    assert apart.cut(0, 40).texts == apart.texts
    assert labels.cut(0, 7).to_json() == labels.to_json()


def test_a_wide_terminal_cuts_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    columns = [Column("flow", least=7), Column("goodput", "Mbit/s")]
    print_rows(table("", columns, [["a download with a long name", 9.5]]))
    assert "a download with a long name" in capsys.readouterr().out


def test_labels_of_controls_are_short() -> None:
    """They stand in tables, menus and legends; a reference says the version."""
    longest = {
        entry["label"]: len(entry["label"])
        for entry in registry()["controls"]
        if entry["simulated"] and len(entry["label"]) > 16
    }
    assert not longest
