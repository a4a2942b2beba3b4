//! An application that runs in several periods: each period has a new instance of it, under one
//! name.
//!
//! As after any stop, the instance of a period completes its work in progress after the period's
//! end, while the next instance already runs. The highest byte of a wake-up's token is the number
//! of its period. Events on a flow go to the period that opened the flow.

use super::{AppContext, AppEvent, Application, ApplicationConfig, Direction};
use crate::rng::Rng;
use crate::time::Instant;

/// Periods in order, and the instances of those that have begun.
#[derive(Debug)]
pub(crate) struct Periods {
    application: ApplicationConfig,
    direction: Direction,
    /// Start and end of each period, in order.
    times: Vec<(Instant, Instant)>,
    /// By period: the ordinal of its first flow, and its instance of the application.
    begun: Vec<(u32, Box<dyn Application>)>,
    /// Random numbers by period, forked at the start: what happens in one period does not change
    /// the random numbers of the next.
    rngs: Vec<Rng>,
}

/// Largest number of periods, which fits into the highest byte of a token.
pub(crate) const MOST_PERIODS: usize = 200;
/// Bit position of the period's number in a token.
const SHIFT: u32 = 56;

impl Periods {
    /// Creates the application with one of its directions and these periods. It must be started at
    /// the start of the first period.
    pub(crate) fn new(
        application: ApplicationConfig,
        direction: Direction,
        times: Vec<(Instant, Instant)>,
    ) -> Self {
        assert!(times.len() <= MOST_PERIODS, "the check counts periods");
        Self {
            begun: Vec::with_capacity(times.len()),
            rngs: Vec::with_capacity(times.len()),
            application,
            direction,
            times,
        }
    }

    fn start(&mut self, cx: &mut AppContext<'_>) {
        for (number, &(from, to)) in self.times.iter().enumerate() {
            if number > 0 {
                cx.wake_at(from, BEGIN);
            }
            cx.wake_at(to, END);
        }
        self.rngs.extend(self.times.iter().map(|_| cx.rng.fork()));
        self.begin(cx);
    }

    fn begin(&mut self, cx: &mut AppContext<'_>) {
        let application = self
            .application
            .build(self.direction)
            .expect("the check has built it once");
        self.begun.push((cx.group.opened, application));
        self.notify(self.begun.len(), AppEvent::Started, cx);
    }

    /// Delivers an event to the application of period `number`, counted from 1.
    fn notify(&mut self, number: usize, event: AppEvent, cx: &mut AppContext<'_>) {
        if let Some((_, application)) = self.begun.get_mut(number.wrapping_sub(1)) {
            cx.mark = (number as u64) << SHIFT;
            std::mem::swap(cx.rng, &mut self.rngs[number - 1]);
            application.on(event, cx);
            std::mem::swap(cx.rng, &mut self.rngs[number - 1]);
            cx.mark = 0;
        }
    }
}

impl Application for Periods {
    fn on(&mut self, event: AppEvent, cx: &mut AppContext<'_>) {
        match event {
            AppEvent::Started => self.start(cx),
            AppEvent::Stopped => {}
            AppEvent::Timer { token: BEGIN } => self.begin(cx),
            // Periods do not overlap, so that the latest one ends.
            AppEvent::Timer { token: END } => self.notify(self.begun.len(), AppEvent::Stopped, cx),
            AppEvent::Timer { token } => {
                let own = token & ((1 << SHIFT) - 1);
                self.notify(
                    (token >> SHIFT) as usize,
                    AppEvent::Timer { token: own },
                    cx,
                );
            }
            AppEvent::Flow { flow, .. } => {
                let ordinal = cx.world.flows.header(flow).ordinal;
                let number = self.begun.partition_point(|&(first, _)| first <= ordinal);
                self.notify(number, event, cx);
            }
        }
    }
}

/// Tokens of the wake-ups of this type itself; their highest byte is 0, which is no period.
const BEGIN: u64 = 0;
const END: u64 = 1;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoint::Command;
    use crate::time::Duration;
    use crate::traffic::testing::Bench;

    #[test]
    fn datagrams_leave_in_the_periods_only_each_time_on_a_flow_of_their_own() {
        let application: ApplicationConfig =
            toml::from_str("[cbr]\ngap = '10 ms'").expect("a good source");
        let at = |ms| Instant::ZERO + Duration::from_millis(ms);
        let periods = vec![(at(0), at(35)), (at(100), at(125)), (at(125), at(130))];
        let mut app = Periods::new(application, Direction::Up, periods);
        let mut bench = Bench::new(1);
        bench.notify(&mut app, AppEvent::Started);
        let mut sent = Vec::new();
        while let Some((now, token)) = bench.next_timer() {
            bench.notify(&mut app, AppEvent::Timer { token });
            for (flow, _, command) in bench.commands() {
                assert!(matches!(command, Command::Datagram { .. }));
                sent.push((now.as_nanos() / 1_000_000, flow.0));
            }
        }
        let expected = [
            (0, 0),
            (10, 0),
            (20, 0),
            (30, 0),
            (100, 1),
            (110, 1),
            (120, 1),
            (125, 2),
        ];
        assert_eq!(sent, expected);
    }

    #[test]
    fn a_file_of_one_period_is_finished_beside_that_of_the_next() {
        let application: ApplicationConfig =
            toml::from_str("[bulk]\nsize = '1 MB'").expect("a good transfer");
        let at = |ms| Instant::ZERO + Duration::from_millis(ms);
        let mut app = Periods::new(
            application,
            Direction::Up,
            vec![(at(0), at(5)), (at(10), at(15))],
        );
        let mut bench = Bench::new(1);
        bench.notify(&mut app, AppEvent::Started);
        for _ in 0..2 {
            let (_, token) = bench.next_timer().expect("end and beginning");
            bench.notify(&mut app, AppEvent::Timer { token });
        }
        bench.now = at(20);
        for flow in [0, 1] {
            let news = crate::endpoint::News::Received {
                at: crate::packet::Side::Peer,
                total: 1_000_000,
            };
            let flow = crate::flow::FlowId(flow);
            bench.notify(&mut app, AppEvent::Flow { flow, news });
        }
        assert_eq!(bench.samples("completion_time"), [20e6, 10e6]);
    }
}
