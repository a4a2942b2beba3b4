//! Classes of queues against the scenario's flows: warns of a class that no packet belongs to.
//!
//! Classes that the scenario writes are checked one by one. Of a discipline's default classes,
//! which a scenario gets by the queue's name alone, it is enough that some flow belongs to one.

use std::collections::{BTreeMap, BTreeSet};

use super::flow::{GroupPlan, PeerPlan, packets, ports};
use super::link::LinkPlan;
use crate::aqm::cbt;
use crate::flow::{Port, is_ipv6};
use crate::link::docsis::classifier::{Rule, number};
use crate::packet::Side;
use crate::qdisc::{QueueConfig, cbq, strict_priority};
use crate::queue::Classifier;

/// A class that takes only packets that meet one of its conditions. Its key is below the queue's.
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

/// Queues that are planned together: where they are written, and what kind they are.
type Kind = (String, usize);

/// Warns of classes that no flow belongs to.
pub(super) fn check(links: &[LinkPlan], groups: &[GroupPlan], warnings: &mut Vec<String>) {
    let mut found = BTreeSet::new();
    for (index, link) in links.iter().enumerate() {
        let medium = link.medium();
        let queues = medium.queues(&link.name);
        let mut kinds: BTreeMap<Kind, (&QueueConfig, BTreeSet<u16>)> = BTreeMap::new();
        for queue in queues {
            let kind = (queue.path, queue.kind);
            let (_, members) = kinds.entry(kind).or_insert((queue.config, BTreeSet::new()));
            members.insert(queue.port.0);
        }
        // A street has thousands of flows: what they pass is found once.
        let passed: Vec<BTreeSet<u16>> = (groups.iter())
            .map(|group| {
                let ports = ports(group, index as u16).into_iter();
                ports.map(|port| medium.queue_port(Port(port)).0).collect()
            })
            .collect();
        for ((path, _), (queue, members)) in kinds {
            let sorters = sorters(queue);
            if sorters.is_empty() {
                continue;
            }
            let passing = groups.iter().zip(&passed);
            let passing: Vec<&GroupPlan> = passing
                .filter(|(_, ports)| !ports.is_disjoint(&members))
                .map(|(group, _)| group)
                .collect();
            warn(&path, sorters, &passing, &mut found);
        }
    }
    warnings.extend(found);
}

/// Warns of the classes at `path` that none of the flows which pass there belongs to.
fn warn(path: &str, sorters: Vec<Sorter>, groups: &[&GroupPlan], found: &mut BTreeSet<String>) {
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
                "{path}.{}: no packet of this scenario's flows belongs to one of them, so that all \
                 are treated alike: give flows a dscp that one takes, or write what it is to take",
                sorter.key
            ));
        }
    }
}

/// What sorts packets in a queue and in the laws of its backlogs. A class without conditions, which
/// takes all that no other takes, is left out.
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
    /// Whether some packet of the flow meets its conditions. Those of a real host may have any
    /// header.
    fn may_take(&self, group: &GroupPlan) -> bool {
        if group.real.is_some() {
            return true;
        }
        let packets = |peer: &PeerPlan| {
            Side::BOTH
                .map(|from| packets(group, peer, from, from == Side::Host))
                .concat()
        };
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
