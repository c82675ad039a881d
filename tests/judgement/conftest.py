"""A small field: the paths of `wan`, fewer of them."""

import tomllib
from importlib import resources
from pathlib import Path

import pytest

from ackclock import engine

#: Categories, hidden paths of each, and lives of the contract.
CATEGORIES, POINTS, LIVES = ("alone", "cubic", "itself", "files"), 5, 20


#: The controls beside which candidates are judged.
REFERENCES = ("cubic", "reno", "dctcp", "vegas", "bbr3", "ledbat")


@pytest.fixture(name="field", scope="session")
def _field(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A file with a field that is judged in a moment."""
    text = (resources.files("ackclock.judgement") / "fields/wan.toml").read_text("utf-8")
    tree = tomllib.loads(text)
    tree["references"] = list(REFERENCES)
    tree["category"] = [
        {**each, "points": POINTS, "shown": min(each.get("shown", 0), 4)}
        for each in tree["category"]
        if each["name"] in CATEGORIES
    ]
    for probe in tree["probe"]:
        if probe["name"] == "contract":
            probe["shown"] = LIVES
            probe["replicates"] = 4
    file: Path = tmp_path_factory.mktemp("field") / "small.toml"
    file.write_text(engine.to_toml(tree), "utf-8")
    return str(file)
