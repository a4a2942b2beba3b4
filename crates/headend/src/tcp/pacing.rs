//! Pacing: segments leave at a rate rather than as soon as the window has room for them.
//!
//! The rate is the congestion control's or, for a control that has none, what spreads its window
//! over a round trip. Segments that fit the control's quantum leave together, as segmentation
//! offload has them leave; the time that they take at the rate passes before the next ones.

use crate::congestion::{Stance, window_rate};
use crate::time::{Duration, Instant};
use crate::units::Rate;

/// Gains of the rate that is derived from a window, in slow start and after it: somewhat more than
/// a window each round trip, so that pacing does not hold the window back. Linux documents these
/// shares for its `net.ipv4.tcp_pacing_ss_ratio` and `tcp_pacing_ca_ratio`.
const SLOW_START_GAIN: f64 = 2.0;
const AVOIDANCE_GAIN: f64 = 1.2;

/// The rate that spreads a window over the round trip, once that is known.
pub(super) fn spread_rate(
    cwnd: u64,
    ssthresh: Option<u64>,
    srtt: Option<Duration>,
) -> Option<Rate> {
    let grows = ssthresh.is_none_or(|ssthresh| cwnd < ssthresh / 2);
    let gain = if grows {
        SLOW_START_GAIN
    } else {
        AVOIDANCE_GAIN
    };
    srtt.and_then(|srtt| window_rate(cwnd as f64, srtt, gain))
}

/// The pace of one sender.
#[derive(Debug)]
pub(super) struct Pacer {
    /// Bytes of a full segment.
    mss: u64,
    /// How fast it may send; `None` for no pacing.
    rate: Option<Rate>,
    /// Bytes that may leave together.
    quantum: u64,
    /// Nothing leaves before this, but for what is left of the quantum.
    next_departure: Instant,
    quantum_left: u64,
    /// The next departure, if the sender was last stopped by it.
    waits_until: Option<Instant>,
}

impl Pacer {
    /// The pace of a control at the start.
    pub(super) fn new(stance: &Stance, mss: u64) -> Self {
        Self {
            mss,
            rate: stance.pacing_rate,
            quantum: stance.send_quantum,
            next_departure: Instant::ZERO,
            quantum_left: 0,
            waits_until: None,
        }
    }

    /// The control names its own rate, or none.
    #[inline]
    pub(super) fn follow(&mut self, stance: &Stance) {
        self.rate = stance.pacing_rate;
        if self.rate.is_some() {
            self.quantum = stance.send_quantum;
        }
    }

    /// A control without a rate: its window is spread over the round trip, once that is known.
    pub(super) fn spread(&mut self, cwnd: u64, ssthresh: Option<u64>, srtt: Option<Duration>) {
        self.rate = spread_rate(cwnd, ssthresh, srtt);
    }

    /// The rate, if the control has named one or one is derived from its window.
    pub(super) fn rate(&self) -> Option<Rate> {
        self.rate
    }

    /// Whether the control has named a rate, or one is derived from its window.
    #[inline]
    pub(super) fn has_rate(&self) -> bool {
        self.rate.is_some()
    }

    /// Whether nothing may leave now; [`Self::deadline`] then says when.
    #[inline]
    pub(super) fn holds_back(&mut self, now: Instant) -> bool {
        let holds_back = self.rate.is_some() && now < self.next_departure && self.quantum_left == 0;
        self.waits_until = holds_back.then_some(self.next_departure);
        holds_back
    }

    /// A segment of `payload` bytes has left.
    #[inline]
    pub(super) fn sent(&mut self, payload: u64, now: Instant) {
        let Some(rate) = self.rate else { return };
        if now >= self.next_departure {
            self.next_departure = now;
            self.quantum_left = self.quantum;
        }
        self.next_departure += rate.time_for(payload);
        // A segment that does not fit what is left waits for the next quantum.
        self.quantum_left = self.quantum_left.saturating_sub(payload);
        if self.quantum_left < self.mss {
            self.quantum_left = 0;
        }
    }

    /// When the next segment may leave, if one may be waiting.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.waits_until
    }
}
