//! One connection of a browser: the requests sent on it, and the responses that are outstanding.
//!
//! Offsets count from the start of the stream in each direction.

use std::collections::VecDeque;

use super::Config;
use super::http2::{self, Multiplexer};
use super::tls::Tls;
use crate::flow::FlowId;
use crate::packet::Side;
use crate::traffic::AppContext;
use crate::traffic::message_ends::MessageEnds;

/// One connection to a server. The fields that a browser reads of all its connections are separate
/// from the rest of the state.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) flow: FlowId,
    /// The server, by its index on the page.
    server: u16,
    /// Whether the handshakes are complete. Nothing is requested before.
    pub(super) ready: bool,
    state: Box<State>,
}

/// Data sent and data expected on a connection, for both sides.
#[derive(Debug)]
struct State {
    /// TLS version, size of the server's first flight, and number of completed round trips.
    tls: (Tls, u64),
    exchanges: u32,
    /// Number of bytes that are sent with the first request.
    preface: u64,
    /// Number of bytes that the browser has sent, and that the server has to read.
    requested: u64,
    /// Number of bytes that the server has sent or will send, and that the browser has to read.
    expected: u64,
    work: Work,
}

/// Requests whose responses are not complete.
#[derive(Debug)]
enum Work {
    /// One request at a time: size of the latest response, and whether it is outstanding.
    Single { answer: u64, is_waiting: bool },
    /// HTTP/2.
    Streams(Box<Streams>),
}

#[derive(Debug)]
struct Streams {
    config: http2::Config,
    /// Sizes of the outstanding responses.
    open: Vec<u64>,
    /// Sizes of the responses to requests that are in transit.
    requests: MessageEnds<u64>,
    /// Sizes of the responses that the server is preparing.
    preparing: VecDeque<u64>,
    /// The responses that the server is sending.
    server: Multiplexer,
    /// Whether the server waits until the connection is writable.
    server_is_waiting: bool,
    /// Sizes of the responses that are fully written and in transit.
    answers: MessageEnds<u64>,
}

impl Connection {
    /// Opens a connection to remote host `server`.
    pub(super) fn open(server: usize, config: &Config, cx: &mut AppContext<'_>) -> Self {
        let work = config.http2.as_ref().map_or(
            Work::Single {
                answer: 0,
                is_waiting: false,
            },
            |http2| Work::Streams(Box::new(Streams::new(http2))),
        );
        let preface = config.tls.rest() + config.http2.as_ref().map_or(0, |_| http2::PREFACE);
        Self {
            flow: cx.connect(server, Side::Host),
            server: server as u16,
            ready: false,
            state: Box::new(State {
                tls: (config.tls, config.certificates.0),
                exchanges: 0,
                preface,
                requested: 0,
                expected: 0,
                work,
            }),
        }
    }

    /// The server, by its index on the page. A page has at most a thousand.
    pub(super) fn server(&self) -> usize {
        usize::from(self.server)
    }

    /// Begins the next round trip of the handshakes. If there is none, the connection is ready.
    pub(super) fn shake_hands(&mut self, cx: &mut AppContext<'_>) {
        let Some((up, down)) = self.flights() else {
            self.ready = true;
            return;
        };
        self.state.requested += up;
        self.state.expected += down;
        cx.expect(self.flow, Side::Peer, self.state.requested);
        cx.expect(self.flow, Side::Host, self.state.expected);
        cx.send(self.flow, Side::Host, up);
    }

    fn flights(&self) -> Option<(u64, u64)> {
        let (tls, certificates) = self.state.tls;
        tls.flights(self.state.exchanges, certificates)
    }

    /// Sends the server's part of the current round trip.
    pub(super) fn answer_handshake(&mut self, cx: &mut AppContext<'_>) {
        let (_, down) = self.flights().expect("it takes part in one");
        cx.send(self.flow, Side::Peer, down);
    }

    /// Ends the current round trip.
    pub(super) fn handshake_answered(&mut self, cx: &mut AppContext<'_>) {
        self.state.exchanges += 1;
        self.shake_hands(cx);
    }

    /// Whether no response is outstanding.
    pub(super) fn is_idle(&self) -> bool {
        match &self.state.work {
            Work::Single { is_waiting, .. } => !is_waiting,
            Work::Streams(streams) => streams.open.is_empty(),
        }
    }

    /// Whether another request may be sent.
    pub(super) fn takes_requests(&self) -> bool {
        match &self.state.work {
            Work::Single { is_waiting, .. } => !is_waiting,
            Work::Streams(streams) => streams.open.len() < streams.config.streams as usize,
        }
    }

    /// Sends a request of `request` bytes for a response of `answer` bytes.
    pub(super) fn send_request(&mut self, request: u64, answer: u64, cx: &mut AppContext<'_>) {
        let request = request + std::mem::take(&mut self.state.preface);
        self.state.requested += request;
        match &mut self.state.work {
            Work::Single {
                answer: latest,
                is_waiting,
            } => {
                (*latest, *is_waiting) = (answer, true);
                self.state.expected += answer;
                cx.expect(self.flow, Side::Peer, self.state.requested);
                cx.expect(self.flow, Side::Host, self.state.expected);
            }
            Work::Streams(streams) => {
                streams.open.push(answer);
                (streams.requests).push(self.state.requested, answer, self.flow, Side::Peer, cx);
            }
        }
        cx.send(self.flow, Side::Host, request);
    }

    /// The server has read `total` bytes. Returns the number of requests among them that it begins
    /// to process.
    pub(super) fn take_requests(&mut self, total: u64, cx: &mut AppContext<'_>) -> usize {
        let Work::Streams(streams) = &mut self.state.work else {
            return 1;
        };
        let before = streams.preparing.len();
        while let Some(answer) = streams.requests.pop(total, self.flow, Side::Peer, cx) {
            streams.preparing.push_back(answer);
        }
        streams.preparing.len() - before
    }

    /// Sends the response that the server has been preparing for the longest time.
    pub(super) fn answer(&mut self, cx: &mut AppContext<'_>) {
        match &mut self.state.work {
            Work::Single { answer, .. } => cx.send(self.flow, Side::Peer, *answer),
            Work::Streams(streams) => {
                let answer = streams.preparing.pop_front();
                streams.server.add(answer.expect("it thought of one"));
                self.write_frame(cx);
            }
        }
    }

    /// The connection is writable for the server.
    pub(super) fn writable(&mut self, cx: &mut AppContext<'_>) {
        if let Work::Streams(streams) = &mut self.state.work {
            streams.server_is_waiting = false;
            self.write_frame(cx);
        }
    }

    fn write_frame(&mut self, cx: &mut AppContext<'_>) {
        let Work::Streams(streams) = &mut self.state.work else {
            return;
        };
        if streams.server_is_waiting {
            return;
        }
        if let Some(frame) = streams.server.next_frame() {
            self.state.expected += frame.bytes;
            cx.send(self.flow, Side::Peer, frame.bytes);
            if let Some(size) = frame.ends {
                (streams.answers).push(self.state.expected, size, self.flow, Side::Host, cx);
            }
            streams.server_is_waiting = true;
            // One frame stays written ahead so that segments are full. Which frame follows is
            // decided when it can be sent.
            cx.await_room(self.flow, Side::Peer, streams.config.frame.0);
        }
    }

    /// Whether one more response is complete in the `total` bytes that the browser has read. The
    /// caller repeats the call until it returns false.
    pub(super) fn take_answer(&mut self, total: u64, cx: &mut AppContext<'_>) -> bool {
        match &mut self.state.work {
            Work::Single { is_waiting, .. } => std::mem::take(is_waiting),
            Work::Streams(streams) => {
                let Some(size) = streams.answers.pop(total, self.flow, Side::Host, cx) else {
                    return false;
                };
                let position = streams.open.iter().position(|&open| open == size);
                (streams.open).swap_remove(position.expect("it was asked for"));
                true
            }
        }
    }

    /// Sizes of the outstanding responses.
    pub(super) fn outstanding(&self) -> &[u64] {
        match &self.state.work {
            Work::Single { answer, is_waiting } if *is_waiting => std::slice::from_ref(answer),
            Work::Single { .. } => &[],
            Work::Streams(streams) => &streams.open,
        }
    }
}

impl Streams {
    fn new(config: &http2::Config) -> Self {
        let most = config.streams as usize;
        Self {
            open: Vec::with_capacity(most),
            requests: MessageEnds::with_capacity(most),
            preparing: VecDeque::with_capacity(most),
            server: Multiplexer::new(config),
            server_is_waiting: false,
            answers: MessageEnds::with_capacity(most),
            config: config.clone(),
        }
    }
}
