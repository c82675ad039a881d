"""`ackclock measure` with a stand-in for the capture: output and exit codes."""

import json
import os
import re
from pathlib import Path

import pytest

from ackclock import Result, measure
from ackclock.capture.connections import apart, largest
from ackclock.capture.estimates import KEYS
from ackclock.result import spool

from ..in_process import ackclock
from ..refusals import check, check_refusal, error_of, refused
from .pretended import Pretended, connection, flow, rtt_histogram, samples, stretch


@pytest.mark.usefixtures("here")
def test_the_answer_comes_first(pretended: Pretended) -> None:
    outcome = ackclock("measure", "web.pcap")
    assert (outcome.exit_code, outcome.stderr) == (0, "")
    words = " ".join(outcome.stdout.split())
    assert "10.0.0.1:5001 > 10.1.0.1:80" in words
    assert (
        "1: limited by the receiver's window (83 % of the time): the receiver offered 65.5 kB; an "
        "RTT of 40.0 ms then allows 13.1 Mbit/s. 100 Mbit/s at 40.0 ms would need a window of "
        "500 kB."
    ) in words
    assert "PFTK" in words
    assert "Markov chain" in words
    assert f"  result  {Path('out') / 'web-measured'}\n" in outcome.stdout
    assert max(map(len, outcome.stdout.splitlines())) <= 80
    assert pretended.asked == {
        "captures": [(["web.pcap"], 0, 0)], "points": [([], 0.0)], "method": "",
        "interval_s": 0.1, "segments": False,
        "estimators": [],
    }  # fmt: skip


@pytest.mark.usefixtures("here")
def test_as_json(pretended: Pretended) -> None:
    outcome = ackclock(
        "measure", "web.pcap", "--json", "-o", "m", "--interval", "20 ms", "--segments"
    )
    assert outcome.exit_code == 0, outcome.stderr
    answer = json.loads(outcome.stdout)
    assert answer["folder"] == "m"
    assert [row["limit"] for row in answer["connections"]] == ["receive_window"]
    assert answer["connections"][0]["answer"].startswith("limited by the receiver's window")
    assert answer["others"] == 0
    [estimate] = answer["estimates"]
    assert estimate["loss"] == pytest.approx(0.01)
    assert {row["model"] for row in answer["predictions"]} >= {
        "pftk",
        "aimd_chain",
        "cubic_response",
    }
    assert (pretended.asked["interval_s"], pretended.asked["segments"]) == (0.02, True)


@pytest.mark.usefixtures("here")
def test_the_largest_of_many(pretended: Pretended) -> None:
    flows = [f"10.0.0.{number}:1 > 10.1.0.1:80" for number in range(1, 6)]
    pretended.rows = {
        "flows": [flow(flow=name) for name in flows],
        "samples": [sample for name in flows for sample in samples(flow=name)],
        "connections": [
            connection(flow=name, payload_bytes=1000 * number) for number, name in enumerate(flows)
        ],  # the first without payload
        "limit_periods": [stretch(flow=name) for name in flows],
        "rtt_histogram": [row for name in flows for row in rtt_histogram(flow=name)],
    }
    outcome = ackclock("measure", "web.pcap", "--top", "2")
    listed = re.findall(r"^ *\d+ +(10\.0\.0\.\d:1) >", outcome.stdout, re.MULTILINE)
    assert listed == ["10.0.0.5:1", "10.0.0.4:1"]
    assert "--top 4" in outcome.stdout
    result = Result.load("out/web-measured")
    assert result.tables["connections"].num_rows == 5
    assert result.tables["estimates"].num_rows == 2
    rows = largest(result)
    for row, alone in zip(rows, apart(result, rows), strict=True):
        keys = {name: row[name] for name in KEYS}
        for name, table in alone.tables.items():
            own = result.rows(name, table.column_names, **keys)
            assert table.to_pylist() == own.to_pylist() != [], name


@pytest.mark.usefixtures("here")
def test_what_is_to_be_known_is_a_line_each(pretended: Pretended) -> None:
    pretended.damage = "at byte 1234: the file ends within a packet"
    pretended.skipped = {"not_ip": 10, "fragments": 2}
    pretended.datagrams = 3
    pretended.rows["connections"] = [connection(begins="midway", receive_window_scaled=0.0)]
    outcome = ackclock("measure", "web.pcap")
    assert outcome.exit_code == 0
    assert outcome.stderr.splitlines() == [
        "warning: web.pcap: damaged at byte 1234: the file ends within a packet; what could be "
        "read was measured",
        "warning: web.pcap: passed over 15 packets: 10 not IP, 2 later fragments, 3 UDP of more "
        "flows than are followed",
        "warning: 1 direction of 1: the capture begins after the SYN, so that the scale of the "
        "receiver's window is not known",
    ]


@pytest.mark.parametrize(
    ("arguments", "code", "field"),
    [
        (("web.pcap", "--interval", "0 s"), "out-of-range", "--interval"),
        (("web.pcap", "--interval", "fast"), "wrong-type", "--interval"),
        (("web.pcap", "--models", "pftq"), "unknown-name", "--models"),
        (("web.pcap", "--top", "0"), "out-of-range", "--top"),
        (("web.pcap", "-o", "web.pcap"), "file", "web.pcap"),
        (("web.pcap", "-o", "."), "file", "."),
        ((".",), "file", "."),
    ],
)
def test_bad_input_is_one_line_and_nothing_is_read(
    here: Path, pretended: Pretended, arguments: tuple[str, ...], code: str, field: str
) -> None:
    check_refusal(ackclock("measure", *arguments), code, field)
    assert pretended.asked == {}
    assert [path.name for path in here.iterdir()] == ["web.pcap"]


def test_a_refused_file_is_one_line_and_nothing_written(here: Path, pretended: Pretended) -> None:
    pretended.refusal = "is a text file"
    check_refusal(ackclock("measure", "web.pcap"), "file", "web.pcap", pretended.refusal)
    assert [path.name for path in here.iterdir()] == ["web.pcap"]


def test_a_capture_without_tcp_is_refused(here: Path, pretended: Pretended) -> None:
    pretended.rows, pretended.skipped = {}, {"other_transport": 9}
    check_refusal(
        ackclock("measure", "web.pcap", "-o", "m"), "file", "web.pcap", "9 neither TCP nor UDP"
    )
    with refused("file", "web.pcap"):
        measure("web.pcap", "m")
    assert [path.name for path in here.iterdir()] == ["web.pcap"]


@pytest.mark.slow
@pytest.mark.usefixtures("here")
def test_an_interrupted_measurement_is_partial_and_usable(pretended: Pretended) -> None:
    pretended.complete = False
    outcome = ackclock("measure", "web.pcap", "-o", "m")
    assert outcome.exit_code == 130
    assert outcome.stderr == "warning: interrupted: what had been read by then was measured\n"
    assert "limited by the receiver's window" in " ".join(outcome.stdout.split())
    assert Result.load("m").partial
    assert ackclock("report", "m").exit_code == 0


def test_interrupted_before_anything_was_found(here: Path, pretended: Pretended) -> None:
    pretended.rows, pretended.complete = {}, False
    outcome = ackclock("measure", "web.pcap", "-o", "m")
    assert outcome.exit_code == 130
    check(error_of(outcome), "interrupted", "")
    assert [path.name for path in here.iterdir()] == ["web.pcap"]


@pytest.mark.usefixtures("here")
def test_killed_midway_the_folder_says_so(pretended: Pretended) -> None:
    def die() -> None:
        assert json.loads(Path("m/run.json").read_text())["partial"] is True
        raise KeyboardInterrupt

    pretended.midway = die
    outcome = ackclock("measure", "web.pcap", "-o", "m")
    assert outcome.exit_code == 130
    check(error_of(outcome), "interrupted", "", "ackclock measure")
    check_refusal(ackclock("plot", "m"), "file", "m", "ackclock measure")
    pretended.midway = lambda: None
    assert ackclock("measure", "web.pcap", "-o", "m").exit_code == 0


@pytest.mark.usefixtures("here")
def test_a_table_that_comes_in_many_pieces(
    pretended: Pretended, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spool, "_ROWS", 7)
    pretended.rows["samples"] = samples(101)
    result = measure("web.pcap", "m")
    assert result.tables["samples"]["time_s"].to_pylist() == [
        pytest.approx(number / 10) for number in range(101)
    ]
    assert result.rows("samples", flow="nobody").num_rows == 0


@pytest.mark.usefixtures("here", "pretended")
def test_a_result_does_not_replace_its_capture() -> None:
    ackclock("measure", "web.pcap", "-o", "m")
    Path("m/pcap").mkdir()
    Path("web.pcap").rename("m/pcap/web.pcap")
    check_refusal(ackclock("measure", "m/pcap/web.pcap", "-o", "m"), "file", "m")
    assert Path("m/pcap/web.pcap").exists()


@pytest.mark.usefixtures("here", "pretended")
def test_a_measurement_is_no_source_of_captures() -> None:
    ackclock("measure", "web.pcap", "-o", "m")
    check_refusal(ackclock("measure", "m"), "file", "m", "measure")


@pytest.mark.slow
@pytest.mark.usefixtures("here")
def test_figures_and_page(pretended: Pretended) -> None:
    pretended.rows["samples"] = samples(100)
    ackclock("measure", "web.pcap", "-o", "m")
    outcome = ackclock("plot", "m")
    names = ("outstanding", "throughput", "rtt")
    assert outcome.stdout.splitlines() == [f"figure: m/figures/{name}.svg" for name in names]
    assert ackclock("report", "m").stdout == "report: m/report.html\n"
    page = Path("m/report.html").read_text().replace("\u00a0", " ")
    assert "limited by the receiver&#39;s window (83 % of the time)" in page
    assert "2020-09-13 12:26:40 UTC" in page
    assert "Markov chain" in page


@pytest.mark.slow
@pytest.mark.usefixtures("here")
def test_one_command_leads_from_capture_to_page(pretended: Pretended) -> None:
    outcome = ackclock("report", "web.pcap")
    place = Path("out") / "web-measured" / "report.html"
    assert outcome.stdout == f"report: {place}\n"
    assert "limited by the receiver" in place.read_text()
    assert pretended.asked["segments"] is True
    pretended.complete = False
    outcome = ackclock("report", "web.pcap", "-o", "page.html")
    assert outcome.stderr.splitlines() == [
        "replaces the result in out/web-measured",
        "warning: interrupted: what had been read by then was measured",
    ]
    assert Path("page.html").exists()


@pytest.mark.slow
@pytest.mark.usefixtures("here", "pretended")
def test_only_a_measurement_of_the_same_capture_is_replaced_unasked() -> None:
    folder, capture = "out/web-measured", Path("web.pcap")
    again = ("measure", "web.pcap")
    ackclock(*again)
    assert ackclock(*again).exit_code == 0
    elsewhere = Path("elsewhere/web.pcap")
    elsewhere.parent.mkdir()
    elsewhere.write_bytes(capture.read_bytes())
    check_refusal(ackclock("measure", elsewhere), "file", folder, "measurement", "--force")
    check_refusal(ackclock("report", elsewhere), "file", folder, "ackclock measure")
    later = Path(folder, "run.json").stat().st_mtime + 1
    os.utime(capture, (later, later))
    check_refusal(ackclock(*again), "file", folder, "measurement")


@pytest.mark.long
@pytest.mark.usefixtures("here", "pretended")
@pytest.mark.parametrize(
    ("arguments", "code", "field"),
    [
        (("--kind", "cwnd"), "no-data", "--kind"),
        (("--kind", "queue"), "no-data", "--kind"),
        (("--kind", "sweep"), "no-data", "--kind"),
        (("--kind", "sequence"), "no-data", "--kind"),
        (("--kind", "outstanding", "--connection", "1"), "out-of-range", "--connection"),
        (("--from", "1 s"), "no-data", "m"),
        (("--from", "0.5s", "--to", "0.5s"), "contradiction", "--to"),
        (("--to", "0 s"), "out-of-range", "--to"),
        (("--from", "-1 s"), "out-of-range", "--from"),
        (("--from", "soon"), "wrong-type", "--from"),
        (("--metric", "rtt"), "contradiction", "--metric"),
    ],
)
def test_figures_that_there_are_not(arguments: tuple[str, ...], code: str, field: str) -> None:
    ackclock("measure", "web.pcap", "-o", "m")
    check_refusal(ackclock("plot", "m", *arguments), code, field)
    assert not Path("m/figures").exists()
