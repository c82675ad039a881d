"""Mistakes in a scenario: all are told at once, each with its place in the file."""

import json
import pickle
from pathlib import Path

import pytest

from ackclock import Scenario, ScenarioError, load

from .in_process import ackclock

TEXT = """schema = 1
nme = "typo"
duration = "100 secs"

[[hops]]
name = "wired"
link = { kind = "konstant", rate = "45 Mbps" }
queue = { kind = "codel", limit = "100 pkts" }

[[hops]]
name = "back"
link = { kind = "constant", rate = "10 Mbit/s" }
queue = { kind = "a_star", weight = 2, target_delay = "0 s" }

[[flows]]
name = "download"
route = ["wird"]
return = ["back"]
transport = { kind = "tcp", control = { kind = "reno", beta = 3 }, mss = "1460" }

[sweep]
"hops.back.delay" = ["1 ms", "2 lightyears"]
"""

KEYS = {
    "2:1": "unknown-field nme",
    "3:12": "wrong-unit duration",
    "7:17": "unknown-name hops.wired.link.kind",
    "8:35": "wrong-unit hops.wired.queue.limit",
    "13:37": "out-of-range hops.back.queue.weight",
    "13:55": "out-of-range hops.back.queue.target_delay",
    "17:10": "unknown-name flows.download.route.0",
    "19:63": "out-of-range flows.download.transport.control.beta",
    "19:74": "no-unit flows.download.transport.mss",
    "22:21": "wrong-unit hops.back.delay",
}


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("lab.toml").write_text(TEXT)
    return Path("lab.toml")


def test_all_are_found_at_their_places(file: Path) -> None:
    with pytest.raises(ScenarioError) as caught:
        load(file).check()
    error = caught.value
    by_place = {
        mistake.place.removeprefix("lab.toml:"): f"{mistake.code} {mistake.field}"
        for mistake in error.errors
    }
    assert by_place == KEYS
    assert (error.code, error.field) == (error.errors[0].code, error.errors[0].field)
    again = pickle.loads(pickle.dumps(error))
    assert [str(mistake) for mistake in again.errors] == [str(mistake) for mistake in error.errors]


def test_they_are_printed_in_the_order_of_the_file(file: Path) -> None:
    outcome = ackclock("check", file)
    lines = outcome.stderr.splitlines()
    assert outcome.exit_code == 2
    assert [":".join(line.split(":")[1:3]) for line in lines] == list(KEYS)
    assert all(line.startswith("lab.toml:") for line in lines)
    answer = json.loads(ackclock("check", file, "--json").stdout)
    assert {mistake["place"] for mistake in answer["errors"]} == {
        f"lab.toml:{place}" for place in KEYS
    }


def test_contradictions_are_told_with_whatever_else_is_wrong(tmp_path: Path) -> None:
    """Each has its own line and column, though several concern one element."""
    place = tmp_path / "red.toml"
    place.write_text(
        """schema = 1
duration = "10 s"
warmup = "20 s"

[[hops]]
name = "link"
link = { kind = "constant", rate = "10 Mbit/s" }

[hops.queue]
kind = "red"
limit = "100 packets"
minimum_threshold = "15 packets"
maximum_threshold = "9 packets"
weight = 7

[[flows]]
route = ["link"]
transport = { kind = "tcp", control = { kind = "vegas", alpha = 5, beta = 4, gamma = 0 } }
start = "8 s"
stop = "7 s"
""",
        encoding="utf-8",
    )
    with pytest.raises(ScenarioError) as caught:
        load(place).check()
    by_place = {
        mistake.place.removeprefix(f"{place}:"): mistake.code for mistake in caught.value.errors
    }
    expected = {
        "3:10": "contradiction",
        "13:21": "contradiction",
        "14:10": "out-of-range",
        "16:1": "contradiction",
        "18:75": "contradiction",
        "18:86": "out-of-range",
        "20:8": "contradiction",
    }
    assert by_place == expected
    lines = ackclock("check", place).stderr.splitlines()
    assert [line.split(": ")[0] for line in lines] == [
        f"{place}:{position}" for position in expected
    ]


def test_a_wrong_sweep_is_told_with_whatever_else_is_wrong(tmp_path: Path) -> None:
    place = tmp_path / "sweep.toml"
    place.write_text(
        """schema = 1
duration = "10 secs"

[[hops]]
name = "link"
link = { kind = "constant", rate = "10 Mbit/s" }
queue = { kind = "droptail", limit = "10 packets" }

[[flows]]
name = "bulk"
route = ["lonk"]
transport = { kind = "udp" }
traffic = { kind = "cbr", rate = "1 Mbit/s" }

[sweep]
"hops.nothing.delay" = ["1 ms"]
"hops.link.sped" = ["1 packet"]
"hops.link.delay" = []
"hops.link.queue.limit" = ["10 packets"]
""",
        encoding="utf-8",
    )
    with pytest.raises(ScenarioError) as caught:
        load(place).check()
    listed = [
        f"{mistake.place.removeprefix(f'{place}:')} {mistake.code}"
        for mistake in caught.value.errors
    ]
    assert sorted(listed, key=lambda line: int(line.split(":")[0])) == [
        "2:12 wrong-unit", "11:10 unknown-name", "16:1 unknown-field", "17:20 unknown-field",
        "18:21 out-of-range",
    ]  # fmt: skip
    lines = ackclock("check", place).stderr.splitlines()
    assert len(lines) == len(listed)


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("mahimahi", "0\n10\nx\n5\n-3\n12 3\n20\n", ':3: "x" is not a whole number'),
        ("csv", "time,rate\n0 s,1 Mbit/s\n1 s\n2 s,fast\n1 s,2\n3 s,\n", ':3: "1 s" has no comma'),
        ("sizes", "size,weight\n1 kB,1\n2,1\n1 kB\n1 kB,-1\n", ':3: "2" has no unit'),
    ],
)
def test_all_wrong_lines_of_a_file_are_told(
    name: str, text: str, complaint: str, tmp_path: Path
) -> None:
    Path(tmp_path, "data").write_text(text, encoding="utf-8")
    link = {"kind": "constant", "rate": "10 Mbit/s"}
    traffic = {"kind": "bulk"}
    if name == "sizes":
        size = {"kind": "empirical", "file": "data"}
        traffic = {"kind": "transfer", "size": size}
    else:
        link = {"kind": "trace", "file": "data", "format": name}
    tree = {
        "schema": 1, "duration": "1 s",
        "hops": [{"name": "link", "link": link,
                  "queue": {"kind": "droptail", "limit": "10 packets"}}],
        "flows": [{"name": "one", "route": ["link"], "traffic": traffic,
                   "transport": {"kind": "tcp", "control": {"kind": "reno"}}}],
    }  # fmt: skip
    with pytest.raises(ScenarioError) as caught:
        Scenario(tree, tmp_path).check()
    message = str(caught.value)
    assert complaint in message
    assert message.endswith("; also wrong: lines 4, 5" + (", 6" if name == "mahimahi" else ""))


def test_a_value_of_an_option_names_the_option(file: Path) -> None:
    outcome = ackclock("check", file, "--set", "hops.0.link.rate=fast", "--set", "duration=5 secs")
    assert "ackclock: --set: duration: " in outcome.stderr
    assert "lab.toml:3:" not in outcome.stderr


def test_every_line_that_is_not_toml_is_told(file: Path) -> None:
    file.write_text("schema = = 1\nduration = forever\n")
    lines = ackclock("check", file).stderr.splitlines()
    assert [line[:11] for line in lines] == ["lab.toml:1:", "lab.toml:2:"]


def test_text_without_a_file_has_no_place() -> None:
    with pytest.raises(ScenarioError) as caught:
        Scenario.from_toml(TEXT).check()
    assert {mistake.place for mistake in caught.value.errors} == {""}
    assert len(caught.value.errors) == len(KEYS)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("10 Mbps", "10 Mbit/s"),
        ("10Mb/s", "10 Mbit/s"),
        ("10 mbps", "10 Mbit/s"),
        ("10 MBps", "10 MB/s"),
        ("10 pps", None),
    ],
)
def test_units_as_people_write_them_are_suggested(written: str, meant: str | None) -> None:
    outcome = ackclock("predict", "sawtooth", "--rate", written, "--rtt", "5 msec", "--buffer", "9")
    assert outcome.exit_code == 2
    rtt_outcome = ackclock(
        "predict", "sawtooth", "--rtt", "5 secs", "--rate", "9Mbit/s", "--buffer", "9"
    )
    assert (
        rtt_outcome.stderr == 'ackclock: --rtt: "5 secs" has an unknown unit; did you mean "5 s"?\n'
    )
    if meant is not None:
        assert f'"{written}" has an unknown unit; did you mean "{meant}"?' in outcome.stderr
