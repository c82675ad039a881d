"""The compiled engine. Pure data in, pure data out. Raises the errors of `ackclock.errors`."""

from collections.abc import Callable, Set
from typing import Any

import numpy as np
from numpy.typing import NDArray

def version() -> str:
    """Version of the engine."""

def is_checking() -> bool:
    """Whether the engine was built with debug assertions."""

def parse_toml(text: str) -> str:
    """The JSON tree of a scenario's text."""

def places(text: str, fields: list[tuple[str, str]]) -> list[str]:
    """Line and column ("12:9") of fields, each with the code of its error; empty if unknown."""

def unit_remedy(number: str, unit: str, dimensions: list[str]) -> str | None:
    """A remedy for an unknown unit; dimensions are the base units of `units`."""

def parse_assignment(text: str) -> tuple[str, str]:
    """`path=value` as path and JSON value."""

def set(tree_json: str, path: str, value_json: str) -> str:
    """The tree with one value replaced."""

def expand(tree_json: str) -> list[tuple[str, str]]:
    """For each point of the sweep: a JSON list of [path, value], and the point's tree."""

def resolve(tree_json: str, folder: str) -> str:
    """The checked tree with all defaults filled in; files are looked up in `folder`."""

def schema() -> str:
    """The JSON schema of a scenario."""

def registry() -> str:
    """Everything registered, as JSON."""

def simulate(
    points: list[str],
    folder: str,
    *,
    threads: int,
    memory: int | None,
    packets: bool,
    pcap_folder: str | None,
    finished: Set[tuple[int, int]],
    take: Callable[[list[tuple[int, int]], dict[str, Any]], None] | None,
    progress: Callable[[float], None] | None,
) -> dict[str, Any]:
    """Runs every replicate of every point that is not `finished`; hands over those that have ended to `take`.

    Returns `{"complete": bool, "keys": [(int, int)], "tables": {name: {column: array}}, "stopped":
    …}`: those that ended and were not handed over, and the rows of those that were stopped. Raises
    `LackingError`, before anything is run, if it needs more bytes than `memory`.
    """

def serve_host() -> int:
    """Becomes a host of an emulation, if a supervisor is at standard input; the status to exit with."""

def doctor(host_command: list[str]) -> str:
    """What this machine can do of an emulation, as JSON; the command is one that calls `serve_host`."""

def prepare_emulation(
    points: list[str], folder: str, host_command: list[str], *, device: str
) -> str:
    """Starts two hosts for a moment and checks every point.

    A JSON object: `kernel`, `device` (`tun` or `packet_socket`), `priority` (`SCHED_FIFO`, or why
    it is ordinary), `processors`, `warnings` (lines). Raises `ScenarioError` and `LackingError`.
    """

def emulate(
    points: list[str],
    folder: str,
    output: str,
    host_command: list[str],
    *,
    device: str,
    pcap: bool,
    side_by_side: int,
    progress: Callable[[str], None] | None,
    take: Callable[[str, dict[str, Any]], None],
) -> dict[str, Any]:
    """Runs every replicate of every point in real time, so many at once.

    Writes `record/point-P-replicate-R.ackrec` and on request captures in `pcap/` to `output` as it
    goes. `progress` is told about ten times a second a JSON object, `take` the rows of the table
    `tcp_info` as they come. Returns `{"complete": bool, "failure": str | None, "warnings": [str],
    "tables": {name: {column: array}}}`, with every other table even if no run got as far as a row.
    """

def replay(points: list[str], folder: str, output: str) -> str:
    """Replays the records in `output`.

    A JSON list of `{point, replicate, arrivals, decisions, complete, difference}`, without runs
    that have no record. Raises `OSError` if one is damaged.
    """

def measure(
    captures: list[tuple[list[str], int, int]],
    runs: list[tuple[list[tuple[str, int]], float]],
    way: str,
    *,
    interval_s: float,
    segments: bool,
    estimators: list[tuple[str, str]],
    progress: Callable[[str], None] | None,
    take: Callable[[str, dict[str, Any]], None],
) -> dict[str, Any]:
    """Measures captures, each of the given files (`-` for standard input), point and replicate, one after the other.

    `runs` are, for each of them, name and number of instances of each flow, and the warm-up in s,
    of the run of `way` (`simulate`, `emulate`) that wrote it; none, and an empty word, for a
    capture from elsewhere. `progress` is told about ten times a second a JSON object (`fraction`,
    `packets`), `take` rows of tables as they come. Returns `{"complete": bool, "captures": JSON,
    "tables": {name: {column: array}}}`: of each capture `files`, `point`, `replicate`, `packets`,
    `datagrams`, `skipped` (reason to number), `damage` (a line or null), `begins_unix_ns`; and
    every table without rows. Raises `CaptureError`.
    """

def check_estimators(estimators: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Names and JSON trees of rate estimators, the trees with all defaults filled in. Raises `ScenarioError`."""

def rate_estimates(
    estimators: list[tuple[str, str]],
    mss: int,
    *,
    time_s: NDArray[np.float64],
    ack: NDArray[np.uint32],
    rtt_s: NDArray[np.float64],
    smoothed_rtt_s: NDArray[np.float64],
    cwnd_bytes: NDArray[np.float64],
    delivered_bytes: NDArray[np.float64],
) -> dict[str, Any]:
    """What estimators say after each ACK of a trace, by name as a column in bit/s. Raises `ScenarioError`.

    Contiguous arrays of equal length, not a number where nothing is known; times never fall.
    """

def trace_rates(trace_json: str, folder: str, interval_ns: int | None = None) -> tuple[int, bytes]:
    """How long a trace lasts in ns, and the float64 mean rates in bit/s of successive intervals; none without one.

    The tree is that of a link of kind `trace`, without its kind. Raises `ScenarioError`.
    """

# Arrays in: contiguous float64, indices int64. Laws out: the bytes of float64.

def climbing_chains(
    survive: NDArray[np.float64],
    lose: NDArray[np.float64],
    down: NDArray[np.int64],
    above: NDArray[np.float64],
) -> bytes:
    """The stationary laws of chains that climb one state per step: a row of probabilities each, one down map.

    Of a fall the share `above` (which may be empty) goes one state higher than the map says.
    """

def jumping_chain(
    offsets: NDArray[np.int64], targets: NDArray[np.int64], probabilities: NDArray[np.float64]
) -> bytes:
    """The stationary law of a chain with sparse rows that climbs by a few states at once."""

def climbing_chain_with_channel(
    survive: NDArray[np.float64], lose: NDArray[np.float64], down: NDArray[np.int64]
) -> bytes:
    """The stationary law of such a chain beside a channel: a 2 x 2 matrix in, two masses out per level."""

def epoch_chain(
    offsets: NDArray[np.int64], targets: NDArray[np.int64], probabilities: NDArray[np.float64]
) -> bytes:
    """The stationary law of a chain with sparse rows; row k is `offsets[k]` to `offsets[k + 1]`."""

def send(
    options: str,
    listen: str,
    *,
    key: bytes | None,
    data: str | None,
    pcap: str | None,
    duration_s: float | None,
    seed: int,
    progress: Callable[[str], None],
) -> dict[str, Any]:
    """One session as its sender: `outcome`, JSON, and `tables`, as for `simulate`."""

def receive(
    options: str,
    *,
    key: bytes | None,
    data: str | None,
    pcap: str | None,
    duration_s: float | None,
    progress: Callable[[str], None],
) -> dict[str, Any]:
    """One session as its receiver; see `send`."""
