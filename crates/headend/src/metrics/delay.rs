//! Delay statistics: a histogram with 0.1 % resolution, and exact mean, minimum and maximum.

use hdrhistogram::Histogram;

use crate::time::Duration;

/// Histogram buckets count in units of this many nanoseconds.
pub const UNIT_NS: u64 = 100;
/// Longer delays are counted in the last bucket (in units: 1000 s).
const LONGEST: u64 = 10_000_000_000;

/// The delays of one flow direction or queue. Memory does not grow with the number of packets.
#[derive(Debug, Clone)]
pub struct DelayStats {
    histogram: Histogram<u32>,
    count: u64,
    sum: u128,
    min: u64,
    max: u64,
}

impl Default for DelayStats {
    fn default() -> Self {
        Self {
            histogram: Histogram::new_with_bounds(1, LONGEST, 3).expect("the bounds are valid"),
            count: 0,
            sum: 0,
            min: u64::MAX,
            max: 0,
        }
    }
}

impl DelayStats {
    /// Counts one delay.
    #[inline]
    pub fn record(&mut self, delay: Duration) {
        let nanos = delay.as_nanos();
        self.histogram.saturating_record(nanos / UNIT_NS);
        self.count += 1;
        self.sum += u128::from(nanos);
        self.min = self.min.min(nanos);
        self.max = self.max.max(nanos);
    }

    /// Forgets everything; keeps its memory.
    pub fn reset(&mut self) {
        self.histogram.reset();
        (self.count, self.sum, self.min, self.max) = (0, 0, u64::MAX, 0);
    }

    /// How many delays were counted.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Mean in nanoseconds; NaN of nothing.
    pub fn mean(&self) -> f64 {
        self.sum as f64 / self.count as f64
    }

    /// Minimum in nanoseconds; NaN of nothing.
    pub fn min(&self) -> f64 {
        if self.count == 0 {
            f64::NAN
        } else {
            self.min as f64
        }
    }

    /// Maximum in nanoseconds; NaN of nothing.
    pub fn max(&self) -> f64 {
        if self.count == 0 {
            f64::NAN
        } else {
            self.max as f64
        }
    }

    /// The delay, in nanoseconds, that a share `q` of the packets did not exceed; NaN of nothing. Right to 0.1 % or 100 ns.
    pub fn quantile(&self, q: f64) -> f64 {
        if self.count == 0 {
            return f64::NAN;
        }
        let units = self.histogram.value_at_quantile(q);
        ((units * UNIT_NS) as f64).clamp(self.min as f64, self.max as f64)
    }

    /// Non-empty buckets: from, to (nanoseconds), count.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        self.histogram.iter_recorded().map(|bucket| {
            let value = bucket.value_iterated_to();
            let lower = self.histogram.lowest_equivalent(value);
            let upper = self.histogram.next_non_equivalent(value);
            (
                lower * UNIT_NS,
                upper * UNIT_NS,
                u64::from(bucket.count_at_value()),
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_right_to_a_thousandth() {
        let mut stats = DelayStats::default();
        for micros in 1..=100_000 {
            stats.record(Duration::from_micros(micros));
        }
        for q in [0.05, 0.5, 0.9, 0.99, 0.999] {
            let exact = q * 100_000.0 * 1000.0;
            assert!(
                (stats.quantile(q) - exact).abs() <= 0.001 * exact + 100.0,
                "{q}: {}",
                stats.quantile(q)
            );
        }
        assert!((stats.mean() - 50_000_500.0).abs() < 1.0);
        assert_eq!(
            stats.buckets().map(|(_, _, count)| count).sum::<u64>(),
            100_000
        );
    }

    #[test]
    fn nothing_has_no_median() {
        assert!(DelayStats::default().quantile(0.5).is_nan());
    }
}
