"""The only interface to the compiled engine: trees as Python data, tables as raw columns.

Nothing else imports `ackclock._native`. `ackclock.result.columns` makes Arrow tables of the
columns. Errors are those of `ackclock.errors`, with code, field and value.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock import _native

if TYPE_CHECKING:
    from numpy.typing import NDArray

Tree = dict[str, Any]
#: Where files that a scenario names are looked up: a folder; or a folder, and the names of the only
#: files that may be read.
Place = Path | tuple[Path, frozenset[str]]
#: A table from the engine. Each column maps to a type, its bytes and, if it holds indices, the
#: words that they stand for.
Columns = dict[str, tuple[Any, ...]]

# Functions whose arguments and results are the engine's own; `_native` describes them.
Environments = _native.Environments
bring_stack = _native.bring_stack
built_in_stacks = _native.built_in_stacks
climbing_chain_with_channel = _native.climbing_chain_with_channel
climbing_chains = _native.climbing_chains
epoch_chain = _native.epoch_chain
floor = _native.floor
is_checking = _native.is_checking
jumping_chain = _native.jumping_chain
kernel_control = _native.kernel_control
observed_columns = _native.observed_columns
places = _native.places
unit_remedy = _native.unit_remedy
version = _native.version


def parse_scenario(text: str) -> Tree:
    """Parses the text of a scenario file, TOML or JSON, into a tree."""
    return _loaded(_native.parse_scenario(text))


def to_toml(tree: Tree) -> str:
    """Returns a tree as TOML, without the facts of elements, which are computed."""
    return _native.to_toml(_dumped(tree))


def parse_assignment(text: str) -> tuple[str, Any]:
    """Parses `path=value`, as written on the command line."""
    path, value = _native.parse_assignment(text)
    return path, json.loads(value)


def replace(tree: Tree, changes: dict[str, Any]) -> Tree:
    """Returns the tree with other values, by path.

    A path that is given a value is no longer swept, unless `changes` gives a sweep too.
    """
    ordered = sorted(changes.items(), key=lambda change: change[0].partition(".")[0] == "sweep")
    written = [(path, json.dumps(value)) for path, value in ordered]
    return _loaded(_native.set(_dumped(tree), written))


def without_sweep(tree: Tree) -> Tree:
    """Returns the tree without its sweep, with the first value of each path that can be set."""
    return _loaded(_native.without_sweep(_dumped(tree)))


def expand(tree: Tree) -> list[tuple[dict[str, Any], Tree]]:
    """Returns the assignments and the tree of each point of the sweep."""
    return [
        (dict(json.loads(assigned)), _loaded(point))
        for assigned, point in _native.expand(_dumped(tree))
    ]


def resolve(tree: Tree, place: Place) -> Tree:
    """Checks a tree and fills in all defaults."""
    return _loaded(_native.resolve(_dumped(tree), place))


def derived(tree: Tree, place: Place) -> list[dict[str, Any]]:
    """Returns what the engine computed from expressions and from units of the path.

    Returns:
        `field`, `written`, `value` and `sources` (a list of texts) of each.
    """
    quantities: list[dict[str, Any]] = json.loads(_native.derived(_dumped(tree), place))
    return quantities


def schema() -> Tree:
    """Returns the JSON schema of a scenario."""
    return _loaded(_native.schema())


def registry() -> Tree:
    """Returns everything registered, by kind."""
    return _loaded(_native.registry())


def simulate(
    points: list[Tree],
    place: Place,
    *,
    threads: int,
    memory: int | None,
    packets: bool,
    pcap_folder: Path | None,
    qlog_folder: Path | None = None,
    finished: Iterable[tuple[int, int]],
    take: Callable[[list[tuple[int, int]], dict[str, Columns]], None] | None,
    take_packets: Callable[[tuple[int, int], Columns], None] | None = None,
    progress: Callable[[float], None] | None,
) -> dict[str, Any]:
    """Runs every replicate of every point that is not in `finished`.

    Args:
        points: Trees.
        place: Where files are looked up.
        threads: Number of threads.
        memory: Largest number of bytes that it may need; None for no limit.
        packets: True to make the table `packets`.
        pcap_folder: Folder for captures; None for no captures.
        qlog_folder: Folder for the qlog files of stacks that write them; None for none.
        finished: Point and replicate of runs to be left out.
        take: Called about once a second with point and replicate of the runs that have ended, and
            their tables; None to return them all at the end.
        take_packets: Called about ten times a second with point and replicate of a run and its next
            rows of the table `packets`, the last of them before the run has ended; None to have
            them among the tables.
        progress: Called with the share of the work that is done.

    Returns:
        `complete`; `keys` and `tables` of the runs that have ended and were not handed to `take`.
        Under `stopped`, the tables of the runs that an interrupt stopped. Under `data_packets`, the
        number of those that arrived at a receiver.

    Raises:
        LackingError: It needs more than `memory` bytes; no run has begun.
        ScenarioError: No flow would write a qlog file; no run has begun.
    """
    return _native.simulate(
        [_dumped(tree) for tree in points],
        place,
        threads=threads,
        memory=memory,
        packets=packets,
        pcap_folder=None if pcap_folder is None else str(pcap_folder),
        qlog_folder=None if qlog_folder is None else str(qlog_folder),
        finished=set(finished),
        take=take,
        take_packets=take_packets,
        progress=progress,
    )


def doctor(host_command: list[str], loader: str | None) -> Tree:
    """Reports what this machine can emulate.

    Args:
        host_command: Becomes a host if its standard input is a supervisor.
        loader: The program that loads controls into the kernel, if it is installed.
    """
    return _loaded(_native.doctor(host_command, loader))


def doctor_l4s(host_command: list[str]) -> Tree:
    """Reports whether this machine's TCP can take part in an L4S experiment; see `doctor`."""
    return _loaded(_native.doctor_l4s(host_command))


def prepare_emulation(
    points: list[Tree], folder: Path, host_command: list[str], loader: str | None, *, device: str
) -> Tree:
    """Starts two hosts for a moment, checks every resolved point, and describes the machine.

    `loader` is the program that loads controls into the kernel, if it is installed.

    Returns:
        `kernel`, `device` (`tun` or `packet_socket`), `priority` (`SCHED_FIFO`, or the reason for
        ordinary scheduling), `processors` and `warnings` (lines).
    """
    return _loaded(
        _native.prepare_emulation(
            _all_dumped(points), str(folder), host_command, loader, device=device
        )
    )


def emulate(
    points: list[Tree],
    folder: Path,
    output: Path,
    host_command: list[str],
    loader: str | None,
    *,
    device: str,
    pcap: bool,
    side_by_side: int,
    finished: Iterable[tuple[int, int]],
    progress: Callable[[Tree], None] | None,
    take: Callable[[str, Columns], None],
) -> dict[str, Any]:
    """Runs every replicate of every resolved point that is not in `finished`, in real time.

    Writes records and, on request, captures to `output` as it goes. Calls `take` with rows of
    `tcp_info` as they come.

    Returns:
        `complete`, `failure` (a line or None), `warnings` (lines), and `tables` with every other
        table.
    """
    return _native.emulate(
        _all_dumped(points),
        str(folder),
        str(output),
        host_command,
        loader,
        device=device,
        pcap=pcap,
        side_by_side=side_by_side,
        finished=set(finished),
        progress=None if progress is None else _parsing(progress),
        take=take,
    )


def replay(points: list[Tree], folder: str, output: Path) -> list[dict[str, Any]]:
    """Replays the records in `output`.

    Returns:
        Point, replicate and first difference of each recorded run.
    """
    runs: list[dict[str, Any]] = json.loads(
        _native.replay(_all_dumped(points), folder, str(output))
    )
    return runs


def twin_calls(control: bytes, parameters: dict[str, int], record: bytes) -> Tree:
    """Gives the recorded calls of a control to its object.

    Returns:
        Counts and the first difference, as `ackclock.capture.calls` describes.

    Raises:
        ValueError: There is no comparison; the reason is its text.
    """
    return _loaded(_native.twin_calls(control, parameters, record))


def twin_of_kernel(tree: Tree, folder: Path, draws: str | None, record: bytes) -> Tree:
    """Gives recorded calls of a control that the kernel has to that of a scenario's first flow.

    Args:
        tree: A scenario.
        folder: Folder of the scenario.
        draws: Parameter of the control that takes what the kernel drew at random; None if it draws
            nothing.
        record: The record.

    Returns:
        Counts and the first difference, as `ackclock.capture.calls` describes.

    Raises:
        ScenarioError: The scenario is invalid.
        ValueError: There is no comparison; the reason is its text.
    """
    return _loaded(_native.twin_of_kernel(_dumped(tree), str(folder), draws, record))


def calls_beside(tree: Tree, folder: Path, record: bytes) -> Tree:
    """Gives the recorded calls of a program to the control of a scenario's first flow.

    Returns:
        Their differences, as `ackclock.capture.calls` describes.

    Raises:
        ScenarioError: The scenario is invalid.
        ValueError: There is no comparison; the reason is its text.
    """
    return _loaded(_native.calls_beside(_dumped(tree), str(folder), record))


def check_simulation(tree: Tree, folder: Path) -> None:
    """Refuses a scenario that the simulator cannot run."""
    _native.check_simulation(_dumped(tree), str(folder))


def control_object(tree: Tree, folder: Path) -> bytes:
    """Returns the object of the program that is the control of a scenario's first flow.

    C source is compiled.
    """
    return bytes(_native.control_object(_dumped(tree), str(folder)))


def twin(
    files: list[str],
    tree: Tree,
    folder: Path,
    flow: str,
    instance: int,
    *,
    written: tuple[list[tuple[str, int]], float] | None,
    method: str,
    bulk: bool,
    readings: Sequence[tuple[float, int, int | None, float | None, float | None]],
    on_the_way_s: float | None,
    shown: tuple[int, int] | None,
) -> dict[str, Any]:
    """Plays one connection of a capture to the sender of a flow of a scenario.

    `_native.twin` describes the arguments and the result.
    """
    comparison: dict[str, Any] = json.loads(
        _native.twin(
            files,
            _dumped(tree),
            str(folder),
            flow,
            instance,
            written=written,
            method=method,
            bulk=bulk,
            readings=readings,
            on_the_way_s=on_the_way_s,
            shown=shown,
        )
    )
    return comparison


def measure(
    captures: list[tuple[list[str], int, int]],
    runs: list[tuple[list[tuple[str, int]], float]],
    method: str,
    *,
    interval_s: float,
    segments: bool,
    estimators: list[tuple[str, str]],
    progress: Callable[[Tree], None] | None,
    take: Callable[[str, Columns], None],
) -> dict[str, Any]:
    """Measures captures one after the other; calls `take` with rows as they come.

    `_native.measure` describes the arguments and the result.
    """
    return _native.measure(
        captures,
        runs,
        method,
        interval_s=interval_s,
        segments=segments,
        estimators=estimators,
        progress=None if progress is None else _parsing(progress),
        take=take,
    )


def check_estimators(estimators: list[tuple[str, Tree]]) -> list[tuple[str, str]]:
    """Returns names and JSON trees of rate estimators with all defaults filled in."""
    return _native.check_estimators([(name, json.dumps(tree)) for name, tree in estimators])


def rate_estimates(
    estimators: list[tuple[str, str]], mss: int, columns: "dict[str, NDArray[Any]]"
) -> dict[str, Any]:
    """Returns each estimator's rate after each ACK of a trace: name to column in bit/s."""
    return _native.rate_estimates(estimators, mss, **columns)


def trace_rates(link: Tree, folder: Path, interval_ns: int | None = None) -> tuple[int, bytes]:
    """Returns the length of a capacity trace in ns and its mean rates over successive intervals.

    Args:
        link: The tree of a link of kind `trace`.
        folder: Folder in which its file is looked up.
        interval_ns: Length of an interval; without one there are no rates. Rates are float64 in
            bit/s.
    """
    parameters = {name: value for name, value in link.items() if name != "kind"}
    return _native.trace_rates(json.dumps(parameters), str(folder), interval_ns=interval_ns)


def has_sockets() -> bool:
    """Returns True if this system can run datagram sessions over real sockets."""
    return hasattr(_native, "send")


def send(
    options: Tree, listen: str, *, progress: Callable[[Tree], None], **more: Any
) -> dict[str, Any]:
    """Runs one session as its sender; see `_native.send`."""
    return _native.send(json.dumps(options), listen, progress=_parsing(progress), **more)


def receive(options: Tree, *, progress: Callable[[Tree], None], **more: Any) -> dict[str, Any]:
    """Runs one session as its receiver; see `_native.receive`."""
    return _native.receive(json.dumps(options), progress=_parsing(progress), **more)


def _parsing(progress: Callable[[Tree], None]) -> Callable[[str], None]:
    """Returns a callback that takes the engine's JSON."""
    return lambda text: progress(json.loads(text))


def _all_dumped(trees: list[Tree]) -> list[str]:
    return [_dumped(tree) for tree in trees]


def _dumped(tree: Tree) -> str:
    return json.dumps(tree, ensure_ascii=False)


def _loaded(text: str) -> Tree:
    tree: Tree = json.loads(text)
    return tree
