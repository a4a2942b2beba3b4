//! Rules for 802.11b: random cells, and a cell with each queue at its access point and stations,
//! overloaded both ways.
//!
//! - The channel carries one exchange of frames at a time, with SIFS between its frames, and DIFS
//!   after it, or EIFS after a frame that no station could receive.
//! - A backoff is within its window.
//! - A packet that was dequeued is delivered, was discarded after its tries, or is still in
//!   transmission.
//! - Order is kept within a flow.
//! - The same cell and seed give the same frames.
//!
//! The engine itself checks at the end of each run that packets are conserved.

use std::collections::BTreeMap;
use std::fmt::Write;

use headend::qdisc::QueueConfig;
use headend::time::{Duration, Instant};
use headend::trace::{AirFrame, DropReason, TraceEvent};
use proptest::prelude::{ProptestConfig, Strategy, any, prop, proptest};

use crate::from_text::{Log, Tables, scenario};

const SIFS: Duration = Duration::from_micros(10);
const DIFS: Duration = Duration::from_micros(50);
const EIFS: Duration = Duration::from_micros(364);

/// A cell and its traffic.
#[derive(Debug, Clone)]
struct Cell {
    /// The rate in kbit/s and the share of frames that arrive corrupted in percent, for each
    /// station.
    stations: Vec<(u32, u32)>,
    /// Longer MPDUs are preceded by RTS and CTS.
    rts_threshold: u32,
    retry_limit: u32,
    /// The rate of each flow in kbit/s, one flow up and one down for each station, and the bytes of
    /// its packets.
    offered: u32,
    size: u32,
    queue: String,
}

impl Cell {
    fn text(&self) -> String {
        let Self {
            stations,
            rts_threshold,
            retry_limit,
            offered,
            size,
            queue,
        } = self;
        let mut text = format!(
            r#"
duration = "1 s"
[link.wifi.dot11b]
rts_threshold = "{rts_threshold} B"
short_retry_limit = {retry_limit}
long_retry_limit = {retry_limit}
access_point.queue = "{queue}"
"#
        );
        for (number, (rate, errors)) in stations.iter().enumerate() {
            write!(
                text,
                r#"
[link.wifi.dot11b.station.s{number}]
rate = "{rate} kbit/s"
frame_errors = "{errors} %"
queue = "{queue}"
[host.s{number}]
via = ["wifi.s{number}"]
[flow.up{number}]
application.cbr = {{ rate = "{offered} kbit/s", size = "{size} B", random_phase = true }}
direction = "up"
host = "s{number}"
rtt = "0 s"
[flow.down{number}]
application.cbr = {{ rate = "{offered} kbit/s", size = "{size} B", random_phase = true }}
direction = "down"
host = "s{number}"
rtt = "0 s"
"#
            )
            .expect("a text takes what is written");
        }
        text
    }
}

/// Frames that were sent at the same time: when the first started and the last ended, and whether
/// one was lost.
#[derive(Debug)]
struct Exchange {
    start: Instant,
    end: Instant,
    is_lost: bool,
}

/// The fate of the packets that were dequeued from a queue.
#[derive(Debug, Default, Clone, Copy)]
struct Fates {
    dequeued: u64,
    arrived: u64,
    given_up: u64,
    /// The failed tries of the packet in transmission.
    failed: u32,
}

/// Runs a cell, checks the rules, and returns the events.
fn run(cell: &Cell, seed: u64) -> Vec<(Instant, TraceEvent)> {
    let mut simulation = scenario(&cell.text(), &[]).build(seed);
    let log = Log::of(&mut simulation);
    let tables = Tables::finish(simulation);
    let events = log.choose(|event| Some(*event));
    check_exchanges(&events);
    check_fates(&events, cell);
    check_order(&events);
    let collisions = events.iter().filter(|(_, event)| is_collision(event));
    let counted: u64 = tables.integers("queues", "collisions").iter().sum();
    if cell.stations.iter().all(|&(_, errors)| errors == 0) {
        assert_eq!(
            collisions.count() as u64,
            counted,
            "every collision is counted"
        );
    }
    events
}

fn is_collision(event: &TraceEvent) -> bool {
    matches!(event, TraceEvent::Aired { heard: false, .. })
}

fn check_exchanges(events: &[(Instant, TraceEvent)]) {
    let mut last: Option<Exchange> = None;
    for &(at, event) in events {
        let TraceEvent::Aired {
            start, end, heard, ..
        } = event
        else {
            continue;
        };
        match &mut last {
            // A further frame of the exchange, or of a collision.
            Some(exchange) if exchange.start == at => {
                assert!(
                    start == at || start == exchange.end + SIFS,
                    "answers come after SIFS"
                );
                exchange.end = exchange.end.max(end);
                exchange.is_lost |= !heard;
            }
            _ => {
                if let Some(before) = &last {
                    let gap = if before.is_lost { EIFS } else { DIFS };
                    assert!(
                        start >= before.end + gap,
                        "{start:?} is too soon after {before:?}"
                    );
                }
                last = Some(Exchange {
                    start,
                    end,
                    is_lost: !heard,
                });
            }
        }
    }
    assert!(last.is_some(), "somebody sent");
}

fn check_fates(events: &[(Instant, TraceEvent)], cell: &Cell) {
    let mut fates: BTreeMap<u32, Fates> = BTreeMap::new();
    for (_, event) in events {
        match *event {
            TraceEvent::Dequeued { queue, .. } => {
                let of = fates.entry(queue.0).or_default();
                assert_eq!(
                    of.dequeued,
                    of.arrived + of.given_up,
                    "one packet in hand at a time"
                );
                of.dequeued += 1;
                of.failed = 0;
            }
            TraceEvent::Aired {
                queue,
                frame,
                heard,
                ..
            } => {
                let of = fates.entry(queue.0).or_default();
                of.arrived += u64::from(heard && frame == AirFrame::Data);
                of.failed += u32::from(!heard);
                // An RTS and its data frame have separate counts of tries.
                assert!(of.failed <= 2 * cell.retry_limit, "too many tries");
            }
            TraceEvent::Discarded {
                queue: Some(queue),
                reason: DropReason::RetryLimit,
                ..
            } => {
                let of = fates.entry(queue.0).or_default();
                assert!(of.failed >= cell.retry_limit, "given up too early");
                of.given_up += 1;
            }
            TraceEvent::BackedOff { slots, window, .. } => {
                assert!(slots < window && window.is_power_of_two());
                assert!((32..=1024).contains(&window));
            }
            _ => {}
        }
    }
    for (queue, of) in fates {
        let over = of.arrived + of.given_up;
        assert!(
            of.dequeued == over || of.dequeued == over + 1,
            "queue {queue}: {of:?}"
        );
    }
}

fn check_order(events: &[(Instant, TraceEvent)]) {
    let mut last = BTreeMap::new();
    for (_, event) in events {
        if let TraceEvent::Delivered { packet, .. } = event {
            let before = last.insert((packet.group.0, packet.flow.0), packet.seq);
            assert!(
                before.is_none_or(|before| before < packet.seq),
                "order is kept within a flow"
            );
        }
    }
}

fn cells() -> impl Strategy<Value = Cell> {
    let rates = prop::sample::select(vec![1000_u32, 2000, 5500, 11_000]);
    let errors = prop::sample::select(vec![0_u32, 0, 10, 40]);
    let stations = prop::collection::vec((rates, errors), 1..6);
    let threshold = prop::sample::select(vec![0_u32, 400, 2347]);
    (stations, threshold, 1_u32..8, 50_u32..3000, 40_u32..1500).prop_map(
        |(stations, rts_threshold, retry_limit, offered, size)| Cell {
            stations,
            rts_threshold,
            retry_limit,
            offered,
            size,
            queue: "drop_tail".to_owned(),
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_cell_keeps_the_rules_and_repeats_itself(cell in cells(), seed in any::<u64>()) {
        proptest::prop_assert!(run(&cell, seed) == run(&cell, seed));
    }
}

/// The cell is overloaded both ways, so that each law must respond, and the rates differ.
#[test]
fn any_queue_may_stand_at_the_access_point_and_the_stations() {
    for config in QueueConfig::all() {
        let cell = Cell {
            stations: vec![(11_000, 0), (11_000, 0), (2000, 0)],
            rts_threshold: 2347,
            retry_limit: 7,
            offered: 2000,
            size: 1000,
            queue: config.name().to_owned(),
        };
        let events = run(&cell, 1);
        let arrived = |event: &TraceEvent| matches!(event, TraceEvent::Delivered { .. });
        let count = events.iter().filter(|(_, event)| arrived(event)).count();
        // Three flows down and three up share what the slow station leaves: some 300 packets a
        // second.
        assert!(count > 200, "{}: {count} packets", config.name());
    }
}
