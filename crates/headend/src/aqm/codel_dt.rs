//! CoDel-DT (AQM paper §4.3): CoDel at the tail of the queue, with the predicted delay of a packet
//! in place of its sojourn time.
//!
//! In a cable modem, timestamps and drops at the head of the queue are expensive. CoDel-DT predicts
//! at arrival how long a packet will wait: the backlog divided by PIE's estimate of the rate at
//! which the queue drains. The rest is CoDel. Once the predicted delay has stayed at or above
//! `target` for a whole `interval`, the arriving packet is dropped. Further drops follow
//! `interval/√count` apart, until a packet arrives with a shorter predicted delay.
//!
//! Written from the AQM paper, which requires "the identical drop decision logic as CoDel", and
//! from the pseudo-code of RFC 8289 §5 that it refers to. The published ns-2 code differs: see
//! [`codel_dt_ns2`](super::codel_dt_ns2).
//!
//! With an exact prediction (`delay_estimate = "omniscient"`), the clock of the schedule is the
//! predicted departure time. The paper says that CoDel and CoDel-DT then produce identical results.
//! No prediction of delays can say whether packets will wait behind this one when it leaves, which
//! is CoDel's second condition. Here, this condition tests the packets before it.
//!
//! Deviation: when its schedule is behind, CoDel drops several packets at one departure. Here, one
//! packet arrives at a time, so the next arriving packets are dropped until the schedule is no
//! longer behind. With `ecn`, an ECN-capable packet is marked instead of dropped.

use super::Aqm;
use super::delay_estimate::{DelayEstimate, Estimator};
use super::drop_schedule::{self, DropSchedule};
use super::inverse_sqrt::InverseSqrt;
use crate::aqm::LawParameters;
use crate::context::Context;
use crate::metrics::sample::QueueInternals;
use crate::packet::Packet;
use crate::queue::{Backlog, LineView};
use crate::rng::Rng;
use crate::time::{Duration, Instant};
use crate::trace::DropReason;
use crate::units::{ByteCount, Limit, Rate};

/// Parameters of CoDel-DT.
///
/// Use it for CoDel's control law where packets can be dropped only at arrival, as in a cable
/// modem's hardware. In modems, `docsis_pie` has replaced it.
///
/// Source: White, "Active Queue Management in DOCSIS 3.x Cable Modems" (2014), §4.3.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Limit of the queue: a size, a time at the line's rate, a number of packets, or "unlimited".
    /// Raising it lets the queue absorb longer bursts; the control law, not the limit, keeps the
    /// delay short.
    pub limit: Limit,
    /// Predicted delay that is acceptable permanently. Raising it fills the line better when few
    /// connections share it, and makes all packets wait longer.
    pub target: Duration,
    /// How long the predicted delay must stay above the target before the first drop. Raising it
    /// tolerates longer bursts and reacts later.
    pub interval: Duration,
    /// Whether ECN-capable packets are marked instead of dropped.
    pub ecn: bool,
    /// How the inverse square root in the control law is computed: `exact`, or approximated as in
    /// implementations, by `newton` steps or from a `table`.
    pub inverse_sqrt: InverseSqrt,
    /// How the delay is predicted: `departure_rate` as in the paper, `departure_time`,
    /// `token_buckets`, or `omniscient`. The last one needs a plain link of constant rate; with it,
    /// CoDel-DT behaves as CoDel.
    pub delay_estimate: DelayEstimate,
    /// Bytes that must depart for one measurement, for `departure_rate` and `departure_time`.
    /// Raising it makes the estimate smoother, and needs a longer queue before anything is
    /// measured.
    pub departure_threshold: ByteCount,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            // AQM paper §9: 250 ms at the sustained rate when AQM is on.
            limit: Limit::Time(Duration::from_millis(250)),
            // AQM paper §4.3.
            target: Duration::from_millis(20),
            interval: Duration::from_millis(150),
            // Choice, as for CoDel: the paper only drops.
            ecn: true,
            inverse_sqrt: InverseSqrt::Exact,
            // AQM paper §4.3: as in PIE, which had the drafts' estimator at that time.
            delay_estimate: DelayEstimate::DepartureRate,
            // RFC 8033 appendix B.
            departure_threshold: ByteCount(1 << 14),
        }
    }
}

impl LawParameters for Config {
    type Law = CodelDt;

    fn law(&self, rate: Rate, _rng: Rng) -> Result<CodelDt, String> {
        self.check()?;
        let law = CodelDt::new(self.clone(), rate);
        Ok(law)
    }
}

impl Config {
    /// Checks the parameters.
    ///
    /// # Errors
    ///
    /// A sentence about the first invalid parameter.
    pub fn check(&self) -> Result<(), String> {
        drop_schedule::check_target(self.target, self.interval)?;
        if self.departure_threshold.0 == 0 {
            return Err("departure_threshold must be larger than zero".into());
        }
        match self.delay_estimate {
            DelayEstimate::Timestamps => Err(
                "delay_estimate must predict: timestamps tell what a packet waited that has left; \
                 expected departure_rate, departure_time, token_buckets or omniscient"
                    .into(),
            ),
            DelayEstimate::Grants => Err(
                "delay_estimate \"grants\" needs periodic updates, which this law has none of; \
                 expected departure_rate, departure_time, token_buckets or omniscient"
                    .into(),
            ),
            _ => Ok(()),
        }
    }
}

/// CoDel-DT over one backlog.
#[derive(Debug)]
pub struct CodelDt {
    config: Config,
    estimator: Estimator,
    schedule: DropSchedule,
    /// The delay predicted for the packet that arrived last.
    delay: Duration,
    /// With exact predictions: a packet was dropped, but the time of the next drop is not computed
    /// yet. As in CoDel, the next packet decides whether the schedule continues.
    move_on_pending: bool,
}

impl CodelDt {
    /// The control law before its first packet, for a line of this rate.
    pub fn new(config: Config, rate: Rate) -> Self {
        Self {
            estimator: match config.delay_estimate {
                DelayEstimate::Omniscient => Estimator::omniscient(rate),
                method => Estimator::new(method, config.departure_threshold.0),
            },
            schedule: DropSchedule::new(config.interval, config.inverse_sqrt),
            delay: Duration::ZERO,
            move_on_pending: false,
            config,
        }
    }
}

impl Aqm for CodelDt {
    fn enqueue(
        &mut self,
        backlog: &mut Backlog,
        mut packet: Packet,
        line: &LineView<'_>,
        cx: &mut Context<'_>,
    ) {
        if !backlog.fits(&packet, line) {
            cx.discard(packet, DropReason::Overlimit);
        } else if !self.drops(backlog.depth().bytes, line, cx.now) {
            backlog.push(packet, line, cx);
        } else if self.config.ecn && cx.mark(&mut packet) {
            self.move_on_if_pending();
            backlog.push(packet, line, cx);
        } else {
            cx.discard(packet, DropReason::Congested);
        }
    }

    fn dequeue(
        &mut self,
        backlog: &mut Backlog,
        line: &LineView<'_>,
        cx: &mut Context<'_>,
    ) -> Option<Packet> {
        let packet = backlog.pop(line)?;
        let (bytes, sojourn) = (
            line.framing.size_on_wire(packet.size),
            cx.now - packet.enqueued_at,
        );
        self.estimator
            .departed(bytes, sojourn, backlog.depth().bytes, cx.now);
        Some(packet)
    }

    fn is_periodic(&self) -> bool {
        false
    }

    fn internals(&self) -> QueueInternals {
        QueueInternals {
            delay_estimate_ns: Some(self.delay.as_nanos() as f64),
            rate_estimate_bps: self.estimator.rate_bps(),
            ..QueueInternals::default()
        }
    }
}

impl CodelDt {
    /// RFC 8289 §5.5, for a packet that arrives behind `waiting` bytes.
    fn drops(&mut self, waiting: u64, line: &LineView<'_>, now: Instant) -> bool {
        // If no prediction is possible now, the last one stays valid.
        if let Some(delay) = self.estimator.delay(waiting, line, now) {
            self.delay = delay;
        }
        // CoDel's clock is the departure time. An inexact prediction of it could run backwards, so
        // the arrival time is used instead.
        let clock = if self.estimator.is_omniscient() {
            now + self.delay
        } else {
            now
        };
        // RFC 8289 §5.6, with the predicted delay.
        let is_excess = self.delay >= self.config.target && waiting > line.max_packet();
        if !self.schedule.is_standing(is_excess, clock) {
            self.schedule.stop();
            self.move_on_pending = false;
            return false;
        }
        self.move_on_if_pending();
        if !self.schedule.dropping {
            self.schedule.enter(clock);
            return true;
        }
        let is_due = self.schedule.is_due(clock);
        if is_due {
            self.schedule.count_drop();
            self.move_on_pending = true;
            if !self.estimator.is_omniscient() {
                self.move_on_if_pending();
            }
        }
        is_due
    }

    /// Computes the time of the next drop, `interval/√count` after the last one, if that is
    /// pending.
    fn move_on_if_pending(&mut self) {
        if std::mem::take(&mut self.move_on_pending) {
            self.schedule.move_on();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::FlowId;
    use crate::packet::Ecn;
    use crate::queue::BacklogLimit;
    use crate::testing::Bench;

    const LINE: LineView<'static> = LineView::plain(Rate(10_000_000));

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn at(millis: u64) -> Instant {
        Instant::ZERO + ms(millis)
    }

    /// A law whose measured rate is exact, so that 1250 B are one millisecond, over a backlog of
    /// packets of 1250 bytes.
    struct Scene {
        bench: Bench,
        flow: FlowId,
        backlog: Backlog,
        law: CodelDt,
    }

    impl Scene {
        fn new(waiting: usize) -> Self {
            Self::with(waiting, |_| {})
        }

        fn with(waiting: usize, change: impl Fn(&mut Config)) -> Self {
            let mut config = Config {
                delay_estimate: DelayEstimate::TokenBuckets,
                ..Config::default()
            };
            change(&mut config);
            let mut bench = Bench::new();
            let flow = bench.flow(0);
            let mut backlog = Backlog::new(BacklogLimit::Packets(2000));
            for _ in 0..waiting {
                let packet = bench.packet(flow, 1250);
                backlog.push(packet, &LINE, &mut bench.cx());
            }
            Self {
                bench,
                flow,
                backlog,
                law: CodelDt::new(config, LINE.rate),
            }
        }

        /// A packet arrives at `now`. Returns whether it was enqueued.
        fn arrive(&mut self, now: Instant, ecn: Ecn) -> bool {
            self.bench.now = now;
            let mut packet = self.bench.packet(self.flow, 1250);
            packet.ecn = ecn;
            self.law
                .enqueue(&mut self.backlog, packet, &LINE, &mut self.bench.cx());
            self.bench.take_discards().is_empty()
        }

        fn dequeue(&mut self, now: Instant) -> Option<Ecn> {
            self.bench.now = now;
            let packet = self
                .law
                .dequeue(&mut self.backlog, &LINE, &mut self.bench.cx())?;
            let ecn = packet.ecn;
            self.bench.end(packet);
            Some(ecn)
        }
    }

    #[test]
    fn a_delay_just_below_the_target_is_no_excess_and_the_target_is() {
        let mut scene = Scene::new(19);
        scene.arrive(at(5), Ecn::NotEct);
        assert_eq!(scene.law.schedule.first_above, None, "19 ms");
        scene.arrive(at(5), Ecn::NotEct);
        assert_eq!(scene.law.schedule.first_above, Some(at(155)), "20 ms");
    }

    #[test]
    fn the_first_drop_comes_after_exactly_one_interval_of_excess() {
        let mut scene = Scene::new(30);
        assert!(scene.arrive(at(5), Ecn::NotEct));
        assert!(scene.arrive(at(155) - Duration::from_nanos(1), Ecn::NotEct));
        assert!(!scene.arrive(at(155), Ecn::NotEct));
        assert!(scene.arrive(at(156), Ecn::NotEct), "one, not all");
    }

    #[test]
    fn a_single_packet_is_no_standing_queue_on_a_slow_line() {
        let mut scene = Scene::with(1, |config| config.target = Duration::from_micros(10));
        assert!(scene.arrive(at(5), Ecn::NotEct));
        assert_eq!(scene.law.schedule.first_above, None);
    }

    /// The interval of the paper: sums of 150 ms/√k, computed independently for CoDel.
    #[test]
    fn continuous_excess_is_dropped_on_codels_schedule() {
        let mut scene = Scene::new(100);
        let mut drops = Vec::new();
        for tick in 0..90_000_u64 {
            let now = at(50) + Duration::from_micros(10) * tick;
            if !scene.arrive(now, Ecn::NotEct) {
                drops.push(now);
            }
            if scene.backlog.depth().packets > 100 {
                scene.dequeue(now);
            }
        }
        let expected = [
            0.0, 150.0, 256.0660, 342.6685, 417.6685, 484.7506, 545.9878, 602.6826, 655.7156,
            705.7156,
        ];
        let found = drops.iter().map(|&time| (time - drops[0]).as_nanos());
        let opportunities = expected.map(|time: f64| (time * 100.0).ceil() as u64 * 10_000);
        assert_eq!(found.collect::<Vec<_>>(), opportunities);
    }

    #[test]
    fn a_schedule_that_is_behind_drops_each_arrival_until_it_has_caught_up() {
        let mut scene = Scene::new(100);
        scene.arrive(at(5), Ecn::NotEct);
        assert!(!scene.arrive(at(155), Ecn::NotEct));
        // Due at 305, 411.07 and 497.67 ms; not yet at 572.67 ms.
        let taken = [(); 5].map(|()| scene.arrive(at(550), Ecn::NotEct));
        assert_eq!(taken, [false, false, false, true, true]);
    }

    #[test]
    fn dropping_ends_when_a_packet_arrives_behind_less_than_the_target() {
        let mut scene = Scene::new(30);
        scene.arrive(at(5), Ecn::NotEct);
        scene.arrive(at(155), Ecn::NotEct);
        assert!(scene.law.schedule.dropping);
        while scene.backlog.depth().packets > 10 {
            scene.dequeue(at(156));
        }
        assert!(scene.arrive(at(400), Ecn::NotEct));
        assert!(!scene.law.schedule.dropping);
    }

    #[test]
    fn capable_packets_are_marked_and_enqueued_unless_marking_is_off() {
        for marks in [true, false] {
            let mut scene = Scene::with(30, |config| config.ecn = marks);
            scene.arrive(at(5), Ecn::Ect0);
            assert_eq!(scene.arrive(at(155), Ecn::Ect0), marks);
            let found = std::iter::from_fn(|| scene.dequeue(at(156)));
            assert_eq!(
                found.filter(|&ecn| ecn == Ecn::Ce).count(),
                usize::from(marks)
            );
        }
    }

    #[test]
    fn before_a_rate_was_measured_nothing_is_dropped() {
        let mut scene = Scene::with(1000, |config| {
            config.delay_estimate = DelayEstimate::DepartureRate;
        });
        for millis in 0..1000 {
            assert!(scene.arrive(at(millis), Ecn::NotEct));
        }
        // One packet leaves per millisecond: 1990 packets wait for 1990 ms.
        for millis in 1000..1015 {
            scene.dequeue(at(millis));
        }
        scene.arrive(at(1015), Ecn::NotEct);
        assert_eq!(scene.law.delay, ms(1985));
    }

    #[test]
    fn a_full_buffer_discards() {
        let mut scene = Scene::new(2000);
        assert!(!scene.arrive(at(5), Ecn::Ect0));
        assert_eq!(
            scene.law.schedule.first_above, None,
            "the law was not asked"
        );
    }

    #[test]
    fn invalid_parameters_are_refused() {
        let refused = |change: fn(&mut Config)| {
            let mut config = Config::default();
            change(&mut config);
            config.check().is_err()
        };
        assert_eq!(Config::default().check(), Ok(()));
        assert!(refused(|config| config.interval = Duration::ZERO));
        assert!(refused(|config| config.target = ms(151)));
        assert!(refused(|config| config.departure_threshold = ByteCount(0)));
        assert!(refused(
            |config| config.delay_estimate = DelayEstimate::Grants
        ));
        assert!(refused(
            |config| config.delay_estimate = DelayEstimate::Timestamps
        ));
    }
}
