"""The memory of a run is known before it begins, and a run that cannot fit is refused."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from ackclock import LackingError, Scenario, engine, simulate
from ackclock.run.memory import free_bytes

from ..refusals import check
from .paths import flow, path, scenario, tcp, udp

#: Runs the scenario on standard input, and prints the largest growth of the process in bytes.
GROWTH = """
import json, re, sys
from ackclock import Scenario, engine
tree = json.load(sys.stdin)
# Not ru_maxrss, which begins with what the process had that started this one.
used = lambda: int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1]) * 1024
before = used()
more = dict(threads=1, packets=False, pcap_folder=None, finished=[], take=None, progress=None)
engine.simulate([tree], Scenario(tree).folder, memory=None, **more)
print(used() - before)
"""


def many(count: int, transport: dict, traffic: dict) -> Scenario:
    flows = [flow(transport, count=count, traffic=traffic, start=["0 s", "5 s"])]
    return scenario(path("10 Mbit/s", "10 ms", "100 packets"), flows, "5 s")


def needed(many_flows: Scenario, monkeypatch: pytest.MonkeyPatch) -> float:
    """Returns the gigabytes that the run needs, by its refusal."""
    with monkeypatch.context() as patch:
        patch.setattr("ackclock.run.simulation.free_bytes", lambda: 0)
        with pytest.raises(LackingError) as caught:
            simulate(many_flows, threads=1)
    words = caught.value.message.split()
    return float(words[words.index("GB") - 1])


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("transport", ["tcp", "udp"])
def test_the_estimate_is_what_a_run_of_many_flows_takes(
    transport: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From a half to 1.1 times: a close lower bound, as the number of packets is unknown before."""
    kinds = {"tcp": (tcp(), {"kind": "bulk"}), "udp": (udp(), {"kind": "cbr", "rate": "1 kbit/s"})}
    many_flows = many(100_000, *kinds[transport])
    command = [sys.executable, "-c", GROWTH]
    grown = int(
        subprocess.run(
            command, input=json.dumps(many_flows.tree), check=True, capture_output=True, text=True
        ).stdout
    )
    # The number is rounded to a tenth of a gigabyte: that of ten times as many flows is sharper.
    least = needed(many(1_000_000, *kinds[transport]), monkeypatch) / 10
    assert 0.5 * grown < (least + 0.005) * 1e9
    assert (least - 0.005) * 1e9 < 1.1 * grown


def test_what_cannot_fit_is_refused_and_what_can_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ackclock.run.simulation.free_bytes", lambda: 16 * 10**9)
    with pytest.raises(LackingError) as caught:
        simulate(many(10_000_000, tcp(), {"kind": "bulk"}))
    check(caught.value, "lacking", "sample_interval", "10000000 flows", "16.0 GB are free")
    assert not simulate(many(100, tcp(), {"kind": "bulk"})).partial
    few = many(10_000_000, tcp(), {"kind": "bulk"}).replace(sample_interval="5 s")
    with pytest.raises(LackingError) as caught:
        simulate(few)
    check(caught.value, "lacking", "flows")


def system(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


MEMINFO = (
    "MemTotal: 16000000 kB\nMemAvailable: 8000000 kB\nSwapFree: 1000000 kB\nHugePages_Total: 0\n"
)


def test_free_is_the_least_of_what_the_machine_and_the_control_groups_leave(tmp_path: Path) -> None:
    machine = {"proc/meminfo": MEMINFO}
    assert free_bytes(system(tmp_path / "plain", machine)) == 9_000_000 * 1024
    group = machine | {
        "proc/self/cgroup": "0::/user/job\n",
        "sys/fs/cgroup/user/job/memory.max": "max\n",
        "sys/fs/cgroup/user/job/memory.current": "5\n",
        "sys/fs/cgroup/user/memory.max": "3000000000\n",
        "sys/fs/cgroup/user/memory.current": "1000000000\n",
    }
    assert free_bytes(system(tmp_path / "group", group)) == 2_000_000_000
    old = machine | {
        "proc/self/cgroup": "5:cpu,cpuacct:/x\n4:memory:/docker/abc\n",
        "sys/fs/cgroup/memory/memory.limit_in_bytes": "4000000000\n",
        "sys/fs/cgroup/memory/memory.usage_in_bytes": "3999999999\n",
    }
    assert free_bytes(system(tmp_path / "old", old)) == 1


def test_where_nothing_says_nothing_is_known(tmp_path: Path) -> None:
    assert free_bytes(tmp_path) is None


def test_finished_runs_need_no_memory() -> None:
    """Of a thousand replicates only the last is left, so the memory of one is enough."""
    base = many(20, tcp(), {"kind": "bulk"}).replace({"duration": "200 ms", "warmup": "0 s"})
    point = base.replace({"replicates": 1000}).tree
    more = {"threads": 1, "packets": False, "pcap_folder": None, "take": None, "progress": None}
    finished = [(0, replicate) for replicate in range(999)]
    outcome = engine.simulate([point], base.folder, memory=10_000_000, finished=finished, **more)
    assert outcome["keys"] == [(0, 999)]
    with pytest.raises(LackingError):
        engine.simulate([point], base.folder, memory=10_000_000, finished=[], **more)
