"""Every kind of bad input has its code, its field and its message.

They are in the text files beside this one. A line has the code, the field (`-` for none) and the
input; the line below it has the message. A new case is a new line, and `pytest tests/messages
--write-messages` writes its message, or one that was changed on purpose.
"""

import re
import shlex
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest
from click.testing import CliRunner

import ackclock
from ackclock import InputError, Result, Scenario, engine, sweep
from ackclock.cli import cli
from ackclock.errors import CODES

from ..conftest import LEAKY_PIPE
from ..refusals import error_of
from ..sweeps.conftest import InThisProcess

WRITE = "if so meant: pytest tests/messages --write-messages"

#: Of a list of names to choose from, the first three are kept: others are added every day.
NAMES = re.compile(r"(choose from (?:[\w.+-]+, ){2}[\w.+-]+), [\w.+, -]+")
#: Stacks that other tests have brought in this process are no part of a message.
BROUGHT = re.compile(r"(choose quinn)(?: or [\w-]+)+, or bring")


class Case(NamedTuple):
    kind: str  # the file's name: scenario, commands or expressions
    code: str
    field: str
    text: str
    message: str


def file(kind: str) -> Path:
    return Path(__file__).with_name(f"{kind}.txt")


def is_message(line: str) -> bool:
    return line.startswith("    ")


def read(kind: str) -> Iterator[tuple[str, Case | None]]:
    """Yields the lines of a file but for messages, and the case that a line describes."""
    lines = file(kind).read_text(encoding="utf-8").splitlines()
    for line, following in pairwise([*lines, ""]):
        if is_message(line):
            continue
        if not line or line.startswith("#"):
            yield line, None
            continue
        code, rest = line.split(maxsplit=1)
        field, text = rest.split("  ", maxsplit=1) if "  " in rest else rest.split(maxsplit=1)
        message = following.strip() if is_message(following) else ""
        yield line, Case(kind, code, "" if field == "-" else field, text.strip(), message)


KINDS = ("scenario", "commands", "expressions")
EVERY = [case for kind in KINDS for _, case in read(kind) if case is not None]

PCAP = b"\xd4\xc3\xb2\xa1\x02\0\x04\0\0\0\0\0\0\0\0\0\0\0\x04\0"
# The engine has no such control.
KERNEL = LEAKY_PIPE.replace('{ kind = "reno" }', '{ kind = "kernel", name = "bbr" }').replace(
    '"flows.main.transport.control.kind" = ["reno", "cubic"]\n', ""
)
FILES = {
    "leaky.toml": LEAKY_PIPE.encode(),
    "kernel.toml": KERNEL.encode(),
    "broken.toml": b"name = = 1\n",
    "cut.json": b'{"schema": 1,',
    "dated.toml": b"duration = 1979-05-27\n",
    "bad.down": b"1\ntwo\n",
    "good.down": b"".join(b"%d\n" % time_ms for time_ms in range(1, 2000)),
    "nothing.pcap": b"",
    "text.pcap": b"schema = 1\n",
    "elf.pcap": b"\x7fELF\x02\x01\x01\x00" * 10,
    "xz.pcap": b"\xfd7zXZ\0",
    "cut.pcap": PCAP[:6],
    "link.pcap": PCAP + b"\x69\0\0\0",
    "empty.pcap": PCAP + b"\x65\0\0\0",
    "short": b"short\n",
    "shared": b"a key that everybody can read\n",
}


@pytest.fixture(scope="module")
def error(
    leaky_pipe: Scenario, result: Result, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[Case], object]]:
    """What a case raises, in a folder with the files that cases name."""
    alone = leaky_pipe.expand()[1].scenario

    def check(assignments: str) -> None:
        alone.replace(
            dict(engine.parse_assignment(assignment) for assignment in assignments.split(" & "))
        ).check()

    def command(line: str) -> None:
        outcome = CliRunner().invoke(cli, shlex.split(line))
        assert outcome.exit_code == 2, outcome.output
        raise error_of(outcome)

    def expression(text: str) -> None:
        eval(text, {name: getattr(ackclock, name) for name in ackclock.__all__})

    raising = {"scenario": check, "commands": command, "expressions": expression}

    def error(case: Case) -> object:
        try:
            return raising[case.kind](case.text)
        except Exception as error:
            return error

    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("messages"))
        for name, content in FILES.items():
            Path(name).write_bytes(content)
            Path(name).chmod(0o600)
        Path("shared").chmod(0o644)
        result.save("run")
        patch.setattr("ackclock.sweeps.places.here.Here", InThisProcess)
        sweep(
            alone.replace({"duration": "2 s", "replicates": 1}),
            "sweep",
            metrics=["goodput"],
            vary={"flows.main.transport.control.kind": "reno,cubic"},
        )
        yield error


def brief(raised: object) -> str:
    """Returns a message as the files have it."""
    return BROUGHT.sub(r"\1, or bring", NAMES.sub(r"\1, …", str(raised)))


@pytest.fixture(scope="module")
def write(error: Callable[[Case], object], request: pytest.FixtureRequest) -> bool:
    """True if messages were to be written, which is then done."""
    asked = bool(request.config.getoption("--write-messages"))
    for kind in KINDS if asked else ():
        lines = [
            line if case is None else f"{line}\n    {brief(error(case))}"
            for line, case in read(kind)
        ]
        file(kind).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return asked


@pytest.mark.parametrize("case", EVERY, ids=lambda case: case.text)
def test_bad_input_has_its_code_its_field_and_its_message(
    error: Callable[[Case], object], write: bool, case: Case
) -> None:
    raised = error(case)
    assert isinstance(raised, InputError), repr(raised)
    assert (raised.code, raised.field) == (case.code, case.field), raised
    assert "\n" not in str(raised)
    assert write or brief(raised) == case.message, WRITE


def test_long_lists_of_names_are_cut() -> None:
    assert brief("choose from a, b, c") == "choose from a, b, c"
    assert brief('"x"; choose from a_1, b-2, c, d. A file') == '"x"; choose from a_1, b-2, c, …'


def test_every_code_of_bad_input_is_there() -> None:
    others = {"lacking", "failed", "interrupted", "internal"}
    assert {case.code for case in EVERY} == CODES.keys() - others
    assert len(EVERY) == len({(case.kind, case.text) for case in EVERY})
