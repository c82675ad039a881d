"""The command `predict`: models for the flows of a scenario, or one model for plain numbers.

The options of a model's own command are its inputs, and its outputs for inverse questions.
"""

import re
from collections.abc import Iterable
from itertools import product
from math import inf, isfinite, prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ackclock import units
from ackclock.cli.options import json_option, models_option, read_scenario, scenario_or_link
from ackclock.cli.output import print_json, print_table, say, say_wrapped
from ackclock.cli.progress import progress
from ackclock.cli.repeated import check_repeated
from ackclock.errors import InputError

# Imported where a model is used: an error about a missing file does not need NumPy.
if TYPE_CHECKING:
    from ackclock.cli.table_file import Columns
    from ackclock.models import Domain, Input, Model, Output, TableInput

    Tables = dict[str, Columns]

# As in the preset "rfc".
_MSS, _HEADER = "1460 bytes", "40 bytes"


class PredictCommand(click.Command):
    """The command for scenarios; it hands over to a model's command if the first word names one."""

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        """Makes a context, perhaps of a model's command."""
        word = next((argument for argument in args if argument != "--json"), "-")
        if word.startswith("-") or word.endswith(".toml") or Path(word).is_file():
            return super().make_context(info_name, args, parent, **extra)
        from ackclock.models import model

        try:
            command = _command(model(word))
        except InputError as error:
            stop = "" if str(error).endswith("?") else "."
            raise InputError(
                "unknown-name",
                "",
                f"{error.message}{stop} A scenario file must exist or end in .toml",
            ) from None
        rest = list(args)
        rest.remove(word)
        check_repeated(command, rest)
        return command.make_context(f"{info_name} {word}", rest, parent, **extra)


@click.command(cls=PredictCommand)
@scenario_or_link
@models_option("all")
@json_option
def predict(
    scenario: Path,
    assignments: tuple[str, ...],
    seed: int | None,
    replicates: int | None,
    models: str,
    as_json: bool,
) -> None:
    """Predict with models, for a scenario or for plain numbers.

    Options of one link stand in place of a scenario. Else the first word is a scenario (an existing
    file, or a name that ends in .toml) or a model. For a scenario, each model that applies predicts
    each flow and says which of its assumptions the flow violates; --models NAME says why another
    does not apply.

    A model has its own options (ackclock predict pftk --help): several values of one give a table,
    and --solve finds the input for a given output.

    \b
    Example:
      ackclock predict examples/leaky-pipe.toml
      ackclock predict --control reno --loss 1%
      ackclock predict pftk --loss 0.1%,1%,5% --rtt 100ms --timeout 400ms
      ackclock predict pftk --rtt 100ms --throughput 5Mbit/s --solve loss
    """
    from ackclock.report import run_tables
    from ackclock.run import prediction

    predicted = prediction.predict(read_scenario(scenario, assignments, seed, replicates), models)
    rows = run_tables.prediction_rows(predicted)
    if as_json:
        print_json(rows)
    else:
        title = f"{predicted.run['name']}: predicted goodput"
        # What is asked for by name is answered, if only with the reason why it does not apply.
        shown, others = run_tables.answered(rows) if models in ("all", "usual") else (rows, "")
        if all(row["verdict"] == "does not apply" for row in shown) and models in ("all", "usual"):
            say_wrapped(
                f"No model applies to {scenario}; ackclock simulate answers, and "
                "ackclock predict --models NAME says why a model does not."
            )
            return
        print_table(run_tables.prediction_table(shown, title))
        if others:
            say_wrapped(others)


def _command(model: "Model") -> click.Command:
    from ackclock.table import capital

    options: list[click.Parameter] = [
        click.Option([_option(entry.name)], metavar=_metavar(entry.unit), help=_help(model, entry))
        for entry in model.inputs
    ]
    options += [
        click.Option([_option(table.name)], metavar="FILE", help=_help_of_table(table))
        for table in model.tables
    ]
    options += [
        click.Option(
            [_option(entry.name)],
            metavar=_metavar(entry.unit),
            help=f"{capital(entry.meaning)}, with --solve.",
        )
        for entry in model.outputs
    ]
    options += [
        click.Option(
            ["--solve"],
            metavar="INPUT",
            help="Input to solve for, given the value of one output.",
        ),
        click.Option(
            ["--mss"],
            default=_MSS,
            show_default=True,
            help="Payload of a segment, to convert segments to bits or bytes.",
        ),
    ]
    if any(entry.on_wire for entry in model.inputs):
        options.append(
            click.Option(
                ["--header"],
                default=_HEADER,
                show_default=True,
                help="Headers of a segment on the link.",
            )
        )
    options.append(click.Option(["--json", "as_json"], is_flag=True, help="Print JSON."))

    def run(
        solve: str | None, as_json: bool, mss: str, header: str = "0 bytes", **written: str | None
    ) -> None:
        given = {name: text for name, text in written.items() if text is not None}
        _run(model, given, solve, _Units(mss, header), as_json)

    formula = model.formula.replace(
        "\n\n", "\n\n\b\n"
    )  # Click wraps paragraphs that do not begin with this mark.
    text = f"{model.label}: {model.summary}\n\n\b\n{formula}\n\nReference: {model.reference}."
    return click.Command(model.name, params=options, callback=run, help=text)


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")


def _metavar(unit: str) -> str:
    return {"": "NUMBER", "s": "TIME", "segments": "SEGMENTS", "segments/s": "RATE"}.get(
        unit, "NUMBER"
    )


def _help(model: "Model", quantity: "Input") -> str:
    from ackclock.table import capital

    record = next(entry for entry in model.described()["inputs"] if entry["name"] == quantity.name)
    facts = (
        [quantity.letter, quantity.domain.words(quantity.letter or quantity.name)]
        if quantity.letter
        else [quantity.domain.words(quantity.name)]
    )
    facts.append(record["default"] if quantity.default is None else f"default: {record['default']}")
    return f"{capital(quantity.meaning)}. [{'; '.join(facts)}]"


def _help_of_table(table: "TableInput") -> str:
    from ackclock.table import capital

    columns = ", ".join((*table.columns, *(f"[{name}]" for name in table.others)))
    replaced = " ".join(_option(name) for name in table.replaces)
    return f"{capital(table.meaning)}. A CSV file, instead of {replaced}. [{columns}]"


class _Units:
    """Converts quantities between the units of people and those of a model."""

    def __init__(self, mss: str, header: str) -> None:
        # The unit of the first value of each input or output, and every value as it is written.
        self._written: dict[str, tuple[float, str]] = {}
        self._texts: dict[tuple[str, float], str] = {}
        self.mss_bytes = self._bytes("--mss", mss)
        self.header_bytes = self._bytes("--header", header)
        if self.mss_bytes <= 0 or self.header_bytes < 0:
            raise InputError(
                "out-of-range",
                "--mss",
                f"{mss} with --header {header} leaves no room for data; for example {_MSS}",
            )

    @staticmethod
    def _bytes(option: str, written: str) -> float:
        try:
            return units.data_bytes(written)
        except ValueError:
            raise units.refusal(option, written, ("bytes",), example=_MSS) from None

    def read(self, quantity: "Input | Output", written: str) -> list[float]:
        """Reads a comma-separated list of numbers."""
        parts = [part.strip() for part in written.split(",")]
        numbers = [self._number(quantity, part) for part in parts]
        if getattr(quantity, "whole", False):
            for number, part in zip(numbers, parts, strict=True):
                if isfinite(number) and number % 1 != 0:
                    whole = f"is not a whole number; for example {max(round(number), 1)}"
                    raise InputError("out-of-range", _option(quantity.name), f"{part} {whole}")
        self._texts.update(
            ((quantity.name, number), part) for number, part in zip(numbers, parts, strict=True)
        )
        return numbers

    def say(self, quantity: "Input | Output", value: float) -> str:
        """Formats a value for an error message: as written, or in the unit of the first value."""
        if (quantity.name, value) in self._texts:
            return self._texts[quantity.name, value]
        if quantity.name not in self._written or not isfinite(value):
            return self.words(quantity, value)
        scale, unit = self._written[quantity.name]
        return f"{value / scale:.6g} {unit}".rstrip()

    def _number(self, quantity: "Input | Output", written: str) -> float:
        domain: Domain | None = getattr(quantity, "domain", None)
        example = {"": "1%", "s": "100ms", "segments": "64", "segments/s": "5Mbit/s"}.get(
            quantity.unit, "0.4"
        )
        if domain is not None and domain.values:
            example = " or ".join(f"{value:g}" for value in domain.values)
        if written == "unlimited" and quantity.unit == "segments":
            return inf
        size = self.mss_bytes + (self.header_bytes if getattr(quantity, "on_wire", False) else 0.0)
        scales = {
            "s": {"s": 1.0},
            "segments": {"packets": 1.0, "": 1.0, "bytes": 1 / size},
            "segments/s": {"packets/s": 1.0, "bit/s": 1 / (8 * size)},
        }.get(quantity.unit, {"": 1.0})
        try:
            read = units.parse(written)
        except ValueError:
            raise units.refusal(_option(quantity.name), written, scales, example=example) from None
        if read.unit == "%" and quantity.unit != "":
            scales = {key: scale for key, scale in scales.items() if key}
        if read.base in scales:
            scale = scales[read.base] * (units.parse(f"1 {read.unit}").amount if read.unit else 1.0)
            self._written.setdefault(quantity.name, (scale, read.unit))
            return read.amount * scales[read.base]
        raise units.refusal(_option(quantity.name), written, scales, example=example)

    def words(self, quantity: "Input | Output", value: float) -> str:
        """Formats a value for people."""
        if value == inf:
            return "unlimited"
        if quantity.unit == "segments/s":
            bits = (
                value
                * 8
                * (
                    self.mss_bytes
                    + (self.header_bytes if getattr(quantity, "on_wire", False) else 0.0)
                )
            )
            return f"{bits / 1e6:.4g} Mbit/s"
        if quantity.unit == "s":
            return f"{value * 1e3:.4g} ms" if abs(value) < 1 else f"{value:.4g} s"
        return f"{value:.4g} {quantity.unit}".rstrip()


def _run(
    model: "Model", written: dict[str, str], solve: str | None, units: _Units, as_json: bool
) -> None:
    targets = {output.name: output for output in model.outputs if output.name in written}
    files = {
        table.name: Path(written[table.name]) for table in model.tables if table.name in written
    }
    tables = _tables(model, files)
    given = {
        name: text for name, text in written.items() if name not in targets and name not in files
    }
    values = {name: units.read(model.input(name), text) for name, text in given.items()}
    try:
        if tables and (solve is not None or targets):
            raise InputError(
                "unsupported", next(iter(tables)), "is not for --solve; give values of all inputs"
            )
        if solve is not None:
            _solve(model, values, solve.replace("-", "_"), targets, written, units, as_json)
        elif targets:
            raise InputError(
                "missing",
                _option(next(iter(targets))),
                "is an output; add --solve with the name of the input to compute",
            )
        else:
            _answer(model, values, files, tables, units, as_json)
    except InputError as error:
        raise _as_asked(error, model, units) from None


def _tables(model: "Model", files: dict[str, Path]) -> "Tables":
    if not files:
        return {}
    from ackclock.cli import table_file  # NumPy

    return {
        table.name: table_file.read(table, files[table.name])
        for table in model.tables
        if table.name in files
    }


def _as_asked(error: InputError, model: "Model", units: _Units) -> InputError:
    """Returns the error about an option, with values and names as written on the command line."""
    from ackclock.models.refusal import RefusedInputsError

    if error.field.startswith("--"):
        return error
    quantity = next((quantity for quantity in model.inputs if quantity.name == error.field), None)
    value, message = error.value, error.message
    if isinstance(error, RefusedInputsError):
        message = error.formatted(lambda name, number: units.say(model.input(name), number)).message
    elif quantity is not None and isinstance(value, float) and not quantity.domain.holds(value):
        asked = quantity.domain.refusal(
            quantity.name, value, lambda number: units.say(quantity, number)
        )
        message = f"{units.say(quantity, value)} {asked}"
    return InputError(error.code, _option(error.field), _in_options(message, model), value)


def _in_options(message: str, model: "Model") -> str:
    """Returns the message with the names of inputs and outputs as options have them."""
    names = {entry.name for entry in model.inputs} | {entry.name for entry in model.outputs}
    names |= {table.name for table in model.tables}
    return re.sub(
        r"\w+", lambda word: word[0].replace("_", "-") if word[0] in names else word[0], message
    )


# Shorter answers need no announcement.
_PATIENCE_S = 3.0

# As many as points of a sweep.
_MOST_ROWS = 10_000


def _combinations(values: dict[str, list[float]]) -> list[dict[str, float]]:
    rows = prod(len(several) for several in values.values())
    if rows > _MOST_ROWS:
        most = max(values, key=lambda name: len(values[name]))
        raise InputError(
            "out-of-range",
            _option(most),
            f"{rows:,} combinations are too many; the most is {_MOST_ROWS:,}",
        )
    return [
        dict(zip(values, combination, strict=True)) for combination in product(*values.values())
    ]


def _answer(
    model: "Model",
    values: dict[str, list[float]],
    files: dict[str, Path],
    tables: "Tables",
    units: _Units,
    as_json: bool,
) -> None:
    from ackclock.table import table

    asked = _combinations(values)
    completed = [model.beside_tables(tables, **inputs) for inputs in asked]
    _announce(model, completed)
    answers: list[dict[str, float]] = []
    with progress(f"predict {model.name}") as tell:
        for inputs in completed:
            tell(len(answers) / len(completed))
            answered = model.answer_tables(tables, **inputs) if tables else model.answer(**inputs)
            answers.append({name: float(value) for name, value in answered.items()})
    if as_json:
        _print_as_json(
            model,
            units,
            [
                {"inputs": inputs | {name: f"{path}" for name, path in files.items()}}
                | {"outputs": says}
                for inputs, says in zip(completed, answers, strict=True)
            ],
        )
    elif len(asked) == 1:
        cells = [
            [
                output.name,
                units.words(output, answers[0][output.name]),
                _in_segments(output, answers[0][output.name]),
                output.meaning,
            ]
            for output in model.outputs
        ]
        print_table(
            table(
                _title(model, completed[0], files, units),
                ["output", "value", "in segments", "meaning"],
                cells,
            )
        )
    else:
        varied = [name for name, several in values.items() if len(several) > 1]
        cells = [
            [units.words(model.input(name), inputs[name]) for name in varied]
            + [units.words(output, says[output.name]) for output in model.outputs]
            for inputs, says in zip(completed, answers, strict=True)
        ]
        fixed = {
            name: value
            for name, value in completed[0].items()
            if all(inputs[name] == value for inputs in completed)
        }
        head = varied + [output.name for output in model.outputs]
        print_table(table(_title(model, fixed, files, units), head, cells, keys=len(varied)))


def _announce(model: "Model", completed: list[dict[str, float]]) -> None:
    """Says on standard error about how long the answers take, if that is long."""
    import numpy as np

    lasts_s = sum(
        bound.lasts_s({name: np.asarray(value) for name, value in inputs.items()})
        for bound in model.bounds
        for inputs in completed
    )
    if lasts_s > _PATIENCE_S:
        say(f"predict {model.name}: about {lasts_s:.0f} s", err=True)


def _in_segments(quantity: "Input | Output", value: float) -> str:
    return f"{value:.6g} segments/s" if quantity.unit == "segments/s" else ""


def _title(model: "Model", fixed: dict[str, float], files: dict[str, Path], units: _Units) -> str:
    conditions = [f"{name} {path}" for name, path in files.items()] + [
        f"{name} {units.words(model.input(name), value)}" for name, value in fixed.items()
    ]
    return f"{model.label}: " + ", ".join([*conditions, f"mss {units.mss_bytes:g} bytes"])


def _solve(
    model: "Model", values: dict[str, list[float]], unknown: str, targets: "dict[str, Output]",
    written: dict[str, str], units: _Units, as_json: bool,
) -> None:  # fmt: skip
    from ackclock.models import NoSolutionError, solve
    from ackclock.table import table

    if len(targets) != 1:
        names = ", ".join(_option(output.name) for output in model.outputs)
        raise InputError(
            "missing", "--solve", f"needs a value for exactly one output; choose from {names}"
        )
    if unknown not in [entry.name for entry in model.inputs]:
        raise InputError.unknown("--solve", "input", unknown, _names(model.inputs))
    [target] = targets.values()
    asked = model.input(unknown)
    wanted = units.read(target, written[target.name])
    rows: list[dict[str, Any]] = []
    questions = [(given, aim) for given in _combinations(values) for aim in wanted]
    with progress(f"predict {model.name}") as tell:
        for given, aim in questions:
            tell(len(rows) / len(questions))
            row = {"inputs": given, "output": target.name, "target": aim, "unknown": unknown}
            try:
                solution = solve(model, unknown, aim, output=target.name, say=units.say, **given)
                rows.append(row | {"values": list(solution.values)})
            except NoSolutionError as error:
                rows.append(row | {"values": [], "why_not": _in_options(str(error), model)})
    if len(rows) == 1 and not rows[0]["values"]:
        raise InputError("no-solution", target.name, rows[0]["why_not"])
    if as_json:
        _print_as_json(model, units, rows)
        return
    varied = [name for name, several in values.items() if len(several) > 1]
    cells = [
        [units.words(model.input(name), row["inputs"][name]) for name in varied]
        + [units.words(target, row["target"])]
        + [" or ".join(units.words(asked, value) for value in row["values"]) or row["why_not"]]
        for row in rows
    ]
    fixed = {name: several[0] for name, several in values.items() if name not in varied}
    print_table(table(_title(model, fixed, {}, units), [*varied, target.name, unknown], cells))


def _names(records: "Iterable[Input]") -> list[str]:
    return [record.name.replace("_", "-") for record in records]


def _print_as_json(model: "Model", units: _Units, answers: list[dict[str, Any]]) -> None:
    """Prints the values with the model's units; an infinite input is `unlimited`."""
    for answer in answers:
        answer["inputs"] = {
            name: "unlimited" if value == inf else value for name, value in answer["inputs"].items()
        }
    named = {entry.name: entry.unit for entry in model.inputs} | {
        entry.name: entry.unit for entry in model.outputs
    }
    print_json(
        {"model": model.name, "mss_bytes": units.mss_bytes, "units": named, "answers": answers}
    )
