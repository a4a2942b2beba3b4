//! The router whose rates follow the delay: how it becomes a flow, and which link a flow sets.

use super::config::Autorate;
use crate::event::AppId;
use crate::named::{Named, OrTable};
use crate::qdisc::QueueConfig;
use crate::scenario::error::ScenarioError;
use crate::scenario::flow::GroupPlan;
use crate::scenario::link::LinkConfig;
use crate::scenario::raw::Raw;
use crate::traffic::ApplicationConfig;
use crate::traffic::autorate::{Bounds, Config, LEAST_RATE};
use crate::units::{Rate, RelativeRate};

/// The keys of a router that say how its rates follow the delay.
const AT: &str = "router.autorate";

/// The application of a router's table; `None` where the rates stay. Of each direction, up first:
/// the line's rate, and the router's, if it limits that direction.
///
/// # Errors
///
/// There is no rate that could change, or a bound is on the wrong side of the router's rate.
pub(super) fn application(
    written: Option<&OrTable<bool, Autorate>>,
    link: &str,
    directions: [(Rate, Option<Rate>); 2],
) -> Result<Option<ApplicationConfig>, ScenarioError> {
    let autorate = match written {
        None | Some(OrTable::Plain(false)) => return Ok(None),
        Some(OrTable::Plain(true)) => &Autorate::default(),
        Some(OrTable::Table(autorate)) => autorate,
    };
    if directions.iter().all(|(_, router)| router.is_none()) {
        let why = "a rate that is unlimited cannot follow the delay";
        return Err(ScenarioError::invalid(AT, why));
    }
    let bounds = |(line, router): (Rate, Option<Rate>)| {
        router.map(|base| bounds(autorate, line, base)).transpose()
    };
    let [up, down] = directions.map(bounds);
    let application = ApplicationConfig::Autorate(Config {
        link: link.to_owned(),
        up: up?,
        down: down?,
        threshold: autorate.threshold,
        one_way: autorate.one_way,
        ..Config::default()
    });
    application.check().map_err(|(key, expected)| {
        ScenarioError::invalid(format!("{AT}.{key}"), format!("expected {expected}"))
    })?;
    Ok(Some(application))
}

/// Where the rate of a direction may be, which begins at `base`.
fn bounds(autorate: &Autorate, line: Rate, base: Rate) -> Result<Bounds, ScenarioError> {
    let bound = |key: &str, written: RelativeRate| {
        let path = format!("{AT}.{key}");
        let Some(rate) = written.of(line) else {
            let why = "expected a share of the line\'s rate, or a rate";
            return Err(ScenarioError::invalid(path, why));
        };
        let is_beyond = match key {
            "minimum" => rate > base,
            _ => rate < base,
        };
        if is_beyond {
            let [side, wanted] = match key {
                "minimum" => ["above", "at most"],
                _ => ["below", "at least"],
            };
            let why = format!(
                "{rate} is {side} {base}, the router\'s own rate, at which it begins; expected \
                 {wanted} that, or another router.rate"
            );
            return Err(ScenarioError::invalid(path, why));
        }
        Ok(rate)
    };
    let minimum = bound("minimum", autorate.minimum)?;
    if minimum < LEAST_RATE {
        let why = format!("expected at least {LEAST_RATE}, found {minimum}");
        return Err(ScenarioError::invalid(format!("{AT}.minimum"), why));
    }
    let maximum = bound("maximum", autorate.maximum)?;
    Ok(Bounds {
        minimum,
        base,
        maximum,
    })
}

/// The application that sets the rates of a link, if there is one, and the link: their places among
/// the groups and the links. An application without bounds sets none: it only probes.
pub(in crate::scenario) fn find_router(
    raw: &Raw,
    groups: &[GroupPlan],
) -> Result<Option<(AppId, usize)>, ScenarioError> {
    let mut setters = (0..)
        .zip(groups)
        .filter_map(|(number, group)| match &group.application {
            ApplicationConfig::Autorate(config) if config.up.or(config.down).is_some() => {
                Some((AppId(number), &group.name, config))
            }
            _ => None,
        });
    let Some((app, name, config)) = setters.next() else {
        return Ok(None);
    };
    let invalid = |key: &str, why: String| {
        let path = format!("flow.{name}.application.autorate{key}");
        Err(ScenarioError::invalid(path, why))
    };
    if let Some((_, other, _)) = setters.next() {
        return invalid(
            "",
            format!("expected one flow that sets rates; {other} is another"),
        );
    }
    let place = raw.link.keys().position(|link| *link == config.link);
    let Some((place, Named(LinkConfig::PointToPoint(link)))) =
        place.map(|place| (place, &raw.link[&config.link]))
    else {
        let why = format!(
            "expected a plain link of the scenario, not {:?}",
            config.link
        );
        return invalid(".link", why);
    };
    let down = link.down.as_ref().unwrap_or(&link.up);
    for (key, bounds, direction) in [("up", config.up, &link.up), ("down", config.down, down)] {
        let has_rate = match &direction.queue {
            Named(QueueConfig::Cake(cake)) => cake.rate.limit().is_some(),
            _ => false,
        };
        if bounds.is_some() && !has_rate {
            let why = format!(
                "link {} has no cake with a rate in this direction",
                config.link
            );
            return invalid(&format!(".{key}"), why);
        }
    }
    Ok(Some((app, place)))
}
