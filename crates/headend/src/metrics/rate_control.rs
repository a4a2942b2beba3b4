//! The modes that the senders of a cell chose, and how many MPDUs they sent in each: the table
//! `rate_control`.

use crate::metrics::table::{FLOAT, INTEGER, TEXT, Table};
use crate::units::Rate;

/// MPDUs that were sent, and those of them that were acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Attempts {
    /// Those sent, retries included.
    pub sent: u64,
    /// Those acknowledged.
    pub arrived: u64,
}

/// A mode that a sender may choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModeUse {
    /// Modulation and coding scheme.
    pub mcs: u8,
    /// Spatial streams.
    pub streams: u8,
    /// Data rate.
    pub rate: Rate,
    /// MPDUs since the start of the run.
    pub mpdus: Attempts,
}

/// The use of a mode by one sender.
#[derive(Debug)]
struct Row {
    link: String,
    station: String,
    direction: &'static str,
    so_far: ModeUse,
    at_warmup: Attempts,
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
                at_warmup: Attempts::default(),
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
            ("unacknowledged_ratio", FLOAT),
        ]);
        for row in &self.0 {
            let sent = row.so_far.mpdus.sent - row.at_warmup.sent;
            let arrived = row.so_far.mpdus.arrived - row.at_warmup.arrived;
            if sent == 0 {
                continue;
            }
            table.text("link", &row.link);
            table.text("station", &row.station);
            table.text("direction", row.direction);
            table.integer("mcs", row.so_far.mcs.into());
            table.integer("streams", row.so_far.streams.into());
            table.integer("rate_bps", row.so_far.rate.0);
            table.integer("mpdus", sent);
            table.float("unacknowledged_ratio", 1.0 - arrived as f64 / sent as f64);
        }
        Some(table)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::table::Column;

    fn mode(mcs: u8, sent: u64, arrived: u64) -> ModeUse {
        ModeUse {
            mcs,
            streams: 2,
            rate: Rate(1_000_000),
            mpdus: Attempts { sent, arrived },
        }
    }

    #[test]
    fn what_was_sent_in_the_warm_up_does_not_count() {
        let mut own = RateControl::default();
        own.note("wifi", "a", "up", mode(1, 10, 10));
        own.note("wifi", "a", "up", mode(2, 10, 0));
        own.start_measuring();
        own.note("wifi", "a", "up", mode(1, 18, 16));
        own.note("wifi", "a", "up", mode(2, 10, 0));
        own.note("wifi", "a", "down", mode(1, 4, 4));
        let table = own.table().expect("there are modes");
        assert_eq!(table.get("mcs"), Some(&Column::Integer(vec![1, 1])));
        assert_eq!(table.get("mpdus"), Some(&Column::Integer(vec![8, 4])));
        let ratios = Column::Float(vec![0.25, 0.0]);
        assert_eq!(table.get("unacknowledged_ratio"), Some(&ratios));
    }
}
