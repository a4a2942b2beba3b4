//! Delivery rate: how fast the network delivers, one sample an acknowledgement
//! (draft-cheng-iccrg-delivery-rate-estimation-02).
//!
//! When a segment is sent, it is stamped with the bytes delivered until then, and with the time
//! since the latest of them. When it is acknowledged, the delivery rate is the bytes delivered
//! since then, over the longer of two spans: the time it took to send them, and the time it took to
//! acknowledge them.

use crate::congestion::DeliverySample;
use crate::time::{Duration, Instant};

/// What was known when a segment was sent.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Stamp {
    /// When it was sent (the draft's `P.sent_time`).
    pub(super) sent_at: Instant,
    /// Bytes delivered until then (`P.delivered`).
    pub(super) delivered: u64,
    /// `P.sent_time − P.first_sent_time` in nanoseconds, at most 4.2 s. Only a connection that
    /// hardly sends has a longer span.
    pub(super) send_span: u32,
    /// `P.sent_time − P.delivered_time`, likewise.
    pub(super) ack_span: u32,
    /// Bytes in flight with it, at most 4 GiB (`P.tx_in_flight`).
    pub(super) in_flight: u32,
    /// Whether until then the application limited the rate, not the network (`P.is_app_limited`).
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
    /// Segments sent before so many bytes are delivered give application-limited samples
    /// (`C.app_limited`).
    app_limited_until: Option<u64>,
    /// A round trip ends when a segment is acknowledged that was sent after so many bytes were
    /// delivered.
    round_ends_at: u64,
    round: u64,
    /// The latest sample, and whether the application limited it.
    latest: Option<(DeliverySample, bool)>,
}

impl RateSampler {
    /// The stamp of a segment that is sent now. With it `in_flight` bytes are in flight; it
    /// `is_first` if nothing else is outstanding.
    #[inline]
    pub(super) fn stamp(&mut self, now: Instant, is_first: bool, in_flight: u64) -> Stamp {
        if is_first {
            self.first_sent_at = now;
            self.delivered_at = now;
        }
        Stamp {
            sent_at: now,
            delivered: self.delivered,
            send_span: short(now.since(self.first_sent_at)),
            ack_span: short(now.since(self.delivered_at)),
            in_flight: in_flight.min(u64::from(u32::MAX)) as u32,
            app_limited: self.app_limited_until.is_some(),
        }
    }

    /// `bytes` were delivered; `stamp` is that of the most recently sent segment among them. `None`
    /// if they arrived too close to one another to give a rate.
    #[inline]
    pub(super) fn delivered(
        &mut self,
        bytes: u64,
        stamp: Stamp,
        min_rtt: Option<Duration>,
        now: Instant,
    ) -> Option<DeliverySample> {
        self.delivered += bytes;
        self.delivered_at = now;
        if self
            .app_limited_until
            .is_some_and(|until| self.delivered > until)
        {
            self.app_limited_until = None;
        }
        self.first_sent_at = stamp.sent_at;
        if stamp.delivered >= self.round_ends_at {
            self.round_ends_at = self.delivered;
            self.round += 1;
        }
        let ack_elapsed = now.since(stamp.sent_at).as_nanos() + u64::from(stamp.ack_span);
        let interval = ack_elapsed.max(u64::from(stamp.send_span));
        // The draft's §4.1.2.1: acknowledgements that arrive in a bunch make an interval shorter
        // than the smallest round trip.
        let too_short = min_rtt.is_some_and(|min| interval < min.as_nanos()) || interval == 0;
        let sample = (!too_short).then(|| DeliverySample {
            bytes: self.delivered - stamp.delivered,
            interval: Duration::from_nanos(interval),
        });
        if let Some(sample) = sample {
            self.latest = Some((sample, stamp.app_limited));
        }
        sample
    }

    /// The latest sample, and whether the application limited it.
    pub(super) fn latest(&self) -> Option<(DeliverySample, bool)> {
        self.latest
    }

    /// Whether the application has not had enough to send, until what is in flight since then is
    /// delivered.
    pub(super) fn is_app_limited(&self) -> bool {
        self.app_limited_until.is_some()
    }

    /// The application has nothing to send while `in_flight` bytes are in flight.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::scoreboard::{Delivery, Scoreboard};
    use crate::units::Rate;

    const MSS: u16 = 1000;

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    /// Segments on a scoreboard, stamped and acknowledged as the sender does.
    struct Path {
        board: Scoreboard,
        rate: RateSampler,
    }

    impl Path {
        fn new() -> Self {
            Self {
                board: Scoreboard::new(u64::from(MSS)),
                rate: RateSampler::default(),
            }
        }

        fn send(&mut self, segments: u64, now: Instant) {
            for _ in 0..segments {
                let in_flight = self.board.pipe() + u64::from(MSS);
                let stamp = self.rate.stamp(now, self.board.is_empty(), in_flight);
                self.board.push(MSS, false, stamp);
            }
        }

        /// The rate it shows, and whether the application set it.
        fn acknowledge(&mut self, segments: u64, now: Instant) -> (Option<Rate>, bool) {
            let mut delivery = Delivery::default();
            self.board
                .acknowledge(segments * u64::from(MSS), &mut delivery);
            let newest = delivery.newest.expect("something is acknowledged");
            let sample = self.rate.delivered(delivery.bytes, newest.stamp, None, now);
            (sample.map(DeliverySample::rate), newest.stamp.app_limited)
        }
    }

    #[test]
    fn a_burst_is_delivered_at_the_pace_of_its_acknowledgements() {
        let mut path = Path::new();
        path.send(10, at(0));
        // One a millisecond, the first after 100 ms.
        for n in 1..10 {
            path.acknowledge(n, at(99 + n));
        }
        assert_eq!(
            path.acknowledge(10, at(109)).0,
            Some(Rate(10 * 8_000_000 / 109))
        );
        // Sent when ten were delivered; 11 ms later, and 100 ms after that, all are: ten in 100 ms.
        path.send(10, at(120));
        assert_eq!(path.acknowledge(20, at(220)).0, Some(Rate(10 * 80_000)));
    }

    #[test]
    fn acknowledgements_bunched_up_do_not_make_the_rate_higher_than_what_was_sent() {
        let mut path = Path::new();
        // Two segments, 50 ms apart; their acknowledgements come together.
        path.send(1, at(0));
        path.send(1, at(50));
        let (rate, _) = path.acknowledge(2, at(120));
        assert_eq!(rate, Some(Rate(2 * 8_000_000 / 120)));
        path.send(1, at(130));
        path.send(1, at(230));
        path.acknowledge(3, at(231));
        // Since the third was acknowledged only a millisecond has passed; the two took 100 ms to
        // send.
        assert_eq!(
            path.acknowledge(4, at(232)).0,
            Some(Rate(2 * 80_000 * 100 / 102))
        );
    }

    #[test]
    fn an_interval_shorter_than_the_smallest_round_trip_gives_no_rate() {
        let mut path = Path::new();
        path.send(1, at(0));
        let mut delivery = Delivery::default();
        path.board.acknowledge(u64::from(MSS), &mut delivery);
        let newest = delivery.newest.expect("something is acknowledged");
        let min_rtt = Some(Duration::from_millis(30));
        assert_eq!(
            path.rate.delivered(1000, newest.stamp, min_rtt, at(20)),
            None
        );
    }

    #[test]
    fn samples_are_the_applications_until_what_was_in_flight_is_delivered() {
        let mut path = Path::new();
        path.send(2, at(0));
        path.rate.app_limited(path.board.pipe());
        path.send(1, at(10));
        assert!(
            !path.acknowledge(2, at(100)).1,
            "sent before the application ran dry"
        );
        assert!(path.acknowledge(3, at(110)).1);
        path.send(1, at(120));
        assert!(!path.acknowledge(4, at(220)).1);
    }

    #[test]
    fn a_round_ends_when_something_sent_after_its_start_is_acknowledged() {
        let mut path = Path::new();
        path.send(4, at(0));
        let mut rounds = Vec::new();
        for n in 1..=4 {
            path.acknowledge(n, at(100));
            path.send(1, at(100));
            rounds.push(path.rate.round());
        }
        assert_eq!(rounds, [1, 1, 1, 1]);
        path.acknowledge(5, at(200));
        assert_eq!(path.rate.round(), 2);
    }
}
