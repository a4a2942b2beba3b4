//! What limits a queue, and how much of that it used: the one definition of utilisation.
//!
//! Several things limit what leaves a queue: the rate of its link, the two token buckets of its
//! service flow, those of an aggregate, the capacity of the channel. Each lets through at most what
//! it held at the start of the measured part and what came to it during that part. The share that
//! passed is therefore never above 1. The **utilisation** of a queue is the share of the limit that
//! was used most.
//!
//! The edges of the measured part count exactly: of a packet that is being sent at an edge, the
//! part sent by then.

use std::cmp::Ordering;

use crate::time::Duration;
use crate::trace::QueueId;
use crate::units::Rate;

/// What left a queue since the start of the run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Left {
    /// Packets.
    pub packets: u64,
    /// Their IP bytes.
    pub bytes: u64,
    /// Bytes by which Ethernet pads those that are too short for it.
    pub padding: u64,
}

/// The use of one limit of a queue since the start of the run, in bits.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct LimitUse {
    /// What came to the limit: rate times time.
    pub came: f64,
    /// What could pass at once: tokens. Below zero if what passed was borrowed from the time after.
    pub ready: f64,
    /// What passed.
    pub passed: f64,
    /// How often the limit was set where there was none. Uses of limits with different numbers have
    /// nothing in common.
    pub number: u32,
}

/// Times in a run are whole nanoseconds, and the end of a transmission is rounded.
const ROUNDING: Duration = Duration::from_nanos(2);

impl LimitUse {
    /// A line that lets through a rate: `came` bits until now, at `rate` now.
    pub fn of_line(came: f64, rate: Rate, passed: f64) -> Self {
        Self {
            came,
            ready: rate.0 as f64 * ROUNDING.as_secs_f64(),
            passed,
            number: 0,
        }
    }

    /// The bits that passed since `earlier`, and those that could have.
    fn since(&self, earlier: &Self) -> [f64; 2] {
        let borrowed = (-self.ready).max(0.0);
        [
            self.passed - earlier.passed,
            self.came - earlier.came + earlier.ready + borrowed,
        ]
    }
}

/// Packets that a line must have had time for, so that its utilisation is known within some
/// percent.
const FEWEST_PACKETS: f64 = 25.0;
/// Bits of the smallest packet, which count where no packet has left.
const SMALLEST_PACKET: f64 = 64.0 * 8.0;

/// The limits of the queues of a run, in the order in which links report them.
#[derive(Debug, Default)]
pub(super) struct QueueLimits {
    at_start: Vec<(QueueId, Option<LimitUse>)>,
    so_far: Vec<(QueueId, Option<LimitUse>)>,
}

/// The most used limit of a queue in the measured part.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Used {
    /// Bits that could have passed. NaN if nothing limits the queue.
    pub possible: f64,
    /// The share of them that passed. NaN where too few could for a share to be known.
    pub share: f64,
}

impl QueueLimits {
    /// Links are about to report what was used until now.
    pub(super) fn read_again(&mut self) {
        self.so_far.clear();
    }

    /// Notes the use of a limit of a queue; `None` while there is no such limit.
    pub(super) fn note(&mut self, queue: QueueId, so_far: Option<LimitUse>) {
        self.so_far.push((queue, so_far));
    }

    /// The measured part starts with what was just reported.
    pub(super) fn start_measuring(&mut self) {
        self.at_start = std::mem::take(&mut self.so_far);
    }

    /// The most used limit of each queue. So many `packets` left it in the measured part.
    pub(super) fn used(&self, packets: impl Iterator<Item = u64>) -> Vec<Used> {
        let packets: Vec<u64> = packets.collect();
        let mut most = vec![[f64::NAN; 2]; packets.len()];
        for ((queue, now), (same, earlier)) in self.so_far.iter().zip(&self.at_start) {
            assert_eq!(queue, same, "links report their limits in the same order");
            let (Some(now), Some(earlier)) = (now, earlier) else {
                continue;
            };
            if now.number != earlier.number {
                continue;
            }
            let one = now.since(earlier);
            let place = &mut most[queue.0 as usize];
            if is_tighter(one, *place) {
                *place = one;
            }
        }
        (most.into_iter().zip(packets))
            .map(|([passed, possible], packets)| Used {
                possible,
                share: share(passed, packets, possible),
            })
            .collect()
    }
}

/// Whether a limit, given as bits that passed and that could have, is used more than `other`; if
/// both are unused, whether it is the smaller one.
fn is_tighter(one: [f64; 2], other: [f64; 2]) -> bool {
    let [passed, possible] = one;
    let [passed_other, possible_other] = other;
    if possible_other.is_nan() {
        return !possible.is_nan();
    }
    let (share, share_other) = (passed * possible_other, passed_other * possible);
    match share.total_cmp(&share_other) {
        Ordering::Greater => true,
        Ordering::Equal => possible < possible_other,
        Ordering::Less => false,
    }
}

/// The share of `possible` bits that passed; NaN where too few are possible for a share to be
/// known.
fn share(passed: f64, packets: u64, possible: f64) -> f64 {
    let packet = if packets == 0 {
        SMALLEST_PACKET
    } else {
        passed / packets as f64
    };
    if possible.is_nan() || possible < FEWEST_PACKETS * packet || possible <= 0.0 {
        return f64::NAN;
    }
    let share = passed / possible;
    debug_assert!(
        share < 1.0 + 1e-9,
        "no limit lets through more than it can: {passed} of {possible} bits"
    );
    // What remains are the last digits of sums.
    if (1.0..1.0 + 1e-9).contains(&share) {
        return 1.0;
    }
    share
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_moment_no_use_of_a_line_is_known() {
        assert!((share(400_000.0, 50, 800_000.0) - 0.5).abs() < 1e-12);
        assert!(share(16_000.0, 2, 8000.0).is_nan() && share(0.0, 0, 8000.0).is_nan());
        assert!(share(0.0, 0, 80_000.0).abs() < 1e-12);
        assert!(share(0.0, 0, 0.0).is_nan() && share(0.0, 0, f64::NAN).is_nan());
    }

    /// The most used of limits of one queue, each as what came, was ready and passed.
    fn used(limits: &[[[f64; 3]; 2]]) -> Used {
        let mut all = QueueLimits::default();
        let note = |all: &mut QueueLimits, time: usize| {
            all.read_again();
            for limit in limits {
                let [came, ready, passed] = limit[time];
                let so_far = LimitUse {
                    came,
                    ready,
                    passed,
                    number: 0,
                };
                all.note(QueueId(0), Some(so_far));
            }
        };
        note(&mut all, 0);
        all.start_measuring();
        note(&mut all, 1);
        all.used([50].into_iter())[0]
    }

    #[test]
    fn the_tightest_limit_decides_and_tokens_held_at_the_start_could_pass() {
        let bucket = [[1e6, 2e5, 8e5], [2e6, 0.0, 2e6]];
        let line = [[1e7, 0.0, 8e5], [2e7, 0.0, 2e6]];
        let found = used(&[line, bucket]);
        assert!((found.share - 1.0).abs() < 1e-12 && (found.possible - 1.2e6).abs() < 1e-6);
        assert!((used(&[line]).share - 0.12).abs() < 1e-12);
    }

    #[test]
    fn a_limit_that_was_not_there_all_the_time_says_nothing() {
        let use_of = |number| LimitUse {
            came: 1e6,
            number,
            ..LimitUse::default()
        };
        let mut all = QueueLimits::default();
        all.note(QueueId(0), Some(use_of(0)));
        all.note(QueueId(0), None);
        all.start_measuring();
        all.read_again();
        all.note(QueueId(0), Some(use_of(1)));
        all.note(QueueId(0), Some(use_of(0)));
        assert!(all.used([50].into_iter())[0].share.is_nan());
    }

    #[test]
    fn what_was_borrowed_from_later_could_pass_too() {
        let found = used(&[[[0.0, 0.0, 0.0], [1e6, -1e5, 1.1e6]]]);
        assert!((found.share - 1.0).abs() < 1e-12);
    }
}
