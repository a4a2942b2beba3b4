//! Estimates how much more is acknowledged at once than the bandwidth explains (draft-ietf-ccwg-bbr
//! §5.5.9), for BBR.
//!
//! Cable lines and Wi-Fi cells deliver acknowledgements in bunches. With a window of bandwidth
//! times round-trip time, the line would become idle between two bunches.

use super::AckSample;
use super::windowed_max::WindowedMax;
use crate::time::Instant;

/// The estimator; sizes are in bytes.
#[derive(Debug)]
pub(super) struct AckAggregation {
    /// The largest excess of the last round trips.
    excess: WindowedMax<10>,
    /// Start of the current measurement, and the bytes acknowledged since.
    since: Instant,
    acked: u64,
}

impl AckAggregation {
    /// The estimator before the first acknowledgement.
    pub(super) fn new() -> Self {
        Self {
            excess: WindowedMax::new(),
            since: Instant::ZERO,
            acked: 0,
        }
    }

    /// Updates the estimate with an acknowledgement in `round`. `bandwidth` is in bytes per second.
    /// The excess over the bandwidth is limited to `most`, and stays valid for `rounds` round
    /// trips.
    pub(super) fn update(
        &mut self,
        ack: &AckSample,
        bandwidth: f64,
        round: u64,
        rounds: u64,
        most: u64,
    ) {
        let elapsed = ack.now.since(self.since);
        let mut expected = (bandwidth * elapsed.as_secs_f64()) as u64;
        if self.acked <= expected {
            (self.since, self.acked) = (ack.now, 0);
            expected = 0;
        }
        self.acked += ack.newly_acked;
        let excess = (self.acked - expected).min(most);
        self.excess.update(excess as f64, round, rounds);
    }

    /// Starts a new measurement after a pause, in which no acknowledgements were expected.
    pub(super) fn resume(&mut self, now: Instant) {
        self.since = now;
    }

    /// The largest excess.
    pub(super) fn get(&self) -> u64 {
        self.excess.get() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    fn take(aggregation: &mut AckAggregation, ms: u64, segments: u64, round: u64) -> u64 {
        let ack = AckSample {
            now: Instant::from_nanos(ms * 1_000_000),
            newly_acked: segments * MSS,
            mss: MSS,
            ..AckSample::default()
        };
        // A bandwidth of one segment per millisecond.
        aggregation.update(&ack, 1e6, round, 10, 50 * MSS);
        aggregation.get() / MSS
    }

    #[test]
    fn acknowledgements_at_the_rate_of_the_bandwidth_give_an_excess_of_a_segment() {
        let mut aggregation = AckAggregation::new();
        assert!((1..100).all(|ms| take(&mut aggregation, ms, 1, 1) <= 1));
    }

    #[test]
    fn bunches_count_for_ten_rounds_and_no_more_than_the_most() {
        let mut aggregation = AckAggregation::new();
        assert_eq!(take(&mut aggregation, 10, 10, 1), 10, "ten in no time");
        assert_eq!(
            take(&mut aggregation, 12, 5, 1),
            13,
            "two milliseconds explain two of fifteen"
        );
        assert_eq!(take(&mut aggregation, 30, 1, 10), 13);
        assert_eq!(take(&mut aggregation, 31, 1, 11), 1, "eleven rounds later");
        assert_eq!(take(&mut aggregation, 40, 80, 12), 50);
    }
}
