//! Buffer Control: the operator says how large a modem's buffer is to be (CM-GL-Buffer, "Cable Modem Buffer Control", §6.1).
//!
//! A sizing rule, not a law: the queue is drop-tail. The configuration file gives a minimum, a target and a maximum (TLV 24.35.1 to .3, bytes), each
//! optional; the device offers sizes in blocks, takes the offer within the bounds that is nearest to the target, and refuses the service flow when it
//! has none.
//!
//! Where the guideline leaves the choice to the vendor, this one: of two offers equally near, the smaller; without a target (or with 0), what
//! R carries in 50 ms, the size that "Active Queue Management in DOCSIS 3.x Cable Modems" compares as Buffer Control. What a packet takes of the
//! buffer is the vendor's choice too ([`Counts`]): it decides whether a small packet finds room where a large one does not.

use crate::aqm::Aqm;
use crate::aqm::{Governor, LawParameters};
use crate::context::Context;
use crate::packet::Packet;
use crate::queue::Limited;
use crate::queue::{Backlog, LineView};
use crate::rng::Rng;
use crate::time::Duration;
use crate::trace::DropReason;
use crate::units::{ByteCount, Limit, Rate};

/// Parameters of Buffer Control: what the configuration file asks for, and what the device can offer. All bytes are MAC PDU bytes on a DOCSIS
/// line, IP bytes on a plain link.
///
/// Use it where the modem has no AQM, or to know what the configuration file alone can do: less delay than the modem's own buffer, paid for
/// with rate for distant servers.
///
/// Source: CM-GL-Buffer, "Cable Modem Buffer Control", §6.1.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Least buffer to be accepted (TLV 24.35.1). A device that cannot offer it refuses the flow; only 24 KiB is guaranteed everywhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minimum: Option<ByteCount>,
    /// Buffer wanted (TLV 24.35.2). Raising it loses fewer packets of a burst and lets distant or many servers fill the line, and makes
    /// everybody wait longer behind an upload. Without it, or with 0, 50 ms at the sustained rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<ByteCount>,
    /// Most buffer to be accepted (TLV 24.35.3): bounds the delay, whatever the device likes to offer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maximum: Option<ByteCount>,
    /// Granularity of the device: it offers multiples of this.
    pub block: ByteCount,
    /// What a packet takes of the buffer. Where small packets take more than their bytes, calls lose packets beside an upload that keeps a small buffer full.
    pub counts: Counts,
    /// Least buffer the device offers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_minimum: Option<ByteCount>,
    /// Most buffer the device offers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_maximum: Option<ByteCount>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            minimum: None,
            target: None,
            maximum: None,
            // CM-GL-Buffer §6.1: the example of a granularity.
            block: ByteCount(1024),
            counts: Counts::Bytes,
            device_minimum: None,
            device_maximum: None,
        }
    }
}

/// What a packet takes of a buffer.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Counts {
    /// Its bytes.
    Bytes,
    /// Whole blocks, as a device does that manages its memory in blocks.
    Blocks,
    /// The room of a largest packet (1518 B), as a device does that has so many descriptors.
    Packets,
}

impl LawParameters for Config {
    type Law = BufferControl;

    fn law(&self, rate: Rate, _rng: Rng) -> Result<BufferControl, String> {
        let size = self.size(rate)?.0;
        let blocks = (self.counts == Counts::Blocks).then(|| Blocks {
            size: self.block.0,
            limit: size / self.block.0,
        });
        Ok(BufferControl { blocks })
    }

    fn governor(&self) -> Governor {
        Governor::Bound("target")
    }
}

impl Limited for Config {
    fn limit(&self, rate: Rate) -> Result<Limit, String> {
        let size = self.size(rate)?;
        match self.counts {
            Counts::Bytes | Counts::Blocks => Ok(Limit::Bytes(size)),
            Counts::Packets if size.0 < LARGEST_PACKET => Err(format!(
                "{size} have no room for one packet of {LARGEST_PACKET} B: ask for more"
            )),
            Counts::Packets => Ok(Limit::Packets(size.0 / LARGEST_PACKET)),
        }
    }
}

/// The tail of the buffer: refuses what finds no blocks. Where packets do not take blocks, the backlog's limit decides alone.
#[derive(Debug)]
pub struct BufferControl {
    blocks: Option<Blocks>,
}

#[derive(Debug)]
struct Blocks {
    /// Bytes of one.
    size: u64,
    /// As many as the buffer has.
    limit: u64,
}

impl Blocks {
    /// Whether `packet` finds enough of them beside what waits. They are counted at each arrival: a buffer has some hundred at most.
    fn admit(&self, backlog: &Backlog, packet: &Packet, line: &LineView<'_>) -> bool {
        let taken = |packet| line.framing.bytes(packet).div_ceil(self.size);
        let waiting: u64 = backlog.iter().map(taken).sum();
        waiting + taken(packet) <= self.limit
    }
}

impl Aqm for BufferControl {
    fn enqueue(
        &mut self,
        backlog: &mut Backlog,
        packet: Packet,
        line: &LineView<'_>,
        cx: &mut Context<'_>,
    ) {
        match &self.blocks {
            Some(blocks) if !blocks.admit(backlog, &packet, line) => {
                cx.discard(packet, DropReason::Overlimit);
            }
            _ => {
                backlog.push(packet, line, cx);
            }
        }
    }

    fn is_periodic(&self) -> bool {
        false
    }

    fn looks_at_grants(&self) -> bool {
        false
    }

    fn is_absent(&self) -> bool {
        self.blocks.is_none()
    }
}

impl Config {
    /// The size of the buffer for a sustained rate of `rate`.
    ///
    /// # Errors
    ///
    /// Why the device refuses the flow, as a sentence.
    pub fn size(&self, rate: Rate) -> Result<ByteCount, String> {
        if self.block.0 == 0 {
            return Err("block must be larger than zero".into());
        }
        let (minimum, maximum) = self.bounds()?;
        let (smallest, largest) = self.offers()?;
        let [block, at_most, at_least] = [self.block, largest, smallest].map(|bytes| bytes.0);
        let first = at_least.max(multiple_from(minimum.0, block));
        let last = at_most.min(maximum.0 / block * block);
        if at_most < minimum.0 {
            return Err(format!(
                "the device offers at most {largest}, less than the minimum ({minimum})"
            ));
        }
        if at_least > maximum.0 {
            return Err(format!(
                "the device offers at least {smallest}, more than the maximum ({maximum})"
            ));
        }
        if first > last {
            return Err(format!(
                "the device offers multiples of {}, none of them from {minimum} to {maximum}",
                self.block
            ));
        }
        let target = self.target_at(rate).clamp(first, last);
        Ok(ByteCount(nearest_multiple(target, block)))
    }

    /// What the configuration file accepts.
    fn bounds(&self) -> Result<(ByteCount, ByteCount), String> {
        let minimum = self.minimum.unwrap_or_default();
        let maximum = self.maximum.unwrap_or(LARGEST);
        if minimum > maximum {
            return Err(format!(
                "minimum ({minimum}) must not be larger than maximum ({maximum})"
            ));
        }
        match self.target {
            Some(target) if target.0 > 0 && target < minimum => Err(format!(
                "target ({target}) must not be smaller than minimum ({minimum})"
            )),
            Some(target) if target > maximum => Err(format!(
                "target ({target}) must not be larger than maximum ({maximum})"
            )),
            _ => Ok((minimum, maximum)),
        }
    }

    /// The device's smallest and largest offer.
    fn offers(&self) -> Result<(ByteCount, ByteCount), String> {
        let block = self.block.0;
        let smallest = multiple_from(self.device_minimum.unwrap_or_default().0.max(1), block);
        let largest = self.device_maximum.unwrap_or(LARGEST).0 / block * block;
        if smallest > largest {
            return Err(format!(
                "the device offers no multiple of its block ({})",
                self.block
            ));
        }
        Ok((ByteCount(smallest), ByteCount(largest)))
    }

    fn target_at(&self, rate: Rate) -> u64 {
        match self.target {
            Some(target) if target.0 > 0 => target.0,
            _ => rate.bytes_in(VENDOR_CHOICE),
        }
    }
}

/// The smallest multiple of `block` from `bytes` on.
fn multiple_from(bytes: u64, block: u64) -> u64 {
    bytes.div_ceil(block).saturating_mul(block)
}

/// The multiple of `block` nearest to `bytes`; of two equally near, the smaller.
fn nearest_multiple(bytes: u64, block: u64) -> u64 {
    let (below, rest) = (bytes / block * block, bytes % block);
    if rest > block - rest {
        below + block
    } else {
        below
    }
}

/// The largest value of the TLVs: 32 bits.
const LARGEST: ByteCount = ByteCount(u32::MAX as u64);
const VENDOR_CHOICE: Duration = Duration::from_millis(50);
/// The largest Ethernet frame, as a DOCSIS line counts it.
const LARGEST_PACKET: u64 = 1518;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::BacklogLimit;
    use crate::testing::Bench;

    const RATE: Rate = Rate(10_000_000);
    const LINE: LineView<'static> = LineView::plain(RATE);

    fn rng() -> Rng {
        Rng::for_path(1, "buffer_control")
    }

    /// Which packets of these sizes a buffer of 4 KiB takes in.
    fn admitted(counts: Counts, sizes: &[u16]) -> Vec<bool> {
        let config = Config {
            counts,
            ..file(None, Some(4096), None)
        };
        let mut bench = Bench::new();
        let flow = bench.flow(0);
        let mut law = LawParameters::law(&config, RATE, rng()).expect("a law");
        let limit = BacklogLimit::at_rate(config.limit(RATE).expect("a limit"), RATE);
        let mut backlog = Backlog::new(limit);
        let mut take = |&size: &u16| {
            let (before, packet) = (backlog.depth().packets, bench.packet(flow, size));
            law.enqueue(&mut backlog, packet, &LINE, &mut bench.cx());
            backlog.depth().packets > before
        };
        sizes.iter().map(&mut take).collect()
    }

    #[test]
    fn a_packet_takes_its_bytes_or_whole_blocks_or_the_room_of_a_largest() {
        let sizes = [1500, 1025, 1024, 100, 100];
        assert_eq!(
            admitted(Counts::Bytes, &sizes),
            [true, true, true, true, true]
        );
        // Two blocks, two, and none is left.
        assert_eq!(
            admitted(Counts::Blocks, &sizes),
            [true, true, false, false, false]
        );
        assert_eq!(
            admitted(Counts::Blocks, &[1500, 1024, 1, 1]),
            [true, true, true, false]
        );
        // 4096 B hold two of 1518 B.
        assert_eq!(
            admitted(Counts::Packets, &[40, 40, 40]),
            [true, true, false]
        );
    }

    #[test]
    fn a_buffer_without_room_for_a_packet_is_refused() {
        let config = Config {
            counts: Counts::Packets,
            ..file(None, Some(1024), None)
        };
        let refusal = config.limit(RATE).expect_err("no packet fits");
        assert!(refusal.contains("no room for one packet"), "{refusal}");
    }

    #[test]
    fn blocks_that_a_packet_leaves_are_free() {
        let config = Config {
            counts: Counts::Blocks,
            ..file(None, Some(2048), None)
        };
        let mut bench = Bench::new();
        let flow = bench.flow(0);
        let mut law = LawParameters::law(&config, RATE, rng()).expect("a law");
        let mut backlog = Backlog::new(BacklogLimit::Bytes(2048));
        for _ in 0..3 {
            let packet = bench.packet(flow, 1500);
            law.enqueue(&mut backlog, packet, &LINE, &mut bench.cx());
            assert!(law.dequeue(&mut backlog, &LINE, &mut bench.cx()).is_some());
        }
        assert_eq!(bench.take_discards().len(), 0);
    }

    #[test]
    fn with_bytes_or_packets_the_limit_decides_alone() {
        let is_absent = |counts| {
            let config = Config {
                counts,
                ..Config::default()
            };
            LawParameters::law(&config, RATE, rng()).is_ok_and(|law| law.is_absent())
        };
        assert!(is_absent(Counts::Bytes) && is_absent(Counts::Packets));
        assert!(!is_absent(Counts::Blocks));
    }

    /// A configuration file's minimum, target and maximum.
    fn file(minimum: Option<u64>, target: Option<u64>, maximum: Option<u64>) -> Config {
        let [minimum, target, maximum] = [minimum, target, maximum].map(|n| n.map(ByteCount));
        Config {
            minimum,
            target,
            maximum,
            ..Config::default()
        }
    }

    #[track_caller]
    fn assert_size(config: &Config, expected: u64) {
        assert_eq!(config.size(RATE), Ok(ByteCount(expected)));
    }

    #[track_caller]
    fn assert_refused(config: &Config, reason: &str) {
        let refusal = config.size(RATE).expect_err("the flow is refused");
        assert!(refusal.contains(reason), "{refusal}");
    }

    #[test]
    fn the_multiple_nearest_to_the_target_is_chosen() {
        assert_size(&file(None, Some(32_768), None), 32_768);
        assert_size(&file(None, Some(10_000), None), 10_240);
        assert_size(&file(None, Some(10_700), None), 10_240);
        assert_size(&file(None, Some(10_800), None), 11_264);
    }

    #[test]
    fn of_two_equally_near_the_smaller_is_chosen() {
        assert_size(&file(None, Some(1536), None), 1024);
        assert_size(&file(None, Some(1537), None), 2048);
    }

    #[test]
    fn the_choice_stays_within_the_bounds() {
        assert_size(&file(Some(10_000), Some(10_000), None), 10_240);
        assert_size(&file(Some(9_300), Some(9_300), None), 10_240);
        assert_size(&file(None, Some(10_000), Some(10_000)), 9_216);
    }

    #[test]
    fn a_tiny_target_gives_one_block() {
        assert_size(&file(None, Some(1), None), 1024);
    }

    #[test]
    fn without_a_target_it_is_50_ms_at_the_rate() {
        // 62 500 B; between 61 440 and 62 464, and 63 488.
        assert_size(&file(None, None, None), 62_464);
        assert_size(&file(None, Some(0), None), 62_464);
        assert_size(&file(None, None, Some(50_000)), 49_152);
        assert_size(&file(Some(100_000), None, None), 100_352);
    }

    #[test]
    fn a_flow_is_refused_when_the_device_is_too_small() {
        let config = Config {
            device_maximum: Some(ByteCount(24_576)),
            ..file(Some(24_577), None, None)
        };
        assert_refused(&config, "at most 24 KiB, less than the minimum (24577 B)");
        let fits = Config {
            minimum: Some(ByteCount(24_576)),
            ..config
        };
        assert_size(&fits, 24_576);
    }

    #[test]
    fn a_flow_is_refused_when_the_smallest_offer_is_too_large() {
        let config = Config {
            device_minimum: Some(ByteCount(8_000)),
            ..file(None, None, Some(8_191))
        };
        assert_refused(&config, "at least 8 KiB, more than the maximum (8191 B)");
        let fits = Config {
            maximum: Some(ByteCount(8_192)),
            ..config
        };
        assert_size(&fits, 8_192);
    }

    #[test]
    fn a_flow_is_refused_when_no_multiple_lies_between_the_bounds() {
        assert_refused(&file(Some(1025), None, Some(2047)), "none of them");
    }

    #[test]
    fn bounds_that_contradict_each_other_are_refused() {
        assert_refused(&file(Some(2048), None, Some(1024)), "minimum (2 KiB)");
        assert_refused(&file(Some(2048), Some(1024), None), "target (1 KiB)");
        assert_refused(&file(None, Some(2048), Some(1024)), "target (2 KiB)");
        let config = Config {
            block: ByteCount(0),
            ..Config::default()
        };
        assert_refused(&config, "block");
        let config = Config {
            device_maximum: Some(ByteCount(1000)),
            ..Config::default()
        };
        assert_refused(&config, "no multiple");
    }

    #[test]
    fn the_largest_target_is_no_overflow() {
        assert_size(&file(None, Some(u64::from(u32::MAX)), None), 4_294_966_272);
    }

    #[test]
    fn absurd_sizes_are_refused_and_do_not_overflow() {
        let most = Some(u64::MAX);
        let config = Config {
            block: ByteCount(1 << 63),
            ..file(most, most, most)
        };
        assert_refused(&config, "no multiple");
        let config = Config {
            device_minimum: Some(ByteCount(u64::MAX)),
            ..Config::default()
        };
        assert_refused(&config, "no multiple");
    }

    #[test]
    fn one_block_may_be_any_size() {
        let config = Config {
            block: ByteCount(1500),
            ..file(None, Some(4000), None)
        };
        assert_size(&config, 4500);
    }
}
