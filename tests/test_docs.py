"""The documents run: every shell and Python block in README.md, guides and notes.

Each document has its own folder. A block marked `text` is not run. One marked `text printed` must
be in the output of the block that ran before it. A block marked `toml FILE` becomes that file in
the folder of the document; one that starts with `schema` is a scenario and is checked. One marked
`emulation` is run where an emulation is possible. One marked `reproduced` is not run, as the
experiments that it names are checked by `make reproduce-check`; here they must exist. One marked
`readers` needs a package that may not be installed; `tests/sweeps/test_readers.py` runs it, and
`tests/gym/test_training.py` one marked `training`. One marked `clang` is run where there is that
compiler, `loading` where the kernel takes controls, and `wasm` where the engine of lab pages is
built.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import NamedTuple

import pytest

import lab_engine
from ackclock import Scenario
from ackclock.reproduction.catalogue import chosen, experiments

from .emulation.loading import why_not
from .forked import served
from .patience import PATIENCE_S

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = [
    ROOT / "README.md",
    *sorted(path for kind in ("guides", "notes") for path in (ROOT / "docs" / kind).glob("*.md")),
]
#: The page that a newcomer follows. The commands of all others run in the long lane.
FIRST = "first-scenario"
_FENCE = re.compile(r"^```(\w+)(?:[ \t]+(\S+))?[ \t]*\n(.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)


# On a busy machine runs are unreliable, which is not the document's fault.
_FORGIVING = """\
ackclock() {
    command ackclock "$@" || {
        code=$?
        case "$1 $code" in "emulate 4" | "compare 4") ;; *) return $code ;; esac
    }
}
"""


class Block(NamedTuple):
    language: str
    mark: str | None
    text: str
    line: int


def blocks(text: str) -> list[Block]:
    return [
        Block(match[1], match[2], match[3], text.count("\n", 0, match.start()) + 1)
        for match in _FENCE.finditer(text)
    ]


def test_blocks_are_found() -> None:
    listed = blocks("a\n```sh\nls\n```\n```toml first.toml\nschema = 1\n```\n```text\nno\n```\n")
    assert [(block.language, block.mark, block.line) for block in listed] == [
        ("sh", None, 2), ("toml", "first.toml", 5), ("text", None, 8),
    ]  # fmt: skip


def as_parameter(path: Path) -> object:
    """Returns a document as a parameter; some emulate."""
    in_real_time = any(
        block.mark in ("emulation", "loading") for block in blocks(path.read_text(encoding="utf-8"))
    )
    marks = [pytest.mark.real_time if in_real_time else pytest.mark.slow]
    if path.stem != FIRST:
        marks.append(pytest.mark.long)
    return pytest.param(path, marks=marks, id=path.relative_to(ROOT).as_posix())


def unwrapped(text: str) -> str:
    return " ".join(text.split())


def not_printed(block: Block, output: str) -> list[str]:
    """Returns the paragraphs of a block marked `printed` that are not in an output."""
    paragraphs = block.text.split("\n\n") if block.mark == "printed" else []
    return [paragraph for paragraph in paragraphs if unwrapped(paragraph) not in unwrapped(output)]


def complaints(block: Block, where: str, output: str) -> list[str]:
    """Returns a line with the output for a block whose text is not in it; else nothing."""
    missed = not_printed(block, output)
    return [f"{where} is not printed; this is:\n{output}"] if missed else []


def test_what_is_printed_is_compared() -> None:
    [block] = blocks("```text printed\nFound: 3\npackets.\n\nNo more.\n```\n")
    assert not_printed(block, "  Found: 3 packets.\nNo more.\n") == []
    assert not_printed(block, "Found: 4 packets. No more.") == ["Found: 3\npackets."]
    assert not_printed(block._replace(mark=None), "") == []


def check_experiments(block: Block) -> None:
    """Checks that each line reproduces experiments or groups that exist."""
    for line in block.text.replace("\\\n", " ").splitlines():
        program, verb, *words = shlex.split(line, comments=True)
        assert (program, verb) == ("ackclock", "reproduce")
        names = [word for word in words if re.fullmatch(r"[a-z][\w.-]*", word)]
        assert chosen(names, experiments())


def missing(mark: str | None, no_emulation: str | None) -> str | None:
    """Returns what this machine lacks for a block of that mark, if anything."""
    if mark == "clang":
        return None if shutil.which("clang") else "there is no clang"
    if mark == "wasm":
        return None if lab_engine.MODULE.exists() else "there is no engine.wasm; make lab"
    if mark == "loading":
        return no_emulation or why_not()
    return no_emulation if mark == "emulation" else None


def command_of(block: Block) -> list[str] | None:
    """Returns the command that takes a block's text; None if it is not run here."""
    if block.mark in ("readers", "training"):
        return None
    commands = {"sh": ["bash", "-euo", "pipefail", "-c"], "python": ["python", "-c"]}
    return commands.get(block.language)


@pytest.fixture(scope="session")
def command(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of commands `ackclock` and `python` that need not import anything."""
    own = tmp_path_factory.getbasetemp()
    return served(own.parent if "PYTEST_XDIST_WORKER" in os.environ else own)


def environment_for(document: Path, command: Path) -> dict[str, str]:
    """Returns the environment of a document's commands; the README's are the installed ones."""
    installed = [str(Path(sys.executable).parent), *os.get_exec_path()]
    places = installed if document.name == "README.md" else [str(command), *installed]
    return os.environ | {"PATH": os.pathsep.join(places)}


def test_a_crate_whose_documentation_has_examples_runs_them() -> None:
    for manifest in sorted((ROOT / "crates").glob("*/Cargo.toml")):
        library = tomllib.loads(manifest.read_text(encoding="utf-8")).get("lib", {})
        if library.get("doctest", True):
            continue
        for source in (manifest.parent / "src").rglob("*.rs"):
            fences = re.findall(r"^\s*//[/!] ```(\w*)", source.read_text("utf-8"), re.MULTILINE)
            assert set(fences[::2]) <= {"text"}, f"{source}: remove doctest = false"


def test_the_experiment_of_a_package_reads_no_file_of_the_folder() -> None:
    guide = (ROOT / "docs" / "guides" / "reproduce.md").read_text(encoding="utf-8")
    [text] = [block.text for block in blocks(guide) if "Experiment(" in block.text]
    assert "load(" not in text


@pytest.mark.parametrize("document", [as_parameter(path) for path in DOCUMENTS])
def test_a_documents_commands_and_snippets_run(
    document: Path, tmp_path: Path, no_emulation: str | None, command: Path
) -> None:
    for name in ("examples", "traces"):
        if document.name != "README.md":  # its commands work in an empty folder
            (tmp_path / name).symlink_to(ROOT / name)
    environment = environment_for(document, command)
    left_out: dict[int, str] = {}
    changed: list[str] = []
    output = ""
    for block in blocks(document.read_text(encoding="utf-8")):
        reason = missing(block.mark, no_emulation)
        if reason is not None:
            left_out[block.line] = reason
            continue
        where = f"{document.relative_to(ROOT)}:{block.line}"
        if block.language == "toml" and block.mark:
            (tmp_path / block.mark).write_text(block.text, encoding="utf-8")
        if block.language == "toml" and block.text.startswith("schema"):
            Scenario.from_toml(block.text, tmp_path).check()
        if block.mark == "reproduced":
            check_experiments(block)
            continue
        runner = command_of(block)
        if runner is not None:
            text = _FORGIVING + block.text if block.language == "sh" else block.text
            outcome = subprocess.run(
                [*runner, text],
                cwd=tmp_path,
                env=environment,
                capture_output=True,
                text=True,
                timeout=PATIENCE_S,
            )
            assert outcome.returncode == 0, f"{where} failed:\n{outcome.stdout}\n{outcome.stderr}"
            output = outcome.stdout
        changed += complaints(block, where, output)
    assert not changed, "\n".join(changed)
    if left_out:
        lines = ", ".join(map(str, left_out))
        pytest.skip(f"all but the blocks at lines {lines}: {'; '.join(set(left_out.values()))}")


@pytest.mark.slow
@pytest.mark.parametrize(
    "example", sorted((ROOT / "examples").glob("*.toml")), ids=lambda path: path.name
)
def test_examples_run(example: Path) -> None:
    from ackclock import load, simulate

    scenario = load(example)
    scenario.check()
    short = scenario.replace({"duration": "3 s", "warmup": "1 s", "replicates": 1})
    result = simulate(short)
    assert result.tables["flows"].num_rows >= len(short.expand())
    assert sum(result.tables["flows"]["delivered_bytes"].to_pylist()) > 0
