"""`ackclock emulate` and `ackclock replay` on this machine, with the kernel's own TCP.

They are skipped where the machine cannot. The reliability of a run depends on what else the machine
does, so no test demands it. Tests demand that the verdict, the marks and the exit code agree.
"""

import json
import os
import re
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from ackclock import Result, plot
from ackclock.result.run_json import read, run_json

from ..in_process import ackclock
from ..patience import PATIENCE_S
from . import short
from .passages import count

pytestmark = pytest.mark.usefixtures("emulation")

SCENARIO = f"""\
{short.SCENARIO}
[[flows]]
name = "voice"
route = ["there"]
transport = {{ kind = "udp" }}
traffic = {{ kind = "cbr", rate = "1 Mbit/s" }}
"""

# Bytes of an empty record.
_MAGIC = 8


class Emulated:
    """A finished command with its folder, which has nothing else."""

    def __init__(self, place: Path) -> None:
        (place / "short.toml").write_text(SCENARIO)
        self.place, self.folder = place, place / "run"
        self.outcome = command(place, "emulate", "short.toml", "-o", "run", "--json")
        self.answer = json.loads(self.outcome.stdout or "null")
        self.result = Result.load(self.folder)


def command(place: Path, *arguments: str) -> subprocess.CompletedProcess:
    """Runs a command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", TALKATIVE, *arguments],
        cwd=place,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )


@pytest.fixture(scope="module")
def emulated(emulation: None, tmp_path_factory: pytest.TempPathFactory) -> Emulated:
    assert emulation is None
    return Emulated(tmp_path_factory.mktemp("emulated"))


def test_the_answer_says_whether_it_can_be_reliable(emulated: Emulated) -> None:
    fidelity = emulated.answer["fidelity"]
    assert [(row["point"], row["replicate"]) for row in fidelity] == [(0, 0), (0, 1)]
    doubtful = [row for row in fidelity if not row["reliable"]]
    assert emulated.outcome.returncode == (4 if doubtful else 0), emulated.outcome.stderr
    assert len(re.findall(r"replicate \d+: unreliable: ", emulated.outcome.stderr)) == len(doubtful)
    assert all((row["verdict"] == "reliable") == bool(row["reliable"]) for row in fidelity)
    assert all(row["largest_packet_bytes"] == row["mtu_bytes"] == 1500 for row in fidelity)
    assert all(
        row["base_rtt_s"] >= 0.01 for row in fidelity
    )  # the voice's lowest: nothing comes back
    for row in fidelity:
        waited = row["host_wait_max_s"]
        assert waited is None or waited > 0
        most = min(max(row["base_rtt_s"], 0.004), 0.020)
        assert ("A host waited" in row["verdict"]) == (waited is not None and waited >= most)
        assert ("hosts paused" in row["verdict"]) == (row["host_stalled_share"] > 0.01)
        assert ("softirq threads" in row["verdict"]) == ((row["softirq_wait_share"] or 0) > 0.01)
        assert ("tcp_info skipped" in row["verdict"]) == (row["missed_readings_share"] > 0.01)
    assert emulated.answer["partial"] is False
    assert emulated.answer["flows"][0]["goodput"]["replicates"] == 2 - len(doubtful)


def test_the_folder_holds_it_all_and_nothing_lies_about(emulated: Emulated) -> None:
    assert sorted(path.name for path in emulated.place.iterdir()) == ["run", "short.toml"]
    tables = (
        "counters", "events", "fidelity", "flows", "hops", "lateness", "samples", "settings",
        "tcp_info",
    )  # fmt: skip
    assert sorted(path.name for path in emulated.folder.iterdir()) == sorted(
        ["pcap", "record", "run.json", *(f"{name}.parquet" for name in tables)]
    )
    places = ("from-receivers", "from-senders", "to-receivers", "to-senders")
    runs = [f"point-0-replicate-{replicate}" for replicate in (0, 1)]
    assert sorted(path.name for path in (emulated.folder / "pcap").iterdir()) == [
        f"{run}-{place}.pcap" for run in runs for place in places
    ]
    assert sorted(path.name for path in (emulated.folder / "record").iterdir()) == [
        f"{run}.ackrec" for run in runs
    ]
    assert all(count(path) > 0 for path in (emulated.folder / "pcap").iterdir())
    assert all(path.stat().st_size > 0 for path in (emulated.folder / "record").iterdir())
    run = emulated.result.run
    assert run["method"] == "emulate"
    assert set(run["machine"]) == {"kernel", "device", "priority", "processors"}
    assert os.uname().release in run["machine"]["kernel"]


def test_flows_and_hops_agree_with_the_path(emulated: Emulated) -> None:
    tables = emulated.result.tables
    flows = tables["flows"].to_pylist()
    assert [(row["flow"], row["control"]) for row in flows] == [
        ("download", "reno"),
        ("voice", "udp"),
    ] * 2
    for row in flows:
        assert row["goodput_bit_per_s"] > 0
        # For the whole run: data from before the end of the warm-up may have been read only after
        # it.
        assert row["goodput_bit_per_s"] * row["measured_s"] / 8 <= row["delivered_bytes"] * (
            1 + 1e-9
        )
        assert row["sent_packets"] > 0
        assert row["rtt_min_s"] is None or row["rtt_min_s"] >= 0.02
    last = {(row["replicate"], row["hop"]): row for row in tables["hops"].to_pylist()}
    for replicate in (0, 1):
        there = last[replicate, "there"]
        assert there["busy_s"] <= 2
        # The rest is in service or in flight.
        assert (
            there["arrivals"]
            >= there["departures"] + there["drops_queue"] + there["backlog_packets"]
        )
        delivered = sum(row["delivered_bytes"] for row in flows if row["replicate"] == replicate)
        assert 0 < delivered < there["served_bytes"] <= 10e6 / 8 * there["busy_s"] + 1500
    assert tables["events"].num_rows == 0  # the kernel does not report them


def test_tcp_is_read_every_ten_milliseconds_and_udp_has_no_samples(emulated: Emulated) -> None:
    rows = emulated.result.tables["tcp_info"].to_pylist()
    assert {row["flow"] for row in rows} == {"download"}
    for replicate in (0, 1):
        times = [row["time_s"] for row in rows if row["replicate"] == replicate]
        assert times == sorted(times)
        assert 1 + 2 / 0.010 >= len(times) > 0
        measured = [
            row
            for row in rows
            if row["replicate"] == replicate and row["smoothed_rtt_s"] is not None
        ]
        assert measured
        assert measured[-1]["rtt_min_s"] >= 0.02
    samples = emulated.result.tables["samples"].to_pylist()
    assert {row["flow"] for row in samples} == {"download"}
    assert max(row["cwnd_bytes"] or 0 for row in samples) > 1448


def test_lateness_counts_every_packet_once(emulated: Emulated) -> None:
    fidelity = emulated.result.tables["fidelity"].to_pylist()
    for row in fidelity:
        buckets = [
            bucket
            for bucket in emulated.result.tables["lateness"].to_pylist()
            if bucket["replicate"] == row["replicate"] and bucket["packets"]
        ]
        run = f"point-0-replicate-{row['replicate']}"
        left = (
            count(emulated.folder / "pcap" / f"{run}-to-{host}.pcap")
            for host in ("receivers", "senders")
        )
        assert sum(bucket["packets"] for bucket in buckets) == sum(left)
        assert buckets[-1]["at_most_s"] >= row["lateness_p99_s"] >= row["lateness_p50_s"] >= 0


def test_the_record_replays(emulated: Emulated) -> None:
    outcome = ackclock("replay", "run", "--json", place=emulated.place)
    assert outcome.exit_code == 0, outcome.stderr
    runs = json.loads(outcome.stdout)
    assert [(replay["point"], replay["replicate"], replay["complete"]) for replay in runs] == [
        (0, 0, True),
        (0, 1, True),
    ]
    for replay in runs:
        run = f"point-0-replicate-{replay['replicate']}"
        packets = {
            path.stem.removeprefix(f"{run}-"): count(path)
            for path in emulated.folder.glob(f"pcap/{run}-*")
        }
        assert replay["arrivals"] == packets["from-senders"] + packets["from-receivers"]
        assert replay["decisions"] >= packets["to-receivers"] + packets["to-senders"]
        assert replay["difference"] is None
    assert ackclock("replay", "run", place=emulated.place).exit_code == 0


def test_a_replay_through_other_hops_differs(emulated: Emulated, tmp_path: Path) -> None:
    other = tmp_path / "run"
    (other / "record").mkdir(parents=True)
    for record in (emulated.folder / "record").iterdir():
        (other / "record" / record.name).write_bytes(record.read_bytes())
    run, files = read(emulated.folder)
    run["points"][0]["scenario"]["hops"][0]["delay"] = "10.000001 ms"
    (other / "run.json").write_text(run_json(run, files))
    outcome = ackclock("replay", "run", place=tmp_path)
    assert outcome.exit_code == 4
    [line] = outcome.stderr.splitlines()
    assert line.startswith("ackclock: 2 of 2 runs differ; point 0, replicate 0: decision ")
    assert outcome.stdout


def test_a_record_that_was_changed_is_found(emulated: Emulated, tmp_path: Path) -> None:
    other = tmp_path / "run"
    (other / "record").mkdir(parents=True)
    (other / "run.json").write_bytes((emulated.folder / "run.json").read_bytes())
    for record in (emulated.folder / "record").iterdir():
        changed = bytearray(record.read_bytes())
        changed[100] ^= 1  # within the first chunk, after its length: a record may end early
        (other / "record" / record.name).write_bytes(changed)
    outcome = ackclock("replay", "run", place=tmp_path)
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    [line] = outcome.stderr.splitlines()
    assert "point-0-replicate-0.ackrec" in line


def test_it_can_be_drawn_and_reported(emulated: Emulated, tmp_path: Path) -> None:
    whatever = replace(emulated.result, averages_unreliable=True)  # the machine may be busy
    for name, draw in plot.figures(whatever, replicate=1).items():
        assert draw().axes[0].get_lines(), name
    asked = () if emulated.outcome.returncode == 0 else ("--unreliable",)
    drawn = ackclock("plot", "run", "-o", str(tmp_path / "figures"), *asked, place=emulated.place)
    assert drawn.exit_code == 0, drawn.stderr
    page = tmp_path / "report.html"
    assert ackclock("report", "run", "-o", str(page), *asked, place=emulated.place).exit_code == 0
    text = page.read_text()
    assert ">Fidelity</caption>" in text
    assert emulated.result.run["machine"]["kernel"] in text


def test_both_devices_carry_the_same(emulated: Emulated, tmp_path: Path) -> None:
    """Uses the device that the first run did not use, if this machine has it."""
    device = {"tun": "packet_socket", "packet_socket": "tun"}[
        emulated.result.run["machine"]["device"]
    ]
    (tmp_path / "short.toml").write_text(SCENARIO)
    outcome = ackclock(
        "emulate",
        "short.toml",
        "-o",
        "run",
        "--device",
        device,
        "--replicates",
        "1",
        "--no-pcap",
        place=tmp_path,
    )
    if outcome.exit_code == 3:
        pytest.skip(outcome.stderr)
    assert outcome.exit_code in (0, 4), outcome.stderr
    result = Result.load(tmp_path / "run")
    assert result.tables["fidelity"]["device"].to_pylist() == [device]
    assert not (tmp_path / "run" / "pcap").exists()
    assert ackclock("replay", "run", place=tmp_path).exit_code == 0


def test_what_no_host_can_send_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "short.toml").write_text(SCENARIO)
    outcome = ackclock(
        "emulate", "short.toml", "--set", "flows.voice.transport.mss=70 kB", place=tmp_path
    )
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    [line] = outcome.stderr.splitlines()
    assert line.startswith("ackclock: --set: flows.voice.transport.mss: ")
    assert [path.name for path in tmp_path.iterdir()] == ["short.toml"]


def test_what_the_kernel_does_in_its_own_way_is_told(tmp_path: Path) -> None:
    (tmp_path / "short.toml").write_text(SCENARIO)
    beta = 'flows.download.transport.control={kind="cubic", beta=0.5}'
    outcome = ackclock(
        "emulate",
        "short.toml",
        "--replicates",
        "1",
        "--set",
        "duration=1 s",
        "--set",
        beta,
        place=tmp_path,
    )
    assert outcome.exit_code in (0, 4), outcome.stderr
    assert "flows.download.transport.control.beta" in outcome.stderr
    [row] = [
        row
        for row in Result.load(tmp_path / "out/short").tables["settings"].to_pylist()
        if row["refusal"]
    ]
    assert (row["name"], row["asked"]) == ("flows.download.transport.control.beta", "0.5")


class Running:
    """A long run in progress, and all its processes."""

    def __init__(self, process: subprocess.Popen) -> None:
        self.process = process
        self.hosts = descendants(process.pid)
        self._ends = {pid: os.pidfd_open(pid) for pid in self.hosts}
        # Otherwise other processes may reuse the numbers of closed namespaces.
        self._held = [os.open(f"/proc/{pid}/ns/net", os.O_RDONLY) for pid in self.hosts]
        self.namespaces = {_network(pid) for pid in self.hosts} - {_network("self")}

    def wait(self) -> str:
        """Returns its standard error, once it and all its hosts have ended."""
        _, errors = self.process.communicate(timeout=PATIENCE_S)
        for end in self._ends.values():
            waiting = select.poll()
            waiting.register(end, select.POLLIN)
            assert waiting.poll(PATIENCE_S * 1000), "a host outlives its run"
            os.close(end)
        return errors

    def forget(self) -> None:
        """Releases the namespaces."""
        while self._held:
            os.close(self._held.pop())


def _network(process: object) -> str:
    return str(Path(f"/proc/{process}/ns/net").readlink())


def descendants(pid: int) -> list[int]:
    children = [
        int(word) for task in Path(f"/proc/{pid}/task").iterdir() for word in _children(task)
    ]
    return [*children, *(further for child in children for further in descendants(child))]


def _children(task: Path) -> list[str]:
    return (task / "children").read_text().split()


# Reports progress as often as possible, so that a test need not guess.
TALKATIVE = (
    "from ackclock.cli import progress; progress._QUIET_S = 0; from ackclock.cli import main; "
    "main()"
)


@contextmanager
def long_run(place: Path) -> Iterator[Running]:
    """A run much longer than tests wait, which has already recorded something."""
    (place / "short.toml").write_text(SCENARIO)
    (place / "temporary").mkdir()
    arguments = ["emulate", "short.toml", "-o", "run", "--set", "duration=3000 s"]
    record = place / "run" / "record" / "point-0-replicate-0.ackrec"
    # A process group of its own can be interrupted as a whole, as by a terminal.
    with subprocess.Popen(
        [sys.executable, "-c", TALKATIVE, *arguments], cwd=place, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True, start_new_session=True, env=os.environ | {"TMPDIR": str(place / "temporary")},
    ) as process:  # fmt: skip
        try:
            assert process.stderr is not None
            for _line in process.stderr:
                if record.exists() and record.stat().st_size > _MAGIC:
                    break
            yield Running(process)
        finally:
            process.kill()


def nothing_is_left(place: Path, running: Running) -> None:
    assert len(running.hosts) >= 2
    assert running.namespaces, "hosts have networks of their own"
    assert not running.namespaces & set(namespaces())
    running.forget()
    assert sorted(path.name for path in place.iterdir()) == ["run", "short.toml", "temporary"]
    assert list((place / "temporary").iterdir()) == []


def namespaces() -> Iterator[str]:
    """Yields the network namespaces of all processes, and those held by a mount."""
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            try:
                yield _network(process.name)
                yield from (
                    word
                    for word in (process / "mountinfo").read_text().split()
                    if word.startswith("net:[")
                )
            except OSError:
                continue  # it has just ended, or belongs to another user


@pytest.mark.parametrize(
    ("end", "code"),
    [
        # A terminal interrupts the whole group; who terminates a command names only that.
        (lambda process: os.killpg(process.pid, signal.SIGINT), 130),
        (lambda process: process.terminate(), 143),
    ],
    ids=["SIGINT", "SIGTERM"],
)
def test_what_ends_it_leaves_a_partial_result_and_nothing_else(
    tmp_path: Path, end: Callable[[subprocess.Popen], None], code: int
) -> None:
    with long_run(tmp_path) as running:
        end(running.process)
        errors = running.wait()
    assert running.process.returncode == code, errors
    assert "interrupted" in errors
    assert "Traceback" not in errors
    nothing_is_left(tmp_path, running)
    result = Result.load(tmp_path / "run")
    assert result.partial
    assert ackclock("replay", "run", place=tmp_path).exit_code == 0
    assert ackclock("report", "run", place=tmp_path).exit_code == 0


@pytest.mark.parametrize("whom", ["the command", "a host"])
def test_kill_leaves_no_process_no_namespace_no_temporary_file(tmp_path: Path, whom: str) -> None:
    with long_run(tmp_path) as running:
        os.kill(running.process.pid if whom == "the command" else running.hosts[-1], signal.SIGKILL)
        errors = running.wait()
    nothing_is_left(tmp_path, running)
    if whom == "the command":
        assert running.process.returncode == -signal.SIGKILL
        assert sorted(path.name for path in (tmp_path / "run").iterdir()) == [
            "pcap",
            "record",
            "run.json",
        ]
        refused = ackclock("plot", "run", place=tmp_path)
        assert refused.exit_code == 2
        assert "ackclock replay run works" in refused.stderr
    else:
        assert running.process.returncode == 4, errors
        assert "a run failed" in errors
        assert Result.load(tmp_path / "run").partial
    outcome = ackclock("replay", "run", "--json", place=tmp_path)
    assert outcome.exit_code == 0, outcome.stderr
    assert [replay["difference"] for replay in json.loads(outcome.stdout)] == [None]


# So few packets that no buffer fills for a minute.
SPARSE = f"""\
{short.SCENARIO[: short.SCENARIO.index("[[flows]]")]}
[[flows]]
name = "voice"
route = ["there"]
transport = {{ kind = "udp" }}
traffic = {{ kind = "cbr", rate = "20 kbit/s", packet_size = "100 bytes" }}
"""


def test_kill_leaves_all_but_the_last_second(tmp_path: Path) -> None:
    (tmp_path / "sparse.toml").write_text(SPARSE)
    record = tmp_path / "run" / "record" / "point-0-replicate-0.ackrec"
    arguments = [
        "emulate",
        "sparse.toml",
        "-o",
        "run",
        "--set",
        "duration=60 s",
        "--replicates",
        "1",
    ]
    with subprocess.Popen(
        [sys.executable, "-c", TALKATIVE, *arguments], cwd=tmp_path, stderr=subprocess.PIPE
    ) as run:
        try:
            # Its first bytes are written just before the run begins, at most 50 ms before.
            while not record.exists() or not record.stat().st_size:
                assert run.poll() is None
                time.sleep(0.001)
            begun = time.monotonic()
            time.sleep(3.3)
            lasted_s = time.monotonic() - begun - 0.05
        finally:
            run.kill()
    assert run.returncode == -signal.SIGKILL
    [replay] = json.loads(ackclock("replay", "run", "--json", place=tmp_path).stdout)
    assert replay["difference"] is None
    assert not replay["complete"]
    assert replay["duration_s"] == 60
    assert lasted_s - 1 <= replay["until_s"] < 60
    assert replay["arrivals"] >= 20 * (lasted_s - 1.1)
    outcome = ackclock("replay", "run", place=tmp_path)
    assert f"partial, {int(replay['until_s'] * 10) / 10} s of 60 s" in outcome.stdout
    for name in ("from-senders", "to-receivers"):
        capture = tmp_path / "run" / "pcap" / f"point-0-replicate-0-{name}.pcap"
        # The packets are 50 ms apart and in flight for 10 ms.
        assert count(capture) >= 20 * (lasted_s - 1.1), name
    measured = ackclock("measure", "run", "-o", "measured", place=tmp_path)
    assert measured.exit_code == 130, measured.stderr  # what is measured of it is partial, too


def test_without_root(as_nobody: Callable[..., subprocess.CompletedProcess]) -> None:
    with tempfile.TemporaryDirectory() as name:  # pytest's folders are private
        place = Path(name)
        place.chmod(0o777)
        (place / "short.toml").write_text(SCENARIO)
        outcome = as_nobody(
            "emulate", "short.toml", "-o", "run", "--replicates", "1", "--json", cwd=place
        )
        if outcome.returncode == 3:
            pytest.skip(outcome.stderr)
        assert outcome.returncode in (0, 4), outcome.stderr
        [row] = json.loads(outcome.stdout)["fidelity"]
        assert row["priority"] != "SCHED_FIFO"
        assert row["host_priority"] != "SCHED_FIFO"
        assert row["idle_states"] != "none"
        assert "real-time priority refused" in outcome.stderr
        assert ackclock("replay", "run", place=place).exit_code == 0
