//! The names of real hosts, where programs look them up: `/etc/hosts`, and name servers.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;

use headend::clock::RealHost;
use rustix::mount::{self, MountFlags, UnmountFlags};

use crate::error::Error;

const HOSTS: &str = "/etc/hosts";
const RESOLVER: &str = "/etc/resolv.conf";
/// A folder that is there on every system. A file system in memory covers it for a moment.
const SCRATCH: &str = "/tmp";

/// Lets programs of this mount namespace find the real hosts by name. Other names lead nowhere,
/// unless `name_servers` (the text of a resolv.conf) are given.
///
/// The files lie in memory and are bound over those of the system, in this mount namespace only.
pub(crate) fn install(hosts: &[RealHost], name_servers: Option<&str>) -> Result<(), Error> {
    let resolver = name_servers.unwrap_or("# The modelled network has no name server.\n");
    cover_files(&[(HOSTS, &hosts_file(hosts)), (RESOLVER, resolver)])
        .map_err(|error| Error::of("give the real hosts names in /etc/hosts", &error))
}

/// The name servers of the outside world: those of the system, or public ones where the system
/// asks a service of its own host, which cannot be reached from a network namespace.
pub(crate) fn find_name_servers() -> String {
    let files = [RESOLVER, "/run/systemd/resolve/resolv.conf"];
    let texts = files
        .iter()
        .filter_map(|file| fs::read_to_string(file).ok());
    texts
        .into_iter()
        .find(|text| asks_other_hosts(text))
        .unwrap_or_else(|| "nameserver 9.9.9.9\nnameserver 1.1.1.1\n".to_owned())
}

/// Whether a resolv.conf names only servers that are not the host itself.
fn asks_other_hosts(text: &str) -> bool {
    let mut servers = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("nameserver"))
        .map(str::trim)
        .peekable();
    servers.peek().is_some() && servers.all(|server| !server.starts_with("127.") && server != "::1")
}

/// A host's own name has one address, the IPv4 one: the resolver of the C library would put the
/// IPv6 address first, and a server that listens on IPv4 alone would not be reached.
fn hosts_file(hosts: &[RealHost]) -> String {
    let mut text = String::from("127.0.0.1 localhost\n::1 localhost ip6-localhost\n");
    for RealHost {
        name, ipv4, ipv6, ..
    } in hosts
    {
        let _ = write!(text, "{ipv4} {name} {name}.ip4\n{ipv6} {name}.ip6\n");
    }
    text
}

fn cover_files(files: &[(&str, &str)]) -> io::Result<()> {
    mount::mount("tmpfs", SCRATCH, "tmpfs", MountFlags::empty(), None)?;
    let covered = files
        .iter()
        .filter(|(place, _)| Path::new(place).exists())
        .try_for_each(|(place, text)| {
            let file = Path::new(SCRATCH).join(place.replace('/', "-"));
            fs::write(&file, text)?;
            mount::mount_bind(&file, *place)?;
            Ok(())
        });
    // The files that are bound elsewhere stay.
    mount::unmount(SCRATCH, UnmountFlags::DETACH)?;
    covered
}

#[cfg(test)]
mod tests {
    use super::*;
    use headend::packet::Side;

    #[test]
    fn a_hosts_name_has_its_ipv4_address_and_another_name_the_ipv6_one() {
        let host = RealHost {
            name: "laptop".to_owned(),
            side: Side::Host,
            ipv4: [10, 0, 0, 1].into(),
            ipv6: "fd00:6865:6164::1".parse().expect("an address"),
            mtu: 1500,
            dscp: None,
        };
        assert_eq!(
            hosts_file(&[host]),
            "127.0.0.1 localhost\n::1 localhost ip6-localhost\n10.0.0.1 laptop laptop.ip4\n\
             fd00:6865:6164::1 laptop.ip6\n"
        );
    }

    #[test]
    fn a_resolver_on_the_host_itself_is_of_no_use() {
        assert!(asks_other_hosts("search x\nnameserver 192.0.2.1\n"));
        assert!(!asks_other_hosts("nameserver 127.0.0.53\n"));
        assert!(!asks_other_hosts("nameserver 192.0.2.1\nnameserver ::1\n"));
        assert!(!asks_other_hosts("# none\n"));
    }
}
