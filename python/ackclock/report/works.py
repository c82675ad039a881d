"""The works that elements, models and experiments rest on, for a list of references.

A record has what a list of references shows. It is found in a citation by a pattern, as addresses
are (`publications.py`). Titles are in sentence case, authors as on the title page.
"""

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from ackclock import engine
from ackclock.errors import InputError
from ackclock.report.publications import address_in

ARTICLE, TALK, REPORT, MISC = "article", "inproceedings", "techreport", "misc"
#: Where a work of each kind stands, as a field of BibTeX.
_VENUES = {ARTICLE: "journal", TALK: "booktitle", REPORT: "institution", MISC: "howpublished"}


class Work(NamedTuple):
    """A publication.

    Attributes:
        key: Its key in BibTeX.
        authors: Names, separated by commas.
        title: The title.
        venue: Journal, conference or institution, with volume and number.
        year: The year; 0 if it has none.
        kind: `article`, `inproceedings`, `techreport` or `misc`, as in BibTeX.
        address: DOI or address of the page; empty if unknown.
        version: Version of a program.
    """

    key: str
    authors: str
    title: str
    venue: str
    year: int
    kind: str = TALK
    address: str = ""
    version: str = ""

    @property
    def plain(self) -> dict[str, Any]:
        """It as plain data."""
        return self._asdict() | {"authors": self.authors.split(", ") if self.authors else []}

    def bibtex(self) -> str:
        """Returns its entry."""
        authors = " and ".join(self.authors.split(", "))
        place, link = self.address, ""
        if place.startswith("https://doi.org/"):
            place, link = "", place.removeprefix("https://doi.org/")
        fields = {
            "author": f"{{{authors}}}" if self.authors == ACKCLOCK_AUTHORS else authors,
            "title": f"{{{self.title}}}",
            _VENUES[self.kind]: self.venue,
            "version": self.version,
            "year": str(self.year) if self.year else "",
            "doi": link,
            "url": place,
        }
        lines = [f"  {name} = {{{text}}}," for name, text in fields.items() if text.strip("{}")]
        return "\n".join([f"@{self.kind}{{{self.key},", *lines, "}"])

    def text(self) -> str:
        """Returns it as an entry of a list."""
        version = f", version {self.version}" if self.version else ""
        parts = [self.authors, f"{self.title}{version}", self.venue, str(self.year or "")]
        return ". ".join(filter(None, [*(part.rstrip(".") for part in parts), self.address]))


ACKCLOCK_AUTHORS = "The ackclock authors"


def ackclock() -> Work:
    """Returns ackclock itself, as `CITATION.cff` has it."""
    return Work(
        "ackclock", ACKCLOCK_AUTHORS, "ackclock: a congestion-control laboratory", "", 2026,
        MISC, "https://github.com/ackclock/ackclock", engine.version(),
    )  # fmt: skip


_TON = "IEEE/ACM Transactions on Networking"
_CCR = "ACM SIGCOMM Computer Communication Review"
_JSAC = "IEEE Journal on Selected Areas in Communications"

# Pattern to work; the address of a work is that of the citation.
_WORKS: dict[str, Work] = {
    r"Alizadeh et al\.": Work(
        "alizadeh2010dctcp",
        "M. Alizadeh, A. Greenberg, D. A. Maltz, J. Padhye, P. Patel, B. Prabhakar, S. Sengupta, "
        "M. Sridharan",
        "Data Center TCP (DCTCP)", "ACM SIGCOMM", 2010,
    ),
    r"Appenzeller, Keslassy and McKeown": Work(
        "appenzeller2004sizing", "G. Appenzeller, I. Keslassy, N. McKeown",
        "Sizing router buffers", "ACM SIGCOMM", 2004,
    ),
    r"Arun and Balakrishnan": Work(
        "arun2018copa", "V. Arun, H. Balakrishnan",
        "Copa: Practical delay-based congestion control for the Internet", "USENIX NSDI", 2018,
    ),
    r"Barakat, (?:E\. )?Altman": Work(
        "barakat2000short", "C. Barakat, E. Altman", "Performance of short TCP transfers",
        "Networking", 2000,
    ),
    r"Barman, (?:G\. )?Smaragdakis, (?:I\. )?Matta": Work(
        "barman2004effect", "D. Barman, G. Smaragdakis, I. Matta",
        "The effect of router buffer size on HighSpeed TCP performance", "IEEE Globecom", 2004,
    ),
    r"Barford, Crovella": Work(
        "barford1998generating", "P. Barford, M. Crovella",
        "Generating representative Web workloads for network and server performance evaluation",
        "ACM SIGMETRICS", 1998,
    ),
    r"Bianchi 2000": Work(
        "bianchi2000performance", "G. Bianchi",
        "Performance analysis of the IEEE 802.11 distributed coordination function",
        f"{_JSAC} 18(3)", 2000, ARTICLE,
    ),
    r"Bianchi, Tinnirello, Scalia": Work(
        "bianchi2005understanding", "G. Bianchi, I. Tinnirello, L. Scalia",
        "Understanding 802.11e contention-based prioritization mechanisms and their coexistence "
        "with legacy 802.11 stations",
        "IEEE Network 19(4)", 2005, ARTICLE,
    ),
    r"Bogoiavlenskaia, (?:M\. )?Kojo": Work(
        "bogoiavlenskaia2002analytical",
        "O. Bogoiavlenskaia, M. Kojo, M. Mutka, T. Alanko",
        "Analytical Markovian model of TCP congestion avoidance algorithm performance",
        "University of Helsinki, report C-2002-13", 2002, REPORT,
    ),
    r"Brakmo and Peterson": Work(
        "brakmo1995vegas", "L. S. Brakmo, L. L. Peterson",
        "TCP Vegas: End to end congestion avoidance on a global Internet", f"{_JSAC} 13(8)", 1995,
        ARTICLE,
    ),
    r"Cardwell and others": Work(
        "cardwell2016bbr", "N. Cardwell, Y. Cheng, C. S. Gunn, S. H. Yeganeh, V. Jacobson",
        "BBR: Congestion-based congestion control", "ACM Queue 14(5)", 2016, ARTICLE,
    ),
    r"Cardwell, Savage, Anderson": Work(
        "cardwell2000modeling", "N. Cardwell, S. Savage, T. Anderson", "Modeling TCP latency",
        "IEEE INFOCOM", 2000,
    ),
    r"Crovella, Bestavros": Work(
        "crovella1997self", "M. E. Crovella, A. Bestavros",
        "Self-similarity in World Wide Web traffic: evidence and possible causes", f"{_TON} 5(6)",
        1997, ARTICLE,
    ),
    r"Danzig, Jamin": Work(
        "danzig1991tcplib", "P. B. Danzig, S. Jamin",
        "tcplib: A library of TCP internetwork traffic characteristics",
        "University of Southern California", 1991, REPORT,
    ),
    r"De Schepper(?:, Bondarenko| et al)": Work(
        "deschepper2016pi2", "K. De Schepper, O. Bondarenko, I.-J. Tsang, B. Briscoe",
        "PI2: A linearized AQM for both classic and scalable TCP", "ACM CoNEXT", 2016,
    ),
    r"Dukkipati, McKeown": Work(
        "dukkipati2006why", "N. Dukkipati, N. McKeown",
        "Why flow-completion time is the right metric for congestion control", f"{_CCR} 36(1)",
        2006, ARTICLE,
    ),
    r"Elliott 1963": Work(
        "elliott1963estimates", "E. O. Elliott",
        "Estimates of error rates for codes on burst-noise channels",
        "Bell System Technical Journal 42", 1963, ARTICLE,
    ),
    r"Floyd, Fall": Work(
        "floyd1999promoting", "S. Floyd, K. Fall",
        "Promoting the use of end-to-end congestion control in the Internet", f"{_TON} 7(4)", 1999,
        ARTICLE,
    ),
    r"Floyd, Gummadi and Shenker": Work(
        "floyd2001adaptive", "S. Floyd, R. Gummadi, S. Shenker",
        "Adaptive RED: An algorithm for increasing the robustness of RED's active queue management",
        "ICSI Center for Internet Research", 2001, REPORT,
    ),
    r"Floyd, Handley, Padhye": Work(
        "floyd2000comparison", "S. Floyd, M. Handley, J. Padhye",
        "A comparison of equation-based and AIMD congestion control",
        "AT&T Center for Internet Research at ICSI", 2000, REPORT,
    ),
    r"Floyd and Jacobson": Work(
        "floyd1993random", "S. Floyd, V. Jacobson",
        "Random early detection gateways for congestion avoidance", f"{_TON} 1(4)", 1993, ARTICLE,
    ),
    r"Gilbert 1960": Work(
        "gilbert1960capacity", "E. N. Gilbert", "Capacity of a burst-noise channel",
        "Bell System Technical Journal 39", 1960, ARTICLE,
    ),
    r"Harchol-Balter, Crovella, Murta": Work(
        "harcholbalter1999choosing", "M. Harchol-Balter, M. E. Crovella, C. D. Murta",
        "On choosing a task assignment policy for a distributed server system",
        "Journal of Parallel and Distributed Computing 59(2)", 1999, ARTICLE,
    ),
    r"Høiland-Jørgensen, Täht and Morton": Work(
        "hoilandjorgensen2018cake", "T. Høiland-Jørgensen, D. Täht, J. Morton",
        "Piece of CAKE: A comprehensive queue management solution for home gateways",
        "IEEE LANMAN", 2018,
    ),
    r"Huang et al\.": Work(
        "huang2014buffer",
        "T.-Y. Huang, R. Johari, N. McKeown, M. Trunnell, M. Watson",
        "A buffer-based approach to rate adaptation: evidence from a large video streaming service",
        "ACM SIGCOMM", 2014,
    ),
    r"IEEE 802\.11-2016": Work(
        "ieee80211", "", "IEEE Std 802.11-2016", "IEEE", 2016, MISC,
    ),
    r"“Improvement of RTT fairness problem in BBR": Work(
        "bbrgamma2021", "",
        "Improvement of RTT fairness problem in BBR congestion control algorithm by gamma "
        "correction",
        "Sensors 21(12), 4128", 2021, ARTICLE,
    ),
    r"Kesidis, Walrand, Chang": Work(
        "kesidis1993effective", "G. Kesidis, J. Walrand, C.-S. Chang",
        "Effective bandwidths for multiclass Markov fluids and other ATM sources", f"{_TON} 1(4)",
        1993, ARTICLE,
    ),
    r"Lakshman, Madhow": Work(
        "lakshman1997performance", "T. V. Lakshman, U. Madhow",
        "The performance of TCP/IP for networks with high bandwidth-delay products and random loss",
        f"{_TON} 5(3)", 1997, ARTICLE,
    ),
    r"Lakshman, Neidhardt and Ott": Work(
        "lakshman1996drop", "T. V. Lakshman, A. Neidhardt, T. J. Ott",
        "The drop from front strategy in TCP and in TCP over ATM", "IEEE INFOCOM", 1996,
    ),
    r"Leith and Shorten": Work(
        "leith2004htcp", "D. Leith, R. Shorten",
        "H-TCP: TCP for high-speed and long-distance networks", "PFLDnet", 2004,
    ),
    r"(?:Li and Leith|T\. Li, D\. J\. Leith)": Work(
        "li2008buffer", "T. Li, D. J. Leith", "Buffer sizing for TCP flows in 802.11e WLANs",
        "IEEE Communications Letters 12(3)", 2008, ARTICLE,
    ),
    r"Li, Leith and Malone": Work(
        "li2011buffer", "T. Li, D. Leith, D. Malone",
        "Buffer sizing for 802.11-based networks", f"{_TON} 19(1)", 2011, ARTICLE,
    ),
    r"Liu, Başar, Srikant": Work(
        "liu2006illinois", "S. Liu, T. Başar, R. Srikant",
        "TCP-Illinois: A loss and delay-based congestion control algorithm for high-speed networks",
        "VALUETOOLS", 2006,
    ),
    r"Mao, Netravali, Alizadeh": Work(
        "mao2017pensieve", "H. Mao, R. Netravali, M. Alizadeh",
        "Neural adaptive video streaming with Pensieve", "ACM SIGCOMM", 2017,
    ),
    r"Mascolo, Casetti, Gerla": Work(
        "mascolo2001westwood", "S. Mascolo, C. Casetti, M. Gerla, M. Y. Sanadidi, R. Wang",
        "TCP Westwood: Bandwidth estimation for enhanced transport over wireless links",
        "ACM MobiCom", 2001,
    ),
    r"Mascolo, Grieco, Ferorelli": Work(
        "mascolo2004performance",
        "S. Mascolo, L. A. Grieco, R. Ferorelli, P. Camarda, G. Piscitelli",
        "Performance evaluation of Westwood+ TCP congestion control",
        "Performance Evaluation 55", 2004, ARTICLE,
    ),
    r"Mathis(?:, Semke, Mahdavi, Ott| and others) 1997": Work(
        "mathis1997macroscopic", "M. Mathis, J. Semke, J. Mahdavi, T. Ott",
        "The macroscopic behavior of the TCP congestion avoidance algorithm", f"{_CCR} 27(3)",
        1997, ARTICLE,
    ),
    r"Netravali et al\.": Work(
        "netravali2015mahimahi",
        "R. Netravali, A. Sivaraman, S. Das, A. Goyal, K. Winstein, J. Mickens, H. Balakrishnan",
        "Mahimahi: Accurate record-and-replay for HTTP", "USENIX ATC", 2015,
    ),
    r"Nichols and Jacobson": Work(
        "nichols2012controlling", "K. Nichols, V. Jacobson", "Controlling queue delay",
        "ACM Queue 10(5)", 2012, ARTICLE,
    ),
    r"Padhye, Firoiu, Towsley, Kurose": Work(
        "padhye1998modeling", "J. Padhye, V. Firoiu, D. Towsley, J. Kurose",
        "Modeling TCP throughput: a simple model and its empirical validation", "ACM SIGCOMM",
        1998,
    ),
    r"Padhye, (?:J\. )?Kurose, (?:D\. )?Towsley, (?:R\. )?Koodli": Work(
        "padhye1999model", "J. Padhye, J. Kurose, D. Towsley, R. Koodli",
        "A model based TCP-friendly rate control protocol", "NOSSDAV", 1999,
    ),
    r"Pan et al\.": Work(
        "pan2013pie",
        "R. Pan, P. Natarajan, C. Piglione, M. S. Prabhu, V. Subramanian, F. Baker, B. VerSteeg",
        "PIE: A lightweight control scheme to address the bufferbloat problem", "IEEE HPSR", 2013,
    ),
    r"Propp, Wilson": Work(
        "propp1996exact", "J. G. Propp, D. B. Wilson",
        "Exact sampling with coupled Markov chains and applications to statistical mechanics",
        "Random Structures & Algorithms 9", 1996, ARTICLE,
    ),
    r"Ramakrishnan et al\.": Work(
        "ramakrishnan2019fqpie",
        "G. Ramakrishnan, M. Bhasi, V. Saicharan, L. Monis, S. D. Patil, M. P. Tahiliani",
        "FQ-PIE queue discipline in the Linux kernel: design, implementation and challenges",
        "IEEE LCN Symposium", 2019,
    ),
    r"Rejaie, Handley, Estrin": Work(
        "rejaie1999rap", "R. Rejaie, M. Handley, D. Estrin",
        "RAP: An end-to-end rate-based congestion control mechanism for realtime streams in the "
        "Internet",
        "IEEE INFOCOM", 1999,
    ),
    r"Robinson, Randhawa": Work(
        "robinson2004saturation", "J. W. Robinson, T. S. Randhawa",
        "Saturation throughput analysis of IEEE 802.11e enhanced distributed coordination function",
        f"{_JSAC} 22(5)", 2004, ARTICLE,
    ),
    r"Romanow (?:and|&) Floyd": Work(
        "romanow1995dynamics", "A. Romanow, S. Floyd", "Dynamics of TCP traffic over ATM networks",
        f"{_JSAC} 13(4)", 1995, ARTICLE,
    ),
    r"Sarpkaya, (?:F\. )?Fund, (?:S\. )?Panwar": Work(
        "sarpkaya2025adopt", "F. B. Sarpkaya, F. Fund, S. Panwar",
        "To adopt or not to adopt L4S-compatible congestion control? Understanding performance in "
        "a partial L4S deployment",
        "PAM", 2025,
    ),
    r"Schroeder, Wierman, Harchol-Balter": Work(
        "schroeder2006open", "B. Schroeder, A. Wierman, M. Harchol-Balter",
        "Open versus closed: a cautionary tale", "USENIX NSDI", 2006,
    ),
    r"Shakkottai, (?:A\. )?Kumar, (?:A\. )?Karnik": Work(
        "shakkottai2001abr", "S. Shakkottai, A. Kumar, A. Karnik, A. Anvekar",
        "TCP performance over end-to-end rate control and stochastic available capacity",
        f"{_TON} 9(4)", 2001, ARTICLE,
    ),
    r"Shreedhar and Varghese": Work(
        "shreedhar1996efficient", "M. Shreedhar, G. Varghese",
        "Efficient fair queuing using deficit round-robin", f"{_TON} 4(3)", 1996, ARTICLE,
    ),
    r"Villamizar(?:,| and) Song": Work(
        "villamizar1994high", "C. Villamizar, C. Song", "High performance TCP in ANSNET",
        f"{_CCR} 24(5)", 1994, ARTICLE,
    ),
    r"Wang, Valla, Sanadidi, Ng, Gerla": Work(
        "wang2002efficiency", "R. Wang, M. Valla, M. Y. Sanadidi, B. K. F. Ng, M. Gerla",
        "Efficiency/friendliness tradeoffs in TCP Westwood", "IEEE ISCC", 2002,
    ),
    r"Wang, (?:M\. )?Valla, (?:M\. Y\. )?Sanadidi, (?:M\. )?Gerla": Work(
        "wang2002using", "R. Wang, M. Valla, M. Y. Sanadidi, M. Gerla",
        "Using adaptive rate estimation to provide enhanced and robust transport over "
        "heterogeneous networks",
        "IEEE ICNP", 2002,
    ),
    r"Ware, (?:M\. K\. )?Mukerjee": Work(
        "ware2019modeling", "R. Ware, M. K. Mukerjee, S. Seshan, J. Sherry",
        "Modeling BBR's interactions with loss-based congestion control", "ACM IMC", 2019,
    ),
    r"Wichura 1988": Work(
        "wichura1988percentage", "M. J. Wichura",
        "Algorithm AS 241: The percentage points of the normal distribution",
        "Applied Statistics 37(3)", 1988, ARTICLE,
    ),
    r"Willinger, Taqqu, Sherman, Wilson": Work(
        "willinger1997self", "W. Willinger, M. S. Taqqu, R. Sherman, D. V. Wilson",
        "Self-similarity through high-variability: statistical analysis of Ethernet LAN traffic at "
        "the source level",
        f"{_TON} 5(1)", 1997, ARTICLE,
    ),
    r"Winstein, Sivaraman, Balakrishnan": Work(
        "winstein2013stochastic", "K. Winstein, A. Sivaraman, H. Balakrishnan",
        "Stochastic forecasts achieve high throughput and low delay over cellular networks",
        "USENIX NSDI", 2013,
    ),
    r"Wu et al\. 2002": Work(
        "wu2002performance", "H. Wu, Y. Peng, K. Long, S. Cheng, J. Ma",
        "Performance of reliable transport protocol over IEEE 802.11 wireless LAN: analysis and "
        "enhancement",
        "IEEE INFOCOM", 2002,
    ),
    r"Yang, Lam 2000": Work(
        "yang2000general", "Y. R. Yang, S. S. Lam", "General AIMD congestion control", "IEEE ICNP",
        2000,
    ),
    r"D\. A\. M\. Reddy": Work(
        "reddy-influence", "D. A. M. Reddy",
        "Influence of router buffer size on TCP execution", "", 0, MISC,
    ),
    r"O\. Tilmans, repetition": Work(
        "heist2020sce", "P. Heist, J. Morton, O. Tilmans", "SCE-L4S ECT(1) test results",
        "l4steam.github.io/ect1-tests", 2020, MISC,
    ),
    r"“Tests of L4S”": Work(
        "heist2021l4s", "P. Heist, J. Morton", "Tests of L4S", "github.com/heistp/l4s-tests", 2021,
        MISC,
    ),
    r"arXiv 2601\.08439": Work("arxiv260108439", "", "arXiv 2601.08439", "arXiv", 2026, MISC),
}  # fmt: skip

# Number of an RFC to its authors, title and year (rfc-editor.org).
_RFCS: dict[int, tuple[str, str, int]] = {
    768: ("J. Postel", "User Datagram Protocol", 1980),
    2475: (
        "S. Blake, D. Black, M. Carlson, E. Davies, Z. Wang, W. Weiss",
        "An architecture for differentiated services", 1998,
    ),
    2697: ("J. Heinanen, R. Guérin", "A single rate three color marker", 1999),
    3168: (
        "K. Ramakrishnan, S. Floyd, D. Black",
        "The addition of Explicit Congestion Notification (ECN) to IP", 2001,
    ),
    3649: ("S. Floyd", "HighSpeed TCP for large congestion windows", 2003),
    5166: ("S. Floyd", "Metrics for the evaluation of congestion control mechanisms", 2008),
    5348: (
        "S. Floyd, M. Handley, J. Padhye, J. Widmer",
        "TCP Friendly Rate Control (TFRC): protocol specification", 2008,
    ),
    5681: ("M. Allman, V. Paxson, E. Blanton", "TCP congestion control", 2009),
    5682: (
        "P. Sarolahti, M. Kojo, K. Yamamoto, M. Hata",
        "Forward RTO-Recovery (F-RTO): an algorithm for detecting spurious retransmission timeouts "
        "with TCP", 2009,
    ),
    6817: (
        "S. Shalunov, G. Hazel, J. Iyengar, M. Kuehlewind",
        "Low Extra Delay Background Transport (LEDBAT)", 2012,
    ),
    7141: ("B. Briscoe, J. Manner", "Byte and packet congestion notification", 2014),
    7567: (
        "F. Baker, G. Fairhurst", "IETF recommendations regarding active queue management", 2015,
    ),
    8033: (
        "R. Pan, P. Natarajan, F. Baker, G. White",
        "Proportional Integral controller Enhanced (PIE): a lightweight control scheme to address "
        "the bufferbloat problem", 2017,
    ),
    8257: (
        "S. Bensley, D. Thaler, P. Balasubramanian, L. Eggert, G. Judd",
        "Data Center TCP (DCTCP): TCP congestion control for data centers", 2017,
    ),
    8289: (
        "K. Nichols, V. Jacobson, A. McGregor, J. Iyengar",
        "Controlled delay active queue management", 2018,
    ),
    8290: (
        "T. Høiland-Jørgensen, P. McKenney, D. Täht, J. Gettys, E. Dumazet",
        "The Flow Queue CoDel packet scheduler and active queue management algorithm", 2018,
    ),
    8511: (
        "N. Khademi, M. Welzl, G. Armitage, G. Fairhurst",
        "TCP Alternative Backoff with ECN (ABE)", 2018,
    ),
    8867: (
        "Z. Sarker, V. Singh, X. Zhu, M. Ramalho",
        "Test cases for evaluating congestion control for interactive real-time media", 2021,
    ),
    8868: (
        "V. Singh, J. Ott, S. Holmer",
        "Evaluating congestion control for interactive real-time media", 2021,
    ),
    9000: (
        "J. Iyengar, M. Thomson", "QUIC: a UDP-based multiplexed and secure transport", 2021,
    ),
    9293: ("W. Eddy", "Transmission Control Protocol (TCP)", 2022),
    9331: (
        "K. De Schepper, B. Briscoe",
        "The Explicit Congestion Notification (ECN) protocol for Low Latency, Low Loss, and "
        "Scalable throughput (L4S)", 2023,
    ),
    9332: (
        "K. De Schepper, B. Briscoe, G. White",
        "Dual-queue coupled active queue management (AQM) for Low Latency, Low Loss, and Scalable "
        "throughput (L4S)", 2023,
    ),
    9438: (
        "L. Xu, S. Ha, I. Rhee, V. Goel, L. Eggert",
        "CUBIC for fast and long-distance networks", 2023,
    ),
}  # fmt: skip

_RFC = re.compile(r"RFC (\d+)")
_DRAFT = re.compile(
    r"(draft-[a-z]+-[a-z0-9-]+[a-z0-9])(?: \((?:[^()]*?)(\d{4})\))?(?:, ([A-Z][^,;]+))?"
)
_LINUX = re.compile(r"(?:tcp_(?!prague)|sch_)[a-z]+\.c")


def works(reference: str) -> list[Work]:
    """Returns the works that a reference cites, in their order."""
    cited: list[tuple[int, Work]] = []
    for pattern, work in _WORKS.items():
        match = re.search(pattern, reference)
        if match is not None:
            address = address_in(reference, match.span())
            cited.append((match.start(), work._replace(address=address)))
    for match in _RFC.finditer(reference):
        cited.append((match.start(), _rfc(int(match[1]))))
    for match in _DRAFT.finditer(reference):
        cited.append((match.start(), _draft(match)))
    for match in _LINUX.finditer(reference):
        title = f"Linux kernel, {match[0]}"
        key = f"linux-{match[0].removesuffix('.c').replace('_', '-')}"
        cited.append((match.start(), Work(key, "", title, "", 0, MISC, address_in(match[0]))))
    by_key: dict[str, Work] = {}
    for _, work in sorted(cited, key=lambda entry: entry[0]):
        by_key.setdefault(work.key, work)
    return list(by_key.values())


def _rfc(number: int) -> Work:
    authors, title, year = _RFCS.get(number, ("", f"RFC {number}", 0))
    place = f"https://doi.org/10.17487/RFC{number:04d}"
    return Work(f"rfc{number}", authors, title, f"RFC {number}", year, MISC, place)


def _draft(match: re.Match[str]) -> Work:
    name, year, title = match.groups()
    words = title.strip() if title else name
    return Work(
        name, "", words, f"Internet-Draft {name}", int(year or 0), MISC, address_in(name)
    )  # fmt: skip


def of_records(name: str, references: Iterable[str]) -> list[Work]:
    """Returns the works of the records of a name; ackclock itself for what is its own.

    Raises:
        InputError: They rest on none.
    """
    by_key: dict[str, Work] = {}
    for reference in references:
        every = works(reference)
        if reference.startswith("ackclock,"):
            every = [ackclock()]
        by_key |= {work.key: work for work in every if work.key not in by_key}
    if not by_key:
        words = f'"{name}" rests on no publication; ackclock cite, without a name, cites ackclock'
        raise InputError("no-data", "NAME", words, name)
    return list(by_key.values())
