"""Texts about each kind of element in the registry."""

from typing import NamedTuple

__all__ = ["KINDS", "Kind"]


class Kind(NamedTuple):
    """Texts about a kind on its page."""

    title: str
    #: Noun for one element.
    noun: str
    #: Line of a scenario that chooses an element; `{}` is its table.
    pattern: str
    #: Sentences that say what the elements do and where this line stands.
    place: str


KINDS = {
    "transports": Kind(
        "Transports",
        "transport",
        "transport = {}",
        "A transport carries the data of a flow from one host to the other. A flow names it as "
        "`transport`. The default *preset* means the value of TCP's [preset](presets.md).",
    ),
    "controls": Kind(
        "Congestion controls",
        "control",
        "control = {}",
        "A congestion control decides how much data a TCP sender has in flight. A flow names it in "
        '`transport = { kind = "tcp", control = …, … }`. Two drafts that still move are left out. '
        "ABBA was redesigned twice in September 2026, and no revision matches its code. C4's draft "
        "-04 contradicts itself and its code, in signs, dimensions and constants.",
    ),
    "rate_controls": Kind(
        "Rate controls",
        "rate control",
        "control = {}",
        "A rate control decides how fast a UDP sender sends. A flow names it in "
        '`transport = { kind = "udp", control = …, … }`. Without one, UDP sends each write of the '
        "application at once.",
    ),
    "estimators": Kind(
        "Rate estimators",
        "rate estimator",
        "estimator = {}",
        "A rate estimator infers the rate of a path from the ACKs that a sender receives. There "
        "are three places to use one:\n\n"
        "- In a scenario: as `estimator` of a [control](controls.md) of the Westwood family. It "
        "needs a `kind` if the control accepts several estimators.\n"
        "- For captures: with `ackclock measure --estimators`.\n"
        "- For any trace of ACKs: with `ackclock.rate_estimates` in Python.",
    ),
    "queues": Kind(
        "Queues",
        "queue",
        "queue = {}",
        "A queue holds the packets that wait for a link, and decides which to drop or mark. A hop "
        "names it as `queue`.",
    ),
    "links": Kind(
        "Links",
        "link",
        "link = {}",
        "A link sends the packets of its hop, one at a time. A hop names it as `link`.",
    ),
    "media": Kind(
        "Media",
        "medium",
        "shared_media = [{}]",
        "Several hops can contend for one medium, as the stations of a wireless cell do. A "
        "scenario lists its media in `shared_media`. Each medium also has a unique `name`, and a "
        "[link of kind `edca`](links.md#edca) names the medium for which it contends. Only a "
        "simulation has media.",
    ),
    "feedback": Kind(
        "Feedback algorithms",
        "feedback algorithm",
        "algorithm = {}",
        "A feedback algorithm turns measurements of a hop's capacity into the rate that is fed "
        "back. A [link of kind `feedback`](links.md#feedback) names it as `algorithm`.",
    ),
    "impairments": Kind(
        "Impairments",
        "impairment",
        "impairments = [{}]",
        "An impairment loses, delays or duplicates packets. A hop lists them in `impairments`, in "
        "the order in which a packet meets them.",
    ),
    "traffic": Kind(
        "Traffic",
        "source",
        "traffic = {}",
        "A source decides when a flow has data to send. A flow names it as `traffic`.",
    ),
    "sizes": Kind(
        "Size laws",
        "size law",
        "size = {}",
        "A size law is the distribution from which each instance of a flow draws the size of its "
        "transfer. [Traffic of kind `transfer`](traffic.md#transfer) names it as `size`, instead "
        "of an amount.",
    ),
}
