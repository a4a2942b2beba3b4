//! The bytes that CAKE's shaper counts for a packet.
//!
//! The rate of a line below counts bytes that an IP packet does not have: headers, padding, cells.
//! tc-cake(8): the overhead is added, then the size is raised to the minimum, then the packet is
//! put into ATM cells (48 of 53 bytes carry it) or PTM frames (64 of 65 bytes).
//!
//! Without an overhead of its own, CAKE counts what the kernel counts: the IP packet and its
//! Ethernet header.

/// The header that the kernel counts.
const ETHERNET: i64 = 14;

/// The smallest and largest overhead (tc-cake(8)).
const OVERHEADS: std::ops::RangeInclusive<i64> = -64..=256;
/// The largest minimum (tc-cake(8)).
const MOST_MPU: u16 = 256;

/// How packets are carried below.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Carrier {
    Atm,
    Plain,
    Ptm,
}

/// How the bytes of a packet are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sizes {
    overhead: i64,
    mpu: i64,
    carrier: Carrier,
}

impl Sizes {
    /// `overhead` in bytes, `None` for the size that the kernel counts; `mpu`, the minimum in
    /// bytes.
    ///
    /// # Errors
    ///
    /// A sentence about the first invalid parameter.
    pub(super) fn new(
        overhead: Option<i16>,
        mpu: u16,
        (atm, ptm): (bool, bool),
    ) -> Result<Self, String> {
        let overhead = overhead.map_or(ETHERNET, i64::from);
        if !OVERHEADS.contains(&overhead) {
            return Err(format!("overhead must be from -64 to 256, not {overhead}"));
        }
        if mpu > MOST_MPU {
            return Err(format!("mpu must be from 0 to {MOST_MPU}, not {mpu}"));
        }
        let carrier = match (atm, ptm) {
            (true, true) => return Err("atm and ptm exclude each other".into()),
            (true, false) => Carrier::Atm,
            (false, true) => Carrier::Ptm,
            (false, false) => Carrier::Plain,
        };
        Ok(Self {
            overhead,
            mpu: i64::from(mpu),
            carrier,
        })
    }

    /// Bytes on the wire of a packet of so many IP bytes.
    #[inline]
    pub(super) fn size_on_wire(&self, ip_bytes: u16) -> u64 {
        let size = (i64::from(ip_bytes) + self.overhead).max(self.mpu).max(0) as u64;
        match self.carrier {
            Carrier::Atm => size.div_ceil(48) * 53,
            Carrier::Plain => size,
            Carrier::Ptm => size + size.div_ceil(64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: (bool, bool) = (false, false);
    const ATM: (bool, bool) = (true, false);
    const PTM: (bool, bool) = (false, true);

    /// Vectors of a Linux 6.1: the bytes counted for 46, 100, 576 and 1500 IP bytes.
    #[test]
    fn packets_have_the_sizes_that_a_kernel_counts() {
        for (name, overhead, mpu, carrier, expected) in [
            ("raw", None, 0, PLAIN, [60, 114, 590, 1514]),
            ("overhead 0", Some(0), 0, PLAIN, [46, 100, 576, 1500]),
            ("ethernet", Some(38), 84, PLAIN, [84, 138, 614, 1538]),
            ("docsis", Some(18), 64, PLAIN, [64, 118, 594, 1518]),
            ("overhead 44 atm", Some(44), 0, ATM, [106, 159, 689, 1749]),
            ("bridged-llcsnap", Some(32), 0, ATM, [106, 159, 689, 1696]),
            ("conservative", Some(48), 0, ATM, [106, 212, 689, 1749]),
            ("bridged-ptm", Some(22), 0, PTM, [70, 124, 608, 1546]),
            ("pppoe-ptm", Some(30), 0, PTM, [78, 133, 616, 1554]),
            ("overhead -10", Some(-10), 0, PLAIN, [36, 90, 566, 1490]),
            ("mpu 256", None, 256, PLAIN, [256, 256, 590, 1514]),
        ] {
            let sizes = Sizes::new(overhead, mpu, carrier).expect(name);
            let found = [46, 100, 576, 1500].map(|bytes| sizes.size_on_wire(bytes));
            assert_eq!(found, expected, "{name}");
        }
    }

    #[test]
    fn invalid_parameters_are_refused() {
        let refusal = |overhead, mpu, carrier| Sizes::new(overhead, mpu, carrier).err();
        let about = |refusal: Option<String>, key| refusal.is_some_and(|why| why.contains(key));
        assert!(about(refusal(Some(-65), 0, PLAIN), "overhead"));
        assert!(about(refusal(Some(257), 0, PLAIN), "overhead"));
        assert!(about(refusal(None, 257, PLAIN), "mpu"));
        assert!(about(refusal(None, 0, (true, true)), "atm and ptm"));
    }
}
