//! CoDel, Controlled Delay (RFC 8289): drops packets by the time that they have waited.
//!
//! A queue that absorbs a burst is empty again within a round trip. If every packet still waits too
//! long after `interval`, the queue is a standing queue, which only adds delay. CoDel therefore
//! tests each packet when it leaves:
//!
//! - Once the sojourn time has stayed at or above `target` for a whole `interval`, CoDel drops the
//!   packet at the head.
//! - The next drop follows `interval/√count` later, and `count` grows by one with each drop. By the
//!   square-root law of TCP, the rate of the senders then falls linearly.
//! - CoDel stops as soon as one packet leaves with a sojourn time below `target`.
//!
//! Written from the pseudo-code of RFC 8289 §5; the names are those of the RFC.
//!
//! Deviation: the pseudo-code only drops. With `ecn`, an ECN-capable packet is marked instead. A
//! mark advances the schedule as a drop does, and the marked packet is sent. When the schedule is
//! behind, it therefore catches up by one mark per packet.

use super::Aqm;
use super::drop_schedule::{self, DropSchedule};
use super::inverse_sqrt::InverseSqrt;
use crate::aqm::LawParameters;
use crate::context::Context;
use crate::packet::Packet;
use crate::queue::{Backlog, LineView};
use crate::rng::Rng;
use crate::time::{Duration, Instant};
use crate::trace::DropReason;
use crate::units::{Limit, Rate};

/// Parameters of CoDel.
///
/// Use it where the line's rate varies or is unknown, because CoDel uses only waiting times. It
/// decides when a packet leaves, which does not suit a modem that fills its grants in advance.
///
/// Source: RFC 8289.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Limit of the queue: a size, a time at the line's rate, a number of packets, or "unlimited".
    /// Raising it lets the queue absorb longer bursts; CoDel, not the limit, keeps the delay short.
    pub limit: Limit,
    /// Sojourn time that is acceptable permanently. Raising it fills the line better when few
    /// connections share it, and makes all packets wait longer.
    pub target: Duration,
    /// How long the sojourn time must stay above the target before the first drop: about the
    /// longest round-trip time of the connections. Raising it tolerates longer bursts and reacts
    /// later.
    pub interval: Duration,
    /// Whether ECN-capable packets are marked instead of dropped.
    pub ecn: bool,
    /// How the inverse square root in the control law is computed: `exact`, or approximated as in
    /// implementations, by `newton` steps or from a `table`.
    pub inverse_sqrt: InverseSqrt,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            // The limit of the Linux and ns-3 implementations.
            limit: Limit::Packets(1000),
            // RFC 8289 §3.2 and §4.3: 5 to 10 % of the round-trip time; 5 ms for the Internet.
            target: Duration::from_millis(5),
            // RFC 8289 §4.2: 100 ms suits round-trip times from 10 ms to 1 s.
            interval: Duration::from_millis(100),
            ecn: true,
            // RFC 8289 §5.6 divides by the root.
            inverse_sqrt: InverseSqrt::Exact,
        }
    }
}

impl LawParameters for Config {
    type Law = Codel;

    fn law(&self, _rate: Rate, _rng: Rng) -> Result<Codel, String> {
        self.check()?;
        Ok(Codel::new(self))
    }
}

impl Config {
    /// Checks the parameters.
    ///
    /// # Errors
    ///
    /// A sentence about the first invalid parameter.
    pub fn check(&self) -> Result<(), String> {
        drop_schedule::check_target(self.target, self.interval)
    }
}

/// CoDel over one backlog.
#[derive(Debug)]
pub struct Codel {
    target: Duration,
    ecn: bool,
    /// Whether the last packet of a backlog is never dropped.
    spares_last: bool,
    schedule: DropSchedule,
}

impl Codel {
    /// The control law before its first packet.
    pub fn new(config: &Config) -> Self {
        Self {
            target: config.target,
            ecn: config.ecn,
            spares_last: false,
            schedule: DropSchedule::new(config.interval, config.inverse_sqrt),
        }
    }

    /// Changes the law so that the last packet of a backlog is never dropped: the CoDel of the ns-2
    /// SFQ-CoDel.
    #[must_use]
    pub fn sparing_the_last(mut self) -> Self {
        self.spares_last = true;
        self
    }
}

impl Aqm for Codel {
    fn dequeue(
        &mut self,
        backlog: &mut Backlog,
        line: &LineView<'_>,
        cx: &mut Context<'_>,
    ) -> Option<Packet> {
        if !self.is_standing(backlog, line, cx.now) {
            self.schedule.stop();
            return backlog.pop(line);
        }
        if self.schedule.dropping {
            self.keep_dropping(backlog, line, cx)
        } else {
            self.start_dropping(backlog, line, cx)
        }
    }

    fn is_periodic(&self) -> bool {
        false
    }
}

impl Codel {
    /// RFC 8289 §5.6, `dodequeue`: whether the packet at the head may be dropped (`ok_to_drop`).
    /// The packet is tested before it is dequeued.
    #[inline(always)]
    fn is_standing(&mut self, backlog: &Backlog, line: &LineView<'_>, now: Instant) -> bool {
        let is_excess = backlog.head().is_some_and(|head| {
            let sojourn = now - head.enqueued_at;
            // The packets in all queues of the line keep it busy, not only those in this backlog.
            let waiting = backlog.others() + backlog.depth().bytes;
            let left = waiting - line.framing.bytes(head);
            let is_spared = self.spares_last && backlog.depth().packets == 1;
            // The second test keeps a slow line busy: a single packet is not a standing queue.
            sojourn >= self.target && left > line.max_packet() && !is_spared
        });
        self.schedule.is_standing(is_excess, now)
    }

    /// RFC 8289 §5.5, in the dropping state: drops or marks packets until the schedule is no longer
    /// behind.
    #[inline(never)]
    fn keep_dropping(
        &mut self,
        backlog: &mut Backlog,
        line: &LineView<'_>,
        cx: &mut Context<'_>,
    ) -> Option<Packet> {
        while self.schedule.is_due(cx.now) {
            self.schedule.count_drop();
            let marked = self.signal(backlog, line, cx);
            if marked.is_none() && !self.is_standing(backlog, line, cx.now) {
                self.schedule.stop();
                break;
            }
            self.schedule.move_on();
            if marked.is_some() {
                return marked;
            }
        }
        backlog.pop(line)
    }

    /// RFC 8289 §5.5, entering the dropping state.
    #[inline(never)]
    fn start_dropping(
        &mut self,
        backlog: &mut Backlog,
        line: &LineView<'_>,
        cx: &mut Context<'_>,
    ) -> Option<Packet> {
        let marked = self.signal(backlog, line, cx);
        self.schedule.enter(cx.now);
        marked.or_else(|| {
            // The packet sent in place of the dropped one is not dropped, but it must pass through
            // the test.
            self.is_standing(backlog, line, cx.now);
            backlog.pop(line)
        })
    }

    /// Marks the head and returns it, or drops it.
    fn signal(
        &self,
        backlog: &mut Backlog,
        line: &LineView<'_>,
        cx: &mut Context<'_>,
    ) -> Option<Packet> {
        let mut packet = backlog.pop(line)?;
        if self.ecn && cx.mark(&mut packet) {
            return Some(packet);
        }
        cx.discard(packet, DropReason::Congested);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::FlowId;
    use crate::packet::Ecn;
    use crate::queue::BacklogLimit;
    use crate::testing::Bench;
    use crate::units::Rate;

    const LINE: LineView<'static> = LineView::plain(Rate(10_000_000));

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn at(millis: u64) -> Instant {
        Instant::ZERO + ms(millis)
    }

    /// CoDel over a backlog; the tests call both directly.
    struct Scene {
        bench: Bench,
        flow: FlowId,
        backlog: Backlog,
        codel: Codel,
    }

    impl Scene {
        /// A backlog of `waiting` packets of 1000 bytes that have just arrived.
        fn new(config: &Config, waiting: usize, ecn: Ecn) -> Self {
            let mut bench = Bench::new();
            let flow = bench.flow(0);
            let backlog = Backlog::new(BacklogLimit::Unlimited);
            let mut scene = Self {
                bench,
                flow,
                backlog,
                codel: Codel::new(config),
            };
            scene.arrive(waiting, ecn);
            scene
        }

        fn arrive(&mut self, packets: usize, ecn: Ecn) {
            for _ in 0..packets {
                let mut packet = self.bench.packet(self.flow, 1000);
                packet.ecn = ecn;
                self.codel
                    .enqueue(&mut self.backlog, packet, &LINE, &mut self.bench.cx());
            }
            self.bench.take_log();
        }

        /// Dequeues at `now`. Returns the number of the packet sent, if any, and how many were
        /// discarded before it.
        fn dequeue(&mut self, now: Instant) -> (Option<(u64, Ecn)>, usize) {
            self.bench.now = now;
            let sent = self
                .codel
                .dequeue(&mut self.backlog, &LINE, &mut self.bench.cx());
            let seen = sent.as_ref().map(|packet| (packet.seq, packet.ecn));
            if let Some(packet) = sent {
                self.bench.end(packet);
            }
            (seen, self.bench.take_discards().len())
        }

        /// Times of the discards, when the line sends a packet every 10 µs from `from` to `to`.
        fn discards(&mut self, from: Instant, to: Instant) -> Vec<Instant> {
            let step = Duration::from_micros(10);
            let mut found = Vec::new();
            let mut now = from;
            while now <= to {
                let (_, discards) = self.dequeue(now);
                found.extend(std::iter::repeat_n(now, discards));
                now += step;
            }
            found
        }
    }

    /// Times of the discards in a standing queue, in multiples of 10 µs after the first one.
    fn schedule(config: &Config, span: Duration) -> Vec<u64> {
        let (start, end) = (at(50), at(50) + config.interval + span);
        let mut scene = Scene::new(config, 130_000, Ecn::NotEct);
        let times = scene.discards(start, end);
        times
            .iter()
            .map(|&time| (time - times[0]).as_nanos().div_ceil(10_000))
            .collect()
    }

    /// The same for given times in milliseconds: the first sending opportunity at or after each.
    fn opportunities(times: &[f64]) -> Vec<u64> {
        times
            .iter()
            .map(|time| (time * 100.0).ceil() as u64)
            .collect()
    }

    #[test]
    fn continuous_overload_is_dropped_on_the_square_root_schedule() {
        let expected = [
            0.0, 100.0, 170.7107, 228.4457, 278.4457, 323.1671, 363.9919, 401.7884, 437.1437,
            470.4771,
        ];
        assert_eq!(
            schedule(&Config::default(), ms(480)),
            opportunities(&expected)
        );
    }

    #[test]
    fn the_schedule_scales_with_the_interval() {
        let config = Config {
            interval: ms(150),
            ..Config::default()
        };
        let expected = [
            0.0, 150.0, 256.0660, 342.6685, 417.6685, 484.7506, 545.9878, 602.6826, 655.7156,
            705.7156,
        ];
        assert_eq!(schedule(&config, ms(710)), opportunities(&expected));
    }

    #[test]
    fn a_sojourn_time_just_below_the_target_is_no_excess_and_the_target_is() {
        let mut scene = Scene::new(&Config::default(), 10, Ecn::NotEct);
        scene.dequeue(at(5) - Duration::from_nanos(1));
        assert_eq!(scene.codel.schedule.first_above, None);
        scene.dequeue(at(5));
        assert_eq!(scene.codel.schedule.first_above, Some(at(105)));
    }

    #[test]
    fn the_first_drop_comes_after_exactly_one_interval_of_excess() {
        let mut scene = Scene::new(&Config::default(), 10, Ecn::NotEct);
        scene.dequeue(at(5));
        let (_, early) = scene.dequeue(at(105) - Duration::from_nanos(1));
        let (sent, due) = scene.dequeue(at(105));
        assert_eq!((early, due), (0, 1));
        assert_eq!(
            sent.map(|(number, _)| number),
            Some(3),
            "the next packet is sent instead"
        );
        assert!(scene.codel.schedule.dropping);
    }

    #[test]
    fn one_packet_below_the_target_ends_the_excess() {
        let mut scene = Scene::new(&Config::default(), 2, Ecn::NotEct);
        scene.bench.now = at(90);
        scene.arrive(10, Ecn::NotEct);
        scene.dequeue(at(91));
        scene.dequeue(at(92));
        assert_eq!(scene.codel.schedule.first_above, Some(at(191)));
        scene.dequeue(at(93));
        assert_eq!(
            scene.codel.schedule.first_above, None,
            "it had waited for 3 ms"
        );
    }

    #[test]
    fn a_backlog_of_one_largest_packet_is_never_dropped_from() {
        for (waiting, discarded) in [(4, 0), (5, 1)] {
            // Two packets are sent before the interval ends. The third leaves 1000 or 2000 bytes in
            // the queue.
            let mut scene = Scene::new(&Config::default(), waiting, Ecn::NotEct);
            scene.dequeue(at(5));
            scene.dequeue(at(50));
            assert_eq!(
                scene.dequeue(at(200)).1,
                discarded,
                "with {waiting} packets"
            );
        }
    }

    #[test]
    fn dropping_ends_when_a_packet_leaves_in_time() {
        let mut scene = Scene::new(&Config::default(), 10, Ecn::NotEct);
        scene.dequeue(at(5));
        scene.dequeue(at(105));
        assert!(scene.codel.schedule.dropping);
        while scene.dequeue(at(106)).0.is_some() {}
        assert!(
            !scene.codel.schedule.dropping,
            "an empty queue has no excess"
        );
        assert_eq!(scene.codel.schedule.first_above, None);
    }

    #[test]
    fn a_late_dequeue_catches_up_with_the_schedule() {
        let mut scene = Scene::new(&Config::default(), 20, Ecn::NotEct);
        scene.dequeue(at(5));
        scene.dequeue(at(105));
        // Due at 205, 275.7 and 333.4 ms; not yet at 383.4 ms.
        assert_eq!(scene.dequeue(at(380)).1, 3);
        assert_eq!(scene.codel.schedule.count, 4);
    }

    /// Enters the dropping state again at `now`, after it was left with this count and schedule.
    /// Returns the new count.
    fn count_on_return(count: u64, last_count: u64, drop_next: Instant, now: Instant) -> u64 {
        let mut scene = Scene::new(&Config::default(), 10, Ecn::NotEct);
        scene.codel.schedule.count = count;
        scene.codel.schedule.last_count = last_count;
        scene.codel.schedule.drop_next = drop_next;
        scene.codel.schedule.first_above = Some(now);
        assert_eq!(scene.dequeue(now).1, 1);
        assert_eq!(scene.codel.schedule.last_count, scene.codel.schedule.count);
        scene.codel.schedule.count
    }

    #[test]
    fn a_return_within_16_intervals_continues_with_the_old_count() {
        let now = at(10_000);
        let edge = at(10_000 - 1600);
        assert_eq!(
            count_on_return(9, 3, edge + Duration::from_nanos(1), now),
            6
        );
        assert_eq!(
            count_on_return(9, 3, edge, now),
            1,
            "16 intervals are too long ago"
        );
        assert_eq!(
            count_on_return(4, 3, at(9_999), now),
            1,
            "one drop is no rate"
        );
        assert_eq!(count_on_return(5, 3, at(9_999), now), 2);
        assert_eq!(
            count_on_return(9, 3, at(10_050), now),
            6,
            "before the next was due"
        );
    }

    #[test]
    fn capable_packets_are_marked_and_sent() {
        let mut scene = Scene::new(&Config::default(), 10, Ecn::Ect0);
        scene.dequeue(at(5));
        assert_eq!(scene.dequeue(at(105)), (Some((1, Ecn::Ce)), 0));
        assert_eq!(scene.dequeue(at(106)), (Some((2, Ecn::Ect0)), 0));
        // Two marks are due: each is put on one packet.
        assert_eq!(scene.dequeue(at(300)), (Some((3, Ecn::Ce)), 0));
        assert_eq!(scene.dequeue(at(300)), (Some((4, Ecn::Ce)), 0));
        assert_eq!(scene.dequeue(at(300)), (Some((5, Ecn::Ect0)), 0));
    }

    #[test]
    fn without_ecn_capable_packets_are_dropped_too() {
        let config = Config {
            ecn: false,
            ..Config::default()
        };
        let mut scene = Scene::new(&config, 10, Ecn::Ect0);
        scene.dequeue(at(5));
        assert_eq!(scene.dequeue(at(105)), (Some((2, Ecn::Ect0)), 1));
    }

    #[test]
    fn invalid_parameters_are_refused() {
        assert_eq!(Config::default().check(), Ok(()));
        let still = Config {
            interval: Duration::ZERO,
            ..Config::default()
        };
        assert!(still.check().is_err());
        let reversed = Config {
            target: ms(101),
            ..Config::default()
        };
        assert!(reversed.check().is_err());
    }
}
