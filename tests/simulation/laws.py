"""Laws of every result, checked by tests with other subjects, too."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from ackclock import Result, units

from .rows import column, columns, keys

DROPS = ("drops_queue", "drops_aqm", "drops_impairment", "drops_retries")
#: Columns of `hops` that only grow.
COUNTS = ("arrivals", "departures", "served_bytes", "busy_s", *DROPS, "marks")


def check(result: Result) -> None:
    """Asserts the laws for all tables."""
    _numbers(result)
    for point, _ in enumerate(result.points):
        for replicate in range(result.run["replicates"]):
            _hops(result, point, replicate)
            _flows(result, point, replicate)
            _samples(result, point, replicate)


def _numbers(result: Result) -> None:
    """Asserts that unknown values are null, and that none is infinite or negative."""
    for name, table in result.tables.items():
        for column_name in table.column_names:
            values = table[column_name]
            if pa.types.is_dictionary(values.type):
                assert values.null_count == 0, f"{name}.{column_name}"
                continue
            numbers = values.drop_null().to_numpy()
            assert np.isfinite(numbers).all(), f"{name}.{column_name}"
            assert (numbers >= 0).all(), f"{name}.{column_name}"


def _hops(result: Result, point: int, replicate: int) -> None:
    described = result.points[point]["scenario"]
    marking = any(flow["transport"].get("ecn") for flow in described["flows"])
    for hop in described["hops"]:
        if hop["scope"] != "shared":
            continue
        key = {"point": point, "replicate": replicate, "hop": hop["name"]}
        rows = columns(result, "hops", *COUNTS, *_HOP, **key)
        assert (np.diff(rows["time_s"]) > 0).all()
        for name in COUNTS:
            assert (np.diff(rows[name]) >= 0).all(), f"{hop['name']}: {name} only grows"
        lost = sum(rows[name] for name in DROPS)
        inside = rows["arrivals"] - lost - rows["departures"]
        if all(impairment["kind"] != "duplicate" for impairment in hop["impairments"]):
            assert (inside >= rows["backlog_packets"]).all(), (
                "arrivals = departures + drops + what is inside"
            )
        assert (rows["busy_s"] <= rows["time_s"] * (1 + 1e-12)).all()
        grown = {name: np.diff(rows[name]) for name in ("busy_s", "time_s")}
        assert (grown["busy_s"] <= grown["time_s"] + 2e-9).all(), "busy no longer than time passes"
        assert ((rows["backlog_packets"] == 0) == (rows["backlog_bytes"] == 0)).all()
        limit = hop["queue"].get("limit", "")
        # A queue that holds more than its limit counts states no capacity: held ACKs, for example.
        is_capacity = hop["queue"]["facts"]["capacity"] is not None
        if is_capacity and limit.endswith(("packets", "packet")):
            assert rows["backlog_packets"].max() <= float(limit.split()[0]), (
                "no queue exceeds its limit"
            )
        if hop["link"]["kind"] == "constant":
            rate = units.bit_per_s(hop["link"]["rate"])
            assert (rows["rate_bit_per_s"] == rate).all()
            np.testing.assert_allclose(rows["capacity_bytes"], rate / 8 * rows["time_s"], 1e-9)
            # The end of a service is rounded down to the nanosecond.
            assert (rows["served_bytes"] * 8 <= rate * (rows["time_s"] * (1 + 1e-12) + 1e-9)).all()
        capacity = rows["capacity_bytes"]
        is_known = ~np.isnan(capacity)
        assert (np.diff(capacity[is_known]) >= 0).all(), "capacity only grows"
        # Means are rounded down to a bit per second, the end of a service to the nanosecond.
        rounding = rows["time_s"] / 8 + 1e-9 * (capacity + rows["rate_bit_per_s"].max() / 8)
        if (
            hop["link"]["kind"] != "trace"
        ):  # an opportunity of Mahimahi carries more of large packets
            assert (rows["served_bytes"] <= capacity + rounding)[is_known].all(), (
                "no more than it could have sent"
            )
        assert marking or rows["marks"][-1] == 0
        _classes(result, key, {name: int(rows[name][-1]) for name in COUNTS})


_HOP = ("time_s", "backlog_packets", "backlog_bytes", "rate_bit_per_s", "capacity_bytes")


def _classes(result: Result, key: dict, counted: dict[str, int]) -> None:
    """Asserts that the classes of a queue account for all that the queue did."""
    table = result.tables.get("classes")
    rows = [] if table is None else table.to_pylist()
    of_hop = [row for row in rows if all(row[name] == value for name, value in key.items())]
    if of_hop:
        assert sum(row["marks"] for row in of_hop) == counted["marks"]
        dropped = counted["drops_queue"] + counted["drops_aqm"]
        assert sum(row["drops"] for row in of_hop) == dropped


def _flows(result: Result, point: int, replicate: int) -> None:
    described = result.points[point]["scenario"]
    key = {"point": point, "replicate": replicate}
    times = column(result, "hops", "time_s", **key)
    last = times[-1] if len(times) else 0.0
    counted = columns(result, "hops", "marks", *DROPS, **key, time_s=last)
    dropped = sum(counted[name].sum() for name in DROPS)
    if all(hop["scope"] == "shared" for hop in described["hops"]):
        marks = counted["marks"].sum()
        reactions = np.nansum(column(result, "flows", "ecn_reactions", **key))
        # If a segment with CWR is lost, the echo stays on. A packet counter that may have wrapped,
        # without byte counters, is taken for the most marks that fit (RFC 9768 appendix A.2).
        guesses = any(
            flow["transport"].get("ecn_feedback") == "accurate"
            and not flow["transport"]["accurate_ecn"]["option"]
            for flow in described["flows"]
        )
        assert guesses or reactions <= marks + dropped, "an echo is reacted to once"
        assert column(result, "flows", "dropped_packets", **key).sum() == dropped, (
            "each drop is reported once"
        )
    for flow in described["flows"]:
        rows = columns(result, "flows", *_FLOW, **key, flow=flow["name"])
        mss = units.data_bytes(flow["transport"]["mss"])
        assert "arrivals" in flow or len(rows["delivered_bytes"]) == flow["count"]
        assert (rows["delivered_bytes"] <= rows["sent_packets"] * mss).all(), (
            "only what was sent arrives"
        )
        assert not (rows["retransmitted_packets"] > rows["sent_packets"]).any()
        assert not (
            rows["goodput_bit_per_s"] > rows["throughput_bit_per_s"] * (1 + 1e-12)
        ).any() or _warm(described)
        assert not (rows["rtt_min_s"] > rows["rtt_max_s"]).any()
        assert (np.isnan(rows["goodput_bit_per_s"]) == (rows["measured_s"] == 0)).all()
        if flow["traffic"]["kind"] == "transfer":
            size = flow["traffic"]["size"]
            if isinstance(size, str):
                whole = units.data_bytes(size)
                assert (rows["delivered_bytes"] <= whole).all()
                assert (
                    np.isnan(rows["completion_time_s"]) == (rows["delivered_bytes"] < whole)
                ).all()


_FLOW = (
    "delivered_bytes",
    "sent_packets",
    "retransmitted_packets",
    "goodput_bit_per_s",
    "throughput_bit_per_s",
    "rtt_min_s",
    "rtt_max_s",
    "measured_s",
    "completion_time_s",
)


def _warm(described: dict) -> bool:
    """Returns whether there is a warm-up.

    After it more may be delivered than arrives, from behind a hole.
    """
    return units.seconds(described["warmup"]) > 0


def _samples(result: Result, point: int, replicate: int) -> None:
    described = result.points[point]["scenario"]
    mss = {flow["name"]: units.data_bytes(flow["transport"]["mss"]) for flow in described["flows"]}
    for flow, instance in keys(result, point, replicate)[:20]:
        key = {"point": point, "replicate": replicate, "flow": flow, "instance": instance}
        rows = columns(result, "samples", *_SAMPLE, **key)
        assert (np.diff(rows["time_s"]) > 0).all()
        for name in ("delivered_bytes", "sent_packets"):
            assert (np.diff(rows[name]) >= 0).all(), f"{flow}: {name} only grows"
        assert rows["delivered_bytes"][-1] == column(result, "flows", "delivered_bytes", **key)[0]
        assert not (rows["cwnd_bytes"] < mss[flow]).any(), "no window below one segment"
        assert not (rows["rto_s"] == 0).any()


_SAMPLE = ("time_s", "delivered_bytes", "sent_packets", "cwnd_bytes", "rto_s")
