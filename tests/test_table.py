"""The single type of tables: the same cells for terminals, pages and programs."""

import csv
import io
import math

import pytest

from ackclock.metrics import Interval, in_shown_unit
from ackclock.report.environment import environment
from ackclock.table import (
    Column,
    Table,
    Written,
    assigned,
    brief,
    csv_text,
    fixed,
    scaled,
    swept_paths,
    table,
    text,
)

GOODPUT = Interval(5.2134, 0.1312, 5)


@pytest.fixture
def mixed() -> Table:
    columns = [
        "flow",
        Column("goodput", "Mbit/s"),
        Column("packets"),
        Column("RTT", "ms", 0),
        "limit",
    ]
    rows = [
        ["a & b", GOODPUT, Written(1500, "1,500"), 70.123456, "window 52 %"],
        ["other ×8", None, 7, math.inf, ""],
    ]
    return table("Flows", columns, rows, "Means.")


def test_cells_are_written_with_as_many_digits_as_are_known(mixed: Table) -> None:
    assert mixed.head == ["flow", "goodput Mbit/s", "packets", "RTT ms", "limit"]
    assert mixed.texts == [
        ["a & b", "5.21 ± 0.13", "1,500", "70.12", "window 52 %"],
        ["other ×8", "–", "7", "∞", ""],
    ]


@pytest.mark.parametrize(
    ("cell", "written"),
    [
        (Interval(math.nan, math.nan, 0), "–"), (Interval(5.2134, math.nan, 1), "5.213"),
        (Interval(3.0, 0.0, 4), "3.000 ± 0"), (Interval(-0.00004, 0.02, 3), "0.000 ± 0.020"),
        (math.nan, "–"), (0.0, "0"), (-0.0, "0"), (12345, "12345"), (12345.6, "12346"),
    ],
)  # fmt: skip
def test_what_is_not_known_is_a_dash_and_zero_has_no_sign(cell: object, written: str) -> None:
    assert text(cell) == written


def test_fixed_places() -> None:
    assert [fixed(value, 1, sign=True) for value in (-0.04, 0.04, 0.06, -0.06)] == [
        "0.0",
        "0.0",
        "+0.1",
        "-0.1",
    ]
    assert fixed(-0.04, 1) == "0.0"


def test_a_value_that_several_paths_have_is_written_once() -> None:
    point = {"hops.line.delay": "5 ms", "hops.back.delay": "5 ms", "hops.line.queue.limit": 9}
    assert assigned(point) == ["line.delay and back.delay 5 ms", "limit 9"]
    other = {"hops.line.delay": "7 ms", "hops.back.delay": "7 ms", "hops.line.queue.limit": 5}
    rows = [{"control": "reno", "assignments": assignments} for assignments in (point, other)]
    assert swept_paths(rows) == ["hops.line.delay", "hops.line.queue.limit"]
    other["hops.back.delay"] = "8 ms"
    assert swept_paths(rows) == list(point)


@pytest.mark.parametrize(
    ("interval", "written"),
    [
        (Interval(91.3, 0.2, 5), "91.3 ± 0.2"),
        (Interval(0.05696, 0.00069, 5), "0.0570 ± 0.0007"),
        (Interval(9.6534, 0.0001, 5), "9.653"),
        (Interval(3.87, 0.73, 5), "3.87 ± 0.73"),
        (Interval(1234.0, 21.0, 5), "1234 ± 21"),
        (Interval(0.0, 0.0, 5), "0"),
    ],
)
def test_where_room_is_short_a_narrow_interval_has_one_digit(
    interval: Interval, written: str
) -> None:
    assert text(brief(interval)) == written


def test_a_star_stays_behind_a_short_interval() -> None:
    assert text(brief(Written(Interval(91.3, 0.2, 5), "91.30 ± 0.20*"))) == "91.3 ± 0.2*"


def test_units_are_those_of_the_column() -> None:
    assert scaled(None, 8) is None
    assert in_shown_unit(None, "goodput") is None
    assert in_shown_unit(Interval(5e6, 1e6, 3), "goodput") == Interval(5.0, 1.0, 3)


def test_numbers_are_told_from_words(mixed: Table) -> None:
    assert mixed.numeric == [False, True, True, True, False]
    assert table("", ["a", "b"], []).numeric == [False, False]
    assert table("", ["a", Column("b", numeric=False)], [["3 %", "3 of 3 points"]]).numeric == [
        True,
        False,
    ]


def test_programs_get_values(mixed: Table) -> None:
    first, second = mixed.to_json()
    assert first == {
        "flow": "a & b", "packets": 1500, "RTT ms": 70.123456, "limit": "window 52 %",
        "goodput Mbit/s": {"mean": 5.2134, "low": GOODPUT.low, "high": GOODPUT.high,
                           "replicates": 5},
    }  # fmt: skip
    assert (second["goodput Mbit/s"], second["RTT ms"]) == (None, None)


def test_an_interval_takes_three_columns_of_a_csv_file(mixed: Table) -> None:
    rows = list(csv.DictReader(io.StringIO(mixed.to_csv())))
    assert list(rows[0]) == [
        "flow", "goodput Mbit/s", "goodput Mbit/s low", "goodput Mbit/s high", "packets", "RTT ms",
        "limit",
    ]  # fmt: skip
    assert [float(rows[0][name]) for name in list(rows[0])[1:4]] == [
        GOODPUT.mean,
        GOODPUT.low,
        GOODPUT.high,
    ]
    assert (rows[0]["packets"], rows[1]["goodput Mbit/s low"], rows[1]["RTT ms"]) == (
        "1500",
        "",
        "",
    )


@pytest.mark.parametrize("begin", ["=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠"])
def test_no_spreadsheet_runs_a_text(begin: str) -> None:
    formula = f'{begin}HYPERLINK("http://example.com", 1)'
    written = csv_text([[formula, "a=1"]])
    assert list(csv.reader(io.StringIO(written, newline=""))) == [[f"'{formula}", "a=1"]]
    assert table("", ["=n"], []).to_csv() == "'=n\n"


def test_numbers_of_a_csv_file_are_as_they_are() -> None:
    values = [-1.5, -3, "-1.5e-3", "+7", Written(-2, "−2"), 0.1 + 0.2, math.nan, None, True]
    [row] = csv.reader(io.StringIO(csv_text([[*values[:4], -2, *values[5:]]])))
    assert row == ["-1.5", "-3", "-1.5e-3", "+7", "-2", "0.30000000000000004", "", "", "true"]
    assert table("", ["n"], [[values[4]]]).to_csv() == "n\n-2\n"


def test_columns_can_be_chosen(mixed: Table) -> None:
    assert mixed.select([3, 0]).texts == [["70.12", "a & b"], ["∞", "other ×8"]]
    assert mixed.select([3, 0]).title == "Flows"


def test_a_page_escapes_words_and_aligns_numbers(mixed: Table) -> None:
    page = (
        environment()
        .from_string('{% from "table.html.jinja" import table %}{{ table(shown) }}')
        .render(shown=mixed)
    )
    assert "<h3>Flows</h3>\n<p>Means.</p>" in page
    assert '<th scope="row">a &amp; b</th>' in page
    assert '<th scope="row" class="whole">other ×8</th>' in page
    assert '<th scope="col" class="number">goodput<small>Mbit/s</small></th>' in page
    assert '<td class="number">5.21 ± 0.13</td>' in page


def test_latex_escapes_words_and_aligns_numbers() -> None:
    made = table(
        "never shown", ["control", Column("loss", "%")],
        [["reno_2 & co", Interval(0.5, 0.25, 3)], ["{x}\\y", None]],
    )  # fmt: skip
    assert made.to_latex().splitlines() == [
        r"\begin{tabular}{lr}",
        r"\toprule",
        r"control & loss \\",
        r" & \% \\",
        r"\midrule",
        r"reno\_2 \& co & 0.50 $\pm$ 0.25 \\",
        r"\{x\}\textbackslash{}y & -- \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]
