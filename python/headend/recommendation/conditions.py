"""What must hold of a tier: conditions as in ``[expect]``, with shares of the line's rate.

::

    condition = quantity operator bound
    bound     = as in [expect] | number "%" [ "of" ( "upstream" | "downstream" ) ]

A share is of the sustained rate of the direction in which the flow sends its data.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from headend.analysis.criteria import Condition, Criteria, read_preferences
from headend.analysis.expect import Quantity, split_expectation
from headend.analysis.sums import parse_sum
from headend.engine.description import find_application
from headend.errors import InputError, naming
from headend.recommendation.candidate import Candidate
from headend.recommendation.people import name_application
from headend.recommendation.request import Request
from headend.recommendation.tier import Tier
from headend.scenario.groups import name_group
from headend.scenario.subjects import Vocabulary
from headend.text.quantity import NAMES, format_quantity, parse_quantity

_SHARE = re.compile(r"([0-9]+(?:\.[0-9]+)?|\.[0-9]+)\s*%(?:\s*of\s+(\S+))?", re.IGNORECASE)

#: The directions of which a share can be.
_WAYS = ("upstream", "downstream")


def read_tier_wish(request: Request, tier: Tier, vocabularies: Sequence[Vocabulary]) -> Criteria:
    """Understand what must hold of a tier; a quantity counts as known if one candidate has it."""
    first, *others = vocabularies
    members: Mapping[str, Sequence[str]] = first.members
    for own in others:
        members = {**own.members, **members}
    queues = sorted({name for own in vocabularies for name in own.queues})
    channels = list(dict.fromkeys(name for own in vocabularies for name in own.channels))
    known = replace(first, queues=queues, members=members, channels=channels)
    flows = request.people.flows
    return read_wish_of(request.conditions, request.objective, tier, flows, known)


def list_vocabularies(
    request: Request, tier: Tier, candidates: Sequence[Candidate]
) -> list[Vocabulary]:
    """List what can be asked of each candidate that the engine accepts."""
    found, refused = [], []
    for candidate in candidates:
        try:
            overrides = request.list_overrides(tier, candidate)
            loaded = request.read_text(tier, candidate).load(overrides)
        except InputError as error:
            refused.append(error)
        else:
            found.append(Vocabulary.from_scenario(loaded.scenario))
    if not found:
        raise refused[0]
    return found


def read_wish_of(
    conditions: Sequence[str],
    objective: str,
    tier: Tier,
    flows: Mapping[str, Mapping[str, Any]],
    vocabulary: Vocabulary,
) -> Criteria:
    """Understand what must hold of a tier, with bounds that are shares of its rate in bit/s.

    Parameters
    ----------
    conditions, objective
        As in `Request`.
    flows
        The ``[flow]`` tables, which say in which direction a flow sends.

    Raises
    ------
    InputError
        Beginning with ``--expect`` or ``--prefer`` and what was written.
    """
    for text in conditions:
        if is_objective(text):
            raise InputError(
                f'--expect "{text}": expected a condition such as "call.mos.p5 >= 4.0"; --prefer'
                " takes most and least"
            )
        with naming(f'--expect "{text}"'):
            split_expectation(text)
    wish = read_preferences([*conditions, *([read_objective(objective)] if objective else [])], {})
    hold = []
    for one in wish.constraints:
        where = one.where.replace("--prefer", "--expect")
        try:
            hold.append(replace(_resolve(one, tier, flows, vocabulary), where=where))
        except ValueError as error:
            raise InputError(f"{where}: {error}") from error
    wish = replace(wish, constraints=tuple(hold))
    wish.check({}, vocabulary)
    return wish


def is_objective(text: str) -> bool:
    """Say whether a text asks for most or least of something.

    Examples
    --------
    >>> is_objective("most upload.goodput"), is_objective("call.mos.p5 >= 4.0")
    (True, False)
    """
    return text.strip().partition(" ")[0] in ("most", "least")


def read_objective(text: Any) -> str:
    """Take what there should be most or least of.

    Raises
    ------
    InputError
        For anything else; without saying where it is written.
    """
    example = '"most upload.goodput" or "least cable.up.delay.p99"'
    has_bound = re.search("[<>=]", str(text))
    is_known = isinstance(text, str) and is_objective(text) and text.strip().partition(" ")[2]
    if has_bound or not is_known:
        without = " without a bound" if is_known else ""
        found = f'"{text}"' if isinstance(text, str) else str(text)
        hint = "; conditions belong to --expect" if has_bound else ""
        raise InputError(f"expected {example}{without}, found {found}{hint}")
    return " ".join(text.split())


def _resolve(
    condition: Condition,
    tier: Tier,
    flows: Mapping[str, Mapping[str, Any]],
    vocabulary: Vocabulary,
) -> Condition:
    """Give a condition on a rate its bound in bit/s, if it is a share."""
    match = _SHARE.fullmatch(condition.limit.strip())
    if match is None or len(condition.term.measures) > 1:
        return condition
    quantities = parse_sum(condition.term.text, vocabulary)
    if quantities[0].kind != "rate":
        if match[2]:
            raise InputError(
                f"{condition.term.text} is a {NAMES.get(quantities[0].kind, quantities[0].kind)};"
                f' expected a bound without "of {match[2]}"'
            )
        return condition
    ways = {_find_way(quantity, flows, tier.line) for quantity in quantities}
    way = (match[2] or (ways.pop() if len(ways) == 1 else "")).lower()
    if way not in _WAYS:
        what = (
            f'found "of {match[2]}"'
            if match[2]
            else f"{condition.term.text} is not of one direction"
        )
        raise InputError(
            f'{what}; expected "{match[1]} % of upstream" or "{match[1]} % of downstream"'
        )
    share = parse_quantity(f"{match[1]} %", "ratio").value
    rate = tier.upstream if way == "upstream" else tier.downstream
    most = max(rate, _find_peak(tier, way))
    if condition.higher_is_better and share * rate > most and condition.operator in (">", ">="):
        peak = f" at its peak, and {format_quantity(rate, 'rate')} sustained" if most > rate else ""
        raise InputError(
            f'no value meets "{condition.operator} {condition.limit}": the rate {way} is'
            f" {format_quantity(most, 'rate')}{peak}"
        )
    return replace(condition, limit=f"{share * rate:.0f} bit/s")


def _find_way(quantity: Quantity, flows: Mapping[str, Mapping[str, Any]], line: str) -> str:
    """Find the direction that a quantity is of; nothing where it has none."""
    subject = quantity.subject
    ways = dict(zip(("up", "down"), _WAYS, strict=True))
    for way, words in ways.items():
        if subject == f"{line}.{way}" or subject.startswith((f"{line}.{way}.", f"{line}.{way}_")):
            return words
    flow = flows.get(subject) or flows.get(name_group(subject), {})
    sends = flow.get("direction") or find_application(name_application(flow)).direction
    return ways.get(quantity.direction or str(sends), "")


def _find_peak(tier: Tier, way: str) -> float:
    """Give the peak rate of a direction in bit/s, which is not exceeded for long; 0 if none."""
    peak = tier.find_table(way).get("peak")
    try:
        return parse_quantity(str(peak), "rate").value if peak else 0.0
    except ValueError:  # "unlimited"
        return float("inf")
