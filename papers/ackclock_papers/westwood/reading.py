"""Readings of the paper: choices for what it leaves open, and the scenarios that follow."""

from copy import deepcopy
from dataclasses import dataclass, field

from ackclock.scenario import Scenario
from ackclock_papers.scenarios import Tree
from ackclock_papers.westwood.over_parameter import JITTER_S
from ackclock_papers.westwood.paths import Path
from ackclock_papers.westwood.senders import (
    REPLICATES,
    RFC_2582,
    Control,
    NewReno,
    scenario,
    tcp,
)

#: The printed equations as parameters of `abse`: those that the preset `abse_literal` sets. Other
#: parameters can be added.
AS_PRINTED: Tree = {"kind": "abse", "compared": "estimate", "edge": "literal"}

_KINDS = {"BE": "westwood_be", "RE": "westwood_re", "CRB": "westwood_crb", "ABSE": "westwood_abse"}


@dataclass(frozen=True)
class Reading:
    """One choice for everything that the paper leaves open.

    Attributes:
        name: Name in tables: the difference from the basic reading.
        newreno: Recovery of every sender.
        jitter_s: Send jitter of several senders, in seconds. None is the service time of a packet,
            which leaves trains together; a lone sender always has that.
        access_delay_s: Extra one-way delay of the last of several senders, in seconds; the first
            has none.
        access_mbit_per_s: Rate of each sender's own link before the path, with several senders.
        counts_in_service: True if the packet in service counts towards the buffer's limit.
        transport: Other fields of every sender's transport.
        estimators: Estimators of the controls that have one, by label.
    """

    name: str
    newreno: NewReno = RFC_2582
    jitter_s: float | None = JITTER_S
    access_delay_s: float = 0.0
    access_mbit_per_s: float | None = None
    counts_in_service: bool = True
    transport: Tree = field(default_factory=dict)
    estimators: dict[str, Tree] = field(default_factory=dict)

    def control(self, label: str) -> Control:
        """Returns a control by its label, with the estimator of this reading."""
        if label not in _KINDS:
            return Control(label, {"kind": "reno"})
        estimator = {**({} if label != "ABSE" else AS_PRINTED), **self.estimators.get(label, {})}
        return Control(
            label, {"kind": _KINDS[label]} | ({"estimator": estimator} if estimator else {})
        )

    def scenario(
        self,
        path: Path,
        groups: dict[str, int],
        starts: dict[str, list[str]],
        duration_s: float,
        sampled_s: float,
        replicates: int = REPLICATES,
    ) -> Scenario:
        """Returns groups of senders over a path.

        Args:
            path: Path from end to end.
            groups: Numbers of senders by label of the control. A label may continue with another
                word, to tell two groups of one control apart.
            starts: Start times of groups that do not start within the first second.
            duration_s: Duration of the run, in seconds.
            sampled_s: Sampling interval, in seconds.
            replicates: Number of replicates.
        """
        several = sum(groups.values()) > 1
        flows = []
        for label, count in groups.items():
            more: Tree = {"start": starts[label]} if label in starts else {}
            flow = tcp(
                label, self.control(label.partition(" ")[0]), path, newreno=self.newreno,
                count=count, jitter_s=self.jitter_s if several else None, **more,
            )  # fmt: skip
            flow["transport"] |= self.transport
            if several and self.access_delay_s:
                flow["access_delay"] = ["0 s", f"{self.access_delay_s * 1000:g} ms"]
            flows.append(flow)
        plain = scenario(
            "reading",
            path,
            flows,
            duration_s=duration_s,
            sample_interval_s=sampled_s,
            replicates=replicates,
        )
        tree = deepcopy(plain.tree)
        for hop in tree["hops"]:
            hop["queue"]["counts_packet_in_service"] = self.counts_in_service
        if several and self.access_mbit_per_s is not None:
            link = {"kind": "constant", "rate": f"{self.access_mbit_per_s:g} Mbit/s"}
            queue = {"kind": "droptail", "limit": "unlimited"}
            tree["hops"].insert(
                0, {"name": "access", "scope": "per_flow", "link": link, "queue": queue}
            )
            for flow in tree["flows"]:
                flow["route"].insert(0, "access")
        return Scenario(tree)
