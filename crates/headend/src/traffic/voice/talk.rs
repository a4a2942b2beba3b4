//! The audio of one call, and its score.

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
    higher_is_better: true,
    range: Some((1.0, 4.5)),
    is_periodic: true,
    felt: Felt::AtOnce,
    place: 10,
    compared_by: &[("MOS p50", "p50"), ("MOS p5", "p5")],
    figure: Some("mos"),
    demand: Some(("p5", "good")),
    ..Kind::new(
        "mos",
        Unit::Number,
        "Score of a telephone call from 1 to 4.5, by the E-model (ITU-T G.107).",
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

/// Audio packets in one or both directions.
#[derive(Debug)]
pub(super) struct Talk {
    stream: Stream,
    /// Scores by the side that sends.
    scorers: [Scorer; 2],
    flow: Option<FlowId>,
    /// Whether a completed period has not been scored yet.
    waits: bool,
}

impl Talk {
    /// Creates audio that begins with [`Self::start`].
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

    /// Sends a side's next packet.
    pub(super) fn tick(&mut self, token: u64, cx: &mut AppContext<'_>) {
        // Scores that are complete are reported first, because a new period replaces a scored one.
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

    /// Whether the call uses this flow. Packets on the flow of an earlier call do not count.
    pub(super) fn is_on(&self, flow: FlowId) -> bool {
        self.flow == Some(flow)
    }

    /// Handles packet `number`, which has arrived at a side after `delay`.
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

    /// Stops sending. A completed period is still scored, an incomplete one is not.
    pub(super) fn stop(&mut self, cx: &mut AppContext<'_>) {
        self.stream.stop();
        for scorer in &self.scorers {
            if let Some(deadline) = scorer.deadline() {
                cx.wake_at(deadline.max(cx.now), REPORT);
            }
        }
    }

    /// Records the scores that are complete.
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
