"""The file that says what a folder holds is damaged: each reader names it in one line."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import Result as Outcome

from .conftest import LEAKY_PIPE
from .damage import DAMAGE
from .in_process import ackclock

pytestmark = pytest.mark.slow

#: For each file: the command that writes its folder, and the commands that read it.
READERS: dict[str, tuple[list[str], list[list[str]]]] = {
    "run/run.json": (
        ["simulate", "leaky.toml", "-o", "run"],
        [["table", "run", "goodput"], ["plot", "run"], ["report", "run"], ["replay", "run"]],
    ),
    "compared/comparison.json": (
        ["compare", "leaky.toml", "--methods", "predict,simulate", "-o", "compared"],
        [["report", "compared"]],
    ),
    "advised/advice.json": (
        ["advise", "buffer", "leaky.toml", "-o", "advised"],
        [["report", "advised"]],
    ),
}


def mistyped(text: bytes) -> Iterator[bytes]:
    """Yields an object with each of its fields removed, or of another type."""
    content = json.loads(text)
    for key in content:
        for value in (None, 5, "x", [], {}, [[]]):
            if value != content[key]:
                yield json.dumps({**content, key: value}).encode()
        yield json.dumps({name: held for name, held in content.items() if name != key}).encode()


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of each kind, and the scenario that they answer."""
    place = tmp_path_factory.mktemp("folders")
    scenario, _, _ = LEAKY_PIPE.partition("[sweep]")
    shorter = scenario.replace('duration = "5 s"', 'duration = "2 s"')
    (place / "leaky.toml").write_text(shorter, encoding="utf-8")
    for write, _ in READERS.values():
        outcome = ackclock(*write, place=place)
        assert outcome.exit_code == 0, outcome.stderr
    return place


def check_is_one_line(outcome: Outcome, label: object) -> None:
    """Checks that a command refused its input in one line and raised nothing else."""
    assert isinstance(outcome.exception, SystemExit), (label, outcome.exception)
    assert outcome.exit_code == 2, (label, outcome.output)
    assert len(outcome.stderr.splitlines()) == 1, (label, outcome.stderr)


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("file", READERS)
def test_a_damaged_mark_is_one_line(folders: Path, tmp_path: Path, file: str, damage: str) -> None:
    place = tmp_path / "copied"
    shutil.copytree(folders, place)
    DAMAGE[damage](place / file)
    for command in READERS[file][1]:
        check_is_one_line(ackclock(*command, place=place), (damage, command))


@pytest.mark.parametrize("file", READERS)
def test_a_mark_with_other_types_is_one_line(folders: Path, tmp_path: Path, file: str) -> None:
    place = tmp_path / "copied"
    shutil.copytree(folders, place)
    for content in mistyped((folders / file).read_bytes()):
        (place / file).write_bytes(content)
        command = READERS[file][1][0]
        check_is_one_line(ackclock(*command, place=place), (content, command))
