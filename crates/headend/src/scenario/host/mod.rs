//! Hosts: how one is [written](config), its [addresses], and its plan.

mod addresses;
mod config;
mod plan;
mod planned;

pub(super) use addresses::{
    IPV6_SERVERS, UNNAMED_CUSTOMERS, UNNAMED_SERVERS, in_network, ipv6_blocks,
};
pub use config::Host;
pub(super) use plan::{check_user_priority, plan};
pub(super) use planned::{HostPlan, RealPlan, find_host};
