"""Departures from the paths of `accuracy_families`, one parameter or element at a time.

Each function changes a scenario in place. A departure need not violate anything: what models still
say applies is compared like the rest.
"""

from math import ceil

from accuracy_families import flow, lu, pick, pk

PRESETS = ("rfc", "rfc-modern", "linux", "linux-2012", "ns2-2002", "jacobson1988", "l4s")
RECOVERIES = ("timeout_only", "tahoe", "reno", "newreno", "sack", "rack")
CONTROLS = (
    "reno",
    "cubic",
    "highspeed",
    "htcp",
    "illinois",
    "vegas",
    "copa",
    "ledbat",
    "ledbat_plus_plus",
    "dctcp",
    "prague",
    "bbr1",
    "bbr3",
    "westwood_be",
    "westwood_re",
    "westwood_crb",
    "westwood_abse",
    "westwood_plus",
)


def senders(tree):
    """Returns the TCP transports of a scenario."""
    return [f["transport"] for f in tree["flows"] if f["transport"]["kind"] == "tcp"]


def packets_of(tree):
    """Returns the packet size of the first flow, in bytes."""
    transport = tree["flows"][0]["transport"]
    return pk(transport.get("preset", "linux"))


def bottleneck(tree):
    """Returns the hop towards the receivers that is drawn as the bottleneck."""
    names = tree["flows"][0]["route"]
    return next(hop for hop in tree["hops"] if hop["name"] == names[-1])


def rate_of(hop):
    """Returns the constant rate of a hop's link in bit/s; 0 for another link."""
    words = hop["link"].get("rate", "0 bit/s").split()
    return float(words[0]) if words[1:] == ["bit/s"] else 0.0


def queue(r, packets, packet):
    """Draws a queue of any kind that holds about so many packets."""
    n = max(3, ceil(packets))
    limit = pick(r, f"{n} packets", f"{n * packet} bytes", f"{n} packets")
    kind = pick(
        r, "droptail", "droptail", "headdrop", "red", "adaptive_red", "step_marking", "codel",
        "pie", "pi2", "dualpi2", "drr", "fq_codel", "fq_pie", "cake",
    )  # fmt: skip
    made = {"kind": kind, "limit": limit}
    if kind == "red":
        low = max(1, n // 5)
        made |= {"minimum_threshold": f"{low} packets", "maximum_threshold": f"{3 * low} packets"}
        made |= {"limit": f"{n} packets", "gentle": bool(r.random() < 0.5)}
    if kind == "step_marking":
        made |= {"threshold": f"{max(2, n // 4)} packets", "limit": f"{n} packets"}
    if kind in ("codel", "pie", "pi2", "fq_codel") and r.random() < 0.5:
        made["ecn"] = bool(r.random() < 0.5)
    if kind == "drr":
        made["flow_limit"] = f"{n} packets"
    if kind in ("codel", "pie", "pi2") and r.random() < 0.5:
        made["target"] = f"{lu(r, 1, 60):.1f} ms"
    return made


def preset(r, tree):
    """Takes another preset."""
    chosen = pick(r, *PRESETS)
    for transport in senders(tree):
        transport["preset"] = chosen


def recovery(r, tree):
    """Takes another loss recovery."""
    chosen = pick(r, *RECOVERIES)
    for transport in senders(tree):
        transport["recovery"] = chosen


def control(r, tree):
    """Takes any other control."""
    chosen = pick(r, *CONTROLS)
    for transport in senders(tree):
        transport["control"] = {"kind": chosen}


def parameter_of_control(r, tree):
    """Changes a parameter of the control."""
    for transport in senders(tree):
        kind = transport["control"]["kind"]
        changes = {
            "reno": [{"beta": round(r.uniform(0.3, 0.9), 2)}, {"alpha": round(lu(r, 0.3, 4), 2)}],
            "cubic": [
                {"beta": round(r.uniform(0.4, 0.85), 2)},
                {"c": round(lu(r, 0.05, 2), 2)},
                {"fast_convergence": False},
            ],
        }.get(kind)
        if changes:
            transport["control"] |= pick(r, *changes)


def acks(r, tree):
    """Changes what the receiver acknowledges, or how the sender counts it."""
    every = pick(r, 1, 2, 4, 8)
    counting = pick(r, "per_ack", "abc_l2", "all", "delivered")
    for transport in senders(tree):
        if r.random() < 0.7:
            transport["delayed_ack"] = {"every": f"{every} packets"}
        else:
            transport["byte_counting"] = counting


def sender(r, tree):
    """Changes a parameter of the senders."""
    name, value = pick(
        r,
        ("initial_window", pick(r, "1 packets", "2 packets", "30 packets")),
        ("initial_ssthresh", f"{int(lu(r, 4, 300))} packets"),
        ("max_burst", pick(r, "2 packets", "4 packets")),
        ("send_jitter", pick(r, "0.1 ms", "1 ms", "5 ms")),
        ("pacing", pick(r, "always", "off")),
        ("handshake", bool(r.random() < 0.5)),
        ("limited_transmit", bool(r.random() < 0.5)),
        ("arithmetic", pick(r, "exact", "linux")),
        ("rto_minimum", pick(r, "50 ms", "200 ms", "1 s", "3 s")),
        ("window_validation", pick(r, "off", "half_used", "full")),
        ("duplicate_threshold", pick(r, "2 packets", "5 packets", "10 packets")),
        ("ssthresh_from", pick(r, "flight_size", "window")),
        ("ecn", True),
        ("mss", pick(r, "536 bytes", "1000 bytes", "4000 bytes", "8948 bytes")),
    )
    for transport in senders(tree):
        transport[name] = value


def receive_window(r, tree):
    """Limits the receive window."""
    window = int(lu(r, 4, 800))
    for transport in senders(tree):
        transport["receive_window"] = f"{window} packets"


def hop_before(r, tree):
    """Puts another hop on the way to the receivers."""
    hop = bottleneck(tree)
    rate = rate_of(hop)
    if not rate or any(each["name"] == "more" for each in tree["hops"]):
        return
    more = {
        "name": "more",
        "link": {"kind": "constant", "rate": f"{rate * lu(r, 0.95, 6):.0f} bit/s"},
        "queue": queue(r, lu(r, 5, 1000), packets_of(tree)),
        "delay": f"{lu(r, 0.1, 40):.2f} ms",
    }
    tree["hops"].insert(0, more)
    after = r.random() < 0.5
    for each in tree["flows"]:
        each["route"] = [*each["route"], "more"] if after else ["more", *each["route"]]


def way_back(r, tree):
    """Changes the hop of the ACKs."""
    hop, rate = tree["hops"][-1], rate_of(bottleneck(tree))
    if not rate or hop["name"] != "r":
        return
    hop["link"] = {"kind": "constant", "rate": f"{rate * lu(r, 0.01, 3):.0f} bit/s"}
    hop["queue"] = queue(r, lu(r, 3, 300), 60)


def other_queue(r, tree):
    """Takes another queue at the bottleneck."""
    hop = bottleneck(tree)
    limit = hop["queue"].get("limit", "100 packets").split()
    if limit[1:] == ["packets"]:
        hop["queue"] = queue(r, float(limit[0]), packets_of(tree))


def limit(r, tree):
    """Makes the limit of the bottleneck's queue small, huge, or one in bytes or time."""
    hop = bottleneck(tree)
    if hop["queue"]["kind"] != "droptail":
        return
    n = max(1, int(float(hop["queue"]["limit"].split()[0]) * lu(r, 0.05, 20)))
    rate = rate_of(hop)
    span = n * packets_of(tree) * 8 / rate if rate else 0.1
    hop["queue"]["limit"] = pick(
        r, f"{n} packets", f"{n * packets_of(tree)} bytes", f"{span * 1e3:.3f} ms"
    )


def impairment(r, tree):
    """Adds an impairment to any hop."""
    hop = tree["hops"][int(r.integers(len(tree["hops"])))]
    p = lu(r, 1e-5, 1e-1)
    made = pick(
        r,
        {"kind": "iid_loss", "probability": f"{p * 100:.5f} %"},
        {"kind": "gilbert_elliott", "good_to_bad": f"{p * 20:.5f} %", "bad_to_good": "20 %"},
        {"kind": "periodic_loss", "every": int(1 / p) + 1},
        {
            "kind": "jitter",
            "distribution": {"kind": "uniform", "maximum": f"{lu(r, 0.05, 30):.3f} ms"},
            "reordering": pick(r, "allowed", "forbidden"),
        },
        {"kind": "aggregation", "interval": f"{lu(r, 0.2, 30):.2f} ms"},
        {"kind": "duplicate", "probability": f"{lu(r, 0.01, 20):.4f} %"},
        {
            "kind": "scheduled_delay",
            "steps": [
                {"from": "0 s", "delay": "0 ms"},
                {"from": "8 s", "delay": f"{lu(r, 0.5, 50):.2f} ms"},
            ],
        },
    )
    if r.random() < 0.6:
        made["applies"] = pick(r, "data", "acks", "all")
    hop.setdefault("impairments", []).append(made)


def short(r, tree):
    """Shortens the run."""
    duration = lu(r, 2, 20)
    tree["duration"] = f"{duration:.1f} s"
    tree["warmup"] = f"{duration * r.uniform(0, 0.5):.1f} s"
    for each in tree["flows"]:
        each["start"] = "0 s"


def times(r, tree):
    """Lets the first flows start late or stop early."""
    lasts = float(tree["duration"].split()[0])
    if r.random() < 0.5:
        tree["flows"][-1]["start"] = f"{lasts * r.uniform(0, 0.6):.2f} s"
    else:
        tree["flows"][-1]["stop"] = f"{lasts * r.uniform(0.4, 0.95):.2f} s"


def competitor(r, tree):
    """Adds flows that share the hops of the first."""
    first = tree["flows"][0]
    rate = rate_of(bottleneck(tree))
    if not rate or any(each["name"] == "x" for each in tree["flows"]):
        return
    kind = pick(r, "same", "same", "control", "cbr", "on_off", "transfer")
    other = {"name": "x", "route": list(first["route"]), "return": list(first.get("return", []))}
    if kind in ("cbr", "on_off"):
        share = rate * r.uniform(0.01, 0.95)
        other["transport"] = {"kind": "udp"}
        other["traffic"] = {"kind": "cbr", "rate": f"{share:.0f} bit/s"}
        if kind == "on_off":
            other["traffic"] |= {"kind": "on_off", "mean_on": "500 ms", "mean_off": "500 ms"}
    else:
        other["transport"] = dict(first["transport"])
        other["traffic"] = dict(first["traffic"])
        other["start"] = first.get("start", "0 s")
        if kind == "control" and other["transport"]["kind"] == "tcp":
            other["transport"]["control"] = {"kind": pick(r, *CONTROLS)}
        if kind == "transfer":
            other["traffic"] = {"kind": "transfer", "size": f"{int(lu(r, 1e4, 5e6))} bytes"}
    if r.random() < 0.4:
        other["access_delay"] = f"{lu(r, 0.1, 60):.2f} ms"
    if r.random() < 0.3:
        other["count"] = int(r.integers(2, 6))
    lasts = float(tree["duration"].split()[0])
    if r.random() < 0.3:
        other["stop"] = f"{lasts * r.uniform(0.3, 0.9):.2f} s"
    if r.random() < 0.2 and isinstance(other.get("start"), str):
        other["start"] = f"{lasts * r.uniform(0.1, 0.6):.2f} s"
    tree["flows"].append(other)


def count(r, tree):
    """Changes the number of flows."""
    tree["flows"][0]["count"] = int(r.integers(1, 20))


def delay(r, tree):
    """Lets the way of the first flow take longer."""
    tree["flows"][0]["access_delay"] = f"{lu(r, 0.1, 100):.2f} ms"


def traffic(r, tree):
    """Takes another traffic."""
    rate = rate_of(bottleneck(tree)) or 1e6
    tree["flows"][0]["traffic"] = pick(
        r,
        {"kind": "cbr", "rate": f"{rate * r.uniform(0.2, 1.5):.0f} bit/s"},
        {
            "kind": "on_off",
            "rate": f"{rate * r.uniform(0.2, 1.5):.0f} bit/s",
            "mean_on": "500 ms",
            "mean_off": "500 ms",
        },
        {"kind": "transfer", "size": f"{int(lu(r, 1e4, 1e7))} bytes"},
    )


def rate(r, tree):
    """Changes the rate of the bottleneck."""
    hop = bottleneck(tree)
    if rate_of(hop):
        hop["link"]["rate"] = f"{rate_of(hop) * lu(r, 0.05, 5):.0f} bit/s"


def varying(r, tree):
    """Lets the rate of the bottleneck vary."""
    hop = bottleneck(tree)
    if full := rate_of(hop):
        half = f"{full * r.uniform(0.3, 0.95):.0f} bit/s"
        hop["link"] = {
            "kind": "scheduled",
            "steps": [{"from": "0 s", "rate": f"{full:.0f} bit/s"}, {"from": "10 s", "rate": half}],
        }


def own_hop(_, tree):
    """Gives each flow a hop of its own in the place of the bottleneck."""
    bottleneck(tree)["scope"] = "per_flow"


def reverse(_, tree):
    """Adds data in the other direction."""
    names = [hop["name"] for hop in tree["hops"]]
    if "b" in names and "r" in names and tree["flows"][0]["transport"]["kind"] == "tcp":
        other = flow("reno", "rfc", "y")
        other |= {"route": ["r"], "return": ["b"]}
        tree["flows"].append(other)


DEPARTURES = [
    preset,
    recovery,
    control,
    parameter_of_control,
    acks,
    sender,
    receive_window,
    hop_before,
    way_back,
    other_queue,
    limit,
    impairment,
    short,
    times,
    competitor,
    count,
    delay,
    traffic,
    rate,
    varying,
    own_hop,
    reverse,
]


def depart(r, tree):
    """Takes one to three departures; returns their names."""
    chosen = [DEPARTURES[int(i)] for i in r.choice(len(DEPARTURES), int(r.integers(1, 4)), False)]
    for departure in chosen:
        departure(r, tree)
    return [departure.__name__ for departure in chosen]
