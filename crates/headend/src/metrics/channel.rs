//! A channel that queues of a line share: how much of it was used, and for how long it was full.

use crate::metrics::air::{AirTime, AirUse};
use crate::metrics::table::{FLOAT, TEXT, Table};

/// The use of a channel since the start of the run. All figures only grow: what a part of the run
/// saw is the difference of two readings.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ChannelUse {
    /// Bits it could have carried.
    pub capacity_bits: f64,
    /// Bits given to its queues, with the overhead that the line counts.
    pub used_bits: f64,
    /// Bits that neighbours took of whom only the load is simulated.
    pub neighbours_bits: f64,
    /// Nanoseconds in which its capacity was less than the demand.
    pub full_ns: f64,
    /// Of an upstream: MAPs that carried a grant.
    pub granted_maps: f64,
    /// Of an upstream: all MAPs; zero elsewhere.
    pub maps: f64,
}

impl ChannelUse {
    fn since(&self, earlier: &Self) -> Self {
        Self {
            capacity_bits: self.capacity_bits - earlier.capacity_bits,
            used_bits: self.used_bits - earlier.used_bits,
            neighbours_bits: self.neighbours_bits - earlier.neighbours_bits,
            full_ns: self.full_ns - earlier.full_ns,
            granted_maps: self.granted_maps - earlier.granted_maps,
            maps: self.maps - earlier.maps,
        }
    }
}

/// Seconds from which on the utilisation of a channel is known: a MAP is sent ahead and covers
/// milliseconds.
const SHORTEST: f64 = 0.1;

/// A MAP grants whole minislots, so that it may grant up to one more than the capacity. A share
/// above 1 by less than this is 1.
const ROUNDING: f64 = 1e-4;

/// The channels of a run, in the order in which links report them.
#[derive(Debug, Default)]
pub(super) struct Channels(Vec<Channel>);

#[derive(Debug)]
struct Channel {
    link: String,
    direction: &'static str,
    so_far: ChannelUse,
    at_warmup: ChannelUse,
}

impl Channels {
    /// Notes the use of a channel so far.
    pub(super) fn note(&mut self, link: &str, direction: &'static str, so_far: ChannelUse) {
        let is_it = |other: &&mut Channel| other.link == link && other.direction == direction;
        match self.0.iter_mut().find(is_it) {
            Some(channel) => channel.so_far = so_far,
            None => self.0.push(Channel {
                link: link.to_owned(),
                direction,
                so_far,
                at_warmup: ChannelUse::default(),
            }),
        }
    }

    /// The warm-up is over: the use so far does not count.
    pub(super) fn start_measuring(&mut self) {
        for channel in &mut self.0 {
            channel.at_warmup = channel.so_far;
        }
    }

    /// A row for each channel with its use in the last `measured` seconds.
    pub(super) fn table(&self, measured: f64, air: &AirTime) -> Table {
        let mut table = Table::of(&[
            ("channel", TEXT),
            ("link", TEXT),
            ("direction", TEXT),
            ("capacity_bps", FLOAT),
            ("used_bps", FLOAT),
            ("neighbours_bps", FLOAT),
            ("utilisation", FLOAT),
            ("full_ratio", FLOAT),
            ("granted_maps_ratio", FLOAT),
            ("collision_ratio", FLOAT),
            ("broken_ratio", FLOAT),
            ("idle_ratio", FLOAT),
        ]);
        for channel in &self.0 {
            let seen = channel.so_far.since(&channel.at_warmup);
            table.text(
                "channel",
                &format!("{}.{}", channel.link, channel.direction),
            );
            table.text("link", &channel.link);
            table.text("direction", channel.direction);
            table.float("capacity_bps", seen.capacity_bits / measured);
            table.float("used_bps", seen.used_bits / measured);
            table.float("neighbours_bps", seen.neighbours_bits / measured);
            let taken = seen.used_bits + seen.neighbours_bits;
            // Within the time of a MAP or two no ratio is known.
            let is_known = measured >= SHORTEST;
            let known = |ratio: f64| if is_known { ratio } else { f64::NAN };
            let used = match taken / seen.capacity_bits {
                above if (1.0..1.0 + ROUNDING).contains(&above) => 1.0,
                share => share,
            };
            table.float("utilisation", known(used));
            table.float("full_ratio", known(seen.full_ns / (measured * 1e9)));
            table.float("granted_maps_ratio", known(seen.granted_maps / seen.maps));
            for (column, what) in [
                ("collision_ratio", AirUse::Collision),
                ("broken_ratio", AirUse::Broken),
                ("idle_ratio", AirUse::Idle),
            ] {
                table.float(column, air.share(&channel.link, None, what, measured));
            }
        }
        table
    }
}
