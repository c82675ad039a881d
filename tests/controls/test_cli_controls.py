"""`ackclock controls`: a template, and checks of what was made of it."""

import json
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ackclock import controls
from ackclock.cli import cli

from .paths import PROGRAMS, needs_clang

# The package has a function of that name.
_CHECK = import_module("ackclock.controls.check")


def run(*arguments: str) -> Result:
    """Calls `ackclock controls`."""
    return CliRunner().invoke(cli, ["controls", *arguments])


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder, which is the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path  # type: ignore[return-value]


def test_a_new_control_is_some_sixty_lines_and_not_replaced(folder: Path) -> None:
    assert run("new", "mine").exit_code == 0
    text = (folder / "mine.bpf.c").read_text("utf-8")
    assert 50 <= len(text.splitlines()) <= 75
    assert 'file = "mine.bpf.c"' in text
    again = run("new", "mine")
    assert again.exit_code == 2
    assert "mine.bpf.c: is there already" in again.output
    assert run("new", "mine", "--force").exit_code == 0
    assert run("new", "../mine").exit_code == 2
    assert run("new", "mine", "-o", "mine.c").exit_code == 2


@pytest.mark.slow
@needs_clang
def test_a_new_control_passes_its_checks() -> None:
    run("new", "mine")
    checked = run("check", "mine.bpf.c", "--engine")
    assert checked.exit_code == 0, checked.output
    assert "clean" in checked.output
    assert "Mbit/s" in checked.output


@needs_clang
def test_a_mistake_is_one_line_of_the_source(folder: Path) -> None:
    run("new", "mine")
    source = folder / "mine.bpf.c"
    source.write_text(source.read_text("utf-8").replace("ackclock_max(kept, 2)", "kept +"), "utf-8")
    checked = run("check", "mine.bpf.c", "--engine")
    assert checked.exit_code == 2
    lines = checked.stderr.strip().splitlines()
    assert len(lines) == 1
    line = 1 + source.read_text("utf-8").splitlines().index("\treturn kept +;")
    assert lines[0].startswith("ackclock: mine.bpf.c: ")
    assert f"mine.bpf.c:{line}:" in lines[0]
    assert "expected expression" in lines[0]


@needs_clang
def test_a_field_that_the_engine_lacks_is_named(folder: Path) -> None:
    run("new", "mine")
    source = folder / "mine.bpf.c"
    text = source.read_text("utf-8")
    text = text.replace(
        "/* What the control remembers",
        "struct tcp_sock___more { __u32 rcv_ooopack; } __attribute__((preserve_access_index));\n"
        "/* What the control remembers",
    )
    text = text.replace("ackclock_max(kept, 2)", "((struct tcp_sock___more *)mine)->rcv_ooopack")
    source.write_text(text, "utf-8")
    checked = run("check", "mine.bpf.c", "--engine")
    assert checked.exit_code == 2
    assert "uses tcp_sock.rcv_ooopack, of which the engine knows nothing" in checked.stderr
    assert "mine.bpf.c:" in checked.stderr


@pytest.mark.long
@needs_clang
@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        ("return 1000000;", "no loss reduced the window"),
        ("return 1 << 31;", "no loss reduced the window"),
    ],
)
def test_a_control_that_does_not_reduce_its_window_is_complained_of(
    folder: Path, wrong: str, complaint: str
) -> None:
    run("new", "mine")
    source = folder / "mine.bpf.c"
    text = source.read_text("utf-8").replace("return ackclock_max(kept, 2);", wrong)
    source.write_text(text, "utf-8")
    checked = run("check", "mine.bpf.c", "--engine")
    assert checked.exit_code == 2
    assert complaint in checked.stderr


@pytest.mark.slow
@needs_clang
def test_a_window_that_never_grows_is_complained_of(folder: Path) -> None:
    run("new", "mine")
    source = folder / "mine.bpf.c"
    text = source.read_text("utf-8").replace(
        "\tif (acked)\n", "\tcall->after.cwnd = 4;\n\tif (0)\n"
    )
    source.write_text(text, "utf-8")
    checked = run("check", "mine.bpf.c", "--engine")
    assert checked.exit_code == 2
    assert "the window hardly grows" in checked.stderr


def test_without_the_loader_the_check_is_skipped(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_CHECK, "loader", lambda: None)
    (folder / "mine.bpf.o").write_bytes((PROGRAMS / "reno.bpf.o").read_bytes())
    checked = run("check", "mine.bpf.o")
    assert checked.exit_code == 77
    assert "the kernel was not asked: ackclock-kernel-host is not installed" in checked.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answer", "code", "words"),
    [
        ({"loaded": {"name": "acc_1"}}, 0, "the kernel takes it"),
        (
            {"refused": {"blame": "control", "reason": "mine.bpf.c:7: reads too far", "log": "…"}},
            2,
            "mine.bpf.c:7: reads too far",
        ),
        (
            {"refused": {"blame": "machine", "reason": "needs CAP_BPF; run as root", "log": ""}},
            77,
            "needs CAP_BPF",
        ),
    ],
)
def test_the_kernel_s_answer_decides_the_exit_code(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    answer: dict[str, object],
    code: int,
    words: str,
) -> None:
    script = folder / "pretended"
    script.write_text(f"#!/bin/sh\ncat <<'END'\n{json.dumps(answer)}\nEND\n", "utf-8")
    script.chmod(0o700)
    monkeypatch.setattr(_CHECK, "loader", lambda: str(script))
    (folder / "mine.bpf.o").write_bytes((PROGRAMS / "reno.bpf.o").read_bytes())
    checked = run("check", "mine.bpf.o")
    assert checked.exit_code == code, checked.output
    assert words in checked.output + checked.stderr


def test_bad_files_are_one_line() -> None:
    for name, words in [("absent.bpf.c", "no such file"), ("mine.c", "neither C source")]:
        checked = run("check", name)
        assert checked.exit_code == 2
        assert words in checked.stderr
        assert len(checked.stderr.strip().splitlines()) == 1


def test_paths_are_as_the_help_says() -> None:
    assert len(controls.PATHS) == 5
    assert "five short paths" in run("check", "--help").output
