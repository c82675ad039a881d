"""Environments in which a program learns a congestion control.

A learner is a TCP flow whose control is `external`: it observes what a sender knows, and orders a
window, a rate or both. The engine, its queues and its other flows are those of `simulate`.


    import gymnasium

    import ackclock.gym

    env = gymnasium.make("ackclock/SingleFlow-v0", scenario="wan.toml")
    envs = gymnasium.make_vec("ackclock/SingleFlow-v0", num_envs=1024, scenario="wan.toml")
    game = ackclock.gym.parallel_env("dumbbell.toml", flow="learners")

They need the extra `gym`: `pip install 'ackclock[gym]'`.
"""

from ackclock.errors import LackingError

try:
    import gymnasium
except ImportError as error:
    raise LackingError(
        "lacking", "gymnasium", "is not installed; pip install 'ackclock[gym]'"
    ) from error

from ackclock.gym.actions import ACTIONS
from ackclock.gym.environments import SingleFlow, SingleFlows
from ackclock.gym.intervals import Intervals
from ackclock.gym.observations import OBSERVATIONS, PRESETS
from ackclock.gym.rewards import REWARDS

__all__ = [
    "ACTIONS",
    "OBSERVATIONS",
    "PRESETS",
    "REWARDS",
    "Intervals",
    "SingleFlow",
    "SingleFlows",
    "parallel_env",
]

gymnasium.register(
    "ackclock/SingleFlow-v0",
    entry_point="ackclock.gym.environments:SingleFlow",
    vector_entry_point="ackclock.gym.environments:SingleFlows",
)


def parallel_env(*arguments: object, **options: object) -> object:
    """Makes an environment of several learners for PettingZoo: `ackclock.gym.several.Learners`."""
    try:
        from ackclock.gym.several import Learners
    except ImportError as error:
        raise LackingError(
            "lacking", "pettingzoo", "is not installed; pip install 'ackclock[gym]'"
        ) from error
    return Learners(*arguments, **options)  # type: ignore[arg-type]
