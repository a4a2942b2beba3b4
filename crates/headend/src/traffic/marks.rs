//! Places in a stream of which the reader wants to know: where each of several requests or answers on the way ends.
//!
//! A connection tells its reader of one place at a time. Here are those that follow, in order.

use std::collections::VecDeque;

use super::AppContext;
use crate::flow::FlowId;
use crate::packet::Side;

/// The ends of what is on its way to one side of a connection, each with what it stands for.
#[derive(Debug)]
pub(super) struct Marks<T>(VecDeque<(u64, T)>);

impl<T> Marks<T> {
    /// None yet, with room for so many.
    pub(super) fn with_capacity(count: usize) -> Self {
        Self(VecDeque::with_capacity(count))
    }

    /// Something on its way to side `at` ends at `offset` of the stream, after all others.
    pub(super) fn push(
        &mut self,
        offset: u64,
        what: T,
        flow: FlowId,
        at: Side,
        cx: &mut AppContext<'_>,
    ) {
        self.0.push_back((offset, what));
        if self.0.len() == 1 {
            cx.expect(flow, at, offset);
        }
    }

    /// What ends within the `total` bytes that have arrived, the earliest first; ask until there is none: the next place is then asked for.
    pub(super) fn pop(
        &mut self,
        total: u64,
        flow: FlowId,
        at: Side,
        cx: &mut AppContext<'_>,
    ) -> Option<T> {
        let (offset, _) = self.0.front()?;
        if *offset > total {
            cx.expect(flow, at, *offset);
            return None;
        }
        self.0.pop_front().map(|(_, what)| what)
    }
}
