"""Every figure of a report, in the order a reader wants them: what was asked to be explained, people, then the queue, then TCP."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from headend.figures import delay, differences, experience, life, over_time
from headend.judging.comparison import compare_figures, gather_variants

if TYPE_CHECKING:
    from headend.figures.figure import Figure
    from headend.results.record import Record


def draw_figures(results: Sequence[Record]) -> list[Figure]:
    """Draw every figure that these results have something for.

    Runs of one setting with different seeds are drawn as one: distributions over all, the rest of the first seed.
    """
    variants = gather_variants(results)
    pooled = [variant.pool() for variant in variants]
    drawn = list(_draw_all(pooled))
    if len(results) > len(variants) > 1:
        drawn.insert(0, differences.draw_differences(variants, compare_figures(variants)))
    return [figure for figure in drawn if figure is not None]


def _draw_all(results: Sequence[Record]) -> Iterator[Figure | None]:
    yield life.draw_life(results)
    yield experience.draw_voice(results)
    yield from experience.draw_measures(results, after_queues=False)
    yield experience.draw_segments(results)
    yield experience.draw_ping(results)
    yield delay.draw_flow_delay(results)
    yield over_time.draw_queue_over_time(results)
    yield delay.draw_queue_delay(results)
    yield over_time.draw_rates(results)
    yield over_time.draw_class_rates(results)
    yield over_time.draw_line_rate(results)
    yield experience.draw_loss(results)
    yield from experience.draw_measures(results, after_queues=True)
    yield experience.draw_speed(results)
    yield over_time.draw_windows(results)
    yield over_time.draw_internals(results)
