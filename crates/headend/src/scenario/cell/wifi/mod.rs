//! Cells of 802.11g, n, ac and ax: how one is [written](config), what each [standard](standard)
//! takes where the scenario says nothing, and how it is planned.

mod band;
mod config;
mod edca;
mod modes;
mod plan;
mod signal;
mod standard;

pub use band::Band;
pub use config::{Sharing, Wifi, WifiAccessPoint, WifiStation};
pub use edca::{Edca, EdcaCategory};
pub(in crate::scenario) use plan::plan;
pub use signal::VaryingRatio;
pub use standard::Standard;
