"""The reference pages say what the engine's registries say."""

import json
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

import reference
from ackclock import plot, plugins
from ackclock.elements.registry import kinds, registry, schema
from ackclock.reproduction import catalogue
from ackclock_papers import EXPERIMENTS
from reference_pages import experiments
from reference_pages.kinds import KINDS
from reference_pages.schemas import anchor, assignment

ROOT = Path(__file__).parents[2]

LIMIT = {"type": "string", "description": "A limit.", "examples": ["93 packets"]}
LAW = {
    "description": "What decides.",
    "oneOf": [
        {"const": "head", "description": "The first."},
        {"const": "tail", "description": "The | last."},
    ],
}
SPREAD = {
    "description": "How it is spread.",
    "oneOf": [
        {"properties": {"kind": {"const": "even"}}, "description": "Evenly."},
        {
            "properties": {"kind": {"const": "normal"}, "mean": {"type": "number"}},
            "required": ["kind", "mean"],
        },
    ],
}
SHARE = {
    "description": "A share.",
    "anyOf": [{"type": "integer", "minimum": 0}, {"$ref": "#/$defs/Limit"}],
}
QUEUE = {
    "name": "two_ended",
    "label": "two-ended",
    "summary": "Drops at one end.",
    "reference": "RFC 0",
    "parameters": {
        "type": "object",
        "description": "Parameters. More of it.",
        "properties": {
            "limit": {"$ref": "#/$defs/Limit", "description": "The most\nthat waits."},
            "law": {"$ref": "#/$defs/Law", "description": "Which end.", "default": "tail"},
            "weights": {
                "type": ["array", "null"],
                "items": {"type": "number", "minimum": 0},
                "default": None,
            },
            "spread": {"$ref": "#/$defs/Spread"},
            "share": {"$ref": "#/$defs/Share"},
        },
        "required": ["limit"],
        "$defs": {"Limit": LIMIT, "Law": LAW, "Spread": SPREAD, "Share": SHARE},
    },
    "facts": {"marks": False, "drops": None},
}
SPREAD_FIELDS = {
    "wide": {"type": "boolean", "description": "True if it is wide.", "default": False},
    "long": {"type": "integer", "minimum": 0, "description": "One. Two. Three."},
}
LINK = {
    "label": "a link",
    "summary": "Sends.",
    "reference": "RFC 0",
    "parameters": {"type": "object", "properties": SPREAD_FIELDS},
    "facts": {"rates": ["a long value"] * 9},
}
LINKS = [{**LINK, "name": "first"}, {**LINK, "name": "second"}]
USER = {
    **LINK,
    "name": "user",
    "parameters": {
        "type": "object",
        "properties": {
            "link": {
                "$ref": "#/$defs/Either",
                "description": "Which link.",
                "default": {"kind": "first", "wide": False, "long": None},
            }
        },
        "$defs": {
            "Either": {
                "oneOf": [
                    {"properties": {"kind": {"const": name}, **SPREAD_FIELDS}}
                    for name in ("first", "second")
                ]
            }
        },
    },
}
FACTS = {
    "properties": {
        "marks": {"type": ["boolean", "null"], "description": "Whether it marks."},
        "drops": {
            "anyOf": [{"$ref": "#/$defs/Law"}, {"type": "null"}],
            "description": "Which ones.",
        },
    },
    "$defs": {"Law": LAW},
}
TCP = {
    **LINK,
    "name": "tcp",
    "parameters": {
        "type": "object",
        "properties": {
            "preset": {"type": "string", "default": "new", "description": "Which preset."},
            "mss": {"type": "string", "description": "Payload."},
            "delayed_ack": {"$ref": "#/$defs/DelayedAck"},
        },
        "$defs": {
            "DelayedAck": {
                "type": "object",
                "description": "When.",
                "properties": {"every": {"type": "integer", "description": "How many."}},
            }
        },
    },
}
REGISTERED = {
    "kinds": [{"name": kind, "facts": FACTS if kind == "queues" else {}} for kind in KINDS],
    **{kind: [] for kind in KINDS},
    "transports": [TCP],
    "queues": [QUEUE],
    "traffic": LINKS,
    "sizes": [USER],
    "tables": [
        {
            "name": "flows",
            "summary": "A row is a flow.",
            "columns": [{"name": "rtt_s", "summary": "Round trip."}],
        }
    ],
    "presets": {
        "old": {"mss": "1000 bytes", "delayed_ack": {"every": 1}},
        "new": {"mss": "1448 bytes", "delayed_ack": {"every": 1}},
    },
}
DESCRIBED = {
    "type": "object",
    "properties": {
        "queue": {"oneOf": [{"type": "object", "properties": {"kind": {"const": "two_ended"}}}]},
    },
    "required": ["queue"],
}


@pytest.fixture(scope="module")
def made_up() -> dict[str, str]:
    return reference.pages(REGISTERED, DESCRIBED)


def test_every_kind_of_element_has_words() -> None:
    assert set(KINDS) == set(kinds())


def test_every_figure_stands_on_its_page(made_up: dict[str, str]) -> None:
    lines = made_up["docs/reference/figures.md"].splitlines()
    assert all(any(line.startswith(f"| `{name}` | ") for line in lines) for name in plot.names())
    assert any(line.startswith("| `bursts` | send | — | ") for line in lines)


def test_an_element_is_described_in_full(made_up: dict[str, str]) -> None:
    page = made_up["docs/reference/queues.md"]
    for line in (
        "| [`two_ended`](#two_ended) | Drops at one end. |",
        "More of it.",
        'queue = { kind = "two_ended", limit = "93 packets" }',
        "| `limit` | [Limit](#limit) | required | The most that waits. |",
        '| `law` | [Law](#law): `"head"`, `"tail"` | `"tail"` | Which end. |',
        "| `weights` | list of number from 0 | — |  |",
        '| `"tail"` | The \\| last. |',
        '| <a id="limit"></a>Limit | A limit. | `"93 packets"` |',
        '#### `{ kind = "normal", … }`',
        "| `mean` | number | required |",
        '| <a id="share"></a>Share | A share. | whole number from 0 or [Limit](#limit) |',
        "Reference: [RFC 0](https://www.rfc-editor.org/rfc/rfc0).",
    ):
        assert line in page.splitlines()


def test_known_facts_of_an_element_are_shown_and_all_of_its_kind_explained(
    made_up: dict[str, str],
) -> None:
    element, _, kind = made_up["docs/reference/queues.md"].partition("## Facts")
    assert "marks = false" in element.splitlines()
    assert "drops = " not in element, "it is not known"
    assert "| `marks` | `true`, `false` | Whether it marks. |" in kind.splitlines()
    assert '| `drops` | [Law](#law): `"head"`, `"tail"` | Which ones. |' in kind.splitlines()
    assert "## Facts" not in made_up["docs/reference/sizes.md"]


def test_what_elements_share_is_said_once(made_up: dict[str, str]) -> None:
    lines = made_up["docs/reference/traffic.md"].splitlines()
    assert lines.count("| `wide` | `true`, `false` | `false` | True if it is wide. |") == 1
    assert "It has the [shared parameters](#shared-parameters) `wide` and `long`." in lines
    assert "- [Shared parameters](#shared-parameters)" in lines
    assert "[Facts](#facts) with the defaults: those of [`first`](#first)." in lines


def test_a_parameter_that_takes_an_element_links_to_it(made_up: dict[str, str]) -> None:
    lines = made_up["docs/reference/sizes.md"].splitlines()
    written = "[`first`](traffic.md#first) or [`second`](traffic.md#second)"
    assert f'| `link` | {written} | `{{ kind = "first" }}` | Which link. |' in lines


def test_a_long_cell_continues_below_its_table(made_up: dict[str, str]) -> None:
    lines = made_up["docs/reference/traffic.md"].splitlines()
    assert "| `long` | whole number from 0 | — | One. Two. |" in lines
    assert "- `long`: Three." in lines


def test_an_empty_column_is_left_out(made_up: dict[str, str]) -> None:
    lines = made_up["docs/reference/scenario.md"].splitlines()
    assert "| `queue` | a [queue](queues.md) | required |" in lines


def test_a_long_assignment_has_several_lines(made_up: dict[str, str]) -> None:
    lines = made_up["docs/reference/traffic.md"].splitlines()
    assert lines.count('  "a long value",') == 9
    value = {"kind": "a", "text": "b" * 90}
    assert assignment("queue = {}", value).splitlines()[0] == 'queue.kind = "a"'
    assert tomllib.loads(assignment("queues = [{}]", value)) == {"queues": [value]}


def test_an_empty_registry_has_a_page(made_up: dict[str, str]) -> None:
    assert "There are none yet." in made_up["docs/reference/links.md"]


def test_presets_stand_side_by_side_and_differences_stand_out(made_up: dict[str, str]) -> None:
    lines = made_up["docs/reference/presets.md"].splitlines()
    assert '| `mss` | **`"1000 bytes"`** | **`"1448 bytes"`** |' in lines
    assert "| `delayed_ack.every` | `1` | `1` |" in lines


def test_the_columns_of_results_are_described(made_up: dict[str, str]) -> None:
    lines = made_up["docs/reference/results.md"].splitlines()
    assert "A row is a flow." in lines
    assert "| `rtt_s` | Round trip. |" in lines


def test_the_scenario_page_leads_to_the_others(made_up: dict[str, str]) -> None:
    lines = made_up["docs/reference/scenario.md"].splitlines()
    assert "| `queue` | a [queue](queues.md) | required |" in lines


def test_a_parameter_without_a_default_has_that_of_the_preset(made_up: dict[str, str]) -> None:
    lines = made_up["docs/reference/transports.md"].splitlines()
    assert "| `mss` | text | preset | Payload. |" in lines
    assert '| `preset` | text | `"new"` | Which preset. |' in lines
    assert "### `DelayedAck`" in lines


def test_the_page_of_experiments_has_none_of_other_packages(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    other = replace(EXPERIMENTS[0], name="other-table-1", group="other")
    announced = [plugins.Announced("other", other)]
    catalogue.experiments.cache_clear()
    try:
        monkeypatch.setattr(catalogue, "announced", lambda *_group: announced)
        assert catalogue.experiments()[0].name == "other-table-1"
        page = experiments.text(registry(), schema())
    finally:
        catalogue.experiments.cache_clear()
    assert "other-table-1" not in page
    assert EXPERIMENTS[0].name in page


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["traffic", "impairments"])
def test_the_index_names_every_element_of_a_kind_without_a_sentence(kind: str) -> None:
    index = reference.pages(registry(), schema())["docs/reference/README.md"]
    [line] = [line for line in index.splitlines() if f"({kind}.md)" in line]
    assert [element["label"] for element in registry()[kind] if element["label"] not in line] == []


def anchors_of(text: str) -> set[str]:
    """Returns the anchors on a page."""
    headings = [line.lstrip("# ").strip("`") for line in text.splitlines() if line.startswith("#")]
    return {*map(anchor, headings), *(part.split('"')[0] for part in text.split('<a id="')[1:])}


def test_links_lead_somewhere() -> None:
    texts = reference.pages(registry(), schema())
    anchors = {name: anchors_of(text) for name, text in texts.items()}
    for name, text in texts.items():
        if not name.endswith(".md"):
            continue
        targets = {part.partition(")")[0] for part in text.split("](")[1:]}
        for target in targets:
            page, _, place = target.partition("#")
            if page.startswith("https://"):
                continue
            if page.startswith("../"):
                assert (ROOT / name).parent.joinpath(page).is_file(), f"{name}: {target}"
                continue
            places = anchors[f"docs/reference/{page}" if page else name]
            assert not place or place in places, f"{name}: {target}"


def test_examples_are_toml_and_the_schema_is_json() -> None:
    for name, text in reference.pages(registry(), schema()).items():
        if name.endswith(".json"):
            assert json.loads(text) == schema()
        for example in text.split("```toml\n")[1:]:
            parsed = tomllib.loads(example.partition("```")[0])
            assert parsed, name
