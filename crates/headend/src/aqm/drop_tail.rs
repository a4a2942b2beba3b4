//! Drop-tail: takes what fits under the limit, refuses the rest. Buffer Control is this law with a limit the operator sets.

use super::Aqm;

/// No law but the backlog's limit.
#[derive(Debug, Default)]
pub struct DropTail;

impl Aqm for DropTail {}
