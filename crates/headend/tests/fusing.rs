//! Departures that are computed in advance (a fused link) or later are an optimisation: no result
//! may differ from that with departure events.

use std::collections::BTreeMap;

use headend::metrics::table::Table;
use headend::scenario::{Format, Scenario};
use headend::simulation::Simulation;
use headend::time::Instant;
use headend::trace::{Sink, TraceEvent, TraceKinds};
use proptest::prelude::*;

/// A sink that records dequeues, which forces a departure event for each packet.
struct Listener;

impl Sink for Listener {
    fn interest(&self) -> TraceKinds {
        TraceKinds::DEQUEUED
    }

    fn record(&mut self, _at: Instant, _event: &TraceEvent) {}
}

fn run(text: &str, listened: bool) -> (Simulation, Vec<(&'static str, Table)>) {
    let scenario = Scenario::parse(text, Format::Toml, &[], &BTreeMap::new());
    let mut simulation = scenario.expect("the scenario makes sense").build(7);
    if listened {
        simulation.add_sink(Box::new(Listener));
    }
    simulation.run_until(Instant::FAR_FUTURE);
    let mut tables = simulation.tables();
    for (_, table) in &mut tables {
        table.columns.retain(|(name, _)| name != "events");
    }
    (simulation, tables)
}

/// Asserts that all results but the number of events are equal. NaN equals NaN.
fn assert_equal(text: &str) {
    let [fused, unfused] = [false, true].map(|listened| run(text, listened));
    assert!(
        fused.0.events() < unfused.0.events(),
        "every departure was an event"
    );
    for ((name, table), (_, expected)) in fused.1.iter().zip(&unfused.1) {
        for (column, other) in table.columns.iter().zip(&expected.columns) {
            assert_eq!(format!("{column:?}"), format!("{other:?}"), "{name}");
        }
    }
}

#[test]
fn framing_shapers_and_policers_give_the_same_tables_with_and_without_departure_events() {
    assert_equal(
        "duration = '5 s'
        warmup = '700 ms'
        results.interval = '90 ms'
        [link.line.point_to_point]
        up.rate = '20 Mbit/s'
        up.framing = 'pppoe_vcmux'
        up.queue.codel.limit = '60 packets'
        up.shaper = { rate = '5 Mbit/s', burst = '20 kB', peak = '10 Mbit/s' }
        down.rate = '20 Mbit/s'
        down.policer = { rate = '15 Mbit/s', burst = '30 kB' }
        [flow.upload]
        application = 'bulk'
        count = 2
        rtt = '20 ms'
        [flow.download]
        application = 'bulk'
        direction = 'down'
        rtt = '20 ms'
        [flow.page]
        application = 'web'
        rtt = '20 ms'
        ",
    );
}

#[test]
fn recorded_lines_give_the_same_tables_with_and_without_departure_events() {
    assert_equal(
        "duration = '5 s'
        warmup = '700 ms'
        results.interval = '90 ms'
        [link.line.point_to_point]
        up.rate = { steps = [['0 s', '8 Mbit/s'], ['900 ms', '0 bit/s']], period = '1 s' }
        up.delay = { steps = [['0 s', '30 ms'], ['200 ms', '5 ms']], period = '400 ms' }
        up.loss = { steps = [['0 s', 0], ['300 ms', '2 %']], period = '500 ms' }
        up.queue.codel.limit = '60 packets'
        down.rate = '20 Mbit/s'
        down.delay = { steps = [['0 s', '10 ms'], ['1 s', '0 s']] }
        down.loss = '0.1 %'
        [flow.upload]
        application = 'bulk'
        count = 2
        rtt = '20 ms'
        [flow.download]
        application = 'bulk'
        direction = 'down'
        rtt = '20 ms'
        [flow.page]
        application = 'web'
        rtt = '20 ms'
        ",
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// The rates, limits and traffic are random. There are two links in a row, and the rates are
    /// round numbers, so that many events have the same time.
    #[test]
    fn departures_in_advance_put_off_and_in_time_give_the_same_tables(
        queue in prop_oneof![Just("drop_tail"), Just("codel")],
        up in 1_u64..20,
        down in 1_u64..20,
        packets in 2_u64..100,
        uploads in 1_u64..3,
        rtt in 0_u64..60,
        jitter in prop_oneof![Just(0_u64), 1_u64..200],
    ) {
        assert_equal(&format!(
            "duration = '3 s'
            warmup = '700 ms'
            results.interval = '90 ms'
            [link.first.point_to_point]
            up.rate = '{up} Mbit/s'
            up.queue.{queue}.limit = '{packets} packets'
            down.rate = '{down} Mbit/s'
            [link.second.point_to_point]
            up.rate = '{down} Mbit/s'
            up.queue.{queue}.limit = '{packets} packets'
            down.rate = '{up} Mbit/s'
            [host.home]
            via = ['first', 'second']
            [flow.upload]
            application = 'bulk'
            count = {uploads}
            host = 'home'
            rtt = '{rtt} ms'
            path.jitter = '{jitter} us'
            [flow.download]
            application = 'bulk'
            direction = 'down'
            host = 'home'
            rtt = '{rtt} ms'
            path.jitter = '{jitter} us'
            [flow.page]
            application = 'web'
            count = 3
            host = 'home'
            rtt = '{rtt} ms'
            path.jitter = '{jitter} us'
            [flow.call]
            application = 'game'
            host = 'home'
            rtt = '{rtt} ms'
            path.jitter = '{jitter} us'
            "
        ));
    }
}
