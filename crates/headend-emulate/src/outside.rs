//! The way from the server's namespace to the outside world: a pair of interfaces, and translation
//! of addresses by the kernel, in the server's namespace and on this system.
//!
//! What is changed on this system is undone by a process of its own, the caretaker: it waits until
//! every process of the emulation is gone, however they ended. The interfaces disappear with their
//! namespace anyway.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::net::Ipv4Addr;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::{Arc, OnceLock};

use headend::packet::Side;

use crate::error::Error;
use crate::namespaces::{HostSpace, configure, find_program};
use crate::tun;

/// The interface of the server's namespace that leads outside.
const INSIDE: &str = "outside";

/// What [`prepare`] found out and [`connect`] uses, in the child.
static PLAN: OnceLock<Plan> = OnceLock::new();

#[derive(Debug)]
struct Plan {
    /// A number that no other emulation has at present: the process identifier.
    number: u32,
    /// The interface of this system's default route.
    way_out: String,
    /// Kept open: the caretaker reads its end.
    _caretaker: ChildStdin,
}

impl Plan {
    /// The interface on this system that leads to the server's namespace.
    fn interface(&self) -> String {
        format!("headend{}", self.number)
    }

    fn table(&self) -> String {
        format!("headend_{}", self.number)
    }

    /// The addresses of this system and of the server's namespace, neighbours in a network of four,
    /// from the half of the benchmarks' network (RFC 2544) that scenarios do not use.
    fn addresses(&self) -> [Ipv4Addr; 2] {
        let network = u32::from(Ipv4Addr::new(198, 19, 0, 0)) + (self.number % (1 << 14)) * 4;
        [1, 2].map(|host| Ipv4Addr::from(network + host))
    }
}

/// Starts the caretaker, before the namespaces are entered.
pub(crate) fn prepare() -> Result<(), Error> {
    find_program("nft", Path::new("/")).ok_or_else(|| {
        Error::new("the program `nft` is missing: install it (`sudo apt install nftables`)")
    })?;
    let way_out = find_way_out()?;
    let number = std::process::id();
    let forwarding = forwarding_key(&way_out);
    let was_forwarding = fs::read_to_string(&forwarding).is_ok_and(|value| value.trim() == "1");
    let interface = format!("headend{number}");
    let mut script = format!("cat > /dev/null; nft delete table ip headend_{number}; ");
    for rule in forward_rules(&interface) {
        let _ = write!(script, "iptables -D FORWARD {rule}; ");
    }
    if !was_forwarding {
        let _ = write!(
            script,
            "nft list tables | grep -q headend_ || echo 0 > {forwarding}"
        );
    }
    let caretaker = Command::new("sh")
        .args(["-c", &script])
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let caretaker = caretaker
        .ok()
        .and_then(|mut child| child.stdin.take())
        .ok_or_else(|| Error::new("cannot start `sh`"))?;
    let plan = Plan {
        number,
        way_out,
        _caretaker: caretaker,
    };
    PLAN.set(plan)
        .map_err(|_| Error::new("internal error: the way outside is prepared twice"))
}

/// Connects the namespace of the server with the outside world. Runs in this system's own network
/// namespace.
pub(crate) fn connect(spaces: &[Arc<HostSpace>]) -> Result<(), Error> {
    let mut servers = spaces
        .iter()
        .filter(|space| space.host().side == Side::Peer);
    let (Some(server), None) = (servers.next(), servers.next()) else {
        return Err(Error::new(
            "the outside world stands behind the network's real host, so the scenario must have \
             exactly one",
        ));
    };
    let plan = PLAN
        .get()
        .ok_or_else(|| Error::new("internal error: the way outside is not prepared"))?;
    let [here, there] = plan.addresses();
    let customers = spaces
        .iter()
        .filter(|space| space.host().side == Side::Host)
        .map(|space| space.host().clone());
    let mut commands = format!(
        "link add {INSIDE} type veth peer name {name} netns 1\nlink set {INSIDE} up\n\
         addr add {there}/30 dev {INSIDE}\n",
        name = plan.interface()
    );
    for customer in customers {
        let _ = writeln!(commands, "route add {}/32 dev {}", customer.ipv4, tun::NAME);
    }
    let _ = write!(
        commands,
        "route del default dev {}\nroute add default via {here} dev {INSIDE}\n",
        tun::NAME
    );
    server.run(move || {
        configure(&commands)?;
        forward(Path::new("/proc/sys/net/ipv4/ip_forward"))?;
        translate("headend", INSIDE)
    })?;
    let name = plan.interface();
    configure(&format!(
        "link set {name} up\naddr add {here}/30 dev {name}\n"
    ))?;
    forward(Path::new(&forwarding_key(&name)))?;
    forward(Path::new(&forwarding_key(&plan.way_out)))?;
    translate_from(&plan.table(), &format!("ip saddr {there}"), &plan.way_out)?;
    for rule in forward_rules(&name) {
        let _ = run("iptables", &format!("-I FORWARD {rule}"));
    }
    Ok(())
}

fn find_way_out() -> Result<String, Error> {
    let routes = Command::new("ip")
        .args(["-4", "route", "show", "default"])
        .output();
    let routes = routes.map_err(|error| Error::of("run `ip`", &error))?;
    device_of(&String::from_utf8_lossy(&routes.stdout))
        .ok_or_else(|| Error::new("this system has no default route, so there is no way outside"))
}

/// The device of the first route that `ip` shows.
fn device_of(routes: &str) -> Option<String> {
    let mut words = routes.lines().next()?.split_whitespace();
    words.find(|word| *word == "dev")?;
    words.next().map(str::to_owned)
}

fn forwarding_key(interface: &str) -> String {
    format!("/proc/sys/net/ipv4/conf/{interface}/forwarding")
}

fn forward(key: &Path) -> Result<(), Error> {
    fs::write(key, "1").map_err(|error| Error::of("let the kernel forward packets", &error))
}

/// Rules for a system whose firewall forwards nothing by itself, as Docker sets it up.
fn forward_rules(interface: &str) -> Vec<String> {
    let refuses =
        run("nft", "list chain ip filter FORWARD").is_ok_and(|chain| chain.contains("policy drop"));
    if !refuses {
        return Vec::new();
    }
    ["-i", "-o"]
        .map(|side| format!("{side} {interface} -j ACCEPT"))
        .to_vec()
}

fn translate(table: &str, interface: &str) -> Result<(), Error> {
    translate_from(table, "", interface)
}

/// Packets that leave by `interface` and meet `condition` get its address.
fn translate_from(table: &str, condition: &str, interface: &str) -> Result<(), Error> {
    let rules = [
        format!("add table ip {table}"),
        format!("add chain ip {table} out {{ type nat hook postrouting priority srcnat ; }}"),
        format!("add rule ip {table} out {condition} oifname {interface} masquerade"),
    ];
    rules.iter().try_for_each(|rule| {
        run("nft", rule)
            .map(drop)
            .map_err(|error| Error::of("let the kernel translate addresses (`nft`)", &error))
    })
}

fn run(program: &str, arguments: &str) -> io::Result<String> {
    let output = Command::new(program)
        .args(arguments.split_whitespace())
        .output()?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let words = String::from_utf8_lossy(&output.stderr);
    let words = words.lines().next().unwrap_or("no reason given");
    Err(io::Error::other(words.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_out_is_the_device_of_the_default_route() {
        let routes = "default via 192.0.2.1 dev eth0 proto dhcp metric 100\ndefault dev wlan0\n";
        assert_eq!(device_of(routes), Some("eth0".to_owned()));
        assert_eq!(device_of(""), None);
    }
}
