//! A discipline in its place at a link: records what passes, and wakes the law when its update is due.

use super::{BacklogLimit, Depth, LineView, QueueDiscipline};
use crate::context::{Context, QueueInternals};
use crate::packet::Packet;
use crate::time::Instant;
use crate::trace::QueueId;

/// A queue of a link.
#[derive(Debug)]
pub struct Queue {
    id: QueueId,
    discipline: Box<dyn QueueDiscipline>,
    /// Whether the discipline ever asks for updates: most do not, and need not be asked after every packet.
    is_periodic: bool,
    /// What waits, after the latest call.
    depth: Depth,
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
            is_periodic: discipline.is_periodic(),
            depth: discipline.depth(),
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
        self.look(cx);
    }

    /// The link may send: the next packet, if there is one.
    pub fn take(&mut self, line: &LineView<'_>, cx: &mut Context<'_>) -> Option<Packet> {
        cx.enter_queue(self.id);
        let packet = self.discipline.dequeue(line, cx);
        if let Some(packet) = &packet {
            cx.note_dequeued(self.id, packet);
        }
        self.look(cx);
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
        }
        self.look(cx);
    }

    /// Puts another discipline in the place of its own. What waits moves over in order; what the new one has no room for is discarded as it would
    /// be on arrival. Packets wait anew there: their sojourn is counted from the move.
    pub fn replace(
        &mut self,
        discipline: Box<dyn QueueDiscipline>,
        line: &LineView<'_>,
        cx: &mut Context<'_>,
    ) {
        cx.enter_queue(self.id);
        self.is_periodic = discipline.is_periodic();
        let mut earlier = std::mem::replace(&mut self.discipline, discipline);
        while let Some(packet) = earlier.release(line, cx) {
            self.discipline.enqueue(packet, line, cx);
        }
        cx.recorder()
            .moved(self.id, self.discipline.depth().packets);
        self.look(cx);
    }

    /// What waits.
    pub fn depth(&self) -> Depth {
        self.depth
    }

    /// Whether its law ever asks for updates.
    pub fn is_periodic(&self) -> bool {
        self.is_periodic
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.depth.packets == 0
    }

    /// The limit, if that alone decides who is refused, on arrival, and order is that of arrival.
    pub fn limit_alone(&self) -> Option<BacklogLimit> {
        self.discipline.limit_alone()
    }

    /// Its inner state.
    pub fn internals(&self) -> QueueInternals {
        self.discipline.internals()
    }

    /// Takes note of how the discipline stands after a call.
    #[inline]
    fn look(&mut self, cx: &mut Context<'_>) {
        self.depth = self.discipline.depth();
        cx.note_backlog(self.id, self.depth.bytes);
        if self.is_periodic {
            self.arm(cx);
        }
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
