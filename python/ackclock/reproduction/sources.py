"""The digest of the Python code that a conclusion depends on, for conclusions that tests do not draw."""

import ast
import hashlib
import io
import re
import tokenize
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from ackclock.reproduction.digest import LENGTH
from ackclock.reproduction.experiment import Experiment

__all__ = ["code", "conclusion"]

_METRICS = "ackclock.metrics"
_WORDS = "ackclock.reproduction.words"
_LAYOUT = frozenset({tokenize.NEWLINE, tokenize.NL, tokenize.INDENT, tokenize.DEDENT})


def conclusion(experiment: Experiment) -> str:
    """Returns the digest of an experiment's module, of what that imports of its own package, of metrics and bands."""
    module = getattr(experiment.conclude, "func", experiment.conclude).__module__
    package = module.partition(".")[0]
    paths = {*_imported(module, package), _folder(_WORDS) / "words.py", *_folder(_METRICS).rglob("*.py")}
    found = hashlib.sha256("\n".join(sorted(code(path.read_text(encoding="utf-8")) for path in paths)).encode())
    return found.hexdigest()[:LENGTH]


@cache
def code(text: str) -> str:
    """Returns the text of a module without comments, docstrings and layout, alike for every version of Python."""
    kept, last = [], tokenize.NEWLINE
    tokens = [token for token in tokenize.generate_tokens(io.StringIO(text).readline) if token.type != tokenize.COMMENT]
    for token, following in zip(tokens, [*tokens[1:], tokens[-1]], strict=True):
        stands_alone = last in _LAYOUT and following.type == tokenize.NEWLINE
        if not (token.type == tokenize.STRING and stands_alone) and token.type not in _LAYOUT:
            kept.append(token.string)
        last = token.type
    # Since Python 3.12 an f-string is several tokens, without spaces and with one brace where two are written.
    return re.sub(r"([{}])+", r"\1", re.sub(r"\s+", "", "".join(kept)))


def _imported(module: str, package: str) -> Iterable[Path]:
    """The files of a module, and of what it imports of a package, directly or not."""
    found: dict[str, Path] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        path = _file(name)
        if name in found or path is None:
            continue
        found[name] = path
        waiting += [one for one in _imports(path) if one.partition(".")[0] == package]
    return found.values()


def _imports(path: Path) -> Iterator[str]:
    """The modules that a file imports: of `from a import b`, `a.b` if that is a module, or else `a`."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            inner = [f"{node.module}.{one.name}" for one in node.names]
            yield from (name if _file(name) is not None else node.module for name in inner)


def _file(module: str) -> Path | None:
    """Where a module is; None if there is no module of that name."""
    try:
        spec = find_spec(module)
    except ModuleNotFoundError:  # a name in a module, which is no package
        return None
    return Path(spec.origin) if spec is not None and spec.origin else None


def _folder(package: str) -> Path:
    path = _file(package)
    if path is None:
        raise ModuleNotFoundError(f"No module named {package!r}", name=package)
    return path.parent
