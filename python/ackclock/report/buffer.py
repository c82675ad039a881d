"""The page of a recommendation about a buffer: the answer, the trade-off, every queue tried."""

import shlex
from collections.abc import Mapping, Sequence
from math import nan
from typing import Any

from ackclock import engine, plot
from ackclock.advice.buffer.measures import MEASURES, MISSED, UNDECIDED, Measure
from ackclock.plot import FigureSpec, Size
from ackclock.report.environment import render_page
from ackclock.report.live import live
from ackclock.report.section import Asked, Made, Section, Sure
from ackclock.table import Cell, Column, Interval, Table, Written, table, text
from ackclock.units import shown

_Tree = Mapping[str, Any]

# Marks of numbers, by verdict; the same as in a terminal.
_MARKS = {MISSED: " !", UNDECIDED: " ?"}

# How a line begins that configures a queue.
_SETTING = "queue = "


def page_of_buffer(advice: _Tree) -> str:
    """Returns the text of the page, from the content of `advice.json`."""
    settings = [words for words in advice["words"] if words.startswith(_SETTING)]
    section = Section(
        name=advice["name"],
        question=advice["title"],
        answer=[advice["headline"], *(words for words in advice["words"] if words not in settings)],
        settings=settings,
        models=" ".join(advice["evidence"]),
        asked=Asked("", [f"target: {_target(target)}" for target in advice["targets"]]),
        sure=_sure(advice),
        figures=[*live(_trade_off(advice), is_key=True)],
        tables=_tables(advice),
        made=_made(advice),
    )
    return render_page([section])


def _target(target: _Tree) -> str:
    measure = MEASURES[target["measure"]]
    return f"{measure.label} {'≥' if measure.at_least else '≤'} {measure.words(target['bound'])}"


def _measures(advice: _Tree) -> list[Measure]:
    return [measure for name, measure in MEASURES.items() if name in advice["present"]]


def _sure(advice: _Tree) -> list[Sure]:
    runs = advice["simulated_runs"]
    compared = Sure(True, f"{runs} simulated runs:", "every queue had the same seeds.")
    cautions = [Sure(False, warning) for warning in advice["warnings"]]
    if advice["status"] == "undecided":
        cautions.append(Sure(False, "Replicates do not decide:", "give more with --replicates."))
    return [compared, *cautions]


def _trade_off(advice: _Tree) -> FigureSpec:
    """Describes each measure over the buffer, with targets as lines and the answer marked."""
    wanted = set(advice["curve_packets"])
    tails = sorted(
        (queue for queue in advice["buffers"] if _is_tail(queue) and queue["packets"] in wanted),
        key=lambda queue: int(queue["packets"]),
    )
    bounds = {target["measure"]: target["bound"] for target in advice["targets"]}
    panels = []
    for measure in _measures(advice):
        scale, means = measure.shown_per_unit, [queue[measure.name] for queue in tails]
        bound = bounds.get(measure.name)
        panels.append(
            plot.Measure(
                f"{measure.label} ({measure.shown_unit})",
                [_number_or_nan(mean["mean"]) * scale for mean in means],
                [_half(mean) * scale for mean in means],
                None if bound is None else bound * scale,
                measure.at_least,
            )
        )
    recommended, answer = advice["recommended"], advice["answer"]
    marked = allowed = None
    if recommended is not None and answer is not None:
        marked = Size(recommended["packets"], f"{recommended['packets']} packets")
        largest = advice["largest_packets"] or tails[-1]["packets"]
        allowed = (answer["packets"], largest)
    packet_bits = 8 * advice["hop"]["packet_bytes"]
    return plot.trade_off(
        [queue["packets"] for queue in tails], panels, "Drop-tail buffers", answer=marked,
        allowed=allowed, marks=[Size(rule["packets"], rule["name"]) for rule in advice["rules"]],
        ms_per_packet=1e3 * packet_bits / advice["hop"]["rate_bit_per_s"],
    )  # fmt: skip


def _is_tail(queue: _Tree) -> bool:
    return bool(queue["is_drop_tail"])


def _tables(advice: _Tree) -> list[Table]:
    tails = sorted(filter(_is_tail, advice["buffers"]), key=lambda queue: int(queue["packets"]))
    tables = [_table(advice, "Drop-tail buffers", tails)]
    if advice["alternatives"]:
        tables.append(_table(advice, "Active queue management", advice["alternatives"]))
    return tables


def _table(advice: _Tree, title: str, queues: Sequence[_Tree]) -> Table:
    measures = _measures(advice)
    advised = advice["advised"]
    heads = [Column(measure.label, measure.shown_unit, numeric=True) for measure in measures]
    rows = [
        [
            queue["label"],
            *(_number(queue, measure) for measure in measures),
            queue["replicates"],
            "advised" if advised is not None and queue["label"] == advised["label"] else "",
        ]
        for queue in queues
    ]
    columns = [Column("queue"), *heads, Column("runs", numeric=True), Column("")]
    return table(f"{title}: ! misses its target, ? may miss it", columns, rows)


def _number(queue: _Tree, measure: Measure) -> Cell:
    mean, scale = queue[measure.name], measure.shown_per_unit
    value = Interval(_number_or_nan(mean["mean"]) * scale, _half(mean) * scale, queue["replicates"])
    return Written(value, f"{text(value)}{_MARKS.get(queue['verdicts'].get(measure.name), '')}")


def _half(mean: _Tree) -> float:
    return (_number_or_nan(mean["high"]) - _number_or_nan(mean["low"])) / 2


def _number_or_nan(value: float | None) -> float:
    """Returns a number of the file, in which those that are unknown are null."""
    return nan if value is None else value


def _made(advice: _Tree) -> Made:
    file = f"{advice['name'].replace(' ', '-')}.toml"
    options = [
        f"{MEASURES[target['measure']].option} {_as_option(target)}" for target in advice["targets"]
    ]
    if all(target["measure"] != "loss" for target in advice["targets"]):
        options.append("--loss '100 %'")
    aqm = " --aqm" if advice["alternatives"] else ""
    command = f"ackclock advise buffer {shlex.quote(file)} {' '.join(options)}{aqm}"
    facts = {"hop": advice["hop"]["name"], "replicates of a batch": advice["replicates_in_a_batch"]}
    note = "Save the scenario below under that name. Simulated runs repeat exactly."
    return Made([command], note, facts, engine.to_toml(advice["scenario"]))


def _as_option(target: _Tree) -> str:
    if target["measure"] in ("utilisation", "loss"):
        return f"'{target['bound'] * 100:.6g} %'"
    return f"'{shown(target['bound'], 's')}'"
