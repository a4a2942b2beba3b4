//! Segmentation offload: a sender hands down bursts of segments, not single ones (TSO, GSO).
//!
//! A window that opens a little waits until there is room for a whole burst. The size of a burst
//! is what Linux documents (ip-sysctl):
//!
//! - what the pacing rate carries in 1/1024 s, plus the largest burst, halved for each 512 µs of
//!   the least round-trip time (`tcp_tso_rtt_log`): near hosts send larger bursts;
//! - at least two segments (`tcp_min_tso_segs`);
//! - at most a third of the window (`tcp_tso_win_divisor`), and the largest burst of the host.
//!
//! The end of what is to be sent, and a sender with nothing in flight, do not wait.
//!
//! Deviation: the network sees the segments of a burst one after the other, as behind a network
//! card that cuts bursts up or a queue that does. A queue that takes a burst as one packet is not
//! modelled. Nor does the receiver acknowledge a burst as one.

use crate::time::Duration;
use crate::units::Rate;

/// Bursts of a pacing rate, a second.
const BURSTS: u32 = 1024;
/// By so much round-trip time the part of near hosts halves.
const HALVING: Duration = Duration::from_micros(512);
/// The fewest segments of a burst, and the part of a window that a burst is at most.
const FEWEST: u64 = 2;
const PART_OF_WINDOW: u64 = 3;

/// What a sender has to hand down.
#[derive(Debug, Clone, Copy)]
pub(super) struct Supply {
    /// Bytes that the windows have room for.
    pub(super) room: u64,
    /// Bytes that are ready to be sent.
    pub(super) ready: u64,
    /// The window, in bytes.
    pub(super) window: u64,
    /// Whether nothing is in flight.
    pub(super) is_idle: bool,
    /// The rate at which it sends, once the round-trip time is known.
    pub(super) rate: Option<Rate>,
    /// The least round-trip time.
    pub(super) min_rtt: Option<Duration>,
}

/// The bursts of one sender.
#[derive(Debug)]
pub(super) struct Offload {
    /// Bytes of a full segment.
    mss: u64,
    /// The largest burst, in bytes; less than two segments: no bursts.
    largest: u64,
    /// Bytes of the present burst that have not been handed down.
    left: u64,
}

impl Offload {
    /// Bursts of at most `largest` bytes.
    pub(super) const fn new(mss: u64, largest: u64) -> Self {
        Self {
            mss,
            largest,
            left: 0,
        }
    }

    /// Whether segments are handed down in bursts.
    #[inline]
    pub(super) const fn is_on(&self) -> bool {
        self.largest >= FEWEST * self.mss
    }

    /// Whether the next new segment waits for room for a whole burst.
    pub(super) fn waits(&mut self, supply: &Supply) -> bool {
        if self.left > 0 {
            return false;
        }
        let burst = self.burst(supply);
        if supply.room < burst.min(supply.ready) && !supply.is_idle {
            return true;
        }
        self.left = burst;
        false
    }

    /// A new segment of `payload` bytes has been handed down.
    pub(super) fn sent(&mut self, payload: u64) {
        self.left = self.left.saturating_sub(payload);
    }

    /// The window has no room for more of the burst.
    pub(super) fn ended(&mut self) {
        self.left = 0;
    }

    /// Bytes of the next burst, in whole segments.
    fn burst(&self, supply: &Supply) -> u64 {
        let paced = supply.rate.map_or(0, |rate| rate.0 / 8 / u64::from(BURSTS));
        let near = supply.min_rtt.map_or(0, |rtt| {
            let halvings = rtt.as_nanos() / HALVING.as_nanos();
            self.largest
                .checked_shr(halvings.min(64) as u32)
                .unwrap_or(0)
        });
        let burst = (paced + near).max(FEWEST * self.mss);
        let burst = burst.min(self.largest).min(supply.window / PART_OF_WINDOW);
        (burst / self.mss * self.mss).max(self.mss)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1448;

    fn supply(room: u64, window: u64) -> Supply {
        Supply {
            room: room * MSS,
            ready: u64::MAX,
            window: window * MSS,
            is_idle: false,
            rate: Some(Rate(100_000_000)),
            min_rtt: Some(Duration::from_millis(20)),
        }
    }

    #[test]
    fn a_burst_is_a_millisecond_of_the_rate_and_waits_for_its_room() {
        let mut offload = Offload::new(MSS, 64 << 10);
        // 100 Mbit/s / 1024 = 12 207 B: eight segments.
        assert!(offload.waits(&supply(7, 100)));
        assert!(!offload.waits(&supply(8, 100)));
        for _ in 0..8 {
            assert!(!offload.waits(&supply(1, 100)), "the burst has begun");
            offload.sent(MSS);
        }
        assert!(offload.waits(&supply(7, 100)));
    }

    #[test]
    fn near_hosts_send_larger_bursts_and_small_windows_smaller_ones() {
        let offload = Offload::new(MSS, 65_226);
        let burst = |rtt, window| {
            let min_rtt = Some(Duration::from_micros(rtt));
            offload.burst(&Supply {
                min_rtt,
                ..supply(0, window)
            }) / MSS
        };
        assert_eq!(burst(400, 300), 45, "the largest: 45 segments");
        assert_eq!(burst(600, 300), (12_207 + 65_226 / 2) / MSS);
        assert_eq!(burst(20_000, 300), 8);
        assert_eq!(burst(20_000, 12), 4, "a third of the window");
        assert_eq!(burst(20_000, 2), 1);
    }

    #[test]
    fn the_end_of_a_stream_and_a_sender_with_nothing_in_flight_do_not_wait() {
        let mut offload = Offload::new(MSS, 64 << 10);
        let end = Supply {
            ready: 2 * MSS,
            ..supply(2, 100)
        };
        assert!(!offload.waits(&end));
        let mut offload = Offload::new(MSS, 64 << 10);
        let idle = Supply {
            is_idle: true,
            ..supply(1, 100)
        };
        assert!(!offload.waits(&idle));
    }
}
