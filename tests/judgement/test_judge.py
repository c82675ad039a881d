"""A judgement: its record, its scenarios, its command."""

import json
import math
import shutil
from pathlib import Path

import numpy as np
import pytest

from ackclock import LackingError, Scenario, engine, judge, load, simulate
from ackclock.evaluation.candidate import Candidate
from ackclock.judgement import field as fields
from ackclock.judgement import loaded, references
from ackclock.judgement.flags import FLAGS, is_same
from ackclock.judgement.judging import Judgement
from ackclock.judgement.measures import MEASURES, score
from ackclock.judgement.page import loaded_table
from ackclock.judgement.source import Language, read
from ackclock.metrics import METRICS, by_replicate
from tests.test_report import Checker

from ..emulation.loading import why_not
from ..in_process import ackclock
from ..refusals import refused
from .conftest import REFERENCES
from .planted import RENO, C, python

VARIANT = '{ kind = "cubic", beta = 0.8 }'


@pytest.fixture(name="judged", scope="module")
def _judged(field: str) -> Judgement:
    return judge(VARIANT, field, 60)


@pytest.mark.slow
def test_every_measure_has_an_interval_and_a_rank(judged: Judgement) -> None:
    rows = {row["name"]: row for row in judged.record["vector"]}
    assert list(rows) == [measure.name for measure in MEASURES]
    for row in rows.values():
        assert row["low"] <= row["mean"] <= row["high"]
        assert 1 <= row["rank"] <= row["of"] == len(REFERENCES) + 1
    assert judged.flags == []
    assert judged.record["field"]["judged"] == judged.record["field"]["paths"] == 20
    # A control that gives up less at a loss takes more of a path that it shares with CUBIC.
    assert rows["harm_to_cubic"]["better_than_cubic"] < 0


@pytest.mark.slow
def test_the_same_again_is_the_same(judged: Judgement, field: str) -> None:
    again = judge(VARIANT, field, 60).record
    for changing in ("stages", "seconds"):
        again[changing] = judged.record[changing]
    assert again == judged.record


@pytest.mark.slow
def test_a_known_control_stands_at_its_own_place(field: str) -> None:
    judged = judge("cubic", field, 60)
    for row in judged.record["vector"]:
        assert row["better_than_cubic"] == 0
        assert row["beside_cubic"] == "within chance"
        assert row["of"] == len(REFERENCES)


@pytest.mark.slow
def test_a_worst_path_is_repeated_by_simulate(field: str, tmp_path: Path) -> None:
    folder = tmp_path / "judged"
    outcome = ackclock("judge", VARIANT, "--field", field, "--budget", 60, "-o", folder)
    assert outcome.exit_code == 0, outcome.stderr
    record = json.loads((folder / "judge.json").read_text("utf-8"))
    path = record["worst"][0]
    own, cubic = (
        simulate(load(folder / "worst-1.toml").replace({"flows.x.transport.control": control}))
        for control in ({"kind": "cubic", "beta": 0.8}, {"kind": "cubic"})
    )
    name = {"completion": "completion_time", "delay": "queueing_delay", "loss": "loss_rate"}
    metric = METRICS[name.get(path["measure"], "goodput")]
    values = [by_replicate(result, metric) for result in (own, cubic)]
    assert values[0] != values[1]
    page = (folder / "index.html").read_text("utf-8")
    Checker().feed(page)
    assert "worst-1.toml" in page
    assert record["field"]["salt"] in page


@pytest.mark.slow
def test_a_flag_makes_the_exit_code_4(field: str, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(python("call.argument[1]", "call.queue_length"), "utf-8")
    arguments = ("judge", "mine.py", "--field", field)
    outcome = ackclock(*arguments, place=tmp_path)
    assert outcome.exit_code == 4
    assert "unavailable" in outcome.stderr
    assert "mine.py:9" in outcome.stdout
    assert (tmp_path / "out/judge-mine/mine.py").exists()
    outcome = ackclock(*arguments, "--fail-on", "nothing", "--json", place=tmp_path)
    assert outcome.exit_code == 0
    assert json.loads(outcome.stdout)["ended"] == "compile"


def test_reading_runs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    mark = tmp_path / "ran"
    text = f"open({str(mark)!r}, 'w')\n" + RENO
    (tmp_path / "mine.py").write_text(text, "utf-8")
    for written in (text, "mine.py", "mine.py:Mine"):
        source = read(written)
        assert (source.language, source.refusals[0][0]) == (Language.PYTHON, "unavailable")
    assert not mark.exists()
    assert read(C).language is Language.C
    assert read(VARIANT).name == "cubic (beta = 0.8)"


@pytest.mark.parametrize(
    ("text", "code"),
    [("nothere.py", "file"), ("cubicc", "unknown-name"), ("quic:quinn/cubic", "unsupported")],
)
def test_what_is_no_candidate_is_refused(text: str, code: str) -> None:
    with refused(code, "nothere.py" if code == "file" else "CANDIDATE"):
        read(text)


def test_options_are_refused_by_name(field: str) -> None:
    with refused("unknown-name", "weights"):
        judge("cubic", field, weights={"speed": 1})
    with refused("out-of-range", "budget_s"):
        judge("cubic", field, 0)
    with refused("unknown-name", "--field"):
        judge("cubic", "moon")


def test_a_salt_hides_paths_and_shows_none() -> None:
    wan = fields.load("wan")
    for category in wan.categories:
        first, again, other = (category.hidden_paths(salt) for salt in ("a", "a", "b"))
        assert first == again != other
        assert len(first) == category.points
    assert sum(category.points for category in wan.categories) >= 200
    assert {path["values.rate"] for path in wan.categories[0].shown_paths}.isdisjoint(
        path["values.rate"] for path in wan.categories[0].hidden_paths("a")
    )


def test_a_path_next_to_another_differs_by_a_few_percent() -> None:
    category = fields.load("wan").categories[0]
    path = category.shown_paths[0]
    nudged = category.nudged(path, "a")
    for name in ("rate", "round_trip"):
        ratio = category.value(nudged, name) / category.value(path, name)
        assert 0.02 < abs(ratio - 1) < 0.04


def test_every_path_of_the_field_can_be_run() -> None:
    wan = fields.load("wan")
    cubic = Candidate.of_tcp({"kind": "cubic"})
    for category in (*wan.categories, *wan.probes.values()):
        paths = (category.hidden_paths("a") or category.shown_paths)[:2]
        Scenario(category.scenario(cubic, paths, 1, 1)).check()


def test_windows_are_the_same_up_to_rounding() -> None:
    own = [[10.0, 20.0, 40.0, 41.0, 42.0, 43.0]]
    assert is_same(own, [[10.0, 20.2, 40.1, 41.0, 42.5, 20.0]])
    assert not is_same(own, [[10.0, 15.0, 20.0, 25.0, 30.0, 35.0]])
    assert not is_same([[]], [[]])


def test_a_score_is_of_the_weights_alone() -> None:
    vector = [
        {"name": "utilisation", "better_than_cubic": 0.1},
        {"name": "delay", "better_than_cubic": -0.5},
        {"name": "loss", "better_than_cubic": None},
    ]
    assert math.isclose(score(vector, {"utilisation": 2, "loss": 1}), 4.0)
    assert math.isclose(score(vector, {"utilisation": 2, "delay": 1}), 2.0)


def test_flags_have_meanings() -> None:
    assert all(meaning.endswith(".") for meaning in FLAGS.values())


def test_a_file_that_is_no_field_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text("schema = 1\ntitle = 'none'\n", "utf-8")
    with refused("missing", f"{file}: probe"):
        fields.load(str(file))


@pytest.mark.skipif(shutil.which("unshare") is None, reason="there are no namespaces")
@pytest.mark.slow
def test_the_process_of_a_candidate_has_limits(field: str) -> None:
    text = python("        acked = call.argument[1]\n", "        acked = call.argument[1]\n")
    judged = judge(text, field, 60)
    assert judged.record["limits_not_set"] in ([], ["files"], ["network"], ["files", "network"])


@pytest.mark.long
def test_ranks_are_stable_over_seeds() -> None:
    from scipy.stats import kendalltau

    wan = fields.load("wan")
    first, second = (references.load(wan, "ackclock", seed, 5) for seed in (1, 2))
    for measure in MEASURES:
        ranks = []
        for every in (first, second):
            means = [list(measure.means(each.hidden).values()) for each in every.values()]
            ranks.append(measure.ranks(np.array([np.mean(values) for values in means])))
        # Where all share a rank there is nothing to put in order.
        if any(len(set(each.tolist())) > 1 for each in ranks):
            assert kendalltau(*ranks).statistic >= 0.9, measure.name


def test_the_references_are_what_the_engine_runs_by_itself() -> None:
    every = fields.load("wan").references
    assert len(every) >= 19
    assert set(every).isdisjoint({"external", "scripted", "kernel", "python"})


@pytest.mark.alone
@pytest.mark.long
@pytest.mark.skipif(bool(why_not()), reason="this kernel takes no controls here")
def test_the_kernel_answers_its_calls_as_the_engine_does(field: str, tmp_path: Path) -> None:
    (tmp_path / "mine.bpf.c").write_text(C, "utf-8")
    arguments = (
        "judge",
        "mine.bpf.c",
        "--field",
        field,
        "--load",
        "--fail-on",
        "nothing",
        "--json",
    )
    outcome = ackclock(*arguments, place=tmp_path)
    assert outcome.exit_code == 0, outcome.stderr
    paths = json.loads(outcome.stdout)["loaded"]
    assert [path["scenario"] for path in paths] == ["worst-1.toml", "worst-2.toml", "worst-3.toml"]
    for path in paths:
        assert path["calls"] == path["equal"] > 100
        assert path["first"] is None


def test_a_kernel_that_cannot_load_says_so(
    field: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise LackingError("lacking", "", "no kernel here")

    monkeypatch.setattr(loaded, "emulate", refuse)
    (tmp_path / "mine.bpf.c").write_text(C, "utf-8")
    tree = (
        fields.load(field)
        .categories[0]
        .scenario(
            Candidate("kernel", {"kind": "kernel", "file": "mine.bpf.c"}),
            fields.load(field).categories[0].shown_paths[:1],
            1,
            2,
        )
    )
    (tmp_path / "worst-1.toml").write_text(engine.to_toml(tree), "utf-8")
    record: dict = {}
    if shutil.which("clang") is None:
        pytest.skip("there is no clang")
    [path] = loaded.run(Judgement(record, (tree,), {}), tmp_path, lambda _: None)
    assert path["why_not"].endswith("no kernel here")
    assert path["simulated"][0] <= path["simulated"][1]
    assert record["loaded"] == [path]
    assert "no kernel here" in loaded_table([path]).texts[0][2]


@pytest.mark.parametrize(
    "escape",
    [
        "import os\n",
        "import math, sys\n",
        "from operator import attrgetter\n",
        "from typing import get_type_hints\n",
        "from functools import singledispatch\n",
        "from collections import _sys\n",
        "from random import SystemRandom\n",
        "from ackclock.controls import check\n",
        "from . import worker\n",
        "X = getattr\n",
        "X = __builtins__\n",
        "X = (lambda: 0).__globals__\n",
        "X = (i for i in ()).gi_frame\n",
        "X = [].__class__\n",
        "match 1:\n    case int(__class__=x):\n        pass\n",
        "def f(x: eval('1')): pass\n",
    ],
)
def test_what_leads_out_of_a_candidate_is_refused(escape: str) -> None:
    [(flag, words)] = read(python(first=escape)).refusals
    assert flag == "unavailable"
    assert words.startswith("candidate.py:")


@pytest.mark.parametrize(
    "plain",
    [
        "import math\n",
        "from math import sqrt\n",
        "from collections import deque\n",
        "from dataclasses import dataclass\n",
        "from __future__ import annotations\n",
        "X = max(1, min(2, 3))\n",
    ],
)
def test_what_a_control_needs_is_allowed(plain: str) -> None:
    assert read(python(first=plain)).refusals == ()


@pytest.mark.slow
def test_no_worst_path_is_there_twice(judged: Judgement) -> None:
    paths = [json.dumps(path["assignments"]) for path in judged.record["worst"]]
    assert len(set(paths)) == len(paths) == 5
