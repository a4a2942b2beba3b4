//! Message boundaries in a stream: where each of several requests or responses in transit ends.
//!
//! A connection reports one offset at a time to its reader ([`AppContext::expect`]). This list
//! keeps the offsets that follow, in order.

use std::collections::VecDeque;

use super::AppContext;
use crate::flow::FlowId;
use crate::packet::Side;

/// Ends of the messages in transit to one side of a connection, each with a value for the message.
#[derive(Debug)]
pub(super) struct MessageEnds<T>(VecDeque<(u64, T)>);

impl<T> MessageEnds<T> {
    /// Creates an empty list with capacity for `count` messages.
    pub(super) fn with_capacity(count: usize) -> Self {
        Self(VecDeque::with_capacity(count))
    }

    /// Adds a message to side `at` that ends at `offset` of the stream, after all other messages.
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

    /// Takes the earliest message that ends within the `total` bytes that have arrived. The caller
    /// repeats the call until it returns `None`, which also requests a notice for the next offset.
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
