"""What must hold of a tier: conditions in the words of ``[expect]``, whose bounds can be shares of the line's rate.

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

from headend.errors import InputError
from headend.judging.expect import parse_quantity_name
from headend.recommending.tier import Tier
from headend.scenario.subjects import Vocabulary
from headend.sweeps.wish import Condition, Wish, read_preferences

_SHARE = re.compile(r"(\d+(?:\.\d+)?|\.\d+)\s*%(?:\s*of\s+(upstream|downstream))?")


def read_wish_of(
    conditions: Sequence[str],
    objective: str,
    tier: Tier,
    flows: Mapping[str, Mapping[str, Any]],
    vocabulary: Vocabulary,
) -> Wish:
    """Understand what must hold of a tier, with bounds that are shares of its rate in bit/s.

    Parameters
    ----------
    conditions, objective
        As in `Request`.
    tier
        Whose rates count.
    flows
        The ``[flow]`` tables, which say in which direction a flow sends.
    vocabulary
        Of the scenario.

    Raises
    ------
    InputError
        Beginning with ``--expect`` or ``--prefer`` and what was written.
    """
    wish = read_preferences([*conditions, *([objective] if objective else [])], {})
    hold = tuple(
        replace(
            _resolve(one, tier, flows, vocabulary), where=one.where.replace("--prefer", "--expect")
        )
        for one in wish.hold
    )
    wish = replace(wish, hold=hold)
    wish.check({}, vocabulary)
    return wish


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
    quantity = parse_quantity_name(condition.term.text, vocabulary)
    if quantity.kind != "rate":
        return condition
    way = match[2] or {"up": "upstream", "down": "downstream"}.get(
        quantity.direction or flows.get(quantity.subject, {}).get("direction", "")
    )
    if way is None:
        raise InputError(
            f'--expect "{condition.text}": {quantity.subject} sends in both directions; expected'
            f' "{condition.limit} of upstream", or "… of downstream"'
        )
    rate = tier.upstream if way == "upstream" else tier.downstream
    return replace(condition, limit=f"{float(match[1]) / 100 * rate:.0f} bit/s")
