//! Selection of the packets of a capture that are replayed, and of the direction of each.

use std::fmt::Write as _;
use std::net::IpAddr;

use super::{Config, Packets};
use crate::traffic::Fault;
use crate::wire::frame::{Datagram, datagram};
use crate::wire::read;

/// Selects the packets that are sent up and down, by side.
///
/// # Errors
///
/// The invalid key, and a sentence: what is wrong with the file, with the number of the packet, or
/// that the file has no packet that matches the keys.
pub fn choose(config: &Config, content: &[u8]) -> Result<[Packets; 2], Fault> {
    let name = config.capture.as_deref().unwrap_or_default();
    let in_file = |what: String| ("capture".to_owned(), format!("\"{name}\": {what}"));
    let mut customer = match &config.host {
        Some(text) => Some(Network::read(text).ok_or_else(|| {
            let what = format!(
                "expected an address or a network such as \"192.168.1.0/24\", found \"{text}\""
            );
            ("host".to_owned(), what)
        })?),
        None => None,
    };
    let mut ways: [Vec<(u64, u32)>; 2] = Default::default();
    let (mut seen, mut fitting) = (0_u64, 0_u64);
    for packet in read::Packets::of(content).map_err(|fault| in_file(fault.to_string()))? {
        let packet = packet.map_err(|fault| in_file(fault.to_string()))?;
        seen += 1;
        if config.interface.is_some() && packet.interface != config.interface.as_deref() {
            continue;
        }
        let found = datagram(&packet)
            .map_err(|what| in_file(format!("packet {}: {what}", packet.number)))?;
        let Some(found) = found.filter(|found| is_wanted(config, found)) else {
            continue;
        };
        fitting += 1;
        let customer = *customer.get_or_insert(Network::alone(found.source));
        let sent = customer.contains(found.source);
        let side = match (sent, customer.contains(found.destination)) {
            (true, false) => 0,
            (false, true) => 1,
            // Both addresses belong to the customer, or neither does.
            _ => continue,
        };
        ways[side].extend(cut(&found).map(|size| (packet.nanos, size)));
    }
    if ways.iter().all(Vec::is_empty) {
        return Err(in_file(explain(config, seen, fitting)));
    }
    let first = ways.iter().flatten().map(|&(nanos, _)| nanos).min();
    for (nanos, _) in ways.iter_mut().flatten() {
        *nanos -= first.unwrap_or_default();
    }
    Ok(ways.map(Packets::of))
}

fn is_wanted(config: &Config, found: &Datagram) -> bool {
    let is_of = (config.protocol).is_none_or(|wanted| found.protocol == Some(wanted.protocol()));
    let has = |port| found.ports.is_some_and(|ports| ports.contains(&port));
    is_of && config.port.is_none_or(has)
}

/// Explains why no packet is left of `seen` packets, of which `fitting` match protocol and port.
fn explain(config: &Config, seen: u64, fitting: u64) -> String {
    if seen == 0 {
        return "it holds no packet".to_owned();
    }
    let mut wanted = "IP packet".to_owned();
    if let Some(protocol) = config.protocol {
        wanted = format!("packet of {}", format!("{protocol:?}").to_uppercase());
    }
    if let Some(port) = config.port {
        let _ = write!(wanted, " from or to port {port}");
    }
    if let Some(interface) = &config.interface {
        let _ = write!(wanted, " at interface \"{interface}\"");
    }
    match &config.host {
        Some(host) if fitting > 0 => {
            format!(
                "of its {fitting} packets that fit otherwise, none is between {host} and another \
                 host"
            )
        }
        _ => format!("of its {seen} packets, none is an {wanted}").replace("an packet", "a packet"),
    }
}

/// Sizes of the packets on the wire that a captured packet stands for. A TCP segment larger than
/// Ethernet's MTU was captured before the sender's network card split it (or after the receiver's
/// had merged it). On the wire it was several packets, each with the same headers.
fn cut(found: &Datagram) -> impl Iterator<Item = u32> + use<> {
    let length = found.length;
    let header = match found.segment_header {
        Some(header) if length > ETHERNET && header < ETHERNET => header,
        _ => length,
    };
    let room = ETHERNET.saturating_sub(header).max(1);
    let data = length - header.min(length);
    let whole = (0..data / room).map(move |_| header + room);
    let rest = data % room;
    whole.chain((rest > 0 || data == 0).then_some(header + rest))
}

/// IP bytes of the largest packet on Ethernet.
const ETHERNET: u32 = 1500;

/// Addresses with a common prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Network {
    /// The prefix of an IPv4 or IPv6 address, from the highest of 128 bits on.
    bits: u128,
    is_v6: bool,
    length: u32,
}

impl Network {
    /// Parses `192.168.1.7`, `192.168.1.0/24` or `fd00::/8`.
    fn read(text: &str) -> Option<Self> {
        let (address, length) = match text.split_once('/') {
            Some((address, length)) => (address, Some(length.parse().ok()?)),
            None => (text, None),
        };
        let alone = Self::alone(address.trim().parse().ok()?);
        let length = length.unwrap_or(alone.length);
        (length <= alone.length).then_some(Self { length, ..alone })
    }

    fn alone(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => Self {
                bits: u128::from(address.to_bits()) << 96,
                is_v6: false,
                length: 32,
            },
            IpAddr::V6(address) => Self {
                bits: address.to_bits(),
                is_v6: true,
                length: 128,
            },
        }
    }

    fn contains(self, address: IpAddr) -> bool {
        let other = Self::alone(address);
        let differing = (self.bits ^ other.bits).leading_zeros();
        self.is_v6 == other.is_v6 && differing >= self.length
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Instant;
    use crate::wire::pcapng::{self, Record, Way};

    fn addresses(text: &str) -> Network {
        Network::read(text).expect("a network")
    }

    #[test]
    fn a_network_contains_the_addresses_with_its_prefix() {
        let holds = |network: &str, address: &str| {
            addresses(network).contains(address.parse().expect("an address"))
        };
        assert!(holds("192.168.1.0/24", "192.168.1.255"));
        assert!(!holds("192.168.1.0/24", "192.168.2.0"));
        assert!(holds("0.0.0.0/0", "8.8.8.8") && !holds("0.0.0.0/0", "::1"));
        assert!(holds("fd00::/8", "fd12::1") && !holds("fd00::/8", "fe80::1"));
        assert!(holds("10.0.0.1", "10.0.0.1") && !holds("10.0.0.1", "10.0.0.0"));
        for wrong in ["", "10.0.0.0/33", "home", "10.0.0.0/x", "::/129"] {
            assert_eq!(Network::read(wrong), None, "{wrong}");
        }
    }

    /// An IPv4 header with protocol and total length, followed by ports; for TCP, 20 bytes of
    /// header.
    fn ip(source: [u8; 4], destination: [u8; 4], protocol: u8, length: u16) -> Vec<u8> {
        let mut bytes = vec![0x45, 0];
        bytes.extend(length.to_be_bytes());
        bytes.extend([0, 0, 0x40, 0, 64, protocol, 0, 0]);
        bytes.extend(source);
        bytes.extend(destination);
        bytes.extend([0x13, 0xc4, 0x01, 0xbb]);
        match protocol {
            6 => bytes.extend([0, 0, 0, 0, 0, 0, 0, 0, 0x50, 0x10, 1, 1, 0, 0, 0, 0]),
            _ => bytes.extend([&(length - 20).to_be_bytes()[..], &[0, 0]].concat()),
        }
        bytes
    }

    fn file(packets: &[(u64, Vec<u8>)]) -> Vec<u8> {
        let mut file = Vec::new();
        pcapng::section("test", "", &mut file);
        pcapng::interface("eth0", "", 100, &mut file);
        for (nanos, bytes) in packets {
            let record = Record {
                interface: 0,
                at: Instant::from_nanos(*nanos),
                length: bytes.len() as u32,
                bytes,
                way: Way::Past,
                comment: None,
            };
            pcapng::packet(&record, &mut file);
        }
        file
    }

    const HOME: [u8; 4] = [192, 168, 1, 2];
    const PHONE: [u8; 4] = [192, 168, 1, 3];
    const SERVER: [u8; 4] = [198, 18, 0, 1];

    fn some() -> Vec<u8> {
        file(&[
            (1_000, ip(HOME, SERVER, 17, 200)),
            (1_500, ip(PHONE, HOME, 17, 300)),
            (3_000, ip(SERVER, HOME, 6, 40)),
            (2_500, ip(SERVER, PHONE, 17, 70)),
        ])
    }

    fn chosen(text: &str, content: &[u8]) -> Result<[String; 2], Fault> {
        let text = format!("capture = 'x.pcapng'\n{text}");
        let config: Config = toml::from_str(&text).expect("a good table");
        choose(&config, content).map(|ways| ways.map(String::from))
    }

    fn right(text: &str, content: &[u8]) -> [String; 2] {
        chosen(text, content).expect("there is something to replay")
    }

    fn both(up: &str, down: &str) -> [String; 2] {
        [up.to_owned(), down.to_owned()]
    }

    #[test]
    fn what_the_customer_sends_goes_up_and_what_it_is_sent_goes_down() {
        // The default customer is the sender of the first packet.
        assert_eq!(right("", &some()), both("0 200", "500 300, 2000 40"));
        assert_eq!(
            right("host = '192.168.1.0/24'", &some()),
            both("0 200", "1500 70, 2000 40")
        );
        assert_eq!(
            right("host = '198.18.0.1'", &some()),
            both("1500 70, 2000 40", "0 200")
        );
    }

    #[test]
    fn packets_are_chosen_by_protocol_port_and_interface() {
        assert_eq!(right("protocol = 'tcp'", &some()), both("0 40", ""));
        assert_eq!(right("protocol = 'udp'", &some()), both("0 200", "500 300"));
        assert_eq!(chosen("port = 443", &some()), chosen("", &some()));
        assert_eq!(chosen("interface = 'eth0'", &some()), chosen("", &some()));
        let why = |text: &str| chosen(text, &some()).expect_err(text).1;
        assert!(
            why("port = 53").contains("of its 4 packets, none is an IP packet from or to port 53")
        );
        assert!(why("interface = 'eth1'").contains("at interface \"eth1\""));
        assert!(why("host = '10.0.0.1'").contains("none is between 10.0.0.1 and another host"));
        assert!(why("protocol = 'icmp'").contains("none is a packet of ICMP"));
        let fault = chosen("host = 'home'", &some()).expect_err("no address");
        assert_eq!(fault.0, "host");
    }

    #[test]
    fn faults_of_the_file_name_it_and_the_packet() {
        let why = |content: &[u8]| chosen("", content).expect_err("a fault").1;
        assert_eq!(why(b""), "\"x.pcapng\": the file is empty");
        assert_eq!(why(&file(&[])), "\"x.pcapng\": it holds no packet");
        let content = some();
        assert!(why(&content[..content.len() - 4]).starts_with("\"x.pcapng\": packet 4: cut off"));
        let short = file(&[(0, ip(HOME, SERVER, 17, 200)), (1, vec![0x45, 0, 0])]);
        assert!(why(&short).starts_with("\"x.pcapng\": packet 2: of its IP header 3 bytes"));
        let arp = file(&[(0, vec![0, 1, 8, 0])]);
        assert!(why(&arp).contains("of its 1 packets, none is an IP packet"));
    }

    #[test]
    fn a_segment_above_the_mtu_is_split_as_a_network_card_splits_it() {
        let content = file(&[
            (0, ip(HOME, SERVER, 6, 40 + 1460 * 2 + 100)),
            (5, ip(HOME, SERVER, 6, 40 + 1460 * 2)),
            // A jumbo datagram is not split.
            (7, ip(HOME, SERVER, 17, 4000)),
        ]);
        assert_eq!(
            right("", &content),
            both("0 1500, 0 1500, 0 140, 5 1500, 5 1500, 7 4000", "")
        );
    }
}
