//! Adaptive video streaming: loads a video in segments over one connection, chooses a rate for each
//! segment, and plays the video from a buffer.
//!
//! The player requests the next segment when the previous one is complete. If the buffer is full,
//! it first waits until a segment has been played. The video stalls when the buffer is empty, and
//! resumes once the buffer holds `startup`. One of two rules chooses the rate of the next segment
//! from the ladder:
//!
//! - `buffer`: BBA-0 (Huang et al., "A Buffer-Based Approach to Rate Adaptation", SIGCOMM 2014,
//!   §4.1, Algorithm 1). The rate depends on the buffer alone: the lowest within the reservoir, the
//!   highest above reservoir and cushion, and linear between them. The player changes the rate when
//!   this line crosses the next rate of the ladder.
//! - `throughput`: the highest rate at or below the harmonic mean of the latest segments'
//!   throughput (the "RB" of Yin et al., "A Control-Theoretic Approach for Dynamic Adaptive Video
//!   Streaming over HTTP", SIGCOMM 2015, §7.1.2).

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::definition::{About, Definition, Fault, ensure, ensure_span};
use super::memory::Setting;
use super::sizes::log_normal;
use super::{AppContext, AppEvent, Application, Direction, News};
use crate::flow::FlowId;
use crate::metrics::measure::{Kind, Unit};
use crate::packet::Side;
use crate::time::{Duration, Instant};
use crate::units::{ByteCount, Rate};

/// Parameters of a streamed video.
///
/// Use it for stalls and picture quality of a video beside other traffic. The buffer rule raises
/// the rate slowly, so simulate several minutes.
///
/// Source: Huang et al., "A Buffer-Based Approach to Rate Adaptation: Evidence from a Large Video
/// Streaming Service" (SIGCOMM 2014); Yin et al., "A Control-Theoretic Approach for Dynamic
/// Adaptive Video Streaming over HTTP" (SIGCOMM 2015).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Size of the player's buffer, as playing time. A larger one bridges longer times without
    /// data.
    pub buffer: Duration,
    /// Rates at which the video is available, in rising order.
    pub ladder: Vec<Rate>,
    /// Period over which the share of stalled time and the number of rate changes are reported.
    pub period: Duration,
    /// Size of a request.
    pub request: ByteCount,
    /// How the rate of the next segment is chosen.
    #[serde(with = "crate::named")]
    #[schemars(with = "crate::named::Named<Rule>")]
    pub rule: Rule,
    /// Playing time of a segment. Longer segments suit long round trips, and change the rate later.
    pub segment: Duration,
    /// Spread of the segments' sizes around their rate, which are log-normal: standard deviation of
    /// their natural logarithm. With 0 all segments of a rate are equal.
    pub sigma: f64,
    /// Playing time that the buffer must hold before the video starts, and before it resumes after
    /// a stall. A smaller one starts sooner and stalls more often.
    pub startup: Duration,
}

/// How the rate of the next segment is chosen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// By the level of the buffer.
    Buffer(BufferRule),
    /// By the throughput of the latest segments.
    Throughput(ThroughputRule),
}

/// Parameters of BBA-0.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BufferRule {
    /// Range of the buffer above the reservoir over which the rate rises from the lowest to the
    /// highest.
    pub cushion: Duration,
    /// Level of the buffer up to which the lowest rate is used. A larger one stalls less often, and
    /// plays the lowest rate for longer at the start.
    pub reservoir: Duration,
}

impl Default for BufferRule {
    fn default() -> Self {
        Self {
            // SIGCOMM 2014, §4.1: of a buffer of 240 s, 90 s are the reservoir, and 24 s at the
            // upper end play the highest rate.
            cushion: Duration::from_secs(126),
            reservoir: Duration::from_secs(90),
        }
    }
}

/// Parameters of the throughput rule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ThroughputRule {
    /// Factor by which the measured throughput is multiplied before a rate is chosen. A smaller one
    /// leaves a margin for a lower throughput.
    pub safety: f64,
    /// Number of segments in the mean. More of them make the rate steadier, and its changes later.
    pub segments: u32,
}

impl Default for ThroughputRule {
    fn default() -> Self {
        Self {
            // SIGCOMM 2015, §7.1.2: the harmonic mean of the past 5 chunks, without a margin.
            safety: 1.0,
            segments: 5,
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            // SIGCOMM 2014, §4.1.
            buffer: Duration::from_secs(240),
            // From memory: the ladder that Netflix published at that time.
            ladder: [235, 375, 560, 750, 1050, 1750, 2350, 3000, 4300, 5800]
                .map(|kbps| Rate(kbps * 1000))
                .to_vec(),
            // As long as a scoring period of a call.
            period: Duration::from_secs(10),
            // The value of the 3GPP HTTP traffic model.
            request: ByteCount(328),
            rule: Rule::Buffer(BufferRule::default()),
            // SIGCOMM 2014, §2.
            segment: Duration::from_secs(4),
            sigma: 0.0,
            // A choice: one segment.
            startup: Duration::from_secs(4),
        }
    }
}

/// One sample for each stall.
static STALL: Kind = Kind::new(
    "stall",
    Unit::Time,
    "How long a streamed video stood still, each time that it did.",
);

/// One sample for each period.
static STALLED: Kind = Kind {
    is_periodic: true,
    place: 90,
    compared_by: &[("video stood still", "mean")],
    demand: Some(("mean", "fair")),
    ..Kind::new(
        "stalled",
        Unit::Share,
        "Share of the time in which a streamed video stood still.",
    )
};

/// One sample for each video.
static STARTUP_DELAY: Kind = Kind {
    place: 80,
    compared_by: &[("until the first picture", "p50")],
    demand: Some(("p50", "good")),
    ..Kind::new(
        "startup_delay",
        Unit::Time,
        "From the start of a streamed video to its first picture.",
    )
};

/// One sample for each period.
static SWITCHES: Kind = Kind {
    is_periodic: true,
    ..Kind::new(
        "switches",
        Unit::Number,
        "How often a streamed video changed its rate.",
    )
};

/// One sample for each segment.
static SEGMENT_RATE: Kind = Kind {
    place: 100,
    compared_by: &[("segment rate", "mean")],
    ..Kind::new(
        "segment_rate",
        Unit::Rate,
        "Rate of the video that the player chose, segment by segment.",
    )
};

impl Definition for Config {
    fn about() -> About {
        About {
            name: "streaming",
            properties: &[],
            measures: const {
                &[
                    STALL.whole(),
                    STALLED.whole(),
                    STARTUP_DELAY.whole(),
                    SWITCHES.whole(),
                    SEGMENT_RATE.whole(),
                ]
            },
        }
    }

    fn transport(&self) -> &'static str {
        "tcp"
    }

    fn directions(&self) -> &'static [Direction] {
        &[Direction::Down]
    }

    /// The video is sent down, requests are sent up.
    fn carries_data(&self, _direction: Direction) -> [bool; 2] {
        [true; 2]
    }

    fn check(&self) -> Result<(), Fault> {
        let rising = self.ladder.is_sorted_by(|below, above| below < above);
        let from_zero = self.ladder.first().is_some_and(|rate| rate.0 > 0);
        ensure(
            rising && from_zero && self.ladder.len() <= 100,
            "ladder",
            "1 to 100 rates above zero, rising",
        )?;
        for (span, key) in [(self.segment, "segment"), (self.period, "period")] {
            ensure_span(span, key)?;
            let long_enough = span >= SHORTEST;
            ensure(long_enough, key, "at least 10 ms")?;
        }
        ensure_span(self.buffer, "buffer")?;
        ensure(
            self.buffer >= self.segment,
            "buffer",
            "at least one segment",
        )?;
        ensure(
            self.startup <= self.buffer && !self.startup.is_zero(),
            "startup",
            "more than 0 s and at most the buffer",
        )?;
        let request = (1..=1_000_000_000).contains(&self.request.0);
        ensure(request, "request", "1 B to 1 GB")?;
        ensure((0.0..=2.0).contains(&self.sigma), "sigma", "0 to 2")?;
        match &self.rule {
            Rule::Buffer(rule) => ensure(
                rule.reservoir + rule.cushion <= self.buffer,
                "rule.buffer.cushion",
                "no more than the buffer leaves beside the reservoir: the highest rate would never \
                 be reached",
            ),
            Rule::Throughput(rule) => {
                let safety = rule.safety > 0.0 && rule.safety <= 10.0;
                ensure(safety, "rule.throughput.safety", "above 0, at most 10")?;
                let segments = (1..=1000).contains(&rule.segments);
                ensure(segments, "rule.throughput.segments", "1 to 1000")
            }
        }
    }

    fn build(&self, _direction: Direction) -> Box<dyn Application> {
        Box::new(Streaming::new(self.clone()))
    }

    fn connections(&self) -> u64 {
        1
    }

    fn samples(&self, of: &Setting) -> f64 {
        of.every(self.segment, 1.0) + of.every(self.period, 3.0)
    }
}

/// A player that streams one video.
#[derive(Debug)]
pub struct Streaming {
    config: Config,
    flow: Option<FlowId>,
    /// Stream offsets at which the requests and the segments of this connection end.
    requested: u64,
    expected: u64,
    /// The segment that is being loaded: its index in the ladder, its size in bytes, and when it
    /// was requested. `None` while the buffer is full.
    segment: Option<(usize, u64, Instant)>,
    /// Index in the ladder of the previous segment.
    rung: usize,
    /// Throughput of the latest segments, bit/s, for the throughput rule.
    throughput: VecDeque<f64>,
    /// Number of throughput values that are kept.
    samples: usize,
    player: Player,
    started_at: Instant,
    /// Number of rate changes in this period.
    switches: u32,
    stopped: bool,
}

/// State of the buffer and of the playback.
#[derive(Debug)]
struct Player {
    buffer: Duration,
    playing: bool,
    /// Whether the first picture has been shown.
    begun: bool,
    /// Start of the current stall, if the video is stalled.
    stands_since: Instant,
    settled_at: Instant,
    /// Playing time in this period.
    played: Duration,
}

impl Player {
    fn new() -> Self {
        Self {
            buffer: Duration::ZERO,
            playing: false,
            begun: false,
            stands_since: Instant::ZERO,
            settled_at: Instant::ZERO,
            played: Duration::ZERO,
        }
    }

    /// Updates the playback to `now`.
    fn settle(&mut self, now: Instant) {
        let passed = now - self.settled_at;
        if self.playing {
            let played = passed.min(self.buffer);
            self.played += played;
            self.buffer -= played;
            if played < passed {
                self.playing = false;
                self.stands_since = self.settled_at + played;
            }
        }
        self.settled_at = now;
    }
}

impl Streaming {
    /// Creates a player that starts its video on [`AppEvent::Started`].
    pub fn new(config: Config) -> Self {
        let samples = match &config.rule {
            Rule::Buffer(_) => 0,
            Rule::Throughput(rule) => rule.segments as usize,
        };
        Self {
            config,
            flow: None,
            requested: 0,
            expected: 0,
            segment: None,
            rung: 0,
            throughput: VecDeque::with_capacity(samples),
            samples,
            player: Player::new(),
            started_at: Instant::ZERO,
            switches: 0,
            stopped: false,
        }
    }

    fn connect(&mut self, cx: &mut AppContext<'_>) {
        (self.requested, self.expected) = (0, 0);
        self.flow = Some(cx.connect(0, Side::Host));
    }

    /// Requests the next segment, at the rate that the rule chooses.
    fn request(&mut self, cx: &mut AppContext<'_>) {
        self.player.settle(cx.now);
        let rung = self.next_rung();
        let rate = self.config.ladder[rung];
        // Each segment draws one random number, so that the draws do not depend on the rates.
        let spread = log_normal(self.config.sigma, cx.rng);
        let bytes = rate.bytes_per_sec() * self.config.segment.as_secs_f64() * spread;
        let bytes = (bytes.round() as u64).max(1);
        if self.player.begun && rung != self.rung {
            self.switches += 1;
        }
        cx.measure(SEGMENT_RATE.whole(), rate.0 as f64);
        self.segment = Some((rung, bytes, cx.now));
        self.send_request(cx);
    }

    fn send_request(&mut self, cx: &mut AppContext<'_>) {
        if let (Some(flow), Some((_, bytes, _))) = (self.flow, self.segment) {
            self.requested += self.config.request.0;
            self.expected += bytes;
            cx.expect(flow, Side::Peer, self.requested);
            cx.expect(flow, Side::Host, self.expected);
            cx.send(flow, Side::Host, self.config.request.0);
        }
    }

    fn next_rung(&self) -> usize {
        match &self.config.rule {
            Rule::Buffer(rule) => {
                choose_by_buffer(rule, &self.config.ladder, self.rung, self.player.buffer)
            }
            Rule::Throughput(rule) => {
                choose_by_throughput(rule, &self.config.ladder, &self.throughput)
            }
        }
    }

    /// Handles a complete segment.
    fn arrived(&mut self, cx: &mut AppContext<'_>) {
        let Some((rung, bytes, requested_at)) = self.segment.take() else {
            return;
        };
        self.rung = rung;
        self.remember(bytes as f64 * 8e9 / (cx.now - requested_at).as_nanos().max(1) as f64);
        self.player.settle(cx.now);
        self.player.buffer += self.config.segment;
        if !self.player.playing && self.player.buffer >= self.config.startup {
            self.play(cx);
        }
        let full_by = (self.player.buffer + self.config.segment).saturating_sub(self.config.buffer);
        if self.stopped {
            self.hang_up(cx);
        } else if full_by.is_zero() || !self.player.playing {
            self.request(cx);
        } else {
            cx.wake_at(cx.now + full_by, NEXT_SEGMENT);
        }
    }

    fn remember(&mut self, throughput: f64) {
        if self.throughput.len() == self.samples {
            self.throughput.pop_front();
        }
        if self.samples > 0 {
            self.throughput.push_back(throughput);
        }
    }

    /// Starts or resumes the playback.
    fn play(&mut self, cx: &mut AppContext<'_>) {
        self.player.playing = true;
        if self.player.begun {
            let stall = cx.now - self.player.stands_since;
            cx.measure(STALL.whole(), stall.as_nanos() as f64);
        } else {
            self.player.begun = true;
            let delay = cx.now - self.started_at;
            cx.measure(STARTUP_DELAY.whole(), delay.as_nanos() as f64);
            cx.wake_at(cx.now + self.config.period, PERIOD);
        }
    }

    /// Reports a period.
    fn report(&mut self, cx: &mut AppContext<'_>) {
        if self.stopped {
            return;
        }
        self.player.settle(cx.now);
        let played = std::mem::take(&mut self.player.played);
        let stood = self.config.period.saturating_sub(played);
        let share = stood.as_nanos() as f64 / self.config.period.as_nanos() as f64;
        let period = self.config.period;
        cx.measure_over(period, cx.now, STALLED.whole(), share);
        let switches = std::mem::take(&mut self.switches);
        cx.measure_over(period, cx.now, SWITCHES.whole(), f64::from(switches));
        cx.wake_at(cx.now + self.config.period, PERIOD);
    }

    /// A segment that is being loaded is completed.
    fn stop(&mut self, cx: &mut AppContext<'_>) {
        self.stopped = true;
        if self.segment.is_none() {
            self.hang_up(cx);
        }
    }

    fn hang_up(&mut self, cx: &mut AppContext<'_>) {
        if let Some(flow) = self.flow.take() {
            cx.hang_up(flow);
        }
    }

    fn news(&mut self, news: News, cx: &mut AppContext<'_>) {
        match news {
            News::Connected if self.segment.is_none() => self.request(cx),
            // A new connection replaces one that TCP gave up: the segment is requested again, and
            // the time of the first request counts.
            News::Connected => self.send_request(cx),
            News::Received { at: Side::Peer, .. } => {
                if let (Some(flow), Some((_, bytes, _))) = (self.flow, self.segment) {
                    cx.send(flow, Side::Peer, bytes);
                }
            }
            News::Received { at: Side::Host, .. } => self.arrived(cx),
            News::Closed => self.connect(cx),
            News::Delivered { .. } | News::Writable { .. } => {}
        }
    }
}

impl Application for Streaming {
    fn on(&mut self, event: AppEvent, cx: &mut AppContext<'_>) {
        match event {
            AppEvent::Started => {
                self.started_at = cx.now;
                self.player.settled_at = cx.now;
                self.connect(cx);
            }
            AppEvent::Stopped => self.stop(cx),
            AppEvent::Timer { token: PERIOD } => self.report(cx),
            AppEvent::Timer { .. } => {
                if !self.stopped && self.segment.is_none() {
                    self.request(cx);
                }
            }
            AppEvent::Flow { flow, news } => {
                if self.flow == Some(flow) {
                    self.news(news, cx);
                }
            }
        }
    }
}

/// BBA-0 (Algorithm 1): the index in the ladder after `rung` at this level of the buffer.
fn choose_by_buffer(rule: &BufferRule, ladder: &[Rate], rung: usize, buffer: Duration) -> usize {
    let last = ladder.len() - 1;
    if buffer <= rule.reservoir {
        return 0;
    }
    if buffer >= rule.reservoir + rule.cushion {
        return last;
    }
    let share = (buffer - rule.reservoir).as_secs_f64() / rule.cushion.as_secs_f64();
    let (lowest, highest) = (ladder[0].0 as f64, ladder[last].0 as f64);
    let mapped = lowest + (highest - lowest) * share;
    let above = ladder[(rung + 1).min(last)].0 as f64;
    let below = ladder[rung.saturating_sub(1)].0 as f64;
    if mapped >= above {
        // The highest rate below the mapped one, or the current rate itself.
        let rates = ladder.iter().rposition(|rate| (rate.0 as f64) < mapped);
        rates.unwrap_or(0)
    } else if mapped <= below {
        let rates = ladder.iter().position(|rate| rate.0 as f64 > mapped);
        rates.unwrap_or(last)
    } else {
        rung
    }
}

/// The highest rate at or below the harmonic mean of the throughput; the lowest while there is no
/// measurement.
fn choose_by_throughput(rule: &ThroughputRule, ladder: &[Rate], seen: &VecDeque<f64>) -> usize {
    let inverse: f64 = seen.iter().map(|throughput| 1.0 / throughput).sum();
    let carried = rule.safety * seen.len() as f64 / inverse;
    let rates = ladder.iter().rposition(|rate| rate.0 as f64 <= carried);
    rates.unwrap_or(0)
}

const NEXT_SEGMENT: u64 = 0;
const PERIOD: u64 = 1;
/// A shorter segment or period would give a run too many samples.
const SHORTEST: Duration = Duration::from_millis(10);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoint::Command;
    use crate::traffic::testing::Bench;

    const SECOND: Duration = Duration::from_secs(1);

    /// Plays for `length`; `takes` gives the time in which a segment of a size requested at a time
    /// arrives.
    fn watch(text: &str, length: Duration, takes: impl Fn(Instant, u64) -> Duration) -> Bench {
        let config: Config = toml::from_str(text).expect("a good configuration");
        assert_eq!(config.check(), Ok(()));
        let mut video = Streaming::new(config);
        let mut bench = Bench::new(1);
        bench.notify(&mut video, AppEvent::Started);
        let flow = FlowId(0);
        let notify = |bench: &mut Bench, video: &mut Streaming, news| {
            bench.notify(video, AppEvent::Flow { flow, news });
        };
        notify(&mut bench, &mut video, News::Connected);
        let mut wakes: Vec<(Instant, u64)> = Vec::new();
        let mut coming: Option<Instant> = None;
        let mut expected = 0;
        loop {
            for (_, side, command) in bench.commands() {
                match (side, command) {
                    (Side::Host, Command::Expect { total }) => {
                        coming = Some(bench.now + takes(bench.now, total - expected));
                        expected = total;
                    }
                    (Side::Peer, Command::Send { bytes }) => assert!(bytes > 0),
                    _ => {}
                }
            }
            wakes.extend(std::iter::from_fn(|| bench.next_timer()));
            wakes.sort_unstable();
            let next = wakes.first().map(|wake| wake.0);
            let arrives = coming.filter(|at| next.is_none_or(|next| *at <= next));
            bench.now = arrives.or(next).expect("it goes on");
            if bench.now > Instant::ZERO + length {
                return bench;
            }
            if arrives.is_some() {
                coming = None;
                let (at, total) = (Side::Host, expected);
                notify(&mut bench, &mut video, News::Received { at, total });
            } else {
                let (_, token) = wakes.remove(0);
                bench.notify(&mut video, AppEvent::Timer { token });
            }
        }
    }

    /// Time to transfer a number of bytes at a rate.
    fn at(rate: u64) -> impl Fn(Instant, u64) -> Duration {
        move |_, bytes| Rate(rate).time_for(bytes)
    }

    fn rung(buffer: u64, rung: usize) -> usize {
        let ladder = Config::default().ladder;
        let buffer = Duration::from_secs(buffer);
        choose_by_buffer(&BufferRule::default(), &ladder, rung, buffer)
    }

    #[test]
    fn the_buffer_rule_maps_the_cushion_to_the_ladder_and_keeps_its_rate_between_rungs() {
        assert_eq!((rung(0, 5), rung(90, 9)), (0, 0), "the reservoir");
        assert_eq!((rung(216, 0), rung(240, 3)), (9, 9), "above the cushion");
        // At 120 s the line is at 235 + 5565 · 30/126 = 1560 kbit/s: the rate rises from 235 to
        // 1050, the highest below; it stays at 1050 and at 1750; it falls from 2350 to 1750, the
        // lowest above.
        assert_eq!(
            [rung(120, 0), rung(120, 4), rung(120, 5), rung(120, 6)],
            [4, 4, 5, 5]
        );
    }

    #[test]
    fn the_throughput_rule_takes_the_harmonic_mean_of_the_latest_segments() {
        let ladder = Config::default().ladder;
        let choose = |seen: &[f64], safety| {
            let rule = ThroughputRule {
                safety,
                ..ThroughputRule::default()
            };
            choose_by_throughput(&rule, &ladder, &seen.iter().copied().collect())
        };
        assert_eq!(choose(&[], 1.0), 0);
        assert_eq!(choose(&[1e5], 1.0), 0, "below the ladder");
        // The harmonic mean of 1 and 3 Mbit/s is 1.5 Mbit/s. The arithmetic mean, 2 Mbit/s, would
        // allow 1750 kbit/s.
        assert_eq!(choose(&[1e6, 3e6], 1.0), 4);
        assert_eq!(choose(&[3e6], 1.0), 7, "a rate that is carried exactly");
        assert_eq!(choose(&[3e6], 0.9), 6);
    }

    #[test]
    fn on_a_fast_line_the_video_starts_at_once_never_stands_still_and_fills_its_buffer() {
        let mut bench = watch("", SECOND * 600, at(100_000_000));
        let startup = bench.samples("startup_delay");
        // 4 s at 235 kbit/s are 117500 B, sent at 100 Mbit/s.
        assert_eq!(startup, [9.4e6]);
        assert!(bench.samples("stall").is_empty());
        assert!(
            bench
                .samples("stalled")
                .iter()
                .all(|share| share.abs() < 1e-12)
        );
        let rates = bench.samples("segment_rate");
        assert_eq!(rates.last(), Some(&5.8e6));
        // The player loads 240 s ahead: in 600 s it loads the buffer and 600 s of video, in
        // segments of 4 s.
        assert!((207..=210).contains(&rates.len()), "{}", rates.len());
    }

    #[test]
    fn on_a_line_below_the_lowest_rate_the_video_stalls_for_the_missing_time() {
        // 4 s at 235 kbit/s take 8 s at half that rate: 4 s of playback, 4 s of stall.
        let mut bench = watch("", SECOND * 98, at(117_500));
        assert_eq!(bench.samples("startup_delay"), [8e9]);
        let stalls = bench.samples("stall");
        assert_eq!(stalls.len(), 11);
        assert!(
            stalls.iter().all(|&stall| (stall - 4e9).abs() < 1e3),
            "{stalls:?}"
        );
        // Periods begin at 8 s.
        let shares = bench.samples("stalled");
        assert_eq!(shares.len(), 9);
        let mean = shares.iter().sum::<f64>() / 9.0;
        assert!((mean - 0.5).abs() < 0.06, "{shares:?}");
    }

    #[test]
    fn an_outage_shorter_than_the_buffer_causes_no_stall() {
        // From 300 s on no data arrives for 100 s.
        let drought = |now: Instant, bytes| {
            let end = Instant::ZERO + SECOND * 400;
            let is_dry = now > Instant::ZERO + SECOND * 300 && now < end;
            Rate(10_000_000).time_for(bytes) + if is_dry { end - now } else { Duration::ZERO }
        };
        let mut bench = watch("", SECOND * 500, drought);
        assert!(bench.samples("stall").is_empty());
        let text = "buffer = \"30 s\"\nrule = \"throughput\"";
        let mut bench = watch(text, SECOND * 500, drought);
        let stalls = bench.samples("stall");
        assert_eq!(stalls.len(), 1);
        assert!((66e9..75e9).contains(&stalls[0]), "{stalls:?}");
    }

    #[test]
    fn changes_of_the_rate_are_counted_by_period() {
        let mut bench = watch("rule = \"throughput\"", SECOND * 62, |now, bytes| {
            let is_fast = now.as_nanos() < 30_000_000_000;
            Rate(if is_fast { 5_000_000 } else { 1_200_000 }).time_for(bytes)
        });
        let rates = bench.samples("segment_rate");
        let changes = rates
            .windows(2)
            .filter(|pair| (pair[0] - pair[1]).abs() > 0.5)
            .count();
        let counted: f64 = bench.samples("switches").iter().sum();
        assert!(changes >= 2, "{rates:?}");
        assert!(
            (changes as f64 - counted).abs() <= 1.0,
            "the first before the picture: {counted}"
        );
    }

    #[test]
    fn sizes_vary_around_their_rate() {
        let sizes = std::cell::RefCell::new(Vec::new());
        watch(
            "sigma = 0.3\nladder = [\"1 Mbit/s\"]",
            SECOND * 4000,
            |_, bytes| {
                sizes.borrow_mut().push(bytes as f64);
                SECOND
            },
        );
        let sizes = sizes.into_inner();
        let mean = sizes.iter().sum::<f64>() / sizes.len() as f64;
        // Mean 500 kB; standard error √(e^0.09 − 1)/√1000 = 1 %.
        assert!(sizes.len() > 1000);
        assert!((mean / 500_000.0 - 1.0).abs() < 0.04, "{mean}");
    }
}
