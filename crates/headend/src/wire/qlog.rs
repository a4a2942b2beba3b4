//! qlog: what happens at the sending ends of TCP connections, as other programs draw it (qvis).
//!
//! The format is qlog 0.3 (draft-ietf-quic-qlog-main-schema-05) with the events of QUIC
//! (draft-ietf-quic-qlog-quic-events-04) as JSON text sequences (RFC 7464), which qvis reads. Each
//! end of a connection that sends data has a trace, and each trace a file. Files grow in memory,
//! and their owner takes them away piece by piece.
//!
//! TCP has no packet numbers. Each transmission of a segment gets the next number of its trace, so
//! that a segment that is sent again gets another one:
//!
//! - An acknowledgement acknowledges the latest transmission of each segment that it newly
//!   acknowledges, for a sender cannot tell which one has arrived.
//! - A segment that is deemed lost loses all its transmissions, unless it has been sent again
//!   before: then only the earlier ones.
//! - What arrives is numbered in the order of its arrival.
//!
//! Sequence numbers stand beside: as a frame of a QUIC stream, and in a field `tcp`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::flow::GroupId;
use crate::packet::Side;
use crate::time::{Duration, Instant};
use crate::trace::{
    AckView, LossTrigger, SegmentView, SenderEvent, SenderState, SenderView, Sink, TraceEvent,
    TraceKinds,
};

/// The most traces of a run; further ends are only counted.
pub const MOST_TRACES: usize = 100;

/// The traces of a run, shared between the listener and whoever takes them.
#[derive(Debug, Clone)]
pub struct Qlog(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    /// The flows that are written, with their names.
    flows: BTreeMap<GroupId, String>,
    traces: BTreeMap<SenderView, Trace>,
    left_out: BTreeSet<SenderView>,
}

impl Qlog {
    /// No events yet of these flows.
    pub fn of(flows: BTreeMap<GroupId, String>) -> Self {
        Self(Arc::new(Mutex::new(State {
            flows,
            traces: BTreeMap::new(),
            left_out: BTreeSet::new(),
        })))
    }

    /// The bytes that were not yet taken.
    pub fn bytes(&self) -> usize {
        let state = self.state();
        state.traces.values().map(|trace| trace.text.len()).sum()
    }

    /// What was written since the last call, by the name of its trace, to be appended to what
    /// earlier calls returned.
    pub fn take(&self) -> Vec<(String, Vec<u8>)> {
        let mut state = self.state();
        let traces = state.traces.values_mut();
        let taken =
            traces.map(|trace| (trace.name.clone(), std::mem::take(&mut trace.text).into()));
        taken.collect()
    }

    /// How many ends of connections have sent data without a trace.
    pub fn left_out(&self) -> usize {
        self.state().left_out.len()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sink for Qlog {
    fn interest(&self) -> TraceKinds {
        TraceKinds::SENDER
    }

    fn record(&mut self, at: Instant, event: &TraceEvent) {
        if let TraceEvent::Sender { sender, event } = event {
            self.state().record(at, *sender, event);
        }
    }
}

impl State {
    fn record(&mut self, at: Instant, sender: SenderView, event: &SenderEvent) {
        if let SenderEvent::Sent(_) = event {
            self.begin(sender);
        }
        let Some(trace) = self.traces.get_mut(&sender) else {
            return;
        };
        match *event {
            SenderEvent::Acknowledged(ack) => trace.received(at, &ack),
            SenderEvent::Changed(state) => trace.changed(at, state),
            SenderEvent::Lost {
                seq,
                is_repaired,
                trigger,
            } => trace.lost(at, seq, is_repaired, trigger),
            SenderEvent::Sent(segment) => trace.sent(at, &segment),
        }
    }

    /// Begins the trace of an end that sends data, unless there is one.
    fn begin(&mut self, sender: SenderView) {
        let Some(flow) = self.flows.get(&sender.group) else {
            return;
        };
        if self.traces.contains_key(&sender) {
        } else if self.traces.len() < MOST_TRACES {
            self.traces.insert(sender, Trace::new(flow, sender));
        } else {
            self.left_out.insert(sender);
        }
    }
}

/// The latest transmission of a segment that is not acknowledged.
#[derive(Debug, Clone, Copy)]
struct Outstanding {
    payload: u16,
    is_fin: bool,
    /// The number of its packet, and whether it is deemed lost.
    number: u64,
    is_lost: bool,
    /// The number of the transmission before, unless that is deemed lost.
    earlier: Option<u64>,
}

impl Outstanding {
    /// The sequence number after the segment that begins at `seq`.
    fn end(&self, seq: u64) -> u64 {
        seq + u64::from(self.payload) + u64::from(self.is_fin)
    }
}

/// The trace of one end of a connection.
#[derive(Debug)]
struct Trace {
    name: String,
    text: String,
    packets_sent: u64,
    packets_received: u64,
    /// By first sequence number: segments sent and not acknowledged.
    outstanding: BTreeMap<u64, Outstanding>,
    /// The latest state, as far as it is written.
    state: Option<SenderState>,
    /// Kept to reuse the memory.
    acked: Vec<u64>,
}

impl Trace {
    fn new(flow: &str, sender: SenderView) -> Self {
        let (end, place) = (
            if sender.is_client { "client" } else { "server" },
            match sender.side {
                Side::Host => "customer",
                Side::Peer => "network",
            },
        );
        let name = format!("{flow}.{}.{end}", sender.ordinal);
        let (title, flow) = (quoted(&name), quoted(flow));
        let text = format!(
            "\u{1e}{{\"qlog_version\":\"0.3\",\"qlog_format\":\"JSON-SEQ\",\"title\":{title},\
             \"description\":\"TCP as headend {} simulates it: each transmission of a segment has \
             a packet number of its own\",\"trace\":{{\"title\":{title},\"common_fields\":{{\
             \"protocol_type\":[\"TCP\"],\"time_format\":\"relative\",\"reference_time\":0,\
             \"flow\":{flow},\"connection\":{}}},\"vantage_point\":{{\"name\":\"{place}\",\
             \"type\":\"{end}\"}}}}}}\n",
            env!("CARGO_PKG_VERSION"),
            sender.ordinal,
        );
        Self {
            name,
            text,
            packets_sent: 0,
            packets_received: 0,
            outstanding: BTreeMap::new(),
            state: None,
            acked: Vec::new(),
        }
    }

    fn sent(&mut self, at: Instant, segment: &SegmentView) {
        let &SegmentView {
            seq,
            payload,
            is_fin,
            size,
            ..
        } = segment;
        let number = self.packets_sent;
        self.packets_sent += 1;
        let before = self.outstanding.get(&seq);
        let earlier = before.filter(|before| !before.is_lost);
        let earlier = earlier.map(|before| before.number);
        self.outstanding.insert(
            seq,
            Outstanding {
                payload,
                is_fin,
                number,
                is_lost: false,
                earlier,
            },
        );
        self.begin(at, "transport:packet_sent");
        self.header(number);
        self.write(format_args!(",\"frames\":["));
        self.stream_frame(seq, payload, is_fin);
        self.write(format_args!(
            "],\"raw\":{{\"length\":{size},\"payload_length\":{payload}}},\"tcp\":{{\"seq\":{seq},\
             \"len\":{payload},\"again\":{}}}",
            segment.is_again
        ));
        self.end();
    }

    fn received(&mut self, at: Instant, ack: &AckView) {
        let number = self.packets_received;
        self.packets_received += 1;
        self.take_acked(0, ack.next);
        for &(start, end) in ack.blocks.as_slice() {
            self.take_acked(start, end);
        }
        self.begin(at, "transport:packet_received");
        self.header(number);
        self.write(format_args!(",\"frames\":[{{\"frame_type\":\"ack\""));
        self.write_acked();
        self.write(format_args!("}}"));
        if ack.payload > 0 {
            self.write(format_args!(","));
            self.stream_frame(ack.seq, ack.payload, false);
        }
        self.write(format_args!(
            "],\"raw\":{{\"length\":{},\"payload_length\":{}}},\"tcp\":{{\"ack\":{}",
            ack.size, ack.payload, ack.next
        ));
        if !ack.blocks.is_empty() {
            self.write(format_args!(",\"sack\":["));
            for (place, (start, end)) in ack.blocks.as_slice().iter().enumerate() {
                let comma = if place > 0 { "," } else { "" };
                self.write(format_args!("{comma}[{start},{end}]"));
            }
            self.write(format_args!("]"));
        }
        self.write(format_args!("}}"));
        self.end();
    }

    /// Segments from `start` to `end` are acknowledged.
    fn take_acked(&mut self, start: u64, end: u64) {
        while start < end
            && let Some((&seq, segment)) = self.outstanding.range(start..end).next()
            && segment.end(seq) <= end
        {
            self.acked.push(segment.number);
            self.outstanding.remove(&seq);
        }
    }

    /// Writes the packets that are newly acknowledged, as ranges.
    fn write_acked(&mut self) {
        let mut acked = std::mem::take(&mut self.acked);
        acked.sort_unstable();
        let ranges = acked.chunk_by(|left, right| left + 1 == *right);
        for (place, range) in ranges.enumerate() {
            let before = if place > 0 {
                ","
            } else {
                ",\"acked_ranges\":["
            };
            let (first, last) = (range[0], range[range.len() - 1]);
            if first == last {
                self.write(format_args!("{before}[{first}]"));
            } else {
                self.write(format_args!("{before}[{first},{last}]"));
            }
        }
        if !acked.is_empty() {
            self.write(format_args!("]"));
        }
        acked.clear();
        self.acked = acked;
    }

    fn lost(&mut self, at: Instant, seq: u64, is_repaired: bool, trigger: LossTrigger) {
        let Some(segment) = self.outstanding.get_mut(&seq) else {
            return;
        };
        let earlier = segment.earlier.take();
        let latest = (!is_repaired && !segment.is_lost).then_some(segment.number);
        segment.is_lost |= !is_repaired;
        let (payload, is_fin) = (segment.payload, segment.is_fin);
        for number in [earlier, latest].into_iter().flatten() {
            self.begin(at, "recovery:packet_lost");
            self.header(number);
            self.write(format_args!(",\"frames\":["));
            self.stream_frame(seq, payload, is_fin);
            let trigger = match trigger {
                LossTrigger::ReorderingThreshold => "reordering_threshold",
                LossTrigger::TimeThreshold => "time_threshold",
                LossTrigger::Timeout => "pto_expired",
            };
            self.write(format_args!("],\"trigger\":\"{trigger}\""));
            self.end();
        }
    }

    fn changed(&mut self, at: Instant, state: SenderState) {
        let old = self.state.replace(state);
        let news = Metrics::of(&state).news(old.as_ref().map(Metrics::of));
        if !news.is_empty() {
            self.begin(at, "recovery:metrics_updated");
            self.write(format_args!("{news}"));
            self.end();
        }
        let (old, new) = (old.map(|old| old.congestion), state.congestion);
        if old != Some(new) {
            self.begin(at, "recovery:congestion_state_updated");
            if let Some(old) = old {
                self.write(format_args!("\"old\":\"{old}\","));
            }
            self.write(format_args!("\"new\":\"{new}\""));
            self.end();
        }
    }

    fn begin(&mut self, at: Instant, name: &str) {
        let time = millis(at.as_nanos());
        self.write(format_args!(
            "\u{1e}{{\"time\":{time},\"name\":\"{name}\",\"data\":{{"
        ));
    }

    fn end(&mut self) {
        self.write(format_args!("}}}}\n"));
    }

    fn header(&mut self, number: u64) {
        self.write(format_args!(
            "\"header\":{{\"packet_type\":\"1RTT\",\"packet_number\":{number}}}"
        ));
    }

    fn stream_frame(&mut self, seq: u64, payload: u16, is_fin: bool) {
        self.write(format_args!(
            "{{\"frame_type\":\"stream\",\"stream_id\":0,\"offset\":{seq},\"length\":{payload}{}}}",
            if is_fin { ",\"fin\":true" } else { "" }
        ));
    }

    fn write(&mut self, text: std::fmt::Arguments<'_>) {
        (self.text)
            .write_fmt(text)
            .expect("a string takes what is written");
    }
}

/// The metrics of a sender, in the order of their names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Metrics([(&'static str, Option<Metric>); 8]);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Metric {
    Number(u64),
    Time(Duration),
}

impl Metrics {
    fn of(state: &SenderState) -> Self {
        let number = |value: Option<u64>| value.map(Metric::Number);
        let time = |value: Option<Duration>| value.map(Metric::Time);
        Self([
            ("min_rtt", time(state.min_rtt)),
            ("smoothed_rtt", time(state.srtt)),
            ("latest_rtt", time(state.latest_rtt)),
            ("rtt_variance", time(state.srtt.map(|_| state.rttvar))),
            ("congestion_window", number(Some(state.cwnd_bytes))),
            ("bytes_in_flight", number(Some(state.in_flight_bytes))),
            ("ssthresh", number(state.ssthresh_bytes)),
            ("pacing_rate", number(state.pacing_rate.map(|rate| rate.0))),
        ])
    }

    /// Those that have a value which they had not before, as fields of a JSON object.
    fn news(&self, before: Option<Self>) -> String {
        let mut text = String::new();
        for (place, &(name, value)) in self.0.iter().enumerate() {
            let old = before.and_then(|before| before.0[place].1);
            let Some(value) = value.filter(|_| value != old) else {
                continue;
            };
            let comma = if text.is_empty() { "" } else { "," };
            let written = match value {
                Metric::Number(number) => write!(text, "{comma}\"{name}\":{number}"),
                Metric::Time(time) => {
                    write!(text, "{comma}\"{name}\":{}", millis(time.as_nanos()))
                }
            };
            written.expect("a string takes what is written");
        }
        text
    }
}

/// A time in milliseconds, as JSON.
fn millis(nanos: u64) -> String {
    let (whole, part) = (nanos / 1_000_000, nanos % 1_000_000);
    if part == 0 {
        return whole.to_string();
    }
    let digits = format!("{part:06}");
    format!("{whole}.{}", digits.trim_end_matches('0'))
}

/// A text as JSON.
fn quoted(text: &str) -> String {
    serde_json::to_string(text).expect("a text can be written")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::packet::sack::SackBlocks;
    use crate::units::Rate;

    const SENDER: SenderView = SenderView {
        group: GroupId(3),
        ordinal: 7,
        side: Side::Peer,
        is_client: false,
    };

    /// A listener to the flow of [`SENDER`], called so.
    fn listener(name: &str) -> Qlog {
        Qlog::of([(SENDER.group, name.to_owned())].into())
    }

    fn tell(qlog: &mut Qlog, ms: u64, event: SenderEvent) {
        let (at, sender) = (Instant::from_nanos(ms * 1_000_000), SENDER);
        qlog.record(at, &TraceEvent::Sender { sender, event });
    }

    fn send(qlog: &mut Qlog, ms: u64, number: u64, is_again: bool) {
        let segment = SegmentView {
            seq: number * 1000,
            payload: 1000,
            is_fin: false,
            is_again,
            size: 1052,
        };
        tell(qlog, ms, SenderEvent::Sent(segment));
    }

    fn acknowledge(qlog: &mut Qlog, ms: u64, next: u64, segments: &[(u64, u64)]) {
        let mut blocks = SackBlocks::default();
        for &(start, end) in segments {
            blocks.push(start * 1000, end * 1000);
        }
        let ack = AckView {
            next: next * 1000,
            blocks,
            seq: 0,
            payload: 0,
            size: 52,
        };
        tell(qlog, ms, SenderEvent::Acknowledged(ack));
    }

    fn lose(qlog: &mut Qlog, ms: u64, number: u64, is_repaired: bool) {
        let lost = SenderEvent::Lost {
            seq: number * 1000,
            is_repaired,
            trigger: LossTrigger::ReorderingThreshold,
        };
        tell(qlog, ms, lost);
    }

    /// The records of the only trace, and its name.
    fn read(qlog: &Qlog) -> (String, Vec<Value>) {
        let [(name, bytes)] = qlog.take().try_into().expect("one trace");
        let text = String::from_utf8(bytes).expect("text");
        let records = text.strip_prefix('\u{1e}').expect("a sequence");
        let records = records.split('\u{1e}').map(|record| {
            let record = record.strip_suffix('\n').expect("each ends a line");
            serde_json::from_str(record).expect("each is JSON")
        });
        (name, records.collect())
    }

    /// The packets that the events of a name are about: sent or lost ones, or those acknowledged.
    fn packets(records: &[Value], name: &str) -> String {
        let events = records.iter().filter(|record| record["name"] == name);
        let numbers = events.map(|event| match &event["data"]["frames"][0]["acked_ranges"] {
            Value::Null if name.ends_with("received") => "-".to_owned(),
            Value::Null => event["data"]["header"]["packet_number"].to_string(),
            ranges => ranges.to_string(),
        });
        numbers.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_segment_that_is_sent_again_has_another_number() {
        let mut qlog = listener("download");
        for number in 0..6 {
            send(&mut qlog, 1, number, false);
        }
        acknowledge(&mut qlog, 2, 1, &[(2, 3), (4, 6)]);
        lose(&mut qlog, 2, 1, false);
        send(&mut qlog, 2, 1, true);
        acknowledge(&mut qlog, 3, 1, &[(2, 3), (4, 6)]);
        acknowledge(&mut qlog, 4, 4, &[(4, 6)]);
        acknowledge(&mut qlog, 5, 6, &[]);
        let (name, records) = read(&qlog);
        assert_eq!(name, "download.7.server");
        assert_eq!(packets(&records, "transport:packet_sent"), "0 1 2 3 4 5 6");
        assert_eq!(packets(&records, "recovery:packet_lost"), "1");
        let acked = packets(&records, "transport:packet_received");
        assert_eq!(acked, "[[0],[2],[4,5]] - [[3],[6]] -");
    }

    #[test]
    fn a_loss_is_of_the_transmissions_that_are_meant() {
        // Sent again before it is deemed lost: the first transmission is; and then the second.
        let mut qlog = listener("download");
        send(&mut qlog, 1, 0, false);
        send(&mut qlog, 2, 0, true);
        lose(&mut qlog, 3, 0, true);
        lose(&mut qlog, 4, 0, false);
        assert_eq!(packets(&read(&qlog).1, "recovery:packet_lost"), "0 1");
        // A probe, which is lost with what it repeats.
        send(&mut qlog, 5, 1, false);
        send(&mut qlog, 6, 1, true);
        lose(&mut qlog, 7, 1, false);
        send(&mut qlog, 8, 1, true);
        acknowledge(&mut qlog, 9, 2, &[]);
        let text = qlog.take().remove(0).1;
        let text = String::from_utf8(text).expect("text");
        let lost = text.lines().filter(|line| line.contains("packet_lost"));
        let of = |number: u32| format!("\"packet_number\":{number}}}");
        let lost: Vec<bool> = lost
            .zip([2, 3])
            .map(|(line, number)| line.contains(&of(number)))
            .collect();
        assert_eq!(lost, [true, true]);
        // What was not repaired has arrived after all.
        assert!(text.contains("\"acked_ranges\":[[1],[4]]"), "{text}");
    }

    #[test]
    fn metrics_are_written_when_they_change() {
        let mut qlog = listener("a \"name\"");
        let state = SenderState {
            cwnd_bytes: 10_000,
            ssthresh_bytes: None,
            srtt: Some(Duration::from_nanos(20_000_100)),
            rttvar: Duration::from_millis(5),
            min_rtt: Some(Duration::from_millis(20)),
            latest_rtt: None,
            in_flight_bytes: 1000,
            pacing_rate: None,
            congestion: "slow_start",
        };
        // Nothing is written of an end that has not sent anything.
        tell(&mut qlog, 0, SenderEvent::Changed(state));
        assert!(qlog.take().is_empty());
        send(&mut qlog, 1, 0, false);
        tell(&mut qlog, 1, SenderEvent::Changed(state));
        let later = SenderState {
            in_flight_bytes: 0,
            pacing_rate: Some(Rate(8000)),
            congestion: "recovery",
            ..state
        };
        tell(&mut qlog, 2, SenderEvent::Changed(later));
        let (_, records) = read(&qlog);
        assert_eq!(records[0]["title"], "a \"name\".7.server");
        let data: Vec<&Value> = records[2..].iter().map(|record| &record["data"]).collect();
        let first = json!({
            "min_rtt": 20,
            "smoothed_rtt": 20.0001,
            "rtt_variance": 5,
            "congestion_window": 10_000,
            "bytes_in_flight": 1000,
        });
        let started = json!({ "new": "slow_start" });
        let later = json!({ "bytes_in_flight": 0, "pacing_rate": 8000 });
        let recovers = json!({ "old": "slow_start", "new": "recovery" });
        assert_eq!(data, [&first, &started, &later, &recovers]);
    }

    #[test]
    fn ends_beyond_the_most_are_counted() {
        let mut qlog = listener("many");
        let segment = SegmentView {
            seq: 0,
            payload: 1000,
            is_fin: false,
            is_again: false,
            size: 1052,
        };
        for ordinal in 0..MOST_TRACES as u32 + 3 {
            let sender = SenderView { ordinal, ..SENDER };
            for _ in 0..2 {
                let event = SenderEvent::Sent(segment);
                qlog.record(Instant::ZERO, &TraceEvent::Sender { sender, event });
            }
        }
        assert_eq!((qlog.take().len(), qlog.left_out()), (MOST_TRACES, 3));
    }
}
