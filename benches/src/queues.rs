//! What a queue discipline costs by itself: CPU time to put a packet in and to take one out, and the memory of its flows.
//!
//! A standing queue is kept: each time a packet goes in, one is asked for, while the clock goes on at the line's rate. What the discipline discards
//! meanwhile is its own affair; the depth it held is reported beside the cost. The packets are made beforehand.

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

/// Classes that are added to tell what one takes.
const MORE_CLASSES: usize = 32;
/// The most bands that strict priority takes.
const MOST_BANDS: usize = 16;

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
    /// Memory for each class or band, bytes, of a discipline that has such.
    pub bytes_per_class: Option<f64>,
}

/// Every discipline, or one of them, with its defaults, but room for the standing queues.
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

/// The same with limits that a standing queue of `depth` packets of so many flows fits under, and thresholds around it: the law is at work, and drops
/// next to nothing.
fn roomy(config: &QueueConfig, depth: usize, flows: usize) -> QueueConfig {
    edit(config, |parameters| {
        if config.written_limit().is_some() {
            parameters["limit"] = json!("32768 packets");
        }
        match config.name() {
            "buffer_control" => parameters["target"] = json!("16 MB"),
            "red" | "cbt" | "fred" => {
                // FRED's lower threshold also bounds what one flow may have.
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

/// The same with more classes or bands, told by their DSCP, and how many more; `None` for a discipline without such.
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
    // A discipline without parameters is its name alone.
    if let Some(parameters) = value.get_mut(config.name()) {
        change(parameters);
    }
    serde_json::from_value(value).expect("what was changed is a parameter")
}

/// Memory of a queue that nothing has entered, bytes.
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
