//! What Linux's `struct tcp_info` says of a sender, as `ss -ti` shows it: a row for each connection
//! and interval, in a run that keeps them.
//!
//! Names and units are those of `tcp_info`: windows in segments, times in microseconds, rates in
//! bytes per second. docs/reference/results.md defines every column.

use std::collections::BTreeSet;

use super::table::{FLOAT, INTEGER, TEXT, Table};
use crate::flow::GroupId;
use crate::packet::Side;
use crate::time::{Duration, Instant};

/// The most rows that are kept; later ones are only counted.
pub const MOST_ROWS: usize = 500_000;

/// The state of a sender's loss recovery, `tcpi_ca_state`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CaState {
    /// Something arrived out of order.
    Disorder,
    /// A timeout is being repaired.
    Loss,
    /// Nothing is known to be missing.
    Open,
    /// Fast recovery.
    Recovery,
}

impl CaState {
    const fn name(self) -> &'static str {
        match self {
            Self::Disorder => "disorder",
            Self::Loss => "loss",
            Self::Open => "open",
            Self::Recovery => "recovery",
        }
    }
}

/// What is known of a sender at the end of an interval. Counts are since the connection was opened.
#[derive(Debug, Clone, Copy, PartialEq)]
#[expect(
    missing_docs,
    reason = "docs/reference/results.md defines the columns of these names"
)]
pub struct TcpInfo {
    pub ca_state: CaState,
    pub snd_mss: u64,
    pub snd_cwnd: u64,
    pub snd_ssthresh: Option<u64>,
    pub rto: Duration,
    pub rtt: Option<Duration>,
    pub rttvar: Duration,
    pub min_rtt: Option<Duration>,
    pub unacked: u64,
    pub sacked: u64,
    pub lost: u64,
    pub retrans: u64,
    pub total_retrans: u64,
    pub data_segs_out: u64,
    pub bytes_sent: u64,
    pub bytes_retrans: u64,
    pub bytes_acked: u64,
    pub delivered: u64,
    pub delivered_ce: Option<u64>,
    /// Bytes per second.
    pub pacing_rate: Option<f64>,
    /// Bytes per second, and whether the application limited them.
    pub delivery_rate: Option<(f64, bool)>,
    pub busy_time: Duration,
    pub rwnd_limited: Duration,
    pub sndbuf_limited: Duration,
}

/// The rows of some flows.
#[derive(Debug)]
pub(crate) struct TcpInfos {
    groups: BTreeSet<GroupId>,
    table: Table,
    left_out: u64,
}

impl TcpInfos {
    /// No rows yet of these flows.
    pub(crate) fn of(groups: BTreeSet<GroupId>) -> Self {
        let table = Table::of(&[
            ("time_ns", INTEGER),
            ("flow", TEXT),
            ("connection", INTEGER),
            ("direction", TEXT),
            ("ca_state", TEXT),
            ("snd_mss", INTEGER),
            ("snd_cwnd", INTEGER),
            ("snd_ssthresh", FLOAT),
            ("rto", FLOAT),
            ("rtt", FLOAT),
            ("rttvar", FLOAT),
            ("min_rtt", FLOAT),
            ("unacked", INTEGER),
            ("sacked", INTEGER),
            ("lost", INTEGER),
            ("retrans", INTEGER),
            ("total_retrans", INTEGER),
            ("data_segs_out", INTEGER),
            ("bytes_sent", INTEGER),
            ("bytes_retrans", INTEGER),
            ("bytes_acked", INTEGER),
            ("delivered", INTEGER),
            ("delivered_ce", FLOAT),
            ("pacing_rate", FLOAT),
            ("delivery_rate", FLOAT),
            ("delivery_rate_app_limited", FLOAT),
            ("busy_time", FLOAT),
            ("rwnd_limited", FLOAT),
            ("sndbuf_limited", FLOAT),
        ]);
        Self {
            groups,
            table,
            left_out: 0,
        }
    }

    /// Whether a flow is one of them.
    pub(crate) fn wants(&self, group: GroupId) -> bool {
        self.groups.contains(&group)
    }

    /// The rows so far.
    pub(crate) fn table(&self) -> &Table {
        &self.table
    }

    /// How many rows there was no room for.
    pub(crate) fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Adds the row of one end of connection `ordinal` of a flow called `flow`.
    pub(crate) fn push(
        &mut self,
        at: Instant,
        (flow, ordinal): (&str, u32),
        from: Side,
        info: &TcpInfo,
    ) {
        if self.table.rows() >= MOST_ROWS {
            self.left_out += 1;
            return;
        }
        let table = &mut self.table;
        let direction = match from {
            Side::Host => "up",
            Side::Peer => "down",
        };
        table.integer("time_ns", at.as_nanos());
        table.text("flow", flow);
        table.integer("connection", u64::from(ordinal));
        table.text("direction", direction);
        table.text("ca_state", info.ca_state.name());
        table.integer("snd_mss", info.snd_mss);
        table.integer("snd_cwnd", info.snd_cwnd);
        table.float("snd_ssthresh", count(info.snd_ssthresh));
        table.float("rto", micros(Some(info.rto)));
        table.float("rtt", micros(info.rtt));
        table.float("rttvar", micros(info.rtt.map(|_| info.rttvar)));
        table.float("min_rtt", micros(info.min_rtt));
        table.integer("unacked", info.unacked);
        table.integer("sacked", info.sacked);
        table.integer("lost", info.lost);
        table.integer("retrans", info.retrans);
        table.integer("total_retrans", info.total_retrans);
        table.integer("data_segs_out", info.data_segs_out);
        table.integer("bytes_sent", info.bytes_sent);
        table.integer("bytes_retrans", info.bytes_retrans);
        table.integer("bytes_acked", info.bytes_acked);
        table.integer("delivered", info.delivered);
        table.float("delivered_ce", count(info.delivered_ce));
        table.float("pacing_rate", info.pacing_rate.unwrap_or(f64::NAN));
        let (rate, limited) = info.delivery_rate.unzip();
        table.float("delivery_rate", rate.unwrap_or(f64::NAN));
        let limited = limited.map(u64::from);
        table.float("delivery_rate_app_limited", count(limited));
        table.float("busy_time", micros(Some(info.busy_time)));
        table.float("rwnd_limited", micros(Some(info.rwnd_limited)));
        table.float("sndbuf_limited", micros(Some(info.sndbuf_limited)));
    }
}

fn count(value: Option<u64>) -> f64 {
    value.map_or(f64::NAN, |value| value as f64)
}

fn micros(time: Option<Duration>) -> f64 {
    time.map_or(f64::NAN, |time| time.as_nanos() as f64 / 1e3)
}
