"""Digests of runs, stored tables, and the check that renews both."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow.parquet as parquet
import pytest

from ackclock import Result, Scenario, metrics, plot, simulate, units
from ackclock.metrics import interval
from ackclock.reproduction import (
    Band,
    Basis,
    Claim,
    Experiment,
    Origin,
    Outcome,
    Run,
    check,
    digest,
    experiments,
    sources,
    stored,
)

TREE = {
    "schema": 1,
    "name": "toy",
    "duration": "40 s",
    "warmup": "4 s",
    "replicates": 2,
    "sample_interval": "1 s",
    "hops": [
        {
            "name": name,
            "link": {"kind": "constant", "rate": "1 Mbit/s"},
            "queue": {"kind": "droptail", "limit": "10 packets"},
        }
        for name in ("there", "back")
    ],
    "flows": [
        {
            "name": "main",
            "route": ["there"],
            "return": ["back"],
            "transport": {"kind": "tcp", "control": {"kind": "reno"}},
        }
    ],
}
SWEPT = TREE | {"sweep": {"hops.there.delay": [f"{delay} ms" for delay in (10, 20, 30, 40, 50)]}}

RIGHT = Band(0.5, 1.0)

Conclude = Callable[[Mapping[str, Result]], Outcome]


def outcome(rate_bit_per_s: float, accepted: Band) -> Outcome:
    claim = Claim.of(
        "It is near 1", interval([rate_bit_per_s / 1e6]), accepted, "Mbit/s", origin=Origin.STATED
    )
    return Outcome(Basis(), (), None, (claim,))


def goodput(results: Mapping[str, Result], accepted: Band = RIGHT) -> Outcome:
    goodputs = metrics.by_replicate(results["toy"], metrics.metric("goodput"))
    return outcome(float(np.mean(list(goodputs[0, "main"].values()))), accepted)


def toy(conclude: Conclude = goodput, tree: Mapping[str, object] = TREE) -> Experiment:
    runs = {"toy": Run(Scenario(dict(tree)))}
    return Experiment(
        "toy-figure-1",
        "toy",
        "A. Toy, 1999",
        "Figure 1",
        "Is it?",
        "Yes.",
        1.0,
        conclude,
        lambda: runs,
    )


def results(experiment: Experiment) -> dict[str, Result]:
    return {name: simulate(run.scenario) for name, run in experiment.runs().items()}


def codes(*words: int) -> bytes:
    return np.array(words, "<i4").tobytes()


class TestDigest:
    def test_a_value_a_name_a_type_an_order_and_a_table_change_it(self) -> None:
        x, words = np.array([1.0, 2.0]), ("str", codes(0, 1), ["a", "b"])
        tables = [
            {"flows": {"x": ("f8", x.tobytes()), "word": words}},
            {"flows": {"x": ("f8", np.nextafter(x, 3).tobytes()), "word": words}},
            {"flows": {"x": ("f8", x[::-1].tobytes()), "word": words}},
            {"flows": {"x": ("i8", x.tobytes()), "word": words}},
            {"flows": {"y": ("f8", x.tobytes()), "word": words}},
            {"flows": {"word": words, "x": ("f8", x.tobytes())}},
            {"flows": {"x": ("f8", x.tobytes())}},
            {"flows": {"x": ("f8", x.tobytes()), "word": ("str", codes(0, 0), ["a", "b"])}},
            {"flows": {"x": ("f8", x.tobytes()), "word": ("str", codes(0, 1), ["a", "c"])}},
            {"flows": {"x": ("f8", x.tobytes()), "word": ("str", codes(0, 1), ["ab", ""])}},
            {"hops": {"x": ("f8", x.tobytes()), "word": words}},
            {"flows": {"x": ("f8", x.tobytes())}, "hops": {"word": words}},
        ]
        assert len({digest.columns_digest(columns) for columns in tables}) == len(tables)

    def test_any_bits_of_an_unknown_number_are_the_same(self) -> None:
        signed = np.array([np.nan, -np.nan])
        assert len(set(signed.view("<i8"))) == 2
        first, second = ({"flows": {"x": ("f8", x.tobytes())}} for x in signed)
        assert digest.columns_digest(first) == digest.columns_digest(second)

    def test_a_run_is_shortened_to_a_replicate_of_a_twentieth_at_three_points(self) -> None:
        shortened = [scenario.resolve().tree for scenario in digest.shortened(Scenario(SWEPT))]
        assert [tree["hops"][0]["delay"] for tree in shortened] == ["10 ms", "30 ms", "50 ms"]
        for tree in shortened:
            assert tree["replicates"] == 1
            assert [
                units.seconds(tree[name]) for name in ("duration", "warmup", "sample_interval")
            ] == [2, 0.2, 0.05]

    def test_of_a_long_run_it_is_10_s(self) -> None:
        [shortened] = digest.shortened(Scenario(TREE).replace({"duration": "1000 s"}))
        assert units.seconds(shortened.resolve().tree["duration"]) == digest.MOST_S

    @pytest.mark.parametrize(
        ("changes", "duration_s"),
        [
            ({"flows.0.start": ["0 s", "10 s"]}, 12),
            ({"flows.0.stop": "20 s"}, 22),
            ({"flows.0.stop": "40 s"}, 40),
            ({"hops.0.link": {"kind": "scheduled", "steps": [{"from": "0 s", "rate": "1 Mbit/s"},
                                                            {"from": "30 s", "rate": "2 Mbit/s"}]}},
                                                            32),
        ],
    )  # fmt: skip
    def test_what_is_scheduled_happens_in_it(self, changes: dict, duration_s: float) -> None:
        [shortened] = digest.shortened(Scenario(TREE).replace(changes))
        assert units.seconds(shortened.resolve().tree["duration"]) == pytest.approx(duration_s)

    def test_it_tells_runs_apart_and_is_the_same_twice(self) -> None:
        run, other = (Run(Scenario(TREE | {"seed": seed})) for seed in (1, 2))
        lossy = Run(
            run.scenario.replace(
                {"hops.0.impairments": [{"kind": "iid_loss", "probability": "1 %"}]}
            )
        )
        assert digest.digest(run) == digest.digest(run)
        assert digest.digest(lossy) != digest.digest(run)
        assert len({digest.key(each) for each in (run, other, lossy)}) == 3

    def test_a_brief_run_has_all_points_and_the_whole_warm_up(self) -> None:
        brief = digest.brief(Scenario(SWEPT | {"replicates": 7}))
        trees = [point.scenario.resolve().tree for point in brief.expand()]
        assert [tree["hops"][0]["delay"] for tree in trees] == [
            f"{ms} ms" for ms in range(10, 60, 10)
        ]
        for tree in trees:
            times = [
                units.seconds(tree[name]) for name in ("duration", "warmup", "sample_interval")
            ]
            assert (times, tree["replicates"]) == ([6, 4, 0.1], 2)

    def test_a_brief_run_is_no_longer_than_the_run(self) -> None:
        brief = digest.brief(
            Scenario(TREE | {"duration": "5 s"}).replace({"flows.0.start": "4.9 s"})
        )
        assert units.seconds(brief.resolve().tree["duration"]) == 5

    def test_the_numbers_of_a_conclusion_change_its_digest_and_words_do_not(self) -> None:
        def concluded(sentence: str, ours: float, accepted: Band) -> str:
            claim = Claim.of(sentence, interval([ours]), accepted, "Mbit/s", origin=Origin.STATED)
            return digest.outcome_digest(toy(lambda _: Outcome(Basis(), (), None, (claim,))))

        first = concluded("It is near 1", 0.9, RIGHT)
        assert concluded("It is close to 1", 0.9, RIGHT) == first
        assert concluded("It is near 2", 0.9, RIGHT) != first
        assert concluded("It is near 1", 0.8, RIGHT) != first
        assert concluded("It is near 1", 0.9, Band(0.6, 1.0)) != first
        assert concluded("It is near 1", 0.9, Band(1.0)) != first

    def test_the_last_bits_of_a_number_do_not_count_and_a_drawn_one_does(self) -> None:
        def drawn(y: float) -> str:
            draw = partial(plot.curves, [plot.Curve("ours", [0, 1], [0, y])], "x", "y", "Toy")
            return digest.outcome_digest(toy(lambda _: Outcome(Basis(), (), draw)))

        assert drawn(np.nextafter(0.1, 1)) == drawn(0.1) != drawn(0.1001)

    def test_a_run_that_is_shared_belongs_to_the_first(self) -> None:
        first, second = toy(), replace(toy(), name="toy-figure-2")
        assert [(run.experiment, run.name) for run in digest.owned([first, second])] == [
            ("toy-figure-1", "toy")
        ]


class TestSources:
    def test_comments_docstrings_and_layout_are_no_code(self) -> None:
        written = (
            '"""A module."""\n\ndef f(a):\n    """Words."""\n    # why\n    return f"{a + 1} '
            '{{}}"\n'
        )
        other = 'def f(\n    a,\n):\n    return f"{a + 1} {{}}"  # other\n'.replace(",\n)", ")")
        assert sources.code(written) == sources.code(other)

    @pytest.mark.parametrize("other", ["x = 2", "y = 1", 'x = "1"', "x = 1 + 0", "x = 1\ny = 2"])
    def test_code_is(self, other: str) -> None:
        assert sources.code(other) != sources.code("x = 1")

    def test_prose_is_no_code_but_what_it_quotes_is(self) -> None:
        written = sources.code('f(f"the share of packets that {x} lost")')
        assert written == sources.code('f(f"packets lost, as a share of what {x} sent")')
        assert written != sources.code('f(f"the share of packets that {y} lost")')
        assert sources.code('x = "10 Mbit/s"') != sources.code('x = "11 Mbit/s"')
        assert sources.code('raise E("no x")') == sources.code('raise E(f"unknown {x}")')

    def test_a_module_that_moves_is_the_same_code_and_an_imported_name_is_code(self) -> None:
        written = sources.code("from a.b import c as d")
        assert written == sources.code("from e import c as d")
        assert written != sources.code("from a.b import f as d")

    def test_an_experiments_code_is_its_module_and_what_that_imports_from_its_package(self) -> None:
        by_name = {experiment.name: experiment for experiment in experiments()}
        paths = {path.name for path in sources._imported("ackclock_papers.wifi.figure_8")}
        assert {"figure_8.py", "cell.py", "replicates.py"} <= paths
        assert paths.isdisjoint({"figure_3.py", "words.py", "flows.py"})
        assert sources.own_code(by_name["wifi-figure-8"]) != sources.own_code(
            by_name["tfrcp-figure-6"]
        )


class TestStored:
    def test_a_conclusion_from_them_is_that_from_full_ones(self, tmp_path: Path) -> None:
        experiment = toy()
        full = results(experiment)
        concluded = stored.save(experiment, full, tmp_path / "toy")
        assert concluded == experiment.outcome(full)
        assert stored.outcome_of(experiment, stored.load(experiment, tmp_path / "toy")) == concluded

    def test_only_what_is_read_is_stored(self, tmp_path: Path) -> None:
        stored.save(toy(), results(toy()), tmp_path)
        assert {path.name for path in tmp_path.iterdir()} == {
            "stored.json",
            "simulated-flows.parquet",
        }
        columns = set(parquet.read_schema(tmp_path / "simulated-flows.parquet").names)
        assert columns == {"point", "replicate", "flow", "goodput_bit_per_s", "stored_run"}

    @pytest.mark.parametrize(
        "other",
        [
            lambda result: result.rows("flows", flow="main"),
            lambda result: result.rows("flows", replicate=1),
            lambda result: result.tables["flows"],
            lambda result: result.tables["samples"],
            lambda result: result.rows("flows", replicate=0)["sent_packets"],
        ],
    )
    def test_what_was_not_read_is_refused(
        self, tmp_path: Path, other: Callable[[Result], object]
    ) -> None:
        def of_the_first(results: Mapping[str, Result]) -> Outcome:
            [row] = results["toy"].rows("flows", replicate=0).to_pylist()
            return outcome(row["goodput_bit_per_s"], RIGHT)

        stored.save(toy(of_the_first), results(toy()), tmp_path)
        loaded = stored.load(toy(), tmp_path)
        assert of_the_first(loaded).failures == []
        with pytest.raises((stored.NotStoredError, KeyError)):
            other(loaded["toy"])

    def test_a_table_that_no_run_has_is_not_there(self, tmp_path: Path) -> None:
        stored.save(toy(), results(toy()), tmp_path)
        loaded = stored.load(toy(), tmp_path)["toy"]
        assert loaded.tables.get("fidelity") is None
        assert "samples" in loaded.tables

    def test_another_run_is_not_stored(self, tmp_path: Path) -> None:
        with pytest.raises(stored.NotStoredError, match="no tables are stored"):
            stored.load(toy(), tmp_path)
        stored.save(toy(), results(toy()), tmp_path)
        with pytest.raises(stored.NotStoredError, match='no tables of the run "toy"'):
            stored.load(toy(tree=TREE | {"seed": 9}), tmp_path)


class TestCheck:
    @pytest.fixture
    def recorded(self, tmp_path: Path) -> check.Recorded:
        return check.Recorded(tmp_path / "recorded")

    @pytest.fixture
    def ran(self, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        """The experiments that were run in full; digests are taken in this process."""
        names: list[str] = []

        def counted(runs: Mapping[str, Run], *_: object) -> dict[str, Result]:
            names.extend(runs)
            return {name: simulate(run.scenario) for name, run in runs.items()}

        def here(catalogue: list[Experiment]) -> dict[str, str]:
            return {
                digest.key(run): digest.digest(run)
                for experiment in catalogue
                for run in experiment.runs().values()
            }

        monkeypatch.setattr(check, "results", counted)
        monkeypatch.setattr(check, "_digests", here)
        return names

    def test_what_is_recorded_is_not_run_again(
        self, recorded: check.Recorded, ran: list[str], tmp_path: Path
    ) -> None:
        assert check.check([toy()], recorded, tmp_path) == []
        assert ran == ["toy"]
        again = check.Recorded(tmp_path / "recorded")
        assert again.digests == recorded.digests
        before = {path: path.read_bytes() for path in (tmp_path / "recorded").rglob("*.*")}
        assert check.check([toy()], again, tmp_path) == []
        assert ran == ["toy"]
        assert {path: path.read_bytes() for path in (tmp_path / "recorded").rglob("*.*")} == before

    def test_a_digest_that_changed_is_run_and_recorded(
        self, recorded: check.Recorded, ran: list[str], tmp_path: Path
    ) -> None:
        check.check([toy()], recorded, tmp_path)
        right = dict(recorded.digests)
        recorded.digests = dict.fromkeys(right, "0" * digest.LENGTH)
        assert check.check([toy()], recorded, tmp_path) == []
        assert ran == ["toy", "toy"]
        assert recorded.digests == right

    def test_a_conclusion_that_reads_more_is_run(
        self, recorded: check.Recorded, ran: list[str], tmp_path: Path
    ) -> None:
        def more(results: Mapping[str, Result]) -> Outcome:
            assert results["toy"].tables["samples"]["time_s"]
            return goodput(results)

        check.check([toy()], recorded, tmp_path)
        assert check.check([toy(more)], recorded, tmp_path) == []
        assert ran == ["toy", "toy"]
        assert (recorded.tables(toy()) / "simulated-samples.parquet").exists()

    def test_another_verdict_is_not_recorded(
        self, recorded: check.Recorded, ran: list[str], tmp_path: Path
    ) -> None:
        def fast(results: Mapping[str, Result]) -> Outcome:
            return goodput(results, Band(2.0))

        [line] = check.check([toy(fast)], recorded, tmp_path)
        assert line.startswith('toy-figure-1: "It is near 1" was documented to hold, but ')
        assert ran == ["toy"]
        assert recorded.digests == {}
        assert not recorded.tables(toy()).exists()

    def test_a_conclusion_that_changed_its_mind_on_stored_tables_is_told(
        self, recorded: check.Recorded, ran: list[str], tmp_path: Path
    ) -> None:
        def fast(results: Mapping[str, Result]) -> Outcome:
            return goodput(results, Band(2.0))

        check.check([toy()], recorded, tmp_path)
        [line] = check.check([toy(fast)], recorded, tmp_path)
        assert line.startswith("toy-figure-1: ")
        assert ran == ["toy"]

    def test_large_tables_are_not_stored(
        self,
        recorded: check.Recorded,
        ran: list[str],
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr(check, "MOST_BYTES", 100)
        assert check.check([toy()], recorded, tmp_path) == []
        assert check.Recorded(tmp_path / "recorded").large.keys() == {"toy-figure-1"}
        assert not recorded.tables(toy()).exists()
        assert check.check([toy()], recorded, tmp_path) == []
        assert ran == ["toy"]
        for number, part in enumerate(["code", "numbers"]):
            recorded.large["toy-figure-1"][part] = "another"
            assert check.check([toy()], recorded, tmp_path) == []
            assert ran == ["toy"] * (number + 2)
            assert recorded.large["toy-figure-1"] == check.conclusion(toy())

    @pytest.mark.slow
    def test_a_new_metric_changes_nothing_recorded_and_another_number_of_one_does(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        recorded = check.Recorded(Path(__file__).parents[2] / "papers" / "tests" / "recorded")
        [experiment] = [
            experiment for experiment in experiments() if experiment.name == "mechanisms-figure-2"
        ]
        fairness = metrics.metric("fairness")
        monkeypatch.setattr(
            metrics, "METRICS", {**metrics.METRICS, "new": replace(fairness, name="new")}
        )
        assert check.changes(experiment, recorded) == ""

        def slightly_less(result: Result) -> list[metrics.Value]:
            return [value._replace(value=0.99 * value.value) for value in fairness.values(result)]

        changed = replace(fairness, values=slightly_less)
        monkeypatch.setattr(metrics, "METRICS", {**metrics.METRICS, "fairness": changed})
        assert check.changes(experiment, recorded) == (
            "the conclusion draws other numbers from the same brief runs"
        )

    def test_what_is_asked_for_is_run_though_it_did_not_change(
        self, recorded: check.Recorded, ran: list[str], tmp_path: Path
    ) -> None:
        for _ in range(2):
            assert check.check([toy()], recorded, tmp_path, everything=True) == []
        assert ran == ["toy", "toy"]

    def test_what_is_no_longer_there_is_forgotten(
        self, recorded: check.Recorded, ran: list[str], tmp_path: Path
    ) -> None:
        check.check([toy(), replace(toy(tree=SWEPT), name="toy-figure-2")], recorded, tmp_path)
        assert len(ran) == len(recorded.digests) == 2
        recorded.forget_others([toy()])
        assert list(recorded.digests) == [digest.key(toy().runs()["toy"])]
        assert [path.name for path in sorted((tmp_path / "recorded").iterdir())] == [
            "digests.json",
            "toy-figure-1",
        ]
