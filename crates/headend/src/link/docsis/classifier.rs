//! Classification: which of a modem's service flows takes a packet, or whether the modem lets it out at all.
//!
//! MULPI §7.5.1: classifiers are asked in the order of their priorities, the highest first, and the first whose conditions all hold decides; what
//! none claims goes to the primary service flow. Upstream drop classifiers come before the others. A modem without rules costs an index.

use std::ops::RangeInclusive;

use crate::flow::{FlowHeader, Protocol};

/// A classifier: the conditions that all must hold. One that is not given holds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rule {
    /// Address at either end.
    pub addresses: Option<RangeInclusive<u32>>,
    /// DSCP.
    pub dscp: Option<RangeInclusive<u8>>,
    /// Port at either end.
    pub ports: Option<RangeInclusive<u16>>,
    /// Transport protocol.
    pub protocol: Option<Protocol>,
}

/// What becomes of a packet that a rule takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is not let out.
    Drop,
    /// It goes to this one of the modem's service flows in its direction.
    Flow(u32),
}

/// The rules of one direction, in the order in which they are asked.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Classifiers {
    rules: Vec<(Rule, Verdict)>,
}

/// A modem's entrance in one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entrance {
    /// Its primary service flow among all of that direction; its others follow.
    pub primary: u32,
    /// Which of the link's classifiers are its own.
    pub classifiers: Option<u32>,
}

impl Rule {
    /// Whether it takes the packets with this header.
    pub fn matches(&self, header: &FlowHeader) -> bool {
        // A condition on ports takes nothing that has none.
        let has_ports = header.protocol != Protocol::Icmp;
        self.dscp
            .as_ref()
            .is_none_or(|dscp| dscp.contains(&header.dscp))
            && (self.protocol).is_none_or(|protocol| protocol == header.protocol)
            && holds_for_one(self.addresses.as_ref(), &header.addresses)
            && (self.ports.is_none() || has_ports)
            && holds_for_one(self.ports.as_ref(), &header.ports)
    }
}

fn holds_for_one<T: PartialOrd>(range: Option<&RangeInclusive<T>>, ends: &[T; 2]) -> bool {
    range.is_none_or(|range| ends.iter().any(|end| range.contains(end)))
}

impl Classifiers {
    /// Rules with their priorities. Of equal ones those stand first that are given first.
    pub fn new(mut rules: Vec<(u8, Rule, Verdict)>) -> Self {
        let rank = |verdict: Verdict| u8::from(verdict != Verdict::Drop);
        rules.sort_by_key(|(priority, _, verdict)| (rank(*verdict), u8::MAX - priority));
        let rules = rules.into_iter();
        Self {
            rules: rules.map(|(_, rule, verdict)| (rule, verdict)).collect(),
        }
    }

    /// Whether there is no rule.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// What becomes of a packet with this header.
    pub fn classify(&self, header: &FlowHeader) -> Verdict {
        let mut rules = self.rules.iter();
        let found = rules.find(|(rule, _)| rule.matches(header));
        found.map_or(Verdict::Flow(0), |(_, verdict)| *verdict)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::AppId;
    use crate::flow::{GroupId, Hop, RouteId};

    const HOME: u32 = 10;
    const SERVER: u32 = 20;

    fn header(protocol: Protocol, dscp: u8, port: u16) -> FlowHeader {
        FlowHeader {
            group: GroupId(0),
            app: AppId(0),
            ordinal: 0,
            generation: 0,
            protocol,
            addresses: [HOME, SERVER],
            ports: [49152, port],
            dscp,
            tunnel: None,
            routes: [RouteId(0); 2],
            first_hops: [Hop::End; 2],
            alive: 0,
            closed: false,
        }
    }

    #[test]
    fn all_conditions_must_hold_and_those_not_given_do() {
        let call = header(Protocol::Udp, 46, 5004);
        let taken = |rule: Rule| rule.matches(&call);
        assert!(taken(Rule::default()));
        let rule = Rule {
            addresses: Some(HOME..=HOME),
            dscp: Some(40..=47),
            ports: Some(5000..=5999),
            protocol: Some(Protocol::Udp),
        };
        assert!(taken(rule.clone()));
        assert!(!taken(Rule {
            addresses: Some(11..=19),
            ..rule.clone()
        }));
        assert!(!taken(Rule {
            dscp: Some(40..=45),
            ..rule.clone()
        }));
        assert!(!taken(Rule {
            ports: Some(5005..=5999),
            ..rule.clone()
        }));
        assert!(!taken(Rule {
            protocol: Some(Protocol::Tcp),
            ..rule
        }));
    }

    #[test]
    fn an_address_or_port_holds_at_either_end() {
        let packet = header(Protocol::Tcp, 0, 443);
        let address = |address| Rule {
            addresses: Some(address..=address),
            ..Rule::default()
        };
        let port = |port| Rule {
            ports: Some(port..=port),
            ..Rule::default()
        };
        assert!(address(HOME).matches(&packet) && address(SERVER).matches(&packet));
        assert!(port(443).matches(&packet) && port(49152).matches(&packet));
        assert!(!address(15).matches(&packet) && !port(80).matches(&packet));
    }

    #[test]
    fn a_condition_on_ports_takes_no_echo_request() {
        let ping = header(Protocol::Icmp, 0, 443);
        let any = Rule {
            ports: Some(0..=u16::MAX),
            ..Rule::default()
        };
        assert!(!any.matches(&ping));
        assert!(Rule::default().matches(&ping));
    }

    #[test]
    fn the_highest_priority_decides_and_the_rest_goes_to_the_primary_flow() {
        let dscp = |low, high| Rule {
            dscp: Some(low..=high),
            ..Rule::default()
        };
        let rules = Classifiers::new(vec![
            (1, dscp(40, 47), Verdict::Flow(1)),
            (9, dscp(46, 46), Verdict::Flow(2)),
            (1, dscp(32, 47), Verdict::Flow(3)),
        ]);
        let taken = |dscp| rules.classify(&header(Protocol::Udp, dscp, 1));
        assert_eq!(taken(46), Verdict::Flow(2));
        assert_eq!(taken(40), Verdict::Flow(1), "the first of two equals");
        assert_eq!(taken(32), Verdict::Flow(3));
        assert_eq!(taken(0), Verdict::Flow(0));
    }

    #[test]
    fn drop_rules_come_before_all_others() {
        let rules = Classifiers::new(vec![
            (255, Rule::default(), Verdict::Flow(1)),
            (
                0,
                Rule {
                    ports: Some(137..=139),
                    ..Rule::default()
                },
                Verdict::Drop,
            ),
        ]);
        assert_eq!(
            rules.classify(&header(Protocol::Udp, 0, 138)),
            Verdict::Drop
        );
        assert_eq!(
            rules.classify(&header(Protocol::Udp, 0, 140)),
            Verdict::Flow(1)
        );
    }
}
