"""Environments with one learner each, for gymnasium: one, or many that are stepped together."""

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from ackclock.errors import InputError
from ackclock.gym.intervals import or_else
from ackclock.gym.learners import Learners, Stepped

Observation = NDArray[np.float32]
Info = dict[str, Any]

#: State of a learner at the end of its run.
_AT_END = 1


class SingleFlow(gymnasium.Env[Observation, Any]):
    """A run with one learner.

    Attributes:
        learners: The learners that are stepped: one of one environment.
    """

    def __init__(
        self, scenario: str | Path, flow: str | None = None, *, hidden: bool = False, **options: Any
    ) -> None:
        """Makes an environment.

        Args:
            scenario: A scenario or its file.
            flow: Name of the learner's flow; the first by default.
            hidden: True if `info["hidden"]` has what no sender can know: what waits at each hop.
            options: The other arguments of `Learners`.

        Raises:
            InputError: An argument is wrong, or the flow has several instances.
            ScenarioError: The scenario cannot be run with a learner.
        """
        self.learners = Learners(scenario, flow, **{"threads": 1, **options, "count": 1})
        _check_alone(self.learners)
        self.observation_space = self.learners.observation_space
        self.action_space = self.learners.action_space
        self._hidden = hidden

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, Info]:
        """Begins an episode: draws a path and a seed.

        After a `seed`, the draws are those of the seed.
        """
        super().reset(seed=seed)
        self.learners.seed_with([seed])
        self.learners.reset(np.array([0]))
        return self.learners.observation()[0, 0], self._info()

    def step(self, action: Any) -> tuple[Observation, float, bool, bool, Info]:
        """Orders what the action says, and goes on to the next decision."""
        stepped = self.learners.step(np.asarray(action)[None, None])
        state = stepped.intervals.state[0, 0]
        reward = float(or_else(stepped.reward, 0.0)[0, 0])
        observation = stepped.observation[0, 0]
        info = self._info(stepped)
        return observation, reward, bool(state > _AT_END), bool(state == _AT_END), info

    def save(self, folder: str | Path) -> Path:
        """Writes the episode so far, with `record=True`: see `Learners.save`."""
        return self.learners.save(folder)

    def _info(self, stepped: Stepped | None = None) -> Info:
        """Returns what is known of the interval; what is not known is left out."""
        info = {
            name: values[0].item()
            for name, values in _columns(self.learners, stepped).items()
            if not np.isnan(values[0])
        }
        if self._hidden:
            info["hidden"] = {"backlog_bytes": self.learners.backlogs(0)}
        return info


class SingleFlows(VectorEnv[Observation, Any, NDArray[Any]]):
    """Many runs with one learner each, which the engine steps together on all cores.

    The environment with number i behaves as a `SingleFlow` whose seed is that of the vector plus i.
    """

    def __init__(
        self,
        num_envs: int,
        scenario: str | Path,
        flow: str | None = None,
        *,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        **options: Any,
    ) -> None:
        """Makes environments.

        Args:
            num_envs: Number of environments.
            scenario: A scenario or its file.
            flow: Name of the learner's flow; the first by default.
            autoreset_mode: One of gymnasium's.
            options: The other arguments of `Learners`.

        Raises:
            InputError: An argument is wrong, or the flow has several instances.
            ScenarioError: The scenario cannot be run with a learner.
        """
        self.learners = Learners(scenario, flow, **options, count=num_envs)
        _check_alone(self.learners)
        self.num_envs = num_envs
        self._mode = AutoresetMode(autoreset_mode)
        self.metadata = {**self.metadata, "autoreset_mode": self._mode}
        self.single_observation_space = self.learners.observation_space
        self.single_action_space = self.learners.action_space
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._ended = np.zeros(num_envs, np.bool_)

    def reset(
        self,
        *,
        seed: int | list[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Observation, Info]:
        """Begins an episode in all environments, or in those of `options["reset_mask"]`."""
        seeds: list[int | None]
        if isinstance(seed, list):
            seeds = seed
        else:
            seeds = [None if seed is None else seed + number for number in range(self.num_envs)]
        if len(seeds) != self.num_envs:
            raise ValueError(f"there are {self.num_envs} environments, but {len(seeds)} seeds")
        mask = (options or {}).get("reset_mask")
        which = np.ones(self.num_envs, np.bool_) if mask is None else np.asarray(mask, np.bool_)
        self.learners.seed_with(
            [own if chosen else None for own, chosen in zip(seeds, which, strict=True)]
        )
        self.learners.reset(np.flatnonzero(which))
        self._ended[which] = False
        return self.learners.observation()[:, 0], _columns(self.learners)

    def step(
        self, actions: NDArray[Any]
    ) -> tuple[Observation, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], Info]:
        """Steps all environments; those that have ended begin again by the mode of autoreset."""
        stands = self._ended.copy()
        if stands.any() and self._mode is AutoresetMode.DISABLED:
            raise InputError(
                "contradiction", "autoreset_mode", "is Disabled; reset what has ended before a step"
            )
        stepped = self.learners.step(np.asarray(actions)[:, None], stands)
        state = np.where(stands, 0, stepped.intervals.state[:, 0])
        reward = np.where(stands, 0.0, or_else(stepped.reward[:, 0], 0.0))
        terminated, truncated = state > _AT_END, state == _AT_END
        self._ended = terminated | truncated
        info = _columns(self.learners, stepped)
        observation = stepped.observation[:, 0]
        if stands.any():
            self.learners.reset(np.flatnonzero(stands))
            observation = self.learners.observation()[:, 0]
        elif self._mode is AutoresetMode.SAME_STEP and self._ended.any():
            info |= self._final(observation)
            self.learners.reset(np.flatnonzero(self._ended))
            self._ended = np.zeros(self.num_envs, np.bool_)
            observation = self.learners.observation()[:, 0]
        return observation, reward, terminated, truncated, info

    def _final(self, observation: Observation) -> Info:
        """Returns what the environments that have ended have observed last."""
        last = np.full(self.num_envs, None, dtype=object)
        for number in np.flatnonzero(self._ended):
            last[number] = observation[number].copy()
        ended = self._ended.copy()
        return {"final_obs": last, "_final_obs": ended, "final_info": {}, "_final_info": ended}


def _columns(learners: Learners, stepped: Stepped | None = None) -> Info:
    """Returns what `info` has, by name, each by environment. What is not known is NaN."""
    intervals = learners.intervals()
    info: Info = {
        "time_s": intervals.column("time_s")[:, 0],
        "interval_s": intervals.seconds[:, 0],
        "throughput_bit_per_s": intervals.throughput[:, 0],
        "rtt_s": intervals.rtt[:, 0],
        "path": learners.path.copy(),
        "seed": learners.seed.copy(),
    }
    if stepped is not None:
        info["applied_cwnd_bytes"] = stepped.orders.cwnd[:, 0]
        info["applied_rate_bit_per_s"] = stepped.orders.rate[:, 0]
    return info


def _check_alone(learners: Learners) -> None:
    if learners.learners != 1:
        raise InputError(
            "out-of-range", "flow",
            f'"{learners.paths.flow}" has {learners.learners} instances; a single flow has one, '
            "and ackclock.gym.parallel_env takes several", learners.paths.flow,
        )  # fmt: skip
