"""Writes the reference pages and the scenario's JSON schema from the registries.

`python tools/reference.py --check` names the files that are out of date (exit code 1 if any);
`--write` writes them.
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from ackclock.elements.registry import registry, schema
from reference_pages import INDEX, PAGES, elements
from reference_pages.page import MARK, REPAIR
from reference_pages.schemas import Json

__all__ = ["differences", "main", "pages"]


def pages(registered: Json, described: Json) -> dict[str, str]:
    """Returns all generated files.

    Args:
        registered: Registry of the engine, as from `ackclock.elements.registry.registry`.
        described: JSON schema of a scenario.

    Returns:
        Texts by their path within the repository.
    """
    kinds = [kind["name"] for kind in registered["kinds"]]
    texts = {f"docs/reference/{kind}.md": elements.text(kind, registered) for kind in kinds}
    texts |= {
        f"docs/reference/{name}.md": text(registered, described) for name, text in PAGES.items()
    }
    texts["docs/reference/README.md"] = _index(texts, registered)
    texts["schema/scenario.schema.json"] = (
        json.dumps(described, indent=2, ensure_ascii=False) + "\n"
    )
    return texts


def differences(root: Path, texts: Mapping[str, str]) -> list[str]:
    """Returns one line for each file below `root` that is missing or has another text."""
    lines = []
    for name, text in texts.items():
        file = root / name
        if not file.is_file():
            lines.append(f"{name}: is missing; run `{REPAIR}` and commit what it writes")
        elif file.read_text(encoding="utf-8") != text:
            lines.append(f"{name}: is out of date; run `{REPAIR}` and commit what it writes")
    return lines


def main(arguments: Sequence[str] | None = None) -> int:
    """Checks or writes the files; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python tools/reference.py",
        description=(
            "Check or write docs/reference/ and schema/, which are generated from the engine's "
            "registries."
        ),
        epilog="example: python tools/reference.py --check",
    )
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument(
        "--check",
        action="store_true",
        help="name the files that are out of date; exit code 1 if any",
    )
    what.add_argument("--write", action="store_true", help="write the files")
    parser.add_argument(
        "--root", type=Path, default=Path(), help="repository (default: the current folder)"
    )
    options = parser.parse_args(arguments)
    if not (options.root / "pyproject.toml").is_file():
        parser.error(
            f'--root: "{options.root}" has no pyproject.toml; give the folder of the repository'
        )
    texts = pages(registry(), schema())
    if options.check:
        lines = differences(options.root, texts)
        print(*lines, sep="\n", end="\n" if lines else "", file=sys.stderr)
        return 1 if lines else 0
    for name, text in texts.items():
        file = options.root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return 0


def _index(texts: Mapping[str, str], registered: Json) -> str:
    """Returns a page with links to all others, by group."""
    pages = {Path(name).stem: text for name, text in texts.items() if name.endswith(".md")}
    titles = {name: text.partition("\n# ")[2].partition("\n")[0] for name, text in pages.items()}
    labels = {
        kind["name"]: ", ".join(one["label"] for one in registered[kind["name"]])
        for kind in registered["kinds"]
    }
    parts = [
        MARK,
        "# Reference",
        "Every field, parameter and column, generated from the code that uses it. To learn how to "
        "do something, read the [guides](../guides/README.md).",
    ]
    for group, lines in INDEX.items():
        listed = [
            f"- [{titles.pop(name)}]({name}.md): {line.format(labels=labels.get(name))}"
            for name, line in lines.items()
            if name in titles
        ]
        parts += [f"## {group}", "\n".join(listed)]
    if titles:
        raise ValueError(f"reference_pages.INDEX: add {', '.join(titles)}")
    parts.append(
        "Not generated: the [Python API](../api.md) and the [wire format](../wire-format.md) of "
        "`ackclock send`. For editors and other programs there is a JSON schema of a scenario, "
        "`schema/scenario.schema.json`."
    )
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    sys.exit(main())
