//! A service flow's queue as its Buffer Control (24/25.35) and AQM encodings (24/25.40).
//!
//! TLVs can name one discipline, DOCSIS-PIE, and a buffer size in bytes. A drop-tail queue with the
//! default limit is not written for downstream flows and for flows with unsolicited grants, whose
//! buffers no sender fills.

use docsis_config::Tlv;

use super::note::Notes;
use super::settings::Written;
use super::{ModemOf, Referred, is_elastic, low_latency, u32_tlv};
use crate::aqm::docsis_pie;
use crate::link::docsis::preset::Feature;
use crate::named::Named;
use crate::qdisc::{QueueConfig, buffer_control};
use crate::time::Duration;
use crate::units::{ByteCount, Rate};

const BUFFER_CONTROL: u8 = 35;
const MINIMUM: u8 = 1;
const TARGET: u8 = 2;
const MAXIMUM: u8 = 3;

const AQM: u8 = 40;
const AQM_DISABLE: u8 = 1;
const LATENCY_TARGET: u8 = 2;
const ALGORITHM: u8 = 3;
const HISTOGRAM_EDGES: u8 = 6;

/// The unit of edges, which have 16 bits; the check has refused others.
const EDGE_UNIT: Duration = Duration::from_micros(10);

/// The algorithm DOCSIS-PIE.
const PIE: u8 = 1;

pub(super) fn tlvs(
    of: &ModemOf<'_>,
    one: &Referred<'_>,
    written: Written<'_>,
    notes: &mut Notes,
) -> Vec<Tlv> {
    let settings = &one.flow.settings;
    let edges = written.given(&settings.latency_histogram);
    let edges = edges.filter(|(edges, _)| !edges.is_empty());
    let edges = edges.map(|(edges, _)| Tlv::new(HISTOGRAM_EDGES, histogram(edges)));
    if let Some(member) = one
        .flow
        .aggregate
        .as_ref()
        .filter(|_| one.flow.is_low_latency())
    {
        return low_latency::queue(one, &member.aggregate, edges, notes);
    }
    let is_disabled = settings.aqm_disabled.value.unwrap_or_default();
    let has_aqm = of.written.preset.supports(Feature::ModemAqm) && is_elastic(one);
    let mut tlvs = Vec::new();
    let mut aqm = Vec::new();
    if let Some((Named(queue), path)) = written.given(&settings.queue) {
        let is_default = !is_elastic(one) && *queue == QueueConfig::default();
        let buffer = (!is_default).then(|| buffer(queue, path, one.flow.rate, notes));
        tlvs.extend(buffer.flatten());
        aqm = algorithm(queue, path, notes);
        // Without AQM, the queue of a modem that has AQM drops at its tail.
        let is_off = is_disabled || has_aqm && drops_at_tail(queue);
        if is_off || !aqm.is_empty() {
            aqm.insert(0, Tlv::new(AQM_DISABLE, [u8::from(is_off)]));
        }
    } else if let Some((_, path)) = written.given(&settings.aqm_disabled)
        && written.says(path, !is_disabled)
    {
        aqm.push(Tlv::new(AQM_DISABLE, [u8::from(is_disabled)]));
    }
    aqm.extend(edges);
    if !aqm.is_empty() {
        tlvs.push(Tlv::nested(AQM, aqm));
    }
    tlvs
}

/// The value of TLV 40.6: the edges of a latency histogram's bins.
fn histogram(edges: &[Duration]) -> Vec<u8> {
    let edge = |edge: &Duration| (edge.as_nanos() / EDGE_UNIT.as_nanos()) as u16;
    edges.iter().map(edge).flat_map(u16::to_be_bytes).collect()
}

/// Whether a queue is a buffer without a control law.
fn drops_at_tail(queue: &QueueConfig) -> bool {
    matches!(
        queue,
        QueueConfig::BufferControl(_) | QueueConfig::DropTail(_)
    )
}

/// The Buffer Control encodings, if the queue has a size.
fn buffer(queue: &QueueConfig, path: &str, rate: Rate, notes: &mut Notes) -> Option<Tlv> {
    let sizes = match queue {
        QueueConfig::BufferControl(config) => {
            note_device(config, path, notes);
            [
                (MINIMUM, config.minimum),
                (TARGET, config.target),
                (MAXIMUM, config.maximum),
            ]
        }
        other => {
            let limit = other.limit_bytes(rate).map(ByteCount);
            if limit.is_none() && other.written_limit().is_some() {
                notes.is_unsaid(format!("{path}.{}.limit", other.name()));
            }
            if let (QueueConfig::DropTail(_), Some(limit)) = (other, limit) {
                note_blocks(limit, path, rate, notes);
            }
            [(MINIMUM, None), (TARGET, limit), (MAXIMUM, None)]
        }
    };
    let sizes = sizes.into_iter().filter_map(|(number, size)| {
        let size = notes.at_most(path, size?.0, u64::from(u32::MAX));
        Some(u32_tlv(number, size as u32))
    });
    let sizes: Vec<Tlv> = sizes.collect();
    (!sizes.is_empty()).then(|| Tlv::nested(BUFFER_CONTROL, sizes))
}

/// In a run with the file, a drop-tail queue is one of a device with the default blocks.
fn note_blocks(limit: ByteCount, path: &str, rate: Rate, notes: &mut Notes) {
    let control = buffer_control::Config {
        target: Some(limit),
        ..buffer_control::Config::default()
    };
    if let Ok(size) = control.size(rate)
        && size != limit
    {
        notes.line(format!(
            "{path}: in a run with the file, drop_tail of {} B is buffer_control of {} B, as a \
             device has its buffer in blocks of {}.",
            limit.0, size.0, control.block
        ));
    }
}

/// Which sizes a device offers, and how it counts, is not the file's.
fn note_device(config: &buffer_control::Config, path: &str, notes: &mut Notes) {
    let default = buffer_control::Config::default();
    let differing = [
        ("block", config.block != default.block),
        ("counts", config.counts != default.counts),
        ("device_minimum", config.device_minimum.is_some()),
        ("device_maximum", config.device_maximum.is_some()),
    ];
    for (key, _) in differing.into_iter().filter(|(_, differs)| *differs) {
        notes.is_unsaid(format!("{path}.buffer_control.{key}"));
    }
}

/// The TLVs of the algorithm and its target. Only DOCSIS-PIE has them.
fn algorithm(queue: &QueueConfig, path: &str, notes: &mut Notes) -> Vec<Tlv> {
    let QueueConfig::DocsisPie(config) = queue else {
        if !drops_at_tail(queue) {
            notes.line(format!(
                "{path}: no TLV names the discipline {}.",
                queue.name()
            ));
        }
        return Vec::new();
    };
    let path = format!("{path}.docsis_pie");
    let usual = docsis_pie::Config {
        limit: config.limit,
        target: config.target,
        ..docsis_pie::Config::default()
    };
    if *config != usual {
        notes.line(format!(
            "{path}: TLVs hold only the limit and the target of DOCSIS-PIE, no other parameter."
        ));
    }
    let most = u32::from(u8::MAX);
    let path = format!("{path}.target");
    // 0 stands for the default.
    let target = (notes.steps(&path, config.target, Duration::from_millis(1), most)).max(1);
    vec![
        Tlv::new(LATENCY_TARGET, [target as u8]),
        Tlv::new(ALGORITHM, [PIE]),
    ]
}
