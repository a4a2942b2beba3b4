"""Whether an emulated run kept time: how late its frames were written, in one line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from headend.text.quantity import format_quantity
from headend.text.wording import write_count

if TYPE_CHECKING:
    from headend.results.record import Record

#: The words of the verdict.
TRUSTWORTHY = "trustworthy"
NOT_TRUSTWORTHY = "not trustworthy"


def find_emulation(record: Record) -> Mapping[str, Any] | None:
    """Give what a manifest says of an emulated or replayed run; None for a simulation alone.

    Returns
    -------
    mapping or None
        With ``kind`` (``emulated``, ``replayed``, ``open_loop``), ``hosts``, ``lateness`` and so
        on, as docs/reference/results.md defines them.
    """
    emulation = record.manifest.get("emulation")
    return emulation if isinstance(emulation, Mapping) else None


def is_trustworthy(record: Record) -> bool:
    """Say whether a run kept time; one in virtual time always does."""
    emulation = find_emulation(record) or {}
    lateness = emulation.get("lateness")
    return lateness is None or bool(lateness["trustworthy"])


def is_open_loop(record: Record) -> bool:
    """Say whether recorded arrivals met other settings than those their senders reacted to."""
    return (find_emulation(record) or {}).get("kind") == "open_loop"


def write_lateness(lateness: Mapping[str, Any]) -> str:
    """Write how late frames were, and the verdict.

    Parameters
    ----------
    lateness
        Of a whole run, or of an interval, which need not have a verdict: times in ns.

    Examples
    --------
    >>> kept = {"frames": 9, "p50_ns": 12e3, "p99_ns": 8e4, "max_ns": 9e5, "stalls": 0}
    >>> kept |= {"overruns": 0, "trustworthy": True}
    >>> write_lateness(kept)
    'lateness p50 12 µs, p99 80 µs, max 900 µs, no stalls: trustworthy'
    >>> stalled = {"stalls": 1, "longest_stall_ns": 1e8, "overruns": 2}
    >>> stalled |= {"trustworthy": False, "why": "it stalled"}
    >>> write_lateness(kept | stalled)
    'lateness p50 12 µs, p99 80 µs, max 900 µs, 1 stall (100 ms), 2 overruns: not trustworthy, it
    stalled'
    >>> write_lateness({"frames": 0, "stalls": 0})
    'lateness of no frame, no stalls'
    """
    parts = [f"lateness {_write_times(lateness)}", _write_stalls(lateness)]
    if overruns := lateness.get("overruns"):
        parts.append(write_count(overruns, "overrun"))
    text = ", ".join(parts)
    if lateness.get("trustworthy") is None:
        return text
    if lateness["trustworthy"]:
        return f"{text}: {TRUSTWORTHY}"
    reason = lateness.get("why")
    return f"{text}: {NOT_TRUSTWORTHY}{f', {reason}' if reason else ''}"


def _write_times(lateness: Mapping[str, Any]) -> str:
    if not lateness.get("frames"):
        return "of no frame"
    return ", ".join(
        f"{name} {format_quantity(lateness[f'{name}_ns'], 'time')}"
        for name in ("p50", "p99", "max")
    )


def _write_stalls(lateness: Mapping[str, Any]) -> str:
    stalls = lateness.get("stalls")
    if not stalls:
        return "no stalls"
    longest = format_quantity(lateness.get("longest_stall_ns"), "time")
    return f"{write_count(stalls, 'stall')} ({longest}{' the longest' if stalls > 1 else ''})"
