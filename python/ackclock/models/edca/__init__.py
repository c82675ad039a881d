"""Saturated stations of 802.11: DCF, and classes of EDCA.

The timing of frames is in `phy`, the attempt rate of identical stations in `backoff`, their
throughput in `saturation`. For stations that differ (`access_class`), `classes` follows their
`counters`. The records are `dcf` and `edca`; `on_a_path` derives their inputs from a flow.

    times = edca.exchange(edca.ERP_OFDM, size=1036, rate=54e6, basic_rate=6e6)
    every = edca.saturation.with_aifs(edca.ERP_OFDM, times, aifsn=6)
    edca.saturation.solve(11, edca.Backoff(31, 1023, 11), **every).rate
"""

from ackclock.models.edca import classes, record, saturation
from ackclock.models.edca.access_class import AccessClass
from ackclock.models.edca.backoff import Backoff
from ackclock.models.edca.classes import Contention
from ackclock.models.edca.phy import (
    DSSS,
    DSSS_SHORT,
    ERP_OFDM,
    ERP_OFDM_BITS,
    FHSS,
    HT,
    OFDM,
    PROFILES,
    Exchange,
    Phy,
    exchange,
)
from ackclock.models.edca.saturation import Saturation

MODELS = (record.DCF, record.EDCA)

__all__ = [
    "DSSS",
    "DSSS_SHORT",
    "ERP_OFDM",
    "ERP_OFDM_BITS",
    "FHSS",
    "HT",
    "MODELS",
    "OFDM",
    "PROFILES",
    "AccessClass",
    "Backoff",
    "Contention",
    "Exchange",
    "Phy",
    "Saturation",
    "classes",
    "exchange",
    "record",
    "saturation",
]
