//! The life of one packet: a listener that follows it from its host to its receiver, and follows
//! the requests and grants of the queues on the way.
//!
//! It follows the first packet of a flow that enters a queue at or after a given time. A flow whose
//! hosts send anything up is followed upstream, because requests and grants are there; a flow that
//! only travels down is followed down.
//!
//! While the packet waits in a queue, all requests and grants of the queue belong to the packet's
//! life, because a request covers all that waits. They still do after the packet has left the
//! queue, until all of it is in a burst: a modem of DOCSIS 1.0 to 2.0 takes a packet from its queue
//! before it requests room for it, and later modems send a packet in pieces. In a cell the packet
//! contends for the channel after it has left its queue. Until its exchange of frames is over,
//! whatever is sent over that channel belongs to its life too.
//!
//! A sequence number does not identify a packet: acknowledgements share theirs, and retransmissions
//! keep theirs. A packet is identified by when it was enqueued, until it leaves the queue, and by
//! when it was sent, until it arrives.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::table::{FLOAT, INTEGER, TEXT, Table};
use crate::flow::GroupId;
use crate::packet::Side;
use crate::time::Instant;
use crate::trace::{AirFrame, PacketView, QueueId, Sink, TraceEvent, TraceKinds};

/// Steps of a wait that are kept at its beginning, and as many at its end. A long wait repeats
/// itself, so those between are forgotten.
const KEPT: usize = 64;

/// What is known of a packet's life, shared between the listener and whoever asks.
#[derive(Debug, Clone)]
pub struct Life(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    group: GroupId,
    side: Side,
    from: Instant,
    /// The link of each queue, by number.
    links: Vec<u32>,
    /// The flow's latest packet and when its host sent it.
    latest: Option<(PacketView, Instant)>,
    place: Place,
    sent: Option<Instant>,
    steps: Vec<(Instant, TraceEvent)>,
    /// Steps of the present wait, in the queue or for the channel.
    waited: usize,
}

/// Where the packet is.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Place {
    /// Not chosen yet.
    Unborn,
    /// In a queue, since this time.
    Waiting(PacketView, QueueId, Instant),
    /// Between queues. The queue is the one that the packet has left: in a modem, until the packet
    /// is in a burst; in a cell, until its frames are on the air.
    Travelling(PacketView, Option<QueueId>),
    /// Delivered or discarded.
    Ended,
}

impl Life {
    /// The life of the first packet of `group` from `side` that enters a queue at or after `from`.
    /// `links` numbers the link of each queue.
    pub fn of(group: GroupId, side: Side, from: Instant, links: Vec<u32>) -> Self {
        Self(Arc::new(Mutex::new(State {
            group,
            side,
            from,
            links,
            latest: None,
            place: Place::Unborn,
            sent: None,
            steps: Vec::with_capacity(4 * KEPT),
            waited: 0,
        })))
    }

    /// The steps so far, in order of time.
    pub fn steps(&self) -> Vec<(Instant, TraceEvent)> {
        self.state().steps.clone()
    }

    /// The steps as a table of docs/reference/results.md; `name` gives a queue's name.
    pub fn table(&self, name: impl Fn(QueueId) -> String) -> Table {
        let mut table = Table::of(&[
            ("at_ns", INTEGER),
            ("step", TEXT),
            ("queue", TEXT),
            ("detail", TEXT),
            ("when_ns", INTEGER),
            ("until_ns", INTEGER),
            ("bytes", FLOAT),
            ("opportunity", FLOAT),
            ("window", FLOAT),
        ]);
        for (at, event) in &self.state().steps {
            let row = Row::of(*at, event);
            table.integer("at_ns", at.as_nanos());
            table.text("step", row.step);
            table.text("queue", &row.queue.map_or_else(String::new, &name));
            table.text("detail", row.detail);
            table.integer("when_ns", row.when.as_nanos());
            table.integer("until_ns", row.until.as_nanos());
            table.float("bytes", row.bytes.map_or(f64::NAN, |bytes| bytes as f64));
            table.float(
                "opportunity",
                row.opportunity.map_or(f64::NAN, |n| n as f64),
            );
            table.float("window", row.window.map_or(f64::NAN, |n| n as f64));
        }
        table
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sink for Life {
    fn interest(&self) -> TraceKinds {
        TraceKinds::ALL.without(TraceKinds::SENDER.union(TraceKinds::MEASURED))
    }
    fn record(&mut self, at: Instant, event: &TraceEvent) {
        self.state().record(at, event);
    }
}

impl State {
    fn record(&mut self, at: Instant, event: &TraceEvent) {
        match (self.place, *event) {
            (Place::Unborn, TraceEvent::Sent { packet }) if self.is_ours(&packet) => {
                self.latest = Some((packet, at));
            }
            (Place::Unborn, TraceEvent::Enqueued { queue, packet })
                if at >= self.from && self.is_ours(&packet) =>
            {
                self.begin(at, queue, packet);
            }
            (Place::Waiting(own, queue, since), _) => self.wait(at, event, own, queue, since),
            (Place::Travelling(own, left), _) => self.travel(at, event, own, left),
            _ => {}
        }
    }

    fn is_ours(&self, packet: &PacketView) -> bool {
        packet.group == self.group && packet.from == self.side
    }

    fn begin(&mut self, at: Instant, queue: QueueId, packet: PacketView) {
        if let Some((sent, when)) = self.latest
            && is_same(&sent, &packet)
        {
            self.sent = Some(when);
            self.steps.push((when, TraceEvent::Sent { packet }));
        }
        self.enter(at, queue, packet);
    }

    fn enter(&mut self, at: Instant, queue: QueueId, packet: PacketView) {
        self.steps
            .push((at, TraceEvent::Enqueued { queue, packet }));
        self.place = Place::Waiting(packet, queue, at);
        self.waited = 0;
    }

    fn wait(
        &mut self,
        at: Instant,
        event: &TraceEvent,
        own: PacketView,
        queue: QueueId,
        since: Instant,
    ) {
        match *event {
            TraceEvent::Dequeued {
                queue: left,
                packet,
                sojourn,
            } if left == queue && is_same(&packet, &own) && since + sojourn == at => {
                self.steps.push((at, *event));
                self.place = Place::Travelling(own, Some(queue));
                self.waited = 0;
            }
            TraceEvent::Discarded {
                queue: Some(left),
                packet,
                ..
            } if left == queue && is_same(&packet, &own) => {
                self.steps.push((at, *event));
                self.place = Place::Ended;
            }
            TraceEvent::Marked {
                queue: inside,
                packet,
            } if inside == queue && is_same(&packet, &own) => {
                self.steps.push((at, *event));
            }
            _ if queue_of_request(event) == Some(queue) || self.is_beside(event, queue) => {
                self.keep(at, event);
            }
            _ => {}
        }
    }

    /// Whether an event is a frame on the channel that a queue's packets contend for.
    fn is_beside(&self, event: &TraceEvent, queue: QueueId) -> bool {
        let TraceEvent::Aired { queue: other, .. } = event else {
            return false;
        };
        let link = |queue: &QueueId| self.links.get(queue.0 as usize);
        link(other) == link(&queue)
    }

    /// Keeps a step of a wait; in a long one, the latest takes the place of one in the middle.
    fn keep(&mut self, at: Instant, event: &TraceEvent) {
        if self.waited >= 2 * KEPT {
            self.steps.remove(self.steps.len() - KEPT);
        }
        self.steps.push((at, *event));
        self.waited += 1;
    }

    fn travel(&mut self, at: Instant, event: &TraceEvent, own: PacketView, left: Option<QueueId>) {
        match *event {
            TraceEvent::Enqueued { queue, packet } if is_same(&packet, &own) => {
                self.enter(at, queue, own);
            }
            TraceEvent::Delivered { packet, delay }
                if is_same(&packet, &own) && self.sent.is_none_or(|sent| sent + delay == at) =>
            {
                self.steps.push((at, *event));
                self.place = Place::Ended;
            }
            TraceEvent::Discarded { packet, .. } if is_same(&packet, &own) => {
                self.steps.push((at, *event));
                self.place = Place::Ended;
            }
            TraceEvent::Loaded { queue, packet, .. }
                if left == Some(queue) && is_same(&packet, &own) =>
            {
                self.steps.push((at, *event));
                self.place = Place::Travelling(own, None);
            }
            _ if left.is_some() && queue_of_request(event) == left => self.keep(at, event),
            TraceEvent::Aired {
                queue,
                frame,
                heard,
                ..
            } if left.is_some_and(|left| self.is_beside(event, left)) => {
                self.keep(at, event);
                let is_answer = matches!(frame, AirFrame::Ack | AirFrame::BlockAck);
                if left == Some(queue) && is_answer && heard {
                    self.place = Place::Travelling(own, None);
                }
            }
            _ => {}
        }
    }
}

fn is_same(one: &PacketView, other: &PacketView) -> bool {
    let name = |it: &PacketView| (it.flow, it.from, it.seq, it.size, it.sent_at);
    name(one) == name(other)
}

/// The queue whose request or grant an event is about.
const fn queue_of_request(event: &TraceEvent) -> Option<QueueId> {
    match event {
        TraceEvent::Answered { queue, .. }
        | TraceEvent::BackedOff { queue, .. }
        | TraceEvent::Deferred { queue, .. }
        | TraceEvent::Granted { queue, .. }
        | TraceEvent::Prepared { queue, .. }
        | TraceEvent::Requested { queue, .. } => Some(*queue),
        _ => None,
    }
}

/// What the table calls a frame that arrives, or does not.
const fn name_frame(frame: AirFrame, heard: bool) -> &'static str {
    match (frame, heard) {
        (AirFrame::Rts, true) => "rts",
        (AirFrame::Rts, false) => "rts_lost",
        (AirFrame::Cts, _) => "cts",
        (AirFrame::Data, true) => "data",
        (AirFrame::Data, false) => "data_lost",
        (AirFrame::Ack, _) => "ack",
        (AirFrame::BlockAck, _) => "block_ack",
    }
}

/// A step as the table holds it.
struct Row {
    step: &'static str,
    queue: Option<QueueId>,
    detail: &'static str,
    /// When a request, a burst or a frame begins and ends on the channel.
    when: Instant,
    until: Instant,
    bytes: Option<u64>,
    opportunity: Option<u64>,
    window: Option<u64>,
}

impl Row {
    fn new(step: &'static str, queue: Option<QueueId>, when: Instant) -> Self {
        Self {
            step,
            queue,
            detail: "",
            when,
            until: when,
            bytes: None,
            opportunity: None,
            window: None,
        }
    }

    fn of(at: Instant, event: &TraceEvent) -> Self {
        match *event {
            TraceEvent::Aired {
                queue,
                frame,
                bytes,
                start,
                end,
                heard,
            } => Self {
                detail: name_frame(frame, heard),
                bytes: Some(bytes),
                until: end,
                ..Self::new("aired", Some(queue), start)
            },
            TraceEvent::BackedOff {
                queue,
                slots,
                window,
            } => Self {
                opportunity: Some(slots),
                window: Some(window),
                ..Self::new("backed_off", Some(queue), at)
            },
            TraceEvent::Answered { queue, sent, heard } => Self {
                detail: if heard { "heard" } else { "collided" },
                ..Self::new("answered", Some(queue), sent)
            },
            TraceEvent::Deferred {
                queue,
                opportunity,
                window,
            } => Self {
                opportunity: Some(opportunity),
                window: Some(window),
                ..Self::new("deferred", Some(queue), at)
            },
            TraceEvent::Delivered { packet, .. } => Self::of_packet("delivered", None, at, &packet),
            TraceEvent::Dequeued { queue, packet, .. } => {
                Self::of_packet("dequeued", Some(queue), at, &packet)
            }
            TraceEvent::Discarded {
                queue,
                packet,
                reason,
            } => Self {
                detail: reason.name(),
                ..Self::of_packet("discarded", queue, at, &packet)
            },
            TraceEvent::Enqueued { queue, packet } => {
                Self::of_packet("enqueued", Some(queue), at, &packet)
            }
            TraceEvent::Granted {
                queue,
                bytes,
                start,
            } => Self {
                bytes: Some(bytes),
                ..Self::new("granted", Some(queue), start)
            },
            TraceEvent::Loaded {
                queue,
                packet,
                delivery,
            } => Self {
                when: delivery,
                until: delivery,
                ..Self::of_packet("loaded", Some(queue), at, &packet)
            },
            TraceEvent::Marked { queue, packet } => {
                Self::of_packet("marked", Some(queue), at, &packet)
            }
            TraceEvent::Prepared { queue, start } => Self::new("prepared", Some(queue), start),
            TraceEvent::Requested {
                queue,
                bytes,
                contention,
                opportunity,
                sent,
            } => Self {
                detail: if contention {
                    "contention"
                } else {
                    "piggyback"
                },
                bytes: Some(bytes),
                opportunity,
                ..Self::new("requested", Some(queue), sent)
            },
            TraceEvent::Measured { .. } | TraceEvent::Sender { .. } => {
                unreachable!("no part of a packet's life")
            }
            TraceEvent::Sent { packet } => Self::of_packet("sent", None, at, &packet),
        }
    }

    fn of_packet(
        step: &'static str,
        queue: Option<QueueId>,
        at: Instant,
        packet: &PacketView,
    ) -> Self {
        Self {
            bytes: Some(u64::from(packet.size)),
            ..Self::new(step, queue, at)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::FlowId;
    use crate::metrics::table::Column;
    use crate::packet::Ecn;
    use crate::time::Duration;
    use crate::trace::DropReason;

    const UP: QueueId = QueueId(0);
    const OTHER: QueueId = QueueId(1);

    fn packet(seq: u64) -> PacketView {
        PacketView {
            flow: FlowId(0),
            group: GroupId(3),
            from: Side::Host,
            seq,
            sent_at: Instant::ZERO,
            size: 218,
            payload: 160,
            ecn: Ecn::NotEct,
            frame: None,
        }
    }

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    fn follow(events: &[(u64, TraceEvent)]) -> Vec<(Instant, &'static str)> {
        let mut life = Life::of(GroupId(3), Side::Host, at(10), vec![0, 1, 1]);
        for (millis, event) in events {
            life.record(at(*millis), event);
        }
        let steps = life.steps();
        let names = steps
            .iter()
            .map(|(at, event)| (*at, Row::of(*at, event).step));
        names.collect()
    }

    fn sent(seq: u64) -> TraceEvent {
        TraceEvent::Sent {
            packet: packet(seq),
        }
    }

    fn enqueued(queue: QueueId, seq: u64) -> TraceEvent {
        TraceEvent::Enqueued {
            queue,
            packet: packet(seq),
        }
    }

    fn dequeued(seq: u64, millis: u64) -> TraceEvent {
        TraceEvent::Dequeued {
            queue: UP,
            packet: packet(seq),
            sojourn: Duration::from_millis(millis),
        }
    }

    fn delivered(seq: u64, millis: u64) -> TraceEvent {
        TraceEvent::Delivered {
            packet: packet(seq),
            delay: Duration::from_millis(millis),
        }
    }

    fn granted(queue: QueueId) -> TraceEvent {
        TraceEvent::Granted {
            queue,
            bytes: 400,
            start: at(15),
        }
    }

    #[test]
    fn the_first_packet_from_the_given_time_on_is_followed_to_its_receiver() {
        let events = [
            (9, enqueued(UP, 1)),
            (10, sent(2)),
            (10, enqueued(UP, 2)),
            (11, sent(3)),
            (11, enqueued(UP, 3)),
            (12, dequeued(1, 3)),
            (14, dequeued(2, 4)),
            (15, dequeued(3, 4)),
            (30, delivered(2, 20)),
            (31, delivered(3, 20)),
        ];
        let expected = [
            (at(10), "sent"),
            (at(10), "enqueued"),
            (at(14), "dequeued"),
            (at(30), "delivered"),
        ];
        assert_eq!(follow(&events), expected);
    }

    #[test]
    fn packets_of_one_number_are_distinguished_by_their_times() {
        let events = [
            (8, sent(7)),
            (8, enqueued(UP, 7)),
            (10, sent(7)),
            (10, enqueued(UP, 7)),
            (12, dequeued(7, 4)),
            (13, dequeued(7, 3)),
            (20, delivered(7, 12)),
            (21, delivered(7, 11)),
        ];
        let expected = [
            (at(10), "sent"),
            (at(10), "enqueued"),
            (at(13), "dequeued"),
            (at(21), "delivered"),
        ];
        assert_eq!(follow(&events), expected);
    }

    fn loaded(seq: u64) -> TraceEvent {
        TraceEvent::Loaded {
            queue: UP,
            packet: packet(seq),
            delivery: at(18),
        }
    }

    const REQUESTED: TraceEvent = TraceEvent::Requested {
        queue: UP,
        bytes: 236,
        contention: true,
        opportunity: Some(5),
        sent: Instant::ZERO,
    };

    #[test]
    fn the_requests_of_its_queue_are_steps_while_it_waits_and_no_others() {
        let answered = TraceEvent::Answered {
            queue: UP,
            sent: at(11),
            heard: false,
        };
        let events = [
            (9, granted(UP)),
            (10, enqueued(UP, 2)),
            (11, REQUESTED),
            (12, granted(OTHER)),
            (13, answered),
            (14, granted(UP)),
            (15, dequeued(2, 5)),
            (15, loaded(2)),
            (16, granted(UP)),
        ];
        let names: Vec<_> = follow(&events).into_iter().map(|(_, step)| step).collect();
        let asked = ["enqueued", "requested", "answered", "granted"];
        assert_eq!(names, [&asked[..], &["dequeued", "loaded"]].concat());
    }

    #[test]
    fn a_packet_that_left_its_queue_to_be_asked_for_still_waits() {
        let events = [
            (10, enqueued(UP, 2)),
            (11, dequeued(2, 1)),
            (11, REQUESTED),
            (13, granted(OTHER)),
            (14, granted(UP)),
            (14, loaded(1)),
            (15, granted(UP)),
            (15, loaded(2)),
            (16, REQUESTED),
            (20, delivered(2, 10)),
        ];
        let names: Vec<_> = follow(&events).into_iter().map(|(_, step)| step).collect();
        let burst = ["granted", "granted", "loaded", "delivered"];
        assert_eq!(
            names,
            [&["enqueued", "dequeued", "requested"], &burst[..]].concat()
        );
    }

    #[test]
    fn acknowledgements_of_one_number_and_size_are_distinguished_by_when_they_were_sent() {
        let own = PacketView {
            sent_at: at(10),
            ..packet(2)
        };
        let next = PacketView {
            sent_at: at(12),
            ..own
        };
        let enqueued = |queue, packet| TraceEvent::Enqueued { queue, packet };
        let left = TraceEvent::Dequeued {
            queue: UP,
            packet: own,
            sojourn: Duration::from_millis(1),
        };
        let arrived = |packet| TraceEvent::Delivered {
            packet,
            delay: Duration::from_millis(5),
        };
        let events = [
            (10, enqueued(UP, own)),
            (11, left),
            (12, enqueued(UP, next)),
            (15, arrived(own)),
            (17, arrived(next)),
        ];
        let expected = [
            (at(10), "enqueued"),
            (at(11), "dequeued"),
            (at(15), "delivered"),
        ];
        assert_eq!(follow(&events), expected);
    }

    #[test]
    fn a_discard_ends_it() {
        let discarded = TraceEvent::Discarded {
            queue: Some(UP),
            packet: packet(2),
            reason: DropReason::RetryLimit,
        };
        let events = [
            (10, enqueued(UP, 2)),
            (12, discarded),
            (13, enqueued(UP, 2)),
        ];
        assert_eq!(
            follow(&events),
            [(at(10), "enqueued"), (at(12), "discarded")]
        );
    }

    #[test]
    fn a_packet_of_another_flow_or_side_is_not_followed() {
        let mut stranger = packet(1);
        stranger.group = GroupId(4);
        let mut answer = packet(1);
        answer.from = Side::Peer;
        let events =
            [stranger, answer].map(|packet| (12, TraceEvent::Enqueued { queue: UP, packet }));
        assert_eq!(follow(&events), []);
    }

    #[test]
    fn of_a_long_wait_the_beginning_and_the_end_are_kept() {
        let mut events = vec![(10, enqueued(UP, 2))];
        events.extend((0..1000).map(|number| (11 + number, granted(UP))));
        events.push((2000, dequeued(2, 1990)));
        let steps = follow(&events);
        assert_eq!(steps.len(), 2 * KEPT + 2);
        assert_eq!(steps[1].0, at(11));
        assert_eq!(steps[KEPT].0, at(10 + KEPT as u64));
        assert_eq!(steps[2 * KEPT].0, at(1010));
        assert_eq!(steps.last(), Some(&(at(2000), "dequeued")));
    }

    fn aired(queue: QueueId, frame: AirFrame) -> TraceEvent {
        TraceEvent::Aired {
            queue,
            frame,
            bytes: 100,
            start: at(15),
            end: at(16),
            heard: true,
        }
    }

    #[test]
    fn a_packet_that_left_its_queue_contends_until_its_own_exchange() {
        let backed_off = |queue| TraceEvent::BackedOff {
            queue,
            slots: 7,
            window: 32,
        };
        let neighbour = QueueId(2);
        let mine = TraceEvent::Dequeued {
            queue: OTHER,
            packet: packet(2),
            sojourn: Duration::from_millis(2),
        };
        let events = [
            (10, enqueued(OTHER, 2)),
            (11, aired(neighbour, AirFrame::Data)),
            (11, aired(UP, AirFrame::Data)),
            (12, mine),
            (12, backed_off(OTHER)),
            (12, backed_off(neighbour)),
            (13, aired(neighbour, AirFrame::Data)),
            (15, aired(OTHER, AirFrame::Data)),
            (15, aired(OTHER, AirFrame::Ack)),
            (17, aired(neighbour, AirFrame::Data)),
            (18, backed_off(OTHER)),
            (30, delivered(2, 20)),
        ];
        let expected = [
            (at(10), "enqueued"),
            (at(11), "aired"),
            (at(12), "dequeued"),
            (at(12), "backed_off"),
            (at(13), "aired"),
            (at(15), "aired"),
            (at(15), "aired"),
            (at(30), "delivered"),
        ];
        assert_eq!(follow(&events), expected);
    }

    #[test]
    fn the_table_has_a_row_for_each_step_and_its_columns_without_any() {
        let mut life = Life::of(GroupId(3), Side::Host, at(10), vec![0, 1, 1]);
        let name = |_| "cable.up".to_owned();
        let columns = |table: &Table| -> Vec<String> {
            table.columns.iter().map(|(name, _)| name.clone()).collect()
        };
        let empty = life.table(name);
        life.record(at(10), &enqueued(UP, 2));
        life.record(at(12), &granted(UP));
        let full = life.table(name);
        assert_eq!(columns(&empty), columns(&full));
        let of = |wanted: &str| full.columns.iter().find(|(name, _)| name == wanted);
        let texts = |names: [&str; 2]| Column::Text(names.map(str::to_owned).to_vec());
        assert_eq!(
            of("step").map(|(_, c)| c),
            Some(&texts(["enqueued", "granted"]))
        );
        assert_eq!(
            of("queue").map(|(_, c)| c),
            Some(&texts(["cable.up", "cable.up"]))
        );
        let when = Column::Integer(vec![10_000_000, 15_000_000]);
        assert_eq!(of("when_ns").map(|(_, c)| c), Some(&when));
    }
}
