//! Contention for request opportunities: how many of them a modem skips, and which requests reach
//! the CMTS.
//!
//! Truncated binary exponential backoff (MULPI §7.2.2.2): a modem skips a random number of
//! opportunities, 0 to 2^w − 1, and sends in the next one. Two requests in the same opportunity
//! collide, and both are lost.
//!
//! A modem detects a collision when a MAP's acknowledgement time covers its request and the MAP has
//! no grant and no acknowledgement for it. Then it doubles its window, up to a limit, and tries
//! again.
//!
//! An opportunity needs no event. The collisions in it are found when a MAP acknowledges it.

use std::collections::VecDeque;

use crate::rng::Rng;
use crate::time::Instant;

/// The backoff of a modem for one service flow, or for ranging.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    start: u8,
    end: u8,
    exponent: u8,
    collisions: u8,
}

impl Backoff {
    /// Windows of 2^start to 2^end opportunities.
    pub fn new(start: u8, end: u8) -> Self {
        Self {
            start,
            end: end.max(start),
            exponent: start,
            collisions: 0,
        }
    }

    /// Draws the number of opportunities to skip.
    pub fn draw(&self, rng: &mut Rng) -> u64 {
        rng.below(self.window())
    }

    /// The window, in opportunities.
    pub fn window(&self) -> u64 {
        1 << self.exponent
    }

    /// Collisions since the last success.
    pub fn collisions(&self) -> u8 {
        self.collisions
    }

    /// The request has collided.
    pub fn collided(&mut self) {
        self.collisions = self.collisions.saturating_add(1);
        self.exponent = (self.exponent + 1).min(self.end);
    }

    /// The request was received, or the modem has given up.
    pub fn reset(&mut self) {
        self.exponent = self.start;
        self.collisions = 0;
    }
}

/// A request sent in an opportunity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attempt {
    /// Number of the opportunity, counted since the start of the run.
    pub opportunity: u64,
    /// Time of the opportunity.
    pub at: Instant,
    /// Index of the service flow.
    pub flow: usize,
    /// Requested bytes.
    pub bytes: u64,
}

/// The result of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    /// The request.
    pub attempt: Attempt,
    /// The CMTS has received it.
    pub heard: bool,
}

/// The request opportunities of an upstream, with the requests that no MAP has acknowledged yet.
#[derive(Debug, Default)]
pub struct RequestRegion {
    /// In order of time.
    attempts: VecDeque<Attempt>,
}

impl RequestRegion {
    /// Adds a request. Requests must be added in order of time.
    pub fn send(&mut self, attempt: Attempt) {
        debug_assert!(
            self.attempts
                .back()
                .is_none_or(|last| last.at <= attempt.at),
            "requests are sent in the order of time"
        );
        self.attempts.push_back(attempt);
    }

    /// Time of the earliest request without an answer.
    pub fn earliest(&self) -> Option<Instant> {
        self.attempts.front().map(|attempt| attempt.at)
    }

    fn next_if(&mut self, is_wanted: impl FnOnce(&Attempt) -> bool) -> Option<Attempt> {
        self.attempts.front().filter(|next| is_wanted(next))?;
        self.attempts.pop_front()
    }

    /// Answers the requests sent up to `acknowledged`. `is_taken` is called for each opportunity
    /// with a single request. It says whether a neighbour, which this region does not store, sent
    /// in it too.
    pub fn answer(
        &mut self,
        acknowledged: Instant,
        mut is_taken: impl FnMut() -> bool,
        answers: &mut Vec<Answer>,
    ) {
        while let Some(first) = self.next_if(|first| first.at <= acknowledged) {
            let is_same = |other: &Attempt| other.opportunity == first.opportunity;
            let mut heard = true;
            let mut own = answers.len();
            answers.push(Answer {
                attempt: first,
                heard,
            });
            while let Some(attempt) = self.next_if(is_same) {
                heard = false;
                answers.push(Answer { attempt, heard });
            }
            heard = heard && !is_taken();
            while own < answers.len() {
                answers[own].heard = heard;
                own += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math;

    fn attempt(opportunity: u64, flow: usize) -> Attempt {
        Attempt {
            opportunity,
            at: Instant::from_nanos(opportunity * 1000),
            flow,
            bytes: 100,
        }
    }

    fn answers(region: &mut RequestRegion, acknowledged: u64) -> Vec<(usize, bool)> {
        let mut answers = Vec::new();
        region.answer(Instant::from_nanos(acknowledged), || false, &mut answers);
        let of = |answer: &Answer| (answer.attempt.flow, answer.heard);
        answers.iter().map(of).collect()
    }

    #[test]
    fn two_requests_in_one_opportunity_are_both_lost_and_their_neighbours_are_heard() {
        let mut region = RequestRegion::default();
        for (opportunity, flow) in [(3, 0), (4, 1), (4, 2), (5, 3)] {
            region.send(attempt(opportunity, flow));
        }
        let expected = [(0, true), (1, false), (2, false), (3, true)];
        assert_eq!(answers(&mut region, 5000), expected);
        assert_eq!(region.earliest(), None);
    }

    #[test]
    fn a_request_after_the_acknowledgement_time_has_no_answer_yet() {
        let mut region = RequestRegion::default();
        region.send(attempt(3, 0));
        region.send(attempt(4, 1));
        assert_eq!(answers(&mut region, 3999), [(0, true)]);
        assert_eq!(region.earliest(), Some(Instant::from_nanos(4000)));
        assert_eq!(answers(&mut region, 4000), [(1, true)]);
    }

    #[test]
    fn a_request_that_collides_with_a_neighbours_is_lost() {
        let mut region = RequestRegion::default();
        region.send(attempt(3, 0));
        let mut found = Vec::new();
        region.answer(Instant::FAR_FUTURE, || true, &mut found);
        assert!(!found[0].heard);
    }

    #[test]
    fn windows_double_up_to_their_end_and_start_anew_after_a_success() {
        let mut backoff = Backoff::new(2, 4);
        let mut windows = Vec::new();
        for _ in 0..5 {
            windows.push(backoff.window());
            backoff.collided();
        }
        assert_eq!(windows, [4, 8, 16, 16, 16]);
        assert_eq!(backoff.collisions(), 5);
        backoff.reset();
        assert_eq!((backoff.window(), backoff.collisions()), (4, 0));
    }

    #[test]
    fn the_first_try_of_n_contenders_collides_as_the_closed_form_says() {
        // All n contenders draw one of the same W opportunities. A given contender is alone with
        // probability (1 − 1/W)^(n−1).
        for (contenders, start) in [(2_usize, 4_u8), (5, 4), (20, 4), (20, 6)] {
            let mut rng = Rng::for_path(1, format_args!("contenders {contenders} {start}"));
            let (rounds, backoff) = (20_000, Backoff::new(start, 10));
            let mut lost = 0;
            for _ in 0..rounds {
                let mut region = RequestRegion::default();
                let mut draws: Vec<u64> = (0..contenders).map(|_| backoff.draw(&mut rng)).collect();
                draws.sort_unstable();
                for (flow, &draw) in draws.iter().enumerate() {
                    region.send(attempt(draw, flow));
                }
                let found = answers(&mut region, u64::MAX);
                lost += found.iter().filter(|(_, heard)| !heard).count();
            }
            let found = lost as f64 / (rounds * contenders) as f64;
            let window = f64::from(1_u32 << start);
            let expected = 1.0 - math::powf(1.0 - 1.0 / window, contenders as f64 - 1.0);
            assert!(
                (found - expected).abs() < 0.006,
                "{contenders} {start}: {found} {expected}"
            );
        }
    }

    /// Probability that a request collides if each of `n` modems always has one. It is the fixed
    /// point of p = 1 − (1 − τ)^(n−1). Here τ is the rate of requests for a backoff with collision
    /// probability p: one in `(W_i + 1)/2` opportunities at stage i.
    fn fixed_point(contenders: i32, start: u8, end: u8) -> f64 {
        let rate = |p: f64| {
            let (mut visits, mut opportunities) = (0.0, 0.0);
            for stage in 0..200 {
                let window = f64::from(1_u32 << (start + stage).min(end));
                let weight = p.powi(i32::from(stage));
                visits += weight;
                opportunities += weight * f64::midpoint(window, 1.0);
            }
            visits / opportunities
        };
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..60 {
            let p = f64::midpoint(low, high);
            let collides = 1.0 - (1.0 - rate(p)).powi(contenders - 1);
            if collides > p {
                low = p;
            } else {
                high = p;
            }
        }
        low
    }

    #[test]
    fn saturated_contenders_settle_at_the_fixed_point_of_truncated_backoff() {
        // Every modem always has a request, and it knows the result before the next opportunity.
        // The fixed point assumes that the states of the modems are independent, which is accurate
        // to a few per cent here.
        for (contenders, start, end) in [(5, 3, 10), (20, 4, 10), (50, 4, 6)] {
            let mut rng = Rng::for_path(1, format_args!("saturated {contenders} {start}"));
            let mut region = RequestRegion::default();
            let mut modems = vec![Backoff::new(start, end); contenders];
            let mut due: Vec<u64> = modems.iter().map(|modem| modem.draw(&mut rng)).collect();
            let (mut sent, mut lost) = (0, 0);
            for opportunity in 0..200_000 {
                for flow in (0..contenders).filter(|&flow| due[flow] == opportunity) {
                    region.send(attempt(opportunity, flow));
                }
                for (flow, heard) in answers(&mut region, u64::MAX) {
                    sent += 1;
                    lost += u32::from(!heard);
                    if heard {
                        modems[flow].reset();
                    } else {
                        modems[flow].collided();
                    }
                    due[flow] = opportunity + 1 + modems[flow].draw(&mut rng);
                }
            }
            let (found, expected) = (
                f64::from(lost) / f64::from(sent),
                fixed_point(contenders as i32, start, end),
            );
            assert!(
                (found / expected - 1.0).abs() < 0.05,
                "{contenders}: {found} {expected}"
            );
        }
    }
}
