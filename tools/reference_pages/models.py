"""The page of models."""

import inspect
import re
import sys
from collections.abc import Mapping

from ackclock.models import MODELS
from ackclock.models import capture as capture_terms
from ackclock.models import path as scenario_terms
from ackclock.report.publications import markdown
from reference_pages.page import Page, after_the_first_line, attributes, repeated
from reference_pages.schemas import Json, anchor

__all__ = ["text"]


def text(registered: Json, _described: Json) -> str:
    """Returns the page of models: inputs, outputs, formula and assumptions of each."""
    page = Page("Models", registered)
    page.paragraph(
        "`ackclock predict` evaluates these models for the flows of a scenario, or for plain "
        "numbers: `ackclock predict pftk --loss 1% --rtt 100ms`. For each flow a model states why "
        "it has no answer, or which of its assumptions the flow violates. Tables and figures of "
        "simulations show the models marked *default* beside the simulation; `--models` chooses "
        "others."
    )
    rows = [
        (
            f"[`{model.name}`](#{anchor(model.name)})",
            "default" if model.usual else "",
            model.summary,
        )
        for model in MODELS
    ]
    page.table(("model", "shown", "meaning"), rows)
    page.contents()
    _terms(page)
    records = [model.described() for model in MODELS]
    shared = repeated(
        (assumption["name"], assumption["sentence"])
        for record in records
        for assumption in record["assumptions"]
    )
    page.title("Shared assumptions")
    page.paragraph("Models refer to this list by name.")
    page.names(("assumption", "meaning"), shared.items())
    explained: dict[str, str] = {}
    for model, record in zip(MODELS, records, strict=True):
        page.heading(2, model.name)
        page.paragraph(f"**{model.label}.** {model.summary}")
        background = _background(model.evaluate.__module__)
        first = explained.setdefault(background, model.name)
        if first == model.name or not background:
            page.paragraph(background)
        else:
            page.paragraph(f"The background is that of [`{first}`](#{anchor(first)}).")
        page.paragraph(f"```text\n{record['formula']}\n```")
        inputs = [
            (
                _named(field),
                field["unit"] or "—",
                field["domain"],
                field["default"],
                field["meaning"],
            )
            for field in record["inputs"]
        ]
        page.table(("input", "unit", "domain", "default", "meaning"), inputs)
        tables = [
            (
                f"`{table.name}`",
                ", ".join(f"`{name}`" for name in table.replaces),
                ", ".join(f"`{name}`" for name in (*table.columns, *table.others)),
                table.meaning,
            )
            for table in model.tables
        ]
        page.table(("table", "instead of", "columns", "meaning"), tables)
        outputs = [
            (_named(field), field["unit"] or "—", field["meaning"]) for field in record["outputs"]
        ]
        page.table(("output", "unit", "meaning"), outputs)
        _assumptions(page, record["assumptions"], shared)
        bands = [
            (", ".join(f"`{name}`" for name in band.outputs), band.words, band.origin, band.source)
            for band in model.accuracy
        ]
        page.table(("accuracy of", "error", "origin", "where"), bands)
        page.paragraph(f"Reference: {markdown(model.reference)}.")
    return page.finish()


def _terms(page: Page) -> None:
    """Adds the sections on how scenarios and captures become inputs."""
    page.title("From a scenario to a model")
    page.paragraph("The inputs of the models come from these properties of a scenario.")
    for terms in scenario_terms.RECORDS:
        summary, _, rest = (
            inspect.cleandoc(terms.__doc__ or "").partition("Attributes:\n")[0].partition("\n\n")
        )
        page.heading(3, terms.__name__)
        page.paragraph(f"{summary} {' '.join(rest.split())}".strip())
        page.names(("field", "meaning"), attributes(terms))
    page.title("From a capture to a model")
    page.paragraph(after_the_first_line(capture_terms))


def _background(module: str) -> str:
    """Returns a module's docstring without its summary and the letters that the tables explain."""
    paragraphs = after_the_first_line(sys.modules[module]).split("\n\n")
    return "\n\n".join(
        paragraph
        for paragraph in paragraphs
        if not paragraph.startswith("Letters:") or re.search(r"\w\(\w\)", paragraph)
    )


def _named(field: Json) -> str:
    """Returns the name of an input or output, with its letter in the formula."""
    return f"`{field['name']}` (`{field['letter']}`)" if field["letter"] else f"`{field['name']}`"


def _assumptions(page: Page, assumptions: list[Json], shared: Mapping[str, str]) -> None:
    """Adds a model's assumptions; those that models share by name only."""
    own = [
        assumption
        for assumption in assumptions
        if shared.get(assumption["name"]) != assumption["sentence"]
    ]
    lines = [f"- `{assumption['name']}`: {assumption['sentence']}" for assumption in own]
    names = ", ".join(
        f"`{assumption['name']}`" for assumption in assumptions if assumption not in own
    )
    if names:
        lines.append(f"- [Shared assumptions](#shared-assumptions): {names}")
    page.paragraph("It assumes:")
    page.paragraph("\n".join(lines))
