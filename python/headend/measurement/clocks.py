"""Delays of one way by two clocks: how far these drift apart, and delays without that drift."""

from __future__ import annotations

from collections.abc import Sequence

#: The measurement is looked at in so many parts.
_PARTS = 20

#: Parts in which a packet came back this much later than the fastest, ms, tell of a queue and not
#: of clocks.
_IDLE_MS = 1.0

#: The line through fewer parts is no estimate of the drift.
_LEAST_PARTS = 4

#: A drift of less, ms over the whole measurement, changes no estimate.
_LEAST_DRIFT_MS = 1.0


def find_drift(times: Sequence[float], up: Sequence[float], down: Sequence[float]) -> float | None:
    """Find how fast the far clock runs away, in ms per s.

    The delay up contains the difference of the clocks, that down its opposite. Half their
    difference, at the fastest packets of each part of the measurement, is the difference of the
    clocks and half that of the ways, which is constant where no queue is. The drift is the slope of
    the line of least squares through those parts.

    Parameters
    ----------
    times, up, down
        Of each answered packet: when it was sent, s, and the delays of its two ways, ms.

    Returns
    -------
    float or None
        None where too few parts are without a queue, or all of them lie in one half.

    Examples
    --------
    >>> times = [float(at) for at in range(100)]
    >>> up, down = [10 + 0.25 * at for at in times], [10 - 0.25 * at for at in times]
    >>> round(find_drift(times, up, down), 9)
    0.25
    """
    if len(times) < 2 * _LEAST_PARTS:
        return None
    begin, end = min(times), max(times)
    length = (end - begin) / _PARTS
    if length <= 0:
        return None
    parts: dict[int, tuple[float, float, float]] = {}
    for at, there, back in zip(times, up, down, strict=True):
        number = min(_PARTS - 1, int((at - begin) / length))
        # The packet with the fastest round trip of the part: it waited least.
        if number not in parts or there + back < parts[number][0]:
            parts[number] = (there + back, at, (there - back) / 2)
    fastest = min(total for total, _, _ in parts.values())
    idle = [
        (at, offset)
        for _, (total, at, offset) in sorted(parts.items())
        if total <= fastest + _IDLE_MS
    ]
    if len(idle) < _LEAST_PARTS or idle[-1][0] - idle[0][0] < (end - begin) / 2:
        return None
    middle = sum(at for at, _ in idle) / len(idle)
    mean = sum(offset for _, offset in idle) / len(idle)
    square = sum((at - middle) ** 2 for at, _ in idle)
    return sum((at - middle) * (offset - mean) for at, offset in idle) / square


def remove_drift(
    times: Sequence[float], up: Sequence[float], down: Sequence[float]
) -> tuple[list[float], list[float], str]:
    """Take the drift of clocks out of delays of one way.

    Parameters
    ----------
    times, up, down
        As ``find_drift`` takes them.

    Returns
    -------
    up, down, note
        The delays, whose offset stays, and what a person should know of it.
    """
    drift = find_drift(times, up, down)
    offset = "Delays of one way contain the difference of two clocks"
    if drift is None:
        return list(up), list(down), f"{offset}; whether these drift apart cannot be told."
    begin = min(times)
    span = drift * (max(times) - begin)
    if abs(span) < _LEAST_DRIFT_MS:
        return list(up), list(down), f"{offset}, which drift apart by less than 1 ms."
    return (
        [delay - drift * (at - begin) for at, delay in zip(times, up, strict=True)],
        [delay + drift * (at - begin) for at, delay in zip(times, down, strict=True)],
        f"{offset}; these drift apart by {abs(span):.3g} ms, which is taken out.",
    )
