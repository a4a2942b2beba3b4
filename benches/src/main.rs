//! `make bench`: what a delivered data packet costs, as ratios to a floor measured in the same run.
//!
//! Prints a table and writes `target/bench.json`. Cases are scenarios beside this file. CPU time is the process's own; memory is what
//! the engine holds at most, counted by the allocator, which also counts allocations after warm-up.

mod allocator;
mod cell;
mod floor;
mod plant;
mod queues;
mod senders;

use std::collections::BTreeMap;
use std::process::ExitCode;

use headend::qdisc::QueueConfig;
use headend::scenario::{Format, Scenario};
use headend::time::Instant;

#[global_allocator]
static ALLOCATOR: allocator::Counting = allocator::Counting;

/// One row of the table.
struct Row {
    case: &'static str,
    queue: String,
    ns_per_packet: f64,
    events_per_second: f64,
    simulated_per_wall: f64,
    peak_mib: f64,
    floor_ratio: f64,
    allocations: u64,
    packets: u64,
}

/// A case: its name, its scenario, the queues it is run with, and the ratio to reach.
const CASES: [(&str, &str, &[&str], f64); 3] = [
    ("a", include_str!("../a.toml"), &["drop_tail", "codel"], 8.0),
    ("b", include_str!("../b.toml"), &["docsis_pie"], 12.0),
    ("c", include_str!("../c.toml"), &["codel"], 8.0),
];

/// Each figure is the best of so many runs: other work on the machine only ever adds.
const REPEATS: usize = 3;

/// `headend-bench [a|b|c|cell|plant|queues|senders]`, `headend-bench queues NAME` or `senders NAME` for one discipline or congestion control, or
/// `headend-bench CASE DURATION` to run one case once, for a profiler to look at; a street is called docsis30-1000, say, and a control by its name.
fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        [] => {
            let mut rows = bench_cases(None);
            rows.extend(bench_plant());
            rows.extend(bench_queues(None));
            rows.extend(bench_senders(None));
            rows.extend(bench_cell());
            write(&rows)
        }
        ["cell"] => write(&bench_cell()),
        ["plant"] => write(&bench_plant()),
        ["queues"] => write(&bench_queues(None)),
        ["senders"] => write(&bench_senders(None)),
        ["senders", name] if senders::names(Some(name)).contains(&name) => {
            write(&bench_senders(Some(name)))
        }
        ["queues", name] if QueueConfig::named(name).is_some() => write(&bench_queues(Some(name))),
        [case] if CASES.iter().any(|(name, ..)| *name == case) => write(&bench_cases(Some(case))),
        [case, duration] if run_once(case, duration) => ExitCode::SUCCESS,
        _ => {
            eprintln!(
                "expected nothing, a, b, c, cell, plant, queues, queues NAME, senders, senders NAME, or CASE DURATION (\"a\" \"5 s\"); found {arguments:?}"
            );
            ExitCode::from(2)
        }
    }
}

/// Runs one case or street once; false if there is none of this name.
fn run_once(case: &str, duration: &str) -> bool {
    if let Some((street, modems)) = case.rsplit_once('-')
        && let Some(street) = (plant::STREETS.iter()).find(|one| one.name == street)
        && let Ok(modems) = modems.parse()
    {
        let (row, _) = plant::run(street, modems, duration);
        println!(
            "{:.1} ns per packet, {} packets, {:.1} KiB per active modem, {} events",
            row.ns_per_packet, row.packets, row.kib_per_active_modem, row.events
        );
        return true;
    }
    if let Some(control) = senders::names(Some(case))
        .into_iter()
        .find(|name| *name == case)
    {
        let row = senders::run(control, duration);
        println!(
            "{:.1} ns per packet, {} packets, {:.2} events per packet",
            row.ns_per_packet, row.packets, row.events_per_packet
        );
        return true;
    }
    let Some((_, text, queues, _)) = CASES.iter().find(|(name, ..)| *name == case) else {
        return false;
    };
    let queue = queues[queues.len() - 1];
    let row = measure("profile", text, queue, duration, f64::NAN);
    println!(
        "{:.1} ns per packet, {} packets",
        row.ns_per_packet, row.packets
    );
    true
}

/// The cases of the first issue, or one of them, beside the floor.
fn bench_cases(only: Option<&str>) -> Vec<serde_json::Value> {
    let floors = [200_000_000, 1_000_000_000].map(floor_ns);
    println!(
        "floor: {:.1} ns per packet at 200 Mb/s, {:.1} at 1 Gb/s\n",
        floors[0], floors[1]
    );
    println!(
        "case  queue        ns/packet  ratio  (goal)  events/s   sim/wall  peak MiB  allocs  packets"
    );
    let mut rows = Vec::new();
    let mut met = true;
    for (case, text, queues, goal) in CASES {
        if only.is_some_and(|only| only != case) {
            continue;
        }
        let floor = if case == "c" { floors[1] } else { floors[0] };
        for queue in queues {
            let row = (0..REPEATS)
                .map(|_| measure(case, text, queue, "60 s", floor))
                .min_by(|a, b| a.ns_per_packet.total_cmp(&b.ns_per_packet))
                .expect("at least one repeat");
            print_row(&row, goal);
            met &= row.floor_ratio <= goal && row.peak_mib <= 64.0 && row.allocations == 0;
            rows.push(row);
        }
    }
    if let [tail, codel, ..] = &rows[..] {
        println!(
            "\ndrop-tail / CoDel: {:.2} (goal ≤ 1.3)",
            tail.ns_per_packet / codel.ns_per_packet
        );
    }
    println!(
        "{}",
        if met {
            "all goals met"
        } else {
            "not all goals met"
        }
    );
    rows.iter().map(json).collect()
}

fn print_row(row: &Row, goal: f64) {
    println!(
        "{:<5} {:<12} {:>9.1} {:>6.1} {:>7} {:>10.2e} {:>9.0} {:>9.1} {:>7} {:>8}",
        row.case,
        row.queue,
        row.ns_per_packet,
        row.floor_ratio,
        format!("≤ {goal}"),
        row.events_per_second,
        row.simulated_per_wall,
        row.peak_mib,
        row.allocations,
        row.packets,
    );
}

/// Saturated stations of an 802.11b cell, beside few and many that never send.
fn bench_cell() -> Vec<serde_json::Value> {
    println!("\ncell              ns/packet  events/packet  packets");
    let rows: Vec<_> = cell::IDLE.into_iter().map(cell::measure).collect();
    for row in &rows {
        println!(
            "{:<17} {:>9.1} {:>14.2} {:>8}",
            format!("20 and {} idle", row.idle),
            row.ns_per_packet,
            row.events_per_packet,
            row.packets,
        );
    }
    println!("goal: at most 1000 ns, idle stations for nothing");
    rows.iter().map(cell::json).collect()
}

/// Streets of modems: what a packet costs when many share a channel.
fn bench_plant() -> Vec<serde_json::Value> {
    println!(
        "\nplant          modems  ns/packet  to 10  events/s   sim/wall  peak MiB  KiB/active  Mb/s   packets"
    );
    let mut rows = Vec::new();
    for street in plant::STREETS {
        let mut least = f64::NAN;
        for modems in plant::SIZES {
            let row = plant::measure(&street, modems);
            if modems == plant::SIZES[0] {
                least = row.ns_per_packet;
            }
            println!(
                "{:<14} {:>6} {:>10.1} {:>6.2} {:>10.2e} {:>9.1} {:>9.1} {:>11.1} {:>5.0} {:>9}",
                street.name,
                row.modems,
                row.ns_per_packet,
                row.ns_per_packet / least,
                row.events_per_second,
                row.simulated_per_wall,
                row.peak_mib,
                row.kib_per_active_modem,
                row.mbps,
                row.packets,
            );
            rows.push(plant::json(&row));
        }
    }
    println!(
        "goals: to 10 ≤ 1.5, sim/wall ≥ 5 at 1000 modems, at most 100 KB (97.7 KiB) per active modem"
    );
    rows
}

/// Every discipline by itself, or one of them.
fn bench_queues(only: Option<&str>) -> Vec<serde_json::Value> {
    println!(
        "\nqueue             ns at 100  at 5000  1000 flows  of drop-tail  KiB built  B/flow  B/class  held"
    );
    let rows = queues::measure_all(only);
    let tail = rows.iter().find(|row| row.queue == "drop_tail");
    let tail = tail.map_or(f64::NAN, |row| row.ns[1]);
    for row in &rows {
        let most = row.ns.into_iter().chain([row.ns_many]).fold(0.0, f64::max);
        println!(
            "{:<17} {:>9.1} {:>8.1} {:>11.1} {:>13.2} {:>10.1} {:>7.0} {:>8}  {} / {}",
            row.queue,
            row.ns[0],
            row.ns[1],
            row.ns_many,
            most / tail,
            row.kib,
            row.bytes_per_flow,
            (row.bytes_per_class).map_or("-".to_owned(), |bytes| format!("{bytes:.0}")),
            row.held[0],
            row.held[1],
        );
    }
    println!("goal: none above 3 × drop-tail or 100 ns, whichever is larger");
    rows.iter().map(queues::json).collect()
}

/// Every congestion control, or one of them beside NewReno.
fn bench_senders(only: Option<&str>) -> Vec<serde_json::Value> {
    println!("\nsender            ns/packet  of reno  events/packet  packets");
    let names = senders::names(only);
    let rows: Vec<_> = names.into_iter().map(senders::measure).collect();
    let reno = rows.iter().find(|row| row.control == "reno");
    let reno = reno.map_or(f64::NAN, |row| row.ns_per_packet);
    for row in &rows {
        println!(
            "{:<17} {:>9.1} {:>8.2} {:>14.2} {:>8}",
            row.control,
            row.ns_per_packet,
            row.ns_per_packet / reno,
            row.events_per_packet,
            row.packets,
        );
    }
    println!("goal: none above 1.5 × reno");
    rows.iter().map(senders::json).collect()
}

fn write(rows: &[serde_json::Value]) -> ExitCode {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/bench.json");
    let text = serde_json::to_string_pretty(rows).expect("plain numbers and names") + "\n";
    match std::fs::write(path, text) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("target/bench.json cannot be written: {error}");
            ExitCode::FAILURE
        }
    }
}

fn measure(case: &'static str, text: &str, queue: &str, duration: &str, floor: f64) -> Row {
    let parse = |overrides: &[(String, String)]| {
        Scenario::parse(text, Format::Toml, overrides, &BTreeMap::new())
            .expect("the bench's scenarios are valid")
    };
    let path = parse(&[])
        .queue_path()
        .expect("the bench's scenarios have a bottleneck");
    let mut overrides = vec![("duration".to_owned(), duration.to_owned())];
    // The scenario's own queue keeps its parameters.
    if !text.contains(&format!("queue.{queue}.")) {
        overrides.push((path, queue.to_owned()));
    }
    let scenario = parse(&overrides);
    let before = allocator::live();
    allocator::reset_peak();
    let mut simulation = scenario.build(1);
    let end = simulation.end();
    // Warm-up of the allocator's figure: a third of the run.
    let third = Instant::from_nanos(end.as_nanos() / 3);
    let start = cpu_ns();
    simulation.run_until(third);
    let allocated = allocator::count();
    simulation.run_until(end);
    let spent = cpu_ns() - start;
    let allocations = allocator::count() - allocated;
    let packets = simulation.data_packets_delivered();
    let seconds = spent as f64 * 1e-9;
    let ns_per_packet = spent as f64 / packets as f64;
    let peak = allocator::peak() - before;
    drop(simulation.tables());
    Row {
        case,
        queue: queue.to_owned(),
        ns_per_packet,
        events_per_second: simulation.events() as f64 / seconds,
        simulated_per_wall: end.as_secs_f64() / seconds,
        peak_mib: peak as f64 / f64::from(1 << 20),
        floor_ratio: ns_per_packet / floor,
        allocations,
        packets,
    }
}

/// The floor's cost at `rate_bps`, with the flows of the cases.
fn floor_ns(rate_bps: u64) -> f64 {
    let case = floor::Case {
        rate_bps,
        buffer_bytes: rate_bps / 8 / 4,
        rtts_ns: [20, 20, 20, 100, 100, 100]
            .map(|ms| ms * 1_000_000)
            .to_vec(),
        duration_ns: 60_000_000_000,
    };
    let once = || {
        let start = cpu_ns();
        let outcome = floor::run(&case);
        let spent = cpu_ns() - start;
        assert!(
            outcome.delivered > 100_000 && outcome.dropped > 0 && outcome.checksum > 0,
            "the floor is a real run"
        );
        spent as f64 / outcome.delivered as f64
    };
    (0..REPEATS + 2)
        .map(|_| once())
        .fold(f64::INFINITY, f64::min)
}

fn cpu_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

fn json(row: &Row) -> serde_json::Value {
    serde_json::json!({
        "case": row.case,
        "queue": row.queue,
        "ns_per_packet": row.ns_per_packet,
        "events_per_second": row.events_per_second,
        "simulated_per_wall": row.simulated_per_wall,
        "peak_mib": row.peak_mib,
        "floor_ratio": row.floor_ratio,
        "allocations_after_warmup": row.allocations,
        "data_packets": row.packets,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The only test here: others would allocate at the same time.
    #[test]
    fn no_case_allocates_after_its_warm_up() {
        for (case, text, queues, _) in CASES {
            for queue in queues {
                let row = measure(case, text, queue, "60 s", f64::NAN);
                assert!(row.packets > 500_000, "case {case} is a real run");
                assert_eq!(row.allocations, 0, "case {case} with {queue}");
            }
        }
    }
}
