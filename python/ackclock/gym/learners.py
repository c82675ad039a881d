"""Environments with learners, stepped together: what all interfaces of `ackclock.gym` are made of.

A step crosses the border to the engine once, whatever the number of environments. Observations,
rewards and orders are computed on arrays over all of them.
"""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from ackclock import engine
from ackclock.elements.facts import whole
from ackclock.errors import InputError, ScenarioError
from ackclock.gym import observations
from ackclock.gym.actions import ACTIONS, STEP, Orders
from ackclock.gym.intervals import WIDTH, Array, Intervals, or_else
from ackclock.gym.paths import Paths
from ackclock.gym.rewards import REWARDS, Reward
from ackclock.result.folder import write_whole
from ackclock.units import seconds

_MIX = tuple(np.uint64(value) for value in (
    0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB,
))  # fmt: skip
#: Observations are clipped to this, both ways.
_LARGEST = 1e6
#: Seeds of episodes are below this, so that any file can hold them.
_SEEDS = np.uint64(2**53 - 1)


class Stepped(NamedTuple):
    """The outcome of a step, by environment and learner.

    Attributes:
        observation: The last intervals' columns, oldest interval first.
        reward: Reward of the last interval.
        intervals: What was heard.
        orders: What was applied.
    """

    observation: NDArray[np.float32]
    reward: Array
    intervals: Intervals
    orders: Orders


class Learners:
    """Environments whose learners are stepped together.

    Attributes:
        paths: The paths from which episodes draw.
        count: Number of environments.
        learners: Number of learners in each.
        observation_space, action_space: Those of one learner.
        path, seed: Number of the path and the engine's seed of each environment's episode.
    """

    def __init__(
        self,
        scenario: str | Path,
        flow: str | None = None,
        *,
        count: int = 1,
        interval: float | str = 1.0,
        clock: str = "interval",
        action: str = "scale",
        step: float = STEP,
        observation: str | Sequence[str] = "aurora",
        history: int | None = None,
        reward: str | Reward = "aurora",
        vary: Sequence[str] = (),
        design: str = "random:256",
        split: str = "all",
        salt: str = "",
        threads: int = 0,
        record: bool = False,
    ) -> None:
        """Makes environments that have not begun.

        Args:
            scenario: A scenario or its file.
            flow: Name of the learners' flow; the first by default.
            vary: Parameters whose values make paths, as for `sweep`.
            design: Kind and number of the paths over what varies.
            split: `all`, `train` or `test`.
            salt: Changes which paths are for tests.
            count: Number of environments.
            interval: Length of an interval: smoothed round-trip times, or a time such as `50 ms`.
            clock: End of an interval: `interval`; `ack`, after `interval` ACKs; `event`, at a loss,
                a mark or a timeout and at the latest after a round-trip time.
            action: One of `ACTIONS`.
            step: Largest change of the rate by `scale`, as a share of it.
            observation: One of `PRESETS`, or names of columns.
            history: Intervals that are observed; by default those of the preset.
            reward: One of `REWARDS`, or a function of `Intervals`.
            threads: Threads of the engine; 0 for one for each core.
            record: True if the orders of an episode are kept for `save`.

        Raises:
            InputError: An argument is wrong.
            ScenarioError: The scenario cannot be run with learners.
        """
        self.paths = Paths.of(scenario, flow, vary=vary, design=design, split=split, salt=salt)
        if action not in ACTIONS:
            raise InputError.unknown("action", "action", action, ACTIONS)
        if not 0 < step <= 10:
            raise InputError("out-of-range", "step", f"is {step}; choose more than 0 to 10", step)
        self.action, self._step = ACTIONS[action], step
        self.reward = _reward(reward)
        names, kept = observations.chosen(observation, history)
        self._columns = [observations.OBSERVATIONS[name].values for name in names]
        self._engine = engine.Environments(
            list(self.paths.trees), self.paths.place, self.paths.flow,
            count=count, clock=_clock(clock, interval), threads=threads,
        )  # fmt: skip
        self._check_pacing()
        self.count, self.learners = count, self._engine.learners()
        self.action_space = self.action.space
        self.observation_space = spaces.Box(
            -_LARGEST, _LARGEST, (kept * len(names),), dtype=np.float32
        )
        shape = (count, self.learners)
        self._history = np.zeros((*shape, kept, len(names)), np.float32)
        self._most = np.zeros(shape)
        self._intervals = Intervals(np.full((*shape, WIDTH), np.nan), self._most)
        self._roots, self._episodes = np.zeros(count, np.uint64), np.zeros(count, np.uint64)
        self.path, self.seed = np.zeros(count, np.int64), np.zeros(count, np.uint64)
        self._recorded: list[list[str]] | None = [[] for _ in range(count)] if record else None

    def _check_pacing(self) -> None:
        """Refuses a transport without pacing for actions that order a rate."""
        if not self.action.paces:
            return
        resolved = engine.resolve(json.loads(self.paths.trees[0]), self.paths.place)
        [flow] = [each for each in resolved["flows"] if each["name"] == self.paths.flow]
        if whole(flow, "transport", "pacing") == "off":
            raise ScenarioError(
                "contradiction", f"flows.{self.paths.flow}.transport.pacing",
                '"off" keeps no rate, which the action orders; choose "control"',
            )  # fmt: skip

    def seed_with(self, seeds: Sequence[int | None]) -> None:
        """Sets the seed from which an environment draws its episodes; None keeps what it has.

        An environment without a seed draws one from the machine.
        """
        for number, seed in enumerate(seeds):
            if seed is not None:
                self._roots[number] = np.uint64(seed % 2**64)
                self._episodes[number] = 0
            elif self._roots[number] == 0 and self._episodes[number] == 0:
                [drawn] = np.random.SeedSequence().generate_state(1, np.uint64)
                self._roots[number] = drawn

    def reset(self, which: NDArray[np.int64]) -> None:
        """Begins the next episode of environments with these numbers: draws path and seed."""
        drawn = _mix(_mix(self._roots[which]) ^ self._episodes[which])
        self._episodes[which] += np.uint64(1)
        self.path[which] = (drawn % np.uint64(len(self.paths.points))).astype(np.int64)
        self.seed[which] = _mix(drawn) & _SEEDS
        begun = zip(
            which.tolist(), self.path[which].tolist(), self.seed[which].tolist(), strict=True
        )
        self._history[which] = 0
        self._most[which] = 0
        if self._recorded is not None:
            for number in which.tolist():
                self._recorded[number].clear()
        self._take(self._engine.reset(list(begun)), which)

    def step(self, actions: NDArray[Any], stands: NDArray[np.bool_] | None = None) -> Stepped:
        """Gives the orders that actions stand for, and goes on to the next decisions.

        Args:
            actions: By environment and learner.
            stands: True for environments that do not move.
        """
        if stands is None:
            stands = np.zeros(self.count, np.bool_)
        orders = self.action.orders(np.asarray(actions, np.float64), self._intervals, self._step)
        whole_orders = Orders(np.rint(orders.cwnd), np.rint(orders.rate))
        if self._recorded is not None:
            self._record(whole_orders, stands)
        given = np.empty((self.count, self.learners, 2))
        given[..., 0], given[..., 1] = whole_orders
        self._take(self._engine.step(given.tobytes(), stands.tobytes()), np.flatnonzero(~stands))
        return Stepped(
            self.observation(), self.reward(self._intervals), self._intervals, whole_orders
        )

    def _take(self, raw: bytes, moved: NDArray[np.int64]) -> None:
        """Takes what environments with these numbers have just observed."""
        rows = np.frombuffer(raw).reshape(self.count, self.learners, WIDTH)
        self._intervals = Intervals(rows, self._most)
        heard = np.zeros((self.count, self.learners), np.bool_)
        heard[moved] = True
        heard &= self._intervals.decides | (self._intervals.state != 0)
        throughput = or_else(self._intervals.throughput, 0.0)
        np.maximum(self._most, throughput, out=self._most, where=heard)
        latest = np.empty(self._history[:, :, -1].shape, np.float32)
        for number, column in enumerate(self._columns):
            latest[..., number] = column(self._intervals)
        latest[np.isnan(latest)] = 0
        np.clip(latest, -_LARGEST, _LARGEST, out=latest)
        kept = self._history
        if heard.all():
            kept[:, :, :-1] = kept[:, :, 1:]
            kept[:, :, -1] = latest
        else:
            kept[heard, :-1] = kept[heard, 1:]
            kept[heard, -1] = latest[heard]

    def observation(self) -> NDArray[np.float32]:
        """Returns what learners observe, a copy: environments by learners by observed numbers."""
        return self._history.reshape(self.count, self.learners, -1).copy()

    def intervals(self) -> Intervals:
        """Returns what was heard last."""
        return self._intervals

    def backlogs(self, environment: int) -> dict[str, int]:
        """Returns what waits at each shared hop, in bytes by name, which no sender can know."""
        hops = self.paths.points[self.path[environment]].scenario.tree["hops"]
        waiting = self._engine.backlogs(environment)
        return dict(zip((hop["name"] for hop in hops), waiting, strict=False))

    def _record(self, orders: Orders, stands: NDArray[np.bool_]) -> None:
        assert self._recorded is not None
        times, decides = self._intervals.column("time_s"), self._intervals.decides
        for number in np.flatnonzero(~stands):
            for learner in np.flatnonzero(decides[number]):
                cells = [
                    "" if np.isnan(value) else f"{value:.0f}"
                    for value in (orders.cwnd[number, learner], orders.rate[number, learner])
                ]
                row = f"{times[number, learner]:.9f},{','.join(cells)},{learner}"
                self._recorded[number].append(row)

    def save(self, folder: str | Path, environment: int = 0) -> Path:
        """Writes the episode so far as `scenario.toml` and `actions.csv`, which `simulate` repeats.

        Returns:
            The scenario's file.

        Raises:
            InputError: Nothing was recorded.
        """
        if self._recorded is None:
            raise InputError(
                "missing", "record", "is not on; make the environment with record=True"
            )
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        rows = ["time_s,cwnd_bytes,rate_bit_per_s,instance", *self._recorded[environment]]
        scenario = self.paths.scripted(int(self.path[environment]), int(self.seed[environment]))
        write_whole(folder / "actions.csv", "\n".join(rows) + "\n")
        write_whole(folder / "scenario.toml", scenario.to_toml())
        return folder / "scenario.toml"


def _mix(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Returns the finaliser of SplitMix64 (Steele, Lea, Flood 2014) of each."""
    golden, first, second = _MIX
    with np.errstate(over="ignore"):
        mixed = values + golden
        mixed = (mixed ^ (mixed >> np.uint64(30))) * first
        mixed = (mixed ^ (mixed >> np.uint64(27))) * second
        return mixed ^ (mixed >> np.uint64(31))


def _reward(reward: str | Reward) -> Callable[[Intervals], Array]:
    if not isinstance(reward, str):
        return reward
    if reward not in REWARDS:
        raise InputError.unknown("reward", "reward", reward, REWARDS)
    return REWARDS[reward]


def _clock(clock: str, interval: float | str) -> tuple[str, float]:
    """Returns the engine's clock."""
    if clock == "event":
        return "congestion", 0.0
    if clock not in ("interval", "ack"):
        raise InputError.unknown("clock", "clock", clock, ("interval", "ack", "event"))
    length = seconds(interval) if isinstance(interval, str) else float(interval)
    if not 1e-4 <= length <= 1e6 or (clock == "ack" and length < 1):
        raise InputError(
            "out-of-range", "interval",
            f"is {interval}; choose round-trip times, for example 1, a time of at least 0.1 ms, "
            "for example 50 ms, or at least 1 ACK", interval,
        )  # fmt: skip
    if clock == "ack":
        return "acks", float(round(length))
    return ("seconds" if isinstance(interval, str) else "round_trips"), length
