//! From a plain link that makes sense to one that runs.

use super::plan::{DirectionPlan, NAMES, PlainPlan};
use crate::flow::Port;
use crate::link::token_bucket::TokenBuckets;
use crate::link::{DirectionSetup, Losses, PointToPoint, Policer, Transmitter};
use crate::qdisc::AckAcceleration;
use crate::scenario::builder::{Builder, QueuePlace};
use crate::scenario::queue::MTU;

pub(super) fn build(plan: &PlainPlan, link: &str, builder: &mut Builder) -> PointToPoint {
    let [up, down] = &plan.directions;
    let up = direction(link, Port(0), up, builder);
    let down = direction(link, Port(1), down, builder);
    PointToPoint::new(up, down)
}

fn direction(
    link: &str,
    port: Port,
    plan: &DirectionPlan,
    builder: &mut Builder,
) -> DirectionSetup {
    let direction = NAMES[usize::from(port.0)];
    let rate = plan.nominal();
    let place = QueuePlace {
        link,
        name: &format!("{link}.{direction}"),
        direction,
        rate,
        framing: plan.framing,
        acceleration: AckAcceleration::Off,
        map_interval: None,
        service_flow: None,
    };
    let token = PointToPoint::update_token(port);
    let losses = plan.loss.clone().map(|share| {
        let stream = format!("link.{link}.{direction}.loss");
        Losses::new(share, builder.rng(stream))
    });
    builder.note_rate(plan.schedule.nominal());
    DirectionSetup {
        policer: plan.policer.map(Policer::new),
        queue: builder.queue(place, &plan.queue, token),
        shaper: plan.shaper.map(TokenBuckets::new),
        transmitter: Transmitter::new(plan.schedule.clone()),
        delay: plan.delay.clone(),
        losses,
        framing: plan.framing,
        mtu: MTU,
    }
}
