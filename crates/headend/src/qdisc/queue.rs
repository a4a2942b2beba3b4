//! A discipline attached to a link: records the packets, and calls the control law when an update
//! is due.

use super::{Fifo, QueueDiscipline};
use crate::aqm::DropTail;
use crate::context::Context;
use crate::metrics::Recorder;
use crate::metrics::sample::QueueInternals;
use crate::metrics::utilisation::LimitUse;
use crate::packet::Packet;
use crate::queue::{BacklogLimit, Depth, LineView};
use crate::time::Instant;
use crate::trace::{DropReason, QueueId};
use crate::units::Rate;

/// A queue of a link.
#[derive(Debug)]
pub struct Queue {
    id: QueueId,
    discipline: Box<dyn QueueDiscipline>,
    /// Whether the discipline can have updates. Most have none, so that the next update need not be
    /// queried after every packet.
    is_periodic: bool,
    /// The packets and bytes in the queue after the latest call.
    depth: Depth,
    /// The earliest update that is already scheduled.
    armed: Option<Instant>,
    /// The link's token for the wake-ups of this queue.
    token: u64,
}

impl Queue {
    /// Attaches `discipline` as queue `id`. The link passes wake-ups with `token` to
    /// [`Self::update`].
    pub fn new(id: QueueId, discipline: Box<dyn QueueDiscipline>, token: u64) -> Self {
        Self {
            id,
            is_periodic: discipline.is_periodic(),
            depth: discipline.depth(),
            discipline,
            armed: None,
            token,
        }
    }

    /// The queue's identifier in the recorded results.
    pub fn id(&self) -> QueueId {
        self.id
    }

    /// Enqueues a packet that arrives at the link.
    #[inline(always)]
    pub fn enqueue(&mut self, packet: Packet, line: &LineView<'_>, cx: &mut Context<'_>) {
        cx.enter_queue(self.id);
        self.discipline.enqueue(packet, line, cx);
        self.note_change(cx);
    }

    /// Dequeues the next packet to send; `None` if there is none.
    #[inline(always)]
    pub fn dequeue(&mut self, line: &LineView<'_>, cx: &mut Context<'_>) -> Option<Packet> {
        cx.enter_queue(self.id);
        let packet = self.discipline.dequeue(line, cx);
        if let Some(packet) = &packet {
            cx.note_dequeued(self.id, packet);
        }
        self.note_change(cx);
        packet
    }

    /// Chooses the lane that packets are dequeued from next, in a discipline with lanes.
    pub fn select(&mut self, lane: usize) {
        self.discipline.select(lane);
    }

    /// Handles a wake-up: runs the update if it is due.
    pub fn update(&mut self, line: &LineView<'_>, cx: &mut Context<'_>) {
        if self.armed.is_some_and(|at| at <= cx.now) {
            self.armed = None;
        }
        cx.enter_queue(self.id);
        if self.discipline.next_update().is_some_and(|at| at <= cx.now) {
            self.discipline.update(line, cx);
        }
        self.note_change(cx);
    }

    /// Sets the rate of the discipline's shaper, if it has one.
    pub fn set_rate(&mut self, rate: Rate, now: Instant) {
        self.discipline.set_rate(rate, now);
    }

    /// The use of that shaper's rate until `now`; `None` without a shaper.
    pub fn limit(&self, now: Instant) -> Option<LimitUse> {
        self.discipline.limit(now)
    }

    /// Replaces the discipline. The packets move to the new one in order. Those for which it has no
    /// room are discarded, as on arrival. The sojourn time of a moved packet is counted from the
    /// move.
    pub fn replace(
        &mut self,
        discipline: Box<dyn QueueDiscipline>,
        line: &LineView<'_>,
        cx: &mut Context<'_>,
    ) {
        cx.enter_queue(self.id);
        self.is_periodic = discipline.is_periodic();
        let mut earlier = std::mem::replace(&mut self.discipline, discipline);
        let before = cx.recorder().packets_enqueued(self.id);
        while let Some(packet) = earlier.release(line) {
            self.discipline.enqueue(packet, line, cx);
        }
        assert_eq!(
            earlier.depth(),
            Depth::default(),
            "a queue that is replaced gives up every packet"
        );
        // This includes packets that were enqueued and discarded again to make room for others.
        let moved = cx.recorder().packets_enqueued(self.id) - before;
        cx.recorder().moved(self.id, moved);
        self.note_change(cx);
    }

    /// Discards all packets. The discipline is drop-tail from then on.
    pub fn clear(&mut self, reason: DropReason, line: &LineView<'_>, cx: &mut Context<'_>) {
        cx.enter_queue(self.id);
        let empty = Box::new(Fifo::new(BacklogLimit::Unlimited, DropTail));
        self.is_periodic = empty.is_periodic();
        let mut earlier = std::mem::replace(&mut self.discipline, empty);
        while let Some(packet) = earlier.release(line) {
            cx.discard(packet, reason);
        }
        assert_eq!(
            earlier.depth(),
            Depth::default(),
            "a queue that is cleared gives up every packet"
        );
        self.note_change(cx);
    }

    /// The packets and bytes in the queue.
    pub fn depth(&self) -> Depth {
        self.depth
    }

    /// Whether the discipline can have updates.
    pub fn is_periodic(&self) -> bool {
        self.is_periodic
    }

    /// Whether the discipline can read [`LineView::grants`].
    pub fn looks_at_grants(&self) -> bool {
        self.discipline.looks_at_grants()
    }

    /// Whether the queue holds no packets.
    pub fn is_empty(&self) -> bool {
        self.depth.packets == 0
    }

    /// Whether the queue is empty and no update is scheduled. Its state then stays the same until
    /// the next packet arrives.
    pub fn is_at_rest(&self) -> bool {
        self.is_empty() && (!self.is_periodic || self.discipline.next_update().is_none())
    }

    /// The limit of a plain FIFO, as [`QueueDiscipline::limit_alone`].
    pub fn limit_alone(&self) -> Option<BacklogLimit> {
        self.discipline.limit_alone()
    }

    /// The base probability of its control law, as [`QueueDiscipline::base_probability`].
    pub fn base_probability(&self) -> Option<f64> {
        self.discipline.base_probability()
    }

    /// A packet that belongs into the classic queue, as [`QueueDiscipline::take_redirected`].
    pub fn take_redirected(&mut self) -> Option<Packet> {
        self.discipline.take_redirected()
    }

    /// The internal state of the discipline.
    pub fn internals(&self) -> QueueInternals {
        self.discipline.internals()
    }

    /// Reports what each tin has done until now.
    pub fn report_tins(&mut self, recorder: &mut Recorder) {
        for tin in self.discipline.tins() {
            recorder.tin(self.id, tin);
        }
    }

    /// Records the state of the discipline after a call, and schedules its next update.
    #[inline]
    fn note_change(&mut self, cx: &mut Context<'_>) {
        self.depth = self.discipline.depth();
        cx.note_backlog(self.id, self.depth.bytes);
        if self.is_periodic {
            self.arm(cx);
        }
    }

    fn arm(&mut self, cx: &mut Context<'_>) {
        if let Some(at) = self.discipline.next_update()
            // This time stands for "never".
            && at < Instant::FAR_FUTURE
            && self.armed.is_none_or(|armed| at < armed)
        {
            self.armed = Some(at);
            cx.wake_at(at.max(cx.now), self.token);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::FlowId;
    use crate::metrics::table::Column;
    use crate::packet::{Ecn, Flags};
    use crate::qdisc::{AckAcceleration, QueueConfig};
    use crate::rng::Rng;
    use crate::testing::Bench;
    use crate::time::Duration;
    use crate::units::Rate;

    const RATE: Rate = Rate(1_000_000);
    const LINE: LineView<'static> = LineView::plain(RATE);

    fn build(config: &QueueConfig, acks: AckAcceleration) -> Box<dyn QueueDiscipline> {
        let queue = config.build(RATE, Rng::for_path(1, "queue"));
        acks.before(queue.expect("its defaults make sense"))
    }

    /// Enqueues data of all ECN kinds and acknowledgements, until packets wait longer than any
    /// control law accepts.
    fn fill(bench: &mut Bench, queue: &mut Queue, flows: &[FlowId]) {
        for number in 0..10 {
            for (&flow, ecn) in flows.iter().zip([Ecn::NotEct, Ecn::Ect0, Ecn::Ect1]) {
                let mut data = bench.packet(flow, 500);
                data.ecn = ecn;
                let mut ack = bench.packet(flow, 52);
                (ack.payload, ack.flags, ack.ack) = (0, Flags::ACK, number);
                for packet in [data, ack] {
                    queue.enqueue(packet, &LINE, &mut bench.cx());
                }
            }
            bench.advance(Duration::from_micros(100));
        }
        // After they have sent a packet, the control laws know how long the others have waited.
        bench.advance(Duration::from_secs(2));
        let sent = queue.dequeue(&LINE, &mut bench.cx());
        bench.end(sent.expect("something waits"));
        bench.advance(Duration::from_secs(2));
    }

    #[test]
    fn every_queue_releases_all_packets_to_its_replacement() {
        use AckAcceleration::{Apart, Off, Thinned};
        for config in QueueConfig::all() {
            for acks in [Off, Apart, Thinned] {
                let mut bench = Bench::new();
                let flows = [46, 0, 8].map(|dscp| bench.flow(dscp));
                let mut queue = Queue::new(QueueId(0), build(&config, acks), 0);
                fill(&mut bench, &mut queue, &flows);
                let waiting = queue.depth();
                assert!(waiting.packets > 5, "{} holds {waiting:?}", config.name());
                bench.take_log();
                let unlimited = QueueConfig::named("none").expect("it is a queue");
                queue.replace(build(&unlimited, Off), &LINE, &mut bench.cx());
                assert_eq!(queue.depth(), waiting, "{} {acks:?}", config.name());
                assert_eq!(bench.take_discards(), [], "{} {acks:?}", config.name());
                while let Some(packet) = queue.dequeue(&LINE, &mut bench.cx()) {
                    bench.end(packet);
                }
                let [entered, left, discarded] = bench.counts();
                assert_eq!(entered, left + discarded, "{} {acks:?}", config.name());
            }
        }
    }

    #[test]
    fn a_packet_discarded_during_a_replacement_counts_as_enqueued_once() {
        let mut bench = Bench::new();
        let flow = bench.flow(0);
        let unlimited = QueueConfig::named("none").expect("it is a queue");
        let mut queue = Queue::new(QueueId(0), build(&unlimited, AckAcceleration::Off), 0);
        for _ in 0..10 {
            let packet = bench.packet(flow, 500);
            queue.enqueue(packet, &LINE, &mut bench.cx());
        }
        let short: QueueConfig =
            toml::from_str("[drop_front]\nlimit = '3 packets'").expect("as in a scenario");
        let short = build(&short, AckAcceleration::Off);
        queue.replace(short, &LINE, &mut bench.cx());
        assert_eq!((queue.depth().packets, bench.take_discards().len()), (3, 7));
        let now = bench.now;
        let tables = bench.cx().recorder().tables(now, 0);
        let (_, queues) = tables
            .iter()
            .find(|(name, _)| *name == "queues")
            .expect("a table");
        let taken_in = queues.get("packets_enqueued");
        assert!(
            matches!(taken_in, Some(Column::Integer(packets)) if packets[..] == [10]),
            "{taken_in:?}"
        );
        while let Some(packet) = queue.dequeue(&LINE, &mut bench.cx()) {
            bench.end(packet);
        }
    }

    #[test]
    fn a_scheduler_releases_packets_in_order_of_arrival() {
        for name in ["dualpi2", "drr", "fq_codel", "sfq_pie", "strict_priority"] {
            let mut bench = Bench::new();
            let flows = [0, 46, 8].map(|dscp| bench.flow(dscp));
            let config = QueueConfig::named(name).expect("it is a queue");
            let mut queue = build(&config, AckAcceleration::Off);
            for number in 0..12 {
                let mut packet = bench.packet(flows[number % 3], 500);
                packet.ecn = [Ecn::Ect0, Ecn::Ect1][number % 2];
                queue.enqueue(packet, &LINE, &mut bench.cx());
                bench.advance(Duration::from_micros(1));
            }
            let mut numbers = Vec::new();
            while let Some(packet) = queue.release(&LINE) {
                numbers.push(packet.seq);
                bench.end(packet);
            }
            assert_eq!(numbers, (0..12).collect::<Vec<u64>>(), "{name}");
        }
    }
}
