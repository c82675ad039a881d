"""The command `lab`: a page with sliders, served here, exported, or as a link."""

import threading
from pathlib import Path
from typing import Any

import click

from ackclock.cli.errors import Commands
from ackclock.cli.one_link import ONE_LINK, described, link_options
from ackclock.cli.options import changed_scenario_or_link, output_option, read_scenario
from ackclock.cli.output import say
from ackclock.cli.place import claim, force_option
from ackclock.errors import InputError, LackingError
from ackclock.result.folder import refuse_unwritable_folder

#: Template of the page without a scenario.
_TEMPLATE = "one-link"
_OPEN = "open"


class _Lab(Commands):
    """A group whose command without a name opens a page."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args[:1] not in [["-h"], ["--help"]] and not set(args[:1]) & set(self.commands):
            args = [_OPEN, *args]
        return super().parse_args(ctx, args)


@click.group(cls=_Lab)
def lab() -> None:
    """Open a scenario as a page with sliders.

    ackclock lab SCENARIO serves the page on this machine until Ctrl-C and opens it in a browser.
    SCENARIO may be a link; without one, the page shows a template. The page runs the engine
    itself, so that figures follow a slider. Its address holds the experiment: copy the link to
    share it.

    \b
    Example:
      ackclock lab examples/first.toml
      ackclock lab export examples/first.toml -o page
      ackclock lab link examples/first.toml
    """


@lab.command(_OPEN)
@click.argument("scenario", required=False)
@click.option(
    "--set", "assignments", multiple=True, metavar="PATH=VALUE",
    help="Another value for a field of the scenario; may be repeated.",
)  # fmt: skip
@link_options
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0,
    help="Port to listen on.  [default: any free one]",
)  # fmt: skip
@click.option("--no-browser", is_flag=True, help="Print the address only.")
@click.option(
    "--save", "saved", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
    help="File, .toml, that the page may write its scenario to.",
)  # fmt: skip
@force_option
def open_page(
    scenario: str | None, assignments: tuple[str, ...], port: int, no_browser: bool,
    saved: Path | None, force: bool,
) -> None:  # fmt: skip
    """Serve the page of a scenario, or of a link, on this machine.

    \b
    Example:
      ackclock lab examples/first.toml --no-browser
    """
    from ackclock.laboratory import page
    from ackclock.laboratory.links import is_address
    from ackclock.laboratory.server import LabServer

    if saved is not None:
        _claim_file(saved, force=force)
    link = ""
    if scenario is None and (described() or assignments):
        begin = _beginning(ONE_LINK, assignments, None, saved)
    elif scenario is None:
        begin = _template(saved)
    elif is_address(scenario):
        begin, link = _linked(scenario, saved)
    else:
        begin = _beginning(Path(scenario), assignments, None, saved)
    try:
        serving = LabServer(begin, port)
    except OSError as error:
        words = f"{port}: {error.strerror}; choose another port, or none for a free one"
        raise LackingError("lacking", "--port", words) from None
    with serving as server:
        if not page.digest():
            say(
                "this installation has no engine for pages: runs are slower, made here; in the "
                "sources, `make lab` builds it",
                err=True,
            )
        address = f"{server.address}{link}"
        say(address)
        say("Ctrl-C ends it", err=True)
        if not no_browser:
            import webbrowser

            webbrowser.open(address)
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        try:
            thread.start()
            while thread.is_alive():
                thread.join(1)
        except KeyboardInterrupt:
            server.shutdown()


@lab.command()
@changed_scenario_or_link
@output_option("Folder.", "page")
@force_option
def export(
    scenario: Path, assignments: tuple[str, ...], seed: int | None, output: Path | None, force: bool
) -> None:
    """Write the page of a scenario as a folder for any web server.

    The folder holds the engine; it needs no Python. Browsers do not open it as a file:
    python -m http.server serves it.

    \b
    Example:
      ackclock lab export examples/first.toml -o page
    """
    from ackclock.laboratory import page

    begin = _beginning(scenario, assignments, seed)
    folder = claim(output, Path("page"), force=force, may_hold=page.PAGE, repeatable=lambda _: True)
    page.export(begin, folder)
    say(f"{folder}")
    say(f"to look at it: python -m http.server --directory {folder}", err=True)


@lab.command()
@changed_scenario_or_link
def link(scenario: Path, assignments: tuple[str, ...], seed: int | None) -> None:
    """Print a scenario as the part of a page's address from `#` on.

    \b
    Example:
      ackclock lab link examples/first.toml
    """
    from ackclock.laboratory import page
    from ackclock.laboratory.links import LabState, encode

    read = read_scenario(scenario, assignments, seed, None)
    say(encode(LabState(read.tree, engine=page.engine_of_page())))


def _claim_file(path: Path, *, force: bool) -> None:
    """Refuses a file that may not or cannot be written, before a page is served."""
    if path.suffix != ".toml":
        raise InputError("out-of-range", "--save", f"{path}: does not end in .toml; rename it")
    if path.exists() and not force:
        raise InputError(
            "file", f"{path}", "is there; choose another file, or replace it with --force"
        )
    refuse_unwritable_folder(path)


def _beginning(
    path: Path, assignments: tuple[str, ...], seed: int | None, saved: Path | None = None
) -> Any:
    from ackclock.laboratory import page

    options = [word for name, text in described().items() for word in (f"--{name}", text)]
    options += [word for text in assignments for word in ("--set", text)]
    options += [] if seed is None else ["--seed", str(seed)]
    read = read_scenario(path, assignments, seed, None)
    return page.beginning(str(path), read, options=tuple(options), saved=saved)


def _linked(address: str, saved: Path | None) -> tuple[Any, str]:
    """Returns the scenario of a link, and the link."""
    from ackclock.laboratory import page
    from ackclock.laboratory.links import PREFIX, decode

    state = decode(address)
    for changes in (state.changes, state.changes | (state.other or {})):
        state.opened().replace(changes).check()
    link = f"{PREFIX}{address.partition(PREFIX)[2]}"
    begin = page.beginning("scenario.toml", state.opened(), {}, saved=saved)
    return begin, link


def _template(saved: Path | None) -> Any:
    from ackclock.laboratory import page
    from ackclock.scenario import Scenario, templates

    template = templates.template(_TEMPLATE)
    scenario = Scenario.from_toml(template.text)
    return page.beginning(f"{template.name}.toml", scenario, template.files, saved=saved)
