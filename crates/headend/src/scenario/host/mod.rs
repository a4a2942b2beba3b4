//! Hosts: how one is [written], its [addresses], and its plan.

mod addresses;
mod plan;
mod planned;
mod written;

pub(super) use addresses::{
    IPV6_SERVERS, UNNAMED_CUSTOMERS, UNNAMED_SERVERS, in_network, ipv6_blocks,
};
pub(super) use plan::{check_user_priority, plan};
pub(super) use planned::{HostPlan, RealPlan, find_host};
pub use written::Host;
