//! Who may send next: the idle slots that each contender has to wait for.
//!
//! IEEE 802.11-2020 §10.3.4 and §10.23.2: a contender waits until the channel has been idle for
//! its AIFS (DIFS without access categories), and then for the idle slots of its backoff.
//!
//! - A *zone* is a set of nodes that hear the same nodes. The channel is idle or busy for all of
//!   them alike. A cell in which everybody hears everybody is one zone.
//! - A *class* of a zone has the contenders with the same AIFS. They count the same idle slots, so
//!   that the end of a backoff is a number of slots since the start of the run. While the channel
//!   is busy, no backoff needs an update.
//!
//! With access categories, a contender counts down at the start of each slot, so that a slot in
//! which the channel becomes busy counts too; without them, only slots that stay idle count
//! (§10.23.2.4, §10.3.4.3).
//!
//! The next sender of a class is the contender whose backoff ends first, and nothing happens before
//! that slot.

use crate::collection::Earliest;
use crate::time::{Duration, Instant};

/// Contenders with the same AIFS in a zone.
#[derive(Debug)]
struct Class {
    aifs: Duration,
    /// When the present idle period's slots began or will begin; of a busy zone, the latest one's.
    since: Instant,
    /// Idle slots until `since`; of a busy zone, until now.
    slots: u64,
    /// The idle slot at which each contender with a frame may send.
    due: Earliest,
    /// The contenders by their places in `due`.
    members: Vec<u32>,
}

impl Class {
    /// Idle slots that are over at `now`, in an idle period.
    fn passed(&self, slot: Duration, now: Instant) -> u64 {
        self.slots + now.since(self.since).as_nanos() / slot.as_nanos()
    }
}

/// Nodes that hear the same nodes.
#[derive(Debug)]
struct Zone {
    /// Whether its nodes hear each node of the cell.
    hears: Vec<bool>,
    /// Frames on the air that its nodes hear.
    frames: u32,
    /// Until when a frame that they decoded reserves the channel (NAV).
    reserved_until: Instant,
    /// Whether two frames overlapped since the zone was last idle, so that neither was decoded.
    is_garbled: bool,
    classes: Vec<Class>,
    /// The earliest wake-up that is scheduled for the end of a backoff.
    armed: Option<Instant>,
}

/// The place of a contender.
#[derive(Debug, Clone, Copy)]
struct Place {
    zone: u32,
    class: u32,
    index: u32,
}

/// The zones of a cell, and its contenders.
#[derive(Debug)]
pub(super) struct Contention {
    slot: Duration,
    /// Time after the start of a frame in which others do not detect it.
    unnoticed: Duration,
    /// What nodes wait for in addition to AIFS after a frame that they could not decode.
    after_error: Duration,
    /// Whether a slot in which the channel becomes busy counts as well.
    counts_begun_slots: bool,
    zones: Vec<Zone>,
    /// The zone of each node.
    node_zones: Vec<usize>,
    /// By contender.
    places: Vec<Place>,
}

/// A contender, as it is built.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    pub(super) node: usize,
    pub(super) aifs: Duration,
}

impl Contention {
    /// `hears` has a row for each node: whether it hears each node. All hear themselves.
    pub(super) fn new(
        [slot, unnoticed, after_error]: [Duration; 3],
        counts_begun_slots: bool,
        hears: &[Vec<bool>],
        entries: &[Entry],
    ) -> Self {
        let mut found: Vec<&Vec<bool>> = Vec::new();
        let mut node_zones = Vec::with_capacity(hears.len());
        for row in hears {
            let known = found.iter().position(|other| *other == row);
            node_zones.push(known.unwrap_or_else(|| {
                found.push(row);
                found.len() - 1
            }));
        }
        let mut members: Vec<Vec<(Duration, Vec<u32>)>> = vec![Vec::new(); found.len()];
        let mut places = Vec::with_capacity(entries.len());
        for (contender, entry) in entries.iter().enumerate() {
            let zone = node_zones[entry.node];
            let classes = &mut members[zone];
            let known = classes.iter().position(|(aifs, _)| *aifs == entry.aifs);
            let class = known.unwrap_or_else(|| {
                classes.push((entry.aifs, Vec::new()));
                classes.len() - 1
            });
            places.push(Place {
                zone: zone as u32,
                class: class as u32,
                index: classes[class].1.len() as u32,
            });
            classes[class].1.push(contender as u32);
        }
        let zones = (found.into_iter().zip(members)).map(|(hears, classes)| Zone {
            hears: hears.clone(),
            frames: 0,
            reserved_until: Instant::ZERO,
            is_garbled: false,
            classes: (classes.into_iter())
                .map(|(aifs, members)| Class {
                    aifs,
                    since: Instant::ZERO + aifs,
                    slots: 0,
                    due: Earliest::new(members.len()),
                    members,
                })
                .collect(),
            armed: None,
        });
        Self {
            slot,
            unnoticed,
            after_error,
            counts_begun_slots,
            zones: zones.collect(),
            node_zones,
            places,
        }
    }

    /// Whether everybody hears everybody: then nothing interferes with an exchange that has begun.
    pub(super) fn is_open(&self) -> bool {
        self.zones.len() == 1
    }

    /// The zone of a contender.
    pub(super) fn zone_of(&self, contender: u32) -> usize {
        self.places[contender as usize].zone as usize
    }

    /// Whether a zone's channel is busy.
    pub(super) fn is_busy(&self, zone: usize) -> bool {
        self.zones[zone].frames > 0
    }

    /// Whether a frame reserves a zone's channel, on which nobody sends at present. A contender
    /// that gets a packet then needs a backoff.
    pub(super) fn is_reserved(&self, zone: usize, now: Instant) -> bool {
        let zone = &self.zones[zone];
        zone.frames == 0 && now < zone.reserved_until
    }

    /// Idle slots that the class of a contender has counted: until now, or until the channel became
    /// busy.
    pub(super) fn slots(&self, contender: u32, now: Instant) -> u64 {
        let place = self.places[contender as usize];
        let zone = &self.zones[place.zone as usize];
        let class = &zone.classes[place.class as usize];
        if zone.frames > 0 {
            class.slots
        } else {
            class.passed(self.slot, now)
        }
    }

    /// Whether the channel has been idle for AIFS.
    pub(super) fn is_free(&self, contender: u32, now: Instant) -> bool {
        let place = self.places[contender as usize];
        let zone = &self.zones[place.zone as usize];
        zone.frames == 0 && now >= zone.classes[place.class as usize].since
    }

    /// A contender with a frame may send at idle slot `slot`; one without a frame never.
    pub(super) fn set(&mut self, contender: u32, slot: Option<u64>) {
        let place = self.places[contender as usize];
        let class = &mut self.zones[place.zone as usize].classes[place.class as usize];
        class.due.set(place.index, slot.map(Instant::from_nanos));
    }

    /// The time of the next wake-up that a zone needs, unless it is scheduled or not needed.
    pub(super) fn arm(&mut self, zone: usize, now: Instant) -> Option<Instant> {
        let slot = self.slot;
        let zone = &mut self.zones[zone];
        if zone.frames > 0 {
            return None;
        }
        let times = zone.classes.iter().filter_map(|class| {
            let (first, _) = class.due.first();
            (first < class.due.limit())
                .then(|| class.since + slot * first.as_nanos().saturating_sub(class.slots))
        });
        let at = times.min()?;
        let is_needed = zone.armed.is_none_or(|armed| at < armed || armed <= now);
        is_needed.then(|| *zone.armed.insert(at))
    }

    /// A wake-up of a zone is due. Whether a contender may send now.
    pub(super) fn wake(&mut self, zone: usize, now: Instant) -> bool {
        let slot = self.slot;
        let zone = &mut self.zones[zone];
        zone.armed.take_if(|armed| *armed == now);
        let may_send = |class: &Class| {
            now >= class.since && class.due.first().0.as_nanos() <= class.passed(slot, now)
        };
        zone.frames == 0 && zone.classes.iter().any(may_send)
    }

    /// Takes the contenders of an idle zone that send together with one that begins now: those
    /// whose backoffs end before they can detect it.
    pub(super) fn gather(&mut self, zone: usize, now: Instant, senders: &mut Vec<u32>) {
        let (slot, until) = (self.slot, now + self.unnoticed);
        for class in &mut self.zones[zone].classes {
            // AIFS may end between now and then.
            if until < class.since {
                continue;
            }
            let too_late = class.passed(slot, until);
            loop {
                let (at, index) = class.due.first();
                if at >= class.due.limit() || at.as_nanos() > too_late {
                    break;
                }
                class.due.set(index, None);
                senders.push(class.members[index as usize]);
            }
        }
    }

    /// The zones that hear a node.
    pub(super) fn zones_that_hear(&self, node: usize) -> impl Iterator<Item = usize> + use<'_> {
        let zones = self.zones.iter().enumerate();
        zones.filter_map(move |(index, zone)| zone.hears[node].then_some(index))
    }

    /// Whether a frame that node `from` sends disturbs those that node `to` receives.
    pub(super) fn disturbs(&self, from: usize, to: usize) -> bool {
        self.zones[self.node_zones[to]].hears[from]
    }

    /// The number of zones.
    pub(super) fn zones(&self) -> usize {
        self.zones.len()
    }

    /// A frame of a node begins.
    pub(super) fn begin(&mut self, node: usize, now: Instant) {
        let (slot, counts_begun_slots) = (self.slot, self.counts_begun_slots);
        for zone in self.zones.iter_mut().filter(|zone| zone.hears[node]) {
            if zone.frames == 0 {
                for class in &mut zone.classes {
                    class.slots = class.passed(slot, now);
                    class.slots += u64::from(counts_begun_slots && now >= class.since);
                }
                zone.is_garbled = false;
            }
            zone.frames += 1;
            zone.is_garbled |= zone.frames > 1;
        }
    }

    /// A frame of a node ends. If the others decode it, it reserves the channel until `reserved`.
    /// They do not decode `is_broken` frames, nor those that overlap others.
    pub(super) fn end(&mut self, node: usize, now: Instant, reserved: Instant, is_broken: bool) {
        for zone in self.zones.iter_mut().filter(|zone| zone.hears[node]) {
            zone.frames -= 1;
            zone.is_garbled |= is_broken;
            if zone.frames > 0 {
                continue;
            }
            let mut from = now.max(zone.reserved_until);
            if zone.is_garbled {
                from += self.after_error;
            } else {
                zone.reserved_until = zone.reserved_until.max(reserved);
                from = from.max(reserved);
            }
            for class in &mut zone.classes {
                class.since = from + class.aifs;
            }
        }
    }
}
