"""Completion of arguments, as a shell asks for it."""

from pathlib import Path

import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner

from ackclock.cli import cli

FIRST = Path(__file__).parents[1] / "examples" / "first.toml"


def completed(*arguments: str) -> list[str]:
    """Returns what a shell offers for the last of the arguments."""
    shell = ShellComplete(cli, {}, "ackclock", "_ACKCLOCK_COMPLETE")
    *before, begun = arguments
    return [item.value for item in shell.get_completions(list(before), begun)]


@pytest.mark.parametrize(
    ("arguments", "offered"),
    [
        (["complet"], "completion"),
        (["evaluate", "bb"], "bbr3"),
        (["reproduce", "westwood-figure-1"], "westwood-figure-18"),
        (["table", "out/first", "queueing"], "queueing_delay"),
        (["compare", "first.toml", "--metrics", "goodput,queueing"], "goodput,queueing_delay"),
        (["predict", "first.toml", "--models", "mat"], "mathis"),
        (["plot", "out/first", "--kind", "cw"], "cwnd"),
        (["show", "queues", "co"], "codel"),
        (["simulate", str(FIRST), "--set", "hops.bottleneck.q"], "hops.bottleneck.queue.limit"),
        (["sweep", "run", str(FIRST), "--set", "flows.download.tr"],
         "flows.download.transport.control.kind"),
    ],
)  # fmt: skip
def test_names_and_fields_are_offered(arguments: list[str], offered: str) -> None:
    offers = completed(*arguments)
    assert offered in offers
    assert all(offer.startswith(arguments[-1]) for offer in offers)


@pytest.mark.parametrize(
    "arguments",
    [
        ["simulate", "none.toml", "--set", "hops"],
        ["simulate", str(FIRST), "--set", "seed=1"],
        ["simulate", "--set", "hops"],
    ],
)
def test_what_cannot_be_known_offers_nothing(arguments: list[str]) -> None:
    assert completed(*arguments) == []


def test_a_broken_scenario_offers_nothing(tmp_path: Path) -> None:
    broken = tmp_path / "broken.toml"
    broken.write_text("schema = ", encoding="utf-8")
    assert completed("simulate", str(broken), "--set", "hops") == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell_is_printed(shell: str) -> None:
    printed = CliRunner().invoke(cli, ["completion", shell])
    assert printed.exit_code == 0
    assert f"_ACKCLOCK_COMPLETE={shell}_complete" in printed.stdout
