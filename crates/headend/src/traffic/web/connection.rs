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
use crate::traffic::marks::Marks;

/// One connection to a server. The fields that a browser reads of all its connections are separate
/// from the rest of the state.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) flow: FlowId,
    /// The server, by its index on the page.
    server: u16,
    /// Whether the handshakes are complete. Nothing is requested before.
    pub(super) ready: bool,
    books: Box<Books>,
}

/// Data sent and data expected on a connection, for both sides.
#[derive(Debug)]
struct Books {
    /// TLS version, size of the server's first flight, and number of completed round trips.
    tls: (Tls, u64),
    exchanges: u32,
    /// Number of bytes that are sent with the first request.
    preface: u64,
    /// Number of bytes that the browser has sent, and that the server has to read.
    asked: u64,
    /// Number of bytes that the server has sent or will send, and that the browser has to read.
    promised: u64,
    work: Work,
}

/// Requests whose responses are not complete.
#[derive(Debug)]
enum Work {
    /// One request at a time: size of the latest response, and whether it is outstanding.
    Single { answer: u64, waits: bool },
    /// HTTP/2.
    Streams(Box<Streams>),
}

#[derive(Debug)]
struct Streams {
    config: http2::Config,
    /// Sizes of the outstanding responses.
    open: Vec<u64>,
    /// Sizes of the responses to requests that are in transit.
    requests: Marks<u64>,
    /// Sizes of the responses that the server is preparing.
    thinking: VecDeque<u64>,
    /// The responses that the server is sending.
    server: Multiplexer,
    /// Whether the server waits until the connection is writable.
    server_waits: bool,
    /// Sizes of the responses that are fully written and in transit.
    answers: Marks<u64>,
}

impl Connection {
    /// Opens a connection to remote host `server`.
    pub(super) fn open(server: usize, config: &Config, cx: &mut AppContext<'_>) -> Self {
        let work = config.http2.as_ref().map_or(
            Work::Single {
                answer: 0,
                waits: false,
            },
            |http2| Work::Streams(Box::new(Streams::new(http2))),
        );
        let preface = config.tls.rest() + config.http2.as_ref().map_or(0, |_| http2::PREFACE);
        Self {
            flow: cx.connect(server, Side::Host),
            server: server as u16,
            ready: false,
            books: Box::new(Books {
                tls: (config.tls, config.certificates.0),
                exchanges: 0,
                preface,
                asked: 0,
                promised: 0,
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
        self.books.asked += up;
        self.books.promised += down;
        cx.expect(self.flow, Side::Peer, self.books.asked);
        cx.expect(self.flow, Side::Host, self.books.promised);
        cx.send(self.flow, Side::Host, up);
    }

    fn flights(&self) -> Option<(u64, u64)> {
        let (tls, certificates) = self.books.tls;
        tls.flights(self.books.exchanges, certificates)
    }

    /// Sends the server's part of the current round trip.
    pub(super) fn answer_handshake(&mut self, cx: &mut AppContext<'_>) {
        let (_, down) = self.flights().expect("it takes part in one");
        cx.send(self.flow, Side::Peer, down);
    }

    /// Ends the current round trip.
    pub(super) fn handshake_answered(&mut self, cx: &mut AppContext<'_>) {
        self.books.exchanges += 1;
        self.shake_hands(cx);
    }

    /// Whether no response is outstanding.
    pub(super) fn is_idle(&self) -> bool {
        match &self.books.work {
            Work::Single { waits, .. } => !waits,
            Work::Streams(streams) => streams.open.is_empty(),
        }
    }

    /// Whether another request may be sent.
    pub(super) fn takes_requests(&self) -> bool {
        match &self.books.work {
            Work::Single { waits, .. } => !waits,
            Work::Streams(streams) => streams.open.len() < streams.config.streams as usize,
        }
    }

    /// Sends a request of `request` bytes for a response of `answer` bytes.
    pub(super) fn ask(&mut self, request: u64, answer: u64, cx: &mut AppContext<'_>) {
        let request = request + std::mem::take(&mut self.books.preface);
        self.books.asked += request;
        match &mut self.books.work {
            Work::Single {
                answer: latest,
                waits,
            } => {
                (*latest, *waits) = (answer, true);
                self.books.promised += answer;
                cx.expect(self.flow, Side::Peer, self.books.asked);
                cx.expect(self.flow, Side::Host, self.books.promised);
            }
            Work::Streams(streams) => {
                streams.open.push(answer);
                (streams.requests).push(self.books.asked, answer, self.flow, Side::Peer, cx);
            }
        }
        cx.send(self.flow, Side::Host, request);
    }

    /// The server has read `total` bytes. Returns the number of requests among them that it begins
    /// to process.
    pub(super) fn take_requests(&mut self, total: u64, cx: &mut AppContext<'_>) -> usize {
        let Work::Streams(streams) = &mut self.books.work else {
            return 1;
        };
        let before = streams.thinking.len();
        while let Some(answer) = streams.requests.pop(total, self.flow, Side::Peer, cx) {
            streams.thinking.push_back(answer);
        }
        streams.thinking.len() - before
    }

    /// Sends the response that the server has been preparing for the longest time.
    pub(super) fn answer(&mut self, cx: &mut AppContext<'_>) {
        match &mut self.books.work {
            Work::Single { answer, .. } => cx.send(self.flow, Side::Peer, *answer),
            Work::Streams(streams) => {
                let answer = streams.thinking.pop_front();
                streams.server.add(answer.expect("it thought of one"));
                self.write_frame(cx);
            }
        }
    }

    /// The connection is writable for the server.
    pub(super) fn writable(&mut self, cx: &mut AppContext<'_>) {
        if let Work::Streams(streams) = &mut self.books.work {
            streams.server_waits = false;
            self.write_frame(cx);
        }
    }

    fn write_frame(&mut self, cx: &mut AppContext<'_>) {
        let Work::Streams(streams) = &mut self.books.work else {
            return;
        };
        if streams.server_waits {
            return;
        }
        if let Some(frame) = streams.server.next_frame() {
            self.books.promised += frame.bytes;
            cx.send(self.flow, Side::Peer, frame.bytes);
            if let Some(size) = frame.ends {
                (streams.answers).push(self.books.promised, size, self.flow, Side::Host, cx);
            }
            streams.server_waits = true;
            // One frame stays written ahead so that segments are full. Which frame follows is
            // decided when it can be sent.
            cx.await_room(self.flow, Side::Peer, streams.config.frame.0);
        }
    }

    /// Whether one more response is complete in the `total` bytes that the browser has read. The
    /// caller repeats the call until it returns false.
    pub(super) fn take_answer(&mut self, total: u64, cx: &mut AppContext<'_>) -> bool {
        match &mut self.books.work {
            Work::Single { waits, .. } => std::mem::take(waits),
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
    pub(super) fn missing(&self) -> &[u64] {
        match &self.books.work {
            Work::Single { answer, waits } if *waits => std::slice::from_ref(answer),
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
            requests: Marks::with_capacity(most),
            thinking: VecDeque::with_capacity(most),
            server: Multiplexer::new(config),
            server_waits: false,
            answers: Marks::with_capacity(most),
            config: config.clone(),
        }
    }
}
