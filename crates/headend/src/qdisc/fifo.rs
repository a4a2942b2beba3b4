//! First in, first out: one backlog under one control law.

use std::mem::offset_of;

use super::{Backlog, BacklogLimit, Depth, LineView, QueueDiscipline};
use crate::aqm::Aqm;
use crate::context::{Context, QueueInternals};
use crate::near::{Beginning, Near, Step};
use crate::packet::Packet;
use crate::time::Instant;

/// One backlog, one law, next to each other.
#[derive(Debug)]
#[repr(C)]
pub struct Fifo<L> {
    beginning: Beginning,
    backlog: Backlog,
    law: L,
}

impl<L: Aqm> Fifo<L> {
    /// An empty queue of at most `limit` under `law`.
    pub fn new(limit: BacklogLimit, law: L) -> Self {
        Self {
            beginning: [],
            backlog: Backlog::new(limit).with_room(),
            law,
        }
    }
}

impl<L> Near for Fifo<L> {
    fn beginning(&self) -> &Beginning {
        &self.beginning
    }
}

impl<L: Aqm> QueueDiscipline for Fifo<L> {
    fn fetch(&self, step: Step) {
        match step {
            Step::First => {}
            Step::Second => {
                let bytes = offset_of!(Self, law) + self.law.hot();
                self.fetch_first(bytes);
            }
            Step::Third => self.backlog.fetch_ends(),
        }
    }

    fn first(&self) -> Option<&Packet> {
        self.backlog.head()
    }

    fn enqueue(&mut self, packet: Packet, line: &LineView<'_>, cx: &mut Context<'_>) {
        self.law.enqueue(&mut self.backlog, packet, line, cx);
    }

    fn dequeue(&mut self, line: &LineView<'_>, cx: &mut Context<'_>) -> Option<Packet> {
        self.law.dequeue(&mut self.backlog, line, cx)
    }

    fn release(&mut self, line: &LineView<'_>) -> Option<Packet> {
        self.backlog.pop(line)
    }

    fn be_frugal(&mut self) {
        self.backlog.be_frugal();
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

    fn internals(&self) -> QueueInternals {
        self.law.internals()
    }
}
