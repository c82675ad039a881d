import copy
import json
from pathlib import Path

import jsonschema
import pytest
from jsonschema import Draft202012Validator

import ackclock
from ackclock import Scenario, ScenarioError, load, units
from ackclock.elements.registry import registry, schema

from .refusals import refused


def test_a_file_is_loaded_with_its_folder(scenario_file: Path, leaky_pipe: Scenario) -> None:
    loaded = ackclock.load(scenario_file)
    assert loaded == leaky_pipe
    assert loaded.folder == Path()
    assert ackclock.load(scenario_file.resolve()).folder == scenario_file.resolve().parent


def test_parts_are_reached_by_name_with_units_as_written(leaky_pipe: Scenario) -> None:
    assert leaky_pipe.hops["wired"].link.rate == "45 Mbit/s"
    assert leaky_pipe.hops[1].impairments[0].probability == "0.5 %"
    assert leaky_pipe.flows["main"]["return"][0] == "return"
    assert [hop.name for hop in leaky_pipe.hops[:2]] == ["wired", "wireless"]
    assert leaky_pipe["duration"] == leaky_pipe.duration == "5 s"
    assert len(leaky_pipe.hops) == 3
    assert dict(leaky_pipe.hops["wired"].link) == {"kind": "constant", "rate": "45 Mbit/s"}


def test_what_is_not_there_is_answered_with_what_is(leaky_pipe: Scenario) -> None:
    with pytest.raises(AttributeError, match=r"no 'dealy' here; did you mean .delay.\?"):
        _ = leaky_pipe.hops["wired"].dealy
    with pytest.raises(AttributeError, match="no 'zzz' here; there is name, link, queue, delay"):
        _ = leaky_pipe.hops["wired"].zzz
    with pytest.raises(AttributeError, match=r"no 'hopps' here; did you mean .hops.\?"):
        _ = leaky_pipe.hopps
    with pytest.raises(AttributeError, match=r"no 'replcae' here; did you mean .replace"):
        _ = leaky_pipe.replcae
    assert not hasattr(leaky_pipe, "_repr_png_")
    assert {"hops", "duration", "replace"} <= set(dir(leaky_pipe))
    with pytest.raises(KeyError, match="no 'wierd' here; there is wired, wireless, return"):
        _ = leaky_pipe.hops["wierd"]


def test_parts_can_be_copied(leaky_pipe: Scenario) -> None:
    assert copy.copy(leaky_pipe.hops["wired"]) == leaky_pipe.hops["wired"]
    assert copy.deepcopy(leaky_pipe) == leaky_pipe


def test_replace_makes_a_copy(leaky_pipe: Scenario) -> None:
    path = "hops.wireless.impairments.0.probability"
    changed = leaky_pipe.replace({path: "1 %"}, seed=7)
    assert changed.hops["wireless"].impairments[0].probability == "1 %"
    assert changed.seed == 7
    assert leaky_pipe.seed == 1
    assert changed != leaky_pipe
    back = changed.replace(**{path: "0.5 %"}, seed=1, sweep=leaky_pipe.tree["sweep"])
    assert back == leaky_pipe
    assert hash(back) == hash(leaky_pipe)


def test_what_is_given_is_no_longer_swept(leaky_pipe: Scenario) -> None:
    path, control = "hops.wireless.impairments.0.probability", "flows.main.transport.control.kind"
    fixed = leaky_pipe.replace({path: "1 %"})
    assert [point.assignments for point in fixed.expand()] == [
        {control: "reno"},
        {control: "cubic"},
    ]
    assert {
        point.scenario.hops["wireless"].impairments[0].probability for point in fixed.expand()
    } == {"1 %"}
    assert "sweep" not in fixed.replace({control: "vegas"}).tree
    # A sweep given together with the value is intended, in either order.
    for changes in (
        {path: "1 %", "sweep": {path: ["2 %"]}},
        {"sweep": {path: ["2 %"]}, path: "1 %"},
    ):
        assert leaky_pipe.replace(changes).tree["sweep"] == {path: ["2 %"]}
    with refused("wrong-type", path, "nan"):
        leaky_pipe.replace({path: "nan"}).check()
    whole = leaky_pipe.replace(
        sweep={"hops.wireless.impairments": [[], [{"kind": "iid_loss", "probability": 0}]]}
    )
    with refused("contradiction", path):
        whole.replace({path: "1 %"})


def test_replace_refuses_a_path_to_nowhere(leaky_pipe: Scenario) -> None:
    with refused("unknown-field", "hops.nowhere", "wireless"):
        leaky_pipe.replace({"hops.nowhere.delay": "1 ms"})


def test_points_are_every_combination(leaky_pipe: Scenario) -> None:
    points = leaky_pipe.expand()
    control, loss = "flows.main.transport.control.kind", "hops.wireless.impairments.0.probability"
    assert [tuple(point.assignments.values()) for point in points] == [
        (kind, p) for kind in ("reno", "cubic") for p in ("0 %", "0.5 %", "5 %")
    ]
    for point in points:
        assert list(point.assignments) == [control, loss]
        assert point.scenario.flows["main"].transport.control.kind == point.assignments[control]
        assert point.scenario.hops["wireless"].impairments[0].probability == point.assignments[loss]
        assert "sweep" not in point.scenario.tree


def test_without_a_sweep_there_is_one_point(leaky_pipe: Scenario) -> None:
    alone = leaky_pipe.expand()[0].scenario
    [point] = alone.expand()
    assert point.assignments == {}
    assert point.scenario == alone


def test_resolving_fills_in_defaults_and_is_done_once(leaky_pipe: Scenario) -> None:
    point = leaky_pipe.expand()[1].scenario
    resolved = point.resolve()
    assert resolved.flows["main"].transport.mss == "1000 bytes"
    assert resolved.flows["main"].transport.recovery == "sack"
    assert resolved.flows["main"].traffic.kind == "bulk"
    assert resolved.resolve() == resolved


def test_the_tree_survives_json(leaky_pipe: Scenario) -> None:
    assert Scenario(json.loads(leaky_pipe.to_json())) == leaky_pipe


@pytest.mark.parametrize(
    ("before", "after", "code", "field"),
    [
        ('"45 Mbit/s"', '"45"', "no-unit", "hops.wired.link.rate"),
        ('"45 Mbit/s"', '"45 ms"', "wrong-unit", "hops.wired.link.rate"),
        ('delay = "35 ms"', 'dealy = "35 ms"', "unknown-field", "hops.wired.dealy"),
        ('"0.5 %"', '"120 %"', "out-of-range", "hops.wireless.impairments.0.probability"),
        ('kind = "droptail"', 'kind = "dorptail"', "unknown-name", "hops.wired.queue.kind"),
        ('warmup = "1 s"', 'warmup = "10 s"', "contradiction", "warmup"),
        ('route = ["wired"', 'route = ["wierd"', "unknown-name", "flows.main.route.0"),
        ("schema = 1", "schema = 2", "unsupported", "schema"),
        ('preset = "rfc"', 'preset = "frc"', "unknown-name", "flows.main.transport.preset"),
    ],
)
def test_bad_input_has_a_code_and_a_field(
    leaky_pipe_text: str, before: str, after: str, code: str, field: str
) -> None:
    text = leaky_pipe_text.split("[sweep]")[0].replace(before, after, 1)
    with refused(code, field):
        Scenario.from_toml(text).check()


def test_a_swept_value_is_checked_too(leaky_pipe: Scenario) -> None:
    wrong = leaky_pipe.replace(sweep={"hops.wireless.impairments.0.probability": ["1 %", "oops"]})
    with refused("wrong-type", "hops.wireless.impairments.0.probability", "oops"):
        wrong.check()


@pytest.mark.parametrize("name", ["missing.toml", "."])
def test_what_cannot_be_read_is_one_line(scenario_file: Path, name: str) -> None:
    with refused("file", str(scenario_file.parent / name)):
        ackclock.load(scenario_file.parent / name)


def test_binary_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_bytes(b"\xff\xfe\x00")
    with refused("file", str(tmp_path / "x.toml")):
        ackclock.load(tmp_path / "x.toml")


@pytest.mark.slow
def test_the_schema_accepts_what_the_engine_accepts(leaky_pipe: Scenario) -> None:
    Draft202012Validator.check_schema(schema())
    validator = Draft202012Validator(schema())
    validator.validate(leaky_pipe.tree)
    validator.validate(leaky_pipe.expand()[0].scenario.resolve().tree)
    with pytest.raises(jsonschema.ValidationError):
        validator.validate(leaky_pipe.tree | {"hosp": []})


@pytest.mark.slow
def test_every_registered_thing_says_what_it_is() -> None:
    for kind in (
        "controls",
        "rate_controls",
        "estimators",
        "queues",
        "links",
        "feedback",
        "impairments",
        "traffic",
    ):
        assert registry()[kind]
        for entry in registry()[kind]:
            assert entry["name"]
            assert entry["label"]
            assert entry["summary"]
            assert entry["reference"]
            jsonschema.Draft202012Validator.check_schema(entry["parameters"])
    assert {"ns2-2002", "rfc", "linux"} <= set(registry()["presets"])


@pytest.mark.parametrize("unit", units.TIME)
def test_times_are_read_as_the_engine_reads_them(leaky_pipe: Scenario, unit: str) -> None:
    point = leaky_pipe.expand()[0].scenario.replace({"hops.wired.delay": f"3 {unit}"})
    assert units.seconds(point.resolve().hops["wired"].delay) == pytest.approx(
        units.seconds(f"3 {unit}")
    )


@pytest.mark.parametrize(
    "unit", [unit for unit in units.RATE if unit not in ("bit/s", "B/s", "Tbit/s")]
)
def test_rates_are_read_as_the_engine_reads_them(leaky_pipe: Scenario, unit: str) -> None:
    point = leaky_pipe.expand()[0].scenario.replace({"hops.wired.link.rate": f"2 {unit}"})
    assert units.bit_per_s(point.resolve().hops["wired"].link.rate) == pytest.approx(
        units.bit_per_s(f"2 {unit}")
    )


@pytest.mark.parametrize("unit", units.DATA)
def test_data_is_read_as_the_engine_reads_it(leaky_pipe: Scenario, unit: str) -> None:
    point = leaky_pipe.expand()[0].scenario.replace({"hops.wired.queue.limit": f"3 {unit}"})
    assert units.data_bytes(point.resolve().hops["wired"].queue.limit) == units.data_bytes(
        f"3 {unit}"
    )


@pytest.mark.parametrize(
    ("written", "code"),
    [
        ("fast", "wrong-type"),
        ("45 furlongs", "wrong-unit"),
        *((value, "wrong-type") for value in ("", None, True, [])),
    ],
)
def test_what_is_no_quantity_is_refused(written: object, code: str) -> None:
    with refused(code, ""):
        units.parse(written)


def test_windows_are_whole_packets() -> None:
    assert units.window_packets("20 packets", 1000) == 20
    assert units.window_packets("2999 bytes", 1000) == 2
    assert units.window_packets("unlimited", 1000) == float("inf")


EXAMPLES = sorted((Path(__file__).resolve().parent.parent / "examples").glob("*.toml"))


@pytest.fixture(scope="module")
def validator() -> Draft202012Validator:
    """Returns a validator for the schema, which editors read."""
    described = schema()
    Draft202012Validator.check_schema(described)
    return Draft202012Validator(described)


@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_examples_are_as_the_schema_says_with_and_without_defaults(
    example: Path, validator: Draft202012Validator
) -> None:
    scenario = load(example)
    validator.validate(scenario.tree)
    for point in scenario.expand():
        validator.validate(point.scenario.tree)
        validator.validate(point.scenario.resolve().tree)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("dealy", "1 ms"),
        ("hops.0.dealy", "1 ms"),
        ("hops.0.link.kind", "copper"),
        ("hops.0.link.rate", 45),
        ("flows.0.transport.mms", "1000 bytes"),
        ("flows.0.count", 0),
        ("replicates", 0),
        ("schema", 2),
    ],
)
def test_the_schema_refuses_what_the_engine_refuses(
    validator: Draft202012Validator, path: str, value: object
) -> None:
    tree = copy.deepcopy(load(EXAMPLES[0]).tree)
    *parents, name = path.split(".")
    table = tree
    for parent in parents:
        table = table[int(parent) if parent.isdigit() else parent]
    table[name] = value
    assert not validator.is_valid(tree)
    with pytest.raises(ScenarioError):
        Scenario(tree, EXAMPLES[0].parent).check()


DERIVED = """
schema = 1
duration = "100 RTT"
[values]
rate = "10 Mbit/s"
[[hops]]
name = "b"
link = { kind = "constant", rate = "rate" }
queue = { kind = "droptail", limit = "0.5 BDP" }
delay = "20 ms"
[[hops]]
name = "back"
link = { kind = "constant", rate = "rate" }
queue = { kind = "droptail", limit = "unlimited" }
delay = "20 ms"
[[flows]]
name = "f"
route = ["b"]
return = ["back"]
transport = { kind = "tcp", control = { kind = "reno" } }
"""


def test_derived_values_are_plain_in_the_resolved_scenario() -> None:
    scenario = Scenario.from_toml(DERIVED)
    assert scenario.duration == "100 RTT"
    resolved = scenario.resolve()
    assert resolved.duration == "4 s"
    assert resolved.hops["b"].queue.limit == "25000 bytes"
    assert "values" not in resolved.tree
    by_field = {
        derived["field"]: (derived["value"], derived["sources"]) for derived in scenario.derived()
    }
    bdp = ["BDP = 10 Mbit/s × 40 ms (flow f)"]
    assert by_field["hops.b.queue.limit"] == ("25000 bytes", bdp)
    assert resolved.derived() == []
    faster = scenario.replace({"values.rate": "20 Mbit/s"}).resolve()
    assert faster.hops["b"].queue.limit == "50000 bytes"


def test_a_mistake_in_an_expression_is_where_it_stands(tmp_path: Path) -> None:
    path = tmp_path / "lab.toml"
    path.write_text(DERIVED.replace('"0.5 BDP"', '"0.5 * BDPP"'))
    with pytest.raises(ScenarioError) as caught:
        load(path).check()
    assert caught.value.place == f"{path}:9:38"
    assert (caught.value.code, caught.value.field) == ("unknown-name", "hops.b.queue.limit")


def test_a_scenario_is_written_as_toml_and_as_json(tmp_path: Path, leaky_pipe: Scenario) -> None:
    for scenario in (Scenario.from_toml(DERIVED), leaky_pipe):
        assert Scenario.from_toml(scenario.to_toml()) == scenario
        # What it says decides, not what the file is called.
        (tmp_path / "lab.toml").write_text(scenario.to_json())
        (tmp_path / "lab.json").write_text(scenario.to_toml())
        assert load(tmp_path / "lab.toml") == load(tmp_path / "lab.json") == scenario
    resolved = Scenario.from_toml(DERIVED).resolve()
    assert Scenario.from_toml(resolved.to_toml()).resolve() == resolved


def test_the_schema_takes_expressions_and_refuses_misspelled_units() -> None:
    validator = Draft202012Validator(schema())

    def fits(limit: str) -> bool:
        tree = Scenario.from_toml(DERIVED).replace({"hops.b.queue.limit": limit}).tree
        return bool(validator.is_valid(tree))

    for limit in ("0.5 BDP", "2 RTT", "rate * 2 s", "(1 kB + 2 kB) / 2", "rate/4", "buffer",
                  "93 packets", "unlimited"):  # fmt: skip
        assert fits(limit), limit
    for limit in ("10 Mbps", "1 bdp", "45", "1 KB", ""):
        assert not fits(limit), limit
