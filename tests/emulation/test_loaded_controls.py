"""Controls that a run loads into the kernel, their records, and what is left when runs are killed.

Where the kernel takes no controls, these tests skip and say why.
"""

import contextlib
import dataclasses
import json
import os
import random
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import scipy.stats

from ackclock import LackingError, Scenario
from ackclock.capture import calls
from ackclock.capture.call_tables import Calls, calls_of
from ackclock.controls.from_policy import source
from ackclock.controls.policy import COLUMNS, Policy
from ackclock.run.emulation import emulate
from ackclock.run.host import loader

from ..controls.mutated import holding_itself
from ..controls.paths import needs_clang
from ..controls.test_policy import POLICIES
from ..patience import PATIENCE_S
from ..refusals import refused
from . import short, westwood
from .loading import SHIPPED, SOURCES, held_by, offered, refusal, still_there, why_not

# Seconds for which the kernel goes on with a connection whose process was killed: eight
# retransmissions from 200 ms on (tcp_orphan_retries; RFC 6298).
LEAST_ORPHAN_S = 100

# Moments at which a holder of a control is killed (acceptance 3 of the design).
MOMENTS = 20


@pytest.fixture(scope="session")
def loading() -> str:
    """The program that loads controls; skips where the kernel takes none."""
    reason = why_not()
    if reason is not None:
        pytest.skip(f"no control can be loaded into the kernel: {reason}")
    program = loader()
    assert program is not None
    return program


def under(control: dict[str, object], **changes: object) -> Scenario:
    """Returns the short scenario with one replicate under a control."""
    field = {"flows.download.transport.control": {"kind": "kernel", **control}}
    return Scenario.from_toml(short.SCENARIO).replace({**field, "replicates": 1, **changes})


@pytest.fixture
def held(loading: str, tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen]]:
    """Holds AIMD in the kernel under a name until the test ends."""
    processes = []

    def hold(name: str, *parameters: str) -> subprocess.Popen:
        command = [loading, SOURCES / "aimd.bpf.o", name, tmp_path / f"{name}.calls", *parameters]
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        processes.append(process)
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["loaded"]["name"] == name
        return process

    yield hold
    for process in processes:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("name", SHIPPED)
def test_the_kernel_takes_every_control_that_comes_with_ackclock(name: str, loading: str) -> None:
    command = [loading, "check", SOURCES / f"{name}.bpf.o"]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout
    assert json.loads(checked.stdout)["loaded"]["parameters"].keys() == parameters_of(name)


def parameters_of(name: str) -> set[str]:
    """The parameters that a control's source declares, those of its headers included."""
    source = (SOURCES / f"{name}.bpf.c").read_text()
    headers = re.findall(r'^#include "(?!ackclock)(\S+)"', source, re.MULTILINE)
    source += "".join((SOURCES / header).read_text() for header in headers)
    return set(re.findall(r"^ACKCLOCK_PARAMETER\(\w+, (\w+),", source, re.MULTILINE))


def test_parameters_are_integers_of_their_type(loading: str) -> None:
    def refuses(*settings: str) -> dict[str, str]:
        command = [loading, "check", SOURCES / "cubic.bpf.o", *settings]
        checked = subprocess.run(command, capture_output=True, text=True, check=False)
        assert checked.returncode == 2
        return refusal(checked.stdout)

    assert "beta_thousandth, c_thousandth" in refuses("beta=1")["reason"]
    assert "0 to 255" in refuses("reno_friendly=256")["reason"]
    assert "0 to 4294967295" in refuses("c_thousandth=-1")["reason"]
    assert refuses("c_thousandth=1.5")["blame"] == "parameters"
    assert "not an object" in refuses_object(loading, __file__)


def refuses_object(loading: str, file: str) -> str:
    checked = subprocess.run([loading, "check", file], capture_output=True, text=True, check=False)
    assert checked.returncode == 2
    return refusal(checked.stdout)["reason"]


def test_a_type_that_holds_itself_never_reaches_the_library(loading: str, tmp_path: Path) -> None:
    hostile = tmp_path / "hostile.bpf.o"
    hostile.write_bytes(holding_itself((SOURCES / "aimd.bpf.o").read_bytes()))
    assert "has a type that holds itself" in refuses_object(loading, str(hostile))


def test_a_crash_of_the_library_is_one_line(loading: str) -> None:
    """The signal stands for one that libbpf causes; loading waits for its object."""
    with asked(loading) as process:
        process.send_signal(signal.SIGFPE)
        answer, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 2
    assert "libbpf" in refusal(answer)["reason"]
    assert errors == ""


@pytest.mark.parametrize("number", [signal.SIGVTALRM, signal.SIGXCPU])
def test_too_much_time_of_the_processor_is_one_line(loading: str, number: signal.Signals) -> None:
    """The signal is that of the limit."""
    with asked(loading) as process:
        limits = Path(f"/proc/{process.pid}/limits").read_text()
        process.send_signal(number)
        answer, errors = process.communicate(timeout=PATIENCE_S)
    assert re.search(r"^Max cpu time +20 ", limits, re.MULTILINE)
    assert re.search(rf"^Max data size +{256 << 20} ", limits, re.MULTILINE)
    assert process.returncode == 2
    assert "processor time" in refusal(answer)["reason"]
    assert errors == ""


def test_the_loader_ends_when_nobody_reads_its_answer(loading: str) -> None:
    """As when a supervisor is killed while it waits."""
    with asked(loading) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.wait(timeout=PATIENCE_S) == 1


@contextlib.contextmanager
def asked(loading: str) -> Iterator[subprocess.Popen]:
    """A loader that has set its limits and waits for its object."""
    with subprocess.Popen(
        [loading, "check", "-"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        threads = Path(f"/proc/{process.pid}/task")
        # The thread that watches for the reader is the last thing before it reads.
        wait_until(lambda: len(list(threads.iterdir())) == 2, "it has no limits")
        yield process
        process.kill()


@pytest.mark.usefixtures("emulation")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("loads", ["check", "acc_"])
def test_a_signal_ends_a_run_while_a_control_is_loaded(
    number: signal.Signals, code: int, loads: str, tmp_path: Path
) -> None:
    """The loader is a pretended one: it takes for ever, to check the control or to load it."""
    pretended = tmp_path / "pretended"
    waits = f'case "$1$2" in *{loads}*) exec sleep 1000000;; esac'
    pretended.write_text(f"#!/bin/sh\n{waits}\necho '{{\"loaded\":{{}}}}'\n")
    pretended.chmod(0o700)
    text = short.SCENARIO.replace('kind = "reno"', 'kind = "kernel", shipped = "aimd"')
    (tmp_path / "short.toml").write_text(text)
    program = (
        "import sys\nfrom ackclock.run import emulation\nfrom ackclock.cli import main\n"
        "emulation.loader = lambda: './pretended'\nmain()\n"
    )
    command = [sys.executable, "-c", program, "emulate", "short.toml", "-o", "run"]
    run = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)

    def sleeping() -> list[int]:
        return [pid for pid in children(run.pid) if "sleep 1000000" in command_of(pid)]

    [loader_pid] = eventually(sleeping)
    run.send_signal(number)
    _, errors = run.communicate(timeout=PATIENCE_S)
    assert run.returncode == code, errors
    assert "Traceback" not in errors
    assert not Path(f"/proc/{loader_pid}").exists()


def test_a_name_is_taken_once(loading: str, held: Callable, tmp_path: Path) -> None:
    held("acc_test_once")
    command = [loading, SOURCES / "reno.bpf.o", "acc_test_once", tmp_path / "again.calls"]
    again = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert again.returncode == 2
    assert '"acc_test_once" already' in refusal(again.stdout)["reason"]


def test_nothing_is_left_after_a_kill_at_any_moment(held: Callable) -> None:
    chance = random.Random(26)
    for moment in range(MOMENTS):
        name = f"acc_test_{moment:02}"
        process = held(name)
        if moment % 2:
            send_under(name)  # connections that have closed hold nothing
        owned = held_by(process.pid)
        kinds = {kind for kind, _ in owned}
        assert kinds == {"prog_id", "map_id", "link_id"}
        assert all(still_there(*entry) for entry in owned)
        assert name in offered()
        time.sleep(chance.uniform(0, 0.02))
        process.kill()
        process.wait()
        wait_until(lambda: name not in offered(), f"{name} is still offered")  # noqa: B023
        wait_until(
            lambda: not any(still_there(*entry) for entry in owned),  # noqa: B023
            f"something of {name} is still there",
        )


def wait_until(
    condition: Callable[[], bool], complaint: str, patience_s: float = PATIENCE_S
) -> None:
    """Waits for a condition: within a second on a quiet machine, later on a busy one."""
    end = time.monotonic() + patience_s
    while not condition():
        assert time.monotonic() < end, complaint
        time.sleep(0.01)


def send_under(control: str, megabytes: int = 2) -> None:
    """Sends data over loopback under a control of the kernel."""
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket() as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control.encode())
        client.connect(server.getsockname())
        peer, _ = server.accept()
        with peer:
            reading = threading.Thread(target=drain, args=[peer])
            reading.start()
            client.sendall(bytes(megabytes << 20))
            client.shutdown(socket.SHUT_WR)
            reading.join()


def drain(peer: socket.socket) -> None:
    while peer.recv(1 << 16):
        pass


def test_every_call_is_recorded_until_the_loader_is_told_to_end(
    held: Callable, tmp_path: Path
) -> None:
    process = held("acc_test_calls", "alpha=3")
    send_under("acc_test_calls")
    answer, _ = process.communicate("")
    recorded = json.loads(answer)["recorded"]
    assert recorded["missed"] == 0
    size = (tmp_path / "acc_test_calls.calls").stat().st_size
    assert size == 16 + 144 * recorded["records"]
    assert recorded["records"] > 10
    assert "acc_test_calls" not in offered()


@pytest.mark.usefixtures("emulation")
def test_every_control_carries_a_flow(loading: str, tmp_path: Path) -> None:
    assert loading
    shipped = short.each_on_its_own_path({name: {"shipped": name} for name in SHIPPED})
    result = emulate(shipped, tmp_path / "run")
    flows = result.tables["flows"].to_pylist()
    assert [flow["control"] for flow in flows] == [f"bpf:{name}" for name in SHIPPED]
    made, compared = calls_of(tmp_path / "run"), calls.twin(tmp_path / "run")
    assert sorted(record.control for record in made) == SHIPPED
    for record, answers in zip(made, compared, strict=True):
        number = SHIPPED.index(record.control)
        assert flows[number]["delivered_bytes"] > 100_000, record.control
        check_calls(record.control, number, record, answers)
    summaries = sorted((tmp_path / "run" / "record").glob("*.json"))
    loaded = {json.loads(summary.read_text("utf-8"))["name"] for summary in summaries}
    assert len(loaded) == len(SHIPPED)
    wait_until(lambda: loaded.isdisjoint(offered()), f"some of {loaded} are still offered")


def check_calls(name: str, flow: int, made: Calls, compared: calls.Comparison) -> None:
    """Checks the calls of a control, and that the engine answers each as the kernel did."""
    assert (made.control, made.missed) == (name, 0)
    rows = made.table.to_pylist()
    assert {row["flow"] for row in rows} == {flow}
    # The ACK of the handshake comes before the control begins; one that owns rate hears more of it.
    owns = name in ("delivery_rate", "linux_bbr")
    first = ["pkts_acked", "cong_control", "init"] if owns else ["pkts_acked", "init"]
    if name == "linux_bbr":
        first = first[1:]  # it does not hear of acknowledged packets
    assert [row["kind"] for row in rows[: len(first)]] == first
    growth = "cong_control" if owns else "cong_avoid"
    assert sum(row["kind"] == growth for row in rows) > 100
    assert all(row["cwnd_after"] > 0 for row in rows)
    times = [row["now_ns"] for row in rows]
    assert times == sorted(times)
    assert compared.outcome["first"] is None
    assert compared.outcome["equal"] + compared.outcome["skipped"] == len(rows)


@pytest.mark.usefixtures("emulation")
def test_each_call_of_aimd_is_answered_by_its_law(loading: str, tmp_path: Path) -> None:
    """An independent reading of the law, in segments, for every call that the kernel made."""
    assert loading
    control = {"shipped": "aimd", "parameters": {"alpha": 2, "beta_percent": 70}}
    emulate(under(control, duration="4 s"), tmp_path / "run")
    [made] = calls_of(tmp_path / "run")
    assert made.parameters == {"alpha": 2, "beta_percent": 70}
    kinds = set()
    for row in made.table.to_pylist():
        before = (row["cwnd_before"], row["cwnd_cnt_before"])
        after = (row["cwnd_after"], row["cwnd_cnt_after"])
        kinds.add(row["kind"])
        if row["kind"] == "ssthresh":
            assert row["result"] == max(before[0] * 70 // 100, 2)
        elif row["kind"] == "cong_avoid":
            assert after == grown(row, 2), row
            continue
        assert after == before, row
    assert {"init", "pkts_acked", "cong_avoid", "ssthresh", "set_state"} <= kinds


@pytest.mark.usefixtures("emulation")
def test_an_estimate_in_integers_is_that_of_the_papers(loading: str, tmp_path: Path) -> None:
    """Cut to whole segments, by less than one and a hundredth of the threshold."""
    assert loading
    names = ("westwood_abse", "westwood_crb", "westwood_re")
    lossy = {
        f"hops.there_{name}.impairments": [{"kind": "iid_loss", "probability": "1 %"}]
        for name in names
    }
    each = short.each_on_its_own_path({name: {"shipped": name} for name in names})
    emulate(each.replace({"duration": "6 s", **lossy}), tmp_path / "run")
    rows = {made.control: made.table.to_pylist() for made in calls_of(tmp_path / "run")}
    thresholds = {
        "westwood_abse": westwood.adaptive_thresholds(rows["westwood_abse"]),
        "westwood_crb": westwood.thresholds(rows["westwood_crb"], combined=True),
        "westwood_re": westwood.thresholds(rows["westwood_re"], combined=False),
    }
    for name, pairs in thresholds.items():
        answers = list(pairs)
        assert len(answers) > 10, name
        for expected, answered in answers:
            assert -0.01 * expected <= expected - answered < 1 + 0.01 * expected, name


def grown(row: dict[str, int], alpha: int) -> tuple[int, int]:
    """Window and count after an ACK (RFC 5681 section 3.1, with alpha segments for one)."""
    cwnd, count, ssthresh = row["cwnd_before"], row["cwnd_cnt_before"], row["ssthresh_before"]
    acked = row["argument_1"]
    slow = cwnd < ssthresh
    if not (row["limited"] or (slow and cwnd < 2 * row["max_packets_out"])):
        return cwnd, count
    if slow:
        to_threshold = min(acked, ssthresh - cwnd)
        cwnd, acked = cwnd + to_threshold, acked - to_threshold
    if not acked:
        return cwnd, count
    opened, count = divmod(count + alpha * acked, cwnd)
    return cwnd + opened, count


@pytest.mark.usefixtures("emulation")
def test_two_controls_in_one_run_and_runs_side_by_side(loading: str, tmp_path: Path) -> None:
    """Each has a name and a record of its own, although both are AIMD."""
    assert loading
    tree = under({"shipped": "aimd", "parameters": {"alpha": 1}}).tree
    other = {"kind": "kernel", "shipped": "aimd", "parameters": {"alpha": 4}}
    [first] = tree["flows"]
    second = {**first, "name": "second", "transport": {**first["transport"], "control": other}}
    both = Scenario({**tree, "flows": [first, second], "replicates": 2})
    result = emulate(both, tmp_path / "run", side_by_side=2)
    assert not result.partial
    made = calls_of(tmp_path / "run")
    assert [record.parameters["alpha"] for record in made] == [4, 1] * 2 or [
        record.parameters["alpha"] for record in made
    ] == [1, 4] * 2
    for record in made:
        flow = {1: 0, 4: 1}[record.parameters["alpha"]]
        assert set(record.table["flow"].to_pylist()) == {flow}
        assert record.missed == 0


@pytest.mark.oracle  # three minutes
@pytest.mark.usefixtures("emulation")
@pytest.mark.long
def test_reno_as_a_program_is_the_kernels_reno(loading: str, tmp_path: Path) -> None:
    """Twenty runs each; the interval of the difference of goodputs is within 3 % (design)."""
    assert loading
    goodputs = []
    for control in ({"shipped": "reno"}, {"name": "reno"}):
        # A short queue: the link idles after each reduction, by how much the law says.
        changes = {"hops.there.queue.limit": "8 packets", "duration": "8 s", "replicates": 20}
        folder = tmp_path / next(iter(control))
        result = emulate(under(control, **changes), folder, pcap=False, side_by_side=2)
        rows = result.tables["flows"].to_pylist()
        goodputs.append([row["goodput_bit_per_s"] for row in rows])
    ours, theirs = goodputs
    assert len(ours) == len(theirs) == 20
    low, high = interval_of_difference(ours, theirs)
    mean = statistics.fmean(theirs)
    assert low / mean > -0.03, (low / mean, high / mean)
    assert high / mean < 0.03, (low / mean, high / mean)


def interval_of_difference(ours: list[float], theirs: list[float]) -> tuple[float, float]:
    """Welch's 95 % interval of the difference of two means."""
    test = scipy.stats.ttest_ind(ours, theirs, equal_var=False)
    interval = test.confidence_interval(0.95)
    return interval.low, interval.high


OWN = """\
#include "ackclock.bpf.h"

struct mine { __u32 prior_cwnd; __u32 last[4]; };

static void grow(struct ackclock_call *call, struct mine *mine)
{
	__u32 round = call->delivered;

	MISTAKE
	if (ackclock_may_open(call))
		call->after.cwnd += 1;
}

static __u32 cut(struct ackclock_call *call, struct mine *mine)
{
	mine->prior_cwnd = call->before.cwnd;
	return ackclock_max(call->before.cwnd / 2, 2);
}

static __u32 undo(struct ackclock_call *call, struct mine *mine)
{
	return ackclock_max(call->before.cwnd, mine->prior_cwnd);
}

ACKCLOCK_CONTROL(struct mine, .cong_avoid = grow, .ssthresh = cut, .undo_cwnd = undo);
"""


@pytest.fixture
def own(tmp_path: Path) -> Callable[[str], Scenario]:
    """Returns a scenario with a control of the user's, given one line of its source."""
    if not any(shutil.which(f"clang{end}") for end in ("", *(f"-{n}" for n in range(14, 23)))):
        pytest.skip("there is no clang")

    def write(line: str = "") -> Scenario:
        (tmp_path / "mine.bpf.c").write_text(OWN.replace("MISTAKE", line))
        tree = under({"file": "mine.bpf.c"}).tree
        return Scenario(tree, tmp_path)

    return write


@pytest.mark.usefixtures("emulation")
def test_a_control_of_the_users_own_runs_from_its_source(
    loading: str, own: Callable[[str], Scenario], tmp_path: Path
) -> None:
    assert loading
    result = emulate(own(""), tmp_path / "run")
    assert result.tables["flows"].to_pylist()[0]["control"] == "bpf:mine"
    [made] = calls_of(tmp_path / "run")
    assert made.control == "mine"
    emulate(own(""), tmp_path / "run", replace=True)  # takes the place of the first


@pytest.mark.usefixtures("emulation")
def test_what_the_verifier_refuses_is_a_line_of_the_source_and_a_sentence(
    loading: str, own: Callable[[str], Scenario], tmp_path: Path
) -> None:
    assert loading
    field = "flows.download.transport.control.file"
    line = "mine->last[round] = 1;"
    with refused("file", field, f"mine.bpf.c:9: {line}", "kernel refuses", "offset"):
        emulate(own(line), tmp_path / "run")
    # The verifier follows a million instructions three times, and prints each of them. Jumps are
    # the ones that take it least.
    jumps = r'asm volatile(".rept 500\ngoto +0\n.endr");'
    endless = f"for (__u32 n = 0; n < round; n++) {jumps}"
    with refused("file", field, "mine.bpf.c:9:", "kernel refuses", "too large"):
        emulate(own(endless), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_what_the_compiler_refuses_is_its_first_line(
    own: Callable[[str], Scenario], tmp_path: Path, no_emulation: str | None
) -> None:
    if no_emulation is not None:
        pytest.skip(no_emulation)
    field = "flows.download.transport.control.file"
    with refused("file", field, "mine.bpf.c:9:", "undeclared identifier"):
        emulate(own("call->after.cwnd = nothing;"), tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.usefixtures("emulation")
def test_a_missing_loader_has_a_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ackclock.run.emulation.loader", lambda: None)
    cures = r"not installed; run pip install 'ackclock\[kernel\]', or make kernel"
    with pytest.raises(LackingError, match=cures):
        emulate(under({"shipped": "aimd"}), tmp_path / "run")
    assert list(tmp_path.iterdir()) == []


def test_without_privileges_there_is_one_line_with_the_cure(
    loading: str, as_nobody: Callable, tmp_path: Path
) -> None:
    assert loading
    tmp_path.chmod(0o777)
    (tmp_path / "short.toml").write_text(
        short.SCENARIO.replace('kind = "reno"', 'kind = "kernel", shipped = "aimd"')
    )
    ended = as_nobody("emulate", "short.toml", "-o", "run", cwd=tmp_path)
    assert ended.returncode == 3, ended.stderr
    [line] = ended.stderr.splitlines()
    assert "CAP_BPF" in line
    assert "simulate" in line


@pytest.mark.usefixtures("emulation")
@pytest.mark.parametrize("victim", ["supervisor", "loader", "host"])
def test_nothing_is_left_when_part_of_a_run_is_killed(
    victim: str, loading: str, tmp_path: Path
) -> None:
    assert loading
    (tmp_path / "short.toml").write_text(
        short.SCENARIO.replace('kind = "reno"', 'kind = "kernel", shipped = "aimd"')
    )
    command = [sys.executable, "-m", "ackclock", "emulate", "short.toml", "-o", "run"]
    run = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    loaders = eventually(lambda: [pid for pid in children(run.pid) if "acc_" in command_of(pid)])
    [holder] = loaders
    name = command_of(holder).split()[2]
    eventually(lambda: name in offered())
    owned = held_by(holder)
    hosts = [pid for pid in children(run.pid) if "serve_host" in command_of(pid)]
    os.kill({"supervisor": run.pid, "loader": holder}.get(victim) or eventually_one(run.pid, hosts),
            signal.SIGKILL)  # fmt: skip
    if victim != "supervisor":
        run.communicate(timeout=PATIENCE_S)
    wait_until(lambda: name not in offered(), f"{name} is still offered")
    if victim == "supervisor":
        run.communicate(timeout=PATIENCE_S)
        wait_until(
            lambda: not any(still_there(*entry) for entry in owned), "something is still there"
        )


@pytest.mark.usefixtures("emulation")
def test_the_connections_of_a_killed_run_end_with_it(loading: str, tmp_path: Path) -> None:
    """They hold the control. Left alone, the kernel would try to send what they have."""
    assert loading
    text = short.SCENARIO.replace('kind = "reno"', 'kind = "kernel", shipped = "aimd"')
    (tmp_path / "short.toml").write_text(text.replace('"2 s"', '"60 s"', 1))
    command = [sys.executable, "-m", "ackclock", "emulate", "short.toml", "-o", "run"]
    run = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    record = tmp_path / "run" / "record" / "point-0-replicate-0.aimd.calls"
    eventually(lambda: record.exists() and record.stat().st_size > 1 << 18)
    [holder] = [pid for pid in children(run.pid) if "acc_" in command_of(pid)]
    owned = held_by(holder)
    run.kill()
    run.communicate(timeout=PATIENCE_S)
    wait_until(
        lambda: not any(still_there(*held) for held in owned), "connections live on", LEAST_ORPHAN_S
    )


@pytest.mark.usefixtures("emulation")
def test_an_interrupted_run_has_whole_records(loading: str, tmp_path: Path) -> None:
    """Ctrl-C reaches every process of a terminal's group."""
    assert loading
    text = short.SCENARIO.replace('kind = "reno"', 'kind = "kernel", shipped = "aimd"')
    (tmp_path / "short.toml").write_text(text.replace('"2 s"', '"60 s"', 1))
    command = [sys.executable, "-m", "ackclock", "emulate", "short.toml", "-o", "run"]
    run = subprocess.Popen(
        command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, process_group=0
    )
    record = tmp_path / "run" / "record" / "point-0-replicate-0.aimd.calls"
    eventually(lambda: record.exists() and record.stat().st_size > 1 << 18)
    os.killpg(run.pid, signal.SIGINT)
    run.communicate(timeout=PATIENCE_S)
    assert run.returncode == 130
    [made] = calls_of(tmp_path / "run")
    assert made.missed == 0
    assert calls.twin(tmp_path / "run")[0].outcome["first"] is None


@needs_clang
@pytest.mark.usefixtures("emulation")
def test_learned_policies_answer_the_kernel_as_they_answer_the_engine(
    loading: str, tmp_path: Path
) -> None:
    assert loading
    for name, decides in POLICIES.items():
        text = source(Policy(decides, COLUMNS, 3, 0.5), name)
        (tmp_path / f"{name}.bpf.c").write_text(text)
        scenario = under({"file": f"{name}.bpf.c"})
        result = emulate(dataclasses.replace(scenario, folder=tmp_path), tmp_path / name)
        [flow] = result.tables["flows"].to_pylist()
        assert flow["delivered_bytes"] > 100_000, name
        [answers] = calls.twin(tmp_path / name)
        assert answers.outcome["equal"] == answers.outcome["calls"] > 200, name


def eventually(find: Callable) -> list[int]:
    """Waits until something is found."""
    end = time.monotonic() + PATIENCE_S
    while not (pids := find()):
        assert time.monotonic() < end
        time.sleep(0.01)
    return pids


def eventually_one(parent: int, started: list[int]) -> int:
    """A host of a run, once there is one."""
    hosts = started or eventually(
        lambda: [pid for pid in children(parent) if "serve_host" in command_of(pid)]
    )
    return hosts[0]


def children(parent: int) -> list[int]:
    """The processes that a process has started, whichever of its threads did."""
    pids = []
    for file in Path(f"/proc/{parent}/task").glob("*/children"):
        pids += [int(pid) for pid in file.read_text().split()]
    return pids


def command_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    except OSError:
        return ""
