//! Tests with many service flows on one channel: packets enter, and the times of their delivery are
//! checked.

mod aggregates;

use proptest::prelude::*;

use super::*;
use crate::context::World;
use crate::event::{AppId, EventQueue, Source};
use crate::flow::{FlowHeader, FlowId, FlowTable, GroupId, Hop, Port, Protocol};
use crate::line::{Harm, Line};
use crate::link::docsis::preset::Plant;
use crate::link::docsis::qos::Qos;
use crate::link::token_bucket::Limits;
use crate::metrics::Recorder;
use crate::metrics::recorder::{GroupInfo, QueueInfo};
use crate::packet::Side;
use crate::qdisc::QueueConfig;
use crate::rng::Rng;
use crate::time::Duration;

const MBIT: u64 = 1_000_000;
const SECOND: Duration = Duration::from_secs(1);

/// A service flow as a test writes it.
#[derive(Clone)]
struct Wanted {
    sustained: Option<u64>,
    priority: u8,
    reserved: u64,
}

impl Wanted {
    const BEST_EFFORT: Self = Self {
        sustained: None,
        priority: 0,
        reserved: 0,
    };

    fn limited(sustained: u64) -> Self {
        Self {
            sustained: Some(sustained),
            ..Self::BEST_EFFORT
        }
    }
}

/// A downstream with the parts of a simulation that it needs.
struct Plain {
    downstream: Downstream,
    world: World,
    now: Instant,
    sources: Vec<FlowId>,
    /// Time, service flow and MAC PDU bytes of each delivered packet.
    out: Vec<(Instant, usize, u64)>,
}

impl Plain {
    /// Service flows on a channel of `capacity` bit/s.
    fn new(wanted: &[Wanted], capacity: u64) -> Self {
        Self::with_aggregates(wanted, &[], capacity)
    }

    /// Service flows with these aggregates among them, on a channel of `capacity` bit/s.
    fn with_aggregates(wanted: &[Wanted], aggregates: &[Aggregate], capacity: u64) -> Self {
        let mut flows = FlowTable::default();
        let hop = Hop::Link {
            link: 0,
            port: Port(1),
        };
        let route = flows.add_route(vec![hop, Hop::Line(0), Hop::End]);
        let header = || FlowHeader {
            group: GroupId(0),
            app: AppId(0),
            ordinal: 0,
            generation: 0,
            protocol: Protocol::Udp,
            addresses: [1, 2],
            ports: [3, 4],
            dscp: 0,
            user_priority: None,
            tunnel: None,
            routes: [route; 2],
        };
        let sources = wanted.iter().map(|_| flows.open(header())).collect();
        let exit = Line::new(
            Duration::ZERO,
            Duration::ZERO,
            Harm::default(),
            Rng::for_path(1, "exit"),
        );
        let events = EventQueue::new(Duration::from_millis(1), 1);
        let world = World::new(events, flows, vec![exit], recorder(wanted.len()));
        let flows = wanted.iter().enumerate().map(downstream_flow).collect();
        let capacity = RateSchedule::Constant(Rate(capacity));
        let timing = Plant::docsis30().downstream_timing();
        Self {
            downstream: Downstream::new(timing, flows, Some(capacity), Duration::ZERO, aggregates),
            world,
            now: Instant::ZERO,
            sources,
            out: Vec::new(),
        }
    }

    fn arrive(&mut self, flow: usize, size: u16) {
        let packet = Packet::datagram(self.sources[flow], Side::Peer, 0, size, size);
        self.world.entered += 1;
        self.world.flows.entered(self.sources[flow]);
        let mut cx = Context::new(self.now, &mut self.world, Source::Link(0));
        self.downstream.arrive(flow, packet, &mut cx);
    }

    /// Handles all events up to `until`.
    fn run(&mut self, until: Instant) {
        while let Some(event) = self.world.events.pop_until(until) {
            self.now = event.at;
            match event.source {
                Source::Link(_) => {
                    let mut cx = Context::new(self.now, &mut self.world, Source::Link(0));
                    (self.downstream).wake(Wake::from_token(event.token), &mut cx);
                }
                _ => self.drain(),
            }
        }
        self.now = until;
    }

    fn drain(&mut self) {
        let due = loop {
            let due = self.world.lines[0].next_due();
            if due.is_none_or(|due| due > self.now) {
                break due;
            }
            let packet = self.world.lines[0].take();
            let flow = packet.flow.0 as usize;
            (self.out).push((self.now, flow, Framing::ETHERNET.size_on_wire(packet.size)));
            self.world.delivered += 1;
            Context::new(self.now, &mut self.world, Source::Line(0)).end(packet);
        };
        self.world.events.set_line(0, due);
    }

    /// Keeps these flows backlogged with packets of these sizes for `span`. Returns their bit
    /// rates, in MAC PDU bytes.
    fn overload(&mut self, sizes: &[u16], span: Duration) -> Vec<f64> {
        let (start, step) = (self.now, Duration::from_millis(1));
        let first = self.out.len();
        while self.now < start + span {
            for (flow, size) in sizes.iter().enumerate() {
                while *size > 0 && self.downstream.flows[flow].queue.depth().bytes < 20_000 {
                    self.arrive(flow, *size);
                }
            }
            self.run(self.now + step);
        }
        let mut bits = vec![0.0; sizes.len()];
        for (_, flow, bytes) in &self.out[first..] {
            bits[*flow] += *bytes as f64 * 8.0;
        }
        bits.iter().map(|bits| bits / span.as_secs_f64()).collect()
    }

    fn assert_conserved(&self) {
        let world = &self.world;
        let held = self.downstream.held() + world.lines[0].held();
        assert_eq!(world.entered, world.delivered + world.discarded + held);
    }
}

fn downstream_flow((index, wanted): (usize, &Wanted)) -> DownstreamFlow {
    let rate = Rate(wanted.sustained.unwrap_or(100 * MBIT));
    let config = QueueConfig::DropTail(crate::aqm::drop_tail::Config::default());
    let discipline = config
        .build(rate, Rng::for_path(1, "queue"))
        .expect("the default");
    DownstreamFlow {
        modem: index as u32,
        queue: Queue::new(
            QueueId(index as u32),
            discipline,
            Wake::Update(index).token(),
        ),
        limits: Limits {
            sustained: wanted.sustained.map(Rate),
            burst: 3044,
            peak: None,
            peak_burst: 0,
        },
        rate,
        qos: Qos {
            priority: wanted.priority,
            minimum_reserved: Rate(wanted.reserved),
            ..Qos::default()
        },
    }
}

fn recorder(queues: usize) -> Recorder {
    let group = GroupInfo {
        name: "flows".into(),
        application: "test",
        transport: "udp",
        carries_data: [true, true],
        is_bulk: false,
    };
    let queue = |index| QueueInfo {
        name: format!("down.{index}"),
        link: "cable".into(),
        direction: "down",
        discipline: "drop_tail",
        rate_bps: 0,
        limit_bytes: None,
        overhead_bytes: 18,
        map_interval: None,
        service_flow: None,
    };
    let queues = (0..queues).map(queue).collect();
    Recorder::new(vec![group], queues, SECOND, SECOND)
}

#[track_caller]
fn assert_rates(found: &[f64], expected: &[u64], tolerance: f64) {
    for (found, expected) in found.iter().zip(expected) {
        let expected = *expected as f64;
        let near = (found - expected).abs() <= tolerance * expected.max(MBIT as f64);
        assert!(near, "{found:.0} instead of {expected:.0} bit/s");
    }
}

#[test]
fn equal_modems_share_a_short_channel_equally_whatever_their_packets() {
    let mut plain = Plain::new(&[Wanted::BEST_EFFORT; 5], 50 * MBIT);
    let rates = plain.overload(&[1500, 1000, 500, 200, 64], SECOND * 4);
    let [sum, squares] = [1, 2].map(|power| rates.iter().map(|rate| rate.powi(power)).sum::<f64>());
    assert!(sum * sum / (5.0 * squares) > 0.9999, "{rates:?}");
    plain.assert_conserved();
}

#[test]
fn every_service_flow_has_its_own_token_buckets() {
    let tiers = [1, 5, 20, 50].map(|mbit| Wanted::limited(mbit * MBIT));
    let mut plain = Plain::new(&tiers, 300 * MBIT);
    let rates = plain.overload(&[1500; 4], SECOND * 4);
    assert_rates(&rates, &[MBIT, 5 * MBIT, 20 * MBIT, 50 * MBIT], 0.01);
    plain.assert_conserved();
}

#[test]
fn a_higher_priority_is_served_first_and_does_not_suffer_from_overload() {
    let first = Wanted {
        priority: 5,
        ..Wanted::limited(8 * MBIT)
    };
    let mut plain = Plain::new(&[Wanted::BEST_EFFORT, first], 20 * MBIT);
    let rates = plain.overload(&[1500, 200], SECOND * 4);
    assert!((rates[1] - 8e6).abs() < 8e4, "{rates:?}");
    // The rest of the capacity, minus the MAC headers of all packets (16 B each).
    let rest = (20e6 - rates[1] * 234.0 / 218.0) * 1518.0 / 1534.0;
    assert!((rates[0] - rest).abs() < 1e5, "{rates:?} {rest}");
}

#[test]
fn reserved_rates_are_kept_under_overload_by_a_higher_priority() {
    let reserved = |mbit: u64| Wanted {
        reserved: mbit * MBIT,
        ..Wanted::BEST_EFFORT
    };
    let greedy = Wanted {
        priority: 7,
        ..Wanted::BEST_EFFORT
    };
    let mut plain = Plain::new(&[reserved(2), reserved(5), greedy], 20 * MBIT);
    let rates = plain.overload(&[1500, 300, 1500], SECOND * 4);
    assert_rates(&rates[..2], &[2 * MBIT, 5 * MBIT], 0.01);
    assert!(rates[2] > 12e6, "{rates:?}");
}

#[test]
fn what_a_modem_does_not_use_others_may_have() {
    let tiers = [2, 10, 100].map(|mbit| Wanted::limited(mbit * MBIT));
    let mut plain = Plain::new(&tiers, 30 * MBIT);
    let rates = plain.overload(&[1500; 3], SECOND * 4);
    assert_rates(&rates[..2], &[2 * MBIT, 10 * MBIT], 0.01);
    let sum: f64 = rates.iter().sum();
    assert!((sum / 30e6 - 1518.0 / 1534.0).abs() < 0.002, "{rates:?}");
}

#[test]
fn a_change_of_limits_and_priority_holds_from_then_on() {
    let mut plain = Plain::new(&[Wanted::limited(2 * MBIT), Wanted::BEST_EFFORT], 20 * MBIT);
    plain.overload(&[1500; 2], SECOND);
    let limits = Limits {
        sustained: Some(Rate(6 * MBIT)),
        burst: 3044,
        peak: None,
        peak_burst: 0,
    };
    let qos = Qos {
        priority: 3,
        ..Qos::default()
    };
    let mut cx = Context::new(plain.now, &mut plain.world, Source::Link(0));
    (plain.downstream).change(0, limits, Rate(6 * MBIT), &qos, &mut cx);
    let rates = plain.overload(&[1500; 2], SECOND * 4);
    assert!((rates[0] - 6e6).abs() < 6e4, "{rates:?}");
    plain.assert_conserved();
}

#[test]
fn a_new_discipline_gives_up_at_once_what_the_earlier_one_held_back() {
    let mut plain = Plain::new(&[Wanted::BEST_EFFORT], 20 * MBIT);
    let build = |text: &str| {
        let config: QueueConfig = toml::from_str(text).expect("as in a scenario");
        let rng = Rng::for_path(1, "queue");
        config.build(Rate(20 * MBIT), rng).expect("it can be built")
    };
    let slow = build("[cbq.class.all]\nshare = '1 %'\nborrow = false");
    let mut cx = Context::new(plain.now, &mut plain.world, Source::Link(0));
    plain.downstream.replace_queue(0, slow, &mut cx);
    for _ in 0..60 {
        plain.arrive(0, 1500);
    }
    plain.run(plain.now + Duration::from_millis(50));
    let before = plain.out.len();
    assert!(
        before < 30,
        "{before} packets are more than a class's burst"
    );
    let plainest = build("[drop_tail]");
    let mut cx = Context::new(plain.now, &mut plain.world, Source::Link(0));
    plain.downstream.replace_queue(0, plainest, &mut cx);
    plain.run(plain.now + Duration::from_millis(50));
    assert_eq!(plain.out.len(), 60);
    plain.assert_conserved();
}

#[test]
fn an_idle_service_flow_is_served_at_once_and_costs_no_events() {
    let mut plain = Plain::new(&vec![Wanted::limited(MBIT); 1000], 100 * MBIT);
    plain.arrive(700, 1000);
    let mut events = 0;
    while let Some(event) = plain.world.events.pop_until(Instant::FAR_FUTURE) {
        events += 1;
        plain.now = event.at;
        plain.drain();
    }
    assert_eq!((events, plain.out.len()), (1, 1));
}

proptest! {
    /// The output of each service flow obeys its rate and burst over every interval, also if the
    /// channel is overloaded. Only the queues drop packets. The packets of a flow stay in order.
    #[test]
    fn output_obeys_each_flows_limits_and_packets_are_conserved(
        tiers in prop::collection::vec(200_000_u64..30_000_000, 1..5),
        capacity in 2_000_000_u64..60_000_000,
        steps in prop::collection::vec(
            (0_usize..5, 40_u16..1500, 1_usize..20, 0_u64..20_000),
            1..60,
        ),
    ) {
        let wanted: Vec<Wanted> = tiers.iter().map(|rate| Wanted::limited(*rate)).collect();
        let mut plain = Plain::new(&wanted, capacity);
        for (flow, size, packets, micros) in steps {
            for _ in 0..packets {
                plain.arrive(flow % tiers.len(), size);
            }
            plain.run(plain.now + Duration::from_micros(micros));
            plain.assert_conserved();
        }
        plain.run(plain.now + SECOND * 3600);
        plain.assert_conserved();
        prop_assert_eq!(plain.downstream.held(), 0);
        for (flow, rate) in tiers.iter().enumerate() {
            let sent: Vec<(Instant, u64)> = plain.out.iter()
                .filter(|(_, of, _)| *of == flow)
                .map(|(at, _, bytes)| (*at, *bytes))
                .collect();
            for first in 0..sent.len() {
                let mut bytes = 0;
                for (at, size) in &sent[first..] {
                    bytes += size;
                    // Times are those of the ends of packets, so the transmission of the first
                    // packet is part of the interval.
                    let channel = Rate(capacity).time_for(1534);
                    let span = (*at - sent[first].0 + channel).as_secs_f64();
                    prop_assert!(bytes as f64 <= *rate as f64 * span / 8.0 + 3044.0 + 1.0);
                }
            }
        }
    }
}
