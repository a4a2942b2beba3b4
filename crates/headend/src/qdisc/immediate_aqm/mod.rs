//! The low-latency queue of Low Latency DOCSIS (MULPI Annexes M, N, O and P).
//!
//! Packets are marked when they arrive, so that senders with scalable congestion control learn at
//! once of a queue. The queue is short: its limit is what the line carries in 10 ms.
//!
//! The steps at an arrival:
//!
//! 1. The [ramp](Ramp) gives the native probability of a mark, from the delay of the queue with the
//!    packet. A [virtual queue](virtual_queue) may take the place of the queue's own length.
//! 2. The packet is marked with the larger of the native probability and the one that the classic
//!    queue beside it adds ([`Coupling`](crate::queue::Coupling)). Marks come at [even
//!    distances](Recurrence).
//! 3. [Queue protection](protection) may redirect the packet to the classic queue, even though it
//!    was marked.
//! 4. The packet is enqueued, unless the queue is at its limit.
//!
//! The steps and their order are those of MULPI as the open simulator of CableLabs implements it
//! (`docs/models/immediate_aqm.md`). Choices where the text is silent:
//!
//! - The sum that decides marks is that of all flows, and grows with each packet that arrives. Only
//!   packets of L4S senders (ECT(1), or already CE) carry a mark; no other packet is dropped in
//!   place of a mark.
//! - The delay counts the MAC header of each packet; the limit does not.
//! - A packet is enqueued while the queue holds less than its limit minus the largest frame.

mod protection;
mod ramp;
mod virtual_queue;

use self::protection::{Arrival, QueueProtection};
use self::ramp::Ramp;
pub(crate) use self::ramp::{HIGHEST, LARGEST_FRAME};
use self::virtual_queue::VirtualQueue;
use super::hash::five_tuple;
use super::recurrence::Recurrence;
use super::{Parameters, QueueDiscipline};
use crate::collection::Deque;
use crate::context::Context;
use crate::metrics::sample::QueueInternals;
use crate::packet::{Ecn, Packet};
use crate::queue::{Backlog, BacklogLimit, Depth, Limited, LineView, Shaper};
use crate::rng::Rng;
use crate::time::{Duration, Instant};
use crate::trace::DropReason;
use crate::units::{ByteCount, Limit, Rate};

/// Parameters of immediate AQM.
///
/// Use it as the queue of a low-latency service flow: `low_latency` of a cable line sets it up
/// together with its classifiers, its coupling and queue protection. As the only queue of a line it
/// suits L4S senders alone, because packets of other senders are dropped at its limit.
///
/// Source: MULPI Annex N (CM-SP-MULPIv3.1); the coupling: RFC 9332.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Size of the queue: a size, a time at the line's rate, a number of packets, or "unlimited"
    /// (TLV 24.35). Default: what the rate carries in 10 ms, and at least 40 000 B. Raising it lets
    /// longer bursts pass without drops.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<Limit>,
    /// Delay from which on every packet is marked (MAXTH, TLV 24.40.4). Below 67.3 Mbit/s, it is
    /// replaced by a longer one: the time for two frames of 2000 B plus the range. Raising it makes
    /// packets wait longer, and fills the line better.
    pub maximum_threshold: Duration,
    /// The delays over which marking rises from none to all packets: 2 to this power, in
    /// nanoseconds (`LG_RANGE`, TLV 24.40.5). Raising it makes marking begin at a shorter delay.
    pub range_exponent: u8,
    /// How the delay of the queue is estimated: `backlog` or `virtual_queue`. The key `estimator`
    /// of `low_latency` has a default of its own, `virtual_queue` upstream.
    pub estimator: Estimator,
    /// Queue protection, in the queue of a low-latency service flow.
    #[serde(skip)]
    pub protection: Option<Protection>,
}

/// How the low-latency queue estimates its delay.
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
pub enum Estimator {
    /// The bytes in the queue, divided by the rate. What waits for request and grant counts as a
    /// queue, so upstream marks begin on an idle line.
    #[default]
    Backlog,
    /// A virtual queue, which drains at the rate without waiting for grants (MULPI Annex O), and so
    /// shows only what exceeds the rate.
    VirtualQueue,
}

/// Parameters of queue protection (MULPI Annex P, RFC 9957).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Protection {
    /// Delay above which flows are judged (`CRITICALqL`). `None` and zero: the upper end of the
    /// ramp.
    pub latency_threshold: Option<Duration>,
    /// Queuing score above which a flow's packets go to the classic queue while the delay is just
    /// above its threshold (`CRITICALqLSCORE`).
    pub score_threshold: Duration,
    /// Scores decay at 2 to this power bytes in 2^30 ns (`LG_AGING`).
    pub drain_exponent: u8,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            // MULPI Annex N, with the default of MAXTH that replaced MINTH in May 2019.
            limit: None,
            maximum_threshold: Duration::from_millis(1),
            range_exponent: 19,
            estimator: Estimator::default(),
            protection: None,
        }
    }
}

/// The smallest default limit, in bytes: 20 frames of the largest size.
const LEAST_LIMIT: u64 = 20 * LARGEST_FRAME;

/// The smallest threshold: thresholds are coded in microseconds.
const LEAST: Duration = Duration::from_micros(1);

/// The highest exponent of the range (MULPI Annex N).
pub(crate) const MOST_RANGE: u8 = 25;

impl Limited for Config {
    fn written_limit(&self) -> Option<Limit> {
        self.limit
    }

    fn limit(&self, rate: Rate) -> Result<Limit, String> {
        let bytes = rate.bytes_in(Duration::from_millis(10)).max(LEAST_LIMIT);
        Ok(self.limit.unwrap_or(Limit::Bytes(ByteCount(bytes))))
    }
}

impl Parameters for Config {
    fn build(&self, rate: Rate, rng: Rng) -> Result<Box<dyn QueueDiscipline>, String> {
        self.check()?;
        let limit = BacklogLimit::at_rate(self.limit(rate)?, rate);
        if let BacklogLimit::Bytes(bytes) = limit
            && bytes <= LARGEST_FRAME
        {
            let largest = LARGEST_FRAME;
            return Err(format!(
                "limit must be larger than a frame of {largest} B, not {bytes} B"
            ));
        }
        Ok(Box::new(ImmediateAqm::new(self.clone(), limit, rng)))
    }
}

impl Config {
    /// The two ends of the ramp at this rate, which may be higher than the configured ones (MINTH
    /// and MAXTH).
    pub(crate) fn thresholds(&self, rate: Rate) -> [Duration; 2] {
        let ramp = self.ramp(rate);
        [ramp.minimum, ramp.maximum]
    }

    fn ramp(&self, rate: Rate) -> Ramp {
        Ramp::new(self.maximum_threshold, self.range_exponent, rate)
    }

    /// Checks the parameters; the limit is checked when the queue is built.
    ///
    /// # Errors
    ///
    /// A sentence about the first invalid parameter.
    pub fn check(&self) -> Result<(), String> {
        check_threshold("maximum_threshold", self.maximum_threshold)?;
        if self.range_exponent > MOST_RANGE {
            let found = self.range_exponent;
            return Err(format!(
                "range_exponent must be from 0 to {MOST_RANGE}, not {found}"
            ));
        }
        self.protection.map_or(Ok(()), Protection::check)
    }
}

impl Protection {
    /// Checks the parameters.
    ///
    /// # Errors
    ///
    /// A sentence about the first invalid parameter.
    pub fn check(self) -> Result<(), String> {
        if let Some(delay) = self.latency_threshold.filter(|delay| !delay.is_zero()) {
            check_threshold("latency_threshold", delay)?;
        }
        check_threshold("score_threshold", self.score_threshold)?;
        if self.drain_exponent > protection::LG_SECOND {
            let (most, found) = (protection::LG_SECOND, self.drain_exponent);
            return Err(format!(
                "drain_exponent must be from 0 to {most}, not {found}"
            ));
        }
        Ok(())
    }
}

/// Checks that a threshold can be coded: 16 bits of microseconds.
fn check_threshold(name: &str, threshold: Duration) -> Result<(), String> {
    if (LEAST..=HIGHEST).contains(&threshold) {
        return Ok(());
    }
    let highest = HIGHEST;
    Err(format!(
        "{name} must be from {LEAST} to {highest}, not {threshold}"
    ))
}

/// The queue, with what it knows of the delay.
#[derive(Debug)]
pub struct ImmediateAqm {
    config: Config,
    backlog: Backlog,
    limit: BacklogLimit,
    ramp: Ramp,
    /// `None` where the delay is estimated from the backlog.
    virtual_queue: Option<VirtualQueue>,
    recurrence: Recurrence,
    protection: Option<QueueProtection>,
    /// Key of the hash over the headers of a flow.
    salt: u64,
    /// Packets that wait until the link takes them to the classic queue.
    redirected: Deque<Packet>,
    /// Bytes of a MAC header, and the coupled probability, at the latest arrival.
    mac_header: u64,
    coupled: f64,
}

impl ImmediateAqm {
    /// An empty queue.
    pub fn new(config: Config, limit: BacklogLimit, mut rng: Rng) -> Self {
        let is_virtual = config.estimator == Estimator::VirtualQueue;
        Self {
            // The limit is tested before a packet reaches the backlog.
            backlog: Backlog::new(BacklogLimit::Unlimited),
            limit,
            ramp: config.ramp(Rate(0)),
            virtual_queue: is_virtual.then(VirtualQueue::default),
            recurrence: Recurrence::default(),
            protection: config.protection.map(QueueProtection::new),
            salt: rng.below(u64::MAX),
            redirected: Deque::default(),
            mac_header: 0,
            coupled: 0.0,
            config,
        }
    }
}

impl QueueDiscipline for ImmediateAqm {
    fn enqueue(&mut self, mut packet: Packet, line: &LineView<'_>, cx: &mut Context<'_>) {
        self.catch_up(line, cx.now);
        let bytes = line.framing.size_on_wire(packet.size);
        let is_full = self.is_full();
        let delay = self.delay_with(bytes, cx.now);
        let native = self.ramp.probability(delay);
        if self.recurrence.recurs(native.max(self.coupled)) && is_l4s(packet.ecn) {
            cx.mark(&mut packet);
        }
        if self.sanctions(&packet, bytes, delay, cx) {
            self.give_back(bytes);
            self.redirected.push_back(packet);
        } else if is_full {
            self.give_back(bytes);
            cx.discard(packet, DropReason::Overlimit);
        } else {
            self.backlog.push(packet, line, cx);
        }
    }

    fn dequeue(&mut self, line: &LineView<'_>, cx: &mut Context<'_>) -> Option<Packet> {
        self.catch_up(line, cx.now);
        self.backlog.pop(line)
    }

    fn release(&mut self, line: &LineView<'_>) -> Option<Packet> {
        self.backlog.pop(line)
    }

    fn depth(&self) -> Depth {
        self.backlog.depth()
    }

    fn next_update(&self) -> Option<Instant> {
        let (queue, waiting) = (self.virtual_queue.as_ref()?, self.backlog.depth());
        queue.next_update(waiting.bytes)
    }

    fn is_periodic(&self) -> bool {
        self.virtual_queue.is_some()
    }

    fn looks_at_grants(&self) -> bool {
        false
    }

    fn update(&mut self, line: &LineView<'_>, cx: &mut Context<'_>) {
        self.catch_up(line, cx.now);
    }

    fn take_redirected(&mut self) -> Option<Packet> {
        self.redirected.pop_front()
    }

    fn internals(&self) -> QueueInternals {
        let delay = match &self.virtual_queue {
            Some(queue) => queue.delay(),
            None => self.ramp.delay(self.waiting_bytes()),
        };
        QueueInternals {
            drop_probability: Some(self.ramp.probability(delay).max(self.coupled)),
            delay_estimate_ns: Some(delay.as_nanos() as f64),
            ..QueueInternals::default()
        }
    }
}

/// The steps at an arrival.
impl ImmediateAqm {
    /// Takes over what the line says now, and carries out the updates that are due.
    fn catch_up(&mut self, line: &LineView<'_>, now: Instant) {
        let rate = line.shaper.map_or(line.rate, Shaper::sustained);
        if rate != self.ramp.rate {
            self.ramp = self.config.ramp(rate);
        }
        let coupling = line.coupling.unwrap_or_default();
        self.mac_header = coupling.mac_header;
        self.coupled = coupling.probability.min(1.0);
        if let Some(queue) = &mut self.virtual_queue {
            queue.catch_up(self.backlog.depth().bytes, rate, &coupling, now);
        }
    }

    /// The delay of the queue with a packet of `bytes` that arrives now (`qdelay`).
    fn delay_with(&mut self, bytes: u64, now: Instant) -> Duration {
        if let Some(queue) = &mut self.virtual_queue {
            return queue.add(self.ramp.delay(bytes), now);
        }
        self.ramp
            .delay(self.waiting_bytes() + bytes + self.mac_header)
    }

    /// Bytes in the queue, with the MAC header of each packet.
    fn waiting_bytes(&self) -> u64 {
        let waiting = self.backlog.depth();
        waiting.bytes + waiting.packets * self.mac_header
    }

    /// Whether the queue accepts no further packet.
    fn is_full(&self) -> bool {
        let waiting = self.backlog.depth();
        match self.limit {
            BacklogLimit::Bytes(limit) => {
                // Even the largest frame then fits.
                let room = limit - LARGEST_FRAME;
                match &self.virtual_queue {
                    // Without a rate, a virtual queue has no length.
                    Some(queue) if self.ramp.rate > Rate(0) => {
                        queue.delay() >= self.ramp.delay(room)
                    }
                    _ => waiting.bytes >= room,
                }
            }
            other => !other.admits(waiting, 0),
        }
    }

    /// Whether queue protection redirects the packet.
    fn sanctions(
        &mut self,
        packet: &Packet,
        bytes: u64,
        delay: Duration,
        cx: &mut Context<'_>,
    ) -> bool {
        let Some(protection) = &mut self.protection else {
            return false;
        };
        let arrival = Arrival {
            flow: five_tuple(self.salt, cx.header(packet.flow), packet.from) as u32,
            size: bytes + self.mac_header,
            delay,
            probability: self.ramp.probability(delay),
            at: cx.now,
        };
        let judged = protection.judge(arrival, self.ramp.maximum);
        cx.note_judged(packet, judged);
        judged.is_sanctioned
    }

    /// A packet that was counted is not enqueued.
    fn give_back(&mut self, bytes: u64) {
        if let Some(queue) = &mut self.virtual_queue {
            queue.give_back(self.ramp.delay(bytes));
        }
    }
}

/// Whether the packet is of an L4S sender (RFC 9331).
fn is_l4s(ecn: Ecn) -> bool {
    matches!(ecn, Ecn::Ect1 | Ecn::Ce)
}

#[cfg(test)]
mod tests;
