//! The dumb FIFO under every law: stamps, counts, enforces the limit.

use std::mem;

use super::{Depth, LineView};
use crate::blocks::Blocks;
use crate::context::Context;
use crate::packet::Packet;
use crate::pool::{Chain, Pool};
use crate::ring::Ring;
use crate::trace::DropReason;
use crate::units::{Limit, Rate};

/// How much a backlog may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BacklogLimit {
    /// Bytes, as the line's framing counts them.
    Bytes(u64),
    /// Packets.
    Packets(u64),
    /// No limit.
    Unlimited,
}

impl BacklogLimit {
    /// `limit` on a line of this rate.
    pub fn at_rate(limit: Limit, rate: Rate) -> Self {
        match limit {
            Limit::Bytes(bytes) => Self::Bytes(bytes.0),
            Limit::Packets(packets) => Self::Packets(packets),
            Limit::Time(span) => Self::Bytes(rate.bytes_in(span)),
            Limit::Unlimited => Self::Unlimited,
        }
    }

    /// Whether a packet of `bytes` may join what waits.
    #[inline]
    pub fn admits(self, waiting: Depth, bytes: u64) -> bool {
        match self {
            Self::Bytes(limit) => waiting.bytes + bytes <= limit,
            Self::Packets(limit) => waiting.packets < limit,
            Self::Unlimited => true,
        }
    }
}

/// Bytes of most packets that fill a queue.
const USUAL_PACKET: u64 = 1500;
/// Packets for which room is made in advance, at most. A ring wanders over all of its room, and a plant has thousands of queues.
const MOST_ROOM: u64 = 1 << 7;

/// Packets in order of arrival.
#[derive(Debug)]
pub struct Backlog {
    packets: Store,
    depth: Depth,
    limit: BacklogLimit,
    /// Bytes of the other backlogs of its scheduler.
    others: u64,
    /// Room to be made with the first packet.
    room: u32,
}

/// A backlog of a scheduler while another is worked on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shelved {
    chain: Chain,
    /// Moved as a whole: in parts it would hold up whoever counts a packet in next.
    pub(super) depth: Depth,
}

impl Shelved {
    pub(super) const EMPTY: Self = Self {
        chain: Chain::EMPTY,
        depth: Depth {
            packets: 0,
            bytes: 0,
        },
    };
}

/// Where the packets are.
#[derive(Debug)]
enum Store {
    /// One of a plant's many backlogs.
    Blocks(Blocks),
    /// A backlog of its own.
    Ring(Ring),
    /// A scheduler's backlogs share a pool, and a law is given the one that is its own: [`Backlog::take_up`].
    Chain(Box<Pool>, Chain),
}

impl Store {
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "as for those who call it")]
    fn push(&mut self, packet: Packet) -> &mut Packet {
        match self {
            Self::Blocks(blocks) => blocks.push(packet),
            Self::Ring(ring) => ring.push(packet),
            Self::Chain(pool, chain) => pool.push(chain, packet),
        }
    }

    /// The oldest packet; there is one.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "as for those who call it")]
    fn take(&mut self) -> Packet {
        match self {
            Self::Blocks(blocks) => blocks.take(),
            Self::Ring(ring) => ring.take(),
            Self::Chain(pool, chain) => pool.take(chain),
        }
    }

    fn pop_last(&mut self) -> Option<Packet> {
        match self {
            Self::Blocks(blocks) => blocks.pop_last(),
            Self::Ring(ring) => ring.pop_last(),
            Self::Chain(pool, chain) => pool.pop_last(chain),
        }
    }

    /// The packet at `index` of so many.
    fn remove(&mut self, packets: u64, index: usize) -> Option<Packet> {
        match self {
            Self::Blocks(blocks) => blocks.remove(index),
            Self::Ring(ring) => ring.remove(index),
            Self::Chain(pool, chain) => pool.remove(chain, packets, index),
        }
    }

    fn head(&self) -> Option<&Packet> {
        match self {
            Self::Blocks(blocks) => blocks.front(),
            Self::Ring(ring) => ring.front(),
            Self::Chain(pool, chain) => pool.head(*chain),
        }
    }

    fn iter(&self) -> impl Iterator<Item = &Packet> {
        let (blocks, ring, chain) = match self {
            Self::Blocks(blocks) => (Some(blocks.iter()), None, None),
            Self::Ring(ring) => (None, Some(ring.iter()), None),
            Self::Chain(pool, chain) => (None, None, Some(pool.iter(chain))),
        };
        let own = blocks
            .into_iter()
            .flatten()
            .chain(ring.into_iter().flatten());
        own.chain(chain.into_iter().flatten())
    }

    fn reserve(&mut self, packets: usize) {
        match self {
            Self::Blocks(_) => {}
            Self::Ring(ring) => ring.reserve(packets),
            Self::Chain(pool, _) => pool.reserve(packets),
        }
    }
}

impl Backlog {
    /// An empty backlog.
    pub fn new(limit: BacklogLimit) -> Self {
        Self {
            packets: Store::Ring(Ring::default()),
            depth: Depth::default(),
            limit,
            others: 0,
            room: 0,
        }
    }

    /// A place for one at a time of the many backlogs of a scheduler, each of at most `limit`. All packets are in its pool.
    pub(super) fn shared(limit: BacklogLimit) -> Self {
        Self {
            packets: Store::Chain(Box::new(Pool::new()), Chain::EMPTY),
            depth: Depth::default(),
            limit,
            others: 0,
            room: 0,
        }
    }

    /// With another limit.
    #[must_use]
    pub(super) fn limited_to(mut self, limit: BacklogLimit) -> Self {
        self.limit = limit;
        self
    }

    /// Becomes the backlog that `shelved` stands for; the other backlogs of its scheduler hold `others` bytes.
    ///
    /// # Panics
    ///
    /// If this is a backlog of its own.
    #[inline]
    pub(super) fn take_up(&mut self, shelved: Shelved, others: u64) {
        let Store::Chain(_, chain) = &mut self.packets else {
            panic!("only a shared backlog has others in its pool");
        };
        *chain = shelved.chain;
        self.depth = shelved.depth;
        self.others = others;
    }

    /// What stands for the backlog that this is now.
    #[inline]
    pub(super) fn shelve(&self) -> Shelved {
        let chain = match &self.packets {
            Store::Chain(_, chain) => *chain,
            Store::Blocks(_) | Store::Ring(_) => Chain::EMPTY,
        };
        Shelved {
            chain,
            depth: self.depth,
        }
    }

    /// The oldest packet of the backlog that `shelved` stands for.
    #[inline]
    pub(super) fn head_of(&self, shelved: &Shelved) -> Option<&Packet> {
        match &self.packets {
            Store::Chain(pool, _) => pool.head(shelved.chain),
            Store::Blocks(_) | Store::Ring(_) => None,
        }
    }

    /// Makes room with the first packet for what the limit allows, packets of the usual largest size, up to a few; a longer backlog grows, and one
    /// that nobody uses takes nothing.
    #[must_use]
    pub fn with_room(mut self) -> Self {
        let packets = match self.limit {
            BacklogLimit::Bytes(bytes) => bytes / USUAL_PACKET,
            BacklogLimit::Packets(packets) => packets,
            BacklogLimit::Unlimited => 0,
        };
        self.room = packets.min(MOST_ROOM) as u32;
        self
    }

    /// Takes no room in advance, and gives it back: a plant has thousands of queues, of which few are long at the same time.
    ///
    /// # Panics
    ///
    /// If it holds packets.
    pub fn be_frugal(&mut self) {
        assert_eq!(self.depth.packets, 0, "said before its first packet");
        self.room = 0;
        self.packets = Store::Blocks(Blocks::default());
    }

    /// Appends `packet`, or discards it as [`DropReason::Overlimit`]. True if it was taken in.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "each packet comes here, and the call costs a fifth of the work"
    )]
    pub fn push(&mut self, packet: Packet, line: &LineView<'_>, cx: &mut Context<'_>) -> bool {
        let bytes = line.framing.of_size(packet.size);
        if !self.limit.admits(self.depth, bytes) {
            cx.discard(packet, DropReason::Overlimit);
            return false;
        }
        self.depth.packets += 1;
        self.depth.bytes += bytes;
        cx.note_enqueued(&packet);
        if self.room > 0 {
            self.packets.reserve(mem::take(&mut self.room) as usize);
        }
        self.packets.push(packet).enqueued_at = cx.now;
        true
    }

    /// Whether `packet` fits under the limit.
    #[inline]
    pub fn fits(&self, packet: &Packet, line: &LineView<'_>) -> bool {
        self.limit.admits(self.depth, line.framing.bytes(packet))
    }

    /// Takes the oldest packet.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "each packet comes here, and the call costs a fifth of the work"
    )]
    pub fn pop(&mut self, line: &LineView<'_>) -> Option<Packet> {
        // Looked at before it is taken: a packet that is asked whether it exists is moved in pieces, which stalls whoever reads it next.
        let bytes = line.framing.bytes(self.packets.head()?);
        let packet = self.packets.take();
        self.depth.packets -= 1;
        self.depth.bytes -= bytes;
        Some(packet)
    }

    /// Takes the packet that came last.
    pub fn pop_last(&mut self, line: &LineView<'_>) -> Option<Packet> {
        let packet = self.packets.pop_last();
        self.count_out(packet.as_ref(), line);
        packet
    }

    /// Takes the packet at `index` from the head: for laws that choose their victim.
    pub fn remove(&mut self, index: usize, line: &LineView<'_>) -> Option<Packet> {
        let packet = self.packets.remove(self.depth.packets, index);
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

    /// The oldest packet.
    #[inline]
    pub fn head(&self) -> Option<&Packet> {
        self.packets.head()
    }

    /// Asks for the oldest packet and for the place of the next: of a [frugal](Self::be_frugal) one, as others stay in the cache.
    #[inline]
    pub(super) fn fetch_ends(&self) {
        if let Store::Blocks(blocks) = &self.packets {
            blocks.fetch_ends();
        }
    }

    /// All packets, the oldest first: for laws that choose their victim by what it is.
    pub fn iter(&self) -> impl Iterator<Item = &Packet> {
        self.packets.iter()
    }

    /// The limit.
    pub fn limit(&self) -> BacklogLimit {
        self.limit
    }

    /// What waits.
    #[inline]
    pub fn depth(&self) -> Depth {
        self.depth
    }

    /// Bytes that wait in the other backlogs of its scheduler, which take their turns with this one on the line; 0 outside a scheduler.
    #[inline]
    pub fn others(&self) -> u64 {
        self.others
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::qdisc::Framing;
    use crate::testing::Bench;

    const LINE: LineView<'static> = LineView::plain(Rate(10_000_000));

    /// Pushes packets of these sizes; which were taken in.
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
    fn what_fills_a_limit_exactly_fits() {
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
    fn bytes_are_those_that_the_line_counts() {
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
    fn backlogs_that_share_a_pool_keep_packets_bytes_and_limit_apart() {
        let mut bench = Bench::new();
        let mut desk = Backlog::shared(BacklogLimit::Packets(2));
        push(&mut bench, &mut desk, &LINE, &[100, 200]);
        let one = desk.shelve();
        desk.take_up(Shelved::EMPTY, one.depth.bytes);
        assert_eq!((desk.depth(), desk.others()), (Depth::default(), 300));
        assert_eq!(
            push(&mut bench, &mut desk, &LINE, &[40, 50, 60]),
            [true, true, false]
        );
        let two = desk.shelve();
        desk.take_up(one, two.depth.bytes);
        let depth = |packets, bytes| Depth { packets, bytes };
        assert_eq!(desk.depth(), depth(2, 300));
        assert_eq!(desk.pop_last(&LINE).map(|packet| packet.size), Some(200));
        assert_eq!(desk.head().map(|packet| packet.size), Some(100));
        desk.take_up(two, 100);
        assert_eq!(desk.depth(), depth(2, 90));
        let rest = [desk.pop(&LINE), desk.pop(&LINE)].map(|packet| packet.map(|one| one.size));
        assert_eq!(rest, [Some(40), Some(50)]);
    }

    #[test]
    fn a_limit_in_time_is_what_the_rate_carries_in_it() {
        let limit = |limit| BacklogLimit::at_rate(limit, Rate(8_000_000));
        let span = crate::time::Duration::from_millis(250);
        assert_eq!(limit(Limit::Time(span)), BacklogLimit::Bytes(250_000));
        assert_eq!(limit(Limit::Packets(60)), BacklogLimit::Packets(60));
        assert_eq!(limit(Limit::Unlimited), BacklogLimit::Unlimited);
    }
}
