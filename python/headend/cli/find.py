"""``headend find``: headend's name for an application, a protocol or a term."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from click.exceptions import Exit

from headend.cli.commands import Command, argument
from headend.cli.options import json_option
from headend.cli.terminal import ExitCode, make_messages, make_output, print_json, write_line

if TYPE_CHECKING:
    from headend.scenario.lookup import Finding

#: Findings that are shown without --all.
MOST_SHOWN = 8


@click.command("find", cls=Command)
@argument(
    "words",
    metavar="WORD…",
    help="A name or some words, such as webrtc, netflix, bufferbloat, or latency under load.",
    hint="headend find webrtc, for example",
    nargs=-1,
    required=True,
)
@click.option(
    "--all", "is_all", help="Show everything that was found, with full descriptions.", is_flag=True
)
@json_option
def find(words: tuple[str, ...], is_all: bool, as_json: bool) -> None:
    """Find headend's name for an application, a protocol or a term, and how to use it.

    Exit code 1 when nothing is found.
    """
    from headend.scenario.lookup import describe_nothing
    from headend.study.locating import find as look

    query = " ".join(words)
    found = look(query)
    if as_json:
        print_json([finding.to_dict() for finding in found])
    else:
        _print_found(found, query, is_all=is_all)
    if not found:
        if not as_json:
            make_messages().print(write_line(describe_nothing(query)), soft_wrap=True)
        raise Exit(ExitCode.MISSED)


def _print_found(found: list[Finding], query: str, *, is_all: bool) -> None:
    from rich.text import Text

    from headend.scenario.lookup import ABSENT, TERM, take_first_sentence

    console = make_output()
    shown = found if is_all else found[:MOST_SHOWN]
    for number, finding in enumerate(shown):
        if number:
            console.print()
        is_remark = finding.kind in (TERM, ABSENT)
        kind = "" if finding.kind == TERM else f"  {finding.kind}"
        console.print(write_line((finding.name, "bold"), (kind, "dim")))
        text = finding.what if is_all or is_remark else take_first_sentence(finding.what)
        for line in Text(text).wrap(console, max(console.width - 2, 1)):
            line.rstrip()
            console.print(Text("  ").append_text(line), soft_wrap=True)
        if not is_remark:
            console.print(write_line("  ", (finding.how, "cyan")), soft_wrap=True)
    if more := len(found) - len(shown):
        console.print(f"\n{more} more: headend find --all {query}", style="dim", soft_wrap=True)
