"""Citations become links where their address is known, and only there."""

import re

import pytest

from ackclock.elements import registry
from ackclock.models import MODELS
from ackclock.report import publications
from ackclock_papers import EXPERIMENTS

KERNEL = "https://git.kernel.org/pub/scm/linux/kernel/git/torvalds/linux.git/tree"


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("RFC 9438 sections 4.3", "https://www.rfc-editor.org/rfc/rfc9438"),
        (
            "draft-ietf-ccwg-bbr-06 (6 July)",
            "https://datatracker.ietf.org/doc/draft-ietf-ccwg-bbr-06/",
        ),
        ("Linux, `sch_fq.c`", f"{KERNEL}/net/sched/sch_fq.c"),
        ("see Mathis and others 1997", "https://doi.org/10.1145/263932.264023"),
        (
            "of T. Li, D. J. Leith, “Buffer sizing for TCP flows in 802.11e WLANs”",
            "https://doi.org/10.1109/LCOMM.2008.071882",
        ),
    ],
)  # fmt: skip
def test_a_citation_is_a_link(text: str, address: str) -> None:
    linked = publications.markdown(text)
    assert linked.count(f"]({address})") == 1
    assert re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", linked) == text


def test_a_paper_without_a_known_address_leads_to_a_search_for_its_title() -> None:
    linked = publications.markdown("Yang, Lam 2000, ICNP")
    query = "General+AIMD+congestion+control"
    assert linked == f"[Yang, Lam 2000](https://scholar.google.com/scholar?q={query}), ICNP"


def test_what_is_not_known_stays_text() -> None:
    assert publications.markdown("Nobody, Somebody 1994") == "Nobody, Somebody 1994"


def references() -> set[str]:
    """Returns what models, elements and experiments cite, each publication by itself."""
    whole = [model.reference for model in MODELS]
    whole += [experiment.source for experiment in EXPERIMENTS]
    for kind in registry.kinds():
        whole += [element["reference"] for element in registry.registry()[kind]]
    return {part for reference in whole for part in re.split(r";\s*", reference)}


def test_every_publication_cited_is_a_link() -> None:
    """A publication has a year. Our own pages have one too."""
    dated = {reference for reference in references() if re.search(r"\b(19|20)\d\d\b", reference)}
    assert len(dated) > 50
    unlinked = {reference for reference in dated if publications.markdown(reference) == reference}
    unlinked = {reference for reference in unlinked if not reference.startswith("ackclock,")}
    assert not unlinked, (
        "add the DOI or page to ADDRESSES, or the title to TITLES, in "
        "python/ackclock/report/publications.py"
    )


def test_text_around_a_link_is_escaped() -> None:
    linked = publications.html("<b> & RFC 3649")
    assert linked == '&lt;b&gt; &amp; <a href="https://www.rfc-editor.org/rfc/rfc3649">RFC 3649</a>'


def test_every_address_is_a_doi_or_a_page() -> None:
    addresses = publications.ADDRESSES.values()
    assert all(re.fullmatch(r"10\.\d{4,5}/\S+|https://\S+", address) for address in addresses)
    assert not publications.ADDRESSES.keys() & publications.TITLES.keys()
    cited = " ".join(model.reference for model in MODELS)
    assert publications.markdown(cited).count("doi.org") >= 8
