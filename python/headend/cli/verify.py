"""``headend verify``: whether results are what was written."""

from __future__ import annotations

from pathlib import Path

import click
from click.exceptions import Exit

from headend.cli.commands import Command, argument
from headend.cli.completers import complete_folders
from headend.cli.options import RESULTS_HINT, json_option, read_path
from headend.cli.reading import reads_results
from headend.cli.terminal import ExitCode, make_output, print_json, write_line


@click.command("verify", cls=Command)
@argument(
    "folder",
    metavar="FOLDER",
    help="A results folder of any kind, or a folder with several of them below it, such as"
    " results.",
    hint=RESULTS_HINT,
    type=read_path,
    shell_complete=complete_folders,
)
@json_option
@reads_results("folder")
def verify(folder: Path, as_json: bool) -> None:
    """Check that no file of the results was damaged since it was written.

    Each file is compared with the SHA-256 that was noted when it was written. Exit code 1 when
    something is damaged, or of another format and so cannot be checked.
    """
    from headend.results.verification import verify as look
    from headend.text.wording import write_count

    found = look(folder)
    if as_json:
        print_json(found.to_dict())
    else:
        console = make_output()
        for line in (*found.damage, *found.other_formats):
            console.print(write_line(line), soft_wrap=True)
        files = write_count(found.files, "file")
        folders = write_count(found.folders, "results folder")
        counts = ((found.damage, "damaged"), (found.other_formats, "of another format"))
        state = ", ".join(f"{len(lines)} {what}" for lines, what in counts if lines)
        console.print(
            f"{files} in {folders}: {state or 'all as they were written'}.",
            soft_wrap=True,
        )
    raise Exit(ExitCode.MISSED if found.damage or found.other_formats else ExitCode.OK)
