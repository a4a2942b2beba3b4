//! Reports the sending half of a connection to the run's listeners: events, and counters by the
//! names of Linux's `tcp_info`. A connection without a listener has no [`Observed`].

use super::scoreboard::{Counts, Loss};
use super::sender::{Sender, Transmit};
use crate::context::Context;
use crate::metrics::send_limit::SendLimit;
use crate::metrics::tcp_info::TcpInfo;
use crate::packet::Packet;
use crate::time::{Duration, Instant};
use crate::trace::{AckView, SegmentView, SenderEvent, SenderState, SenderView};

/// One end of a connection that someone listens to.
#[derive(Debug)]
pub(super) struct Observed {
    view: SenderView,
    /// The state that was reported last.
    reported: Option<SenderState>,

    data_segs_out: u64,
    bytes_sent: u64,
    total_retrans: u64,
    bytes_retrans: u64,

    /// What held the sender back since `since`, and whether something was outstanding.
    limit: Option<SendLimit>,
    is_busy: bool,
    since: Instant,
    times: Times,
}

/// For how long a sender was in which state.
#[derive(Debug, Clone, Copy, Default)]
struct Times {
    busy: Duration,
    rwnd_limited: Duration,
    sndbuf_limited: Duration,
}

impl Times {
    fn add(&mut self, time: Duration, limit: Option<SendLimit>, is_busy: bool) {
        if is_busy {
            self.busy += time;
        }
        match limit {
            Some(SendLimit::ReceiveWindow) => self.rwnd_limited += time,
            Some(SendLimit::SendBuffer) => self.sndbuf_limited += time,
            _ => {}
        }
    }
}

impl Observed {
    /// An end that has sent nothing yet.
    pub(super) fn new(view: SenderView, now: Instant) -> Self {
        Self {
            view,
            reported: None,
            data_segs_out: 0,
            bytes_sent: 0,
            total_retrans: 0,
            bytes_retrans: 0,
            limit: None,
            is_busy: false,
            since: now,
            times: Times::default(),
        }
    }

    /// A segment is sent, in a packet of `size` bytes.
    #[cold]
    #[inline(never)]
    pub(super) fn sent(&mut self, transmit: &Transmit, size: u16, cx: &mut Context<'_>) {
        let &Transmit {
            seq,
            payload,
            fin,
            again,
            ..
        } = transmit;
        self.data_segs_out += 1;
        self.bytes_sent += u64::from(payload);
        if again {
            self.total_retrans += 1;
            self.bytes_retrans += u64::from(payload);
        }
        let segment = SegmentView {
            seq,
            payload,
            is_fin: fin,
            is_again: again,
            size,
        };
        cx.tell(self.view, SenderEvent::Sent(segment));
    }

    /// A packet has arrived.
    #[cold]
    #[inline(never)]
    pub(super) fn received(&self, packet: &Packet, cx: &mut Context<'_>) {
        let ack = AckView {
            next: packet.ack,
            blocks: cx.sack_blocks(packet),
            seq: packet.seq,
            payload: packet.payload,
            size: packet.size,
        };
        cx.tell(self.view, SenderEvent::Acknowledged(ack));
    }

    /// Something may have changed in the sending half, which `limit` holds back from now on.
    #[cold]
    #[inline(never)]
    pub(super) fn look(
        &mut self,
        half: &mut Sender,
        limit: Option<SendLimit>,
        cx: &mut Context<'_>,
    ) {
        let time = cx.now.since(self.since);
        self.times.add(time, self.limit, self.is_busy);
        (self.limit, self.is_busy, self.since) = (limit, half.is_busy(), cx.now);
        for Loss {
            seq,
            is_repaired,
            trigger,
        } in half.losses()
        {
            let lost = SenderEvent::Lost {
                seq,
                is_repaired,
                trigger,
            };
            cx.tell(self.view, lost);
        }
        let state = half.state();
        if self.reported != Some(state) {
            self.reported = Some(state);
            cx.tell(self.view, SenderEvent::Changed(state));
        }
    }

    /// What Linux's `tcp_info` would say at `now`.
    pub(super) fn tcp_info(&self, half: &Sender, now: Instant) -> TcpInfo {
        let (state, mss) = (half.state(), half.mss());
        let mut times = self.times;
        times.add(now.since(self.since), self.limit, self.is_busy);
        let Counts {
            unacked,
            sacked,
            lost,
            retrans,
            delivered,
        } = half.counts();
        let delivery_rate = half.delivery_rate();
        TcpInfo {
            ca_state: half.ca_state(),
            snd_mss: mss,
            snd_cwnd: state.cwnd_bytes / mss,
            snd_ssthresh: state.ssthresh_bytes.map(|bytes| bytes / mss),
            rto: half.rto(),
            rtt: state.srtt,
            rttvar: state.rttvar,
            min_rtt: state.min_rtt,
            unacked,
            sacked,
            lost,
            retrans,
            total_retrans: self.total_retrans,
            data_segs_out: self.data_segs_out,
            bytes_sent: self.bytes_sent,
            bytes_retrans: self.bytes_retrans,
            bytes_acked: half.bytes_acked(),
            delivered,
            delivered_ce: half.packets_marked(),
            pacing_rate: state.pacing_rate.map(|rate| rate.0 as f64 / 8.0),
            delivery_rate: delivery_rate
                .map(|(sample, limited)| (sample.rate().0 as f64 / 8.0, limited)),
            busy_time: times.busy,
            rwnd_limited: times.rwnd_limited,
            sndbuf_limited: times.sndbuf_limited,
        }
    }
}
