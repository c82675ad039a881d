import html
import re
from pathlib import Path

import pytest

from ackclock import load
from ackclock.report.question import asked, several

POLICER = {"kind": "policer", "rate": "5 Mbit/s", "burst": "10 kB"}
FIRST = Path(__file__).parents[1] / "examples" / "first.toml"


def path_of(swept: dict[str, list[object]]) -> str:
    """The words about the path of the first example with a sweep."""
    scenario = load(FIRST).replace({"sweep": swept})
    points = [
        {"assignments": point.assignments, "scenario": point.scenario.resolve().tree}
        for point in scenario.expand()
    ]
    return html.unescape(asked(points).drawing)


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (["0 ms", "5 ms", "10 ms", "20 ms", "40 ms"], "0 to 40 ms"),
        (["20 ms", "5 ms", "1 s", "100 us", "2 ms"], "100 us to 1 s"),
        (["30 Mbit/s", "1 Gbit/s on average", "20 Mbit/s", "80 Mbit/s", "90 Mbit/s"],
         "20 Mbit/s to 1 Gbit/s on average"),
        (["1 packet", "0.5 BDP", "1 BDP", "2 BDP", "3 BDP"], "5 values"),
        (["a", "b", "c", "d", "e"], "5 values"),
        (["2 %", "0 %", "1 %"], "2, 0 or 1 %"),
    ],
)  # fmt: skip
def test_many_values_are_given_by_the_least_and_the_greatest(values: list[str], text: str) -> None:
    assert several(values) == text


def test_zero_is_a_swept_value() -> None:
    text = path_of({"hops.bottleneck.delay": ["0 ms", "5 ms", "10 ms", "20 ms", "80 ms"]})
    assert "0 to 80 ms" in text
    lossy = [[{"kind": "iid_loss", "probability": share}] for share in ("0 %", "2 %")]
    text = path_of({"hops.bottleneck.impairments": lossy})
    assert "loses 0 or 2 %" in text
    assert "iid loss" not in text
    lossy = [[{"kind": "iid_loss", "probability": "60 %"}] * 2, [POLICER]]
    text = path_of({"hops.bottleneck.impairments": lossy})
    assert "loses 84 % or an unknown share" in text
    codel = [{"kind": "droptail", "limit": "50 packets"}, {"kind": "codel", "limit": "50 packets"}]
    assert "drop-tail or CoDel" in path_of({"hops.bottleneck.queue": codel})


def test_elements_have_their_labels() -> None:
    queue = {"kind": "step_marking", "limit": "50 packets", "threshold": "5 packets"}
    assert "step marking" in path_of({"hops.bottleneck.queue": [queue]})


def test_drops_fall_above_the_words_below_a_link() -> None:
    lossy = [[{"kind": "iid_loss", "probability": "2 %"}]]
    text = path_of({"hops.bottleneck.impairments": lossy, "hops.bottleneck.delay": ["7 ms"]})
    drops = [float(y) for y in re.findall(r'class="lost" d="M[\d.]+ ([\d.]+)c', text)]
    y_of = {words: float(y) for y, words in re.findall(r'y="([\d.]+)"[^>]*>([^<]+)</text>', text)}
    assert max(drops) + 7 < y_of["7 ms"] - 10 < y_of["loses 2 %"] - 20


@pytest.mark.parametrize(("hops", "most"), [(1, 26), (2, 13)])
def test_a_long_name_has_the_room_of_its_hop(hops: int, most: int) -> None:
    tree = load(FIRST).resolve().tree
    names = [str(number) + 30 * "x" for number in range(hops)]
    on_route = [tree["hops"][0] | {"name": name} for name in names]
    flows = [tree["flows"][0] | {"route": names}]
    scenario = tree | {"hops": [*on_route, tree["hops"][1]], "flows": flows}
    drawing = asked([{"assignments": {}, "scenario": scenario}]).drawing
    assert [len(name) for name in re.findall(r">(\d?x+…)<", drawing)] == hops * [most]


def test_what_no_point_has_is_not_said() -> None:
    text = path_of({"hops.bottleneck.delay": ["0 ms", "0 s"]})
    assert ">0 ms<" not in text
    assert "loses" not in text
    assert "drop-tail" not in text
