"""The cells of a campaign: sweeps that give what simulations give, and that continue."""

from dataclasses import replace
from pathlib import Path

import pytest

from ackclock.evaluation import Candidate, KeptMetrics, Plan, campaign, evaluate, load, measured
from ackclock.evaluation.campaign import Campaign
from ackclock.sweeps.driver import Progress
from ackclock.sweeps.store import Store

# A case that has metrics with parameters and others, one of a grid of a suite's own, in few runs.
CASES = "Q21,Q20"


def plan(control: str, *, is_campaign: bool, kept: KeptMetrics | None = None) -> Plan:
    """Returns a plan whose campaign has the cells of a quick evaluation."""
    suite = load("rfc9743")
    cases = tuple(
        replace(
            case,
            setups=tuple(
                replace(setup, campaign_grid=setup.grid) for setup in case.setups if setup.grid
            ),
        )
        for case in suite.chosen(CASES)
    )
    where = Campaign() if is_campaign else None
    return Plan(
        suite, cases, Candidate.read(control), suite.paths[:1], (1, 2), kept=kept, campaign=where
    )


def numbers(record: dict) -> list:
    return [
        (case["id"], criterion["says"], cell["cell"], cell["values"], cell["references"])
        for case in record["cases"]
        for run in case["runs"]
        for criterion in run["criteria"]
        for cell in criterion["cells"]
    ]


@pytest.fixture(name="here", scope="module")
def _here(tmp_path_factory: pytest.TempPathFactory) -> dict:
    record, complete = evaluate(
        plan("vegas", is_campaign=False), tmp_path_factory.mktemp("here") / "vegas"
    )
    assert complete
    return record


@pytest.mark.slow
def test_a_campaign_gives_the_numbers_of_simulations(tmp_path: Path, here: dict) -> None:
    shares = []
    record, complete = evaluate(
        plan("vegas", is_campaign=True), tmp_path, lambda share, _: shares.append(share)
    )
    assert complete
    assert numbers(record) == numbers(here)
    metrics = [
        criterion["metric"]
        for case in record["cases"]
        for run in case["runs"]
        for criterion in run["criteria"]
    ]
    assert metrics == ["goodput", "response_reached_s", "utilisation", "hop_drops"]
    assert (shares == sorted(shares), shares[-1] > 0.9) == (True, True)
    assert (here["wide"], record["wide"]) == (False, True)
    names = sorted(path.name for path in (tmp_path / "sweeps").iterdir())
    assert names == [
        f"{case}-0-{who}" for case in ("reordering", "transients") for who in ("cubic", "reno", "x")
    ]


@pytest.mark.slow
def test_an_interrupted_campaign_continues_to_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    asked = plan("vegas", is_campaign=True)
    evaluate(asked, tmp_path / "whole")
    parsed = campaign.where.parse

    def interrupted(place, swept):
        go_on = parsed(place, swept)

        def stop(store, shard, tell, limit_s):
            def hear(now: Progress) -> None:
                tell(now)
                if now.ended:
                    raise KeyboardInterrupt

            return go_on(store, shard, hear, limit_s)

        return stop

    with monkeypatch.context() as patched:
        patched.setattr(campaign.where, "parse", interrupted)
        record, complete = evaluate(asked, tmp_path / "cut")
    assert (complete, record["partial"], record["cases"]) == (False, True, [])
    begun = Store(next((tmp_path / "cut" / "sweeps").iterdir())).runs().num_rows
    assert begun > 0
    evaluate(asked, tmp_path / "cut")
    for name in ("evaluation.json", "cells.csv", "index.html"):
        texts = [(tmp_path / folder / name).read_bytes() for folder in ("whole", "cut")]
        assert texts[0] == texts[1], name


@pytest.mark.slow
def test_references_of_a_campaign_are_kept(tmp_path: Path) -> None:
    kept = KeptMetrics(tmp_path / "kept")
    first, _ = evaluate(plan("vegas", is_campaign=True, kept=kept), tmp_path / "a")
    second, _ = evaluate(plan("vegas", is_campaign=True, kept=kept), tmp_path / "b")
    assert numbers(first) == numbers(second)
    assert {path.name[-2:] for path in (tmp_path / "b" / "sweeps").iterdir()} == {"-x"}


@pytest.mark.slow
def test_a_run_that_fails_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(campaign, "RUN_LIMIT_S", 1e-9)
    with pytest.raises(campaign.LackingError, match="a run failed: took longer"):
        evaluate(plan("vegas", is_campaign=True), tmp_path)


def test_the_cells_of_wide_are_valid_and_large() -> None:
    suite = load("rfc9743")
    asked = Plan(
        suite, suite.cases, Candidate.read("prague"), suite.paths, (1, 2), campaign=Campaign()
    )
    assert [case.number for case, _ in asked.parts()] == ["Q2", "Q3", "Q6", "Q17", "Q21"]
    for case, path in asked.parts():
        for setup in asked.setups(case) or ():
            cells = asked.cells(case, setup, path)
            measured.together(cells.cells).check()
            assert max(cell.packets for cell in cells.cells) < asked.most_packets
            assert all(cell.packets > 3e6 for cell in cells.cells), "1 Gbit/s for a minute"
