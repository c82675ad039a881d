"""A short scenario for the kernel's own TCP: a download over a path with both directions."""

from collections.abc import Mapping

from ackclock import Scenario

SCENARIO = """\
schema = 1
name = "short"
duration = "2 s"
warmup = "0.5 s"
seed = 7
replicates = 2

[[hops]]
name = "there"
link = { kind = "constant", rate = "10 Mbit/s" }
queue = { kind = "droptail", limit = "40 packets" }
delay = "10 ms"

[[hops]]
name = "back"
link = { kind = "constant", rate = "10 Mbit/s" }
queue = { kind = "droptail", limit = "1000 packets" }
delay = "10 ms"

[[flows]]
name = "download"
route = ["there"]
return = ["back"]
transport = { kind = "tcp", control = { kind = "reno" }, preset = "linux" }
"""


def each_on_its_own_path(controls: Mapping[str, dict[str, object]]) -> Scenario:
    """Returns one replicate with a flow of each control; no two share a hop."""
    tree = Scenario.from_toml(SCENARIO).tree
    [download] = tree["flows"]
    hops, flows = [], []
    for name, control in controls.items():
        hops += [{**hop, "name": f"{hop['name']}_{name}"} for hop in tree["hops"]]
        transport = {**download["transport"], "control": {"kind": "kernel", **control}}
        route = {"route": [f"there_{name}"], "return": [f"back_{name}"]}
        flows.append({**download, "name": name, **route, "transport": transport})
    return Scenario({**tree, "hops": hops, "flows": flows, "replicates": 1})
