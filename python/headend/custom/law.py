"""The class of which control laws of one's own are made."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headend._engine import Backlog, Line, Packet, Random


class ControlLaw:
    """A control law: it drops or marks the packets of one queue.

    A subclass has the methods that it needs; what it leaves out does what drop-tail does. Annotated
    attributes with a default are its parameters (``target: Duration = "15 ms"``), which scenarios
    set and which are numbers when ``__init__`` is called, without arguments. ``__init__`` may
    refuse them with a ValueError.

    All times are whole nanoseconds, sizes bytes, rates bit/s. Time passes between calls only. The
    engine calls the methods in the order of simulated time; they may use nothing else that changes,
    such as the clock of the machine, so that runs can be repeated. Random numbers come from
    ``self.random``.
    """

    #: The law's own stream of random numbers, the same in each run of the same seed.
    random: Random
    #: The nominal (or maximum sustained) rate of the line, bit/s.
    rate: int
    #: When ``update`` must be called next, in ns; None while nothing is due.
    next_update: int | None = None

    def enqueue(self, packet: Packet, backlog: Backlog, line: Line) -> None:
        """Handle a packet that arrives: push it to the backlog, or discard it."""
        backlog.push(packet)

    def dequeue(self, backlog: Backlog, line: Line) -> Packet | None:
        """Return the next packet, since the line may send; others may be discarded before it.

        None only when none waits.
        """
        return backlog.pop()

    def evicted(self, packet: Packet, backlog: Backlog, line: Line) -> None:
        """Take note that a scheduler has removed a packet without the law."""

    def update(self, backlog: Backlog, line: Line) -> None:
        """Do what is due at ``next_update``, and set that again. The backlog can only be read."""

    def internals(self) -> dict[str, float]:
        """Give figures for the series of results.

        Their names: ``drop_probability``, ``burst_allowance`` and ``delay_estimate`` in ns,
        ``rate_estimate`` in bit/s, ``average_packets``, ``average_bytes``.
        """
        return {}
