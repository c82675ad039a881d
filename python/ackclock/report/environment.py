"""Where the pages' templates are."""

import jinja2


def environment(*more: str) -> jinja2.Environment:
    """Finds templates in this folder and in those of other packages; escapes what is filled in.

    Args:
        more: Names of other packages of ackclock that hold templates in their folder.
    """
    return jinja2.Environment(
        loader=jinja2.ChoiceLoader(
            [jinja2.PackageLoader("ackclock", place) for place in ("report", *more)]
        ),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
