"""What is built and tested with is fixed, audited, and without known vulnerabilities."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
CONSTRAINTS = ROOT / ".ci/constraints.txt"

#: The last versions with a known vulnerability, and its number.
VULNERABLE = {
    "jinja2": ("3.1.5", "CVE-2025-27516"),
    "pyarrow": ("23.0.0", "CVE-2026-25087"),
    "distributed": ("2026.1.0", "CVE-2026-23528"),
}


def requirements() -> list[Requirement]:
    """All requirements of both distributions, the optional ones too."""
    listed = []
    for file in (ROOT / "pyproject.toml", ROOT / "papers/pyproject.toml"):
        project = tomllib.loads(file.read_text(encoding="utf-8"))["project"]
        optional = project.get("optional-dependencies", {}).values()
        listed += [Requirement(text) for text in sum(optional, project["dependencies"])]
    return listed


@pytest.mark.parametrize("name", VULNERABLE)
def test_no_requirement_admits_a_version_with_a_known_vulnerability(name: str) -> None:
    version, number = VULNERABLE[name]
    own = [requirement for requirement in requirements() if requirement.name == name]
    assert own
    assert not any(version in requirement.specifier for requirement in own), number


def test_actions_and_tools_of_ci_are_fixed() -> None:
    assert WORKFLOWS
    for file in WORKFLOWS:
        text = file.read_text(encoding="utf-8")
        actions = re.findall(r"uses: *(\S+)", text)
        assert actions
        assert all(re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", action) for action in actions), file
        for line in re.findall(r"cargo install .*", text):
            assert re.search(r"[\w-]+@\d+\.\d+\.\d+", line), line
        for line in re.findall(r"pip install pip-audit.*", text):
            assert "==" in line
    for image in re.findall(r"^FROM (\S+)", (ROOT / "Containerfile").read_text(), re.M):
        assert re.search(r":\d+\.\d+\.\d+-", image), image


def test_every_lock_is_audited() -> None:
    locks = {
        path.relative_to(ROOT).as_posix()
        for pattern in ("Cargo.lock", "*/Cargo.lock", "crates/*/Cargo.lock")
        for path in ROOT.glob(pattern)
        if path.parts[len(ROOT.parts)] not in ("target", "out", ".venv")
    }
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    [listed] = re.findall(r"^LOCKS := (.*)$", makefile, re.M)
    assert set(listed.split()) == locks
    assert "make audit" in (ROOT / ".ci/run").read_text(encoding="utf-8")
    assert any("make audit" in file.read_text(encoding="utf-8") for file in WORKFLOWS)


def test_every_requirement_has_a_version_for_ci() -> None:
    lines = [line for line in CONSTRAINTS.read_text().splitlines() if not line.startswith("#")]
    fixed = dict(line.lower().replace("_", "-").split("==") for line in lines)
    for requirement in requirements():
        name = requirement.name.lower().replace("_", "-")
        own = name.startswith(("ackclock", "zensical", "mkdocstrings"))
        if not own and requirement.marker is None:
            assert fixed[name] in requirement.specifier, name
