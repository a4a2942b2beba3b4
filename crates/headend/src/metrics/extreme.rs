//! The smallest and the largest so far. By a branch that is hardly ever taken: `min` and `max` would write each time, and a packet brings a dozen values.

/// `least` is no more than `value` then.
#[inline]
pub(crate) fn lower(least: &mut u64, value: u64) {
    if value < *least {
        *least = value;
    }
}

/// `most` is no less than `value` then.
#[inline]
pub(crate) fn raise(most: &mut u64, value: u64) {
    if value > *most {
        *most = value;
    }
}
