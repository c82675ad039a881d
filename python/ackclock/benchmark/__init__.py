"""The speed of the engine: on this machine, beside other programs, and on one's own scenario.

Speeds depend on the machine and on what else it does, so only ratios say something. Programs take
turns (`turns`), so that other load affects all of them. The dumbbell on which they are compared is
in `network`. Those that a machine has are found by `programs`. What a scenario spends on records of
it is measured by `features`.
"""

from ackclock.benchmark.features import compare_features
from ackclock.benchmark.programs import compare_programs
from ackclock.benchmark.turns import Turns, take_turns

__all__ = ["Turns", "compare_features", "compare_programs", "take_turns"]
