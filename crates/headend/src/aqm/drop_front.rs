//! Drop front on full: when a packet does not fit, the oldest packet in the queue is dropped.
//!
//! Compared with a drop at the tail, the sender detects the loss earlier by the delay of a whole
//! queue. A burst that arrives at a full queue does not lose all its packets from one flow. The
//! queue still stays full under a lasting load.
//!
//! "Lightweight Active Router-Queue Management for Multimedia Networking" §2, which cites Lakshman,
//! Neidhardt and Ott, "The Drop from Front Strategy in TCP and in TCP over ATM" (1996).
//!
//! The source counts packets. If the limit is in bytes, packets are dropped from the front until
//! the new one fits.

use super::Aqm;
use crate::aqm::{Governor, LawParameters};
use crate::context::Context;
use crate::packet::Packet;
use crate::queue::{Backlog, LineView};
use crate::rng::Rng;
use crate::trace::DropReason;
use crate::units::{Limit, Rate};

/// Parameters of drop front on full.
///
/// Use it as a baseline beside drop-tail: senders detect a loss earlier by the delay of a queue.
///
/// Source: Lakshman, Neidhardt and Ott, "The drop from front strategy in TCP and in TCP over ATM"
/// (1996); the CBT paper, §2.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Limit of the queue: a size, a time at the line's rate, a number of packets, or "unlimited".
    /// Raising it drops fewer packets of a burst, and makes all packets wait longer.
    pub limit: Limit,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            // "Lightweight Active Router-Queue Management" §4: the default of its routers.
            limit: Limit::Packets(60),
        }
    }
}

impl LawParameters for Config {
    type Law = DropFront;

    fn law(&self, _rate: Rate, _rng: Rng) -> Result<DropFront, String> {
        Ok(DropFront)
    }

    fn governor(&self) -> Governor {
        Governor::Bound("buffer")
    }
}

/// The control law: a full queue drops its oldest packet.
#[derive(Debug, Default)]
pub struct DropFront;

impl Aqm for DropFront {
    fn enqueue(
        &mut self,
        backlog: &mut Backlog,
        packet: Packet,
        line: &LineView<'_>,
        cx: &mut Context<'_>,
    ) {
        while !backlog.fits(&packet, line) {
            match backlog.pop(line) {
                Some(oldest) => cx.discard(oldest, DropReason::Overlimit),
                // The packet is larger than the whole queue.
                None => return cx.discard(packet, DropReason::Overlimit),
            }
        }
        backlog.push(packet, line, cx);
    }

    fn is_periodic(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::BacklogLimit;
    use crate::testing::Bench;
    use crate::units::Rate;

    const LINE: LineView<'static> = LineView::plain(Rate(10_000_000));

    /// Packets of these sizes arrive at an empty queue. Returns the numbers of those still in the
    /// queue, and the number of discarded packets.
    fn left(limit: BacklogLimit, sizes: &[u16]) -> (Vec<u64>, usize) {
        let mut bench = Bench::new();
        let flow = bench.flow(0);
        let mut backlog = Backlog::new(limit);
        for &size in sizes {
            let packet = bench.packet(flow, size);
            DropFront.enqueue(&mut backlog, packet, &LINE, &mut bench.cx());
        }
        let discards = bench.take_discards();
        assert!(
            discards
                .iter()
                .all(|&(_, reason)| reason == DropReason::Overlimit)
        );
        let mut left = Vec::new();
        while let Some(packet) = backlog.pop(&LINE) {
            left.push(packet.seq);
        }
        (left, discards.len())
    }

    #[test]
    fn a_full_queue_keeps_the_newest_packets_in_their_order() {
        assert_eq!(
            left(BacklogLimit::Packets(3), &[100; 5]),
            (vec![2, 3, 4], 2)
        );
    }

    #[test]
    fn nothing_is_lost_while_the_queue_is_not_full() {
        assert_eq!(
            left(BacklogLimit::Packets(3), &[100; 3]),
            (vec![0, 1, 2], 0)
        );
    }

    #[test]
    fn only_as_many_old_packets_are_dropped_as_a_large_one_needs() {
        let sizes = [500, 500, 500, 900];
        assert_eq!(left(BacklogLimit::Bytes(1500), &sizes), (vec![2, 3], 2));
    }

    #[test]
    fn a_packet_larger_than_the_whole_queue_is_discarded_itself() {
        assert_eq!(left(BacklogLimit::Bytes(1000), &[400, 1500]), (vec![], 2));
    }
}
