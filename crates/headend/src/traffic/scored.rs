//! A source of datagrams whose packets are scored, in each direction, by the share that arrives in
//! time. All games use it.

use super::{AppContext, AppEvent, Application, News};
use crate::metrics::Measure;
use crate::metrics::deadline::{Config, Scorer};
use crate::metrics::measure::{Kind, Unit};
use crate::packet::Side;

/// One sample for each scoring period.
pub(super) static MISSED: Kind = Kind {
    is_periodic: true,
    is_beside_delay: true,
    place: 110,
    compared_by: &[("lost or late", "mean")],
    demand: Some(("mean", "good")),
    ..Kind::new(
        "missed",
        Unit::Share,
        "Share of a game's packets that were lost or came after their deadline.",
    )
};

/// The measures of a game.
pub(super) const MEASURES: &[Measure] = &[MISSED.up(), MISSED.down()];

/// A source of datagrams that does not react to the network.
pub(super) trait Source: std::fmt::Debug + Send {
    /// Opens the flow and schedules wake-ups for [`Self::tick`], whose token is the sending side's
    /// index.
    fn start(&mut self, cx: &mut AppContext<'_>);
    /// Sends the packet that is due and schedules the next wake-up. Returns the sender; `None` once
    /// stopped.
    fn tick(&mut self, token: u64, cx: &mut AppContext<'_>) -> Option<Side>;
    /// Stops sending.
    fn stop(&mut self);
}

/// A source whose packets are useless when late.
#[derive(Debug)]
pub(super) struct Scored<S> {
    source: S,
    /// Scores by the side that sends.
    scorers: [Scorer; 2],
}

impl<S: Source> Scored<S> {
    /// Creates a game that starts on [`AppEvent::Started`].
    pub(super) fn new(source: S, scoring: &Config) -> Self {
        Self {
            source,
            scorers: [Scorer::new(scoring), Scorer::new(scoring)],
        }
    }

    fn report(&mut self, cx: &mut AppContext<'_>) {
        for (scorer, side) in self.scorers.iter_mut().zip(Side::BOTH) {
            while let Some(score) = scorer.score_due(cx.now) {
                cx.measure_over(scorer.period(), score.ended, MISSED.of(side), score.missed);
            }
        }
    }
}

impl<S: Source> Application for Scored<S> {
    fn on(&mut self, event: AppEvent, cx: &mut AppContext<'_>) {
        match event {
            AppEvent::Started => {
                for scorer in &mut self.scorers {
                    scorer.start(cx.now, cx.begun_of(scorer.period()));
                }
                self.source.start(cx);
            }
            AppEvent::Stopped => {
                self.source.stop();
                for scorer in &mut self.scorers {
                    if let Some(due) = scorer.stop(cx.now) {
                        cx.wake_at(due.max(cx.now), REPORT);
                    }
                }
            }
            AppEvent::Timer { token: REPORT } => self.report(cx),
            AppEvent::Timer { token } => {
                self.report(cx);
                if let Some(side) = self.source.tick(token, cx) {
                    self.scorers[side.index()].sent(cx.now);
                }
            }
            AppEvent::Flow {
                news: News::Delivered {
                    at, sent_at, delay, ..
                },
                ..
            } => self.scorers[at.other().index()].arrived(sent_at, delay),
            AppEvent::Flow { .. } => {}
        }
    }
}

/// Token of the wake-up that computes the last scores; smaller tokens are sides.
const REPORT: u64 = Side::BOTH.len() as u64;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoint::Command;
    use crate::flow::FlowId;
    use crate::packet::Ecn;
    use crate::time::{Duration, Instant};
    use crate::traffic::stream::{Pace, Phase, Stream};
    use crate::traffic::testing::Bench;
    use crate::units::ByteCount;

    fn game(sides: [bool; 2]) -> Scored<Stream> {
        let pace = Pace::every(Duration::from_millis(20));
        let stream = Stream::new(pace, ByteCount(200), Phase::Random, sides);
        Scored::new(stream, &Config::default())
    }

    fn delivered(from: Side, number: u64, sent_at: Instant, delay: Duration) -> AppEvent {
        AppEvent::Flow {
            flow: FlowId(0),
            news: News::Delivered {
                at: from.other(),
                number,
                size: 200,
                sent_at,
                delay,
                ecn: Ecn::NotEct,
            },
        }
    }

    /// Plays to `end`, then stops. `network` gives the delay of each packet, with which the packet
    /// is delivered at once; `None` loses it.
    fn play(sides: [bool; 2], end: u64, network: impl Fn(Side, u64) -> Option<Duration>) -> Bench {
        let (mut game, mut bench) = (game(sides), Bench::new(1));
        bench.notify(&mut game, AppEvent::Started);
        let mut stopped = false;
        while let Some((at, token)) = bench.next_timer() {
            if !stopped && at >= Instant::ZERO + Duration::from_secs(end) {
                stopped = true;
                bench.notify(&mut game, AppEvent::Stopped);
            }
            bench.notify(&mut game, AppEvent::Timer { token });
            for (_, side, command) in bench.commands() {
                let Command::Datagram { number, .. } = command else {
                    panic!("only datagrams are sent")
                };
                if let Some(delay) = network(side, number) {
                    bench.notify(&mut game, delivered(side, number, at, delay));
                }
            }
        }
        bench
    }

    #[test]
    fn each_direction_is_scored_by_itself_every_ten_seconds() {
        let mut bench = play([true; 2], 31, |side, number| match side {
            Side::Host => (number % 4 != 0).then_some(Duration::from_millis(40)),
            Side::Peer => Some(Duration::from_millis(if number < 50 { 100 } else { 40 })),
        });
        assert_eq!(bench.samples("missed"), [0.25, 0.25, 0.25]);
        let down = bench.samples("missed_down");
        assert_eq!(down, [0.1, 0.0, 0.0]);
    }

    #[test]
    fn a_silent_side_has_no_score_and_a_period_under_way_at_the_end_neither() {
        let mut bench = play([false, true], 19, |_, _| None);
        assert_eq!(bench.samples("missed"), [0.0; 0]);
        assert_eq!(bench.samples("missed_down"), [1.0]);
    }
}
