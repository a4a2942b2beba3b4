"""The rule on message integrity checks: wrong, stale and unverifiable ones are three findings."""

from __future__ import annotations

from collections.abc import Iterator

from headend.modem_file.finding import Finding, Severity
from headend.modem_file.integrity import Mic
from headend.modem_file.words import write_value

_SOURCE = "MULPI D.2 and C.1.1.18.1.6"


#: What is said of a state that is no good: severity, rule, and words.
STATES: dict[str, tuple[Severity, str, str]] = {
    "wrong": ("error", "mic_wrong", "is wrong"),
    "stale": ("error", "mic_stale", "is stale"),
    "unverifiable": ("note", "mic_unverifiable", "was not verified"),
}


def check_mics(mics: tuple[Mic, ...]) -> Iterator[Finding]:
    """Find MICs that do not verify. Another rule finds absent ones."""
    for mic in mics:
        if mic.state not in STATES:
            continue
        severity, rule, told = STATES[mic.state]
        advice = "Compute both MICs anew: `headend config encode` with the secret."
        if mic.state == "unverifiable":
            advice = "Name the secret that the CMTS has (`--secret-file`) to verify it."
        elif mic.state == "wrong" and mic.path != "6":
            advice = (
                "Name the secret that the CMTS has, or compute the MIC anew with it (`headend"
                " config encode`)."
            )
        if mic.state != "unverifiable" and mic.found and mic.computed:
            found = write_value(None, mic.found)
            told += f": the file has {found}, and its content gives 0x{mic.computed}"
        elif mic.state != "unverifiable":
            told += ": it does not fit what the file holds"
        why = (mic.why or "").strip().rstrip(".")
        text = f"The {mic.name} {told}.{f' {why[:1].upper()}{why[1:]}.' if why else ''}"
        yield Finding(severity, rule, mic.path, text, advice, _SOURCE)
