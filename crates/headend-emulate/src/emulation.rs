//! An emulation: the namespaces of the real hosts, their programs, and the loop between them.

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration as WallDuration;

use headend::metrics::real::FrameEnds;
use headend::metrics::table::Table;
use headend::scenario::Scenario;
use headend::simulation::{Progress, Simulation};
use headend::time::Instant;
use headend::wire::recording::Ends;
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::OwnedFd;
use rustix::process::Signal;
use serde::{Deserialize, Serialize};

use crate::clock::RealClock;
use crate::commands::{self, Ended, Event, Exits, Program, Supervisor, Surroundings, lock};
use crate::error::Error;
use crate::lateness::{Lateness, Summary};
use crate::namespaces::HostSpace;
use crate::recorder::Recorder;
use crate::{entry, names, outside, system};

/// The timer slack of the loop.
const NANOSECOND: std::num::NonZeroU64 = std::num::NonZeroU64::MIN;

/// What is to run, where, and what is kept of it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// The programs; at most one for each real host.
    pub commands: Vec<Program>,
    /// The real host whose program is the main one: the run is over when it exits.
    pub main: String,
    /// The server's namespace leads to the outside world.
    #[serde(default)]
    pub outside: bool,
    /// The file of the recording.
    #[serde(default)]
    pub record: Option<PathBuf>,
    /// The bytes kept of each frame in the recording; 0 for all.
    #[serde(default)]
    pub snaplen: u32,
    /// "inherit", or the file of the programs' output.
    #[serde(default = "inherit")]
    pub output: String,
    /// Where the programs start; this process's folder by default.
    #[serde(default)]
    pub cwd: Option<PathBuf>,
    /// The congestion control of the hosts' TCP; that of this system by default.
    #[serde(default)]
    pub congestion: Option<String>,
}

fn inherit() -> String {
    "inherit".to_owned()
}

/// Tables by name.
pub type Tables = Vec<(&'static str, Table)>;

/// What happened since the last update.
#[derive(Debug)]
pub struct Update {
    /// `at_ns`, `lateness`, `exited`, `stopped`, `over`, as JSON.
    pub state: String,
    /// The rows of the series, and of the flows that were closed.
    pub tables: Tables,
    /// Bytes of captures, by point.
    pub capture: Vec<(String, Vec<u8>)>,
}

#[derive(Serialize)]
struct State<'a> {
    at_ns: u64,
    lateness: Option<Summary>,
    #[serde(flatten)]
    ended: &'a Ended,
    over: bool,
}

#[derive(Serialize)]
struct End<'a> {
    simulated_ns: u64,
    lateness: Summary,
    frames: Ends,
    overruns: u64,
    strays: u64,
    scheduling: &'static str,
    cpu_seconds: f64,
    /// What code that is not headend's said when it failed, which ended the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<String>,
    #[serde(flatten)]
    ended: &'a Ended,
    /// Why the recording is not whole.
    unrecorded: Option<String>,
}

fn ends(ends: FrameEnds) -> Ends {
    Ends {
        entered: ends.entered,
        delivered: ends.delivered,
        discarded: ends.discarded,
        marked: ends.marked,
        digest: ends.digest,
    }
}

/// What the loop leaves.
struct Left {
    simulation: Box<Simulation>,
    clock: RealClock,
    scheduling: &'static str,
}

type Loop = JoinHandle<Result<Left, Error>>;

/// A scenario in real time, with real programs on its real hosts.
pub struct Emulation {
    updates: Receiver<Update>,
    events: Sender<Event>,
    exits: Exits,
    spaces: Vec<Arc<HostSpace>>,
    tasks: Option<(Loop, JoinHandle<()>)>,
    at: Instant,
}

impl Emulation {
    /// Sets everything up and starts. The process is the first one of its PID namespace: a child of
    /// one that called [`enter`](crate::enter).
    ///
    /// # Errors
    ///
    /// A sentence that says what is missing or cannot be used.
    pub fn start(scenario: &Scenario, seed: u64, options: &Options) -> Result<Self, Error> {
        entry::settle()?;
        let (work, received) = mpsc::channel();
        let end = LoopEnd::new()?;
        // Started first: it keeps the real-time scheduling that this thread gives up now.
        let task = thread::Builder::new().name("loop".to_owned());
        let task = task.spawn(move || run_loop(&received));
        let task = task.map_err(|error| Error::of("start a thread", &error))?;
        let _ = system::schedule_normally();

        let hosts = scenario.real_hosts();
        if hosts.is_empty() {
            return Err(Error::new("the scenario has no real host"));
        }
        let surroundings = surroundings(options)?;
        commands::check(&options.commands, &surroundings)?;
        let name_servers = options.outside.then(names::find_name_servers);
        names::install(&hosts, name_servers.as_deref())?;
        let (mut spaces, mut tuns) = (Vec::new(), Vec::new());
        for host in &hosts {
            let (space, tun) = HostSpace::open(host, options.congestion.as_deref())?;
            spaces.push(Arc::new(space));
            tuns.push(tun);
        }
        if options.outside {
            outside::connect(&spaces)?;
        }
        let programs = order_programs(options, &spaces)?;
        let recorder = match &options.record {
            Some(path) => Some(Recorder::create(
                path,
                scenario,
                seed,
                &hosts,
                options.snaplen,
            )?),
            None => None,
        };
        let mut simulation = Box::new(scenario.build(seed));
        // The warm-up needs no programs, and so no real time: the neighbours have settled when the
        // programs start.
        simulation.run_until(Instant::ZERO + scenario.raw().warmup);
        let clock = RealClock::new(
            tuns,
            Arc::clone(&end.wake),
            Arc::clone(&end.is_over),
            Lateness::new(scenario.emulation()),
            recorder,
        );

        let (sender, updates) = mpsc::channel();
        let (events, for_supervisor) = mpsc::channel();
        let exits = Exits::default();
        let work_of_loop = Work {
            simulation,
            clock,
            updates: sender,
            exits: Arc::clone(&exits),
            events: events.clone(),
        };
        let supervisor = Supervisor::new(
            programs,
            surroundings,
            (events.clone(), for_supervisor),
            Arc::clone(&exits),
            Box::new(move || end.set()),
        )?;
        work.send(work_of_loop)
            .map_err(|_| Error::new("internal error: the loop has ended before it began"))?;
        let thread = thread::Builder::new().name("supervisor".to_owned());
        let supervisor = thread.spawn(move || supervisor.run());
        let supervisor = supervisor.map_err(|error| Error::of("start a thread", &error))?;
        Ok(Self {
            updates,
            events,
            exits,
            spaces,
            tasks: Some((task, supervisor)),
            at: Instant::ZERO,
        })
    }

    /// The next update, within `timeout`. The last one says that the run is over.
    pub fn next(&mut self, timeout: WallDuration) -> Option<Update> {
        match self.updates.recv_timeout(timeout) {
            Ok(update) => Some(update),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => {
                let is_over =
                    |tasks: &(Loop, JoinHandle<()>)| tasks.0.is_finished() && tasks.1.is_finished();
                let until = std::time::Instant::now() + timeout;
                while !self.tasks.as_ref().is_none_or(is_over) {
                    if std::time::Instant::now() >= until {
                        return None;
                    }
                    thread::sleep(WallDuration::from_millis(5).min(timeout));
                }
                Some(Update {
                    state: describe(self.at, None, &self.exits, true),
                    tables: Vec::new(),
                    capture: Vec::new(),
                })
            }
        }
    }

    /// Passes a signal to the programs; those that do not end within 2 s are killed.
    ///
    /// # Errors
    ///
    /// The number is none of a signal.
    pub fn stop(&self, signal: i32) -> Result<(), Error> {
        let signal = Signal::from_named_raw(signal)
            .ok_or_else(|| Error::new(format!("{signal} is no signal")))?;
        let _ = self.events.send(Event::Signal(signal));
        Ok(())
    }

    /// The whole run, after it is over: its facts as JSON, and the tables that updates did not
    /// have.
    ///
    /// # Errors
    ///
    /// What has ended the run early.
    pub fn finish(&mut self) -> Result<(String, Tables), Error> {
        let Some((task, supervisor)) = self.tasks.take() else {
            return Err(Error::new(
                "internal error: the emulation is finished already",
            ));
        };
        let broken = || Error::new("internal error: a thread of the emulator has failed");
        supervisor.join().map_err(|_| broken())?;
        let Left {
            mut simulation,
            mut clock,
            scheduling,
        } = task.join().map_err(|_| broken())??;
        let unread = self.spaces.iter().map(|space| space.count_unread()).sum();
        clock.lateness.record_overruns(unread);
        let frames = simulation.frames_ended();
        // A disk that is full costs the recording, not the run.
        let recorder = clock.recorder.take();
        let finished = recorder.map(|recorder| recorder.finish(simulation.now(), ends(frames)));
        let unrecorded = finished.and_then(Result::err);
        clock.lateness.end_interval(simulation.now());
        let lateness = clock.lateness.summarize();
        let end = End {
            simulated_ns: simulation.now().as_nanos(),
            overruns: lateness.overruns,
            lateness,
            strays: frames.strays,
            frames: ends(frames),
            scheduling,
            cpu_seconds: system::cpu_seconds(),
            failure: simulation.failure().map(str::to_owned),
            ended: &lock(&self.exits),
            unrecorded: unrecorded.map(|error| error.to_string()),
        };
        let mut tables = simulation.tables();
        tables.push(("lateness", clock.lateness.take_rows()));
        Ok((to_json(&end), tables))
    }
}

/// How the supervisor ends the loop.
struct LoopEnd {
    wake: Arc<OwnedFd>,
    is_over: Arc<AtomicBool>,
}

impl LoopEnd {
    fn new() -> Result<Self, Error> {
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .map_err(|error| Error::of("make an eventfd", &error.into()))?;
        Ok(Self {
            wake: Arc::new(wake),
            is_over: Arc::default(),
        })
    }

    fn set(&self) {
        self.is_over.store(true, Ordering::Release);
        let _ = rustix::io::write(&self.wake, &1_u64.to_ne_bytes());
    }
}

/// What the loop needs.
struct Work {
    simulation: Box<Simulation>,
    clock: RealClock,
    updates: Sender<Update>,
    exits: Exits,
    events: Sender<Event>,
}

/// Tells the supervisor that the loop has ended, however that was.
struct Ending(Sender<Event>);

impl Drop for Ending {
    fn drop(&mut self) {
        let _ = self.0.send(Event::LoopEnded);
    }
}

fn run_loop(received: &Receiver<Work>) -> Result<Left, Error> {
    let Ok(work) = received.recv() else {
        return Err(Error::new("internal error: the loop has nothing to do"));
    };
    let Work {
        mut simulation,
        mut clock,
        updates,
        exits,
        events,
    } = work;
    let _ending = Ending(events);
    // Sleeps are as long as asked for, not up to 50 µs longer.
    let _ = rustix::thread::set_current_timer_slack(Some(NANOSECOND));
    let scheduling = if system::is_real_time() {
        "fifo"
    } else {
        "other"
    };
    clock.start(simulation.now());
    let broken = |error: io::Error| Error::of("go on with the emulation", &error);
    while let Progress::Returned = simulation.run_with(&mut clock).map_err(broken)? {
        let at = simulation.now();
        let summary = clock.lateness.end_interval(at);
        if let Some(recorder) = &mut clock.recorder {
            recorder.pass_on();
        }
        let mut tables = simulation.take_rows();
        tables.push(("lateness", clock.lateness.take_rows()));
        let update = Update {
            state: describe(at, Some(summary), &exits, false),
            tables,
            capture: simulation.take_capture(),
        };
        let _ = updates.send(update);
    }
    let at = simulation.now();
    let _ = updates.send(Update {
        state: describe(at, None, &exits, false),
        tables: simulation.take_rows(),
        capture: simulation.take_capture(),
    });
    Ok(Left {
        simulation,
        clock,
        scheduling,
    })
}

fn describe(at: Instant, lateness: Option<Summary>, exits: &Exits, over: bool) -> String {
    to_json(&State {
        at_ns: at.as_nanos(),
        lateness,
        ended: &lock(exits),
        over,
    })
}

fn to_json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("names and numbers are JSON")
}

fn surroundings(options: &Options) -> Result<Surroundings, Error> {
    let folder = match &options.cwd {
        Some(folder) => folder.clone(),
        None => {
            std::env::current_dir().map_err(|error| Error::of("find the current folder", &error))?
        }
    };
    let output = (options.output != inherit()).then(|| PathBuf::from(&options.output));
    if let Some(path) = &output {
        File::create(path)
            .map_err(|error| Error::of(&format!("write {}", path.display()), &error))?;
    }
    Ok(Surroundings {
        has_terminal: output.is_none() && entry::has_terminal(),
        output,
        folder,
    })
}

/// The programs with their namespaces, the main one last.
fn order_programs(
    options: &Options,
    spaces: &[Arc<HostSpace>],
) -> Result<Vec<(Program, Arc<HostSpace>)>, Error> {
    let mut programs = Vec::new();
    for program in &options.commands {
        let name = &program.host;
        let space = spaces.iter().find(|space| space.host().name == *name);
        let Some(space) = space else {
            let names: Vec<&str> = spaces.iter().map(|space| &*space.host().name).collect();
            return Err(Error::new(format!(
                "`{name}` is no real host of the scenario; real hosts: {}",
                names.join(", ")
            )));
        };
        let is_second = |(other, _): &(Program, _)| other.host == *name;
        if programs.iter().any(is_second) {
            return Err(Error::new(format!("two commands for the host `{name}`")));
        }
        programs.push((program.clone(), Arc::clone(space)));
    }
    let main = programs
        .iter()
        .position(|(program, _)| program.host == options.main);
    let Some(main) = main else {
        return Err(Error::new(format!(
            "no command for the host `{}`",
            options.main
        )));
    };
    let main = programs.remove(main);
    programs.push(main);
    Ok(programs)
}
