//! An 802.11 cell: an access point and its stations, which share one channel by carrier sense.
//!
//! IEEE 802.11-2020 §10.3 and §10.23:
//!
//! - A node with a frame waits until the channel has been idle for AIFS, and then for its backoff
//!   ([`contention`]). Then it sends. The receiver answers after SIFS ([`exchange`]).
//! - Two nodes that begin within the same slot collide. They receive no answer and draw their next
//!   backoff from a larger window.
//! - A frame carries one packet, or a burst of them ([`assembly`]), of which each is acknowledged
//!   ([`window`]).
//! - A node has a contender for each access category, or a single one without categories. A
//!   category may go on for its TXOP limit without contending anew.
//!
//! The standards from 802.11b to 802.11ax differ in the [modes](phy) of their frames and in
//! parameters, not in these rules.
//!
//! Where all nodes hear each other, nothing can interfere with an exchange that has begun. The cell
//! then needs one event for the start and one for the end of each exchange, whatever the number of
//! contending nodes. Where some are hidden from others, each frame has events of its own, and may
//! be disturbed ([`air`]).
//!
//! Ports: station `s` has port `2s` (up, to the access point) and port `2s + 1` (down). Packets of
//! the down ports wait in the queue of the access point. docs/models/wifi.md says what is left out.

mod air;
mod assembly;
pub mod backoff;
mod contention;
mod exchange;
pub mod phy;
mod rates;
pub mod setup;
mod turns;
mod usage;
pub mod window;

use self::backoff::Backoff;
use self::contention::{Contention, Entry};
use self::exchange::{Burst, Disturbance, Exchange, time_around};
use self::rates::RateControl;
use self::setup::{Access, AccessPointSetup, Radio, Rules, Sharing, StationSetup};
use self::turns::Turns;
use self::usage::{OF_STATION, Usage, Use};
use self::window::Window;
use super::{Link, Visitor};
use crate::context::Context;
use crate::flow::Port;
use crate::metrics::Recorder;
use crate::metrics::air::AirUse;
use crate::metrics::channel::ChannelUse;
use crate::metrics::utilisation::LimitUse;
use crate::packet::Packet;
use crate::qdisc::Queue;
use crate::qdisc::lanes::Categories;
use crate::queue::LineView;
use crate::rng::Rng;
use crate::time::{Duration, Instant};
use crate::trace::{DropReason, QueueId};

/// The kinds of wake-up. A token is a kind plus a multiple of [`KINDS`].
const KINDS: u64 = 3;
/// A node of a zone, which is the multiple, may begin to send.
const BEGIN: u64 = 0;
/// A step of an exchange ends.
const STEP: u64 = 1;
/// The queue of a node, which is the multiple, needs an update.
const UPDATE: u64 = 2;

/// Index of the access point among the nodes.
const ACCESS_POINT: usize = 0;

/// Indices of the rate controls of what a station sends and what the access point sends to it.
const UP: usize = 0;
const DOWN: usize = 1;

/// The index of the rate control of a node that sends.
fn direction(node: usize) -> usize {
    if node == ACCESS_POINT { DOWN } else { UP }
}

/// A sender: the access point or a station.
#[derive(Debug)]
struct Node {
    queue: Queue,
    /// What the queue may know about the channel.
    line: LineView<'static>,
    /// Packets and bytes that were dequeued and have neither arrived nor been given up.
    in_hand: [u64; 2],
    /// Bytes of the packets that it has dequeued and given up.
    given_up: u64,
}

/// An access category of a node.
#[derive(Debug)]
struct Contender {
    node: usize,
    category: usize,
    txop: Duration,
    backoff: Backoff,
    /// What was taken from the queue. The access point has a window for each station.
    windows: Vec<Window>,
    /// The MPDUs in its windows.
    taken: usize,
    /// Whose turn it is, at the access point.
    turns: Turns,
    /// Whether its exchange is in progress.
    is_sending: bool,
}

impl Contender {
    /// Whether it has a frame to send.
    fn is_ready(&self) -> bool {
        self.taken > 0
    }
}

/// A cell.
#[derive(Debug)]
pub struct Cell {
    rules: Rules,
    categories: Categories,
    /// The access point, then the stations.
    nodes: Vec<Node>,
    radios: Vec<Radio>,
    /// By station, of what goes up and down.
    rates: Vec<[RateControl; 2]>,
    /// By node and category.
    contenders: Vec<Contender>,
    contention: Contention,
    exchanges: Vec<Exchange>,
    /// The contenders that begin together; of use only within one call.
    senders: Vec<u32>,
    /// Random stream for broken frames.
    rng: Rng,
    usage: Usage,
    /// Total time in which at least one contender had a frame. `waits_since` is the start of the
    /// current such period, and `waiting` the number of contenders with a frame.
    waited_for: Duration,
    waits_since: Option<Instant>,
    waiting: u32,
}

impl Cell {
    /// A cell of an access point and stations.
    pub fn new(
        rules: Rules,
        categories: Categories,
        access_point: AccessPointSetup,
        stations: Vec<StationSetup>,
        rng: Rng,
    ) -> Self {
        let node = |queue, rate| Node {
            queue,
            line: LineView::plain(rate),
            in_hand: [0; 2],
            given_up: 0,
        };
        let mut nodes = vec![node(access_point.queue, access_point.mode.rate())];
        let mut all = vec![access_point.access];
        let mut hears = vec![vec![true; stations.len() + 1]];
        let mut radios = Vec::with_capacity(stations.len());
        let mut rates = Vec::with_capacity(stations.len());
        for station in stations {
            nodes.push(node(station.queue, station.radio.fastest().rate()));
            let control = |rng| RateControl::new(&station.radio, &rules, rng);
            rates.push(station.rate_control_rngs.map(control));
            radios.push(station.radio);
            all.push(station.access);
            hears.push(std::iter::once(true).chain(station.hears).collect());
        }
        let quantum = match rules.sharing {
            Sharing::Ahead(_) => None,
            Sharing::ByStation { quantum, .. } => quantum,
        };
        let (mut contenders, mut entries) = (Vec::new(), Vec::new());
        for (node, access) in all.into_iter().enumerate() {
            let peers = if node == ACCESS_POINT {
                radios.len()
            } else {
                1
            };
            for (category, (access, rng)) in access.into_iter().enumerate() {
                let Access {
                    aifs,
                    windows,
                    txop,
                } = access;
                entries.push(Entry { node, aifs });
                contenders.push(Contender {
                    node,
                    category,
                    txop,
                    backoff: Backoff::new(windows, rng),
                    windows: (0..peers).map(|_| Window::default()).collect(),
                    taken: 0,
                    turns: Turns::new(peers, quantum),
                    is_sending: false,
                });
            }
        }
        let times = [rules.slot, rules.unnoticed, rules.after_error];
        Self {
            contention: Contention::new(times, categories.count() > 1, &hears, &entries),
            usage: Usage::new(radios.len()),
            senders: Vec::with_capacity(contenders.len()),
            exchanges: Vec::new(),
            rules,
            categories,
            nodes,
            radios,
            rates,
            contenders,
            rng,
            waited_for: Duration::ZERO,
            waits_since: None,
            waiting: 0,
        }
    }

    /// Token for the queue updates of node `node`: 0 is the access point, `s + 1` is station `s`.
    pub const fn update_token(node: usize) -> u64 {
        UPDATE + KINDS * node as u64
    }

    /// The index of a station's window at a node.
    fn window_of(node: usize, station: usize) -> usize {
        if node == ACCESS_POINT { station } else { 0 }
    }

    fn contender_of(&self, node: usize, category: usize) -> u32 {
        (node * self.categories.count() + category) as u32
    }

    /// A contender without a frame has got one. It sends at once if its backoff is over and the
    /// channel is idle. Otherwise it contends.
    fn contend(&mut self, contender: u32, cx: &mut Context<'_>) {
        let zone = self.contention.zone_of(contender);
        let slots = self.contention.slots(contender, cx.now);
        if self.contention.is_reserved(zone, cx.now) && self.backoff(contender).until() <= slots {
            self.draw(contender, cx);
        }
        if self.contention.is_busy(zone) {
            if self.backoff(contender).until() <= slots {
                self.draw(contender, cx);
            }
            let until = self.backoff(contender).until();
            self.contention.set(contender, Some(until));
            return;
        }
        let until = self.backoff(contender).until();
        self.contention.set(contender, Some(until.max(slots)));
        if until <= slots && self.contention.is_free(contender, cx.now) {
            self.begin(zone, cx);
        } else {
            self.arm(zone, cx);
        }
    }

    fn backoff(&mut self, contender: u32) -> &mut Backoff {
        &mut self.contenders[contender as usize].backoff
    }

    /// A contender draws a backoff.
    fn draw(&mut self, contender: u32, cx: &mut Context<'_>) {
        let slots = self.contention.slots(contender, cx.now);
        let own = &mut self.contenders[contender as usize];
        let window = own.backoff.window();
        own.backoff.draw(slots);
        let drawn = own.backoff.until() - slots;
        let (now, queue) = (cx.now, self.nodes[own.node].queue.id());
        cx.recorder().backed_off(now, queue, drawn, window);
    }

    /// Schedules a wake-up for the end of the first backoff of a zone.
    fn arm(&mut self, zone: usize, cx: &mut Context<'_>) {
        if let Some(at) = self.contention.arm(zone, cx.now) {
            cx.wake_at(at.max(cx.now), BEGIN + KINDS * zone as u64);
        }
    }

    /// The wake-up `BEGIN`: a contender of a zone may begin to send now.
    fn try_begin(&mut self, zone: usize, cx: &mut Context<'_>) {
        if self.contention.wake(zone, cx.now) {
            self.begin(zone, cx);
        } else {
            self.arm(zone, cx);
        }
    }

    /// A contender of a zone begins to send now. Every contender whose backoff ends before it can
    /// detect the transmission sends too.
    fn begin(&mut self, zone: usize, cx: &mut Context<'_>) {
        let mut senders = std::mem::take(&mut self.senders);
        self.contention.gather(zone, cx.now, &mut senders);
        self.gather_others(zone, cx.now, &mut senders);
        let losers = self.part_losers(&mut senders);
        let first = self.exchanges.len();
        for &contender in &senders {
            // A law may have discarded what was to be sent.
            let txop = self.contenders[contender as usize].txop;
            let left = (!txop.is_zero()).then_some(txop);
            if let Some(burst) = self.assemble(contender, left, cx) {
                let won = [cx.now; 2];
                let exchange = self.exchange(contender, burst, won);
                self.exchanges.push(exchange);
            }
        }
        senders.clear();
        self.senders = senders;
        self.start(first, cx);
        for contender in losers {
            self.lose(contender, cx);
        }
    }

    /// Takes the contenders of other zones that send together with these.
    fn gather_others(&mut self, first: usize, now: Instant, senders: &mut Vec<u32>) {
        if self.contention.is_open() {
            return;
        }
        let mut asked = vec![first];
        let mut next = 0;
        while next < senders.len() {
            let node = self.contenders[senders[next] as usize].node;
            let zones: Vec<usize> = self.contention.zones_that_hear(node).collect();
            for zone in zones {
                if !asked.contains(&zone) && !self.contention.is_busy(zone) {
                    asked.push(zone);
                    self.contention.gather(zone, now, senders);
                }
            }
            next += 1;
        }
    }

    /// Parts the contenders that lose against another category of their node, which has the
    /// channel (§10.23.2.4).
    fn part_losers(&self, senders: &mut Vec<u32>) -> Vec<u32> {
        if senders.len() < 2 || self.categories.count() == 1 {
            return Vec::new();
        }
        let node_of = |contender: u32| self.contenders[contender as usize].node;
        let all = senders.clone();
        let loses =
            |own: &u32| (all.iter()).any(|&other| other > *own && node_of(other) == node_of(*own));
        senders.retain(|own| !loses(own));
        all.iter().copied().filter(loses).collect()
    }

    /// A contender has lost against another category of its node. It backs off as after a
    /// collision.
    fn lose(&mut self, contender: u32, cx: &mut Context<'_>) {
        self.backoff(contender).widen();
        self.draw(contender, cx);
        let until = self.backoff(contender).until();
        self.contention.set(contender, Some(until));
    }

    /// An exchange that begins now or after SIFS.
    fn exchange(&mut self, contender: u32, burst: Burst, times: [Instant; 2]) -> Exchange {
        let own = &mut self.contenders[contender as usize];
        own.is_sending = true;
        let what = if own.node == ACCESS_POINT {
            AirUse::Down
        } else {
            AirUse::Up
        };
        let usage = Use {
            station: burst.station,
            what,
        };
        let node = own.node;
        let frames = self.frames(node, &burst);
        Exchange::new(contender, burst, frames, times, usage)
    }

    /// The data of an exchange arrives at its receiver, its last bit at `end`. Returns whether any
    /// of it is not broken.
    fn receive(
        &mut self,
        contender: u32,
        burst: &Burst,
        disturbance: Disturbance,
        end: Instant,
    ) -> bool {
        let radio = &self.radios[burst.station];
        let own = &mut self.contenders[contender as usize];
        let window = &mut own.windows[Self::window_of(own.node, burst.station)];
        let rng = &mut self.rng;
        let rate = burst.mode.rate();
        let data = rate.time_for(burst.bytes).as_nanos();
        let mut starts = Instant::from_nanos(end.as_nanos() - data);
        let disturbance = disturbance.of_data(starts);
        window.receive(burst.span, |bytes| {
            let errors = radio.error_rate(burst.mode, bytes, end);
            let is_broken = errors > 0.0 && rng.uniform() < errors;
            if disturbance == Disturbance::None {
                return is_broken;
            }
            let ends = starts + rate.time_for(bytes + phy::DELIMITER);
            let is_disturbed = disturbance.covers(starts, ends);
            starts = ends;
            is_broken || is_disturbed
        })
    }

    /// The receiver passes on what it has received in order, at `at`.
    fn pass_on(&mut self, contender: u32, station: usize, at: Instant, cx: &mut Context<'_>) {
        let own = &mut self.contenders[contender as usize];
        let window = &mut own.windows[Self::window_of(own.node, station)];
        let node = &mut self.nodes[own.node];
        // If the wide area drops the packet at once, the drop is recorded in the row of this queue,
        // as at other links.
        cx.enter_queue(node.queue.id());
        window.pass_on(|packet| {
            node.in_hand[0] -= 1;
            node.in_hand[1] -= u64::from(packet.size);
            cx.forward(packet, at);
        });
    }

    /// An exchange is over: its MPDUs are acknowledged, retransmitted or given up.
    fn settle(&mut self, exchange: &Exchange, cx: &mut Context<'_>) {
        let Exchange {
            contender, burst, ..
        } = *exchange;
        self.usage.add(exchange.usage, exchange.begun, cx.now);
        let own = &mut self.contenders[contender as usize];
        let index = Self::window_of(own.node, burst.station);
        let node = &mut self.nodes[own.node];
        cx.enter_queue(node.queue.id());
        let discard = |packet: Packet| {
            node.in_hand[0] -= 1;
            node.in_hand[1] -= u64::from(packet.size);
            node.given_up += u64::from(packet.size);
            cx.discard(packet, DropReason::RetryLimit);
        };
        let (is_acknowledged, what) = (exchange.is_acknowledged, exchange.what);
        let limits = &self.rules.tries;
        let window = &mut own.windows[index];
        let (arrived, is_given_up) =
            window.settle(burst.span, is_acknowledged, what, limits, discard);
        if exchange.has_sent_data() {
            let rates = &mut self.rates[burst.station][direction(own.node)];
            rates.learn(burst.chosen, burst.mpdus, arrived);
        }
        if is_acknowledged || is_given_up {
            own.backoff.reset();
        } else {
            own.backoff.widen();
        }
        if is_given_up {
            self.pass_on(contender, burst.station, cx.now, cx);
        }
        let span = cx.now.since(exchange.begun);
        let own = &mut self.contenders[contender as usize];
        own.taken -= own.windows[index].advance();
        own.is_sending = false;
        // The contenders of the access point are the first ones.
        if own.node == ACCESS_POINT {
            own.turns.charge(burst.station, span);
            own.turns.pass();
        } else {
            let category = own.category;
            let turns = &mut self.contenders[category].turns;
            turns.charge(burst.station, span);
        }
        let own = &mut self.contenders[contender as usize];
        if own.taken == 0 {
            self.waiting -= 1;
            if self.waiting == 0
                && let Some(since) = self.waits_since.take()
            {
                self.waited_for += cx.now - since;
            }
        }
    }

    /// A contender that has sent draws a new backoff, and contends again if it has more to send.
    fn contend_again(&mut self, contender: u32, cx: &mut Context<'_>) {
        self.load(contender, cx);
        self.draw(contender, cx);
        let own = &self.contenders[contender as usize];
        if own.is_ready() {
            let until = own.backoff.until();
            self.contention.set(contender, Some(until));
        }
    }

    /// The next exchange of a TXOP, if there is one and it fits.
    fn go_on(&mut self, exchange: &Exchange, cx: &mut Context<'_>) -> Option<Exchange> {
        let contender = exchange.contender;
        let txop = self.contenders[contender as usize].txop;
        if txop.is_zero() || !exchange.is_acknowledged {
            return None;
        }
        let begins = cx.now + self.rules.gap();
        let left = txop.saturating_sub(begins.since(exchange.won));
        if left.is_zero() {
            return None;
        }
        self.load(contender, cx);
        let burst = self.assemble(contender, Some(left), cx)?;
        let frames = self.frames(self.contenders[contender as usize].node, &burst);
        let data = self.rules.phy.frame(burst.bytes, burst.mode);
        if data + time_around(&frames, self.rules.gap()) > left {
            return None;
        }
        Some(self.exchange(contender, burst, [exchange.won, begins]))
    }

    fn update(&mut self, node: usize, cx: &mut Context<'_>) {
        let place = &mut self.nodes[node];
        place.queue.update(&place.line, cx);
        // A discipline that held its packets back may release one now.
        for category in 0..self.categories.count() {
            self.supply(self.contender_of(node, category), cx);
        }
    }

    /// Gives a contender the next packet of its queue, if it has none or may have more.
    fn supply(&mut self, contender: u32, cx: &mut Context<'_>) {
        // The end of an exchange does this for its sender.
        let own = &self.contenders[contender as usize];
        if own.is_sending {
            return;
        }
        let was_ready = own.is_ready();
        self.load(contender, cx);
        if !was_ready && self.contenders[contender as usize].is_ready() {
            self.contend(contender, cx);
        }
    }
}

impl Link for Cell {
    fn arrive(&mut self, port: Port, packet: Packet, cx: &mut Context<'_>) {
        let station = usize::from(port.0 / 2);
        let node = if port.0 % 2 == 1 {
            ACCESS_POINT
        } else {
            station + 1
        };
        let category = if node == ACCESS_POINT || self.radios[station].aggregates {
            self.categories.of(&packet, cx)
        } else {
            self.categories.plain()
        };
        let place = &mut self.nodes[node];
        place.queue.enqueue(packet, &place.line, cx);
        let contender = self.contender_of(node, category);
        if node == ACCESS_POINT && matches!(self.rules.sharing, Sharing::ByStation { .. }) {
            let turns = &mut self.contenders[contender as usize].turns;
            turns.activate(station);
        }
        self.supply(contender, cx);
    }

    fn wake(&mut self, token: u64, cx: &mut Context<'_>) {
        let which = (token / KINDS) as usize;
        match token % KINDS {
            BEGIN => self.try_begin(which, cx),
            STEP => self.step(cx),
            _ => self.update(which, cx),
        }
    }

    fn visit_queues(&mut self, _now: Instant, visit: &mut Visitor<'_>) {
        for node in &self.nodes {
            visit(Some((node.queue.id(), node.queue.internals())));
        }
    }

    /// The capacity of the channel, in bits, is its time multiplied by the largest rate. The
    /// channel is used while a node sends, and full while a contender has a frame.
    fn visit_channels(&self, now: Instant, visit: &mut dyn FnMut(QueueId, ChannelUse)) {
        let rate = self.nodes[ACCESS_POINT].line.rate.0 as f64 / 1e9;
        let waits = self.waits_since.map_or(Duration::ZERO, |since| now - since);
        let channel = ChannelUse {
            capacity_bits: now.as_nanos() as f64 * rate,
            used_bits: self.usage_at(now).sent.as_nanos() as f64 * rate,
            neighbours_bits: 0.0,
            full_ns: (self.waited_for + waits).as_nanos() as f64,
            ..ChannelUse::default()
        };
        visit(self.nodes[ACCESS_POINT].queue.id(), channel);
    }

    fn report_air(&self, now: Instant, recorder: &mut Recorder) {
        let usage = self.usage_at(now);
        for (station, times) in usage.of_station.iter().enumerate() {
            let queue = self.nodes[station + 1].queue.id();
            for (what, spent) in OF_STATION.into_iter().zip(times) {
                recorder.air(queue, what, spent.as_nanos());
            }
        }
        for (station, rates) in self.rates.iter().enumerate() {
            let queue = self.nodes[station + 1].queue.id();
            for (direction, rates) in ["up", "down"].into_iter().zip(rates) {
                for mode in rates.uses() {
                    recorder.rate_control(queue, direction, mode);
                }
            }
        }
        let everybody = self.nodes[ACCESS_POINT].queue.id();
        recorder.air(everybody, AirUse::Collision, usage.collided.as_nanos());
        let idle = usage.idle().as_nanos();
        recorder.air(everybody, AirUse::Idle, idle);
    }

    /// The limit of a node is its data rate. Contention and the overhead of frames are not in it;
    /// the table `air_time` has them.
    fn report_limits(&self, now: Instant, recorder: &mut Recorder) {
        for node in &self.nodes {
            let (queue, rate) = (node.queue.id(), node.line.rate);
            let came = rate.0 as f64 * (now - Instant::ZERO).as_secs_f64();
            let sent = recorder.output_of(queue).bytes - node.in_hand[1] - node.given_up;
            let limit = LimitUse::of_line(came, rate, sent as f64 * 8.0);
            recorder.limit(queue, Some(limit));
        }
    }

    fn report_tins(&mut self, recorder: &mut Recorder) {
        for node in &mut self.nodes {
            node.queue.report_tins(recorder);
        }
    }

    fn held(&self) -> u64 {
        (self.nodes.iter())
            .map(|node| node.queue.depth().packets + node.in_hand[0])
            .sum()
    }
}
