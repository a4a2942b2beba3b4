//! Proportional rate reduction (RFC 9937, RFC 6937): during fast recovery, the window falls to
//! ssthresh in step with what is delivered, rather than at once.
//!
//! While more than ssthresh is in flight, each byte delivered lets out ssthresh / `RecoverFS`
//! bytes, where `RecoverFS` is what was in flight when recovery began. Below ssthresh, as much is
//! sent as was delivered, and a segment more: by RFC 6937 with every acknowledgement (its
//! slow-start reduction bound); by RFC 9937, which obsoletes it, only with a safe one, which moves
//! SND.UNA and shows no further loss.

use crate::tcp::config::PrrMode;

/// What one acknowledgement says, in bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Progress {
    /// `DeliveredData`: newly acknowledged, selectively or not.
    pub(super) delivered: u64,
    /// `inflight`, or `pipe`: what is in flight after it.
    pub(super) in_flight: u64,
    /// Whether SND.UNA moved and nothing was newly lost.
    pub(super) is_safe: bool,
}

/// The state of one recovery, in bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Prr {
    /// Whether RFC 6937 is followed.
    is_old: bool,
    /// `RecoverFS`: what was outstanding when it began.
    outstanding: u64,
    /// `prr_delivered`.
    delivered: u64,
    /// `prr_out`.
    sent: u64,
}

impl Prr {
    /// Recovery begins, and can still deliver `outstanding` bytes: RFC 9937 leaves out what had
    /// been selectively acknowledged before. `None` where `mode` is off.
    pub(super) fn new(mode: PrrMode, outstanding: u64) -> Option<Self> {
        (mode != PrrMode::Off).then(|| Self {
            is_old: mode == PrrMode::Rfc6937,
            outstanding: outstanding.max(1),
            delivered: 0,
            sent: 0,
        })
    }

    /// `bytes` were sent.
    pub(super) fn sent(&mut self, bytes: u64) {
        self.sent += bytes;
    }

    /// RFC 9937 §6.2, RFC 6937 §3, on every acknowledgement: the window.
    pub(super) fn window(&mut self, progress: Progress, ssthresh: u64, mss: u64) -> u64 {
        let Progress {
            delivered,
            in_flight,
            is_safe,
        } = progress;
        self.delivered += delivered;
        let may_send = if in_flight > ssthresh {
            let due = u128::from(self.delivered) * u128::from(ssthresh);
            let due = due.div_ceil(u128::from(self.outstanding)) as u64;
            due.saturating_sub(self.sent)
        } else {
            let conserved = self.delivered.saturating_sub(self.sent).max(delivered);
            let more = if is_safe || self.is_old { mss } else { 0 };
            (ssthresh - in_flight).min(conserved + more)
        };
        if may_send == 0 && self.sent == 0 && !self.is_old {
            // RFC 9937 §6.2: the fast retransmit leaves in any case.
            return in_flight + mss;
        }
        in_flight + may_send
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    fn prr(mode: PrrMode, segments: u64) -> Prr {
        Prr::new(mode, segments * MSS).expect("on")
    }

    /// The window in segments after an acknowledgement of `delivered` that leaves `in_flight`, with
    /// an ssthresh of ten.
    fn window(prr: &mut Prr, delivered: u64, in_flight: u64, is_safe: bool) -> u64 {
        let progress = Progress {
            delivered: delivered * MSS,
            in_flight: in_flight * MSS,
            is_safe,
        };
        prr.window(progress, 10 * MSS, MSS) / MSS
    }

    #[test]
    fn where_it_is_off_there_is_none() {
        assert!(Prr::new(PrrMode::Off, 20 * MSS).is_none());
    }

    #[test]
    fn the_window_falls_in_step_with_what_is_delivered() {
        // Twenty outstanding, one lost, ssthresh ten: a segment for every second one delivered (RFC
        // 6937 §4, example 1).
        for mode in [PrrMode::Rfc6937, PrrMode::Rfc9937] {
            let mut prr = prr(mode, 20);
            let (mut in_flight, mut sent) = (19, Vec::new());
            for n in 1..=16 {
                in_flight -= 1;
                if window(&mut prr, 1, in_flight, false) > in_flight {
                    prr.sent(MSS);
                    in_flight += 1;
                    sent.push(n);
                }
            }
            assert_eq!(in_flight, 10, "and there it stays");
            assert_eq!(sent, [2, 4, 6, 8, 10, 12, 14], "{mode:?}");
        }
    }

    #[test]
    fn the_newer_one_lets_the_first_repair_out_in_any_case() {
        for (mode, expected) in [(PrrMode::Rfc6937, 15), (PrrMode::Rfc9937, 16)] {
            assert_eq!(window(&mut prr(mode, 20), 0, 15, false), expected);
        }
    }

    #[test]
    fn below_ssthresh_the_older_one_sends_what_is_delivered_and_a_segment_more() {
        // Fifteen of twenty are lost at once (RFC 6937 §4, example 2).
        let mut prr = prr(PrrMode::Rfc6937, 20);
        assert_eq!(window(&mut prr, 1, 4, false), 6);
        prr.sent(2 * MSS);
        assert_eq!(window(&mut prr, 1, 5, false), 7);
        assert_eq!(window(&mut prr, 1, 9, true), 10, "not beyond");
    }

    #[test]
    fn below_ssthresh_the_newer_one_sends_a_segment_more_only_when_the_repair_goes_well() {
        let mut prr = prr(PrrMode::Rfc9937, 20);
        // As much as is delivered while losses become known, or only SACK blocks tell of it.
        for in_flight in [4, 4, 4] {
            assert_eq!(window(&mut prr, 1, in_flight, false), in_flight + 1);
            prr.sent(MSS);
        }
        for in_flight in [4, 5, 6, 7, 8] {
            assert_eq!(window(&mut prr, 1, in_flight, true), in_flight + 2);
            prr.sent(2 * MSS);
        }
        assert_eq!(window(&mut prr, 1, 9, true), 10, "not beyond");
    }

    #[test]
    fn what_was_delivered_and_not_used_may_be_sent_later() {
        let mut prr = prr(PrrMode::Rfc9937, 20);
        prr.sent(MSS);
        for delivered in [1, 1, 1] {
            window(&mut prr, delivered, 4, false);
        }
        // Four delivered, one sent.
        assert_eq!(window(&mut prr, 1, 4, false), 7);
    }
}
