//! Packets as they look on the wire: written to captures, and read from them.
//!
//! A run's packets become frames with real [headers], which a [capture] at chosen points of the network writes as [pcapng] blocks; and the
//! packets of a file somebody captured ([`read`]) become times and sizes that a run replays ([`frame`] finds the IP packet in each).
//! Headers are built and taken apart by the crate `etherparse`; the containers are simple enough to be written out here, with the number
//! of the packet in every error. None of this reads or writes a file: bytes come in and go out.

pub mod capture;
pub mod frame;
pub mod headers;
pub mod pcapng;
pub mod read;
