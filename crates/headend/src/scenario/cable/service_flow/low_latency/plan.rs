//! The low-latency service flow of an aggregate, and the packets that it takes by default.

use super::aggregate::{
    AggregatePlan, Membership, Role, flow_name, nominal, own_limits, refuse_unsolicited,
};
use crate::aqm::drop_tail;
use crate::link::docsis::classifier::{IPV4, IPV6};
use crate::link::docsis::qos::Qos;
use crate::qdisc::{AckAcceleration, QueueConfig};
use crate::rng::Rng;
use crate::scenario::cable::classifier::{Classifier, RulePlan, TypeOfService, rule_plans};
use crate::scenario::cable::service_flow::channel::Channel;
use crate::scenario::cable::service_flow::plan::{self, FlowPlan};
use crate::scenario::cable::service_flow::{Keys, OneWay, Settings};
use crate::scenario::error::ScenarioError;
use crate::scenario::header_fields::EtherType;
use crate::scenario::span::Span;

/// The low-latency flow that belongs to a classic flow, if that is part of an aggregate.
pub(in crate::scenario::cable) fn low_latency_plan(
    classic: &FlowPlan,
    channel: Channel<'_>,
) -> Result<Option<FlowPlan>, ScenarioError> {
    let Some(Membership { aggregate, .. }) = &classic.aggregate else {
        return Ok(None);
    };
    let path = aggregate.path.as_str();
    let settings = settings(aggregate);
    refuse_unsolicited(&settings.scheduling, channel.direction)?;
    if channel.direction == OneWay::Down
        && let Some((_, path)) = settings.request_policy.given()
    {
        let why = "request policies are for the upstream: a downstream flow is given its packets";
        return Err(ScenarioError::invalid(path, why));
    }
    let qos = Qos {
        priority: classic.qos.priority,
        ..plan::qos(&settings, channel, aggregate.low_rate)?
    };
    let rate = nominal(aggregate.low_rate, aggregate.limits.sustained, channel);
    let is_aqm_disabled = aggregate.written.aqm_disabled || channel.is_aqm_disabled;
    let queue = if is_aqm_disabled {
        let limit = aggregate.queue.limit.expect("the plan has written it out");
        QueueConfig::DropTail(drop_tail::Config { limit })
    } else {
        QueueConfig::ImmediateAqm(aggregate.queue.clone())
    };
    (queue.check(rate, Rng::for_path(0, path))).map_err(|why| ScenarioError::invalid(path, why))?;
    Ok(Some(FlowPlan {
        name: flow_name(channel.direction).to_owned(),
        limits: own_limits(aggregate.low_rate),
        rate,
        qos,
        dequeue_at: classic.dequeue_at,
        queue,
        ack_acceleration: AckAcceleration::Off,
        latency_histogram: plan::latency_histogram(&settings)?,
        exists_at_start: true,
        is_buffer_dropped: channel.default_buffer.is_some(),
        is_modem_aqm_disabled: channel.is_aqm_disabled,
        rules: rules(aggregate)?,
        aggregate: Some(Membership {
            role: Role::LowLatency,
            aggregate: aggregate.clone(),
        }),
        settings,
    }))
}

/// The keys of the low-latency flow as settings of a service flow.
fn settings(aggregate: &AggregatePlan) -> Settings {
    let written = &aggregate.written;
    let keys = Keys {
        rate: written.rate,
        scheduling: written.scheduling.clone(),
        request_policy: written.request_policy,
        aqm_disabled: Some(written.aqm_disabled),
        latency_histogram: written.latency_histogram.clone(),
        ..Keys::default()
    };
    let mut settings = Settings::new(&aggregate.path, keys);
    // What its queue is stands in the same table.
    settings.queue.path.clone_from(&aggregate.path);
    settings
}

/// The classifiers of the low-latency flow.
fn rules(aggregate: &AggregatePlan) -> Result<Vec<RulePlan>, ScenarioError> {
    let written = &aggregate.written.classifiers;
    if !written.is_empty() {
        return rule_plans(&aggregate.path, written);
    }
    let dscp = |dscp: u8| Classifier {
        dscp: Some(Span::of(dscp)),
        ..Classifier::default()
    };
    let is_l4s = Classifier {
        tos: Some(L4S),
        ..Classifier::default()
    };
    let rules = [is_l4s, dscp(NQB), dscp(EF)].into_iter().enumerate();
    let rule = |(index, classifier)| RulePlan {
        path: format!("{}.match[{index}]", aggregate.path),
        classifier,
        is_default: true,
    };
    Ok(rules.map(rule).collect())
}

/// Whether a classifier is one of the default ones as a modem's file has them: a range of the
/// type-of-service byte, in one IP version. A scenario rarely has packets for all of them.
pub(in crate::scenario::cable) fn is_default_of_file(rule: &RulePlan) -> bool {
    let Classifier {
        tos: Some(tos),
        ethertype: Some(EtherType(IPV4 | IPV6)),
        ..
    } = &rule.classifier
    else {
        return false;
    };
    let of_dscp = |dscp: u8| TypeOfService {
        low: dscp << 2,
        high: dscp << 2,
        mask: 0xfc,
    };
    let has_no_more = Classifier {
        tos: Some(tos.clone()),
        ethertype: rule.classifier.ethertype,
        priority: rule.classifier.priority,
        ..Classifier::default()
    } == rule.classifier;
    let is_default = [L4S, of_dscp(NQB), of_dscp(EF)].contains(tos);
    rule.path.contains(".low_latency.match") && has_no_more && is_default
}

/// ECT(1) and CE: the lower bit of the ECN field.
const L4S: TypeOfService = TypeOfService {
    low: 1,
    high: 1,
    mask: 1,
};
/// DSCP of non-queue-building traffic (RFC 9956).
const NQB: u8 = 45;
/// DSCP of expedited forwarding (RFC 3246).
const EF: u8 = 46;
