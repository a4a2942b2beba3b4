"""The queues that a direction of a line may have, each as a scenario writes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headend.fitting.estimates import QueueKind
from headend.fitting.samples import PACKET_BITS

#: The smallest buffer that is simulated, ms. A queue of a line that sends TCP holds some packets.
LEAST_BUFFER_MS = 2.0

#: The smallest buffer in packets of 1500 B: with fewer, no queue can be told from none.
LEAST_BUFFER_PACKETS = 3

#: How much deeper than all that was seen a buffer is that nothing ever filled.
DEEP = 4.0


@dataclass(frozen=True)
class Candidate:
    """A queue that a direction may have.

    Parameters
    ----------
    name
        Of the queue, as in ``queue = "pie"``; ``drop_tail_deep`` is one that was never full.
    kind
        What measurements can tell it from.
    queue
        As a plain link has it.
    cable
        What a cable line's direction has in its place: keys beside its rate.
    takes_marked
        Whether marked probes have a queue of their own there.
    """

    name: str
    kind: QueueKind
    queue: str | Mapping[str, Any]
    cable: Mapping[str, Any]
    takes_marked: bool = False


#: A low-latency queue beside a classic one (RFC 9332; Low Latency DOCSIS on a cable line).
LOW_LATENCY = Candidate(
    "dualpi2",
    QueueKind.LOW_LATENCY,
    "dualpi2",
    {"queue": "docsis_pie", "low_latency": "on"},
    takes_marked=True,
)


def list_candidates(
    buffer: float,
    rate: float,
    *,
    is_full: bool,
    has_marked: bool = True,
    slowest: float | None = None,
) -> tuple[Candidate, ...]:
    """List the queues that are tried.

    Parameters
    ----------
    buffer
        How long a full queue of this direction takes to empty, ms.
    rate
        Of the line, bit/s.
    is_full
        Whether the buffer was seen to be full. If not, a deeper one is tried besides.
    has_marked
        Whether a marked probe runs too. Only that one tells a low-latency queue from the classic
        queue beside it, which is like PIE: ``pi2`` here.
    slowest
        Of a rate that varies, its least, bit/s: a full buffer then takes longest to empty, and it
        holds as many bytes at any rate. None of a constant rate.

    Examples
    --------
    >>> [own.name for own in list_candidates(182.4, 10e6, is_full=True)]
    ['drop_tail', 'pie', 'docsis_pie', 'pi2', 'codel', 'fq_codel', 'dualpi2']
    >>> list_candidates(182.4, 10e6, is_full=True)[0].queue
    {'drop_tail': {'limit': '182 ms'}}
    """
    deep = [] if is_full else [_make_drop_tail("drop_tail_deep", buffer * DEEP, rate, slowest)]
    return (
        _make_drop_tail("drop_tail", buffer, rate, slowest),
        *deep,
        _make("pie", QueueKind.PIE),
        _make("docsis_pie", QueueKind.PIE),
        Candidate("pi2", QueueKind.PIE, "dualpi2", {"queue": "docsis_pie"}),
        _make("codel", QueueKind.CODEL),
        _make("fq_codel", QueueKind.FLOW_QUEUEING),
        *([LOW_LATENCY] if has_marked else []),
    )


def choose_buffer(buffer: float, rate: float) -> float:
    """Give the buffer that is simulated, ms: no less than some packets."""
    least = LEAST_BUFFER_PACKETS * PACKET_BITS / rate * 1e3
    return max(buffer, least, LEAST_BUFFER_MS)


def _make_drop_tail(name: str, buffer: float, rate: float, slowest: float | None) -> Candidate:
    if slowest is None:
        limit = write_ms(choose_buffer(buffer, rate))
    else:
        limit = f"{round(choose_buffer(buffer, slowest) / 1e3 * slowest / 8)} B"
    queue = {"drop_tail": {"limit": limit}}
    return Candidate(name, QueueKind.DROP_TAIL, queue, {"queue": queue})


def _make(name: str, kind: QueueKind) -> Candidate:
    return Candidate(name, kind, name, {"queue": name})


def write_ms(value: float) -> str:
    """Write a time in ms as a scenario has it, to three digits.

    Examples
    --------
    >>> write_ms(182.44), write_ms(8.0), write_ms(0.0312)
    ('182 ms', '8 ms', '0.0312 ms')
    """
    return f"{_round(value)} ms"


def write_rate(value: float) -> str:
    """Write a rate in bit/s as a scenario has it, to four digits.

    Examples
    --------
    >>> write_rate(20_012_345.0), write_rate(843_210.0)
    ('20.01 Mbit/s', '843.2 kbit/s')
    """
    size, unit = (1e6, "Mbit/s") if value >= 1e6 else (1e3, "kbit/s")
    return f"{_round(value / size, 4)} {unit}"


def _round(value: float, digits: int = 3) -> str:
    """Write a number to some digits, never with an exponent."""
    text = f"{float(f'{value:.{digits}g}'):.9f}".rstrip("0").rstrip(".")
    return text or "0"
