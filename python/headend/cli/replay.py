"""``headend replay``: a recording of real programs, in virtual time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.exceptions import Exit

from headend.cli.commands import Command, argument
from headend.cli.completers import complete_any_file
from headend.cli.options import read_path, shared, takes_overrides
from headend.cli.outputs import OutputOptions, takes_outputs
from headend.cli.terminal import ExitCode, print_error

if TYPE_CHECKING:
    from headend.scenario.source import Overrides


@click.command("replay", cls=Command)
@argument(
    "recording",
    metavar="FILE",
    help="A recording of headend emulate --record.",
    hint="headend emulate SCENARIO --record FILE -- COMMAND writes one",
    type=read_path,
    shell_complete=complete_any_file,
)
@shared("--set", "--seed", "--out", "--force", "--no-report", "--quiet")
@click.option("--full", help="Also print every flow and queue, and notes on them.", is_flag=True)
@shared("--junit", "--csv", "--allow-files", "--json")
@takes_overrides
@takes_outputs
def replay(
    recording: Path,
    overrides: Overrides,
    seed: int | None,
    allow_files: tuple[Path, ...],
    outputs: OutputOptions,
) -> None:
    """Replay what headend emulate recorded, in virtual time: equal, or under other settings.

    With --set the same packets cross another line, or wait in another queue. The replay is then
    open loop: the recorded senders do not react, and every page of the results says so.

    Exit code 1: an expectation is missed, or the replay is not equal to what was recorded. 2: the
    input is wrong. 130: interrupted.
    """
    from headend.cli.run import list_tables, run_plan
    from headend.emulation.replaying import describe_replay, plan_replay

    outputs.check_files(list_tables())
    planned = plan_replay(recording, overrides, seed=seed, allow_files=allow_files)
    result, code = run_plan(
        planned.plan, planned.carry_out, planned.duration_ns, str(recording), outputs
    )
    is_other = result.manifest["emulation"]["equal"] is False
    if is_other and outputs.is_hidden:
        print_error(f"{recording}: {describe_replay(result)}")
    raise Exit(ExitCode.MISSED if code is ExitCode.OK and is_other else code)
