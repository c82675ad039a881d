"""The command `send`."""

from pathlib import Path
from typing import Any

import click

from ackclock.cli.output import say
from ackclock.cli.place import claim, force_option
from ackclock.cli.session import (
    conclude,
    moment,
    never_began,
    read_security,
    session_options,
    session_output,
)
from ackclock.errors import InputError


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
@click.option(
    "--bytes", "amount", metavar="SIZE", help="How much data to make up; by default without end."
)
@click.option(
    "--tick",
    default="1 ms",
    show_default=True,
    metavar="TIME",
    help="Packets leave at whole ticks.",
)
@click.option(
    "--burst", default="2 packets", show_default=True, metavar="COUNT",
    help="Packets that may leave together even if a tick owes fewer.",
)  # fmt: skip
@click.option(
    "--jitter",
    default="0 s",
    show_default=True,
    metavar="TIME",
    help="Most that a packet is late by chance.",
)
@click.option(
    "--seed", type=click.IntRange(0, 2**63 - 1), help="Of chance; by default a random one."
)
@session_output("out/sent")
@force_option
@session_options
def send(
    data: str | None, listen: str, controls: tuple[str, ...], amount: str | None, tick: str,
    burst: str, jitter: str, seed: int | None, output: Path | None, force: bool,
    key_file: Path | None, insecure: bool, insecure_anywhere: bool, insecure_key_file: bool,
    max_rate: str | None, payload: str, duration: str | None, pcap: bool, as_json: bool,
) -> int:  # fmt: skip
    """Wait for a receiver and send it data over UDP, unencrypted, as fast as a rate control allows.

    Everybody on the path can read the data: a key keeps strangers from taking part, and encrypts
    nothing.

    DATA is a file, or - for standard input; without it, data is made up. Nothing is sent again:
    what is lost on the way does not arrive. Ctrl-C ends the session in good order.

    \b
    Example:
      ackclock send --insecure --bytes 10MB
      tar c folder | ackclock send - --listen 192.0.2.1:7400 --key-file key --max-rate 20Mbit/s
    """
    from ackclock import session, units
    from ackclock.cli.progress import progress

    if data is not None and amount is not None:
        raise InputError("contradiction", "--bytes", "is of no use, as DATA is given")
    folder = claim(output, Path("out/sent"), force=force, goes_on=never_began)
    security = read_security(key_file, insecure, insecure_anywhere, insecure_key_file)
    said: list[str] = []

    with progress("send") as tell:

        def told(state: dict[str, Any]) -> None:
            if not said:
                said.append(state["local"])
                say(f"waiting on {state['local']}", err=True)
            tell(None, moment(state["now"]))

        result = session.send(
            folder, security, session.Data(data, amount), listen=listen, controls=controls,
            max_rate=max_rate, payload=payload, tick=tick, burst=burst, jitter=jitter,
            duration_s=None if duration is None else units.seconds(duration), seed=seed, pcap=pcap,
            progress=told,
        )  # fmt: skip
    return conclude(result, folder, as_json=as_json, plain=True)
