//! Rate control: the mode in which a sender sends to a receiver, chosen by what has arrived.
//!
//! A sender with a single mode uses that. One with several does as Minstrel does in Linux, which
//! knows nothing of the signal and learns from acknowledgements:
//!
//! - Every 50 ms it averages the success ratio of each mode that it has used, the share of the
//!   MPDUs that arrived (a quarter of the average is of the last 50 ms), and chooses the mode with
//!   the largest product of rate and success ratio. A ratio above 90 % counts as 90 %, and one
//!   below 10 % as nothing.
//! - After two frames without any answer it takes the second best mode for two, then the most
//!   reliable one for two, then the slowest.
//! - Every 20 ms a frame of one MPDU probes another mode: in turn the next faster one, any faster
//!   one, and any slower one while more than 5 % of the best one's MPDUs break.
//!
//! Source: the description of Minstrel-HT by its authors (F. Fietkau and D. Smithies, Linux
//! wireless documentation), with the periods and limits of Linux. Linux computes the airtime of a
//! frame where this takes the rate, and groups modes by width and streams for its probes.

use super::exchange::{Around, Chosen};
use super::phy::Mode;
use super::setup::{Radio, Rules};
use crate::metrics::rate_control::{Attempts, ModeUse};
use crate::rng::Rng;
use crate::time::{Duration, Instant};

/// How often a sender ranks its modes anew.
const UPDATE: Duration = Duration::from_millis(50);
/// How often it probes another mode.
const PROBE: Duration = Duration::from_millis(20);
/// Weight of the last 50 ms in an average.
const WEIGHT: f64 = 0.25;
/// A larger success ratio counts as this.
const SUCCESS_CAP: f64 = 0.9;
/// A smaller success ratio counts as nothing.
const SUCCESS_FLOOR: f64 = 0.1;
/// A mode with a larger success ratio is reliable.
const RELIABLE: f64 = 0.75;
/// Slower modes are probed only below this success ratio of the best one.
const PROBE_SLOWER_BELOW: f64 = 0.95;
/// Frames without an answer after which a sender takes the next of its ranked modes.
const FRAMES_PER_RANK: u32 = 2;

/// What a sender knows of a mode.
#[derive(Debug)]
struct ModeStats {
    mode: Mode,
    /// The frames around data in it.
    around: Around,
    /// MPDUs since the last update, and since the start of the run.
    recent: Attempts,
    total: Attempts,
    /// Average of the success ratio; `None` before the mode was used.
    success: Option<f64>,
}

/// The rate control of one sender for one receiver.
#[derive(Debug)]
pub(super) struct RateControl {
    /// In ascending order of rate.
    modes: Vec<ModeStats>,
    /// The best, the second best, and the most reliable.
    ranked: [usize; 3],
    /// Frames without an answer since the last answer.
    unanswered: u32,
    next_update: Instant,
    next_probe: Instant,
    probes: u32,
    rng: Rng,
}

impl RateControl {
    /// For the modes of a station's radio. The sender begins with the slowest.
    pub(super) fn new(radio: &Radio, rules: &Rules, rng: Rng) -> Self {
        let stats = |&mode: &Mode| ModeStats {
            mode,
            around: rules.around(mode, radio.aggregation.mpdus),
            recent: Attempts::default(),
            total: Attempts::default(),
            success: None,
        };
        Self {
            modes: radio.modes.iter().map(stats).collect(),
            ranked: [0; 3],
            unanswered: 0,
            next_update: Instant::ZERO + UPDATE,
            next_probe: Instant::ZERO,
            probes: 0,
            rng,
        }
    }

    pub(super) fn mode(&self, index: usize) -> Mode {
        self.modes[index].mode
    }

    pub(super) fn around(&self, index: usize) -> &Around {
        &self.modes[index].around
    }

    /// The mode that most of the traffic has now.
    pub(super) fn best(&self) -> Mode {
        self.mode(self.ranked[0])
    }

    /// How often each mode was used; nothing where there is a single one.
    pub(super) fn uses(&self) -> impl Iterator<Item = ModeUse> {
        let is_controlled = self.modes.len() > 1;
        let used = self.modes.iter().filter(move |_| is_controlled);
        used.map(|stats| ModeUse {
            mcs: stats.mode.mcs,
            streams: stats.mode.streams,
            rate: stats.mode.rate(),
            mpdus: stats.total,
        })
    }

    /// The mode of the next frame. One that is not sent, since it does not fit its TXOP, has used
    /// up the turn of a probe all the same.
    pub(super) fn choose(&mut self, now: Instant) -> Chosen {
        if self.modes.len() == 1 {
            return Chosen {
                index: 0,
                is_probe: false,
            };
        }
        if now >= self.next_update {
            self.update();
            self.next_update = now + UPDATE;
        }
        if now >= self.next_probe {
            self.next_probe = now + PROBE;
            if let Some(index) = self.probe() {
                return Chosen {
                    index,
                    is_probe: true,
                };
            }
        }
        let rank = (self.unanswered / FRAMES_PER_RANK) as usize;
        Chosen {
            index: self.ranked.get(rank).map_or(0, |index| *index),
            is_probe: false,
        }
    }

    /// So many MPDUs were sent in a mode, and so many of them were acknowledged.
    pub(super) fn learn(&mut self, chosen: Chosen, sent: u32, arrived: u32) {
        let stats = &mut self.modes[chosen.index];
        for attempts in [&mut stats.recent, &mut stats.total] {
            attempts.sent += u64::from(sent);
            attempts.arrived += u64::from(arrived);
        }
        if arrived > 0 {
            self.unanswered = 0;
        } else if !chosen.is_probe {
            self.unanswered += 1;
        }
    }

    fn update(&mut self) {
        for stats in &mut self.modes {
            let recent = std::mem::take(&mut stats.recent);
            if recent.sent > 0 {
                let new = recent.arrived as f64 / recent.sent as f64;
                let old = stats.success.unwrap_or(new);
                stats.success = Some(old + WEIGHT * (new - old));
            }
        }
        let best = self.best_but(None);
        let second = self.best_but(Some(best));
        self.ranked = [best, second, self.most_reliable()];
    }

    /// What a mode is expected to carry, in bit/s.
    fn throughput(&self, index: usize) -> f64 {
        let stats = &self.modes[index];
        let success = (stats.success).filter(|success| *success >= SUCCESS_FLOOR);
        success.map_or(0.0, |success| {
            success.min(SUCCESS_CAP) * stats.mode.rate().0 as f64
        })
    }

    /// The mode with the largest throughput besides `other`, and the slowest of equal ones.
    fn best_but(&self, other: Option<usize>) -> usize {
        let all = (0..self.modes.len()).filter(|index| Some(*index) != other);
        let of = |index: &usize| self.throughput(*index);
        let best = all.max_by(|one, other| of(one).total_cmp(&of(other)).then(other.cmp(one)));
        best.unwrap_or(0)
    }

    /// The fastest of those that are reliable; without one, that of which most arrives.
    fn most_reliable(&self) -> usize {
        let success = |index: &usize| self.modes[*index].success.unwrap_or(0.0);
        let all = 0..self.modes.len();
        let reliable = all.clone().rev().find(|index| success(index) > RELIABLE);
        let most =
            all.max_by(|one, other| success(one).total_cmp(&success(other)).then(other.cmp(one)));
        reliable.or(most).unwrap_or(0)
    }

    /// The mode to probe, if there is one.
    fn probe(&mut self) -> Option<usize> {
        self.probes = (self.probes + 1) % 3;
        let best = self.ranked[0];
        let faster = (self.modes.len() - 1 - best) as u64;
        let slower = best as u64;
        let is_good = (self.modes[best].success).is_some_and(|own| own >= PROBE_SLOWER_BELOW);
        match self.probes {
            1 if faster > 0 => Some(best + 1),
            2 if faster > 0 => Some(best + 1 + self.rng.below(faster) as usize),
            0 if slower > 0 && !is_good => Some(self.rng.below(slower) as usize),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::cell::phy::{Format, Phy, Preamble};
    use crate::link::cell::setup::{Aggregation, Sharing};
    use crate::link::cell::window::TryLimits;
    use crate::units::Probability;

    /// A sender with the rates of 802.11g: 6, 9, 12, 18, 24, 36, 48 and 54 Mbit/s.
    fn sender() -> RateControl {
        let modes: Vec<Mode> = Mode::legacy(Format::Ofdm).collect();
        let limits = TryLimits {
            short: None,
            long: None,
        };
        let rules = Rules {
            phy: Phy {
                preamble: Preamble::Long,
                basic: modes.clone(),
                signal_extension: Duration::ZERO,
            },
            slot: Duration::from_micros(9),
            sifs: Duration::from_micros(16),
            after_error: Duration::ZERO,
            unnoticed: Duration::ZERO,
            propagation: Duration::ZERO,
            rts_threshold: u64::MAX,
            protection: None,
            tries: limits,
            sharing: Sharing::Ahead(1),
        };
        let radio = Radio {
            modes,
            frame_errors: Probability(0.0),
            snr: None,
            aggregates: false,
            aggregation: Aggregation::NONE,
            overhead: 36,
        };
        RateControl::new(&radio, &rules, Rng::for_path(1, "test"))
    }

    const fn in_mode(index: usize) -> Chosen {
        Chosen {
            index,
            is_probe: false,
        }
    }

    /// Learns that of 100 MPDUs in a mode so many have arrived, and ranks the modes.
    fn learn(own: &mut RateControl, arrived: &[(usize, u32)]) {
        for &(index, arrived) in arrived {
            own.learn(in_mode(index), 100, arrived);
        }
        own.update();
    }

    #[test]
    fn a_sender_begins_with_the_slowest_mode_and_probes_the_next_faster_one() {
        let mut own = sender();
        assert_eq!(own.best().rate().0, 6_000_000);
        let probe = own.choose(Instant::ZERO);
        assert_eq!((probe.index, probe.is_probe), (1, true));
        assert_eq!(own.choose(Instant::ZERO), in_mode(0), "20 ms have to pass");
        assert!(own.choose(Instant::ZERO + PROBE).index >= 1);
    }

    #[test]
    fn the_best_mode_has_the_largest_product_of_rate_and_success() {
        let mut own = sender();
        // 54 x 0.5 is less than 36 x 0.9, and 48 x 0.09 counts as nothing.
        learn(&mut own, &[(0, 100), (5, 100), (6, 9), (7, 50)]);
        assert_eq!(own.ranked, [5, 7, 5]);
        // All of 48 Mbit/s counts as 0.9 of it, which is less than 0.83 of 54.
        let mut own = sender();
        learn(&mut own, &[(6, 100), (7, 83)]);
        assert_eq!(own.ranked, [7, 6, 7]);
    }

    #[test]
    fn an_average_takes_a_quarter_of_the_new_ratio() {
        let mut own = sender();
        learn(&mut own, &[(3, 80)]);
        learn(&mut own, &[(3, 40)]);
        assert!((own.modes[3].success.unwrap_or(0.0) - 0.7).abs() < 1e-9);
        own.update();
        let kept = own.modes[3].success.unwrap_or(0.0);
        assert!((kept - 0.7).abs() < 1e-9, "what was not used stays");
    }

    #[test]
    fn after_two_four_and_six_frames_without_an_answer_the_next_ranks_follow() {
        let mut own = sender();
        learn(&mut own, &[(1, 100), (4, 70), (7, 70)]);
        assert_eq!(own.ranked, [7, 4, 1]);
        own.next_probe = Instant::FAR_FUTURE;
        own.next_update = Instant::FAR_FUTURE;
        let mut taken = Vec::new();
        for _ in 0..8 {
            let chosen = own.choose(Instant::ZERO);
            taken.push(chosen.index);
            own.learn(chosen, 1, 0);
        }
        assert_eq!(taken, [7, 7, 4, 4, 1, 1, 0, 0]);
        own.learn(in_mode(4), 1, 1);
        assert_eq!(
            own.choose(Instant::ZERO),
            in_mode(7),
            "an answer begins anew"
        );
    }

    #[test]
    fn a_probe_without_an_answer_changes_no_rank() {
        let mut own = sender();
        let probe = own.choose(Instant::ZERO);
        own.learn(probe, 1, 0);
        own.learn(probe, 1, 0);
        assert_eq!(own.choose(Instant::ZERO), in_mode(0));
        assert_eq!(own.unanswered, 0);
    }

    #[test]
    fn slower_modes_are_probed_only_where_the_best_one_loses_more_than_a_twentieth() {
        for (arrived, expects) in [(95, false), (94, true)] {
            let mut own = sender();
            learn(&mut own, &[(7, arrived)]);
            let probes: Vec<_> = (0..3).map(|_| own.probe()).collect();
            assert_eq!(probes[..2], [None, None], "none is faster");
            assert_eq!(probes[2].is_some(), expects, "{arrived}");
        }
    }
}
