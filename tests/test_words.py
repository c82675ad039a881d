"""The rules of STYLE.md that a program can check: lines, first words, words, sentences, names."""

import ast
import re
import subprocess
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

import reference
from ackclock.elements.registry import registry, schema

ROOT = Path(__file__).parents[1]

COLUMNS = 100
WORDS_IN_A_SENTENCE = 35

#: A docstring begins with a verb or with what the thing is.
OPENERS = re.compile(r"(What|Of|As|That|So|How|Whether|Who|Why|Where)\b")
#: Not the field's words, or a negation in the wrong place.
BANNED = re.compile(
    r"\b(nought|dearer|dearest|dear|reckons?|reckoned|reckoning|anew|likewise|thereby|goes without"
    r"|so much at a time|[Ss]ee the module|the like|(is|are) no (?!longer|more|less|fewer|larger"
    r"|smaller|faster|slower|higher|lower|later|earlier|better|worse)\w+)\b"
    r"|\b(a|one|two|every|each) (of )?(ours|theirs|its own ways?)\b"
)
NEGATION = re.compile(r"\b[Tt]here (is|are) no\b")

#: Names that a binding has instead of naming the thing. A class method `of` is right: it makes a
#: value of others.
VAGUE = frozenset({"one", "found", "told", "said", "known", "of", "what", "at"})
#: A binding of one of them in Rust, where `at` is a time and `of` makes a value of another.
VAGUE_IN_RUST = re.compile(
    r"\b(?:(?:let|for|mut|ref) (?:\w+\()?|fn )(?:one|found|told|said|known|what)\b"
    r"|\|&?(?:one|found|told|said|known|what)\b[^|\n]*\|"
    r"|\b(?:one|found|told|said|known|what): (?:&|impl |[A-Z]|u64|bool)"
)
#: Columns of stored records, whose fields have their names.
RECORDED = {"python/ackclock/reproduction/outcome.py": {"said", "found"}}
#: A comment of Rust, or a string on one line.
NO_CODE = re.compile(r'"(?:[^"\\\n]|\\.)*"|//.*')

#: A string or a comment of Python.
TOKEN = re.compile(
    r"(\"{3}|'{3})(?:\\.|.)*?\1|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|#[^\n]*", re.DOTALL
)

#: Generated files, records and data, and this file with its list of words.
LEFT_OUT = re.compile(
    r"docs/gallery\.md|tests/messages/.*|tests/test_words\.py|STYLE\.md|.*VERDICTS.*"
)
#: Reference pages, made as the site makes them; their paragraphs are one line each.
GENERATED = "docs/reference/"

Prose = Iterator[tuple[str, str]]


def belonging(*patterns: str) -> list[str]:
    """Returns the files that match and are, or may be added, in the repository; none outside."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", *patterns]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    names = listed.stdout.splitlines()
    return [name for name in names if (ROOT / name).exists() and not LEFT_OUT.fullmatch(name)]


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """Yields a module and all statements in it, at any depth; expressions define nothing."""
    yield node
    for block in ("body", "orelse", "finalbody", "handlers", "cases"):
        for child in getattr(node, block, ()):
            yield from statements(child)


def python_prose(text: str) -> Prose:
    """Yields ("docstring" or "comment", text) of a Python file."""
    for node in statements(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            docstring = ast.get_docstring(node)
            if docstring is not None:
                yield "docstring", docstring
    comment: list[str] = []
    last = place = line = 0
    for token in TOKEN.finditer(text):
        if not token[0].startswith("#"):
            continue
        line += text.count("\n", place, token.start())
        place = token.start()
        if line != last + 1 and comment:
            yield "comment", " ".join(comment)
            comment = []
        comment.append(token[0].lstrip("#: "))
        last = line
    if comment:
        yield "comment", " ".join(comment)


def rust_prose(text: str) -> Prose:
    """Yields ("docstring" or "comment", text) of a Rust file."""
    kind, block = "", []
    for line in [*text.splitlines(), ""]:
        match = re.match(r"\s*//([/!]?)(?!/)\s?(.*)", line)
        if match and match[1] == kind and block:
            block.append(match[2])
            continue
        if block:
            yield ("docstring" if kind else "comment"), "\n".join(block)
        kind, block = (match[1], [match[2]]) if match else ("", [])


def bindings(text: str) -> Iterator[str]:
    """Yields the names that a Python file binds, except by import."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.ClassDef) or (
            isinstance(node, ast.FunctionDef) and not makes_a_value(node)
        ):
            yield node.name


def makes_a_value(node: ast.FunctionDef) -> bool:
    """Returns True for a class method `of`."""
    return node.name == "of" and any(
        isinstance(decorator, ast.Name) and decorator.id == "classmethod"
        for decorator in node.decorator_list
    )


def vague_names(name: str, text: str) -> int:
    """Returns how many bindings of a file do not name the thing."""
    if name.endswith(".py"):
        vague = VAGUE - RECORDED.get(name, set())
        return sum(bound.lstrip("_") in vague for bound in bindings(text))
    return len(VAGUE_IN_RUST.findall(NO_CODE.sub("", text)))


def page_prose(text: str) -> Prose:
    """Yields ("page", text) for the paragraphs, items and cells of a Markdown page."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    for block in re.split(r"\n\s*\n|\n(?=\s*(?:[-*|]|\d+\.) ?)", text):
        cells = block.split("|") if block.lstrip().startswith("|") else [block]
        yield from (("page", cell.strip()) for cell in cells if re.search(r"[a-z]", cell))


def long_lines(name: str, text: str) -> int:
    """Returns how many lines are too long; tables and lines with a link of that length may be."""
    return sum(
        len(line) > COLUMNS
        and not (name.endswith(".md") and line.lstrip().startswith("|"))
        and not re.search(r"\S{80}", line)
        for line in text.splitlines()
    )


def sentences(text: str) -> Iterable[str]:
    """Splits prose into sentences, without code and example commands."""
    text = re.sub(r"^\s*ackclock .*$", "", text, flags=re.MULTILINE)
    plain = re.sub(r"\]\([^)]*\)", "]", re.sub(r"`[^`]*`", "code", text))
    return re.split(r"(?<=[.!?:;])\s+(?=[A-Z*\[(`])", " ".join(plain.split()))


def broken(name: str, text: str) -> Counter[str]:
    """Returns how often a file breaks each rule."""
    counts = Counter[str]()
    if not name.startswith(GENERATED):
        counts["long lines"] = long_lines(name, text)
    prose = {".py": python_prose, ".rs": rust_prose, ".md": page_prose}.get(Path(name).suffix)
    for kind, words in prose(text) if prose else ():
        counts["banned words"] += len(BANNED.findall(NEGATION.sub("", words)))
        if kind == "docstring" and not name.startswith("tests/"):
            counts["first words"] += bool(OPENERS.match(words.strip()))
        if kind != "comment":
            counts["long sentences"] += sum(
                len(sentence.split()) > WORDS_IN_A_SENTENCE for sentence in sentences(words)
            )
    return +counts


@pytest.mark.slow
def test_no_file_breaks_a_rule() -> None:
    names = belonging("*.py", "*.rs", "*.md", "*.toml", "*.pyi", "Makefile", ".ci/run")
    if not names:
        pytest.skip("not in a repository: what belongs to it is not known")
    texts = {name: (ROOT / name).read_text("utf-8") for name in names}
    by_file = {
        name: broken(name, text)
        for name, text in (texts | reference.pages(registry(), schema())).items()
    }
    worse = [f"{name}: {dict(counts)}" for name, counts in by_file.items() if counts]
    assert not worse, "see STYLE.md:\n" + "\n".join(worse)


@pytest.mark.slow
def test_no_binding_is_vague() -> None:
    names = belonging("*.py", "*.rs")
    if not names:
        pytest.skip("not in a repository: what belongs to it is not known")
    counts = {name: vague_names(name, (ROOT / name).read_text("utf-8")) for name in names}
    vague = [f"{name}: {count} vague names" for name, count in counts.items() if count]
    assert not vague, "name the thing; VAGUE in tests/test_words.py:\n" + "\n".join(vague)


@pytest.mark.parametrize(
    ("name", "text", "count"),
    [
        ("a.py", "found = [one.rate for one in flows]\n", 2),
        ("a.py", "def _told(what: str, *, at: int = 0) -> str: ...\n", 3),
        ("a.py", "rates = [flow.rate for flow in flows.one]\n", 0),
        ("a.rs", "let mut found = flows.iter().map(|one| one.rate);\n", 2),
        ("a.rs", "fn told(known: &[u64]) -> Time { if let Some(one) = x {} }\n", 3),
        ("a.rs", "let flow = flow.one; // let one be\n", 0),
        ("a.rs", 'let words = "answers for one";\n', 0),
        ("a.py", "class A:\n    @classmethod\n    def of(cls): ...\n    def at(self): ...\n", 1),
        ("python/ackclock/reproduction/outcome.py", "class A:\n    said: str\n    what: str\n", 1),
    ],
)
def test_a_vague_name_is_counted(name: str, text: str, count: int) -> None:
    assert vague_names(name, text) == count


@pytest.mark.parametrize(
    ("name", "text", "rule"),
    [
        ("a.py", '"""What is left."""\n', "first words"),
        ("a.rs", "/// Of packets, those that were lost.\nfn f() {}\n", "first words"),
        ("a.py", "# That is no queue.\n", "banned words"),
        ("a.rs", "// Reckoned anew.\n", "banned words"),
        ("a.md", "There is " + "very " * 40 + "much.\n", "long sentences"),
        ("a.toml", "# " + "long " * 30 + "\n", "long lines"),
    ],
)
def test_a_broken_rule_is_seen(name: str, text: str, rule: str) -> None:
    assert broken(name, text)[rule] == 1


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.py", '"""Returns the queue\'s length."""\n'),
        ("a.py", '"""There is no queue that is no longer than this."""\n'),
        ("a.md", "| " + "a long cell " * 11 + "|\n"),
        ("a.md", "```text\n" + "word " * 19 + "\n```\n"),
    ],
)
def test_what_keeps_the_rules_breaks_none(name: str, text: str) -> None:
    assert not broken(name, text)
