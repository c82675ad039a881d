"""What the entries of this paper share. It could be had as a later account of it only, which numbers its figures."""

from functools import partial

from ackclock.reproduction import Kind, Origin, Setting, Verdict, figure

GROUP = "hstcp"
SOURCE = (
    'D. Barman, G. Smaragdakis, I. Matta, "The effect of router buffer size on HighSpeed TCP performance", '
    "IEEE Globecom, 2004"
)

#: The record of a figure, by the number that the later account gives it.
entry = partial(figure, GROUP, SOURCE)

#: What was chosen for all figures, in short.
GUESSES = "TCP beside its control, starts and lengths of runs guessed"


def reading(exceptions: str = "") -> Verdict:
    """The verdict on a figure of which what is said comes out, except for some of it: under what was chosen."""
    return Verdict(Kind.READING, GUESSES, exceptions)


def stated(**settings: str) -> tuple[Setting, ...]:
    """What the paper says, by name with blanks for underscores."""
    return _settings(Origin.PRINTED, settings)


def guessed(**settings: str) -> tuple[Setting, ...]:
    """What it does not say."""
    return _settings(Origin.GUESSED, settings)


def _settings(origin: Origin, settings: dict[str, str]) -> tuple[Setting, ...]:
    return tuple(Setting(name.replace("_", " "), value, origin) for name, value in settings.items())
