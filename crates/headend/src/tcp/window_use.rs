//! Whether a connection uses its congestion window, so that the window may grow.
//!
//! Without this, an application that sends little would have a window that says nothing about the
//! network (RFC 7661). Strictly, a window may grow while it is what holds the sender back. Linux
//! remembers for longer: a window that was used up once counts as used until all that was
//! outstanding then is acknowledged, and in slow start it may grow until it is twice what was
//! outstanding at most.

/// When a window may grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Growth {
    /// While nothing else holds the sender back.
    WhileUsed,
    /// As Linux does: see above.
    BeyondUse,
}

/// How much of the window was used.
#[derive(Debug)]
pub(super) struct WindowUse {
    growth: Growth,
    /// The window stopped the latest round of sending.
    limited: bool,
    remembered: Remembered,
    /// Something was sent since the latest round ended.
    has_sent: bool,
}

/// What Linux remembers of a window of data.
#[derive(Debug, Default)]
struct Remembered {
    /// The window stopped a round of sending.
    limited: bool,
    /// Bytes outstanding at most.
    most: u64,
    /// Once everything before this is acknowledged, the window of data is over.
    end: u64,
}

impl WindowUse {
    /// Nothing was sent yet.
    pub(super) fn new(growth: Growth) -> Self {
        Self {
            growth,
            limited: false,
            remembered: Remembered::default(),
            has_sent: false,
        }
    }

    /// A segment was sent.
    #[inline]
    pub(super) fn sent(&mut self) {
        self.has_sent = true;
    }

    /// A round of sending ended: the window stopped it or something else did. Outstanding is what
    /// is between `una` and `nxt`.
    #[inline]
    pub(super) fn round_ended(&mut self, limited: bool, una: u64, nxt: u64) {
        self.limited = limited;
        let outstanding = nxt - una;
        let remembered = &mut self.remembered;
        let is_news = una >= remembered.end
            || limited
            || (!remembered.limited && outstanding > remembered.most);
        let says_something = std::mem::take(&mut self.has_sent) || limited;
        if says_something && is_news {
            *remembered = Remembered {
                limited,
                most: outstanding,
                end: nxt,
            };
        }
    }

    /// Whether a window of `cwnd` bytes may grow.
    #[inline]
    pub(super) fn may_grow(&self, cwnd: u64, in_slow_start: bool) -> bool {
        match self.growth {
            Growth::WhileUsed => self.limited,
            Growth::BeyondUse => {
                self.remembered.limited || (in_slow_start && cwnd < 2 * self.remembered.most)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Growth, WindowUse};

    /// A sender whose window of 10 000 bytes was used up by 10 000, and then by 3000 more.
    fn used_then_not(growth: Growth) -> WindowUse {
        let mut used = WindowUse::new(growth);
        used.sent();
        used.round_ended(true, 0, 10_000);
        assert!(used.may_grow(10_000, false));
        used.sent();
        used.round_ended(false, 5000, 13_000);
        used
    }

    #[test]
    fn strictly_a_window_grows_only_while_it_holds_the_sender_back() {
        assert!(!used_then_not(Growth::WhileUsed).may_grow(10_000, true));
    }

    #[test]
    fn what_was_used_up_counts_for_a_window_of_data() {
        let mut used = used_then_not(Growth::BeyondUse);
        assert!(used.may_grow(10_000, false));
        used.sent();
        used.round_ended(false, 9999, 14_000);
        assert!(used.may_grow(10_000, false));
        used.sent();
        used.round_ended(false, 10_000, 15_000);
        assert!(!used.may_grow(10_000, false));
    }

    #[test]
    fn in_slow_start_a_window_may_be_twice_what_was_outstanding() {
        let mut used = WindowUse::new(Growth::BeyondUse);
        used.sent();
        used.round_ended(false, 0, 6000);
        assert!(used.may_grow(11_999, true) && !used.may_grow(11_999, false));
        assert!(!used.may_grow(12_000, true));
        // A round in which nothing was sent says nothing.
        used.round_ended(false, 6000, 6000);
        assert!(used.may_grow(11_999, true));
    }
}
