"""Limits on what others wrote: stated once, and kept."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ackclock import limits, load
from ackclock.errors import InputError
from ackclock.limits import read_file
from ackclock.result import folder as folders
from ackclock.scenario import Scenario
from ackclock.sweeps.plan import Plan

from .in_process import ackclock
from .refusals import check, check_refusal, error_of, refused

ROOT = Path(__file__).parents[1]
FIRST = ROOT / "examples/first.toml"


def table() -> list[str]:
    """The rows of SECURITY.md."""
    return [f"| {about.removesuffix('.')} | {words} |" for _, _, words, about in limits.LIMITS]


def test_the_limits_of_the_security_policy_are_those_of_the_engine() -> None:
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    section = text.partition("\n## Limits\n")[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| ")]
    assert rows == ["| limit | most |", *table()]


def test_a_file_is_read_within_its_limit_and_if_it_is_regular(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"12345")
    assert read_file(file, 5) == b"12345"
    with pytest.raises(InputError, match="larger than 4 bytes"):
        read_file(file, 4)
    with pytest.raises(InputError, match="not a regular file"):
        read_file("/dev/zero", 5)
    with pytest.raises(IsADirectoryError):
        read_file(tmp_path, 5)
    with pytest.raises(FileNotFoundError) as missing:
        read_file(tmp_path / "missing", 5)
    assert str(missing.value.filename) == str(tmp_path / "missing")


def test_a_message_quotes_long_values_in_part_and_keeps_its_remedy() -> None:
    long = "x" * 1_000_000
    error = InputError("out-of-range", long, f'"{long}" is not a rate; for example "1 Mbit/s"')
    assert error.message == f'"{"x" * 80}…" is not a rate; for example "1 Mbit/s"'
    assert len(str(error)) <= limits.MESSAGE_CHARACTERS + 1
    assert InputError("file", "", '"\udcff" is missing').message == r'"\udcff" is missing'


def pipe(path: Path) -> Path:
    os.mkfifo(path)
    return path


def large(path: Path) -> Path:
    with path.open("wb") as file:
        file.truncate(limits.NAMED_FILE_BYTES + 1)
    return path


#: Files that have no end, or too late a one.
ENDLESS: dict[str, Callable[[Path], Path]] = {
    "a device": lambda _: Path("/dev/zero"),
    "a pipe": lambda folder: pipe(folder / "pipe"),
    "a large file": lambda folder: large(folder / "large.toml"),
}


@pytest.mark.parametrize("endless", ENDLESS.values(), ids=ENDLESS)
@pytest.mark.parametrize("command", ["check", "simulate", "emulate", "lab", "sweep run"])
def test_a_scenario_is_a_regular_file_within_a_limit(
    command: str, endless: Callable[[Path], Path], tmp_path: Path
) -> None:
    path = endless(tmp_path)
    check_refusal(ackclock(*command.split(), path, place=tmp_path), "file", f"{path}")


@pytest.mark.parametrize("endless", ENDLESS.values(), ids=ENDLESS)
def test_a_file_that_a_scenario_names_is_regular_and_within_a_limit(
    endless: Callable[[Path], Path], tmp_path: Path
) -> None:
    file = str(tmp_path / "mine.py")
    (tmp_path / "mine.py").symlink_to(endless(tmp_path))
    for path, element in {
        "hops.bottleneck.link": {"kind": "trace", "file": file, "format": "mahimahi"},
        "flows.download.traffic.size": {"kind": "empirical", "file": file},
        "flows.download.transport.control": {"kind": "python", "file": file, "class": "Control"},
    }.items():
        with refused("file", f"{path}.file"):
            traffic = {"flows.download.traffic": {"kind": "transfer", "size": "1 MB"}}
            load(FIRST).replace(traffic | {path: element}).resolve()


@pytest.mark.parametrize("endless", ENDLESS.values(), ids=ENDLESS)
def test_a_suite_is_a_regular_file_within_a_limit(
    endless: Callable[[Path], Path], tmp_path: Path
) -> None:
    suite = tmp_path / "suite.toml"
    suite.symlink_to(endless(tmp_path))
    done = ackclock("evaluate", "reno", "--suite", suite, place=tmp_path)
    check(error_of(done), "file", f"{suite}")


#: Scenario files of many levels.
DEEP = {
    "a key": ".".join(["a"] * 20_000) + " = 1",
    "a table": "[flows." + ".".join(["a"] * 20_000) + "]\nx = 1",
    "arrays": "x = " + "[" * 20_000 + "]" * 20_000,
    "inline tables": "x = " + "{a = " * 20_000 + "1" + "}" * 20_000,
}


@pytest.mark.parametrize("text", DEEP.values(), ids=DEEP)
def test_a_scenario_of_many_levels_is_refused_with_a_remedy(text: str, tmp_path: Path) -> None:
    (tmp_path / "deep.toml").write_text(text, encoding="utf-8")
    outcome = ackclock("check", "deep.toml", place=tmp_path)
    assert outcome.exit_code == 2
    assert outcome.stderr.endswith("is nested too deeply; flatten it\n")
    assert len(outcome.stderr.splitlines()) == 1


def test_a_path_of_many_levels_is_refused(tmp_path: Path) -> None:
    path = ".".join(["hops", *["a"] * 20_000])
    outcome = ackclock("check", FIRST, "--set", f"{path}=1", place=tmp_path)
    assert outcome.exit_code == 2
    assert len(outcome.stderr.splitlines()) == 1


def test_values_that_need_later_ones_are_computed_in_one_pass() -> None:
    """In time that grows with the square of their number, this takes minutes."""
    number = 20_000
    values = {f"v{place}": f"v{place + 1}" for place in range(number)}
    tree = load(FIRST).tree | {"values": values | {f"v{number}": "7 ms"}}
    assert Scenario(tree).replace(duration="1000 * v0").resolve().tree["duration"] == "7 s"


def test_mistakes_are_reported_up_to_a_number() -> None:
    wrong = {f"v{place}": f"w{place}" for place in range(50_000)}
    with pytest.raises(InputError) as values:
        Scenario(load(FIRST).tree | {"values": wrong}).check()
    hops = [{"name": f"hop{place}"} for place in range(5_000)]
    with pytest.raises(InputError) as lists:
        Scenario(load(FIRST).tree | {"hops": hops}).check()
    for caught in (values, lists):
        assert limits.MISTAKES <= len(caught.value.errors) <= 10 * limits.MISTAKES


@pytest.mark.parametrize("field", ["hops", "flows"])
def test_a_scenario_has_a_bounded_number_of_groups(field: str) -> None:
    tree = load(FIRST).tree
    with refused("out-of-range", field):
        Scenario(tree | {field: tree[field][:1] * 100_000}).check()


@pytest.mark.parametrize(
    "sweep",
    [
        {f"values.v{number}": [1] for number in range(2_000)},
        {"seed": list(range(20_000))},
        {"seed": list(range(1_000)), "name": ["x" * 300_000]},
    ],
    ids=["paths", "points", "bytes"],
)
def test_a_sweep_is_bounded(sweep: dict[str, Any]) -> None:
    name = sweep.get("name", [""])[0]
    with refused("out-of-range", "sweep"):
        Scenario(load(FIRST).tree | {"question": name, "sweep": {"seed": [1]} | sweep}).expand()


def test_of_a_long_list_of_values_some_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    checked = []
    monkeypatch.setattr(Scenario, "check", lambda scenario: checked.append(scenario))
    values = ",".join(map(str, range(20_000)))
    assert len(Plan.make(load(FIRST), vary=(f"seed={values}",)).points) == 20_000
    assert len(checked) <= 2_000


LONG = "x" * 1_000_000


@pytest.mark.parametrize(
    "arguments",
    [
        ("check", FIRST, "--set", f"hops.bottleneck.link.rate={LONG}"),
        ("check", FIRST, "--set", f"{LONG}=1"),
        ("check", FIRST, "--set", LONG),
        ("check", FIRST, "--set", f"flows.download.transport.control.kind={LONG}"),
        ("check", LONG),
        ("show", LONG),
        ("predict", "--models", LONG),
        ("simulate", FIRST, "--replicates", LONG),
        ("sweep", "run", FIRST, "--vary", LONG),
        ("sweep", "run", FIRST, "--vary", f"seed={LONG}"),
        ("sweep", "run", FIRST, "--design", LONG),
        ("evaluate", "reno", "--suite", LONG),
        ("lab", f"#{LONG}"),
        (LONG,),
    ],
    ids=range(14),
)
def test_a_long_value_is_quoted_in_part(arguments: tuple[object, ...], tmp_path: Path) -> None:
    done = ackclock(*arguments, place=tmp_path)
    assert done.exit_code == 2, done.output[:1000]
    assert len(done.stderr) <= limits.MESSAGE_CHARACTERS + 100
    assert "x" * (limits.MESSAGE_CHARACTERS + 1) not in done.output


def test_a_folder_that_is_not_ours_is_not_walked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "home/deep").mkdir(parents=True)
    entered = []
    contents = folders._contents
    monkeypatch.setattr(folders, "_contents", lambda path: entered.append(path) or contents(path))
    with refused("file", f"{tmp_path}"):
        folders.refuse_foreign_folder(tmp_path)
    (tmp_path / "run.json").touch()
    with refused("file", f"{tmp_path}", "home"):
        folders.refuse_foreign_folder(tmp_path)
    assert entered == [tmp_path, tmp_path]
    (tmp_path / "home/deep").rmdir()
    (tmp_path / "home").rmdir()
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures/notes.txt").touch()
    with refused("file", f"{tmp_path}", "figures/notes.txt"):
        folders.refuse_foreign_folder(tmp_path)
