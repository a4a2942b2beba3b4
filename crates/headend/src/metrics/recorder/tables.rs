//! The result tables of a run, made from what the recorder counted.

use std::collections::BTreeMap;

use super::{FLOW_FIGURES, GroupInfo, QUEUE_FIGURES, QueueInfo, Recorder};
use crate::metrics::air::AirUse;
use crate::metrics::histogram::Histogram;
use crate::metrics::send_limit::LimitTimes;
use crate::metrics::table::{Column, FLOAT, INTEGER, TEXT, Table};
use crate::packet::Side;
use crate::time::{Duration, Instant};
use crate::trace::DropReason;

/// The figures of a flow direction's row, as [`Recorder::close_interval`] puts them.
const FLOW_SERIES: [(&str, Column); FLOW_FIGURES] = [
    ("throughput_bps", FLOAT),
    ("goodput_bps", FLOAT),
    ("delay_mean_ns", FLOAT),
    ("delay_max_ns", FLOAT),
    ("discarded", INTEGER),
    ("marked", INTEGER),
];

/// The figures of a queue's row, as [`Recorder::queue_row`] puts them.
const QUEUE_SERIES: [(&str, Column); QUEUE_FIGURES] = [
    ("backlog_bytes", INTEGER),
    ("backlog_max_bytes", INTEGER),
    ("delay_mean_ns", FLOAT),
    ("delay_max_ns", FLOAT),
    ("discarded", INTEGER),
    ("marked", INTEGER),
    ("rate_bps", FLOAT),
    ("drop_probability", FLOAT),
    ("tokens_bytes", FLOAT),
    ("burst_allowance_ns", FLOAT),
    ("target_delay_ns", FLOAT),
    ("rate_estimate_bps", FLOAT),
    ("average_packets", FLOAT),
    ("average_bytes", FLOAT),
    ("queues_active", FLOAT),
    ("hash_collisions", FLOAT),
];

/// The columns of every table of results, by its name: what whoever reads them may count on.
pub fn columns() -> Vec<(&'static str, Vec<String>)> {
    let group = GroupInfo {
        name: String::new(),
        application: "",
        transport: "",
        carries_data: [true; 2],
        is_bulk: false,
    };
    let queue = QueueInfo {
        name: String::new(),
        link: String::new(),
        direction: "",
        discipline: "",
        rate_bps: 0,
        limit_bytes: None,
        overhead_bytes: 0,
        map_interval: None,
        service_flow: None,
    };
    let second = Duration::from_secs(1);
    // Some tables have their columns only with a row.
    let mut recorder = Recorder::new(vec![group], vec![queue], second, second);
    let names = |table: Table| table.columns.into_iter().map(|(name, _)| name).collect();
    (recorder.tables(Instant::ZERO, 0).into_iter())
        .map(|(name, table)| (name, names(table)))
        .collect()
}

impl Recorder {
    /// The tables of docs/reference/results.md, at `now`. The table `rate_control` is there if a
    /// station of a cell has several modes, `tins` if a queue has tins, `mib` if the run has a
    /// cable line, those of low latency if a service flow has a low-latency flow beside it.
    pub fn tables(&mut self, now: Instant, events: u64) -> Vec<(&'static str, Table)> {
        let measured = now.since(self.measuring_since).as_secs_f64();
        for stats in &mut self.queues {
            stats.holds(now, stats.backlog);
        }
        let mut tables = vec![
            ("flows", self.flows_table(measured)),
            ("queues", self.queues_table(measured)),
            ("channels", self.channels.table(measured, &self.air_time)),
            ("collisions", self.collisions_table()),
            ("measures", self.measures_table()),
            ("samples", self.samples_table()),
            ("flow_series", self.flow_series_table()),
            ("queue_series", self.queue_series_table()),
            ("connection_series", self.connection_series_table()),
            ("histograms", self.histograms_table()),
            ("summary", self.summary_table(now, events)),
        ];
        if !self.air_time.is_empty() {
            tables.push(("air_time", self.air_time.table(measured)));
        }
        let modes = self.rate_control.table();
        tables.extend(modes.map(|table| ("rate_control", table)));
        let tins = self.tins.table(|queue| self.queue_name(queue));
        tables.extend(tins.map(|table| ("tins", table)));
        tables.extend(self.mib_table(now).map(|table| ("mib", table)));
        tables.extend(self.low_latency_tables(now));
        tables
    }

    /// The rows of the series so far, which are taken out: [`Self::tables`] has only the rest. If
    /// `with_samples`, those of the samples too; their statistics still count them.
    pub(crate) fn take_rows(&mut self, with_samples: bool) -> Vec<(&'static str, Table)> {
        let mut tables = vec![
            ("flow_series", self.flow_series_table()),
            ("queue_series", self.queue_series_table()),
            ("connection_series", self.connection_series_table()),
        ];
        self.flow_series.clear();
        self.queue_series.clear();
        self.connection_series.clear();
        if with_samples {
            tables.push(("samples", self.samples_table()));
            self.samples_taken = self.samples.len();
        }
        tables
    }

    fn collisions_table(&self) -> Table {
        let mut table = Table::of(&[
            ("queue", TEXT),
            ("backlog", INTEGER),
            ("flow", TEXT),
            ("direction", TEXT),
            ("packets", INTEGER),
        ]);
        for (&(queue, backlog, group, from), &packets) in &self.meetings {
            table.text("queue", self.queue_name(queue));
            table.integer("backlog", u64::from(backlog));
            table.text("flow", &self.groups[group.0 as usize].name);
            table.text("direction", direction(from));
            table.integer("packets", packets);
        }
        table
    }

    fn flows_table(&self, measured: f64) -> Table {
        let mut table = Table::default();
        for (group, info) in self.groups.iter().enumerate() {
            for side in Side::BOTH {
                let stats = &self.flows[2 * group + side.index()];
                let seen = stats.measured();
                let carries_data = info.carries_data[side.index()];
                if !carries_data && stats.total.packets_sent == 0 {
                    continue;
                }
                table.text("flow", &info.name);
                table.text("direction", direction(side));
                table.text("application", info.application);
                table.text("transport", info.transport);
                table.text("carries", if carries_data { "data" } else { "control" });
                table.integer("packets_sent", seen.packets_sent);
                table.integer("bytes_sent", seen.bytes_sent);
                table.integer("packets_delivered", seen.packets_delivered);
                table.integer("bytes_delivered", seen.bytes_delivered);
                table.integer("goodput_bytes", seen.goodput_bytes);
                table.float(
                    "throughput_bps",
                    seen.bytes_delivered as f64 * 8.0 / measured,
                );
                table.float("goodput_bps", seen.goodput_bytes as f64 * 8.0 / measured);
                let discarded = discards(&mut table, &stats.ends.discarded());
                table.integer("marked", stats.ends.marked());
                // A packet sent before the measured part can be lost in it. Without packets sent
                // there is no share.
                let loss = match seen.packets_sent {
                    0 => f64::NAN,
                    sent => discarded as f64 / sent as f64,
                };
                table.float("loss_ratio", loss);
                table.integer("retransmitted", stats.retransmitted.measured());
                // A side that only acknowledges has nothing that could be held back.
                let limits = if carries_data {
                    stats.limits
                } else {
                    LimitTimes::default()
                };
                for (limit, share) in limits.shares() {
                    table.float(limit.column(), share);
                }
                delays(&mut table, &stats.delays);
                let jitter = match seen.packets_delivered {
                    0 => f64::NAN,
                    _ => stats.jitter,
                };
                table.float("jitter_ns", jitter);
            }
        }
        table
    }

    fn queues_table(&self, measured: f64) -> Table {
        let left = self
            .queues
            .iter()
            .map(|stats| stats.measured().packets_dequeued);
        let used = self.limits.used(left);
        let mut table = Table::default();
        for (index, info) in self.queue_infos.iter().enumerate() {
            let (stats, mac) = (&self.queues[index], &self.macs[index]);
            let seen = stats.measured();
            table.text("queue", &info.name);
            table.text("link", &info.link);
            table.text("direction", info.direction);
            table.text("discipline", info.discipline);
            table.float("rate_bps", info.rate_bps as f64);
            table.float(
                "limit_bytes",
                info.limit_bytes.map_or(f64::NAN, |bytes| bytes as f64),
            );
            table.integer(
                "packets_enqueued",
                seen.packets_enqueued - seen.packets_moved,
            );
            table.integer("packets_dequeued", seen.packets_dequeued);
            table.integer("bytes_dequeued", seen.bytes_dequeued);
            discards(&mut table, &stats.ends.discarded());
            table.integer("marked", stats.ends.marked());
            table.float("capacity_bps", used[index].possible / measured);
            table.float("utilisation", used[index].share);
            table.float("air_ratio", self.air_of(info, measured));
            let stood = stats.stood_ns as f64 / (measured * 1e9);
            table.float("standing_ratio", stood);
            table.float(
                "backlog_mean_bytes",
                stats.backlog_integral as f64 / (measured * 1e9),
            );
            table.integer("backlog_max_bytes", stats.backlog_max);
            delays(&mut table, &stats.delays);
            table.integer("requests_contention", mac.requests_contention);
            table.integer("requests_piggyback", mac.requests_piggyback);
            table.integer("collisions", mac.collisions);
            table.integer("request_retries", mac.request_retries);
            table.integer("requests_exceeded", mac.requests_exceeded);
            table.integer("grants", mac.grants);
            table.integer("granted_bytes", mac.granted_bytes);
            table.integer("unused_grant_bytes", mac.unused_grant_bytes);
            table.integer("maps", mac.maps);
            let ratio = info.map_interval.map_or(f64::NAN, |interval| {
                // The first MAP measured may have been made before.
                (mac.maps as f64 * interval.as_secs_f64() / measured).min(1.0)
            });
            table.float("granted_maps_ratio", ratio);
        }
        table
    }

    /// The share of a cell's air time that the frames from a queue took which arrived; NaN
    /// elsewhere.
    fn air_of(&self, info: &QueueInfo, measured: f64) -> f64 {
        let (station, what) = match station_of(info) {
            "" => (None, AirUse::Down),
            station => (Some(station), AirUse::Up),
        };
        self.air_time.share(&info.link, station, what, measured)
    }

    fn measures_table(&self) -> Table {
        let mut taken = BTreeMap::new();
        for sample in &self.samples {
            let key = (sample.group, sample.measure.key());
            let own = taken.entry(key).or_insert((sample.measure, Vec::new()));
            own.1.push(sample.value);
        }
        let mut rows: Vec<_> = taken.into_iter().collect();
        rows.sort_by_cached_key(|((group, _), (measure, _))| (*group, order(&measure.name())));
        let mut table = Table::of(&[
            ("flow", TEXT),
            ("measure", TEXT),
            ("unit", TEXT),
            ("count", INTEGER),
            ("mean", FLOAT),
            ("min", FLOAT),
            ("p5", FLOAT),
            ("p25", FLOAT),
            ("p50", FLOAT),
            ("p75", FLOAT),
            ("p90", FLOAT),
            ("p95", FLOAT),
            ("p99", FLOAT),
            ("max", FLOAT),
        ]);
        for ((group, _), (measure, mut values)) in rows {
            let count = values.len() as u64;
            values.retain(|value| !value.is_nan());
            values.sort_unstable_by(f64::total_cmp);
            table.text("flow", &self.groups[group.0 as usize].name);
            table.text("measure", &measure.name());
            table.text("unit", measure.kind.unit.name());
            table.integer("count", count);
            table.float("mean", values.iter().sum::<f64>() / values.len() as f64);
            for (name, q) in [
                ("min", 0.0),
                ("p5", 0.05),
                ("p25", 0.25),
                ("p50", 0.5),
                ("p75", 0.75),
                ("p90", 0.9),
                ("p95", 0.95),
                ("p99", 0.99),
                ("max", 1.0),
            ] {
                table.float(name, quantile(&values, q));
            }
        }
        table
    }

    fn samples_table(&self) -> Table {
        let mut table = Table::of(&[
            ("flow", TEXT),
            ("measure", TEXT),
            ("time_ns", INTEGER),
            ("value", FLOAT),
        ]);
        for sample in &self.samples[self.samples_taken..] {
            table.text("flow", &self.groups[sample.group.0 as usize].name);
            table.text("measure", &sample.measure.name());
            table.integer("time_ns", sample.at.as_nanos());
            table.float("value", sample.value);
        }
        table
    }

    fn flow_series_table(&self) -> Table {
        let names = [("time_ns", INTEGER), ("flow", TEXT), ("direction", TEXT)];
        let mut table = Table::of(&[&names[..], &FLOW_SERIES].concat());
        self.flow_series.visit(|at, key, row| {
            let (group, side) = (key as usize / 2, Side::BOTH[key as usize % 2]);
            table.integer("time_ns", at.as_nanos());
            table.text("flow", &self.groups[group].name);
            table.text("direction", direction(side));
            figures(&mut table, &FLOW_SERIES, row);
        });
        table
    }

    fn queue_series_table(&self) -> Table {
        let names = [("time_ns", INTEGER), ("queue", TEXT)];
        let mut table = Table::of(&[&names[..], &QUEUE_SERIES].concat());
        self.queue_series.visit(|at, key, row| {
            let queue = self.queues_shown[key as usize];
            table.integer("time_ns", at.as_nanos());
            table.text("queue", self.queue_name(queue));
            figures(&mut table, &QUEUE_SERIES, row);
        });
        table
    }

    fn connection_series_table(&self) -> Table {
        let mut table = Table::of(&[
            ("time_ns", INTEGER),
            ("flow", TEXT),
            ("connection", INTEGER),
            ("cwnd_bytes", INTEGER),
            ("ssthresh_bytes", FLOAT),
            ("srtt_ns", FLOAT),
            ("in_flight_bytes", INTEGER),
        ]);
        for row in &self.connection_series {
            table.integer("time_ns", row.at.as_nanos());
            table.text("flow", &self.groups[row.group.0 as usize].name);
            table.integer("connection", u64::from(row.ordinal));
            table.integer("cwnd_bytes", row.cwnd_bytes);
            table.float("ssthresh_bytes", row.ssthresh_bytes);
            table.float("srtt_ns", row.srtt_ns);
            table.integer("in_flight_bytes", row.in_flight_bytes);
        }
        table
    }

    fn histograms_table(&self) -> Table {
        let mut table = Table::of(&[
            ("kind", TEXT),
            ("name", TEXT),
            ("direction", TEXT),
            ("lower_ns", INTEGER),
            ("upper_ns", INTEGER),
            ("count", INTEGER),
        ]);
        let mut add = |kind: &str, name: &str, direction: &str, delays: &Histogram| {
            for (lower, upper, count) in delays.buckets() {
                table.text("kind", kind);
                table.text("name", name);
                table.text("direction", direction);
                table.integer("lower_ns", lower);
                table.integer("upper_ns", upper);
                table.integer("count", count);
            }
        };
        for (group, info) in self.groups.iter().enumerate() {
            for side in Side::BOTH {
                let stats = &self.flows[2 * group + side.index()];
                add("flow", &info.name, direction(side), &stats.delays);
            }
        }
        for (info, stats) in self.queue_infos.iter().zip(&self.queues) {
            add("queue", &info.name, info.direction, &stats.delays);
        }
        table
    }

    fn summary_table(&self, now: Instant, events: u64) -> Table {
        let bulk = (0..self.groups.len()).filter(|&group| self.groups[group].is_bulk);
        let shares: Vec<f64> = bulk
            .map(|group| {
                let bytes = |index: usize| self.flows[index].measured().goodput_bytes as f64;
                bytes(2 * group) + bytes(2 * group + 1)
            })
            .collect();
        let mut table = Table::default();
        table.integer("simulated_ns", now.as_nanos());
        table.integer("events", events);
        table.integer("packets_delivered", self.delivered);
        table.integer("data_packets_delivered", self.data_delivered);
        table.float("jain_index", jain_index(&shares));
        table
    }
}

/// Adds the figures of a row of the series to their columns.
fn figures(table: &mut Table, columns: &[(&str, Column)], row: &[u64]) {
    for ((name, kind), &bits) in columns.iter().zip(row) {
        if *kind == INTEGER {
            table.integer(name, bits);
        } else {
            table.float(name, f64::from_bits(bits));
        }
    }
}

/// The station that a queue of a cell belongs to: the station's is called `LINK.STATION.up`, the
/// access point's `LINK.down`, which has none.
pub(super) fn station_of(info: &QueueInfo) -> &str {
    let name = info.name.strip_prefix(&info.link).unwrap_or(&info.name);
    let name = name.strip_suffix(info.direction).unwrap_or(name);
    name.trim_matches('.')
}

pub(super) fn direction(from: Side) -> &'static str {
    match from {
        Side::Host => "up",
        Side::Peer => "down",
    }
}

fn discards(table: &mut Table, counts: &[u64; DropReason::COUNT]) -> u64 {
    for reason in DropReason::ALL {
        table.integer(
            &format!("discarded_{}", reason.name()),
            counts[reason as usize],
        );
    }
    counts.iter().sum()
}

fn delays(table: &mut Table, delays: &Histogram) {
    table.float("delay_mean_ns", delays.mean());
    table.float("delay_min_ns", delays.min());
    for (name, q) in [
        ("p50", 0.5),
        ("p90", 0.9),
        ("p95", 0.95),
        ("p99", 0.99),
        ("p999", 0.999),
    ] {
        table.float(&format!("delay_{name}_ns"), delays.quantile(q));
    }
    table.float("delay_max_ns", delays.max());
}

/// What names of measures are ordered by: the letters, then the number in them.
fn order(name: &str) -> (String, u64) {
    let (digits, letters): (String, String) = name.chars().partition(char::is_ascii_digit);
    (letters, digits.parse().unwrap_or(0))
}

/// Quantile of sorted values, linear between neighbours; NaN of nothing.
fn quantile(sorted: &[f64], q: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else {
        return f64::NAN;
    };
    let position = q * last as f64;
    let below = position.floor() as usize;
    let above = (below + 1).min(last);
    sorted[below] + (sorted[above] - sorted[below]) * (position - below as f64)
}

/// Jain's fairness index of at least two shares: (Σx)² / (n·Σx²). NaN for fewer than two shares,
/// and where all are zero.
pub fn jain_index(shares: &[f64]) -> f64 {
    if shares.len() < 2 {
        return f64::NAN;
    }
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|share| share * share).sum();
    sum * sum / (shares.len() as f64 * squares)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jain_index_is_one_for_equals_and_one_over_n_for_one_alone() {
        assert!((jain_index(&[5.0, 5.0, 5.0]) - 1.0).abs() < 1e-12);
        assert!((jain_index(&[5.0, 0.0, 0.0, 0.0]) - 0.25).abs() < 1e-12);
        assert!(jain_index(&[1.0]).is_nan());
    }

    #[test]
    fn measures_are_ordered_by_their_letters_and_then_by_their_numbers() {
        let mut names = [
            "speed_100s",
            "speed_10s",
            "rpm_down",
            "speed",
            "rpm",
            "speed_2s",
            "rpm_confidence",
        ];
        names.sort_by_cached_key(|name| order(name));
        let ordered = "rpm rpm_confidence rpm_down speed speed_2s speed_10s speed_100s";
        assert_eq!(names.join(" "), ordered);
    }

    #[test]
    fn quantiles_interpolate() {
        assert!((quantile(&[1.0, 2.0, 3.0, 4.0], 0.5) - 2.5).abs() < 1e-12);
        assert!(quantile(&[], 0.5).is_nan());
    }
}
