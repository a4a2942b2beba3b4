//! Containers that the standard library does not have.

mod deque;
mod earliest;

pub(crate) use deque::Deque;
pub(crate) use earliest::Earliest;
