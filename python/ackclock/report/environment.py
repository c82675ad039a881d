"""The Jinja environment with the templates of pages."""

import jinja2


def environment(*more: str) -> jinja2.Environment:
    """Returns an environment that escapes its input.

    It finds templates in this folder and in those of other packages.

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
