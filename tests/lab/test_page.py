"""The files of the page, the folder that `export` writes, and the scenario in it."""

import errno
import json
import os
import re
import zlib
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import lab_engine
from ackclock import load
from ackclock.laboratory import decode, page
from ackclock.laboratory.definitions import definitions

from ..in_process import ackclock
from .conftest import EXAMPLES

FIRST = next(path for path in EXAMPLES if path.stem == "first")
TRACED = next(path for path in EXAMPLES if path.stem == "trace-link")


def test_the_engine_in_the_page_is_of_the_present_sources() -> None:
    """A release refuses a stale or missing engine (`make wheel`); here it is a reason to skip."""
    why = lab_engine.staleness()
    if why:
        pytest.skip(why)
    assert page.digest() == lab_engine.sources_digest()


def test_the_digest_is_that_of_the_last_section() -> None:
    module = b"\0asm\1\0\0\0" + b"\1\4abcd" + lab_engine._section("ackclock", b"f" * 64)
    assert page._stated(module) == "f" * 64
    assert page._stated(b"\0asm\1\0\0\0") == ""
    assert page._stated(module[:-30]) != "f" * 64


def test_nothing_is_fetched_from_elsewhere() -> None:
    for name, path in page.static().items():
        if path.suffix in {".html", ".css", ".js"}:
            text = path.read_text(encoding="utf-8")
            assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text), name
            assert "innerHTML" not in text, name
            assert path.suffix != ".js" or max(map(len, text.splitlines())) <= 100, name


def test_intervals_of_the_page_use_student_quantiles() -> None:
    quantiles = json.loads(definitions())["student"]
    assert len(quantiles) >= 19  # a page has 20 replicates
    np.testing.assert_allclose(quantiles, stats.t.ppf(0.975, range(1, len(quantiles) + 1)))


#: Most bytes of a page's files by gzip. The specification of lab pages has 900,000; elements that
#: were added since take the rest.
MOST_BYTES = 1_000_000


@pytest.mark.usefixtures("fresh_engine")
def test_a_page_is_small_to_download() -> None:
    packed = (zlib.compress(path.read_bytes(), 6) for path in page.static().values())
    assert sum(map(len, packed)) <= MOST_BYTES


@pytest.mark.usefixtures("any_engine")
def test_export_writes_the_page_with_its_scenario(tmp_path: Path) -> None:
    folder = tmp_path / "page"
    done = ackclock("lab", "export", TRACED, "-o", folder)
    assert done.exit_code == 0, done.output
    names = {path.name for path in folder.iterdir()}
    made = {"definitions.json", "scenario.json"}
    assert {"index.html", "view.js", "figures.js", "engine.wasm", *made} <= names
    begun = json.loads((folder / "scenario.json").read_text())
    assert begun["scenario"] == load(TRACED).tree
    assert len(begun["files"]) == 2
    assert begun["server"] is False


@pytest.mark.usefixtures("any_engine")
def test_export_replaces_a_page_only_if_asked_and_nothing_else_ever(tmp_path: Path) -> None:
    folder = tmp_path / "page"
    assert ackclock("lab", "export", FIRST, "-o", folder).exit_code == 0
    again = ackclock("lab", "export", FIRST, "-o", folder)
    assert again.exit_code == 2
    assert "--force" in again.output
    assert ackclock("lab", "export", FIRST, "-o", folder, "--force").exit_code == 0
    (folder / "thesis.tex").write_text("mine")
    refused = ackclock("lab", "export", FIRST, "-o", folder, "--force")
    assert refused.exit_code == 2
    assert "thesis.tex" in refused.output


def test_export_without_an_engine_says_how_to_get_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {name: path for name, path in page.static().items() if name != page.ENGINE}
    monkeypatch.setattr(page, "static", lambda: files)
    done = ackclock("lab", "export", FIRST, "-o", tmp_path / "page")
    assert done.exit_code == 3
    assert "make lab" in done.output
    assert not (tmp_path / "page").exists()


@pytest.mark.usefixtures("any_engine")
def test_a_full_disk_is_that_of_the_page_and_not_of_its_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(source: Path, target: Path) -> None:  # as shutil.copyfile tells of it
        words = os.strerror(errno.ENOSPC)
        raise OSError(errno.ENOSPC, words, str(source), None, str(target))

    monkeypatch.setattr(page.shutil, "copyfile", full)
    done = ackclock("lab", "export", FIRST, "-o", tmp_path / "page")
    assert done.exit_code == 3
    assert done.stderr.startswith(f"ackclock: {tmp_path / 'page'}: ")
    assert list(tmp_path.iterdir()) == []


def test_link_prints_the_scenario_with_its_changes() -> None:
    done = ackclock("lab", "link", FIRST, "--set", "duration=7 s", "--seed", "3")
    assert done.exit_code == 0
    state = decode(done.output.strip())
    assert state.scenario == load(FIRST).replace(duration="7 s", seed="3").tree


def test_exercises_have_a_question_and_sliders() -> None:
    exercises = sorted((FIRST.parent / "lab").glob("*.toml"))
    assert len(exercises) == 6
    for path in exercises:
        scenario = load(path)
        scenario.check()
        assert scenario.lab.text.count("?") == 1
        assert len(scenario.lab.sliders) >= 2


@pytest.mark.parametrize("verb", [[], ["export"], ["link"]])
def test_a_wrong_scenario_is_refused_before_anything_is_served(
    verb: list[str], tmp_path: Path
) -> None:
    wrong = tmp_path / "wrong.toml"
    wrong.write_text("schema = 1\nduration = 10\n")
    done = ackclock("lab", *verb, wrong)
    assert done.exit_code == 2
    assert "wrong.toml:2:12" in done.output
