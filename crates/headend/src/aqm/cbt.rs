//! CBT, Class-Based Thresholds: RED with a limit on the average number of packets that each class
//! of traffic has in the queue.
//!
//! With RED, senders that do not respond to losses displace those that do. CBT counts the packets
//! of each class in the queue. If the average of a class exceeds its threshold, an arriving packet
//! of this class is dropped. RED handles all other packets.
//!
//! All packets wait in one FIFO. A threshold therefore limits the class's share of the line only
//! while the queue is full of other packets. Other classes use the capacity that a class leaves
//! unused.
//!
//! In the paper, TCP has no threshold, *tagged* packets (continuous media) have one of 10 packets,
//! and *untagged* ones (all others) one of 2.
//!
//! - "CBT with RED for all flows" (`red_for = "all"`): RED counts the whole queue, and tests every
//!   packet that passes its threshold.
//! - "CBT with RED only for TCP" (`red_for = "unbounded"`): RED counts and tests only the classes
//!   without a threshold.
//!
//! Written from Parris, Jeffay and Smith, "Lightweight Active Router-Queue Management for
//! Multimedia Networking" (1999) §3 and §4.
//!
//! Choices where the paper is silent:
//!
//! - The averages of classes have RED's weight. They decay as in RED while the class has no packet
//!   in the queue.
//! - A packet dropped at its threshold is not a sample of RED's average.
//! - With RED only for TCP, a forced drop discards a packet that RED tests. A full queue discards
//!   arriving packets of the other classes.

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
/// Use it where unresponsive media traffic and TCP share a router that cannot run a scheduler. Its
/// state is a few numbers for each class.
///
/// Source: Parris, Jeffay and Smith, "Lightweight active router-queue management for multimedia
/// networking" (1999), §3 and §4.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Limit of the queue: a size, a time at the line's rate, a number of packets, or "unlimited".
    /// The room above the thresholds is for bursts.
    pub limit: Limit,
    /// Classes by name. They replace the three classes of the paper. RED alone handles packets that
    /// match no class.
    pub class: BTreeMap<String, Class>,
    /// Which packets RED counts and tests.
    pub red_for: RedFor,
    /// RED: average queue below which no packet is dropped early. Raising it lets longer bursts
    /// pass, and makes all packets wait longer.
    pub min_threshold: Limit,
    /// RED: average queue from which each arrival causes a drop. Raising it widens the range in
    /// which early drops control the queue.
    pub max_threshold: Limit,
    /// RED: probability of an early drop just below `max_threshold`. Raising it controls more
    /// connections, and keeps a few connections from filling the line.
    pub max_probability: Probability,
    /// Weight of the newest sample in all averages. Raising it makes the averages follow the queue
    /// sooner, including bursts.
    pub weight: Probability,
    /// Size of a typical packet. Pauses are counted in its transmission time.
    pub mean_packet: ByteCount,
    /// Average queue that RED is expected to keep. A threshold derived from a rate is what the
    /// class sends while this queue drains. Raising it gives these classes more of the line.
    pub expected_queue: Limit,
    /// RED: whether ECN-capable packets are marked instead of dropped early.
    pub ecn: bool,
    /// RED: packets that must wait, of those that it counts, for its average to count. With 2,
    /// nothing is dropped unless more than one waits, as in ns-2 and ns-3; the paper has no such
    /// rule. Raising it spares bursts on an idle line.
    pub min_waiting: u64,
}

/// A class of packets.
#[derive(
    Debug, Clone, PartialEq, Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(default, deny_unknown_fields)]
pub struct Class {
    /// Conditions on the packets of this class. All of them must hold. A class without conditions
    /// has the packets that match no other class.
    #[serde(rename = "match", skip_serializing_if = "Classifier::is_empty")]
    pub classifier: Classifier,
    /// Average number of packets (or bytes, or a time at the line's rate) of this class in the
    /// queue, above which its arriving packets are dropped. Raising it gives the class more of a
    /// full line. Without it, and without `rate`, only RED handles the class.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threshold: Option<Limit>,
    /// Intended rate of the class, in place of a threshold. The threshold is what arrives at this
    /// rate while `expected_queue` drains.
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
    /// All packets that pass the threshold of their class.
    #[default]
    All,
    /// Only packets of classes without a threshold: TCP, in the paper.
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
            min_waiting: red.min_waiting,
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
    // The paper does not say how packets are tagged. This is AF41, multimedia conferencing (RFC
    // 4594).
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
            min_waiting: self.min_waiting,
            ..red::Config::default()
        }
    }

    /// The threshold of a class and its unit; `None` if the class has no threshold.
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
                    "class.{name}.threshold must be packets, a size or a time: leave it out for a \
                     class without one"
                )),
                bounded => Ok(bounded),
            },
            (None, Some(rate)) => self.derived_threshold(name, rate, line).map(Some),
        }
    }

    /// §4: "given a drain rate, the threshold … should ensure minimal packet loss": the bytes that
    /// arrive at `rate` while the expected queue drains.
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

/// The state of one class.
#[derive(Debug)]
struct ClassState {
    /// Packets and bytes of the class in the queue.
    queued: Depth,
    average: Average,
    /// The unit and the largest average that the class may have.
    threshold: Option<(Unit, f64)>,
}

/// CBT over one backlog.
#[derive(Debug)]
pub struct Cbt {
    rules: Classes,
    /// The classes by number. The last one has the packets that match no class.
    classes: Vec<ClassState>,
    red_for: RedFor,
    red: Detector,
    /// The packets and bytes in the queue that RED counts.
    tested: Depth,
    ecn: bool,
    rng: Rng,
}

impl Cbt {
    /// CBT before its first packet, for a line of this rate.
    ///
    /// # Errors
    ///
    /// A sentence about the first invalid parameter.
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
            self.append(class, backlog, packet, line, cx);
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
        self.note_departure(&packet, line, cx);
        Some(packet)
    }

    fn evicted(
        &mut self,
        _backlog: &Backlog,
        packet: &Packet,
        line: &LineView<'_>,
        cx: &Context<'_>,
    ) {
        self.note_departure(packet, line, cx);
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
        (self.rules.class_of(packet, cx)).unwrap_or(unmatched)
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

    /// The part of RED: tests a packet and enqueues, marks or drops it.
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
        let size = line.framing.size_on_wire(packet.size);
        match self
            .red
            .test_arrival(size, self.tested.packets, &mut self.rng)
        {
            Verdict::Forced => self.force(class, backlog, packet, DropReason::Forced, line, cx),
            Verdict::Early if self.ecn && backlog.fits(&packet, line) && cx.mark(&mut packet) => {
                self.append(class, backlog, packet, line, cx);
            }
            Verdict::Early => cx.discard(packet, DropReason::Congested),
            Verdict::Pass if backlog.fits(&packet, line) => {
                self.append(class, backlog, packet, line, cx);
            }
            Verdict::Pass => {
                self.red.note_drop();
                self.force(class, backlog, packet, DropReason::Overlimit, line, cx);
            }
        }
    }

    /// RED's forced drop: discards the arriving packet or one that RED tests, each with the same
    /// probability; or several, if the arriving packet needs the room.
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
            self.note_departure(&victim, line, cx);
            cx.discard(victim, reason);
            if backlog.fits(&packet, line) {
                return self.append(class, backlog, packet, line, cx);
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
        // This scans the whole queue, but only for a forced drop.
        let chosen = self.rng.below(self.tested.packets + 1) as usize;
        let is_tested = |packet: &&Packet| self.is_tested(self.class_of(packet, cx));
        let of_interest = (backlog.iter().enumerate()).filter(|(_, packet)| is_tested(packet));
        let (index, _) = { of_interest }.nth(chosen)?;
        backlog.remove(index, line)
    }

    fn append(
        &mut self,
        class: usize,
        backlog: &mut Backlog,
        packet: Packet,
        line: &LineView<'_>,
        cx: &mut Context<'_>,
    ) {
        let bytes = line.framing.size_on_wire(packet.size);
        if self.is_tested(class) {
            add(&mut self.tested, bytes);
        }
        add(&mut self.classes[class].queued, bytes);
        backlog.push(packet, line, cx);
    }

    /// Updates the counters after a packet has left the queue, sent or dropped.
    fn note_departure(&mut self, packet: &Packet, line: &LineView<'_>, cx: &Context<'_>) {
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

    /// Indices of the flows in a scene.
    const TCP: usize = 0;
    const TAGGED: usize = 1;
    const UNTAGGED: usize = 2;
    const PING: usize = 3;

    /// CBT over a backlog, with one flow of each kind; the tests call both directly.
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

        /// Packets of 1000 B of a flow arrive. Returns the flows of the dropped packets and the
        /// reasons.
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
            let packet = self.bench.packet(self.flows[flow], 100);
            let class = self.cbt.rules.class_of(&packet, &self.bench.cx());
            self.bench.end(packet);
            &mut self.cbt.classes[class.expect("the paper's classes take everything")]
        }

        /// Keeps RED's average at `average` from now on.
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

    // The averages are computed by hand. With a weight of 1, an average is the number of packets
    // that the class had in the queue at its latest arrival.

    #[test]
    fn an_arrival_is_dropped_once_its_class_is_over_its_threshold_on_average() {
        let mut scene = Scene::new(&with_weight(1.0));
        scene.hold_red(0.0);
        let untagged = scene.flows[UNTAGGED];
        // Averages before the arrivals: 0, 1 and 2 packets. The fourth packet finds 3, which is
        // above 2.
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
    fn a_burst_passes_because_the_average_follows_slowly() {
        let mut scene = Scene::new(&Config::default());
        assert_eq!(scene.arrive(UNTAGGED, 30), []);
        // 1/512 of 0 + 1 + … + 29 = 435, slightly less because of the decay: 0.83 packets.
        let average = scene.class(UNTAGGED).average.value();
        assert!((0.82..0.85).contains(&average), "{average}");
    }

    #[test]
    fn the_average_of_a_class_without_packets_decays() {
        let mut scene = Scene::new(&with_weight(0.5));
        scene.hold_red(0.0);
        scene.arrive(UNTAGGED, 4);
        // Averages 0, 0.5, 1.25 and 2.125: the fourth packet was dropped.
        assert_eq!(scene.backlog.depth().packets, 3);
        scene.leave(3);
        // A pause of one packet time, 800 µs, halves the average.
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
    fn a_packet_dropped_at_its_threshold_is_no_sample_of_the_red_average() {
        let mut scene = Scene::new(&with_weight(1.0));
        scene.arrive(UNTAGGED, 3);
        assert_eq!(scene.cbt.internals().average_packets, Some(2.0));
        scene.arrive(UNTAGGED, 5);
        assert_eq!(scene.cbt.internals().average_packets, Some(2.0));
    }

    #[test]
    fn a_forced_drop_takes_a_packet_of_any_class_and_keeps_the_counters_right() {
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
    fn a_full_queue_drops_packets_that_red_does_not_test_and_forces_drops_for_the_others() {
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
        // §4, corrected: 26 packets of 1000 B drain at 10 Mbit/s in 20.8 ms, in which 4160 B arrive
        // at 1.6 Mbit/s.
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
    fn red_alone_handles_packets_that_match_no_class() {
        let mut config = with_weight(1.0);
        config.class.remove("untagged");
        let mut scene = Scene::new(&config);
        scene.hold_red(0.0);
        assert_eq!(scene.arrive(UNTAGGED, 60), []);
        assert_eq!(scene.cbt.classes[2].queued.packets, 60);
    }

    #[test]
    fn the_average_of_a_class_starts_at_its_first_packet() {
        let mut scene = Scene::new(&with_weight(0.5));
        scene.bench.now = Instant::from_nanos(1_000_000_000);
        scene.arrive(TAGGED, 2);
        let average = scene.class(TAGGED).average.value();
        assert!((average - 0.5).abs() < 1e-12, "{average}");
    }

    #[test]
    fn invalid_parameters_are_refused() {
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
