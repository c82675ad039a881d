"""The page of advice."""

from math import inf

from ackclock.advice import regions
from ackclock.advice.buffer import measures
from ackclock.advice.buffer.measures import MEASURES
from reference_pages.page import Page, after_the_first_line
from reference_pages.schemas import Json

__all__ = ["text"]


def text(registered: Json, _described: Json) -> str:
    """Returns the page of advice: targets for a buffer, regions of psi."""
    page = Page("Advice", registered)
    page.paragraph(
        "`ackclock advise feedback` says whether a sender should be told the rate of a link, and "
        "what. With `-o` it writes a result, a point for each scheme, and `advice.json`, the same "
        "as `--json` prints. What all this means is in the guide `docs/guides/rate-feedback.md`."
    )
    page.paragraph(
        "`ackclock advise buffer` says how small a drop-tail buffer may be, or that none meets the "
        "targets. With `-o` it writes `advice.json`, the figure `trade-off.svg` (and `.png`), and "
        "`runs/`, a result of each run under its address. The guide is "
        "`docs/guides/sizing-a-buffer.md`."
    )
    page.title("Targets for a buffer")
    page.paragraph(after_the_first_line(measures))
    page.names(
        ("target", "of"),
        [
            (f"{one.option}", f"{one.label}, {'at least' if one.at_least else 'at most'}")
            for one in MEASURES.values()
        ],
    )
    page.title("Regions of psi")
    page.paragraph(after_the_first_line(regions))
    rows = [
        (
            one.name,
            f"{one.low:g}",
            "" if one.high == inf else f"{one.high:g}",
            one.says,
            one.expects,
        )
        for one in regions.REGIONS
    ]
    page.table(("region", "from", "to", "on the mean", "what is expected of feedback"), rows)
    return page.finish()
