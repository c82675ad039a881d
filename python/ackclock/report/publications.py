"""Addresses of what is cited: RFCs and drafts by number, papers by DOI, files of Linux by name.

A DOI or the address of a page stands here only if it was found beside the title in another
publication or list, or follows from the number of an arXiv paper that was. A citation without one
leads to a search for the title.
"""

import re
from collections.abc import Callable
from html import escape
from urllib.parse import quote_plus

#: Citation as it is written here, as a pattern, to the DOI of the paper or the address of its page.
ADDRESSES: dict[str, str] = {
    r"Alizadeh et al\. \(?2010\)?": "10.1145/1851182.1851192",
    r"M\. Alizadeh et al\.": "10.1145/1851182.1851192",
    r"Appenzeller, Keslassy and McKeown 2004": "10.1145/1015467.1015499",
    r"arXiv 2601\.08439": "10.48550/arXiv.2601.08439",
    r"Arun and Balakrishnan \(2018\)": (
        "https://www.usenix.org/conference/nsdi18/presentation/arun"
    ),
    r"Barman, Smaragdakis, Matta 2004": "10.1109/GLOCOM.2004.1378255",
    r"D\. Barman, G\. Smaragdakis, I\. Matta": "10.1109/GLOCOM.2004.1378255",
    r"Barford, Crovella \(1998\)": "10.1145/277851.277897",
    r"Bianchi 2000": "10.1109/49.840210",
    r"Bianchi, Tinnirello, Scalia 2005": "10.1109/MNET.2005.1470680",
    r"Brakmo and Peterson \(1995\)": "10.1109/49.464716",
    r"Cardwell and others \(2016\)": "10.1145/3012426.3022184",
    r"Cardwell, Savage, Anderson 2000": "10.1109/INFCOM.2000.832574",
    r"Crovella, Bestavros \(1997\)": "10.1109/90.650143",
    r"De Schepper(?:, Bondarenko, Tsang and Briscoe| et al\.) \(2016\)": (
        "https://www.simula.no/publications/pi2-linearized-aqm-both-classic-and-scalable-tcp"
    ),
    r"Dukkipati, McKeown 2006": "10.1145/1111322.1111336",
    r"Elliott 1963": "10.1002/j.1538-7305.1963.tb00955.x",
    r"Floyd, Fall 1999": "10.1109/90.793002",
    r"Floyd, Gummadi and Shenker \(2001\)": "https://www.icir.org/floyd/papers/adaptiveRed.pdf",
    r"Floyd, Handley, Padhye \(?2000\)?": "https://www.icir.org/tfrc/aimd.pdf",
    r"Floyd and Jacobson \(1993\)": "10.1109/90.251892",
    r"Gilbert 1960": "10.1002/j.1538-7305.1960.tb03959.x",
    r"Harchol-Balter, Crovella, Murta \(1999\)": "10.1006/jpdc.1999.1577",
    r"Høiland-Jørgensen, Täht and Morton \(2018\)": "10.48550/arXiv.1804.07617",
    r"IEEE 802\.11-2016": "10.1109/IEEESTD.2016.7786995",
    r"“Improvement of RTT fairness problem in BBR[^”]*”": "10.3390/s21124128",
    r"Leith and Shorten \(2004\)": "https://www.hamilton.ie/net/htcp3.pdf",
    r"Li and Leith \(2008\)": "10.1109/LCOMM.2008.071882",
    r"T\. Li, D\. J\. Leith, .Buffer sizing for TCP flows in 802\.11e WLANs.": (
        "10.1109/LCOMM.2008.071882"
    ),
    r"Li, Leith and Malone \(2011\)": "10.1109/TNET.2010.2089992",
    r"Liu, Başar, Srikant \(2006\)": "10.1145/1190095.1190166",
    r"Mascolo, Casetti, Gerla, Sanadidi, Wang \(2001\)": "10.1145/381677.381704",
    r"Mathis(?:, Semke, Mahdavi, Ott| and others) 1997": "10.1145/263932.264023",
    r"Netravali et al\.": (
        "https://www.usenix.org/conference/atc15/technical-session/presentation/netravali"
    ),
    r"Nichols and Jacobson \(2012\)": "10.1145/2208917.2209336",
    r"Padhye, Firoiu, Towsley, Kurose 1998": "10.1145/285237.285291",
    r"Pan et al\. \(2013\)": "10.1109/HPSR.2013.6602305",
    r"Propp, Wilson 1996": (
        "10.1002/%28SICI%291098-2418%28199608/09%299:1/2%3C223::AID-RSA14%3E3.0.CO;2-O"
    ),
    r"Ramakrishnan et al\. \(2019\)": "10.1109/LCNSymposium47956.2019.9000684",
    r"Rejaie, Handley, Estrin 1999": "10.1109/INFCOM.1999.752152",
    r"F\. B\. Sarpkaya, F\. Fund, S\. Panwar": "10.1007/978-3-031-85960-1_10",
    r"Shreedhar and Varghese \(1996\)": "10.1109/90.502236",
    r"Villamizar(?:,| and) Song 1994": "10.1145/205511.205520",
    r"Ware, Mukerjee, Seshan, Sherry 2019": "10.1145/3355369.3355604",
    r"R\. Ware, M\. K\. Mukerjee, S\. Seshan, J\. Sherry": "10.1145/3355369.3355604",
    r"Wichura 1988": "10.2307/2347330",
    r"Willinger, Taqqu, Sherman, Wilson 1997": "10.1109/90.554723",
    r"Winstein, Sivaraman, Balakrishnan \(2013\)": (
        "https://www.usenix.org/conference/nsdi13/technical-sessions/presentation/winstein"
    ),
    r"Wu et al\. 2002": "10.1109/INFCOM.2002.1019305",
    r"L4STeam/linux": "https://github.com/L4STeam/linux",
    r"github\.com/heistp/l4s-tests": "https://github.com/heistp/l4s-tests",
    r"l4steam\.github\.io/ect1-tests": "https://l4steam.github.io/ect1-tests",
}

_SHAKKOTTAI = "TCP performance over end-to-end rate control and stochastic available capacity"
_TFRCP = "A model based TCP-friendly rate control protocol"
_SHORT = "Performance of short TCP transfers"
_HELSINKI = "Analytical Markovian model of TCP congestion avoidance algorithm performance Helsinki"
_ABSE = (
    "Using adaptive rate estimation to provide enhanced and robust transport over heterogeneous "
    "networks"
)

#: The same to the title of the paper, where no address was found beside it.
TITLES: dict[str, str] = {
    r"Barakat, Altman 2000": _SHORT,
    r"C\. Barakat, E\. Altman": _SHORT,
    r"Bogoiavlenskaia, Kojo, Mutka, Alanko 2002": _HELSINKI,
    r"O\. Bogoiavlenskaia, M\. Kojo, M\. Mutka, T\. Alanko": _HELSINKI,
    r"Danzig, Jamin \(1991\)": "tcplib: A library of TCP internetwork traffic characteristics",
    r"Huang et al\. \(2014\)": (
        "A buffer-based approach to rate adaptation: evidence from a large video streaming service"
    ),
    r"Kesidis, Walrand, Chang 1993": (
        "Effective bandwidths for multiclass Markov fluids and other ATM sources"
    ),
    r"Lakshman, Madhow 1997": (
        "The performance of TCP/IP for networks with high bandwidth-delay products and random loss"
    ),
    r"Lakshman, Neidhardt and Ott \(1996\)": (
        "The drop from front strategy in TCP and in TCP over ATM"
    ),
    r"Mao, Netravali, Alizadeh \(2017\)": "Neural adaptive video streaming with Pensieve",
    r"Mascolo, Grieco, Ferorelli, Camarda, Piscitelli \(2004\)": (
        "Performance evaluation of Westwood+ TCP congestion control"
    ),
    r"Padhye, Kurose, Towsley, Koodli \(?1999\)?": _TFRCP,
    r"J\. Padhye, J\. Kurose, D\. Towsley, R\. Koodli": _TFRCP,
    r"Robinson, Randhawa 2004": (
        "Saturation throughput analysis of IEEE 802.11e enhanced distributed coordination function"
    ),
    r"Schroeder, Wierman, Harchol-Balter \(2006\)": "Open versus closed: a cautionary tale",
    r"Shakkottai, Kumar, Karnik, Anvekar \(?2001\)?": _SHAKKOTTAI,
    r"S\. Shakkottai, A\. Kumar, A\. Karnik, A\. Anvekar": _SHAKKOTTAI,
    r"Wang, Valla, Sanadidi, Gerla \(2002\)": _ABSE,
    r"R\. Wang, M\. Valla, M\. Y\. Sanadidi, M\. Gerla": _ABSE,
    r"Wang, Valla, Sanadidi, Ng, Gerla \(2002\)": (
        "Efficiency/friendliness tradeoffs in TCP Westwood"
    ),
    r"Yang, Lam 2000": "General AIMD congestion control",
    r"Romanow (?:and|&) Floyd \(1995\)": "Dynamics of TCP traffic over ATM networks",
}

_KNOWN = ADDRESSES | TITLES
_KERNEL = "https://git.kernel.org/pub/scm/linux/kernel/git/torvalds/linux.git/tree"
_RFC, _DRAFT = r"RFC (?P<rfc>\d+)", r"(?P<draft>draft-[a-z]+-[a-z0-9-]+[a-z0-9])"
_LINUX = r"`?(?P<linux>(?:tcp_(?!prague)|sch_)[a-z]+\.c)`?"
_CITED = re.compile("|".join([_RFC, _DRAFT, _LINUX, *(f"(?:{pattern})" for pattern in _KNOWN)]))


def address_in(text: str, span: tuple[int, int] | None = None) -> str:
    """Returns the address of the first citation in a text; empty if it has none.

    A search for a title is not an address.

    Args:
        text: The text.
        span: Begin and end of a part that the citation overlaps; None for the whole text.
    """
    begin, end = span or (0, len(text))
    for citation in _CITED.finditer(text):
        if citation.start() < end and citation.end() > begin:
            address = _address(citation)
            return "" if address.startswith("https://scholar.") else address
    return ""


def html(text: str) -> str:
    """Returns a text as HTML in which citations are links."""
    return _linked(text, escape, '<a href="{address}">{words}</a>')


def markdown(text: str) -> str:
    """Returns a text of Markdown in which citations are links."""
    return _linked(text, str, "[{words}]({address})")


def _linked(text: str, written: Callable[[str], str], link: str) -> str:
    parts, begin = [], 0
    for citation in _CITED.finditer(text):
        words = written(citation[0])
        parts += [
            written(text[begin : citation.start()]),
            link.format(words=words, address=_address(citation)),
        ]
        begin = citation.end()
    return "".join([*parts, written(text[begin:])])


def _address(citation: re.Match[str]) -> str:
    """Returns the address of a citation."""
    if citation["rfc"]:
        return f"https://www.rfc-editor.org/rfc/rfc{citation['rfc']}"
    if citation["draft"]:
        return f"https://datatracker.ietf.org/doc/{citation['draft']}/"
    if citation["linux"]:
        folder = "ipv4" if citation["linux"].startswith("tcp_") else "sched"
        return f"{_KERNEL}/net/{folder}/{citation['linux']}"
    pattern = next(pattern for pattern in _KNOWN if re.fullmatch(pattern, citation[0]))
    if pattern in TITLES:
        return f"https://scholar.google.com/scholar?q={quote_plus(TITLES[pattern])}"
    address = ADDRESSES[pattern]
    return address if address.startswith("https:") else f"https://doi.org/{address}"
