//! An 802.11b cell: an access point and its stations, which share one channel by the distributed
//! coordination function.
//!
//! IEEE 802.11-1999 §9.2:
//!
//! - A node with a frame waits until the channel has been idle for DIFS, and then for its backoff.
//!   Then it sends. The receiver answers after SIFS.
//! - Two nodes that begin within the same slot collide. They receive no answer and draw their next
//!   backoff from a larger window.
//! - After a collision or a broken frame, every node waits for EIFS in place of DIFS.
//! - Long frames may be announced by RTS and CTS.
//!
//! All nodes hear each other. While the channel is idle, all nodes therefore count the same slots.
//! The next sender is the node whose backoff ends first, and nothing happens before that slot. The
//! cell needs one event for the start and one for the end of each exchange, whatever the number of
//! contending nodes.
//!
//! Ports: station `s` has port `2s` (up, to the access point) and port `2s + 1` (down). Packets of
//! the down ports wait in the queue of the access point. docs/models/dot11b.md says what is left
//! out.

pub mod backoff;
pub mod phy;

use self::backoff::{Backoff, Limits, Try};
use self::phy::Phy;
use super::{Link, Visitor};
use crate::collection::Earliest;
use crate::context::Context;
use crate::flow::{Hop, Port};
use crate::metrics::Recorder;
use crate::metrics::air::AirUse;
use crate::metrics::channel::ChannelUse;
use crate::metrics::utilisation::LimitUse;
use crate::packet::Packet;
use crate::qdisc::Queue;
use crate::queue::LineView;
use crate::rng::Rng;
use crate::time::{Duration, Instant};
use crate::trace::{AirFrame, DropReason, QueueId};
use crate::units::{Probability, Rate};

/// Token of the wake-up at which a node may begin to send.
const BEGIN: u64 = 0;
/// Token of the wake-up at which an exchange of frames ends.
const END: u64 = 1;
/// First token of the queue updates. The index of the node is added to it.
const UPDATES: u64 = 2;

/// Index of the access point among the nodes.
const ACCESS_POINT: usize = 0;

/// Parameters of the whole cell.
#[derive(Debug, Clone, PartialEq)]
pub struct Rules {
    /// Durations of frames on the air.
    pub phy: Phy,
    /// Slot time.
    pub slot: Duration,
    /// Idle time before an answer.
    pub sifs: Duration,
    /// Idle time before a backoff.
    pub difs: Duration,
    /// Idle time in place of DIFS after a frame that no node could decode.
    pub eifs: Duration,
    /// Time after the start of a transmission in which other nodes do not detect it (802.11b
    /// §18.4.8.4: CCA). A node that begins within it collides.
    pub unnoticed: Duration,
    /// Propagation delay.
    pub propagation: Duration,
    /// A longer MPDU is announced by RTS.
    pub rts_threshold: u64,
    /// Contention windows and retry limits.
    pub limits: Limits,
}

/// A station, as it is built.
#[derive(Debug)]
pub struct StationSetup {
    /// The queue of the station. Wake-ups for its updates have the token
    /// [`Cell::update_token`].
    pub queue: Queue,
    /// Rate of the frames that it sends and receives.
    pub rate: Rate,
    /// Share of the frames to and from it that arrive broken.
    pub frame_errors: Probability,
    /// Random stream for its backoffs.
    pub rng: Rng,
}

/// The access point, as it is built.
#[derive(Debug)]
pub struct AccessPointSetup {
    /// The queue of the access point. Wake-ups for its updates have the token
    /// [`Cell::update_token`].
    pub queue: Queue,
    /// The largest rate at which it sends.
    pub rate: Rate,
    /// Random stream for its backoffs.
    pub rng: Rng,
}

/// A sender: the access point or a station.
#[derive(Debug)]
struct Node {
    queue: Queue,
    /// What the queue may know about the channel.
    line: LineView<'static>,
    backoff: Backoff,
    /// The packet that it sends next.
    frame: Option<Packet>,
    /// Bytes of the packets that it has dequeued and given up.
    given_up: u64,
}

/// How frames to and from a station are sent.
#[derive(Debug)]
struct Radio {
    rate: Rate,
    frame_errors: Probability,
}

/// The state of the channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Channel {
    /// No node sends. Idle slots are counted from `since`, which may be in the future.
    Idle { since: Instant },
    /// An exchange of frames lasts until `until`.
    Busy { until: Instant },
}

/// Time on the air to and from a station: frames up, frames down, and broken ones.
#[derive(Debug, Clone, Copy, Default)]
struct OnAir([Duration; 3]);

/// The uses of the air that are of one station, in the order of [`OnAir`].
const OF_STATION: [AirUse; 3] = [AirUse::Up, AirUse::Down, AirUse::Broken];

/// How an exchange will end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    Delivered,
    Failed(Try),
}

/// An 802.11b cell.
#[derive(Debug)]
pub struct Cell {
    rules: Rules,
    /// The access point, then the stations.
    nodes: Vec<Node>,
    radios: Vec<Radio>,
    /// The idle slot at which each node with a frame may send.
    due: Earliest,
    /// Idle slots until the start of the current or latest idle period.
    slots: u64,
    channel: Channel,
    /// The nodes that send in the current exchange.
    senders: Vec<u32>,
    ending: Ending,
    /// The earliest wake-up `BEGIN` that is scheduled.
    armed: Option<Instant>,
    /// Random stream for broken frames.
    rng: Rng,
    /// Time on the air, by station, and of collisions; what the current or latest exchange is
    /// counted as.
    on_air: Vec<OnAir>,
    collided_for: Duration,
    used_for: (usize, AirUse),
    /// Total time on the air, and total time in which at least one node had a frame. `waits_since`
    /// is the start of the current such period, and `waiting` the number of nodes with a frame.
    sent_for: Duration,
    waited_for: Duration,
    waits_since: Option<Instant>,
    waiting: u32,
}

impl Cell {
    /// A cell of an access point and stations.
    pub fn new(
        rules: Rules,
        access_point: AccessPointSetup,
        stations: Vec<StationSetup>,
        rng: Rng,
    ) -> Self {
        let node = |queue, rate, rng| Node {
            queue,
            line: LineView::plain(rate),
            backoff: Backoff::new(&rules.limits, rng),
            frame: None,
            given_up: 0,
        };
        let AccessPointSetup {
            queue,
            rate,
            rng: own,
        } = access_point;
        let mut nodes = vec![node(queue, rate, own)];
        let mut radios = Vec::with_capacity(stations.len());
        for station in stations {
            nodes.push(node(station.queue, station.rate, station.rng));
            radios.push(Radio {
                rate: station.rate,
                frame_errors: station.frame_errors,
            });
        }
        Self {
            due: Earliest::new(nodes.len()),
            senders: Vec::with_capacity(nodes.len()),
            nodes,
            on_air: vec![OnAir::default(); radios.len()],
            radios,
            slots: 0,
            channel: Channel::Idle {
                since: Instant::ZERO + rules.difs,
            },
            ending: Ending::Delivered,
            armed: None,
            rng,
            collided_for: Duration::ZERO,
            used_for: (0, AirUse::Idle),
            sent_for: Duration::ZERO,
            waited_for: Duration::ZERO,
            waits_since: None,
            waiting: 0,
            rules,
        }
    }

    /// Token for the queue updates of node `node`: 0 is the access point, `s + 1` is station `s`.
    pub const fn update_token(node: usize) -> u64 {
        UPDATES + node as u64
    }

    /// The station that a frame comes from or goes to.
    fn station(node: usize, packet: &Packet, cx: &Context<'_>) -> usize {
        if node != ACCESS_POINT {
            return node - 1;
        }
        match cx.hop(packet) {
            Hop::Link { port, .. } => usize::from(port.0 / 2),
            Hop::Line(_) | Hop::End => unreachable!("a packet in the cell is at its entrance"),
        }
    }

    /// Dequeues the next packet of a node that has no frame.
    fn load(&mut self, node: usize, cx: &mut Context<'_>) {
        let place = &mut self.nodes[node];
        if place.frame.is_some() {
            return;
        }
        place.frame = place.queue.dequeue(&place.line, cx);
        if place.frame.is_some() {
            self.waiting += 1;
            self.waits_since.get_or_insert(cx.now);
        }
    }

    /// A node without a frame has got one. It sends at once if its backoff is over and the channel
    /// is idle. Otherwise it contends.
    fn contend(&mut self, node: usize, cx: &mut Context<'_>) {
        match self.channel {
            Channel::Busy { .. } => {
                if self.nodes[node].backoff.until() <= self.slots {
                    self.draw(node, cx);
                }
                let until = self.nodes[node].backoff.until();
                self.due.set(node as u32, Some(slot(until)));
            }
            Channel::Idle { since } => {
                let passed = self.passed(since, cx.now);
                let until = self.nodes[node].backoff.until();
                self.due.set(node as u32, Some(slot(until.max(passed))));
                if until <= passed && cx.now >= since {
                    self.begin(cx);
                } else {
                    self.arm(cx);
                }
            }
        }
    }

    /// A node draws a backoff.
    fn draw(&mut self, node: usize, cx: &mut Context<'_>) {
        let place = &mut self.nodes[node];
        let window = place.backoff.window();
        place.backoff.draw(self.slots);
        let slots = place.backoff.until() - self.slots;
        let (now, queue) = (cx.now, place.queue.id());
        cx.recorder().backed_off(now, queue, slots, window);
    }

    /// Idle slots that are over at `now`.
    fn passed(&self, since: Instant, now: Instant) -> u64 {
        self.slots + now.since(since).as_nanos() / self.rules.slot.as_nanos()
    }

    /// Schedules a wake-up for the end of the first backoff.
    fn arm(&mut self, cx: &mut Context<'_>) {
        let Channel::Idle { since } = self.channel else {
            return;
        };
        let (first, _) = self.due.first();
        if first >= self.due.limit() {
            return;
        }
        let at = since + self.rules.slot * (first.as_nanos() - self.slots);
        if self.armed.is_none_or(|armed| at < armed || armed <= cx.now) {
            self.armed = Some(at);
            cx.wake_at(at, BEGIN);
        }
    }

    /// The wake-up `BEGIN`: a node may begin to send now.
    fn try_begin(&mut self, cx: &mut Context<'_>) {
        if self.armed == Some(cx.now) {
            self.armed = None;
        }
        let Channel::Idle { since } = self.channel else {
            return;
        };
        let (first, _) = self.due.first();
        if cx.now >= since && first.as_nanos() <= self.passed(since, cx.now) {
            self.begin(cx);
        } else {
            self.arm(cx);
        }
    }

    /// A node begins to send now. Every node whose backoff ends before it can detect the
    /// transmission sends too.
    fn begin(&mut self, cx: &mut Context<'_>) {
        let Channel::Idle { since } = self.channel else {
            unreachable!("nobody begins on a busy channel");
        };
        let too_late = self.passed(since, cx.now + self.rules.unnoticed);
        self.senders.clear();
        loop {
            let (at, node) = self.due.first();
            if at >= self.due.limit() || at.as_nanos() > too_late {
                break;
            }
            self.due.set(node, None);
            self.senders.push(node);
        }
        self.slots = self.passed(since, cx.now);
        let (until, ending) = match self.senders[..] {
            [only] => self.exchange(only as usize, cx),
            _ => self.collide(cx),
        };
        self.ending = ending;
        self.channel = Channel::Busy { until };
        self.sent_for += until - cx.now;
        *self.air_of(self.used_for) += until - cx.now;
        cx.wake_at(until, END);
    }

    /// The time that a use of the air has taken.
    fn air_of(&mut self, (station, what): (usize, AirUse)) -> &mut Duration {
        match OF_STATION.iter().position(|own| *own == what) {
            Some(index) => &mut self.on_air[station].0[index],
            None => &mut self.collided_for,
        }
    }

    /// One node sends alone. Unless the packet arrives broken, it is forwarded at the time at which
    /// its last bit reaches the receiver.
    fn exchange(&mut self, node: usize, cx: &mut Context<'_>) -> (Instant, Ending) {
        let packet = (self.nodes[node].frame.take()).expect("who sends has a frame");
        let station = Self::station(node, &packet, cx);
        let radio = &self.radios[station];
        let Rules {
            phy,
            sifs,
            propagation,
            rts_threshold,
            ..
        } = &self.rules;
        let gap = *sifs + *propagation;
        let mpdu = phy.mpdu(packet.size);
        let is_announced = mpdu > *rts_threshold;
        let mut at = cx.now;
        if is_announced {
            at = at + phy.rts(radio.rate) + gap + phy.answer(radio.rate) + gap;
            self.nodes[node].backoff.cleared();
        }
        at += phy.frame(mpdu, radio.rate);
        let is_broken = radio.frame_errors.0 > 0.0 && self.rng.uniform() < radio.frame_errors.0;
        if cx.recorder().hears_air() {
            let lost = is_broken.then_some(AirFrame::Data);
            self.record_frames(node, mpdu, radio.rate, lost, cx);
        }
        let what = match (is_broken, node) {
            (true, _) => AirUse::Broken,
            (false, ACCESS_POINT) => AirUse::Down,
            (false, _) => AirUse::Up,
        };
        self.used_for = (station, what);
        if is_broken {
            self.nodes[node].frame = Some(packet);
            let what = if is_announced { Try::Long } else { Try::Short };
            return (at, Ending::Failed(what));
        }
        let until = at + gap + phy.answer(radio.rate);
        // If the wide area drops the packet at once, the drop is recorded in the row of this queue,
        // as at other links.
        cx.enter_queue(self.nodes[node].queue.id());
        cx.forward(packet, at + *propagation);
        (until, Ending::Delivered)
    }

    /// Several nodes send at once. The channel is busy for the duration of the longest frame.
    fn collide(&mut self, cx: &mut Context<'_>) -> (Instant, Ending) {
        let phy = &self.rules.phy;
        let longest = self.senders.iter().map(|&node| {
            let packet = self.nodes[node as usize].frame.as_ref();
            let packet = packet.expect("who sends has a frame");
            let rate = self.radios[Self::station(node as usize, packet, cx)].rate;
            let mpdu = phy.mpdu(packet.size);
            if mpdu > self.rules.rts_threshold {
                phy.rts(rate)
            } else {
                phy.frame(mpdu, rate)
            }
        });
        let longest = longest.max().expect("somebody sends");
        for &node in &self.senders {
            let queue = self.nodes[node as usize].queue.id();
            cx.recorder().mac(queue).collisions += 1;
        }
        if cx.recorder().hears_air() {
            self.record_collision(cx);
        }
        self.used_for = (0, AirUse::Collision);
        (cx.now + longest, Ending::Failed(Try::Short))
    }

    /// Records the frames of an exchange that begins now, up to a frame that is lost.
    #[cold]
    fn record_frames(
        &self,
        node: usize,
        mpdu: u64,
        rate: Rate,
        lost: Option<AirFrame>,
        cx: &mut Context<'_>,
    ) {
        let phy = &self.rules.phy;
        let answer = phy.answer(rate);
        let frames = [
            (AirFrame::Rts, phy::RTS_BYTES, phy.rts(rate)),
            (AirFrame::Cts, phy::ACK_BYTES, answer),
            (AirFrame::Data, mpdu, phy.frame(mpdu, rate)),
            (AirFrame::Ack, phy::ACK_BYTES, answer),
        ];
        let first = if mpdu > self.rules.rts_threshold {
            0
        } else {
            2
        };
        let queue = self.nodes[node].queue.id();
        let begun = cx.now;
        let mut at = begun;
        for (frame, bytes, span) in frames.into_iter().skip(first) {
            let is_heard = lost != Some(frame);
            let times = (at, at + span);
            cx.recorder()
                .aired(begun, queue, frame, bytes, times, is_heard);
            if !is_heard {
                break;
            }
            at = times.1 + self.rules.sifs + self.rules.propagation;
        }
    }

    /// Records the frames that begin now and collide.
    #[cold]
    fn record_collision(&self, cx: &mut Context<'_>) {
        for &node in &self.senders {
            let node = node as usize;
            let packet = self.nodes[node].frame.as_ref();
            let packet = packet.expect("who sends has a frame");
            let rate = self.radios[Self::station(node, packet, cx)].rate;
            let mpdu = self.rules.phy.mpdu(packet.size);
            let is_announced = mpdu > self.rules.rts_threshold;
            let first = if is_announced {
                AirFrame::Rts
            } else {
                AirFrame::Data
            };
            self.record_frames(node, mpdu, rate, Some(first), cx);
        }
    }

    /// An exchange is over. Each node that sent draws a new backoff, and the channel becomes idle.
    fn end(&mut self, cx: &mut Context<'_>) {
        let gap = match self.ending {
            Ending::Delivered => self.rules.difs,
            Ending::Failed(_) => self.rules.eifs,
        };
        let senders = std::mem::take(&mut self.senders);
        for &node in &senders {
            let node = node as usize;
            self.settle(node, cx);
            self.load(node, cx);
            self.draw(node, cx);
            if self.nodes[node].frame.is_some() {
                let until = self.nodes[node].backoff.until();
                self.due.set(node as u32, Some(slot(until)));
            }
        }
        self.senders = senders;
        self.channel = Channel::Idle {
            since: cx.now + gap,
        };
        self.arm(cx);
    }

    /// Decides whether the frame of a node that has sent is delivered, dropped or retransmitted.
    fn settle(&mut self, node: usize, cx: &mut Context<'_>) {
        let place = &mut self.nodes[node];
        let limits = &self.rules.limits;
        let is_over = match self.ending {
            Ending::Delivered => {
                place.backoff.succeed(limits);
                true
            }
            Ending::Failed(what) => place.backoff.fail(what, limits),
        };
        if let Some(packet) = place.frame.take_if(|_| is_over) {
            place.given_up += u64::from(packet.size);
            cx.enter_queue(place.queue.id());
            cx.discard(packet, DropReason::RetryLimit);
        }
        if !is_over {
            return;
        }
        self.waiting -= 1;
        if self.waiting == 0
            && let Some(since) = self.waits_since.take()
        {
            self.waited_for += cx.now - since;
        }
    }

    fn update(&mut self, node: usize, cx: &mut Context<'_>) {
        let place = &mut self.nodes[node];
        place.queue.update(&place.line, cx);
        // A discipline that held its packets back may release one now.
        self.supply(node, cx);
    }

    /// Gives a node without a frame the next packet of its queue.
    fn supply(&mut self, node: usize, cx: &mut Context<'_>) {
        // The end of the current exchange does this for its senders.
        let sends =
            matches!(self.channel, Channel::Busy { .. }) && self.senders.contains(&(node as u32));
        if self.nodes[node].frame.is_none() && !sends {
            self.load(node, cx);
            if self.nodes[node].frame.is_some() {
                self.contend(node, cx);
            }
        }
    }
}

/// A number of idle slots, in the type of an instant.
fn slot(number: u64) -> Instant {
    Instant::from_nanos(number)
}

impl Link for Cell {
    fn arrive(&mut self, port: Port, packet: Packet, cx: &mut Context<'_>) {
        let node = if port.0 % 2 == 1 {
            ACCESS_POINT
        } else {
            usize::from(port.0 / 2) + 1
        };
        let place = &mut self.nodes[node];
        place.queue.enqueue(packet, &place.line, cx);
        self.supply(node, cx);
    }

    fn wake(&mut self, token: u64, cx: &mut Context<'_>) {
        match token {
            BEGIN => self.try_begin(cx),
            END => self.end(cx),
            update => self.update((update - UPDATES) as usize, cx),
        }
    }

    fn visit_queues(&mut self, _now: Instant, visit: &mut Visitor<'_>) {
        for node in &self.nodes {
            visit(Some((node.queue.id(), node.queue.internals())));
        }
    }

    /// The capacity of the channel, in bits, is its time multiplied by the largest rate. The
    /// channel is used while a node sends, and full while a node has a frame.
    fn visit_channels(&self, now: Instant, visit: &mut dyn FnMut(QueueId, ChannelUse)) {
        let rate = self.nodes[ACCESS_POINT].line.rate.0 as f64 / 1e9;
        let ahead = match self.channel {
            Channel::Busy { until } => until.since(now),
            Channel::Idle { .. } => Duration::ZERO,
        };
        let waits = self.waits_since.map_or(Duration::ZERO, |since| now - since);
        let channel = ChannelUse {
            capacity_bits: now.as_nanos() as f64 * rate,
            used_bits: (self.sent_for - ahead).as_nanos() as f64 * rate,
            neighbours_bits: 0.0,
            full_ns: (self.waited_for + waits).as_nanos() as f64,
            ..ChannelUse::default()
        };
        visit(self.nodes[ACCESS_POINT].queue.id(), channel);
    }

    fn report_air(&self, now: Instant, recorder: &mut Recorder) {
        let ahead = match self.channel {
            Channel::Busy { until } => until.since(now),
            Channel::Idle { .. } => Duration::ZERO,
        };
        let so_far = |spent: Duration, of: (usize, AirUse)| {
            let ahead = if of == self.used_for {
                ahead
            } else {
                Duration::ZERO
            };
            (spent - ahead).as_nanos()
        };
        for (station, on_air) in self.on_air.iter().enumerate() {
            let queue = self.nodes[station + 1].queue.id();
            for (what, &spent) in OF_STATION.into_iter().zip(&on_air.0) {
                recorder.air(queue, what, so_far(spent, (station, what)));
            }
        }
        let everybody = self.nodes[ACCESS_POINT].queue.id();
        let collided = so_far(self.collided_for, (0, AirUse::Collision));
        recorder.air(everybody, AirUse::Collision, collided);
        let busy = (self.sent_for - ahead).as_nanos();
        recorder.air(everybody, AirUse::Idle, now.as_nanos() - busy);
    }

    /// The limit of a node is its data rate. Contention and the overhead of frames are not in it;
    /// the table `air_time` has them.
    fn report_limits(&self, now: Instant, recorder: &mut Recorder) {
        for node in &self.nodes {
            let (queue, rate) = (node.queue.id(), node.line.rate);
            let came = rate.0 as f64 * (now - Instant::ZERO).as_secs_f64();
            let frame = node.frame.as_ref().map_or(0, |frame| u64::from(frame.size));
            let sent = recorder.output_of(queue).bytes - frame - node.given_up;
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
            .map(|node| node.queue.depth().packets + u64::from(node.frame.is_some()))
            .sum()
    }
}
