//! The table `mib`: each service flow of a cable line as DOCS-QOS3-MIB describes it, a row for each
//! instance of an object.

use super::latency::LatencyHistogram;
use super::low_latency::LowLatency;
use super::stats::QueueStats;
use super::{MacCounters, QueueInfo, Recorder};
use crate::metrics::mib::{self, Member, Object, ServiceFlowInfo, State, counter, latency};
use crate::metrics::table::{INTEGER, TEXT, Table};
use crate::time::{Duration, Instant};
use crate::trace::{DropReason, QueueId};

impl Recorder {
    /// The table; `None` if the run has no service flows.
    pub(super) fn mib_table(&self, now: Instant) -> Option<Table> {
        if (self.queue_infos.iter()).all(|info| info.service_flow.is_none()) {
            return None;
        }
        let mut table = Table::of(&[
            ("link", TEXT),
            ("modem", TEXT),
            ("service_flow", TEXT),
            ("direction", TEXT),
            ("mib_table", TEXT),
            ("object", TEXT),
            ("value", INTEGER),
        ]);
        for (index, info) in self.queue_infos.iter().enumerate() {
            if let Some(flow) = &info.service_flow {
                let mut rows = Rows {
                    table: &mut table,
                    info,
                    flow,
                };
                rows.add_flow(now, &self.queues[index], &self.macs[index]);
                if let Some(low_latency) = &self.low_latency {
                    self.add_aggregate(&mut rows, QueueId(index as u32), low_latency);
                }
            }
        }
        Some(table)
    }

    /// What the MIB counts for the aggregate of a service flow, and for the flow as a part of it.
    fn add_aggregate(&self, rows: &mut Rows<'_>, queue: QueueId, low_latency: &LowLatency) {
        match rows.flow.member {
            None => {}
            Some(Member::LowLatency { .. }) => {
                let sanctioned = low_latency.count_sanctioned(queue);
                rows.add(counter::SANCTIONED_PKTS, sanctioned);
            }
            Some(Member::Classic) => {
                let parts = [Some(queue), low_latency.low_queue(queue)];
                let [mut packets, mut bytes] = [0, 0];
                for QueueId(part) in parts.into_iter().flatten() {
                    let (info, stats) = (
                        &self.queue_infos[part as usize],
                        &self.queues[part as usize],
                    );
                    packets += stats.measured().packets_dequeued;
                    bytes += octets(info, stats);
                }
                rows.add(counter::AGGREGATE_PKTS, packets);
                rows.add(counter::AGGREGATE_OCTETS, bytes);
            }
        }
    }
}

/// The bytes sent from after the HCS to the CRC: short packets are padded.
fn octets(info: &QueueInfo, stats: &QueueStats) -> u64 {
    let seen = stats.measured();
    let headers = seen.packets_dequeued * info.overhead_bytes;
    seen.bytes_dequeued + seen.bytes_padded + headers
}

/// The rows of one service flow.
struct Rows<'a> {
    table: &'a mut Table,
    info: &'a QueueInfo,
    flow: &'a ServiceFlowInfo,
}

impl Rows<'_> {
    fn add_flow(&mut self, now: Instant, stats: &QueueStats, mac: &MacCounters) {
        match self.flow.state(now) {
            State::Absent => {}
            State::Active(settings) => {
                for &(object, value) in settings {
                    self.add(object, value);
                }
                self.add_counters(stats, mac);
                if let Some(histogram) = &stats.latency {
                    self.add_latency(histogram);
                }
            }
            State::Deleted => self.add_log(stats, mac),
        }
    }

    fn add_counters(&mut self, stats: &QueueStats, mac: &MacCounters) {
        let seen = stats.measured();
        let drops = Drops::of(stats);
        self.add(counter::PKTS, seen.packets_dequeued);
        self.add(counter::OCTETS, octets(self.info, stats));
        self.add(counter::POLICED_DROP_PKTS, drops.policed);
        self.add(counter::POLICED_DELAY_PKTS, mac.packets_delayed);
        self.add(counter::AQM_DROPPED_PKTS, drops.aqm);
        if let Some(bytes) = self.flow.minislot_bytes {
            self.add(counter::TX_SLOTS_IMMED, 0);
            self.add(counter::TX_SLOTS_DED, mac.granted_bytes / bytes);
            self.add(counter::TX_RETRIES, 0);
            self.add(counter::RQ_RETRIES, mac.collisions);
            self.add(counter::RQ_EXCEEDEDS, mac.requests_exceeded);
        }
    }

    fn add_latency(&mut self, histogram: &LatencyHistogram) {
        let micros = |span: Duration| span.as_nanos() / 1000;
        for (object, &edge) in latency::UPPER_EDGE.into_iter().zip(histogram.edges()) {
            self.add(object, micros(edge));
        }
        self.add(latency::MAX_LATENCY, micros(histogram.max()));
        self.add(latency::NUM_HIST_UPDATES, histogram.bins().iter().sum());
        for (object, &packets) in latency::PKTS.into_iter().zip(histogram.bins()) {
            self.add(object, packets);
        }
    }

    /// The MIB moves the counters of a deleted service flow to a log.
    fn add_log(&mut self, stats: &QueueStats, mac: &MacCounters) {
        let seen = stats.measured();
        self.add(counter::LOG_PKTS, seen.packets_dequeued);
        self.add(counter::LOG_OCTETS, octets(self.info, stats));
        self.add(counter::LOG_POLICED_DROP_PKTS, Drops::of(stats).policed);
        self.add(counter::LOG_POLICED_DELAY_PKTS, mac.packets_delayed);
    }

    fn add(&mut self, object: Object, value: u64) {
        let is_of_modem = object.table == mib::system::AQM_US_ENABLE.table;
        let service_flow = if is_of_modem { "" } else { &self.flow.name };
        self.table.text("link", &self.info.link);
        self.table.text("modem", &self.flow.modem);
        self.table.text("service_flow", service_flow);
        self.table.text("direction", self.info.direction);
        self.table.text("mib_table", object.table);
        self.table.text("object", object.name);
        self.table.integer("value", value);
    }
}

/// The packets that a service flow dropped, by the two causes that the MIB distinguishes. Packets
/// that a modem drops for other reasons count in `ifOutDiscards` of its interface.
struct Drops {
    /// Packets that did not fit into the buffer, or into any grant.
    policed: u64,
    /// Packets that the queue discipline dropped.
    aqm: u64,
}

impl Drops {
    fn of(stats: &QueueStats) -> Self {
        let mut drops = Self { policed: 0, aqm: 0 };
        for (reason, packets) in DropReason::ALL.into_iter().zip(stats.ends.discarded()) {
            match reason {
                DropReason::Overlimit | DropReason::Policed => drops.policed += packets,
                DropReason::Congested
                | DropReason::FlowLimit
                | DropReason::Forced
                | DropReason::Unresponsive => drops.aqm += packets,
                DropReason::AckThinned
                | DropReason::Corrupted
                | DropReason::Filtered
                | DropReason::NotRegistered
                | DropReason::RetryLimit
                | DropReason::ServiceFlowDeleted => {}
            }
        }
        drops
    }
}
