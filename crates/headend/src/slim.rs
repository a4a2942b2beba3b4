//! An `Option` in the room of its value: a plant has tens of thousands of connections and queues, each with times and numbers that may be missing.

use std::fmt;

use crate::time::{Duration, Instant};
use crate::units::Rate;

/// What has a largest value that nothing real ever is.
pub(crate) trait Bounded: Copy + PartialEq {
    const LARGEST: Self;
}

impl Bounded for u64 {
    const LARGEST: Self = Self::MAX;
}

impl Bounded for Duration {
    const LARGEST: Self = Self::MAX;
}

impl Bounded for Instant {
    const LARGEST: Self = Self::FAR_FUTURE;
}

impl Bounded for Rate {
    const LARGEST: Self = Self(u64::MAX);
}

/// A value, or the largest one for none.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slim<T>(T);

impl<T: Bounded> Slim<T> {
    /// None.
    pub(crate) const NONE: Self = Self(T::LARGEST);

    /// A value.
    #[inline]
    pub(crate) fn some(value: T) -> Self {
        debug_assert!(value != T::LARGEST, "the largest value stands for none");
        Self(value)
    }

    /// As everybody else has it.
    #[inline]
    pub(crate) fn get(self) -> Option<T> {
        (self.0 != T::LARGEST).then_some(self.0)
    }
}

impl<T: Bounded> Default for Slim<T> {
    fn default() -> Self {
        Self::NONE
    }
}

impl<T: Bounded> From<Option<T>> for Slim<T> {
    #[inline]
    fn from(value: Option<T>) -> Self {
        Self(value.unwrap_or(T::LARGEST))
    }
}

impl<T: Bounded + fmt::Debug> fmt::Debug for Slim<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}
