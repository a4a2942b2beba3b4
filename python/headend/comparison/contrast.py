"""The answer of a comparison: its question, sentences, matrix and figure.

The question names the varied axes, even where the scenario's title is a question: the title is
about the scenario, and a comparison is about the choice.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from headend.analysis.channels import ChannelState, gather_channels
from headend.analysis.estimate import Estimate, format_difference, format_estimate
from headend.analysis.grading import Grade
from headend.analysis.lateness import find_emulation
from headend.comparison.choosing import find_main
from headend.comparison.comparison import STOPPED_AT_ONE, UNEVEN
from headend.comparison.grid import Grid, name_factors
from headend.comparison.notes import MissingSeeds, describe_caveats_of, lacks_seeds
from headend.comparison.outcomes import FlowOutcome, QueueOutcome, TierOutcome, judge_grid
from headend.comparison.sentences import count_seeds, describe_grid, describe_tier
from headend.engine.description import find_application
from headend.scenario.groups import name_group
from headend.text.quantity import Unit, choose_unit, format_change, format_quantity
from headend.text.wording import join_names
from headend.wording.answer import Answer
from headend.wording.cell import tell_rate
from headend.wording.run import answer_run, explain_meanings
from headend.wording.table import Cell, Row, Table, make_matrix

if TYPE_CHECKING:
    from headend.comparison.comparison import Variant

#: Flows and groups that a question names at most.
MOST_ASKED = 4

#: Keys of a scenario that are plurals: "Which queues suit …", and "Which MCS suits …".
PLURALS = frozenset(
    {"connections", "neighbours", "opportunities", "queues", "retries", "stations", "streams"}
)

#: Rows of a grid's matrix; where there are more, flows with good grades everywhere are left out.
MOST_ROWS = 15

#: From this difference between median queue delays on, the figure shows it, ns.
QUEUE_SHOWS = 20e6

#: The note of a matrix whose numbers have no interval.
ONE_SEED_HAS = "One seed has no interval; --seeds 10 gives one."

#: That note where runs are in real time, or replayed: there is no option for many seeds.
ONE_RUN_HAS = "One run has no interval; run each again with --seed 2, 3, … and compare all folders."

#: The note that says which choice is the best of its tier.
BEST = (
    "Best: the lowest sum of grades, each as the whole 95 % interval has it; of equal sums, that"
    " of the means, then the highest rates of transfers."
)

#: That note where there are round trips of real programs.
BEST_OF_REAL = f"{BEST.rstrip('.')}, then the shortest round trips."


def answer_comparison(
    variants: Sequence[Variant], missing_seeds: MissingSeeds = MappingProxyType({})
) -> Answer:
    """Answer which setting suits the people on the line; of one, how each flow fares over seeds."""
    is_stopped = lacks_seeds(variants, missing_seeds)
    grid, tiers = judge_grid(variants)
    sentences: tuple[str, ...]
    caveats = describe_caveats_of(variants) if len(variants) > 1 else ()
    if any(tier.is_uneven for tier in tiers):
        sentences = (UNEVEN,)
    elif len(variants) < 2:
        sentences = answer_run(variants[0].pool()).sentences
    else:
        sentences = describe_grid(grid, tiers) if grid.is_several else describe_tier(grid, tiers[0])
    note = _explain_matrix(grid, tiers, is_stopped=is_stopped)
    matrix = (
        _tabulate_grid(grid, tiers, note)
        if grid.is_several
        else _tabulate_tier(grid, tiers[0], note)
    )
    return Answer(_ask(grid, tiers), (*caveats, *sentences), matrix, _explain(grid, tiers))


def _ask(grid: Grid, tiers: Sequence[TierOutcome]) -> str:
    """Write the question with the choice, the flows, and the line or the tiers."""
    people = list(
        dict.fromkeys(
            name
            for tier in tiers
            for name, fates in tier.people.items()
            if _is_traffic([fate for fate in fates if fate])
        )
    )
    whom = join_names(people) if len(people) <= MOST_ASKED else f"{len(people)} kinds of traffic"
    if sum(len(tier.tier.present) for tier in tiers) < 2:
        return f"How {'does' if len(people) == 1 else 'do'} {whom} fare{_describe_rate(tiers[0])}?"
    if grid.is_several:
        where = f" at each {join_names([axis.name for axis in grid.given])}"
    else:
        where = _describe_rate(tiers[0])
    if grid.is_several and not any(_gather_judged(tiers)):
        return f"How much do {whom} get under each {name_factors([*grid.given, grid.choice])}?"
    if grid.choice.role == "given":
        verb = "does" if len(people) == 1 else "do"
        return f"How {verb} {whom} fare under each {grid.choice.name}{where}?"
    which = f"Which {grid.choice.name}" if grid.choice.path else "Which of these settings"
    is_plural = bool(grid.choice.path) and grid.choice.name.rpartition(".")[2] in PLURALS
    return f"{which} suit{'' if is_plural else 's'} {whom}{where}?"


def _is_traffic(fates: Sequence[FlowOutcome]) -> bool:
    """Tell whether somebody's traffic fared so: neither round trips nor a probe that watches."""
    if any(fate.is_round_trip for fate in fates):
        return False
    return not fates or not all(fate.only_watches for fate in fates)


def _describe_rate(tier: TierOutcome) -> str:
    """Say the line's rate; empty where choices differ in it, or where the queue is one of many."""
    rates = {
        tell_rate(result, tier.queue, queue.rate_bps)
        for queue, result in zip(tier.queues, tier.results, strict=True)
        if queue and result and not name_group(tier.queue)
    }
    return f" {rates.pop()}" if len(rates) == 1 else ""


def _tabulate_tier(grid: Grid, tier: TierOutcome, note: str) -> Table:
    rows = [
        Row(
            name,
            tuple(
                _fill(
                    fate,
                    fates[0] if at and not tier.is_uneven else None,
                    _choose_row_unit(fates),
                )
                for at, fate in enumerate(fates)
            ),
        )
        for name, fates in tier.people.items()
    ]
    if any(tier.queues):
        delays = [queue.delay.mean for queue in tier.queues if queue and queue.delay]
        unit = choose_unit(delays, "time")
        cells = tuple(_fill_queue(queue, unit) if queue else None for queue in tier.queues)
        shared = _tabulate_channels(tier)
        # A home's share of its own rate says nothing of how full the shared channel is.
        rows += (
            [Row("queue", tuple(cell and replace(cell, note="") for cell in cells)), *shared]
            if shared
            else [Row("queue", cells)]
        )
    return make_matrix(grid.choice.values, tuple(rows), note=note)


def _tabulate_channels(tier: TierOutcome) -> list[Row]:
    """Lay out the utilisation of each shared channel, where the queue is one of many."""
    if not name_group(tier.queue):
        return []
    gathered = [
        {state.channel: state for state in gather_channels(result)} if result else {}
        for result in tier.results
    ]
    shared = {name: state for own in gathered for name, state in own.items() if state.is_shared}
    several = len({state.link for state in shared.values()}) > 1

    def fill(state: ChannelState | None) -> Cell | None:
        note = "full" if state and state.is_full else ""
        return (
            Cell(f"{format_quantity(state.utilisation, 'ratio')} used", note=note)
            if state
            else None
        )

    return [
        Row(
            f"channel {name if several or state.is_cell else state.direction}",
            tuple(fill(own.get(name)) for own in gathered),
        )
        for name, state in shared.items()
    ]


def _tabulate_grid(grid: Grid, tiers: Sequence[TierOutcome], note: str) -> Table:
    left_out = _find_well(tiers)
    # The axis that all tiers share is named once, in the corner, beside the choice.
    axis = grid.given[0].name if len(grid.given) == 1 else ""
    corner = f"{axis}\u00a0↓ {grid.choice.name}" if axis else grid.choice.name
    rows = []
    for tier in tiers:
        cells = tuple(_fill_queue(queue) if queue else None for queue in tier.queues)
        rows.append(Row(tier.tier.label.removeprefix(f"{axis} "), cells))
        rows += [
            Row(
                name,
                tuple(_fill(fate, None, _choose_row_unit(fates)) for fate in fates),
                place="inner",
            )
            for name, fates in tier.people.items()
            if name not in left_out
        ]
    well = f" Good everywhere, and so left out: {join_names(left_out)}." if left_out else ""
    return make_matrix(grid.choice.values, tuple(rows), corner, note + well)


def _find_well(tiers: Sequence[TierOutcome]) -> list[str]:
    """Find the flows to leave out, good everywhere, where there is no room for all rows."""
    names = list(dict.fromkeys(name for tier in tiers for name in tier.people))
    well = [
        name
        for name in names
        if all(
            fate is None or fate.grade is Grade.GOOD
            for tier in tiers
            for fate in tier.people.get(name, ())
        )
    ]
    has_room = (len(names) + 1) * len(tiers) <= MOST_ROWS
    return [] if has_room or len(well) == len(names) else well


def _choose_row_unit(fates: Sequence[FlowOutcome | None]) -> Unit | None:
    """Choose the one unit of a row; None where its numbers measure different things."""
    found = [(fate.kind, fate.estimate.mean) for fate in fates if fate and fate.estimate]
    kinds = {kind for kind, _ in found}
    return choose_unit([mean for _, mean in found], kinds.pop()) if len(kinds) == 1 else None


def _fill(fate: FlowOutcome | None, base: FlowOutcome | None, unit: Unit | None) -> Cell | None:
    if fate is None:
        return None
    note = _write_difference(fate, base, unit) if base else ""
    return Cell(fate.write_number(unit), fate.grade, fate.word, note)


def _write_difference(fate: FlowOutcome, base: FlowOutcome, unit: Unit | None) -> str:
    """Write the difference to the first choice, in per cent for rates; empty where the two tie."""
    difference = fate.compare(base)
    level = base.estimate
    if difference is None or level is None or not fate.differs(base):
        return ""
    if fate.kind == "rate" and level.mean:
        return f"Δ {format_change(difference.mean / level.mean)}"
    change = Estimate(difference.mean, math.nan, math.nan, 1)
    return f"Δ {format_difference(change, fate.kind, unit)}"


def _fill_queue(queue: QueueOutcome, unit: Unit | None = None) -> Cell:
    """Write a queue's delay and how much of its line was used; without a unit, briefly."""
    used = queue.used and f"{format_quantity(queue.used.mean, 'ratio')} used"
    if unit is None:
        delay = format_quantity(queue.delay.mean, "time") if queue.delay else "no packet"
        return Cell(f"queue {delay}, {used}" if used else f"queue {delay}")
    delay = format_estimate(queue.delay, "time", unit) if queue.delay else "no packet"
    return Cell(delay, note=f"line {used}" if used else "")


def _gather_judged(tiers: Sequence[TierOutcome]) -> list[tuple[str, str]]:
    """Give each graded flow or group with the meaning of its number; one pair for each meaning."""
    return list(
        dict.fromkeys(
            (name, fate.key_figure.about)
            for tier in tiers
            for name, fates in tier.people.items()
            for fate in fates
            if fate and not fate.is_transfer
        )
    )


def _explain_matrix(grid: Grid, tiers: Sequence[TierOutcome], *, is_stopped: bool) -> str:
    count = max(map(count_seeds, tiers))
    results = [result for tier in tiers for result in tier.results if result]
    one_has = ONE_RUN_HAS if any(map(find_emulation, results)) else ONE_SEED_HAS
    one_has = STOPPED_AT_ONE if is_stopped else one_has
    told = [f"Means over {count} seeds ± 95 % interval." if count > 1 else one_has]
    if not grid.is_several and not tiers[0].is_uneven and len(tiers[0].tier.present) > 1:
        beyond = "its interval and 5 %" if count > 1 else "5 %"
        told.append(f"Δ: against {grid.choice.values[0]}, beyond {beyond}.")
    counted = {
        name
        for tier in tiers
        for name, fates in tier.people.items()
        if any(fate and fate.is_count for fate in fates)
    }
    meanings = explain_meanings(pair for pair in _gather_judged(tiers) if pair[0] not in counted)
    told += [meanings] if meanings else []
    if grid.is_several and grid.choice.role != "given" and find_main(tiers):
        fates = [one for tier in tiers for own in tier.people.values() for one in own if one]
        told.append(BEST_OF_REAL if any(one.is_round_trip for one in fates) else BEST)
    if any(tier.queue for tier in tiers):
        told.append(
            f"Beside each {join_names([axis.name for axis in grid.given])}: the queue's median"
            " delay, and how much of the line was used, as means."
            if grid.is_several
            else f"Queue: the median delay in {tiers[0].queue}."
        )
    return " ".join(told)


def _explain(grid: Grid, tiers: Sequence[TierOutcome]) -> str:
    """Choose the figure that shows why: a grid's own, else the queue's delay, else a flow's."""
    if grid.is_several:
        return "grid"
    tier = tiers[0]
    delays = [queue.delay.mean for queue in tier.queues if queue and queue.delay]
    if delays and max(delays) - min(delays) > QUEUE_SHOWS:
        return "queue"
    fate = next((own for own in tier.people.get(find_main(tiers) or "", ()) if own), None)
    if fate is None:
        return "queue-delay"
    if fate.is_transfer:
        return "rates"
    if fate.is_real and not fate.is_round_trip:
        return "delay"
    for kind, _ in find_application(fate.party.worst.application).measures:
        if figure := kind.figure or (kind.chart and kind.chart.name):
            return figure
    return "delay"
