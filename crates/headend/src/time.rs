//! Simulated time: points and spans, both in whole nanoseconds.
//!
//! Two types keep the two apart: an [`Instant`] is a point, counted from the start of the run; a
//! [`Duration`] is a span. Neither can be read from a machine's clock.

use std::fmt;
use std::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};

/// A point of simulated time, in nanoseconds since the start of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Instant(u64);

/// A span of simulated time, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Duration(u64);

impl Instant {
    /// The start of the run.
    pub const ZERO: Self = Self(0);
    /// Later than anything a run reaches.
    pub const FAR_FUTURE: Self = Self(u64::MAX);

    /// The point `nanos` nanoseconds after the start.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the start.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Seconds since the start.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 * 1e-9
    }

    /// The latest multiple of `tick` that is not after this point; the point itself if `tick` is
    /// zero.
    #[inline]
    #[must_use]
    pub const fn last_tick(self, tick: Duration) -> Self {
        match tick.0 {
            0 => self,
            tick => Self(self.0 / tick * tick),
        }
    }

    /// The span from `earlier` to this point; zero if `earlier` is later.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}

impl Duration {
    /// A span of length zero.
    pub const ZERO: Self = Self(0);
    /// Longer than any run.
    pub const MAX: Self = Self(u64::MAX);

    /// A span of `nanos` nanoseconds.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// A span of `micros` microseconds.
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros * 1_000)
    }

    /// A span of `millis` milliseconds.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis * 1_000_000)
    }

    /// A span of `secs` seconds.
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs * 1_000_000_000)
    }

    /// The span nearest to `secs` seconds; zero for negative numbers and NaN.
    pub fn from_secs_f64(secs: f64) -> Self {
        Self((secs * 1e9 + 0.5) as u64)
    }

    /// Whole nanoseconds.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 * 1e-9
    }

    /// Whether the span is zero.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// `self − other`; zero if `other` is longer.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// `self` scaled by `factor`, rounded to the nearest nanosecond.
    #[must_use]
    pub fn mul_f64(self, factor: f64) -> Self {
        Self((self.0 as f64 * factor + 0.5) as u64)
    }
}

impl Add<Duration> for Instant {
    type Output = Self;
    fn add(self, span: Duration) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, span: Duration) {
        *self = *self + span;
    }
}

impl Sub<Duration> for Instant {
    type Output = Self;
    fn sub(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(span.0))
    }
}

impl Sub for Instant {
    type Output = Duration;
    /// The span from `earlier` to this point.
    ///
    /// # Panics
    ///
    /// If `earlier` is later.
    fn sub(self, earlier: Self) -> Duration {
        Duration(
            self.0
                .checked_sub(earlier.0)
                .expect("an instant minus a later one: time does not go back"),
        )
    }
}

impl Add for Duration {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Duration {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Duration {
    type Output = Self;
    /// The difference of two spans.
    ///
    /// # Panics
    ///
    /// If `other` is longer.
    fn sub(self, other: Self) -> Self {
        Self(self.0.checked_sub(other.0).expect("a duration below zero"))
    }
}

impl SubAssign for Duration {
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

impl Mul<u64> for Duration {
    type Output = Self;
    fn mul(self, factor: u64) -> Self {
        Self(self.0.saturating_mul(factor))
    }
}

impl Div<u64> for Duration {
    type Output = Self;
    fn div(self, divisor: u64) -> Self {
        Self(self.0 / divisor)
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.0;
        match nanos {
            0 => write!(f, "0 s"),
            n if n % 1_000_000_000 == 0 => write!(f, "{} s", n / 1_000_000_000),
            n if n >= 1_000_000_000 => write!(f, "{} s", n as f64 / 1e9),
            n if n >= 1_000_000 => write!(f, "{} ms", n as f64 / 1e6),
            n if n >= 1_000 => write!(f, "{} us", n as f64 / 1e3),
            n => write!(f, "{n} ns"),
        }
    }
}

impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.9} s", self.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_prints_in_the_unit_that_reads_best() {
        assert_eq!(Duration::from_millis(40).to_string(), "40 ms");
        assert_eq!(Duration::from_nanos(1_500).to_string(), "1.5 us");
        assert_eq!(Duration::from_secs(60).to_string(), "60 s");
    }

    #[test]
    #[should_panic(expected = "time does not go back")]
    fn an_instant_minus_a_later_one_panics() {
        let _ = Instant::from_nanos(1) - Instant::from_nanos(2);
    }

    #[test]
    fn since_a_later_instant_is_zero() {
        assert_eq!(
            Instant::from_nanos(1).since(Instant::from_nanos(2)),
            Duration::ZERO
        );
    }
}
