//! Classes of queues against the scenario's flows: what sorts nothing is warned of, as of [classifiers](super::classifiers).
//!
//! Classes that were written are looked at one by one. Of a discipline's own, which a scenario gets by the queue's name alone, it is enough that
//! some flow belongs to one.

use std::collections::BTreeSet;

use super::classifiers::{packets, passes};
use super::flows::{GroupPlan, PeerPlan};
use super::links::{LinkPlan, Medium};
use super::queue_path;
use crate::aqm::cbt;
use crate::flow::is_ipv6;
use crate::link::docsis::classifier::{Rule, number};
use crate::packet::Side;
use crate::qdisc::{QueueConfig, cbq, strict_priority};
use crate::queue::Classifier;

/// A class that takes only packets that meet one of these, and where it is written below the queue's key.
struct Class {
    key: String,
    takes: Vec<Classifier>,
}

/// What sorts packets in one queue.
struct Sorter {
    /// The key that holds the classes.
    key: String,
    classes: Vec<Class>,
    is_default: bool,
}

/// Warns of classes that no flow belongs to.
pub(super) fn check(links: &[LinkPlan], groups: &[GroupPlan], warnings: &mut Vec<String>) {
    // By link and group: where it passes. Lines have thousands of both.
    let ways: Vec<Vec<_>> = (0..links.len())
        .map(|index| {
            let of_link = |group| passes(group, index as u16);
            groups.iter().map(of_link).collect()
        })
        .collect();
    let mut found = BTreeSet::new();
    for (index, link) in links.iter().enumerate() {
        match &link.medium {
            Medium::PointToPoint(directions) => {
                for (way, (plan, name)) in directions.iter().zip(["up", "down"]).enumerate() {
                    let path = queue_path(&link.name, "point_to_point", name);
                    let passes = |place: usize| ways[index][place].contains(&(way, 0));
                    warn(&path, &plan.queue, groups, passes, &mut found);
                }
            }
            Medium::Dot11b(cell) => {
                let path = format!("link.{}.dot11b.access_point.queue", link.name);
                let comes_down = |place: usize| ways[index][place].iter().any(|&(way, _)| way == 1);
                warn(&path, &cell.access_point, groups, comes_down, &mut found);
                for (number, station) in cell.stations.iter().enumerate() {
                    let path = station.queue_path(&link.name);
                    let goes_up = |place: usize| ways[index][place].contains(&(0, number));
                    warn(&path, &station.queue, groups, goes_up, &mut found);
                }
            }
            Medium::Docsis(line) => {
                for (number, profile) in line.profiles.iter().enumerate() {
                    let flows = profile.flows.iter().enumerate();
                    for (way, flow) in
                        flows.flat_map(|(way, flows)| flows.iter().map(move |flow| (way, flow)))
                    {
                        let passes = |place: usize| {
                            (ways[index][place].iter()).any(|&(at, modem)| {
                                at == way && line.modems[modem].profile == number
                            })
                        };
                        warn(&flow.queue_path, &flow.queue, groups, passes, &mut found);
                    }
                }
            }
        }
    }
    warnings.extend(found);
}

fn warn(
    path: &str,
    queue: &QueueConfig,
    groups: &[GroupPlan],
    passes: impl Fn(usize) -> bool,
    found: &mut BTreeSet<String>,
) {
    let sorters = sorters(queue);
    if sorters.is_empty() {
        return;
    }
    let places = groups.iter().enumerate();
    let groups: Vec<&GroupPlan> = (places.filter(|(place, _)| passes(*place)))
        .map(|(_, group)| group)
        .collect();
    for sorter in sorters {
        let is_idle = |class: &&Class| !groups.iter().any(|group| class.may_take(group));
        let idle: Vec<&Class> = sorter.classes.iter().filter(is_idle).collect();
        if !sorter.is_default {
            found.extend(idle.iter().map(|class| {
                format!(
                    "{path}.{}: no packet of this scenario's flows belongs to it",
                    class.key
                )
            }));
        } else if idle.len() == sorter.classes.len() && !groups.is_empty() {
            found.insert(format!(
                "{path}.{}: no packet of this scenario's flows belongs to one of them, so that all are treated alike: give flows a dscp that one takes, or write what it is to take",
                sorter.key
            ));
        }
    }
}

/// What sorts packets in a queue and in the laws of its backlogs. Classes for all that no other takes are left out.
fn sorters(queue: &QueueConfig) -> Vec<Sorter> {
    let name = queue.name();
    let below = |law: &QueueConfig| -> Vec<Sorter> {
        let prefix = format!("{name}.law");
        sorters(law)
            .into_iter()
            .map(|sorter| sorter.below(&prefix))
            .collect()
    };
    match queue {
        QueueConfig::Cbq(config) => {
            let own = |class: &cbq::Class| class.classifier.clone();
            let default = cbq::Config::default().class;
            vec![by_class(
                name,
                config.class.iter().map(|(key, class)| (key, own(class))),
                config.class == default,
            )]
        }
        QueueConfig::Cbt(config) => {
            let own = |class: &cbt::Class| class.classifier.clone();
            let default = cbt::Config::default().class;
            vec![by_class(
                name,
                config.class.iter().map(|(key, class)| (key, own(class))),
                config.class == default,
            )]
        }
        QueueConfig::StrictPriority(config) => {
            let bands = config
                .bands
                .iter()
                .enumerate()
                .filter(|(_, band)| !band.is_empty());
            let classes = bands.map(|(place, band)| Class {
                key: format!("{name}.bands[{place}]"),
                takes: band.iter().map(|&dscp| Classifier::of_dscp(dscp)).collect(),
            });
            let own = Sorter {
                key: format!("{name}.bands"),
                classes: classes.collect(),
                is_default: config.bands == strict_priority::Config::default().bands,
            };
            std::iter::once(own).chain(below(&config.law)).collect()
        }
        QueueConfig::Drr(config) => below(&config.law),
        QueueConfig::Sfq(config) => below(&config.law),
        _ => Vec::new(),
    }
}

fn by_class<'a>(
    queue: &str,
    classes: impl Iterator<Item = (&'a String, Classifier)>,
    is_default: bool,
) -> Sorter {
    let classes = classes.filter(|(_, classifier)| !classifier.is_empty());
    Sorter {
        key: format!("{queue}.class"),
        classes: classes
            .map(|(key, classifier)| Class {
                key: format!("{queue}.class.{key}.match"),
                takes: vec![classifier],
            })
            .collect(),
        is_default,
    }
}

impl Sorter {
    fn below(mut self, prefix: &str) -> Self {
        self.key = format!("{prefix}.{}", self.key);
        for class in &mut self.classes {
            class.key = format!("{prefix}.{}", class.key);
        }
        self
    }
}

impl Class {
    /// Whether some packet of the flow meets its conditions.
    fn may_take(&self, group: &GroupPlan) -> bool {
        let packets = |peer: &PeerPlan| Side::BOTH.map(|from| packets(group, peer, from)).concat();
        let packets: Vec<_> = group.peers.iter().flat_map(packets).collect();
        self.takes.iter().any(|classifier| {
            let is_ipv6 = packets.iter().any(|seen| is_ipv6(seen.addresses[0]));
            let alike = Rule {
                dscp: classifier.dscp.map(|dscp| dscp..=dscp),
                ports: classifier.port.map(|port| port..=port),
                protocols: (classifier.protocol).map(|name| vec![number(name.protocol(), is_ipv6)]),
                ..Rule::default()
            };
            packets.iter().any(|seen| alike.matches(seen))
        })
    }
}
