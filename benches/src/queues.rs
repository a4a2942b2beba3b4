//! The cost of a queue discipline alone: the CPU time of an enqueue and a dequeue, and the memory
//! of its flows.
//!
//! The benchmark keeps a standing queue: after each enqueue comes a dequeue, while the clock
//! advances at the line's rate. The discipline may discard packets meanwhile; the depth that it
//! held is reported beside the cost. The packets are made beforehand.

use headend::flow::FlowId;
use headend::packet::Packet;
use headend::qdisc::{QueueConfig, QueueDiscipline};
use headend::queue::LineView;
use headend::rng::Rng;
use headend::testing::Bench;
use headend::time::Duration;
use headend::units::Rate;
use serde_json::{Value, json};

use crate::allocator;
use crate::cost::cpu_ns;

/// Fast enough for 5000 packets to be a queue of 6 ms: the operations are measured, not the drops
/// of a law.
const RATE: Rate = Rate(10_000_000_000);
/// The IP bytes of a packet.
const SIZE: u16 = 1500;
/// The pairs of operations between two reads of the clock.
const BATCH: usize = 256;
/// The batches of one measurement.
const BATCHES: usize = 400;
/// The standing queues, in packets.
pub const DEPTHS: [usize; 2] = [100, 5000];
/// The number of flows in the columns with many.
pub const MANY: usize = 1000;

/// The classes that are added to measure the memory of one.
const MORE_CLASSES: usize = 32;
/// The most bands that strict priority supports.
const MOST_BANDS: usize = 16;

/// The cost of one discipline.
pub struct Row {
    /// The name of the discipline.
    pub queue: &'static str,
    /// The nanoseconds of an enqueue and a dequeue with one flow, by [`DEPTHS`].
    pub ns: [f64; 2],
    /// The depth that the discipline held in these measurements.
    pub held: [u64; 2],
    /// The same with [`MANY`] flows and the larger depth.
    pub ns_many: f64,
    /// The memory when built, in KiB.
    pub kib: f64,
    /// The memory for each flow that has sent, in bytes, without packets.
    pub bytes_per_flow: f64,
    /// The memory for each class or band, in bytes, of a discipline that has such.
    pub bytes_per_class: Option<f64>,
}

/// Measures every discipline, or one of them, with its defaults, but with room for the standing
/// queues.
pub fn measure_all(only: Option<&str>) -> Vec<Row> {
    let all = QueueConfig::all();
    let wanted = all
        .iter()
        .filter(|queue| only.is_none_or(|name| name == queue.name()));
    wanted.map(measure).collect()
}

fn measure(config: &QueueConfig) -> Row {
    let figures = DEPTHS.map(|depth| cost(&roomy(config, depth, 1), depth, 1));
    let many = &roomy(config, DEPTHS[1], MANY);
    let classes = with_classes(many);
    Row {
        queue: config.name(),
        ns: figures.map(|(ns, _)| ns),
        held: figures.map(|(_, held)| held),
        ns_many: cost(many, DEPTHS[1], MANY).0,
        kib: built_bytes(many) / 1024.0,
        bytes_per_flow: (footprint(many, MANY) - footprint(many, 1)) / (MANY - 1) as f64,
        bytes_per_class: classes
            .map(|(larger, more)| (built_bytes(&larger) - built_bytes(many)) / more as f64),
    }
}

/// The configuration with limits above a standing queue of `depth` packets of `flows` flows, and
/// thresholds around it: the law is active and drops almost nothing.
fn roomy(config: &QueueConfig, depth: usize, flows: usize) -> QueueConfig {
    edit(config, |parameters| {
        if config.written_limit().is_some() {
            parameters["limit"] = json!("32768 packets");
        }
        match config.name() {
            "buffer_control" => parameters["target"] = json!("16 MB"),
            "red" | "cbt" | "fred" => {
                // FRED's lower threshold also limits the queue of one flow.
                let is_alone = config.name() == "fred" && flows == 1;
                let low = if is_alone { 2 * depth } else { depth / 2 };
                parameters["min_threshold"] = json!(format!("{low} packets"));
                parameters["max_threshold"] = json!(format!("{} packets", 4 * depth));
                parameters["max_probability"] = json!("0.000001");
            }
            _ => {}
        }
        for class in classes_of(parameters) {
            for key in ["limit", "threshold"] {
                if !class[key].is_null() {
                    class[key] = json!("32768 packets");
                }
            }
        }
    })
}

/// The configuration with more classes or bands, distinguished by DSCP, and the number of those
/// added; `None` for a discipline without classes.
fn with_classes(config: &QueueConfig) -> Option<(QueueConfig, usize)> {
    let class = match config.name() {
        "cbq" => json!({ "limit": "32768 packets", "share": "0.01" }),
        "cbt" => json!({ "threshold": "32768 packets" }),
        "strict_priority" => {
            let mut more = 0;
            let larger = edit(config, |parameters| {
                let bands = parameters["bands"]
                    .as_array_mut()
                    .expect("bands are a list");
                more = MOST_BANDS - bands.len();
                bands.extend((1..=more).map(|number| json!([10 + number])));
            });
            return Some((larger, more));
        }
        _ => return None,
    };
    let larger = edit(config, |parameters| {
        if config.name() == "cbq" {
            parameters["class"]["tcp"]["share"] = json!("0.4");
        }
        for number in 1..=MORE_CLASSES {
            let mut class = class.clone();
            class["match"] = json!({ "dscp": number });
            parameters["class"][number.to_string()] = class;
        }
    });
    Some((larger, MORE_CLASSES))
}

fn classes_of(parameters: &mut Value) -> impl Iterator<Item = &mut Value> {
    let classes = parameters.get_mut("class").and_then(Value::as_object_mut);
    classes
        .into_iter()
        .flat_map(|classes| classes.iter_mut().map(|(_, class)| class))
}

fn edit(config: &QueueConfig, change: impl FnOnce(&mut Value)) -> QueueConfig {
    let mut value = serde_json::to_value(config).expect("a configuration has a text form");
    // A discipline without parameters is written as its name alone.
    if let Some(parameters) = value.get_mut(config.name()) {
        change(parameters);
    }
    serde_json::from_value(value).expect("what was changed is a parameter")
}

/// The memory of a queue that no packet has entered, in bytes.
fn built_bytes(config: &QueueConfig) -> f64 {
    let before = allocator::live();
    let built = build(config);
    let bytes = allocator::live() - before;
    drop(built);
    bytes as f64
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

    /// Lets the transmission time of one packet pass.
    fn wait(&mut self) {
        self.bench.advance(Duration::from_nanos(
            u64::from(SIZE) * 8_000_000_000 / RATE.0,
        ));
    }
}

/// The nanoseconds of an enqueue and a dequeue at a standing queue, and the depth of the queue at
/// the end.
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
        // The first batches fill the caches. The least time counts, because other work on the
        // machine only adds time.
        if batch >= BATCHES / 4 {
            best = best.min(spent);
        }
    }
    (best, stand.queue.depth().packets)
}

/// The memory, in bytes, of a queue that is empty after packets of this many flows have passed.
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

/// The row for the benchmark's file.
pub fn json(row: &Row) -> Value {
    json!({
        "case": "queue",
        "queue": row.queue,
        "ns_at_100": row.ns[0],
        "ns_at_5000": row.ns[1],
        "ns_at_5000_with_1000_flows": row.ns_many,
        "held_at_100": row.held[0],
        "held_at_5000": row.held[1],
        "kib_built": row.kib,
        "bytes_per_flow": row.bytes_per_flow,
        "bytes_per_class": row.bytes_per_class,
    })
}
