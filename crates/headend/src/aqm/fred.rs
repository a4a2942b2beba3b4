//! FRED, Flow Random Early Drop: RED that counts the packets of each flow in the queue.
//!
//! RED drops the same share of every flow's packets, even of flows that send little. FRED counts
//! the packets of each flow that has packets in the queue (an *active* flow):
//!
//! - A flow with fewer packets than `min_queue`, or than the average of the active flows, is never
//!   dropped at random.
//! - A flow cannot have more packets than its maximum.
//! - A flow that repeatedly exceeds its maximum (*strikes*) is limited to the average share until
//!   it has no packet left.
//!
//! Written from Lin and Morris, "Dynamics of Random Early Detection" (1997), FRED and its extension
//! for many flows: when the average is above the upper threshold, each flow may still have two
//! packets. Names are those of the paper: `qlen`, `avgcq`, `maxq`, `minq`, `strike`.
//!
//! The CBT paper (§2.3) words the second and third rule otherwise, which `multiplier` does: the
//! share of a flow is the current queue divided by the active flows. A flow that would have more
//! than `multiplier` times its share is unresponsive, and limited to its share until it has no
//! packet left.
//!
//! Choices where the paper is silent: flows are distinguished exactly, by connection. The state of
//! a flow is deleted when it has no packet left, which bounds the state. A full queue drops the
//! arriving packet, and this is no strike.

use super::Aqm;
use super::average::{Average, Unit};
use super::red::{check_thresholds, spread};
use crate::aqm::LawParameters;
use crate::context::Context;
use crate::flow::FlowId;
use crate::metrics::sample::QueueInternals;
use crate::packet::Packet;
use crate::queue::{Backlog, LineView};
use crate::rng::Rng;
use crate::time::Instant;
use crate::trace::DropReason;
use crate::units::{ByteCount, Limit, Probability, Rate};

/// Parameters of FRED.
///
/// Use it where some senders do not respond to losses, and a router can keep state for each active
/// flow. With more flows than packets in the queue, shares are one to three packets.
///
/// Source: Lin and Morris, "Dynamics of random early detection" (1997); thresholds as RED's in the
/// CBT paper, §4.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Limit of the queue: a size, a time at the line's rate, a number of packets, or "unlimited".
    /// The room above the thresholds is for bursts.
    pub limit: Limit,
    /// Average queue, in packets, below which no packet is dropped at random. It is also the
    /// largest number of packets that one flow may have. Raising it lets longer bursts pass, and
    /// makes all packets wait longer.
    pub min_threshold: Limit,
    /// Average queue, in packets, from which each flow may have only two packets (or none, without
    /// `many_flows`). Raising it widens the range in which random drops control the queue.
    pub max_threshold: Limit,
    /// Probability of a random drop just below `max_threshold`. Raising it controls more
    /// connections, and keeps a few connections from filling the line.
    pub max_probability: Probability,
    /// Weight of the newest sample in the average. Raising it makes the average follow the queue
    /// sooner, including bursts.
    pub weight: Probability,
    /// Packets that a flow may have in the queue without random drops (`minq`). Raising it protects
    /// small windows and weakens the control.
    pub min_queue: u32,
    /// Extension for many flows: whether a flow may still have two packets above `max_threshold`,
    /// so that many flows with small windows are not all locked out.
    pub many_flows: bool,
    /// FRED as the CBT paper words it: how many times its share of the current queue a flow may
    /// have. One that would have more is limited to its share until it has no packet left. Without
    /// it, the limits are those of Lin and Morris. Raising it lets longer bursts pass.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub multiplier: Option<f64>,
    /// Size of a typical packet. Pauses are counted in its transmission time.
    pub mean_packet: ByteCount,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            // As for RED in "Lightweight Active Router-Queue Management" §4, so that the two can be
            // compared. Lin and Morris use a quarter of the queue, and twice that.
            limit: Limit::Packets(60),
            min_threshold: Limit::Packets(15),
            max_threshold: Limit::Packets(30),
            // Lin and Morris; their weight is 0.002.
            max_probability: Probability(0.02),
            weight: Probability(1.0 / 512.0),
            // Lin and Morris: 2 for small buffers, 4 for large ones.
            min_queue: 2,
            many_flows: true,
            multiplier: None,
            mean_packet: ByteCount(1000),
        }
    }
}

impl LawParameters for Config {
    type Law = Fred;

    fn law(&self, rate: Rate, rng: Rng) -> Result<Fred, String> {
        self.check(rate)?;
        Ok(Fred::new(self, rng))
    }
}

impl Config {
    /// Checks the parameters for a line of this rate.
    ///
    /// # Errors
    ///
    /// A sentence about the first invalid parameter.
    pub fn check(&self, rate: Rate) -> Result<(), String> {
        if self.weight.0 <= 0.0 {
            return Err("weight must be above 0".into());
        }
        if self.mean_packet.0 == 0 {
            return Err("mean_packet must be larger than zero".into());
        }
        if let Some(multiplier) = self.multiplier
            && !(multiplier >= 1.0 && multiplier.is_finite())
        {
            return Err(format!(
                "multiplier must be 1 or more, found {multiplier}: below it no flow could have its \
                 share"
            ));
        }
        let (Limit::Packets(min), Limit::Packets(_)) = (self.min_threshold, self.max_threshold)
        else {
            return Err("min_threshold and max_threshold must be packets: FRED counts them".into());
        };
        if min == 0 {
            return Err("min_threshold must be one packet at least: no flow may have more".into());
        }
        check_thresholds(self.min_threshold, self.max_threshold, self.limit, rate)
    }
}

/// The state of one flow. It is all zero while the flow has no packet in the queue.
#[derive(Debug, Clone, Copy, Default)]
struct Flow {
    /// Packets of the flow in the queue.
    qlen: u32,
    /// How often the flow has exceeded its maximum. With `multiplier`, once is enough.
    strike: u32,
}

/// FRED's state.
#[derive(Debug)]
pub struct Fred {
    min_threshold: f64,
    max_threshold: f64,
    max_probability: f64,
    min_queue: f64,
    is_for_many: bool,
    multiplier: Option<f64>,
    average: Average,
    /// Average queue of an active flow, at least one packet.
    avgcq: f64,
    /// Arrivals since the last random drop; `None` (−1 in the paper) while the average is below the
    /// lower threshold.
    count: Option<u64>,
    /// Flows with packets in the queue.
    active: u32,
    /// Indexed by the slot of the flow table.
    flows: Vec<Flow>,
    rng: Rng,
}

impl Fred {
    /// The control law before its first packet. The parameters must have been checked.
    pub fn new(config: &Config, rng: Rng) -> Self {
        let packets = |threshold| match threshold {
            Limit::Packets(packets) => packets as f64,
            _ => unreachable!("the check wants packets"),
        };
        Self {
            min_threshold: packets(config.min_threshold),
            max_threshold: packets(config.max_threshold),
            max_probability: config.max_probability.0,
            min_queue: f64::from(config.min_queue),
            is_for_many: config.many_flows,
            multiplier: config.multiplier,
            average: Average::new(config.weight.0, config.mean_packet),
            avgcq: 1.0,
            count: None,
            active: 0,
            flows: Vec::new(),
            rng,
        }
    }
}

impl Aqm for Fred {
    fn enqueue(
        &mut self,
        backlog: &mut Backlog,
        packet: Packet,
        line: &LineView<'_>,
        cx: &mut Context<'_>,
    ) {
        let queue = Unit::Packets.of(backlog.depth());
        if queue == 0.0 {
            self.calculate_average(queue, line, cx.now);
        }
        let refused = match self.multiplier {
            Some(multiplier) => self.limit_to_share(packet.flow, multiplier, queue),
            None => self.manage_non_adaptive(packet.flow),
        };
        if let Some(reason) = refused {
            return cx.discard(packet, reason);
        }
        if let Some(reason) = self.drop_reason(packet.flow) {
            return cx.discard(packet, reason);
        }
        if !backlog.fits(&packet, line) {
            return cx.discard(packet, DropReason::Overlimit);
        }
        let flow = self.flow(packet.flow);
        flow.qlen += 1;
        self.active += u32::from(flow.qlen == 1);
        self.calculate_average(queue, line, cx.now);
        backlog.push(packet, line, cx);
    }

    fn dequeue(
        &mut self,
        backlog: &mut Backlog,
        line: &LineView<'_>,
        cx: &mut Context<'_>,
    ) -> Option<Packet> {
        let packet = backlog.pop(line)?;
        self.note_departure(packet.flow, backlog, cx.now);
        Some(packet)
    }

    fn evicted(
        &mut self,
        backlog: &Backlog,
        packet: &Packet,
        _line: &LineView<'_>,
        cx: &Context<'_>,
    ) {
        self.note_departure(packet.flow, backlog, cx.now);
    }

    fn is_periodic(&self) -> bool {
        false
    }

    fn internals(&self) -> QueueInternals {
        QueueInternals {
            drop_probability: Some(self.base_probability()),
            average_packets: Some(self.average.value()),
            ..QueueInternals::default()
        }
    }
}

/// The pseudo-code of the paper, part by part.
impl Fred {
    /// "for each departing packet".
    fn note_departure(&mut self, id: FlowId, backlog: &Backlog, now: Instant) {
        let queue = Unit::Packets.of(backlog.depth());
        self.average.sample_departure(queue, now);
        self.share_average();
        let flow = self.flow(id);
        flow.qlen -= 1;
        if flow.qlen == 0 {
            *flow = Flow::default();
            self.active -= 1;
        }
    }

    /// "Identify and manage non-adaptive flows": the reason if an arriving packet of this flow is
    /// dropped.
    fn manage_non_adaptive(&mut self, id: FlowId) -> Option<DropReason> {
        let is_over = self.average.value() >= self.max_threshold;
        let avgcq = self.avgcq;
        // The extension: above the upper threshold, each flow may have two packets.
        let maxq = if is_over && self.is_for_many {
            2.0
        } else {
            self.min_threshold
        };
        let flow = self.flow(id);
        let qlen = f64::from(flow.qlen);
        let is_unresponsive = qlen >= avgcq && flow.strike > 1;
        let has_too_many = qlen >= maxq || (is_over && qlen > 2.0 * avgcq);
        if !is_unresponsive && !has_too_many {
            return None;
        }
        flow.strike = flow.strike.saturating_add(1);
        Some(if is_unresponsive {
            DropReason::Unresponsive
        } else {
            DropReason::FlowLimit
        })
    }

    /// The rule of the CBT paper: the reason if an arriving packet of this flow is dropped, before
    /// which `queue` packets wait.
    fn limit_to_share(&mut self, id: FlowId, multiplier: f64, queue: f64) -> Option<DropReason> {
        let is_over = self.average.value() >= self.max_threshold;
        let share = (queue / f64::from(self.active.max(1))).max(1.0);
        let is_for_many = self.is_for_many;
        let flow = self.flow(id);
        let next = f64::from(flow.qlen + 1);
        if flow.strike > 0 && next > share {
            return Some(DropReason::Unresponsive);
        }
        if next > multiplier * share {
            flow.strike += 1;
            return Some(DropReason::FlowLimit);
        }
        (is_over && is_for_many && next > 2.0).then_some(DropReason::FlowLimit)
    }

    /// "Operate in random drop mode" and "in drop-tail mode": the reason if the arriving packet is
    /// dropped.
    fn drop_reason(&mut self, id: FlowId) -> Option<DropReason> {
        let average = self.average.value();
        if average < self.min_threshold {
            self.count = None;
            return None;
        }
        if average >= self.max_threshold {
            // Drop-tail mode. With the extension, only flows with fewer than two packets reach this
            // point, and their packets are enqueued.
            self.count = Some(0);
            return (!self.is_for_many).then_some(DropReason::Forced);
        }
        let count = self.count.map_or(0, |count| count + 1);
        self.count = Some(count);
        // "Only random drop from robust flows."
        let robust = self.min_queue.max(self.avgcq);
        if f64::from(self.flow(id).qlen) < robust {
            return None;
        }
        let drops = self.rng.uniform() < spread(self.base_probability(), count);
        if !drops {
            return None;
        }
        self.count = Some(0);
        Some(DropReason::Congested)
    }

    /// `p_b`: the drop probability before drops are spread evenly.
    fn base_probability(&self) -> f64 {
        let span = self.max_threshold - self.min_threshold;
        let share = (self.average.value() - self.min_threshold) / span;
        self.max_probability * share.clamp(0.0, 1.0)
    }

    /// "Calculate average queue length", at an arrival.
    fn calculate_average(&mut self, queue: f64, line: &LineView<'_>, now: Instant) {
        self.average.sample(queue, now, line.rate);
        self.share_average();
    }

    fn share_average(&mut self) {
        let flows = f64::from(self.active.max(1));
        self.avgcq = (self.average.value() / flows).max(1.0);
    }

    fn flow(&mut self, id: FlowId) -> &mut Flow {
        let index = id.0 as usize;
        if index >= self.flows.len() {
            self.flows.resize(index + 1, Flow::default());
        }
        &mut self.flows[index]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::BacklogLimit;
    use crate::testing::Bench;
    use crate::time::Duration;
    use crate::trace::TraceEvent;

    const RATE: Rate = Rate(10_000_000);
    const LINE: LineView<'static> = LineView::plain(RATE);

    /// FRED over a backlog, with several flows; the tests call both directly.
    struct Scene {
        bench: Bench,
        flows: Vec<FlowId>,
        backlog: Backlog,
        fred: Fred,
    }

    impl Scene {
        fn new(config: &Config, flows: usize) -> Self {
            let mut bench = Bench::new();
            let flows = (0..flows).map(|_| bench.flow(0)).collect();
            Self {
                bench,
                flows,
                backlog: Backlog::new(BacklogLimit::at_rate(config.limit, RATE)),
                fred: Fred::new(config, Rng::for_path(1, "queue")),
            }
        }

        /// Keeps the average at `average` from now on.
        fn hold(mut self, average: f64) -> Self {
            self.fred.average = Average::new(1.0, ByteCount(1000));
            self.fred.average.sample(average, Instant::ZERO, RATE);
            self.fred.average.freeze();
            self.fred.share_average();
            self
        }

        /// Packets of a flow arrive. Returns for each the reason if it was dropped.
        fn arrive(&mut self, flow: usize, packets: usize) -> Vec<Option<DropReason>> {
            (0..packets).map(|_| self.arrive_one(flow)).collect()
        }

        fn arrive_one(&mut self, flow: usize) -> Option<DropReason> {
            let packet = self.bench.packet(self.flows[flow], 1000);
            self.fred
                .enqueue(&mut self.backlog, packet, &LINE, &mut self.bench.cx());
            let reason = |(_, event)| match event {
                TraceEvent::Discarded { reason, .. } => Some(reason),
                _ => None,
            };
            self.bench.take_log().into_iter().find_map(reason)
        }

        fn leave(&mut self, packets: usize) {
            for _ in 0..packets {
                let packet = self
                    .fred
                    .dequeue(&mut self.backlog, &LINE, &mut self.bench.cx());
                self.bench.end(packet.expect("one waits"));
            }
        }

        fn state(&self, flow: usize) -> (u32, u32) {
            let Flow { qlen, strike } = self.fred.flows[self.flows[flow].0 as usize];
            (qlen, strike)
        }
    }

    #[track_caller]
    fn assert_near(found: f64, expected: f64) {
        assert!(
            (found - expected).abs() < 1e-12,
            "{found} is not {expected}"
        );
    }

    const TAKEN: Option<DropReason> = None;
    const LIMITED: Option<DropReason> = Some(DropReason::FlowLimit);
    const UNRESPONSIVE: Option<DropReason> = Some(DropReason::Unresponsive);

    fn with_multiplier() -> Config {
        Config {
            multiplier: Some(2.0),
            ..Config::default()
        }
    }

    /// By hand: with four packets of three flows in the queue a share is 4 ÷ 3. A flow that has two
    /// would have more than twice that with a third.
    #[test]
    fn a_flow_beyond_its_multiple_is_held_to_its_share_of_the_current_queue() {
        let mut scene = Scene::new(&with_multiplier(), 3).hold(0.0);
        assert_eq!(scene.arrive(1, 1), [TAKEN]);
        assert_eq!(scene.arrive(2, 1), [TAKEN]);
        // Its first packet finds a share of 1, its second one of 1, its third one of 4 ÷ 3.
        let dropped = scene.arrive(0, 4).iter().position(Option::is_some);
        assert_eq!((dropped, scene.state(0)), (Some(2), (2, 1)));
        // Its share is 4 ÷ 3 packets now, and it has two.
        assert_eq!(scene.arrive(0, 1), [UNRESPONSIVE]);
        assert_eq!(scene.arrive(1, 1), [TAKEN]);
        // Without packets it is forgiven. The order is 1, 2, 0, 0, 1.
        scene.leave(4);
        assert_eq!(scene.state(0), (0, 0));
        assert_eq!(scene.arrive(0, 1), [TAKEN]);
    }

    #[test]
    fn a_multiplier_below_one_is_refused() {
        for multiplier in [0.5, f64::NAN, f64::INFINITY] {
            let config = Config {
                multiplier: Some(multiplier),
                ..Config::default()
            };
            let why = config.check(RATE).expect_err("it makes no sense");
            assert!(why.contains("multiplier must be 1 or more"), "{why}");
        }
    }

    #[test]
    fn a_flow_that_is_alone_has_the_whole_queue_as_its_share() {
        let mut scene = Scene::new(&with_multiplier(), 1).hold(0.0);
        assert!(scene.arrive(0, 60).iter().all(Option::is_none));
    }

    // The steps below were computed by hand from the pseudo-code of the paper.

    #[test]
    fn a_flow_may_have_as_many_packets_as_the_lower_threshold_and_is_struck_for_more() {
        let mut scene = Scene::new(&Config::default(), 1).hold(10.0);
        assert_eq!(scene.arrive(0, 15), [TAKEN; 15]);
        assert_eq!(scene.arrive(0, 2), [LIMITED; 2]);
        assert_eq!(scene.state(0), (15, 2));
    }

    #[test]
    fn a_flow_with_two_strikes_is_held_to_the_average_share_until_it_has_no_packet_left() {
        let mut scene = Scene::new(&Config::default(), 2).hold(10.0);
        scene.arrive(1, 1);
        scene.arrive(0, 17);
        // avgcq: 10 packets over two active flows. With 15, 6 and 5 packets, the flow's arrivals
        // are dropped; with 4, they are enqueued.
        assert_eq!((scene.fred.avgcq, scene.state(0)), (5.0, (15, 2)));
        scene.leave(10);
        assert_eq!(scene.state(0), (6, 2));
        scene.arrive(1, 1);
        assert_eq!(scene.arrive_one(0), UNRESPONSIVE);
        scene.leave(1);
        assert_eq!(scene.arrive_one(0), UNRESPONSIVE);
        scene.leave(1);
        assert_eq!(scene.arrive(0, 2), [TAKEN, UNRESPONSIVE]);
        assert_eq!(scene.state(0), (5, 5));
        scene.leave(6);
        assert_eq!(
            scene.state(0),
            (0, 0),
            "a flow without packets is forgotten"
        );
        assert_eq!(scene.arrive(0, 10), [TAKEN; 10]);
    }

    #[test]
    fn above_the_upper_threshold_each_flow_may_have_two_packets() {
        let mut scene = Scene::new(&Config::default(), 20).hold(30.0);
        for flow in 0..20 {
            assert_eq!(scene.arrive(flow, 3), [TAKEN, TAKEN, LIMITED]);
        }
    }

    #[test]
    fn without_the_extension_everything_is_refused_above_the_upper_threshold() {
        let config = Config {
            many_flows: false,
            ..Config::default()
        };
        let mut scene = Scene::new(&config, 2).hold(30.0);
        assert_eq!(scene.arrive_one(0), Some(DropReason::Forced));
        assert_eq!(scene.state(0), (0, 0), "that is no strike");
    }

    #[test]
    fn without_the_extension_twice_the_average_share_is_too_many() {
        let config = Config {
            many_flows: false,
            ..Config::default()
        };
        let mut scene = Scene::new(&config, 9).hold(10.0);
        scene.arrive(0, 8);
        for flow in 1..9 {
            scene.arrive(flow, 1);
        }
        // avgcq: 36 packets over nine flows. 8 is not more than twice that; 9 is.
        scene = scene.hold(36.0);
        assert_eq!(scene.arrive_one(0), Some(DropReason::Forced));
        scene.flows.swap(0, 1);
        scene.fred.flow(scene.flows[0]).qlen = 9;
        assert_eq!(scene.arrive_one(0), LIMITED);
    }

    #[test]
    fn only_flows_with_min_queue_and_the_average_share_are_dropped_at_random() {
        let mut scene = Scene::new(&Config::default(), 8).hold(24.0);
        for flow in 0..8 {
            scene.arrive(flow, 2);
        }
        assert_near(scene.fred.avgcq, 3.0);
        // The drop is certain if the flow is tested: p_b = 0.02 × 9/15 = 0.012, and 83 × 0.012 =
        // 0.996.
        scene.fred.count = Some(82);
        assert_eq!(scene.arrive_one(0), TAKEN, "it had 2");
        assert_eq!(scene.fred.count, Some(83));
        scene.fred.count = Some(82);
        assert_eq!(scene.arrive_one(0), Some(DropReason::Congested), "it had 3");
        assert_eq!(scene.fred.count, Some(0));
        assert_eq!(scene.state(0), (3, 0), "a random drop is no strike");
    }

    #[test]
    fn the_probability_is_that_of_red() {
        let scene = |average| Scene::new(&Config::default(), 1).hold(average);
        for (average, expected) in [(14.0, 0.0), (18.0, 0.004), (22.5, 0.01), (29.999, 0.02)] {
            let found = scene(average).fred.base_probability();
            assert!((found - expected).abs() < 1e-5, "{found} at {average}");
        }
    }

    #[test]
    fn the_average_takes_a_sample_at_arrivals_and_at_departures() {
        let config = Config {
            weight: Probability(0.5),
            ..Config::default()
        };
        let mut scene = Scene::new(&config, 1);
        // Before the arrivals: 0, 1, 2 and 3 packets. Averages: 0, 0.5, 1.25 and 2.125.
        scene.arrive(0, 4);
        assert_near(scene.fred.average.value(), 2.125);
        // After the departures: 3, 2, 1 and 0 packets.
        scene.leave(1);
        assert_near(scene.fred.average.value(), 2.5625);
        scene.leave(3);
        assert_near(scene.fred.average.value(), 0.820_312_5);
        // A pause of one packet of 1000 B halves the average.
        scene.bench.advance(Duration::from_micros(800));
        scene.arrive(0, 1);
        assert_near(scene.fred.average.value(), 0.410_156_25);
    }

    #[test]
    fn the_average_share_is_one_packet_at_least() {
        let mut scene = Scene::new(&Config::default(), 30).hold(10.0);
        for flow in 0..30 {
            scene.arrive(flow, 1);
        }
        assert_eq!((scene.fred.active, scene.fred.avgcq), (30, 1.0));
    }

    #[test]
    fn a_full_queue_drops_the_arrival_without_a_strike() {
        let mut scene = Scene::new(&Config::default(), 70).hold(10.0);
        for flow in 0..60 {
            assert_eq!(scene.arrive_one(flow), TAKEN);
        }
        assert_eq!(scene.arrive_one(60), Some(DropReason::Overlimit));
        assert_eq!((scene.state(60), scene.fred.active), ((0, 0), 60));
    }

    #[test]
    fn invalid_parameters_are_refused() {
        let refusal = |change: fn(&mut Config)| {
            let mut config = Config::default();
            change(&mut config);
            config.check(RATE).expect_err("it makes no sense")
        };
        assert_eq!(Config::default().check(RATE), Ok(()));
        assert!(refusal(|config| config.weight = Probability(0.0)).contains("weight"));
        assert!(refusal(|config| config.mean_packet = ByteCount(0)).contains("mean_packet"));
        assert!(refusal(|config| config.min_threshold = Limit::Packets(0)).contains("one packet"));
        assert!(refusal(|config| config.max_threshold = Limit::Packets(15)).contains("below"));
        assert!(refusal(|config| config.limit = Limit::Packets(29)).contains("above limit"));
        let bytes = refusal(|config| config.max_threshold = Limit::Bytes(ByteCount(30_000)));
        assert!(bytes.contains("must be packets"), "{bytes}");
    }
}
