"""The cell: a server, 200 ms of wire, an access point, and stations with one flow each.

One flow downloads, the others upload. A station sends data, or ACKs for what it receives. At the
access point data and ACKs have separate queues and access classes: a pending ACK precedes any data.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ackclock import Result
from ackclock.reproduction import Origin, Setting
from ackclock.scenario import Scenario
from ackclock_papers.replicates import of_replicates
from ackclock_papers.scenarios import (
    AMPLE_PACKETS,
    Tree,
    constant,
    hop,
    packets,
    replicates_run,
    scenario,
    seconds_run,
)

Array = NDArray[np.float64]

MSS_BYTES, HEADER_BYTES = 960, 40
PACKET_BYTES = MSS_BYTES + HEADER_BYTES
WIRE_MBIT_PER_S, WIRE_DELAY_S = 100, 0.100
#: Names of the access point's data queue, which is under study, and of the flows.
BUFFER, DOWNLOAD, UPLOAD = "access point", "download", "upload"
MEDIUM: Tree = {"name": "cell", "kind": "edca", "profile": "802.11g", "retry_limit": 11}
DATA: Tree = {"aifsn": 6, "cw_min": 31, "cw_max": 1023}
ACKS: Tree = {"aifsn": 2, "cw_min": 3, "cw_max": 7}
STATION_PACKETS, ACK_PACKETS = 400, 1000
TCP: Tree = {
    "kind": "tcp", "control": {"kind": "reno"}, "preset": "linux-2012",
    "delayed_ack": {"every": "1 packet"},
    "mss": f"{MSS_BYTES} bytes", "header": f"{HEADER_BYTES} bytes",
}  # fmt: skip
WARMUP_S, MEASURED_S = 40.0, 220.0
REPLICATES = 3


def fixed(buffer: int) -> Tree:
    """Returns a buffer of `buffer` packets, the one in service included."""
    return {"kind": "droptail", "limit": packets(buffer), "counts_packet_in_service": True}


def cell(
    name: str, queue: Tree, uploads: int, *, downloads: int = 1, upload_from_s: float = 0.0,
    duration_s: float = WARMUP_S + MEASURED_S, warmup_s: float = WARMUP_S, **more: Any,
) -> Scenario:  # fmt: skip
    """Returns downloads through this queue beside uploads.

    The flows of either kind begin within two seconds.
    """
    stations = [_contender("acks of stations", ACKS, fixed(ACK_PACKETS), scope="per_flow")]
    flows = [_flow(DOWNLOAD, downloads, ["down", BUFFER], ["acks of stations", "up"], 0.0)]
    if uploads:
        stations += [
            _contender("acks of access point", ACKS, fixed(ACK_PACKETS), station="ap"),
            _contender("data of stations", DATA, fixed(STATION_PACKETS), scope="per_flow"),
        ]
        back = ["down", "acks of access point"]
        flows.append(_flow(UPLOAD, uploads, ["data of stations", "up"], back, upload_from_s))
    wires = [
        hop(method, constant(WIRE_MBIT_PER_S), packets(AMPLE_PACKETS), WIRE_DELAY_S)
        for method in ("down", "up")
    ]  # fmt: skip
    hops = [*wires, _contender(BUFFER, DATA, queue, station="ap"), *stations]
    return scenario(
        name, hops, flows, duration_s=duration_s, warmup_s=warmup_s, sample_interval_s=0.5,
        replicates=REPLICATES, shared_media=[MEDIUM], **more,
    )  # fmt: skip


def _contender(name: str, access: Tree, queue: Tree, station: str = "", **more: Any) -> Tree:
    link = {"kind": "edca", "medium": MEDIUM["name"], "rate": "54 Mbit/s"} | access
    return {
        "name": name,
        "link": link | ({"station": station} if station else {}),
        "queue": queue,
        **more,
    }


def _flow(name: str, count: int, route: list[str], back: list[str], from_s: float) -> Tree:
    start = [f"{from_s + since:g} s" for since in (0, 2)]
    return {
        "name": name, "count": count, "route": route, "return": back, "transport": TCP,
        "traffic": {"kind": "bulk"}, "start": start,
    }  # fmt: skip


def mbit_per_s(result: Result, point: int = 0) -> list[float]:
    """Returns the throughput of the download by replicate, headers included as in the paper."""
    return [
        value * PACKET_BYTES / MSS_BYTES
        for value in of_replicates(result, "goodput", DOWNLOAD, point)
    ]


def rtt_ms(result: Result, point: int = 0) -> list[float]:
    """Returns the mean round-trip time of the download by replicate."""
    return of_replicates(result, "rtt", DOWNLOAD, point)


def longest_smoothed_rtt_ms(result: Result, point: int = 0) -> list[float]:
    """Returns the download's largest sampled smoothed round-trip time by replicate, as plotted."""
    rows = result.rows("samples", point=point, flow=DOWNLOAD)
    replicate, time_s, values = (
        rows[name].to_numpy() for name in ("replicate", "time_s", "smoothed_rtt_s")
    )
    late = time_s > WARMUP_S
    return [
        1000 * float(np.nanmax(values[late & (replicate == number)]))
        for number in np.unique(replicate)
    ]


def over_time(result: Result, column: str, point: int = 0) -> tuple[Array, Array]:
    """Returns sampling times, and a column of the access point's data queue by replicate.

    The second array has an axis for replicates and one for times.
    """
    rows = result.rows("hops", point=point, hop=BUFFER)
    replicate, time_s, values = (rows[name].to_numpy() for name in ("replicate", "time_s", column))
    each = [values[replicate == number] for number in np.unique(replicate)]
    return np.asarray(time_s[replicate == replicate[0]], float), np.array(each, float)


def last_limit(result: Result, point: int = 0) -> list[float]:
    """Returns that queue's limit at the end, in packets, by replicate; NaN if it is constant."""
    return [float(values[-1]) for values in over_time(result, "limit_packets", point)[1]]


def settings(results: Mapping[str, Result], **own: str) -> tuple[Setting, ...]:
    """Returns the settings; `own` are one figure's choices, by name with underscores for blanks."""
    stated = {
        "path": (
            f"server, {WIRE_MBIT_PER_S} Mbit/s and {2000 * WIRE_DELAY_S:g} ms, access point, a "
            "flow per station"
        ),
        "cell": (
            "802.11g, SIFS 10 us, slots of 9 us, data at 54 Mbit/s, the rest at 6 Mbit/s, 11 "
            "retries"
        ),
        "ACKs": "a class of their own at stations and access point, CW 3 to 7",
        "TCP": f"Reno with SACK, packets of {PACKET_BYTES} bytes",
    }
    guessed = {
        "AIFSN": (
            "2 for ACKs, which are to go first, 6 for data; the text prints AIFS = 6 for ACKs, and "
            "none for data"
        ),
        "data": "CW 31 to 1023; EIFS after collisions; an ACK for each packet",
        "frames": (
            "OFDM's symbols of 4 us, preamble 20 us, signal extension 6 us, 36 bytes of headers"
        ),
        "other queues": f"{STATION_PACKETS} packets at stations, {ACK_PACKETS} ACKs",
        "other TCP": "preset linux-2012",
        "runs": (
            f"{seconds_run(results, 'duration')} s, the first {seconds_run(results, 'warmup')} s "
            f"not counted, {replicates_run(results)} times"
        ),
    } | {name.replace("_", " "): value for name, value in own.items()}
    return tuple(Setting(name, value, Origin.PRINTED) for name, value in stated.items()) + tuple(
        Setting(name, value, Origin.GUESSED) for name, value in guessed.items()
    )
