"""The command `completion`."""

import click
from click.shell_completion import get_completion_class


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> int:
    """Print what makes a shell complete ackclock's arguments.

    Verbs, options, files, names of controls, metrics and experiments, and paths of `--set`.

    \b
    Example:
      eval "$(ackclock completion bash)"            # in ~/.bashrc
      eval "$(ackclock completion zsh)"             # in ~/.zshrc
      ackclock completion fish | source             # in config.fish
    """
    from ackclock.cli import cli

    shell_class = get_completion_class(shell)
    assert shell_class is not None, "the choice names shells that click knows"
    click.echo(shell_class(cli, {}, "ackclock", "_ACKCLOCK_COMPLETE").source())
    return 0
