"""Reproductions of published experiments: one record for each table or figure.

They use only public names of ackclock, which finds them through the entry-point group
`ackclock.reproductions`. Append new records to `EXPERIMENTS`: their order is that of `ackclock
reproduce --list`.
"""

from ackclock.reproduction import Experiment
from ackclock_papers import (
    abr,
    bbr,
    codel,
    dctcp,
    hstcp,
    l4s,
    pie,
    rfc9438,
    short_transfers,
    tfrcp,
    westwood,
    wifi,
)
from ackclock_papers.documented import documented
from ackclock_papers.markov import (
    mean_throughput,
    revalidation,
    table_7_2,
    throughput_level,
    throughput_spread,
    validation,
    window_moments,
    windows,
)
from ackclock_papers.own import (
    adaptive_buffers,
    bursts_at_a_router,
    linux_against_engine,
    psi_map,
    rate_control,
    which_formula,
)
from ackclock_papers.westwood import mechanisms

__all__ = ["EXPERIMENTS"]

EXPERIMENTS: tuple[Experiment, ...] = documented(
    (
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
        *short_transfers.EXPERIMENTS,
        *wifi.EXPERIMENTS,
        *hstcp.EXPERIMENTS,
        *bbr.EXPERIMENTS,
        *codel.EXPERIMENTS,
        *pie.EXPERIMENTS,
        *l4s.EXPERIMENTS,
        *dctcp.EXPERIMENTS,
        bursts_at_a_router.EXPERIMENT,
        adaptive_buffers.EXPERIMENT,
        which_formula.EXPERIMENT,
        linux_against_engine.EXPERIMENT,
        psi_map.EXPERIMENT,
        *rate_control.EXPERIMENTS,
    )
)
