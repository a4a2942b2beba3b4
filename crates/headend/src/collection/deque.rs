//! A deque whose capacity grows by a quarter, where that of the standard deque doubles.
//!
//! The packets in the queues and delay lines of a large plant take most of its memory, so that
//! unused capacity counts.

use std::collections::VecDeque;
use std::ops::Deref;

/// The least number of elements by which the capacity grows.
const LEAST_GROWTH: usize = 4;

/// Values in order, the oldest first. It dereferences to the [`VecDeque`] that it holds.
#[derive(Debug)]
pub(crate) struct Deque<T>(VecDeque<T>);

impl<T> Default for Deque<T> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

impl<T> Deque<T> {
    /// Appends a value and returns a reference to it in the deque.
    #[inline]
    pub(crate) fn push_back(&mut self, value: T) -> &mut T {
        if self.0.is_empty() {
            // Restarts at the first slot, so that a short queue stays in the same few slots.
            self.0.clear();
        }
        if self.0.len() == self.0.capacity() {
            self.grow();
        }
        self.0.push_back(value);
        let last = self.0.len() - 1;
        &mut self.0[last]
    }

    #[cold]
    fn grow(&mut self) {
        let more = (self.0.len() / 4).max(LEAST_GROWTH);
        self.0.reserve_exact(more);
    }

    /// Removes and returns the oldest value.
    #[inline]
    pub(crate) fn pop_front(&mut self) -> Option<T> {
        self.0.pop_front()
    }

    /// Removes and returns the newest value.
    pub(crate) fn pop_back(&mut self) -> Option<T> {
        self.0.pop_back()
    }

    /// Removes and returns the value at `index`, counted from the oldest.
    pub(crate) fn remove(&mut self, index: usize) -> Option<T> {
        self.0.remove(index)
    }
}

impl<T> Deref for Deque<T> {
    type Target = VecDeque<T>;

    fn deref(&self) -> &VecDeque<T> {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::Deque;

    #[test]
    fn it_grows_by_a_quarter() {
        let mut deque = Deque::default();
        for number in 0..1000 {
            deque.push_back(number);
            assert!(deque.capacity() <= (deque.len() * 5).div_ceil(4).max(deque.len() + 4));
        }
        assert!(deque.iter().copied().eq(0..1000));
    }
}
