//! How the process enters its namespaces, whose first process it then is.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::mount::{self, MountFlags, MountPropagationFlags};
use rustix::process::{Signal, getpid};
use rustix::thread::{CapabilitySet, UnshareFlags};

use crate::error::{Error, describe};
use crate::namespaces::find_program;
use crate::outside;
use crate::system;
use crate::tun;

/// What programs need besides their user's rights to use their host's network as they please.
const FOR_PROGRAMS: CapabilitySet = CapabilitySet::NET_ADMIN
    .union(CapabilitySet::NET_RAW)
    .union(CapabilitySet::NET_BIND_SERVICE);

/// Prepares the calling process, which has one thread: its next child is the first process of a
/// PID namespace, and is allowed to make network namespaces. `outside` needs the root user proper,
/// who then gets no user namespace; anyone else gets one where the kernel allows it.
///
/// Real-time scheduling is asked for here, because a user namespace does not allow it: the calling
/// thread and its children have it from now on, if the user may have it.
///
/// # Errors
///
/// A sentence that says what is missing and how to allow it.
pub fn enter(outside: bool) -> Result<(), Error> {
    check_single_thread()?;
    find_program("ip", Path::new("/")).ok_or_else(|| {
        Error::new("the program `ip` is missing: install it (`sudo apt install iproute2`)")
    })?;
    tun::open_device()?;
    let is_root = rustix::process::geteuid().is_root();
    if outside && !is_root {
        return Err(Error::new(
            "the outside world can be reached by root only: run the command with sudo, or without \
             --outside",
        ));
    }
    if outside {
        outside::prepare()?;
    }
    note_terminal();
    let _ = system::schedule_real_time();
    let entered = if is_root && system::unshare(UnshareFlags::NEWPID).is_ok() {
        Ok(())
    } else if outside {
        Err(Error::new(
            "the outside world can be reached by a root user with the capability CAP_SYS_ADMIN \
             only (in a container: `--privileged`)",
        ))
    } else {
        enter_user_namespace()
    };
    if entered.is_err() {
        let _ = system::schedule_normally();
    }
    entered
}

/// Whether the process that entered the namespaces had the foreground of the terminal that is its
/// standard input. Inside, process groups of the outside have no numbers to compare.
static HAS_TERMINAL: AtomicBool = AtomicBool::new(false);

fn note_terminal() {
    let foreground = rustix::termios::tcgetpgrp(rustix::stdio::stdin());
    let is_ours = foreground.is_ok_and(|group| group == rustix::process::getpgrp());
    HAS_TERMINAL.store(is_ours, Ordering::Relaxed);
}

pub(crate) fn has_terminal() -> bool {
    HAS_TERMINAL.load(Ordering::Relaxed)
}

fn check_single_thread() -> Result<(), Error> {
    let threads = fs::read_dir("/proc/self/task").map_or(1, Iterator::count);
    if threads == 1 {
        return Ok(());
    }
    Err(Error::new(format!(
        "internal error: namespaces are entered by a process of one thread, but there are {threads}"
    )))
}

fn enter_user_namespace() -> Result<(), Error> {
    let (user, group) = (
        rustix::process::geteuid().as_raw(),
        rustix::process::getegid().as_raw(),
    );
    let enter = || -> io::Result<()> {
        system::unshare(UnshareFlags::NEWUSER)?;
        // Groups can be mapped by an ordinary user only once setgroups is ruled out.
        fs::write("/proc/self/setgroups", "deny")?;
        fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
        fs::write("/proc/self/gid_map", format!("{group} {group} 1"))?;
        system::unshare(UnshareFlags::NEWPID)
    };
    enter().map_err(|error| Error::new(explain_refusal(&error)))
}

/// Why the kernel allows no user namespace, and what would allow it.
fn explain_refusal(error: &io::Error) -> String {
    let refuses = [
        ("kernel/unprivileged_userns_clone", "0", "1"),
        ("kernel/apparmor_restrict_unprivileged_userns", "1", "0"),
        ("user/max_user_namespaces", "0", "10000"),
    ];
    let refusing = refuses.iter().find(|(key, refusing, _)| {
        fs::read_to_string(format!("/proc/sys/{key}")).is_ok_and(|value| value.trim() == *refusing)
    });
    match refusing {
        Some((key, _, allowing)) => format!(
            "this system lets no ordinary user make namespaces: allow it (`sudo sysctl \
             {}={allowing}`) or run as root",
            key.replace('/', ".")
        ),
        None => format!(
            "the kernel allows no namespaces here ({}): run as root, or in a container with \
             `--privileged`",
            describe(error)
        ),
    }
}

/// Completes what [`enter`] began, in the child: mounts of its own, a fresh `/proc`, the rights of
/// the programs, and the end of this process with its parent.
pub(crate) fn settle() -> Result<(), Error> {
    if getpid() != rustix::process::Pid::INIT {
        return Err(Error::new(
            "internal error: an emulation begins in the first process of its namespaces",
        ));
    }
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|error| Error::of("tie the emulator to its parent", &error.into()))?;
    let mounts = || -> io::Result<()> {
        system::unshare(UnshareFlags::NEWNS)?;
        let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
        mount::mount_change("/", private)?;
        Ok(())
    };
    mounts().map_err(|error| Error::of("make a mount namespace", &error))?;
    // A container may forbid this. Programs then see the processes of the whole container.
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    let _ = mount::mount("proc", "/proc", "proc", flags, None);
    if !rustix::process::geteuid().is_root() {
        let _ = pass_rights_on();
    }
    Ok(())
}

/// Programs that this process starts keep the rights over their network.
fn pass_rights_on() -> rustix::io::Result<()> {
    let mut sets = rustix::thread::capabilities(None)?;
    sets.inheritable |= FOR_PROGRAMS;
    rustix::thread::set_capabilities(None, sets)?;
    for capability in FOR_PROGRAMS.iter() {
        rustix::thread::configure_capability_in_ambient_set(capability, true)?;
    }
    Ok(())
}
