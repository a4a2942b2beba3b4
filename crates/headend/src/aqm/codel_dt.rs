//! CoDel-DT (AQM paper §4.3): CoDel at the tail, with the delay that a packet will have in place of the one it had.
//!
//! In a cable modem, timestamps and drops at the head of the queue are dear. CoDel-DT predicts, as a packet arrives, how long it will wait: the backlog
//! over PIE's estimate of the rate at which the queue drains. From there on it is CoDel: once the predicted delay has stayed at or above `target` for a
//! whole `interval`, the arriving packet is dropped, and then one each `interval/√count` later, until one arrives with less.
//!
//! Written from the AQM paper, which asks for "the identical drop decision logic as CoDel", and from the pseudo-code of RFC 8289 §5 that it names. The
//! published ns-2 code differs: see [`codel_dt_ns2`](super::codel_dt_ns2).
//!
//! With a prediction that comes true (`delay_estimate = "omniscient"`), the law reads the clock of the predicted departure: the paper says that CoDel and CoDel-DT
//! then produce identical results. What no prediction of delays tells is whether anything will wait behind the packet when it leaves, on which CoDel's
//! second condition looks; here it is what waits before it.
//!
//! Deviation: CoDel drops several packets at one departure when its schedule is behind; here only one arrives at a time, so that the next arrivals are
//! dropped until the schedule is caught up with. With `ecn`, an ECN-capable packet is marked in place of its drop.

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
/// Use it where packets can be dropped only as they arrive, as in a cable modem's hardware, and CoDel's law is wanted; `docsis_pie` has taken its place there.
///
/// Source: White, "Active Queue Management in DOCSIS 3.x Cable Modems" (2014), §4.3.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// How much may wait: a size, a time at the line's rate, a number of packets, or "unlimited". More absorbs longer bursts; the law, not the limit, keeps
    /// the delay down.
    pub limit: Limit,
    /// Predicted delay that may stand without harm. Raising it fills the line better when few connections share it, and makes everybody wait longer.
    pub target: Duration,
    /// How long the predicted delay must stay above the target before the first drop. Raising it tolerates longer bursts and reacts later.
    pub interval: Duration,
    /// Marks ECN-capable packets instead of dropping them.
    pub ecn: bool,
    /// The inverse square root of the control law: `exact`, or as implementations approximate it, by `newton` steps or from a `table`.
    pub inverse_sqrt: InverseSqrt,
    /// Where the prediction comes from: `departure_rate` as in the paper, `departure_time`, `token_buckets`, or on a plain link of constant rate `omniscient`, with which CoDel-DT does what CoDel does.
    pub delay_estimate: DelayEstimate,
    /// Bytes whose departure makes a measurement, for `departure_rate` and `departure_time`. Raising it smooths, and needs a longer queue to measure at all.
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
            // AQM paper §4.3: as in PIE, which then had the drafts' estimator.
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
    /// Why CoDel-DT cannot run with these parameters.
    ///
    /// # Errors
    ///
    /// A sentence about the first parameter that makes no sense.
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
    /// Predicted for the packet that arrived last.
    delay: Duration,
    /// Omniscient: a packet was dropped, and whether the schedule goes on is found out with the next one, as at CoDel's departures.
    goes_on: bool,
}

impl CodelDt {
    /// CoDel-DT before its first packet, and before a line of this rate.
    pub fn new(config: Config, rate: Rate) -> Self {
        Self {
            estimator: match config.delay_estimate {
                DelayEstimate::Omniscient => Estimator::omniscient(rate),
                method => Estimator::new(method, config.departure_threshold.0),
            },
            schedule: DropSchedule::new(config.interval, config.inverse_sqrt),
            delay: Duration::ZERO,
            goes_on: false,
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
            self.go_on();
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
            line.framing.of_size(packet.size),
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
        // While nothing can be said the last prediction stands.
        if let Some(delay) = self.estimator.delay(waiting, line, now) {
            self.delay = delay;
        }
        // CoDel's clock is that of departures; an estimate of them would run to and fro.
        let clock = if self.estimator.is_omniscient() {
            now + self.delay
        } else {
            now
        };
        // RFC 8289 §5.6, with the predicted delay.
        let is_excess = self.delay >= self.config.target && waiting > line.max_packet();
        if !self.schedule.is_standing(is_excess, clock) {
            self.schedule.stop();
            self.goes_on = false;
            return false;
        }
        self.go_on();
        if !self.schedule.dropping {
            self.schedule.enter(clock);
            return true;
        }
        let is_due = self.schedule.is_due(clock);
        if is_due {
            self.schedule.count_drop();
            self.goes_on = true;
            if !self.estimator.is_omniscient() {
                self.go_on();
            }
        }
        is_due
    }

    /// The next drop is due an interval over the root of the count after the last was.
    fn go_on(&mut self) {
        if std::mem::take(&mut self.goes_on) {
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

    /// A law that knows the rate, so that 1250 B are a millisecond, over a backlog of packets of 1250 bytes.
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

        /// A packet arrives at `now`; whether it was taken in, and how many wait then.
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
    fn one_packet_that_waits_is_no_standing_queue_on_a_slow_line() {
        let mut scene = Scene::with(1, |config| config.target = Duration::from_micros(10));
        assert!(scene.arrive(at(5), Ecn::NotEct));
        assert_eq!(scene.law.schedule.first_above, None);
    }

    /// The interval of the paper: sums of 150 ms/√k, computed apart for CoDel.
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
    fn a_schedule_that_is_behind_is_caught_up_with_arrival_by_arrival() {
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
    fn capable_packets_are_marked_and_taken_in_unless_marking_is_off() {
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
        // One packet a millisecond leaves: 1990 wait for 1990 ms.
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
    fn parameters_that_make_no_sense_are_refused() {
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
