//! DNS look-ups (RFC 1035): sends a query to a resolver in one datagram, and repeats it until the
//! response arrives.
//!
//! Every server has a name, and nothing is sent to the server before its address is known. A
//! response is cached for a time. The resolver always answers. The time that it needs for queries
//! of its own is its `time`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::definition::{Fault, ensure, ensure_datagram, ensure_span};
use super::super::{AppContext, News};
use crate::flow::FlowId;
use crate::packet::Side;
use crate::time::{Duration, Instant};
use crate::units::ByteCount;

/// Parameters of DNS look-ups.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Size of a response, IP bytes.
    pub answer: ByteCount,
    /// How long a response is cached. `"0 s"` looks names up anew for every load.
    pub lifetime: Duration,
    /// Size of a query, IP bytes.
    pub question: ByteCount,
    /// Time that the resolver takes for a response: near zero if it has the answer cached, some
    /// tens of milliseconds if it has to query other servers.
    pub time: Duration,
    /// Time without a response after which the query is sent again. A lost query delays a page by
    /// this time.
    pub timeout: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            // 28 B of IP and UDP, 12 B of header, a name of 20 B, 11 B of EDNS. The response has a
            // CNAME and two addresses.
            question: ByteCount(75),
            answer: ByteCount(140),
            // How long Chrome caches a name if the system gives no lifetime.
            lifetime: Duration::from_secs(60),
            time: Duration::ZERO,
            // resolv.conf(5); RFC 1035 §4.2.1 recommends 2 to 5 s at least.
            timeout: Duration::from_secs(5),
        }
    }
}

impl Config {
    /// Checks for values that make no sense.
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

/// State of one name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Name {
    /// The query with this number is outstanding.
    Outstanding(u64),
    /// The address is known until this time.
    Known(Instant),
}

/// The names of a page's servers.
#[derive(Debug)]
pub(super) struct Names {
    config: Config,
    flow: Option<FlowId>,
    /// State by server.
    servers: Vec<Name>,
    queries: u64,
}

impl Names {
    /// Creates the state of `servers` servers, with no address known.
    pub(super) fn new(config: Config, servers: usize) -> Self {
        Self {
            config,
            flow: None,
            servers: Vec::with_capacity(servers),
            queries: 0,
        }
    }

    /// Whether the address of `server` is known. If not, looks it up at remote host `resolver`.
    pub(super) fn resolve(
        &mut self,
        server: usize,
        resolver: usize,
        cx: &mut AppContext<'_>,
    ) -> bool {
        if self.servers.len() <= server {
            self.servers.resize(server + 1, Name::Known(Instant::ZERO));
        }
        match self.servers[server] {
            Name::Known(until) if until > cx.now => true,
            Name::Outstanding(_) => false,
            Name::Known(_) => {
                self.flow.get_or_insert_with(|| cx.open_datagrams(resolver));
                self.servers[server] = Name::Outstanding(self.queries);
                self.queries += 1;
                self.send_query(self.queries - 1, cx);
                false
            }
        }
    }

    fn send_query(&self, number: u64, cx: &mut AppContext<'_>) {
        let flow = self.flow.expect("it is opened for the first question");
        cx.datagram(flow, Side::Host, number, self.config.question.0 as u16);
        cx.wake_at(cx.now + self.config.timeout, TIMEOUT | number);
    }

    /// Number of queries, repetitions not counted.
    #[cfg(test)]
    pub(super) fn queries(&self) -> u64 {
        self.queries
    }

    /// Whether the queries use this flow.
    pub(super) fn owns(&self, flow: FlowId) -> bool {
        self.flow == Some(flow)
    }

    /// Handles the arrival of a query or a response. Returns the server whose address is now known,
    /// if any.
    pub(super) fn news(&mut self, news: News, cx: &mut AppContext<'_>) -> Option<usize> {
        let News::Delivered { at, number, .. } = news else {
            return None;
        };
        match at {
            Side::Peer if self.config.time.is_zero() => self.answer(number, cx),
            Side::Peer => cx.wake_at(cx.now + self.config.time, ANSWER | number),
            Side::Host => {
                let server =
                    (self.servers.iter()).position(|name| *name == Name::Outstanding(number))?;
                // The browser uses the address that it waited for also if nothing is cached.
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

    /// Handles a wake-up: the resolver's response is ready, or a query has timed out.
    pub(super) fn wake(&mut self, token: u64, cx: &mut AppContext<'_>) {
        let number = token & (ANSWER - 1);
        if token & TIMEOUT == 0 {
            self.answer(number, cx);
        } else if self.servers.contains(&Name::Outstanding(number)) {
            self.send_query(number, cx);
        }
    }
}

/// Bits in the tokens of wake-ups; the lower bits are the number of the query. The page uses
/// smaller tokens.
pub(super) const ANSWER: u64 = 1 << 40;
pub(super) const TIMEOUT: u64 = 1 << 41;
