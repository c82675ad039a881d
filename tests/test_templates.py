"""Templates: each is a scenario that can be run, and `new` writes it beside what it names."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from ackclock import load, simulate
from ackclock.cli import cli
from ackclock.scenario.templates import example, examples, names, template
from tests.refusals import check, error_of, refused

ROOT = Path(__file__).parents[1]


def new(*arguments: str) -> str:
    outcome = CliRunner().invoke(cli, ["new", *arguments], catch_exceptions=False)
    assert outcome.exit_code == 0, outcome.output
    return outcome.output


@pytest.mark.parametrize("name", names())
def test_a_template_can_be_run(name: str, tmp_path: Path) -> None:
    new(name, "-o", str(tmp_path / "lab.toml"))
    scenario = load(tmp_path / "lab.toml")
    scenario.check()
    result = simulate(scenario.replace(duration="3 s", warmup="1 s", replicates=1))
    delivered = {row["subject"]: row["goodput"] for row in result.frame("goodput").to_pylist()}
    assert delivered.keys() == {flow["name"] for flow in scenario.tree["flows"]}
    assert all(rate > 0 for rate in delivered.values())
    chosen = template(name)
    assert chosen.summary.endswith(".")
    # What is written back as TOML is the same scenario.
    assert type(scenario).from_toml(scenario.to_toml()).tree == scenario.tree


def test_the_list_names_every_template() -> None:
    listed = new()
    assert all(name in listed for name in names())
    assert {"one-link", "dumbbell", "wifi", "lte", "leo", "web-mix"} <= set(names())


def test_nothing_is_overwritten_unasked(tmp_path: Path) -> None:
    path = tmp_path / "lab.toml"
    path.write_text("mine")
    outcome = CliRunner().invoke(cli, ["new", "lte", "-o", str(path)])
    check(error_of(outcome), "file", f"{path}", "--force")
    assert path.read_text() == "mine"
    assert [file.name for file in tmp_path.iterdir()] == ["lab.toml"]
    new("lte", "-o", str(path), "--force")
    assert path.read_text() == template("lte").text
    assert (tmp_path / "lte-downlink.csv").read_text() == template("lte").files["lte-downlink.csv"]
    new("lte", "-o", str(path))  # the same again changes nothing


def test_an_unknown_template_is_named(tmp_path: Path) -> None:
    with refused("unknown-name", "", "dumbell", "dumbbell"):
        template("dumbell")
    outcome = CliRunner().invoke(cli, ["new", "-o", str(tmp_path)])
    check(error_of(outcome), "missing", "TEMPLATE")
    outcome = CliRunner().invoke(cli, ["new", "lte", "-o", str(tmp_path)])
    check(error_of(outcome), "file", f"{tmp_path}")


def test_an_example_is_that_of_the_repository_and_names_no_other_file(tmp_path: Path) -> None:
    assert {"first", "lab/saw-tooth"} <= set(examples())
    for name in examples():
        file = ROOT / "examples" / f"{name}.toml"
        assert example(name).text == file.read_text(encoding="utf-8")
        new("--example", name, "-o", str(tmp_path / file.name), "--force")
        load(tmp_path / file.name).check()
    left_out = {path.stem for path in (ROOT / "examples").glob("*.toml")} - set(examples())
    assert left_out == {"trace-link"}, "it names traces that lie outside of the examples"


def test_an_example_and_a_template_at_once_are_refused() -> None:
    outcome = CliRunner().invoke(cli, ["new", "lte", "--example", "first"])
    check(error_of(outcome), "contradiction", "--example", "TEMPLATE")
