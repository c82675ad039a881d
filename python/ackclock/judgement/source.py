"""Reads a candidate: a file, the text of a program, a name, or a table of parameters.

Reading runs no code of a candidate. A class in Python may use only what a control needs: a program
in the kernel has no clock, files or network either.
"""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from ackclock.errors import InputError
from ackclock.evaluation.candidate import Candidate, Role, only_class, parsed, table
from ackclock.judgement.worker import ALLOWED
from ackclock.limits import CONTROL_BYTES, read_file

_OWN: Final = "ackclock.controls"

# Functions that reach what a candidate is not given.
_REFUSED: Final = frozenset(
    {
        "__import__",
        "breakpoint",
        "compile",
        "delattr",
        "eval",
        "exec",
        "getattr",
        "globals",
        "locals",
        "memoryview",
        "open",
        "setattr",
        "vars",
    }
)

# Attributes of functions, frames and generators that lead out of a candidate.
_INNARDS: Final = re.compile(r"(gi|cr|ag|tb|f|co|func)_[a-z_]+")

# Special names that a class may define or call.
_SPECIAL: Final = re.compile(
    "__(init|post_init|slots|name|doc|len|iter|next|getitem|setitem|contains|call|repr|str|eq|lt|le"
    "|hash|bool|add|sub|mul|neg)__"
)

_INCLUDES: Final = re.compile(
    r"^\s*(?:#|%:|\?\?=)\s*(include|embed|include_next|import)\b(.*)$", re.M
)
_INLINE: Final = re.compile(r"\b(asm|__asm|__asm__)\b")
_HEADERS: Final = (
    '"ackclock.bpf.h"',
    "<linux/types.h>",
    "<stdbool.h>",
    "<stddef.h>",
    "<stdint.h>",
)


# Most refusals that are told of.
_SHOWN: Final = 3


class Language(StrEnum):
    """The language of a candidate."""

    PARAMETERS = "parameters"
    """A control of the engine, with parameters."""
    PYTHON = "Python"
    """A class."""
    C = "C"
    """A program for the kernel, in C or compiled."""


@dataclass(frozen=True)
class Source:
    """A candidate.

    Attributes:
        candidate: It, for scenarios. Its file is looked up in a folder of the judgement.
        language: Its language.
        files: Its file, by name; none for parameters.
        refusals: Why it is not run: a flag, and its evidence.
    """

    candidate: Candidate
    language: Language
    files: Mapping[str, bytes] = field(default_factory=dict)
    refusals: tuple[tuple[str, str], ...] = ()

    @property
    def name(self) -> str:
        """Its name for people."""
        tree = self.candidate.tree
        if "file" not in tree:
            given = ", ".join(f"{key} = {value}" for key, value in self.candidate.parameters.items()
                              if key in self._given)  # fmt: skip
            return f"{self.candidate.kind} ({given})" if given else self.candidate.kind
        name = f"{tree['file']}"
        return f"{name}:{tree['class']}" if "class" in tree else name

    def is_shipped(self, name: str) -> bool:
        """Returns true if it is a shipped control as it comes."""
        return self.candidate.kind == name and not self.files and not self._given

    @property
    def _given(self) -> frozenset[str]:
        """The parameters that differ from those of its kind."""
        usual = Candidate.read(self.candidate.kind).tree
        own = self.candidate.tree
        return frozenset(name for name in own if own[name] != usual.get(name))


def read(text: str) -> Source:
    """Reads a candidate.

    Args:
        text: `mine.bpf.c`, `mine.bpf.o`, `mine.py`, `mine.py:Class`, a name as `cubic`, a table in
            TOML, or the text of a program in Python or C.

    Raises:
        InputError: There is no such file or control, or the text is not a program.
    """
    if "\n" in text.strip():
        return _of_text(text)
    text = text.strip()
    file = text.partition(":")[0]
    if file.endswith(".py"):
        return _of_python_file(Path(file), text.partition(":")[2])
    try:
        tree = table(text)
        candidate = None if "file" in tree else Candidate.read(text)
    except InputError as error:
        place = error.field.removeprefix("CONTROL")
        raise error.for_field(f"CANDIDATE{place}") from None
    if candidate is not None:
        if candidate.role is not Role.CONTROL:
            words = "is not a congestion control of TCP, which is judged; use ackclock evaluate"
            raise InputError("unsupported", "CANDIDATE", words, text)
        if candidate.kind == "kernel":
            raise InputError(
                "unsupported", "CANDIDATE", "only a kernel has it; use ackclock emulate", text
            )
        return Source(candidate, Language.PARAMETERS)
    path = Path(str(tree["file"]))
    if tree["kind"] not in ("kernel", "python"):
        words = f"{tree['kind']} is not a control of its own; for example mine.py or mine.bpf.c"
        raise InputError("unsupported", "CANDIDATE", words, text)
    if path.suffix == ".py":
        return _of_python_file(path, str(tree.get("class", "")), tree)
    return _of_file({**tree, "file": path.name}, _content(path))


def _content(path: Path) -> bytes:
    try:
        return read_file(path, CONTROL_BYTES)
    except FileNotFoundError:
        raise InputError("file", f"{path}", "no such file") from None
    except OSError as error:
        raise InputError("file", f"{path}", f"{error.strerror}") from None


def _of_python_file(path: Path, name: str, tree: Mapping[str, Any] | None = None) -> Source:
    return _of_python_text(_content(path), path.name, name, tree or {})


def _of_python_text(content: bytes, file: str, name: str, more: Mapping[str, Any]) -> Source:
    """Reads a class in Python; one that is not Python is a candidate that fails."""
    tree = {"kind": "python", **more, "file": file, "class": name}
    try:
        tree["class"] = name or only_class(content, file)
    except InputError as error:
        tree["class"] = name or "unknown"
        words = str(error).removeprefix(": ")
        return Source(
            Candidate("python", tree), Language.PYTHON, {file: content}, (("fails", words),)
        )
    return _of_file(tree, content)


def _of_text(text: str) -> Source:
    """Reads the text of a program, in whichever language it is."""
    content = text.encode()
    if re.search(r"^\s*#\s*include|ACKCLOCK_CONTROL|\bSEC\(", text, re.M):
        return _of_file({"kind": "kernel", "file": "candidate.bpf.c"}, content)
    return _of_python_text(content, "candidate.py", "", {})


def _of_file(tree: dict[str, Any], content: bytes) -> Source:
    candidate, name = Candidate(tree["kind"], tree), str(tree["file"])
    text = content.decode(errors="replace")
    if tree["kind"] == "python":
        language, asked = Language.PYTHON, list(_of_python(content, name))
    else:
        language, asked = Language.C, [] if name.endswith(".o") else list(_of_c(text, name))
    refusals = (("unavailable", "; ".join(asked[:_SHOWN])),) if asked else ()
    return Source(candidate, language, {name: content}, refusals)


def _of_python(text: bytes, name: str) -> Iterator[str]:
    """Yields what a class in Python asks for and cannot have, with its line."""
    for node in ast.walk(parsed(text, name)):
        for words in _refused(node):
            yield f"{name}:{getattr(node, 'lineno', 0)}: {words}"


def _refused(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Import():
            for module in node.names:
                if module.name != "math":
                    yield f"imports {module.name}; {_modules(module.name)}"
        case ast.ImportFrom():
            yield from _refused_names(node.module or "", [each.name for each in node.names])
        case ast.Name(id=name) if name in _REFUSED or _is_special(name):
            yield f"uses {name}, which a candidate may not"
        case ast.Attribute(attr=name) if _is_inner(name):
            yield f"uses the attribute {name}, which a candidate may not"
        case ast.MatchClass(kwd_attrs=names):
            for name in filter(_is_inner, names):
                yield f"uses the attribute {name}, which a candidate may not"


def _is_inner(name: str) -> bool:
    """Returns true for an attribute that leads out of a candidate."""
    return _is_special(name) or _INNARDS.fullmatch(name) is not None


def _is_special(name: str) -> bool:
    return name.startswith("__") and not _SPECIAL.fullmatch(name)


def _refused_names(module: str, names: Sequence[str]) -> Iterator[str]:
    """Yields what a candidate may not import from a module."""
    if module not in (*ALLOWED, _OWN):
        yield f"imports {module}; {_modules(module)}"
        return
    allowed = "Control" if module == _OWN else ALLOWED[module]
    for name in names:
        if name not in allowed.split():
            yield f"imports {name} of {module}; there it may import {', '.join(allowed.split())}"


def _modules(name: str) -> str:
    if name in ("time", "datetime"):
        return "a control has no clock but call.now_ns, and may not sleep"
    return "a candidate may import math, and names from " + ", ".join(
        each for each in ALLOWED if not each.startswith("_")
    )


def _of_c(text: str, name: str) -> Iterator[str]:
    """Yields what a program in C asks for and cannot have, with its line."""
    for match in _INCLUDES.finditer(text.replace("\\\n", " ")):
        if match[1] != "include" or match[2].split("//")[0].split("/*")[0].strip() not in _HEADERS:
            yield f"{name}: includes{match[2].rstrip()}; a candidate may include ackclock.bpf.h"
    for match in _INLINE.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        yield f"{name}:{line}: uses {match[1]}, which a candidate may not"
