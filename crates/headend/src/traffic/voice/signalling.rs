//! SIP over UDP for call set-up and clearing (RFC 3261 with RFC 6026), between a caller at the
//! customer's host and a callee who answers at once.
//!
//! ```text
//! caller   INVITE ──►           repeated after T1, 2 T1, 4 T1 … until a response arrives; after
//!                               64 T1 the call has failed (§17.1.1.2: A, B)
//!          ◄── 100, 180, 200    200 repeated after T1, 2 T1, 4 T1, then every T2, until its ACK
//!                               (§13.3.1.4)
//!          ACK ──►              for every 200
//!          …  BYE ──►           repeated after T1, 2 T1, 4 T1, then every T2; after 64 T1 the call
//!                               is cleared without a response (§17.1.2.2: E, F)
//! ```
//!
//! Simplifications:
//!
//! - There is no proxy.
//! - A caller who has received a provisional response and gets no 200 within another 64 T1 gives up
//!   without a CANCEL.
//! - If a callee has answered and gets no ACK within 64 T1, the call fails without a BYE from the
//!   callee.
//!
//! Messages are as long as those of RFC 3665 §3.1.

use crate::flow::FlowId;
use crate::packet::Side;
use crate::time::{Duration, Instant};
use crate::traffic::AppContext;

use super::SIGNAL;

/// RFC 3261 table 4: T1 is an estimate of the round-trip time. T2 is the longest time between two
/// retransmissions of a message other than INVITE.
const T1: Duration = Duration::from_millis(500);
const T2: Duration = Duration::from_secs(4);
/// Timers B, F and H.
const TRANSACTION_TIMEOUT: Duration = Duration::from_millis(64 * 500);

/// An event of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Event {
    /// Both sides know that the call is set up. `after` is the time until the caller received the
    /// 200.
    Answered { after: Duration },
    /// The call was not answered in time.
    Failed,
    /// The call is cleared on both sides, or the BYE has timed out.
    Cleared,
}

/// A SIP message. Its index is part of the number of its datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Message {
    Ack,
    Bye,
    ByeOk,
    Invite,
    Ok,
    Ringing,
    Trying,
}

impl Message {
    const ALL: [Self; 7] = [
        Self::Ack,
        Self::Bye,
        Self::ByeOk,
        Self::Invite,
        Self::Ok,
        Self::Ringing,
        Self::Trying,
    ];

    /// Size in IP bytes: the text of RFC 3665 §3.1, 8 B of UDP and 20 B of IP.
    const fn size(self) -> u16 {
        28 + match self {
            Self::Ack => 332,
            Self::Bye => 336,
            Self::ByeOk => 307,
            Self::Invite => 563,
            Self::Ok => 550,
            Self::Ringing => 375,
            Self::Trying => 299,
        }
    }
}

/// A message that is retransmitted until it is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Repeated {
    message: Message,
    next: Instant,
    gap: Duration,
    /// Time at which retransmission ends.
    end: Instant,
}

/// State of the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Caller {
    Idle,
    /// The INVITE is sent.
    Calling(Repeated),
    /// A provisional response has arrived; the caller waits for a 200 until this time.
    Proceeding(Instant),
    /// A 200 has arrived.
    Answered,
    /// The BYE is sent.
    Clearing(Repeated),
}

/// State of the callee.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Callee {
    Idle,
    /// The 200 is sent.
    Answering(Repeated),
    Talking,
}

/// The two ends of the current call.
#[derive(Debug)]
pub(super) struct Signalling {
    flow: Option<FlowId>,
    /// Number of the call. Messages of other calls are late and ignored.
    call: u64,
    invited_at: Instant,
    answered_after: Duration,
    caller: Caller,
    callee: Callee,
}

impl Default for Signalling {
    fn default() -> Self {
        Self {
            flow: None,
            call: 0,
            invited_at: Instant::ZERO,
            answered_after: Duration::ZERO,
            caller: Caller::Idle,
            callee: Callee::Idle,
        }
    }
}

impl Signalling {
    /// Whether the signalling uses this flow.
    pub(super) fn is_own(&self, flow: FlowId) -> bool {
        self.flow == Some(flow)
    }

    /// Whether a call is set up.
    pub(super) fn is_talking(&self) -> bool {
        self.callee == Callee::Talking && self.caller == Caller::Answered
    }

    /// Begins a call.
    pub(super) fn invite(&mut self, cx: &mut AppContext<'_>) {
        self.flow = Some(self.flow.unwrap_or_else(|| cx.open_datagrams(0)));
        self.call += 1;
        self.invited_at = cx.now;
        self.callee = Callee::Idle;
        self.caller = Caller::Calling(self.begin(Side::Host, Message::Invite, cx));
    }

    /// Ends the call.
    pub(super) fn bye(&mut self, cx: &mut AppContext<'_>) {
        self.caller = Caller::Clearing(self.begin(Side::Host, Message::Bye, cx));
    }

    /// Resets both ends to idle.
    pub(super) fn give_up(&mut self) {
        (self.caller, self.callee) = (Caller::Idle, Callee::Idle);
    }

    /// Handles a message that has arrived.
    pub(super) fn receive(
        &mut self,
        at: Side,
        number: u64,
        cx: &mut AppContext<'_>,
    ) -> Option<Event> {
        let kinds = Message::ALL.len() as u64;
        if number / kinds != self.call {
            return None;
        }
        let message = Message::ALL[(number % kinds) as usize];
        match at {
            Side::Host => self.caller_receives(message, cx),
            Side::Peer => self.callee_receives(message, cx),
        }
    }

    /// Handles a wake-up. A timer may be due.
    pub(super) fn wake(&mut self, cx: &mut AppContext<'_>) -> Option<Event> {
        match self.caller {
            Caller::Calling(mut invite) => {
                if cx.now >= invite.end {
                    return Some(self.fail());
                }
                // The interval of timer A doubles without limit.
                self.repeat(Side::Host, &mut invite, Duration::MAX, cx);
                self.caller = Caller::Calling(invite);
            }
            Caller::Proceeding(end) if cx.now >= end => return Some(self.fail()),
            Caller::Clearing(mut bye) => {
                if cx.now >= bye.end {
                    self.give_up();
                    return Some(Event::Cleared);
                }
                self.repeat(Side::Host, &mut bye, T2, cx);
                self.caller = Caller::Clearing(bye);
            }
            _ => {}
        }
        if let Callee::Answering(mut ok) = self.callee {
            if cx.now >= ok.end {
                return Some(self.fail());
            }
            self.repeat(Side::Peer, &mut ok, T2, cx);
            self.callee = Callee::Answering(ok);
        }
        None
    }

    fn fail(&mut self) -> Event {
        self.give_up();
        Event::Failed
    }

    fn caller_receives(&mut self, message: Message, cx: &mut AppContext<'_>) -> Option<Event> {
        match (message, self.caller) {
            (Message::Trying | Message::Ringing, Caller::Calling(_)) => {
                let end = cx.now + TRANSACTION_TIMEOUT;
                self.caller = Caller::Proceeding(end);
                cx.wake_at(end, SIGNAL);
            }
            (Message::Ok, Caller::Calling(_) | Caller::Proceeding(_)) => {
                self.answered_after = cx.now.since(self.invited_at);
                self.caller = Caller::Answered;
                self.send(Side::Host, Message::Ack, cx);
            }
            (Message::Ok, Caller::Answered) => self.send(Side::Host, Message::Ack, cx),
            (Message::ByeOk, Caller::Clearing(_)) => {
                self.give_up();
                return Some(Event::Cleared);
            }
            _ => {}
        }
        None
    }

    fn callee_receives(&mut self, message: Message, cx: &mut AppContext<'_>) -> Option<Event> {
        match (message, self.callee) {
            // A late copy of an INVITE that was answered changes nothing (RFC 6026).
            (Message::Invite, Callee::Idle) if self.caller != Caller::Idle => {
                self.send(Side::Peer, Message::Trying, cx);
                self.send(Side::Peer, Message::Ringing, cx);
                self.callee = Callee::Answering(self.begin(Side::Peer, Message::Ok, cx));
            }
            (Message::Ack, Callee::Answering(_)) => {
                self.callee = Callee::Talking;
                let after = self.answered_after;
                return Some(Event::Answered { after });
            }
            (Message::Bye, _) => self.send(Side::Peer, Message::ByeOk, cx),
            _ => {}
        }
        None
    }

    /// Sends a message for the first time.
    fn begin(&self, from: Side, message: Message, cx: &mut AppContext<'_>) -> Repeated {
        self.send(from, message, cx);
        let repeated = Repeated {
            message,
            next: cx.now + T1,
            gap: T1,
            end: cx.now + TRANSACTION_TIMEOUT,
        };
        cx.wake_at(repeated.next, SIGNAL);
        repeated
    }

    /// Retransmits a message if it is due. The interval doubles each time, up to `longest`.
    fn repeat(
        &self,
        from: Side,
        repeated: &mut Repeated,
        longest: Duration,
        cx: &mut AppContext<'_>,
    ) {
        if cx.now < repeated.next {
            return;
        }
        self.send(from, repeated.message, cx);
        repeated.gap = (repeated.gap * 2).min(longest);
        repeated.next = (cx.now + repeated.gap).min(repeated.end);
        cx.wake_at(repeated.next, SIGNAL);
    }

    fn send(&self, from: Side, message: Message, cx: &mut AppContext<'_>) {
        let Some(flow) = self.flow else { return };
        let number = self.call * Message::ALL.len() as u64 + message as u64;
        cx.datagram(flow, from, number, message.size());
    }
}
