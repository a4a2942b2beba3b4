//! What CAKE derives from its rate and round-trip time: the control law's parameters, the quantum
//! and the limit on memory.
//!
//! A tin's *threshold* is its share of the rate. At a slow threshold, 5 ms are shorter than a
//! packet: target and interval grow with the transmission time of a packet there. The quantum falls
//! with the threshold, so that on slow lines small packets take turns with large ones.
//!
//! Source: measurements of a Linux 6.1. These formulas give target, interval and quantum of all 249
//! tins of 59 settings.

use crate::time::Duration;
use crate::units::Rate;

/// What tc counts for the largest packet: 1500 B and their Ethernet header.
pub(super) const MTU: u64 = 1514;

/// Parameters of one tin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Scale {
    /// The control law's target.
    pub(super) target: Duration,
    /// The control law's interval.
    pub(super) interval: Duration,
    /// Bytes that a flow may send in a turn.
    pub(super) quantum: u64,
    /// The transmission time of the largest packet; zero without a rate.
    pub(super) packet_time: Duration,
}

impl Scale {
    /// The parameters of a tin with this threshold; `None` if the rate is not limited.
    pub(super) fn new(threshold: Option<Rate>, rtt: Duration) -> Self {
        let usual = Duration::from_nanos(rtt.as_nanos() / 20);
        let packet_time = threshold.map_or(Duration::ZERO, |rate| rate.time_for(MTU));
        let target = usual.max(Duration::from_nanos(packet_time.as_nanos() * 3 / 2));
        let interval = (rtt + (target - usual)).max(target * 2);
        let quantum = threshold.map_or(MTU, |rate| (rate.0 / 8 / 4096).clamp(300, MTU));
        Self {
            target,
            interval,
            quantum,
            packet_time,
        }
    }
}

/// The limit on memory in bytes: four times what the rate carries in a round trip, within bounds.
pub(super) fn memory_limit(rate: Option<Rate>, rtt: Duration) -> u64 {
    const LEAST: u64 = 4 << 20;
    const MOST: u64 = 15_503_360;
    let carried = rate.map_or(MOST, |rate| rate.bytes_in(rtt).saturating_mul(4));
    carried.clamp(LEAST, MOST)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Target and interval in whole microseconds, as tc prints them, and the quantum.
    fn scale(rate: u64, rtt_ms: u64) -> (u64, u64, u64) {
        let scale = Scale::new(Some(Rate(rate)), Duration::from_millis(rtt_ms));
        let micros = |span: Duration| span.as_nanos() / 1000;
        (micros(scale.target), micros(scale.interval), scale.quantum)
    }

    /// Vectors of a Linux 6.1.
    #[test]
    fn slow_thresholds_raise_target_and_interval_and_lower_the_quantum() {
        assert_eq!(scale(100_000, 100), (181_680, 363_360, 300));
        assert_eq!(scale(1_000_000, 100), (18_168, 113_168, 300));
        assert_eq!(scale(2_000_000, 100), (9084, 104_084, 300));
        assert_eq!(scale(10_000_000, 100), (5000, 100_000, 305));
        assert_eq!(scale(20_000_000, 100).2, 610);
        assert_eq!(scale(50_000_000, 100).2, 1514);
        assert_eq!(scale(50_000_000 / 16, 100), (5813, 100_813, 300));
        assert_eq!(scale(50_000_000 / 2, 100).2, 762);
        assert_eq!(scale(50_000_000 / 4, 100).2, 381);
        assert_eq!(scale(50_000_000, 1).0, 363);
        assert_eq!(scale(50_000_000, 1).1, 1313);
        assert_eq!(scale(1_000_000, 10), (18_168, 36_336, 300));
    }

    #[test]
    fn without_a_rate_only_the_round_trip_time_counts() {
        let scale = Scale::new(None, Duration::from_millis(100));
        assert_eq!(scale.target, Duration::from_millis(5));
        assert_eq!(scale.interval, Duration::from_millis(100));
        assert_eq!((scale.quantum, scale.packet_time), (1514, Duration::ZERO));
    }

    /// Vectors of a Linux 6.1, and its bounds.
    #[test]
    fn the_memory_holds_four_round_trips_within_bounds() {
        let limit = |rate, rtt_ms| memory_limit(Some(Rate(rate)), Duration::from_millis(rtt_ms));
        assert_eq!(limit(100_000_000, 100), 5_000_000);
        assert_eq!(limit(50_000_000, 300), 7_500_000);
        assert_eq!(limit(1_000_000, 100), 4 << 20);
        assert_eq!(limit(1_000_000_000, 1000), 15_503_360);
        assert_eq!(memory_limit(None, Duration::from_millis(100)), 15_503_360);
    }
}
