//! A timer that costs at most one pending event however often it is set.
//!
//! Nothing is cancelled in the event queue. A deadline that moves later, as the retransmission timer's does with every acknowledgement, leaves the
//! pending wake-up where it is; when that comes early, the timer asks for the next one.

use crate::context::Context;
use crate::endpoint::wake_endpoint;
use crate::flow::FlowId;
use crate::time::Instant;

/// What is still to be woken for.
#[derive(Debug)]
pub(super) struct Timer {
    token: u32,
    /// The wake-up that counts; any other is out of date.
    armed: Option<Instant>,
}

impl Timer {
    /// A timer whose wake-ups carry `token`.
    pub(super) const fn new(token: u32) -> Self {
        Self { token, armed: None }
    }

    /// Sees to it that a wake-up comes at `deadline` or before.
    #[inline]
    pub(super) fn arm(&mut self, deadline: Option<Instant>, flow: FlowId, cx: &mut Context<'_>) {
        if let Some(at) = deadline
            && self.armed.is_none_or(|armed| at < armed)
        {
            let at = at.max(cx.now);
            self.armed = Some(at);
            wake_endpoint(cx, flow, at, self.token);
        }
    }

    /// A wake-up with its token has come: whether it is the one that counts.
    pub(super) fn woken(&mut self, now: Instant) -> bool {
        if self.armed == Some(now) {
            self.armed = None;
            return true;
        }
        false
    }
}
