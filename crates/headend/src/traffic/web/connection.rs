//! One of a browser's connections: what was asked on it, and what its server has still to say.
//!
//! Offsets count from the start of a stream, over all that was ever said on it.

use std::collections::VecDeque;

use super::Config;
use super::http2::{self, Multiplexer};
use super::tls::Tls;
use crate::flow::FlowId;
use crate::packet::Side;
use crate::traffic::AppContext;
use crate::traffic::marks::Marks;

/// A connection. What a browser looks at of all its connections stands apart from the books of each.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) flow: FlowId,
    /// Which of the page's servers it leads to.
    server: u16,
    /// Whether the handshakes are over: until then nothing has been asked for.
    pub(super) ready: bool,
    books: Box<Books>,
}

/// What was said on a connection and will be, of both sides.
#[derive(Debug)]
struct Books {
    /// TLS, with the size of the server's first flight, and its round trips so far.
    tls: (Tls, u64),
    exchanges: u32,
    /// Bytes that go with the first request.
    preface: u64,
    /// Bytes the browser has sent: how far the server has to read.
    asked: u64,
    /// Bytes of the server, sent or promised: how far the browser has to read.
    promised: u64,
    work: Work,
}

/// What is asked for and not there yet.
#[derive(Debug)]
enum Work {
    /// One request at a time: the size of the latest answer, and whether it is still to come.
    Single { answer: u64, waits: bool },
    /// HTTP/2.
    Streams(Box<Streams>),
}

#[derive(Debug)]
struct Streams {
    config: http2::Config,
    /// Sizes of what was asked for and is not there.
    open: Vec<u64>,
    /// Requests on their way, by the size of the answer.
    requests: Marks<u64>,
    /// Answers that the server thinks about.
    thinking: VecDeque<u64>,
    /// Answers that it writes.
    server: Multiplexer,
    /// It waits until the connection has room.
    server_waits: bool,
    /// Answers written in full and on their way.
    answers: Marks<u64>,
}

impl Connection {
    /// A connection to remote host `server`, whose opening begins.
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

    /// Which of the page's servers it leads to, of a thousand at most.
    pub(super) fn server(&self) -> usize {
        usize::from(self.server)
    }

    /// The next round trip of the handshakes; without one, the connection is ready.
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

    /// The server's part of the round trip under way.
    pub(super) fn answer_handshake(&mut self, cx: &mut AppContext<'_>) {
        let (_, down) = self.flights().expect("it takes part in one");
        cx.send(self.flow, Side::Peer, down);
    }

    /// The round trip under way is over.
    pub(super) fn handshake_answered(&mut self, cx: &mut AppContext<'_>) {
        self.books.exchanges += 1;
        self.shake_hands(cx);
    }

    /// Whether nothing is asked for that is not there.
    pub(super) fn is_idle(&self) -> bool {
        match &self.books.work {
            Work::Single { waits, .. } => !waits,
            Work::Streams(streams) => streams.open.is_empty(),
        }
    }

    /// Whether something more may be asked for.
    pub(super) fn takes_requests(&self) -> bool {
        match &self.books.work {
            Work::Single { waits, .. } => !waits,
            Work::Streams(streams) => streams.open.len() < streams.config.streams as usize,
        }
    }

    /// Asks for something of so many bytes by a request of `request` bytes.
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

    /// The server has read `total` bytes: how many requests among them it begins to think about.
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

    /// The server has the answer ready that it has thought about the longest.
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

    /// The connection has room for what the server writes.
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
            // So much stays ahead that segments are full; the rest is decided when it can leave.
            cx.await_room(self.flow, Side::Peer, streams.config.frame.0);
        }
    }

    /// Whether another answer is there in full among the `total` bytes the browser has read; ask until none is.
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

    /// Sizes of what was asked for and is not there.
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
