//! COBALT, CoDel and BLUE Alternate: the law of the queues inside CAKE, over one backlog.
//!
//! CoDel is slow against a load that does not answer its drops: its rate of drops rises only by the square root of their number. BLUE drops at random, with a
//! probability that rises each time the queue overflows and falls each time it runs empty. COBALT runs both: CoDel for those who answer, BLUE for those who
//! do not. Its CoDel differs from RFC 8289 in four ways:
//!
//! - excess is borne for `interval/√count` before the first drop, the count being what is left of the last time;
//! - when the excess ends the count is not forgotten but falls by one each time a drop would have been due;
//! - a packet's delay is no excess before it is above four times what a largest packet takes on the line;
//! - the inverse square root begins from a table (see [`inverse_sqrt`](super::inverse_sqrt)).
//!
//! BLUE's drops pay no regard to ECN: whoever overflows the queue did not answer marks.
//!
//! Written from the description in "Piece of CAKE" (§2) and from facts about the deployed form; the numbers are that form's.

use super::Aqm;
use super::drop_schedule;
use super::inverse_sqrt::{InverseSqrt, Root};
use crate::aqm::LawParameters;
use crate::context::Context;
use crate::metrics::sample::QueueInternals;
use crate::packet::Packet;
use crate::queue::{Backlog, LineView};
use crate::rng::Rng;
use crate::time::{Duration, Instant};
use crate::trace::DropReason;
use crate::units::{Limit, Probability, Rate};

/// Parameters of COBALT.
///
/// Use it where some senders answer neither drops nor marks, which CoDel alone leaves to the end of the buffer; a packet is judged as it leaves, which a modem
/// that fills its grants early cannot do well.
///
/// Source: Høiland-Jørgensen, Täht and Morton, "Piece of CAKE" (2018).
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// How much may wait: a size, a time at the line's rate, a number of packets, or "unlimited". BLUE learns from its overflow: more absorbs longer bursts,
    /// and notices later that somebody does not answer.
    pub limit: Limit,
    /// Sojourn time that may stand without harm. Raising it fills the line better when few connections share it, and makes everybody wait longer.
    pub target: Duration,
    /// Time from the beginning of excess to the first drop, and unit of the schedule of drops: about the longest round-trip time of the connections. Raising
    /// it tolerates longer bursts and reacts later.
    pub interval: Duration,
    /// CoDel marks ECN-capable packets instead of dropping them. BLUE drops them all the same.
    pub ecn: bool,
    /// What BLUE's probability grows by when the queue overflows, at most once per target. Raising it reacts faster to those who do not answer.
    pub increase: Probability,
    /// What BLUE's probability falls by when the queue is empty, at most once per target. Raising it forgives faster.
    pub decrease: Probability,
    /// The inverse square root of CoDel's schedule: `table` as deployed, `exact`, or by `newton` steps alone.
    pub inverse_sqrt: InverseSqrt,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            // As for CoDel: what common implementations have.
            limit: Limit::Packets(1000),
            // CAKE for the Internet.
            target: Duration::from_millis(5),
            interval: Duration::from_millis(100),
            ecn: true,
            increase: Probability(1.0 / 256.0),
            decrease: Probability(1.0 / 4096.0),
            inverse_sqrt: InverseSqrt::Table,
        }
    }
}

impl LawParameters for Config {
    type Law = Cobalt;

    fn law(&self, _rate: Rate, rng: Rng) -> Result<Cobalt, String> {
        self.check()?;
        Ok(Cobalt::new(self.clone(), rng))
    }
}

impl Config {
    /// Why COBALT cannot run with these parameters.
    ///
    /// # Errors
    ///
    /// A sentence about the first parameter that makes no sense.
    pub fn check(&self) -> Result<(), String> {
        drop_schedule::check_target(self.target, self.interval)?;
        if self.increase.0 > 0.0 && self.decrease.0 == 0.0 {
            return Err("decrease must be above zero: without it BLUE never forgives".into());
        }
        Ok(())
    }
}

/// COBALT's state.
#[derive(Debug)]
pub struct Cobalt {
    config: Config,
    rng: Rng,
    codel: Schedule,
    blue: Blue,
}

impl Cobalt {
    /// COBALT before its first packet.
    pub fn new(config: Config, rng: Rng) -> Self {
        Self {
            codel: Schedule::new(config.interval, config.inverse_sqrt),
            blue: Blue::default(),
            config,
            rng,
        }
    }
}

impl Aqm for Cobalt {
    fn enqueue(
        &mut self,
        backlog: &mut Backlog,
        packet: Packet,
        line: &LineView<'_>,
        cx: &mut Context<'_>,
    ) {
        if !backlog.push(packet, line, cx) {
            self.blue.overflowed(&self.config, cx.now);
            self.codel.overflowed(cx.now);
        }
    }

    fn dequeue(
        &mut self,
        backlog: &mut Backlog,
        line: &LineView<'_>,
        cx: &mut Context<'_>,
    ) -> Option<Packet> {
        // The line is asked once for a packet, however many are dropped before it.
        let least = (self.config.target).max(line.rate.time_for_or_zero(4 * line.max_packet()));
        while let Some(mut packet) = backlog.pop(line) {
            let is_excess = cx.now - packet.enqueued_at > least;
            let is_due = self.codel.is_due(is_excess, cx.now);
            let is_dropped = is_due && !(self.config.ecn && cx.mark(&mut packet));
            if !is_dropped && !self.blue.drops(&mut self.rng) {
                return Some(packet);
            }
            cx.discard(packet, DropReason::Congested);
        }
        self.blue.emptied(&self.config, cx.now);
        self.codel.emptied(cx.now);
        None
    }

    fn is_periodic(&self) -> bool {
        false
    }

    fn internals(&self) -> QueueInternals {
        QueueInternals {
            drop_probability: Some(self.blue.probability),
            ..QueueInternals::default()
        }
    }
}

/// COBALT's half that is CoDel.
#[derive(Debug)]
struct Schedule {
    interval: Duration,
    root: Root,
    count: u64,
    /// When the next drop is due, or the count falls next.
    drop_next: Instant,
    dropping: bool,
}

impl Schedule {
    fn new(interval: Duration, inverse_sqrt: InverseSqrt) -> Self {
        Self {
            interval,
            root: Root::new(inverse_sqrt),
            count: 0,
            drop_next: Instant::ZERO,
            dropping: false,
        }
    }

    /// Whether a packet that leaves now, with or without excess, is to be dropped or marked.
    fn is_due(&mut self, is_excess: bool, now: Instant) -> bool {
        if is_excess && !self.dropping {
            self.begin(now);
        }
        self.dropping = is_excess;
        if !is_excess {
            self.forget(now);
        } else if now >= self.drop_next {
            self.set_count(self.count + 1);
            self.drop_next += self.gap();
            return true;
        }
        false
    }

    /// Excess begins: the first drop is a gap away.
    fn begin(&mut self, now: Instant) {
        self.set_count(self.count.max(1));
        self.drop_next = now + self.gap();
    }

    /// Without excess the count falls by one each time a drop would have been due.
    fn forget(&mut self, now: Instant) {
        while self.count > 0 && now >= self.drop_next {
            self.set_count(self.count - 1);
            self.drop_next += self.gap();
        }
    }

    /// A packet found no room: a drop is due at once.
    fn overflowed(&mut self, now: Instant) {
        self.set_count(self.count.max(1));
        self.dropping = true;
        self.drop_next = now;
    }

    /// Nothing waits.
    fn emptied(&mut self, now: Instant) {
        self.dropping = false;
        self.forget(now);
    }

    fn set_count(&mut self, count: u64) {
        match count {
            _ if count == self.count => {}
            0 | 1 => self.root.restart(),
            _ => self.root.follow(count),
        }
        self.count = count;
    }

    /// `interval/√count`.
    fn gap(&self) -> Duration {
        self.root.gap(self.interval, self.count.max(1))
    }
}

/// COBALT's half that is BLUE.
#[derive(Debug, Default)]
struct Blue {
    probability: f64,
    /// When the probability moved last.
    moved_at: Option<Instant>,
}

impl Blue {
    fn drops(&self, rng: &mut Rng) -> bool {
        // No draw while BLUE is at rest: it is at rest nearly always.
        self.probability > 0.0 && rng.uniform() < self.probability
    }

    fn overflowed(&mut self, config: &Config, now: Instant) {
        self.step(config.increase.0, config, now);
    }

    fn emptied(&mut self, config: &Config, now: Instant) {
        if self.probability > 0.0 {
            self.step(-config.decrease.0, config, now);
        }
    }

    /// Moves the probability, unless it moved within the last target.
    fn step(&mut self, change: f64, config: &Config, now: Instant) {
        if (self.moved_at).is_none_or(|at| now - at > config.target) {
            self.probability = (self.probability + change).clamp(0.0, 1.0);
            self.moved_at = Some(now);
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

    const LINE: LineView<'static> = LineView::plain(Rate(100_000_000));

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn at(millis: u64) -> Instant {
        Instant::ZERO + ms(millis)
    }

    fn schedule() -> Schedule {
        Schedule::new(ms(100), InverseSqrt::Exact)
    }

    // CoDel.

    /// Times, in units of 10 µs, at which a look every 10 µs over this span finds a drop due.
    fn drops(schedule: &mut Schedule, from: Instant, span: Duration) -> Vec<u64> {
        let ticks = span.as_nanos() / 10_000;
        let times = (0..ticks).map(|tick| from + Duration::from_micros(10) * tick);
        times
            .filter(|&now| schedule.is_due(true, now))
            .map(|now| (now - from).as_nanos() / 10_000)
            .collect()
    }

    /// By hand: 100 ms, and 100 ms/√2, /√3, /√4 after it.
    #[test]
    fn lasting_excess_is_dropped_on_the_square_root_schedule_after_an_interval() {
        let found = drops(&mut schedule(), at(50), ms(300));
        assert_eq!(found, [10_000, 17_072, 22_845, 27_845]);
    }

    #[test]
    fn excess_that_ends_and_comes_back_waits_for_the_gap_it_had_come_to() {
        let mut schedule = schedule();
        drops(&mut schedule, at(0), ms(300));
        assert_eq!(schedule.count, 5);
        assert!(!schedule.is_due(false, at(300)));
        assert_eq!(drops(&mut schedule, at(310), ms(60)), [4473], "100 ms/√5");
    }

    #[test]
    fn the_count_falls_by_one_each_time_a_drop_would_have_been_due() {
        let mut schedule = schedule();
        schedule.overflowed(at(0));
        (schedule.count, schedule.drop_next) = (4, at(100));
        let count = |schedule: &mut Schedule, now| {
            schedule.is_due(false, now);
            schedule.count
        };
        assert_eq!(count(&mut schedule, at(99)), 4);
        // Due at 100, 157.7, 228.4 and 328.4 ms.
        assert_eq!(count(&mut schedule, at(100)), 3);
        assert_eq!(count(&mut schedule, at(157)), 3);
        assert_eq!(count(&mut schedule, at(229)), 1);
        assert_eq!(count(&mut schedule, at(329)), 0);
        assert_eq!(count(&mut schedule, at(9999)), 0);
    }

    #[test]
    fn an_overflow_makes_a_drop_due_at_once() {
        let mut schedule = schedule();
        schedule.overflowed(at(7));
        assert!(schedule.is_due(true, at(8)));
        assert!(!schedule.is_due(true, at(9)));
    }

    // BLUE.

    #[test]
    fn an_overflow_raises_the_probability_at_most_once_per_target() {
        let config = Config::default();
        let mut blue = Blue::default();
        let mut raised = |millis| {
            blue.overflowed(&config, at(millis));
            blue.probability * 256.0
        };
        let found = [0, 1, 5, 6, 11, 12].map(&mut raised);
        let expected = [1.0, 1.0, 1.0, 2.0, 2.0, 3.0];
        assert_eq!(found.map(f64::to_bits), expected.map(f64::to_bits));
    }

    #[test]
    fn an_empty_queue_lowers_it_a_sixteenth_as_fast_and_not_below_zero() {
        let config = Config::default();
        let mut blue = Blue::default();
        blue.emptied(&config, at(0));
        assert!(blue.moved_at.is_none(), "nothing to lower");
        blue.overflowed(&config, at(0));
        for step in 1..=20 {
            blue.emptied(&config, at(6 * step));
            let expected = (16_u64.saturating_sub(step)) as f64 / 4096.0;
            assert_eq!(blue.probability.to_bits(), expected.to_bits());
        }
    }

    // Over a backlog.

    struct Scene {
        bench: Bench,
        flow: FlowId,
        backlog: Backlog,
        law: Cobalt,
    }

    impl Scene {
        fn new(config: Config, limit: u64) -> Self {
            let mut bench = Bench::new();
            Self {
                flow: bench.flow(0),
                bench,
                backlog: Backlog::new(BacklogLimit::Packets(limit)),
                law: Cobalt::new(config, Rng::for_path(1, "queue")),
            }
        }

        fn arrive(&mut self, packets: usize, ecn: Ecn) {
            for _ in 0..packets {
                let mut packet = self.bench.packet(self.flow, 1000);
                packet.ecn = ecn;
                self.law
                    .enqueue(&mut self.backlog, packet, &LINE, &mut self.bench.cx());
            }
        }

        /// The packet that leaves at `now`, and how many were discarded since the last call.
        fn dequeue(&mut self, now: Instant, line: &LineView<'_>) -> (Option<(u64, Ecn)>, usize) {
            self.bench.now = now;
            let packet = self
                .law
                .dequeue(&mut self.backlog, line, &mut self.bench.cx());
            let seen = packet.as_ref().map(|packet| (packet.seq, packet.ecn));
            if let Some(packet) = packet {
                self.bench.end(packet);
            }
            (seen, self.bench.take_discards().len())
        }
    }

    #[test]
    fn the_target_itself_is_no_excess() {
        let mut scene = Scene::new(Config::default(), 100);
        scene.arrive(10, Ecn::NotEct);
        scene.dequeue(at(5), &LINE);
        assert!(!scene.law.codel.dropping);
        scene.dequeue(at(5) + Duration::from_nanos(1), &LINE);
        assert!(scene.law.codel.dropping);
    }

    #[test]
    fn on_a_slow_line_four_largest_packets_are_no_excess() {
        // 1500 B take 12 ms at a megabit.
        let line = LineView::plain(Rate(1_000_000));
        let mut scene = Scene::new(Config::default(), 100);
        scene.arrive(10, Ecn::NotEct);
        scene.dequeue(at(48), &line);
        assert!(!scene.law.codel.dropping);
        scene.dequeue(at(49), &line);
        assert!(scene.law.codel.dropping);
    }

    #[test]
    fn the_head_is_dropped_when_due_and_the_next_one_sent() {
        let mut scene = Scene::new(Config::default(), 100);
        scene.arrive(10, Ecn::NotEct);
        assert_eq!(scene.dequeue(at(6), &LINE), (Some((0, Ecn::NotEct)), 0));
        assert_eq!(scene.dequeue(at(106), &LINE), (Some((2, Ecn::NotEct)), 1));
    }

    #[test]
    fn codel_marks_what_is_capable_and_blue_drops_it() {
        let mut scene = Scene::new(Config::default(), 100);
        scene.arrive(10, Ecn::Ect0);
        scene.dequeue(at(6), &LINE);
        assert_eq!(scene.dequeue(at(106), &LINE), (Some((1, Ecn::Ce)), 0));
        scene.law.blue.probability = 1.0;
        assert_eq!(scene.dequeue(at(107), &LINE), (None, 8));
    }

    #[test]
    fn an_overflow_is_learnt_from_and_an_empty_queue_forgives() {
        let mut scene = Scene::new(Config::default(), 10);
        scene.arrive(11, Ecn::NotEct);
        assert_eq!(scene.bench.take_discards()[0].1, DropReason::Overlimit);
        assert!(scene.law.blue.probability > 0.003);
        let before = scene.law.blue.probability;
        let mut now = at(10);
        while scene.dequeue(now, &LINE).0.is_some() {
            now += ms(1);
        }
        assert!(scene.law.blue.probability < before);
        assert!(!scene.law.codel.dropping);
    }

    /// A flood of 2.5 times the rate that answers nothing: three packets in five must go. Left to CoDel alone nearly all of them would overflow.
    #[test]
    fn blue_takes_over_a_flood_that_codel_cannot_hold() {
        let mut scene = Scene::new(Config::default(), 200);
        let mut reasons = [0_u64; 2];
        for tick in 0..250_000_u64 {
            scene.bench.now = Instant::ZERO + Duration::from_micros(40) * tick;
            scene.arrive(1, Ecn::Ect0);
            if tick % 5 < 2 {
                let packet = (scene.law).dequeue(&mut scene.backlog, &LINE, &mut scene.bench.cx());
                if let Some(packet) = packet {
                    scene.bench.end(packet);
                }
            }
            for (_, reason) in scene.bench.take_discards() {
                let is_late = u64::from(tick >= 200_000);
                reasons[usize::from(reason == DropReason::Congested)] += is_late;
            }
        }
        let [overlimit, congested] = reasons;
        // 50 000 arrive in the last fifth, of which 30 000 must go.
        assert!((29_000..31_000).contains(&(overlimit + congested)));
        assert!(
            congested > 29_000,
            "{congested} by the law, {overlimit} not"
        );
        let probability = scene.law.blue.probability;
        assert!((0.5..0.7).contains(&probability), "{probability}");
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
        assert!(refused(|config| config.target = ms(101)));
        assert!(refused(|config| config.decrease = Probability(0.0)));
    }
}
