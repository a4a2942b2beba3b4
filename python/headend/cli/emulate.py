"""``headend emulate``: a real program behind the line of a scenario."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.exceptions import Exit

from headend.analysis.lateness import is_trustworthy
from headend.cli.commands import Command, argument
from headend.cli.completers import complete_any_file
from headend.cli.options import (
    read_file_path,
    read_number,
    scenario_argument,
    shared,
    takes_overrides,
)
from headend.cli.outputs import OutputOptions, WriteFailure, takes_outputs
from headend.cli.terminal import (
    ExitCode,
    announce_reading,
    answer_on_messages,
    make_messages,
    print_error,
    print_json,
    print_note,
    quote_path,
    write_line,
)
from headend.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.console import Console

    from headend.emulation.experiment import Emulated, Emulation, Options
    from headend.emulation.programs import Programs
    from headend.emulation.session import Update
    from headend.scenario.source import Overrides

#: The file among the results with what the commands wrote, where a live view has the terminal.
OUTPUT = "output.txt"

#: The least that a recording keeps of a packet, in bytes: the headers of IPv6 and TCP with all of
#: their options. A replay opens flows by them.
LEAST_SNAPLEN = 128

#: The most that a packet of IP has, in bytes.
LARGEST_FRAME = 65535


class EmulateCommand(Command):
    """A command behind which another one is typed: `--` stands between their options."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the typed words, and refuse options of the program that only headend would see."""
        if not ctx.resilient_parsing:
            self._check_separated(ctx, args)
        return super().parse_args(ctx, args)

    def _check_separated(self, ctx: click.Context, args: Sequence[str]) -> None:
        """Refuse a program with options that stands there without `--` before it."""
        begin = self._find_program(ctx, args)
        if begin is None or not any(word.startswith("-") for word in args[begin:]):
            return
        typed = shlex.join([*args[:begin], "--", *args[begin:]])
        raise click.UsageError(
            f"{ctx.command_path}: expected -- before the command, whose options headend takes for"
            f" its own without it: {ctx.command_path} {typed}",
            ctx,
        )

    def _find_program(self, ctx: click.Context, args: Sequence[str]) -> int | None:
        """Find where a program begins, the word behind the scenario; or none."""
        options = {
            name: own
            for own in self.get_params(ctx)
            if isinstance(own, click.Option)
            for name in own.opts
        }
        words, place = 0, 0
        while place < len(args):
            word = args[place]
            if word.startswith("-") and word != "-":
                name, equals, _ = word.partition("=")
                option = options.get(name)
                if word == "--" or option is None:
                    return None
                place += 1 if option.is_flag or equals else 2
                continue
            words += 1
            if words > 1:
                # A separator behind it belongs to headend, as in SCENARIO PROGRAM -- ARGUMENT.
                return None if "--" in args else place
            place += 1
        return None


@click.command("emulate", cls=EmulateCommand)
@scenario_argument
@argument(
    "command",
    metavar="[-- COMMAND…]",
    help="The program on the customer's host, with its arguments. When it exits, the run is over,"
    " and headend exits with its code.",
    nargs=-1,
    type=click.UNPROCESSED,
)
@click.option(
    "--shell", help="Open a shell on the customer's host in place of COMMAND.", is_flag=True
)
@click.option(
    "--server",
    metavar="COMMAND",
    help='Run this on the host server, the other side of the line, such as "iperf3 -s". The program'
    " starts when it listens.",
)
@click.option(
    "--host",
    "others",
    metavar="NAME=COMMAND",
    help="Run this on another real host of the scenario. Can be given several times.",
    multiple=True,
)
@click.option(
    "--outside",
    help="Make the internet the other side of the line, by network address translation. Needs"
    " root.",
    is_flag=True,
)
@click.option(
    "--congestion",
    metavar="NAME",
    help="Use this TCP congestion control of the kernel on the real hosts. By default, the one of"
    " this machine.",
)
@shared("--set", "--modem", "--seed")
@click.option(
    "--record",
    metavar="FILE",
    help="Record what the real hosts send, with scenario and seed, to a pcapng file: headend replay"
    " FILE replays it.",
    type=read_file_path,
    shell_complete=complete_any_file,
)
@click.option(
    "--snaplen",
    metavar="N",
    help="Record the first N bytes of each packet; 0, the default, records all. 128 keeps the"
    " headers, but a replay then does not know the names of servers.",
    type=read_number,
    default=0,
)
@click.option(
    "--live",
    help="Show rates, queues, round trips and lateness while it runs. What the programs write goes"
    f" to {OUTPUT} in the results.",
    is_flag=True,
)
@click.option(
    "--strict",
    help="Exit with 1 if the run is not trustworthy: more lateness or a longer stall than"
    " [emulation] of the scenario allows, or frames lost between the programs and the line.",
    is_flag=True,
)
@shared("--capture", "--out", "--force", "--no-report")
@click.option(
    "--quiet", "-q", help="Print nothing but errors and missed expectations.", is_flag=True
)
@shared("--junit", "--allow-files")
@click.option(
    "--json",
    "as_json",
    help="Print one JSON document on standard output and nothing else; what the program prints goes"
    " to standard error.",
    is_flag=True,
)
@takes_overrides
@takes_outputs
def emulate(
    scenario: str,
    command: tuple[str, ...],
    shell: bool,
    server: str | None,
    others: tuple[str, ...],
    outside: bool,
    congestion: str | None,
    overrides: Overrides,
    seed: int | None,
    record: Path | None,
    snaplen: int,
    live: bool,
    strict: bool,
    allow_files: tuple[Path, ...],
    outputs: OutputOptions,
) -> None:
    """Run a real program behind the line of a scenario, in real time, beside simulated neighbours.

    It runs on a host of the scenario that has real = true, and its packets cross the links, queues
    and MAC of the scenario. Every other flow is simulated on the same line at the same time.

        headend emulate real-program --server "iperf3 -s" -- iperf3 -c server

    The exit code is that of the program (128 + n if signal n ended it). If that is 0: 1 if an
    expectation of the scenario is missed or, with --strict, if the run is not trustworthy. 2: the
    input is wrong. 126, 127: a command cannot be run, or is not there. headend itself writes to
    standard error. Ctrl-C ends the program, and the results are kept.
    """
    from headend.emulation.experiment import Options, check_machine, plan_emulation
    from headend.emulation.programs import MissingProgramError, choose_programs

    words = _choose_command(command, shell=shell, live=live)
    options = Options(outside, record, _check_snaplen(snaplen), congestion)
    outputs.check_files([])
    check_machine(options, force=outputs.force)
    announce_reading(scenario)
    emulation = plan_emulation(scenario, overrides, seed=seed, allow_files=allow_files)
    outputs.check_expected(scenario, emulation.plan.expectations)
    try:
        programs = choose_programs(
            scenario, emulation.hosts, words, server, others, outside=outside
        )
    except MissingProgramError as error:
        if outputs.as_json:
            print_json({"error": str(error)})
        print_error(str(error))
        raise Exit(error.code) from None
    target = outputs.choose_folder(emulation.plan.loaded.name)
    with answer_on_messages():
        emulated = _emulate(emulation, programs, options, target, outputs, is_live=live)
        failures = outputs.write_runs(emulated.result, [emulated.result], is_strict=strict)
        if emulated.unrecorded:
            line = f"{emulated.unrecorded}; the results are kept in {quote_path(target)}"
            failures.append(WriteFailure(line, ExitCode.BAD_INPUT))
        code = _deliver(emulated, outputs, failures)
    raise Exit(_choose_exit_code(emulated, code, is_strict=strict))


def _choose_command(command: Sequence[str], *, shell: bool, live: bool) -> Sequence[str]:
    """Give the command of the customer's host."""
    from headend.emulation.programs import choose_shell

    if shell and command:
        raise InputError(
            f'--shell: a shell stands in the place of the command, found "{command[0]}"; leave out'
            " one of them"
        )
    if shell and live:
        raise InputError("--live: a shell needs the terminal; leave out one of --shell and --live")
    if shell:
        return choose_shell()
    if not command:
        raise InputError(
            "headend emulate: expected -- COMMAND after SCENARIO, found nothing; --shell opens a"
            " shell"
        )
    return command


def _check_snaplen(size: int) -> int:
    if size and not LEAST_SNAPLEN <= size <= LARGEST_FRAME:
        raise InputError(
            f"--snaplen: expected 0 for all bytes, or from {LEAST_SNAPLEN} to {LARGEST_FRAME} of"
            f" them, found {size}"
        )
    return size


def _emulate(
    emulation: Emulation,
    programs: Programs,
    options: Options,
    target: Path,
    outputs: OutputOptions,
    *,
    is_live: bool,
) -> Emulated:
    """Emulate, and put the results in their folder."""
    from headend.emulation.programs import describe_hosts
    from headend.results.folder import create_folder

    loaded = emulation.plan.loaded
    with create_folder(target, force=outputs.force) as fresh:
        if options.record and outputs.force:
            options.record.unlink(missing_ok=True)
        if not outputs.quiet:
            hosts = describe_hosts(loaded.resolved, emulation.hosts, loaded.scenario.flows)
            make_messages().print(write_line((hosts, "dim")), soft_wrap=True)
        with _watch(emulation, is_shown=is_live and not outputs.quiet) as (show, console):

            def warn(text: str) -> None:
                console.print(write_line(("Warning", "yellow"), f": {text}."), soft_wrap=True)

            emulated = emulation.carry_out(
                programs,
                options,
                output=fresh / OUTPUT if is_live else None,
                to_messages=outputs.as_json,
                on_update=show,
                on_warning=None if outputs.quiet else warn,
            )
        emulated.result.write_into(fresh)
    emulated.result.folder = target
    return emulated


@contextmanager
def _watch(
    emulation: Emulation, *, is_shown: bool
) -> Iterator[tuple[Callable[[Update], None] | None, Console]]:
    """Show a live view, if wanted and on a terminal; give the console for messages beside it."""
    console = make_messages()
    if not is_shown:
        yield None, console
        return
    if not console.is_terminal:
        print_note("--live needs a terminal on standard error; nothing is shown until the end")
        yield None, console
        return
    from headend.cli.live import show_live

    with show_live(emulation, console) as show:
        yield show, console


def _deliver(
    emulated: Emulated, outputs: OutputOptions, failures: Sequence[WriteFailure]
) -> ExitCode:
    """Print the answer on standard error, or the JSON document on standard output."""
    from headend.cli.run import deliver_run, describe_result

    result = emulated.result
    code = deliver_run(
        result,
        outputs,
        failures,
        describe=lambda: {**describe_result(result), "exit": emulated.exit_code},
    )
    if emulated.is_cut and not outputs.is_hidden:
        print_note("the scenario's duration ended the program")
    return code


def _choose_exit_code(emulated: Emulated, code: ExitCode, *, is_strict: bool) -> int:
    """Give the exit code: the program's own, and where that is 0, what is to be said of the run."""
    from headend.analysis.lateness import write_lateness

    if emulated.exit_code and not emulated.is_cut and not emulated.result.failure:
        return emulated.exit_code
    if code is ExitCode.OK and is_strict and not is_trustworthy(emulated.result):
        lateness = emulated.result.manifest["emulation"]["lateness"]
        print_error(f"--strict: {write_lateness(lateness)}")
        return ExitCode.MISSED
    return code
