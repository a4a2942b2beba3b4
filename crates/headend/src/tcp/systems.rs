//! End systems by name: the settings of their TCP where a scenario sets nothing else. A name fills
//! in the keys that are not written. The settings of Linux are the defaults of [`super::Config`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// An end system with its default settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum System {
    /// FreeBSD 4 (2000 to 2005): NewReno without SACK, timestamps, a window of 57344 bytes.
    Freebsd4,
    /// Linux 6.18: CUBIC with HyStart, SACK with RACK-TLP and PRR, quick acknowledgements,
    /// autotuned buffers.
    #[default]
    Linux,
    /// macOS today: CUBIC with HyStart++, ECN, a window of 4 MiB.
    Macos,
    /// The text of the standards that every TCP follows (RFC 9293 and those that it requires), with
    /// SACK, timestamps and CUBIC. Where they leave a choice, this system does as little as they
    /// allow.
    Rfc,
    /// Windows XP (2001): NewReno with SACK, and no timestamps. Its window therefore stays at 64
    /// KiB or below.
    WindowsXp,
}

impl System {
    /// All systems.
    pub const ALL: [Self; 5] = [
        Self::Freebsd4,
        Self::Linux,
        Self::Macos,
        Self::Rfc,
        Self::WindowsXp,
    ];

    /// The keys of [`super::Config`] that differ from its defaults, or that matter most; for the
    /// congestion control, its name.
    pub fn keys(self) -> Map<String, Value> {
        let keys = match self {
            Self::Linux => json!({}),
            // tcp(4) and the sources of 4.4 and later: tcp_recvspace, tcp_newreno, delacktime,
            // TCPTV_MIN, slowstart_flightsize; kern.hz, which is 100.
            Self::Freebsd4 => json!({
                "congestion": "reno", "sack": false, "receive_window": "57344 B",
                "initial_window": 1, "delayed_ack": "100 ms", "min_rto": "1 s",
                "clock_granularity": "10 ms", "initial_rto": "3 s", "syn_retries": 3,
            }),
            // sysctl: net.inet.tcp.autorcvbufmax, ecn_initiate_out, delayed_ack; tcp_dsack_enable
            // of its sources. PRR was RFC 6937's until 2025.
            Self::Macos => json!({
                "congestion": "cubic", "ecn": "on", "rack": true, "dsack": true, "prr": "rfc6937",
                "receive_window": "4 MiB", "initial_window": 10, "delayed_ack": "100 ms",
            }),
            // RFC 9438, 6675, 6928; the timeout of RFC 6298 §2.4, and the only granularity that it
            // has a number for: the coarsest of those that do well (§4). RFC 8985, 9937 and 2883
            // are options that a TCP may have, and are off.
            Self::Rfc => json!({
                "congestion": "cubic", "receive_window": "6 MiB", "initial_window": 10,
                "delayed_ack": "40 ms", "min_rto": "1 s", "min_rto_of": "timeout",
                "clock_granularity": "100 ms",
            }),
            // Microsoft: TCP/IP implementation details of Windows 2000 and Server 2003:
            // GlobalMaxTcpWindowSize, Tcp1323Opts, TcpInitialRTT, TcpMaxConnectRetransmissions.
            Self::WindowsXp => json!({
                "congestion": "reno", "timestamps": false, "receive_window": "65535 B",
                "initial_window": 2, "delayed_ack": "200 ms", "min_rto": "300 ms",
                "initial_rto": "3 s", "syn_retries": 2,
            }),
        };
        let mut keys = table(keys);
        if self != Self::Linux {
            // Features that only Linux has.
            for (key, value) in table(json!({
                "quick_acks": false, "send_buffer": "unlimited", "rack": false, "dsack": false,
                "prr": "off", "ssthresh_from": "flight_size", "whole_segments": false,
                "growth_beyond_use": false,
            })) {
                keys.entry(key).or_insert(value);
            }
        }
        keys
    }

    /// The parameters of the congestion controls in this system, by the name of the control.
    pub fn controls(self) -> Map<String, Value> {
        let hystart = match self {
            Self::Linux => return Map::new(),
            Self::Macos => "plus_plus",
            Self::Freebsd4 | Self::Rfc | Self::WindowsXp => "off",
        };
        table(json!({
            "cubic": {
                "hystart": hystart, "growth_before_loss": "0 %", "reno_growth_above_prior": true,
            },
            "bbr": { "ack_aggregation": false, "quantization": false },
        }))
    }
}

fn table(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(table) => table,
        _ => unreachable!("all of them are tables"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::CongestionConfig;
    use crate::tcp::Config;

    #[test]
    fn the_keys_of_every_system_are_those_of_tcp() {
        for system in System::ALL {
            let config = serde_json::from_value::<Config>(Value::Object(system.keys()));
            let config = config.unwrap_or_else(|error| panic!("{system:?}: {error}"));
            assert_eq!(config == Config::default(), system == System::Linux);
            for (name, parameters) in system.controls() {
                let control = json!({ &name: parameters });
                let control = serde_json::from_value::<CongestionConfig>(control);
                let control = control.unwrap_or_else(|error| panic!("{system:?}: {name}: {error}"));
                assert_eq!(control.check(), Ok(()));
            }
        }
    }
}
