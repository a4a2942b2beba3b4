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
use crate::traffic::autorate::{Bounds, Config};
use crate::units::Rate;

/// The application of a router's table; `None` where the rates stay. Of each direction, up first:
/// the line's rate, and the router's, if it limits that direction.
///
/// # Errors
///
/// A sentence, if there is no rate that could change.
pub(super) fn application(
    written: Option<&OrTable<bool, Autorate>>,
    link: &str,
    directions: [(Rate, Option<Rate>); 2],
) -> Result<Option<Config>, String> {
    let autorate = match written {
        None | Some(OrTable::Plain(false)) => return Ok(None),
        Some(OrTable::Plain(true)) => &Autorate::default(),
        Some(OrTable::Table(autorate)) => autorate,
    };
    let [up, down] = directions.map(|(line, router)| {
        router.map(|base| Bounds {
            minimum: autorate
                .minimum
                .of(line)
                .map_or(base, |rate| rate.min(base)),
            base,
            maximum: autorate
                .maximum
                .of(line)
                .map_or(base, |rate| rate.max(base)),
        })
    });
    if up.is_none() && down.is_none() {
        return Err("a rate that is unlimited cannot follow the delay".to_owned());
    }
    Ok(Some(Config {
        link: link.to_owned(),
        up,
        down,
        threshold: autorate.threshold,
        one_way: autorate.one_way,
        ..Config::default()
    }))
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
