//! The kinds of link: which there are, and what the links of a scenario have in common.
//!
//! A kind of link is a folder beside this file, with a table of keys and a plan that is a
//! [`Medium`], and a variant of the two enums below.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::attachment::Attachment;
use super::cable::{self, CablePlan, CableTables, Docsis};
use super::cell::dot11b::{self, Dot11b};
use super::cell::wifi::{self, Standard, Wifi};
use super::cell::{CellPlan, CellTables};
use super::error::ScenarioError;
use super::medium::Medium;
use super::plain::{self, PlainPlan, PlainTables, PointToPoint};
use super::tables::Tables;
use super::traced::Traced;
use crate::named::Named;
use crate::time::Duration;

/// A link, by its kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LinkConfig {
    /// A DOCSIS cable line.
    Docsis(Box<Docsis>),
    /// An 802.11b cell: an access point and its stations on one channel.
    Dot11b(Box<Dot11b>),
    /// An 802.11g cell.
    Dot11g(Box<Wifi>),
    /// An 802.11n cell (Wi-Fi 4).
    Dot11n(Box<Wifi>),
    /// An 802.11ac cell (Wi-Fi 5).
    Dot11ac(Box<Wifi>),
    /// An 802.11ax cell (Wi-Fi 6).
    Dot11ax(Box<Wifi>),
    /// A plain rate-limited link.
    PointToPoint(Box<PointToPoint>),
}

/// A link, ready to be built.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct LinkPlan {
    pub(super) name: String,
    plan: KindPlan,
}

/// The plan of a link, by its kind.
#[derive(Debug, Clone, PartialEq)]
enum KindPlan {
    Docsis(Box<CablePlan>),
    Cell(Box<CellPlan>),
    PointToPoint(Box<PlainPlan>),
}

impl LinkConfig {
    /// Checks the link at `path` and writes its defaults out.
    fn plan(
        &mut self,
        path: &str,
        duration: Duration,
        warnings: &mut Vec<String>,
    ) -> Result<KindPlan, ScenarioError> {
        let path = format!("{path}.{}", self.name());
        let wifi = |standard, cell: &mut Wifi| {
            Ok(KindPlan::Cell(Box::new(wifi::plan(&path, standard, cell)?)))
        };
        Ok(match self {
            Self::Docsis(line) => {
                KindPlan::Docsis(Box::new(cable::plan(&path, line, duration, warnings)?))
            }
            Self::Dot11b(cell) => KindPlan::Cell(Box::new(dot11b::plan(&path, cell)?)),
            Self::Dot11g(cell) => wifi(Standard::Dot11g, cell)?,
            Self::Dot11n(cell) => wifi(Standard::Dot11n, cell)?,
            Self::Dot11ac(cell) => wifi(Standard::Dot11ac, cell)?,
            Self::Dot11ax(cell) => wifi(Standard::Dot11ax, cell)?,
            Self::PointToPoint(link) => KindPlan::PointToPoint(Box::new(plain::plan(&path, link)?)),
        })
    }

    /// The key of its table.
    const fn name(&self) -> &'static str {
        match self {
            Self::Docsis(_) => "docsis",
            Self::Dot11b(_) => "dot11b",
            Self::Dot11g(_) => "dot11g",
            Self::Dot11n(_) => "dot11n",
            Self::Dot11ac(_) => "dot11ac",
            Self::Dot11ax(_) => "dot11ax",
            Self::PointToPoint(_) => "point_to_point",
        }
    }

    /// Everything of it that varies, with its key.
    fn varying(&mut self) -> Vec<(&'static str, Traced<'_>)> {
        match self {
            Self::Docsis(line) => line.varying(),
            Self::Dot11b(_)
            | Self::Dot11g(_)
            | Self::Dot11n(_)
            | Self::Dot11ac(_)
            | Self::Dot11ax(_) => Vec::new(),
            Self::PointToPoint(link) => link.varying(),
        }
    }
}

impl LinkPlan {
    /// The plan of a cable line.
    pub(super) fn cable(&self) -> Option<&CablePlan> {
        match &self.plan {
            KindPlan::Docsis(line) => Some(line),
            KindPlan::Cell(_) | KindPlan::PointToPoint(_) => None,
        }
    }

    /// The plan, whatever its kind.
    pub(super) fn medium(&self) -> &dyn Medium {
        match &self.plan {
            KindPlan::Docsis(line) => &**line,
            KindPlan::Cell(cell) => &**cell,
            KindPlan::PointToPoint(link) => &**link,
        }
    }
}

/// What overrides need to know of the table of a kind of link. There is no kind but these.
pub(super) fn tables(kind: &str) -> Option<&'static dyn Tables> {
    match kind {
        "docsis" => Some(&CableTables),
        "dot11b" | "dot11g" | "dot11n" | "dot11ac" | "dot11ax" => Some(&CellTables),
        "point_to_point" => Some(&PlainTables),
        _ => None,
    }
}

/// Links as they are written, by name.
type Links = BTreeMap<String, Named<LinkConfig>>;

const MOST_LINKS: usize = 1000;

/// Plans the links, in the order of their names.
pub(super) fn plan(
    links: &mut Links,
    duration: Duration,
    warnings: &mut Vec<String>,
) -> Result<Vec<LinkPlan>, ScenarioError> {
    if links.len() > MOST_LINKS {
        let why = format!("{} links are more than {MOST_LINKS}", links.len());
        return Err(ScenarioError::invalid("link", why));
    }
    let plans = links.iter_mut().map(|(name, Named(config))| {
        Ok(LinkPlan {
            plan: config.plan(&format!("link.{name}"), duration, warnings)?,
            name: name.clone(),
        })
    });
    plans.collect()
}

/// What a host's `via` may name: a link with one customer, or a customer, or group of customers, of
/// a link with several.
pub(super) fn attachments(links: &[LinkPlan]) -> BTreeMap<String, Attachment> {
    let mut found = BTreeMap::new();
    for (index, link) in links.iter().enumerate() {
        for customers in link.medium().customer_names() {
            let name = match customers.name {
                Some(name) => format!("{}.{name}", link.name),
                None => link.name.clone(),
            };
            let attachment = Attachment {
                link: index as u16,
                first: customers.first as u16,
                count: customers.count,
            };
            found.insert(name, attachment);
        }
    }
    found
}

/// The names of all queues.
pub(super) fn queue_names(links: &[LinkPlan]) -> Vec<String> {
    let queues = links
        .iter()
        .flat_map(|link| link.medium().queues(&link.name));
    queues.map(|queue| queue.name).collect()
}

/// Everything that varies, with its path.
pub(super) fn varying(links: &mut Links) -> Vec<(String, Traced<'_>)> {
    let mut found = Vec::new();
    for (name, Named(config)) in links {
        let path = format!("link.{name}.{}", config.name());
        let all = config.varying().into_iter();
        found.extend(all.map(|(key, traced)| (format!("{path}.{key}"), traced)));
    }
    found
}
