//! The rule by which cake-autorate sets the rate of one direction from delays and load.
//!
//! - The *baseline* is the delay without a queue: a moving average that falls at once and rises
//!   hardly at all. What a probe needs beyond it is its *delta*.
//! - A delta above the threshold is late. With three late ones of the last six, packets wait
//!   somewhere behind the router: the rate falls, by 1 % if the deltas' mean is at the threshold,
//!   by 25 % from 30 ms (the threshold of the configuration) above it on. For 300 ms after that the
//!   rate is neither cut again nor raised.
//! - Otherwise, while more than three quarters of the rate are used, the rate rises with each new
//!   reading of the load: by 4 % if the mean delta is below 10 ms, and not at all from the
//!   threshold on.
//! - Otherwise the rate returns to its base, by 1 % a second.
//!
//! The threshold grows by the time that the largest packet takes at the rate.
//!
//! Source: the README of cake-autorate 3.2, and the descriptions of the parameters in its
//! configuration file, whose numbers these are.

use std::collections::VecDeque;

use crate::time::{Duration, Instant};
use crate::units::Rate;

/// How much of a probe's delay counts for the baseline, if it is above the baseline, or below it.
const BASELINE_RISES: f64 = 0.001;
const BASELINE_FALLS: f64 = 0.9;
/// Probes that are looked at, and how many of them are late when packets wait.
const WINDOW: usize = 6;
const LATE: usize = 3;
/// Factors of the rate when packets wait: at the threshold, and from twice the threshold on.
const LEAST_CUT: f64 = 0.99;
const LARGEST_CUT: f64 = 0.75;
/// Factor of the rate under load, up to this mean delta; there is none at the threshold.
const LARGEST_RISE: f64 = 1.04;
const RISES_UP_TO: Duration = Duration::from_millis(10);
/// The load is high above this share of the rate.
const HIGH_LOAD: f64 = 0.75;
/// Factors of the rate on its way back to the base.
const DECAY_DOWN: f64 = 0.99;
const DECAY_UP: f64 = 1.01;
/// How long the rate stays after a cut, and between two steps towards the base.
const AFTER_CUT: Duration = Duration::from_millis(300);
const BETWEEN_DECAYS: Duration = Duration::from_secs(1);
/// IP bytes of the largest packet.
const PACKET: u64 = 1500;

/// Where the rate of a direction may be.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(deny_unknown_fields)]
pub struct Bounds {
    /// The lowest rate: what the line carries at its worst.
    pub minimum: Rate,
    /// The rate at the start, and after a while without load.
    pub base: Rate,
    /// The highest rate: what the line carries at its best.
    pub maximum: Rate,
}

/// The state of one direction.
#[derive(Debug)]
pub(super) struct Rule {
    bounds: Bounds,
    threshold: Duration,
    rate: f64,
    baseline: Option<f64>,
    /// The deltas of the last probes in ns, and whether each was late.
    recent: VecDeque<(f64, bool)>,
    /// Whether the load is high, and whether that reading has not raised the rate yet.
    is_high: bool,
    is_new: bool,
    cut_at: Option<Instant>,
    decayed_at: Option<Instant>,
}

impl Rule {
    pub(super) fn new(bounds: Bounds, threshold: Duration) -> Self {
        Self {
            bounds,
            threshold,
            rate: bounds.base.0 as f64,
            baseline: None,
            recent: VecDeque::with_capacity(WINDOW + 1),
            is_high: false,
            is_new: false,
            cut_at: None,
            decayed_at: None,
        }
    }

    /// The rate now.
    pub(super) fn rate(&self) -> Rate {
        Rate(self.rate.round() as u64)
    }

    /// Takes a reading of the load: so many bytes in `span`.
    pub(super) fn note_load(&mut self, bytes: u64, span: Duration) {
        let load = bytes as f64 * 8.0 / span.as_secs_f64() / self.rate;
        (self.is_high, self.is_new) = (load > HIGH_LOAD, true);
    }

    /// Takes the one-way delay of a probe that has come back at `now`, and adapts the rate.
    pub(super) fn note_delay(&mut self, delay: Duration, now: Instant) {
        let threshold = self.threshold + self.rate().time_for(PACKET);
        let [threshold, largest] = [threshold, threshold + self.threshold].map(nanos);
        let delta = self.delta(nanos(delay));
        self.recent.push_back((delta, delta > threshold));
        if self.recent.len() > WINDOW {
            self.recent.pop_front();
        }
        let late = self.recent.iter().filter(|&&(_, is_late)| is_late).count();
        let sum: f64 = self.recent.iter().map(|&(delta, _)| delta).sum();
        let mean = sum / self.recent.len() as f64;
        let is_recent = |at: Option<Instant>, span| at.is_some_and(|at| now < at + span);
        let after_cut = is_recent(self.cut_at, AFTER_CUT);
        if late >= LATE {
            if !after_cut {
                let far = share_of_way(mean, (threshold, largest));
                self.scale(LEAST_CUT + (LARGEST_CUT - LEAST_CUT) * far);
                self.cut_at = Some(now);
            }
        } else if self.is_high {
            if !after_cut && std::mem::take(&mut self.is_new) {
                let from = nanos(RISES_UP_TO).min(threshold);
                let far = share_of_way(mean, (from, threshold));
                self.scale(LARGEST_RISE + (1.0 - LARGEST_RISE) * far);
            }
        } else if !is_recent(self.decayed_at, BETWEEN_DECAYS) {
            self.decay();
            self.decayed_at = Some(now);
        }
    }

    /// What a delay is above the baseline, which follows it.
    fn delta(&mut self, delay: f64) -> f64 {
        let before = self.baseline.unwrap_or(delay);
        let weight = if delay > before {
            BASELINE_RISES
        } else {
            BASELINE_FALLS
        };
        let baseline = before + weight * (delay - before);
        self.baseline = Some(baseline);
        delay - baseline
    }

    /// A step towards the base.
    fn decay(&mut self) {
        let base = self.bounds.base.0 as f64;
        self.rate = if self.rate > base {
            (self.rate * DECAY_DOWN).max(base)
        } else {
            (self.rate * DECAY_UP).min(base)
        };
    }

    fn scale(&mut self, factor: f64) {
        let Bounds {
            minimum, maximum, ..
        } = self.bounds;
        self.rate = (self.rate * factor).clamp(minimum.0 as f64, maximum.0 as f64);
    }
}

fn nanos(span: Duration) -> f64 {
    span.as_nanos() as f64
}

/// How far `value` is on the way between two others: 0 at the first and before it, 1 from the
/// second on.
fn share_of_way(value: f64, (from, to): (f64, f64)) -> f64 {
    if value >= to {
        return 1.0;
    }
    ((value - from) / (to - from)).clamp(0.0, 1.0)
}

/// Of the tests of this rule, and of the program that follows it.
#[cfg(test)]
pub(super) const BOUNDS: Bounds = Bounds {
    minimum: Rate(5_000_000),
    base: Rate(20_000_000),
    maximum: Rate(80_000_000),
};

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// A direction and its clock; a probe comes back every 50 ms.
    struct Scene {
        rule: Rule,
        now: Instant,
        probes: u64,
    }

    impl Scene {
        fn new() -> Self {
            Self {
                rule: Rule::new(BOUNDS, Duration::from_millis(30)),
                now: Instant::ZERO,
                probes: 0,
            }
        }

        /// So many probes of this one-way delay, while this share of the rate is used.
        fn probe(&mut self, count: u64, delay_ms: u64, load: f64) -> f64 {
            for _ in 0..count {
                if self.probes.is_multiple_of(4) {
                    let span = Duration::from_millis(200);
                    let bytes = self.rule.rate * load / 8.0 * span.as_secs_f64();
                    self.rule.note_load(bytes.round() as u64, span);
                }
                self.probes += 1;
                self.now += Duration::from_millis(50);
                let delay = Duration::from_nanos(delay_ms * MS);
                self.rule.note_delay(delay, self.now);
            }
            self.rule.rate / 1e6
        }
    }

    #[track_caller]
    fn check(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-4, "{found} for {expected}");
    }

    #[test]
    fn under_load_the_rate_rises_with_each_reading_up_to_the_maximum() {
        let mut scene = Scene::new();
        check(scene.probe(4, 20, 0.9), 20.0 * 1.04);
        check(scene.probe(4, 20, 0.9), 20.0 * 1.04 * 1.04);
        check(scene.probe(400, 20, 0.9), 80.0);
    }

    #[test]
    fn between_ten_milliseconds_and_the_threshold_it_rises_less() {
        let mut scene = Scene::new();
        scene.probe(8, 20, 0.1);
        let before = scene.probe(4, 40, 0.1);
        // All six deltas are near 20 ms, less what the baseline has risen: 0.2 ms. The threshold is
        // 30 ms and a packet of 0.6 ms.
        scene.probe(2, 40, 0.1);
        let after = scene.probe(2, 40, 0.9);
        check(after, before);
        let after = scene.probe(1, 40, 0.9) / before;
        let expected = 1.0 + 0.04 * (30.6 - 20.0) / (30.6 - 10.0);
        assert!((after - expected).abs() < 5e-4, "{after} for {expected}");
    }

    #[test]
    fn with_a_threshold_below_ten_milliseconds_it_rises_up_to_that() {
        let mut scene = Scene::new();
        scene.rule = Rule::new(BOUNDS, Duration::from_millis(4));
        scene.probe(5, 20, 0.1);
        let before = scene.probe(7, 23, 0.1);
        check(scene.probe(4, 23, 0.9) / before, 1.04);
    }

    #[test]
    fn three_late_probes_of_six_cut_the_rate_once_in_300_ms() {
        let mut scene = Scene::new();
        scene.probe(6, 20, 0.1);
        check(scene.probe(2, 220, 0.1), 20.0);
        // The mean delta of the window is 100 ms, above twice the threshold.
        check(scene.probe(1, 220, 0.1), 15.0);
        check(scene.probe(5, 220, 0.1), 15.0);
        check(scene.probe(1, 220, 0.1), 11.25);
        check(scene.probe(100, 220, 0.1), 5.0);
    }

    #[test]
    fn a_delay_just_above_the_threshold_costs_a_little() {
        let mut scene = Scene::new();
        scene.probe(6, 20, 0.1);
        let rate = scene.probe(3, 52, 0.1);
        check(rate, 20.0 * 0.99);
    }

    #[test]
    fn without_load_the_rate_returns_to_its_base() {
        let mut scene = Scene::new();
        scene.probe(80, 20, 0.9);
        let above = scene.rule.rate / 1e6;
        assert!(above > 40.0);
        check(scene.probe(20, 20, 0.1), above * 0.99);
        scene.probe(4000, 20, 0.1);
        check(scene.rule.rate / 1e6, 20.0);
    }

    #[test]
    fn the_baseline_falls_at_once_and_rises_hardly() {
        let mut scene = Scene::new();
        scene.probe(1, 50, 0.1);
        scene.probe(3, 20, 0.1);
        let baseline = scene.rule.baseline.expect("there were probes") / 1e6;
        assert!((baseline - 20.0).abs() < 0.1, "{baseline}");
        scene.probe(10, 120, 0.1);
        let baseline = scene.rule.baseline.expect("there were probes") / 1e6;
        assert!((baseline - 21.0).abs() < 0.1, "{baseline}");
    }
}
