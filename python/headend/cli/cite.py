"""``headend cite``: how a paper cites this version of headend."""

from __future__ import annotations

from datetime import date

import click

from headend.cli.commands import Command
from headend.cli.options import json_option
from headend.cli.terminal import print_json, print_text

AUTHOR = "The headend developers"
TITLE = "headend: a laboratory for access networks"


@click.command("cite", cls=Command)
@json_option
def cite(as_json: bool) -> None:
    """Print the BibTeX entry of this version, with its commit.

    The year is that in which you ask. Results keep the version that made them (headend in
    manifest.json), and so does each page at its end.
    """
    from headend.cli.version import find_commit
    from headend.version import read_version

    entry = {
        "author": AUTHOR,
        "title": TITLE,
        "year": str(date.today().year),
        "version": read_version(),
    }
    if commit := find_commit():
        entry["note"] = f"Commit {commit}"
    if as_json:
        print_json(entry)
        return
    key = f"headend-{entry['version']}"
    # Braces keep the names as they are.
    fields = ",\n".join(f"  {name:<7} = {{{{{value}}}}}" for name, value in entry.items())
    print_text(f"@software{{{key},\n{fields}\n}}\n")
