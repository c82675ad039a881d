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
    #: Sentence that says where this line stands.
    place: str


KINDS = {
    "controls": Kind(
        "Congestion controls",
        "control",
        "control = {}",
        'Written as `control` in the table `transport = { kind = "tcp", … }` of a flow.',
    ),
    "rate_controls": Kind(
        "Rate controls",
        "rate control",
        "control = {}",
        'Written as `control` in the table `transport = { kind = "udp", … }` of a flow. Without '
        "one, UDP sends each write of the application at once.",
    ),
    "estimators": Kind(
        "Rate estimators",
        "rate estimator",
        "estimator = {}",
        "What estimates the rate of a path from the ACKs that come back. Its parameters are "
        "written as `estimator` in a control of the Westwood family, with `kind` where the control "
        "can have several; captures are asked with `ackclock measure --estimators`, and any trace "
        "of ACKs with `ackclock.rate_estimates` in Python.",
    ),
    "queues": Kind("Queues", "queue", "queue = {}", "Written as `queue` in a hop."),
    "links": Kind("Links", "link", "link = {}", "Written as `link` in a hop."),
    "media": Kind(
        "Media",
        "medium",
        "shared_media = [{}]",
        "Written in the list `shared_media`, or as an item `[[shared_media]]`, each with a `name` "
        "of its own beside what is below: that is what links of kind `edca` give, those of the "
        "hops that contend for it. Only a simulation has media.",
    ),
    "feedback": Kind(
        "Feedback algorithms",
        "feedback algorithm",
        "algorithm = {}",
        "What is made of the measured capacity of a hop before it is fed back. Written as "
        "`algorithm` in a link of kind `feedback`.",
    ),
    "impairments": Kind(
        "Impairments",
        "impairment",
        "impairments = [{}]",
        "Written in the list `impairments` of a hop, in the order in which a packet meets them.",
    ),
    "traffic": Kind("Traffic", "source", "traffic = {}", "Written as `traffic` in a flow."),
    "sizes": Kind(
        "Size laws",
        "size law",
        "size = {}",
        "Of which each instance of a flow draws how much it sends. Written as `size` in traffic of "
        "kind `transfer`, in the place of an amount.",
    ),
}
