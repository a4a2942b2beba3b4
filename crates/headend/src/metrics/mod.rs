//! What a run measures: counters, delay histograms, time series and the scores of applications.

pub mod air;
pub mod channel;
pub mod deadline;
pub(crate) mod frames;
pub mod histogram;
pub mod life;
pub mod measure;
pub mod mib;
pub(crate) mod periods;
pub mod protection;
pub mod rate_control;
pub mod real;
pub mod recorder;
pub mod sample;
pub mod send_limit;
pub mod table;
pub mod tcp_info;
pub mod tins;
pub mod utilisation;
pub mod voice;

pub use measure::Measure;
pub use recorder::Recorder;
