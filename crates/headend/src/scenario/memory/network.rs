//! What flows meet on their way, and what waits there or is under way.

use std::collections::{BTreeMap, BTreeSet};

use super::flows::{datagrams, fills_queues, rtt_of, written};
use super::sizes::{PACKET, SEGMENT, TOGETHER};
use super::sum::Sum;
use crate::flow::Port;
use crate::math;
use crate::qdisc::QueueConfig;
use crate::queue::BacklogLimit;
use crate::scenario::flow::GroupPlan;
use crate::scenario::link::LinkPlan;
use crate::scenario::medium::QueuePlan;
use crate::traffic::memory::MTU;
use crate::units::{Limit, Rate};

/// An entrance of a link.
#[derive(Debug, Clone)]
pub(super) struct Place {
    /// Where its queue is written.
    queue_path: String,
    /// Where the delay behind it is written.
    delay_path: String,
    /// Bytes per second.
    rate: f64,
    room: Room,
    /// Seconds.
    delay: f64,
    /// Queues of service flows, where it has several.
    pub(super) queues: usize,
}

impl Place {
    /// The place that packets enter at `port`, which has these queues.
    fn new(link: &LinkPlan, port: Port, queues: &[QueuePlan<'_>]) -> Self {
        let direction = usize::from(port.0 % 2);
        let name = ["up", "down"][direction];
        let rooms = queues
            .iter()
            .map(|queue| Room::of(queue.config, queue.rate));
        Self {
            queue_path: queues[0].path.clone(),
            delay_path: format!("link.{}.point_to_point.{name}.delay", link.name),
            rate: queues[0].rate.0 as f64 / 8.0,
            room: rooms.fold(Room::default(), Room::plus),
            delay: link.medium().longest_delay(direction).as_secs_f64(),
            queues: queues.len(),
        }
    }
}

/// What may wait in a queue.
#[derive(Debug, Clone, Copy, Default)]
struct Room {
    bytes: f64,
    packets: f64,
}

impl Room {
    fn of(config: &QueueConfig, rate: Rate) -> Self {
        if let QueueConfig::Cbq(cbq) = config {
            let classes = cbq
                .class
                .values()
                .map(|class| Self::limited(class.limit, rate));
            return classes.fold(Self::default(), Self::plus);
        }
        match (config.written_limit(), config.limit_bytes(rate)) {
            (Some(limit), _) => Self::limited(limit, rate),
            (None, Some(bytes)) => Self {
                bytes: bytes as f64,
                packets: 0.0,
            },
            (None, None) => Self {
                bytes: f64::INFINITY,
                packets: 0.0,
            },
        }
    }

    fn limited(limit: Limit, rate: Rate) -> Self {
        match BacklogLimit::at_rate(limit, rate) {
            BacklogLimit::Bytes(bytes) => Self {
                bytes: bytes as f64,
                packets: 0.0,
            },
            BacklogLimit::Packets(packets) => Self {
                bytes: 0.0,
                packets: packets as f64,
            },
            BacklogLimit::Unlimited => Self {
                bytes: f64::INFINITY,
                packets: 0.0,
            },
        }
    }

    fn plus(self, other: Self) -> Self {
        Self {
            bytes: self.bytes + other.bytes,
            packets: self.packets + other.packets,
        }
    }

    /// Packets of `size` bytes that have room.
    fn packets_of(self, size: f64) -> f64 {
        self.packets + self.bytes / size
    }

    /// Bytes of the largest packets that have room.
    fn bytes_of_largest(self) -> f64 {
        self.bytes + self.packets * MTU
    }
}

/// Names an entrance: its link, and its port.
pub(super) type Key = (u16, u16);

/// What flows meet on their way, and how much each sends into it.
pub(super) struct Network<'a> {
    links: &'a [LinkPlan],
    groups: &'a [GroupPlan],
    /// Those of each entrance.
    queues: BTreeMap<Key, Vec<QueuePlan<'a>>>,
    pub(super) places: BTreeMap<Key, Place>,
    /// Datagrams that arrive at each.
    loads: BTreeMap<Key, Load>,
    /// Those that TCP or real programs may fill.
    busy: BTreeSet<Key>,
    /// Seconds.
    pub(super) duration: f64,
}

/// Datagrams that arrive somewhere.
#[derive(Debug, Clone, Copy)]
struct Load {
    pps: f64,
    /// Per second.
    bytes: f64,
    /// The smallest's IP bytes.
    size: f64,
}

impl<'a> Network<'a> {
    pub(super) fn new(links: &'a [LinkPlan], groups: &'a [GroupPlan], duration: f64) -> Self {
        let mut queues: BTreeMap<Key, Vec<QueuePlan<'a>>> = BTreeMap::new();
        for (index, plan) in (0..).zip(links) {
            for queue in plan.medium().queues(&plan.name) {
                queues.entry((index, queue.port.0)).or_default().push(queue);
            }
        }
        let mut network = Self {
            links,
            groups,
            queues,
            places: BTreeMap::new(),
            loads: BTreeMap::new(),
            busy: BTreeSet::new(),
            duration,
        };
        for group in groups {
            let sent = datagrams(group);
            for (number, peer) in group.peers.iter().enumerate() {
                for (ports, pps) in [(&peer.up, sent.pps[0]), (&peer.down, sent.pps[1])] {
                    for &(link, port) in ports {
                        network.enter(link, port, if number == 0 { pps } else { 0.0 }, sent.size);
                        if fills_queues(group) {
                            let key = network.key_of(link, port);
                            network.busy.insert(key);
                        }
                    }
                }
            }
        }
        network.share_channels();
        network
    }

    fn enter(&mut self, link: u16, port: Port, pps: f64, size: f64) {
        let key = self.key_of(link, port);
        let plan = &self.links[usize::from(link)];
        let queues = &self.queues[&key];
        (self.places.entry(key)).or_insert_with(|| Place::new(plan, port, queues));
        if pps > 0.0 {
            let load = self.loads.entry(key).or_insert(Load {
                pps: 0.0,
                bytes: 0.0,
                size,
            });
            load.pps += pps;
            load.bytes += pps * size;
            load.size = load.size.min(size);
        }
    }

    /// Rows, or octaves, of the histograms of all queues, of which a busy queue has `most`. A queue
    /// that few packets pass has no more than one for each packet.
    pub(super) fn in_histograms(&self, most: f64) -> f64 {
        let all = self.places.iter().map(|(key, place)| {
            let packets = self
                .loads
                .get(key)
                .map_or(0.0, |load| load.pps * self.duration);
            let each = if self.busy.contains(key) {
                most
            } else {
                packets.min(most)
            };
            place.queues as f64 * each
        });
        all.sum()
    }

    /// The entrance that packets have which enter a link at `port`.
    fn key_of(&self, link: u16, port: Port) -> Key {
        let medium = self.links[usize::from(link)].medium();
        (link, medium.queue_port(port).0)
    }

    /// Where customers together send more than a channel carries, each has a part of it.
    fn share_channels(&mut self) {
        let mut offered: BTreeMap<Key, f64> = BTreeMap::new();
        for (&(link, port), load) in &self.loads {
            *offered.entry((link, port % 2)).or_default() += load.bytes;
        }
        for (&(link, port), place) in &mut self.places {
            let medium = self.links[usize::from(link)].medium();
            let Some(capacity) = medium.channel(usize::from(port % 2)) else {
                continue;
            };
            let capacity = capacity.0 as f64 / 8.0;
            let offered = offered.get(&(link, port % 2)).copied();
            if let Some(offered) = offered.filter(|&offered| offered > capacity) {
                place.rate *= capacity / offered;
            }
        }
    }

    /// The entrances that the data of a flow passes on the way to, or from, its first remote host.
    fn way(&self, group: &GroupPlan) -> impl Iterator<Item = (Key, &Place)> {
        let is_down = group.application.carries_data(group.direction)[1];
        let peer = group.peers.first();
        let ports = peer.map(|peer| if is_down { &peer.down } else { &peer.up });
        ports.into_iter().flatten().map(|&(link, port)| {
            let key = self.key_of(link, port);
            (key, &self.places[&key])
        })
    }

    /// The slowest of them, with its rate in bytes per second.
    pub(super) fn slowest(&self, group: &GroupPlan) -> Option<(Key, f64)> {
        let rates = self.way(group).map(|(key, place)| (key, place.rate));
        rates.min_by(|(_, one), (_, other)| one.total_cmp(other))
    }

    /// What TCP may have outstanding: what windows allow, but no more than twice (losses are
    /// repaired) what the slowest link on the way, the queues and the distance hold. All flows that
    /// share the slowest link share that.
    pub(super) fn add_transfers(&self, sum: &mut Sum) {
        let mut shared: BTreeMap<Key, (f64, f64)> = BTreeMap::new();
        let transfers: Vec<_> = (self.groups.iter())
            .filter_map(|group| {
                let connections = group.application.connections() as f64;
                let window = group.tcp.most_outstanding() as f64;
                let (slowest, rate) = self.slowest(group).filter(|_| connections > 0.0)?;
                let delays = self.way(group).map(|(_, place)| place.delay);
                let distance = delays.sum::<f64>() + rtt_of(group);
                let rooms = self
                    .way(group)
                    .map(|(_, place)| place.room.bytes_of_largest());
                let held = 2.0 * (rooms.sum::<f64>() + rate * distance);
                // A window grows by what is acknowledged: to three times its size in a round trip
                // at most.
                let first = connections * f64::from(group.tcp.initial_window) * MTU;
                let sent = 2.0 * rate * self.duration + first;
                let own = (connections * window)
                    .min(group.application.most_to_send())
                    .min(first * math::powf(3.0, self.duration / distance.max(1e-3)));
                let (all, most) = shared.entry(slowest).or_default();
                *all += own;
                *most = most.max(held.min(sent).max(MTU));
                Some((group, slowest, own))
            })
            .collect();
        let mut found: BTreeMap<&str, (f64, f64, &GroupPlan)> = BTreeMap::new();
        for (group, slowest, own) in transfers {
            let (all, most) = shared[&slowest];
            let bytes = own * (most / all).min(1.0);
            let entry = (found.entry(written(group))).or_insert((0.0, 0.0, group));
            entry.0 += 1.0;
            entry.1 += bytes / f64::from(group.tcp.most_payload());
        }
        for (name, (flows, segments, group)) in found {
            let connections = group.application.connections();
            let segments = segments.ceil();
            let text = format!(
                "{flows} flows × {connections} connections with {segments} segments outstanding in \
                 all × {SEGMENT} B"
            );
            let keys =
                format!("flow.{name}.tcp.receive_window, .send_buffer and the queues on the way");
            sum.add(&keys, text, segments * SEGMENT, false);
        }
    }

    /// Datagrams that wait in queues, and those under way.
    pub(super) fn add_datagrams(&self, sum: &mut Sum) {
        let mut waiting: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
        let mut under_way: BTreeMap<String, f64> = BTreeMap::new();
        for (key, load) in &self.loads {
            let place = &self.places[key];
            // What is too much, all the time, and what comes at once.
            let surplus = (load.bytes - place.rate).max(0.0) / load.size * self.duration;
            let packets = (surplus + load.pps * TOGETHER).min(place.room.packets_of(load.size));
            let entry = waiting.entry(&place.queue_path).or_default();
            *entry = (entry.0 + 1.0, entry.1 + packets);
            let carried = load.pps.min(place.rate / load.size);
            let packets = carried * place.delay.min(self.duration);
            *under_way.entry(place.delay_path.clone()).or_default() += packets;
        }
        for (path, (queues, packets)) in waiting {
            let packets = packets.ceil();
            let text = format!("{packets} packets that wait in {queues} queues × {PACKET} B");
            sum.add(path, text, packets * PACKET, false);
        }
        for group in self.groups {
            let sent = datagrams(group);
            let carried = |pps: f64, ports: &[(u16, Port)]| {
                let share = ports.iter().map(|&(link, port)| {
                    let key = self.key_of(link, port);
                    self.loads
                        .get(&key)
                        .map_or(1.0, |load| self.places[&key].rate / load.bytes)
                });
                pps * share.fold(1.0, f64::min)
            };
            let Some(peer) = group.peers.first() else {
                continue;
            };
            // What comes down meets links behind the wide area.
            let pps = carried(sent.pps[0], &peer.up) + sent.pps[1];
            let packets = pps * (rtt_of(group) / 2.0).min(self.duration);
            *under_way
                .entry(format!("flow.{}.rtt", written(group)))
                .or_default() += packets;
        }
        for (path, packets) in under_way {
            let packets = packets.ceil();
            let text = format!("{packets} packets under way × {PACKET} B");
            sum.add(&path, text, packets * PACKET, false);
        }
    }
}
