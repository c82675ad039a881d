"""What the entries share: figures 14 to 17 of Reddy's paper, whose section IV restates Barman and others."""

from functools import partial

from ackclock.reproduction import Basis, Origin, Setting, figure

GROUP = "hstcp"
SOURCE = (
    'D. A. M. Reddy, "Influence of router buffer size on TCP execution" (figures 14 to 17), of the '
    'fixed points of D. Barman, G. Smaragdakis, I. Matta, "The effect of router buffer size on '
    'HighSpeed TCP performance", IEEE Globecom, 2004'
)

#: The record of a figure, by Reddy's number.
entry = partial(figure, GROUP, SOURCE)

#: What was chosen for all figures, in short.
GUESSES = "TCP beside its control, starts and lengths of runs guessed"


def basis(why: str = "") -> Basis:
    """What verdicts rest on: what was chosen; and why what does not come out does not."""
    return Basis(GUESSES, why)


def stated(**settings: str) -> tuple[Setting, ...]:
    """What the paper says, by name with blanks for underscores."""
    return _settings(Origin.PRINTED, settings)


def guessed(**settings: str) -> tuple[Setting, ...]:
    """What it does not say."""
    return _settings(Origin.GUESSED, settings)


def _settings(origin: Origin, settings: dict[str, str]) -> tuple[Setting, ...]:
    return tuple(Setting(name.replace("_", " "), value, origin) for name, value in settings.items())
