"""The command `receive`."""

from pathlib import Path

import click

from ackclock.cli.options import checked_time
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
@session_output("out/received")
@force_option
@session_options
def receive(
    sender: str, data: str | None, control: str, wait: str, output: Path | None, force: bool,
    key_file: Path | None, insecure: bool,
    insecure_anywhere: bool,
    insecure_key_file: bool, max_rate: str | None, payload: str, duration: str | None, pcap: bool,
    as_json: bool,
) -> int:  # fmt: skip
    """Ask a sender for its data and take it, over UDP, unencrypted.

    Everybody on the path can read the data: a key keeps strangers from taking part, and encrypts
    nothing.

    SENDER is where it waits, host:port. DATA is a file, or - for standard output; without it, what
    arrives is counted and thrown away. What is lost on the way stays lost, and data goes out in the
    order of its arrival. Ctrl-C ends the session in good order.

    \b
    Example:
      ackclock receive 127.0.0.1:7400 --insecure
      ackclock receive 192.0.2.1:7400 - --key-file key --max-rate 20Mbit/s | tar t
    """
    from ackclock import session, units
    from ackclock.cli.progress import progress

    if data == session.STANDARD and as_json:
        raise InputError(
            "contradiction", "--json", "is of no use, as the data goes to standard output"
        )
    folder = claim(output, Path("out/received"), force=force, goes_on=never_began)
    security = read_security(key_file, insecure, insecure_anywhere, insecure_key_file)
    with progress(f"receive from {sender}") as tell:
        result = session.receive(
            folder, security, session.Data(data), sender, control=control, max_rate=max_rate,
            payload=payload, wait=wait,
            duration_s=None if duration is None else units.seconds(duration), pcap=pcap,
            progress=lambda state: tell(None, moment(state["now"])),
        )  # fmt: skip
    return conclude(result, folder, as_json=as_json, plain=data != session.STANDARD)
