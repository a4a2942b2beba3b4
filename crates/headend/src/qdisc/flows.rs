//! Assigns flows to the queues of a bundle: the common part of all schedulers that serve flows in
//! turn.

use super::bundle::{Bundle, Law, Laws};
use super::hash::{self, FlowHash};
use crate::context::Context;
use crate::metrics::sample::QueueInternals;
use crate::packet::Packet;
use crate::queue::{BacklogLimit, LineView};
use crate::rng::Rng;
use crate::units::{Limit, Rate};

/// Which packets overtake others where flows are served in turn.
pub(super) const IN_TURN: &str =
    "serves flows in turn, and one that sends little passes those that fill their own queues";

/// What [`Flows::new`] needs to build the queues.
#[derive(Debug)]
pub(super) struct Setup<'a> {
    /// Number of queues, where a hash assigns flows to them.
    pub(super) queues: u32,
    pub(super) hash: &'a hash::Config,
    /// The limit of all queues together.
    pub(super) limit: Limit,
    pub(super) law: Law,
}

/// Queues of flows, and the hash that assigns flows to them.
#[derive(Debug)]
pub(super) struct Flows {
    pub(super) bundle: Bundle,
    hash: FlowHash,
}

impl Flows {
    /// # Errors
    ///
    /// A sentence that says why no such queues can be built.
    pub(super) fn new(setup: Setup<'_>, rate: Rate, mut rng: Rng) -> Result<Self, String> {
        setup.hash.check(setup.queues)?;
        let hash = FlowHash::new(setup.hash, setup.queues, &mut rng);
        let laws = Laws::new(setup.law, rate, &mut rng)?;
        let limit = BacklogLimit::at_rate(setup.limit, rate);
        Ok(Self {
            bundle: Bundle::new(hash.queues(), limit, laws),
            hash,
        })
    }

    /// The queue of a packet that arrives.
    pub(super) fn place(&mut self, packet: &Packet, cx: &mut Context<'_>) -> usize {
        let Self { bundle, hash } = self;
        let queue = hash.place(packet, cx, bundle);
        if queue >= bundle.queues() {
            bundle.grow(queue + 1);
        }
        queue
    }

    /// Drops the newest packet of the longest queue until the limit is kept. Returns true if a
    /// packet was dropped.
    pub(super) fn push_out_tails(&mut self, line: &LineView<'_>, cx: &mut Context<'_>) -> bool {
        let is_over = self.bundle.is_over_limit();
        while self.bundle.is_over_limit() {
            let (longest, _) = self.bundle.longest();
            self.bundle.drop_last(longest, line, cx);
        }
        is_over
    }

    pub(super) fn internals(&self) -> QueueInternals {
        QueueInternals {
            hash_collisions: Some(self.hash.collisions() as f64),
            ..self.bundle.internals()
        }
    }
}
