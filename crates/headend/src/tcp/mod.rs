//! TCP: the mechanism. What may be in flight is policy, and lives in [`crate::congestion`].
//!
//! A connection is two [`Connection`]s, one a side, each with a [sending half](sender) and a [receiving half](receiver): data goes both ways, and
//! acknowledgements ride on it. Beneath the sending half, the [scoreboard] knows every segment in flight, [rtt] when to give up
//! on it, [rate] how fast the network delivers; both halves keep [ranges] of sequence numbers; [SACK
//! blocks](crate::packet::sack) travel beside their packets, and a [timer] has one pending wake-up.
//!
//! What is modelled: the three-way handshake with its retransmissions; sliding windows; RFC 5681, 6582 and 6675 loss recovery, limited transmit;
//! RFC 6298 timeouts; PRR (RFC 9937), RACK-TLP (RFC 8985), D-SACK (RFC 2883), quick acknowledgements, buffers of a size and pacing as options; RFC 7323 timestamps; ECN of RFC 3168 and RFC 9768; delayed
//! acknowledgements; FIN both ways. [systems] says which of them a flow has that says nothing: those of Linux.
//!
//! What is simpler than in life:
//!
//! - Sequence numbers are 64-bit stream offsets from 0 and do not wrap. A SYN takes none; a FIN takes the one after the last byte, and travels
//!   as a segment of its own.
//! - Both sides of a connection have the same [`Config`]; what a SYN's options would agree on is known, only ECN is negotiated in the packets.
//! - Applications read at once, so the window a receiver offers never closes: there are no window updates and no persist timer.
//! - SACK blocks travel on packets without data, which go ahead of data that leaves at the same time. A segment of data keeps its full length.
//! - No Nagle algorithm, no keep-alive, no RST, no TIME-WAIT: a side is done once its FIN is acknowledged and it has read the other's. Until the
//!   second side is done, the first still answers.

pub mod prr;
mod rack;
mod ranges;
mod rate;
mod receive_window;
mod receiver;
mod rtt;
mod scoreboard;
mod sender;
pub mod systems;
mod timer;

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::prr::PrrMode;
use self::receive_window::{LARGEST_WINDOW, Offer, ReceiveWindow, window_of};
use self::receiver::Receiver;
use self::rtt::RttEstimator;
use self::sender::{Ack, Sender, Setup, Transmit};
use self::systems::System;
use self::timer::Timer;
use crate::congestion::{CongestionConfig, CongestionControl};
use crate::context::Context;
use crate::endpoint::{Command, Endpoint, News, Notice};
use crate::flow::FlowId;
use crate::metrics::sample::ConnectionSample;
use crate::packet::{Ecn, Flags, Packet, Side};
use crate::rng::Rng;
use crate::time::{Duration, Instant};
use crate::units::{ByteCount, MemoryLimit, TunedSize};

/// Parameters of TCP, for both sides of a connection.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option of its own"
)]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// An end system by name, whose settings stand where nothing else is written.
    pub system: System,
    /// Congestion control: how much may be in flight.
    #[serde(with = "crate::named")]
    #[schemars(with = "crate::named::Named<CongestionConfig>")]
    pub congestion: CongestionConfig,
    /// Largest packet, in IP bytes. With timestamps a segment carries 52 bytes less. At least 68.
    pub mtu: u16,
    /// Congestion window at the start, in segments. More finishes short transfers sooner and fills queues in one burst.
    pub initial_window: u32,
    /// Bytes the receiver takes beyond what it has acknowledged. Throughput stays below this per round trip; less also bounds the
    /// queue a connection can build. Anything below one segment counts as one. `"autotuned"`: 64 KiB at first, and then twice what arrives in a round trip and more, as
    /// far as `receive_buffer` allows.
    pub receive_window: TunedSize,
    /// Memory that a receiver may have for what arrives, where its window is autotuned: 158 of 256 parts of it can be offered. `"unlimited"`: a window of up to 1 GiB.
    pub receive_buffer: MemoryLimit,
    /// Memory that a sender may have for what is not yet acknowledged, whatever its window says: a segment of 1448 bytes takes 2267. `"unlimited"`: as much as the windows let out.
    pub send_buffer: MemoryLimit,
    /// How long an acknowledgement may wait for a second segment. `"0 s"` acknowledges every segment.
    pub delayed_ack: Duration,
    /// Whether the first sixteen segments are acknowledged each by itself, also after a silence of more than a retransmission timeout, and each that opens an autotuned window. Slow
    /// start then grows as fast as it can, and HyStart sees trains of acknowledgements also on slow lines.
    pub quick_acks: bool,
    /// Whether acknowledgements name what arrived out of order (RFC 2018). Without, one segment a round trip is repaired (RFC 6582).
    pub sack: bool,
    /// Whether acknowledgements also name what arrived a second time (RFC 2883); needs SACK. With `rack` the sender then sees that it repaired needlessly, and waits longer for what is only late.
    pub dsack: bool,
    /// How fast recovery ends where there is no SACK.
    pub fast_recovery: FastRecovery,
    /// How the window falls in step with what is delivered during fast recovery, rather than at once: proportional rate reduction; needs SACK.
    pub prr: PrrMode,
    /// What the slow-start threshold is a share of after a loss, for controls that take a share.
    pub ssthresh_from: SsthreshFrom,
    /// Whether the threshold after a loss, and the window of `cubic`, are counted in whole segments, as Linux does, or in bytes. Where windows are small, a loss then costs up to a segment more.
    pub whole_segments: bool,
    /// Whether losses are told by time instead of by counting, with a probe when the end of a flight is lost (RFC 8985); needs SACK. Reordering then costs nothing, and fewer losses wait for the timer.
    pub rack: bool,
    /// Whether segments are spaced at 1.2 times the window each round trip (twice in slow start), where the control names no rate itself. Bursts, and what they do to queues, become smaller.
    pub pacing: bool,
    /// Whether segments carry timestamps (RFC 7323): 12 bytes each, and retransmissions can be timed.
    pub timestamps: bool,
    /// Explicit congestion notification: what a SYN asks for and a SYN-ACK grants.
    pub ecn: EcnMode,
    /// The least of the retransmission timeout, or of a part of it: see `min_rto_of`. More makes timeouts rarer and slower.
    pub min_rto: Duration,
    /// What `min_rto` is the least of.
    pub min_rto_of: MinRtoOf,
    /// The longest retransmission timeout, however often it has doubled.
    pub max_rto: Duration,
    /// Retransmission timeout before the round-trip time is known.
    pub initial_rto: Duration,
    /// How often an unanswered SYN (or SYN-ACK) is sent again before the side gives up; the application learns that the connection is closed.
    pub syn_retries: u32,
    /// Whether its packets are IPv6: what the address of the flow's host says, not a key.
    #[serde(skip)]
    #[schemars(skip)]
    pub is_ipv6: bool,
}

impl Default for Config {
    /// Linux 6.18, whose documentation is ip-sysctl.
    fn default() -> Self {
        Self {
            system: System::Linux,
            congestion: CongestionConfig::default(),
            // Ethernet's.
            mtu: 1500,
            // RFC 6928.
            initial_window: 10,
            receive_window: TunedSize::Autotuned,
            // net.ipv4.tcp_rmem[2]; 6 MiB before 6.16.
            receive_buffer: MemoryLimit::Bytes(ByteCount(32 << 20)),
            // net.ipv4.tcp_wmem[2].
            send_buffer: MemoryLimit::Bytes(ByteCount(4 << 20)),
            // Its shortest; RFC 5681 §4.2 allows 500 ms.
            delayed_ack: Duration::from_millis(40),
            quick_acks: true,
            sack: true,
            // net.ipv4.tcp_dsack.
            dsack: true,
            fast_recovery: FastRecovery::NewReno,
            prr: PrrMode::Rfc9937,
            ssthresh_from: SsthreshFrom::Window,
            whole_segments: true,
            // net.ipv4.tcp_recovery, tcp_early_retrans.
            rack: true,
            pacing: false,
            timestamps: true,
            // Most hosts accept ECN and do not ask for it: net.ipv4.tcp_ecn.
            ecn: EcnMode::Auto,
            // Its shortest, of four times RTTVAR.
            min_rto: Duration::from_millis(200),
            min_rto_of: MinRtoOf::Variation,
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

/// What the least of the retransmission timeout is the least of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MinRtoOf {
    /// Of the whole timeout (RFC 6298 §2.4).
    Timeout,
    /// Of what it adds to the smoothed round-trip time, four times RTTVAR: it stays clear of that time, however steady the path is. Linux's.
    Variation,
}

/// What the slow-start threshold is a share of after a loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SsthreshFrom {
    /// Of what is sent and not cumulatively acknowledged (RFC 5681, equation 4): more than the window where much behind a gap is selectively acknowledged.
    FlightSize,
    /// Of the congestion window, as in Linux.
    Window,
}

/// How fast recovery ends where there is no SACK.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FastRecovery {
    /// With the acknowledgement of all that was in flight; others on the way repair one segment each (RFC 6582).
    #[default]
    NewReno,
    /// With the first new acknowledgement; the next loss needs three duplicates of its own, halves again, or waits for the timer (RFC 2581).
    Reno,
}

/// Explicit congestion notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EcnMode {
    /// As Accurate ECN (RFC 9768) has it: each acknowledgement counts the marked packets.
    Accurate,
    /// What the congestion control needs: accurate for `dctcp` and `prague`, off for all others.
    #[default]
    Auto,
    /// Not used: queues can only drop.
    Off,
    /// As in RFC 3168: data is ECT(0), a mark counts like a loss, once a round trip.
    On,
}

/// What the SYNs of a connection agree on, for whoever shows its segments as they are on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options {
    /// Largest segment, options not counted (RFC 6691).
    pub mss: u16,
    /// Whether SACK is permitted.
    pub sack: bool,
    /// Whether segments carry timestamps.
    pub timestamps: bool,
    /// Places by which windows are shifted: as few as the largest needs.
    pub window_scale: u8,
}

/// Places by which a window can be shifted at most (RFC 7323 §2.3).
const MOST_SCALE: u8 = 14;

impl Config {
    /// What its SYNs offer, and both sides accept.
    pub fn options(&self) -> Options {
        // As Linux does: enough for the whole buffer, of which a window is a part.
        let largest = match (self.receive_window, self.receive_buffer) {
            (TunedSize::Autotuned, MemoryLimit::Bytes(buffer)) => buffer.0,
            _ => self.offer().most(),
        };
        let bits = u64::BITS - largest.leading_zeros();
        Options {
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

    /// Header bytes of a packet without SACK blocks: IP, TCP, timestamps.
    fn header(&self) -> u16 {
        self.ip_and_tcp_bytes() + if self.timestamps { TIMESTAMP_BYTES } else { 0 }
    }

    /// Size of a SYN: MSS (4), window scale (3), SACK permitted (2), timestamps (10), padded to whole words.
    fn syn_size(&self) -> u16 {
        self.ip_and_tcp_bytes()
            + match (self.timestamps, self.sack) {
                (true, _) => 20,
                (false, true) => 12,
                (false, false) => 8,
            }
    }

    /// Largest payload of a segment.
    fn mss(&self) -> u16 {
        self.mtu.max(self.min_mtu()) - self.header()
    }

    /// What it asks for, or grants: never [`EcnMode::Auto`].
    pub(crate) fn ecn(&self) -> EcnMode {
        match self.ecn {
            EcnMode::Auto if self.congestion.counts_marks() => EcnMode::Accurate,
            EcnMode::Auto => EcnMode::Off,
            chosen => chosen,
        }
    }

    /// What a receiver may offer.
    fn offer(&self) -> Offer {
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

    /// Bytes that a sender may ever have outstanding.
    pub(crate) fn most_outstanding(&self) -> u64 {
        let offered = match self.offer() {
            Offer::Fixed(window) => window,
            Offer::Tuned { most } => most,
        };
        offered.min(self.send_window())
    }

    /// Bytes of data in its largest segments.
    pub(crate) fn most_payload(&self) -> u16 {
        self.mss()
    }

    /// Bytes that a sender may have outstanding for its buffer's sake. A buffer of 4 MiB holds 1850 segments of 1448 bytes (Linux 6.18, measured).
    fn send_window(&self) -> u64 {
        match self.send_buffer {
            MemoryLimit::Unlimited => u64::MAX,
            MemoryLimit::Bytes(buffer) => {
                let window = u128::from(buffer.0) * 1448 / 2267;
                (window as u64).max(u64::from(self.mss()))
            }
        }
    }

    /// The control of a sender that may send `segments` at first.
    fn control(&self, segments: u32, rng: Rng) -> Box<dyn CongestionControl> {
        let mss = u64::from(self.mss());
        self.congestion
            .build(mss, mss * u64::from(segments.max(1)), rng)
    }

    fn sender(&self, rng: Rng) -> Sender {
        let control = self.control(self.initial_window, rng);
        let (offer, send_window) = (self.offer(), self.send_window());
        let setup = Setup {
            mss: u64::from(self.mss()),
            restart_window: control.cwnd(),
            sack: self.sack,
            timestamps: self.timestamps,
            reno: !self.sack && self.fast_recovery == FastRecovery::Reno,
            prr: self.prr,
            rack: self.rack.then_some(self.delayed_ack),
            dsack: self.dsack,
            pacing: self.pacing,
            ssthresh_from: self.ssthresh_from,
            whole_segments: self.whole_segments,
            send_window,
            largest_window: offer.most().min(send_window),
        };
        let rtt = RttEstimator::new(
            self.initial_rto,
            self.min_rto,
            self.min_rto_of,
            self.max_rto,
        );
        Sender::new(setup, rtt, control, offer.first())
    }

    fn receiver(&self) -> Receiver {
        Receiver::new(receiver::Setup {
            delay: self.delayed_ack,
            dsack: self.dsack,
            quick_acks: self.quick_acks,
            window: ReceiveWindow::new(self.offer(), u64::from(self.mss())),
        })
    }
}

/// Where a connection stands. FIN-WAIT, CLOSE-WAIT and the like follow from what the two halves know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Not opened: waits for its application, or for a SYN.
    Closed,
    /// Done: everything sent and read to the end.
    Done,
    /// Data may flow.
    Open,
    /// A SYN-ACK is out; `tries` counts those before it.
    SynReceived { tries: u32 },
    /// A SYN is out; `tries` counts those before it.
    SynSent { tries: u32 },
}

/// One side of a connection.
#[derive(Debug)]
pub struct Connection {
    /// The flow, and which of its two sides this is.
    flow: FlowId,
    side: Side,
    config: Arc<Config>,
    /// The random stream of the congestion control.
    rng: Rng,

    state: State,
    /// When the SYN or SYN-ACK was last sent.
    syn_sent_at: Instant,
    /// What the handshake agreed on.
    ecn: EcnMode,
    /// The ECN field of new data.
    ect: Ecn,
    /// Header bytes of a packet without SACK blocks.
    header: u16,

    sender: Sender,
    receiver: Receiver,

    /// For data and, before that, for the SYN or SYN-ACK.
    retransmission_timer: Timer<RETRANSMISSION>,
    /// For delayed acknowledgements.
    ack_timer: Timer<ACK>,
    /// For the next segment that pacing holds back.
    pacing_timer: Timer<PACING>,
    /// For the congestion control's own deadlines.
    control_timer: Timer<CONTROL>,

    /// The application is notified once so many bytes of the stream have arrived.
    expected: Option<u64>,
    /// The application is notified once no more than so many written bytes are unsent.
    awaited: Option<u64>,
}

impl Connection {
    /// A closed connection.
    pub fn new(flow: FlowId, side: Side, config: Arc<Config>, rng: Rng) -> Self {
        Self {
            flow,
            side,
            state: State::Closed,
            syn_sent_at: Instant::ZERO,
            ecn: EcnMode::Off,
            ect: Ecn::NotEct,
            header: config.header(),
            sender: config.sender(rng.clone()),
            receiver: config.receiver(),
            retransmission_timer: Timer::new(),
            ack_timer: Timer::new(),
            pacing_timer: Timer::new(),
            control_timer: Timer::new(),
            expected: None,
            awaited: None,
            config,
            rng,
        }
    }

    /// Sends the SYN (again).
    fn send_syn(&mut self, tries: u32, cx: &mut Context<'_>) {
        self.state = State::SynSent { tries };
        let ecn = match self.config.ecn() {
            EcnMode::Off | EcnMode::Auto => Flags::NONE,
            // RFC 3168 §6.1.1: an ECN-setup SYN carries both bits.
            EcnMode::On => Flags::ECE.with(Flags::CWR),
            // RFC 9768 §3.1.1: all three.
            EcnMode::Accurate => Flags::NONE.with_ace(7),
        };
        self.send_handshake(Flags::SYN.with(ecn), cx);
    }

    /// Sends the SYN-ACK (again).
    fn send_syn_ack(&mut self, tries: u32, cx: &mut Context<'_>) {
        self.state = State::SynReceived { tries };
        let ecn = match self.ecn {
            EcnMode::Off | EcnMode::Auto => Flags::NONE,
            EcnMode::On => Flags::ECE,
            // RFC 9768 §3.1.1, table 2: the SYN came as Not-ECT.
            EcnMode::Accurate => Flags::CWR,
        };
        self.send_handshake(Flags::SYN.with(Flags::ACK).with(ecn), cx);
    }

    fn send_handshake(&mut self, flags: Flags, cx: &mut Context<'_>) {
        let mut packet = Packet::datagram(self.flow, self.side, 0, self.config.syn_size(), 0);
        packet.flags = flags;
        packet.window = self.receiver.window();
        packet.echo = self.receiver.echo();
        cx.emit(packet);
        self.syn_sent_at = cx.now;
        self.arm_timers(cx);
    }

    /// When the SYN or SYN-ACK is to be sent again.
    fn syn_deadline(&self) -> Option<Instant> {
        let (State::SynSent { tries } | State::SynReceived { tries }) = self.state else {
            return None;
        };
        let timeout = self.config.initial_rto * (1 << tries.min(32));
        Some(self.syn_sent_at + timeout.min(self.config.max_rto))
    }

    /// No answer to the SYN or SYN-ACK.
    fn repeat_handshake(&mut self, cx: &mut Context<'_>) {
        let (State::SynSent { tries } | State::SynReceived { tries }) = self.state else {
            return;
        };
        if tries >= self.config.syn_retries {
            self.state = State::Done;
            cx.abandon_flow(self.flow);
            self.tell(News::Closed, cx);
        } else if matches!(self.state, State::SynSent { .. }) {
            self.send_syn(tries + 1, cx);
        } else {
            self.send_syn_ack(tries + 1, cx);
        }
    }

    /// A SYN or SYN-ACK arrived.
    #[cold]
    fn receive_handshake(&mut self, packet: &Packet, cx: &mut Context<'_>) {
        match self.state {
            State::Closed if !packet.flags.has(Flags::ACK) => {
                self.receiver.handshake(packet);
                self.ecn = grant(self.config.ecn(), packet.flags);
                self.send_syn_ack(0, cx);
            }
            // The SYN-ACK was lost, or is slow.
            State::SynReceived { tries } => self.send_syn_ack(tries, cx),
            State::SynSent { tries } if packet.flags.has(Flags::ACK) => {
                self.receiver.handshake(packet);
                self.ecn = granted(self.config.ecn(), packet.flags);
                self.open(tries, packet, cx);
                // The acknowledgement that completes the handshake, unless data takes it along.
                self.receiver.owe_now();
                self.tell(News::Connected, cx);
                self.proceed(cx);
            }
            // Our acknowledgement of the SYN-ACK was lost.
            State::Open | State::Done => self.send_ack(cx),
            State::Closed | State::SynSent { .. } => {}
        }
    }

    /// The handshake is complete after `tries` retransmissions on this side.
    #[cold]
    fn open(&mut self, tries: u32, packet: &Packet, cx: &mut Context<'_>) {
        self.state = State::Open;
        self.receiver.use_ecn(self.ecn);
        self.ect = self.sender.use_ecn(self.ecn);
        let rtt = if self.config.timestamps {
            Some(cx.now.since(packet.echo))
        } else {
            // Karn's rule.
            (tries == 0).then(|| cx.now.since(self.syn_sent_at))
        };
        // RFC 5681 §3.1: after a lost SYN or SYN-ACK the initial window is one segment.
        let repeated = (tries > 0).then(|| {
            let control = self.config.control(1, self.rng.clone());
            (control, self.config.initial_rto)
        });
        self.sender.handshake_done(rtt, repeated);
        self.receiver.handshake_done(rtt, self.sender.rto());
        self.tell_if_writable(cx);
    }

    /// Takes in a segment that is not part of the opening.
    fn receive_segment(&mut self, packet: &Packet, cx: &mut Context<'_>) {
        let read = self.receiver.on_segment(packet, cx.now);
        if read > 0 {
            let group = cx.header(self.flow).group;
            cx.recorder().goodput(group, packet.from, read);
            self.tell_if_expected(cx);
        }
        if !self.sender.note_window(packet.ack, packet.window) {
            if packet.sack.is_some() {
                self.receive_report(packet, cx);
            }
            return;
        }
        let ack = Ack {
            next: packet.ack,
            echo: packet.echo,
            sent_at: packet.sent_at,
            blocks: cx.sack(packet),
            carries_data: packet.payload > 0 || packet.flags.has(Flags::FIN),
            flags: packet.flags,
        };
        self.sender.on_ack(&ack, cx.now);
    }

    /// SACK blocks with nothing in flight: a duplicate at most.
    #[cold]
    fn receive_report(&mut self, packet: &Packet, cx: &Context<'_>) {
        self.sender.note_duplicate(packet.ack, cx.sack(packet));
    }

    /// Sends what may be sent, and what must be acknowledged; sets the timers; notices the end.
    #[inline]
    fn proceed(&mut self, cx: &mut Context<'_>) {
        if matches!(self.state, State::Open) && self.sender.is_silent() {
            self.answer(cx);
        } else {
            self.transmit(cx);
        }
    }

    /// [`Self::proceed`] of a side that only receives, as most are.
    #[expect(
        clippy::inline_always,
        reason = "half of all packets come here, and the call costs as much as the work"
    )]
    #[inline(always)]
    fn answer(&mut self, cx: &mut Context<'_>) {
        if self.receiver.owes_ack(cx.now) {
            self.send_ack(cx);
        } else {
            let deadline = self.receiver.ack_deadline();
            self.ack_timer.arm(deadline, self.flow, cx);
        }
        self.arm_control_timer(cx);
    }

    /// [`Self::proceed`] of a side that sends.
    fn transmit(&mut self, cx: &mut Context<'_>) {
        if self.receiver.has_blocks() && self.receiver.owes_ack(cx.now) {
            // Data takes no blocks along: what they tell goes ahead of it.
            self.send_ack(cx);
        }
        if matches!(self.state, State::Open) {
            while let Some(transmit) = self.sender.poll_transmit(cx.now) {
                self.send_segment(transmit, cx);
            }
            if self.awaited.is_some() {
                self.tell_if_writable(cx);
            }
            if self.receiver.owes_ack(cx.now) {
                self.send_ack(cx);
            }
            if self.sender.is_finished() && self.receiver.is_finished() {
                self.state = State::Done;
                if cx.close_flow(self.flow, self.side) {
                    self.tell(News::Closed, cx);
                }
            }
        } else if self.receiver.owes_ack(cx.now) {
            self.send_ack(cx);
        }
        self.arm_timers(cx);
    }

    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "the compiler sees the packet written where it is handed over"
    )]
    fn send_segment(&mut self, transmit: Transmit, cx: &mut Context<'_>) {
        let Transmit {
            seq,
            payload,
            fin,
            again,
            cwr,
        } = transmit;
        let size = self.header + payload;
        let mut packet = Packet::datagram(self.flow, self.side, seq, size, payload);
        packet.flags = self.receiver.flags();
        if fin {
            packet.flags = packet.flags.with(Flags::FIN);
        }
        if cwr {
            packet.flags = packet.flags.with(Flags::CWR);
        }
        if again {
            let group = cx.header(self.flow).group;
            cx.recorder().retransmitted(group, self.side);
        } else if !fin {
            // RFC 3168 §6.1.4, §6.1.5: neither pure acknowledgements nor retransmissions are ECN-capable.
            packet.ecn = self.ect;
        }
        self.send(packet, cx);
    }

    fn send_ack(&mut self, cx: &mut Context<'_>) {
        let seq = self.sender.nxt();
        let mut packet = Packet::datagram(self.flow, self.side, seq, self.header, 0);
        packet.flags = self.receiver.flags();
        if self.config.sack && self.receiver.has_blocks() {
            self.add_blocks(&mut packet, cx);
        }
        self.send(packet, cx);
    }

    #[inline(never)]
    fn add_blocks(&self, packet: &mut Packet, cx: &mut Context<'_>) {
        let blocks = self.receiver.sack_blocks();
        // RFC 2018 §3: kind, length and 8 bytes a block; two bytes of padding before it.
        packet.size += 4 + 8 * blocks.as_slice().len() as u16;
        packet.sack = Some(cx.store_sack(blocks));
    }

    /// Every packet after the handshake acknowledges.
    #[inline]
    fn send(&mut self, mut packet: Packet, cx: &mut Context<'_>) {
        packet.ack = self.receiver.next();
        packet.window = self.receiver.window();
        packet.echo = self.receiver.echo();
        self.receiver.acknowledged();
        cx.emit(packet);
    }

    fn arm_timers(&mut self, cx: &mut Context<'_>) {
        let flow = self.flow;
        let retransmission = match self.state {
            State::Closed | State::Done => return,
            State::Open => self.sender.timer_deadline(),
            State::SynReceived { .. } | State::SynSent { .. } => self.syn_deadline(),
        };
        self.retransmission_timer.arm(retransmission, flow, cx);
        self.ack_timer.arm(self.receiver.ack_deadline(), flow, cx);
        self.pacing_timer
            .arm(self.sender.pacing_deadline(), flow, cx);
        self.arm_control_timer(cx);
    }

    #[inline]
    fn arm_control_timer(&mut self, cx: &mut Context<'_>) {
        let deadline = self.sender.control_deadline();
        self.control_timer.arm(deadline, self.flow, cx);
    }

    /// The retransmission timer's wake-up has come; its deadline may have moved on since.
    fn on_retransmission_timer(&mut self, cx: &mut Context<'_>) {
        match self.state {
            State::SynReceived { .. } | State::SynSent { .. }
                if self.syn_deadline().is_some_and(|at| at <= cx.now) =>
            {
                self.repeat_handshake(cx);
            }
            State::Open => {
                if let Some(probe) = self.sender.on_timer(cx.now) {
                    self.send_segment(probe, cx);
                }
            }
            _ => {}
        }
    }

    fn tell_if_expected(&mut self, cx: &mut Context<'_>) {
        let total = self.receiver.read();
        if self.expected.is_some_and(|expected| total >= expected) {
            self.expected = None;
            self.tell(
                News::Received {
                    at: self.side,
                    total,
                },
                cx,
            );
        }
    }

    fn tell_if_writable(&mut self, cx: &mut Context<'_>) {
        if self.state == State::Open
            && self
                .awaited
                .is_some_and(|unsent| self.sender.bytes_unsent() <= unsent)
        {
            self.awaited = None;
            self.tell(News::Writable { at: self.side }, cx);
        }
    }

    fn tell(&self, news: News, cx: &mut Context<'_>) {
        let app = cx.header(self.flow).app;
        cx.notify(Notice {
            app,
            flow: self.flow,
            news,
        });
    }
}

impl Endpoint for Connection {
    fn receive(&mut self, packet: &Packet, cx: &mut Context<'_>) {
        // A late packet of a connection that both sides have finished.
        if cx.is_flow_closed(self.flow) {
            return;
        }
        if packet.flags.has(Flags::SYN) {
            return self.receive_handshake(packet, cx);
        }
        if let State::SynReceived { tries } = self.state {
            self.open(tries, packet, cx);
        }
        if matches!(self.state, State::Open | State::Done) {
            self.receive_segment(packet, cx);
            self.proceed(cx);
        }
    }

    fn wake(&mut self, token: u32, cx: &mut Context<'_>) {
        let counts = match token {
            ACK => self.ack_timer.woken(cx.now),
            CONTROL => self.control_timer.woken(cx.now),
            PACING => self.pacing_timer.woken(cx.now),
            RETRANSMISSION => self.retransmission_timer.woken(cx.now),
            _ => unreachable!("a wake-up with a token no timer has"),
        };
        if !counts || cx.is_flow_closed(self.flow) {
            return;
        }
        match token {
            RETRANSMISSION => self.on_retransmission_timer(cx),
            CONTROL
                if self
                    .sender
                    .control_deadline()
                    .is_some_and(|at| at <= cx.now) =>
            {
                self.sender.on_control_timer(cx.now);
            }
            _ => {}
        }
        self.proceed(cx);
    }

    fn command(&mut self, command: Command, cx: &mut Context<'_>) {
        match command {
            Command::Open => {
                assert_eq!(self.state, State::Closed, "a connection is opened once");
                self.send_syn(0, cx);
                return;
            }
            Command::Send { bytes } => {
                self.sender.write(bytes);
                if bytes == u64::MAX {
                    self.sender.make_room(cx.window());
                }
            }
            Command::Close => self.sender.close(),
            Command::Expect { total } => {
                self.expected = Some(total);
                self.tell_if_expected(cx);
                return;
            }
            Command::Await { unsent } => {
                self.awaited = Some(unsent);
                self.tell_if_writable(cx);
                return;
            }
            Command::Datagram { .. } => panic!("a connection sends no datagrams: {command:?}"),
        }
        if self.state == State::Open {
            self.proceed(cx);
        }
    }

    fn received(&self) -> u64 {
        self.receiver.read()
    }

    fn sample(&self) -> Option<ConnectionSample> {
        // Before the handshake is over, a side that accepts has nothing to show.
        let alive = matches!(self.state, State::Open | State::SynSent { .. });
        (alive && self.sender.has_sent_data()).then(|| ConnectionSample {
            cwnd_bytes: self.sender.cwnd(),
            ssthresh_bytes: self.sender.ssthresh(),
            srtt: self.sender.srtt(),
            in_flight_bytes: self.sender.in_flight(),
        })
    }
}

/// What a SYN with `flags` is granted by a side that may use `mode` (RFC 3168 §6.1.1, RFC 9768 §3.1.2).
fn grant(mode: EcnMode, flags: Flags) -> EcnMode {
    match mode {
        EcnMode::Accurate if flags.ace() == 7 => EcnMode::Accurate,
        EcnMode::Accurate | EcnMode::On if flags.has(Flags::ECE.with(Flags::CWR)) => EcnMode::On,
        _ => EcnMode::Off,
    }
}

/// What a SYN-ACK with `flags` grants a side that asked for `mode` (RFC 9768 §3.1.1, table 2).
fn granted(mode: EcnMode, flags: Flags) -> EcnMode {
    match (mode, flags.ace()) {
        (EcnMode::Accurate, 2 | 3 | 4 | 6) => EcnMode::Accurate,
        (EcnMode::Accurate | EcnMode::On, 1) => EcnMode::On,
        _ => EcnMode::Off,
    }
}

/// IPv4 and TCP header without options.
const IP_AND_TCP_BYTES: u16 = 40;
/// What an IPv6 header (RFC 8200 §3) is longer than an IPv4 header.
pub const IPV6_EXTRA: u16 = 20;
/// RFC 7323 appendix A: the timestamp option with its padding.
const TIMESTAMP_BYTES: u16 = 12;
/// RFC 791: what every link carries.
const MIN_MTU: u16 = 68;
/// RFC 8200 §5: what every link carries.
pub const MIN_IPV6_MTU: u16 = 1280;

/// Tokens of wake-ups.
const RETRANSMISSION: u32 = 0;
const ACK: u32 = 1;
const PACING: u32 = 2;
const CONTROL: u32 = 3;

#[cfg(test)]
mod tests;
