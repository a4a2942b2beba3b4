//! Service flows: what modem, class and line say of one, put together and checked.

use super::links::{check_rate, check_room, plan_queue};
use crate::aqm::docsis_pie;
use crate::link::docsis::preset::{Feature, Preset};
use crate::link::docsis::qos::{ProactiveGrants, Qos, Scheduling};
use crate::link::docsis::service_flow::DequeueAt;
use crate::link::docsis::timing::UpstreamTiming;
use crate::link::docsis::token_bucket::{Limits, PEAK_BURST};
use crate::named::Named;
use crate::qdisc::{AckAcceleration, QueueConfig};
use crate::queue::Framing;
use crate::scenario::cable::{
    Classifier, DEFAULT_BURST, Downstream, OneWay, OwnDownstream, OwnUpstream, ServiceFlow,
    Upstream,
};
use crate::scenario::error::ScenarioError;
use crate::scenario::raw::Queue;
use crate::time::Duration;
use crate::units::{ByteCount, Limit, Rate};

/// A service flow of a modem, ready to be built.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::scenario) struct FlowPlan {
    /// `up`, `down`, or a name of its own.
    pub(in crate::scenario) name: String,
    /// Where it is written: the innermost place.
    pub(in crate::scenario) path: String,
    /// Where its sustained rate is written.
    pub(in crate::scenario) rate_path: String,
    /// Where its queue is written.
    pub(in crate::scenario) queue_path: String,
    /// Where its scheduling type is written.
    pub(in crate::scenario) scheduling_path: String,
    /// Where its request policy is written.
    pub(in crate::scenario) policy_path: String,
    pub(in crate::scenario) limits: Limits,
    /// Nominal rate: the sustained one, or the channel's where that is less.
    pub(in crate::scenario) rate: Rate,
    pub(in crate::scenario) qos: Qos,
    pub(in crate::scenario) dequeue_at: DequeueAt,
    pub(in crate::scenario) ack_acceleration: AckAcceleration,
    pub(in crate::scenario) queue: QueueConfig,
    /// It is there from the start; else a change creates it.
    pub(in crate::scenario) exists_at_start: bool,
    /// What the places of the scenario say of it, for changes to add to.
    pub(super) layers: Layers,
    /// AQM is disabled on all of the modem's service flows in its direction.
    pub(super) is_modem_aqm_disabled: bool,
    /// Which packets it takes; the flow for what no other claims has none.
    pub(in crate::scenario) rules: Vec<RulePlan>,
}

/// A classifier, and where it is written.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::scenario) struct RulePlan {
    pub(in crate::scenario) path: String,
    pub(in crate::scenario) classifier: Classifier,
}

/// The channel that a service flow is to have a part of.
#[derive(Debug, Clone, Copy)]
pub(super) struct Channel<'a> {
    pub(super) direction: OneWay,
    pub(super) preset: Preset,
    /// What it has to give.
    pub(super) rate: Rate,
    pub(super) timing: &'a UpstreamTiming,
    /// AQM is disabled on all of the modem's service flows in this direction.
    pub(super) is_aqm_disabled: bool,
    /// What modems' buffers are if the CMTS drops what is written of them.
    pub(super) default_buffer: Option<DefaultBuffer<'a>>,
}

/// The buffer that a line's modems have by default.
#[derive(Debug, Clone, Copy)]
pub(super) struct DefaultBuffer<'a> {
    pub(super) size: Limit,
    /// The path of the line.
    pub(super) line: &'a str,
}

/// What the places of a scenario say of a service flow, the innermost first.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Layers(pub(super) Vec<Layer>);

/// What one place says of it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Layer {
    pub(super) path: String,
    pub(super) own: OwnUpstream,
}

impl Layers {
    /// The service flow called `name`, checked.
    pub(super) fn plan(&self, name: &str, channel: Channel<'_>) -> Result<FlowPlan, ScenarioError> {
        let limits = self.limits()?;
        let qos = self.qos(channel, limits.sustained)?;
        let wanted = limits.sustained.or_else(|| fixed_rate(&qos.scheduling));
        let rate = wanted.map_or(channel.rate, |wanted| wanted.min(channel.rate));
        let (queue, path) = self
            .find("queue", |own| own.queue.clone())
            .expect("queues that are left out have been written out");
        let mut queue = plan_queue(&path, &queue, rate, Framing::ETHERNET)?.clone();
        if let Some(DefaultBuffer { size, line }) = channel.default_buffer {
            let path = format!("{line}.buffer_settings.default_buffer");
            check_room(&path, size, rate, Framing::ETHERNET)?;
            queue = queue.with_buffer(size);
        }
        let is_disabled = self.value(|own| own.aqm_disabled).unwrap_or_default();
        if is_disabled || channel.is_aqm_disabled {
            queue = queue.without_aqm();
        }
        Ok(FlowPlan {
            queue_path: path,
            name: name.to_owned(),
            path: self.0[0].path.clone(),
            rate_path: self.path_of("rate", |own| own.rate.is_some()),
            scheduling_path: self.path_of("scheduling", |own| own.scheduling.is_some()),
            policy_path: self.policy_path(),
            limits,
            rate,
            qos,
            dequeue_at: self.value(|own| own.dequeue_at).unwrap_or_default(),
            ack_acceleration: self.ack_acceleration(channel)?,
            queue,
            exists_at_start: true,
            layers: self.clone(),
            is_modem_aqm_disabled: channel.is_aqm_disabled,
            rules: Vec::new(),
        })
    }

    /// Token buckets.
    fn limits(&self) -> Result<Limits, ScenarioError> {
        let rate = self.find("rate", |own| own.rate);
        let peak = self.find("peak", |own| own.peak);
        for (rate, path) in [&rate, &peak].into_iter().flatten() {
            if rate.0 == 0 {
                let why = "a service flow at rate 0 carries nothing";
                return Err(ScenarioError::invalid(path, why));
            }
            check_rate(path, *rate)?;
        }
        if let (Some((rate, _)), Some((peak, path))) = (&rate, &peak)
            && peak < rate
        {
            let why = format!("a peak rate of {peak} is below the sustained rate of {rate}");
            return Err(ScenarioError::invalid(path, why));
        }
        let burst = self.burst("burst", |own| own.burst)?;
        let peak_burst = self.burst("peak_burst", |own| own.peak_burst)?;
        Ok(Limits {
            sustained: rate.map(|(rate, _)| rate),
            burst: burst.unwrap_or(DEFAULT_BURST).0,
            peak: peak.map(|(peak, _)| peak),
            peak_burst: peak_burst.map_or(PEAK_BURST, |burst| burst.0),
        })
    }

    fn burst(
        &self,
        key: &str,
        get: impl Fn(&OwnUpstream) -> Option<ByteCount>,
    ) -> Result<Option<ByteCount>, ScenarioError> {
        match self.find(key, get) {
            Some((burst, path)) => check_burst(&path, burst).map(|()| Some(burst)),
            None => Ok(None),
        }
    }

    /// How the CMTS is to treat it.
    fn qos(&self, channel: Channel<'_>, sustained: Option<Rate>) -> Result<Qos, ScenarioError> {
        let priority = self.find("priority", |own| own.priority);
        if let Some((priority, path)) = &priority {
            check_priority(path, *priority)?;
            require(*priority > 0, path, Feature::Scheduling, channel)?;
        }
        let reserved = self.find("minimum_reserved", |own| own.minimum_reserved);
        if let Some((reserved, path)) = &reserved {
            check_reserved(path, *reserved, sustained)?;
            require(reserved.0 > 0, path, Feature::Scheduling, channel)?;
        }
        let scheduling = self.find("scheduling", |own| own.scheduling.clone());
        if let Some((Named(scheduling), path)) = &scheduling {
            check_scheduling(path, scheduling, channel)?;
        }
        let qos = Qos {
            priority: priority.map_or(0, |(priority, _)| priority),
            minimum_reserved: reserved.map_or(Rate(0), |(rate, _)| rate),
            scheduling: scheduling.map_or_else(Scheduling::default, |(Named(one), _)| one),
            policy: self.value(|own| own.request_policy).unwrap_or_default(),
        };
        self.check_policy(&qos, channel.direction)?;
        Ok(qos)
    }

    /// A flow that is given nothing has to be free to ask.
    fn check_policy(&self, qos: &Qos, direction: OneWay) -> Result<(), ScenarioError> {
        let only_contends = qos.scheduling == Scheduling::BestEffort;
        if direction == OneWay::Down || !only_contends || !qos.policy.no_contention {
            return Ok(());
        }
        let why = "a best_effort service flow asks in contention, and could never send: expected false, or a scheduling type with polls or grants";
        let path = format!("{}.no_contention", self.policy_path());
        Err(ScenarioError::invalid(path, why))
    }

    /// What becomes of TCP acknowledgements: a modem has only those it sends in its hands.
    fn ack_acceleration(&self, channel: Channel<'_>) -> Result<AckAcceleration, ScenarioError> {
        let Some((mode, path)) = self.find("ack_acceleration", |own| own.ack_acceleration) else {
            return Ok(AckAcceleration::Off);
        };
        if mode != AckAcceleration::Off && channel.direction == OneWay::Down {
            let why = "modems accelerate acknowledgements they send: expected \"off\" for a downstream service flow";
            return Err(ScenarioError::invalid(path, why));
        }
        Ok(mode)
    }

    /// The innermost value of a key, and its path.
    fn find<T>(&self, key: &str, get: impl Fn(&OwnUpstream) -> Option<T>) -> Option<(T, String)> {
        let found = |layer: &Layer| Some((get(&layer.own)?, format!("{}.{key}", layer.path)));
        self.0.iter().find_map(found)
    }

    fn value<T>(&self, get: impl Fn(&OwnUpstream) -> Option<T>) -> Option<T> {
        self.0.iter().find_map(|layer| get(&layer.own))
    }

    fn policy_path(&self) -> String {
        self.path_of("request_policy", |own| own.request_policy.is_some())
    }

    /// Where a key is written: the innermost place that has it, or the outermost.
    fn path_of(&self, key: &str, has: impl Fn(&OwnUpstream) -> bool) -> String {
        let writer = self.0.iter().find(|layer| has(&layer.own));
        let layer = writer.unwrap_or(&self.0[self.0.len() - 1]);
        format!("{}.{key}", layer.path)
    }
}

/// Traffic priorities have three bits.
fn check_priority(path: &str, priority: u8) -> Result<(), ScenarioError> {
    if priority <= 7 {
        return Ok(());
    }
    let why = format!("expected a traffic priority from 0 to 7, found {priority}");
    Err(ScenarioError::invalid(path, why))
}

/// A bucket shallower than a packet would let none through.
fn check_burst(path: &str, burst: ByteCount) -> Result<(), ScenarioError> {
    if burst.0 >= PEAK_BURST {
        return Ok(());
    }
    let why = format!("expected at least {PEAK_BURST} B, one Ethernet frame, found {burst}");
    Err(ScenarioError::invalid(path, why))
}

fn check_reserved(
    path: &str,
    reserved: Rate,
    sustained: Option<Rate>,
) -> Result<(), ScenarioError> {
    let Some(sustained) = sustained.filter(|sustained| reserved > *sustained) else {
        return check_rate(path, reserved);
    };
    let why =
        format!("a reserved rate of {reserved} is above the maximum sustained rate of {sustained}");
    Err(ScenarioError::invalid(path, why))
}

/// Refuses what the generation does not have, if it is used.
fn require(
    is_used: bool,
    path: &str,
    feature: Feature,
    channel: Channel<'_>,
) -> Result<(), ScenarioError> {
    match channel.preset.require(feature) {
        Err(why) if is_used => Err(ScenarioError::invalid(path, why)),
        _ => Ok(()),
    }
}

/// The shortest time between two grants or polls: the encoding counts microseconds, and a minislot is no shorter than some ten of them.
const SHORTEST_INTERVAL: Duration = Duration::from_micros(100);
/// The longest time between two grants or polls that makes sense.
const LONGEST_INTERVAL: Duration = Duration::from_secs(10);
/// UGS with more grants in an interval than this is a slip: the encoding has seven bits.
const MOST_GRANTS: u8 = 127;

fn check_scheduling(
    path: &str,
    scheduling: &Scheduling,
    channel: Channel<'_>,
) -> Result<(), ScenarioError> {
    let refuse = |key: &str, why: String| {
        let name = scheduling.name();
        Err(ScenarioError::invalid(format!("{path}.{name}.{key}"), why))
    };
    if *scheduling != Scheduling::BestEffort && channel.direction == OneWay::Down {
        let why = "scheduling types are for the upstream: a downstream flow is given its packets";
        return Err(ScenarioError::invalid(path, why));
    }
    let feature = match scheduling {
        Scheduling::Pgs(_) => Feature::ProactiveGrants,
        _ => Feature::Scheduling,
    };
    require(
        *scheduling != Scheduling::BestEffort,
        path,
        feature,
        channel,
    )?;
    let (interval, size) = match scheduling {
        Scheduling::BestEffort => return Ok(()),
        Scheduling::NrtPs(polling) | Scheduling::RtPs(polling) => (polling.interval, None),
        Scheduling::Pgs(grants) => {
            if grants.rate.0 == 0 {
                let why =
                    "expected a rate above zero, found 0 bit/s; without one it is best_effort";
                return refuse("rate", why.to_owned());
            }
            (grants.interval, None)
        }
        Scheduling::Ugs(grants) => {
            if !(1..=MOST_GRANTS).contains(&grants.grants) {
                let why = format!(
                    "expected 1 to {MOST_GRANTS} grants, found {}",
                    grants.grants
                );
                return refuse("grants", why);
            }
            (grants.interval, Some(grants.size))
        }
    };
    if interval < SHORTEST_INTERVAL || interval > LONGEST_INTERVAL {
        let why = format!("expected {SHORTEST_INTERVAL} to {LONGEST_INTERVAL}, found {interval}");
        return refuse("interval", why);
    }
    match (scheduling, size) {
        (Scheduling::Pgs(grants), _) => {
            check_proactive(&format!("{path}.pgs.rate"), grants, channel.timing)
        }
        (_, Some(size)) => check_grant_size(&format!("{path}.ugs.size"), size, channel.timing),
        _ => Ok(()),
    }
}

/// A proactive grant fits into a MAP's interval.
fn check_proactive(
    path: &str,
    grants: &ProactiveGrants,
    timing: &UpstreamTiming,
) -> Result<(), ScenarioError> {
    let size = grants.rate.bytes_in(grants.interval) + timing.mac_header;
    let most = largest_grant(timing);
    if size <= most {
        return Ok(());
    }
    let why = format!(
        "at this rate a grant every {} is of {size} B, and a MAP has {most} B to grant on a channel: expected a lower rate or a shorter interval",
        grants.interval
    );
    Err(ScenarioError::invalid(path, why))
}

/// Bytes of the largest grant in one piece.
fn largest_grant(timing: &UpstreamTiming) -> u64 {
    timing.room(timing.minislots_per_channel() * timing.longest_map)
}

/// An unsolicited grant carries a packet, and fits into a MAP's interval.
fn check_grant_size(
    path: &str,
    size: ByteCount,
    timing: &UpstreamTiming,
) -> Result<(), ScenarioError> {
    // An empty IP packet is padded to 46 B.
    let least = Framing::ETHERNET.of_size(0) + timing.mac_header;
    let most = largest_grant(timing);
    if (least..=most).contains(&size.0) {
        return Ok(());
    }
    let why = format!(
        "expected from {least} B, the shortest packet with its headers, to what a MAP has to grant on a channel ({most} B), found {size}"
    );
    Err(ScenarioError::invalid(path, why))
}

/// What a service flow gets that does not ask.
pub(super) fn fixed_rate(scheduling: &Scheduling) -> Option<Rate> {
    match scheduling {
        Scheduling::Ugs(grants) => {
            let bits = u128::from(grants.size.0) * 8 * u128::from(grants.grants);
            let nanos = u128::from(grants.interval.as_nanos());
            Some(Rate((bits * 1_000_000_000 / nanos) as u64))
        }
        _ => None,
    }
}

/// The queue of a further flow that names none: what the generation asks of modems, for upstream flows that are as elastic as the first. (The
/// specification has AQM on best-effort and nrtPS flows.)
pub(super) fn default_queue(preset: Preset, flow: &ServiceFlow) -> Queue {
    let is_elastic = matches!(
        flow.scheduling.0,
        Scheduling::BestEffort | Scheduling::NrtPs(_) | Scheduling::Pgs(_)
    );
    if flow.direction == OneWay::Up && is_elastic {
        modem_queue(preset)
    } else {
        Queue::default()
    }
}

/// The queue a generation asks of modems.
pub(super) fn modem_queue(preset: Preset) -> Queue {
    if preset.supports(Feature::ModemAqm) {
        Named(QueueConfig::DocsisPie(docsis_pie::Config::default()))
    } else {
        Queue::default()
    }
}

impl From<&Upstream> for OwnUpstream {
    fn from(line: &Upstream) -> Self {
        Self {
            rate: line.rate,
            peak: line.peak,
            burst: Some(line.burst),
            peak_burst: Some(line.peak_burst),
            minimum_reserved: line.minimum_reserved,
            priority: Some(line.priority),
            scheduling: Some(line.scheduling.clone()),
            request_policy: Some(line.request_policy),
            dequeue_at: Some(line.dequeue_at),
            ack_acceleration: Some(line.ack_acceleration),
            aqm_disabled: Some(line.aqm_disabled),
            queue: line.queue.clone(),
        }
    }
}

impl From<&Downstream> for OwnUpstream {
    fn from(line: &Downstream) -> Self {
        Self {
            rate: line.rate,
            peak: line.peak,
            burst: Some(line.burst),
            peak_burst: Some(line.peak_burst),
            minimum_reserved: line.minimum_reserved,
            priority: Some(line.priority),
            aqm_disabled: Some(line.aqm_disabled),
            queue: Some(line.queue.clone()),
            ..Self::default()
        }
    }
}

impl From<&OwnDownstream> for OwnUpstream {
    fn from(own: &OwnDownstream) -> Self {
        Self {
            rate: own.rate,
            peak: own.peak,
            burst: own.burst,
            peak_burst: own.peak_burst,
            minimum_reserved: own.minimum_reserved,
            priority: own.priority,
            aqm_disabled: own.aqm_disabled,
            queue: own.queue.clone(),
            ..Self::default()
        }
    }
}

impl From<&ServiceFlow> for OwnUpstream {
    fn from(flow: &ServiceFlow) -> Self {
        Self {
            rate: flow.rate,
            peak: flow.peak,
            burst: Some(flow.burst),
            peak_burst: Some(flow.peak_burst),
            minimum_reserved: flow.minimum_reserved,
            priority: Some(flow.priority),
            scheduling: Some(flow.scheduling.clone()),
            request_policy: Some(flow.request_policy),
            dequeue_at: Some(flow.dequeue_at),
            ack_acceleration: Some(flow.ack_acceleration),
            aqm_disabled: Some(flow.aqm_disabled),
            queue: flow.queue.clone(),
        }
    }
}
