//! Rate control: the mode in which a sender sends to a receiver, chosen by what has arrived.
//!
//! A sender with a single mode uses that. One with several does as Minstrel does in Linux, which
//! knows nothing of the signal and learns from acknowledgements:
//!
//! - Every 50 ms it averages the share of the MPDUs that arrived, of each mode that it has used
//!   (a quarter of the new average is of the last 50 ms), and chooses the mode with the largest
//!   product of rate and share. A share above 90 % counts as 90 %, and one below 10 % as nothing.
//! - After two frames without any answer it takes the second best mode for two, then the most
//!   reliable one.
//! - Every 20 ms a frame of one MPDU probes another mode: in turn the next faster one, any faster
//!   one, and any slower one while more than 5 % of the best one's MPDUs break.
//!
//! Source: the description of Minstrel-HT by its authors (F. Fietkau and D. Smithies, Linux
//! wireless documentation), with the periods and limits of Linux. Linux measures the airtime of a
//! frame where this takes the rate, and groups modes by width and streams for its probes.

use super::exchange::{Around, Chosen};
use super::phy::Mode;
use super::setup::{Radio, Rules};
use crate::metrics::rate_control::ModeUse;
use crate::rng::Rng;
use crate::time::{Duration, Instant};

/// How often a sender chooses anew.
const UPDATE: Duration = Duration::from_millis(50);
/// How often it probes another mode.
const PROBE: Duration = Duration::from_millis(20);
/// The part of an average that is new.
const NEW: f64 = 0.25;
/// A larger share of arrivals counts as this.
const MOST: f64 = 0.9;
/// A smaller share of arrivals counts as nothing.
const LEAST: f64 = 0.1;
/// A mode of which more arrives is reliable.
const RELIABLE: f64 = 0.75;
/// Slower modes are probed only below this share of the best one.
const GOOD: f64 = 0.95;
/// Frames without an answer after which a sender takes its next choice.
const FRAMES: u32 = 2;

/// A mode that a sender may choose.
#[derive(Debug)]
struct Choice {
    mode: Mode,
    /// The frames around data in it.
    around: Around,
    /// MPDUs since the last update: tried, and arrived.
    tried: [u32; 2],
    /// The average share that arrived; `None` before the mode was used.
    share: Option<f64>,
    /// MPDUs since the start of the run: tried, and arrived.
    total: [u64; 2],
}

/// The modes that one sender may use to one receiver.
#[derive(Debug)]
pub(super) struct Rates {
    /// In ascending order of rate.
    choices: Vec<Choice>,
    /// The best, the second best, and the most reliable.
    order: [usize; 3],
    /// Frames without an answer since the last answer.
    unanswered: u32,
    next_update: Instant,
    next_probe: Instant,
    probes: u32,
    rng: Rng,
}

impl Rates {
    /// The modes of a station's radio. The sender begins with the slowest.
    pub(super) fn new(radio: &Radio, rules: &Rules, rng: Rng) -> Self {
        let choice = |&mode: &Mode| Choice {
            mode,
            around: rules.around(mode, radio.aggregation.mpdus),
            tried: [0; 2],
            share: None,
            total: [0; 2],
        };
        Self {
            choices: radio.modes.iter().map(choice).collect(),
            order: [0; 3],
            unanswered: 0,
            next_update: Instant::ZERO + UPDATE,
            next_probe: Instant::ZERO,
            probes: 0,
            rng,
        }
    }

    pub(super) fn mode(&self, index: usize) -> Mode {
        self.choices[index].mode
    }

    pub(super) fn around(&self, index: usize) -> &Around {
        &self.choices[index].around
    }

    /// The mode that most of the traffic has now.
    pub(super) fn best(&self) -> Mode {
        self.mode(self.order[0])
    }

    /// How often each mode was used; nothing where there is a single one.
    pub(super) fn uses(&self) -> impl Iterator<Item = ModeUse> {
        let is_controlled = self.choices.len() > 1;
        let used = self.choices.iter().filter(move |_| is_controlled);
        used.map(|choice| ModeUse {
            mcs: choice.mode.mcs,
            streams: choice.mode.streams,
            rate: choice.mode.rate().0,
            mpdus: choice.total,
        })
    }

    /// The mode of the next frame.
    pub(super) fn choose(&mut self, now: Instant) -> Chosen {
        if self.choices.len() == 1 {
            return Chosen {
                index: 0,
                is_probe: false,
            };
        }
        if now >= self.next_update {
            self.update();
            self.next_update = now + UPDATE;
        }
        if self.unanswered == 0 && now >= self.next_probe {
            self.next_probe = now + PROBE;
            if let Some(index) = self.probe() {
                return Chosen {
                    index,
                    is_probe: true,
                };
            }
        }
        let place = (self.unanswered / FRAMES).min(2) as usize;
        Chosen {
            index: self.order[place],
            is_probe: false,
        }
    }

    /// So many MPDUs were sent in a mode, and so many of them were acknowledged.
    pub(super) fn learn(&mut self, chosen: Chosen, sent: u32, arrived: u32) {
        let choice = &mut self.choices[chosen.index];
        for (index, mpdus) in [sent, arrived].into_iter().enumerate() {
            choice.tried[index] += mpdus;
            choice.total[index] += u64::from(mpdus);
        }
        if arrived > 0 {
            self.unanswered = 0;
        } else if !chosen.is_probe {
            self.unanswered += 1;
        }
    }

    fn update(&mut self) {
        for choice in &mut self.choices {
            let [tried, arrived] = std::mem::take(&mut choice.tried);
            if tried > 0 {
                let new = f64::from(arrived) / f64::from(tried);
                let old = choice.share.unwrap_or(new);
                choice.share = Some(old + NEW * (new - old));
            }
        }
        let best = self.best_but(None);
        let second = self.best_but(Some(best));
        self.order = [best, second, self.most_reliable()];
    }

    /// What a mode is expected to carry, in bit/s.
    fn throughput(&self, index: usize) -> f64 {
        let choice = &self.choices[index];
        let share = choice.share.filter(|share| *share >= LEAST);
        share.map_or(0.0, |share| share.min(MOST) * choice.mode.rate().0 as f64)
    }

    /// The choice with the largest throughput besides `other`, and the slowest of equal ones.
    fn best_but(&self, other: Option<usize>) -> usize {
        let all = (0..self.choices.len()).filter(|index| Some(*index) != other);
        let of = |index: &usize| self.throughput(*index);
        let best = all.max_by(|one, other| of(one).total_cmp(&of(other)).then(other.cmp(one)));
        best.unwrap_or(0)
    }

    /// The fastest of those that are reliable; without one, that of which most arrives.
    fn most_reliable(&self) -> usize {
        let share = |index: &usize| self.choices[*index].share.unwrap_or(0.0);
        let all = 0..self.choices.len();
        let reliable = all.clone().rev().find(|index| share(index) > RELIABLE);
        let most =
            all.max_by(|one, other| share(one).total_cmp(&share(other)).then(other.cmp(one)));
        reliable.or(most).unwrap_or(0)
    }

    /// The mode to probe, if there is one.
    fn probe(&mut self) -> Option<usize> {
        self.probes = (self.probes + 1) % 3;
        let best = self.order[0];
        let faster = (self.choices.len() - 1 - best) as u64;
        let slower = best as u64;
        match self.probes {
            _ if faster > 0 && self.probes == 1 => Some(best + 1),
            2 if faster > 0 => Some(best + 1 + self.rng.below(faster) as usize),
            0 if slower > 0 && self.choices[best].share.is_none_or(|share| share < GOOD) => {
                Some(self.rng.below(slower) as usize)
            }
            _ => None,
        }
    }
}
