//! Proportional rate reduction (RFC 6937): during fast recovery, the window falls to ssthresh in step with what is delivered, rather than at once.
//!
//! While more is in flight than ssthresh, it sends ssthresh over what was in flight at the start for each byte delivered; below, as much as was delivered and one
//! segment more (the slow start reduction bound).

/// The account of one recovery, in bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Prr {
    /// `RecoverFS`: what was outstanding when it began.
    outstanding: u64,
    /// `prr_delivered`.
    delivered: u64,
    /// `prr_out`.
    sent: u64,
}

impl Prr {
    /// Recovery begins with so much outstanding.
    pub(super) fn new(outstanding: u64) -> Self {
        Self {
            outstanding: outstanding.max(1),
            delivered: 0,
            sent: 0,
        }
    }

    /// So much was sent.
    pub(super) fn sent(&mut self, bytes: u64) {
        self.sent += bytes;
    }

    /// §3, on every acknowledgement: the window, with `delivered` more delivered and `pipe` in flight.
    pub(super) fn window(&mut self, delivered: u64, pipe: u64, ssthresh: u64, mss: u64) -> u64 {
        self.delivered += delivered;
        let may_send = if pipe > ssthresh {
            let due = u128::from(self.delivered) * u128::from(ssthresh);
            let due = due.div_ceil(u128::from(self.outstanding)) as u64;
            due.saturating_sub(self.sent)
        } else {
            let limit = self.delivered.saturating_sub(self.sent).max(delivered) + mss;
            (ssthresh - pipe).min(limit)
        };
        pipe + may_send
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    #[test]
    fn the_window_falls_in_step_with_what_is_delivered() {
        // Twenty outstanding, one lost, ssthresh ten: a segment for every second one delivered (RFC 6937 §4, example 1).
        let mut prr = Prr::new(20 * MSS);
        let (mut pipe, mut sent) = (19 * MSS, Vec::new());
        for n in 1..=16 {
            pipe -= MSS;
            let window = prr.window(MSS, pipe, 10 * MSS, MSS);
            if window >= pipe + MSS {
                prr.sent(MSS);
                pipe += MSS;
                sent.push(n);
            }
        }
        assert_eq!(sent, [2, 4, 6, 8, 10, 12, 14]);
        assert_eq!(pipe, 10 * MSS, "and there it stays");
    }

    #[test]
    fn below_ssthresh_it_sends_what_is_delivered_and_a_segment_more() {
        // Fifteen of twenty are lost at once (example 2).
        let mut prr = Prr::new(20 * MSS);
        assert_eq!(prr.window(MSS, 4 * MSS, 10 * MSS, MSS), 6 * MSS);
        prr.sent(2 * MSS);
        assert_eq!(prr.window(MSS, 5 * MSS, 10 * MSS, MSS), 7 * MSS);
        assert_eq!(
            prr.window(MSS, 9 * MSS, 10 * MSS, MSS),
            10 * MSS,
            "not beyond"
        );
    }
}
