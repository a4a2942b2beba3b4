//! An aggregate service flow at the CMTS: a classic and a low-latency flow that are one member of
//! the scheduler, with one pair of token buckets.
//!
//! In a turn of the member, weighted round robin over bytes chooses one of the two queues. Its
//! packet is dequeued in advance, like that of any service flow, and waits for the tokens of the
//! aggregate. Until it is sent, the other queue waits too: a packet that waits for tokens is not
//! overtaken by one of the other queue.
//!
//! A flow with a limit of its own has token buckets of its own besides. It takes part in the choice
//! once they hold the tokens of its next packet.

use super::super::low_latency::{Aggregate, Coupled, Member};
use super::{ServiceFlow, Wake};
use crate::context::Context;
use crate::link::token_bucket::{Limits, TokenBuckets};
use crate::packet::Packet;
use crate::queue::{Coupling, Framing};
use crate::time::{Duration, Instant};
use crate::units::Rate;

/// A flow's place in an aggregate.
#[derive(Debug)]
pub(super) struct Place {
    /// Index of the pair.
    pub pair: usize,
    /// What its queue knows of the other flow.
    pub member: Member,
}

/// The two flows of an aggregate.
#[derive(Debug)]
pub(super) struct FlowPair {
    /// Its index among the pairs.
    index: usize,
    /// The flows. The index of the classic flow is that of the member of the scheduler, too.
    coupled: Coupled,
    /// The token buckets of the aggregate.
    pub buckets: TokenBuckets,
    /// A dequeued packet waits for tokens of the aggregate.
    pub awaits_tokens: bool,
    /// The flow whose dequeued packet waits for tokens of the aggregate, or has them and waits for
    /// the channel.
    chosen: Option<usize>,
    /// When that packet has its tokens.
    admitted: Instant,
    turns: WeightedTurns,
}

impl FlowPair {
    /// The pair with this `index`, whose flows have these `limits` of their own.
    pub(super) fn new(
        index: usize,
        aggregate: &Aggregate,
        limits: [Limits; 2],
        token_interval: Duration,
    ) -> Self {
        Self {
            index,
            coupled: Coupled::new(aggregate, limits),
            buckets: TokenBuckets::new(aggregate.limits).with_tick(token_interval),
            awaits_tokens: false,
            chosen: None,
            admitted: Instant::ZERO,
            turns: WeightedTurns::new(aggregate.weight),
        }
    }

    /// Gives its flows their places. A MAC header has `mac_header` bytes.
    pub(super) fn join(&self, flows: &mut [ServiceFlow], mac_header: u64) {
        let coupled = &self.coupled;
        let coupling = Coupling {
            mac_header,
            ..Coupling::default()
        };
        for (flow, member) in [
            (
                coupled.classic,
                Member::classic(coupled.classic_rate(Rate(0))),
            ),
            (coupled.low, Member::low(coupled.low_rate(), coupling)),
        ] {
            let pair = self.index;
            flows[flow].place = Some(Box::new(Place { pair, member }));
        }
    }

    /// Index of the classic flow.
    pub(super) fn classic(&self) -> usize {
        self.coupled.classic
    }

    /// Index of the low-latency flow.
    pub(super) fn low(&self) -> usize {
        self.coupled.low
    }

    /// A packet arrives at one of the flows. The low-latency queue may redirect it to the classic
    /// queue.
    pub(super) fn arrive(
        &mut self,
        flow: usize,
        packet: Packet,
        flows: &mut [ServiceFlow],
        cx: &mut Context<'_>,
    ) {
        self.update_coupling(flow, flows, cx.now);
        flows[flow].enqueue(packet, cx);
        if flow == self.low() {
            self.redirect(flows, cx);
        }
    }

    /// Packets that the low-latency queue has redirected arrive at the classic queue.
    pub(super) fn redirect(&self, flows: &mut [ServiceFlow], cx: &mut Context<'_>) {
        let Coupled { classic, low, .. } = self.coupled;
        while let Some(packet) = flows[low].queue.take_redirected() {
            self.update_coupling(classic, flows, cx.now);
            flows[classic].enqueue(packet, cx);
        }
    }

    /// Whether the dequeued packet of `flow` has taken its tokens of the aggregate.
    pub(super) fn admits(&self, flow: usize) -> bool {
        self.chosen == Some(flow)
    }

    /// Sets what the queue of `flow` knows of the other flow. This precedes everything that the
    /// queue does.
    pub(super) fn update_coupling(&self, flow: usize, flows: &mut [ServiceFlow], now: Instant) {
        let Coupled { classic, low, .. } = self.coupled;
        if flow == low {
            let base = flows[classic].queue.base_probability();
            if let Some(place) = &mut flows[low].place {
                place.member.set_probability(self.coupled.probability(base));
            }
        } else {
            let low = &mut flows[low].place;
            let measured = (low.as_mut()).map_or(Rate(0), |place| place.member.measured(now));
            if let Some(place) = &mut flows[classic].place {
                place.member.set_rate(self.coupled.classic_rate(measured));
            }
        }
    }

    /// Whether the member has a packet that may be sent.
    pub(super) fn may_send(&self, flows: &[ServiceFlow]) -> bool {
        let Coupled { classic, low, .. } = self.coupled;
        !self.awaits_tokens && (flows[low].may_send() || flows[classic].may_send())
    }

    /// The packet that may be sent now, and its flow. If the next packet must wait for tokens of
    /// the aggregate, a wake-up is scheduled.
    pub(super) fn take(
        &mut self,
        flows: &mut [ServiceFlow],
        cx: &mut Context<'_>,
    ) -> Option<(usize, Packet)> {
        if let Some(flow) = self.chosen.take() {
            return self.take_chosen(flow, flows, cx);
        }
        let Coupled { classic, low, .. } = self.coupled;
        let is_contended = flows[low].may_send() && flows[classic].may_send();
        let order = if is_contended && !self.turns.is_turn_of_low() {
            [classic, low]
        } else {
            [low, classic]
        };
        for flow in order {
            if !flows[flow].may_send() {
                continue;
            }
            self.update_coupling(flow, flows, cx.now);
            if let Some(packet) = flows[flow].take(flow, cx) {
                let bytes = Framing::ETHERNET.bytes(&packet);
                let is_contended = is_contended && flow == order[0];
                self.turns.sent(flow == low, bytes, is_contended);
                return self.admit(flow, packet, flows, cx);
            }
        }
        None
    }

    /// A dequeued packet gets the tokens of the aggregate, or waits for them.
    fn admit(
        &mut self,
        flow: usize,
        packet: Packet,
        flows: &mut [ServiceFlow],
        cx: &mut Context<'_>,
    ) -> Option<(usize, Packet)> {
        let bytes = Framing::ETHERNET.bytes(&packet);
        self.admitted = self.buckets.admit(cx.now, bytes);
        if self.admitted <= cx.now {
            return Some((flow, packet));
        }
        let one = &mut flows[flow];
        cx.recorder().mac(one.queue.id()).packets_delayed += 1;
        one.dequeued = Some(packet);
        self.chosen = Some(flow);
        self.awaits_tokens = true;
        cx.wake_at(self.admitted, Wake::Shared(self.index).token());
        None
    }

    /// A packet that was dequeued earlier leaves now.
    fn take_chosen(
        &mut self,
        flow: usize,
        flows: &mut [ServiceFlow],
        cx: &mut Context<'_>,
    ) -> Option<(usize, Packet)> {
        let one = &mut flows[flow];
        let packet = one.dequeued.take()?;
        let bytes = Framing::ETHERNET.bytes(&packet);
        if self.admitted < cx.now {
            self.buckets.delayed(cx.now, bytes);
        }
        if one.admitted < cx.now {
            one.buckets.delayed(cx.now, bytes);
        }
        Some((flow, packet))
    }

    /// Sets other limits from now on: those of the aggregate if `flow` is the classic flow, its own
    /// if it is the low-latency flow. `rate` is the nominal rate of its queue.
    pub(super) fn change(
        &mut self,
        flow: usize,
        limits: Limits,
        rate: Rate,
        flows: &mut [ServiceFlow],
        now: Instant,
    ) {
        if flow == self.classic() {
            self.coupled.set_limits(limits);
            self.buckets.change(now, limits);
            flows[flow].rate = rate;
        } else {
            self.coupled.set_low_limits(limits);
            flows[flow].change(limits, rate, now);
        }
        if let Some(place) = &mut flows[self.low()].place {
            place.member.set_rate(self.coupled.low_rate());
        }
    }
}

/// Weighted round robin over bytes, between a classic and a low-latency queue.
///
/// While both queues have packets, the low-latency queue sends `weight`/256 of the bytes, whatever
/// the sizes of the packets. While only one of them has packets, what it sends reduces the lead of
/// the other one, down to none: time without packets is not made up for.
#[derive(Debug, Clone, Copy)]
struct WeightedTurns {
    /// Share of the low-latency queue, in 256ths.
    weight: u8,
    /// By how much the low-latency queue is ahead of its share, in 256ths of a byte. Negative: the
    /// classic queue is ahead.
    ahead: i64,
}

impl WeightedTurns {
    fn new(weight: u8) -> Self {
        Self { weight, ahead: 0 }
    }

    /// Whether the low-latency queue sends next if both queues have packets.
    fn is_turn_of_low(self) -> bool {
        self.ahead <= 0
    }

    /// A queue sends a packet of `bytes`. `is_contended` says whether the other one has a packet.
    fn sent(&mut self, is_low: bool, bytes: u64, is_contended: bool) {
        let (bytes, weight) = (bytes as i64, i64::from(self.weight));
        let ahead = if is_low {
            self.ahead + bytes * (256 - weight)
        } else {
            self.ahead - bytes * weight
        };
        self.ahead = match (is_contended, is_low) {
            (true, _) => ahead,
            (false, true) => ahead.min(0),
            (false, false) => ahead.max(0),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes that the low-latency and the classic queue send, if both always have packets of these
    /// sizes.
    fn share(weight: u8, sizes: [u64; 2], packets: usize) -> [u64; 2] {
        let mut turns = WeightedTurns::new(weight);
        let mut sent = [0; 2];
        for _ in 0..packets {
            let is_low = turns.is_turn_of_low();
            let of = usize::from(!is_low);
            turns.sent(is_low, sizes[of], true);
            sent[of] += sizes[of];
        }
        sent
    }

    #[test]
    fn the_weight_divides_the_bytes_whatever_the_sizes() {
        for weight in [1, 26, 128, 230, 255] {
            for sizes in [[1518, 1518], [64, 1518], [1518, 64], [218, 1018]] {
                let [low, classic] = share(weight, sizes, 100_000);
                let exact = (low + classic) as f64 * f64::from(weight) / 256.0;
                // Never more than one packet away from its share.
                assert!(
                    (low as f64 - exact).abs() <= 1518.0,
                    "{weight} {sizes:?}: {low} instead of {exact}"
                );
            }
        }
    }

    #[test]
    fn equal_packets_are_shared_230_to_26() {
        assert_eq!(share(230, [1000, 1000], 256), [230_000, 26_000]);
        // 17 968.75 of 20 000 packets. The public ns-3 module gives 9465.
        let [low, _] = share(230, [1, 1], 20_000);
        assert!(low.abs_diff(17_969) <= 1, "{low}");
    }

    #[test]
    fn time_without_packets_is_not_made_up_for() {
        for is_low in [true, false] {
            let mut turns = WeightedTurns::new(128);
            for _ in 0..1000 {
                turns.sent(is_low, 1000, false);
            }
            assert_eq!(turns.ahead, 0);
        }
    }

    #[test]
    fn what_a_queue_sends_alone_reduces_the_lead_of_the_other() {
        let mut turns = WeightedTurns::new(230);
        turns.sent(true, 1000, true);
        assert_eq!(turns.ahead, 26_000);
        turns.sent(false, 100, false);
        assert_eq!(turns.ahead, 3_000);
        turns.sent(false, 100, false);
        assert_eq!(turns.ahead, 0);
    }
}
