//! What an emulator asks of a scenario: its real hosts, and how punctual it must be.

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::clock::RealHost;
use crate::packet::Side;
use crate::scenario::host::{HostPlan, RealPlan};
use crate::scenario::plan::Scenario;
use crate::scenario::queue::MTU;
use crate::time::Duration;

/// How punctual a run with real hosts must be to be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Of the 99th percentile of how late packets are handed over.
    pub lateness: Duration,
    /// Of any stall.
    pub stall: Duration,
}

impl Scenario {
    /// The real hosts in the order of their names, which is that of their
    /// [numbers](crate::clock::RealHostId).
    pub fn real_hosts(&self) -> Vec<RealHost> {
        let real = self.hosts.iter().filter_map(|(name, host)| {
            let plan = host.real.as_ref()?;
            Some(real_host(name, host, plan))
        });
        real.collect()
    }

    /// How punctual a run with real hosts must be to be trusted.
    pub fn emulation(&self) -> Bounds {
        let written = self.raw().emulation.clone().unwrap_or_default();
        Bounds {
            lateness: written.lateness,
            stall: written.stall,
        }
    }
}

fn real_host(name: &str, host: &HostPlan, plan: &RealPlan) -> RealHost {
    RealHost {
        name: name.to_owned(),
        side: if host.via.is_empty() {
            Side::Peer
        } else {
            Side::Host
        },
        ipv4: Ipv4Addr::from_bits(plan.ipv4),
        ipv6: Ipv6Addr::from_bits(plan.ipv6.address),
        mtu: MTU,
        dscp: plan.dscp,
    }
}
