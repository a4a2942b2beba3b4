//! A modern video call: audio at a fixed rate, and video whose rate adapts to the line.
//!
//! Each side encodes frames at the rate that its controller ([`super::gcc`]) allows, and passes
//! them to a pacer. It sends audio at a fixed rate, not through the pacer. The receiver answers
//! each frame with a feedback packet that reports the arrival time of every packet. A feedback
//! packet travels like any other packet, and may be delayed or lost. docs/models/video.md describes
//! the model.

use std::collections::VecDeque;

use super::definition::{About, Definition, Fault, Property, ensure, ensure_scoring, ensure_video};
use super::drawn::Distribution;
use super::gcc::{BURST, Gcc, Reported};
use super::memory::{Datagrams, Own, Setting};
use super::stream::Pace;
use super::video::{self, Format, Packets, report};
use super::{AppContext, AppEvent, Application, Direction, News};
use crate::flow::FlowId;
use crate::metrics::deadline;
use crate::metrics::frames::{Scorer, Scoring};
use crate::packet::Side;
use crate::rng::Rng;
use crate::time::{Duration, Instant};
use crate::units::{ByteCount, Rate};

/// Parameters of a video call.
///
/// Use it for an adaptive application: it reduces its rate to keep its delay short. A bad line
/// shows in a lower rate, late frames and freezes.
///
/// Source: draft-ietf-rmcat-gcc-02 for the rate; the call around it is that of WebRTC, with choices
/// where nothing is published.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Rate of the audio, before headers. It is sent in packets of 20 ms and does not adapt.
    pub audio: Rate,
    /// Number of video frames in a second.
    pub frame_rate: u32,
    /// Lowest rate of a side, audio and video, in IP bytes. The side sends at this rate even if the
    /// line is full.
    pub least_rate: Rate,
    /// Highest rate of a side, audio and video, in IP bytes. A higher one takes longer to reach and
    /// uses more of the line.
    pub most_rate: Rate,
    /// Largest video packet, IP bytes.
    pub packet: ByteCount,
    /// How the video is scored. The deadline of a frame is the time from its encoding to the
    /// arrival of its last packet.
    #[serde(deserialize_with = "read_scoring")]
    #[schemars(schema_with = "scoring_schema")]
    pub scoring: deadline::Config,
    /// Spread of the frames' sizes around the size that the rate allows: standard deviation of
    /// their natural logarithm.
    pub sigma: f64,
    /// Rate of a side at the start of the call.
    pub start_rate: Rate,
}

/// Values that are not given have the defaults of this application.
fn read_scoring<'de, D: serde::Deserializer<'de>>(reader: D) -> Result<deadline::Config, D::Error> {
    deadline::read_over(reader, &Config::default().scoring)
}

fn scoring_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
    deadline::schema_over(generator, "VideoCallScoring", &Config::default().scoring)
}

impl Default for Config {
    fn default() -> Self {
        Self {
            // A choice: Opus, full-band speech (RFC 7587 §3.1.1 names 28 to 40 kbit/s).
            audio: Rate(32_000),
            frame_rate: 30,
            // A choice: the audio, and video of a few kB a second.
            least_rate: Rate(100_000),
            // A choice: 720p at 30 frames/s, the most that browsers send for one video by default.
            most_rate: Rate(2_500_000),
            // WebRTC's largest RTP packet, 1200 B, with UDP and IP.
            packet: ByteCount(1228),
            scoring: deadline::Config {
                // ITU-T G.114: a one-way delay of up to 150 ms does not disturb a conversation.
                deadline: Duration::from_millis(150),
                // A choice: with 30 frames, a freeze within one second is visible.
                period: Duration::from_secs(1),
            },
            // A choice: an encoder for calls.
            sigma: 0.15,
            // WebRTC's initial rate.
            start_rate: Rate(300_000),
        }
    }
}

impl Config {
    /// Size of an audio packet, IP bytes: 20 ms of audio in RTP (12 B), UDP (8 B) and IP (20 B).
    fn audio_packet(&self) -> u64 {
        self.audio.0 / 8 * AUDIO_INTERVAL.as_nanos() / 1_000_000_000 + 40
    }

    /// Rate of the audio in IP bytes, bit/s.
    fn audio_rate(&self) -> f64 {
        self.audio_packet() as f64 * 8.0 / AUDIO_INTERVAL.as_secs_f64()
    }

    /// The video format at `rate` of the whole side; `None` if the audio needs all of it.
    fn format(&self, rate: Rate) -> Option<Format> {
        Some(Format {
            rate: Rate(rate.0.checked_sub(self.audio_rate().ceil() as u64)?),
            frame_rate: self.frame_rate,
            sigma: self.sigma,
            key_every: 0,
            key_ratio: 1.0,
            packet: self.packet.0 as u16,
            spread: Duration::ZERO,
        })
    }
}

impl Definition for Config {
    fn about() -> About {
        About {
            name: "video_call",
            properties: &[Property::Adaptive],
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
            (400..=510_000).contains(&self.audio.0),
            "audio",
            "a rate of 400 bit/s to 510 kbit/s",
        )?;
        ensure(
            (100..=u64::from(u16::MAX)).contains(&self.packet.0),
            "packet",
            "an IP packet of 100 B to 65535 B",
        )?;
        ensure_scoring(&self.scoring)?;
        let rates = [
            (self.least_rate, "least_rate"),
            (self.most_rate, "most_rate"),
        ];
        for (rate, key) in rates {
            let none = || (key.to_owned(), "more than the sound takes".to_owned());
            ensure_video(&self.format(rate).ok_or_else(none)?).map_err(|(found, expected)| {
                let key = if found == "rate" { key } else { &found };
                (key.to_owned(), expected)
            })?;
        }
        ensure(
            (self.least_rate..=self.most_rate).contains(&self.start_rate),
            "start_rate",
            "a rate from the least to the most",
        )
    }

    fn build(&self, direction: Direction) -> Box<dyn Application> {
        Box::new(VideoCall::new(self, direction))
    }

    fn datagrams(&self, direction: Direction) -> Datagrams {
        let [rate, packet] = [self.most_rate.0, self.packet.0].map(|value| value as f64);
        let pps = rate / 8.0 / packet + f64::from(self.frame_rate) + 50.0;
        Datagrams {
            largest: packet,
            ..Datagrams::sided(direction, pps, 100.0)
        }
    }

    fn own_bytes(&self) -> Own {
        let video = Own::scored("", &self.scoring, f64::from(self.frame_rate));
        let rate = self.most_rate.0 as f64 / 8.0;
        let packets = (5.0 * rate / self.packet.0 as f64).ceil() + (rate / 200.0).ceil();
        Own {
            keys: "video_call.most_rate",
            text: format!("2 directions × {packets} packets × 32 B and {}", video.text),
            each: 64.0 * packets + video.each,
        }
    }

    fn samples(&self, of: &Setting) -> f64 {
        of.every(self.scoring.period, 10.0)
    }
}

/// A video call.
#[derive(Debug)]
pub struct VideoCall {
    /// Which sides send.
    sides: [bool; 2],
    /// State of the directions, by the side that sends.
    ways: [Way; 2],
    flow: Option<FlowId>,
    stopped: bool,
}

impl VideoCall {
    /// Creates a call that starts on [`AppEvent::Started`]. The parameters must have been checked.
    pub fn new(config: &Config, direction: Direction) -> Self {
        Self {
            sides: direction.sides(),
            ways: Side::BOTH.map(|side| Way::new(config, side)),
            flow: None,
            stopped: false,
        }
    }

    fn start(&mut self, cx: &mut AppContext<'_>) {
        self.flow = Some(cx.open_datagrams(0));
        for (way, sends) in self.ways.iter_mut().zip(self.sides) {
            // Both sides draw random numbers even if only one sends: a side's frames do not depend
            // on the other side.
            way.start(sends, cx);
        }
    }

    fn wake(&mut self, flow: FlowId, token: u64, cx: &mut AppContext<'_>) {
        let side = token % 2;
        let way = &mut self.ways[side as usize];
        match token - side {
            _ if token == REPORT => {}
            PACE => way.pace(flow, cx),
            _ if self.stopped => {}
            AUDIO => way.send_audio(flow, cx),
            _ => way.encode(flow, cx),
        }
    }

    /// Handles a packet that has arrived at a side: feedback for it, or the other side's audio or
    /// video.
    fn arrived(&mut self, flow: FlowId, at: Side, number: u64, cx: &mut AppContext<'_>) {
        if number & FEEDBACK == 0 {
            self.ways[at.other().index()].receive(flow, number, cx);
        } else {
            self.ways[at.index()].receive_feedback(number & !FEEDBACK, cx.now);
        }
    }

    fn report(&mut self, cx: &mut AppContext<'_>) {
        for way in &mut self.ways {
            report(&mut way.scorer, way.from, cx);
        }
    }

    fn stop(&mut self, cx: &mut AppContext<'_>) {
        self.stopped = true;
        for way in &mut self.ways {
            if let Some(due) = way.scorer.stop(cx.now) {
                cx.wake_at(due.max(cx.now), REPORT);
            }
        }
    }
}

impl Application for VideoCall {
    fn on(&mut self, event: AppEvent, cx: &mut AppContext<'_>) {
        match (event, self.flow) {
            (AppEvent::Started, _) => self.start(cx),
            (AppEvent::Stopped, _) => self.stop(cx),
            (AppEvent::Timer { token }, Some(flow)) => {
                self.report(cx);
                self.wake(flow, token, cx);
            }
            (
                AppEvent::Flow {
                    news: News::Delivered { at, number, .. },
                    ..
                },
                Some(flow),
            ) => {
                self.report(cx);
                self.arrived(flow, at, number, cx);
            }
            (AppEvent::Timer { .. } | AppEvent::Flow { .. }, _) => {}
        }
    }
}

/// One direction of a call: its sender, its receiver, and the state of the packets in transit
/// between them.
#[derive(Debug)]
struct Way {
    from: Side,
    scorer: Scorer,
    rng: Option<Rng>,
    // Encoding.
    frame_rate: u32,
    sigma: f64,
    packet: u16,
    audio_packet: u16,
    audio_rate: f64,
    // Sender.
    gcc: Gcc,
    first_frame: Instant,
    frames: u64,
    first_audio: Instant,
    audio_packets: u64,
    /// Packets that wait in the pacer.
    backlog: VecDeque<Media>,
    backlog_bytes: u32,
    /// Number of bytes that the pacer may send. A negative number counts the bytes that it has sent
    /// in advance.
    budget: f64,
    is_pacing: bool,
    /// Packets that were sent and not reported yet, in the order of their numbers, and the number
    /// of the first.
    sent: VecDeque<Sent>,
    first_sent: u64,
    // Receiver.
    /// Arrived packets in reports that are in transit, and those since the latest report.
    arrivals: VecDeque<Arrival>,
    reports: VecDeque<Report>,
    next_report: u64,
    /// Number of the next packet that no report covers.
    next_covered: u64,
}

/// A video packet of a frame.
#[derive(Debug, Clone, Copy)]
struct Media {
    frame: u64,
    is_last: bool,
    size: u16,
}

/// A packet that was sent; an audio packet belongs to no frame.
#[derive(Debug, Clone, Copy)]
struct Sent {
    at: Instant,
    size: u16,
    media: Option<Media>,
}

#[derive(Debug, Clone, Copy)]
struct Arrival {
    report: u64,
    number: u64,
    at: Instant,
}

/// A feedback message and the packets that it covers: from the first packet that no earlier message
/// covers up to the end of the range.
#[derive(Debug, Clone, Copy)]
struct Report {
    number: u64,
    sent_at: Instant,
    covered: [u64; 2],
}

impl Way {
    fn new(config: &Config, from: Side) -> Self {
        let interval = Pace::per_second(config.frame_rate).gap();
        let rate = |rate: Rate| rate.0 as f64;
        // Packets a second: full packets, the last packet of each frame, and audio.
        let full = rate(config.most_rate) / 8.0 / config.packet.0 as f64;
        let packets = full + f64::from(config.frame_rate) + 1.0 / AUDIO_INTERVAL.as_secs_f64();
        Self {
            from,
            scorer: Scorer::new(Scoring {
                deadline: config.scoring.deadline,
                period: config.scoring.period,
                interval,
            }),
            rng: None,
            frame_rate: config.frame_rate,
            sigma: config.sigma,
            packet: config.packet.0 as u16,
            audio_packet: config.audio_packet() as u16,
            audio_rate: config.audio_rate(),
            gcc: Gcc::new(
                rate(config.start_rate),
                rate(config.least_rate),
                rate(config.most_rate),
            ),
            first_frame: Instant::ZERO,
            frames: 0,
            first_audio: Instant::ZERO,
            audio_packets: 0,
            backlog: VecDeque::with_capacity(256),
            backlog_bytes: 0,
            budget: 0.0,
            is_pacing: false,
            sent: VecDeque::with_capacity(
                ((packets * SENT_LIFETIME.as_secs_f64()) as usize).min(MOST_CAPACITY),
            ),
            first_sent: 0,
            arrivals: VecDeque::with_capacity((packets as usize).min(MOST_CAPACITY)),
            reports: VecDeque::with_capacity(REPORTS),
            next_report: 0,
            next_covered: 0,
        }
    }

    fn start(&mut self, sends: bool, cx: &mut AppContext<'_>) {
        let mut rng = cx.rng.fork();
        let begun = cx.begun_of(self.scorer.period());
        self.scorer.start(cx.now, begun);
        self.first_frame = cx.now + rng.span(Pace::per_second(self.frame_rate).gap());
        self.first_audio = cx.now + rng.span(AUDIO_INTERVAL);
        self.rng = Some(rng);
        if sends {
            self.wake(cx, self.first_frame, FRAME);
            self.wake(cx, self.first_audio, AUDIO);
        }
    }

    fn wake(&self, cx: &mut AppContext<'_>, at: Instant, token: u64) {
        cx.wake_at(at, token + self.from.index() as u64);
    }

    /// Rate of the video, bit/s.
    fn video_rate(&self) -> f64 {
        (self.gcc.rate() - self.audio_rate).max(0.0)
    }

    /// Encodes the next frame and passes it to the pacer. Its size is what the rate allows, less
    /// the bytes that still wait in the pacer.
    fn encode(&mut self, flow: FlowId, cx: &mut AppContext<'_>) {
        let Some(rng) = &mut self.rng else { return };
        let variation = Distribution::LogNormal {
            mean: 1.0,
            sigma: self.sigma,
        };
        let variation = variation.draw(rng);
        let nominal = self.video_rate() / 8.0 / f64::from(self.frame_rate);
        let size = (nominal * variation - f64::from(self.backlog_bytes)).max(nominal / 4.0);
        let packets = Packets::of(size, self.packet);
        let frame = self.scorer.encoded(cx.now, packets.count);
        for index in 0..packets.count {
            self.backlog.push_back(Media {
                frame,
                is_last: index + 1 == packets.count,
                size: packets.size(index),
            });
            self.backlog_bytes += u32::from(packets.size(index));
        }
        self.frames += 1;
        let due = Pace::per_second(self.frame_rate).due(self.frames);
        self.wake(cx, self.first_frame + due, FRAME);
        if !self.is_pacing {
            self.is_pacing = true;
            self.pace(flow, cx);
        }
    }

    /// gcc-02 §4: sends a group of packets every `burst_time`, as large as the rate allows in that
    /// time.
    fn pace(&mut self, flow: FlowId, cx: &mut AppContext<'_>) {
        self.budget += self.video_rate() / 8.0 * BURST.as_secs_f64();
        while self.budget > 0.0
            && let Some(media) = self.backlog.pop_front()
        {
            self.backlog_bytes -= u32::from(media.size);
            self.budget -= f64::from(media.size);
            self.send(flow, media.size, Some(media), cx);
        }
        // An unused budget is not saved for later.
        self.budget = self.budget.min(0.0);
        self.is_pacing = !self.backlog.is_empty() || self.budget < 0.0;
        if self.is_pacing {
            self.wake(cx, cx.now + BURST, PACE);
        }
    }

    /// Sends an audio packet, not through the pacer.
    fn send_audio(&mut self, flow: FlowId, cx: &mut AppContext<'_>) {
        self.send(flow, self.audio_packet, None, cx);
        self.audio_packets += 1;
        let due = Pace::every(AUDIO_INTERVAL).due(self.audio_packets);
        self.wake(cx, self.first_audio + due, AUDIO);
    }

    fn send(&mut self, flow: FlowId, size: u16, media: Option<Media>, cx: &mut AppContext<'_>) {
        while self
            .sent
            .front()
            .is_some_and(|sent| cx.now - sent.at > SENT_LIFETIME)
        {
            self.sent.pop_front();
            self.first_sent += 1;
        }
        let number = self.first_sent + self.sent.len() as u64;
        cx.datagram(flow, self.from, number, size);
        let at = cx.now;
        self.sent.push_back(Sent { at, size, media });
    }

    /// Handles a packet at the receiver. The last packet of a frame is answered with feedback
    /// (gcc-02 §3).
    fn receive(&mut self, flow: FlowId, number: u64, cx: &mut AppContext<'_>) {
        // The sender has discarded the state of a packet that took longer than [`SENT_LIFETIME`].
        let Some(sent) = self.recall(number) else {
            return;
        };
        self.arrivals.push_back(Arrival {
            report: self.next_report,
            number,
            at: cx.now,
        });
        if let Some(media) = sent.media {
            self.scorer.arrived(media.frame, media.size, cx.now);
            if media.is_last {
                self.send_feedback(flow, number, cx);
            }
        }
    }

    fn recall(&self, number: u64) -> Option<Sent> {
        let place = number.checked_sub(self.first_sent)?;
        self.sent.get(place as usize).copied()
    }

    /// Sends a feedback message for all packets that have arrived since the last message.
    fn send_feedback(&mut self, flow: FlowId, newest: u64, cx: &mut AppContext<'_>) {
        let end = (newest + 1).max(self.next_covered);
        let report = Report {
            number: self.next_report,
            sent_at: cx.now,
            covered: [self.next_covered, end],
        };
        let arrived_count = (self.arrivals.iter().rev())
            .take_while(|arrival| arrival.report == report.number)
            .count() as u64;
        let size = feedback_size(end - report.covered[0], arrived_count);
        // The oldest feedback messages never arrived: their state is discarded.
        if self.reports.len() == REPORTS {
            self.reports.pop_front();
        }
        self.reports.push_back(report);
        self.next_report += 1;
        self.next_covered = end;
        let number = FEEDBACK | report.number;
        cx.datagram(flow, self.from.other(), number, size);
    }

    /// Handles a feedback message at the sender.
    fn receive_feedback(&mut self, number: u64, now: Instant) {
        // Older messages are lost or were overtaken; an overtaken message is outdated.
        while (self.reports.front()).is_some_and(|report| report.number < number) {
            self.reports.pop_front();
        }
        while (self.arrivals.front()).is_some_and(|arrival| arrival.report < number) {
            self.arrivals.pop_front();
        }
        // The first remaining message is this one or, if this one was overtaken, a later one.
        let Some(&report) = (self.reports.front()).filter(|report| report.number == number) else {
            return;
        };
        self.reports.pop_front();
        let (mut arrived, mut last) = (0, None);
        while let Some(&arrival) = (self.arrivals.front()).filter(|next| next.report == number) {
            self.arrivals.pop_front();
            let [first, end] = report.covered;
            arrived += u64::from((first..end).contains(&arrival.number));
            if let Some(sent) = self.recall(arrival.number) {
                self.gcc.arrived(Reported {
                    sent_at: sent.at,
                    arrived_at: arrival.at,
                    size: sent.size,
                });
                last = Some(arrival.at - sent.at);
            }
        }
        for _ in arrived..report.covered[1] - report.covered[0] {
            self.gcc.lost();
        }
        if let Some(there) = last {
            self.gcc.update(now, there + (now - report.sent_at));
        }
    }
}

/// IP bytes of a transport-wide feedback message
/// (draft-holmer-rmcat-transport-wide-cc-extensions-01 §3.1): IP and UDP 28 B, header 20 B, two
/// status bits for each covered packet in chunks of 2 B for 7 packets, and 1 B for each packet that
/// arrived; padded to words of 4 B.
fn feedback_size(covered: u64, arrived: u64) -> u16 {
    let bytes = 20 + 2 * covered.div_ceil(7) + arrived;
    (28 + bytes.next_multiple_of(4)).min(1500) as u16
}

/// Bit that distinguishes the number of a feedback message from that of a packet.
const FEEDBACK: u64 = 1 << 63;
/// Playing time of an audio packet, as RFC 7587 §4.2 recommends.
const AUDIO_INTERVAL: Duration = Duration::from_millis(20);
/// Largest number of packets for which capacity is allocated at the start. A very high rate
/// allocates more during the run.
const MOST_CAPACITY: usize = 1 << 16;
/// How long the sender keeps the state of a sent packet. Feedback arrives before, if it arrives at
/// all.
const SENT_LIFETIME: Duration = Duration::from_secs(5);
/// Largest number of feedback messages in transit.
const REPORTS: usize = 256;
/// Tokens of wake-ups; the side's index is added to each.
const AUDIO: u64 = 0;
const FRAME: u64 = 2;
const PACE: u64 = 4;
/// Token of the wake-up that computes the last scores.
const REPORT: u64 = 6;

#[cfg(test)]
#[allow(
    clippy::float_cmp,
    reason = "what is expected is computed as it is measured, or nothing at all"
)]
mod tests {
    use super::*;
    use crate::traffic::drawn::testing::assert_near;
    use crate::traffic::testing::{Bench, deliver};

    /// Runs a call in one direction for `seconds` over a queue with `limit`. `capacity` gives the
    /// rate in bit/s at a time in seconds. The delay is 20 ms each way.
    fn call(seconds: u64, limit: Duration, capacity: impl Fn(f64) -> f64) -> Bench {
        let (mut call, mut bench) = (
            VideoCall::new(&Config::default(), Direction::Up),
            Bench::new(1),
        );
        let free_at = std::cell::Cell::new(Instant::ZERO);
        let end = Duration::from_secs(seconds);
        deliver(&mut bench, &mut call, end, |from, now, size| {
            let path = Duration::from_millis(20);
            if from == Side::Peer {
                return Some(path);
            }
            let begins = free_at.get().max(now);
            if begins - now > limit {
                return None;
            }
            let rate = capacity((now - Instant::ZERO).as_secs_f64());
            let sending = f64::from(size) * 8e9 / rate;
            free_at.set(begins + Duration::from_nanos(sending as u64));
            Some(free_at.get() - now + path)
        });
        bench
    }

    fn mean(values: &[f64]) -> f64 {
        values.iter().sum::<f64>() / values.len() as f64
    }

    #[test]
    fn on_an_idle_line_the_rate_rises_to_the_most_and_no_frame_is_late() {
        let mut bench = call(60, Duration::from_secs(1), |_| 100e6);
        let rates = bench.samples("video_rate");
        // From 300 kbit/s the rate rises by 8 % a second: 28 s.
        assert!(rates[10] < 1e6, "{rates:?}");
        assert_near(mean(&rates[40..]), 2.5e6 - 48e3, 0.1e6);
        assert!(bench.samples("frames_late").iter().all(|&late| late == 0.0));
        assert!(bench.samples("frozen").iter().all(|&frozen| frozen == 0.0));
        // The delay of the path and of the pacer, which takes at most the time of a frame.
        let delays = bench.samples("frame_delay");
        assert!(
            delays.iter().all(|delay| (20e6..70e6).contains(delay)),
            "{delays:?}"
        );
        assert_eq!(bench.samples("video_rate_down"), [0.0; 0]);
    }

    #[test]
    fn a_slow_line_is_filled_without_a_deep_queue() {
        let mut bench = call(90, Duration::from_secs(1), |_| 1e6);
        let rates = bench.samples("video_rate");
        assert!((0.65e6..0.952e6).contains(&mean(&rates[30..])), "{rates:?}");
        assert!(mean(&bench.samples("frames_late")[30..]) < 0.02);
        assert_eq!(mean(&bench.samples("frozen")[30..]), 0.0);
    }

    #[test]
    fn it_follows_a_line_that_becomes_slow_and_fast_again() {
        let capacity = |second| {
            if (40.0..70.0).contains(&second) {
                0.5e6
            } else {
                2e6
            }
        };
        let mut bench = call(120, Duration::from_secs(1), capacity);
        let rates = bench.samples("video_rate");
        assert!(mean(&rates[30..40]) > 1.3e6, "{rates:?}");
        assert!(
            (0.25e6..0.452e6).contains(&mean(&rates[50..70])),
            "{rates:?}"
        );
        assert!(mean(&rates[100..]) > 1.3e6, "{rates:?}");
        // The video does not freeze. A frame is late if the sawtooth of the rate delays it by more
        // than 150 ms. On the fast line no frame is late.
        assert_eq!(mean(&bench.samples("frozen")[50..70]), 0.0);
        assert!(mean(&bench.samples("frame_delay")[50..70]) < 250e6);
        assert!(mean(&bench.samples("frames_late")[100..]) < 0.01);
    }

    #[test]
    fn heavy_loss_lowers_the_rate_and_spoils_the_picture() {
        let mut lossy = VideoCall::new(&Config::default(), Direction::Up);
        let mut bench = Bench::new(1);
        let count = std::cell::Cell::new(0_u32);
        deliver(
            &mut bench,
            &mut lossy,
            Duration::from_secs(40),
            |from, _, _| {
                count.set(count.get() + 1);
                let is_lost = from == Side::Host && count.get().is_multiple_of(5);
                (!is_lost).then_some(Duration::from_millis(20))
            },
        );
        // A loss of one fifth reduces the rate by a tenth each second.
        let rates = bench.samples("video_rate");
        assert!(mean(&rates[25..]) < 0.1e6, "{rates:?}");
        assert!(mean(&bench.samples("frames_late")) > 0.15);
    }

    #[test]
    fn a_side_s_first_frames_do_not_depend_on_the_other_s() {
        let first = |direction| {
            let mut bench = Bench::new(1);
            let mut call = VideoCall::new(&Config::default(), direction);
            bench.notify(&mut call, AppEvent::Started);
            let mut sent = Vec::new();
            while let Some((at, token)) = bench.next_timer()
                && at < Instant::ZERO + Duration::from_secs(2)
            {
                bench.notify(&mut call, AppEvent::Timer { token });
                for (_, side, command) in bench.commands() {
                    if side == Side::Host {
                        sent.push((at, command));
                    }
                }
            }
            sent
        };
        let alone = first(Direction::Up);
        assert!(alone.len() > 150);
        assert_eq!(alone, first(Direction::Both));
    }

    #[test]
    fn a_stopped_call_sends_no_more_and_scores_what_is_over() {
        let mut call = VideoCall::new(&Config::default(), Direction::Both);
        let mut bench = Bench::new(1);
        bench.notify(&mut call, AppEvent::Started);
        while let Some((at, token)) = bench.next_timer()
            && at < Instant::ZERO + Duration::from_millis(2500)
        {
            bench.notify(&mut call, AppEvent::Timer { token });
        }
        bench.notify(&mut call, AppEvent::Stopped);
        bench.commands();
        let stopped = bench.now;
        while let Some((at, token)) = bench.next_timer() {
            bench.notify(&mut call, AppEvent::Timer { token });
            let sent = bench.commands().len();
            assert!(sent == 0 || at < stopped + Duration::from_millis(50));
        }
        assert_eq!(bench.samples("frames_late"), [1.0, 1.0]);
    }

    #[test]
    fn feedback_has_the_size_of_its_message() {
        // 20 B of header, one chunk, and one byte for each of the three packets, in words of 4 B;
        // plus IP and UDP.
        assert_eq!(feedback_size(3, 3), 28 + 28);
        assert_eq!(feedback_size(14, 10), 28 + 36);
    }
}
