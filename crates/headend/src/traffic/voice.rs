//! A telephone call: G.711 packets at even intervals, both ways, each direction scored as its listener would.
//!
//! A packet is 160 B of sound (20 ms at 64 kbit/s) in 12 B of RTP, 8 B of UDP and 20 B of IP: 200 IP bytes, which a DOCSIS line counts as the 218 B of
//! the AQM study, Ethernet included. The score is [`crate::metrics::voice`]'s. No silence suppression, no RTCP, no call set-up.

use super::config::{Definition, Fault, ensure, ensure_datagram, ensure_gap, ensure_span};
use super::stream::{Pace, Phase, Stream};
use super::{AppContext, AppEvent, Application, Direction, News};
use crate::metrics::Measure;
use crate::metrics::voice::{self, DeJitter, Scorer};
use crate::packet::Side;
use crate::time::Duration;
use crate::units::ByteCount;

/// Parameters of a call.
///
/// Use it for what people hear: a call is scored in both directions by delay and loss.
///
/// Source: ITU-T G.107 and G.113 for the score; packets as in White, "Active Queue Management in DOCSIS 3.x Cable Modems" (CableLabs,
/// 2014).
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Time between two packets of a side, and the time of sound in each: it is part of the mouth-to-ear delay.
    pub interval: Duration,
    /// How the call is scored.
    pub scoring: voice::Config,
    /// Size of a packet, IP bytes: 200 B are 218 B on a DOCSIS line.
    pub size: ByteCount,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            // White, "Active Queue Management in DOCSIS 3.x Cable Modems" (CableLabs, 2014): 218 B at 50 packets/s.
            interval: Duration::from_millis(20),
            scoring: voice::Config::default(),
            size: ByteCount(200),
        }
    }
}

impl Definition for Config {
    fn name(&self) -> &'static str {
        "voice"
    }

    fn transport(&self) -> &'static str {
        "udp"
    }

    fn directions(&self) -> &'static [Direction] {
        &[Direction::Both, Direction::Up, Direction::Down]
    }

    fn check(&self) -> Result<(), Fault> {
        ensure_datagram(self.size, "size")?;
        ensure_gap(self.interval, "interval")?;
        let scoring = &self.scoring;
        ensure_span(scoring.period, "scoring.period")?;
        ensure(
            scoring.period >= self.interval
                && Scorer::packets_in(scoring.period, self.interval) <= MOST_PACKETS,
            "scoring.period",
            "a time of 1 to 100 000 packets",
        )?;
        ensure(
            scoring.grace <= scoring.period,
            "scoring.grace",
            "at most the scoring period",
        )?;
        match scoring.de_jitter {
            DeJitter::Adaptive => Ok(()),
            DeJitter::Fixed(depth) => ensure_span(depth, "scoring.de_jitter"),
        }
    }

    fn build(&self, direction: Direction) -> Box<dyn Application> {
        Box::new(Voice::new(self, direction))
    }
}

/// A call.
#[derive(Debug)]
#[repr(C)]
pub struct Voice {
    stream: Stream,
    /// Whether a period is over and not scored yet.
    waits: bool,
    /// By the side that talks.
    scorers: [Scorer; 2],
}

impl Voice {
    /// A call that begins when it is started.
    pub fn new(config: &Config, direction: Direction) -> Self {
        let pace = Pace::every(config.interval);
        let scorer = || Scorer::new(config.scoring.clone(), config.interval);
        Self {
            stream: Stream::new(pace, config.size, Phase::Random, direction.sides()),
            waits: false,
            scorers: [scorer(), scorer()],
        }
    }

    fn talk(&mut self, token: u64, cx: &mut AppContext<'_>) {
        // First the scores that are due by now: a new period takes the place of one that is scored.
        self.report(cx);
        if let Some((side, number)) = self.stream.tick(token, cx) {
            let scorer = &mut self.scorers[side.index()];
            scorer.sent(number, cx.now);
            self.waits |= scorer.deadline().is_some();
        }
    }

    fn hang_up(&mut self, cx: &mut AppContext<'_>) {
        self.stream.stop();
        // A period that is over is still scored; one that was cut short is not.
        for scorer in &self.scorers {
            if let Some(deadline) = scorer.deadline() {
                cx.wake_at(deadline.max(cx.now), REPORT);
            }
        }
    }

    fn report(&mut self, cx: &mut AppContext<'_>) {
        if !self.waits {
            return;
        }
        let measures = [
            (Measure::Mos, Measure::Late),
            (Measure::MosDown, Measure::LateDown),
        ];
        for (scorer, (mos, late)) in self.scorers.iter_mut().zip(measures) {
            while let Some(score) = scorer.score_due(cx.now) {
                cx.measure_at(score.ended, mos, score.mos);
                cx.measure_at(score.ended, late, score.late);
            }
        }
        self.waits = (self.scorers.iter()).any(|scorer| scorer.deadline().is_some());
    }
}

impl Application for Voice {
    fn on(&mut self, event: AppEvent, cx: &mut AppContext<'_>) {
        match event {
            AppEvent::Started => self.stream.start(cx),
            AppEvent::Stopped => self.hang_up(cx),
            AppEvent::Timer { token: REPORT } => self.report(cx),
            AppEvent::Timer { token } => self.talk(token, cx),
            AppEvent::Flow {
                news: News::Delivered {
                    at, number, delay, ..
                },
                ..
            } => {
                self.scorers[at.other().index()].arrived(number, delay);
                self.report(cx);
            }
            AppEvent::Flow { .. } => {}
        }
    }
}

/// Token of the wake-up that scores what is left; smaller ones are sides.
const REPORT: u64 = Side::BOTH.len() as u64;
/// Packets a scoring period may have.
const MOST_PACKETS: u64 = 100_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoint::Command;
    use crate::flow::FlowId;
    use crate::packet::Ecn;
    use crate::time::Instant;
    use crate::traffic::testing::Desk;

    fn delivered(at: Side, number: u64, sent_at: Instant, delay: Duration) -> AppEvent {
        AppEvent::Flow {
            flow: FlowId(0),
            news: News::Delivered {
                at,
                number,
                size: 200,
                sent_at,
                delay,
                ecn: Ecn::NotEct,
            },
        }
    }

    /// Runs a call to `end`; each packet is told to have arrived at once, after the delay `network` gives it.
    fn call(
        direction: Direction,
        end: Duration,
        network: impl Fn(Side, u64) -> Option<Duration>,
    ) -> Desk {
        let mut call = Voice::new(&Config::default(), direction);
        let mut desk = Desk::new(1);
        desk.tell(&mut call, AppEvent::Started);
        while let Some((at, token)) = desk.next_timer()
            && at < Instant::ZERO + end
        {
            desk.tell(&mut call, AppEvent::Timer { token });
            for (_, side, command) in desk.commands() {
                let Command::Datagram { number, size: 200 } = command else {
                    panic!("a call sends packets of 200 B")
                };
                if let Some(delay) = network(side, number) {
                    desk.tell(&mut call, delivered(side.other(), number, at, delay));
                }
            }
        }
        desk
    }

    #[test]
    fn each_direction_has_a_score_every_ten_seconds() {
        let mut desk = call(Direction::Both, Duration::from_secs(31), |side, _| {
            Some(Duration::from_millis(match side {
                Side::Host => 40,
                Side::Peer => 20,
            }))
        });
        let (up, down) = (desk.samples("mos"), desk.samples("mos_down"));
        assert_eq!((up.len(), down.len()), (3, 3));
        let expected = |ms| voice::mos(voice::rating(Duration::from_millis(ms), 0.0, 1.0, true));
        assert!((up[0] - expected(100)).abs() < 1e-9);
        assert!((down[0] - expected(80)).abs() < 1e-9);
        assert_eq!(desk.samples("late"), [0.0; 3]);
    }

    #[test]
    fn a_call_one_way_scores_that_way_only() {
        let delay = Duration::from_millis(40);
        let mut desk = call(Direction::Down, Duration::from_secs(11), |_, _| Some(delay));
        assert_eq!(desk.samples("mos").len(), 0);
        assert_eq!(desk.samples("mos_down").len(), 1);
    }

    #[test]
    fn a_packet_in_ten_late_and_one_in_ten_lost_cost_a_fifth() {
        let mut desk = call(Direction::Up, Duration::from_secs(13), |_, number| {
            match number % 10 {
                3 => None,
                7 => Some(Duration::from_millis(90)),
                _ => Some(Duration::from_millis(40)),
            }
        });
        let expected = voice::mos(voice::rating(Duration::from_millis(100), 0.2, 1.0, true));
        assert!((desk.samples("mos")[0] - expected).abs() < 1e-9);
        assert!((desk.samples("late")[0] - 0.1).abs() < 1e-9);
    }

    #[test]
    fn a_period_with_losses_is_scored_after_its_grace_also_when_the_call_is_over() {
        let mut call = Voice::new(&Config::default(), Direction::Up);
        let mut desk = Desk::new(1);
        desk.tell(&mut call, AppEvent::Started);
        for _ in 0..500 {
            let (_, token) = desk.next_timer().expect("it goes on");
            desk.tell(&mut call, AppEvent::Timer { token });
        }
        desk.tell(&mut call, AppEvent::Stopped);
        assert_eq!(desk.samples("mos").len(), 0);
        while let Some((_, token)) = desk.next_timer() {
            desk.tell(&mut call, AppEvent::Timer { token });
        }
        assert_eq!(desk.samples("mos"), [1.0]);
        assert!(desk.now >= Instant::ZERO + Duration::from_secs(12));
    }
}
