"""Transports in shared libraries: the same in this process and apart, and faults that end a run."""

import functools
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ackclock import stacks
from ackclock.errors import InputError
from ackclock.result.result import Result
from ackclock.run.simulation import simulate
from ackclock.scenario import load
from ackclock.stacks.check import check
from ackclock.stacks.template import template

from ..in_process import ackclock

PLANTED = Path(__file__).with_name("planted.c")
HEADERS = Path(stacks.__file__).parent

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")

SCENARIO = """
schema = 1
duration = "3 s"
seed = 7
replicates = 6

[[hops]]
name = "there"
link = { kind = "constant", rate = "10 Mbit/s" }
queue = { kind = "droptail", limit = "30 packets" }
delay = "20 ms"
impairments = [
    { kind = "iid_loss", probability = "0.5 %" },
    { kind = "duplicate", probability = "1 %" },
]

[[hops]]
name = "back"
link = { kind = "constant", rate = "10 Mbit/s" }
queue = { kind = "droptail", limit = "100 packets" }
delay = "20 ms"

[[flows]]
name = "mine"
route = ["there"]
return = ["back"]
transport = { kind = "quic", stack = "mine", control = "reno" }

[[flows]]
name = "tcp"
route = ["there"]
return = ["back"]
transport = { kind = "tcp", preset = "linux", control = { kind = "cubic" } }
"""


@functools.cache
def _built(folder: Path, *defines: str) -> Path:
    """Compiles the planted stack."""
    library = folder / f"{'-'.join(defines) or 'sound'}.so".replace("/", "_").replace('"', "")
    command = ["cc", "-O1", "-shared", "-fPIC", f"-I{HEADERS}", *(f"-D{d}" for d in defines)]
    subprocess.run([*command, "-o", str(library), str(PLANTED)], check=True)
    return library


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for what is compiled."""
    return tmp_path_factory.mktemp("stacks")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The file of the scenario."""
    path = tmp_path / "scenario.toml"
    path.write_text(SCENARIO, "utf-8")
    return path


def _run(library: Path, file: Path, options: dict[str, Any] | None = None, *, apart: bool,
         threads: int = 1) -> Result:  # fmt: skip
    stacks.bring("mine", library, apart=apart)
    changes = {"flows.mine.transport.options": options or {}}
    return simulate(load(file).replace(changes), threads=threads)


def _same(first: Result, second: Result) -> bool:
    names = ("flows", "hops", "samples", "events")
    return all(first.tables[name].equals(second.tables[name]) for name in names)


def test_a_run_is_the_same_in_this_process_apart_and_on_any_number_of_threads(
    folder: Path, file: Path
) -> None:
    library = _built(folder)
    first = _run(library, file, apart=False)
    assert _same(first, _run(library, file, apart=False, threads=4))
    assert _same(first, _run(library, file, apart=True))
    assert _same(first, _run(library, file, apart=True, threads=4))
    rows = first.tables["flows"].to_pylist()
    delivered = [row["delivered_bytes"] for row in rows if row["flow"] == "mine"]
    assert len(set(delivered)) == 6  # another replicate is another run


def test_a_library_with_state_gets_a_copy_for_each_thread(folder: Path, file: Path) -> None:
    """Within a thread the state goes on from run to run; threads do not see that of others."""
    loaded = folder / "loaded"
    library = _built(folder, "FLAGS=1", f'LOADED="{loaded}"')
    short = load(file).replace({"replicates": 1})
    stack = stacks.bring("mine", library)
    assert stack.shares_state
    loaded.unlink()
    simulate(short, threads=1)
    assert loaded.exists()  # a copy was loaded


def test_what_a_stack_says_of_itself_is_in_the_tables(folder: Path, file: Path) -> None:
    result = _run(_built(folder), file, apart=False)
    mine = [row for row in result.tables["flows"].to_pylist() if row["flow"] == "mine"]
    for row in mine:
        assert row["control"] == "mine/reno"
        assert 0.04 < row["rtt_mean_s"] < 0.1
        assert row["lost_packets"] > 0
        assert row["retransmitted_packets"] is None
    events = [row for row in result.tables["events"].to_pylist() if row["flow"] == "mine"]
    assert events
    for event in events:
        assert event["kind"] == "reduction"
        assert event["cwnd_after_bytes"] <= event["cwnd_before_bytes"]
    [transport] = [
        flow["transport"]
        for flow in result.points[0]["scenario"]["flows"]
        if flow["name"] == "mine"
    ]
    digest = stacks.digests()["mine"]
    assert transport["version"] == f"planted 0.1, digest {digest[:16]}"


@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("fault", "the handshake failed: code 296"),
        ("still", "its timer stands still"),
        ("endless", "it sends without end"),
        ("long", "it wrote 65536 bytes where 1500 have room"),
        ("train", "it sends 10 datagrams at once, and trains = 1"),
        ("ecn", "it sets the ECN field to 7"),
    ],
)
def test_a_fault_ends_the_run_with_its_reason(
    folder: Path, file: Path, fault: str, reason: str, *, apart: bool
) -> None:
    with pytest.raises(InputError, match=reason) as raised:
        _run(_built(folder), file, {fault: True}, apart=apart)
    assert "mine" in str(raised.value)


def test_a_crash_apart_is_a_fault_and_the_next_run_works(folder: Path, file: Path) -> None:
    library = _built(folder)
    with pytest.raises(InputError, match="its process ended by signal 6"):
        _run(library, file, {"abort": True}, apart=True)
    assert _same(_run(library, file, apart=True), _run(library, file, apart=False))


def test_garbage_is_no_fault_of_the_engine(folder: Path, file: Path) -> None:
    result = _run(_built(folder), file, {"garbage": True}, apart=True)
    assert all(row["sent_packets"] > 0 for row in result.tables["flows"].to_pylist())


def test_options_that_a_stack_lacks_are_refused_before_the_run(folder: Path, file: Path) -> None:
    with pytest.raises(InputError, match="it has no option") as raised:
        _run(_built(folder), file, {"speed": "great"}, apart=False)
    assert raised.value.field == "flows.mine.transport.stack"


def test_a_control_of_tcp_runs_inside_none_of_them(folder: Path, file: Path) -> None:
    stacks.bring("mine", _built(folder))
    changed = load(file).replace({"flows.mine.transport.control": {"kind": "cubic"}})
    with pytest.raises(InputError, match="cannot take in; choose") as raised:
        simulate(changed)
    assert raised.value.field == "flows.mine.transport.control"


@pytest.mark.parametrize(
    ("defines", "reason"),
    [(("ABI=2",), "its table has ABI 2"), (("LACKS_WRITE",), "a function is missing")],
)
@pytest.mark.parametrize("apart", [False, True])
def test_a_library_that_keeps_not_to_the_border_is_refused(
    folder: Path, defines: tuple[str, ...], reason: str, *, apart: bool
) -> None:
    with pytest.raises(InputError, match=reason):
        stacks.bring("other", _built(folder, *defines), apart=apart)


def test_a_file_that_is_no_library_is_refused(tmp_path: Path) -> None:
    text = tmp_path / "mine.so"
    text.write_text("no library", "utf-8")
    for apart in (False, True):
        with pytest.raises(InputError, match="is no stack"):
            stacks.bring("other", text, apart=apart)
    with pytest.raises(InputError, match="cannot be read"):
        stacks.bring("other", tmp_path / "absent.so")
    for name in ("quinn", "/tmp/x", "a.so", "", "Mine"):
        with pytest.raises(InputError, match="--stack"):
            stacks.bring(name, text)


def test_a_scenario_alone_loads_nothing(folder: Path, file: Path, tmp_path: Path) -> None:
    loaded = tmp_path / "loaded"
    library = _built(folder, f'LOADED="{loaded}"')
    for name in (str(library), "absent", f"x={library}"):
        outcome = ackclock(
            "simulate", file, "--set", f'flows.mine.transport.stack="{name}"', place=tmp_path
        )
        assert outcome.exit_code == 2, outcome.output
        assert "is not here" in outcome.output
        assert "--stack" in outcome.output
    assert not loaded.exists()
    outcome = ackclock(
        "simulate", file, "--stack", f"brought={library}",
        "--set", 'flows.mine.transport.stack="brought"', place=tmp_path,
    )  # fmt: skip
    assert outcome.exit_code == 0, outcome.output
    assert loaded.exists()


def test_a_sweep_goes_on_with_the_same_library_only(
    folder: Path, file: Path, tmp_path: Path
) -> None:
    library, other = _built(folder), _built(folder, "FLAGS=0")
    run = ("sweep", "run", file, "--vary", "hops.there.delay=10,20 ms", "--replicates", "1")
    outcome = ackclock(*run, "--stack", f"mine={library}", "-o", "out", place=tmp_path)
    assert outcome.exit_code == 0, outcome.output
    shutil.rmtree(tmp_path / "out" / "batches", ignore_errors=True)
    other.write_bytes(other.read_bytes() + b"\0")
    refused = ackclock("sweep", "resume", "out", "--stack", f"mine={other}", place=tmp_path)
    assert refused.exit_code == 2
    assert "bring the same library" in refused.output


def test_the_template_passes_its_checks(tmp_path: Path) -> None:
    for name, text in template("mine").items():
        (tmp_path / name).write_text(text, "utf-8")
    command = ["cc", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
    library = tmp_path / "mine.so"
    subprocess.run([*command, "-o", library, tmp_path / "mine.c"], check=True)
    checked = check(library)
    assert checked.complaints == ()
    assert {path for _, path, _ in checked.runs} >= {"clean", "marks"}
    assert checked.stack.implementation == "mine 0.1"


@pytest.fixture
def in_python(tmp_path: Path) -> Path:
    """The template in Python."""
    [(name, text)] = template("mine", "python").items()
    (tmp_path / name).write_text(text, "utf-8")
    return tmp_path / name


@pytest.mark.slow
def test_the_template_in_python_passes_its_checks(in_python: Path) -> None:
    checked = check(in_python)
    assert checked.complaints == ()
    assert checked.stack.implementation == "mine 0.1"


def test_a_stack_in_python_shares_a_line_and_its_exception_is_a_fault(
    in_python: Path, file: Path
) -> None:
    result = _run(in_python, file, apart=False)
    assert _same(result, _run(in_python, file, apart=False, threads=3))
    mine = [row for row in result.tables["flows"].to_pylist() if row["flow"] == "mine"]
    assert all(row["delivered_bytes"] > 10_000 and row["lost_packets"] > 0 for row in mine)
    text = in_python.read_text("utf-8")
    wrong = text.replace("        self.rto = max(", "        self.rto = undefined(")
    in_python.write_text(wrong, "utf-8")
    with pytest.raises(InputError, match="NameError: name 'undefined' is not defined"):
        _run(in_python, file, apart=False)
    with pytest.raises(InputError, match="ValueError: it has no options"):
        _run(in_python, file, {"a": 1}, apart=False)


def test_a_file_of_python_without_a_stack_is_refused(in_python: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="bring it with --stack"):
        stacks.bring("mine", in_python, apart=True)
    for text, reason in (("", "it has no class Stack"), ("x = ", "SyntaxError")):
        (tmp_path / "other.py").write_text(text, "utf-8")
        with pytest.raises(InputError, match=reason):
            stacks.bring("other", tmp_path / "other.py")


@pytest.mark.parametrize(
    ("fault", "complaint"),
    [
        ("abort", "signal 6"),
        ("silent", "nothing was delivered"),
        ("liar", "it measured a round trip of 1.0 ms"),
        ("still", "its timer stands still"),
        ("shared", "differ"),
    ],
)
def test_a_check_finds_what_is_wrong(folder: Path, fault: str, complaint: str) -> None:
    checked = check(_built(folder, f'FAULT="{fault}"'))
    assert any(complaint in words for words in checked.complaints), checked.complaints


def test_the_command_writes_and_checks(tmp_path: Path, folder: Path) -> None:
    assert ackclock("stacks", "new", "mine", place=tmp_path).exit_code == 0
    assert {path.name for path in tmp_path.iterdir()} == {"mine.c", "ackclock_stack.h"}
    again = ackclock("stacks", "new", "mine", place=tmp_path)
    assert again.exit_code == 2
    assert "mine.c: is there already" in again.output
    assert ackclock("stacks", "new", "other", place=tmp_path).exit_code == 0
    failed = ackclock("stacks", "check", _built(folder, 'FAULT="abort"'))
    assert failed.exit_code == 2
    assert "signal 6" in failed.output
    assert "Traceback" not in failed.output


def test_a_result_can_be_read_without_the_stack(folder: Path, file: Path, tmp_path: Path) -> None:
    library = _built(folder)
    run = ackclock(
        "simulate", file, "--stack", f"brought={library}",
        "--set", 'flows.mine.transport.stack="brought"', "-o", "out", place=tmp_path,
    )  # fmt: skip
    assert run.exit_code == 0, run.output
    table = subprocess.run(
        [sys.executable, "-m", "ackclock", "table", "out", "goodput"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert table.returncode == 0, table.stderr
    assert "mine" in table.stdout
