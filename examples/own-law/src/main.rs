//! A control law of one's own, outside of headend's sources, and a run of it.
//!
//! The law discards a packet that has waited too long when its turn comes: the simplest bound of
//! the delay, which wastes what it has let wait.

use std::collections::BTreeMap;

use headend::aqm::Aqm;
use headend::aqm::custom::{self, Provider};
use headend::context::Context;
use headend::custom::Code;
use headend::packet::Packet;
use headend::queue::{Backlog, LineView};
use headend::rng::Rng;
use headend::scenario::{Format, Scenario};
use headend::time::Duration;
use headend::trace::DropReason;
use headend::units::Rate;

/// The law: no packet leaves that has waited longer than this.
#[derive(Debug)]
struct OldestOut {
    longest: Duration,
}

impl Aqm for OldestOut {
    fn dequeue(
        &mut self,
        backlog: &mut Backlog,
        line: &LineView<'_>,
        cx: &mut Context<'_>,
    ) -> Option<Packet> {
        loop {
            let packet = backlog.pop(line)?;
            if cx.now - packet.enqueued_at <= self.longest {
                return Some(packet);
            }
            cx.discard(packet, DropReason::Congested);
        }
    }

    fn is_periodic(&self) -> bool {
        false
    }
}

/// Builds the laws that scenarios name.
struct Laws;

impl Provider for Laws {
    fn law(&self, code: Code<'_>, _rate: Rate, _rng: Rng) -> Result<Box<dyn Aqm>, String> {
        if code.name != "oldest_out" {
            return Err(format!("expected oldest_out, found \"{}\"", code.name));
        }
        let longest = code.parameters.get("longest").cloned();
        let longest = longest.unwrap_or_else(|| "20 ms".into());
        let longest = serde_json::from_value(longest).map_err(|why| format!("longest: {why}"))?;
        Ok(Box::new(OldestOut { longest }))
    }
}

const SCENARIO: &str = r#"
title = "An upload beside a ping, under a law of one's own"
duration = "20 s"

[link.line.point_to_point]
up = { rate = "10 Mbit/s", queue = { custom = { code = "oldest_out", longest = "20 ms" } } }
down = { rate = "100 Mbit/s" }

[flow.upload]
application = "bulk"
direction = "up"
rtt = "30 ms"

[flow.ping]
application = "ping"
rtt = "30 ms"
"#;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    custom::provide(Box::new(Laws));
    let scenario = Scenario::parse(SCENARIO, Format::Toml, &[], &BTreeMap::new())?;
    let mut simulation = scenario.build(scenario.raw().seed);
    simulation.run_until(simulation.end());
    let tables: BTreeMap<_, _> = simulation.tables().into_iter().collect();
    for column in [
        "queue",
        "packets_dequeued",
        "discarded_congested",
        "delay_p99_ns",
    ] {
        println!("{column}: {:?}", tables["queues"].get(column));
    }
    Ok(())
}
