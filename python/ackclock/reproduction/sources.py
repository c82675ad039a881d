"""Digests of experiments' own code, for conclusions that tests do not draw from full runs.

What the code uses of other packages counts by the numbers it gives: see `digest.outcome_digest`.
"""

import ast
import hashlib
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from ackclock.reproduction.digest import LENGTH
from ackclock.reproduction.experiment import Experiment

#: A longer string is prose.
_WORDS_OF_A_NAME = 4
#: Fields that repeat what the rest of the tree says, and the module that a name is imported from.
_IGNORED = frozenset({"ctx", "kind", "type_comment", "module", "level"})


def own_code(experiment: Experiment) -> str:
    """Returns the digest of an experiment's module and of what that imports from its package."""
    module = getattr(experiment.conclude, "func", experiment.conclude).__module__
    texts = (path.read_text(encoding="utf-8") for path in _imported(module))
    return hashlib.sha256("\n".join(sorted(map(code, texts))).encode()).hexdigest()[:LENGTH]


@cache
def code(text: str) -> str:
    """Returns the syntax tree of a module as text, without docstrings, prose and layout.

    Prose is any string of more than four words: a summary or a claim, from which nothing follows.
    An exception counts as raised, whatever it says. An import counts by its names, so that modules
    can move.
    `ast.dump` gives other texts in other versions of Python; this function does not.
    """
    return _written(ast.parse(text))


def _written(part: object) -> str:
    """Returns a part of a syntax tree as text.

    Empty fields are left out, as new versions of Python add some.
    """
    if isinstance(part, list):
        return ",".join(_written(element) for element in part if not _is_docstring(element))
    if not isinstance(part, ast.AST):
        return repr(part)
    if isinstance(part, ast.Raise):
        return "Raise"
    if isinstance(part, ast.Constant | ast.JoinedStr) and _is_prose(part):
        return _written([node for node in ast.walk(part) if isinstance(node, ast.FormattedValue)])
    fields = ((name, value) for name, value in ast.iter_fields(part) if name not in _IGNORED)
    named = (
        f"{name}={_written(value)}" for name, value in fields if value is not None and value != []
    )
    return f"{type(part).__name__}({','.join(named)})"


def _is_prose(text: ast.Constant | ast.JoinedStr) -> bool:
    parts = text.values if isinstance(text, ast.JoinedStr) else [text]
    words = [part.value.split() for part in parts if isinstance(part, ast.Constant)
             and isinstance(part.value, str)]  # fmt: skip
    return sum(map(len, words)) > _WORDS_OF_A_NAME


def _is_docstring(statement: object) -> bool:
    if not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)):
        return False
    return isinstance(statement.value.value, str)


def _imported(module: str) -> Iterable[Path]:
    """Returns the files of a module and of its direct and indirect imports from its package."""
    package = module.partition(".")[0]
    files: dict[str, Path] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        path = _file(name)
        if name in files or path is None:
            continue
        files[name] = path
        waiting += [
            imported for imported in _imports(path) if imported.partition(".")[0] == package
        ]
    return files.values()


def _imports(path: Path) -> Iterator[str]:
    """Yields the modules that a file imports.

    `from a import b` gives `a.b` if that is a module, and `a` otherwise.
    """
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            inner = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (name if _file(name) is not None else node.module for name in inner)


def _file(module: str) -> Path | None:
    """Returns the file of a module; None if the module does not exist."""
    try:
        spec = find_spec(module)
    except ModuleNotFoundError:  # The name belongs to a module, which is not a package.
        return None
    return Path(spec.origin) if spec is not None and spec.origin else None
