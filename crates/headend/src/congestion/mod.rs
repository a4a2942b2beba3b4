//! Congestion control: how much a sender may have in flight, and how fast it may send. One control, one file.
//!
//! Policy only: what was lost, what is in flight and when to send again is TCP's mechanism ([`crate::tcp`]).

use std::fmt::Debug;

use crate::time::{Duration, Instant};
use crate::units::Rate;

/// How much a sender may have in flight, and how fast it may send. All sizes are bytes.
pub trait CongestionControl: Debug + Send {
    /// New data or a retransmission was sent.
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
    /// A timer it asked for by [`Self::next_timer`] is due.
    fn on_timer(&mut self, now: Instant) {
        let _ = now;
    }
    /// When it wants [`Self::on_timer`].
    fn next_timer(&self) -> Option<Instant> {
        None
    }
    /// Congestion window.
    fn cwnd(&self) -> u64;
    /// Slow-start threshold, once there is one.
    fn ssthresh(&self) -> Option<u64> {
        None
    }
    /// How fast it may send; `None` leaves the pace to acknowledgements.
    fn pacing_rate(&self) -> Option<Rate> {
        None
    }
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
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct AckSample {
    /// When it arrived.
    pub now: Instant,
    /// Bytes newly known to have arrived: acknowledged or selectively acknowledged.
    pub newly_acked: u64,
    /// Bytes newly known to be lost.
    pub newly_lost: u64,
    /// Bytes newly reported as CE-marked.
    pub ce_bytes: u64,
    /// Bytes in flight before this acknowledgement.
    pub prior_in_flight: u64,
    /// Bytes in flight after it.
    pub in_flight: u64,
    /// Round-trip time of the segment it answers, if it may be timed.
    pub rtt: Option<Duration>,
    /// Smoothed round-trip time.
    pub srtt: Option<Duration>,
    /// Smallest round-trip time so far.
    pub min_rtt: Option<Duration>,
    /// One-way delay of the segment it answers (hosts' clocks agree in the model).
    pub one_way_delay: Option<Duration>,
    /// Bytes delivered since the segment it answers was sent, over that time.
    pub delivery_rate: Option<Rate>,
    /// Bytes delivered in all.
    pub delivered: u64,
    /// The sender had nothing more to send.
    pub app_limited: bool,
    /// The window, not the application or the receiver, kept it from sending more.
    pub cwnd_limited: bool,
    /// It is repairing losses.
    pub in_recovery: bool,
    /// Round trips since the start.
    pub round: u64,
    /// Maximum segment size.
    pub mss: u64,
}
