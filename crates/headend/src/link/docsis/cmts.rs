//! The CMTS's upstream scheduler: requests in, grants out, one MAP at a time.
//!
//! Requests whose time the MAP's acknowledgement time has reached count. What all service flows still wait for is shared max-min
//! fairly among them, in whole minislots, within what the channel (or a capacity schedule: neighbours, RF trouble) has to give.

use std::collections::VecDeque;

use super::timing::UpstreamTiming;
use crate::link::RateSchedule;
use crate::rng::Rng;
use crate::time::Instant;

/// Where a MAP's grants begin.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Default,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Placement {
    /// At the start of the interval.
    First,
    /// Anywhere the grants fit, drawn for each MAP: other modems' grants come in no order.
    #[default]
    Random,
}

/// A part of a MAP interval given to a service flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grant {
    /// The service flow, by index.
    pub flow: usize,
    /// The MAP.
    pub map: u64,
    /// First minislot within the MAP's interval.
    pub first: u64,
    /// Number of minislots.
    pub minislots: u64,
    /// Bytes of the requests it answers.
    pub credit: u64,
}

#[derive(Debug, Clone, Copy)]
struct Request {
    flow: usize,
    at: Instant,
    bytes: u64,
}

/// The scheduler.
#[derive(Debug)]
pub struct Cmts {
    requests: VecDeque<Request>,
    /// Bytes asked for and not granted, by service flow.
    backlog: Vec<u64>,
    placement: Placement,
    capacity: Option<RateSchedule>,
    /// Bits × 10⁹ of capacity left over from rounding to minislots.
    carried: u128,
    rng: Rng,
    shares: Vec<u64>,
}

impl Cmts {
    /// A scheduler for `flows` service flows.
    pub fn new(
        flows: usize,
        placement: Placement,
        capacity: Option<RateSchedule>,
        rng: Rng,
    ) -> Self {
        Self {
            requests: VecDeque::with_capacity(16),
            backlog: vec![0; flows],
            placement,
            capacity,
            carried: 0,
            rng,
            shares: Vec::with_capacity(flows),
        }
    }

    /// A request sent at `at` will have been received by then plus the pipeline.
    pub fn request(&mut self, flow: usize, at: Instant, bytes: u64) {
        self.requests.push_back(Request { flow, at, bytes });
    }

    /// The earliest request not yet considered.
    pub fn next_request(&self) -> Option<Instant> {
        self.requests.iter().map(|request| request.at).min()
    }

    /// Whether any request considered so far is not fully granted.
    pub fn has_backlog(&self) -> bool {
        self.backlog.iter().any(|&bytes| bytes > 0)
    }

    /// Bytes that the flow asked for, and that the latest MAP acknowledges without granting them.
    pub fn pending(&self, flow: usize) -> u64 {
        self.backlog[flow]
    }

    /// Makes MAP `map`: its grants, appended to `grants`.
    pub fn schedule(&mut self, map: u64, timing: &UpstreamTiming, grants: &mut Vec<Grant>) {
        self.consider(map, timing);
        let budget = self.budget(map, timing);
        self.share(budget, timing);
        let used: u64 = self.shares.iter().sum();
        let mut first = match self.placement {
            Placement::First => 0,
            Placement::Random => self.rng.below(timing.minislots_per_map() - used + 1),
        };
        for flow in 0..self.backlog.len() {
            let minislots = self.shares[flow];
            let room = (minislots * timing.minislot_bytes).saturating_sub(timing.segment_overhead);
            let credit = room.min(self.backlog[flow]);
            if credit > 0 {
                self.backlog[flow] -= credit;
                grants.push(Grant {
                    flow,
                    map,
                    first,
                    minislots,
                    credit,
                });
                first += minislots;
            }
        }
    }

    /// Takes in the requests that the MAP's acknowledgement time has reached.
    fn consider(&mut self, map: u64, timing: &UpstreamTiming) {
        let start = timing.allocation_start(map);
        let loop_time = timing.minimum_request_grant();
        let backlog = &mut self.backlog;
        self.requests.retain(|request| {
            let reached = request.at + loop_time <= start;
            if reached {
                backlog[request.flow] += request.bytes;
            }
            !reached
        });
    }

    /// Minislots there are to give in this MAP.
    fn budget(&mut self, map: u64, timing: &UpstreamTiming) -> u64 {
        let all = timing.minislots_per_map();
        let Some(capacity) = &self.capacity else {
            return all;
        };
        let rate = capacity.at(timing.allocation_start(map));
        let offered = u128::from(rate.0) * u128::from(timing.map_interval().as_nanos());
        let per_minislot = u128::from(timing.minislot_bytes) * 8_000_000_000;
        // Only what a MAP could not give for rounding is carried over: unused capacity is gone.
        let available = offered + self.carried;
        self.carried = available % per_minislot;
        all.min((available / per_minislot) as u64)
    }

    /// Max-min fair shares in minislots.
    fn share(&mut self, mut budget: u64, timing: &UpstreamTiming) {
        self.shares.clear();
        self.shares.extend(self.backlog.iter().map(|_| 0));
        let wanted = |bytes: u64| {
            if bytes == 0 {
                0
            } else {
                timing.minislots_for(bytes)
            }
        };
        loop {
            let hungry = |shares: &[u64], flow: usize| wanted(self.backlog[flow]) > shares[flow];
            let count = (0..self.backlog.len())
                .filter(|&flow| hungry(&self.shares, flow))
                .count() as u64;
            if count == 0 || budget == 0 {
                return;
            }
            let each = (budget / count).max(1);
            for flow in 0..self.backlog.len() {
                let more = (wanted(self.backlog[flow]) - self.shares[flow])
                    .min(each)
                    .min(budget);
                self.shares[flow] += more;
                budget -= more;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::preset::Plant;
    use super::*;
    use crate::units::Rate;

    fn cmts(flows: usize, capacity: Option<u64>) -> Cmts {
        let capacity = capacity.map(|rate| RateSchedule::Constant(Rate(rate)));
        Cmts::new(flows, Placement::First, capacity, Rng::for_path(1, "cmts"))
    }

    #[test]
    fn a_request_after_the_acknowledgement_time_waits_for_the_next_map() {
        let timing = Plant::docsis31().upstream_timing();
        let mut cmts = cmts(1, None);
        let in_time = timing.allocation_start(10) - timing.minimum_request_grant();
        cmts.request(0, in_time, 1028);
        cmts.request(0, Instant::from_nanos(in_time.as_nanos() + 1), 480);
        let mut grants = Vec::new();
        cmts.schedule(10, &timing, &mut grants);
        assert_eq!(
            grants,
            [Grant {
                flow: 0,
                map: 10,
                first: 0,
                minislots: 22,
                credit: 1028
            }]
        );
        cmts.schedule(11, &timing, &mut grants);
        assert_eq!(grants[1].credit, 480);
        assert!(!cmts.has_backlog());
    }

    #[test]
    fn a_short_channel_is_shared_max_min_fairly() {
        let timing = Plant::docsis31().upstream_timing();
        let mut cmts = cmts(3, Some(100_000_000));
        for (flow, bytes) in [(0, 1_000), (1, 1_000_000), (2, 1_000_000)] {
            cmts.request(flow, Instant::ZERO, bytes);
        }
        let mut grants = Vec::new();
        cmts.schedule(10, &timing, &mut grants);
        assert_eq!(grants[0].credit, 1_000);
        assert!(grants[1].minislots.abs_diff(grants[2].minislots) <= 1);
        let bytes: u64 = grants
            .iter()
            .map(|grant| grant.minislots * timing.minislot_bytes)
            .sum();
        assert!(bytes.abs_diff(100_000_000 / 8 * 2_025 / 1_000_000) <= timing.minislot_bytes);
    }

    #[test]
    fn a_capacity_schedule_is_kept_exactly_over_many_maps() {
        let timing = Plant::docsis31().upstream_timing();
        let mut cmts = cmts(1, Some(1_234_567));
        cmts.request(0, Instant::ZERO, 1 << 40);
        let mut grants = Vec::new();
        for map in 10..1010 {
            cmts.schedule(map, &timing, &mut grants);
        }
        let bytes: u64 = grants
            .iter()
            .map(|grant| grant.minislots * timing.minislot_bytes)
            .sum();
        assert!(bytes.abs_diff(1_234_567 * 2_025 / 8 / 1_000) <= timing.minislot_bytes);
    }
}
