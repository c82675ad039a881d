"""Every kind of bad input has its code and its field; its message is in one file.

`pytest tests/messages --write-messages` records a message that was changed on purpose.
"""

import shlex
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

import ackclock
from ackclock import InputError, Result, Scenario, engine, sweep
from ackclock.cli import cli
from ackclock.errors import CODES

from ..conftest import LEAKY_PIPE
from ..refusals import error_of
from .bad_input import COMMANDS, EXPRESSIONS, SCENARIO, Case, cases

SENTENCES = Path(__file__).with_name("sentences.txt")
WRITE = "if so meant: pytest tests/messages --write-messages"
EVERY = [*cases(SCENARIO), *cases(COMMANDS), *cases(EXPRESSIONS)]

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
    "good.down": b"".join(b"%d\n" % at for at in range(1, 2000)),
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
            dict(engine.parse_assignment(one) for one in assignments.split(" & "))
        ).check()

    def command(line: str) -> None:
        outcome = CliRunner().invoke(cli, shlex.split(line))
        assert outcome.exit_code == 2, outcome.output
        raise error_of(outcome)

    def expression(text: str) -> None:
        eval(text, {name: getattr(ackclock, name) for name in ackclock.__all__})

    tables = ((SCENARIO, check), (COMMANDS, command), (EXPRESSIONS, expression))
    tell = {case: how for table, how in tables for case in cases(table)}

    def error(case: Case) -> object:
        try:
            return tell[case](case.text)
        except Exception as error:
            return error

    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("messages"))
        for name, content in FILES.items():
            Path(name).write_bytes(content)
            Path(name).chmod(0o600)
        Path("shared").chmod(0o644)
        result.save("run")
        sweep(
            alone.replace({"duration": "2 s", "replicates": 1}),
            "sweep",
            metrics=["goodput"],
            vary={"flows.main.transport.control.kind": "reno,cubic"},
        )
        yield error


@pytest.fixture(scope="module")
def on_file(
    error: Callable[[Case], object], request: pytest.FixtureRequest
) -> list[tuple[str, str]]:
    """Cases' texts and messages in the file, which is written first if that was asked for."""
    if request.config.getoption("--write-messages"):
        said = "".join(f"{case.text}\n    {error(case)}\n" for case in EVERY)
        SENTENCES.write_text(said, encoding="utf-8")
    lines = SENTENCES.read_text(encoding="utf-8").splitlines()
    return list(zip(lines[0::2], lines[1::2], strict=True))


@pytest.mark.parametrize("case", EVERY, ids=lambda case: case.text)
def test_bad_input_has_its_code_its_field_and_its_message(
    error: Callable[[Case], object], on_file: list[tuple[str, str]], case: Case
) -> None:
    raised = error(case)
    assert isinstance(raised, InputError), repr(raised)
    assert (raised.code, raised.field) == (case.code, case.field), raised
    assert "\n" not in str(raised)
    assert dict(on_file).get(case.text) == f"    {raised}", WRITE


def test_the_file_has_each_case_once(on_file: list[tuple[str, str]]) -> None:
    assert [text for text, _ in on_file] == [case.text for case in EVERY], WRITE


def test_every_code_of_bad_input_is_there() -> None:
    others = {"lacking", "failed", "interrupted", "internal"}
    assert {case.code for case in EVERY} == CODES.keys() - others
    assert len(EVERY) == len(set(EVERY))
