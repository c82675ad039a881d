"""Tables about the connections of a measurement.

Each row is a dict of plain data, for a terminal, a report or JSON.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ackclock.capture import limiting_factor
from ackclock.capture.cause import marks
from ackclock.capture.estimates import KEYS, SAMPLED
from ackclock.metrics.tables import column, grouped
from ackclock.result.result import Result
from ackclock.result.tables import groups
from ackclock.table import Cell, Column, Table, Written, number, scaled, table
from ackclock.units import shown

Rows = list[dict[str, Any]]

_COLUMNS = (
    Column("connection"),
    Column("MB"),
    Column("time", "s", 5),
    Column("goodput", "Mbit/s"),
    Column("retransmitted", "%", 6),
    Column("losses", spare=1),
    Column("marks", spare=7),
    Column("RTT min", "ms", 4),
    Column("RTT mean", "ms"),
    Column("RTT p99", "ms", 3),
    Column("window", "kB", 2),
    Column("limit"),
    Column("captured at", spare=0),
)
_PREDICTION_COLUMNS = (
    Column("connection"),
    Column("measured", "Mbit/s"),
    Column("model"),
    Column("predicted", "Mbit/s"),
    Column("loss", "%", 2),
    Column("RTT", "ms", 1),
    Column("verdict", spare=0),
    Column("note"),
)

# Reasons why packets of a capture are neither TCP nor UDP, in words that follow their number.
_SKIPPED = {
    "not_ip": "not IP",
    "other_transport": "neither TCP nor UDP, perhaps tunnelled or encrypted",
    "fragments": "later fragments",
    "too_short": "cut too short",
    "malformed": "malformed",
    "other_link": "of an unknown link type",
    "without_time": "without a time",
    "damaged": "damaged",
}


def largest(
    result: Result, top: int | None = None, columns: Sequence[str] = (), **wanted: Any
) -> Rows:
    """Returns the rows of the table `connections` that carried payload, the most payload first.

    Args:
        result: Result of `measure`.
        top: Maximum number of rows.
        columns: The columns to return; all by default.
        wanted: Columns that must have these values.
    """
    rows = result.rows("connections", **wanted)
    rows = rows.filter(pc.greater(rows["payload_bytes"], 0))
    order = pc.sort_indices(rows["payload_bytes"], sort_keys=[("", "descending")])
    rows = rows.take(order if top is None else order[:top])
    listed: Rows = (rows.select(columns) if columns else rows).to_pylist()
    return listed


# Tables that connections are judged by, and the columns that are read; none for all.
_READ: dict[str, tuple[str, ...]] = {
    "flows": (), "samples": SAMPLED, "limit_periods": (), "rtt_histogram": (),
}  # fmt: skip


def apart(result: Result, connections: Rows) -> list[Result]:
    """Returns one result in memory for each connection, with the rows of that connection only.

    Each table is read once.
    """
    flows = list(dict.fromkeys(row["flow"] for row in connections))
    tables = {
        name: result.rows(name, columns, flow=flows).combine_chunks()
        for name, columns in _READ.items()
    }
    places = {name: _places(table) for name, table in tables.items()}
    keys = [tuple(row[name] for name in KEYS) for row in connections]
    return [
        Result(
            result.run,
            {name: table.take(places[name].get(key, _NOWHERE)) for name, table in tables.items()},
        )
        for key in keys
    ]


_NOWHERE = np.array([], np.int64)


def _places(table: pa.Table) -> dict[tuple[Any, ...], NDArray[np.int64]]:
    """Returns the row numbers of each connection."""
    numbered = table.select(KEYS).append_column("row", pa.array(np.arange(table.num_rows)))
    return {key: rows["row"] for key, rows in grouped(numbered, KEYS, ("row",))}


def others(result: Result, shown: int) -> int:
    """Returns how many more connections carried payload than are shown."""
    return max(
        int(pc.sum(pc.greater(result.tables["connections"]["payload_bytes"], 0)).as_py() or 0)
        - shown,
        0,
    )


def connection_rows(result: Result, top: int) -> Rows:
    """Returns one row for each of the largest connections.

    A row is that of the table `connections` with these fields added: `heading`, `answer`, `cause`,
    `goodput_bit_per_s`, `rtt_mean_s`, `rtt_min_s`, `rtt_max_s`, `rtt_p99_s`, `timeouts`, and the
    `assignments` of its point.
    """
    rows = []
    chosen = largest(result, top)
    for connection, alone in zip(chosen, apart(result, chosen), strict=True):
        [flow] = alone.tables["flows"].to_pylist() or [{}]
        added = {
            name: flow.get(name)
            for name in ("goodput_bit_per_s", "rtt_mean_s", "rtt_min_s", "rtt_max_s")
        }
        added["rtt_p99_s"] = _quantile(alone.tables["rtt_histogram"], 0.99)
        answer = limiting_factor.answer(alone, connection, _predictions(result, connection))
        words = {
            "heading": limiting_factor.heading(result, connection),
            "answer": answer.words,
            "cause": answer.cause,
        }
        assigned = {"assignments": result.points[connection["point"]]["assignments"]}
        rows.append(connection | added | {"timeouts": flow.get("timeouts")} | words | assigned)
    return rows


def _predictions(result: Result, connection: dict[str, Any]) -> Rows:
    """Returns what models say of a connection; empty if none was asked."""
    if "predictions" not in result.tables:
        return []
    keys = {name: connection[name] for name in KEYS}
    rows: Rows = result.rows("predictions", **keys).to_pylist()
    return [row | {"inputs": dict(row["inputs"] or {})} for row in rows]


def _quantile(law: pa.Table, share: float) -> float | None:
    """Returns a quantile of the samples in a histogram, in seconds; None without samples."""
    if law.num_rows == 0:
        return None
    ends, samples = column(law, "high_s"), column(law, "samples")
    return float(np.quantile(ends, share, weights=samples, method="inverted_cdf"))


def connection_table(rows: Rows, note: str = "") -> Table:
    """Returns the table of `connection_rows`."""
    return table("Connections", _COLUMNS, map(_cells, rows), note)


def _cells(row: dict[str, Any]) -> list[Cell]:
    share = f"{100 * row['limit_share']:.0f} %" if row["limit_share"] is not None else ""
    sent_again, sent = row["retransmitted_packets"], row["data_packets"]
    return [
        row["heading"],
        scaled(row["unique_bytes"], 1e-6),
        row["end_s"] - row["start_s"],
        scaled(row["goodput_bit_per_s"], 1e-6),
        None if sent_again is None or sent == 0 else sent_again / sent * 100,
        _losses(row),
        row["marks_lower"],
        scaled(row["rtt_min_s"], 1e3),
        scaled(row["rtt_mean_s"], 1e3),
        scaled(row["rtt_p99_s"], 1e3),
        scaled(row["in_flight_mean_bytes"], 1e-3),
        f"{_limit_in_words(row)} {share}".strip() if row["limit"] else None,
        row["vantage"],
    ]


def brief_table(rows: Rows, title: str) -> Table:
    """The table of `connection_rows` for a terminal: numbered, a few columns."""
    marked = any(marks(row) for row in rows)
    columns = (
        Column("#", numeric=True),
        Column("from > to"),
        Column("goodput", "Mbit/s"),
        Column("lost", "%", 1),
        *([Column("marked", "%", 1)] if marked else []),
        Column("RTT mean (min)", "ms", 2, numeric=True),
        Column("limited by"),
    )
    cells = []
    for place, row in enumerate(rows, start=1):
        losses, sent = row["losses_estimate"], row["data_packets"]
        rtt, least = (scaled(row[name], 1e3) for name in ("rtt_mean_s", "rtt_min_s"))
        smallest = number(None) if least is None else f"{least:.3g}"
        lost = None if losses is None or not sent else 100 * losses / sent
        goodput = scaled(row["goodput_bit_per_s"], 1e-6)
        cells.append(
            [
                place,
                row["heading"],
                None if goodput is None else Written(goodput, f"{goodput:.3g}"),
                None if lost is None else Written(lost, f"{lost:.2g}"),
                *([_marked_share(row)] if marked else []),
                None if rtt is None else Written(rtt, f"{rtt:.3g} ({smallest})"),
                row["cause"] or (row["limit"] and _SHORT.get(row["limit"], _words(row["limit"]))),
            ]
        )
    return table(title, columns, cells)


def _marked_share(row: dict[str, Any]) -> Cell:
    """Formats the share of packets marked; marks that only CWR tells of are fewer."""
    count, sent = marks(row), row["data_packets"]
    return Written(count, f"{100 * count / sent:.2g}") if sent else None


def _limit_in_words(row: dict[str, Any]) -> str:
    """Returns the cause behind the limit with it in brackets, or the limit."""
    limit = limiting_factor.LIMITS[row["limit"]].removeprefix("the ")
    return f"{row['cause']} ({limit})" if row["cause"] else limit


def _words(name: str) -> str:
    return name.replace("_", " ")


#: Limits whose own name is too long for a terminal.
_SHORT = {"congestion_window": "cwnd", "bottleneck_rate": "link"}


def prediction_words(rows: Rows, predicted: Rows) -> str:
    """A sentence with the models' predictions for the largest connection; empty if none applies."""
    if not rows:
        return ""
    of_first = [
        row
        for row in predicted
        if row["goodput_bit_per_s"] is not None and all(row[key] == rows[0][key] for key in KEYS)
    ]
    if not of_first:
        return ""
    answers = ", ".join(f"{row['label']} {row['goodput_bit_per_s'] * 1e-6:.3g}" for row in of_first)
    inputs = of_first[0]["inputs"] or {}
    given = [f"{100 * inputs['loss']:.2g} % loss"] if "loss" in inputs else []
    given += [f"{1e3 * inputs['rtt']:.3g} ms"] if "rtt" in inputs else []
    conditions = f" at {' and '.join(given)}" if given else ""
    return f"Models predict for connection 1{conditions}, in Mbit/s: {answers}."


def _losses(row: dict[str, Any]) -> Cell:
    """Formats the estimated number of losses with its bounds."""
    low, estimate, high = (row[f"losses_{name}"] for name in ("lower", "estimate", "upper"))
    if estimate is None:
        return None
    bounds = "" if low is None or high is None or low == high else f" ({low:.0f} to {high:.0f})"
    return Written(estimate, f"{estimate:.0f}{bounds}")


def prediction_table(
    result: Result, rows: Rows, title: str = "Predictions of models", note: str = ""
) -> Table:
    """Returns the table of rows of `predictions`."""
    cells = (
        [
            limiting_factor.heading(result, row),
            _between(row, "measured"),
            row["label"],
            _between(row, "goodput"),
            scaled((row["inputs"] or {}).get("loss"), 100),
            scaled((row["inputs"] or {}).get("rtt"), 1e3),
            row["verdict"],
            row["note"],
        ]
        for row in rows
    )
    return table(title, _PREDICTION_COLUMNS, cells, note)


def _between(row: dict[str, Any], name: str) -> Cell:
    value, low, high = (
        scaled(row[f"{name}{end}_bit_per_s"], 1e-6) for end in ("", "_low", "_high")
    )
    if value is None or (low is None and high is None):
        return value
    return Written(
        value, f"{number(value)} ({number(low)} to {'∞' if high is None else number(high)})"
    )


def reservations(result: Result) -> list[str]:
    """Returns the warnings about a measurement, one line each."""
    lines = []
    for capture in result.run["captures"]:
        named = " and ".join(capture["files"])
        if capture["damage"]:
            lines.append(f"{named}: damaged {capture['damage']}; what could be read was measured")
        skipped = passed_over([capture])
        if skipped:
            lines.append(f"{named}: passed over {skipped}")
        lines += [f"{named}: {words}" for words in (*_left_out(capture), *_clock(capture))]
    if result.partial:
        lines.append("interrupted: what had been read by then was measured")
    connections = result.tables["connections"]
    unscaled = pc.equal(connections["receive_window_scaled"], 0)
    unknown = int(pc.sum(pc.and_(unscaled, pc.equal(connections["begins"], "midway"))).as_py() or 0)
    if unknown:
        which = "1 direction" if unknown == 1 else f"{unknown} directions"
        lines.append(
            f"{which} of {connections.num_rows}: the capture begins after the SYN, so that the "
            "scale of the receiver's window is not known"
        )
    return lines + _lacking(connections) + _without_estimates(result)


def _left_out(captured: dict[str, Any]) -> list[str]:
    """Returns warnings about connections that were left out for lack of memory."""
    counts = captured.get("left_out", {})
    lines = []
    if counts.get("empty"):
        lines.append(
            f"{_connections(counts['empty'])} without payload that got no answer or were reset "
            "are not listed: more than are followed at a time, or have rows in all, as of a scan "
            "of ports"
        )
    if counts.get("ended_early"):
        lines.append(
            f"{_connections(counts['ended_early'])} ended early, those silent for the longest "
            "time: more than are followed at a time; measure a part of the capture"
        )
    return lines


def _clock(captured: dict[str, Any]) -> list[str]:
    """Returns warnings about wrong timestamps."""
    repairs = captured.get("clock", {})
    lines = []
    if repairs.get("wrong_times"):
        count = repairs["wrong_times"]
        which = "1 packet has a time" if count == 1 else f"{count} packets have times"
        lines.append(f"{which} far from those of the packets around, and got that of a neighbour")
    if repairs.get("set_back"):
        count = repairs["set_back"]
        times, by = ("once", "by") if count == 1 else (f"{count} times", "by up to")
        lines.append(
            f"its clock was set back {times}, {by} {repairs['largest_step_s']:.3g} s; times go on "
            "from there, and what lasted over it seems shorter than it was"
        )
    return lines


def _connections(count: int) -> str:
    return "1 connection" if count == 1 else f"{count} connections"


def _lacking(connections: pa.Table) -> list[str]:
    """Returns warnings if the capture lacks packets, or the whole of a direction."""
    missed, missed_bytes = (
        np.nan_to_num(column(connections, name).astype(float))
        for name in ("missed_packets", "missed_bytes")
    )
    unseen = (missed > 0) & (column(connections, "packets") == 0)
    lines = []
    if unseen.any():
        flow = connections["flow"][int(np.argmax(unseen))].as_py()
        lines.append(
            f"{int(unseen.sum())} of {connections.num_rows} directions: only the ACKs were "
            f"captured, no data ({flow}); capture where both directions pass, at the sender or the "
            "receiver"
        )
    partly = (missed > 0) & ~unseen
    directions = int(partly.sum())
    if directions == 0:
        return lines
    payload = missed_bytes[partly].sum()
    of_payload = f", with {shown(float(payload), 'bytes')} of payload," if payload > 0 else ""
    return [
        *lines,
        f"{directions} of {connections.num_rows} directions: the capture lacks "
        f"{int(missed[partly].sum())} packets at least{of_payload} that were acknowledged or "
        "echoed; counts, losses and loss rates are too low there, what limited is less sure; "
        "capture with a larger buffer (tcpdump -B) or less of each packet (-s 128)",
    ]


def _without_estimates(result: Result) -> list[str]:
    """Returns a warning if there are connections without the rate estimates asked for."""
    if not result.run["estimators"]:
        return []
    estimates = groups(result.tables["rate_estimates"].select(KEYS), list(KEYS)).aggregate([])
    estimated = {tuple(row.values()) for row in estimates.to_pylist()}
    rows = largest(result, columns=(*KEYS, "vantage"))
    missing = sum(
        row["vantage"] != "sender" and tuple(row[name] for name in KEYS) not in estimated
        for row in rows
    )
    if missing == 0:
        return []
    which = "1 direction" if missing == 1 else f"{missing} directions"
    return [
        f"no rate estimates of {which} with payload: not captured near the sender, or nothing "
        "tells where, so that the ACKs are not seen as they come to the sender (pressed together "
        "further on); capture at the sender"
    ]


def passed_over(captured: Iterable[dict[str, Any]]) -> str:
    """Formats as `12 packets: 10 not IP, 2 later fragments`; empty for no packets."""
    counts: dict[str, int] = {}
    for capture in captured:
        skipped = {_SKIPPED.get(name, name): count for name, count in capture["skipped"].items()}
        skipped |= {"UDP of more flows than are followed": capture.get("unfollowed_datagrams", 0)}
        for words, count in skipped.items():
            counts[words] = counts.get(words, 0) + count
    parts = [f"{count} {words}" for words, count in counts.items() if count]
    total = sum(counts.values())
    return f"{total} packet{'' if total == 1 else 's'}: {', '.join(parts)}" if parts else ""
