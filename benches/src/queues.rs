//! What a queue discipline costs by itself: CPU time to put a packet in and to take one out, and the memory of its flows.
//!
//! A standing queue is kept: each time a packet goes in, one is asked for, while the clock goes on at the line's rate. What the discipline discards
//! meanwhile is its own affair; the depth it held is reported beside the cost. The packets are made beforehand.

use headend::flow::FlowId;
use headend::packet::Packet;
use headend::qdisc::{LineView, QueueConfig, QueueDiscipline};
use headend::rng::Rng;
use headend::testing::Bench;
use headend::time::Duration;
use headend::units::Rate;

use crate::{allocator, cpu_ns};

/// Fast enough for 5000 packets to be a queue of 6 ms: what costs time is measured, not the drops of a law.
const RATE: Rate = Rate(10_000_000_000);
/// IP bytes of a packet.
const SIZE: u16 = 1500;
/// Pairs of operations between two looks at the clock.
const BATCH: usize = 256;
/// Batches of one figure.
const BATCHES: usize = 400;
/// Standing queues, packets.
pub const DEPTHS: [usize; 2] = [100, 5000];
/// Flows of the columns with many.
pub const MANY: usize = 1000;

/// What one discipline costs.
pub struct Row {
    /// Its name.
    pub queue: &'static str,
    /// Nanoseconds for a packet in and a packet out, by [`DEPTHS`], one flow.
    pub ns: [f64; 2],
    /// The depth it held then.
    pub held: [u64; 2],
    /// The same with [`MANY`] flows and the larger depth.
    pub ns_many: f64,
    /// Memory when built, KiB.
    pub kib: f64,
    /// Memory for each flow that has sent, bytes, packets not counted.
    pub bytes_per_flow: f64,
}

/// Every discipline with its defaults, but room for the deepest standing queue.
pub fn measure_all() -> Vec<Row> {
    QueueConfig::all().iter().map(measure).collect()
}

fn measure(config: &QueueConfig) -> Row {
    let config = &roomy(config);
    let before = allocator::live();
    let built = build(config);
    let kib = (allocator::live() - before) as f64 / 1024.0;
    drop(built);
    let figures = DEPTHS.map(|depth| cost(config, depth, 1));
    Row {
        queue: config.name(),
        ns: figures.map(|(ns, _)| ns),
        held: figures.map(|(_, held)| held),
        ns_many: cost(config, DEPTHS[1], MANY).0,
        kib,
        bytes_per_flow: (footprint(config, MANY) - footprint(config, 1)) / (MANY - 1) as f64,
    }
}

/// The same with a limit that the standing queues fit under, where it has a limit.
fn roomy(config: &QueueConfig) -> QueueConfig {
    let mut value = serde_json::to_value(config).expect("a configuration has a text form");
    let parameters = &mut value[config.name()];
    if config.written_limit().is_some() {
        parameters["limit"] = serde_json::json!("8192 packets");
    }
    if config.name() == "buffer_control" {
        parameters["target"] = serde_json::json!("16 MB");
    }
    serde_json::from_value(value).unwrap_or_else(|_| config.clone())
}

fn build(config: &QueueConfig) -> Box<dyn QueueDiscipline> {
    config
        .build(RATE, Rng::for_path(1, "bench"))
        .expect("the defaults make a queue")
}

/// A queue with its surroundings.
struct Stand {
    bench: Bench,
    queue: Box<dyn QueueDiscipline>,
    flows: Vec<FlowId>,
    next: usize,
}

impl Stand {
    fn new(config: &QueueConfig, flows: usize) -> Self {
        let mut bench = Bench::silent();
        let flows = (0..flows).map(|_| bench.flow(0)).collect();
        Self {
            bench,
            queue: build(config),
            flows,
            next: 0,
        }
    }

    fn packet(&mut self) -> Packet {
        self.next = (self.next + 1) % self.flows.len();
        self.bench.packet(self.flows[self.next], SIZE)
    }

    fn offer(&mut self, packet: Packet) {
        let line = LineView::plain(RATE);
        self.queue.enqueue(packet, &line, &mut self.bench.cx());
    }

    fn take(&mut self) -> Option<Packet> {
        let line = LineView::plain(RATE);
        if self
            .queue
            .next_update()
            .is_some_and(|at| at <= self.bench.now)
        {
            self.queue.update(&line, &mut self.bench.cx());
        }
        self.queue.dequeue(&line, &mut self.bench.cx())
    }

    /// One packet's time on the line.
    fn wait(&mut self) {
        self.bench.advance(Duration::from_nanos(
            u64::from(SIZE) * 8_000_000_000 / RATE.0,
        ));
    }
}

/// Nanoseconds for a packet in and a packet out at a standing queue, and how long it was at the end.
fn cost(config: &QueueConfig, depth: usize, flows: usize) -> (f64, u64) {
    let mut stand = Stand::new(config, flows);
    for _ in 0..depth {
        let packet = stand.packet();
        stand.offer(packet);
    }
    let mut best = f64::INFINITY;
    let mut out = Vec::with_capacity(BATCH);
    for batch in 0..BATCHES {
        let packets: Vec<Packet> = (0..BATCH).map(|_| stand.packet()).collect();
        let start = cpu_ns();
        for packet in packets {
            stand.offer(packet);
            out.extend(stand.take());
            stand.wait();
        }
        let spent = (cpu_ns() - start) as f64 / BATCH as f64;
        out.drain(..).for_each(|packet| stand.bench.end(packet));
        // The first batches fill caches; other work on the machine only ever adds.
        if batch >= BATCHES / 4 {
            best = best.min(spent);
        }
    }
    (best, stand.queue.depth().packets)
}

/// Memory of a queue through which this many flows have passed and which is empty again, bytes.
fn footprint(config: &QueueConfig, flows: usize) -> f64 {
    let mut stand = Stand::new(config, flows);
    let mut held = Vec::with_capacity(2 * MANY);
    let packets: Vec<Packet> = (0..MANY).map(|_| stand.packet()).collect();
    let before = allocator::live();
    for packet in packets {
        stand.offer(packet);
    }
    while stand.queue.depth().packets > 0 {
        held.extend(stand.take());
        stand.wait();
    }
    let after = allocator::live();
    after as f64 - before as f64
}

/// The row for the bench's file.
pub fn json(row: &Row) -> serde_json::Value {
    serde_json::json!({
        "case": "queue",
        "queue": row.queue,
        "ns_at_100": row.ns[0],
        "ns_at_5000": row.ns[1],
        "ns_at_5000_with_1000_flows": row.ns_many,
        "held_at_100": row.held[0],
        "held_at_5000": row.held[1],
        "kib_built": row.kib,
        "bytes_per_flow": row.bytes_per_flow,
    })
}
