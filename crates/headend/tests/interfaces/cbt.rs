//! Class-based thresholds (Parris, Jeffay and Smith 1999): one FIFO, an average for each class, RED for TCP alone.

use headend::aqm::{Aqm, DropTail};
use headend::context::Context;
use headend::packet::{Ecn, Packet};
use headend::qdisc::{Backlog, BacklogLimit, Fifo, LineView};
use headend::rng::Rng;
use headend::time::Duration;
use headend::trace::DropReason;

use super::scene::{Outcome, Source, run};

const WEIGHT: f64 = 1.0 / 512.0;
const LIMIT: BacklogLimit = BacklogLimit::Packets(60);

/// What is known of one class: TCP, tagged, other.
#[derive(Debug)]
struct Class {
    queued: u64,
    average: f64,
    /// In packets; TCP has none, RED keeps it down.
    threshold: Option<f64>,
}

#[derive(Debug)]
struct Cbt {
    classes: [Class; 3],
    /// Packets let through since RED's last drop.
    count: f64,
    rng: Rng,
}

impl Cbt {
    fn new() -> Self {
        let class = |threshold| Class {
            queued: 0,
            average: 0.0,
            threshold,
        };
        Self {
            classes: [class(None), class(Some(10.0)), class(Some(2.0))],
            count: 0.0,
            rng: Rng::for_path(1, "queue"),
        }
    }

    fn take_in(
        &mut self,
        class: usize,
        backlog: &mut Backlog,
        packet: Packet,
        line: &LineView<'_>,
        cx: &mut Context<'_>,
    ) {
        if backlog.push(packet, line, cx) {
            self.classes[class].queued += 1;
        }
    }

    /// RED's early drop between 15 and 30 packets.
    fn drops_early(&mut self, average: f64) -> bool {
        if average < 15.0 {
            self.count = 0.0;
            return false;
        }
        self.count += 1.0;
        let base = 0.1 * (average - 15.0) / 15.0;
        let drops = self.rng.uniform() * (1.0 - self.count * base).max(0.0) < base;
        if drops {
            self.count = 0.0;
        }
        drops
    }

    /// RED's forced drop: any packet of the queue, or the one that arrives.
    fn drop_at_random(
        &mut self,
        backlog: &mut Backlog,
        packet: Packet,
        line: &LineView<'_>,
        cx: &mut Context<'_>,
    ) {
        let index = self.rng.below(backlog.depth().packets + 1);
        let Some(victim) = backlog.remove(index as usize, line) else {
            cx.discard(packet, DropReason::Overlimit);
            return;
        };
        self.classes[class_of(&victim, cx)].queued -= 1;
        cx.discard(victim, DropReason::Overlimit);
        let class = class_of(&packet, cx);
        self.take_in(class, backlog, packet, line, cx);
    }
}

/// By DSCP, from the flow table: the packet itself does not carry it.
fn class_of(packet: &Packet, cx: &Context<'_>) -> usize {
    match cx.header(packet.flow).dscp {
        0 => 0,
        46 => 1,
        _ => 2,
    }
}

impl Aqm for Cbt {
    fn enqueue(
        &mut self,
        backlog: &mut Backlog,
        packet: Packet,
        line: &LineView<'_>,
        cx: &mut Context<'_>,
    ) {
        let index = class_of(&packet, cx);
        let class = &mut self.classes[index];
        class.average += WEIGHT * (class.queued as f64 - class.average);
        let (average, threshold) = (class.average, class.threshold);
        match threshold {
            Some(threshold) if average > threshold => cx.discard(packet, DropReason::Unresponsive),
            None if average >= 30.0 || !backlog.fits(&packet, line) => {
                self.drop_at_random(backlog, packet, line, cx);
            }
            None if self.drops_early(average) => cx.discard(packet, DropReason::Congested),
            Some(_) | None => self.take_in(index, backlog, packet, line, cx),
        }
    }

    fn dequeue(
        &mut self,
        backlog: &mut Backlog,
        line: &LineView<'_>,
        cx: &mut Context<'_>,
    ) -> Option<Packet> {
        let packet = backlog.pop(line)?;
        self.classes[class_of(&packet, cx)].queued -= 1;
        Some(packet)
    }
}

/// 9.6 Mbit/s as of many TCP connections, 1 Mbit/s of tagged video, 10 Mbit/s of a flood that nobody asked for.
fn compete(law: Box<dyn Aqm>) -> Vec<Outcome> {
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
    let tail = compete(Box::new(DropTail));
    assert!(
        tail[2].rate() > 4.0,
        "drop-tail lets the flood through: {}",
        tail[2].rate()
    );
    let cbt = compete(Box::new(Cbt::new()));
    assert!(
        cbt[2].rate() < 2.0,
        "the flood is held to {} Mbit/s",
        cbt[2].rate()
    );
    assert!(cbt[0].rate() > 7.0, "TCP keeps {} Mbit/s", cbt[0].rate());
    assert!(cbt[1].rate() > tail[1].rate(), "tagged packets fare better");
    assert_eq!(cbt[0].discarded_as(DropReason::Unresponsive), 0);
    assert!(cbt[2].discarded_as(DropReason::Unresponsive) > 1000);
}

#[test]
fn a_random_victim_may_stand_anywhere_and_be_of_any_class() {
    let cbt = compete(Box::new(Cbt::new()));
    let victims: Vec<u64> = cbt
        .iter()
        .map(|outcome| outcome.discarded_as(DropReason::Overlimit))
        .collect();
    assert!(
        victims[0] > 0 && victims.iter().sum::<u64>() > victims[0],
        "victims: {victims:?}"
    );
}
