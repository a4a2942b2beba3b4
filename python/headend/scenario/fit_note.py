"""The line of a scenario's text that says what the scenario was fitted to: ``#:fit`` and JSON.

It is a comment for the engine, and is read by whoever wants to say how sure the line is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum

_LINE = re.compile(r"^#:fit (\{.*\})\s*$", re.MULTILINE)

#: From this likelihood the kind of a queue is sure.
SURE = 0.9


class Flag(StrEnum):
    """What a measurement cannot tell, or what makes an estimate doubtful."""

    SENDER_LIMITED = "sender-limited"
    NO_IDLE_PHASE = "no-idle-phase"
    NO_CEILING = "no-ceiling"
    NO_UPSTREAM = "no-upstream"
    NO_DOWNSTREAM = "no-downstream"
    MIXED_DIRECTIONS = "mixed-directions"
    WIFI_SUSPECTED = "wifi-suspected"
    PRIORITISED_PROBE = "prioritised-probe"
    PROBE_IN_FLOW = "probe-in-flow"
    RATE_VARIES = "rate-varies"
    FEW_SAMPLES = "few-samples"
    SUMMARY_ONLY = "summary-only"
    CLOCK_DRIFT = "clock-drift"


class QueueKind(StrEnum):
    """Kinds of queue that measurements can tell apart."""

    DROP_TAIL = "drop-tail"
    PIE = "PIE-like"
    CODEL = "CoDel-like"
    FLOW_QUEUEING = "flow queueing"
    LOW_LATENCY = "low latency"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class FitNote:
    """What a scenario was fitted to, and how well it fits.

    Parameters
    ----------
    source
        The tools of the measurement, such as ``"flent 2.1.1"``.
    grade
        How well the simulated line agrees with the measurement: ``"A"`` (best) to ``"D"``; empty
        where that could not be compared.
    values
        Least, most likely and largest value by name: ``base_delay`` in ms, and of each direction
        such as ``up.rate`` in bit/s and ``up.buffer`` in ms.
    queues
        By direction, ``up`` or ``down``: how likely each kind of queue is, by its name.
    flags
        What the measurement cannot tell, by name.
    """

    source: str
    grade: str = ""
    values: Mapping[str, tuple[float, float, float]] = field(default_factory=dict)
    queues: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    flags: tuple[str, ...] = ()


def write_fit_note(note: FitNote) -> str:
    """Give the line for a scenario, without its end.

    Examples
    --------
    >>> write_fit_note(FitNote("flent 2.1.1", "A"))
    '#:fit {"source":"flent 2.1.1","grade":"A","values":{},"queues":{},"flags":[]}'
    """
    return f"#:fit {json.dumps(asdict(note), separators=(',', ':'))}"


def read_fit_note(text: str) -> FitNote | None:
    """Read the line from a scenario's text; None where it has none, or one of another form.

    Examples
    --------
    >>> read_fit_note('#:fit {"source":"by hand","flags":["summary-only"]}').flags
    ('summary-only',)
    >>> read_fit_note("# any other comment")
    """
    found = _LINE.search(text)
    if found is None:
        return None
    try:
        content = json.loads(found[1])
        return FitNote(
            source=str(content["source"]),
            grade=str(content.get("grade", "")),
            values={
                str(name): (float(low), float(value), float(high))
                for name, (low, value, high) in content.get("values", {}).items()
            },
            queues={
                str(direction): {str(kind): float(share) for kind, share in kinds.items()}
                for direction, kinds in content.get("queues", {}).items()
            },
            flags=tuple(str(flag) for flag in content.get("flags", ())),
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
