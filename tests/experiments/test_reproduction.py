import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import Result as Answer
from matplotlib.figure import Figure

from ackclock import Result, Scenario, plot
from ackclock.plot.canvas import ShownFigure
from ackclock.reproduction import (
    Basis,
    Cell,
    Claim,
    Comparison,
    Experiment,
    Kind,
    Origin,
    Outcome,
    Run,
    Setting,
    analytic,
    runner,
)
from ackclock.run import address, simulation

from ..in_process import ackclock


def refused(answer: Answer) -> str:
    assert answer.exit_code == 2
    assert answer.stdout == ""
    [line] = answer.stderr.splitlines()
    return line.removeprefix("ackclock: ")


class Counted:
    """A computation that counts its calls."""

    def __init__(self, ours: float = 7.21) -> None:
        self.ours = ours
        self.times = 0
        self.interrupt = False

    def __call__(self) -> Outcome:
        if self.interrupt:
            raise KeyboardInterrupt
        self.times += 1
        cell = Cell.of(("0.1",), "rate, segments/s", "7.21", self.ours)
        excepted = Cell.of(("0.9",), "rate, segments/s", "3.72", 3.28, excepted="it is a misprint")
        comparison = Comparison(
            "Rates", Origin.PRINTED, ("p",), (cell, excepted), "within the last digit"
        )
        return Outcome(
            Basis("b = 1"), (comparison,), self.draw,
            (Claim("It <rises>", "it falls", holds=False, documented=False),),
            (Setting("b", "1", Origin.GUESSED),),
        )  # fmt: skip

    def draw(self) -> object:
        return plot.curves(
            [plot.Curve("ours", [0.1, 0.9], [self.ours, 3.28])], "p", "rate (segments/s)", "Toy"
        )


#: What is printed of a toy's verdict.
VERDICT = """\
Partly reproduced: 1 of 2 printed numbers agrees and the printed statement does
not hold.
What does not come out:
- “It <rises>” (it falls)
- 1 of 2 numbers of “Rates”"""


def experiment(name: str, compute: object, **values: object) -> Experiment:
    group, kind, number = name.split("-")
    record = Experiment(
        name,
        group,
        "A. Toy, 1999",
        f"{kind.title()} {number}",
        "Does it rise?",
        "Rates.",
        1.0,
        analytic(compute),
    )
    return replace(record, **values)


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, Counted]:
    """A catalogue of two computations, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    counted = {name: Counted() for name in ("toy-table-1", "toy-figure-2.1")}
    catalogue = tuple(experiment(name, compute) for name, compute in counted.items())
    monkeypatch.setattr("ackclock.reproduction.experiments", lambda: catalogue)
    return counted


@pytest.mark.slow
def test_one_is_computed_printed_and_kept(computed: dict[str, Counted]) -> None:
    answer = ackclock("reproduce", "toy-table-1")
    assert answer.exit_code == 0, answer.stderr
    assert answer.stderr == ""
    assert re.search(r"0\.1 +7\.21 +7\.210 +0\.00 %", answer.stdout)
    assert re.search(r"0\.9 +3\.72 +3\.280 +-11\.83 %\s\*", answer.stdout)
    assert "1 of 1 within the last digit; * 1 not expected to be" in answer.stdout
    assert "* 0.9: rate: it is a misprint" in answer.stdout
    # The answer comes first, and each statement once.
    assert answer.stdout.startswith(f"toy-table-1: Table 1. Does it rise?\n\n{VERDICT}")
    assert answer.stdout.count("It <rises>") == 1
    assert max(map(len, answer.stdout.splitlines())) <= 80
    folder = Path("out/reproduce")
    assert f"  page    {folder / 'index.html'} " in answer.stdout
    assert answer.stdout.endswith("  next    ackclock show experiments toy-table-1\n")
    names = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert names == {"gallery.json", "index.html", "toy-table-1/outcome.json"} | {
        f"toy-table-1/figure.{ending}" for ending in ("svg", "png", "json")
    }
    assert computed["toy-figure-2.1"].times == 0


def test_without_a_package_of_experiments_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("ackclock.reproduction.experiments", lambda: ())
    for arguments in (["--list"], ["markov"]):
        answer = ackclock("reproduce", *arguments)
        assert (answer.exit_code, answer.stdout) == (3, "")
        assert answer.stderr == (
            "ackclock: no experiments are installed; those of papers: pip install ackclock-papers\n"
        )


@pytest.mark.long
def test_what_is_done_is_not_done_again(
    computed: dict[str, Counted], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = ackclock("reproduce", "--all", "-o", "gallery")
    again = ackclock("reproduce", "toy", "-o", "gallery")
    assert again.stdout == first.stdout
    assert {name: counted.times for name, counted in computed.items()} == {
        "toy-table-1": 1,
        "toy-figure-2.1": 1,
    }
    # One changed line of code counts.
    monkeypatch.setattr(address, "package", lambda: "another")
    assert ackclock("reproduce", "toy", "-o", "gallery").exit_code == 0
    assert {name: counted.times for name, counted in computed.items()} == {
        "toy-table-1": 2,
        "toy-figure-2.1": 2,
    }


@pytest.mark.slow
def test_json_has_the_same_as_the_folder(computed: dict[str, Counted]) -> None:
    answer = json.loads(ackclock("reproduce", "toy", "--json").stdout)
    assert answer["gallery"] == str(Path("out/reproduce/index.html"))
    assert [record["name"] for record in answer["experiments"]] == list(computed)
    assert (
        json.loads(Path("out/reproduce/gallery.json").read_text(encoding="utf-8"))
        == answer["experiments"]
    )
    [comparison] = answer["experiments"][0]["comparisons"]
    assert comparison["cells"][1]["excepted"] == "it is a misprint"


@pytest.mark.long
def test_a_number_that_moved_is_an_exit_code(computed: dict[str, Counted]) -> None:
    computed["toy-table-1"].ours = 7.3
    answer = ackclock("reproduce", "--all")
    assert answer.exit_code == 4
    assert answer.stderr == "ackclock: the numbers have changed: toy-table-1\n"
    assert answer.stdout.startswith("2 experiments: 1 partly reproduced, 1 expectation failed.")
    assert "Expectation failed: Rates: 0.1: rate, segments/s is 7.3, not 7.21." in answer.stdout
    assert "FAILS" in ackclock("reproduce", "toy-table-1").stdout
    assert Path("out/reproduce/toy-figure-2.1/figure.svg").exists()
    assert ackclock("reproduce", "--all").exit_code == 4  # and remains so


@pytest.mark.slow
def test_an_interrupted_command_goes_on(computed: dict[str, Counted]) -> None:
    computed["toy-figure-2.1"].interrupt = True
    answer = ackclock("reproduce", "--all")
    assert answer.exit_code == 130
    assert answer.stderr == "ackclock: interrupted; 1 done, 1 left: the same command continues\n"
    assert "toy-table-1" in Path("out/reproduce/index.html").read_text(encoding="utf-8")
    assert not Path("out/reproduce/toy-figure-2.1").exists()
    computed["toy-figure-2.1"].interrupt = False
    assert ackclock("reproduce", "--all").exit_code == 0
    assert {name: counted.times for name, counted in computed.items()} == {
        "toy-table-1": 1,
        "toy-figure-2.1": 1,
    }


def test_a_drawing_that_fails_leaves_nothing(
    computed: dict[str, Counted], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> object:
        raise RuntimeError("no ink")

    monkeypatch.setattr(computed["toy-table-1"], "draw", fail)
    with pytest.raises(RuntimeError, match="no ink"):
        runner.reproduce(experiment("toy-table-1", computed["toy-table-1"]), Path.cwd())
    assert list(Path().iterdir()) == []


@pytest.mark.long
@pytest.mark.parametrize("spoil", ["outcome.json", "figure.svg", "figure.json"])
def test_what_is_damaged_is_done_again(computed: dict[str, Counted], spoil: str) -> None:
    assert ackclock("reproduce", "toy-table-1").exit_code == 0
    spoiled = Path("out/reproduce/toy-table-1") / spoil
    if spoil == "figure.svg":
        spoiled.unlink()
    else:
        spoiled.write_text("{", encoding="utf-8")
    # The gallery of the others does not need it.
    assert ackclock("reproduce", "toy-figure-2.1").exit_code == 0
    assert 'id="toy-table-1"' not in Path("out/reproduce/index.html").read_text(encoding="utf-8")
    assert ackclock("reproduce", "toy-table-1").exit_code == 0
    assert computed["toy-table-1"].times == 2


def test_list_says_name_source_figure_and_cost(computed: dict[str, Counted]) -> None:
    answer = ackclock("reproduce", "--list")
    assert answer.exit_code == 0
    assert answer.stdout.startswith("A. Toy, 1999\n\nDoes it rise?\n")
    for name in computed:
        assert re.search(rf"^  {re.escape(name)} +1 s  (Table|Figure) [\d.]+$", answer.stdout, re.M)
    [record] = json.loads(ackclock("reproduce", "toy-table-1", "--list", "--json").stdout)
    assert (record["name"], record["reference"], record["label"], record["cost_s"]) == (
        "toy-table-1",
        "A. Toy, 1999",
        "Table 1",
        1,
    )
    assert list(Path().iterdir()) == []


@pytest.mark.usefixtures("computed")
@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ((), "NAMES: is missing; give names or groups, or --all; see ackclock reproduce --list"),
        (
            ("toy-table-2",),
            'unknown experiment or group "toy-table-2"; did you mean "toy-table-1"?',
        ),
        (
            ("--all", "wombat"),
            'unknown experiment or group "wombat"; see ackclock reproduce --list',
        ),
    ],
)
def test_bad_names(arguments: tuple[str, ...], line: str) -> None:
    assert refused(ackclock("reproduce", *arguments)) == line
    assert list(Path().iterdir()) == []


@pytest.mark.slow
@pytest.mark.usefixtures("computed")
def test_a_folder_of_somebody_elses_is_left_alone() -> None:
    Path("page").mkdir()
    Path("page/index.html").write_text("mine", encoding="utf-8")
    line = refused(ackclock("reproduce", "toy", "-o", "page"))
    assert (
        line == "page: is not empty and does not hold a gallery of ackclock; choose another folder"
    )
    assert [path.name for path in Path("page").iterdir()] == ["index.html"]
    assert ackclock("reproduce", "toy", "-o", "gallery").exit_code == 0
    Path("gallery/toy-table-1/notes.txt").write_text("mine", encoding="utf-8")
    line = refused(ackclock("reproduce", "toy", "-o", "gallery"))
    assert line.startswith("gallery: holds toy-table-1/notes.txt, which ackclock did not write")
    Path("file").touch()
    assert refused(ackclock("reproduce", "toy", "-o", "file")).startswith("file: is a file")


@pytest.mark.slow
@pytest.mark.usefixtures("computed")
def test_the_gallery_is_one_page_with_everything_in_it() -> None:
    assert ackclock("reproduce", "--all").exit_code == 0
    text = Path("out/reproduce/index.html").read_text(encoding="utf-8")
    ids = re.findall(r'\bid="([^"]+)"', text)
    assert len(ids) == len(set(ids))
    references = re.findall(r'(?:src|href)="([^"]+)"', text)
    assert references
    assert all(reference.startswith("#") and reference[1:] in ids for reference in references)
    places = re.findall(r'data-figure="([^"]+)"', text)
    assert places == ["toy-table-1-figure", "toy-figure-2-1-figure"]
    data = json.loads(re.search(r'id="figures">(.*?)</script>', text)[1])
    assert list(data) == places
    assert [series["y"] for series in data[places[0]]["panels"][0]["series"]] == [[7.21, 3.28]]
    assert text.count("ResizeObserver") == 1, "the script is there once"
    assert "It &lt;rises&gt;" in text
    for words in (
        "Rates.",
        "Taken: b = 1",
        "Does it rise?",
        "7.21",
        "A. Toy, 1999",
        "it is a misprint",
    ):
        assert words in text


@pytest.mark.slow
@pytest.mark.usefixtures("computed")
def test_the_gallery_keeps_what_was_reproduced_before() -> None:
    for name in ("toy-figure-2.1", "toy-table-1"):
        assert ackclock("reproduce", name).exit_code == 0
    text = Path("out/reproduce/index.html").read_text(encoding="utf-8")
    assert 0 < text.index('id="toy-table-1"') < text.index('id="toy-figure-2.1"')


class Simulated:
    """An experiment with one scenario."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.seen: list[Result] = []

    def runs(self) -> Mapping[str, Run]:
        return {"loss": Run(self.scenario)}

    def conclude(self, results: Mapping[str, Result]) -> Outcome:
        self.seen.append(results["loss"])
        return Counted()()


@pytest.fixture
def simulated(
    leaky_pipe: Scenario, monkeypatch: pytest.MonkeyPatch
) -> tuple[Simulated, list[Scenario]]:
    """A short simulated experiment, and the scenarios that are really run."""
    run: list[Scenario] = []

    def counting(scenario: Scenario, **options: object) -> Result:
        run.append(scenario)
        return simulate(scenario, **options)

    simulate = simulation.simulate
    monkeypatch.setattr(simulation, "simulate", counting)
    short = leaky_pipe.replace({"duration": "2 s", "replicates": 2})
    return Simulated(short), run


@pytest.mark.long
def test_a_simulated_experiment_runs_its_scenarios_once(
    simulated: tuple[Simulated, list[Scenario]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, run = simulated
    toy = experiment("toy-figure-3", None, runs=made.runs, conclude=made.conclude)
    shares: list[float] = []
    runner.reproduce(toy, tmp_path, shares.append)
    assert shares == sorted(shares)
    # The outcome is computed again when code changes, and so for another experiment; the run is
    # not.
    monkeypatch.setattr(address, "package", lambda: "another")
    runner.reproduce(toy, tmp_path)
    runner.reproduce(replace(toy, name="toy-figure-4"), tmp_path)
    assert len(run) == 1
    assert len(made.seen) == 3
    assert made.seen[0].tables["flows"].equals(made.seen[2].tables["flows"])
    assert made.seen[0].run == made.seen[2].run
    # Another seed is another run.
    made.scenario = made.scenario.replace({"seed": 2})
    runner.reproduce(toy, tmp_path)
    assert len(run) == 2
    assert len(list((tmp_path / "runs").iterdir())) == 2
    # An unreadable result does not count.
    for run_json in tmp_path.glob("runs/*/run.json"):
        run_json.write_text("{", encoding="utf-8")
    monkeypatch.setattr(address, "package", lambda: "a third")
    runner.reproduce(toy, tmp_path)
    assert len(run) == 3


@pytest.mark.long
def test_a_quick_look_has_fewer_replicates_and_a_folder_of_its_own(
    simulated: tuple[Simulated, list[Scenario]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, run = simulated
    made.scenario = made.scenario.replace({"replicates": 3})
    monkeypatch.chdir(tmp_path)
    toy = experiment("toy-figure-3", None, runs=made.runs, conclude=made.conclude)
    monkeypatch.setattr("ackclock.reproduction.experiments", lambda: (toy,))
    full = ackclock("reproduce", "toy")
    quick = ackclock("reproduce", "toy", "--quick")
    assert (full.exit_code, quick.exit_code) == (0, 0)
    assert [scenario.replicates for scenario in run] == [3, 2]
    assert "Quick: 2 instead of 3 replicates; all that is documented shows." in quick.stdout
    assert VERDICT in full.stdout
    records = {
        name: json.loads(
            Path("out/reproduce", name, "toy-figure-3/outcome.json").read_text(encoding="utf-8")
        )
        for name in ("", "quick")
    }
    assert records[""]["address"] != records["quick"]["address"]
    assert (records[""]["verdict"]["kind"], records["quick"]["verdict"]["kind"]) == (
        Kind.PARTLY,
        Kind.QUICK,
    )
    pages = [
        Path("out/reproduce", name, "index.html").read_text(encoding="utf-8")
        for name in ("", "quick")
    ]
    assert ["A quick look" in page for page in pages] == [False, True]
    # Neither is done again, and the folder is still ours.
    assert ackclock("reproduce", "toy").stdout == full.stdout
    assert ackclock("reproduce", "toy", "--quick").stdout == quick.stdout
    assert len(run) == 2


@pytest.mark.long
def test_a_quick_look_expects_nothing_of_the_numbers(
    simulated: tuple[Simulated, list[Scenario]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, _ = simulated
    made.scenario = made.scenario.replace({"replicates": 3})
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Simulated, "conclude", lambda _self, _results: Counted(9.0)())
    toy = experiment("toy-figure-3", None, runs=made.runs, conclude=made.conclude)
    monkeypatch.setattr("ackclock.reproduction.experiments", lambda: (toy,))
    answer = ackclock("reproduce", "toy", "--quick")
    assert answer.exit_code == 0
    text = " ".join(answer.stdout.split())
    assert "not as documented: Rates: 0.1: rate, segments/s is 9, not 7.21" in text
    assert ackclock("reproduce", "toy").exit_code == 4


def test_what_a_run_says_is_quick_is_run(leaky_pipe: Scenario) -> None:
    short = leaky_pipe.replace({"duration": "2 s"})
    assert Run(leaky_pipe, quick=short).quickly().scenario == short
    assert Run(leaky_pipe).quickly().scenario == leaky_pipe.replace({"replicates": 2})
    single = leaky_pipe.replace({"replicates": 1})
    assert Run(single).quickly().scenario == single


@pytest.mark.slow
@pytest.mark.usefixtures("computed")
def test_what_is_only_computed_is_the_same_quickly() -> None:
    assert VERDICT in ackclock("reproduce", "toy-table-1", "--quick").stdout


@pytest.mark.slow
def test_an_interrupted_simulation_is_not_kept(
    simulated: tuple[Simulated, list[Scenario]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, _ = simulated

    def interrupted(scenario: Scenario, **options: object) -> Result:
        whole = simulate(scenario, **options)
        return Result(whole.run | {"partial": True}, whole.tables)

    simulate = simulation.simulate
    monkeypatch.setattr(simulation, "simulate", interrupted)
    toy = experiment("toy-figure-3", None, runs=made.runs, conclude=made.conclude)
    assert runner.reproduce_all([toy], tmp_path) == []
    assert made.seen == []
    assert [path.name for path in tmp_path.iterdir()] == ["runs"]
    # The partial result says that it is partial, and is made again.
    assert [Result.load(path).partial for path in (tmp_path / "runs").iterdir()] == [True]
    monkeypatch.setattr(simulation, "simulate", simulate)
    assert len(runner.reproduce_all([toy], tmp_path)) == 1
    assert [Result.load(path).partial for path in (tmp_path / "runs").iterdir()] == [False]


def test_a_trace_counts_with_its_content(tmp_path: Path) -> None:
    text = """
schema = 1
name = "trace"
duration = "1 s"
[[hops]]
name = "radio"
link = { kind = "trace", file = "rates.csv", format = "csv" }
queue = { kind = "droptail", limit = "10 packets" }
[[flows]]
name = "main"
route = ["radio"]
return = ["radio"]
transport = { kind = "tcp", control = { kind = "reno" } }
"""
    addresses = []
    for rate in (1_000_000, 2_000_000):
        (tmp_path / "rates.csv").write_text(
            f"time_s,rate_bit_per_s\n0,{rate}\n1,{rate}\n", encoding="utf-8"
        )
        addresses.append(address.of_run(Scenario.from_toml(text, tmp_path)))
    assert addresses[0] != addresses[1]


@pytest.mark.usefixtures("computed")
def test_a_figure_that_is_not_of_curves_is_a_drawing_with_text(tmp_path: Path) -> None:
    def draw() -> Figure:
        figure = ShownFigure()
        figure.subplots().set_title("Toy: a drawing")
        return figure

    made = Counted()
    made.draw = draw
    toy = experiment("toy-figure-9", made)
    runner.reproduce(toy, tmp_path)
    page = runner.write_gallery([toy], tmp_path).read_text(encoding="utf-8")
    assert 'role="img" aria-label="Toy: a drawing"' in page
    assert ">Toy: a drawing</text>" in page
    assert "data-figure" not in page
