"""Addresses of cited publications: of RFCs and drafts by their number, of papers by their DOI.

A DOI stands here only if it was found beside the title in another publication or list, or follows
from the number of an arXiv paper that was. A citation without one has no address.
"""

import re
from collections.abc import Callable
from html import escape

__all__ = ["DOIS", "html", "markdown"]

#: Citation as it is written here, as a pattern, to the DOI of the paper.
DOIS: dict[str, str] = {
    r"Alizadeh et al\. \(?2010\)?": "10.1145/1851182.1851192",
    r"Barman, Smaragdakis, Matta 2004": "10.1109/GLOCOM.2004.1378255",
    r"D\. Barman, G\. Smaragdakis, I\. Matta": "10.1109/GLOCOM.2004.1378255",
    r"Barford, Crovella \(1998\)": "10.1145/277851.277897",
    r"Bianchi 2000": "10.1109/49.840210",
    r"Brakmo and Peterson \(1995\)": "10.1109/49.464716",
    r"Cardwell and others \(2016\)": "10.1145/3012426.3022184",
    r"Cardwell, Savage, Anderson 2000": "10.1109/INFCOM.2000.832574",
    r"Crovella, Bestavros \(1997\)": "10.1109/90.650143",
    r"Dukkipati, McKeown 2006": "10.1145/1111322.1111336",
    r"Floyd and Jacobson \(1993\)": "10.1109/90.251892",
    r"Høiland-Jørgensen, Täht and Morton \(2018\)": "10.48550/arXiv.1804.07617",
    r"“Improvement of RTT fairness problem in BBR[^”]*”": "10.3390/s21124128",
    r"Li and Leith \(2008\)": "10.1109/LCOMM.2008.071882",
    r"T\. Li, D\. J\. Leith, .Buffer sizing for TCP flows in 802\.11e WLANs.": (
        "10.1109/LCOMM.2008.071882"
    ),
    r"Li, Leith and Malone \(2011\)": "10.1109/TNET.2010.2089992",
    r"Liu, Başar, Srikant \(2006\)": "10.1145/1190095.1190166",
    r"Mascolo, Casetti, Gerla, Sanadidi, Wang \(2001\)": "10.1145/381677.381704",
    r"Mathis(?:, Semke, Mahdavi, Ott| and others) 1997": "10.1145/263932.264023",
    r"Nichols and Jacobson \(2012\)": "10.1145/2208917.2209336",
    r"Padhye, Firoiu, Towsley, Kurose 1998": "10.1145/285237.285291",
    r"Pan et al\. \(2013\)": "10.1109/HPSR.2013.6602305",
    r"Rejaie, Handley, Estrin 1999": "10.1109/INFCOM.1999.752152",
    r"Shreedhar and Varghese \(1996\)": "10.1109/90.502236",
    r"Ware, Mukerjee, Seshan, Sherry 2019": "10.1145/3355369.3355604",
    r"R\. Ware, M\. K\. Mukerjee, S\. Seshan, J\. Sherry": "10.1145/3355369.3355604",
    r"Willinger, Taqqu, Sherman, Wilson 1997": "10.1109/90.554723",
}

_RFC, _DRAFT = r"RFC (?P<rfc>\d+)", r"(?P<draft>draft-[a-z]+-[a-z0-9-]+[a-z0-9])"
_CITED = re.compile("|".join([_RFC, _DRAFT, *(f"(?:{one})" for one in DOIS)]))


def html(text: str) -> str:
    """Returns a text as HTML in which citations are links."""
    return _linked(text, escape, '<a href="{address}">{words}</a>')


def markdown(text: str) -> str:
    """Returns a text of Markdown in which citations are links."""
    return _linked(text, str, "[{words}]({address})")


def _linked(text: str, written: Callable[[str], str], link: str) -> str:
    parts, at = [], 0
    for found in _CITED.finditer(text):
        words = written(found[0])
        parts += [written(text[at : found.start()]), link.format(words=words, address=_of(found))]
        at = found.end()
    return "".join([*parts, written(text[at:])])


def _of(found: re.Match[str]) -> str:
    """Returns the address of a citation."""
    if found["rfc"]:
        return f"https://www.rfc-editor.org/rfc/rfc{found['rfc']}"
    if found["draft"]:
        return f"https://datatracker.ietf.org/doc/{found['draft']}/"
    doi = next(doi for pattern, doi in DOIS.items() if re.fullmatch(pattern, found[0]))
    return f"https://doi.org/{doi}"
