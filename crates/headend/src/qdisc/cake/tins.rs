//! Tins: the classes of CAKE by DSCP, and the shares of the rate that are their thresholds.
//!
//! Source: the DSCPs and thresholds of a Linux 6.1, and tc-cake(8).

/// The tins, and which DSCPs belong to which.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Tins {
    /// One tin for all packets.
    Besteffort,
    /// Eight tins by the first three bits of the DSCP (RFC 791).
    Precedence,
    /// Three tins: bulk, best effort and voice.
    Diffserv3,
    /// Four tins: bulk, best effort, video and voice.
    Diffserv4,
    /// Eight tins, from low-effort traffic to network control.
    Diffserv8,
}

/// The number of DSCPs (RFC 2474 §3).
const DSCPS: usize = 64;

/// The DSCPs of some tins; the others belong to best effort.
type Named = &'static [(usize, &'static [u8])];

const DIFFSERV3: Named = &[(0, &[1, 8]), (2, &[4, 44, 46, 48, 56])];

const DIFFSERV4: Named = &[
    (0, &[1, 8]),
    (2, &[4, 16, 18, 20, 22, 24, 26, 28, 30, 34, 36, 38]),
    (3, &[32, 40, 44, 46, 48, 56]),
];

const DIFFSERV8: Named = &[
    (0, &[1]),
    (1, &[2, 8, 10, 12, 14]),
    (3, &[24, 26, 28, 30, 34, 36, 38]),
    (4, &[4, 18, 20, 22]),
    (5, &[16]),
    (6, &[32, 40, 44, 46]),
    (7, &[48, 56]),
];

impl Tins {
    /// The threshold of each tin as a share of the rate: numerator and denominator.
    pub(super) fn shares(self) -> Vec<(u64, u64)> {
        match self {
            Self::Besteffort => vec![(1, 1)],
            Self::Diffserv3 => vec![(1, 16), (1, 1), (1, 4)],
            Self::Diffserv4 => vec![(1, 16), (1, 1), (1, 2), (1, 4)],
            // Each has 7/8 of the one below it.
            Self::Precedence | Self::Diffserv8 => {
                (0..8).map(|tin| (7_u64.pow(tin), 8_u64.pow(tin))).collect()
            }
        }
    }

    /// The names of the tins: those of `tc -s qdisc`, where it has some.
    pub(super) const fn names(self) -> &'static [&'static str] {
        match self {
            Self::Besteffort => &["tin_0"],
            Self::Diffserv3 => &["bulk", "best_effort", "voice"],
            Self::Diffserv4 => &["bulk", "best_effort", "video", "voice"],
            Self::Precedence | Self::Diffserv8 => &[
                "tin_0", "tin_1", "tin_2", "tin_3", "tin_4", "tin_5", "tin_6", "tin_7",
            ],
        }
    }

    /// The tin of packets that ask for nothing.
    pub(super) const fn best_effort(self) -> usize {
        match self {
            Self::Besteffort | Self::Precedence => 0,
            Self::Diffserv3 | Self::Diffserv4 => 1,
            Self::Diffserv8 => 2,
        }
    }

    /// The tin of each DSCP.
    pub(super) fn table(self) -> [u8; DSCPS] {
        let named = match self {
            Self::Besteffort => &[],
            Self::Precedence => return std::array::from_fn(|dscp| dscp as u8 / 8),
            Self::Diffserv3 => DIFFSERV3,
            Self::Diffserv4 => DIFFSERV4,
            Self::Diffserv8 => DIFFSERV8,
        };
        let mut table = [self.best_effort() as u8; DSCPS];
        for &(tin, dscps) in named {
            for &dscp in dscps {
                table[usize::from(dscp)] = tin as u8;
            }
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_dscp_has_the_tin_that_it_has_in_a_kernel() {
        // CS0, LE, CS1, AF11, AF21, CS3, AF41, CS5, EF, CS6.
        let tins =
            |tins: Tins| [0, 1, 8, 10, 18, 24, 34, 40, 46, 48].map(|dscp| tins.table()[dscp]);
        assert_eq!(tins(Tins::Besteffort), [0; 10]);
        assert_eq!(tins(Tins::Precedence), [0, 0, 1, 1, 2, 3, 4, 5, 5, 6]);
        assert_eq!(tins(Tins::Diffserv3), [1, 0, 0, 1, 1, 1, 1, 1, 2, 2]);
        assert_eq!(tins(Tins::Diffserv4), [1, 0, 0, 1, 2, 2, 2, 3, 3, 3]);
        assert_eq!(tins(Tins::Diffserv8), [2, 0, 1, 1, 4, 3, 3, 6, 6, 7]);
    }

    #[test]
    fn every_tin_has_a_threshold() {
        use Tins::{Besteffort, Diffserv3, Diffserv4, Diffserv8, Precedence};
        for (tins, expected) in [
            (Besteffort, 1),
            (Precedence, 8),
            (Diffserv3, 3),
            (Diffserv4, 4),
            (Diffserv8, 8),
        ] {
            assert_eq!(tins.shares().len(), expected);
            assert_eq!(tins.names().len(), expected);
            let most = *tins.table().iter().max().expect("64 of them");
            assert_eq!(usize::from(most), expected - 1);
        }
    }
}
