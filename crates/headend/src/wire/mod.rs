//! Packets in the formats of real networks: written to captures, and read from them.
//!
//! - Writing: a run's packets become frames with real [headers]. A [capture] at chosen points of
//!   the network writes them as [pcapng] blocks. What happens at senders is written as [`qlog`].
//! - Reading: [`read`] finds the packets in a capture file, and [`frame`] finds the IP packet in
//!   each. A run replays their times and sizes.
//! - Emulation: [`real`] reads and rewrites the headers of real frames, and [`server_name`] finds
//!   the server's name in them. A [recording] keeps their arrivals.
//!
//! The crate `etherparse` builds and parses headers. The file formats are simple enough to be
//! implemented here, so that every error can state the number of the packet. No code here reads or
//! writes a file: input and output are bytes.

pub mod capture;
pub mod frame;
pub mod headers;
pub mod pcapng;
pub mod qlog;
pub mod read;
pub mod real;
pub mod recording;
pub mod server_name;
