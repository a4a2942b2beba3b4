//! The flows of aggregates with low latency: which packets each queue sent, what queue protection
//! judged, and how often a sanction changed the order of packets.
//!
//! A run without such an aggregate keeps nothing here. The packets of a flow direction seldom use
//! more than the two queues of one aggregate, so that its accounts are a list of few entries. The
//! order of packets is followed only for connections that had a sanction.

use std::collections::{BTreeMap, VecDeque};

use super::{QueueInfo, Recorder, direction};
use crate::flow::Surroundings;
use crate::metrics::mib::Member;
use crate::metrics::protection::Judged;
use crate::metrics::table::{Column, FLOAT, INTEGER, TEXT, Table};
use crate::packet::{Ecn, FlowId, Packet, Side};
use crate::time::{Duration, Instant};
use crate::trace::QueueId;

/// The columns that tell the rows of both tables apart.
const KEY: [(&str, Column); 3] = [("queue", TEXT), ("flow", TEXT), ("direction", TEXT)];

/// What the recorder keeps of a run's aggregates with low latency.
#[derive(Debug)]
pub(super) struct LowLatency {
    /// For each queue of an aggregate, the aggregate's low-latency queue.
    low: Vec<Option<QueueId>>,
    /// Whether queue protection is on in some queue.
    is_protected: bool,
    /// The accounts of each flow direction, one for each queue that its packets have used.
    accounts: Vec<Vec<Account>>,
    /// The order of the packets of connections that had a sanction, by low-latency queue,
    /// connection and sender.
    orders: BTreeMap<(QueueId, FlowId, Side), Order>,
}

/// The packets of a flow direction in a queue.
#[derive(Debug)]
struct Account {
    queue: QueueId,
    packets: u64,
    bytes: u64,
    ce_packets: u64,
    judged: Option<JudgedPackets>,
}

/// The packets that queue protection has judged.
#[derive(Debug, Default)]
struct JudgedPackets {
    packets: u64,
    /// Bytes, each times the native marking probability at the packet's arrival.
    congestion_bytes: f64,
    score_max: Duration,
    sanctioned: u64,
    sanctioned_bytes: u64,
    /// When the first and the last packet was sanctioned.
    sanctions: Option<(Instant, Instant)>,
    /// The longest delay of the queue at a sanction.
    sanction_delay_max: Duration,
    reordered: u64,
}

/// The order in which the packets of a connection leave the queues of an aggregate.
#[derive(Debug)]
struct Order {
    flow_direction: usize,
    /// Which use of the connection's slot in the flow table it is.
    generation: u32,
    /// When the packet that arrived latest of those that have left did arrive.
    latest: Instant,
    /// When packets leave and when they arrived, in the order in which they leave. A link may know
    /// in advance when a packet leaves.
    leaving: VecDeque<(Instant, Instant)>,
}

impl Order {
    fn new(flow_direction: usize, generation: u32) -> Self {
        Self {
            flow_direction,
            generation,
            latest: Instant::ZERO,
            leaving: VecDeque::new(),
        }
    }

    /// Adds a packet.
    fn add(&mut self, leaves: Instant, arrived: Instant) {
        let place = self.leaving.partition_point(|(other, _)| *other <= leaves);
        self.leaving.insert(place, (leaves, arrived));
    }

    /// How many of the packets that have left by `now` are reordered: a packet that arrived later
    /// has left before.
    fn settle(&mut self, now: Instant) -> u64 {
        let mut reordered = 0;
        while let Some(&(leaves, arrived)) = self.leaving.front()
            && leaves <= now
        {
            self.leaving.pop_front();
            reordered += u64::from(arrived < self.latest);
            self.latest = self.latest.max(arrived);
        }
        reordered
    }
}

impl LowLatency {
    /// What is kept of these queues; `None` if none is of an aggregate with low latency.
    pub(super) fn of(queues: &[QueueInfo], flow_directions: usize) -> Option<Box<Self>> {
        let member = |info: &QueueInfo| info.service_flow.as_ref().and_then(|flow| flow.member);
        let mut low_queues = BTreeMap::new();
        let mut is_protected = false;
        for (index, info) in queues.iter().enumerate() {
            if let Some(Member::LowLatency { is_protected: own }) = member(info) {
                low_queues.insert(place(info), QueueId(index as u32));
                is_protected |= own;
            }
        }
        let low = |info: &QueueInfo| member(info).and(low_queues.get(&place(info)).copied());
        (!low_queues.is_empty()).then(|| {
            Box::new(Self {
                low: queues.iter().map(low).collect(),
                is_protected,
                accounts: super::repeat(flow_directions, Vec::new),
                orders: BTreeMap::new(),
            })
        })
    }

    /// The low-latency queue of the aggregate to which a queue belongs.
    pub(super) fn low_queue(&self, queue: QueueId) -> Option<QueueId> {
        self.low[queue.0 as usize]
    }

    /// The packets that queue protection has sent from a low-latency queue to its classic queue.
    pub(super) fn count_sanctioned(&self, queue: QueueId) -> u64 {
        let accounts = self.accounts.iter().flatten();
        let own = accounts.filter(|account| account.queue == queue);
        own.filter_map(|account| account.judged.as_ref())
            .map(|judged| judged.sanctioned)
            .sum()
    }

    fn account(&mut self, flow_direction: usize, queue: QueueId) -> &mut Account {
        let accounts = &mut self.accounts[flow_direction];
        let index = accounts.iter().position(|account| account.queue == queue);
        let index = index.unwrap_or_else(|| {
            accounts.push(Account {
                queue,
                packets: 0,
                bytes: 0,
                ce_packets: 0,
                judged: None,
            });
            accounts.len() - 1
        });
        &mut accounts[index]
    }

    fn judged(
        &mut self,
        now: Instant,
        queue: QueueId,
        packet: &Packet,
        around: Surroundings<'_>,
        judged: Judged,
    ) {
        let header = around.flows.header(packet.flow);
        let flow_direction = direction(header.group, packet.from);
        let account = self.account(flow_direction, queue);
        let seen = account.judged.get_or_insert_default();
        seen.packets += 1;
        seen.congestion_bytes += judged.probability * f64::from(packet.size);
        seen.score_max = seen.score_max.max(judged.score);
        if judged.is_sanctioned {
            seen.sanctioned += 1;
            seen.sanctioned_bytes += u64::from(packet.size);
            let first = seen.sanctions.map_or(now, |(first, _)| first);
            seen.sanctions = Some((first, now));
            seen.sanction_delay_max = seen.sanction_delay_max.max(judged.delay);
            let new = || Order::new(flow_direction, header.generation);
            let key = (queue, packet.flow, packet.from);
            let order = self.orders.entry(key).or_insert_with(new);
            if order.generation != header.generation {
                *order = new();
            }
        }
    }

    fn left(
        &mut self,
        now: Instant,
        queue: QueueId,
        packet: &Packet,
        around: Surroundings<'_>,
        leaves: Instant,
    ) {
        let header = around.flows.header(packet.flow);
        let flow_direction = direction(header.group, packet.from);
        let account = self.account(flow_direction, queue);
        account.packets += 1;
        account.bytes += u64::from(packet.size);
        account.ce_packets += u64::from(packet.ecn == Ecn::Ce);
        if self.orders.is_empty() {
            return;
        }
        let Some(low) = self.low_queue(queue) else {
            return;
        };
        let Some(order) = self.orders.get_mut(&(low, packet.flow, packet.from)) else {
            return;
        };
        if order.generation == header.generation {
            let reordered = order.settle(now);
            order.add(leaves, packet.enqueued_at);
            self.count_reordered(flow_direction, low, reordered);
        }
    }

    /// All accounts with their flow direction, in the order of queues and then of flows.
    fn in_order(&self) -> Vec<(usize, &Account)> {
        let all = self.accounts.iter().enumerate();
        let mut all: Vec<_> = all
            .flat_map(|(key, accounts)| accounts.iter().map(move |account| (key, account)))
            .collect();
        all.sort_by_key(|(key, account)| (account.queue, *key));
        all
    }

    fn count_reordered(&mut self, flow_direction: usize, low: QueueId, packets: u64) {
        if packets > 0 {
            let account = self.account(flow_direction, low);
            account.judged.get_or_insert_default().reordered += packets;
        }
    }

    /// Counts what has left by `now`.
    fn settle(&mut self, now: Instant) {
        let mut orders = std::mem::take(&mut self.orders);
        for (&(low, ..), order) in &mut orders {
            let reordered = order.settle(now);
            self.count_reordered(order.flow_direction, low, reordered);
        }
        self.orders = orders;
    }

    /// Forgets the warm-up. Connections that had a sanction in it are still followed.
    pub(super) fn start_measuring(&mut self, at: Instant) {
        self.settle(at);
        self.accounts.iter_mut().for_each(Vec::clear);
    }
}

/// What the queues of an aggregate have in common: link, modem and direction.
fn place(info: &QueueInfo) -> (&str, &str, &str) {
    let modem = info.service_flow.as_ref().map_or("", |flow| &flow.modem);
    (&info.link, modem, info.direction)
}

impl Recorder {
    /// The tables `low_latency` and, where queue protection is on, `queue_protection`.
    pub(super) fn low_latency_tables(&mut self, now: Instant) -> Vec<(&'static str, Table)> {
        let Some(mut low_latency) = self.low_latency.take() else {
            return Vec::new();
        };
        low_latency.settle(now);
        let mut tables = vec![("low_latency", self.packets_table(&low_latency))];
        if low_latency.is_protected {
            tables.push(("queue_protection", self.judged_table(&low_latency)));
        }
        self.low_latency = Some(low_latency);
        tables
    }

    fn packets_table(&self, low_latency: &LowLatency) -> Table {
        let counts = [
            ("packets", INTEGER),
            ("bytes", INTEGER),
            ("ce_packets", INTEGER),
        ];
        let mut table = Table::of(&[&KEY[..], &counts].concat());
        for (key, account) in low_latency.in_order() {
            self.add_key(&mut table, key, account.queue);
            table.integer("packets", account.packets);
            table.integer("bytes", account.bytes);
            table.integer("ce_packets", account.ce_packets);
        }
        table
    }

    fn judged_table(&self, low_latency: &LowLatency) -> Table {
        let figures = [
            ("packets", INTEGER),
            ("congestion_bytes", FLOAT),
            ("score_max_ns", INTEGER),
            ("sanctioned", INTEGER),
            ("sanctioned_bytes", INTEGER),
            ("first_sanction_ns", FLOAT),
            ("last_sanction_ns", FLOAT),
            ("sanction_delay_max_ns", FLOAT),
            ("reordered", INTEGER),
        ];
        let mut table = Table::of(&[&KEY[..], &figures].concat());
        for (key, account) in low_latency.in_order() {
            let Some(judged) = &account.judged else {
                continue;
            };
            let sanction = |nanos: fn(&JudgedPackets, (Instant, Instant)) -> u64| {
                (judged.sanctions).map_or(f64::NAN, |span| nanos(judged, span) as f64)
            };
            self.add_key(&mut table, key, account.queue);
            table.integer("packets", judged.packets);
            table.float("congestion_bytes", judged.congestion_bytes);
            table.integer("score_max_ns", judged.score_max.as_nanos());
            table.integer("sanctioned", judged.sanctioned);
            table.integer("sanctioned_bytes", judged.sanctioned_bytes);
            table.float(
                "first_sanction_ns",
                sanction(|_, (first, _)| first.as_nanos()),
            );
            table.float("last_sanction_ns", sanction(|_, (_, last)| last.as_nanos()));
            table.float(
                "sanction_delay_max_ns",
                sanction(|judged, _| judged.sanction_delay_max.as_nanos()),
            );
            table.integer("reordered", judged.reordered);
        }
        table
    }

    fn add_key(&self, table: &mut Table, flow_direction: usize, queue: QueueId) {
        table.text("queue", self.queue_name(queue));
        table.text("flow", &self.groups[flow_direction / 2].name);
        let side = Side::BOTH[flow_direction % 2];
        table.text("direction", super::tables::direction(side));
    }

    /// Records a judgement of queue protection.
    pub(crate) fn judged(
        &mut self,
        now: Instant,
        queue: QueueId,
        packet: &Packet,
        around: Surroundings<'_>,
        judged: Judged,
    ) {
        if let Some(low_latency) = &mut self.low_latency {
            low_latency.judged(now, queue, packet, around, judged);
        }
    }

    /// Records that a packet of an aggregate service flow leaves its link at `leaves`.
    pub(crate) fn left(
        &mut self,
        now: Instant,
        queue: QueueId,
        packet: &Packet,
        around: Surroundings<'_>,
        leaves: Instant,
    ) {
        if let Some(low_latency) = &mut self.low_latency {
            low_latency.left(now, queue, packet, around, leaves);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::AppId;
    use crate::flow::{FlowHeader, FlowTable, GroupId, Hop, Protocol, RouteId};
    use crate::metrics::mib::ServiceFlowInfo;
    use crate::metrics::recorder::GroupInfo;
    use crate::metrics::table::Column;
    use crate::packet::frames::Frames;
    use crate::packet::sack::SackPool;

    const CLASSIC: QueueId = QueueId(0);
    const LOW: QueueId = QueueId(1);

    fn at(micros: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(micros)
    }

    fn queue(name: &str, member: Option<Member>) -> QueueInfo {
        QueueInfo {
            name: format!("cable.{name}"),
            link: "cable".to_owned(),
            direction: "up",
            discipline: "",
            rate_bps: 0,
            limit_bytes: None,
            overhead_bytes: 0,
            map_interval: None,
            service_flow: Some(Box::new(ServiceFlowInfo {
                modem: String::new(),
                name: name.to_owned(),
                settings: Vec::new(),
                latency_edges: Vec::new(),
                minislot_bytes: None,
                member,
            })),
        }
    }

    /// A recorder of a classic and a low-latency queue, and of the flows `game` and `flood`.
    struct Run {
        recorder: Recorder,
        flows: FlowTable,
        sacks: SackPool,
        frames: Frames,
    }

    impl Run {
        fn new() -> Self {
            let low = Member::LowLatency { is_protected: true };
            let queues = vec![
                queue("up", Some(Member::Classic)),
                queue("up_low_latency", Some(low)),
                queue("voice", None),
            ];
            let groups = ["game", "flood"].map(|name| GroupInfo {
                name: name.to_owned(),
                application: "",
                transport: "udp",
                carries_data: [true; 2],
                is_bulk: false,
            });
            let second = Duration::from_secs(1);
            Self {
                recorder: Recorder::new(groups.to_vec(), queues, second, second),
                flows: FlowTable::default(),
                sacks: SackPool::default(),
                frames: Frames::default(),
            }
        }

        fn open(&mut self, group: u32) -> FlowId {
            let route = self.flows.add_route(vec![Hop::End]);
            self.flows.open(FlowHeader {
                group: GroupId(group),
                app: AppId(0),
                ordinal: 0,
                generation: 0,
                protocol: Protocol::Udp,
                addresses: [1, 2],
                ports: [1, 2],
                dscp: 0,
                user_priority: None,
                tunnel: None,
                routes: [route, RouteId(route.0)],
            })
        }

        fn packet(flow: FlowId, arrived: u64) -> Packet {
            let mut packet = Packet::datagram(flow, Side::Host, 0, 1000, 972);
            packet.enqueued_at = at(arrived);
            packet
        }

        fn judge(&mut self, flow: FlowId, now: u64, is_sanctioned: bool) {
            let around = Surroundings {
                flows: &self.flows,
                sacks: &self.sacks,
                frames: &self.frames,
            };
            let judged = Judged {
                delay: Duration::from_micros(1500),
                probability: 0.5,
                score: Duration::from_micros(now),
                is_sanctioned,
            };
            let packet = Self::packet(flow, now);
            (self.recorder).judged(at(now), LOW, &packet, around, judged);
        }

        /// At `now` it is known that a packet leaves at `leaves`.
        fn leave(&mut self, queue: QueueId, flow: FlowId, times: [u64; 3]) {
            let [arrived, now, leaves] = times;
            let around = Surroundings {
                flows: &self.flows,
                sacks: &self.sacks,
                frames: &self.frames,
            };
            let packet = Self::packet(flow, arrived);
            (self.recorder).left(at(now), queue, &packet, around, at(leaves));
        }

        fn table(&mut self, name: &str) -> Table {
            let tables = self.recorder.tables(at(1_000_000), 0);
            let mut named = tables.into_iter().filter(|(other, _)| *other == name);
            named.next().expect("the table is there").1
        }

        fn integers(&mut self, table: &str, column: &str) -> Vec<u64> {
            match self.table(table).get(column) {
                Some(Column::Integer(values)) => values.clone(),
                other => panic!("{column}: {other:?}"),
            }
        }

        fn floats(&mut self, table: &str, column: &str) -> Vec<f64> {
            match self.table(table).get(column) {
                Some(Column::Float(values)) => values.clone(),
                other => panic!("{column}: {other:?}"),
            }
        }

        fn texts(&mut self, table: &str, column: &str) -> Vec<String> {
            match self.table(table).get(column) {
                Some(Column::Text(values)) => values.clone(),
                other => panic!("{column}: {other:?}"),
            }
        }

        fn reordered(&mut self) -> u64 {
            let reordered = self.integers("queue_protection", "reordered");
            reordered.iter().sum()
        }
    }

    #[test]
    fn judgements_are_counted_by_flow() {
        let mut run = Run::new();
        let (game, flood) = (run.open(0), run.open(1));
        run.judge(flood, 10, false);
        run.judge(game, 20, false);
        run.judge(flood, 40, true);
        run.judge(flood, 30, true);
        let table = "queue_protection";
        assert_eq!(run.texts(table, "queue"), ["cable.up_low_latency"; 2]);
        assert_eq!(run.texts(table, "flow"), ["game", "flood"]);
        assert_eq!(run.texts(table, "direction"), ["up", "up"]);
        assert_eq!(run.integers(table, "packets"), [1, 3]);
        assert_eq!(run.integers(table, "score_max_ns"), [20_000, 40_000]);
        assert_eq!(run.integers(table, "sanctioned"), [0, 2]);
        assert_eq!(run.integers(table, "sanctioned_bytes"), [0, 2000]);
        assert_eq!(run.floats(table, "congestion_bytes"), [500.0, 1500.0]);
        for (column, expected) in [
            ("first_sanction_ns", 40_000.0),
            ("last_sanction_ns", 30_000.0),
            ("sanction_delay_max_ns", 1_500_000.0),
        ] {
            let values = run.floats(table, column);
            assert!(values[0].is_nan(), "{column}");
            assert!((values[1] - expected).abs() < 0.5, "{column}");
        }
    }

    #[test]
    fn packets_count_in_the_queue_that_sent_them() {
        let mut run = Run::new();
        let (game, flood) = (run.open(0), run.open(1));
        run.leave(LOW, game, [0, 1, 1]);
        run.leave(CLASSIC, flood, [1, 2, 2]);
        run.leave(LOW, flood, [2, 3, 3]);
        run.leave(LOW, flood, [3, 4, 4]);
        let rows = (run.texts("low_latency", "queue").into_iter())
            .zip(run.texts("low_latency", "flow"))
            .zip(run.integers("low_latency", "packets"));
        let rows: Vec<_> = rows
            .map(|((queue, flow), count)| (queue, flow, count))
            .collect();
        let row = |queue: &str, flow: &str, count| (queue.to_owned(), flow.to_owned(), count);
        let expected = [
            row("cable.up", "flood", 1),
            row("cable.up_low_latency", "game", 1),
            row("cable.up_low_latency", "flood", 2),
        ];
        assert_eq!(rows, expected);
    }

    #[test]
    fn a_packet_is_reordered_if_one_that_arrived_later_has_left_before() {
        let mut run = Run::new();
        let flood = run.open(1);
        run.judge(flood, 10, true);
        // The sanctioned packet waits in the classic queue. Two that arrived later pass it.
        run.leave(LOW, flood, [20, 30, 30]);
        run.leave(LOW, flood, [25, 40, 40]);
        run.leave(CLASSIC, flood, [10, 50, 50]);
        // This one arrived after all of them.
        run.leave(CLASSIC, flood, [60, 70, 70]);
        assert_eq!(run.reordered(), 1);
    }

    #[test]
    fn the_order_is_that_of_leaving_although_a_link_may_know_it_in_advance() {
        let mut run = Run::new();
        let flood = run.open(1);
        run.judge(flood, 10, true);
        // At 20 µs it is known of both when they leave: the sanctioned one before the other.
        run.leave(LOW, flood, [15, 20, 90]);
        run.leave(CLASSIC, flood, [10, 20, 80]);
        assert_eq!(run.reordered(), 0);
        run.leave(LOW, flood, [40, 100, 110]);
        run.leave(CLASSIC, flood, [30, 100, 120]);
        assert_eq!(run.reordered(), 1);
    }

    #[test]
    fn the_order_of_connections_without_a_sanction_is_not_followed() {
        let mut run = Run::new();
        let (game, flood) = (run.open(0), run.open(1));
        run.judge(flood, 10, true);
        run.judge(game, 11, false);
        run.leave(LOW, game, [20, 30, 30]);
        run.leave(CLASSIC, game, [10, 50, 50]);
        assert_eq!(run.reordered(), 0);
        // Another connection in the slot of one that is closed.
        run.flows.close(flood, at(60));
        let other = run.open(1);
        assert_eq!(other, flood);
        run.leave(LOW, other, [120, 130, 130]);
        run.leave(CLASSIC, other, [110, 150, 150]);
        assert_eq!(run.reordered(), 0);
    }

    #[test]
    fn the_warm_up_does_not_count_but_its_sanctions_are_remembered() {
        let mut run = Run::new();
        let flood = run.open(1);
        run.judge(flood, 10, true);
        run.leave(LOW, flood, [20, 30, 30]);
        run.leave(CLASSIC, flood, [10, 40, 40]);
        run.recorder.start_measuring(at(50));
        assert_eq!(run.table("queue_protection").rows(), 0);
        run.leave(LOW, flood, [45, 60, 60]);
        run.leave(CLASSIC, flood, [35, 70, 70]);
        assert_eq!(run.reordered(), 1);
        assert_eq!(run.integers("queue_protection", "sanctioned"), [0]);
    }

    #[test]
    fn a_run_without_low_latency_has_none_of_the_tables() {
        let groups = Vec::new();
        let queues = vec![queue("up", None)];
        let second = Duration::from_secs(1);
        let mut recorder = Recorder::new(groups, queues, second, second);
        let tables = recorder.tables(at(0), 0);
        assert!(
            tables
                .iter()
                .all(|(name, _)| { !["low_latency", "queue_protection"].contains(name) })
        );
    }
}
