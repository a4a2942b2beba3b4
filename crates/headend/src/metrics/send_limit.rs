//! What holds a TCP sender back, as times.
//!
//! At each instant of an open connection a sender is held back by exactly one thing: the one that
//! must change before the next segment can leave. RFC 4898 calls three such states *Congestion
//! Limited*, *Receiver Limited* and *Sender Limited* (`tcpEStatsPerfSndLimTime…`). Linux's
//! `tcp_info` has the times of the receive window and of the send buffer (`tcpi_rwnd_limited`,
//! `tcpi_sndbuf_limited`). Both divide less finely than is done here: see [`SendLimit`].

use crate::time::Duration;

/// What holds a sender back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SendLimit {
    /// The application: everything written is sent. (RFC 4898: Sender Limited. In `tcp_info` the
    /// time until that is acknowledged is busy, and the rest is idle.)
    Application,
    /// The congestion window. (RFC 4898: Congestion Limited.)
    CongestionWindow,
    /// The pace: the window has room for the next segment, and its time has not come. (RFC 4898:
    /// Congestion Limited.)
    Pacing,
    /// The window that the receiver offers, while the congestion window has room. (RFC 4898:
    /// Receiver Limited.)
    ReceiveWindow,
    /// A loss that is being repaired, in fast recovery or after a timeout: the window of that
    /// recovery is full, or there is nothing else to send until the repairs are acknowledged.
    /// (RFC 4898: Congestion Limited.)
    Recovery,
    /// The send buffer, while both windows have room: the application could write more if data that
    /// is outstanding were acknowledged. (RFC 4898: Sender Limited.)
    SendBuffer,
}

impl SendLimit {
    /// All of them, in the order of the columns.
    pub const ALL: [Self; 6] = [
        Self::CongestionWindow,
        Self::ReceiveWindow,
        Self::SendBuffer,
        Self::Application,
        Self::Recovery,
        Self::Pacing,
    ];

    /// The column with the share of time.
    pub(crate) fn column(self) -> &'static str {
        match self {
            Self::Application => "app_limited_ratio",
            Self::CongestionWindow => "cwnd_limited_ratio",
            Self::Pacing => "pacing_limited_ratio",
            Self::ReceiveWindow => "rwnd_limited_ratio",
            Self::Recovery => "recovery_limited_ratio",
            Self::SendBuffer => "sndbuf_limited_ratio",
        }
    }
}

/// For how long each limit held the connections of a flow direction back.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LimitTimes {
    nanos: [u64; SendLimit::ALL.len()],
}

impl LimitTimes {
    /// Adds a time for which a connection was held back by `limit`.
    pub(crate) fn add(&mut self, limit: SendLimit, time: Duration) {
        self.nanos[limit as usize] += time.as_nanos();
    }

    /// The share of each limit, in the order of [`SendLimit::ALL`]: they sum to 1. NaN where no
    /// connection was open.
    pub(crate) fn shares(&self) -> impl Iterator<Item = (SendLimit, f64)> {
        let total: u64 = self.nanos.iter().sum();
        let share = move |nanos: u64| nanos as f64 / total as f64;
        SendLimit::ALL
            .map(|limit| (limit, share(self.nanos[limit as usize])))
            .into_iter()
    }
}
