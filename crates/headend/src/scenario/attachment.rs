//! Where hosts are attached to links.

use std::collections::BTreeMap;

use crate::flow::Port;

/// Where hosts are attached: a link, and its customer's side or sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Attachment {
    pub(super) link: u16,
    /// The first customer's side.
    pub(super) first: u16,
    /// How many sides there are behind one name, if the scenario gives a count: then there is a
    /// host at each.
    pub(super) count: Option<u32>,
}

/// Where a host is attached: a link, and its entrances for the two directions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PortPlan {
    pub(super) link: u16,
    pub(super) up: Port,
    pub(super) down: Port,
}

impl Attachment {
    /// The port of customer `number`, from 1; of a single customer, whatever the number.
    pub(super) fn port(&self, number: u32) -> PortPlan {
        let index = match self.count {
            Some(_) => self.first + (number - 1) as u16,
            None => self.first,
        };
        PortPlan {
            link: self.link,
            up: Port(2 * index),
            down: Port(2 * index + 1),
        }
    }

    /// One of them.
    fn single(&self, number: u32) -> Self {
        Self {
            first: self.first + (number - 1) as u16,
            count: None,
            ..*self
        }
    }
}

/// What is called `name`: one of them, or with its number one of those behind a name.
pub(super) fn find_attachment(
    attachments: &BTreeMap<String, Attachment>,
    name: &str,
) -> Option<Attachment> {
    if let Some(found) = attachments.get(name) {
        return Some(*found);
    }
    let (group, number) = name.rsplit_once('.')?;
    let (group, number) = (attachments.get(group)?, number.parse().ok()?);
    (1..=group.count?)
        .contains(&number)
        .then(|| group.single(number))
}
