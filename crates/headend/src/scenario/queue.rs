//! Queues of links: how they are written, and what a line of some rate cannot have.

use super::error::ScenarioError;
use crate::aqm::delay_estimate::DelayEstimate;
use crate::named::Named;
use crate::qdisc::{QueueConfig, drr, sfq, strict_priority};
use crate::queue::{BacklogLimit, Framing};
use crate::rng::Rng;
use crate::units::{Limit, Rate};

/// A queue, by its discipline: a name alone takes all defaults.
pub type Queue = Named<QueueConfig>;

/// The queue, if a line of this rate can have it.
pub(super) fn plan_queue<'a>(
    path: &str,
    Named(config): &'a Queue,
    rate: Rate,
    framing: Framing,
) -> Result<&'a QueueConfig, ScenarioError> {
    check_queue(path, config, rate, framing)?;
    refuse_foresight(path, config)?;
    Ok(config)
}

pub(super) fn check_queue(
    path: &str,
    config: &QueueConfig,
    rate: Rate,
    framing: Framing,
) -> Result<(), ScenarioError> {
    if let Err(why) = config.check(rate, Rng::for_path(0, path)) {
        return Err(ScenarioError::invalid(path, why));
    }
    check_limit(path, config, rate, framing)
}

/// Whether it is a law that knows when each packet will leave.
pub(super) fn is_omniscient(config: &QueueConfig) -> bool {
    matches!(config, QueueConfig::CodelDt(law) if law.delay_estimate == DelayEstimate::Omniscient)
}

/// Refuses a law that knows when each packet will leave. Only the single queue of a plain link of
/// constant rate can know that: not one of several queues, nor one before a shared medium.
pub(super) fn refuse_foresight(path: &str, config: &QueueConfig) -> Result<(), ScenarioError> {
    let path = format!("{path}.{}", config.name());
    match config {
        QueueConfig::Drr(drr::Config { law, .. })
        | QueueConfig::Sfq(sfq::Config { law, .. })
        | QueueConfig::StrictPriority(strict_priority::Config { law, .. }) => {
            refuse_foresight(&format!("{path}.law"), law)
        }
        _ if is_omniscient(config) => {
            let why = "\"omniscient\" needs the only queue of a point_to_point link of constant \
                       rate: elsewhere nobody can know when a packet will leave; expected \
                       departure_rate, departure_time or token_buckets";
            Err(ScenarioError::invalid(
                format!("{path}.delay_estimate"),
                why,
            ))
        }
        _ => Ok(()),
    }
}

/// The largest packet that links carry, IP bytes.
pub(super) const MTU: u16 = 1500;

/// Refuses a queue without room for a whole packet, and one that has such a queue inside: no
/// transfer could begin.
fn check_limit(
    path: &str,
    config: &QueueConfig,
    rate: Rate,
    framing: Framing,
) -> Result<(), ScenarioError> {
    let path = format!("{path}.{}", config.name());
    match config {
        QueueConfig::Cbq(cbq) => {
            for (name, class) in &cbq.class {
                let path = format!("{path}.class.{name}.limit");
                check_room(&path, class.limit, rate, framing)?;
            }
        }
        QueueConfig::Drr(drr::Config { law, .. })
        | QueueConfig::Sfq(sfq::Config { law, .. })
        | QueueConfig::StrictPriority(strict_priority::Config { law, .. }) => {
            check_limit(&format!("{path}.law"), law, rate, framing)?;
        }
        _ => {}
    }
    if let Some(limit) = config.written_limit() {
        return check_room(&format!("{path}.limit"), limit, rate, framing);
    }
    let least = framing.size_on_wire(MTU);
    match config.limit_bytes(rate) {
        Some(bytes) if bytes < least => {
            let why = format!(
                "{bytes} B at {rate} have no room for one packet of {MTU} B ({least} B): ask for \
                 more"
            );
            Err(ScenarioError::invalid(path, why))
        }
        _ => Ok(()),
    }
}

/// Refuses a limit without room for a packet.
pub(super) fn check_room(
    path: &str,
    limit: Limit,
    rate: Rate,
    framing: Framing,
) -> Result<(), ScenarioError> {
    let least = framing.size_on_wire(MTU);
    match BacklogLimit::at_rate(limit, rate) {
        BacklogLimit::Packets(0) => {
            let why = "expected room for at least one packet, found \"0 packets\"";
            Err(ScenarioError::invalid(path, why))
        }
        BacklogLimit::Bytes(bytes) if bytes < least => {
            let at_rate = match limit {
                Limit::Time(_) => format!(" ({bytes} B at {rate})"),
                _ => String::new(),
            };
            let why = format!(
                "expected room for one packet of {MTU} B at least ({least} B), found \
                 \"{limit}\"{at_rate}"
            );
            Err(ScenarioError::invalid(path, why))
        }
        _ => Ok(()),
    }
}
