//! The dual queue with coupled laws (RFC 9332) in a whole simulation: low latency for flows that
//! respond to marks, PI2 for the others.

use headend::packet::Ecn;
use headend::qdisc::QueueConfig;
use headend::rng::Rng;
use headend::time::Duration;
use headend::trace::DropReason;

use super::scene::{Outcome, RATE, Source, run};

#[test]
fn two_backlogs_under_one_coupled_law_mark_in_one_and_drop_in_the_other() {
    let source = |us, ecn| Source {
        gap: Duration::from_micros(us),
        size: 1000,
        ecn,
        dscp: 0,
    };
    // 2 Mbit/s of a flow that is ECT(1), and 9 Mbit/s of one that is not: 1 Mbit/s more than the
    // line carries.
    let sources = [
        source(4000, Ecn::Ect1),
        source(889, Ecn::NotEct),
        source(100_000, Ecn::Ect0),
    ];
    let dualpi2 = QueueConfig::named("dualpi2")
        .expect("it is one of the queues")
        .build(RATE, Rng::for_path(1, "queue"))
        .expect("the defaults are valid");
    let [low, classic, capable] = run(dualpi2, &sources)
        .try_into()
        .expect("an outcome for each source");
    assert_eq!(low.discarded(), 0);
    let [fast, slow] = [&low, &classic].map(Outcome::mean_delay);
    assert!(
        fast < Duration::from_millis(4) && slow > fast * 4,
        "{fast} and {slow}"
    );
    assert!(low.marked > 1000 && classic.marked == 0);
    assert!(classic.discarded_as(DropReason::Congested) > 1000);
    assert!(
        capable.marked > 0,
        "a classic packet that is ECN-capable is marked too"
    );
}
