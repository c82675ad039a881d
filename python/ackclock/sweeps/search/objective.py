"""Objectives: arithmetic with metrics of named flows and hops, such as `goodput(b)/goodput(a)`."""

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ackclock.errors import InputError, suggestion
from ackclock.metrics import METRICS

#: Name of a metric, and of a flow or hop.
Measure = tuple[str, str]

_OPERATORS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
}
_FUNCTIONS: dict[str, Callable[..., float]] = {"min": min, "max": max, "abs": abs}
_EXAMPLE = "for example goodput(b)/goodput(a)"


@dataclass(frozen=True)
class Objective:
    """An expression.

    Attributes:
        text: As written.
        measures: The metrics in it, in order of appearance.
    """

    text: str
    measures: tuple[Measure, ...]
    _tree: ast.expr

    def value(self, values: Mapping[Measure, float]) -> float:
        """Returns the value for one run; NaN if a metric is unknown, infinite after x/0."""
        return _value(self._tree, values)


def parse(text: str) -> Objective:
    """Reads an expression of metrics, numbers, `+ - * /`, `min`, `max` and `abs`.

    Raises:
        InputError: It is something else, or a metric is unknown.
    """
    try:
        # The names of flows may have hyphens, which Python's names have not.
        tree = ast.parse(_quoted(text), mode="eval").body
    except SyntaxError:
        raise _refused(text, "is not an expression") from None
    measures: dict[Measure, None] = {}
    _check(tree, text, measures)
    if not measures:
        raise _refused(text, "has no metric")
    return Objective(text, tuple(measures), tree)


def _quoted(text: str) -> str:
    """Puts what stands in the brackets of a metric into quotes."""
    names = "|".join(METRICS)
    return re.sub(
        rf"(?<![\w.])({names})\(([^()'\"]*)\)",
        lambda match: f"{match[1]}({match[2].strip()!r})",
        text,
    )


def _check(node: ast.expr, text: str, measures: dict[Measure, None]) -> None:
    match node:
        case ast.Constant(value=bool()):
            raise _refused(text, "is not an expression of numbers")
        case ast.Constant(value=int() | float()):
            return
        case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=operand):
            _check(operand, text, measures)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div(), right=right):
            _check(left, text, measures)
            _check(right, text, measures)
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if (
            name in _FUNCTIONS and arguments
        ):
            for argument in arguments:
                _check(argument, text, measures)
        case ast.Call(
            func=ast.Name(id=name), args=[ast.Constant(value=str() as subject)], keywords=[]
        ) if name in METRICS:
            measures[name, subject] = None
        case ast.Call(func=ast.Name(id=name)):
            choices = list(METRICS)
            raise InputError(
                "unknown-name", "",
                f'unknown metric "{name}" in "{text}"; {suggestion(name, choices)}', text,
            )  # fmt: skip
        case ast.Name(id=name):
            raise _refused(text, f"does not say whose {name} it is")
        case _:
            raise _refused(text, "is not an expression of metrics and numbers")


def _refused(text: str, why: str) -> InputError:
    return InputError("syntax", "", f'"{text}" {why}; {_EXAMPLE}', text)


def _value(node: ast.expr, values: Mapping[Measure, float]) -> float:
    match node:
        case ast.Constant(value=int() | float() as number):
            return float(number)
        case ast.UnaryOp(op=sign, operand=operand):
            value = _value(operand, values)
            return -value if isinstance(sign, ast.USub) else value
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            return _quotient(_value(left, values), _value(right, values))
        case ast.BinOp(left=left, op=sign, right=right):
            return _OPERATORS[type(sign)](_value(left, values), _value(right, values))
        case ast.Call(func=ast.Name(id=name), args=[ast.Constant(value=str() as subject)]):
            return values.get((name, subject), math.nan)
        case ast.Call(func=ast.Name(id=name), args=arguments):
            operands = [_value(argument, values) for argument in arguments]
            return math.nan if any(map(math.isnan, operands)) else _FUNCTIONS[name](*operands)
    raise AssertionError(ast.dump(node))


def _quotient(above: float, below: float) -> float:
    if below != 0:
        return above / below
    return math.nan if above == 0 or math.isnan(above) else math.copysign(math.inf, above)
