//! The engine's clock in real time: sleeps until the next event or the next frame, reads frames
//! from the hosts' TUNs, and writes those that have crossed the network.
//!
//! Scheduled times are exact; only reading and writing are late, by what it takes to wake. A frame
//! is stamped when it is read. No stamp is before a time up to which events were handled already,
//! so that a replay of the stamps handles the same events in the same order.
//!
//! Three measures against lateness and cost:
//! - With much traffic, waking for each frame costs more than the frame. From [`BATCHED_RATE`] on
//!   the loop sleeps at least [`BATCH`] between two looks.
//! - With little traffic, the last [`SPIN`] before a frame is due are spent awake.
//! - Linux stops real-time threads that use a processor for 95 % of a second. In each
//!   [`LONGEST_SPELL`] the loop sleeps for [`NAP`] at least.
//!
//! Between two looks at the time at most [`READS`] frames of each host are read: a flood from one
//! host delays the frames of the others, and the end of the run, by no more than that.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant as WallInstant;

use headend::clock::{Arrival, Clock, RealHostId, Wake};
use headend::packet::frames::Frames;
use headend::time::{Duration, Instant};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::time::Timespec;

use crate::lateness::Lateness;
use crate::recorder::Recorder;
use crate::tun::Tun;

/// Frames that are read at a time from one host, at most.
const READS: usize = 32;
/// The interval of updates.
const UPDATES: Duration = Duration::from_millis(100);
/// The same while no frame is on its way.
const IDLE_UPDATES: Duration = Duration::from_millis(500);
/// The longest sleep, so that a stall is noticed even when nothing is due. A smaller bound of
/// stalls makes it half of that bound.
const LONGEST_SLEEP: Duration = Duration::from_millis(5);
/// The shortest sleep with much traffic.
const BATCH: Duration = Duration::from_micros(50);
/// The rate of frames, in bit/s, that counts as much traffic.
const BATCHED_RATE: u64 = 200_000_000;
/// The time over which that rate is measured.
const RATE_WINDOW: Duration = Duration::from_millis(5);
/// How long before a deadline the loop stays awake, with little traffic.
const SPIN: Duration = Duration::from_micros(60);
/// The share of time awake from which the loop does not spin.
const SPIN_LOAD: f64 = 0.25;
/// The longest time in which the loop sleeps for less than a nap, and the nap.
const LONGEST_SPELL: Duration = Duration::from_millis(4);
const NAP: Duration = Duration::from_micros(250);
/// The shortest sleep that counts as one: a shorter one may be nothing but the call.
const SHORTEST_SLEEP: Duration = Duration::from_micros(10);
/// How long a TUN that is down is left alone.
const DOWN: Duration = Duration::from_millis(1);

/// Real time, between the TUNs of the real hosts.
pub(crate) struct RealClock {
    /// When real time began, and what time it was then in the run.
    origin: WallInstant,
    begin: Instant,
    tuns: Vec<Tun>,
    /// Readable once the run is to end.
    wake: Arc<OwnedFd>,
    is_over: Arc<AtomicBool>,
    pub(crate) lateness: Lateness,
    pub(crate) recorder: Option<Recorder>,
    /// The time that was handed out last: no frame is stamped before it.
    handed_out: Instant,
    update_at: Instant,
    load: Load,
    /// For frames for which there is no slot.
    spare: Vec<u8>,
}

impl RealClock {
    pub(crate) fn new(
        tuns: Vec<Tun>,
        wake: Arc<OwnedFd>,
        is_over: Arc<AtomicBool>,
        lateness: Lateness,
        recorder: Option<Recorder>,
    ) -> Self {
        Self {
            origin: WallInstant::now(),
            begin: Instant::ZERO,
            tuns,
            wake,
            is_over,
            lateness,
            recorder,
            handed_out: Instant::ZERO,
            update_at: Instant::ZERO + UPDATES,
            load: Load::default(),
            spare: vec![0; 1 << 16],
        }
    }

    /// It is now `begin` in the run. Frames that came before are thrown away.
    pub(crate) fn start(&mut self, begin: Instant) {
        for tun in &self.tuns {
            while tun.read(&mut self.spare).is_ok() {}
        }
        self.begin = begin;
        self.handed_out = begin;
        self.update_at = begin + UPDATES;
        self.load = Load::new(begin);
        self.origin = WallInstant::now();
    }

    pub(crate) fn now(&self) -> Instant {
        self.begin + Duration::from_nanos(self.origin.elapsed().as_nanos() as u64)
    }

    /// Sleeps until `wanted`, or until a frame or the end comes.
    fn sleep_until(&mut self, wanted: Instant, has_frames: bool) -> io::Result<()> {
        let mut now = self.now();
        self.load.end_spell(now);
        let is_heavy = self.load.is_heavy(now);
        // Until then frames do not wake the loop.
        let mut deaf_until = self.load.nap_until(now);
        if is_heavy {
            deaf_until = deaf_until.max(self.load.woke_at + BATCH);
        }
        let wanted = wanted.max(deaf_until);
        let has_time = wanted > now;
        if deaf_until > now {
            self.sleep(deaf_until.since(now), false)?;
            now = self.now();
        }
        let spins = has_frames && !is_heavy && self.load.share < SPIN_LOAD;
        let margin = if spins { SPIN } else { Duration::ZERO };
        let left = wanted.max(now).since(now);
        let mut is_woken = false;
        if left > margin {
            is_woken = self.sleep(left.saturating_sub(margin), true)?;
        }
        if spins {
            while !is_woken && self.now() < wanted {
                is_woken = self.wait(Duration::ZERO, true)?;
            }
        }
        now = self.now();
        self.load.woke_at = now;
        if has_time && now > wanted {
            self.lateness.record_wake(now.since(wanted));
        }
        Ok(())
    }

    /// Waits as [`Self::wait`] does, and takes note of how long that was.
    fn sleep(&mut self, time: Duration, for_frames: bool) -> io::Result<bool> {
        let start = self.now();
        let is_woken = self.wait(time, for_frames)?;
        self.load.slept(self.now().since(start));
        Ok(is_woken)
    }

    /// Waits for at most `time`, for the end or (if asked) for frames. True if one of them came.
    fn wait(&self, time: Duration, for_frames: bool) -> io::Result<bool> {
        let timeout = Timespec {
            tv_sec: (time.as_nanos() / 1_000_000_000) as i64,
            tv_nsec: (time.as_nanos() % 1_000_000_000) as _,
        };
        let mut watched = Vec::with_capacity(1 + self.tuns.len());
        watched.push(PollFd::new(&self.wake, PollFlags::IN));
        if for_frames {
            let tuns = self.tuns.iter();
            watched.extend(tuns.map(|tun| PollFd::new(tun, PollFlags::IN)));
        }
        let ready = match poll(&mut watched, Some(&timeout)) {
            Ok(ready) => ready,
            Err(Errno::INTR) => 0,
            Err(error) => return Err(error.into()),
        };
        let is_readable = watched
            .iter()
            .any(|watched| watched.revents().contains(PollFlags::IN));
        if ready > 0 && !is_readable {
            // A TUN that is down is ready at once, each time: without a sleep the loop would spin.
            std::thread::sleep(std::time::Duration::from_nanos(DOWN.as_nanos()));
        }
        Ok(is_readable)
    }

    /// Reads the frames that the hosts have sent.
    fn read_frames(&mut self, frames: &mut Frames, arrivals: &mut Vec<Arrival>) -> io::Result<()> {
        for host in 0..self.tuns.len() {
            for _ in 0..READS {
                match frames.read(|slot| self.tuns[host].read(slot)) {
                    Ok(Some(frame)) => self.stamp(host, frame, frames, arrivals),
                    Ok(None) => {
                        if self.tuns[host].read(&mut self.spare).is_err() {
                            break;
                        }
                        self.lateness.record_overruns(1);
                    }
                    Err(Errno::AGAIN | Errno::INTR | Errno::IO | Errno::BADFD) => break,
                    Err(error) => return Err(error.into()),
                }
            }
        }
        Ok(())
    }

    fn stamp(
        &mut self,
        host: usize,
        frame: headend::packet::FrameId,
        frames: &Frames,
        arrivals: &mut Vec<Arrival>,
    ) {
        // Later than every event that was handled already, and than every earlier frame.
        let at = self.now().max(self.handed_out + Duration::from_nanos(1));
        self.handed_out = at;
        let bytes = frames.bytes(frame);
        self.load.moved += bytes.len() as u64;
        let from = RealHostId(host as u16);
        if let Some(recorder) = &mut self.recorder {
            recorder.record(at, from, bytes);
        }
        arrivals.push(Arrival { at, from, frame });
    }

    /// The present time, up to which events may be handled from now on.
    fn hand_out(&mut self) -> Instant {
        self.handed_out = self.handed_out.max(self.now());
        self.handed_out
    }
}

impl Clock for RealClock {
    fn wait_until(
        &mut self,
        deadline: Instant,
        frames: &mut Frames,
        arrivals: &mut Vec<Arrival>,
    ) -> io::Result<Wake> {
        let now = self.now();
        // Frames wait while the loop works, or while something keeps it from working.
        self.lateness.record_wake(now.since(self.load.woke_at));
        if self.is_over.load(Ordering::Acquire) {
            return Ok(Wake::End(self.hand_out()));
        }
        if now >= self.update_at {
            let is_idle = frames.count() == 0;
            self.update_at = now + if is_idle { IDLE_UPDATES } else { UPDATES };
            self.load.end_spell(now);
            self.load.woke_at = now;
            return Ok(Wake::Return(self.hand_out()));
        }
        let longest = LONGEST_SLEEP.min(self.lateness.stall_bound() / 2);
        let wanted = deadline.min(self.update_at).min(now + longest);
        self.sleep_until(wanted, frames.count() > 0)?;
        self.read_frames(frames, arrivals)?;
        Ok(Wake::Until(self.hand_out()))
    }

    fn depart(&mut self, at: Instant, to: RealHostId, bytes: &[u8]) -> io::Result<()> {
        if self.tuns[usize::from(to.0)].write(bytes)? {
            let now = self.now();
            self.lateness.record_frame(now.since(at));
            self.load.moved += bytes.len() as u64;
        } else {
            self.lateness.record_overruns(1);
        }
        Ok(())
    }
}

/// How busy the loop is.
#[derive(Debug, Default)]
struct Load {
    /// When the loop began to work on what its last sleep brought.
    woke_at: Instant,
    /// When the last nap was due, and the time slept since then.
    nap_at: Instant,
    slept: Duration,
    /// The share of time awake without spinning, smoothed.
    share: f64,
    /// When the present window began, and the time awake in it.
    window_start: Instant,
    awake: Duration,
    /// Bytes read and written in the window, and whether those of the last one were many.
    moved: u64,
    was_heavy: bool,
}

impl Load {
    /// Of a loop that begins to work at `begin`: what was before, such as a warm-up, is no work.
    fn new(begin: Instant) -> Self {
        Self {
            woke_at: begin,
            nap_at: begin,
            window_start: begin,
            ..Self::default()
        }
    }

    /// A spell of work ends at `now`.
    fn end_spell(&mut self, now: Instant) {
        self.awake += now.since(self.woke_at);
        let window = now.since(self.window_start);
        if window >= RATE_WINDOW {
            let share = self.awake.as_secs_f64() / window.as_secs_f64();
            self.share += (share - self.share) / 4.0;
            let rate = self.moved as f64 * 8.0 / window.as_secs_f64();
            self.was_heavy = rate > BATCHED_RATE as f64;
            self.window_start = now;
            self.awake = Duration::ZERO;
            self.moved = 0;
        }
    }

    /// Until when the loop has to sleep, so that it sleeps for a nap in each spell; `now` or
    /// earlier if it need not.
    fn nap_until(&mut self, now: Instant) -> Instant {
        if now < self.nap_at + LONGEST_SPELL {
            return now;
        }
        self.nap_at = now;
        let slept = std::mem::replace(&mut self.slept, Duration::ZERO);
        now + NAP.saturating_sub(slept)
    }

    fn slept(&mut self, time: Duration) {
        if time >= SHORTEST_SLEEP {
            self.slept += time;
        }
    }

    fn is_heavy(&self, now: Instant) -> bool {
        self.was_heavy && now.since(self.window_start) < RATE_WINDOW * 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(us: u64) -> Instant {
        Instant::from_nanos(us * 1000)
    }

    #[test]
    fn the_time_before_the_start_is_no_work() {
        let mut load = Load::new(us(5_000_000));
        load.end_spell(us(5_000_100));
        assert_eq!(load.awake, Duration::from_micros(100));
    }

    #[test]
    fn the_loop_naps_in_each_spell_in_which_it_has_not_slept_enough() {
        let mut load = Load::default();
        assert_eq!(load.nap_until(us(3999)), us(3999));
        assert_eq!(load.nap_until(us(4000)), us(4250), "it never slept");
        load.slept(Duration::from_micros(100));
        load.slept(Duration::from_micros(9));
        assert_eq!(load.nap_until(us(7999)), us(7999));
        assert_eq!(
            load.nap_until(us(8100)),
            us(8250),
            "a part of a nap is left"
        );
        load.slept(Duration::from_millis(1));
        assert_eq!(load.nap_until(us(13_000)), us(13_000), "it slept");
    }

    #[test]
    fn much_traffic_is_what_was_moved_in_the_last_window() {
        let mut load = Load {
            moved: 130_000,
            ..Load::default()
        };
        load.end_spell(us(5000));
        assert!(load.is_heavy(us(5000)) && load.is_heavy(us(14_999)));
        assert!(!load.is_heavy(us(15_000)), "nothing was heard since");
        load.moved = 120_000;
        load.end_spell(us(10_000));
        assert!(!load.is_heavy(us(10_000)));
    }
}
