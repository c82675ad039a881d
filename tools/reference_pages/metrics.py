"""The page of metrics."""

import inspect
import re
from collections.abc import Callable

from ackclock.metrics import METRICS, WITH_PARAMETERS, Outage, Response
from reference_pages.page import Page, attributes
from reference_pages.schemas import Json

__all__ = ["text"]


def text(registered: Json, _described: Json) -> str:
    """Returns the page of metrics, those with parameters last."""
    page = Page("Metrics", registered)
    page.paragraph(
        "What tables, figures (`ackclock plot --metric`) and reports show: means over replicates "
        "with 95 % Student-t intervals, of the time after the warm-up unless they say otherwise."
    )
    rows = [(f"`{one.name}`", one.label, one.shown_unit or "—", one.summary) for one in METRICS]
    page.table(("metric", "label", "shown in", "what it is"), rows)
    page.title("With parameters")
    page.paragraph(
        "In Python some metrics are made for two flows, a time scale or a moment: "
        "`metrics.summarise(result, metrics.rate_cov(0.5))` has means and intervals over "
        "replicates, as of the others, and `metrics.by_replicate` each replicate's value. The "
        "coefficient of variation over the time scale is also a figure (`ackclock plot --kind "
        "variation`)."
    )
    made = [(f"`{one.__name__}{_parameters(one)}`", _paragraphs(one)) for one in WITH_PARAMETERS]
    page.table(("made by", "what it is"), made)
    for numbers in (Response, Outage):
        page.heading(2, numbers.__name__)
        page.paragraph(inspect.cleandoc(numbers.__doc__ or "").partition("\n")[0])
        page.names(("number", "what it is"), attributes(numbers))
    return page.finish()


def _parameters(function: Callable[..., object]) -> str:
    """Returns the parameters of a call: names without types, optional ones with their default."""
    known = inspect.signature(function).parameters.values()
    needed = [one.name for one in known if one.default is one.empty]
    spare = [f"{one.name}={one.default!r}" for one in known if one.default is not one.empty]
    return f"({', '.join([*needed, *spare])})"


def _paragraphs(function: Callable[..., object]) -> str:
    """Returns the docstring up to the list of arguments, on one line."""
    text = re.split(r"\n\n(?:Args|Returns|Raises):", inspect.cleandoc(function.__doc__ or ""))[0]
    return " ".join(text.split())
