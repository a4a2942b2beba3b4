"""The classes of commands and groups: commands imported on first use, help, errors in one line."""

from __future__ import annotations

import functools
import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, NamedTuple, cast

import click
from click.exceptions import Abort, Exit, MissingParameter, NoArgsIsHelpError, NoSuchOption

from headend.cli.streams import close_output
from headend.cli.terminal import (
    ExitCode,
    answer_errors,
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

#: What to type in place of several words where a command takes one.
SEVERAL = {
    "headend run": "headend compare puts several runs side by side",
    "headend replay": "headend replay takes one recording",
}

#: The hint for an option that is not there, but would name a modem's file.
MODEM_FILE = "--modem FILE sets a modem by its configuration file"

#: The hint for an option that is not there, where a modem's file is an argument.
MODEM_TIER = "a modem's configuration file is an argument: headend recommend FILE"

#: What to type in place of an option that another command has.
ELSEWHERE = {
    "headend run": {
        "--config": MODEM_FILE,
        "--label": "headend compare takes it",
        "--seeds": "headend compare SCENARIO --seeds N runs it with several seeds, and with --vary"
        " PATH=A,B each value",
        "--vary": "headend compare SCENARIO --vary PATH=A,B runs it once with each value",
    },
    "headend compare": {"--config": MODEM_FILE},
    "headend emulate": {"--config": MODEM_FILE},
    "headend recommend": {
        "--config": MODEM_TIER,
        "--modem": MODEM_TIER,
        "--vary": "every setting that --may-set names is tried",
    },
    "headend sweep": {
        "--config": MODEM_FILE,
        "--vary": "what varies is in [grid] of the sweep's file",
    },
}

#: Keys of a scenario that somebody takes for options.
SETTABLE = ("bottleneck", "duration", "queue", "warmup")


class Argument(click.Argument):
    """An argument with help, and a hint at what can stand there for the error without it."""

    def __init__(self, declarations: Sequence[str], **settings: Any) -> None:
        about, hint = settings.pop("help"), settings.pop("hint", "")
        super().__init__(declarations, **settings)
        self.help = about
        self.hint = hint


#: Declares an argument of a command, as :func:`click.option` declares an option.
argument = functools.partial(click.argument, cls=Argument)


class Command(click.Command):
    """A command whose errors are one line, and whose help has options below headings."""

    # What is too much is refused here, in words of our own.
    allow_extra_args = True

    def __init__(
        self, *args: Any, headings: Mapping[str, Sequence[str]] | None = None, **settings: Any
    ) -> None:
        super().__init__(*args, **settings)
        self.headings = headings or {}

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the words that were typed, and refuse those that are too many."""
        try:
            rest = super().parse_args(ctx, args)
        except click.UsageError as error:
            error.ctx = error.ctx or ctx  # so that the error begins with the command's name
            raise
        if rest and not ctx.resilient_parsing:
            raise click.UsageError(_explain_rest(ctx, rest), ctx)
        return rest

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        with answer_errors(ctx.params.values(), as_json=bool(ctx.params.get("as_json"))):
            return super().invoke(ctx)

    def get_help(self, ctx: click.Context) -> str:
        """Write the help."""
        from headend.cli.layout import write_help

        return write_help(self, ctx)


class LazyCommand(NamedTuple):
    """A command that is imported on first use, from such as ``"headend.cli.run:run"``.

    Its help is the first paragraph, for the list of commands; an empty text hides it.
    """

    module_and_name: str
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
        sections: Mapping[str, Mapping[str, LazyCommand]] | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(*args, **settings)
        self.sections = sections or {}
        self.lazy_commands = {
            name: lazy for section in self.sections.values() for name, lazy in section.items()
        }

    def list_commands(self, ctx: click.Context) -> list[str]:
        """List the commands in the order of their declaration."""
        listed = [name for name, lazy in self.lazy_commands.items() if lazy.help]
        return [*listed, *(name for name, own in self.commands.items() if not own.hidden)]

    def list_sections(self) -> dict[str, list[tuple[str, str]]]:
        """Give the commands with a line of help each, by heading."""
        from headend.cli.layout import take_first_paragraph

        sections = {
            heading: [(name, lazy.help) for name, lazy in section.items() if lazy.help]
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
        if cmd_name not in self.lazy_commands:
            return super().get_command(ctx, cmd_name)
        module, _, name = self.lazy_commands[cmd_name].module_and_name.partition(":")
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
        if name not in self.lazy_commands and name not in self.commands:
            from headend.errors import suggest
            from headend.scenario.lookup import suggest_name

            known = self.list_commands(ctx)
            if meant := self.guess(name):
                command = f"{ctx.command_path} {meant}"
                fail(f'no command "{ctx.command_path} {name}"; did you mean {command}?')
            hint = suggest(name, known) if ctx.parent else suggest_name(name, "command", known)
            fail(f'no command "{ctx.command_path} {name}"{hint}')

    def guess(self, name: str) -> str:
        """Guess what was meant by something that is no command, as words behind the group."""
        return ""

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
        from headend.cli.layout import write_help

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
        code: int
        try:
            code = self._run(words)
        except Exit as left:
            code = left.exit_code  # of emulate, any code that a program can exit with
        except (KeyboardInterrupt, Abort):
            make_messages().print("interrupted")
            code = ExitCode.INTERRUPTED
        except BrokenPipeError:  # nobody reads the help
            close_output()
            code = ExitCode.OK
        except OSError as error:  # of the help; commands answer their own
            code = refuse_output(error)
        except click.ClickException as error:
            print_error(_explain(error))
            code = ExitCode.BAD_INPUT
        sys.exit(finish_output() or code)

    def _run(self, words: list[str]) -> ExitCode:
        """Run the command that was typed; where none was, print the help."""
        try:
            with self.make_context(PROGRAM, words) as context:
                self.invoke(context)
        except NoArgsIsHelpError as error:
            from headend.cli.layout import print_help

            print_help(error.format_message())
            return ExitCode.BAD_INPUT
        return ExitCode.OK


def _explain(error: click.ClickException) -> str:
    """Write what Click found wrong with what was typed, with what to type."""
    if isinstance(error, NoSuchOption) and error.ctx:
        return _explain_option(error.option_name, error.ctx)
    if isinstance(error, MissingParameter) and isinstance(error.param, Argument) and error.ctx:
        wanted = error.param.make_metavar(error.ctx)
        hint = error.param.hint or f"{_ask_help(error.ctx)} explains it"
        return f"{error.ctx.command_path}: expected {wanted}, found nothing; {hint}"
    told = error.format_message().rstrip(".")
    context = getattr(error, "ctx", None)
    # Whatever else is said of a command begins with its name.
    if context is None or told.startswith(f"{context.command_path}: "):
        return told
    first, _, rest = told.partition(" ")
    return f"{context.command_path}: {first.lower()} {rest}"


def _ask_help(context: click.Context) -> str:
    """Write the command that explains another."""
    program, _, words = context.command_path.partition(" ")
    return f"{program} help {words}".rstrip()


def _explain_rest(context: click.Context, rest: Sequence[str]) -> str:
    """Write the error for words behind all that a command takes."""
    parameters = context.command.get_params(context)
    last = [one.make_metavar(context) for one in parameters if isinstance(one, Argument)][-1:]
    after = f" after {last[0].strip('[]')}" if last else ""
    hint = f"{_ask_help(context)} lists the options"
    if "=" in rest[0] and any("--set" in one.opts for one in parameters):
        hint = f"--set {shlex.quote(rest[0])} changes a value"
    elif context.command_path in SEVERAL:
        hint = SEVERAL[context.command_path]
    return f'{context.command_path}: expected nothing{after}, found "{rest[0]}"; {hint}'


def _explain_option(name: str, context: click.Context) -> str:
    """Write the error for an unknown option, with what replaces it, the nearest one, or all."""
    from headend.errors import find_near

    known = [
        option
        for parameter in context.command.get_params(context)
        for option in parameter.opts
        if option.startswith("--")
    ]
    near = find_near(name.lstrip("-"), [option.lstrip("-") for option in known])
    hint = f'; did you mean "--{near}"?' if near else f"; there are {', '.join(sorted(known))}"
    if elsewhere := ELSEWHERE.get(context.command_path, {}).get(name):
        hint = f"; {elsewhere}"
    elif "--set" in known and name.lstrip("-") in SETTABLE:
        key = name.lstrip("-")
        hint = f'; did you mean "--set {key}=…"?'
    if not name.startswith("--"):
        hint += '; what begins with "-" and is no option comes after "--"'
    return f"{context.command_path}: no such option: {name}{hint}"
