//! The ramp of immediate AQM (MULPI Annex N): from the delay of the low-latency queue to the
//! probability of a mark.
//!
//! Marking begins at MINTH and reaches 100 % at MAXTH. On a slow line, two full-size frames alone
//! take longer than the configured thresholds. MINTH is therefore at least that time, and the ramp
//! keeps its range: it moves up as a whole. `DualPI2` keeps the upper end instead, and shrinks the
//! range.

use crate::time::Duration;
use crate::units::Rate;

/// The two ends of the ramp, and the rate by which it estimates delays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ramp {
    /// Rate by which the queue estimates its delay (`MAX_RATE`). Zero: it has no limit, and the
    /// delay is always zero.
    pub(super) rate: Rate,
    /// Delay up to which no packet is marked (`MINTH`).
    pub(super) minimum: Duration,
    /// Delay from which on every packet is marked (`MAXTH`).
    pub(super) maximum: Duration,
}

impl Ramp {
    /// The ramp at this rate, for a configured upper end and a range of 2^`range_exponent` ns.
    pub(super) fn new(maximum: Duration, range_exponent: u8, rate: Rate) -> Self {
        let range = Duration::from_nanos(1 << range_exponent);
        let minimum = maximum.saturating_sub(range).max(floor(rate));
        Self {
            rate,
            minimum,
            maximum: (minimum + range).min(HIGHEST),
        }
    }

    /// How long a queue of `bytes` takes to drain (`qdelay`).
    pub(super) fn delay(&self, bytes: u64) -> Duration {
        time_for(bytes, self.rate)
    }

    /// The probability of a mark at this delay (`p_native`).
    pub(super) fn probability(&self, delay: Duration) -> f64 {
        if delay <= self.minimum {
            return 0.0;
        }
        if delay >= self.maximum {
            return 1.0;
        }
        let [above, range] = [delay, self.maximum].map(|end| (end - self.minimum).as_nanos());
        above as f64 / range as f64
    }
}

/// The time that a rate takes for `bytes`, rounded down as in Annex N; zero if there is no rate.
fn time_for(bytes: u64, rate: Rate) -> Duration {
    if rate == Rate(0) {
        return Duration::ZERO;
    }
    // Units: bits times nanoseconds per second. They fit 64 bits below 2.3 GB.
    if let Some(bits) = bytes.checked_mul(8_000_000_000) {
        return Duration::from_nanos(bits / rate.0);
    }
    let nanos = u128::from(bytes) * 8_000_000_000 / u128::from(rate.0);
    Duration::from_nanos(nanos.min(u128::from(u64::MAX)) as u64)
}

/// The lowest MINTH at this rate: the time for two frames of the largest size (`FLOOR`).
fn floor(rate: Rate) -> Duration {
    time_for(2 * LARGEST_FRAME, rate).min(HIGHEST)
}

/// Bytes of the largest Ethernet frame on a cable line (`MAX_FRAME_SIZE`).
pub(crate) const LARGEST_FRAME: u64 = 2000;

/// The highest threshold: 2^16 − 1 µs.
pub(crate) const HIGHEST: Duration = Duration::from_micros(65_535);

#[cfg(test)]
mod tests {
    use super::*;

    const MBIT: u64 = 1_000_000;

    /// MINTH and MAXTH in nanoseconds, for a configured MAXTH in microseconds.
    fn ends(rate: u64, maximum: u64, range_exponent: u8) -> (u64, u64) {
        let ramp = Ramp::new(Duration::from_micros(maximum), range_exponent, Rate(rate));
        (ramp.minimum.as_nanos(), ramp.maximum.as_nanos())
    }

    #[test]
    fn below_67_mbit_the_ramp_moves_up_as_a_whole() {
        for (rate, expected) in [
            (MBIT, (32_000_000, 32_524_288)),
            (5 * MBIT, (6_400_000, 6_924_288)),
            (10 * MBIT, (3_200_000, 3_724_288)),
            (20 * MBIT, (1_600_000, 2_124_288)),
            (35 * MBIT, (914_285, 1_438_573)),
            (50 * MBIT, (640_000, 1_164_288)),
            (67_200_000, (476_190, 1_000_478)),
            (67_300_000, (475_712, 1_000_000)),
            (1000 * MBIT, (475_712, 1_000_000)),
            (0, (475_712, 1_000_000)),
        ] {
            assert_eq!(ends(rate, 1000, 19), expected, "{rate} bit/s");
        }
    }

    #[test]
    fn a_higher_maximum_is_not_replaced() {
        assert_eq!(ends(50 * MBIT, 2000, 19), (1_475_712, 2_000_000));
        // The tests of docsis-ns3 expect 1476 µs here, within 1 µs.
        assert!(ends(50 * MBIT, 2000, 19).0.abs_diff(1_476_000) <= 1000);
    }

    #[test]
    fn a_range_beyond_the_maximum_begins_at_the_floor() {
        assert_eq!(ends(50 * MBIT, 1000, 25), (640_000, 640_000 + (1 << 25)));
        assert_eq!(ends(0, 1000, 25), (0, 1 << 25));
    }

    #[test]
    fn no_threshold_is_above_65535_microseconds() {
        let highest = 65_535_000;
        assert_eq!(ends(488_000, 1000, 19), (highest, highest));
        assert_eq!(ends(1000, 1000, 19), (highest, highest));
        assert_eq!(ends(490_000, 1000, 19), (65_306_122, highest));
        // A step: the threshold itself is not marked.
        let step = Ramp::new(Duration::from_millis(1), 19, Rate(1000));
        let probability = |nanos| step.probability(Duration::from_nanos(nanos)).to_bits();
        assert_eq!(probability(highest), 0.0_f64.to_bits());
        assert_eq!(probability(highest + 1), 1.0_f64.to_bits());
    }

    #[test]
    fn the_probability_rises_linearly_from_one_end_to_the_other() {
        let ramp = Ramp::new(Duration::from_millis(1), 19, Rate(50 * MBIT));
        let probability = |nanos| ramp.probability(Duration::from_nanos(nanos));
        for (nanos, expected) in [
            (0, 0.0),
            (640_000, 0.0),
            (640_000 + (1 << 17), 0.25),
            (640_000 + (1 << 18), 0.5),
            (1_164_288, 1.0),
            (9_000_000, 1.0),
        ] {
            assert_eq!(
                probability(nanos).to_bits(),
                f64::to_bits(expected),
                "{nanos}"
            );
        }
    }

    #[test]
    fn a_delay_is_rounded_down_to_nanoseconds() {
        let delay = |rate, bytes| {
            let ramp = Ramp::new(Duration::from_millis(1), 19, Rate(rate));
            ramp.delay(bytes).as_nanos()
        };
        // "Standard estimator" of the tests of docsis-ns3: one to three packets of 1028 B.
        let microseconds = |rate| [1, 2, 3].map(|packets| delay(rate, packets * 1028) / 1000);
        assert_eq!(microseconds(50 * MBIT), [164, 328, 493]);
        assert_eq!(microseconds(20 * MBIT), [411, 822, 1233]);
        assert_eq!(delay(35 * MBIT, 4000), 914_285);
        assert_eq!(delay(0, 1_000_000), 0);
        assert_eq!(delay(1, u64::MAX), u64::MAX);
    }
}
