//! The programs of the real hosts: started in their namespaces, waited for, and ended.
//!
//! A thread of its own, the supervisor, starts the programs of the servers, waits until they
//! listen, starts those of the customers, the main one last, and ends everything when that has
//! exited. Another one waits for children: as the first process of its namespace, this one inherits
//! every orphan.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal as _};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use headend::packet::Side;
use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitOptions, WaitStatus, kill_process, kill_process_group,
};
use serde::{Deserialize, Serialize};

use crate::error::{Error, describe};
use crate::namespaces::{HostSpace, find_program};
use crate::system;

/// How long the main program waits for the others to listen.
const PATIENCE: Duration = Duration::from_secs(5);
/// The interval at which the others are looked at.
const GLANCE: Duration = Duration::from_millis(10);
/// How long a program has to end after a signal.
const GRACE: Duration = Duration::from_secs(2);
/// The exit status that a shell gives to a program that could not be started.
const NOT_STARTED: i32 = 126;

/// A program and the host that it runs on.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// The name of the real host.
    pub host: String,
    /// The program and its arguments.
    pub argv: Vec<String>,
}

/// Where the programs write, and where they start.
#[derive(Debug, Clone)]
pub(crate) struct Surroundings {
    /// The file of the programs' output; without one it is that of this process.
    pub(crate) output: Option<PathBuf>,
    pub(crate) folder: PathBuf,
    /// The main program takes the terminal's foreground.
    pub(crate) has_terminal: bool,
}

/// Whether a program is the one whose end is the end of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Main,
    Other,
}

/// What the supervisor is told.
pub(crate) enum Event {
    /// A child (its number) has exited, with the status that a shell would give.
    Exited(i32, i32),
    /// The loop has ended.
    LoopEnded,
    /// A signal is to be passed on.
    Signal(Signal),
}

/// How the programs have ended, by host.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Ended {
    /// The exit status of each program that has ended, as a shell has it.
    pub(crate) exited: BTreeMap<String, i32>,
    /// Hosts whose programs ran on until this process ended them: their status says nothing.
    pub(crate) stopped: BTreeSet<String>,
}

/// How the programs have ended, shared by the threads.
pub(crate) type Exits = Arc<Mutex<Ended>>;

pub(crate) fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Refuses programs that cannot be found.
pub(crate) fn check(programs: &[Program], surroundings: &Surroundings) -> Result<(), Error> {
    for Program { host, argv } in programs {
        let Some(name) = argv.first() else {
            return Err(Error::new(format!("the command of `{host}` is empty")));
        };
        if find_program(name, &surroundings.folder).is_none() {
            return Err(Error::new(format!("command not found: {name}")));
        }
    }
    Ok(())
}

/// Starts and ends the programs.
pub(crate) struct Supervisor {
    /// The hosts that have a program, the main one last.
    programs: Vec<(Program, Arc<HostSpace>)>,
    surroundings: Surroundings,
    events: Receiver<Event>,
    exits: Exits,
    /// Called once when the run is over, to end the loop.
    end_loop: Box<dyn Fn() + Send>,
    running: BTreeMap<i32, String>,
    /// The number of the main program, once it was started.
    main: Option<i32>,
    /// Children that had exited before they were known here.
    early: BTreeMap<i32, i32>,
    /// Held while a child is started, so that the thread that waits for children leaves it alone.
    starting: Arc<Mutex<()>>,
    /// The loop or a person has ended the run.
    is_over: bool,
    kill_at: Option<Instant>,
}

impl Supervisor {
    pub(crate) fn new(
        programs: Vec<(Program, Arc<HostSpace>)>,
        surroundings: Surroundings,
        (sender, events): (Sender<Event>, Receiver<Event>),
        exits: Exits,
        end_loop: Box<dyn Fn() + Send>,
    ) -> Result<Self, Error> {
        let starting = Arc::new(Mutex::new(()));
        wait_for_children(sender, Arc::clone(&starting))?;
        Ok(Self {
            programs,
            surroundings,
            events,
            exits,
            end_loop,
            running: BTreeMap::new(),
            main: None,
            early: BTreeMap::new(),
            starting,
            is_over: false,
            kill_at: None,
        })
    }

    /// Runs the programs to their end.
    pub(crate) fn run(mut self) {
        let programs = std::mem::take(&mut self.programs);
        let Some(((main, main_space), others)) = programs.split_last() else {
            return;
        };
        let is_server = |space: &HostSpace| space.host().side == Side::Peer;
        let (servers, customers): (Vec<_>, Vec<_>) =
            others.iter().partition(|(_, space)| is_server(space));
        for (program, space) in &servers {
            self.start(program, space, Role::Other);
        }
        self.wait_until_listening(&servers);
        if !self.is_over {
            for (program, space) in &customers {
                self.start(program, space, Role::Other);
            }
            self.main = self.start(main, main_space, Role::Main);
            while self
                .main
                .is_some_and(|main| self.running.contains_key(&main))
            {
                self.handle_next();
            }
        }
        (self.end_loop)();
        self.is_over = true;
        self.signal(Signal::TERM);
        while !self.running.is_empty() {
            self.handle_next();
        }
    }

    fn wait_until_listening(&mut self, servers: &[&(Program, Arc<HostSpace>)]) {
        let until = Instant::now() + PATIENCE;
        for (program, space) in servers {
            while !self.is_over
                && Instant::now() < until
                && self.running.values().any(|host| *host == program.host)
                && !space.is_listening()
            {
                self.handle_until(Instant::now() + GLANCE);
            }
        }
    }

    /// Starts a program; its process group has the number of its process.
    fn start(&mut self, program: &Program, space: &HostSpace, role: Role) -> Option<i32> {
        let host = program.host.clone();
        let name = program.argv.first().cloned().unwrap_or_default();
        // Orphans that ended before: the new program may have the number of one of them.
        self.early.clear();
        let (program, surroundings) = (program.clone(), self.surroundings.clone());
        let starting = Arc::clone(&self.starting);
        let started = space.run(move || {
            let _starting = lock(&starting);
            spawn(&program.argv, &surroundings, role)
        });
        match started {
            Ok(pid) => {
                match self.early.remove(&pid) {
                    Some(status) => self.note_exit(host, status),
                    None => {
                        self.running.insert(pid, host);
                    }
                }
                Some(pid)
            }
            Err(error) => {
                let why = describe(&error);
                eprintln!("error: {name}: cannot be run on the host `{host}`: {why}");
                self.note_exit(host, NOT_STARTED);
                None
            }
        }
    }

    fn note_exit(&mut self, host: String, status: i32) {
        lock(&self.exits).exited.insert(host, status);
    }

    fn handle_next(&mut self) {
        let until = self.kill_at.unwrap_or(Instant::now() + PATIENCE);
        self.handle_until(until);
    }

    /// Handles the next event, if it comes before `until`.
    fn handle_until(&mut self, until: Instant) {
        let left = until.saturating_duration_since(Instant::now());
        match self.events.recv_timeout(left) {
            Ok(Event::Exited(pid, status)) => match self.running.remove(&pid) {
                Some(host) => self.note_exit(host, status),
                None => {
                    self.early.insert(pid, status);
                }
            },
            Ok(Event::LoopEnded) => self.end(Signal::TERM),
            Ok(Event::Signal(signal)) => self.end(signal),
            Err(RecvTimeoutError::Timeout) => {
                if self.kill_at.is_some_and(|at| at <= Instant::now()) {
                    self.signal_groups(Signal::KILL);
                    self.kill_at = Some(Instant::now() + GRACE);
                }
            }
            Err(RecvTimeoutError::Disconnected) => thread::sleep(GLANCE),
        }
    }

    /// The run is to end: no other program is started.
    ///
    /// An interruption is for the main program alone, as Ctrl-C in a shell is for the program in
    /// the foreground. That may finish what it does, with its servers.
    fn end(&mut self, signal: Signal) {
        self.is_over = true;
        match self.main.filter(|main| self.running.contains_key(main)) {
            Some(main) if signal == Signal::INT => signal_group(main, signal),
            _ => self.signal(signal),
        }
    }

    /// Passes a signal to all programs, and ends those that run on.
    fn signal(&mut self, signal: Signal) {
        let running = self.running.values().cloned();
        lock(&self.exits).stopped.extend(running);
        self.signal_groups(signal);
        self.kill_at.get_or_insert(Instant::now() + GRACE);
    }

    fn signal_groups(&self, signal: Signal) {
        for &pid in self.running.keys() {
            signal_group(pid, signal);
        }
    }
}

fn signal_group(pid: i32, signal: Signal) {
    let group = Pid::from_raw(pid);
    let _ = group.map(|group| kill_process_group(group, signal));
}

/// Starts a program in the namespace of the calling thread, in a process group of its own.
fn spawn(argv: &[String], surroundings: &Surroundings, role: Role) -> io::Result<i32> {
    let (name, arguments) = argv.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let mut command = Command::new(name);
    command
        .args(arguments)
        .current_dir(&surroundings.folder)
        .process_group(0);
    if let Some(path) = &surroundings.output {
        let file: File = OpenOptions::new().create(true).append(true).open(path)?;
        command.stdout(file.try_clone()?).stderr(file);
    }
    let has_terminal = role == Role::Main && surroundings.has_terminal;
    if has_terminal {
        system::take_foreground(&mut command);
    } else if role == Role::Other || io::stdin().is_terminal() {
        command.stdin(Stdio::null());
    }
    let child = command.spawn()?;
    Ok(child.id() as i32)
}

/// Starts the thread that waits for the children of this process, its orphans among them.
fn wait_for_children(events: Sender<Event>, starting: Arc<Mutex<()>>) -> Result<(), Error> {
    let wait = move || {
        loop {
            let any = WaitIdOptions::EXITED | WaitIdOptions::STOPPED | WaitIdOptions::NOWAIT;
            if let Err(Errno::CHILD) = rustix::process::waitid(WaitId::All, any) {
                // No children at present.
                thread::sleep(GLANCE);
            }
            let _starting = lock(&starting);
            while let Ok(Some((pid, status))) =
                rustix::process::wait(WaitOptions::NOHANG | WaitOptions::UNTRACED)
            {
                match exit_status(status) {
                    Some(status) => {
                        if events
                            .send(Event::Exited(pid.as_raw_pid(), status))
                            .is_err()
                        {
                            return;
                        }
                    }
                    // Stopped from the terminal: nobody could continue it.
                    None => {
                        let _ = kill_process(pid, Signal::CONT);
                    }
                }
            }
        }
    };
    let thread = thread::Builder::new().name("children".to_owned());
    let started = thread.spawn(wait);
    started.map_err(|error| Error::of("start a thread", &error))?;
    Ok(())
}

/// The exit status that a shell would give; `None` for a child that was stopped only.
fn exit_status(status: WaitStatus) -> Option<i32> {
    let signal = status.terminating_signal().map(|signal| 128 + signal);
    status.exit_status().or(signal)
}
