"""The command `doctor`."""

import click

from ackclock.cli.errors import LACKING, complain
from ackclock.cli.options import json_option
from ackclock.cli.output import print_json, print_table


@click.command()
@click.argument("topic", type=click.Choice(["l4s"]), required=False)
@json_option
def doctor(topic: str | None, as_json: bool) -> int:
    """Check what this machine needs for emulation.

    Tries everything briefly, in namespaces of its own. The exit code is 3 if emulation is not
    possible. With the topic l4s, check if the kernel's TCP can take part in an L4S experiment.

    \b
    Example:
      ackclock doctor --json
      ackclock doctor l4s
    """
    from ackclock.run import doctor

    if topic == "l4s":
        examination, subject = doctor.examine_l4s(), "emulation of L4S"
    else:
        examination, subject = doctor.examine(), "emulation"
    if as_json:
        print_json(examination)
    else:
        print_table(doctor.findings_table(examination, subject))
    if examination["emulation"]:
        return 0
    return complain(doctor.complaint(examination, subject), LACKING)
