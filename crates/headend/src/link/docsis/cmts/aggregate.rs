//! An aggregate service flow at the upstream scheduler: the limits that its two flows share, and
//! how a MAP is divided between them.

use crate::link::docsis::low_latency::{self, Pair, Weight};
use crate::link::docsis::timing::UpstreamTiming;
use crate::time::{Duration, Instant};

use super::shaper::Shaper;

/// An aggregate of a classic and a low-latency flow.
#[derive(Debug)]
pub struct Aggregate {
    /// Index of its classic flow.
    pub classic: usize,
    /// Index of its low-latency flow.
    pub low: usize,
    /// The limits of both flows together.
    pub shaper: Shaper,
    /// Divides minislots.
    weight: Weight,
    /// Divides bytes, up to the latest MAP and with the current one. At a low rate a MAP has so few
    /// that the remainder of a division matters here too.
    weight_of_bytes: [Weight; 2],
    /// Minislots of the low-latency flow's proactive grants in the current MAP.
    pub guaranteed: u64,
    /// Minislots that the flows want of the part that is shared now.
    pub wanted: Pair,
    /// Whether `wanted` is of the part that is shared now.
    is_known: bool,
    /// Requested bytes that the current MAP grants.
    pub granted: u64,
}

impl Aggregate {
    /// An aggregate with full token buckets.
    pub fn new(setup: &low_latency::Aggregate, token_interval: Duration) -> Self {
        Self {
            classic: setup.classic,
            low: setup.low,
            shaper: Shaper::new(setup.limits, token_interval),
            weight: Weight::new(setup.weight),
            weight_of_bytes: [Weight::new(setup.weight); 2],
            guaranteed: 0,
            wanted: Pair::default(),
            is_known: false,
            granted: 0,
        }
    }

    /// Divides the requested bytes that a MAP from the first to the second of `times` may grant.
    ///
    /// It may be called more than once for a MAP. The last call counts.
    pub fn allowed(
        &mut self,
        requested: Pair,
        times: [Instant; 2],
        timing: &UpstreamTiming,
    ) -> Pair {
        let guaranteed = timing.room(self.guaranteed);
        let wanted = Pair {
            low: requested.low + guaranteed,
            ..requested
        };
        let most = self.shaper.allowed(wanted.sum(), true, times);
        let mut weight = self.weight_of_bytes[0];
        let given = weight.split(most, wanted, guaranteed);
        self.weight_of_bytes[1] = weight;
        Pair {
            low: given.low - guaranteed,
            ..given
        }
    }

    /// A part of the MAP is about to be shared.
    pub fn start_sharing(&mut self) {
        self.wanted = Pair::default();
        self.is_known = false;
    }

    /// Its flows want so many minislots of the part. Returns false if that is known already.
    pub fn want(&mut self, wanted: Pair) -> bool {
        if self.is_known {
            return false;
        }
        self.wanted = wanted;
        self.is_known = true;
        true
    }

    /// Divides minislots between the flows.
    pub fn divide(&mut self, minislots: u64) -> Pair {
        let guaranteed = self.guaranteed;
        let wanted = Pair {
            low: self.wanted.low + guaranteed,
            ..self.wanted
        };
        let given = (self.weight).split(minislots + guaranteed, wanted, guaranteed);
        Pair {
            low: given.low - guaranteed,
            ..given
        }
    }

    /// The MAP is made: takes the tokens of what it grants.
    pub fn spend(&mut self, times: [Instant; 2]) {
        self.weight_of_bytes[0] = self.weight_of_bytes[1];
        let granted = std::mem::take(&mut self.granted);
        if granted > 0 {
            self.shaper.spend(granted, times);
        }
    }
}
