//! Buffer Control: the operator configures the size of a modem's buffer (CM-GL-Buffer, "Cable Modem
//! Buffer Control", §6.1).
//!
//! This is a rule for the size, not a control law: the queue is drop-tail. The configuration file
//! gives a minimum, a target and a maximum (TLV 24.35.1 to .3, bytes), each of them optional. The
//! device offers sizes that are multiples of a block. It takes the size within the bounds that is
//! nearest to the target, and refuses the service flow if there is none.
//!
//! Choices, where the guideline leaves them to the vendor:
//!
//! - Of two sizes equally near to the target, the smaller is taken.
//! - Without a target (or with 0), the target is what the rate R carries in 50 ms. "Active Queue
//!   Management in DOCSIS 3.x Cable Modems" uses this size for Buffer Control.
//! - [`Counts`] says how much of the buffer a packet occupies. It decides whether a small packet
//!   still fits where a large one does not.

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

/// Parameters of Buffer Control: the values in the configuration file, and the sizes that the
/// device can offer. All bytes are MAC PDU bytes on a DOCSIS line, and IP bytes on a plain link.
///
/// Use it where the modem has no AQM, or to find out what the configuration file alone can achieve.
/// It gives less delay than the modem's own buffer, and a lower rate from distant servers.
///
/// Source: CM-GL-Buffer, "Cable Modem Buffer Control", §6.1.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Smallest acceptable buffer (TLV 24.35.1). A device that cannot offer it refuses the flow.
    /// Only 24 KiB is guaranteed on every device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minimum: Option<ByteCount>,
    /// Target size of the buffer (TLV 24.35.2). Raising it drops fewer packets of a burst and lets
    /// distant or many servers fill the line. It also makes all packets behind an upload wait
    /// longer. Without it, or with 0, the target is 50 ms at the sustained rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<ByteCount>,
    /// Largest acceptable buffer (TLV 24.35.3). It bounds the delay, whatever sizes the device
    /// offers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maximum: Option<ByteCount>,
    /// Granularity of the device, which offers multiples of this size.
    pub block: ByteCount,
    /// How much of the buffer a packet occupies. If small packets occupy more than their bytes,
    /// calls lose packets beside an upload that keeps a small buffer full.
    pub counts: Counts,
    /// Smallest buffer that the device offers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_minimum: Option<ByteCount>,
    /// Largest buffer that the device offers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_maximum: Option<ByteCount>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            minimum: None,
            target: None,
            maximum: None,
            // CM-GL-Buffer §6.1: the guideline's example of a granularity.
            block: ByteCount(1024),
            counts: Counts::Bytes,
            device_minimum: None,
            device_maximum: None,
        }
    }
}

/// How much of a buffer a packet occupies.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Counts {
    /// Its own bytes.
    Bytes,
    /// Whole blocks, on a device that manages its memory in blocks.
    Blocks,
    /// The size of the largest packet (1518 B), on a device that has a fixed number of descriptors.
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

/// Discards packets that do not fit in the free blocks. Where packets do not occupy blocks, the
/// backlog's limit alone decides.
#[derive(Debug)]
pub struct BufferControl {
    blocks: Option<Blocks>,
}

#[derive(Debug)]
struct Blocks {
    /// Bytes of one block.
    size: u64,
    /// The number of blocks in the buffer.
    limit: u64,
}

impl Blocks {
    /// Whether enough blocks are free for `packet`. The occupied blocks are counted again at each
    /// arrival; a buffer holds a few hundred packets at most.
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
    /// A sentence that says why the device refuses the flow.
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

    /// The smallest and the largest size that the configuration file accepts.
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

    /// The smallest and the largest size that the device offers.
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

/// The smallest multiple of `block` that is not below `bytes`.
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

/// The largest value of the TLVs, which have 32 bits.
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

    /// For each packet of these sizes, whether a buffer of 4 KiB enqueues it.
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
        // The first two packets occupy two blocks each, and no block is left.
        assert_eq!(
            admitted(Counts::Blocks, &sizes),
            [true, true, false, false, false]
        );
        assert_eq!(
            admitted(Counts::Blocks, &[1500, 1024, 1, 1]),
            [true, true, true, false]
        );
        // 4096 B are room for two packets of 1518 B.
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

    /// Parameters with this minimum, target and maximum in the configuration file.
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
        // The target is 62 500 B, between the offers 62 464 and 63 488.
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
