//! Assigns packets to classes by conditions on their headers.
//!
//! If a packet meets the conditions of several classes, the most specific class wins. A class that
//! names a port is tried before one that does not; next, one that names a DSCP, and then one that
//! names a protocol. A class without conditions gets the packets that match no other class.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::context::Context;
use crate::flow::{FlowHeader, Protocol};
use crate::packet::Packet;

/// The conditions under which a packet belongs to a service flow or class. All of them must hold.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Classifier {
    /// DSCP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dscp: Option<u8>,
    /// Transport protocol.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<TransportName>,
    /// Port at either end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
}

/// A transport protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TransportName {
    /// ICMP.
    Icmp,
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
}

impl TransportName {
    /// The protocol of the flow header that has this name.
    pub fn protocol(self) -> Protocol {
        match self {
            Self::Icmp => Protocol::Icmp,
            Self::Tcp => Protocol::Tcp,
            Self::Udp => Protocol::Udp,
        }
    }
}

impl Classifier {
    /// A classifier that matches this protocol.
    pub fn of_protocol(protocol: TransportName) -> Self {
        Self {
            protocol: Some(protocol),
            ..Self::default()
        }
    }

    /// A classifier that matches this DSCP.
    pub fn of_dscp(dscp: u8) -> Self {
        Self {
            dscp: Some(dscp),
            ..Self::default()
        }
    }

    /// Whether there are no conditions, so that every packet matches.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Sort key: a more specific classifier has a smaller key.
    fn sort_key(&self) -> [bool; 3] {
        [
            self.port.is_none(),
            self.dscp.is_none(),
            self.protocol.is_none(),
        ]
    }
}

/// The conditions of one class, in the types of a flow's header, and the number of the class.
#[derive(Debug)]
struct Rule {
    dscp: Option<u8>,
    protocol: Option<Protocol>,
    port: Option<u16>,
    class: usize,
}

impl Rule {
    fn new(classifier: &Classifier, class: usize) -> Self {
        Self {
            dscp: classifier.dscp,
            protocol: classifier.protocol.map(TransportName::protocol),
            port: classifier.port,
            class,
        }
    }

    /// Whether a packet of a flow with this header and of DSCP `own` meets all conditions.
    #[inline]
    fn holds(&self, header: &FlowHeader, own: u8) -> bool {
        self.dscp.is_none_or(|dscp| dscp == own)
            && (self.protocol).is_none_or(|protocol| protocol == header.protocol)
            && (self.port).is_none_or(|port| header.has_ports() && header.ports.contains(&port))
    }
}

/// The classes of a queue, in the order in which they are tried.
#[derive(Debug)]
pub struct Classes {
    rules: Vec<Rule>,
}

impl Classes {
    /// Builds the rules of these classes. A class's number is its index in `classes`.
    ///
    /// # Errors
    ///
    /// A sentence that says why packets cannot be assigned to these classes.
    pub fn new<'a>(
        classes: impl IntoIterator<Item = (&'a str, &'a Classifier)>,
    ) -> Result<Self, String> {
        let classes: Vec<_> = classes.into_iter().collect();
        for (place, (name, classifier)) in classes.iter().enumerate() {
            if classifier.dscp.is_some_and(|dscp| dscp > 63) {
                return Err(format!("class.{name}.match.dscp must be from 0 to 63"));
            }
            let earlier = &classes[..place];
            if let Some((other, _)) = earlier.iter().find(|(_, other)| other == classifier) {
                return Err(format!(
                    "class.{other} and class.{name} match the same packets"
                ));
            }
        }
        let mut order: Vec<_> = classes.iter().map(|(_, one)| *one).enumerate().collect();
        order.sort_by_key(|(number, classifier)| (classifier.sort_key(), *number));
        let rules = order.into_iter();
        Ok(Self {
            rules: rules.map(|(class, one)| Rule::new(one, class)).collect(),
        })
    }

    /// The number of the class to which a packet belongs; `None` if no class matches.
    #[inline]
    pub fn class_of(&self, packet: &Packet, cx: &Context<'_>) -> Option<usize> {
        let (header, dscp) = (cx.header(packet.flow), cx.dscp(packet));
        let rule = self.rules.iter().find(|rule| rule.holds(header, dscp))?;
        Some(rule.class)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Bench;

    /// The class of a flow of this protocol and DSCP, between ports 49152 and 443.
    fn class(classes: &[(&str, &Classifier)], protocol: Protocol, dscp: u8) -> Option<usize> {
        let classes = Classes::new(classes.iter().copied()).expect("they can be told apart");
        let mut bench = Bench::new();
        let flow = bench.flow_of(protocol, dscp);
        let packet = bench.packet(flow, 100);
        let class = classes.class_of(&packet, &bench.cx());
        bench.end(packet);
        class
    }

    #[test]
    fn a_more_specific_class_is_tried_first() {
        let all = Classifier::default();
        let udp = Classifier::of_protocol(TransportName::Udp);
        let tagged = Classifier::of_dscp(34);
        let port = Classifier {
            port: Some(443),
            protocol: Some(TransportName::Tcp),
            ..Classifier::default()
        };
        let classes = [("a", &all), ("b", &udp), ("c", &tagged), ("d", &port)];
        assert_eq!(class(&classes, Protocol::Icmp, 0), Some(0));
        assert_eq!(class(&classes, Protocol::Udp, 0), Some(1));
        assert_eq!(class(&classes, Protocol::Udp, 34), Some(2));
        assert_eq!(class(&classes, Protocol::Tcp, 34), Some(3));
    }

    #[test]
    fn echo_requests_have_no_ports() {
        let port = Classifier {
            port: Some(443),
            ..Classifier::default()
        };
        assert_eq!(class(&[("a", &port)], Protocol::Udp, 0), Some(0));
        assert_eq!(class(&[("a", &port)], Protocol::Icmp, 0), None);
    }

    #[test]
    fn all_conditions_must_hold() {
        let both = Classifier {
            dscp: Some(34),
            port: Some(443),
            protocol: Some(TransportName::Udp),
        };
        let classes = [("video", &both)];
        assert_eq!(class(&classes, Protocol::Udp, 34), Some(0));
        assert_eq!(class(&classes, Protocol::Udp, 0), None);
        assert_eq!(class(&classes, Protocol::Tcp, 34), None);
        let elsewhere = Classifier {
            port: Some(80),
            ..both
        };
        assert_eq!(class(&[("web", &elsewhere)], Protocol::Udp, 34), None);
    }

    #[test]
    fn classes_with_equal_conditions_or_invalid_dscps_are_refused() {
        let refusal = |classes: &[(&'static str, &Classifier)]| {
            Classes::new(classes.iter().copied()).expect_err("they cannot be")
        };
        let udp = Classifier::of_protocol(TransportName::Udp);
        let same = refusal(&[("a", &udp), ("b", &udp)]);
        assert!(same.contains("class.a and class.b"), "{same}");
        assert!(refusal(&[("a", &Classifier::of_dscp(64))]).contains("class.a.match.dscp"));
    }
}
