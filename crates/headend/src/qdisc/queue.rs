//! A discipline in its place at a link: records what passes, and wakes the law when its update is due.

use super::{Depth, LineView, QueueDiscipline};
use crate::context::{Context, QueueInternals};
use crate::packet::Packet;
use crate::time::Instant;
use crate::trace::QueueId;

/// A queue of a link.
#[derive(Debug)]
pub struct Queue {
    id: QueueId,
    discipline: Box<dyn QueueDiscipline>,
    /// The earliest update already asked for.
    armed: Option<Instant>,
    /// The link's token for this queue's updates.
    token: u64,
}

impl Queue {
    /// `discipline` as queue `id`; the link passes wake-ups with `token` to [`Self::update`].
    pub fn new(id: QueueId, discipline: Box<dyn QueueDiscipline>, token: u64) -> Self {
        Self {
            id,
            discipline,
            armed: None,
            token,
        }
    }

    /// Its name in records.
    pub fn id(&self) -> QueueId {
        self.id
    }

    /// A packet arrives.
    pub fn offer(&mut self, packet: Packet, line: &LineView<'_>, cx: &mut Context<'_>) {
        cx.enter_queue(self.id);
        self.discipline.enqueue(packet, line, cx);
        cx.note_backlog(self.id, self.discipline.depth().bytes);
        self.arm(cx);
    }

    /// The link may send: the next packet, if there is one.
    pub fn take(&mut self, line: &LineView<'_>, cx: &mut Context<'_>) -> Option<Packet> {
        cx.enter_queue(self.id);
        let packet = self.discipline.dequeue(line, cx);
        cx.note_backlog(self.id, self.discipline.depth().bytes);
        if let Some(packet) = &packet {
            cx.note_dequeued(packet);
        }
        self.arm(cx);
        packet
    }

    /// An update may be due.
    pub fn update(&mut self, line: &LineView<'_>, cx: &mut Context<'_>) {
        if self.armed.is_some_and(|at| at <= cx.now) {
            self.armed = None;
        }
        cx.enter_queue(self.id);
        if self.discipline.next_update().is_some_and(|at| at <= cx.now) {
            self.discipline.update(line, cx);
            cx.note_backlog(self.id, self.discipline.depth().bytes);
        }
        self.arm(cx);
    }

    /// What waits.
    pub fn depth(&self) -> Depth {
        self.discipline.depth()
    }

    /// Its inner state.
    pub fn internals(&self) -> QueueInternals {
        self.discipline.internals()
    }

    fn arm(&mut self, cx: &mut Context<'_>) {
        if let Some(at) = self.discipline.next_update()
            && self.armed.is_none_or(|armed| at < armed)
        {
            self.armed = Some(at);
            cx.wake_at(at.max(cx.now), self.token);
        }
    }
}
