//! One model, two clocks: recorded frames in virtual time, and under a real clock that wakes up
//! late, have the same fate, frame by frame, and all tables are equal.
//!
//! Besides the frames, the transfer of a simulated neighbour uses the same queue, so that the fate
//! of every frame depends on the others.

mod from_text;
mod real_frames;

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::{Arc, Mutex};

use from_text::{Tables, scenario};
use headend::clock::{Arrival, Clock, RealHostId, Wake};
use headend::metrics::real::FrameEnds;
use headend::metrics::table::{Column, Table};
use headend::packet::frames::Frames;
use headend::packet::{Ecn, Side};
use headend::rng::Rng;
use headend::simulation::{Progress, Simulation};
use headend::time::{Duration, Instant};
use headend::trace::{DropReason, Sink, TraceEvent, TraceKinds};
use headend::wire::real;
use real_frames::{ACK, FIN, Noting, SYN, Sent, Shape, TCP, UDP, checksum, virtually};

/// Two real hosts of the customer and two remote ones, beside a simulated upload.
const HOSTS: &str = r#"
duration = "20 s"

[host]
laptop = { via = ["line"], real = true }
phone = { via = ["line"], real = true, dscp = 46 }
server = { rtt = "20 ms", real = true }
shop = { rtt = "30 ms", real = true }

[flow.upload]
application = "bulk"

[flow.laptop]
host = "laptop"
application = { real = { idle = "500 ms", closed = "200 ms" } }

[flow.phone]
host = "phone"
application = { real = { idle = "500 ms", closed = "200 ms" } }
"#;

const OVER_CODEL: &str = r#"
[link.line.point_to_point]
up.rate = "5 Mbit/s"
up.queue = "codel"
down.rate = "50 Mbit/s"
"#;

const OVER_CABLE: &str = r#"
[link.line.docsis]
preset = "docsis31"
upstream.rate = "5 Mbit/s"
upstream.queue = "docsis_pie"
downstream.rate = "50 Mbit/s"
"#;

/// The longest time that a frame takes to cross the line.
const CROSSING: Duration = Duration::from_millis(1000);

/// The fate of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Delivered(Ecn),
    Discarded(DropReason),
}

/// How a frame ended: when, of which group, from which side, its number there, and its fate.
type End = (Instant, u32, Side, u64, Instant, Fate);

/// Notes the fates of frames in the order in which they become known.
#[derive(Clone, Default)]
struct Ends(Arc<Mutex<Vec<End>>>);

impl Ends {
    fn take(&self) -> Vec<End> {
        std::mem::take(&mut *self.0.lock().expect("one run, one thread"))
    }
}

impl Sink for Ends {
    fn interest(&self) -> TraceKinds {
        TraceKinds::DELIVERED.union(TraceKinds::DISCARDED)
    }

    fn record(&mut self, at: Instant, event: &TraceEvent) {
        let (packet, fate) = match *event {
            TraceEvent::Delivered { packet, .. } => (packet, Fate::Delivered(packet.ecn)),
            TraceEvent::Discarded { packet, reason, .. } => (packet, Fate::Discarded(reason)),
            _ => return,
        };
        if packet.frame.is_some() {
            let mut ends = self.0.lock().expect("one run, one thread");
            let end = (
                at,
                packet.group.0,
                packet.from,
                packet.seq,
                packet.sent_at,
                fate,
            );
            ends.push(end);
        }
    }
}

/// A simulated real clock. It wakes up to `lateness` after the time that it waits for, with all
/// frames that arrived until then, and returns to its caller now and then.
struct LateClock {
    now: Instant,
    end: Instant,
    lateness: Duration,
    rng: Rng,
    sent: VecDeque<Sent>,
    /// The wake-ups with several frames at once, and the wake-ups after the deadline.
    batches: u64,
    late: u64,
}

impl LateClock {
    fn new(sent: &[Sent], lateness: Duration, end: Instant) -> Self {
        Self {
            now: Instant::ZERO,
            end,
            lateness,
            rng: Rng::for_path(7, "clock"),
            sent: sent.to_vec().into(),
            batches: 0,
            late: 0,
        }
    }
}

impl Clock for LateClock {
    fn wait_until(
        &mut self,
        deadline: Instant,
        frames: &mut Frames,
        arrivals: &mut Vec<Arrival>,
    ) -> io::Result<Wake> {
        if self.now >= self.end {
            return Ok(Wake::End(self.now));
        }
        let frame = self.sent.front().map_or(self.end, |&(at, ..)| at);
        self.now = self.now.max(deadline.min(frame)) + self.rng.span(self.lateness);
        self.late += u64::from(self.now > deadline);
        while self.sent.front().is_some_and(|sent| sent.0 <= self.now) {
            let (at, from, bytes) = self.sent.pop_front().expect("just seen");
            let frame = frames.keep(&bytes).expect("there is room");
            arrivals.push(Arrival { at, from, frame });
        }
        self.batches += u64::from(arrivals.len() > 1);
        Ok(match self.rng.below(16) {
            0 => Wake::Return(self.now),
            _ => Wake::Until(self.now),
        })
    }

    fn depart(&mut self, at: Instant, _to: RealHostId, _bytes: &[u8]) -> io::Result<()> {
        assert!(at <= self.now, "not before it is time");
        Ok(())
    }
}

/// A frame between two real hosts, by their places in the order of names.
fn between(host: usize, peer: usize, is_ipv6: bool, protocol: u8) -> Shape {
    let hosts = scenario(&format!("{HOSTS}{OVER_CODEL}"), &[]).real_hosts();
    let [host, peer] = [host, peer].map(|place| {
        if is_ipv6 {
            hosts[place].ipv6.to_string()
        } else {
            hosts[place].ipv4.to_string()
        }
    });
    Shape::new(&host, &peer, protocol)
}

/// Frames of up to 1500 bytes at random times both ways, until `CROSSING` before the end: of
/// datagrams, whole and in fragments, connections that open, pause and finish, over IPv4 and IPv6,
/// between all hosts. Three in four are ECN-capable.
fn recorded(end: Instant) -> Vec<Sent> {
    let mut rng = Rng::for_path(3, "frames");
    let mut at = Instant::from_nanos(1_000_000);
    let mut sent = Vec::new();
    let mut next = vec![[0_u32; 2]; 64];
    let shapes: Vec<Shape> = (0..16)
        .map(|kind| {
            let protocol = if kind & 8 != 0 { TCP } else { UDP };
            between(kind & 1, 2 + (kind >> 1 & 1), kind & 4 != 0, protocol)
        })
        .collect();
    while at + CROSSING < end {
        let flow = rng.below(64) as usize;
        let is_up = rng.below(5) > 0;
        let (host, peer) = (flow & 1, 2 + (flow >> 1 & 1));
        let (is_ipv6, is_tcp) = (flow & 4 != 0, flow & 8 != 0);
        let mut shape = shapes[flow & 15].clone();
        shape.ports = [2000 + flow as u16, 443];
        shape.dscp = [0, 46][usize::from(flow & 16 != 0)];
        shape.ecn = match rng.below(4) {
            0 => Ecn::NotEct,
            _ => Ecn::Ect0,
        };
        shape.payload = rng.below(1400) as u16;
        if !is_up {
            shape = shape.back();
        }
        if is_tcp {
            let [own, other] = [usize::from(!is_up), usize::from(is_up)];
            let flags = match rng.below(20) {
                0 => SYN,
                1 => FIN | ACK,
                _ => ACK,
            };
            // Sequence numbers wrap around; one segment in eight is sent again.
            let base = u32::MAX - 20_000;
            let seq = base.wrapping_add(next[flow][own]);
            shape.segment = (seq, base.wrapping_add(next[flow][other]), flags);
            if rng.below(8) > 0 {
                next[flow][own] += u32::from(shape.payload);
            }
        } else if !is_ipv6 && rng.below(10) == 0 {
            shape.fragment = [(0, true), (100, false)][rng.below(2) as usize];
        }
        let from = RealHostId(if is_up { host } else { peer } as u16);
        sent.push((at, from, shape.bytes(sent.len() as u32)));
        // One in eight arrives at the same time as the one before.
        if rng.below(8) > 0 {
            at += Duration::from_nanos(rng.exponential(3e6) as u64);
        }
        // Now and then all are idle for long.
        if rng.below(1000) == 0 {
            at += Duration::from_millis(600);
        }
    }
    sent
}

/// A run over `link`.
fn build(link: &str) -> (Simulation, Ends) {
    let mut simulation = scenario(&format!("{HOSTS}{link}"), &[]).build(1);
    let ends = Ends::default();
    simulation.add_sink(Box::new(ends.clone()));
    (simulation, ends)
}

/// What a run left.
struct Left {
    ends: Vec<End>,
    told: FrameEnds,
    tables: Tables,
}

fn run(link: &str, clock: &mut dyn Clock) -> Left {
    let (mut simulation, ends) = build(link);
    let mut rows: Vec<Vec<(&'static str, Table)>> = Vec::new();
    while simulation
        .run_with(clock)
        .expect("these clocks do not fail")
        == Progress::Returned
    {
        rows.push(simulation.take_rows());
    }
    assert_eq!(simulation.now(), simulation.end());
    let mut tables = simulation.tables();
    for taken in rows.into_iter().rev() {
        for (name, rows) in taken {
            let rest = tables.iter_mut().find(|table| table.0 == name);
            let (_, rest) = rest.expect("a table of the results");
            *rest = chain(rows, std::mem::take(rest));
        }
    }
    Left {
        ends: ends.take(),
        told: simulation.frames_ended(),
        tables: Tables(tables),
    }
}

/// The rows of both.
fn chain(mut first: Table, second: Table) -> Table {
    if first.columns.is_empty() {
        return second;
    }
    for ((name, column), (other, more)) in first.columns.iter_mut().zip(second.columns) {
        assert_eq!(*name, other, "the same columns");
        match (column, more) {
            (Column::Float(values), Column::Float(more)) => values.extend(more),
            (Column::Integer(values), Column::Integer(more)) => values.extend(more),
            (Column::Text(values), Column::Text(more)) => values.extend(more),
            _ => panic!("{name} has two types"),
        }
    }
    first
}

fn count(ends: &[End], wanted: impl Fn(Fate) -> bool) -> usize {
    ends.iter().filter(|end| wanted(end.5)).count()
}

/// Runs over `link` under both clocks, asserts that the fates of all frames and all tables are
/// equal, and returns them.
fn assert_parity(link: &str) -> Left {
    let end = build(link).0.end();
    let sent = recorded(end);
    let mut clock = Noting::new(virtually(sent.clone()));
    let virtually = run(link, &mut clock);
    assert_eq!(virtually.told.entered, sent.len() as u64);
    assert_eq!(virtually.ends.len(), sent.len(), "every frame ends once");
    let delivered = count(&virtually.ends, |fate| matches!(fate, Fate::Delivered(_)));
    assert_eq!(clock.departed.len(), delivered);
    assert_departures(&sent, &clock.departed, virtually.told);
    for lateness in [
        Duration::from_micros(50),
        Duration::from_millis(2),
        Duration::from_millis(30),
    ] {
        let mut clock = LateClock::new(&sent, lateness, end);
        let really = run(link, &mut clock);
        assert!(
            clock.late > 100 && clock.batches > 100,
            "{} late, {} batches",
            clock.late,
            clock.batches
        );
        assert!(really.ends == virtually.ends, "up to {lateness:?} late");
        assert_eq!(really.told, virtually.told);
        for (one, other) in virtually.tables.0.iter().zip(&really.tables.0) {
            // As text, in which NaN equals itself.
            let [one, other] = [one, other].map(|table| format!("{table:?}"));
            let [one, other] = [one, other].map(|text| text.replace(", ", ",\n"));
            assert!(one == other, "{}", difference(&one, &other));
        }
    }
    let retransmitted = virtually.tables.integers("flows", "retransmitted");
    assert!(
        retransmitted.iter().sum::<u64>() > 0,
        "the neighbour has lost something to the queue"
    );
    virtually
}

/// The first line in which two texts differ.
fn difference(one: &str, other: &str) -> String {
    let name = one.lines().next().unwrap_or_default();
    let mut lines = one.lines().zip(other.lines());
    format!("{name}: {:?}", lines.find(|(one, other)| one != other))
}

/// What departs is what was sent, but for DSCP and ECN field: the phone's frames have its DSCP.
fn assert_departures(sent: &[Sent], departed: &[(Instant, RealHostId, Vec<u8>)], told: FrameEnds) {
    let mut marked = 0;
    let by_number: BTreeMap<&[u8], &Sent> = sent.iter().map(|sent| (body(&sent.2), sent)).collect();
    for (_, to, bytes) in departed {
        let header = real::read(bytes).expect("it is a frame");
        let (_, from, before) = by_number[body(bytes)];
        let old = real::read(before).expect("it is a frame");
        assert_eq!((header.addresses, header.ports), (old.addresses, old.ports));
        let is_phones = *from == RealHostId(1);
        assert_eq!(header.dscp, if is_phones { 46 } else { old.dscp });
        marked += u64::from(header.ecn != old.ecn);
        assert!(header.ecn == old.ecn || header.ecn == Ecn::Ce);
        assert_ne!(to, from);
        if bytes[0] >> 4 == 4 {
            assert_eq!(checksum(&bytes[..20]), 0);
        }
    }
    assert_eq!(told.marked, marked);
}

/// A frame without the fields that may change, which are of the IP header.
fn body(bytes: &[u8]) -> &[u8] {
    &bytes[12..]
}

#[test]
fn a_late_clock_changes_no_departure_mark_or_drop_behind_codel() {
    let left = assert_parity(OVER_CODEL);
    let marked = count(&left.ends, |fate| fate == Fate::Delivered(Ecn::Ce));
    let dropped = count(&left.ends, |fate| {
        fate == Fate::Discarded(DropReason::Congested)
    });
    let frames = left.ends.len();
    eprintln!("CoDel: {frames} frames, {marked} marked, {dropped} dropped");
    assert!(frames > 4000 && marked > 20 && dropped > 5);
    assert_eq!(left.told.marked, marked as u64);
    let numbers = left.tables.integers("real_flows", "number");
    assert!(numbers.len() > 200, "flows are closed when they are idle");
}

#[test]
fn a_late_clock_changes_no_departure_or_drop_on_a_cable_line() {
    let left = assert_parity(OVER_CABLE);
    let dropped = count(&left.ends, |fate| {
        fate == Fate::Discarded(DropReason::Congested)
    });
    let frames = left.ends.len();
    eprintln!("cable: {frames} frames, {dropped} dropped");
    assert!(frames > 4000 && dropped > 20);
}

/// A clock that delivers frames after the simulation has passed their times, and one frame after
/// the end.
struct Tardy(VecDeque<(Instant, Vec<Sent>)>);

impl Clock for Tardy {
    fn wait_until(
        &mut self,
        _deadline: Instant,
        frames: &mut Frames,
        arrivals: &mut Vec<Arrival>,
    ) -> io::Result<Wake> {
        let (now, came) = self.0.pop_front().expect("the run is over by then");
        for (at, from, bytes) in came {
            let frame = frames.keep(&bytes).expect("there is room");
            arrivals.push(Arrival { at, from, frame });
        }
        Ok(Wake::Until(now))
    }

    fn depart(&mut self, _at: Instant, _to: RealHostId, _bytes: &[u8]) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_frame_handed_over_too_late_enters_when_it_is_and_one_after_the_end_does_not() {
    let ms = |ms: u64| Instant::from_nanos(ms * 1_000_000);
    let at = |time: Instant| {
        let mut shape = between(0, 2, false, UDP);
        shape.payload = 100;
        (time, RealHostId(0), shape.bytes(0))
    };
    let mut clock = Tardy(VecDeque::from([
        (ms(500), vec![]),
        (ms(600), vec![at(ms(400)), at(ms(450))]),
        (ms(20_100), vec![at(ms(20_050))]),
    ]));
    let left = run(OVER_CODEL, &mut clock);
    assert_eq!(left.ends.len(), 2, "{:?}", left.ends);
    assert!(
        (left.ends.iter()).all(|end| end.0 > ms(500) && end.0 < ms(1500)),
        "{:?}",
        left.ends
    );
    assert_eq!(
        left.tables.integers("summary", "simulated_ns"),
        [20_000_000_000]
    );
    assert_eq!(left.told.entered, 2);
}
