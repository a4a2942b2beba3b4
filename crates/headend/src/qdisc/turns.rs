//! Lists of queues that wait for their turn: first come, first served, without allocation.
//!
//! A queue is on at most one list, and leaves it only from the front. A queue that becomes empty
//! while it waits is found empty at its turn. Each queue has a [`Turn`], which holds its link to
//! the next queue and its deficit. It is stored with the other state of the queue, outside the
//! lists.

/// No queue: the last queue of a list has no next one.
const NONE: u32 = u32::MAX;
/// Takes the place of the next queue if the queue is on no list.
const UNLISTED: u32 = u32::MAX - 1;

/// The place of a queue on its list, and its deficit.
#[derive(Debug, Clone, Copy)]
pub(super) struct Turn {
    /// The next queue on the list.
    next: u32,
    /// Bytes that the queue may still send in its turn.
    pub(super) deficit: i32,
}

impl Turn {
    /// The state of a queue that was never on a list.
    pub(super) const NEW: Self = Self {
        next: UNLISTED,
        deficit: 0,
    };

    #[inline]
    pub(super) fn is_listed(self) -> bool {
        self.next != UNLISTED
    }
}

/// Access to the [`Turn`] of each queue. The collection that holds the queues implements it.
pub(super) trait TurnTable {
    fn turn(&mut self, queue: usize) -> &mut Turn;
}

/// `N` lists of the same queues.
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
    pub(super) fn push(&mut self, queues: &mut impl TurnTable, list: usize, queue: usize) {
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
    pub(super) fn pop(&mut self, queues: &mut impl TurnTable, list: usize) -> Option<usize> {
        let first = self.first(list)?;
        self.heads[list] = std::mem::replace(&mut queues.turn(first).next, UNLISTED);
        if self.heads[list] == NONE {
            self.tails[list] = NONE;
        }
        Some(first)
    }

    /// Moves the first queue of list `from` to the end of list `to`.
    #[inline]
    pub(super) fn pass(&mut self, queues: &mut impl TurnTable, from: usize, to: usize) {
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

    impl TurnTable for Vec<Turn> {
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
    fn a_list_of_one_queue_passes_to_itself() {
        let (mut turns, mut queues) = (Turns::<1>::new(), vec![Turn::NEW]);
        turns.push(&mut queues, 0, 0);
        turns.pass(&mut queues, 0, 0);
        assert_eq!(turns.first(0), Some(0));
        let popped = [0, 0].map(|list| turns.pop(&mut queues, list));
        assert_eq!(popped, [Some(0), None]);
    }
}
