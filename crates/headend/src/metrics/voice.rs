//! Voice quality: what a line does to a call, as a mean opinion score per scoring period.
//!
//! There are two steps. First, the receiver's *de-jitter buffer* turns packet delays into one
//! mouth-to-ear delay and a share of lost packets: a packet that has not arrived by its playout
//! time counts as lost, like one that was dropped. Second, ITU-T G.107's *E-model* turns the two
//! into a rating R, and R into a score:
//!
//! ```text
//! R = Ro − Is − Idte − Idle − Idd − Ie,eff        (7-1, 7-18; A = 0)
//! ```
//!
//! All transmission parameters other than delay and loss have the defaults of G.107 Table 3, so R
//! is 93.2 and the score 4.41 on a perfect line. docs/models/voice.md says what is left out.
//! Reference: ITU-T G.107 (06/2015) §7, G.113 Appendix I for the codec.

use crate::math;
use crate::time::{Duration, Instant};

/// How a call is scored.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// How the loss pattern affects the score. `random` is G.107's default; `measured` also counts
    /// how much the losses cluster.
    pub burst_ratio: BurstRatio,
    /// Whether the decoder conceals lost packets. Without it, a loss of 1 % costs five times as
    /// many points of R.
    pub concealment: bool,
    /// How long the receiver delays packets: `fixed = "40 ms"`, the default, or `"adaptive"`. A
    /// deeper buffer loses fewer packets and adds its depth to the mouth-to-ear delay.
    pub de_jitter: DeJitter,
    /// How long after the end of a period its last packets may arrive; packets that arrive later
    /// count as lost. At most `period`.
    pub grace: Duration,
    /// Length of a scoring period, rounded to whole packets; each period has one score. Shorter
    /// periods show shorter disturbances.
    pub period: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            // G.107 Table 3: BurstR = 1.
            burst_ratio: BurstRatio::Random,
            // Telephones and adapters are delivered with G.711 Appendix I.
            concealment: true,
            // Choice: two packets. No publication states the buffers of measured calls.
            de_jitter: DeJitter::Fixed(Duration::from_millis(40)),
            // Longer than the deepest buffers of access lines delay a packet.
            grace: Duration::from_secs(2),
            // Choice: 500 packets distinguish shares of 0.2 %, and a disturbance of seconds is
            // still visible.
            period: Duration::from_secs(10),
        }
    }
}

/// How sound becomes bytes.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Default,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Codec {
    /// ITU-T G.711: 64 kbit/s, no loss of quality.
    #[default]
    G711,
    /// ITU-T G.729 Annex A: 8 kbit/s, which costs 11 points of R. Its decoder conceals losses, but
    /// they cost more than with G.711.
    G729,
}

/// How a codec impairs R (G.113 Appendix I).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Impairment {
    /// Ie: the impairment without loss.
    pub base: f64,
    /// Bpl: the robustness against packet loss.
    pub robustness: f64,
}

impl Codec {
    /// The codec's impairment of R.
    pub const fn impairment(self, concealment: bool) -> Impairment {
        let (base, robustness) = match (self, concealment) {
            (Self::G711, false) => (0.0, 4.3),
            // With the concealment of its Appendix I.
            (Self::G711, true) => (0.0, 25.1),
            (Self::G729, _) => (11.0, 19.0),
        };
        Impairment { base, robustness }
    }

    /// The bytes of sound in `span`.
    pub fn bytes_in(self, span: Duration) -> u64 {
        let bits_per_second = match self {
            Self::G711 => 64_000,
            Self::G729 => 8_000,
        };
        crate::units::Rate(bits_per_second).bytes_in(span)
    }

    /// The sound after a packet's own that the encoder needs to encode it.
    pub const fn look_ahead(self) -> Duration {
        match self {
            Self::G711 => Duration::ZERO,
            Self::G729 => Duration::from_millis(5),
        }
    }
}

/// Where the burst ratio (7-29) comes from.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum BurstRatio {
    /// The mean length of the period's loss bursts, divided by that of random loss with the same
    /// share; at least 1.
    Measured,
    /// Always 1: losses are random.
    Random,
}

/// How much the receiver's buffer adds to the smallest delay of a period.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum DeJitter {
    /// The period's 95th percentile of delay less its smallest delay.
    Adaptive,
    /// A fixed duration.
    Fixed(Duration),
}

/// The score of one scoring period of one direction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Score {
    /// The end of the period.
    pub ended: Instant,
    /// Mean opinion score, 1 to 4.5.
    pub mos: f64,
    /// Share of the packets sent that came after their playout time.
    pub late: f64,
    /// Share of the packets sent that were not played: late, or never arrived.
    pub loss: f64,
    /// From the talker's mouth to the listener's ear; `None` if nothing arrived.
    pub mouth_to_ear: Option<Duration>,
}

/// Scores one direction of a call, period by period. It keeps the delays of two periods' packets.
#[derive(Debug)]
pub struct Scorer {
    config: Config,
    codec: Codec,
    /// Time between two packets.
    interval: Duration,
    /// Packets in a period.
    packets: u32,
    /// Packets that the first period has less than others: packet 0 is the one with this number.
    lacking: u32,
    /// Packets sent so far, with those that the first period lacks.
    sent: u64,
    /// Period `k` has place `k mod 2`: one is being sent while the one before waits for its last
    /// packets.
    periods: [Period; 2],
    /// Room to order the delays of a period, if the buffer adapts to them.
    scratch: Vec<u32>,
}

#[derive(Debug)]
struct Period {
    number: u32,
    arrived: u32,
    /// Delay of each packet up to the last that has arrived, in [ticks](TICK_NS), or [`NEVER`].
    delays: Vec<u32>,
    /// When it is scored at the latest; `None` while it is being sent and once it is scored.
    deadline: Option<Instant>,
}

impl Scorer {
    /// A scorer of a stream of packets `interval` apart, numbered from 0.
    pub fn new(config: Config, codec: Codec, interval: Duration) -> Self {
        let packets = Self::packets_in(config.period, interval);
        let period = || Period {
            number: 0,
            arrived: 0,
            delays: Vec::with_capacity(packets as usize),
            deadline: None,
        };
        let to_order = match config.de_jitter {
            DeJitter::Adaptive => packets,
            DeJitter::Fixed(_) => 0,
        };
        Self {
            config,
            codec,
            interval,
            packets: u32::try_from(packets).expect("a period has no more packets than are counted"),
            lacking: 0,
            sent: 0,
            periods: [period(), period()],
            scratch: Vec::with_capacity(to_order as usize),
        }
    }

    /// Packets in a period: the nearest whole number, at least one.
    pub(crate) fn packets_in(period: Duration, interval: Duration) -> u64 {
        ((period.as_nanos() + interval.as_nanos() / 2) / interval.as_nanos()).max(1)
    }

    /// Length of a period: so many packets of it.
    pub fn period(&self) -> Duration {
        self.interval * u64::from(self.packets)
    }

    /// Call it before the first packet, which is sent `ahead` of the time at which a whole period
    /// is to begin. The first period then has fewer packets than others, and a score without
    /// meaning.
    pub fn begin_before(&mut self, ahead: Duration) {
        let before = ahead.as_nanos().div_ceil(self.interval.as_nanos());
        let whole = before.next_multiple_of(u64::from(self.packets));
        self.lacking = (whole - before) as u32;
    }

    /// Packet `number`, the next one, was sent. First take the scores that are due.
    pub fn sent(&mut self, number: u64, now: Instant) {
        let number = number + u64::from(self.lacking);
        let packets = u64::from(self.packets);
        self.sent = number + 1;
        if number.is_multiple_of(packets) {
            let period = &mut self.periods[(number / packets % 2) as usize];
            debug_assert!(
                period.deadline.is_none(),
                "a period is scored before its place is taken"
            );
            period.number = (number / packets) as u32;
            period.delays.clear();
            period.arrived = 0;
        }
        if self.sent.is_multiple_of(packets) {
            let period = &mut self.periods[(number / packets % 2) as usize];
            // The period ends where the next packet is due, and has its grace from there.
            period.deadline = Some(now + self.interval + self.config.grace);
        }
    }

    /// Packet `number` arrived after `delay`.
    pub fn arrived(&mut self, number: u64, delay: Duration) {
        let number = number + u64::from(self.lacking);
        let packets = u64::from(self.packets);
        let (turn, place) = (number / packets, (number % packets) as usize);
        let period = &mut self.periods[(turn % 2) as usize];
        let being_sent = self.sent / packets == turn;
        if u64::from(period.number) == turn && (being_sent || period.deadline.is_some()) {
            if period.delays.len() <= place {
                period.delays.resize(place + 1, NEVER);
            }
            period.delays[place] = ticks(delay);
            period.arrived += 1;
        }
    }

    /// The score of a period that is over, once all of its packets have arrived or its grace is
    /// over.
    pub fn score_due(&mut self, now: Instant) -> Option<Score> {
        let place = (0..self.periods.len()).find(|&place| {
            let period = &self.periods[place];
            period
                .deadline
                .is_some_and(|deadline| now >= deadline || period.arrived == self.packets)
        })?;
        let deadline = self.periods[place].deadline.take()?;
        Some(self.score(place, deadline - self.config.grace))
    }

    /// When the period that waits will be scored at the latest.
    pub fn deadline(&self) -> Option<Instant> {
        self.periods
            .iter()
            .filter_map(|period| period.deadline)
            .min()
    }

    fn score(&mut self, place: usize, ended: Instant) -> Score {
        let packets = f64::from(self.packets);
        (self.periods[place].delays).resize(self.packets as usize, NEVER);
        let Some(playout) = self.playout_delay(place) else {
            // Nothing was played, and the model has no rating for that.
            return Score {
                ended,
                mos: 1.0,
                late: 0.0,
                loss: 1.0,
                mouth_to_ear: None,
            };
        };
        let period = &self.periods[place];
        let played = period
            .delays
            .iter()
            .filter(|&&delay| delay <= playout)
            .count() as f64;
        let loss = 1.0 - played / packets;
        // The first sample of a packet waits until the packet is full and the encoder has heard its
        // look-ahead.
        let mouth_to_ear = Duration::from_nanos(u64::from(playout) * TICK_NS)
            + self.interval
            + self.codec.look_ahead();
        let burst_ratio = match self.config.burst_ratio {
            BurstRatio::Measured => burst_ratio(period.delays.iter().map(|&delay| delay > playout)),
            BurstRatio::Random => 1.0,
        };
        Score {
            ended,
            mos: mos(rating(
                mouth_to_ear,
                loss,
                burst_ratio,
                self.codec.impairment(self.config.concealment),
            )),
            late: (f64::from(period.arrived) - played) / packets,
            loss,
            mouth_to_ear: Some(mouth_to_ear),
        }
    }

    /// Delay at which the packets of a period are played, in ticks; `None` if none arrived.
    fn playout_delay(&mut self, place: usize) -> Option<u32> {
        let delays = self.periods[place].delays.iter();
        let arrived = delays.filter(|&&delay| delay != NEVER);
        let smallest = *arrived.clone().min()?;
        Some(match self.config.de_jitter {
            DeJitter::Fixed(depth) => smallest.saturating_add(ticks(depth)).min(NEVER - 1),
            // The smallest delay that 95 % of the packets did not exceed: the buffer is that less
            // the minimum, and the playout delay is the buffer plus the minimum.
            DeJitter::Adaptive => {
                let scratch = &mut self.scratch;
                scratch.clear();
                scratch.extend(arrived);
                let index = (scratch.len() * 95).div_ceil(100) - 1;
                *scratch.select_nth_unstable(index).1
            }
        })
    }
}

/// The E-model's rating of a call: `loss` is a share, `burst_ratio` at least 1.
pub fn rating(mouth_to_ear: Duration, loss: f64, burst_ratio: f64, codec: Impairment) -> f64 {
    let delay = mouth_to_ear.as_secs_f64() * 1000.0;
    basic_signal_to_noise()
        - SIMULTANEOUS
        - talker_echo(delay)
        - listener_echo(delay)
        - absolute_delay(delay)
        - equipment(loss, burst_ratio, codec)
}

/// Mean opinion score of a rating (G.107 Annex B, B-4).
pub fn mos(rating: f64) -> f64 {
    if rating <= 0.0 {
        1.0
    } else if rating >= 100.0 {
        4.5
    } else {
        // Just above zero the cubic dips below the scale's end.
        let cubic = rating * (rating - 60.0) * (100.0 - rating) * 7e-6;
        (1.0 + 0.035 * rating + cubic).max(1.0)
    }
}

/// Ro (7-2): speech against circuit and room noise.
fn basic_signal_to_noise() -> f64 {
    15.0 - 1.5 * (SEND_LOUDNESS + NOISE)
}

/// Idte (7-19 to 7-22): the talker hears an echo of his own voice. `delay` is T = Ta in
/// milliseconds. With the default sidetone (STMR = 15 dB) neither 7-23 nor 7-24 applies.
fn talker_echo(delay: f64) -> f64 {
    if delay < 1.0 {
        return 0.0;
    }
    // (7-22): how loud the echo is, weighted by how late it comes.
    let echo_loudness = TALKER_ECHO_LOUDNESS
        - 40.0 * math::log10((1.0 + delay / 10.0) / (1.0 + delay / 150.0))
        + 6.0 * math::exp(-0.3 * delay * delay);
    // (7-20), (7-21).
    let without_echo = -1.5 * (NOISE - RECEIVE_LOUDNESS);
    let with_echo = 80.0 + 2.5 * (echo_loudness - 14.0);
    let half = (without_echo - with_echo) / 2.0;
    (half + (half * half + 100.0).sqrt() - 1.0) * (1.0 - math::exp(-delay))
}

/// Idle (7-25, 7-26): the listener hears an echo of the talker. The echo path is the round trip Tr
/// = 2T.
fn listener_echo(delay: f64) -> f64 {
    let with_echo = 10.5 * (ECHO_PATH_LOSS + 7.0) * math::powf(2.0 * delay + 1.0, -0.25);
    let half = (basic_signal_to_noise() - with_echo) / 2.0;
    half + (half * half + 169.0).sqrt()
}

/// Idd (7-27, 7-28): the delay is too long even without echo, from mT = 100 ms on at the default
/// sensitivity sT = 1.
fn absolute_delay(delay: f64) -> f64 {
    if delay <= 100.0 {
        return 0.0;
    }
    let x = math::log2(delay / 100.0);
    let sixth = |x: f64| math::powf(1.0 + math::powf(x, 6.0), 1.0 / 6.0);
    25.0 * (sixth(x) - 3.0 * sixth(x / 3.0) + 2.0)
}

/// Ie,eff (7-29) of a codec. `loss` is a share, Ppl is in percent.
fn equipment(loss: f64, burst_ratio: f64, codec: Impairment) -> f64 {
    let Impairment { base, robustness } = codec;
    let percent = 100.0 * loss;
    base + (95.0 - base) * percent / (percent / burst_ratio + robustness)
}

/// `BurstR` (G.107 §7.5): mean length of the bursts of loss, over the mean that random loss of the
/// same share gives, 1 / (1 − share). It is at least 1: losses more regular than random are not
/// known to sound better.
fn burst_ratio(lost: impl Iterator<Item = bool>) -> f64 {
    let (mut packets, mut losses, mut bursts, mut in_burst) = (0_u32, 0_u32, 0_u32, false);
    for lost in lost {
        packets += 1;
        losses += u32::from(lost);
        bursts += u32::from(lost && !in_burst);
        in_burst = lost;
    }
    if bursts == 0 {
        return 1.0;
    }
    let mean_length = f64::from(losses) / f64::from(bursts);
    let played = 1.0 - f64::from(losses) / f64::from(packets);
    (mean_length * played).max(1.0)
}

/// Delays are kept to 100 ns, as in a [histogram](super::histogram).
const TICK_NS: u64 = super::histogram::UNIT_NS;

/// Delay of a packet that has not arrived, ticks.
const NEVER: u32 = u32::MAX;

/// A delay in ticks; seven minutes and more are as seven minutes.
fn ticks(delay: Duration) -> u32 {
    let ticks = (delay.as_nanos() + TICK_NS / 2) / TICK_NS;
    ticks.min(u64::from(NEVER - 1)) as u32
}

/// No (7-3): all noise sources as one, dBm0p, from the defaults of Table 3.
const NOISE: f64 = -61.179_214;
/// Is (7-8): impairments simultaneous with the voice, from the defaults of Table 3.
const SIMULTANEOUS: f64 = 1.413_568;
/// SLR, dB (Table 3).
const SEND_LOUDNESS: f64 = 8.0;
/// RLR, dB (Table 3).
const RECEIVE_LOUDNESS: f64 = 2.0;
/// TELR, dB (Table 3).
const TALKER_ECHO_LOUDNESS: f64 = 65.0;
/// WEPL, dB (Table 3).
const ECHO_PATH_LOSS: f64 = 110.0;

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: Duration = Duration::from_millis(20);
    const CONCEALED: Impairment = Codec::G711.impairment(true);
    const PLAIN: Impairment = Codec::G711.impairment(false);

    #[track_caller]
    fn assert_near(value: f64, expected: f64, tolerance: f64) {
        assert!(
            (value - expected).abs() <= tolerance,
            "{value} is not {expected} ± {tolerance}"
        );
    }

    fn lossless(ms: u64) -> f64 {
        rating(Duration::from_millis(ms), 0.0, 1.0, CONCEALED)
    }

    #[test]
    fn a_perfect_line_rates_93_2_and_scores_4_41() {
        assert_near(basic_signal_to_noise(), 94.768_822, 1e-5);
        assert_near(listener_echo(0.0), 0.149_046, 1e-4);
        assert_near(lossless(0), 93.206, 1e-3);
        assert_near(mos(lossless(0)), 4.4094, 1e-4);
    }

    /// Hand-computed: T = 150 ms gives TERV 28.876, Re 117.19, Roe 94.769; Rle 294.95; X 0.58496.
    #[test]
    fn delay_parts_at_150_ms_follow_the_formulas_step_by_step() {
        assert_near(talker_echo(150.0), 2.811_844, 1e-4);
        assert_near(listener_echo(150.0), 0.840_747, 1e-4);
        assert_near(absolute_delay(150.0), 0.163_531, 1e-4);
        assert_near(lossless(150), 89.539, 1e-3);
    }

    /// G.113 Appendix I: Ie 11 and Bpl 19, so that 2 % of loss cost 11 + 84 · 2 / 21. G.711 loses
    /// fewer points.
    #[test]
    fn g_729_costs_eleven_points_and_more_where_packets_are_lost() {
        let of = |codec: Codec, loss| {
            rating(
                Duration::from_millis(100),
                loss,
                1.0,
                codec.impairment(true),
            )
        };
        assert_near(of(Codec::G711, 0.0) - of(Codec::G729, 0.0), 11.0, 1e-9);
        assert_near(of(Codec::G711, 0.0) - of(Codec::G729, 0.02), 19.0, 1e-9);
        assert_near(
            of(Codec::G711, 0.0) - of(Codec::G711, 0.02),
            95.0 * 2.0 / 27.1,
            1e-9,
        );
        assert_eq!(Codec::G729.bytes_in(INTERVAL), 20);
        assert_eq!(Codec::G711.bytes_in(INTERVAL), 160);
    }

    /// Default parameters, one-way delay in ms: an independent evaluation of 7-19 to 7-28 in double
    /// precision.
    #[test]
    fn rating_over_delay_follows_the_published_curve() {
        let curve = [
            (50, 91.756),
            (100, 90.664),
            (200, 85.805),
            (250, 79.177),
            (300, 72.666),
            (400, 62.247),
            (500, 54.803),
        ];
        for (ms, expected) in curve {
            assert_near(lossless(ms), expected, 1e-3);
        }
    }

    #[test]
    fn delay_without_echo_costs_nothing_up_to_exactly_100_ms() {
        assert_near(absolute_delay(100.0), 0.0, 0.0);
        assert!(absolute_delay(101.0) < 1e-6);
        assert_near(absolute_delay(200.0), 3.0444, 1e-4);
    }

    #[test]
    fn talker_echo_begins_at_one_millisecond() {
        assert_near(talker_echo(0.999), 0.0, 0.0);
        assert!(talker_echo(20.0) > 0.3);
    }

    /// 95·1 / (1 + 25.1), 95·5 / (5 + 25.1), 95·5 / (5/2 + 25.1), 95·1 / (1 + 4.3).
    #[test]
    fn loss_costs_what_equation_7_29_says() {
        assert_near(equipment(0.01, 1.0, CONCEALED), 3.639_847, 1e-5);
        assert_near(equipment(0.05, 1.0, CONCEALED), 15.780_731, 1e-5);
        assert_near(equipment(0.05, 2.0, CONCEALED), 17.210_145, 1e-5);
        assert_near(equipment(0.01, 1.0, PLAIN), 17.924_528, 1e-5);
    }

    /// G.107 Table B.1, rounded there to two places.
    #[test]
    fn score_of_a_rating_is_that_of_table_b_1() {
        for (rating, expected) in [(90.0, 4.34), (80.0, 4.03), (70.0, 3.60), (60.0, 3.10)] {
            assert_near(mos(rating), expected, 0.007);
        }
        assert_near(mos(50.0), 2.575, 1e-12);
        assert_near(mos(-5.0), 1.0, 0.0);
        assert_near(mos(3.0), 1.0, 0.0);
        assert_near(mos(120.0), 4.5, 0.0);
    }

    /// Cole and Rosenbluth's approximation of the rating of a G.711 call with concealment ("Voice
    /// over IP performance monitoring", ACM CCR 31(2), 2001). Beyond 350 ms it falls faster than
    /// [`rating`].
    fn cole_rosenbluth(mouth_to_ear: Duration, loss: f64) -> f64 {
        let delay = mouth_to_ear.as_secs_f64() * 1000.0;
        let interactivity = 0.024 * delay + 0.11 * (delay - 177.3).max(0.0);
        94.2 - interactivity - 30.0 * math::ln(1.0 + 15.0 * loss)
    }

    #[test]
    fn cole_and_rosenbluth_stay_within_two_points_up_to_350_ms() {
        for ms in (0..=350).step_by(10) {
            let delay = Duration::from_millis(ms);
            assert_near(cole_rosenbluth(delay, 0.0), lossless(ms), 2.0);
        }
        for percent in 0..=10 {
            let (delay, loss) = (Duration::from_millis(60), f64::from(percent) / 100.0);
            assert_near(
                cole_rosenbluth(delay, loss),
                rating(delay, loss, 1.0, CONCEALED),
                1.5,
            );
        }
    }

    #[test]
    fn rating_never_rises_with_delay_or_loss() {
        // Around 1 ms, where talker echo sets in, 7-19 is slightly below zero.
        for ms in 5..1000 {
            assert!(lossless(ms) <= lossless(ms - 1), "at {ms} ms");
        }
        for permille in 1..=1000 {
            let at =
                |permille: u32| rating(Duration::ZERO, f64::from(permille) / 1000.0, 1.0, PLAIN);
            assert!(at(permille) < at(permille - 1), "at {permille} ‰");
        }
    }

    #[test]
    fn burst_ratio_compares_with_random_loss() {
        let of = |pattern: &str| burst_ratio(pattern.chars().map(|c| c == 'x'));
        assert_near(of("........"), 1.0, 0.0);
        // One burst of four in ten: 4 · 0.6.
        assert_near(of("...xxxx..."), 2.4, 1e-12);
        assert_near(of("x.x.x.x."), 1.0, 0.0);
        assert_near(of("xxxx"), 1.0, 0.0);
    }

    fn config(packets: u64) -> Config {
        Config {
            period: INTERVAL * packets,
            grace: Duration::from_millis(40),
            ..Config::default()
        }
    }

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    /// Sends the packets of a period at 0, 20, … ms. Those with a delay arrive; the scorer learns
    /// of the arrival at once.
    fn period(config: Config, delays: &[Option<u64>]) -> Scorer {
        let mut scorer = Scorer::new(config, Codec::G711, INTERVAL);
        for (number, delay) in (0..).zip(delays) {
            scorer.sent(number, at(20 * number));
            if let Some(ms) = delay {
                scorer.arrived(number, Duration::from_millis(*ms));
            }
        }
        scorer
    }

    #[test]
    fn mouth_to_ear_is_smallest_delay_plus_buffer_plus_packet() {
        let mut scorer = period(config(4), &[Some(35), Some(30), Some(70), Some(40)]);
        let score = scorer.score_due(at(60)).expect("all have arrived");
        assert_eq!(score.ended, at(80), "where the next packet is due");
        // 30 + 40 + 20 ms; the packet at exactly 70 ms is played.
        assert_eq!(score.mouth_to_ear, Some(Duration::from_millis(90)));
        assert_near(score.loss, 0.0, 0.0);
        assert_near(score.mos, mos(lossless(90)), 1e-12);
        assert_eq!(scorer.score_due(at(1000)), None, "a period is scored once");
    }

    #[test]
    fn a_late_packet_is_lost_and_counted_as_late_a_missing_one_as_lost_only() {
        let mut scorer = period(config(4), &[Some(30), Some(71), None, Some(30)]);
        assert_eq!(scorer.score_due(at(119)), None, "the grace has not passed");
        assert_eq!(scorer.deadline(), Some(at(120)));
        let score = scorer.score_due(at(120)).expect("due");
        assert_eq!(score.ended, at(80), "without the grace");
        assert_near(score.late, 0.25, 1e-12);
        assert_near(score.loss, 0.5, 1e-12);
        let expected = rating(Duration::from_millis(90), 0.5, 1.0, CONCEALED);
        assert_near(score.mos, mos(expected), 1e-12);
    }

    #[test]
    fn an_adaptive_buffer_plays_at_the_95th_percentile() {
        let delays: Vec<_> = (1..=20).map(|ms| Some(ms * 5)).collect();
        let adaptive = Config {
            de_jitter: DeJitter::Adaptive,
            ..config(20)
        };
        let score = period(adaptive, &delays).score_due(at(400)).expect("due");
        // The 19th of 20 is at 95 ms; the last comes too late.
        assert_eq!(score.mouth_to_ear, Some(Duration::from_millis(115)));
        assert_near(score.late, 0.05, 1e-12);
    }

    #[test]
    fn losses_in_one_burst_sound_worse_if_measured() {
        let mut delays = vec![Some(30); 50];
        delays[10..14].fill(None);
        let measured = Config {
            burst_ratio: BurstRatio::Measured,
            ..config(50)
        };
        let random = period(config(50), &delays)
            .score_due(at(2000))
            .expect("due");
        let measured = period(measured, &delays).score_due(at(2000)).expect("due");
        assert_near(random.loss, measured.loss, 0.0);
        assert!(measured.mos < random.mos - 0.02);
    }

    #[test]
    fn a_dead_line_scores_one() {
        let score = period(config(3), &[None; 3])
            .score_due(at(100))
            .expect("due");
        assert_near(score.mos, 1.0, 0.0);
        assert_near(score.loss, 1.0, 0.0);
        assert_eq!(score.mouth_to_ear, None);
    }

    #[test]
    fn a_packet_counts_in_the_period_in_which_it_was_sent() {
        let mut scorer = Scorer::new(config(2), Codec::G711, INTERVAL);
        scorer.sent(0, at(0));
        scorer.sent(1, at(20));
        scorer.sent(2, at(40));
        scorer.arrived(0, Duration::from_millis(30));
        scorer.arrived(2, Duration::from_millis(10));
        assert_eq!(scorer.score_due(at(60)), None);
        scorer.arrived(1, Duration::from_millis(45));
        let first = scorer.score_due(at(65)).expect("both have arrived");
        assert_eq!(first.mouth_to_ear, Some(Duration::from_millis(90)));
        scorer.sent(3, at(60));
        scorer.arrived(3, Duration::from_millis(10));
        let second = scorer.score_due(at(70)).expect("both have arrived");
        assert_eq!(second.mouth_to_ear, Some(Duration::from_millis(70)));
    }

    #[test]
    fn a_packet_after_the_grace_leaves_later_periods_alone() {
        let mut scorer = period(config(2), &[Some(30), None]);
        let first = scorer.score_due(at(80)).expect("due");
        assert_near(first.loss, 0.5, 1e-12);
        assert_near(first.late, 0.0, 0.0);
        scorer.arrived(1, Duration::from_millis(500));
        for number in 2..6 {
            scorer.sent(number, at(20 * number));
            scorer.arrived(number, Duration::from_millis(30));
            scorer.arrived(1, Duration::from_millis(500));
            if let Some(score) = scorer.score_due(at(20 * number)) {
                assert_near(score.loss, 0.0, 0.0);
            }
        }
    }

    #[test]
    fn memory_does_not_grow_with_the_call() {
        let mut scorer = Scorer::new(config(5), Codec::G711, INTERVAL);
        let room = |scorer: &Scorer| {
            scorer.scratch.capacity()
                + (scorer.periods.iter())
                    .map(|p| p.delays.capacity())
                    .sum::<usize>()
        };
        let before = room(&scorer);
        for number in 0..1000 {
            let _ = scorer.score_due(at(20 * number));
            scorer.sent(number, at(20 * number));
            if number % 3 > 0 {
                scorer.arrived(number, Duration::from_millis(number % 50));
            }
        }
        assert_eq!(room(&scorer), before);
    }
}
