//! The transmit window of one sender to one receiver: the MPDUs that the sender has made of the
//! packets from its queue, until each is acknowledged or given up.
//!
//! IEEE 802.11-2020 §10.25.6: a block acknowledgement covers a window of sequence numbers that
//! begins with the first MPDU that is not yet acknowledged. The receiver holds back MPDUs that
//! arrive before an earlier one, until that one arrives too or is given up. The window therefore
//! keeps the MPDUs in order, and an MPDU that is done stays in it until all before it are done. A
//! sender without aggregation has a window of one MPDU.
//!
//! A *burst* is what one frame carries: the MPDUs among the first `span` ones that are not done.

use std::collections::VecDeque;

use super::phy::subframe;
use crate::packet::Packet;

/// Which count of tries a failure adds to (§10.3.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Try {
    /// Of an RTS, or of a frame without RTS.
    Short,
    /// Of a frame that was announced by an RTS.
    Long,
}

/// Tries after which an MPDU is given up; `None` never gives up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TryLimits {
    /// Of an RTS, and of a frame without RTS.
    pub short: Option<u32>,
    /// Of a frame that was announced by an RTS.
    pub long: Option<u32>,
}

/// An MPDU: one packet, or several in an A-MSDU.
#[derive(Debug)]
struct Mpdu {
    /// The packets, until the receiver has passed them on.
    first: Option<Packet>,
    others: Vec<Packet>,
    /// Bytes with headers and FCS.
    bytes: u64,
    failures: [u32; 2],
    /// Whether it has ever arrived.
    has_arrived: bool,
    /// Whether it has arrived in the present exchange.
    is_heard: bool,
    /// Whether it is acknowledged or given up.
    is_done: bool,
}

/// The window.
#[derive(Debug, Default)]
pub(super) struct Window {
    mpdus: VecDeque<Mpdu>,
    /// How many MPDUs, from the first on, the receiver has passed on.
    passed_on: usize,
    /// Bytes of the MPDUs that are not done, as subframes of an A-MPDU.
    unsent_bytes: u64,
}

/// Bytes of an MPDU as a subframe of an A-MPDU, padded as if another followed.
fn padded(bytes: u64) -> u64 {
    subframe(0, bytes).next_multiple_of(4)
}

/// LLC and SNAP, in bytes.
const LLC: u64 = 8;
/// Header of a subframe of an A-MSDU (§9.3.2.2.2), and LLC and SNAP, in bytes.
const SUBFRAME: u64 = 14 + LLC;
/// MAC header of `QoS` data and FCS, in bytes: what precedes and follows an A-MSDU.
const AROUND: u64 = 26 + 4;

impl Window {
    /// Whether the sender has nothing to send.
    pub(super) fn is_empty(&self) -> bool {
        self.mpdus.is_empty()
    }

    /// The number of MPDUs in the window, those that are done and wait for others included.
    pub(super) fn len(&self) -> usize {
        self.mpdus.len()
    }

    /// Appends a packet as an MPDU of its own, with `overhead` bytes of headers.
    pub(super) fn push(&mut self, packet: Packet, overhead: u64) {
        let bytes = u64::from(packet.size) + overhead;
        self.unsent_bytes += padded(bytes);
        self.mpdus.push_back(Mpdu {
            bytes,
            first: Some(packet),
            others: Vec::new(),
            failures: [0; 2],
            has_arrived: false,
            is_heard: false,
            is_done: false,
        });
    }

    /// Moves the packet of the last MPDU into the one before it, as an A-MSDU of at most `most`
    /// bytes. Neither may have been sent. Returns false if it does not fit.
    pub(super) fn merge_last(&mut self, most: u64) -> bool {
        let Some(mut last) = self.mpdus.pop_back() else {
            return false;
        };
        if let Some(before) = self.mpdus.back_mut()
            && let Some(packet) = &last.first
        {
            let present = if before.others.is_empty() {
                before.bytes - AROUND - LLC + SUBFRAME
            } else {
                before.bytes - AROUND
            };
            let merged = present.next_multiple_of(4) + SUBFRAME + u64::from(packet.size);
            let was_sent = before.failures != [0; 2] || before.has_arrived;
            if merged <= most && !was_sent {
                self.unsent_bytes -= padded(last.bytes) + padded(before.bytes);
                before.bytes = AROUND + merged;
                self.unsent_bytes += padded(before.bytes);
                before.others.extend(last.first.take());
                return true;
            }
        }
        self.mpdus.push_back(last);
        false
    }

    /// Bytes of the MPDUs that are still to be sent, as one A-MPDU with padding at its end.
    pub(super) fn unsent_bytes(&self) -> u64 {
        self.unsent_bytes
    }

    /// Bytes of the MPDU at `index` if it is still to be sent.
    pub(super) fn unsent(&self, index: usize) -> Option<u64> {
        let mpdu = self.mpdus.get(index)?;
        (!mpdu.is_done).then_some(mpdu.bytes)
    }

    /// A burst reaches the receiver. `is_broken` decides it for each MPDU, of which it gets the
    /// bytes. Returns whether any has arrived.
    pub(super) fn receive(&mut self, span: usize, mut is_broken: impl FnMut(u64) -> bool) -> bool {
        let mut is_any = false;
        for mpdu in self.mpdus.range_mut(..span).filter(|mpdu| !mpdu.is_done) {
            mpdu.is_heard = !is_broken(mpdu.bytes);
            mpdu.has_arrived |= mpdu.is_heard;
            is_any |= mpdu.is_heard;
        }
        is_any
    }

    /// The receiver passes on what has arrived in order.
    pub(super) fn pass_on(&mut self, mut forward: impl FnMut(Packet)) {
        while let Some(mpdu) = self.mpdus.get_mut(self.passed_on)
            && mpdu.has_arrived
        {
            self.passed_on += 1;
            mpdu.first.take().into_iter().for_each(&mut forward);
            mpdu.others.drain(..).for_each(&mut forward);
        }
    }

    /// The RTS of a burst was answered. This resets the count of its tries, but not that of the
    /// frame's tries.
    pub(super) fn clear(&mut self, span: usize) {
        for mpdu in self.mpdus.range_mut(..span) {
            mpdu.failures[Try::Short as usize] = 0;
        }
    }

    /// An exchange is over: `acknowledged` tells whether the sender learned what has arrived of the
    /// burst. The rest has failed once more, and is discarded after `limits`. Returns how many are
    /// acknowledged, and whether any was given up.
    pub(super) fn settle(
        &mut self,
        span: usize,
        acknowledged: bool,
        what: Try,
        limits: &TryLimits,
        mut discard: impl FnMut(Packet),
    ) -> (u32, bool) {
        let limit = match what {
            Try::Short => limits.short,
            Try::Long => limits.long,
        };
        let (mut arrived, mut is_any) = (0, false);
        for mpdu in self.mpdus.range_mut(..span).filter(|mpdu| !mpdu.is_done) {
            if std::mem::take(&mut mpdu.is_heard) && acknowledged {
                mpdu.is_done = true;
                self.unsent_bytes -= padded(mpdu.bytes);
                arrived += 1;
                continue;
            }
            let failures = &mut mpdu.failures[what as usize];
            *failures += 1;
            if limit.is_some_and(|limit| *failures >= limit) {
                is_any = true;
                mpdu.is_done = true;
                self.unsent_bytes -= padded(mpdu.bytes);
                if !mpdu.has_arrived {
                    mpdu.has_arrived = true;
                    mpdu.first.take().into_iter().for_each(&mut discard);
                    mpdu.others.drain(..).for_each(&mut discard);
                }
            }
        }
        (arrived, is_any)
    }

    /// Removes the MPDUs that are done, up to the first that is not, and returns how many. The
    /// receiver must have passed them on.
    pub(super) fn advance(&mut self) -> usize {
        let before = self.mpdus.len();
        while self.passed_on > 0 && self.mpdus.front().is_some_and(|mpdu| mpdu.is_done) {
            self.mpdus.pop_front();
            self.passed_on -= 1;
        }
        before - self.mpdus.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Bench;

    const LIMITS: TryLimits = TryLimits {
        short: Some(2),
        long: Some(4),
    };

    struct Scene {
        bench: Bench,
        window: Window,
    }

    impl Scene {
        fn new(packets: usize) -> Self {
            let mut bench = Bench::new();
            let flow = bench.flow(0);
            let mut window = Window::default();
            for _ in 0..packets {
                window.push(bench.packet(flow, 1000), 38);
            }
            Self { bench, window }
        }

        /// The numbers of the packets that the receiver passes on if these of the burst arrive.
        fn arrive(&mut self, arrives: &[bool]) -> Vec<u64> {
            let mut fates = arrives.iter();
            let span = self.window.len();
            (self.window).receive(span, |_| !fates.next().expect("one for each"));
            self.pass_on()
        }

        fn pass_on(&mut self) -> Vec<u64> {
            let mut passed = Vec::new();
            self.window.pass_on(|packet| passed.push(packet));
            let numbers = passed.iter().map(|packet| packet.seq).collect();
            for packet in passed {
                self.bench.end(packet);
            }
            numbers
        }

        /// The numbers of those given up.
        fn settle(&mut self, acknowledged: bool) -> Vec<u64> {
            let mut lost = Vec::new();
            let span = self.window.len();
            let note = |packet| lost.push(packet);
            (self.window).settle(span, acknowledged, Try::Short, &LIMITS, note);
            let numbers = lost.iter().map(|packet| packet.seq).collect();
            for packet in lost {
                self.bench.end(packet);
            }
            numbers
        }
    }

    #[test]
    fn what_arrives_before_an_earlier_packet_waits_for_it() {
        let mut scene = Scene::new(4);
        assert_eq!(scene.arrive(&[true, false, true, true]), [0]);
        assert!(scene.settle(true).is_empty());
        scene.window.advance();
        assert_eq!(scene.window.len(), 3, "the first is done");
        assert_eq!(scene.window.unsent(1), None);
        assert_eq!(scene.arrive(&[true]), [1, 2, 3]);
        scene.settle(true);
        scene.window.advance();
        assert!(scene.window.is_empty());
    }

    #[test]
    fn a_packet_that_is_given_up_lets_the_later_ones_pass() {
        let mut scene = Scene::new(3);
        assert!(scene.arrive(&[false, true, true]).is_empty());
        assert!(scene.settle(true).is_empty());
        assert!(scene.arrive(&[false]).is_empty());
        assert_eq!(scene.settle(true), [0]);
        assert_eq!(scene.pass_on(), [1, 2]);
        scene.window.advance();
        assert!(scene.window.is_empty());
    }

    #[test]
    fn a_lost_acknowledgement_repeats_a_packet_that_is_passed_on_once() {
        let mut scene = Scene::new(1);
        assert_eq!(scene.arrive(&[true]), [0]);
        assert!(scene.settle(false).is_empty());
        scene.window.advance();
        assert_eq!(scene.window.unsent(0), Some(1038));
        assert!(scene.arrive(&[true]).is_empty());
        assert!(scene.settle(false).is_empty(), "it has arrived");
        scene.window.advance();
        assert!(scene.window.is_empty());
    }

    #[test]
    fn packets_share_an_mpdu_up_to_the_limit() {
        let mut scene = Scene::new(3);
        assert!(!scene.window.merge_last(2000));
        assert!(scene.window.merge_last(3000));
        assert_eq!(scene.window.unsent(0), Some(1038));
        // Two subframes of 1022 B, the first padded to 1024, in a header of 26 B and FCS.
        assert_eq!(scene.window.unsent(1), Some(26 + 1024 + 1022 + 4));
        assert_eq!(scene.arrive(&[true, true]), [0, 1, 2]);
    }
}
