"""Checks a modem's file with every rule; the gravest findings come first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from headend.modem_file.document import read_document
from headend.modem_file.finding import SEVERITIES, Finding, Rule, list_rules
from headend.modem_file.generation import PRESET
from headend.modem_file.integrity import verify
from headend.modem_file.rules import (
    aqm,
    buffer,
    classifiers,
    low_latency,
    rates,
    scheduling,
    structure,
)
from headend.modem_file.rules.integrity import check_mics
from headend.modem_file.settings import Settings, read_settings

#: The rules, in the order of equally grave findings.
RULES = [
    own
    for module in (structure, buffer, aqm, rates, scheduling, classifiers, low_latency)
    for own in list_rules(module)
]

#: The most findings that are given of one rule; a file with more is broken throughout.
MOST_TOLD = 100


def check(
    data: bytes,
    secret: bytes | None = None,
    *,
    is_unsigned: bool = False,
    preset: str = PRESET,
) -> list[Finding]:
    """Check a file.

    Parameters
    ----------
    data
        The bytes of the file. Any bytes can be checked.
    secret
        The secret of the CMTS; without it the CMTS MIC is not verified.
    is_unsigned
        Whether the file is signed later, so that absent MICs are no fault.
    preset
        The generation of the modem, which decides what it does where the file says nothing.

    Returns
    -------
    list of Finding
        The gravest first; of equally grave ones those on the file itself, then buffers, AQM, rates,
        scheduling, classifiers and low latency.
    """
    document = read_document(data)
    settings = read_settings(document, preset)
    scopes = ["any", *(["signed"] if not is_unsigned else []), "modem"]
    found: list[Finding] = []
    for scope in scopes if document.is_modem else ["any"]:
        for rule in RULES:
            if rule.scope == scope and not (document.is_cut and rule.is_of_whole):
                found += _apply(rule, settings)
        if scope == "any" and document.is_modem:
            found += check_mics(verify(data, secret))
    named = [
        replace(finding, name=document.name(finding.path)) if finding.path else finding
        for finding in found
    ]
    return sorted(named, key=lambda finding: SEVERITIES.index(finding.severity))


def suppose(data: bytes, preset: str = PRESET) -> str:
    """Say what the check supposes of AQM and buffer of which a file says nothing; or nothing."""
    document = read_document(data)
    return read_settings(document, preset).supposed if document.is_modem else ""


def is_usable(data: bytes) -> bool:
    """Say whether a file has a line that can be simulated: an upstream flow with a rate."""
    document = read_document(data)
    flows = read_settings(document).upstream if document.is_modem else []
    return any(flow.drained_at for flow in flows[:1])


def _apply(rule: Rule, settings: Settings) -> Iterator[Finding]:
    """Give the first findings of a rule, and one that says so if there are more."""
    findings = rule.apply(settings)
    last = None
    for last in islice(findings, MOST_TOLD):
        yield last
    if last and next(findings, None):
        yield Finding(
            last.severity,
            last.rule,
            None,
            f"The rule {last.rule} has further findings: only the first {MOST_TOLD} are shown.",
            "Correct these, and check the file again.",
            "headend",
        )
