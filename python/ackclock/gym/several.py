"""An environment of several learners, for PettingZoo's parallel interface.

Learners have intervals of their own, so they do not decide together: a step goes to the next moment
at which one decides. An action counts only for a learner that decides then; `info["decides"]` says
who does after a step. Decisions are at whole milliseconds, so that few steps are enough.
"""

from pathlib import Path
from typing import Any

import numpy as np
from gymnasium.spaces import Space
from pettingzoo import ParallelEnv

from ackclock.errors import InputError
from ackclock.gym import learners as stepped_together

_AT_END = 1
#: Most learners: unsynchronised intervals make as many steps.
MOST_LEARNERS = 64

Each = dict[str, Any]


class Learners(ParallelEnv):  # type: ignore[misc]  # it has no types
    """The instances of a flow, each a learner: `learners/0`, `learners/1` and so on."""

    metadata = {"name": "ackclock", "is_parallelizable": True}  # noqa: RUF012 as its base has

    def __init__(self, scenario: str | Path, flow: str | None = None, **options: Any) -> None:
        """Makes an environment; the options are the arguments of `ackclock.gym.learners.Learners`.

        Raises:
            InputError: An argument is wrong, or there are more than 64 learners.
            ScenarioError: The scenario cannot be run with learners.
        """
        self.learners = stepped_together.Learners(
            scenario, flow, **{"reward": "fair", "threads": 1, **options, "count": 1}
        )
        name, count = self.learners.paths.flow, self.learners.learners
        if count > MOST_LEARNERS:
            raise InputError(
                "out-of-range", "flow", f"has {count} instances; the most is {MOST_LEARNERS}", name
            )
        self.possible_agents = [f"{name}/{number}" for number in range(count)]
        self.agents: list[str] = []
        self.render_mode = None

    def observation_space(self, agent: str) -> Space[Any]:
        """Returns the space of what a learner observes."""
        return self.learners.observation_space

    def action_space(self, agent: str) -> Space[Any]:
        """Returns the space of a learner's actions."""
        return self.learners.action_space

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Each, Each]:
        """Begins an episode, and goes on to the first decision."""
        self.learners.seed_with([seed])
        self.learners.reset(np.array([0]))
        self.agents = list(self.possible_agents)
        return self._by_agent(self.learners.observation()[0]), self._infos()

    def step(self, actions: Each) -> tuple[Each, Each, Each, Each, Each]:
        """Orders what the actions of learners that decide say, and goes on to the next decision."""
        numbers = {agent: number for number, agent in enumerate(self.possible_agents)}
        shape = np.shape(self.learners.action_space.sample())
        given = np.zeros((1, len(self.possible_agents), *shape))
        for agent, action in actions.items():
            given[0, numbers[agent]] = action
        stepped = self.learners.step(given)
        intervals = stepped.intervals
        rewards = np.where(intervals.decides[0], np.nan_to_num(stepped.reward[0]), 0.0)
        terminated, truncated = intervals.state[0] > _AT_END, intervals.state[0] == _AT_END
        results = (
            self._by_agent(stepped.observation[0]),
            self._by_agent(rewards.tolist()),
            self._by_agent(terminated.tolist()),
            self._by_agent(truncated.tolist()),
            self._infos(),
        )
        ended = terminated | truncated
        self.agents = [agent for agent in self.agents if not ended[numbers[agent]]]
        return results

    def save(self, folder: str | Path) -> Path:
        """Writes the episode so far, with `record=True`: see `Learners.save`."""
        return self.learners.save(folder)

    def _by_agent(self, values: Any) -> Each:
        each = dict(zip(self.possible_agents, values, strict=True))
        return {agent: each[agent] for agent in self.agents}

    def _infos(self) -> Each:
        intervals = self.learners.intervals()
        columns = {
            "decides": intervals.decides[0].tolist(),
            "time_s": intervals.column("time_s")[0].tolist(),
            "interval_s": intervals.seconds[0].tolist(),
        }
        rows = zip(*columns.values(), strict=True)
        return self._by_agent([dict(zip(columns, row, strict=True)) for row in rows])
