"""The ``headend`` command: gathers the commands of its sibling modules."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from headend.cli import catalogue, compare, report, run, scenarios, study, sweep, verify
from headend.cli.terminal import (
    Commands,
    ExitCode,
    close_output,
    finish_output,
    make_messages,
    print_error,
    print_notices,
    refuse_output,
    replace_unknown_letters,
)
from headend.errors import find_near

app = typer.Typer(
    name="headend",
    cls=Commands,
    help="A laboratory for access networks: what a line does to the people behind it, and what to change.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("run")(run.run)
app.command("compare")(compare.compare)
app.command("sweep")(sweep.sweep)
app.add_typer(scenarios.app, name="scenarios")
app.add_typer(study.app, name="study")
app.command("queues")(catalogue.queues)
app.command("senders")(catalogue.senders)
app.command("applications")(catalogue.applications)
app.command("schema")(catalogue.schema)
app.command("report")(report.report)
app.command("figures")(report.figures)
app.command("verify")(verify.verify)


def _print_version(wanted: bool) -> None:
    if wanted:
        from headend import __version__

        typer.echo(f"headend {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Hold the options of the command itself; its help is the app's."""


def _explain_option(error: Any) -> str:
    """Say which options there are where one is asked for that is not among them."""
    name, context = getattr(error, "option_name", ""), getattr(error, "ctx", None)
    if type(error).__name__ != "NoSuchOption" or context is None:
        return ""
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


def start() -> None:
    """Start the command line; a mistake in its words gets one line, as every other."""
    replace_unknown_letters()
    print_notices()
    try:
        code = app(standalone_mode=False)
    except (KeyboardInterrupt, typer.Abort):
        make_messages().print("interrupted")
        sys.exit(ExitCode.INTERRUPTED)
    except (BrokenPipeError, SystemExit):  # Rich leaves so when nobody reads the help
        close_output()
        sys.exit(ExitCode.OK)
    except OSError as error:  # of the help; commands answer their own
        sys.exit(refuse_output(error))
    except Exception as error:
        explain = getattr(error, "format_message", None)
        if explain is None:
            raise
        if type(error).__name__ == "NoArgsIsHelpError":
            sys.stdout.write(explain() + "\n")
            sys.exit(ExitCode.BAD_INPUT)
        print_error(_explain_option(error) or explain().rstrip("."))
        sys.exit(ExitCode.BAD_INPUT)
    sys.exit(finish_output() or code or ExitCode.OK)
