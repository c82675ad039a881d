"""Learned policies as controls in integers, against the float policies that they are made of."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from ackclock import InputError, simulate
from ackclock.cli import cli
from ackclock.controls.from_policy import source
from ackclock.controls.policy import COLUMNS, Network, Policy, Tree

from .paths import needs_clang, under


def network(hidden: int, activation: str, units: int = 16) -> Network:
    """A network that slows down when the round-trip time is above 1.2 times the least, or on loss.

    All its units take part, with random weights besides.
    """
    drawn = np.random.default_rng(hidden + units)
    sizes = [12, *[units] * hidden, 1]
    layers = [
        (drawn.normal(0, 0.1 / np.sqrt(before), (after, before)), drawn.normal(0, 0.02, after))
        for before, after in pairwise(sizes)
    ]
    # The last interval's columns: latency, loss, send ratio, throughput.
    layers[0][0][0, -4:] += [2.0, 6.0, 0.0, 0.0]
    layers[0][1][0] -= 2.4
    for weights, _ in layers[1:-1]:
        weights[0, 0] += 1.0
    layers[-1][0][0, 0] -= 1.5
    if activation == "relu":
        layers[-1][1][0] += 0.3
    return Network(tuple(layers), activation)


def tree() -> Tree:
    """Slows down on loss above 5 %, and when the round-trip time is above 1.2 times the least."""
    return Tree(
        feature=np.array([9, 8, -1, -1, -1]),
        threshold=np.array([0.05, 1.2, 0.0, 0.0, 0.0]),
        left=np.array([1, 2, 0, 0, 0]),
        right=np.array([4, 3, 0, 0, 0]),
        value=np.array([0.0, 0.0, 0.25, -0.3, -0.8]),
    )


POLICIES = {
    "tanh-1": network(1, "tanh"),
    "tanh-2": network(2, "tanh", 32),
    "relu-2": network(2, "relu"),
    "tree": tree(),
}


class Beside:
    """The float policy, given the calls that a program heard."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.inputs = [0.0] * (len(policy.columns) * policy.history)
        self.rtts: list[int] = []
        self.most = 0.0
        self.begun: dict[str, Any] | None = None

    def hear(self, call: dict[str, Any], rate: float) -> tuple[float, float] | None:
        """Returns rate in bytes/s and window in segments if the call ends an interval.

        Args:
            call: The call.
            rate: The program's rate before it; 0 before the first decision.
        """
        if call["rtt_us"] > 0:
            self.rtts.append(call["rtt_us"])
        begun = self.begun
        assert begun is not None
        srtt = (call["srtt_us8"] // 8) / 1e6
        elapsed = (call["now_ns"] - begun["now_ns"]) / 1e9
        if srtt == 0 or (rate and elapsed < srtt * self.policy.interval):
            return None
        self.observe(call, begun, elapsed)
        action = self.policy(self.inputs)
        change = self.policy.step * action
        before = rate or call["cwnd_before"] * call["mss"] / srtt
        after = before * (1 + change) if change >= 0 else before / (1 - change)
        after = min(max(after, 1250), 2**32 - 1)
        self.rtts, self.begun = [], call
        return after, max(2 * after * srtt / call["mss"], 4)

    def observe(self, call: dict[str, Any], begun: dict[str, Any], elapsed: float) -> None:
        delivered, lost = (call[name] - begun[name] for name in ("delivered", "lost"))
        in_flight = [
            end["packets_out"] - end["sacked_out"] - end["lost_out"] + end["retrans_out"]
            for end in (begun, call)
        ]
        throughput = delivered * call["mss"] / elapsed
        self.most = max(self.most, throughput)
        sent = delivered + lost + in_flight[1] - in_flight[0]
        columns = {
            "latency_ratio": np.mean(self.rtts) / call["min_rtt_us"] if self.rtts else 1.0,
            "loss_share": lost / (lost + delivered) if lost + delivered else 0.0,
            "send_ratio": sent / delivered if delivered and sent < 1000 * delivered else 1.0,
            "throughput_of_most": throughput / self.most if self.most else 0.0,
        }
        width = len(self.policy.columns)
        self.inputs = self.inputs[width:] + [float(columns[name]) for name in self.policy.columns]


@needs_clang
@pytest.mark.parametrize("name", POLICIES)
def test_the_program_decides_as_the_policy_does(name: str, tmp_path: Path) -> None:
    """At most 1 % of the decisions differ by more than a packet, as was asked."""
    policy = Policy(POLICIES[name], COLUMNS, 3, 0.5)
    (tmp_path / "policy.bpf.c").write_text(source(policy, "policy"))
    control = {"kind": "kernel", "file": "policy.bpf.c"}
    result = simulate(under(control, tmp_path, **{"flows.flow.control_calls": True}))
    calls = result.tables["control_calls"].to_pylist()
    beside = Beside(policy)
    decisions, differ, rate, actions = 0, 0, 0, set()
    for call in calls:
        if call["kind"] == "init":
            beside.begun = call
        if call["kind"] != "cong_control":
            continue
        decided = beside.hear(call, rate)
        if decided is not None:
            decisions += 1
            differ += abs(call["cwnd_after"] - int(decided[1])) > 1
            actions.add(round(call["result"] / max(rate, 1), 2))
        elif rate:
            assert call["result"] == rate
        rate = call["result"] if beside.begun is not None and decisions else 0
    assert decisions > 300
    assert len(actions) > (2 if name == "tree" else 10), "the policy does more than one thing"
    assert differ <= 0.01 * decisions, f"{differ} of {decisions}"
    goodput = result.tables["flows"].to_pylist()[0]["goodput_bit_per_s"]
    assert goodput > 4e6, "a policy that reacts to delay uses the link"


def test_a_policy_is_read_as_it_was_written(tmp_path: Path) -> None:
    for decides in POLICIES.values():
        policy = Policy(decides, COLUMNS, 3, 0.5, 2.0)
        policy.save(tmp_path / "policy.npz")
        again = Policy.load(tmp_path / "policy.npz")
        inputs = np.random.default_rng(1).random(12)
        assert again(inputs) == policy(inputs)
        assert (again.columns, again.history, again.step, again.interval) == (COLUMNS, 3, 0.5, 2.0)


@needs_clang
def test_the_command_writes_a_source_that_can_be_checked(tmp_path: Path) -> None:
    file = tmp_path / "policy.npz"
    Policy(network(1, "tanh"), COLUMNS, 3, 0.5).save(file)
    target = tmp_path / "mine.bpf.c"
    outcome = CliRunner().invoke(cli, ["controls", "from-policy", str(file), "-o", str(target)])
    assert outcome.exit_code == 0, outcome.output
    assert target.exists()
    outcome = CliRunner().invoke(cli, ["controls", "from-policy", str(file), "-o", str(target)])
    assert outcome.exit_code == 2
    assert "is there already" in outcome.stderr


def test_what_no_control_can_be_made_of_is_refused(tmp_path: Path) -> None:
    wide = Network(((np.zeros((33, 12)), np.zeros(33)), (np.zeros((1, 33)), np.zeros(1))), "tanh")
    for words, arguments in (
        ("there may be 2 hidden layers of at most 32 units", (wide, COLUMNS, 3, 0.5)),
        ("have the sizes 4 → 16 → 1", (network(1, "tanh"), COLUMNS, 1, 0.5)),
        ("are 16 inputs; there may be 1 to 13", (network(1, "tanh"), COLUMNS, 4, 0.5)),
        ('unknown column of a policy "acks"', (network(1, "tanh"), ("acks",), 1, 0.5)),
        ("is 0 with an interval", (network(1, "tanh"), COLUMNS, 3, 0)),
        ('unknown activation "gelu"', (Network(network(1, "tanh").layers, "gelu"), COLUMNS, 3, 1)),
    ):
        with pytest.raises(InputError, match=words):
            Policy(*arguments)
    looping = Tree(np.array([0, 0]), np.zeros(2), np.array([1, 0]), np.array([1, 0]), np.zeros(2))
    with pytest.raises(InputError, match="do not make a tree"):
        Policy(looping, ("latency_ratio",), 1, 0.5)
    for content in (b"", b"not a policy", b"PK\x03\x04"):
        (tmp_path / "bad.npz").write_bytes(content)
        with pytest.raises(InputError, match="is no policy"):
            Policy.load(tmp_path / "bad.npz")
    np.savez(tmp_path / "other.npz", w0=np.zeros((1, 1)))
    with pytest.raises(InputError, match="is no policy"):
        Policy.load(tmp_path / "other.npz")
