//! Whose turn it is: lists of queues, first come, first served, without allocation.
//!
//! A queue is on one list at most. It leaves a list only as its first: a queue that ran empty while it waited is found empty when its turn comes. What it
//! may send in its turn is kept beside its place, and both with whatever else is known of the queue; whoever serves the lists decides on it.

/// No queue: the last of a list has none behind it.
const NONE: u32 = u32::MAX;
/// In place of the one behind it: the queue is on no list.
const UNLISTED: u32 = u32::MAX - 1;

/// A queue's place.
#[derive(Debug, Clone, Copy)]
pub(super) struct Turn {
    /// The one behind it on its list.
    next: u32,
    /// Bytes that it may still send in its turn.
    pub(super) deficit: i32,
}

impl Turn {
    /// On no list, and never was.
    pub(super) const NEW: Self = Self {
        next: UNLISTED,
        deficit: 0,
    };

    #[inline]
    pub(super) fn is_listed(self) -> bool {
        self.next != UNLISTED
    }
}

/// The queues that take turns, as their keeper knows them.
pub(super) trait Turned {
    fn turn(&mut self, queue: usize) -> &mut Turn;
}

/// `N` lists over the same queues.
#[derive(Debug)]
pub(super) struct Turns<const N: usize> {
    heads: [u32; N],
    tails: [u32; N],
}

impl<const N: usize> Turns<N> {
    pub(super) const fn new() -> Self {
        Self {
            heads: [NONE; N],
            tails: [NONE; N],
        }
    }

    #[inline]
    pub(super) fn first(&self, list: usize) -> Option<usize> {
        (self.heads[list] != NONE).then_some(self.heads[list] as usize)
    }

    #[inline]
    pub(super) fn push(&mut self, queues: &mut impl Turned, list: usize, queue: usize) {
        let place = queues.turn(queue);
        debug_assert!(!place.is_listed(), "a queue is on one list at most");
        place.next = NONE;
        match self.tails[list] {
            NONE => self.heads[list] = queue as u32,
            tail => queues.turn(tail as usize).next = queue as u32,
        }
        self.tails[list] = queue as u32;
    }

    #[inline]
    pub(super) fn pop(&mut self, queues: &mut impl Turned, list: usize) -> Option<usize> {
        let first = self.first(list)?;
        self.heads[list] = std::mem::replace(&mut queues.turn(first).next, UNLISTED);
        if self.heads[list] == NONE {
            self.tails[list] = NONE;
        }
        Some(first)
    }

    /// Puts the first of `from` behind the last of `to`.
    #[inline]
    pub(super) fn pass(&mut self, queues: &mut impl Turned, from: usize, to: usize) {
        let is_alone = from == to && self.heads[from] == self.tails[from];
        if is_alone {
            return;
        }
        if let Some(first) = self.pop(queues, from) {
            self.push(queues, to, first);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Turned for Vec<Turn> {
        fn turn(&mut self, queue: usize) -> &mut Turn {
            &mut self[queue]
        }
    }

    #[test]
    fn each_list_is_first_come_first_served() {
        let (mut turns, mut queues) = (Turns::<2>::new(), vec![Turn::NEW; 5]);
        for (list, queue) in [(0, 3), (1, 0), (0, 1), (1, 4)] {
            turns.push(&mut queues, list, queue);
        }
        assert_eq!([turns.first(0), turns.first(1)], [Some(3), Some(0)]);
        turns.pass(&mut queues, 0, 1);
        assert!(queues[3].is_listed() && !queues[2].is_listed());
        let order = std::iter::from_fn(|| turns.pop(&mut queues, 1)).collect::<Vec<_>>();
        assert_eq!(order, [0, 4, 3]);
        assert_eq!(turns.pop(&mut queues, 0), Some(1));
        assert_eq!(turns.first(0), None);
        queues.resize(8, Turn::NEW);
        turns.push(&mut queues, 0, 7);
        assert_eq!(turns.pop(&mut queues, 0), Some(7));
    }

    #[test]
    fn the_only_one_passes_to_itself() {
        let (mut turns, mut queues) = (Turns::<1>::new(), vec![Turn::NEW]);
        turns.push(&mut queues, 0, 0);
        turns.pass(&mut queues, 0, 0);
        assert_eq!(turns.first(0), Some(0));
        let popped = [0, 0].map(|list| turns.pop(&mut queues, list));
        assert_eq!(popped, [Some(0), None]);
    }
}
