"""The UDP flows of a measurement: what a capture tells although it is encrypted."""

from collections.abc import Iterator
from typing import Any

import pyarrow.compute as pc

from ackclock.result.result import Result
from ackclock.table import Cell, Column, Table, Written, scaled, table

#: What nobody on the way can measure, in one line.
ENCRYPTED = (
    "packets of QUIC are encrypted, so what was lost or sent again cannot be measured; the table "
    "datagrams has rates, gaps, sizes and the round trips of the spin bit"
)


def rows(result: Result, top: int | None = None) -> list[dict[str, Any]]:
    """Returns the rows of the table `datagrams`, the most payload first; at most `top`."""
    if "datagrams" not in result.tables:
        return []
    flows = result.tables["datagrams"]
    order = pc.sort_indices(flows["payload_bytes"], sort_keys=[("", "descending")])
    listed: list[dict[str, Any]] = flows.take(order if top is None else order[:top]).to_pylist()
    return listed


def warnings(result: Result) -> Iterator[str]:
    """Yields that QUIC is encrypted, if a flow is of QUIC."""
    if any(row["quic_version"] for row in rows(result)):
        yield ENCRYPTED


def brief_table(flows: list[dict[str, Any]], others: int) -> Table:
    """Returns the table of `rows` for a terminal."""
    columns = (
        Column("from > to"),
        Column("packets"),
        Column("rate", "Mbit/s"),
        Column("longest gap", "ms"),
        Column("payload", "bytes", numeric=True),
        Column("spin RTT mean (min)", "ms", numeric=True),
        Column("QUIC"),
    )
    directions = len(flows) + others
    which = f"; the {len(flows)} with most payload" if others else ""
    title = f"UDP: {directions} direction{'' if directions == 1 else 's'}{which}"
    return table(title, columns, map(_cells, flows))


def _cells(row: dict[str, Any]) -> list[Cell]:
    rate, gap = scaled(row["rate_bit_per_s"], 1e-6), scaled(row["longest_gap_s"], 1e3)
    mean, least = scaled(row["spin_rtt_mean_s"], 1e3), scaled(row["spin_rtt_min_s"], 1e3)
    version = row["quic_version"]
    return [
        row["flow"],
        row["datagrams"],
        None if rate is None else Written(rate, f"{rate:.3g}"),
        None if gap is None else Written(gap, f"{gap:.3g}"),
        Written(row["largest_bytes"], f"{row['smallest_bytes']} to {row['largest_bytes']}"),
        None if mean is None else Written(mean, f"{mean:.3g} ({least:.3g})"),
        _VERSIONS.get(version, version) or None,
    ]


_VERSIONS = {"0x00000001": "1", "0x6b3343cf": "2"}
