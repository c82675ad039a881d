"""The command `doctor`."""

import click

from ackclock.cli.errors import LACKING, complain
from ackclock.cli.options import json_option
from ackclock.cli.output import print_json, print_table


@click.command()
@json_option
def doctor(as_json: bool) -> int:
    """Check what this machine needs for emulation.

    Tries everything briefly, in namespaces of its own. The exit code is 3 if emulation is not
    possible.

    \b
    Example:
      ackclock doctor --json
    """
    from ackclock.run import doctor

    examination = doctor.examine()
    if as_json:
        print_json(examination)
    else:
        print_table(doctor.findings_table(examination))
    if examination["emulation"]:
        return 0
    return complain(doctor.complaint(examination), LACKING)
