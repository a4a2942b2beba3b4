//! The schedulers in a whole simulation: two floods and a call share a line, with every law that
//! the queues of a scheduler may have.

use headend::packet::Ecn;
use headend::qdisc::QueueConfig;
use headend::rng::Rng;
use headend::time::Duration;
use headend::trace::DropReason;

use super::scene::{Outcome, RATE, Source, assert_empty, run};

/// The queue that a scenario writes in this way.
fn queue(text: &str) -> QueueConfig {
    toml::from_str(text).expect("a queue")
}

/// Two floods of 8 Mbit/s each, and a call.
fn compete(config: &QueueConfig) -> Vec<Outcome> {
    let queue = config
        .build(RATE, Rng::for_path(1, "queue"))
        .expect("it can be built");
    assert_empty(queue.depth());
    let flood = |us| Source {
        gap: Duration::from_micros(us),
        size: 1250,
        ecn: Ecn::NotEct,
        dscp: 0,
    };
    let call = Source {
        gap: Duration::from_millis(20),
        size: 200,
        ecn: Ecn::NotEct,
        dscp: 46,
    };
    run(queue, &[flood(1250), flood(1251), call])
}

/// Asserts that the floods share what the call leaves, and that the call hardly waits.
#[track_caller]
fn assert_fair(outcomes: &[Outcome]) {
    let rates: Vec<f64> = outcomes.iter().map(Outcome::rate).collect();
    assert!(
        (rates[0] - 4.96).abs() < 0.1 && (rates[1] - 4.96).abs() < 0.1,
        "{rates:?}"
    );
    assert_eq!(outcomes[2].discarded(), 0, "the call loses nothing");
    // A round of at most two packets of each flood, and the packet in transmission: 5 ms.
    assert!(
        outcomes[2].longest_delay < Duration::from_micros(5200),
        "{:?}",
        outcomes[2]
    );
}

#[test]
fn each_flow_gets_its_share_and_the_call_does_not_wait() {
    for name in ["drr", "fq_codel", "fq_pie", "sfq", "sfq_codel", "sfq_pie"] {
        let outcomes = compete(&queue(&format!("{name}.hash.isolation = 'perfect'")));
        assert_fair(&outcomes);
    }
}

#[test]
fn any_law_can_stand_in_the_queues_of_a_scheduler_and_no_scheduler_can() {
    let is_scheduler = |law: &QueueConfig| law.law(RATE, Rng::for_path(1, "law")).is_err();
    let (schedulers, laws): (Vec<_>, Vec<_>) =
        QueueConfig::all().into_iter().partition(is_scheduler);
    for law in laws {
        let outcomes = compete(&queue(&format!("drr.law = '{}'", law.name())));
        assert_fair(&outcomes);
    }
    for law in schedulers {
        let within = toml::from_str::<QueueConfig>(&format!("sfq.law.{} = {{}}", law.name()))
            .expect("it can be written");
        let refusal = within.build(RATE, Rng::for_path(1, "queue"));
        assert!(refusal.is_err_and(|why| why.contains("scheduler")));
    }
}

#[test]
fn a_law_in_a_scheduler_is_what_keeps_its_queues_short() {
    let alone = compete(&queue("sfq.hash.isolation = 'perfect'"));
    assert_eq!(
        alone[0].discarded(),
        alone[0].discarded_as(DropReason::Overlimit)
    );
    let under_codel = compete(&queue(
        "sfq = { hash.isolation = 'perfect', law = 'codel' }",
    ));
    assert!(under_codel[0].discarded_as(DropReason::Congested) > 0);
    assert!(under_codel[0].mean_delay() < alone[0].mean_delay());
}

#[test]
fn strict_priority_serves_the_call_first_and_the_floods_as_they_come() {
    let outcomes = compete(&queue("strict_priority = {}"));
    assert_eq!(outcomes[2].discarded(), 0);
    // The packet in transmission, and the call's own transmission: 1 ms and 0.16 ms.
    assert!(outcomes[2].longest_delay < Duration::from_micros(1200));
    assert!((outcomes[0].rate() + outcomes[1].rate() - 9.92).abs() < 0.05);
}
