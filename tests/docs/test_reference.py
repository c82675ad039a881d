"""The reference pages match the engine's registries, and the checked-in ones are current."""

import json
import tomllib
from pathlib import Path

import pytest

import reference
from ackclock import plot
from ackclock.registry import kinds, registry, schema
from reference_pages.kinds import KINDS
from reference_pages.schemas import anchor

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
REGISTERED = {
    "kinds": [{"name": kind, "facts": FACTS if kind == "queues" else {}} for kind in KINDS],
    **{kind: [] for kind in KINDS},
    "queues": [QUEUE],
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
        "transport": {
            "oneOf": [
                {
                    "properties": {
                        "kind": {"const": "tcp"},
                        "mss": {"type": "string", "description": "Payload."},
                        "delayed_ack": {"$ref": "#/$defs/DelayedAck"},
                    },
                    "required": ["kind"],
                },
                {"properties": {"kind": {"const": "udp"}}},
            ]
        },
    },
    "required": ["queue"],
    "$defs": {
        "DelayedAck": {
            "type": "object",
            "description": "When.",
            "properties": {"every": {"type": "integer", "description": "How many."}},
        }
    },
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
        '### `{ kind = "normal", … }`',
        "| `mean` | number | required |  |",
        '| <a id="share"></a>Share | A share. | whole number from 0 or [Limit](#limit) |',
        "Reference: RFC 0.",
    ):
        assert line in page.splitlines()


def test_known_facts_of_an_element_are_shown_and_all_of_its_kind_explained(
    made_up: dict[str, str],
) -> None:
    element, _, kind = made_up["docs/reference/queues.md"].partition("## Facts")
    assert "| `marks` | `false` |" in element.splitlines()
    assert "| `drops` |" not in element, "it is not known"
    assert "| `marks` | `true`, `false` | Whether it marks. |" in kind.splitlines()
    assert '| `drops` | [Law](#law): `"head"`, `"tail"` | Which ones. |' in kind.splitlines()
    assert "## Facts" not in made_up["docs/reference/sizes.md"]


def test_an_empty_registry_has_a_page(made_up: dict[str, str]) -> None:
    assert "There is none yet." in made_up["docs/reference/links.md"]


def test_presets_stand_side_by_side_and_differences_stand_out(made_up: dict[str, str]) -> None:
    lines = made_up["docs/reference/presets.md"].splitlines()
    assert '| `mss` | **`"1000 bytes"`** | **`"1448 bytes"`** | Payload. |' in lines
    assert "| `delayed_ack.every` | `1` | `1` | How many. |" in lines


def test_the_columns_of_results_are_described(made_up: dict[str, str]) -> None:
    lines = made_up["docs/reference/results.md"].splitlines()
    assert "A row is a flow." in lines
    assert "| `rtt_s` | Round trip. |" in lines


def test_the_scenario_page_leads_to_the_others(made_up: dict[str, str]) -> None:
    lines = made_up["docs/reference/scenario.md"].splitlines()
    assert "| `queue` | a [queue](queues.md) | required |  |" in lines
    assert "| `mss` | text | [preset](presets.md) | Payload. |" in lines
    assert "## `DelayedAck`" in lines


def test_files_that_are_missing_or_old_are_named_with_the_remedy(
    tmp_path: Path, made_up: dict[str, str]
) -> None:
    texts = {name: made_up[name] for name in list(made_up)[:3]}
    first, second, third = texts
    for name in (first, second):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(texts[name], encoding="utf-8")
    (tmp_path / second).write_text("old", encoding="utf-8")
    lines = reference.differences(tmp_path, texts)
    assert [line.partition(":")[0] for line in lines] == [second, third]
    assert all("make docs-write" in line for line in lines)


def test_what_is_written_is_current(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "pyproject.toml").touch()
    assert reference.main(["--check", "--root", str(tmp_path)]) == 1
    assert "docs/reference/queues.md: is missing" in capsys.readouterr().err
    assert reference.main(["--write", "--root", str(tmp_path)]) == 0
    assert reference.main(["--check", "--root", str(tmp_path)]) == 0
    assert capsys.readouterr() == ("", "")


def test_a_folder_that_is_not_the_repository_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as stop:
        reference.main(["--write", "--root", str(tmp_path)])
    assert stop.value.code == 2
    assert not any(tmp_path.iterdir())


def test_the_pages_that_are_checked_in_are_current() -> None:
    assert reference.differences(ROOT, reference.pages(registry(), schema())) == []


def test_links_lead_somewhere() -> None:
    texts = reference.pages(registry(), schema())
    for name, text in texts.items():
        if not name.endswith(".md"):
            continue
        headings = [
            line.lstrip("# ").strip("`") for line in text.splitlines() if line.startswith("#")
        ]
        anchors = {anchor(heading) for heading in headings}
        anchors |= {part.partition('"')[0] for part in text.split('<a id="')[1:]}
        targets = {part.partition(")")[0] for part in text.split("](")[1:]}
        for target in targets:
            page, _, place = target.partition("#")
            assert not page or f"docs/reference/{page}" in texts, f"{name}: {target}"
            assert not place or place in anchors, f"{name}: {target}"


def test_examples_are_toml_and_the_schema_is_json() -> None:
    for name, text in reference.pages(registry(), schema()).items():
        if name.endswith(".json"):
            assert json.loads(text) == schema()
        for example in text.split("```toml\n")[1:]:
            parsed = tomllib.loads(example.partition("```")[0])
            assert parsed, name
