//! CBT, Class-Based Thresholds: RED, and for each class of traffic a bound on its average share of the one queue.
//!
//! RED lets senders that do not answer losses push out those that do. CBT counts the packets of each class in the queue. An arrival whose class has
//! more of them on average than the class's threshold is dropped; all others are RED's. All packets wait in one FIFO: a threshold bounds the
//! class's share of the line only while the queue is full of others, and what a class does not use the others take.
//!
//! In the paper TCP has no threshold, *tagged* packets (continuous media) one of 10 packets, and *untagged* ones (all others) one of 2.
//!
//! - "CBT with RED for all flows" (`red_for = "all"`): RED counts the whole queue and tests every packet that its threshold lets pass.
//! - "CBT with RED only for TCP" (`red_for = "unbounded"`): RED counts and tests the classes without a threshold alone.
//!
//! Written from Parris, Jeffay and Smith, "Lightweight Active Router-Queue Management for Multimedia Networking" (1999) §3 and §4.
//!
//! Choices where the paper is silent: class averages have RED's weight and decay like RED's while the class has no packet in the queue; an
//! arrival dropped at its threshold is no sample of RED's average; with RED only for TCP a forced drop falls on a packet RED may test, and a full
//! queue refuses arrivals of the other classes.

use std::collections::BTreeMap;

use super::average::{Average, Unit};
use super::red::{self, Detector, Verdict};
use super::{Aqm, random_drop};
use crate::aqm::LawParameters;
use crate::context::Context;
use crate::metrics::sample::QueueInternals;
use crate::packet::Packet;
use crate::queue::{Backlog, Classes, Classifier, Depth, LineView, TransportName};
use crate::rng::Rng;
use crate::trace::DropReason;
use crate::units::{ByteCount, Limit, Probability, Rate};

/// Parameters of CBT.
///
/// Use it where unresponsive media and TCP share a router that cannot afford a scheduler: its state is a few figures for each class.
///
/// Source: Parris, Jeffay and Smith, "Lightweight active router-queue management for multimedia networking" (1999), §3 and §4.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// How much may wait: a size, a time at the line's rate, a number of packets, or "unlimited". Room for bursts above the thresholds.
    pub limit: Limit,
    /// Classes by name, in place of the paper's three. What no class matches is RED's alone.
    pub class: BTreeMap<String, Class>,
    /// Which packets RED counts and tests.
    pub red_for: RedFor,
    /// RED: average queue below which nothing is dropped early. Raising it lets longer bursts pass and makes everybody wait longer.
    pub min_threshold: Limit,
    /// RED: average queue from which every arrival costs a packet. Raising it leaves early drops more room to work.
    pub max_threshold: Limit,
    /// RED: probability of an early drop just below `max_threshold`. Raising it controls more connections, and keeps fewer from filling the line.
    pub max_probability: Probability,
    /// Weight of the newest sample in all averages. Raising it follows the queue sooner, bursts included.
    pub weight: Probability,
    /// Size of a usual packet: what a pause is counted in.
    pub mean_packet: ByteCount,
    /// Average queue that RED is expected to keep: thresholds derived from rates are what a class brings while this drains. Raising it lets such
    /// classes have more.
    pub expected_queue: Limit,
    /// RED: marks ECN-capable packets instead of an early drop.
    pub ecn: bool,
}

/// A class of packets.
#[derive(
    Debug, Clone, PartialEq, Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(default, deny_unknown_fields)]
pub struct Class {
    /// Which packets it has: all conditions must hold. Without conditions, those that no other class has.
    #[serde(rename = "match", skip_serializing_if = "Classifier::is_empty")]
    pub classifier: Classifier,
    /// Average number of packets (or bytes, or a time at the line's rate) of this class in the queue from which its arrivals are dropped. Raising
    /// it gives the class more of a full line. Without it, and without `rate`, the class is RED's alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threshold: Option<Limit>,
    /// In place of a threshold: the rate the class is meant to have. The threshold is what arrives at this rate while `expected_queue` drains.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
}

/// Which packets RED counts and tests.
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
pub enum RedFor {
    /// All that pass their class's threshold.
    #[default]
    All,
    /// Those of classes without a threshold alone: TCP, in the paper.
    Unbounded,
}

impl Default for Config {
    fn default() -> Self {
        let red = red::Config::default();
        Self {
            // RED as in §4 of the paper.
            limit: red.limit,
            class: papers_classes(),
            red_for: RedFor::All,
            min_threshold: red.min_threshold,
            max_threshold: red.max_threshold,
            max_probability: red.max_probability,
            weight: red.weight,
            mean_packet: red.mean_packet,
            // §4: "we expect the RED feedback mechanism to maintain a queue average of 26 packets".
            expected_queue: Limit::Packets(26),
            ecn: true,
        }
    }
}

/// §4: TCP, tagged packets with a threshold of 10 packets, untagged ones with 2.
fn papers_classes() -> BTreeMap<String, Class> {
    let class = |classifier, threshold: Option<u64>| Class {
        classifier,
        threshold: threshold.map(Limit::Packets),
        rate: None,
    };
    // The paper does not say how packets are tagged. AF41, multimedia conferencing (RFC 4594).
    let tagged = Classifier::of_dscp(34);
    let tcp = Classifier::of_protocol(TransportName::Tcp);
    [
        ("tagged", class(tagged, Some(10))),
        ("tcp", class(tcp, None)),
        ("untagged", class(Classifier::default(), Some(2))),
    ]
    .map(|(name, class)| (name.to_owned(), class))
    .into()
}

impl LawParameters for Config {
    type Law = Cbt;

    fn law(&self, rate: Rate, rng: Rng) -> Result<Cbt, String> {
        Cbt::new(self, rate, rng)
    }
}

impl Config {
    fn red(&self) -> red::Config {
        red::Config {
            limit: self.limit,
            min_threshold: self.min_threshold,
            max_threshold: self.max_threshold,
            max_probability: self.max_probability,
            weight: self.weight,
            mean_packet: self.mean_packet,
            ..red::Config::default()
        }
    }

    /// The threshold of a class and the unit it is counted in, if it has one.
    fn threshold_of(
        &self,
        name: &str,
        class: &Class,
        line: Rate,
    ) -> Result<Option<(Unit, f64)>, String> {
        match (class.threshold, class.rate) {
            (None, None) => Ok(None),
            (Some(_), Some(_)) => Err(format!(
                "class.{name} has a threshold and a rate: expected one of them"
            )),
            (Some(threshold), None) => match Unit::of_threshold(threshold, line) {
                None => Err(format!(
                    "class.{name}.threshold must be packets, a size or a time: leave it out for a class without one"
                )),
                bounded => Ok(bounded),
            },
            (None, Some(rate)) => self.derived_threshold(name, rate, line).map(Some),
        }
    }

    /// §4: "given a drain rate, the threshold … should ensure minimal packet loss": what arrives at `rate` while the expected queue drains.
    fn derived_threshold(&self, name: &str, rate: Rate, line: Rate) -> Result<(Unit, f64), String> {
        if rate.0 == 0 || rate > line {
            return Err(format!(
                "class.{name}.rate must be above zero and at most the line's ({line})"
            ));
        }
        let queue = match Unit::of_threshold(self.expected_queue, line) {
            Some((Unit::Packets, packets)) => packets * self.mean_packet.0 as f64,
            Some((Unit::Bytes, bytes)) => bytes,
            None => return Err("expected_queue must be packets, a size or a time".into()),
        };
        Ok((Unit::Bytes, queue * rate.0 as f64 / line.0 as f64))
    }
}

/// What is known of one class.
#[derive(Debug)]
struct ClassState {
    /// Its packets in the queue.
    queued: Depth,
    average: Average,
    /// What is counted, and how much of it is too much on average.
    threshold: Option<(Unit, f64)>,
}

/// CBT over one backlog.
#[derive(Debug)]
pub struct Cbt {
    rules: Classes,
    /// The classes by number; the last has what no other takes.
    classes: Vec<ClassState>,
    red_for: RedFor,
    red: Detector,
    /// What RED counts of the queue.
    tested: Depth,
    ecn: bool,
    rng: Rng,
}

impl Cbt {
    /// CBT before its first packet, and before a line of this rate.
    ///
    /// # Errors
    ///
    /// Why it cannot run with these parameters, as a sentence.
    pub fn new(config: &Config, rate: Rate, rng: Rng) -> Result<Self, String> {
        let red = config.red();
        red.check(rate)?;
        let matches = (config.class.iter()).map(|(name, class)| (name.as_str(), &class.classifier));
        let rules = Classes::new(matches)?;
        let state = |threshold| ClassState {
            queued: Depth::default(),
            average: Average::new(config.weight.0, config.mean_packet),
            threshold,
        };
        let mut classes = Vec::with_capacity(config.class.len() + 1);
        for (name, class) in &config.class {
            classes.push(state(config.threshold_of(name, class, rate)?));
        }
        classes.push(state(None));
        Ok(Self {
            rules,
            classes,
            red_for: config.red_for,
            red: Detector::new(&red, rate),
            tested: Depth::default(),
            ecn: config.ecn,
            rng,
        })
    }
}

impl Aqm for Cbt {
    /// §3, "whenever a packet arrives".
    fn enqueue(
        &mut self,
        backlog: &mut Backlog,
        packet: Packet,
        line: &LineView<'_>,
        cx: &mut Context<'_>,
    ) {
        let class = self.class_of(&packet, cx);
        if self.is_over_threshold(class, line, cx) {
            cx.discard(packet, DropReason::FlowLimit);
        } else if self.is_tested(class) {
            self.test(class, backlog, packet, line, cx);
        } else if backlog.fits(&packet, line) {
            self.take_in(class, backlog, packet, line, cx);
        } else {
            cx.discard(packet, DropReason::Overlimit);
        }
    }

    fn dequeue(
        &mut self,
        backlog: &mut Backlog,
        line: &LineView<'_>,
        cx: &mut Context<'_>,
    ) -> Option<Packet> {
        let packet = backlog.pop(line)?;
        self.let_go(&packet, line, cx);
        Some(packet)
    }

    fn evicted(
        &mut self,
        _backlog: &Backlog,
        packet: &Packet,
        line: &LineView<'_>,
        cx: &Context<'_>,
    ) {
        self.let_go(packet, line, cx);
    }

    fn is_periodic(&self) -> bool {
        false
    }

    fn internals(&self) -> QueueInternals {
        self.red.internals()
    }
}

impl Cbt {
    fn class_of(&self, packet: &Packet, cx: &Context<'_>) -> usize {
        let unmatched = self.classes.len() - 1;
        (self.rules.class_of(cx.header(packet.flow))).unwrap_or(unmatched)
    }

    /// Updates the class's average, and compares it with its threshold.
    fn is_over_threshold(&mut self, class: usize, line: &LineView<'_>, cx: &Context<'_>) -> bool {
        let state = &mut self.classes[class];
        let Some((unit, threshold)) = state.threshold else {
            return false;
        };
        let queued = unit.of(state.queued);
        state.average.sample(queued, cx.now, line.rate);
        state.average.value() > threshold
    }

    /// Whether RED counts and tests packets of this class.
    fn is_tested(&self, class: usize) -> bool {
        self.red_for == RedFor::All || self.classes[class].threshold.is_none()
    }

    /// RED's part.
    fn test(
        &mut self,
        class: usize,
        backlog: &mut Backlog,
        mut packet: Packet,
        line: &LineView<'_>,
        cx: &mut Context<'_>,
    ) {
        self.red
            .observe(self.red.unit().of(self.tested), cx.now, line);
        let size = line.framing.of_size(packet.size);
        match self.red.judge(size, &mut self.rng) {
            Verdict::Forced => self.force(class, backlog, packet, DropReason::Forced, line, cx),
            Verdict::Early if self.ecn && backlog.fits(&packet, line) && cx.mark(&mut packet) => {
                self.take_in(class, backlog, packet, line, cx);
            }
            Verdict::Early => cx.discard(packet, DropReason::Congested),
            Verdict::Pass if backlog.fits(&packet, line) => {
                self.take_in(class, backlog, packet, line, cx);
            }
            Verdict::Pass => {
                self.red.note_drop();
                self.force(class, backlog, packet, DropReason::Overlimit, line, cx);
            }
        }
    }

    /// RED's forced drop: of a packet that RED tests or of the arrival, each as likely as the other; of several, if the arrival needs it.
    fn force(
        &mut self,
        class: usize,
        backlog: &mut Backlog,
        packet: Packet,
        reason: DropReason,
        line: &LineView<'_>,
        cx: &mut Context<'_>,
    ) {
        loop {
            let Some(victim) = self.draw_victim(backlog, line, cx) else {
                return cx.discard(packet, reason);
            };
            self.let_go(&victim, line, cx);
            cx.discard(victim, reason);
            if backlog.fits(&packet, line) {
                return self.take_in(class, backlog, packet, line, cx);
            }
        }
    }

    fn draw_victim(
        &mut self,
        backlog: &mut Backlog,
        line: &LineView<'_>,
        cx: &Context<'_>,
    ) -> Option<Packet> {
        if self.red_for == RedFor::All {
            return random_drop::draw_victim(&mut self.rng, backlog, line);
        }
        // The packets that RED tests are found by looking at all: the price of a forced drop, not of a packet.
        let chosen = self.rng.below(self.tested.packets + 1) as usize;
        let is_tested = |packet: &&Packet| self.is_tested(self.class_of(packet, cx));
        let of_interest = (backlog.iter().enumerate()).filter(|(_, packet)| is_tested(packet));
        let (index, _) = { of_interest }.nth(chosen)?;
        backlog.remove(index, line)
    }

    fn take_in(
        &mut self,
        class: usize,
        backlog: &mut Backlog,
        packet: Packet,
        line: &LineView<'_>,
        cx: &mut Context<'_>,
    ) {
        let bytes = line.framing.of_size(packet.size);
        if self.is_tested(class) {
            add(&mut self.tested, bytes);
        }
        add(&mut self.classes[class].queued, bytes);
        backlog.push(packet, line, cx);
    }

    /// A packet has left the queue, whichever way.
    fn let_go(&mut self, packet: &Packet, line: &LineView<'_>, cx: &Context<'_>) {
        let bytes = line.framing.bytes(packet);
        let class = self.class_of(packet, cx);
        if self.is_tested(class) {
            take(&mut self.tested, bytes);
            if self.tested.packets == 0 {
                self.red.note_empty(cx.now);
            }
        }
        let state = &mut self.classes[class];
        take(&mut state.queued, bytes);
        if state.queued.packets == 0 {
            state.average.note_empty(cx.now);
        }
    }
}

fn add(depth: &mut Depth, bytes: u64) {
    depth.packets += 1;
    depth.bytes += bytes;
}

fn take(depth: &mut Depth, bytes: u64) {
    depth.packets -= 1;
    depth.bytes -= bytes;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::{FlowId, Protocol};
    use crate::packet::Ecn;
    use crate::queue::BacklogLimit;
    use crate::testing::Bench;
    use crate::time::{Duration, Instant};
    use crate::trace::TraceEvent;

    const RATE: Rate = Rate(10_000_000);
    const LINE: LineView<'static> = LineView::plain(RATE);

    /// Flows of the scene, in order.
    const TCP: usize = 0;
    const TAGGED: usize = 1;
    const UNTAGGED: usize = 2;
    const PING: usize = 3;

    /// CBT over a backlog, both driven by hand, with one flow of each kind.
    struct Scene {
        bench: Bench,
        flows: [FlowId; 4],
        backlog: Backlog,
        cbt: Cbt,
    }

    impl Scene {
        fn new(config: &Config) -> Self {
            let mut bench = Bench::new();
            let flows = [
                (Protocol::Tcp, 0),
                (Protocol::Udp, 34),
                (Protocol::Udp, 0),
                (Protocol::Icmp, 0),
            ]
            .map(|(protocol, dscp)| bench.flow_of(protocol, dscp));
            let cbt = Cbt::new(config, RATE, Rng::for_path(1, "queue"));
            Self {
                bench,
                flows,
                backlog: Backlog::new(BacklogLimit::at_rate(config.limit, RATE)),
                cbt: cbt.expect("the parameters are valid"),
            }
        }

        /// Packets of 1000 B of a flow arrive: which packets each cost, and why.
        fn arrive(&mut self, flow: usize, packets: usize) -> Vec<(FlowId, DropReason)> {
            for _ in 0..packets {
                let packet = self.bench.packet(self.flows[flow], 1000);
                self.cbt
                    .enqueue(&mut self.backlog, packet, &LINE, &mut self.bench.cx());
            }
            let discarded = |(_, event)| match event {
                TraceEvent::Discarded { packet, reason, .. } => Some((packet.flow, reason)),
                _ => None,
            };
            let log = self.bench.take_log();
            log.into_iter().filter_map(discarded).collect()
        }

        fn leave(&mut self, packets: usize) {
            for _ in 0..packets {
                let packet = (self.cbt).dequeue(&mut self.backlog, &LINE, &mut self.bench.cx());
                self.bench.end(packet.expect("one waits"));
            }
        }

        fn class(&mut self, flow: usize) -> &mut ClassState {
            let cx = self.bench.cx();
            let class = self.cbt.rules.class_of(cx.header(self.flows[flow]));
            &mut self.cbt.classes[class.expect("the paper's classes take everything")]
        }

        /// From here on RED's average stays at `average`.
        fn hold_red(&mut self, average: f64) {
            self.cbt.red.hold(average);
        }
    }

    fn tagged(config: &mut Config) -> &mut Class {
        (config.class.get_mut("tagged")).expect("a class of the paper")
    }

    fn with_weight(weight: f64) -> Config {
        Config {
            weight: Probability(weight),
            ..Config::default()
        }
    }

    fn unbounded_only() -> Config {
        Config {
            red_for: RedFor::Unbounded,
            ..Config::default()
        }
    }

    // Averages are followed by hand: with a weight of 1 an average is what the class had in the queue at its latest arrival.

    #[test]
    fn an_arrival_is_dropped_once_its_class_is_over_its_threshold_on_average() {
        let mut scene = Scene::new(&with_weight(1.0));
        scene.hold_red(0.0);
        let untagged = scene.flows[UNTAGGED];
        // Before the arrivals: 0, 1, 2 packets; with 3 it is above 2.
        assert_eq!(scene.arrive(UNTAGGED, 3), []);
        let over = [(untagged, DropReason::FlowLimit); 2];
        assert_eq!(scene.arrive(UNTAGGED, 2), over);
        assert_eq!(scene.arrive(TAGGED, 11), []);
        assert_eq!(scene.arrive(TAGGED, 1).len(), 1);
        scene.leave(1);
        assert_eq!(scene.arrive(UNTAGGED, 1), []);
    }

    #[test]
    fn tcp_has_no_threshold_and_what_is_neither_tcp_nor_tagged_is_untagged() {
        let mut scene = Scene::new(&with_weight(1.0));
        scene.hold_red(0.0);
        assert_eq!(scene.arrive(TCP, 40), []);
        assert_eq!(scene.arrive(PING, 3), []);
        assert_eq!(scene.arrive(UNTAGGED, 1).len(), 1);
    }

    #[test]
    fn a_burst_passes_that_the_slow_average_does_not_see() {
        let mut scene = Scene::new(&Config::default());
        assert_eq!(scene.arrive(UNTAGGED, 30), []);
        // 1/512 of 0 + 1 + … + 29 = 435, a little less for the decay: 0.83 packets.
        let average = scene.class(UNTAGGED).average.value();
        assert!((0.82..0.85).contains(&average), "{average}");
    }

    #[test]
    fn a_class_with_no_packet_in_the_queue_is_forgiven_in_time() {
        let mut scene = Scene::new(&with_weight(0.5));
        scene.hold_red(0.0);
        scene.arrive(UNTAGGED, 4);
        // 0, 0.5, 1.25, 2.125: the fourth was refused.
        assert_eq!(scene.backlog.depth().packets, 3);
        scene.leave(3);
        // A packet time of 800 µs halves it.
        scene.bench.advance(Duration::from_micros(800));
        assert_eq!(scene.arrive(UNTAGGED, 1), []);
        let average = scene.class(UNTAGGED).average.value();
        assert!((average - 1.0625).abs() < 1e-12, "{average}");
    }

    #[test]
    fn with_red_for_all_the_average_counts_all_and_every_class_is_tested() {
        let mut scene = Scene::new(&with_weight(1.0));
        scene.arrive(TCP, 10);
        scene.arrive(TAGGED, 5);
        scene.arrive(UNTAGGED, 1);
        assert_eq!(scene.cbt.internals().average_packets, Some(15.0));
        scene.hold_red(30.0);
        let cost = scene.arrive(UNTAGGED, 1);
        assert!(matches!(cost[..], [(_, DropReason::Forced)]), "{cost:?}");
    }

    #[test]
    fn with_red_only_for_tcp_the_average_counts_tcp_alone_and_no_other_is_tested() {
        let config = Config {
            weight: Probability(1.0),
            ..unbounded_only()
        };
        let mut scene = Scene::new(&config);
        scene.arrive(TAGGED, 5);
        scene.arrive(TCP, 8);
        assert_eq!(scene.cbt.internals().average_packets, Some(7.0));
        scene.hold_red(30.0);
        assert_eq!(scene.arrive(TAGGED, 5), []);
        let tcp = scene.flows[TCP];
        for _ in 0..50 {
            assert_eq!(scene.arrive(TCP, 1), [(tcp, DropReason::Forced)]);
        }
        assert_eq!(scene.backlog.depth().packets, 18);
        assert_eq!(scene.cbt.tested.packets, 8);
    }

    #[test]
    fn an_arrival_refused_at_its_threshold_is_no_sample_of_reds() {
        let mut scene = Scene::new(&with_weight(1.0));
        scene.arrive(UNTAGGED, 3);
        assert_eq!(scene.cbt.internals().average_packets, Some(2.0));
        scene.arrive(UNTAGGED, 5);
        assert_eq!(scene.cbt.internals().average_packets, Some(2.0));
    }

    #[test]
    fn a_forced_drop_takes_a_packet_of_any_class_and_keeps_the_accounts_right() {
        let mut scene = Scene::new(&Config::default());
        scene.arrive(TAGGED, 10);
        scene.arrive(TCP, 10);
        scene.hold_red(30.0);
        let victims = scene.arrive(TCP, 100);
        let of = |flow: usize| {
            victims
                .iter()
                .filter(|(id, _)| *id == scene.flows[flow])
                .count()
        };
        assert!(of(TAGGED) > 0 && of(TCP) > 50, "{victims:?}");
        assert_eq!(of(TAGGED) + of(TCP), 100);
        let tagged = 10 - of(TAGGED) as u64;
        assert_eq!(scene.class(TAGGED).queued.packets, tagged);
        assert_eq!(scene.class(TCP).queued.packets, 20 - tagged);
        scene.leave(20);
        assert_eq!(scene.class(TCP).queued, Depth::default());
        assert_eq!(scene.cbt.tested, Depth::default());
    }

    #[test]
    fn a_full_queue_refuses_those_that_red_does_not_test_and_forces_room_for_the_others() {
        let mut scene = Scene::new(&unbounded_only());
        scene.hold_red(0.0);
        scene.arrive(TCP, 60);
        let [tcp, tagged] = [TCP, TAGGED].map(|flow| scene.flows[flow]);
        assert_eq!(scene.arrive(TAGGED, 1), [(tagged, DropReason::Overlimit)]);
        assert_eq!(scene.arrive(TCP, 1), [(tcp, DropReason::Overlimit)]);
        assert_eq!(scene.backlog.depth().packets, 60);
    }

    #[test]
    fn an_early_drop_becomes_a_mark() {
        let mut scene = Scene::new(&Config::default());
        scene.hold_red(29.9);
        for _ in 0..50 {
            let mut packet = scene.bench.packet(scene.flows[TCP], 1000);
            packet.ecn = Ecn::Ect0;
            (scene.cbt).enqueue(&mut scene.backlog, packet, &LINE, &mut scene.bench.cx());
        }
        let log = scene.bench.take_log();
        let marks = log
            .iter()
            .filter(|(_, event)| matches!(event, TraceEvent::Marked { .. }));
        // p_b = 0.0993: gaps of 1 to 9 packets.
        let marks = marks.count();
        assert!((6..=25).contains(&marks), "{marks}");
        assert_eq!(scene.backlog.depth().packets, 50);
    }

    #[test]
    fn a_threshold_can_be_derived_from_the_rate_the_class_is_meant_to_have() {
        // §4, corrected: 26 packets of 1000 B drain at 10 Mbit/s in 20.8 ms, in which 1.6 Mbit/s bring 4160 B.
        let mut config = Config::default();
        let tagged = config
            .class
            .get_mut("tagged")
            .expect("a class of the paper");
        (tagged.threshold, tagged.rate) = (None, Some(Rate(1_600_000)));
        let mut scene = Scene::new(&config);
        assert_eq!(scene.class(TAGGED).threshold, Some((Unit::Bytes, 4160.0)));
        config.expected_queue = Limit::Time(Duration::from_millis(10));
        let mut scene = Scene::new(&config);
        assert_eq!(scene.class(TAGGED).threshold, Some((Unit::Bytes, 2000.0)));
    }

    #[test]
    fn what_no_class_matches_is_reds_alone() {
        let mut config = with_weight(1.0);
        config.class.remove("untagged");
        let mut scene = Scene::new(&config);
        scene.hold_red(0.0);
        assert_eq!(scene.arrive(UNTAGGED, 60), []);
        assert_eq!(scene.cbt.classes[2].queued.packets, 60);
    }

    #[test]
    fn the_average_of_a_class_that_comes_and_goes_starts_at_its_first_packet() {
        let mut scene = Scene::new(&with_weight(0.5));
        scene.bench.now = Instant::from_nanos(1_000_000_000);
        scene.arrive(TAGGED, 2);
        let average = scene.class(TAGGED).average.value();
        assert!((average - 0.5).abs() < 1e-12, "{average}");
    }

    #[test]
    fn parameters_that_make_no_sense_are_refused() {
        let refusal = |change: fn(&mut Config)| {
            let mut config = Config::default();
            change(&mut config);
            let refused = Cbt::new(&config, RATE, Rng::for_path(1, "queue"));
            refused.expect_err("it makes no sense")
        };
        let both = refusal(|config| tagged(config).rate = Some(RATE));
        assert!(
            both.contains("class.tagged has a threshold and a rate"),
            "{both}"
        );
        let unlimited = refusal(|config| tagged(config).threshold = Some(Limit::Unlimited));
        assert!(unlimited.contains("class.tagged.threshold"), "{unlimited}");
        let fast = refusal(|config| {
            let rate = Some(Rate(11_000_000));
            (tagged(config).threshold, tagged(config).rate) = (None, rate);
        });
        assert!(fast.contains("at most the line's (10 Mbit/s)"), "{fast}");
        let twice = refusal(|config| tagged(config).classifier = Classifier::default());
        assert!(twice.contains("class.tagged and class.untagged"), "{twice}");
        assert!(refusal(|config| config.max_threshold = Limit::Packets(10)).contains("below"));
    }
}
