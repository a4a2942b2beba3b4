//! A video conference of the 1990s: audio and a small picture at a fixed rate, in both directions.
//!
//! The model is Intel's `ProShare` as in the experiments on class-based thresholds: traffic at a
//! low rate that does not adapt, and whose quality suffers from a full queue. docs/models/video.md
//! describes the model.

use super::definition::{About, Definition, Fault, ensure, ensure_scoring, ensure_video};
use super::memory::{Datagrams, MTU, Own, Setting};
use super::stream::{Pace, Phase, Stream};
use super::video::{self, Format, Video};
use super::{AppContext, AppEvent, Application, Direction, News};
use crate::metrics::deadline;
use crate::packet::Side;
use crate::time::Duration;
use crate::units::{ByteCount, Rate};

/// Parameters of a conference.
///
/// Use it for continuous media of fixed rate, as in the study of class-based thresholds;
/// `video_call` is a modern call.
///
/// Source: Parris, Jeffay and Smith, "Lightweight Active Router-Queue Management for Multimedia
/// Networking" (MMCN 1999), §4: approximately 210 kbit/s a connection.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Rate of the audio, before headers.
    pub audio: Rate,
    /// Playing time of an audio packet. A longer one makes packets fewer and larger.
    pub audio_interval: Duration,
    /// Number of video frames in a second.
    pub frame_rate: u32,
    /// Rate of a side in IP bytes, audio and video. The study has 210 kbit/s. With 267 kbit/s, six
    /// conferences have the 1.6 Mbit/s that the study gave them in CBQ.
    pub rate: Rate,
    /// How the video is scored. The deadline of a frame is the time from its encoding to the
    /// arrival of its last packet.
    #[serde(deserialize_with = "read_scoring")]
    #[schemars(schema_with = "scoring_schema")]
    pub scoring: deadline::Config,
    /// Spread of the frames' sizes: standard deviation of their natural logarithm.
    pub sigma: f64,
}

/// Values that are not given have the defaults of this application.
fn read_scoring<'de, D: serde::Deserializer<'de>>(reader: D) -> Result<deadline::Config, D::Error> {
    deadline::read_over(reader, &Config::default().scoring)
}

fn scoring_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
    deadline::schema_over(generator, "ConferenceScoring", &Config::default().scoring)
}

impl Default for Config {
    fn default() -> Self {
        Self {
            // ProShare's audio codec (from memory; the study gives only the total rate).
            audio: Rate(16_000),
            // A choice: six conferences are then 380 packets/s of 415 B, near the 10 packets in 22
            // ms from which the study derives its threshold.
            audio_interval: Duration::from_millis(30),
            // A choice, as in later descriptions of the same experiments.
            frame_rate: 30,
            rate: Rate(210_000),
            scoring: deadline::Config {
                // ITU-T G.114: a one-way delay of up to 150 ms does not disturb a conversation.
                deadline: Duration::from_millis(150),
                // A choice: with 30 frames, a freeze within one second is visible.
                period: Duration::from_secs(1),
            },
            // A choice: a codec of constant rate.
            sigma: 0.15,
        }
    }
}

impl Config {
    /// Size of an audio packet, IP bytes: the audio in RTP (12 B), UDP (8 B) and IP (20 B).
    fn audio_packet(&self) -> u64 {
        self.audio.0 * self.audio_interval.as_nanos() / 8_000_000_000 + 40
    }

    /// The video format, with the rate that the audio leaves; `None` if the audio needs all of it.
    fn format(&self) -> Option<Format> {
        let packet = self.audio_packet() * 8;
        let sound = packet as f64 / self.audio_interval.as_secs_f64();
        let rate = self.rate.0.checked_sub(sound.ceil() as u64)?;
        Some(Format {
            rate: Rate(rate),
            frame_rate: self.frame_rate,
            sigma: self.sigma,
            key_every: 0,
            key_ratio: 1.0,
            packet: LARGEST,
            spread: Duration::ZERO,
        })
    }
}

impl Definition for Config {
    fn about() -> About {
        About {
            name: "conference",
            properties: &[],
            measures: video::MEASURES,
        }
    }

    fn transport(&self) -> &'static str {
        "udp"
    }

    fn directions(&self) -> &'static [Direction] {
        &[Direction::Both, Direction::Up, Direction::Down]
    }

    fn check(&self) -> Result<(), Fault> {
        ensure(
            (Duration::from_millis(1)..=Duration::from_secs(1)).contains(&self.audio_interval),
            "audio_interval",
            "a time of 1 ms to 1 s",
        )?;
        ensure(
            self.audio.0 <= 1_000_000_000
                && (41..=u64::from(LARGEST)).contains(&self.audio_packet()),
            "audio",
            "a rate at which an audio packet has 1 B to 1460 B of sound",
        )?;
        ensure_scoring(&self.scoring)?;
        let expected = "more than the sound takes with its headers";
        let format = self.format();
        ensure_video(&format.ok_or_else(|| ("rate".to_owned(), expected.to_owned()))?)
    }

    fn build(&self, direction: Direction) -> Box<dyn Application> {
        Box::new(Conference::new(self, direction))
    }

    fn datagrams(&self, direction: Direction) -> Datagrams {
        let sound = 1.0 / self.audio_interval.as_secs_f64();
        let pps = self.rate.0 as f64 / 8.0 / MTU + f64::from(self.frame_rate) + sound;
        Datagrams::sided(direction, pps, 100.0)
    }

    fn own_bytes(&self) -> Own {
        Own::scored(
            "conference.scoring",
            &self.scoring,
            f64::from(self.frame_rate),
        )
    }

    fn samples(&self, of: &Setting) -> f64 {
        of.every(self.scoring.period, 8.0)
    }
}

/// A conference between two hosts.
#[derive(Debug)]
pub struct Conference {
    audio: Stream,
    video: Video,
}

impl Conference {
    /// Creates a conference that starts on [`AppEvent::Started`]. The parameters must have been
    /// checked.
    pub fn new(config: &Config, direction: Direction) -> Self {
        let format = config.format().expect("a rate with room for the picture");
        let deadline::Config { deadline, period } = config.scoring;
        let sides = direction.sides();
        Self {
            audio: Stream::new(
                Pace::every(config.audio_interval),
                ByteCount(config.audio_packet()),
                Phase::Random,
                sides,
            ),
            video: Video::new(format, sides, deadline, period),
        }
    }
}

impl Application for Conference {
    fn on(&mut self, event: AppEvent, cx: &mut AppContext<'_>) {
        match event {
            AppEvent::Started => {
                self.audio.start(cx);
                self.video.start(cx);
            }
            AppEvent::Stopped => {
                self.audio.stop();
                self.video.stop(REPORT, cx);
            }
            AppEvent::Timer { token } => {
                self.video.report(cx);
                if token < Side::BOTH.len() as u64 {
                    self.audio.tick(token, cx);
                } else if token != REPORT {
                    self.video.wake(token, cx);
                }
            }
            AppEvent::Flow {
                flow,
                news: News::Delivered {
                    at, number, size, ..
                },
            } if self.video.owns(flow) => {
                self.video.report(cx);
                self.video.arrived(at.other(), number, size, cx.now);
            }
            AppEvent::Flow { .. } => {}
        }
    }
}

/// Token of the wake-up that computes the last scores.
const REPORT: u64 = 6;
/// Largest packet, IP bytes: an Ethernet frame's payload.
const LARGEST: u16 = 1500;

#[cfg(test)]
#[allow(
    clippy::float_cmp,
    reason = "what is expected is computed as it is measured, or nothing at all"
)]
mod tests {
    use super::*;
    use crate::traffic::drawn::testing::{assert_near, moments, watch};
    use crate::traffic::testing::{Bench, deliver};

    #[test]
    fn each_side_takes_210_kilobits_in_63_packets_a_second() {
        let mut conference = Conference::new(&Config::default(), Direction::Both);
        for sent in watch(&mut conference, 300) {
            assert_near(sent.kbits(), 210.0, 1.0);
            assert_near(sent.rate(), 30.0 + 100.0 / 3.0, 0.02);
            let (sound, picture): (Vec<f64>, Vec<f64>) =
                sent.sizes.iter().partition(|&&size| size == 100.0);
            assert_near(sound.len() as f64 / 300.0, 100.0 / 3.0, 0.02);
            let (mean, deviation) = moments(&picture);
            assert_near(mean, (210_000.0 - 800.0 / 0.03) / 240.0, 4.0);
            assert_near(deviation / mean, 0.15, 0.01);
        }
    }

    #[test]
    fn six_conferences_of_267_kilobits_have_the_share_of_the_study() {
        let config = Config {
            rate: Rate(267_000),
            ..Config::default()
        };
        assert_eq!(config.check(), Ok(()));
        let [up, _] = watch(&mut Conference::new(&config, Direction::Up), 300);
        assert_near(6.0 * up.kbits(), 1600.0, 8.0);
    }

    #[test]
    fn each_direction_is_scored_by_itself() {
        let mut conference = Conference::new(&Config::default(), Direction::Both);
        let mut bench = Bench::new(1);
        let end = Duration::from_secs(6);
        deliver(&mut bench, &mut conference, end, |side, _, _| {
            Some(Duration::from_millis(match side {
                Side::Host => 200,
                Side::Peer => 50,
            }))
        });
        // Late frames count as late, but they are shown when they arrive.
        assert_eq!(bench.samples("frames_late"), [1.0; 3]);
        assert_eq!(bench.samples("frames_late_down"), [0.0; 3]);
        assert_eq!(bench.samples("frame_delay"), [200e6; 3]);
        assert_eq!(bench.samples("frozen")[1..], [0.0; 2]);
        assert_near(bench.samples("video_rate_down")[1], 183_000.0, 20_000.0);
    }
}
