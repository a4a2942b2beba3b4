//! Random drop on full: when a packet does not fit, a random packet is dropped.
//!
//! Drop-tail drops the packet that arrives while the queue is full, so that a few flows which keep
//! it full can lock out the others. Here, the dropped packet is drawn evenly from the packets in
//! the queue and the arriving one. A flow therefore loses packets in proportion to its share of the
//! queue. The queue still stays full under a lasting load.
//!
//! "Lightweight Active Router-Queue Management for Multimedia Networking" §2, which cites Mankin,
//! "Random Drop Congestion Control" (1990).
//!
//! The source counts packets. If the limit is in bytes, packets are drawn until the arriving one
//! fits or is drawn itself.

use super::Aqm;
use crate::aqm::{Governor, LawParameters};
use crate::context::Context;
use crate::packet::Packet;
use crate::queue::{Backlog, LineView};
use crate::rng::Rng;
use crate::trace::DropReason;
use crate::units::{Limit, Rate};

/// Parameters of random drop on full.
///
/// Use it as a baseline beside drop-tail: no flow is locked out, and the queue is equally full.
///
/// Source: Mankin, "Random drop congestion control" (1990); the CBT paper, §2.
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
    type Law = RandomDrop;

    fn law(&self, _rate: Rate, rng: Rng) -> Result<RandomDrop, String> {
        Ok(RandomDrop::new(rng))
    }

    fn governor(&self) -> Governor {
        Governor::Bound("buffer")
    }
}

/// The control law: a full queue drops a random packet.
#[derive(Debug)]
pub struct RandomDrop {
    rng: Rng,
}

impl RandomDrop {
    /// The law with a random stream of its own.
    pub fn new(rng: Rng) -> Self {
        Self { rng }
    }
}

impl Aqm for RandomDrop {
    fn enqueue(
        &mut self,
        backlog: &mut Backlog,
        packet: Packet,
        line: &LineView<'_>,
        cx: &mut Context<'_>,
    ) {
        while !backlog.fits(&packet, line) {
            match draw_victim(&mut self.rng, backlog, line) {
                Some(victim) => cx.discard(victim, DropReason::Overlimit),
                None => return cx.discard(packet, DropReason::Overlimit),
            }
        }
        backlog.push(packet, line, cx);
    }

    fn is_periodic(&self) -> bool {
        false
    }
}

/// Removes and returns a random packet of the backlog, or `None` if the draw selects the arriving
/// packet. All of them are equally likely.
pub(super) fn draw_victim(
    rng: &mut Rng,
    backlog: &mut Backlog,
    line: &LineView<'_>,
) -> Option<Packet> {
    let candidates = backlog.depth().packets + 1;
    backlog.remove(rng.below(candidates) as usize, line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::BacklogLimit;
    use crate::testing::Bench;
    use crate::trace::TraceEvent;
    use crate::units::Rate;

    const LINE: LineView<'static> = LineView::plain(Rate(10_000_000));

    fn law() -> RandomDrop {
        RandomDrop::new(Rng::for_path(1, "queue"))
    }

    /// Packets of these sizes arrive at an empty queue. Returns the numbers of the discarded
    /// packets, in order.
    fn discarded(limit: BacklogLimit, sizes: &[u16]) -> Vec<u64> {
        let mut bench = Bench::new();
        let flow = bench.flow(0);
        let mut backlog = Backlog::new(limit);
        let mut law = law();
        for &size in sizes {
            let packet = bench.packet(flow, size);
            law.enqueue(&mut backlog, packet, &LINE, &mut bench.cx());
        }
        let discarded = |(_, event)| match event {
            TraceEvent::Discarded { packet, reason, .. } => {
                assert_eq!(reason, DropReason::Overlimit);
                Some(packet.seq)
            }
            _ => None,
        };
        bench.take_log().into_iter().filter_map(discarded).collect()
    }

    #[test]
    fn nothing_is_lost_while_the_queue_is_not_full() {
        let lost = discarded(BacklogLimit::Packets(3), &[100; 3]);
        assert!(lost.is_empty(), "{lost:?}");
    }

    #[test]
    fn each_packet_that_waits_or_arrives_is_as_likely_to_be_the_victim() {
        let mut bench = Bench::new();
        let flow = bench.flow(0);
        let mut law = law();
        let mut counts = [0_u32; 5];
        for _ in 0..10_000 {
            let mut backlog = Backlog::new(BacklogLimit::Packets(4));
            let first = bench.packet(flow, 100);
            let base = first.seq;
            backlog.push(first, &LINE, &mut bench.cx());
            for _ in 0..4 {
                let packet = bench.packet(flow, 100);
                law.enqueue(&mut backlog, packet, &LINE, &mut bench.cx());
            }
            for (_, event) in bench.take_log() {
                if let TraceEvent::Discarded { packet, .. } = event {
                    counts[(packet.seq - base) as usize] += 1;
                }
            }
        }
        // 10 000 draws, of which 2000 are expected for each packet. The standard deviation is 40.
        assert!(
            counts.iter().all(|&count| (1840..2160).contains(&count)),
            "{counts:?}"
        );
    }

    #[test]
    fn victims_are_drawn_until_a_large_packet_fits_or_is_drawn() {
        let mut bench = Bench::new();
        let flow = bench.flow(0);
        let mut law = law();
        let mut survivals = 0;
        for _ in 0..4000 {
            let mut backlog = Backlog::new(BacklogLimit::Bytes(1500));
            for size in [500, 500, 500, 1400] {
                let packet = bench.packet(flow, size);
                law.enqueue(&mut backlog, packet, &LINE, &mut bench.cx());
            }
            survivals += u32::from(backlog.depth().bytes == 1400);
            assert!(backlog.depth().bytes == 1400 || backlog.depth().bytes.is_multiple_of(500));
        }
        // The packet survives three draws: 3/4 × 2/3 × 1/2. The standard deviation is 27.
        assert!((890..1110).contains(&survivals), "{survivals}");
    }

    #[test]
    fn a_packet_larger_than_the_whole_queue_is_discarded_in_the_end() {
        let lost = discarded(BacklogLimit::Bytes(1000), &[400, 1500]);
        assert_eq!(lost.last(), Some(&1));
    }
}
