"""The page of models."""

import inspect
import sys
from collections.abc import Sequence

from ackclock.models import MODELS
from ackclock.models import capture as capture_terms
from ackclock.models import path as scenario_terms
from reference_pages.page import Page, after_the_first_line, attributes
from reference_pages.schemas import Json, anchor

__all__ = ["text"]


def text(registered: Json, _described: Json) -> str:
    """Returns the page of models: inputs, outputs, formula and assumptions of each."""
    page = Page("Models", registered)
    page.paragraph(
        "What `ackclock predict` asks, of the flows of a scenario or of plain numbers (`ackclock "
        "predict pftk --loss 1% --rtt 100ms`). A model says for which flows it has no answer, and "
        "which of its assumptions a flow violates. Tables and figures of simulations show the "
        "usual ones beside what was simulated; `--models` chooses others."
    )
    rows = [
        (f"[`{one.name}`](#{anchor(one.name)})", "yes" if one.usual else "", one.summary)
        for one in MODELS
    ]
    page.table(("model", "usual", "what it is"), rows)
    page.title("From a scenario to a model")
    for terms in scenario_terms.RECORDS:
        summary, _, rest = (
            inspect.cleandoc(terms.__doc__ or "").partition("Attributes:\n")[0].partition("\n\n")
        )
        page.paragraph(f"**{terms.__name__}.** {summary} {' '.join(rest.split())}".strip())
        page.names(("field", "what it is"), attributes(terms))
    page.title("From a capture to a model")
    page.paragraph(after_the_first_line(capture_terms))
    for model in MODELS:
        page.heading(2, model.name)
        page.paragraph(f"**{model.label}.** {model.summary}")
        page.paragraph(after_the_first_line(sys.modules[model.evaluate.__module__]))
        record = model.described()
        page.paragraph(f"```text\n{record['formula']}\n```")
        head = ("input", "letter", "unit", "default", "domain", "meaning")
        page.table(head, [_quantity(one, ("default", "domain")) for one in record["inputs"]])
        page.table(
            ("output", "letter", "unit", "meaning"), [_quantity(one) for one in record["outputs"]]
        )
        page.paragraph("It assumes:")
        page.paragraph(
            "\n".join(f"- `{one['name']}`: {one['sentence']}" for one in record["assumptions"])
        )
        page.paragraph(f"Reference: {model.reference}.")
    return page.finish()


def _quantity(one: Json, more: Sequence[str] = ()) -> tuple[str, ...]:
    """Returns a row of a model's inputs or outputs."""
    letter = f"`{one['letter']}`" if one["letter"] else "—"
    return (
        f"`{one['name']}`",
        letter,
        one["unit"] or "—",
        *(one[name] for name in more),
        one["meaning"],
    )
