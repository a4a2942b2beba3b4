//! Upstream scheduling types: what a grant or a poll can be.

use super::channel::Channel;
use super::config::OneWay;
use crate::link::docsis::preset::Feature;
use crate::link::docsis::qos::{ProactiveGrants, Scheduling};
use crate::link::docsis::timing::UpstreamTiming;
use crate::queue::Framing;
use crate::scenario::error::ScenarioError;
use crate::time::Duration;
use crate::units::{ByteCount, Rate};

/// The shortest time between two grants or polls: the encoding counts microseconds, and a minislot
/// takes some ten of them at least.
const SHORTEST_INTERVAL: Duration = Duration::from_micros(100);

/// The longest time between two grants or polls that makes sense.
const LONGEST_INTERVAL: Duration = Duration::from_secs(10);

/// The most grants of UGS in an interval: the encoding has seven bits.
const MOST_GRANTS: u8 = 127;

/// Whether such a service flow requests its grants. The specification applies AQM to these.
pub(in crate::scenario::cable) fn is_elastic(direction: OneWay, scheduling: &Scheduling) -> bool {
    let is_elastic = matches!(
        scheduling,
        Scheduling::BestEffort | Scheduling::NrtPs(_) | Scheduling::Pgs(_)
    );
    direction == OneWay::Up && is_elastic
}

pub(super) fn check_scheduling(
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
    channel.require(*scheduling != Scheduling::BestEffort, path, feature)?;
    let (interval, size) = match scheduling {
        Scheduling::BestEffort => return Ok(()),
        Scheduling::NrtPs(polling) | Scheduling::RtPs(polling) => (polling.interval, None),
        Scheduling::Pgs(grants) => {
            return check_proactive(&format!("{path}.pgs"), grants, channel.timing);
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
    let name = scheduling.name();
    check_interval(&format!("{path}.{name}.interval"), interval)?;
    match size {
        Some(size) => check_grant_size(&format!("{path}.ugs.size"), size, channel.timing),
        None => Ok(()),
    }
}

fn check_interval(path: &str, interval: Duration) -> Result<(), ScenarioError> {
    if (SHORTEST_INTERVAL..=LONGEST_INTERVAL).contains(&interval) {
        return Ok(());
    }
    let why = format!("expected {SHORTEST_INTERVAL} to {LONGEST_INTERVAL}, found {interval}");
    Err(ScenarioError::invalid(path, why))
}

/// Proactive grants come at most once in a frame, and each fits into a MAP's interval.
fn check_proactive(
    path: &str,
    grants: &ProactiveGrants,
    timing: &UpstreamTiming,
) -> Result<(), ScenarioError> {
    let refuse = |key: &str, why| Err(ScenarioError::invalid(format!("{path}.{key}"), why));
    if grants.rate.0 == 0 && grants.request_interval.is_none() {
        let why = "expected a rate above zero, found 0 bit/s; without a rate and without a \
                   request_interval it is best_effort";
        return refuse("rate", why.to_owned());
    }
    for (key, interval) in [
        ("interval", grants.interval),
        ("request_interval", grants.request_interval),
        ("activity_timeout", grants.activity_timeout),
    ] {
        if let Some(interval) = interval {
            check_interval(&format!("{path}.{key}"), interval)?;
        }
    }
    let interval = grants.grant_interval(timing);
    if interval.is_zero() {
        let (frame, found) = (timing.frame, grants.interval.unwrap_or_default());
        let why = format!("expected at least a frame, which takes {frame}, found {found}");
        return refuse("interval", why);
    }
    let size = grants.grant_bytes(timing);
    let most = largest_grant(timing);
    if size <= most {
        return Ok(());
    }
    let why = format!(
        "at this rate a grant every {interval} is of {size} B, and a MAP has {most} B to grant on \
         a channel: expected a lower rate or a shorter interval"
    );
    refuse("rate", why)
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
    let least = Framing::ETHERNET.size_on_wire(0) + timing.mac_header;
    let most = largest_grant(timing);
    if (least..=most).contains(&size.0) {
        return Ok(());
    }
    let why = format!(
        "expected from {least} B, the shortest packet with its headers, to what a MAP has to grant \
         on a channel ({most} B), found {size}"
    );
    Err(ScenarioError::invalid(path, why))
}

/// The rate of a service flow with unsolicited grants of a fixed size.
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
