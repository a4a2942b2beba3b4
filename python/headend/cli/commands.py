"""The classes of commands and groups: commands imported on first use, help, errors in one line."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, NamedTuple, cast

import click
from click.exceptions import Abort, Exit, NoArgsIsHelpError, NoSuchOption

from headend.cli.terminal import (
    ExitCode,
    answer_errors,
    close_output,
    fail,
    finish_output,
    make_messages,
    print_error,
    refuse_output,
)

#: The name of the program, also when it is started with python -m.
PROGRAM = "headend"

#: The environment variable with which a shell asks for completions.
COMPLETE = "_HEADEND_COMPLETE"


class Argument(click.Argument):
    """An argument with help."""

    def __init__(self, declarations: Sequence[str], **settings: Any) -> None:
        about = settings.pop("help")
        super().__init__(declarations, **settings)
        self.help = about


#: Declares an argument of a command, as :func:`click.option` declares an option.
argument = functools.partial(click.argument, cls=Argument)


class Command(click.Command):
    """A command whose errors are one line."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        with answer_errors(ctx.params.values(), as_json=bool(ctx.params.get("as_json"))):
            return super().invoke(ctx)

    def get_help(self, ctx: click.Context) -> str:
        """Write the help."""
        from headend.cli.help import write_help

        return write_help(self, ctx)


class Elsewhere(NamedTuple):
    """A command that is imported on first use.

    Parameters
    ----------
    place
        Its module and its name in it, such as ``"headend.cli.run:run"``.
    help
        The first paragraph of its help, for the list of commands; an empty text hides the command from the list.
    """

    place: str
    help: str = ""


class Commands(click.Group):
    """A group of commands in a fixed order; an unknown command is refused with the nearest name.

    Parameters
    ----------
    sections
        Commands that are imported on first use, by the heading under which the help lists them.
    """

    command_class = Command

    def __init__(
        self,
        *args: Any,
        sections: Mapping[str, Mapping[str, Elsewhere]] | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(*args, **settings)
        self.sections = sections or {}
        self.elsewhere = {
            name: place for section in self.sections.values() for name, place in section.items()
        }

    def list_commands(self, ctx: click.Context) -> list[str]:
        """List the commands in the order of their declaration."""
        listed = [name for name, place in self.elsewhere.items() if place.help]
        return [*listed, *(name for name, own in self.commands.items() if not own.hidden)]

    def list_sections(self) -> dict[str, list[tuple[str, str]]]:
        """Give the commands with a line of help each, by heading."""
        from headend.cli.help import take_first_paragraph

        sections = {
            heading: [(name, place.help) for name, place in section.items() if place.help]
            for heading, section in self.sections.items()
        }
        own = [
            (name, take_first_paragraph(command.help or ""))
            for name, command in self.commands.items()
            if not command.hidden
        ]
        return {**sections, "Commands": own} if own else sections

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Give a command, imported if necessary."""
        if cmd_name not in self.elsewhere:
            return super().get_command(ctx, cmd_name)
        module, _, name = self.elsewhere[cmd_name].place.partition(":")
        return cast("click.Command", getattr(import_module(module), name))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command."""
        typed = args[0]
        if not typed.startswith("-") and not ctx.resilient_parsing:
            self.refuse_unknown(ctx, typed)
        return super().resolve_command(ctx, args)

    def refuse_unknown(self, ctx: click.Context, name: str) -> None:
        """Refuse the name of an unknown command."""
        if name not in self.elsewhere and name not in self.commands:
            from headend.errors import suggest

            known = self.list_commands(ctx)
            fail(f'no command "{ctx.command_path} {name}"{suggest(name, known)}')

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[Any]:
        """Complete the name of a command, without importing commands."""
        from click.shell_completion import CompletionItem

        items = [
            CompletionItem(name, help=said)
            for section in self.list_sections().values()
            for name, said in section
            if name.startswith(incomplete)
        ]
        return [*items, *click.Command.shell_complete(self, ctx, incomplete)]

    def get_help(self, ctx: click.Context) -> str:
        """Write the help."""
        from headend.cli.help import write_help

        return write_help(self, ctx)


class Program(Commands):
    """The program: every error ends it with one line and an exit code."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Run the command line and exit."""
        if instruction := os.environ.get(COMPLETE):
            from click.shell_completion import shell_complete

            sys.exit(shell_complete(self, {}, PROGRAM, COMPLETE, instruction))
        words = sys.argv[1:] if args is None else list(args)
        try:
            with self.make_context(PROGRAM, words) as context:
                self.invoke(context)
            code = ExitCode.OK
        except Exit as left:
            code = ExitCode(left.exit_code)
        except (KeyboardInterrupt, Abort):
            make_messages().print("interrupted")
            code = ExitCode.INTERRUPTED
        except BrokenPipeError:  # nobody reads the help
            close_output()
            code = ExitCode.OK
        except OSError as error:  # of the help; commands answer their own
            code = refuse_output(error)
        except NoArgsIsHelpError as error:
            from headend.cli.help import print_help

            print_help(error.format_message())
            code = ExitCode.BAD_INPUT
        except click.ClickException as error:
            print_error(_explain_option(error) or error.format_message().rstrip("."))
            code = ExitCode.BAD_INPUT
        sys.exit(finish_output() or code)


def _explain_option(error: click.ClickException) -> str:
    """Write the error for an unknown option, with the nearest one or with all; empty for other errors."""
    if not isinstance(error, NoSuchOption) or error.ctx is None:
        return ""
    from headend.errors import find_near

    name, context = error.option_name, error.ctx
    known = [
        option
        for parameter in context.command.get_params(context)
        for option in parameter.opts
        if option.startswith("--")
    ]
    near = find_near(name.lstrip("-"), [option.lstrip("-") for option in known])
    hint = f'; did you mean "--{near}"?' if near else f"; there are {', '.join(sorted(known))}"
    if not name.startswith("--"):
        hint += '; what begins with "-" and is no option comes after "--"'
    return f"{context.command_path}: no such option: {name}{hint}"
