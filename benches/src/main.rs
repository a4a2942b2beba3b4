//! `make bench`: the cost of a delivered data packet, as a ratio to that of a floor that is
//! measured in the same run.
//!
//! Prints a table and writes `target/bench.json`. The cases are scenarios beside this file. CPU
//! time is that of the process, [the best](cost) of several rounds. Memory is the most that the
//! engine holds, as counted by [the allocator](allocator), which also counts allocations after
//! warm-up.

mod allocator;
mod cell;
mod cost;
mod floor;
mod plant;
mod queues;
mod senders;
mod setting;

use std::cell::Cell;
use std::process::ExitCode;

use headend::qdisc::QueueConfig;

use self::cost::{Cost, cpu_ns, in_rounds};
use self::senders::Sender;

#[global_allocator]
static ALLOCATOR: allocator::Counting = allocator::Counting;

/// A case with a queue, and its memory.
struct Case {
    name: &'static str,
    queue: String,
    peak_mib: f64,
    /// The number of allocations after warm-up.
    allocations: u64,
}

type Row = cost::Row<Case>;

/// The floor's cost per packet at the rates of the cases, in nanoseconds.
#[derive(Clone, Copy)]
struct Floors {
    /// At 200 Mb/s.
    slow: f64,
    /// At 1 Gb/s.
    fast: f64,
}

impl Floors {
    /// The cost of a case divided by the cost of the floor at the case's rate.
    fn ratio(self, row: &Row) -> f64 {
        let floor = if row.of.name == "c" {
            self.fast
        } else {
            self.slow
        };
        row.cost.ns_per_packet() / floor
    }

    fn measure() -> Self {
        Self {
            slow: floor_ns(200_000_000),
            fast: floor_ns(1_000_000_000),
        }
    }
}

/// A case: its name, its scenario, its queues, and the ratio that it must not exceed: 10 % above
/// what was measured when the cost of a packet was last profiled (10.2, 15.3, 9.7 and
/// 22.0). Before ADR 0022 the first three were 8.1, 12.3 and 7.6.
const CASES: [(&str, &str, &[&str], f64); 4] = [
    (
        "a",
        include_str!("../a.toml"),
        &["drop_tail", "codel"],
        11.2,
    ),
    ("b", include_str!("../b.toml"), &["docsis_pie"], 16.8),
    ("c", include_str!("../c.toml"), &["codel"], 10.7),
    ("d", include_str!("../d.toml"), &["docsis_pie"], 24.2),
];

/// The rounds of the cases, senders and cells. Streets take longer and have fewer.
const ROUNDS: usize = 8;
const ROUNDS_OF_STREETS: usize = 4;

/// The command lines that are allowed.
const EXPECTED: &str = "nothing, a, b, c, d, cell, plant, queues, queues NAME, senders, senders \
                        NAME, CASE DURATION (\"a\" \"5 s\"), or STREET DURATION ROUNDS \
                        (\"docsis30-1000\" \"5 s\" 4)";

/// `headend-bench [a|b|c|d|cell|plant|queues|senders]` runs the benchmarks. `headend-bench queues
/// NAME` or `senders NAME` runs that of one discipline or congestion control. `headend-bench CASE
/// DURATION` runs one case once, for a profiler; the name of a street is, for example,
/// docsis30-1000, and that of a control its own.
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
        [case, duration] if run_once(case, duration, 1) => ExitCode::SUCCESS,
        [case, duration, rounds]
            if rounds
                .parse()
                .is_ok_and(|rounds| run_once(case, duration, rounds)) =>
        {
            ExitCode::SUCCESS
        }
        ["--help" | "-h"] => {
            println!("headend-bench: {EXPECTED}");
            ExitCode::SUCCESS
        }
        _ => {
            eprintln!("expected {EXPECTED}; found {arguments:?}");
            ExitCode::from(2)
        }
    }
}

/// Runs one case once, or a street `rounds` times, of which the best counts. Returns false if no
/// case has this name.
fn run_once(case: &str, duration: &str, rounds: usize) -> bool {
    if let Some((street, modems)) = case.rsplit_once('-')
        && let Some(street) = (plant::STREETS.iter()).find(|one| one.name == street)
        && let Ok(modems) = modems.parse()
    {
        let rows = in_rounds(rounds, &[()], |()| plant::run(street, modems, duration).0);
        let row = &rows[0];
        println!(
            "{:.1} ns per packet, {} packets, {:.1} KiB per active modem, {} events",
            row.cost.ns_per_packet(),
            row.cost.packets,
            row.of.kib_per_active_modem,
            row.cost.events
        );
        return true;
    }
    if rounds > 1 {
        return false;
    }
    if let Some(control) = senders::names(Some(case))
        .into_iter()
        .find(|name| *name == case)
    {
        let row = senders::run(
            Sender {
                control,
                queue: "codel",
            },
            duration,
        );
        println!(
            "{:.1} ns per packet, {} packets, {:.2} events per packet",
            row.cost.ns_per_packet(),
            row.cost.packets,
            row.cost.events_per_packet()
        );
        return true;
    }
    let Some((_, text, queues, _)) = CASES.iter().find(|(name, ..)| *name == case) else {
        return false;
    };
    let queue = queues[queues.len() - 1];
    let row = measure("profile", text, queue, duration);
    println!(
        "{:.1} ns per packet, {} packets",
        row.cost.ns_per_packet(),
        row.cost.packets
    );
    true
}

/// The cases of the first issue, or one of them, compared with the floor.
fn bench_cases(only: Option<&str>) -> Vec<serde_json::Value> {
    let chosen = CASES
        .iter()
        .filter(|(case, ..)| only.is_none_or(|only| only == *case));
    let all: Vec<_> = chosen
        .flat_map(|&(case, text, queues, goal)| {
            queues.iter().map(move |&queue| (case, text, queue, goal))
        })
        .collect();
    let least = Cell::new(Floors::measure());
    let rows = in_rounds(ROUNDS, &all, |(case, text, queue, _)| {
        // The floor is measured beside each run, so that a slow period of the machine affects both.
        let (so_far, floors) = (least.get(), Floors::measure());
        least.set(Floors {
            slow: so_far.slow.min(floors.slow),
            fast: so_far.fast.min(floors.fast),
        });
        measure(case, text, queue, "60 s")
    });
    let floors = least.get();
    println!(
        "floor: {:.1} ns per packet at 200 Mb/s, {:.1} at 1 Gb/s\n",
        floors.slow, floors.fast
    );
    println!(
        "case  queue        ns/packet  ratio  (goal)  events/s   sim/wall  peak MiB  allocs  \
         packets"
    );
    let mut met = true;
    for (row, (.., goal)) in rows.iter().zip(&all) {
        print_row(row, floors, *goal);
        met &= floors.ratio(row) <= *goal && row.of.peak_mib <= 64.0 && row.of.allocations == 0;
    }
    if let [tail, codel, ..] = &rows[..] {
        println!(
            "\ndrop-tail / CoDel: {:.2} (goal ≤ 1.3)",
            tail.cost.ns_per_packet() / codel.cost.ns_per_packet()
        );
    }
    let of = |name: &str| rows.iter().find(|row| row.of.name == name);
    if let (Some(plain), Some(low_latency)) = (of("b"), of("d")) {
        println!(
            "low latency / DOCSIS-PIE: {:.2} (goal ≤ 1.5)",
            low_latency.cost.ns_per_packet() / plain.cost.ns_per_packet()
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
    rows.iter().map(|row| json(row, floors)).collect()
}

fn print_row(row: &Row, floors: Floors, goal: f64) {
    println!(
        "{:<5} {:<12} {:>9.1} {:>6.1} {:>7} {:>10.2e} {:>9.0} {:>9.1} {:>7} {:>8}",
        row.of.name,
        row.of.queue,
        row.cost.ns_per_packet(),
        floors.ratio(row),
        format!("≤ {goal}"),
        row.cost.events_per_second(),
        row.cost.simulated_per_wall(),
        row.of.peak_mib,
        row.of.allocations,
        row.cost.packets,
    );
}

/// Saturated stations of an 802.11b cell, beside few and many stations that never send.
fn bench_cell() -> Vec<serde_json::Value> {
    println!("\ncell              ns/packet  events/packet  packets");
    let rows = in_rounds(ROUNDS, &cell::IDLE, |idle| cell::run(idle, "120 s"));
    for row in &rows {
        println!(
            "{:<17} {:>9.1} {:>14.2} {:>8}",
            format!("20 and {} idle", row.of),
            row.cost.ns_per_packet(),
            row.cost.events_per_packet(),
            row.cost.packets,
        );
    }
    println!("goal: at most 1000 ns, idle stations for nothing");
    let wifi = in_rounds(ROUNDS, &[()], |()| cost::Row {
        of: (),
        cost: cell::run_wifi(),
    });
    for row in &wifi {
        println!(
            "802.11ax, 20 both {:>9.1} {:>14.2} {:>8}   {:.0} s a CPU second",
            row.cost.ns_per_packet(),
            row.cost.events_per_packet(),
            row.cost.packets,
            row.cost.simulated_per_wall(),
        );
    }
    (rows.iter().map(cell::json))
        .chain(wifi.iter().map(cell::wifi_json))
        .collect()
}

/// Streets of modems: the cost of a packet when many modems share a channel.
fn bench_plant() -> Vec<serde_json::Value> {
    println!(
        "\nplant          modems  ns/packet  to 10  events/s   sim/wall  peak MiB  KiB/active  \
         Mb/s   packets"
    );
    let streets =
        (plant::STREETS.iter()).flat_map(|street| plant::SIZES.map(|modems| (street, modems)));
    let streets: Vec<_> = streets.collect();
    let rows = in_rounds(ROUNDS_OF_STREETS, &streets, |(street, modems)| {
        plant::measure(street, modems)
    });
    for kind in rows.chunks(plant::SIZES.len()) {
        for row in kind {
            println!(
                "{:<14} {:>6} {:>10.1} {:>6.2} {:>10.2e} {:>9.1} {:>9.1} {:>11.1} {:>5.0} {:>9}",
                row.of.street,
                row.of.modems,
                row.cost.ns_per_packet(),
                row.cost.ns_per_packet() / kind[0].cost.ns_per_packet(),
                row.cost.events_per_second(),
                row.cost.simulated_per_wall(),
                row.of.peak_mib,
                row.of.kib_per_active_modem,
                row.of.mbps,
                row.cost.packets,
            );
        }
    }
    println!("goal: sim/wall ≥ 8 at 1000 modems; the ratio to 10 modems is no goal (ADR 0022)");
    rows.iter().map(plant::json).collect()
}

/// Every discipline alone, or one of them.
fn bench_queues(only: Option<&str>) -> Vec<serde_json::Value> {
    println!(
        "\nqueue             ns at 100  at 5000  1000 flows  of drop-tail  KiB built  B/flow  \
         B/class  held"
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

/// Every congestion control, or one of them, compared with NewReno.
fn bench_senders(only: Option<&str>) -> Vec<serde_json::Value> {
    println!("\nsender            queue      ns/packet  of reno  events/packet  packets");
    let names = senders::names(only);
    let all = (names.into_iter())
        .flat_map(|control| senders::QUEUES.map(|queue| Sender { control, queue }));
    let all: Vec<_> = all.collect();
    let rows = in_rounds(ROUNDS, &all, |sender| senders::run(sender, "20 s"));
    for row in &rows {
        let reno = (rows.iter())
            .find(|other| other.of.control == "reno" && other.of.queue == row.of.queue);
        println!(
            "{:<17} {:<10} {:>9.1} {:>8.2} {:>14.2} {:>8}",
            row.of.control,
            row.of.queue,
            row.cost.ns_per_packet(),
            row.cost.ns_per_packet() / reno.map_or(f64::NAN, |reno| reno.cost.ns_per_packet()),
            row.cost.events_per_packet(),
            row.cost.packets,
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

fn measure(case: &'static str, text: &str, queue: &str, duration: &str) -> Row {
    let path = setting::read(text, &[])
        .queue_path()
        .expect("the bench's scenarios have a bottleneck");
    let mut overrides = vec![("duration".to_owned(), duration.to_owned())];
    // The queue of the scenario itself keeps its parameters.
    if !text.contains(&format!("queue.{queue}.")) {
        overrides.push((path, queue.to_owned()));
    }
    let scenario = setting::read(text, &overrides);
    let before = allocator::live();
    allocator::reset_peak();
    let mut simulation = scenario.build(1);
    let mut allocated = 0;
    let cost = Cost::of_each(&mut simulation, |slice| {
        // The allocator is warm after a third of the run.
        if slice == cost::SLICES / 3 {
            allocated = allocator::count();
        }
    });
    let allocations = allocator::count() - allocated;
    let peak = allocator::peak() - before;
    let of = Case {
        name: case,
        queue: queue.to_owned(),
        peak_mib: peak as f64 / f64::from(1 << 20),
        allocations,
    };
    drop(simulation.tables());
    Row { of, cost }
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
    let start = cpu_ns();
    let outcome = floor::run(&case);
    let spent = cpu_ns() - start;
    assert!(
        outcome.delivered > 100_000 && outcome.dropped > 0 && outcome.checksum > 0,
        "the floor is a real run"
    );
    spent as f64 / outcome.delivered as f64
}

fn json(row: &Row, floors: Floors) -> serde_json::Value {
    serde_json::json!({
        "case": row.of.name,
        "queue": row.of.queue,
        "ns_per_packet": row.cost.ns_per_packet(),
        "events_per_second": row.cost.events_per_second(),
        "simulated_per_wall": row.cost.simulated_per_wall(),
        "peak_mib": row.of.peak_mib,
        "floor_ratio": floors.ratio(row),
        "allocations_after_warmup": row.of.allocations,
        "data_packets": row.cost.packets,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The doublings that are allowed in the last two thirds of a run: one for each ring (two delay
    /// lines, backlog, scoreboard).
    const MOST_DOUBLINGS: u64 = 4;
    /// The low-latency line has one ring for each of two queues, and one for redirected packets.
    const MOST_DOUBLINGS_OF_TWO_QUEUES: u64 = 6;

    /// A delay line doubles its ring when it holds more packets than ever before, and windows may
    /// reach their largest size late.
    #[test]
    fn after_its_warm_up_no_case_allocates_but_for_a_ring_that_doubles() {
        for (case, text, queues, _) in CASES {
            for queue in queues {
                let row = measure(case, text, queue, "60 s");
                assert!(row.cost.packets > 500_000, "case {case} is a real run");
                let allocations = row.of.allocations;
                let most = match case {
                    "d" => MOST_DOUBLINGS_OF_TWO_QUEUES,
                    _ => MOST_DOUBLINGS,
                };
                assert!(
                    allocations <= most,
                    "case {case} with {queue}: {allocations}"
                );
            }
        }
    }
}
