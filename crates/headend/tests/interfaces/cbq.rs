//! A class that may not borrow, in a whole simulation: the queue dequeues nothing although packets
//! wait, and later wakes the line.

use headend::packet::Ecn;
use headend::qdisc::{Cbq, cbq};
use headend::time::Duration;

use super::scene::{RATE, Source, run};

#[test]
fn a_class_that_may_not_borrow_keeps_to_its_share_of_an_idle_link_and_is_not_forgotten() {
    let mut config = cbq::Config::default();
    let untagged = config.class.get_mut("untagged");
    untagged.expect("a class of the paper").borrow = false;
    let queue = Cbq::new(&config, RATE).expect("the classes can share a link");
    let source = |us, dscp| Source {
        gap: Duration::from_micros(us),
        size: 1000,
        ecn: Ecn::NotEct,
        dscp,
    };
    // 10 Mbit/s of packets of the class with 5 %, and a tagged packet every 100 ms.
    let outcomes = run(Box::new(queue), &[source(800, 0), source(100_000, 34)]);
    let rate = outcomes[0].rate();
    assert!((0.475..0.525).contains(&rate), "{rate} Mbit/s");
    assert_eq!(outcomes[1].discarded(), 0);
    // A tagged packet waits for at most one packet of the other class.
    assert!(
        outcomes[1].longest_delay < Duration::from_micros(1700),
        "{:?}",
        outcomes[1]
    );
}
