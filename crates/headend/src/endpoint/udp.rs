//! A datagram socket: sends the datagrams of its application and reports each one that arrives.

use super::{Command, Endpoint, News, Notice};
use crate::context::Context;
use crate::flow::is_ipv6;
use crate::packet::{Ecn, IPV6_EXTRA, Packet};

/// IPv4 and UDP header bytes.
const HEADER_BYTES: u16 = 28;
/// The largest packet of an Ethernet.
const MTU: u16 = 1500;

/// One side of a datagram stream. It keeps no state of the datagrams that it sent.
#[derive(Debug)]
pub struct Udp {
    /// ECN field of the datagrams that it sends.
    ecn: Ecn,
}

impl Udp {
    /// Creates a side that sends its datagrams with this ECN field.
    pub fn new(ecn: Ecn) -> Self {
        Self { ecn }
    }
}

impl Endpoint for Udp {
    fn receive(&mut self, packet: &Packet, cx: &mut Context<'_>) {
        let (app, group, is_ipv6) = {
            let header = cx.header(packet.flow);
            (header.app, header.group, is_ipv6(header.addresses[0]))
        };
        cx.recorder()
            .goodput(group, packet.from, u64::from(packet.payload));
        let news = News::Delivered {
            at: packet.from.other(),
            number: packet.seq,
            // Applications count sizes with an IPv4 header, also on IPv6.
            size: if is_ipv6 {
                packet.payload + HEADER_BYTES
            } else {
                packet.size
            },
            sent_at: packet.sent_at,
            delay: cx.now - packet.sent_at,
            ecn: packet.ecn,
        };
        cx.notify(Notice {
            app,
            flow: packet.flow,
            news,
        });
    }

    fn command(&mut self, command: Command, cx: &mut Context<'_>) {
        match command {
            Command::Datagram { number, size } => {
                let payload = size.saturating_sub(HEADER_BYTES);
                let (flow, side) = cx.endpoint();
                let ip_bytes = if is_ipv6(cx.header(flow).addresses[0]) {
                    // The longer IPv6 header must not make the packet larger than the MTU.
                    (size + IPV6_EXTRA).min(size.max(MTU))
                } else {
                    size
                };
                let mut packet = Packet::datagram(flow, side, number, ip_bytes, payload);
                packet.ecn = self.ecn;
                cx.emit(packet);
            }
            Command::Await { .. }
            | Command::Close
            | Command::Expect { .. }
            | Command::Open
            | Command::Send { .. } => {
                panic!("a datagram socket has no stream: {command:?}")
            }
        }
    }
}
