"""Common parts of `send` and `receive`: options, the key, the end of a session."""

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ackclock.cli.errors import BAD_INPUT, INTERRUPTED, LACKING, UNRELIABLE, complain
from ackclock.cli.options import checked_time, json_option
from ackclock.cli.output import print_json, print_table, say
from ackclock.errors import InputError
from ackclock.limits import KEY_BYTES
from ackclock.result.folder import RESULT
from ackclock.result.manifest import read_sealed

if TYPE_CHECKING:
    from ackclock.result.result import Result
    from ackclock.session import Security

_Command = Callable[..., Any]

# Exit codes of irregular endings.
_CODES = {
    "no_answer": LACKING, "silence": UNRELIABLE, "dishonest": UNRELIABLE,
    "refused_version": LACKING, "refused_busy": LACKING, "refused_control": BAD_INPUT,
    "refused_dishonest": UNRELIABLE, "refused_silence": UNRELIABLE,
}  # fmt: skip


def session_options(command: _Command) -> _Command:
    """Adds the options of both sides."""
    for option in (
        json_option,
        click.option("--pcap", is_flag=True, help="Keep a packet capture."),
        click.option(
            "--duration", metavar="TIME", callback=checked_time("10 s"),
            help="Length of the session."
        ),
        click.option(
            "--payload", default="1000 bytes", show_default=True, metavar="SIZE",
            help="Payload of a packet; the same on both sides.",
        ),
        click.option(
            "--max-rate", metavar="RATE",
            help="Highest rate, headers included.  [default: 1 Mbit/s between hosts, unlimited "
            "on one]",
        ),
        click.option(
            "--insecure-anywhere", is_flag=True, help="Use no key, even over public networks."
        ),
        click.option(
            "--insecure", is_flag=True,
            help="Use no key, on this host and between private addresses only."
        ),
        click.option(
            "--insecure-key-file", is_flag=True, help="Accept a key file that other users can read."
        ),
        click.option(
            "--key-file", type=click.Path(path_type=Path, dir_okay=False),
            help="File of the shared key, 16 bytes or more.",
        ),
    ):  # fmt: skip
        command = option(command)
    return command


def never_began(folder: Path) -> bool:
    """Returns true if a folder holds a session that nobody answered: replacing it loses nothing."""
    session = read_sealed(folder / RESULT.mark).get("session", {})
    return bool(session.get("ending") == "no_answer")


def read_security(
    key_file: Path | None, insecure: bool, anywhere: bool, shared_key: bool
) -> "Security":
    """Reads the key, or the permission to work without one.

    `shared_key` is true if other users may read the key file.

    Raises:
        InputError: Both are given, or others can read the key.
    """
    from ackclock.session import Security

    if key_file is not None and (insecure or anywhere):
        option = "--insecure" if insecure else "--insecure-anywhere"
        raise InputError("contradiction", option, "remove it; --key-file is set")
    if key_file is not None and not shared_key:
        _refuse_shared(key_file)
    return Security(None if key_file is None else _key(key_file), insecure, anywhere)


def _key(file: Path) -> bytes:
    """Returns the key in a file, or more bytes than a key may have."""
    with file.open("rb") as opened:
        return opened.read(KEY_BYTES + 1)


def _refuse_shared(key_file: Path) -> None:
    """Refuses a key that other users of this machine can read.

    The rules of Windows differ and are not checked.
    """
    mode = stat.S_IMODE(key_file.stat().st_mode)
    if os.name == "posix" and mode & 0o077:
        raise InputError(
            "file", "--key-file", f"{key_file} can be read or changed by others (mode {mode:03o}); "
            f"run chmod 600 {key_file}, or add --insecure-key-file",
        )  # fmt: skip


def moment(now: dict[str, Any] | None) -> str:
    """Describes the state of a session, in a few words."""
    if now is None:
        return "waiting for the other side"
    words = (
        [f"{now['rate_bit_per_s'] * 1e-6:.4g} Mbit/s"] if now["rate_bit_per_s"] is not None else []
    )
    if now["rtt_s"] is not None:
        words.append(f"RTT {now['rtt_s'] * 1e3:.3g} ms")
    if now["loss"]:
        words.append(f"{now['loss']:.2%} lost")
    return ", ".join([*words, f"{now['payload_bytes'] * 1e-6:.4g} MB"])


def conclude(result: "Result", folder: Path, *, as_json: bool, plain: bool) -> int:
    """Prints the result of a session; returns the exit code, with the reason if it is not 0."""
    from ackclock.session import tables

    session = result.run["session"]
    flows = result.tables["flows"].to_pylist()
    for warning in result.run["warnings"]:
        say(f"warning: {warning}", err=True)
    bursts = result.tables["bursts"].to_pylist() if "bursts" in result.tables else []
    if as_json:
        print_json(
            {"folder": str(folder), "partial": result.partial, "session": session, "flows": flows}
            | ({"bursts": bursts} if bursts else {})
        )
    elif plain:
        if flows:
            way = "to" if result.run["method"] == "send" else "from"
            title = f"{way} {session['peer']}, {session['control']}: {tables.ended(session)}"
            print_table(tables.flow_table(result, title))
        say(f"result: {folder}")
    else:
        say(f"result: {folder}", err=True)
    if session["ending"] in _CODES:
        return complain(tables.broken_off(session), _CODES[session["ending"]])
    return INTERRUPTED if result.partial and session["ending"] == "stopped" else 0
