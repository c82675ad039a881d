"""The command `send`."""

from pathlib import Path
from typing import Any

import click

from ackclock.cli.options import output_option
from ackclock.cli.output import say
from ackclock.cli.place import claim, force_option
from ackclock.cli.session import (
    conclude,
    moment,
    never_began,
    read_security,
    session_options,
)
from ackclock.errors import InputError


@click.command()
@click.argument("data", required=False)
@click.option(
    "--listen", default="127.0.0.1:7400", show_default=True, metavar="ADDRESS",
    help="Address to wait at: host:port, IPv6 in brackets.",
)  # fmt: skip
@click.option(
    "--control", "controls", multiple=True, metavar="CONTROL",
    help="Rate control to offer: a name, or a table with parameters; may be repeated. See "
    "ackclock show "
    "rate_controls.  [default: all]",
)  # fmt: skip
@click.option(
    "--bytes", "amount", metavar="SIZE", help="Amount of data to make up.  [default: no end]"
)
@click.option(
    "--tick",
    default="1 ms",
    show_default=True,
    metavar="TIME",
    help="Time between two chances to send.",
)
@click.option(
    "--burst", default="2 packets", show_default=True, metavar="COUNT",
    help="Number of packets that may always leave together.",
)  # fmt: skip
@click.option(
    "--jitter",
    default="0 s",
    show_default=True,
    metavar="TIME",
    help="Largest random delay of a packet.",
)
@click.option(
    "--seed", type=click.IntRange(0, 2**63 - 1), help="Seed of all randomness.  [default: random]"
)
@output_option("Folder of the result.", "out/sent")
@force_option
@session_options
def send(
    data: str | None, listen: str, controls: tuple[str, ...], amount: str | None, tick: str,
    burst: str, jitter: str, seed: int | None, output: Path | None, force: bool,
    key_file: Path | None, insecure: bool, insecure_anywhere: bool, insecure_key_file: bool,
    max_rate: str | None, payload: str, duration: str | None, pcap: bool, as_json: bool,
) -> int:  # fmt: skip
    """Send data over UDP at the pace of a rate control.

    DATA is a file, or - for standard input; without it, data is made up. The data is not encrypted:
    a key only keeps strangers out. Lost data is not sent again. Ctrl-C ends the session properly.

    \b
    Example:
      ackclock send --insecure --bytes 10MB
      tar c folder | ackclock send - --listen 192.0.2.1:7400 --key-file key --max-rate 20Mbit/s
    """
    from ackclock import session, units
    from ackclock.cli.progress import progress

    if data is not None and amount is not None:
        raise InputError("contradiction", "--bytes", "remove it; DATA says what to send")
    folder = claim(output, Path("out/sent"), force=force, goes_on=never_began)
    security = read_security(key_file, insecure, insecure_anywhere, insecure_key_file)
    addresses: list[str] = []

    with progress("send") as tell:

        def report(state: dict[str, Any]) -> None:
            if not addresses:
                addresses.append(state["local"])
                say(f"waiting on {state['local']}", err=True)
            tell(None, moment(state["now"]))

        result = session.send(
            folder, security, session.Data(data, amount), listen=listen, controls=controls,
            max_rate=max_rate, payload=payload, tick=tick, burst=burst, jitter=jitter,
            duration_s=None if duration is None else units.seconds(duration), seed=seed, pcap=pcap,
            progress=report,
        )  # fmt: skip
    return conclude(result, folder, as_json=as_json, plain=True)
