"""What a file of the laboratory defines is in the list through which it is reached."""

import ast
import pkgutil
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from ackclock import metrics, models, plot
from ackclock.comparison import COMPARED, causes, observed
from ackclock.comparison import table as compared
from ackclock.comparison.causes import Cause
from ackclock.report import figures, run_tables
from ackclock.sweeps.plan import METRICS_BY_DEFAULT

PACKAGES = Path(models.__file__).parents[2]


def modules(package: ModuleType) -> Iterator[ModuleType]:
    """Yields all modules below a package, and then the package."""
    for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        yield import_module(info.name)
    yield package


def file_of(module: ModuleType) -> str:
    return f"python/{Path(str(module.__file__)).relative_to(PACKAGES).as_posix()}"


def unlisted(package: ModuleType, kind: type, listed: Iterable[Any]) -> list[str]:
    """Returns file and name of each record of a kind that is not in a list."""
    ids = {id(record) for record in listed}
    return [
        f"{name} of {file_of(module)}"
        for module in modules(package)
        for name, value in vars(module).items()
        for record in (value if isinstance(value, tuple) else (value,))
        if isinstance(record, kind) and id(record) not in ids
    ]


@pytest.mark.parametrize(
    ("package", "kind", "listed", "name"),
    [
        (plot, plot.FigureKind, plot.FIGURES, "_FILES"),
        (metrics, metrics.Metric, metrics.METRICS.values(), "_ALL"),
        (models, models.Model, models.MODELS, "MODELS"),
        (causes, Cause, causes.CAUSES, "CAUSES"),
    ],
    ids=lambda value: value.__name__ if isinstance(value, ModuleType) else "",
)
def test_every_record_is_in_its_list(
    package: ModuleType, kind: type, listed: Iterable[Any], name: str
) -> None:
    for record in unlisted(package, kind, listed):
        pytest.fail(f"{record} is not in the list; add it to {name} in {file_of(package)}")


@pytest.mark.parametrize(
    "names",
    [
        run_tables.FLOW_METRICS, run_tables.ARRIVAL_METRICS, run_tables._FLOW_COLUMNS,
        run_tables._HOP_COLUMNS, figures._SWEPT, METRICS_BY_DEFAULT,
        observed._EVIDENCE_OF_FLOWS, observed._EVIDENCE_OF_HOPS, COMPARED,
        [name for _, name in compared._UNKNOWN],
    ],
)  # fmt: skip
def test_chosen_metrics_are_metrics(names: Iterable[str]) -> None:
    """Which metrics a table or a page shows is chosen by hand; what they are is not."""
    assert [name for name in names if name not in metrics.METRICS] == []


def test_drawn_metrics_are_compared() -> None:
    """A name that is not compared would leave its figure out without a word."""
    assert [name for name in figures._COMPARED if name not in COMPARED] == []


def test_columns_have_the_units_of_their_metrics() -> None:
    columns = run_tables._FLOW_COLUMNS | run_tables._HOP_COLUMNS
    units = {name: column.unit for name, column in columns.items()}
    assert units == {name: metrics.METRICS[name].shown_unit for name in columns} | {
        "timeouts": "per run"
    }


@pytest.mark.slow
def test_every_file_of_the_models_is_used() -> None:
    imported = {
        name
        for path in PACKAGES.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom)
        for name in (node.module, *(f"{node.module}.{alias.name}" for alias in node.names))
    }
    for module in modules(models):
        assert module.__name__ in imported, (
            f"nothing imports {file_of(module)}; give it a record, MODEL, and add that to MODELS "
            f"in {file_of(models)}"
        )


def is_name(node: ast.expr) -> bool:
    return isinstance(node, ast.Name | ast.Attribute) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


def packed(path: Path) -> list[int]:
    """The lines of lists of three names and more that `ruff format` is told to leave alone."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [
        statement.lineno
        for statement in ast.parse("\n".join(lines)).body
        if isinstance(statement, ast.Assign | ast.AnnAssign)
        and isinstance(statement.value, ast.List | ast.Tuple | ast.Set)
        and len(statement.value.elts) > 2
        and all(map(is_name, statement.value.elts))
        and "# fmt: skip" in lines[(statement.end_lineno or 0) - 1]
    ]


@pytest.mark.slow
def test_a_list_of_names_has_one_on_a_line(tmp_path: Path) -> None:
    """Two changes that add a name each do not conflict, and nobody wraps lines by hand."""
    (tmp_path / "a.py").write_text('A = 1\nB = [\n    "a", "b", "c",\n]  # fmt: skip\n')
    assert packed(tmp_path / "a.py") == [2]
    for path in sorted((PACKAGES / "ackclock").rglob("*.py")):
        assert not packed(path), f"{path}: drop `# fmt: skip` and run `ruff format`"
