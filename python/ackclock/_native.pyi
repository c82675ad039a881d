"""The compiled engine: plain data in, plain data out. Raises the errors of `ackclock.errors`."""

from collections.abc import Callable, Sequence, Set
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

def version() -> str:
    """Returns the version of the engine, which is ackclock's."""

def is_checking() -> bool:
    """Returns True if the engine was built with debug assertions.

    It then checks the physics as it runs, and is slower.
    """

class Environments:
    """Runs that a program steers. `ackclock.gym` says what they are.

    Observations are the bytes of float64 by environment, learner and column; `observed_columns`
    names the columns. An environment that does not move keeps its row.
    """

    def __new__(
        cls,
        points: list[str],
        place: Path | tuple[Path, Set[str]],
        flow: str,
        *,
        count: int,
        clock: tuple[str, float],
        threads: int,
    ) -> Environments:
        """Makes `count` environments of these points, whose learners are the flows `flow`.

        `clock` is the rule by which an interval ends: `round_trips` or `seconds` with their number,
        `acks` with theirs, or `congestion`. Raises `ScenarioError`.
        """

    def reset(self, begun: list[tuple[int, int, int]]) -> bytes:
        """Begins environments again: number, number of the point, seed. Returns observations."""

    def step(self, orders: bytes, stands: bytes) -> bytes:
        """Gives orders and goes on to the next decisions. Returns observations.

        Orders are two float64 for each learner, window in bytes and rate in bit/s; NaN leaves what
        there is. `stands` has a byte for each environment; those that are not 0 do not move.
        """

    def backlogs(self, environment: int) -> list[int]:
        """Returns what waits at each shared hop of an environment, in bytes."""

    def learners(self) -> int:
        """Returns the number of learners of an environment."""

def observed_columns() -> list[str]:
    """Returns the names of what a learner observes, with units."""

def limits() -> list[tuple[str, int, str, str]]:
    """Returns every limit on what others wrote.

    Each has a name, a number, the number in words, and what is limited.
    """

def cut(message: str) -> str:
    """Returns a message whose quoted values, and which as a whole, are not too long."""

def read_file(path: str, most: int) -> bytes:
    """Returns the content of a regular file of at most `most` bytes.

    Raises `InputError` for anything else, and the `OSError` that `open` raises.
    """

def parse_scenario(text: str) -> str:
    """Returns the JSON tree of a scenario's text, TOML or JSON."""

def to_toml(tree_json: str) -> str:
    """Returns a tree as TOML, without facts."""

def places(text: str, fields: list[tuple[str, str]]) -> list[str]:
    """Returns line and column (`12:9`) of fields in a scenario's text; empty if unknown.

    A field is the code of its error and its path.
    """

def unit_remedy(number: str, unit: str, dimensions: list[str]) -> str | None:
    """Returns a remedy for an unknown unit, `did you mean "10 Mbit/s"?`; None if no unit is near.

    `number` has the digits as written. `dimensions` are the base units of the quantities that fit:
    `s`, `bit/s`, `bytes`, `packets`, `packets/s`, or empty for a share.
    """

def parse_assignment(text: str) -> tuple[str, str]:
    """Splits `path=value` into the path and the value as JSON."""

def set(tree_json: str, changes: list[tuple[str, str]]) -> str:
    """Returns the tree with other values, each a path and JSON, set one after the other."""

def without_sweep(tree_json: str) -> str:
    """Returns the tree without its sweep, with the first value of each path that can be set."""

def expand(tree_json: str) -> list[tuple[str, str]]:
    """Returns, for each point of the sweep, a JSON list of [path, value] and the point's tree."""

def resolve(tree_json: str, place: Path | tuple[Path, Set[str]]) -> str:
    """Checks a tree and fills in all defaults.

    Looks up files in a folder; only those with the given names, if there are names.
    """

def derived(tree_json: str, place: Path | tuple[Path, Set[str]]) -> str:
    """Returns a JSON list of what was computed: field, written, value, sources."""

def schema() -> str:
    """Returns the JSON schema of a scenario."""

def registry() -> str:
    """Returns everything registered, as JSON."""

def simulate(
    points: list[str],
    place: Path | tuple[Path, Set[str]],
    *,
    threads: int,
    memory: int | None,
    packets: bool,
    pcap_folder: str | None,
    qlog_folder: str | None,
    finished: Set[tuple[int, int]],
    take: Callable[[list[tuple[int, int]], dict[str, Any]], None] | None,
    take_packets: Callable[[tuple[int, int], Any], None] | None,
    progress: Callable[[float], None] | None,
) -> dict[str, Any]:
    """Runs every replicate of every point that is not in `finished`.

    Hands runs that have ended to `take`, and before that their rows of the table `packets` to
    `take_packets`, as they come. Returns `{"complete": bool, "keys": [(int, int)],
    "tables": {name: {column: array}}, "stopped": …, "data_packets": int}`: `keys` and `tables` of
    the ended runs that were not handed over, under `stopped` the tables of interrupted runs, and
    the data packets that arrived. Raises `LackingError`, before any run, if the simulation needs
    more than `memory` bytes.
    """

def floor(flows: int, packets: int) -> tuple[int, int]:
    """Does what any engine must for so many data packets of the benchmark dumbbell.

    Returns the data packets delivered and the events handled.
    """

def bring_stack(
    name: str, origin: int | tuple[list[str], str] | str, digest: str
) -> tuple[str, str, list[str], bool]:
    """Brings a stack under a name.

    `origin` is a library; a program that calls `serve_stack`, and its library; or the address of a
    table of functions. Returns what the stack says of itself: its name, version and controls, and
    whether its objects share state.
    """

def built_in_stacks() -> list[str]:
    """Returns the names of the stacks in the engine."""

def serve_stack(library: str) -> None:
    """Becomes the process of a stack if standard input is a socket to the engine."""

def serve_host(libraries: list[str]) -> int:
    """Becomes a host of an emulation if standard input is a supervisor; returns the exit status.

    `libraries` has name, path and digest of each stack that it brings.
    """

def doctor(host_command: list[str], loader: str | None) -> str:
    """Reports, as JSON, what this machine can emulate.

    `host_command` must call `serve_host`; `loader` loads controls into the kernel.
    """

def doctor_l4s(host_command: list[str]) -> str:
    """Reports, as JSON, whether this machine's TCP can take part in an L4S experiment."""

def prepare_emulation(
    points: list[str], folder: str, host_command: list[str], loader: str | None, *, device: str
) -> str:
    """Starts two hosts for a moment and checks every point.

    Returns a JSON object: `kernel`, `device` (`tun` or `packet_socket`), `priority` (`SCHED_FIFO`,
    or the reason for ordinary scheduling), `processors`, `warnings` (lines). Raises `ScenarioError`
    and `LackingError`.
    """

def emulate(
    points: list[str],
    folder: str,
    output: str,
    host_command: list[str],
    loader: str | None,
    *,
    device: str,
    pcap: bool,
    side_by_side: int,
    finished: Set[tuple[int, int]],
    progress: Callable[[str], None] | None,
    take: Callable[[str, dict[str, Any]], None],
) -> dict[str, Any]:
    """Runs every replicate of every point that is not in `finished`, `side_by_side` runs at once.

    Writes `record/point-P-replicate-R.ackrec` and, if `pcap`, captures in `pcap/` to `output` as it
    goes. Calls `progress` with a JSON object about ten times a second, and `take` with rows of the
    table `tcp_info` as they come. Returns `{"complete": bool, "failure": str | None, "warnings":
    [str], "tables": {name: {column: array}}}`. It has every other table, even if without rows.
    """

def replay(points: list[str], folder: str, output: str) -> str:
    """Replays the records in `output`.

    Returns a JSON list of `{point, replicate, arrivals, decisions, complete, difference}`, without
    runs that have no record. Raises `OSError` if a record is damaged.
    """

def calls_beside(tree_json: str, folder: str, record: bytes) -> str:
    """Gives the recorded calls of a program to the control of a scenario's first flow.

    Returns the differences as JSON, as `ackclock.capture.calls.ControlComparison` describes. Raises
    ValueError with the reason why there are none.
    """

def twin_calls(control: bytes, parameters: dict[str, int], record: bytes) -> str:
    """Gives the recorded calls of a control to its object.

    Returns the comparison as JSON, as `ackclock.capture.calls.Comparison` describes. Raises
    ValueError with the reason why there is none.
    """

def twin_of_kernel(tree_json: str, folder: str, draws: str | None, record: bytes) -> str:
    """Gives recorded calls of a control that the kernel has to that of a scenario's first flow.

    What the kernel drew at random becomes the control's parameter `draws`. Returns the comparison
    as JSON, as `ackclock.capture.calls.Comparison` describes. Raises ValueError with the reason why
    there is none.
    """

def kernel_control(control: bytes) -> str | None:
    """Returns the name of the kernel's control whose functions an object calls; None for others."""

def check_simulation(tree_json: str, folder: str) -> None:
    """Refuses a scenario that the simulator cannot run."""

def control_object(tree_json: str, folder: str) -> bytes:
    """Returns the object of the program that is the control of a scenario's first flow."""

def twin(
    files: list[str],
    tree: str,
    folder: str,
    flow: str,
    instance: int,
    *,
    written: tuple[list[tuple[str, int]], float] | None,
    method: str,
    bulk: bool,
    readings: Sequence[tuple[float, int, int | None, float | None, float | None]],
    on_the_way_s: float | None,
    shown: tuple[int, int] | None,
) -> str:
    """Plays one connection of a capture to the sender of a flow of a scenario.

    `written` and `method` are as for `measure`; without them the connection with the most payload
    is played. Each of `readings` is a time in s, the congestion window and the slow-start threshold
    in segments, and the pacing rate in bit/s. `shown` has the first and the last step to return;
    None for those before the first difference. Returns a JSON object, which
    `ackclock.capture.twin.Comparison` describes. Raises `CaptureError`.
    """

def measure(
    captures: list[tuple[list[str], int, int]],
    runs: list[tuple[list[tuple[str, int]], float]],
    method: str,
    *,
    interval_s: float,
    segments: bool,
    estimators: list[tuple[str, str]],
    progress: Callable[[str], None] | None,
    take: Callable[[str, dict[str, Any]], None],
) -> dict[str, Any]:
    """Measures captures one after the other.

    Each of `captures` is a list of files (`-` for standard input), a point and a replicate. Each of
    `runs` describes the run that wrote the capture: name and instance count of each flow, and the
    warm-up in s. `method` is that of those runs (`simulate`, `emulate`). For a capture from
    elsewhere, `runs` and `method` are empty. Calls `progress` with a JSON object (`fraction`,
    `packets`) about ten times a second, and `take` with rows of tables as they come. Returns
    `{"complete": bool, "captures": JSON, "tables": {name: {column: array}}}`. `captures` has, for
    each capture, `files`, `point`, `replicate`, `packets`, `datagrams`, `skipped` (counts by
    reason), `damage` (a line or null) and `begins_unix_ns`; `tables` has every table, without rows.
    Raises `CaptureError`.
    """

def check_estimators(estimators: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Returns names and JSON trees of rate estimators with all defaults; raises `ScenarioError`."""

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
    """Returns each estimator's rate after each ACK of a trace: name to column in bit/s.

    Arrays are contiguous and of equal length; NaN means unknown; times never decrease. Raises
    `ScenarioError`.
    """

def trace_rates(trace_json: str, folder: str, interval_ns: int | None = None) -> tuple[int, bytes]:
    """Returns a trace's length in ns and its mean rates over successive intervals.

    The rates are float64 in bit/s, empty without `interval_ns`. `trace_json` is the tree of a link
    of kind `trace`, without its kind. Raises `ScenarioError`.
    """

# Arguments are contiguous float64 arrays, indices int64. Stationary laws are returned as the bytes
# of float64.

def climbing_chains(
    survive: NDArray[np.float64],
    lose: NDArray[np.float64],
    down: NDArray[np.int64],
    above: NDArray[np.float64],
) -> bytes:
    """Returns the stationary laws of chains that climb one state per step.

    `survive` and `lose` have one row of probabilities per chain; all chains share the down map. The
    share `above` of a state's falls (may be empty) goes one state higher than the down map says.
    """

def jumping_chain(
    offsets: NDArray[np.int64], targets: NDArray[np.int64], probabilities: NDArray[np.float64]
) -> bytes:
    """Returns the stationary law of a chain with sparse rows that climbs up to a few states."""

def climbing_chain_with_channel(
    survive: NDArray[np.float64], lose: NDArray[np.float64], down: NDArray[np.int64]
) -> bytes:
    """Returns the stationary law of a climbing chain with a two-state channel.

    `survive` and `lose` are 2 x 2 matrices over the channel's states. The law has two masses per
    level.
    """

def epoch_chain(
    offsets: NDArray[np.int64], targets: NDArray[np.int64], probabilities: NDArray[np.float64]
) -> bytes:
    """Returns the stationary law of a sparse chain; row k is `offsets[k]` to `offsets[k + 1]`."""

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
    """Runs one session as its sender; returns `outcome` (JSON) and `tables` as `simulate` does."""

def receive(
    options: str,
    *,
    key: bytes | None,
    data: str | None,
    pcap: str | None,
    duration_s: float | None,
    progress: Callable[[str], None],
) -> dict[str, Any]:
    """Runs one session as its receiver; see `send`."""
