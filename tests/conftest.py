import gc
import json
import math
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import settings

from ackclock import Result, Scenario, predict, simulate
from ackclock.run import doctor
from ackclock.run.emulation import replay

from .patience import PATIENCE_S

# Looking for garbage costs a tenth of the time unless it is rare, and spares the collected tests.
gc.set_threshold(100_000, 20, 10)

# Speed is measured in benchmarks, so a busy machine fails no test.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

# Off a terminal, tables are as wide as their cells unless this says otherwise; test workers set it.
os.environ.pop("COLUMNS", None)

# A shell's background jobs ignore interrupts, and so do their children. Programs under test must
# handle them.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure() -> None:
    if find_spec("ackclock_papers") is None:
        raise pytest.UsageError("the package of papers is not installed: make .venv/.papers")


def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="session")
def _caches(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Keeps the caches of the user out of tests, and tests out of them."""
    os.environ["XDG_CACHE_HOME"] = str(tmp_path_factory.mktemp("caches"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--write-messages", action="store_true", help="write down what is said of bad input"
    )


LEAKY_PIPE = """\
schema = 1
name = "leaky pipe"
duration = "5 s"
warmup = "1 s"
seed = 1
replicates = 3

[[hops]]
name = "wired"
link = { kind = "constant", rate = "45 Mbit/s" }
queue = { kind = "droptail", limit = "378 packets" }
delay = "35 ms"

[[hops]]
name = "wireless"
link = { kind = "constant", rate = "11 Mbit/s" }
queue = { kind = "droptail", limit = "93 packets" }
impairments = [{ kind = "iid_loss", probability = "0.5 %" }]

[[hops]]
name = "return"
link = { kind = "constant", rate = "45 Mbit/s" }
queue = { kind = "droptail", limit = "1000 packets" }
delay = "35 ms"

[[flows]]
name = "main"
route = ["wired", "wireless"]
return = ["return"]
transport = { kind = "tcp", control = { kind = "reno" }, preset = "rfc", mss = "1000 bytes" }

[sweep]
"flows.main.transport.control.kind" = ["reno", "cubic"]
"hops.wireless.impairments.0.probability" = ["0 %", "0.5 %", "5 %"]
"""


#: Words by which the Makefile finds the files with tests of a mark, so as to import no others.
FOUND_BY = {"real_time": ("real_time", "emulation"), "alone": ("mark.alone",)}


@cache
def _written(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks tests that emulate for real, and tests that only root may run.

    Files beside this one come first: the longest tests are there, and at the end one process would
    be busy with them alone.

    Raises:
        UsageError: The Makefile would not find one of them.
    """
    items.sort(key=lambda item: item.path.parent != Path(__file__).parent)
    for item in items:
        fixtures = set(getattr(item, "fixturenames", ()))
        if "emulation" in fixtures:
            item.add_marker(pytest.mark.real_time)
        if fixtures & {"as_nobody", "loading"}:
            item.add_marker(pytest.mark.needs_root)
        for mark, words in FOUND_BY.items():
            if item.get_closest_marker(mark) and not any(
                word in _written(item.path) for word in words
            ):
                raise pytest.UsageError(
                    f"{item.path}: the Makefile finds tests marked {mark} by the words {words}"
                )


@pytest.fixture(scope="session", autouse=True)
def no_progress() -> Iterator[None]:
    """Writes no lines of progress: on a busy machine they would be in what tests compare."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ackclock.cli.progress._QUIET_S", math.inf)
        yield


@pytest.fixture
def leaky_pipe_text() -> str:
    return LEAKY_PIPE


@pytest.fixture(scope="session")
def leaky_pipe() -> Scenario:
    return Scenario.from_toml(LEAKY_PIPE)


@pytest.fixture(scope="session")
def result(leaky_pipe: Scenario) -> Result:
    return simulate(leaky_pipe)


@pytest.fixture(scope="session")
def predicted(result: Result) -> Result:
    return predict(result, "usual")


@pytest.fixture(scope="session")
def resolved(leaky_pipe: Scenario) -> Callable[..., dict]:
    """Returns the first point with other values, as a plain tree that a test may change."""

    def with_values(**changes: object) -> dict:
        point = leaky_pipe.expand()[1].scenario.replace(changes)
        return json.loads(point.resolve().to_json())

    return with_values


@pytest.fixture
def scenario_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The leaky pipe as a file in an otherwise empty folder, which is the current one."""
    monkeypatch.chdir(tmp_path)
    path = Path("leaky.toml")
    path.write_text(LEAKY_PIPE, encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def no_emulation() -> str | None:
    """The reason why this machine cannot emulate, or None if it can."""
    examination = doctor.examine()
    return None if examination["emulation"] else doctor.complaint(examination)


@pytest.fixture(scope="session")
def emulation(no_emulation: str | None) -> None:
    """Skips a test that needs an emulation where none is possible, with the reason."""
    if no_emulation is not None:
        pytest.skip(no_emulation)


@pytest.fixture(autouse=True)
def replayed(request: pytest.FixtureRequest) -> Iterator[None]:
    """Replays every complete emulation in a test's folder, and checks that it decides the same."""
    yield
    place = request.node.funcargs.get("tmp_path")
    if place is None or not {"emulation", "no_emulation"} & set(request.fixturenames):
        return
    records = {record.parents[1] for record in place.rglob("record/*.ackrec")}
    for folder in (folder for folder in records if (folder / "fidelity.parquet").exists()):
        assert {run["difference"] for run in replay(folder)} == {None}, folder


@pytest.fixture(scope="session")
def as_nobody() -> Callable[..., subprocess.CompletedProcess]:
    """Runs ackclock as user 65534, without privileges."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        pytest.skip("only root can become somebody else")
    become = "import os, sys; os.setgroups([]); os.setgid(65534); os.setuid(65534); "
    probe = "import ackclock; sys.exit(not os.access(sys.executable, os.X_OK))"
    if (
        subprocess.run(
            [sys.executable, "-c", become + probe], capture_output=True, check=False
        ).returncode
        != 0
    ):
        pytest.skip("Python or ackclock is installed where user 65534 may not run it")

    def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess:
        command = [
            sys.executable,
            "-c",
            become + "from ackclock.cli import main; main()",
            *arguments,
        ]
        return subprocess.run(
            command, cwd=cwd, capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )

    return run


@pytest.fixture
def run_python(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess]:
    """Runs Python in a process of its own, in the test's folder."""

    def run(*arguments: str, **options: object) -> subprocess.CompletedProcess:
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            **options,
        )

    return run
