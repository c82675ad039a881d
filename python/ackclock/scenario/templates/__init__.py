"""Templates of scenarios: files to begin with, which `ackclock new` copies.

A template is a TOML file of this folder. Its first line is a comment with its summary. Other files
that it names stand beside it. The examples of the repository are in the package, too: the folder
`examples` beside this one has a link to each that names no other file.
"""

import re
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


def names() -> list[str]:
    """Returns the names of all templates."""
    return _listed("templates")


def examples() -> list[str]:
    """Returns the names of all examples, such as `first` and `lab/saw-tooth`."""
    return [*_listed("examples"), *(f"lab/{name}" for name in _listed("examples/lab"))]


def template(name: str) -> Template:
    """Returns a template.

    Raises:
        InputError: There is none of that name.
    """
    if name not in names():
        raise InputError.unknown("", "template", name, names())
    text = _text("templates", f"{name}{_SUFFIX}")
    links = [hop["link"] for hop in Scenario.from_toml(text).tree["hops"]]
    named = [link["file"] for link in links if "file" in link]
    files = {file: _text("templates", file) for file in named}
    return Template(name, text.partition("\n")[0].removeprefix("# "), text, files)


def example(name: str) -> Template:
    """Returns an example; its summary is the first sentence of its file.

    Raises:
        InputError: There is none of that name.
    """
    if name not in examples():
        raise InputError.unknown("", "example", name, examples())
    text = _text("examples", f"{name}{_SUFFIX}")
    comment = text.partition("\n\n")[0].replace("\n# ", " ").removeprefix("# ")
    [summary] = re.findall(r"\A.*?[.?](?=\s|\Z)", comment)
    return Template(name.rpartition("/")[2], summary, text, {})


def _listed(folder: str) -> list[str]:
    files = [file.name for file in _place(folder).iterdir()]
    return sorted(name.removesuffix(_SUFFIX) for name in files if name.endswith(_SUFFIX))


def _text(folder: str, file: str) -> str:
    return (_place(folder) / file).read_text(encoding="utf-8")


def _place(folder: str) -> Traversable:
    return resources.files("ackclock.scenario") / folder
