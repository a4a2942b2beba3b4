//! TCP that makes no sense is refused, by the key that is at fault.

use crate::congestion::CongestionConfig;
use crate::custom;
use crate::scenario::error::ScenarioError;
use crate::tcp::{self, EcnMode, FastRecovery, PrrMode};
use crate::time::Duration;
use crate::units::{ByteCount, MemoryLimit, TunedSize};

/// Refuses what makes no sense of the TCP that stands at a path.
pub(super) fn check(at: &str, tcp: &tcp::Config) -> Result<(), ScenarioError> {
    let refuse = |path: &str, (key, expected): (&str, &str)| {
        ScenarioError::invalid(format!("{path}.{key}"), format!("expected {expected}"))
    };
    check_timers(tcp).map_err(|(key, why)| ScenarioError::invalid(format!("{at}.{key}"), why))?;
    check_keys(tcp).map_err(|fault| refuse(at, fault))?;
    let control = format!("{at}.congestion");
    if let CongestionConfig::Custom(own) = &tcp.congestion {
        let refuse = |why| ScenarioError::invalid(format!("{control}.{}", custom::KIND), why);
        return own.check_code().map_err(refuse);
    }
    (tcp.congestion.check()).map_err(|fault| refuse(&control, fault))
}

/// Of two timers that contradict each other, the error names the one that differs from its default:
/// the other may be what an end system's name stands for.
fn check_timers(tcp: &tcp::Config) -> Result<(), (&'static str, String)> {
    let longest = tcp.max_rto;
    for (key, timer) in [("min_rto", tcp.min_rto), ("initial_rto", tcp.initial_rto)] {
        if timer <= longest {
            continue;
        }
        return Err(if longest == tcp::Config::default().max_rto {
            (
                key,
                format!("expected at most max_rto, {longest}, found {timer}"),
            )
        } else {
            (
                "max_rto",
                format!("expected at least {key}, {timer}, found {longest}"),
            )
        });
    }
    Ok(())
}

/// The key of a value that makes no sense, and what is expected there.
fn check_keys(tcp: &tcp::Config) -> Result<(), (&'static str, &'static str)> {
    let checks = [
        // RFC 791's smallest, and the largest packet that the links carry.
        ((68..=1500).contains(&tcp.mtu), "mtu", "68 to 1500 bytes"),
        (
            (1..=1000).contains(&tcp.initial_window),
            "initial_window",
            "1 to 1000 segments",
        ),
        // RFC 7323 §2.3.
        (
            match tcp.receive_window {
                TunedSize::Autotuned => true,
                TunedSize::Fixed(window) => (1..=1 << 30).contains(&window.0),
            },
            "receive_window",
            "1 B to 1 GiB, or \"autotuned\"",
        ),
        (
            tcp.receive_buffer != MemoryLimit::Bytes(ByteCount(0)),
            "receive_buffer",
            "at least 1 B, or \"unlimited\"",
        ),
        (
            tcp.send_buffer != MemoryLimit::Bytes(ByteCount(0)),
            "send_buffer",
            "at least 1 B, or \"unlimited\"",
        ),
        // RFC 5681 §4.2.
        (
            tcp.delayed_ack <= Duration::from_millis(500),
            "delayed_ack",
            "at most 500 ms",
        ),
        (
            tcp.max_rto <= Duration::from_secs(600),
            "max_rto",
            "at most 10 minutes",
        ),
        (
            tcp.initial_rto >= Duration::from_millis(1),
            "initial_rto",
            "at least 1 ms",
        ),
        (tcp.syn_retries <= 100, "syn_retries", "at most 100"),
        (
            tcp.sack || tcp.prr == PrrMode::Off,
            "prr",
            "\"off\" where `sack` is false",
        ),
        (tcp.sack || !tcp.rack, "rack", "false where `sack` is false"),
        (
            tcp.sack || !tcp.dsack,
            "dsack",
            "false where `sack` is false",
        ),
        (
            !tcp.sack || tcp.fast_recovery == FastRecovery::NewReno,
            "fast_recovery",
            "\"new_reno\" where `sack` is true",
        ),
        (
            tcp.ecn != EcnMode::Off || !tcp.congestion.counts_marks(),
            "ecn",
            "\"auto\", \"accurate\" or \"on\" for a congestion control that answers marks",
        ),
    ];
    let wrong = checks.into_iter().find(|(holds, ..)| !holds);
    wrong.map_or(Ok(()), |(_, key, expected)| Err((key, expected)))
}
