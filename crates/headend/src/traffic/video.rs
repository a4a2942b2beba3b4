//! Video that does not give way: frames at even intervals, of sizes that vary about a bit rate, each sent as a burst of packets or spread out.
//!
//! What cloud games and conferences of a fixed rate have in common. Each side draws its frames' sizes from a stream of random numbers of its own:
//! nothing that happens on the line changes what is sent, or when.

use super::AppContext;
use super::drawn::Law;
use super::stream::Pace;
use crate::flow::FlowId;
use crate::metrics::Measure;
use crate::metrics::frames::{Scorer, Scoring};
use crate::metrics::measure::{Chart, Felt, Kind, Unit};
use crate::packet::Side;
use crate::rng::Rng;
use crate::time::{Duration, Instant};
use crate::units::Rate;

/// One sample for each scoring period: the mean over the frames that came whole, NaN where none
/// did.
pub(super) static FRAME_DELAY: Kind = Kind {
    is_periodic: true,
    felt: Felt::AtOnce,
    place: 120,
    compared_by: &[("frame delay p50", "p50"), ("frame delay p95", "p95")],
    chart: Some(Chart {
        name: "video",
        title: "Frame delay",
        axis: "frame delay (ms)",
        factor: 1e-6,
        explanation: "How long a video frame takes from its encoding until its last packet is \
                      there, in the mean of each scoring period. A call is at its ease below 150 \
                      ms, a cloud game below 50 ms; a rise is a queue that fills, a gap a time in \
                      which no frame came whole.",
        is_points: false,
        is_after_queues: false,
        place: 20,
    }),
    ..Kind::new(
        "frame_delay",
        Unit::Time,
        "From the encoding of a video's frame to the arrival of its last packet.",
    )
};

/// One sample for each scoring period.
pub(super) static FRAMES_LATE: Kind = Kind {
    is_periodic: true,
    place: 130,
    compared_by: &[("frames late", "mean")],
    ..Kind::new(
        "frames_late",
        Unit::Share,
        "Share of a video's frames that were not whole at their deadline.",
    )
};

/// One sample for each scoring period.
pub(super) static FROZEN: Kind = Kind {
    is_periodic: true,
    place: 140,
    compared_by: &[("picture still", "mean")],
    ..Kind::new(
        "frozen",
        Unit::Share,
        "Share of the time in which the picture of a video stood still.",
    )
};

/// One sample for each scoring period.
pub(super) static VIDEO_RATE: Kind = Kind {
    is_periodic: true,
    place: 150,
    compared_by: &[("video rate", "mean")],
    chart: Some(Chart {
        name: "live-video-rate",
        title: "Rate of live video that arrived",
        axis: "live video that arrived (Mbit/s)",
        factor: 1e-6,
        explanation: "What arrived of the frames of each video call or cloud game in each scoring \
                      period. The rate of a call follows the line: it should climb to the best \
                      that the call can send and stay; a fall is a line that has less to give, or \
                      a sender that takes a queue for that. ↑ is what the other side sees.",
        is_points: false,
        is_after_queues: false,
        place: 30,
    }),
    ..Kind::new(
        "video_rate",
        Unit::Rate,
        "Rate of a video's frames that arrived.",
    )
};

/// What video both ways reports.
pub(super) const MEASURES: &[Measure] = &[
    FRAME_DELAY.up(),
    FRAME_DELAY.down(),
    FRAMES_LATE.up(),
    FRAMES_LATE.down(),
    FROZEN.up(),
    FROZEN.down(),
    VIDEO_RATE.up(),
    VIDEO_RATE.down(),
];

/// What one side's video is like. All of it has been checked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Format {
    /// Rate in IP bytes.
    pub(super) rate: Rate,
    /// Frames a second.
    pub(super) frame_rate: u32,
    /// Standard deviation of the natural logarithm of a frame's size.
    pub(super) sigma: f64,
    /// Frames from one key frame to the next; 0 for none.
    pub(super) key_every: u64,
    /// Size of a key frame, in those of others.
    pub(super) key_ratio: f64,
    /// Largest packet, IP bytes.
    pub(super) packet: u16,
    /// Time over which the packets of a frame are sent, less than that between two frames.
    pub(super) spread: Duration,
}

impl Format {
    /// Mean size of frame `number`, IP bytes: key frames are larger, and the others as much smaller as keeps the rate.
    fn mean(&self, number: u64) -> f64 {
        let mean = self.rate.0 as f64 / 8.0 / f64::from(self.frame_rate);
        if self.key_every == 0 {
            return mean;
        }
        let frames = self.key_every as f64;
        let other = mean * frames / (frames - 1.0 + self.key_ratio);
        if number.is_multiple_of(self.key_every) {
            other * self.key_ratio
        } else {
            other
        }
    }
}

/// A frame as packets: as few as hold it, as equal as can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Packets {
    bytes: u32,
    /// How many in all.
    pub(super) count: u32,
}

impl Packets {
    /// A frame of so many IP bytes in packets of at most `largest`. A frame has at least [`SMALLEST`] bytes and at most [`MOST`] packets.
    pub(super) fn of(bytes: f64, largest: u16) -> Self {
        let most = f64::from(MOST) * f64::from(largest);
        let bytes = bytes.round().clamp(f64::from(SMALLEST), most) as u32;
        Self {
            bytes,
            count: bytes.div_ceil(u32::from(largest)),
        }
    }

    /// Size of the packet at `index`.
    pub(super) fn size(self, index: u32) -> u16 {
        let larger = self.bytes % self.count;
        (self.bytes / self.count + u32::from(index < larger)) as u16
    }
}

/// The two halves of a video stream.
#[derive(Debug)]
pub(super) struct Video {
    format: Format,
    /// Which sides send.
    sides: [bool; 2],
    halves: [Half; 2],
    flow: Option<FlowId>,
    stopped: bool,
}

#[derive(Debug)]
struct Half {
    scorer: Scorer,
    rng: Option<Rng>,
    /// When the first frame was encoded.
    first: Instant,
    /// Frames so far.
    frames: u64,
    /// The frame that is being sent: its number in the scorer, when it was encoded, and how many of its packets are sent.
    frame: u64,
    encoded_at: Instant,
    packets: Packets,
    sent: u32,
}

impl Video {
    /// Video from `sides` that begins when it is started.
    pub(super) fn new(
        format: Format,
        sides: [bool; 2],
        deadline: Duration,
        period: Duration,
    ) -> Self {
        let half = || Half {
            scorer: Scorer::new(Scoring {
                deadline,
                period,
                interval: Pace::per_second(format.frame_rate).gap(),
            }),
            rng: None,
            first: Instant::ZERO,
            frames: 0,
            frame: 0,
            encoded_at: Instant::ZERO,
            packets: Packets::default(),
            sent: 0,
        };
        Self {
            format,
            sides,
            halves: [half(), half()],
            flow: None,
            stopped: false,
        }
    }

    /// Opens the flow; wake-ups with the tokens [`FRAME`] and [`PACKET`] plus the sending side's index follow.
    pub(super) fn start(&mut self, cx: &mut AppContext<'_>) {
        self.flow = Some(cx.open_datagrams(0));
        let interval = Pace::per_second(self.format.frame_rate).gap();
        for side in Side::BOTH {
            // Both sides draw in any case: a side sends the same alone and with the other.
            let mut rng = cx.rng.fork();
            let half = &mut self.halves[side.index()];
            half.first = cx.now + rng.span(interval);
            half.scorer.start(cx.now, cx.begun_of(half.scorer.period()));
            half.rng = Some(rng);
            if self.sides[side.index()] {
                cx.wake_at(half.first, FRAME + side.index() as u64);
            }
        }
    }

    /// Whether a flow is this video's.
    pub(super) fn owns(&self, flow: FlowId) -> bool {
        self.flow == Some(flow)
    }

    /// A wake-up has come.
    pub(super) fn wake(&mut self, token: u64, cx: &mut AppContext<'_>) {
        let side = Side::BOTH[token as usize % 2];
        if token - side.index() as u64 == PACKET {
            self.send(side, cx);
        } else if !self.stopped {
            self.encode(side, cx);
            self.send(side, cx);
        }
    }

    /// A packet that `from` sent has arrived.
    pub(super) fn arrived(&mut self, from: Side, number: u64, size: u16, now: Instant) {
        (self.halves[from.index()].scorer).arrived(number / u64::from(MOST), size, now);
    }

    /// Reports the scores that are due.
    pub(super) fn report(&mut self, cx: &mut AppContext<'_>) {
        for side in Side::BOTH {
            report(&mut self.halves[side.index()].scorer, side, cx);
        }
    }

    /// Encodes no more; the frame that is being sent is sent to its end. `token` wakes for the scores that are left.
    pub(super) fn stop(&mut self, token: u64, cx: &mut AppContext<'_>) {
        self.stopped = true;
        for half in &mut self.halves {
            if let Some(due) = half.scorer.stop(cx.now) {
                cx.wake_at(due.max(cx.now), token);
            }
        }
    }

    /// Encodes the next frame and asks for the wake-up of the one after.
    fn encode(&mut self, side: Side, cx: &mut AppContext<'_>) {
        let half = &mut self.halves[side.index()];
        let Some(rng) = &mut half.rng else { return };
        let law = Law::LogNormal {
            mean: self.format.mean(half.frames),
            sigma: self.format.sigma,
        };
        half.packets = Packets::of(law.draw(rng), self.format.packet);
        half.frame = half.scorer.encoded(cx.now, half.packets.count);
        half.encoded_at = cx.now;
        half.sent = 0;
        half.frames += 1;
        let due = Pace::per_second(self.format.frame_rate).due(half.frames);
        cx.wake_at(half.first + due, FRAME + side.index() as u64);
    }

    /// Sends the packets of a frame that are due.
    fn send(&mut self, side: Side, cx: &mut AppContext<'_>) {
        let (Some(flow), half) = (self.flow, &mut self.halves[side.index()]) else {
            return;
        };
        let count = half.packets.count;
        while half.sent < count {
            let spread = self.format.spread.as_nanos() * u64::from(half.sent) / u64::from(count);
            let due = half.encoded_at + Duration::from_nanos(spread);
            if due > cx.now {
                cx.wake_at(due, PACKET + side.index() as u64);
                return;
            }
            let number = half.frame * u64::from(MOST) + u64::from(half.sent);
            cx.datagram(flow, side, number, half.packets.size(half.sent));
            half.sent += 1;
        }
    }
}

/// Reports the scores of video from `side` that are due.
pub(super) fn report(scorer: &mut Scorer, side: Side, cx: &mut AppContext<'_>) {
    while let Some(score) = scorer.score_due(cx.now) {
        for (kind, value) in [
            (&FRAME_DELAY, score.delay),
            (&FRAMES_LATE, score.late),
            (&FROZEN, score.frozen),
            (&VIDEO_RATE, score.rate),
        ] {
            cx.measure_over(scorer.period(), score.ended, kind.of(side), value);
        }
    }
}

/// Token of the wake-up for a side's next frame; smaller ones are those of a [`super::stream::Stream`] beside the video.
pub(super) const FRAME: u64 = 2;
/// Token of the wake-up for a side's next packet.
pub(super) const PACKET: u64 = 4;
/// Packets a frame may have.
const MOST: u32 = 1 << 16;
/// The smallest frame, IP bytes.
const SMALLEST: u32 = 64;
