//! A video call of today: sound, and a picture whose rate follows what the line gives.
//!
//! Each side encodes frames at the rate that its controller ([`super::gcc`]) allows, hands them to a pacer, and sends sound beside it at a fixed rate.
//! The receiver answers each frame with a feedback packet that says when every packet arrived; it travels as any other packet does, and may
//! wait or be lost. docs/models/video.md has the model.

use std::collections::VecDeque;

use super::config::{About, Definition, Fault, Property, ensure, ensure_scoring, ensure_video};
use super::drawn::Law;
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
/// Use it for what an adaptive application makes of a line: it gives way to keep its delay, and what it suffers is a smaller rate, late frames and freezes.
///
/// Source: draft-ietf-rmcat-gcc-02 for the rate; the call around it is that of WebRTC, with choices where nothing is published.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Rate of the sound, before headers. It is sent in packets of 20 ms and does not give way.
    pub audio: Rate,
    /// Frames a second.
    pub frame_rate: u32,
    /// Rate of a side in IP bytes, sound and picture, below which it never goes, however full the line.
    pub least_rate: Rate,
    /// Rate of a side above which it never goes: what the picture is worth. A higher one takes longer to reach and more of the line.
    pub most_rate: Rate,
    /// Largest video packet, IP bytes.
    pub packet: ByteCount,
    /// How the picture is scored: the deadline is that of a frame, from its encoding to its last packet's arrival.
    #[serde(deserialize_with = "read_scoring")]
    #[schemars(schema_with = "scoring_schema")]
    pub scoring: deadline::Config,
    /// Spread of the frames' sizes about what the rate allows: standard deviation of their natural logarithm.
    pub sigma: f64,
    /// Rate at which a side begins.
    pub start_rate: Rate,
}

/// What is not written of it is this application's.
fn read_scoring<'de, D: serde::Deserializer<'de>>(reader: D) -> Result<deadline::Config, D::Error> {
    deadline::read_over(reader, &Config::default().scoring)
}

fn scoring_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
    deadline::schema_over(generator, "VideoCallScoring", &Config::default().scoring)
}

impl Default for Config {
    fn default() -> Self {
        Self {
            // A choice: Opus, speech at full band (RFC 7587 §3.1.1 names 28 to 40 kbit/s).
            audio: Rate(32_000),
            frame_rate: 30,
            // A choice: the sound, and a picture of a few kB a second.
            least_rate: Rate(100_000),
            // A choice: 720p at 30 frames/s, the most that browsers give one picture unless asked for more.
            most_rate: Rate(2_500_000),
            // WebRTC's largest RTP packet, 1200 B, with UDP and IP.
            packet: ByteCount(1228),
            scoring: deadline::Config {
                // ITU-T G.114: up to 150 ms one way a conversation is at its ease.
                deadline: Duration::from_millis(150),
                // A choice: 30 frames, and stutter of a second shows.
                period: Duration::from_secs(1),
            },
            // A choice: an encoder for calls.
            sigma: 0.15,
            // WebRTC's, before anything is known of the line.
            start_rate: Rate(300_000),
        }
    }
}

impl Config {
    /// Size of an audio packet, IP bytes: 20 ms of sound in RTP (12 B), UDP (8 B) and IP (20 B).
    fn audio_packet(&self) -> u64 {
        self.audio.0 / 8 * AUDIO_INTERVAL.as_nanos() / 1_000_000_000 + 40
    }

    /// Rate of the sound in IP bytes, bit/s.
    fn audio_rate(&self) -> f64 {
        self.audio_packet() as f64 * 8.0 / AUDIO_INTERVAL.as_secs_f64()
    }

    /// The picture at a rate of all; `None` if the sound leaves nothing.
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
    /// By the side that sends.
    ways: [Way; 2],
    flow: Option<FlowId>,
    stopped: bool,
}

impl VideoCall {
    /// A call that begins when it is started. Its parameters have been checked.
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
            // Both sides draw in any case: a side's frames vary the same alone and with the other.
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
            AUDIO => way.speak(flow, cx),
            _ => way.encode(flow, cx),
        }
    }

    /// A packet has arrived at a side: its own feedback, or the other's sound or picture.
    fn arrived(&mut self, flow: FlowId, at: Side, number: u64, cx: &mut AppContext<'_>) {
        if number & FEEDBACK == 0 {
            self.ways[at.other().index()].receive(flow, number, cx);
        } else {
            self.ways[at.index()].learn(number & !FEEDBACK, cx.now);
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

/// One direction of a call: its sender, its receiver, and what they know of each other's packets.
#[derive(Debug)]
struct Way {
    from: Side,
    scorer: Scorer,
    rng: Option<Rng>,
    // What is encoded.
    frame_rate: u32,
    sigma: f64,
    packet: u16,
    audio_packet: u16,
    audio_rate: f64,
    // The sender.
    gcc: Gcc,
    first_frame: Instant,
    frames: u64,
    first_sound: Instant,
    sounds: u64,
    /// Packets that wait to be paced: their frame and whether they are its last, and their size.
    backlog: VecDeque<Media>,
    backlog_bytes: u32,
    /// Bytes that the pacer may send; below zero what it has sent in advance.
    budget: f64,
    is_pacing: bool,
    /// Packets sent of which nothing was reported yet, in the order of their numbers, and the number of the first.
    sent: VecDeque<Sent>,
    first_sent: u64,
    // The receiver.
    /// Arrivals that are reported but whose report has not arrived, and those since, by report.
    arrivals: VecDeque<Arrival>,
    reports: VecDeque<Report>,
    next_report: u64,
    /// Number of the next packet that no report covers.
    next_covered: u64,
}

/// A packet of a frame.
#[derive(Debug, Clone, Copy)]
struct Media {
    frame: u64,
    is_last: bool,
    size: u16,
}

/// A packet that was sent; sound belongs to no frame.
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

/// A feedback message: which packets it covers, from the first that none before it did.
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
        // Packets a second: full ones, the rest of each frame, and sound.
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
            first_sound: Instant::ZERO,
            sounds: 0,
            backlog: VecDeque::with_capacity(256),
            backlog_bytes: 0,
            budget: 0.0,
            is_pacing: false,
            sent: VecDeque::with_capacity(
                ((packets * MEMORY.as_secs_f64()) as usize).min(MOST_ROOM),
            ),
            first_sent: 0,
            arrivals: VecDeque::with_capacity((packets as usize).min(MOST_ROOM)),
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
        self.first_sound = cx.now + rng.span(AUDIO_INTERVAL);
        self.rng = Some(rng);
        if sends {
            self.wake(cx, self.first_frame, FRAME);
            self.wake(cx, self.first_sound, AUDIO);
        }
    }

    fn wake(&self, cx: &mut AppContext<'_>, at: Instant, token: u64) {
        cx.wake_at(at, token + self.from.index() as u64);
    }

    /// Rate of the picture, bit/s.
    fn video_rate(&self) -> f64 {
        (self.gcc.rate() - self.audio_rate).max(0.0)
    }

    /// Encodes the next frame for the pacer: as large as the rate allows, less what still waits there.
    fn encode(&mut self, flow: FlowId, cx: &mut AppContext<'_>) {
        let Some(rng) = &mut self.rng else { return };
        let variation = Law::LogNormal {
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

    /// gcc-02 §4: every `burst_time` a group of packets, as large as the rate allows in that time.
    fn pace(&mut self, flow: FlowId, cx: &mut AppContext<'_>) {
        self.budget += self.video_rate() / 8.0 * BURST.as_secs_f64();
        while self.budget > 0.0
            && let Some(media) = self.backlog.pop_front()
        {
            self.backlog_bytes -= u32::from(media.size);
            self.budget -= f64::from(media.size);
            self.send(flow, media.size, Some(media), cx);
        }
        // What is not used is not saved up.
        self.budget = self.budget.min(0.0);
        self.is_pacing = !self.backlog.is_empty() || self.budget < 0.0;
        if self.is_pacing {
            self.wake(cx, cx.now + BURST, PACE);
        }
    }

    /// Sends sound, past the pacer.
    fn speak(&mut self, flow: FlowId, cx: &mut AppContext<'_>) {
        self.send(flow, self.audio_packet, None, cx);
        self.sounds += 1;
        let due = Pace::every(AUDIO_INTERVAL).due(self.sounds);
        self.wake(cx, self.first_sound + due, AUDIO);
    }

    fn send(&mut self, flow: FlowId, size: u16, media: Option<Media>, cx: &mut AppContext<'_>) {
        while self
            .sent
            .front()
            .is_some_and(|sent| cx.now - sent.at > MEMORY)
        {
            self.sent.pop_front();
            self.first_sent += 1;
        }
        let number = self.first_sent + self.sent.len() as u64;
        cx.datagram(flow, self.from, number, size);
        let at = cx.now;
        self.sent.push_back(Sent { at, size, media });
    }

    /// The receiver has a packet; the last of a frame is answered with feedback (gcc-02 §3).
    fn receive(&mut self, flow: FlowId, number: u64, cx: &mut AppContext<'_>) {
        // One that took longer than it is remembered is no use to anybody.
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
                self.answer(flow, number, cx);
            }
        }
    }

    fn recall(&self, number: u64) -> Option<Sent> {
        let place = number.checked_sub(self.first_sent)?;
        self.sent.get(place as usize).copied()
    }

    /// Sends a feedback message of all that has arrived since the last.
    fn answer(&mut self, flow: FlowId, newest: u64, cx: &mut AppContext<'_>) {
        let end = (newest + 1).max(self.next_covered);
        let report = Report {
            number: self.next_report,
            sent_at: cx.now,
            covered: [self.next_covered, end],
        };
        let told = (self.arrivals.iter().rev())
            .take_while(|arrival| arrival.report == report.number)
            .count() as u64;
        let size = feedback_size(end - report.covered[0], told);
        // Those that were never answered for, as their reports were lost, are forgotten.
        if self.reports.len() == REPORTS {
            self.reports.pop_front();
        }
        self.reports.push_back(report);
        self.next_report += 1;
        self.next_covered = end;
        let number = FEEDBACK | report.number;
        cx.datagram(flow, self.from.other(), number, size);
    }

    /// The sender has a feedback message.
    fn learn(&mut self, number: u64, now: Instant) {
        // Older ones are lost, or overtaken and out of date.
        while (self.reports.front()).is_some_and(|report| report.number < number) {
            self.reports.pop_front();
        }
        while (self.arrivals.front()).is_some_and(|arrival| arrival.report < number) {
            self.arrivals.pop_front();
        }
        // The next is this one or, if this one is overtaken, a later one.
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

/// IP bytes of a transport-wide feedback message (draft-holmer-rmcat-transport-wide-cc-extensions-01 §3.1): IP and UDP 28 B, header 20 B, two bits of status for
/// each packet covered in chunks of 2 B for 7 packets, 1 B for each that arrived; whole words of 4 B.
fn feedback_size(covered: u64, arrived: u64) -> u16 {
    let bytes = 20 + 2 * covered.div_ceil(7) + arrived;
    (28 + bytes.next_multiple_of(4)).min(1500) as u16
}

/// Marks the number of a feedback message.
const FEEDBACK: u64 = 1 << 63;
/// Time of sound in a packet: what RFC 7587 §4.2 recommends.
const AUDIO_INTERVAL: Duration = Duration::from_millis(20);
/// Packets for which room is made at the start; an absurd rate makes more when it comes to that.
const MOST_ROOM: usize = 1 << 16;
/// How long packets sent are remembered: their feedback, if it comes, comes before.
const MEMORY: Duration = Duration::from_secs(5);
/// Feedback messages under way, at most.
const REPORTS: usize = 256;
/// Tokens of wake-ups; each plus its side's index.
const AUDIO: u64 = 0;
const FRAME: u64 = 2;
const PACE: u64 = 4;
/// Token of the wake-up that scores what is left.
const REPORT: u64 = 6;

#[cfg(test)]
#[allow(
    clippy::float_cmp,
    reason = "what is expected is computed as it is measured, or nothing at all"
)]
mod tests {
    use super::*;
    use crate::traffic::drawn::testing::assert_near;
    use crate::traffic::testing::{Desk, deliver};

    /// A call one way for so many seconds over a line of `capacity` bit/s of the second, behind a queue of `limit`; 20 ms each way.
    fn call(seconds: u64, limit: Duration, capacity: impl Fn(f64) -> f64) -> Desk {
        let (mut call, mut desk) = (
            VideoCall::new(&Config::default(), Direction::Up),
            Desk::new(1),
        );
        let free_at = std::cell::Cell::new(Instant::ZERO);
        let end = Duration::from_secs(seconds);
        deliver(&mut desk, &mut call, end, |from, now, size| {
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
        desk
    }

    fn mean(values: &[f64]) -> f64 {
        values.iter().sum::<f64>() / values.len() as f64
    }

    #[test]
    fn an_idle_line_is_taken_up_to_the_most_and_no_frame_is_late() {
        let mut desk = call(60, Duration::from_secs(1), |_| 100e6);
        let rates = desk.samples("video_rate");
        // From 300 kbit/s by 8 % a second: 28 s.
        assert!(rates[10] < 1e6, "{rates:?}");
        assert_near(mean(&rates[40..]), 2.5e6 - 48e3, 0.1e6);
        assert!(desk.samples("frames_late").iter().all(|&late| late == 0.0));
        assert!(desk.samples("frozen").iter().all(|&frozen| frozen == 0.0));
        // The path, and what the pacer takes: up to the time of a frame.
        let delays = desk.samples("frame_delay");
        assert!(
            delays.iter().all(|delay| (20e6..70e6).contains(delay)),
            "{delays:?}"
        );
        assert_eq!(desk.samples("video_rate_down"), [0.0; 0]);
    }

    #[test]
    fn a_slow_line_is_filled_without_a_deep_queue() {
        let mut desk = call(90, Duration::from_secs(1), |_| 1e6);
        let rates = desk.samples("video_rate");
        assert!((0.65e6..0.952e6).contains(&mean(&rates[30..])), "{rates:?}");
        assert!(mean(&desk.samples("frames_late")[30..]) < 0.02);
        assert_eq!(mean(&desk.samples("frozen")[30..]), 0.0);
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
        let mut desk = call(120, Duration::from_secs(1), capacity);
        let rates = desk.samples("video_rate");
        assert!(mean(&rates[30..40]) > 1.3e6, "{rates:?}");
        assert!(
            (0.25e6..0.452e6).contains(&mean(&rates[50..70])),
            "{rates:?}"
        );
        assert!(mean(&rates[100..]) > 1.3e6, "{rates:?}");
        // The picture moves on; frames that the sawtooth of the rate delays beyond 150 ms are late; on the fast line none are.
        assert_eq!(mean(&desk.samples("frozen")[50..70]), 0.0);
        assert!(mean(&desk.samples("frame_delay")[50..70]) < 250e6);
        assert!(mean(&desk.samples("frames_late")[100..]) < 0.01);
    }

    #[test]
    fn heavy_loss_lowers_the_rate_and_spoils_the_picture() {
        let mut lossy = VideoCall::new(&Config::default(), Direction::Up);
        let mut desk = Desk::new(1);
        let count = std::cell::Cell::new(0_u32);
        deliver(
            &mut desk,
            &mut lossy,
            Duration::from_secs(40),
            |from, _, _| {
                count.set(count.get() + 1);
                let is_lost = from == Side::Host && count.get().is_multiple_of(5);
                (!is_lost).then_some(Duration::from_millis(20))
            },
        );
        // A fifth lost: a tenth less each second.
        let rates = desk.samples("video_rate");
        assert!(mean(&rates[25..]) < 0.1e6, "{rates:?}");
        assert!(mean(&desk.samples("frames_late")) > 0.15);
    }

    #[test]
    fn a_side_s_first_frames_do_not_depend_on_the_other_s() {
        let first = |direction| {
            let mut desk = Desk::new(1);
            let mut call = VideoCall::new(&Config::default(), direction);
            desk.tell(&mut call, AppEvent::Started);
            let mut sent = Vec::new();
            while let Some((at, token)) = desk.next_timer()
                && at < Instant::ZERO + Duration::from_secs(2)
            {
                desk.tell(&mut call, AppEvent::Timer { token });
                for (_, side, command) in desk.commands() {
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
        let mut desk = Desk::new(1);
        desk.tell(&mut call, AppEvent::Started);
        while let Some((at, token)) = desk.next_timer()
            && at < Instant::ZERO + Duration::from_millis(2500)
        {
            desk.tell(&mut call, AppEvent::Timer { token });
        }
        desk.tell(&mut call, AppEvent::Stopped);
        desk.commands();
        let stopped = desk.now;
        while let Some((at, token)) = desk.next_timer() {
            desk.tell(&mut call, AppEvent::Timer { token });
            let sent = desk.commands().len();
            assert!(sent == 0 || at < stopped + Duration::from_millis(50));
        }
        assert_eq!(desk.samples("frames_late"), [1.0, 1.0]);
    }

    #[test]
    fn feedback_has_the_size_of_its_message() {
        // 20 B of header, a chunk, and a byte for each of the three, in words of 4 B; IP and UDP.
        assert_eq!(feedback_size(3, 3), 28 + 28);
        assert_eq!(feedback_size(14, 10), 28 + 36);
    }
}
