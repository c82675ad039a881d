"""The page of the scenario."""

from reference_pages.page import Page
from reference_pages.schemas import Json

__all__ = ["text"]


def text(registered: Json, described: Json) -> str:
    """Returns the page of the scenario: every field."""
    definitions = described.get("$defs", {})
    page = Page("Scenario", registered, definitions)
    page.paragraph(
        "A scenario is a file of TOML or JSON, or the same tree in Python. Fields that this page "
        'does not list are errors. A quantity is written with its unit, such as `"10 Mbit/s"`. '
        "There is a [JSON schema](scenario.schema.json), too."
    )
    page.contents()
    page.title("Top level")
    page.fields(described)
    for name in ("Hop", "Flow"):
        if name in definitions:
            page.section(name)
    _expressions(page)
    return page.finish()


def _expressions(page: Page) -> None:
    """Appends what may stand in place of a quantity."""
    page.title("Expressions")
    page.paragraph(
        "Every field with a quantity also takes an expression: numbers with units and names of "
        "`[values]`, with + - * / and parentheses (also − × ÷). A rate times a time is data. The "
        "result is rounded to a whole nanosecond, bit/s, byte or packet. `ackclock check` prints "
        "each result and where it comes from; the resolved scenario has only results."
    )
    page.table(
        ("unit", "meaning"),
        [
            (
                "`RTT`",
                "A base round-trip time: the delays of all hops on a flow's route and return "
                "route, and its access delay, without transmission and queueing. In the queue of "
                "a hop it is the smallest of the flows that cross the hop. In a flow it is the "
                "flow's own. In `duration`, `warmup` and `sample_interval` it is the longest of "
                "all flows.",
            ),
            (
                "`BDP`",
                "In the queue of a hop, the mean rate of its own link times the RTT there. It is "
                "refused if that rate is unknown, and elsewhere.",
            ),
        ],
    )
    page.paragraph(
        "A field on which round-trip times or rates depend takes neither: the delay, link and "
        "impairments of a hop, a medium, the access delay of a flow. Nor does `[values]`, which "
        "belongs to no flow or hop."
    )
