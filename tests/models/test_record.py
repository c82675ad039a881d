"""Properties of every model's record."""

import contextlib
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ackclock import models
from ackclock.models import Domain, Input, InputError, Model, Output, Rule

from ..refusals import refused

# A value in the domain of each input without a default.
GIVEN = {
    "loss": 0.01, "rtt": 0.1, "size": 100.0, "rate": 1000.0, "buffer": 50.0, "psi": 20.0,
    "decay": 0.01, "flows": 10.0, "places": 50.0, "stations": 5.0,
    "target": 0.01, "interval": 0.1, "marks": 0.01, "threshold": 20.0,
}  # fmt: skip
# A loss is possible, and states are few.
_LOOP = {"rate": 400.0, "buffer": 10.0, "psi": 20.0}
# Slow start overflows the queue, and much is left after it.
_OVERFLOW = {"size": 400.0, "rate": 125.0, "rtt": 0.5, "buffer": 20.0}
_CLASS = {"stations": 2.0, "aifsn": 2.0, "cw_min": 7.0, "cw_max": 10.0}
_CLASSES = _CLASS | {
    f"other_{name}": value for name, value in {**_CLASS, "aifsn": 5.0, "cw_max": 30.0}.items()
}
OF = {
    "instcap": _LOOP, "tcp_alone": _LOOP, "constant_source": _LOOP | {"source_rate": 210.0},
    "bbr_share": {"buffer": 400.0},
    "cubic_response": {"loss": 6.2e-4},  # where each of its two regions may be the larger
    "short_transfer": _OVERFLOW, "edca": _CLASSES,
    **{name: {"flows": 10.0} for name in ("mm1k", "mm1k_burst", "hstcp_red", "hstcp_sawtooth")},
    # A longer simulation does more of the same.
    "hstcp_window_sim": {"flows": 10.0, "duration": 4.0, "warmup": 1.5},
}  # fmt: skip


def given_of(model: Model) -> dict[str, float]:
    given = GIVEN | OF.get(model.name, {})
    chosen = OF.get(model.name, {})
    needed = [entry.name for entry in model.inputs if entry.default is None or entry.name in chosen]
    if missing := [name for name in needed if name not in given]:
        pytest.fail(
            f"{model.name} requires {', '.join(missing)}; add a value to GIVEN in "
            "tests/models/test_record.py, or to OF if other models need another",
            pytrace=False,
        )
    return {name: given[name] for name in needed}


#: Without these an input says nothing, or has no answer.
_VARYING = {"link_rate": 500.0, "rtt_sd": 0.03}
_CHANNEL = {"bad_loss": 0.3, "good_loss": 0.002, "bad_run": 4.0}
BESIDE = {
    "rtt_sd": _VARYING,
    "rtt_gamma": _VARYING,
    "bad_loss": _CHANNEL,
    "bad_run": _CHANNEL,
    "good_loss": _CHANNEL,
    "rtt_growth": {"rtt_growth": 0.001},
    "change_window": {"change_window": 15.0},
    "later_segments_per_ack": {"change_window": 15.0},
}

every_model = pytest.mark.parametrize("model", models.MODELS, ids=lambda model: model.name)


@every_model
def test_a_record_says_everything(model: Model) -> None:
    record = model.described()
    assert record["name"].isidentifier()
    assert record["name"] == record["name"].lower()
    assert all(
        record[name].strip() == record[name] != ""
        for name in ("label", "summary", "reference", "formula")
    )
    for entry in (*record["inputs"], *record["outputs"], *record["assumptions"]):
        assert entry["name"].isidentifier()
        assert entry.get("meaning", "x")
        assert entry.get("sentence", "x")
    assert len({assumption.name for assumption in model.assumptions}) == len(model.assumptions)
    assert model.output(model.goodput).unit == "segments/s"
    assert model.output() == model.outputs[0]


def test_names_and_labels_are_different() -> None:
    assert (
        len({record.name for record in models.MODELS})
        == len({record.label for record in models.MODELS})
        == len(models.MODELS)
    )


@every_model
def test_defaults_are_in_their_domains(model: Model) -> None:
    inputs = model.completed(**given_of(model))
    assert list(inputs) == [entry.name for entry in model.inputs]
    for entry in model.inputs:
        assert entry.domain.holds(inputs[entry.name]).all()


@pytest.mark.slow
@every_model
def test_answers_have_every_output_in_the_shape_of_the_inputs(model: Model) -> None:
    inputs = given_of(model)
    scalars = model.answer(**inputs)
    assert list(scalars) == [output.name for output in model.outputs]
    assert all(value.shape == () and np.isfinite(value) for value in scalars.values())
    arrays = model.answer(**(inputs | {"rtt": np.full((3, 1, 2), inputs["rtt"])}))
    for name, value in arrays.items():
        assert value.shape == (3, 1, 2)
        np.testing.assert_allclose(value, scalars[name], rtol=1e-14)


# Models that enumerate states do not accept every rate and buffer.
@pytest.mark.long
@pytest.mark.parametrize(
    "model",
    [record for record in models.MODELS if all(each.backwards for each in record.inputs)],
    ids=lambda model: model.name,
)
@settings(max_examples=20)
@given(
    st.lists(
        st.tuples(st.floats(-9, -0.01), st.floats(-3, 1), st.floats(-1, 5)), min_size=1, max_size=5
    ),
    st.sampled_from([2.0, 50.0, math.inf]),
)
def test_goodput_alone_is_that_of_the_answer(
    model: Model, drawn: list[tuple[float, float, float]], window: float
) -> None:
    names = {entry.name for entry in model.inputs}
    loss, rtt, rate = np.power(10.0, np.array(drawn)).T
    varied = {
        name: values
        for name, values in {"loss": loss, "rtt": rtt, "rate": rate}.items()
        if name in names
    }
    inputs = given_of(model) | varied | ({"window": window} if "window" in names else {})
    inside = model.inside(**inputs)
    for index in range(len(drawn)):
        point = {name: np.broadcast_to(value, len(drawn))[index] for name, value in inputs.items()}
        if inside[index]:
            assert model.goodputs(**point) == pytest.approx(
                model.answer(**point)[model.goodput], rel=1e-12
            )
        else:
            with pytest.raises(InputError):
                model.completed(**point)
    inputs = {name: np.broadcast_to(value, len(drawn))[inside] for name, value in inputs.items()}
    # Where chains are solved together, a reduction ends on the same windows, so only unreachable
    # windows change.
    np.testing.assert_allclose(
        model.goodputs(**inputs), model.answer(**inputs)[model.goodput], rtol=1e-12
    )


def differs(model: Model, before: dict[str, np.ndarray], inputs: dict[str, float]) -> bool:
    with contextlib.suppress(InputError):  # inputs may contradict one another
        after = model.answer(**inputs)
        return any(after[name] != before[name] for name in before)
    return False


@pytest.mark.long
@every_model
def test_each_input_matters_to_an_output(model: Model) -> None:
    base = given_of(model)
    if any(entry.name == "timeout" for entry in model.inputs):
        base["timeout"] = 0.4
    if any(each.name == "level" for each in model.inputs):  # one that is passed at times
        base["level"] = float(model.answer(**base)["throughput"])
    for entry in model.inputs:
        given = base | BESIDE.get(entry.name, {})
        before, default = model.answer(**given), model.completed(**given)[entry.name]
        others = entry.domain.values or (float(default) * 0.9, float(default) * 1.1, 3.0, 0.25)
        others = [value for value in others if value != default and entry.domain.holds(value)]
        assert any(differs(model, before, given | {entry.name: value}) for value in others), (
            entry.name
        )


@pytest.mark.slow
@every_model
def test_twice_the_round_trip_is_half_the_rate(model: Model) -> None:
    # All times scale together, if there are others; capacities scale inversely.
    inputs = {name: float(value) for name, value in model.completed(**given_of(model)).items()}
    units = {entry.name: entry.unit for entry in (*model.inputs, *model.outputs)}
    powers = {"s": 1, "segments/s": -1, "segments/s^3": -3}
    slow = {name: value * 2.0 ** powers.get(units[name], 0) for name, value in inputs.items()}
    before, after = model.answer(**inputs), model.answer(**slow)
    for name, value in before.items():
        assert after[name] == pytest.approx(
            float(value) * 2.0 ** powers.get(units[name], 0), rel=1e-12
        ), name


@every_model
def test_what_is_missing_unknown_or_out_of_domain_is_refused(model: Model) -> None:
    inputs = given_of(model)
    for name in (entry.name for entry in model.inputs if entry.default is None):
        with refused("missing", name):
            model.answer(**{other: value for other, value in inputs.items() if other != name})
    with refused("unknown-field", "los"):
        model.answer(los=0.1, **inputs)
    for entry in model.inputs:
        for bad in (
            math.nan,
            -1.0,
            [*np.atleast_1d(model.completed(**inputs)[entry.name]), math.nan],
        ):
            with refused("out-of-range", entry.name):
                model.answer(**(inputs | {entry.name: bad}))


def test_the_first_of_an_array_that_is_out_of_its_domain_is_named() -> None:
    with refused("out-of-range", "loss", 1.5):
        models.model("pftk").answer(loss=[0.1, 1.5, 2], rtt=0.1)


@given(
    st.floats(allow_nan=False),
    st.floats(-1e3, 1e3),
    st.floats(0, 1e3),
    st.sampled_from(["()", "[]", "(]", "[)"]),
)
def test_a_domain_is_an_interval(number: float, low: float, width: float, ends: str) -> None:
    high = low + width
    above = number > low or (ends[0] == "[" and number == low)
    below = number < high or (ends[1] == "]" and number == high)
    assert Domain(low, high, ends).holds(number) == (above and below)


@pytest.mark.parametrize(
    ("domain", "words"),
    [
        (Domain(), "p > 0"), (Domain(1, math.inf, "[]"), "p ≥ 1"), (Domain(0, 1), "0 < p < 1"),
        (Domain(0, 0.5, "[)"), "0 ≤ p < 0.5"), (Domain(0, 1, "(]"), "0 < p ≤ 1"),
        (Domain(values=(1, 2)), "p = 1 or 2"),
    ],
)  # fmt: skip
def test_a_domain_in_words(domain: Domain, words: str) -> None:
    assert domain.words("p") == words
    assert not domain.holds(math.nan)


def test_a_default_may_follow_from_other_inputs() -> None:
    timeout = models.model("tfrc").input("tcp_timeout").default
    assert isinstance(timeout, Rule)
    inputs = models.model("tfrc").completed(loss=0.1, rtt=[0.1, 0.2])
    np.testing.assert_array_equal(inputs["tcp_timeout"], [0.4, 0.8])


def test_a_record_that_contradicts_itself_is_none() -> None:
    model = models.model("mathis")
    twice = (*model.inputs, Input("loss", "q", "", "again"))
    with refused("contradiction", "mathis"):
        Model(**(vars(model) | {"inputs": twice}))
    with refused("unknown-field", "time"):
        Model(**(vars(model) | {"goodput": "time"}))
    with refused("contradiction", "mathis"):
        Model(
            **(vars(model) | {"goodput": "w", "outputs": (Output("w", "w", "segments", "window"),)})
        )


def test_models_are_chosen_by_a_word_or_by_name() -> None:
    assert models.chosen("all") == tuple(models.MODELS)
    assert {record.name for record in models.chosen("usual")} == {
        record.name for record in models.MODELS if record.usual
    }
    assert [record.name for record in models.chosen("pftk, mathis")] == [
        "mathis",
        "pftk",
    ]  # in the list's order
    with refused("unknown-name", "", "pftc", "pftk"):
        models.chosen("mathis,pftc")
    with refused("unknown-name", "", "zzz", "square_root"):
        models.model("zzz")


# Meaning of each name in every model that has it.
TERMS = {
    "loss": ("loss rate", "loss event rate", "share of packets lost"),
    "rtt": ("round-trip time", "round-trip propagation delay"),
    "window": ("largest window",),
    "timeout": ("first retransmission timeout",),
    "segments_per_ack": ("segments acknowledged",),
    "additive_increase": ("growth of the window", "growth of a flow's window"),
    "decrease_factor": ("share of the window kept",),
    "initial_window": ("initial window",),
    "handshake": ("1 with a SYN exchange",),
    "steepness": ("steepness of the cubic growth",),
    "cubic_decrease_factor": ("share of the window kept by CUBIC",),
    "fast_convergence": ("1 if a loss below the last maximum",),
    "size": ("size of the transfer",),
    "rate": ("the link's",),
    "low_rate": ("the link's low rate",),
    "buffer": ("queue limit",),
    "flows": ("flows that share",),
    "window_gain": ("in-flight cap",),
    "rtt_probe_interval": ("time between probes",),
    "rtt_probe_time": ("time for which such a probe",),
    "rtt_probe_segments": ("window of a flow in such a probe",),
    "stations": ("stations",),
    "places": ("capacity of the router",),
    "target": ("target", "delay to which the queue steers"),
    "shortest": ("the shortest round-trip time",),
    "longest": ("the longest",),
    "psi": ("mean time of the link at its high rate",),
    "low_psi": ("the same at its low rate",),
    "recovery_rounds": ("round trips from a loss to slow start",),
    "ample_window": ("largest window",),
    "cw_min": ("largest first draw",),
    "cw_max": ("largest draw",),
    "slot": ("slot of the backoff",),
    "retries": ("retries before a frame is given up",),
}


def test_one_name_is_one_thing_with_one_default() -> None:
    inputs: dict[str, list[tuple[str, Input, str]]] = {}
    for model in models.MODELS:
        for entry, described in zip(model.inputs, model.described()["inputs"], strict=True):
            inputs.setdefault(entry.name, []).append((model.name, entry, described["default"]))
    for name, every in inputs.items():
        if len(every) == 1:
            continue
        first = every[0]
        for model, entry, default in every:
            ours, theirs = (
                (default, entry.unit, entry.on_wire),
                (first[2], first[1].unit, first[1].on_wire),
            )
            assert ours == theirs, f"{name} of {model} and {first[0]}"
            others = [other for other, terms in TERMS.items() if entry.meaning.startswith(terms)]
            assert any(term in entry.meaning for term in TERMS.get(name, ())), (
                f"{name} of {model}: {entry.meaning}; "
                + (f"call it {' or '.join(others)}, as other models do; " if others else "")
                + f"if that is what all models mean by {name}, add it to TERMS in "
                "tests/models/test_record.py"
            )
