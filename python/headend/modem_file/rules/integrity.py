"""The rule on message integrity checks: wrong, stale and unverifiable ones are three findings."""

from __future__ import annotations

from collections.abc import Iterator

from headend.modem_file.finding import Finding
from headend.modem_file.integrity import Mic
from headend.modem_file.words import write_value

_SOURCE = "MULPI D.2 and C.1.1.18.1.6"


def check_mics(mics: tuple[Mic, ...]) -> Iterator[Finding]:
    """Find MICs that do not verify. Another rule finds absent ones."""
    for mic in mics:
        if mic.state == "wrong":
            yield Finding(
                "error",
                "mic_wrong",
                mic.path,
                f"The {mic.name} is wrong: {_compare(mic)}.{_add(mic)}",
                "Compute both MICs anew: `headend config encode` with the secret."
                if mic.path == "6"
                else (
                    "Name the secret that the CMTS has, or compute the MIC anew with it (`headend"
                    " config encode`)."
                ),
                _SOURCE,
            )
        elif mic.state == "stale":
            yield Finding(
                "error",
                "mic_stale",
                mic.path,
                f"The {mic.name} is stale: {_compare(mic)}.{_add(mic)}",
                "Compute both MICs anew: `headend config encode` with the secret.",
                _SOURCE,
            )
        elif mic.state == "unverifiable":
            yield Finding(
                "note",
                "mic_unverifiable",
                mic.path,
                f"The {mic.name} was not verified.{_add(mic)}",
                "Name the secret that the CMTS has (`--secret-file`) to verify it.",
                _SOURCE,
            )


def _compare(mic: Mic) -> str:
    if mic.found and mic.computed:
        found = write_value(None, mic.found)
        return f"the file has {found}, and its content gives 0x{mic.computed}"
    return "it does not fit what the file holds"


def _add(mic: Mic) -> str:
    why = (mic.why or "").strip().rstrip(".")
    return f" {why[:1].upper()}{why[1:]}." if why else ""
