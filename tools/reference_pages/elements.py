"""The page of a kind of element."""

from reference_pages.kinds import KINDS
from reference_pages.page import Page, first_sentence
from reference_pages.schemas import Json, anchor

__all__ = ["text"]


def text(kind: str, registered: Json) -> str:
    """Returns the page of a kind: every element with its parameters and facts."""
    page = Page(KINDS[kind].title, registered)
    page.elsewhere = {"Preset": "presets.md"}
    page.paragraph(KINDS[kind].place)
    if not registered[kind]:
        page.paragraph("There are none yet.")
    else:
        index = [
            (f"[`{entry['name']}`](#{anchor(entry['name'])})", first_sentence(entry["summary"]))
            for entry in registered[kind]
        ]
        page.table(("kind", "meaning"), index)
    page.contents()
    page.shared_parameters(registered[kind])
    for entry in registered[kind]:
        page.element(entry, KINDS[kind].pattern)
    facts = next(record["facts"] for record in registered["kinds"] if record["name"] == kind)
    if facts.get("properties"):
        page.all_facts(facts)
    return page.finish()
