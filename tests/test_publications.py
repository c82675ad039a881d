"""Citations become links where their address is known, and only there."""

import re

import pytest

from ackclock import publications
from ackclock.models import MODELS


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("RFC 9438 sections 4.3", "https://www.rfc-editor.org/rfc/rfc9438"),
        (
            "draft-ietf-ccwg-bbr-06 (6 July)",
            "https://datatracker.ietf.org/doc/draft-ietf-ccwg-bbr-06/",
        ),
        ("see Mathis and others 1997", "https://doi.org/10.1145/263932.264023"),
        (
            "of T. Li, D. J. Leith, “Buffer sizing for TCP flows in 802.11e WLANs”",
            "https://doi.org/10.1109/LCOMM.2008.071882",
        ),
    ],
)  # fmt: skip
def test_a_citation_is_a_link(text: str, address: str) -> None:
    found = publications.markdown(text)
    assert found.count(f"]({address})") == 1
    assert re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", found) == text


def test_what_is_not_known_stays_text() -> None:
    assert publications.markdown("Villamizar, Song 1994") == "Villamizar, Song 1994"


def test_text_around_a_link_is_escaped() -> None:
    found = publications.html("<b> & RFC 3649")
    assert found == '&lt;b&gt; &amp; <a href="https://www.rfc-editor.org/rfc/rfc3649">RFC 3649</a>'


def test_every_doi_is_one_and_cited_somewhere() -> None:
    assert all(re.fullmatch(r"10\.\d{4,5}/\S+", doi) for doi in publications.DOIS.values())
    cited = " ".join(model.reference for model in MODELS)
    assert publications.markdown(cited).count("doi.org") >= 8
