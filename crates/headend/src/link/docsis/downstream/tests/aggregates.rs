//! Tests of aggregates: a classic and a low-latency flow that share limits, a weight and a turn.

use std::sync::{Arc, Mutex};

use super::*;
use crate::aqm::DropTail;
use crate::qdisc::Fifo;
use crate::queue::{BacklogLimit, Coupling, Depth};

/// Index of the classic flow of the first aggregate.
const CLASSIC: usize = 0;
/// Index of its low-latency flow.
const LOW: usize = 1;

fn limits(sustained: u64) -> Limits {
    Limits {
        sustained: Some(Rate(sustained)),
        burst: 3044,
        peak: None,
        peak_burst: 0,
    }
}

/// An aggregate of flows 0 and 1.
fn aggregate(limits: Limits, weight: u8) -> Aggregate {
    Aggregate {
        classic: CLASSIC,
        low: LOW,
        limits,
        weight,
        coupling: 2.0,
    }
}

const UNLIMITED: Limits = Limits {
    sustained: None,
    burst: 0,
    peak: None,
    peak_burst: 0,
};

/// An aggregate of two flows without limits of their own, and further flows after them.
fn plain(aggregate: Aggregate, others: &[Wanted], capacity: u64) -> Plain {
    let own = [Wanted::BEST_EFFORT, Wanted::BEST_EFFORT];
    let wanted = [&own, others].concat();
    Plain::with_aggregates(&wanted, &[aggregate], capacity)
}

/// What a queue has seen of its line in each call: the rate at which it drains, and the coupling.
type Seen = Arc<Mutex<Vec<(Rate, Option<Coupling>)>>>;

/// A FIFO that redirects every `redirects`-th packet (zero: none), that has this base probability,
/// and that notes what it sees of its line.
#[derive(Debug)]
struct Probe {
    fifo: Fifo<DropTail>,
    redirects: u64,
    arrived: u64,
    redirected: Vec<Packet>,
    base: Option<f64>,
    seen: Seen,
}

impl Probe {
    fn new(redirects: u64, base: Option<f64>, seen: &Seen) -> Box<Self> {
        Box::new(Self {
            fifo: Fifo::new(BacklogLimit::Unlimited, DropTail),
            redirects,
            arrived: 0,
            redirected: Vec::new(),
            base,
            seen: Arc::clone(seen),
        })
    }

    fn look(&self, line: &LineView<'_>) {
        let drain = line.shaper.expect("a cable line has one").sustained();
        let mut seen = self.seen.lock().expect("one thread");
        seen.push((drain, line.coupling));
    }
}

impl QueueDiscipline for Probe {
    fn enqueue(&mut self, packet: Packet, line: &LineView<'_>, cx: &mut Context<'_>) {
        self.look(line);
        self.arrived += 1;
        if self.redirects > 0 && self.arrived.is_multiple_of(self.redirects) {
            self.redirected.push(packet);
        } else {
            self.fifo.enqueue(packet, line, cx);
        }
    }

    fn dequeue(&mut self, line: &LineView<'_>, cx: &mut Context<'_>) -> Option<Packet> {
        self.look(line);
        self.fifo.dequeue(line, cx)
    }

    fn release(&mut self, line: &LineView<'_>) -> Option<Packet> {
        self.fifo.release(line)
    }

    fn depth(&self) -> Depth {
        self.fifo.depth()
    }

    fn base_probability(&self) -> Option<f64> {
        self.base
    }

    fn take_redirected(&mut self) -> Option<Packet> {
        self.redirected.pop()
    }
}

impl Plain {
    fn probe(&mut self, flow: usize, redirects: u64, base: Option<f64>) -> Seen {
        let seen = Seen::default();
        let mut cx = Context::new(self.now, &mut self.world, Source::Link(0));
        let probe = Probe::new(redirects, base, &seen);
        self.downstream.replace_queue(flow, probe, &mut cx);
        seen
    }

    fn depth(&self, flow: usize) -> u64 {
        self.downstream.flows[flow].queue.depth().packets
    }
}

#[test]
fn the_weight_divides_the_rate_of_an_aggregate_while_both_queues_have_packets() {
    for weight in [26, 128, 230, 255] {
        for sizes in [[1500, 1500], [1500, 200], [200, 1500], [40, 1000]] {
            let mut plain = plain(aggregate(limits(50 * MBIT), weight), &[], 300 * MBIT);
            let rates = plain.overload(&sizes, SECOND);
            let [classic, low] = [rates[CLASSIC], rates[LOW]];
            let share = low / (low + classic);
            let expected = f64::from(weight) / 256.0;
            assert!(
                (share - expected).abs() < 0.01,
                "weight {weight}, sizes {sizes:?}: {share}"
            );
            assert_rates(&[low + classic], &[50 * MBIT], 0.01);
            plain.assert_conserved();
        }
    }
}

#[test]
fn the_weight_holds_also_where_the_channel_is_the_limit() {
    let mut plain = plain(aggregate(UNLIMITED, 230), &[], 20 * MBIT);
    let rates = plain.overload(&[1500, 700], SECOND * 2);
    let share = rates[LOW] / (rates[LOW] + rates[CLASSIC]);
    assert!((share - 230.0 / 256.0).abs() < 0.01, "{share}");
}

#[test]
fn a_queue_whose_neighbour_is_idle_has_the_whole_rate() {
    for busy in [CLASSIC, LOW] {
        let mut plain = plain(aggregate(limits(50 * MBIT), 230), &[], 300 * MBIT);
        let mut sizes = [0, 0];
        sizes[busy] = 1500;
        let rates = plain.overload(&sizes, SECOND);
        assert_rates(&[rates[busy]], &[50 * MBIT], 0.01);
        assert!(rates[1 - busy] < 1.0, "{rates:?}");
    }
}

#[test]
fn a_sparse_low_latency_packet_waits_for_one_classic_packet_at_most() {
    let mut plain = plain(aggregate(limits(10 * MBIT), 230), &[], 300 * MBIT);
    let mut waits = Vec::new();
    for _ in 0..200 {
        plain.overload(&[1500, 0], Duration::from_micros(10_700));
        let (before, start) = (plain.out.len(), plain.now);
        plain.arrive(LOW, 200);
        plain.overload(&[1500, 0], Duration::from_millis(5));
        let sent = plain.out[before..].iter().find(|(_, flow, _)| *flow == LOW);
        waits.push(sent.expect("five milliseconds are enough").0 - start);
    }
    // The tokens of a classic packet and of its own, their transmission, and the way to the modem.
    let timing = Plant::docsis30().downstream_timing();
    let tokens = Rate(10 * MBIT).time_for(1518 + 218);
    let transmission = Rate(300 * MBIT).time_for(1518 + 218 + 2 * timing.mac_header);
    let most = tokens + transmission + (timing.delivery(Instant::ZERO) - Instant::ZERO);
    let longest = *waits.iter().max().expect("some");
    assert!(longest <= most, "{longest} instead of {most}");
}

#[test]
fn an_aggregate_is_one_member_of_the_scheduler() {
    let mut plain = plain(aggregate(UNLIMITED, 230), &[Wanted::BEST_EFFORT], 30 * MBIT);
    let rates = plain.overload(&[1500, 1500, 1500], SECOND * 2);
    let aggregate = rates[CLASSIC] + rates[LOW];
    assert!((aggregate / rates[2] - 1.0).abs() < 0.01, "{rates:?}");
    let share = rates[LOW] / aggregate;
    assert!((share - 230.0 / 256.0).abs() < 0.01, "{share}");
}

#[test]
fn a_limit_of_its_own_holds_for_each_flow() {
    for (limited, own, other) in [(LOW, 8, 42), (CLASSIC, 2, 48)] {
        let mut wanted = [Wanted::BEST_EFFORT, Wanted::BEST_EFFORT];
        wanted[limited] = Wanted::limited(own * MBIT);
        let shared = &[aggregate(limits(50 * MBIT), 230)];
        let mut plain = Plain::with_aggregates(&wanted, shared, 300 * MBIT);
        let rates = plain.overload(&[1500, 1500], SECOND * 2);
        assert_rates(&[rates[limited]], &[own * MBIT], 0.01);
        assert_rates(&[rates[1 - limited]], &[other * MBIT], 0.01);
        plain.assert_conserved();
    }
}

#[test]
fn the_burst_and_the_peak_rate_are_those_of_both_flows_together() {
    let shared = Limits {
        sustained: Some(Rate(8 * MBIT)),
        burst: 100_000,
        peak: Some(Rate(80 * MBIT)),
        peak_burst: 3044,
    };
    let mut plain = plain(aggregate(shared, 128), &[], 800 * MBIT);
    for _ in 0..200 {
        plain.arrive(CLASSIC, 1482);
        plain.arrive(LOW, 1482);
    }
    plain.run(Instant::ZERO + SECOND);
    let start = plain.out[0].0;
    let bytes_within = |span: Duration| {
        let sent = plain.out.iter().filter(|(at, _, _)| *at - start <= span);
        sent.map(|(_, _, bytes)| bytes).sum::<u64>()
    };
    // 1500 B each. Peak rate: 10 B/us after 3044 B. Burst: 1 B/us after 100 000 B, from where the
    // lines meet at 10.8 ms on.
    for micros in [1_000, 5_000, 10_000] {
        let expected = 3044 + 10 * micros;
        let found = bytes_within(Duration::from_micros(micros));
        assert!(found.abs_diff(expected) <= 1500, "{micros} us: {found}");
    }
    for micros in [12_000, 100_000, 200_000] {
        let expected = 100_000 + micros;
        let found = bytes_within(Duration::from_micros(micros));
        assert!(found.abs_diff(expected) <= 1500, "{micros} us: {found}");
    }
}

#[test]
fn redirected_packets_are_sent_from_the_classic_queue() {
    let mut plain = plain(aggregate(limits(MBIT), 230), &[], 300 * MBIT);
    plain.probe(LOW, 3, None);
    for _ in 0..30 {
        plain.arrive(LOW, 1000);
    }
    // One packet is on the channel, and the next one waits for tokens.
    assert_eq!(plain.depth(CLASSIC), 10);
    plain.assert_conserved();
    plain.run(plain.now + SECOND);
    assert_eq!(plain.out.len(), 30);
    plain.assert_conserved();
}

#[test]
fn a_new_discipline_may_redirect_what_waits() {
    let mut plain = plain(aggregate(limits(MBIT), 230), &[], 300 * MBIT);
    for _ in 0..22 {
        plain.arrive(LOW, 1000);
    }
    let waiting = plain.depth(LOW);
    plain.probe(LOW, 2, None);
    assert_eq!(plain.depth(CLASSIC), waiting / 2);
    plain.run(plain.now + SECOND);
    assert_eq!(plain.out.len(), 22);
    plain.assert_conserved();
}

#[test]
fn the_queues_see_the_rates_of_the_aggregate_and_the_coupled_probability() {
    let last = |seen: &Seen| *seen.lock().expect("one thread").last().expect("a call");
    for (base, coupled) in [(None, 0.0), (Some(0.1), 0.2), (Some(0.7), 1.0)] {
        let mut plain = plain(aggregate(limits(50 * MBIT), 230), &[], 300 * MBIT);
        let [classic, low] =
            [(CLASSIC, base), (LOW, None)].map(|(flow, base)| plain.probe(flow, 0, base));
        plain.arrive(CLASSIC, 1000);
        plain.arrive(LOW, 1000);
        let expected = Coupling {
            mac_header: Plant::docsis30().downstream_timing().mac_header,
            probability: coupled,
            ..Coupling::default()
        };
        assert_eq!(
            last(&classic),
            (Rate(50 * MBIT), None),
            "an idle low-latency queue"
        );
        assert_eq!(last(&low), (Rate(50 * MBIT), Some(expected)));
        // 25 Mb/s of low-latency packets: the classic queue has the rest.
        for _ in 0..80 {
            plain.arrive(LOW, 607);
            plain.run(plain.now + Duration::from_micros(200));
        }
        plain.run(Instant::ZERO + Duration::from_micros(16_500));
        plain.arrive(CLASSIC, 1000);
        let (rate, coupling) = last(&classic);
        assert!(rate.0.abs_diff(25 * MBIT) < MBIT, "{rate:?}");
        assert_eq!(coupling, None);
    }
}

#[test]
fn a_change_of_the_classic_flow_changes_the_limits_of_the_aggregate() {
    let mut plain = plain(aggregate(limits(10 * MBIT), 230), &[], 300 * MBIT);
    plain.overload(&[1500, 1500], SECOND);
    let seen = plain.probe(LOW, 0, None);
    let mut cx = Context::new(plain.now, &mut plain.world, Source::Link(0));
    let qos = Qos::default();
    (plain.downstream).change(CLASSIC, limits(30 * MBIT), Rate(30 * MBIT), &qos, &mut cx);
    let rates = plain.overload(&[1500, 1500], SECOND);
    assert_rates(&[rates[CLASSIC] + rates[LOW]], &[30 * MBIT], 0.01);
    let seen = seen.lock().expect("one thread");
    assert_eq!(seen.last().expect("a call").0, Rate(30 * MBIT));
    drop(seen);
    plain.assert_conserved();
}

#[test]
fn a_lone_low_latency_packet_costs_no_event_but_its_delivery() {
    let mut plain = plain(aggregate(limits(10 * MBIT), 230), &[], 300 * MBIT);
    plain.arrive(LOW, 1000);
    let mut events = 0;
    while let Some(event) = plain.world.events.pop_until(Instant::FAR_FUTURE) {
        events += 1;
        plain.now = event.at;
        plain.drain();
    }
    assert_eq!((events, plain.out.len()), (1, 1));
}

#[test]
fn rows_of_an_aggregate_show_its_tokens_and_repeat_only_at_rest() {
    let mut plain = plain(aggregate(limits(MBIT), 230), &[], 300 * MBIT);
    let rows = |plain: &mut Plain| {
        let mut rows = Vec::new();
        let mut visit = |row: Option<(QueueId, QueueInternals)>| {
            rows.push(row.map(|(_, row)| row.tokens_bytes));
        };
        plain.downstream.visit_queues(plain.now, &mut visit);
        rows
    };
    plain.arrive(LOW, 982);
    assert_eq!(rows(&mut plain), [Some(Some(2044.0)); 2]);
    plain.run(plain.now + Duration::from_millis(4));
    assert_eq!(rows(&mut plain), [Some(Some(2544.0)); 2]);
    plain.run(plain.now + SECOND);
    for _ in 0..2 {
        assert_eq!(rows(&mut plain), [Some(Some(3044.0)); 2]);
    }
    assert_eq!(rows(&mut plain), [None; 2]);
    plain.arrive(CLASSIC, 982);
    assert_eq!(rows(&mut plain), [Some(Some(2044.0)); 2]);
}

proptest! {
    /// The output of an aggregate obeys its limits over every interval, and that of a flow its own.
    /// Packets are conserved and stay in order within a queue, and no packet is left behind.
    #[test]
    fn output_obeys_the_limits_and_packets_are_conserved(
        rate in 200_000_u64..30_000_000,
        own in prop::option::of(200_000_u64..30_000_000),
        weight in 1_u8..=255,
        capacity in 2_000_000_u64..60_000_000,
        redirects in 0_u64..4,
        steps in prop::collection::vec(
            (0_usize..3, 40_u16..1500, 1_usize..20, 0_u64..20_000),
            1..60,
        ),
    ) {
        let low = own.map_or(Wanted::BEST_EFFORT, Wanted::limited);
        let wanted = [Wanted::BEST_EFFORT, low, Wanted::limited(5 * MBIT)];
        let shared = &[aggregate(limits(rate), weight)];
        let mut plain = Plain::with_aggregates(&wanted, shared, capacity);
        plain.probe(LOW, redirects, None);
        for (flow, size, packets, micros) in steps {
            for _ in 0..packets {
                plain.arrive(flow, size);
            }
            plain.run(plain.now + Duration::from_micros(micros));
            plain.assert_conserved();
        }
        plain.run(plain.now + SECOND * 3600);
        plain.assert_conserved();
        prop_assert_eq!(plain.downstream.held(), 0);
        let obeys = |flows: &[usize], rate: u64| {
            let sent: Vec<(Instant, u64)> = plain.out.iter()
                .filter(|(_, of, _)| flows.contains(of))
                .map(|(at, _, bytes)| (*at, *bytes))
                .collect();
            (0..sent.len()).all(|first| {
                let mut bytes = 0;
                sent[first..].iter().all(|(at, size)| {
                    bytes += size;
                    // Times are those of the ends of packets, so the transmission of the first
                    // packet is part of the interval.
                    let span = (*at - sent[first].0 + Rate(capacity).time_for(1534)).as_secs_f64();
                    bytes as f64 <= rate as f64 * span / 8.0 + 3044.0 + 1.0
                })
            })
        };
        prop_assert!(obeys(&[CLASSIC, LOW], rate));
        if let Some(own) = own && redirects == 0 {
            prop_assert!(obeys(&[LOW], own));
        }
    }
}
