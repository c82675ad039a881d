"""Sections of pages that a script writes, between two marks."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def write(page: str, name: str, text: str) -> None:
    """Replaces the text between the marks of a name in a page of the project.

    Raises:
        ValueError: The page has no such marks.
    """
    path = ROOT / page
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    before, begins, rest = path.read_text(encoding="utf-8").partition(begin)
    _, ends, after = rest.partition(end)
    if not (begins and ends):
        raise ValueError(
            f"{page}: has no {begin} or no {end} behind it; put them where the section shall be"
        )
    path.write_text(f"{before}{begin}\n\n{text}\n\n{end}{after}", encoding="utf-8")
