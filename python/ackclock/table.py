"""Tables for people, and the format of numbers, intervals and swept values in them.

A `Table` is data: typed cells in named columns. `ackclock.cli.output` prints it on a terminal, the
template `report/table.html.jinja` writes it into a page, `to_json` and `to_csv` give it to
programs, and `to_latex` to a paper.
"""

import csv
import io
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

Rows = list[dict[str, Any]]


class Interval(NamedTuple):
    """A mean and its confidence interval.

    Attributes:
        mean: NaN if nothing is known.
        half_width: NaN for fewer than two values, as one run has no spread.
        replicates: Number of values.
    """

    mean: float
    half_width: float
    replicates: int

    @property
    def low(self) -> float:
        """Lower end."""
        return self.mean - self.half_width

    @property
    def high(self) -> float:
        """Upper end."""
        return self.mean + self.half_width


Value = str | int | float | Interval | None


class Written(NamedTuple):
    """A value with a text chosen for people.

    Attributes:
        value: The value for programs.
        text: The text for people.
    """

    value: Value
    text: str


#: None means unknown; numbers and intervals are in the unit of their column.
Cell = Value | Written


# Half widths of intervals below this share of the mean have one digit where room is short.
_NARROW = 0.02


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes:
        name: The name in the header; empty for none.
        unit: The unit of its numbers, written after the name.
        spare: A terminal that is too narrow leaves out the columns with the lowest `spare` first;
            None for a column that always stays.
        numeric: True to align it on the right; None to decide by its cells.
        least: A terminal that is too narrow cuts its texts to so many letters before it leaves out
            any column, as far as they stay apart; None for a column that is never cut.
    """

    name: str
    unit: str = ""
    spare: int | None = None
    numeric: bool | None = None
    least: int | None = None

    @property
    def head(self) -> str:
        """Name and unit."""
        return f"{self.name} {self.unit}".strip()


@dataclass(frozen=True)
class Table:
    """A table with a title.

    Attributes:
        title: The words above it.
        columns: The columns, from the left.
        rows: One cell for each column.
        note: A remark for the reader, shown on pages; may be empty.
        keys: Number of leading columns that identify a row. If positive, columns that do not fit
            on a terminal are printed below, with these columns repeated.
        together: Number of the other columns that then stay side by side.
    """

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    keys: int = 0
    together: int = 1

    @property
    def head(self) -> list[str]:
        """Name and unit of each column."""
        return [column.head for column in self.columns]

    @cached_property
    def texts(self) -> list[list[str]]:
        """The cells as people read them, row by row."""
        return [[text(cell) for cell in row] for row in self.rows]

    @cached_property
    def numeric(self) -> list[bool]:
        """True for each column aligned on the right; by default if all cells begin like numbers."""
        texts = self.texts
        return [
            bool(texts)
            and all(row[position][:1] in "0123456789–-+∞" for row in texts if row[position])
            if column.numeric is None
            else column.numeric
            for position, column in enumerate(self.columns)
        ]

    def select(self, positions: Iterable[int]) -> "Table":
        """Returns the table with only the columns at these positions, in that order."""
        chosen = list(positions)
        rows = tuple(tuple(row[position] for position in chosen) for row in self.rows)
        return Table(
            self.title,
            tuple(self.columns[position] for position in chosen),
            rows,
            self.note,
            self.keys,
            self.together,
        )

    def cut(self, position: int, most: int) -> "Table":
        """Returns the table with the texts of a column cut to so many letters, as far as needed.

        Texts that differ still do: if they do not, fewer letters are cut.
        """
        texts = [row[position] for row in self.texts]
        longest = max(map(len, texts), default=0)
        size = next(
            (
                size
                for size in range(most, longest)
                if len({_cut(text, size) for text in texts}) == len(set(texts))
            ),
            longest,
        )
        rows = tuple(
            tuple(
                Written(_value(cell), _cut(text(cell), size)) if index == position else cell
                for index, cell in enumerate(row)
            )
            for row in self.rows
        )
        return Table(self.title, self.columns, rows, self.note, self.keys, self.together)

    def to_json(self) -> list[dict[str, Any]]:
        """Returns a record for each row: head of the column to value as plain data."""
        return [
            {
                column.head: plain(_value(cell))
                for column, cell in zip(self.columns, row, strict=True)
            }
            for row in self.rows
        ]

    def to_csv(self) -> str:
        """Returns comma-separated values with a header; an interval takes mean, low and high."""
        columns: list[list[Any]] = []
        for position, head in enumerate(self.head):
            values = [_value(row[position]) for row in self.rows]
            if any(isinstance(value, Interval) for value in values):
                columns.append([head, *(getattr(value, "mean", value) for value in values)])
                for end in ("low", "high"):
                    columns.append(
                        [f"{head} {end}", *(getattr(value, end, None) for value in values)]
                    )
            else:
                columns.append([head, *values])
        return csv_text(zip(*columns, strict=True))

    def to_latex(self) -> str:
        """Returns a `tabular` environment with the rules of the package booktabs, without title.

        Numbers stand on the right. Names and units are a line each, if there are units.
        """
        names = " & ".join(latex(column.name) for column in self.columns)
        units = " & ".join(latex(column.unit) for column in self.columns)
        rows = [" & ".join(map(latex, row)) for row in self.texts]
        head = [names, units] if any(column.unit for column in self.columns) else [names]
        places = "".join("r" if right else "l" for right in self.numeric)
        return "\n".join(
            [
                rf"\begin{{tabular}}{{{places}}}",
                r"\toprule",
                *(rf"{line} \\" for line in head),
                r"\midrule",
                *(rf"{line} \\" for line in rows),
                r"\bottomrule",
                r"\end{tabular}",
                "",
            ]
        )


# Spreadsheets take a text that begins with one of these for a formula, and run it (OWASP, CSV
# Injection).
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def csv_text(rows: Iterable[Iterable[Any]]) -> str:
    """Returns comma-separated values, which a spreadsheet reads as text and numbers only.

    A text that it would run gets an apostrophe in front. Numbers are as they are, also those that
    are text. What is unknown is empty.
    """
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerows([_csv_cell(plain(value)) for value in row] for row in rows)
    return file.getvalue()


def _csv_cell(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str) and value.startswith(_FORMULA) and not _is_number(value):
        return f"'{value}"
    return value


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return text == text.strip()


_LATEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#",
    "%": r"\%", "_": r"\_", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "±": r"$\pm$",
    "×": r"$\times$", "−": r"$-$", "∞": r"$\infty$", "µ": r"\textmu{}", "–": "--", "<": "$<$",
    ">": "$>$",
}  # fmt: skip


def latex(text: str) -> str:
    """Returns text for LaTeX, with its special characters escaped."""
    return "".join(_LATEX.get(character, character) for character in text)


def table(
    title: str, columns: Iterable[Column | str], rows: Iterable[Iterable[Cell]], note: str = "", *,
    keys: int = 0, together: int = 1,
) -> Table:  # fmt: skip
    """Makes a table; a string among `columns` is a column's name. Otherwise as in `Table`."""
    named = tuple(Column(column) if isinstance(column, str) else column for column in columns)
    return Table(title, named, tuple(tuple(row) for row in rows), note, keys, together)


def text(cell: Cell) -> str:
    """Returns a cell as text for people; a dash if unknown.

    A number has about four significant digits, the half width of an interval two.
    """
    match cell:
        case Written():
            return cell.text
        case Interval():
            return written_interval(cell)
        case float():
            return number(cell)
        case None:
            return "–"
        case _:
            return str(cell)


def brief(cell: Cell) -> Cell:
    """Returns an interval with no more digits than a reader needs.

    A half width below 2 % of the mean has one digit, and one that four digits of the mean do not
    show is left out.
    """
    value = _value(cell)
    if not isinstance(value, Interval) or math.isnan(value.half_width):
        return cell
    star = "*" if isinstance(cell, Written) and cell.text.endswith("*") else ""
    decimals = len(number(value.mean).partition(".")[2])
    if value.half_width < 0.5 * 10.0**-decimals:
        return Written(value, f"{number(value.mean)}{star}")
    if value.half_width > _NARROW * abs(value.mean):
        return cell
    digits = min(decimals, _digits(value.half_width, 1))
    written = f"{fixed(value.mean, digits)} ± {value.half_width:.{digits}f}"
    return Written(value, f"{written}{star}")


def _cut(words: str, size: int) -> str:
    return words if len(words) <= size else f"{words[: size - 1]}…"


def _value(cell: Cell) -> Value:
    return cell.value if isinstance(cell, Written) else cell


def scaled(value: float | None, scale: float) -> float | None:
    """Returns a number in another unit; None stays unknown."""
    return None if value is None else value * scale


def plain(value: Any) -> Any:
    """Converts a value for JSON.

    Intervals become `{"mean", "low", "high", "replicates"}`, NumPy scalars become Python's, and
    numbers that are not finite become None.
    """
    if isinstance(value, Interval):
        return {
            "mean": plain(value.mean),
            "low": plain(value.low),
            "high": plain(value.high),
            "replicates": value.replicates,
        }
    if hasattr(value, "item"):  # A scalar of NumPy, which need not be imported to know it.
        return plain(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: plain(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [plain(member) for member in value]
    return value


def json_text(value: Any) -> str:
    """Returns a value as indented JSON that ends with a newline."""
    return json.dumps(plain(value), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def compact_json(value: Any) -> str:
    """Returns a value as JSON on one line, as short as it can be."""
    return json.dumps(plain(value), ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def named(flow: str, instances: int | None) -> str:
    """Returns a flow's name with its number of instances; None means that instances arrive."""
    if instances is None:
        return f"{flow} (arriving)"
    return flow if instances == 1 else f"{flow} ×{instances}"


def capital(words: str) -> str:
    """Returns words as they begin a sentence or a title."""
    return f"{words[0].upper()}{words[1:]}"


def swept_paths(rows: Rows) -> list[str]:
    """Returns the swept paths that no other column shows.

    The control has a column of its own, and of paths that have the same value in every row the
    first has one.
    """
    seen: dict[tuple[str, ...], str] = {tuple(str(row.get("control")) for row in rows): ""}
    paths = list(rows[0]["assignments"]) if rows else []
    return [
        path
        for path in paths
        if seen.setdefault(tuple(str(row["assignments"][path]) for row in rows), path) == path
    ]


def assigned(assignments: Mapping[str, Any]) -> list[str]:
    """Returns the swept values of a point with their names, a value that several have once."""
    names: dict[str, list[str]] = {}
    for name, value in zip(short(assignments), assignments.values(), strict=True):
        names.setdefault(as_written(value), []).append(name)
    return [f"{' and '.join(having)} {value}" for value, having in names.items()]


def as_written(value: Any) -> str:
    """Returns a value of a scenario as text; a table that has only a kind as that kind."""
    if isinstance(value, dict) and set(value) == {"kind"}:
        return str(value["kind"])
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def short(paths: Iterable[str]) -> list[str]:
    """Returns the shortest endings that tell paths apart, at least the name of the field."""
    paths = list(paths)
    ended = []
    for path in paths:
        parts = path.split(".")
        fewest = 2 if parts[-1] == "kind" else 1
        for count in range(fewest, len(parts) + 1):
            ending = ".".join(parts[-count:])
            if sum(other.endswith(ending) for other in paths) == 1:
                break
        ended.append(ending)
    return ended


def written_interval(interval: Interval) -> str:
    """Returns an interval as `5.21 ± 0.13`, without the parts that are unknown."""
    if math.isnan(interval.mean):
        return "–"
    if math.isnan(interval.half_width):
        return number(interval.mean)
    if interval.half_width == 0:
        return f"{number(interval.mean)} ± 0"
    # Two digits of the half width, at most four of the mean.
    digits = min(_digits(interval.mean), _digits(interval.half_width, 2))
    return f"{fixed(interval.mean, digits)} ± {interval.half_width:.{digits}f}"


def number(value: float | None, scale: float = 1) -> str:
    """Returns a number with about four significant digits, a dash if unknown."""
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞"
    return fixed(value * scale, _digits(value * scale))


def fixed(value: float, digits: int, *, sign: bool = False) -> str:
    """Returns a number with so many decimal places, with a plus if `sign`; zero has no sign."""
    words = f"{value:+.{digits}f}" if sign else f"{value:.{digits}f}"
    return words.lstrip("+-") if float(words) == 0 else words


def _digits(value: float, significant: int = 4) -> int:
    """Returns the decimal places that show so many significant digits."""
    return 0 if value == 0 else max(0, min(6, significant - 1 - math.floor(math.log10(abs(value)))))
