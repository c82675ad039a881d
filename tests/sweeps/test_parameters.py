import itertools

import numpy as np
import pytest

from ackclock import InputError
from ackclock.sweeps import designs, parameters
from ackclock.sweeps.parameters import Choice, Range, columns, parse

from ..refusals import refused


@pytest.mark.parametrize(
    ("text", "over"),
    [
        ("a.b=1..100 ms log", Range(1, 100, "ms", log=True)),
        ("a.b=1 ms..100 ms", Range(1, 100, "ms")),
        ("a.b=0.1..4 BDP log", Range(0.1, 4, "BDP", log=True)),
        ("a.b=0..5 %", Range(0, 5, "%")),
        ("a.b=-1..1", Range(-1, 1, "")),
        ("a.b=1e-3..1e-1 log", Range(1e-3, 1e-1, "", log=True)),
        ("a.b=5..500 packets log", Range(5, 500, "packets", log=True, whole=True)),
        ("a.b=1..9 whole", Range(1, 9, "", whole=True)),
        ("a.b=reno,cubic", Choice(("reno", "cubic"))),
        ("a.b=5,10,20 ms", Choice(("5 ms", "10 ms", "20 ms"))),
        ("a.b=1 ms,1 s", Choice(("1 ms", "1 s"))),
        ("a.b=1,2", Choice((1, 2))),
        ("a.b=true,false", Choice((True, False))),
        (
            'a.b={ kind = "x", y = [1, 2] },"u,v"',
            Choice(({"kind": "x", "y": [1, 2]}, "u,v")),
        ),
    ],
)
def test_what_is_varied_is_read_as_it_is_written(text: str, over: Range | Choice) -> None:
    assert parse(text) == parameters.Parameter(("a.b",), over)


def test_paths_joined_by_commas_get_the_same_value() -> None:
    parameter = parse("a.b, c.d=1..2 ms")
    assert parameter.paths == ("a.b", "c.d")
    assert parameter.assignments("2 ms") == {"a.b": "2 ms", "c.d": "2 ms"}


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("a.b", "syntax"), ("=1..2", "syntax"), ("a.b=", "syntax"), ("a.b=x..y", "syntax"),
        ("a,=1", "syntax"), ("a.b=2..1 ms", "out-of-range"), ("a.b=1..1", "out-of-range"),
        ("a.b=0..1 ms log", "out-of-range"), ("a.b=1 ms..2 s", "contradiction"),
        ("a.b=0.5..3 packets", "out-of-range"),
    ],
)  # fmt: skip
def test_what_is_no_parameter_is_refused(text: str, code: str) -> None:
    with refused(code, ""):
        parse(text)


def test_levels_have_the_ends_and_even_steps() -> None:
    assert Range(1, 100, "ms", log=True).levels(3) == ["1 ms", "10 ms", "100 ms"]
    assert Range(0, 1, "").levels(5) == [0, 0.25, 0.5, 0.75, 1]
    assert Range(1, 3, "packets", whole=True).levels(7) == [
        "1 packets", "2 packets", "3 packets",
    ]  # fmt: skip
    assert Choice(("x", "y")).levels(7) == ["x", "y"]


def test_whole_numbers_get_equal_shares_of_the_positions() -> None:
    dice = Range(1, 6, "", whole=True)
    drawn = [dice.value_at(position) for position in (np.arange(6000) + 0.5) / 6000]
    assert {face: drawn.count(face) for face in range(1, 7)} == dict.fromkeys(range(1, 7), 1000)
    log = Range(1, 1000, "packets", log=True, whole=True)
    assert {log.value_at(0.0), log.value_at(np.nextafter(1, 0))} == {"1 packets", "1000 packets"}


def test_columns_are_numbers_with_their_unit_in_the_name() -> None:
    points = [
        {"hops.b.delay": "5 ms", "rate": "10 Mbit/s", "p": "1 %", "kind": "reno", "n": 2},
        {"hops.b.delay": "7.5 ms", "rate": "1 Gbit/s", "p": "2 %", "kind": "cubic", "n": 3},
    ]
    by_name = {column.name: list(column.values) for column in columns(points)}
    assert by_name == {
        "hops_b_delay_ms": [5, 7.5],
        "rate_bit_per_s": [1e7, 1e9],
        "p_percent": [1, 2],
        "kind": ["reno", "cubic"],
        "n": [2, 3],
    }
    # A unit that only the engine knows is a unit all the same.
    [column] = columns([{"q": "0.5 BDP"}, {"q": "2 BDP"}])
    assert (column.name, list(column.values)) == ("q_BDP", [0.5, 2])
    [mixed] = columns([{"q": "0.5 BDP"}, {"q": "2 packets"}])
    assert (mixed.name, mixed.values) == ("q", ["0.5 BDP", "2 packets"])
    assert [column.name for column in columns([{"f.a-b": 1, "f.a_b": 2}])] == ["f_a_b", "f_a_b_1"]
    [table] = columns([{"c": {"kind": "reno"}}])
    assert table.values == ['{"kind": "reno"}']


def test_a_star_stands_for_each_member() -> None:
    tree = {"hops": [{"name": "b", "link": {"steps": [{"rate": 1}, {"rate": 2}]}}]}
    assert parameters.of_each(["x=1..2", "hops.b.link.steps.*.rate=1..9 Mbit/s"], tree) == (
        "x=1..2",
        "hops.b.link.steps.0.rate=1..9 Mbit/s",
        "hops.b.link.steps.1.rate=1..9 Mbit/s",
    )
    assert len(parameters.of_each(["hops.*.link.steps.*.rate=1..9 Mbit/s"], tree)) == 2
    assert parameters.field(tree, "hops.b.link.steps.1.rate") == 2
    assert parameters.field(tree, "hops.c.link") is None
    assert parameters.field(tree, "hops.0.link.x.y") is None
    with refused("unknown-field", "--vary"):
        parameters.of_each(["hops.b.link.*.rate=1..2"], tree)


TWO = [parse("x=0..1"), parse("y=a,b,c,d")]


def test_a_grid_is_the_product() -> None:
    grid = designs.parse("grid:3")
    points = list(grid.points(TWO, 1))
    assert [(point["x"], point["y"]) for point in points] == list(
        itertools.product([0, 0.5, 1], "abcd")
    )
    assert grid.count(TWO) == len(points)


@pytest.mark.parametrize("kind", ["random", "latin", "sobol"])
def test_a_design_is_a_function_of_the_seed(kind: str) -> None:
    design = designs.parse(f"{kind}:64")
    first, again, other = (list(design.points(TWO, seed)) for seed in (1, 1, 2))
    assert first == again != other
    assert len(first) == design.count(TWO) == 64
    x = np.array([point["x"] for point in first])
    assert ((x >= 0) & (x < 1)).all()


def test_latin_and_sobol_cover_each_range_evenly() -> None:
    for kind in ("latin", "sobol"):
        x = [point["x"] for point in designs.parse(f"{kind}:64").points(TWO, 5)]
        # Values are rounded to six digits, which moves none of them into the next 64th here.
        assert sorted(int(value * 64) for value in x) == list(range(64)), kind
    y = [point["y"] for point in designs.parse("sobol:64").points(TWO, 5)]
    assert all(y.count(letter) == 16 for letter in "abcd")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("gird", "unknown-name"), ("sobol", "out-of-range"), ("sobol:100", "out-of-range"),
        ("latin:0", "out-of-range"), ("random:x", "out-of-range"), ("grid:-1", "out-of-range"),
    ],
)  # fmt: skip
def test_what_is_no_design_is_refused(text: str, code: str) -> None:
    with refused(code, ""):
        designs.parse(text)


def test_a_design_that_cannot_end_is_refused() -> None:
    with pytest.raises(InputError):
        designs.parse("grid:1000").count([parse(f"p{number}=0..1") for number in range(3)])
    with refused("out-of-range", "--design"):
        designs.parse("latin:1000001")
