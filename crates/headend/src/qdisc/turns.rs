//! Whose turn it is: lists of queues, first come, first served, without allocation.
//!
//! A queue is on one list at most. It leaves a list only as its first: a queue that ran empty while it waited is found empty when its turn comes. What it
//! may send in its turn is kept beside its place; whoever serves the lists decides on it.

/// No queue: the last of a list has none behind it.
const NONE: u32 = u32::MAX;
/// In place of the one behind it: the queue is on no list.
const UNLISTED: u32 = u32::MAX - 1;

/// A queue's place.
#[derive(Debug, Clone, Copy)]
struct Queue {
    /// The one behind it on its list.
    next: u32,
    deficit: i64,
}

/// What no list has had yet.
const NEW: Queue = Queue {
    next: UNLISTED,
    deficit: 0,
};

/// `N` lists over the same queues.
#[derive(Debug)]
pub(super) struct Turns<const N: usize> {
    queues: Vec<Queue>,
    heads: [u32; N],
    tails: [u32; N],
}

impl<const N: usize> Turns<N> {
    pub(super) fn new(queues: usize) -> Self {
        Self {
            queues: vec![NEW; queues],
            heads: [NONE; N],
            tails: [NONE; N],
        }
    }

    /// Makes room for at least this many queues.
    #[inline]
    pub(super) fn grow(&mut self, queues: usize) {
        if queues > self.queues.len() {
            self.queues.resize(queues, NEW);
        }
    }

    #[inline]
    pub(super) fn is_listed(&self, queue: usize) -> bool {
        self.queues[queue].next != UNLISTED
    }

    /// Bytes that a queue may still send in its turn.
    #[inline]
    pub(super) fn deficit(&mut self, queue: usize) -> &mut i64 {
        &mut self.queues[queue].deficit
    }

    #[inline]
    pub(super) fn first(&self, list: usize) -> Option<usize> {
        (self.heads[list] != NONE).then_some(self.heads[list] as usize)
    }

    #[inline]
    pub(super) fn push(&mut self, list: usize, queue: usize) {
        debug_assert!(!self.is_listed(queue), "a queue is on one list at most");
        self.queues[queue].next = NONE;
        match self.tails[list] {
            NONE => self.heads[list] = queue as u32,
            tail => self.queues[tail as usize].next = queue as u32,
        }
        self.tails[list] = queue as u32;
    }

    #[inline]
    pub(super) fn pop(&mut self, list: usize) -> Option<usize> {
        let first = self.first(list)?;
        self.heads[list] = std::mem::replace(&mut self.queues[first].next, UNLISTED);
        if self.heads[list] == NONE {
            self.tails[list] = NONE;
        }
        Some(first)
    }

    /// Puts the first of `from` behind the last of `to`.
    #[inline]
    pub(super) fn pass(&mut self, from: usize, to: usize) {
        if let Some(first) = self.pop(from) {
            self.push(to, first);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_list_is_first_come_first_served() {
        let mut turns = Turns::<2>::new(5);
        for (list, queue) in [(0, 3), (1, 0), (0, 1), (1, 4)] {
            turns.push(list, queue);
        }
        assert_eq!([turns.first(0), turns.first(1)], [Some(3), Some(0)]);
        turns.pass(0, 1);
        assert!(turns.is_listed(3) && !turns.is_listed(2));
        let order = std::iter::from_fn(|| turns.pop(1)).collect::<Vec<_>>();
        assert_eq!(order, [0, 4, 3]);
        assert_eq!(turns.pop(0), Some(1));
        assert_eq!(turns.first(0), None);
        turns.grow(8);
        turns.push(0, 7);
        assert_eq!(turns.pop(0), Some(7));
    }

    #[test]
    fn the_only_one_passes_to_itself() {
        let mut turns = Turns::<1>::new(1);
        turns.push(0, 0);
        turns.pass(0, 0);
        assert_eq!(turns.first(0), Some(0));
        assert_eq!([turns.pop(0), turns.pop(0)], [Some(0), None]);
    }
}
