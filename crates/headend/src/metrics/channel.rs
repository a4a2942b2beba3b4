//! What the queues of a line have in common: a shared channel, how much of it was used, and for how long somebody waited for it.

use crate::metrics::table::{FLOAT, TEXT, Table};

/// What went over a channel since the start of the run. All of it only grows: what a part of the run saw is the difference of two.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ChannelUse {
    /// Bits it could have carried.
    pub capacity_bits: f64,
    /// Bits given to its queues, with all that the line counts.
    pub used_bits: f64,
    /// Bits that neighbours took who are a load only.
    pub neighbours_bits: f64,
    /// Nanoseconds in which it had less to give than was asked for.
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

/// Seconds from which the use of a channel is known: MAPs are given ahead, each for milliseconds.
const SHORTEST: f64 = 0.1;

/// MAPs give whole minislots, and of a capacity between two numbers of them now and then one more than there is: a share above all by less than this is all.
const ROUNDING: f64 = 1e-4;

/// The channels of a run, in the order in which links show them.
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
    /// What went over a channel so far.
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

    /// What has been noted so far is no more counted.
    pub(super) fn start_measuring(&mut self) {
        for channel in &mut self.0 {
            channel.at_warmup = channel.so_far;
        }
    }

    /// A row for each, of what went over it in the latest `measured` seconds.
    pub(super) fn table(&self, measured: f64) -> Table {
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
            // In less than a MAP or two, nothing is known of it.
            let is_known = measured >= SHORTEST;
            let known = |ratio: f64| if is_known { ratio } else { f64::NAN };
            let used = match taken / seen.capacity_bits {
                above if (1.0..1.0 + ROUNDING).contains(&above) => 1.0,
                share => share,
            };
            table.float("utilisation", known(used));
            table.float("full_ratio", known(seen.full_ns / (measured * 1e9)));
            table.float("granted_maps_ratio", known(seen.granted_maps / seen.maps));
        }
        table
    }
}
