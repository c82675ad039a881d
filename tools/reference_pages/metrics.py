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
        "`ackclock table`, `ackclock plot --metric` and sweeps show any of these metrics as means "
        "over replicates, with 95 % Student-t intervals; reports show some of them. A metric "
        "covers the time after the warm-up, unless it says otherwise."
    )
    rows = [
        (
            f"`{metric.name}`",
            metric.label,
            metric.shown_unit or "—",
            metric.subjects.nouns,
            metric.summary,
        )
        for metric in METRICS.values()
    ]
    page.table(("metric", "label", "unit", "of", "meaning"), rows)
    page.title("Metrics with parameters")
    page.paragraph(
        "In Python, functions of `ackclock.metrics` make metrics for given flows, time scales or "
        "times. `metrics.summarise(result, metrics.rate_cov(0.5))` returns means and intervals "
        "over replicates; `metrics.by_replicate` returns the value of each replicate. The figure "
        "`variation` shows the coefficient of variation against the time scale."
    )
    made = [
        (f"`{function.__name__}{_parameters(function)}`", _paragraphs(function))
        for function in WITH_PARAMETERS
    ]
    page.table(("function", "meaning"), made)
    for numbers in (Response, Outage):
        page.heading(2, numbers.__name__)
        page.paragraph(inspect.cleandoc(numbers.__doc__ or "").partition("\n")[0])
        page.names(("field", "meaning"), attributes(numbers))
    return page.finish()


def _parameters(function: Callable[..., object]) -> str:
    """Returns the parameters of a call: names without types, optional ones with their default."""
    parameters = inspect.signature(function).parameters.values()
    needed = [parameter.name for parameter in parameters if parameter.default is parameter.empty]
    spare = [
        f"{parameter.name}={parameter.default!r}"
        for parameter in parameters
        if parameter.default is not parameter.empty
    ]
    return f"({', '.join([*needed, *spare])})"


def _paragraphs(function: Callable[..., object]) -> str:
    """Returns the docstring up to the list of arguments, on one line."""
    text = re.split(r"\n\n(?:Args|Returns|Raises):", inspect.cleandoc(function.__doc__ or ""))[0]
    return " ".join(text.split())
