"""How a command ends: an exit code, and one line on standard error if something is wrong."""

import errno
import sys
from typing import Any, NoReturn

import click

from ackclock.engine import CaptureError, LackingError
from ackclock.scenario import ScenarioError

BAD_INPUT, LACKING, UNTRUSTWORTHY, INTERRUPTED = 2, 3, 4, 130

# A file cannot be read or written there, which another path remedies; the rest is the machine's.
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


class Commands(click.Group):
    """A group whose errors are one line and an exit code."""

    def main(self, *arguments: Any, **options: Any) -> NoReturn:
        """Runs a command and exits with its code; arguments as for click."""
        options["standalone_mode"] = False
        try:
            code = super().main(*arguments, **options)
        except click.exceptions.NoArgsIsHelpError as error:
            click.echo(error.format_message())
            code = BAD_INPUT
        except click.ClickException as error:
            code = complain(_worded(error), BAD_INPUT)
        except (ScenarioError, CaptureError, LackingError) as error:
            code = complain(str(error), LACKING if isinstance(error, LackingError) else BAD_INPUT)
        except (KeyboardInterrupt, click.Abort) as error:
            # Click's Abort has the interrupt as its cause.
            code = complain(str(error.__cause__ or error) or "interrupted; nothing was written", INTERRUPTED)
        except BrokenPipeError:  # the reader of our output has seen enough
            sys.stderr.close()
            code = 0
        except ImportError as error:
            code = complain(f"{error.name} cannot be imported; install it: pip install {error.name}", LACKING)
        except OSError as error:
            code = _complain_of_system(error)
        except BaseException as error:
            # The engine's own assertions (conservation, causality) arrive as a panic.
            if type(error).__name__ != "PanicException":
                raise
            code = complain(f"the engine contradicts itself, please report it: {error}", UNTRUSTWORTHY)
        sys.exit(code if isinstance(code, int) else 0)


def _worded(error: click.ClickException) -> str:
    """Click's complaints in our form: what, what is wrong with it; what to do."""
    if isinstance(error, click.MissingParameter) and error.param is not None:
        command = error.ctx.command_path if error.ctx else "ackclock"
        return f"{_name(error.param)}: is missing; see {command} --help"
    if isinstance(error, click.NoSuchOption):
        command = error.ctx.command_path if error.ctx else "ackclock"
        near = " or ".join(sorted(error.possibilities or ()))
        return f"{error.option_name}: no such option; {f'did you mean {near}?' if near else f'see {command} --help'}"
    if isinstance(error, click.BadParameter) and error.param is not None:
        return f"{_name(error.param)}: {error.message}"
    return error.format_message()


def _name(known: click.Parameter) -> str:
    return known.opts[0] if isinstance(known, click.Option) else known.human_readable_name.upper()


def _complain_of_system(error: OSError) -> int:
    if error.errno is None:  # one of ours, worded already
        return complain(str(error), BAD_INPUT)
    plainer = {errno.EEXIST: "is a file", errno.ENOTDIR: "leads through a file"}  # where a folder was wanted
    reason = f"{error.filename or 'this machine'}: {plainer.get(error.errno, error.strerror)}"
    if error.filename and error.errno in _BAD_PATH:
        return complain(f"{reason}; choose another place", BAD_INPUT)
    return complain(reason, LACKING)


def complain(message: str, code: int) -> int:
    """Prints the message as one line, and gives the code."""
    click.echo(f"ackclock: {' '.join(message.split())}", err=True)
    return code
