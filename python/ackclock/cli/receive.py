"""The command `receive`."""

from pathlib import Path

import click

from ackclock.cli.options import checked_time, output_option
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
@click.argument("sender")
@click.argument("data", required=False)
@click.option(
    "--control", default="tfrc", show_default=True, metavar="CONTROL",
    help="Rate control to ask for: a name, or a table with parameters. See ackclock show "
    "rate_controls.",
)  # fmt: skip
@click.option(
    "--wait", default="10 s", show_default=True, metavar="TIME", callback=checked_time("10 s"),
    help="Time to wait for the sender.",
)  # fmt: skip
@output_option("Folder of the result.", "out/received")
@force_option
@session_options
def receive(
    sender: str, data: str | None, control: str, wait: str, output: Path | None, force: bool,
    key_file: Path | None, insecure: bool,
    insecure_anywhere: bool,
    insecure_key_file: bool, max_rate: str | None, payload: str, duration: str | None, pcap: bool,
    as_json: bool,
) -> int:  # fmt: skip
    """Receive data from `ackclock send`.

    SENDER is its address, host:port. DATA is a file, or - for standard output; without it, data is
    counted and discarded. The data is not encrypted: a key only keeps strangers out. Lost data
    stays lost, and data is written in order of arrival. Ctrl-C ends the session properly.

    \b
    Example:
      ackclock receive 127.0.0.1:7400 --insecure
      ackclock receive 192.0.2.1:7400 - --key-file key --max-rate 20Mbit/s | tar t
    """
    from ackclock import session, units
    from ackclock.cli.progress import progress

    if data == session.STANDARD and as_json:
        raise InputError("contradiction", "--json", "remove it; the data goes to standard output")
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
