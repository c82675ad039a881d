"""Templates of scenarios: files to begin with, which `ackclock new` copies.

A template is a TOML file of this folder. Its first line is a comment with its summary. Other files
that it names stand beside it.
"""

from importlib import resources
from importlib.resources.abc import Traversable
from typing import NamedTuple

from ackclock.errors import InputError
from ackclock.scenario import Scenario

_SUFFIX = ".toml"


class Template(NamedTuple):
    """A template.

    Attributes:
        name: Its name.
        summary: What it describes, in a sentence.
        text: The text of the scenario file.
        files: The text of each file that the scenario names.
    """

    name: str
    summary: str
    text: str
    files: dict[str, str]


def _folder() -> Traversable:
    return resources.files(__name__)


def names() -> list[str]:
    """Returns the names of all templates."""
    files = [file.name for file in _folder().iterdir()]
    return sorted(name.removesuffix(_SUFFIX) for name in files if name.endswith(_SUFFIX))


def template(name: str) -> Template:
    """Returns a template.

    Raises:
        InputError: There is none of that name.
    """
    if name not in names():
        raise InputError.unknown("", "template", name, names())
    text = (_folder() / f"{name}{_SUFFIX}").read_text(encoding="utf-8")
    links = [hop["link"] for hop in Scenario.from_toml(text).tree["hops"]]
    named = [link["file"] for link in links if "file" in link]
    files = {file: (_folder() / file).read_text(encoding="utf-8") for file in named}
    return Template(name, text.partition("\n")[0].removeprefix("# "), text, files)
