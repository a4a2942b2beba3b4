//! Congestion control: how much a sender may have in flight, and how fast it may send. Each control
//! has a file of its own.
//!
//! The controls only compute the window and the rate. [`crate::tcp`] detects losses, counts the
//! data in flight and schedules retransmissions.

mod ack_aggregation;
pub mod bbr;
pub mod bbr3;
pub mod cubic;
pub mod custom;
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

/// The key of an invalid parameter, and what is expected there.
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
            /// Every control of headend's with its default parameters, in the order of their names.
            pub fn all() -> Vec<Self> {
                let mut all = vec![$(Self::$variant(<$config>::default())),+];
                all.retain(|control| !matches!(control, Self::Custom(_)));
                all
            }

            /// The name of the control in scenarios and results.
            pub const fn name(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => $name,)+
                }
            }

            /// Checks for values that their types allow but that are invalid.
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
    /// BBR version 1 (2016): sends at the measured bandwidth, and ignores losses.
    Bbr(bbr::Config) = "bbr",
    /// BBR version 3: sends at the measured bandwidth, within bounds that it derives from losses.
    Bbr3(bbr3::Config) = "bbr3",
    /// CUBIC (RFC 9438), the default of most systems: the window grows with the time since the last
    /// loss.
    Cubic(cubic::Config) = "cubic",
    /// A congestion control of your own: a class in a Python file.
    Custom(custom::Config) = "custom",
    /// DCTCP (RFC 8257): reduces the window in proportion to the share of marked bytes.
    Dctcp(dctcp::Config) = "dctcp",
    /// FAST: keeps α segments in queues, by round-trip times alone.
    Fast(fast::Config) = "fast",
    /// LEDBAT (RFC 6817): a background transfer that keeps the queue at a target delay.
    Ledbat(ledbat::Config) = "ledbat",
    /// LEDBAT++: LEDBAT with fairness among its own flows, and periodic slowdowns.
    LedbatPlusPlus(ledbat_plus_plus::Config) = "ledbat_plus_plus",
    /// Prague: the scalable control of L4S.
    Prague(prague::Config) = "prague",
    /// NewReno (RFC 5681): grows by one segment per round trip, and halves the window after a loss.
    Reno(reno::Config) = "reno",
    /// Tahoe (1988): grows by one segment per round trip, and falls to one segment after a loss.
    Tahoe(tahoe::Config) = "tahoe",
    /// Vegas: keeps two to four segments in queues.
    Vegas(vegas::Config) = "vegas",
    /// Westwood+: NewReno that sets the window by the measured bandwidth after a loss.
    Westwood(westwood::Config) = "westwood",
}

impl Default for CongestionConfig {
    fn default() -> Self {
        Self::Cubic(cubic::Config::default())
    }
}

impl CongestionConfig {
    /// Whether the control needs the number of marked bytes, and not only the fact that there were
    /// marks.
    pub fn counts_marks(&self) -> bool {
        match self {
            Self::Custom(config) => config.counts_marks(),
            _ => matches!(self, Self::Dctcp(_) | Self::Prague(_)),
        }
    }

    /// Builds a control for segments of `mss` bytes that starts with `initial_window` bytes. `rng`
    /// is a random stream of its own; a control without random numbers ignores it.
    pub fn build(&self, mss: u64, initial_window: u64, rng: Rng) -> Box<dyn CongestionControl> {
        match self {
            Self::Bbr(config) => Box::new(Bbr::new(config, mss, initial_window, rng)),
            Self::Bbr3(config) => Box::new(Bbr3::new(config, mss, initial_window, rng)),
            Self::Cubic(config) => Box::new(Cubic::new(config, mss, initial_window)),
            Self::Custom(config) => config.build(mss, initial_window, rng),
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

/// Checks the growth per acknowledgement in slow start; with zero, slow start would never end.
fn check_slow_start(limit: u32, key: &'static str) -> Result<(), Refusal> {
    if limit == 0 {
        return Err((key, "at least 1 segment"));
    }
    Ok(())
}

/// A congestion control: how much a sender may have in flight, and how fast it may send. All sizes
/// are in bytes.
pub trait CongestionControl: Debug + Send {
    /// Called after a handshake that took `rtt`, if its round trip could be measured.
    fn on_handshake(&mut self, rtt: Duration) {
        let _ = rtt;
    }
    /// Called after new data or a retransmission was sent. The sender reads the resulting window
    /// and rate after the next acknowledgement or timer.
    fn on_sent(&mut self, now: Instant, bytes: u64, in_flight: u64) {
        let _ = (now, bytes, in_flight);
    }
    /// Called for each acknowledgement that carries new information.
    fn on_ack(&mut self, ack: &AckSample);
    /// Called when congestion is detected; at most once per round trip for marks and losses.
    fn on_congestion(&mut self, signal: CongestionSignal, ack: &AckSample);
    /// Called when the last congestion signal turns out to be wrong.
    fn on_spurious_congestion(&mut self) {}
    /// Called when the recovery from losses ends.
    fn on_recovered(&mut self, ack: &AckSample) {
        let _ = ack;
    }
    /// Called when sending starts again after a pause longer than a retransmission timeout. The
    /// window should not exceed `restart_window`.
    fn on_idle(&mut self, restart_window: u64) {
        let _ = restart_window;
    }
    /// Called at the time that [`Self::next_timer`] returned.
    fn on_timer(&mut self, now: Instant) {
        let _ = now;
    }
    /// When [`Self::on_timer`] must be called next.
    fn next_timer(&self) -> Option<Instant> {
        None
    }
    /// Whether a loss is repaired as after a timeout: all outstanding data is retransmitted in slow
    /// start.
    fn repairs_in_slow_start(&self) -> bool {
        false
    }
    /// Whether the control responds to marks in proportion, as L4S requires. Its packets then carry
    /// ECT(1) (RFC 9331 §4).
    fn is_scalable(&self) -> bool {
        false
    }
    /// The congestion window.
    fn cwnd(&self) -> u64;
    /// The slow-start threshold; `None` before it is first set.
    fn ssthresh(&self) -> Option<u64> {
        None
    }
    /// The rate at which the sender may send, in bits of payload; with `None`, acknowledgements
    /// alone determine the sending times.
    fn pacing_rate(&self) -> Option<Rate> {
        None
    }
    /// The name of the phase that the control is in, as its specification has it; `None` for a
    /// control whose phase, slow start or congestion avoidance, follows from [`Self::ssthresh`].
    fn phase(&self) -> Option<&'static str> {
        None
    }
    /// Bytes that may be sent back to back at this pacing rate, as with segmentation offload. Below
    /// two segments, each segment is paced separately.
    fn send_quantum(&self) -> u64 {
        0
    }
    /// All values that a sender needs after each acknowledgement, from one call.
    fn stance(&self) -> Stance {
        Stance {
            cwnd: self.cwnd(),
            pacing_rate: self.pacing_rate(),
            send_quantum: self.send_quantum(),
            next_timer: self.next_timer(),
        }
    }
}

/// The values of a control between two calls; each is the result of the method of the same name.
#[derive(Debug, Clone, Copy, PartialEq)]
#[expect(missing_docs, reason = "each is a method's answer")]
pub struct Stance {
    pub cwnd: u64,
    pub pacing_rate: Option<Rate>,
    pub send_quantum: u64,
    pub next_timer: Option<Instant>,
}

/// The reason why a sender must slow down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CongestionSignal {
    /// The receiver echoed CE.
    Ecn,
    /// Segments were lost.
    Loss {
        /// The number of lost bytes.
        lost: u64,
    },
    /// The retransmission timer expired.
    Timeout,
}

/// The contents of one acknowledgement, and the sender's state when it arrived.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct AckSample {
    /// Time of arrival.
    pub now: Instant,
    /// Bytes newly known to have arrived, by cumulative or selective acknowledgement.
    pub newly_acked: u64,
    /// Bytes newly known to be lost.
    pub newly_lost: u64,
    /// Bytes newly reported as CE-marked (Accurate ECN). Always 0 under RFC 3168, whose echo does
    /// not count bytes.
    pub ce_bytes: u64,
    /// Bytes in flight before this acknowledgement, without those known to be selectively
    /// acknowledged or lost.
    pub prior_in_flight: u64,
    /// The number of bytes of which a new slow-start threshold is a share.
    ///
    /// By RFC 5681's equation 4, it is FlightSize: the bytes sent and not cumulatively acknowledged
    /// before this acknowledgement, without those of limited transmit. During a recovery, it is no
    /// more than at its start. With `ssthresh_from = "window"`, it is the window.
    pub flight_size: u64,
    /// Whether windows and thresholds are whole segments, as in Linux.
    pub whole_segments: bool,
    /// Bytes in flight after this acknowledgement.
    pub in_flight: u64,
    /// Time since the transmission of the most recently sent segment among those newly
    /// acknowledged; `None` if that segment was sent more than once.
    pub rtt: Option<Duration>,
    /// Smoothed round-trip time.
    pub srtt: Option<Duration>,
    /// Smallest round-trip time so far.
    pub min_rtt: Option<Duration>,
    /// One-way delay of the segment that this acknowledgement answers, plus the time for which the
    /// acknowledgement was delayed. It needs timestamps; the clocks of all hosts agree in the
    /// model.
    pub one_way_delay: Option<Duration>,
    /// The data from which [`Self::delivery_rate`] is computed.
    pub delivery_sample: Option<DeliverySample>,
    /// Total bytes delivered.
    pub delivered: u64,
    /// Total bytes delivered at the time when the most recently sent segment among those newly
    /// acknowledged was sent.
    pub prior_delivered: u64,
    /// Bytes in flight at that time, including that segment.
    pub sent_in_flight: u64,
    /// Bytes in flight when the last of the newly lost segments was sent, including that segment.
    pub lost_in_flight: u64,
    /// Whether the sender had no more data to send.
    pub app_limited: bool,
    /// Whether the window, or the pacing rate that follows from it, limited the sender, and not the
    /// application or the receiver.
    pub cwnd_limited: bool,
    /// Whether the window must not grow: losses are being repaired by fast recovery, a mark is
    /// echoed, or the acknowledgement only reports out-of-order data. It is false after a timeout,
    /// when slow start repairs the losses.
    pub in_recovery: bool,
    /// Number of round trips since the start.
    pub round: u64,
    /// Maximum segment size.
    pub mss: u64,
}

impl AckSample {
    /// A slow-start threshold of this share of the flight size, and at least two segments.
    pub fn threshold(&self, share: f64) -> u64 {
        let kept = (self.flight_size as f64 * share) as u64;
        let kept = if self.whole_segments {
            kept / self.mss * self.mss
        } else {
            kept
        };
        kept.max(2 * self.mss)
    }

    /// Bytes delivered since the acknowledged segment was sent, divided by that time. It is
    /// computed on demand, because loss-based controls do not use it.
    pub fn delivery_rate(&self) -> Option<Rate> {
        self.delivery_sample.map(DeliverySample::rate)
    }
}

/// The bytes delivered in an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeliverySample {
    /// The number of bytes.
    pub bytes: u64,
    /// The length of the interval; more than zero.
    pub interval: Duration,
}

impl DeliverySample {
    /// The rate in bytes per second.
    pub fn bytes_per_sec(self) -> f64 {
        self.bytes as f64 * 1e9 / self.interval.as_nanos() as f64
    }

    /// The rate in bits per second.
    pub fn rate(self) -> Rate {
        let bits = self.bytes as f64 * 8e9;
        Rate((bits / self.interval.as_nanos() as f64) as u64)
    }
}

/// The rate of `gain` windows per round trip; `None` if the round trip takes no time.
pub(crate) fn window_rate(window: f64, rtt: Duration, gain: f64) -> Option<Rate> {
    let seconds = rtt.as_secs_f64();
    (seconds > 0.0).then(|| Rate((gain * window * 8.0 / seconds) as u64))
}

/// Slow start with appropriate byte counting (RFC 5681 §3.1, RFC 3465), for the controls that use
/// it.
#[derive(Debug, Clone)]
pub(crate) struct SlowStart {
    /// RFC 3465's L, in segments.
    limit: u64,
    /// Whether this slow start follows a timeout. L is 1 then, because acknowledgements can cover
    /// more than the data just sent (RFC 3465 §2.3).
    after_timeout: bool,
}

impl SlowStart {
    /// Slow start that grows by at most `limit` segments per acknowledgement.
    pub(crate) fn new(limit: u32) -> Self {
        Self {
            limit: u64::from(limit),
            after_timeout: false,
        }
    }

    /// The window after `ack`, at most `ssthresh`.
    pub(crate) fn grow(&mut self, cwnd: u64, ssthresh: u64, ack: &AckSample) -> u64 {
        let limit = if self.after_timeout { 1 } else { self.limit };
        let grown = cwnd + ack.newly_acked.min(limit * ack.mss);
        if grown >= ssthresh {
            self.after_timeout = false;
        }
        grown.min(ssthresh)
    }

    /// Called when the retransmission timer has expired.
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
    fn invalid_parameters_are_refused() {
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
