//! TCP-ACK acceleration: how cable modems treat the acknowledgements of downloads before they reach
//! the modem's queue.
//!
//! The rate of a download depends on how fast its acknowledgements come back, and these wait behind
//! uploads. Modems therefore put them in a separate queue that is served before data. Many modems
//! also discard some of them: an acknowledgement is cumulative, so a newer one contains all that an
//! older one says. Both methods are proprietary (Buffer Control guideline §5.2.1 describes them);
//! this module is the simplest form.
//!
//! - The separate queue gets packets that only acknowledge: without data, SYN or FIN. They keep
//!   their order, and do not pass through the discipline.
//! - Thinning applies to acknowledgements that carry only a number. If the latest waiting
//!   acknowledgement of a connection is of this kind, one that acknowledges more replaces it, in
//!   its place. Duplicates, SACK blocks and ECN echoes carry information of their own. They are
//!   never discarded, nor is any acknowledgement before them.

use std::collections::VecDeque;

use super::QueueDiscipline;
use crate::context::Context;
use crate::metrics::sample::QueueInternals;
use crate::metrics::tins::TinStats;
use crate::packet::{Flags, Packet};
use crate::queue::{Depth, LineView};
use crate::time::Instant;
use crate::trace::DropReason;

/// How a modem treats TCP acknowledgements.
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
pub enum AckAcceleration {
    /// No special treatment: they wait in the queue like all other packets.
    #[default]
    Off,
    /// They have a queue of their own, which is served first.
    Apart,
    /// As `apart`; in addition, an acknowledgement that acknowledges more replaces one of its
    /// connection that is still waiting.
    Thinned,
}

impl AckAcceleration {
    /// Puts the acceleration in front of a queue; `Off` returns the queue unchanged.
    pub fn before(self, queue: Box<dyn QueueDiscipline>) -> Box<dyn QueueDiscipline> {
        match self {
            Self::Off => queue,
            Self::Apart => Box::new(AckFilter::new(queue, false)),
            Self::Thinned => Box::new(AckFilter::new(queue, true)),
        }
    }
}

/// Limit of the queue of acknowledgements, since modems have little room for them. Choice: no
/// source gives a number; this is more than the acknowledgements of a window.
const LIMIT: usize = 1024;

/// A queue with a separate queue for acknowledgements.
#[derive(Debug)]
pub struct AckFilter {
    queue: Box<dyn QueueDiscipline>,
    thins: bool,
    acks: VecDeque<Packet>,
    bytes: u64,
}

impl AckFilter {
    /// Puts a queue of acknowledgements in front of `queue`, with thinning if `thins`.
    pub fn new(queue: Box<dyn QueueDiscipline>, thins: bool) -> Self {
        Self {
            queue,
            thins,
            acks: VecDeque::with_capacity(64),
            bytes: 0,
        }
    }

    /// Enqueues an acknowledgement. If an older one becomes superfluous, the new one takes its
    /// place.
    fn enqueue_ack(&mut self, mut packet: Packet, line: &LineView<'_>, cx: &mut Context<'_>) {
        packet.enqueued_at = cx.now;
        if let Some(older) = self.outdated_by(&packet) {
            cx.note_enqueued(&packet);
            self.bytes += line.framing.size_on_wire(packet.size);
            let older = std::mem::replace(&mut self.acks[older], packet);
            self.bytes -= line.framing.bytes(&older);
            cx.discard(older, DropReason::AckThinned);
        } else if self.acks.len() == LIMIT {
            cx.discard(packet, DropReason::Overlimit);
        } else {
            cx.note_enqueued(&packet);
            self.bytes += line.framing.size_on_wire(packet.size);
            self.acks.push_back(packet);
        }
    }

    /// The index of the acknowledgement that `packet` makes superfluous: the latest of its
    /// connection, if both carry only a number and that of `packet` is higher.
    fn outdated_by(&self, packet: &Packet) -> Option<usize> {
        if !self.thins || !is_plain_ack(packet) {
            return None;
        }
        let same = |other: &Packet| (other.flow, other.from) == (packet.flow, packet.from);
        let place = self.acks.iter().rposition(same)?;
        let older = &self.acks[place];
        (is_plain_ack(older) && older.ack < packet.ack).then_some(place)
    }
}

/// Whether a packet only acknowledges.
fn is_ack(packet: &Packet) -> bool {
    let flags = packet.flags;
    packet.payload == 0 && flags.has(Flags::ACK) && !flags.has(Flags::SYN) && !flags.has(Flags::FIN)
}

/// Whether a packet carries only an acknowledgement number: no SACK blocks, no ECN signal.
fn is_plain_ack(packet: &Packet) -> bool {
    packet.flags.of_tcp() == Flags::ACK && packet.payload == 0 && packet.sack.is_none()
}

impl QueueDiscipline for AckFilter {
    fn enqueue(&mut self, packet: Packet, line: &LineView<'_>, cx: &mut Context<'_>) {
        if is_ack(&packet) {
            self.enqueue_ack(packet, line, cx);
        } else {
            self.queue.enqueue(packet, line, cx);
        }
    }

    fn dequeue(&mut self, line: &LineView<'_>, cx: &mut Context<'_>) -> Option<Packet> {
        let Some(packet) = self.acks.pop_front() else {
            return self.queue.dequeue(line, cx);
        };
        self.bytes -= line.framing.size_on_wire(packet.size);
        Some(packet)
    }

    /// Acknowledgements are released first, in the order in which they would be sent.
    fn release(&mut self, line: &LineView<'_>) -> Option<Packet> {
        let Some(packet) = self.acks.pop_front() else {
            return self.queue.release(line);
        };
        self.bytes -= line.framing.size_on_wire(packet.size);
        Some(packet)
    }

    fn depth(&self) -> Depth {
        let depth = self.queue.depth();
        Depth {
            packets: depth.packets + self.acks.len() as u64,
            bytes: depth.bytes + self.bytes,
        }
    }

    fn next_update(&self) -> Option<Instant> {
        self.queue.next_update()
    }

    fn is_periodic(&self) -> bool {
        self.queue.is_periodic()
    }

    fn looks_at_grants(&self) -> bool {
        self.queue.looks_at_grants()
    }

    fn update(&mut self, line: &LineView<'_>, cx: &mut Context<'_>) {
        self.queue.update(line, cx);
    }

    fn base_probability(&self) -> Option<f64> {
        self.queue.base_probability()
    }

    fn take_redirected(&mut self) -> Option<Packet> {
        self.queue.take_redirected()
    }

    fn tins(&mut self) -> Vec<TinStats> {
        self.queue.tins()
    }

    fn internals(&self) -> QueueInternals {
        self.queue.internals()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::flow::{FlowId, Port};
    use crate::link::{DirectionSetup, PointToPoint, RateSchedule, Transmitter, Varying};
    use crate::packet::sack::SackBlocks;
    use crate::qdisc::{Queue, QueueConfig};
    use crate::queue::Framing;
    use crate::rng::Rng;
    use crate::scenario::{Format, Scenario};
    use crate::testing::Bench;
    use crate::time::Duration;
    use crate::trace::{QueueId, Sink, TraceEvent};
    use crate::units::Rate;

    const LINE: LineView<'static> = LineView::plain(Rate(1_000_000));

    fn plain_queue() -> Box<dyn QueueDiscipline> {
        let queue = QueueConfig::named("none").expect("it is a queue");
        let built = queue.build(Rate(1_000_000), Rng::for_path(1, "queue"));
        built.expect("it has no parameters")
    }

    fn ack(bench: &mut Bench, flow: FlowId, number: u64) -> Packet {
        let mut packet = bench.packet(flow, 52);
        packet.payload = 0;
        packet.flags = Flags::ACK;
        packet.ack = number;
        packet
    }

    fn data(bench: &mut Bench, flow: FlowId) -> Packet {
        let mut packet = bench.packet(flow, 1500);
        packet.flags = Flags::ACK;
        packet
    }

    /// Acknowledgement numbers and sizes in order of departure.
    fn drain(bench: &mut Bench, queue: &mut dyn QueueDiscipline) -> Vec<(u64, u16)> {
        let mut out = Vec::new();
        while let Some(packet) = queue.dequeue(&LINE, &mut bench.cx()) {
            out.push((packet.ack, packet.size));
            bench.end(packet);
        }
        assert_eq!(queue.depth(), Depth::default());
        out
    }

    fn put(bench: &mut Bench, queue: &mut dyn QueueDiscipline, packet: Packet) {
        queue.enqueue(packet, &LINE, &mut bench.cx());
    }

    #[test]
    fn off_is_the_queue_itself() {
        let queue = AckAcceleration::Off.before(plain_queue());
        assert!(queue.limit_alone().is_some());
    }

    #[test]
    fn acknowledgements_apart_go_ahead_of_data_and_none_is_lost() {
        let (mut bench, mut queue) = (Bench::new(), AckAcceleration::Apart.before(plain_queue()));
        let flow = bench.flow(0);
        for number in 1..=3 {
            let packet = data(&mut bench, flow);
            put(&mut bench, &mut *queue, packet);
            let packet = ack(&mut bench, flow, number);
            put(&mut bench, &mut *queue, packet);
        }
        assert_eq!(queue.depth().bytes, 3 * (1500 + 52));
        let out = drain(&mut bench, &mut *queue);
        assert_eq!(out[..3], [(1, 52), (2, 52), (3, 52)]);
        assert_eq!(out[3..], [(0, 1500); 3]);
    }

    #[test]
    fn a_newer_acknowledgement_takes_the_place_of_the_older_one_of_its_connection() {
        let (mut bench, mut queue) = (Bench::new(), AckAcceleration::Thinned.before(plain_queue()));
        let (one, other) = (bench.flow(0), bench.flow(0));
        for (flow, number) in [(one, 10), (other, 7), (one, 20), (one, 30)] {
            let packet = ack(&mut bench, flow, number);
            put(&mut bench, &mut *queue, packet);
        }
        assert_eq!(queue.depth().packets, 2);
        assert_eq!(drain(&mut bench, &mut *queue), [(30, 52), (7, 52)]);
        let reasons: Vec<_> = bench.take_discards();
        assert!(
            reasons
                .iter()
                .all(|(_, reason)| *reason == DropReason::AckThinned)
        );
        assert_eq!(bench.counts(), [4, 2, 2]);
    }

    #[test]
    fn acknowledgements_that_carry_more_than_a_number_are_never_thinned() {
        let (mut bench, mut queue) = (Bench::new(), AckAcceleration::Thinned.before(plain_queue()));
        let flow = bench.flow(0);
        let mut blocks = SackBlocks::default();
        assert!(blocks.push(50, 60));
        let strange = |packet: &mut Packet, kind: usize, bench: &mut Bench| match kind {
            0 => packet.sack = Some(bench.cx().store_sack(blocks)),
            1 => packet.flags = Flags::ACK.with(Flags::ECE),
            2 => packet.flags = Flags::ACK.with(Flags::CWR),
            _ => {}
        };
        // Each kind comes between plain ones. The last kind (3) is a duplicate.
        for kind in 0..4 {
            for number in [1, if kind == 3 { 1 } else { 2 }] {
                let mut packet = ack(&mut bench, flow, number + 10 * kind as u64);
                if number == 2 {
                    strange(&mut packet, kind, &mut bench);
                }
                put(&mut bench, &mut *queue, packet);
            }
        }
        let numbers: Vec<u64> = drain(&mut bench, &mut *queue)
            .iter()
            .map(|(n, _)| *n)
            .collect();
        assert_eq!(numbers, [1, 2, 11, 12, 21, 22, 31, 31]);
        assert_eq!(bench.counts()[2], 0);
    }

    #[test]
    fn the_end_of_a_stream_and_datagrams_keep_their_place_in_the_queue() {
        let (mut bench, mut queue) = (Bench::new(), AckAcceleration::Thinned.before(plain_queue()));
        let flow = bench.flow(0);
        let datagram = bench.packet(flow, 300);
        let mut fin = ack(&mut bench, flow, 5);
        fin.flags = Flags::ACK.with(Flags::FIN);
        let later = ack(&mut bench, flow, 5);
        for packet in [datagram, fin, later] {
            put(&mut bench, &mut *queue, packet);
        }
        assert_eq!(drain(&mut bench, &mut *queue), [(5, 52), (0, 300), (5, 52)]);
    }

    #[test]
    fn the_queue_of_acknowledgements_has_a_limit() {
        let (mut bench, mut queue) = (Bench::new(), AckAcceleration::Apart.before(plain_queue()));
        let flow = bench.flow(0);
        for number in 0..LIMIT as u64 + 5 {
            let packet = ack(&mut bench, flow, number);
            put(&mut bench, &mut *queue, packet);
        }
        assert_eq!(queue.depth().packets, LIMIT as u64);
        assert_eq!(bench.take_discards().len(), 5);
        drain(&mut bench, &mut *queue);
    }

    proptest! {
        /// For all arrivals: the acknowledgement numbers of a connection leave in order, the
        /// highest number that arrived leaves, and packets are conserved.
        #[test]
        fn thinning_keeps_order_and_the_highest_number(
            steps in prop::collection::vec((0_usize..3, 0_u64..3, 0_u8..5), 1..200),
        ) {
            let mut bench = Bench::new();
            let mut queue = AckAcceleration::Thinned.before(plain_queue());
            let flows = [0, 1, 2].map(|_| bench.flow(0));
            let (mut newest, mut left) = ([0_u64; 3], [0_u64; 3]);
            let mut out = |packet: Packet, bench: &mut Bench| {
                let flow = packet.flow.0 as usize;
                let ordered = packet.ack >= left[flow];
                left[flow] = packet.ack;
                bench.end(packet);
                ordered
            };
            for (flow, step, what) in steps {
                if what == 0 {
                    if let Some(packet) = queue.dequeue(&LINE, &mut bench.cx()) {
                        prop_assert!(out(packet, &mut bench));
                    }
                    continue;
                }
                newest[flow] += step;
                let mut packet = ack(&mut bench, flows[flow], newest[flow]);
                if what == 1 {
                    packet.flags = packet.flags.with(Flags::ECE);
                }
                put(&mut bench, &mut *queue, packet);
            }
            while let Some(packet) = queue.dequeue(&LINE, &mut bench.cx()) {
                prop_assert!(out(packet, &mut bench));
            }
            prop_assert_eq!(left, newest);
            let [entered, delivered, discarded] = bench.counts();
            prop_assert_eq!(entered, delivered + discarded);
        }
    }

    const DOWNLOAD: &str = r#"
duration = "60 s"

[link.line.point_to_point]
up.rate = "200 kbit/s"
down.rate = "40 Mbit/s"
down.queue = "none"

[flow.download]
application.bulk = { files = 1, size = "20 MB" }
direction = "down"
rtt = "20 ms"

[flow.upload]
application = "bulk"
rtt = "20 ms"
"#;

    /// When the download's last packet arrived, and how many acknowledgements were discarded by
    /// thinning.
    #[derive(Default)]
    struct Seen {
        last: Instant,
        bytes: u64,
        thinned: u64,
    }

    struct Watch(std::sync::Arc<std::sync::Mutex<Seen>>);

    impl Sink for Watch {
        fn record(&mut self, at: Instant, event: &TraceEvent) {
            let mut seen = self.0.lock().expect("one thread");
            match event {
                TraceEvent::Delivered { packet, .. }
                    if packet.group.0 == 0 && packet.payload > 0 =>
                {
                    seen.last = at;
                    seen.bytes += u64::from(packet.payload);
                }
                TraceEvent::Discarded {
                    reason: DropReason::AckThinned,
                    ..
                } => seen.thinned += 1,
                _ => {}
            }
        }
    }

    /// Downloads 20 MB beside an endless upload over a slow upstream.
    fn download(acceleration: AckAcceleration) -> Seen {
        let scenario = Scenario::parse(DOWNLOAD, Format::Toml, &[], &BTreeMap::new());
        let mut parts = scenario.expect("it makes sense").parts(1);
        let direction = |port: u16, rate: u64, acceleration: AckAcceleration| {
            let queue = QueueConfig::named("drop_tail").expect("it is a queue");
            let built = queue.build(Rate(rate), Rng::for_path(1, "queue"));
            let discipline = acceleration.before(built.expect("its defaults"));
            let token = PointToPoint::update_token(Port(port));
            DirectionSetup {
                policer: None,
                shaper: None,
                queue: Queue::new(QueueId(u32::from(port)), discipline, token),
                transmitter: Transmitter::new(RateSchedule::Constant(Rate(rate))),
                delay: Varying::Constant(Duration::ZERO),
                losses: None,
                framing: Framing::IP,
                mtu: 1500,
            }
        };
        let up = direction(0, 200_000, acceleration);
        let down = direction(1, 40_000_000, AckAcceleration::Off);
        parts.links[0] = Box::new(PointToPoint::new(up, down));
        let seen = std::sync::Arc::default();
        let mut simulation = crate::simulation::Simulation::new(parts);
        simulation.add_sink(Box::new(Watch(std::sync::Arc::clone(&seen))));
        assert!(simulation.run_until(Instant::FAR_FUTURE));
        // This also checks that packets are conserved.
        drop(simulation.tables());
        std::mem::take(&mut *seen.lock().expect("one thread"))
    }

    #[test]
    fn a_download_beside_an_upload_is_whole_and_faster_with_its_acknowledgements_apart_or_thinned()
    {
        let [off, apart, thinned] = [
            AckAcceleration::Off,
            AckAcceleration::Apart,
            AckAcceleration::Thinned,
        ]
        .map(download);
        for seen in [&off, &apart, &thinned] {
            assert!(seen.bytes >= 20_000_000, "{} of the file", seen.bytes);
        }
        let times = [off.last, apart.last, thinned.last];
        assert!(times[1] < times[0] && times[2] < times[0], "{times:?}");
        assert!(off.thinned == 0 && apart.thinned == 0 && thinned.thinned > 1000);
    }
}
