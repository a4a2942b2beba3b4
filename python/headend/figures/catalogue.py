"""Every figure of a report, in the order a reader wants them: what was asked to be explained, people, then the queue, then TCP."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from headend.comparison import compare_figures, gather_variants
from headend.figures import delay, differences, experience, life, over_time

if TYPE_CHECKING:
    from headend.figures.figure import Figure
    from headend.result import Result

FIGURES = (
    life.draw_life,
    experience.draw_voice,
    experience.draw_set_up,
    experience.draw_frames,
    experience.draw_video_rates,
    experience.draw_pages,
    experience.draw_segments,
    experience.draw_ping,
    delay.draw_flow_delay,
    over_time.draw_queue_over_time,
    delay.draw_queue_delay,
    over_time.draw_rates,
    over_time.draw_class_rates,
    over_time.draw_line_rate,
    experience.draw_loss,
    experience.draw_files,
    experience.draw_speed,
    over_time.draw_windows,
    over_time.draw_internals,
)


def draw_figures(results: Sequence[Result]) -> list[Figure]:
    """Draw every figure that these results have something for.

    Runs of one setting with different seeds are drawn as one: distributions over all, the rest of the first seed.
    """
    variants = gather_variants(results)
    pooled = [variant.pool() for variant in variants]
    drawn = [draw(pooled) for draw in FIGURES]
    if len(results) > len(variants) > 1:
        drawn.insert(0, differences.draw_differences(variants, compare_figures(variants)))
    return [figure for figure in drawn if figure is not None]
