"""`ackclock send` and `ackclock receive` over this machine's loopback, with two processes.

Their speed depends on what else the machine does, so no test demands a rate. The demands hold
however late everything is.
"""

import contextlib
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ackclock import Result
from ackclock.elements.registry import registry

from ..in_process import Outcome, ackclock
from ..patience import PATIENCE_S

KEY = ("--key-file", "key")
CONTROLS = [entry["name"] for entry in registry()["rate_controls"]]

pytestmark = [
    pytest.mark.real_time,
    pytest.mark.skipif(sys.platform != "linux", reason="sessions on sockets need Linux"),
]


class Side:
    """A running command."""

    def __init__(self, place: Path, *arguments: str, **streams: object) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "ackclock", *arguments], cwd=place, stderr=subprocess.PIPE,
            **({"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE} | streams),
        )  # fmt: skip

    def finish(self) -> tuple[int, str, str]:
        out, err = self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode, (out or b"").decode(), err.decode()

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()


class Sending(Side):
    """A waiting sender."""

    def __init__(
        self, place: Path, *arguments: str, host: str = "127.0.0.1", **streams: object
    ) -> None:
        super().__init__(
            place, "send", *arguments, "--listen", f"{host}:0", "-o", "sent", **streams
        )
        assert self.process.stderr is not None
        line = self.process.stderr.readline().decode()
        match = re.fullmatch(r"waiting on (\S+)\n", line)
        assert match, line
        self.address = match[1]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "key").write_text("a key that both sides have\n")
    (tmp_path / "other").write_text("a key that nobody else has\n")
    for name in ("key", "other"):
        (tmp_path / name).chmod(0o600)
    return tmp_path


@pytest.fixture
def run(place: Path) -> Iterator[contextlib.ExitStack]:
    """Ends everything that still runs."""
    with contextlib.ExitStack() as stack:
        yield stack
    assert not [path for path in place.iterdir() if path.name.startswith(".ackclock")]


def sending(stack: contextlib.ExitStack, place: Path, *arguments: str, **more: object) -> Sending:
    side = Sending(place, *arguments, **more)  # type: ignore[arg-type]
    stack.callback(side.end)
    return side


def receiving(stack: contextlib.ExitStack, place: Path, *arguments: str, **more: object) -> Side:
    side = Side(place, "receive", *arguments, "-o", "received", **more)
    stack.callback(side.end)
    return side


def receive(place: Path, *arguments: str) -> Outcome:
    """Receives until the session ends, in this process."""
    return ackclock("receive", *arguments, "-o", "received", place=place)


def has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True


@pytest.mark.parametrize("control", CONTROLS)
def test_made_up_data_arrives(place: Path, run: contextlib.ExitStack, control: str) -> None:
    sender = sending(
        run, place, *KEY, "--bytes", "200 kB", "--json", "--pcap", "--max-rate", "5 Mbit/s"
    )
    outcome = receive(place, sender.address, *KEY, "--control", control, "--json", "--pcap")
    code, out, err = sender.finish()
    assert (outcome.exit_code, code) == (0, 0), (outcome.stderr, err)
    there, here = json.loads(outcome.stdout), json.loads(out)
    assert here["session"]["ending"] == there["session"]["ending"] == "finished"
    assert here["session"]["control"] == there["session"]["control"] == control
    sent, received = Result.load(place / "sent"), Result.load(place / "received")
    flow, arrived = (result.tables["flows"].to_pylist()[0] for result in (sent, received))
    assert flow["sent_packets"] == 200
    assert arrived["delivered_bytes"] <= 200_000
    assert flow["delivered_bytes"] <= arrived["delivered_bytes"]  # the last feedback may be lost
    assert arrived["lost_packets"] + arrived["delivered_bytes"] / 1000 <= 200
    assert arrived["throughput_bit_per_s"] > arrived["goodput_bit_per_s"]
    assert 0 < flow["rtt_min_s"] <= flow["rtt_mean_s"] <= flow["rtt_max_s"]
    bursts = sent.tables["bursts"].to_pylist()
    assert sum(row["packets"] * row["bursts"] for row in bursts) == 200
    samples = sent.tables["samples"].to_pydict()
    assert samples["sent_packets"] == sorted(samples["sent_packets"])
    assert not sent.partial
    assert not received.partial
    data = [
        packet for packet in datagrams(place / "sent" / "pcap" / "session.pcap") if packet[3] == 4
    ]
    assert len(data) == 200
    assert all(packet[:3] == b"AC\x01" for packet in data)


def test_both_sides_can_be_drawn_and_reported(place: Path, run: contextlib.ExitStack) -> None:
    sender = sending(run, place, *KEY, "--bytes", "10 kB")
    assert receive(place, sender.address, *KEY).exit_code == sender.finish()[0] == 0
    for folder, names in (("sent", ("throughput", "rtt", "bursts")), ("received", ("throughput",))):
        drawn = ackclock("plot", folder, place=place)
        assert drawn.exit_code == 0, drawn.stderr
        figures = {f"figure: {folder}/figures/{name}.svg" for name in names}
        assert figures <= set(drawn.stdout.splitlines())
    reported = ackclock("report", "sent", "received", "-o", "both.html", place=place)
    assert reported.exit_code == 0, reported.stderr
    text = (place / "both.html").read_text()
    assert {'id="s0"', 'id="s1"'} <= set(re.findall(r'id="s\d"', text))
    # So short a session has no two samples: no curve, but round trips and bursts.
    assert text.count('<figure class="figure') >= 2


def datagrams(capture: Path) -> Iterator[bytes]:
    """Yields the UDP payloads of a capture of IPv4 packets."""
    octets = capture.read_bytes()
    position = 24
    while position < len(octets):
        length = struct.unpack_from("<I", octets, position + 8)[0]
        packet = octets[position + 16 : position + 16 + length]
        assert (packet[0], packet[9]) == (0x45, 17)
        yield packet[28:]
        position += 16 + length


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]"])
def test_a_file_goes_through_pipes(place: Path, run: contextlib.ExitStack, host: str) -> None:
    if host == "[::1]" and not has_ipv6():
        pytest.skip("no IPv6 here")
    text = b"".join(b"%07d\n" % number for number in range(20_000))
    (place / "in").write_bytes(text)
    with (place / "in").open("rb") as source, (place / "out").open("wb") as sink:
        sender = sending(run, place, "-", *KEY, "--max-rate", "20 Mbit/s", host=host, stdin=source)
        receiver = receiving(run, place, sender.address, "-", *KEY, stdout=sink)
        ends = receiver.finish(), sender.finish()
    assert [end[0] for end in ends] == [0, 0], ends
    arrived = (place / "out").read_bytes()
    flow = Result.load(place / "received").tables["flows"].to_pylist()[0]
    assert len(arrived) == flow["delivered_bytes"]
    # Whole datagrams may be lost if the machine is so busy that its buffers overflow; no other
    # bytes are.
    assert set(arrived.split(b"\n")) <= set(text.split(b"\n"))
    if len(arrived) == len(text):
        assert arrived == text


def test_another_key_is_none(place: Path, run: contextlib.ExitStack) -> None:
    sender = sending(run, place, *KEY, "--bytes", "20 kB", "--json")
    (place / "data").write_bytes(b"of yesterday")
    outcome = receive(place, sender.address, "data", "--key-file", "other", "--wait", "1 s")
    assert outcome.exit_code == 3
    assert sender.address in outcome.stderr.splitlines()[-1]
    assert (place / "data").read_bytes() == b"of yesterday", (
        "nothing has arrived, and nothing is lost"
    )
    assert receive(place, sender.address, *KEY, "--wait", "60 s").exit_code == 0
    code, out, err = sender.finish()
    assert code == 0, err
    assert json.loads(out)["session"]["ignored"]["unauthenticated"] > 0


@pytest.mark.parametrize("killed", ["sender", "receiver"])
def test_who_is_left_alone_stops_and_says_why(
    place: Path, run: contextlib.ExitStack, killed: str
) -> None:
    sender = sending(run, place, *KEY)
    receiver = receiving(run, place, sender.address, "-", *KEY)
    assert receiver.process.stdout is not None
    assert receiver.process.stdout.read(5000)  # the transfer has begun
    gone, left = (sender, receiver) if killed == "sender" else (receiver, sender)
    gone.process.kill()
    code, _, err = left.finish()
    assert code == 4, err
    session = Result.load(place / ("received" if killed == "sender" else "sent")).run["session"]
    assert session["ending"] == "silence"
    assert 10 <= session["silence_s"] < 20


@pytest.mark.parametrize(
    ("interrupted", "number"),
    [
        ("sender", signal.SIGINT),
        ("receiver", signal.SIGINT),
        ("sender", signal.SIGTERM),
        ("receiver", signal.SIGTERM),
    ],
)
def test_a_signal_ends_both_in_good_order(
    place: Path, run: contextlib.ExitStack, interrupted: str, number: signal.Signals
) -> None:
    sender = sending(run, place, *KEY)
    receiver = receiving(run, place, sender.address, "-", *KEY)
    assert receiver.process.stdout is not None
    assert receiver.process.stdout.read(5000)
    (sender if interrupted == "sender" else receiver).process.send_signal(number)
    ends = receiver.finish(), sender.finish()
    assert [end[0] for end in ends] == [0, 0], ends
    here, there = (
        Result.load(place / name).run["session"]["ending"] for name in ("sent", "received")
    )
    assert {here, there} == {"stopped", "peer_stopped"}
    assert (here == "stopped") == (interrupted == "sender")


def test_who_wants_no_more_ends_the_session(place: Path, run: contextlib.ExitStack) -> None:
    sender = sending(run, place, *KEY)
    reader, writer = os.pipe()
    receiver = receiving(run, place, sender.address, "-", *KEY, stdout=writer)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        assert pipe.read(1000)
    assert receiver.finish()[0] == 0
    assert sender.finish()[0] == 0


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["SIGINT", "SIGTERM"]
)
def test_a_sender_that_is_interrupted_before_its_end_says_so(
    place: Path, run: contextlib.ExitStack, number: signal.Signals, code: int
) -> None:
    sender = sending(run, place, *KEY, "--bytes", "1 GB", "--max-rate", "1 Mbit/s")
    receiver = receiving(run, place, sender.address, "-", *KEY)
    assert receiver.process.stdout is not None
    assert receiver.process.stdout.read(2000)
    sender.process.send_signal(number)
    ends = receiver.finish(), sender.finish()
    assert [end[0] for end in ends] == [0, code], ends
    assert Result.load(place / "sent").partial


@pytest.mark.parametrize(
    ("arguments", "code", "field"),
    [
        (("send",), "missing", "--key-file"),
        (("send", "--insecure", "--listen", "8.8.8.8:1"), "contradiction", "--listen"),
        (("receive", "8.8.8.8:1", "--insecure"), "contradiction", "SENDER"),
        (("receive", "127.0.0.1", "--insecure"), "syntax", "SENDER"),
        (("receive", "::1:5", "--insecure"), "syntax", "SENDER"),
        (("send", "--insecure", "--control", "reno"), "unknown-name", "--control.kind"),
        (
            ("send", "--insecure", "--control", "{ kind = 'rap', decrease = 2 }"),
            "out-of-range",
            "--control.decrease",
        ),
        (("send", "--insecure", "--payload", "1300 bytes"), "out-of-range", "--payload"),
        (("send", "--insecure", "--max-rate", "5"), "no-unit", "--max-rate"),
        (("send", "--insecure", "--tick", "soon"), "wrong-type", "--tick"),
        (("send", "--insecure", "--bytes", "1 MB", "-"), "contradiction", "--bytes"),
        (("send", "--insecure", "--key-file", "key"), "contradiction", "--insecure"),
        (("send", "--key-file", "short"), "file", "--key-file"),
        (("receive", "127.0.0.1:1", "-", "--insecure"), "contradiction", "--json"),
    ],
)
def test_bad_input_is_one_line(
    place: Path, arguments: tuple[str, ...], code: str, field: str
) -> None:
    (place / "short").write_text("short\n")
    (place / "short").chmod(0o600)
    before = sorted(path.name for path in place.rglob("*"))
    refused = ackclock(*arguments, "--json", place=place)
    error = json.loads(refused.stdout)["error"]
    assert (refused.exit_code, error["code"], error["field"]) == (2, code, field), refused.stderr
    assert refused.stderr == f"ackclock: {field}: {error['message']}\n"
    assert sorted(path.name for path in place.rglob("*") if path.name != "out") == before


def test_the_receiver_may_ask_for_what_is_offered_alone(
    place: Path, run: contextlib.ExitStack
) -> None:
    sender = sending(run, place, *KEY, "--control", "rap")
    outcome = receive(place, sender.address, *KEY, "--control", "tfrcp")
    assert outcome.exit_code == 2
    assert outcome.stderr.splitlines()[-1].startswith(
        f"ackclock: --control: {sender.address} does not offer it"
    )


@pytest.mark.skipif(
    os.name != "posix", reason="other systems have other rules of who can read a file"
)
def test_a_key_that_others_can_read_is_refused_unless_meant(
    place: Path, run: contextlib.ExitStack
) -> None:
    (place / "key").chmod(0o640)
    refused = ackclock("send", "--key-file", "key", place=place)
    assert (refused.exit_code, "chmod 600 key" in refused.stderr) == (2, True), refused.stderr
    sender = sending(run, place, "--key-file", "key", "--insecure-key-file", "--bytes", "10 kB")
    (place / "key").chmod(0o600)
    assert receive(place, sender.address, *KEY).exit_code == 0
    assert sender.finish()[0] == 0
