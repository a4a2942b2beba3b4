//! An aggregate of a classic and a low-latency service flow that makes sense: its shared limits and
//! parameters.

use super::config::{
    LowLatency, LowLatencyTable, Preset, ProtectionTable, QueueProtection, Switch,
};
use crate::link::docsis::low_latency::Rates;
use crate::link::docsis::preset::Feature;
use crate::link::docsis::qos::Scheduling;
use crate::link::token_bucket::{Limits, PEAK_BURST};
use crate::named::{Named, OrTable};
use crate::qdisc::immediate_aqm::{
    self, Estimator, HIGHEST, LARGEST_FRAME, MOST_RANGE, Protection,
};
use crate::queue::{BacklogLimit, Limited};
use crate::scenario::cable::service_flow::channel::Channel;
use crate::scenario::cable::service_flow::scheduling::is_elastic;
use crate::scenario::cable::service_flow::{DEFAULT_BURST, OneWay, Setting, Settings};
use crate::scenario::error::ScenarioError;
use crate::scenario::rate::check_rate;
use crate::time::Duration;
use crate::units::{Limit, MaximumRate, Rate};

/// An aggregate of a classic and a low-latency service flow.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::scenario) struct AggregatePlan {
    /// Where `low_latency` is written.
    pub(in crate::scenario) path: String,
    /// What is written there; an empty table for `"on"`.
    pub(in crate::scenario) written: LowLatencyTable,
    /// The limits that both flows share.
    pub(in crate::scenario) limits: Limits,
    /// The limit of the classic flow alone.
    pub(in crate::scenario) classic_rate: Option<Rate>,
    /// The limit of the low-latency flow alone.
    pub(in crate::scenario) low_rate: Option<Rate>,
    /// Scheduling weight of the low-latency flow, in 256ths.
    pub(in crate::scenario) weight: u8,
    /// Coupling factor in tenths.
    pub(in crate::scenario) coupling_tenths: u8,
    /// Configuration of the low-latency queue and of queue protection. The size is always there.
    /// While AQM is disabled, the queue has only the size.
    pub(in crate::scenario) queue: immediate_aqm::Config,
}

/// A service flow's part in an aggregate.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::scenario) struct Membership {
    pub(in crate::scenario) role: Role,
    pub(in crate::scenario) aggregate: AggregatePlan,
}

/// Which of the two service flows of an aggregate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::scenario) enum Role {
    Classic,
    LowLatency,
}

const MOST_DRAIN_EXPONENT: i64 = 30;

impl AggregatePlan {
    /// Coupling factor k.
    pub(in crate::scenario) fn coupling(&self) -> f64 {
        f64::from(self.coupling_tenths) / 10.0
    }

    /// The rate by which the low-latency queue estimates its delay (`MAX_RATE`). Zero: there is
    /// none.
    pub(super) fn max_rate(&self) -> Rate {
        let rate = |rate: Option<Rate>| rate.unwrap_or(Rate(0));
        let rates = Rates {
            aggregate: rate(self.limits.sustained),
            classic: rate(self.classic_rate),
            low: rate(self.low_rate),
        };
        rates.of_low()
    }

    /// The two ends of the ramp at this rate (MINTH and MAXTH of Annex N).
    pub(in crate::scenario::cable) fn thresholds(&self) -> [Duration; 2] {
        self.queue.thresholds(self.max_rate())
    }

    /// The limits of the classic flow alone.
    pub(in crate::scenario::cable::service_flow) fn classic_limits(&self) -> Limits {
        own_limits(self.classic_rate)
    }
}

/// Limits of one flow of an aggregate, besides those of the aggregate.
pub(super) fn own_limits(rate: Option<Rate>) -> Limits {
    Limits {
        sustained: rate,
        burst: DEFAULT_BURST.0,
        peak: None,
        peak_burst: PEAK_BURST,
    }
}

/// The name of the low-latency flow of a direction.
pub(in crate::scenario::cable::service_flow) fn flow_name(direction: OneWay) -> &'static str {
    match direction {
        OneWay::Up => "up_low_latency",
        OneWay::Down => "down_low_latency",
    }
}

/// Whether a service flow that is written cannot have this name.
pub(in crate::scenario::cable) fn is_reserved_name(name: &str) -> bool {
    [OneWay::Up, OneWay::Down]
        .into_iter()
        .any(|direction| flow_name(direction) == name)
}

/// The aggregate that these settings make of a primary service flow, if they do.
pub(in crate::scenario::cable::service_flow) fn aggregate_plan(
    settings: &Settings,
    limits: Limits,
    channel: Channel<'_>,
) -> Result<Option<AggregatePlan>, ScenarioError> {
    let Some((low_latency, path)) = settings.low_latency.given() else {
        return Ok(None);
    };
    let Some(written) = table(low_latency) else {
        return Ok(None);
    };
    channel.require(true, path, Feature::LowLatency)?;
    refuse_unsolicited(&settings.scheduling, channel.direction)?;
    let rate = |key: &str, rate: Option<MaximumRate>| own_rate(path, key, rate, settings);
    let (low_rate, classic_rate) = (
        rate("rate", written.rate)?,
        rate("classic_rate", written.classic_rate)?,
    );
    check_proactive(path, &written, low_rate.or(limits.sustained))?;
    let mut plan = AggregatePlan {
        path: path.to_owned(),
        limits,
        classic_rate,
        low_rate,
        weight: weight(path, &written)?,
        coupling_tenths: coupling(path, &written)?,
        queue: queue(path, &written, channel.direction)?,
        written,
    };
    plan.queue.limit = Some(limit(&plan, channel)?);
    Ok(Some(plan))
}

/// The table that a value stands for; none for "off".
fn table(low_latency: &LowLatency) -> Option<LowLatencyTable> {
    match low_latency {
        OrTable::Plain(Switch::Off) => None,
        OrTable::Plain(Switch::On) => Some(LowLatencyTable::default()),
        OrTable::Plain(Switch::In2019) => Some(LowLatencyTable {
            preset: Preset::In2019,
            ..LowLatencyTable::default()
        }),
        OrTable::Table(table) => Some(table.clone()),
    }
}

/// The rate of one of the two flows: some, and no more than the aggregate's.
fn own_rate(
    path: &str,
    key: &str,
    rate: Option<MaximumRate>,
    settings: &Settings,
) -> Result<Option<Rate>, ScenarioError> {
    let Some(rate) = rate.and_then(MaximumRate::limit) else {
        return Ok(None);
    };
    let path = format!("{path}.{key}");
    if rate.0 == 0 {
        let why = "a service flow at rate 0 carries nothing: expected a rate above zero";
        return Err(ScenarioError::invalid(path, why));
    }
    check_rate(&path, rate)?;
    match settings.rate.given() {
        Some((aggregate, aggregate_path)) if rate > *aggregate => {
            let why = format!(
                "expected at most the rate of the aggregate, {aggregate} ({aggregate_path}), found \
                 {rate}"
            );
            Err(ScenarioError::invalid(path, why))
        }
        _ => Ok(Some(rate)),
    }
}

/// Proactive grants of more than the flow may send would be granted to nobody.
fn check_proactive(
    path: &str,
    written: &LowLatencyTable,
    most: Option<Rate>,
) -> Result<(), ScenarioError> {
    let Some(Named(Scheduling::Pgs(grants))) = &written.scheduling else {
        return Ok(());
    };
    match most {
        Some(most) if grants.rate > most => {
            let why = format!(
                "expected at most the rate of the low-latency flow, {most}, found {}",
                grants.rate
            );
            let path = format!("{path}.scheduling.pgs.rate");
            Err(ScenarioError::invalid(path, why))
        }
        _ => Ok(()),
    }
}

/// The scheduling weight of the low-latency flow if nothing is written, of [`WEIGHTS`].
pub(in crate::scenario::cable) const DEFAULT_WEIGHT: u8 = 230;

/// What a scheduling weight is a part of.
pub(in crate::scenario::cable) const WEIGHTS: u64 = 256;

/// The coupling factor in tenths if nothing is written.
pub(in crate::scenario::cable) const DEFAULT_COUPLING: u8 = 20;

/// Queue protection if nothing is written.
pub(in crate::scenario::cable) const DEFAULT_PROTECTION: Protection = Protection {
    latency_threshold: None,
    score_threshold: Duration::from_millis(4),
    drain_exponent: 19,
};

/// The same in the first tables (DOCS-QOS3-MIB, February 2019).
pub(in crate::scenario::cable) const PROTECTION_IN_2019: Protection = Protection {
    latency_threshold: Some(Duration::from_millis(1)),
    score_threshold: Duration::from_millis(2),
    drain_exponent: 17,
};

fn weight(path: &str, written: &LowLatencyTable) -> Result<u8, ScenarioError> {
    let weight = written.weight.unwrap_or(i64::from(DEFAULT_WEIGHT));
    match u8::try_from(weight) {
        Ok(weight) if weight > 0 => Ok(weight),
        _ => {
            let why = format!(
                "expected a scheduling weight from 1 to 255, the 256ths that the low-latency flow \
                 gets, found {weight}"
            );
            Err(ScenarioError::invalid(format!("{path}.weight"), why))
        }
    }
}

/// The coupling factor in tenths.
fn coupling(path: &str, written: &LowLatencyTable) -> Result<u8, ScenarioError> {
    let default = f64::from(DEFAULT_COUPLING) / 10.0;
    let coupling = written.coupling.unwrap_or(default);
    let tenths = (coupling * 10.0).round();
    let is_in_tenths = (coupling * 10.0 - tenths).abs() < 1e-6;
    if is_in_tenths && (0.0..=255.0).contains(&tenths) {
        return Ok(tenths as u8);
    }
    let why = format!(
        "expected a coupling factor from 0.1 to 25.5 in tenths, or 0 for no coupling, found \
         {coupling}"
    );
    Err(ScenarioError::invalid(format!("{path}.coupling"), why))
}

/// How a low-latency queue estimates its delay, if nothing is written. MULPI Annex N.3: the modem
/// takes the virtual queue, because packets wait for requests and grants whatever they send. The
/// CMTS takes the length of its queue.
pub(in crate::scenario::cable) fn default_estimator(direction: OneWay) -> Estimator {
    match direction {
        OneWay::Up => Estimator::VirtualQueue,
        OneWay::Down => Estimator::Backlog,
    }
}

/// The configuration of the low-latency queue of a direction, without its size.
fn queue(
    path: &str,
    written: &LowLatencyTable,
    direction: OneWay,
) -> Result<immediate_aqm::Config, ScenarioError> {
    let default = match written.preset {
        Preset::Current => immediate_aqm::Config::default(),
        // DOCS-QOS3-MIB, February 2019: a minimum threshold of 475 us, and a range of 2^19 ns.
        Preset::In2019 => immediate_aqm::Config {
            maximum_threshold: Duration::from_nanos(475_000 + (1 << 19)),
            ..immediate_aqm::Config::default()
        },
    };
    let maximum_threshold = written
        .maximum_threshold
        .unwrap_or(default.maximum_threshold);
    if maximum_threshold == Duration::ZERO || maximum_threshold > HIGHEST {
        let why =
            format!("expected a delay above zero and up to {HIGHEST}, found {maximum_threshold}");
        let path = format!("{path}.maximum_threshold");
        return Err(ScenarioError::invalid(path, why));
    }
    let range_exponent = match written.range_exponent {
        None => default.range_exponent,
        Some(exponent) if (0..=i64::from(MOST_RANGE)).contains(&exponent) => exponent as u8,
        Some(exponent) => {
            let why = format!("expected an exponent from 0 to {MOST_RANGE}, found {exponent}");
            return Err(ScenarioError::invalid(
                format!("{path}.range_exponent"),
                why,
            ));
        }
    };
    Ok(immediate_aqm::Config {
        limit: None,
        maximum_threshold,
        range_exponent,
        estimator: (written.estimator).unwrap_or_else(|| default_estimator(direction)),
        protection: protection(path, written)?,
    })
}

fn protection(path: &str, written: &LowLatencyTable) -> Result<Option<Protection>, ScenarioError> {
    let path = format!("{path}.queue_protection");
    let table = match &written.queue_protection {
        Some(QueueProtection::Enabled(false)) => return Ok(None),
        Some(QueueProtection::Table(table)) => table.clone(),
        Some(QueueProtection::Enabled(true)) | None => ProtectionTable::default(),
    };
    let default = match written.preset {
        Preset::Current => DEFAULT_PROTECTION,
        Preset::In2019 => PROTECTION_IN_2019,
    };
    let thresholds = [
        ("latency_threshold", table.latency_threshold),
        ("score_threshold", table.score_threshold),
    ];
    for (key, threshold) in thresholds {
        if let Some(threshold) = threshold.filter(|one| *one == Duration::ZERO || *one > HIGHEST) {
            let why = format!("expected a time above zero and up to {HIGHEST}, found {threshold}");
            return Err(ScenarioError::invalid(format!("{path}.{key}"), why));
        }
    }
    let drain_exponent = match table.drain_exponent {
        None => default.drain_exponent,
        Some(exponent) if (1..=MOST_DRAIN_EXPONENT).contains(&exponent) => exponent as u8,
        Some(exponent) => {
            let why =
                format!("expected an exponent from 1 to {MOST_DRAIN_EXPONENT}, found {exponent}");
            return Err(ScenarioError::invalid(
                format!("{path}.drain_exponent"),
                why,
            ));
        }
    };
    Ok(table.enabled.unwrap_or(true).then(|| Protection {
        latency_threshold: table.latency_threshold.or(default.latency_threshold),
        score_threshold: table.score_threshold.unwrap_or(default.score_threshold),
        drain_exponent,
    }))
}

/// The size of the low-latency queue: what is written, unless the CMTS drops it; else what the
/// aggregate's rate carries in 10 ms, and at least 20 frames.
fn limit(plan: &AggregatePlan, channel: Channel<'_>) -> Result<Limit, ScenarioError> {
    let path = format!("{}.limit", plan.path);
    let written = plan.written.limit;
    if let Some(limit) = written {
        let at = nominal(plan.low_rate, plan.limits.sustained, channel);
        match BacklogLimit::at_rate(limit, at) {
            BacklogLimit::Packets(_) => {
                let why = format!("expected a size or a time, found \"{limit}\"");
                return Err(ScenarioError::invalid(path, why));
            }
            BacklogLimit::Bytes(bytes) if bytes <= LARGEST_FRAME => {
                let at_rate = match limit {
                    Limit::Time(_) => format!(" ({bytes} B at {at})"),
                    _ => String::new(),
                };
                let why = format!(
                    "expected more than the largest frame, {LARGEST_FRAME} B, found \
                     \"{limit}\"{at_rate}"
                );
                return Err(ScenarioError::invalid(path, why));
            }
            BacklogLimit::Bytes(_) | BacklogLimit::Unlimited => {}
        }
    }
    let aggregate = plan.limits.sustained.unwrap_or(Rate(0));
    let config = immediate_aqm::Config {
        limit: written.filter(|_| channel.default_buffer.is_none()),
        ..plan.queue.clone()
    };
    (config.limit(aggregate)).map_err(|why| ScenarioError::invalid(path, why))
}

/// The rate that a flow of an aggregate can have at most: its own, the aggregate's, the channel's.
pub(in crate::scenario::cable::service_flow) fn nominal(
    own: Option<Rate>,
    aggregate: Option<Rate>,
    channel: Channel<'_>,
) -> Rate {
    [own, aggregate]
        .into_iter()
        .flatten()
        .fold(channel.rate, Rate::min)
}

/// A flow of an aggregate asks for its grants.
pub(super) fn refuse_unsolicited(
    scheduling: &Setting<Named<Scheduling>>,
    direction: OneWay,
) -> Result<(), ScenarioError> {
    match scheduling.given() {
        Some((kind, path)) if direction == OneWay::Up && !is_elastic(direction, &kind.0) => {
            let why = format!(
                "a service flow of an aggregate with low latency shares its rate: expected \
                 best_effort, nrtps or pgs, found {}",
                kind.0.name()
            );
            Err(ScenarioError::invalid(path, why))
        }
        _ => Ok(()),
    }
}
