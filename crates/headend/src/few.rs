//! A queue that hardly ever holds more than one: that one stands in its place, and only others in a deque elsewhere.

use std::collections::VecDeque;

/// The oldest first.
#[derive(Debug)]
pub(crate) struct Few<T> {
    first: Option<T>,
    #[expect(
        clippy::box_collection,
        reason = "most never have one, and a plant has thousands"
    )]
    behind: Option<Box<VecDeque<T>>>,
}

impl<T> Few<T> {
    /// None.
    pub(crate) const fn new() -> Self {
        Self {
            first: None,
            behind: None,
        }
    }

    /// Appends one.
    #[inline]
    pub(crate) fn push_back(&mut self, one: T) {
        if self.first.is_none() {
            self.first = Some(one);
        } else {
            self.behind.get_or_insert_default().push_back(one);
        }
    }

    /// Takes the oldest.
    #[inline]
    pub(crate) fn pop_front(&mut self) -> Option<T> {
        let next = self.behind.as_mut().and_then(|behind| behind.pop_front());
        std::mem::replace(&mut self.first, next)
    }

    /// Whether there is none.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    /// All.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        let behind = self.behind.iter().flat_map(|behind| behind.iter());
        self.first.iter().chain(behind)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::Few;

    proptest! {
        #[test]
        fn it_holds_what_a_deque_holds(pushes in prop::collection::vec(any::<bool>(), 0..60)) {
            let (mut few, mut model) = (Few::new(), VecDeque::new());
            for (number, is_push) in pushes.into_iter().enumerate() {
                if is_push {
                    few.push_back(number);
                    model.push_back(number);
                } else {
                    prop_assert_eq!(few.pop_front(), model.pop_front());
                }
                prop_assert_eq!(few.is_empty(), model.is_empty());
                prop_assert!(few.iter().eq(&model));
            }
        }
    }
}
