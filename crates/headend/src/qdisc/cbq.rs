//! CBQ, Class-Based Queueing: each class has a queue and a share of the link, and may borrow unused
//! shares.
//!
//! Classes form a tree below the link. Only the leaves hold packets. A class above them stands for
//! an agreement (all UDP, or a customer); its own classes are the first to get its unused share.
//!
//! An *estimator* compares the time between a class's packets with the time that its share allows.
//! `idle` is the difference, and `avgidle` is the weighted average of `idle`. A class whose
//! `avgidle` is below zero is *over its limit* until it has been idle for long enough. A class is
//! *unsatisfied* if it is not over its limit and packets that it may send are waiting.
//!
//! A leaf may send in two cases (the *formal* link-sharing guidelines):
//!
//! - it is not over its limit; or
//! - it may borrow, one of its ancestors (or the link) is not over its limit, and no class at a
//!   lower level than that ancestor is unsatisfied.
//!
//! Among the leaves that may send, those of the highest priority are served. Leaves of equal
//! priority are served by weighted round robin, by their shares.
//!
//! Written from Floyd and Van Jacobson, "Link-sharing and Resource Management Models for Packet
//! Networks" (1995) §3 and §4, and Floyd, "Notes on Class-Based Queueing: Setting Parameters"
//! (1995). Parameters and their defaults are ALTQ's.
//!
//! Choices:
//!
//! - The link itself is never over its limit, so that classes that may borrow up to it keep it
//!   busy.
//! - The end of a packet's transmission is estimated from the line's rate, as in ALTQ, at most 16
//!   packets ahead.
//! - `min_burst` delays only classes that cannot borrow up to the link.
//!
//! The work per packet grows with the number of classes, because the guidelines examine each class.
//! It does not grow with the number of flows.

use std::collections::BTreeMap;

use super::{Parameters, QueueDiscipline};
use crate::aqm::Governor;
use crate::context::Context;
use crate::math;
use crate::packet::Packet;
use crate::queue::{
    Backlog, BacklogLimit, Classes, Classifier, Depth, Limited, LineView, TransportName,
};
use crate::rng::Rng;
use crate::time::Instant;
use crate::units::{ByteCount, Limit, Probability, Rate};

/// Parameters of CBQ.
///
/// Use it where customers or kinds of traffic have agreed shares of a line, and each of them can
/// have a queue of its own. Inside a class, CBQ is drop-tail.
///
/// Source: Floyd and Van Jacobson, "Link-sharing and resource management models for packet
/// networks" (1995); classes as in the CBT paper, §4.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Classes by name. They replace those of the CBT paper. One of the classes that hold packets
    /// must have no `match`: it gets the packets that no other class matches.
    pub class: BTreeMap<String, Class>,
    /// Size of a typical packet. Bursts are counted in packets of this size.
    pub mean_packet: ByteCount,
}

/// A class of packets, or of other classes.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Class {
    /// The class above this one, from which it borrows first. Default: the link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Conditions on the packets of this class. All of them must hold. A class without conditions
    /// holds the packets that match no other class. A class that is the parent of others holds no
    /// packets.
    #[serde(rename = "match", skip_serializing_if = "Classifier::is_empty")]
    pub classifier: Classifier,
    /// Its share of the link, including the shares of the classes below it. Raising it takes
    /// capacity from the other classes while they use all of theirs.
    pub share: Probability,
    /// Whether the class may use the share that its parent leaves unused. Without it, the class
    /// never gets more than its own share.
    pub borrow: bool,
    /// Priority of the class, from 0 to 7. Among the classes that may send, the one with the
    /// highest priority sends first. Raising it shortens the delay of the class; it does not
    /// enlarge its share.
    pub priority: u8,
    /// Limit of the queue of this class: a size, a time at the line's rate, a number of packets, or
    /// "unlimited".
    pub limit: Limit,
    /// Packets that the class may send in a row after a pause, at the line's rate. Raising it lets
    /// longer bursts pass without a gap.
    pub max_burst: u32,
    /// Packets that the class may send in a row after it was held back. It applies to a class that
    /// cannot borrow up to the link. Raising it makes the class wait longer and then send more at
    /// once.
    pub min_burst: u32,
}

impl Default for Class {
    fn default() -> Self {
        Self {
            parent: None,
            classifier: Classifier::default(),
            share: Probability(0.0),
            borrow: true,
            priority: 0,
            // The queue of the CBT paper.
            limit: Limit::Packets(60),
            // ALTQ's defaults.
            max_burst: 16,
            min_burst: 2,
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        // The CBT paper, §4: 79 % for TCP and 21 % for UDP. Of the UDP share, tagged packets have
        // 16 % and untagged ones 5 %. All classes may borrow.
        let class = |parent: Option<&str>, classifier, share| Class {
            parent: parent.map(str::to_owned),
            classifier,
            share: Probability(share),
            ..Class::default()
        };
        let tcp = Classifier::of_protocol(TransportName::Tcp);
        let rest = Classifier::default;
        Self {
            class: [
                ("tagged", class(Some("udp"), Classifier::of_dscp(34), 0.16)),
                ("tcp", class(None, tcp, 0.79)),
                ("udp", class(None, rest(), 0.21)),
                ("untagged", class(Some("udp"), rest(), 0.05)),
            ]
            .map(|(name, class)| (name.to_owned(), class))
            .into(),
            mean_packet: ByteCount(1000),
        }
    }
}

impl Limited for Config {}

impl Parameters for Config {
    fn build(&self, rate: Rate, _rng: Rng) -> Result<Box<dyn QueueDiscipline>, String> {
        Ok(Box::new(Cbq::new(self, rate)?))
    }

    fn governor(&self) -> Governor {
        Governor::ChosenLaw(None)
    }

    fn lets_pass(&self) -> Option<&'static str> {
        Some("gives each class its share, and a class that keeps within it passes the others")
    }
}

impl Config {
    /// Checks the parameters.
    ///
    /// # Errors
    ///
    /// A sentence that says why these classes cannot share a link.
    fn check(&self) -> Result<(), String> {
        if self.mean_packet.0 == 0 {
            return Err("mean_packet must be larger than zero".into());
        }
        for (name, class) in &self.class {
            self.check_class(name, class)?;
        }
        self.check_shares(None, 1.0)?;
        for (name, class) in &self.class {
            self.check_shares(Some(name), class.share.0)?;
        }
        let takes_the_rest =
            |(name, class): (&String, &Class)| self.is_leaf(name) && class.classifier.is_empty();
        if !self.class.iter().any(takes_the_rest) {
            return Err("expected a class without match, for packets that no other takes".into());
        }
        Ok(())
    }

    fn check_class(&self, name: &str, class: &Class) -> Result<(), String> {
        if class.share.0 <= 0.0 {
            return Err(format!("class.{name}.share must be above 0"));
        }
        if class.priority > MOST_URGENT {
            return Err(format!(
                "class.{name}.priority must be from 0 to {MOST_URGENT}"
            ));
        }
        if class.min_burst == 0 || class.max_burst < class.min_burst || class.max_burst > 1000 {
            return Err(format!(
                "class.{name}: min_burst must be at least 1, max_burst at least min_burst and at \
                 most 1000"
            ));
        }
        if class.limit == Limit::Packets(0) {
            return Err(format!(
                "class.{name}.limit: expected room for at least one packet"
            ));
        }
        let (mut above, mut steps) = (class.parent.as_ref(), 0);
        while let Some(parent) = above {
            let Some(found) = self.class.get(parent) else {
                return Err(format!(
                    "class.{name}.parent: no class is called \"{parent}\""
                ));
            };
            steps += 1;
            if steps > self.class.len() {
                return Err(format!("class.{name} is above itself"));
            }
            above = found.parent.as_ref();
        }
        if !self.is_leaf(name) && !class.classifier.is_empty() {
            return Err(format!(
                "class.{name} is the parent of others and holds no packets: leave match out"
            ));
        }
        Ok(())
    }

    /// Checks that the shares of a class's children add up to no more than its own share.
    fn check_shares(&self, parent: Option<&String>, whole: f64) -> Result<(), String> {
        let below = (self.class.values()).filter(|class| class.parent.as_ref() == parent);
        let sum: f64 = below.map(|class| class.share.0).sum();
        if sum <= whole + 1e-9 {
            return Ok(());
        }
        let above = parent.map_or("the link".to_owned(), |name| format!("class.{name}"));
        Err(format!(
            "the classes of {above} share {}, more than its {}",
            Probability(sum),
            Probability(whole)
        ))
    }

    fn is_leaf(&self, name: &str) -> bool {
        !(self.class.values()).any(|class| class.parent.as_deref() == Some(name))
    }

    /// The level of a class: 1 for a leaf, else one more than the level of its highest child.
    fn level(&self, name: &str) -> u32 {
        let below = (self.class.iter()).filter(|(_, class)| class.parent.as_deref() == Some(name));
        1 + below.map(|(class, _)| self.level(class)).max().unwrap_or(0)
    }
}

/// A class in the tree, with its estimator.
#[derive(Debug)]
struct Node {
    /// `None` if the parent is the link.
    parent: Option<usize>,
    /// As [`Config::level`] computes it.
    level: u32,
    borrow: bool,
    share: f64,
    /// `maxidle`, in transmission times of a typical packet.
    max_idle: f64,
    /// Packets waiting in this class and in all classes that may borrow from it.
    demand: u64,
    avg_idle: f64,
    /// Lower and upper bound of `avg_idle` on this line.
    bounds: [f64; 2],
    /// When the transmission of the class's latest packet ends.
    last: f64,
    /// When the class stops being over its limit.
    under_time: f64,
}

/// Units: times are nanoseconds in an `f64`, exact to one nanosecond for a hundred days.
impl Node {
    #[inline]
    fn is_over(&self, now: f64) -> bool {
        self.under_time > now
    }

    #[inline]
    fn is_unsatisfied(&self, now: f64) -> bool {
        self.demand > 0 && !self.is_over(now)
    }

    /// Computes the bounds from the transmission times of a typical packet and of the largest one.
    fn bound(&mut self, pace: &Pace) {
        self.bounds = [-pace.largest / self.share, self.max_idle * pace.usual];
    }

    /// Updates the estimator with a packet that takes `packet_time` on the link and ends at
    /// `finish`.
    #[inline]
    fn estimate(&mut self, finish: f64, packet_time: f64) {
        let own_time = packet_time / self.share;
        let idle = finish - self.last - own_time;
        self.last = finish;
        self.avg_idle += (idle - self.avg_idle) * GAIN;
        let [least, most] = self.bounds;
        self.avg_idle = self.avg_idle.max(least).min(most);
        self.under_time = if self.avg_idle < 0.0 {
            // The next packet of this size brings avgidle back to zero if it begins at this time.
            let wait = own_time - self.avg_idle * (1.0 - GAIN) / GAIN - packet_time;
            finish + wait
        } else {
            0.0
        };
    }
}

/// The line's rate, and transmission times in nanoseconds at that rate.
#[derive(Debug)]
struct Pace {
    rate: Rate,
    max_packet: u64,
    /// Transmission times of a typical packet and of the largest one.
    usual: f64,
    largest: f64,
}

impl Pace {
    fn new(mean_packet: u64, max_packet: u64, rate: Rate) -> Self {
        Self {
            rate,
            max_packet,
            usual: nanos(mean_packet, rate),
            largest: nanos(max_packet, rate),
        }
    }

    #[inline]
    fn is_of(&self, line: &LineView<'_>) -> bool {
        self.rate == line.rate && self.max_packet == line.max_packet()
    }
}

/// The queue of a class that holds packets, with its state in the round robin.
#[derive(Debug)]
struct Leaf {
    backlog: Backlog,
    priority: u8,
    /// Bytes of credit per round, and the credit left in this round.
    quantum: f64,
    deficit: f64,
    /// `offtime`, in transmission times of a typical packet.
    off_time: f64,
    /// Whether the class is held back and has already been delayed by `off_time`.
    is_delayed: bool,
}

impl Leaf {
    fn is_empty(&self) -> bool {
        self.backlog.depth().packets == 0
    }
}

/// Class-based queueing for one line.
#[derive(Debug)]
pub struct Cbq {
    rules: Classes,
    /// Sorted by level. The leaves come first, in the order of their class numbers in `rules`.
    nodes: Vec<Node>,
    leaves: Vec<Leaf>,
    mean_packet: u64,
    pace: Pace,
    total: Depth,
    /// Estimated end of the latest transmission, in nanoseconds.
    finish: f64,
    /// The leaf at which the round robin continues.
    turn: usize,
    /// The leaves that may send now. It is kept between decisions only to reuse its memory.
    candidates: Vec<usize>,
    /// When a class that is held back may send again, if no other class has packets to send.
    wake: Option<Instant>,
}

impl Cbq {
    /// Builds empty queues for a line of this rate.
    ///
    /// # Errors
    ///
    /// A sentence that says why these classes cannot share the line.
    pub fn new(config: &Config, rate: Rate) -> Result<Self, String> {
        config.check()?;
        let classes = config.class.iter();
        let (leaves, mut others): (Vec<_>, Vec<_>) =
            classes.partition(|(name, _)| config.is_leaf(name));
        others.sort_by_key(|(name, _)| config.level(name));
        let all: Vec<_> = leaves.iter().chain(&others).copied().collect();
        let index_of = |name: &String| {
            let found = all.iter().position(|(other, _)| *other == name);
            found.expect("the check has found it")
        };
        let rules = (leaves.iter()).map(|(name, class)| (name.as_str(), &class.classifier));
        let pace = Pace::new(config.mean_packet.0, LARGEST_PACKET, rate);
        let node = |(name, class): &(&String, &Class)| {
            let parent = class.parent.as_ref().map(index_of);
            node(class, parent, config.level(name), &pace)
        };
        let mut cbq = Self {
            rules: Classes::new(rules)?,
            nodes: all.iter().map(node).collect(),
            leaves: leaves.iter().map(|(_, class)| leaf(class, rate)).collect(),
            candidates: Vec::with_capacity(leaves.len()),
            mean_packet: config.mean_packet.0,
            pace,
            total: Depth::default(),
            finish: 0.0,
            turn: 0,
            wake: None,
        };
        cbq.set_quanta();
        Ok(cbq)
    }

    fn set_quanta(&mut self) {
        for leaf in 0..self.leaves.len() {
            let priority = self.leaves[leaf].priority;
            let classes = self.leaves.iter().zip(&self.nodes);
            let peers = classes.filter(|(peer, _)| peer.priority == priority);
            let (count, sum) = peers.fold((0.0, 0.0), |(count, sum), (_, peer)| {
                (count + 1.0, sum + peer.share)
            });
            // All quanta together are as many of the largest packets as there are classes of this
            // priority.
            self.leaves[leaf].quantum =
                self.nodes[leaf].share / sum * count * LARGEST_PACKET as f64;
        }
    }

    /// Whether a leaf may borrow up to the link.
    fn reaches_link(&self, leaf: usize) -> bool {
        let mut node = &self.nodes[leaf];
        loop {
            match node.parent {
                Some(parent) if node.borrow => node = &self.nodes[parent],
                _ => return node.borrow,
            }
        }
    }
}

fn node(class: &Class, parent: Option<usize>, level: u32, pace: &Pace) -> Node {
    let max_idle = max_idle(class.share.0, class.max_burst);
    let mut node = Node {
        parent,
        level,
        borrow: class.borrow,
        share: class.share.0,
        max_idle,
        demand: 0,
        avg_idle: max_idle * pace.usual,
        bounds: [0.0; 2],
        last: 0.0,
        under_time: 0.0,
    };
    node.bound(pace);
    node
}

fn leaf(class: &Class, rate: Rate) -> Leaf {
    Leaf {
        backlog: Backlog::new(BacklogLimit::at_rate(class.limit, rate)),
        priority: class.priority,
        quantum: 0.0,
        deficit: 0.0,
        off_time: off_time(class.share.0, class.min_burst),
        is_delayed: false,
    }
}

/// "Setting Parameters": with this `maxidle`, a class may send `burst` packets in a row after a
/// pause. Units: packet times.
fn max_idle(share: f64, burst: u32) -> f64 {
    let decay = math::powf(1.0 - GAIN, f64::from(burst));
    ((1.0 / share - 1.0) * (1.0 - decay) / decay).max(GAIN)
}

/// "Setting Parameters": after it was held back for this `offtime`, a class may send `burst`
/// packets in a row. Units: packet times.
fn off_time(share: f64, burst: u32) -> f64 {
    let decay = math::powf(1.0 - GAIN, f64::from(burst) - 1.0);
    (1.0 / share - 1.0) * (1.0 + (1.0 - decay) / decay / GAIN)
}

/// Weight of the newest idle time in the average: ALTQ's filter gain of 2⁻⁵.
const GAIN: f64 = 1.0 / 32.0;
/// Size of the largest packet, in IP bytes.
const LARGEST_PACKET: u64 = 1500;
/// The highest priority; ALTQ has eight.
const MOST_URGENT: u8 = 7;
/// The estimated end of transmission may be at most this many of the largest packets ahead of time.
const MOST_AHEAD: f64 = 16.0;

/// Transmission time in nanoseconds; 0 if the rate is zero.
fn nanos(bytes: u64, rate: Rate) -> f64 {
    if rate.0 == 0 {
        return 0.0;
    }
    bytes as f64 * 8e9 / rate.0 as f64
}

impl QueueDiscipline for Cbq {
    fn enqueue(&mut self, packet: Packet, line: &LineView<'_>, cx: &mut Context<'_>) {
        let class = self.rules.class_of(&packet, cx);
        let leaf = class.expect("one class takes what no other does");
        let bytes = line.framing.size_on_wire(packet.size);
        if self.leaves[leaf].backlog.push(packet, line, cx) {
            self.total.packets += 1;
            self.total.bytes += bytes;
            self.for_leaf_and_lenders(leaf, |node| node.demand += 1);
        }
    }

    fn dequeue(&mut self, line: &LineView<'_>, cx: &mut Context<'_>) -> Option<Packet> {
        self.wake = None;
        if self.total.packets == 0 {
            return None;
        }
        let now = cx.now.as_nanos() as f64;
        if !self.pace.is_of(line) {
            self.update_pace(line);
        }
        let Some(leaf) = self.choose(now) else {
            self.hold_back(now);
            return None;
        };
        let packet = self.take_from(leaf, line);
        if let Some(sent) = &packet {
            let bytes = line.framing.bytes(sent);
            self.charge(leaf, bytes);
            self.estimate(leaf, nanos(bytes, line.rate), now);
        }
        packet
    }

    /// Releases packets in order of arrival, whether or not their class may send.
    fn release(&mut self, line: &LineView<'_>) -> Option<Packet> {
        let arrived =
            |(number, leaf): (usize, &Leaf)| Some((leaf.backlog.head()?.enqueued_at, number));
        let (_, oldest) = self.leaves.iter().enumerate().filter_map(arrived).min()?;
        self.take_from(oldest, line)
    }

    fn depth(&self) -> Depth {
        self.total
    }

    fn next_update(&self) -> Option<Instant> {
        self.wake
    }

    fn is_periodic(&self) -> bool {
        !(0..self.leaves.len()).all(|leaf| self.reaches_link(leaf))
    }

    fn update(&mut self, _line: &LineView<'_>, cx: &mut Context<'_>) {
        self.wake.take_if(|at| *at <= cx.now);
    }
}

/// Link-sharing: which class may send ("Link-sharing and Resource Management Models" §3).
impl Cbq {
    /// The leaf to send from; `None` if no leaf may send.
    fn choose(&mut self, now: f64) -> Option<usize> {
        let lowest = self.nodes.iter().find(|node| node.is_unsatisfied(now));
        let lowest = lowest.map_or(u32::MAX, |node| node.level);
        let Self {
            nodes,
            leaves,
            candidates,
            ..
        } = self;
        candidates.clear();
        let mut most_urgent = 0;
        for (number, leaf) in leaves.iter().enumerate() {
            let is_behind = leaf.is_empty() || leaf.priority < most_urgent;
            if is_behind || !may_send(nodes, number, lowest, now) {
                continue;
            }
            if leaf.priority > most_urgent {
                most_urgent = leaf.priority;
                candidates.clear();
            }
            candidates.push(number);
        }
        if candidates.is_empty() {
            return None;
        }
        while !self.turn_to_credit() {
            self.begin_round();
        }
        Some(self.turn)
    }

    /// Moves the turn to the next candidate that has credit in this round. Returns false if no
    /// candidate has credit.
    fn turn_to_credit(&mut self) -> bool {
        let candidates = self.candidates.iter().copied();
        let mut with_credit = candidates.filter(|&number| self.leaves[number].deficit > 0.0);
        let Some(first) = with_credit.next() else {
            return false;
        };
        if first < self.turn {
            self.turn = with_credit
                .find(|&number| number >= self.turn)
                .unwrap_or(first);
        } else {
            self.turn = first;
        }
        true
    }

    /// Starts as many new rounds as the first candidate needs to get credit.
    fn begin_round(&mut self) {
        let mut rounds = f64::INFINITY;
        for &number in &self.candidates {
            let leaf = &self.leaves[number];
            let whole = (-leaf.deficit / leaf.quantum) as i64;
            rounds = rounds.min(whole as f64 + 1.0);
        }
        for &number in &self.candidates {
            let leaf = &mut self.leaves[number];
            leaf.deficit += rounds * leaf.quantum;
        }
    }

    /// Subtracts `bytes` from the credit of a leaf that has sent them.
    fn charge(&mut self, number: usize, bytes: u64) {
        let leaf = &mut self.leaves[number];
        leaf.deficit -= bytes as f64;
        if leaf.is_empty() {
            leaf.deficit = leaf.deficit.min(0.0);
        }
        if leaf.deficit <= 0.0 {
            let next = self.turn + 1;
            self.turn = if next < self.leaves.len() { next } else { 0 };
        }
    }

    /// Removes and returns the oldest packet of a leaf.
    fn take_from(&mut self, leaf: usize, line: &LineView<'_>) -> Option<Packet> {
        let packet = self.leaves[leaf].backlog.pop(line);
        if let Some(taken) = &packet {
            self.total.packets -= 1;
            self.total.bytes -= line.framing.bytes(taken);
            self.for_leaf_and_lenders(leaf, |node| node.demand -= 1);
        }
        packet
    }

    /// Calls `act` on a leaf and on each class that the leaf can borrow from.
    fn for_leaf_and_lenders(&mut self, leaf: usize, mut act: impl FnMut(&mut Node)) {
        let mut index = leaf;
        loop {
            let node = &mut self.nodes[index];
            act(node);
            match node.parent {
                Some(parent) if node.borrow => index = parent,
                _ => return,
            }
        }
    }
}

/// The formal guidelines. `lowest` is the lowest level that has an unsatisfied class.
fn may_send(nodes: &[Node], leaf: usize, lowest: u32, now: f64) -> bool {
    let mut node = &nodes[leaf];
    if !node.is_over(now) {
        return true;
    }
    while node.borrow {
        let Some(parent) = node.parent else {
            // The link is above all classes, and never over its limit.
            return lowest == u32::MAX;
        };
        node = &nodes[parent];
        if !node.is_over(now) {
            return lowest >= node.level;
        }
    }
    false
}

/// The estimator ("Link-sharing and Resource Management Models" §4).
impl Cbq {
    /// Recomputes all transmission times and bounds after the line's rate has changed.
    #[cold]
    fn update_pace(&mut self, line: &LineView<'_>) {
        self.pace = Pace::new(self.mean_packet, line.max_packet(), line.rate);
        (self.nodes.iter_mut()).for_each(|node| node.bound(&self.pace));
    }

    /// Updates the estimators for a packet of this leaf that takes `packet_time`. The packet counts
    /// for all classes above the leaf as well.
    fn estimate(&mut self, leaf: usize, packet_time: f64, now: f64) {
        let end = now + packet_time;
        let latest = end + MOST_AHEAD * self.pace.largest;
        self.finish = (self.finish.max(now) + packet_time).min(latest);
        self.leaves[leaf].is_delayed = false;
        let mut index = Some(leaf);
        while let Some(at) = index {
            let node = &mut self.nodes[at];
            node.estimate(self.finish, packet_time);
            index = node.parent;
        }
    }

    /// Called when packets wait but no class may send. Each class that is held back is delayed by a
    /// further `offtime`, once. `wake` becomes the time at which the line must dequeue again.
    fn hold_back(&mut self, now: f64) {
        let mut wake = f64::INFINITY;
        for number in 0..self.leaves.len() {
            let leaf = &mut self.leaves[number];
            if leaf.is_empty() {
                continue;
            }
            if !leaf.is_delayed {
                leaf.is_delayed = true;
                let off_time = leaf.off_time * self.pace.usual;
                let node = &mut self.nodes[number];
                node.under_time = node.under_time.ceil() + off_time.trunc();
            }
            self.for_leaf_and_lenders(number, |node| wake = wake.min(node.under_time));
        }
        debug_assert!(wake > now, "a class that is not over its limit may send");
        self.wake = Some(Instant::from_nanos(wake.ceil() as u64));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::{FlowId, Protocol};
    use crate::testing::Bench;
    use crate::time::Duration;

    const RATE: Rate = Rate(10_000_000);
    const LINE: LineView<'static> = LineView::plain(RATE);
    /// Transmission time of a packet of 1000 B.
    const PACKET_TIME: Duration = Duration::from_micros(800);

    const TCP: usize = 0;
    const TAGGED: usize = 1;
    const UNTAGGED: usize = 2;

    /// CBQ before a line that is always ready to send, and one flow of each kind.
    struct Scene {
        bench: Bench,
        flows: [FlowId; 3],
        cbq: Cbq,
    }

    impl Scene {
        fn new(config: &Config) -> Self {
            let mut bench = Bench::new();
            let flows = [(Protocol::Tcp, 0), (Protocol::Udp, 34), (Protocol::Udp, 0)]
                .map(|(protocol, dscp)| bench.flow_of(protocol, dscp));
            let cbq = Cbq::new(config, RATE).expect("the classes can share a link");
            Self { bench, flows, cbq }
        }

        fn arrive(&mut self, flow: usize, packets: usize) {
            for _ in 0..packets {
                let packet = self.bench.packet(self.flows[flow], 1000);
                self.cbq.enqueue(packet, &LINE, &mut self.bench.cx());
            }
            self.bench.take_log();
        }

        /// Dequeues one packet; returns the index of its flow.
        fn send(&mut self) -> Option<usize> {
            let packet = self.cbq.dequeue(&LINE, &mut self.bench.cx())?;
            let flow = self.flows.iter().position(|&flow| flow == packet.flow);
            self.bench.end(packet);
            flow
        }

        /// Shares of the line, in thousandths, while the named flows always have packets waiting.
        fn shares(&mut self, busy: &[usize]) -> [u64; 3] {
            let mut sent = [0; 3];
            for _ in 0..20_000 {
                for &flow in busy {
                    self.arrive(flow, 1);
                }
                if let Some(flow) = self.send() {
                    sent[flow] += 1;
                }
                self.bench.advance(PACKET_TIME);
            }
            sent.map(|packets| packets / 20)
        }
    }

    fn with(name: &str, change: impl FnOnce(&mut Class)) -> Config {
        let mut config = Config::default();
        change((config.class.get_mut(name)).expect("a class of the paper"));
        config
    }

    #[track_caller]
    fn assert_shares(found: [u64; 3], expected: [u64; 3]) {
        let near = |(found, expected): (&u64, &u64)| found.abs_diff(*expected) <= 10;
        assert!(found.iter().zip(&expected).all(near), "{found:?}");
    }

    #[test]
    fn classes_that_all_want_more_get_their_shares() {
        let mut scene = Scene::new(&Config::default());
        assert_shares(scene.shares(&[TCP, TAGGED, UNTAGGED]), [790, 160, 50]);
    }

    #[test]
    fn an_unused_share_goes_to_siblings_first() {
        // Round robin without link-sharing would give untagged packets 5 of 84 parts: 60
        // thousandths.
        let mut scene = Scene::new(&Config::default());
        assert_shares(scene.shares(&[TCP, UNTAGGED]), [790, 0, 210]);
    }

    #[test]
    fn the_unused_share_of_a_parent_goes_to_all() {
        let mut scene = Scene::new(&Config::default());
        assert_shares(scene.shares(&[TCP]), [1000, 0, 0]);
        let mut scene = Scene::new(&Config::default());
        let [tcp, tagged, untagged] = scene.shares(&[TAGGED, UNTAGGED]);
        // Both shares are rounded down.
        assert!(
            tcp == 0 && tagged + untagged >= 999,
            "{tagged} and {untagged}"
        );
        assert!(tagged > 2 * untagged, "{tagged} and {untagged}");
    }

    #[test]
    fn a_class_that_may_not_borrow_keeps_to_its_share_of_an_idle_link() {
        let mut scene = Scene::new(&with("untagged", |class| class.borrow = false));
        assert!(scene.cbq.is_periodic());
        assert_shares(scene.shares(&[UNTAGGED]), [0, 0, 50]);
    }

    #[test]
    fn a_class_that_may_not_borrow_does_not_block_others() {
        let mut scene = Scene::new(&with("untagged", |class| class.borrow = false));
        assert_shares(scene.shares(&[TCP, UNTAGGED]), [950, 0, 50]);
    }

    #[test]
    fn a_class_that_is_held_back_schedules_a_wake_up() {
        let mut scene = Scene::new(&with("untagged", |class| class.borrow = false));
        scene.arrive(UNTAGGED, 60);
        while scene.send().is_some() {
            scene.bench.advance(PACKET_TIME);
        }
        let wake = scene.cbq.next_update().expect("packets wait");
        assert!(wake > scene.bench.now);
        scene.bench.now = wake;
        scene.cbq.update(&LINE, &mut scene.bench.cx());
        assert_eq!(scene.cbq.next_update(), None);
        // One packet each time and one more: min_burst is 2.
        assert_eq!(scene.send(), Some(UNTAGGED));
    }

    #[test]
    fn all_packets_are_released_in_the_order_of_arrival_even_those_held_back() {
        let mut scene = Scene::new(&with("untagged", |class| class.borrow = false));
        for _ in 0..20 {
            for flow in [UNTAGGED, TCP, TAGGED] {
                scene.arrive(flow, 1);
                scene.bench.advance(Duration::from_micros(1));
            }
        }
        let mut numbers = Vec::new();
        while let Some(packet) = scene.cbq.release(&LINE) {
            numbers.push(packet.seq);
            scene.bench.end(packet);
        }
        assert_eq!(numbers, (0..60).collect::<Vec<u64>>());
        assert_eq!(scene.cbq.depth(), Depth::default());
    }

    #[test]
    fn after_a_pause_a_class_may_send_max_burst_packets_in_a_row() {
        for burst in [4, 16] {
            let config = with("untagged", |class| {
                (class.borrow, class.max_burst) = (false, burst);
            });
            let mut scene = Scene::new(&config);
            scene.bench.advance(Duration::from_secs(10));
            scene.arrive(UNTAGGED, 60);
            let mut sent = 0;
            while scene.send().is_some() {
                sent += 1;
                scene.bench.advance(PACKET_TIME);
            }
            // The first packet restores maxidle. The next ones bring avgidle to zero, or one packet
            // below it.
            assert!((burst + 1..=burst + 2).contains(&sent), "{sent} of {burst}");
        }
    }

    #[test]
    fn a_class_of_higher_priority_goes_first_while_it_keeps_to_its_share() {
        let mut scene = Scene::new(&with("tagged", |class| class.priority = 7));
        scene.arrive(TCP, 60);
        for _ in 0..1000 {
            // Every tenth packet is tagged: less than 16 %.
            scene.arrive(TAGGED, 1);
            assert_eq!(scene.send(), Some(TAGGED));
            scene.bench.advance(PACKET_TIME);
            for _ in 0..9 {
                scene.arrive(TCP, 1);
                assert_eq!(scene.send(), Some(TCP));
                scene.bench.advance(PACKET_TIME);
            }
        }
    }

    #[test]
    fn priority_gives_no_larger_share() {
        let mut scene = Scene::new(&with("untagged", |class| class.priority = 7));
        let [tcp, _, untagged] = scene.shares(&[TCP, TAGGED, UNTAGGED]);
        assert!(
            (770..=800).contains(&tcp) && untagged < 70,
            "{tcp} and {untagged}"
        );
    }

    #[test]
    fn levels_are_counted_from_the_leaves() {
        let scene = Scene::new(&Config::default());
        // The leaves come first, in the order of their names (tagged, tcp, untagged), then udp.
        let levels: Vec<u32> = scene.cbq.nodes.iter().map(|node| node.level).collect();
        assert_eq!(levels, [1, 1, 1, 2]);
        assert!(!scene.cbq.is_periodic(), "all may borrow up to the link");
    }

    #[test]
    fn idle_limits_are_those_of_setting_parameters() {
        // By hand: (1/f − 1)(1 − g^n)/g^n with g = 31/32, where (31/32)^16 = 0.601 73; and (1/f −
        // 1)(1 + 32 (1 − g)/g) for a burst of 2.
        let near = |found: f64, expected: f64| {
            assert!(
                (found / expected - 1.0).abs() < 1e-4,
                "{found} is not {expected}"
            );
        };
        near(max_idle(0.05, 16), 19.0 * 0.661_875);
        near(max_idle(1.0, 16), 1.0 / 32.0);
        near(off_time(0.05, 1), 19.0);
        near(off_time(0.05, 2), 19.0 * 2.032_258);
    }

    #[test]
    fn a_class_is_over_its_limit_until_a_packet_would_bring_avgidle_back_to_zero() {
        // Units: 10 Mbit/s.
        let pace = Pace::new(1000, 1500, RATE);
        let mut node = node(&with("tcp", |_| ()).class["tcp"], None, 1, &pace);
        node.share = 0.5;
        node.avg_idle = 0.0;
        // A packet directly behind the last one: idle is 800 µs − 1600 µs, and avgidle is 1/32 of
        // it.
        node.estimate(800_000.0, 800_000.0);
        assert!((node.avg_idle + 25_000.0).abs() < 1e-6);
        // The packet ends at T with T − 800 µs − 1600 µs = 31 × 25 µs: T = 3175 µs, so it begins at
        // 2375 µs.
        assert!((node.under_time - 2_375_000.0).abs() < 1e-6);
        node.estimate(3_175_000.0, 800_000.0);
        assert!(node.avg_idle.abs() < 1e-6, "{}", node.avg_idle);
    }

    #[test]
    fn invalid_classes_are_refused() {
        let refusal = |config: Config| Cbq::new(&config, RATE).expect_err("it makes no sense");
        let refused = |name, change: fn(&mut Class)| refusal(with(name, change));
        let more = refused("tcp", |class| class.share = Probability(0.8));
        assert!(more.contains("the classes of the link share"), "{more}");
        let inner = refused("tagged", |class| class.share = Probability(0.17));
        assert!(inner.contains("the classes of class.udp share"), "{inner}");
        let nothing = refused("tagged", |class| class.share = Probability(0.0));
        assert!(nothing.contains("class.tagged.share"), "{nothing}");
        let orphan = refused("tagged", |class| class.parent = Some("upd".into()));
        assert!(orphan.contains("no class is called \"upd\""), "{orphan}");
        let circle = refused("udp", |class| class.parent = Some("tagged".into()));
        assert!(circle.contains("above itself"), "{circle}");
        let parent = refused("udp", |class| class.classifier = Classifier::of_dscp(8));
        assert!(parent.contains("leave match out"), "{parent}");
        let rest = refused("untagged", |class| {
            class.classifier = Classifier::of_dscp(8);
        });
        assert!(rest.contains("expected a class without match"), "{rest}");
        assert!(refused("tcp", |class| class.priority = 8).contains("priority"));
        assert!(refused("tcp", |class| class.max_burst = 1).contains("max_burst"));
        assert!(refused("tcp", |class| class.limit = Limit::Packets(0)).contains("limit"));
    }
}
