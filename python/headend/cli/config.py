"""``headend config``: shows, checks, compares, converts and makes configuration files of modems."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.exceptions import Exit

from headend.cli.commands import Commands, argument
from headend.cli.completers import complete_any_file, complete_presets
from headend.cli.options import (
    allow_option,
    json_option,
    read_path,
    scenario_argument,
    secret_file_option,
    secret_option,
    set_option,
)
from headend.cli.target import Target
from headend.cli.terminal import (
    ExitCode,
    announce_reading,
    print_json,
    print_note,
    print_text,
    quote_path,
)
from headend.errors import InputError, naming
from headend.files import STANDARD_INPUT
from headend.text.reveal import escape_in_json

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headend.modem_file.reading import ModemFile

#: Letters of JSON that are read again to be indented; an operator's file has a tenth of them. That
#: takes many times their memory.
MOST_INDENTED = 2**20

#: The most values that do not fit the table and are named one by one when a file is written.
MOST_MISFITS = 5

#: What errors about a missing argument say of it.
FILE_HINT = "a modem's configuration file, or - for standard input"


def file_argument(name: str, metavar: str, about: str, **settings: Any) -> Callable[..., Any]:
    """Declare an argument that is a modem's file."""
    return argument(
        name,
        metavar=metavar,
        help=about,
        hint=f"{metavar.split(' ')[0].strip('…')} is {FILE_HINT}",
        shell_complete=complete_any_file,
        **settings,
    )


def output_option(what: str) -> Callable[..., Any]:
    """Declare the option that says where the result is written."""
    return click.option(
        "-o",
        "--out",
        "output",
        metavar="FILE",
        help=f"Write {what} to this file; - is standard output, which is the default.",
        type=read_path,
        shell_complete=complete_any_file,
    )


preset_option = click.option(
    "--preset",
    metavar="NAME",
    help="The generation of the modem, which decides its AQM and buffer where the file says"
    " nothing: docsis31 (the default) or docsis30.",
    shell_complete=complete_presets,
)

replace_option = click.option(
    "--force", help="Replace the file of -o where it is there already.", is_flag=True
)


class _Config(Commands):
    """The group of commands. A file in place of a command is answered with `show`."""

    def guess(self, name: str) -> str:
        """Suggest `show` where a file stands in place of a command."""
        return f"show {quote_path(name)}" if Path(name).is_file() else ""


@click.group("config", cls=_Config)
def app() -> None:
    """Read, check, compare and write the configuration file of a modem.

    A modem's file sets the line: rates, buffers, AQM and classifiers, as binary TLVs. headend run
    SCENARIO --modem FILE simulates a line with it.

        headend config show modem.cm
        headend config check modem.cm --secret-file secret.txt
        headend config decode modem.cm -o modem.toml
        headend config encode modem.toml -o new.cm --secret-file secret.txt
        headend config diff modem.cm new.cm
        headend config from upload-and-call -o made.cm
    """


@app.command("show")
@file_argument(
    "files",
    "FILE…",
    "Modems' files, binary or as TOML; - is standard input.",
    nargs=-1,
    required=True,
)
@secret_option
@secret_file_option
@preset_option
@json_option
def show(
    files: tuple[str, ...],
    secret: str | None,
    secret_file: str | None,
    preset: str | None,
    as_json: bool,
) -> None:
    """Show what is in a modem's file: service flows, classifiers, and the delay of its buffers.

    The delay of a service flow is the time that a full buffer takes to be sent at the flow's rate.

        headend config show modem.cm
        headend config show *.cm --json
    """
    from headend.cli.modem_file import print_overview
    from headend.modem_file.show import describe

    own, key = _read_preset(preset), _read_secret(secret, secret_file, files)
    found = [(one.shown_as, describe(one.content, key, own)) for one in _read_all(files)]
    if as_json:
        print_json([{"file": name, **overview.to_json()} for name, overview in found])
        return
    for number, (name, overview) in enumerate(found):
        if number:
            print_text("\n")
        print_overview(name, overview)


@app.command("decode")
@file_argument("file", "FILE", "The binary file of a modem or an MTA; - is standard input.")
@output_option("the text")
@click.option("--json", "as_json", help="Write JSON in place of TOML.", is_flag=True)
@replace_option
def decode(file: str, output: Path | None, as_json: bool, force: bool) -> None:
    """Write a modem's file as TOML, or with --json as JSON; headend config encode reads both.

    TLVs that headend does not know and values whose length does not fit are written as bytes, in
    their place.

        headend config decode modem.cm
        headend config decode modem.cm -o modem.toml
        headend config decode modem.cm | headend config encode - | cmp - modem.cm
    """
    from headend import _engine
    from headend.modem_file.reading import read_modem_file

    target = Target(output, force=force, sources=(file,))
    content = read_modem_file(file).content
    text = _write_json(content) if as_json else _engine.config_to_toml(content)
    target.write_text(text if text.endswith("\n") else f"{text}\n")
    target.tell()


@app.command("encode")
@file_argument(
    "file", "FILE", "The TOML or JSON that headend config decode writes; - is standard input."
)
@output_option("the modem's file")
@click.option(
    "--mic",
    help="Compute the message integrity checks anew: that of the modem (TLV 6) and, where there is"
    " a secret, that of the CMTS (TLV 7).",
    is_flag=True,
)
@secret_option
@secret_file_option
@replace_option
@json_option
def encode(
    file: str,
    output: Path | None,
    mic: bool,
    secret: str | None,
    secret_file: str | None,
    force: bool,
    as_json: bool,
) -> None:
    """Write a modem's binary file from TOML or JSON.

    The message integrity checks (MICs, TLVs 6 and 7) that the text has stay as they are, and a note
    says where they do not fit the content. --secret and --secret-file compute both anew; --mic
    computes that of the modem and, where HEADEND_CONFIG_SECRET is set, that of the CMTS. A TOML
    text without MICs is signed where HEADEND_CONFIG_SECRET is set, unless it says unsigned = true,
    as headend config decode writes it.

        headend config encode modem.toml -o modem.cm
        headend config encode modem.toml -o modem.cm --secret-file secret.txt
        headend config encode - < modem.toml > modem.cm
    """
    from headend.modem_file.integrity import is_unsigned, sign
    from headend.modem_file.reading import (
        read_text,
        read_text_form,
        show_source,
        wants_signing,
    )
    from headend.modem_file.secret import VARIABLE

    target = _take_target(output, force=force, as_json=as_json, sources=(file,))
    key = _read_secret(secret, secret_file, (file,))
    shown_as = show_source(file)
    text = read_text(file)
    content = read_text_form(text, shown_as)
    if mic or secret is not None or secret_file is not None:
        content = sign(content, key, shown_as)
        notes = _describe_unsigned(content) if key is None else []
    elif key is not None and is_unsigned(content) and wants_signing(text):
        content = sign(content, key, shown_as)
        notes = [f"the text has no MICs: both are computed with the secret of {VARIABLE}"]
    else:
        notes = _describe_stale(content, key)
    if file != STANDARD_INPUT:
        notes += _describe_misfits(content)
    for note in notes:
        print_note(note)
    _write_binary(content, target, as_json=as_json, notes=notes)


@app.command("check")
@file_argument(
    "files",
    "FILE…",
    "Modems' files, binary or as TOML; - is standard input.",
    nargs=-1,
    required=True,
)
@secret_option
@secret_file_option
@click.option(
    "--unsigned",
    help="Accept a file without MICs (TLVs 6 and 7), which the provisioning server signs later.",
    is_flag=True,
)
@click.option("--strict", help="Exit with 1 for warnings too.", is_flag=True)
@preset_option
@json_option
def check(
    files: tuple[str, ...],
    secret: str | None,
    secret_file: str | None,
    preset: str | None,
    unsigned: bool,
    strict: bool,
    as_json: bool,
) -> None:
    """Check a modem's file: buffers and AQM against rates, references, ranges, lengths and MICs.

    An error is what a modem or a CMTS refuses, or what a line suffers from. Each finding names the
    TLV, the numbers and what to do. The check reads the file alone: headend recommend FILE says
    what it does to the people on its line. Exit code 1: a file has an error, or with --strict a
    warning. 2: a file cannot be read.

        headend config check modem.cm
        headend config check *.cm --strict --secret-file secret.txt
    """
    from headend.cli.modem_file import print_findings, print_sum, print_unchecked
    from headend.modem_file.check import check as find_faults
    from headend.modem_file.check import is_usable, suppose

    own, key = _read_preset(preset), _read_secret(secret, secret_file, files)
    read = _read_all(files)
    found = [
        (one.shown_as, find_faults(one.content, key, is_unsigned=unsigned, preset=own))
        for one in read
    ]
    supposed = [suppose(one.content, own) for one in read]
    if as_json:
        print_json(
            [
                {
                    "file": name,
                    "supposed": told,
                    "findings": [finding.to_json() for finding in findings],
                }
                for (name, findings), told in zip(found, supposed, strict=True)
            ]
        )
    else:
        for number, ((name, findings), told) in enumerate(zip(found, supposed, strict=True)):
            if number:
                print_text("\n")
            print_findings(name, findings, told)
        if len(found) > 1:
            print_sum([findings for _, findings in found])
        fine = [
            name
            for one, (name, findings) in zip(read, found, strict=True)
            if is_usable(one.content) and not any(own.severity == "error" for own in findings)
        ]
        if fine:
            print_text("\n")
            print_unchecked(fine, preset)
    counted = ("error", "warning") if strict else ("error",)
    if any(finding.severity in counted for _, findings in found for finding in findings):
        raise Exit(ExitCode.MISSED)


@app.command("diff")
@file_argument("old", "OLD", "The file before, binary or as TOML; - is standard input.")
@file_argument("new", "NEW", "The file after, binary or as TOML; - is standard input.")
@preset_option
@json_option
def diff(old: str, new: str, preset: str | None, as_json: bool) -> None:
    """Say in words what changed between two modems' files, and what that does to the delay.

    Exit code 0: the files set the same. 1: they differ. 2: one cannot be read.

        headend config diff old.cm new.cm
        headend config diff old.cm new.cm --preset docsis30
    """
    from headend.cli.modem_file import print_changes
    from headend.modem_file.diff import diff as find_changes

    own = _read_preset(preset)
    before, after = _read_all((old, new))
    changes = find_changes(before.content, after.content, own)
    if as_json:
        changed = [change.to_json() for change in changes]
        print_json({"old": before.shown_as, "new": after.shown_as, "changes": changed})
    else:
        print_changes(changes)
    if changes:
        raise Exit(ExitCode.MISSED)


@app.command("from")
@scenario_argument
@click.option(
    "--modem",
    metavar="NAME",
    help="Write the file of this modem. Needed where the scenario has several.",
)
@click.option(
    "--by-class",
    help="Write the name of the modem's service class in place of the values that the class gives.",
    is_flag=True,
)
@set_option
@output_option("the modem's file")
@secret_option
@secret_file_option
@allow_option
@replace_option
@json_option
def write_from(
    scenario: str,
    modem: str | None,
    by_class: bool,
    settings: tuple[str, ...],
    output: Path | None,
    secret: str | None,
    secret_file: str | None,
    allow_files: tuple[Path, ...],
    force: bool,
    as_json: bool,
) -> None:
    """Write the file of a modem of a scenario: its rates, buffers, AQM and classifiers as TLVs.

    The check of the modem (TLV 6) is computed; that of the CMTS (TLV 7) with the secret, where
    there is one. A note says what the scenario has and no TLV can say.

        headend config from upload-and-call -o modem.cm
        headend config from upload-and-call --set queue=docsis_pie -o pie.cm
    """
    from headend.modem_file.export import write_for
    from headend.scenario.file_access import FileAccess, read_allowed
    from headend.scenario.source import parse_override, read_scenario

    target = _take_target(output, force=force, as_json=as_json)
    key = _read_secret(secret, secret_file, (scenario,))
    announce_reading(scenario)
    text = read_scenario(
        scenario, FileAccess(allowed=read_allowed(allow_files), person_writes=True)
    )
    overrides = [parse_override(one) for one in settings]
    loaded = text.allow_named(overrides).load(overrides)
    content, notes = write_for(loaded, modem, key, by_class=by_class)
    for note in notes:
        print_note(note)
    _write_binary(content, target, as_json=as_json, notes=notes)


def _describe_misfits(content: bytes) -> list[str]:
    """Say which values were written as bytes whose length is not that of the table."""
    from headend.modem_file.document import read_document

    found = [tlv for tlv in read_document(content).walk() if tlv.problem and tlv.value is None]
    notes = []
    for tlv in found[:MOST_MISFITS]:
        value = f"0x{tlv.hex}" if len(tlv.hex) <= 32 else f"0x{tlv.hex[:32]}…"
        notes.append(f"TLV {tlv.path} ({tlv.name}) is written as {value}: {tlv.problem}")
    if len(found) > MOST_MISFITS:
        notes.append(
            f"{len(found) - MOST_MISFITS} more such values; headend config check lists them"
        )
    return notes


def _describe_unsigned(content: bytes) -> list[str]:
    """Say what became of the CMTS MIC, which was not computed because there is no secret."""
    if _find_states(content, None).get("cmts_mic") == "missing":
        return [
            "the CMTS MIC (TLV 7) is not in the file, because there is no secret: a CMTS refuses"
            " the file; --secret-file computes it"
        ]
    return ["the CMTS MIC (TLV 7) stays as it is in the text; a secret computes it anew"]


def _describe_stale(content: bytes, secret: bytes | None) -> list[str]:
    """Say which message integrity check of a text does not fit its content, as after an edit."""
    states = _find_states(content, secret)
    if states.get("cm_mic") in ("wrong", "stale"):
        return [
            "the CM MIC (TLV 6) is not that of this content, and the modem refuses the file: --mic"
            " computes it anew, --secret or --secret-file computes the CMTS MIC (TLV 7) too"
        ]
    if states.get("cmts_mic") in ("wrong", "stale"):
        return [
            "the CMTS MIC (TLV 7) is not that of this content with this secret, and the CMTS"
            " refuses the file: --mic computes it anew"
        ]
    return []


def _find_states(content: bytes, secret: bytes | None) -> dict[str, str]:
    """Give the states of the message integrity checks of a file by name; an MTA's file has none."""
    from headend import _engine
    from headend.modem_file.integrity import verify

    try:
        return {mic.key: mic.state for mic in verify(content, secret)}
    except _engine.ConfigError:
        return {}


def _write_json(content: bytes) -> str:
    """Write a modem's file as JSON, indented unless it is long. Control characters are escaped."""
    from headend import _engine

    text = _engine.config_to_json(content)
    if len(text) <= MOST_INDENTED:
        text = json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    return escape_in_json(text)


def _take_target(
    output: Path | None, *, force: bool, as_json: bool, sources: tuple[str, ...] = ()
) -> Target:
    """Find where a modem's file is written; what is wrong is refused before anything is read."""
    target = Target(output, force=force, sources=sources)
    if as_json and target.path is None:
        raise InputError("--json: standard output has the JSON; -o FILE says where the file goes")
    target.refuse_terminal()
    return target


def _write_binary(
    content: bytes, target: Target, *, as_json: bool, notes: Sequence[str] = ()
) -> None:
    """Write a modem's file, and print a note of it."""
    target.write(content)
    if as_json:
        print_json({"file": str(target.path), "size": len(content), "notes": list(notes)})
    else:
        target.tell()


def _read_all(files: Sequence[str]) -> list[ModemFile]:
    """Read files, binary or as text; standard input at most once."""
    from headend.modem_file.reading import read_any_form

    if files.count(STANDARD_INPUT) > 1:
        raise InputError("-: given twice; standard input can be read once")
    return [read_any_form(file) for file in files]


def _read_preset(name: str | None) -> str:
    """Read the generation of the modem, by default the newest."""
    from headend.modem_file.generation import PRESET, read_preset

    with naming("--preset"):
        return PRESET if name is None else read_preset(name)


def _read_secret(text: str | None, file: str | None, sources: Sequence[str]) -> bytes | None:
    """Read the secret; None where none is given."""
    from headend.modem_file.secret import read_secret

    if file == STANDARD_INPUT in sources:
        raise InputError("--secret-file -: standard input holds the file already; name a file")
    return read_secret(text, file)
