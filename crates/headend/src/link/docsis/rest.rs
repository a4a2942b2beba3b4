//! Service flows at rest: nothing has happened to them, nothing will by time alone, and their rows of the series would repeat themselves.
//!
//! Half of a plant's modems are idle at any time, and most of the others in most intervals: the series must not look at them all.

use crate::link::Visitor;
use crate::metrics::sample::QueueInternals;
use crate::trace::QueueId;

/// Rows by flow that have found it at rest since something happened to it: the first tells what happened, the second that nothing did.
#[derive(Debug)]
pub struct Rest {
    rows: Vec<u8>,
}

/// A row like the one before.
const REPEATED: u8 = 2;

impl Rest {
    /// So many flows of which nothing has been told.
    pub fn new(flows: usize) -> Self {
        Self {
            rows: vec![0; flows],
        }
    }

    /// Something happens to a flow.
    #[inline]
    pub fn disturb(&mut self, flow: usize) {
        self.rows[flow] = 0;
    }

    /// Calls `visit` with the row of each of `flows`, or with nothing where it would be like the one before.
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
            self.told(index, is_at_rest(flow));
        }
    }

    /// Whether a flow's next row would be like the one before.
    fn repeats(&self, flow: usize) -> bool {
        self.rows[flow] >= REPEATED
    }

    /// A flow's row was told, which found it at rest or not.
    fn told(&mut self, flow: usize, is_at_rest: bool) {
        let rows = &mut self.rows[flow];
        *rows = if is_at_rest { *rows + 1 } else { 0 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_repeats_itself_from_the_second_at_rest_on() {
        let mut rest = Rest::new(2);
        for is_at_rest in [true, false, true, true] {
            assert!(!rest.repeats(1));
            rest.told(1, is_at_rest);
        }
        assert_eq!([rest.repeats(0), rest.repeats(1)], [false, true]);
        rest.disturb(1);
        assert!(!rest.repeats(1));
    }
}
