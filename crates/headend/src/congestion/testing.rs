//! A simulated path for tests of congestion controls with pacing: one bottleneck with an unlimited
//! queue, and a sender that follows the control.

use std::collections::VecDeque;

use super::{AckSample, CongestionControl, DeliverySample};
use crate::time::{Duration, Instant};

/// A segment in flight.
struct Sent {
    at: f64,
    arrives: f64,
    delivered: u64,
    delivered_at: f64,
    in_flight: u64,
}

/// The path, with the state of the sender; times are in seconds.
pub(super) struct Path {
    /// Bytes per second.
    rate: f64,
    delay: f64,
    mss: u64,
    now: f64,
    free_at: f64,
    next_send: f64,
    sent: VecDeque<Sent>,
    delivered: u64,
    delivered_at: f64,
    round: u64,
    round_ends_at: u64,
    min_rtt: f64,
    srtt: f64,
}

impl Path {
    /// A bottleneck of `rate` bytes per second, on a path whose round trip takes `delay` without
    /// the bottleneck.
    pub(super) fn new(rate: f64, delay: f64, mss: u64) -> Self {
        Self {
            rate,
            delay,
            mss,
            now: 0.0,
            free_at: 0.0,
            next_send: 0.0,
            sent: VecDeque::new(),
            delivered: 0,
            delivered_at: 0.0,
            round: 0,
            round_ends_at: 0,
            min_rtt: f64::INFINITY,
            srtt: delay,
        }
    }

    pub(super) fn set_rate(&mut self, rate: f64) {
        self.rate = rate;
    }

    pub(super) fn set_delay(&mut self, delay: f64) {
        self.delay = delay;
    }

    pub(super) fn in_flight(&self) -> u64 {
        self.sent.len() as u64 * self.mss
    }

    /// Lets `control` send for `seconds`; each segment is acknowledged.
    pub(super) fn run(&mut self, control: &mut dyn CongestionControl, seconds: f64) {
        let end = self.now + seconds;
        loop {
            let ack_at = self.sent.front().map_or(f64::INFINITY, |sent| sent.arrives);
            let has_room = self.in_flight() + self.mss <= control.cwnd();
            let send_at = if has_room {
                self.next_send.max(self.now)
            } else {
                f64::INFINITY
            };
            let next = ack_at.min(send_at);
            if next > end {
                self.now = end;
                return;
            }
            self.now = next;
            if send_at < ack_at {
                self.send(control);
            } else {
                self.acknowledge(control);
            }
        }
    }

    fn send(&mut self, control: &mut dyn CongestionControl) {
        if self.sent.is_empty() {
            self.delivered_at = self.now;
        }
        self.free_at = self.free_at.max(self.now) + self.mss as f64 / self.rate;
        let in_flight = self.in_flight() + self.mss;
        self.sent.push_back(Sent {
            at: self.now,
            arrives: self.free_at + self.delay,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            in_flight,
        });
        control.on_sent(self.instant(), self.mss, in_flight);
        if let Some(rate) = control.pacing_rate() {
            self.next_send = self.now + self.mss as f64 / rate.bytes_per_sec();
        }
    }

    fn acknowledge(&mut self, control: &mut dyn CongestionControl) {
        let prior_in_flight = self.in_flight();
        let sent = self.sent.pop_front().expect("it has arrived");
        self.delivered += self.mss;
        self.delivered_at = self.now;
        if sent.delivered >= self.round_ends_at {
            self.round_ends_at = self.delivered;
            self.round += 1;
        }
        let rtt = self.now - sent.at;
        self.min_rtt = self.min_rtt.min(rtt);
        self.srtt += (rtt - self.srtt) / 8.0;
        let interval = self.now - sent.delivered_at;
        control.on_ack(&AckSample {
            now: self.instant(),
            newly_acked: self.mss,
            prior_in_flight,
            in_flight: self.in_flight(),
            rtt: Some(Duration::from_secs_f64(rtt)),
            srtt: Some(Duration::from_secs_f64(self.srtt)),
            min_rtt: Some(Duration::from_secs_f64(self.min_rtt)),
            delivery_sample: Some(DeliverySample {
                bytes: self.delivered - sent.delivered,
                interval: Duration::from_secs_f64(interval),
            }),
            delivered: self.delivered,
            prior_delivered: sent.delivered,
            sent_in_flight: sent.in_flight,
            cwnd_limited: true,
            round: self.round,
            mss: self.mss,
            ..AckSample::default()
        });
    }

    fn instant(&self) -> Instant {
        Instant::ZERO + Duration::from_secs_f64(self.now)
    }
}
