import re
from html.parser import HTMLParser

import pytest

from ackclock import Result, __version__
from ackclock.report import page


class Checker(HTMLParser):
    """Collects ids and references, and checks that elements nest."""

    VOID = frozenset({"meta", "br", "img", "link", "hr", "input"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.outside: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in self.VOID:
            self.open.append(tag)
        self._look(attrs)

    def handle_startendtag(self, _tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._look(attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def _look(self, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            if name in ("src", "href", "xlink:href") and not (value or "").startswith("#"):
                self.outside.append(value or "")


@pytest.fixture(scope="module")
def text(result: Result, predicted: Result) -> str:
    return page([(result, predicted), (result, None)])


@pytest.mark.slow
def test_the_page_stands_alone(text: str) -> None:
    checker = Checker()
    checker.feed(text)
    assert checker.open == []
    assert checker.outside == []
    assert "<script" not in text
    assert "@import" not in text


@pytest.mark.slow
def test_ids_are_unique_and_references_have_a_target(text: str) -> None:
    checker = Checker()
    checker.feed(text)
    assert len(set(checker.ids)) == len(checker.ids)
    assert set(re.findall(r"url\(#([^)]+)\)", text)) | set(
        re.findall(r'href="#([^"]+)"', text)
    ) <= set(checker.ids)


@pytest.mark.slow
def test_the_page_says_what_was_run(text: str) -> None:
    assert "leaky pipe" in text
    assert __version__ in text
    assert "<tr><th>seed</th><td>1</td></tr>" in text
    assert "constant: rate 11 Mbit/s" in text
    assert "PFTK Mbit/s" in text
    assert text.count("<svg") == 18  # nine figures of each run


@pytest.mark.slow
def test_the_page_is_the_same_bytes(text: str, result: Result, predicted: Result) -> None:
    assert page([(result, predicted), (result, None)]) == text


@pytest.mark.slow
def test_a_partial_run_is_marked(text: str, result: Result) -> None:
    assert "<strong>Partial:</strong>" in page(
        [(Result(result.run | {"partial": True}, result.tables), None)]
    )
    assert "<strong>Partial:</strong>" not in text


@pytest.mark.slow
def test_names_are_escaped(result: Result) -> None:
    assert "<b>boo</b>" not in page(
        [(Result(result.run | {"name": "<b>boo</b>"}, result.tables), None)]
    )
