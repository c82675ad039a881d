"""The commands on real sockets: `send` and `receive`."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ackclock.exits import BAD_INPUT, INTERRUPTED, LACKING, UNTRUSTWORTHY, complain
from ackclock.folder import refuse_foreign_folder, refuse_unwritable_folder
from ackclock.options import checked_time, json_option
from ackclock.terminal import print_json, print_table

if TYPE_CHECKING:
    from ackclock.result import Result
    from ackclock.sessions import Security

__all__ = ["receive", "send"]

_Command = Callable[..., Any]

# The exit code of each ending that is none in good order.
_CODES = {
    "no_answer": LACKING, "silence": UNTRUSTWORTHY, "dishonest": UNTRUSTWORTHY, "refused_version": LACKING,
    "refused_busy": LACKING, "refused_control": BAD_INPUT, "refused_dishonest": UNTRUSTWORTHY,
    "refused_silence": UNTRUSTWORTHY,
}  # fmt: skip


def _common(command: _Command) -> _Command:
    """What both sides take."""
    for option in (
        json_option,
        click.option("--pcap", is_flag=True, help="Keep a capture of all datagrams, for Wireshark."),
        click.option(
            "--duration", metavar="TIME", callback=checked_time("10 s"), help="End the session after so long."
        ),
        click.option(
            "--payload", default="1000 bytes", show_default=True, metavar="SIZE",
            help="Data in a packet; the same on both sides.",
        ),
        click.option(
            "--max-rate", metavar="RATE",
            help="Never faster, all headers counted; by default 1 Mbit/s between hosts, unlimited on one.",
        ),
        click.option(
            "--insecure-anywhere", is_flag=True, help="Go without a key, even over networks that anybody can use."
        ),
        click.option(
            "--insecure", is_flag=True, help="Go without a key on this host and among private addresses."
        ),
        click.option(
            "--key-file", type=click.Path(path_type=Path, dir_okay=False),
            help="The key that both sides have, 16 bytes or more.",
        ),
    ):  # fmt: skip
        command = option(command)
    return command


def _output_option(default: str) -> _Command:
    return click.option(
        "-o", "--output", type=click.Path(path_type=Path), default=Path(default), show_default=True,
        help="The result's folder.",
    )  # fmt: skip


@click.command()
@click.argument("data", required=False)
@click.option(
    "--listen", default="127.0.0.1:7400", show_default=True, metavar="ADDRESS",
    help="Where to wait for a receiver: host:port, IPv6 in brackets.",
)  # fmt: skip
@click.option(
    "--control", "controls", multiple=True, metavar="CONTROL",
    help="A rate control to offer, by name or as a table with parameters; may be repeated. By default all; see: "
    "ackclock show rate_controls.",
)  # fmt: skip
@click.option("--bytes", "amount", metavar="SIZE", help="How much data to make up; by default without end.")
@click.option("--tick", default="1 ms", show_default=True, metavar="TIME", help="Packets leave at whole ticks.")
@click.option(
    "--burst", default="2 packets", show_default=True, metavar="COUNT",
    help="Packets that may leave together even if a tick owes fewer.",
)  # fmt: skip
@click.option(
    "--jitter", default="0 s", show_default=True, metavar="TIME", help="Most that a packet is late by chance."
)
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), help="Of chance; by default a random one.")
@_output_option("out/sent")
@_common
def send(
    data: str | None, listen: str, controls: tuple[str, ...], amount: str | None, tick: str, burst: str, jitter: str,
    seed: int | None, output: Path, key_file: Path | None, insecure: bool, insecure_anywhere: bool,
    max_rate: str | None, payload: str, duration: str | None, pcap: bool, as_json: bool,
) -> int:  # fmt: skip
    """Wait for a receiver and send it data over UDP, as fast as a rate control allows.

    DATA is a file, or - for standard input; without it, data is made up. Nothing is sent again: what is lost on the
    way does not arrive. Ctrl-C ends the session in good order.

    \b
    Example:
      ackclock send --insecure --bytes 10MB
      tar c folder | ackclock send - --listen 192.0.2.1:7400 --key-file key --max-rate 20Mbit/s
    """
    from ackclock import quantity, sessions
    from ackclock.progress import progress

    if data is not None and amount is not None:
        raise click.UsageError(f"--bytes {amount}: is of no use, as DATA is given")
    _check_place(output)
    security = _security(key_file, insecure, insecure_anywhere)
    said: list[str] = []

    with progress("send") as tell:

        def told(state: dict[str, Any]) -> None:
            if not said:
                said.append(state["local"])
                click.echo(f"waiting on {state['local']}", err=True)
            tell(None, _moment(state["now"]))

        try:
            result = sessions.send(
                output, security, sessions.Data(data, amount), listen=listen, controls=controls, max_rate=max_rate,
                payload=payload, tick=tick, burst=burst, jitter=jitter,
                duration_s=None if duration is None else quantity.seconds(duration), seed=seed, pcap=pcap,
                progress=told,
            )  # fmt: skip
        except ValueError as error:
            raise click.UsageError(str(error)) from None
    return _conclude(result, output, as_json=as_json, plain=True)


@click.command()
@click.argument("sender")
@click.argument("data", required=False)
@click.option(
    "--control", default="tfrc", show_default=True, metavar="CONTROL",
    help="The rate control to ask for, by name or as a table with parameters; see: ackclock show rate_controls.",
)  # fmt: skip
@click.option(
    "--wait", default="10 s", show_default=True, metavar="TIME", callback=checked_time("10 s"),
    help="How long to try.",
)  # fmt: skip
@_output_option("out/received")
@_common
def receive(
    sender: str, data: str | None, control: str, wait: str, output: Path, key_file: Path | None, insecure: bool,
    insecure_anywhere: bool, max_rate: str | None, payload: str, duration: str | None, pcap: bool, as_json: bool,
) -> int:  # fmt: skip
    """Ask a sender for its data and take it, over UDP.

    SENDER is where it waits, host:port. DATA is a file, or - for standard output; without it, what arrives is counted
    and thrown away. What is lost on the way stays lost, and data goes out in the order of its arrival. Ctrl-C ends the
    session in good order.

    \b
    Example:
      ackclock receive 127.0.0.1:7400 --insecure
      ackclock receive 192.0.2.1:7400 - --key-file key --max-rate 20Mbit/s | tar t
    """
    from ackclock import quantity, sessions
    from ackclock.progress import progress

    if data == sessions.STANDARD and as_json:
        raise click.UsageError("--json: is of no use, as the data goes to standard output")
    _check_place(output)
    security = _security(key_file, insecure, insecure_anywhere)
    with progress(f"receive from {sender}") as tell:
        try:
            result = sessions.receive(
                output, security, sessions.Data(data), sender, control=control, max_rate=max_rate, payload=payload,
                wait=wait, duration_s=None if duration is None else quantity.seconds(duration), pcap=pcap,
                progress=lambda state: tell(None, _moment(state["now"])),
            )  # fmt: skip
        except ValueError as error:
            raise click.UsageError(str(error)) from None
    return _conclude(result, output, as_json=as_json, plain=data != sessions.STANDARD)


def _check_place(folder: Path) -> None:
    refuse_foreign_folder(folder)
    refuse_unwritable_folder(folder)


def _security(key_file: Path | None, insecure: bool, anywhere: bool) -> "Security":
    from ackclock.sessions import Security

    if key_file is not None and (insecure or anywhere):
        option = "--insecure" if insecure else "--insecure-anywhere"
        raise click.UsageError(f"{option}: is of no use, as there is a --key-file")
    return Security(None if key_file is None else key_file.read_bytes(), insecure, anywhere)


def _moment(now: dict[str, Any] | None) -> str:
    """How a session stands, in a few words."""
    if now is None:
        return "nobody yet"
    words = [f"{now['rate_bit_per_s'] * 1e-6:.4g} Mbit/s"] if now["rate_bit_per_s"] is not None else []
    if now["rtt_s"] is not None:
        words.append(f"RTT {now['rtt_s'] * 1e3:.3g} ms")
    if now["loss"]:
        words.append(f"{now['loss']:.2%} lost")
    return ", ".join([*words, f"{now['payload_bytes'] * 1e-6:.4g} MB"])


def _conclude(result: "Result", folder: Path, *, as_json: bool, plain: bool) -> int:
    """Prints what came of a session; the exit code, and why it is not 0."""
    from ackclock import transported

    session = result.run["session"]
    flows = result.tables["flows"].to_pylist()
    for warning in result.run["warnings"]:
        click.echo(f"warning: {warning}", err=True)
    bursts = result.tables["bursts"].to_pylist() if "bursts" in result.tables else []
    if as_json:
        print_json(
            {"folder": str(folder), "partial": result.partial, "session": session, "flows": flows}
            | ({"bursts": bursts} if bursts else {})
        )
    elif plain:
        if flows:
            way = "to" if result.run["way"] == "send" else "from"
            title = f"{way} {session['peer']}, {session['control']}: {transported.ended(session)}"
            print_table(title, *transported.flow_cells(result))
        click.echo(f"result: {folder}")
    else:
        click.echo(f"result: {folder}", err=True)
    if session["ending"] in _CODES:
        return complain(transported.broken_off(session), _CODES[session["ending"]])
    return INTERRUPTED if result.partial and session["ending"] == "stopped" else 0
