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
        "`ackclock advise feedback` says if a sender gains from feedback of a link's rate, and "
        "which scheme to use. With `-o` it writes a result with one point per scheme, and "
        "`advice.json`, which `--json` prints too. The guide is "
        "[Can rate feedback help?](../guides/rate-feedback.md)"
    )
    page.paragraph(
        "`ackclock advise buffer` finds the smallest drop-tail buffer that meets the targets, or "
        "says that none does. With `-o` it writes `advice.json`, the figure `trade-off.svg` (and "
        "`.png`), and the folder `runs/` with the result of each run. The guide is "
        "[Sizing a buffer](../guides/sizing-a-buffer.md)."
    )
    page.title("Targets for a buffer")
    page.paragraph(after_the_first_line(measures))
    page.names(
        ("option", "target"),
        [
            (
                f"{measure.option}",
                f"{'smallest' if measure.at_least else 'largest'} {measure.label}",
            )
            for measure in MEASURES.values()
        ],
    )
    page.title("Regions of psi")
    page.paragraph(after_the_first_line(regions))
    rows = [
        (
            region.name,
            f"{region.low:g}",
            "" if region.high == inf else f"{region.high:g}",
            region.says,
            region.expects,
        )
        for region in regions.REGIONS
    ]
    page.table(("region", "from", "to", "meaning", "expected effect of feedback"), rows)
    return page.finish()
