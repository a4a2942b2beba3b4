//! Where the programs run: a network namespace for each real host.
//!
//! All of it disappears with the process, however it ends: the interfaces with their namespace, the
//! programs with the first process of their PID namespace.

use std::env;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;

use headend::clock::RealHost;
use rustix::io::Errno;
use rustix::thread::UnshareFlags;

use crate::error::Error;
use crate::system;
use crate::tun::{self, Tun};

const CONGESTION: &str = "/proc/sys/net/ipv4/tcp_congestion_control";
/// Frames that wait in a TUN for the loop, at most: 20 ms of full frames at 2.4 Gbit/s.
const WAITING_FRAMES: u32 = 4096;
/// The least MTU of a link that carries IPv6 (RFC 8200 §5).
const IPV6_MTU: u16 = 1280;
type Task = Box<dyn FnOnce() + Send>;

/// The network namespace of a real host: a thread that stays in it and does what it is given.
#[derive(Debug)]
pub(crate) struct HostSpace {
    host: RealHost,
    tasks: mpsc::Sender<Task>,
}

impl HostSpace {
    /// Makes the namespace of a host, and in it the TUN with the host's addresses.
    pub(crate) fn open(host: &RealHost, congestion: Option<&str>) -> Result<(Self, Tun), Error> {
        let (tasks, received) = mpsc::channel::<Task>();
        let thread = thread::Builder::new().name(format!("host {}", host.name));
        let started = thread.spawn(move || received.iter().for_each(|task| task()));
        started.map_err(|error| Error::of("start a thread", &error))?;
        let space = Self {
            host: host.clone(),
            tasks,
        };
        let (host, congestion) = (host.clone(), congestion.map(str::to_owned));
        let tun = space.run(move || make_network(&host, congestion.as_deref()))?;
        Ok((space, tun))
    }

    /// Runs `work` in the namespace and gives its result.
    pub(crate) fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> T {
        let (result, received) = mpsc::sync_channel(1);
        let task: Task = Box::new(move || {
            let _ = result.send(work());
        });
        let sent = self.tasks.send(task).is_ok();
        let result = if sent { received.recv().ok() } else { None };
        result.expect("the thread of a namespace runs as long as the namespace is used")
    }

    pub(crate) fn host(&self) -> &RealHost {
        &self.host
    }

    /// Whether a program of the host waits for connections or datagrams.
    pub(crate) fn is_listening(&self) -> bool {
        self.run(|| {
            let has = |table: &str, wanted: fn(&str) -> bool| {
                fs::read_to_string(format!("/proc/thread-self/net/{table}"))
                    .is_ok_and(|text| text.lines().skip(1).any(wanted))
            };
            // State 0A of a TCP socket is LISTEN; an entry for UDP is a bound socket.
            let listens = |line: &str| line.split_whitespace().nth(3) == Some("0A");
            has("tcp", listens)
                || has("tcp6", listens)
                || has("udp", |_| true)
                || has("udp6", |_| true)
        })
    }

    /// Frames that the kernel dropped because the loop did not read them in time.
    pub(crate) fn count_unread(&self) -> u64 {
        self.run(|| {
            let text = fs::read_to_string("/proc/thread-self/net/dev").unwrap_or_default();
            count_dropped(&text, tun::NAME)
        })
    }
}

/// The frames that an interface dropped on sending, from the text of `/proc/net/dev`.
fn count_dropped(text: &str, interface: &str) -> u64 {
    let mut lines = text.lines().filter_map(|line| line.trim().split_once(':'));
    let counts = lines.find(|(name, _)| *name == interface);
    counts
        .and_then(|(_, counts)| counts.split_whitespace().nth(11)?.parse().ok())
        .unwrap_or(0)
}

/// A network namespace for the calling thread, with the host's interface.
fn make_network(host: &RealHost, congestion: Option<&str>) -> Result<Tun, Error> {
    let usual = fs::read_to_string(CONGESTION).unwrap_or_default();
    system::unshare(UnshareFlags::NEWNET).map_err(|error| match error.raw_os_error() {
        Some(libc::ENOSPC) => Error::new(
            "this system allows no more network namespaces: raise user.max_net_namespaces (`sudo \
             sysctl`)",
        ),
        _ => Error::of("make a network namespace", &error),
    })?;
    let of_routes = choose_congestion(congestion, usual.trim())?;
    let group = rustix::process::getegid().as_raw();
    // Without these a program needs more rights; they are not there on every system.
    let _ = fs::write(
        "/proc/sys/net/ipv4/ping_group_range",
        format!("{group} {group}"),
    );
    let _ = fs::write("/proc/sys/net/ipv4/ip_unprivileged_port_start", "0");
    let tun = Tun::open()?;
    configure(&interface_commands(host, of_routes))?;
    Ok(tun)
}

/// Makes `wanted`, or what is `usual` on this system, the congestion control of the namespace.
/// Gives a name that the routes must set instead.
///
/// A namespace may not make every congestion control its default, but a route may ask for any. A
/// route overrules the choice of a program (`iperf3 -C`), so it is the second choice.
fn choose_congestion<'a>(wanted: Option<&'a str>, usual: &str) -> Result<Option<&'a str>, Error> {
    if fs::write(CONGESTION, wanted.unwrap_or(usual)).is_ok() {
        return Ok(None);
    }
    let Some(name) = wanted else { return Ok(None) };
    let available = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
    let available = available.unwrap_or_default();
    let available: Vec<&str> = available.split_whitespace().collect();
    if available.contains(&name) {
        return Ok(Some(name));
    }
    Err(Error::new(format!(
        "the congestion control `{name}` is not available here; available: {}",
        available.join(", ")
    )))
}

/// The commands to `ip` that give a host its interface.
fn interface_commands(host: &RealHost, congestion: Option<&str>) -> String {
    let RealHost {
        ipv4, ipv6, mtu, ..
    } = host;
    let name = tun::NAME;
    let has_ipv6 = *mtu >= IPV6_MTU && Path::new("/proc/sys/net/ipv6").exists();
    let congestion = congestion.map_or_else(String::new, |name| format!(" congctl {name}"));
    let mut commands = vec!["link set lo up".to_owned()];
    if has_ipv6 {
        // No link-local address: nobody on the line would answer to it.
        commands.push(format!("link set {name} addrgenmode none"));
    }
    commands.push(format!(
        "link set {name} mtu {mtu} txqueuelen {WAITING_FRAMES} up"
    ));
    commands.push(format!("addr add {ipv4}/32 dev {name}"));
    commands.push(format!("route add default dev {name}{congestion}"));
    if has_ipv6 {
        commands.push(format!("addr add {ipv6}/128 dev {name} nodad"));
        commands.push(format!("route add ::/0 dev {name}{congestion}"));
    }
    commands.join("\n") + "\n"
}

/// Runs commands of `ip` in the network namespace of the calling thread.
pub(crate) fn configure(commands: &str) -> Result<(), Error> {
    let run = || -> io::Result<_> {
        let mut ip = Command::new("ip")
            .args(["-batch", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()?;
        if let Some(mut input) = ip.stdin.take() {
            input.write_all(commands.as_bytes())?;
        }
        ip.wait_with_output()
    };
    let output = run().map_err(|error| Error::of("run `ip`", &error))?;
    if output.status.success() {
        return Ok(());
    }
    let words = String::from_utf8_lossy(&output.stderr);
    let words = words.lines().next().unwrap_or("no reason given");
    Err(Error::new(format!(
        "`ip` cannot set up an interface: {words}"
    )))
}

/// The file that a program's name stands for, as the shell would find it.
pub(crate) fn find_program(name: &str, folder: &Path) -> Option<PathBuf> {
    let is_program = |path: &PathBuf| {
        path.is_file()
            && rustix::fs::access(path, rustix::fs::Access::EXEC_OK) != Err(Errno::ACCESS)
    };
    if name.contains('/') {
        return Some(folder.join(name)).filter(is_program);
    }
    let path = env::var_os("PATH")?;
    env::split_paths(&path)
        .map(|place| folder.join(place).join(name))
        .find(is_program)
}

#[cfg(test)]
mod tests {
    use super::*;
    use headend::packet::Side;

    #[test]
    fn dropped_frames_are_read_from_the_kernels_table() {
        let text = "Inter-|   Receive |  Transmit\n face |bytes packets errs drop fifo frame \
                    compressed multicast|bytes packets errs drop fifo colls carrier \
                    compressed\n    lo: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n\
                    headend: 1 2 3 4 5 6 7 8 9 10 11 77 13 14 15 16\n";
        assert_eq!(count_dropped(text, "headend"), 77);
        assert_eq!(count_dropped(text, "tap0"), 0);
    }

    #[test]
    fn an_interface_below_the_least_mtu_of_ipv6_has_no_ipv6() {
        let host = RealHost {
            name: "laptop".to_owned(),
            side: Side::Host,
            ipv4: [10, 0, 0, 1].into(),
            ipv6: "fd00:6865:6164::1".parse().expect("an address"),
            mtu: 1000,
            dscp: None,
        };
        let commands = interface_commands(&host, None);
        assert!(commands.contains("link set headend mtu 1000 txqueuelen 4096 up\n"));
        assert!(commands.contains("addr add 10.0.0.1/32 dev headend\n"));
        assert!(!commands.contains("::"));
    }

    #[test]
    fn a_program_is_found_as_a_shell_finds_it() {
        assert!(find_program("sh", Path::new("/")).is_some());
        assert!(find_program("bin/sh", Path::new("/")).is_some());
        assert!(find_program("no-such-program", Path::new("/")).is_none());
        assert!(find_program("/etc", Path::new("/")).is_none());
    }
}
