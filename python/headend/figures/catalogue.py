"""Every figure of a report in a reader's order: what was asked, people, the queue, then TCP."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial

from headend.comparison.comparison import Variant, compare_figures, gather_variants
from headend.comparison.grid import find_grid
from headend.comparison.notes import describe_caveats_of
from headend.comparison.outcomes import judge_grid
from headend.figures import (
    air,
    delay,
    differences,
    experience,
    lateness,
    life,
    modes,
    over_time,
    street,
    tiers,
)
from headend.figures.figure import Figure
from headend.results.record import Record

#: Draws one figure; None where the results have nothing for it.
Draw = Callable[[], Figure | None]


def draw_figures(results: Sequence[Record], only: Collection[str] | None = None) -> list[Figure]:
    """Draw the figures that these results have something for.

    Runs of one setting with different seeds are drawn as one: distributions of all, lines as the
    median over the seeds with a band. Of a grid, each tier has its own figures, after one over all.
    With ``only``, figures of these names are drawn.
    """
    drawings = list_drawings(results)
    drawn = [draw() for name, draw in drawings.items() if only is None or name in only]
    figures = [figure for figure in drawn if figure is not None]
    # A picture that is a file of its own has to say what the page says first.
    caveats = " ".join(describe_caveats_of(gather_variants(results)))
    if not caveats:
        return figures
    return [replace(figure, note=f"{caveats}{figure.note}") for figure in figures]


def list_drawings(results: Sequence[Record]) -> dict[str, Draw]:
    """List what can be drawn of results, by the names of the figures, in their order on a page."""
    variants = gather_variants(results)
    grid = find_grid(variants)
    if not grid.is_several:
        return _list_of(variants)
    drawings: dict[str, Draw] = {tiers.NAME: lambda: tiers.draw_grid(*judge_grid(variants))}
    for tier in grid.tiers:
        for name, draw in _list_of(tier.present).items():
            drawings[tiers.name_by_tier(name, tier.label)] = partial(tiers.draw_in_tier, draw, tier)
    return drawings


def _list_of(variants: Sequence[Variant]) -> dict[str, Draw]:
    """List what can be drawn of settings that are set against each other."""
    pooled = [variant.pool() for variant in variants]
    drawings: dict[str, Draw] = {}
    if len(variants) > 1 and max(len(variant.results) for variant in variants) > 1:
        drawings["differences"] = lambda: differences.draw_differences(
            variants, compare_figures(variants)
        )
    drawings |= {
        "life": partial(life.draw_life, pooled),
        "street": partial(street.draw_street, pooled),
        "mos": partial(experience.draw_voice, pooled),
        **experience.list_measures(pooled, after_queues=False),
        "streamed-video-rate": partial(experience.draw_segments, pooled),
        "ping": partial(experience.draw_ping, pooled),
        "delay": partial(delay.draw_flow_delay, pooled),
        "queue": partial(over_time.draw_queue_over_time, pooled),
        "queue-delay": partial(delay.draw_queue_delay, pooled),
        "latency-histogram": partial(delay.draw_latency_histogram, pooled),
        "rates": partial(over_time.draw_rates, pooled),
        "class-rates": partial(over_time.draw_class_rates, pooled),
        "line-rate": partial(over_time.draw_line_rate, pooled),
        "loss": partial(experience.draw_loss, pooled),
        **experience.list_measures(pooled, after_queues=True),
        "speed": partial(experience.draw_speed, pooled),
        "cwnd": partial(over_time.draw_windows, pooled),
        "internals": partial(over_time.draw_internals, pooled),
    }
    if any("air_time" in result.tables for result in pooled):
        drawings[air.NAME] = partial(air.draw_air, pooled)
    if any("rate_control" in result.tables for result in pooled):
        drawings[modes.NAME] = partial(modes.draw_modes, pooled)
    if any("lateness" in result.tables for result in pooled):
        drawings[lateness.NAME] = partial(lateness.draw_lateness, pooled)
    return drawings
