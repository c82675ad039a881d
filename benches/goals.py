#!/usr/bin/env python3
"""Writes the table of goals into BENCHMARKS.md, computed from the page's other tables.

    .venv/bin/python benches/goals.py

Run it after `make bench`. A test demands that the table is of the tables above it.
"""

import re

import section

PAGE = "BENCHMARKS.md"


def number(text: str, row: str, column: int) -> float:
    """Returns the number in a cell of the only row that begins with these words.

    Raises:
        ValueError: There is no such row, or more than one.
    """
    rows = [line for line in text.splitlines() if line.startswith(f"| {row}")]
    if len(rows) != 1:
        raise ValueError(f"{PAGE}: {len(rows)} rows begin with {row}")
    cell = rows[0].strip("| ").split(" | ")[column].replace(",", "")
    return float(re.findall(r"[\d.]+", cell)[0])


def goals(text: str) -> str:
    """Returns the table of goals: what was asked, and what the tables of the page say."""
    text = text.partition("\n## Goals")[0]
    starting = float(re.findall(r"start-up: ([\d.]+) s of CPU", text)[0])
    listed = [
        ("times as fast as ns-2 (headers: all)", ">=", 10, number(text, "ns-2, headers: all", 2)),
        ("times what the floor takes", "<=", 2.5, 1 / number(text, "floor |", 2)),
        ("10,000 flows to 10, per packet", "<=", 2, number(text, "10,000 |", 2)),
        ("bytes per idle flow", "<=", 2000, number(text, "bytes per idle flow", 1)),
        ("bytes per packet in flight", "<=", 64, number(text, "bytes per packet in flight", 1)),
        ("`simulate`: seconds of CPU time to start", "<=", 0.5, starting),
        ("a million PFTK points, ms", "<=", 200, number(text, "pftk, a million points", 1)),
        ("a chain of 10,000 windows, ms", "<=", 5, number(text, "the chain of 10,000", 1)),
        ("a thousand chains of 1,000 windows, ms", "<=", 500, number(text, "chains of 1,000", 1)),
        ("20 values of psi for two buffers, ms", "<=", 2000, number(text, "TCP with INSTCAP", 1)),
        (
            "measuring: packets a second on one core",
            ">=",
            1_000_000,
            number(text, "`ackclock measure` |", 2),
        ),
        ("sending, TFRC: Mbit/s on loopback", ">=", 1000, number(text, "`tfrc`, at most 10", 1)),
    ]
    lines = ["| goal | asked | measured | |", "|---|---:|---:|---|"]
    for goal, relation, asked, measured in listed:
        reached = measured >= asked if relation == ">=" else measured <= asked
        bound = "at least" if relation == ">=" else "at most"
        shown = f"{measured:,.0f}" if measured >= 100 else f"{measured:.3g}"
        verdict = "reached" if reached else "missed"
        lines.append(f"| {goal} | {bound} {asked:,} | {shown} | {verdict} |")
    return "\n".join(lines)


def main() -> None:
    """Writes the section."""
    section.write(PAGE, "goals", goals((section.ROOT / PAGE).read_text(encoding="utf-8")))


if __name__ == "__main__":
    main()
