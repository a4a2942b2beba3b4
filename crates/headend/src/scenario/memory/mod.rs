//! How much memory a run can need, so that a run that no machine can hold is refused before it
//! begins.
//!
//! The order of magnitude counts. The estimate is right to a factor of two from hundreds of
//! megabytes on, and never far too low for a run that no machine can hold. What a row, a packet or
//! a connection takes was measured, from the engine to the report. Queues are assumed to be full
//! where senders can fill them, and senders to have outstanding what their windows and the queues
//! on their way allow.

mod flows;
mod network;
mod sizes;
mod sum;

use std::collections::BTreeMap;

use self::flows::{datagrams, fills_queues, samples, written};
use self::network::Network;
use self::sizes::{
    CAPTURED, CAPTURED_AT_ONCE, CONNECTION, CONNECTION_ROW, CUSTOMER, FLOW, FLOW_ROW,
    HISTOGRAM_ROW, HISTOGRAM_ROWS, OCTAVE, OCTAVES, OPPORTUNITY, PEER, QUEUE_ROW, REPLAYED,
    SAMPLE_ROW,
};
pub use self::sum::MemoryItem;
use self::sum::Sum;
use super::flow::GroupPlan;
use super::plan::Scenario;
use crate::qdisc::{QueueConfig, hash};
use crate::simulation::sampled_connections;
use crate::traffic::ApplicationConfig;
use crate::traffic::memory::MTU;

impl Scenario {
    /// The parts of the memory that a run can need at most, the largest first.
    pub fn memory(&self) -> Vec<MemoryItem> {
        let mut sum = Sum::default();
        let duration = self.rows_kept().as_secs_f64();
        let network = Network::new(&self.links, &self.groups, duration);
        self.add_series(&network, &mut sum);
        self.add_links(&mut sum);
        self.add_applications(&network, &mut sum);
        network.add_transfers(&mut sum);
        network.add_datagrams(&mut sum);
        if self.capture.is_some() {
            let snaplen = self.raw().results.capture.as_ref();
            let snaplen = snaplen.map_or(0.0, |capture| capture.snaplen.0 as f64);
            let sizes = self.groups.iter().map(|group| datagrams(group).largest);
            let size = sizes.fold(MTU, f64::max).min(snaplen);
            let text = format!(
                "{CAPTURED} B and {CAPTURED_AT_ONCE} packets × {size} B that wait to be written"
            );
            let bytes = CAPTURED + CAPTURED_AT_ONCE * size;
            sum.add("results.capture.snaplen", text, bytes, false);
        }
        sum.items()
    }

    /// Rows over time. A queue that no flow passes has none.
    fn add_series(&self, network: &Network<'_>, sum: &mut Sum) {
        let intervals = (self.rows_kept().as_nanos()).div_ceil(self.interval.as_nanos().max(1));
        let mut add = |key: &str, what: &str, count: f64, row: f64| {
            let keys = format!("results.interval with duration and {key}");
            let text = format!("{count} {what} × {intervals} intervals × {row} B");
            sum.add(&keys, text, count * intervals as f64 * row, true);
        };
        let directions = (self.groups.iter()).map(|group| {
            let both = group.application.transport() == "tcp";
            let data = group.application.carries_data(group.direction);
            2 - usize::from(!both && data.contains(&false))
        });
        let directions: usize = directions.sum();
        add("flow", "flow directions", directions as f64, FLOW_ROW);
        let queues: usize = network.places.values().map(|place| place.queues).sum();
        add("link", "queues", queues as f64, QUEUE_ROW);
        // Those of each side that sends.
        let sampled = u64::from(sampled_connections(self.groups.len()));
        let connections = (self.groups.iter()).map(|group| {
            let sides = group.application.carries_data(group.direction);
            let sides: u64 = sides.map(u64::from).iter().sum();
            group.application.connections().min(sampled) * sides
        });
        let connections: u64 = connections.sum();
        add("flow", "connections", connections as f64, CONNECTION_ROW);
        let rows = network.in_histograms(HISTOGRAM_ROWS).ceil();
        let text = format!("histograms of {queues} queues with {rows} rows × {HISTOGRAM_ROW} B");
        sum.add("link", text, rows * HISTOGRAM_ROW, true);
        let octaves = network.in_histograms(OCTAVES).ceil();
        let text = format!("histograms of {queues} queues with {octaves} octaves × {OCTAVE} B");
        sum.add("link", text, octaves * OCTAVE, false);
    }

    /// Modems, stations, and the queues inside queues.
    fn add_links(&self, sum: &mut Sum) {
        for link in &self.links {
            let mut inner: BTreeMap<String, (f64, f64)> = BTreeMap::new();
            let medium = link.medium();
            for queue in medium.queues(&link.name) {
                let (queues, bytes) = inner_queues(queue.config);
                if queues > 0.0 {
                    let key = match queue.config {
                        QueueConfig::Cake(_) => "tins",
                        _ => "queues",
                    };
                    let path = format!("{}.{}.{key}", queue.path, queue.config.name());
                    inner.entry(path).or_insert((0.0, bytes)).0 += queues;
                }
            }
            for (keys, count) in medium.opportunities(&link.name) {
                let text = format!("{count} opportunities × {OPPORTUNITY} B");
                sum.add(&keys, text, count as f64 * OPPORTUNITY, false);
            }
            if let Some(keys) = medium.customers_path(&link.name) {
                let count = medium.customers();
                let text = format!("{count} of them × {CUSTOMER} B");
                sum.add(&keys, text, count as f64 * CUSTOMER, false);
            }
            for (keys, (queues, bytes)) in inner {
                let text = format!("{queues} queues of flows × {bytes} B");
                sum.add(&keys, text, queues * bytes, false);
            }
        }
    }

    /// What flows take themselves, what they measure, and their histograms.
    fn add_applications(&self, network: &Network<'_>, sum: &mut Sum) {
        for (name, members) in by_name(&self.groups) {
            let count = members.len() as f64;
            let group = members[0];
            let application = &group.application;
            let at = format!("flow.{name}");
            sum.add(
                &format!("{at}.count"),
                format!("{count} flows × {FLOW} B"),
                count * FLOW,
                false,
            );
            let peers = group.peers.len() as f64;
            if peers > 1.0 {
                let text = format!("{count} flows × {peers} remote hosts × {PEER} B");
                let keys = format!("{at}.application.{} with {at}.count", application.name());
                sum.add(&keys, text, count * peers * PEER, false);
            }
            let connections = application.connections() as f64;
            if connections > 0.0 {
                let text = format!("{count} flows × {connections} connections × {CONNECTION} B");
                let keys = format!("{at}.application.{} with {at}.count", application.name());
                sum.add(&keys, text, count * connections * CONNECTION, false);
            }
            let own = application.own_bytes();
            if own.each > 0.0 {
                let keys = format!("{at}.application.{} with {at}.count", own.keys);
                let text = format!("{count} flows × {}", own.text);
                sum.add(&keys, text, count * own.each, false);
            }
            if let ApplicationConfig::Replay(replay) = application {
                let packets = (replay.up.len() + replay.down.len()) as f64;
                let text = format!("{packets} packets × {REPLAYED} B");
                sum.add(
                    &format!("{at}.application.replay"),
                    text,
                    packets * REPLAYED,
                    false,
                );
            }
            let rate = network
                .slowest(group)
                .map_or(f64::INFINITY, |(_, rate)| rate);
            let samples = samples(group, network.duration, rate).floor();
            if samples > 0.0 {
                let keys = format!(
                    "{at}.application.{} with duration and {at}.count",
                    application.name()
                );
                let text = format!("{count} flows × {samples} samples × {SAMPLE_ROW} B");
                sum.add(&keys, text, count * samples * SAMPLE_ROW, true);
            }
            let sent = datagrams(group).pps.into_iter().sum::<f64>() * network.duration;
            let delays = if fills_queues(group) {
                f64::INFINITY
            } else {
                sent.ceil()
            };
            let rows = delays.min(HISTOGRAM_ROWS);
            let text = format!("{count} flows × 2 histograms × {rows} rows × {HISTOGRAM_ROW} B");
            sum.add(
                &format!("{at}.count"),
                text,
                count * 2.0 * rows * HISTOGRAM_ROW,
                true,
            );
            let octaves = delays.min(OCTAVES);
            let text = format!("{count} flows × 2 histograms × {octaves} octaves × {OCTAVE} B");
            sum.add(
                &format!("{at}.count"),
                text,
                count * 2.0 * octaves * OCTAVE,
                false,
            );
        }
    }
}

/// The flows under the names they are written with, in order.
fn by_name(groups: &[GroupPlan]) -> BTreeMap<&str, Vec<&GroupPlan>> {
    let mut found: BTreeMap<&str, Vec<&GroupPlan>> = BTreeMap::new();
    for group in groups {
        found.entry(written(group)).or_default().push(group);
    }
    found
}

/// Queues that a discipline makes from the start, and the bytes of each, with its law.
fn inner_queues(config: &QueueConfig) -> (f64, f64) {
    const PLAIN: f64 = 96.0;
    const WITH_CODEL: f64 = 336.0;
    const WITH_COBALT: f64 = 400.0;
    const WITH_PIE: f64 = 500.0;
    const WITH_CBT: f64 = 560.0;
    let made = |queues: u32, hash: &hash::Config| {
        // Each flow's own are made as flows come.
        if hash.isolation == hash::Isolation::Perfect {
            0.0
        } else {
            f64::from(queues)
        }
    };
    let under = |law: &QueueConfig| match law {
        QueueConfig::DropTail(_) | QueueConfig::None(_) => PLAIN,
        QueueConfig::Cbt(_) => WITH_CBT,
        QueueConfig::Pie(_) => WITH_PIE,
        _ => WITH_CODEL,
    };
    match config {
        QueueConfig::Cake(queue) => (f64::from(queue.queues()), WITH_COBALT),
        QueueConfig::Drr(queue) => (made(queue.queues, &queue.hash), under(&queue.law)),
        QueueConfig::FqCodel(queue) => (made(queue.queues, &queue.hash), WITH_CODEL),
        QueueConfig::FqPie(queue) => (made(queue.queues, &queue.hash), WITH_PIE),
        QueueConfig::Sfq(queue) => (made(queue.queues, &queue.hash), under(&queue.law)),
        QueueConfig::SfqCodel(queue) => (made(queue.queues, &queue.hash), WITH_CODEL),
        QueueConfig::SfqPie(queue) => (made(queue.queues, &queue.hash), PLAIN),
        _ => (0.0, PLAIN),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Format;

    fn parse(text: &str) -> Scenario {
        Scenario::parse(text, Format::Toml, &[], &BTreeMap::new()).expect(text)
    }

    /// A line at 8 Mbit/s, a million bytes a second, that holds `queue`, with a flow.
    fn line(queue: &str, flow: &str) -> String {
        format!(
            "duration = '100 s'\nresults.interval = '100 ms'\n[link.line.point_to_point]\n\
             up = {{ rate = '8 Mbit/s', delay = '5 ms', queue = {queue} }}\n[flow.f]\n{flow}\n"
        )
    }

    /// The part whose keys begin with `keys`.
    fn part<'a>(parts: &'a [MemoryItem], keys: &str) -> &'a MemoryItem {
        let mut found = parts.iter().filter(|part| part.keys.starts_with(keys));
        found.next().unwrap_or_else(|| panic!("{keys}: {parts:#?}"))
    }

    #[test]
    fn the_largest_comes_first() {
        let parts = parse(&line("'drop_tail'", "application = 'bulk'")).memory();
        assert!(parts.len() > 3);
        assert!(parts.is_sorted_by(|one, other| one.bytes >= other.bytes));
    }

    #[test]
    fn rows_are_directions_times_intervals() {
        let flow = "application = 'bulk'\ncount = 30";
        let parts = parse(&line("'drop_tail'", flow)).memory();
        let rows = part(&parts, "results.interval with duration and flow");
        assert_eq!(rows.text, "60 flow directions × 1000 intervals × 360 B");
        assert_eq!(rows.bytes, 60 * 1000 * 360);
        let rows = part(&parts, "results.interval with duration and link");
        assert_eq!(rows.text, "2 queues × 1000 intervals × 420 B");
        assert!(rows.is_table);
    }

    #[test]
    fn a_histogram_has_no_more_octaves_than_delays() {
        let octaves = |flow: &str| {
            let parts = parse(&line("'drop_tail'", flow)).memory();
            let of = |keys: &str| {
                let mut found = (parts.iter()).filter(|part| part.text.contains(" octaves × "));
                found.find(|part| part.keys == keys).map(|part| part.bytes)
            };
            [of("flow.f.count"), of("link")]
        };
        let busy = octaves("application = 'bulk'\ncount = 30");
        assert_eq!(busy, [Some(30 * 2 * 6 * 8192), Some(2 * 6 * 8192)]);
        let seldom =
            "direction = 'up'\napplication = { cbr = { rate = '240 bit/s', size = '1000 B' } }";
        assert_eq!(octaves(seldom), [Some(2 * 3 * 8192), Some(3 * 8192)]);
    }

    #[test]
    fn of_many_connections_only_those_have_rows_that_are_sampled() {
        let flow = "application = { torrent = { connections = 100 } }\ncount = 10";
        let parts = parse(&line("'drop_tail'", flow)).memory();
        let rows = (parts.iter()).find(|part| part.text.contains(" connections × 1000 intervals"));
        let sampled = u64::from(sampled_connections(10)) * 10;
        assert_eq!(rows.map(|rows| rows.bytes), Some(sampled * 1000 * 320));
        assert!(sampled < 1000);
    }

    #[test]
    fn a_queue_that_no_flow_passes_has_no_rows() {
        let text = "duration = '10 s'\nresults.interval = '1 s'\n[link.cable.docsis.modem.home]\n\
                    count = 1000\n[host.home]\nvia = ['cable.home']\n[flow.f]\nhost = 'home'\n\
                    on = '1-3'\napplication = 'ping'\n";
        let parts = parse(text).memory();
        let rows = part(&parts, "results.interval with duration and link");
        assert_eq!(rows.text, "6 queues × 10 intervals × 420 B");
        let modems = part(&parts, "link.cable.docsis.modem");
        assert_eq!(modems.bytes, 1000 * 25_000);
    }

    #[test]
    fn pings_are_samples_and_those_that_wait() {
        let flow = "application = { ping = { interval = '1 ms', timeout = '2 s' } }\ncount = 10";
        let parts = parse(&line("'drop_tail'", flow)).memory();
        let samples = part(&parts, "flow.f.application.ping with duration");
        assert_eq!(samples.bytes, 10 * 100_000 * 330);
        let waiting = part(&parts, "flow.f.application.ping.timeout");
        assert_eq!(waiting.bytes, 10 * 2000 * 24);
    }

    #[test]
    fn an_overloaded_queue_fills_up_to_its_limit_and_one_without_all_the_time() {
        let flow =
            "direction = 'up'\napplication = { cbr = { rate = '16 Mbit/s', size = '1000 B' } }";
        let waiting = |queue: &str| {
            let parts = parse(&line(queue, flow)).memory();
            part(&parts, "link.line.point_to_point.up.queue")
                .text
                .clone()
        };
        let told = |packets: u64| format!("{packets} packets that wait in 1 queues × 120 B");
        assert_eq!(
            waiting("{ drop_tail = { limit = '500 packets' } }"),
            told(500)
        );
        assert_eq!(waiting("{ drop_tail = { limit = '2 MB' } }"), told(2000));
        assert_eq!(waiting("{ drop_tail = { limit = '3 s' } }"), told(3000));
        // A thousand packets a second too many, in 100 s, and what comes at once.
        assert_eq!(waiting("'none'"), told(100_200));
    }

    #[test]
    fn a_queue_with_room_to_spare_stays_nearly_empty() {
        let flow =
            "direction = 'up'\napplication = { cbr = { rate = '4 Mbit/s', size = '1000 B' } }";
        let parts = parse(&line("{ drop_tail = { limit = '100 GB' } }", flow)).memory();
        let waiting = part(&parts, "link.line.point_to_point.up.queue");
        assert_eq!(waiting.text, "50 packets that wait in 1 queues × 120 B");
    }

    #[test]
    fn what_is_under_way_is_rate_times_delay() {
        let flow = "direction = 'down'\nrtt = '20 s'\npath = { jitter = '0 s' }\n\
                    application = { cbr = { rate = '80 Mbit/s', size = '1000 B' } }";
        let parts = parse(&line("'drop_tail'", flow)).memory();
        let under_way = part(&parts, "flow.f.rtt");
        assert_eq!(under_way.text, "100000 packets under way × 120 B");
        let link = part(&parts, "link.line.point_to_point.down.delay");
        assert_eq!(link.text, "5 packets under way × 120 B");
    }

    #[test]
    fn tcp_has_outstanding_what_windows_and_the_way_let_it() {
        let segments = |queue: &str, more: &str| {
            let flow = format!("application = 'bulk'\ndirection = 'up'\nrtt = '90 ms'\n{more}");
            let parts = parse(&line(queue, &flow)).memory();
            part(&parts, "flow.f.tcp").bytes / 200
        };
        let narrow = "tcp = { receive_window = '64 KiB' }";
        assert_eq!(segments("'none'", narrow), 65_536_u64.div_ceil(1448));
        assert_eq!(
            segments("'none'", &format!("{narrow}\ncount = 10")),
            655_360_u64.div_ceil(1448)
        );
        // Twice what waits and what is under way, however many share it.
        let wide = "tcp = { receive_window = '1 GiB', send_buffer = 'unlimited' }\ncount = 10";
        let held: u64 = 2 * (300_000 + 95_000);
        assert_eq!(
            segments("{ drop_tail = { limit = '300 kB' } }", wide),
            held.div_ceil(1448)
        );
        // Windows grow by what is acknowledged.
        let all = segments("'none'", wide);
        assert!(
            (100_000_000 / 1448..210_000_000 / 1448).contains(&all),
            "{all}"
        );
    }

    #[test]
    fn tcp_that_is_far_has_little_time_to_grow() {
        let flow = "application = 'bulk'\nrtt = '60 s'\n\
                    tcp = { receive_window = '1 GiB', send_buffer = 'unlimited', initial_window = \
                    10 }";
        let parts = parse(&line("'none'", flow)).memory();
        let segments = part(&parts, "flow.f.tcp").bytes / 200;
        // A run of 100 s sees two round trips begin.
        assert!((10..=90).contains(&segments), "{segments}");
    }

    #[test]
    fn queues_in_queues_count_with_every_modem() {
        let text = "duration = '1 s'\n[link.cable.docsis]\n\
                    upstream.queue = { fq_codel = { queues = 65536 } }\n\
                    [link.cable.docsis.modem.home]\ncount = 100\n[host.home]\n\
                    via = ['cable.home']\n[flow.f]\nhost = 'home'\napplication = 'ping'\n";
        let parts = parse(text).memory();
        let queues = &parts[0];
        assert_eq!(
            queues.keys,
            "link.cable.docsis.upstream.queue.fq_codel.queues"
        );
        assert_eq!(queues.text, "6553600 queues of flows × 336 B");
    }

    #[test]
    fn a_capture_of_whole_packets_holds_what_a_step_of_a_run_brings() {
        let capture = |snaplen: &str| {
            let flow = format!(
                "application = {{ cbr = {{ size = '9000 B' }} }}\n[results.capture]\n\
                 points = ['f']\nsnaplen = '{snaplen}'"
            );
            part(
                &parse(&line("'drop_tail'", &flow)).memory(),
                "results.capture",
            )
            .bytes
        };
        assert_eq!(capture("80 B"), 100_000_000 + 40_000 * 80);
        assert_eq!(capture("65535 B"), 100_000_000 + 40_000 * 9000);
    }

    #[test]
    fn what_no_number_holds_is_the_largest() {
        let mut sum = Sum::default();
        sum.add("a", String::new(), 1e300, false);
        sum.add("b", String::new(), 0.0, false);
        assert_eq!(sum.items()[0].bytes, u64::MAX);
    }

    /// Plans are made before the memory of a run is estimated, so the check of plans refuses them.
    #[test]
    fn too_many_remote_hosts_are_refused_before_they_are_made() {
        let flow = "count = 10000\napplication = { web = { servers = 1000, resources = 10 } }";
        let text = line("'drop_tail'", flow);
        let error = Scenario::parse(&text, Format::Toml, &[], &BTreeMap::new());
        let error = error.expect_err("they are too many").to_string();
        assert!(
            error.contains(
                "10000 flows × 1000 remote hosts make 10000000 of them, more than 1000000"
            ),
            "{error}"
        );
    }
}
