"""``headend completion``: the script with which a shell completes commands, options and names."""

from __future__ import annotations

import click

from headend.cli.commands import COMPLETE, PROGRAM, Command, argument
from headend.cli.terminal import print_text

SHELLS = ("bash", "zsh", "fish")


@click.command("completion", cls=Command)
@argument(
    "shell",
    metavar="SHELL",
    help="bash, zsh or fish.",
    hint="SHELL is bash, zsh or fish",
    type=click.Choice(SHELLS),
)
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the script with which a shell completes commands, options and names.

    For bash, add this line to ~/.bashrc:

        eval "$(headend completion bash)"

    For zsh, add this line to ~/.zshrc, after compinit:

        eval "$(headend completion zsh)"

    For fish, run this once:

        headend completion fish > ~/.config/fish/completions/headend.fish
    """
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind
    print_text(kind(context.find_root().command, {}, PROGRAM, COMPLETE).source())
