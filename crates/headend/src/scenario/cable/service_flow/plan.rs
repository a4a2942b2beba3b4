//! A service flow that makes sense: its settings are checked against each other and its channel.

use super::channel::{Channel, DefaultBuffer};
use super::config::{DEFAULT_BURST, OneWay, ServiceFlow};
use super::keys::Settings;
use super::low_latency::{AggregatePlan, Membership, Role, aggregate_plan, nominal};
use super::scheduling::{check_scheduling, fixed_rate, is_elastic};
use crate::aqm::{docsis_pie, drop_tail};
use crate::link::docsis::grant::DequeueAt;
use crate::link::docsis::preset::{Feature, Preset};
use crate::link::docsis::qos::{Qos, Scheduling};
use crate::link::token_bucket::{Limits, PEAK_BURST};
use crate::metrics::mib::MOST_BINS;
use crate::named::Named;
use crate::qdisc::{AckAcceleration, QueueConfig};
use crate::queue::Framing;
use crate::scenario::cable::classifier::{RulePlan, rule_plans};
use crate::scenario::error::ScenarioError;
use crate::scenario::queue::{Queue, check_room, plan_queue};
use crate::scenario::rate::check_rate;
use crate::time::Duration;
use crate::units::{ByteCount, Limit, Rate};

/// A service flow of a modem, ready to be built.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::scenario) struct FlowPlan {
    /// `up`, `down`, or a name of its own.
    pub(in crate::scenario) name: String,
    /// Its keys as they are written: errors name their paths, and changes overlay them.
    pub(in crate::scenario) settings: Settings,
    /// Its own limits. The limits of an aggregate are in `aggregate`.
    pub(in crate::scenario) limits: Limits,
    /// Nominal rate: the sustained one, or the channel's or the aggregate's where that is less.
    pub(in crate::scenario) rate: Rate,
    pub(in crate::scenario) qos: Qos,
    pub(in crate::scenario) dequeue_at: DequeueAt,
    pub(in crate::scenario) ack_acceleration: AckAcceleration,
    pub(in crate::scenario) queue: QueueConfig,
    /// The upper edges of its latency histogram's bins; empty if it has no histogram.
    pub(in crate::scenario) latency_histogram: Vec<Duration>,
    /// It is there from the start; else a change creates it.
    pub(in crate::scenario) exists_at_start: bool,
    /// AQM is disabled on all of the modem's service flows in its direction.
    pub(in crate::scenario::cable) is_modem_aqm_disabled: bool,
    /// The CMTS drops the configured buffer sizes.
    pub(in crate::scenario::cable) is_buffer_dropped: bool,
    /// Which packets it takes; the flow for what no other claims has none.
    pub(in crate::scenario) rules: Vec<RulePlan>,
    /// Its part in an aggregate with low latency, if it has one.
    pub(in crate::scenario) aggregate: Option<Membership>,
}

/// The service flow called `name`, checked.
pub(in crate::scenario::cable) fn plan(
    name: &str,
    settings: Settings,
    channel: Channel<'_>,
) -> Result<FlowPlan, ScenarioError> {
    let shared = limits(&settings)?;
    let qos = qos(&settings, channel, shared.sustained)?;
    let aggregate = aggregate_plan(&settings, shared, channel)?;
    let limits = (aggregate.as_ref()).map_or(shared, AggregatePlan::classic_limits);
    let wanted = shared.sustained.or_else(|| fixed_rate(&qos.scheduling));
    let rate = nominal(limits.sustained, wanted, channel);
    let is_aqm_disabled = settings.aqm_disabled.value.unwrap_or_default();
    Ok(FlowPlan {
        name: name.to_owned(),
        limits,
        rate,
        qos,
        dequeue_at: settings.dequeue_at.value.unwrap_or_default(),
        queue: queue(&settings, channel, rate, is_aqm_disabled)?,
        ack_acceleration: ack_acceleration(&settings, channel)?,
        latency_histogram: latency_histogram(&settings)?,
        exists_at_start: true,
        is_buffer_dropped: channel.default_buffer.is_some(),
        is_modem_aqm_disabled: channel.is_aqm_disabled,
        rules: Vec::new(),
        aggregate: aggregate.map(|aggregate| Membership {
            role: Role::Classic,
            aggregate,
        }),
        settings,
    })
}

/// A service flow besides those that every modem has, checked.
pub(in crate::scenario::cable) fn plan_further(
    name: &str,
    path: &str,
    flow: &ServiceFlow,
    channel: Channel<'_>,
) -> Result<FlowPlan, ScenarioError> {
    (channel.preset.require(Feature::Classifiers))
        .map_err(|why| ScenarioError::invalid(path, why))?;
    let mut plan = plan(name, Settings::new(path, flow.into()), channel)?;
    if flow.classifiers.is_empty() {
        let why = "a further service flow takes no packet unless it says which: match = {…}";
        return Err(ScenarioError::invalid(path, why));
    }
    plan.rules = rule_plans(path, &flow.classifiers)?;
    Ok(plan)
}

/// Token buckets.
fn limits(settings: &Settings) -> Result<Limits, ScenarioError> {
    let [rate, peak] = [&settings.rate, &settings.peak].map(|setting| setting.given());
    for (&rate, path) in [rate, peak].into_iter().flatten() {
        if rate.0 == 0 {
            let why = "a service flow at rate 0 carries nothing";
            return Err(ScenarioError::invalid(path, why));
        }
        check_rate(path, rate)?;
    }
    if let (Some((rate, _)), Some((peak, path))) = (rate, peak)
        && peak < rate
    {
        let why = format!("a peak rate of {peak} is below the sustained rate of {rate}");
        return Err(ScenarioError::invalid(path, why));
    }
    let bursts = [&settings.burst, &settings.peak_burst].map(|setting| setting.given());
    for (&burst, path) in bursts.into_iter().flatten() {
        check_burst(path, burst)?;
    }
    Ok(Limits {
        sustained: settings.rate.value,
        burst: settings.burst.value.unwrap_or(DEFAULT_BURST).0,
        peak: settings.peak.value,
        peak_burst: settings
            .peak_burst
            .value
            .map_or(PEAK_BURST, |burst| burst.0),
    })
}

/// How the CMTS is to treat it.
pub(super) fn qos(
    settings: &Settings,
    channel: Channel<'_>,
    sustained: Option<Rate>,
) -> Result<Qos, ScenarioError> {
    if let Some((&priority, path)) = settings.priority.given() {
        check_priority(path, priority)?;
        channel.require(priority > 0, path, Feature::Scheduling)?;
    }
    if let Some((&reserved, path)) = settings.minimum_reserved.given() {
        check_reserved(path, reserved, sustained)?;
        channel.require(reserved.0 > 0, path, Feature::Scheduling)?;
    }
    if let Some((Named(scheduling), path)) = settings.scheduling.given() {
        check_scheduling(path, scheduling, channel)?;
    }
    let scheduling = settings.scheduling.value.clone();
    let qos = Qos {
        priority: settings.priority.value.unwrap_or(0),
        minimum_reserved: settings.minimum_reserved.value.unwrap_or(Rate(0)),
        scheduling: scheduling.map_or_else(Scheduling::default, |Named(one)| one),
        policy: settings.request_policy.value.unwrap_or_default(),
    };
    check_policy(&settings.request_policy.path, &qos, channel.direction)?;
    Ok(qos)
}

/// A service flow that only contends must be allowed to.
fn check_policy(path: &str, qos: &Qos, direction: OneWay) -> Result<(), ScenarioError> {
    let only_contends = qos.scheduling == Scheduling::BestEffort;
    if direction == OneWay::Down || !only_contends || !qos.policy.no_contention {
        return Ok(());
    }
    let why = "a best_effort service flow asks in contention, and could never send: expected \
               false, or a scheduling type with polls or grants";
    Err(ScenarioError::invalid(format!("{path}.no_contention"), why))
}

/// The queue, as the modem or the CMTS runs it.
fn queue(
    settings: &Settings,
    channel: Channel<'_>,
    rate: Rate,
    is_aqm_disabled: bool,
) -> Result<QueueConfig, ScenarioError> {
    let (written, path) =
        (settings.queue.given()).expect("queues that are left out have been written out");
    let mut queue = plan_queue(path, written, rate, Framing::ETHERNET)?.clone();
    if channel.direction == OneWay::Up {
        refuse_shaper(path, &queue)?;
    }
    if let Some(DefaultBuffer { size, line }) = channel.default_buffer {
        let path = format!("{line}.buffer_settings.default_buffer");
        check_room(&path, size, rate, Framing::ETHERNET)?;
        queue = queue.with_buffer(size);
    }
    if is_aqm_disabled || channel.is_aqm_disabled {
        queue = queue.without_aqm(rate);
    }
    Ok(queue)
}

/// Refuses a queue that holds its packets back in a modem, which requests all that waits in it: the
/// grants would stay unused.
fn refuse_shaper(path: &str, queue: &QueueConfig) -> Result<(), ScenarioError> {
    match queue {
        QueueConfig::Cake(cake) if cake.rate.limit().is_some() => {
            let why = "a modem requests grants for all that waits in its queue, and the grants \
                       for what a shaper holds back would stay unused: expected \"unlimited\", \
                       or cake with a rate on a point_to_point link before the modem";
            Err(ScenarioError::invalid(format!("{path}.cake.rate"), why))
        }
        _ => Ok(()),
    }
}

/// The upper edges of the latency histogram's bins.
pub(super) fn latency_histogram(settings: &Settings) -> Result<Vec<Duration>, ScenarioError> {
    let Some((edges, path)) = settings.latency_histogram.given() else {
        return Ok(Vec::new());
    };
    let refuse = |why| Err(ScenarioError::invalid(path, why));
    let most = MOST_BINS - 1;
    // Without edges there is none, where a place further out has one.
    if edges.len() > most {
        let found = edges.len();
        return refuse(format!("expected 1 to {most} upper edges, found {found}"));
    }
    let is_coded = |edge: &Duration| {
        let (nanos, unit) = (edge.as_nanos(), EDGE_UNIT.as_nanos());
        nanos.is_multiple_of(unit) && (1..=u64::from(u16::MAX)).contains(&(nanos / unit))
    };
    if let Some(edge) = edges.iter().find(|edge| !is_coded(edge)) {
        let most = EDGE_UNIT * u64::from(u16::MAX);
        return refuse(format!(
            "expected multiples of {EDGE_UNIT} from {EDGE_UNIT} to {most}, found {edge}"
        ));
    }
    if let Some(pair) = edges.windows(2).find(|pair| pair[0] >= pair[1]) {
        let [before, after] = [pair[0], pair[1]];
        return refuse(format!(
            "expected ascending upper edges, found {after} after {before}"
        ));
    }
    Ok(edges.clone())
}

/// The unit of an edge in the configuration file (TLV 24.40.6), where it has 16 bits.
const EDGE_UNIT: Duration = Duration::from_micros(10);

/// What becomes of TCP acknowledgements: a modem has only those that it sends.
fn ack_acceleration(
    settings: &Settings,
    channel: Channel<'_>,
) -> Result<AckAcceleration, ScenarioError> {
    let Some((&mode, path)) = settings.ack_acceleration.given() else {
        return Ok(AckAcceleration::Off);
    };
    if mode != AckAcceleration::Off && channel.direction == OneWay::Down {
        let why = "modems accelerate acknowledgements they send: expected \"off\" for a downstream \
                   service flow";
        return Err(ScenarioError::invalid(path, why));
    }
    Ok(mode)
}

impl FlowPlan {
    /// Whether it is the low-latency flow of an aggregate.
    pub(in crate::scenario) fn is_low_latency(&self) -> bool {
        (self.aggregate.as_ref()).is_some_and(|member| member.role == Role::LowLatency)
    }

    /// The aggregate of which it is the classic flow.
    pub(in crate::scenario) fn aggregate_as_classic(&self) -> Option<&AggregatePlan> {
        let member = self.aggregate.as_ref()?;
        (member.role == Role::Classic).then_some(&member.aggregate)
    }

    /// The limits that its `rate`, `peak` and `burst` are: those of the aggregate, if it is the
    /// classic flow of one.
    pub(in crate::scenario) fn limits_with_aggregate(&self) -> Limits {
        (self.aggregate_as_classic()).map_or(self.limits, |aggregate| aggregate.limits)
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

/// The default queue of a further service flow: that of the generation's modems, for upstream flows
/// that are as elastic as the primary one.
pub(in crate::scenario) fn default_queue(preset: Preset, flow: &ServiceFlow) -> Queue {
    if is_elastic(flow.direction, &flow.scheduling.0) {
        modem_queue(preset)
    } else {
        Queue::default()
    }
}

/// The default buffer of a classic flow, at its rate (MULPI C.1.2.17 and Annex O).
pub(in crate::scenario::cable) const CLASSIC_BUFFER: Duration = Duration::from_millis(100);

/// The default queue of the classic flow of an aggregate: DOCSIS-PIE, to which the low-latency
/// queue is coupled, with a buffer of 100 ms at the rate of the flow (MULPI Annex O).
pub(in crate::scenario) fn classic_queue() -> Queue {
    Named(QueueConfig::DocsisPie(docsis_pie::Config {
        limit: Limit::Time(CLASSIC_BUFFER),
        ..docsis_pie::Config::default()
    }))
}

/// The default queue of a generation's modems.
pub(in crate::scenario) fn modem_queue(preset: Preset) -> Queue {
    if preset.supports(Feature::ModemAqm) {
        Named(QueueConfig::DocsisPie(docsis_pie::Config::default()))
    } else {
        let limit = modem_buffer(preset);
        Named(QueueConfig::DropTail(drop_tail::Config { limit }))
    }
}

/// The buffer of a modem whose configuration has none: the AQM paper's §9 has a time, Buffer
/// Control's §5.2.2 sizes that do not depend on the rate.
pub(in crate::scenario::cable) fn modem_buffer(preset: Preset) -> Limit {
    if preset.supports(Feature::ModemAqm) {
        Limit::Time(Duration::from_millis(250))
    } else {
        Limit::Bytes(ByteCount(256 * 1024))
    }
}
