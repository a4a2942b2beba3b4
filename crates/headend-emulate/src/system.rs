//! System calls for which there is no safe function elsewhere: the only file with unsafe code.

#![allow(
    unsafe_code,
    reason = "system calls without a safe function; each block says why it is sound"
)]

use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::thread::UnshareFlags;

/// The real-time priority of the loop: above ordinary programs, below the kernel's threads.
const PRIORITY: i32 = 10;
const TUNSETIFF: libc::c_ulong = 0x4004_54ca;

/// Moves the calling thread into namespaces of its own.
pub(crate) fn unshare(namespaces: UnshareFlags) -> io::Result<()> {
    assert!(
        !namespaces.contains(UnshareFlags::FILES),
        "threads here share their file descriptors"
    );
    // SAFETY: unshare is unsound only for a table of descriptors of its own, which is ruled out.
    unsafe { rustix::thread::unshare_unsafe(namespaces) }.map_err(io::Error::from)
}

/// Makes an open `/dev/net/tun` the IP interface `name` of the thread's network namespace.
pub(crate) fn become_tun(device: &File, name: &str) -> io::Result<()> {
    // SAFETY: ifreq is plain data, for which zeros are a value.
    let mut request: libc::ifreq = unsafe { MaybeUninit::zeroed().assume_init() };
    assert!(name.len() < request.ifr_name.len(), "a short name");
    for (place, byte) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *place = byte as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
    // SAFETY: TUNSETIFF reads and writes an ifreq, which lives until the call has returned.
    let result = unsafe { libc::ioctl(device.as_raw_fd(), TUNSETIFF as _, &raw mut request) };
    check(result)
}

/// Asks for `SCHED_FIFO` for the calling thread, and for all that it starts from now on.
pub(crate) fn schedule_real_time() -> io::Result<()> {
    schedule(libc::SCHED_FIFO, PRIORITY)
}

/// Gives `SCHED_FIFO` up again.
pub(crate) fn schedule_normally() -> io::Result<()> {
    schedule(libc::SCHED_OTHER, 0)
}

fn schedule(policy: libc::c_int, priority: i32) -> io::Result<()> {
    // SAFETY: sched_param is plain data, for which zeros are a value.
    let mut parameters: libc::sched_param = unsafe { MaybeUninit::zeroed().assume_init() };
    parameters.sched_priority = priority;
    // SAFETY: the parameters are read during the call only; 0 is the calling thread.
    check(unsafe { libc::sched_setscheduler(0, policy, &raw const parameters) })
}

/// Whether the calling thread runs under `SCHED_FIFO`.
pub(crate) fn is_real_time() -> bool {
    // SAFETY: takes and gives numbers only; 0 is the calling thread.
    let policy = unsafe { libc::sched_getscheduler(0) };
    policy == libc::SCHED_FIFO
}

/// Processor time that this process has used, in seconds.
pub(crate) fn cpu_seconds() -> f64 {
    // SAFETY: timespec is plain data, and lives until the call has returned.
    let time = unsafe {
        let mut time: libc::timespec = MaybeUninit::zeroed().assume_init();
        libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time);
        time
    };
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// The command takes the foreground of the terminal that is its standard input before it begins.
pub(crate) fn take_foreground(command: &mut Command) {
    // SAFETY: between fork and exec only calls that are safe in a signal handler are made.
    unsafe {
        command.pre_exec(|| {
            // A process of the background that calls tcsetpgrp is stopped unless SIGTTOU is
            // ignored.
            libc::signal(libc::SIGTTOU, libc::SIG_IGN);
            let result = libc::tcsetpgrp(0, libc::getpgrp());
            libc::signal(libc::SIGTTOU, libc::SIG_DFL);
            check(result)
        });
    }
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
