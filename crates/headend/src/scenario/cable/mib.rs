//! A service flow's settings as objects of DOCS-QOS3-MIB.
//!
//! An aggregate with low latency stands under the name of its classic flow.
//!
//! The modem shows the upstream settings, the CMTS the downstream ones. A modem's file was turned
//! into keys before, so it needs no case of its own.

use super::service_flow::{AggregatePlan, FlowPlan, OneWay};
use crate::aqm::Governor;
use crate::link::docsis::qos::Scheduling;
use crate::metrics::mib::{Setting, aggregate, parameter_set, system, truth};
use crate::qdisc::QueueConfig;
use crate::time::Duration;
use crate::units::{Limit, Rate};

/// The value of Buffer Control's maximum for a service flow without a maximum, and the largest that
/// 32 bits hold.
const NO_LIMIT: u64 = u32::MAX as u64;
/// The largest latency target that the MIB can show, in ms.
const LARGEST_TARGET: u64 = 256;

/// The settings of a service flow. For the primary upstream one, the settings of the modem stand
/// before them.
pub(super) fn settings(flow: &FlowPlan, direction: OneWay) -> Vec<Setting> {
    let mut settings = Vec::new();
    if direction == OneWay::Up && flow.name == direction.name() {
        settings.extend(of_modem(flow));
    }
    if let Some(plan) = flow.aggregate_as_classic() {
        settings.extend(of_aggregate(plan, flow));
    }
    settings.extend(rates(flow));
    settings.extend(scheduling(flow, direction));
    settings.extend(buffer(flow));
    settings.extend(aqm(flow));
    if let Some(bytes) = flow.queue.limit_bytes(flow.rate) {
        settings.push((system::BUFFER_SIZE, size(bytes)));
    }
    settings
}

/// The settings that hold for all upstream service flows of a modem; `flow` is the primary one. A
/// buffer that is given as a time is the modem's default. A buffer in bytes is a setting of the
/// service flow.
fn of_modem(flow: &FlowPlan) -> Vec<Setting> {
    let enabled = (system::AQM_US_ENABLE, truth(!flow.is_modem_aqm_disabled));
    let mut settings = vec![enabled];
    if let Some(Limit::Time(buffer)) = flow.queue.written_limit() {
        settings.push((system::DEFAULT_US_TARGET_BUFFER, millis(buffer)));
    }
    settings
}

/// The bits of `QpEnable` while queue protection is on: it is enabled, and it judges each flow.
const PROTECTED_BY_FLOW: u64 = 0b11;

/// The settings of an aggregate of which `classic` is the classic flow.
fn of_aggregate(plan: &AggregatePlan, classic: &FlowPlan) -> Vec<Setting> {
    use aggregate::{
        AQM_COUPLING_FACTOR, LOW_LATENCY_ASF, MAX_AGGREGATE_TRAFFIC_RATE, MAX_TRAFFIC_BURST,
        PEAK_TRAFFIC_RATE, PRIORITY, QP_DRAIN_RATE_EXPONENT, QP_ENABLE, QP_LATENCY_THRESHOLD,
        QP_QUEUING_SCORE_THRESHOLD, SCHEDULING_WEIGHT,
    };
    let rate = |rate: Option<Rate>| narrow(rate.map_or(0, |rate| rate.0));
    let protection = plan.queue.protection;
    let enabled = protection.map_or(0, |_| PROTECTED_BY_FLOW);
    let mut settings = vec![
        (PRIORITY, u64::from(classic.qos.priority)),
        (MAX_AGGREGATE_TRAFFIC_RATE, rate(plan.limits.sustained)),
        (MAX_TRAFFIC_BURST, plan.limits.burst.min(NO_LIMIT)),
        (PEAK_TRAFFIC_RATE, rate(plan.limits.peak)),
        (LOW_LATENCY_ASF, truth(true)),
        (AQM_COUPLING_FACTOR, u64::from(plan.coupling_tenths)),
        (SCHEDULING_WEIGHT, u64::from(plan.weight)),
        (QP_ENABLE, enabled),
    ];
    if let Some(protection) = protection {
        // Without a threshold of its own, queue protection has that of the ramp.
        let threshold = (protection.latency_threshold).unwrap_or_else(|| plan.thresholds()[1]);
        settings.extend([
            (QP_LATENCY_THRESHOLD, micros(threshold)),
            (
                QP_QUEUING_SCORE_THRESHOLD,
                micros(protection.score_threshold),
            ),
            (QP_DRAIN_RATE_EXPONENT, u64::from(protection.drain_exponent)),
        ]);
    }
    settings
}

/// A rate as the MIB has it in 32 bits: zero if it does not fit.
fn narrow(rate: u64) -> u64 {
    u32::try_from(rate).map_or(0, u64::from)
}

fn rates(flow: &FlowPlan) -> [Setting; 8] {
    use parameter_set::{
        HC_MAX_TRAFFIC_RATE, HC_MIN_RESERVED_RATE, HC_PEAK_TRAFFIC_RATE, MAX_TRAFFIC_BURST,
        MAX_TRAFFIC_RATE, MIN_RESERVED_RATE, PEAK_TRAFFIC_RATE, PRIORITY,
    };
    let limits = &flow.limits;
    let rate = |rate: Option<Rate>| rate.map_or(0, |rate| rate.0);
    let [sustained, peak] = [limits.sustained, limits.peak].map(rate);
    let reserved = flow.qos.minimum_reserved.0;
    // Service flows with grants of a fixed size have no burst.
    let has_burst = !matches!(flow.qos.scheduling, Scheduling::Ugs(_));
    let burst = if has_burst { limits.burst } else { 0 };
    [
        (PRIORITY, u64::from(flow.qos.priority)),
        (MAX_TRAFFIC_RATE, narrow(sustained)),
        (HC_MAX_TRAFFIC_RATE, sustained),
        (MAX_TRAFFIC_BURST, burst.min(NO_LIMIT)),
        (MIN_RESERVED_RATE, narrow(reserved)),
        (HC_MIN_RESERVED_RATE, reserved),
        (PEAK_TRAFFIC_RATE, narrow(peak)),
        (HC_PEAK_TRAFFIC_RATE, peak),
    ]
}

/// The scheduling type with the parameters that it has, and the request policy.
fn scheduling(flow: &FlowPlan, direction: OneWay) -> Vec<Setting> {
    use parameter_set::{
        GRANTS_PER_INTERVAL, GUARANTEED_GRANT_INTERVAL, GUARANTEED_GRANT_RATE, NOM_GRANT_INTERVAL,
        NOM_POLL_INTERVAL, REQUEST_POLICY, SCHEDULING_TYPE, TOL_GRANT_JITTER, TOL_POLL_JITTER,
        UNSOLICIT_GRANT_SIZE,
    };
    let (kind, own) = match &flow.qos.scheduling {
        _ if direction == OneWay::Down => (1, vec![]),
        Scheduling::BestEffort => (2, vec![]),
        Scheduling::NrtPs(polls) | Scheduling::RtPs(polls) => (
            if matches!(flow.qos.scheduling, Scheduling::NrtPs(_)) {
                3
            } else {
                4
            },
            vec![
                (NOM_POLL_INTERVAL, micros(polls.interval)),
                (TOL_POLL_JITTER, micros(polls.jitter)),
            ],
        ),
        Scheduling::Ugs(grants) => (
            6,
            vec![
                (UNSOLICIT_GRANT_SIZE, grants.size.0),
                (NOM_GRANT_INTERVAL, micros(grants.interval)),
                (TOL_GRANT_JITTER, micros(grants.jitter)),
                (GRANTS_PER_INTERVAL, u64::from(grants.grants)),
            ],
        ),
        Scheduling::Pgs(grants) => (
            7,
            vec![
                // Zero: the CMTS chooses.
                (GUARANTEED_GRANT_INTERVAL, grants.interval.map_or(0, micros)),
                (GUARANTEED_GRANT_RATE, grants.rate.0),
            ],
        ),
    };
    let mut settings = vec![(SCHEDULING_TYPE, kind)];
    settings.extend(own);
    settings.push((REQUEST_POLICY, u64::from(flow.qos.policy.bits())));
    settings
}

/// The configured sizes of the buffer.
fn buffer(flow: &FlowPlan) -> [Setting; 3] {
    use parameter_set::{MAXIMUM_BUFFER, MINIMUM_BUFFER, TARGET_BUFFER};
    let [minimum, target, maximum] = match &flow.queue {
        _ if flow.is_buffer_dropped => [0, 0, NO_LIMIT],
        _ if flow.is_low_latency() => [0, written_size(flow), NO_LIMIT],
        QueueConfig::BufferControl(config) => [
            config.minimum.map_or(0, |bytes| size(bytes.0)),
            config.target.map_or(0, |bytes| size(bytes.0)),
            config.maximum.map_or(NO_LIMIT, |bytes| size(bytes.0)),
        ],
        queue => match queue.written_limit() {
            Some(Limit::Bytes(bytes)) => [0, size(bytes.0), NO_LIMIT],
            _ => [0, 0, NO_LIMIT],
        },
    };
    [
        (MINIMUM_BUFFER, minimum),
        (TARGET_BUFFER, target),
        (MAXIMUM_BUFFER, maximum),
    ]
}

/// The configured size of a low-latency queue, in bytes. Zero: the device decides.
fn written_size(flow: &FlowPlan) -> u64 {
    let member = flow.aggregate.as_ref();
    match member.and_then(|member| member.aggregate.written.limit) {
        Some(Limit::Bytes(bytes)) => size(bytes.0),
        _ => 0,
    }
}

/// The configured settings of AQM, and the algorithm that runs.
fn aqm(flow: &FlowPlan) -> Vec<Setting> {
    use parameter_set::{
        AQM_ALG_IN_USE, AQM_DISABLED, AQM_LATENCY_TARGET, IMMED_AQM_MAX_THRESHOLD,
        IMMED_AQM_RANGE_EXPONENT,
    };
    let is_running = match flow.queue.governor() {
        Governor::Law => true,
        Governor::ChosenLaw(_) => flow.queue != flow.queue.without_aqm(flow.rate),
        Governor::Bound(_) | Governor::Nothing => false,
    };
    let algorithm = match &flow.queue {
        _ if !is_running => 1,
        QueueConfig::DocsisPie(_) => 3,
        QueueConfig::ImmediateAqm(_) => 4,
        _ => 2,
    };
    let mut settings = vec![(AQM_DISABLED, truth(!is_running))];
    // The target stays configured where AQM is disabled.
    let written = flow.settings.queue.value.as_ref();
    if let Some(target) = written.and_then(|queue| latency_target(&queue.0)) {
        let millis = millis(target).clamp(1, LARGEST_TARGET);
        settings.push((AQM_LATENCY_TARGET, millis));
    }
    settings.push((AQM_ALG_IN_USE, algorithm));
    if let (QueueConfig::ImmediateAqm(config), Some(member)) = (&flow.queue, &flow.aggregate) {
        let [_, maximum] = member.aggregate.thresholds();
        let exponent = u64::from(config.range_exponent);
        settings.push((IMMED_AQM_MAX_THRESHOLD, micros(maximum)));
        settings.push((IMMED_AQM_RANGE_EXPONENT, exponent));
    }
    settings
}

/// The latency target of a control law that has one.
fn latency_target(queue: &QueueConfig) -> Option<Duration> {
    match queue {
        QueueConfig::DocsisPie(config) => Some(config.target),
        QueueConfig::Pie(config) => Some(config.target),
        QueueConfig::Codel(config) => Some(config.target),
        QueueConfig::CodelDt(config) => Some(config.target),
        QueueConfig::CodelDtNs2(config) => Some(config.target),
        QueueConfig::Cobalt(config) => Some(config.target),
        _ => None,
    }
}

/// Bytes of a buffer, in the 32 bits of the MIB.
fn size(bytes: u64) -> u64 {
    bytes.min(NO_LIMIT)
}

/// Whole milliseconds, rounded, in the 32 bits of the MIB.
fn millis(span: Duration) -> u64 {
    (span.as_nanos().saturating_add(500_000) / 1_000_000).min(NO_LIMIT)
}

/// Whole microseconds, rounded, in the 32 bits of the MIB.
fn micros(span: Duration) -> u64 {
    (span.as_nanos().saturating_add(500) / 1000).min(NO_LIMIT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_rounded_to_the_units_of_the_mib() {
        assert_eq!(millis(Duration::from_micros(10_499)), 10);
        assert_eq!(millis(Duration::from_micros(10_500)), 11);
        assert_eq!(micros(Duration::from_nanos(1500)), 2);
    }
}
