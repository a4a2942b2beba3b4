//! A timer that costs at most one pending event however often it is set.
//!
//! Nothing is cancelled in the event queue. When a deadline moves later, as the retransmission
//! timer's does with every acknowledgement, the pending wake-up stays; it then comes early, and the
//! owner arms the timer again.

use crate::context::Context;
use crate::endpoint::wake_endpoint;
use crate::flow::FlowId;
use crate::time::Instant;

/// A timer whose wake-ups carry `TOKEN`.
#[derive(Debug)]
pub(super) struct Timer<const TOKEN: u32> {
    /// The pending wake-up that counts; any other is out of date.
    armed: Option<Instant>,
}

impl<const TOKEN: u32> Timer<TOKEN> {
    /// A timer that is not armed.
    pub(super) const fn new() -> Self {
        Self { armed: None }
    }

    /// Schedules a wake-up at `deadline`, unless one is pending that comes no later.
    #[inline]
    pub(super) fn arm(&mut self, deadline: Option<Instant>, flow: FlowId, cx: &mut Context<'_>) {
        if let Some(at) = deadline
            && self.armed.is_none_or(|armed| at < armed)
        {
            let at = at.max(cx.now);
            self.armed = Some(at);
            wake_endpoint(cx, flow, at, TOKEN);
        }
    }

    /// A wake-up with its token has come: whether it is the one that counts.
    pub(super) fn woken(&mut self, now: Instant) -> bool {
        self.armed.take_if(|armed| *armed == now).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::World;
    use crate::event::{AppId, EventQueue, Source};
    use crate::flow::{FlowHeader, FlowTable, GroupId, Hop, Protocol};
    use crate::metrics::Recorder;
    use crate::time::Duration;

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    fn world() -> (World, FlowId) {
        let mut flows = FlowTable::default();
        let route = flows.add_route(vec![Hop::End]);
        let flow = flows.open(FlowHeader {
            group: GroupId(0),
            app: AppId(0),
            ordinal: 0,
            generation: 0,
            protocol: Protocol::Tcp,
            addresses: [0; 2],
            ports: [0; 2],
            tunnel: None,
            dscp: 0,
            user_priority: None,
            routes: [route; 2],
        });
        let second = Duration::from_secs(1);
        let recorder = Recorder::new(Vec::new(), Vec::new(), second, second);
        let events = EventQueue::new(Duration::from_millis(1), 0);
        (World::new(events, flows, Vec::new(), recorder), flow)
    }

    /// Arms `timer` at `now`.
    fn arm(timer: &mut Timer<3>, deadline: u64, now: u64, world: &mut World, flow: FlowId) {
        let mut cx = Context::new(at(now), world, Source::Endpoint(0));
        timer.arm(Some(at(deadline)), flow, &mut cx);
    }

    #[test]
    fn a_deadline_that_moves_later_costs_no_event() {
        let (mut world, flow) = world();
        let mut timer = Timer::new();
        for ms in 0..100 {
            arm(&mut timer, 200 + ms, ms, &mut world, flow);
        }
        assert_eq!(world.events.len(), 1);
        assert!(timer.woken(at(200)), "early, for its owner to arm it again");
        arm(&mut timer, 299, 200, &mut world, flow);
        assert_eq!(world.events.len(), 2);
    }

    #[test]
    fn a_deadline_that_moves_earlier_makes_the_first_wake_up_out_of_date() {
        let (mut world, flow) = world();
        let mut timer = Timer::new();
        arm(&mut timer, 1000, 0, &mut world, flow);
        arm(&mut timer, 300, 0, &mut world, flow);
        assert!(timer.woken(at(300)));
        assert!(!timer.woken(at(1000)));
    }

    #[test]
    fn without_a_deadline_no_wake_up_is_scheduled() {
        let (mut world, flow) = world();
        let mut timer = Timer::<3>::new();
        timer.arm(
            None,
            flow,
            &mut Context::new(at(0), &mut world, Source::Endpoint(0)),
        );
        assert!(world.events.is_empty());
        assert!(!timer.woken(at(5)));
    }
}
