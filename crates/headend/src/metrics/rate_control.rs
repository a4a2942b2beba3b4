//! The modes that the senders of a cell chose, and how many MPDUs they sent in each: the table
//! `rate_control`.

use crate::metrics::table::{FLOAT, INTEGER, TEXT, Table};

/// A mode that a sender may choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModeUse {
    /// Modulation and coding scheme.
    pub mcs: u8,
    /// Spatial streams.
    pub streams: u8,
    /// Data rate in bit/s.
    pub rate: u64,
    /// MPDUs that were sent since the start of the run, and those that were acknowledged.
    pub mpdus: [u64; 2],
}

/// The use of a mode by one sender.
#[derive(Debug)]
struct Row {
    link: String,
    station: String,
    direction: &'static str,
    so_far: ModeUse,
    at_warmup: [u64; 2],
}

/// The modes of all senders, in the order in which cells report them.
#[derive(Debug, Default)]
pub(super) struct RateControl(Vec<Row>);

impl RateControl {
    /// Notes how often a sender has used a mode since the start of the run.
    pub(super) fn note(
        &mut self,
        link: &str,
        station: &str,
        direction: &'static str,
        so_far: ModeUse,
    ) {
        let is_it = |row: &&mut Row| {
            row.so_far.mcs == so_far.mcs
                && row.so_far.streams == so_far.streams
                && row.direction == direction
                && row.station == station
                && row.link == link
        };
        match self.0.iter_mut().find(is_it) {
            Some(known) => known.so_far = so_far,
            None => self.0.push(Row {
                link: link.to_owned(),
                station: station.to_owned(),
                direction,
                so_far,
                at_warmup: [0; 2],
            }),
        }
    }

    /// The warm-up is over: the use so far does not count.
    pub(super) fn start_measuring(&mut self) {
        for row in &mut self.0 {
            row.at_warmup = row.so_far.mpdus;
        }
    }

    /// A row for each mode that a sender has used in the measured time; none without rate control.
    pub(super) fn table(&self) -> Option<Table> {
        if self.0.is_empty() {
            return None;
        }
        let mut table = Table::of(&[
            ("link", TEXT),
            ("station", TEXT),
            ("direction", TEXT),
            ("mcs", INTEGER),
            ("streams", INTEGER),
            ("rate_bps", INTEGER),
            ("mpdus", INTEGER),
            ("broken_ratio", FLOAT),
        ]);
        for row in &self.0 {
            let [sent, arrived] =
                [0, 1].map(|index| row.so_far.mpdus[index] - row.at_warmup[index]);
            if sent == 0 {
                continue;
            }
            table.text("link", &row.link);
            table.text("station", &row.station);
            table.text("direction", row.direction);
            table.integer("mcs", row.so_far.mcs.into());
            table.integer("streams", row.so_far.streams.into());
            table.integer("rate_bps", row.so_far.rate);
            table.integer("mpdus", sent);
            table.float("broken_ratio", 1.0 - arrived as f64 / sent as f64);
        }
        Some(table)
    }
}
