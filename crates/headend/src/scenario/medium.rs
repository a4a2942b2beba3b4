//! The trait of links that have been planned: what the rest of a scenario needs of a link, whatever
//! its kind.
//!
//! Every customer of a link has two ports: customer `n` enters it at port `2n` on the way up, and
//! is reached through port `2n + 1` on the way down.

use std::collections::BTreeMap;

use super::builder::Builder;
use super::error::ScenarioError;
use super::flow::GroupPlan;
use super::host::HostPlan;
use crate::flow::Port;
use crate::link::Link;
use crate::qdisc::QueueConfig;
use crate::time::Duration;
use crate::units::Rate;

/// A queue of a link.
#[derive(Debug, Clone)]
pub(super) struct QueuePlan<'a> {
    /// Its name in results.
    pub(super) name: String,
    /// The key that an override puts another queue into.
    pub(super) override_path: String,
    /// The key where it is written.
    pub(super) path: String,
    pub(super) config: &'a QueueConfig,
    /// Nominal rate behind it.
    pub(super) rate: Rate,
    /// The port of the packets that enter it.
    pub(super) port: Port,
    /// Queues that are planned together have the same number.
    pub(super) kind: usize,
}

/// Customers of a link that hosts find under one name.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Customers<'a> {
    /// What follows the link's name; nothing where the link has one customer, without a name.
    pub(super) name: Option<&'a str>,
    /// The first customer's number.
    pub(super) first: u32,
    /// How many there are, if the scenario gives a count: then there is a host at each.
    pub(super) count: Option<u32>,
}

/// A link that has been planned.
pub(super) trait Medium {
    /// How many customers it has.
    fn customers(&self) -> usize;

    /// The names under which hosts find its customers.
    fn customer_names(&self) -> Vec<Customers<'_>>;

    /// The key of its customers, where they are written one by one.
    fn customers_path(&self, _link: &str) -> Option<String> {
        None
    }

    /// Whether a customer is the host itself: then the link comes first on the host's way.
    fn has_hosts_as_customers(&self) -> bool {
        false
    }

    /// Its queues; an up queue first, if there is one at all.
    fn queues(&self, link: &str) -> Vec<QueuePlan<'_>>;

    /// The port of the queue that packets enter at `port`, where several ports share one.
    fn queue_port(&self, port: Port) -> Port {
        port
    }

    /// What customers share on the way up (0) or down (1), if they share a channel.
    fn channel(&self, _direction: usize) -> Option<Rate> {
        None
    }

    /// Its shortest propagation delay on the way up (0) or down (1), where that is given.
    fn delay(&self, _direction: usize) -> Duration {
        Duration::ZERO
    }

    /// Its longest one.
    fn longest_delay(&self, direction: usize) -> Duration {
        self.delay(direction)
    }

    /// How long its network side takes to forward a packet.
    fn forwarding(&self) -> Duration {
        Duration::ZERO
    }

    /// Keys that hold traces of delivery opportunities, with the number of these.
    fn opportunities(&self, _link: &str) -> Vec<(String, usize)> {
        Vec::new()
    }

    /// Checks it against the flows that pass it; `index` is the link's number.
    ///
    /// # Errors
    ///
    /// What keeps the scenario from saying what is to be simulated.
    fn check_flows(
        &self,
        _index: u16,
        _hosts: &BTreeMap<String, HostPlan>,
        _groups: &[GroupPlan],
        _warnings: &mut Vec<String>,
    ) -> Result<(), ScenarioError> {
        Ok(())
    }

    /// The link itself, with its queues entered in the builder's list.
    fn build(
        &self,
        link: &str,
        hosts: &BTreeMap<String, HostPlan>,
        builder: &mut Builder,
    ) -> Box<dyn Link>;
}
