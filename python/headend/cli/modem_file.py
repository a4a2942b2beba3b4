"""Prints what is in a modem's file, what a check of it found, and what changed between two."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from rich import box
from rich.table import Table

from headend.cli.tables import fit
from headend.cli.terminal import make_output, print_sentence, quote_path, write_line
from headend.files import STANDARD_INPUT
from headend.text.wording import join_names, write_count

if TYPE_CHECKING:
    from rich.console import Console

    from headend.modem_file.diff import Change
    from headend.modem_file.finding import Finding
    from headend.modem_file.show import FlowRow, Overview

#: How severities are drawn, from grave to light: the sign and its style.
_SEVERITIES: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "error": ("✗ error", "bold red"),
        "warning": ("! warning", "yellow"),
        "note": ("· note", "dim"),
    }
)

#: The content of a cell where the file sets nothing.
_UNSET = "–"


def print_overview(name: str, overview: Overview) -> None:
    """Print an overview of a file: device, size, flows with delays, classifiers, settings."""
    from headend.modem_file.show import HEADINGS

    console = make_output()
    console.print(write_line((name, "bold"), f"  {overview.title}"))
    if overview.mics:
        console.print(write_line(join_names(overview.mic_words)))
    if overview.flows:
        console.print()
        console.print(fit(console, _draw_flows(overview.flows, [*HEADINGS.values()])))
    _print_list(console, "", [f"{overview.supposed}."] if overview.supposed else [])
    _print_list(console, "", overview.delays)
    _print_list(console, "Low latency", overview.low_latency)
    _print_list(console, "Classifiers", overview.classifiers)
    _print_list(console, "Also in the file", overview.others)


def print_findings(name: str, findings: Sequence[Finding], supposed: str = "") -> None:
    """Print what a check found: counts by severity, then each finding, its place and remedy.

    Below the counts stands what the check supposes of what the file does not say.
    """
    console = make_output()
    counts = {one: sum(found.severity == one for found in findings) for one in _SEVERITIES}
    told = [write_count(count, severity) for severity, count in counts.items() if count]
    console.print(
        write_line((name, "bold"), f": {join_names(told) or 'nothing wrong in the file'}")
    )
    if supposed:
        print_sentence(console, f"{supposed}.")
    for finding in findings:
        sign, style = _SEVERITIES[finding.severity]
        place = f"  TLV {finding.path}" if finding.path else ""
        named = f"  {finding.name}" if finding.name else ""
        console.print()
        console.print(write_line((sign, style), (place, "bold"), (named, "dim")), soft_wrap=True)
        print_sentence(console, finding.text)
        if finding.advice:
            print_sentence(console, f"→ {finding.advice}")


def print_unchecked(names: Sequence[str], preset: str | None = None) -> None:
    """Print what a check of files does not say, and the command that does."""
    file = quote_path(names[0]) if len(names) == 1 and names[0] != STANDARD_INPUT else "FILE"
    file += f" --preset {preset}" if preset else ""
    print_sentence(
        make_output(),
        "Checked is the file alone. What it does to the people on its line:"
        f" `headend recommend {file}`.",
    )


def print_sum(checked: Sequence[Sequence[Finding]]) -> None:
    """Print of how many files have errors, and how many only warnings."""
    console = make_output()
    errors, warnings = (
        sum(any(found.severity == severity for found in findings) for findings in checked)
        for severity in ("error", "warning")
    )
    console.print()
    print_sentence(
        console, f"{len(checked)} files: {errors} with errors, {warnings} with warnings."
    )


def print_changes(changes: Sequence[Change]) -> None:
    """Print what changed, a sentence each."""
    console = make_output()
    if not changes:
        console.print("The files are equal, byte for byte.")
    for change in changes:
        print_sentence(console, change.text)


def _print_list(console: Console, heading: str, lines: Sequence[str]) -> None:
    if not lines:
        return
    console.print()
    if heading:
        console.print(write_line((heading, "bold")))
    for line in lines:
        print_sentence(console, line)


def _draw_flows(rows: Sequence[FlowRow], headings: Sequence[str]) -> Table:
    """Draw a row for each service flow; a column that no flow has anything in is left out."""
    cells = [row.cells() for row in rows]
    shown = [
        column
        for column in range(len(headings))
        if column == 0 or any(row[column] != _UNSET for row in cells)
    ]
    table = Table(box=box.SIMPLE, show_edge=False, pad_edge=False)
    for column in shown:
        table.add_column(headings[column], no_wrap=column == 0)
    for row in cells:
        table.add_row(*(row[column] for column in shown))
    return table
