//! The DOCSIS cable line.
pub mod preset;
pub mod timing;
pub mod token_bucket;
