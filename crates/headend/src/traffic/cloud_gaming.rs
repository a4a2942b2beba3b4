//! A cloud game: the picture is sent down as video, the player's input is sent up, and both are
//! useless when late.
//!
//! The server encodes a frame at constant intervals and sends it as a burst of packets. The client
//! sends its input at constant intervals of its own. The rate does not adapt, so that the effect of
//! a line shows in late and incomplete frames. docs/models/video.md describes the model.

use super::definition::{
    About, Definition, Fault, ensure, ensure_datagram, ensure_gap, ensure_scoring, ensure_span,
    ensure_video,
};
use super::memory::{Datagrams, Own, Setting};
use super::scored::MISSED;
use super::stream::{Pace, Phase, Stream};
use super::video::{FRAME_DELAY, FRAMES_LATE, FROZEN, Format, VIDEO_RATE, Video};
use super::{AppContext, AppEvent, Application, Direction, News};
use crate::metrics::deadline;
use crate::packet::Side;
use crate::time::Duration;
use crate::units::{ByteCount, Rate};

/// Parameters of a cloud game.
///
/// Use it for the most demanding application of a home: a high constant rate down that is useless
/// when late, in response to input that is sent up.
///
/// Source: measurements of Stadia (Carrascosa and Bellalta, "Cloud-gaming: Analysis of Google
/// Stadia traffic", 2020; Di Domenico et al., "A Network Analysis on Cloud Gaming", 2021);
/// CableLabs, "Cable Modem Buffer Control", §5.2.1, for the deadline.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Number of video frames in a second.
    pub frame_rate: u32,
    /// Size of an input packet, IP bytes.
    pub input: ByteCount,
    /// Time between two input packets.
    pub input_interval: Duration,
    /// Time between two key frames, rounded to whole frames; 0 for no key frames.
    pub key_interval: Duration,
    /// Size of a key frame, relative to other frames. A larger one makes a larger burst; the rate
    /// stays the same.
    pub key_ratio: f64,
    /// Largest video packet, IP bytes.
    pub packet: ByteCount,
    /// Rate of the video in IP bytes. It does not adapt: a rate above the line's loses most frames.
    pub rate: Rate,
    /// How the game is scored. The deadline of a frame is the time from its encoding to the arrival
    /// of its last packet. Input packets have the same deadline.
    #[serde(deserialize_with = "read_scoring")]
    #[schemars(schema_with = "scoring_schema")]
    pub scoring: deadline::Config,
    /// Spread of the frames' sizes: standard deviation of their natural logarithm. With 0 all
    /// frames (except key frames) are equal.
    pub sigma: f64,
    /// Time over which the packets of a frame are sent, at most the time between two frames. With 0
    /// they are sent as a burst.
    pub spread: Duration,
}

/// Values that are not given have the defaults of this application.
fn read_scoring<'de, D: serde::Deserializer<'de>>(reader: D) -> Result<deadline::Config, D::Error> {
    deadline::read_over(reader, &Config::default().scoring)
}

fn scoring_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
    deadline::schema_over(generator, "CloudGamingScoring", &Config::default().scoring)
}

impl Default for Config {
    fn default() -> Self {
        Self {
            frame_rate: 60,
            // A choice: key presses and mouse movements in an RTP or DTLS packet.
            input: ByteCount(100),
            // A choice: USB input devices are polled 125 times a second.
            input_interval: Duration::from_millis(8),
            // A choice: one at the start and then one every ten seconds. Services send key frames
            // on demand.
            key_interval: Duration::from_secs(10),
            // A choice.
            key_ratio: 4.0,
            // WebRTC's largest RTP packet, 1200 B, with UDP and IP.
            packet: ByteCount(1228),
            // NVIDIA's requirement for 1080p at 60 frames/s; Stadia was measured at 20 to 30
            // Mbit/s.
            rate: Rate(25_000_000),
            scoring: deadline::Config {
                // CableLabs, "Cable Modem Buffer Control", §5.2.1: "a maximum of 20-50 ms
                // round-trip time" across the operator's network.
                deadline: Duration::from_millis(50),
                // A choice: with 60 frames, a freeze within one second is visible.
                period: Duration::from_secs(1),
            },
            // A choice: an encoder of constant rate.
            sigma: 0.15,
            spread: Duration::ZERO,
        }
    }
}

impl Config {
    /// The video format of the server.
    fn format(&self) -> Format {
        let frames = self.key_interval.as_secs_f64() * f64::from(self.frame_rate);
        Format {
            rate: self.rate,
            frame_rate: self.frame_rate,
            sigma: self.sigma,
            // At least one frame, because 0 means that there are no key frames.
            key_every: if frames > 0.0 {
                (frames.round() as u64).max(1)
            } else {
                0
            },
            key_ratio: self.key_ratio,
            packet: self.packet.0 as u16,
            spread: self.spread,
        }
    }
}

impl Definition for Config {
    fn about() -> About {
        About {
            name: "cloud_gaming",
            properties: &[],
            measures: const {
                &[
                    MISSED.up(),
                    FRAME_DELAY.down(),
                    FRAMES_LATE.down(),
                    FROZEN.down(),
                    VIDEO_RATE.down(),
                ]
            },
        }
    }

    fn transport(&self) -> &'static str {
        "udp"
    }

    fn directions(&self) -> &'static [Direction] {
        &[Direction::Down]
    }

    /// The video is sent down, input is sent up.
    fn carries_data(&self, _direction: Direction) -> [bool; 2] {
        [true; 2]
    }

    fn check(&self) -> Result<(), Fault> {
        ensure_datagram(self.input, "input")?;
        ensure_gap(self.input_interval, "input_interval")?;
        ensure_datagram(self.packet, "packet")?;
        ensure_span(self.key_interval, "key_interval")?;
        ensure_scoring(&self.scoring)?;
        ensure(
            (1.0..=20.0).contains(&self.key_ratio),
            "key_ratio",
            "1 to 20",
        )?;
        ensure_video(&self.format())
    }

    fn build(&self, _direction: Direction) -> Box<dyn Application> {
        Box::new(CloudGaming::new(self))
    }

    fn datagrams(&self, _direction: Direction) -> Datagrams {
        let [rate, packet] = [self.rate.0, self.packet.0].map(|value| value as f64);
        let pps = rate / 8.0 / packet + f64::from(self.frame_rate);
        Datagrams {
            pps: [1.0 / self.input_interval.as_secs_f64(), pps],
            size: self.packet.0.min(self.input.0) as f64,
            largest: self.packet.0.max(self.input.0) as f64,
        }
    }

    fn own_bytes(&self) -> Own {
        Own::scored(
            "cloud_gaming.scoring",
            &self.scoring,
            f64::from(self.frame_rate),
        )
    }

    fn samples(&self, of: &Setting) -> f64 {
        of.every(self.scoring.period, 8.0)
    }
}

/// A player of a cloud game, and the server.
#[derive(Debug)]
pub struct CloudGaming {
    video: Video,
    input: Stream,
    answers: deadline::Scorer,
}

impl CloudGaming {
    /// Creates a game that starts on [`AppEvent::Started`].
    pub fn new(config: &Config) -> Self {
        let deadline::Config { deadline, period } = config.scoring;
        Self {
            video: Video::new(config.format(), [false, true], deadline, period),
            input: Stream::new(
                Pace::every(config.input_interval),
                config.input,
                Phase::Random,
                [true, false],
            ),
            answers: deadline::Scorer::new(&config.scoring),
        }
    }

    fn report(&mut self, cx: &mut AppContext<'_>) {
        self.video.report(cx);
        while let Some(score) = self.answers.score_due(cx.now) {
            let period = self.answers.period();
            cx.measure_over(period, score.ended, MISSED.up(), score.missed);
        }
    }

    fn stop(&mut self, cx: &mut AppContext<'_>) {
        self.input.stop();
        self.video.stop(REPORT, cx);
        if let Some(due) = self.answers.stop(cx.now) {
            cx.wake_at(due.max(cx.now), REPORT);
        }
    }
}

impl Application for CloudGaming {
    fn on(&mut self, event: AppEvent, cx: &mut AppContext<'_>) {
        match event {
            AppEvent::Started => {
                let begun = cx.begun_of(self.answers.period());
                self.answers.start(cx.now, begun);
                self.input.start(cx);
                self.video.start(cx);
            }
            AppEvent::Stopped => self.stop(cx),
            AppEvent::Timer { token } => {
                self.report(cx);
                if token < Side::BOTH.len() as u64 {
                    if self.input.tick(token, cx).is_some() {
                        self.answers.sent(cx.now);
                    }
                } else if token != REPORT {
                    self.video.wake(token, cx);
                }
            }
            AppEvent::Flow {
                news:
                    News::Delivered {
                        at,
                        number,
                        size,
                        sent_at,
                        delay,
                        ..
                    },
                ..
            } => match at {
                Side::Host => {
                    self.report(cx);
                    self.video.arrived(Side::Peer, number, size, cx.now);
                }
                Side::Peer => self.answers.arrived(sent_at, delay),
            },
            AppEvent::Flow { .. } => {}
        }
    }
}

/// Token of the wake-up that computes the last scores.
const REPORT: u64 = 6;

#[cfg(test)]
#[allow(
    clippy::float_cmp,
    reason = "what is expected is computed as it is measured, or nothing at all"
)]
mod tests {
    use super::*;
    use crate::time::Instant;
    use crate::traffic::drawn::testing::{assert_near, moments, watch};
    use crate::traffic::testing::{Bench, deliver};

    /// Plays for `seconds`. `network` gives the delay of each packet, with which the packet is
    /// delivered; `None` loses it.
    fn play(
        config: &Config,
        seconds: u64,
        network: impl Fn(Side, Instant, u16) -> Option<Duration>,
    ) -> Bench {
        let (mut game, mut bench) = (CloudGaming::new(config), Bench::new(1));
        deliver(&mut bench, &mut game, Duration::from_secs(seconds), network);
        bench
    }

    #[test]
    fn the_video_keeps_its_rate_and_the_input_its_intervals() {
        let [up, down] = watch(&mut CloudGaming::new(&Config::default()), 60);
        assert_near(up.rate(), 125.0, 0.1);
        assert!(up.sizes.iter().all(|&size| size == 100.0));
        assert_near(down.kbits(), 25_000.0, 200.0);
        assert!(down.sizes.iter().all(|&size| size <= 1228.0));
        // A frame of 52 kB is 43 packets, all sent at the same time.
        let bursts = down.gaps.iter().filter(|&&gap| gap > 0.0).count();
        assert!((3590..3600).contains(&bursts), "{bursts}");
    }

    #[test]
    fn frames_vary_and_key_frames_are_larger_by_their_ratio() {
        let config = Config {
            key_interval: Duration::from_secs(1),
            spread: Duration::from_millis(8),
            ..Config::default()
        };
        let [_, down] = watch(&mut CloudGaming::new(&config), 120);
        let mut frames = vec![down.sizes[0]];
        for (size, gap) in down.sizes[1..].iter().zip(&down.gaps) {
            match frames.last_mut() {
                // Packets of the same frame are at most 0.2 ms apart.
                Some(frame) if *gap < 0.002 => *frame += size,
                _ => frames.push(*size),
            }
        }
        assert!((7199..=7200).contains(&frames.len()), "{}", frames.len());
        let (keys, others): (Vec<_>, Vec<_>) = frames
            .iter()
            .enumerate()
            .partition(|(number, _)| number % 60 == 0);
        let sizes = |frames: Vec<(usize, &f64)>| -> Vec<f64> {
            frames.into_iter().map(|(_, &size)| size).collect()
        };
        let (keys, others) = (moments(&sizes(keys)), moments(&sizes(others)));
        assert_near(keys.0 / others.0, 4.0, 0.15);
        assert_near(others.1 / others.0, 0.15, 0.01);
        assert_near(down.kbits(), 25_000.0, 200.0);
    }

    #[test]
    fn a_quiet_line_shows_its_delay_and_nothing_late() {
        let mut bench = play(&Config::default(), 5, |_, _, _| {
            Some(Duration::from_millis(20))
        });
        assert!(!bench.samples("frame_delay_down").is_empty());
        assert!(
            bench
                .samples("frame_delay_down")
                .iter()
                .all(|&delay| delay == 20e6)
        );
        assert!(
            bench
                .samples("frames_late_down")
                .iter()
                .all(|&late| late == 0.0)
        );
        assert!(
            bench
                .samples("frozen_down")
                .iter()
                .all(|&frozen| frozen == 0.0)
        );
        assert_eq!(bench.samples("missed"), [0.0; 4]);
        assert_eq!(bench.samples("frame_delay"), [0.0; 0], "no video goes up");
    }

    #[test]
    fn an_outage_of_a_second_shows_in_its_periods() {
        let outage = Duration::from_secs(2)..Duration::from_secs(3);
        let mut bench = play(&Config::default(), 8, |_, at, _| {
            let lost = outage.contains(&(at - Instant::ZERO));
            (!lost).then_some(Duration::from_millis(20))
        });
        let late = bench.samples("frames_late_down");
        assert_eq!(late[..5], [0.0, 0.0, 1.0, 0.0, 0.0]);
        assert_near(bench.samples("frozen_down").iter().sum(), 1.0, 0.05);
        assert_eq!(bench.samples("missed")[..5], [0.0, 0.0, 1.0, 0.0, 0.0]);
    }
}
