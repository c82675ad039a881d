"""Programs for the kernel, simulated: the same object, run by the engine's machine."""

from pathlib import Path
from typing import Any

import pytest

from ackclock import Scenario, engine, predict, simulate
from ackclock.cli import cli
from ackclock.run import address

from ..refusals import refused
from .paths import PROGRAMS, needs_clang, shipped, under


def rows(scenario: Scenario, table: str = "samples", **options: Any) -> list[dict[str, Any]]:
    """Returns the rows of a simulated table."""
    listed: list[dict[str, Any]] = simulate(scenario, **options).tables[table].to_pylist()
    return listed


def windows(scenario: Scenario) -> list[tuple[float, float]]:
    """Returns times and windows."""
    return [(row["time_s"], row["cwnd_bytes"]) for row in rows(scenario)]


def test_the_program_of_reno_does_what_the_engine_s_reno_does() -> None:
    own = windows(under({"kind": "reno", "arithmetic": "linux"}))
    assert windows(under(shipped("reno"))) == own
    assert len({cwnd for _, cwnd in own}) > 20, "losses and growth are compared"


def test_with_timeouts_too() -> None:
    lossy = {"hops.there.impairments": [{"kind": "iid_loss", "probability": "25 %"}]}
    own = under({"kind": "reno", "arithmetic": "linux"}, **lossy)
    events = rows(own, "events")
    assert sum(event["kind"] == "timeout" for event in events) > 3
    assert windows(under(shipped("reno"), **lossy)) == windows(own)


# `linux_bbr` only calls the kernel.
SIMULATED = sorted(
    file.name.removesuffix(".bpf.o")
    for file in PROGRAMS.glob("*.bpf.o")
    if engine.kernel_control(file.read_bytes()) is None
)


@pytest.mark.slow
@pytest.mark.parametrize("name", SIMULATED)
def test_every_program_uses_the_path(name: str) -> None:
    [flow] = rows(under(shipped(name), **{"hops.there.impairments": []}), "flows")
    assert flow["control"] == f"bpf:{name}"
    assert flow["goodput_bit_per_s"] > 8e6


@pytest.mark.slow
def test_rows_do_not_depend_on_the_number_of_threads() -> None:
    scenario = under(shipped("cubic"), replicates=6, **{"flows.flow.count": 3, "duration": "5 s"})
    assert rows(scenario, threads=1) == rows(scenario, threads=8)


def test_parameters_reach_the_program() -> None:
    cuts = {}
    for beta in (50, 80):
        scenario = under(shipped("aimd", beta_percent=beta))
        cuts[beta] = [
            event["ssthresh_after_bytes"] / event["cwnd_before_bytes"]
            for event in rows(scenario, "events")
            if event["kind"] == "fast_retransmit"
        ]
    assert all(abs(cut - 0.5) < 0.06 for cut in cuts[50])
    assert all(abs(cut - 0.8) < 0.06 for cut in cuts[80])
    assert cuts[50]
    assert cuts[80]


def test_a_parameter_that_the_program_lacks_is_refused_by_name() -> None:
    field = "flows.flow.transport.control.parameters.beta_percnt"
    with refused("unknown-name", field, 'did you mean "beta_percent"'):
        simulate(under(shipped("aimd", beta_percnt=50)))
    with refused("out-of-range", "flows.flow.transport.control.parameters.alpha", "4294967295"):
        simulate(under(shipped("aimd", alpha=-1)))


def test_an_object_is_run_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "mine.bpf.o").write_bytes((PROGRAMS / "reno.bpf.o").read_bytes())
    scenario = under({"kind": "kernel", "file": "mine.bpf.o"}, tmp_path)
    assert windows(scenario) == windows(under(shipped("reno")))


def test_another_object_is_another_result(tmp_path: Path) -> None:
    addresses = set()
    for name in ("reno", "aimd"):
        (tmp_path / "mine.bpf.o").write_bytes((PROGRAMS / f"{name}.bpf.o").read_bytes())
        addresses.add(address.of_run(under({"kind": "kernel", "file": "mine.bpf.o"}, tmp_path)))
    assert len(addresses) == 2


def test_a_file_that_is_no_object_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.bpf.o").write_bytes(b"int main() {}")
    scenario = under({"kind": "kernel", "file": "mine.bpf.o"}, tmp_path)
    with refused("unsupported", "flows.flow.transport.control.file", "is not an object for BPF"):
        simulate(scenario)


def test_the_kernels_own_control_is_not_simulated() -> None:
    field = "flows.flow.transport.control.shipped"
    with refused("unsupported", field, "cannot be simulated: it calls the kernel's own bbr"):
        simulate(under(shipped("linux_bbr")))


@pytest.mark.slow
@needs_clang
def test_source_is_compiled(tmp_path: Path) -> None:
    (tmp_path / "mine.bpf.c").write_text((PROGRAMS / "reno.bpf.c").read_text("utf-8"), "utf-8")
    scenario = under({"kind": "kernel", "file": "mine.bpf.c"}, tmp_path)
    assert windows(scenario) == windows(under(shipped("reno")))


FAILING = """
#include "ackclock.bpf.h"
struct mine { __u32 cuts; };
static void grow(struct ackclock_call *call, struct mine *mine) { call->after.cwnd++; }
static __u32 cut(struct ackclock_call *call, struct mine *mine)
{
	struct tcp_sock *tp = (void *)(__u64)call->lost_out;

	return tp->snd_cwnd / 2;
}
static __u32 undo(struct ackclock_call *call, struct mine *mine) { return call->before.cwnd; }
ACKCLOCK_CONTROL(struct mine, .cong_avoid = grow, .ssthresh = cut, .undo_cwnd = undo);
"""


@needs_clang
def test_a_program_that_fails_ends_the_run_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "mine.bpf.c").write_text(FAILING, "utf-8")
    scenario = under({"kind": "kernel", "file": "mine.bpf.c"}, tmp_path, replicates=3)
    field = "flows.flow.transport.control"
    with refused("failed", field, "ssthresh: reads ", "mine.bpf.c:", "tp->snd_cwnd / 2"):
        simulate(scenario)


def test_models_say_what_they_do_not_know_of_it() -> None:
    predictions = {row["model"]: row for row in predict(under(shipped("aimd"))).tables[
        "predictions"
    ].to_pylist()}  # fmt: skip
    assert predictions["mathis"]["goodput_bit_per_s"] is None
    assert predictions["mathis"]["note"] == "bpf:aimd does not state how its window grows"


def test_the_command_line_is_there() -> None:
    assert cli.get_command(None, "controls") is not None  # type: ignore[arg-type]
