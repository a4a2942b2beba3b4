"""The settings of a recommendation as TLVs, and as configuration files of modems.

All TLVs come from the file that the engine writes for the scenario of the recommended setting. A
tier whose modems have a file gets that file with these TLVs in the place of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from headend.errors import InputError
from headend.modem_file.check import check
from headend.modem_file.diff import diff
from headend.modem_file.document import END, read_document
from headend.modem_file.editing import carry_low_latency, carry_queue
from headend.modem_file.export import write_for
from headend.modem_file.integrity import sign
from headend.modem_file.reading import read_any_form
from headend.recommendation.candidate import Candidate, Feature
from headend.recommendation.deciding import Decision
from headend.recommendation.rates import name_files
from headend.recommendation.request import Request
from headend.recommendation.tier import Tier
from headend.recommendation.tlv import Tlv, compare_settings, list_pins
from headend.results.output import check_output, write_output
from headend.scenario.file_access import FileAccess
from headend.scenario.modems import find_named, write_modems
from headend.scenario.source import read_scenario

if TYPE_CHECKING:
    from headend.recommendation.result import Recommendation

__all__ = ["Tlv", "Written", "describe_default", "list_paths", "list_tlvs", "write_files"]

#: The name of a file that is read back, in errors.
_EDITED = "edited.cm"

#: The line of a tier without queues, as the modem has it by itself.
_BARE = Candidate("as the modem has it", Feature.TODAY)

#: The message integrity check of the CMTS.
_CMTS_MIC = 7


@dataclass(frozen=True)
class Written:
    """A file that was written for a tier, and what to know about it.

    Parameters
    ----------
    tier
        The name of the tier.
    path
        The file.
    notes
        Sentences on what the file lacks, what a check of it found, and, of the first file, which
        tiers have none.
    """

    tier: str
    path: Path
    notes: tuple[str, ...] = ()


def list_tlvs(request: Request, decision: Decision) -> tuple[Tlv, ...]:
    """List the TLVs that the recommended setting of a tier adds, changes or removes.

    Where a modem has the setting by default, these are the TLVs that pin it, and `describe_default`
    says so. There are none where nothing is recommended, where the tier has the setting today, and
    for a router, which no modem's file sets.
    """
    candidate = _find_recommended(decision)
    tier = decision.tier
    if candidate is None or candidate.feature is Feature.TODAY or candidate.router:
        return ()
    if not tier.is_cable:
        return ()
    if tier.file:
        with suppress(InputError):
            old = _read(tier.file)
            new = _edit(request, tier, candidate, old)
            return compare_settings(read_document(old), read_document(new))
    before, after = (read_document(_export(request, tier, own)[0]) for own in (_BARE, candidate))
    return compare_settings(before, after, has_defaults=True) or list_pins(after)


def describe_default(request: Request, decision: Decision) -> str | None:
    """Say in a sentence that nothing has to be set; None if something has, or none recommended."""
    candidate = _find_recommended(decision)
    if candidate is None or candidate.router or decision.tier.is_own:
        return None
    if candidate.feature is Feature.TODAY:
        return "The tier has this setting today: nothing has to be set."
    tier, is_default = decision.tier, False
    if tier.file is None:
        is_default = _export(request, tier, candidate) == _export(request, tier, _BARE)
        who = "A modem has this setting by default"
    else:
        with suppress(InputError):
            is_default = _find_deviation(request, tier, candidate, _read(tier.file)) is None
        who = "The modems have this setting with their file as it is"
    return f"{who}: nothing has to be set; these TLVs say so explicitly." if is_default else None


def list_paths(tiers: Sequence[Tier], path: Path) -> list[Path]:
    """List the files of tiers: the path itself for a single one, else with the tier's name.

    Examples
    --------
    >>> gold, silver = (Tier(name, 1e6, 1e7, {}) for name in ("5 Mbit/s", "gold plus"))
    >>> [path.name for path in list_paths([gold, silver], Path("modem.cm"))]
    ['modem-5M.cm', 'modem-gold-plus.cm']
    """
    if len(tiers) == 1:
        return [path]
    return [path.with_name(f"{path.stem}-{name}{path.suffix}") for name in name_files(tiers)]


def write_files(
    recommendation: Recommendation,
    path: Path,
    secret: bytes | None = None,
    *,
    force: bool = False,
) -> list[Written]:
    """Write a modem's file for each tier: to ``path`` for one, else with the tier's name in it.

    A tier without a recommendation gets no file, and a note with the first file says so. Nothing is
    written unless all files can be made.

    Parameters
    ----------
    recommendation
        What the tiers shall have.
    path
        The file.
    secret
        The secret of the CMTS, for the CMTS MIC; it may be empty.
    force
        Whether the files may be there already.

    Raises
    ------
    InputError
        When no tier has a recommendation, a file is there already, or one cannot be changed.
    """
    decisions = recommendation.decisions
    tiers = [decision.tier for decision in decisions]
    if all(decision.recommended is None for decision in decisions):
        raise InputError(
            f"{path}: not written, because no setting that was tried meets all conditions"
        )
    sources = [tier.file for tier in tiers if tier.file]
    made: list[tuple[Written, bytes]] = []
    notes = [
        (
            f"{decision.tier.name} gets no file, because no setting that was tried meets all"
            " conditions."
        )
        for decision in decisions
        if decision.recommended is None
    ]
    for decision, own in zip(decisions, list_paths(tiers, path), strict=True):
        if candidate := _find_recommended(decision):
            check_output(own, force=force, sources=sources)
            content, more = _make(recommendation.request, decision.tier, candidate, secret)
            made.append((Written(decision.tier.name, own, (*more, *notes)), content))
            notes = []
    for written, content in made:
        write_output(written.path, content, force=force)
    return [written for written, _ in made]


def _find_recommended(decision: Decision) -> Candidate | None:
    return None if decision.recommended is None else decision.find(decision.recommended)


def _make(
    request: Request, tier: Tier, candidate: Candidate, secret: bytes | None
) -> tuple[bytes, list[str]]:
    """Make the file of a tier, with notes on it."""
    if tier.file is None:
        content, notes = _export(request, tier, candidate, secret)
    else:
        old = _read(tier.file)
        try:
            content = _edit(request, tier, candidate, old)
        except InputError as error:
            raise InputError(
                f"{tier.file}: cannot be given {candidate.label}: {error}; headend config from"
                " writes a new file of the tier's scenario in the results folder"
            ) from error
        found = _find_deviation(request, tier, candidate, content)
        notes = [f"A run with the file differs from what was tried: {found}"] if found else []
        if content != old or secret is not None:
            content = _sign(content, secret, tier.file, is_padded=len(old) % 4 == 0)
            notes += _describe_unsigned(content, tier.file) if secret is None else []
    findings = check(content, secret, is_unsigned=secret is None)
    for own in findings:
        if own.severity != "note":
            place = f"TLV {own.path}: " if own.path else ""
            notes.append(f"{own.severity}: {place}{own.text}")
    return content, notes


def _export(
    request: Request, tier: Tier, candidate: Candidate, secret: bytes | None = None
) -> tuple[bytes, list[str]]:
    """Let the engine write the file of a setting, with its notes."""
    text = request.read_text(tier, candidate)
    return write_for(text.load(request.overrides), secret=secret)


def _read(file: Path) -> bytes:
    """Read the file of a tier's modems, binary or as text."""
    return read_any_form(str(file)).content


def _edit(request: Request, tier: Tier, candidate: Candidate, old: bytes) -> bytes:
    """Give the file of a tier's modems with a setting; its message integrity checks stay.

    Raises
    ------
    InputError
        A clause that says why the file cannot have this setting.
    """
    if candidate.feature is Feature.TODAY:
        return old
    source, _ = _export(request, tier, candidate)
    if candidate.feature is not Feature.LOW_LATENCY:
        return carry_queue(old, source)
    new = carry_low_latency(old, source)
    if deviation := _find_deviation(request, tier, candidate, new):
        raise InputError(f"a run with the file would differ from what was tried: {deviation}")
    return new


def _find_deviation(
    request: Request, tier: Tier, candidate: Candidate, content: bytes
) -> str | None:
    """Find what a line with a file has other than the line that was tried: the first difference."""
    rates = {"upstream": tier.upstream, "downstream": tier.downstream}
    line = {
        "preset": tier.link["preset"],
        # The file is signed when all is decided.
        "ignore_mic": True,
        **{way: {"rate": f"{rate:.0f} bit/s"} for way, rate in rates.items()},
    }
    overrides = [*request.overrides, *write_modems(_EDITED)]
    text = read_scenario(
        request.write_scenario(replace(tier, link=line, today=None), _BARE),
        FileAccess(
            typed=frozenset(f"{path}={value}" for path, value in request.overrides),
            allowed=request.allowed,
            named=find_named(overrides),
        ),
    )
    files = {**text.read_files(request.overrides), _EDITED: content}
    read_back, _ = write_for(text.load(overrides, files))
    tried, _ = _export(request, tier, candidate)
    changes = diff(tried, read_back)
    return next((own.text for own in changes if own.kind not in ("integrity", "form")), None)


def _sign(content: bytes, secret: bytes | None, file: Path, *, is_padded: bool) -> bytes:
    """Compute the message integrity checks anew; pads to four bytes stay if there were any."""
    document = read_document(content)
    end = document.get(END)
    behind = content[end.offset + 1 :] if end else b"-"
    if end and is_padded and not any(behind):
        signed = sign(content[: end.offset + 1], secret, str(file))
        return signed + bytes(-len(signed) % 4)
    return sign(content, secret, str(file))


def _describe_unsigned(content: bytes, file: Path) -> list[str]:
    """Say what the CMTS MIC is without a secret."""
    if read_document(content).get(_CMTS_MIC) is None:
        return ["Without a secret the file has no CMTS MIC (TLV 7), and a CMTS refuses it."]
    return [
        f"Without a secret the CMTS MIC (TLV 7) is still that of {file.name}, and a CMTS refuses"
        " the file."
    ]
