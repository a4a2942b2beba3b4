//! A value that a link has over time: constant, or in steps that may repeat.

use crate::time::{Duration, Instant};

/// A value over time.
#[derive(Debug, Clone, PartialEq)]
pub enum Varying<T> {
    /// Always the same value.
    Constant(T),
    /// A value from each instant on. The first step begins at zero. The pattern repeats after
    /// `period`, if that is given.
    Steps {
        /// Start and value of each step, in order.
        steps: Vec<(Duration, T)>,
        /// Length of the pattern.
        period: Option<Duration>,
    },
}

impl<T: Copy> Varying<T> {
    /// The value at the instant `at`.
    #[inline]
    pub fn at(&self, at: Instant) -> T {
        match self {
            Self::Constant(value) => *value,
            Self::Steps { steps, period } => steps[step(steps, *period, at).0].1,
        }
    }

    /// Every value that it takes.
    pub fn values(&self) -> impl Iterator<Item = T> {
        let (constant, steps) = match self {
            Self::Constant(value) => (Some(*value), &[][..]),
            Self::Steps { steps, .. } => (None, &steps[..]),
        };
        constant
            .into_iter()
            .chain(steps.iter().map(|(_, value)| *value))
    }
}

/// Index of the step in force at `at`, and the start of the next step.
pub(super) fn step<T>(
    steps: &[(Duration, T)],
    period: Option<Duration>,
    at: Instant,
) -> (usize, Option<Instant>) {
    let base = period.map_or(0, |period| {
        at.as_nanos() / period.as_nanos() * period.as_nanos()
    });
    let phase = Duration::from_nanos(at.as_nanos() - base);
    let index = steps.partition_point(|(start, _)| *start <= phase).max(1) - 1;
    let next = match (steps.get(index + 1), period) {
        (Some((start, _)), _) => Some(Instant::from_nanos(base) + *start),
        (None, Some(period)) => Some(Instant::from_nanos(base) + period),
        (None, None) => None,
    };
    (index, next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_in_force_from_its_start_on_and_the_pattern_repeats() {
        let steps = vec![(Duration::ZERO, 1), (Duration::from_millis(10), 2)];
        let at = |value: &Varying<i32>, ms: u64| value.at(Instant::from_nanos(ms * 1_000_000));
        let once = Varying::Steps {
            steps: steps.clone(),
            period: None,
        };
        assert_eq!([0, 9, 10, 100].map(|ms| at(&once, ms)), [1, 1, 2, 2]);
        let period = Some(Duration::from_millis(15));
        let repeated = Varying::Steps { steps, period };
        assert_eq!(
            [0, 14, 15, 24, 25].map(|ms| at(&repeated, ms)),
            [1, 2, 1, 1, 2]
        );
        assert_eq!(repeated.values().collect::<Vec<_>>(), [1, 2]);
        assert_eq!(Varying::Constant(7).values().collect::<Vec<_>>(), [7]);
    }
}
