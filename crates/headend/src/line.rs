//! The delay line: what lies between a link and a far host, or between two links.
//!
//! Constant delay with small seeded jitter, perhaps loss or marks. It keeps order and has one
//! pending event. The jitter is part of the model: with perfect timing identical flows lock into
//! phase with a drop-tail queue, and one of them takes most of the link, which no real host would
//! show (measured: 58 % of a link shared by ten).

use crate::collection::Deque;
use crate::flow::Hop;
use crate::packet::{Ecn, Packet};
use crate::rng::Rng;
use crate::time::{Duration, Instant};
use crate::units::{Probability, Rate};

/// Bytes of most packets that fill a line.
const USUAL_PACKET: u64 = 1500;
/// Packets for which a line makes room before the run, at most.
const MOST_ROOM: u64 = 1 << 13;

/// A delay line.
#[derive(Debug)]
pub struct Line {
    delay: Duration,
    /// Uniform over 0..jitter is added to each packet's delay.
    jitter: Duration,
    rng: Rng,
    /// What it does to packets beside delaying them, if anything.
    harm: Option<Harm>,
    /// Packets that entered since the last one that a periodic loss took.
    since_loss: u32,
    /// In order, each with the instant at which it leaves.
    packets: Deque<(Instant, Packet)>,
    /// When the latest packet leaves.
    last: Instant,
    /// The hop behind it, if that is the same on every route.
    end: Option<Hop>,
}

/// Which packets a line loses.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Loss {
    /// Each with this probability, independently of the others.
    Random(Probability),
    /// Every packet whose number is a multiple of this: the first packet that enters has the number
    /// 1.
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

/// What became of a packet on a line that does harm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    Lost,
    Marked,
    Unharmed,
}

impl Line {
    /// An empty line.
    pub fn new(delay: Duration, jitter: Duration, harm: Harm, rng: Rng) -> Self {
        Self {
            delay,
            jitter,
            rng,
            harm: harm.is_any().then_some(harm),
            since_loss: 0,
            packets: Deque::default(),
            last: Instant::ZERO,
            end: None,
        }
    }

    /// Makes room for the packets that `rate` brings within the delay, up to [`MOST_ROOM`], so that
    /// the line allocates nothing during the run.
    pub(crate) fn make_room(&mut self, rate: Rate) {
        let packets = rate.bytes_in(self.delay) / USUAL_PACKET;
        self.packets.reserve(packets.min(MOST_ROOM) as usize);
    }

    /// Every packet goes on to `end`.
    pub(crate) fn set_end(&mut self, end: Hop) {
        self.end = Some(end);
    }

    /// The hop behind it, if that is the same on every route.
    #[inline]
    pub(crate) fn end(&self) -> Option<Hop> {
        self.end
    }

    /// The delay that every packet has at least.
    pub(crate) fn delay(&self) -> Duration {
        self.delay
    }

    /// Whether it may lose or mark packets; [`Self::decide`] then says what happens to each.
    #[inline]
    pub(crate) fn is_harmful(&self) -> bool {
        self.harm.is_some()
    }

    /// What becomes of a packet with this ECN field that enters. Draws only for what may happen.
    pub(crate) fn decide(&mut self, ecn: Ecn) -> Fate {
        let Some(Harm { loss, marks }) = self.harm else {
            return Fate::Unharmed;
        };
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
        self.delay.is_zero() && self.jitter.is_zero() && self.packets.is_empty()
    }

    /// Takes a packet that enters at `at` and goes on to position `hop` of its route. If it is
    /// alone on the line: when it leaves.
    #[inline(always)]
    pub(crate) fn push(&mut self, packet: Packet, hop: u8, at: Instant) -> Option<Instant> {
        let jitter = if self.jitter.is_zero() {
            Duration::ZERO
        } else {
            self.rng.span(self.jitter)
        };
        // Order is kept: a packet never overtakes.
        self.last = self.last.max(at + self.delay + jitter);
        let (_, packet) = self.packets.push_back((self.last, packet));
        packet.hop = hop;
        (self.packets.len() == 1).then_some(self.last)
    }

    /// When the next packet leaves, if there is one.
    #[inline]
    pub(crate) fn next_due(&self) -> Option<Instant> {
        self.packets.front().map(|&(at, ..)| at)
    }

    /// Takes the packet that leaves next.
    ///
    /// # Panics
    ///
    /// If the line is empty.
    #[inline(always)]
    pub(crate) fn take(&mut self) -> Packet {
        let (_, packet) = self.packets.pop_front().expect("a packet is on the line");
        packet
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
