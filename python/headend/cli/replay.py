"""``headend replay``: a recording of real programs, in virtual time."""

from __future__ import annotations

from pathlib import Path

import click
from click.exceptions import Exit

from headend.cli.commands import Command, argument
from headend.cli.completers import complete_any_file
from headend.cli.options import (
    allow_option,
    csv_option,
    force_option,
    json_option,
    junit_option,
    no_report_option,
    out_option,
    quiet_option,
    read_path,
    seed_option,
    set_option,
)
from headend.cli.terminal import ExitCode, print_error, print_json, show_progress
from headend.cli.unwritten import tell_in_json
from headend.cli.wanted import Wanted


@click.command("replay", cls=Command)
@argument(
    "recording",
    metavar="FILE",
    help="A recording of headend emulate --record.",
    hint="headend emulate SCENARIO --record FILE -- COMMAND writes one",
    type=read_path,
    shell_complete=complete_any_file,
)
@set_option
@seed_option
@out_option
@force_option
@no_report_option
@quiet_option
@click.option("--full", help="Also print every flow and queue, and notes on them.", is_flag=True)
@junit_option
@csv_option
@allow_option
@json_option
def replay(
    recording: Path,
    settings: tuple[str, ...],
    seed: int | None,
    out: Path | None,
    force: bool,
    no_report: bool,
    quiet: bool,
    full: bool,
    junit: Path | None,
    csv: Path | None,
    allow_files: tuple[Path, ...],
    as_json: bool,
) -> None:
    """Replay what headend emulate recorded, in virtual time: equal, or under other settings.

    With --set the same packets cross another line, or wait in another queue. The replay is then
    open loop: the recorded senders do not react, and every page of the results says so.

    Exit code 1: an expectation is missed, or the replay is not equal to what was recorded. 2: the
    input is wrong. 130: interrupted.
    """
    from headend.cli.run import conclude, describe_result, print_missed, print_result
    from headend.emulation.replaying import plan_replay, tell_replay
    from headend.results.folder import choose_folder, create_folder
    from headend.running.execution import stop_on_interrupt
    from headend.scenario.source import parse_override

    overrides = list(map(parse_override, settings))
    wanted = Wanted(not no_report, junit, csv, force)
    wanted.check()
    planned = plan_replay(recording, overrides, seed=seed, allow_files=allow_files)
    plan = planned.plan
    wanted.check_expected(str(recording), plan.expectations)
    target = out or choose_folder(plan.loaded.name, force=force)
    wanted.check_beside(target)
    with stop_on_interrupt() as stop:
        with create_folder(target, force=force) as fresh:
            hidden = quiet or as_json
            with show_progress([plan.label], planned.duration_ns, hidden=hidden) as bars:
                result = planned.carry_out(bars[plan.label], stop)
            result.write_into(fresh)
        result.folder = target
        stopped = stop.is_set() or result.is_partial
        lacking = wanted.make([result], target, result.report, stopped=stopped)
    if as_json:
        print_json({**describe_result(result), **tell_in_json(lacking)})
        print_missed(result)
    elif quiet:
        print_missed(result)
    else:
        print_result(result, full=full)
    code = conclude([result], lacking, stopped=stopped)
    is_other = result.manifest["emulation"]["equal"] is False
    if is_other and (quiet or as_json):
        print_error(f"{recording}: {tell_replay(result)}")
    raise Exit(ExitCode.MISSED if code is ExitCode.OK and is_other else code)
