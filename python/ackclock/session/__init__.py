"""Sessions of rate-controlled datagrams over real UDP sockets.

One side waits and sends; the other asks for data.
"""

import contextlib
import ipaddress
import json
import secrets
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ackclock import engine
from ackclock.elements.registry import controls
from ackclock.errors import InputError, LackingError
from ackclock.result.columns import table_of
from ackclock.result.folder import scratch
from ackclock.result.result import Result
from ackclock.result.run_json import SCHEMA

# Default port of a sender. Chosen here; we know of no other registration of it at IANA.
PORT = 7400

# Standard input or output, in place of a file.
STANDARD = "-"

Told = Callable[[dict[str, Any]], None]


@dataclass(frozen=True)
class Security:
    """Rules about who may take part in a session.

    Attributes:
        key: Secret that both sides share, as it stands in a file; None for no key.
        insecure: True to work without a key among addresses of this host and of private networks.
        anywhere: True to work without a key wherever the other side is.
    """

    key: bytes | None = None
    insecure: bool = False
    anywhere: bool = False

    def check(self, address: str, option: str) -> None:
        """Raises an error if there is neither a key nor permission to work without one.

        Raises:
            ValueError: With the remedy, in one line.
        """
        if self.key is not None or self.anywhere:
            return
        remedy = (
            "give both sides the same --key-file, made with (umask 077; head -c 32 /dev/urandom | "
            "base64 > key)"
        )
        if not self.insecure:
            raise InputError(
                "missing",
                "--key-file",
                f"is missing; {remedy}, or use --insecure between private addresses",
            )
        ip = ipaddress.ip_address(_host_and_port(address)[0].partition("%")[0])
        # A side that waits on all addresses serves those that are near.
        if not (ip.is_unspecified or _is_private(ip)):
            raise InputError(
                "contradiction",
                option,
                f"{address} is not a private address, so --insecure does not suffice; {remedy}",
            )


@dataclass(frozen=True)
class Data:
    """The data that is sent, or the place where received data goes.

    Attributes:
        place: A file, or `-` for standard input or output. None if the sender makes up data, or the
            receiver discards it.
        amount: Amount of data to make up, for example `10 MB`; None for no end.
    """

    place: str | None = None
    amount: str | None = None


def send(
    folder: str | Path,
    security: Security,
    data: Data,
    *,
    listen: str = f"127.0.0.1:{PORT}",
    controls: Sequence[str] = (),
    max_rate: str | None = None,
    payload: str = "1000 bytes",
    tick: str = "1 ms",
    burst: str = "2 packets",
    jitter: str = "0 s",
    catch_up: str = "10 ms",
    duration_s: float | None = None,
    seed: int | None = None,
    pcap: bool = False,
    progress: Told | None = None,
) -> Result:
    """Waits for a receiver, and sends it data at the rate that the control allows.

    Lost data is not retransmitted.

    Args:
        folder: For the result, written at the end.
        security: Who is served.
        data: The data to send.
        listen: Address to wait on: `host:port`, IPv6 hosts in brackets.
        controls: Rate controls on offer, each a name or a table; all if empty. The receiver
            chooses.
        max_rate: Highest rate, headers included; by default 1 Mbit/s to other hosts, unlimited on
            this one.
        payload: Payload of a packet.
        tick: Period of the timer. Packets leave at whole ticks, as many as are due. TFRC halves it
            until two ticks fit into a round trip.
        burst: Number of packets that may leave together even if fewer are due in a tick.
        jitter: Largest random delay of a packet.
        catch_up: How late a packet may leave, beyond a tick, without losing its turn.
        duration_s: Longest duration of the session.
        seed: Seed of the control's random numbers; random by default.
        pcap: True to keep a capture of all datagrams.
        progress: Takes the progress about ten times a second: `local`, the address, and `now`, the
            state.

    Returns:
        The result in that folder, with the tables `flows`, `samples` and `bursts`; `run["session"]`
        says how it ended.

    Raises:
        ScenarioError: Bad input; nothing has been sent.
        LackingError: This host does not have that address.
        ValueError: There is no key.
    """
    listen = _literal(listen, "--listen")
    security.check(listen, "--listen")
    seed = secrets.randbits(63) if seed is None else seed
    options: dict[str, Any] = {
        "--control": [_control(text) for text in controls],
        "--payload": payload,
        "--tick": tick,
        "--burst": burst,
        "--jitter": jitter,
        "--catch-up": catch_up,
        "anywhere": security.key is not None or security.anywhere,
        "DATA": data.place is not None,
    }
    options |= {} if max_rate is None else {"--max-rate": max_rate}
    options |= {} if data.amount is None else {"--bytes": data.amount}
    finite = (data.place is not None or data.amount is not None) and duration_s is None
    return _run(
        "send", Path(folder), str(seed), finite=finite, pcap=pcap, options=options,
        work=lambda capture: engine.send(
            options, listen, key=security.key, data=data.place, pcap=capture, duration_s=duration_s,
            seed=seed, progress=progress or _ignored,
        ),
    )  # fmt: skip


def receive(
    folder: str | Path,
    security: Security,
    data: Data,
    sender: str,
    *,
    control: str = "tfrc",
    max_rate: str | None = None,
    payload: str = "1000 bytes",
    wait: str = "10 s",
    duration_s: float | None = None,
    pcap: bool = False,
    progress: Told | None = None,
) -> Result:
    """Asks a waiting sender for data and receives it.

    Lost data is not recovered.

    Args:
        folder: For the result, written at the end.
        security: As at the sender.
        data: Where received data goes, in order of arrival.
        sender: Address where the sender waits: `host:port`.
        control: The rate control to ask for, a name or a table.
        max_rate: Highest rate, headers included; by default 1 Mbit/s from other hosts, unlimited on
            this one.
        payload: Payload of a packet, as at the sender; the receiver's half of the control may use
            it.
        wait: How long to try.
        duration_s: Longest duration of the session.
        pcap: True to keep a capture of all datagrams.
        progress: As for `send`.

    Returns:
        The result in that folder, with the tables `flows` and `samples`; `run["session"]` says how
        it ended.

    Raises:
        ScenarioError: Bad input; nothing has been sent.
        ValueError: There is no key, or the host name is unknown.
    """
    sender = _literal(sender, "SENDER")
    security.check(sender, "SENDER")
    options: dict[str, Any] = {
        "SENDER": sender, "--control": _control(control), "--payload": payload, "--wait": wait,
    }  # fmt: skip
    options |= {} if max_rate is None else {"--max-rate": max_rate}
    return _run(
        "receive", Path(folder), None, finite=False, pcap=pcap, options=options,
        work=lambda capture: engine.receive(
            options, key=security.key, data=data.place, pcap=capture, duration_s=duration_s,
            progress=progress or _ignored,
        ),
    )  # fmt: skip


def _run(
    method: str, folder: Path, seed: str | None, *, finite: bool, pcap: bool,
    options: dict[str, Any], work: Callable[[str | None], dict[str, Any]],
) -> Result:  # fmt: skip
    """Runs a session and saves its result.

    `finite` is true if an early end leaves something unsent.
    """
    if not engine.has_sockets():
        raise LackingError("lacking", "", "sessions on real sockets need Linux")

    with scratch(folder) if pcap else contextlib.nullcontext() as aside:
        captures = None if aside is None else Path(aside) / "pcap"
        if captures is not None:
            captures.mkdir()
        answer = work(None if captures is None else str(captures / "session.pcap"))
        session = json.loads(answer["outcome"])
        cut_short = session["ending"] in ("stopped", "peer_stopped") and finite
        run = {
            "schema": SCHEMA, "method": method, "name": folder.name, "seed": seed, "replicates": 1,
            "versions": {"ackclock": engine.version()}, "partial": cut_short,
            "warnings": _warnings(session), "controls": controls(), "scenario": None,
            "points": [{"assignments": {}, "scenario": None}], "options": options,
            "session": session,
        }  # fmt: skip
        result = Result(
            run, {name: table_of(columns) for name, columns in answer["tables"].items()}
        )
        files = {} if captures is None else {"pcap": captures}
        result.save(folder, files, replace=True)
    return result


def _warnings(session: dict[str, Any]) -> list[str]:
    """Returns the warnings about a session, one line each."""
    warnings = []
    if session["ending"] == "unconfirmed":
        warnings.append("the receiver did not confirm the end; the last packets may be lost")
    if session["unsent"]:
        warnings.append(
            f"this host refused to send {session['unsent']:,} datagrams: {session['why_unsent']}"
        )
    return warnings


def _ignored(_now: dict[str, Any]) -> None:
    """Discards progress."""


def _control(text: str) -> Any:
    """Returns a control as written: a name, or a table."""
    return (
        engine.parse_assignment(f"control={text}")[1]
        if text.lstrip().startswith("{")
        else {"kind": text}
    )


def _is_private(ip: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    """Returns true for the addresses that the engine calls private.

    They are loopback, link-local, RFC 1918 and unique local (RFC 4193), and no others of special
    use.
    """
    if isinstance(ip, ipaddress.IPv6Address) and ip.ipv4_mapped is not None:
        ip = ip.ipv4_mapped
    private = ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7")
    return (
        ip.is_loopback
        or ip.is_link_local
        or any(ip in ipaddress.ip_network(network) for network in private)
    )


def _host_and_port(address: str) -> tuple[str, str]:
    host, _, port = address.rpartition(":")
    return host.strip("[]"), port


def _literal(address: str, option: str) -> str:
    """Returns `host:port` with the host's address in place of its name.

    Raises:
        ValueError: The host is unknown, or the address is malformed; one line.
    """
    host, port = _host_and_port(address)
    if (
        not host
        or not port.isdecimal()
        or int(port) >= 1 << 16
        or (":" in host and "[" not in address)
    ):
        example = f"127.0.0.1:{PORT} or [::1]:{PORT}"
        raise InputError(
            "syntax", option, f'"{address}" is not an address with a port; for example {example}'
        )
    try:
        addresses = socket.getaddrinfo(host, int(port), type=socket.SOCK_DGRAM)
    except OSError as error:
        raise InputError(
            "unknown-name", option, f'unknown host "{host}" ({error.strerror})'
        ) from None
    family, *_, place = addresses[0]
    literal = str(place[0])
    return f"[{literal}]:{port}" if family == socket.AF_INET6 else f"{literal}:{port}"
