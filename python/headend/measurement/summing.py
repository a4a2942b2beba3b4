"""The rate of all flows of a direction together, from the rates of each."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace

from headend.measurement.record import RateSeries

#: More bins than this are not made, however short a tool says that its steps are: an hour of bins
#: of 50 ms has 72 000.
_MOST_BINS = 200_000

#: The part of a bin that a rounding error of an edge may reach into.
_TOUCH = 1e-9


def sum_flows(flows: Sequence[RateSeries], step: float) -> RateSeries:
    """Add the rates of flows that ran at the same time, over bins of one length.

    A flow's data counts in each bin by how much of its own bin lies there: the bytes stay the same.

    Parameters
    ----------
    flows
        One or more, of one direction and of the same counted bytes. A single one stays as it is.
    step
        The length of a bin, s.

    Returns
    -------
    RateSeries
        From the first flow's begin to the last one's end; bins in which no flow was, are left out.

    Examples
    --------
    >>> from headend.measurement.record import Direction
    >>> first = RateSeries(Direction.UP, [0.0], [2.0], [8.0], flow="a")
    >>> second = RateSeries(Direction.UP, [1.0], [2.0], [4.0], flow="b")
    >>> sum_flows([first, second], 1.0).rates
    [8.0, 12.0]
    """
    first = flows[0]
    if len(flows) == 1:
        return replace(first, flow="")
    begin = min((min(flow.starts) for flow in flows if flow.starts), default=0.0)
    end = max((max(flow.ends) for flow in flows if flow.ends), default=0.0)
    step = max(step, (end - begin) / _MOST_BINS)
    count = max(1, math.ceil((end - begin) / step - _TOUCH))
    partial = [0.0] * count
    # What changes from one bin to the next: the rate of the flows that fill whole bins, and how
    # many flows there are.
    steps, flowing = [0.0] * (count + 1), [0] * (count + 1)
    for flow in flows:
        for start, stop, rate in zip(flow.starts, flow.ends, flow.rates, strict=True):
            left = min(count - 1, math.floor((start - begin) / step + _TOUCH))
            right = min(count - 1, max(left, math.ceil((stop - begin) / step - _TOUCH) - 1))
            flowing[left] += 1
            flowing[right + 1] -= 1
            if left == right:
                partial[left] += rate * (stop - start)
                continue
            partial[left] += rate * (begin + (left + 1) * step - start)
            partial[right] += rate * (stop - begin - right * step)
            steps[left + 1] += rate
            steps[right] -= rate
    whole = itertools.accumulate(steps[:count])
    there = itertools.accumulate(flowing[:count])
    bins = [
        (since, until, bits + full * step)
        for number, (bits, full, many) in enumerate(zip(partial, whole, there, strict=True))
        # A step may be less than what a float can tell of a late time.
        if many and (since := begin + number * step) < (until := min(since + step, end))
    ]
    return RateSeries(
        first.direction,
        [left for left, _, _ in bins],
        [right for _, right, _ in bins],
        # Sums of differences leave rounding errors about zero.
        [max(0.0, bits / (right - left)) for left, right, bits in bins],
        first.counted,
        sent=any(flow.sent for flow in flows),
    )
