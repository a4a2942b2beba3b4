//! Times and sizes of the packets in one direction, stored once for all applications that send
//! them.

use std::fmt::Write as _;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::text::quote;

/// Packets in order of time: nanoseconds after the first packet of both directions, and IP bytes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(into = "String", try_from = "String")]
#[schemars(with = "String")]
pub struct Packets(Arc<Vec<(u64, u16)>>);

/// The smallest and the largest IP packet that can be sent as a datagram.
const SIZES: std::ops::RangeInclusive<u32> = 28..=u16::MAX as u32;

impl Packets {
    /// Packets at these times and with these sizes. Sizes outside the range of a datagram are set
    /// to the smallest or largest possible size.
    pub fn of(mut packets: Vec<(u64, u32)>) -> Self {
        packets.sort_by_key(|&(nanos, _)| nanos);
        let sized = packets
            .into_iter()
            .map(|(nanos, size)| (nanos, size.clamp(*SIZES.start(), *SIZES.end()) as u16));
        Self(Arc::new(sized.collect()))
    }

    /// Number of packets.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are no packets.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Time of the last packet; zero if there are no packets.
    pub fn last(&self) -> u64 {
        self.0.last().map_or(0, |&(nanos, _)| nanos)
    }

    /// Time and size of one packet.
    pub fn get(&self, number: usize) -> Option<(u64, u16)> {
        self.0.get(number).copied()
    }
}

impl From<Packets> for String {
    fn from(packets: Packets) -> Self {
        let mut text = Self::with_capacity(16 * packets.len());
        for (nanos, size) in packets.0.iter() {
            let comma = if text.is_empty() { "" } else { ", " };
            let _ = write!(text, "{comma}{nanos} {size}");
        }
        text
    }
}

impl TryFrom<String> for Packets {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let read = |part: &str| {
            let (nanos, size) = part.trim().split_once(' ')?;
            let size = size.trim().parse().ok()?;
            SIZES
                .contains(&size)
                .then_some((nanos.parse().ok()?, size as u16))
        };
        let mut packets = Vec::new();
        for part in text.split(',').filter(|part| !part.trim().is_empty()) {
            let number = packets.len() + 1;
            let Some(packet) = read(part) else {
                let part = quote(part.trim());
                return Err(format!(
                    "packet {number}: expected a time in nanoseconds and a size of 28 to 65535 IP \
                     bytes, such as \"20000000 200\", found {part}"
                ));
            };
            if packets.last().is_some_and(|&(before, _)| packet.0 < before) {
                return Err(format!(
                    "packet {number} comes before the one in front of it"
                ));
            }
            packets.push(packet);
        }
        Ok(Self(Arc::new(packets)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_written_as_they_are_read() {
        let text = "0 200, 0 40, 18446744073709551615 65535";
        let packets = Packets::try_from(text.to_owned()).expect("they are right");
        assert_eq!(packets.len(), 3);
        assert_eq!(packets.last(), u64::MAX);
        assert_eq!(String::from(packets), text);
        assert!(Packets::try_from(String::new()).is_ok_and(|none| none.is_empty()));
    }

    #[test]
    fn an_invalid_packet_is_reported_with_its_number() {
        let fault = |text: &str| Packets::try_from(text.to_owned()).expect_err(text);
        assert!(fault("0 200, x 40").starts_with("packet 2: expected"));
        assert!(fault("0 27").starts_with("packet 1: expected"));
        assert!(fault("5").starts_with("packet 1: expected"));
        assert!(fault("5 100, 4 100").starts_with("packet 2 comes before"));
    }

    #[test]
    fn packets_are_put_in_order_and_within_the_sizes_of_datagrams() {
        let packets = Packets::of(vec![(5, 20), (3, 100_000), (5, 60)]);
        assert_eq!(String::from(packets), "3 65535, 5 28, 5 60");
    }
}
