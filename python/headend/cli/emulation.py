"""What the terminal says of real programs: what they got, their flows, and lateness."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headend.analysis.lateness import find_emulation, is_trustworthy, write_lateness
from headend.cli.terminal import make_output, print_sentence, write_line
from headend.text.wording import capitalise

if TYPE_CHECKING:
    from headend.results.record import Record

#: Real flows on the terminal; more are in the report, and with --full.
MOST_FLOWS = 5


def print_emulation(result: Record, *, full: bool = False) -> None:
    """Print what real programs got, their largest flows, lateness, and a replay's comparison.

    Parameters
    ----------
    result
        The run; of one without real programs, nothing is printed.
    full
        Whether flows and hosts are printed in full elsewhere.
    """
    emulation = find_emulation(result)
    if emulation is None:
        return
    from headend.emulation.replaying import describe_replay

    console = make_output()
    if not full:
        _print_programs(result)
    if lateness := emulation.get("lateness"):
        style = "" if is_trustworthy(result) else "bold red"
        console.print(write_line((capitalise(write_lateness(lateness)), style)), soft_wrap=True)
    if told := describe_replay(result):
        style = "bold red" if emulation["equal"] is False else ""
        console.print(write_line((capitalise(told), style)), soft_wrap=True)


def print_real_in_full(result: Record) -> None:
    """Print what real programs ran where, their flows, and how late frames were, if any ran."""
    from headend.cli.tables import draw, fit
    from headend.wording.emulation import describe_real, describe_source
    from headend.wording.flow_tables import tabulate_timing
    from headend.wording.real_flows import tabulate_real_flows

    source = describe_source(result)
    if not source:
        return
    console = make_output()
    console.print()
    print_sentence(console, source)
    for line in describe_real(result):
        print_sentence(console, line)
    if flows := tabulate_real_flows(result, is_narrow=True):
        console.print(fit(console, draw(flows)))
        print_sentence(console, flows.note, "dim")
    if timing := tabulate_timing(result):
        console.print(fit(console, draw(timing)))


def _print_programs(result: Record) -> None:
    """Print a line for each real host, and its largest flows."""
    from headend.cli.tables import draw, fit
    from headend.wording.emulation import describe_real
    from headend.wording.real_flows import tabulate_real_flows

    console = make_output()
    console.print()
    for line in describe_real(result):
        print_sentence(console, line)
    if flows := tabulate_real_flows(result, MOST_FLOWS, is_narrow=True):
        console.print(fit(console, draw(flows)))
    console.print()
