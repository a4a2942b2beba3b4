//! First in, first out: one backlog under one control law.

use super::QueueDiscipline;
use crate::aqm::Aqm;
use crate::context::Context;
use crate::metrics::sample::QueueInternals;
use crate::packet::Packet;
use crate::queue::{Backlog, BacklogLimit, Depth, LineView};
use crate::time::Instant;

/// A queue discipline of one backlog and one control law.
#[derive(Debug)]
pub struct Fifo<L> {
    backlog: Backlog,
    law: L,
}

impl<L: Aqm> Fifo<L> {
    /// An empty queue with this limit and control law.
    pub fn new(limit: BacklogLimit, law: L) -> Self {
        Self {
            backlog: Backlog::new(limit),
            law,
        }
    }
}

impl<L: Aqm> QueueDiscipline for Fifo<L> {
    fn enqueue(&mut self, packet: Packet, line: &LineView<'_>, cx: &mut Context<'_>) {
        self.law.enqueue(&mut self.backlog, packet, line, cx);
    }

    fn dequeue(&mut self, line: &LineView<'_>, cx: &mut Context<'_>) -> Option<Packet> {
        self.law.dequeue(&mut self.backlog, line, cx)
    }

    fn release(&mut self, line: &LineView<'_>) -> Option<Packet> {
        self.backlog.pop(line)
    }

    fn depth(&self) -> Depth {
        self.backlog.depth()
    }

    fn next_update(&self) -> Option<Instant> {
        self.law.next_update()
    }

    fn is_periodic(&self) -> bool {
        self.law.is_periodic()
    }

    fn looks_at_grants(&self) -> bool {
        self.law.looks_at_grants()
    }

    fn limit_alone(&self) -> Option<BacklogLimit> {
        self.law.is_absent().then(|| self.backlog.limit())
    }

    fn update(&mut self, line: &LineView<'_>, cx: &mut Context<'_>) {
        self.law.update(&self.backlog, line, cx);
    }

    fn base_probability(&self) -> Option<f64> {
        self.law.base_probability()
    }

    fn internals(&self) -> QueueInternals {
        self.law.internals()
    }
}
