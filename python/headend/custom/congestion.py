"""The class of which congestion controls of one's own are made."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from headend._engine import AckSample, CongestionSignal, Random


class CongestionControl:
    """A congestion control: how much a sender may have in flight, and how fast it may send.

    It only computes the window and the rate. The engine's TCP detects losses, counts what is in
    flight and retransmits. A subclass has the methods that it needs, and sets the attributes below;
    they are read after each call. Parameters are as those of `ControlLaw`.

    All times are whole nanoseconds, sizes bytes, rates bit/s.
    """

    #: Whether it needs the number of marked bytes (Accurate ECN).
    counts_marks: ClassVar[bool] = False
    #: Whether it responds to marks in proportion, as L4S requires; its packets carry ECT(1) then.
    is_scalable: ClassVar[bool] = False
    #: Whether a loss is repaired as after a timeout: everything again, in slow start.
    repairs_in_slow_start: ClassVar[bool] = False

    #: The control's own stream of random numbers, the same in each run of the same seed.
    random: Random
    #: Largest segment, in bytes of payload.
    mss: int
    #: The window at the start, in bytes.
    initial_window: int
    #: The congestion window, in bytes; a segment at least.
    cwnd: int
    #: The slow-start threshold, in bytes; None before it is first set.
    ssthresh: int | None = None
    #: The rate at which the sender may send, in bit/s of payload; with None, acknowledgements alone
    #: determine the sending times.
    pacing_rate: int | None = None
    #: Bytes that may be sent back to back at this pacing rate.
    send_quantum: int = 0
    #: When ``on_timer`` must be called next, in ns; None while nothing is due.
    next_timer: int | None = None

    def on_handshake(self, rtt: int) -> None:
        """Take the round-trip time of the handshake, if it could be measured."""

    def on_sent(self, now: int, size: int, in_flight: int) -> None:
        """Take note that so many bytes were sent.

        The sender reads the window and the rate after the next acknowledgement or timer.
        """

    def on_ack(self, ack: AckSample) -> None:
        """Handle an acknowledgement that carries new information."""

    def on_congestion(self, signal: CongestionSignal, ack: AckSample) -> None:
        """Slow down; called at most once per round trip for marks and losses."""

    def on_spurious_congestion(self) -> None:
        """Take note that the last congestion signal was wrong."""

    def on_recovered(self, ack: AckSample) -> None:
        """Take note that the recovery from losses has ended."""

    def on_idle(self, restart_window: int) -> None:
        """Start again after a pause longer than a retransmission timeout.

        The window should not exceed ``restart_window``.
        """

    def on_timer(self, now: int) -> None:
        """Do what is due at ``next_timer``, and set that again."""
