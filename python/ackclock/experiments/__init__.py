"""Published experiments, each with the question, the numbers as published, the computation and a verdict.

One record for each table or figure. Append new ones to `EXPERIMENTS`; the order is that of `ackclock reproduce --list`.
"""

from collections.abc import Iterable

from ackclock.experiments import (
    abr,
    adaptive_buffers,
    bursts_at_a_router,
    hstcp,
    psi_map,
    rate_control,
    rfc9438,
    slow_start,
    tfrcp,
    westwood,
    which_formula,
    wifi,
)
from ackclock.experiments.experiment import Experiment, Run, analytic, measured
from ackclock.experiments.markov import (
    mean_throughput,
    revalidation,
    table_7_2,
    throughput_level,
    throughput_spread,
    validation,
    window_moments,
    windows,
)
from ackclock.experiments.outcome import (
    Band,
    Cell,
    Claim,
    Comparison,
    Kind,
    Origin,
    Outcome,
    Setting,
    Table,
    Verdict,
    plain,
)
from ackclock.experiments.westwood import mechanisms
from ackclock.suggestion import suggestion

__all__ = [
    "EXPERIMENTS",
    "Band",
    "Cell",
    "Claim",
    "Comparison",
    "Experiment",
    "Kind",
    "Origin",
    "Outcome",
    "Run",
    "Setting",
    "Table",
    "Verdict",
    "analytic",
    "chosen",
    "measured",
    "plain",
]

EXPERIMENTS: tuple[Experiment, ...] = (
    table_7_2.EXPERIMENT,
    *validation.EXPERIMENTS,
    revalidation.EMULATED,
    revalidation.SIMULATED,
    *windows.EXPERIMENTS,
    window_moments.EXPERIMENT,
    windows.WINDOW_DEPENDENT,
    mean_throughput.LINK_RATES,
    mean_throughput.WINDOW_LIMITS,
    throughput_spread.BY_LINK_RATE,
    throughput_spread.BY_WINDOW_LIMIT,
    mean_throughput.MEAN_ROUND_TRIPS,
    throughput_spread.BY_SPREAD_OF_RTT,
    throughput_level.EXPERIMENT,
    *rfc9438.EXPERIMENTS,
    *westwood.EXPERIMENTS,
    *mechanisms.EXPERIMENTS,
    *abr.EXPERIMENTS,
    *tfrcp.EXPERIMENTS,
    *slow_start.EXPERIMENTS,
    *wifi.EXPERIMENTS,
    *hstcp.EXPERIMENTS,
    bursts_at_a_router.EXPERIMENT,
    adaptive_buffers.EXPERIMENT,
    which_formula.EXPERIMENT,
    psi_map.EXPERIMENT,
    *rate_control.EXPERIMENTS,
)


def chosen(names: Iterable[str], among: Iterable[Experiment]) -> list[Experiment]:
    """Of these experiments those that are named, or whose group is, in their order, each once.

    Raises:
        ValueError: Nothing is called so.
    """
    among = list(among)
    wanted = set(names)
    known = {experiment.name for experiment in among} | {experiment.group for experiment in among}
    for name in sorted(wanted - known):
        hint = suggestion(name, sorted(known), "see ackclock reproduce --list")
        raise ValueError(f'"{name}" is no experiment or group of them; {hint}')
    return [experiment for experiment in among if {experiment.name, experiment.group} & wanted]
