//! Congestion control: how much a sender may have in flight, and how fast it may send. One control, one file.
//!
//! Policy only: what was lost, what is in flight and when to send again is TCP's mechanism ([`crate::tcp`]).

mod ack_aggregation;
pub mod bbr;
pub mod bbr3;
pub mod cubic;
pub mod dctcp;
mod delay_history;
pub mod fast;
pub mod hystart;
pub mod ledbat;
pub mod ledbat_plus_plus;
pub mod prague;
pub mod reno;
pub mod tahoe;
#[cfg(test)]
mod testing;
pub mod vegas;
pub mod westwood;
mod windowed_max;

use std::fmt::Debug;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::bbr::Bbr;
use self::bbr3::Bbr3;
use self::cubic::Cubic;
use self::dctcp::Dctcp;
use self::fast::Fast;
use self::ledbat::Ledbat;
use self::ledbat_plus_plus::LedbatPlusPlus;
use self::prague::Prague;
use self::reno::Reno;
use self::tahoe::Tahoe;
use self::vegas::Vegas;
use self::westwood::Westwood;
use crate::rng::Rng;
use crate::time::{Duration, Instant};
use crate::units::Rate;

/// The key of a parameter whose value makes no sense, and what is expected there.
type Refusal = (&'static str, &'static str);

macro_rules! controls {
    ($($(#[$doc:meta])* $variant:ident($config:ty) = $name:literal,)+) => {
        /// A congestion control by name, with its parameters.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum CongestionConfig {
            $($(#[$doc])* $variant($config),)+
        }

        impl CongestionConfig {
            /// Every control with its defaults, in the order of their names.
            pub fn all() -> Vec<Self> {
                vec![$(Self::$variant(<$config>::default())),+]
            }

            /// Its name in scenarios and results.
            pub const fn name(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => $name,)+
                }
            }

            /// Finds values that their types allow and that make no sense.
            ///
            /// # Errors
            ///
            /// The path of the key, and what is expected there.
            pub fn check(&self) -> Result<(), Refusal> {
                match self {
                    $(Self::$variant(config) => config.check(),)+
                }
            }
        }
    };
}

controls! {
    /// BBR version 1 (2016): sends at the measured bandwidth, whatever is lost.
    Bbr(bbr::Config) = "bbr",
    /// BBR version 3: sends at the measured bandwidth, with bounds from losses.
    Bbr3(bbr3::Config) = "bbr3",
    /// CUBIC (RFC 9438), the default of most systems: grows with the time since the last loss.
    Cubic(cubic::Config) = "cubic",
    /// DCTCP (RFC 8257): reduces the window by as much as was marked.
    Dctcp(dctcp::Config) = "dctcp",
    /// FAST: keeps α segments in queues, by round-trip times alone.
    Fast(fast::Config) = "fast",
    /// LEDBAT (RFC 6817): a background transfer that keeps the queue at a target delay.
    Ledbat(ledbat::Config) = "ledbat",
    /// LEDBAT++: LEDBAT fair among its own kind, with periodic slowdowns.
    LedbatPlusPlus(ledbat_plus_plus::Config) = "ledbat_plus_plus",
    /// Prague: the scalable control of L4S.
    Prague(prague::Config) = "prague",
    /// NewReno (RFC 5681): one segment more each round trip, half after a loss.
    Reno(reno::Config) = "reno",
    /// Tahoe (1988): one segment more each round trip, and one segment after a loss.
    Tahoe(tahoe::Config) = "tahoe",
    /// Vegas: keeps two to four segments in queues.
    Vegas(vegas::Config) = "vegas",
    /// Westwood+: NewReno that falls to the measured bandwidth after a loss.
    Westwood(westwood::Config) = "westwood",
}

impl Default for CongestionConfig {
    fn default() -> Self {
        Self::Cubic(cubic::Config::default())
    }
}

impl CongestionConfig {
    /// Whether it needs to know how much was marked, not only that something was.
    pub const fn counts_marks(&self) -> bool {
        matches!(self, Self::Dctcp(_) | Self::Prague(_))
    }

    /// A control for segments of `mss` bytes that starts with `initial_window` bytes. `rng` is its own random stream; a control
    /// that draws none ignores it.
    pub fn build(&self, mss: u64, initial_window: u64, rng: Rng) -> Box<dyn CongestionControl> {
        match self {
            Self::Bbr(config) => Box::new(Bbr::new(config, mss, initial_window, rng)),
            Self::Bbr3(config) => Box::new(Bbr3::new(config, mss, initial_window, rng)),
            Self::Cubic(config) => Box::new(Cubic::new(config, mss, initial_window)),
            Self::Dctcp(config) => Box::new(Dctcp::new(config, mss, initial_window)),
            Self::Fast(config) => Box::new(Fast::new(config, mss, initial_window)),
            Self::Ledbat(config) => Box::new(Ledbat::new(config, mss, initial_window)),
            Self::LedbatPlusPlus(config) => {
                Box::new(LedbatPlusPlus::new(config, mss, initial_window))
            }
            Self::Prague(config) => Box::new(Prague::new(config, mss, initial_window)),
            Self::Reno(config) => Box::new(Reno::new(config, mss, initial_window)),
            Self::Tahoe(config) => Box::new(Tahoe::new(config, mss, initial_window)),
            Self::Vegas(config) => Box::new(Vegas::new(config, mss, initial_window)),
            Self::Westwood(config) => Box::new(Westwood::new(config, mss, initial_window)),
        }
    }
}

/// A slow start that may not grow never ends.
fn check_slow_start(limit: u32, key: &'static str) -> Result<(), Refusal> {
    if limit == 0 {
        return Err((key, "at least 1 segment"));
    }
    Ok(())
}

/// How much a sender may have in flight, and how fast it may send. All sizes are bytes.
pub trait CongestionControl: Debug + Send {
    /// The handshake took `rtt`, and it could be timed.
    fn on_handshake(&mut self, rtt: Duration) {
        let _ = rtt;
    }
    /// New data or a retransmission was sent. What this changes is asked for after the next acknowledgement or timer.
    fn on_sent(&mut self, now: Instant, bytes: u64, in_flight: u64) {
        let _ = (now, bytes, in_flight);
    }
    /// An acknowledgement arrived that brought news.
    fn on_ack(&mut self, ack: &AckSample);
    /// Congestion was noticed: at most once per round trip for marks and losses.
    fn on_congestion(&mut self, signal: CongestionSignal, ack: &AckSample);
    /// The last congestion signal was a mistake.
    fn on_spurious_congestion(&mut self) {}
    /// Recovery from losses has ended.
    fn on_recovered(&mut self, ack: &AckSample) {
        let _ = ack;
    }
    /// Sending begins again after more than a retransmission timeout of silence: the window should not exceed `restart_window`.
    fn on_idle(&mut self, restart_window: u64) {
        let _ = restart_window;
    }
    /// A timer it asked for by [`Self::next_timer`] is due.
    fn on_timer(&mut self, now: Instant) {
        let _ = now;
    }
    /// When it wants [`Self::on_timer`].
    fn next_timer(&self) -> Option<Instant> {
        None
    }
    /// Whether a loss is repaired as after a timeout: all that is outstanding is sent again, in slow start.
    fn repairs_in_slow_start(&self) -> bool {
        false
    }
    /// Whether it answers marks in proportion, as L4S wants it: its packets then say ECT(1) (RFC 9331 §4).
    fn is_scalable(&self) -> bool {
        false
    }
    /// Congestion window.
    fn cwnd(&self) -> u64;
    /// Slow-start threshold, once there is one.
    fn ssthresh(&self) -> Option<u64> {
        None
    }
    /// How fast it may send, in bits of payload; `None` leaves the pace to acknowledgements.
    fn pacing_rate(&self) -> Option<Rate> {
        None
    }
    /// Bytes that may leave together under that rate, as segmentation offload has them leave; below two segments each is paced by itself.
    fn send_quantum(&self) -> u64 {
        0
    }
    /// All that a sender asks after each acknowledgement, in one call.
    fn stance(&self) -> Stance {
        Stance {
            cwnd: self.cwnd(),
            pacing_rate: self.pacing_rate(),
            send_quantum: self.send_quantum(),
            next_timer: self.next_timer(),
        }
    }
}

/// What a control says between two calls: see its methods of the same names.
#[derive(Debug, Clone, Copy, PartialEq)]
#[expect(missing_docs, reason = "each is a method's answer")]
pub struct Stance {
    pub cwnd: u64,
    pub pacing_rate: Option<Rate>,
    pub send_quantum: u64,
    pub next_timer: Option<Instant>,
}

/// Why a sender must slow down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CongestionSignal {
    /// The receiver echoed CE.
    Ecn,
    /// Segments were lost (bytes).
    Loss {
        /// How many bytes.
        lost: u64,
    },
    /// The retransmission timer expired.
    Timeout,
}

/// What one acknowledgement says.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct AckSample {
    /// When it arrived.
    pub now: Instant,
    /// Bytes newly known to have arrived: acknowledged or selectively acknowledged.
    pub newly_acked: u64,
    /// Bytes newly known to be lost.
    pub newly_lost: u64,
    /// Bytes newly reported as CE-marked (Accurate ECN); always 0 under RFC 3168, whose echo does not count.
    pub ce_bytes: u64,
    /// Bytes in flight before this acknowledgement, as far as is known: neither those selectively acknowledged nor those lost.
    pub prior_in_flight: u64,
    /// What a threshold is a share of. By RFC 5681's equation 4 it is FlightSize: bytes sent and not cumulatively acknowledged before it, without those of
    /// limited transmit, and during a recovery no more than at its start. With `ssthresh_from = "window"` it is the window.
    pub flight_size: u64,
    /// Whether windows and thresholds are counted in whole segments, as Linux does.
    pub whole_segments: bool,
    /// Bytes in flight after it.
    pub in_flight: u64,
    /// Time since the most recently sent of the segments it newly acknowledges was sent, if that was sent once.
    pub rtt: Option<Duration>,
    /// Smoothed round-trip time.
    pub srtt: Option<Duration>,
    /// Smallest round-trip time so far.
    pub min_rtt: Option<Duration>,
    /// One-way delay of the segment it answers (hosts' clocks agree in the model), plus the time the answer was delayed; needs timestamps.
    pub one_way_delay: Option<Duration>,
    /// What [`Self::delivery_rate`] is computed from.
    pub delivery_sample: Option<DeliverySample>,
    /// Bytes delivered in all.
    pub delivered: u64,
    /// Bytes delivered in all when the most recently sent of the newly acknowledged segments was sent.
    pub prior_delivered: u64,
    /// Bytes in flight then, that segment included.
    pub sent_in_flight: u64,
    /// Bytes in flight when the last of the newly lost segments was sent, that segment included.
    pub lost_in_flight: u64,
    /// The sender had nothing more to send.
    pub app_limited: bool,
    /// The window, or the pace that follows from it, not the application or the receiver, kept it from sending more.
    pub cwnd_limited: bool,
    /// No time to grow: losses are being repaired by fast recovery, a mark is echoed, or it only says that something arrived out of
    /// order. (Not so after a timeout: slow start repairs.)
    pub in_recovery: bool,
    /// Round trips since the start.
    pub round: u64,
    /// Maximum segment size.
    pub mss: u64,
}

impl AckSample {
    /// A slow-start threshold: so large a share of the flight, two segments at least.
    pub fn threshold(&self, share: f64) -> u64 {
        let kept = (self.flight_size as f64 * share) as u64;
        let kept = if self.whole_segments {
            kept / self.mss * self.mss
        } else {
            kept
        };
        kept.max(2 * self.mss)
    }

    /// Bytes delivered since the segment it answers was sent, over that time. Computed when asked for: loss-based controls do not ask.
    pub fn delivery_rate(&self) -> Option<Rate> {
        self.delivery_sample.map(DeliverySample::rate)
    }
}

/// What was delivered in an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeliverySample {
    /// How much.
    pub bytes: u64,
    /// In how long; more than zero.
    pub interval: Duration,
}

impl DeliverySample {
    /// Bytes a second.
    pub fn bytes_per_sec(self) -> f64 {
        self.bytes as f64 * 1e9 / self.interval.as_nanos() as f64
    }

    /// The rate it amounts to.
    pub fn rate(self) -> Rate {
        let bits = self.bytes as f64 * 8e9;
        Rate((bits / self.interval.as_nanos() as f64) as u64)
    }
}

/// `gain` times a window each round trip; `None` where that takes no time.
pub(crate) fn window_rate(window: f64, rtt: Duration, gain: f64) -> Option<Rate> {
    let seconds = rtt.as_secs_f64();
    (seconds > 0.0).then(|| Rate((gain * window * 8.0 / seconds) as u64))
}

/// Slow start with appropriate byte counting (RFC 5681 §3.1, RFC 3465), for the controls that use it.
#[derive(Debug, Clone)]
pub(crate) struct SlowStart {
    /// RFC 3465's L, in segments.
    limit: u64,
    /// In the slow start that follows a timeout, L is 1: acknowledgements then cover more than what was just sent (RFC 3465 §2.3).
    after_timeout: bool,
}

impl SlowStart {
    /// Slow start that grows by at most `limit` segments an acknowledgement.
    pub(crate) fn new(limit: u32) -> Self {
        Self {
            limit: u64::from(limit),
            after_timeout: false,
        }
    }

    /// The window after `ack`, not beyond `ssthresh`.
    pub(crate) fn grow(&mut self, cwnd: u64, ssthresh: u64, ack: &AckSample) -> u64 {
        let limit = if self.after_timeout { 1 } else { self.limit };
        let grown = cwnd + ack.newly_acked.min(limit * ack.mss);
        if grown >= ssthresh {
            self.after_timeout = false;
        }
        grown.min(ssthresh)
    }

    /// The retransmission timer has expired.
    pub(crate) fn after_timeout(&mut self) {
        self.after_timeout = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Probability;

    #[test]
    fn a_threshold_is_two_segments_at_least_and_whole_segments_where_those_are_counted() {
        let threshold = |flight_size, whole_segments, share| {
            let ack = AckSample {
                flight_size,
                whole_segments,
                mss: 1000,
                ..AckSample::default()
            };
            ack.threshold(share)
        };
        assert_eq!(threshold(11_000, false, 0.5), 5500);
        assert_eq!(threshold(11_000, true, 0.5), 5000);
        assert_eq!(threshold(6000, true, 0.7), 4000);
        assert_eq!(threshold(3000, false, 0.5), 2000);
        assert_eq!(threshold(3000, true, 0.5), 2000);
    }

    #[test]
    fn parameters_that_make_no_sense_are_refused() {
        let cubic = |change: fn(&mut cubic::Config)| {
            let mut config = cubic::Config::default();
            change(&mut config);
            CongestionConfig::Cubic(config)
                .check()
                .map_err(|(key, _)| key)
        };
        assert_eq!(cubic(|_| {}), Ok(()));
        assert_eq!(cubic(|config| config.c = 0.0), Err("cubic.c"));
        assert_eq!(cubic(|config| config.c = -5.0), Err("cubic.c"));
        assert_eq!(
            cubic(|config| config.beta = Probability(0.0)),
            Err("cubic.beta")
        );
        assert_eq!(
            cubic(|config| config.beta = Probability(1.0)),
            Err("cubic.beta")
        );
        let none = Err("cubic.slow_start_limit");
        assert_eq!(cubic(|config| config.slow_start_limit = 0), none);
        let reno = CongestionConfig::Reno(reno::Config {
            slow_start_limit: 0,
            ..reno::Config::default()
        });
        assert_eq!(
            reno.check(),
            Err(("reno.slow_start_limit", "at least 1 segment"))
        );
    }
}
