//! An exchange of frames: what a node that has won the channel sends, and what is answered.
//!
//! The sequence is fixed when the exchange begins: a CTS to itself where 802.11b stations must be
//! told, RTS and CTS before a long frame, the data, and the acknowledgement. SIFS separates the
//! frames. The exchange ends early at the first frame that does not arrive.

use super::phy::{self, Format, Mode};
use super::setup::Rules;
use super::usage::Use;
use super::window::Try;
use crate::time::{Duration, Instant};
use crate::trace::AirFrame;

/// Time from the start of an answer until its receiver detects it: the preamble and the SIGNAL
/// field of OFDM (aRxPHYStartDelay, Table 17-21).
const ANSWER_START: Duration = Duration::from_micros(20);

/// A frame of an exchange.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frame {
    pub(super) kind: AirFrame,
    pub(super) bytes: u64,
    pub(super) span: Duration,
    /// Whether the receiver of the data sends it.
    pub(super) is_answer: bool,
}

/// The mode that rate control has chosen for a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Chosen {
    /// Its number among the modes of the sender.
    pub(super) index: usize,
    /// Whether the frame is a probe, of one MPDU.
    pub(super) is_probe: bool,
}

/// The MPDUs that one frame carries.
#[derive(Debug, Clone, Copy)]
pub(super) struct Burst {
    /// The station that sends or receives it.
    pub(super) station: usize,
    pub(super) mode: Mode,
    pub(super) chosen: Chosen,
    /// The first MPDUs of the window that belong to it, and how many of them are sent.
    pub(super) span: usize,
    pub(super) mpdus: u32,
    /// Bytes of the PSDU.
    pub(super) bytes: u64,
}

/// What an exchange is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// This frame is on the air.
    Sends(usize),
    /// SIFS before this frame.
    Waits(usize),
    /// All is over.
    Ends,
}

/// How other frames overlap one at its receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Disturbance {
    /// No frame overlaps it.
    None,
    /// Frames overlap it from one time to the other, after its start. MPDUs outside of that time
    /// arrive.
    Between(Instant, Instant),
    /// Another frame was on the air when it began: the receiver missed its preamble.
    Missed,
}

impl Disturbance {
    /// Another frame overlaps it from `from` to `to`.
    pub(super) fn add(&mut self, from: Instant, to: Instant) {
        *self = match *self {
            Self::None => Self::Between(from, to),
            Self::Between(first, last) => Self::Between(first.min(from), last.max(to)),
            Self::Missed => Self::Missed,
        };
    }

    /// The same for the data of a frame, which starts after the preamble: without the preamble all
    /// is lost.
    pub(super) fn of_data(self, starts: Instant) -> Self {
        match self {
            Self::Between(first, _) if first < starts => Self::Missed,
            other => other,
        }
    }

    /// Whether what is on the air from `from` to `to` is lost.
    pub(super) fn covers(self, from: Instant, to: Instant) -> bool {
        match self {
            Self::None => false,
            Self::Between(first, last) => from < last && to > first,
            Self::Missed => true,
        }
    }
}

/// An exchange in progress.
#[derive(Debug)]
pub(super) struct Exchange {
    pub(super) contender: u32,
    pub(super) burst: Burst,
    frames: [Option<Frame>; 4],
    pub(super) begun: Instant,
    /// When the channel was won: the start of the TXOP.
    pub(super) won: Instant,
    pub(super) step: Step,
    /// When the step ends.
    pub(super) until: Instant,
    /// How other frames have overlapped the present one at its receiver.
    pub(super) disturbance: Disturbance,
    /// Whether the sender has been answered.
    pub(super) is_acknowledged: bool,
    /// Whether a frame arrived broken, or was disturbed: then other nodes wait for EIFS.
    pub(super) is_broken: bool,
    pub(super) what: Try,
    pub(super) usage: Use,
}

/// The frames around the data to and from a station, which depend on the mode alone.
#[derive(Debug, Clone, Copy)]
pub(super) struct Around {
    /// RTS and its answer.
    announcement: [Frame; 2],
    /// The CTS that a sender sends to itself, where 802.11b stations must be told.
    protection: Option<Frame>,
    ack: Frame,
    block_ack: Frame,
}

impl Rules {
    /// The frames around the data in a mode, with a block-acknowledgement window.
    pub(super) fn around(&self, mode: Mode, window: u32) -> Around {
        let control = self.phy.control(mode);
        // With 802.11b stations in the cell, these decode what reserves the channel.
        let protecting = self.protection.filter(|_| mode.format != Format::Dsss);
        let reserving = protecting.unwrap_or(control);
        let frame = |kind, bytes, mode, is_answer| Frame {
            kind,
            bytes,
            span: self.phy.frame(bytes, mode),
            is_answer,
        };
        let cts = |is_answer| frame(AirFrame::Cts, phy::ACK_BYTES, reserving, is_answer);
        let rts = frame(AirFrame::Rts, phy::RTS_BYTES, reserving, false);
        let block_ack = phy::block_ack_bytes(window);
        Around {
            announcement: [rts, cts(true)],
            protection: protecting.map(|_| cts(false)),
            ack: frame(AirFrame::Ack, phy::ACK_BYTES, control, true),
            block_ack: frame(AirFrame::BlockAck, block_ack, control, true),
        }
    }

    /// The frames of an exchange in order.
    pub(super) fn frames(&self, burst: &Burst, around: &Around) -> [Option<Frame>; 4] {
        let data = Frame {
            kind: AirFrame::Data,
            bytes: burst.bytes,
            span: self.phy.frame(burst.bytes, burst.mode),
            is_answer: false,
        };
        let answer = if burst.mpdus > 1 {
            around.block_ack
        } else {
            around.ack
        };
        let [rts, cts] = around.announcement;
        if burst.bytes > self.rts_threshold {
            return [Some(rts), Some(cts), Some(data), Some(answer)];
        }
        match around.protection {
            Some(cts) => [Some(cts), Some(data), Some(answer), None],
            None => [Some(data), Some(answer), None, None],
        }
    }

    /// The time between two frames of an exchange.
    pub(super) fn gap(&self) -> Duration {
        self.sifs + self.propagation
    }

    /// How long a sender waits for an answer before it knows that none comes, from the end of its
    /// frame on: SIFS, a slot, and the start of the slowest answer (§10.3.2.11).
    pub(super) fn timeout(&self) -> Duration {
        self.sifs + self.slot + ANSWER_START
    }
}

/// How long an exchange of these frames takes, besides the data.
pub(super) fn time_around(frames: &[Option<Frame>; 4], gap: Duration) -> Duration {
    let others = frames.iter().flatten();
    others
        .filter(|frame| frame.kind != AirFrame::Data)
        .map(|frame| frame.span + gap)
        .fold(Duration::ZERO, |sum, span| sum + span)
}

impl Exchange {
    pub(super) fn new(
        contender: u32,
        burst: Burst,
        frames: [Option<Frame>; 4],
        [won, begun]: [Instant; 2],
        usage: Use,
    ) -> Self {
        let announces = matches!(frames[0], Some(frame) if frame.kind == AirFrame::Rts);
        Self {
            contender,
            burst,
            frames,
            begun,
            won,
            step: Step::Waits(0),
            until: begun,
            disturbance: Disturbance::None,
            is_acknowledged: false,
            is_broken: false,
            what: if announces { Try::Long } else { Try::Short },
            usage,
        }
    }

    /// Whether its data was sent, and not only an RTS without an answer.
    pub(super) fn has_sent_data(&self) -> bool {
        self.what == Try::Long || self.frames[0].is_none_or(|frame| frame.kind != AirFrame::Rts)
    }

    pub(super) fn frame(&self, index: usize) -> Option<Frame> {
        self.frames.get(index).copied().flatten()
    }

    pub(super) fn frames(&self) -> impl Iterator<Item = Frame> + use<> {
        self.frames.into_iter().flatten()
    }
}
