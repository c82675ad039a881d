"""The commands `ackclock` and `python -c` without imports: forks of a process that has made them.

Importing takes most of the time of a short command. Documents have over a hundred of them. A caller
hands over its folder, environment, arguments, standard input and outputs, and ends with the exit
code of the fork. README.md's commands run without this.
"""

import fcntl
import gc
import json
import os
import select
import shlex
import signal
import socket
import stat
import struct
import subprocess
import sys
import traceback
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from types import ModuleType
from typing import NoReturn

import ackclock
import ackclock_papers

#: Modules that functions of ours or of libraries import when they are called.
LATE = (
    "jinja2",
    "matplotlib.backends.backend_agg",
    "matplotlib.backends.backend_pdf",
    "matplotlib.backends.backend_svg",
    "pandas",
    "pyarrow.dataset",
    "rich.console",
    "rich.table",
    "scipy.optimize",
    "scipy.sparse.linalg",
    "scipy.special",
    "scipy.stats",
)

_LENGTH = struct.Struct("!I")

# -S -E -s: Python alone starts in a hundredth of a second.
_COMMAND = """\
#!/bin/sh
exec {python} -SEs {caller} {name} "$@"
"""
_CALLER = """\
import json, os, socket, struct, sys
server = socket.socket(socket.AF_UNIX)
server.connect({address!r})
call = json.dumps([os.getcwd(), dict(os.environ), sys.argv[1:]]).encode()
socket.send_fds(server, [struct.pack("!I", len(call))], [0, 1, 2])
server.sendall(call)
code = server.recv(1)
if not code:
    print("the fork of ackclock was killed", file=sys.stderr)
sys.exit(code[0] if code else 1)
"""


def served(folder: Path) -> Path:
    """Returns the folder of the commands, in a folder that all workers of a run of tests share.

    The first worker starts the server, which ends with the run.
    """
    commands, ready = folder / "commands", folder / "commands are served"
    with (folder / "commands.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not ready.exists():
            commands.mkdir(exist_ok=True)
            _begin(commands)
            ready.touch()
    return commands


def _begin(commands: Path) -> None:
    """Writes the commands, and starts the server that they call."""
    run = os.getppid() if "PYTEST_XDIST_WORKER" in os.environ else os.getpid()
    # An address is at most 107 bytes; sockets of this kind have no file.
    address = f"\0ackclock-tests-{run}"
    caller = commands / "caller.py"
    caller.write_text(_CALLER.format(address=address), encoding="utf-8")
    python, script = shlex.quote(sys.executable), shlex.quote(str(caller))
    for name in _PROGRAMS:
        command = commands / name
        text = _COMMAND.format(python=python, caller=script, name=name)
        command.write_text(text, encoding="utf-8")
        command.chmod(command.stat().st_mode | stat.S_IXUSR)
    server = [sys.executable, __file__, address[1:], str(run)]
    subprocess.run(server, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)


def _serve(address: str, run: int) -> None:
    """Serves calls until a run of tests has ended."""
    for package in (ackclock, ackclock_papers):
        for module in walk_packages(package.__path__, f"{package.__name__}."):
            if not module.name.endswith("__main__"):
                import_module(module.name)
    for name in LATE:
        import_module(name)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(address)
        listening.listen()
        if os.fork() > 0:
            return  # whoever started this may call now
        gc.freeze()  # else a fork that collects garbage copies all of it
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # forks that have ended vanish
        while Path(f"/proc/{run}").exists():
            if not select.select([listening], [], [], 1)[0]:
                continue
            caller, _ = listening.accept()
            if os.fork() == 0:
                listening.close()
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                _answer(caller)
            caller.close()


def _answer(caller: socket.socket) -> NoReturn:
    """Runs one call, and ends the process."""
    head, files, _, _ = socket.recv_fds(caller, _LENGTH.size, 3)
    call = b""
    while len(call) < _LENGTH.unpack(head)[0]:
        call += caller.recv(65536)
    folder, environment, (name, *arguments) = json.loads(call)
    for standard, file in enumerate(files):
        os.dup2(file, standard)
        os.close(file)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = [name, *arguments]
    code = _exit_code(_PROGRAMS[name])
    sys.stdout.flush()
    sys.stderr.flush()
    caller.send(bytes([code]))
    os._exit(code)


def _exit_code(program: Callable[[], None]) -> int:
    try:
        program()
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def _ackclock() -> None:
    from ackclock.cli import main

    main()


def _python() -> None:
    """Runs a program that was given as text, in a main module of its own."""
    option, text = sys.argv[1:]
    assert option == "-c"
    sys.argv, sys.path[0] = ["-c"], ""
    module = sys.modules["__main__"] = ModuleType("__main__")
    exec(compile(text, "<string>", "exec"), vars(module))


_PROGRAMS = {"ackclock": _ackclock, "python": _python}


if __name__ == "__main__":
    _serve("\0" + sys.argv[1], int(sys.argv[2]))
