//! The sound of one call, and its score.

use super::{Config, REPORT};
use crate::flow::FlowId;
use crate::metrics::measure::{Felt, Kind, Unit};
use crate::metrics::voice::Scorer;
use crate::packet::Side;
use crate::time::Duration;
use crate::traffic::stream::{Pace, Phase, Stream};
use crate::traffic::{AppContext, Direction};

/// One sample for each scoring period: the mean opinion score.
pub(super) static MOS: Kind = Kind {
    scale: "MOS",
    is_rising: true,
    range: Some((1.0, 4.5)),
    is_periodic: true,
    felt: Felt::AtOnce,
    place: 10,
    compared_by: &[("MOS p50", "p50"), ("MOS p5", "p5")],
    ..Kind::new(
        "mos",
        Unit::Number,
        "Score of a telephone call from 1 to 5, by the E-model (ITU-T G.107).",
    )
};

/// One sample for each scoring period.
pub(super) static LATE: Kind = Kind {
    is_periodic: true,
    ..Kind::new(
        "late",
        Unit::Share,
        "Share of a call's packets that came after their playout time.",
    )
};

/// Packets of sound both ways, or one way.
#[derive(Debug)]
pub(super) struct Talk {
    stream: Stream,
    /// By the side that talks.
    scorers: [Scorer; 2],
    flow: Option<FlowId>,
    /// Whether a period is over and not scored yet.
    waits: bool,
}

impl Talk {
    /// Sound that begins when it is started.
    pub(super) fn new(config: &Config, direction: Direction) -> Self {
        let pace = Pace::every(config.interval);
        let scorer = || Scorer::new(config.scoring.clone(), config.codec, config.interval);
        Self {
            stream: Stream::new(pace, config.size(), Phase::Random, direction.sides()),
            scorers: [scorer(), scorer()],
            flow: None,
            waits: false,
        }
    }

    pub(super) fn start(&mut self, cx: &mut AppContext<'_>) {
        self.stream.start(cx);
        self.flow = self.stream.flow();
    }

    /// A side's next packet is due.
    pub(super) fn tick(&mut self, token: u64, cx: &mut AppContext<'_>) {
        // First the scores that are due by now: a new period takes the place of one that is scored.
        self.report(cx);
        if let Some((side, number)) = self.stream.tick(token, cx) {
            let scorer = &mut self.scorers[side.index()];
            if number == 0 {
                scorer.begin_before(cx.warming_up());
            }
            scorer.sent(number, cx.now);
            self.waits |= scorer.deadline().is_some();
        }
    }

    /// Whether it travels on this flow: what arrives on that of a call before does not count.
    pub(super) fn is_on(&self, flow: FlowId) -> bool {
        self.flow == Some(flow)
    }

    /// Packet `number` has arrived at a side after `delay`.
    pub(super) fn arrived(
        &mut self,
        at: Side,
        number: u64,
        delay: Duration,
        cx: &mut AppContext<'_>,
    ) {
        self.scorers[at.other().index()].arrived(number, delay);
        self.report(cx);
    }

    /// Sends no more. A period that is over is still scored; one that was cut short is not.
    pub(super) fn stop(&mut self, cx: &mut AppContext<'_>) {
        self.stream.stop();
        for scorer in &self.scorers {
            if let Some(deadline) = scorer.deadline() {
                cx.wake_at(deadline.max(cx.now), REPORT);
            }
        }
    }

    /// Reports the scores that are due.
    pub(super) fn report(&mut self, cx: &mut AppContext<'_>) {
        if !self.waits {
            return;
        }
        for (scorer, side) in self.scorers.iter_mut().zip(Side::BOTH) {
            while let Some(score) = scorer.score_due(cx.now) {
                let period = scorer.period();
                cx.measure_over(period, score.ended, MOS.of(side), score.mos);
                cx.measure_over(period, score.ended, LATE.of(side), score.late);
            }
        }
        self.waits = (self.scorers.iter()).any(|scorer| scorer.deadline().is_some());
    }
}
