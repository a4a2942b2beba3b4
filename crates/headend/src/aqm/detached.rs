//! A backlog that is taken out of its queue for one call of a law: for laws in another language,
//! which cannot borrow it together with the [`Context`].
//!
//! While the backlog is away, the law appends, takes, marks and discards packets. What the rest of
//! the engine must know of that is kept in order, and carried out when the backlog comes back.

use crate::context::Context;
use crate::packet::{Fields, Packet};
use crate::queue::{Backlog, BacklogLimit, LineView};
use crate::time::Instant;
use crate::trace::DropReason;
use crate::units::Rate;

/// What a law has done while it had the backlog.
#[derive(Debug)]
enum Action {
    Discarded(Packet, DropReason),
    Enqueued(Fields),
    Marked(Fields),
}

/// A backlog without its queue.
#[derive(Debug)]
pub struct DetachedBacklog {
    backlog: Backlog,
    line: LineView<'static>,
    now: Instant,
    actions: Vec<Action>,
}

impl Default for DetachedBacklog {
    fn default() -> Self {
        Self {
            backlog: Backlog::new(BacklogLimit::Unlimited),
            line: LineView::plain(Rate(0)),
            now: Instant::ZERO,
            actions: Vec::new(),
        }
    }
}

impl DetachedBacklog {
    /// Takes the backlog out of its queue.
    pub fn take(&mut self, backlog: &mut Backlog, line: &LineView<'_>, now: Instant) {
        std::mem::swap(&mut self.backlog, backlog);
        self.line = LineView {
            mtu: line.mtu,
            framing: line.framing,
            ..LineView::plain(line.rate)
        };
        self.now = now;
    }

    /// Gives the backlog back, and carries out what was done with its packets.
    pub fn give_back(&mut self, backlog: &mut Backlog, cx: &mut Context<'_>) {
        std::mem::swap(&mut self.backlog, backlog);
        for action in self.actions.drain(..) {
            match action {
                Action::Discarded(packet, reason) => cx.discard(packet, reason),
                Action::Enqueued(fields) => cx.note_enqueued(&fields),
                Action::Marked(fields) => cx.note_marked(&fields),
            }
        }
    }

    /// The backlog, to be read.
    pub fn backlog(&self) -> &Backlog {
        &self.backlog
    }

    /// Appends a packet, or discards it if it does not fit, as [`Backlog::push`].
    pub fn push(&mut self, packet: Packet) -> bool {
        if !self.backlog.count_in(&packet, &self.line) {
            self.discard(packet, DropReason::Overlimit);
            return false;
        }
        self.actions.push(Action::Enqueued(*packet));
        self.backlog.place(packet, self.now);
        true
    }

    /// Removes and returns the oldest packet.
    pub fn pop(&mut self) -> Option<Packet> {
        self.backlog.pop(&self.line)
    }

    /// Removes and returns the newest packet.
    pub fn pop_last(&mut self) -> Option<Packet> {
        self.backlog.pop_last(&self.line)
    }

    /// Removes and returns the packet at `index`, counted from the oldest.
    pub fn remove(&mut self, index: usize) -> Option<Packet> {
        self.backlog.remove(index, &self.line)
    }

    /// Whether a packet fits under the limit.
    pub fn fits(&self, packet: &Packet) -> bool {
        self.backlog.fits(packet, &self.line)
    }

    /// Discards a packet.
    pub fn discard(&mut self, packet: Packet, reason: DropReason) {
        self.actions.push(Action::Discarded(packet, reason));
    }

    /// Marks a packet CE, as [`Context::mark`].
    pub fn mark(&mut self, packet: &mut Packet) -> bool {
        let is_marked = packet.mark();
        if is_marked {
            self.actions.push(Action::Marked(**packet));
        }
        is_marked
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Ecn;
    use crate::testing::Bench;
    use crate::trace::TraceEvent;

    const LINE: LineView<'static> = LineView::plain(Rate(10_000_000));

    /// What the world was told, without times.
    fn kinds(bench: &mut Bench) -> Vec<&'static str> {
        let log = bench.take_log().into_iter();
        log.filter_map(|(_, event)| match event {
            TraceEvent::Enqueued { .. } => Some("enqueued"),
            TraceEvent::Marked { .. } => Some("marked"),
            TraceEvent::Discarded { .. } => Some("discarded"),
            _ => None,
        })
        .collect()
    }

    #[test]
    fn what_a_law_does_is_told_in_its_order_when_the_backlog_comes_back() {
        let mut bench = Bench::new();
        let flow = bench.flow(0);
        let mut backlog = Backlog::new(BacklogLimit::Packets(2));
        let mut detached = DetachedBacklog::default();
        let [mut first, second, third] = [1, 2, 3].map(|_| bench.packet(flow, 500));
        first.ecn = Ecn::Ect0;
        bench.take_log();

        detached.take(&mut backlog, &LINE, bench.now);
        assert!(detached.mark(&mut first));
        assert!(detached.fits(&second));
        assert_eq!(
            [first, second, third].map(|one| detached.push(one)),
            [true, true, false]
        );
        assert_eq!(kinds(&mut bench), [] as [&str; 0], "nothing is told before");
        detached.give_back(&mut backlog, &mut bench.cx());
        assert_eq!(
            kinds(&mut bench),
            ["marked", "enqueued", "enqueued", "discarded"]
        );
        assert_eq!(backlog.depth().packets, 2);
        assert_eq!(backlog.head().map(|head| head.ecn), Some(Ecn::Ce));

        detached.take(&mut backlog, &LINE, bench.now);
        let mut sent = detached.pop().expect("two wait");
        sent.ecn = Ecn::NotEct;
        assert!(!detached.mark(&mut sent), "only what can be marked is");
        let dropped = detached.pop_last().expect("one waits");
        detached.discard(dropped, DropReason::Congested);
        detached.give_back(&mut backlog, &mut bench.cx());
        assert_eq!(kinds(&mut bench), ["discarded"]);
        bench.end(sent);
        assert_eq!(backlog.depth().packets, 0);
    }
}
