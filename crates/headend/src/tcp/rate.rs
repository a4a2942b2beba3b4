//! Delivery rate: how fast the network delivers, one sample an acknowledgement (draft-cheng-iccrg-delivery-rate-estimation-02).
//!
//! Each segment remembers, when it is sent, how much had been delivered and how long ago. When it is acknowledged, the bytes delivered
//! since then over the longer of the time it took to send them and the time it took to acknowledge them is a rate the path has carried.

use super::scoreboard::Segment;
use crate::time::{Duration, Instant};
use crate::units::Rate;

/// What a segment remembers of the moment it was sent.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Stamp {
    /// When it was sent (the draft's `P.sent_time`).
    pub(super) sent_at: Instant,
    /// Bytes delivered until then (`P.delivered`).
    pub(super) delivered: u64,
    /// `P.sent_time − P.first_sent_time`, nanoseconds, at most 4.2 s: the stretch is short but for a connection that hardly sends.
    pub(super) send_span: u32,
    /// `P.sent_time − P.delivered_time`, likewise.
    pub(super) ack_span: u32,
    /// Until then the application, not the network, had set the pace.
    pub(super) app_limited: bool,
}

/// The connection's part of the estimate.
#[derive(Debug, Default)]
pub(super) struct RateSampler {
    /// Bytes delivered in all (`C.delivered`).
    delivered: u64,
    /// When the latest of them were (`C.delivered_time`).
    delivered_at: Instant,
    /// When the segment most recently acknowledged was sent (`C.first_sent_time`).
    first_sent_at: Instant,
    /// Samples of segments sent before so much was delivered are limited by the application (`C.app_limited`).
    app_limited_until: Option<u64>,
    /// A round trip ends when a segment sent after so much was delivered is acknowledged.
    round_ends_at: u64,
    round: u64,
}

/// A sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct RateSample {
    pub(super) rate: Option<Rate>,
    pub(super) app_limited: bool,
}

impl RateSampler {
    /// What a segment sent now remembers.
    #[inline]
    pub(super) fn stamp(&mut self, now: Instant, nothing_in_flight: bool) -> Stamp {
        if nothing_in_flight {
            self.first_sent_at = now;
            self.delivered_at = now;
        }
        Stamp {
            sent_at: now,
            delivered: self.delivered,
            send_span: short(now.since(self.first_sent_at)),
            ack_span: short(now.since(self.delivered_at)),
            app_limited: self.app_limited_until.is_some(),
        }
    }

    /// `bytes` were delivered; `newest` is the most recently sent segment among them.
    #[inline]
    pub(super) fn delivered(
        &mut self,
        bytes: u64,
        newest: &Segment,
        min_rtt: Option<Duration>,
        now: Instant,
    ) -> RateSample {
        self.delivered += bytes;
        self.delivered_at = now;
        if self
            .app_limited_until
            .is_some_and(|until| self.delivered > until)
        {
            self.app_limited_until = None;
        }
        let stamp = newest.stamp;
        self.first_sent_at = stamp.sent_at;
        if stamp.delivered >= self.round_ends_at {
            self.round_ends_at = self.delivered;
            self.round += 1;
        }
        let ack_elapsed = now.since(stamp.sent_at).as_nanos() + u64::from(stamp.ack_span);
        let interval = ack_elapsed.max(u64::from(stamp.send_span));
        // The draft's §4.1.2.1: an interval below the smallest round trip is an artefact of acknowledgements bunched up.
        let too_short = min_rtt.is_some_and(|min| interval < min.as_nanos()) || interval == 0;
        let bits = (self.delivered - stamp.delivered) as f64 * 8e9;
        RateSample {
            rate: (!too_short).then(|| Rate((bits / interval as f64) as u64)),
            app_limited: stamp.app_limited,
        }
    }

    /// The application has run dry with `in_flight` bytes on their way.
    pub(super) fn app_limited(&mut self, in_flight: u64) {
        self.app_limited_until = Some(self.delivered + in_flight);
    }

    /// Bytes delivered in all.
    pub(super) fn total(&self) -> u64 {
        self.delivered
    }

    /// Round trips so far.
    pub(super) fn round(&self) -> u64 {
        self.round
    }
}

fn short(span: Duration) -> u32 {
    u32::try_from(span.as_nanos()).unwrap_or(u32::MAX)
}
