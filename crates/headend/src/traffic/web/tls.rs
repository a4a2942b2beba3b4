//! TLS handshakes: the round trips before the first request on a connection, and their bytes.
//!
//! Handshakes are full, with one certificate chain. Sessions are not resumed, and no data is sent
//! in the first flight (0-RTT). The records of later data add no bytes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The version of TLS on a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Tls {
    /// No handshake: requests are sent in plain text.
    #[default]
    Off,
    /// TLS 1.2 (RFC 5246 §7.3): two round trips.
    Tls12,
    /// TLS 1.3 (RFC 8446 §2): one round trip.
    Tls13,
}

impl Tls {
    /// Bytes of round trip `number`, up and down. `certificates` is the size of the server's
    /// certificates and of the messages sent with them.
    pub(in crate::traffic) fn flights(self, number: u32, certificates: u64) -> Option<(u64, u64)> {
        (number < self.round_trips()).then_some(match number {
            0 => (CLIENT_HELLO, certificates),
            _ => (KEY_EXCHANGE, SERVER_FINISHED),
        })
    }

    /// Number of round trips.
    pub(in crate::traffic) fn round_trips(self) -> u32 {
        match self {
            Self::Off => 0,
            Self::Tls12 => 2,
            Self::Tls13 => 1,
        }
    }

    /// Bytes that the client sends with its first request.
    pub(in crate::traffic) fn rest(self) -> u64 {
        match self {
            Self::Off | Self::Tls12 => 0,
            Self::Tls13 => CLIENT_FINISHED,
        }
    }
}

/// Size to which browsers pad the message (RFC 7685), with the header of the record.
const CLIENT_HELLO: u64 = 517;
/// TLS 1.2: `ClientKeyExchange` with a point of an elliptic curve, `ChangeCipherSpec` and Finished,
/// each in a record of its own.
const KEY_EXCHANGE: u64 = 126;
/// TLS 1.2: `ChangeCipherSpec` and Finished.
const SERVER_FINISHED: u64 = 51;
/// TLS 1.3: `ChangeCipherSpec` for old middleboxes (RFC 8446 appendix D.4) and Finished.
const CLIENT_FINISHED: u64 = 64;
