import subprocess
import sys
import warnings
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray
from pettingzoo.test import parallel_api_test

import ackclock.gym
from ackclock import InputError, ScenarioError, load, simulate
from ackclock.gym.actions import ACTIONS
from ackclock.gym.intervals import Intervals
from ackclock.gym.learners import Learners
from ackclock.gym.observations import OBSERVATIONS, PRESETS
from ackclock.gym.paths import TEST_SHARE, Paths

NAME = "ackclock/SingleFlow-v0"
VARIED = {
    "vary": ["hops.bottleneck.link.rate=2..10 Mbit/s", "hops.bottleneck.delay=5..50 ms"],
    "design": "random:40",
}


def actions_of(envs: gymnasium.vector.VectorEnv, steps: int) -> list[NDArray[np.float32]]:
    drawn = np.random.default_rng(7)
    shape = (envs.num_envs, *envs.single_action_space.shape)
    return [drawn.uniform(-1, 1, shape).astype(np.float32) for _ in range(steps)]


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("observation", PRESETS)
def test_gymnasiums_checker_has_nothing_to_say(path: Path, action: str, observation: str) -> None:
    env = gymnasium.make(NAME, scenario=path, action=action, observation=observation)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env.unwrapped)


def test_pettingzoos_checker_has_nothing_to_say(game: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parallel_api_test(ackclock.gym.parallel_env(game, "mine"), num_cycles=400)


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_a_vector_is_gymnasiums_vector_of_single_environments(
    path: Path, mode: AutoresetMode
) -> None:
    """Through several ends of episodes, and for any number of threads."""
    ours = [
        gymnasium.make_vec(
            NAME, num_envs=40, scenario=path, action="both", threads=threads, autoreset_mode=mode,
            interval="200 ms", observation="full", **VARIED,
        )
        for threads in (1, 2, 5)
    ]  # fmt: skip

    def single() -> gymnasium.Env:
        return ackclock.gym.SingleFlow(
            path, action="both", interval="200 ms", observation="full", **VARIED
        )

    theirs = gymnasium.vector.SyncVectorEnv([single] * 40, autoreset_mode=mode)
    firsts = [envs.reset(seed=11)[0] for envs in (theirs, *ours)]
    assert all(np.array_equal(firsts[0], other) for other in firsts)
    ends = 0
    for given in actions_of(theirs, 60):
        expected = theirs.step(given)
        ends += int((expected[2] | expected[3]).sum())
        for envs in ours:
            ours_now = envs.step(given)
            for number in range(4):
                np.testing.assert_array_equal(ours_now[number], expected[number])
            if mode is AutoresetMode.SAME_STEP and "final_obs" in expected[4]:
                assert (ours_now[4]["_final_obs"] == expected[4]["_final_obs"]).all()
                for last, other in zip(
                    ours_now[4]["final_obs"], expected[4]["final_obs"], strict=True
                ):
                    np.testing.assert_array_equal(last, other)
    assert ends >= 80


def test_an_episode_is_repeated_by_simulate(path: Path, tmp_path: Path) -> None:
    env = ackclock.gym.SingleFlow(path, record=True, action="both", **VARIED)
    env.reset(seed=3)
    heard: list[float] = []
    drawn, over = np.random.default_rng(1), False
    while not over:
        _, _, terminated, over, _ = env.step(drawn.uniform([-0.6, -0.4], [0.0, 0.1]))
        assert not terminated
        heard.append(float(env.learners.intervals().column("delivered_bytes")[0, 0]))
    scenario = load(env.save(tmp_path / "episode"))
    result = simulate(scenario)
    rows = result.tables["samples"].to_pylist()
    assert rows[-1]["time_s"] == 4.0
    delivered = rows[-1]["delivered_bytes"]
    # An ACK tells of what has arrived half a round trip before.
    assert 0.9 < sum(heard) / delivered <= 1
    again = simulate(scenario)
    assert result.tables["samples"].equals(again.tables["samples"])


def test_the_same_orders_give_the_same_intervals_as_the_sampled_run(
    path: Path, tmp_path: Path
) -> None:
    """A script sets windows that the samples of the run then have."""
    env = ackclock.gym.SingleFlow(path, record=True, action="window", interval="100 ms")
    env.reset(seed=5)
    ordered = {}
    for action in np.random.default_rng(2).uniform(-0.8, -0.2, 30):
        when = float(env.learners.intervals().column("time_s")[0, 0])
        *_, info = env.step(np.array([action], np.float32))
        ordered[when] = info["applied_cwnd_bytes"]
    scenario = load(env.save(tmp_path)).replace(sample_interval="10 ms")
    samples = simulate(scenario).tables["samples"].to_pylist()
    times = sorted(ordered)
    compared = 0
    for row in samples:
        before = [time for time in times if time < row["time_s"]]
        if before and row["time_s"] < times[-1]:
            assert row["cwnd_bytes"] == max(ordered[before[-1]], 1448)
            compared += 1
    assert compared > 200


def test_nothing_is_observed_that_a_sender_cannot_know(path: Path) -> None:
    env = ackclock.gym.SingleFlow(path, observation="full")
    _, info = env.reset(seed=1)
    assert "hidden" not in info
    seen = ackclock.gym.SingleFlow(path, observation="full", hidden=True)
    first, _ = seen.reset(seed=1)
    np.testing.assert_array_equal(first, env.reset(seed=1)[0])
    full = np.array([1.0], np.float32)
    for _ in range(60):
        *_, info = seen.step(full)
        *_, plain = env.step(full)
    assert info["hidden"]["backlog_bytes"]["bottleneck"] > 0
    assert "hidden" not in plain
    # Two hops that differ in nothing that a sender can see before its packets wait in them.
    names = set(OBSERVATIONS)
    assert not [name for name in names if "queue" in name or "link" in name or "other" in name]


def test_training_and_testing_are_split_by_path(path: Path) -> None:
    many = {**VARIED, "design": "random:400"}
    parts = {
        split: {
            tuple(point.assignments.items())
            for point in Paths.of(path, split=split, **many).points
        }
        for split in ("all", "train", "test")
    }  # fmt: skip
    assert parts["train"] | parts["test"] == parts["all"]
    assert not parts["train"] & parts["test"]
    # Four standard deviations of 400 draws.
    assert abs(len(parts["test"]) / 400 - TEST_SHARE) < 4 * (TEST_SHARE * 0.8 / 400) ** 0.5
    salted = Paths.of(path, split="test", salt="other", **many)
    assert {tuple(point.assignments.items()) for point in salted.points} != parts["test"]


def test_a_seed_begins_the_draws_anew_and_episodes_differ(path: Path) -> None:
    env = ackclock.gym.SingleFlow(path, **VARIED)
    drawn = [
        (info["path"], info["seed"]) for _, info in [env.reset(seed=4), env.reset(), env.reset()]
    ]
    assert len(set(drawn)) == 3
    again = [(info["path"], info["seed"]) for _, info in [env.reset(seed=4), env.reset()]]
    assert again == drawn[:2]


def test_a_learner_that_keeps_a_window_has_what_the_window_gives(path: Path) -> None:
    """Windows of 2^(8 + 8 a) packets: 16 fit the pipe of about 21 packets, 64 fill the link."""
    for action, expected in ((-0.5, 16 * 1448 * 8), (-0.25, None)):
        env = ackclock.gym.SingleFlow(path, action="window", observation="full")
        env.reset(seed=1)
        columns = PRESETS["full"][0]
        rows = []
        over = False
        while not over:
            observed, _, _, over, _ = env.step(np.array([action], np.float32))
            rows.append(dict(zip(columns, observed.tolist(), strict=True)))
        steady = rows[20:-1]
        rate = np.mean([row["throughput_mbit_per_s"] for row in steady])
        if expected is None:
            assert rate == pytest.approx(12 * 1448 / 1500, rel=0.02)
            assert np.mean([row["latency_ratio"] for row in steady]) > 1.2
        else:
            rtt = np.mean([row["rtt_mean_s"] for row in steady])
            assert rate == pytest.approx(expected / rtt / 1e6, rel=0.05)


def test_rewards_pay_for_what_is_delivered(path: Path) -> None:
    """A flooder sends more than twice as much as the link takes, and earns less by each reward."""
    for name in ("aurora", "power", "goodput_minus_delay"):
        earned = []
        for action in (-0.45, 0.9):
            env = ackclock.gym.SingleFlow(path, action="both", reward=name)
            env.reset(seed=1)
            rewards = []
            for _ in range(60):
                rate = -0.13 if action < 0 else 0.3  # 12 and 315 Mbit/s
                _, reward, _, over, _ = env.step(np.array([action, rate], np.float32))
                rewards.append(reward)
                if over:
                    break
            earned.append(np.mean(rewards[10:]))
        assert earned[0] > earned[1], name


def test_a_reward_may_be_a_function_of_all_environments_at_once(path: Path) -> None:
    calls = []

    def reward(intervals: Intervals) -> NDArray[np.float64]:
        calls.append(intervals.rows.shape)
        return intervals.throughput

    envs = gymnasium.make_vec(NAME, num_envs=20, scenario=path, reward=reward)
    envs.reset(seed=1)
    _, earned, *_, info = envs.step(np.zeros((20, 1), np.float32))
    assert calls == [(20, 1, 22)]
    np.testing.assert_array_equal(earned, info["throughput_bit_per_s"])


def test_clocks_by_acks_and_by_events(path: Path) -> None:
    env = ackclock.gym.SingleFlow(path, clock="ack", interval=4, action="window")
    env.reset(seed=1)
    for _ in range(50):
        env.step(np.array([-0.4], np.float32))
        assert env.learners.intervals().column("acks")[0, 0] == 4
    path.write_text(path.read_text().replace("0.002", "0.01"))
    env = ackclock.gym.SingleFlow(path, clock="event", action="window", observation=["loss_share"])
    env.reset(seed=1)
    lost = 0
    for _ in range(400):
        observed, _, _, over, info = env.step(np.array([-0.4], np.float32))
        assert over or info["interval_s"] < 0.1
        lost += observed[0] > 0
        if over:
            break
    assert lost > 15  # of about 40 losses, some of them in one round trip


def test_several_learners_decide_at_their_own_times(game: Path, tmp_path: Path) -> None:
    env = ackclock.gym.parallel_env(game, "mine", record=True)
    _, infos = env.reset(seed=2)
    decided = dict.fromkeys(env.possible_agents, 0)
    alone = 0
    while env.agents:
        acting = {agent: np.zeros(1, np.float32) for agent in env.agents}
        _, rewards, _, _, infos = env.step(acting)
        who = [agent for agent, info in infos.items() if info["decides"]]
        alone += len(who) == 1
        assert all(rewards[agent] == 0 for agent in set(rewards) - set(who))
        for agent in who:
            decided[agent] += 1
    assert alone > 20
    assert all(count > 20 for count in decided.values())
    result = simulate(load(env.save(tmp_path / "game")))
    assert [row["flow"] for row in result.tables["flows"].to_pylist()] == ["mine"] * 3 + ["cross"]


def test_mistakes_have_one_line(path: Path, game: Path) -> None:
    for options, words in (
        ({"action": "windw"}, 'unknown action "windw"; did you mean "window"'),
        ({"observation": "aurorra"}, 'did you mean "aurora"'),
        ({"observation": ["rtt"]}, 'unknown column "rtt"'),
        ({"reward": "fame"}, 'unknown reward "fame"'),
        ({"flow": "yours"}, 'unknown flow "yours"'),
        ({"clock": "second"}, 'unknown clock "second"'),
        ({"interval": 0}, "is 0; choose round-trip times"),
        ({"split": "validation"}, 'unknown part "validation"'),
        ({"history": 0}, "is 0; choose 1 to 1000"),
        ({"step": 0.0}, "is 0.0; choose more than 0"),
    ):
        with pytest.raises(InputError, match=words):
            ackclock.gym.SingleFlow(path, **options)
    with pytest.raises(InputError, match="has 3 instances"):
        ackclock.gym.SingleFlow(game, "mine")
    with pytest.raises(InputError, match="make the environment with record=True"):
        ackclock.gym.SingleFlow(path).save(path.parent)


def test_a_transport_without_pacing_takes_no_rate(path: Path) -> None:
    transport = 'transport = { kind = "tcp", control = { kind = "cubic" }'
    path.write_text(path.read_text().replace(transport, transport + ', pacing = "off"'))
    with pytest.raises(ScenarioError, match="keeps no rate"):
        ackclock.gym.SingleFlow(path)
    ackclock.gym.SingleFlow(path, action="window")


def test_simulate_refuses_a_flow_without_a_program(path: Path) -> None:
    scenario = load(path).replace({"flows.mine.transport.control": {"kind": "external"}})
    with pytest.raises(ScenarioError, match=r"use ackclock\.gym"):
        simulate(scenario)


def test_memory_of_four_thousand_environments(path: Path) -> None:
    """At most 50 kB each by what the process holds; 200 MB were asked for 4,096."""
    program = f"""
import resource
import gymnasium
import numpy as np
import ackclock.gym
envs = gymnasium.make_vec({NAME!r}, num_envs=64, scenario={str(path)!r})
envs.reset(seed=1)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
envs = gymnasium.make_vec({NAME!r}, num_envs=2048, scenario={str(path)!r})
envs.reset(seed=1)
for _ in range(3):
    envs.step(np.zeros((2048, 1), np.float32))
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1984)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert float(done.stdout) < 50


def test_nothing_of_gymnasium_is_imported_otherwise() -> None:
    program = "import sys, ackclock; ackclock.simulate; print('gymnasium' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"


def test_a_fork_before_the_first_step_is_harmless(path: Path) -> None:
    envs = gymnasium.vector.AsyncVectorEnv(
        [lambda: ackclock.gym.SingleFlow(path, threads=2)] * 2, context="fork"
    )
    try:
        observed, _ = envs.reset(seed=1)
        envs.step(np.zeros((2, 1), np.float32))
    finally:
        envs.close()
    single = ackclock.gym.SingleFlow(path)
    np.testing.assert_array_equal(observed[1], single.reset(seed=2)[0])


def test_learners_count(game: Path) -> None:
    learners = Learners(game, "mine", count=2)
    assert (learners.count, learners.learners) == (2, 3)
