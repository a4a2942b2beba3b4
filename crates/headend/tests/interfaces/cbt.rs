//! Class-based thresholds in a whole simulation: one FIFO, an average for each class, and RED for
//! TCP alone or for all.

use std::collections::BTreeMap;

use headend::aqm::cbt::{Class, Config, RedFor};
use headend::aqm::{Aqm, Cbt, DropTail};
use headend::packet::Ecn;
use headend::qdisc::Fifo;
use headend::queue::{BacklogLimit, Classifier};
use headend::rng::Rng;
use headend::time::Duration;
use headend::trace::DropReason;
use headend::units::Limit;

use super::scene::{Outcome, RATE, Source, run};

const LIMIT: BacklogLimit = BacklogLimit::Packets(60);

/// The thresholds of the paper, for classes by DSCP, because no source here is TCP.
fn cbt(red_for: RedFor) -> Cbt {
    let class = |dscp, packets| Class {
        classifier: Classifier::of_dscp(dscp),
        threshold: Some(Limit::Packets(packets)),
        rate: None,
    };
    let config = Config {
        class: BTreeMap::from([
            ("tagged".to_owned(), class(46, 10)),
            ("other".to_owned(), class(8, 2)),
        ]),
        red_for,
        ..Config::default()
    };
    let law = Cbt::new(&config, RATE, Rng::for_path(1, "queue"));
    law.expect("the parameters are valid")
}

/// 9.6 Mbit/s, as of many TCP connections; 1 Mbit/s of tagged video; 10 Mbit/s of an unresponsive
/// flood.
fn compete(law: impl Aqm + 'static) -> Vec<Outcome> {
    let source = |us, dscp| Source {
        gap: Duration::from_micros(us),
        size: 1000,
        ecn: Ecn::NotEct,
        dscp,
    };
    run(
        Box::new(Fifo::new(LIMIT, law)),
        &[source(833, 0), source(8000, 46), source(800, 8)],
    )
}

#[test]
fn a_class_over_its_threshold_is_held_to_it_and_the_others_keep_the_link() {
    let tail = compete(DropTail);
    assert!(
        tail[2].rate() > 4.0,
        "drop-tail lets the flood through: {}",
        tail[2].rate()
    );
    let cbt = compete(cbt(RedFor::Unbounded));
    assert!(
        cbt[2].rate() < 2.0,
        "the flood is held to {} Mbit/s",
        cbt[2].rate()
    );
    assert!(cbt[0].rate() > 7.0, "TCP keeps {} Mbit/s", cbt[0].rate());
    assert!(cbt[1].rate() > tail[1].rate(), "tagged packets fare better");
    assert_eq!(cbt[0].discarded_as(DropReason::FlowLimit), 0);
    assert!(cbt[2].discarded_as(DropReason::FlowLimit) > 1000);
}

#[test]
fn a_random_victim_may_stand_anywhere_and_be_of_any_class() {
    let cbt = compete(cbt(RedFor::All));
    let victims: Vec<u64> = cbt
        .iter()
        .map(|outcome| outcome.discarded_as(DropReason::Overlimit))
        .collect();
    assert!(
        victims[0] > 0 && victims.iter().sum::<u64>() > victims[0],
        "victims: {victims:?}"
    );
}
