"""What must hold of each tier, understood with its scenarios, and held against results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from headend.analysis.criteria import Criteria
from headend.errors import InputError, refuse_argument
from headend.recommendation.candidate import Candidate
from headend.recommendation.conditions import read_wish_of
from headend.recommendation.keeping import add_sums, list_parts
from headend.recommendation.record import RecommendationRecord
from headend.recommendation.request import Request
from headend.recommendation.tier import Tier
from headend.scenario.reach import Reach
from headend.scenario.source import Text, read_scenario
from headend.scenario.subjects import Vocabulary

if TYPE_CHECKING:
    import polars as pl


def read_text(request: Request, tier: Tier, candidate: Candidate) -> Text:
    """Give the scenario of a candidate as text."""
    typed = frozenset(f"{path}={value}" for path, value in request.overrides)
    reach = Reach(typed=typed, allowed=request.allowed)
    return read_scenario(request.write_scenario(tier, candidate), reach)


def read_tier_wish(request: Request, tier: Tier, vocabularies: Sequence[Vocabulary]) -> Criteria:
    """Understand what must hold of a tier; a quantity counts as known if one candidate has it."""
    return read_wish_of(
        request.conditions,
        request.objective,
        tier,
        request.people.flows,
        unite(vocabularies),
    )


def unite(vocabularies: Sequence[Vocabulary]) -> Vocabulary:
    """Give all that can be asked of any of several scenarios, which have the same flows."""
    first, *others = vocabularies
    members: Mapping[str, Sequence[str]] = first.members
    for own in others:
        members = {**own.members, **members}
    queues = sorted({name for own in vocabularies for name in own.queues})
    channels = dict.fromkeys(name for own in vocabularies for name in own.channels)
    return replace(first, queues=queues, members=members, channels=list(channels))


def judge_again(
    record: RecommendationRecord, expect: str | Sequence[str], prefer: str
) -> tuple[Request, tuple[tuple[Tier, tuple[Candidate, ...], Criteria], ...], pl.DataFrame]:
    """Give request, tiers and table of the same results under other conditions.

    Raises
    ------
    InputError
        For a condition that cannot be understood, and for a quantity that the results do not hold.
    """
    conditions = tuple(filter(None, (expect,))) if isinstance(expect, str) else tuple(expect)
    if not all(isinstance(one, str) for one in conditions):
        raise refuse_argument("expect", "conditions as text", expect)
    request = replace(
        record.request,
        expect=conditions or record.request.expect,
        prefer=prefer or record.request.prefer,
    )
    tiers = []
    for tier, candidates, _ in record.tiers:
        wish = read_tier_wish(request, tier, list_vocabularies(request, tier, candidates))
        if record.table.width:
            _check_kept(wish, set(record.table["measure"].unique()))
        tiers.append((tier, candidates, wish))
    return request, tuple(tiers), add_sums(record.table, [wish for _, _, wish in tiers])


def list_vocabularies(
    request: Request, tier: Tier, candidates: Sequence[Candidate]
) -> list[Vocabulary]:
    """List what can be asked of each candidate that the engine accepts."""
    found, refused = [], []
    for candidate in candidates:
        try:
            loaded = read_text(request, tier, candidate).load(request.overrides)
        except InputError as error:
            refused.append(error)
        else:
            found.append(Vocabulary.from_scenario(loaded.scenario))
    if not found:
        raise refused[0]
    return found


def _check_kept(wish: Criteria, kept: set[str | None]) -> None:
    """Refuse what was not kept of the runs."""
    asked = [(one.where, one.term) for one in wish.constraints]
    if wish.objective:
        asked.append((wish.where, wish.objective))
    for where, term in asked:
        for part in (part for name in term.measures for part in list_parts(name)):
            if part not in kept:
                raise InputError(
                    f"{where}: {part} was not kept of these results; run the recommendation again"
                    " with it"
                )
