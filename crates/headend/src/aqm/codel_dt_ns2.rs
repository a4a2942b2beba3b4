//! CoDel-DT as its published ns-2 code behaves, which differs from the text of the AQM paper.
//!
//! The purpose is that of [`codel_dt`](super::codel_dt). The differences are:
//!
//! - The effective target is the configured one minus 6 ms.
//! - On a cable line, the prediction uses the token buckets and includes the arriving packet. On
//!   other lines, it uses the measured departure rate.
//! - If the queue was controlled recently, the first drop comes after only `interval/√count` of
//!   excessive delay, not after a whole interval. This time is called *parole*.
//! - If dropping starts again within 8 intervals, it continues with the count less 2, or less a
//!   sixty-fourth above 128.
//! - It never marks.
//!
//! Written from a description of that code's behaviour; the code itself was not used.

use super::Aqm;
use super::delay_estimate::{DelayEstimate, Estimator};
use super::drop_schedule;
use crate::aqm::LawParameters;
use crate::context::Context;
use crate::metrics::sample::QueueInternals;
use crate::packet::Packet;
use crate::queue::{Backlog, LineView};
use crate::rng::Rng;
use crate::time::{Duration, Instant};
use crate::trace::DropReason;
use crate::units::{ByteCount, Limit, Rate};

/// Parameters of CoDel-DT in its ns-2 form.
///
/// Use it to compare with results of the published ns-2 code. For the control law of the paper, use
/// `codel_dt`.
///
/// Source: the behaviour of the ns-2 code published with White, "Active Queue Management in DOCSIS
/// 3.x Cable Modems" (2014).
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Limit of the queue: a size, a time at the line's rate, a number of packets, or "unlimited".
    /// Raising it lets the queue absorb longer bursts; the control law, not the limit, keeps the
    /// delay short.
    pub limit: Limit,
    /// Predicted delay that is acceptable permanently, before `reduction` is subtracted. Raising it
    /// fills the line better when few connections share it, and makes all packets wait longer.
    pub target: Duration,
    /// Time that is subtracted from the target. Raising it shortens the queue.
    pub reduction: Duration,
    /// How long the predicted delay must stay above the target before the first drop. Raising it
    /// tolerates longer bursts and reacts later.
    pub interval: Duration,
    /// Bytes that must depart for one measurement, on a line without token buckets. Raising it
    /// makes the estimate smoother, and needs a longer queue before anything is measured.
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
            // The ns-2 code.
            reduction: Duration::from_millis(6),
            // RFC 8033 appendix B.
            departure_threshold: ByteCount(1 << 14),
        }
    }
}

impl LawParameters for Config {
    type Law = CodelDtNs2;

    fn law(&self, _rate: Rate, _rng: Rng) -> Result<CodelDtNs2, String> {
        self.check()?;
        Ok(CodelDtNs2::new(self.clone()))
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
        if self.target <= self.reduction {
            return Err(format!(
                "target ({}) must be longer than reduction ({})",
                self.target, self.reduction
            ));
        }
        if self.departure_threshold.0 == 0 {
            return Err("departure_threshold must be larger than zero".into());
        }
        Ok(())
    }
}

/// The state of the control law.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The delay is below the target.
    Calm,
    /// The delay is above the target, and packets are dropped; the next drop comes at `drop_next`.
    Dropping,
    /// The delay is above the target; the first drop comes at this time.
    Parole(Instant),
}

/// CoDel-DT in its ns-2 form, over one backlog.
#[derive(Debug)]
pub struct CodelDtNs2 {
    config: Config,
    departures: Estimator,
    state: State,
    /// When the latest drop of the schedule was, or will be, due.
    drop_next: Instant,
    count: u64,
    /// The delay predicted for the packet that arrived last.
    delay: Duration,
}

impl CodelDtNs2 {
    /// The control law before its first packet.
    pub fn new(config: Config) -> Self {
        let threshold = config.departure_threshold.0;
        Self {
            departures: Estimator::new(DelayEstimate::DepartureRate, threshold),
            state: State::Calm,
            drop_next: Instant::ZERO,
            count: 0,
            delay: Duration::ZERO,
            config,
        }
    }
}

impl Aqm for CodelDtNs2 {
    fn enqueue(
        &mut self,
        backlog: &mut Backlog,
        packet: Packet,
        line: &LineView<'_>,
        cx: &mut Context<'_>,
    ) {
        if !backlog.fits(&packet, line) {
            cx.discard(packet, DropReason::Overlimit);
            return;
        }
        let waiting = backlog.depth().bytes;
        self.delay = self.predict(
            waiting,
            line.framing.size_on_wire(packet.size),
            line,
            cx.now,
        );
        let target = self.config.target - self.config.reduction;
        let is_excess = self.delay >= target && waiting > line.max_packet();
        if self.drops(is_excess, cx.now) {
            cx.discard(packet, DropReason::Congested);
        } else {
            backlog.push(packet, line, cx);
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
        self.departures
            .departed(bytes, sojourn, backlog.depth().bytes, cx.now);
        Some(packet)
    }

    fn is_periodic(&self) -> bool {
        false
    }

    fn internals(&self) -> QueueInternals {
        QueueInternals {
            delay_estimate_ns: Some(self.delay.as_nanos() as f64),
            rate_estimate_bps: self.departures.rate_bps(),
            ..QueueInternals::default()
        }
    }
}

impl CodelDtNs2 {
    /// How long a packet of `bytes` that arrives behind `waiting` bytes will wait.
    fn predict(&self, waiting: u64, bytes: u64, line: &LineView<'_>, now: Instant) -> Duration {
        let delay = if line.shaper.is_some() {
            Estimator::TokenBuckets.delay(waiting + bytes, line, now)
        } else {
            self.departures.delay(waiting, line, now)
        };
        delay.unwrap_or(self.delay)
    }

    /// Whether an arriving packet is dropped; `is_excess` says whether its predicted delay is too
    /// long.
    fn drops(&mut self, is_excess: bool, now: Instant) -> bool {
        match self.state {
            _ if !is_excess => {
                self.state = State::Calm;
                false
            }
            State::Calm => {
                self.state = State::Parole(now + self.parole(now));
                false
            }
            State::Parole(until) if now >= until => {
                self.count = self.count_on_return(now);
                self.state = State::Dropping;
                self.drop_next = now + self.gap();
                true
            }
            State::Dropping if now >= self.drop_next => {
                self.count += 1;
                self.drop_next += self.gap();
                true
            }
            State::Parole(_) | State::Dropping => false,
        }
    }

    /// How long the delay must be too long before the first drop.
    fn parole(&self, now: Instant) -> Duration {
        if self.count <= 1 || self.is_stale(now) {
            self.config.interval
        } else {
            self.gap()
        }
    }

    fn count_on_return(&self, now: Instant) -> u64 {
        match self.count {
            count if count <= 2 || self.is_stale(now) => 1,
            count if count <= 128 => count - 2,
            count => (count as f64 * 0.9844) as u64,
        }
    }

    /// Whether the last drop of the schedule was too long ago to continue its count.
    fn is_stale(&self, now: Instant) -> bool {
        now.since(self.drop_next) >= self.config.interval * 8
    }

    /// The time between drops, `interval/√count`.
    fn gap(&self) -> Duration {
        (self.config.interval).mul_f64(1.0 / (self.count as f64).sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::FlowId;
    use crate::packet::Ecn;
    use crate::queue::{BacklogLimit, Shaper};
    use crate::testing::Bench;

    const LINE: LineView<'static> = LineView::plain(Rate(10_000_000));

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn at(millis: u64) -> Instant {
        Instant::ZERO + ms(millis)
    }

    fn law() -> CodelDtNs2 {
        CodelDtNs2::new(Config::default())
    }

    /// A law that has dropped `count` times, with the next drop due at `drop_next`, and whose delay
    /// is low again.
    fn law_after(count: u64, drop_next: Instant) -> CodelDtNs2 {
        let mut law = law();
        (law.count, law.drop_next) = (count, drop_next);
        law
    }

    #[test]
    fn the_first_drop_comes_after_an_interval_of_excess() {
        let mut law = law();
        assert!(!law.drops(true, at(5)));
        assert_eq!(law.state, State::Parole(at(155)));
        assert!(!law.drops(true, at(155) - Duration::from_nanos(1)));
        assert!(law.drops(true, at(155)));
        assert!(!law.drops(true, at(155)));
    }

    #[test]
    fn one_packet_without_excess_ends_it() {
        let mut law = law();
        law.drops(true, at(5));
        assert!(!law.drops(false, at(100)));
        assert!(!law.drops(true, at(155)));
        assert_eq!(law.state, State::Parole(at(305)));
    }

    /// By hand: 155 ms, then 150 ms/√1, /√2 and /√3.
    #[test]
    fn lasting_excess_is_dropped_on_the_square_root_schedule() {
        let mut law = law();
        let times = (0..60_000_u64).map(|tick| at(5) + Duration::from_micros(10) * tick);
        let drops: Vec<u64> = times
            .filter(|&now| law.drops(true, now))
            .map(|time| time.as_nanos() / 10_000)
            .collect();
        assert_eq!(drops, [15_500, 30_500, 41_107, 49_767, 57_267]);
    }

    #[test]
    fn a_recently_controlled_queue_has_a_shorter_parole() {
        let parole = |count, drop_next, now| law_after(count, drop_next).parole(now);
        assert_eq!(parole(4, at(1000), at(1500)), ms(75));
        assert_eq!(parole(9, at(1000), at(1500)), ms(50));
        assert_eq!(
            parole(1, at(1000), at(1500)),
            ms(150),
            "one drop is no rate"
        );
        let edge = at(1000 + 8 * 150);
        assert_eq!(
            parole(4, at(1000), edge),
            ms(150),
            "8 intervals are long ago"
        );
        assert_eq!(parole(4, at(1000), edge - Duration::from_nanos(1)), ms(75));
    }

    #[test]
    fn a_return_continues_with_a_slightly_lower_count() {
        let count = |count| law_after(count, at(1000)).count_on_return(at(1500));
        assert_eq!([0, 1, 2, 3, 9, 128].map(count), [1, 1, 1, 1, 7, 126]);
        // By hand: 129 × 0.9844 = 126.99, 1000 × 0.9844 = 984.4.
        assert_eq!([129, 1000].map(count), [126, 984]);
        assert_eq!(law_after(9, at(1000)).count_on_return(at(2200)), 1, "stale");
    }

    #[test]
    fn a_return_drops_after_its_parole_and_at_the_rate_of_the_count() {
        let mut law = law_after(18, at(1000));
        assert!(!law.drops(true, at(1100)));
        // The first drop comes 150 ms/√18 = 35.36 ms later, the next 150 ms/√16 = 37.5 ms after
        // that.
        assert!(!law.drops(true, at(1135)));
        assert!(law.drops(true, at(1136)));
        assert_eq!(law.count, 16);
        assert_eq!(law.drop_next, at(1136) + Duration::from_micros(37_500));
    }

    // Over a backlog.

    /// Token buckets with 100 kB, and rates of 10 and 20 Mbit/s.
    #[derive(Debug)]
    struct Buckets;

    impl Shaper for Buckets {
        fn sustained(&self) -> Rate {
            Rate(10_000_000)
        }
        fn peak(&self) -> Rate {
            Rate(20_000_000)
        }
        fn tokens(&self, _now: Instant) -> u64 {
            10_000
        }
    }

    struct Scene {
        bench: Bench,
        flow: FlowId,
        backlog: Backlog,
        law: CodelDtNs2,
    }

    impl Scene {
        fn new() -> Self {
            let mut bench = Bench::new();
            Self {
                flow: bench.flow(0),
                bench,
                backlog: Backlog::new(BacklogLimit::Packets(60)),
                law: law(),
            }
        }

        fn arrive(&mut self, line: &LineView<'_>) -> Option<DropReason> {
            let mut packet = self.bench.packet(self.flow, 1250);
            packet.ecn = Ecn::Ect0;
            self.law
                .enqueue(&mut self.backlog, packet, line, &mut self.bench.cx());
            let discard = self.bench.take_discards().pop();
            discard.map(|(_, reason)| reason)
        }
    }

    #[test]
    fn on_a_cable_line_the_delay_comes_from_the_token_buckets_and_includes_the_arriving_packet() {
        let line = LineView {
            shaper: Some(&Buckets),
            ..LINE
        };
        let mut scene = Scene::new();
        for _ in 0..18 {
            scene.arrive(&line);
        }
        // 18 packets of 1250 B: 10 000 B in 4 ms and 12 500 B in 10 ms. The delay is too long from
        // 14 ms on.
        assert_eq!(scene.law.delay, ms(14));
        assert_eq!(scene.law.state, State::Parole(at(150)));
        scene.bench.now = at(150);
        // The packet is ECN-capable and is dropped: the law never marks.
        assert_eq!(scene.arrive(&line), Some(DropReason::Congested));
    }

    #[test]
    fn on_a_plain_line_there_is_no_delay_until_a_rate_was_measured() {
        let mut scene = Scene::new();
        for _ in 0..50 {
            scene.arrive(&LINE);
        }
        assert_eq!(scene.law.delay, Duration::ZERO);
        for millis in 1..=15 {
            scene.bench.now = at(millis);
            let packet = (scene.law).dequeue(&mut scene.backlog, &LINE, &mut scene.bench.cx());
            scene.bench.end(packet.expect("it waits"));
        }
        scene.arrive(&LINE);
        assert_eq!(scene.law.delay, ms(35));
    }

    #[test]
    fn a_full_buffer_discards() {
        let mut scene = Scene::new();
        let outcomes: Vec<_> = (0..61).map(|_| scene.arrive(&LINE)).collect();
        assert_eq!(outcomes[59..], [None, Some(DropReason::Overlimit)]);
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
        assert!(refused(|config| config.target = ms(6)));
        assert!(refused(|config| config.departure_threshold = ByteCount(0)));
    }
}
