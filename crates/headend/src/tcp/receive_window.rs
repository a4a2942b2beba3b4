//! The window that a receiver offers: of a fixed size, or tuned to what arrives.
//!
//! Tuning follows dynamic right-sizing (Fisk and Feng 2001): a receiver that offers twice what
//! arrives in a round trip never limits a sender that doubles its window each round trip. What that
//! paper leaves open is as in Linux 6.18, measured on plain links (its window after each
//! acknowledgement) and documented with its `tcp_rmem`:
//!
//! - The buffer is 128 KiB at first, and the first window 65535 bytes. Each segment that arrives,
//!   in order or, with SACK, behind a gap, opens the window by two segments, up to what the buffer
//!   can hold.
//! - Once a round trip, the bytes that arrived in it are counted. If they are more than in any
//!   round trip before, the buffer grows to hold `2·new·(1 + 2·(new − old)/old)`, but not beyond
//!   `receive_buffer`. It never shrinks.
//! - A segment takes more memory than its bytes: 158 of 256 parts of a buffer can be offered.
//!
//! Simpler than in life: data behind a gap takes no room in the buffer.

use crate::time::{Duration, Instant};

/// The first window, in bytes, where it is tuned.
const FIRST_WINDOW: u64 = 65_535;
/// The first buffer, in bytes.
const FIRST_BUFFER: u64 = 131_072;
/// Segments assumed to have arrived in the round trip before the first: an initial window (RFC
/// 6928).
const FIRST_ROUND: u64 = 10;
/// Segments by which an arriving one opens the window.
const SEGMENTS_PER_ARRIVAL: u64 = 2;
/// Segments of fewer bytes do not open the window.
const LEAST_SEGMENT: u64 = 128;
/// The largest window that can be offered (RFC 7323 §2.3).
pub(super) const LARGEST_WINDOW: u64 = 1 << 30;

/// The bytes that can be offered of a buffer of so many.
pub(super) fn window_of(buffer: u64) -> u64 {
    (u128::from(buffer) * 158 / 256).min(u128::from(LARGEST_WINDOW)) as u64
}

/// What a receiver may offer, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Offer {
    /// The same from the start.
    Fixed(u64),
    /// Tuned to what arrives, up to so many.
    Tuned { most: u64 },
}

impl Offer {
    /// Its first window.
    pub(super) fn first(self) -> u64 {
        match self {
            Self::Fixed(bytes) => bytes,
            Self::Tuned { most } => FIRST_WINDOW.min(most),
        }
    }

    /// Its largest.
    pub(super) fn most(self) -> u64 {
        match self {
            Self::Fixed(bytes) | Self::Tuned { most: bytes } => bytes,
        }
    }
}

/// The window that a receiver offers.
#[derive(Debug)]
pub(super) struct ReceiveWindow {
    /// Bytes offered beyond what is acknowledged.
    offered: u64,
    /// How it is tuned, if it is.
    tuning: Option<Tuning>,
}

/// The state of right-sizing; sizes in bytes.
#[derive(Debug)]
struct Tuning {
    mss: u64,
    /// The window that the present buffer can hold, and that of the largest buffer.
    limit: u64,
    most: u64,
    /// The round-trip time as the receiver sees it, and the latest timestamp echo from which it was
    /// taken.
    rtt: Option<Duration>,
    echo: Instant,
    /// The sequence number and the time at which the present count began; `None` before the first
    /// segment.
    counted_from: u64,
    counted_since: Option<Instant>,
    /// The most bytes that arrived in a round trip.
    round: u64,
}

impl ReceiveWindow {
    /// The first window of an offer, to a sender of segments of `mss` bytes.
    pub(super) fn new(offer: Offer, mss: u64) -> Self {
        let tuning = match offer {
            Offer::Fixed(_) => None,
            Offer::Tuned { most } => Some(Tuning {
                mss,
                limit: window_of(FIRST_BUFFER).min(most),
                most,
                rtt: None,
                echo: Instant::ZERO,
                counted_from: 0,
                counted_since: None,
                round: FIRST_ROUND * mss,
            }),
        };
        Self {
            offered: offer.first(),
            tuning,
        }
    }

    /// Bytes it offers.
    #[inline]
    pub(super) fn offered(&self) -> u64 {
        self.offered
    }

    /// A segment of `bytes` has arrived for the first time. Returns whether the window opens.
    #[inline]
    pub(super) fn open(&mut self, bytes: u64) -> bool {
        let Some(tuning) = &self.tuning else {
            return false;
        };
        if self.offered >= tuning.limit || bytes < LEAST_SEGMENT {
            return false;
        }
        let wider = self.offered + SEGMENTS_PER_ARRIVAL * tuning.mss;
        self.offered = wider.min(tuning.limit);
        true
    }

    /// All up to `next` has arrived and is read; the segment that arrived last echoed the timestamp
    /// `echo`.
    #[inline]
    pub(super) fn measure(&mut self, next: u64, echo: Instant, now: Instant) {
        if let Some(tuning) = &mut self.tuning {
            tuning.note_echo(echo, now);
            tuning.count(next, now);
        }
    }

    /// The round-trip time of the handshake, which stands where there are no timestamps.
    pub(super) fn handshake(&mut self, rtt: Duration) {
        if let Some(tuning) = &mut self.tuning {
            tuning.rtt = Some(rtt);
        }
    }
}

impl Tuning {
    /// A smaller round-trip time counts at once, a larger one by an eighth, as segments that arrive
    /// in a bunch are late.
    fn note_echo(&mut self, echo: Instant, now: Instant) {
        if echo <= self.echo {
            return;
        }
        self.echo = echo;
        let sample = now.since(echo);
        self.rtt = Some(match self.rtt {
            Some(rtt) if sample > rtt => {
                Duration::from_nanos((7 * rtt.as_nanos() + sample.as_nanos()) / 8)
            }
            _ => sample,
        });
    }

    fn count(&mut self, next: u64, now: Instant) {
        let Some(since) = self.counted_since else {
            self.counted_since = Some(now);
            return;
        };
        if self.rtt.is_none_or(|rtt| now.since(since) < rtt) {
            return;
        }
        let come = next - self.counted_from;
        (self.counted_from, self.counted_since) = (next, Some(now));
        if come <= self.round {
            return;
        }
        let twice = 2 * come;
        let more = u128::from(twice) * 2 * u128::from(come - self.round);
        let more = (more / u128::from(self.round)).min(u128::from(LARGEST_WINDOW)) as u64;
        self.round = come;
        self.limit = self.limit.max((twice + more).min(self.most));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1448;

    fn at(us: u64) -> Instant {
        Instant::from_nanos(us * 1000)
    }

    fn tuned(most: u64) -> ReceiveWindow {
        ReceiveWindow::new(Offer::Tuned { most }, MSS)
    }

    #[test]
    fn a_fixed_window_stays() {
        let offer = Offer::Fixed(64_000);
        let mut window = ReceiveWindow::new(offer, MSS);
        assert!(!window.open(MSS));
        window.measure(1_000_000, at(1), at(100_000));
        assert_eq!((window.offered(), offer.most()), (64_000, 64_000));
    }

    /// Linux 6.18 at 10 Mbit/s and 20 ms, from a capture: after the first segments it offers 47.4,
    /// 49.5, 51.6, 53.0, 55.2 and 55.9 segments, as many up to the 32nd, and with the next
    /// thirty-one two more each, up to 117.4.
    #[test]
    fn it_opens_as_linux_does_at_10_megabits_and_20_milliseconds() {
        // When each segment came: ten at first, and from the second round trip on two for each that
        // was acknowledged, so that a queue builds.
        let came = |number: u64| match number {
            0..=9 => 32_700 + 1200 * number,
            _ => 54_100 + 1200 * (number - 10),
        };
        let echoed = |number: u64| match number {
            0..=9 => 10_600,
            _ => came((number - 10) / 2),
        };
        let mut window = tuned(20 << 20);
        assert_eq!(window.offered(), 65_535);
        let mut arrive = |number| {
            let opens = window.open(MSS);
            window.measure((number + 1) * MSS, at(echoed(number)), at(came(number)));
            (window.offered() as f64 / MSS as f64, opens)
        };
        let (offered, opens): (Vec<f64>, Vec<bool>) = (0..100).map(&mut arrive).unzip();
        // In the capture the second opening begins a segment later, and takes the next thirty-one.
        let opening: Vec<usize> = (0..55).filter(|&number| opens[number]).collect();
        assert_eq!(opening, (0..6).chain(31..55).collect::<Vec<_>>());
        // The capture's windows are whole KiB.
        let close = |number: usize, segments: f64| {
            (offered[number] - segments).abs() < 1024.0 / MSS as f64 + 0.01 * segments
        };
        // A segment fewer is counted in this round trip than in the capture's, and a segment is a
        // twentieth.
        assert!((offered[99] / 117.4 - 1.0).abs() < 0.1, "{offered:?}");
        for (number, segments) in [(0, 47.4), (5, 55.9), (30, 55.9), (31, 58.0)] {
            assert!(close(number, segments), "{number}: {offered:?}");
        }
    }

    #[test]
    fn it_never_offers_more_than_its_buffer_holds_nor_less_than_before() {
        assert_eq!(window_of(256 << 10), 158 << 10);
        let most = 158 << 10;
        let mut window = tuned(most);
        let mut before = 0;
        for round in 0..20 {
            // Two hundred segments in each round trip of 20 ms.
            for number in 200 * round..200 * (round + 1) {
                let now = 32_000 + 100 * number;
                window.open(MSS);
                window.measure((number + 1) * MSS, at(now - 20_000), at(now));
            }
            assert!((before..=most).contains(&window.offered()));
            before = window.offered();
        }
        assert_eq!(before, most);
    }

    #[test]
    fn short_segments_open_nothing() {
        let mut window = tuned(20 << 20);
        assert!(!window.open(127));
        assert!(window.open(128));
    }
}
