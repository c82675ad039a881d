"""The end of a command: an exit code, and one line on standard error if something is wrong."""

import contextlib
import errno
import json
import re
import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from types import TracebackType
from typing import Any, NoReturn, TextIO

import click

from ackclock.cli.output import say
from ackclock.cli.repeated import check_repeated
from ackclock.errors import InputError, LackingError, ScenarioError, suggestion
from ackclock.plugins import PluginWarning

BAD_INPUT, LACKING, UNRELIABLE, INTERRUPTED = 2, 3, 4, 130

# Errors of reading or writing a path, which another path remedies. Others concern the machine.
_BAD_PATH = frozenset(
    {
        errno.EACCES,
        errno.EPERM,
        errno.EROFS,
        errno.ENOENT,
        errno.EEXIST,
        errno.ENOTDIR,
        errno.EISDIR,
        errno.ENAMETOOLONG,
    }
)


# Errors that say something to the user even after an interrupt.
_WORDED = (InputError, LackingError, OSError, KeyboardInterrupt, click.Abort, click.ClickException)


class Endings:
    """Signals that end a command, so that it keeps what it has.

    Attributes:
        number: Number of the first signal that came; None if none did.
    """

    def __init__(self) -> None:
        self.number: int | None = None

    @contextlib.contextmanager
    def heeded(self) -> Iterator[None]:
        """Makes signals interrupt the body as Ctrl-C does, unless they are ignored or handled."""
        main = threading.current_thread() is threading.main_thread()
        names = [name for name in ("SIGINT", "SIGTERM", "SIGHUP") if main and hasattr(signal, name)]
        before = {getattr(signal, name): signal.getsignal(getattr(signal, name)) for name in names}
        usual = (signal.SIG_DFL, signal.default_int_handler)
        ours = {number: handler for number, handler in before.items() if handler in usual}
        try:
            for number in ours:
                signal.signal(number, self._interrupt)
            yield
        finally:
            for number, handler in ours.items():
                signal.signal(number, handler)

    def _interrupt(self, number: int, _frame: object) -> None:
        again = self.number is not None
        if not again:
            self.number = number
        # Only Ctrl-C interrupts the work of keeping results.
        if number == signal.SIGINT or not again:
            raise KeyboardInterrupt

    def code(self, code: object) -> int:
        """Returns the exit code; for an interrupted command, that of the signal."""
        if code == INTERRUPTED and self.number is not None:
            return 128 + self.number
        return code if isinstance(code, int) else 0


class Commands(click.Group):
    """A group whose errors are one line and an exit code.

    With `--json` they are also an object on standard output.
    """

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Returns the command that arguments name; refuses an option that is given twice."""
        name, command, rest = super().resolve_command(ctx, args)
        if command is not None:
            check_repeated(command, rest)
        return name, command, rest

    def main(self, *arguments: Any, **options: Any) -> NoReturn:
        """Runs a command and exits with its code, with the error as the cause of the exit.

        Arguments are those of click.
        """
        options["standalone_mode"] = False
        cause: BaseException | None = None
        endings = Endings()
        try:
            with endings.heeded(), _interrupts_unprinted(), _warnings_as_lines():
                code = super().main(*arguments, **options)
        except click.exceptions.NoArgsIsHelpError as error:
            say(error.format_message())
            code = BAD_INPUT
        except BrokenPipeError:  # The reader of our output has stopped reading.
            sys.stderr.close()
            code = 0
        except BaseException as error:
            cause, code = _read(error, interrupted=endings.number is not None)
            for line in _lines(cause):
                say(line, err=True)
            if "--json" in (options.get("args") or next(iter(arguments), None) or sys.argv[1:]):
                _print_as_json(cause)
        raise SystemExit(endings.code(code)) from cause


@contextlib.contextmanager
def _interrupts_unprinted() -> Iterator[None]:
    """Prints no trace of an interrupt; NumPy's `import_array` does before it raises an error."""
    before = sys.excepthook

    def show(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if not issubclass(kind, KeyboardInterrupt):
            before(kind, error, trace)

    sys.excepthook = show
    try:
        yield
    finally:
        sys.excepthook = before


@contextlib.contextmanager
def _warnings_as_lines() -> Iterator[None]:
    """Says a warning about another package's records in one line on standard error."""
    before = warnings.showwarning

    def show(
        message: Warning | str, category: type[Warning], filename: str, lineno: int,
        file: TextIO | None = None, line: str | None = None,
    ) -> None:  # fmt: skip
        if issubclass(category, PluginWarning):
            say(f"ackclock: {message}", err=True)
        else:
            before(message, category, filename, lineno, file, line)

    warnings.showwarning = show
    try:
        yield
    finally:
        warnings.showwarning = before


def _read(error: BaseException, *, interrupted: bool) -> tuple[InputError | LackingError, int]:
    """Returns an error in our form and its exit code.

    Args:
        error: Any error that ends a command.
        interrupted: True if a signal came before it.

    Raises:
        BaseException: The error, if it is a bug of ackclock.
    """
    # Compiled modules, above all during their import, turn an interrupt into errors of their own.
    interrupted = interrupted or isinstance(error.__cause__, KeyboardInterrupt)
    if interrupted and not isinstance(error, _WORDED):
        error = KeyboardInterrupt()
    match error:
        case InputError():
            return error, BAD_INPUT
        case LackingError():
            return error, LACKING
        case click.Abort() | KeyboardInterrupt():
            # Click's Abort has the interrupt as its cause.
            words = str(error.__cause__ or error) or "interrupted; nothing was written"
            return InputError("interrupted", "", words), INTERRUPTED
        case click.ClickException():
            return _of_click(error), BAD_INPUT
        case ImportError():
            words = f"{error.name} cannot be imported; install it: pip install {error.name}"
            return LackingError("lacking", "", words), LACKING
        case OSError():
            return _of_system(error)
    # The engine's own assertions (conservation, causality) arrive as a panic.
    if type(error).__name__ == "PanicException":
        return InputError("internal", "", f"internal error, please report: {error}"), UNRELIABLE
    raise error


def _lines(error: InputError | LackingError) -> list[str]:
    """One line for each mistake, those in a file in its order and as compilers write them."""
    every = error.errors if isinstance(error, ScenarioError) else (error,)
    placed = sorted(
        (int(match[1]), int(match[2]), str(mistake))
        for mistake in every
        if isinstance(mistake, ScenarioError) and (match := _POSITION.search(mistake.place))
    )
    others = [
        f"ackclock: {mistake}"
        for mistake in every
        if not (isinstance(mistake, ScenarioError) and _POSITION.search(mistake.place))
    ]
    return [" ".join(line.split()) for line in (*others, *(line for *_, line in placed))]


# The end of a place in a file.
_POSITION = re.compile(r":(\d+):(\d+)$")


def _of_click(error: click.ClickException) -> InputError:
    """Returns an error of click in our form."""
    command = (
        error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx else "ackclock"
    )
    match error:
        case click.MissingParameter(param=click.Parameter() as known):
            return InputError("missing", _name(known), f"is missing; see {command} --help")
        case click.NoSuchOption():
            near = " or ".join(sorted(error.possibilities or ()))
            remedy = f"did you mean {near}?" if near else f"see {command} --help"
            return InputError("unknown-field", error.option_name, f"unknown option; {remedy}")
        case click.exceptions.NoSuchCommand():
            known_commands = (
                error.ctx.command.list_commands(error.ctx)
                if error.ctx is not None and isinstance(error.ctx.command, click.Group)
                else []
            )
            remedy = suggestion(error.command_name, known_commands, f"see {command} --help")
            if "run" in known_commands and _is_scenario(error.command_name):
                remedy = f"say {command} run {error.command_name}"
            return InputError(
                "unknown-name", "", f'unknown command "{error.command_name}"; {remedy}'
            )
        case click.BadParameter(param=click.Parameter() as known):
            return InputError(
                _CODES.get(type(known.type), "wrong-type"), _name(known), _wrong(known, error)
            )
    return InputError("syntax", "", _plain(error.format_message()))


def _is_scenario(word: str) -> bool:
    return word.endswith((".toml", ".json"))


def _wrong(parameter: click.Parameter, error: click.BadParameter) -> str:
    """Click's sentence about a value in our form."""
    quoted = _QUOTED.match(error.message)
    written = quoted[1] if quoted else ""
    match parameter.type:
        case click.Choice() as choice if quoted:
            names = [str(option) for option in choice.choices]
            return f'unknown {_noun(parameter)} "{written}"; {suggestion(written, names)}'
        case click.types.IntRange() | click.types.FloatRange() as span:
            whole = "a whole number" if isinstance(span, click.types.IntRange) else "a number"
            written = written or error.message.split(" ", 1)[0]
            if span.max is None:
                return f'"{written}" is not {whole} of {span.min} or more'
            return f'"{written}" is not {whole} from {span.min} to {span.max}'
        case click.types.IntParamType() | click.types.FloatParamType() if quoted:
            return f'"{written}" is not a number'
        case click.Path() if quoted is None and (place := _PATH.match(error.message)):
            noun, path, why = place.groups()
            if why == "does not exist":
                return f'no such {noun.lower()} "{path}"'
            return f'"{path}" {why}'
    return _plain(error.message)


# The value in click's "'x' is not one of 'a', 'b'." and the path in "File 'x' does not exist."
_QUOTED = re.compile(r"'(.*?)' is ")
_PATH = re.compile(r"(\w+) '(.*)' (.*?)\.?")


def _noun(parameter: click.Parameter) -> str:
    return (parameter.human_readable_name or "value").lower().replace("_", " ").replace("-", " ")


def _plain(sentence: str) -> str:
    """Click's sentence without capital and full stop, as ours are."""
    return (sentence[:1].lower() + sentence[1:]).removesuffix(".")


# Codes of errors by the type of the option that click rejects.
_CODES = {
    click.Choice: "unknown-name",
    click.IntRange: "out-of-range",
    click.FloatRange: "out-of-range",
    click.Path: "file",
}


def _name(parameter: click.Parameter) -> str:
    return (
        parameter.opts[0]
        if isinstance(parameter, click.Option)
        else parameter.human_readable_name.removesuffix("...").upper()
    )


def _of_system(error: OSError) -> tuple[InputError | LackingError, int]:
    if error.errno is None:  # An error of the engine, already worded.
        return InputError("file", "", str(error)), BAD_INPUT
    plainer = {
        errno.EEXIST: "is a file",
        errno.ENOTDIR: "leads through a file",
        errno.ENOENT: "no such file or folder",
        errno.EACCES: "permission denied",
        errno.EISDIR: "is a folder",
    }  # A folder was expected.
    place, reason = str(error.filename or "this machine"), plainer.get(error.errno, error.strerror)
    if error.filename and error.errno in _BAD_PATH:
        return InputError("file", place, f"{reason}; choose another place"), BAD_INPUT
    return LackingError("file", place, f"{reason}"), LACKING


def _print_as_json(error: InputError | LackingError) -> None:
    printed: dict[str, Any] = {"error": _parts(error)}
    if isinstance(error, ScenarioError) and len(error.errors) > 1:
        printed["errors"] = [_parts(mistake) for mistake in error.errors]
    click.echo(json.dumps(printed, ensure_ascii=False))


def _parts(error: InputError | LackingError) -> dict[str, str]:
    parts = {"code": error.code, "field": error.field, "message": error.message}
    if isinstance(error, ScenarioError) and error.place:
        parts["place"] = error.place
    return parts


def complain(message: str, code: int) -> int:
    """Prints the message as one line; returns the code."""
    say(f"ackclock: {' '.join(message.split())}", err=True)
    return code
