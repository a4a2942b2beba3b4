//! A dual queue with coupled laws (RFC 9332): low latency for those who answer marks, PI2 for the others.

use headend::context::{Context, QueueInternals};
use headend::packet::{Ecn, Packet};
use headend::qdisc::{Backlog, BacklogLimit, Depth, LineView, QueueDiscipline};
use headend::rng::Rng;
use headend::time::{Duration, Instant};
use headend::trace::DropReason;

use super::scene::{Controller, Outcome, Source, run, seconds, signal};

const UPDATE: Duration = Duration::from_millis(16);
const COUPLING: f64 = 2.0;
/// RFC 9332 §4.2.2: a low-latency packet goes first unless a classic one has waited so much longer.
const SHIFT: Duration = Duration::from_millis(30);
const STEP: Duration = Duration::from_millis(1);

#[derive(Debug)]
struct DualQ {
    low: Backlog,
    classic: Backlog,
    controller: Controller,
    next_update: Instant,
    rng: Rng,
}

impl DualQ {
    fn new() -> Self {
        Self {
            low: Backlog::new(BacklogLimit::Bytes(312_500)),
            classic: Backlog::new(BacklogLimit::Bytes(312_500)),
            // RFC 9332 appendix A.1, per update: alpha 0.16 and beta 3.2 Hz.
            controller: Controller::new(0.16, 3.2, 0.015),
            next_update: Instant::ZERO + UPDATE,
            rng: Rng::for_path(1, "queue"),
        }
    }

    /// The time-shifted FIFO: both heads are looked at, neither is promised.
    fn is_lows_turn(&self) -> bool {
        match (self.low.head(), self.classic.head()) {
            (Some(low), Some(classic)) => low.enqueued_at <= classic.enqueued_at + SHIFT,
            (low, _) => low.is_some(),
        }
    }

    fn take_low(&mut self, line: &LineView<'_>, cx: &mut Context<'_>) -> Option<Packet> {
        let mut packet = self.low.pop(line)?;
        let waited = cx.now - packet.enqueued_at;
        let coupled = COUPLING * self.controller.probability;
        if waited > STEP || self.rng.uniform() < coupled {
            cx.mark(&mut packet);
        }
        Some(packet)
    }

    fn take_classic(&mut self, line: &LineView<'_>, cx: &mut Context<'_>) -> Option<Packet> {
        loop {
            let packet = self.classic.pop(line)?;
            // Squared: the larger of two draws.
            let larger = self.rng.uniform().max(self.rng.uniform());
            if larger >= self.controller.probability {
                return Some(packet);
            }
            if let Some(marked) = signal(packet, cx) {
                return Some(marked);
            }
        }
    }
}

impl QueueDiscipline for DualQ {
    fn enqueue(&mut self, packet: Packet, line: &LineView<'_>, cx: &mut Context<'_>) {
        let is_low = matches!(packet.ecn, Ecn::Ect1 | Ecn::Ce);
        let backlog = if is_low {
            &mut self.low
        } else {
            &mut self.classic
        };
        backlog.push(packet, line, cx);
    }

    fn dequeue(&mut self, line: &LineView<'_>, cx: &mut Context<'_>) -> Option<Packet> {
        if self.is_lows_turn() {
            return self.take_low(line, cx);
        }
        // The law may have discarded all of the classic queue.
        self.take_classic(line, cx)
            .or_else(|| self.take_low(line, cx))
    }

    fn depth(&self) -> Depth {
        let (low, classic) = (self.low.depth(), self.classic.depth());
        Depth {
            packets: low.packets + classic.packets,
            bytes: low.bytes + classic.bytes,
        }
    }

    fn next_update(&self) -> Option<Instant> {
        let is_at_rest = self.depth().packets == 0 && self.controller.is_at_rest();
        (!is_at_rest).then_some(self.next_update)
    }

    fn update(&mut self, line: &LineView<'_>, cx: &mut Context<'_>) {
        self.controller
            .update(seconds(self.classic.depth().bytes, line));
        self.next_update = cx.now + UPDATE;
    }

    fn internals(&self) -> QueueInternals {
        let drop_probability = Some(self.controller.probability);
        QueueInternals {
            drop_probability,
            ..QueueInternals::default()
        }
    }
}

#[test]
fn two_backlogs_under_one_coupled_law_mark_in_one_and_drop_in_the_other() {
    let source = |us, ecn| Source {
        gap: Duration::from_micros(us),
        size: 1000,
        ecn,
        dscp: 0,
    };
    // 2 Mbit/s that answer marks, 9 Mbit/s that do not: a megabit too much.
    let sources = [
        source(4000, Ecn::Ect1),
        source(889, Ecn::NotEct),
        source(100_000, Ecn::Ect0),
    ];
    let [low, classic, capable] = run(Box::new(DualQ::new()), &sources)
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
