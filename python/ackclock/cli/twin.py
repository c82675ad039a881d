"""The command `twin`."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ackclock.cli.errors import UNRELIABLE, complain
from ackclock.cli.options import json_option
from ackclock.cli.output import print_json, print_rows, say

if TYPE_CHECKING:
    from ackclock.capture import calls
    from ackclock.capture.twin import Comparison

# A threshold that was never set, in Linux.
_INFINITE_SSTHRESH = 0x7FFFFFFF


class _Steps(click.ParamType[Any]):
    """A range of steps, as `120-140`."""

    name = "steps"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Returns first and last step."""
        if isinstance(value, tuple):
            return value
        first, _, last = value.partition("-")
        if not (first.isdecimal() and last.isdecimal() and int(first) <= int(last)):
            self.fail(f'"{value}" is not a range of steps; for example 120-140', param, ctx)
        return int(first), int(last)


@click.command()
@click.argument("source", type=click.Path(path_type=Path))
@click.option(
    "--control", metavar="KIND",
    help="Congestion control of our sender, for a capture from elsewhere: a name, or a table in "
    "TOML. A result states its own.  [default: cubic]  With recorded calls: control of the engine "
    "whose windows are to stand beside the program's.",
)  # fmt: skip
@click.option(
    "--bulk", is_flag=True,
    help="State that the application always had data to send, for a capture from elsewhere.",
)  # fmt: skip
@click.option(
    "--steps", type=_Steps(), metavar="FIRST-LAST",
    help="Steps to show.  [default: those before the first difference]",
)  # fmt: skip
@click.option(
    "--packets", is_flag=True, help="Compare packets also if the calls of a control are recorded."
)
@json_option
def twin(
    source: Path,
    control: str | None,
    bulk: bool,
    steps: tuple[int, int] | None,
    packets: bool,
    as_json: bool,
) -> int:
    """Compare our TCP sender with a captured one, ACK by ACK.

    Our sender gets the ACKs of the capture. Before each captured segment it says what it would
    send, and after each difference it follows the capture. Its window is its own throughout. SOURCE
    is the result of emulate or of simulate --pcap, or a capture taken at the sender that begins
    with the handshake. The exit code is 4 if anything differs by more than a segment.

    If an emulation ran a program as its control, every call of it is recorded; a simulation records
    them if the flow has control_calls = true. Then the program gets these calls again, in the
    engine, and each answer must be the same bit by bit. This needs neither a kernel nor privileges.
    If the program is the kernel's own control, as linux_bbr is, the engine's control for it
    answers, here bbr1.
    With --control, a control of the engine hears of the same ACKs, and the differences are shown.

    \b
    Example:
      ackclock twin out/emulated
      ackclock twin capture.pcap --control reno --bulk
    """
    from ackclock.capture import calls
    from ackclock.capture import twin as twins

    if not packets and calls.has_calls(source):
        if control is not None:
            return _print_beside(
                source, calls.beside(source, twins.stand_in(control)), control, as_json=as_json
            )
        return _compare_calls(source, calls.twin(source), as_json=as_json)
    comparisons = twins.twin(source, control=control, bulk=bulk, steps=steps)
    if as_json:
        print_json([_plain(comparison) for comparison in comparisons])
    else:
        _print(source, comparisons, shows_steps=steps is not None)
    different = [comparison for comparison in comparisons if comparison.differs]
    if not different:
        return 0
    return complain(f"{len(different)} of {len(comparisons)} connections differ", UNRELIABLE)


def _compare_calls(source: Path, compared: "list[calls.Comparison]", *, as_json: bool) -> int:
    """Prints the comparison of recorded calls; returns the exit code."""
    if as_json:
        print_json(
            [
                {**dataclasses.asdict(comparison), "differs": comparison.differs}
                for comparison in compared
            ]
        )
    else:
        _print_calls(source, compared)
    different = [comparison for comparison in compared if comparison.differs]
    if different:
        return complain(
            f"{len(different)} of {len(compared)} records are answered otherwise", UNRELIABLE
        )
    gaps = [comparison for comparison in compared if comparison.missed]
    if gaps:
        return complain(f"{len(gaps)} of {len(compared)} records have gaps", UNRELIABLE)
    return 0


def _print_beside(
    source: Path, compared: "list[calls.ControlComparison]", control: str, *, as_json: bool
) -> int:
    """Prints how far the windows of a control of the engine are from a program's; returns 0."""
    from ackclock.table import Column, table

    if as_json:
        print_json([dataclasses.asdict(comparison) for comparison in compared])
        return 0
    head: list[Column | str] = [
        Column("record", numeric=False), "program", "answers to", "calls",
        Column("mean", "segments", numeric=True), Column("largest", "segments", numeric=True),
        "there", Column("largest", "%", numeric=True), Column("at call"),
        Column("first apart", spare=1),
    ]  # fmt: skip
    rows = [
        [
            comparison.record.removesuffix(".calls"),
            comparison.control,
            kind,
            apart["calls"],
            apart["mean_segments"],
            apart["largest"]["ours_segments"] - apart["largest"]["theirs_segments"],
            apart["largest"]["theirs_segments"],
            100.0 * apart["largest_share"],
            apart["largest"]["number"],
            apart["first"]["number"] if apart["first"] else None,
        ]
        for comparison in compared
        for kind in ("cong_avoid", "cong_control", "ssthresh", "undo_cwnd")
        if (apart := comparison.outcome[kind])["calls"]
    ]
    print_rows(
        table(f"{source}: {control} of the engine beside the recorded calls", head, rows),
        "answers to: window after the call, or the threshold; mean, largest: difference of the "
        "engine's control, whose window has fractions; there: the program's window; first apart: "
        "first call with a difference of more than a segment",
    )
    return 0


def _print_calls(source: Path, compared: "list[calls.Comparison]") -> None:
    """Prints a row for each record, and the calls before the first that is answered otherwise."""
    from ackclock.table import Column, table

    head: list[Column | str] = [
        Column("record", numeric=False), "control", Column("engine's", spare=3),
        Column("connections", spare=2), "calls",
        Column("same", "%", numeric=True), Column("window", "%", numeric=True),
        Column("answer", "%", numeric=True), "missed", Column("moved", spare=1),
    ]  # fmt: skip
    rows = [
        [
            comparison.record.removesuffix(".calls"),
            comparison.control,
            comparison.standing or "the same",
            comparison.outcome["connections"],
            comparison.outcome["calls"],
            *(
                100.0 * comparison.outcome[equal] / max(1, comparison.outcome["calls"])
                for equal in ("equal", "equal_windows", "equal_answers")
            ),
            comparison.missed,
            comparison.outcome["moved"],
        ]
        for comparison in compared
    ]
    print_rows(
        table(f"{source}: the engine's answers to recorded calls", head, rows),
        "same: calls after which window and answer are equal bit by bit, then each by itself; the "
        "answer of a control that sets the rate is the pacing rate; missed: calls that the kernel "
        "could not record; moved: calls before which the kernel itself had set the window",
    )
    chosen = next((comparison for comparison in compared if comparison.differs), None)
    if chosen is not None:
        _print_call(chosen)


def _print_call(comparison: "calls.Comparison") -> None:
    """Prints the first call that is answered otherwise, and those before it."""
    from ackclock.table import Column, table

    first = comparison.outcome["first"]
    call = first["call"]
    theirs = _window(call["after"], call["result"])
    ours = _window(first["window"], first["result"])
    title = (
        f"First difference, call {call['number']} ({call['kind']}): after it the kernel has "
        f"{theirs}, the engine {ours}"
    )
    head: list[Column | str] = [
        "call", Column("time", "s", numeric=True), "kind", "arguments", "before", "after",
    ]  # fmt: skip
    begin_ns = first["before"][0]["now_ns"] if first["before"] else call["now_ns"]
    rows = [
        [
            shown["number"],
            f"{(shown['now_ns'] - begin_ns) / 1e9:.6f}",
            shown["kind"],
            " ".join(map(str, shown["arguments"])),
            _window(shown["before"]),
            _window(shown["after"], shown["result"]),
        ]
        for shown in [*first["before"], call]
    ]
    say()
    say(f"{call['local']}, record {comparison.record}")
    print_rows(table(title, head, rows))


def _window(window: dict[str, int], result: int = 0) -> str:
    """Returns a window in words: `cwnd 12, count 3, ssthresh unset`."""
    ssthresh = window["ssthresh"]
    unset = ssthresh >= _INFINITE_SSTHRESH
    words = f"cwnd {window['cwnd']}, count {window['cwnd_cnt']}"
    words += f", ssthresh {'unset' if unset else ssthresh}"
    return f"{words}, answer {result}" if result else words


def _plain(comparison: "Comparison") -> dict[str, Any]:
    described = dataclasses.asdict(comparison)
    return {**described, **described.pop("outcome")}


def _print(source: Path, comparisons: "list[Comparison]", *, shows_steps: bool) -> None:
    """Prints a row for each connection, and the steps of the first that differs."""
    from ackclock.result.labels import control_label
    from ackclock.table import Column, Written, table

    head: list[Column | str] = [
        Column("flow", numeric=False), "run", "control", "ACKs", "segments",
        Column("same", "%", numeric=True), Column("window", "%", numeric=True),
        Column("threshold", "%", numeric=True), Column("pacing", "%", numeric=True, spare=1),
    ]  # fmt: skip
    rows = [
        [
            comparison.flow or comparison.outcome["source"],
            f"{comparison.point}/{comparison.replicate}",
            Written(comparison.control, control_label(comparison.control)),
            comparison.outcome["acks"],
            comparison.outcome["segments"],
            _share(comparison, "equal_segments", "segments"),
            _share(comparison, "equal_windows", "readings"),
            _share(comparison, "equal_thresholds", "readings"),
            _share(comparison, "equal_pacing", "pacing_readings"),
        ]
        for comparison in comparisons
    ]
    print_rows(
        table(f"{source}: our sender beside the captured one", head, rows),
        "same: segments that ours would have sent; window, threshold: readings of tcp_info within "
        "one segment of ours; pacing: within 2 %",
    )
    for comparison in comparisons:
        outcome = comparison.outcome
        if outcome["ended"]:
            say()
            say(f"{comparison.flow or outcome['source']}: compared up to step {outcome['steps']}: "
                f"{outcome['ended']}")  # fmt: skip
    chosen = next(
        (comparison for comparison in comparisons if comparison.differs or shows_steps), None
    )
    if chosen is not None:
        _print_steps(chosen)


def _share(comparison: "Comparison", equal: str, number: str) -> float | None:
    """Returns the equal ones in percent; None if there is nothing to compare."""
    count = comparison.outcome[number]
    return 100.0 * comparison.outcome[equal] / count if count else None


def _print_steps(comparison: "Comparison") -> None:
    from ackclock.table import Column, table

    title = "Steps"
    if comparison.differs:
        first = comparison.outcome["differences"][0]
        title = f"First difference, at {first['time_s']:.6f} s: {_difference(first)}"
    head: list[Column | str] = [
        "step", Column("time", "s", numeric=True), "event", "ours",
        Column("window", "packets"), Column("threshold", "packets"),
        Column("in flight", "packets"), Column("timeout", "s"),
    ]  # fmt: skip
    rows = [
        [
            step["step"],
            f"{step['time_s']:.6f}",
            _event(step),
            _ours(step),
            step["cwnd_segments"],
            step["ssthresh_segments"],
            step["in_flight_segments"],
            f"{step['rto_s']:.3f}",
        ]
        for step in comparison.outcome["shown"]
    ]
    say()
    print_rows(table(title, head, rows))


def _event(step: dict[str, Any]) -> str:
    """Returns an event in words: `ack 12, SACK 14-16`."""
    if step["event"] == "sent":
        return f"sends {step['segment']}"
    if step["event"] != "ack":
        return str(step["event"]).replace("_", "-").upper()
    blocks = ", ".join(f"{start}-{end - 1}" for start, end in step["sack_blocks"])
    return f"ACK {step['segment']}" + (f", SACK {blocks}" if blocks else "")


def _ours(step: dict[str, Any]) -> str:
    """Returns what our sender would have sent in place of a captured segment."""
    if step["event"] != "sent":
        return ""
    return "nothing" if step["ours"] is None else f"sends {step['ours']}"


def _difference(difference: dict[str, Any]) -> str:
    theirs, ours = difference["theirs"], difference["ours"]
    return {
        "segment": f"the capture sends {theirs}, ours would send "
        f"{'nothing' if ours is None else ours}",
        "silence": f"ours has long wanted to send {ours}, the capture sends nothing",
        "timer": "our timer has expired, that of the capture has not",
        "window": f"the capture's window is {theirs} packets, ours {ours}",
        "pacing": f"the capture's pacing rate is {_mbit(theirs)}, ours {_mbit(ours)}",
        "threshold": f"the capture's threshold is {theirs or 'unset'}, ours {ours or 'unset'}",
    }[difference["kind"]]


def _mbit(bit_per_s: float | None) -> str:
    return "unknown" if bit_per_s is None else f"{bit_per_s / 1e6:.4g} Mbit/s"
