"""Where the pages' templates are."""

import jinja2


def environment() -> jinja2.Environment:
    """For templates in this folder: everything that is filled in is escaped, a missing value is an error."""
    return jinja2.Environment(
        loader=jinja2.PackageLoader("ackclock", "report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
