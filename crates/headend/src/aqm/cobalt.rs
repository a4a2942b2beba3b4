//! COBALT, CoDel and BLUE Alternate: the control law of the queues in CAKE, over one backlog.
//!
//! CoDel reacts slowly to a load that does not respond to its drops: its drop rate grows only with
//! the square root of the number of drops. BLUE drops at random. Its probability rises each time
//! the queue overflows, and falls each time the queue becomes empty. COBALT runs both: CoDel for
//! flows that respond, and BLUE for flows that do not.
//!
//! Its CoDel differs from RFC 8289 in four ways:
//!
//! - The first time that the delay exceeds the target, the next packet is dropped, and the schedule
//!   goes on from there with `interval/√2`. Each later time, the first drop comes `interval/√count`
//!   after the delay has exceeded the target, where `count` is what is left of it from the last
//!   dropping state.
//! - When the delay falls below the target, `count` is not reset. It falls by one each time a drop
//!   would have been due.
//! - A delay counts as excessive only above four times the transmission time of the largest packet.
//! - The inverse square root starts from a table (see [`inverse_sqrt`](super::inverse_sqrt)).
//!
//! BLUE also drops ECN-capable packets: a flow that overflows the queue does not respond to marks.
//!
//! Written from the description in "Piece of CAKE" (§2) and from facts about the deployed
//! implementation; the numbers are those of that implementation. When drops begin was measured:
//! trains of packets through the queue of a Linux 6.1 (the vectors are among the tests).

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
/// Use it where some senders respond neither to drops nor to marks; with CoDel alone, these fill
/// the buffer. COBALT decides when a packet leaves, which does not suit a modem that fills its
/// grants in advance.
///
/// Source: Høiland-Jørgensen, Täht and Morton, "Piece of CAKE" (2018).
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Limit of the queue: a size, a time at the line's rate, a number of packets, or "unlimited".
    /// BLUE reacts when this limit is exceeded. Raising it lets the queue absorb longer bursts, and
    /// delays BLUE's reaction to unresponsive flows.
    pub limit: Limit,
    /// Sojourn time that is acceptable permanently. Raising it fills the line better when few
    /// connections share it, and makes all packets wait longer.
    pub target: Duration,
    /// Unit of the drop schedule: about the longest round-trip time of the connections. The delay
    /// must exceed the target for this time before the first drop. The first excess of a run is an
    /// exception: the packet after the first late one is dropped. Raising it tolerates longer
    /// bursts and reacts later.
    pub interval: Duration,
    /// Whether CoDel marks ECN-capable packets instead of dropping them. BLUE drops them in any
    /// case.
    pub ecn: bool,
    /// Step by which BLUE's probability grows when the queue overflows, at most once per target.
    /// Raising it reacts faster to unresponsive flows.
    pub increase: Probability,
    /// Step by which BLUE's probability falls when the queue is empty, at most once per target.
    /// Raising it ends BLUE's drops sooner.
    pub decrease: Probability,
    /// How the inverse square root in CoDel's schedule is computed: `table` as deployed, `exact`,
    /// or by `newton` steps alone.
    pub inverse_sqrt: InverseSqrt,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            // As for CoDel: the value of common implementations.
            limit: Limit::Packets(1000),
            // The values of CAKE for the Internet.
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
    /// Checks the parameters.
    ///
    /// # Errors
    ///
    /// A sentence about the first invalid parameter.
    pub fn check(&self) -> Result<(), String> {
        drop_schedule::check_target(self.target, self.interval)?;
        if self.increase.0 > 0.0 && self.decrease.0 == 0.0 {
            return Err("decrease must be above zero: without it BLUE never forgives".into());
        }
        Ok(())
    }
}

/// The state of COBALT.
#[derive(Debug)]
pub struct Cobalt {
    config: Config,
    rng: Rng,
    codel: Schedule,
    blue: Blue,
    marks: u64,
}

impl Cobalt {
    /// The control law before its first packet.
    pub fn new(config: Config, rng: Rng) -> Self {
        Self {
            codel: Schedule::new(config.interval, config.inverse_sqrt),
            blue: Blue::default(),
            marks: 0,
            config,
            rng,
        }
    }

    /// Changes what is acceptable, for a line whose rate has changed. The schedule goes on.
    pub(crate) fn set_delays(&mut self, target: Duration, interval: Duration) {
        self.config.target = target;
        self.config.interval = interval;
        self.codel.interval = interval;
    }

    /// The next packet that leaves. A delay of `least` is never excessive. `lost` is called for
    /// each packet that is dropped before.
    pub(crate) fn next(
        &mut self,
        least: Duration,
        backlog: &mut Backlog,
        line: &LineView<'_>,
        cx: &mut Context<'_>,
        mut lost: impl FnMut(&Packet),
    ) -> Option<Packet> {
        let least = least.max(self.config.target);
        while let Some(mut packet) = backlog.pop(line) {
            let is_excess = cx.now - packet.enqueued_at > least;
            let is_due = self.codel.is_due(is_excess, cx.now);
            let is_marked = is_due && self.config.ecn && cx.mark(&mut packet);
            self.marks += u64::from(is_marked);
            let is_dropped = is_due && !is_marked;
            if !is_dropped && !self.blue.drops(&mut self.rng) {
                return Some(packet);
            }
            lost(&packet);
            cx.discard(packet, DropReason::Congested);
        }
        self.blue.emptied(&self.config, cx.now);
        self.codel.emptied(cx.now);
        None
    }

    /// How many packets it has marked.
    pub(crate) fn marks(&self) -> u64 {
        self.marks
    }

    /// Whether BLUE drops packets: their sender does not respond.
    pub(crate) fn is_unresponsive(&self) -> bool {
        self.blue.probability > 0.0
    }

    /// Called after a packet did not fit.
    pub(crate) fn overflowed(&mut self, now: Instant) {
        self.blue.overflowed(&self.config, now);
        self.codel.overflowed(now);
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
            self.overflowed(cx.now);
        }
    }

    fn dequeue(
        &mut self,
        backlog: &mut Backlog,
        line: &LineView<'_>,
        cx: &mut Context<'_>,
    ) -> Option<Packet> {
        let least = line.rate.time_for_or_zero(4 * line.max_packet());
        self.next(least, backlog, line, cx, |_| {})
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

/// The CoDel part of COBALT.
#[derive(Debug)]
struct Schedule {
    interval: Duration,
    root: Root,
    count: u64,
    /// When the next drop is due, or when the count falls next.
    drop_next: Instant,
    dropping: bool,
    /// No packet has been late yet, and none has found the queue full.
    is_fresh: bool,
}

impl Schedule {
    fn new(interval: Duration, inverse_sqrt: InverseSqrt) -> Self {
        Self {
            interval,
            root: Root::new(inverse_sqrt),
            count: 0,
            drop_next: Instant::ZERO,
            dropping: false,
            is_fresh: true,
        }
    }

    /// Whether a packet that leaves now must be dropped or marked; `is_excess` says whether its
    /// delay is above the target.
    fn is_due(&mut self, is_excess: bool, now: Instant) -> bool {
        if is_excess && !self.dropping {
            self.dropping = true;
            self.begin(now);
            return false;
        }
        self.dropping = is_excess;
        if !is_excess {
            self.lower_count(now);
        } else if now >= self.drop_next {
            self.set_count(self.count + 1);
            self.drop_next += self.gap();
            return true;
        }
        false
    }

    /// Starts the schedule when the delay exceeds the target: the first drop comes one gap later,
    /// and that of a fresh queue with the next packet.
    fn begin(&mut self, now: Instant) {
        self.set_count(self.count.max(1));
        self.drop_next = now;
        if !self.is_fresh {
            self.drop_next += self.gap();
        }
        self.is_fresh = false;
    }

    /// Lowers the count by one for each drop that would have been due since the delay was low.
    fn lower_count(&mut self, now: Instant) {
        while self.count > 0 && now >= self.drop_next {
            self.set_count(self.count - 1);
            self.drop_next += self.gap();
        }
    }

    /// Called after a packet did not fit: a drop is due at once.
    fn overflowed(&mut self, now: Instant) {
        self.set_count(self.count.max(1));
        self.dropping = true;
        self.drop_next = now;
        self.is_fresh = false;
    }

    /// Called when the queue is empty.
    fn emptied(&mut self, now: Instant) {
        self.dropping = false;
        self.lower_count(now);
    }

    fn set_count(&mut self, count: u64) {
        match count {
            _ if count == self.count => {}
            0 | 1 => self.root.restart(),
            _ => self.root.follow(count),
        }
        self.count = count;
    }

    /// The time between drops, `interval/√count`.
    fn gap(&self) -> Duration {
        self.root.gap(self.interval, self.count.max(1))
    }
}

/// The BLUE part of COBALT.
#[derive(Debug, Default)]
struct Blue {
    probability: f64,
    /// When the probability last changed.
    moved_at: Option<Instant>,
}

impl Blue {
    fn drops(&self, rng: &mut Rng) -> bool {
        // No random number is drawn while the probability is zero, which is nearly always.
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

    /// Changes the probability, unless it changed within the last target.
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

    /// Times, in units of 10 µs, at which a drop is due, if the schedule is checked every 10 µs
    /// over this span.
    fn drops(schedule: &mut Schedule, from: Instant, span: Duration) -> Vec<u64> {
        let ticks = span.as_nanos() / 10_000;
        let times = (0..ticks).map(|tick| from + Duration::from_micros(10) * tick);
        times
            .filter(|&now| schedule.is_due(true, now))
            .map(|now| (now - from).as_nanos() / 10_000)
            .collect()
    }

    /// By hand: the next packet, then 100 ms/√2, /√3, … after the first in excess.
    #[test]
    fn lasting_excess_is_dropped_on_the_square_root_schedule_from_the_second_packet_on() {
        let found = drops(&mut schedule(), at(50), ms(200));
        assert_eq!(found, [1, 7072, 12_845, 17_845]);
    }

    /// By hand: 100 ms, and 100 ms/√2, /√3 after it.
    #[test]
    fn a_queue_that_was_late_before_waits_an_interval() {
        let mut schedule = schedule();
        assert!(!schedule.is_due(true, at(0)), "the first in excess passes");
        assert!(
            !schedule.is_due(false, at(1)),
            "and the next one is in time"
        );
        let found = drops(&mut schedule, at(5000), ms(250));
        assert_eq!(found, [10_000, 17_072, 22_845]);
    }

    #[test]
    fn excess_that_returns_is_dropped_after_the_last_gap() {
        let mut schedule = schedule();
        drops(&mut schedule, at(0), ms(200));
        assert_eq!(schedule.count, 5);
        assert!(!schedule.is_due(false, at(200)));
        assert_eq!(drops(&mut schedule, at(210), ms(60)), [4473], "100 ms/√5");
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

        /// The packet that leaves at `now`, and the number of packets discarded since the last
        /// call.
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
        // 1500 B take 12 ms at 1 Mbit/s.
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
        assert_eq!(scene.dequeue(at(7), &LINE), (Some((2, Ecn::NotEct)), 1));
        assert_eq!(scene.dequeue(at(76), &LINE), (Some((3, Ecn::NotEct)), 0));
        assert_eq!(scene.dequeue(at(77), &LINE), (Some((5, Ecn::NotEct)), 1));
    }

    #[test]
    fn codel_marks_capable_packets_and_blue_drops_them() {
        let mut scene = Scene::new(Config::default(), 100);
        scene.arrive(10, Ecn::Ect0);
        scene.dequeue(at(6), &LINE);
        assert_eq!(scene.dequeue(at(7), &LINE), (Some((1, Ecn::Ce)), 0));
        scene.law.blue.probability = 1.0;
        assert_eq!(scene.dequeue(at(8), &LINE), (None, 8));
    }

    #[test]
    fn an_overflow_raises_the_probability_of_blue_and_an_empty_queue_lowers_it() {
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

    // Vectors, measured in a Linux 6.1: `cake besteffort` over UDP of 1500 B unless said.

    /// One largest packet of tc, which counts 1500 B and their Ethernet header.
    const COUNTED: u64 = 1514;

    /// A queue before a line of this rate, with CAKE's `target` and `interval` there.
    struct Train {
        scene: Scene,
        line: LineView<'static>,
        packet_time: Duration,
        sent: u64,
    }

    impl Train {
        fn new(rate: u64, target: Duration, interval: Duration) -> Self {
            let config = Config {
                target,
                interval,
                ..Config::default()
            };
            Self {
                scene: Scene::new(config, 10_000),
                // With this rate, the line's largest packet, 1500 B, takes as long as tc's.
                line: LineView::plain(Rate(rate * 1500 / COUNTED)),
                packet_time: Duration::from_nanos(COUNTED * 8 * 1_000_000_000 / rate),
                sent: 0,
            }
        }

        /// At 10 Mbit/s.
        fn usual() -> Self {
            Self::new(10_000_000, ms(5), ms(100))
        }

        /// Sends `packets` at once at `start`; the places in the train of those that are lost.
        fn send(&mut self, start: Instant, packets: usize) -> Vec<u64> {
            let first = self.sent;
            self.sent += packets as u64;
            self.scene.bench.now = start;
            self.scene.arrive(packets, Ecn::NotEct);
            let mut lost: Vec<u64> = (0..packets as u64).collect();
            let mut now = start;
            while let (Some((place, _)), _) = self.scene.dequeue(now, &self.line) {
                lost.retain(|other| first + other != place);
                now += self.packet_time;
            }
            lost
        }
    }

    const FRESH: [u64; 8] = [6, 65, 114, 156, 194, 228, 261, 291];
    const LATER: [u64; 5] = [88, 147, 196, 238, 276];

    #[test]
    fn a_fresh_queue_loses_of_a_train_what_a_kernel_does() {
        assert_eq!(Train::usual().send(at(0), 300), FRESH);
        let mut fast = Train::new(50_000_000, ms(5), ms(100));
        assert_eq!(fast.send(at(0), 800), [22, 314, 554, 761]);
        // The kernel loses 19 where this loses 20, which is due 16 µs after 19 leaves.
        let [target, interval] = [18_168, 113_168].map(Duration::from_micros);
        let mut slow = Train::new(1_000_000, target, interval);
        let expected = [6, 13, 20, 25, 30, 35, 40, 44, 48, 52, 56];
        assert_eq!(slow.send(at(0), 60), expected);
    }

    /// The pauses are those since the last packet of the train before left.
    #[test]
    fn a_second_train_meets_the_count_that_is_left_and_a_queue_stays_no_longer_fresh() {
        let departure =
            |packets: u64, lost: u64| Duration::from_nanos(1_211_600 * (packets - lost - 1));
        for (pause, expected) in [
            (20_011, &LATER[..]),
            (511, &LATER[..]),
            (311, &[64, 113, 155, 193, 227, 260, 290][..]),
            (111, &[39, 71, 102, 130, 157, 183, 208, 232, 255][..]),
            (31, &[35, 63, 90, 116, 141, 165, 188, 210, 232][..]),
        ] {
            let mut train = Train::usual();
            assert_eq!(train.send(at(0), 300), FRESH);
            let lost = train.send(at(pause) + departure(300, 8), 300);
            assert_eq!(lost[..expected.len()], *expected, "after {pause} ms");
        }
        let short = |packets: u64, pause| {
            let mut train = Train::usual();
            train.send(at(0), packets as usize);
            train.send(at(pause) + departure(packets, u64::from(packets > 6)), 300)
        };
        // The last of five is in time; the last of six is late, though nothing follows to be lost.
        assert_eq!(short(5, 501), FRESH);
        assert_eq!(short(6, 1), LATER);
        assert_eq!(short(6, 5001), LATER);
        assert_eq!(short(7, 501), LATER);
        assert_eq!(short(30, 102), LATER);
        assert_eq!(short(30, 22), [64, 113, 155, 193, 227, 260, 290]);
    }

    /// 12 Mbit/s of UDP of 1250 B for 8 s. The kernel's packet time is up to 0.4 µs longer than
    /// that of the rate, which is three packets in 8 s.
    #[test]
    fn a_flood_of_a_fifth_too_much_loses_in_each_second_what_it_does_in_a_kernel() {
        let mut train = Train::usual();
        let packet_time = Duration::from_nanos(1264 * 800);
        let arrival =
            |packet: u64| Instant::ZERO + Duration::from_nanos(packet * 1_000_000 * 5 / 6);
        let (mut passed, mut lost, mut free) = (Vec::new(), [0_u64; 8], Instant::ZERO);
        let mut arrived = 0;
        loop {
            let is_waiting = train.scene.backlog.depth().packets > 0;
            if arrived < 9600 && (!is_waiting || arrival(arrived) < free) {
                train.scene.bench.now = arrival(arrived);
                free = free.max(train.scene.bench.now);
                train.scene.arrive(1, Ecn::NotEct);
                arrived += 1;
            } else if let (Some((packet, _)), _) = train.scene.dequeue(free, &train.line) {
                passed.push(packet);
                free += packet_time;
            } else if arrived == 9600 {
                break;
            }
        }
        for (place, lost) in lost.iter_mut().enumerate() {
            let sent = 1200 * place as u64..1200 * (place as u64 + 1);
            *lost = 1200 - passed.iter().filter(|packet| sent.contains(packet)).count() as u64;
        }
        let expected = [46, 107, 159, 203, 244, 278, 310, 337];
        let is_near = |(found, expected): (&u64, &u64)| found.abs_diff(*expected) <= 3;
        assert!(lost.iter().zip(&expected).all(is_near), "{lost:?}");
        assert!(passed.len().abs_diff(7916) <= 3, "{}", passed.len());
    }

    /// A flood of 2.5 times the rate that does not respond: three packets in five must be dropped.
    /// With CoDel alone, nearly all of these would overflow the queue.
    #[test]
    fn blue_controls_a_flood_that_codel_cannot_control() {
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
        // 50 000 packets arrive in the last fifth, of which 30 000 must be dropped.
        assert!((29_000..31_000).contains(&(overlimit + congested)));
        assert!(
            congested > 29_000,
            "{congested} by the law, {overlimit} not"
        );
        let probability = scene.law.blue.probability;
        assert!((0.5..0.7).contains(&probability), "{probability}");
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
        assert!(refused(|config| config.target = ms(101)));
        assert!(refused(|config| config.decrease = Probability(0.0)));
    }
}
