//! Parameters of TCP: the keys of a scenario, and what follows from them for both sides of a
//! connection.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::receive_window::{LARGEST_WINDOW, Offer, window_of};
use super::systems::System;
use super::window_use::Growth;
use crate::congestion::CongestionConfig;
use crate::packet::IPV6_EXTRA;
use crate::time::Duration;
use crate::units::{ByteCount, MemoryLimit, TunedSize};
use crate::wire::headers::TcpOptions;

/// IPv4 and TCP header without options.
const IP_AND_TCP_BYTES: u16 = 40;
/// RFC 7323 appendix A: the timestamp option with its padding.
const TIMESTAMP_BYTES: u16 = 12;
/// RFC 791: what every link carries.
const MIN_MTU: u16 = 68;
/// RFC 8200 §5: what every link carries.
pub const MIN_IPV6_MTU: u16 = 1280;

/// Parameters of TCP, for both sides of a connection.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option of its own"
)]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The end system, by name, whose settings apply where a key is not written.
    pub system: System,
    /// Congestion control: how much may be in flight.
    #[serde(with = "crate::named")]
    #[schemars(with = "crate::named::Named<CongestionConfig>")]
    pub congestion: CongestionConfig,
    /// Largest packet, in IP bytes. With timestamps a segment carries 52 bytes less. At least 68.
    pub mtu: u16,
    /// Congestion window at the start, in segments. With more, short transfers finish sooner, and
    /// queues fill in one burst.
    pub initial_window: u32,
    /// Bytes that the receiver accepts beyond what it has acknowledged. Throughput stays below this
    /// per round trip; less also bounds the queue that a connection can build. A value below one
    /// segment counts as one segment. `"autotuned"`: the window starts at 64 KiB and then grows to
    /// twice what arrives in a round trip and more, as far as `receive_buffer` allows.
    pub receive_window: TunedSize,
    /// Memory that a receiver may use for arriving data where its window is autotuned: 158/256 of
    /// it can be offered as window. `"unlimited"`: a window of up to 1 GiB.
    pub receive_buffer: MemoryLimit,
    /// Memory that a sender may use for data that is not yet acknowledged, whatever its window is:
    /// a segment of 1448 bytes takes 1525. Once a third of it is free the application fills it
    /// again. `"unlimited"`: as much as the windows allow.
    pub send_buffer: MemoryLimit,
    /// How long an acknowledgement may be delayed for a second segment. `"0 s"` acknowledges every
    /// segment.
    pub delayed_ack: Duration,
    /// Whether each of the first sixteen segments is acknowledged at once, also after a silence of
    /// more than a retransmission timeout, and each segment that opens an autotuned window. Slow
    /// start then grows as fast as it can, and HyStart sees trains of acknowledgements also on slow
    /// lines.
    pub quick_acks: bool,
    /// Whether acknowledgements report what arrived out of order (RFC 2018). Without SACK, one
    /// segment is repaired each round trip (RFC 6582).
    pub sack: bool,
    /// Whether acknowledgements also report what arrived a second time (RFC 2883); needs SACK. With
    /// `rack`, the sender then detects needless retransmissions, and waits longer for segments that
    /// are only late.
    pub dsack: bool,
    /// When fast recovery ends without SACK.
    pub fast_recovery: FastRecovery,
    /// How the window falls during fast recovery, in step with what is delivered rather than at
    /// once: proportional rate reduction; needs SACK.
    pub prr: PrrMode,
    /// The quantity of which the slow-start threshold is a share after a loss, for congestion
    /// controls that take a share.
    pub ssthresh_from: SsthreshFrom,
    /// Whether the threshold after a loss, and the window of `cubic`, are counted in whole
    /// segments, as in Linux, or in bytes. Where windows are small, a loss then costs up to a
    /// segment more.
    pub whole_segments: bool,
    /// Whether a congestion window that is not used up may grow, as in Linux: within the window of
    /// data in which it was used up, and in slow start until it is twice what was outstanding.
    /// Without it a window grows only while nothing else holds the sender back.
    pub growth_beyond_use: bool,
    /// Whether losses are detected by time instead of by counting, with a probe when the end of a
    /// flight is lost (RFC 8985); needs SACK. Reordering then costs nothing, and fewer losses wait
    /// for the timer.
    pub rack: bool,
    /// Whether segments are spaced, at 1.2 times the window per round trip (twice in slow start),
    /// where the congestion control sets no rate itself. Bursts become smaller, and so does their
    /// effect on queues.
    pub pacing: bool,
    /// Largest burst that a sender hands down at once, in bytes of payload: segmentation offload,
    /// GSO and TSO. A window that opens waits until there is room for a burst, whose size is
    /// Linux's: a millisecond of the sender's rate, more between near hosts, at most a third of
    /// the window. `"64 KiB"` is what Linux hosts have. Bursts are hard on short queues and on
    /// policers. `"0 B"`: each segment leaves as soon as it may.
    pub gso: ByteCount,
    /// Whether segments carry timestamps (RFC 7323). They take 12 bytes each, and the round-trip
    /// time of retransmissions can be measured.
    pub timestamps: bool,
    /// Explicit congestion notification: what a SYN requests and a SYN-ACK grants.
    pub ecn: EcnMode,
    /// The least retransmission timeout, or the least of one part of it: see `min_rto_of`. More
    /// makes timeouts rarer and recovery from them slower.
    pub min_rto: Duration,
    /// The quantity that `min_rto` limits.
    pub min_rto_of: MinRtoOf,
    /// G, the granularity of the clock by which timeouts are kept (RFC 6298 §2.2): four times
    /// RTTVAR count for at least this much. Round-trip times of a simulation hardly vary. Without
    /// this margin, a timeout that is as long as the smoothed round-trip time expires whenever a
    /// packet is delayed a little. `"0 s"`: a clock without steps.
    pub clock_granularity: Duration,
    /// The longest retransmission timeout, however often it has doubled.
    pub max_rto: Duration,
    /// Retransmission timeout before the round-trip time is known.
    pub initial_rto: Duration,
    /// How often an unanswered SYN (or SYN-ACK) is sent again before the side gives up. The
    /// application is then notified that the connection is closed.
    pub syn_retries: u32,
    /// Whether the packets are IPv6. The address of the flow's host determines it; it is not a key.
    #[serde(skip)]
    #[schemars(skip)]
    pub is_ipv6: bool,
}

impl Default for Config {
    /// The defaults of Linux 6.18; its documentation is ip-sysctl.
    fn default() -> Self {
        Self {
            system: System::Linux,
            congestion: CongestionConfig::default(),
            // The MTU of Ethernet.
            mtu: 1500,
            // RFC 6928.
            initial_window: 10,
            receive_window: TunedSize::Autotuned,
            // net.ipv4.tcp_rmem[2]; 6 MiB before 6.16.
            receive_buffer: MemoryLimit::Bytes(ByteCount(32 << 20)),
            // net.ipv4.tcp_wmem[2].
            send_buffer: MemoryLimit::Bytes(ByteCount(4 << 20)),
            // Linux's shortest delay. RFC 5681 §4.2 allows 500 ms.
            delayed_ack: Duration::from_millis(40),
            quick_acks: true,
            sack: true,
            // net.ipv4.tcp_dsack.
            dsack: true,
            fast_recovery: FastRecovery::NewReno,
            prr: PrrMode::Rfc9937,
            ssthresh_from: SsthreshFrom::Window,
            whole_segments: true,
            growth_beyond_use: true,
            // net.ipv4.tcp_recovery, tcp_early_retrans.
            rack: true,
            pacing: false,
            gso: ByteCount(0),
            timestamps: true,
            // Most hosts accept ECN and do not request it: net.ipv4.tcp_ecn.
            ecn: EcnMode::Auto,
            // Linux's least, which limits four times RTTVAR.
            min_rto: Duration::from_millis(200),
            min_rto_of: MinRtoOf::Variation,
            // A tick at 250 Hz. Measured: 6.12's timeouts are multiples of it.
            clock_granularity: Duration::from_millis(4),
            // RFC 6298 §2.5: at least 60 s. (Linux: 120 s.)
            max_rto: Duration::from_secs(60),
            // RFC 6298 §2.1.
            initial_rto: Duration::from_secs(1),
            // net.ipv4.tcp_syn_retries.
            syn_retries: 6,
            is_ipv6: false,
        }
    }
}

/// The quantity that `min_rto` limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MinRtoOf {
    /// The whole timeout (RFC 6298 §2.4).
    Timeout,
    /// The part that the timeout adds to the smoothed round-trip time, four times RTTVAR. The
    /// timeout thus stays above that time by `min_rto`, however steady the path is. Linux does
    /// this.
    Variation,
}

/// The quantity of which the slow-start threshold is a share after a loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SsthreshFrom {
    /// What is sent and not cumulatively acknowledged (RFC 5681, equation 4). It exceeds the window
    /// where much behind a gap is selectively acknowledged.
    FlightSize,
    /// The congestion window, as in Linux.
    Window,
}

/// When fast recovery ends without SACK.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FastRecovery {
    /// With the acknowledgement of all that was in flight. Each partial acknowledgement before it
    /// repairs one segment (RFC 6582).
    #[default]
    NewReno,
    /// With the first new acknowledgement. The next loss needs three duplicates of its own and
    /// halves the window again, or it waits for the timer (RFC 2581).
    Reno,
}

/// The proportional rate reduction in use, if any.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PrrMode {
    /// The window falls at once (RFC 6675).
    Off,
    /// The experimental variant of 2013. Below ssthresh, every acknowledgement releases one segment
    /// more. It may thus retransmit into a queue that is still full.
    Rfc6937,
    /// The standard of 2025. An acknowledgement releases one segment more only when recovery makes
    /// good progress.
    Rfc9937,
}

/// Explicit congestion notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EcnMode {
    /// Accurate ECN (RFC 9768): each acknowledgement counts the marked packets.
    Accurate,
    /// What the congestion control needs: accurate for `dctcp` and `prague`, off for all others.
    #[default]
    Auto,
    /// Not used: queues can only drop.
    Off,
    /// Classic ECN (RFC 3168): data is ECT(0), and a mark counts like a loss, once a round trip.
    On,
}

/// The largest window scale (RFC 7323 §2.3).
const MOST_SCALE: u8 = 14;

impl Config {
    /// The options that both sides' SYNs offer and accept.
    pub fn options(&self) -> TcpOptions {
        // As in Linux: enough for the whole buffer, of which the window is a part.
        let largest = match (self.receive_window, self.receive_buffer) {
            (TunedSize::Autotuned, MemoryLimit::Bytes(buffer)) => buffer.0,
            _ => self.offer().most(),
        };
        let bits = u64::BITS - largest.leading_zeros();
        TcpOptions {
            mss: self.mtu.max(self.min_mtu()) - self.ip_and_tcp_bytes(),
            sack: self.sack,
            timestamps: self.timestamps,
            window_scale: (bits.saturating_sub(u16::BITS) as u8).min(MOST_SCALE),
        }
    }

    fn ip_and_tcp_bytes(&self) -> u16 {
        IP_AND_TCP_BYTES + if self.is_ipv6 { IPV6_EXTRA } else { 0 }
    }

    fn min_mtu(&self) -> u16 {
        if self.is_ipv6 { MIN_IPV6_MTU } else { MIN_MTU }
    }

    /// The header bytes of a packet without SACK blocks: IP, TCP, timestamps.
    pub(super) fn header(&self) -> u16 {
        self.ip_and_tcp_bytes() + if self.timestamps { TIMESTAMP_BYTES } else { 0 }
    }

    /// The size of a SYN: MSS (4), window scale (3), SACK permitted (2), timestamps (10), padded to
    /// whole words.
    pub(super) fn syn_size(&self) -> u16 {
        self.ip_and_tcp_bytes()
            + match (self.timestamps, self.sack) {
                (true, _) => 20,
                (false, true) => 12,
                (false, false) => 8,
            }
    }

    /// The largest payload of a segment.
    pub(super) fn mss(&self) -> u16 {
        self.mtu.max(self.min_mtu()) - self.header()
    }

    /// The use of ECN that a SYN requests or a SYN-ACK grants: never [`EcnMode::Auto`].
    pub(crate) fn ecn(&self) -> EcnMode {
        match self.ecn {
            EcnMode::Auto if self.congestion.counts_marks() => EcnMode::Accurate,
            EcnMode::Auto => EcnMode::Off,
            chosen => chosen,
        }
    }

    /// The window that a receiver may offer.
    pub(super) fn offer(&self) -> Offer {
        let mss = u64::from(self.mss());
        let most = match (self.receive_window, self.receive_buffer) {
            (TunedSize::Fixed(window), _) => {
                return Offer::Fixed(window.0.clamp(mss, u64::from(u32::MAX)));
            }
            (TunedSize::Autotuned, MemoryLimit::Bytes(buffer)) => window_of(buffer.0),
            (TunedSize::Autotuned, MemoryLimit::Unlimited) => LARGEST_WINDOW,
        };
        Offer::Tuned {
            most: most.max(mss),
        }
    }

    /// The most bytes that a sender may ever have outstanding.
    pub(crate) fn most_outstanding(&self) -> u64 {
        self.offer().most().min(self.buffered())
    }

    /// The bytes of data in the largest segments.
    pub(crate) fn most_payload(&self) -> u16 {
        self.mss()
    }

    /// When a congestion window may grow.
    pub(super) fn growth(&self) -> Growth {
        if self.growth_beyond_use {
            Growth::BeyondUse
        } else {
            Growth::WhileUsed
        }
    }

    /// The bytes of data that the send buffer holds. A segment of 1448 bytes takes some 1525 of it
    /// (Linux 6.18, measured: 1495 to 1545 while 690 to 2660 segments were outstanding).
    pub(super) fn buffered(&self) -> u64 {
        match self.send_buffer {
            MemoryLimit::Unlimited => u64::MAX,
            MemoryLimit::Bytes(buffer) => {
                let window = u128::from(buffer.0) * 1448 / 1525;
                (window as u64).max(u64::from(self.mss()))
            }
        }
    }
}
