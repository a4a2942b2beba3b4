"""The scenario of a tier with its recommended setting, as a file for ``headend run``."""

from __future__ import annotations

import re

from headend.analysis.criteria import Condition, Criteria
from headend.recommendation.deciding import Decision
from headend.recommendation.request import Request
from headend.recommendation.sender import Sender
from headend.recommendation.sentences import name_condition
from headend.scenario.applying import apply_overrides
from headend.scenario.source import write_toml


def write_scenario_file(request: Request, decision: Decision) -> str:
    """Write the scenario of a tier's chosen setting, with what must hold as ``[expect]``.

    Of several senders it has the one that decided: with which the condition with the least to
    spare is worst, or that which is missed most.

    Parameters
    ----------
    request
        What was asked.
    decision
        Of the tier; it must have a setting.
    """
    setting = decision.chosen.setting
    if setting is None:
        raise ValueError(f"{decision.tier.name}: no setting was measured")
    candidate = decision.find(setting)
    sender = request.senders[0] if request.senders else None
    decided = _find_decided(decision, setting)
    if decided:
        _, sender = decided
    text = request.read_text(decision.tier, candidate, sender)
    content = apply_overrides(text, request.list_overrides(decision.tier, candidate))
    found = (
        "Recommended: every condition holds."
        if decision.recommended
        else "The nearest setting: not every condition holds."
    )
    if sender:
        found += f" Uploads are sent by {sender.words}"
        found += f", {_describe_decided(decision, decided[0])}." if decided else "."
    words = {
        "title": f"{decision.tier.name}: {candidate.label}",
        "description": found,
        "seed": request.seeds[0],
    }
    rest = {key: value for key, value in content.items() if key not in (*words, "expect")}
    expect = list_expectations(decision.criteria)
    return write_toml({**words, **rest, **({"expect": expect} if expect else {})})


def _find_decided(decision: Decision, setting: int) -> tuple[Condition, Sender] | None:
    """Give the condition that decided, and the one of several senders that it is worst with."""
    if not decision.criteria.constraints:
        return None
    condition = decision.find_decisive(setting)
    sender = decision.find_sender(condition.term.text, setting)
    return (condition, sender) if sender else None


def _describe_decided(decision: Decision, condition: Condition) -> str:
    """Say why a scenario has its sender."""
    name = name_condition(condition)
    if decision.recommended:
        return f"the sender that decided: with it {name} has the least to spare"
    return f"the sender that decided: with it {name} is farthest from holding"


def list_expectations(wish: Criteria) -> dict[str, str]:
    """Give conditions as the lines of ``[expect]``, by name, without those on sums.

    Examples
    --------
    >>> from headend.analysis.criteria import read_preferences
    >>> wish = read_preferences(["call.mos.p5 >= 4.0", "cable.up.delay.p95 <= 20 ms"], {})
    >>> list_expectations(wish)
    {'call_mos_p5': 'call.mos.p5 >= 4.0', 'cable_up_delay_p95': 'cable.up.delay.p95 <= 20 ms'}
    """
    found: dict[str, str] = {}
    for one in wish.constraints:
        if "+" in one.term.text:
            continue
        stem = name = re.sub(r"\W+", "_", one.term.text).strip("_")
        number = 2
        while name in found:
            name, number = f"{stem}_{number}", number + 1
        found[name] = f"{one.term.text} {one.operator} {one.limit}"
    return found
