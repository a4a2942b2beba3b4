//! End systems by name: what their TCP does where a scenario says nothing else. A name fills in the keys that are not written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// An end system, with its settings as they come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum System {
    /// FreeBSD 4 (2000 to 2005): NewReno without SACK, timestamps, a window of 57344 bytes.
    Freebsd4,
    /// Linux since 2016: CUBIC with HyStart, SACK with RACK-TLP and PRR.
    Linux,
    /// macOS today: CUBIC with HyStart++, ECN, a window of 4 MiB.
    Macos,
    /// Windows XP (2001): NewReno with SACK, no timestamps, and so no window above 64 KiB.
    WindowsXp,
}

impl System {
    /// The keys of [`super::Config`] that differ from its defaults, or that matter most.
    pub fn keys(self) -> Map<String, Value> {
        let keys = match self {
            // tcp(4) and the sources of 4.4 and later: tcp_recvspace, tcp_newreno, delacktime, TCPTV_MIN, slowstart_flightsize.
            Self::Freebsd4 => json!({
                "congestion": "reno", "sack": false, "receive_window": "57344 B", "initial_window": 1,
                "delayed_ack": "100 ms", "min_rto": "1 s", "initial_rto": "3 s", "syn_retries": 3,
            }),
            // ip-sysctl: tcp_recovery (RACK), tcp_early_retrans (TLP), tcp_dsack, tcp_rmem; PRR since 3.2, HyStart since 2.6.29.
            Self::Linux => json!({
                "congestion": { "cubic": { "hystart": "original" } }, "rack": true, "dsack": true, "prr": true,
                "receive_window": "6 MiB", "initial_window": 10, "delayed_ack": "40 ms", "min_rto": "200 ms",
            }),
            // sysctl: net.inet.tcp.autorcvbufmax, ecn_initiate_out, delayed_ack; tcp_dsack_enable of its sources.
            Self::Macos => json!({
                "congestion": { "cubic": { "hystart": "plus_plus" } }, "ecn": "on", "rack": true, "dsack": true, "prr": true,
                "receive_window": "4 MiB", "initial_window": 10, "delayed_ack": "100 ms",
            }),
            // Microsoft: TCP/IP implementation details of Windows 2000 and Server 2003: GlobalMaxTcpWindowSize, Tcp1323Opts, TcpInitialRTT, TcpMaxConnectRetransmissions.
            Self::WindowsXp => json!({
                "congestion": "reno", "timestamps": false, "receive_window": "65535 B", "initial_window": 2,
                "delayed_ack": "200 ms", "min_rto": "300 ms", "initial_rto": "3 s", "syn_retries": 2,
            }),
        };
        match keys {
            Value::Object(keys) => keys,
            _ => unreachable!("all of them are tables"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::Config;

    #[test]
    fn the_keys_of_every_system_are_those_of_tcp() {
        for system in [
            System::Freebsd4,
            System::Linux,
            System::Macos,
            System::WindowsXp,
        ] {
            let config = serde_json::from_value::<Config>(Value::Object(system.keys()));
            let config = config.unwrap_or_else(|error| panic!("{system:?}: {error}"));
            assert_ne!(config, Config::default());
            assert_eq!(config.congestion.check(), Ok(()));
        }
    }
}
