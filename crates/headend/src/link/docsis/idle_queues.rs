//! Finds the queues of service flows whose next row in the series would repeat the row before it.
//!
//! Such a flow is idle: nothing has happened to it, and its state does not change with time alone.
//! At any time about half of the modems of a plant are idle, and most of the others are idle in
//! most intervals. The series must not read the state of all of them.

use crate::link::Visitor;
use crate::metrics::sample::QueueInternals;
use crate::trace::QueueId;

/// By flow: the number of rows that found the flow idle since its last change. The first such row
/// shows the result of the change. The second one shows that nothing changed since.
#[derive(Debug)]
pub struct IdleQueues {
    rows: Vec<u8>,
}

/// Number of idle rows from which on the next row repeats.
const REPEATED: u8 = 2;

impl IdleQueues {
    /// No row has been written for any of the `flows` flows.
    pub fn new(flows: usize) -> Self {
        Self {
            rows: vec![0; flows],
        }
    }

    /// The state of a flow changes.
    #[inline]
    pub fn note_change(&mut self, flow: usize) {
        self.rows[flow] = 0;
    }

    /// Calls `visit` for each of `flows`: with its row, or with `None` if the row would repeat the
    /// row before it.
    pub fn visit<F>(
        &mut self,
        flows: &[F],
        row: impl Fn(&F) -> (QueueId, QueueInternals),
        is_at_rest: impl Fn(&F) -> bool,
        visit: &mut Visitor<'_>,
    ) {
        for (index, flow) in flows.iter().enumerate() {
            if self.repeats(index) {
                debug_assert!(is_at_rest(flow), "nothing disturbs it unseen");
                visit(None);
                continue;
            }
            visit(Some(row(flow)));
            self.note_row(index, is_at_rest(flow));
        }
    }

    /// Whether the next row of a flow would repeat the row before it.
    fn repeats(&self, flow: usize) -> bool {
        self.rows[flow] >= REPEATED
    }

    /// A row of the flow was written. `is_at_rest` says whether the flow was idle.
    fn note_row(&mut self, flow: usize, is_at_rest: bool) {
        let rows = &mut self.rows[flow];
        *rows = if is_at_rest { *rows + 1 } else { 0 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_repeats_itself_from_the_second_at_rest_on() {
        let mut idle = IdleQueues::new(2);
        for is_at_rest in [true, false, true, true] {
            assert!(!idle.repeats(1));
            idle.note_row(1, is_at_rest);
        }
        assert_eq!([idle.repeats(0), idle.repeats(1)], [false, true]);
        idle.note_change(1);
        assert!(!idle.repeats(1));
    }
}
