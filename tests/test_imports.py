"""Help and short commands import nothing slow that they do not need, and let others have it."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[1] / "examples" / "first.toml"

#: Runs a command that makes tables, after which other code of the process imports what it likes.
PROGRAM = f"""
import sys
from ackclock.cli import main
finders = list(sys.meta_path)
sys.argv = ["ackclock", "simulate", {str(EXAMPLE)!r}, "--set", "duration=6 s", "-o", "run"]
try:
    main()
except SystemExit as ended:
    assert not ended.code, ended.code
slow = {{"scipy", "matplotlib"}} & sys.modules.keys()
assert "pyarrow" in sys.modules and not slow, slow
assert sys.meta_path == finders
import pandas, pyarrow
print(pyarrow.table({{"a": [1]}}).to_pandas().shape)
"""


#: Runs a command that needs no result, and prints which of the slow packages it imported. Help
#: imports the file of every verb.
SHORT = """
import sys
from ackclock.cli import main
sys.argv = {arguments}
try:
    main()
except SystemExit as ended:
    assert not ended.code, ended.code
print(sorted({{"numpy", "pyarrow", "scipy", "matplotlib", "jinja2", "rich"}} & sys.modules.keys()))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["check", str(EXAMPLE), "--json"], ["show", "queues", "--json"]],
    ids=lambda arguments: arguments[0],
)
def test_what_needs_no_result_imports_nothing_slow(
    run_python: Callable[..., subprocess.CompletedProcess], arguments: list[str]
) -> None:
    ended = run_python("-c", SHORT.format(arguments=["ackclock", *arguments]))
    assert (ended.returncode, ended.stdout.splitlines()[-1]) == (0, "[]"), ended.stderr


#: Runs a command as a shell does, and interrupts it when it first asks for a module.
INTERRUPTED = """
import runpy, signal, sys
class Interrupting:
    def find_spec(self, name, _path=None, _target=None):
        if name == {name!r}:
            signal.raise_signal(signal.SIGINT)
signal.signal(signal.SIGINT, signal.default_int_handler)  # a parent may have ignored it
sys.meta_path.insert(0, Interrupting())
sys.argv = ["ackclock", "show", "figures"]
runpy.run_module("ackclock", run_name="__main__")
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["ackclock.cli", "click", "ackclock.engine", "ackclock.cli.show", "ackclock.plot"]
)
def test_ctrl_c_during_an_import_is_one_line(
    run_python: Callable[..., subprocess.CompletedProcess], name: str
) -> None:
    ended = run_python("-c", INTERRUPTED.format(name=name))
    assert (ended.returncode, ended.stdout) == (130, "")
    assert re.fullmatch(r"\s*ackclock: interrupted.*\n", ended.stderr)


#: Interrupts an import of a compiled module, which prints the trace and raises an error of its own,
#: as NumPy's `import_array` does.
WRAPPED = """
import runpy, signal, sys
class Interrupting:
    def find_spec(self, name, _path=None, _target=None):
        if name == "ackclock.plot":
            try:
                signal.raise_signal(signal.{number})
            except KeyboardInterrupt:
                sys.excepthook(*sys.exc_info())
            raise {error}("multiarray failed to import") from None
signal.signal(signal.SIGINT, signal.default_int_handler)  # a parent may have ignored it
sys.meta_path.insert(0, Interrupting())
sys.argv = ["ackclock", "show", "figures"]
runpy.run_module("ackclock", run_name="__main__")
"""


@pytest.mark.long
@pytest.mark.parametrize("error", ["ImportError", "SystemError", "RuntimeError"])
@pytest.mark.parametrize(("number", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_an_interrupt_that_a_compiled_module_wraps_is_one_line(
    run_python: Callable[..., subprocess.CompletedProcess], error: str, number: str, code: int
) -> None:
    ended = run_python("-c", WRAPPED.format(error=error, number=number))
    assert (ended.returncode, ended.stdout) == (code, "")
    assert re.fullmatch(r"\s*ackclock: interrupted.*\n", ended.stderr)


#: Runs a command that makes tables, and prints how many threads it leaves beside its own.
LEFT = f"""
import os, sys
import pyarrow.parquet
def threads():
    return [open(f"/proc/self/task/{{task}}/comm").read() for task in os.listdir("/proc/self/task")]
before = len([name for name in threads() if not name.startswith("jemalloc")])
from ackclock.cli import main
sys.argv = ["ackclock", "simulate", {str(EXAMPLE)!r}, "--set", "duration=6 s", "-o", "run"]
try:
    main()
except SystemExit as ended:
    assert not ended.code, ended.code
print(len([name for name in threads() if not name.startswith("jemalloc")]) - before)
"""


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="only Linux lists threads")
def test_a_simulation_leaves_no_thread_that_needs_the_interpreter(
    run_python: Callable[..., subprocess.CompletedProcess],
) -> None:
    """One of Arrow's that releases a NumPy array as the interpreter ends aborts the process."""
    ended = run_python("-c", LEFT)
    assert (ended.returncode, ended.stdout.splitlines()[-1]) == (0, "0"), ended.stderr


def test_the_package_alone_imports_none_of_its_modules(
    run_python: Callable[..., subprocess.CompletedProcess],
) -> None:
    """Nothing catches Ctrl-C during this import."""
    program = "import sys, ackclock; print([one for one in sys.modules if 'ackclock.' in one])"
    assert run_python("-c", program).stdout == "[]\n"


@pytest.mark.slow
def test_a_command_imports_nothing_slow_and_others_may(
    run_python: Callable[..., subprocess.CompletedProcess],
) -> None:
    pytest.importorskip("pandas")
    ended = run_python("-c", PROGRAM)
    assert (ended.returncode, ended.stdout.splitlines()[-1]) == (0, "(1, 1)"), ended.stderr
