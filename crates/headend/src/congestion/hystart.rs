//! Ends the first slow start before it overshoots: HyStart (Ha and Rhee 2011) and HyStart++ (RFC
//! 9406).
//!
//! - Both detect a queue by the round-trip time: the smallest of a round trip's first eight samples
//!   has grown by more than an eighth, where this threshold is at least 4 ms and at most 16 ms.
//! - HyStart also ends slow start by the length of a train of acknowledgements. If acknowledgements
//!   that follow each other closely from the start of a round trip span half of the smallest
//!   round-trip time, then as many segments are in flight as the path holds in one direction. A gap
//!   ends the train until the next round trip.
//! - HyStart ends slow start at once and permanently. HyStart++ grows four times more slowly for
//!   five round trips (Conservative Slow Start), and returns to slow start if the round-trip time
//!   falls again.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::AckSample;
use crate::time::{Duration, Instant};

/// How the first slow start may end without a loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HyStart {
    /// Only by a loss.
    #[default]
    Off,
    /// As in Ha and Rhee 2011: by the length of trains of acknowledgements, and by delay.
    Original,
    /// As in RFC 9406: by delay, after a phase of slower growth.
    PlusPlus,
}

/// RFC 9406 §4.3: `MIN_RTT_THRESH`, `MAX_RTT_THRESH`, `MIN_RTT_DIVISOR`, `N_RTT_SAMPLE`,
/// `CSS_GROWTH_DIVISOR`, `CSS_ROUNDS`.
const MIN_RTT_THRESH: Duration = Duration::from_millis(4);
const MAX_RTT_THRESH: Duration = Duration::from_millis(16);
const MIN_RTT_DIVISOR: u64 = 8;
const N_RTT_SAMPLE: u32 = 8;
pub(super) const CSS_GROWTH_DIVISOR: u64 = 4;
const CSS_ROUNDS: u64 = 5;
/// Ha and Rhee 2011, §4.2: acknowledgements with smaller gaps belong to one train; with windows of
/// fewer segments, slow start does not end.
const TRAIN_GAP: Duration = Duration::from_millis(2);
const LOW_WINDOW: u64 = 16;

/// How slow start reacts to an acknowledgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pace {
    /// The window grows.
    Full,
    /// The window grows by a part: divided by [`CSS_GROWTH_DIVISOR`].
    Conservative,
    /// Slow start ends.
    Stop,
}

/// The state of HyStart or HyStart++.
#[derive(Debug)]
pub(super) struct Watch {
    is_plus_plus: bool,
    round: u64,
    last_round_min: Option<Duration>,
    round_min: Option<Duration>,
    samples: u32,
    /// In Conservative Slow Start: the round-trip time that started it, and the round trip in which
    /// it started.
    conservative: Option<(Duration, u64)>,
    /// The train of acknowledgements that began with the round trip: the times of its first and its
    /// latest acknowledgement.
    train: (Instant, Instant),
}

impl Watch {
    /// `None` if HyStart is off.
    pub(super) fn new(mode: HyStart) -> Option<Self> {
        (mode != HyStart::Off).then(|| Self {
            is_plus_plus: mode == HyStart::PlusPlus,
            round: 0,
            last_round_min: None,
            round_min: None,
            samples: 0,
            conservative: None,
            train: (Instant::ZERO, Instant::ZERO),
        })
    }

    /// Handles an acknowledgement in slow start with a window of `cwnd`.
    pub(super) fn on_ack(&mut self, ack: &AckSample, cwnd: u64) -> Pace {
        if ack.round > self.round {
            self.round = ack.round;
            self.last_round_min = self.round_min.take();
            self.samples = 0;
            self.train = (ack.now, ack.now);
        }
        if let Some(rtt) = ack.rtt {
            self.round_min = Some(self.round_min.map_or(rtt, |min| min.min(rtt)));
            self.samples += 1;
        }
        if self.is_plus_plus {
            self.pace_of_plus_plus()
        } else if cwnd >= LOW_WINDOW * ack.mss && (self.train_is_long(ack) || self.has_grown()) {
            Pace::Stop
        } else {
            Pace::Full
        }
    }

    /// RFC 9406 §4.2.
    fn pace_of_plus_plus(&mut self) -> Pace {
        if let Some((baseline, since)) = self.conservative {
            let fell = self.round_min.is_some_and(|min| min < baseline);
            if self.samples >= N_RTT_SAMPLE && fell {
                self.conservative = None;
            } else if self.round >= since + CSS_ROUNDS {
                return Pace::Stop;
            }
        } else if self.has_grown()
            && let Some(baseline) = self.round_min
        {
            self.conservative = Some((baseline, self.round));
        }
        if self.conservative.is_some() {
            Pace::Conservative
        } else {
            Pace::Full
        }
    }

    fn has_grown(&self) -> bool {
        let (Some(last), Some(now)) = (self.last_round_min, self.round_min) else {
            return false;
        };
        let threshold = (last / MIN_RTT_DIVISOR)
            .min(MAX_RTT_THRESH)
            .max(MIN_RTT_THRESH);
        self.samples >= N_RTT_SAMPLE && now >= last + threshold
    }

    fn train_is_long(&mut self, ack: &AckSample) -> bool {
        let (start, latest) = self.train;
        if ack.now.since(latest) > TRAIN_GAP {
            return false;
        }
        self.train.1 = ack.now;
        ack.min_rtt
            .is_some_and(|min| ack.now.since(start) > min / 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    fn ack(round: u64, ms: u64, rtt_ms: u64) -> AckSample {
        AckSample {
            now: Instant::from_nanos(ms * 1_000_000),
            newly_acked: MSS,
            rtt: Some(Duration::from_millis(rtt_ms)),
            min_rtt: Some(Duration::from_millis(100)),
            round,
            mss: MSS,
            ..AckSample::default()
        }
    }

    /// A round trip of `count` acknowledgements 5 ms apart, which form no train. Returns the result
    /// of the last one.
    fn round(watch: &mut Watch, round: u64, count: u64, rtt_ms: u64) -> Pace {
        let answers =
            (0..count).map(|n| watch.on_ack(&ack(round, 1000 * round + 5 * n, rtt_ms), 20 * MSS));
        answers.last().expect("some")
    }

    #[test]
    fn it_can_be_switched_off() {
        assert!(Watch::new(HyStart::Off).is_none());
    }

    #[test]
    fn a_round_trip_that_grows_by_an_eighth_ends_slow_start() {
        let mut watch = Watch::new(HyStart::Original).expect("on");
        assert_eq!(round(&mut watch, 1, 10, 100), Pace::Full);
        assert_eq!(round(&mut watch, 2, 10, 112), Pace::Full);
        // An eighth of 112 ms is 14 ms.
        assert_eq!(
            round(&mut watch, 3, 7, 126),
            Pace::Full,
            "seven samples are too few"
        );
        assert_eq!(round(&mut watch, 3, 1, 126), Pace::Stop);
    }

    #[test]
    fn the_threshold_is_4_to_16_milliseconds() {
        for (last, now, pace) in [
            (10, 13, Pace::Full),
            (10, 14, Pace::Stop),
            (400, 415, Pace::Full),
            (400, 416, Pace::Stop),
        ] {
            let mut watch = Watch::new(HyStart::Original).expect("on");
            round(&mut watch, 1, 10, last);
            assert_eq!(round(&mut watch, 2, 10, now), pace, "{last} to {now} ms");
        }
    }

    #[test]
    fn a_train_of_acknowledgements_over_half_a_round_trip_ends_slow_start() {
        let mut watch = Watch::new(HyStart::Original).expect("on");
        let mut answers = (0..60).map(|n| watch.on_ack(&ack(1, 1000 + n, 100), 20 * MSS));
        assert_eq!(answers.position(|pace| pace == Pace::Stop), Some(51));
        let mut watch = Watch::new(HyStart::Original).expect("on");
        assert!((0..60).all(|n| watch.on_ack(&ack(1, 1000 + n, 100), 15 * MSS) == Pace::Full));
    }

    #[test]
    fn a_gap_ends_the_train_for_the_rest_of_the_round() {
        let mut watch = Watch::new(HyStart::Original).expect("on");
        let mut pace = |round, ms| watch.on_ack(&ack(round, ms, 100), 20 * MSS);
        assert!((0..10).all(|n| pace(1, 1000 + n) == Pace::Full));
        assert!((0..70).all(|n| pace(1, 1012 + n) == Pace::Full), "3 ms");
        assert_eq!(
            (0..70).position(|n| pace(2, 1100 + n) == Pace::Stop),
            Some(51)
        );
    }

    #[test]
    fn plus_plus_slows_down_for_five_rounds_and_returns_if_the_delay_was_jitter() {
        let mut watch = Watch::new(HyStart::PlusPlus).expect("on");
        assert_eq!(round(&mut watch, 1, 10, 100), Pace::Full);
        assert_eq!(round(&mut watch, 2, 10, 120), Pace::Conservative);
        assert_eq!(
            round(&mut watch, 3, 10, 119),
            Pace::Full,
            "below the baseline"
        );
        assert_eq!(round(&mut watch, 4, 10, 140), Pace::Conservative);
        for later in 5..9 {
            assert_eq!(round(&mut watch, later, 10, 141), Pace::Conservative);
        }
        assert_eq!(round(&mut watch, 9, 10, 141), Pace::Stop);
    }
}
