//! The inverse square root in CoDel's control law: exact, or approximated as in hardware and
//! kernels (AQM paper §4.7).
//!
//! The approximations store the reciprocal root as a 16-bit fraction. Each time the count n
//! changes, they correct it by one step of Newton's method, x ← x·(3 − n·x²)/2. If the value starts
//! at 1, the first step overshoots: at a count of 2 it gives 0.50 instead of 0.71, and it takes
//! about ten drops until the two agree. A table of the first sixteen values avoids this.

use crate::time::Duration;

/// How the inverse square root is computed.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum InverseSqrt {
    /// Exact to the rounding of a double.
    Exact,
    /// 16 bits, with one step of Newton's method for each change of the count.
    Newton,
    /// 16 bits; the first sixteen values come from a table, the others from Newton's method.
    Table,
}

/// The inverse square root of a count that changes in small steps.
#[derive(Debug)]
pub(crate) struct Root {
    method: InverseSqrt,
    /// The approximated value, in units of 2⁻¹⁶.
    reciprocal: u64,
}

impl Root {
    /// The root of a count of 1.
    pub(crate) fn new(method: InverseSqrt) -> Self {
        let mut root = Self {
            method,
            reciprocal: 0,
        };
        root.restart();
        root
    }

    /// Resets the root to a count of 1.
    pub(crate) fn restart(&mut self) {
        self.reciprocal = match self.method {
            // The largest 16-bit value.
            InverseSqrt::Newton => u64::from(u16::MAX),
            InverseSqrt::Exact | InverseSqrt::Table => TABLE[0],
        };
    }

    /// Updates the root to `count`.
    pub(crate) fn follow(&mut self, count: u64) {
        self.reciprocal = match self.method {
            InverseSqrt::Exact => return,
            InverseSqrt::Newton => newton(self.reciprocal, count),
            InverseSqrt::Table => (TABLE.get(count as usize - 1).copied())
                .unwrap_or_else(|| newton(self.reciprocal, count)),
        };
    }

    /// `interval/√count`.
    pub(crate) fn gap(&self, interval: Duration, count: u64) -> Duration {
        if self.method == InverseSqrt::Exact {
            // IEEE 754 rounds square root and division correctly: the same bits on every platform.
            return interval.mul_f64(1.0 / (count as f64).sqrt());
        }
        let scaled = u128::from(interval.as_nanos()) * u128::from(self.reciprocal);
        Duration::from_nanos((scaled >> 16) as u64)
    }
}

/// One step of Newton's method for 1/√count in integers: it computes with 32 bits after the point
/// and keeps 16.
fn newton(reciprocal: u64, count: u64) -> u64 {
    let x = u128::from(reciprocal) << 16;
    let three = 3_u128 << 32;
    // If the count is far above that of the reciprocal, the difference would be negative.
    let rest = three.saturating_sub(u128::from(count) * ((x * x) >> 32));
    (((x * rest) >> 33) >> 16) as u64
}

/// 2¹⁶/√n, rounded, for n from 1 on.
const TABLE: [u64; 16] = [
    65536, 46341, 37837, 32768, 29309, 26755, 24770, 23170, 21845, 20724, 19760, 18919, 18176,
    17515, 16921, 16384,
];

#[cfg(test)]
mod tests {
    use super::*;

    fn reciprocals(method: InverseSqrt, counts: impl Iterator<Item = u64>) -> Vec<u64> {
        let mut root = Root::new(method);
        let follow = |count| {
            root.follow(count);
            root.reciprocal
        };
        counts.map(follow).collect()
    }

    /// Computed by an independent script, with Newton's method in integers.
    #[test]
    fn newton_steps_are_inaccurate_at_first_and_converge() {
        assert_eq!(
            reciprocals(InverseSqrt::Newton, 2..=16),
            [
                32769, 36864, 31968, 28935, 26481, 24588, 23037, 21746, 20647, 19699, 18869, 18136,
                17481, 16893, 16360
            ]
        );
    }

    #[test]
    fn the_table_holds_the_rounded_roots() {
        for (index, entry) in TABLE.into_iter().enumerate() {
            let exact = 65_536.0 / ((index + 1) as f64).sqrt();
            assert!((entry as f64 - exact).abs() <= 0.5, "at {}", index + 1);
        }
    }

    #[test]
    fn beyond_the_table_newton_stays_within_a_fifth_of_a_percent() {
        let found = reciprocals(InverseSqrt::Table, 2..=10_000);
        for (found, count) in found.into_iter().zip(2_u64..) {
            let exact = 65_536.0 / (count as f64).sqrt();
            assert!(
                (found as f64 - exact).abs() <= 2.0 + 0.002 * exact,
                "{found} at {count}"
            );
        }
    }

    #[test]
    fn the_exact_root_is_the_law() {
        let root = Root::new(InverseSqrt::Exact);
        let gap = |count| root.gap(Duration::from_millis(100), count).as_nanos();
        assert_eq!(gap(1), 100_000_000);
        assert_eq!(gap(2), 70_710_678);
        assert_eq!(gap(3), 57_735_027);
        assert_eq!(gap(4), 50_000_000);
        assert_eq!(gap(10_000), 1_000_000);
    }

    #[test]
    fn a_gap_is_the_interval_times_the_fraction() {
        let gap = |method, count| {
            let mut root = Root::new(method);
            (2..=count).for_each(|count| root.follow(count));
            root.gap(Duration::from_millis(100), count).as_nanos()
        };
        assert_eq!(gap(InverseSqrt::Table, 1), 100_000_000);
        assert_eq!(gap(InverseSqrt::Newton, 1), 99_998_474);
        assert_eq!(gap(InverseSqrt::Newton, 2), 50_001_525);
        assert_eq!(gap(InverseSqrt::Table, 2), 70_710_754);
    }

    #[test]
    fn a_count_far_above_the_last_one_gives_no_negative_root() {
        assert_eq!(newton(65_535, 1_000_000), 0);
        assert_eq!(newton(0, 5), 0);
    }
}
