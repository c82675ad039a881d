"""The records of TCP over a link of two rates: plain numbers, and scenarios."""

from math import inf

import pytest
from click.testing import CliRunner

from ackclock import models
from ackclock.cli import cli
from ackclock.models.explicit_rate import (
    ConstantRate,
    InstantaneousCapacity,
    Loop,
    TwoRateLink,
    Unregulated,
    enumerate_states,
    solve,
)
from tests.models.restated import restated

from ..refusals import refused

GIVEN = {"rate": 200.0, "rtt": 0.2, "buffer": 10.0, "psi": 20.0}
SOURCES = {
    "instcap": InstantaneousCapacity(),
    "tcp_alone": Unregulated(),
    "constant_source": ConstantRate(20.5),
}


def asked(name: str, **changes: float) -> dict[str, float]:
    more = {"source_rate": 102.5} if name == "constant_source" else {}
    return {
        key: float(value)
        for key, value in models.model(name).answer(**(GIVEN | more | changes)).items()
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.parametrize(
    "changes", [{}, {"low_psi": 5.0}, {"low_rate": 50.0, "recovery_rounds": 2}, {"psi": 2.0}]
)
def test_a_record_says_what_the_functions_say(name: str, changes: dict[str, float]) -> None:
    slowdown = 200 / changes.get("low_rate", 100.0)
    psi = changes.get("psi", 20.0)
    loop = Loop(40, 10, slowdown, 65, recovery=int(changes.get("recovery_rounds", 3)))
    link = TwoRateLink.of_sojourns(psi, changes.get("low_psi", psi))
    expected = solve(enumerate_states(loop, SOURCES[name]), link)
    answer = asked(name, **({"window" if name == "tcp_alone" else "ample_window": 65.0} | changes))
    assert answer["efficiency"] == pytest.approx(expected.efficiency(), rel=1e-12)
    assert answer["optimistic_efficiency"] == pytest.approx(
        expected.efficiency("optimistic"), rel=1e-12
    )
    # Rates are packets per round trip, with a round trip of 0.2 s.
    assert answer["conservative"] == pytest.approx(expected.throughput() / 0.2, rel=1e-12)
    assert answer["optimistic"] == pytest.approx(expected.throughput("optimistic") / 0.2, rel=1e-12)
    assert answer["losses"] == expected.losses
    assert answer["window_at_loss"] == expected.window_at_loss


def test_cells_carry_their_headers() -> None:
    plain, cells = (
        asked("instcap", psi=100, ample_window=65),
        asked("instcap", psi=100, ample_window=65, cell_share=48 / 53),
    )
    assert (cells["efficiency"], cells["optimistic_efficiency"]) == pytest.approx(
        (0.880, 0.898), abs=0.0005
    )
    assert cells["conservative"] / plain["conservative"] == pytest.approx(48 / 53)
    assert cells["losses"] == plain["losses"]


def test_packets_that_do_not_fit_into_a_round_trip_are_no_loss_of_efficiency() -> None:
    # 40.9 packets in a round trip at the high rate, 20.45 at the low one, and a buffer for the
    # difference.
    answer = asked("instcap", rate=204.5, buffer=21)
    assert answer["efficiency"] == pytest.approx(1)
    assert answer["conservative"] == pytest.approx(204.5 * 0.75)
    assert answer["loss_free_buffer"] == pytest.approx(20.45)


def test_a_buffer_counts_in_whole_packets() -> None:
    assert asked("instcap", buffer=10.9, ample_window=65) == asked("instcap", ample_window=65)


def test_effective_capacity_beside_its_limits() -> None:
    given = {"rate": 200.0, "rtt": 0.2, "psi": 5.0}
    record = models.model("effective_capacity")
    assert record.answer(**given, decay=0)["effective_capacity"] == pytest.approx(150)
    assert record.answer(**given, decay=0.5)["effective_capacity"] == pytest.approx(
        20.4463 / 0.2, abs=1e-3
    )
    solution = models.solve(record, "decay", 20.35 / 0.2, **given)
    assert solution.values == pytest.approx((0.6376,), abs=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "changes", "code", "field", "value"),
    [
        ("instcap", {"psi": 0.5}, "out-of-range", "psi", "0.5"),
        ("instcap", {"low_psi": 0.5}, "out-of-range", "low_psi", "0.5"),
        ("instcap", {"ample_window": inf}, "out-of-range", "ample_window", "inf"),
        ("tcp_alone", {"low_rate": 200.0}, "contradiction", "low_rate", "200"),
        (
            "tcp_alone",
            {"rtt": 0.001},
            "contradiction",
            "rtt",
            "0.001",
        ),
        (
            "instcap",
            {"rate": 4e5},
            "out-of-range",
            "rate",
            "400000",
        ),
        ("tcp_alone", {"recovery_rounds": 4}, "out-of-range", "recovery_rounds", "4"),
    ],
)
def test_what_makes_no_sense_is_refused(
    name: str, changes: dict[str, float], code: str, field: str, value: str
) -> None:
    with refused(code, field, value):
        asked(name, **changes)


def test_effective_capacity_needs_a_lower_low_rate() -> None:
    with refused("contradiction", "low_rate", 300):
        models.model("effective_capacity").answer(
            rate=200.0, low_rate=300.0, rtt=0.2, psi=5.0, decay=1.0
        )


def test_what_takes_long_is_not_asked_for_backwards() -> None:
    with refused("unsupported", "buffer"):
        models.solve(
            models.model("instcap"),
            "buffer",
            0.9,
            output="efficiency",
            rate=200.0,
            rtt=0.2,
            psi=5.0,
        )


def test_a_table_does_not_say_of_all_what_holds_of_the_first() -> None:
    arguments = [
        "predict",
        "tcp_alone",
        "--rate",
        "200 segments/s",
        "--rtt",
        "200ms",
        "--buffer",
        "10",
    ]
    outcome = CliRunner().invoke(cli, [*arguments, "--psi", "5,50"])
    assert outcome.exit_code == 0
    assert "low_psi" not in outcome.stdout.splitlines()[0]


MARKOV = {
    "kind": "markov",
    "rates": ["108 kB/s", "54 kB/s"],
    "mean_sojourn": "2 s",
    "step": "200 ms",
}


@pytest.fixture
def two_rates(resolved) -> dict:
    """Returns the publication's network, resolved: 40 packets of 540 bytes in 200 ms."""
    tree = resolved(duration="400 s", warmup="20 s")  # a hundred changes of the rate
    wired, wireless, back = tree["hops"]
    wired["link"] = {"kind": "constant", "rate": "1 Gbit/s"}
    wired["delay"], back["delay"], back["link"] = (
        "100 ms",
        "100 ms",
        {"kind": "constant", "rate": "1 Gbit/s"},
    )
    wireless["impairments"], wireless["link"] = [], dict(MARKOV)
    wireless["queue"] = {"kind": "droptail", "limit": "10 packets"}
    transport = tree["flows"][0]["transport"]
    transport |= {"mss": "500 bytes", "receive_window": "65 packets"}
    transport |= {"recovery": "timeout_only", "sack": False, "after_timeout": "go_back_n"}
    return tree


def feedback(**changes: object) -> dict:
    """Returns the link of a host stage, which gives the source the rate of one round trip ago."""
    link = {
        "kind": "feedback",
        "from": "wireless",
        "algorithm": {"kind": "instcap"},
        "delay": "0 s",
        "sessions": 1,
    }
    return link | {"period": "200 ms", "target_utilisation": "100 %"} | changes


def row(tree: dict, name: str) -> dict:
    [path] = models.flow_paths(restated(tree))
    return models.answer(models.model(name), path)


def test_a_scenario_without_feedback(two_rates: dict) -> None:
    answer = row(two_rates, "tcp_alone")
    assert (answer["within"], answer["note"]) == (0.1, "")
    expected = {
        "rate": 200,
        "low_rate": 100,
        "rtt": 0.2,
        "buffer": 10,
        "window": 65,
        "psi": 10,
        "low_psi": 10,
    }
    assert answer["inputs"] == pytest.approx(expected | {"recovery_rounds": 3})
    assert answer["outputs"]["efficiency"] == pytest.approx(0.6325, abs=0.0005)
    assert answer["goodput_bit_per_s"] == pytest.approx(0.6325 * 150 * 4000, rel=1e-3)
    assert (
        row(two_rates, "instcap")["note"]
        == "there is no feedback of the link's rate to the sender's host"
    )
    assert "ask it with plain numbers" in row(two_rates, "constant_source")["note"]
    assert "ask it with plain numbers" in row(two_rates, "effective_capacity")["note"]


def test_a_scenario_with_a_host_that_follows_the_link(two_rates: dict) -> None:
    two_rates["hops"][0]["link"] = feedback()
    answer = row(two_rates, "instcap")
    assert (answer["within"], answer["note"]) == (0.1, "")
    assert answer["outputs"]["efficiency"] == pytest.approx(0.6264, abs=0.0005)
    assert row(two_rates, "tcp_alone")["note"] == "the sender's host follows a fed-back rate"


@pytest.mark.parametrize(
    ("changes", "note"),
    [
        (
            {"delay": "200 ms", "period": "30 ms"},
            "it follows 230 ms later, but a round trip is 200 ms",
        ),
        ({"target_utilisation": "95 %"}, "the source may use 0.95 of the rate"),
        ({"sessions": 2}, "the source may use 0.5 of the rate"),
        (
            {"source": {"peak_rate": "1 Gbit/s"}},
            "the source's rate follows by what its own packets bring back",
        ),
    ],
)
def test_feedback_of_another_kind_violates_an_assumption(
    two_rates: dict, changes: dict, note: str
) -> None:
    two_rates["hops"][0]["link"] = feedback(**changes)
    answer = row(two_rates, "instcap")
    assert (answer["verdict"], answer["violated"]) == (
        "applies with violated assumptions",
        ["follows_a_round_trip_later"],
    )
    assert answer["note"] == f"follows_a_round_trip_later: {note}"


@pytest.mark.parametrize(
    ("changes", "note"),
    [
        ({"algorithm": {"kind": "effcap", "m": 7, "n": 49}}, "the feedback is effcap, not INSTCAP"),
        (
            {"from": "return"},
            "the bottleneck is not known: the link of wired follows the rate of return",
        ),
    ],
)
def test_other_feedback_is_refused(two_rates: dict, changes: dict, note: str) -> None:
    two_rates["hops"][0]["link"] = feedback(**changes)
    assert row(two_rates, "instcap")["note"] == note


@pytest.mark.parametrize(
    ("changes", "note"),
    [
        (
            {"mean_sojourn": "100 ms", "step": "50 ms"},
            "the link changes every 0.5 round trips, but the analysis needs psi ≥ 1",
        ),
        (
            {"mean_sojourn": ["2 s", "100 ms"], "step": "50 ms"},
            "the link changes every 0.5 round trips, but the analysis needs psi ≥ 1",
        ),
        (
            {"rates": ["108 kB/s", "54 kB/s", "20 kB/s"]},
            "the link has 3 rates, the analysis is for two",
        ),
        ({"rates": ["108 kB/s", "108 kB/s"]}, "the link has one rate, the analysis is for two"),
        ({"rates": ["108 kB/s", "0 bit/s"]}, "the link sends nothing in its low state"),
        ({"rates": ["1 GB/s", "54 kB/s"]}, "the bottleneck has no Markov link"),
    ],
)
def test_links_that_do_not_fit_are_refused(two_rates: dict, changes: dict, note: str) -> None:
    two_rates["hops"][1]["link"] = MARKOV | changes
    answer = row(two_rates, "tcp_alone")
    assert (answer["verdict"], answer["goodput_bit_per_s"]) == ("does not apply", None)
    assert answer["note"].startswith(note)


def test_a_path_with_too_many_states_is_refused(two_rates: dict) -> None:
    two_rates["hops"][1]["link"] = MARKOV | {"rates": ["90 MB/s", "54 MB/s"]}
    two_rates["flows"][0]["transport"]["receive_window"] = "unlimited"
    answer = row(two_rates, "tcp_alone")
    assert (answer["verdict"], answer["inputs"]) == ("does not apply", None)
    assert answer["note"].startswith("rate: 166667 ")


def change(tree: dict, kind: str) -> None:
    flow, queue = tree["flows"][0], tree["hops"][1]["queue"]
    match kind:
        case "udp":
            flow["transport"] = {"kind": "udp", "mss": "500 bytes"}
            flow["traffic"] = {"kind": "cbr", "rate": "1 Mbit/s"}
        case "cubic":
            flow["transport"]["control"] = {"kind": "cubic", "c": 0.4}
        case "two":
            flow["count"] = 2
        case "unlimited":
            queue["limit"] = "unlimited"
        case "loss":
            tree["hops"][1]["impairments"] = [{"kind": "iid_loss", "probability": "1 %"}]


@pytest.mark.parametrize(
    ("kind", "note"),
    [
        ("udp", "not TCP"), ("cubic", "cubic is not AIMD(1, 1/2)"),
        ("two", "several flows share the link"),
        ("unlimited", "the bottleneck has no drop-tail queue with a limit"),
        ("loss", "there is random loss too"),
    ],
)  # fmt: skip
def test_flows_that_do_not_fit_are_refused(two_rates: dict, kind: str, note: str) -> None:
    change(two_rates, kind)
    for name, link in (("tcp_alone", two_rates["hops"][0]["link"]), ("instcap", feedback())):
        two_rates["hops"][0]["link"] = link
        assert row(two_rates, name)["note"] == note


def test_what_a_flow_violates_is_named(two_rates: dict) -> None:
    two_rates["flows"][0]["transport"] |= {"recovery": "sack", "sack": True}
    two_rates["hops"][1]["link"] = MARKOV | {"step": "30 ms"}
    answer = row(two_rates, "tcp_alone")
    assert answer["violated"] == ["timeouts_only", "epochs"]
    assert "30 ms" in answer["note"]
    del two_rates["hops"][1]["link"]["step"]
    assert "30 ms" not in row(two_rates, "tcp_alone")["note"]


def test_a_matrix_with_a_step_says_how_long_a_state_lasts(two_rates: dict) -> None:
    matrix = [["95 %", "5 %"], ["25 %", "75 %"]]
    two_rates["hops"][1]["link"] = {
        "kind": "markov", "rates": ["54 kB/s", "108 kB/s"], "transition_matrix": matrix,
        "step": "200 ms",
    }  # fmt: skip
    inputs = row(two_rates, "tcp_alone")["inputs"]
    assert (inputs["rate"], inputs["low_rate"], inputs["psi"], inputs["low_psi"]) == pytest.approx(
        (200, 100, 4, 20)
    )
