//! The backlog of one queue: its packets in order of arrival, their number and bytes, and its
//! limit.

use super::LineView;
use crate::collection::Deque;
use crate::context::Context;
use crate::packet::Packet;
use crate::time::Instant;
use crate::trace::DropReason;
use crate::units::{Limit, Rate};

/// The limit of a backlog: the most that it may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BacklogLimit {
    /// Bytes, as the line's [framing](super::Framing) counts them.
    Bytes(u64),
    /// Packets.
    Packets(u64),
    /// No limit.
    Unlimited,
}

impl BacklogLimit {
    /// The limit before a line of this rate: a time becomes the bytes that the rate carries in it.
    pub fn at_rate(limit: Limit, rate: Rate) -> Self {
        match limit {
            Limit::Bytes(bytes) => Self::Bytes(bytes.0),
            Limit::Packets(packets) => Self::Packets(packets),
            Limit::Time(span) => Self::Bytes(rate.bytes_in(span)),
            Limit::Unlimited => Self::Unlimited,
        }
    }

    /// Whether a packet of `bytes` fits under the limit when `waiting` is queued already.
    #[inline]
    pub fn admits(self, waiting: Depth, bytes: u64) -> bool {
        match self {
            Self::Bytes(limit) => waiting.bytes + bytes <= limit,
            Self::Packets(limit) => waiting.packets < limit,
            Self::Unlimited => true,
        }
    }
}

/// The length of a queue in packets and in bytes, as the line's [framing](super::Framing) counts
/// them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Depth {
    /// Packets.
    pub packets: u64,
    /// Bytes.
    pub bytes: u64,
}

/// The limit of a queue, for the parameters of queue disciplines and of control laws alike.
pub trait Limited {
    /// The limit as the scenario gives it; `None` if `limit` is not one of the parameters.
    fn written_limit(&self) -> Option<Limit> {
        None
    }

    /// The limit before a line of this rate.
    ///
    /// # Errors
    ///
    /// A sentence that says why no limit satisfies the parameters.
    fn limit(&self, rate: Rate) -> Result<Limit, String> {
        let _ = rate;
        Ok(self.written_limit().unwrap_or(Limit::Unlimited))
    }
}

/// The packets of one queue, in order of arrival.
#[derive(Debug)]
pub struct Backlog {
    packets: Deque<Packet>,
    depth: Depth,
    limit: BacklogLimit,
    /// Bytes in the other backlogs of the same scheduler.
    others: u64,
}

impl Backlog {
    /// An empty backlog.
    pub fn new(limit: BacklogLimit) -> Self {
        Self {
            packets: Deque::default(),
            depth: Depth::default(),
            limit,
            others: 0,
        }
    }

    /// Sets the number of bytes in the other backlogs of the same scheduler.
    pub(crate) fn set_others(&mut self, bytes: u64) {
        self.others = bytes;
    }

    /// Appends `packet`, or discards it as [`DropReason::Overlimit`]. Returns true if the packet
    /// was enqueued.
    #[inline(always)]
    pub fn push(&mut self, packet: Packet, line: &LineView<'_>, cx: &mut Context<'_>) -> bool {
        if !self.count_in(&packet, line) {
            cx.discard(packet, DropReason::Overlimit);
            return false;
        }
        cx.note_enqueued(&packet);
        self.place(packet, cx.now);
        true
    }

    /// Counts a packet that is to be [placed](Self::place). False: it does not fit under the limit.
    #[inline(always)]
    pub(crate) fn count_in(&mut self, packet: &Packet, line: &LineView<'_>) -> bool {
        let bytes = line.framing.size_on_wire(packet.size);
        if !self.limit.admits(self.depth, bytes) {
            return false;
        }
        self.depth.packets += 1;
        self.depth.bytes += bytes;
        true
    }

    /// Appends a packet that was [counted](Self::count_in).
    #[inline(always)]
    pub(crate) fn place(&mut self, packet: Packet, now: Instant) {
        self.packets.push_back(packet).enqueued_at = now;
    }

    /// Whether `packet` fits under the limit.
    #[inline]
    pub fn fits(&self, packet: &Packet, line: &LineView<'_>) -> bool {
        self.limit.admits(self.depth, line.framing.bytes(packet))
    }

    /// Removes and returns the oldest packet.
    #[inline(always)]
    pub fn pop(&mut self, line: &LineView<'_>) -> Option<Packet> {
        let packet = self.packets.pop_front();
        self.count_out(packet.as_ref(), line);
        packet
    }

    /// Removes and returns the newest packet.
    pub fn pop_last(&mut self, line: &LineView<'_>) -> Option<Packet> {
        let packet = self.packets.pop_back();
        self.count_out(packet.as_ref(), line);
        packet
    }

    /// Removes and returns the packet at `index`, counted from the oldest. Control laws that drop a
    /// packet from the middle of the queue use it.
    pub fn remove(&mut self, index: usize, line: &LineView<'_>) -> Option<Packet> {
        let packet = self.packets.remove(index);
        self.count_out(packet.as_ref(), line);
        packet
    }

    #[inline]
    fn count_out(&mut self, packet: Option<&Packet>, line: &LineView<'_>) {
        if let Some(packet) = packet {
            self.depth.packets -= 1;
            self.depth.bytes -= line.framing.bytes(packet);
        }
    }

    /// The oldest packet, which stays in the backlog.
    #[inline]
    pub fn head(&self) -> Option<&Packet> {
        self.packets.front()
    }

    /// All packets, the oldest first. Control laws that choose a packet by its class or flow use
    /// it.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Packet> + ExactSizeIterator {
        self.packets.iter()
    }

    /// The limit of this backlog alone.
    pub fn limit(&self) -> BacklogLimit {
        self.limit
    }

    /// The packets and bytes in this backlog.
    #[inline]
    pub fn depth(&self) -> Depth {
        self.depth
    }

    /// Bytes in the other backlogs of the same scheduler; 0 outside a scheduler.
    #[inline]
    pub fn others(&self) -> u64 {
        self.others
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::Framing;
    use crate::testing::Bench;

    const LINE: LineView<'static> = LineView::plain(Rate(10_000_000));

    /// Pushes packets of these sizes; returns for each whether it was enqueued.
    fn push(
        bench: &mut Bench,
        backlog: &mut Backlog,
        line: &LineView<'_>,
        sizes: &[u16],
    ) -> Vec<bool> {
        let flow = bench.flow(0);
        let taken = |&size: &u16| {
            let packet = bench.packet(flow, size);
            backlog.push(packet, line, &mut bench.cx())
        };
        sizes.iter().map(taken).collect()
    }

    #[test]
    fn a_packet_that_fills_the_limit_exactly_fits() {
        let mut bench = Bench::new();
        let mut bytes = Backlog::new(BacklogLimit::Bytes(1000));
        assert_eq!(
            push(&mut bench, &mut bytes, &LINE, &[600, 401, 400, 1]),
            [true, false, true, false]
        );
        let mut packets = Backlog::new(BacklogLimit::Packets(2));
        assert_eq!(
            push(&mut bench, &mut packets, &LINE, &[1500, 1500, 40]),
            [true, true, false]
        );
        let discards = bench.take_discards();
        assert!(
            discards
                .iter()
                .all(|&(_, reason)| reason == DropReason::Overlimit)
        );
        assert_eq!(discards.len(), 3);
    }

    #[test]
    fn bytes_are_counted_with_the_framing_of_the_line() {
        let mut bench = Bench::new();
        let line = LineView {
            framing: Framing::ETHERNET,
            ..LINE
        };
        let mut backlog = Backlog::new(BacklogLimit::Unlimited);
        push(&mut bench, &mut backlog, &line, &[40, 1000]);
        assert_eq!(
            backlog.depth(),
            Depth {
                packets: 2,
                bytes: 64 + 1018
            }
        );
        assert_eq!(backlog.pop(&line).map(|packet| packet.size), Some(40));
        assert_eq!(
            backlog.depth(),
            Depth {
                packets: 1,
                bytes: 1018
            }
        );
    }

    #[test]
    fn a_packet_can_be_taken_out_of_the_middle() {
        let mut bench = Bench::new();
        let mut backlog = Backlog::new(BacklogLimit::Unlimited);
        push(&mut bench, &mut backlog, &LINE, &[100, 200, 300]);
        assert_eq!(
            backlog.remove(1, &LINE).map(|packet| packet.size),
            Some(200)
        );
        assert!(backlog.remove(2, &LINE).is_none());
        assert_eq!(
            backlog.depth(),
            Depth {
                packets: 2,
                bytes: 400
            }
        );
        let rest =
            [backlog.pop(&LINE), backlog.pop(&LINE)].map(|packet| packet.map(|one| one.size));
        assert_eq!(rest, [Some(100), Some(300)]);
    }

    #[test]
    fn a_limit_in_time_becomes_the_bytes_that_the_rate_carries() {
        let limit = |limit| BacklogLimit::at_rate(limit, Rate(8_000_000));
        let span = crate::time::Duration::from_millis(250);
        assert_eq!(limit(Limit::Time(span)), BacklogLimit::Bytes(250_000));
        assert_eq!(limit(Limit::Packets(60)), BacklogLimit::Packets(60));
        assert_eq!(limit(Limit::Unlimited), BacklogLimit::Unlimited);
    }
}
