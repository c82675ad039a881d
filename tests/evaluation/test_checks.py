"""Each kind of check on made-up traces: when it holds, when it fails, when it cannot be decided."""

import numpy as np
import pytest

from ackclock.evaluation.checks import KINDS
from tests.evaluation.made_up import finding_of, trace
from tests.refusals import refused

UP_AND_DOWN = (("STARTUP", 20), ("DRAIN", 10), ("DOWN", 20), ("CRUISE", 30), ("DOWN", 20))


def holds(run, /, **fields) -> bool | None:
    return finding_of(run, **fields).holds


def test_a_bound_at_a_moment_reads_one_row() -> None:
    rates = np.linspace(0, 10e6, 100)
    run = trace(UP_AND_DOWN, {"max_bw": rates})
    moment = {"entry": "DRAIN"}
    assert holds(run, kind="bound", of="max_bw", at=moment, least="2 Mbit/s", most="2.1 Mbit/s")
    assert holds(run, kind="bound", of="max_bw", at={"exit": "STARTUP"}, most="2 Mbit/s")
    finding = finding_of(run, kind="bound", of="max_bw", at=moment, least="3 Mbit/s")
    assert finding.holds is False
    assert finding.at_s == 0.2
    assert finding.value == pytest.approx(rates[20])
    assert "at least 3.00 Mbit/s" in finding.words


def test_a_bound_in_a_span_reads_every_row_and_shows_the_first_that_fails() -> None:
    gains = [2.77] * 20 + [0.5] * 9 + [0.6] + [0.9] * 70
    run = trace(UP_AND_DOWN, {"pacing_gain": gains})
    in_drain = {"kind": "bound", "of": "pacing_gain", "in_": {"state": "DRAIN"}}
    finding = finding_of(run, **in_drain, equals=0.5)
    assert (finding.holds, finding.at_s) == (False, 0.29)
    assert holds(run, **in_drain, equals=0.6, once=True)
    assert holds(run, kind="bound", of="pacing_gain", in_={"state": "DOWN"}, equals=0.9)


def test_a_bound_may_be_a_variable_of_the_same_row_or_of_another_moment() -> None:
    run = trace(UP_AND_DOWN, {"cwnd": np.arange(100), "in_flight": np.arange(100) - 1})
    assert holds(run, kind="bound", of="in_flight", most={"of": "cwnd"})
    assert holds(run, kind="bound", of="in_flight", most={"of": "cwnd", "times": 0.9}) is False
    earlier = {"of": "cwnd", "at": {"event": "losses"}}
    assert holds(run, kind="bound", of="cwnd", at="0.3 s", equals=earlier)
    assert holds(run, kind="bound", of="cwnd", at="0.31 s", equals=earlier) is False


def test_the_rate_of_the_path_is_that_of_the_moment() -> None:
    run = trace(UP_AND_DOWN, {"max_bw": 6e6})
    below = {"kind": "bound", "of": "max_bw", "most": {"of": "path.rate"}}
    assert holds(run, **below, at="0.49 s")
    assert holds(run, **below, at="0.5 s") is False


def test_a_bound_that_does_not_hold_is_infinite() -> None:
    bound = np.where(np.arange(100) < 50, np.inf, 3000)
    run = trace(UP_AND_DOWN, {"inflight_longterm": bound})
    check = {"kind": "bound", "of": "inflight_longterm"}
    assert holds(run, **check, at="0.1 s", most=1e9) is False
    assert holds(run, **check, at="0.6 s", most=1e9)
    same = {"of": "inflight_longterm", "at": "0.2 s"}
    assert holds(run, **check, at="0.1 s", equals=same)
    assert holds(run, **check, at="0.6 s", least=same) is False
    # 15 % less, or a segment, but at least four segments of 1000 bytes.
    headroom = {"kind": "bound", "of": "inflight_with_headroom", "at": "0.6 s"}
    assert holds(run, **headroom, equals=4000)


def test_a_moment_that_never_came_fails_and_a_variable_that_is_absent_decides_nothing() -> None:
    run = trace(UP_AND_DOWN, {"cwnd": 1})
    assert holds(run, kind="bound", of="cwnd", at={"entry": "UP"}, least=0) is False
    assert holds(run, kind="bound", of="cwnd", in_={"state": "UP"}, least=0) is False
    assert holds(run, kind="bound", of="max_bw", at={"entry": "DRAIN"}, least=0) is None
    assert holds(run, kind="state", at={"entry": "UP"}, is_=["UP"]) is False


def test_moments_choose_among_visits() -> None:
    run = trace(UP_AND_DOWN, {"cwnd": np.arange(100)})
    check = {"kind": "bound", "of": "cwnd"}
    assert holds(run, **check, at={"entry": "DOWN", "nth": 1}, equals=30)
    assert holds(run, **check, at={"entry": "DOWN", "nth": 2}, equals=80)
    assert holds(run, **check, at={"entry": "DOWN", "from": "CRUISE"}, equals=80)
    assert holds(run, **check, at={"entry": "DOWN", "since": "losses", "nth": 1}, equals=30)
    assert holds(run, **check, at={"entry": "DOWN", "since": "0.31 s"}, equals=80)
    assert holds(run, **check, at={"entry": "DOWN"}, equals=30) is False
    assert holds(run, **check, at={"entry": "DOWN", "nth": 1, "plus": "2 RTT"}, equals=38)


def test_a_moment_may_be_the_row_after_a_visit_or_what_the_sender_reports() -> None:
    run = trace(UP_AND_DOWN, {"cwnd": np.arange(100)}, {40: "undo", 60: "undo"})
    check = {"kind": "bound", "of": "cwnd"}
    assert holds(run, **check, at={"left": "STARTUP"}, equals=20)
    assert holds(run, **check, at={"left": "DOWN", "nth": 2}, equals=99) is False, "it never ends"
    assert holds(run, **check, at={"happens": "undo"}, equals=40)
    assert holds(run, **check, at={"happens": "undo", "since": "0.5 s"}, equals=60)
    assert holds(run, **check, at={"happens": "undo", "plus": "1 RTT"}, equals=44)
    assert holds(run, **check, at={"happens": "timeout"}, equals=40) is False


def test_states_follow_one_another() -> None:
    run = trace(UP_AND_DOWN)
    assert holds(run, kind="next", state="STARTUP", is_=["DRAIN"])
    assert holds(run, kind="next", state="DOWN", is_=["CRUISE"])
    assert holds(run, kind="next", state="STARTUP", is_=["DOWN"]) is False
    assert holds(run, kind="next", state="DOWN", nth=2, is_=["CRUISE"]) is False
    assert holds(run, kind="next", state="DOWN", nth=2, is_=["CRUISE"], may_stay=True)
    assert holds(run, kind="next", state="UP", is_=["DOWN"], may_stay=True) is False
    assert holds(run, kind="state", at="0.25 s", is_=["DRAIN"])
    assert holds(run, kind="state", at="0.35 s", is_=["DRAIN"]) is False


def test_visits_are_counted_in_a_span() -> None:
    run = trace(UP_AND_DOWN)
    assert holds(run, kind="visits", state="DOWN", least=2, most=2)
    before = {"end": {"event": "losses"}}
    assert holds(run, kind="visits", state="CRUISE", in_=before, most=0)
    assert holds(run, kind="visits", state="DRAIN", in_=before, most=0) is False


def test_stays_last_in_time_and_in_round_trips() -> None:
    run = trace(UP_AND_DOWN, {"round_count": np.arange(100) // 5})
    assert holds(run, kind="lasts", state="DRAIN", least="100 ms", most="100 ms", least_rounds=2)
    assert holds(run, kind="lasts", state="DRAIN", least="101 ms") is False
    assert holds(run, kind="lasts", state="DRAIN", least="2 RTT", most_rounds=1) is False
    assert holds(trace(UP_AND_DOWN), kind="lasts", state="DRAIN", least_rounds=1) is None


def test_visits_are_apart() -> None:
    run = trace((("PROBE_RTT", 10), ("CRUISE", 30), ("PROBE_RTT", 10)))
    assert holds(run, kind="apart", state="PROBE_RTT", least="310 ms")
    assert holds(run, kind="apart", state="PROBE_RTT", least="320 ms") is False
    assert holds(run, kind="apart", state="CRUISE", least="1 s") is False


def test_goodput_is_payload_over_time() -> None:
    # 1000 bytes each 10 ms are 800 kbit/s.
    run = trace(UP_AND_DOWN, {"delivered": np.arange(100) * 1000.0})
    span = {"begin": "0.2 s", "end": "0.7 s"}
    assert holds(run, kind="goodput", in_=span, least="799 kbit/s", most="801 kbit/s")
    assert holds(run, kind="goodput", in_=span, least="801 kbit/s") is False
    assert holds(run, kind="goodput", in_=span, least={"of": "path.rate", "times": 0.16})
    assert holds(run, kind="goodput", in_=span, least={"of": "path.rate", "times": 0.17}) is False


def test_loss_is_a_share_of_what_was_sent() -> None:
    rows = np.arange(100)
    run = trace(UP_AND_DOWN, {"delivered": rows * 900.0, "lost": rows * 100.0})
    assert holds(run, kind="loss", most=0.1)
    assert holds(run, kind="loss", most="9 %") is False
    assert finding_of(run, kind="loss", most=0).value == pytest.approx(0.1)


def test_a_variable_reaches_a_limit_in_time() -> None:
    run = trace(UP_AND_DOWN, {"max_bw": np.linspace(0, 9.9e6, 100)})
    since = {"kind": "reaches", "of": "max_bw", "since": {"event": "losses"}}
    assert holds(run, **since, within="200 ms", least="5 Mbit/s")
    assert holds(run, **since, within="190 ms", least="5 Mbit/s") is False
    assert holds(run, **since, within="1 s", least="20 Mbit/s") is False
    assert finding_of(run, **since, within="1 s", least="5 Mbit/s").value == pytest.approx(0.2)


def test_events_of_the_sender_are_counted() -> None:
    run = trace(UP_AND_DOWN, events={40: "undo", 60: "undo"})
    assert holds(run, kind="happens", event="undo", least=2, most=2)
    assert holds(run, kind="happens", event="undo", in_={"end": "0.5 s"}, least=2) is False
    assert holds(run, kind="happens", event="timeout", least=1) is False


@pytest.mark.parametrize(("factor", "expected"), [(2.0, True), (1.0, False)])
def test_growth_doubles_each_round_trip(factor: float, expected: bool) -> None:
    steps = 1000 * factor ** np.arange(8)
    values = np.repeat(np.cumsum(steps), 5)
    run = trace(
        (("CRUISE", 10), ("UP", 40)),
        {
            "round_count": np.concatenate([np.zeros(10), np.repeat(np.arange(8), 5)]),
            "inflight_longterm": np.concatenate([np.full(10, 500.0), values]),
            "cwnd": 1e6,
        },
    )
    check = {"kind": "doubles", "of": "inflight_longterm", "state": "UP"}
    assert holds(run, **check) is expected
    assert holds(run, **check, least_rounds=20) is None


def test_steps_that_the_window_limits_do_not_count() -> None:
    # They double up to a quarter of the window, 8 segments, and stay there.
    steps = np.array([1000, 2000, 4000, *[8000] * 9])
    values = np.repeat(np.cumsum(steps), 5).astype(float)
    rounds = np.repeat(np.arange(12), 5)
    shown = {"round_count": rounds, "inflight_longterm": values}
    check = {"kind": "doubles", "of": "inflight_longterm", "state": "UP"}
    assert holds(trace((("UP", 60),), {**shown, "cwnd": 24e3}), **check)
    assert holds(trace((("UP", 60),), {**shown, "cwnd": 1e6}), **check) is False


@pytest.mark.parametrize(
    ("code", "field", "tree"),
    [
        ("unknown-name", "check.kind", {"kind": "bonds"}),
        ("unknown-name", "check.of", {"kind": "bound", "of": "max_pw"}),
        ("missing", "check.of", {"kind": "bound"}),
        ("missing", "check.at", {"kind": "bound", "of": "cwnd", "at": {"plus": "1 s"}}),
        ("wrong-type", "check.at", {"kind": "bound", "of": "cwnd", "at": 3}),
        ("unknown-field", "check.lest", {"kind": "bound", "of": "cwnd", "lest": 1}),
        ("wrong-type", "check.is", {"kind": "next", "state": "UP", "is": "DOWN"}),
        (
            "no-unit",
            "check.within",
            {"kind": "reaches", "of": "cwnd", "since": "1 s", "within": "1"},
        ),
    ],
)
def test_what_is_no_check_is_refused(code: str, field: str, tree: dict) -> None:
    with refused(code, field):
        finding_of(trace(UP_AND_DOWN), **tree)


def test_every_field_of_a_kind_is_described() -> None:
    for kind in KINDS.values():
        assert kind.says.endswith(".")
        assert all(kind.fields.values())
