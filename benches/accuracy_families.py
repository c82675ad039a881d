"""Random scenarios of many kinds, for the comparison of models with the simulator."""

from math import sqrt

import numpy as np


def lu(r, a, b):
    """Returns a number between two, uniform in its logarithm."""
    return float(np.exp(r.uniform(np.log(a), np.log(b))))


def pick(r, *xs):
    """Returns one of some values."""
    return xs[int(r.integers(len(xs)))]


def base(
    name,
    rate,
    rtt,
    queue,
    flows,
    duration,
    warmup,
    impair=None,
    ret=None,
    replicates=2,
    seed=1,
):
    """Returns a scenario with a link, a way back and flows; times in s, `rate` in bit/s."""
    hop = {
        "name": "b",
        "link": {"kind": "constant", "rate": f"{rate:.0f} bit/s"},
        "queue": queue,
        "delay": f"{rtt / 2 * 1e6:.0f} us",
    }
    if impair:
        hop["impairments"] = impair
    hops = [
        hop,
        {
            "name": "r",
            "link": {"kind": "constant", "rate": f"{(ret or 10 * rate):.0f} bit/s"},
            "queue": {"kind": "droptail", "limit": "1000 packets"},
            "delay": f"{rtt / 2 * 1e6:.0f} us",
        },
    ]
    return {
        "schema": 1,
        "name": name,
        "duration": f"{duration:.1f} s",
        "warmup": f"{warmup:.1f} s",
        "seed": int(seed),
        "replicates": replicates,
        "hops": hops,
        "flows": flows,
    }


def flow(control, preset, name="f", count=1, traffic=None, start=("0 s", "1 s"), **tcp):
    """Returns a TCP flow; `tcp` are further parameters of the transport."""
    t = {
        "kind": "tcp",
        "preset": preset,
        "control": control if isinstance(control, dict) else {"kind": control},
    }
    t.update(tcp)
    f = {
        "name": name,
        "route": ["b"],
        "return": ["r"],
        "transport": t,
        "traffic": traffic or {"kind": "bulk"},
        "start": start if isinstance(start, str) else list(start),
    }
    if count != 1:
        f["count"] = count
    return f


def pk(preset):
    """Returns the size of a preset's packets, in bytes."""
    return {
        "rfc": 1500,
        "rfc-modern": 1500,
        "linux": 1500,
        "linux-2012": 1500,
        "ns2-2002": 1040,
        "jacobson1988": 576,
        "l4s": 1500,
    }[preset]


def dt(n):
    """Returns a drop-tail queue of n packets."""
    return {"kind": "droptail", "limit": f"{int(n)} packets"}


PRE = ("rfc", "rfc-modern", "linux", "linux-2012", "ns2-2002")


def loss(r, control, plo=2e-4, phi=5e-2, recovery=None, events=300, rttlo=0.01, rtthi=0.2):
    """Draws a flow whose window only random loss limits."""
    pre = pick(r, *PRE)
    p = lu(r, plo, phi)
    rtt = lu(r, rttlo, rtthi)
    W = 1.3 / sqrt(p)
    if control == "cubic":
        W = max(W, 1.054 * (rtt / p) ** 0.75)
    if control == "highspeed":
        W = max(W, 0.12 / p**0.835)
    rate = W * pk(pre) * 8 / rtt * lu(r, 4, 20)
    kw = {}
    if recovery is None and r.random() < 0.5:
        recovery = pick(r, "reno", "newreno", "sack")
    if recovery:
        kw["recovery"] = recovery
    if r.random() < 0.3:
        kw["delayed_ack"] = {"every": "1 packets"}
    dur = max(events / p / (W / rtt), 20)
    c = {"kind": control}
    return base(
        f"loss-{control}",
        rate,
        rtt,
        dt(10000),
        [flow(c, pre, **kw)],
        dur + 10 * rtt * 20,
        min(100 * rtt + 5, dur / 4 + 1),
        [{"kind": "iid_loss", "probability": f"{p * 100:.5f} %"}],
        seed=r.integers(1e6),
    )


def loss_reno(r):
    """Draws Reno under random loss."""
    return loss(r, "reno")


def loss_cubic(r):
    """Draws CUBIC under random loss."""
    return loss(r, "cubic")


def loss_hs(r):
    """Draws HighSpeed TCP under random loss."""
    return loss(r, "highspeed", plo=1e-4)


def loss_aimd(r):
    """Draws AIMD with another increase and decrease under random loss."""
    s = loss(r, "reno")
    b = r.uniform(0.3, 0.9)
    s["flows"][0]["transport"]["control"] = {
        "kind": "reno",
        "beta": round(b, 3),
        "alpha": pick(r, 1.0, round(3 * (1 - b) / (1 + b), 3)),
    }
    return s


def loss_window(r):
    """Draws Reno under random loss with a receive window near the one that losses allow."""
    s = loss(r, "reno", phi=2e-2)
    p = float(s["hops"][0]["impairments"][0]["probability"][:-2]) / 100
    s["flows"][0]["transport"]["receive_window"] = (
        f"{max(4, int(1.22 / sqrt(p) * r.uniform(0.5, 3)))} packets"
    )
    return s


def loss_even(r):
    """Draws AIMD that loses every n-th packet."""
    s = loss_aimd(r) if r.random() < 0.5 else loss(r, "reno")
    p = float(s["hops"][0]["impairments"][0]["probability"][:-2]) / 100
    s["hops"][0]["impairments"] = [{"kind": "periodic_loss", "every": int(1 / p)}]
    return s


def loss_timer(r):
    """Draws Reno's recovery under random loss, with timers of any length."""
    s = loss(r, "reno", plo=1e-3, recovery="reno")
    s["flows"][0]["transport"]["rto_minimum"] = pick(r, "100 ms", "200 ms", "500 ms", "1 s", "2 s")
    return s


def loss_crowd(r):
    """Draws flows under random loss that share two links with a source of constant rate."""
    s = loss(r, pick(r, "reno", "cubic"), events=100)
    rate = float(s["hops"][0]["link"]["rate"].split()[0])
    s["hops"].insert(
        1,
        {
            "name": "c",
            "link": {"kind": "constant", "rate": f"{rate * lu(r, 1, 5):.0f} bit/s"},
            "queue": dt(lu(r, 20, 2000)),
            "delay": f"{lu(r, 0.1, 20):.2f} ms",
        },
    )
    s["flows"][0] |= {"count": int(r.integers(1, 5)), "route": ["b", "c"]}
    source = {"kind": "cbr", "rate": f"{rate * r.uniform(0.02, 0.4):.0f} bit/s"}
    s["flows"].append(
        {"name": "u", "route": ["b"], "transport": {"kind": "udp"}, "traffic": source}
    )
    return s


def pipe(r, pre, lo=8, hi=600, rttlo=0.008, rtthi=0.2):
    """Draws a path; returns its product in packets, round-trip time in s and rate in bit/s."""
    P = lu(r, lo, hi)
    rtt = lu(r, rttlo, rtthi)
    rate = P * pk(pre) * 8 / rtt
    return P, rtt, rate


def dtail(r, control, nmax=1, blo=0.1, bhi=3, **k):
    """Draws flows of a control at a drop-tail queue."""
    pre = pick(r, *PRE)
    P, rtt, rate = pipe(r, pre, **k)
    n = int(r.integers(1, nmax + 1)) if nmax > 1 else 1
    B = max(3, P * lu(r, blo, bhi))
    Wm = P + B
    kw = {}
    if r.random() < 0.3:
        kw["recovery"] = pick(r, "reno", "newreno", "sack")
    if r.random() < 0.3:
        kw["delayed_ack"] = {"every": "1 packets"}
    if control == "reno":
        per = Wm / n / 2 * (rtt + B / P * rtt)
    elif control == "cubic":
        per = min((Wm / n * 0.3 / 0.4) ** (1 / 3.0) * 1.5, Wm / n / 2 * (rtt + B / P * rtt))
    else:
        per = min(Wm / n / 2, 60) * (rtt + B / P * rtt)
    dur = min(max(20 * per, 20), 1e6 / (P / rtt))
    return base(
        f"dt-{control}",
        rate,
        rtt,
        dt(B),
        [flow(control, pre, count=n, **kw)],
        dur + 3 * per + 5,
        3 * per + 5,
        ret=pick(r, rate, 10 * rate),
        seed=r.integers(1e6),
    )


def dt_reno(r):
    """Draws one Reno flow at a drop-tail queue."""
    return dtail(r, "reno")


def dt_cubic(r):
    """Draws one CUBIC flow at a drop-tail queue."""
    return dtail(r, "cubic")


def dt_cubic_n(r):
    """Draws up to eight CUBIC flows at a drop-tail queue."""
    return dtail(r, "cubic", 8)


def dt_reno_n(r):
    """Draws up to eight Reno flows at a drop-tail queue."""
    return dtail(r, "reno", 8)


def dt_hs(r):
    """Draws one HighSpeed flow at a drop-tail queue."""
    return dtail(r, "highspeed", 1, lo=60, hi=1000, rttlo=0.02)


def dt_hs_n(r):
    """Draws up to ten HighSpeed flows at a drop-tail queue."""
    return dtail(r, "highspeed", 10, lo=200, hi=2000, rttlo=0.02)


def hs_small(r):
    """Draws HighSpeed flows at a queue of 2 to 10 % of the product."""
    return dtail(r, "highspeed", 10, blo=0.02, bhi=0.1, lo=400, hi=2000, rttlo=0.02)


def bbr_vs(r):
    """Draws BBRv1 beside CUBIC or Reno."""
    pre = "linux"
    P, rtt, rate = pipe(r, pre, 60, 300, 0.02, 0.1)
    X = lu(r, 1, 12)
    nb = int(r.integers(1, 4))
    nc = int(r.integers(1, 6))
    return base(
        "bbr-vs",
        rate,
        rtt,
        dt(P * X),
        [flow("bbr1", pre, "bbr", nb), flow(pick(r, "cubic", "reno"), pre, "other", nc)],
        90,
        20,
        ret=pick(r, rate, 10 * rate),
        seed=r.integers(1e6),
    )


def bbr_alone(r):
    """Draws BBRv1 or BBRv3 alone."""
    pre = "linux"
    P, rtt, rate = pipe(r, pre, 60, 300, 0.02, 0.1)
    X = lu(r, 0.7, 8)
    return base(
        "bbr-alone",
        rate,
        rtt,
        dt(P * X),
        [flow(pick(r, "bbr1", "bbr3"), pre, "bbr", int(r.integers(1, 5)))],
        60,
        20,
        seed=r.integers(1e6),
    )


def aqm(r, kind):
    """Draws Reno through an active queue."""
    pre = pick(r, *PRE)
    P, rtt, rate = pipe(r, pre, 30, 600, 0.008, 0.15)
    n = int(r.integers(1, 9))
    q = {"kind": kind}
    if kind == "codel":
        n = 1
    W = P / n
    per = max(W, 10) / 2 * rtt * 1.3
    dur = min(max(30 * per, 40), 1e6 / (P / rtt))
    if kind in ("pie", "pi2", "codel"):
        q["limit"] = "10000 packets"
    c = pick(r, "reno", "reno", {"kind": "reno", "beta": 0.7})
    return base(
        f"aqm-{kind}",
        rate,
        rtt,
        q,
        [flow(c, pre, count=n)],
        dur + 3 * per + 20,
        3 * per + 20,
        seed=r.integers(1e6),
    )


def codel(r):
    """Draws Reno through CoDel."""
    return aqm(r, "codel")


def pie(r):
    """Draws Reno through PIE."""
    return aqm(r, "pie")


def pi2(r):
    """Draws Reno through PI2."""
    return aqm(r, "pi2")


def dctcp(r):
    """Draws DCTCP behind a step of marks."""
    pre = "linux"
    P, rtt, rate = pipe(r, pre, 20, 600, 0.0005, 0.02)
    n = int(r.integers(1, 4))
    K = max(3, P * lu(r, 0.15, 1))
    return base(
        "dctcp",
        rate,
        rtt,
        {
            "kind": "step_marking",
            "threshold": f"{int(K)} packets",
            "limit": f"{int(10 * K + 200)} packets",
        },
        [flow("dctcp", pre, count=n, ecn=True)],
        max(4, min(20, 5e5 / (P / rtt))),
        2,
        seed=r.integers(1e6),
    )


def dctcp_one(r):
    """Draws one DCTCP flow whose bursts are shorter than the threshold of marks."""
    s = dctcp(r)
    flow, hop = s["flows"][0], s["hops"][0]
    flow.pop("count", None)
    flow["transport"]["delayed_ack"] = {"every": "1 packets"}
    # A burst of segmentation offload is at most a millisecond's data, and 64 kB.
    rate = float(hop["link"]["rate"].split()[0])
    burst = min(rate * 1e-3 / 8, 65536) / 1500
    K = max(int(hop["queue"]["threshold"].split()[0]), int(burst * r.uniform(1, 3)) + 2)
    hop["queue"] |= {"threshold": f"{K} packets", "limit": f"{10 * K + 200} packets"}
    return s


def short_loss(r):
    """Draws short transfers under random loss."""
    pre = pick(r, *PRE)
    _, rtt, rate = pipe(r, pre, 100, 1000, 0.01, 0.2)
    p = lu(r, 1e-3, 3e-2)
    S = int(lu(r, 5e3, 5e5))
    s = base(
        "short-loss",
        rate,
        rtt,
        dt(10000),
        [flow("reno", pre, traffic={"kind": "transfer", "size": f"{S} bytes"}, start="0 s")],
        120,
        0,
        [{"kind": "iid_loss", "probability": f"{p * 100:.5f} %"}],
        replicates=200,
        seed=r.integers(1e6),
    )
    if r.random() < 0.5:
        s["flows"][0]["transport"]["recovery"] = "reno"
    return s


def short_reno(r):
    """Draws short transfers under random loss that recover as Reno did."""
    s = short_loss(r)
    s["flows"][0]["transport"]["recovery"] = "reno"
    return s


def short_dt(r):
    """Draws a short transfer into a drop-tail queue."""
    pre = pick(r, *PRE)
    P, rtt, rate = pipe(r, pre, 5, 300, 0.01, 0.2)
    B = max(3, P * lu(r, 0.2, 3))
    S = int(lu(r, 1e4, 4e6))
    s = base(
        "short-dt",
        rate,
        rtt,
        dt(B),
        [
            flow(
                pick(r, "reno", "cubic"),
                pre,
                traffic={"kind": "transfer", "size": f"{S} bytes"},
                start="0 s",
            )
        ],
        400,
        0,
        replicates=1,
        seed=r.integers(1e6),
    )
    if r.random() < 0.6:
        s["flows"][0]["transport"]["recovery"] = pick(r, "reno", "newreno", "sack")
    if r.random() < 0.5:
        s["flows"][0]["transport"]["delayed_ack"] = {"every": "1 packets"}
    return s


def short_slower(r):
    """Draws a short transfer by Reno whose slow start becomes slower at some window."""
    s = short_dt(r)
    change, divisor = round(lu(r, 4, 200), 1), pick(r, 1.5, 2.0, 3.0)
    return _short_reno(
        s, {"kind": "reno", "slow_start_change": change, "slow_start_divisor": divisor}
    )


def short_hoe(r):
    """Draws a short transfer by Reno that leaves slow start at the product, as Hoe has it."""
    return _short_reno(short_dt(r), {"kind": "reno", "slow_start_exit": "hoe"})


def _short_reno(s, control):
    transport = s["flows"][0]["transport"]
    transport["control"] = control
    # Linux's Reno has neither.
    if transport["preset"].startswith("linux"):
        transport["preset"] = "rfc"
    if transport.get("recovery", "rack") in ("rack", "newreno"):
        transport["recovery"] = "sack"
    return s


def two_rate(r, feedback):
    """Draws a flow over a link of two rates, with feedback or without."""
    rtt = lu(r, 0.05, 0.4)
    C = lu(r, 15, 60) / rtt
    psi = lu(r, 2, 100)
    ratio = r.uniform(1.3, 3)
    B = int(lu(r, 3, 40))
    tcp = {
        "kind": "tcp",
        "control": {"kind": "reno"},
        "preset": "jacobson1988",
        "mss": "460 bytes",
        "rto_floor": "variance",
        "rto_minimum": f"{rtt / 2 * 1e3:.0f} ms",
        "clock_granularity": "0 s",
        "receive_window": f"{int(1.3 * (C * rtt + B)) + 1} packets",
    }
    hops = []
    if feedback:
        hops.append(
            {
                "name": "host",
                "link": {
                    "kind": "feedback",
                    "from": "b",
                    "algorithm": {"kind": "instcap"},
                    "period": f"{rtt * 1e6:.0f} us",
                    "delay": "0 s",
                },
                "queue": {"kind": "droptail", "limit": "unlimited"},
            }
        )
    hops += [
        {
            "name": "b",
            "link": {
                "kind": "markov",
                "rates": [f"{C * 4000:.0f} bit/s", f"{C * 4000 / ratio:.0f} bit/s"],
                "mean_sojourn": f"{psi * rtt * 1e3:.1f} ms",
                "step": f"{rtt * 1e6:.0f} us",
            },
            "queue": dt(B),
            "delay": f"{rtt * 1e6:.0f} us",
        },
        {
            "name": "r",
            "link": {"kind": "constant", "rate": "1 Gbit/s"},
            "queue": {"kind": "droptail", "limit": "unlimited"},
            "delay": "0 s",
        },
    ]
    f = {
        "name": "f",
        "route": (["host"] if feedback else []) + ["b"],
        "return": ["r"],
        "transport": tcp,
        "traffic": {"kind": "bulk"},
    }
    dur = max(200, 300 * psi * rtt)
    return {
        "schema": 1,
        "name": "instcap" if feedback else "tcpalone",
        "duration": f"{dur:.0f} s",
        "warmup": "10 s",
        "seed": int(r.integers(1e6)),
        "replicates": 4,
        "hops": hops,
        "flows": [f],
    }


def instcap(r):
    """Draws a flow that hears the rate of its link."""
    return two_rate(r, True)


def tcpalone(r):
    """Draws a flow over a link of two rates."""
    return two_rate(r, False)


def tfrc(r, kind="tfrc"):
    """Draws a rate control under random loss."""
    p = lu(r, 5e-4, 5e-2)
    rtt = lu(r, 0.02, 0.2)
    W = 1.2 / sqrt(p)
    rate = W * 12000 / rtt * 8
    f = {
        "name": "f",
        "route": ["b"],
        "return": ["r"],
        "transport": {"kind": "udp", "control": {"kind": kind}},
        "traffic": {"kind": "bulk"},
        "start": ["0 s", "1 s"],
    }
    dur = min(max(600 * rtt / sqrt(p), 60), 3000)
    return base(
        kind,
        rate,
        rtt,
        dt(10000),
        [f],
        dur + 30,
        30,
        [{"kind": "iid_loss", "probability": f"{p * 100:.5f} %"}],
        seed=r.integers(1e6),
    )


def tfrcp(r):
    """Draws TFRCP under random loss."""
    return tfrc(r, "tfrcp")


def rap(r):
    """Draws AIMD of the rate under random loss."""
    return tfrc(r, "rap")


def red_hs(r):
    """Draws HighSpeed flows through RED."""
    s = dtail(r, "highspeed", 10, lo=400, hi=2000, rttlo=0.02, blo=0.3, bhi=1)
    s["name"] = "red-hs"
    B = int(s["hops"][0]["queue"]["limit"].split()[0])
    lo = int(B * 0.1) + 1
    hi = int(B * r.uniform(0.5, 0.9))
    s["hops"][0]["queue"] = {
        "kind": "red",
        "limit": f"{B} packets",
        "minimum_threshold": f"{lo} packets",
        "maximum_threshold": f"{hi} packets",
    }
    return s


def cell(r, two=False):
    """Draws the stations of a Wi-Fi cell."""
    n = int(r.integers(1, 13))

    def h(name, aifsn, lo, hi):
        return {
            "name": name,
            "scope": "per_flow",
            "link": {
                "kind": "edca",
                "medium": "c",
                "station": name,
                "rate": "54 Mbit/s",
                "aifsn": aifsn,
                "cw_min": lo,
                "cw_max": hi,
            },
            "queue": dt(500),
        }

    hops = [
        h("s", pick(r, 2, 3, 6), pick(r, 15, 31, 63), 1023),
        {
            "name": "w",
            "link": {"kind": "constant", "rate": "1 Gbit/s"},
            "queue": dt(1000),
            "delay": "1 ms",
        },
    ]

    def f(name, hop, n):
        return {
            "name": name,
            "count": n,
            "route": [hop, "w"],
            "return": ["w"],
            "transport": {"kind": "udp"},
            "traffic": {"kind": "cbr", "rate": "60 Mbit/s", "packet_size": "1000 bytes"},
        }

    flows = [f("f", "s", n)]
    if two:
        hops.insert(1, h("t", pick(r, 2, 3, 6), pick(r, 15, 31, 63), 1023))
        flows.append(f("g", "t", int(r.integers(1, 8))))
    return {
        "schema": 1,
        "name": "cell2" if two else "cell",
        "duration": "8 s",
        "warmup": "2 s",
        "seed": int(r.integers(1e6)),
        "replicates": 2,
        "shared_media": [{"name": "c", "kind": "edca", "profile": "802.11g"}],
        "hops": hops,
        "flows": flows,
    }


def cell2(r):
    """Draws a Wi-Fi cell with stations of two classes."""
    return cell(r, True)


#: Families by name.
FAMILIES = {
    family.__name__: family
    for family in (
        loss_reno,
        loss_cubic,
        loss_hs,
        loss_aimd,
        loss_window,
        loss_even,
        loss_timer,
        loss_crowd,
        dt_reno,
        dt_cubic,
        dt_cubic_n,
        dt_reno_n,
        dt_hs,
        dt_hs_n,
        hs_small,
        bbr_vs,
        bbr_alone,
        codel,
        pie,
        pi2,
        dctcp,
        dctcp_one,
        short_loss,
        short_reno,
        short_dt,
        short_slower,
        short_hoe,
        instcap,
        tcpalone,
        tfrc,
        tfrcp,
        rap,
        red_hs,
        cell,
        cell2,
    )
}
