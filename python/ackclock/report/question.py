"""The question of a scenario: its path as a small drawing, its flows and times in words."""

import html
import math
from collections.abc import Callable, Iterable
from typing import Any

from ackclock import units
from ackclock.elements import facts
from ackclock.elements.registry import label
from ackclock.report.section import Asked
from ackclock.result.flows import control_of
from ackclock.result.labels import control_label

Tree = dict[str, Any]

# Size of the drawing; with more hops on the route their names overlap.
_WIDTH, _HEIGHT, _MOST_HOPS = 372, 118, 2
# Width of a host and of a queue, left edge of the first queue.
_HOST, _QUEUE, _FIRST = 60, 22, 67
# Room for a letter of a name; only wide capitals alone need more.
_LETTER = 9
# Words that say nothing, unless another point has others.
_USUAL = frozenset({"0 ms", "0 %", "drop-tail"})
# More swept values than this are given by their ends.
_MOST_VALUES = 4


def asked(points: list[Tree]) -> Asked:
    """Returns what was asked.

    Args:
        points: The `assignments` and resolved `scenario` of each point.
    """
    scenarios = [point["scenario"] for point in points]
    routes = {(tuple(flow["route"]), tuple(flow["return"])) for flow in scenarios[0]["flows"]}
    [route, back] = next(iter(routes)) if len(routes) == 1 else ((), ())
    facts_of = [_flows(scenarios), timing(scenarios)]
    if len(routes) == 1 and 0 < len(route) <= _MOST_HOPS:
        return Asked(_drawing(scenarios, route, back), facts_of)
    used = {name for flow in scenarios[0]["flows"] for name in (*flow["route"], *flow["return"])}
    hops = [
        f"{hop['name']}: {', '.join(_words(scenarios, hop['name']))}"
        for hop in scenarios[0]["hops"]
        if hop["name"] in used
    ]
    return Asked("", [*hops, *facts_of])


def timing(scenarios: Iterable[Tree]) -> str:
    """Returns the duration and the warm-up, such as `30 s, averages from 5 s on`."""
    scenarios = list(scenarios)
    lasts = several(dict.fromkeys(tree["duration"] for tree in scenarios))
    warmups = dict.fromkeys(tree["warmup"] for tree in scenarios)
    return f"{lasts}, averages from {several(warmups)} on"


def several(values: Iterable[str], most: int = _MOST_VALUES) -> str:
    """Returns `0.5, 2 or 5 %` for values with one unit; the least and the greatest of many.

    Many values that have no order, such as names, are counted.
    """
    values = list(values)
    if len(values) < 2:
        return "".join(values)
    numbers, endings = zip(*(value.partition(" ")[::2] for value in values), strict=True)
    unit = f" {endings[0]}" if len(set(endings)) == 1 and endings[0] else ""
    shown = dict(zip(values, numbers if unit else values, strict=True))
    if len(shown) > most:
        try:
            # Words may follow a unit, such as `on average`.
            read = {value: units.parse(" ".join(value.split()[:2])) for value in values}
        except ValueError:
            return f"{len(values)} values"
        if len({quantity.base for quantity in read.values()}) > 1:
            return f"{len(values)} values"
        ends = (end(values, key=lambda value: read[value].amount) for end in (min, max))
        return f"{' to '.join(shown[value] for value in ends)}{unit}"
    *others, last = shown.values()
    return f"{', '.join(others)} or {last}{unit}"


def _each(
    scenarios: list[Tree], hop: str, words: Callable[[Tree], str], most: int = _MOST_VALUES
) -> str:
    """Returns the words about a hop at all points; nothing if they are usual at all."""
    hops = [
        next(candidate for candidate in tree["hops"] if candidate["name"] == hop)
        for tree in scenarios
    ]
    distinct = dict.fromkeys(filter(None, map(words, hops)))
    return "" if distinct.keys() <= _USUAL else several(distinct, most)


def _amount(amount: float, base: str) -> str:
    text = units.shown(amount, base)
    number, _, unit = text.partition(" ")
    return f"{float(number):g} {unit}"


def _rate(hop: Tree) -> str:
    kind, link = facts.link(hop)
    if link["contends"]:
        return "shared medium"
    mean, highest = link["mean_bit_per_s"], link["highest_bit_per_s"]
    if mean is not None:
        return f"{_amount(mean, 'bit/s')}{'' if link['varies'] is False else ' on average'}"
    if highest is not None:
        return f"{'' if link['varies'] is False else 'at most '}{_amount(highest, 'bit/s')}"
    return label(kind, "links")


def _buffer(hop: Tree) -> str:
    capacity = facts.queue(hop)[1]["capacity"] or {}
    return str(capacity.get("limit", "")) if capacity.get("kind") == "limit" else ""


def _discipline(hop: Tree) -> str:
    return label(facts.queue(hop)[0], "queues")


def _delay(hop: Tree) -> str:
    return "0 ms" if units.seconds(hop["delay"]) == 0 else str(hop["delay"])


def _loss(hop: Tree) -> str:
    means = [stated["mean_loss"] for _, stated in facts.impairments(hop)]
    if not all(isinstance(mean, int | float) for mean in means):
        return "an unknown share"
    return f"{100 * (1 - math.prod(1 - mean for mean in means)):.3g} %"


def _words(scenarios: list[Tree], hop: str) -> list[str]:
    """Returns what is known of a hop."""
    loss = _each(scenarios, hop, _loss)
    impairments = [
        impairment
        for tree in scenarios
        for candidate in tree["hops"]
        if candidate["name"] == hop
        for impairment in facts.impairments(candidate)
    ]
    lossy = {name for name, stated in impairments if stated["mean_loss"]}
    others = dict.fromkeys(name for name, _ in impairments if name not in lossy)
    kinds = [label(name, "impairments") for name in others]
    properties = [_each(scenarios, hop, words) for words in (_rate, _buffer, _discipline, _delay)]
    return [phrase for phrase in [*properties, f"loses {loss}" if loss else "", *kinds] if phrase]


def _flows(scenarios: list[Tree]) -> str:
    """Returns the flows, such as `8 Reno and 8 CUBIC flows, each on a path of its own`."""
    scenario = scenarios[0]
    counted: dict[tuple[str, bool], int] = {}
    for position, flow in enumerate(scenario["flows"]):
        labels = dict.fromkeys(
            control_label(control_of(tree["flows"][position])) for tree in scenarios
        )
        control = several(labels) if len(labels) <= _MOST_VALUES else f"{len(labels)} controls"
        key = control, "count" not in flow
        counted[key] = counted.get(key, 0) + flow.get("count", 0)
    total = sum(counted.values())
    words = " and ".join(
        f"{'arriving' if arrive else count} {control}"
        for (control, arrive), count in counted.items()
    )
    last, last_arrive = list(counted.values())[-1], list(counted)[-1][1]
    plural = "flow" if last == 1 and not last_arrive else "flows"
    of_flow = [hop["scope"] == "per_flow" for hop in scenario["hops"]]
    alone = total > 1 and all(of_flow)
    return f"{words} {plural}{', each on a path of its own' if alone else ''}"


def _drawing(scenarios: list[Tree], route: tuple[str, ...], back: tuple[str, ...]) -> str:
    """Draws sender, hops and receiver from left to right, and the way back below."""
    each = (_WIDTH - _HOST - _FIRST - 8) / len(route)
    parts = [_host(0, "sender"), _host(_WIDTH - _HOST, "receiver")]
    described = []
    rates = {name: _rate_of(scenarios[0], name) for name in route}
    fastest = max(filter(None, rates.values()), default=1.0)
    for position, name in enumerate(route):
        left = _FIRST + position * each
        right = left + each - 8
        rate = rates[name]
        width = 1.0 if rate is None else rate / fastest  # one that is not known is not drawn slow
        parts.append(_hop(scenarios, name, left, right, width))
        described.append(f"{name}: {', '.join(_words(scenarios, name))}")
    returning = [f"{name}: {', '.join(_words(scenarios, name))}" for name in back]
    parts.append(_return(scenarios, back))
    text = html.escape("; ".join([*described, *(f"back by {hop}" for hop in returning)]))
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img"><title>The path</title>'
        f"<desc>{text}</desc>{''.join(parts)}</svg>"
    )


def _rate_of(scenario: Tree, name: str) -> float | None:
    """Returns the mean or highest rate of a hop's link in bit/s; None if neither is known."""
    link = facts.link(next(hop for hop in scenario["hops"] if hop["name"] == name))[1]
    mean: float | None = link["mean_bit_per_s"]
    highest: float | None = link["highest_bit_per_s"]
    return highest if mean is None else mean


def _text(x: float, y: float, words: str, kind: str = "") -> str:
    attribute = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.1f}" y="{y}" text-anchor="middle"{attribute}>{html.escape(words)}</text>'


def _host(left: float, name: str) -> str:
    box = f'<rect class="host" x="{left + 0.5}" y="20.5" width="{_HOST - 1}" height="34" rx="4"/>'
    return box + _text(left + _HOST / 2, 42, name, "name")


def _hop(scenarios: list[Tree], name: str, left: float, right: float, share: float) -> str:
    """Draws a queue and a link, whose height is its rate as a share of the fastest link."""
    start = left + _QUEUE + 5
    half = max(2.5, 13 * share)
    middle = (start + right) / 2
    packets = "".join(
        f'<path class="packet" d="M{left + _QUEUE - 4 - 6 * k} 31h-4v13h4z"/>' for k in range(2)
    )
    queue = (
        f'<path class="queue" d="M{left} 28h{_QUEUE}M{left} 47h{_QUEUE}M{left + _QUEUE} 28v19"/>'
    )
    link = (
        f'<rect class="pipe" x="{start:.1f}" y="{37.5 - half:.1f}" width="{right - start:.1f}" '
        f'height="{2 * half:.1f}"/>'
        f'<path class="edge" d="M{start:.1f} {37.5 - half:.1f}H{right:.1f}'
        f'M{start:.1f} {37.5 + half:.1f}H{right:.1f}"/>'
    )
    rate, delay = _each(scenarios, name, _rate), _each(scenarios, name, _delay)
    above = half < 9
    most = int((right + 8 - left) / _LETTER)
    words = _text(middle, 13, name if len(name) <= most else f"{name[: most - 1]}…", "name")
    words += _text(middle, 30 if above else 42, rate)
    loses = _loses(scenarios, name)
    below = max(65, 63.5 + half) if loses else 65  # Under the drops.
    words += _text(middle, below, delay) if delay else ""
    words += _text(middle, below + 16, loses) + _drops(middle, 37.5 + half) if loses else ""
    # Below the queue there is room for two values.
    limit = _each(scenarios, name, _buffer, 2).replace("packets", "pkt").replace("bytes", "B")
    return queue + packets + link + words + _text(left + _QUEUE / 2, 65, limit)


def _drops(middle: float, top: float) -> str:
    """Draws three drops that fall out of a link."""
    offsets = ((-18, 4), (0, 8), (18, 4))
    return "".join(
        f'<path class="lost" d="M{middle + x:.1f} {top + y:.1f}c3 4 3 7 0 7s-3-3 0-7z"/>'
        for x, y in offsets
    )


def _loses(scenarios: list[Tree], name: str) -> str:
    loss = _each(scenarios, name, _loss)
    return f"loses {loss}" if loss else ""


def _return(scenarios: list[Tree], back: tuple[str, ...]) -> str:
    right, left, y = _WIDTH - _HOST / 2, _HOST / 2, 103
    line = (
        f'<path class="back" d="M{right} 56V{y}H{left}V60"/>'
        f'<path class="packet" d="M{left} 55l4 7h-8z"/>'
    )
    rates = [_each(scenarios, name, _rate) for name in back]
    delays = [_each(scenarios, name, _delay) for name in back]
    words = ", ".join(filter(None, ["ACKs", *dict.fromkeys(filter(None, rates + delays))]))
    width = 7 * len(words) + 12
    gap = (
        f'<rect x="{_WIDTH / 2 - width / 2}" y="{y - 8}" width="{width}" height="16" '
        'fill="var(--paper)"/>'
    )
    return line + gap + _text(_WIDTH / 2, y + 4, words)
