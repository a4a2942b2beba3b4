//! Video at a fixed rate: frames at constant intervals with random sizes, each sent as a burst of
//! packets or spread over time.
//!
//! Cloud games and conferences of fixed rate use it. Each side draws the sizes of its frames from
//! its own stream of random numbers. The sent packets and their times thus do not depend on the
//! network.

use super::AppContext;
use super::drawn::Distribution;
use super::stream::Pace;
use crate::flow::FlowId;
use crate::metrics::Measure;
use crate::metrics::frames::{Scorer, Scoring};
use crate::metrics::measure::{Chart, Felt, Kind, Unit};
use crate::packet::Side;
use crate::rng::Rng;
use crate::time::{Duration, Instant};
use crate::units::Rate;

/// One sample for each scoring period: the mean over the complete frames; NaN if no frame was
/// complete.
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
                      there, in the mean of each scoring period. A call is comfortable below 150 \
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
    figure: Some("video"),
    demand: Some(("mean", "fair")),
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

/// The measures of video in both directions.
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

/// Format of one side's video. All values have been checked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Format {
    /// Rate, in IP bytes.
    pub(super) rate: Rate,
    /// Number of frames in a second.
    pub(super) frame_rate: u32,
    /// Standard deviation of the natural logarithm of a frame's size.
    pub(super) sigma: f64,
    /// Number of frames from one key frame to the next; 0 for no key frames.
    pub(super) key_every: u64,
    /// Size of a key frame, relative to other frames.
    pub(super) key_ratio: f64,
    /// Largest packet, IP bytes.
    pub(super) packet: u16,
    /// Time over which the packets of a frame are sent, less than the time between two frames.
    pub(super) spread: Duration,
}

impl Format {
    /// Mean size of frame `number`, IP bytes. Key frames are larger, and the others smaller, so
    /// that the rate stays the same.
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

/// The packets of a frame: the smallest number that holds it, of nearly equal size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Packets {
    bytes: u32,
    /// Number of packets.
    pub(super) count: u32,
}

impl Packets {
    /// Splits a frame of `bytes` IP bytes into packets of at most `largest`. A frame has at least
    /// [`SMALLEST`] bytes and at most [`MOST`] packets.
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

/// A video stream, in one or both directions.
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
    /// Time at which the first frame was encoded.
    first: Instant,
    /// Number of frames so far.
    frames: u64,
    /// The frame that is being sent: its number in the scorer, when it was encoded, its packets,
    /// and how many of them have been sent.
    frame: u64,
    encoded_at: Instant,
    packets: Packets,
    sent: u32,
}

impl Video {
    /// Creates a video stream from `sides` that begins with [`Self::start`].
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

    /// Opens the flow. Schedules wake-ups with the tokens [`FRAME`] and [`PACKET`], to which the
    /// sending side's index is added.
    pub(super) fn start(&mut self, cx: &mut AppContext<'_>) {
        self.flow = Some(cx.open_datagrams(0));
        let interval = Pace::per_second(self.format.frame_rate).gap();
        for side in Side::BOTH {
            // Both sides draw random numbers even if only one sends: a side's packets do not depend
            // on the other side.
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

    /// Whether the video uses this flow.
    pub(super) fn owns(&self, flow: FlowId) -> bool {
        self.flow == Some(flow)
    }

    /// Handles a wake-up.
    pub(super) fn wake(&mut self, token: u64, cx: &mut AppContext<'_>) {
        let side = Side::BOTH[token as usize % 2];
        if token - side.index() as u64 == PACKET {
            self.send(side, cx);
        } else if !self.stopped {
            self.encode(side, cx);
            self.send(side, cx);
        }
    }

    /// Handles the arrival of a packet that `from` sent.
    pub(super) fn arrived(&mut self, from: Side, number: u64, size: u16, now: Instant) {
        (self.halves[from.index()].scorer).arrived(number / u64::from(MOST), size, now);
    }

    /// Records the scores that are complete.
    pub(super) fn report(&mut self, cx: &mut AppContext<'_>) {
        for side in Side::BOTH {
            report(&mut self.halves[side.index()].scorer, side, cx);
        }
    }

    /// Stops encoding. The current frame is sent completely. A wake-up with `token` follows for the
    /// last scores.
    pub(super) fn stop(&mut self, token: u64, cx: &mut AppContext<'_>) {
        self.stopped = true;
        for half in &mut self.halves {
            if let Some(due) = half.scorer.stop(cx.now) {
                cx.wake_at(due.max(cx.now), token);
            }
        }
    }

    /// Encodes the next frame and schedules the wake-up for the one after.
    fn encode(&mut self, side: Side, cx: &mut AppContext<'_>) {
        let half = &mut self.halves[side.index()];
        let Some(rng) = &mut half.rng else { return };
        let distribution = Distribution::LogNormal {
            mean: self.format.mean(half.frames),
            sigma: self.format.sigma,
        };
        half.packets = Packets::of(distribution.draw(rng), self.format.packet);
        half.frame = half.scorer.encoded(cx.now, half.packets.count);
        half.encoded_at = cx.now;
        half.sent = 0;
        half.frames += 1;
        let due = Pace::per_second(self.format.frame_rate).due(half.frames);
        cx.wake_at(half.first + due, FRAME + side.index() as u64);
    }

    /// Sends the packets of the current frame that are due.
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

/// Records the scores of video from `side` that are complete.
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

/// Token of the wake-up for a side's next frame. A [`super::stream::Stream`] beside the video uses
/// the smaller tokens.
pub(super) const FRAME: u64 = 2;
/// Token of the wake-up for a side's next packet.
pub(super) const PACKET: u64 = 4;
/// Largest number of packets in a frame.
const MOST: u32 = 1 << 16;
/// Smallest frame, IP bytes.
const SMALLEST: u32 = 64;
