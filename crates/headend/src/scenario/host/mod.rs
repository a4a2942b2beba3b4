//! Hosts: how one is [written], its [addresses], and its plan.

mod addresses;
mod plan;
mod written;

pub(super) use addresses::{
    IPV6_SERVERS, UNNAMED_CUSTOMERS, UNNAMED_SERVERS, in_network, ipv6_blocks,
};
pub(super) use plan::{HostPlan, find_host, plan};
pub use written::Host;
