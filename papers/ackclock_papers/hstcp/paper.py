"""Common parts of Reddy's figures 14 to 17, whose section IV restates Barman and others."""

from functools import partial

from ackclock.reproduction import Basis, Origin, Setting, figure

GROUP = "hstcp"
SOURCE = (
    'D. A. M. Reddy, "Influence of router buffer size on TCP execution" (figures 14 to 17), of the '
    'fixed points of D. Barman, G. Smaragdakis, I. Matta, "The effect of router buffer size on '
    'HighSpeed TCP performance", IEEE Globecom, 2004'
)

#: Makes the record of a figure from Reddy's number.
entry = partial(figure, GROUP, SOURCE)

#: Choices common to all figures, in short.
GUESSES = "TCP beside its control, starts and lengths of runs guessed"


def basis(why: str = "") -> Basis:
    """Returns the basis of the verdicts: what was chosen, and why some claims do not hold."""
    return Basis(GUESSES, why)


def stated(**settings: str) -> tuple[Setting, ...]:
    """Returns printed settings, by name with underscores for blanks."""
    return _settings(Origin.PRINTED, settings)


def guessed(**settings: str) -> tuple[Setting, ...]:
    """Returns guessed settings, by name with underscores for blanks."""
    return _settings(Origin.GUESSED, settings)


def _settings(origin: Origin, settings: dict[str, str]) -> tuple[Setting, ...]:
    return tuple(Setting(name.replace("_", " "), value, origin) for name, value in settings.items())
