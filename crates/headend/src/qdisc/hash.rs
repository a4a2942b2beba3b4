//! Maps flows to queues: by a seeded hash of the headers, by a set-associative hash, or one queue
//! per flow.
//!
//! Flows in the same queue share its delay and its losses, so collisions influence the results.
//! With 32 queues, a call shares its queue with at least one of six uploads in 17 % of all cases,
//! and with at least one of a hundred in 96 %. There are three ways to assign queues:
//!
//! - **hashed**: a hash of the five-tuple (source, destination, ports, protocol) chooses the queue,
//!   as in hardware and in kernels;
//! - **set-associative**: the hash chooses a set of `ways` queues. In it, the flow keeps the queue
//!   that it has, or takes an empty one. It shares a queue only if all of them hold other flows
//!   (the method of CAKE);
//! - **perfect**: each flow has a queue of its own. This is the ideal that the other two
//!   approximate.
//!
//! The flows of a tunnel have one common outer header, and all three treat them as one flow. The
//! key of the hash is drawn from the random stream of the queue, so that a run with another seed
//! has other collisions.

use crate::context::Context;
use crate::flow::FlowHeader;
use crate::packet::{Packet, Side};
use crate::rng::{Rng, splitmix};

/// How flows are assigned to queues.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "FlowHash")]
pub struct Config {
    /// Method that chooses the queue of a flow.
    pub isolation: Isolation,
    /// Queues in each set, if the isolation is `set_associative`. Raising it leaves fewer flows in
    /// a common queue, and costs more comparisons.
    pub ways: u32,
    /// Seed of the hash, which decides the flows that share a queue. Default: drawn from the run's
    /// seed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            isolation: Isolation::Hashed,
            // The sets of CAKE (Høiland-Jørgensen, Täht, Morton 2018, section III.C).
            ways: 8,
            seed: None,
        }
    }
}

/// The method that chooses the queue of a flow.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Isolation {
    /// By a hash of addresses, ports and protocol; several flows may share a queue.
    Hashed,
    /// Each flow has a queue of its own, however many flows there are.
    Perfect,
    /// By a hash that chooses a set of queues. A flow takes an empty queue of the set, and shares
    /// one only if none is empty.
    SetAssociative,
}

/// With more queues than this, the queues would need more memory than their packets.
const MOST_QUEUES: u32 = 1 << 16;

impl Config {
    /// Checks these parameters for `queues` queues.
    ///
    /// # Errors
    ///
    /// A sentence about the first invalid parameter.
    pub fn check(&self, queues: u32) -> Result<(), String> {
        if queues == 0 || queues > MOST_QUEUES {
            return Err(format!(
                "queues must be from 1 to {MOST_QUEUES}, not {queues}"
            ));
        }
        if self.isolation != Isolation::SetAssociative {
            return Ok(());
        }
        if self.ways == 0 || !queues.is_multiple_of(self.ways) {
            return Err(format!(
                "queues ({queues}) must be a multiple of hash.ways ({})",
                self.ways
            ));
        }
        Ok(())
    }
}

/// Assigns flows to queues, and counts collisions.
#[derive(Debug)]
pub(super) struct FlowHash {
    isolation: Isolation,
    queues: usize,
    ways: usize,
    seed: u64,
    /// For perfect isolation: the queue of each slot of the flow table, and of each tunnel.
    own: [Vec<u32>; 2],
    /// Packets that were enqueued behind packets of another flow.
    collisions: u64,
}

/// Access to the state of the queues, for [`FlowHash`]. The collection that holds the queues
/// implements it.
pub(super) trait QueueOwners {
    /// Whether a queue holds no packets. A queue that does not exist yet is empty.
    fn is_empty(&self, queue: usize) -> bool;
    /// The flow to which a queue belongs.
    fn owner(&mut self, queue: usize) -> &mut Owner;
}

/// The flow to which a queue belongs, or belonged last: the lower half of its hash.
///
/// Two flows whose upper halves collide have equal lower halves only once in 2³¹ cases. The last
/// bit is replaced by a flag: whether another flow has joined the queue since it was last empty.
/// The initial value is zero, which stands for no flow.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Owner(u32);

impl Owner {
    #[inline]
    fn alone(flow: u64) -> Self {
        Self(flow as u32 & !1)
    }

    #[inline]
    fn is_owned_by(self, flow: u64) -> bool {
        self.0 & !1 == flow as u32 & !1
    }

    #[inline]
    fn is_shared(self) -> bool {
        self.0 & 1 == 1
    }

    #[inline]
    fn share(&mut self) {
        self.0 |= 1;
    }
}

/// Marks a flow that has no queue yet.
const UNPLACED: u32 = u32::MAX;

impl FlowHash {
    /// Assigns flows to `queues` queues; with perfect isolation, it begins without any.
    pub(super) fn new(config: &Config, queues: u32, rng: &mut Rng) -> Self {
        // The seed is drawn in any case, so that later draws do not depend on whether one is given.
        let drawn = rng.below(u64::MAX);
        let queues = match config.isolation {
            Isolation::Perfect => 0,
            Isolation::Hashed | Isolation::SetAssociative => queues as usize,
        };
        Self {
            isolation: config.isolation,
            queues,
            ways: config.ways as usize,
            seed: config.seed.map_or(drawn, splitmix),
            own: [Vec::new(), Vec::new()],
            collisions: 0,
        }
    }

    /// The number of queues so far.
    pub(super) fn queues(&self) -> usize {
        self.queues
    }

    /// The seed of the hash.
    pub(super) fn seed(&self) -> u64 {
        self.seed
    }

    /// Packets so far that joined a queue which several flows have joined since it was last empty.
    pub(super) fn collisions(&self) -> u64 {
        self.collisions
    }

    /// The queue of a packet that arrives. This call can raise [`Self::queues`].
    pub(super) fn place(
        &mut self,
        packet: &Packet,
        cx: &mut Context<'_>,
        owners: &mut impl QueueOwners,
    ) -> usize {
        let header = cx.header(packet.flow);
        if self.isolation == Isolation::Perfect {
            return self.own_queue(packet, header);
        }
        let flow = five_tuple(self.seed, header, packet.from);
        self.place_by(flow, packet, cx, owners)
    }

    /// The queue of a packet that arrives, by a hash of what shares a queue.
    pub(super) fn place_by(
        &mut self,
        flow: u64,
        packet: &Packet,
        cx: &mut Context<'_>,
        owners: &mut impl QueueOwners,
    ) -> usize {
        let queue = if self.isolation == Isolation::Hashed {
            scale(flow, self.queues)
        } else {
            self.queue_in_set(flow, owners)
        };
        if Self::join(queue, flow, owners) {
            self.collisions += 1;
            cx.record_collision(packet, queue);
        }
        queue
    }

    fn own_queue(&mut self, packet: &Packet, header: &FlowHeader) -> usize {
        let (own, key) = match header.tunnel {
            Some(tunnel) => (&mut self.own[1], tunnel.0.get()),
            None => (&mut self.own[0], packet.flow.0),
        };
        let key = key as usize;
        if key >= own.len() {
            own.resize(key + 1, UNPLACED);
        }
        if own[key] == UNPLACED {
            own[key] = self.queues as u32;
            self.queues += 1;
        }
        own[key] as usize
    }

    /// A flow that has packets in a queue always gets that queue. It is the queue that the flow
    /// owns, or, if the flow shares the queue of another, the one that its hash names.
    fn queue_in_set(&self, flow: u64, owners: &mut impl QueueOwners) -> usize {
        let first = scale(flow, self.queues / self.ways) * self.ways;
        let set = first..first + self.ways;
        let home = first + flow as usize % self.ways;
        let owned = set
            .clone()
            .find(|&queue| owners.owner(queue).is_owned_by(flow));
        let shares_home = owners.owner(home).is_shared() && !owners.is_empty(home);
        owned.unwrap_or_else(|| {
            let mut ways = std::iter::once(home).chain(set);
            let free = ways.find(|&queue| owners.is_empty(queue));
            free.filter(|_| !shares_home).unwrap_or(home)
        })
    }

    /// Records that `flow` joins a queue; returns whether the queue is shared. A queue belongs to
    /// the first flow that finds it empty. From the time another flow joins, it counts as shared
    /// until it is empty again.
    #[inline]
    fn join(queue: usize, flow: u64, owners: &mut impl QueueOwners) -> bool {
        let is_empty = owners.is_empty(queue);
        let owner = owners.owner(queue);
        if is_empty {
            *owner = Owner::alone(flow);
        } else if !owner.is_owned_by(flow) {
            owner.share();
        }
        owner.is_shared()
    }
}

/// Hashes the five-tuple in the sender's direction, or the tunnel in place of its outer header.
pub(super) fn five_tuple(seed: u64, header: &FlowHeader, from: Side) -> u64 {
    if let Some(tunnel) = header.tunnel {
        return mix(seed, u64::from(tunnel.0.get()), u64::MAX);
    }
    let [source, destination] = [from, from.other()].map(Side::index);
    let address = |side: usize| u64::from(header.addresses[side]);
    let port = |side: usize| u64::from(header.ports[side]);
    let hosts = address(source) << 32 | address(destination);
    let ports = port(source) << 32 | port(destination) << 16 | header.protocol.tag();
    mix(seed, hosts, ports)
}

fn mix(seed: u64, hosts: u64, ports: u64) -> u64 {
    splitmix(splitmix(seed ^ hosts) ^ ports)
}

/// Maps 64 bits evenly to 0..queues.
fn scale(hash: u64, queues: usize) -> usize {
    ((u128::from(hash) * queues as u128) >> 64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::FlowId;
    use crate::testing::Bench;

    /// A hash, and the flows to which its queues belong.
    struct Table {
        hash: FlowHash,
        owners: Vec<Owner>,
    }

    impl std::ops::Deref for Table {
        type Target = FlowHash;

        fn deref(&self) -> &FlowHash {
            &self.hash
        }
    }

    struct Queues<'a> {
        owners: &'a mut [Owner],
        busy: &'a [usize],
    }

    impl QueueOwners for Queues<'_> {
        fn is_empty(&self, queue: usize) -> bool {
            !self.busy.contains(&queue)
        }

        fn owner(&mut self, queue: usize) -> &mut Owner {
            &mut self.owners[queue]
        }
    }

    fn table(isolation: Isolation, queues: u32, seed: u64) -> Table {
        let config = Config {
            isolation,
            seed: Some(seed),
            ..Config::default()
        };
        config.check(queues).expect("it makes sense");
        build(&config, queues, 1)
    }

    fn build(config: &Config, queues: u32, seed: u64) -> Table {
        let hash = FlowHash::new(config, queues, &mut Rng::for_path(seed, "queue"));
        let owners = vec![Owner::default(); hash.queues()];
        Table { hash, owners }
    }

    /// The queue of a packet of `flow` while the queues in `busy` hold packets.
    fn place(table: &mut Table, bench: &mut Bench, flow: FlowId, busy: &[usize]) -> usize {
        let packet = bench.packet(flow, 1000);
        let Table { hash, owners } = table;
        let queue = hash.place(&packet, &mut bench.cx(), &mut Queues { owners, busy });
        bench.end(packet);
        queue
    }

    #[test]
    fn a_flow_keeps_its_queue_and_its_answers_may_have_another() {
        let mut bench = Bench::new();
        let flow = bench.flow(0);
        let mut hash = table(Isolation::Hashed, 1024, 1);
        let first = place(&mut hash, &mut bench, flow, &[]);
        assert!((0..10).all(|_| place(&mut hash, &mut bench, flow, &[]) == first));
        let header = bench.cx().header(flow).clone();
        assert_ne!(
            five_tuple(hash.seed, &header, Side::Host),
            five_tuple(hash.seed, &header, Side::Peer)
        );
    }

    #[test]
    fn the_seed_decides_which_flows_collide_and_comes_from_the_queues_stream_unless_given() {
        let mut bench = Bench::new();
        let flows: Vec<FlowId> = (0..50).map(|_| bench.flow(0)).collect();
        let mut queues = |mut hash: Table| -> Vec<usize> {
            let place = |&flow| place(&mut hash, &mut bench, flow, &[]);
            flows.iter().map(place).collect()
        };
        assert_eq!(
            queues(table(Isolation::Hashed, 32, 7)),
            queues(table(Isolation::Hashed, 32, 7))
        );
        assert_ne!(
            queues(table(Isolation::Hashed, 32, 7)),
            queues(table(Isolation::Hashed, 32, 8))
        );
        let mut drawn = |seed| queues(build(&Config::default(), 32, seed));
        assert_eq!(drawn(1), drawn(1));
        assert_ne!(drawn(1), drawn(2));
    }

    /// 1 − (31/32)^m: seeds-digest E22, for 1, 2, 6, 10, 16, 24 and 100 other flows.
    #[test]
    fn a_call_shares_a_queue_with_uploads_as_often_as_expected_for_32_queues() {
        let mut bench = Bench::new();
        let call = bench.flow(46);
        let uploads: Vec<FlowId> = (0..100).map(|_| bench.flow(0)).collect();
        let seeds = 2000;
        for (others, expected) in [(1, 0.0313), (6, 0.173), (24, 0.533), (100, 0.958)] {
            let mut met = 0;
            for seed in 0..seeds {
                let mut hash = table(Isolation::Hashed, 32, seed);
                let mut place = |flow| place(&mut hash, &mut bench, flow, &[]);
                let own = place(call);
                met += u32::from(uploads[..others].iter().any(|&flow| place(flow) == own));
            }
            let share = f64::from(met) / f64::from(seeds as u32);
            // Three standard deviations of a binomial share.
            let width = 3.0 * (expected * (1.0 - expected) / f64::from(seeds as u32)).sqrt();
            assert!(
                (share - expected).abs() < width,
                "{others} others: {share}, expected {expected} ± {width}"
            );
        }
    }

    #[test]
    fn queues_are_filled_evenly_whatever_their_number() {
        let mut bench = Bench::new();
        for queues in [3, 32, 1000] {
            let mut hash = table(Isolation::Hashed, queues, 5);
            let flows = 16_000;
            let mut counts = vec![0.0; queues as usize];
            for _ in 0..flows {
                let flow = bench.flow(0);
                counts[place(&mut hash, &mut bench, flow, &[])] += 1.0;
            }
            let mean = f64::from(flows) / f64::from(queues);
            let squares: f64 = counts.iter().map(|count| (count - mean).powi(2)).sum();
            let (chi_squared, freedom) = (squares / mean, f64::from(queues - 1));
            assert!(
                (chi_squared - freedom).abs() < 4.0 * (2.0 * freedom).sqrt(),
                "chi² {chi_squared} of {freedom}"
            );
        }
    }

    #[test]
    fn a_tunnel_is_one_flow_to_every_isolation() {
        for isolation in [
            Isolation::Hashed,
            Isolation::Perfect,
            Isolation::SetAssociative,
        ] {
            let mut bench = Bench::new();
            let inside: Vec<FlowId> = (0..20).map(|_| bench.tunnelled_flow(1)).collect();
            let outside = bench.flow(0);
            let other = bench.tunnelled_flow(2);
            let mut hash = table(isolation, 1024, 3);
            let mut place = |flow| place(&mut hash, &mut bench, flow, &[]);
            let queue = place(inside[0]);
            assert!(inside.iter().all(|&flow| place(flow) == queue));
            assert_ne!(place(outside), queue);
            assert_ne!(place(other), queue);
        }
    }

    #[test]
    fn perfect_isolation_gives_each_flow_a_queue_in_the_order_they_come() {
        let mut bench = Bench::new();
        let flows: Vec<FlowId> = (0..100).map(|_| bench.flow(0)).collect();
        let mut hash = table(Isolation::Perfect, 1, 1);
        assert_eq!(hash.queues(), 0);
        let mut queues = || -> Vec<usize> {
            let place = |&flow| place(&mut hash, &mut bench, flow, &[]);
            flows.iter().rev().map(place).collect()
        };
        assert_eq!(queues(), (0..100).collect::<Vec<_>>());
        assert_eq!(queues(), (0..100).collect::<Vec<_>>());
        assert_eq!((hash.queues(), hash.collisions()), (100, 0));
    }

    #[test]
    fn collisions_are_packets_that_join_the_queue_of_another_flow() {
        let mut bench = Bench::new();
        let [one, two] = [bench.flow(0), bench.flow(0)];
        let mut hash = table(Isolation::Hashed, 1, 1);
        place(&mut hash, &mut bench, one, &[]);
        place(&mut hash, &mut bench, one, &[0]);
        assert_eq!(hash.collisions(), 0);
        place(&mut hash, &mut bench, two, &[]);
        assert_eq!(hash.collisions(), 0, "the queue was empty");
        place(&mut hash, &mut bench, one, &[0]);
        place(&mut hash, &mut bench, two, &[0]);
        assert_eq!(hash.collisions(), 2);
        place(&mut hash, &mut bench, two, &[]);
        assert_eq!(hash.collisions(), 2);
    }

    #[test]
    fn a_set_keeps_as_many_flows_apart_as_it_has_ways() {
        let mut bench = Bench::new();
        let flows: Vec<FlowId> = (0..9).map(|_| bench.flow(0)).collect();
        let mut hash = table(Isolation::SetAssociative, 8, 1);
        let mut busy = Vec::new();
        for &flow in &flows[..8] {
            let queue = place(&mut hash, &mut bench, flow, &busy);
            assert!(!busy.contains(&queue));
            busy.push(queue);
        }
        assert_eq!(hash.collisions(), 0);
        let ninth = place(&mut hash, &mut bench, flows[8], &busy);
        assert_eq!(hash.collisions(), 1, "the ninth shares");
        // A queue of another flow becomes empty. The sharing flow keeps the queue that holds its
        // packets until that queue is empty.
        let freed = *busy
            .iter()
            .find(|&&queue| queue != ninth)
            .expect("there are eight");
        let others: Vec<usize> = busy
            .iter()
            .copied()
            .filter(|&queue| queue != freed)
            .collect();
        assert_eq!(place(&mut hash, &mut bench, flows[8], &others), ninth);
        let elsewhere: Vec<usize> = busy
            .iter()
            .copied()
            .filter(|&queue| queue != ninth)
            .collect();
        assert_eq!(
            place(&mut hash, &mut bench, flows[8], &elsewhere),
            ninth,
            "now it is its own"
        );
        assert_eq!(hash.collisions(), 2);
    }

    #[test]
    fn sets_separate_flows_that_collide_under_a_plain_hash() {
        let mut bench = Bench::new();
        let mut hash = table(Isolation::SetAssociative, 32, 9);
        let mut met = table(Isolation::Hashed, 32, 9);
        let (mut busy, mut direct) = (Vec::new(), Vec::new());
        for _ in 0..16 {
            let flow = bench.flow(0);
            busy.push(place(&mut hash, &mut bench, flow, &busy));
            direct.push(place(&mut met, &mut bench, flow, &direct));
        }
        assert!(
            met.collisions() >= 2 && hash.collisions() == 0,
            "{} direct, {} in sets",
            met.collisions(),
            hash.collisions()
        );
    }

    #[test]
    fn invalid_numbers_of_queues_are_refused() {
        let set = Config {
            isolation: Isolation::SetAssociative,
            ..Config::default()
        };
        assert_eq!(Config::default().check(1), Ok(()));
        assert!(Config::default().check(0).is_err());
        assert!(Config::default().check(65_537).is_err());
        assert_eq!(set.check(32), Ok(()));
        assert!(set.check(33).is_err_and(|why| why.contains("hash.ways")));
        assert!(Config { ways: 0, ..set }.check(32).is_err());
    }
}
