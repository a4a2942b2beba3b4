//! The delay line: what lies between a link and a far host, or between two links.
//!
//! Constant delay with small seeded jitter, perhaps loss or marks. It keeps order, holds its packets (in a ring of its own, or in the pool of all
//! lines), and has one pending event. The jitter is part of the model: with perfect timing identical flows lock into phase with a drop-tail queue, and
//! one of them takes most of the link, which no real host would show (measured: 58 % of a link shared by ten).

use crate::flow::Hop;
use crate::near::{Beginning, near};
use crate::packet::{Ecn, Packet};
use crate::pool::{Chain, Pool};
use crate::ring::Ring;
use crate::rng::Rng;
use crate::time::{Duration, Instant};
use crate::units::{Probability, Rate};

/// Bytes of most packets that fill a line.
const USUAL_PACKET: u64 = 1500;

/// A delay line. What every packet touches stands on one cache line, and what is drawn from on the next.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Line {
    beginning: Beginning,
    /// In order; a packet's `enqueued_at` is here the instant at which it is handed over.
    packets: Store,
    last: Instant,
    delay: Duration,
    /// The hop behind it, if that is the same for all packets.
    end: Option<Hop>,
    /// Room to be made with the first packet.
    room: u32,
    kind: Kind,
    /// Uniform over 0..jitter is added to each packet's delay.
    jitter: Duration,
    rng: Rng,
    harm: Harm,
    /// Packets that entered since the last one that a periodic loss took.
    since_loss: u32,
}

const _: () = assert!(
    std::mem::offset_of!(Line, kind) < 64,
    "what every packet touches is on one cache line"
);

/// Which packets a line loses.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Loss {
    /// Each with this probability, independently of the others.
    Random(Probability),
    /// Every packet whose number is a multiple of this: the first packet that enters has the number 1.
    Every(u32),
}

impl Default for Loss {
    fn default() -> Self {
        Self::Random(Probability(0.0))
    }
}

/// What a line does to packets beside delaying them; by default nothing at all.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Harm {
    /// Which packets are lost.
    pub loss: Loss,
    /// Share of the ECN-capable packets that are given CE, of those that are not lost.
    pub marks: Probability,
}

impl Harm {
    /// Whether it does any.
    fn is_any(self) -> bool {
        let loses = match self.loss {
            Loss::Random(share) => share.0 > 0.0,
            Loss::Every(_) => true,
        };
        loses || self.marks.0 > 0.0
    }
}

/// Where its packets are.
#[derive(Debug)]
enum Store {
    /// In the pool of all lines that were given no room, and how many: few of a plant's thousands of lines are full at the same time, and a slot that
    /// has just become free is in the cache.
    Chain(Chain, u32),
    /// In a ring of its own.
    Ring(Ring),
}

impl Store {
    #[inline]
    fn push<'a>(&'a mut self, packet: Packet, pool: &'a mut Pool) -> &'a mut Packet {
        match self {
            Self::Chain(chain, len) => {
                *len += 1;
                pool.push(chain, packet)
            }
            Self::Ring(ring) => ring.push(packet),
        }
    }

    /// The oldest packet; there is one.
    #[inline]
    fn take(&mut self, pool: &mut Pool) -> Packet {
        match self {
            Self::Chain(chain, len) => {
                *len -= 1;
                pool.take(chain)
            }
            Self::Ring(ring) => ring.take(),
        }
    }

    #[inline]
    fn front<'a>(&'a self, pool: &'a Pool) -> Option<&'a Packet> {
        match self {
            Self::Chain(chain, _) => pool.head(*chain),
            Self::Ring(ring) => ring.front(),
        }
    }

    #[inline]
    fn len(&self) -> usize {
        match self {
            Self::Chain(_, len) => *len as usize,
            Self::Ring(ring) => ring.len(),
        }
    }
}

/// What happens to packets on a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// They may be lost or marked.
    Harms,
    /// No more than that those wait which are put there ahead of time.
    Passes,
    /// They wait.
    Waits,
}

/// What became of a packet on a line that does harm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    Lost,
    Marked,
    Unharmed,
}

near!(Line);

impl Line {
    /// An empty line.
    pub fn new(delay: Duration, jitter: Duration, harm: Harm, rng: Rng) -> Self {
        Self {
            beginning: [],
            delay,
            end: None,
            jitter,
            harm,
            since_loss: 0,
            rng,
            packets: Store::Chain(Chain::EMPTY, 0),
            room: 0,
            kind: if harm.is_any() {
                Kind::Harms
            } else if delay.is_zero() && jitter.is_zero() {
                Kind::Passes
            } else {
                Kind::Waits
            },
            last: Instant::ZERO,
        }
    }

    /// Makes room with the first packet for what `rate` brings in the line's delay, at most for `most` packets, so that the line need not grow later,
    /// and keeps what it has.
    pub(crate) fn make_room(&mut self, rate: Rate, most: usize) {
        let packets = rate.bytes_in(self.delay) / USUAL_PACKET;
        self.room = most.min(packets as usize) as u32;
        self.packets = Store::Ring(Ring::default());
    }

    /// All its packets go on to `end`.
    pub(crate) fn lead_to(&mut self, end: Hop) {
        self.end = Some(end);
    }

    /// The hop behind it, if that is the same for all packets.
    #[inline]
    pub(crate) fn end(&self) -> Option<Hop> {
        self.end
    }

    /// The delay that every packet has at least.
    pub(crate) fn delay(&self) -> Duration {
        self.delay
    }

    /// What happens on it.
    #[inline]
    pub(crate) fn kind(&self) -> Kind {
        self.kind
    }

    /// Whether it may lose or mark packets: then ask for the [fate](Self::decide) of each.
    #[inline]
    pub(crate) fn is_harmful(&self) -> bool {
        self.kind == Kind::Harms
    }

    /// What becomes of a packet with this ECN field that enters. Draws only for what may happen.
    pub(crate) fn decide(&mut self, ecn: Ecn) -> Fate {
        let Harm { loss, marks } = self.harm;
        let mut happens = |share: Probability| share.0 > 0.0 && self.rng.uniform() < share.0;
        let is_lost = match loss {
            Loss::Random(share) => happens(share),
            Loss::Every(number) => {
                self.since_loss += 1;
                let is_due = self.since_loss >= number;
                if is_due {
                    self.since_loss = 0;
                }
                is_due
            }
        };
        if is_lost {
            Fate::Lost
        } else if ecn != Ecn::NotEct && happens(marks) {
            Fate::Marked
        } else {
            Fate::Unharmed
        }
    }

    /// Whether a packet that enters now leaves now: no delay, and nothing before it.
    #[inline]
    pub(crate) fn is_transparent(&self) -> bool {
        self.delay.is_zero() && self.jitter.is_zero() && self.packets.len() == 0
    }

    /// Takes a packet that enters at `at` and goes on to position `next` of its route; the wake-up to ask for, if it is now the only one.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "each packet comes here, and the call costs a fifth of the work"
    )]
    pub(crate) fn push(
        &mut self,
        packet: Packet,
        next: u8,
        at: Instant,
        pool: &mut Pool,
    ) -> Option<Instant> {
        // A line that only passes packets on is known by its kind, and the second cache line is left alone.
        let jitter = if self.kind == Kind::Passes || self.jitter.is_zero() {
            Duration::ZERO
        } else {
            self.rng.span(self.jitter)
        };
        // Order is kept: a packet never overtakes.
        self.last = self.last.max(at + self.delay + jitter);
        if self.room > 0
            && let Store::Ring(ring) = &mut self.packets
        {
            // A line that nobody uses holds nothing.
            ring.reserve(std::mem::take(&mut self.room) as usize);
        }
        let packet = self.packets.push(packet, pool);
        packet.hop = next;
        packet.enqueued_at = self.last;
        (self.packets.len() == 1).then_some(self.last)
    }

    /// When the next packet is due, if there is one.
    #[inline]
    pub(crate) fn next_due(&self, pool: &Pool) -> Option<Instant> {
        self.packets.front(pool).map(|packet| packet.enqueued_at)
    }

    /// Asks for its first packet.
    #[inline]
    pub(crate) fn fetch_front(&self, pool: &Pool) {
        if let Store::Chain(chain, _) = &self.packets {
            pool.fetch_head(*chain);
        }
    }

    /// The packet that leaves it first.
    #[inline]
    pub(crate) fn front<'a>(&'a self, pool: &'a Pool) -> Option<&'a Packet> {
        self.packets.front(pool)
    }

    /// Takes the next packet, standing before its next hop, where [`Self::next_due`] says that there is one.
    #[inline]
    pub(crate) fn take(&mut self, pool: &mut Pool) -> Packet {
        self.packets.take(pool)
    }

    /// Packets on the line.
    pub(crate) fn held(&self) -> u64 {
        self.packets.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fates of 100 000 packets.
    fn count(harm: Harm, ecn: Ecn) -> [u32; 3] {
        let rng = Rng::for_path(1, "line");
        let mut line = Line::new(Duration::ZERO, Duration::ZERO, harm, rng);
        let mut counts = [0; 3];
        for _ in 0..100_000 {
            counts[match line.decide(ecn) {
                Fate::Lost => 0,
                Fate::Marked => 1,
                Fate::Unharmed => 2,
            }] += 1;
        }
        counts
    }

    #[test]
    fn packets_are_lost_and_the_others_marked_in_their_shares() {
        let harm = Harm {
            loss: Loss::Random(Probability(0.1)),
            marks: Probability(0.2),
        };
        // Three standard errors of 10 000 and of 18 000.
        let [lost, marked, _] = count(harm, Ecn::Ect1);
        assert!(lost.abs_diff(10_000) < 285, "{lost}");
        assert!(marked.abs_diff(18_000) < 365, "{marked}");
    }

    #[test]
    fn a_periodic_loss_takes_every_so_many_th_packet_and_no_other() {
        let harm = Harm {
            loss: Loss::Every(4),
            ..Harm::default()
        };
        let rng = Rng::for_path(1, "line");
        let mut line = Line::new(Duration::ZERO, Duration::ZERO, harm, rng);
        assert!(line.is_harmful());
        let lost: Vec<u32> = (1..=17)
            .filter(|_| line.decide(Ecn::NotEct) == Fate::Lost)
            .collect();
        assert_eq!(lost, [4, 8, 12, 16]);
    }

    #[test]
    fn what_is_not_capable_is_never_marked_and_the_losses_are_the_same() {
        let loss = Loss::Random(Probability(0.1));
        let harm = Harm {
            loss,
            marks: Probability(1.0),
        };
        let alone = Harm {
            loss,
            ..Harm::default()
        };
        assert_eq!(count(harm, Ecn::NotEct), count(alone, Ecn::Ect0));
    }
}
