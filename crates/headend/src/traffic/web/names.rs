//! Looking names up (RFC 1035): a question to a resolver in one datagram, asked again until it is answered.
//!
//! A server has a name, and nothing is sent to it before that is known. A name is remembered for a time. The resolver always answers; what it asks of others
//! in turn is its `time`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::config::{Fault, ensure, ensure_datagram, ensure_span};
use super::super::{AppContext, News};
use crate::flow::FlowId;
use crate::packet::Side;
use crate::time::{Duration, Instant};
use crate::units::ByteCount;

/// Parameters of look-ups.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Size of an answer, IP bytes.
    pub answer: ByteCount,
    /// How long an answer is remembered. `"0 s"` asks anew for every load.
    pub lifetime: Duration,
    /// Size of a question, IP bytes.
    pub question: ByteCount,
    /// Time the resolver takes for an answer: near zero if it knows, some ten milliseconds if it has to ask.
    pub time: Duration,
    /// How long an answer is waited for before the question is sent again. A lost question holds a page up for as long.
    pub timeout: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            // 28 B of IP and UDP, 12 B of header, a name of 20 B, 11 B of EDNS; an answer with a CNAME and two addresses.
            question: ByteCount(75),
            answer: ByteCount(140),
            // What Chrome remembers a name for where the system says no time.
            lifetime: Duration::from_secs(60),
            time: Duration::ZERO,
            // resolv.conf(5); RFC 1035 §4.2.1 recommends 2 to 5 s at least.
            timeout: Duration::from_secs(5),
        }
    }
}

impl Config {
    /// Finds values that make no sense.
    pub(super) fn check(&self) -> Result<(), Fault> {
        ensure_datagram(self.question, "dns.question")?;
        ensure_datagram(self.answer, "dns.answer")?;
        ensure_span(self.lifetime, "dns.lifetime")?;
        ensure_span(self.time, "dns.time")?;
        ensure_span(self.timeout, "dns.timeout")?;
        let waits = !self.timeout.is_zero();
        ensure(waits, "dns.timeout", "more than 0 s")
    }
}

/// What is known of one name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Name {
    /// Question number so and so waits for its answer.
    Asked(u64),
    /// Known until then.
    Known(Instant),
}

/// The names of a page's servers.
#[derive(Debug)]
pub(super) struct Names {
    config: Config,
    flow: Option<FlowId>,
    /// By server.
    servers: Vec<Name>,
    questions: u64,
}

impl Names {
    /// Of servers of which nothing is known.
    pub(super) fn new(config: Config, servers: usize) -> Self {
        Self {
            config,
            flow: None,
            servers: Vec::with_capacity(servers),
            questions: 0,
        }
    }

    /// Whether `server` can be connected to; if not, its name is looked up at remote host `resolver`.
    pub(super) fn find(&mut self, server: usize, resolver: usize, cx: &mut AppContext<'_>) -> bool {
        if self.servers.len() <= server {
            self.servers.resize(server + 1, Name::Known(Instant::ZERO));
        }
        match self.servers[server] {
            Name::Known(until) if until > cx.now => true,
            Name::Asked(_) => false,
            Name::Known(_) => {
                self.flow.get_or_insert_with(|| cx.open_datagrams(resolver));
                self.servers[server] = Name::Asked(self.questions);
                self.questions += 1;
                self.ask(self.questions - 1, cx);
                false
            }
        }
    }

    fn ask(&self, number: u64, cx: &mut AppContext<'_>) {
        let flow = self.flow.expect("it is opened for the first question");
        cx.datagram(flow, Side::Host, number, self.config.question.0 as u16);
        cx.wake_at(cx.now + self.config.timeout, TIMEOUT | number);
    }

    /// How many questions were asked, repetitions not counted.
    #[cfg(test)]
    pub(super) fn questions(&self) -> u64 {
        self.questions
    }

    /// Whether the flow is that of the questions.
    pub(super) fn owns(&self, flow: FlowId) -> bool {
        self.flow == Some(flow)
    }

    /// A question or an answer has arrived: the server whose name is known now, if one is.
    pub(super) fn news(&mut self, news: News, cx: &mut AppContext<'_>) -> Option<usize> {
        let News::Delivered { at, number, .. } = news else {
            return None;
        };
        match at {
            Side::Peer if self.config.time.is_zero() => self.answer(number, cx),
            Side::Peer => cx.wake_at(cx.now + self.config.time, ANSWER | number),
            Side::Host => {
                let server = (self.servers.iter()).position(|name| *name == Name::Asked(number))?;
                // What was waited for is of use also where nothing is remembered.
                let lifetime = self.config.lifetime.max(Duration::from_nanos(1));
                self.servers[server] = Name::Known(cx.now + lifetime);
                return Some(server);
            }
        }
        None
    }

    fn answer(&self, number: u64, cx: &mut AppContext<'_>) {
        let flow = self.flow.expect("it was asked");
        cx.datagram(flow, Side::Peer, number, self.config.answer.0 as u16);
    }

    /// A wake-up has come: the resolver is ready to answer, or has been waited for in vain.
    pub(super) fn wake(&mut self, token: u64, cx: &mut AppContext<'_>) {
        let number = token & (ANSWER - 1);
        if token & TIMEOUT == 0 {
            self.answer(number, cx);
        } else if self.servers.contains(&Name::Asked(number)) {
            self.ask(number, cx);
        }
    }
}

/// Bits of the tokens of wake-ups; beneath them is the question's number. Smaller tokens are the page's.
pub(super) const ANSWER: u64 = 1 << 40;
pub(super) const TIMEOUT: u64 = 1 << 41;
