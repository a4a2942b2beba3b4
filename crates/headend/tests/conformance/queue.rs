//! Rules for every queue with its defaults, and for every law inside a scheduler: packets arrive,
//! time passes, and the line dequeues packets or does not.
//!
//! The model knows nothing of the law. It records the fate of each packet and checks after every
//! operation:
//!
//! - Packets in = out + discarded + waiting, and the bytes agree.
//! - Order is kept within a flow; in a dual queue, within the flow's packets of one kind.
//! - CE is set only on packets that were ECN-capable.
//! - Nothing happens to a packet after it was discarded.
//! - A scheduled update is not in the past.
//!
//! The same operations and seed give the same trace.

use headend::flow::{FlowId, Protocol};
use headend::packet::Ecn;
use headend::qdisc::{QueueConfig, QueueDiscipline};
use headend::queue::{Framing, LineView, Shaper};
use headend::rng::Rng;
use headend::testing::Bench;
use headend::time::{Duration, Instant};
use headend::trace::{DropReason, TraceEvent};
use headend::units::Rate;
use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop, prop_oneof, proptest};

const RATE: Rate = Rate(2_000_000);
const FLOWS: usize = 4;

/// An event at a queue.
#[derive(Debug, Clone, Copy)]
enum Operation {
    Arrive { flow: usize, size: u16, ecn: Ecn },
    Dequeue,
    Wait(Duration),
}

/// The fate of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Discarded,
    Sent,
    Waiting,
}

/// The model's record of a packet. The packet's number is its index in the list.
#[derive(Debug)]
struct Record {
    flow: FlowId,
    bytes: u64,
    ecn: Ecn,
    arrived_at: Instant,
    fate: Fate,
}

/// A queue and its line, with the model beside them.
struct Run<'a> {
    bench: Bench,
    flows: [FlowId; FLOWS],
    line: LineView<'a>,
    queue: Box<dyn QueueDiscipline>,
    records: Vec<Record>,
    /// Whether the queue separates the packets of a flow by their ECN field.
    is_dual: bool,
    /// The packet that was sent last, by flow and kind.
    last_sent: [[Option<u64>; FLOWS]; 2],
    trace: Vec<(Instant, TraceEvent)>,
}

impl<'a> Run<'a> {
    fn new(config: &QueueConfig, line: LineView<'a>) -> Self {
        let mut bench = Bench::new();
        let flows = [
            (Protocol::Udp, 0),
            (Protocol::Udp, 34),
            (Protocol::Tcp, 0),
            (Protocol::Icmp, 8),
        ]
        .map(|(protocol, dscp)| bench.flow_of(protocol, dscp));
        let queue = config
            .build(RATE, Rng::for_path(1, "queue"))
            .expect("the defaults are valid");
        Self {
            bench,
            flows,
            line,
            queue,
            records: Vec::new(),
            is_dual: matches!(config, QueueConfig::Dualpi2(_)),
            last_sent: [[None; FLOWS]; 2],
            trace: Vec::new(),
        }
    }

    fn carry_out(&mut self, operation: Operation) {
        match operation {
            Operation::Arrive { flow, size, ecn } => self.arrive(flow, size, ecn),
            Operation::Dequeue => self.dequeue(),
            Operation::Wait(span) => self.wait(span),
        }
        self.check();
    }

    fn arrive(&mut self, flow: usize, size: u16, ecn: Ecn) {
        let mut packet = self.bench.packet(self.flows[flow], size);
        packet.ecn = ecn;
        assert_eq!(packet.seq, self.records.len() as u64);
        self.records.push(Record {
            flow: packet.flow,
            bytes: self.line.framing.bytes(&packet),
            ecn,
            arrived_at: self.bench.now,
            fate: Fate::Waiting,
        });
        self.queue.enqueue(packet, &self.line, &mut self.bench.cx());
    }

    fn dequeue(&mut self) {
        let Some(packet) = self.queue.dequeue(&self.line, &mut self.bench.cx()) else {
            return;
        };
        let record = &mut self.records[packet.seq as usize];
        assert_eq!(
            record.fate,
            Fate::Waiting,
            "packet {} is sent once",
            packet.seq
        );
        record.fate = Fate::Sent;
        assert_eq!(
            (packet.flow, packet.enqueued_at),
            (record.flow, record.arrived_at)
        );
        let is_marked = packet.ecn == Ecn::Ce && record.ecn != Ecn::NotEct;
        assert!(
            is_marked || packet.ecn == record.ecn,
            "{:?} became {:?}",
            record.ecn,
            packet.ecn
        );
        let flow = self
            .flows
            .iter()
            .position(|&flow| flow == packet.flow)
            .expect("a flow of ours");
        let kind = usize::from(self.is_dual && matches!(record.ecn, Ecn::Ect1 | Ecn::Ce));
        let before = self.last_sent[kind][flow].replace(packet.seq);
        assert!(before < Some(packet.seq), "order is kept within a flow");
        self.bench.end(packet);
    }

    /// Lets time pass. Updates happen at the times that the queue schedules, as with a link.
    fn wait(&mut self, span: Duration) {
        let end = self.bench.now + span;
        while let Some(at) = self.queue.next_update().filter(|&at| at <= end) {
            assert!(at >= self.bench.now, "an update asked for in the past");
            self.bench.now = at;
            self.queue.update(&self.line, &mut self.bench.cx());
            assert_ne!(
                self.queue.next_update(),
                Some(at),
                "an update that was made is due no more"
            );
        }
        self.bench.now = end;
    }

    fn check(&mut self) {
        for (at, event) in self.bench.take_log() {
            if let TraceEvent::Discarded { packet, .. } = event {
                let fate = &mut self.records[packet.seq as usize].fate;
                assert_eq!(*fate, Fate::Waiting, "packet {} ends once", packet.seq);
                *fate = Fate::Discarded;
            }
            self.trace.push((at, event));
        }
        let waiting = || {
            self.records
                .iter()
                .filter(|record| record.fate == Fate::Waiting)
        };
        let depth = self.queue.depth();
        assert_eq!(depth.packets, waiting().count() as u64);
        assert_eq!(
            depth.bytes,
            waiting().map(|record| record.bytes).sum::<u64>()
        );
        let [entered, sent, discarded] = self.bench.counts();
        assert_eq!(
            entered,
            sent + discarded + depth.packets,
            "packets are conserved"
        );
    }

    fn discards(&self, wanted: DropReason) -> usize {
        let is_wanted = |event: &TraceEvent| match event {
            TraceEvent::Discarded { reason, .. } => *reason == wanted,
            _ => false,
        };
        self.trace
            .iter()
            .filter(|(_, event)| is_wanted(event))
            .count()
    }
}

/// A token bucket whose level rises and falls with time, whatever is sent.
#[derive(Debug)]
struct PeriodicBucket;

impl Shaper for PeriodicBucket {
    fn sustained(&self) -> Rate {
        RATE
    }
    fn peak(&self) -> Rate {
        Rate(2 * RATE.0)
    }
    fn tokens(&self, now: Instant) -> u64 {
        now.as_nanos() / 10_000 % 30_000
    }
}

fn operations() -> impl Strategy<Value = Vec<Operation>> {
    let ecn = prop_oneof![
        4 => Just(Ecn::NotEct), 2 => Just(Ecn::Ect0), 1 => Just(Ecn::Ect1), 1 => Just(Ecn::Ce),
    ];
    let arrive = (0..FLOWS, 40_u16..=1500, ecn).prop_map(|(flow, size, ecn)| Operation::Arrive {
        flow,
        size,
        ecn,
    });
    let operation = prop_oneof![
        8 => arrive,
        4 => Just(Operation::Dequeue),
        3 => (0_u64..8_000).prop_map(|us| Operation::Wait(Duration::from_micros(us))),
        1 => (0_u64..150).prop_map(|ms| Operation::Wait(Duration::from_millis(ms))),
    ];
    prop::collection::vec(operation, 1..600)
}

/// Every law inside a scheduler, and schedulers so small that flows collide and packets are pushed
/// out.
fn schedulers() -> Vec<QueueConfig> {
    let is_law = |queue: &QueueConfig| queue.law(RATE, Rng::for_path(1, "law")).is_ok();
    let laws = QueueConfig::all().into_iter().filter(is_law);
    let inside = laws.map(|law| {
        let name = law.name();
        format!("sfq = {{ queues = 3, limit = '12 kB', law.{name} = {{}} }}")
    });
    let small = [
        "cake = { rate = '1 Mbit/s', memlimit = '9 kB', isolation = 'flowblind' }",
        "cake = { rate = '3 Mbit/s', tins = 'diffserv8', ack_filter = 'aggressive', ingress = \
         true }",
        "drr = { quantum = '100 B', limit = '6 packets' }",
        "fq_codel = { queues = 2, limit = '8 packets', drop_batch = 3 }",
        "fq_pie = { limit = '5 packets', hash.isolation = 'perfect' }",
        "sfq = { quantum = '0 B', limit = '4 packets' }",
        "sfq_codel = { queues = 4, limit = '9 kB', hash = { isolation = 'set_associative', ways = \
         2 } }",
        "sfq_pie = { queues = 2, limit = '9 kB' }",
        "strict_priority = { limit = '3 packets', law = 'codel' }",
    ];
    inside
        .chain(small.map(str::to_owned))
        .map(|text| toml::from_str(&text).expect("a queue"))
        .collect()
}

fn trace(
    config: &QueueConfig,
    line: LineView<'_>,
    operations: &[Operation],
) -> Vec<(Instant, TraceEvent)> {
    let mut run = Run::new(config, line);
    for &operation in operations {
        run.carry_out(operation);
    }
    run.trace
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn every_queue_keeps_the_rules(operations in operations(), is_shaped in any::<bool>()) {
        let line = LineView {
            shaper: if is_shaped { Some(&PeriodicBucket) } else { None },
            framing: if is_shaped { Framing::ETHERNET } else { Framing::IP },
            ..LineView::plain(RATE)
        };
        for config in QueueConfig::all().into_iter().chain(schedulers()) {
            let first = trace(&config, line, &operations);
            let second = trace(&config, line, &operations);
            proptest::prop_assert_eq!(first, second, "{} repeats itself", config.name());
        }
    }
}

/// A lasting overload, to which every law must respond. Under the random operations above, some
/// laws may never drop a packet.
#[test]
fn under_lasting_overload_each_queue_discards_in_its_own_way() {
    for config in QueueConfig::all() {
        let mut run = Run::new(&config, LineView::plain(RATE));
        // 1000 B every 3 ms, dequeued every 4 ms: an overload of one third, for 15 s.
        for tick in 0..15_000 {
            if tick % 3 == 0 {
                let ecn = Ecn::NotEct;
                run.carry_out(Operation::Arrive {
                    flow: 0,
                    size: 1000,
                    ecn,
                });
            }
            if tick % 4 == 0 {
                run.carry_out(Operation::Dequeue);
            }
            run.carry_out(Operation::Wait(Duration::from_millis(1)));
        }
        let [early, forced, overlimit] = [
            DropReason::Congested,
            DropReason::Forced,
            DropReason::Overlimit,
        ]
        .map(|reason| run.discards(reason) > 0);
        let congested = early || forced;
        let expected = match config {
            QueueConfig::BufferControl(_)
            | QueueConfig::Cbq(_)
            | QueueConfig::DropFront(_)
            | QueueConfig::DropTail(_)
            | QueueConfig::Drr(_)
            | QueueConfig::ImmediateAqm(_)
            | QueueConfig::RandomDrop(_)
            | QueueConfig::Sfq(_)
            | QueueConfig::StrictPriority(_) => (false, true),
            QueueConfig::Cake(_)
            | QueueConfig::Cobalt(_)
            | QueueConfig::Codel(_)
            | QueueConfig::DocsisPie(_)
            | QueueConfig::Dualpi2(_)
            | QueueConfig::FqCodel(_)
            | QueueConfig::FqPie(_)
            | QueueConfig::Pie(_)
            | QueueConfig::SfqPie(_) => (true, false),
            QueueConfig::Custom(_) => unreachable!("not one of headend's queues"),
            // CoDel's law responds slowly to unresponsive flows, and its buffer is a quarter of a
            // second. RED's buffer is full before the slow average has grown.
            QueueConfig::CodelDt(_)
            | QueueConfig::CodelDtNs2(_)
            | QueueConfig::Red(_)
            | QueueConfig::SfqCodel(_) => (true, true),
            // The only flow (or its class) exceeds its share before any other limit.
            QueueConfig::Cbt(_) | QueueConfig::Fred(_) | QueueConfig::None(_) => (false, false),
        };
        assert_eq!((congested, overlimit), expected, "{}", config.name());
    }
}

#[test]
fn an_empty_queue_at_rest_schedules_no_updates() {
    for config in QueueConfig::all() {
        let mut run = Run::new(&config, LineView::plain(RATE));
        assert_eq!(
            run.queue.next_update(),
            None,
            "{} before its first packet",
            config.name()
        );
        for _ in 0..100 {
            run.carry_out(Operation::Arrive {
                flow: 0,
                size: 1500,
                ecn: Ecn::NotEct,
            });
            run.carry_out(Operation::Wait(Duration::from_millis(10)));
        }
        while run.queue.depth().packets > 0 {
            run.carry_out(Operation::Dequeue);
        }
        run.carry_out(Operation::Wait(Duration::from_secs(60)));
        assert_eq!(
            run.queue.next_update(),
            None,
            "{} a minute later",
            config.name()
        );
    }
}
