//! One side of a connection: the handshake, the two halves that it joins, and their timers.

use std::sync::Arc;

use super::config::{Config, EcnMode, FastRecovery};
use super::ecn::{grant, granted};
use super::observed::Observed;
use super::receive_window::ReceiveWindow;
use super::receiver::{self, Receiver};
use super::recovery;
use super::rtt::RttEstimator;
use super::sender::{self, Ack, Sender, Transmit};
use super::timer::Timer;
use crate::congestion::CongestionControl;
use crate::context::Context;
use crate::endpoint::{Command, Endpoint};
use crate::flow::FlowId;
use crate::metrics::sample::ConnectionSample;
use crate::metrics::send_limit::SendLimit;
use crate::metrics::tcp_info::TcpInfo;
use crate::notice::{News, Notice};
use crate::packet::{Ecn, Flags, Packet, Side};
use crate::rng::Rng;
use crate::time::Instant;
use crate::trace::SenderView;

/// Tokens of wake-ups.
const RETRANSMISSION: u32 = 0;
const ACK: u32 = 1;
const PACING: u32 = 2;
const CONTROL: u32 = 3;

/// Where a connection stands. FIN-WAIT, CLOSE-WAIT and the like follow from what the two halves
/// know.
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
    /// What holds the sender back while it may send, and since when; what came before is recorded.
    limit: Option<SendLimit>,
    limit_since: Instant,
    /// The observer of the sending half; `None` without a listener.
    observed: Option<Box<Observed>>,

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
            sender: sender(&config, rng.clone()),
            receiver: receiver(&config),
            limit: None,
            limit_since: Instant::ZERO,
            observed: None,
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
            self.notify(News::Closed, cx);
        } else if matches!(self.state, State::SynSent { .. }) {
            self.send_syn(tries + 1, cx);
        } else {
            self.send_syn_ack(tries + 1, cx);
        }
    }

    /// A SYN or SYN-ACK arrived.
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
                self.notify(News::Connected, cx);
                self.proceed(cx);
            }
            // Our acknowledgement of the SYN-ACK was lost.
            State::Open | State::Done => self.send_ack(cx),
            State::Closed | State::SynSent { .. } => {}
        }
    }

    /// The handshake is complete after `tries` retransmissions on this side.
    fn open(&mut self, tries: u32, packet: &Packet, cx: &mut Context<'_>) {
        self.observe(cx);
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
            let control = control(&self.config, 1, self.rng.clone());
            (control, self.config.initial_rto)
        });
        self.sender.handshake_done(rtt, repeated);
        self.receiver.handshake_done(rtt, self.sender.rto());
        self.notify_if_writable(cx);
    }

    /// Creates the observer of the sending half if the run has a listener.
    fn observe(&mut self, cx: &mut Context<'_>) {
        let header = cx.header(self.flow);
        let view = SenderView {
            group: header.group,
            ordinal: header.ordinal,
            side: self.side,
            is_client: matches!(self.state, State::SynSent { .. }),
        };
        if cx.recorder().observes(view.group) {
            self.sender.remember_losses();
            self.observed = Some(Box::new(Observed::new(view, cx.now)));
        }
    }

    /// Reports changes of the sending half.
    #[inline]
    fn tell(&mut self, cx: &mut Context<'_>) {
        if let Some(observed) = &mut self.observed {
            observed.look(&mut self.sender, self.limit, cx);
        }
    }

    /// A segment that is not part of the handshake goes to both halves.
    fn receive_segment(&mut self, packet: &Packet, cx: &mut Context<'_>) {
        if let Some(observed) = &mut self.observed {
            observed.received(packet, cx);
        }
        let read = self.receiver.on_segment(packet, cx.now);
        if read > 0 {
            let group = cx.header(self.flow).group;
            cx.recorder().goodput(group, packet.from, read);
            self.notify_if_received(cx);
        }
        if !self.sender.note_window(packet.ack, packet.window) {
            if packet.sack.is_some() {
                self.sender.on_report(packet.ack, cx.sack(packet));
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

    /// Sends what may be sent and acknowledges what must be acknowledged; then arms the timers.
    #[inline]
    fn proceed(&mut self, cx: &mut Context<'_>) {
        self.tell(cx);
        let limit = if matches!(self.state, State::Open) && self.sender.is_silent() {
            self.answer(cx);
            Some(SendLimit::Application)
        } else {
            self.transmit(cx);
            // Once its FIN is acknowledged, a side never sends again.
            let may_send = matches!(self.state, State::Open) && !self.sender.is_finished();
            may_send.then(|| self.sender.limit())
        };
        if limit != self.limit {
            self.record_limit(cx);
            self.limit = limit;
        }
        self.tell(cx);
    }

    /// Records for how long the present limit has held the sender back.
    fn record_limit(&mut self, cx: &mut Context<'_>) {
        if let Some(limit) = self.limit {
            let group = cx.header(self.flow).group;
            let time = cx.now.since(self.limit_since);
            cx.recorder().limited(group, self.side, limit, time);
        }
        self.limit_since = cx.now;
    }

    /// [`Self::proceed`] of a side that has nothing to send, to time or to finish.
    #[inline]
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
            // Segments with data carry no SACK blocks, so an acknowledgement of its own goes ahead.
            self.send_ack(cx);
        }
        if matches!(self.state, State::Open) {
            while let Some(transmit) = self.sender.poll_transmit(cx.now) {
                self.send_segment(transmit, cx);
            }
            if self.awaited.is_some() {
                self.notify_if_writable(cx);
            }
            if self.receiver.owes_ack(cx.now) {
                self.send_ack(cx);
            }
            if self.sender.is_finished() && self.receiver.is_finished() {
                self.state = State::Done;
                if cx.close_flow(self.flow, self.side) {
                    self.notify(News::Closed, cx);
                }
            }
        } else if self.receiver.owes_ack(cx.now) {
            self.send_ack(cx);
        }
        self.arm_timers(cx);
    }

    #[inline]
    fn send_segment(&mut self, transmit: Transmit, cx: &mut Context<'_>) {
        let Transmit {
            seq,
            payload,
            fin,
            again,
            cwr,
        } = transmit;
        let size = self.header + payload;
        if let Some(observed) = &mut self.observed {
            observed.sent(&transmit, size, cx);
        }
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
            // RFC 3168 §6.1.4, §6.1.5: neither pure acknowledgements nor retransmissions are
            // ECN-capable.
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

    fn notify_if_received(&mut self, cx: &mut Context<'_>) {
        let total = self.receiver.read();
        if self.expected.is_some_and(|expected| total >= expected) {
            self.expected = None;
            self.notify(
                News::Received {
                    at: self.side,
                    total,
                },
                cx,
            );
        }
    }

    fn notify_if_writable(&mut self, cx: &mut Context<'_>) {
        if self.state == State::Open
            && self
                .awaited
                .is_some_and(|unsent| self.sender.bytes_unsent() <= unsent)
        {
            self.awaited = None;
            self.notify(News::Writable { at: self.side }, cx);
        }
    }

    fn notify(&self, news: News, cx: &mut Context<'_>) {
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
                self.notify_if_received(cx);
                return;
            }
            Command::Await { unsent } => {
                self.awaited = Some(unsent);
                self.notify_if_writable(cx);
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

    fn catch_up(&mut self, cx: &mut Context<'_>) {
        self.record_limit(cx);
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

    fn tcp_info(&self, now: Instant) -> Option<TcpInfo> {
        let observed = self.observed.as_ref()?;
        let shows = self.state == State::Open && self.sender.has_sent_data();
        shows.then(|| observed.tcp_info(&self.sender, now))
    }
}

/// The sending half of a side with `config`; `rng` is for its congestion control.
fn sender(config: &Config, rng: Rng) -> Sender {
    let control = control(config, config.initial_window, rng);
    let mss = u64::from(config.mss());
    let (offer, send_buffer) = (config.offer(), config.buffered());
    let setup = sender::Setup {
        mss,
        restart_window: control.cwnd(),
        timestamps: config.timestamps,
        pacing: config.pacing,
        offload: config.gso.0,
        whole_segments: config.whole_segments,
        growth: config.growth(),
        send_buffer,
        largest_window: offer.most().min(send_buffer),
    };
    let recovery = recovery::Setup {
        mss,
        sack: config.sack,
        reno: !config.sack && config.fast_recovery == FastRecovery::Reno,
        prr: config.prr,
        rack: config.rack.then_some(config.delayed_ack),
        dsack: config.dsack,
        ssthresh_from: config.ssthresh_from,
    };
    let rtt = RttEstimator::new(
        config.initial_rto,
        config.min_rto,
        config.min_rto_of,
        config.clock_granularity,
        config.max_rto,
    );
    Sender::new(setup, recovery, rtt, control, offer.first())
}

/// The congestion control of a sender that may send `segments` at first.
fn control(config: &Config, segments: u32, rng: Rng) -> Box<dyn CongestionControl> {
    let mss = u64::from(config.mss());
    (config.congestion).build(mss, mss * u64::from(segments.max(1)), rng)
}

fn receiver(config: &Config) -> Receiver {
    Receiver::new(receiver::Setup {
        delay: config.delayed_ack,
        sack: config.sack,
        dsack: config.dsack,
        quick_acks: config.quick_acks,
        window: ReceiveWindow::new(config.offer(), u64::from(config.mss())),
    })
}

#[cfg(test)]
mod tests;
