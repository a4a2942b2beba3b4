//! Whose turn it is: lists of queues, first come, first served, without allocation.
//!
//! A queue is on one list at most. It leaves a list only as its first: a queue that ran empty while it waited is found empty when its turn comes.

/// No queue.
const NONE: u32 = u32::MAX;

/// `N` lists over the same queues.
#[derive(Debug)]
pub(super) struct Turns<const N: usize> {
    /// By queue: the one behind it on its list.
    next: Vec<u32>,
    is_listed: Vec<bool>,
    heads: [u32; N],
    tails: [u32; N],
}

impl<const N: usize> Turns<N> {
    pub(super) fn new(queues: usize) -> Self {
        let mut turns = Self {
            next: Vec::new(),
            is_listed: Vec::new(),
            heads: [NONE; N],
            tails: [NONE; N],
        };
        turns.grow(queues);
        turns
    }

    /// Makes room for at least this many queues.
    pub(super) fn grow(&mut self, queues: usize) {
        let queues = queues.max(self.next.len());
        self.next.resize(queues, NONE);
        self.is_listed.resize(queues, false);
    }

    pub(super) fn is_listed(&self, queue: usize) -> bool {
        self.is_listed[queue]
    }

    pub(super) fn first(&self, list: usize) -> Option<usize> {
        (self.heads[list] != NONE).then_some(self.heads[list] as usize)
    }

    pub(super) fn push(&mut self, list: usize, queue: usize) {
        debug_assert!(!self.is_listed[queue], "a queue is on one list at most");
        self.is_listed[queue] = true;
        self.next[queue] = NONE;
        match self.tails[list] {
            NONE => self.heads[list] = queue as u32,
            tail => self.next[tail as usize] = queue as u32,
        }
        self.tails[list] = queue as u32;
    }

    pub(super) fn pop(&mut self, list: usize) -> Option<usize> {
        let first = self.first(list)?;
        self.is_listed[first] = false;
        self.heads[list] = self.next[first];
        if self.heads[list] == NONE {
            self.tails[list] = NONE;
        }
        Some(first)
    }

    /// Puts the first of `from` behind the last of `to`.
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
